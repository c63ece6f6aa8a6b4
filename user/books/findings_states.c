// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "books/findings_data.h"

/* A counter that moved while it was watched. */
#define MOVED	"{counter} +{lost}[ in {window}][, {loss_rate} a second][, {total} since boot]"
#define SOFTIRQ "CPU {cpu} spent {softirq} % of {window} in softirq[, {processed} packets a second]"

const struct finding_row finding_states[] = {
	/* The NIC and what empties its rings. */
	{
		STAGE_NIC_RING,
		"nic-port",
		.severity = SEVERITY_WARNING,
		.text = "The NIC {ifname} lost frames before its rings: its own buffer overflowed "
			"while the bus or the rings did not take them.",
		.evidence = MOVED,
		.current = "[flow control: tx {pause_tx}]",
		.wanted = "[flow control tx {pause_wanted}: the partner holds frames back; else "
			  "]fewer frames",
		.change = {CHANGE_PAUSE, "{ifname}", "tx", "{pause_wanted}", "{pause_tx}"},
		.risk = "the link's partner holds back all traffic of this port, not only one flow",
	},
	{
		STAGE_NIC_RING,
		"nic-memory",
		.severity = SEVERITY_WARNING,
		.text = "The driver of {ifname} found no memory for packets.",
		.evidence = MOVED,
		.wanted = "more memory that is free at once (vm.min_free_kbytes), or smaller rings",
		.command = "cat /proc/buddyinfo",
	},
	{
		STAGE_WIRE,
		"nic-crc",
		.severity = SEVERITY_ERROR,
		.text = "Frames arrive damaged at {ifname}: a cable, a transceiver, or a speed "
			"that does not hold.",
		.evidence = MOVED,
		.wanted = "a link without errors",
		.command = "ethtool {ifname}",
	},
	{
		STAGE_WIRE,
		"nic-allowance",
		.severity = SEVERITY_WARNING,
		.text = "The cloud queued or dropped packets of {ifname}: this machine's size is "
			"allowed less than was sent or received.",
		.evidence = MOVED,
		.wanted = "less traffic, or a larger machine",
		.command = "ethtool -S {ifname}",
	},
	{
		STAGE_TX_DEVICE,
		"nic-paused",
		.severity = SEVERITY_INFO,
		.text = "Pause frames on the link of {ifname}: one end asks the other to wait, and "
			"what waits may overflow the queue before it.",
		.evidence = MOVED,
		.current = "[flow control: rx {pause_rx}]",
		.wanted = "a receiver or a switch that takes what is sent",
	},
	{
		STAGE_NIC_RING,
		"nic-queues",
		.severity = SEVERITY_WARNING,
		.text = "One CPU does the receive work of {ifname} and is at its limit, although "
			"the NIC has more queues.",
		.evidence = SOFTIRQ,
		.current = "{queues} of {queues_max} queues, {cpus} CPUs",
		.wanted = "{queues_wanted} queues",
		.change = {CHANGE_CHANNELS, "{ifname}", "{channel}", "{queues_wanted}", "{queues}"},
		.risk = "the link goes down for a moment; one flow stays on one queue all the same",
	},
	{
		STAGE_NIC_RING,
		"nic-rss",
		.severity = SEVERITY_WARNING,
		.text = "RSS spreads the packets of {ifname} over {rss_used} of its {queues} "
			"queues, and a CPU is at its limit.",
		.evidence = SOFTIRQ,
		.current = "{rss_used} of {queues} queues in the indirection table",
		.wanted = "all queues",
		.change = {CHANGE_RSS, "{ifname}", "indirection", "equal {queues}", NULL},
		.risk = "flows change their CPU, so that some packets overtake others",
	},
	{
		STAGE_NIC_RING,
		"nic-irq",
		.severity = SEVERITY_WARNING,
		.text = "CPU {cpu} serves {irqs} queues of {ifname} and is at its limit, while CPU "
			"{idle_cpu} is idle.",
		.evidence = SOFTIRQ "; interrupts {irq_list}",
		.current = "interrupt {irq} on CPU {cpu}",
		.wanted = "each queue on a CPU of its own",
		.change = {CHANGE_IRQ, NULL, "{irq}", "{idle_cpu}", NULL},
		.risk = "irqbalance, if it runs, moves it again",
	},
	{
		STAGE_NIC_RING,
		"nic-rps",
		.severity = SEVERITY_WARNING,
		.text = "One CPU does the receive work of {ifname} and is at its limit; the NIC "
			"has no more queues, and RPS is off.",
		.evidence = SOFTIRQ,
		.current = "queues/rx-0/rps_cpus {rps}",
		.wanted = "RPS to the other CPUs",
		.change = {CHANGE_SYSFS, "{ifname}", "queues/rx-0/rps_cpus", "{rps_wanted}",
			   "{rps}"},
		.risk = "more work in all; one flow stays on one CPU all the same",
	},
	{
		STAGE_NIC_RING,
		"cpu-softirq",
		.severity = SEVERITY_WARNING,
		.text = "CPU {cpu} is busy with receive work alone: what comes beyond it is lost "
			"in a ring or a backlog.",
		.evidence = SOFTIRQ,
		.wanted = "fewer packets, or less work for each: offloads, fewer rules and taps",
		.command = "cat /proc/softirqs",
	},
	{
		STAGE_NIC_RING,
		"nic-coalesce",
		.severity = SEVERITY_WARNING,
		.text = "{ifname} waits {rx_usecs} us before it interrupts: at this rate more than "
			"half of its ring fills meanwhile.",
		.evidence = "{arrival} packets/s; the ring of {ring} takes {ring_time}",
		.current = "rx-usecs {rx_usecs}",
		.wanted = "rx-usecs {rx_usecs_wanted}",
		.change = {CHANGE_COALESCE, "{ifname}", "rx-usecs", "{rx_usecs_wanted}",
			   "{rx_usecs}"},
		.risk = "more interrupts",
	},
	{
		STAGE_NIC_RING,
		"cpu-budget",
		.severity = SEVERITY_WARNING,
		.text = "The kernel ended its receive work early while packets still waited, and "
			"packets were lost.",
		.evidence = "softnet time_squeeze +{squeezed} in {window}",
		.current = "net.core.netdev_budget {budget}",
		.wanted = "{budget_wanted}",
		.change = {CHANGE_SYSCTL, NULL, "net/core/netdev_budget", "{budget_wanted}",
			   "{budget}"},
		.risk = "programs wait longer for a CPU that receives",
	},
	{
		STAGE_NIC_RING,
		"cpu-governor",
		.severity = SEVERITY_WARNING,
		.text = "Packets are lost while CPUs may run below their full speed.",
		.evidence = "CPU {cpu} at {mhz} of {mhz_max} MHz",
		.current = "governor {governor}",
		.wanted = "performance",
		.change = {CHANGE_GOVERNOR, NULL, "{cpu}", "performance", "{governor}"},
		.risk = "more power and heat",
	},
	{
		STAGE_NIC_RING,
		"cpu-idle",
		.severity = SEVERITY_WARNING,
		.text = "A CPU that sleeps deeply needs {latency} us to wake: at this rate more "
			"than half of the ring of {ifname} fills meanwhile.",
		.evidence = "{arrival} packets/s; the ring of {ring} takes {ring_time}",
		.current = "deepest idle state {idle_state}: {latency} us",
		.wanted = "no state deeper than {latency_wanted} us",
		.command = "cpupower idle-set -D {latency_wanted}",
		.risk = "more power and heat",
	},
	{
		STAGE_NIC_RING,
		"cpu-steal",
		.severity = SEVERITY_WARNING,
		.text = "The hypervisor gave this machine's CPU time to others: nobody empties "
			"rings and sockets meanwhile.",
		.evidence = "{steal} % of {window} stolen",
		.wanted = "CPUs of its own, or a less crowded host",
	},
	{
		STAGE_XDP,
		"xdp-generic",
		.severity = SEVERITY_INFO,
		.text = "An XDP program runs on {ifname} in generic mode, although the driver "
			"{driver} has a native one: each packet is made an skb first.",
		.evidence = "attached mode generic",
		.current = "generic",
		.wanted = "native mode: attach it with xdpdrv",
		.command = "ip link show dev {ifname}",
	},
	{
		STAGE_L2,
		"mtu-mismatch",
		.severity = SEVERITY_WARNING,
		.text = "{ifname} and {other} are ports of one bridge with different MTUs: what is "
			"larger than the smaller one is dropped without a message.",
		.evidence = "MTU {mtu} and {other_mtu}",
		.current = "{ifname} {mtu}, {other} {other_mtu}",
		.wanted = "the same MTU",
		.command = "ip link show master {master}",
	},

	/* The stack. */
	{
		STAGE_BACKLOG,
		"backlog-flow-limit",
		.severity = SEVERITY_WARNING,
		.text = "The flow limit took packets of the largest flow, since a CPU's backlog "
			"was half full.",
		.evidence = MOVED,
		.current = "net.core.flow_limit_cpu_bitmap {flow_limit}",
		.wanted = "no flow limit, if one flow is the purpose of this host",
		.change = {CHANGE_SYSCTL, NULL, "net/core/flow_limit_cpu_bitmap", "0",
			   "{flow_limit}"},
		.risk = "one large flow can take the backlog from all others",
	},
	{
		STAGE_BACKLOG,
		"rfs-half",
		.severity = SEVERITY_INFO,
		.text = "RFS is set up on {ifname} but not for the host: it does nothing.",
		.evidence = "queues/rx-0/rps_flow_cnt {flow_cnt}",
		.current = "net.core.rps_sock_flow_entries 0",
		.wanted = "{flow_entries_wanted}",
		.change = {CHANGE_SYSCTL, NULL, "net/core/rps_sock_flow_entries",
			   "{flow_entries_wanted}", "0"},
		.risk = "flows change their CPU, so that some packets overtake others",
	},
	{
		STAGE_NETFILTER,
		"conntrack-full",
		.severity = SEVERITY_ERROR,
		.text = "The table of connections was full: packets of new flows are dropped.",
		.evidence = MOVED,
		.current = "{entries} entries, net.netfilter.nf_conntrack_max {entries_max}",
		.wanted = "{entries_wanted}",
		.change = {CHANGE_SYSCTL, NULL, "net/netfilter/nf_conntrack_max",
			   "{entries_wanted}", "{entries_max}"},
		.risk = "more kernel memory, some 300 bytes an entry",
	},
	{
		STAGE_NETFILTER,
		"conntrack-near",
		.severity = SEVERITY_WARNING,
		.text = "The table of connections is nearly full; then packets of new flows are "
			"dropped.",
		.evidence = "{share} % used",
		.current = "{entries} entries, net.netfilter.nf_conntrack_max {entries_max}",
		.wanted = "{entries_wanted}",
		.change = {CHANGE_SYSCTL, NULL, "net/netfilter/nf_conntrack_max",
			   "{entries_wanted}", "{entries_max}"},
		.risk = "more kernel memory, some 300 bytes an entry",
	},
	{
		STAGE_NETFILTER,
		"nfqueue",
		.severity = SEVERITY_WARNING,
		.text = "A program that judges packets by NFQUEUE was too slow: its queue was "
			"full.",
		.evidence = MOVED,
		.wanted = "a faster program, a longer queue in it, or several queues",
		.command = "cat /proc/net/netfilter/nfnetlink_queue",
	},
	{
		STAGE_IP_FRAG,
		"frag-memory",
		.severity = SEVERITY_WARNING,
		.text = "The memory for incomplete datagrams is nearly used up; then fragments are "
			"dropped.",
		.evidence = "{share} % used",
		.current = "{frag_memory} of {frag_high} bytes",
		.wanted = "{frag_wanted}",
		.change = {CHANGE_SYSCTL, NULL, "{frag_sysctl}", "{frag_wanted}", "{frag_high}"},
		.risk = "more kernel memory for fragments that never complete",
	},
	{
		STAGE_IP_FRAG,
		"frag-arriving",
		.severity = SEVERITY_INFO,
		.text = "Datagrams arrive in fragments: each fragment that is lost loses its whole "
			"datagram.",
		.evidence = MOVED,
		.wanted = "datagrams that fit the MTU of the path",
	},
	{
		STAGE_NEIGH,
		"neigh-full",
		.severity = SEVERITY_ERROR,
		.text = "The table of neighbours was full: packets to new neighbours are dropped.",
		.evidence = MOVED,
		.current = "{entries} entries, net.ipv{v}.neigh.default.gc_thresh3 {entries_max}",
		.wanted = "{entries_wanted}",
		.change = {CHANGE_SYSCTL, NULL, "net/ipv{v}/neigh/default/gc_thresh3",
			   "{entries_wanted}", "{entries_max}"},
		.risk = "more kernel memory, some 500 bytes an entry",
	},
	{
		STAGE_NEIGH,
		"neigh-near",
		.severity = SEVERITY_WARNING,
		.text = "The table of neighbours is nearly full; then packets to new neighbours "
			"are dropped.",
		.evidence = "{share} % used",
		.current = "{entries} entries, net.ipv{v}.neigh.default.gc_thresh3 {entries_max}",
		.wanted = "{entries_wanted}",
		.change = {CHANGE_SYSCTL, NULL, "net/ipv{v}/neigh/default/gc_thresh3",
			   "{entries_wanted}", "{entries_max}"},
		.risk = "more kernel memory, some 500 bytes an entry",
	},
	{
		STAGE_UDP_MEM,
		"udp-mem-near",
		.severity = SEVERITY_WARNING,
		.text = "The memory for all UDP sockets of the host is nearly used up; then all of "
			"them lose packets.",
		.evidence = "{share} % used",
		.current = "{udp_pages} pages, net.ipv4.udp_mem {udp_mem}",
		.wanted = "{udp_mem_wanted}",
		.change = {CHANGE_SYSCTL, NULL, "net/ipv4/udp_mem", "{udp_mem_wanted}",
			   "{udp_mem}"},
		.risk = "UDP of the whole host may take twice the memory",
	},
	{
		STAGE_OTHER,
		"ovs-upcall",
		.severity = SEVERITY_WARNING,
		.text = "Open vSwitch lost packets of new flows on their way to ovs-vswitchd.",
		.evidence = MOVED,
		.wanted = "more handler threads, or fewer new flows at once",
		.command = "ovs-dpctl show",
	},

	/* The socket and its reader. */
	{
		STAGE_RCVBUF,
		"rcvbuf-default",
		.severity = SEVERITY_WARNING,
		.text = "The socket of {process} on port {port} has the host's default buffer, and "
			"it was full.",
		.evidence = "{lost} packets lost in {window}, {loss_rate} a second[, {total} since "
			    "it was opened]; "
			    "{queued} of {rcvbuf} bytes queued",
		.current = "net.core.rmem_default {rmem_default}",
		.wanted = "{rmem_default_wanted}, and the program restarted",
		.change = {CHANGE_SYSCTL, NULL, "net/core/rmem_default", "{rmem_default_wanted}",
			   "{rmem_default}"},
		.risk = "all sockets opened after it may queue so much, and delay it",
	},
	{
		STAGE_RCVBUF,
		"rcvbuf-capped",
		.severity = SEVERITY_WARNING,
		.text = "The socket of {process} on port {port} got the largest buffer that the "
			"host allows, perhaps less than it asked for, and it was full.",
		.evidence = "{lost} packets lost in {window}, {loss_rate} a second[, {total} since "
			    "it was opened]; "
			    "{queued} of {rcvbuf} bytes queued",
		.current = "net.core.rmem_max {rmem_max}",
		.wanted = "{rmem_max_wanted}, and the program restarted",
		.change = {CHANGE_SYSCTL, NULL, "net/core/rmem_max", "{rmem_max_wanted}",
			   "{rmem_max}"},
		.risk = "sockets that ask for it may queue so much, and delay it",
	},
	{
		STAGE_RCVBUF,
		"rcvbuf-filling",
		.severity = SEVERITY_WARNING,
		.text = "{process} does not read port {port} in time: its receive buffer is more "
			"than half full all the time.",
		.evidence = "{queued} of {rcvbuf} bytes queued[, {queued_before} {window} before]",
		.wanted = "a faster reader",
		.command = "ss -uampn sport = :{port}",
	},
	{
		STAGE_RCVBUF,
		"group-throttled",
		.severity = SEVERITY_WARNING,
		.text = "{process} reads port {port} in a control group that was stopped for "
			"having used its CPU time.",
		.evidence = "stopped {throttled} of {periods} periods of the last {window}, for "
			    "{throttled_time}",
		.current = "cpu.max of {group}",
		.wanted = "a larger quota",
	},
	{
		STAGE_TX_SOCKET,
		"sndbuf",
		.severity = SEVERITY_INFO,
		.text = "Programs sent faster than their send buffer empties: send() failed, or "
			"will where it does not wait.",
		.evidence = MOVED,
		.wanted = "a larger SO_SNDBUF (net.core.wmem_max), or senders that wait",
		.command = "ss -uamn",
	},
	{
		STAGE_UDP_LOOKUP,
		"port-closed",
		.severity = SEVERITY_ERROR,
		.text = "No UDP socket is open on port {port}: what comes there is refused.",
		.wanted = "a receiver bound to the port",
		.command = "ss -ulpn sport = :{port}",
	},
	{
		STAGE_OTHER,
		"taps",
		.severity = SEVERITY_INFO,
		.text = "Packet sockets see a copy of every packet: work on each, before the "
			"application has it.",
		.evidence = "{taps} open[: {processes}]",
		.wanted = "captures ended that are not needed",
		.command = "ss -0pn",
	},
	{
		STAGE_OTHER,
		"raw-sockets",
		.severity = SEVERITY_INFO,
		.text = "Raw sockets of protocol UDP get a copy of every datagram.",
		.evidence = "{raws} open[: {processes}]",
		.wanted = "such programs ended if they are not needed",
		.command = "ss -wapn",
	},

	/* What pktledger itself can do here. */
	{
		STAGE_NONE,
		"own-btf",
		.severity = SEVERITY_INFO,
		.text = "This kernel has no BTF: pktledger cannot trace drops.",
		.evidence = "no /sys/kernel/btf/vmlinux",
		.wanted = "a kernel with CONFIG_DEBUG_INFO_BTF",
	},
	{
		STAGE_NONE,
		"own-capabilities",
		.severity = SEVERITY_INFO,
		.text = "pktledger lacks capabilities here, and cannot trace or send by all "
			"engines.",
		.evidence = "without {missing}",
		.wanted = "run it as root",
	},
};

const unsigned finding_states_n = sizeof(finding_states) / sizeof(finding_states[0]);
