// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The stage map. Sources: Linux 5.15 to 7.x, function names in parentheses. A location is the
 * return address of the call that freed the packet. Inlining and tail calls move it to the caller,
 * so the lists contain the function names from all known builds.
 *
 * There are four parts, and the first match wins: locations that decide for any reason; reasons
 * with different meanings at different locations; reasons; and locations for NOT_SPECIFIED and for
 * kernels without reasons (before 5.17), where the reason is "".
 */
#include "drops/stagemap.h"

#include <stddef.h>

#define LOSS	 CLASS_LOSS
#define COPY	 CLASS_COPY
#define EXPECTED CLASS_EXPECTED
#define NONE	 CLASS_NONE

#define UDP_RCV                                                                                    \
	"__udp4_lib_rcv __udp6_lib_rcv udp_rcv udpv6_rcv __udp4_lib_mcast_deliver "                \
	"__udp6_lib_mcast_deliver udp_unicast_rcv_skb udp6_unicast_rcv_skb udplite_rcv "           \
	"udplitev6_rcv"
#define UDP_READ                                                                                   \
	"udp_recvmsg udpv6_recvmsg first_packet_length __first_packet_length udp_read_skb "        \
	"__skb_recv_udp skb_recv_udp __sk_queue_drop_skb"
#define UDP_QUEUE                                                                                  \
	"udp_queue_rcv_one_skb udpv6_queue_rcv_one_skb __udp_queue_rcv_skb __udpv6_queue_rcv_skb " \
	"__udp_enqueue_schedule_skb"
#define TCP_ANY "tcp_* __tcp_* mptcp_* inet_csk_* sk_stream_* reqsk_* __release_sock"
#define TCP_OF_STATE                                                                               \
	"TCP_RESET TCP_CLOSE TCP_ABORT_ON_DATA TCP_FLAGS TCP_FASTOPEN TCP_RFC7323_* "              \
	"TCP_INVALID_* TCP_TOO_OLD_ACK TCP_ACK_UNSENT_DATA"
#define IP_RCV "ip_rcv ip_rcv_core ipv6_rcv ip6_rcv_core ip6_rcv_core_* ipv6_list_rcv ip_list_rcv"
#define FRAGMENTS                                                                                  \
	"ip_defrag ip_expire ip_frag_* ip_check_defrag inet_frag_* inet_frags_* ipv6_frag_rcv "    \
	"ip6_frag_* ip6frag_* nf_ct_frag6_*"
#define BRIDGE "br_* __br_* maybe_deliver deliver_clone nf_br_*"
#define TUNNELS                                                                                    \
	"vxlan_* geneve_* gre_* ipgre_* ip6gre_* erspan_* ip6erspan_* ipip_* ipip6_* sit_* "       \
	"ip_tunnel_* __ip_tunnel_* iptunnel_* ip6_tnl_* ip6_tunnel_* ip4ip6_* ip6ip6_* "           \
	"tunnel4_* tunnel6_* udp_tunnel_* udp_tunnel6_* bareudp_* gtp_* gtp1u_* fou_* gue_* "      \
	"wg_* l2tp_* amt_* lwtunnel_* seg6_* input_action_* mpls_* __iptunnel_*"
#define XFRM	"xfrm_* xfrm4_* xfrm6_* __xfrm_* xfrmi_* vti_* vti6_* esp_* esp4_* esp6_* ah_* ah6_*"
#define TAP	"tun_* tap_* macvtap_* __tun_*"
#define BACKLOG "enqueue_to_backlog flush_backlog netif_rx* __netif_rx process_backlog dev_cpu_dead"
#define GENERIC_XDP                                                                                \
	"do_xdp_generic netif_receive_generic_xdp generic_xdp_tx bpf_prog_run_generic_xdp"
#define NETFILTER                                                                                  \
	"nf_* nft_* ipt_* ip6t_* ebt_* xt_* nfqnl_* __nf_* ip_vs_* nfqueue_* tcpmss_* "            \
	"synproxy_* __nfqnl_*"
#define NEIGH                                                                                      \
	"neigh_* __neigh_* pneigh_* arp_error_report ndisc_error_report ip_finish_output2 "        \
	"ip6_finish_output2 arp_solicit"
#define QDISC                                                                                      \
	"qdisc_* __qdisc_* dev_qdisc_* dev_deactivate* dev_reset_queue dev_graft_qdisc "           \
	"*_enqueue *_dequeue rtnl_kfree_skbs __rtnl_unlock rtnl_unlock netdev_run_todo "           \
	"pfifo_* fq_* codel_* tbf_* htb_* cake_* netem_* sfq_* tcf_kfree_skb_list "                \
	"__tcf_kfree_skb_list"
#define XMIT                                                                                       \
	"*_start_xmit start_xmit *_xmit_frame* *_ndo_start_xmit *_clean_tx* *_free_tx_* "          \
	"*_unmap_and_free_tx* mlx5e_xmit* gve_tx* dev_hard_start_xmit __dev_direct_xmit "          \
	"sch_direct_xmit validate_xmit_skb* netdev_start_xmit loopback_xmit dummy_xmit "           \
	"bond_* team_xmit vlan_dev_hard_start_xmit macvlan_*xmit ipvlan_*xmit* ifb_*"
#define TX_IP                                                                                      \
	"ip_finish_output __ip_finish_output ip6_finish_output __ip6_finish_output ip_fragment "   \
	"ip_do_fragment ip6_fragment ip_send_skb ip6_send_skb udp_send_skb udp_v6_send_skb "       \
	"udp_sendmsg udpv6_sendmsg ip_flush_pending_frames __ip_flush_pending_frames "             \
	"ip6_flush_pending_frames __ip6_flush_pending_frames udp_flush_pending_frames "            \
	"__ip_append_data __ip6_append_data ip_make_skb ip6_make_skb __ip_make_skb "               \
	"__ip6_make_skb ip6_xmit skb_expand_head ip_output ip6_output ip_mc_output "               \
	"packet_snd packet_sendmsg tpacket_snd packet_sendmsg_spkt raw_send* rawv6_send*"

const struct stagemap_row stagemap_rows[] = {
	/* 1. Locations that decide for any reason. */
	{"NOT_DROPPED_YET", NULL, STAGE_NONE, NONE, "not a drop"},

	/*
	 * Losses freed like consumed packets. Each row has a single function. Checked in Linux 6.1
	 * to 6.18: nothing else is freed with consume_skb() at these locations, except if a clone
	 * continues (act_mirred then returns "stolen" for the original). A driver's function for
	 * losses is not the one for completed transmissions. A single kernel has at most
	 * WATCH_CONSUMED_MAX of them.
	 */
	{"CONSUMED", "__netif_receive_skb_core", STAGE_TC_INGRESS, LOSS,
	 "taken by tc ingress without a receiver: STOLEN, QUEUED or TRAP (sch_handle_ingress)"},
	{"CONSUMED", "__dev_queue_xmit", STAGE_TC_EGRESS, LOSS,
	 "taken by tc egress without a receiver: STOLEN, QUEUED or TRAP (sch_handle_egress)"},
	{"CONSUMED", "inet_frag_rbtree_purge", STAGE_IP_FRAG, LOSS,
	 "a fragment overlapped another: the datagram is dropped (inet_frag_queue_insert)"},
	{"CONSUMED", "ena_start_xmit", STAGE_TX_DEVICE, LOSS,
	 "could not be mapped or handed to the device (ena_start_xmit)"},
	{"CONSUMED", "virtnet_receive_done", STAGE_NIC_RING, LOSS,
	 "an invalid virtio header (virtnet_receive_done)"},
	{"CONSUMED", "i40e_construct_skb", STAGE_NIC_RING, LOSS,
	 "too many fragments for a packet (i40e_construct_skb)"},
	{"CONSUMED", "ice_construct_skb", STAGE_NIC_RING, LOSS,
	 "too many fragments for a packet (ice_construct_skb)"},
	{"CONSUMED", NULL, STAGE_NONE, EXPECTED, "consumed as intended (consume_skb)"},

	{NULL, "vmxnet3_tq_tx_complete vmxnet3_unmap_pkt", STAGE_NONE, NONE,
	 "sent: this driver frees sent packets as dropped (vmxnet3_unmap_pkt)"},
	{NULL, "skb_release_data", STAGE_NONE, NONE,
	 "part of a merged packet; the event of its head counts it (skb_release_data)"},
	{"NOT_SPECIFIED", "kfree_skb_list_reason kfree_skb_list", STAGE_NONE, NONE,
	 "part of a merged packet; the event of its head counts it (before 6.3)"},
	{"PACKET_SOCK_ERROR", NULL, STAGE_NONE, COPY,
	 "the copy for a packet socket did not fit (packet_rcv)"},
	{NULL,
	 "packet_rcv* tpacket_rcv packet_release packet_sock_destruct run_filter "
	 "dev_queue_xmit_nit packet_recvmsg packet_set_ring",
	 STAGE_NONE, COPY, "copy for a packet socket (packet_rcv)"},
	{NULL,
	 "raw_rcv raw_rcv_skb raw_local_deliver raw_v4_input raw_v6_* rawv6_rcv "
	 "rawv6_rcv_skb raw6_local_deliver raw_recvmsg rawv6_recvmsg",
	 STAGE_NONE, COPY, "copy for a raw socket (raw_local_deliver)"},
	{NULL, "unix_* virtio_transport_* netlink_* __netlink_* nfnetlink_* genl_* nlmsg_*",
	 STAGE_NONE, NONE, "not a packet: a message between processes"},
	{NULL, "netif_napi_add_weight* napi_get_frags_check", STAGE_NONE, NONE,
	 "not a packet: an allocator test while queues are created (napi_get_frags_check)"},
	{"UNIX_*", NULL, STAGE_NONE, NONE, "not a packet: a message between processes (unix_*)"},
	{"NOT_SPECIFIED", "tbf_enqueue tbf_segment", STAGE_QDISC, NONE,
	 "GSO packet whose segments were dropped one by one (tbf_segment)"},
	{NULL, "ndisc_error_report arp_error_report", STAGE_NEIGH, LOSS,
	 "the neighbour did not answer (neigh_invalidate)"},
	{"NETFILTER_DROP", NULL, STAGE_NETFILTER, LOSS, "a rule dropped it (nf_hook_slow)"},
	{"TCP_OLD_DATA TCP_OFOMERGE TCP_OLD_SEQUENCE TCP_OLD_ACK TCP_OFO_DROP", NULL,
	 STAGE_TCP_STATE, EXPECTED, "already received by TCP"},
	{"TCP_LISTEN_OVERFLOW", NULL, STAGE_TCP_LISTEN, LOSS,
	 "the accept queue was full when the handshake ended (tcp_v4_syn_recv_sock)"},
	{"SOCKET_BACKLOG", NULL, STAGE_TCP_BACKLOG, LOSS,
	 "the socket was locked and its backlog full (tcp_add_backlog)"},
	{NULL, "tcp_add_backlog", STAGE_TCP_BACKLOG, LOSS,
	 "refused while the socket was locked (tcp_add_backlog)"},
	{"TCP_ZEROWINDOW TCP_OVERWINDOW", NULL, STAGE_TCP_RCVBUF, LOSS,
	 "no room in the receive buffer (tcp_data_queue)"},
	{"TCP_OFO_QUEUE_PRUNE", NULL, STAGE_TCP_RCVBUF, LOSS,
	 "pruned after a hole: the receive buffer was full (tcp_prune_ofo_queue)"},
	{"PROTO_MEM SOCKET_RCVBUFF", TCP_ANY, STAGE_TCP_RCVBUF, LOSS,
	 "no memory for the receive queue (tcp_try_rmem_schedule)"},
	{"NO_SOCKET", TCP_ANY, STAGE_TCP_STATE, LOSS,
	 "no connection or listener matches the addresses (tcp_v4_rcv)"},
	{TCP_OF_STATE, NULL, STAGE_TCP_STATE, LOSS,
	 "invalid in the state of the connection (tcp_validate_incoming, tcp_rcv_state_process)"},
	{"PSP_INPUT", NULL, STAGE_TCP, LOSS, "not protected with the PSP key of the connection"},
	{NULL, TCP_ANY, STAGE_TCP, LOSS, "dropped by TCP"},
	{NULL, "icmpv6_param_prob*", STAGE_IP_HEADER, LOSS,
	 "unknown or malformed IPv6 option or header (icmpv6_param_prob)"},
	{NULL, "icmp_* __icmp_* icmpv6_* icmp6_* ping_* ndisc_* igmp_* igmp6_* mld_*", STAGE_ICMP,
	 LOSS, "dropped by ICMP, IGMP or neighbour discovery"},
	{NULL, "arp_rcv arp_process", STAGE_OTHER, EXPECTED, "an ARP packet"},

	/* 2. Reasons that depend on the location. */
	{"PKT_TOO_SMALL", UDP_RCV " " UDP_QUEUE, STAGE_UDP_HEADER, LOSS,
	 "shorter than the length in its UDP header (__udp4_lib_rcv, __udp6_lib_rcv)"},
	{"UDP_CSUM", UDP_READ, STAGE_SOCKET_READ, LOSS,
	 "wrong UDP checksum, verified during recv() (udp_recvmsg, __first_packet_length)"},
	{"IP_INHDR", "ip_forward ip6_forward ip_forward_finish", STAGE_IP_FORWARD, LOSS,
	 "TTL or hop limit expired (ip_forward, ip6_forward)"},
	{"UNHANDLED_PROTO", "ip6_parse_tlv ip6_tlvopt_unknown ipv6_parse_hopopts ipv6_destopt_rcv",
	 STAGE_IP_HEADER, LOSS, "unknown IPv6 option (ip6_tlvopt_unknown)"},
	{"UNHANDLED_PROTO", IP_RCV, STAGE_IP_HEADER, LOSS, "wrong IP version (ip6_rcv_core)"},
	{"INVALID_PROTO", "ip_rcv_finish* ip_route_* ip_mkroute_*", STAGE_IP_ROUTE, LOSS,
	 "protocol and address type do not match (ip_route_input_slow)"},
	{"INVALID_PROTO", UDP_RCV, STAGE_UDP_HEADER, LOSS,
	 "protocol does not match (__udp4_lib_rcv)"},
	{"DEV_READY", BACKLOG, STAGE_BACKLOG, LOSS,
	 "the interface went down (enqueue_to_backlog, flush_backlog)"},
	{"DEV_READY", IP_RCV, STAGE_IP_HEADER, LOSS,
	 "the interface is being removed (ip_rcv_core)"},
	{"IP_NOPROTO", TUNNELS, STAGE_TUNNEL, LOSS, "no tunnel matches (tunnel4_rcv)"},
	{"PKT_TOO_BIG PKT_TOO_SMALL NOMEM HDR_TRUNC DEV_READY DEV_HDR IP_INHDR UNHANDLED_PROTO "
	 "NO_TX_TARGET IP_NOPROTO",
	 TUNNELS, STAGE_TUNNEL, LOSS, "dropped by a tunnel"},
	{"NOMEM NO_TX_TARGET PKT_TOO_BIG DEV_READY", BRIDGE, STAGE_L2, LOSS,
	 "no bridge port accepted the packet (br_flood, br_forward)"},
	{"NOMEM PKT_TOO_SMALL PKT_TOO_BIG HDR_TRUNC IP_INHDR QUEUE_PURGE", FRAGMENTS, STAGE_IP_FRAG,
	 LOSS, "the fragment could not be queued (ip_frag_queue, ip6_frag_queue)"},
	{"NOMEM HDR_TRUNC DEV_READY PKT_TOO_BIG PKT_TOO_SMALL DEV_HDR SKB_UCOPY_FAULT FULL_RING",
	 TAP, STAGE_TX_DEVICE, LOSS, "the tun or tap interface refused it (tun_net_xmit)"},
	{"NOMEM PKT_TOO_BIG", "ip_forward ip6_forward ip_forward_finish ip6_forward_finish",
	 STAGE_IP_FORWARD, LOSS, "above the egress MTU, or no memory (ip_forward)"},
	{"PKT_TOO_BIG NOMEM HDR_TRUNC IP_INHDR", TX_IP, STAGE_TX_SOCKET, LOSS,
	 "above the MTU and must not be fragmented (ip_do_fragment, ip6_fragment)"},
	{"NOMEM HDR_TRUNC PKT_TOO_SMALL", IP_RCV, STAGE_IP_HEADER, LOSS,
	 "shorter than the length in its IP header, or no memory (ip_rcv_core, ip6_rcv_core)"},
	{"NOMEM HDR_TRUNC", UDP_RCV " " UDP_QUEUE, STAGE_UDP_HEADER, LOSS,
	 "the UDP header could not be read (__udp4_lib_rcv)"},
	{"NOMEM", BACKLOG " __netif_receive_skb* netif_receive_skb*", STAGE_L2, LOSS,
	 "no memory (__netif_receive_skb_core)"},
	{"NOMEM", "veth_xdp_rcv_skb veth_convert_skb_to_xdp_buff " GENERIC_XDP, STAGE_XDP, LOSS,
	 "no memory to convert the packet for XDP (veth_xdp_rcv_skb)"},
	{"QUEUE_PURGE", NEIGH, STAGE_NEIGH, LOSS,
	 "the neighbour entry was deleted (neigh_destroy)"},
	{"QUEUE_PURGE", TAP, STAGE_TX_DEVICE, LOSS, "unread in the tun queue (tun_queue_purge)"},
	{"QUEUE_PURGE", QDISC, STAGE_QDISC, LOSS, "the qdisc was reset or replaced (qdisc_reset)"},
	{"QUEUE_PURGE", BACKLOG, STAGE_BACKLOG, LOSS, "the interface went down (flush_backlog)"},
	{"QUEUE_PURGE", XFRM, STAGE_XFRM, LOSS, "no key was negotiated in time (xfrm_policy)"},
	{"QUEUE_PURGE",
	 "udp_destruct_* udp_destroy_sock inet_sock_destruct __sk_destruct sk_destruct "
	 "udpv6_destruct_sock inet6_sock_destruct",
	 STAGE_SOCKET_CLOSE, LOSS, "unread when the socket closed (inet_sock_destruct)"},
	{"QUEUE_PURGE", BRIDGE, STAGE_L2, LOSS, "the bridge was deleted"},
	{"XDP", "veth_*", STAGE_XDP, LOSS, "dropped by XDP (veth_xdp_rcv_skb)"},
	{"TC_COOKIE_ERROR TC_CHAIN_NOTFOUND TC_RECLASSIFY_LOOP",
	 "__dev_queue_xmit* dev_queue_xmit*", STAGE_TC_EGRESS, LOSS,
	 "a tc egress filter failed (tcf_classify)"},
	{"PFMEMALLOC", "__netif_receive_skb*", STAGE_L2, LOSS,
	 "low memory: accepts only packets that help to free memory (__netif_receive_skb_core)"},
	{"RECURSION_LIMIT", "__dev_queue_xmit* dev_queue_xmit* __dev_xmit_skb", STAGE_TX_DEVICE,
	 LOSS, "interfaces are stacked in a loop (__dev_queue_xmit)"},

	/* 3. Reasons. */
	{"NO_SOCKET", NULL, STAGE_UDP_LOOKUP, LOSS,
	 "no socket is bound to the port (__udp4_lib_rcv, __udp6_lib_rcv)"},
	{"SOCKET_RCVBUFF", NULL, STAGE_RCVBUF, LOSS,
	 "the receive buffer of the socket was full (__udp_enqueue_schedule_skb)"},
	{"PROTO_MEM", NULL, STAGE_UDP_MEM, LOSS,
	 "udp_mem or the memory of the cgroup is exhausted (__sk_mem_raise_allocated)"},
	{"UDP_CSUM", NULL, STAGE_UDP_CSUM, LOSS, "wrong UDP checksum (udp_lib_checksum_complete)"},
	{"SOCKET_FILTER", NULL, STAGE_SOCKET_FILTER, LOSS,
	 "the socket's filter or the cgroup's ingress program (sk_filter_trim_cap)"},
	{"SECURITY_HOOK", NULL, STAGE_SOCKET_FILTER, LOSS,
	 "the security module refused it (security_sock_rcv_skb)"},
	{"PFMEMALLOC", NULL, STAGE_SOCKET_FILTER, LOSS,
	 "low memory, and the socket does not help to free memory (sk_filter_trim_cap)"},
	{"SOCKET_CLOSE", NULL, STAGE_SOCKET_CLOSE, LOSS,
	 "the socket closed (tcp_rcv_state_process)"},
	{"BPF_CGROUP_EGRESS", NULL, STAGE_TX_SOCKET, LOSS,
	 "the cgroup's egress program; send() fails with EPERM (ip_finish_output)"},
	{"IP_OUTNOROUTES", NULL, STAGE_TX_ROUTE, LOSS,
	 "no route to the destination (ip6_pkt_drop)"},
	{"NEIGH_CREATEFAIL", NULL, STAGE_NEIGH, LOSS,
	 "the neighbour entry could not be created (ip_finish_output2)"},
	{"NEIGH_FAILED", NULL, STAGE_NEIGH, LOSS,
	 "the neighbour did not answer (neigh_invalidate, __neigh_event_send)"},
	{"NEIGH_QUEUEFULL", NULL, STAGE_NEIGH, LOSS,
	 "too many packets waited for the neighbour (__neigh_event_send)"},
	{"NEIGH_DEAD", NULL, STAGE_NEIGH, LOSS,
	 "the neighbour entry was deleted (__neigh_event_send)"},
	{"NEIGH_HH_FILLFAIL", NULL, STAGE_NEIGH, LOSS,
	 "the link-layer header could not be written (neigh_hh_output)"},
	{"TC_EGRESS", NULL, STAGE_TC_EGRESS, LOSS,
	 "a tc egress program or filter (sch_handle_egress)"},
	{"TC_INGRESS", NULL, STAGE_TC_INGRESS, LOSS,
	 "a tc ingress program or filter (sch_handle_ingress)"},
	{"TC_COOKIE_ERROR TC_CHAIN_NOTFOUND TC_RECLASSIFY_LOOP", NULL, STAGE_TC_INGRESS, LOSS,
	 "a tc filter failed (tcf_classify)"},
	{NULL, "noop_enqueue", STAGE_QDISC, LOSS,
	 "the link was down, or a qdisc replacement was in progress (noop_enqueue)"},
	{"QDISC_DROP QDISC_OVERLIMIT qdisc:GENERIC qdisc:OVERLIMIT", NULL, STAGE_QDISC, LOSS,
	 "the qdisc was full (__dev_xmit_skb)"},
	{"QDISC_CONGESTED qdisc:CONGESTED DUALPI2_STEP_DROP qdisc:L4S_STEP_NON_ECN", NULL,
	 STAGE_QDISC, LOSS, "the qdisc keeps its queue short (AQM)"},
	{"QDISC_BURST_DROP", NULL, STAGE_QDISC, LOSS,
	 "more than net.core.qdisc_max_burst packets were sent at once (__dev_xmit_skb)"},
	{"CAKE_FLOOD FQ_BAND_LIMIT FQ_HORIZON_LIMIT FQ_FLOW_LIMIT qdisc:FLOOD_PROTECTION "
	 "qdisc:BAND_LIMIT qdisc:HORIZON_LIMIT qdisc:FLOW_LIMIT",
	 NULL, STAGE_QDISC, LOSS,
	 "a limit of cake or fq (cake_enqueue, fq_enqueue)"},
	{"qdisc:*", NULL, STAGE_QDISC, LOSS, "a limit of the qdisc (__tcf_kfree_skb_list)"},
	{"CPU_BACKLOG", NULL, STAGE_BACKLOG, LOSS,
	 "netdev_max_backlog or the flow limit (enqueue_to_backlog)"},
	{"MACVLAN_BROADCAST_BACKLOG IPVLAN_MULTICAST_BACKLOG", NULL, STAGE_BACKLOG, LOSS,
	 "the queue for broadcast and multicast copies was full (macvlan_broadcast_enqueue)"},
	{"XDP", NULL, STAGE_XDP, LOSS,
	 "generic XDP could not redirect or send it (do_xdp_generic)"},
	{"OTHERHOST", NULL, STAGE_L2, LOSS,
	 "the MAC address belongs to another host (ip_rcv_core, ip6_rcv_core)"},
	{"UNHANDLED_PROTO PTYPE_ABSENT", NULL, STAGE_L2, LOSS,
	 "no handler for this protocol (__netif_receive_skb_core)"},
	{"MAC_INVALID_SOURCE LOCAL_MAC", NULL, STAGE_L2, LOSS,
	 "invalid source MAC address (vxlan_set_mac, br_handle_frame)"},
	{"MAC_IEEE_MAC_CONTROL BRIDGE_INGRESS_STP_STATE ARP_PVLAN_DISABLE", NULL, STAGE_L2, LOSS,
	 "blocked by the bridge port (br_handle_frame)"},
	{"mac80211*:*", NULL, STAGE_L2, LOSS, "dropped by the wireless stack (ieee80211_rx)"},
	{"openvswitch:*", NULL, STAGE_L2, LOSS, "dropped by Open vSwitch (ovs_kfree_skb_reason)"},
	{"IP_CSUM", NULL, STAGE_IP_HEADER, LOSS, "wrong IP header checksum (ip_rcv_core)"},
	{"IPV6_TOO_MANY_EXTHDRS", NULL, STAGE_IP_HEADER, LOSS,
	 "too many IPv6 extension headers (ip6_protocol_deliver_rcu)"},
	{"IP_INHDR IPV6_BAD_EXTHDR", NULL, STAGE_IP_HEADER, LOSS,
	 "malformed IP header (ip_rcv_core, ip6_rcv_core)"},
	{"PKT_TOO_SMALL", NULL, STAGE_IP_HEADER, LOSS,
	 "shorter than the length in its header (ip_rcv_core, ip6_rcv_core)"},
	{"IPV6DISABLED", NULL, STAGE_IP_HEADER, LOSS,
	 "IPv6 is disabled on the interface (ip6_rcv_core)"},
	{"IP_NOPROTO", NULL, STAGE_IP_HEADER, LOSS,
	 "no handler for this IP protocol (ip_protocol_deliver_rcu)"},
	{"IP_RPFILTER", NULL, STAGE_IP_ROUTE, LOSS,
	 "rp_filter: the route to the source uses another interface (__fib_validate_source)"},
	{"UNICAST_IN_L2_MULTICAST", NULL, STAGE_IP_ROUTE, LOSS,
	 "unicast address in a multicast frame (ip_rcv_finish_core)"},
	{"IP_INADDRERRORS IP_INNOROUTES", NULL, STAGE_IP_ROUTE, LOSS,
	 "not a local address, and not routed (ip_error, ip6_pkt_drop)"},
	{"IP_LOCAL_SOURCE IP_INVALID_SOURCE IP_LOCALNET IP_INVALID_DEST", NULL, STAGE_IP_ROUTE,
	 LOSS, "invalid source or destination address (ip_route_input_slow)"},
	{"XFRM_POLICY", NULL, STAGE_XFRM, LOSS, "IPsec policy (xfrm4_policy_check)"},
	{"PKT_TOO_BIG", NULL, STAGE_IP_FORWARD, LOSS,
	 "above the egress MTU (ip_forward, ip6_forward)"},
	{"DUP_FRAG", NULL, STAGE_IP_FRAG, COPY, "duplicate fragment (ip_frag_queue)"},
	{"FRAG_REASM_TIMEOUT", NULL, STAGE_IP_FRAG, LOSS,
	 "missing fragments at timeout (ip_expire, ip6frag_expire_frag_queue)"},
	{"FRAG_TOO_FAR", NULL, STAGE_IP_FRAG, LOSS, "above ipfrag_max_dist (ip_frag_too_far)"},
	{"VXLAN_INVALID_HDR VXLAN_VNI_NOT_FOUND VXLAN_ENTRY_EXISTS VXLAN_NO_REMOTE NO_TX_TARGET",
	 NULL, STAGE_TUNNEL, LOSS,
	 "VXLAN: no such network, peer or header (vxlan_rcv, vxlan_xmit)"},
	{"IP_TUNNEL_ECN TUNNEL_TXINFO", NULL, STAGE_TUNNEL, LOSS,
	 "ECN or metadata do not match the tunnel (vxlan_rcv, vxlan_xmit)"},
	{"RECURSION_LIMIT", NULL, STAGE_TUNNEL, LOSS, "tunnels nested in a loop (iptunnel_xmit)"},
	{"SKB_CSUM SKB_GSO_SEG SKB_BAD_GSO", NULL, STAGE_GSO, LOSS,
	 "segmentation or checksum failed (validate_xmit_skb, tun_net_xmit)"},
	{"SKB_UCOPY_FAULT DEV_HDR DEV_READY FULL_RING", NULL, STAGE_TX_DEVICE, LOSS,
	 "refused by the interface: full ring, interface down or bad header (tun_net_xmit)"},
	{"TAP_FILTER TAP_TXFILTER", NULL, STAGE_TX_DEVICE, LOSS,
	 "a filter of the tap interface (tun_net_xmit)"},
	{"NOMEM HDR_TRUNC", NULL, STAGE_TX_DEVICE, LOSS,
	 "no memory, or the header could not be read (tun_net_xmit)"},
	{"QUEUE_PURGE", NULL, STAGE_OTHER, LOSS, "a queue was emptied (skb_queue_purge_reason)"},
	{"ICMP_CSUM INVALID_PROTO", NULL, STAGE_ICMP, LOSS, "a bad ICMP message (icmp_rcv)"},
	{"IPV6_NDISC_*", NULL, STAGE_ICMP, LOSS, "a bad neighbour discovery message (ndisc_rcv)"},
	{"TCP_*", NULL, STAGE_TCP, LOSS, "dropped by TCP"},
	{"PSP_OUTPUT", NULL, STAGE_TX_DEVICE, LOSS,
	 "the interface does not have the PSP key of the connection"},
	{"CAN_* CANFD_* CANXL_*", NULL, STAGE_OTHER, LOSS, "a CAN frame"},

	/* 4. Locations, starting with those where kernels that have reasons do not give one. */
	{"NOT_SPECIFIED", "__dev_queue_xmit* dev_queue_xmit*", STAGE_TX_DEVICE, LOSS,
	 "the interface is down, or interfaces are stacked in a loop (__dev_queue_xmit)"},
	{"NOT_SPECIFIED", UDP_RCV, STAGE_UDP_LOOKUP, LOSS,
	 "multicast or broadcast without a listener (__udp4_lib_mcast_deliver)"},
	{NULL, UDP_RCV, STAGE_UDP_LOOKUP, LOSS,
	 "no socket on the port, or a bad header (__udp4_lib_rcv; kernel without reasons)"},
	{NULL,
	 "udp_queue_rcv_skb udpv6_queue_rcv_skb udp_rcv_segment __udp_gso_segment "
	 "skb_segment* __skb_gso_segment skb_gso_segment skb_mac_gso_segment "
	 "ip_finish_output_gso dev_gro_receive napi_gro_receive gro_receive_skb "
	 "napi_gro_frags napi_skb_finish gro_skb_finish napi_gro_complete gro_complete",
	 STAGE_GSO, LOSS, "a merged packet could not be segmented (udp_rcv_segment)"},
	{NULL, UDP_READ, STAGE_SOCKET_READ, LOSS,
	 "read, but not delivered: checksum or a bad buffer (udp_recvmsg)"},
	{NULL,
	 "udp_destruct_* udpv6_destruct_sock udp_destroy_sock udpv6_destroy_sock "
	 "inet_sock_destruct inet6_sock_destruct __sk_destruct sk_destruct",
	 STAGE_SOCKET_CLOSE, LOSS, "unread when the socket closed (udp_destruct_common)"},
	{NULL, UDP_QUEUE, STAGE_RCVBUF, LOSS,
	 "not queued: buffer, filter or checksum (udp_queue_rcv_one_skb; kernel without reasons)"},
	{NULL, "sk_filter_trim_cap", STAGE_SOCKET_FILTER, LOSS, "a filter (sk_filter_trim_cap)"},
	{NULL, FRAGMENTS, STAGE_IP_FRAG, LOSS,
	 "reassembly: memory limit, overlap or timeout (ip_defrag, ipv6_frag_rcv)"},
	{NULL, NETFILTER, STAGE_NETFILTER, LOSS, "a rule dropped it (nf_hook_slow)"},
	{NULL, "ip6_mc_input", STAGE_L2, LOSS,
	 "multicast group without a member on this host (ip6_mc_input)"},
	{NULL, "ip6_pkt_discard_out ip6_pkt_prohibit_out dst_discard_out dst_discard_sk",
	 STAGE_TX_ROUTE, LOSS, "the route is a blackhole or unreachable (ip6_pkt_discard_out)"},
	{NULL,
	 "ip_rcv_finish* ip_list_rcv_finish ip_sublist_rcv_finish ip_error ip_route_* "
	 "ip6_rcv_finish* ip6_list_rcv_finish ip6_sublist_rcv_finish ip6_pkt_* dst_discard ip_mr_* "
	 "ip6_mr_* ipmr_* ip6mr_* ip_mc_validate_source fib_validate_source __fib_validate_source",
	 STAGE_IP_ROUTE, LOSS,
	 "multicast group not joined, or route blackhole, unreachable or prohibit (ip_error)"},
	{NULL, "ip_forward* ip6_forward*", STAGE_IP_FORWARD, LOSS, "not forwarded (ip_forward)"},
	{NULL,
	 IP_RCV " ip_local_deliver* ip_protocol_deliver_rcu ip6_input* ip6_protocol_deliver_rcu "
		"ipv6_rthdr_rcv ipv6_destopt_rcv ip6_parse_tlv ipv6_parse_hopopts ipv6_srh_rcv",
	 STAGE_IP_HEADER, LOSS, "malformed, or no handler for the protocol (ip_rcv_core)"},
	{NULL, XFRM, STAGE_XFRM, LOSS, "IPsec (xfrm_input)"},
	{NULL, TUNNELS, STAGE_TUNNEL, LOSS, "dropped by a tunnel"},
	{NULL, "veth_xdp_rcv* veth_xdp_tx* veth_convert_skb_to_xdp_buff " GENERIC_XDP, STAGE_XDP,
	 LOSS, "XDP dropped it (veth_xdp_rcv_skb, do_xdp_generic)"},
	{NULL, "cpu_map_* dev_map_* bq_* __xdp_build_skb_from_frame", STAGE_XDP, LOSS,
	 "lost during an XDP redirect (cpu_map_kthread_run)"},
	{NULL, "__xsk_generic_xmit xsk_*", STAGE_XSK, LOSS, "AF_XDP transmit (__xsk_generic_xmit)"},
	{NULL, "veth_xmit veth_forward_skb veth_xdp_rx", STAGE_TX_DEVICE, LOSS,
	 "the ring of the veth peer was full (veth_xdp_rx)"},
	{NULL, "__dev_forward_skb* ____dev_forward_skb dev_forward_skb*", STAGE_TX_DEVICE, LOSS,
	 "the peer interface is down or has a smaller MTU (__dev_forward_skb2)"},
	{NULL, BACKLOG, STAGE_BACKLOG, LOSS, "the queue of the CPU was full (enqueue_to_backlog)"},
	{NULL, "tun_queue_purge tun_detach* tun_ptr_free tun_chr_close", STAGE_TX_DEVICE, LOSS,
	 "unread when the tun file was closed (tun_queue_purge)"},
	{NULL, "tun_get_user tap_get_user tun_build_skb", STAGE_TX_DEVICE, LOSS,
	 "write() to the tun device failed (tun_get_user)"},
	{NULL, TAP, STAGE_TX_DEVICE, LOSS,
	 "the tun or tap interface refused it (tun_net_xmit)"},
	{NULL, BRIDGE, STAGE_L2, LOSS,
	 "not forwarded by the bridge: hairpin, isolation, STP or MTU (br_handle_frame_finish)"},
	{NULL, NEIGH, STAGE_NEIGH, LOSS, "the neighbour is not resolved (neigh_resolve_output)"},
	{NULL, XMIT, STAGE_TX_DEVICE, LOSS, "the driver or its checks refused it (ndo_start_xmit)"},
	{NULL, "vlan_* macvlan_* ipvlan_* macsec_* hsr_*", STAGE_L2, LOSS,
	 "not passed by a stacked interface (vlan_do_receive, macvlan_handle_frame)"},
	{NULL, QDISC, STAGE_QDISC, LOSS, "the qdisc was full, reset or replaced (qdisc_reset)"},
	{"", "__dev_queue_xmit* dev_queue_xmit* __dev_xmit_skb kfree_skb_list", STAGE_QDISC, LOSS,
	 "the qdisc was full, or tc egress (__dev_queue_xmit; kernel without reasons)"},
	{NULL, TX_IP, STAGE_TX_SOCKET, LOSS, "not sent: parameters, MTU or memory (ip_send_skb)"},
	{NULL, "__netif_receive_skb* sch_handle_ingress", STAGE_TC_INGRESS, LOSS,
	 "tc ingress, or no protocol handler (__netif_receive_skb_core)"},
	{NULL, "virtnet_* receive_buf receive_mergeable receive_small receive_big", STAGE_NIC_RING,
	 LOSS, "the driver could not build the packet (virtnet_receive)"},
};

const unsigned stagemap_row_count = sizeof(stagemap_rows) / sizeof(stagemap_rows[0]);
