// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which losses belong to a site, and those that no event shows. tests/bpf/test_site.c opens sites.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "experiment/faults/row.h"
#include "experiment/site.h"

#define TX_NS	 11
#define RX_NS	 12
#define OTHER_NS 13
#define DEVICE	 3

CASE(each_end_has_its_own_losses)
{
	enum { BOTH, SENDS, RECEIVES, TAKES }; /* with an XDP program that takes packets */
	enum { EXPECTED = 1, SENDING = 2, XDP = 4, NO_MEMORY = 8, REDIRECT = 16, ELSEWHERE = 32 };
	static struct run_spec spec;
	static const struct {
		int site;
		unsigned netns, is;
		bool here;
	} rows[] = {
		{BOTH, OTHER_NS, 0, true},
		{SENDS, TX_NS, 0, true},
		{SENDS, RX_NS, 0, false},
		{SENDS, OTHER_NS, SENDING, true},
		{RECEIVES, RX_NS, 0, true},
		{RECEIVES, 0, 0, true},
		{RECEIVES, TX_NS, 0, false},
		{RECEIVES, RX_NS, EXPECTED, false},
		{RECEIVES, RX_NS, XDP, true},
		{TAKES, RX_NS, XDP, false},
		{TAKES, RX_NS, XDP | NO_MEMORY, true},
		{TAKES, RX_NS, 0, true},
		{TAKES, RX_NS, XDP | REDIRECT, true},
		{TAKES, RX_NS, XDP | ELSEWHERE, true},
	};
	struct rx_prog takes = {.sink = (void *)&spec};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const unsigned is = rows[i].is;
		struct site s = {
			.spec = &spec,
			.lone = rows[i].site != BOTH,
			.receives = rows[i].site != SENDS,
			.prog = rows[i].site == TAKES ? &takes : NULL,
			.lab = {.tx_ns.inum = TX_NS, .rx_ns.inum = RX_NS, .rx.ifindex = DEVICE},
		};
		struct ledger_cause c = {
			.raw.cause = {.netns = rows[i].netns,
				      .ifindex = DEVICE + !!(is & ELSEWHERE),
				      .location = is & REDIRECT ? OBSERVER_REDIRECT_ERR
								: OBSERVER_KFREE_SKB},
			.verdict = {.class = is & EXPECTED ? CLASS_EXPECTED : CLASS_LOSS,
				    .direction = is & SENDING ? DIRECTION_TX : DIRECTION_RX,
				    .stage = is & XDP ? STAGE_XDP : STAGE_RCVBUF},
		};

		strcpy(c.named.reason, is & NO_MEMORY ? "NOMEM" : "XDP");
		if (site_is_here(&s, &c) != rows[i].here)
			fail_msg("row %zu", i);
	}
}

static struct site s;
static struct result res;
static const struct run_spec plain;
static const uint64_t all[TRACE_STREAMS] = {8, 8, 8}; /* the third is not theirs */

/* The third stream also has memory, so that any access to it is detected. */
static int open_outcomes(struct error *err)
{
	struct outcomes *f = &s.tracer.outcomes;
	int rc;

	outcomes_init(f, 3, TRACE_PAGE_SIZE);
	rc = outcomes_map(f, -1, -1, -1, err);
	f->streams = 2;
	return rc;
}

static int open_site(void **state)
{
	struct error err = {};

	s = (struct site){.spec = &plain,
			  .receives = true,
			  .flow = {.family = AF_INET, .payload = 512},
			  .lab = {.tx_ns.inum = TX_NS, .rx_ns.inum = RX_NS}};
	s.lab.tx.ns = &s.lab.tx_ns;
	s.lab.rx.ns = &s.lab.rx_ns;
	memset(&res, 0, sizeof(res));
	return open_outcomes(&err);
}

static int close_site(void **state)
{
	outcomes_unmap(&s.tracer.outcomes);
	return 0;
}

static size_t at(uint64_t number)
{
	return outcomes_index(&s.tracer.outcomes, 1, s.tracer.outcomes.base + number);
}

/*
 * A single-ended receiver releases datagrams with a missing fragment. Losses of other programs are
 * not counted.
 */
CASE_WITH(fragments_that_are_given_up, open_site, close_site)
{
	static const struct {
		const char *reason, *location;
		enum stage stage;
		unsigned netns;
		enum drop_class class;
		bool gives_up, ignored;
	} rows[] = {
		{"NETFILTER_DROP", "nft_do_chain", STAGE_NETFILTER, OTHER_NS, CLASS_LOSS, false,
		 true},
		{"FRAG_REASM_TIMEOUT", "ip_expire", STAGE_IP_FRAG, RX_NS, CLASS_LOSS, true,
		 false},
		{"", "ip6frag_expire_frag_queue", STAGE_IP_FRAG, RX_NS, CLASS_LOSS, true, false},
		{"DUP_FRAG", "ip_defrag", STAGE_IP_FRAG, RX_NS, CLASS_COPY, false, false},
		{"", "neigh_expire", STAGE_NEIGH, RX_NS, CLASS_LOSS, false, false},
		{"", "", STAGE_OTHER, OTHER_NS, CLASS_COPY, false, false},
	};
	struct outcomes *f = &s.tracer.outcomes;

	s.fragments = s.lone = true;
	s.receiver = (void *)&s; /* a socket listens */
	for (unsigned i = 0; i < 6; i++) {
		struct ledger_cause *c = &s.ledger.cause[s.ledger.n++];

		*c = (struct ledger_cause){
			.raw = {.index = (uint8_t)(i + 1), .cause.netns = rows[i].netns},
			.verdict = {.stage = rows[i].stage, .class = rows[i].class},
			.named.stage = rows[i].stage};
		snprintf(c->named.reason, sizeof(c->named.reason), "%s", rows[i].reason);
		snprintf(c->named.location, sizeof(c->named.location), "%s", rows[i].location);
		f->cause[at(i)] = (uint8_t)(i + 1);
	}
	f->cause[at(6)] = 2; /* whole when it came to the device */
	f->seen[at(6)] = SEEN_RX_DEVICE;
	f->cause[at(8)] = 2; /* not yet */
	f->cause[outcomes_index(f, 2, f->base)] = 2;
	site_prepare(&s, all);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(f->cause[at(i)], rows[i].gives_up ? TRACE_CAUSE_GIVEN_UP : i + 1);
		assert_int_equal(s.ledger.ignored[i + 1], rows[i].ignored);
	}
	assert_int_equal(f->cause[at(6)], 2);
	assert_int_equal(f->cause[at(8)], 2);
	assert_int_equal(f->cause[outcomes_index(f, 2, f->base)], 2);
	assert_true(ledger_cause(&s.ledger, TRACE_CAUSE_GIVEN_UP)->named.given_up);
	s.receiver = NULL;
	site_fold(&s, all, NULL);
	site_ledger(&s, 0, &res);
	assert_int_equal(res.stage[STAGE_IP_FRAG].packets, 4);
	assert_string_equal(res.stage[STAGE_IP_FRAG].source, "event");
	assert_int_equal(res.stage[STAGE_NETFILTER].packets, 0);
}

/*
 * Nothing is released without fragments, if the other end is on this host, or without a receiver.
 */
CASE_WITH(what_is_not_given_up, open_site, close_site)
{
	struct outcomes *f = &s.tracer.outcomes;

	s.gives_up[1] = true;
	f->cause[at(7)] = 1; /* the last of them */
	for (unsigned missing = 0; missing < 4; missing++) {
		s.fragments = missing != 0;
		s.lone = missing != 1;
		s.receiver = missing != 2 ? (void *)&s : NULL;
		site_note_given_up(&s, 1, f->base + 8);
		assert_int_equal(f->cause[at(7)], missing < 3 ? 1 : TRACE_CAUSE_GIVEN_UP);
	}
	s.receiver = NULL;
	s.fragments = false;
	s.ledger.cause[0] = (struct ledger_cause){
		.raw = {.index = 1, .count.events = 5},
		.verdict.stage = STAGE_IP_FRAG,
		.named = {.stage = STAGE_IP_FRAG, .reason = "FRAG_REASM_TIMEOUT"}};
	s.ledger.n = 1;
	assert_int_equal(site_name(&s), 0);
	assert_int_equal(s.ledger.n, 1);
	assert_null(ledger_cause(&s.ledger, TRACE_CAUSE_GIVEN_UP));
	s.fragments = true; /* with observers, and without its own events */
	assert_int_equal(site_name(&s), 0);
	assert_int_equal(ledger_cause(&s.ledger, TRACE_CAUSE_GIVEN_UP)->raw.count.events, 0);
}

/* Losses that only a counter of the flow shows stay open, with the counter as evidence. */
CASE(losses_that_tracing_skipped)
{
	static struct run_spec spec;
	struct site site = {.spec = &spec};
	struct counters deltas = {};
	struct result_counter c = {
		.name = "router Ip:InHdrErrors", .delta = 100, .expected_max = 92};
	const struct countercheck check = {.unexplained = &c, .n_unexplained = 1};
	const bool may_skip = quirks_found()[QUIRK_SUPPRESSED] != QUIRK_ABSENT;
	static const struct {
		const char *scope;
		uint64_t open, named;
	} rows[] = {
		{"flow", 8, 8}, {"flow", 48, 8}, {"flow", 3, 3}, {"flow", 0, 0}, {"host", 8, 0}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&res, 0, sizeof(res));
		res.unaccounted = rows[i].open;
		c.scope = rows[i].scope;
		settle_by_counter(&check, &deltas, &site, &res);
		assert_int_equal(res.unaccounted, rows[i].open);
		assert_int_equal(res.losses.suppressed, may_skip ? rows[i].named : 0);
		assert_int_equal(!*res.losses.suppressed_evidence, !res.losses.suppressed);
	}
}
