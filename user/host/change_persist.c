// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Changes as files for the next boot. Settings of devices are udev rules: a .link file would carry
 * some of them, but the first that matches is the only one (systemd.link(5)), so a new one takes
 * away what others say, the policy of names among them. The line for it is given beside the rule.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/change_parts.h"

/* A device that gets another name while it is set up has the name it keeps with "move". */
#define NET_RULE "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"%s\", "
#define CPU_RULE "ACTION==\"add\", SUBSYSTEM==\"cpu\", KERNEL==\"cpu%s\", "

enum file { FILE_SYSCTL, FILE_UDEV, FILE_NONE, FILE_NETNS, FILES };

static const char *const headings[FILES] = {
	[FILE_SYSCTL] = "# /etc/sysctl.d/90-pktledger.conf\n",
	[FILE_UDEV] = "# /etc/udev/rules.d/90-pktledger.rules\n",
	[FILE_NONE] = "# By no file: the number of an interrupt may be another after a boot.\n",
	/* all its settings are gone with it */
	[FILE_NETNS] =
		"# By no file: another network namespace has to be set up whenever it is made.\n",
};

static const enum file files[CHANGE_KINDS] = {
	[CHANGE_SYSCTL] = FILE_SYSCTL, [CHANGE_SYSFS] = FILE_UDEV,    [CHANGE_IRQ] = FILE_NONE,
	[CHANGE_RING] = FILE_UDEV,     [CHANGE_CHANNELS] = FILE_UDEV, [CHANGE_COALESCE] = FILE_UDEV,
	[CHANGE_FEATURE] = FILE_UDEV,  [CHANGE_PAUSE] = FILE_UDEV,    [CHANGE_RSS] = FILE_UDEV,
	[CHANGE_QDISC] = FILE_UDEV,    [CHANGE_GOVERNOR] = FILE_UDEV,
};

static enum file file_of(const struct change *c)
{
	return c->ns && change_ops[c->kind].of_namespace ? FILE_NETNS : files[c->kind];
}

static void print_udev(FILE *f, const struct change *c)
{
	const struct change_setting *set = change_setting(c->kind, c->name);
	char text[CHANGE_COMMAND_SIZE];

	fprintf(f, "# %s", change_title(c, text, sizeof(text)));
	if (set && set->link) {
		fputs("; in its .link file, if it has one: ", f);
		fprintf(f, set->link, c->wanted);
	}
	fputc('\n', f);
	if (c->kind == CHANGE_GOVERNOR)
		fprintf(f, CPU_RULE "ATTR{cpufreq/scaling_governor}=\"%s\"\n", c->name, c->wanted);
	else if (c->kind == CHANGE_SYSFS)
		fprintf(f, NET_RULE "ATTR{%s}=\"%s\"\n", c->ifname, c->name, c->wanted);
	else
		fprintf(f, NET_RULE "RUN+=\"/usr/sbin/%s\"\n", c->ifname,
			change_command(c, text, sizeof(text)));
}

static void print_change(FILE *f, const struct change *c)
{
	char text[CHANGE_COMMAND_SIZE];

	switch (file_of(c)) {
	case FILE_SYSCTL:
		fprintf(f, "%s = %s\n", change_sysctl_name(c->name, text, sizeof(text)), c->wanted);
		break;
	case FILE_UDEV:
		print_udev(f, c);
		break;
	default:
		fprintf(f, "# %s\n", change_command(c, text, sizeof(text)));
	}
}

int change_persist(const struct change *changes, unsigned n, char **text)
{
	size_t size;
	FILE *f = open_memstream(text, &size);
	bool begun = false;

	if (!f)
		return -errno;
	for (enum file file = 0; file < FILES; file++) {
		bool headed = false;

		for (unsigned i = 0; i < n; i++) {
			if (file_of(&changes[i]) != file)
				continue;
			if (!headed)
				fprintf(f, "%s%s", begun ? "\n" : "", headings[file]);
			begun = headed = true;
			print_change(f, &changes[i]);
		}
	}
	if (!fclose(f))
		return 0;
	free(*text);
	return -ENOMEM;
}
