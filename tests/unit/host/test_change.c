// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes as texts: the command, its undo, the file for the next boot. */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "host/change.h"
#include "recorded.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
/* A step that was cut would be another command, so no step of its recipe is run. */
CASE(step_that_is_too_long)
{
	const char *fits = "/proc/self/comm=not-run";
	char word[sizeof(((struct recipe_step *)0)->text)], name[16];
	struct recipe r = RECIPE;
	struct error err = {};

	memset(word, 'x', sizeof(word));
	for (unsigned room = 0; room < 2; room++) {
		recipe_add(&r, RECIPE_FILE, NULL, "%s", fits);
		recipe_add(&r, RECIPE_NOTE, NULL, "%.*s", (int)(sizeof(word) - room), word);
		assert_int_equal(recipe_run(&r, "set a name", &err), room ? 0 : -E2BIG);
		assert_int_equal(r.steps.n, 0);
		assert_int_equal(prctl(PR_GET_NAME, name), 0);
		assert_int_equal(!strcmp(name, "not-run"), room);
	}
	assert_int_equal(err.status, STATUS_FAILED);
	assert_string_equal(err.message, "cannot set a name: a command has more than 1023 bytes");
}

CASE(longest_name)
{
	char name[CHANGE_NAME_SIZE + 1];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_null(change_setting(CHANGE_SYSCTL, name));
	name[sizeof(name) - 2] = '\0';
	assert_non_null(change_setting(CHANGE_SYSCTL, name));
}

static const char *const kinds[CHANGE_KINDS] = {
	[CHANGE_SYSCTL] = "sysctl",	[CHANGE_SYSFS] = "sysfs",
	[CHANGE_IRQ] = "irq",		[CHANGE_RING] = "ring",
	[CHANGE_CHANNELS] = "channels", [CHANGE_PAUSE] = "pause",
	[CHANGE_RSS] = "rss",		[CHANGE_QDISC] = "qdisc",
	[CHANGE_GOVERNOR] = "governor"};

struct changes {
	struct change at[8];
	unsigned n;
	char enter[64];
	bool elsewhere;
};

static struct change change_of(char *text)
{
	char *word[5] = {};
	struct change c = {};

	recorded_words(text, word, LENGTH(word));
	while (strcmp(kinds[c.kind], word[0]))
		assert_true(++c.kind < CHANGE_KINDS);
	snprintf(c.ifname, sizeof(c.ifname), "%s", word[1]);
	snprintf(c.name, sizeof(c.name), "%s", word[2]);
	snprintf(c.old, sizeof(c.old), "%s", word[3] ? word[3] : "");
	snprintf(c.wanted, sizeof(c.wanted), "%s", word[4] ? word[4] : "");
	return c;
}

static void take_line(void *arg, const char *verb, char *text)
{
	static const struct netns ns = NETNS_NONE;
	char buf[CHANGE_COMMAND_SIZE], *word[2], value[JOURNAL_VALUE_SIZE], *files;
	struct changes *all = arg;
	const char *device;
	struct change c;

	if (!strcmp(verb, "case")) {
		*all = (struct changes){};
	} else if (!strcmp(verb, "in")) {
		snprintf(all->enter, sizeof(all->enter), "%s", text);
	} else if (!strcmp(verb, "elsewhere")) {
		all->elsewhere = true;
	} else if (!strcmp(verb, "change")) {
		c = change_of(text);
		c.enter = *all->enter ? all->enter : NULL;
		c.ns = all->elsewhere ? &ns : NULL;
		all->at[all->n++ % LENGTH(all->at)] = c;
		assert_non_null(change_risk(&c));
		tell("%s |", change_title(&c, buf, sizeof(buf)));
		tell("%s |", change_command(&c, false, buf, sizeof(buf)));
		tell("%s", change_command(&c, true, buf, sizeof(buf)));
	} else if (!strcmp(verb, "device")) {
		c = change_of(text);
		device = change_device(&c, buf);
		tell("%s", device ? device : "none");
	} else if (!strcmp(verb, "bad")) {
		recorded_words(text, word, 2);
		for (c.kind = 0; strcmp(kinds[c.kind], word[0]); c.kind++)
			;
		assert_null(change_setting(c.kind, word[1]));
		assert_int_equal(change_read(NULL, c.kind, "lo", word[1], value), -ENOENT);
	} else if (!strcmp(verb, "undo")) { /* OLD NEW of a qdisc */
		c = (struct change){.kind = CHANGE_QDISC};
		recorded_words(text, word, 2);
		strcpy(c.old, word[0]);
		strcpy(c.wanted, word[1]);
		tell("%d", change_ops[CHANGE_QDISC].check(&c));
	} else {
		assert_string_equal(verb, "persist");
		files = change_persist(all->at, all->n);
		for (char *line, *rest = files; (line = strsep(&rest, "\n"));)
			tell("%s%s", line, rest && *rest ? " |" : "");
		free(files);
	}
}

CASE(recorded)
{
	struct changes all = {};

	recorded_stories("tests/fixtures/changes", take_line, &all);
}

CASE(quoting_keeps_its_room)
{
	char buf[16];

	for (size_t size = 1; size <= sizeof(buf); size++) {
		memset(buf, 'x', sizeof(buf));
		change_quote("a'''''b c", buf, size);
		assert_true(strlen(buf) < size);
		for (size_t i = size; i < sizeof(buf); i++)
			assert_int_equal(buf[i], 'x');
	}
	assert_string_equal(change_quote("a b", buf, sizeof(buf)), "'a b'");
	assert_string_equal(change_quote("", buf, sizeof(buf)), "''");
}

CASE(plans_on_this_host)
{
	static const struct {
		enum change_kind kind;
		const char *ifname, *name, *wanted;
		int ret;
	} rows[] = {
		{CHANGE_SYSCTL, NULL, "net/core/rmem_max", "1234567", 0},
		{CHANGE_SYSCTL, NULL, "net/core/rmem_max", "1\n2", -EINVAL},
		{CHANGE_SYSCTL, NULL, "net/core/rmem_max", "", -EINVAL},
		{CHANGE_SYSCTL, "lo", "net/core/rmem_max", "1", -EINVAL},
		{CHANGE_SYSCTL, NULL, "net/no/such", "1", -ENOENT},
		{CHANGE_RING, "pl-none", "rx", "64", -ENODEV},
		{CHANGE_SYSFS, "../net/lo", "queues/rx-0/rps_cpus", "1", -ENODEV},
	};
	char now[JOURNAL_VALUE_SIZE];
	struct change c;

	if (change_read(NULL, CHANGE_SYSCTL, NULL, "net/core/rmem_max", now))
		skip();
	assert_int_equal(change_plan(&c, NULL, CHANGE_SYSCTL, NULL, "net/core/rmem_max", now),
			 -EALREADY);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		assert_int_equal(change_plan(&c, NULL, rows[i].kind, rows[i].ifname, rows[i].name,
					     rows[i].wanted),
				 rows[i].ret);
		if (rows[i].ret)
			continue;
		assert_string_equal(c.old, now);
		assert_string_equal(c.wanted, rows[i].wanted);
	}
}
