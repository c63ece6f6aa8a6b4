// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Settings that are files: below /proc/sys, /sys and /proc/irq. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "host/change_parts.h"
#include "host/journal_entry.h"
#include "host/nl.h"

#define RAW_SIZE (2 * JOURNAL_VALUE_SIZE) /* a value may be written with more blanks */

#define CPU "devices/system/cpu/cpu"

/* Front, the interface if it has one, the name, and the rest. */
static const struct file {
	const char *path; /* front below /sys, or /proc/sys */
	const char *shown;
	const char *rest;
	bool device, sysfs;
} files[CHANGE_KINDS] = {
	[CHANGE_SYSCTL] = {"", "/proc/sys/", "", false, false},
	[CHANGE_SYSFS] = {"class/net/", "/sys/class/net/", "", true, true},
	[CHANGE_IRQ] = {"../irq/", "/proc/irq/", "/smp_affinity_list", false, false},
	[CHANGE_GOVERNOR] = {CPU, "/sys/" CPU, "/cpufreq/scaling_governor", false, true},
};

static void file_path(const struct change_at *at, const char *front, char *buf, size_t size)
{
	const struct file *f = &files[at->kind];

	snprintf(buf, size, "%s%s%s%s%s", front, f->device ? at->ifname : "", f->device ? "/" : "",
		 at->name, f->rest);
}

/* In the /sys of another namespace, a device of this name would be another's, too. */
static int check_sysfs(const struct change_at *at)
{
	int ifindex = nl_ifindex(at->ns, at->ifname), ret;
	char path[PATH_MAX], text[32];
	uint64_t there;

	if (ifindex < 0)
		return ifindex;
	snprintf(path, sizeof(path), "class/net/%s/ifindex", at->ifname);
	ret = netns_sysfs_read(at->ns, path, text, sizeof(text));
	if (ret)
		return ret == -ENOENT || ret == -EOPNOTSUPP ? -EXDEV : ret;
	return num_u64(text, 0, INT_MAX, &there) || there != (uint64_t)ifindex ? -EXDEV : 0;
}

int change_file_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE])
{
	int ret = at->kind == CHANGE_SYSFS ? check_sysfs(at) : 0;
	char path[PATH_MAX], raw[RAW_SIZE];

	if (ret)
		return ret;
	file_path(at, files[at->kind].path, path, sizeof(path));
	if (files[at->kind].sysfs)
		ret = netns_sysfs_read(at->ns, path, raw, sizeof(raw));
	else
		ret = netns_sysctl_read(at->ns, path, raw, sizeof(raw));
	if (!ret && strlen(raw) >= JOURNAL_VALUE_SIZE)
		ret = -ENOSPC;
	if (!ret)
		journal_value_normal(value, raw, strlen(raw));
	return ret;
}

int change_file_write(const struct change_at *at, const char *value)
{
	int ret = at->kind == CHANGE_SYSFS ? check_sysfs(at) : 0;
	const char *text = *value ? value : "\n"; /* to write nothing is no write */
	char path[PATH_MAX];

	if (ret)
		return ret;
	file_path(at, files[at->kind].path, path, sizeof(path));
	return files[at->kind].sysfs ? netns_sysfs_write(at->ns, path, text)
				     : netns_sysctl_write(at->ns, path, text);
}

char *change_sysctl_name(const char *path, char *buf, size_t size)
{
	bool dotted = strchr(path, '.');

	snprintf(buf, size, "%s", path);
	for (char *c = buf; *c && !dotted; c++) {
		if (*c == '/')
			*c = '.';
	}
	return buf;
}

void change_file_command(const struct change_at *at, const char *from, const char *to, char *buf,
			 size_t size)
{
	char path[CHANGE_NAME_SIZE + 64], word[JOURNAL_VALUE_SIZE + 16], quoted[sizeof(path) + 16];

	(void)from;
	change_quote(to, word, sizeof(word));
	if (at->kind == CHANGE_SYSCTL) {
		change_sysctl_name(at->name, path, sizeof(path));
		snprintf(buf, size, "sysctl -w %s=%s", change_quote(path, quoted, sizeof(quoted)),
			 word);
		return;
	}
	file_path(at, files[at->kind].shown, path, sizeof(path));
	snprintf(buf, size, "echo %s > %s", word, change_quote(path, quoted, sizeof(quoted)));
}
