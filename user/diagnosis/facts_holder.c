// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_holder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnosis/facts_owner.h"

int facts_holders_find(struct facts_socks *socks, pid_t pid)
{
	struct facts_owner *owner = calloc(FACTS_SOCKS, sizeof(*owner));
	int ret;

	if (!owner)
		return -ENOMEM;
	for (unsigned i = 0; i < socks->n; i++)
		owner[i].inode = socks->at[i].inode;
	ret = facts_owners_find(owner, socks->n, pid);
	for (unsigned i = 0; i < socks->n; i++) {
		const struct facts_owner *o = facts_owner_of(owner, socks->n, socks->at[i].inode);

		if (!o || !o->pid)
			continue;
		socks->at[i].pid = o->pid;
		snprintf(socks->at[i].process, sizeof(socks->at[i].process), "%s", o->process);
	}
	free(owner);
	return ret;
}

void facts_holders_groups(struct facts_groups *groups, const struct facts_socks *socks)
{
	for (unsigned i = 0; i < socks->n; i++) {
		struct cgroup group;

		if (socks->at[i].pid && cgroup_of(socks->at[i].pid, &group))
			facts_groups_add(groups, &group);
	}
}

void facts_holders_throttled(struct facts_groups *groups, struct facts_socks *socks)
{
	facts_groups_sample(groups);
	for (unsigned i = 0; i < socks->n; i++) {
		struct facts_sock *s = &socks->at[i];
		const struct facts_group *worst;
		struct cgroup group;

		if (!s->pid || !cgroup_of(s->pid, &group))
			continue;
		worst = facts_groups_worst(groups, &group);
		if (!worst)
			continue;
		snprintf(s->group, sizeof(s->group), "%.*s", (int)sizeof(s->group) - 1,
			 worst->dir + group.root);
		s->throttled_known = true;
		s->periods = worst->after.periods - worst->before.periods;
		s->throttled = worst->after.throttled - worst->before.throttled;
		s->throttled_ns = worst->after.throttled_ns - worst->before.throttled_ns;
	}
}
