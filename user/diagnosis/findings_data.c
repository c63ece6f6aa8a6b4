// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/findings.h"

#define SYSCTL(name, wanted, old)                                                                  \
	{                                                                                          \
		CHANGE_SYSCTL, NULL, name, wanted, old                                             \
	}
/* Of a limit that judge_limit() found. */
#define SYSCTL_LIMIT(name) SYSCTL(name, "{limit_wanted}", "{limit}")
#define LOST                                                                                       \
	"[{lost_packets} lost][, {share} of those sent][ in {window}][, {loss_rate} a second]"     \
	"[, {total} since {since}]"

#define HOLDS "[; a packet takes {truesize} bytes, so the buffer holds {burst}]"
#define RCVBUF_EVIDENCE                                                                            \
	LOST HOLDS "[: a burst of {burst_time} at {arrival} packets/s]"                            \
		   "[; {arrival_alone} packets/s came][; read {read} packets/s, one in "           \
		   "{per_packet}]"
#define RCVBUF_CURRENT "[SO_RCVBUF {rcvbuf_now}][, net.core.rmem_max {rmem_max}]"
#define RCVBUF_CHANGE  SYSCTL("net/core/rmem_max", "{rmem_max_wanted}", "{rmem_max}")
#define RCVBUF_RISK                                                                                \
	"up to {rcvbuf_wanted} bytes of kernel memory for this socket, and that much more delay"

#define READER                                                                                     \
	"; in {watched} with losses the reader ran {ran} of the time, waited for a CPU {waited}, " \
	"slept {slept}[ (mostly {sleeps})][; its buffer was full in {full} of its sleep]"
#define READER_EVIDENCE RCVBUF_EVIDENCE READER

/* Of a socket whose buffer somebody made small. */
#define QUEUE_EVIDENCE                                                                             \
	"{lost_packets} lost in {window}, {loss_rate} a second[, {total} since it was opened]; "   \
	"{queued} of {rcvbuf} bytes queued"

/* Of a CPU that serves a NIC. */
#define SOFTIRQ "CPU {cpu} spent {softirq} % of {window} in softirq[, {processed} packets a second]"

/* What who reads a TCP socket did, or accepts, if it is known. */
#define TCP_READER                                                                                 \
	"[; in {watched} with losses {reader} ran {ran} of the time, waited for a CPU {waited}, "  \
	"slept {slept}][ in {sleeps_in}]"
#define TCP_RCVBUF_CURRENT "[net.ipv4.tcp_rmem {tcp_rmem}][; SO_RCVBUF {rcvbuf} bytes (doubled)]"

#define LISTENER_EVIDENCE                                                                          \
	"{socket} of {process} lost {lost} by its counter; {waiting} wait in its queue" TCP_READER

/* Of a NAT that leads to where nobody is. */
#define DNAT_EVIDENCE                                                                              \
	"a connection to {asked} goes to {backend}, and no answer came back[; "                    \
	"{lost_packets} lost]"
#define DNAT_CURRENT "[the rule {nat_rule}]"
#define DNAT_WANTED  "[another backend in {nat_rule}, then ]the old entries deleted"

const char *const finding_proofs[] = {"not", "lab", "guest", "data"};

const struct finding_row finding_rows[] = {
	{STAGE_TX_SOCKET, "tx-too-big", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The packet is larger than the MTU of the device that it leaves by[ ({ifname}, {mtu})], "
	 "and must not be fragmented.",
	 "A packet of this host is larger than the MTU of its way out, and has DF set. Mostly a "
	 "tunnel made it: its device has an MTU that leaves no room for the tunnel's own headers "
	 "(VXLAN adds 50 bytes over IPv4, 70 over IPv6). Small packets pass, large ones never do.",
	 /* most kernels give no reason there */
	 .location = "ip_fragment ip_do_fragment ip6_fragment",
	 .evidence = LOST "[; {reason} in {location}]", .current = "[{ifname} MTU {mtu}]",
	 .wanted = "an MTU of the tunnel's device that leaves room for its headers, smaller "
		   "packets, or a larger MTU on every link of the way",
	 .command = "ip -d link show"},
	{STAGE_TX_SOCKET, "tx_socket", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "A cgroup egress program, or the sending socket's own parameters, refused the packet.",
	 "A program attached to the sender's control group, or parameters of the sending socket "
	 "itself, refused the packet. send() returns EPERM for the former. `bpftool cgroup tree` "
	 "shows which programs there are.",
	 .evidence = LOST "[; {reason} in {location}]", .wanted = "the program or limit reviewed",
	 .command = "bpftool cgroup tree"},
	{STAGE_TX_ROUTE, "tx_route", WHEN_ALWAYS, SEVERITY_ERROR, PROOF_LAB,
	 "The sender has no route to the destination, or one that discards.",
	 "The routing table of the sender has no route to the destination, or one of type "
	 "blackhole, unreachable or prohibit. IPv4 refuses such a send() at once; IPv6 may lose "
	 "the packet after it.",
	 .evidence = LOST "[; {reason} in {location}]", .wanted = "a route to the destination"},
	{STAGE_NEIGH, "neigh-queue", WHEN_NOT_SILENT, SEVERITY_WARNING, PROOF_LAB,
	 "The first packets waited for the neighbour's MAC address, and their queue was full.",
	 "While the MAC address of the next hop is asked for, a short queue holds packets to it "
	 "(unres_qlen_bytes of the neighbour table). What comes beyond it pushes out older "
	 "packets. A static neighbour, or one packet sent well before the traffic, avoids it.",
	 .reason = "NEIGH_QUEUEFULL", .evidence = LOST,
	 .wanted = "the neighbour resolved before the traffic starts"},
	{STAGE_NEIGH, "neigh-dnat", WHEN_DNAT, SEVERITY_ERROR, PROOF_LAB,
	 "NAT sends what goes to {asked} on to {backend}, and nobody answers for that address[ on "
	 "{silent_on}].",
	 "Connection tracking has an entry without a reply that changes the destination to an "
	 "address for which no neighbour answers: the backend is gone. An entry outlives its rule, "
	 "and a client that goes on from the same port keeps it alive, as DNS resolvers do. Where "
	 "a rule of nftables still names the backend, it is shown; maps and iptables are not "
	 "searched.",
	 .evidence = DNAT_EVIDENCE, .current = DNAT_CURRENT, .wanted = DNAT_WANTED,
	 .command = "{entries}"},
	{STAGE_NEIGH, "neigh-failed", WHEN_ALWAYS, SEVERITY_ERROR, PROOF_LAB,
	 "Nobody answered for the next hop's address[ {silent}][ on {ifname}][ in {silent_in}].",
	 "The next hop did not answer ARP or neighbour solicitations. All packets that waited for "
	 "it are lost together, some seconds after they were sent, and send() had returned success "
	 "long before. What did not fit in the queue of those that wait is lost at once "
	 "(NEIGH_QUEUEFULL), and is most of it at a high rate.",
	 .evidence = LOST "[; {reason}]",
	 .wanted = "a next hop that answers ARP or neighbour solicitations",
	 .command = "[{silent_enter} ]ip neigh show dev {ifname}"},
	{STAGE_TC_EGRESS, "tc_egress", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "A tc filter or program at the egress[ of {ifname}] dropped the packet; send() succeeded.",
	 "A tc filter, or a BPF program at clsact or tcx, dropped the packet on its way out. "
	 "Neither send() nor the socket learns of it; the counters of the filter do.",
	 .evidence = LOST, .wanted = "the filter reviewed",
	 .command = "tc -s filter show dev {ifname} egress"},
	{STAGE_QDISC, "qdisc-no-carrier", WHEN_NO_CARRIER, SEVERITY_ERROR, PROOF_LAB,
	 "The device[ {ifname}] has no carrier: the kernel discards what is sent by it. send() "
	 "succeeded.",
	 "A device that is up and has no link (a cable, a switch port, the other end of a veth, a "
	 "bridge without a port that is up) discards what is sent, while its addresses and routes "
	 "stay, unless net.ipv4.conf.all.ignore_routes_with_linkdown is 1. Neither send() nor a "
	 "queue's counters show it.",
	 .evidence = LOST, .wanted = "its link up, or another way",
	 .command = "ip -d link show dev {ifname}"},
	{STAGE_QDISC, "qdisc-noop", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The device[ {ifname}] had no queue at that moment: its link was down, or its qdisc was "
	 "being replaced. send() succeeded.",
	 "While its link is down, and for a moment after, a device has a qdisc that takes nothing "
	 "(noop). What is sent then is lost at once, and no counter of the device or of its qdisc "
	 "moves: `tc -s qdisc` shows none of it. The same happens while a qdisc is replaced.",
	 /* the second: of what was in the queue, as RTNL is given back */
	 .location = "*noop_enqueue* *rtnl_unlock*", .evidence = LOST "; in {location}",
	 .wanted = "a link that stays up; a qdisc that is not replaced under traffic",
	 .command = "ip -s -s link show dev {ifname}"},
	{STAGE_QDISC, "qdisc", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The queue[ ({qdisc})] in front of the device[ {ifname}] was full: packets are sent "
	 "faster than it lets out. send() succeeded.",
	 "The queueing discipline in front of the device was full or shaped the traffic: packets "
	 "are sent faster than it lets them out. send() succeeds all the same, unless the socket "
	 "has IP_RECVERR. A longer queue helps against bursts and adds delay; against a rate that "
	 "stays too high only a lower rate helps. A change of the limit is advised only for a "
	 "pfifo that is shorter than the device's own queue length.",
	 .evidence = LOST, .current = "[{qdisc}][ {qdisc_limit}]",
	 .wanted = "a lower sending rate, or a larger rate or limit of the qdisc",
	 .command = "tc -s qdisc show dev {ifname}",
	 .change = {CHANGE_QDISC, "{ifname}", "root", "{qdisc_wanted}", NULL}},
	{STAGE_QDISC, "qdisc-tcp", WHEN_BALANCE, SEVERITY_WARNING, PROOF_LAB,
	 "The queue in front of the device[ {ifname}] dropped segments of this host's own TCP "
	 "before they were sent: it is shorter than what connections may have in it.",
	 "A queueing discipline of the sender refused segments of its own TCP, which sends what "
	 "was new again as new: throughput falls, and no counter of retransmissions moves. Each "
	 "connection may have up to net.ipv4.tcp_limit_output_bytes there (TCP Small Queues); fq "
	 "drops what a connection has beyond its flow_limit, too. `trace --balance` shows this.",
	 .evidence = "segments dropped there: {lost}",
	 .current = "[net.ipv4.tcp_limit_output_bytes {tsq}]",
	 .wanted = "a longer queue (its limit, and flow_limit of fq), or a smaller "
		   "net.ipv4.tcp_limit_output_bytes",
	 .command = "tc -s qdisc show dev {ifname}"},
	{STAGE_TX_DEVICE, "tx-peer", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The other end of the link[ of {ifname}] did not take the packet: it was down, or its MTU "
	 "is smaller.",
	 "A virtual link (veth) hands a packet to its other end, which takes none while it is "
	 "down, and none that is larger than its own MTU. send() succeeded; the device of the "
	 "sender counts it as dropped. No lower rate helps.",
	 .location = "*dev_forward_skb*", .evidence = LOST "[; in {location}]",
	 .wanted = "the other end up, and both with the same MTU",
	 .command = "ip -d link show dev {ifname}"},
	{STAGE_TX_DEVICE, "tx_device", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The transmit side of the device[ {ifname}] had no room: its ring was full, or its peer "
	 "is down.",
	 "The driver had no room for the packet: its transmit ring was full while no qdisc held "
	 "packets back, or the other end of a virtual link was down or did not read. With veth the "
	 "counter stands at the sender and the ring belongs to the receiver.",
	 .evidence = LOST "[; in {location}]",
	 .wanted = "a lower sending rate, or a reader of the ring that keeps up",
	 .command = "ip -s -s link show dev {ifname}"},
	{STAGE_WIRE, "wire", WHEN_ALWAYS, SEVERITY_ERROR, PROOF_LAB,
	 "Packets left one host and did not reach the other: a switch, a cable or a router "
	 "between.",
	 "Packets have left one host's NIC and not reached the other's. The cause is between them: "
	 "a switch, a router, a cable, or the port of the receiver before its first counter. If "
	 "both are namespaces of one host, what is between is on it, too, and trace shows its "
	 "drops.",
	 .evidence = LOST,
	 .wanted = "counters of the switches between, pause frames, error counters; between two "
		   "namespaces `pktledger trace` on their host"},
	{STAGE_NIC_RING, "nic_ring", WHEN_RING_GROWS, SEVERITY_WARNING, PROOF_GUEST,
	 "The NIC[ {ifname}] had no free receive descriptor: the kernel did not empty the ring in "
	 "time.",
	 "The NIC had packets for the kernel and no free descriptor to put them to: the receive "
	 "ring was full because the kernel did not empty it in time. The ring is not at its "
	 "largest; a larger one holds longer bursts. It takes effect at once and takes the link "
	 "down for a moment with most drivers. It does not help against a CPU that is too slow all "
	 "the time.",
	 .evidence = LOST, .current = "ring {ring} of at most {ring_max}",
	 .wanted = "ring {ring_max}",
	 .change = {CHANGE_RING, "{ifname}", "rx", "{ring_max}", "{ring}"},
	 .risk = "the link goes down for a moment"},
	{STAGE_NIC_RING, "nic-ring-busy", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_GUEST,
	 "The NIC[ {ifname}] had no free receive descriptor: the kernel did not empty the ring in "
	 "time.",
	 "The receive ring was full although it is at its largest, or its size is not known. The "
	 "CPU that empties it has too much to do: more queues, a CPU without other work, less work "
	 "for each packet (rules, taps, copies), or XDP.",
	 .evidence = LOST, .current = "[ring {ring}]",
	 .wanted = "more queues or a CPU of its own for the receive work",
	 .command = "ethtool -l {ifname}"},
	{STAGE_XDP, "xdp", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "An XDP program[ on {ifname}] dropped the packet, or could not redirect it.",
	 "An XDP program dropped the packet, or its redirect failed. If the program is meant to "
	 "drop, this is no loss. Redirects fail when the target's ring is full or the target has "
	 "no XDP set up.",
	 .evidence = LOST "[; {reason}][ in {location}]",
	 .wanted = "the program or its target reviewed",
	 .command = "bpftool net show dev {ifname}"},
	{STAGE_XSK, "xsk", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The AF_XDP socket had no room: its RX ring was full (ENOBUFS), or its fill ring empty "
	 "(ENOMEM): the application did not keep up.",
	 "An AF_XDP socket had no room: the application did not take descriptors out of its RX "
	 "ring, or put none into the fill ring. A thread that does nothing else, larger rings, or "
	 "busy polling help.",
	 .evidence = LOST "[; {reason}]", .current = "[ring {ring}]",
	 .wanted = "larger rings, or a thread that only empties them"},
	{STAGE_GSO, "gso", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "A merged packet could not be split again.",
	 "A packet that GRO or the sender had merged could not be cut again. Drivers that set "
	 "wrong checksums or sizes do that; switching GRO or GSO off shows whether it is this.",
	 .evidence = LOST "[; {reason}][ in {location}]",
	 .wanted = "GRO and GSO off on the way, to see whether it ends"},
	{STAGE_BACKLOG, "backlog-link-down", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_DATA,
	 "The device[ {ifname}] to which the packet came was being set down or removed.",
	 "A packet had come to a device, as by veth or loopback, and before a CPU processed it the "
	 "device went down. What is sent while a link flaps, or while a container starts or "
	 "ends, is lost there.",
	 "DEV_READY QUEUE_PURGE", NULL, .evidence = LOST "; {reason}",
	 .wanted = "a link that stays up while packets come",
	 .command = "ip -s link show dev {ifname}"},
	{STAGE_BACKLOG, "backlog", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The backlog queue of a CPU was full: one CPU could not process what others gave it, or "
	 "one flow had more than its share (flow limit).",
	 "A CPU's backlog queue was full: other CPUs, by RPS, by loopback or veth, gave it packets "
	 "faster than it could process them. net.core.netdev_max_backlog is its length for every "
	 "CPU. A longer one holds longer bursts and adds delay; it is advised to double it.",
	 .evidence = LOST, .current = "net.core.netdev_max_backlog {backlog}",
	 .wanted = "{backlog_wanted}, or less work per packet on that CPU",
	 .change = SYSCTL("net/core/netdev_max_backlog", "{backlog_wanted}", "{backlog}"),
	 .risk = "more delay under load, on all interfaces of the host"},
	{STAGE_BACKLOG, "backlog-flow-limit", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "The flow limit took packets of the largest flow, since a CPU's backlog was half full.",
	 "As soon as a backlog is half full, the flow limit takes packets of the flow that fills "
	 "most of it, so that the others survive. It is on only for the CPUs of "
	 "flow_limit_cpu_bitmap. Where one flow is the purpose of the host, it takes exactly that.",
	 .evidence = FINDING_MOVED, .current = "net.core.flow_limit_cpu_bitmap {flow_limit}",
	 .wanted = "no flow limit, if one flow is the purpose of this host",
	 .change = SYSCTL("net/core/flow_limit_cpu_bitmap", "0", "{flow_limit}"),
	 .risk = "one large flow can take the backlog from all others"},
	{STAGE_TC_INGRESS, "tc_ingress", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "A tc filter or program at the ingress[ of {ifname}] dropped the packet.",
	 "A tc filter, or a BPF program at clsact or tcx, dropped the packet on its way in, before "
	 "the IP stack saw it.",
	 .evidence = LOST, .wanted = "the filter reviewed",
	 .command = "tc -s filter show dev {ifname} ingress"},
	{STAGE_TC_INGRESS, "tc-filter", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "A tc filter or program of {ifname} dropped packets, on their way in or out.",
	 "What filters of clsact drop is one counter for both directions. `pktledger trace` shows "
	 "in which the packets went, and `pktledger trace --by flow` whose they are.",
	 .evidence = FINDING_MOVED, .wanted = "the filter reviewed",
	 .command = "tc -s filter show dev {ifname} ingress"},
	{STAGE_L2, "l2-otherhost", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The frame was addressed to another MAC address than the receiving device's[ ({ifname})].",
	 "The frame carried another destination MAC address than the interface has, and came all "
	 "the same: a switch that floods, promiscuous mode, or a neighbour entry at the sender "
	 "that is no longer true.",
	 .reason = "OTHERHOST", .evidence = LOST,
	 .wanted = "the sender's neighbour entry corrected",
	 .command = "ip link show dev {ifname}"},
	{STAGE_L2, "l2-stp", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The bridge port[ {ifname}] by which the frame came does not forward: its state is "
	 "listening, learning, blocking or disabled.",
	 "Spanning tree, its forward delay after a link came up, or a command has put the port "
	 "into "
	 "a state in which it takes no frames. With STP that is how loops are avoided: the path "
	 "leads by another port then. A port to a host need not wait (`forward_delay` of the "
	 "bridge "
	 "0, or RSTP and an edge port).",
	 "BRIDGE_INGRESS_STP_STATE", NULL, .evidence = LOST,
	 .wanted = "a port that forwards, or a path without it",
	 .command = "bridge -d link show dev {ifname}"},
	{STAGE_L2, "l2-bridge", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The bridge did not pass on the frame[ that came by {ifname}]: that port or the one to "
	 "its destination is blocked, isolated, does not flood, or they are the same.",
	 "A bridge sends a frame to the port behind which its destination is, or to all if it does "
	 "not know that. None is left if the port is not forwarding (STP, `state`), if both are "
	 "isolated, if it must not flood, if it is the port that the frame came by (`hairpin`), if "
	 "a VLAN is not on it, or if the frame is larger than its MTU.",
	 .location = "br_*", .evidence = LOST "[; {reason}][ in {location}]",
	 .wanted = "the state, the flags and the addresses of both ports reviewed (`bridge fdb`)",
	 .command = "bridge -d link show"},
	{STAGE_L2, "l2", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_NOT,
	 "The link layer did not hand the packet on: an unknown protocol, VLAN or address.",
	 "The link layer did not hand the packet on: no handler for its protocol, a VLAN without "
	 "an interface, or a MAC filter of a virtual device.",
	 .evidence = LOST "[; {reason}][ in {location}]",
	 .wanted = "the settings of the VLAN or the virtual device reviewed"},
	{STAGE_IP_HEADER, "ip_header", WHEN_ALWAYS, SEVERITY_ERROR, PROOF_LAB,
	 "The IP header was invalid on arrival: a defective sender, or something changed it.",
	 "The IP header did not pass the checks on arrival: version, length, checksum. Some sender "
	 "or box on the way writes it wrong.",
	 .evidence = LOST "[; {reason}]", .wanted = "a sender or a path that writes valid headers"},
	{STAGE_NETFILTER, "netfilter-clash", WHEN_CLASH, SEVERITY_WARNING, PROOF_LAB,
	 "The packet of a new flow was dropped because its connection could not be entered: source "
	 "NAT has no port left for it, or another packet of the flow came at the same moment.",
	 "No rule dropped the packet, and the table of connections is not full. Mostly source NAT "
	 "(masquerade, snat) has fewer addresses and ports than there are flows to one "
	 "destination; or a program sends two packets of a new flow at once, as a resolver does "
	 "for A and AAAA, and destination NAT gave them different backends.",
	 .evidence = LOST "; nf_conntrack insert_failed +{conntrack_clashes}",
	 .wanted = "more ports or addresses for source NAT, or one packet of a new flow at a time",
	 .command = "conntrack -S"},
	{STAGE_NETFILTER, "netfilter-conntrack", WHEN_CONNTRACK, SEVERITY_ERROR, PROOF_LAB,
	 "The firewall's table of connections was full: packets of new flows were dropped.",
	 "The firewall keeps track of connections and had no entry left for a new one, while all "
	 "that it had were in use. No rule dropped the packet. `ss` and conntrack(8) show what the "
	 "entries are of; UDP flows keep theirs for 30 seconds or more, TCP's for days if neither "
	 "end says that it is over. A larger table helps, shorter timeouts, or no tracking "
	 "(notrack) of flows that need none.",
	 .evidence = LOST "; nf_conntrack drop +{conntrack_drops}",
	 .current = "{conntrack_used} entries, net.netfilter.nf_conntrack_max {conntrack_max}",
	 .wanted = "{conntrack_wanted}",
	 .change =
		 SYSCTL("net/netfilter/nf_conntrack_max", "{conntrack_wanted}", "{conntrack_max}"),
	 .risk = "more kernel memory, some 300 bytes an entry"},
	{STAGE_NETFILTER, "netfilter-rule", WHEN_RULES, SEVERITY_WARNING, PROOF_LAB,
	 "A firewall rule[ in the {hook} hook] dropped the packet.",
	 "A rule of the firewall dropped the packet, and its counter moved by as much while "
	 "packets were lost: the chain and the number of the rule are named. `nft -a list chain` "
	 "shows it with the handle by which it can be deleted.",
	 .evidence = LOST "; {rules}", .wanted = "the rule reviewed",
	 .command = "nft -a list chain {rule_chain}"},
	{STAGE_NETFILTER, "netfilter", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "A firewall rule[ in the {hook} hook] dropped the packet.",
	 "A rule of nftables or iptables, or a chain's policy, dropped the packet. In the output "
	 "and postrouting hooks send() returns EPERM. Rules with counters show which of them it "
	 "was.",
	 .evidence = LOST "[; {rules}]", .wanted = "the rule reviewed",
	 .command = "nft -a list ruleset"},
	{STAGE_IP_ROUTE, "ip-rpfilter-no-route", WHEN_NO_WAY_BACK, SEVERITY_WARNING, PROOF_LAB,
	 "Reverse path filtering dropped the packet: there is no route back to {source}[, whose "
	 "packets come by {ifname}].",
	 "With rp_filter the kernel drops a packet to whose source it has no route. Mode 2, loose, "
	 "drops it too; mode 0 would take any source. Multicast from another network is the usual "
	 "case: it is received without ever an answer, so nobody missed the route.",
	 .reason = "IP_RPFILTER", .evidence = LOST,
	 .current = "[net.ipv4.conf.{ifname}.rp_filter {rp_filter}]",
	 .wanted = "a route to {source}[ by {ifname}: `ip route add {source} dev {ifname}`, with "
		   "`via` if a gateway is between]",
	 .command = "ip route get {source}"},
	{STAGE_IP_ROUTE, "ip-rpfilter", WHEN_OTHER_WAY_BACK, SEVERITY_WARNING, PROOF_LAB,
	 "Reverse path filtering dropped the packet: the route back to its source {source} leaves "
	 "by {back}, and the packet came by {ifname}.",
	 "With rp_filter 1 the kernel drops a packet whose source address it would not reach "
	 "through the interface by which it came. With several uplinks or asymmetric routes that "
	 "is every legitimate packet of the other path. Mode 2 asks only that some route exists. "
	 "The value in force is the larger one of the interface's and of `all`.",
	 .reason = "IP_RPFILTER", .evidence = LOST,
	 .current = "[net.ipv4.conf.{ifname}.rp_filter {rp_filter}]",
	 .wanted = "loose mode (2), or a route back by {ifname}",
	 .command = "ip route get {source}",
	 .change = SYSCTL("net/ipv4/conf/{ifname}/rp_filter", "2", "{rp_filter}"),
	 .risk = "packets with forged sources pass more easily"},
	{STAGE_IP_ROUTE, "ip-rpfilter-unseen", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "Reverse path filtering dropped the packet: the route back to its source leaves by "
	 "another device than it came by[ ({ifname})], or there is none.",
	 "A packet was dropped by reverse path filtering, and none was seen whose source could be "
	 "looked up: too few came, or the kernel shows no drop reasons. Loose mode helps only if "
	 "there is a route back by another device. The counter does not name the interface: it is "
	 "the strict one with the most traffic.",
	 .reason = "IP_RPFILTER", .evidence = LOST,
	 .current = "[net.ipv4.conf.{ifname}.rp_filter {rp_filter}]",
	 .wanted = "its source known, by watching for longer: without a route back to it a route, "
		   "with one by another device loose mode (2)",
	 .command = "pktledger trace --by flow --reason IP_RPFILTER"},
	{STAGE_IP_ROUTE, "ip-not-router", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The packet came for an address that this host does not have[, by {ifname}], and IP "
	 "forwarding is off here.",
	 "The kernel forwards only what net.ipv4.ip_forward (of a device: conf/IFNAME/forwarding) "
	 "or net.ipv6.conf.all.forwarding allows. A host that is a router, also one for its "
	 "containers, needs it, and other programs switch it off. On a host that is none an "
	 "address is missing, as that of a service on lo, or the sender's route or neighbour entry "
	 "leads to the wrong host. It is not changed by --apply: forwarding opens ways that were "
	 "closed.",
	 .reason = "IP_INADDRERRORS", .evidence = LOST "[; {reason}]", .current = "forwarding off",
	 .wanted = "`sysctl -w net.ipv4.ip_forward=1` (IPv6: net.ipv6.conf.all.forwarding) if this "
		   "host is a router; else the address here",
	 .command = "sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding"},
	{STAGE_IP_ROUTE, "ip-no-route", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "This router has no route to the packet's destination[; it came by {ifname}].",
	 "The packet was for another host, forwarding is on, and the routes of this one, or of the "
	 "network namespace that is named, do not lead to its destination, or a route says that it "
	 "is unreachable. The sender hears of it by ICMP, at a limited rate.",
	 .reason = "IP_INNOROUTES", .evidence = LOST "[; {reason}]",
	 .wanted = "a route to the destination",
	 .command = "pktledger trace --by reason,location,flow --stage ip_route"},
	{STAGE_IP_ROUTE, "ip-discard", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "A route of this router discards what goes to the packet's destination: its type is "
	 "blackhole, unreachable or prohibit[; it came by {ifname}].",
	 "Somebody set a route that discards, as against a known attacker or for a network that is "
	 "no longer there. `ip route get` of the destination shows it. Of `blackhole` nobody "
	 "hears; the other types send ICMP.",
	 /* ip_error() has reasons for all else (Linux 5.19) */
	 .reason = "NOT_SPECIFIED", .location = "ip_error dst_discard*",
	 .evidence = LOST "[; in {location}]", .wanted = "that route reviewed",
	 .command = "pktledger trace --by reason,location,flow --stage ip_route"},
	{STAGE_IP_ROUTE, "ip-own-source", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The packet came[ by {ifname}] with a source address that this host has itself.",
	 "A packet from outside cannot have one of this host's own addresses as its source: "
	 "another host has the same address, or what this host sent came back to it.",
	 .reason = "IP_LOCAL_SOURCE", .evidence = LOST "[; {reason}]",
	 .wanted = "each address on one host only, and no loop", .command = "ip addr show"},
	{STAGE_IP_ROUTE, "mcast-not-joined", WHEN_NOT_JOINED, SEVERITY_INFO, PROOF_LAB,
	 "The packets are multicast to a group that nobody has joined[ on {ifname}].",
	 "Multicast is received only on the devices on which a program has joined the group "
	 "(IP_ADD_MEMBERSHIP, IPV6_JOIN_GROUP): `ip maddr` shows them. A program that joins "
	 "without naming a device joins on that of the route to the group, often another one. It "
	 "counts as no loss, and is said only of packets that were asked for by an expression.",
	 .evidence = "[{lost_packets} discarded][; in {location}]",
	 .wanted = "a program that joins on[ {ifname},] the device by which they come",
	 .command = "ip maddr show dev {ifname}"},
	{STAGE_IP_ROUTE, "ip_route", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_NOT,
	 "The receiver's routing refused the packet: its source or destination is martian, or "
	 "there is no route onwards.",
	 "The receiver's routing refused the packet: a martian source or destination, or no route "
	 "onwards.",
	 .evidence = LOST "[; {reason}][ in {location}]",
	 .wanted = "addresses and routes reviewed"},
	{STAGE_IP_FRAG, "ip_frag", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "Fragments could not be put together: one was lost, or the memory for them was full.",
	 "A datagram did not become complete: one of its fragments was lost, came too late "
	 "(ipfrag_time), or the memory for fragments was full. Each lost fragment loses the whole "
	 "datagram, so losses multiply with the number of fragments.",
	 .evidence = LOST "[; {reason}]", .wanted = "datagrams that fit the MTU"},
	{STAGE_IP_FORWARD, "ip-ttl", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The TTL of the packet ran out on a router[, to which it came by {ifname}].",
	 "A router counted the packet's TTL down to zero. Either the TTL it was sent with is too "
	 "small, as with multicast where it is 1, or routes go round in a circle.",
	 .reason = "IP_INHDR", .evidence = LOST "[; sent with TTL {ttl}]", .current = "TTL {ttl}",
	 .wanted = "a larger TTL, or no routing loop"},
	{STAGE_IP_FORWARD, "ip-too-big", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The packet was larger than the MTU of the way on, and must not be fragmented.",
	 "The packet was larger than the MTU of the next link and must not be fragmented. The "
	 "sender hears of it by ICMP, which firewalls often drop; then all its large packets go on "
	 "being lost.",
	 .reason = "PKT_TOO_BIG", .evidence = LOST, .current = "MTU {mtu}",
	 .wanted = "smaller packets, or a larger MTU on the way"},
	{STAGE_IP_FORWARD, "ip_forward", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_NOT,
	 "A router did not pass the packet on.",
	 "This host forwards, and did not forward this packet: forwarding is off for the "
	 "interface, or a setting or policy forbade it.",
	 .evidence = LOST "[; {reason}][ in {location}]",
	 .wanted = "the router's settings reviewed"},
	{STAGE_TUNNEL, "tunnel", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "A tunnel's end did not take the packet: unknown identifier, or a bad inner packet.",
	 "The end of a tunnel did not take the packet: an identifier that it does not have, ECN "
	 "bits that contradict each other, or an inner packet that makes no sense.",
	 .evidence = LOST "[; {reason}]",
	 .wanted = "both ends of the tunnel with the same settings"},
	{STAGE_XFRM, "xfrm", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "An IPsec policy refused the packet.",
	 "An IPsec policy forbade the packet, or no state was there for it.", .evidence = LOST,
	 .wanted = "policies reviewed", .command = "ip xfrm policy"},
	{STAGE_UDP_LOOKUP, "udp-lookup-dnat", WHEN_DNAT, SEVERITY_ERROR, PROOF_LAB,
	 "NAT sends what goes to {asked} on to {backend}, where no socket is open.",
	 "Connection tracking has an entry without a reply that changes the destination to an "
	 "address of this host, perhaps in another network namespace, on which that UDP port is "
	 "closed: the backend has ended or listens elsewhere.",
	 .evidence = DNAT_EVIDENCE, .current = DNAT_CURRENT,
	 .wanted = "a receiver there, or " DNAT_WANTED, .command = "{entries}"},
	{STAGE_UDP_LOOKUP, "udp_lookup", WHEN_ALWAYS, SEVERITY_ERROR, PROOF_LAB,
	 "No socket took what came for the port[ {port}]: none is open on it, or what is open is "
	 "bound to another address or device, or connected to another peer.",
	 "A datagram came for a port on which no socket is open for it. The sender of a connected "
	 "socket gets ECONNREFUSED with its next call, if the ICMP message reaches it. A receiver "
	 "that has called connect() takes datagrams of that peer only. Some of it is normal on "
	 "networks with broadcasts.",
	 .evidence = LOST,
	 .wanted = "a receiver for that address, port and sender before the sender starts",
	 .command = "ss -uanp[ sport = :{port}]"},
	{STAGE_UDP_LOOKUP, "port-closed", WHEN_STATE, SEVERITY_ERROR, PROOF_LAB,
	 "No UDP socket is open on port {port}: what comes there is refused.",
	 "The port that was asked for has no UDP socket in this namespace: the program does not "
	 "run, listens on another port or address family, or lives in another namespace (--netns, "
	 "--pid).",
	 .evidence = "[{refused} datagrams in this namespace came for ports without a socket, this "
		     "one or others]",
	 .wanted = "a receiver bound to the port", .command = "ss -ulpn sport = :{port}"},
	{STAGE_UDP_HEADER, "udp_header", WHEN_ALWAYS, SEVERITY_ERROR, PROOF_LAB,
	 "The UDP header's length did not fit the packet.",
	 "The length in the UDP header contradicts the packet's.", .evidence = LOST "[; {reason}]",
	 .wanted = "a sender or a path that writes valid headers"},
	{STAGE_UDP_CSUM, "udp-csum-tunnel", WHEN_TUNNEL, SEVERITY_ERROR, PROOF_LAB,
	 "The outer UDP checksum of a tunnel's packet was wrong on arrival: its port {port} is "
	 "that of {tunnel}.",
	 "The tunnel's device at the sender leaves the checksum of the outer header to the NIC "
	 "(NETIF_F_HW_CSUM), and the NIC, or NAT on the way, gets it wrong; flannel's masquerading "
	 "did so. With tx-checksum-ip-generic off at the sender's tunnel device the kernel "
	 "computes it, at some cost of CPU time. Tunnels over IPv4 may send none at all (`ip link "
	 "... noudpcsum`).",
	 .evidence = LOST "[; found in {location}]",
	 .wanted = "at the sender: `ethtool -K {tunnel} tx-checksum-ip-generic off`, with the "
		   "tunnel's name there",
	 .command = "ip -d link show dev {tunnel}"},
	{STAGE_UDP_CSUM, "udp_csum", WHEN_ALWAYS, SEVERITY_ERROR, PROOF_LAB,
	 "The UDP checksum was wrong on arrival: damaged on the way, or left to an offload that a "
	 "redirect by XDP does not do.",
	 "The UDP checksum was wrong. Either the data was damaged after the last link that checks "
	 "it, or the sender left the checksum to a device that did not fill it in, as happens when "
	 "packets are redirected by XDP between virtual devices.",
	 .evidence = LOST "[; found in {location}]",
	 .wanted = "complete checksums from the sender"},
	{STAGE_SOCKET_FILTER, "socket_filter", WHEN_ALWAYS, SEVERITY_INFO, PROOF_LAB,
	 "A filter on the receiving socket, or a cgroup ingress program, refused the packet.",
	 "A filter that the application has put on its socket, or a BPF program of its control "
	 "group, refused the packet: meant so, as a rule.",
	 .evidence = LOST "[; {reason}]", .wanted = "the filter reviewed"},
	{STAGE_UDP_MEM, "udp-mem-cgroup", WHEN_UDP_FREE, SEVERITY_WARNING, PROOF_LAB,
	 "No memory was left for a UDP socket[ of {process}], although its receive buffer had "
	 "room: its memory cgroup was at its limit, or net.ipv4.udp_mem was, for a moment.",
	 "The kernel found no memory for the packet. The sockets of a memory cgroup (a container, "
	 "a unit of systemd) count towards its limit, and those of the whole host towards "
	 "net.ipv4.udp_mem, of which less than half is in use now. A larger receive buffer makes "
	 "it worse.",
	 .evidence = LOST "; all UDP sockets have {udp_pages} of {udp_pages_max} pages now",
	 .wanted = "a reader that keeps up, or more memory for its cgroup (memory.max)"},
	{STAGE_UDP_MEM, "udp_mem", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_GUEST,
	 "The memory for all UDP sockets of the host was used up, although this socket's buffer "
	 "had room.",
	 "All UDP sockets of the host together reached net.ipv4.udp_mem, in pages. Then every "
	 "socket loses packets, also those that have room. Newer kernels count it only at the "
	 "socket. More memory helps, or smaller buffers of slow readers.",
	 .evidence = LOST,
	 .current = "net.ipv4.udp_mem {udp_mem}[ pages, at most {udp_mem_bytes} bytes]",
	 .wanted = "net.ipv4.udp_mem {udp_mem_wanted}, or smaller queues in all sockets",
	 .change = SYSCTL("net/ipv4/udp_mem", "{udp_mem_wanted}", "{udp_mem}"),
	 .risk = "UDP of the whole host may take twice the memory"},
	{STAGE_UDP_MEM, "udp-mem-near", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "The memory for all UDP sockets of the host is nearly used up; then all of them lose "
	 "packets.",
	 "All UDP sockets together use most of net.ipv4.udp_mem, which is one limit for the host. "
	 "When it is reached, every socket loses packets. Look for a socket with a large queue and "
	 "no reader first.",
	 .evidence = "{share} % used", .current = "{used} pages, net.ipv4.udp_mem {udp_mem}",
	 .wanted = "{udp_mem_wanted}",
	 .change = SYSCTL("net/ipv4/udp_mem", "{udp_mem_wanted}", "{udp_mem}"),
	 .risk = "UDP of the whole host may take twice the memory"},
	{STAGE_RCVBUF, "rcvbuf-tap", WHEN_TAP, SEVERITY_INFO, PROOF_LAB,
	 "The buffer of a packet socket[ of {process}] was full. What it lost are copies, as of a "
	 "capture: the traffic itself lost nothing by it.",
	 "A packet socket (tcpdump, dumpcap, agents) gets a copy of each packet. Copies that find "
	 "its buffer full are missing in the capture only. A capture by a mapped ring shows its "
	 "losses when it ends, and nobody else sees them.",
	 .evidence = LOST, .current = "[SO_RCVBUF {rcvbuf} bytes (doubled)]",
	 .wanted = "a larger buffer of the capture (tcpdump -B), a filter, or less of each packet",
	 .command = "ss -0pn"},
	{STAGE_RCVBUF, "rcvbuf-stopped", WHEN_READER_STOPPED, SEVERITY_ERROR, PROOF_LAB,
	 "The socket's receive buffer was full because {reader} is stopped, by a signal or a "
	 "debugger.",
	 "The process that reads the socket is stopped, by SIGSTOP or SIGTSTP or by a debugger, "
	 "while packets come. It reads nothing until it is continued.",
	 .evidence = READER_EVIDENCE, .current = RCVBUF_CURRENT,
	 .wanted = "the process continued (SIGCONT)"},
	{STAGE_RCVBUF, "rcvbuf-quota", WHEN_READER_THROTTLED, SEVERITY_WARNING, PROOF_LAB,
	 "The socket's receive buffer was full because {reader} had used up the CPU quota of its "
	 "cgroup, and was held back.",
	 "The cgroup of the reader may use only so much CPU time in each period (cpu.max), and had "
	 "used it up: the kernel held the process back until the next period, which may be 100 ms, "
	 "however idle the CPUs were. In a container this is its CPU limit, in Kubernetes that of "
	 "the pod.",
	 .evidence = READER_EVIDENCE "; the quota withheld {throttled} of CPU time",
	 .current = RCVBUF_CURRENT,
	 .wanted = "a larger quota (cpu.max, CPUQuota=, a container's CPU limit), or less work "
		   "in the cgroup"},
	{STAGE_RCVBUF, "rcvbuf-cpu", WHEN_READER_WAITS, SEVERITY_WARNING, PROOF_LAB,
	 "The socket's receive buffer was full because {reader} had to wait for a CPU: too few "
	 "CPUs, or others came first.",
	 "The reader wanted to run and got no CPU for a good part of the time: other processes, "
	 "interrupts or the hypervisor had them. Pinning the reader to a CPU of its own, a higher "
	 "priority, or moving other work away helps; a larger buffer bridges short waits.",
	 .evidence = READER_EVIDENCE, .current = RCVBUF_CURRENT,
	 .wanted = "a CPU of its own for the reader, a higher priority, or less work beside it"},
	{STAGE_RCVBUF, "rcvbuf-busy", WHEN_READER_BUSY, SEVERITY_WARNING, PROOF_LAB,
	 "The socket's receive buffer was full although {reader} ran all the time: it is too slow. "
	 "A larger buffer only delays the loss, unless the traffic ends first.",
	 "The reader ran all the time and still read less than came. Only less work for each "
	 "packet helps: recvmmsg() or UDP GRO instead of a call for each, work moved to other "
	 "threads, or several readers on the port with SO_REUSEPORT.",
	 .evidence = READER_EVIDENCE, .current = RCVBUF_CURRENT,
	 .wanted = "less work for each packet, recvmmsg(), or more readers (SO_REUSEPORT)"},
	{STAGE_RCVBUF, "rcvbuf-asleep", WHEN_READER_ASLEEP, SEVERITY_WARNING, PROOF_LAB,
	 "The socket's receive buffer was full because {reader} did not read it: it slept while "
	 "packets waited.",
	 "The reader slept while packets waited in its queue: it was busy with something else that "
	 "sleeps, such as a disk, a lock or a timer. The function of the kernel in which it slept "
	 "is named. A thread that does nothing but read the socket is the usual answer.",
	 .evidence = READER_EVIDENCE, .current = RCVBUF_CURRENT,
	 .wanted = "a thread that does nothing but read this socket"},
	{STAGE_RCVBUF, "rcvbuf-bursts", WHEN_READER_RESTED, SEVERITY_WARNING, PROOF_LAB,
	 "The socket's receive buffer was full for moments only: bursts were longer than it holds, "
	 "and {reader} had time to spare between them.",
	 "The queue was nearly empty most of the time and the reader had time to spare: packets "
	 "came in bursts longer than the buffer holds. Here a larger buffer is the right cure.",
	 .evidence = LOST HOLDS READER "[; at most {at_once} lost at once]",
	 .current = RCVBUF_CURRENT,
	 .wanted = "a larger SO_RCVBUF[: {rcvbuf_request} (gives {rcvbuf_wanted}), for the largest "
		   "burst and a quarter more][; or none: the default {default_is}]",
	 .change = RCVBUF_CHANGE, .risk = "[" RCVBUF_RISK "]"},
	{STAGE_RCVBUF, "rcvbuf-burst", WHEN_BURST, SEVERITY_WARNING, PROOF_DATA,
	 "The socket's receive buffer was full: bursts were longer than it holds.",
	 "The socket's receive buffer was full for a short time: a burst was longer than the "
	 "buffer holds. The buffer is counted in memory, not in payload: a small packet takes as "
	 "much as a large one. The advised size would have held what was lost. A program has to "
	 "ask for it by SO_RCVBUF, and gets at most net.core.rmem_max, doubled.",
	 .evidence = RCVBUF_EVIDENCE, .current = RCVBUF_CURRENT,
	 .wanted = "SO_RCVBUF {rcvbuf_request} (gives {rcvbuf_wanted}), which the program has to "
		   "ask for: what was lost would have fit",
	 .change = RCVBUF_CHANGE, .risk = RCVBUF_RISK},
	{STAGE_RCVBUF, "rcvbuf-slow", WHEN_READER_SLOW, SEVERITY_WARNING, PROOF_LAB,
	 "The socket's receive buffer was full: packets came faster than[ {process}] read them. A "
	 "larger buffer only delays the loss, unless the traffic ends first.",
	 "Packets came faster than the program read them, for longer than a buffer could help. "
	 "Look at the reader: does it do work between two reads, wait for a lock or a disk, use "
	 "one call for each packet (recvmmsg, GRO), run on the CPU that also receives, or in a "
	 "control group without CPU time? Several sockets with SO_REUSEPORT share the work.",
	 .evidence = RCVBUF_EVIDENCE, .current = RCVBUF_CURRENT, .wanted = "a faster reader"},
	{STAGE_RCVBUF, "rcvbuf", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "The socket's receive buffer was full: packets came faster than they were read. Not "
	 "enough was seen to distinguish bursts from a slow reader.",
	 "The socket's receive buffer was full. What distinguishes a burst from a slow reader is "
	 "not known: what its reader did while packets were lost, or how many came and how fast "
	 "the program read. Watching for longer mostly shows it.",
	 .evidence = RCVBUF_EVIDENCE, .current = RCVBUF_CURRENT,
	 .wanted = "`pktledger check -t 10`, which watches what the reader does meanwhile"},
	{STAGE_RCVBUF, "rcvbuf-default", WHEN_STATE, SEVERITY_WARNING, PROOF_GUEST,
	 "The socket of {process} on port {port} has the host's default buffer, and it was full.",
	 "The socket has the host's default buffer, since its program asked for none, and that "
	 "default has been set lower than kernels have it (212992 bytes). The advised value is the "
	 "kernel's own, or four times what it is. Only sockets that are opened afterwards get it.",
	 .evidence = QUEUE_EVIDENCE, .current = "net.core.rmem_default {rmem_default}",
	 .wanted = "{rmem_default_wanted}, and the program restarted",
	 .change = SYSCTL("net/core/rmem_default", "{rmem_default_wanted}", "{rmem_default}"),
	 .risk = "all sockets opened after it may queue so much, and delay it"},
	{STAGE_RCVBUF, "rcvbuf-capped", WHEN_STATE, SEVERITY_WARNING, PROOF_LAB,
	 "The socket of {process} on port {port} got the largest buffer that the host allows, "
	 "perhaps less than it asked for, and it was full.",
	 "The socket's buffer is exactly the largest that net.core.rmem_max allows, doubled: "
	 "probably its program asked for more. It was full. The advised limit is four times as "
	 "large, at most 64 MB. The program has to ask again, which most do only when they are "
	 "started.",
	 .evidence = QUEUE_EVIDENCE, .current = "net.core.rmem_max {rmem_max}",
	 .wanted = "{rmem_max_wanted}, and the program restarted",
	 .change = SYSCTL("net/core/rmem_max", "{rmem_max_wanted}", "{rmem_max}"),
	 .risk = "sockets that ask for it may queue so much, and delay it"},
	{STAGE_RCVBUF, "rcvbuf-filling", WHEN_STATE, SEVERITY_WARNING, PROOF_LAB,
	 "{process} does not read port {port} in time: its receive buffer is more than half full "
	 "all the time.",
	 "No packet was lost yet, but the socket's buffer was more than half full at the beginning "
	 "and at the end of the window: its program does not read, or not fast enough.",
	 .evidence = "{queued} of {rcvbuf} bytes queued[, {queued_before} {window} before]",
	 .wanted = "a faster reader", .command = "ss -uampn sport = :{port}"},
	{STAGE_TX_SOCKET, "sndbuf", WHEN_STATE, SEVERITY_INFO, PROOF_LAB,
	 "Programs sent faster than their send buffer empties: send() failed, or will where it "
	 "does not wait.",
	 "A socket's send buffer holds what the qdisc and the device have not sent yet. A send() "
	 "that must not wait fails with EAGAIN when it is full, and the kernel counts that as if a "
	 "packet had been lost, although there was none. The counter is shown only while no queue "
	 "behind it lost packets, since those are counted here a second time. A setting is advised "
	 "only where a socket has the default of the host and that is less than kernels have it, "
	 "or exactly the largest that net.core.wmem_max allows.",
	 .evidence = FINDING_MOVED "[; {process} has {sndbuf} bytes]",
	 .current = "[net.core.{wmem} {wmem_now}]",
	 .wanted = "[net.core.{wmem} {wmem_wanted} and the program restarted, or ]a larger "
		   "SO_SNDBUF, or senders that wait",
	 .command = "ss -uamn", .change = SYSCTL("net/core/{wmem}", "{wmem_wanted}", "{wmem_now}"),
	 .risk = "sockets may queue so much before the device, and delay it"},
	{STAGE_SOCKET_READ, "socket_read", WHEN_ALWAYS, SEVERITY_ERROR, PROOF_LAB,
	 "The packet was taken from the socket's queue but not delivered: wrong checksum, or a bad "
	 "buffer given to recv().",
	 "The packet was already in the application's queue, and recv() found that its checksum "
	 "was wrong or that the given buffer was not writable.",
	 .evidence = LOST "[; {reason}]",
	 .wanted = "complete checksums from the sender, valid buffers in the reader"},
	{STAGE_SOCKET_CLOSE, "socket_close", WHEN_ALWAYS, SEVERITY_INFO, PROOF_LAB,
	 "The packets still waited in the socket when it was closed. No counter has this.",
	 "When the socket was closed, packets still waited in it. No counter of the kernel has "
	 "them.",
	 .evidence = LOST, .wanted = "a reader that empties its socket before it closes it"},
	{STAGE_OTHER, "other", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_NOT,
	 "The kernel dropped the packet at a place that the map of stages does not know.",
	 "The kernel dropped the packet at a place that this version of pktledger does not know. "
	 "The place and the reason are shown; please report them.",
	 .evidence = LOST "[; {reason}][ in {location}]"},
	{STAGE_TCP_LISTEN, "tcp_listen", WHEN_ALWAYS, SEVERITY_ERROR, PROOF_LAB,
	 "A listening TCP socket did not take connections: its accept queue was full.",
	 "The application does not accept connections as fast as they come, or its queue is too "
	 "short for a burst. The queue's length is what the application gives to listen(), at most "
	 "net.core.somaxconn. Clients wait a second or more, until they send their SYN again. "
	 "Where "
	 "ListenOverflows stands still, it was the queue of SYNs (`trace --balance` looks).",
	 .evidence = LOST "[; {reason}]" TCP_READER,
	 .wanted = "an application that accepts faster, or a longer queue: listen(), "
		   "net.core.somaxconn",
	 .command = "ss -ltn"},
	{STAGE_TCP_LISTEN, "tcp-listen-somaxconn", WHEN_BALANCE, SEVERITY_ERROR, PROOF_LAB,
	 "The accept queue of a listening TCP socket was full, and is as long as "
	 "net.core.somaxconn lets it be.",
	 "The application does not accept connections as fast as they come, and asked listen() for "
	 "as long a queue as net.core.somaxconn allows, or a longer one. `trace --balance` shows "
	 "which socket it is.",
	 .evidence = LISTENER_EVIDENCE, .current = "net.core.somaxconn {room}",
	 .wanted =
		 "an application that accepts faster, or net.core.somaxconn {room_wanted} and the "
		 "application restarted",
	 .change = SYSCTL("net/core/somaxconn", "{room_wanted}", "{room}"),
	 .risk = "clients wait in the queue instead"},
	{STAGE_TCP_LISTEN, "tcp-listen-own", WHEN_BALANCE, SEVERITY_ERROR, PROOF_LAB,
	 "The accept queue of a listening TCP socket was full: its application asked for a short "
	 "one.",
	 "The application does not accept connections as fast as they come, and gave listen() less "
	 "than net.core.somaxconn allows: to raise that does not help. `trace --balance` shows "
	 "which socket it is.",
	 .evidence = LISTENER_EVIDENCE,
	 .current = "a backlog of {room}[, net.core.somaxconn {somaxconn}]",
	 .wanted = "an application that accepts faster, or gives more to listen()",
	 .command = "ss -ltn"},
	{STAGE_TCP_LISTEN, "tcp-listen-syn", WHEN_BALANCE, SEVERITY_ERROR, PROOF_LAB,
	 "A listening TCP socket did not take SYNs, and its accept queue was not full.",
	 "Too many connections were half open, as in a flood of SYNs, and SYN cookies are off: "
	 "then "
	 "there may be as many as net.ipv4.tcp_max_syn_backlog and the backlog of listen() allow. "
	 "Or memory was short.",
	 .evidence = LISTENER_EVIDENCE,
	 .wanted = "net.ipv4.tcp_syncookies 1, or a longer net.ipv4.tcp_max_syn_backlog and "
		   "backlog of listen()",
	 .command = "sysctl net.ipv4.tcp_syncookies net.ipv4.tcp_max_syn_backlog"},
	{STAGE_TCP_BACKLOG, "tcp_backlog", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_DATA,
	 "Segments came while a process had the TCP socket in hand, and its backlog was full.",
	 "While a process works with a socket, segments wait in its backlog, which holds as much "
	 "as the socket's buffers. More came than that. TCP sends them again.",
	 .evidence = LOST TCP_READER,
	 .wanted = "larger buffers (net.ipv4.tcp_rmem), GRO, or shorter calls",
	 .command = "ss -tmn"},
	{STAGE_TCP_STATE, "tcp_state", WHEN_ALWAYS, SEVERITY_INFO, PROOF_NOT,
	 "The segment did not fit the state of its connection.",
	 "The connection was closed, reset or unknown, or the segment was too old for it or "
	 "outside of its window. Some of it is normal when connections end.",
	 .evidence = LOST "[; {reason}][ in {location}]"},
	{STAGE_TCP_RCVBUF, "tcp-prune", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "A TCP connection threw away what it had already received: its receive buffer was full of "
	 "data behind a hole.",
	 "A segment was lost, those behind it waited for it to be sent again, and there was no "
	 "more room: the kernel threw the newest of them away (tcp_prune_ofo_queue()), although it "
	 "had reported to the sender that it has them. What was lost first is the cause; a larger "
	 "buffer holds more behind a hole.",
	 .reason = "TCP_OFO_QUEUE_PRUNE", .evidence = LOST TCP_READER,
	 .current = TCP_RCVBUF_CURRENT,
	 .wanted = "the first loss found, or a larger net.ipv4.tcp_rmem (or SO_RCVBUF)",
	 .command = "nstat -az TcpExtPruneCalled TcpExtOfoPruned TcpExtRcvPruned"},
	{STAGE_TCP_RCVBUF, "tcp-mem", WHEN_ROOM, SEVERITY_WARNING, PROOF_DATA,
	 "No memory was left for TCP sockets, although this connection's receive buffer had room.",
	 "The sockets of a memory cgroup (a container, a unit of systemd), or all of the host, "
	 "reached their limit: of the cgroup, or net.ipv4.tcp_mem in pages. TCP sends the segment "
	 "again. A larger receive buffer makes it worse.",
	 .reason = "PROTO_MEM", .evidence = LOST "; {reason}" TCP_READER,
	 .wanted = "a reader that is faster, or more memory for its cgroup, or a larger "
		   "net.ipv4.tcp_mem",
	 .command = "ss -tmn"},
	{STAGE_TCP_RCVBUF, "tcp-rmem", WHEN_TCP_RMEM, SEVERITY_WARNING, PROOF_LAB,
	 "A TCP connection had no room for what came: its receive buffer was as large as "
	 "net.ipv4.tcp_rmem lets it be.",
	 "The kernel makes receive buffers larger as a connection needs it, up to the third number "
	 "of net.ipv4.tcp_rmem, and there it was. Small segments, and those behind a hole, take "
	 "more memory than the window allows for: what no longer fits is dropped, and TCP sends it "
	 "again. A reader that sleeps fills any buffer.",
	 .evidence = LOST "[; {reason}]" TCP_READER, .current = TCP_RCVBUF_CURRENT,
	 .wanted = "{tcp_rmem_wanted}, or a reader that is faster",
	 .change = SYSCTL("net/ipv4/tcp_rmem", "{tcp_rmem_wanted}", "{tcp_rmem}"),
	 .risk = "each connection may take twice the memory"},
	{STAGE_TCP_RCVBUF, "tcp_rcvbuf", WHEN_ALWAYS, SEVERITY_WARNING, PROOF_LAB,
	 "A TCP connection had no room for what came: its receive buffer was full, or what memory "
	 "it may take.",
	 "The application did not read as fast as data came, and the sender filled the window and "
	 "more, or the buffer was full of data behind a hole, which was thrown away. TCP sends it "
	 "again. Where the buffers of `ss -tmn` have room it was the limit of a memory cgroup or "
	 "net.ipv4.tcp_mem: no counter distinguishes these, `trace` does.",
	 .evidence = LOST "[; {reason}]" TCP_READER, .current = TCP_RCVBUF_CURRENT,
	 .wanted = "a reader that is faster, or a larger net.ipv4.tcp_rmem (or SO_RCVBUF)",
	 .command = "ss -tmn"},
	{STAGE_TCP, "tcp", WHEN_ALWAYS, SEVERITY_INFO, PROOF_LAB, "TCP dropped the segment.",
	 "TCP dropped the segment. It sends again by itself.",
	 .evidence = LOST "[; {reason}][ in {location}]"},
	{STAGE_TCP, "tcp-black-hole", WHEN_BALANCE, SEVERITY_ERROR, PROOF_LAB,
	 "Large segments are lost beyond this host, and smaller ones are not: a link on the path "
	 "has a smaller MTU, and nobody says so.",
	 "Connections are established, and a large segment is never acknowledged, however often it "
	 "is sent, where none so large ever was or smaller ones behind it are: a path MTU black "
	 "hole. A router cannot pass on "
	 "what is too large and its ICMP message does not come back, or a tunnel loses it "
	 "silently. Where a drop of them is seen on this host that is shown instead.",
	 .evidence = "connections that sent a large segment three times and more, and only smaller "
		     "ones were acknowledged: {flows}",
	 .wanted = "ICMP \"fragmentation needed\" let through on the path, an MTU or MSS that fits "
		   "(nft: tcp option maxseg size set rt mtu), or net.ipv4.tcp_mtu_probing 1",
	 .command = "ss -tin"},
	{STAGE_TCP, "tcp-reordered", WHEN_BALANCE, SEVERITY_WARNING, PROOF_LAB,
	 "Segments were sent again that had arrived: they came late or in another order, or the "
	 "acknowledgment was lost beyond this host.",
	 "The receiver had what was sent again. Which of these it was one host cannot know: the "
	 "ledgers of both, joined by `report`, show what is lost on the way back. Paths of "
	 "unequal delay (bonding without a hash of layer 4, packets sprayed over links, queues of "
	 "several CPUs) reorder packets; a delay that jumps ends a timer. Without SACK a timeout "
	 "sends all again, what was lost and what was not. Each time TCP slows down for nothing.",
	 .evidence = "not needed: {lost} of {again} retransmissions",
	 .wanted = "a way back that loses nothing; else one path for each connection (a hash of "
		   "addresses and ports), or a steady delay",
	 .command = "ss -tin"},
	{STAGE_ICMP, "icmp", WHEN_ALWAYS, SEVERITY_INFO, PROOF_NOT, "The ICMP message was invalid.",
	 "An ICMP message was not valid.", .evidence = LOST "[; {reason}][ in {location}]"},
	{STAGE_NIC_RING, "nic-port", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "The NIC {ifname} lost frames before its rings: its own buffer overflowed while the bus "
	 "or the rings did not take them.",
	 "The NIC's own buffer overflowed before any ring: the bus was too slow, the device slept, "
	 "or all rings were full. With flow control for transmission on (tx on) the NIC asks its "
	 "link's partner to wait instead; that holds back everything on this port, and a switch "
	 "may then lose packets of others.",
	 .evidence = FINDING_MOVED, .current = "[flow control: tx {pause_tx}]",
	 .wanted = "[flow control tx {pause_wanted}: the partner holds frames back; else ]fewer "
		   "frames",
	 .change = {CHANGE_PAUSE, "{ifname}", "tx", "{pause_wanted}", "{pause_tx}"},
	 .risk = "the link's partner holds back all traffic of this port, not only one flow"},
	{STAGE_NIC_RING, "nic-memory", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "The driver of {ifname} found no memory for packets.",
	 "The driver could not get memory for receive buffers in time, which happens inside "
	 "interrupts where it cannot wait. The kernel keeps vm.min_free_kbytes for that.",
	 .evidence = FINDING_MOVED,
	 .wanted = "more memory that is free at once (vm.min_free_kbytes), or smaller rings",
	 .command = "cat /proc/buddyinfo"},
	{STAGE_WIRE, "nic-crc", WHEN_STATE, SEVERITY_ERROR, PROOF_DATA,
	 "Frames arrive damaged at {ifname}: a cable, a transceiver, or a speed that does not "
	 "hold.",
	 "Frames arrived with a wrong checksum or length. The cause is physical: a cable, a "
	 "transceiver, dirt, or a speed or duplex on which the two ends disagree.",
	 .evidence = FINDING_MOVED, .wanted = "a link without errors",
	 .command = "ethtool {ifname}"},
	{STAGE_WIRE, "nic-allowance", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "The cloud queued or dropped packets of {ifname}: this machine's size is allowed less "
	 "than was sent or received.",
	 "The cloud limits bandwidth, packets a second, or tracked connections of a machine by its "
	 "size, and counts what it queued or dropped. Nothing on this host shows it otherwise. The "
	 "counters are an upper bound of what was lost.",
	 .evidence = FINDING_MOVED, .wanted = "less traffic, or a larger machine",
	 .command = "ethtool -S {ifname}"},
	{STAGE_TX_DEVICE, "nic-paused", WHEN_STATE, SEVERITY_INFO, PROOF_DATA,
	 "Pause frames on the link of {ifname}: one end asks the other to wait, and what waits may "
	 "overflow the queue before it.",
	 "The link's partner sent pause frames, or this NIC did. Sending then stops for a while. "
	 "No loss by itself; what waits may overflow a queue before it.",
	 .evidence = FINDING_MOVED, .current = "[flow control: rx {pause_rx}]",
	 .wanted = "a receiver or a switch that takes what is sent"},
	{STAGE_NIC_RING, "nic-queues", WHEN_STATE, SEVERITY_WARNING, PROOF_GUEST,
	 "One CPU does the receive work of {ifname} and is at its limit, although the NIC has more "
	 "queues.",
	 "One CPU spends almost all its time in softirq for this NIC, and the NIC could spread its "
	 "packets over more queues, each with an interrupt and a CPU of its own. Packets of one "
	 "flow stay on one queue whatever the number.",
	 .evidence = SOFTIRQ, .current = "{queues} of {queues_max} queues, {cpus} CPUs",
	 .wanted = "{queues_wanted} queues",
	 .change = {CHANGE_CHANNELS, "{ifname}", "{channel}", "{queues_wanted}", "{queues}"},
	 .risk = "the link goes down for a moment; one flow stays on one queue all the same"},
	{STAGE_NIC_RING, "nic-rss", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "RSS spreads the packets of {ifname} over {rss_used} of its {queues} queues, and a CPU is "
	 "at its limit.",
	 "The NIC has several queues in use, but its indirection table sends packets to only some "
	 "of them, and a CPU is at its limit.",
	 .evidence = SOFTIRQ, .current = "{rss_used} of {queues} queues in the indirection table",
	 .wanted = "all queues",
	 .change = {CHANGE_RSS, "{ifname}", "indirection", "equal {queues}", NULL},
	 .risk = "flows change their CPU, so that some packets overtake others"},
	{STAGE_NIC_RING, "nic-irq", WHEN_STATE, SEVERITY_WARNING, PROOF_GUEST,
	 "CPU {cpu} serves {irqs} queues of {ifname} and is at its limit, while CPU {idle_cpu} is "
	 "idle.",
	 "Several queues of the NIC interrupt the same CPU, which is at its limit, while another "
	 "is idle. irqbalance may do this better, or undo it. The change begins when the queue has "
	 "been empty once: until then its CPU polls it without interrupts.",
	 .evidence = SOFTIRQ "; interrupts {irq_list}", .current = "interrupt {irq} on CPU {cpu}",
	 .wanted = "each queue on a CPU of its own",
	 .change = {CHANGE_IRQ, NULL, "{irq}", "{idle_cpu}", NULL},
	 .risk = "irqbalance, if it runs, moves it again"},
	{STAGE_NIC_RING, "nic-rps", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "One CPU does the receive work of {ifname} and is at its limit; the NIC has no more "
	 "queues, and RPS is off.",
	 "The NIC has one queue, and the CPU that serves it is at its limit. RPS lets that CPU "
	 "only sort packets and hands them to others. It costs work in all, and does not spread a "
	 "single flow.",
	 .evidence = SOFTIRQ, .current = "queues/rx-0/rps_cpus {rps}",
	 .wanted = "RPS to the other CPUs",
	 .change = {CHANGE_SYSFS, "{ifname}", "queues/rx-0/rps_cpus", "{rps_wanted}", "{rps}"},
	 .risk = "more work in all; one flow stays on one CPU all the same"},
	{STAGE_NIC_RING, "cpu-softirq", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "CPU {cpu} is busy with receive work alone: what comes beyond it is lost in a ring or a "
	 "backlog.",
	 "A CPU spends almost all its time processing packets. What comes beyond that is lost at "
	 "the nearest ring or backlog, and programs on that CPU hardly run, readers of sockets "
	 "among them.",
	 .evidence = SOFTIRQ,
	 .wanted = "fewer packets, or less work for each: offloads, fewer rules and taps",
	 .command = "cat /proc/softirqs"},
	{STAGE_NIC_RING, "nic-coalesce", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "{ifname} waits {rx_usecs} us before it interrupts: at this rate more than half of its "
	 "ring fills meanwhile.",
	 "The NIC waits for a while before it interrupts, so that one interrupt serves many "
	 "packets. At the measured rate that time fills more than half of a ring: any further "
	 "delay loses packets. The advised time fills an eighth of it.",
	 .evidence = "{arrival} packets/s; the ring of {ring} takes {ring_time}",
	 .current = "rx-usecs {rx_usecs}", .wanted = "rx-usecs {rx_usecs_wanted}",
	 .change = {CHANGE_COALESCE, "{ifname}", "rx-usecs", "{rx_usecs_wanted}", "{rx_usecs}"},
	 .risk = "more interrupts"},
	{STAGE_NIC_RING, "cpu-budget", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "The kernel ended its receive work early while packets still waited, and packets were "
	 "lost.",
	 "The kernel processes a limited number of packets (net.core.netdev_budget) for a limited "
	 "time (netdev_budget_usecs) before it lets others run. It ended with work left while "
	 "packets were lost; which of the two ended it is not counted, so both are raised. Without "
	 "losses this counter is no reason to do anything.",
	 .evidence = "softnet time_squeeze +{squeezed} in {window}",
	 .current = "net.core.netdev_budget {budget}[, netdev_budget_usecs {budget_usecs}]",
	 .wanted = "{budget_wanted}[ and {budget_usecs_wanted}]",
	 .change = SYSCTL("net/core/netdev_budget", "{budget_wanted}", "{budget}"),
	 .risk = "programs wait longer for a CPU that receives"},
	{STAGE_NIC_RING, "cpu-governor", WHEN_STATE, SEVERITY_WARNING, PROOF_LAB,
	 "Packets are lost while CPUs may run below their full speed.",
	 "Packets were lost because something was too slow, and CPUs ran below their highest speed "
	 "under a governor that saves power.",
	 .evidence = "CPU {cpu} at {mhz} of {mhz_max} MHz", .current = "governor {governor}",
	 .wanted = "performance",
	 .change = {CHANGE_GOVERNOR, NULL, "{cpu}", "performance", "{governor}"},
	 .risk = "more power and heat"},
	{STAGE_NIC_RING, "cpu-idle", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "A CPU that sleeps deeply needs {latency} us to wake: at this rate more than half of the "
	 "ring of {ifname} fills meanwhile.",
	 "A CPU in a deep sleep needs time to wake up. At the measured rate that time fills more "
	 "than half of the NIC's ring.",
	 .evidence = "{arrival} packets/s; the ring of {ring} takes {ring_time}",
	 .current = "deepest idle state {idle_state}: {latency} us",
	 .wanted = "no state deeper than {latency_wanted} us",
	 .command = "cpupower idle-set -D {latency_wanted}", .risk = "more power and heat"},
	{STAGE_NIC_RING, "cpu-steal", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "The hypervisor gave this machine's CPU time to others: nobody empties rings and sockets "
	 "meanwhile.",
	 "The hypervisor ran something else while this machine wanted to run. Rings and sockets "
	 "fill during such gaps, which last for milliseconds.",
	 .evidence = "{steal} % of {window} stolen",
	 .wanted = "CPUs of its own, or a less crowded host"},
	{STAGE_XDP, "xdp-generic", WHEN_STATE, SEVERITY_INFO, PROOF_LAB,
	 "An XDP program runs on {ifname} in generic mode, although the driver {driver} has a "
	 "native one: each packet is made an skb first.",
	 "An XDP program is attached in generic mode, where the kernel first makes a packet buffer "
	 "as usual. The driver could run it before that. Nothing is lost by it, but much speed.",
	 .evidence = "attached mode generic", .current = "generic",
	 .wanted = "native mode: attach it with xdpdrv", .command = "ip link show dev {ifname}"},
	{STAGE_L2, "mtu-mismatch", WHEN_STATE, SEVERITY_WARNING, PROOF_LAB,
	 "{ifname} and {other} are ports of one bridge with different MTUs: what is larger than "
	 "the smaller one is dropped without a message.",
	 "A bridge forwards a frame only if it fits the MTU of the port, and otherwise drops it "
	 "without a message to the sender.",
	 .evidence = "MTU {mtu} and {other_mtu}", .current = "{ifname} {mtu}, {other} {other_mtu}",
	 .wanted = "the same MTU", .command = "ip link show master {master}"},
	{STAGE_TX_DEVICE, "mtu-peer", WHEN_STATE, SEVERITY_WARNING, PROOF_LAB,
	 "{ifname} and the other end of its link have different MTUs: what is larger than the "
	 "smaller one is dropped without a message.",
	 "The two ends of a veth link were given different MTUs. A frame that is larger than the "
	 "MTU of the end at which it arrives is dropped there, and no message reaches the sender: "
	 "small packets get through and large ones never do.",
	 .evidence = "MTU {mtu} and {other_mtu}", .current = "{ifname} {mtu}, its peer {other_mtu}",
	 .wanted = "the same MTU", .command = "ip -d link show dev {ifname}"},
	{STAGE_BACKLOG, "rfs-half", WHEN_STATE, SEVERITY_INFO, PROOF_LAB,
	 "RFS is set up on {ifname} but not for the host: it does nothing.",
	 "Receive Flow Steering needs two settings: the queue's rps_flow_cnt, which is set, and "
	 "the host's net.core.rps_sock_flow_entries, which is 0. Without it nothing is steered.",
	 .evidence = "queues/rx-0/rps_flow_cnt {flow_cnt}",
	 .current = "net.core.rps_sock_flow_entries 0", .wanted = "{flow_entries_wanted}",
	 .change = SYSCTL("net/core/rps_sock_flow_entries", "{flow_entries_wanted}", "0"),
	 .risk = "flows change their CPU, so that some packets overtake others"},
	{STAGE_NETFILTER, "conntrack-full", WHEN_STATE, SEVERITY_ERROR, PROOF_DATA,
	 "The table of connections was full: packets of new flows are dropped.",
	 "The firewall keeps track of connections and had no room for more: packets of new flows "
	 "are dropped. UDP flows stay in the table for 30 seconds or more after their last packet. "
	 "A larger table helps, shorter timeouts, or no tracking (notrack) of flows that need "
	 "none.",
	 .evidence = FINDING_MOVED,
	 .current = "{used} entries, net.netfilter.nf_conntrack_max {limit}",
	 .wanted = "{limit_wanted}", .change = SYSCTL_LIMIT("net/netfilter/nf_conntrack_max"),
	 .risk = "more kernel memory, some 300 bytes an entry"},
	{STAGE_NETFILTER, "conntrack-near", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "The table of connections is nearly full; then packets of new flows are dropped.",
	 "The table of tracked connections is at 80 % or more of nf_conntrack_max. When it is "
	 "full, packets of new flows are dropped.",
	 .evidence = "{share} % used",
	 .current = "{used} entries, net.netfilter.nf_conntrack_max {limit}",
	 .wanted = "{limit_wanted}", .change = SYSCTL_LIMIT("net/netfilter/nf_conntrack_max"),
	 .risk = "more kernel memory, some 300 bytes an entry"},
	{STAGE_NETFILTER, "nfqueue", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "A program that judges packets by NFQUEUE was too slow: its queue was full.",
	 "Rules hand packets to a program by NFQUEUE, and its queue was full. Without `bypass` in "
	 "the rule, such packets are lost.",
	 .evidence = FINDING_MOVED,
	 .wanted = "a faster program, a longer queue in it, or several queues",
	 .command = "cat /proc/net/netfilter/nfnetlink_queue"},
	{STAGE_IP_FRAG, "frag-memory", WHEN_STATE, SEVERITY_WARNING, PROOF_LAB,
	 "The memory for incomplete datagrams is nearly used up; then fragments are dropped.",
	 "Fragments wait in memory until their datagram is complete, up to ipfrag_high_thresh, "
	 "which is nearly reached. Beyond it new fragments are dropped, and with them their "
	 "datagrams.",
	 .evidence = "{share} % used", .current = "{used} of {limit} bytes",
	 .wanted = "{limit_wanted}", .change = SYSCTL_LIMIT("{frag_sysctl}"),
	 .risk = "more kernel memory for fragments that never complete"},
	{STAGE_IP_FRAG, "frag-arriving", WHEN_STATE, SEVERITY_INFO, PROOF_LAB,
	 "Datagrams arrive in fragments: each fragment that is lost loses its whole datagram.",
	 "Datagrams larger than the MTU arrive in fragments. It works, but a lost fragment loses "
	 "all of its datagram, RSS often puts fragments on another queue, and firewalls treat them "
	 "badly.",
	 .evidence = FINDING_MOVED, .wanted = "datagrams that fit the MTU of the path"},
	{STAGE_IP_FRAG, "frag-leaving", WHEN_STATE, SEVERITY_INFO, PROOF_LAB,
	 "Datagrams are sent that do not fit the MTU, and leave in fragments: each fragment that "
	 "is lost loses its whole datagram.",
	 "Programs send datagrams that are larger than the MTU of the route, and the kernel cuts "
	 "them into fragments. It works, but a lost fragment loses all of its datagram, receivers "
	 "often put fragments on one queue, and firewalls treat them badly.",
	 .evidence = FINDING_MOVED, .wanted = "datagrams that fit the MTU of the path",
	 .command = "ip link show"},
	{STAGE_NEIGH, "neigh-full", WHEN_STATE, SEVERITY_ERROR, PROOF_DATA,
	 "The table of neighbours was full: packets to new neighbours are dropped.",
	 "The table of neighbours reached gc_thresh3, one limit for the host and all its "
	 "namespaces. Packets to neighbours that are not in it are dropped. Large flat networks "
	 "and many containers need more than the default of 1024.",
	 .evidence = FINDING_MOVED,
	 .current = "{used} entries, net.ipv{v}.neigh.default.gc_thresh3 {limit}",
	 .wanted = "{limit_wanted}", .change = SYSCTL_LIMIT("net/ipv{v}/neigh/default/gc_thresh3"),
	 .risk = "more kernel memory, some 500 bytes an entry"},
	{STAGE_NEIGH, "neigh-near", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "The table of neighbours is nearly full; then packets to new neighbours are dropped.",
	 "The table of neighbours is at 80 % or more of gc_thresh3. When it is full, packets to "
	 "new neighbours are dropped.",
	 .evidence = "{share} % used",
	 .current = "{used} entries, net.ipv{v}.neigh.default.gc_thresh3 {limit}",
	 .wanted = "{limit_wanted}", .change = SYSCTL_LIMIT("net/ipv{v}/neigh/default/gc_thresh3"),
	 .risk = "more kernel memory, some 500 bytes an entry"},
	{STAGE_OTHER, "ovs-upcall", WHEN_STATE, SEVERITY_WARNING, PROOF_DATA,
	 "Open vSwitch lost packets of new flows on their way to ovs-vswitchd.",
	 "Open vSwitch's kernel part asks ovs-vswitchd about each new flow, and the queue to it "
	 "was full: the first packets of flows are lost.",
	 .evidence = FINDING_MOVED, .wanted = "more handler threads, or fewer new flows at once",
	 .command = "ovs-dpctl show"},
	{STAGE_OTHER, "taps", WHEN_STATE, SEVERITY_INFO, PROOF_LAB,
	 "Packet sockets see a copy of every packet: work on each, before the application has it.",
	 "Each packet socket that listens to all protocols (tcpdump, some agents and DHCP clients) "
	 "gets a copy of each packet on its interface. The copy itself is no loss, nor is one that "
	 "it drops; the work is done before the packet reaches its application.",
	 .evidence = "{taps} open[: {processes}]", .wanted = "captures ended that are not needed",
	 .command = "ss -0pn"},
	{STAGE_OTHER, "raw-sockets", WHEN_STATE, SEVERITY_INFO, PROOF_LAB,
	 "Raw sockets of protocol UDP get a copy of every datagram.",
	 "A raw socket of protocol UDP gets a copy of each datagram of its namespace, beside the "
	 "socket on the port.",
	 .evidence = "{raws} open[: {processes}]",
	 .wanted = "such programs ended if they are not needed", .command = "ss -wapn"},
	{STAGE_NONE, "own-btf", WHEN_STATE, SEVERITY_INFO, PROOF_LAB,
	 "No BTF of the kernel is to be found: pktledger cannot trace drops.",
	 "pktledger finds the kernel's structures by BTF. Without it drops cannot be traced; "
	 "check, and experiments without a tracer, still work.",
	 .evidence = "no /sys/kernel/btf/vmlinux", .wanted = "a kernel with CONFIG_DEBUG_INFO_BTF"},
	{STAGE_NONE, "own-capabilities", WHEN_STATE, SEVERITY_INFO, PROOF_LAB,
	 "pktledger lacks capabilities here, and cannot trace or send by all engines.",
	 "Without these capabilities some of what check reads is hidden, and the other commands "
	 "cannot trace or inject packets. CAP_BPF and CAP_PERFMON are for tracing, CAP_NET_ADMIN "
	 "for programs and settings, CAP_NET_RAW for raw frames, CAP_SYS_ADMIN for namespaces, "
	 "CAP_SYS_PTRACE for owners of sockets.",
	 .evidence = "without {missing}", .wanted = "run it as root"},
};

const unsigned finding_rows_n = LENGTH(finding_rows);
