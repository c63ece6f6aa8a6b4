// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/plan.h"

#include <stdio.h>
#include <sys/stat.h>

char *check_command(const struct check_finding *c, unsigned i, bool undo, const char *netns,
		    char buf[FINDING_COMMAND])
{
	return change_command_in(&c->changes[i], undo, netns, buf, FINDING_COMMAND);
}

/*
 * What belongs to the host is written from outside of namespaces. Other ones than the first show
 * some of its settings without a right to write them, and the others not at all.
 */
static bool writable(const struct netns *ns, const struct change *change)
{
	char path[CHANGE_NAME_SIZE + 16];
	struct stat st = {.st_mode = 0};
	int saved;

	if (!change_of_namespace(change->kind))
		return !ns;
	if (change->kind != CHANGE_SYSCTL)
		return true;
	saved = netns_push(ns);
	if (saved < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/sys/%s", change->name);
	if (stat(path, &st))
		st.st_mode = 0;
	netns_pop(saved);
	return st.st_mode & 0222;
}

static void plan(struct check_finding *c, const struct netns *ns)
{
	unsigned n = 0;

	c->on_host = ns && !writable(ns, &c->changes[0]);
	for (unsigned i = 0; i < c->n_changes; i++) {
		const struct netns *where = c->on_host ? NULL : ns;
		const struct change wish = c->changes[i];
		struct error ignored = {};

		if (writable(where, &wish) &&
		    !change_plan(&c->changes[n], where, wish.kind, wish.ifname, wish.name,
				 wish.wanted, &ignored))
			n++;
	}
	c->n_changes = n;
}

void check_plan(struct check_findings *list, const struct netns *ns, const char *netns)
{
	for (unsigned i = 0; i < list->n; i++) {
		struct check_finding *c = &list->at[i];

		if (!c->n_changes)
			continue;
		plan(c, ns);
		c->finding.command[0] = c->finding.undo[0] = '\0';
		if (!c->n_changes)
			continue;
		check_command(c, 0, false, netns, c->finding.command);
		check_command(c, 0, true, netns, c->finding.undo);
	}
}
