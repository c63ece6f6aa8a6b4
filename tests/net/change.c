// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * For test_change.py: any change, not only those that `check` advises.
 *
 *	change apply UNDO-FILE (KIND IFNAME NAME VALUE)...
 *	change undo UNDO-FILE
 *	change command (KIND IFNAME NAME VALUE)...	the commands that make and undo it
 *	change read KIND IFNAME NAME
 *
 * KIND is the word of the journal. IFNAME "-" means no interface. Prints a line per result of
 * change.h: outcome, title, value now, reason. The exit status is the status of the error.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/change.h"

static const char *const outcomes[] = {
	[CHANGE_DONE] = "done", [CHANGE_NOTHING] = "nothing", [CHANGE_FOREIGN] = "foreign",
	[CHANGE_GONE] = "gone", [CHANGE_KEPT] = "kept",	      [CHANGE_FAILED] = "failed",
	[CHANGE_BACK] = "back",
};

static void show(void *arg, const struct change_report *report)
{
	(void)arg;
	printf("%s|%s|%s|%s\n", outcomes[report->outcome], report->title, report->current,
	       report->why);
}

static int fail(const struct error *err)
{
	fprintf(stderr, "%s: %s\n", err->message, err->hint);
	return err->status;
}

static enum change_kind kind_of(const char *word)
{
	for (unsigned k = 0; k < CHANGE_KINDS; k++) {
		if (!strcmp(change_words[k], word))
			return k;
	}
	fprintf(stderr, "no kind '%s'\n", word);
	exit(STATUS_USAGE);
}

static const char *device(const char *arg)
{
	return strcmp(arg, "-") ? arg : "";
}

/* Plans argv in fours. Those that are so already are left out, and shown. */
static unsigned plan(struct change *c, char **argv)
{
	unsigned n = 0;

	for (; argv[0] && argv[1] && argv[2] && argv[3]; argv += 4) {
		int ret = change_plan(&c[n], NULL, kind_of(argv[0]), device(argv[1]), argv[2],
				      argv[3]);

		if (ret == -EALREADY)
			printf("already|%s\n", argv[2]);
		else if (ret)
			errx(STATUS_FAILED, "%s", strerror(-ret));
		else
			n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct change *changes = calloc(argc, sizeof(*changes));
	char value[JOURNAL_VALUE_SIZE], buf[CHANGE_COMMAND_SIZE];
	struct error err = {};
	int ret = -EINVAL;

	setlinebuf(stdout);
	if (!changes || argc < 3)
		return STATUS_USAGE;
	if (!strcmp(argv[1], "apply")) {
		unsigned n = plan(changes, argv + 3);

		ret = change_apply(changes, n, argv[2], show, NULL, &err);
	} else if (!strcmp(argv[1], "undo")) {
		ret = change_undo(argv[2], NULL, 0, show, NULL, &err);
	} else if (!strcmp(argv[1], "command")) {
		unsigned n = plan(changes, argv + 2);

		for (unsigned i = 0; i < n; i++) {
			puts(change_command(&changes[i], false, buf, sizeof(buf)));
			puts(change_command(&changes[i], true, buf, sizeof(buf)));
		}
		ret = 0;
	} else if (!strcmp(argv[1], "read") && argc == 5) {
		ret = change_read(NULL, kind_of(argv[2]), device(argv[3]), argv[4], value);
		if (!ret)
			puts(value);
		else
			error_set(&err, STATUS_FAILED, ret, NULL, "%s", strerror(-ret));
	}
	free(changes);
	return ret ? fail(&err) : 0;
}
