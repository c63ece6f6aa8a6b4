// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

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

bool cgroup_of(pid_t pid, struct cgroup *group)
{
	char path[48] = "/proc/self/cgroup", *text, *save = NULL;
	bool found = false;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (file_read(path, &text, NULL))
		return false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		found |= read_line(line, group, found);
	free(text);
	return found;
}

bool cgroup_up(struct cgroup *group)
{
	if (strlen(group->dir) <= group->root)
		return false;
	*strrchr(group->dir, '/') = '\0';
	return true;
}
