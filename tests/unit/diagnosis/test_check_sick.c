// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From facts to findings: one sick host a case, and every state of the table has its host. */

#include "cases.h"
#include "check_sick.h"

/* What is named first, in how many findings, and the change that would help. */
static const struct sick {
	const char *name;
	void (*make)(struct host *h);
	const char *id;
	unsigned n;
	const char *change, *wanted;
} sick[] = {
	{"default buffer", small_default, "rcvbuf-default", 1, "net/core/rmem_default", "212992"},
	{"capped buffer", capped, "rcvbuf-capped", 1, "net/core/rmem_max", "851968"},
	{"capped at 1 GiB", capped_beyond_reason, "rcvbuf-slow", 1, NULL, NULL},
	{"slow reader", slow_reader, "rcvbuf-slow", 1, NULL, NULL},
	{"kernel's default", kernel_default_is_no_small_one, "rcvbuf-slow", 1, NULL, NULL},
	{"stopped reader", stopped_reader, "rcvbuf-filling", 1, NULL, NULL},
	{"throttled", throttled_reader, "rcvbuf-quota", 1, NULL, NULL},
	{"udp_mem", no_udp_mem, "udp-mem", 2, "net/ipv4/udp_mem", "2000 4000 6000"},
	{"udp_mem counted", udp_mem_counted, "udp-mem", 1, "net/ipv4/udp_mem", "2000 4000 6000"},
	{"filter", filtered, "socket-filter", 1, NULL, NULL},
	{"checksums", bad_checksums, "udp-csum", 1, NULL, NULL},
	{"closed socket", closed_meanwhile, "rcvbuf", 1, NULL, NULL},
	{"closed port", port_closed, "port-closed", 1, NULL, NULL},
	{"rp_filter", rp_filter, "ip-rpfilter", 1, "net/ipv4/conf/eth1/rp_filter", "2"},
	{"backlog", backlog, "backlog", 1, "net/core/netdev_max_backlog", "2000"},
	{"flow limit", flow_limit, "backlog-flow-limit", 1, "net/core/flow_limit_cpu_bitmap", "0"},
	{"fragments", fragments, "ip-frag", 2, NULL, NULL},
	{"ring", ring, "nic-ring", 1, "rx", "4096"},
	{"ring at its largest", ring_at_its_largest, "nic-ring-busy", 1, NULL, NULL},
	{"port", port_overflow, "nic-port", 1, "tx", "on"},
	{"cloud", cloud, "nic-allowance", 1, NULL, NULL},
	{"cable", damaged, "nic-crc", 1, NULL, NULL},
	{"memory", no_memory, "nic-memory", 1, NULL, NULL},
	{"send ring", send_ring, "tx-device", 1, NULL, NULL},
	{"qdisc", qdisc, "qdisc", 1, "root", "pfifo limit 1000"},
	{"shared interrupts", shared_irqs, "nic-irq", 1, "66", "1"},
	{"polled", polled_without_end, "nic-irq", 1, "64", "1"},
	{"one queue", one_queue, "nic-queues", 1, "combined", "4"},
	{"RSS", rss_on_one, "nic-rss", 1, "indirection", "equal 4"},
	{"no more queues", no_more_queues, "nic-rps", 1, "queues/rx-0/rps_cpus", "e"},
	{"no more CPUs", no_more_cpus, "cpu-softirq", 1, NULL, NULL},
	{"no NIC", busy_without_nic, "cpu-softirq", 1, NULL, NULL},
	{"coalescing", long_coalescing, "nic-coalesce", 1, "rx-usecs", "64"},
	{"sleep", deep_sleep, "cpu-idle", 1, NULL, NULL},
	{"steal", steal, "cpu-steal", 1, NULL, NULL},
	{"conntrack", conntrack_full, "conntrack-full", 1, "net/netfilter/nf_conntrack_max",
	 "2000"},
	{"conntrack near", conntrack_near, "conntrack-near", 1, "net/netfilter/nf_conntrack_max",
	 "2000"},
	{"neighbours", neighbours_full, "neigh-full", 1, "net/ipv4/neigh/default/gc_thresh3",
	 "2048"},
	{"neighbours near", neighbours_near, "neigh-near", 1, "net/ipv6/neigh/default/gc_thresh3",
	 "2048"},
	{"fragment memory", frag_memory, "frag-memory", 1, "net/ipv6/ip6frag_high_thresh",
	 "8388608"},
	{"udp_mem near", udp_mem_near, "udp-mem-near", 1, "net/ipv4/udp_mem", "2000 4000 6000"},
	{"NFQUEUE", nfqueue, "nfqueue", 1, NULL, NULL},
	{"Open vSwitch", upcalls, "ovs-upcall", 1, NULL, NULL},
	{"tap", tap, "taps", 1, NULL, NULL},
	{"send buffer", send_buffer, "sndbuf", 1, NULL, NULL},
	{"qdisc, not send buffer", qdisc_tells_the_socket, "qdisc", 1, NULL, NULL},
	{"raw socket", raw_socket, "raw-sockets", 1, NULL, NULL},
	{"pause frames", paused, "nic-paused", 1, NULL, NULL},
	{"slow CPUs", slow_cpus, "nic-ring", 3, "rx", "4096"},
	{"generic XDP", generic_xdp, "xdp-generic", 1, NULL, NULL},
	{"half RFS", half_rfs, "rfs-half", 1, "net/core/rps_sock_flow_entries", "8192"},
	{"two MTUs", two_mtus, "mtu-mismatch", 1, NULL, NULL},
	{"two ends", two_ends, "mtu-peer", 1, NULL, NULL},
	{"fragments made", fragments_made, "frag-leaving", 1, NULL, NULL},
	{"send default", small_send_default, "sndbuf", 1, "net/core/wmem_default", "212992"},
	{"capped send buffer", capped_send_buffer, "sndbuf", 1, "net/core/wmem_max", "851968"},
	{"SIGSTOP", stopped_by_a_signal, "rcvbuf-stopped", 1, NULL, NULL},
	{"SIGSTOP, capped", stopped_and_capped, "rcvbuf-stopped", 1, NULL, NULL},
	{"no BTF", no_btf, "own-btf", 1, NULL, NULL},
	{"no capabilities", no_capabilities, "own-capabilities", 1, NULL, NULL},
};

/* And every state of the table has a host that shows it. */
CASE(sick_hosts)
{
	bool shown[128] = {false};

	for (unsigned i = 0; i < sizeof(sick) / sizeof(sick[0]); i++) {
		struct host *h = healthy_host();
		struct check_findings list;
		const struct check_finding *c;

		sick[i].make(h);
		judge_host(h, &list);
		if (!list.n || strcmp(list.at[0].finding.id, sick[i].id))
			fail_msg("%s: %s, not %s", sick[i].name,
				 list.n ? list.at[0].finding.id : "nothing", sick[i].id);
		if (list.n != sick[i].n)
			fail_msg("%s: %u findings", sick[i].name, list.n);
		c = &list.at[0];
		if (c->n_changes != (sick[i].change != NULL))
			fail_msg("%s: %u changes", sick[i].name, c->n_changes);
		if (sick[i].change) {
			assert_string_equal(c->changes[0].name, sick[i].change);
			assert_string_equal(c->changes[0].wanted, sick[i].wanted);
		}
		for (unsigned j = 0; j < finding_rows_n; j++)
			shown[j] |= by_id(&list, finding_rows[j].id) != NULL;
		end(h, &list);
	}
	for (unsigned j = 0; j < finding_rows_n; j++) {
		if (finding_rows[j].when == WHEN_STATE && !shown[j])
			fail_msg("no host shows %s", finding_rows[j].id);
	}
}
