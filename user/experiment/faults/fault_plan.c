// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What an experiment has to respect so that a fault loses packets where it should, on slow hosts
 * and fast ones. Two rules recur. A queue in the kernel overflows only if more packets can be in
 * flight than it holds, and SO_SNDBUF limits those (veth keeps skb->sk). And a queue meant to
 * overflow needs more packets than it holds.
 */
#include "experiment/faults/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "experiment/faults/fault_plan_parts.h"

#define SKB_OVERHEAD   (320 + 64 + 14) /* skb_shared_info, headroom, link header */
#define SKB_STRUCT     256	       /* sizeof(struct sk_buff), rounded up */
#define SKB_SMALL_HEAD 640	       /* SKB_SMALL_HEAD_CACHE_SIZE */

static void measure_datagram(struct plan *p)
{
	const struct fault_request *req = p->req;
	unsigned ip = req->family == AF_INET6 ? 40 : 20;
	unsigned mtu = req->mtu ? req->mtu : 1500;
	unsigned udp = 8 + req->payload, frame, fragment;
	unsigned need, alloc;

	p->frames = 1;
	if (ip + udp > mtu) {
		if (req->family == AF_INET6)
			ip += 8; /* fragment header */
		fragment = (mtu - ip) & ~7U;
		p->frames = (udp + fragment - 1) / fragment;
	}
	p->bytes = udp + (uint64_t)p->frames * (ETH_HLEN + ip);
	frame = p->frames > 1 ? mtu : ip + udp;
	need = frame + SKB_OVERHEAD;
	alloc = SKB_SMALL_HEAD;
	if (need > alloc) {
		for (alloc = 1024; alloc < need; alloc *= 2)
			; /* kmalloc_reserve() */
	}
	p->truesize = p->frames * (alloc + SKB_STRUCT);
	p->segments = req->segments ? req->segments : 1;
}

/* What is not done to the devices of a topology. */
static uint64_t foreign_to(enum lab_topology topology)
{
	switch (topology) {
	case LAB_TAP:
		return FAULTS_OF_VETH;
	case LAB_VXLAN:
		return FAULTS_OF_VETH | FAULTS_OF_XDP_DRIVER;
	default:
		return 0;
	}
}

/* Packets have to come past what loses them. */
static int plan_topology(struct plan *p)
{
	enum lab_topology needed = fault_topology(p->list);
	uint64_t foreign;

	p->fx->topology = p->req->topology_fixed ? p->req->topology : needed;
	foreign = p->list->set & foreign_to(p->fx->topology);
	if (foreign)
		return error_set(p->err, STATUS_USAGE, -EINVAL, "leave --topology out",
				 "--fault %s needs a veth, not a %s",
				 fault_values[__builtin_ctzll(foreign)].name,
				 lab_topologies[p->fx->topology].name);
	if (needed == LAB_PAIR || needed == p->fx->topology)
		return 0;
	return error_set(p->err, STATUS_USAGE, -EINVAL, "leave --lab and --topology out",
			 "these faults need the topology %s, not %s", lab_topologies[needed].name,
			 lab_topologies[p->fx->topology].name);
}

enum lab_topology fault_topology(const struct fault_list *list)
{
	const uint64_t routed = FAULT_BIT(FAULT_IP_FORWARD_TTL) | FAULT_BIT(FAULT_IP_FORWARD_MTU) |
				FAULT_BIT(FAULT_NETFILTER_FORWARD) |
				FAULT_BIT(FAULT_IP_ROUTE_BLACKHOLE) | FAULT_BIT(FAULT_GSO);
	const uint64_t tapped = FAULT_BIT(FAULT_TX_DEVICE_TAP) | FAULT_BIT(FAULT_TX_DEVICE_DETACH);
	const uint64_t bridged = FAULT_BIT(FAULT_L2_BLOCKED) | FAULT_BIT(FAULT_L2_FLOOD) |
				 FAULT_BIT(FAULT_L2_SILENT);

	if (list->set & routed)
		return LAB_ROUTER;
	if (list->set & tapped)
		return LAB_TAP;
	if (fault_has(list, FAULT_TUNNEL))
		return LAB_VXLAN;
	return list->set & bridged ? LAB_BRIDGE : LAB_PAIR;
}

char *fault_cpu_mask(char *buf, size_t size, unsigned cpu)
{
	int len = snprintf(buf, size, "%x", 1U << cpu % 32);

	for (unsigned word = cpu / 32; word && len + 10 <= (int)size; word--)
		len += snprintf(buf + len, size - len, ",00000000");
	return buf;
}

int plan_ask(uint64_t bytes)
{
	return bytes < INT_MAX / 2 ? bytes : INT_MAX / 2; /* the kernel doubles it */
}

int plan_need_count(struct plan *p, enum fault fault, uint64_t frames, const char *what)
{
	uint64_t queue = frames / p->frames * p->segments + 1;
	char hint[96];

	if (p->req->count / 2 >= queue)
		return 0;
	snprintf(hint, sizeof(hint), "use --count %" PRIu64 " or more", 2 * queue);
	return error_set(p->err, STATUS_USAGE, -EINVAL, hint,
			 "--fault %s: %" PRIu64 " packets fit in %s", fault_values[fault].name,
			 queue, what);
}

static int check_engines(struct plan *p)
{
	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		const struct fault_row *row = &fault_rows[i];

		if (!plan_has(p, i))
			continue;
		if (row->tx && strcmp(row->tx, p->req->tx))
			return error_set(p->err, STATUS_USAGE, -EINVAL, NULL,
					 "--fault %s needs --tx %s, not %s", fault_values[i].name,
					 row->tx, p->req->tx);
		if (row->not_tx && !strcmp(row->not_tx, p->req->tx))
			return error_set(p->err, STATUS_USAGE, -EINVAL,
					 "use --tx socket or --tx xsk",
					 "--fault %s cannot be seen with --tx %s",
					 fault_values[i].name, p->req->tx);
		if (row->rx && strcmp(row->rx, p->req->rx))
			return error_set(p->err, STATUS_USAGE, -EINVAL, NULL,
					 "--fault %s needs --rx %s, not %s", fault_values[i].name,
					 row->rx, p->req->rx);
	}
	return 0;
}

static int check_family(struct plan *p)
{
	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		int family = fault_rows[i].family;

		if (plan_has(p, i) && family && family != p->req->family)
			return error_set(p->err, STATUS_USAGE, -EINVAL,
					 family == AF_INET ? "leave --ipv6 out" : "use --ipv6",
					 "--fault %s: IPv%c has no such loss", fault_values[i].name,
					 family == AF_INET ? '6' : '4');
	}
	if (plan_has(p, FAULT_IP_FORWARD_MTU) &&
	    (p->frames > 1 || p->bytes - ETH_HLEN <= FAULT_MTU))
		return error_set(p->err, STATUS_USAGE, -EINVAL, "use --length 1400, for example",
				 "--fault ip_forward:mtu needs packets of more than %d bytes that "
				 "fit the first link",
				 FAULT_MTU);
	if (p->list->set & FAULTS_OF_FRAGMENTS && p->frames < 2)
		return error_set(p->err, STATUS_USAGE, -EINVAL, "use --length 4000, for example",
				 "--fault ip_frag needs datagrams that do not fit the MTU");
	return 0;
}

int fault_plan(const struct fault_list *list, const struct fault_request *req,
	       struct fault_effects *fx, struct error *err)
{
	struct plan p = {.list = list, .req = req, .fx = fx, .err = err};
	int ret;

	*fx = (struct fault_effects){.port = req->port, .tx_cpu = -1, .busy_cpu = -1};
	ret = plan_topology(&p);
	if (ret || !list->set)
		return ret;
	ret = check_engines(&p);
	if (ret)
		return ret;
	measure_datagram(&p);
	fx->other_vni = plan_has(&p, FAULT_TUNNEL);
	ret = check_family(&p);
	if (ret)
		return ret;
	fx->consumed =
		plan_has(&p, FAULT_TC_EGRESS_STOLEN) || plan_has(&p, FAULT_TC_INGRESS_STOLEN);
	if (plan_has(&p, FAULT_IP_FORWARD_TTL))
		fx->ttl = 1;
	fx->xdp = fault_is_native_xdp(list) || plan_has(&p, FAULT_XDP_GENERIC);
	ret = plan_way(&p);
	return ret ? ret : plan_receiver(&p);
}
