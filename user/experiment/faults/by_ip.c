// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Faults by settings of the IP layers: routes, addresses, fragments, MTUs, IPsec policies. */
#include <errno.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <sys/socket.h>

#include "experiment/faults/row.h"

#define FRAG_ROOM  "134217728" /* bytes per namespace, for 1 s at most */
#define SMALL_MTU  1280	       /* bytes, the minimum for IPv6 (RFC 8200, section 5) */
#define FRAGMENTED 4000
#define LARGE	   1400 /* bytes, above SMALL_MTU, below the other links' MTU */

/* Adds IPsec policies for UDP, for each family that the kernel supports. */
static void add_policies(struct fault_state *s, const struct lab_port *port, const char *rest)
{
	static const char *const any[] = {"0.0.0.0/0", "::/0"};
	char dport[24] = "";

	if (s->fx->port)
		snprintf(dport, sizeof(dport), " dport %u", s->fx->port);
	for (unsigned six = 0; six < 1 + (*lab_text(&s->lab->rx).ip6 != '\0'); six++)
		port_step(s, RECIPE_IP, port, "xfrm policy add src %s dst %s proto udp%s %s",
			  any[six], any[six], dport, rest);
}

#define ESP "tmpl proto esp mode transport"

/*
 * Without a state, and without a daemon to create it, xfrm_lookup_route() gives each packet a
 * blackhole route, while xfrm_larval_drop is set.
 */
static void apply_tx_route(struct fault_state *s)
{
	port_step(s, RECIPE_FILE, &s->lab->tx, "/proc/sys/net/core/xfrm_larval_drop=1");
	add_policies(s, &s->lab->tx, "dir out " ESP);
}

/* Makes the return route to the sender point to the receiver's loopback. */
static void apply_rp_filter(struct fault_state *s)
{
	const struct lab_port *rx = &s->lab->rx;

	port_step(s, RECIPE_FILE, rx, "/proc/sys/net/ipv4/conf/%s/rp_filter=1", rx->ifname);
	port_step(s, RECIPE_IP, rx, "route add %s/32 dev lo", lab_text(&s->lab->tx).ip4);
}

/* A host accepts no packet from an address of its own (fib_validate_source()). */
static void apply_martian(struct fault_state *s)
{
	port_step(s, RECIPE_IP, &s->lab->rx, "addr add %s/32 dev lo", lab_text(&s->lab->tx).ip4);
}

static void apply_blackhole(struct fault_state *s)
{
	const struct lab_port *router = &s->lab->router_tx;
	const struct lab_text to = lab_text(&s->lab->rx);

	port_step(s, RECIPE_IP, router, "route add blackhole %s/32", to.ip4);
	if (*to.ip6)
		port_step(s, RECIPE_IP, router, "route add blackhole %s/128", to.ip6);
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
static void apply_frag_limits(struct fault_state *s)
{
	static const char *const paths[] = {
		"net/ipv4/ipfrag_low_thresh",
		"net/ipv6/ip6frag_low_thresh",
		"net/ipv4/ipfrag_high_thresh",
		"net/ipv6/ip6frag_high_thresh",
	};
	unsigned first = fault_row(s->fault)->arg;

	for (unsigned i = first; i < LENGTH(paths); i++)
		port_step(s, RECIPE_FILE, &s->lab->rx, "/proc/sys/%s=%s", paths[i],
			  first ? FRAG_ROOM : "0");
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
static void apply_mtu(struct fault_state *s)
{
	const struct lab_port *out = &s->lab->router_rx;

	port_step(s, RECIPE_IP, out, "link set %s mtu %u", out->ifname, SMALL_MTU);
}

/* Applies to packets marked by the program at tc ingress (PROGRAM_SPOIL). arg: in ESP. */
static void apply_xfrm(struct fault_state *s)
{
	char rest[96];

	snprintf(rest, sizeof(rest), "dir in mark %#x mask %#x %s", FAULT_MARK_POLICY,
		 FAULT_MARK_POLICY, fault_row(s->fault)->arg ? ESP : "action block");
	add_policies(s, &s->lab->rx, rest);
}

const struct fault_row faults_by_ip[] = {
	{"tx_route", "an IPsec policy of the sender needs a state that is missing", .at = AT_ROUTE,
	 .is = ALL_LOST, .tx = "socket", .apply = apply_tx_route},
	{"ip_route:rp_filter", "the route back leads elsewhere (IPv4)", .at = AT_IP_ROUTE,
	 .is = ALL_LOST, .rx = "socket", .family = AF_INET, .apply = apply_rp_filter},
	{"ip_route:martian", "the receiver has the sender's address too (IPv4)",
	 .at = AT_IP_ROUTE, .is = ALL_LOST, .rx = "socket", .family = AF_INET,
	 .apply = apply_martian},
	{"ip_route:blackhole", "a router's route is a blackhole", .at = AT_ROUTER,
	 .is = ALL_LOST, .in = IN_ROUTER, .apply = apply_blackhole},
	{"ip_frag:missing", "of a share the last fragment never arrives", FAULT_VALUE_SHARE,
	 AT_REASSEMBLY, BY_TIMER, SLOT_FRAGMENTS, .tx = "socket", .rx = "socket",
	 .payload = FRAGMENTED, .programs = PROGRAM(FRAGMENT),
	 .cfg = {.frag_share = 1, .frag_way = FAULT_FRAG_MISSING},
	 .plan = plan_fragments, .arg = 2, .apply = apply_frag_limits},
	{"ip_frag:overlap", "of a share the last fragment overlaps the one before",
	 FAULT_VALUE_SHARE, AT_REASSEMBLY, .slot = SLOT_FRAGMENTS, .tx = "socket", .rx = "socket",
	 .payload = FRAGMENTED, .programs = PROGRAM(FRAGMENT),
	 .cfg = {.frag_share = 1, .frag_way = FAULT_FRAG_OVERLAP}, .plan = plan_fragments},
	{"ip_frag:duplicate", "of a share the first fragment arrives twice: no loss",
	 FAULT_VALUE_SHARE, AT_REASSEMBLY, HARMLESS | NO_BACKLOG, SLOT_FRAGMENTS, .tx = "socket",
	 .rx = "socket", .payload = FRAGMENTED, .programs = PROGRAM(FRAGMENT),
	 .cfg = {.frag_share = 1, .frag_way = FAULT_FRAG_DUPLICATE}, .plan = plan_fragments},
	{"ip_frag:mem", "no memory for fragments at the receiver", .at = AT_REASSEMBLY,
	 .is = ALL_LOST, .tx = "socket", .rx = "socket", .payload = FRAGMENTED,
	 .plan = plan_fragments, .apply = apply_frag_limits},
	{"ip_forward:ttl", "TTL 1, and a router between",
	 .at = AT_ROUTER, .is = ALL_LOST | OF_PROGRAM | GOES, .in = IN_ROUTER, .fx.ttl = 1},
	{"ip_forward:mtu", "a link behind a router has a small MTU, and no ICMP reports it",
	 .at = AT_ROUTER, .is = ALL_LOST, .in = IN_ROUTER, .payload = LARGE,
	 .programs = PROGRAM(UNTOLD), .plan = plan_mtu, .apply = apply_mtu},
	{"xfrm", "an IPsec policy of the receiver forbids a share", FAULT_VALUE_SHARE, AT_SOCKET,
	 .slot = SLOT_POLICY, .rx = "socket", .programs = PROGRAM(SPOIL), .cfg.mark_share = 1,
	 .apply = apply_xfrm},
	{"xfrm:plain", "an IPsec policy of the receiver wants ESP, and a share is not",
	 FAULT_VALUE_SHARE, AT_SOCKET, .slot = SLOT_POLICY, .rx = "socket", .arg = true,
	 .programs = PROGRAM(SPOIL), .cfg.mark_share = 1, .apply = apply_xfrm},
	{0},
};
