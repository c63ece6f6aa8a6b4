// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"

/* "4:cpu,cpuacct:/a/b" of version 1, "0::/a/b" of version 2. False: not a hierarchy for the CPU. */
static bool read_line(char *line, struct cgroup *group, bool found)
{
	char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
	bool unified;

	if (!path)
		return false;
	*names++ = *path++ = '\0';
	unified = !*names;
	if (!unified && strcmp(names, "cpu") && strcmp(names, "cpu,cpuacct"))
		return false;
	if (unified && found) /* the CPU belongs to a hierarchy of version 1 */
		return false;
	group->v2 = unified;
	group->root = (size_t)snprintf(group->dir, sizeof(group->dir), CGROUP_ROOT "%s%s",
				       unified ? "" : "/", names);
	snprintf(group->dir + group->root, sizeof(group->dir) - group->root, "%s",
		 strcmp(path, "/") ? path : "");
	return true;
}

bool cgroup_of(int root, pid_t pid, struct cgroup *group)
{
	int top = root < 0 ? proc_root(NULL) : root;
	char text[8192], self[16] = "self", *save = NULL;
	bool found = false;
	int n;

	if (top < 0)
		return false;
	if (pid)
		snprintf(self, sizeof(self), "%d", (int)pid);
	n = proc_read(top, text, sizeof(text), "proc/%s/cgroup", self);
	if (root < 0)
		close(top);
	for (char *line = n < 0 ? NULL : strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		found |= read_line(line, group, found);
	return found;
}

/* "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw": the whole hierarchy, or not. */
static bool mounted_v2(const char *line, char *dir, size_t size)
{
	const char *type = strstr(line, " - ");
	char root[256], at[256];

	return type && !strncmp(type, " - cgroup2 ", 11) &&
	       sscanf(line, "%*s %*s %*s %255s %255s", root, at) == 2 && !strcmp(root, "/") &&
	       snprintf(dir, size, "%s", at) < (int)size;
}

/* The first line of the file that `fits` takes: what it made of it is in `out`. */
static int find_line(const char *path, bool (*fits)(const char *line, char *out, size_t size),
		     char *out, size_t size)
{
	char *text, *save = NULL;
	int ret = file_read(path, &text, NULL);

	if (ret)
		return ret;
	ret = -ENOENT;
	for (char *line = strtok_r(text, "\n", &save); line && ret;
	     line = strtok_r(NULL, "\n", &save)) {
		if (fits(line, out, size))
			ret = 0;
	}
	free(text);
	return ret;
}

static bool path_v2(const char *line, char *path, size_t size)
{
	return !strncmp(line, "0::/", 4) && snprintf(path, size, "%s", line + 3) < (int)size;
}

int cgroup_open_v2(void)
{
	char dir[256], path[512], whole[sizeof(dir) + sizeof(path)];
	int ret = find_line("/proc/self/mountinfo", mounted_v2, dir, sizeof(dir));

	if (!ret)
		ret = find_line("/proc/self/cgroup", path_v2, path, sizeof(path));
	if (ret)
		return ret;
	snprintf(whole, sizeof(whole), "%s%s", dir, path);
	ret = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret < 0 ? -errno : ret;
}

bool cgroup_up(struct cgroup *group)
{
	if (strlen(group->dir) <= group->root)
		return false;
	*strrchr(group->dir, '/') = '\0';
	return true;
}
