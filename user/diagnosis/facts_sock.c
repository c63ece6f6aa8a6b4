// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/proc.h"
#include "diagnosis/facts.h"
#include "host/sockdiag.h"

/*
 * Writes the addresses. Both are "" unless the socket receives only on one address or from one
 * peer.
 */
static void put_addresses(struct facts_sock *s, const struct sockmem_row *row)
{
	static const uint8_t any[sizeof(row->address)];
	char peer[INET6_ADDRSTRLEN];

	if (memcmp(row->address, any, sizeof(any)))
		inet_ntop(row->family, row->address, s->bound, sizeof(s->bound));
	if (row->connected && inet_ntop(row->family, row->peer, peer, sizeof(peer)))
		snprintf(s->peer, sizeof(s->peer), row->family == AF_INET6 ? "[%s]:%u" : "%s:%u",
			 peer, row->peer_port);
}

/*
 * Adds a socket if it matches and there is room. A socket with losses or queued packets replaces an
 * idle socket.
 */
void facts_socks_add(void *arg, const struct sockmem_row *row)
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
				 .queued = row->rmem,
				 .rcvbuf = row->rcvbuf,
				 .sndbuf = row->sndbuf,
				 .drops = row->drops,
				 .waiting = row->waiting,
				 .room = row->room,
				 .md5 = row->md5};
	put_addresses(s, row);
}

int facts_socks_read(const struct netns *ns, uint16_t port, struct facts_socks *socks)
{
	*socks = (struct facts_socks){.port = port};
	if (!sockmem_udp(ns, AF_UNSPEC, 0, facts_socks_add, socks))
		return 0;
	*socks = (struct facts_socks){.port = port, .no_buffer = true};
	return sockmem_files(ns, facts_socks_add, socks);
}

int facts_listeners_read(const struct netns *ns, struct facts_socks *socks)
{
	*socks = (struct facts_socks){};
	return sockmem_tcp(ns, 1U << TCP_LISTEN, facts_socks_add, socks);
}

static void count_half_open(void *arg, const struct sockmem_row *row)
{
	struct facts_socks *listeners = arg;

	for (unsigned i = 0; i < listeners->n; i++)
		listeners->at[i].half_open += listeners->at[i].port == row->port;
}

int facts_half_open_read(const struct netns *ns, struct facts_socks *listeners)
{
	return sockmem_tcp(ns, 1U << TCP_SYN_RECV, count_half_open, listeners);
}

void facts_socks_rates(const struct facts_socks *before, struct facts_socks *after)
{
	for (unsigned i = 0; i < after->n; i++) {
		struct facts_sock *s = &after->at[i];
		const struct facts_sock *b = NULL;

		for (unsigned k = 0; k < before->n && !b; k++)
			b = before->at[k].inode == s->inode ? &before->at[k] : NULL;
		s->young = !b;
		s->queued_before = b ? b->queued : 0;
		s->lost = s->drops - (b ? b->drops : 0); /* modulo 2^32, as for sk_drops */
		if (!b && before->more_lose)		 /* the losses may predate the window */
			s->lost = 0;
	}
}

/*
 * Reads cpu.stat for both cgroup versions: throttled_usec in version 2, throttled_time (ns) in
 * version 1.
 */
static bool read_throttled(const char *text, uint64_t *ns)
{
	for (const char *line = text; line; line = next_line(line)) {
		if (sscanf(line, "throttled_time %" SCNu64, ns) == 1)
			return true;
		if (sscanf(line, "throttled_usec %" SCNu64, ns) == 1) {
			*ns *= 1000;
			return true;
		}
	}
	return false;
}

unsigned group_throttled(int root, pid_t pid, uint64_t *ns, unsigned max)
{
	struct cgroup at;
	char text[1024];
	unsigned n = 0;

	if (!cgroup_of(root, pid, &at))
		return 0;
	do {
		proc_read(root, text, sizeof(text), "%s/cpu.stat", at.dir + 1);
		if (!read_throttled(text, &ns[n]))
			break;
	} while (++n < max && cgroup_up(&at));
	return n;
}

int facts_holders_find(struct owners *o, struct facts_socks *socks, pid_t pid)
{
	struct owner who; /* a lookup queues a search */
	int ret;

	for (unsigned i = 0; o && i < socks->n; i++)
		owners_socket(o, socks->at[i].inode, 0, 0, &who);
	ret = o && socks->n ? owners_look(o, pid) : 0;
	for (unsigned i = 0; i < socks->n; i++) {
		struct facts_sock *s = &socks->at[i];

		if (!o || owners_socket(o, s->inode, 0, 0, &who) || (pid && who.pid != pid))
			who = (struct owner){};
		s->pid = who.reads ? who.pid : 0;
		s->holders = who.holders;
		memcpy(s->process, who.process, sizeof(s->process));
	}
	return ret;
}

struct capture_walk {
	uint32_t inum;
	struct list *socks;
};

/* Returns the earlier record of the same socket, whichever process it names, or NULL. */
static const struct silent_record *find_capture(const struct list *socks,
						const struct silent_record *r)
{
	return list_find(socks, offsetof(struct silent_record, sock.inode), &r->sock.inode,
			 sizeof(r->sock.inode));
}

static void keep_capture(void *arg, const void *record)
{
	const struct silent_record *r = record;
	struct capture_walk *walk = arg;

	if (r->sock.family == AF_PACKET && r->sock.netns == walk->inum &&
	    !find_capture(walk->socks, r))
		*(struct silent_record *)list_add(walk->socks) = *r;
}

/* Returns true if /proc/net/packet lists a socket below its heading. */
static bool has_packet_sockets(const struct netns *ns)
{
	char *text = facts_net_text(ns, "packet");
	const bool has = text && next_line(text);

	free(text);
	return has;
}

int facts_captures_read(struct owners *o, const struct netns *ns, uint32_t inum, struct list *socks)
{
	struct capture_walk walk = {inum, socks};

	socks->size = sizeof(struct silent_record);
	if (!has_packet_sockets(ns))
		return 0;
	return o ? owners_silent(o, keep_capture, &walk) : -EOPNOTSUPP;
}

unsigned facts_captures_rates(const struct list *before, const struct list *after,
			      struct facts_capture capture[FACTS_CAPTURES])
{
	const struct silent_record *r = after->at;
	unsigned n = 0;

	for (unsigned i = 0; i < after->n; i++, r++) {
		const struct silent_record *was = find_capture(before, r);
		const uint64_t lost = counter_moved(was ? was->sock.drops : 0, r->sock.drops);
		unsigned at = 0;

		while (at < n &&
		       (capture[at].pid != (pid_t)r->pid || strcmp(capture[at].ifname, r->ifname)))
			at++;
		if (!lost || at == FACTS_CAPTURES)
			continue;
		if (at == n) {
			capture[n++].pid = (pid_t)r->pid;
			memcpy(capture[at].process, r->process, sizeof(r->process));
			memcpy(capture[at].ifname, r->ifname, sizeof(r->ifname));
		}
		capture[at].lost += lost;
	}
	return n;
}
