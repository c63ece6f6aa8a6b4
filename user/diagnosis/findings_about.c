// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the manual says of each finding: a paragraph, for people who have it before them. */
#include "diagnosis/findings_data.h"

const struct finding_paragraph finding_abouts[] = {
	{"tx-socket",
	 "A program attached to the sender's control group, or parameters of the sending "
	 "socket itself, refused the packet. send() returns EPERM for the former. `bpftool "
	 "cgroup tree` shows which programs there are."},
	{"tx-route",
	 "The routing table of the sender has no route to the destination, or one of type "
	 "blackhole, unreachable or prohibit. IPv4 refuses such a send() at once; IPv6 may "
	 "lose the packet after it."},
	{"neigh-queue",
	 "While the MAC address of the next hop is asked for, a short queue holds packets to "
	 "it (unres_qlen_bytes of the neighbour table). What comes beyond it pushes out older "
	 "packets. A static neighbour, or one packet sent well before the traffic, avoids it."},
	{"neigh-failed",
	 "The next hop did not answer ARP or neighbour solicitations. All packets that waited "
	 "for it are lost together, some seconds after they were sent, and send() has long "
	 "said that all is well."},
	{"tc-egress",
	 "A tc filter, or a BPF program at clsact or tcx, dropped the packet on its way out. "
	 "Neither send() nor the socket learns of it; the counters of the filter do."},
	{"qdisc",
	 "The queueing discipline in front of the device was full or shaped the traffic: "
	 "packets are sent faster than it lets them out. send() succeeds all the same, unless "
	 "the socket has IP_RECVERR. A longer queue helps against bursts and adds delay; "
	 "against a rate that stays too high only a lower rate helps. A change of the limit is "
	 "advised only for a pfifo that is shorter than the device's own queue length."},
	{"tx-device",
	 "The driver had no room for the packet: its transmit ring was full while no qdisc "
	 "held packets back, or the other end of a virtual link was down or did not read. With "
	 "veth the counter stands at the sender and the ring belongs to the receiver."},
	{"wire",
	 "Packets have left one host's NIC and not reached the other's. The cause is between "
	 "them: a switch, a router, a cable, or the port of the receiver before its first "
	 "counter."},
	{"nic-ring",
	 "The NIC had packets for the kernel and no free descriptor to put them to: the "
	 "receive ring was full because the kernel did not empty it in time. The ring is not "
	 "at its largest; a larger one holds longer bursts. It takes effect at once and takes "
	 "the link down for a moment with most drivers. It does not help against a CPU that is "
	 "too slow all the time."},
	{"nic-ring-busy",
	 "The receive ring was full although it is at its largest, or its size is not known. "
	 "The CPU that empties it has too much to do: more queues, a CPU without other work, "
	 "less work for each packet (rules, taps, copies), or XDP."},
	{"xdp",
	 "An XDP program dropped the packet, or its redirect failed. If the program is meant "
	 "to drop, this is no loss. Redirects fail when the target's ring is full or the "
	 "target has no XDP set up."},
	{"xsk",
	 "An AF_XDP socket had no room: the application did not take descriptors out of its RX "
	 "ring, or put none into the fill ring. A thread that does nothing else, larger rings, "
	 "or busy polling help."},
	{"gso",
	 "A packet that GRO or the sender had merged could not be cut again. Drivers that set "
	 "wrong checksums or sizes do that; switching GRO or GSO off shows whether it is this."},
	{"backlog",
	 "A CPU's backlog queue was full: other CPUs, by RPS, by loopback or veth, gave it "
	 "packets faster than it could process them. net.core.netdev_max_backlog is its length "
	 "for every CPU. A longer one holds longer bursts and adds delay; it is advised to "
	 "double it."},
	{"backlog-flow-limit",
	 "As soon as a backlog is half full, the flow limit takes packets of the flow that "
	 "fills most of it, so that the others survive. It is on only for the CPUs of "
	 "flow_limit_cpu_bitmap. Where one flow is the purpose of the host, it takes exactly "
	 "that."},
	{"tc-ingress",
	 "A tc filter, or a BPF program at clsact or tcx, dropped the packet on its way in, "
	 "before the IP stack saw it."},
	{"l2-otherhost",
	 "The frame carried another destination MAC address than the interface has, and came "
	 "all the same: a switch that floods, promiscuous mode, or a neighbour entry at the "
	 "sender that is no longer true."},
	{"l2", "The link layer did not hand the packet on: no handler for its protocol, a VLAN "
	       "without an interface, a bridge port that is blocked, or a MAC filter of a virtual "
	       "device."},
	{"ip-header",
	 "The IP header did not pass the checks on arrival: version, length, checksum. Some "
	 "sender or box on the way writes it wrong."},
	{"netfilter-rule",
	 "A rule of the firewall dropped the packet, and its counter moved by as much while "
	 "packets were lost: the chain and the number of the rule are named. `nft -a list chain` "
	 "shows it with the handle by which it can be deleted."},
	{"netfilter",
	 "A rule of nftables or iptables, or a chain's policy, dropped the packet. In the "
	 "output and postrouting hooks send() returns EPERM. Rules with counters tell which of "
	 "them it was."},
	{"ip-rpfilter",
	 "With rp_filter 1 the kernel drops a packet whose source address it would not reach "
	 "through the interface by which it came. With several uplinks or asymmetric routes "
	 "that is every legitimate packet of the other path. Mode 2 asks only that some route "
	 "exists. The value in force is the larger one of the interface's and of `all`. The "
	 "counter does not name the interface: it is the strict one with the most traffic."},
	{"ip-route", "The receiver's routing refused the packet: no address of this host and no "
		     "forwarding, a martian source or destination, or no route onwards."},
	{"ip-frag",
	 "A datagram did not become complete: one of its fragments was lost, came too late "
	 "(ipfrag_time), or the memory for fragments was full. Each lost fragment loses the "
	 "whole datagram, so losses multiply with the number of fragments."},
	{"ip-ttl",
	 "A router counted the packet's TTL down to zero. Either the TTL it was sent with is "
	 "too small, as with multicast where it is 1, or routes go round in a circle."},
	{"ip-too-big",
	 "The packet was larger than the MTU of the next link and must not be fragmented. The "
	 "sender is told by ICMP, which firewalls like to drop; then it goes on losing all "
	 "large packets."},
	{"ip-forward",
	 "This host forwards, and did not forward this packet: forwarding is off for the "
	 "interface, or a setting or policy forbade it."},
	{"tunnel",
	 "The end of a tunnel did not take the packet: an identifier that it does not have, "
	 "ECN bits that contradict each other, or an inner packet that makes no sense."},
	{"xfrm", "An IPsec policy forbade the packet, or no state was there for it."},
	{"udp-lookup",
	 "A datagram came for a port on which no socket is open. The sender of a connected "
	 "socket gets ECONNREFUSED with its next call, if the ICMP message reaches it. Some of "
	 "it is normal on networks with broadcasts."},
	{"port-closed",
	 "The port that was asked for has no UDP socket in this namespace: the program does "
	 "not run, listens on another port or address family, or lives in another namespace "
	 "(--netns, --pid)."},
	{"udp-header", "The length in the UDP header contradicts the packet's."},
	{"udp-csum",
	 "The UDP checksum was wrong. Either the data was damaged after the last link that "
	 "checks it, or the sender left the checksum to a device that did not fill it in, as "
	 "happens when packets are redirected by XDP between virtual devices."},
	{"socket-filter",
	 "A filter that the application has put on its socket, or a BPF program of its control "
	 "group, refused the packet: meant so, as a rule."},
	{"udp-mem",
	 "All UDP sockets of the host together reached net.ipv4.udp_mem, in pages. Then every "
	 "socket loses packets, also those that have room. Newer kernels count it only at the "
	 "socket. More memory, or smaller buffers in sockets whose readers are slow."},
	{"udp-mem-near",
	 "All UDP sockets together use most of net.ipv4.udp_mem, which is one limit for the "
	 "host. When it is reached, every socket loses packets. Look for a socket with a large "
	 "queue and no reader first."},
	{"rcvbuf-stopped",
	 "The process that reads the socket is stopped, by SIGSTOP or SIGTSTP or by a debugger, "
	 "while packets come. It reads nothing until it is continued."},
	{"rcvbuf-quota",
	 "The cgroup of the reader may use only so much CPU time in each period (cpu.max), and "
	 "had used it up: the kernel held the process back until the next period, however idle "
	 "the CPUs were. In a container this is its CPU limit."},
	{"rcvbuf-cpu",
	 "The reader wanted to run and got no CPU for a good part of the time: other processes, "
	 "interrupts or the hypervisor had them. Pinning the reader to a CPU of its own, a higher "
	 "priority, or moving other work away helps; a larger buffer bridges short waits."},
	{"rcvbuf-busy",
	 "The reader ran all the time and still read less than came. Only less work for each "
	 "packet helps: recvmmsg() or UDP GRO instead of a call for each, work moved to other "
	 "threads, or several readers on the port with SO_REUSEPORT."},
	{"rcvbuf-asleep",
	 "The reader slept while packets waited in its queue: it was busy with something else "
	 "that sleeps, such as a disk, a lock or a timer. The function of the kernel in which it "
	 "slept is named. A thread that does nothing but read the socket is the usual answer."},
	{"rcvbuf-bursts",
	 "The queue was nearly empty most of the time and the reader had time to spare: packets "
	 "came in bursts longer than the buffer holds. Here a larger buffer is the right cure."},
	{"rcvbuf-burst",
	 "The socket's receive buffer was full for a short time: a burst was longer than the "
	 "buffer holds. The buffer is counted in memory, not in payload: a small packet takes "
	 "as much as a large one. The advised size would have held what was lost. A program "
	 "has to ask for it by SO_RCVBUF, and gets at most net.core.rmem_max, doubled."},
	{"rcvbuf-slow",
	 "Packets came faster than the program read them, for longer than a buffer could help. "
	 "Look at the reader: does it do work between two reads, wait for a lock or a disk, "
	 "use one call for each packet (recvmmsg, GRO), run on the CPU that also receives, or "
	 "in a control group without CPU time? Several sockets with SO_REUSEPORT share the "
	 "work."},
	{"rcvbuf",
	 "The socket's receive buffer was full. What could tell a burst from a slow reader is "
	 "not known here: how much a packet takes in the buffer, or how fast the program read."},
	{"rcvbuf-default",
	 "The socket has the host's default buffer, since its program asked for none, and that "
	 "default has been set lower than kernels have it (212992 bytes). The advised value is "
	 "the kernel's own, or four times what it is. Only sockets that are opened afterwards "
	 "get it."},
	{"rcvbuf-capped",
	 "The socket's buffer is exactly the largest that net.core.rmem_max allows, doubled: "
	 "probably its program asked for more. It was full. The advised limit is four times as "
	 "large, at most 64 MB. The program has to ask again, which most do only when they are "
	 "started."},
	{"rcvbuf-filling",
	 "No packet was lost yet, but the socket's buffer was more than half full at the "
	 "beginning and at the end of the window: its program does not read, or not fast "
	 "enough."},
	{"group-throttled",
	 "The program that reads the socket, or a group above it, used up its CPU time "
	 "(cpu.max, or cpu.cfs_quota_us) and was stopped until the next period, which may be "
	 "100 ms. Nobody reads its sockets meanwhile. In Kubernetes this is the limit of CPUs "
	 "of the pod."},
	{"sndbuf",
	 "A socket's send buffer holds what the qdisc and the device have not sent yet. A "
	 "send() that must not wait fails with EAGAIN when it is full, and the kernel counts "
	 "that as if a packet had been lost, although there was none. The counter is shown "
	 "only while no queue behind it lost packets, since those are counted here a second "
	 "time. A setting is advised only where a socket has the default of the host and that "
	 "is less than kernels have it, or exactly the largest that net.core.wmem_max allows."},
	{"socket-read",
	 "The packet was already in the application's queue, and recv() found that its "
	 "checksum was wrong or that the given buffer was not writable."},
	{"socket-close",
	 "When the socket was closed, packets still waited in it. No counter of the kernel "
	 "tells of them."},
	{"other",
	 "The kernel dropped the packet at a place that this version of pktledger does not "
	 "know. The place and the reason are shown; please report them."},
	{"tcp", "TCP dropped the segment. It sends again by itself."},
	{"icmp", "An ICMP message was not valid."},
	{"nic-port",
	 "The NIC's own buffer overflowed before any ring: the bus was too slow, the device "
	 "slept, or all rings were full. With flow control for transmission on (tx on) the NIC "
	 "asks its link's partner to wait instead; that holds back everything on this port, "
	 "and a switch may then lose packets of others."},
	{"nic-memory",
	 "The driver could not get memory for receive buffers in time, which happens inside "
	 "interrupts where it cannot wait. The kernel keeps vm.min_free_kbytes for that."},
	{"nic-crc", "Frames arrived with a wrong checksum or length. This is physics: a cable, a "
		    "transceiver, dirt, or a speed or duplex that the two ends see differently."},
	{"nic-allowance",
	 "The cloud limits bandwidth, packets a second, or tracked connections of a machine by "
	 "its size, and counts what it queued or dropped. Nothing on this host shows it "
	 "otherwise. The counters are an upper bound of what was lost."},
	{"nic-paused",
	 "The link's partner sent pause frames, or this NIC did. Sending then stops for a "
	 "while. No loss by itself; what waits may overflow a queue before it."},
	{"nic-queues",
	 "One CPU spends almost all its time in softirq for this NIC, and the NIC could spread "
	 "its packets over more queues, each with an interrupt and a CPU of its own. Packets "
	 "of one flow stay on one queue whatever the number."},
	{"nic-rss",
	 "The NIC has several queues in use, but its indirection table sends packets to only "
	 "some of them, and a CPU is at its limit."},
	{"nic-irq",
	 "Several queues of the NIC interrupt the same CPU, which is at its limit, while "
	 "another is idle. irqbalance may do this better, or undo it. The change begins when the "
	 "queue has been empty for once: until then its CPU polls it without interrupts."},
	{"nic-rps",
	 "The NIC has one queue, and the CPU that serves it is at its limit. RPS lets that CPU "
	 "only sort packets and hands them to others. It costs work in all, and does not "
	 "spread a single flow."},
	{"cpu-softirq",
	 "A CPU spends almost all its time processing packets. What comes beyond that is lost "
	 "at the nearest ring or backlog, and programs on that CPU hardly run, readers of "
	 "sockets among them."},
	{"nic-coalesce",
	 "The NIC waits for a while before it interrupts, so that one interrupt serves many "
	 "packets. At the measured rate that time fills more than half of a ring: any further "
	 "delay loses packets. The advised time fills an eighth of it."},
	{"cpu-budget",
	 "The kernel processes a limited number of packets (net.core.netdev_budget) for a "
	 "limited time (netdev_budget_usecs) before it lets others run. It ended with work "
	 "left while packets were lost; which of the two ended it is not counted, so both are "
	 "raised. Without losses this counter is no reason to do anything."},
	{"cpu-governor",
	 "Packets were lost because something was too slow, and CPUs ran below their highest "
	 "speed under a governor that saves power."},
	{"cpu-idle",
	 "A CPU in a deep sleep needs time to wake up. At the measured rate that time fills "
	 "more than half of the NIC's ring."},
	{"cpu-steal",
	 "The hypervisor ran something else while this machine wanted to run. Rings and "
	 "sockets fill during such gaps, which last for milliseconds."},
	{"xdp-generic",
	 "An XDP program is attached in generic mode, where the kernel first makes a packet "
	 "buffer as usual. The driver could run it before that. Nothing is lost by it, but "
	 "much speed."},
	{"mtu-mismatch",
	 "A bridge forwards a frame only if it fits the MTU of the port, and otherwise drops "
	 "it without a message to the sender."},
	{"mtu-peer",
	 "The two ends of a veth link were given different MTUs. A frame that is larger than "
	 "the MTU of the end at which it arrives is dropped there, and no message tells the "
	 "sender: small packets get through and large ones never do."},
	{"rfs-half",
	 "Receive Flow Steering needs two settings: the queue's rps_flow_cnt, which is set, "
	 "and the host's net.core.rps_sock_flow_entries, which is 0. Without it nothing is "
	 "steered."},
	{"conntrack-full",
	 "The firewall keeps track of connections and had no room for more: packets of new "
	 "flows are dropped. UDP flows stay in the table for 30 seconds or more after their "
	 "last packet. A larger table, shorter timeouts, or no tracking (notrack) for flows "
	 "that need none."},
	{"conntrack-near",
	 "The table of tracked connections is at 80 % or more of nf_conntrack_max. When it is "
	 "full, packets of new flows are dropped."},
	{"nfqueue",
	 "Rules hand packets to a program by NFQUEUE, and its queue was full. Without `bypass` "
	 "in the rule, such packets are lost."},
	{"frag-memory",
	 "Fragments wait in memory until their datagram is complete, up to ipfrag_high_thresh, "
	 "which is nearly reached. Beyond it new fragments are dropped, and with them their "
	 "datagrams."},
	{"frag-arriving",
	 "Datagrams larger than the MTU arrive in fragments. It works, but a lost fragment "
	 "loses all of its datagram, RSS often puts fragments on another queue, and firewalls "
	 "treat them badly."},
	{"frag-leaving",
	 "Programs send datagrams that are larger than the MTU of the route, and the kernel "
	 "cuts them into fragments. It works, but a lost fragment loses all of its datagram, "
	 "receivers often put fragments on one queue, and firewalls treat them badly."},
	{"neigh-full",
	 "The table of neighbours reached gc_thresh3, one limit for the host and all its "
	 "namespaces. Packets to neighbours that are not in it are dropped. Large flat "
	 "networks and many containers need more than the default of 1024."},
	{"neigh-near",
	 "The table of neighbours is at 80 % or more of gc_thresh3. When it is full, packets "
	 "to new neighbours are dropped."},
	{"ovs-upcall",
	 "Open vSwitch's kernel part asks ovs-vswitchd about each new flow, and the queue to "
	 "it was full: the first packets of flows are lost."},
	{"taps",
	 "Each packet socket that listens to all protocols (tcpdump, some agents and DHCP "
	 "clients) gets a copy of each packet on its interface. The copy itself is no loss, "
	 "nor is one that it drops; the work is done before the packet reaches its "
	 "application."},
	{"raw-sockets",
	 "A raw socket of protocol UDP gets a copy of each datagram of its namespace, beside "
	 "the socket on the port."},
	{"own-btf",
	 "pktledger finds the kernel's structures by BTF. Without it drops cannot be traced; "
	 "check, and experiments without a tracer, still work."},
	{"own-capabilities",
	 "Without these capabilities some of what check reads is hidden, and the other "
	 "commands cannot trace or inject packets. CAP_BPF and CAP_PERFMON are for tracing, "
	 "CAP_NET_ADMIN for programs and settings, CAP_NET_RAW for raw frames, CAP_SYS_ADMIN "
	 "for namespaces, CAP_SYS_PTRACE for owners of sockets."},
};

const unsigned finding_abouts_n = sizeof(finding_abouts) / sizeof(finding_abouts[0]);
