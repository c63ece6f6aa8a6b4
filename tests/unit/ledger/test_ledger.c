// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The closing of the ledger, from raw causes and outcomes made by hand. */

#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "ledger/ledger.h"
#include "outcome_fields.h"

#define STREAM0	 300
#define L3_BYTES 540
#define TX_NS	 4026531001u
#define RX_NS	 4026531002u
#define OTHER_NS 4026531003u

/* Places in tests/fixtures/kallsyms/small. */
#define IP_RCV	    0xffffffff81001010
#define RECEIVE_SKB 0xffffffff81002010
#define UDP_RECVMSG 0xffffffff81003044

enum reason { NOT_YET, NO_SOCKET, RCVBUFF, NETFILTER, PACKET_SOCK };

/* Indices of the causes below. */
enum { RCVBUF = 1, FILTER, XSK, NO_PACKET, QUEUE, LOOKUP, COPY };

static const struct drops_cause causes[] = {
	{.index = RCVBUF,
	 .cause = {.location = IP_RCV, .reason = RCVBUFF, .netns = RX_NS, .ifindex = 2},
	 .count = {.events = 40, .packets = 40, .bytes = 40 * L3_BYTES}},
	{.index = FILTER,
	 .cause = {.location = IP_RCV,
		   .reason = NETFILTER,
		   .netns = TX_NS,
		   .flags = WATCH_NO_DEV | WATCH_SK},
	 .count = {.events = 3,
		   .packets = 30,
		   .bytes = 30 * L3_BYTES}}, /* GSO: ten datagrams an skb */
	{.index = XSK,
	 .cause = {.location = OBSERVER_REDIRECT_ERR,
		   .aux = BPF_MAP_TYPE_XSKMAP,
		   .reason = -ENOBUFS,
		   .netns = RX_NS,
		   .ifindex = 9},
	 .count = {.events = 5, .packets = 5}},
	{.index = NO_PACKET,
	 .cause = {.location = UDP_RECVMSG, .reason = NOT_YET, .netns = RX_NS, .ifindex = 2},
	 .count = {.events = 100, .packets = 100}},
	{.index = QUEUE,
	 .cause = {.netns = RX_NS, .location = OBSERVER_SOCKET_QUEUE},
	 .count = {.events = 4, .packets = 4}},
	{.index = LOOKUP,
	 .cause = {.location = UDP_RECVMSG, .reason = NO_SOCKET, .netns = OTHER_NS, .ifindex = 7},
	 .count = {.events = 2, .packets = 2, .bytes = 2 * L3_BYTES}},
	{.index = COPY,
	 .cause = {.location = IP_RCV,
		   .reason = RCVBUFF,
		   .netns = RX_NS,
		   .ifindex = 2,
		   .flags = WATCH_COPY},
	 .count = {.events = 6, .packets = 6, .bytes = 6 * L3_BYTES}},
};

#define N_CAUSES ((int)(sizeof(causes) / sizeof(causes[0])))

static const struct ledger_place places[] = {
	{TX_NS, 0, "tx", ""},
	{TX_NS, 2, "tx", "v-tx"},
	{RX_NS, 0, "rx", ""},
	{RX_NS, 2, "rx", "v-rx"},
};

static struct reasons *reasons;
static struct ksyms *ksyms;
static struct ledger ledger;
static struct result result;

/* A kernel with four reasons. */
static int open_reasons(void)
{
	static const char *const names[] = {
		"SKB_NOT_DROPPED_YET",
		"SKB_DROP_REASON_NO_SOCKET",
		"SKB_DROP_REASON_SOCKET_RCVBUFF",
		"SKB_DROP_REASON_NETFILTER_DROP",
		"SKB_DROP_REASON_PACKET_SOCK_ERROR",
	};
	char path[] = "/tmp/pktledger-btf-XXXXXX";
	struct btf *btf = btf__new_empty();
	struct error err = {};
	const void *raw;
	uint32_t size;
	int fd = mkstemp(path), rc;

	rc = fd < 0 || btf__add_enum(btf, "skb_drop_reason", 4) < 0;
	for (int i = 0; !rc && i <= PACKET_SOCK; i++)
		rc = btf__add_enum_value(btf, names[i], i);
	raw = btf__raw_data(btf, &size);
	rc = rc || write(fd, raw, size) != (ssize_t)size || reasons_open(&reasons, path, &err);
	close(fd);
	unlink(path);
	btf__free(btf);
	return rc;
}

static int open_names(void **state)
{
	struct error err = {};

	return open_reasons() || ksyms_open(&ksyms, "tests/fixtures/kallsyms/small", &err);
}

static int close_names(void **state)
{
	reasons_free(reasons);
	ksyms_free(ksyms);
	return 0;
}

static int name_causes(void **state)
{
	memset(&ledger, 0, sizeof(ledger));
	memset(&result, 0, sizeof(result));
	ledger_name(&ledger, causes, N_CAUSES, reasons, ksyms, places, 4);
	return 0;
}

static const struct result_cause *named(uint8_t index)
{
	const struct ledger_cause *c = ledger_cause(&ledger, index);

	assert_non_null(c);
	assert_int_equal(c->raw.index, index);
	return &c->named;
}

static void lose(uint16_t slot, uint8_t cause, uint64_t packets, uint64_t first, uint64_t last)
{
	ledger.tally.cause[slot][cause] =
		(struct outcome_cause){.packets = packets, .first = first, .last = last};
	ledger.tally.dropped += packets;
	ledger.tally.attempted += packets;
}

/* Recorded */

#define SUM(member) FIELD(struct result, member)
static const struct recorded_field sum_fields[] = {SUM(attempted),
						   SUM(refused),
						   SUM(sent),
						   SUM(delivered),
						   SUM(dropped),
						   SUM(in_flight),
						   SUM(unaccounted),
						   SUM(impossible),
						   SUM(balanced),
						   FIELDS(struct result, unaccounted_seen, NULL),
						   SUM(arrivals.gaps.count),
						   SUM(arrivals.gaps.packets),
						   SUM(arrivals.gaps.longest),
						   {0}};

/* What each cause is called; "no event" moves no counter, "no end" ends no packet. */
static void tell_causes(void)
{
	for (int i = 0; i < ledger.n; i++) {
		const struct result_cause *c = named(ledger.cause[i].raw.index);

		tell("%s%d %s '%s' '%s' '%s' '%s' %s%s%s%s%s", i ? "| " : "",
		     ledger.cause[i].raw.index, stage_name(c->stage), c->reason, c->location,
		     c->netns, c->ifname, c->direction, c->hook ? " " : "", c->hook ? c->hook : "",
		     ledger_is_event(&ledger.cause[i]) ? "" : " no event",
		     ledger.ignored[ledger.cause[i].raw.index] ? " no end" : "");
	}
}

static void tell_result(void)
{
	tell("%s", recorded_text(sum_fields, &result));
	for (unsigned i = 0; i < result.n_refused_by; i++)
		tell("errno %d: %d", result.refused_by[i].error, (int)result.refused_by[i].packets);
	for (unsigned s = 0; s < STAGE_COUNT; s++) {
		const struct result_stage *st = &result.stage[s];

		if (st->packets || st->events)
			tell("| %s packets %d bytes %d events %d %s", stage_name(s),
			     (int)st->packets, (int)st->bytes, (int)st->events,
			     st->source ? st->source : "none");
	}
	for (unsigned i = 0; i < result.n_causes; i++)
		tell("| %s %d of stream %u, %d-%d", stage_name(result.cause[i].stage),
		     (int)result.cause[i].packets, result.cause[i].stream,
		     (int)result.cause[i].first, (int)result.cause[i].last);
}

static void take_line(void *arg, const char *verb, char *text)
{
	const struct drops_cause full = {.index = TRACE_CAUSE_FULL,
					 .count = {.events = 9, .packets = 9}};
	struct trace_count stage[STAGE_COUNT] = {[STAGE_XSK] = {.events = 1, .packets = 2}};
	unsigned n[5] = {};

	sscanf(text, "%u %u %u %u %u", &n[0], &n[1], &n[2], &n[3], &n[4]);
	if (!strcmp(verb, "case")) {
		name_causes(NULL);
	} else if (!strcmp(verb, "causes")) {
		tell_causes();
	} else if (!strcmp(verb, "places")) { /* those that have a role: the first, how many */
		ledger_name(&ledger, causes, N_CAUSES, reasons, ksyms, places + n[0], n[1]);
	} else if (!strcmp(verb, "full")) {
		ledger_name(&ledger, &full, 1, reasons, ksyms, places, 4);
	} else if (!strcmp(verb, "upto")) { /* causes behind it are of an earlier naming */
		ledger.n = (int)n[0];
	} else if (!strcmp(verb, "tally")) {
		recorded_read(tally_fields, text, &ledger.tally);
	} else if (!strcmp(verb, "lose")) {
		lose((uint16_t)n[0], (uint8_t)n[1], n[2], n[3], n[4]);
	} else if (!strcmp(verb, "stages")) { /* added to what xsk had */
		ledger_stages(&ledger, stage);
		for (int s = 0; s < STAGE_COUNT; s++) {
			if (stage[s].events)
				tell("%s %d %d %d;", stage_name(s), (int)stage[s].events,
				     (int)stage[s].packets, (int)stage[s].bytes);
		}
	} else {
		assert_string_equal(verb, "close");
		memset(&result, 0, sizeof(result));
		ledger_close(&ledger, n[0], STREAM0, L3_BYTES, &result);
		tell_result();
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/ledger", take_line, NULL);
}

/* Naming again with more causes keeps the folded counts. */
CASE_WITH(naming_again_keeps_the_tally, name_causes, NULL)
{
	ledger.tally.delivered = 12;
	ledger_name(&ledger, causes, 2, reasons, ksyms, places, 4);
	assert_int_equal(ledger.n, 2);
	assert_null(ledger_cause(&ledger, XSK));
	assert_int_equal(ledger.tally.delivered, 12);
}

/* Stages and sums stay whole where the list of causes does not hold them all. */
CASE_WITH(more_causes_than_fit, name_causes, NULL)
{
	static struct drops_cause many[TRACE_CAUSES];
	uint64_t total = 0;

	for (int i = 0; i < 200; i++) {
		many[i] = causes[0];
		many[i].index = (uint8_t)(i + 1);
	}
	ledger_name(&ledger, many, 200, reasons, ksyms, places, 4);
	for (int i = 0; i < 200; i++) {
		for (uint16_t slot = 0; slot < 4; slot++, total++)
			lose(slot, (uint8_t)(i + 1), 1, 0, 0);
	}
	ledger_close(&ledger, 0, STREAM0, L3_BYTES, &result);
	assert_int_equal(result.n_causes, RESULT_CAUSES);
	assert_int_equal(result.stage[STAGE_RCVBUF].packets, total);
	assert_int_equal(result.dropped, total);
}

/* A packet freed as consumed is a loss if the table lists it. For a copy it counts as a copy. */
CASE_WITH(freed_as_used_up, name_causes, NULL)
{
	const struct watch_key at = {
		.location = RECEIVE_SKB, .netns = RX_NS, .ifindex = 2, .flags = WATCH_CONSUMED};
	struct drops_cause used[] = {
		{.index = 1, .cause = at, .count = {.events = 1}},
		{.index = 2, .cause = at, .count = {.events = 1}},
		{.index = 3, .cause = at, .count = {.events = 1}},
	};

	used[1].cause.flags |= WATCH_COPY;
	used[2].cause.location = IP_RCV; /* no row: nothing was lost there */
	ledger_name(&ledger, used, 3, reasons, ksyms, places, 4);
	for (unsigned i = 1; i <= 3; i++) {
		const struct ledger_cause *c = ledger_cause(&ledger, (uint8_t)i);

		assert_string_equal(c->named.reason, "CONSUMED");
		assert_int_equal(c->verdict.class, i == 1   ? CLASS_LOSS
						   : i == 2 ? CLASS_COPY
							    : CLASS_EXPECTED);
		assert_int_equal(c->named.stage, i < 3 ? STAGE_TC_INGRESS : STAGE_OTHER);
		assert_string_equal(c->named.direction, "rx");
		assert_true(c->verdict.known);
	}
}

/* Who ran the hooks tells which it was; of an XDP event the same field is the type of a map. */
CASE_WITH(hooks_by_who_ran_them, name_causes, NULL)
{
	struct drops_cause dropped = causes[FILTER - 1];

	dropped.cause.aux = IP_RCV;
	dropped.cause.flags |= WATCH_DST;
	ledger_name(&ledger, &dropped, 1, reasons, ksyms, places, 4);
	assert_string_equal(named(FILTER)->hook, "prerouting");
	dropped.cause = causes[XSK - 1].cause;
	dropped.cause.aux = BPF_MAP_TYPE_DEVMAP;
	ledger_name(&ledger, &dropped, 1, reasons, ksyms, places, 4);
	assert_int_equal(named(FILTER)->stage, STAGE_XDP);
	dropped.cause = (struct watch_key){
		.netns = RX_NS, .location = OBSERVER_SOCKET_QUEUE, .aux = BPF_MAP_TYPE_XSKMAP};
	ledger_name(&ledger, &dropped, 1, reasons, ksyms, places, 4);
	assert_int_equal(named(FILTER)->stage, STAGE_SOCKET_CLOSE);
}

/*
 * A cause without an event, such as the difference of two probes. The second call reuses its place.
 */
CASE_WITH(causes_are_added_once, name_causes, NULL)
{
	struct ledger_cause more = {.raw.index = COPY + 1, .named.stage = STAGE_WIRE};

	assert_null(ledger_cause(&ledger, 0)); /* no number has no cause */
	ledger_add(&ledger, &more);
	assert_int_equal(ledger.n, N_CAUSES + 1);
	assert_int_equal(named(COPY + 1)->stage, STAGE_WIRE);
	more.raw.index = RCVBUF;
	ledger_add(&ledger, &more);
	assert_int_equal(ledger.n, N_CAUSES + 1);
	assert_int_equal(named(RCVBUF)->stage, STAGE_WIRE);
	assert_int_equal(named(FILTER)->stage, STAGE_NETFILTER);
}

/*
 * Each stage has its events, including the first and the last. Missing numbers are a gap at the
 * end.
 */
CASE_WITH(ends_of_all_tables, name_causes, NULL)
{
	const struct ledger_cause ends[] = {
		{.raw = {.index = COPY + 1, .count = {.events = 2, .packets = 3, .memory = 640}},
		 .named.stage = 0},
		{.raw = {.index = COPY + 2, .count = {.events = 4, .packets = 5}},
		 .named.stage = STAGE_COUNT - 1},
	};
	struct trace_count stage[STAGE_COUNT] = {};

	ledger_add(&ledger, &ends[0]);
	ledger_add(&ledger, &ends[1]);
	ledger_stages(&ledger, stage);
	assert_int_equal(stage[0].memory, 640);
	ledger.tally.missing[0] = 3;
	ledger.tally.missing[TRACE_STREAMS - 1] = 5;
	for (int e = 0; e <= RESULT_ERRNOS; e++)
		ledger.tally.refused_by[e] = 1;
	memset(&result, 0, sizeof(result));
	ledger_close(&ledger, 0, STREAM0, L3_BYTES, &result);
	assert_int_equal(result.stage[0].events, 3);
	assert_int_equal(result.stage[STAGE_COUNT - 1].events, 5);
	assert_int_equal(result.arrivals.gaps.count, 2);
	assert_int_equal(result.arrivals.gaps.packets, 8);
	assert_int_equal(result.arrivals.gaps.longest, 5);
	assert_int_equal(result.n_refused_by, RESULT_ERRNOS); /* and not one more */
	assert_int_equal(result.refused_by[0].error, 0);
}

/* Rows of stages that lost something, and rows that disagree; not what agrees on nothing. */
CASE_WITH(counters_beside_the_stages, name_causes, NULL)
{
	struct result_counter rows[] = {
		{STAGE_RCVBUF, "rx RcvbufErrors", 40, 40, .agrees = true, .scope = "flow"},
		{STAGE_QDISC, "tx drops", .agrees = true, .scope = "flow"},
		{STAGE_BACKLOG, "rx dropped", 3, .documented = true, .scope = "host",
		 .note = "why"},
	};
	struct countercheck check = {.rows = rows, .n_rows = 3};

	result.stage[STAGE_RCVBUF].packets = 40;
	countercheck_show(&check, &result);
	assert_int_equal(result.n_counters, 2);
	assert_memory_equal(&result.counter[0], &rows[0], sizeof(rows[0]));
	assert_memory_equal(&result.counter[1], &rows[2], sizeof(rows[2]));
}

CASE_WITH(more_counters_than_fit, name_causes, NULL)
{
	static struct result_counter rows[RESULT_COUNTERS + 5];
	struct countercheck check = {.rows = rows, .n_rows = RESULT_COUNTERS + 5};

	countercheck_show(&check, &result); /* none agrees: all are shown */
	assert_int_equal(result.n_counters, RESULT_COUNTERS);
}

int main(void)
{
	return run_cases(open_names, close_names);
}
