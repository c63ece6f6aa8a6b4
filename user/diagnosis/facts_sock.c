// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/proc.h"
#include "diagnosis/facts.h"
#include "host/sockdiag.h"

/* If it is wanted and there is room; one that loses or waits takes that of one that does not. */
static void on_row(void *arg, const struct sockmem_row *row)
{
	struct facts_socks *socks = arg;
	struct facts_sock *s;

	socks->all++;
	if (socks->port && socks->port != row->port)
		return;
	if (socks->n == FACTS_SOCKS) {
		socks->more++;
		if (!row->drops && !row->rmem)
			return;
		for (s = &socks->at[socks->settled];
		     socks->settled < socks->n && (s->drops || s->queued); s++)
			socks->settled++;
		socks->more_lose |= socks->settled == socks->n;
		if (socks->more_lose)
			return;
	}
	s = &socks->at[socks->n == FACTS_SOCKS ? socks->settled++ : socks->n++];
	*s = (struct facts_sock){.inode = row->inode,
				 .cookie = row->cookie,
				 .family = row->family,
				 .port = row->port,
				 .connected = row->connected,
				 .queued = row->rmem,
				 .rcvbuf = row->rcvbuf,
				 .sndbuf = row->sndbuf,
				 .drops = row->drops};
}

void facts_socks_parse(struct facts_socks *socks, int family, const char *text)
{
	sockmem_parse(text, strlen(text), family, on_row, socks);
}

int facts_socks_read(const struct netns *ns, uint16_t port, struct facts_socks *socks)
{
	struct mnl_socket *mem;
	int ret = sockmem_open(&mem, ns);

	memset(socks, 0, sizeof(*socks));
	socks->port = port;
	if (!ret)
		ret = sockmem_udp(mem, AF_UNSPEC, 0, on_row, socks);
	sockmem_close(mem);
	if (!ret)
		return 0;
	memset(socks, 0, sizeof(*socks));
	socks->port = port;
	socks->no_buffer = true;
	return sockmem_files(ns, on_row, socks);
}

void facts_socks_rates(const struct facts_socks *before, struct facts_socks *after)
{
	for (unsigned i = 0; i < after->n; i++) {
		struct facts_sock *s = &after->at[i];
		const struct facts_sock *b = NULL;

		for (unsigned k = 0; k < before->n && !b; k++)
			b = before->at[k].inode == s->inode ? &before->at[k] : NULL;
		s->queued_before = b ? b->queued : 0;
		s->lost = s->drops - (b ? b->drops : 0); /* modulo 2^32, as sk_drops */
		if (!b && before->more_lose)		 /* before or since is not known */
			s->lost = 0;
	}
}

static bool read_value(const char *text, const char *name, uint64_t *value)
{
	for (const char *line = text; line; line = next_line(line)) {
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ')
			return sscanf(line + strlen(name), "%" SCNu64, value) == 1;
	}
	return false;
}

static bool read_throttled(const char *text, uint64_t *ns)
{
	if (!read_value(text, "throttled_usec", ns))
		return read_value(text, "throttled_time", ns);
	*ns *= 1000;
	return true;
}

struct group_stat group_stat_parse(const char *text)
{
	struct group_stat s = {};

	s.known = read_value(text, "nr_periods", &s.periods) &&
		  read_value(text, "nr_throttled", &s.throttled) &&
		  read_throttled(text, &s.throttled_ns);
	return s;
}

static struct group_stat read_stat(const char *dir)
{
	struct group_stat s = {.known = false};
	char path[544], *text;

	snprintf(path, sizeof(path), "%s/cpu.stat", dir);
	if (file_read(path, &text, NULL))
		return s;
	s = group_stat_parse(text);
	free(text);
	return s;
}

unsigned group_throttled(int root, pid_t pid, uint64_t *ns, unsigned max)
{
	struct cgroup at;
	char text[1024];
	unsigned n = 0;

	if (!cgroup_of(root, pid, &at))
		return 0;
	do {
		if (proc_read(root, text, sizeof(text), "%s/cpu.stat", at.dir + 1) < 0 ||
		    !read_throttled(text, &ns[n]))
			break;
	} while (++n < max && cgroup_up(&at));
	return n;
}

static const struct facts_group *find_group(const struct facts_groups *groups, const char *dir)
{
	for (unsigned i = 0; i < groups->n; i++) {
		if (!strcmp(groups->at[i].dir, dir))
			return &groups->at[i];
	}
	return NULL;
}

int facts_owners_find(struct owners *o, struct facts_owner *owner, unsigned n, pid_t pid)
{
	struct owner who; /* what is asked for is searched for */
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
		owner[i].reads = who.reads;
		owner[i].holders = who.holders;
		memcpy(owner[i].process, who.process, sizeof(who.process));
	}
	return ret;
}

int facts_holders_find(struct owners *o, struct facts_socks *socks, pid_t pid)
{
	struct facts_owner owner[FACTS_SOCKS];
	int ret;

	for (unsigned i = 0; i < socks->n; i++)
		owner[i] = (struct facts_owner){.inode = socks->at[i].inode};
	ret = facts_owners_find(o, owner, socks->n, pid);
	for (unsigned i = 0; i < socks->n; i++) {
		socks->at[i].pid = owner[i].reads ? owner[i].pid : 0;
		socks->at[i].holders = owner[i].holders;
		memcpy(socks->at[i].process, owner[i].process, sizeof(owner[i].process));
	}
	return ret;
}

void facts_holders_groups(struct facts_groups *groups, const struct facts_socks *socks)
{
	for (unsigned i = 0; i < socks->n; i++) {
		struct cgroup at;

		if (!socks->at[i].pid || !cgroup_of(-1, socks->at[i].pid, &at))
			continue;
		/* Its group and all above it; those above one that is in the list are, too. */
		do {
			struct facts_group *g = &groups->at[groups->n];

			if (groups->n == FACTS_GROUPS || find_group(groups, at.dir))
				break;
			snprintf(g->dir, sizeof(g->dir), "%s", at.dir);
			g->stat = read_stat(at.dir);
			groups->n++;
		} while (cgroup_up(&at));
	}
}

void facts_holders_throttled(struct facts_groups *groups, struct facts_socks *socks)
{
	for (unsigned i = 0; i < groups->n; i++) {
		struct group_stat *stat = &groups->at[i].stat, after = read_stat(groups->at[i].dir);

		stat->known = stat->known && after.known && after.throttled > stat->throttled;
		stat->periods = after.periods - stat->periods;
		stat->throttled = after.throttled - stat->throttled;
		stat->throttled_ns = after.throttled_ns - stat->throttled_ns;
	}
	for (unsigned i = 0; i < socks->n; i++) {
		struct facts_sock *s = &socks->at[i];
		struct cgroup at;

		if (!s->pid || !cgroup_of(-1, s->pid, &at))
			continue;
		/* Of its owner's group and those above, the one that was stopped the longest. */
		do {
			const struct facts_group *g = find_group(groups, at.dir);

			if (!g || !g->stat.known ||
			    (s->throttled && g->stat.throttled_ns <= s->throttled_ns))
				continue;
			snprintf(s->group, sizeof(s->group), "%.*s", (int)sizeof(s->group) - 1,
				 g->dir + at.root);
			s->periods = g->stat.periods;
			s->throttled = g->stat.throttled;
			s->throttled_ns = g->stat.throttled_ns;
		} while (cgroup_up(&at));
	}
}
