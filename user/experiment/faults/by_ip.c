// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Faults by settings of the IP layers: routes, addresses, fragments, MTUs, IPsec policies. */
#include <errno.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <sys/socket.h>

#include "experiment/faults/row.h"
#include "host/netdev.h"
#include "host/nl.h"

#define HOST4	   32 /* prefix lengths of a host address */
#define HOST6	   128
#define FRAG_ROOM  "134217728" /* bytes per namespace, for 1 s at most */
#define SMALL_MTU  1280	       /* bytes, the minimum for IPv6 (RFC 8200, section 5) */
#define FRAGMENTED 4000
#define LARGE	   1400 /* bytes, above SMALL_MTU, below the other links' MTU */

/* Adds policies for each family that the kernel supports. */
static int add_policies(const struct netns *ns, struct xfrm_policy policy, struct error *err)
{
	int ret;

	policy.family = AF_INET;
	ret = xfrm_add_policy(ns, &policy);
	policy.family = AF_INET6;
	if (!ret)
		ret = xfrm_add_policy(ns, &policy);
	if (ret == -EAFNOSUPPORT)
		ret = 0; /* no IPv6 in this kernel */
	if (ret == -EPROTONOSUPPORT)
		return error_set(err, STATUS_UNABLE, ret, "the kernel needs CONFIG_XFRM_USER",
				 "this kernel takes no IPsec policies");
	return lab_failed(ret, "add an IPsec policy", NULL, err);
}

/*
 * Without a state, and without a daemon to create it, xfrm_lookup_route() gives each packet a
 * blackhole route, while xfrm_larval_drop is set.
 */
static int apply_tx_route(struct fault_state *s, struct error *err)
{
	const struct xfrm_policy policy = {.port = s->fx->port, .out = true, .esp = true};
	int ret = netns_sysctl_write(&s->lab->tx_ns, "net/core/xfrm_larval_drop", "1");

	if (ret == -ENOENT)
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "the kernel needs CONFIG_XFRM",
				 "this kernel has no IPsec");
	return ret ? lab_failed(ret, "have packets without a key dropped", NULL, err)
		   : add_policies(&s->lab->tx_ns, policy, err);
}

/* Makes the return route to the sender point to the receiver's loopback. */
static int apply_rp_filter(struct fault_state *s, struct error *err)
{
	const struct lab_port *rx = &s->lab->rx;
	char path[80];
	int ret, lo;

	snprintf(path, sizeof(path), "net/ipv4/conf/%s/rp_filter", rx->ifname);
	ret = netns_sysctl_write(rx->ns, path, "1");
	lo = nl_ifindex(rx->ns, "lo");
	if (!ret)
		ret = lo < 0 ? lo
			     : netdev_add_route(rx->ns, RTN_UNICAST, (unsigned)lo, AF_INET,
						&s->lab->tx.ip4, HOST4, NULL);
	return lab_failed(ret, "set rp_filter", NULL, err);
}

/* A host accepts no packet from an address of its own (fib_validate_source()). */
static int apply_martian(struct fault_state *s, struct error *err)
{
	const struct lab_port *rx = &s->lab->rx;
	int lo = nl_ifindex(rx->ns, "lo");
	int ret = lo < 0 ? lo
			 : netdev_add_addr(rx->ns, (unsigned)lo, AF_INET, &s->lab->tx.ip4, HOST4);

	return lab_failed(ret, "give the receiver the sender's address", NULL, err);
}

static int apply_blackhole(struct fault_state *s, struct error *err)
{
	const struct lab_port *rx = &s->lab->rx;
	int ret = netdev_add_route(&s->lab->router_ns, RTN_BLACKHOLE, 0, AF_INET, &rx->ip4, HOST4,
				   NULL);

	if (!ret && !IN6_IS_ADDR_UNSPECIFIED(&rx->ip6))
		ret = netdev_add_route(&s->lab->router_ns, RTN_BLACKHOLE, 0, AF_INET6, &rx->ip6,
				       HOST6, NULL);
	return lab_failed(ret, "add a blackhole", NULL, err);
}

static int plan_fragments(struct fault_plan *p)
{
	if (p->frames > 1)
		return 0;
	return error_usage(p->err, "use --length 4000, for example",
			   "--fault ip_frag needs datagrams that do not fit the MTU");
}

/*
 * Incomplete datagrams fill the usual 4 MiB, and then all fragments are refused: arg is the first
 * of the receiver's limits to raise. 0: a limit of 0 for all refuses every new queue
 * (inet_frag_find()). The low limit may not exceed it.
 */
static int apply_frag_limits(struct fault_state *s, struct error *err)
{
	static const char *const paths[] = {
		"net/ipv4/ipfrag_low_thresh",
		"net/ipv6/ip6frag_low_thresh",
		"net/ipv4/ipfrag_high_thresh",
		"net/ipv6/ip6frag_high_thresh",
	};
	unsigned first = fault_row(s->fault)->arg;
	int ret = 0;

	for (unsigned i = first; i < LENGTH(paths) && !ret; i++)
		ret = netns_sysctl_write(&s->lab->rx_ns, paths[i], first ? FRAG_ROOM : "0");
	return lab_failed(ret, first ? "give fragments memory" : "limit the memory for fragments",
			  NULL, err);
}

static int plan_mtu(struct fault_plan *p)
{
	if (p->frames == 1 && p->bytes - ETH_HLEN > SMALL_MTU)
		return 0;
	return fault_plan_refuse(p, -EINVAL, "use --length 1400, for example",
				 " needs packets of more than %d bytes that fit the first link",
				 SMALL_MTU);
}

/* The sender does not receive the ICMP report (PROGRAM_UNTOLD). */
static int apply_mtu(struct fault_state *s, struct error *err)
{
	const struct lab_port *out = &s->lab->router_rx;

	return lab_failed(netdev_set_mtu(out->ns, out->ifname, SMALL_MTU), "set the MTU", NULL,
			  err);
}

/* Applies to packets marked by the program at tc ingress (PROGRAM_SPOIL). arg: in ESP. */
static int apply_xfrm(struct fault_state *s, struct error *err)
{
	const struct xfrm_policy policy = {
		.port = s->fx->port,
		.mark = FAULT_MARK_POLICY,
		.esp = fault_row(s->fault)->arg,
	};

	return add_policies(&s->lab->rx_ns, policy, err);
}

const struct fault_row faults_by_ip[] = {
	{"tx_route", "an IPsec policy of the sender needs a state that is missing", .is = UNROUTED,
	 .tx = "socket", .apply = apply_tx_route},
	{"ip_route:rp_filter", "the route back leads elsewhere (IPv4)", .is = RX_IP | ROUTE_REFUSED,
	 .rx = "socket", .family = AF_INET, .apply = apply_rp_filter},
	{"ip_route:martian", "the receiver has the sender's address too (IPv4)",
	 .is = RX_IP | ROUTE_REFUSED, .rx = "socket", .family = AF_INET, .apply = apply_martian},
	{"ip_route:blackhole", "a router's route is a blackhole", .is = ROUTED | ROUTER_ENDS,
	 .apply = apply_blackhole},
	{"ip_frag:missing", "of a share the last fragment never arrives", FAULT_VALUE_SHARE,
	 RX_IP | OF_FRAGMENTS | BY_TIMER, .tx = "socket", .rx = "socket", .payload = FRAGMENTED,
	 .programs = PROGRAM(FRAGMENT), .cfg = {.frag_share = 1, .frag_way = FAULT_FRAG_MISSING},
	 .plan = plan_fragments, .arg = 2, .apply = apply_frag_limits},
	{"ip_frag:overlap", "of a share the last fragment overlaps the one before",
	 FAULT_VALUE_SHARE, RX_IP | OF_FRAGMENTS, .tx = "socket", .rx = "socket",
	 .payload = FRAGMENTED, .programs = PROGRAM(FRAGMENT),
	 .cfg = {.frag_share = 1, .frag_way = FAULT_FRAG_OVERLAP}, .plan = plan_fragments},
	{"ip_frag:duplicate", "of a share the first fragment arrives twice: no loss",
	 FAULT_VALUE_SHARE, RX_IP | OF_FRAGMENTS | COMES_TWICE | HARMLESS, .tx = "socket",
	 .rx = "socket", .payload = FRAGMENTED, .programs = PROGRAM(FRAGMENT),
	 .cfg = {.frag_share = 1, .frag_way = FAULT_FRAG_DUPLICATE}, .plan = plan_fragments},
	{"ip_frag:mem", "no memory for fragments at the receiver", .is = RX_IP | NO_REASSEMBLY,
	 .tx = "socket", .rx = "socket", .payload = FRAGMENTED, .plan = plan_fragments,
	 .apply = apply_frag_limits},
	{"ip_forward:ttl", "TTL 1, and a router between",
	 .is = ROUTED | ROUTER_ENDS | OF_PROGRAM | GOES, .fx.ttl = 1},
	{"ip_forward:mtu", "a link behind a router has a small MTU, and no ICMP reports it",
	 .is = ROUTED | ROUTER_ENDS | ROUTER_MTU, .payload = LARGE, .programs = PROGRAM(UNTOLD),
	 .plan = plan_mtu, .apply = apply_mtu},
	{"xfrm", "an IPsec policy of the receiver forbids a share", FAULT_VALUE_SHARE,
	 RX_SOCKET | BY_POLICY, .rx = "socket", .programs = PROGRAM(SPOIL), .cfg.mark_share = 1,
	 .apply = apply_xfrm},
	{"xfrm:plain", "an IPsec policy of the receiver wants ESP, and a share is not",
	 FAULT_VALUE_SHARE, RX_SOCKET | BY_POLICY, .rx = "socket", .arg = true,
	 .programs = PROGRAM(SPOIL), .cfg.mark_share = 1, .apply = apply_xfrm},
	{0},
};
