// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* States of the stack and of sockets, and what pktledger itself can do. */
#include "diagnosis/findings_data.h"

const struct finding_row finding_states_stack[] = {
	/* The stack. */
	{
		STAGE_BACKLOG,
		"backlog-flow-limit",
		.severity = SEVERITY_WARNING,
		.text = "The flow limit took packets of the largest flow, since a CPU's backlog "
			"was half full.",
		.evidence = FINDING_MOVED,
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
		.evidence = FINDING_MOVED,
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
		.evidence = FINDING_MOVED,
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
		.evidence = FINDING_MOVED,
		.wanted = "datagrams that fit the MTU of the path",
	},
	{
		STAGE_IP_FRAG,
		"frag-leaving",
		.severity = SEVERITY_INFO,
		.text = "Datagrams are sent that do not fit the MTU, and leave in fragments: each "
			"fragment that is lost loses its whole datagram.",
		.evidence = FINDING_MOVED,
		.wanted = "datagrams that fit the MTU of the path",
		.command = "ip link show",
	},
	{
		STAGE_NEIGH,
		"neigh-full",
		.severity = SEVERITY_ERROR,
		.text = "The table of neighbours was full: packets to new neighbours are dropped.",
		.evidence = FINDING_MOVED,
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
		.evidence = FINDING_MOVED,
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
		.evidence = FINDING_MOVED "[; {process} has {sndbuf} bytes]",
		.current = "[net.core.{wmem} {wmem_now}]",
		.wanted = "[net.core.{wmem} {wmem_wanted} and the program restarted, or ]a larger "
			  "SO_SNDBUF, or senders that wait",
		.command = "ss -uamn",
		.change = {CHANGE_SYSCTL, NULL, "net/core/{wmem}", "{wmem_wanted}", "{wmem_now}"},
		.risk = "sockets may queue so much before the device, and delay it",
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
		.text = "No BTF of the kernel is to be found: pktledger cannot trace drops.",
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

const unsigned finding_states_stack_n =
	sizeof(finding_states_stack) / sizeof(finding_states_stack[0]);
