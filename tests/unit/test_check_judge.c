// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From facts to findings: one sick host a case, and a healthy one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "books/findings_data.h"
#include "check/judge.h"

#define GIB (1ULL << 30)

/* A host with a NIC of 4 of 8 queues on 4 CPUs, one socket, and nothing wrong. */
struct host {
	struct facts f;
	struct counters before;
};

static struct host *healthy_host(void)
{
	struct host *h = calloc(1, sizeof(*h));
	struct facts *f = &h->f;
	struct facts_link *l = &f->link[0];

	assert_non_null(h);
	f->window_ns = 1000000000;
	f->btf = true;
	f->cpus.n = f->cpus.online = 4;
	for (unsigned i = 0; i < 4; i++) {
		struct facts_cpu *cpu = &f->cpus.at[i];

		*cpu = (struct facts_cpu){.online = true, .ticked = true, .idle = 0.9};
		strcpy(cpu->governor, "powersave");
		cpu->mhz = cpu->mhz_max = 3000;
		strcpy(cpu->idle_state, "C6");
		cpu->idle_latency_us = 100;
	}
	f->n_links = 1;
	strcpy(l->dev.ifname, "eth1");
	strcpy(l->dev.driver, "ice");
	l->dev.mtu = 1500;
	l->dev.rx_queues = 4;
	l->set.ring.known = l->set.channels.known = l->set.coalesce.known = true;
	l->set.pause.known = l->set.rss.known = true;
	l->set.ring.rx = 512;
	l->set.ring.rx_max = 4096;
	l->set.channels.combined = 4;
	l->set.channels.combined_max = 8;
	l->set.coalesce.rx_usecs = 50;
	l->set.rss.entries = 128;
	l->set.rss.used = 4;
	strcpy(l->rps_cpus, "0");
	strcpy(l->qdisc, "fq_codel limit 10240");
	strcpy(l->rp_filter, "2");
	l->txqueuelen = 1000;
	l->rx_packets = 100000;
	l->n_irqs = 4;
	for (unsigned i = 0; i < 4; i++)
		l->irq[i] = (struct facts_irq){
			.irq = 64 + i, .fired = 1000, .most = 1000, .cpu = (int)i};
	f->stack = (struct facts_stack){
		.rmem_default = 212992,
		.rmem_max = 212992,
		.udp_mem = {1000, 2000, 3000},
		.udp_pages = 10,
		.page_bytes = 4096,
		.max_backlog = 1000,
		.budget = 300,
		.flow_entries_known = true,
		.flow_limit_cpus = "f",
		.conntrack = 10,
		.conntrack_max = 1000,
		.frag_high = {4194304, 4194304},
		.neighbours = {10, 10},
		.neighbours_max = {1024, 1024},
	};
	f->socks.n = f->socks.all = 1;
	f->socks.at[0] = (struct facts_sock){.inode = 5,
					     .family = AF_INET,
					     .port = 5001,
					     .rcvbuf = 300000,
					     .pid = 77,
					     .process = "reader"};
	return h;
}

/* A counter that has moved by `delta` since, and stood at 1000 before. */
static void move(struct host *h, const char *scope, const char *name, uint64_t delta)
{
	assert_int_equal(counters_add(&h->before, scope, name, 1000), 0);
	assert_int_equal(counters_add(&h->f.after, scope, name, 1000 + delta), 0);
}

static void lose(struct host *h, enum nic_cause cause, enum nic_class class, uint64_t lost)
{
	struct facts_link *l = &h->f.link[0];

	l->loss[l->n_losses++] = (struct link_loss){.cause = cause,
						    .class = class,
						    .counter = "rx_something",
						    .lost = lost,
						    .total = lost + 5};
}

static void judge_host(struct host *h, struct check_findings *list)
{
	*list = (struct check_findings){0};
	assert_int_equal(counters_delta(&h->before, &h->f.after, &h->f.moved), 0);
	assert_int_equal(judge(&h->f, list), 0);
	for (unsigned i = 0; i < list->n; i++) {
		const struct finding *f = &list->at[i].finding;

		/* Every sentence has its facts. */
		assert_non_null(finding_row(f->id));
		if (!f->text[0] || (!f->evidence[0] && strcmp(f->id, "port-closed")))
			fail_msg("%s: a fact is missing: '%s', '%s'", f->id, f->text, f->evidence);
		assert_true(finding_row(f->id)->wanted == NULL || f->wanted[0]);
		assert_true(finding_row(f->id)->current == NULL || f->current[0] ||
			    finding_row(f->id)->current[0] == '[');
	}
}

static void end(struct host *h, struct check_findings *list)
{
	check_findings_free(list);
	counters_free(&h->before);
	facts_free(&h->f);
	free(h);
}

static const struct check_finding *by_id(const struct check_findings *list, const char *id)
{
	for (unsigned i = 0; i < list->n; i++) {
		if (!strcmp(list->at[i].finding.id, id))
			return &list->at[i];
	}
	return NULL;
}

static void healthy(void **state)
{
	struct host *h = healthy_host();
	struct check_findings list;

	(void)state;
	move(h, "here", "Udp:InDatagrams", 5000);
	judge_host(h, &list);
	assert_int_equal(list.n, 0);
	assert_int_equal(list.n_history, 0);
	end(h, &list);
}

/* Losses of long ago, and settings that look bad, are no findings. */
static void nothing_without_evidence(void **state)
{
	struct host *h = healthy_host();
	struct check_findings list;

	(void)state;
	move(h, "here", "TcpExt:IPReversePathFilter", 0);
	move(h, "host", "softnet:cpu1:dropped", 0);
	move(h, "here", "Udp:RcvbufErrors", 0);
	move(h, "here", "eth1:qdisc:drops", 0);
	move(h, "host", "softnet:cpu0:time_squeeze", 50); /* no loss by itself */
	h->f.cpus.at[0].mhz = 800;			  /* an idle CPU is slow */
	h->f.link[0].set.ring.rx = 64;
	h->f.socks.at[0].drops = 99999;
	judge_host(h, &list);
	assert_int_equal(list.n, 0);
	assert_int_equal(list.n_history, 4);
	end(h, &list);
}

static void sock_at(struct host *h, uint64_t rcvbuf, uint32_t lost)
{
	struct facts_sock *s = &h->f.socks.at[0];

	s->rcvbuf = rcvbuf;
	s->queued = s->queued_before = rcvbuf;
	s->drops = lost + 10;
	s->lost = lost;
	move(h, "here", "Udp:RcvbufErrors", lost);
	move(h, "here", "Udp:InErrors", lost);
	move(h, "here", "Udp:InDatagrams", 400);
}

static void small_default(struct host *h)
{
	h->f.stack.rmem_default = 8192;
	sock_at(h, 8192, 500);
}

static void capped(struct host *h)
{
	sock_at(h, 2 * 212992, 500);
}

static void capped_beyond_reason(struct host *h)
{
	h->f.stack.rmem_max = GIB / 2;
	sock_at(h, GIB, 500);
}

static void slow_reader(struct host *h)
{
	sock_at(h, 300000, 500);
}

static void kernel_default_is_no_small_one(struct host *h)
{
	sock_at(h, 212992, 500);
}

static void stopped_reader(struct host *h)
{
	sock_at(h, 300000, 0);
}

static void throttled_reader(struct host *h)
{
	struct facts_sock *s = &h->f.socks.at[0];

	sock_at(h, 300000, 500);
	s->periods = 10;
	s->throttled = 9;
	s->throttled_ns = 800000000;
	strcpy(s->group, "/pod");
}

static void no_udp_mem(struct host *h)
{
	h->f.stack.udp_pages = 3000;
	h->f.socks.at[0].lost = 50; /* newer kernels: no counter of the namespace moves */
}

static void udp_mem_counted(struct host *h)
{
	h->f.socks.at[0].lost = 50;
	move(h, "here", "Udp:MemErrors", 50);
	move(h, "here", "Udp:InErrors", 50);
}

static void filtered(struct host *h)
{
	h->f.socks.at[0].lost = 50;
	move(h, "here", "Udp:InErrors", 50);
}

static void bad_checksums(struct host *h)
{
	h->f.socks.at[0].lost = 50;
	move(h, "here", "Udp:InErrors", 50);
	move(h, "here", "Udp:InCsumErrors", 50);
}

static void closed_meanwhile(struct host *h)
{
	move(h, "here", "Udp:RcvbufErrors", 50);
}

static void port_closed(struct host *h)
{
	h->f.port = 9;
	h->f.socks.n = 0;
}

static void rp_filter(struct host *h)
{
	strcpy(h->f.link[0].rp_filter, "1");
	move(h, "here", "TcpExt:IPReversePathFilter", 50);
}

static void backlog(struct host *h)
{
	move(h, "host", "softnet:cpu1:dropped", 50);
}

static void flow_limit(struct host *h)
{
	move(h, "host", "softnet:cpu1:dropped", 50);
	move(h, "host", "softnet:cpu1:flow_limit", 40);
}

static void fragments(struct host *h)
{
	move(h, "here", "Ip:ReasmFails", 5);
	move(h, "here", "Ip:ReasmReqds", 50);
}

static void ring(struct host *h)
{
	lose(h, NIC_RING, NIC_LOSS, 40);
}

static void ring_at_its_largest(struct host *h)
{
	h->f.link[0].set.ring.rx = 4096;
	lose(h, NIC_RING, NIC_LOSS, 40);
}

static void port_overflow(struct host *h)
{
	lose(h, NIC_PORT, NIC_LOSS, 40);
}

static void cloud(struct host *h)
{
	lose(h, NIC_SHAPER, NIC_BOUND, 40);
}

static void damaged(struct host *h)
{
	lose(h, NIC_DAMAGED, NIC_LOSS, 40);
}

static void no_memory(struct host *h)
{
	lose(h, NIC_ALLOC, NIC_EVENT, 40);
}

static void send_ring(struct host *h)
{
	lose(h, NIC_SEND, NIC_LOSS, 40);
}

static void qdisc(struct host *h)
{
	move(h, "here", "eth1:qdisc:drops", 50);
	strcpy(h->f.link[0].qdisc, "pfifo limit 10");
}

static void busy(struct host *h)
{
	for (unsigned i = 0; i < 4; i++) {
		h->f.link[0].irq[i].cpu = 0;
		h->f.cpus.at[i].idle = i ? 0.99 : 0;
	}
	h->f.cpus.at[0].softirq = 0.97;
	move(h, "host", "softnet:cpu0:processed", 900000);
}

static void shared_irqs(struct host *h)
{
	busy(h);
	h->f.link[0].irq[2].fired = h->f.link[0].irq[2].most = 900;
}

static void one_queue(struct host *h)
{
	busy(h);
	h->f.link[0].set.channels.combined = 1;
	h->f.link[0].set.rss.used = 1;
}

static void rss_on_one(struct host *h)
{
	busy(h);
	h->f.link[0].set.rss.used = 1;
}

static void no_more_queues(struct host *h)
{
	busy(h);
	h->f.link[0].n_irqs = 1;
	h->f.link[0].set.channels.combined = h->f.link[0].set.channels.combined_max = 1;
	h->f.link[0].set.rss.known = false;
}

static void busy_without_nic(struct host *h)
{
	busy(h);
	h->f.link[0].n_irqs = 0;
}

static void long_coalescing(struct host *h)
{
	h->f.link[0].rx_packets = 4000000; /* 1 M a queue: 512 in half a millisecond */
	h->f.link[0].set.coalesce.rx_usecs = 400;
}

static void deep_sleep(struct host *h)
{
	h->f.link[0].rx_packets = 4000000;
	h->f.cpus.at[3].idle_latency_us = 400;
}

static void steal(struct host *h)
{
	h->f.cpus.steal = 0.2;
}

static void conntrack_full(struct host *h)
{
	h->f.stack.conntrack = 1000;
	h->f.stack.after.conntrack_drops = 12;
}

static void conntrack_near(struct host *h)
{
	h->f.stack.conntrack = 900;
}

static void neighbours_full(struct host *h)
{
	move(h, "host", "arp_cache:table_fulls", 3);
	h->f.stack.neighbours[STACK_V4] = 1024;
}

static void neighbours_near(struct host *h)
{
	h->f.stack.neighbours[STACK_V6] = 1000;
}

static void frag_memory(struct host *h)
{
	h->f.stack.frag_memory[STACK_V6] = 4000000;
}

static void udp_mem_near(struct host *h)
{
	h->f.stack.udp_pages = 2700;
}

static void nfqueue(struct host *h)
{
	h->f.stack.before.nfqueue_drops = 5;
	h->f.stack.after.nfqueue_drops = 9;
}

static void upcalls(struct host *h)
{
	h->f.stack.after.ovs_lost = 9;
}

static void tap(struct host *h)
{
	h->f.taps.taps = 1;
	h->f.taps.tap[0] = (struct facts_owner){.pid = 5, .process = "tcpdump"};
}

static void raw_socket(struct host *h)
{
	h->f.taps.raws = 70; /* more than are kept */
	h->f.taps.raw[0] = (struct facts_owner){.pid = 5, .process = "agent"};
}

static void paused(struct host *h)
{
	lose(h, NIC_PAUSE, NIC_EVENT, 40);
}

static void slow_cpus(struct host *h)
{
	h->f.cpus.at[1].mhz = h->f.cpus.at[3].mhz = 800;
	move(h, "host", "softnet:cpu0:time_squeeze", 50);
	ring(h);
}

static void send_buffer(struct host *h)
{
	move(h, "here", "Udp:SndbufErrors", 50);
}

static void qdisc_tells_the_socket(struct host *h)
{
	send_buffer(h);
	move(h, "here", "eth1:qdisc:drops", 50);
}

static void generic_xdp(struct host *h)
{
	h->f.link[0].xdp = LINK_XDP_GENERIC;
	h->f.link[0].features_known = h->f.link[0].native_xdp = true;
}

static void half_rfs(struct host *h)
{
	h->f.link[0].rps_flow_cnt = 2048;
}

static void two_mtus(struct host *h)
{
	h->f.link[1] = h->f.link[0];
	strcpy(h->f.link[1].dev.ifname, "eth2");
	h->f.link[1].dev.mtu = 9000;
	h->f.link[0].bridge_port = h->f.link[1].bridge_port = true;
	h->f.link[0].master = h->f.link[1].master = 7;
	strcpy(h->f.link[0].master_name, "br0");
	h->f.n_links = 2;
}

static void no_btf(struct host *h)
{
	h->f.btf = false;
}

static void no_capabilities(struct host *h)
{
	strcpy(h->f.missing_caps, "CAP_BPF");
}

/* What is named first, in how many findings, and the change that would mend it. */
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
	{"throttled", throttled_reader, "group-throttled", 2, NULL, NULL},
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
	{"one queue", one_queue, "nic-queues", 1, "combined", "4"},
	{"RSS", rss_on_one, "nic-rss", 1, "indirection", "equal 4"},
	{"no more queues", no_more_queues, "nic-rps", 1, "queues/rx-0/rps_cpus", "e"},
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
	{"no BTF", no_btf, "own-btf", 1, NULL, NULL},
	{"no capabilities", no_capabilities, "own-capabilities", 1, NULL, NULL},
};

/* And every state of the table has a host that shows it. */
static void sick_hosts(void **state)
{
	bool *shown = calloc(finding_states_n, sizeof(*shown));

	(void)state;
	assert_non_null(shown);
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
		for (unsigned j = 0; j < finding_states_n; j++)
			shown[j] |= by_id(&list, finding_states[j].id) != NULL;
		end(h, &list);
	}
	for (unsigned j = 0; j < finding_states_n; j++) {
		if (!shown[j])
			fail_msg("no host shows %s", finding_states[j].id);
	}
	free(shown);
}

/* What a faster kernel or reader would have kept adds the CPUs that were slow. */
static void slow_cpus_with_losses(void **state)
{
	struct host *h = healthy_host();
	const struct check_finding *c;
	struct check_findings list;

	(void)state;
	slow_cpus(h);
	judge_host(h, &list);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.at[0].finding.id, "nic-ring"); /* what loses comes first */
	c = by_id(&list, "cpu-governor");
	assert_non_null(c);
	assert_int_equal(c->n_changes, 2);
	assert_string_equal(c->changes[0].name, "1");
	assert_string_equal(c->changes[1].name, "3");
	c = by_id(&list, "cpu-budget");
	assert_non_null(c);
	assert_string_equal(c->changes[0].wanted, "600");
	end(h, &list);
}

/* Among what loses now: by severity, then by how much; notes come last. */
static void ranks(void **state)
{
	struct host *h = healthy_host();
	struct check_findings list;

	(void)state;
	tap(h);
	conntrack_near(h);
	lose(h, NIC_RING, NIC_LOSS, 40);
	lose(h, NIC_PORT, NIC_LOSS, 4000);
	lose(h, NIC_DAMAGED, NIC_LOSS, 4);
	judge_host(h, &list);
	assert_int_equal(list.n, 5);
	assert_string_equal(list.at[0].finding.id, "nic-crc"); /* an error */
	assert_string_equal(list.at[1].finding.id, "nic-port");
	assert_string_equal(list.at[2].finding.id, "nic-ring");
	assert_string_equal(list.at[3].finding.id, "conntrack-near");
	assert_string_equal(list.at[4].finding.id, "taps");
	assert_float_equal(list.at[1].loss_pps, 4000, 1e-9);
	assert_string_equal(list.at[1].subject, "eth1");
	end(h, &list);
}

/* One loss that several counters tell is one finding. */
static void told_once(void **state)
{
	struct host *h = healthy_host();
	struct check_findings list;

	(void)state;
	strcpy(h->f.link[0].dev.driver, "veth");
	lose(h, NIC_SEND, NIC_LOSS, 50);
	backlog(h);
	judge_host(h, &list);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.at[0].finding.id, "backlog");
	end(h, &list);

	h = healthy_host();
	slow_reader(h);
	h->f.socks.at[1] = h->f.socks.at[0];
	h->f.socks.at[1].lost = 0;
	h->f.socks.at[1].queued = h->f.socks.at[1].queued_before = 0;
	h->f.socks.n = h->f.socks.all = 2;
	judge_host(h, &list);
	assert_int_equal(list.n, 1);
	/* With two sockets nobody knows which of them read what. */
	assert_string_equal(list.at[0].finding.id, "rcvbuf");
	assert_null(strstr(list.at[0].finding.evidence, "read"));
	end(h, &list);
}

static void reader_has_its_rates(void **state)
{
	struct host *h = healthy_host();
	struct check_findings list;

	(void)state;
	slow_reader(h);
	judge_host(h, &list);
	assert_string_equal(list.at[0].finding.evidence,
			    "500 packets lost in 1.00 s, 500 a second, 510 since it was opened; "
			    "900 packets/s came; read 400 packets/s");
	assert_non_null(strstr(list.at[0].finding.text, "reader (77)"));
	assert_string_equal(list.at[0].subject, "port 5001");
	end(h, &list);
}

/* With the size of packets a burst can be told from a reader that is too slow all the time. */
static void burst_or_slow(void **state)
{
	static const struct {
		uint32_t lost;
		uint64_t read;
		const char *id;
	} rows[] = {
		{500, 400, "rcvbuf-slow"}, /* more than half of it, all the time */
		{500, 90000, "rcvbuf-burst"},
		{5000, 90000, "rcvbuf-slow"}, /* 21 fillings of the buffer */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host *h = healthy_host();
		struct check_findings list;
		struct facts_sock *s = &h->f.socks.at[0];

		s->truesize = 1280; /* 234 fit */
		s->lost = s->drops = rows[i].lost;
		move(h, "here", "Udp:RcvbufErrors", rows[i].lost);
		move(h, "here", "Udp:InErrors", rows[i].lost);
		move(h, "here", "Udp:InDatagrams", rows[i].read);
		judge_host(h, &list);
		assert_int_equal(list.n, 1);
		assert_string_equal(list.at[0].finding.id, rows[i].id);
		assert_non_null(
			strstr(list.at[0].finding.evidence, "the buffer holds 234: a burst"));
		/* 300000 + 500 * 1280, and setsockopt() takes half */
		assert_int_equal(list.at[0].n_changes, i == 1);
		if (i == 1)
			assert_string_equal(list.at[0].changes[0].wanted, "470000");
		end(h, &list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy),
		cmocka_unit_test(nothing_without_evidence),
		cmocka_unit_test(sick_hosts),
		cmocka_unit_test(slow_cpus_with_losses),
		cmocka_unit_test(ranks),
		cmocka_unit_test(told_once),
		cmocka_unit_test(reader_has_its_rates),
		cmocka_unit_test(burst_or_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
