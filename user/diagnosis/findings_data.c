// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/findings.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

const char *const finding_proofs[] = {"not", "lab", "guest", "data"};

/* Conditions */

#define HAS(fact)                                                                                  \
	.has = offsetof(struct finding_facts, fact),                                               \
	.has_size = sizeof(((struct finding_facts *)0)->fact)

/* Minimum fractions of the time with losses for something to be the cause. */
#define THROTTLED 0.1
#define WAITED	  0.25
#define BUSY	  0.75
#define ASLEEP	  0.5
#define NOTICED	  0.05
#define RESTED	  0.2 /* asleep with an empty queue: it had caught up */

#define DISCOVERED 0.1 /* fraction of packets that path MTU discovery may lose */

static double slept(const struct finding_facts *f)
{
	return reading_fraction(&f->reading, reading_sleep_ns(&f->reading));
}

/*
 * Returns true if it slept so long per packet that it would lose packets even with a CPU to itself.
 */
static bool sleep_is_enough(const struct finding_facts *f)
{
	const struct reading *r = &f->reading;
	double came = (double)(r->lost + r->received_around);

	return slept(f) >= NOTICED && slept(f) * came > (double)r->received_around;
}

static bool is_throttled(const struct finding_facts *f)
{
	return reading_fraction(&f->reading, f->reading.throttled_ns) >= THROTTLED;
}

static bool had_room(const struct finding_facts *f)
{
	return reading_had_room(&f->reading);
}

/* Returns true if it slept for something other than data while packets waited. */
static bool sleeps_elsewhere(const struct finding_facts *f)
{
	return *f->reading.sleeps_in && !reading_waits(&f->reading) && f->reading.queue_bytes;
}

/*
 * Returns true if it slept while the buffer had room, and slept for data unless no packets waited.
 */
static bool rested(const struct finding_facts *f)
{
	return slept(f) >= RESTED && had_room(f) && !sleeps_elsewhere(f);
}

/*
 * Returns true if it waited for a CPU. A reader that empties the queue between bursts has enough
 * CPU time.
 */
static bool waited_for_cpu(const struct finding_facts *f)
{
	return reading_fraction(&f->reading, f->reading.wait_ns) >= WAITED && !rested(f) &&
	       !sleep_is_enough(f);
}

static bool is_busy(const struct finding_facts *f)
{
	return reading_fraction(&f->reading, f->reading.run_ns) >= BUSY;
}

static bool is_asleep(const struct finding_facts *f)
{
	return reading_full(&f->reading) >= 0 && (!had_room(f) || sleeps_elsewhere(f)) &&
	       (slept(f) >= ASLEEP || sleep_is_enough(f));
}

/* Returns true if it waits for another thread, or for a queue that another thread empties. */
static bool is_in_futex(const struct finding_facts *f)
{
	return is_asleep(f) && !strncmp(f->reading.sleeps_in, "futex", 5);
}

/*
 * Returns true if packets came in bursts. A larger buffer does not help while the reader is slower
 * than the arrivals.
 */
static bool came_in_bursts(const struct finding_facts *f)
{
	return rested(f) || (!f->reading.window_ns && f->d.bursts);
}

/* Returns true if the host reduced the requested size. */
static bool bursts_and_capped(const struct finding_facts *f)
{
	return came_in_bursts(f) && f->rcvbuf && f->rcvbuf == 2 * f->rmem_max &&
	       4 * f->rmem_max <= MEM_SANE;
}

/* Returns true if the host's default is smaller than the kernel's. */
static bool bursts_and_small(const struct finding_facts *f)
{
	return came_in_bursts(f) && f->rcvbuf && f->rcvbuf == f->rmem_default &&
	       f->rcvbuf < KERNEL_MEM;
}

/*
 * Returns true if the reader is slow. A reader that slept does not count as slow, because it was
 * not observed well enough to tell why.
 */
static bool is_slow(const struct finding_facts *f)
{
	return f->read_pps > 0 && f->arrival_pps > f->read_pps && slept(f) < RESTED;
}

/* Returns true if a faster reader is needed, and other sockets on its port have no work. */
static bool is_one_flow(const struct finding_facts *f)
{
	return f->sharing && !came_in_bursts(f);
}

static bool is_filling(const struct finding_facts *f)
{
	return f->queue_seen && !f->lost;
}

static bool is_conntrack_full(const struct finding_facts *f)
{
	return 2 * f->conntrack_drops > f->lost;
}

static bool is_clash(const struct finding_facts *f)
{
	return 2 * f->conntrack_clashes > f->lost;
}

static bool is_cgroup_memory(const struct finding_facts *f)
{
	return f->exceeded_known && !f->exceeded;
}

static bool is_memory_unclear(const struct finding_facts *f)
{
	return !f->exceeded_known && f->udp_pages_known && 2 * f->udp_pages < f->udp_mem[0];
}

static bool is_tcp_rmem(const struct finding_facts *f)
{
	return f->tcp_rmem[2] && f->rcvbuf == f->tcp_rmem[2];
}

static bool ring_can_grow(const struct finding_facts *f)
{
	return f->ring && f->ring < f->ring_max;
}

static bool has_no_way_back(const struct finding_facts *f)
{
	return *f->back.source && !*f->back.by;
}

static bool has_other_way_back(const struct finding_facts *f)
{
	return f->ifname && *f->back.by && strcmp(f->back.by, f->ifname);
}

static bool is_not_silent(const struct finding_facts *f)
{
	return !*f->silent.address;
}

/* Returns true if a router passes nearly all packets, so that their senders know the MTU. */
static bool is_discovery(const struct finding_facts *f)
{
	return f->lost && (double)f->lost < DISCOVERED * (double)(f->lost + f->forwarded);
}

static bool is_black_hole(const struct finding_facts *f)
{
	return f->path.silent;
}

static bool is_near(const struct finding_facts *f)
{
	return f->limit && !f->lost;
}

static bool is_somaxconn(const struct finding_facts *f)
{
	return f->socket && f->room == f->somaxconn;
}

/* Blocks */

#define SYSCTL(name, wanted, old)                                                                  \
	{                                                                                          \
		CHANGE_SYSCTL, NULL, name, wanted, old                                             \
	}
#define SYSCTL_LIMIT(name) SYSCTL(name, "{limit*2}", "{limit}")
#define RCVBUF_CHANGE                                                                              \
	SYSCTL("net/core/rmem_max", "{rmem_max_fix_bytes}", "{rmem_max_bytes}")
#define RCVBUF_RISK                                                                                \
	"[up to {rcvbuf_fix_bytes} bytes of kernel memory for this socket, and more latency while " \
	"they are queued]"
#define SOFTIRQ                                                                                    \
	"CPU {cpu} spent {softirq_percent} % of {window_ns#} in softirq[, at {processed_pps}]"
#define LISTENER "[{waiting#connection} waiting, room for {room#}]"
#define TCP_RCVBUF "[net.ipv4.tcp_rmem {tcp_rmem}][; SO_RCVBUF {rcvbuf_bytes} bytes (doubled)]"
#define NAT_FIX "[change the backend in the rule {nat_rule}, then ]delete the old entries"

const struct finding_row finding_rows[] = {
	{STAGE_TX_SOCKET, "tx-too-big", SEVERITY_WARNING, PROOF_LAB,
	 .location = "ip_fragment", /* most kernels give no reason */
	 .cause = "Packets are larger than the MTU of the interface that they leave by[ ({ifname}, "
		  "{mtu})], and must not be fragmented.",
	 .about = "Usually a tunnel interface has an MTU without room for the headers of the tunnel "
		  "(VXLAN adds 50 bytes over IPv4, 70 over IPv6). Small packets pass, large ones never "
		  "do.",
	 .setting = "[{ifname} MTU {mtu}]",
	 .fix = "lower the MTU of the tunnel interface by the size of its headers, or raise the MTU of "
		"every link on the path",
	 .command = "ip -d link show"},
	{STAGE_TX_SOCKET, "tx-fragment", SEVERITY_WARNING, PROOF_DATA,
	 .location = "ip_do_fragment ip6_fragment",
	 .cause = "A fragment was refused, by a full queue for example, so the rest of its packet was "
		  "discarded.",
	 .about = "The refused fragment is usually a loss of its own, at another stage. Over IPv6, "
		  "packets that are larger than the MTU and must not be fragmented are discarded here, "
		  "too.",
	 .fix = "look for losses of the interface's queue, or send packets that fit its MTU",
	 .command = "tc -s qdisc show"},
	{STAGE_TX_SOCKET, "sndbuf", SEVERITY_INFO, PROOF_LAB, HAS(send_full),
	 .cause = "Programs send faster than their send buffers empty. send() fails with EAGAIN unless "
		  "it waits; no packet is lost.",
	 .about = "The kernel counts that as an error. The finding is shown only while no queue "
		  "after the socket loses packets, because those are counted here again. A setting "
		  "is advised only for a host default that is smaller than the kernel's, or for "
		  "the largest buffer that net.core.wmem_max allows.",
	 .seen = "[{program} has {sndbuf_bytes} bytes]", .setting = "[net.core.{wmem} {wmem_bytes}]",
	 .fix = "[raise net.core.{wmem} to {wmem_fix_bytes} and restart the program, or ]set a larger "
		"SO_SNDBUF, or let the sender wait",
	 .command = "ss -uamn", .change = SYSCTL("net/core/{wmem}", "{wmem_fix_bytes}", "{wmem_bytes}"),
	 .risk = "sockets may queue more before the interface, which adds latency"},
	{STAGE_TX_SOCKET, "tx_socket", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "A cgroup egress program or a parameter of the sending socket refused the packets.",
	 .fix = "review the cgroup program or the socket's parameters",
	 .command = "bpftool cgroup tree"},
	{STAGE_TX_ROUTE, "tx_route", SEVERITY_ERROR, PROOF_LAB,
	 .cause = "The sender has no route to the destination, or the route discards packets.",
	 .fix = "add a route to the destination", .command = "ip route show"},
	{STAGE_NEIGH, "neigh-near", SEVERITY_WARNING, PROOF_DATA, is_near,
	 .cause = "The neighbour table is {used_percent} % full. When it is full, packets to new "
		  "neighbours are lost.",
	 .setting = "{used} entries, net.ipv{family}.neigh.default.gc_thresh3 {limit}",
	 .fix = "raise gc_thresh3[ to {limit*2}]",
	 .change = SYSCTL_LIMIT("net/ipv{family}/neigh/default/gc_thresh3"),
	 .risk = "more kernel memory, about 500 bytes per entry"},
	{STAGE_NEIGH, "neigh-full", SEVERITY_ERROR, PROOF_DATA, HAS(limit),
	 .cause = "The neighbour table is full: packets to new neighbours are lost.",
	 .about = "gc_thresh3 is one limit for the host and all its namespaces. Large flat "
		  "networks and many containers need more than the default of 1024.",
	 .setting = "{used} entries, net.ipv{family}.neigh.default.gc_thresh3 {limit}",
	 .fix = "raise gc_thresh3[ to {limit*2}]",
	 .change = SYSCTL_LIMIT("net/ipv{family}/neigh/default/gc_thresh3"),
	 .risk = "more kernel memory, about 500 bytes per entry"},
	{STAGE_NEIGH, "neigh-queue", SEVERITY_WARNING, PROOF_LAB, is_not_silent,
	 .reason = "NEIGH_QUEUEFULL",
	 .cause = "Too many packets were sent before the MAC address of the next hop was known.",
	 .about = "While the kernel resolves the MAC address, a short queue (unres_qlen_bytes) holds the "
		  "packets. Further packets push out older packets. A static neighbour entry, or a packet "
		  "sent well before the traffic, avoids the loss.",
	 .fix = "resolve the neighbour before the traffic starts",
	 .command = "ip neigh show[ dev {ifname}]"},
	{STAGE_NEIGH, "neigh-dnat", SEVERITY_ERROR, PROOF_LAB, HAS(dnat.backend),
	 .cause = "NAT redirects packets for {asked} to {backend}, which does not answer[ on "
		  "{silent_on}].",
	 .about = "The backend is gone. A connection tracking entry outlives its rule, and a "
		  "client that keeps sending from the same port keeps it alive, as DNS resolvers "
		  "do. If an nftables rule still names the backend, the rule is shown. Maps and "
		  "iptables are not searched.",
	 .setting = "[rule {nat_rule}]", .fix = NAT_FIX, .command = "{entries}"},
	{STAGE_NEIGH, "neigh-failed", SEVERITY_ERROR, PROOF_LAB,
	 .cause = "The next hop[ {silent}] does not answer[ on {ifname}][ in {silent_in}].",
	 .about = "All packets that waited for the answer are lost together, some seconds after "
		  "send() returned success. Packets that did not fit in the queue are lost at once "
		  "(NEIGH_QUEUEFULL). At a high rate those are the majority.",
	 .fix = "bring up the next hop, or correct the route or address that leads to it",
	 .command = "[{silent_enter} ]ip neigh show dev {ifname}"},
	{STAGE_TC_EGRESS, "tc_egress", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "A tc filter or BPF program at the egress[ of {ifname}] dropped the packets. send() "
		  "succeeded.",
	 .fix = "review the filter", .command = "tc -s filter show dev {ifname} egress"},
	{STAGE_QDISC, "qdisc-tcp", SEVERITY_WARNING, PROOF_LAB, HAS(tsq),
	 .cause = "The queue[ of {ifname}] dropped segments of this host's own TCP: it is shorter than "
		  "the data that connections may queue.",
	 .about = "TCP sends the segments again as new. Throughput falls, and no retransmission "
		  "counter moves. Each connection may have net.ipv4.tcp_limit_output_bytes in the "
		  "queue (TCP Small Queues). `trace --balance` shows this.",
	 .setting = "net.ipv4.tcp_limit_output_bytes {tcp_limit_output_bytes}",
	 .fix = "lengthen the queue (its limit, and flow_limit of fq), or lower "
		"net.ipv4.tcp_limit_output_bytes",
	 .command = "tc -s qdisc show dev {ifname}"},
	{STAGE_QDISC, "qdisc-no-carrier", SEVERITY_ERROR, PROOF_LAB, HAS(no_carrier),
	 .cause = "[{ifname} has no carrier. ]The kernel discards packets sent on an interface without "
		  "a link. send() succeeded.",
	 .about = "The cable, the switch port, the other end of a veth, or every port of a bridge "
		  "is down. Addresses and routes stay, unless "
		  "net.ipv4.conf.all.ignore_routes_with_linkdown is 1. No counter of the queue "
		  "increases.",
	 .fix = "connect the link, or route around it", .command = "ip -d link show dev {ifname}"},
	{STAGE_QDISC, "qdisc-noop", SEVERITY_WARNING, PROOF_LAB,
	 /* second pattern: packets still queued when RTNL is released */
	 .location = "*noop_enqueue* *rtnl_unlock*",
	 .cause = "The link[ of {ifname}] was down, or the qdisc was being replaced, so there was no queue. "
		  "send() succeeded.",
	 .fix = "keep the link up, and do not replace qdiscs under traffic",
	 .command = "ip -s -s link show dev {ifname}"},
	{STAGE_QDISC, "qdisc-horizon", SEVERITY_WARNING, PROOF_DATA,
	 .reason = "FQ_HORIZON_LIMIT qdisc:HORIZON_LIMIT",
	 .cause = "fq[ on {ifname}] dropped packets because their launch time is too far in the future "
		  "(horizon).",
	 .about = "SO_TXTIME, SO_MAX_PACING_RATE or a BPF program gives a packet the time at which fq sends "
		  "it. More than the horizon (10 seconds) ahead it is dropped. Usually the time comes from "
		  "another clock than CLOCK_MONOTONIC, or a very low pacing rate has a long queue.",
	 .fix = "correct the launch times or the pacing rate of the sender, or raise the horizon of fq",
	 .command = "tc -s qdisc show dev {ifname}"},
	{STAGE_QDISC, "qdisc-burst", SEVERITY_WARNING, PROOF_DATA, .reason = "QDISC_BURST_DROP",
	 .cause = "More packets waited for the lock of the queue[ of {ifname}] than "
		  "net.core.qdisc_max_burst allows: many CPUs send at once.",
	 .about = "From Linux 7.2, CPUs that find the lock of a qdisc taken put their packets in a list, at "
		  "most net.core.qdisc_max_burst packets.",
	 .fix = "raise net.core.qdisc_max_burst, or use a qdisc with several queues (mq)",
	 .command = "sysctl net.core.qdisc_max_burst"},
	{STAGE_QDISC, "qdisc", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "The queue[ ({qdisc})][ of {ifname}] was full: packets are sent faster than it lets "
		  "them out. send() succeeded.",
	 .about = "A longer queue helps against bursts and adds latency. A larger limit is advised "
		  "only for a pfifo that is shorter than the interface's queue length.",
	 .setting = "[{qdisc}][ {qdisc_limit}]",
	 .fix = "lower the sending rate, or raise the rate or limit of the qdisc",
	 .command = "tc -s qdisc show dev {ifname}",
	 .change = {CHANGE_QDISC, "{ifname}", "root", "{qdisc_fix}", NULL}},
	{STAGE_TX_DEVICE, "mtu-egress", SEVERITY_INFO, PROOF_LAB, HAS(other),
	 .cause = "{ifname} has the MTU {mtu}, and most packets leave this host by {other} with the MTU "
		  "{other_mtu}: large packets of containers or virtual machines depend on ICMP messages.",
	 .about = "If a firewall drops the ICMP message, large packets are lost and small ones are not. "
		  "Tunnels, VPNs and cloud networks have such MTUs.",
	 .setting = "{ifname} MTU {mtu}, {other} {other_mtu}",
	 .fix = "set the MTU of {ifname} and of its containers to {other_mtu}",
	 .command = "ip link set dev {ifname} mtu {other_mtu}",
	 .undo = "ip link set dev {ifname} mtu {mtu}",
	 .risk = "packets to neighbours on {ifname} become smaller"},
	{STAGE_TX_DEVICE, "mtu-peer", SEVERITY_WARNING, PROOF_LAB, HAS(other_mtu),
	 .cause = "{ifname} and the other end of its link have different MTUs. Packets larger than the "
		  "smaller MTU are lost without an ICMP message.",
	 .setting = "{ifname} MTU {mtu}, its peer {other_mtu}",
	 .fix = "set the same MTU at both ends", .command = "ip -d link show dev {ifname}"},
	{STAGE_TX_DEVICE, "nic-paused", SEVERITY_INFO, PROOF_DATA, .nic = NIC_PAUSE,
	 .cause = "Pause frames stop traffic on the link of {ifname}. Packets that wait may overflow the "
		  "queue before the link.",
	 .setting = "[flow control: rx {pause_rx}]",
	 .fix = "find the receiver or switch port that cannot keep up",
	 .command = "ethtool -S {ifname}"},
	{STAGE_TX_DEVICE, "tx-tun", SEVERITY_WARNING, PROOF_LAB, HAS(txqueuelen),
	 .cause = "The queue of {ifname} was full: the program that reads this tun or tap interface[, "
		  "{program},] is too slow for bursts.",
	 .about = "A VPN or a virtual machine reads the packets from a queue of txqueuelen "
		  "packets. A longer queue holds longer bursts. It does not help if the program is "
		  "always too slow.",
	 .setting = "{ifname} txqueuelen {txqueuelen}",
	 .fix = "raise txqueuelen to {txqueuelen_fix}, or speed up the program",
	 .command = "ip link set dev {ifname} txqueuelen {txqueuelen_fix}",
	 .undo = "ip link set dev {ifname} txqueuelen {txqueuelen}",
	 .risk = "more latency while packets are queued"},
	{STAGE_TX_DEVICE, "tx-peer", SEVERITY_WARNING, PROOF_LAB, .location = "*dev_forward_skb*",
	 .cause = "The other end of the link[ of {ifname}] did not take the packets: it was down, or its "
		  "MTU is smaller.",
	 .about = "A virtual link (veth) hands a packet to its other end. The sender's interface "
		  "counts the packet as dropped. A lower rate does not help.",
	 .fix = "bring up the other end, and set the same MTU at both ends",
	 .command = "ip -d link show dev {ifname}"},
	{STAGE_TX_DEVICE, "tx-timeout", SEVERITY_ERROR, PROOF_DATA, .reason = "XMIT_TIMEOUT",
	 .cause = "A transmit queue of {ifname} stood still until the kernel's watchdog reset the "
		  "interface. The packets in its ring are lost.",
	 .about = "The NIC did not report sent packets: its firmware hangs, an interrupt was lost, or the CPU "
		  "of the queue had no time for it. The packets have no event, and some drivers count them "
		  "as tx_dropped or tx_errors.",
	 .fix = "read the driver's messages, and update the driver and the firmware of the NIC",
	 .command = "dmesg --level err,warn"},
	{STAGE_TX_DEVICE, "tx-stall", SEVERITY_WARNING, PROOF_GUEST, .reason = "DQL_STALL",
	 .cause = "A transmit queue of {ifname} waited longer than its stall_thrs until the NIC reported "
		  "sent packets.",
	 .about = "Packets of the queue waited that long, and the queue before it may have overflowed. The "
		  "kernel reports such stalls from Linux 6.9 on, and only if a limit in milliseconds is set: "
		  "echo 50 > /sys/class/net/IFNAME/queues/tx-0/byte_queue_limits/stall_thrs.",
	 .fix = "give the CPU that serves the queue's interrupt more time, or update the driver of the NIC",
	 .command = "grep . /sys/class/net/{ifname}/queues/tx-*/byte_queue_limits/stall_*"},
	{STAGE_TX_DEVICE, "tx_device", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "The transmit ring[ of {ifname}] was full, or the other end of the link did not take "
		  "the packets.",
	 .fix = "lower the sending rate, or speed up the reader of the ring",
	 .command = "ip -s -s link show dev {ifname}"},
	{STAGE_WIRE, "nic-crc", SEVERITY_ERROR, PROOF_DATA, .nic = NIC_DAMAGED,
	 .cause = "Frames arrive damaged at {ifname}: a cable, a transceiver or the link speed is at "
		  "fault.",
	 .fix = "replace the cable or transceiver, or correct speed and duplex",
	 .command = "ethtool {ifname}"},
	{STAGE_WIRE, "nic-link", SEVERITY_ERROR, PROOF_DATA, .nic = NIC_LINK,
	 .cause = "The link of {ifname} went down while it was observed. Packets on the way are lost.",
	 .fix = "check the cable, the transceiver, and the log of the switch port",
	 .command = "ethtool {ifname}"},
	{STAGE_WIRE, "nic-allowance", SEVERITY_WARNING, PROOF_DATA, .nic = NIC_SHAPER,
	 .cause = "The cloud queued or dropped packets of {ifname}: traffic exceeds the allowance of "
		  "this machine size.",
	 .about = "The cloud limits bandwidth, packets per second or tracked connections. Other "
		  "counters of this host do not show the loss. The counters are an upper bound.",
	 .fix = "reduce the traffic, or choose a larger machine", .command = "ethtool -S {ifname}"},
	{STAGE_WIRE, "wire", SEVERITY_ERROR, PROOF_LAB,
	 .cause = "Packets left one host and did not reach the other: they were lost at a switch, a "
		  "cable or a router between.",
	 .fix = "check the error and pause counters of the switches between; for two namespaces run "
		"`pktledger trace` on their host"},
	{STAGE_HW, "hw", SEVERITY_WARNING, PROOF_DATA,
	 .cause = "The hardware dropped packets and names the reason[: {reason}].",
	 .about = "A switch chip or a NIC that forwards packets itself drops them before they reach the "
		  "kernel. Its driver counts them by reason (devlink traps).",
	 .fix = "look up the reason in the kernel's documentation of devlink traps",
	 .command = "devlink -s trap show"},
	{STAGE_NIC_RING, "nic-port", SEVERITY_WARNING, PROOF_DATA, .nic = NIC_PORT,
	 .cause = "{ifname} lost frames before its rings: the NIC's internal buffer overflowed.",
	 .about = "The bus was too slow, the NIC slept, or all rings were full. With transmit flow "
		  "control (tx on) the NIC asks its link partner to wait instead, and a switch may "
		  "then lose packets of other hosts.",
	 .setting = "[flow control: tx {pause_tx}]",
	 .fix = "[turn flow control tx {pause_fix}, so that the link partner holds frames back, or "
		"]reduce the traffic",
	 .change = {CHANGE_PAUSE, "{ifname}", "tx", "{pause_fix}", "{pause_tx}"},
	 .risk = "the link partner holds back all traffic of this port, not only one flow"},
	{STAGE_NIC_RING, "nic-memory", SEVERITY_WARNING, PROOF_DATA, .nic = NIC_ALLOC,
	 .cause = "The driver of {ifname} found no memory for packets.",
	 .fix = "raise vm.min_free_kbytes, or make the rings smaller",
	 .command = "cat /proc/buddyinfo"},
	{STAGE_NIC_RING, "nic-queues", SEVERITY_WARNING, PROOF_GUEST, HAS(queues_fix),
	 .cause = "One CPU does the receive work of {ifname} and is at its limit, although the NIC has "
		  "more queues.",
	 .seen = SOFTIRQ, .setting = "{queues} of {queues_max} queues, {cpus#CPU}",
	 .fix = "use {queues_fix} queues",
	 .change = {CHANGE_CHANNELS, "{ifname}", "{channel}", "{queues_fix}", "{queues}"},
	 .risk = "the link goes down for a moment, and a single flow still uses one queue"},
	{STAGE_NIC_RING, "nic-rss", SEVERITY_WARNING, PROOF_DATA, HAS(rss_used),
	 .cause = "RSS spreads the packets of {ifname} over only {rss_used} of its {queues} queues, and "
		  "a CPU is at its limit.",
	 .seen = SOFTIRQ, .setting = "{rss_used} of {queues} queues in the indirection table",
	 .fix = "spread packets over all queues",
	 .change = {CHANGE_RSS, "{ifname}", "indirection", "equal {queues}", NULL},
	 .risk = "flows move to other CPUs, so that some packets are reordered"},
	{STAGE_NIC_RING, "nic-irq", SEVERITY_WARNING, PROOF_GUEST, HAS(irqs),
	 .cause = "CPU {cpu} serves {irqs} queues of {ifname} and is at its limit, while CPU {idle_cpu} "
		  "is idle.",
	 .about = "irqbalance may choose a better CPU, or revert the change. The interrupt moves once "
		  "the queue is empty. Before that, its CPU polls the queue without interrupts.",
	 .seen = SOFTIRQ "; interrupts {irq_list}", .setting = "interrupt {irq} on CPU {cpu}",
	 .fix = "move interrupt {irq} to CPU {idle_cpu}",
	 .change = {CHANGE_IRQ, NULL, "{irq}", "{idle_cpu}", NULL},
	 .risk = "irqbalance, if it runs, moves the interrupt again"},
	{STAGE_NIC_RING, "nic-rps", SEVERITY_WARNING, PROOF_DATA, HAS(rps_fix),
	 .cause = "One CPU does the receive work of {ifname} and is at its limit. The NIC has a single "
		  "queue, and RPS is off.",
	 .seen = SOFTIRQ, .setting = "queues/rx-0/rps_cpus {rps}",
	 .fix = "turn on RPS to the other CPUs",
	 .change = {CHANGE_SYSFS, "{ifname}", "queues/rx-0/rps_cpus", "{rps_fix}", "{rps}"},
	 .risk = "more work in total, and a single flow still uses one CPU"},
	{STAGE_NIC_RING, "cpu-budget", SEVERITY_WARNING, PROOF_DATA, HAS(squeezed),
	 .cause = "The kernel ended its receive work while packets still waited, and packets were lost.",
	 .about = "netdev_budget limits the packets of one round, netdev_budget_usecs its time. No "
		  "counter shows which of them ended it, so both are raised. Without losses this "
		  "counter needs no action.",
	 .seen = "softnet time_squeeze +{squeezed} in {window_ns#}",
	 .setting = "net.core.netdev_budget {budget}[, netdev_budget_usecs {budget_usecs}]",
	 .fix = "raise netdev_budget to {budget*2}[ and netdev_budget_usecs to {budget_usecs*2}]",
	 .change = SYSCTL("net/core/netdev_budget", "{budget*2}", "{budget}"),
	 .risk = "programs wait longer for a CPU that receives"},
	{STAGE_NIC_RING, "cpu-governor", SEVERITY_WARNING, PROOF_LAB, HAS(governor),
	 .cause = "Packets are lost while busy CPUs run below their full speed.",
	 .seen = "CPU {cpu} at {mhz} of {mhz_max} MHz", .setting = "governor {governor}",
	 .fix = "use the performance governor",
	 .change = {CHANGE_GOVERNOR, NULL, "{cpu}", "performance", "{governor}"},
	 .risk = "more power and heat"},
	{STAGE_NIC_RING, "cpu-steal", SEVERITY_WARNING, PROOF_DATA, HAS(steal_percent),
	 .cause = "The hypervisor took {steal_percent} % of this machine's CPU time, while rings and "
		  "sockets filled.",
	 .seen = "{steal_percent} % of {window_ns#} stolen",
	 .fix = "reserve CPUs for this machine, or move it to a less crowded host"},
	{STAGE_NIC_RING, "cpu-softirq", SEVERITY_WARNING, PROOF_DATA, HAS(of_cpu),
	 .cause = "CPU {cpu} spends its time on receive work alone. Further packets are lost in a ring or "
		  "a backlog.",
	 .seen = SOFTIRQ,
	 .fix = "reduce the work per packet (offloads, fewer rules and captures), or the traffic",
	 .command = "cat /proc/softirqs"},
	{STAGE_NIC_RING, "nic_ring", SEVERITY_WARNING, PROOF_GUEST, ring_can_grow,
	 .cause = "The receive ring[ of {ifname}] was full: the kernel did not empty it in time.",
	 .about = "A larger ring holds longer bursts. It does not help if the CPU is always too "
		  "slow.",
	 .setting = "ring {ring} of at most {ring_max}", .fix = "enlarge the ring to {ring_max}",
	 .change = {CHANGE_RING, "{ifname}", "rx", "{ring_max}", "{ring}"},
	 .risk = "the link goes down for a moment"},
	{STAGE_NIC_RING, "nic-ring-busy", SEVERITY_WARNING, PROOF_GUEST,
	 .cause = "The receive ring[ of {ifname}] was full: the kernel did not empty it in time.",
	 .about = "The ring has its largest size, or its size is not known. Less work per packet "
		  "(rules, captures, copies) or XDP also help.",
	 .setting = "[ring {ring}]", .fix = "use more queues, or reserve a CPU for the receive work",
	 .command = "ethtool -l {ifname}"},
	{STAGE_XDP, "xdp-generic", SEVERITY_INFO, PROOF_LAB, HAS(generic_xdp),
	 .cause = "An XDP program runs on {ifname} in generic mode, although the driver {driver} supports "
		  "native mode.",
	 .about = "In generic mode the kernel first allocates a packet buffer. Nothing is lost, "
		  "but the program runs much more slowly.",
	 .setting = "attached in generic mode", .fix = "attach the program in native mode (xdpdrv)",
	 .command = "ip link show dev {ifname}"},
	{STAGE_XDP, "xdp", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "An XDP program[ on {ifname}] dropped the packets, or could not redirect them.",
	 .fix = "review the program or its redirect target",
	 .command = "bpftool net show dev {ifname}"},
	{STAGE_XSK, "xsk", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "The AF_XDP socket had no room, because the application did not keep up: its RX ring was "
		  "full (ENOBUFS) or its fill ring empty (ENOMEM).",
	 .setting = "[ring {ring}]", .fix = "enlarge the rings, or empty them in a dedicated thread"},
	{STAGE_GSO, "gso", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "A merged packet could not be split again.",
	 .fix = "turn off GRO and GSO on the path to see whether the loss ends"},
	{STAGE_BACKLOG, "backlog-flow-limit", SEVERITY_WARNING, PROOF_DATA, HAS(flow_limit),
	 .cause = "The flow limit dropped packets of the largest flow, because a CPU's backlog was half "
		  "full.",
	 .setting = "net.core.flow_limit_cpu_bitmap {flow_limit}",
	 .fix = "turn off the flow limit if one flow is the purpose of this host",
	 .change = SYSCTL("net/core/flow_limit_cpu_bitmap", "0", "{flow_limit}"),
	 .risk = "one large flow can take the whole backlog"},
	{STAGE_BACKLOG, "backlog-link-down", SEVERITY_WARNING, PROOF_DATA,
	 .reason = "DEV_READY QUEUE_PURGE",
	 .cause = "The interface[ {ifname}] that the packets arrived on was going down or being removed.",
	 .about = "Packets sent while a link flaps, or while a container starts or ends, are lost "
		  "before a CPU processes them.",
	 .fix = "keep the link up while packets arrive", .command = "ip -s link show dev {ifname}"},
	{STAGE_BACKLOG, "backlog-macvlan", SEVERITY_WARNING, PROOF_DATA, .location = "macvlan_*",
	 .cause = "The queue for broadcasts and multicasts to the macvlan interfaces[ of {ifname}] was "
		  "full.",
	 .fix = "raise bcqueuelen of a macvlan interface, or reduce the broadcasts",
	 .command = "ip -d link show type macvlan"},
	{STAGE_BACKLOG, "backlog", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "The backlog queue of a CPU was full: the CPU could not process the packets that other "
		  "CPUs handed to it, or one flow exceeded its limit.",
	 .setting = "net.core.netdev_max_backlog {backlog}",
	 .fix = "raise net.core.netdev_max_backlog[ to {backlog_fix}], or reduce the work per packet",
	 .change = SYSCTL("net/core/netdev_max_backlog", "{backlog_fix}", "{backlog}"),
	 .risk = "more latency under load, on all interfaces of the host"},
	{STAGE_TC_INGRESS, "tc-filter", SEVERITY_WARNING, PROOF_DATA, HAS(clsact),
	 .cause = "A tc filter or BPF program of {ifname} dropped packets, inbound or outbound.",
	 .about = "The filters of clsact share one drop counter for both directions. `pktledger "
		  "trace` shows the direction, and `pktledger trace --by flow` the flows.",
	 .fix = "review the filter", .command = "tc -s filter show dev {ifname} ingress"},
	{STAGE_TC_INGRESS, "tc_ingress", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "A tc filter or BPF program at the ingress[ of {ifname}] dropped the packets.",
	 .fix = "review the filter", .command = "tc -s filter show dev {ifname} ingress"},
	{STAGE_L2, "l2-dnat", SEVERITY_ERROR, PROOF_LAB, HAS(dnat.backend),
	 .cause = "NAT redirects packets for {asked} to {backend}, and no port of the bridge {silent_on} "
		  "leads there any more.",
	 .about = "The backend, such as a container, is gone, and its port with it. Its neighbour entry "
		  "stays valid for a while, so the bridge floods the packets or drops them.",
	 .setting = "[rule {nat_rule}]", .fix = NAT_FIX, .command = "{entries}"},
	{STAGE_L2, "mtu-mismatch", SEVERITY_WARNING, PROOF_LAB, HAS(other),
	 .cause = "{ifname} and {other} are ports of one bridge with different MTUs. Frames larger than "
		  "the smaller MTU are dropped without a message.",
	 .setting = "{ifname} MTU {mtu}, {other} {other_mtu}", .fix = "set the same MTU on both ports",
	 .command = "ip link show master {master}"},
	{STAGE_L2, "l2-vlan", SEVERITY_WARNING, PROOF_LAB, HAS(stray_vlan),
	 .cause = "{ifname} drops frames of VLAN {stray_vlan}, for which it has no VLAN interface.",
	 .fix = "add a VLAN interface if the frames are for this host, or remove the VLAN from the switch "
		"port",
	 .command = "ip link add link {ifname} name {ifname}.{stray_vlan} type vlan id {stray_vlan}",
	 .undo = "ip link del {ifname}.{stray_vlan}"},
	{STAGE_L2, "l2-stray", SEVERITY_INFO, PROOF_LAB, HAS(stray),
	 .cause = "The drop counters of {ifname} count frames that nothing here takes: {stray}. No "
		  "packet for this host is lost.",
	 .about = "Switches send LLDP and STP, and an interface in promiscuous mode receives frames for "
		  "other hosts. The kernel counts frames of unknown protocols as dropped.",
	 .fix = "ignore the counter, or stop the sender of these frames",
	 .command = "ip -s -s link show dev {ifname}"},
	{STAGE_L2, "l2-otherhost", SEVERITY_WARNING, PROOF_LAB, .reason = "OTHERHOST",
	 .cause = "The frames were addressed to another MAC address than the receiving interface has[ "
		  "({ifname})].",
	 .about = "Possible causes: a switch that floods, promiscuous mode, or an outdated "
		  "neighbour entry at the sender.",
	 .fix = "correct the sender's neighbour entry", .command = "ip link show dev {ifname}"},
	{STAGE_L2, "l2-stp", SEVERITY_WARNING, PROOF_LAB, .reason = "BRIDGE_INGRESS_STP_STATE",
	 .cause = "The bridge port[ {ifname}] does not forward: its state is listening, learning, "
		  "blocking or disabled.",
	 .about = "Spanning tree, its forward delay after a link came up, or a command put the "
		  "port in that state. STP avoids loops that way, and the path then leads through "
		  "another port. A port to a host does not need to wait (`forward_delay` 0 of the "
		  "bridge, or RSTP and an edge port).",
	 .fix = "let the port forward, or use a path without it",
	 .command = "bridge -d link show dev {ifname}"},
	{STAGE_L2, "l2-bridge", SEVERITY_WARNING, PROOF_LAB, .location = "br_*",
	 .cause = "The bridge did not forward the frames[ that arrived on {ifname}]: the incoming or the "
		  "outgoing port is blocked, isolated or does not flood, or both are the same port.",
	 .about = "`hairpin` allows the same port. A port may also lack the VLAN, or its MTU is "
		  "smaller than the frame.",
	 .fix = "review state, flags and addresses of both ports (`bridge fdb`)",
	 .command = "bridge -d link show"},
	{STAGE_L2, "l2", SEVERITY_WARNING, PROOF_NOT,
	 .cause = "The link layer did not pass the packets on: an unknown protocol, VLAN or address.",
	 .fix = "review the settings of the VLAN or the virtual interface"},
	{STAGE_IP_HEADER, "ip_header", SEVERITY_ERROR, PROOF_LAB,
	 .cause = "The IP header was invalid on arrival: the sender is defective, or a hop changed it.",
	 .fix = "find the sender or the hop that writes invalid headers"},
	{STAGE_NETFILTER, "conntrack-near", SEVERITY_WARNING, PROOF_DATA, is_near,
	 .cause = "The connection tracking table is {used_percent} % full. When it is full, packets of new "
		  "flows are dropped.",
	 .setting = "{used} entries, net.netfilter.nf_conntrack_max {limit}",
	 .fix = "raise nf_conntrack_max to {limit*2}",
	 .change = SYSCTL_LIMIT("net/netfilter/nf_conntrack_max"),
	 .risk = "more kernel memory, about 300 bytes per entry"},
	{STAGE_NETFILTER, "nfqueue", SEVERITY_WARNING, PROOF_DATA, HAS(nfqueue),
	 .cause = "A program that judges packets through NFQUEUE was too slow, and its queue was full.",
	 .fix = "speed up the program, lengthen its queue, or use several queues",
	 .command = "cat /proc/net/netfilter/nfnetlink_queue"},
	{STAGE_NETFILTER, "netfilter-clash", SEVERITY_WARNING, PROOF_LAB, is_clash,
	 .cause = "Packets of new flows were dropped because their connections could not be entered: "
		  "source NAT has no free port, or two packets of a flow arrived at the same moment.",
	 .about = "No rule dropped the packet, and the table is not full. Source NAT (masquerade, "
		  "snat) has fewer addresses and ports than there are flows to one destination, or "
		  "a resolver sent A and AAAA queries at once and destination NAT gave them "
		  "different backends.",
	 .seen = "nf_conntrack insert_failed +{conntrack_clashes}",
	 .fix = "give source NAT more ports or addresses, or send one packet of a new flow at a time",
	 .command = "conntrack -S"},
	{STAGE_NETFILTER, "netfilter-conntrack", SEVERITY_ERROR, PROOF_LAB, is_conntrack_full,
	 .cause = "The connection tracking table was full: packets of new flows were dropped.",
	 .about = "UDP flows keep their entries for 30 seconds or more after the last packet, TCP "
		  "connections for days if neither end closes them. Shorter timeouts, or notrack "
		  "for flows that need no tracking, also help. conntrack(8) lists the entries.",
	 .seen = "nf_conntrack drop +{conntrack_drops}",
	 .setting = "{used} entries, net.netfilter.nf_conntrack_max {limit}",
	 .fix = "raise nf_conntrack_max[ to {limit*2}]",
	 .change = SYSCTL("net/netfilter/nf_conntrack_max", "{limit*2}", "{limit}"),
	 .risk = "more kernel memory, about 300 bytes per entry"},
	{STAGE_NETFILTER, "netfilter-rule", SEVERITY_WARNING, PROOF_LAB, HAS(rule_handle),
	 .cause = "A firewall rule[ in the {hook} hook] dropped the packets.",
	 .seen = "{rules}[: {rule}]",
	 .fix = "review the rule, and delete it if it drops more than it should",
	 .command = "nft delete rule {rule_chain} handle {rule_handle}",
	 .risk = "all packets that the rule dropped pass, unless a later rule drops them"},
	{STAGE_NETFILTER, "netfilter-chain", SEVERITY_WARNING, PROOF_DATA, HAS(rule_chain),
	 .cause = "Rules of one firewall chain[ in the {hook} hook] dropped the packets.",
	 .about = "The counters of the rules, or the policy, account for the packets. `nft -a list chain` "
		  "prints the rules with the handles by which they can be deleted.",
	 .seen = "{rules}", .fix = "review the rules", .command = "nft -a list chain {rule_chain}"},
	{STAGE_NETFILTER, "netfilter", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "A firewall rule[ in the {hook} hook] dropped the packets.",
	 .about = "In the output and postrouting hooks send() returns EPERM. Rules with counters "
		  "show which rule it was.",
	 .seen = "[{rules}]", .fix = "review the rule", .command = "nft -a list ruleset"},
	{STAGE_IP_ROUTE, "ip-route-dnat", SEVERITY_ERROR, PROOF_DATA, HAS(dnat.backend),
	 .cause = "NAT redirects packets for {asked} to {backend}, and no route leads there, or one that "
		  "discards packets.",
	 .about = "The backend is gone, and its route with it. A connection tracking entry outlives both.",
	 .setting = "[rule {nat_rule}]", .fix = NAT_FIX, .command = "{entries}"},
	{STAGE_IP_ROUTE, "ip-rpfilter-no-route", SEVERITY_WARNING, PROOF_LAB, has_no_way_back,
	 .reason = "IP_RPFILTER",
	 .cause = "Reverse path filtering dropped the packets[ on {ifname}]: this host has no route to "
		  "their source {source}.",
	 .about = "Loose mode (2) also drops such packets. Mode 0 accepts any source. Multicast from "
		  "another network is the usual case, because receivers never answer.",
	 .setting = "[net.ipv4.conf.{ifname}.rp_filter {rp_filter}]",
	 .fix = "add a route to {source}[ on {ifname}: `ip route add {source} dev {ifname}`, with `via` "
		"if a gateway is between]",
	 .command = "ip route get {source}"},
	{STAGE_IP_ROUTE, "ip-rpfilter", SEVERITY_WARNING, PROOF_LAB, has_other_way_back,
	 .reason = "IP_RPFILTER",
	 .cause = "Reverse path filtering dropped the packets: the route back to their source {source} "
		  "leaves by {back}, and the packets arrived on {ifname}.",
	 .about = "Several uplinks or asymmetric routes cause this. Mode 2 only requires some "
		  "route. The larger value of the interface's and of `all` is in force.",
	 .setting = "[net.ipv4.conf.{ifname}.rp_filter {rp_filter}]",
	 .fix = "set loose mode (2), or route {source} by {ifname}",
	 .command = "ip route get {source}",
	 .change = SYSCTL("net/ipv4/conf/{ifname}/rp_filter", "2", "{rp_filter}"),
	 .risk = "packets with forged sources pass more easily"},
	{STAGE_IP_ROUTE, "ip-rpfilter-unseen", SEVERITY_WARNING, PROOF_LAB, .reason = "IP_RPFILTER",
	 .cause = "Reverse path filtering dropped the packets: the route to their source is missing, or "
		  "leaves on an interface other than the receiving interface[ ({ifname})].",
	 .about = "Too few packets arrived to look up their source, or the kernel gives no drop "
		  "reasons. The counter does not name the interface: shown is the strict one with "
		  "the most traffic.",
	 .setting = "[net.ipv4.conf.{ifname}.rp_filter {rp_filter}]",
	 .fix = "watch for longer to see the source; add a route to it, or set loose mode (2) if the route "
		"leaves by another interface",
	 .command = "pktledger trace --by flow --reason IP_RPFILTER"},
	{STAGE_IP_ROUTE, "ip-not-router", SEVERITY_WARNING, PROOF_LAB, .reason = "IP_INADDRERRORS",
	 .cause = "The packets[ on {ifname}] are for an address that this host does not have, and IP "
		  "forwarding is off.",
	 .about = "A router needs forwarding (per interface: conf/IFNAME/forwarding), also for its "
		  "containers, and other programs switch it off. On a host that is not a router an "
		  "address is missing, such as a service address on lo, or the sender's route or "
		  "neighbour entry leads to the wrong host. --apply does not change it, because "
		  "forwarding opens paths that were closed.",
	 .setting = "forwarding off",
	 .fix = "run `sysctl -w net.ipv4.ip_forward=1` (IPv6: net.ipv6.conf.all.forwarding) if this host "
		"is a router; otherwise add the address",
	 .command = "sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding"},
	{STAGE_IP_ROUTE, "ip-no-route", SEVERITY_WARNING, PROOF_LAB, .reason = "IP_INNOROUTES",
	 .cause = "This router has no route to the packets' destination[; they arrived on {ifname}].",
	 .about = "This includes routes of type unreachable. The sender gets ICMP messages at a limited "
		  "rate.",
	 .fix = "add a route to the destination",
	 .command = "pktledger trace --by reason,location,flow --stage ip_route"},
	{STAGE_IP_ROUTE, "ip-discard", SEVERITY_WARNING, PROOF_LAB,
	 /* ip_error() has drop reasons for all other cases (Linux 5.19) */
	 .reason = "NOT_SPECIFIED", .location = "ip_error dst_discard*",
	 .cause = "A route of this router discards packets to the destination: its type is blackhole, "
		  "unreachable or prohibit[; they arrived on {ifname}].",
	 .about = "Such a route exists, for example, against an attacker or for a network that is "
		  "gone. A blackhole route sends no ICMP message. The other types do.",
	 .fix = "review the route",
	 .command = "pktledger trace --by reason,location,flow --stage ip_route"},
	{STAGE_IP_ROUTE, "ip-own-source", SEVERITY_WARNING, PROOF_LAB, .reason = "IP_LOCAL_SOURCE",
	 .cause = "The packets[ on {ifname}] have a source address that this host has itself.",
	 .fix = "give each address to one host only, and remove loops", .command = "ip addr show"},
	{STAGE_IP_ROUTE, "mcast-not-joined", SEVERITY_INFO, PROOF_LAB, HAS(not_joined),
	 .cause = "The packets are multicast to a group that no program has joined[ on {ifname}].",
	 .about = "`ip maddr` lists the groups of each interface. A program that joins without "
		  "naming an interface joins on the interface of the route to the group, often "
		  "another one. This does not count as loss, and is shown only for packets that a "
		  "filter expression asked for.",
	 .fix = "join the group on[ {ifname},] the interface on which the packets arrive",
	 .command = "ip maddr show dev {ifname}"},
	{STAGE_IP_ROUTE, "ip_route", SEVERITY_WARNING, PROOF_NOT,
	 .cause = "Routing refused the packets: their source or destination is martian, or there is no "
		  "route.",
	 .fix = "review addresses and routes"},
	{STAGE_IP_FRAG, "frag-memory", SEVERITY_WARNING, PROOF_LAB, is_near,
	 .cause = "The memory for incomplete datagrams is {used_percent} % used. When it is full, "
		  "fragments are dropped.",
	 .setting = "{used} of {limit} bytes", .fix = "raise the limit to {limit*2}",
	 .change = SYSCTL_LIMIT("{limit_sysctl}"),
	 .risk = "more kernel memory for fragments that never complete"},
	{STAGE_IP_FRAG, "frag-arriving", SEVERITY_INFO, PROOF_LAB, HAS(arriving),
	 .cause = "Datagrams arrive in fragments. If one fragment is lost, the whole datagram is lost.",
	 .fix = "send datagrams that fit the MTU of the path"},
	{STAGE_IP_FRAG, "frag-leaving", SEVERITY_INFO, PROOF_LAB, HAS(leaving),
	 .cause = "Datagrams larger than the MTU leave in fragments. If one fragment is lost, the whole "
		  "datagram is lost.",
	 .fix = "send datagrams that fit the MTU of the path", .command = "ip link show"},
	{STAGE_IP_FRAG, "ip_frag", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "Datagrams could not be reassembled: a fragment was lost, or the memory for fragments "
		  "was full.",
	 .fix = "send datagrams that fit the MTU, and find the lost fragment with `pktledger trace`"},
	{STAGE_IP_FORWARD, "mtu-black-hole", SEVERITY_ERROR, PROOF_LAB, is_black_hole,
	 .cause = "Packets to {path_to} that are larger than {path_mtu} bytes are lost[ after "
		  "{path_before}][ on the way to {path_after}], and no ICMP message arrives.",
	 .about = "Connections open, and hang when something large is sent. A router drops packets that are "
		  "larger than its next link, and a firewall drops the ICMP message that says so. The sizes "
		  "are of pings (whole IP packets that must not be fragmented). A firewall that drops only "
		  "large pings looks the same.",
	 .setting = "{ifname} MTU {mtu}",
	 .fix = "let ICMP \"fragmentation needed\" (IPv6: \"packet too big\") pass, or set the MTU of the "
		"route to {path_mtu}",
	 .command = "ip route add {path_to}[ via {path_via}] dev {ifname} mtu {path_mtu}",
	 .undo = "ip route del {path_to}", .risk = "later changes of the route to {path_to} do not apply"},
	{STAGE_IP_FORWARD, "mtu-path", SEVERITY_INFO, PROOF_LAB, HAS(path.to),
	 .cause = "Packets of up to {path_mtu} bytes reach {path_to}[. For larger packets {told_by} sends an "
		  "ICMP message, so path MTU discovery works].",
	 .setting = "{ifname} MTU {mtu}", .fix = "look for the loss elsewhere",
	 .command = "ip route get {path_to}"},
	{STAGE_IP_FORWARD, "ip-ttl", SEVERITY_WARNING, PROOF_LAB, .reason = "IP_INHDR",
	 .cause = "The TTL of the packets expired on a router[, where they arrived on {ifname}].",
	 .about = "Multicast has a TTL of 1 unless its sender asks for more.",
	 .setting = "[TTL {ttl}]", .fix = "send with a larger TTL, or remove the routing loop"},
	{STAGE_IP_FORWARD, "ip-mtu-discovery", SEVERITY_INFO, PROOF_LAB, is_discovery,
	 .reason = "PKT_TOO_BIG",
	 .cause = "A few packets were larger than the MTU of the next link[ ({next}, {next_mtu})]. This is "
		  "path MTU discovery: their senders continue with smaller packets.",
	 .about = "The router sends them an ICMP message with the MTU that fits, and most packets pass. If "
		  "the number does not fall, a firewall drops these messages.",
	 .fix = "lower the MTU or MSS of the senders if the first packets of each connection matter",
	 .command = "ip link show dev {next}"},
	{STAGE_IP_FORWARD, "ip-too-big", SEVERITY_WARNING, PROOF_LAB, .reason = "PKT_TOO_BIG",
	 .cause = "The packets are larger than the MTU of the next link[ ({next}, {next_mtu})] and must not "
		  "be fragmented.",
	 .about = "The sender gets an ICMP message with the MTU that fits. Firewalls often drop "
		  "it, and then all large packets stay lost.",
	 .seen = "[{told#ICMP message} \"destination unreachable\" sent, and the senders do not react]",
	 .setting = "[MTU {mtu}]",
	 .fix = "let the ICMP messages reach the senders, or lower their MTU[ to {next_mtu}]",
	 .command = "pktledger trace --by reason,flow --stage ip_forward"},
	{STAGE_IP_FORWARD, "ip_forward", SEVERITY_WARNING, PROOF_NOT,
	 .cause = "A router did not forward the packets.",
	 .fix = "review the router's settings"},
	{STAGE_TUNNEL, "tunnel", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "The tunnel endpoint did not take the packets: an unknown identifier, or an invalid "
		  "inner packet.",
	 .fix = "configure both ends of the tunnel alike", .command = "ip -d link show"},
	{STAGE_XFRM, "xfrm", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "An IPsec policy refused the packets.",
	 .fix = "review the policies", .command = "ip xfrm policy"},
	{STAGE_UDP_LOOKUP, "udp-lookup-dnat", SEVERITY_ERROR, PROOF_LAB, HAS(dnat.backend),
	 .cause = "NAT redirects packets for {asked} to {backend}, where no socket is open.",
	 .about = "The address is one of this host, possibly in another namespace. The backend "
		  "ended or listens elsewhere.",
	 .setting = "[rule {nat_rule}]", .fix = "start a receiver there, or " NAT_FIX,
	 .command = "{entries}"},
	{STAGE_UDP_LOOKUP, "port-closed", SEVERITY_ERROR, PROOF_LAB, HAS(port_closed),
	 .cause = "No UDP socket is open on port {port}, so packets for it are refused.",
	 .about = "The program does not run, listens on another port or address family, or runs in "
		  "another namespace (--netns, --pid).",
	 .seen = "[{refused#datagram} arrived in this namespace for ports without a socket, including "
		 "other ports]",
	 .fix = "start a receiver on port {port}", .command = "ss -ulpn sport = :{port}"},
	{STAGE_UDP_LOOKUP, "udp-lookup-peer", SEVERITY_ERROR, PROOF_LAB, HAS(peer),
	 .cause = "The socket on port {port}[ of {program}] is connected to {peer} and takes only packets "
		  "of that peer. The lost packets came from other addresses.",
	 .fix = "send from {peer}, or do not connect the receiving socket",
	 .command = "ss -uanp sport = :{port}"},
	{STAGE_UDP_LOOKUP, "udp-lookup-address", SEVERITY_ERROR, PROOF_LAB, HAS(bound),
	 .cause = "The socket on port {port}[ of {program}] is bound to {bound}. The lost packets were for "
		  "another address of this host.",
	 .about = "Programs that listen on 127.0.0.1 by default are the usual case.",
	 .fix = "bind the receiver to 0.0.0.0 (or ::), or send to {bound}",
	 .command = "ss -uanp sport = :{port}"},
	{STAGE_UDP_LOOKUP, "udp_lookup", SEVERITY_ERROR, PROOF_LAB,
	 .cause = "No socket took the packets[ for port {port}]: no socket is open, or it is bound to "
		  "another address or interface, or connected to another peer.",
	 .fix = "start a receiver for that address, port and sender before the sender",
	 .command = "ss -uanp[ sport = :{port}]"},
	{STAGE_UDP_HEADER, "udp_header", SEVERITY_ERROR, PROOF_LAB,
	 .cause = "The length in the UDP header does not fit the packet.",
	 .fix = "find the sender or the hop that writes invalid headers"},
	{STAGE_UDP_CSUM, "udp-csum-tunnel", SEVERITY_ERROR, PROOF_LAB, HAS(tunnel),
	 .cause = "The outer UDP checksum of tunnel packets was wrong on arrival (port {port} of "
		  "{tunnel}).",
	 .about = "The tunnel interface at the sender leaves the checksum of the outer header to "
		  "the NIC (NETIF_F_HW_CSUM), and the NIC, or NAT on the path, computes it "
		  "wrongly. flannel's masquerading did. Without the offload the kernel computes "
		  "it, at some cost of CPU time. Tunnels over IPv4 may send no checksum at all "
		  "(`ip link ... noudpcsum`).",
	 .fix = "run `ethtool -K {tunnel} tx-checksum-ip-generic off` at the sender, with the name of the "
		"tunnel there",
	 .command = "ip -d link show dev {tunnel}"},
	{STAGE_UDP_CSUM, "udp_csum", SEVERITY_ERROR, PROOF_LAB,
	 .cause = "The UDP checksum was wrong on arrival: the packet was damaged, or left to an offload "
		  "that an XDP redirect bypassed.",
	 .fix = "let the sender compute complete checksums (ethtool -K IFNAME tx off)"},
	{STAGE_SOCKET_FILTER, "socket_filter", SEVERITY_INFO, PROOF_LAB,
	 .cause = "A filter on the receiving socket, or a cgroup ingress program, refused the packets.",
	 .fix = "review the filter", .command = "bpftool cgroup tree"},
	{STAGE_UDP_MEM, "udp-mem-near", SEVERITY_WARNING, PROOF_DATA, is_near,
	 .cause = "The memory for all UDP sockets of the host is {used_percent} % used. When it is full, "
		  "all of them lose packets.",
	 .about = "First look for a socket with a large queue and no reader.",
	 .setting = "{used} pages, net.ipv4.udp_mem {udp_mem}",
	 .fix = "raise net.ipv4.udp_mem to {udp_mem*2}",
	 .change = SYSCTL("net/ipv4/udp_mem", "{udp_mem*2}", "{udp_mem}"),
	 .risk = "all UDP sockets of the host together may use twice the memory"},
	{STAGE_UDP_MEM, "udp-mem-cgroup", SEVERITY_WARNING, PROOF_LAB, is_cgroup_memory,
	 .cause = "A UDP socket[ of {program}] got no memory, although its receive buffer had room: its "
		  "memory cgroup was at its limit.",
	 .about = "The sockets of a container or a systemd unit count towards the limit of its "
		  "memory cgroup. net.ipv4.udp_mem was not exceeded. A larger receive buffer makes it "
		  "worse.",
	 .seen = "all UDP sockets have {udp_pages} of {limit_pages} pages now",
	 .fix = "speed up the reader, or give its cgroup more memory (memory.max)"},
	{STAGE_UDP_MEM, "udp-mem-unclear", SEVERITY_WARNING, PROOF_LAB, is_memory_unclear,
	 .cause = "A UDP socket[ of {program}] got no memory, although its receive buffer had room: for a "
		  "moment, net.ipv4.udp_mem was used up, or its memory cgroup was at its limit.",
	 .about = "Less than half of net.ipv4.udp_mem is in use now. Which of the two limits refuses "
		  "memory is counted only if `check` has CAP_BPF and CAP_PERFMON.",
	 .seen = "all UDP sockets have {udp_pages} of {limit_pages} pages now",
	 .fix = "speed up the reader, or run `pktledger check` as root during the losses"},
	{STAGE_UDP_MEM, "udp_mem", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "The memory for all UDP sockets of the host was used up, although this socket's buffer "
		  "had room.",
	 .setting = "net.ipv4.udp_mem {udp_mem}[ pages, at most {udp_mem_bytes} bytes]",
	 .fix = "raise net.ipv4.udp_mem[ to {udp_mem*2}], or shorten the queues of all sockets",
	 .change = SYSCTL("net/ipv4/udp_mem", "{udp_mem*2}", "{udp_mem}"),
	 .risk = "all UDP sockets of the host together may use twice the memory"},
	{STAGE_RCVBUF, "capture-ring", SEVERITY_INFO, PROOF_LAB, HAS(tap),
	 .cause = "The ring or buffer of a packet socket[ of {program}][ on {ifname}] was full. Only copies "
		  "for a capture are lost, not the traffic itself.",
	 .about = "The program reads its copies more slowly than packets arrive. tcpdump prints the loss "
		  "when it ends, as \"dropped by kernel\". No file and no counter shows it before.",
	 .fix = "enlarge the ring (tcpdump -B, ring-size of Suricata), use a filter, or capture less of "
		"each packet (tcpdump -s)",
	 .command = "ss -0pn"},
	{STAGE_RCVBUF, "rcvbuf-filling", SEVERITY_WARNING, PROOF_LAB, is_filling,
	 .cause = "{program} does not read port {port} in time: its receive buffer is more than half full "
		  "all the time.",
	 .seen = "{queued_bytes} of {rcvbuf_bytes} bytes queued[, {queued_before_bytes} {window_ns#} "
		 "before]",
	 .fix = "speed up the reader", .command = "ss -uampn sport = :{port}"},
	{STAGE_RCVBUF, "rcvbuf-stopped", SEVERITY_ERROR, PROOF_LAB, HAS(reading.stopped),
	 .cause = "The receive buffer was full because {reader} is stopped, by a signal or a debugger.",
	 .fix = "continue the process (kill -CONT)"},
	{STAGE_RCVBUF, "rcvbuf-quota", SEVERITY_WARNING, PROOF_LAB, is_throttled,
	 .cause = "The receive buffer was full because {reader} used up the CPU quota of its cgroup and "
		  "was throttled.",
	 .about = "The kernel holds the process back until the next period, up to 100 ms, even "
		  "with idle CPUs. In a container this is its CPU limit, in Kubernetes the limit "
		  "of the pod.",
	 .seen = "the quota withheld {throttled_ns#} of CPU time",
	 .fix = "raise the quota (cpu.max, CPUQuota=, the CPU limit of the container), or reduce the work "
		"in the cgroup"},
	{STAGE_RCVBUF, "rcvbuf-cpu", SEVERITY_WARNING, PROOF_LAB, waited_for_cpu,
	 .cause = "The receive buffer was full because {reader} waited for a CPU: there are too few CPUs, "
		  "or other work came first.",
	 .about = "Other processes, interrupts or the hypervisor used the CPUs. A larger buffer "
		  "only bridges short waits.",
	 .fix = "reserve a CPU for the reader, raise its priority, or move other work away"},
	{STAGE_RCVBUF, "rcvbuf-futex", SEVERITY_WARNING, PROOF_LAB, is_in_futex,
	 .cause = "The receive buffer was full because {reader} waited for another thread of its program "
		  "(futex): for a lock, or for room in a queue.",
	 .about = "It hands packets to other threads of its program, and these are slower. A "
		  "dedicated receiving thread does not help, because it is one already. rsyslog, "
		  "for example, blocks its receiver while its main queue is full.",
	 .fix = "speed up the threads that process the packets (more workers, a faster disk), or enlarge "
		"the program's internal queue"},
	{STAGE_RCVBUF, "rcvbuf-one-flow", SEVERITY_WARNING, PROOF_LAB, is_one_flow,
	 .cause = "{sharing} sockets share port {port}, but a single socket[ of {program}] receives "
		  "all packets: they belong to one flow, or to flows with the same hash.",
	 .about = "The kernel chooses among sockets with SO_REUSEPORT by a hash of addresses and ports. "
		  "All packets of a flow go to one socket, even if the other sockets are idle.",
	 .fix = "send from several source ports, or let a BPF program choose the socket "
		"(SO_ATTACH_REUSEPORT_EBPF)",
	 .command = "ss -uanp sport = :{port}"},
	{STAGE_RCVBUF, "rcvbuf-busy", SEVERITY_WARNING, PROOF_LAB, is_busy,
	 .cause = "The receive buffer was full although {reader} ran all the time: it is too slow. A larger "
		  "buffer only delays the loss.",
	 .fix = "reduce the work per packet, use recvmmsg(), or add readers (SO_REUSEPORT)"},
	{STAGE_RCVBUF, "rcvbuf-asleep", SEVERITY_WARNING, PROOF_LAB, is_asleep,
	 .cause = "The receive buffer was full because {reader} slept while packets waited[, {sleeps}].",
	 .about = "It did other work that sleeps, such as a disk access, a lock or a timer.",
	 .fix = "read the socket in a dedicated thread, or remove the wait from the thread that reads"},
	{STAGE_RCVBUF, "rcvbuf-capped", SEVERITY_WARNING, PROOF_GUEST, bursts_and_capped,
	 .cause = "Bursts were longer than the receive buffer of {program} on port {port} holds. It is the "
		  "largest that the host allows, and the program probably asked for more.",
	 .about = "The buffer is exactly twice net.core.rmem_max. The advised limit is four times "
		  "as large, at most 64 MB. Most programs ask for a size only when they start.",
	 .fix = "raise net.core.rmem_max to {mem_fix_bytes}, and restart the program",
	 .change = SYSCTL("net/core/rmem_max", "{mem_fix_bytes}", "{rmem_max_bytes}"),
	 .risk = "sockets that request it may queue as many packets, which adds latency"},
	{STAGE_RCVBUF, "rcvbuf-default", SEVERITY_WARNING, PROOF_GUEST, bursts_and_small,
	 .cause = "Bursts were longer than the receive buffer of {program} on port {port} holds. It is the "
		  "host's default, which is smaller than the kernel's.",
	 .about = "The program asked for no buffer size. The advised value is the kernel's (212992 "
		  "bytes), or four times the present one. Only sockets opened afterwards get it.",
	 .fix = "raise net.core.rmem_default to {mem_fix_bytes}, and restart the program",
	 .change = SYSCTL("net/core/rmem_default", "{mem_fix_bytes}", "{rmem_default_bytes}"),
	 .risk = "all sockets opened afterwards may queue as many packets, which adds latency"},
	{STAGE_RCVBUF, "rcvbuf-bursts", SEVERITY_WARNING, PROOF_LAB, rested,
	 .cause = "The receive buffer was full only for moments: bursts were longer than it holds, and "
		  "{reader} had time to spare between them.",
	 .seen = "[at most {lost_at_once#packet} lost at once]",
	 .fix = "request a larger SO_RCVBUF[: {rcvbuf_request_bytes} (gives "
		"{rcvbuf_fix_bytes}), for the largest burst and a quarter more][; or request none, since "
		"the default of {rmem_default_enough_bytes} is enough]",
	 .change = RCVBUF_CHANGE, .risk = RCVBUF_RISK},
	{STAGE_RCVBUF, "rcvbuf-burst", SEVERITY_WARNING, PROOF_LAB, HAS(d.bursts),
	 .cause = "The receive buffer was full: bursts were longer than it holds[, or the receiver "
		  "stopped reading at times ({loss_bursts#loss burst})].",
	 .about = "The buffer is counted in memory, not in payload, so a small packet takes as "
		  "much as a large one. A program gets at most net.core.rmem_max, doubled.",
	 .seen = "[at most {lost_at_once#packet} lost at once]",
	 .fix = "request SO_RCVBUF {rcvbuf_request_bytes} (gives {rcvbuf_fix_bytes}) in the program, which "
		"would have held the longest loss burst",
	 .change = RCVBUF_CHANGE, .risk = RCVBUF_RISK},
	{STAGE_RCVBUF, "rcvbuf-slow", SEVERITY_WARNING, PROOF_LAB, is_slow,
	 .cause = "Packets arrived faster than the receiver[ {program}] read them. A larger buffer only "
		  "delays the loss.",
	 .about = "Does the reader work between two reads, wait for a lock or a disk, run on the "
		  "CPU that also receives, or in a cgroup without CPU time?",
	 .fix = "speed up the reader (recvmmsg(), less work between reads), or add readers "
		"(SO_REUSEPORT)"},
	{STAGE_RCVBUF, "rcvbuf", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "The receive buffer was full. Too little was seen to tell bursts from a slow reader.",
	 .fix = "run `pktledger check -t 10` on the reader's host, to watch the reader for longer"},
	{STAGE_SOCKET_READ, "socket_read", SEVERITY_ERROR, PROOF_LAB,
	 .cause = "Packets were taken from the socket's queue but not delivered: their checksum was "
		  "wrong, or recv() got an invalid buffer.",
	 .fix = "send complete checksums, and pass valid buffers to recv()"},
	{STAGE_SOCKET_CLOSE, "socket_close", SEVERITY_INFO, PROOF_LAB,
	 .cause = "Packets still waited in the socket when it was closed. No kernel counter shows them.",
	 .fix = "empty the socket before closing it"},
	{STAGE_OTHER, "other", SEVERITY_WARNING, PROOF_NOT,
	 .cause = "The kernel dropped the packets in a function that pktledger does not know.",
	 .fix = "report the reason and the function to the authors of pktledger"},
	{STAGE_TCP_LISTEN, "tcp-cookie", SEVERITY_WARNING, PROOF_LAB, HAS(cookie),
	 .cause = "Clients ended their handshake with a SYN cookie that is not valid here, and were reset.",
	 .about = "While a SYN queue is full the kernel sends cookies and keeps no state. A cookie expires "
		  "after two minutes, and is not valid on another host that shares the address. A flood of "
		  "forged acknowledgments also counts.",
	 .fix = "send all packets of a connection to one host, or lengthen the SYN queue "
		"(net.ipv4.tcp_max_syn_backlog, and the backlog of listen()) so that no cookies are needed",
	 .command = "nstat -az TcpExtSyncookiesSent TcpExtSyncookiesRecv TcpExtSyncookiesFailed"},
	{STAGE_TCP_LISTEN, "tcp-listen-syn", SEVERITY_ERROR, PROOF_LAB, HAS(half_open),
	 .cause = "The SYN queue of a listening TCP socket[, {socket} of {program},] was full: too many "
		  "connections are half open.",
	 .about = "The accept queue had room. SYN cookies are off, and net.ipv4.tcp_max_syn_backlog and "
		  "the backlog of listen() limit half-open connections.",
	 .seen = LISTENER,
	 .fix = "set net.ipv4.tcp_syncookies to 1, or raise net.ipv4.tcp_max_syn_backlog and the backlog "
		"of listen()",
	 .command = "sysctl net.ipv4.tcp_syncookies net.ipv4.tcp_max_syn_backlog"},
	{STAGE_TCP_LISTEN, "tcp-listen-somaxconn", SEVERITY_ERROR, PROOF_LAB, is_somaxconn,
	 .cause = "The accept queue of {socket}[ of {program}] was full, and is as long as "
		  "net.core.somaxconn allows.",
	 .seen = LISTENER, .setting = "net.core.somaxconn {room}",
	 .fix = "accept faster in the application, or raise net.core.somaxconn to {room*2} and restart "
		"the application",
	 .change = SYSCTL("net/core/somaxconn", "{room*2}", "{room}"),
	 .risk = "clients wait in the queue instead"},
	{STAGE_TCP_LISTEN, "tcp-listen-own", SEVERITY_ERROR, PROOF_LAB, HAS(socket),
	 .cause = "The accept queue of {socket}[ of {program}] was full: its application asked for a short "
		  "one.",
	 .seen = LISTENER, .setting = "a backlog of {room}[, net.core.somaxconn {somaxconn}]",
	 .fix = "accept faster in the application, or pass a larger backlog to listen()",
	 .command = "ss -ltn[ sport = :{port}]"},
	{STAGE_TCP_LISTEN, "tcp_listen", SEVERITY_ERROR, PROOF_DATA,
	 .cause = "A listening TCP socket[ of {program}] did not take connections: its accept queue or its "
		  "SYN queue was full, or memory was short.",
	 .fix = "accept faster in the application, or lengthen the queue (listen(), net.core.somaxconn)",
	 .command = "ss -ltn"},
	{STAGE_TCP_BACKLOG, "tcp_backlog", SEVERITY_WARNING, PROOF_DATA,
	 .cause = "Segments arrived while a process used the TCP socket, and the socket's backlog was full.",
	 .fix = "enlarge the buffers (net.ipv4.tcp_rmem), turn on GRO, or make shorter calls",
	 .command = "ss -tmn"},
	{STAGE_TCP_STATE, "tcp_state", SEVERITY_INFO, PROOF_NOT,
	 .cause = "The segments did not fit the state of their connection.",
	 .fix = "look for connections that one end closed early", .command = "ss -tan"},
	{STAGE_TCP_RCVBUF, "tcp-prune", SEVERITY_WARNING, PROOF_LAB, .reason = "TCP_OFO_QUEUE_PRUNE",
	 .cause = "A TCP connection discarded data that it had already received: its receive buffer was "
		  "full of data after a gap.",
	 .about = "Later segments waited for a lost one, and there was no more room. The kernel "
		  "discarded the newest of them (tcp_prune_ofo_queue()), although it had "
		  "acknowledged them selectively. The first loss is the cause.",
	 .setting = TCP_RCVBUF, .fix = "find the first loss, or raise net.ipv4.tcp_rmem (or SO_RCVBUF)",
	 .command = "nstat -az TcpExtPruneCalled TcpExtOfoPruned TcpExtRcvPruned"},
	{STAGE_TCP_RCVBUF, "tcp-mem", SEVERITY_WARNING, PROOF_DATA, had_room, .reason = "PROTO_MEM",
	 .cause = "TCP sockets got no memory, although this connection's receive buffer had room.",
	 .about = "The sockets of a memory cgroup (a container, a systemd unit), or all of the "
		  "host, reached their limit: the cgroup's, or net.ipv4.tcp_mem in pages. TCP "
		  "sends the segment again. A larger receive buffer makes it worse.",
	 .fix = "speed up the reader, give its cgroup more memory, or raise net.ipv4.tcp_mem",
	 .command = "ss -tmn"},
	{STAGE_TCP_RCVBUF, "tcp-rmem", SEVERITY_WARNING, PROOF_LAB, is_tcp_rmem,
	 .cause = "A TCP connection had no room for more data: its receive buffer was as large as "
		  "net.ipv4.tcp_rmem allows.",
	 .about = "Small segments, and segments after a gap, take more memory than the window "
		  "accounts for. TCP sends them again. A reader that sleeps fills any buffer.",
	 .setting = TCP_RCVBUF,
	 .fix = "raise net.ipv4.tcp_rmem to {tcp_rmem_fix}, or speed up the reader",
	 .change = SYSCTL("net/ipv4/tcp_rmem", "{tcp_rmem_fix}", "{tcp_rmem}"),
	 .risk = "each connection may use twice the memory"},
	{STAGE_TCP_RCVBUF, "tcp_rcvbuf", SEVERITY_WARNING, PROOF_LAB,
	 .cause = "A TCP connection had no room for more data: its receive buffer, or its memory limit, was "
		  "full.",
	 .setting = TCP_RCVBUF, .fix = "speed up the reader, or raise net.ipv4.tcp_rmem (or SO_RCVBUF)",
	 .command = "ss -tmn"},
	{STAGE_TCP, "tcp-black-hole", SEVERITY_ERROR, PROOF_LAB, HAS(flows),
	 .cause = "Large segments[ ({segment_bytes} bytes)][ to {peer}] are lost downstream[ of {ifname}], and "
		  "small ones are not: a link on the path has a smaller MTU, and no ICMP message arrives.",
	 .about = "A large segment is never acknowledged, however often it is sent. TCP would have sent "
		  "smaller ones after an ICMP message. If this host drops the segment, that drop is shown "
		  "instead. `pktledger check --mtu ADDRESS` finds the MTU that fits, and the link.",
	 .seen = "{flows#connection} sent a large segment three times or more, and only smaller segments "
		 "were acknowledged",
	 .fix = "let ICMP \"fragmentation needed\" through, set an MTU or MSS that fits (nft: tcp option "
		"maxseg size set rt mtu), or set net.ipv4.tcp_mtu_probing to 1",
	 .command = "pktledger check --mtu[ {peer}]"},
	{STAGE_TCP, "tcp-reordered", SEVERITY_WARNING, PROOF_LAB, HAS(again),
	 .cause = "Segments were retransmitted although they had arrived: they arrived late or reordered, "
		  "or their acknowledgment was lost downstream.",
	 .about = "One host cannot tell the causes apart: join the ledgers of both hosts with "
		  "`report` to see the losses on the way back. Paths of unequal latency (bonding "
		  "without a layer 4 hash, packets sprayed over links, queues of several CPUs) "
		  "reorder packets, and a latency that jumps ends a timer. Without SACK a timeout "
		  "retransmits everything.",
	 .seen = "{lost} of {again} retransmissions were not needed",
	 .fix = "remove losses on the return path, and keep each connection on one path (a hash of "
		"addresses and ports) with steady latency",
	 .command = "ss -tin"},
	{STAGE_TCP, "tcp-retransmitted", SEVERITY_INFO, PROOF_LAB, HAS(retransmits),
	 .cause = "TCP retransmitted {events#segment}. `pktledger trace --balance tcp` shows where the "
		  "first copy of each was lost, or that it was not lost.",
	 .about = "RetransSegs does not count losses: the segment was lost here, downstream, or only its "
		  "acknowledgment was. Retransmitted SYNs are not included.",
	 .fix = "trace the connections", .command = "pktledger trace --balance tcp"},
	{STAGE_TCP, "tcp-signature", SEVERITY_WARNING, PROOF_LAB, HAS(d.signature),
	 .cause = "Segments[ for {socket} of {program}] were dropped because their signature (TCP MD5 or "
		  "TCP-AO) is {signature}.",
	 .about = "Both ends need the same key for each other's address, as BGP sessions do. NAT changes "
		  "the address and so breaks the signature.",
	 .fix = "set the same key at both ends", .command = "pktledger trace --by reason,flow --stage tcp"},
	{STAGE_TCP, "tcp", SEVERITY_INFO, PROOF_NOT, .cause = "TCP dropped the segments.",
	 .fix = "look at the reason", .command = "ss -tin"},
	{STAGE_ICMP, "icmp", SEVERITY_INFO, PROOF_NOT, .cause = "ICMP messages were invalid, or reported "
	 "errors of sockets that were already closed.",
	 .fix = "find the sender of the messages with `pktledger trace icmp --by flow`"},
	{STAGE_NONE, "own-btf", SEVERITY_INFO, PROOF_LAB, HAS(no_btf),
	 .cause = "The kernel has no BTF, so pktledger cannot trace drops.",
	 .about = "check, and experiments without a tracer, still work.",
	 .seen = "no /sys/kernel/btf/vmlinux", .fix = "use a kernel with CONFIG_DEBUG_INFO_BTF"},
	{STAGE_NONE, "own-capabilities", SEVERITY_INFO, PROOF_LAB, HAS(missing),
	 .cause = "pktledger lacks capabilities here, so it cannot trace or use all engines.",
	 .about = "CAP_BPF and CAP_PERFMON are for tracing, CAP_NET_ADMIN for programs and "
		  "settings, CAP_NET_RAW for raw frames, CAP_SYS_ADMIN for namespaces, "
		  "CAP_SYS_PTRACE for owners of sockets.",
	 .seen = "without {missing}", .fix = "run it as root"},
};

const unsigned finding_rows_n = LENGTH(finding_rows);
