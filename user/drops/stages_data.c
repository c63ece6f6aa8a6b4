// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sources: Linux 6.1 to 6.18. Which reason and place is which stage is not decided here, but in
 * drops/stagemap_data.c; which counter knows it, in ledger/countercheck_data.c.
 */
#include "drops/stages_data.h"

#include <stddef.h>

const struct stage_facts stage_facts[STAGE_COUNT] = {
	[STAGE_TX_SOCKET] = {"egress program of the sender's cgroup (ip_finish_output), "
			     "fragments that could not be made (ip_do_fragment, ip6_fragment)",
			     "kfree_skb: BPF_CGROUP_EGRESS",
			     "what send() refuses before there is a packet is in the book refused"},
	[STAGE_TX_ROUTE] = {"route that leads nowhere, as while IPsec has no key "
			    "(dst_discard_out, ip6_pkt_discard_out)",
			    "kfree_skb in dst_discard_out; IP_OUTNOROUTES",
			    "without IPsec a UDP socket is told before there is a packet "
			    "(ENETUNREACH, EINVAL: refused); IP_OUTNOROUTES is of TCP and tunnels"},
	[STAGE_NEIGH] = {"neighbour that does not answer, or its full queue "
			 "(neigh_invalidate, __neigh_event_send)",
			 "kfree_skb: NEIGH_*", "up to 3 s after send() returned"},
	[STAGE_TC_EGRESS] = {"verdict of a tc or tcx program at egress (sch_handle_egress)",
			     "kfree_skb: TC_EGRESS; consume_skb in __dev_queue_xmit: stolen",
			     "stolen is seen from Linux 6.3; trace wants --consumed for it"},
	[STAGE_QDISC] = {"limit of a qdisc, AQM, a qdisc that is replaced or reset",
			 "kfree_skb: QDISC_*, FQ_*, CAKE_*",
			 "the kernel's counter counts a GSO packet as one"},
	[STAGE_TX_DEVICE] = {"full ring of the next device, or a driver that refuses "
			     "(ndo_start_xmit, ndo_xdp_xmit)",
			     "kfree_skb in the driver; xdp_devmap_xmit for live frames",
			     "drivers that free a loss as used up: trace --consumed knows some"},
	[STAGE_WIRE] = {"cables and switches between two hosts", "none",
			"needs both ends: numbers seen at one checkpoint and not at the next; no "
			"fault: a lab has no wire"},
	[STAGE_NIC_RING] = {"no descriptor, no buffer or no room in the NIC", "none",
			    "by the driver's counter, which is of an interface: run -i settles by it "
			    "if nothing else came, and does not know which numbers; between two "
			    "hosts it is in the wire; no fault: it takes a NIC with a ring of its "
			    "own"},
	[STAGE_XDP] = {"verdict of an XDP program; a redirect to a device, CPU or socket that "
		       "fails",
		       "kfree_skb in veth_xdp_rcv_skb and do_xdp_generic; xdp_redirect_err, "
		       "xdp_devmap_xmit, xdp_cpumap_enqueue",
		       "drops of another's native program are known by an interface's counter "
		       "only, unless its frames are skbs; which packet a redirect lost is known "
		       "where a program of ours ran just before"},
	[STAGE_XSK] = {"AF_XDP socket: full RX ring, empty fill ring, frame too long "
		       "(__xsk_rcv, xskq_prod_reserve_desc)",
		       "xdp_redirect_err: ENOBUFS, ENOMEM, ENOSPC",
		       "with zero copy an empty fill ring loses in the NIC: nic_ring"},
	[STAGE_GSO] = {"merged packet that cannot be taken apart, checksum that cannot be made "
		       "(udp_rcv_segment, validate_xmit_skb)",
		       "kfree_skb: SKB_GSO_SEG, SKB_CSUM; NOT_SPECIFIED in udp_queue_rcv_skb",
		       "the kernel's counter is of datagrams, not of merged packets"},
	[STAGE_BACKLOG] = {"netdev_max_backlog, a flow's share of it, a device that goes down "
			   "(enqueue_to_backlog, flush_backlog)",
			   "kfree_skb: CPU_BACKLOG, DEV_READY",
			   "queue and flow limit have one reason; only a counter tells them apart"},
	[STAGE_TC_INGRESS] = {"verdict of a tc or tcx program at ingress (sch_handle_ingress)",
			      "kfree_skb: TC_INGRESS; consume_skb in __netif_receive_skb_core: "
			      "stolen",
			      "stolen is seen from Linux 6.3; trace wants --consumed for it"},
	[STAGE_L2] = {"another host's address, a protocol that nobody takes, a bridge's port "
		      "(ip_rcv_core, __netif_receive_skb_core, br_handle_frame)",
		      "kfree_skb: OTHERHOST, UNHANDLED_PROTO, BRIDGE_INGRESS_STP_STATE",
		      "a bridge that floods past the right port makes no event: in a lab the "
		      "difference of checkpoints at its ports tells"},
	[STAGE_IP_HEADER] = {"checksum, length, version, IPv6 switched off "
			     "(ip_rcv_core, ip6_rcv_core)",
			     "kfree_skb: IP_CSUM, IP_INHDR, PKT_TOO_SMALL, IPV6DISABLED",
			     "with a wrong version or header length the packet cannot be read"},
	[STAGE_NETFILTER] = {"verdict of a rule, at any hook (nft_do_chain, nf_hook_slow)",
			     "kfree_skb: NETFILTER_DROP",
			     "the hook is derived from device, socket and route"},
	[STAGE_IP_ROUTE] = {"rp_filter, martians, blackhole, an address that is not here "
			    "(ip_rcv_finish_core, ip_error, ip6_pkt_discard)",
			    "kfree_skb: IP_RPFILTER, IP_LOCAL_SOURCE, IP_INADDRERRORS, "
			    "IP_INNOROUTES; NOT_SPECIFIED by place",
			    NULL},
	[STAGE_IP_FRAG] = {"fragments that are missing, overlap, or find no memory "
			   "(ip_expire, inet_frag_queue_insert, ip_defrag)",
			   "kfree_skb: FRAG_REASM_TIMEOUT, DUP_FRAG; NOT_SPECIFIED by place",
			   "30 s late (60 with IPv6) where the lab does not shorten it; a fragment "
			   "whose first one was not seen belongs to no datagram"},
	[STAGE_IP_FORWARD] = {"TTL, or the MTU of the way out (ip_forward, ip6_forward)",
			      "kfree_skb: IP_INHDR, PKT_TOO_BIG", NULL},
	[STAGE_TUNNEL] = {"decapsulation: header, network identifier, ECN (vxlan_rcv and others)",
			  "kfree_skb: VXLAN_*, IP_TUNNEL_ECN, TUNNEL_TXINFO",
			  "packets are followed in VXLAN over IPv4 of a lab only, fragments not"},
	[STAGE_XFRM] = {"IPsec policy or state (__xfrm_policy_check, xfrm_input)",
			"kfree_skb: XFRM_POLICY; by place in xfrm_input",
			"no fault of states: they take keys"},
	[STAGE_UDP_LOOKUP] = {"no socket on the port, no listener of the group (__udp4_lib_rcv)",
			      "kfree_skb: NO_SOCKET; NOT_SPECIFIED in __udp4_lib_rcv", NULL},
	[STAGE_UDP_HEADER] = {"lengths of UDP and IP that do not fit (__udp4_lib_rcv)",
			      "kfree_skb: PKT_TOO_SMALL", NULL},
	[STAGE_UDP_CSUM] = {"checksum, verified before queueing (udp_queue_rcv_one_skb)",
			    "kfree_skb: UDP_CSUM", NULL},
	[STAGE_SOCKET_FILTER] = {"filter of the socket, ingress program of its cgroup "
				 "(sk_filter_trim_cap)",
				 "kfree_skb: SOCKET_FILTER, SECURITY_HOOK",
				 "a filter that cuts a packet short loses none"},
	[STAGE_UDP_MEM] = {"udp_mem, or the memory of the cgroup (__sk_mem_raise_allocated)",
			   "kfree_skb: PROTO_MEM", "from Linux 6.18 no SNMP counter knows it"},
	[STAGE_RCVBUF] = {"receive buffer of the socket (__udp_enqueue_schedule_skb)",
			  "kfree_skb: SOCKET_RCVBUFF", NULL},
	[STAGE_SOCKET_READ] = {"read, but not delivered: checksum, bad buffer (udp_recvmsg)",
			       "kfree_skb: UDP_CSUM; NOT_SPECIFIED in udp_recvmsg", NULL},
	[STAGE_SOCKET_CLOSE] = {"unread when the socket closes (udp_destruct_common)",
				"the socket's queue just before; kfree_skb in udp_destruct_common",
				"trace sees it where tracing is not suppressed (RCU callback)"},
	[STAGE_OTHER] = {"a place that the map does not know", "kfree_skb, shown verbatim", NULL},
	[STAGE_TCP] = {"TCP", "kfree_skb: TCP_*", "in trace only, and there one stage"},
	[STAGE_ICMP] = {"ICMP, neighbour discovery", "kfree_skb: ICMP_CSUM, IPV6_NDISC_*",
			"in trace only, and there one stage"},
};
