// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How each stage loses packets, how to see it, and how to fix it. In the order of the stages.
 * Sources: Linux 6.1 to 6.18. drops/stagemap_data.c decides which reason and location belong to a
 * stage, and ledger/countercheck_data.c which counter records it.
 */
#include "drops/stagemap.h"

#include <stddef.h>

const struct stage_facts stage_facts[STAGE_COUNT] = {
	{STAGE_TX_SOCKET,
	 "egress program of the sender's cgroup (ip_finish_output), fragments that could not be "
	 "made (ip_do_fragment, ip6_fragment)",
	 "kfree_skb: BPF_CGROUP_EGRESS",
	 "what send() refuses before there is a packet is `refused`",
	 "The sending socket has made a packet, and it does not come as far as the routing of "
	 "the output: programs of the control group and the checks of segmentation and "
	 "fragmentation stand here. A control group's program makes send() return EPERM.",
	 "A BPF program at cgroup egress; GSO with a segment size that does not fit the path; a "
	 "datagram that must not be fragmented and is too large.",
	 "See `bpftool cgroup tree` for the programs. Else send smaller datagrams, or without "
	 "GSO."},
	{STAGE_TX_ROUTE,
	 "route that leads nowhere, as while IPsec has no key (dst_discard_out, "
	 "ip6_pkt_discard_out)",
	 "kfree_skb in dst_discard_out; IP_OUTNOROUTES",
	 "without IPsec a UDP socket gets an error before there is a packet (ENETUNREACH, EINVAL: "
	 "refused); IP_OUTNOROUTES is of TCP and tunnels",
	 "The routing of a packet that leaves. Without a route UDP refuses send() before there "
	 "is a packet, which is `refused` and no loss. Where IPsec wants the packet and has no "
	 "key for it yet, send() is successful and the route a blackhole.",
	 "A policy of IPsec without a state; a route that went away with its interface; for TCP "
	 "and tunnels also no route, or one of type blackhole, unreachable or prohibit.",
	 "`ip route get ADDRESS` shows what the kernel would do, in the sender's namespace; `ip "
	 "xfrm policy` and XfrmOutNoStates in /proc/net/xfrm_stat."},
	{STAGE_NEIGH,
	 "neighbour that does not answer, or its full queue (neigh_invalidate, __neigh_event_send)",
	 "kfree_skb: NEIGH_*", "up to 3 s after send() returned",
	 "The packet waits until the MAC address of its next hop is known. Losses come up to "
	 "three seconds after send(), which was successful, and move no counter of IP.",
	 "The next hop does not answer ARP or neighbour solicitations: it is down, or the "
	 "address is nobody's. Or more packets came than may wait for it (unres_qlen_bytes), as "
	 "at the start of a flow.",
	 "`ip neigh` shows entries that are FAILED or INCOMPLETE. For the first packets of a "
	 "flow, resolve the neighbour before, or make it static."},
	{STAGE_TC_EGRESS, "verdict of a tc or tcx program at egress (sch_handle_egress)",
	 "kfree_skb: TC_EGRESS; consume_skb in __dev_queue_xmit: stolen",
	 "stolen is seen from Linux 6.3; trace wants --consumed for it",
	 "Filters and BPF programs of traffic control at the device's way out (clsact, tcx), and "
	 "nftables' egress hook beside them. send() is successful.",
	 "A filter with the action drop, a policer, or a BPF program that returns TC_ACT_SHOT. "
	 "What a program steals without passing it on is lost without a trace of the kernel; "
	 "`trace --consumed` shows it.",
	 "`tc -s filter show dev IFNAME egress` and `bpftool net` show filters and programs with "
	 "their counters."},
	{STAGE_QDISC, "limit of a qdisc, AQM, a qdisc that is replaced or reset",
	 "kfree_skb: QDISC_*, FQ_*, CAKE_*", "the kernel's counter counts a GSO packet as one",
	 "The queueing discipline in front of the device. send() is successful unless the socket "
	 "has IP_RECVERR; then it fails with ENOBUFS.",
	 "Packets are sent faster than the device or the shaper lets them out, for longer than "
	 "the queue holds; active queue management that drops early; a qdisc that was replaced "
	 "with its queue full.",
	 "`tc -s qdisc show dev IFNAME`. Send at a lower rate; a longer queue (limit) helps "
	 "against bursts only, and adds delay."},
	{STAGE_TX_DEVICE,
	 "full ring of the next device, or a driver that refuses (ndo_start_xmit, ndo_xdp_xmit)",
	 "kfree_skb in the driver; xdp_devmap_xmit for live frames",
	 "drivers that free a lost packet as consumed: trace --consumed knows some",
	 "The driver's side of sending: the transmit ring, or the other end of a virtual link. "
	 "With veth the ring is the receiver's, in its namespace.",
	 "The ring is full while no qdisc holds packets back: a reader of veth, tun or tap that "
	 "is too slow. The other end is down, has a smaller MTU, or is a tap that nobody reads.",
	 "`ip -s -s link show dev IFNAME` for both ends. Give the device a qdisc, or the reader "
	 "more CPU time; send at a lower rate."},
	{STAGE_WIRE, "cables and switches between two hosts", "none",
	 "needs both ends: packets seen at one checkpoint and not at the next; no fault: a lab has "
	 "no wire",
	 "Between two hosts: packets were seen to leave one and not to reach the other. Known as "
	 "a difference of two checkpoints only, never as a residual.",
	 "A switch whose queue is full, a policer, a damaged cable or transceiver, a path that "
	 "is too narrow; a receiver whose port loses before its first counter.",
	 "Read the counters of the switches between. `ethtool -S IFNAME` of both hosts shows CRC "
	 "errors and pause frames."},
	{STAGE_NIC_RING, "no descriptor, no buffer or no room in the NIC", "none",
	 "by the driver's counter, which is of an interface: run -i settles by it if nothing "
	 "else came, and does not know which numbers; between two hosts it is in the wire; no "
	 "fault: it takes a NIC with a ring of its own",
	 "The NIC had a packet and no free receive descriptor to put it to. The kernel never "
	 "sees it: only counters of the device have it.",
	 "The CPU that empties the ring has too much to do or sleeps too deeply; bursts longer "
	 "than the ring; no memory for new buffers.",
	 "`pktledger check -i IFNAME` shows which. A larger ring (`ethtool -G`) for bursts; more "
	 "queues, or a CPU of its own for the receive work, for the rest."},
	{STAGE_XDP, "verdict of an XDP program; a redirect to a device, CPU or socket that fails",
	 "kfree_skb in veth_xdp_rcv_skb and do_xdp_generic; xdp_redirect_err, xdp_devmap_xmit, "
	 "xdp_cpumap_enqueue",
	 "drops of another's native program are known by an interface's counter only, unless its "
	 "frames are skbs; which packet a redirect lost is known where a program of ours ran "
	 "just before",
	 "A program at the device's first hook. What it drops in the driver makes no event: "
	 "only the driver's counters show it.",
	 "The program drops on purpose (XDP_DROP), has failed (XDP_ABORTED), or its redirect "
	 "did: the target's ring is full, its device is down or has no XDP, the map has no entry.",
	 "`bpftool net show dev IFNAME` shows the program. For redirects, look at the target: "
	 "its device needs XDP and a reader that keeps up."},
	{STAGE_XSK,
	 "AF_XDP socket: full RX ring, empty fill ring, frame too long (__xsk_rcv, "
	 "xskq_prod_reserve_desc)",
	 "xdp_redirect_err: ENOBUFS, ENOMEM, ENOSPC",
	 "with zero copy an empty fill ring loses in the NIC: nic_ring",
	 "The rings of an AF_XDP socket.",
	 "The application does not take descriptors from its RX ring in time (ENOBUFS), or puts "
	 "too few into the fill ring (ENOMEM).",
	 "A thread that does nothing else, larger rings, or busy polling."},
	{STAGE_GSO,
	 "merged packet that cannot be taken apart, checksum that cannot be made "
	 "(udp_rcv_segment, validate_xmit_skb)",
	 "kfree_skb: SKB_GSO_SEG, SKB_CSUM; NOT_SPECIFIED in udp_queue_rcv_skb",
	 "the kernel's counter is of datagrams, not of merged packets",
	 "A packet that GRO or the sender had merged is cut up again, and that fails. All of its "
	 "segments are lost.",
	 "A driver or a sender that set wrong sizes or checksums; a socket without UDP_GRO that "
	 "gets a merged packet which cannot be cut.",
	 "Switch GRO or GSO off on the way (`ethtool -K IFNAME gro off`) to see whether it ends."},
	{STAGE_BACKLOG,
	 "netdev_max_backlog, a flow's share of it, a device that goes down (enqueue_to_backlog, "
	 "flush_backlog)",
	 "kfree_skb: CPU_BACKLOG, DEV_READY",
	 "queue and flow limit have one reason; only a counter distinguishes them",
	 "The queue of packets that a CPU was given by another one, by RPS or by a virtual "
	 "device, or by itself over loopback and veth.",
	 "The CPU does not keep up, and net.core.netdev_max_backlog packets wait; one flow has "
	 "more than its share (flow limit); the device went down with packets queued.",
	 "Less work for each packet on that CPU, or other CPUs in rps_cpus. A longer backlog "
	 "helps against bursts and adds delay, on the whole host."},
	{STAGE_TC_INGRESS, "verdict of a tc or tcx program at ingress (sch_handle_ingress)",
	 "kfree_skb: TC_INGRESS; consume_skb in __netif_receive_skb_core: stolen",
	 "stolen is seen from Linux 6.3; trace wants --consumed for it",
	 "Filters and BPF programs of traffic control at the device's way in (clsact, tcx), "
	 "before the IP stack.",
	 "A filter with the action drop, a policer, or a BPF program that returns TC_ACT_SHOT. "
	 "What a program steals is shown by `trace --consumed`.",
	 "`tc -s filter show dev IFNAME ingress` and `bpftool net` show filters and programs "
	 "with their counters."},
	{STAGE_L2,
	 "another host's address, a protocol that nobody takes, a bridge's port (ip_rcv_core, "
	 "__netif_receive_skb_core, br_handle_frame)",
	 "kfree_skb: OTHERHOST, UNHANDLED_PROTO, BRIDGE_INGRESS_STP_STATE",
	 "a bridge that floods past the right port makes no event: in a lab the difference of "
	 "checkpoints at its ports shows",
	 "The link layer: addresses, VLANs, bridges and what stands in for them.",
	 "The frame is for another MAC address (a switch that floods, a neighbour entry that is "
	 "no longer true), carries a VLAN tag without an interface or a protocol nobody handles; "
	 "a bridge port is blocked or isolated.",
	 "Compare `ip neigh` of the sender with `ip link` of the receiver. `bridge link` and "
	 "`bridge vlan` show the ports."},
	{STAGE_IP_HEADER,
	 "checksum, length, version, IPv6 switched off (ip_rcv_core, ip6_rcv_core)",
	 "kfree_skb: IP_CSUM, IP_INHDR, PKT_TOO_SMALL, IPV6DISABLED",
	 "with a wrong version or header length the packet cannot be read",
	 "The checks of the IP header on arrival: version, lengths, checksum, options and "
	 "extension headers.",
	 "A sender or a box on the way that writes headers wrongly; damage behind the last link "
	 "that checks; IPv6 that is switched off on the interface.",
	 "Capture some (`pktledger trace -w FILE --stage ip_header`) and look at the header; "
	 "follow them back to the sender that wrote it."},
	{STAGE_NETFILTER, "verdict of a rule, at any hook (nft_do_chain, nf_hook_slow)",
	 "kfree_skb: NETFILTER_DROP", "the hook is derived from device, socket and route",
	 "A rule of nftables or iptables, in any of their hooks. In the output and postrouting "
	 "hooks send() fails with EPERM.",
	 "A rule or a chain's policy drops; the table of tracked connections is full; a queue to "
	 "a program (NFQUEUE) is full.",
	 "`nft list ruleset`. Rules with counters show which it was: `trace` names those that "
	 "moved with the loss."},
	{STAGE_IP_ROUTE,
	 "rp_filter, martians, blackhole, an address that is not here (ip_rcv_finish_core, "
	 "ip_error, ip6_pkt_discard)",
	 "kfree_skb: IP_RPFILTER, IP_LOCAL_SOURCE, IP_INADDRERRORS, IP_INNOROUTES; NOT_SPECIFIED "
	 "by place",
	 NULL, "The routing of a packet that has arrived. Several of its refusals move no counter.",
	 "Reverse path filtering with asymmetric routes (rp_filter 1); no such local address and "
	 "no forwarding; martian addresses; a multicast group nobody joined; a route of type "
	 "blackhole, unreachable or prohibit.",
	 "`ip route get ADDRESS from SOURCE iif IFNAME` shows the decision. With several uplinks "
	 "rp_filter 2 (loose) is the usual mode."},
	{STAGE_IP_FRAG,
	 "fragments that are missing, overlap, or find no memory (ip_expire, "
	 "inet_frag_queue_insert, ip_defrag)",
	 "kfree_skb: FRAG_REASM_TIMEOUT, DUP_FRAG; NOT_SPECIFIED by place",
	 "30 s late (60 with IPv6) where the lab does not shorten it; a fragment whose first one "
	 "was not seen belongs to no datagram",
	 "Fragments wait until their datagram is complete. A lost fragment loses the whole of it.",
	 "A fragment did not come within ipfrag_time; the memory for fragments is full "
	 "(ipfrag_high_thresh); fragments overlap, or come twice.",
	 "Send datagrams that fit the MTU. If fragments must be, find the loss of the one that "
	 "is missing first; then allow more memory."},
	{STAGE_IP_FORWARD, "TTL, or the MTU of the way out (ip_forward, ip6_forward)",
	 "kfree_skb: IP_INHDR, PKT_TOO_BIG", NULL,
	 "This host is the router, and did not pass the packet on.",
	 "The TTL ran out (a routing loop, or TTL 1 as with multicast); the next link's MTU is "
	 "smaller and fragmenting is forbidden; forwarding is off.",
	 "`ip route get` on each router shows loops. For the MTU, let the ICMP messages through, "
	 "or send smaller packets."},
	{STAGE_TUNNEL, "decapsulation: header, network identifier, ECN (vxlan_rcv and others)",
	 "kfree_skb: VXLAN_*, IP_TUNNEL_ECN, TUNNEL_TXINFO",
	 "packets are followed in VXLAN over IPv4 of a lab only, fragments not",
	 "The end of a tunnel (VXLAN, Geneve, GRE, IPIP) took the packet in, or was to put it "
	 "in, and did not. `Udp:InDatagrams` has counted it all the same.",
	 "An identifier (VNI) that is not known here; ECN bits that contradict each other; a "
	 "header cut short; tunnels inside one another that go in a circle.",
	 "Compare `ip -d link show` of both ends."},
	{STAGE_XFRM, "IPsec policy or state (__xfrm_policy_check, xfrm_input)",
	 "kfree_skb: XFRM_POLICY; by place in xfrm_input", "no fault of states: they take keys",
	 "IPsec: a policy, or the state it needs.",
	 "A policy forbids the packet, or wants it protected and it came in clear; no state "
	 "fits, or it has expired.",
	 "`ip xfrm policy`, `ip xfrm state` and /proc/net/xfrm_stat."},
	{STAGE_UDP_LOOKUP, "no socket on the port, no listener of the group (__udp4_lib_rcv)",
	 "kfree_skb: NO_SOCKET; NOT_SPECIFIED in __udp4_lib_rcv", NULL,
	 "The datagram arrived at a port on which no socket is open. The sender gets an ICMP "
	 "message, within its limit, and a connected socket ECONNREFUSED.",
	 "The receiver does not run, has not started yet, listens on another port, address or "
	 "address family, or in another namespace. A multicast datagram for which nobody here "
	 "has joined.",
	 "`ss -ulpn sport = :PORT` in the receiver's namespace."},
	{STAGE_UDP_HEADER, "lengths of UDP and IP that do not fit (__udp4_lib_rcv)",
	 "kfree_skb: PKT_TOO_SMALL", NULL, "The length in the UDP header contradicts the packet's.",
	 "A sender or a box on the way that writes headers wrongly.",
	 "Capture some (`pktledger trace -w FILE --stage udp_header`) and follow them back."},
	{STAGE_UDP_CSUM, "checksum, verified before queueing (udp_queue_rcv_one_skb)",
	 "kfree_skb: UDP_CSUM", NULL,
	 "The UDP checksum is wrong, and was verified before the packet reached the socket's "
	 "queue. Longer datagrams are verified when they are read: `socket_read`.",
	 "A checksum left to an offload that never came, as when XDP redirects packets of a "
	 "local sender; data damaged behind the last link that checks; a box that rewrites "
	 "addresses carelessly.",
	 "`ethtool -K IFNAME tx off` at the sender shows whether the offload is it."},
	{STAGE_SOCKET_FILTER,
	 "filter of the socket, ingress program of its cgroup (sk_filter_trim_cap)",
	 "kfree_skb: SOCKET_FILTER, SECURITY_HOOK", "a filter that cuts a packet short loses none",
	 "A filter on the receiving socket (SO_ATTACH_FILTER, SO_ATTACH_BPF), a program of its "
	 "control group, or a security module.",
	 "Mostly meant so.",
	 "`ss -uamb` shows filters of sockets, `bpftool cgroup tree` programs of control groups."},
	{STAGE_UDP_MEM, "udp_mem, or the memory of the cgroup (__sk_mem_raise_allocated)",
	 "kfree_skb: PROTO_MEM", "from Linux 6.18 no SNMP counter knows it",
	 "The memory of all UDP sockets of the host together, or that of the control group. From "
	 "Linux 6.18 on only the socket's own counter has it.",
	 "Queues of sockets whose readers are slow add up to net.ipv4.udp_mem (in pages). Then "
	 "every socket loses, also one that has room.",
	 "`ss -uam` shows whose queues are long: mend those readers. Else raise net.ipv4.udp_mem."},
	{STAGE_RCVBUF, "receive buffer of the socket (__udp_enqueue_schedule_skb)",
	 "kfree_skb: SOCKET_RCVBUFF", NULL,
	 "The receive buffer of the socket was full. It is counted in memory, not in payload: a "
	 "small packet takes as much as a large one.",
	 "The application reads more slowly than packets come: it is busy, asleep, stopped, waits "
	 "for a CPU, or is held back by its CPU quota. Or bursts are longer than the buffer holds.",
	 "`pktledger trace` shows which: it watches what the reader does while packets are lost. "
	 "A larger SO_RCVBUF (at most net.core.rmem_max) is the cure for bursts only; else less "
	 "work for each packet, recvmmsg(), a thread that does nothing but read, or several "
	 "readers (SO_REUSEPORT)."},
	{STAGE_SOCKET_READ, "read, but not delivered: checksum, bad buffer (udp_recvmsg)",
	 "kfree_skb: UDP_CSUM; NOT_SPECIFIED in udp_recvmsg", NULL,
	 "The packet was in the socket's queue, and recv() or poll() threw it away instead of "
	 "delivering it.",
	 "Its checksum was wrong: from 69 bytes of payload on it is verified only now. Or the "
	 "buffer given to recv() was not writable (EFAULT).",
	 "As for `udp_csum`; with EFAULT the application has an error."},
	{STAGE_SOCKET_CLOSE, "unread when the socket closes (udp_destruct_common)",
	 "the socket's queue just before; kfree_skb in udp_destruct_common",
	 "trace sees it where tracing is not suppressed (RCU callback)",
	 "The socket was closed with packets in its queue. No counter of the kernel has this.",
	 "A program that ends or reopens its socket while packets come.",
	 "Read until the queue is empty before close(); keep the socket over a restart (socket "
	 "activation)."},
	{STAGE_OTHER, "a place that the map does not know", "kfree_skb, shown verbatim", NULL,
	 "The kernel dropped a packet at a function that this version does not know. Reason and "
	 "function are shown.",
	 "A newer kernel, or a driver or module of its own.",
	 "Please report reason, function and kernel version."},
	{STAGE_TCP_LISTEN,
	 "full accept queue of a listener (tcp_conn_request, tcp_v4_syn_recv_sock)",
	 "sk_drops of the listener; kfree_skb: TCP_LISTEN_OVERFLOW", "a SYN there leaves no event",
	 "A connection was to begin and the listening socket did not take it: its accept queue is "
	 "full, or there was no memory. The client sends its SYN again, after a second at first; "
	 "shown by `trace`, `top` and `export` only.",
	 "The application does not call accept() often enough, or the queue is short: listen()'s "
	 "own argument, at most net.core.somaxconn.",
	 "`ss -ltn`: Recv-Q is what waits, Send-Q how many may. Let the application accept() "
	 "faster or in more threads; a larger argument of listen() and net.core.somaxconn helps "
	 "against bursts. ListenDrops of `nstat -az` counts them."},
	{STAGE_TCP_BACKLOG, "full backlog of a socket that a process has in hand (tcp_add_backlog)",
	 "kfree_skb: SOCKET_BACKLOG", "in trace only",
	 "While a process works with the socket, segments wait in its backlog; there was no room "
	 "left. TCP sends again by itself; shown by `trace`, `top` and `export` only.",
	 "Long system calls on the socket, as large reads, at a high rate; small receive and send "
	 "buffers, whose sum is the limit.",
	 "Larger net.ipv4.tcp_rmem, or SO_RCVBUF if the application sets it; GRO makes fewer and "
	 "larger packets. TCPBacklogDrop of `nstat -az` counts them."},
	{STAGE_TCP_STATE, "state of the connection (tcp_validate_incoming, tcp_rcv_state_process)",
	 "kfree_skb: TCP_RESET, TCP_CLOSE, TCP_RFC7323_*, TCP_INVALID_*, NO_SOCKET",
	 "in trace only",
	 "The segment did not fit the connection: closed, reset, outside of the window, too old by "
	 "its time stamp, or there is none. Data that TCP has already is benign; shown by `trace`, "
	 "`top` and `export` only.",
	 "A port without a listener, a connection that one end has ended, a middlebox that forgot "
	 "it, a host behind NAT whose time stamps go backwards (PAWS).",
	 "`ss -tan` shows the connections. Most of it is normal at the end of connections; "
	 "`nstat -az 'TcpExt*'` counts the reasons."},
	{STAGE_TCP_RCVBUF,
	 "full receive buffer of a connection (tcp_data_queue, tcp_prune_ofo_queue)",
	 "kfree_skb: TCP_ZEROWINDOW, TCP_OVERWINDOW, TCP_OFO_QUEUE_PRUNE, PROTO_MEM",
	 "in trace only",
	 "The connection had no room for the segment: its buffer was full, or what waited behind a "
	 "hole was thrown away (pruned). TCP sends again by itself; shown by `trace`, `top` and "
	 "`export` only.",
	 "The application reads too slowly, the buffer is small for the rate and the round trip, "
	 "or all TCP sockets together have too little memory (net.ipv4.tcp_mem).",
	 "`ss -tmn` shows Recv-Q and the buffer (rb). Let the application read faster; raise the "
	 "third number of net.ipv4.tcp_rmem, or let an application not set SO_RCVBUF. "
	 "TCPRcvQDrop, TCPOFODrop and TCPZeroWindowDrop of `nstat -az` count them."},
	{STAGE_TCP, "the rest of TCP (checksum, MD5, AO)", "kfree_skb: TCP_CSUM, TCP_MD5*, TCP_AO*",
	 "in trace only",
	 "TCP dropped a segment for another cause; shown by `trace`, `top` and `export` only.",
	 "A wrong checksum, a signature that is missing or wrong; before Linux 5.17, which gives "
	 "no reasons, any cause.",
	 "TCP sends again by itself. `nstat -az 'TcpExt*'` counts the reasons."},
	{STAGE_ICMP, "ICMP, neighbour discovery", "kfree_skb: ICMP_CSUM, IPV6_NDISC_*",
	 "in trace only, and there one stage",
	 "An ICMP message was dropped; shown by `trace` and `top` only.",
	 "A wrong checksum, or a kind that is ignored by a setting.",
	 "`nstat -az 'Icmp*'` counts the kinds."},
};
