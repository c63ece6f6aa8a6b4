// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/countercheck.h"

#define SET(...) ((const struct counter_member[]){__VA_ARGS__, {.stage = STAGE_NONE}})

#define PROTO_MEM_NOTE                                                                             \
	"documented: a PROTO_MEM loss in __udp_enqueue_schedule_skb moves no SNMP counter here; "  \
	"the socket's drops count it"

#define VETH_NOTE "documented: older kernels do not tell send() of a loss in veth"

const struct counter_rule counter_rules[] = {
	/* The sender. udp_send_skb() and ip_send_skb() count what dev_queue_xmit() gives back. */
	{
		.name4 = "Udp:SndbufErrors",
		.name6 = "Udp6SndbufErrors",
		.role = "tx",
		.scope = COUNTER_HOST,
		.flags = COUNTER_TX_SOCKET | COUNTER_EAGAIN,
		.note = "also counts every EAGAIN of send(), without a packet",
		.quirk = VETH_NOTE,
		.set = SET({STAGE_TC_EGRESS, "!CONSUMED", NULL, REL_TX, MUST},
			   {STAGE_QDISC, NULL, "__dev_queue_xmit", REL_TX, TAIL},
			   {STAGE_QDISC, NULL, "!__dev_queue_xmit|__rtnl_unlock", REL_TX, MAY},
			   {STAGE_TX_DEVICE, NULL, NULL, REL_SENT, DIRECT},
			   {STAGE_BACKLOG, NULL, NULL, REL_SENT, INLINE},
			   /* EPERM, once the socket's buffer has been full (SOCK_NOSPACE stays) */
			   {STAGE_NETFILTER, NULL, NULL, REL_TX, MAY},
			   {STAGE_TX_SOCKET, NULL, NULL, REL_TX, MAY}),
	},
	{
		.name4 = "Ip:OutDiscards",
		.name6 = "Ip6OutDiscards",
		.role = "tx",
		.scope = COUNTER_HOST,
		.flags = COUNTER_TX_SOCKET | COUNTER_EAGAIN,
		.note = "also counts every EAGAIN of send(), without a packet",
		.quirk = VETH_NOTE,
		.set = SET({STAGE_TC_EGRESS, "!CONSUMED", NULL, REL_TX, MUST},
			   {STAGE_QDISC, NULL, "__dev_queue_xmit", REL_TX, TAIL},
			   {STAGE_QDISC, NULL, "!__dev_queue_xmit|__rtnl_unlock", REL_TX, MAY},
			   {STAGE_TX_DEVICE, NULL, NULL, REL_SENT, DIRECT},
			   {STAGE_BACKLOG, NULL, NULL, REL_SENT, INLINE},
			   {STAGE_NETFILTER, NULL, NULL, REL_TX, MUST},
			   {STAGE_TX_SOCKET, NULL, NULL, REL_TX, MUST}),
	},
	{
		.name4 = "Ip:OutNoRoutes",
		.name6 = "Ip6OutNoRoutes",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_TX_ROUTE, "IP_OUTNOROUTES", NULL, REL_ROLE, MUST}),
	},
	{
		.name4 = "arp_cache:unresolved_discards",
		.name6 = "ndisc_cache:unresolved_discards",
		.role = "host",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_NEIGH, "NEIGH_QUEUEFULL", NULL, REL_ANY, MUST}),
	},
	{
		.name4 = "@:qdisc:drops",
		.scope = COUNTER_INTERFACE,
		.note = "counts skbs, not segments",
		/* Freed by a reset, behind the lock: not counted as drops. */
		.set = SET({STAGE_QDISC, NULL, "!__rtnl_unlock", REL_DEV, MUST}),
	},
	{
		.name4 = "@:tx_dropped",
		.scope = COUNTER_INTERFACE,
		.set = SET(/* veth_xmit() has turned skb->dev to the peer already */
			   {STAGE_TX_DEVICE, NULL, "veth_xmit", REL_PEER, MUST},
			   {STAGE_TX_DEVICE, NULL, "__dev_forward_skb2", REL_DEV, MUST},
			   {STAGE_TX_DEVICE, NULL, "tun_net_xmit", REL_DEV, MUST},
			   {STAGE_TX_DEVICE, NULL,
			    "!veth_xmit|__dev_forward_skb2|tun_net_xmit|tun_queue_purge", REL_DEV,
			    MAY},
			   {STAGE_BACKLOG, NULL, NULL, REL_PEER, INLINE},
			   {STAGE_XDP, NULL, "xdp_devmap_xmit|xdp_bulk_tx", REL_LINK, MAY}),
	},
	{
		/* veth; the counter stands at the device that refused the frames */
		.name4 = "ethtool:@:tx_queue_*_xdp_xmit_errors",
		.scope = COUNTER_INTERFACE,
		.set = SET({STAGE_TX_DEVICE, NULL, "xdp_devmap_xmit", REL_DEV, MUST},
			   {STAGE_XDP, NULL, "xdp_devmap_xmit", REL_DEV, MAY}),
	},
	{
		.name4 = "xsk:tx_lost",
		.role = "tx",
		.scope = COUNTER_FLOW,
		.note = "sendto() said EBUSY; the descriptor was completed all the same",
		.quirk = VETH_NOTE,
		.set = SET({STAGE_TX_DEVICE, NULL, "veth_xmit", REL_SENT, MUST},
			   {STAGE_TX_DEVICE, NULL, "!veth_xmit", REL_SENT, MAY},
			   {STAGE_BACKLOG, NULL, NULL, REL_SENT, INLINE},
			   {STAGE_TC_EGRESS, NULL, NULL, REL_TX, MAY}),
	},

	/* The receiving device. */
	{
		.name4 = "@:rx_missed_errors",
		.scope = COUNTER_INTERFACE,
		.note = "counter only: no packet exists yet that an event could show",
		.set = SET({STAGE_NIC_RING, NULL, NULL, REL_DEV, MAY}),
	},
	{
		/* The ring's own counter where its name is like no other driver's. */
		.name4 = "ethtool:@:rx_no_dma_resources|ethtool:@:rx_out_of_buffer|"
			 "ethtool:@:rx_no_memory|ethtool:@:pkts rx OOB|"
			 "ethtool:@:port_rx_nodesc_drops|ethtool:@:[[]*[]]: rx_discards|"
			 "ethtool:@:rx_queue_drop_cnt*",
		.scope = COUNTER_INTERFACE,
		.note = "counter only: no packet exists yet that an event could show",
		.set = SET({STAGE_NIC_RING, NULL, NULL, REL_DEV, MAY}),
	},
	{
		.name4 = "ethtool:@:rx_queue_*_xdp_drops|ethtool:@:rx_xdp_drop|"
			 "ethtool:@:rx*_xdp_drops|ethtool:@:queue_*_rx_xdp_drop",
		.scope = COUNTER_INTERFACE,
		.flags = COUNTER_SINK,
		/* Generic XDP counts nowhere; failed redirects are in rx_dropped. */
		.set = SET({STAGE_XDP, NULL, "veth_xdp_rcv_skb|xdp_exception", REL_DEV, MUST},
			   {STAGE_XDP, NULL,
			    "!veth_xdp_rcv_skb|xdp_exception|do_xdp_generic|xdp_redirect_err|"
			    "xdp_devmap_xmit|xdp_bulk_tx|xdp_cpumap_enqueue|xdp_cpumap_kthread",
			    REL_DEV, MAY}),
	},
	{
		.name4 = "@:rx_dropped",
		.scope = COUNTER_INTERFACE,
		.set = SET({STAGE_BACKLOG, NULL, NULL, REL_DEV, MUST},
			   {STAGE_L2, "UNHANDLED_PROTO", NULL, REL_DEV, MUST},
			   {STAGE_TX_DEVICE, NULL, "__dev_forward_skb2", REL_PEER, MUST},
			   {STAGE_TX_DEVICE, NULL, "xdp_devmap_xmit", REL_PEER, MAY},
			   {STAGE_XDP, NULL, "xdp_redirect_err", REL_DEV, NATIVE},
			   {STAGE_XDP, NULL, "xdp_devmap_xmit|xdp_bulk_tx", REL_LINK, MAY},
			   {STAGE_XSK, "ENOBUFS|ENOMEM|ENOSPC", NULL, REL_DEV, NATIVE},
			   {STAGE_NIC_RING, NULL, NULL, REL_DEV, MAY},
			   {STAGE_TUNNEL, NULL, NULL, REL_DEV, MAY}),
	},
	{
		.name4 = "@:rx_otherhost_dropped",
		.scope = COUNTER_INTERFACE,
		.set = SET({STAGE_L2, "OTHERHOST", NULL, REL_DEV, MUST}),
	},
	{
		.name4 = "softnet:*:dropped",
		.role = "host",
		.scope = COUNTER_HOST,
		.note = "one per CPU for the whole host, other traffic included",
		.set = SET({STAGE_BACKLOG, "CPU_BACKLOG", NULL, REL_ANY, MUST}),
	},
	{
		.name4 = "softnet:*:flow_limit",
		.role = "host",
		.scope = COUNTER_HOST,
		.flags = COUNTER_EVIDENCE,
		.note = "the part of the drops that net.core.flow_limit_cpu_bitmap made",
		.set = SET({STAGE_BACKLOG, "CPU_BACKLOG", NULL, REL_ANY, MAY}),
	},

	/* AF_XDP. rx_dropped repeats fill-empty: compared each, never added. */
	{
		.name4 = "xsk:rx_ring_full",
		.role = "rx",
		.scope = COUNTER_FLOW,
		.set = SET({STAGE_XSK, "ENOBUFS", NULL, REL_ANY, MUST},
			   {STAGE_XSK, "XDP", NULL, REL_ANY, MAY}),
	},
	{
		.name4 = "xsk:rx_fill_ring_empty",
		.role = "rx",
		.scope = COUNTER_FLOW,
		.flags = COUNTER_COPY_MODE,
		.note = "counts the packets of xsk:rx_dropped again",
		.set = SET({STAGE_XSK, "ENOMEM", NULL, REL_ANY, MUST},
			   {STAGE_XSK, "XDP", NULL, REL_ANY, MAY}),
	},
	{
		.name4 = "xsk:rx_dropped",
		.role = "rx",
		.scope = COUNTER_FLOW,
		.note = "counts the packets of xsk:rx_fill_ring_empty again",
		.set = SET({STAGE_XSK, "ENOMEM|ENOSPC", NULL, REL_ANY, MUST},
			   {STAGE_XSK, "XDP", NULL, REL_ANY, MAY}),
	},

	/* IP. */
	{
		.name4 = "Ip:InHdrErrors",
		.name6 = "Ip6InHdrErrors",
		.scope = COUNTER_HOST,
		.set = SET(
			{STAGE_IP_HEADER, "IP_CSUM|IP_INHDR|UNHANDLED_PROTO", NULL, REL_ROLE, MUST},
			{STAGE_IP_HEADER, "PKT_TOO_SMALL|IPV6_BAD_EXTHDR|NOT_SPECIFIED", NULL,
			 REL_ROLE, MAY},
			{STAGE_IP_FORWARD, "IP_INHDR", NULL, REL_ROLE, MUST}),
	},
	{
		.name4 = "IpExt:InCsumErrors",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_IP_HEADER, "IP_CSUM", NULL, REL_ROLE, MUST}),
	},
	{
		.name4 = "IpExt:InTruncatedPkts",
		.name6 = "Ip6InTruncatedPkts",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_IP_HEADER, "PKT_TOO_SMALL", NULL, REL_ROLE, MAY}),
	},
	{
		.name4 = "Ip:InDiscards",
		.name6 = "Ip6InDiscards",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_IP_HEADER, "IPV6DISABLED", NULL, REL_ROLE, MUST},
			   {STAGE_IP_HEADER, "!IPV6DISABLED", NULL, REL_ROLE, MAY}),
	},
	{
		.name4 = "TcpExt:IPReversePathFilter",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_IP_ROUTE, "IP_RPFILTER", NULL, REL_ROLE, MUST}),
	},
	{
		.name4 = "Ip:InAddrErrors",
		.name6 = "Ip6InAddrErrors",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_IP_ROUTE, "IP_INADDRERRORS", NULL, REL_ROLE, MUST},
			   {STAGE_IP_ROUTE, "NOT_SPECIFIED", NULL, REL_ROLE, MAY}),
	},
	{
		.name4 = "IpExt:InNoRoutes",
		.name6 = "Ip6InNoRoutes",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_IP_ROUTE, "IP_INNOROUTES", NULL, REL_ROLE, MUST},
			   {STAGE_IP_ROUTE, "NOT_SPECIFIED", NULL, REL_ROLE, MAY}),
	},
	{
		.name4 = "Ip:ReasmFails",
		.name6 = "Ip6ReasmFails",
		.scope = COUNTER_HOST,
		.note = "counts datagrams, the events are fragments",
		.set = SET({STAGE_IP_FRAG, NULL, NULL, REL_ROLE, MAY}),
	},
	{
		.name4 = "Ip:FragFails",
		.name6 = "Ip6FragFails",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_IP_FORWARD, "PKT_TOO_BIG", NULL, REL_ROLE, MUST},
			   {STAGE_TX_SOCKET, NULL, "ip_do_fragment|ip6_fragment", REL_ROLE, MAY}),
	},
	{
		.name4 = "Ip6InTooBigErrors",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_IP_FORWARD, "PKT_TOO_BIG", "ip6_forward", REL_ROLE, MUST}),
	},
	{
		.name4 = "XfrmOutNoStates",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_TX_ROUTE, "NOT_SPECIFIED", "dst_discard_out", REL_ROLE, MUST}),
	},
	{
		.name4 = "XfrmIn*",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_XFRM, "XFRM_POLICY", NULL, REL_ROLE, MUST},
			   {STAGE_XFRM, "!XFRM_POLICY", NULL, REL_ROLE, MAY}),
	},

	/* UDP. InErrors repeats RcvbufErrors, MemErrors and InCsumErrors. */
	{
		.name4 = "Udp:NoPorts",
		.name6 = "Udp6NoPorts",
		.role = "rx",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_UDP_LOOKUP, "NO_SOCKET", NULL, REL_ROLE, MUST}),
	},
	{
		.name4 = "Icmp:OutDestUnreachs",
		.name6 = "Icmp6OutDestUnreachs",
		.role = "rx",
		.scope = COUNTER_HOST,
		.flags = COUNTER_EVIDENCE,
		.note = "answers sent, fewer than losses: net.ipv4.icmp_ratelimit",
		.set = SET({STAGE_UDP_LOOKUP, "NO_SOCKET", NULL, REL_ROLE, MAY}),
	},
	{
		.name4 = "Udp:IgnoredMulti",
		.name6 = "Udp6IgnoredMulti",
		.role = "rx",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_UDP_LOOKUP, "NOT_SPECIFIED", NULL, REL_ROLE, MUST}),
	},
	{
		.name4 = "Udp:RcvbufErrors",
		.name6 = "Udp6RcvbufErrors",
		.role = "rx",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_RCVBUF, NULL, NULL, REL_ROLE, MUST}),
	},
	{
		.name4 = "Udp:MemErrors",
		.name6 = "Udp6MemErrors",
		.role = "rx",
		.scope = COUNTER_HOST,
		.quirk = PROTO_MEM_NOTE,
		.set = SET({STAGE_UDP_MEM, NULL, "__udp_enqueue_schedule_skb", REL_ROLE, QUIRK},
			   {STAGE_UDP_MEM, NULL, "!__udp_enqueue_schedule_skb", REL_ROLE, MUST}),
	},
	{
		.name4 = "Udp:InCsumErrors",
		.name6 = "Udp6InCsumErrors",
		.role = "rx",
		.scope = COUNTER_HOST,
		.set = SET({STAGE_UDP_CSUM, NULL, NULL, REL_ROLE, MUST},
			   {STAGE_SOCKET_READ, "UDP_CSUM", NULL, REL_ROLE, MUST}),
	},
	{
		.name4 = "Udp:InErrors",
		.name6 = "Udp6InErrors",
		.role = "rx",
		.scope = COUNTER_HOST,
		.note = "counts receive buffer, checksum, filter and memory losses together",
		.quirk = PROTO_MEM_NOTE,
		.set = SET({STAGE_RCVBUF, NULL, NULL, REL_ROLE, MUST},
			   {STAGE_UDP_MEM, NULL, "__udp_enqueue_schedule_skb", REL_ROLE, QUIRK},
			   {STAGE_UDP_MEM, NULL, "!__udp_enqueue_schedule_skb", REL_ROLE, MUST},
			   {STAGE_UDP_CSUM, NULL, NULL, REL_ROLE, MUST},
			   {STAGE_UDP_HEADER, NULL, NULL, REL_ROLE, MUST},
			   {STAGE_SOCKET_FILTER, NULL, NULL, REL_ROLE, MUST},
			   {STAGE_SOCKET_READ, NULL, NULL, REL_ROLE, MUST},
			   {STAGE_GSO, NULL, "udp_queue_rcv_skb|udpv6_queue_rcv_skb", REL_ROLE,
			    SEGMENTS},
			   {STAGE_XFRM, NULL,
			    "__udp4_lib_rcv|__udp6_lib_rcv|udp_queue_rcv_one_skb|"
			    "udpv6_queue_rcv_one_skb",
			    REL_ROLE, MUST}),
	},
	{
		.name4 = "socket:drops",
		.role = "rx",
		.scope = COUNTER_FLOW,
		.set = SET({STAGE_RCVBUF, NULL, NULL, REL_ANY, MUST},
			   {STAGE_UDP_MEM, NULL, NULL, REL_ANY, MUST},
			   {STAGE_SOCKET_FILTER, NULL, NULL, REL_ANY, MUST},
			   {STAGE_SOCKET_READ, NULL, NULL, REL_ANY, MUST},
			   {STAGE_UDP_CSUM, NULL, "udp_queue_rcv_one_skb|udpv6_queue_rcv_one_skb",
			    REL_ANY, MUST},
			   {STAGE_GSO, NULL, "udp_queue_rcv_skb|udpv6_queue_rcv_skb", REL_ANY,
			    SEGMENTS},
			   {STAGE_XFRM, NULL, "udp_queue_rcv_one_skb|udpv6_queue_rcv_one_skb",
			    REL_ANY, MUST}),
	},
};

const unsigned counter_rules_n = sizeof(counter_rules) / sizeof(counter_rules[0]);

const struct counter_silent counter_silents[] = {
	{STAGE_NEIGH, "no counter knows a neighbour that never answered, only its full queue"},
	{STAGE_QDISC,
	 "packets freed by a reset of the qdisc, or sent meanwhile, are not in its drops"},
	{STAGE_WIRE, "known only as a difference of two checkpoints"},
	{STAGE_XDP, "generic XDP counts its drops nowhere"},
	{STAGE_TC_INGRESS, "only the filter's own statistics count it"},
	{STAGE_L2, "a bridge counts no drops"},
	{STAGE_NETFILTER, "behind the sender's host only a rule's own counter knows it"},
	{STAGE_IP_ROUTE, "martians, blackholes and groups not joined are not counted"},
	{STAGE_TUNNEL, "Udp:InDatagrams counts it as delivered, to the tunnel"},
	{STAGE_SOCKET_CLOSE, "no counter knows what was unread at close"},
	{STAGE_OTHER, "a place that is not in the map has no counter in it either"},
};

const unsigned counter_silents_n = sizeof(counter_silents) / sizeof(counter_silents[0]);
