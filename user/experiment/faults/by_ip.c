// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Faults made by IP layer settings, such as routes, addresses, fragments, MTUs and IPsec policies.
 */
#include <errno.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include "experiment/faults/row.h"

#define FRAG_ROOM  "134217728" /* bytes per namespace, for 1 s at most */
#define SMALL_MTU  1280	       /* bytes, the minimum for IPv6 (RFC 8200, section 5) */
#define FRAGMENTED 4000
#define LARGE	   1400 /* bytes, above SMALL_MTU, below the other links' MTU */

static int plan_fragments(struct fault_plan *p)
{
	if (p->frames > 1)
		return 0;
	return error_usage(p->err, "use --length 4000, for example",
			   "--fault ip_frag needs datagrams that do not fit the MTU");
}

static int plan_mtu(struct fault_plan *p)
{
	if (p->frames == 1 && p->bytes - ETH_HLEN > SMALL_MTU)
		return 0;
	return fault_plan_refuse(p, -EINVAL, "use --length 1400, for example",
				 " needs packets of more than %d bytes that fit the first link",
				 SMALL_MTU);
}

/* IPsec policies for UDP. PROGRAM_SPOIL marks packets at tc ingress. */
#define POLICY4 "xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 proto udp{dport} "
#define POLICY6 "xfrm policy add src ::/0 dst ::/0 proto udp{dport} "
#define MARKED	"dir in mark {mark} mask {mark} "
#define ESP	"tmpl proto esp mode transport"

const struct fault_row faults_by_ip[] = {
	/*
	 * Without a state, and without a daemon to create one, xfrm_lookup_route() gives each
	 * packet a blackhole route while xfrm_larval_drop is set.
	 */
	{"tx_route", "an IPsec policy at the sender requires a state that is missing",
	 .at = AT_ROUTE,
	 .is = ALL_LOST, .tx = "socket", .steps = {"tx file /proc/sys/net/core/xfrm_larval_drop=1",
		   "tx ip " POLICY4 "dir out " ESP, "tx6 ip " POLICY6 "dir out " ESP}},
	/* the return route to the sender points to the receiver's loopback */
	{"ip_route:rp_filter", "the route back leads elsewhere (IPv4)", .at = AT_IP_ROUTE,
	 .is = ALL_LOST, .rx = "socket", .family = AF_INET,
	 .steps = {"rx file /proc/sys/net/ipv4/conf/{rx}/rp_filter=1",
		   "rx ip route add {tx4}/32 dev lo"}},
	/* a host accepts no packets from its own addresses (fib_validate_source()) */
	{"ip_route:martian", "the receiver also has the sender's address (IPv4)",
	 .at = AT_IP_ROUTE, .is = ALL_LOST, .rx = "socket", .family = AF_INET,
	 .steps = {"rx ip addr add {tx4}/32 dev lo"}},
	{"ip_route:blackhole", "a router's route is a blackhole", .at = AT_ROUTER,
	 .is = ALL_LOST, .in = IN_ROUTER, .steps = {"mid ip route add blackhole {rx4}/32",
		   "mid6 ip route add blackhole {rx6}/128"}},
	/* incomplete datagrams fill the usual 4 MiB, after which all fragments are refused */
	{"ip_frag:missing", "the last fragment of a fraction of the datagrams never arrives",
	 FAULT_VALUE_SHARE,
	 AT_REASSEMBLY, BY_TIMER, SLOT_FRAGMENTS, .tx = "socket", .rx = "socket",
	 .payload = FRAGMENTED, .programs = PROGRAM(FRAGMENT),
	 .cfg = {.frag_share = 1, .frag_way = FAULT_FRAG_MISSING},
	 .plan = plan_fragments,
	 .steps = {"rx file /proc/sys/net/ipv4/ipfrag_high_thresh=" FRAG_ROOM,
		   "rx file /proc/sys/net/ipv6/ip6frag_high_thresh=" FRAG_ROOM}},
	{"ip_frag:overlap", "the last fragment of a fraction of the datagrams overlaps the previous "
			    "one",
	 FAULT_VALUE_SHARE, AT_REASSEMBLY, .slot = SLOT_FRAGMENTS, .tx = "socket", .rx = "socket",
	 .payload = FRAGMENTED, .programs = PROGRAM(FRAGMENT),
	 .cfg = {.frag_share = 1, .frag_way = FAULT_FRAG_OVERLAP}, .plan = plan_fragments},
	{"ip_frag:duplicate", "the first fragment of a fraction of the datagrams arrives twice: no "
			      "loss",
	 FAULT_VALUE_SHARE, AT_REASSEMBLY, HARMLESS | NO_BACKLOG, SLOT_FRAGMENTS, .tx = "socket",
	 .rx = "socket", .payload = FRAGMENTED, .programs = PROGRAM(FRAGMENT),
	 .cfg = {.frag_share = 1, .frag_way = FAULT_FRAG_DUPLICATE}, .plan = plan_fragments},
	/*
	 * With a limit of 0, inet_frag_find() refuses every new queue. The low limit must not
	 * exceed it.
	 */
	{"ip_frag:mem", "no memory for fragments at the receiver", .at = AT_REASSEMBLY,
	 .is = ALL_LOST, .tx = "socket", .rx = "socket", .payload = FRAGMENTED,
	 .plan = plan_fragments,
	 .steps = {"rx file /proc/sys/net/ipv4/ipfrag_low_thresh=0",
		   "rx file /proc/sys/net/ipv6/ip6frag_low_thresh=0",
		   "rx file /proc/sys/net/ipv4/ipfrag_high_thresh=0",
		   "rx file /proc/sys/net/ipv6/ip6frag_high_thresh=0"}},
	{"ip_forward:ttl", "TTL 1, and a router between",
	 .at = AT_ROUTER, .is = ALL_LOST | OF_PROGRAM | GOES, .in = IN_ROUTER, .fx.ttl = 1},
	{"ip_forward:mtu", "a link behind a router has a small MTU, and no ICMP reports it",
	 .at = AT_ROUTER, .is = ALL_LOST, .in = IN_ROUTER, .payload = LARGE,
	 .programs = PROGRAM(UNTOLD), .plan = plan_mtu,
	 .steps = {"mid ip link set {out} mtu 1280"}},
	{"xfrm", "an IPsec policy at the receiver blocks a fraction of the packets",
	 FAULT_VALUE_SHARE, AT_SOCKET,
	 .slot = SLOT_POLICY, .rx = "socket", .programs = PROGRAM(SPOIL), .cfg.mark_share = 1,
	 .steps = {"rx ip " POLICY4 MARKED "action block",
		   "rx6 ip " POLICY6 MARKED "action block"}},
	{"xfrm:plain", "an IPsec policy at the receiver requires ESP, which a fraction of the "
		       "packets lacks",
	 FAULT_VALUE_SHARE, AT_SOCKET, .slot = SLOT_POLICY, .rx = "socket",
	 .programs = PROGRAM(SPOIL), .cfg.mark_share = 1,
	 .steps = {"rx ip " POLICY4 MARKED ESP, "rx6 ip " POLICY6 MARKED ESP}},
	{0},
};
