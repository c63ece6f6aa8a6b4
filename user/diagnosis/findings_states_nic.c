// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* States of the NIC, and of the CPUs that empty its rings. */
#include "diagnosis/findings_data.h"

#define SOFTIRQ "CPU {cpu} spent {softirq} % of {window} in softirq[, {processed} packets a second]"

const struct finding_row finding_states_nic[] = {
	{
		STAGE_NIC_RING,
		"nic-port",
		.severity = SEVERITY_WARNING,
		.text = "The NIC {ifname} lost frames before its rings: its own buffer overflowed "
			"while the bus or the rings did not take them.",
		.evidence = FINDING_MOVED,
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
		.evidence = FINDING_MOVED,
		.wanted = "more memory that is free at once (vm.min_free_kbytes), or smaller rings",
		.command = "cat /proc/buddyinfo",
	},
	{
		STAGE_WIRE,
		"nic-crc",
		.severity = SEVERITY_ERROR,
		.text = "Frames arrive damaged at {ifname}: a cable, a transceiver, or a speed "
			"that does not hold.",
		.evidence = FINDING_MOVED,
		.wanted = "a link without errors",
		.command = "ethtool {ifname}",
	},
	{
		STAGE_WIRE,
		"nic-allowance",
		.severity = SEVERITY_WARNING,
		.text = "The cloud queued or dropped packets of {ifname}: this machine's size is "
			"allowed less than was sent or received.",
		.evidence = FINDING_MOVED,
		.wanted = "less traffic, or a larger machine",
		.command = "ethtool -S {ifname}",
	},
	{
		STAGE_TX_DEVICE,
		"nic-paused",
		.severity = SEVERITY_INFO,
		.text = "Pause frames on the link of {ifname}: one end asks the other to wait, and "
			"what waits may overflow the queue before it.",
		.evidence = FINDING_MOVED,
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
		.current = "net.core.netdev_budget {budget}[, netdev_budget_usecs {budget_usecs}]",
		.wanted = "{budget_wanted}[ and {budget_usecs_wanted}]",
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
	{
		STAGE_TX_DEVICE,
		"mtu-peer",
		.severity = SEVERITY_WARNING,
		.text = "{ifname} and the other end of its link have different MTUs: what is "
			"larger than the smaller one is dropped without a message.",
		.evidence = "MTU {mtu} and {other_mtu}",
		.current = "{ifname} {mtu}, its peer {other_mtu}",
		.wanted = "the same MTU",
		.command = "ip -d link show dev {ifname}",
	},
};

const unsigned finding_states_nic_n = sizeof(finding_states_nic) / sizeof(finding_states_nic[0]);
