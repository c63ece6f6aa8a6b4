// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "live/describe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>

#include "trace_abi.h"

static bool is_any(const void *address, int family)
{
	static const unsigned char zero[16];

	return !memcmp(address, zero, family == AF_INET6 ? 16 : 4);
}

/* An address with its port; port 0 is left out. */
static void put_address(char *buf, size_t size, int family, const void *address, uint16_t port)
{
	bool bracket = family == AF_INET6 && port;
	char text[INET6_ADDRSTRLEN];

	inet_ntop(family, address, text, sizeof(text));
	if (port)
		snprintf(buf, size, "%s%s%s:%u", bracket ? "[" : "", text, bracket ? "]" : "",
			 port);
	else
		snprintf(buf, size, "%s", text);
}

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

	if (s->family == AF_INET || s->family == AF_INET6) {
		if (is_any(s->local, s->family))
			snprintf(buf, size, "*:%u", s->local_port);
		else
			put_address(buf, size, s->family, s->local, s->local_port);
		return buf;
	}
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (s->family == others[i].family) {
			snprintf(buf, size, "%s", others[i].name);
			return buf;
		}
	}
	snprintf(buf, size, "family %u", s->family);
	return buf;
}

static const char *protocol_name(uint8_t proto, char *buf, size_t size)
{
	static const struct {
		uint8_t proto;
		const char *name;
	} known[] = {
		{IPPROTO_UDP, "udp"},	   {IPPROTO_TCP, "tcp"},   {IPPROTO_ICMP, "icmp"},
		{IPPROTO_ICMPV6, "icmp6"}, {IPPROTO_SCTP, "sctp"}, {IPPROTO_UDPLITE, "udplite"},
		{IPPROTO_DCCP, "dccp"},	   {IPPROTO_GRE, "gre"},   {IPPROTO_ESP, "esp"},
		{IPPROTO_IGMP, "igmp"},	   {IPPROTO_IPIP, "ipip"},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].proto == proto)
			return known[i].name;
	}
	snprintf(buf, size, "proto %u", proto);
	return buf;
}

char *describe_flow(const struct watch_flow *f, char *buf, size_t size)
{
	char src[SOCKET_TEXT], dst[SOCKET_TEXT], proto[16];

	if (!f->family) {
		*buf = '\0';
		return buf;
	}
	put_address(src, sizeof(src), f->family, f->src, ntohs(f->src_port));
	put_address(dst, sizeof(dst), f->family, f->dst, ntohs(f->dst_port));
	snprintf(buf, size, "%s %s > %s", protocol_name(f->proto, proto, sizeof(proto)), src, dst);
	return buf;
}

/* A tap's copy is told by its socket or its kind: no reason has to be known for that. */
static bool is_copy(const struct watch_key *key, const struct described *out)
{
	return key->flags & WATCH_COPY || key->pkt_type == PACKET_OUTGOING ||
	       (key->flags & WATCH_SOCKET && out->sock.family == AF_PACKET);
}

static void put_names(const struct describer *d, const struct watch_key *key, struct described *out)
{
	struct ksym sym = {};
	struct watch_dev dev;

	reasons_name(d->reasons, (uint32_t)key->reason, out->reason, sizeof(out->reason));
	if (d->ksyms && !ksym_find(d->ksyms, key->location, &sym))
		snprintf(out->location, sizeof(out->location), "%s", sym.name);
	if (key->ifindex && !watch_dev(d->watch, key->netns, key->ifindex, &dev))
		memcpy(out->ifname, dev.name, sizeof(out->ifname));
	if (key->netns && d->owners)
		owners_netns(d->owners, key->netns, out->netns);
	else if (key->netns)
		snprintf(out->netns, sizeof(out->netns), "%u", key->netns);
}

static void put_owner(const struct describer *d, const struct watch_key *key, struct described *out)
{
	const unsigned wanted = LIVE_BIT(LIVE_PROCESS) | LIVE_BIT(LIVE_CGROUP) |
				LIVE_BIT(LIVE_CONTAINER) | LIVE_BIT(LIVE_POD);
	struct owner *o = &out->owner;
	int rc;

	if (!d->owners || !(d->by & wanted))
		return;
	rc = owners_socket(d->owners, out->sock.inode,
			   out->sock.inode ? out->sock.netns : key->netns, out->sock.cgroup, o);
	out->searching = rc == -EAGAIN;
	if (o->pid)
		snprintf(out->process, sizeof(out->process), "%s[%d]", o->process, (int)o->pid);
	container_text(&o->container, out->container, sizeof(out->container));
	container_pod_text(&o->container, out->pod, sizeof(out->pod));
}

static void judge(const struct describer *d, const struct watch_key *key, struct described *out)
{
	const struct noise_event noise = {out->reason, out->location, key->pkt_type,
					  ntohs(key->protocol)};
	struct live_row *row = &out->row;
	struct stagemap_event e = {
		.reason = out->reason,
		.location = out->location,
		.aux = "",
		.observer = OBSERVER_KFREE_SKB,
		.flags = key->flags & (CAUSE_SK | CAUSE_DST | CAUSE_NO_DEV),
	};
	struct ksym aux = {};
	struct verdict v;

	if (d->ksyms && key->flags & WATCH_DST && !ksym_find(d->ksyms, key->aux, &aux))
		e.aux = aux.name;
	if (is_copy(key, out))
		e.flags |= CAUSE_COPY;
	v = stagemap_judge(&e);
	row->noise = noise_judge(&noise, &v);
	row->stage = v.stage;
	row->note = v.note;
	row->text[LIVE_STAGE] = v.stage == STAGE_NONE ? "" : stage_name(v.stage);
	row->text[LIVE_CLASS] = noise_name(row->noise);
	row->text[LIVE_DIRECTION] = direction_name(v.direction);
	row->text[LIVE_HOOK] = v.hook == HOOK_NONE ? "" : netfilter_hook_name(v.hook);
}

static void put_socket(const struct describer *d, const struct watch_key *key,
		       struct described *out)
{
	if (!(key->flags & (WATCH_SOCKET | WATCH_SENDER | WATCH_PORT)) || key->flags & WATCH_OTHERS)
		return;
	if (!(key->flags & WATCH_PORT))
		out->row.cookie = key->aux;
	if (!watch_sock(d->watch, key->aux, &out->sock))
		describe_socket(&out->sock, out->socket, sizeof(out->socket));
}

void describe(const struct describer *d, const struct watch_entry *e, struct described *out)
{
	const bool others = e->key.flags & WATCH_OTHERS;
	struct live_row *row = &out->row;

	memset(out, 0, sizeof(*out));
	put_names(d, &e->key, out);
	put_socket(d, &e->key, out);
	put_owner(d, &e->key, out);
	judge(d, &e->key, out);
	describe_flow(&e->flow, out->flow, sizeof(out->flow));
	snprintf(out->cpu, sizeof(out->cpu), "%u", e->cpu);

	row->netns = e->key.netns;
	row->text[LIVE_REASON] = out->reason;
	row->text[LIVE_LOCATION] = out->location;
	row->text[LIVE_IFNAME] = out->ifname;
	row->text[LIVE_NETNS] = out->netns;
	row->text[LIVE_SOCKET] = others ? LIVE_OTHERS : out->socket;
	row->text[LIVE_PROCESS] = out->process;
	row->text[LIVE_CGROUP] = out->owner.cgroup;
	row->text[LIVE_CONTAINER] = out->container;
	row->text[LIVE_POD] = out->pod;
	row->text[LIVE_FLOW] = others ? LIVE_OTHERS : out->flow;
	row->text[LIVE_CPU] = out->cpu;
	row->text[LIVE_SOURCE] = "event";
	row->text[LIVE_SCOPE] = "flow";
	row->counts = (struct live_counts){
		.events = e->count.events,
		.packets = e->count.events + e->count.more,
		.bytes = e->count.bytes,
		.memory = e->count.memory,
	};
}
