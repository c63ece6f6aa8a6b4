// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How each stage loses packets, how to observe the loss, and how to fix it, in stage order.
 * Sources: Linux 6.1 to 6.18. drops/stagemap_data.c assigns reasons and functions to stages, and
 * ledger/countercheck_data.c assigns counters.
 */
#include "drops/stagemap.h"

#include <stddef.h>

const struct stage_facts stage_facts[STAGE_COUNT] = {
	{STAGE_TX_SOCKET,
	 "egress program of the sender's cgroup (ip_finish_output), failed fragmentation "
	 "(ip_do_fragment, ip6_fragment)",
	 "kfree_skb: BPF_CGROUP_EGRESS",
	 "a send() that fails before a packet exists counts as `refused`",
	 "The sending socket made a packet, but the packet did not reach output routing. Cgroup "
	 "egress programs and the checks for segmentation and fragmentation run here. A cgroup "
	 "program makes send() return EPERM.",
	 "A BPF program at cgroup egress dropped the packet. The GSO segment size does not fit the "
	 "path. The datagram is too large and must not be fragmented.",
	 "List the programs with `bpftool cgroup tree`. Otherwise send smaller datagrams, or send "
	 "without GSO."},
	{STAGE_TX_ROUTE,
	 "discarding route, for example while IPsec has no key (dst_discard_out, "
	 "ip6_pkt_discard_out)",
	 "kfree_skb in dst_discard_out; IP_OUTNOROUTES",
	 "without IPsec, send() on a UDP socket fails before a packet exists (ENETUNREACH, EINVAL: "
	 "refused); IP_OUTNOROUTES occurs for TCP and tunnels",
	 "Output routing discarded the packet. If no route exists, send() on a UDP socket fails "
	 "before there is a packet, which counts as `refused` and not as a loss. If an IPsec "
	 "policy matches and has no key yet, send() succeeds and the route discards the packet.",
	 "An IPsec policy has no state. The route was removed with its interface. For TCP and "
	 "tunnels: no route exists, or its type is blackhole, unreachable or prohibit.",
	 "Run `ip route get ADDRESS` in the sender's namespace to see the routing decision. Check "
	 "`ip xfrm policy` and XfrmOutNoStates in /proc/net/xfrm_stat."},
	{STAGE_NEIGH,
	 "neighbour that does not answer, or its full queue (neigh_invalidate, __neigh_event_send)",
	 "kfree_skb: NEIGH_*", "up to 3 s after send() returned",
	 "The packet waits until the MAC address of its next hop is resolved. The loss happens up "
	 "to three seconds after a successful send(), and no IP counter records it.",
	 "The next hop does not answer ARP or neighbour solicitations: it is down, or no host has "
	 "the address. More packets arrived than may wait for the entry (unres_qlen_bytes), for "
	 "example at the start of a flow.",
	 "Look for FAILED or INCOMPLETE entries in `ip neigh`. To keep the first packets of a "
	 "flow, resolve the neighbour first, or add a static entry."},
	{STAGE_TC_EGRESS, "verdict of a tc or tcx program at egress (sch_handle_egress)",
	 "kfree_skb: TC_EGRESS; consume_skb in __dev_queue_xmit: stolen",
	 "stolen packets are seen from Linux 6.3 on; trace needs --consumed for them",
	 "Traffic control filters and BPF programs at the egress of an interface (clsact, tcx), "
	 "and the egress hook of nftables. send() succeeds.",
	 "A filter with the action drop, a policer, or a BPF program that returns TC_ACT_SHOT. If "
	 "a program steals a packet and does not pass it on, the kernel reports no drop. "
	 "`trace --consumed` shows such packets.",
	 "List filters, programs and their counters with `tc -s filter show dev IFNAME egress` and "
	 "`bpftool net`."},
	{STAGE_QDISC, "limit of a qdisc, AQM, replaced or reset qdisc",
	 "kfree_skb: QDISC_*, FQ_*, CAKE_*", "the kernel's counter counts a GSO packet as a single "
					     "packet",
	 "The queueing discipline of the interface. send() succeeds unless the socket has "
	 "IP_RECVERR, in which case it fails with ENOBUFS.",
	 "Packets are sent faster than the interface or the shaper transmits them, for longer than "
	 "the queue can absorb. Active queue management drops early. A qdisc was replaced while it "
	 "held packets.",
	 "Read `tc -s qdisc show dev IFNAME`. Lower the sending rate. A longer queue (limit) helps "
	 "against bursts only, and adds latency."},
	{STAGE_TX_DEVICE,
	 "full ring of the next interface, or a driver that refuses (ndo_start_xmit, ndo_xdp_xmit)",
	 "kfree_skb in the driver; xdp_devmap_xmit for live frames",
	 "some drivers free a lost packet as consumed; trace --consumed covers the common drivers",
	 "The driver's transmit side: the transmit ring, or the other end of a virtual link. For "
	 "veth, the ring belongs to the receiving end, in its namespace.",
	 "The ring is full while no qdisc holds packets back, because the program or CPU that "
	 "empties the ring of a veth, tun or tap is too slow. The other end is down, has a smaller "
	 "MTU, or is a tap that no program reads.",
	 "Read `ip -s -s link show dev IFNAME` for both ends. Give the interface a qdisc, give the "
	 "receiving process more CPU time, or lower the sending rate."},
	{STAGE_WIRE, "cables and switches between two hosts", "none",
	 "needs both ends: packets seen at one probe and not at the next; no fault: a test network "
	 "has no wire",
	 "Packets left a host and did not reach the next host. Such a loss is always the difference "
	 "of two probes, never a residual.",
	 "A switch with a full queue, a policer, a damaged cable or transceiver, a congested link, "
	 "or a loss at the receiver's port before its first counter.",
	 "Read the counters of the switches on the path. `ethtool -S IFNAME` on both hosts shows "
	 "CRC errors and pause frames."},
	{STAGE_NIC_RING, "no descriptor, no buffer or no room in the NIC", "none",
	 "from the driver's counter, which covers a whole interface: run -i uses the counter if no "
	 "other traffic arrived, and cannot say which numbers were lost; between two hosts the "
	 "loss counts as wire; no fault: a fault would need a NIC with a ring",
	 "The NIC received a packet and had no free receive descriptor. The packet never reaches "
	 "the kernel, so only counters of the NIC record the loss.",
	 "The CPU that empties the ring is overloaded or sleeps too deeply. A burst is longer than "
	 "the ring. Memory for new buffers is missing.",
	 "Find the cause with `pktledger check -i IFNAME`. Against bursts, enlarge the ring "
	 "(`ethtool -G`). Otherwise use more queues, or dedicate a CPU to receive processing."},
	{STAGE_XDP, "verdict of an XDP program; failed redirect to an interface, CPU or socket",
	 "kfree_skb in veth_xdp_rcv_skb and do_xdp_generic; xdp_redirect_err, xdp_devmap_xmit, "
	 "xdp_cpumap_enqueue",
	 "drops by a native program of another tool appear only in an interface counter, unless "
	 "its frames are skbs; the number of a packet lost in a redirect is available only if a "
	 "pktledger program ran just before",
	 "An XDP program, the first hook of an interface. Drops in the driver cause no event. Only "
	 "the driver's counters show them.",
	 "The program drops on purpose (XDP_DROP), fails (XDP_ABORTED), or a redirect fails: the "
	 "target's ring is full, the target interface is down or has no XDP, or the map has no "
	 "entry.",
	 "Find the program with `bpftool net show dev IFNAME`. For a redirect, check the target: "
	 "the target interface needs XDP and a receiver that keeps up."},
	{STAGE_XSK,
	 "AF_XDP socket: full RX ring, empty fill ring, oversized frame (__xsk_rcv, "
	 "xskq_prod_reserve_desc)",
	 "xdp_redirect_err: ENOBUFS, ENOMEM, ENOSPC",
	 "with zero copy, an empty fill ring loses packets in the NIC: nic_ring",
	 "The rings of an AF_XDP socket.",
	 "The application does not take descriptors from its RX ring in time (ENOBUFS), or does "
	 "not refill the fill ring (ENOMEM).",
	 "Dedicate a thread to the rings, enlarge the rings, or use busy polling."},
	{STAGE_GSO,
	 "failed segmentation of a merged packet, failed checksum (udp_rcv_segment, "
	 "validate_xmit_skb)",
	 "kfree_skb: SKB_GSO_SEG, SKB_CSUM; NOT_SPECIFIED in udp_queue_rcv_skb",
	 "the kernel's counter counts datagrams, not merged packets",
	 "A packet that GRO or the sender merged has to be segmented again, and the segmentation "
	 "fails. All of its segments are lost.",
	 "A driver or a sender set wrong sizes or checksums. A socket without UDP_GRO received a "
	 "merged packet that cannot be segmented.",
	 "Switch GRO or GSO off on the path (`ethtool -K IFNAME gro off`) and check whether the "
	 "loss ends."},
	{STAGE_BACKLOG,
	 "netdev_max_backlog, flow limit, interface going down (enqueue_to_backlog, "
	 "flush_backlog)",
	 "kfree_skb: CPU_BACKLOG, DEV_READY",
	 "queue limit and flow limit have the same reason; only a counter distinguishes them",
	 "The queue of packets that a CPU received from another CPU (RPS, virtual interfaces) or "
	 "from itself (loopback, veth).",
	 "The CPU is too slow and net.core.netdev_max_backlog packets wait. One flow exceeds its "
	 "flow limit. The interface went down while packets were queued.",
	 "Reduce the work per packet on that CPU, or add CPUs to rps_cpus. A longer backlog helps "
	 "against bursts, but adds latency on the whole host."},
	{STAGE_TC_INGRESS, "verdict of a tc or tcx program at ingress (sch_handle_ingress)",
	 "kfree_skb: TC_INGRESS; consume_skb in __netif_receive_skb_core: stolen",
	 "stolen packets are seen from Linux 6.3 on; trace needs --consumed for them",
	 "Traffic control filters and BPF programs at the ingress of an interface (clsact, tcx), "
	 "before the IP stack.",
	 "A filter with the action drop, a policer, or a BPF program that returns TC_ACT_SHOT. "
	 "`trace --consumed` shows packets that a program steals.",
	 "List filters, programs and their counters with `tc -s filter show dev IFNAME ingress` "
	 "and `bpftool net`."},
	{STAGE_L2,
	 "MAC address of another host, unhandled protocol, bridge port (ip_rcv_core, "
	 "__netif_receive_skb_core, br_handle_frame)",
	 "kfree_skb: OTHERHOST, UNHANDLED_PROTO, BRIDGE_INGRESS_STP_STATE",
	 "a bridge that floods to the wrong ports causes no event: in a test network the "
	 "difference between the probes at its ports shows the loss",
	 "The link layer: addresses, VLANs and bridges.",
	 "The frame is addressed to another MAC address (a flooding switch, a stale neighbour "
	 "entry), has a VLAN tag without a VLAN interface, or carries a protocol that no handler "
	 "accepts. A bridge port is blocked or isolated.",
	 "Compare `ip neigh` on the sender with `ip link` on the receiver. `bridge link` and "
	 "`bridge vlan` show the ports."},
	{STAGE_IP_HEADER,
	 "checksum, length, version, disabled IPv6 (ip_rcv_core, ip6_rcv_core)",
	 "kfree_skb: IP_CSUM, IP_INHDR, PKT_TOO_SMALL, IPV6DISABLED",
	 "a packet with a wrong version or header length cannot be parsed",
	 "The checks of the IP header on arrival: version, lengths, checksum, options and "
	 "extension headers.",
	 "A sender or middlebox writes wrong headers. Data was damaged after the last link with a "
	 "checksum. IPv6 is disabled on the interface.",
	 "Capture some packets (`pktledger trace -w FILE --stage ip_header`), look at the header, "
	 "and find the sender that wrote it."},
	{STAGE_NETFILTER, "verdict of a rule, at any hook (nft_do_chain, nf_hook_slow)",
	 "kfree_skb: NETFILTER_DROP", "the hook is derived from interface, socket and route",
	 "A rule of nftables or iptables, at any hook. At the output and postrouting hooks, send() "
	 "fails with EPERM.",
	 "A rule or the policy of a chain drops. The conntrack table is full. The queue to a "
	 "program (NFQUEUE) is full.",
	 "Read `nft list ruleset`. If rules have counters, `trace` names the rules whose counters "
	 "increased with the loss."},
	{STAGE_IP_ROUTE,
	 "rp_filter, martians, blackhole, foreign address (ip_rcv_finish_core, ip_error, "
	 "ip6_pkt_discard)",
	 "kfree_skb: IP_RPFILTER, IP_LOCAL_SOURCE, IP_INADDRERRORS, IP_INNOROUTES; NOT_SPECIFIED "
	 "by function",
	 NULL, "Routing of an arriving packet. Several of these drops increase no counter.",
	 "Reverse path filtering with asymmetric routes (rp_filter 1). The address is not local "
	 "and forwarding is off. The source is a martian address. No socket joined the multicast "
	 "group. The route has the type blackhole, unreachable or prohibit.",
	 "Run `ip route get ADDRESS from SOURCE iif IFNAME` to see the decision. Hosts with "
	 "several uplinks usually need rp_filter 2 (loose)."},
	{STAGE_IP_FRAG,
	 "missing or overlapping fragments, no memory for fragments (ip_expire, "
	 "inet_frag_queue_insert, ip_defrag)",
	 "kfree_skb: FRAG_REASM_TIMEOUT, DUP_FRAG; NOT_SPECIFIED by function",
	 "30 s late (60 s for IPv6) unless a test network shortens the time; a fragment whose "
	 "first fragment was not seen cannot be assigned to a datagram",
	 "Fragments wait until their datagram is complete. A lost fragment loses the whole "
	 "datagram.",
	 "A fragment did not arrive within ipfrag_time. The memory for fragments is full "
	 "(ipfrag_high_thresh). Fragments overlap or arrive twice.",
	 "Send datagrams that fit the MTU. If fragments are necessary, find the loss of the "
	 "missing fragment first, then allow more memory."},
	{STAGE_IP_FORWARD, "TTL, or the egress MTU (ip_forward, ip6_forward)",
	 "kfree_skb: IP_INHDR, PKT_TOO_BIG", NULL,
	 "This host is a router and did not forward the packet.",
	 "The TTL expired (a routing loop, or TTL 1 as in multicast). The MTU of the egress link "
	 "is smaller and the packet must not be fragmented. Forwarding is off.",
	 "Run `ip route get` on each router to find loops. For the MTU, let ICMP messages through, "
	 "or send smaller packets."},
	{STAGE_TUNNEL, "decapsulation: header, network identifier, ECN (vxlan_rcv and others)",
	 "kfree_skb: VXLAN_*, IP_TUNNEL_ECN, TUNNEL_TXINFO",
	 "packets inside a tunnel are followed only in VXLAN over IPv4 of a test network, and not "
	 "if they are fragmented",
	 "The endpoint of a tunnel (VXLAN, Geneve, GRE, IPIP) dropped the packet during "
	 "encapsulation or decapsulation. `Udp:InDatagrams` already counted the packet.",
	 "The network identifier (VNI) does not exist here. The ECN bits of the two headers "
	 "contradict each other. A header is truncated. Nested tunnels form a loop.",
	 "Compare `ip -d link show` on both ends."},
	{STAGE_XFRM, "IPsec policy or state (__xfrm_policy_check, xfrm_input)",
	 "kfree_skb: XFRM_POLICY; xfrm_input by function", "no fault for states: they need keys",
	 "IPsec: a policy, or the state that the policy requires.",
	 "A policy blocks the packet. A policy requires protection and the packet arrived "
	 "unencrypted. No state matches, or the state expired.",
	 "Read `ip xfrm policy`, `ip xfrm state` and /proc/net/xfrm_stat."},
	{STAGE_UDP_LOOKUP, "no socket on the port, no listener of the group (__udp4_lib_rcv)",
	 "kfree_skb: NO_SOCKET; NOT_SPECIFIED in __udp4_lib_rcv", NULL,
	 "The datagram arrived at a port on which no socket is open. The kernel sends the sender a "
	 "rate-limited ICMP message. A connected sending socket gets ECONNREFUSED.",
	 "The receiver is not running, has not started yet, or listens on another port, address, "
	 "address family or namespace. No socket joined the multicast group.",
	 "Run `ss -ulpn sport = :PORT` in the receiver's namespace."},
	{STAGE_UDP_HEADER, "contradicting UDP and IP lengths (__udp4_lib_rcv)",
	 "kfree_skb: PKT_TOO_SMALL", NULL,
	 "The length in the UDP header contradicts the length of the packet.",
	 "A sender or middlebox writes wrong headers.",
	 "Capture some packets (`pktledger trace -w FILE --stage udp_header`) and find the "
	 "sender."},
	{STAGE_UDP_CSUM, "checksum, verified before queueing (udp_queue_rcv_one_skb)",
	 "kfree_skb: UDP_CSUM", NULL,
	 "The UDP checksum is wrong. It was verified before the packet reached the socket's queue. "
	 "The checksum of a longer datagram is verified when the datagram is read: `socket_read`.",
	 "A checksum was left to an offload that never ran, for example because XDP redirected a "
	 "packet of a local sender. Data was damaged after the last link with a checksum. A "
	 "middlebox rewrote addresses and did not update the checksum.",
	 "Run `ethtool -K IFNAME tx off` at the sender to see whether the offload is the cause."},
	{STAGE_SOCKET_FILTER,
	 "filter of the socket, ingress program of its cgroup (sk_filter_trim_cap)",
	 "kfree_skb: SOCKET_FILTER, SECURITY_HOOK",
	 "a filter that truncates a packet drops nothing",
	 "A filter on the receiving socket (SO_ATTACH_FILTER, SO_ATTACH_BPF), a program of its "
	 "cgroup, or a security module.",
	 "The drop is usually intended.",
	 "List socket filters with `ss -uamb`, and cgroup programs with `bpftool cgroup tree`."},
	{STAGE_UDP_MEM, "udp_mem, or the memory of the cgroup (__sk_mem_raise_allocated)",
	 "kfree_skb: PROTO_MEM", "from Linux 6.18 on, no SNMP counter records the drop",
	 "The total memory of all UDP sockets on the host, or the memory of the cgroup. From Linux "
	 "6.18 on, only the counter of the socket records the drop.",
	 "The queues of slow receivers together reach net.ipv4.udp_mem (in pages). From that point "
	 "on every socket loses packets, even a socket with free buffer space.",
	 "Run `ss -uam`, find the sockets with long queues, and speed up their receivers. "
	 "Otherwise raise net.ipv4.udp_mem."},
	{STAGE_RCVBUF, "receive buffer of the socket (__udp_enqueue_schedule_skb)",
	 "kfree_skb: SOCKET_RCVBUFF", NULL,
	 "The receive buffer of the socket was full. The kernel counts memory, not payload: a "
	 "small packet can take as much memory as a large packet.",
	 "The application reads more slowly than packets arrive: it is busy, asleep, stopped, "
	 "waits for a CPU, or is throttled by its CPU quota. Or bursts exceed the buffer.",
	 "Run `pktledger trace`, which samples the receiver while packets are lost. A larger "
	 "SO_RCVBUF (at most net.core.rmem_max) helps against bursts only. Otherwise reduce the "
	 "work per packet, use recvmmsg(), dedicate a thread to reading, or use several receivers "
	 "(SO_REUSEPORT)."},
	{STAGE_SOCKET_READ, "read, but not delivered: checksum, bad buffer (udp_recvmsg)",
	 "kfree_skb: UDP_CSUM; NOT_SPECIFIED in udp_recvmsg", NULL,
	 "The packet was in the socket's queue, and recv() or poll() discarded the packet instead "
	 "of delivering it.",
	 "The checksum is wrong: for 69 bytes of payload and more it is verified only here. Or the "
	 "buffer passed to recv() was not writable (EFAULT).",
	 "For a checksum, see `udp_csum`. EFAULT is a bug in the application."},
	{STAGE_SOCKET_CLOSE, "unread when the socket closes (udp_destruct_common)",
	 "the socket's queue just before; kfree_skb in udp_destruct_common",
	 "trace misses the drop if tracing is suppressed (RCU callback)",
	 "The socket was closed with packets in its queue. No kernel counter records the loss.",
	 "A program exits or reopens its socket while packets arrive.",
	 "Read until the queue is empty before close(). Keep the socket open across a restart "
	 "(socket activation)."},
	{STAGE_OTHER, "a function without an entry in the map", "kfree_skb, shown verbatim", NULL,
	 "The kernel dropped a packet in a function that this version cannot assign to a stage. "
	 "Reason and function are shown.",
	 "A newer kernel, a driver, or an out-of-tree module.",
	 "Report the reason, the function and the kernel version."},
	{STAGE_TCP_LISTEN,
	 "full accept queue of a listener (tcp_conn_request, tcp_v4_syn_recv_sock)",
	 "sk_drops of the listener; kfree_skb: TCP_LISTEN_OVERFLOW",
	 "a dropped SYN leaves no event",
	 "A client opened a connection and the listening socket did not accept it: the accept "
	 "queue is full, or memory is missing. The client retransmits its SYN, first after one "
	 "second. Shown by `trace`, `top` and `export` only.",
	 "The application does not call accept() often enough, or the queue is short: the argument "
	 "of listen(), at most net.core.somaxconn.",
	 "Run `ss -ltn`: Recv-Q is the length of the queue, Send-Q its limit. Call accept() more "
	 "often or in more threads. A larger argument of listen() and a larger net.core.somaxconn "
	 "help against bursts. `nstat -az` shows ListenDrops."},
	{STAGE_TCP_BACKLOG, "full backlog of a socket locked by a process (tcp_add_backlog)",
	 "kfree_skb: SOCKET_BACKLOG", "in trace only",
	 "While a process holds the lock of the socket, segments wait in its backlog. The backlog "
	 "was full. TCP retransmits the segments. Shown by `trace`, `top` and `export` only.",
	 "Long system calls on the socket (large reads) at a high rate. Small receive and send "
	 "buffers, whose sum is the limit.",
	 "Raise net.ipv4.tcp_rmem, or SO_RCVBUF if the application sets it. GRO makes fewer and "
	 "larger packets. `nstat -az` shows TCPBacklogDrop."},
	{STAGE_TCP_STATE, "state of the connection (tcp_validate_incoming, tcp_rcv_state_process)",
	 "kfree_skb: TCP_RESET, TCP_CLOSE, TCP_RFC7323_*, TCP_INVALID_*, NO_SOCKET",
	 "in trace only",
	 "The segment did not fit the state of the connection: closed, reset, outside of the "
	 "window, time stamp too old, or no such connection. Data that was already received is "
	 "expected. Shown by `trace`, `top` and `export` only.",
	 "A port without a listener. A connection that one end closed. A middlebox that lost its "
	 "state. A host behind NAT whose time stamps go backwards (PAWS).",
	 "List connections with `ss -tan`. Such drops are normal at the end of a connection. "
	 "`nstat -az 'TcpExt*'` counts the reasons."},
	{STAGE_TCP_RCVBUF,
	 "full receive buffer of a connection (tcp_data_queue, tcp_prune_ofo_queue)",
	 "kfree_skb: TCP_ZEROWINDOW, TCP_OVERWINDOW, TCP_OFO_QUEUE_PRUNE, PROTO_MEM",
	 "in trace only",
	 "The connection had no room for the segment: the buffer was full, or the kernel pruned "
	 "segments that waited behind a hole. TCP retransmits the segments. Shown by `trace`, "
	 "`top` and `export` only.",
	 "The application reads too slowly. The buffer is small for rate and round-trip time. All "
	 "TCP sockets together exceed net.ipv4.tcp_mem.",
	 "Run `ss -tmn`, which shows Recv-Q and the buffer (rb). Let the application read faster. "
	 "Raise the third value of net.ipv4.tcp_rmem, or remove SO_RCVBUF from the application. "
	 "`nstat -az` shows TCPRcvQDrop, TCPOFODrop and TCPZeroWindowDrop."},
	{STAGE_TCP, "other TCP drops (checksum, MD5, AO)",
	 "kfree_skb: TCP_CSUM, TCP_MD5*, TCP_AO*", "in trace only",
	 "TCP dropped a segment for another reason. Shown by `trace`, `top` and `export` only.",
	 "A wrong checksum, or a missing or wrong signature. Before Linux 5.17, which introduced "
	 "drop reasons: any cause.",
	 "TCP retransmits the segment. `nstat -az 'TcpExt*'` counts the reasons."},
	{STAGE_ICMP, "ICMP, neighbour discovery", "kfree_skb: ICMP_CSUM, IPV6_NDISC_*",
	 "in trace only, as one stage",
	 "An ICMP message was dropped. Shown by `trace` and `top` only.",
	 "A wrong checksum, or a message type that a setting ignores.",
	 "`nstat -az 'Icmp*'` counts the message types."},
};
