// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From facts to findings: one sick host a case, and every state of the table has its host. */

#include "cases.h"
#include "check_sick.h"

/* What is named first, in how many findings, of what, and the change that would help. */
static const struct sick {
	void (*make)(struct host *h);
	const char *id;
	unsigned n;
	enum check_scope scope;
	unsigned lost;
	const char *change, *wanted;
} sick[] = {
	{small_default, "rcvbuf-default", 1, CHECK_SOCKET, 500, "net/core/rmem_default", "212992"},
	{capped, "rcvbuf-capped", 1, CHECK_SOCKET, 500, "net/core/rmem_max", "851968"},
	{capped_and_slow, "rcvbuf-slow", 1, CHECK_SOCKET, 500, NULL, NULL},
	{capped_beyond_reason, "rcvbuf-slow", 1, CHECK_SOCKET, 500, NULL, NULL},
	{slow_reader, "rcvbuf-slow", 1, CHECK_SOCKET, 500, NULL, NULL},
	{kernel_default_is_no_small_one, "rcvbuf-slow", 1, CHECK_SOCKET, 500, NULL, NULL},
	{stopped_reader, "rcvbuf-filling", 1, CHECK_SOCKET, 0, NULL, NULL},
	{throttled_reader, "rcvbuf-quota", 1, CHECK_SOCKET, 500, NULL, NULL},
	{no_udp_mem, "udp_mem", 2, CHECK_SOCKET, 50, "net/ipv4/udp_mem", "2000 4000 6000"},
	{udp_mem_counted, "udp_mem", 1, CHECK_SOCKET, 50, "net/ipv4/udp_mem", "2000 4000 6000"},
	{filtered, "socket_filter", 1, CHECK_SOCKET, 50, NULL, NULL},
	{bad_checksums, "udp_csum", 1, CHECK_SOCKET, 50, NULL, NULL},
	{closed_meanwhile, "rcvbuf", 1, CHECK_NAMESPACE, 50, NULL, NULL},
	{port_closed, "port-closed", 1, CHECK_NAMESPACE, 0, NULL, NULL},
	{rp_filter, "ip-rpfilter", 1, CHECK_NAMESPACE, 50, "net/ipv4/conf/eth1/rp_filter", "2"},
	{backlog, "backlog", 1, CHECK_HOST, 50, "net/core/netdev_max_backlog", "2000"},
	{flow_limit, "backlog-flow-limit", 1, CHECK_HOST, 50, "net/core/flow_limit_cpu_bitmap",
	 "0"},
	{fragments, "ip_frag", 2, CHECK_NAMESPACE, 5, NULL, NULL},
	{ring, "nic_ring", 1, CHECK_INTERFACE, 40, "rx", "4096"},
	{ring_at_its_largest, "nic-ring-busy", 1, CHECK_INTERFACE, 40, NULL, NULL},
	{port_overflow, "nic-port", 1, CHECK_INTERFACE, 40, "tx", "on"},
	{cloud, "nic-allowance", 1, CHECK_INTERFACE, 40, NULL, NULL},
	{damaged, "nic-crc", 1, CHECK_INTERFACE, 40, NULL, NULL},
	{no_memory, "nic-memory", 1, CHECK_INTERFACE, 0, NULL, NULL},
	{tun, "tx-tun", 1, CHECK_INTERFACE, 40, NULL, NULL},
	{send_ring, "tx_device", 1, CHECK_INTERFACE, 40, NULL, NULL},
	{qdisc, "qdisc", 1, CHECK_INTERFACE, 50, "root", "pfifo limit 1000"},
	{tc_filter, "tc-filter", 1, CHECK_INTERFACE, 60, NULL, NULL},
	{shared_irqs, "nic-irq", 1, CHECK_INTERFACE, 0, "66", "1"},
	{polled_without_end, "nic-irq", 1, CHECK_INTERFACE, 0, "64", "1"},
	{one_queue, "nic-queues", 1, CHECK_INTERFACE, 0, "combined", "4"},
	{rss_on_one, "nic-rss", 1, CHECK_INTERFACE, 0, "indirection", "equal 4"},
	{no_more_queues, "nic-rps", 1, CHECK_INTERFACE, 0, "queues/rx-0/rps_cpus", "e"},
	{no_more_cpus, "cpu-softirq", 1, CHECK_INTERFACE, 0, NULL, NULL},
	{busy_without_nic, "cpu-softirq", 1, CHECK_HOST, 0, NULL, NULL},
	{long_coalescing, "nic-coalesce", 1, CHECK_INTERFACE, 0, "rx-usecs", "64"},
	{deep_sleep, "cpu-idle", 1, CHECK_INTERFACE, 0, NULL, NULL},
	{steal, "cpu-steal", 1, CHECK_HOST, 0, NULL, NULL},
	{conntrack_full, "netfilter-conntrack", 1, CHECK_NAMESPACE, 12, "net/netfilter/nf_conntrack_max",
	 "2000"},
	{conntrack_near, "conntrack-near", 1, CHECK_NAMESPACE, 0, "net/netfilter/nf_conntrack_max",
	 "2000"},
	{neighbours_full, "neigh-full", 1, CHECK_HOST, 3, "net/ipv4/neigh/default/gc_thresh3",
	 "2048"},
	{neighbours_near, "neigh-near", 1, CHECK_HOST, 0, "net/ipv6/neigh/default/gc_thresh3",
	 "2048"},
	{frag_memory, "frag-memory", 1, CHECK_NAMESPACE, 0, "net/ipv6/ip6frag_high_thresh",
	 "8388608"},
	{udp_mem_near, "udp-mem-near", 1, CHECK_HOST, 0, "net/ipv4/udp_mem", "2000 4000 6000"},
	{nfqueue, "nfqueue", 1, CHECK_NAMESPACE, 4, NULL, NULL},
	{upcalls, "ovs-upcall", 1, CHECK_NAMESPACE, 9, NULL, NULL},
	{tap, "taps", 1, CHECK_NAMESPACE, 0, NULL, NULL},
	{send_buffer, "sndbuf", 1, CHECK_NAMESPACE, 0, NULL, NULL},
	{qdisc_tells_the_socket, "qdisc", 1, CHECK_INTERFACE, 50, NULL, NULL},
	{raw_socket, "raw-sockets", 1, CHECK_NAMESPACE, 0, NULL, NULL},
	{paused, "nic-paused", 1, CHECK_INTERFACE, 0, NULL, NULL},
	{slow_cpus, "nic_ring", 3, CHECK_INTERFACE, 40, "rx", "4096"},
	{generic_xdp, "xdp-generic", 1, CHECK_INTERFACE, 0, NULL, NULL},
	{half_rfs, "rfs-half", 1, CHECK_INTERFACE, 0, "net/core/rps_sock_flow_entries", "8192"},
	{two_mtus, "mtu-mismatch", 1, CHECK_INTERFACE, 0, NULL, NULL},
	{two_ends, "mtu-peer", 1, CHECK_INTERFACE, 0, NULL, NULL},
	{fragments_made, "frag-leaving", 1, CHECK_NAMESPACE, 0, NULL, NULL},
	{small_send_default, "sndbuf", 1, CHECK_NAMESPACE, 0, "net/core/wmem_default", "212992"},
	{capped_send_buffer, "sndbuf", 1, CHECK_NAMESPACE, 0, "net/core/wmem_max", "851968"},
	{stopped_by_a_signal, "rcvbuf-stopped", 1, CHECK_SOCKET, 500, NULL, NULL},
	{waits_for_a_thread, "rcvbuf-futex", 1, CHECK_SOCKET, 500, NULL, NULL},
	{stopped_and_capped, "rcvbuf-stopped", 1, CHECK_SOCKET, 500, NULL, NULL},
	{no_btf, "own-btf", 1, CHECK_HOST, 0, NULL, NULL},
	{no_capabilities, "own-capabilities", 1, CHECK_HOST, 0, NULL, NULL},
};

/*
 * What is sick need not be the first of its kind, nor all that there was room for: healthy ones
 * stand before it, and behind the last what was read before.
 */
static void crowd(struct host *h)
{
	struct host *healthy = healthy_host();
	struct facts *f = &h->f;

	memmove(&f->link[1], &f->link[0], f->n_links * sizeof(f->link[0]));
	f->link[0] = healthy->f.link[0];
	strcpy(f->link[0].dev.link.ifname, "eth0");
	for (unsigned i = 0; i < f->link[0].n_irqs; i++)
		f->link[0].irq[i].cpu = 3; /* is not busy */
	f->link[++f->n_links] = f->link[1];
	strcpy(f->link[f->n_links].dev.link.ifname, "gone");
	f->link[f->n_links].dev.link.tunnel_port = 5001;
	f->link[f->n_links].n_losses = 1;
	f->link[f->n_links].loss[0] = (struct link_loss){
		.cause = NIC_SEND, .class = NIC_LOSS, .counter = "old", .lost = 9};
	for (unsigned i = 0; i <= f->n_links; i++) {
		struct facts_link *l = &f->link[i];

		l->irq[l->n_irqs] =
			(struct facts_irq){.irq = 99, .fired = 50000, .most = 50000, .name = "rx"};
		l->loss[l->n_losses] = (struct link_loss){
			.cause = NIC_DAMAGED, .class = NIC_LOSS, .counter = "old", .lost = 9};
	}
	if (f->socks.n) {
		memmove(&f->socks.at[1], &f->socks.at[0], f->socks.n * sizeof(f->socks.at[0]));
		f->socks.at[0] = healthy->f.socks.at[0];
		f->socks.at[1].reads_known = true;
		f->socks.at[1].reads = 400;
		f->socks.all++;
		f->socks.at[++f->socks.n] = f->socks.at[1];
	}
	f->cpus.at[f->cpus.n] = (struct facts_cpu){.online = true,
						   .ticked = true,
						   .softirq = 0.99,
						   .idle = 1,
						   .idle_latency_us = 5000,
						   .mhz = 800,
						   .mhz_max = 3000,
						   .governor = "powersave"};
	free(healthy);
}

/* And every state of the table has a host that shows it. */
CASE(sick_hosts)
{
	/* judged by counters in test_check_judge.c, or of traced drops */
	static const char elsewhere[] = "backlog-link-down ip_route rcvbuf-burst tcp_backlog tcp-mem";
	bool shown[160] = {false};

	for (unsigned k = 0; k < 2 * sizeof(sick) / sizeof(sick[0]); k++) {
		const unsigned i = k / 2;
		struct host *h = healthy_host();
		struct check_findings list;
		const struct check_finding *c;

		sick[i].make(h);
		if (k % 2)
			crowd(h);
		judge_host(h, &list);
		if (!list.n || strcmp(list.at[0].finding.id, sick[i].id))
			fail_msg("%u: %s, not %s", k, list.n ? list.at[0].finding.id : "nothing",
				 sick[i].id);
		if (list.n != sick[i].n)
			fail_msg("%u, %s: %u findings", k, sick[i].id, list.n);
		c = &list.at[0];
		if (c->scope != sick[i].scope || c->loss_pps != sick[i].lost ||
		    c->losing != (sick[i].lost > 0) ||
		    (c->scope == CHECK_INTERFACE && strcmp(c->subject, "eth1")))
			fail_msg("%u, %s: of %s %s, %g", k, sick[i].id, check_scope_names[c->scope],
				 c->subject, c->loss_pps);
		if (c->n_changes != (sick[i].change != NULL))
			fail_msg("%u, %s: %u changes", k, sick[i].id, c->n_changes);
		if (sick[i].change) {
			assert_string_equal(c->changes[0].name, sick[i].change);
			assert_string_equal(c->changes[0].wanted, sick[i].wanted);
		}
		if (sick[i].lost) {
			assert_int_equal(atoi(fact(&c->finding, "lost")), sick[i].lost);
			assert_string_equal(fact(&c->finding, "window_ns"), "1000000000");
		}
		for (unsigned j = 0; j < finding_rows_n; j++)
			shown[j] |= by_id(&list, finding_rows[j].id) != NULL;
		end(h, &list);
	}
	for (unsigned j = 0; j < finding_rows_n; j++) {
		if (finding_rows[j].proof == PROOF_DATA && !shown[j] &&
		    !strstr(elsewhere, finding_rows[j].id))
			fail_msg("no host shows %s", finding_rows[j].id);
	}
}
