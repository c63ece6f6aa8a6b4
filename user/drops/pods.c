// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/pods.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/proc.h"

/* Copies [p, end); false if it is empty or does not fit. */
static bool copy(char *out, size_t size, const char *p, const char *end)
{
	if (end <= p || (size_t)(end - p) >= size)
		return false;
	snprintf(out, size, "%.*s", (int)(end - p), p);
	return true;
}

/* NAMESPACE_POD_UID. No name in Kubernetes has a '_' in it. */
static bool read_pod(const char *name, struct container *c)
{
	const char *first = strchr(name, '_'), *last = strrchr(name, '_');

	if (!first || first == last || strcmp(last + 1, c->uid))
		return false;
	return copy(c->k8s_ns, sizeof(c->k8s_ns), name, first) &&
	       copy(c->pod, sizeof(c->pod), first + 1, last);
}

/* POD_NAMESPACE_NAME-ID.log */
static bool read_container(const char *name, struct container *c)
{
	const char *pod_end = strchr(name, '_'), *dash = strrchr(name, '-');
	const char *ns_end = pod_end ? strchr(pod_end + 1, '_') : NULL;
	size_t id = strlen(c->id);

	if (!ns_end || !dash || dash < ns_end || strncmp(dash + 1, c->id, id) ||
	    strcmp(dash + 1 + id, ".log"))
		return false;
	return copy(c->name, sizeof(c->name), ns_end + 1, dash) &&
	       copy(c->pod, sizeof(c->pod), name, pod_end) &&
	       copy(c->k8s_ns, sizeof(c->k8s_ns), pod_end + 1, ns_end);
}

static void search(int root, const char *path, bool (*fits)(const char *, struct container *),
		   struct container *c)
{
	DIR *dir = proc_dir(root, "%s", path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (fits(e->d_name, c))
			break;
	}
	if (dir)
		closedir(dir);
}

void pods_name(int root, struct container *c)
{
	if (c->uid[0])
		search(root, "var/log/pods", read_pod, c);
	if (c->runtime && c->id[0])
		search(root, "var/log/containers", read_container, c);
}
