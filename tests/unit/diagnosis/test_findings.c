// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "diagnosis/findings.h"
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

static const struct finding_facts every_fact = {
	.lost = 18446744073709551615ULL,
	.sent = 18446744073709551615ULL,
	.reason = "FRAG_REASM_TIMEOUT_WITH_A_LONG_NAME",
	.location = "__netif_receive_skb_core_with_a_long_name",
	.ifname = "fifteen-letters",
	.process = "fifteen-letters",
	.port = 65535,
	.hook = "postrouting",
	.ttl = 255,
	.mtu = 65535,
	.arrival_pps = 123456789,
	.read_pps = 23456789,
	.rcvbuf = 2147483647,
	.rmem_default = 4294967295,
	.rmem_max = 2147483647,
	.truesize = 66000,
	.udp_pages = &(const uint64_t){UINT64_MAX / 2},
	.udp_mem = {1844674407370955161, 1844674407370955161, 1844674407370955161},
	.page_bytes = 4096,
	.netdev_max_backlog = 2147483647,
	.qdisc = "pfifo_head_drop",
	.qdisc_limit = "limit 4294967295p",
	.ring_now = 4096,
	.ring_max = 8192,
	.rp_filter = "1",
	.window_ns = 999999999999,
	.total = 18446744073709551615ULL,
	.since = "it was opened",
	.counter = "ethtool:fifteen-letters:port_rx_nodesc_drops_and_more",
	.qdisc_wanted = "pfifo limit 4294967295",
	.reader = "the thread fifteen-letters of fifteen-letters 4194304 (one of 4294967295 "
		  "processes that have the socket)",
	.reading.window_ns = 18446744073709551615ULL,
	.reading.run_ns = 1,
	.reading.throttled_ns = 18446744073709551615ULL,
	.reading.sleeps_in = "a_function_of_the_kernel_with_a_name_of_47_chars",
	.reading.samples = 1000,
	.reading.full = 1000,
	.reading.received_around = UINT64_MAX,
	.rules = "a counter of rule 4294967295 in the chain of a long name 18446744073709551615 "
		 "and so on, "
		 "as long as a text may be: it ends after 200 characters, which are nearly "
		 "reached, here",
	.rule_chain = "netdev a-table-with-a-long-name-of-some-forty-chars a-chain-with-a-name",
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
	assert_non_null(strstr(f.wanted, "SO_RCVBUF 938496 (gives 1876992)"));
	assert_non_null(strstr(f.evidence, "the buffer holds 256"));
	assert_non_null(strstr(f.evidence, "a burst of 2.56 ms at 100k packets/s"));
	assert_non_null(strstr(f.evidence, "2,000 packets lost, 40 % of those sent"));
	assert_non_null(strstr(f.current, "SO_RCVBUF 106496 (gives 212992)"));
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
	assert_true(!*f.command && !*f.undo && !*f.risk && !*f.effect && *f.wanted);
}

CASE(no_qdisc_is_not_full)
{
	struct finding_facts facts = {.lost = 10, .reason = "QDISC_DROP", .ifname = "eth0"};
	struct finding f;

	facts.location = "noop_enqueue";
	assert_int_equal(findings_for_stage(STAGE_QDISC, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "qdisc-noop");
	assert_null(strstr(f.text, "full"));
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
	assert_non_null(strstr(f.evidence, "holds 1: a burst of 10.0 us at 100k packets/s"));
	facts.rcvbuf--;
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_null(strstr(f.evidence, "a burst of"));
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
	assert_true(f.wanted[0]);
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
	assert_non_null(strstr(f.text, "faster than reader read them"));
	assert_non_null(strstr(f.evidence, "read 629k packets/s"));
	assert_non_null(strstr(f.evidence, "one in 1.59 us"));
	/* a buffer only delays a loss that goes on */
	assert_string_equal(f.wanted, "a faster reader");
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
		assert_true(f.text[0]);
		assert_string_equal(f.evidence, "7 packets lost");
		assert_string_equal(f.undo, "");
		assert_null(strpbrk(f.text, "{}[]"));
		assert_null(strpbrk(f.command, "{}[]"));
	}
	assert_int_equal(findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "");
	assert_string_equal(f.current, "");
	assert_int_equal(findings_for_stage(STAGE_BACKLOG, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "");
	assert_int_equal(findings_for_stage(STAGE_NONE, &facts, &f, NULL), -ENOENT);
	/* of a command of which a part is not known nothing is left to be run */
	facts.silent = &nowhere;
	assert_int_equal(findings_for_stage(STAGE_NEIGH, &facts, &f, NULL), 0);
	assert_non_null(strstr(f.text, "198.18.0.9"));
	assert_string_equal(f.command, "");
}

static void whole(const char *field, size_t size)
{
	if (strlen(field) + 1 >= size)
		fail_msg("cut: %s", field);
	assert_null(strpbrk(field, "{}[]"));
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
		row->text,	    row->evidence,   row->current,	 row->wanted,
		row->command,	    row->risk,	     row->change.ifname, row->change.name,
		row->change.wanted, row->change.old,
	};

	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		balanced(fields[i]);
	assert_true(row->text && *row->text);
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
	struct way_back back = {"192.0.2.1", "eth1", "eth2"};
	struct finding f;
	struct change change;

	/* loose mode is advised only if there is a route back, and it is by another device */
	assert_int_equal(findings_for_stage(STAGE_IP_ROUTE, &facts, &f, &change), 0);
	assert_string_equal(f.id, "ip-rpfilter-unseen");
	assert_string_equal(change.name, "");
	facts.back = &back;
	back.by[0] = '\0';
	assert_int_equal(findings_for_stage(STAGE_IP_ROUTE, &facts, &f, &change), 0);
	assert_string_equal(f.id, "ip-rpfilter-no-route");
	assert_string_equal(change.name, "");
	assert_string_equal(f.command, "ip route get 192.0.2.1");
	strcpy(back.by, "eth1");
	assert_int_equal(findings_for_stage(STAGE_IP_ROUTE, &facts, &f, &change), 0);
	assert_string_equal(f.id, "ip-rpfilter-unseen");
	strcpy(back.by, "eth2");

	assert_int_equal(findings_for_stage(STAGE_IP_ROUTE, &facts, &f, &change), 0);
	assert_string_equal(f.id, "ip-rpfilter");
	assert_string_equal(f.evidence,
			    "500 packets lost in 500 ms, 1k a second, 7,000 since boot");
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
	assert_non_null(strstr(f.wanted, ": 300000 (gives 600000), for the largest"));
	assert_null(strstr(f.wanted, "default"));
	assert_null(strstr(f.evidence, "a burst of")); /* at the mean of the rate, as none is */
	facts.rmem_default = 600000;
	findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
	assert_non_null(strstr(f.wanted, "; or none: the default is enough"));
	assert_non_null(strstr(f.current, "SO_RCVBUF 50000 (gives 100000, less than the default)"));
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
	assert_non_null(strstr(f.wanted, "`pktledger check -t 10`"));
}

CASE(why_it_was_full)
{
	const struct {
		struct finding_facts facts;
		const char *id, *text, *evidence;
	} cases[] = {
		{reader(990, 5, 0, 950), "rcvbuf-busy", "although sip[7] ran all the time",
		 "in 1.00 s with losses the reader ran 99 % of the time, waited for a CPU 0 %"},
		{reader(400, 600, 0, 950), "rcvbuf-cpu", "sip[7] had to wait for a CPU",
		 "waited for a CPU 60 %, slept 0 %"},
		{reader(400, 600, 550, 950), "rcvbuf-quota", "used up the CPU quota",
		 "the quota withheld 550 ms of CPU time"},
		{reader(10, 10, 0, 950), "rcvbuf-asleep", "sip[7] did not read it",
		 "slept 98 % (mostly in hrtimer_nanosleep); its buffer was full in 95 % of its "
		 "sleep"},
		{reader(30, 10, 0, 20), "rcvbuf-bursts", "for moments only",
		 "its buffer was full in 2 % of its sleep"},
		/* under load: it had caught up all the same, or would not even with a CPU */
		{reader(400, 400, 0, 100), "rcvbuf-bursts", NULL, NULL},
		{reader(401, 400, 0, 100), "rcvbuf-cpu", NULL, NULL},
		{slept_among(900), "rcvbuf-asleep", NULL, NULL},
		{slept_among(551), "rcvbuf-asleep", NULL, NULL},
		{slept_among(550), "rcvbuf-cpu", NULL, NULL},
		{reader(10, 10, 0, 0), "rcvbuf-bursts", NULL, NULL},
		/* what moves between the cases is shown as before */
		{reader(500, 100, 0, 950), "rcvbuf", NULL, NULL},
	};
	struct finding_facts facts;
	struct finding f;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(findings_for_stage(STAGE_RCVBUF, &cases[i].facts, &f, NULL), 0);
		assert_string_equal(f.id, cases[i].id);
		if (cases[i].text)
			assert_non_null(strstr(f.text, cases[i].text));
		if (cases[i].evidence && !strstr(f.evidence, cases[i].evidence))
			fail_msg("%s", f.evidence);
	}
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
	assert_null(strstr(f.evidence, "reader"));
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
	assert_string_equal(out.evidence, "10 packets lost");
	f.total = 11;
	assert_int_equal(findings_for_stage(STAGE_BACKLOG, &f, &out, NULL), 0);
	assert_string_equal(out.evidence, "10 packets lost, 11 since boot");
}

CASE(rules)
{
	struct finding_facts facts = {.lost = 300, .hook = "input"};
	struct finding f;

	facts.rules = "no counter shows which: rule 7 of chain inet t input";
	assert_int_equal(findings_for_stage(STAGE_NETFILTER, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "netfilter");
	assert_string_equal(f.evidence, "300 packets lost; no counter shows which: rule 7 of chain "
					"inet t input");
	facts.rules = "rule 6 of chain inet t input: 300 packets";
	facts.rule_chain = "inet t input";
	assert_int_equal(findings_for_stage(STAGE_NETFILTER, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "netfilter-rule");
	assert_string_equal(f.command, "nft -a list chain inet t input");
}

/* The longest values fit everywhere, and every name in braces is a fact. */
CASE(nothing_is_cut)
{
	static const char *const reasons[] = {"NEIGH_QUEUEFULL", "IP_INHDR",  "PKT_TOO_BIG",
					      "IP_RPFILTER",	 "OTHERHOST", NULL};

	for (int s = 0; s < STAGE_COUNT; s++) {
		for (unsigned r = 0; r < sizeof(reasons) / sizeof(reasons[0]); r++) {
			struct finding_facts facts = every_fact;
			struct finding f;

			if (reasons[r])
				facts.reason = reasons[r];
			facts.lost = r & 1 ? facts.lost : 16000;
			/* the conditions of a full buffer by turns */
			facts.reading.window_ns = r == 4 ? 0 : facts.reading.window_ns;
			facts.reading.stopped = r == 0;
			facts.reading.throttled_ns = r == 1 ? facts.reading.throttled_ns : 0;
			facts.reading.run_ns = r == 2 ? UINT64_MAX : 1;
			facts.reading.full = r == 3 ? 1 : facts.reading.full;
			assert_int_equal(findings_for_stage(s, &facts, &f, NULL), 0);
			whole(f.text, sizeof(f.text));
			whole(f.evidence, sizeof(f.evidence));
			whole(f.current, sizeof(f.current));
			whole(f.wanted, sizeof(f.wanted));
			whole(f.command, sizeof(f.command));
			whole(f.undo, sizeof(f.undo));
			whole(f.risk, sizeof(f.risk));
		}
	}
}

/* What is found on a host without a loss names the stage that it would be at, too. */
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

/* A name that somebody made long does not run into the next field, nor what stands behind it. */
CASE(what_is_too_long_is_cut)
{
	static const struct finding_row row = {.text = "{long}", .evidence = "it is {long}{long}"};
	char name[BINDS_TEXT / 2];
	struct binds b = {};
	struct change change;
	struct finding f;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	bind_text(&b, "long", name);
	finding_write(&row, &b, &f, &change);
	assert_int_equal(strlen(f.text), sizeof(f.text) - 1);
	/* at the end of what there is, and one less */
	for (size_t n = sizeof(f.text); n > sizeof(f.text) - 2; n--) {
		char text[sizeof(f.text) + 1];
		const struct finding_row long_row = {.text = text};

		memset(text, 'y', n);
		text[n] = '\0';
		finding_write(&long_row, &b, &f, &change);
		assert_int_equal(strlen(f.text), sizeof(f.text) - 1);
	}
	finding_write(&row, &b, &f, &change);
	assert_int_equal(strlen(f.evidence), sizeof(f.evidence) - 1);
	assert_memory_equal(f.evidence, "it is xxx", 9);
	assert_string_equal(f.current, "");
}

/* Each condition where it just holds, and where it just does not. */
CASE(conditions)
{
	static const struct way_dnat nat = {.backend = "192.0.2.1"}, no_nat;
	static const struct way_silent silent = {.address = "192.0.2.1"}, not_silent;
	static const struct way_back back = {.source = "192.0.2.1"}, no_back;
	static const uint64_t half = 150, less = 149;
	static const struct {
		enum stage stage;
		const char *id;
		struct finding_facts facts;
	} rows[] = {
		{STAGE_NETFILTER, "netfilter", {.conntrack_drops = 5}},
		{STAGE_NETFILTER, "netfilter-conntrack", {.conntrack_drops = 6}},
		{STAGE_NETFILTER, "netfilter", {.conntrack_clashes = 5}},
		{STAGE_NETFILTER, "netfilter-clash", {.conntrack_clashes = 6}},
		{STAGE_UDP_MEM, "udp_mem", {.udp_mem = {1, 2, 300}, .udp_pages = &half}},
		{STAGE_UDP_MEM, "udp-mem-cgroup", {.udp_mem = {1, 2, 300}, .udp_pages = &less}},
		{STAGE_TCP_RCVBUF, "tcp_rcvbuf", {.tcp_rmem = {1, 2, 300}, .rcvbuf = 299}},
		{STAGE_TCP_RCVBUF, "tcp-rmem", {.tcp_rmem = {1, 2, 300}, .rcvbuf = 300}},
		{STAGE_RCVBUF, "rcvbuf", {.arrival_pps = 1}},
		{STAGE_RCVBUF, "rcvbuf-slow", {.arrival_pps = 1, .read_pps = 0.5}},
		{STAGE_NEIGH, "neigh-failed", {.dnat = &no_nat}},
		{STAGE_NEIGH, "neigh-dnat", {.dnat = &nat}},
		{STAGE_NEIGH, "neigh-queue", {.reason = "NEIGH_QUEUEFULL", .silent = &not_silent}},
		{STAGE_NEIGH, "neigh-failed", {.reason = "NEIGH_QUEUEFULL", .silent = &silent}},
		{STAGE_IP_ROUTE, "ip-rpfilter-unseen", {.reason = "IP_RPFILTER", .back = &no_back}},
		{STAGE_IP_ROUTE, "ip-rpfilter-no-route", {.reason = "IP_RPFILTER", .back = &back}},
		{STAGE_NIC_RING, "nic-ring-busy", {.ring_max = 9}},
		{STAGE_NIC_RING, "nic_ring", {.ring_now = 8, .ring_max = 9}},
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
		char shown[128];

		strcpy(facts.reading.sleeps_in, rows[i].in);
		findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
		snprintf(shown, sizeof(shown),
			 "slept 98 %% (mostly %s); its buffer was full in %u %% of its sleep",
			 rows[i].shown, (rows[i].full + 5) / 10);
		if (!strstr(f.evidence, shown))
			fail_msg("%u: %s", i, f.evidence);
	}
}

/* At less than a packet a second. */
CASE(slow_rates)
{
	struct finding_facts facts = {.lost = 1, .rcvbuf = 2000, .truesize = 1000};
	struct finding f;

	facts.arrival_pps = 0.5;
	facts.read_pps = 0.25;
	findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
	assert_string_equal(f.evidence,
			    "1 packet lost; a packet takes 1000 bytes, so the buffer holds 2: a "
			    "burst of 4.00 s at 0.5 packets/s; read 0.25 packets/s, one in 4.00 s");
}

/* Longest value of each fact: the buffers that they come from. */
static unsigned longest(const char *name, size_t len)
{
	static const struct {
		const char *name;
		unsigned size;
	} of[] = {
		{"rules", sizeof(((struct nft_result *)0)->problem) + 1024},
		{"nat_rule", sizeof(((struct way_dnat *)0)->rule)},
		{"entries", sizeof(((struct way_dnat *)0)->entries)},
		{"rule_chain", 2 * NFT_NAME + 16},
		{"silent_enter", OWNER_ENTER},
		{"silent_in", OWNER_NETNS},
		{"reader", READING_TEXT},
		{"processes", 96},
	};

	for (unsigned i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		if (strlen(of[i].name) == len && !strncmp(of[i].name, name, len))
			return of[i].size - 1;
	}
	return FMT_MAX - 1;
}

/* Binds the facts that `template` names. Returns the length that the text then has. */
static size_t bind_longest(struct binds *b, const char *template)
{
	static char names[128][32];
	static unsigned n;
	size_t length = 0;

	for (const char *p = template; p && *p; p++) {
		const size_t len = *p == '{' ? strcspn(p + 1, "}") : 0;
		char value[2048];
		unsigned i = 0, size;

		if (!len) {
			length += !strchr("[]", *p);
			continue;
		}
		size = longest(p + 1, len);
		memset(value, 'v', size);
		value[size] = '\0';
		while (i < n && (strncmp(names[i], p + 1, len) || names[i][len]))
			i++;
		if (i == n)
			snprintf(names[n++], sizeof(names[0]), "%.*s", (int)len, p + 1);
		bind_text(b, names[i], value);
		length += size;
		p += len + 1;
	}
	return length;
}

static void assert_whole(const char *id, const char *text, const char *template, size_t length)
{
	if (template && *template != '[' && strlen(text) != length)
		fail_msg("%s: %zu of %zu characters of '%s'", id, strlen(text), length, template);
	else if (template && *template == '[' && strlen(text) + 2 < length)
		fail_msg("%s: %zu of %zu characters of '%s'", id, strlen(text), length, template);
}

/* No text is cut, however long the values are. */
CASE(texts_are_whole)
{
	for (unsigned r = 0; r < finding_rows_n; r++) {
		const struct finding_row *row = &finding_rows[r];
		struct binds *b = calloc(1, sizeof(*b));
		struct finding *f = calloc(1, sizeof(*f));
		struct change change;
		size_t text = bind_longest(b, row->text), evidence = bind_longest(b, row->evidence),
		       current = bind_longest(b, row->current), wanted = bind_longest(b, row->wanted),
		       command = bind_longest(b, row->command), risk = bind_longest(b, row->risk);

		finding_write(row, b, f, &change);
		assert_whole(row->id, f->text, row->text, text);
		assert_whole(row->id, f->evidence, row->evidence, evidence);
		assert_whole(row->id, f->current, row->current, current);
		assert_whole(row->id, f->wanted, row->wanted, wanted);
		if (!row->change.name)
			assert_whole(row->id, f->command, row->command, command);
		assert_whole(row->id, f->risk, row->risk, risk);
		free(b);
		free(f);
	}
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

/* What a text shows of a fact; "": it is not known. */
static const char *shown(const struct binds *b)
{
	static const struct finding_row row = {.text = "{x}"};
	static struct finding f;
	struct change change;

	finding_write(&row, b, &f, &change);
	return f.text;
}

CASE(rates)
{
	static const struct {
		double pps;
		const char *text;
	} rows[] = {{0, ""},	     {0.5, "0.5"},    {1, "1"},	   {999, "999"},   {1000, "1k"},
		    {1234, "1.23k"}, {999e3, "999k"}, {1e6, "1M"}, {2.5e6, "2.5M"}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct binds b = {};

		bind_rate(&b, "x", rows[i].pps);
		assert_string_equal(shown(&b), rows[i].text);
	}
}

/* What there is no room for is not known, and what is known stays. */
CASE(room_for_facts)
{
	char value[JOURNAL_VALUE_SIZE];
	struct binds b = {};

	for (unsigned i = 0; i < BINDS_MAX - 1; i++)
		bind_zero(&b, "fill", i);
	bind_zero(&b, "x", 7);
	assert_int_equal(b.n, BINDS_MAX);
	assert_string_equal(shown(&b), "7");
	bind_zero(&b, "last", 8);
	assert_int_equal(b.n, BINDS_MAX);

	b.n = b.used = 0;
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	while (b.used + 2 * sizeof(value) <= sizeof(b.text))
		bind_text(&b, "fill", value);
	assert_int_equal(sizeof(b.text) - b.used, sizeof(value));
	bind_text(&b, "x", "it fits");
	assert_string_equal(shown(&b), "it fits");
	b.n--;
	b.used = sizeof(b.text) - strlen("it does not fit");
	bind_text(&b, "x", "it does not fit");
	assert_string_equal(shown(&b), "");
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
		facts.rcvbuf = facts.rmem_default = rows[i].rcvbuf;
		facts.truesize = rows[i].truesize;
		facts.reading.burst = rows[i].burst;
		findings_for_stage(STAGE_RCVBUF, &facts, &f, NULL);
		assert_string_equal(f.id, "rcvbuf-bursts");
		assert_null(strstr(f.wanted, "default")); /* it is that */
		if (!strstr(f.wanted, rows[i].wanted ? rows[i].wanted : "") ||
		    (!rows[i].wanted && strstr(f.wanted, "gives")))
			fail_msg("%u: %s", i, f.wanted);
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
		{STAGE_TX_DEVICE, "nic-paused mtu-peer tx-peer "},
		{STAGE_XDP, "xdp-generic "},
		{STAGE_TC_INGRESS, "tc-filter "},
		{STAGE_L2, "mtu-mismatch "},
		{STAGE_BACKLOG, "backlog-flow-limit rfs-half "},
		{STAGE_NETFILTER, "conntrack-full conntrack-near nfqueue "},
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

		if (row->when != WHEN_STATE && named_after(row))
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
		.ring_now = 256,
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
	assert_non_null(strstr(f.current, "at most 1228800 bytes"));
	facts.udp_pages = &(const uint64_t){200}; /* it may have been that */
	assert_int_equal(findings_for_stage(STAGE_UDP_MEM, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "udp_mem");
	facts.udp_pages = &(const uint64_t){0};
	assert_int_equal(findings_for_stage(STAGE_UDP_MEM, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "udp-mem-cgroup");
	assert_string_equal(f.evidence, "10 packets lost; all UDP sockets have 0 of 300 pages now");
	facts.process = "reader"; /* of a buffer whose setting is not known: no "; " before it */
	facts.rcvbuf = 8192;
	assert_int_equal(findings_for_stage(STAGE_TCP_RCVBUF, &facts, &f, NULL), 0);
	assert_string_equal(f.current, "SO_RCVBUF 8192 bytes (doubled)");
	assert_int_equal(findings_for_stage(STAGE_NIC_RING, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "ethtool -G v-rx rx 4096");
	assert_string_equal(f.undo, "ethtool -G v-rx rx 256");
	assert_int_equal(findings_for_stage(STAGE_UDP_LOOKUP, &facts, &f, NULL), 0);
	assert_string_equal(f.command, "ss -uanp sport = :28779");
	assert_int_equal(findings_for_stage(STAGE_IP_FORWARD, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "ip-ttl");
	assert_string_equal(f.current, "TTL 1");
	facts.ring_now = 4096;
	assert_int_equal(findings_for_stage(STAGE_NIC_RING, &facts, &f, NULL), 0);
	assert_string_equal(f.id, "nic-ring-busy");
}
