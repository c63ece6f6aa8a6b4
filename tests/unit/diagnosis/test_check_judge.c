// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From facts to findings: what is none, ranks, and what is said of readers and CPUs. */

#include <linux/if_link.h>
#include <unistd.h>

#include "cases.h"
#include "check_host.h"
#include "diagnosis/look.h"

CASE(healthy)
{
	struct host *h = healthy_host();
	struct check_findings list;

	move(h, "here", "Udp:InDatagrams", 5000);
	judge_host(h, &list);
	assert_int_equal(list.n, 0);
	assert_int_equal(list.n_history, 0);
	end(h, &list);
}

/* Losses of long ago, and settings that look bad, are no findings. */
CASE(nothing_without_evidence)
{
	struct host *h = healthy_host();
	struct check_findings list;
	uint64_t stages = 0;

	move(h, "here", "TcpExt:IPReversePathFilter", 0);
	move(h, "host", "softnet:cpu1:dropped", 0);
	move(h, "here", "Udp:RcvbufErrors", 0);
	move(h, "here", "eth1:qdisc:drops", 0);
	move(h, "here", "eth1:qdisc:clsact", 0);
	move(h, "host", "softnet:cpu4:dropped", 50);	  /* there are four */
	move(h, "host", "softnet:cpu0:time_squeeze", 50); /* no loss by itself */
	h->f.link[1].n_losses = 1;			  /* behind the last */
	h->f.link[1].loss[0] = (struct link_loss){.cause = NIC_RING, .class = NIC_LOSS, .lost = 9};
	h->f.cpus.at[0].mhz = 800; /* an idle CPU is slow */
	h->f.link[0].set.ring.rx = 64;
	h->f.socks.at[0].drops = 99999;
	judge_host(h, &list);
	assert_int_equal(list.n, 0);
	assert_int_equal(list.n_history, 5);
	for (unsigned i = 0; i < 5; i++)
		stages |= 1ULL << list.history[i].stage;
	assert_int_equal(stages, 1ULL << STAGE_IP_ROUTE | 1ULL << STAGE_BACKLOG |
					 1ULL << STAGE_RCVBUF | 1ULL << STAGE_QDISC |
					 1ULL << STAGE_TC_INGRESS);
	end(h, &list);
}

/* What a faster kernel or reader would have kept adds the CPUs that were slow. */
CASE(slow_cpus_with_losses)
{
	struct host *h = healthy_host();
	const struct check_finding *c;
	struct check_findings list;

	slow_cpus(h);
	judge_host(h, &list);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.at[0].finding.id, "nic_ring"); /* what loses comes first */
	c = by_id(&list, "cpu-governor");
	assert_non_null(c);
	assert_int_equal(c->n_changes, 2);
	assert_string_equal(c->changes[0].name, "1");
	assert_string_equal(c->changes[1].name, "3");
	assert_int_equal(c->scope, CHECK_HOST);
	c = by_id(&list, "cpu-budget");
	assert_non_null(c);
	assert_int_equal(c->n_changes, 2); /* either of the two may have ended it */
	assert_string_equal(c->changes[0].wanted, "600");
	assert_string_equal(c->changes[1].name, "net/core/netdev_budget_usecs");
	assert_string_equal(c->changes[1].wanted, "4000");
	assert_int_equal(c->scope, CHECK_HOST);
	assert_string_equal(fact(&c->finding, "squeezed"), "50"); /* in the window */
	end(h, &list);
}

/* Among what loses now: by severity, then by how much; notes come last. */
CASE(ranks)
{
	struct host *h = healthy_host();
	struct check_findings list;

	tap(h);
	conntrack_near(h);
	lose(h, NIC_RING, NIC_LOSS, 40);
	lose(h, NIC_PORT, NIC_LOSS, 4000);
	lose(h, NIC_DAMAGED, NIC_LOSS, 4);
	judge_host(h, &list);
	assert_int_equal(list.n, 5);
	assert_string_equal(list.at[0].finding.id, "nic-port"); /* the largest loss */
	assert_string_equal(list.at[1].finding.id, "nic_ring");
	assert_string_equal(list.at[2].finding.id, "nic-crc");
	assert_int_equal(list.at[2].finding.severity, SEVERITY_WARNING); /* a thousandth of it */
	assert_string_equal(list.at[3].finding.id, "conntrack-near");
	assert_string_equal(list.at[4].finding.id, "taps");
	assert_float_equal(list.at[0].loss_pps, 4000, 1e-9);
	assert_string_equal(list.at[0].subject, "eth1");
	end(h, &list);
}

/* Of a port: the rules that may concern it. What they counted has a window of its own. */
CASE(rules_that_dropped)
{
	struct host *h = healthy_host();
	char command[200];
	struct check_findings list;

	h->f.port = 53;
	h->f.rule[0] = (struct nft_rule){.family = "inet",
					 .table = "t",
					 .chain = "in",
					 .handle = 6,
					 .comment = "no jumbo",
					 .verdict = "drop",
					 .packets = 300,
					 .dport = 53,
					 .exact = true};
	h->f.rule[1] = h->f.rule[0];
	h->f.rule[1].packets = 20;
	h->f.rule[1].dport = 0;
	memset(h->f.rule[1].table, 't', NFT_NAME - 1);
	memset(h->f.rule[1].chain, 'c', NFT_NAME - 1);
	snprintf(command, sizeof(command), "nft -a list chain inet %s %s", h->f.rule[1].table,
		 h->f.rule[1].chain);
	h->f.n_rules = 2;
	h->f.rules_ns = 2000000000;
	h->f.socks.all = h->f.socks.n = 1;
	judge_host(h, &list);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.at[0].finding.id, "netfilter-rule");
	assert_float_equal(list.at[0].loss_pps, 150, 1e-9);
	assert_string_equal(list.at[0].finding.command, "nft -a list chain inet t in");
	assert_string_equal(fact(&list.at[0].finding, "window_ns"), "2000000000");
	assert_string_equal(fact(&list.at[0].finding, "loss_pps"), "150.0");
	assert_string_equal(fact(&list.at[0].finding, "seen"),
			    "rule with handle 6 of chain inet t in (no jumbo): 300 packets");
	assert_non_null(strstr(fact(&list.at[1].finding, "seen"), ": 20 packets, of any port"));
	assert_string_equal(list.at[1].finding.command, command);
	end(h, &list);
}

/* One loss that several counters show is one finding. */
CASE(told_once)
{
	struct host *h = healthy_host();
	struct check_findings list;

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
	assert_string_equal(fact(&list.at[0].finding, "read_pps"), "");
	end(h, &list);
}

CASE(reader_has_its_rates)
{
	struct host *h = healthy_host();
	struct check_findings list;

	slow_reader(h);
	judge_host(h, &list);
	assert_string_equal(fact(&list.at[0].finding, "loss_pps"), "500.0");
	assert_string_equal(fact(&list.at[0].finding, "total"), "510");
	assert_string_equal(fact(&list.at[0].finding, "arrival_pps"), "900.0");
	assert_string_equal(fact(&list.at[0].finding, "read_pps"), "400.0");
	assert_string_equal(fact(&list.at[0].finding, "per_packet_ns"), "2500000");
	assert_non_null(strstr(list.at[0].finding.cause, "reader (77)"));
	assert_string_equal(list.at[0].subject, "port 5001");
	end(h, &list);
}

/* Of one of several sockets a tracepoint shows it. */
CASE(reads_of_one_socket)
{
	struct host *h = healthy_host();
	struct check_findings list;

	slow_reader(h);
	h->f.socks.at[0].reads_known = true;
	h->f.socks.at[0].reads = 100;
	h->f.socks.at[1] = (struct facts_sock){.inode = 6, .port = 9};
	h->f.socks.n = h->f.socks.all = 2;
	judge_host(h, &list);
	assert_string_equal(list.at[0].finding.id, "rcvbuf-slow");
	assert_string_equal(fact(&list.at[0].finding, "arrival_pps"), "600.0");
	assert_string_equal(fact(&list.at[0].finding, "read_pps"), "100.0");
	end(h, &list);
}

/* With the size of packets a burst can be distinguished from a reader that is too slow all the
 * time. */
CASE(burst_or_slow)
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
		assert_string_equal(fact(&list.at[0].finding, "burst_packets"), "234");
		/* 300000 + 500 * 1280, and setsockopt() takes half */
		assert_int_equal(list.at[0].n_changes, i == 1);
		if (i == 1)
			assert_string_equal(list.at[0].changes[0].wanted, "470000");
		end(h, &list);
	}
}

/* A value at a bound of a rule, and `step` beyond it. */

static void table(struct host *h, int step)
{
	h->f.stack.conntrack = 799 + step; /* of 1000 */
}

static void softirq(struct host *h, int step)
{
	h->f.cpus.at[0].softirq = 0.79 + 0.01 * step;
}

static void stolen(struct host *h, int step)
{
	h->f.cpus.steal = step ? 0.05 : 0.049;
}

static void large_peer(struct host *h, int step)
{
	h->f.link[0].peer_mtu = 1504 + step;
}

static void small_peer(struct host *h, int step)
{
	h->f.link[0].peer_mtu = 1496 - step;
}

static void waiting(struct host *h, int step)
{
	h->f.socks.at[0].queued = 150000 + step; /* of 300000 */
	h->f.socks.at[0].queued_before = 200000;
}

static void waited(struct host *h, int step)
{
	h->f.socks.at[0].queued = 200000;
	h->f.socks.at[0].queued_before = 150000 + step;
}

static void limit_of_host(struct host *h, int step)
{
	h->f.stack.rmem_max = (16 << 20) + 1 - step;
	sock_at(h, 2 * h->f.stack.rmem_max, 500);
	rested(h);
}

static void flow_limit(struct host *h, int step)
{
	backlog(h);
	move(h, "host", "softnet:cpu1:flow_limit", 24 + step); /* of 50 */
}

static void memory(struct host *h, int step)
{
	h->f.socks.at[0].lost = h->f.socks.at[0].drops = 20;
	move(h, "here", "Udp:RcvbufErrors", 10);
	move(h, "here", "Udp:MemErrors", 10 + step);
	h->f.stack.udp_pages = 2000; /* of 3000 */
	move(h, "here", "Udp:InErrors", 20 + step);
}

static void checksum(struct host *h, int step)
{
	h->f.socks.at[0].lost = h->f.socks.at[0].drops = 20;
	move(h, "here", "Udp:RcvbufErrors", 10);
	move(h, "here", "Udp:InCsumErrors", 10 + step);
	move(h, "here", "Udp:InErrors", 20 + step);
}

static void slow_clock(struct host *h, int step)
{
	ring(h);
	h->f.cpus.at[2].mhz = 2700 - step; /* of 3000 */
}

static void short_queue(struct host *h, int step)
{
	snprintf(h->f.link[0].qdisc, sizeof(h->f.link[0].qdisc), "pfifo limit %d", 1000 - step);
	move(h, "here", "eth1:qdisc:drops", 5);
}

static void coalescing(struct host *h, int step)
{
	h->f.link[0].rx_packets = 4000000;			   /* of 4 queues */
	h->f.link[0].set.coalesce.rx_usecs = 255 + (unsigned)step; /* half of 512 in 256 us */
}

static void sleep_state(struct host *h, int step)
{
	h->f.link[0].rx_packets = 4000000;
	h->f.cpus.at[2].idle_latency_us = 255 + (unsigned)step;
}

static void idle_cpu(struct host *h, int step)
{
	busy(h);
	for (unsigned i = 1; i < 4; i++)
		h->f.cpus.at[i].idle = i == 2 && step ? 0.5 : 0.49;
}

static void busy_queue(struct host *h, int step)
{
	busy(h);
	for (unsigned i = 0; i < 4; i++) /* of 1000 in all */
		h->f.link[0].irq[i].fired = i == 1 ? 99 + (unsigned)step
					    : i	   ? 1
						   : 899 - (unsigned)step;
}

static void receive_queues(struct host *h, int step)
{
	busy(h);
	for (unsigned i = 0; i < 4; i++)
		strcpy(h->f.link[0].irq[i].name,
		       i == 2 || i == 3 - (unsigned)step * 2 ? "rx" : "tx");
	h->f.link[0].irq[3].moving = true;
}

static void first_receives(struct host *h, int step)
{
	busy(h);
	for (unsigned i = 0; i < 4; i++)
		strcpy(h->f.link[0].irq[i].name, i <= (unsigned)step ? "rx" : "tx");
}

static void uncounted(struct host *h, int step)
{
	h->f.socks.at[0].lost = 9 + (unsigned)step; /* and Udp:InErrors stands still */
}

static void used_up(struct host *h, int step)
{
	h->f.socks.at[0].lost = 5;
	h->f.stack.udp_pages = 2849 + (unsigned)step; /* of 3000 */
}

static void queue_of_one(struct host *h, int step)
{
	h->f.link[0].dev.link.txqueuelen = 2 - (unsigned)step; /* that is none: 1000 */
	strcpy(h->f.link[0].qdisc, "pfifo limit 2");
	move(h, "here", "eth1:qdisc:drops", 5);
}

static void larger_port(struct host *h, int step)
{
	for (unsigned i = 0; i < 3; i++) {
		h->f.link[i] = h->f.link[0];
		h->f.link[i].dev.link.mtu = i == 2 ? 1500 + (unsigned)step : 1500;
		h->f.link[i].dev.link.bridge_port = true;
		h->f.link[i].dev.link.master = 7;
	}
	strcpy(h->f.link[0].master_name, "br0");
	h->f.n_links = 3;
	h->f.link[3] = h->f.link[0];
	h->f.link[3].dev.link.mtu = 9000;
}

static void another_bridge(struct host *h, int step)
{
	larger_port(h, 1);
	h->f.link[2].dev.link.master = 8 - (unsigned)step;
}

static void no_bridge(struct host *h, int step)
{
	larger_port(h, 1);
	h->f.link[2].dev.link.bridge_port = step;
}

/* Of several conditions the one that is missing at first. */

static void xdp_attached(struct host *h, int step)
{
	struct facts_link *l = &h->f.link[0];

	l->dev.link.xdp_attached = step ? XDP_ATTACHED_SKB : XDP_ATTACHED_DRV;
	l->features_known = l->native_xdp = true;
}

static void xdp_known(struct host *h, int step)
{
	xdp_attached(h, 1);
	h->f.link[0].features_known = step;
}

static void xdp_native(struct host *h, int step)
{
	xdp_attached(h, 1);
	h->f.link[0].native_xdp = step;
}

static void rfs_known(struct host *h, int step)
{
	h->f.link[0].rps_flow_cnt = 2048;
	h->f.stack.flow_entries_known = step;
}

static void rfs_entries(struct host *h, int step)
{
	h->f.link[0].rps_flow_cnt = 2048;
	h->f.stack.flow_entries = !step;
}

static void coalescing_known(struct host *h, int step)
{
	coalescing(h, 1);
	h->f.link[0].set.coalesce.known = step;
}

static void coalescing_fixed(struct host *h, int step)
{
	coalescing(h, 1);
	h->f.link[0].set.coalesce.adaptive_rx = !step;
}

static void time_passed(struct host *h, int step)
{
	coalescing(h, 1);
	h->f.window_ns = step ? 1000000000 : 0;
}

static void packets_came(struct host *h, int step)
{
	coalescing(h, 1);
	h->f.link[0].rx_packets *= (unsigned)step;
}

static void sleeps_online(struct host *h, int step)
{
	sleep_state(h, 1);
	h->f.cpus.at[2].online = step;
}

static void slow_first(struct host *h, int step)
{
	ring(h);
	h->f.cpus.at[0].mhz -= 2000 * (unsigned)step;
}

static void first_port_larger(struct host *h, int step)
{
	larger_port(h, 0);
	h->f.link[0].dev.link.mtu += (unsigned)step;
	for (unsigned i = 1; i < 3; i++)
		strcpy(h->f.link[i].master_name, "br0");
}

static void other_interrupts(struct host *h, int step)
{
	busy(h);
	h->f.link[0].irq[0].cpu = 3;
	for (unsigned i = 1; i < 4; i++)
		h->f.link[0].irq[i].cpu = 3 * !step;
}

static void slow_online(struct host *h, int step)
{
	slow_clock(h, 1);
	h->f.cpus.at[2].online = step;
}

static void slow_by_governor(struct host *h, int step)
{
	slow_clock(h, 1);
	if (!step)
		h->f.cpus.at[2].governor[0] = '\0';
}

static void slow_by_clock(struct host *h, int step)
{
	slow_clock(h, 1);
	h->f.cpus.at[2].mhz *= (unsigned)step; /* not known */
}

static void slow_for_readers(struct host *h, int step)
{
	h->f.cpus.at[2].mhz = 800;
	move(h, "here", "Udp:RcvbufErrors", (unsigned)step);
}

static void slow_for_readers6(struct host *h, int step)
{
	h->f.cpus.at[2].mhz = 800;
	move(h, "here", "Udp6RcvbufErrors", (unsigned)step);
}

static void queues_known(struct host *h, int step)
{
	busy(h);
	h->f.link[0].set.channels.combined = 1;
	h->f.link[0].set.channels.known = step;
}

static void queues_in_use(struct host *h, int step)
{
	busy(h);
	h->f.link[0].set.channels.combined = (unsigned)step; /* 0: another kind has them */
}

static void rss_known(struct host *h, int step)
{
	busy(h);
	h->f.link[0].set.rss.used = 1;
	h->f.link[0].set.rss.known = step;
}

static void rss_of_queues(struct host *h, int step)
{
	rss_known(h, 1);
	h->f.link[0].set.channels.known = step;
}

static void one_queue_of(struct host *h, const char *rps)
{
	busy(h);
	h->f.link[0].n_irqs = 1;
	h->f.link[0].set.channels.combined = h->f.link[0].set.channels.combined_max = 1;
	h->f.link[0].set.rss.known = false;
	strcpy(h->f.link[0].rps_cpus, rps);
}

static void rps_unset(struct host *h, int step)
{
	one_queue_of(h, step ? "00000000,00000000" : "00000000,00000002");
}

static void rps_known(struct host *h, int step)
{
	one_queue_of(h, step ? "0" : "");
}

static void rps_of_two_queues(struct host *h, int step)
{
	one_queue_of(h, "0");
	h->f.link[0].set.channels.combined = h->f.link[0].set.channels.combined_max =
		2 - (unsigned)step;
}

static void idle_ticked(struct host *h, int step)
{
	idle_cpu(h, 1);
	h->f.cpus.at[2].ticked = step;
}

static void short_pfifo(struct host *h, int step)
{
	strcpy(h->f.link[0].qdisc, step ? "pfifo limit 500" : "pfifo limit 500 and more");
	move(h, "here", "eth1:qdisc:drops", 5);
}

static void process_asked_for(struct host *h, int step)
{
	h->f.pid = 77 * !step;
	move(h, "here", "Udp:RcvbufErrors", 50); /* of whom is not known */
}

static void port_asked_for(struct host *h, int step)
{
	h->f.port = 5001 * !step;
	move(h, "here", "Udp:RcvbufErrors", 50);
}

static void port_beyond_list(struct host *h, int step)
{
	h->f.port = 9;
	h->f.socks.n = 0;
	h->f.socks.more = !step;
}

static void small_by_default(struct host *h, int step)
{
	sock_at(h, 4096, 500);
	rested(h);
	h->f.stack.rmem_default = step ? 4096 : 8192; /* the program's own choice */
}

static void sndbuf_limit(struct host *h, int step)
{
	h->f.stack.wmem_max = (16 << 20) + 1 - step;
	h->f.socks.at[0].sndbuf = 2 * h->f.stack.wmem_max;
	move(h, "here", "Udp:SndbufErrors", 5);
}

static void sndbuf_by_default(struct host *h, int step)
{
	h->f.stack.wmem_default = 4608;
	h->f.socks.at[0].sndbuf = step ? 4608 : 9216;
	move(h, "here", "Udp:SndbufErrors", 5);
}

static void sndbuf_known(struct host *h, int step)
{
	h->f.stack.wmem_default = h->f.socks.at[0].sndbuf = 4608 * (unsigned)step;
	move(h, "here", "Udp:SndbufErrors", 5);
}

static void sndbuf_in_list(struct host *h, int step)
{
	h->f.socks.at[1].sndbuf = 2 * 212992;
	h->f.socks.n += (unsigned)step;
	move(h, "here", "Udp:SndbufErrors", 5);
}

static void backlog_of_before(struct host *h, int step)
{
	move(h, "host", "softnet:cpu1:dropped", !step);
	move(h, "here", "Udp:SndbufErrors", 5);
}

static void no_entries(struct host *h, int step)
{
	h->f.stack.before.conntrack_clashes = 5;
	h->f.stack.after.conntrack_clashes = 5 + (unsigned)step;
}

CASE(bounds)
{
	static const struct {
		const char *id;
		void (*make)(struct host *h, int step);
		bool change; /* that is what the step makes */
	} rows[] = {
		{"conntrack-near", table, false},
		{"cpu-softirq", softirq, false},
		{"cpu-steal", stolen, false},
		{"mtu-peer", large_peer, false},
		{"mtu-peer", small_peer, false},
		{"rcvbuf-filling", waiting, false},
		{"rcvbuf-filling", waited, false},
		{"rcvbuf-capped", limit_of_host, false},
		{"backlog-flow-limit", flow_limit, false},
		{"udp_mem", memory, false},
		{"udp_csum", checksum, false},
		{"cpu-governor", slow_clock, false},
		{"qdisc", short_queue, true},
		{"nic-coalesce", coalescing, false},
		{"cpu-idle", sleep_state, false},
		{"nic-irq", idle_cpu, false},
		{"nic-irq", busy_queue, false},
		{"nic-irq", receive_queues, false},
		{"nic-irq", first_receives, false},
		{"udp_mem", used_up, false},
		{"udp-mem-cgroup", uncounted, false},
		{"qdisc", queue_of_one, true},
		{"mtu-mismatch", larger_port, false},
		{"mtu-mismatch", another_bridge, false},
		{"mtu-mismatch", no_bridge, false},
		{"xdp-generic", xdp_attached, false},
		{"xdp-generic", xdp_known, false},
		{"xdp-generic", xdp_native, false},
		{"rfs-half", rfs_known, false},
		{"rfs-half", rfs_entries, false},
		{"nic-coalesce", coalescing_known, false},
		{"nic-coalesce", coalescing_fixed, false},
		{"nic-coalesce", time_passed, false},
		{"nic-coalesce", packets_came, false},
		{"cpu-idle", sleeps_online, false},
		{"cpu-governor", slow_first, false},
		{"mtu-mismatch", first_port_larger, false},
		{"nic-irq", other_interrupts, false},
		{"cpu-governor", slow_online, false},
		{"cpu-governor", slow_by_governor, false},
		{"cpu-governor", slow_by_clock, false},
		{"cpu-governor", slow_for_readers, false},
		{"cpu-governor", slow_for_readers6, false},
		{"nic-queues", queues_known, false},
		{"nic-queues", queues_in_use, false},
		{"nic-rss", rss_known, false},
		{"nic-rss", rss_of_queues, false},
		{"nic-rps", rps_unset, false},
		{"nic-rps", rps_known, false},
		{"nic-rps", rps_of_two_queues, false},
		{"nic-irq", idle_ticked, false},
		{"qdisc", short_pfifo, true},
		{"rcvbuf", process_asked_for, false},
		{"rcvbuf", port_asked_for, false},
		{"port-closed", port_beyond_list, false},
		{"rcvbuf-default", small_by_default, false},
		{"sndbuf", sndbuf_limit, true},
		{"sndbuf", sndbuf_by_default, true},
		{"sndbuf", sndbuf_known, true},
		{"sndbuf", sndbuf_in_list, true},
		{"sndbuf", backlog_of_before, false},
		{"netfilter-clash", no_entries, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int step = 0; step < 2; step++) {
			struct host *h = healthy_host();
			const struct check_finding *c;
			struct check_findings list;

			rows[i].make(h, step);
			judge_host(h, &list);
			c = by_id(&list, rows[i].id);
			if (rows[i].change ? c->n_changes != (unsigned)step : !c != !step)
				fail_msg("%u: %s, step %d", i, rows[i].id, step);
			end(h, &list);
		}
	}
}

/* A queue as `tc` writes it. */
CASE(queue_that_is_full)
{
	static const char *const rows[] = {"pfifo limit 500", "fq_codel limit 10240p flows 1024",
					   "fq_pie"};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host *h = healthy_host();
		struct check_findings list;

		strcpy(h->f.link[0].qdisc, rows[i]);
		move(h, "here", "eth1:qdisc:drops", 5);
		judge_host(h, &list);
		assert_string_equal(fact(&by_id(&list, "qdisc")->finding, "setting"), rows[i]);
		end(h, &list);
	}
}

/* Sockets that are gone lost what those that are listed did not; a tenth is between two readings.
 */
CASE(lost_by_closed)
{
	for (unsigned more = 10; more <= 11; more++) {
		struct host *h = healthy_host();
		struct check_findings list;

		sock_at(h, 300000, 50);
		h->f.socks.at[1] = h->f.socks.at[0];
		h->f.socks.n = h->f.socks.all = 2;
		move(h, "here", "Udp6RcvbufErrors", 50 + more);
		judge_host(h, &list);
		assert_int_equal(list.n, 2 + more - 10);
		if (more == 11)
			assert_float_equal(list.at[2].loss_pps, 11, 1e-9);
		end(h, &list);
	}
}

/* Each counter of losses: which finding and of whom; one that stands still is history. */
CASE(counters_of_losses)
{
	static const struct {
		const char *scope, *name, *id;
	} rows[] = {
		{"here", "TcpExt:ListenDrops", "tcp_listen"},
		{"here", "TcpExt:TCPBacklogDrop", "tcp_backlog"},
		{"here", "TcpExt:TCPRcvQDrop", "tcp_rcvbuf"},
		{"here", "TcpExt:TCPOFODrop", "tcp_rcvbuf"},
		{"here", "TcpExt:TCPZeroWindowDrop", "tcp_rcvbuf"},
		{"here", "Udp:RcvbufErrors", "rcvbuf"},
		{"here", "Udp6RcvbufErrors", "rcvbuf"},
		{"here", "Udp:MemErrors", "udp_mem"},
		{"here", "Udp6MemErrors", "udp_mem"},
		{"here", "Udp:InCsumErrors", "udp_csum"},
		{"here", "Udp6InCsumErrors", "udp_csum"},
		{"here", "IpExt:InNoRoutes", "ip-no-route"},
		{"here", "Ip6InNoRoutes", "ip-no-route"},
		{"here", "Ip:InAddrErrors", "ip-not-router"},
		{"here", "Ip6InAddrErrors", "ip-not-router"},
		{"here", "Ip:OutNoRoutes", "tx_route"},
		{"here", "Ip6OutNoRoutes", "tx_route"},
		{"here", "Ip:InHdrErrors", "ip_header"},
		{"here", "Ip6InHdrErrors", "ip_header"},
		{"here", "Ip:ReasmFails", "ip_frag"},
		{"here", "Ip6ReasmFails", "ip_frag"},
		{"here", "Ip:FragFails", "ip-too-big"},
		{"here", "Ip6FragFails", "ip-too-big"},
		{"here", "Ip6InTooBigErrors", "ip-too-big"},
		{"here", "Udp:NoPorts", "udp_lookup"},
		{"here", "Udp6NoPorts", "udp_lookup"},
		{"here", "XfrmInNoPols", "xfrm"},
		{"here", "XfrmInPolBlock", "xfrm"},
		{"here", "XfrmOutPolBlock", "xfrm"},
		{"host", "arp_cache:unresolved_discards", "neigh-queue"},
		{"host", "ndisc_cache:unresolved_discards", "neigh-queue"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned moved = 0; moved < 2; moved++) {
			struct host *h = healthy_host();
			struct check_findings list = {0};

			move(h, rows[i].scope, rows[i].name, moved);
			counters_delta(&h->before, &h->f.after, &h->f.moved);
			h->f.counters_only = true; /* no socket shows them */
			judge_counters(&h->f, &list);
			assert_int_equal(list.n, moved);
			assert_int_equal(list.n_history, !moved);
			if (moved) {
				assert_string_equal(list.at[0].finding.id, rows[i].id);
				assert_string_equal(check_scope_names[list.at[0].scope],
						    strcmp(rows[i].scope, "host") ? "namespace"
										  : "host");
			} else {
				assert_string_equal(list.history[0].counter, rows[i].name);
				assert_int_equal(list.history[0].stage,
						 finding_row(rows[i].id)->stage);
			}
			end(h, &list);
		}
	}
}

/* What drivers count of sending and of XDP. */
CASE(losses_of_drivers)
{
	static const struct {
		enum nic_cause cause;
		const char *id;
		unsigned flags;
		const char *driver;
		uint64_t backlog; /* of CPUs, which a veth counts as well */
	} rows[] = {
		{NIC_SEND, "tx_device", IFF_UP | IFF_RUNNING, "ice", 5},
		{NIC_SEND, "qdisc-no-carrier", IFF_UP, "ice", 0},
		{NIC_SEND, "tx_device", 0, "veth", 0},
		{NIC_SEND, "tx_device", 0, "veth", 4},
		{NIC_SEND, "backlog", 0, "veth", 5},
		{NIC_XDP, "xdp", IFF_UP, "ice", 0},
		{NIC_REDIRECT, "xdp", 0, "ice", 0},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host *h = healthy_host();
		struct check_findings list;

		lose(h, rows[i].cause, NIC_LOSS, 5);
		lose(h, rows[i].cause, NIC_EVENT, 5);
		h->f.link[0].dev.link.flags = rows[i].flags;
		strcpy(h->f.link[0].dev.driver, rows[i].driver);
		move(h, "host", "softnet:cpu1:dropped", rows[i].backlog);
		judge_host(h, &list);
		assert_non_null(by_id(&list, rows[i].id));
		for (unsigned k = 0; k < list.n; k++)
			assert_true(!strcmp(list.at[k].finding.id, rows[i].id) ||
				    list.at[k].finding.stage == STAGE_BACKLOG);
		end(h, &list);
	}
}

/* An interrupt moves to the CPU that idles most, be it the first or the last. */
CASE(idlest_cpu)
{
	struct host *h = healthy_host();
	struct check_findings list;

	for (unsigned i = 0; i < 4; i++) {
		h->f.link[0].irq[i].cpu = 1;
		h->f.cpus.at[i].idle = i ? 0.6 : 0.99;
	}
	h->f.cpus.at[1].idle = 0;
	h->f.cpus.at[1].softirq = 0.97;
	judge_host(h, &list);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.at[0].finding.id, "nic-irq");
	assert_string_equal(list.at[0].changes[0].wanted, "0");
	check_findings_free(&list);

	for (unsigned i = 0; i < 4; i++)
		h->f.cpus.at[i].idle = 0.6 + 0.1 * i;
	h->f.cpus.at[1].idle = 0;
	judge_host(h, &list);
	assert_string_equal(list.at[0].changes[0].wanted, "3");
	check_findings_free(&list);

	for (unsigned i = 0; i < 40; i++) /* a list of them is cut */
		h->f.link[0].irq[i] = (struct facts_irq){.irq = 64 + i, .cpu = -1, .target = 1};
	h->f.link[0].n_irqs = 40;
	judge_host(h, &list);
	assert_non_null(strstr(list.at[0].finding.cause, "40 queues"));
	assert_non_null(strstr(fact(&list.at[0].finding, "seen"), "64, 65, "));
	end(h, &list);
}

/* More owners than there is room for: the first are named, each once. */
CASE(many_owners)
{
	struct host *h = healthy_host();
	struct check_findings list;

	h->f.taps.taps = FACTS_TAPS + 1;
	for (unsigned i = 0; i < FACTS_TAPS; i++)
		h->f.taps.tap[i] = (struct facts_owner){.pid = 4000 + (int)i / 2,
							.process = "fifteen-letters"};
	h->f.taps.tap[0].pid = 0; /* not known */
	judge_host(h, &list);
	assert_int_equal(list.n, 1);
	assert_null(strstr(fact(&list.at[0].finding, "seen"), "(0)"));
	assert_non_null(strstr(fact(&list.at[0].finding, "seen"),
			       "fifteen-letters (4000), fifteen-letters (4001)"));
	end(h, &list);
}

CASE(owners_that_are_named)
{
	static const struct {
		unsigned taps;
		pid_t pid[3];
		const char *evidence;
	} rows[] = {
		{1, {5, 6, 0}, "1 open: tcpdump (5)"},
		{2, {5, 6, 7}, "2 open: tcpdump (5), tcpdump (6)"},
		{3, {5, 5, 7}, "3 open: tcpdump (5), tcpdump (7)"},
		{3, {5, 6, 6}, "3 open: tcpdump (5), tcpdump (6)"},
		{1, {0, 6, 0}, "1 open"},
		{FACTS_TAPS + 1, {5, 0, 0}, "65 open: tcpdump (5)"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host *h = healthy_host();
		struct check_findings list;

		h->f.taps.taps = rows[i].taps;
		for (unsigned k = 0; k < 3; k++)
			h->f.taps.tap[k] =
				(struct facts_owner){.pid = rows[i].pid[k], .process = "tcpdump"};
		h->f.taps.raw[0] = (struct facts_owner){.pid = 8, .process = "agent"};
		judge_host(h, &list);
		assert_int_equal(list.n, 1);
		assert_string_equal(fact(&list.at[0].finding, "seen"), rows[i].evidence);
		end(h, &list);
	}
}

CASE(names_of_processes)
{
	static const struct {
		struct facts_sock sock;
		const char *name;
	} rows[] = {
		{{.pid = 7, .process = "reader"}, "reader (7)"},
		{{.pid = 7, .holders = 3, .process = "reader"}, "reader (7)"},
		{{.holders = 3}, "one of 3 processes"},
		{{.pid = 0}, "an unknown process"},
	};
	char buf[PROCESS_SIZE];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(judge_process(&rows[i].sock, buf), rows[i].name);
}

/* Of those that are alike the first is named. */
CASE(first_of_equals)
{
	struct host *h = healthy_host();
	struct check_findings list;

	larger_port(h, 1);
	strcpy(h->f.link[1].dev.link.ifname, "eth2");
	strcpy(h->f.link[2].dev.link.ifname, "eth3");
	h->f.link[1].dev.link.mtu = 1501;
	h->f.link[0].rx_packets = 4000000;
	h->f.cpus.at[1].idle_latency_us = h->f.cpus.at[2].idle_latency_us = 400;
	strcpy(h->f.cpus.at[2].idle_state, "C9");
	judge_host(h, &list);
	assert_non_null(strstr(by_id(&list, "mtu-mismatch")->finding.cause, "eth2"));
	assert_non_null(strstr(fact(&by_id(&list, "cpu-idle")->finding, "setting"), "C6"));
	check_findings_free(&list);

	busy(h); /* both of them */
	h->f.link[0].rx_packets = 100000;
	for (unsigned i = 0; i < 4; i++)
		h->f.link[0].irq[i].fired = h->f.link[0].irq[i].most = 1;
	h->f.link[1] = h->f.link[0];
	strcpy(h->f.link[1].dev.link.ifname, "eth2");
	h->f.n_links = 2;
	judge_host(h, &list);
	assert_string_equal(by_id(&list, "nic-irq")->subject, "eth1");
	check_findings_free(&list);
	for (unsigned i = 0; i < 8; i++)
		h->f.link[i / 4].irq[i % 4].fired = h->f.link[i / 4].irq[i % 4].most = 0;
	for (unsigned i = 0; i < 8; i++)
		h->f.link[i / 4].irq[i % 4].cpu = -1;
	judge_host(h, &list);
	assert_string_equal(by_id(&list, "nic-irq")->subject, "eth1");
	end(h, &list);
}

/* As sysfs writes it: 32 CPUs a word. */
CASE(mask_of_many_cpus)
{
	struct host *h = healthy_host();
	struct check_findings list;

	one_queue_of(h, "0");
	for (unsigned i = 4; i < 36; i++)
		h->f.cpus.at[i] = h->f.cpus.at[3];
	h->f.cpus.n = 36;
	h->f.cpus.online = 34;
	h->f.cpus.at[5].online = h->f.cpus.at[34].online = false;
	judge_host(h, &list);
	assert_string_equal(by_id(&list, "nic-rps")->changes[0].wanted, "b,ffffffde");
	end(h, &list);
}

/* What came meanwhile to a socket that was not there all the time is no rate. */
CASE(young_socket)
{
	struct host *h = healthy_host();
	struct check_findings list;

	slow_reader(h);
	h->f.socks.at[0].young = true;
	judge_host(h, &list);
	assert_string_equal(list.at[0].finding.id, "rcvbuf");
	assert_string_equal(fact(&list.at[0].finding, "arrival_pps"), "");
	check_findings_free(&list);
	h->f.socks.at[0].young = false;
	h->f.window_ns = 0;
	judge_host(h, &list);
	assert_string_equal(list.at[0].finding.id, "rcvbuf");
	assert_string_equal(fact(&list.at[0].finding, "arrival_pps"), "");
	end(h, &list);
}

/* The drops of a socket are what moved most beside it; what InErrors has more is a filter's. */
CASE(drops_of_a_socket)
{
	static const struct {
		uint64_t full, memory, checksum, errors;
		enum stage stage;
	} rows[] = {
		{0, 0, 0, 0, STAGE_UDP_MEM},	   {10, 10, 0, 20, STAGE_RCVBUF},
		{5, 0, 0, 10, STAGE_RCVBUF},	   {5, 0, 0, 11, STAGE_SOCKET_FILTER},
		{5, 3, 3, 16, STAGE_RCVBUF},	   {5, 3, 3, 17, STAGE_SOCKET_FILTER},
		{0, 3, 4, 11, STAGE_UDP_CSUM},	   {0, 3, 4, 12, STAGE_SOCKET_FILTER},
		{3, 5, 4, 12, STAGE_UDP_MEM},	   {10, 0, 0, 5, STAGE_RCVBUF},
		{2, 0, 10, 12, STAGE_UDP_CSUM},	   {0, 5, 5, 10, STAGE_UDP_CSUM},
		{0, 0, 0, 4, STAGE_SOCKET_FILTER}, {5, 3, 0, 4, STAGE_RCVBUF},
		{5, 0, 3, 4, STAGE_RCVBUF},	   {0, 0, 0, 0, STAGE_RCVBUF},
	};

	const unsigned n = sizeof(rows) / sizeof(rows[0]);

	for (unsigned i = 0; i < 2 * n; i++) {
		struct host *h = healthy_host();
		struct check_findings list;

		h->f.socks.at[0].lost = i / 2 < n - 1 ? 60 : 9; /* the last: too few to say so */
		move(h, "here", i % 2 ? "Udp6RcvbufErrors" : "Udp:RcvbufErrors", rows[i / 2].full);
		move(h, "here", i % 2 ? "Udp:MemErrors" : "Udp6MemErrors", rows[i / 2].memory);
		move(h, "here", i % 2 ? "Udp6InCsumErrors" : "Udp:InCsumErrors",
		     rows[i / 2].checksum);
		move(h, "here", i % 2 ? "Udp:InErrors" : "Udp6InErrors", rows[i / 2].errors);
		judge_host(h, &list);
		if (list.at[0].finding.stage != rows[i / 2].stage)
			fail_msg("%u: %s", i / 2, list.at[0].finding.id);
		end(h, &list);
	}
}

/* What one counter shows by itself, and beside another. */
static void no_ttl(struct host *h)
{
	move(h, "here", "Ip:InHdrErrors", 7);
	move(h, "here", "Icmp:OutRateLimitGlobal", 7);
}

static void no_hops(struct host *h)
{
	move(h, "here", "Ip6InHdrErrors", 7);
	move(h, "here", "Icmp6OutTimeExcds", 7);
}

static void answers_of_the_other(struct host *h)
{
	move(h, "here", "Ip6InHdrErrors", 7);
	move(h, "here", "Icmp:OutTimeExcds", 7);
}

static void silent(struct host *h)
{
	h->f.silent = (struct way_silent){.address = "192.0.2.1", .ifname = "eth1"};
	move(h, "host", "arp_cache:res_failed", 3);
	move(h, "host", "ndisc_cache:res_failed", 4);
}

static void silent_with_a_full_queue(struct host *h)
{
	silent(h);
	move(h, "host", "ndisc_cache:unresolved_discards", 7);
}

static void silent_with_full_queues(struct host *h)
{
	silent(h);
	move(h, "host", "arp_cache:unresolved_discards", 7);
}

static void silent_elsewhere(struct host *h)
{
	silent_with_a_full_queue(h);
	strcpy(h->f.silent.netns, "red");
}

static void clashes(struct host *h)
{
	h->f.stack.before.conntrack_clashes = 3;
	h->f.stack.after.conntrack_clashes = 10;
}

static void four_links(struct host *h)
{
	h->f.n_links = 3;
	h->f.link[1] = h->f.link[2] = h->f.link[0];
	strcpy(h->f.link[1].dev.link.ifname, "eth2");
	strcpy(h->f.link[2].dev.link.ifname, "eth3");
	strcpy(h->f.link[1].rp_filter, "1");
	strcpy(h->f.link[2].rp_filter, "1");
	h->f.link[2].rx_packets++; /* and one that is not strict has as many */
	h->f.link[0].rx_packets += 2;
	h->f.link[3] = h->f.link[4] = h->f.link[2]; /* as busy, and one behind the last */
	strcpy(h->f.link[3].dev.link.ifname, "eth4");
	strcpy(h->f.link[4].dev.link.ifname, "gone");
	h->f.link[4].rx_packets++;
	h->f.n_links++;
}

static void strict_and_busy(struct host *h)
{
	four_links(h);
	move(h, "here", "TcpExt:IPReversePathFilter", 7);
}

static void refused_at_one(struct host *h)
{
	strict_and_busy(h);
	h->f.back = (struct way_back){"192.0.2.1", "eth2", ""};
}

static void inner_packets(struct host *h)
{
	four_links(h);
	h->f.link[1].dev.link.tunnel_port = 5001;
	h->f.socks.at[0].lost = 7;
	move(h, "here", "Udp:InCsumErrors", 7);
	move(h, "here", "Udp:InErrors", 7);
}

static void inner_packets_of_first(struct host *h)
{
	inner_packets(h);
	h->f.link[0].dev.link.tunnel_port = 5001;
	h->f.link[1].dev.link.tunnel_port = 0;
}

static void sent_by_six(struct host *h)
{
	move(h, "here", "Udp6SndbufErrors", 7);
}

static void frames_refused(struct host *h)
{
	sent_by_six(h);
	four_links(h);
	h->f.link[2].loss[0] = (struct link_loss){
		.cause = NIC_SEND, .class = NIC_LOSS, .counter = "tx_dropped", .lost = 7};
	h->f.link[2].n_losses = 1;
}

CASE(counters_beside_each_other)
{
	static const struct {
		void (*make)(struct host *h);
		const char *id, *subject;
		enum check_scope scope;
	} rows[] = {
		{no_ttl, "ip-ttl", "", CHECK_NAMESPACE},
		{no_hops, "ip-ttl", "", CHECK_NAMESPACE},
		{answers_of_the_other, "ip_header", "", CHECK_NAMESPACE},
		{silent, "neigh-failed", "", CHECK_NAMESPACE},
		{silent_with_a_full_queue, "neigh-failed", "", CHECK_NAMESPACE},
		{silent_with_full_queues, "neigh-failed", "", CHECK_NAMESPACE},
		{silent_elsewhere, "neigh-failed", "", CHECK_HOST},
		{clashes, "netfilter-clash", "", CHECK_NAMESPACE},
		{strict_and_busy, "ip-rpfilter-unseen", "eth3", CHECK_NAMESPACE},
		{refused_at_one, "ip-rpfilter-no-route", "eth2", CHECK_NAMESPACE},
		{inner_packets, "udp-csum-tunnel", "port 5001", CHECK_SOCKET},
		{inner_packets_of_first, "udp-csum-tunnel", "port 5001", CHECK_SOCKET},
		{sent_by_six, "sndbuf", "", CHECK_NAMESPACE},
		{frames_refused, "tx_device", "eth3", CHECK_INTERFACE},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host *h = healthy_host();
		struct check_findings list = {0};

		rows[i].make(h);
		counters_delta(&h->before, &h->f.after, &h->f.moved);
		judge(&h->f, &list);
		if (list.n != 1 || strcmp(list.at[0].finding.id, rows[i].id) ||
		    strcmp(list.at[0].subject, rows[i].subject) ||
		    list.at[0].scope != rows[i].scope ||
		    list.at[0].loss_pps != (strcmp(rows[i].id, "sndbuf") ? 7 : 0))
			fail_msg("%u: %u, %s of %s", i, list.n, list.at[0].finding.id,
				 list.at[0].subject);
		end(h, &list);
	}
}

/* Of another namespace: what is the host's is named once, and has its own history. */
CASE(several_namespaces)
{
	struct host *one = healthy_host(), *other = healthy_host();
	struct check_findings all = {0}, list;
	struct check_finding swapped;

	ring(one);
	tap(one);
	move(one, "here", "Udp:RcvbufErrors", 0);
	judge_host(one, &list);
	check_findings_join(&all, &list, "", false);
	tap(other);
	backlog(other);
	conntrack_near(other);
	move(other, "here", "Ip:ReasmFails", 0);
	judge_host(other, &list);
	check_findings_join(&all, &list, "red", true);
	assert_int_equal(list.n + list.n_history, 0);
	check_findings_sort(&all);
	assert_int_equal(all.n, 4);
	assert_string_equal(all.at[0].finding.id, "nic_ring");
	assert_string_equal(all.at[0].finding.netns, "");
	assert_int_equal(all.at[0].n_changes, 1);
	assert_string_equal(all.at[1].finding.id, "conntrack-near");
	assert_string_equal(all.at[1].finding.netns, "red");
	assert_string_equal(all.at[2].finding.netns, ""); /* two taps, in the order of finding */
	assert_string_equal(all.at[3].finding.netns, "red");
	swapped = all.at[2]; /* and not in the order of the list */
	all.at[2] = all.at[3];
	all.at[3] = swapped;
	check_findings_sort(&all);
	assert_string_equal(all.at[3].finding.netns, "red");
	all.at[3].near = true; /* its own namespace asks */
	check_findings_sort(&all);
	check_findings_sort(&all);			       /* and is where it belongs */
	assert_string_equal(all.at[0].finding.id, "nic_ring"); /* this one loses */
	assert_true(all.at[1].near);
	assert_int_equal(all.n_history, 1);
	assert_string_equal(all.history[0].counter, "Udp:RcvbufErrors");
	end(one, &all);
	end(other, &list);
}

/* What other hosts have read: without commands of this one. */
CASE(places_of_another_host)
{
	static const char *const names[] = {"", "red"};
	static struct look l;
	unsigned backlogs = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct host *h = healthy_host();

		backlog(h);
		ring(h);
		counters_delta(&h->before, &h->f.after, &h->f.moved);
		counters_free(&h->before);
		l.at[i] = calloc(1, sizeof(*l.at[i]));
		l.at[i]->facts = h->f;
		l.at[i]->ns = NETNS_NONE;
		strcpy(l.at[i]->name, names[i]);
		l.n++;
		free(h);
	}
	look_judge(&l);
	assert_int_equal(l.findings.n, 3);
	for (unsigned i = 0; i < l.findings.n; i++) {
		const struct check_finding *c = &l.findings.at[i];

		backlogs += c->scope == CHECK_HOST;
		assert_int_equal(c->n_changes, 0);
		assert_false(*c->finding.command || *c->finding.undo || *c->finding.applies);
	}
	assert_int_equal(backlogs, 1);
	look_close(&l);
}

/* What is of the host is in no namespace; and a command is entered from where it is typed. */
CASE(whose_findings)
{
	const struct netns ns = NETNS_NONE;
	static const struct {
		bool inside;
		const char *enter;
		enum check_scope scope;
		const char *command;
	} rows[] = {
		{true, "e", CHECK_NAMESPACE, "e ss -uanp"},
		{true, "e", CHECK_INTERFACE, "e ss -uanp"},
		{true, "e", CHECK_HOST, "ss -uanp"},
		{true, "", CHECK_NAMESPACE, "ss -uanp"},
		{false, "e", CHECK_NAMESPACE, "ss -uanp"},
	};
	struct host *h = healthy_host();
	struct check_findings all = {0}, list;

	ring(h);
	backlog(h);
	judge_host(h, &list);
	check_findings_join(&all, &list, "blue", false);
	assert_int_equal(all.n, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_string_equal(all.at[i].finding.netns,
				    all.at[i].scope == CHECK_HOST ? "" : "blue");
	end(h, &all);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct check_finding c[2] = {
			{.scope = rows[i].scope, .finding.command = "ss -uanp"},
			{.scope = CHECK_NAMESPACE, .finding.command = "of nobody"},
		};

		check_plan(&(struct check_findings){.at = c, .n = 1}, rows[i].inside ? &ns : NULL,
			   rows[i].enter);
		assert_string_equal(c[0].finding.command, rows[i].command);
		assert_string_equal(c[1].finding.command, "of nobody");
	}
}

/* Since boot, too. */
CASE(flow_limit_in_all)
{
	struct host *h = healthy_host();
	struct check_findings list;

	flow_limit(h, 1);
	judge_host(h, &list);
	assert_string_equal(fact(&by_id(&list, "backlog-flow-limit")->finding, "counter"),
			    "softnet flow_limit");
	assert_string_equal(fact(&by_id(&list, "backlog-flow-limit")->finding, "total"), "1025");
	end(h, &list);
}

/* Only what can be changed here has a command. */
CASE(changes_are_planned)
{
	struct host *h = healthy_host();
	struct check_findings list;
	const struct check_finding *c;
	struct check_finding first;

	ring(h); /* of a device that is not here */
	tap(h);
	slow_cpus(h);
	move(h, "host", "softnet:cpu1:dropped", 50);
	judge_host(h, &list);
	for (unsigned i = 0; i < list.n; i++) { /* whichever comes first */
		if (strcmp(list.at[i].finding.id, "nic_ring"))
			continue;
		first = list.at[0];
		list.at[0] = list.at[i];
		list.at[i] = first;
	}
	check_plan(&list, NULL, "");
	c = by_id(&list, "nic_ring");
	assert_int_equal(c->n_changes, 0);
	assert_string_equal(c->finding.command, "");
	assert_string_equal(c->finding.applies, "");
	c = by_id(&list, "cpu-budget");
	if (access("/proc/sys/net/core/netdev_budget_usecs", W_OK)) {
		end(h, &list);
		skip();
	}
	assert_int_equal(c->n_changes, 2);
	assert_false(c->on_host);
	assert_non_null(strstr(c->finding.command, "netdev_budget=600"));
	assert_string_equal(c->changes[1].wanted, "4000");
	assert_non_null(strstr(c->finding.undo, "netdev_budget="));
	assert_null(strstr(c->finding.undo, "netdev_budget=600"));
	assert_non_null(strstr(by_id(&list, "taps")->finding.command, "ss"));
	end(h, &list);
}

/* What belongs to a namespace is changed there, what belongs to the host is not. */
CASE(changes_of_a_namespace)
{
	const char *const enter = "ip netns exec red";
	struct host *h = healthy_host();
	const struct check_finding *c;
	struct check_findings list;
	struct netns ns;

	if (netns_create(&ns, &(struct error){})) {
		end(h, &(struct check_findings){});
		skip(); /* not allowed to */
	}
	strcpy(h->f.link[0].dev.link.ifname, "lo");
	strcpy(h->f.link[0].rp_filter, "1");
	strcpy(h->f.back.ifname, "lo");
	strcpy(h->f.back.source, "203.0.113.9");
	strcpy(h->f.back.by, "eth3");
	move(h, "here", "TcpExt:IPReversePathFilter", 5);
	move(h, "here", "Udp:NoPorts", 5);
	move(h, "host", "softnet:cpu1:dropped", 50);
	judge_host(h, &list);
	check_plan(&list, &ns, enter);
	c = by_id(&list, "ip-rpfilter");
	assert_false(c->on_host);
	assert_int_equal(c->n_changes, 1);
	assert_memory_equal(c->finding.command, enter, strlen(enter));
	assert_non_null(strstr(c->finding.command, "rp_filter=2"));
	c = by_id(&list, "udp_lookup");
	assert_string_equal(c->finding.command, "ip netns exec red ss -uanp");
	c = by_id(&list, "backlog");
	assert_true(c->on_host);
	assert_null(strstr(c->finding.command, enter));
	end(h, &list);
	netns_close(&ns);
}

/* What was asked for comes first, and what it lost is said once. */
CASE(the_port_that_was_asked_for)
{
	struct host *h = healthy_host();
	struct check_findings list;

	h->f.port = 5001;
	h->f.socks.at[0].rcvbuf = 2 * h->f.stack.rmem_max;
	h->f.socks.at[0].lost = 2;
	move(h, "here", "Udp:RcvbufErrors", 2);
	move(h, "here", "Udp:InErrors", 2);
	move(h, "here", "Udp:NoPorts", 5000);
	judge_host(h, &list);
	assert_string_equal(list.at[0].finding.id, "rcvbuf");
	assert_non_null(by_id(&list, "udp_lookup")); /* bound to another address */
	end(h, &list);

	h = healthy_host();
	h->f.port = 5001;
	h->f.socks.n = 0;
	move(h, "here", "Udp:NoPorts", 5000);
	move(h, "here", "IpExt:InNoRoutes", 10);
	judge_host(h, &list);
	assert_string_equal(list.at[0].finding.id, "port-closed");
	assert_non_null(strstr(fact(&list.at[0].finding, "seen"), "5,000 datagrams"));
	assert_null(by_id(&list, "udp_lookup"));
	end(h, &list);
}
