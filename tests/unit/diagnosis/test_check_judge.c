// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From facts to findings: what is none, ranks, and what is said of readers and CPUs. */

#include "cases.h"
#include "check_host.h"

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

/* What a faster kernel or reader would have kept adds the CPUs that were slow. */
CASE(slow_cpus_with_losses)
{
	struct host *h = healthy_host();
	const struct check_finding *c;
	struct check_findings list;

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
	assert_int_equal(c->n_changes, 2); /* either of the two may have ended it */
	assert_string_equal(c->changes[0].wanted, "600");
	assert_string_equal(c->changes[1].name, "net/core/netdev_budget_usecs");
	assert_string_equal(c->changes[1].wanted, "4000");
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
	assert_string_equal(list.at[0].finding.id, "nic-crc"); /* an error */
	assert_string_equal(list.at[1].finding.id, "nic-port");
	assert_string_equal(list.at[2].finding.id, "nic-ring");
	assert_string_equal(list.at[3].finding.id, "conntrack-near");
	assert_string_equal(list.at[4].finding.id, "taps");
	assert_float_equal(list.at[1].loss_pps, 4000, 1e-9);
	assert_string_equal(list.at[1].subject, "eth1");
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
	assert_null(strstr(list.at[0].finding.evidence, "read"));
	end(h, &list);
}

CASE(reader_has_its_rates)
{
	struct host *h = healthy_host();
	struct check_findings list;

	slow_reader(h);
	judge_host(h, &list);
	assert_string_equal(list.at[0].finding.evidence,
			    "500 packets lost in 1.00 s, 500 a second, 510 since it was opened; "
			    "900 packets/s came; read 400 packets/s, one in 2.50 ms");
	assert_non_null(strstr(list.at[0].finding.text, "reader (77)"));
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
	assert_non_null(
		strstr(list.at[0].finding.evidence, "; 600 packets/s came; read 100 packets/s"));
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
		assert_non_null(
			strstr(list.at[0].finding.evidence, "the buffer holds 234: a burst"));
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
		{"udp-mem", memory, false},
		{"udp-csum", checksum, false},
		{"cpu-governor", slow_clock, false},
		{"qdisc", short_queue, true},
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
		end(h, &list);
	}
}

/* Each counter of losses: which finding and of whom; one that stands still is history. */
CASE(counters_of_losses)
{
	static const struct {
		const char *scope, *name, *id;
	} rows[] = {
		{"here", "IpExt:InNoRoutes", "ip-route"},
		{"here", "Ip6InNoRoutes", "ip-route"},
		{"here", "Ip:InAddrErrors", "ip-not-router"},
		{"here", "Ip6InAddrErrors", "ip-not-router"},
		{"here", "Ip:OutNoRoutes", "tx-route"},
		{"here", "Ip6OutNoRoutes", "tx-route"},
		{"here", "Ip:InHdrErrors", "ip-header"},
		{"here", "Ip6InHdrErrors", "ip-header"},
		{"here", "Ip:ReasmFails", "ip-frag"},
		{"here", "Ip6ReasmFails", "ip-frag"},
		{"here", "Ip:FragFails", "ip-too-big"},
		{"here", "Ip6FragFails", "ip-too-big"},
		{"here", "Ip6InTooBigErrors", "ip-too-big"},
		{"here", "Udp:NoPorts", "udp-lookup"},
		{"here", "Udp6NoPorts", "udp-lookup"},
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
			judge(&h->f, &list);
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
	} rows[] = {{NIC_SEND, "tx-device"}, {NIC_XDP, "xdp"}, {NIC_REDIRECT, "xdp"}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host *h = healthy_host();
		struct check_findings list;

		lose(h, rows[i].cause, NIC_LOSS, 5);
		lose(h, rows[i].cause, NIC_EVENT, 5);
		judge_host(h, &list);
		assert_int_equal(list.n, 1);
		assert_string_equal(list.at[0].finding.id, rows[i].id);
		end(h, &list);
	}
}

/* An interrupt moves to the CPU that idles most, the first one too. */
CASE(idlest_is_first)
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
	assert_null(strstr(list.at[0].finding.evidence, "(0)"));
	assert_non_null(strstr(list.at[0].finding.evidence,
			       "fifteen-letters (4000), fifteen-letters (4001)"));
	end(h, &list);
}
