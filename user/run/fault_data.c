// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The faults: what they are called, what they need, which of them contradict each other. */
#include "run/fault_table.h"

#include <sys/socket.h>

const struct opt_value fault_values[FAULT_COUNT + 1] = {
	[FAULT_TX_SOCKET] = {"tx_socket", FAULT_TX_SOCKET,
			     "an egress program of the cgroup refuses a share: EPERM"},
	[FAULT_NEIGH] = {"neigh", FAULT_NEIGH, "nobody answers for the next hop's address"},
	[FAULT_TC_EGRESS] = {"tc_egress", FAULT_TC_EGRESS,
			     "a tc program of the sender drops a share"},
	[FAULT_TC_EGRESS_STOLEN] = {"tc_egress:stolen", FAULT_TC_EGRESS_STOLEN,
				    "the same program says \"stolen\" and keeps nothing"},
	[FAULT_QDISC] = {"qdisc", FAULT_QDISC, "a tbf on the sender's device"},
	[FAULT_QDISC_REPLACE] = {"qdisc:replace", FAULT_QDISC_REPLACE,
				 "the sender's qdisc is replaced with its queue full"},
	[FAULT_TX_DEVICE] = {"tx_device", FAULT_TX_DEVICE,
			     "the next device's ring is full: it takes its time"},
	[FAULT_TX_DEVICE_TAP] = {"tx_device:tap", FAULT_TX_DEVICE_TAP,
				 "the ring of a tap is full: who reads it takes his time"},
	[FAULT_TX_DEVICE_DETACH] = {"tx_device:detach", FAULT_TX_DEVICE_DETACH,
				    "nobody reads a tap, and it is closed with its ring unread"},
	[FAULT_XDP] = {"xdp", FAULT_XDP, "an XDP program drops a share"},
	[FAULT_XDP_ABORTED] = {"xdp:aborted", FAULT_XDP_ABORTED,
			       "an XDP program aborts on a share"},
	[FAULT_XDP_GENERIC] = {"xdp:generic", FAULT_XDP_GENERIC, "the same in generic (skb) mode"},
	[FAULT_XDP_REDIRECT] = {"xdp:redirect", FAULT_XDP_REDIRECT,
				"an XDP program redirects a share to a device that is not there"},
	[FAULT_XDP_DEVMAP] = {"xdp:devmap", FAULT_XDP_DEVMAP,
			      "... to a device, by a map, that takes no frames"},
	[FAULT_XDP_CPUMAP] = {"xdp:cpumap", FAULT_XDP_CPUMAP,
			      "... all to a CPU, by a map, that takes its time"},
	[FAULT_XSK_RING] = {"xsk:ring", FAULT_XSK_RING, "the reader of the AF_XDP rings pauses"},
	[FAULT_XSK_FILL] = {"xsk:fill", FAULT_XSK_FILL,
			    "the same, and it has few frames to be filled"},
	[FAULT_XSK_OVERSIZE] = {"xsk:oversize", FAULT_XSK_OVERSIZE,
				"the packets are longer than the frames of AF_XDP"},
	[FAULT_BACKLOG] = {"backlog", FAULT_BACKLOG, "RPS to a CPU that takes its time"},
	[FAULT_BACKLOG_FLOW_LIMIT] = {"backlog:flow_limit", FAULT_BACKLOG_FLOW_LIMIT,
				      "the same, and this host limits a flow's share of the queue"},
	[FAULT_TC_INGRESS] = {"tc_ingress", FAULT_TC_INGRESS,
			      "a tc program of the receiver drops a share"},
	[FAULT_TC_INGRESS_STOLEN] = {"tc_ingress:stolen", FAULT_TC_INGRESS_STOLEN,
				     "the same program says \"stolen\" and keeps nothing"},
	[FAULT_L2_ADDRESS] = {"l2:address", FAULT_L2_ADDRESS,
			      "frames go to an address that is nobody's"},
	[FAULT_L2_BLOCKED] = {"l2:blocked", FAULT_L2_BLOCKED,
			      "the sender's port of a bridge is blocked"},
	[FAULT_L2_FLOOD] = {"l2:flood", FAULT_L2_FLOOD,
			    "a bridge knows no address and floods, but not to the receiver"},
	[FAULT_IP_HEADER] = {"ip_header", FAULT_IP_HEADER,
			     "spoilt IP headers: checksum, with IPv6 the length"},
	[FAULT_NETFILTER] = {"netfilter", FAULT_NETFILTER,
			     "nftables drops a share, receiver's input hook"},
	[FAULT_NETFILTER_INGRESS] = {"netfilter:ingress", FAULT_NETFILTER_INGRESS,
				     "the same, ingress hook of the receiver's device"},
	[FAULT_NETFILTER_PREROUTING] = {"netfilter:prerouting", FAULT_NETFILTER_PREROUTING,
					"the same, receiver's prerouting"},
	[FAULT_NETFILTER_FORWARD] = {"netfilter:forward", FAULT_NETFILTER_FORWARD,
				     "the same, forward hook of a router"},
	[FAULT_NETFILTER_OUTPUT] = {"netfilter:output", FAULT_NETFILTER_OUTPUT,
				    "the same, sender's output hook: EPERM"},
	[FAULT_NETFILTER_POSTROUTING] = {"netfilter:postrouting", FAULT_NETFILTER_POSTROUTING,
					 "the same, sender's postrouting: EPERM"},
	[FAULT_NETFILTER_EGRESS] = {"netfilter:egress", FAULT_NETFILTER_EGRESS,
				    "the same, egress hook of the sender's device"},
	[FAULT_IP_ROUTE_RP_FILTER] = {"ip_route:rp_filter", FAULT_IP_ROUTE_RP_FILTER,
				      "the way back leads elsewhere (IPv4)"},
	[FAULT_IP_ROUTE_MARTIAN] = {"ip_route:martian", FAULT_IP_ROUTE_MARTIAN,
				    "the receiver has the sender's address too (IPv4)"},
	[FAULT_IP_ROUTE_BLACKHOLE] = {"ip_route:blackhole", FAULT_IP_ROUTE_BLACKHOLE,
				      "a router's route is a blackhole"},
	[FAULT_IP_FRAG_MISSING] = {"ip_frag:missing", FAULT_IP_FRAG_MISSING,
				   "the last fragment of a share never comes"},
	[FAULT_IP_FRAG_OVERLAP] = {"ip_frag:overlap", FAULT_IP_FRAG_OVERLAP,
				   "... overlaps the one before it"},
	[FAULT_IP_FRAG_DUPLICATE] = {"ip_frag:duplicate", FAULT_IP_FRAG_DUPLICATE,
				     "the first comes twice: nothing is lost by that"},
	[FAULT_IP_FRAG_MEM] = {"ip_frag:mem", FAULT_IP_FRAG_MEM,
			       "no memory for fragments at the receiver"},
	[FAULT_IP_FORWARD_TTL] = {"ip_forward:ttl", FAULT_IP_FORWARD_TTL,
				  "TTL 1, and a router between"},
	[FAULT_IP_FORWARD_MTU] = {"ip_forward:mtu", FAULT_IP_FORWARD_MTU,
				  "a link behind a router has a small MTU, and nobody says so"},
	[FAULT_TUNNEL] = {"tunnel", FAULT_TUNNEL,
			  "the ends of a VXLAN tunnel are of different networks"},
	[FAULT_TUNNEL_HEADER] = {"tunnel:header", FAULT_TUNNEL_HEADER,
				 "a VXLAN device has the port, and what comes is none"},
	[FAULT_UDP_LOOKUP] = {"udp_lookup", FAULT_UDP_LOOKUP, "no socket on the port"},
	[FAULT_UDP_HEADER] = {"udp_header", FAULT_UDP_HEADER, "spoilt lengths of UDP"},
	[FAULT_UDP_CSUM] = {"udp_csum", FAULT_UDP_CSUM,
			    "spoilt checksums, verified early for a socket filter"},
	[FAULT_SOCKET_FILTER] = {"socket_filter", FAULT_SOCKET_FILTER,
				 "a filter on the socket refuses a share"},
	[FAULT_UDP_MEM] = {"udp_mem", FAULT_UDP_MEM,
			   "hardly any memory for UDP, on this whole host"},
	[FAULT_RCVBUF] = {"rcvbuf", FAULT_RCVBUF, "a small receive buffer, a slow reader"},
	[FAULT_SOCKET_READ_CSUM] = {"socket_read:csum", FAULT_SOCKET_READ_CSUM,
				    "spoilt checksums, verified by recv()"},
	[FAULT_SOCKET_CLOSE] = {"socket_close", FAULT_SOCKET_CLOSE,
				"the socket closes with its queue unread"},
	[FAULT_COUNT] = {0},
};

const struct fault_row fault_rows[FAULT_COUNT] = {
	[FAULT_TX_SOCKET] = {FAULT_VALUE_SHARE, .tx = "socket", .of_program = true},
	[FAULT_NEIGH] = {.tx = "socket"},
	[FAULT_TC_EGRESS] = {FAULT_VALUE_SHARE, .tx = "socket"},
	[FAULT_TC_EGRESS_STOLEN] = {FAULT_VALUE_SHARE, .tx = "socket"},
	[FAULT_QDISC] = {FAULT_VALUE_RATE, .tx = "socket"},
	[FAULT_QDISC_REPLACE] = {.tx = "socket", .of_program = true},
	[FAULT_TX_DEVICE] = {.of_program = true}, /* it takes a large SO_SNDBUF */
	[FAULT_TX_DEVICE_TAP] = {.of_program = true},
	/* live frames in the ring are freed without an event (tun_ptr_free()) */
	[FAULT_TX_DEVICE_DETACH] = {.not_tx = "xdp", .of_program = true},
	[FAULT_XDP] = {FAULT_VALUE_SHARE},
	[FAULT_XDP_ABORTED] = {FAULT_VALUE_SHARE, .not_tx = "xdp"},
	[FAULT_XDP_GENERIC] = {FAULT_VALUE_SHARE},
	[FAULT_XDP_REDIRECT] = {FAULT_VALUE_SHARE},
	/* live frames wait in batches too, of the same CPU */
	[FAULT_XDP_DEVMAP] = {FAULT_VALUE_SHARE, .not_tx = "xdp"},
	[FAULT_XDP_CPUMAP] = {.rx = "socket", .not_tx = "xdp", .of_program = true},
	[FAULT_XSK_RING] = {.rx = "xsk", .of_program = true},
	[FAULT_XSK_FILL] = {.rx = "xsk", .of_program = true},
	[FAULT_XSK_OVERSIZE] = {.rx = "xsk", .of_program = true},
	[FAULT_BACKLOG] = {.rx = "socket", .of_program = true},
	[FAULT_BACKLOG_FLOW_LIMIT] = {.rx = "socket", .of_program = true, .host_global = true},
	[FAULT_TC_INGRESS] = {FAULT_VALUE_SHARE, .rx = "socket"},
	[FAULT_TC_INGRESS_STOLEN] = {FAULT_VALUE_SHARE, .rx = "socket"},
	[FAULT_L2_ADDRESS] = {.tx = "socket", .rx = "socket"},
	[FAULT_IP_HEADER] = {FAULT_VALUE_SHARE, .rx = "socket"},
	[FAULT_NETFILTER] = {FAULT_VALUE_SHARE, .rx = "socket"},
	[FAULT_NETFILTER_INGRESS] = {FAULT_VALUE_SHARE, .rx = "socket"},
	[FAULT_NETFILTER_PREROUTING] = {FAULT_VALUE_SHARE, .rx = "socket"},
	[FAULT_NETFILTER_FORWARD] = {FAULT_VALUE_SHARE},
	[FAULT_NETFILTER_OUTPUT] = {FAULT_VALUE_SHARE, .tx = "socket"},
	[FAULT_NETFILTER_POSTROUTING] = {FAULT_VALUE_SHARE, .tx = "socket"},
	[FAULT_NETFILTER_EGRESS] = {FAULT_VALUE_SHARE, .tx = "socket"},
	[FAULT_IP_ROUTE_RP_FILTER] = {.rx = "socket", .family = AF_INET},
	[FAULT_IP_ROUTE_MARTIAN] = {.rx = "socket", .family = AF_INET},
	[FAULT_IP_FRAG_MISSING] = {FAULT_VALUE_SHARE, .tx = "socket", .rx = "socket",
				   .by_timer = true},
	[FAULT_IP_FRAG_OVERLAP] = {FAULT_VALUE_SHARE, .tx = "socket", .rx = "socket"},
	[FAULT_IP_FRAG_DUPLICATE] = {FAULT_VALUE_SHARE, .tx = "socket", .rx = "socket",
				     .harmless = true},
	[FAULT_IP_FRAG_MEM] = {.tx = "socket", .rx = "socket"},
	[FAULT_IP_FORWARD_TTL] = {.of_program = true},
	[FAULT_TUNNEL_HEADER] = {.rx = "socket", .of_program = true},
	[FAULT_TUNNEL] = {.of_program = true},
	[FAULT_UDP_LOOKUP] = {.rx = "socket", .of_program = true},
	[FAULT_UDP_HEADER] = {FAULT_VALUE_SHARE, .rx = "socket"},
	/* GRO, which live frames need, has verified the checksum before it is spoilt */
	[FAULT_UDP_CSUM] = {FAULT_VALUE_SHARE, .rx = "socket", .not_tx = "xdp", .of_program = true},
	[FAULT_SOCKET_FILTER] = {FAULT_VALUE_SHARE, .rx = "socket", .of_program = true},
	[FAULT_UDP_MEM] = {.rx = "socket", .of_program = true, .host_global = true},
	[FAULT_RCVBUF] = {.rx = "socket", .of_program = true},
	[FAULT_SOCKET_READ_CSUM] = {FAULT_VALUE_SHARE, .rx = "socket", .not_tx = "xdp"},
	[FAULT_SOCKET_CLOSE] = {.rx = "socket", .of_program = true},
};

#define BIT(fault) FAULT_BIT(FAULT_##fault)
#define AT_SOCKET                                                                                  \
	(BIT(TUNNEL_HEADER) | BIT(UDP_LOOKUP) | BIT(UDP_HEADER) | BIT(UDP_CSUM) |                  \
	 BIT(SOCKET_FILTER) | BIT(UDP_MEM) | BIT(RCVBUF) | BIT(SOCKET_READ_CSUM) |                 \
	 BIT(SOCKET_CLOSE))
#define BY_NATIVE_XDP                                                                              \
	(BIT(XDP) | BIT(XDP_ABORTED) | BIT(XDP_REDIRECT) | BIT(XDP_DEVMAP) | BIT(XDP_CPUMAP))
#define BY_XDP	     (BY_NATIVE_XDP | BIT(XDP_GENERIC))
#define AT_XSK	     (BIT(XSK_RING) | BIT(XSK_FILL) | BIT(XSK_OVERSIZE))
#define AT_BACKLOG   (BIT(BACKLOG) | BIT(BACKLOG_FLOW_LIMIT))
#define OF_FRAGMENTS (BIT(IP_FRAG_MISSING) | BIT(IP_FRAG_OVERLAP) | BIT(IP_FRAG_DUPLICATE))
#define BRIDGED	     (BIT(L2_BLOCKED) | BIT(L2_FLOOD))
#define TAPPED	     (BIT(TX_DEVICE_TAP) | BIT(TX_DEVICE_DETACH))
#define ROUTED                                                                                     \
	(BIT(IP_FORWARD_TTL) | BIT(IP_FORWARD_MTU) | BIT(NETFILTER_FORWARD) |                      \
	 BIT(IP_ROUTE_BLACKHOLE))
#define IN_IP                                                                                      \
	(BIT(IP_HEADER) | BIT(NETFILTER) | BIT(NETFILTER_PREROUTING) | BIT(IP_ROUTE_RP_FILTER) |   \
	 BIT(IP_ROUTE_MARTIAN) | OF_FRAGMENTS | BIT(IP_FRAG_MEM) | AT_SOCKET)
#define AT_RECEIVER                                                                                \
	(BY_XDP | AT_XSK | AT_BACKLOG | BIT(TC_INGRESS) | BIT(TC_INGRESS_STOLEN) |                 \
	 BIT(NETFILTER_INGRESS) | IN_IP)

const struct fault_conflict fault_conflicts[] = {
	{BIT(NEIGH), ~(BIT(TX_SOCKET) | BIT(NETFILTER_OUTPUT) | BIT(NETFILTER_POSTROUTING)),
	 "no packet leaves the sender"},
	{BIT(IP_FORWARD_TTL) | BIT(IP_FORWARD_MTU) | BIT(IP_ROUTE_BLACKHOLE),
	 BIT(IP_FORWARD_TTL) | BIT(IP_FORWARD_MTU) | BIT(IP_ROUTE_BLACKHOLE) |
		 BIT(NETFILTER_FORWARD) | AT_RECEIVER,
	 "no packet comes past the router"},
	{ROUTED, BRIDGED, "one needs a router, one a bridge"},
	{BIT(TUNNEL), ROUTED | BRIDGED | TAPPED, "one needs a tunnel, one another topology"},
	{BIT(TUNNEL), FAULTS_OF_VETH, "one needs a tunnel, one a veth"},
	{BIT(TUNNEL), AT_RECEIVER | BIT(L2_ADDRESS), "no packet leaves the tunnel"},
	{TAPPED, ROUTED | BRIDGED, "one needs taps, one another topology"},
	{TAPPED, TAPPED | FAULTS_OF_VETH, "one needs taps, one a veth"},
	{BIT(TX_DEVICE_DETACH), AT_RECEIVER | BIT(L2_ADDRESS), "no frame leaves the tap"},
	{BRIDGED, BRIDGED | BIT(L2_ADDRESS) | AT_RECEIVER, "no frame comes past the bridge"},
	{BIT(L2_ADDRESS),
	 BIT(IP_FORWARD_TTL) | BIT(IP_FORWARD_MTU) | BIT(IP_ROUTE_BLACKHOLE) |
		 BIT(NETFILTER_FORWARD) | IN_IP,
	 "no frame is taken"},
	{BIT(IP_ROUTE_RP_FILTER) | BIT(IP_ROUTE_MARTIAN),
	 BIT(IP_ROUTE_RP_FILTER) | BIT(IP_ROUTE_MARTIAN) | BIT(NETFILTER) | OF_FRAGMENTS |
		 BIT(IP_FRAG_MEM) | AT_SOCKET,
	 "no packet comes past the routing"},
	{OF_FRAGMENTS, OF_FRAGMENTS, "one program does one thing"},
	{BIT(IP_FRAG_MEM), OF_FRAGMENTS | BIT(NETFILTER) | AT_SOCKET,
	 "no datagram is put together"},
	{BIT(UDP_LOOKUP), AT_SOCKET, "there is no socket"},
	{BIT(TUNNEL_HEADER), AT_SOCKET & ~BIT(UDP_HEADER), "the port is a tunnel's"},
	{BIT(TC_EGRESS), BIT(TC_EGRESS_STOLEN), "one program says one thing"},
	{BIT(TC_INGRESS), BIT(TC_INGRESS_STOLEN), "one program says one thing"},
	{AT_XSK, AT_XSK, "the socket has one way to lose"},
	{BY_XDP, BY_XDP, "a device runs one XDP program, in one mode"},
	{AT_BACKLOG, AT_BACKLOG, "a flow's share is used up before the whole queue is"},
	{AT_BACKLOG, BY_NATIVE_XDP | BIT(TX_DEVICE) | BIT(QDISC) | BIT(QDISC_REPLACE),
	 "with NAPI on the veth no backlog is used"},
	{BIT(QDISC), BIT(QDISC_REPLACE), "a device has one qdisc"},
	{BIT(TX_DEVICE), BIT(QDISC) | BIT(QDISC_REPLACE), "a qdisc waits for a full ring"},
	{BIT(RCVBUF), BIT(UDP_MEM) | BIT(SOCKET_CLOSE), "one needs a small buffer, one a large"},
	{BIT(SOCKET_READ_CSUM), BIT(UDP_CSUM) | BIT(SOCKET_FILTER),
	 "with a socket filter checksums are verified early"},
};

const unsigned fault_conflict_count = sizeof(fault_conflicts) / sizeof(fault_conflicts[0]);
