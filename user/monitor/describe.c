// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/describe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drops/cause.h"
#include "drops/packet_text.h"
#include "drops/filter.h"

#define ENTRIES_MOST 65536 /* afterwards, other keys are counted without socket and flow */

char *describe_socket(const struct watch_sock *s, char *buf, size_t size)
{
	static const struct {
		int family;
		const char *name;
	} others[] = {{AF_PACKET, "packet"},
		      {AF_UNIX, "unix"},
		      {AF_NETLINK, "netlink"},
		      {AF_XDP, "xdp"},
		      {AF_VSOCK, "vsock"}};
	const struct endpoint local = num_endpoint_of(s->family, s->local, s->local_port);
	static const unsigned char any[16];

	if (s->family == AF_INET || s->family == AF_INET6) {
		if (!memcmp(s->local, any, s->family == AF_INET6 ? 16 : 4))
			snprintf(buf, size, "*:%u", s->local_port);
		else
			snprintf(buf, size, "%s", num_text_endpoint(&local));
		return buf;
	}
	for (unsigned i = 0; i < LENGTH(others); i++) {
		if (s->family == others[i].family) {
			snprintf(buf, size, "%s", others[i].name);
			return buf;
		}
	}
	snprintf(buf, size, "family %u", s->family);
	return buf;
}

char *describe_end(const struct watch_flow *f, bool source)
{
	const struct endpoint end = num_endpoint_of(f->family, source ? f->src : f->dst,
						    ntohs(source ? f->src_port : f->dst_port));

	return num_text_endpoint(&end);
}

char *describe_flow(const struct watch_flow *f, char *buf, size_t size)
{
	const struct protocol *known = protocol_find(f->proto);
	char number[16], tunnel[TUNNEL_TEXT];

	if (!f->family) {
		*buf = '\0';
		return buf;
	}
	snprintf(number, sizeof(number), "proto %u", f->proto);
	tunnel_text(f, tunnel);
	snprintf(buf, size, "%s %s > %s%s%s", known ? known->name : number, describe_end(f, true),
		 describe_end(f, false), *tunnel ? " in " : "", tunnel);
	return buf;
}

#define OWNER_FIELDS                                                                               \
	(LIVE_BIT(LIVE_PROCESS) | LIVE_BIT(LIVE_CGROUP) | LIVE_BIT(LIVE_CONTAINER) |               \
	 LIVE_BIT(LIVE_POD))

void describe_begin(struct describer *d)
{
	memset(d->sock, 0, sizeof(d->sock));
	memset(d->dev, 0, sizeof(d->dev));
}

static bool has_socket(const struct watch_key *key)
{
	return key->flags & (WATCH_SOCKET | WATCH_SENDER | WATCH_PORT) &&
	       !(key->flags & WATCH_OTHERS);
}

/* Returns the socket, with family 0 if it is unknown. */
static const struct watch_sock *find_sock(struct describer *d, const struct watch_key *key)
{
	static const struct watch_sock none;
	unsigned at = (unsigned)key->aux % DESCRIBE_SOCKS;

	if (!has_socket(key))
		return &none;
	if (d->sock[at].cookie != key->aux) {
		d->sock[at].cookie = key->aux;
		if (watch_sock(d->watch, key->aux, &d->sock[at].sock))
			d->sock[at].sock = none;
	}
	return &d->sock[at].sock;
}

static const char *find_dev(struct describer *d, const struct watch_key *key)
{
	unsigned at = (key->netns * 31 + key->ifindex) % DESCRIBE_DEVS;
	struct watch_dev_key *known = &d->dev[at].key;

	if (!key->ifindex)
		return "";
	if (known->netns != key->netns || known->ifindex != key->ifindex) {
		*known = (struct watch_dev_key){key->netns, key->ifindex};
		if (watch_dev(d->watch, key->netns, key->ifindex, &d->dev[at].dev))
			d->dev[at].dev.name[0] = '\0';
	}
	return d->dev[at].dev.name;
}

static const struct judged_cause *find_cause(struct describer *d, const struct watch_key *from,
					     const struct watch_sock *sock)
{
	struct watch_key key = *from;

	if (has_socket(from) || from->flags & WATCH_OTHERS)
		key.aux = 0;
	key.flags &= WATCH_COPY | WATCH_SK | WATCH_DST | WATCH_NO_DEV | WATCH_CONSUMED |
		     WATCH_ABORTED | WATCH_EGRESS;
	/* a tap's copy is identified by its socket or packet type, not by a drop reason */
	if (from->pkt_type == PACKET_OUTGOING ||
	    (from->flags & WATCH_SOCKET && sock->family == AF_PACKET))
		key.flags |= WATCH_COPY;
	return cause_judge(&d->causes, &key);
}

/* Looks up the socket if the kernel reports only the destination address. Returns -EAGAIN until the
 * lookup is done. */
int describe_bound(struct owners *owners, uint32_t netns, struct watch_sock *sock)
{
	struct ports_key key = {.netns = netns, .family = sock->family, .port = sock->local_port};
	struct ports_row row;
	int rc;

	if (sock->inode || !netns || sock->protocol != IPPROTO_UDP ||
	    (sock->family != AF_INET && sock->family != AF_INET6))
		return 0;
	memcpy(key.address, sock->local, sizeof(key.address));
	rc = owners_bound(owners, &key, &row);
	if (rc)
		return rc;
	sock->inode = row.inode;
	sock->rcvbuf = row.rcvbuf;
	sock->netns = netns;
	return 0;
}

static int find_owner(struct describer *d, const struct watch_key *key,
		      const struct watch_sock *sock, struct owner *out)
{
	if (!d->owners || !(d->by & OWNER_FIELDS))
		return -ENOENT;
	return owners_socket(d->owners, sock->inode, sock->inode ? sock->netns : key->netns,
			     sock->cgroup, out);
}

/* Returns true if the destination may have a socket, which the kernel did not report. */
static bool is_bound(struct describer *d, const struct watch_entry *e,
		     const struct watch_sock *sock)
{
	return d->owners && e->key.flags & WATCH_PORT &&
	       strcmp(find_cause(d, &e->key, sock)->reason, "NO_SOCKET");
}

bool describe_searching(struct describer *d, const struct watch_entry *e)
{
	struct watch_sock sock = *find_sock(d, &e->key);
	bool searching = false;
	struct owner owner;

	if (is_bound(d, e, &sock))
		searching = describe_bound(d->owners, e->key.netns, &sock) == -EAGAIN;
	if (d->owners && e->key.netns)
		searching |= owners_netns_searching(d->owners, e->key.netns);
	return find_owner(d, &e->key, &sock, &owner) == -EAGAIN || searching;
}

char *describe_netns(struct owners *owners, uint32_t netns, char *buf)
{
	*buf = '\0';
	if (netns && owners)
		owners_netns(owners, netns, buf);
	else if (netns)
		snprintf(buf, OWNER_NETNS, "%u", netns);
	return buf;
}

void describe(struct describer *d, const struct watch_entry *e, struct described *out)
{
	const bool others = e->key.flags & WATCH_OTHERS;
	struct live_row *row = &out->row;
	const struct judged_cause *c;
	struct owner *o = &out->owner;

	memset(out, 0, sizeof(*out));
	out->sock = *find_sock(d, &e->key);
	if (has_socket(&e->key))
		row->cookie = e->key.aux;
	if (is_bound(d, e, &out->sock))
		describe_bound(d->owners, e->key.netns, &out->sock);
	if (out->sock.family)
		describe_socket(&out->sock, out->socket, sizeof(out->socket));
	row->netns = e->key.netns;
	describe_netns(d->owners, row->netns, out->netns);
	find_owner(d, &e->key, &out->sock, o);
	owner_text(o, out->process);
	container_text(&o->container, out->container, sizeof(out->container));
	container_pod_text(&o->container, out->pod, sizeof(out->pod));
	c = find_cause(d, &e->key, &out->sock);
	row->class = c->verdict.class;
	row->stage = c->verdict.stage;
	row->note = c->verdict.note;
	live_row_begin(row, "event", "flow");
	describe_flow(&e->flow, out->flow, sizeof(out->flow));
	snprintf(out->cpu, sizeof(out->cpu), "%u", e->cpu);

	row->text[LIVE_DIRECTION] = direction_names[c->verdict.direction];
	if (c->verdict.hook != HOOK_NONE)
		row->text[LIVE_HOOK] = netfilter_hook_names[c->verdict.hook];
	row->text[LIVE_REASON] = c->reason;
	row->text[LIVE_LOCATION] = c->location;
	row->text[LIVE_IFNAME] = find_dev(d, &e->key);
	row->text[LIVE_NETNS] = out->netns;
	row->text[LIVE_SOCKET] = others ? LIVE_OTHERS : out->socket;
	row->text[LIVE_PROCESS] = out->process;
	row->text[LIVE_CGROUP] = out->owner.cgroup;
	row->text[LIVE_CONTAINER] = out->container;
	row->text[LIVE_POD] = out->pod;
	row->text[LIVE_FLOW] = others ? LIVE_OTHERS : out->flow;
	row->text[LIVE_CPU] = out->cpu;
	row->counts = (struct live_counts){
		.events = e->count.events,
		.packets = e->count.events + e->count.more,
		.bytes = e->count.bytes,
		.memory = e->count.memory,
	};
}

void entries_add(void *entries, const struct watch_entry *e)
{
	struct entries *list = entries;
	struct watch_entry merged = *e, *sum;

	list->at.size = sizeof(*e);
	list->at.key = offsetof(struct watch_entry, cpu) + sizeof(e->cpu);
	if (list->at.n >= ENTRIES_MOST && !list_get(&list->at, e)) {
		list->others += e->key.flags & WATCH_OTHERS ? 0 : e->count.events;
		merged.key.aux = e->key.flags & WATCH_MANY ? 0 : e->key.aux;
		merged.key.flags |= WATCH_OTHERS;
		merged.flow = (struct watch_flow){};
	}
	sum = list_row(&list->at, &merged);
	sum_words(&sum->count, &e->count, sizeof(e->count));
	if (e->burst.packets > sum->burst.packets)
		sum->burst = e->burst;
}
