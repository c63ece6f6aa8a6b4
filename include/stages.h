/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stages at which a packet can end, roughly in path order, which is the order of all output. A
 * stage is one row. It has an identifier, the name used in all output, a title for display, and the
 * members of struct stage_facts (drops/stagemap.h) that differ from 0. Sources of the texts: Linux
 * 6.1 to 6.18.
 *
 * To use the rows, define STAGE(id, name, title, ...) and include this file again. It undefines
 * STAGE.
 */
#ifndef PKTLEDGER_STAGES_H
#define PKTLEDGER_STAGES_H

enum direction {
	DIRECTION_RX,
	DIRECTION_TX,
	DIRECTION_FORWARD,
	/* Only in rows. */
	DIRECTION_BY_SENDER, /* DIRECTION_TX if a local socket sent the packet, else forwarded */
	DIRECTION_BY_HOOK,   /* depends on the netfilter hook */
};

/* Phase of a packet's path through one namespace, relative to the probes of --balance. */
enum path_phase {
	PHASE_RECEIVED, /* after netif_receive_skb */
	PHASE_ARRIVING, /* before netif_receive_skb */
	PHASE_SENDING,	/* before net_dev_queue */
	PHASE_QUEUED,	/* after net_dev_queue */
	PHASE_UNKNOWN,
};

/* How a slow process loses packets at the stage. */
enum path_reader {
	READER_NONE,	 /* not at all */
	READER_RECEIVES, /* it reads its socket too slowly */
	READER_ACCEPTS,	 /* it accepts connections too slowly */
};

/* Parts of the path. Each has one colour in pages. */
enum path_part {
	PART_OUTPUT,
	PART_EGRESS,
	PART_WIRE,
	PART_DRIVER,
	PART_NETWORK,
	PART_FILTER,
	PART_SOCKET,
	PART_OTHER,
};

#define STAGE(id, ...) STAGE_##id,
enum stage {
#include "stages.h"
	STAGE_COUNT,
	STAGE_NONE = STAGE_COUNT, /* the event is not the loss of a separate packet */
};

#elif defined(STAGE)

/* clang-format off */
STAGE(TX_SOCKET, "tx_socket", "sending socket (cgroup, parameters)",
	.part = PART_OUTPUT, .direction = DIRECTION_BY_SENDER, .phase = PHASE_SENDING,
	.mechanism = "egress program of the sender's cgroup (ip_finish_output), failed "
		"fragmentation (ip_do_fragment, ip6_fragment)",
	.hook = "kfree_skb: BPF_CGROUP_EGRESS",
	.limit = "a send() that fails before a packet exists counts as `refused`",
	.what = "The sending socket made a packet, but the packet did not reach output routing. "
		"Cgroup egress programs and the checks for segmentation and fragmentation run "
		"here. A cgroup program makes send() return EPERM.",
	.causes = "A BPF program at cgroup egress dropped the packet. The GSO segment size does "
		"not fit the path. The datagram is too large and must not be fragmented.",
	.remedy = "List the programs with `bpftool cgroup tree`. Otherwise send smaller "
		"datagrams, or send without GSO.")
STAGE(TX_ROUTE, "tx_route", "no route out",
	.part = PART_OUTPUT, .direction = DIRECTION_TX, .phase = PHASE_SENDING,
	.mechanism = "discarding route, for example while IPsec has no key (dst_discard_out, "
		"ip6_pkt_discard_out)",
	.hook = "kfree_skb in dst_discard_out; IP_OUTNOROUTES",
	.limit = "without IPsec, send() on a UDP socket fails before a packet exists "
		"(ENETUNREACH, EINVAL: refused); IP_OUTNOROUTES occurs for TCP and tunnels",
	.what = "Output routing discarded the packet. If no route exists, send() on a UDP socket "
		"fails before there is a packet, which counts as `refused` and not as a loss. If "
		"an IPsec policy matches and has no key yet, send() succeeds and the route "
		"discards the packet.",
	.causes = "An IPsec policy has no state. The route was removed with its interface. For "
		"TCP and tunnels: no route exists, or its type is blackhole, unreachable or "
		"prohibit.",
	.remedy = "Run `ip route get ADDRESS` in the sender's namespace to see the routing "
		"decision. Check `ip xfrm policy` and XfrmOutNoStates in /proc/net/xfrm_stat.")
STAGE(NEIGH, "neigh", "neighbour not resolved",
	.part = PART_OUTPUT, .direction = DIRECTION_BY_SENDER, .phase = PHASE_SENDING,
	.mechanism = "neighbour that does not answer, or its full queue (neigh_invalidate, "
		"__neigh_event_send)",
	.hook = "kfree_skb: NEIGH_*",
	.limit = "up to 3 s after send() returned",
	.uncounted = "no counter records a neighbour that never answers, only its full queue",
	.what = "The packet waits until the MAC address of its next hop is resolved. The loss "
		"happens up to three seconds after a successful send(), and no IP counter records "
		"it.",
	.causes = "The next hop does not answer ARP or neighbour solicitations: it is down, or no "
		"host has the address. More packets arrived than may wait for the entry "
		"(unres_qlen_bytes), for example at the start of a flow.",
	.remedy = "Look for FAILED or INCOMPLETE entries in `ip neigh`. To keep the first packets "
		"of a flow, resolve the neighbour first, or add a static entry.")
STAGE(TC_EGRESS, "tc_egress", "tc egress program or filter",
	.part = PART_EGRESS, .direction = DIRECTION_BY_SENDER, .phase = PHASE_SENDING,
	.mechanism = "verdict of a tc or tcx program at egress (sch_handle_egress)",
	.hook = "kfree_skb: TC_EGRESS; consume_skb in __dev_queue_xmit: stolen",
	.limit = "stolen packets are seen from Linux 6.3 on; trace needs --consumed for them",
	.what = "Traffic control filters and BPF programs at the egress of an interface (clsact, "
		"tcx), and the egress hook of nftables. send() succeeds.",
	.causes = "A filter with the action drop, a policer, or a BPF program that returns "
		"TC_ACT_SHOT. If a program steals a packet and does not pass it on, the kernel "
		"reports no drop. `trace --consumed` shows such packets.",
	.remedy = "List filters, programs and their counters with `tc -s filter show dev IFNAME "
		"egress` and `bpftool net`.")
STAGE(QDISC, "qdisc", "queueing discipline",
	.part = PART_EGRESS, .direction = DIRECTION_BY_SENDER, .phase = PHASE_QUEUED,
	.mechanism = "limit of a qdisc, AQM, replaced or reset qdisc",
	.hook = "kfree_skb: QDISC_*, FQ_*, CAKE_*",
	.limit = "the kernel's counter counts a GSO packet as a single packet",
	.uncounted = "the drops exclude packets freed by a reset of the qdisc or sent during the "
		"reset",
	.what = "The queueing discipline of the interface. send() succeeds unless the socket has "
		"IP_RECVERR, in which case it fails with ENOBUFS.",
	.causes = "Packets are sent faster than the interface or the shaper transmits them, for "
		"longer than the queue can absorb. Active queue management drops early. A qdisc "
		"was replaced while it held packets.",
	.remedy = "Read `tc -s qdisc show dev IFNAME`. Lower the sending rate. A longer queue "
		"(limit) helps against bursts only, and adds latency.")
STAGE(TX_DEVICE, "tx_device", "transmit side of the device",
	.part = PART_EGRESS, .direction = DIRECTION_BY_SENDER,
	.mechanism = "full ring of the next interface, or a driver that refuses (ndo_start_xmit, "
		"ndo_xdp_xmit)",
	.hook = "kfree_skb in the driver; xdp_devmap_xmit for live frames",
	.limit = "some drivers free a lost packet as consumed; trace --consumed covers the common "
		"drivers",
	.what = "The driver's transmit side: the transmit ring, or the other end of a virtual "
		"link. For veth, the ring belongs to the receiving end, in its namespace.",
	.causes = "The ring is full while no qdisc holds packets back, because the program or CPU "
		"that empties the ring of a veth, tun or tap is too slow. The other end is down, "
		"has a smaller MTU, or is a tap that no program reads.",
	.remedy = "Read `ip -s -s link show dev IFNAME` for both ends. Give the interface a "
		"qdisc, give the receiving process more CPU time, or lower the sending rate.")
STAGE(WIRE, "wire", "between the hosts",
	.part = PART_WIRE,
	.mechanism = "cables and switches between two hosts",
	.hook = "none",
	.limit = "needs both ends: packets seen at one probe and not at the next; no fault: a "
		"test network has no wire",
	.uncounted = "the difference of two probes, which no counter records",
	.what = "Packets left a host and did not reach the next host. Such a loss is always the "
		"difference of two probes, never a residual.",
	.causes = "A switch with a full queue, a policer, a damaged cable or transceiver, a "
		"congested link, or a loss at the receiver's port before its first counter.",
	.remedy = "Read the counters of the switches on the path. `ethtool -S IFNAME` on both "
		"hosts shows CRC errors and pause frames.")
STAGE(HW, "hw", "hardware that names its drops (devlink)",
	.part = PART_WIRE, .phase = PHASE_ARRIVING,
	.mechanism = "a switch chip or a NIC that forwards by itself",
	.hook = "none",
	.limit = "from the counters of devlink traps, which cover a whole device; no fault: a fault "
		"would need such hardware",
	.uncounted = "only devlink traps count it",
	.what = "The hardware dropped a packet that never reached the kernel, and its driver "
		"names the reason (devlink trap).",
	.causes = "The reason is the name of the trap: blackhole_route, ingress_vlan_filter, "
		"tail_drop, ttl_value_is_too_small and many more.",
	.remedy = "Read `devlink -s trap show`. The kernel's documentation (devlink-trap) "
		"explains each name.")
STAGE(NIC_RING, "nic_ring", "receive ring of the NIC",
	.part = PART_WIRE, .phase = PHASE_ARRIVING,
	.mechanism = "no descriptor, no buffer or no room in the NIC",
	.hook = "none",
	.limit = "from the driver's counter, which covers a whole interface: run -i uses the "
		"counter if no other traffic arrived, and cannot say which numbers were lost; "
		"between two hosts the loss counts as wire; no fault: a fault would need a NIC "
		"with a ring",
	.what = "The NIC received a packet and had no free receive descriptor. The packet never "
		"reaches the kernel, so only counters of the NIC record the loss.",
	.causes = "The CPU that empties the ring is overloaded or sleeps too deeply. A burst is "
		"longer than the ring. Memory for new buffers is missing.",
	.remedy = "Find the cause with `pktledger check -i IFNAME`. Against bursts, enlarge the "
		"ring (`ethtool -G`). Otherwise use more queues, or dedicate a CPU to receive "
		"processing.")
STAGE(XDP, "xdp", "XDP program or redirect",
	.part = PART_DRIVER,
	.mechanism = "verdict of an XDP program; failed redirect to an interface, CPU or socket",
	.hook = "kfree_skb in veth_xdp_rcv_skb and do_xdp_generic; xdp_redirect_err, "
		"xdp_devmap_xmit, xdp_cpumap_enqueue",
	.limit = "drops by a native program of another tool appear only in an interface counter, "
		"unless its frames are skbs; the number of a packet lost in a redirect is "
		"available only if a pktledger program ran just before",
	.uncounted = "generic XDP has no drop counter",
	.what = "An XDP program, the first hook of an interface. Drops in the driver cause no "
		"event. Only the driver's counters show them.",
	.causes = "The program drops on purpose (XDP_DROP), fails (XDP_ABORTED), or a redirect "
		"fails: the target's ring is full, the target interface is down or has no XDP, or "
		"the map has no entry.",
	.remedy = "Find the program with `bpftool net show dev IFNAME`. For a redirect, check the "
		"target: the target interface needs XDP and a receiver that keeps up.")
STAGE(XSK, "xsk", "AF_XDP socket rings",
	.part = PART_DRIVER,
	.mechanism = "AF_XDP socket: full RX ring, empty fill ring, oversized frame (__xsk_rcv, "
		"xskq_prod_reserve_desc)",
	.hook = "xdp_redirect_err: ENOBUFS, ENOMEM, ENOSPC",
	.limit = "with zero copy, an empty fill ring loses packets in the NIC: nic_ring",
	.what = "The rings of an AF_XDP socket.",
	.causes = "The application does not take descriptors from its RX ring in time (ENOBUFS), "
		"or does not refill the fill ring (ENOMEM).",
	.remedy = "Dedicate a thread to the rings, enlarge the rings, or use busy polling.")
STAGE(GSO, "gso", "segmentation",
	.part = PART_DRIVER,
	.mechanism = "failed segmentation of a merged packet, failed checksum (udp_rcv_segment, "
		"validate_xmit_skb)",
	.hook = "kfree_skb: SKB_GSO_SEG, SKB_CSUM; NOT_SPECIFIED in udp_queue_rcv_skb",
	.limit = "the kernel's counter counts datagrams, not merged packets",
	.what = "A packet that GRO or the sender merged has to be segmented again, and the "
		"segmentation fails. All of its segments are lost.",
	.causes = "A driver or a sender set wrong sizes or checksums. A socket without UDP_GRO "
		"received a merged packet that cannot be segmented.",
	.remedy = "Switch GRO or GSO off on the path (`ethtool -K IFNAME gro off`) and check "
		"whether the loss ends.")
STAGE(BACKLOG, "backlog", "per-CPU backlog queue",
	.part = PART_DRIVER, .phase = PHASE_ARRIVING,
	.mechanism = "netdev_max_backlog, flow limit, interface going down (enqueue_to_backlog, "
		"flush_backlog)",
	.hook = "kfree_skb: CPU_BACKLOG, DEV_READY",
	.limit = "queue limit and flow limit have the same reason; only a counter distinguishes "
		"them",
	.what = "The queue of packets that a CPU received from another CPU (RPS, virtual "
		"interfaces) or from itself (loopback, veth).",
	.causes = "The CPU is too slow and net.core.netdev_max_backlog packets wait. One flow "
		"exceeds its flow limit. The interface went down while packets were queued.",
	.remedy = "Reduce the work per packet on that CPU, or add CPUs to rps_cpus. A longer "
		"backlog helps against bursts, but adds latency on the whole host.")
STAGE(TC_INGRESS, "tc_ingress", "tc ingress program or filter",
	.part = PART_FILTER,
	.mechanism = "verdict of a tc or tcx program at ingress (sch_handle_ingress)",
	.hook = "kfree_skb: TC_INGRESS; consume_skb in __netif_receive_skb_core: stolen",
	.limit = "stolen packets are seen from Linux 6.3 on; trace needs --consumed for them",
	.uncounted = "only the statistics of the filter count it",
	.what = "Traffic control filters and BPF programs at the ingress of an interface (clsact, "
		"tcx), before the IP stack.",
	.causes = "A filter with the action drop, a policer, or a BPF program that returns "
		"TC_ACT_SHOT. `trace --consumed` shows packets that a program steals.",
	.remedy = "List filters, programs and their counters with `tc -s filter show dev IFNAME "
		"ingress` and `bpftool net`.")
STAGE(L2, "l2", "link layer (address, bridge)",
	.part = PART_NETWORK,
	.mechanism = "MAC address of another host, unhandled protocol, bridge port (ip_rcv_core, "
		"__netif_receive_skb_core, br_handle_frame)",
	.hook = "kfree_skb: OTHERHOST, UNHANDLED_PROTO, BRIDGE_INGRESS_STP_STATE",
	.limit = "a bridge that floods to the wrong ports causes no event: in a test network the "
		"difference between the probes at its ports shows the loss",
	.uncounted = "a bridge does not count drops",
	.what = "The link layer: addresses, VLANs and bridges.",
	.causes = "The frame is addressed to another MAC address (a flooding switch, a stale "
		"neighbour entry), has a VLAN tag without a VLAN interface, or carries a protocol "
		"that no handler accepts. A bridge port is blocked or isolated.",
	.remedy = "Compare `ip neigh` on the sender with `ip link` on the receiver. `bridge link` "
		"and `bridge vlan` show the ports.")
STAGE(IP_HEADER, "ip_header", "IP header check",
	.part = PART_NETWORK,
	.mechanism = "checksum, length, version, disabled IPv6 (ip_rcv_core, ip6_rcv_core)",
	.hook = "kfree_skb: IP_CSUM, IP_INHDR, PKT_TOO_SMALL, IPV6DISABLED",
	.limit = "a packet with a wrong version or header length cannot be parsed",
	.what = "The checks of the IP header on arrival: version, lengths, checksum, options and "
		"extension headers.",
	.causes = "A sender or middlebox writes wrong headers. Data was damaged after the last "
		"link with a checksum. IPv6 is disabled on the interface.",
	.remedy = "Capture some packets (`pktledger trace -w FILE --stage ip_header`), look at "
		"the header, and find the sender that wrote it.")
STAGE(NETFILTER, "netfilter", "netfilter rule",
	.part = PART_FILTER, .direction = DIRECTION_BY_HOOK,
	.mechanism = "verdict of a rule, at any hook (nft_do_chain, nf_hook_slow)",
	.hook = "kfree_skb: NETFILTER_DROP",
	.limit = "the hook is derived from interface, socket and route",
	.uncounted = "except at the sender, only the counter of the rule records it",
	.what = "A rule of nftables or iptables, at any hook. At the output and postrouting "
		"hooks, send() fails with EPERM.",
	.causes = "A rule or the policy of a chain drops. The conntrack table is full. The queue "
		"to a program (NFQUEUE) is full.",
	.remedy = "Read `nft list ruleset`. If rules have counters, `trace` names the rules whose "
		"counters increased with the loss.")
STAGE(IP_ROUTE, "ip_route", "routing of the arriving packet",
	.part = PART_NETWORK,
	.mechanism = "rp_filter, martians, blackhole, foreign address (ip_rcv_finish_core, "
		"ip_error, ip6_pkt_discard)",
	.hook = "kfree_skb: IP_RPFILTER, IP_LOCAL_SOURCE, IP_INADDRERRORS, IP_INNOROUTES; "
		"NOT_SPECIFIED by function",
	.uncounted = "martians, blackholes and groups not joined are not counted",
	.what = "Routing of an arriving packet. Several of these drops increase no counter.",
	.causes = "Reverse path filtering with asymmetric routes (rp_filter 1). The address is "
		"not local and forwarding is off. The source is a martian address. No socket "
		"joined the multicast group. The route has the type blackhole, unreachable or "
		"prohibit.",
	.remedy = "Run `ip route get ADDRESS from SOURCE iif IFNAME` to see the decision. Hosts "
		"with several uplinks usually need rp_filter 2 (loose).")
STAGE(IP_FRAG, "ip_frag", "IP reassembly",
	.part = PART_NETWORK,
	.mechanism = "missing or overlapping fragments, no memory for fragments (ip_expire, "
		"inet_frag_queue_insert, ip_defrag)",
	.hook = "kfree_skb: FRAG_REASM_TIMEOUT, DUP_FRAG; NOT_SPECIFIED by function",
	.limit = "30 s late (60 s for IPv6) unless a test network shortens the time; a fragment "
		"whose first fragment was not seen cannot be assigned to a datagram",
	.what = "Fragments wait until their datagram is complete. A lost fragment loses the whole "
		"datagram.",
	.causes = "A fragment did not arrive within ipfrag_time. The memory for fragments is full "
		"(ipfrag_high_thresh). Fragments overlap or arrive twice.",
	.remedy = "Send datagrams that fit the MTU. If fragments are necessary, find the loss of "
		"the missing fragment first, then allow more memory.")
STAGE(IP_FORWARD, "ip_forward", "forwarding (TTL, MTU)",
	.part = PART_NETWORK, .direction = DIRECTION_FORWARD,
	.mechanism = "TTL, or the egress MTU (ip_forward, ip6_forward)",
	.hook = "kfree_skb: IP_INHDR, PKT_TOO_BIG",
	.what = "This host is a router and did not forward the packet.",
	.causes = "The TTL expired (a routing loop, or TTL 1 as in multicast). The MTU of the "
		"egress link is smaller and the packet must not be fragmented. Forwarding is off.",
	.remedy = "Run `ip route get` on each router to find loops. For the MTU, let ICMP "
		"messages through, or send smaller packets.")
STAGE(TUNNEL, "tunnel", "tunnel",
	.part = PART_NETWORK,
	.mechanism = "decapsulation: header, network identifier, ECN (vxlan_rcv and others)",
	.hook = "kfree_skb: VXLAN_*, IP_TUNNEL_ECN, TUNNEL_TXINFO",
	.limit = "packets inside a tunnel are followed only in VXLAN over IPv4 of a test network, "
		"and not if they are fragmented",
	.uncounted = "Udp:InDatagrams counts the packet as delivered (to the tunnel)",
	.what = "The endpoint of a tunnel (VXLAN, Geneve, GRE, IPIP) dropped the packet during "
		"encapsulation or decapsulation. `Udp:InDatagrams` already counted the packet.",
	.causes = "The network identifier (VNI) does not exist here. The ECN bits of the two "
		"headers contradict each other. A header is truncated. Nested tunnels form a loop.",
	.remedy = "Compare `ip -d link show` on both ends.")
STAGE(XFRM, "xfrm", "IPsec policy",
	.part = PART_NETWORK, .phase = PHASE_SENDING,
	.mechanism = "IPsec policy or state (__xfrm_policy_check, xfrm_input)",
	.hook = "kfree_skb: XFRM_POLICY; xfrm_input by function",
	.limit = "no fault for states: they need keys",
	.what = "IPsec: a policy, or the state that the policy requires.",
	.causes = "A policy blocks the packet. A policy requires protection and the packet "
		"arrived unencrypted. No state matches, or the state expired.",
	.remedy = "Read `ip xfrm policy`, `ip xfrm state` and /proc/net/xfrm_stat.")
STAGE(UDP_LOOKUP, "udp_lookup", "no socket on the port",
	.part = PART_SOCKET,
	.mechanism = "no socket on the port, no listener of the group (__udp4_lib_rcv)",
	.hook = "kfree_skb: NO_SOCKET; NOT_SPECIFIED in __udp4_lib_rcv",
	.what = "The datagram arrived at a port on which no socket is open. The kernel sends the "
		"sender a rate-limited ICMP message. A connected sending socket gets ECONNREFUSED.",
	.causes = "The receiver is not running, has not started yet, or listens on another port, "
		"address, address family or namespace. No socket joined the multicast group.",
	.remedy = "Run `ss -ulpn sport = :PORT` in the receiver's namespace.")
STAGE(UDP_HEADER, "udp_header", "UDP header check",
	.part = PART_SOCKET,
	.mechanism = "contradicting UDP and IP lengths (__udp4_lib_rcv)",
	.hook = "kfree_skb: PKT_TOO_SMALL",
	.what = "The length in the UDP header contradicts the length of the packet.",
	.causes = "A sender or middlebox writes wrong headers.",
	.remedy = "Capture some packets (`pktledger trace -w FILE --stage udp_header`) and find "
		"the sender.")
STAGE(UDP_CSUM, "udp_csum", "UDP checksum",
	.part = PART_SOCKET,
	.mechanism = "checksum, verified before queueing (udp_queue_rcv_one_skb)",
	.hook = "kfree_skb: UDP_CSUM",
	.what = "The UDP checksum is wrong. It was verified before the packet reached the "
		"socket's queue. The checksum of a longer datagram is verified when the datagram "
		"is read: `socket_read`.",
	.causes = "A checksum was left to an offload that never ran, for example because XDP "
		"redirected a packet of a local sender. Data was damaged after the last link with "
		"a checksum. A middlebox rewrote addresses and did not update the checksum.",
	.remedy = "Run `ethtool -K IFNAME tx off` at the sender to see whether the offload is the "
		"cause.")
STAGE(SOCKET_FILTER, "socket_filter", "filter on the socket",
	.part = PART_SOCKET,
	.mechanism = "filter of the socket, ingress program of its cgroup (sk_filter_trim_cap)",
	.hook = "kfree_skb: SOCKET_FILTER, SECURITY_HOOK",
	.limit = "a filter that truncates a packet drops nothing",
	.what = "A filter on the receiving socket (SO_ATTACH_FILTER, SO_ATTACH_BPF), a program of "
		"its cgroup, or a security module.",
	.causes = "The drop is usually intended.",
	.remedy = "List socket filters with `ss -uamb`, and cgroup programs with `bpftool cgroup "
		"tree`.")
STAGE(UDP_MEM, "udp_mem", "memory for all UDP sockets",
	.part = PART_SOCKET,
	.mechanism = "udp_mem, or the memory of the cgroup (__sk_mem_raise_allocated)",
	.hook = "kfree_skb: PROTO_MEM",
	.limit = "from Linux 6.18 on, no SNMP counter records the drop",
	.what = "The total memory of all UDP sockets on the host, or the memory of the cgroup. "
		"From Linux 6.18 on, only the counter of the socket records the drop.",
	.causes = "The queues of slow receivers together reach the first number of "
		"net.ipv4.udp_mem (in pages; the others have no effect on UDP). From that point on "
		"every socket loses packets, even a socket with free buffer space.",
	.remedy = "Run `ss -uam`, find the sockets with long queues, and speed up their "
		"receivers. Otherwise raise net.ipv4.udp_mem.")
STAGE(RCVBUF, "rcvbuf", "receive buffer of the socket",
	.part = PART_SOCKET, .reader = READER_RECEIVES,
	.mechanism = "receive buffer of the socket (__udp_enqueue_schedule_skb)",
	.hook = "kfree_skb: SOCKET_RCVBUFF",
	.what = "The receive buffer of the socket was full. The kernel counts memory, not "
		"payload: a small packet can take as much memory as a large packet.",
	.causes = "The application reads more slowly than packets arrive: it is busy, asleep, "
		"stopped, waits for a CPU, or is throttled by its CPU quota. Or bursts exceed the "
		"buffer.",
	.remedy = "Run `pktledger trace`, which samples the receiver while packets are lost. A "
		"larger SO_RCVBUF (at most net.core.rmem_max) helps against bursts only. "
		"Otherwise reduce the work per packet, use recvmmsg(), dedicate a thread to "
		"reading, or use several receivers (SO_REUSEPORT).")
STAGE(SOCKET_READ, "socket_read", "read from the queue, not delivered",
	.part = PART_SOCKET,
	.mechanism = "read, but not delivered: checksum, bad buffer (udp_recvmsg)",
	.hook = "kfree_skb: UDP_CSUM; NOT_SPECIFIED in udp_recvmsg",
	.what = "The packet was in the socket's queue, and recv() or poll() discarded the packet "
		"instead of delivering it.",
	.causes = "The checksum is wrong: for 69 bytes of payload and more it is verified only "
		"here. Or the buffer passed to recv() was not writable (EFAULT).",
	.remedy = "For a checksum, see `udp_csum`. EFAULT is a bug in the application.")
STAGE(SOCKET_CLOSE, "socket_close", "unread when the socket closed",
	.part = PART_SOCKET,
	.mechanism = "unread when the socket closes (udp_destruct_common)",
	.hook = "the socket's queue just before; kfree_skb in udp_destruct_common",
	.limit = "trace misses the drop if tracing is suppressed (RCU callback)",
	.uncounted = "no counter records packets that were unread at close",
	.what = "The socket was closed with packets in its queue. No kernel counter records the "
		"loss.",
	.causes = "A program exits or reopens its socket while packets arrive.",
	.remedy = "Read until the queue is empty before close(). Keep the socket open across a "
		"restart (socket activation).")
STAGE(OTHER, "other", "a place that the map does not know",
	.part = PART_OTHER, .phase = PHASE_UNKNOWN,
	.mechanism = "a function without an entry in the map",
	.hook = "kfree_skb, shown verbatim",
	.uncounted = "no counter is assigned to a function that is not in the map",
	.what = "The kernel dropped a packet in a function that this version cannot assign to a "
		"stage. Reason and function are shown.",
	.causes = "A newer kernel, a driver, or an out-of-tree module.",
	.remedy = "Report the reason, the function and the kernel version.")
STAGE(TCP_LISTEN, "tcp_listen", "listening TCP socket (its queues)",
	.part = PART_SOCKET, .reader = READER_ACCEPTS,
	.mechanism = "full accept queue of a listener (tcp_conn_request, tcp_v4_syn_recv_sock)",
	.hook = "sk_drops of the listener; kfree_skb: TCP_LISTEN_OVERFLOW",
	.limit = "a dropped SYN leaves no event",
	.what = "A client opened a connection and the listening socket did not accept it: the "
		"accept queue is full, or memory is missing. The client retransmits its SYN, "
		"first after one second. Shown by `trace`, `top` and `export` only.",
	.causes = "The application does not call accept() often enough, or the queue is short: "
		"the argument of listen(), at most net.core.somaxconn.",
	.remedy = "Run `ss -ltn`: Recv-Q is the length of the queue, Send-Q its limit. Call "
		"accept() more often or in more threads. A larger argument of listen() and a "
		"larger net.core.somaxconn help against bursts. `nstat -az` shows ListenDrops.")
STAGE(TCP_BACKLOG, "tcp_backlog", "backlog of a TCP socket at work",
	.part = PART_SOCKET, .reader = READER_RECEIVES,
	.mechanism = "full backlog of a socket locked by a process (tcp_add_backlog)",
	.hook = "kfree_skb: SOCKET_BACKLOG",
	.limit = "in trace only",
	.what = "While a process holds the lock of the socket, segments wait in its backlog. The "
		"backlog was full. TCP retransmits the segments. Shown by `trace`, `top` and "
		"`export` only.",
	.causes = "Long system calls on the socket (large reads) at a high rate. Small receive "
		"and send buffers, whose sum is the limit.",
	.remedy = "Raise net.ipv4.tcp_rmem, or SO_RCVBUF if the application sets it. GRO makes "
		"fewer and larger packets. `nstat -az` shows TCPBacklogDrop.")
STAGE(TCP_STATE, "tcp_state", "state of the TCP connection",
	.part = PART_SOCKET,
	.mechanism = "state of the connection (tcp_validate_incoming, tcp_rcv_state_process)",
	.hook = "kfree_skb: TCP_RESET, TCP_CLOSE, TCP_RFC7323_*, TCP_INVALID_*, NO_SOCKET",
	.limit = "in trace only",
	.what = "The segment did not fit the state of the connection: closed, reset, outside of "
		"the window, timestamp too old, or no such connection. Data that was already "
		"received is expected. Shown by `trace`, `top` and `export` only.",
	.causes = "A port without a listener. A connection that one end closed. A middlebox that "
		"lost its state. A host behind NAT whose timestamps go backwards (PAWS).",
	.remedy = "List connections with `ss -tan`. Such drops are normal at the end of a "
		"connection. `nstat -az 'TcpExt*'` counts the reasons.")
STAGE(TCP_RCVBUF, "tcp_rcvbuf", "receive buffer of the TCP socket",
	.part = PART_SOCKET, .reader = READER_RECEIVES,
	.mechanism = "full receive buffer of a connection (tcp_data_queue, tcp_prune_ofo_queue)",
	.hook = "kfree_skb: TCP_ZEROWINDOW, TCP_OVERWINDOW, TCP_OFO_QUEUE_PRUNE, PROTO_MEM",
	.limit = "in trace only",
	.what = "The connection had no room for the segment: the buffer was full, or the kernel "
		"pruned segments that waited behind a hole. TCP retransmits the segments. Shown "
		"by `trace`, `top` and `export` only.",
	.causes = "The application reads too slowly. The buffer is small for rate and round-trip "
		"time. All TCP sockets together exceed net.ipv4.tcp_mem.",
	.remedy = "Run `ss -tmn`, which shows Recv-Q and the buffer (rb). Let the application "
		"read faster. Raise the third value of net.ipv4.tcp_rmem, or remove SO_RCVBUF "
		"from the application. `nstat -az` shows TCPRcvQDrop, TCPOFODrop and "
		"TCPZeroWindowDrop.")
STAGE(TCP, "tcp", "TCP",
	.part = PART_OTHER,
	.mechanism = "other TCP drops (checksum, MD5, AO)",
	.hook = "kfree_skb: TCP_CSUM, TCP_MD5*, TCP_AO*",
	.limit = "in trace only",
	.what = "TCP dropped a segment for another reason. Shown by `trace`, `top` and `export` "
		"only.",
	.causes = "A wrong checksum, or a missing or wrong signature. Before Linux 5.17, which "
		"introduced drop reasons: any cause.",
	.remedy = "TCP retransmits the segment. `nstat -az 'TcpExt*'` counts the reasons.")
STAGE(ICMP, "icmp", "ICMP",
	.part = PART_OTHER,
	.mechanism = "ICMP, neighbour discovery",
	.hook = "kfree_skb: ICMP_CSUM, IPV6_NDISC_*",
	.limit = "in trace only, as one stage",
	.what = "An ICMP message was dropped. Shown by `trace` and `top` only.",
	.causes = "A wrong checksum, or a message type that a setting ignores.",
	.remedy = "`nstat -az 'Icmp*'` counts the message types.")
/* clang-format on */

#undef STAGE
#endif
