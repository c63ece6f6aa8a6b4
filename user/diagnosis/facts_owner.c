// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_owner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int facts_owners_find(struct owners *o, struct facts_owner *owner, unsigned n, pid_t pid)
{
	struct owner who;
	int ret;

	if (!o || !n)
		return 0;
	for (unsigned i = 0; i < n; i++)
		owners_socket(o, owner[i].inode, 0, 0, &who);
	ret = owners_look(o, pid);
	for (unsigned i = 0; i < n; i++) {
		if (owners_socket(o, owner[i].inode, 0, 0, &who) || (pid && who.pid != pid))
			continue;
		owner[i].pid = who.pid;
		memcpy(owner[i].process, who.process, sizeof(owner[i].process));
	}
	return ret;
}

int facts_holders_find(struct owners *o, struct facts_socks *socks, pid_t pid)
{
	struct facts_owner *owner = calloc(FACTS_SOCKS, sizeof(*owner));
	int ret;

	if (!owner)
		return -ENOMEM;
	for (unsigned i = 0; i < socks->n; i++)
		owner[i].inode = socks->at[i].inode;
	ret = facts_owners_find(o, owner, socks->n, pid);
	for (unsigned i = 0; i < socks->n; i++) {
		if (!owner[i].pid)
			continue;
		socks->at[i].pid = owner[i].pid;
		memcpy(socks->at[i].process, owner[i].process, sizeof(owner[i].process));
	}
	free(owner);
	return ret;
}

void facts_holders_groups(struct facts_groups *groups, const struct facts_socks *socks)
{
	for (unsigned i = 0; i < socks->n; i++) {
		struct cgroup group;

		if (socks->at[i].pid && cgroup_of(-1, socks->at[i].pid, &group))
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

		if (!s->pid || !cgroup_of(-1, s->pid, &group))
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
