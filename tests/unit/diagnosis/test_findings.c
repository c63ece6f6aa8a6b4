// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cases.h"
#include "diagnosis/findings.h"
#include "facts_of.h"
#include "drops/nftrules.h"
#include "drops/stagemap.h"

/* 5000 datagrams of 100 bytes to a reader that stands still (tests/fixtures/proc/udp-1.txt). */
static const struct finding_facts burst = {
	.lost = 4744,
	.sent = 5000,
	.port = 5001,
	.rcvbuf = 212992,
	.rmem_max = 212992,
	.truesize = 832,
	.arrival_pps = 100000,
};

/* A million at full speed, read at two thirds of it. */
static const struct finding_facts overload = {
	.lost = 300603,
	.sent = 1000000,
	.process = "reader",
	.rcvbuf = 212992,
	.rmem_max = 212992,
	.truesize = 1280,
	.arrival_pps = 900000,
	.read_pps = 629000,
};

CASE(burst_fits_a_buffer)
{
	struct finding f;

	/* 256 packets fit: 4744 are 19 fillings. With 2000 lost it is a burst. */
	struct finding_facts facts = burst;

	facts.lost = 2000;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-burst");
	/* 212992 + 2000 * 832 = 1876992; setsockopt takes half */
	assert_string_equal(f.command, "sysctl -w net.core.rmem_max=938496");
	assert_string_equal(f.undo, "sysctl -w net.core.rmem_max=212992");
	assert_non_null(strstr(f.fix, "SO_RCVBUF 938496 (gives 1876992)"));
	assert_string_equal(fact(&f, "burst_packets"), "256");
	assert_string_equal(fact(&f, "burst_ns"), "2560000");
	assert_string_equal(fact(&f, "lost_percent"), "40");
	assert_string_equal(fact(&f, "rcvbuf_bytes"), "212992");
	assert_string_equal(fact(&f, "ttl"), "");
	assert_true(f.risk[0]);
}

CASE(backlog_of_a_device_that_is_down)
{
	struct finding_facts facts = {
		.lost = 3, .reason = "DEV_READY", .ifname = "v-r0", .netdev_max_backlog = 1000};
	struct finding f;

	assert_int_equal(findings_for_stage(STAGE_BACKLOG, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "backlog-link-down");
	assert_string_equal(f.command, "ip -s link show dev v-r0");
	facts.reason = "CPU_BACKLOG";
	assert_int_equal(findings_for_stage(STAGE_BACKLOG, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "backlog");
	assert_string_equal(f.command, "sysctl -w net.core.netdev_max_backlog=2000");
	finding_forget(&f);
	assert_true(!*f.command && !*f.undo && !*f.risk && !*f.applies && *f.fix);
}

CASE(no_qdisc_is_not_full)
{
	struct finding_facts facts = {.lost = 10, .reason = "QDISC_DROP", .ifname = "eth0"};
	struct finding f;

	facts.location = "noop_enqueue";
	assert_int_equal(findings_for_stage(STAGE_QDISC, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "qdisc-noop");
	assert_null(strstr(f.cause, "full"));
	facts.location = "__rtnl_unlock";
	assert_int_equal(findings_for_stage(STAGE_QDISC, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "qdisc-noop");
	facts.location = "__dev_queue_xmit";
	assert_int_equal(findings_for_stage(STAGE_QDISC, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "qdisc");
	facts.location = NULL;
	assert_int_equal(findings_for_stage(STAGE_QDISC, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "qdisc");
}

CASE(no_memory_is_no_full_buffer)
{
	/* tcp_data_queue() says PROTO_MEM of both */
	struct finding_facts facts = {.lost = 10, .reason = "PROTO_MEM"};
	struct finding f;

	assert_int_equal(findings_for_stage(STAGE_TCP_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "tcp_rcvbuf");
	facts.reading = (struct reading){.window_ns = 1000000000, .samples = 100, .full = 5};
	assert_int_equal(findings_for_stage(STAGE_TCP_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "tcp-mem");
	facts.reading.full = 90;
	assert_int_equal(findings_for_stage(STAGE_TCP_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "tcp_rcvbuf");
}

CASE(a_burst_of_unknown_arrivals)
{
	struct finding_facts facts = burst;
	struct finding f;

	facts.lost = 100;
	facts.window_ns = 1000000000;
	facts.arrival_pps = 0; /* before Linux 6.3, where others read, too */
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-burst");

	facts.lost = 1;
	facts.arrival_pps = 0.5; /* of which one is most */
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_not_equal(f.id, "rcvbuf-burst");

	/* a tenth of what came, and no more, is one */
	facts.lost = 100;
	facts.arrival_pps = 1000;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-burst");
	facts.lost = 101;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_not_equal(f.id, "rcvbuf-burst");
}

CASE(a_buffer_for_one_packet)
{
	struct finding_facts facts = burst;
	struct finding f;

	facts.lost = 1;
	facts.rcvbuf = facts.truesize;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(fact(&f, "burst_packets"), "1");
	assert_string_equal(fact(&f, "burst_ns"), "10000");
	facts.rcvbuf--;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(fact(&f, "burst_ns"), "");
}

CASE(no_sysctl_where_none_is_needed)
{
	struct finding_facts facts = burst;
	struct finding f;

	facts.lost = 100;
	facts.rmem_max = 16 << 20;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-burst");
	assert_string_equal(f.command, "");
	assert_string_equal(f.undo, "");
	assert_true(f.fix[0]);
	assert_true(f.risk[0]);

	facts.rmem_max = 0; /* unknown: no command on a guess */
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "");
}

CASE(overload_is_no_burst)
{
	struct finding_facts facts = overload;
	struct finding f;

	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-slow");
	assert_non_null(strstr(f.cause, "faster than reader read them"));
	assert_string_equal(fact(&f, "read_pps"), "629000.0");
	assert_string_equal(fact(&f, "per_packet_ns"), "1589");
	/* a buffer only delays a loss that goes on */
	assert_null(strstr(f.fix, "buffer"));
	assert_string_equal(f.command, "");
	assert_string_equal(f.risk, "");
}

CASE(without_facts_no_numbers)
{
	const struct way_silent nowhere = {.address = "198.18.0.9", .enter = "ip netns exec a"};
	struct finding_facts facts = {.lost = 7};
	struct finding f;

	for (int s = 0; s < STAGE_COUNT; s++) {
		assert_int_equal(findings_for_stage(s, &facts, &f, NULL), 0);
		assert_int_equal(f.stage, s);
		assert_true(f.cause[0]);
		assert_true(f.fix[0]);
		assert_string_equal(fact(&f, "lost"), "7");
		assert_string_equal(f.undo, "");
		assert_null(strpbrk(f.cause, "{}[]"));
		assert_null(strpbrk(f.command, "{}[]"));
	}
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "");
	assert_string_equal(fact(&f, "setting"), "");
	assert_int_equal(findings_for_stage(STAGE_BACKLOG, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "");
	assert_int_equal(findings_for_stage(STAGE_NONE, &facts, &f, NULL), -ENOENT);
	/* of a command of which a part is not known nothing is left to be run */
	facts.silent = nowhere;
	assert_int_equal(findings_for_stage(STAGE_NEIGH, &facts, &f, NULL), 0);
	assert_non_null(strstr(f.cause, "198.18.0.9"));
	assert_string_equal(f.command, "");
}

/* Each bracket is closed before the next is opened. */
static void balanced(const char *text)
{
	const char *open = text ? text : "";

	while ((open = strpbrk(open, "{["))) {
		const char *close = strpbrk(open + 1, *open == '{' ? "}[" : "][");

		assert_non_null(close);
		assert_int_equal(*close, *open == '{' ? '}' : ']');
		open++;
	}
}

static void row_is_well_formed(const struct finding_row *row)
{
	const char *const fields[] = {
		row->cause,	    row->seen,	     row->setting,	 row->fix,
		row->command,	    row->risk,	     row->change.ifname, row->change.name,
		row->change.wanted, row->change.old,
	};

	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		balanced(fields[i]);
	assert_true(row->cause && *row->cause && row->fix && islower(row->fix[*row->fix == '[']));
	assert_true(!row->change.name == !row->change.wanted);
	/* What changes the host says what that may break. */
	assert_true(!row->change.name || row->risk || row->stage == STAGE_QDISC);
	assert_ptr_equal(finding_row(row->id), row); /* the id is its own */
	if (!finding_row(row->id)->about)
		fail_msg("no paragraph about %s", row->id);
}

CASE(rows_and_paragraphs)
{
	for (unsigned i = 0; i < finding_rows_n; i++) {
		row_is_well_formed(&finding_rows[i]);
		assert_true(*finding_rows[i].about);
		assert_ptr_equal(finding_row(finding_rows[i].id), &finding_rows[i]);
	}
	assert_null(finding_row("pl-none"));
	assert_null(finding_row("rcvbuf-")); /* no row by the beginning of its id */
}

/* Counters that were watched: what moved, at which rate, and what was there before. */
CASE(watched_counters)
{
	struct finding_facts facts = {
		.lost = 500,
		.window_ns = 500000000,
		.total = 7000,
		.since = "boot",
		.ifname = "eth1",
		.reason = "IP_RPFILTER",
		.rp_filter = "1",
	};
	struct finding f;
	struct change change;

	/* loose mode is advised only if there is a route back, and it is by another device */
	assert_int_equal(findings_for_stage(STAGE_IP_ROUTE, &facts, &f, &change), 0);
	assert_string_equal(f.id, "ip-rpfilter-unseen");
	assert_string_equal(change.name, "");
	facts.back = (struct way_back){.source = "192.0.2.1", .ifname = "eth1"};
	assert_int_equal(findings_for_stage(STAGE_IP_ROUTE, &facts, &f, &change), 0);
	assert_string_equal(f.id, "ip-rpfilter-no-route");
	assert_string_equal(change.name, "");
	assert_string_equal(f.command, "ip route get 192.0.2.1");
	strcpy(facts.back.by, "eth1");
	assert_int_equal(findings_for_stage(STAGE_IP_ROUTE, &facts, &f, &change), 0);
	assert_string_equal(f.id, "ip-rpfilter-unseen");
	strcpy(facts.back.by, "eth2");

	assert_int_equal(findings_for_stage(STAGE_IP_ROUTE, &facts, &f, &change), 0);
	assert_string_equal(f.id, "ip-rpfilter");
	assert_string_equal(fact(&f, "loss_pps"), "1000.0");
	assert_string_equal(fact(&f, "total"), "7000");
	assert_int_equal(change.kind, CHANGE_SYSCTL);
	assert_string_equal(change.name, "net/ipv4/conf/eth1/rp_filter");
	assert_string_equal(change.wanted, "2");
	assert_string_equal(change.old, "1");
	assert_string_equal(f.command, "sysctl -w net.ipv4.conf.eth1.rp_filter=2");

	facts.ifname = NULL; /* no change of an interface that is not known */
	assert_int_equal(findings_for_stage(STAGE_IP_ROUTE, &facts, &f, &change), 0);
	assert_string_equal(f.id, "ip-rpfilter-unseen");
	assert_string_equal(change.name, "");
	assert_string_equal(f.undo, "");
}

/*
 * A reader that ran, waited and was throttled for these shares of a second, and slept with its
 * buffer full in this share of the samples, per mille.
 */
static struct finding_facts reader(unsigned run, unsigned wait, unsigned throttled, unsigned full)
{
	struct finding_facts f = overload;

	f.read_pps = 0;
	f.reader = "sip[7]";
	f.reading.window_ns = 1000000000;
	f.reading.run_ns = run * 1000000ULL;
	f.reading.wait_ns = wait * 1000000ULL;
	f.reading.throttled_ns = throttled * 1000000ULL;
	strcpy(f.reading.sleeps_in, "hrtimer_nanosleep");
	f.reading.samples = 1000;
	f.reading.full = full;
	return f;
}

/* One that waited and slept as long; of a thousand packets that came so many were lost. */
static struct finding_facts slept_among(unsigned lost)
{
	struct finding_facts f = reader(100, 450, 0, 950);

	f.reading.lost = lost;
	f.reading.received_around = 1000 - lost;
	return f;
}

/* What is advised is for the largest burst, however many there were. */
CASE(depth_of_a_burst)
{
	struct finding_facts facts = reader(20, 300, 0, 100);
	struct finding f;

	facts.sent = 0;
	facts.lost = 5000;
	facts.truesize = 1000;
	facts.rcvbuf = 100000;
	facts.reading.burst = 400;
	findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
	assert_string_equal(f.id, "rcvbuf-bursts"); /* before the wait for a CPU */
	assert_non_null(strstr(f.fix, ": 300000 (gives 600000), for the largest"));
	assert_null(strstr(f.fix, "default"));
	facts.rmem_default = 600000;
	findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
	assert_non_null(strstr(f.fix, "or request none, since the default of 600000 is enough"));
	facts.reading.wait_ns = 0;
	facts.reading.samples = 1; /* of the queue: too few */
	facts.read_pps = 1;
	facts.arrival_pps = 2;
	findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
	assert_string_equal(f.id, "rcvbuf");
	facts.reading.window_ns = 0; /* nothing is known but that packets were lost */
	facts.read_pps = facts.arrival_pps = 0;
	findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
	assert_string_equal(f.id, "rcvbuf");
	assert_non_null(strstr(f.fix, "`pktledger check -t 10`"));
}

CASE(why_it_was_full)
{
	const struct {
		struct finding_facts facts;
		const char *id, *cause, *key, *value;
	} cases[] = {
		{reader(990, 5, 0, 950), "rcvbuf-busy", "although sip[7] ran all the time",
		 "running_percent", "99"},
		{reader(400, 600, 0, 950), "rcvbuf-cpu", "sip[7] waited for a CPU",
		 "waiting_percent", "60"},
		{reader(400, 600, 550, 950), "rcvbuf-quota", "used up the CPU quota", "seen",
		 "the quota withheld 550 ms of CPU time"},
		{reader(10, 10, 0, 950), "rcvbuf-asleep", "sip[7] slept while packets waited",
		 "full_percent", "95"},
		{reader(30, 10, 0, 20), "rcvbuf-bursts", "only for moments", "full_percent", "2"},
		/* under load: it had caught up all the same, or would not even with a CPU */
		{reader(400, 400, 0, 100), "rcvbuf-bursts", NULL, NULL, NULL},
		{reader(401, 400, 0, 100), "rcvbuf-cpu", NULL, NULL, NULL},
		{slept_among(900), "rcvbuf-asleep", NULL, NULL, NULL},
		{slept_among(551), "rcvbuf-asleep", NULL, NULL, NULL},
		{slept_among(550), "rcvbuf-cpu", NULL, NULL, NULL},
		{reader(10, 10, 0, 0), "rcvbuf-bursts", NULL, NULL, NULL},
		/* what moves between the cases is shown as before */
		{reader(500, 100, 0, 950), "rcvbuf", NULL, NULL, NULL},
	};
	struct finding_facts facts;
	struct finding f;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(findings_for_stage(STAGE_RCVBUF, &cases[i].facts, &f, NULL), 0);
		assert_string_equal(f.id, cases[i].id);
		if (!cases[i].cause)
			continue;
		if (!strstr(f.cause, cases[i].cause))
			fail_msg("%s", f.cause);
		assert_string_equal(fact(&f, cases[i].key), cases[i].value);
	}
	/* one that waits for another thread is a dedicated thread already */
	facts = reader(10, 10, 0, 950);
	strcpy(facts.reading.sleeps_in, "futex_wait_queue");
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-futex");
	assert_null(strstr(f.fix, "dedicated"));
	/* no buffer is advised while less is read than arrives */
	facts = reader(10, 10, 0, 950);
	facts.rcvbuf = 2 * facts.rmem_max;
	facts.arrival_pps = 12000;
	facts.read_pps = 5000;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-asleep");
	facts.reading = (struct reading){};
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-slow");
	facts.reading = reader(30, 10, 0, 20).reading;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-capped");
	/* without samples of the queue sleep is no cause */
	facts = reader(10, 10, 0, 0);
	facts.reading.samples = 2;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf");
	facts.reading.stopped = true;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf-stopped");
	/* nor is anything said without a reader */
	facts.reading.window_ns = 0;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "rcvbuf");
	assert_string_equal(fact(&f, "watched_ns"), "");
}

/* The last value of each condition, and the next one, that it no longer holds for. */
CASE(bounds_of_conditions)
{
	struct finding_facts f[] = {
		reader(400, 0, 100, 950),
		reader(600, 0, 99, 950),
		reader(400, 250, 0, 950),
		reader(400, 249, 0, 950),
		reader(750, 0, 0, 950),
		reader(749, 0, 0, 950),
		reader(500, 0, 0, 200),
		reader(500, 0, 0, 199),
		reader(501, 0, 0, 200),
		reader(10, 10, 0, 950),
		reader(900, 200, 0, 10),
		burst,
		burst,
		burst,
		burst,
		overload,
		overload,
	};
	static const char *const ids[] = {
		"rcvbuf-quota", "rcvbuf",	 "rcvbuf-cpu",	  "rcvbuf",	  "rcvbuf-busy",
		"rcvbuf",	"rcvbuf-asleep", "rcvbuf-bursts", "rcvbuf",	  "rcvbuf-asleep",
		"rcvbuf-busy",	"rcvbuf-burst",	 "rcvbuf",	  "rcvbuf-burst", "rcvbuf",
		"rcvbuf",	"rcvbuf-slow",
	};
	struct finding out;

	f[9].reading.samples = 3; /* the fewest that say something */
	f[11].lost = 8 * 256;	  /* fillings of the buffer */
	f[12].lost = 8 * 256 + 1;
	for (unsigned i = 13; i <= 14; i++) { /* a tenth of what came */
		f[i].window_ns = 1000000000;
		f[i].arrival_pps = 10000;
		f[i].lost = 1000 + (i == 14);
	}
	f[15].read_pps = f[15].arrival_pps;
	f[16].read_pps = f[16].arrival_pps - 1;
	for (unsigned i = 0; i < sizeof(f) / sizeof(f[0]); i++) {
		assert_int_equal(findings_for_stage(STAGE_RCVBUF, &f[i], &out, NULL), 0);
		if (strcmp(out.id, ids[i]))
			fail_msg("%u: %s, not %s", i, out.id, ids[i]);
	}
}

/* What would be too much is not advised, and neither is what is there already. */
CASE(bounds_of_advice)
{
	struct finding_facts f = burst;
	struct finding out;

	f.lost = 2000; /* the request is 938496, as in burst_fits_a_buffer() */
	f.rmem_max = 938495;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &f, &out, NULL), 0);
	assert_string_equal(out.command, "sysctl -w net.core.rmem_max=938496");
	f.rmem_max = 938496;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &f, &out, NULL), 0);
	assert_string_equal(out.command, "");

	/* 64 MiB in all, and one packet more */
	f.truesize = 1024;
	f.rcvbuf = 8 << 20;
	f.lost = ((64 << 20) - f.rcvbuf) / f.truesize;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &f, &out, NULL), 0);
	assert_string_equal(out.command, "sysctl -w net.core.rmem_max=33554432");
	f.lost++;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &f, &out, NULL), 0);
	assert_string_equal(out.command, "");

	f = (struct finding_facts){.lost = 10, .total = 10, .since = "boot"};
	f.netdev_max_backlog = 999;
	assert_int_equal(findings_for_stage(STAGE_BACKLOG, &f, &out, NULL), 0);
	assert_string_equal(out.command, "sysctl -w net.core.netdev_max_backlog=1000");
	assert_string_equal(fact(&out, "total"), "");
	f.total = 11;
	assert_int_equal(findings_for_stage(STAGE_BACKLOG, &f, &out, NULL), 0);
	assert_string_equal(fact(&out, "total"), "11");
}

CASE(rules)
{
	struct finding_facts facts = {.lost = 300, .hook = "input"};
	struct finding f;

	facts.rules = "no counter shows which: rule 7 of chain inet t input";
	assert_int_equal(findings_for_stage(STAGE_NETFILTER, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "netfilter");
	assert_string_equal(fact(&f, "seen"), facts.rules);
	facts.rules = "rule 6 of chain inet t input: 300 packets";
	facts.rule_chain = "inet t input";
	assert_int_equal(findings_for_stage(STAGE_NETFILTER, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "netfilter-rule");
	assert_string_equal(f.command, "nft -a list chain inet t input");
}

/* "ip-header-ttl" is of ip_header. */
static bool named_after(const struct finding_row *row)
{
	const char *stage = stage_name(row->stage);
	size_t n = strlen(stage);

	if (!strcmp(row->id, stage)) /* the general one of its stage */
		return true;
	for (size_t i = 0; i < n; i++) {
		if (row->id[i] != (stage[i] == '_' ? '-' : stage[i]))
			return false;
	}
	return !row->id[n] || row->id[n] == '-';
}

/* Each condition where it just holds, and where it just does not. */
CASE(conditions)
{
	static const struct {
		enum stage stage;
		const char *id;
		struct finding_facts facts;
	} rows[] = {
		{STAGE_NETFILTER, "netfilter", {.conntrack_drops = 5}},
		{STAGE_NETFILTER, "netfilter-conntrack", {.conntrack_drops = 6}},
		{STAGE_NETFILTER, "netfilter", {.conntrack_clashes = 5}},
		{STAGE_NETFILTER, "netfilter-clash", {.conntrack_clashes = 6}},
		{STAGE_UDP_MEM, "udp_mem", {.udp_mem = {1, 2, 300}, .udp_pages_known = true, .udp_pages = 150}},
		{STAGE_UDP_MEM, "udp-mem-cgroup", {.udp_mem = {1, 2, 300}, .udp_pages_known = true, .udp_pages = 149}},
		{STAGE_TCP_RCVBUF, "tcp_rcvbuf", {.tcp_rmem = {1, 2, 300}, .rcvbuf = 299}},
		{STAGE_TCP_RCVBUF, "tcp-rmem", {.tcp_rmem = {1, 2, 300}, .rcvbuf = 300}},
		{STAGE_RCVBUF, "rcvbuf", {.arrival_pps = 1}},
		{STAGE_RCVBUF, "rcvbuf-slow", {.arrival_pps = 1, .read_pps = 0.5}},
		{STAGE_NEIGH, "neigh-failed", {.ifname = "e"}},
		{STAGE_NEIGH, "neigh-dnat", {.dnat.backend = "192.0.2.1"}},
		{STAGE_NEIGH, "neigh-queue", {.reason = "NEIGH_QUEUEFULL"}},
		{STAGE_NEIGH, "neigh-failed", {.reason = "NEIGH_QUEUEFULL", .silent.address = "192.0.2.1"}},
		{STAGE_IP_ROUTE, "ip-rpfilter-unseen", {.reason = "IP_RPFILTER"}},
		{STAGE_IP_ROUTE, "ip-rpfilter-no-route", {.reason = "IP_RPFILTER", .back.source = "192.0.2.1"}},
		{STAGE_NIC_RING, "nic-ring-busy", {.ring_max = 9}},
		{STAGE_NIC_RING, "nic_ring", {.ring = 8, .ring_max = 9}},
		{STAGE_TX_SOCKET, "tx-too-big", {.location = "ip_do_fragment"}},
		{STAGE_TX_SOCKET, "tx_socket", {.location = "sock_alloc_send_pskb"}},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct finding_facts facts = rows[i].facts;
		struct finding f;

		facts.lost = 10;
		assert_int_equal(findings_for_stage(rows[i].stage, &facts, &f, NULL), 0);
		if (strcmp(f.id, rows[i].id))
			fail_msg("%u: %s, not %s", i, f.id, rows[i].id);
	}
}

/* With its buffer full it waits for something else, or for data of another socket. */
CASE(what_a_reader_sleeps_in)
{
	static const struct {
		const char *in;
		unsigned full;
		const char *shown;
	} rows[] = {
		{"poll_schedule_timeout.constprop.0", 0, "waiting for data"},
		{"ep_poll", 199, "waiting for data"},
		{"do_epoll_wait", 0, "waiting for data"},
		{"__skb_wait_for_more_packets", 0, "waiting for data"},
		{"ep_poll", 950, "in ep_poll"},
		{"futex_wait_queue", 0, "in futex_wait_queue"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct finding_facts facts = reader(10, 10, 0, rows[i].full);
		struct finding f;

		strcpy(facts.reading.sleeps_in, rows[i].in);
		findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
		assert_string_equal(fact(&f, "sleeps"), rows[i].shown);
	}
}

static bool is_fact(const char *name, size_t len)
{
	for (const struct record_field *r = finding_fact_rows; r->key; r++) {
		if (strlen(r->key) == len && !strncmp(r->key, name, len))
			return true;
	}
	return false;
}

/* Writes a text of the longest values into each fact that is one. */
static void fill_texts(struct finding_facts *f)
{
	static char longest[1024];

	memset(longest, 'v', sizeof(longest) - 1);
	for (const struct record_field *r = finding_fact_rows; r->key; r++) {
		char *at = (char *)f + r->offset;

		if (r->type == RECORD_POINTER)
			*(const char **)at = longest + (strcmp(r->key, "rules") ? 960 : 0);
		else if (r->type == RECORD_TEXT)
			memset(at, 'v', r->size - 1);
		else if (r->type == RECORD_UINT)
			memset(at, 0x7f, r->size * (r->items ? r->items : 1));
		else if (r->type == RECORD_DOUBLE)
			*(double *)at = 123456789;
		else if (r->type == RECORD_BOOL)
			*(bool *)at = true;
		if (r->when)
			*((bool *)f + r->when - 1) = true;
	}
	strcpy(f->reading.sleeps_in, "a_function_of_the_kernel_with_a_name_of_47_chars");
	memset(f->udp_mem, 0x0f, sizeof(f->udp_mem));
	memset(f->tcp_rmem, 0x0f, sizeof(f->tcp_rmem));
}

static void assert_whole(const struct finding_row *row, const char *template,
			 const struct finding_facts *f, size_t size)
{
	char text[FINDING_TEXT * 4];
	size_t n = 0, length;

	for (const char *p = template; p && *p; p++) {
		const char *end = *p == '{' ? strchr(p, '}') : NULL;

		if (end && !is_fact(p + 1, strcspn(p + 1, "#}")))
			fail_msg("%s: no fact %.*s", row->id, (int)(end - p), p + 1);
		p = end ? end : p;
		n++;
	}
	if (!n)
		return;
	if (!finding_fill(text, sizeof(text), template, f))
		fail_msg("%s: nothing is left of '%s'", row->id, template);
	length = strlen(text);
	if (length >= size)
		fail_msg("%s: %zu characters of '%s'", row->id, length, template);
	finding_fill(text, size, template, f);
	assert_int_equal(strlen(text), length);
	assert_null(strpbrk(text, "{}[]"));
}

/* Clears the facts that neither the block nor the lines of every finding name. */
static void keep_named(const struct finding_row *row, struct finding_facts *f)
{
	static const char always[] = "{lost {sent {window_ns {loss_pps {total {since {counter {reason "
				     "{location {rcvbuf_bytes {reader {watched_ns {arrival_pps";
	const char *const texts[] = {row->cause, row->seen, row->setting, row->fix, always};

	for (const struct record_field *r = finding_fact_rows; r->key; r++) {
		char name[64];
		bool named = false;

		snprintf(name, sizeof(name), "{%s", r->key);
		for (unsigned i = 0; i < LENGTH(texts); i++)
			named |= texts[i] && strstr(texts[i], name);
		if (!named && r->type != RECORD_OWN)
			memset((char *)f + r->offset, 0, r->size);
	}
}

/* Each name in braces is a fact, and no text is cut, however long the values are. */
CASE(texts_are_whole)
{
	struct finding_facts f = {}, own;
	struct finding *out = calloc(1, sizeof(*out));
	struct json_object *facts;
	struct change change;

	fill_texts(&f);
	for (unsigned r = 0; r < finding_rows_n; r++) {
		const struct finding_row *row = &finding_rows[r];

		assert_whole(row, row->cause, &f, sizeof(out->cause));
		assert_whole(row, row->seen, &f, FINDING_TEXT * 2);
		assert_whole(row, row->setting, &f, FINDING_TEXT * 2);
		assert_whole(row, row->fix, &f, sizeof(out->fix));
		assert_whole(row, row->command, &f, sizeof(out->command));
		assert_whole(row, row->risk, &f, sizeof(out->risk));
		own = f;
		keep_named(row, &own);
		finding_write(row, &own, out, &change);
		facts = json_parse(out->facts, strlen(out->facts), 3);
		assert_non_null(facts); /* all of them */
		json_object_put(facts);
	}
	free(out);
}

/* As typed from outside; what would be cut is left out. */
CASE(commands_of_a_namespace)
{
	const struct change none = {};
	static const struct {
		const char *command, *entered;
	} rows[] = {
		{"", ""},
		{"ss -uanp", "e ss -uanp"},
		{"bpftool cgroup tree", "bpftool cgroup tree"},
		{"echo 1 >/sys/x", "e sh -c 'echo 1 >/sys/x'"},
	};
	static struct finding f;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(f.command, rows[i].command);
		finding_enter(&f, &none, NULL, "e");
		assert_string_equal(f.command, rows[i].entered);
	}
	for (size_t n = FINDING_COMMAND - 3; n < FINDING_COMMAND - 1; n++) {
		memset(f.command, 'c', n);
		f.command[n] = '\0';
		finding_enter(&f, &none, NULL, "e");
		assert_int_equal(strlen(f.command), n == FINDING_COMMAND - 3 ? n + 2 : 0);
	}
}

/* Whose settings they are; a path may be as long as its name may be. */
CASE(settings_of_namespaces)
{
	const struct netns none = NETNS_NONE, bad = {.fd = 1000000, .sysfs = -1};
	struct change c = {.kind = CHANGE_SYSCTL, .wanted = "1", .old = "0"};
	struct finding f = {.command = "as it was"};

	assert_true(change_belongs(&(struct change){.kind = CHANGE_GOVERNOR}, NULL));
	assert_false(change_belongs(&(struct change){.kind = CHANGE_GOVERNOR}, &none));
	assert_true(change_belongs(&(struct change){.kind = CHANGE_RING}, NULL));
	assert_true(change_belongs(&(struct change){.kind = CHANGE_RING}, &none));
	while (strlen(c.name) + strlen("net/") < sizeof(c.name) - 32)
		strcat(c.name, "net/../");
	strcat(c.name, "net/ipv4/ip_forward");
	assert_true(change_belongs(&c, NULL));
	assert_false(change_belongs(&c, &bad));
	strcpy(c.name, "net/ipv4/no_such_setting");
	assert_false(change_belongs(&c, NULL));

	finding_enter(&f, &c, NULL, "e");
	assert_string_equal(f.command, "as it was");
	strcpy(c.name, "net/ipv4/ip_forward");
	finding_enter(&f, &c, NULL, "e");
	assert_string_equal(f.command, "e sysctl -w net.ipv4.ip_forward=1");
	assert_string_equal(f.undo, "");
	strcpy(f.undo, "as it was");
	finding_enter(&f, &c, NULL, "e");
	assert_string_equal(f.command, "e sysctl -w net.ipv4.ip_forward=1");
	assert_string_equal(f.undo, "e sysctl -w net.ipv4.ip_forward=0");
}

CASE(silence)
{
	static const struct {
		const char *reason, *location;
		bool silent;
	} rows[] = {
		{"NEIGH_FAILED", "arp_error_report", true},
		{"NOT_SPECIFIED", "neigh_invalidate", true},
		{"NEIGH_QUEUEFULL", "__neigh_event_send", false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(finding_is_silence(rows[i].reason, rows[i].location),
				 rows[i].silent);
}

/* A buffer is advised for the largest burst, or for all that was lost if it was one. */
CASE(buffers_for_bursts)
{
	static const struct {
		uint64_t lost, burst, rcvbuf, truesize;
		const char *wanted; /* NULL: none */
	} rows[] = {
		{600, 400, 100000, 1000, ": 300000 (gives 600000)"},
		{600, 400, 100001, 1000, ": 300001 (gives 600001)"},
		{5000, 400, 100000, 1000, ": 300000 (gives 600000)"},
		{5000, 0, 100000, 1000, NULL},
		{5000, 400, 0, 1000, NULL},
		{5000, 400, 100000, 0, NULL},
		{5000, 1 << 30, 100000, 1 << 30, NULL},
		{5000, 400, (64 << 20) - 500, 1, ": 33554432 (gives 67108864)"},
		{5000, 400, (64 << 20) - 499, 1, NULL},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct finding_facts facts = reader(20, 0, 0, 100);
		struct finding f;

		facts.sent = 10000;
		facts.arrival_pps = 0;
		facts.lost = rows[i].lost;
		facts.rcvbuf = rows[i].rcvbuf;
		facts.rmem_default = facts.rcvbuf ? facts.rcvbuf - 1 : 0;
		facts.truesize = rows[i].truesize;
		facts.reading.burst = rows[i].burst;
		findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
		assert_string_equal(f.id, "rcvbuf-bursts");
		assert_null(strstr(f.fix, "default")); /* it is that */
		if (!strstr(f.fix, rows[i].wanted ? rows[i].wanted : "") ||
		    (!rows[i].wanted && strstr(f.fix, "gives")))
			fail_msg("%u: %s", i, f.fix);
	}
}

/* Of losses the name begins with the stage; those of states and these do not. */
CASE(stages_of_findings)
{
	static const struct {
		enum stage stage;
		const char *ids;
	} of[] = {
		{STAGE_NIC_RING,
		 "nic-port nic-memory nic-queues nic-rss nic-irq nic-rps cpu-softirq "
		 "nic-coalesce cpu-budget cpu-governor cpu-idle cpu-steal "},
		{STAGE_WIRE, "nic-crc nic-allowance "},
		{STAGE_TX_DEVICE, "nic-paused mtu-peer tx-peer tx-tun "},
		{STAGE_XDP, "xdp-generic "},
		{STAGE_TC_INGRESS, "tc-filter "},
		{STAGE_L2, "mtu-mismatch "},
		{STAGE_BACKLOG, "backlog-flow-limit rfs-half "},
		{STAGE_NETFILTER, "conntrack-near nfqueue "},
		{STAGE_NEIGH, "neigh-full neigh-near "},
		{STAGE_IP_FRAG, "frag-memory frag-arriving frag-leaving "},
		{STAGE_UDP_MEM, "udp-mem-near "},
		{STAGE_UDP_LOOKUP, "port-closed "},
		{STAGE_TX_SOCKET, "sndbuf tx-too-big "},
		{STAGE_IP_ROUTE, "ip-rpfilter-no-route ip-rpfilter ip-rpfilter-unseen "
				 "ip-not-router ip-no-route ip-discard ip-own-source "
				 "mcast-not-joined "},
		{STAGE_IP_FORWARD, "ip-ttl ip-too-big "},
		{STAGE_TCP_RCVBUF, "tcp-prune tcp-mem tcp-rmem "},
		{STAGE_RCVBUF, "rcvbuf-default rcvbuf-capped rcvbuf-filling "},
		{STAGE_OTHER, "ovs-upcall taps raw-sockets "},
		{STAGE_NONE, "own-btf own-capabilities "},
	};

	for (unsigned r = 0; r < finding_rows_n; r++) {
		const struct finding_row *row = &finding_rows[r];
		char id[64];
		unsigned i = 0;

		if (named_after(row))
			continue;
		snprintf(id, sizeof(id), "%s ", row->id);
		while (i < sizeof(of) / sizeof(*of) && !strstr(of[i].ids, id))
			i++;
		if (i == sizeof(of) / sizeof(*of))
			fail_msg("%s is of no stage here", row->id);
		assert_int_equal(row->stage, of[i].stage);
	}
}

CASE(commands)
{
	struct finding_facts facts = {
		.lost = 10,
		.ifname = "v-rx",
		.netdev_max_backlog = 1000,
		.udp_mem = {100, 200, 300},
		.page_bytes = 4096,
		.ring = 256,
		.ring_max = 4096,
		.port = 28779,
		.reason = "IP_INHDR",
		.ttl = 1,
	};
	struct finding f;

	assert_int_equal(findings_for_stage(STAGE_BACKLOG, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "sysctl -w net.core.netdev_max_backlog=2000");
	assert_string_equal(f.undo, "sysctl -w net.core.netdev_max_backlog=1000");
	facts.netdev_max_backlog = 1; /* twice that would lose nearly as many */
	assert_int_equal(findings_for_stage(STAGE_BACKLOG, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "sysctl -w net.core.netdev_max_backlog=1000");
	assert_int_equal(findings_for_stage(STAGE_UDP_MEM, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "sysctl -w net.ipv4.udp_mem='200 400 600'");
	assert_string_equal(f.undo, "sysctl -w net.ipv4.udp_mem='100 200 300'");
	assert_non_null(strstr(fact(&f, "setting"), "at most 1228800 bytes"));
	facts.udp_pages_known = true;
	facts.udp_pages = 200; /* it may have been that */
	assert_int_equal(findings_for_stage(STAGE_UDP_MEM, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "udp_mem");
	facts.udp_pages = 0;
	assert_int_equal(findings_for_stage(STAGE_UDP_MEM, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "udp-mem-cgroup");
	assert_string_equal(fact(&f, "seen"), "all UDP sockets have 0 of 300 pages now");
	facts.process = "reader"; /* of a buffer whose setting is not known: no "; " before it */
	facts.rcvbuf = 8192;
	assert_int_equal(findings_for_stage(STAGE_TCP_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(fact(&f, "setting"), "SO_RCVBUF 8192 bytes (doubled)");
	assert_int_equal(findings_for_stage(STAGE_NIC_RING, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "ethtool -G v-rx rx 4096");
	assert_string_equal(f.undo, "ethtool -G v-rx rx 256");
	assert_int_equal(findings_for_stage(STAGE_UDP_LOOKUP, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "ss -uanp sport = :28779");
	assert_int_equal(findings_for_stage(STAGE_IP_FORWARD, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "ip-ttl");
	assert_string_equal(fact(&f, "setting"), "TTL 1");
	facts.ring = 4096;
	assert_int_equal(findings_for_stage(STAGE_NIC_RING, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "nic-ring-busy");
}
