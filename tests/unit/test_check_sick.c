// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From facts to findings: one sick host a case, and every state of the table has its host. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "check_host.h"

#define GIB (1ULL << 30)

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

static void raw_socket(struct host *h)
{
	h->f.taps.raws = 70; /* more than are kept */
	h->f.taps.raw[0] = (struct facts_owner){.pid = 5, .process = "agent"};
}

static void paused(struct host *h)
{
	lose(h, NIC_PAUSE, NIC_EVENT, 40);
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

static void polled_without_end(struct host *h)
{
	shared_irqs(h);
	for (unsigned i = 0; i < 4; i++)
		h->f.link[0].irq[i] =
			(struct facts_irq){.irq = 64 + i, .cpu = -1, .target = 0, .name = "rx"};
}

static void two_ends(struct host *h)
{
	h->f.link[0].peer_mtu = 9000;
}

static void fragments_made(struct host *h)
{
	move(h, "here", "Ip:FragCreates", 50);
}

static void small_send_default(struct host *h)
{
	h->f.stack.wmem_default = h->f.socks.at[0].sndbuf = 4608;
	send_buffer(h);
}

static void capped_send_buffer(struct host *h)
{
	h->f.socks.at[0].sndbuf = 2 * 212992;
	send_buffer(h);
}

static void stopped_by_a_signal(struct host *h)
{
	slow_reader(h);
	h->f.readers.n = 1;
	h->f.readers.at[0].inode = h->f.socks.at[0].inode;
	h->f.readers.at[0].reading = (struct reading){
		.pid = 77, .process = "reader", .threads = 1, .window_ns = 1000, .stopped = true};
}

static void no_btf(struct host *h)
{
	h->f.self.btf = false;
}

static void no_capabilities(struct host *h)
{
	strcpy(h->f.self.missing_caps, "CAP_BPF");
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
	{"polled", polled_without_end, "nic-irq", 1, "64", "1"},
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
	{"two ends", two_ends, "mtu-peer", 1, NULL, NULL},
	{"fragments made", fragments_made, "frag-leaving", 1, NULL, NULL},
	{"send default", small_send_default, "sndbuf", 1, "net/core/wmem_default", "212992"},
	{"capped send buffer", capped_send_buffer, "sndbuf", 1, "net/core/wmem_max", "851968"},
	{"SIGSTOP", stopped_by_a_signal, "rcvbuf-stopped", 1, NULL, NULL},
	{"no BTF", no_btf, "own-btf", 1, NULL, NULL},
	{"no capabilities", no_capabilities, "own-capabilities", 1, NULL, NULL},
};

/* And every state of the table has a host that shows it. */
static void sick_hosts(void **state)
{
	bool shown[128] = {false};

	(void)state;
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
		for (unsigned j = 0; finding_state(j); j++)
			shown[j] |= by_id(&list, finding_state(j)->id) != NULL;
		end(h, &list);
	}
	for (unsigned j = 0; finding_state(j); j++) {
		if (!shown[j])
			fail_msg("no host shows %s", finding_state(j)->id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sick_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
