// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/findings_data.h"

#define LOST                                                                                       \
	"[{lost} packets lost][, {share} of those sent][ in {window}][, {loss_rate} a second]"     \
	"[, {total} since {since}]"

#define RCVBUF_EVIDENCE                                                                            \
	LOST "[; a packet takes {truesize} bytes, so the buffer holds {burst}][: a burst of "      \
	     "{burst_time} at {arrival} packets/s][: a burst of {burst_least} at {arrival_most} "  \
	     "packets/s][; {arrival_alone} packets/s came][; read {read} packets/s]"
#define RCVBUF_CURRENT "[SO_RCVBUF {rcvbuf} bytes (doubled)][, net.core.rmem_max {rmem_max}]"
#define RCVBUF_CHANGE                                                                              \
	{                                                                                          \
		CHANGE_SYSCTL, NULL, "net/core/rmem_max", "{rmem_max_wanted}", "{rmem_max}"        \
	}
#define RCVBUF_RISK                                                                                \
	"up to {rcvbuf_wanted} bytes of kernel memory for this socket, and that much more delay"

#define READER_EVIDENCE                                                                            \
	RCVBUF_EVIDENCE "; in {watched} with losses the reader ran {ran} of the time, waited for "  \
			"a CPU {waited}, slept {slept}[ (in {sleeps_in})][; the queue was {fill} " \
			"full in the mean]"

const struct finding_row finding_rows[] = {
	{STAGE_TX_SOCKET, "tx-socket", WHEN_ALWAYS, SEVERITY_WARNING,
	 "A cgroup egress program, or the sending socket's own parameters, refused the packet.",
	 LOST "[; {reason} in {location}]", .wanted = "the program or limit reviewed",
	 .command = "bpftool cgroup tree"},
	{STAGE_TX_ROUTE, "tx-route", WHEN_ALWAYS, SEVERITY_ERROR,
	 "The sender has no route to the destination, or one that discards.",
	 LOST "[; {reason} in {location}]", .wanted = "a route to the destination"},
	{STAGE_NEIGH, "neigh-queue", WHEN_NEIGH_QUEUE, SEVERITY_WARNING,
	 "The first packets waited for the neighbour's MAC address, and their queue was full.",
	 LOST, .wanted = "the neighbour resolved before the traffic starts"},
	{STAGE_NEIGH, "neigh-failed", WHEN_ALWAYS, SEVERITY_ERROR,
	 "Nobody answered for the next hop's address[ on {ifname}].", LOST "[; {reason}]",
	 .wanted = "a next hop that answers ARP or neighbour solicitations",
	 .command = "ip neigh show dev {ifname}"},
	{STAGE_TC_EGRESS, "tc-egress", WHEN_ALWAYS, SEVERITY_WARNING,
	 "A tc filter or program at the egress[ of {ifname}] dropped the packet; send() succeeded.",
	 LOST, .wanted = "the filter reviewed", .command = "tc -s filter show dev {ifname} egress"},
	{STAGE_QDISC, "qdisc", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The queue[ ({qdisc})] in front of the device[ {ifname}] was full: packets are sent "
	 "faster "
	 "than it lets out. send() succeeded.",
	 LOST, .current = "[{qdisc}][ {qdisc_limit}]",
	 .wanted = "a lower sending rate, or a larger rate or limit of the qdisc",
	 .command = "tc -s qdisc show dev {ifname}",
	 .change = {CHANGE_QDISC, "{ifname}", "root", "{qdisc_wanted}", NULL}},
	{STAGE_TX_DEVICE, "tx-device", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The transmit side of the device[ {ifname}] had no room: its ring was full, or its peer "
	 "is down.",
	 LOST "[; in {location}]",
	 .wanted = "a lower sending rate, or a reader of the ring that keeps up",
	 .command = "ip -s -s link show dev {ifname}"},
	{STAGE_WIRE, "wire", WHEN_ALWAYS, SEVERITY_ERROR,
	 "Packets left one host and did not reach the other: a switch, a cable or a router "
	 "between.",
	 LOST, .wanted = "counters of the switches between, pause frames, error counters"},
	{STAGE_NIC_RING, "nic-ring", WHEN_RING_GROWS, SEVERITY_WARNING,
	 "The NIC[ {ifname}] had no free receive descriptor: the kernel did not empty the ring in "
	 "time.",
	 LOST, .current = "ring {ring} of at most {ring_max}", .wanted = "ring {ring_max}",
	 .change = {CHANGE_RING, "{ifname}", "rx", "{ring_max}", "{ring}"},
	 .risk = "the link goes down for a moment"},
	{STAGE_NIC_RING, "nic-ring-busy", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The NIC[ {ifname}] had no free receive descriptor: the kernel did not empty the ring in "
	 "time.",
	 LOST, .current = "[ring {ring}]",
	 .wanted = "more queues or a CPU of its own for the receive work",
	 .command = "ethtool -l {ifname}"},
	{STAGE_XDP, "xdp", WHEN_ALWAYS, SEVERITY_WARNING,
	 "An XDP program[ on {ifname}] dropped the packet, or could not redirect it.",
	 LOST "[; {reason}][ in {location}]", .wanted = "the program or its target reviewed",
	 .command = "bpftool net show dev {ifname}"},
	{STAGE_XSK, "xsk", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The AF_XDP socket had no room: its RX ring was full (ENOBUFS), or its fill ring empty "
	 "(ENOMEM): the application did not keep up.",
	 LOST "[; {reason}]", .current = "[ring {ring}]",
	 .wanted = "larger rings, or a thread that only empties them"},
	{STAGE_GSO, "gso", WHEN_ALWAYS, SEVERITY_WARNING,
	 "A merged packet could not be split again.", LOST "[; {reason}][ in {location}]",
	 .wanted = "GRO and GSO off on the way, to see whether it ends"},
	{STAGE_BACKLOG, "backlog", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The backlog queue of a CPU was full: one CPU could not process what others gave it, "
	 "or one flow had more than its share (flow limit).",
	 LOST, .current = "net.core.netdev_max_backlog {backlog}",
	 .wanted = "{backlog_wanted}, or less work per packet on that CPU",
	 .change = {CHANGE_SYSCTL, NULL, "net/core/netdev_max_backlog", "{backlog_wanted}",
		    "{backlog}"},
	 .risk = "more delay under load, on all interfaces of the host"},
	{STAGE_TC_INGRESS, "tc-ingress", WHEN_ALWAYS, SEVERITY_WARNING,
	 "A tc filter or program at the ingress[ of {ifname}] dropped the packet.", LOST,
	 .wanted = "the filter reviewed", .command = "tc -s filter show dev {ifname} ingress"},
	{STAGE_L2, "l2-otherhost", WHEN_OTHERHOST, SEVERITY_WARNING,
	 "The frame was addressed to another MAC address than the receiving device's[ ({ifname})].",
	 LOST, .wanted = "the sender's neighbour entry corrected",
	 .command = "ip link show dev {ifname}"},
	{STAGE_L2, "l2", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The link layer did not pass the frame on: bridge, VLAN or unknown protocol.",
	 LOST "[; {reason}][ in {location}]", .wanted = "the bridge's or VLAN's settings reviewed"},
	{STAGE_IP_HEADER, "ip-header", WHEN_ALWAYS, SEVERITY_ERROR,
	 "The IP header was invalid on arrival: a defective sender, or something changed it.",
	 LOST "[; {reason}]", .wanted = "a sender or a path that writes valid headers"},
	{STAGE_NETFILTER, "netfilter-rule", WHEN_RULES, SEVERITY_WARNING,
	 "A firewall rule[ in the {hook} hook] dropped the packet.", LOST "; {rules}",
	 .wanted = "the rule reviewed", .command = "nft -a list chain {rule_chain}"},
	{STAGE_NETFILTER, "netfilter", WHEN_ALWAYS, SEVERITY_WARNING,
	 "A firewall rule[ in the {hook} hook] dropped the packet.", LOST "[; {rules}]",
	 .wanted = "the rule reviewed", .command = "nft list ruleset"},
	{STAGE_IP_ROUTE, "ip-rpfilter", WHEN_RPFILTER, SEVERITY_WARNING,
	 "Reverse path filtering dropped the packet: the route back to its source leaves by "
	 "another "
	 "device than it came by[ ({ifname})].",
	 LOST, .wanted = "a route back by this device, or loose mode (2)",
	 .current = "[net.ipv4.conf.{ifname}.rp_filter {rp_filter}]",
	 .change = {CHANGE_SYSCTL, NULL, "net/ipv4/conf/{ifname}/rp_filter", "2", "{rp_filter}"},
	 .risk = "packets with forged sources pass more easily"},
	{STAGE_IP_ROUTE, "ip-route", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The receiver's routing refused the packet: address not local, martian, or no route.",
	 LOST "[; {reason}][ in {location}]", .wanted = "addresses and routes reviewed"},
	{STAGE_IP_FRAG, "ip-frag", WHEN_ALWAYS, SEVERITY_WARNING,
	 "Fragments could not be put together: one was lost, or the memory for them was full.",
	 LOST "[; {reason}]", .wanted = "datagrams that fit the MTU"},
	{STAGE_IP_FORWARD, "ip-ttl", WHEN_TTL, SEVERITY_WARNING,
	 "The TTL ran out on a router[ behind {ifname}].", LOST "[; sent with TTL {ttl}]",
	 .current = "TTL {ttl}", .wanted = "a larger TTL, or no routing loop"},
	{STAGE_IP_FORWARD, "ip-too-big", WHEN_TOO_BIG, SEVERITY_WARNING,
	 "The packet was larger than the MTU of the way on, and must not be fragmented.", LOST,
	 .current = "MTU {mtu}", .wanted = "smaller packets, or a larger MTU on the way"},
	{STAGE_IP_FORWARD, "ip-forward", WHEN_ALWAYS, SEVERITY_WARNING,
	 "A router did not pass the packet on.", LOST "[; {reason}][ in {location}]",
	 .wanted = "the router's settings reviewed"},
	{STAGE_TUNNEL, "tunnel", WHEN_ALWAYS, SEVERITY_WARNING,
	 "A tunnel's end did not take the packet: unknown identifier, or a bad inner packet.",
	 LOST "[; {reason}]", .wanted = "both ends of the tunnel with the same settings"},
	{STAGE_XFRM, "xfrm", WHEN_ALWAYS, SEVERITY_WARNING, "An IPsec policy refused the packet.",
	 LOST, .wanted = "policies reviewed", .command = "ip xfrm policy"},
	{STAGE_UDP_LOOKUP, "udp-lookup", WHEN_ALWAYS, SEVERITY_ERROR,
	 "No socket was open on the destination's port[ {port}].", LOST,
	 .wanted = "a receiver bound to the address and port before the sender starts",
	 .command = "ss -ulpn sport = :{port}"},
	{STAGE_UDP_HEADER, "udp-header", WHEN_ALWAYS, SEVERITY_ERROR,
	 "The UDP header's length did not fit the packet.", LOST "[; {reason}]",
	 .wanted = "a sender or a path that writes valid headers"},
	{STAGE_UDP_CSUM, "udp-csum", WHEN_ALWAYS, SEVERITY_ERROR,
	 "The UDP checksum was wrong on arrival: damaged on the way, or left to an offload that "
	 "a redirect by XDP does not do.",
	 LOST "[; found in {location}]", .wanted = "complete checksums from the sender"},
	{STAGE_SOCKET_FILTER, "socket-filter", WHEN_ALWAYS, SEVERITY_INFO,
	 "A filter on the receiving socket, or a cgroup ingress program, refused the packet.",
	 LOST "[; {reason}]", .wanted = "the filter reviewed"},
	{STAGE_UDP_MEM, "udp-mem", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The memory for all UDP sockets of the host was used up, although this socket's buffer "
	 "had "
	 "room.",
	 LOST, .current = "net.ipv4.udp_mem {udp_mem}[ pages, at most {udp_mem_bytes} bytes]",
	 .wanted = "net.ipv4.udp_mem {udp_mem_wanted}, or smaller queues in all sockets",
	 .change = {CHANGE_SYSCTL, NULL, "net/ipv4/udp_mem", "{udp_mem_wanted}", "{udp_mem}"},
	 .risk = "UDP of the whole host may take twice the memory"},
	{STAGE_RCVBUF, "rcvbuf-stopped", WHEN_READER_STOPPED, SEVERITY_ERROR,
	 "The socket's receive buffer was full because {reader} is stopped, by a signal or a "
	 "debugger.",
	 READER_EVIDENCE, RCVBUF_CURRENT, .wanted = "the process continued (SIGCONT)"},
	{STAGE_RCVBUF, "rcvbuf-quota", WHEN_READER_THROTTLED, SEVERITY_WARNING,
	 "The socket's receive buffer was full because {reader} had used up the CPU quota of its "
	 "cgroup, and was held back.",
	 READER_EVIDENCE "; the quota withheld {throttled} of CPU time", RCVBUF_CURRENT,
	 .wanted = "a larger quota (cpu.max, CPUQuota=, a container's CPU limit), or less work in "
		   "the cgroup"},
	{STAGE_RCVBUF, "rcvbuf-cpu", WHEN_READER_WAITS, SEVERITY_WARNING,
	 "The socket's receive buffer was full because {reader} had to wait for a CPU: too few "
	 "CPUs, or others came first.",
	 READER_EVIDENCE, RCVBUF_CURRENT,
	 .wanted = "a CPU of its own for the reader, a higher priority, or less work beside it"},
	{STAGE_RCVBUF, "rcvbuf-busy", WHEN_READER_BUSY, SEVERITY_WARNING,
	 "The socket's receive buffer was full although {reader} ran all the time: it is too slow. "
	 "A larger buffer only delays the loss, unless the traffic ends first.",
	 READER_EVIDENCE, RCVBUF_CURRENT,
	 "[SO_RCVBUF {rcvbuf_request} for traffic as long as this, else ]less work for each "
	 "packet, "
	 "recvmmsg(), or more readers (SO_REUSEPORT)",
	 .change = RCVBUF_CHANGE, .risk = "[" RCVBUF_RISK "]"},
	{STAGE_RCVBUF, "rcvbuf-asleep", WHEN_READER_ASLEEP, SEVERITY_WARNING,
	 "The socket's receive buffer was full because {reader} did not read it: it slept while "
	 "packets waited.",
	 READER_EVIDENCE, RCVBUF_CURRENT,
	 .wanted = "a thread that does nothing but read this socket"},
	{STAGE_RCVBUF, "rcvbuf-bursts", WHEN_READER_RESTED, SEVERITY_WARNING,
	 "The socket's receive buffer was full for moments only: bursts were longer than it holds, "
	 "and {reader} had time to spare between them.",
	 READER_EVIDENCE, RCVBUF_CURRENT,
	 "[SO_RCVBUF {rcvbuf_request} if all came in one burst, less for many; else ]a larger "
	 "SO_RCVBUF",
	 .change = RCVBUF_CHANGE, .risk = "[" RCVBUF_RISK "]"},
	{STAGE_RCVBUF, "rcvbuf-burst", WHEN_BURST, SEVERITY_WARNING,
	 "The socket's receive buffer was full: bursts were longer than it holds.", RCVBUF_EVIDENCE,
	 RCVBUF_CURRENT,
	 "SO_RCVBUF {rcvbuf_request} (gives {rcvbuf_wanted}): what was lost would have fit",
	 .change = RCVBUF_CHANGE, .risk = RCVBUF_RISK},
	{STAGE_RCVBUF, "rcvbuf-slow", WHEN_READER_SLOW, SEVERITY_WARNING,
	 "The socket's receive buffer was full: packets came faster than[ {process}] read them. "
	 "A larger buffer only delays the loss, unless the traffic ends first.",
	 RCVBUF_EVIDENCE, RCVBUF_CURRENT,
	 "[SO_RCVBUF {rcvbuf_request} for traffic as long as this, else ]a faster reader",
	 .change = RCVBUF_CHANGE,
	 .risk = "[up to {rcvbuf_wanted} bytes of kernel memory for this socket, and that much "
		 "more "
		 "delay]"},
	{STAGE_RCVBUF, "rcvbuf", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The socket's receive buffer was full: packets came faster than they were read.",
	 RCVBUF_EVIDENCE, .current = RCVBUF_CURRENT,
	 .wanted = "a faster reader, or a larger SO_RCVBUF"},
	{STAGE_SOCKET_READ, "socket-read", WHEN_ALWAYS, SEVERITY_ERROR,
	 "The packet was taken from the socket's queue but not delivered: wrong checksum, or a bad "
	 "buffer given to recv().",
	 LOST "[; {reason}]",
	 .wanted = "complete checksums from the sender, valid buffers in the reader"},
	{STAGE_SOCKET_CLOSE, "socket-close", WHEN_ALWAYS, SEVERITY_INFO,
	 "The packets still waited in the socket when it was closed. No counter tells this.", LOST,
	 .wanted = "a reader that empties its socket before it closes it"},
	{STAGE_OTHER, "other", WHEN_ALWAYS, SEVERITY_WARNING,
	 "The kernel dropped the packet at a place that the map of stages does not know.",
	 .evidence = LOST "[; {reason}][ in {location}]"},
	{STAGE_TCP, "tcp", WHEN_ALWAYS, SEVERITY_INFO, "TCP dropped the segment.",
	 .evidence = LOST "[; {reason}][ in {location}]"},
	{STAGE_ICMP, "icmp", WHEN_ALWAYS, SEVERITY_INFO, "The ICMP message was invalid.",
	 .evidence = LOST "[; {reason}][ in {location}]"},
};

const unsigned finding_rows_n = sizeof(finding_rows) / sizeof(finding_rows[0]);
