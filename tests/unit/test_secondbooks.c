// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every case is an experiment with known truth: what the tracer saw, what the counters did. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "books/secondbooks.h"

#define MAX_EVENTS   6
#define MAX_COUNTERS 10

struct moved {
	const char *scope, *name;
	uint64_t delta;
};

struct experiment {
	const char *name;
	struct engine_facts facts;
	struct stage_events ev[MAX_EVENTS];
	struct moved counters[MAX_COUNTERS];
	unsigned rows;	      /* rows of all stages */
	unsigned documented;  /* of these, documented disagreements */
	unsigned disagree;    /* of these, others */
	unsigned unexplained; /* counters that moved too much */
};

static const struct book_link pair[] = {{"tx", "v-tx", "rx", "v-rx"}};
static const struct book_link router[] = {{"tx", "v-tx", "router", "v-r0"},
					  {"router", "v-r1", "rx", "v-rx"}};

#define LAB(fam)                                                                                   \
	.family = fam, .private_ns = true, .tx_socket = true, .rx_in_sender = BOOK_YES,            \
	.links = pair, .n_links = 1
#define LAB4                                                                                       \
	{                                                                                          \
		LAB(AF_INET)                                                                       \
	}
#define LAB6                                                                                       \
	{                                                                                          \
		LAB(AF_INET6)                                                                      \
	}
#define ROUTED                                                                                     \
	{                                                                                          \
		.family = AF_INET, .private_ns = true, .tx_socket = true,                          \
		.rx_in_sender = BOOK_YES, .tx_qdisc = "tbf", .links = router, .n_links = 2         \
	}
/* reason, location, n skbs at the receiver, the sender */
#define RX(stage, reason, location, n)                                                             \
	{                                                                                          \
		STAGE_##stage, reason, location, "rx", "v-rx", n, n                                \
	}
#define TX(stage, reason, location, n)                                                             \
	{                                                                                          \
		STAGE_##stage, reason, location, "tx", "v-tx", n, n                                \
	}

static const struct experiment experiments[] = {
	{"E0 nothing lost", LAB4, {}, {{"rx", "Udp:InDatagrams", 500}}, 0, 0, 0, 0},
	{"E1 closed port",
	 LAB4,
	 {RX(UDP_LOOKUP, "NO_SOCKET", "__udp4_lib_rcv", 500)},
	 {{"rx", "Udp:NoPorts", 500}, {"rx", "Icmp:OutDestUnreachs", 6}},
	 1,
	 0,
	 0,
	 0},
	{"E1b closed port, IPv6",
	 LAB6,
	 {RX(UDP_LOOKUP, "NO_SOCKET", "__udp6_lib_rcv", 500)},
	 {{"rx", "Udp6NoPorts", 500}, {"rx", "Udp:NoPorts", 0}},
	 1,
	 0,
	 0,
	 0},
	{"E2 receive buffer",
	 LAB4,
	 {RX(RCVBUF, "SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 495)},
	 {{"rx", "Udp:RcvbufErrors", 495},
	  {"rx", "Udp:InErrors", 495},
	  {"rx", "socket:drops", 495},
	  {"tx", "Udp:RcvbufErrors", 0},
	  {"rx", "Udp:MemErrors", 0}},
	 3,
	 0,
	 0,
	 0},
	{"E2b receive buffer, IPv6",
	 LAB6,
	 {RX(RCVBUF, "SOCKET_RCVBUFF", "udpv6_queue_rcv_one_skb", 495)},
	 {{"rx", "Udp6RcvbufErrors", 495},
	  {"rx", "Udp6InErrors", 495},
	  {"rx", "socket:drops", 495}},
	 3,
	 0,
	 0,
	 0},
	{"E3 unread at close: no counter",
	 LAB4,
	 {RX(SOCKET_CLOSE, "NOT_SPECIFIED", "udp_destruct_common", 500)},
	 {{"rx", "Udp:InErrors", 0}, {"rx", "Udp:RcvbufErrors", 0}},
	 0,
	 0,
	 0,
	 0},
	{"E4 udp_mem on 6.18: only the socket counts",
	 LAB4,
	 {RX(UDP_MEM, "PROTO_MEM", "__udp_enqueue_schedule_skb", 200)},
	 {{"rx", "Udp:MemErrors", 0}, {"rx", "Udp:InErrors", 0}, {"rx", "socket:drops", 200}},
	 3,
	 2,
	 0,
	 0},
	{"E4 with a full buffer beside it",
	 LAB4,
	 {RX(UDP_MEM, "PROTO_MEM", "__udp_enqueue_schedule_skb", 200),
	  RX(RCVBUF, "SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 30)},
	 {{"rx", "Udp:MemErrors", 0},
	  {"rx", "Udp:InErrors", 30},
	  {"rx", "Udp:RcvbufErrors", 30},
	  {"rx", "socket:drops", 230}},
	 /* InErrors and socket:drops stand at both stages */
	 6,
	 3,
	 0,
	 0},
	{"E4 udp_mem until 6.12",
	 LAB4,
	 {RX(UDP_MEM, "PROTO_MEM", "udp_queue_rcv_one_skb", 200)},
	 {{"rx", "Udp:MemErrors", 200}, {"rx", "Udp:InErrors", 200}, {"rx", "socket:drops", 200}},
	 3,
	 0,
	 0,
	 0},
	{"E4 udp_mem, counters mended",
	 LAB6,
	 {RX(UDP_MEM, "PROTO_MEM", "__udp_enqueue_schedule_skb", 200)},
	 {{"rx", "Udp6MemErrors", 200}, {"rx", "Udp6InErrors", 200}, {"rx", "socket:drops", 200}},
	 3,
	 0,
	 0,
	 0},
	{"E4 until 6.12 but not counted: not documented",
	 LAB4,
	 {RX(UDP_MEM, "PROTO_MEM", "udp_queue_rcv_one_skb", 200)},
	 {{"rx", "Udp:MemErrors", 0}},
	 1,
	 0,
	 1,
	 0},
	{"E5b EAGAIN counts without a packet",
	 {LAB(AF_INET), .eagain = 2096},
	 {},
	 {{"tx", "Udp:SndbufErrors", 2096}, {"tx", "Ip:OutDiscards", 2096}},
	 0,
	 0,
	 0,
	 0},
	{"E5b EAGAIN that nobody told of",
	 LAB4,
	 {},
	 {{"tx", "Udp:SndbufErrors", 2096}, {"tx", "Ip:OutDiscards", 2096}},
	 0,
	 0,
	 0,
	 2},
	{"E5c one backlog loss in five counters",
	 LAB4,
	 {RX(BACKLOG, "CPU_BACKLOG", "enqueue_to_backlog", 1831)},
	 {{"host", "softnet:cpu1:dropped", 1831},
	  {"host", "softnet:cpu0:dropped", 0},
	  {"rx", "v-rx:rx_dropped", 1831},
	  {"tx", "v-tx:tx_dropped", 1831},
	  {"tx", "Udp:SndbufErrors", 1831},
	  {"tx", "Ip:OutDiscards", 1831},
	  {"rx", "v-rx:tx_dropped", 0},
	  {"tx", "v-tx:rx_dropped", 0}},
	 5,
	 0,
	 0,
	 0},
	{"E5c where threaded NAPI takes the packets: send() does not hear of it",
	 {.family = AF_INET,
	  .private_ns = true,
	  .tx_socket = true,
	  .rx_in_sender = BOOK_NO,
	  .links = pair,
	  .n_links = 1},
	 {RX(BACKLOG, "CPU_BACKLOG", "enqueue_to_backlog", 100)},
	 {{"host", "softnet:cpu1:dropped", 100},
	  {"rx", "v-rx:rx_dropped", 100},
	  {"tx", "v-tx:tx_dropped", 0},
	  {"tx", "Udp:SndbufErrors", 0}},
	 2,
	 0,
	 0,
	 0},
	{"E5c behind a router: the sender does not hear of it",
	 ROUTED,
	 {RX(BACKLOG, "CPU_BACKLOG", "enqueue_to_backlog", 70)},
	 {{"host", "softnet:cpu1:dropped", 70},
	  {"rx", "v-rx:rx_dropped", 70},
	  {"router", "v-r1:tx_dropped", 70},
	  {"tx", "v-tx:tx_dropped", 0},
	  {"tx", "Udp:SndbufErrors", 0},
	  {"tx", "Ip:OutDiscards", 0}},
	 3,
	 0,
	 0,
	 0},
	{"E5c, old veth that tells send() nothing",
	 LAB4,
	 {RX(BACKLOG, "CPU_BACKLOG", "enqueue_to_backlog", 1831)},
	 {{"rx", "v-rx:rx_dropped", 1831},
	  {"tx", "v-tx:tx_dropped", 1831},
	  {"tx", "Udp:SndbufErrors", 0},
	  {"tx", "Ip:OutDiscards", 0}},
	 4,
	 2,
	 0,
	 0},
	{"E6 flow limit",
	 LAB4,
	 {RX(BACKLOG, "CPU_BACKLOG", "enqueue_to_backlog", 2783)},
	 {{"host", "softnet:cpu1:dropped", 2783},
	  {"host", "softnet:cpu1:flow_limit", 2783},
	  {"rx", "v-rx:rx_dropped", 2783}},
	 2,
	 0,
	 0,
	 0},
	{"e5 nft input",
	 LAB4,
	 {RX(NETFILTER, "NETFILTER_DROP", "nft_do_chain", 300)},
	 {{"rx", "Ip:InDiscards", 0}, {"tx", "Ip:OutDiscards", 0}},
	 0,
	 0,
	 0,
	 0},
	{"e5 nft output: EPERM",
	 LAB4,
	 {TX(NETFILTER, "NETFILTER_DROP", "nft_do_chain", 300)},
	 {{"tx", "Ip:OutDiscards", 300}, {"tx", "Udp:SndbufErrors", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e5 nft egress",
	 LAB4,
	 {TX(NETFILTER, "NETFILTER_DROP", "nft_do_chain", 300)},
	 {{"tx", "Ip:OutDiscards", 300}, {"tx", "Udp:SndbufErrors", 300}},
	 1,
	 0,
	 0,
	 0},
	{"e6 IP checksum",
	 LAB4,
	 {RX(IP_HEADER, "IP_CSUM", "ip_rcv_core", 200)},
	 {{"rx", "Ip:InHdrErrors", 200}, {"rx", "IpExt:InCsumErrors", 200}},
	 2,
	 0,
	 0,
	 0},
	{"e6 reverse path",
	 LAB4,
	 {RX(IP_ROUTE, "IP_RPFILTER", "ip_rcv_finish_core", 200)},
	 {{"rx", "TcpExt:IPReversePathFilter", 200}, {"rx", "Ip:InAddrErrors", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e6 martian: no counter",
	 LAB4,
	 {RX(IP_ROUTE, "IP_LOCALNET", "ip_rcv_finish_core", 200)},
	 {{"rx", "Ip:InAddrErrors", 0}, {"rx", "IpExt:InNoRoutes", 0}},
	 0,
	 0,
	 0,
	 0},
	{"e6 wrong MAC",
	 LAB4,
	 {RX(L2, "OTHERHOST", "ip_rcv_core", 200)},
	 {{"rx", "v-rx:rx_otherhost_dropped", 200}, {"rx", "v-rx:rx_dropped", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e6 unknown protocol",
	 LAB4,
	 {RX(L2, "UNHANDLED_PROTO", "__netif_receive_skb_core", 200)},
	 {{"rx", "v-rx:rx_dropped", 200}},
	 1,
	 0,
	 0,
	 0},
	{"e6 group without listener",
	 LAB4,
	 {RX(UDP_LOOKUP, "NOT_SPECIFIED", "__udp4_lib_rcv", 200)},
	 {{"rx", "Udp:IgnoredMulti", 200}, {"rx", "Udp:NoPorts", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e7 late checksum",
	 LAB4,
	 {RX(SOCKET_READ, "UDP_CSUM", "udp_recvmsg", 100)},
	 {{"rx", "Udp:InCsumErrors", 100},
	  {"rx", "Udp:InErrors", 100},
	  {"rx", "socket:drops", 100}},
	 3,
	 0,
	 0,
	 0},
	{"e7 early checksum, at the socket",
	 LAB4,
	 {RX(UDP_CSUM, "UDP_CSUM", "udp_queue_rcv_one_skb", 200)},
	 {{"rx", "Udp:InCsumErrors", 200},
	  {"rx", "Udp:InErrors", 200},
	  {"rx", "socket:drops", 200}},
	 3,
	 0,
	 0,
	 0},
	{"e7 early checksum, before the socket",
	 LAB4,
	 {RX(UDP_CSUM, "UDP_CSUM", "__udp4_lib_rcv", 200)},
	 {{"rx", "Udp:InCsumErrors", 200}, {"rx", "Udp:InErrors", 200}, {"rx", "socket:drops", 0}},
	 2,
	 0,
	 0,
	 0},
	{"e7 EFAULT",
	 LAB4,
	 {RX(SOCKET_READ, "NOT_SPECIFIED", "udp_recvmsg", 200)},
	 {{"rx", "Udp:InErrors", 200}, {"rx", "socket:drops", 200}, {"rx", "Udp:InCsumErrors", 0}},
	 2,
	 0,
	 0,
	 0},
	{"e7 filter",
	 LAB4,
	 {RX(SOCKET_FILTER, "SOCKET_FILTER", "sk_filter_trim_cap", 200)},
	 {{"rx", "Udp:InErrors", 200}, {"rx", "socket:drops", 200}},
	 2,
	 0,
	 0,
	 0},
	{"e7 fragments: two per datagram",
	 LAB4,
	 {RX(IP_FRAG, "FRAG_REASM_TIMEOUT", "ip_expire", 100)},
	 {{"rx", "Ip:ReasmFails", 50}},
	 0,
	 0,
	 0,
	 0},
	{"e8 TTL at the router",
	 ROUTED,
	 {{STAGE_IP_FORWARD, "IP_INHDR", "ip_forward", "router", "v-r0", 300, 300}},
	 {{"router", "Ip:InHdrErrors", 300}, {"rx", "Ip:InHdrErrors", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e8 too big for the way on, IPv6",
	 {LAB(AF_INET6)},
	 {{STAGE_IP_FORWARD, "PKT_TOO_BIG", "ip6_forward", "router", "v-r1", 300, 300}},
	 {{"router", "Ip6InTooBigErrors", 300}, {"router", "Ip6FragFails", 300}},
	 2,
	 0,
	 0,
	 0},
	{"e8 tbf",
	 {LAB(AF_INET), .tx_qdisc = "tbf"},
	 {TX(QDISC, "QDISC_DROP", "__dev_queue_xmit", 233)},
	 {{"tx", "v-tx:qdisc:drops", 233},
	  {"tx", "Udp:SndbufErrors", 233},
	  {"tx", "Ip:OutDiscards", 233}},
	 3,
	 0,
	 0,
	 0},
	{"e8 tbf with back-pressure of a non-blocking sender",
	 {LAB(AF_INET), .tx_qdisc = "tbf", .eagain = 17},
	 {TX(QDISC, "QDISC_DROP", "__dev_queue_xmit", 233)},
	 {{"tx", "v-tx:qdisc:drops", 233},
	  {"tx", "Udp:SndbufErrors", 250},
	  {"tx", "Ip:OutDiscards", 250}},
	 3,
	 0,
	 0,
	 0},
	{"e8 tbf on the router: the sender does not hear of it",
	 ROUTED,
	 {{STAGE_QDISC, "QDISC_DROP", "__dev_queue_xmit", "router", "v-r1", 233, 233}},
	 {{"router", "v-r1:qdisc:drops", 233},
	  {"tx", "Udp:SndbufErrors", 0},
	  {"tx", "v-tx:qdisc:drops", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e8 neighbour that never answers: no counter",
	 LAB4,
	 {TX(NEIGH, "NEIGH_FAILED", "neigh_invalidate", 200)},
	 {{"tx", "Ip:OutDiscards", 0}, {"host", "arp_cache:unresolved_discards", 0}},
	 0,
	 0,
	 0,
	 0},
	{"e9 XDP_DROP, native",
	 LAB4,
	 {RX(XDP, "NOT_SPECIFIED", "veth_xdp_rcv_skb", 300)},
	 {{"rx", "ethtool:v-rx:rx_queue_0_xdp_drops", 200},
	  {"rx", "ethtool:v-rx:rx_queue_1_xdp_drops", 100},
	  {"rx", "v-rx:rx_dropped", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e9 XDP_DROP, generic: no counter",
	 LAB4,
	 {RX(XDP, "NOT_SPECIFIED", "do_xdp_generic", 300)},
	 {{"rx", "ethtool:v-rx:rx_queue_0_xdp_drops", 0}, {"rx", "v-rx:rx_dropped", 0}},
	 0,
	 0,
	 0,
	 0},
	{"e9 our own sink beside a foreign drop",
	 {LAB(AF_INET), .xdp_sink = 700},
	 {RX(XDP, "NOT_SPECIFIED", "veth_xdp_rcv_skb", 300)},
	 {{"rx", "ethtool:v-rx:rx_queue_0_xdp_drops", 1000},
	  {"tx", "ethtool:v-tx:rx_queue_0_xdp_drops", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e12 AF_XDP ring full",
	 LAB4,
	 {RX(XSK, "ENOBUFS", "xdp_redirect_err", 1184)},
	 {{"rx", "xsk:rx_ring_full", 1184},
	  {"rx", "xsk:rx_dropped", 0},
	  {"rx", "xsk:rx_fill_ring_empty", 0},
	  {"rx", "v-rx:rx_dropped", 1184}},
	 2,
	 0,
	 0,
	 0},
	{"e12 AF_XDP fill ring empty, counted twice",
	 LAB4,
	 {RX(XSK, "ENOMEM", "xdp_redirect_err", 870)},
	 {{"rx", "xsk:rx_ring_full", 0},
	  {"rx", "xsk:rx_dropped", 870},
	  {"rx", "xsk:rx_fill_ring_empty", 870},
	  {"rx", "v-rx:rx_dropped", 870}},
	 3,
	 0,
	 0,
	 0},
	{"e10 veth ring full",
	 LAB4,
	 {RX(TX_DEVICE, "NOT_SPECIFIED", "veth_xmit", 1134)},
	 {{"tx", "v-tx:tx_dropped", 1134},
	  {"tx", "Udp:SndbufErrors", 1134},
	  {"tx", "Ip:OutDiscards", 1134},
	  {"rx", "v-rx:rx_dropped", 0},
	  {"rx", "v-rx:tx_dropped", 0}},
	 3,
	 0,
	 0,
	 0},
	{"e25 the same, sent by AF_XDP",
	 {.family = AF_INET, .private_ns = true, .links = pair, .n_links = 1},
	 {RX(TX_DEVICE, "NOT_SPECIFIED", "veth_xmit", 1132)},
	 {{"tx", "v-tx:tx_dropped", 1132},
	  {"tx", "xsk:tx_lost", 1132},
	  {"tx", "Udp:SndbufErrors", 0},
	  {"tx", "Ip:OutDiscards", 0}},
	 2,
	 0,
	 0,
	 0},
	{"e13 tun ring full",
	 {LAB(AF_INET), .tx_qdisc = "pfifo_fast"},
	 {{STAGE_TX_DEVICE, "FULL_RING", "tun_net_xmit", "tx", "tap0", 1903, 1903}},
	 {{"tx", "tap0:tx_dropped", 1903},
	  {"tx", "tap0:qdisc:drops", 0},
	  {"tx", "Udp:SndbufErrors", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e14 tc egress",
	 LAB4,
	 {TX(TC_EGRESS, "TC_EGRESS", "__dev_queue_xmit", 300)},
	 {{"tx", "Udp:SndbufErrors", 300}, {"tx", "Ip:OutDiscards", 300}},
	 2,
	 0,
	 0,
	 0},
	{"e14 cgroup egress: EPERM",
	 LAB4,
	 {TX(TX_SOCKET, "BPF_CGROUP_EGRESS", "ip_finish_output", 300)},
	 {{"tx", "Ip:OutDiscards", 300}, {"tx", "Udp:SndbufErrors", 0}},
	 1,
	 0,
	 0,
	 0},
	{"e14 qdisc reset: not among its drops",
	 LAB4,
	 {TX(QDISC, "NOT_SPECIFIED", "__rtnl_unlock", 40)},
	 {{"tx", "v-tx:qdisc:drops", 0}, {"tx", "Udp:SndbufErrors", 0}},
	 0,
	 0,
	 0,
	 0},
	{"e16 GSO in the qdisc: counters count skbs",
	 {LAB(AF_INET), .tx_qdisc = "pfifo"},
	 {{STAGE_QDISC, "QDISC_DROP", "__dev_queue_xmit", "tx", "v-tx", 30, 300}},
	 {{"tx", "v-tx:qdisc:drops", 30}, {"tx", "Udp:SndbufErrors", 30}},
	 2,
	 0,
	 0,
	 0},
	{"e16 failed segmentation: InErrors counts segments",
	 LAB4,
	 {{STAGE_GSO, "NOT_SPECIFIED", "udp_queue_rcv_skb", "rx", "v-rx", 30, 300}},
	 {{"rx", "Udp:InErrors", 300}},
	 1,
	 0,
	 0,
	 0},
	{"e17 peer down: both ends count",
	 LAB4,
	 {TX(TX_DEVICE, "NOT_SPECIFIED", "__dev_forward_skb2", 200)},
	 {{"tx", "v-tx:tx_dropped", 200},
	  {"rx", "v-rx:rx_dropped", 200},
	  {"tx", "Udp:SndbufErrors", 200}},
	 3,
	 0,
	 0,
	 0},
	{"e17 bridge: no counter",
	 LAB4,
	 {RX(L2, "NOT_SPECIFIED", "br_handle_frame_finish", 200)},
	 {{"rx", "v-rx:rx_dropped", 0}},
	 0,
	 0,
	 0,
	 0},
	{"e26 three losses at once",
	 {LAB(AF_INET), .tx_qdisc = "tbf"},
	 {TX(QDISC, "QDISC_DROP", "__dev_queue_xmit", 900),
	  RX(NETFILTER, "NETFILTER_DROP", "nft_do_chain", 1020),
	  RX(RCVBUF, "SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 3190)},
	 {{"tx", "v-tx:qdisc:drops", 900},
	  {"tx", "Udp:SndbufErrors", 900},
	  {"tx", "Ip:OutDiscards", 900},
	  {"rx", "Udp:RcvbufErrors", 3190},
	  {"rx", "Udp:InErrors", 3190},
	  {"rx", "socket:drops", 3190}},
	 6,
	 0,
	 0,
	 0},
	{"e27 tunnel: delivered, says UDP",
	 LAB4,
	 {RX(TUNNEL, "VXLAN_VNI_NOT_FOUND", "vxlan_rcv", 200)},
	 {{"rx", "Udp:InDatagrams", 200}, {"rx", "Udp:InErrors", 0}},
	 0,
	 0,
	 0,
	 0},
	{"e28 tbf splits: segments are skbs",
	 {LAB(AF_INET), .tx_qdisc = "tbf"},
	 {TX(QDISC, "QDISC_DROP", "tbf_enqueue", 288)},
	 {{"tx", "v-tx:qdisc:drops", 288}},
	 1,
	 0,
	 0,
	 0},

	/* What must not agree. */
	{"tracer blind: fewer events than the counters say",
	 LAB4,
	 {RX(RCVBUF, "SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 400)},
	 {{"rx", "Udp:RcvbufErrors", 495},
	  {"rx", "Udp:InErrors", 495},
	  {"rx", "socket:drops", 495}},
	 3,
	 0,
	 3,
	 3},
	{"more events than losses",
	 LAB4,
	 {RX(RCVBUF, "SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 500)},
	 {{"rx", "Udp:RcvbufErrors", 495}},
	 1,
	 0,
	 1,
	 0},
	{"the wrong namespace's counter",
	 LAB4,
	 {RX(UDP_LOOKUP, "NO_SOCKET", "__udp4_lib_rcv", 5)},
	 {{"rx", "Udp:NoPorts", 0}, {"tx", "Ip:InHdrErrors", 5}},
	 1,
	 0,
	 1,
	 1},
	{"ring losses that no event shows",
	 LAB4,
	 {},
	 {{"rx", "v-rx:rx_missed_errors", 9}},
	 0,
	 0,
	 0,
	 1},
	{"both families at once",
	 {.private_ns = true, .tx_socket = true},
	 {RX(RCVBUF, "SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 30)},
	 {{"rx", "Udp:RcvbufErrors", 10}, {"rx", "Udp6RcvbufErrors", 20}},
	 1,
	 0,
	 0,
	 0},

	/* Counters that others move too. */
	{"softnet is the host's",
	 LAB4,
	 {RX(BACKLOG, "CPU_BACKLOG", "enqueue_to_backlog", 10)},
	 {{"host", "softnet:cpu1:dropped", 4614}},
	 1,
	 0,
	 0,
	 1},
	{"softnet that misses our losses",
	 LAB4,
	 {RX(BACKLOG, "CPU_BACKLOG", "enqueue_to_backlog", 10)},
	 {{"host", "softnet:cpu1:dropped", 9}},
	 1,
	 0,
	 1,
	 0},
	{"a host with other traffic",
	 {.family = AF_INET, .tx_socket = true},
	 {{STAGE_RCVBUF, "SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", "host", "eth9", 10, 10}},
	 {{"host", "Udp:RcvbufErrors", 12},
	  {"host", "Udp:InErrors", 12},
	  {"rx", "socket:drops", 10}},
	 3,
	 0,
	 0,
	 2},
};

static struct secondbooks *compare(const struct experiment *x)
{
	struct counters_delta items[MAX_COUNTERS] = {0};
	struct counters_deltas deltas = {.items = items};
	struct secondbooks *books = NULL;
	size_t n = 0;

	for (; deltas.n < MAX_COUNTERS && x->counters[deltas.n].name; deltas.n++) {
		const struct moved *m = &x->counters[deltas.n];

		snprintf(items[deltas.n].scope, sizeof(items->scope), "%s", m->scope);
		snprintf(items[deltas.n].name, sizeof(items->name), "%s", m->name);
		items[deltas.n].delta = m->delta;
	}
	while (n < MAX_EVENTS && x->ev[n].events)
		n++;
	assert_int_equal(secondbooks_compare(&deltas, x->ev, n, &x->facts, &books), 0);
	return books;
}

static void print(const struct secondbooks *b)
{
	for (size_t i = 0; i < b->n_rows; i++)
		print_message("  stage %d %s %s: %llu, expected %llu..%llu%s%s\n", b->rows[i].stage,
			      b->rows[i].role, b->rows[i].name,
			      (unsigned long long)b->rows[i].delta,
			      (unsigned long long)b->rows[i].expected,
			      (unsigned long long)b->rows[i].expected_max,
			      b->rows[i].agrees ? "" : " DISAGREES",
			      b->rows[i].documented ? " (documented)" : "");
	for (size_t i = 0; i < b->n_unexplained; i++)
		print_message("  unexplained %s %s: %llu too many\n", b->unexplained[i].role,
			      b->unexplained[i].name, (unsigned long long)b->unexplained[i].excess);
}

static void all_experiments(void **state)
{
	unsigned failed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++) {
		const struct experiment *x = &experiments[i];
		struct secondbooks *b = compare(x);
		unsigned documented = 0, disagree = 0;

		for (size_t r = 0; r < b->n_rows; r++) {
			const struct book_row *row = &b->rows[r];

			documented += row->documented;
			disagree += !row->agrees && !row->documented;
			if (row->documented) {
				assert_false(row->agrees);
				assert_memory_equal(row->note, "documented:", 11);
			}
		}
		if (b->n_rows != x->rows || documented != x->documented ||
		    disagree != x->disagree || b->n_unexplained != x->unexplained) {
			print_message("%s:\n", x->name);
			print(b);
			failed++;
		}
		secondbooks_free(b);
	}
	assert_int_equal(failed, 0);
}

static const struct experiment *named(const char *name)
{
	for (size_t i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++) {
		if (!strcmp(experiments[i].name, name))
			return &experiments[i];
	}
	fail_msg("no experiment \"%s\"", name);
	return NULL;
}

static void unexplained_names_the_stage(void **state)
{
	struct secondbooks *b = compare(named("tracer blind: fewer events than the counters say"));
	unsigned found = 0;

	(void)state;
	for (size_t i = 0; i < b->n_unexplained; i++) {
		const struct book_unexplained *u = &b->unexplained[i];

		assert_int_equal(u->excess, 95);
		assert_int_equal(u->scope, BOOK_FLOW);
		/* InErrors serves many stages, RcvbufErrors one. */
		if (!strcmp(u->name, "Udp:RcvbufErrors")) {
			assert_int_equal(u->stage, STAGE_RCVBUF);
			found++;
		} else {
			assert_int_equal(u->stage, STAGE_NONE);
		}
	}
	assert_int_equal(found, 1);
	assert_false(secondbooks_agree(b, STAGE_RCVBUF));
	assert_true(secondbooks_agree(b, STAGE_QDISC));
	secondbooks_free(b);

	b = compare(named("softnet is the host's"));
	assert_int_equal(b->unexplained[0].scope, BOOK_HOST);
	assert_true(secondbooks_agree(b, STAGE_BACKLOG));
	secondbooks_free(b);
}

static void documented_is_agreement(void **state)
{
	struct secondbooks *b = compare(named("E4 udp_mem on 6.18: only the socket counts"));

	(void)state;
	assert_true(secondbooks_agree(b, STAGE_UDP_MEM));
	secondbooks_free(b);
	b = compare(named("E4 until 6.12 but not counted: not documented"));
	assert_false(secondbooks_agree(b, STAGE_UDP_MEM));
	secondbooks_free(b);
}

static void sums_have_a_pattern(void **state)
{
	struct secondbooks *b = compare(named("e9 XDP_DROP, native"));

	(void)state;
	assert_int_equal(b->n_rows, 1);
	assert_string_equal(b->rows[0].name, "ethtool:v-rx:rx_queue_*_xdp_drops");
	assert_int_equal(b->rows[0].delta, 300);
	assert_string_equal(book_scope_name(b->rows[0].scope), "interface");
	secondbooks_free(b);
}

static void silent_stages(void **state)
{
	(void)state;
	assert_non_null(secondbooks_silent(STAGE_SOCKET_CLOSE));
	assert_non_null(secondbooks_silent(STAGE_NETFILTER));
	assert_null(secondbooks_silent(STAGE_RCVBUF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_experiments),
		cmocka_unit_test(unexplained_names_the_stage),
		cmocka_unit_test(documented_is_agreement),
		cmocka_unit_test(sums_have_a_pattern),
		cmocka_unit_test(silent_stages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
