// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a site knows of its part: which losses are its own, and what its numbers become. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "experiment/site.h"

#define TX_NS	 11
#define RX_NS	 12
#define OTHER_NS 13
#define DEVICE	 3

CASE(each_end_has_its_own_losses)
{
	enum { BOTH, SENDS, RECEIVES, TAKES }; /* with an XDP program that takes packets */
	static struct run_spec spec;
	static const struct {
		int site;
		unsigned netns, ifindex;
		int class, direction, stage, observer;
		const char *reason;
		bool here;
	} rows[] = {
		{BOTH, OTHER_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", true},
		{SENDS, TX_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB, "",
		 true},
		{SENDS, RX_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB, "",
		 false},
		{SENDS, OTHER_NS, 0, VERDICT_LOSS, DIRECTION_TX, STAGE_QDISC, OBSERVER_KFREE_SKB,
		 "", true},
		{RECEIVES, RX_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", true},
		{RECEIVES, 0, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB, "",
		 true},
		{RECEIVES, TX_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", false},
		{RECEIVES, RX_NS, 0, VERDICT_BENIGN, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", false},
		{RECEIVES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_KFREE_SKB,
		 "XDP", true},
		{TAKES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_KFREE_SKB,
		 "XDP", false},
		{TAKES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_KFREE_SKB,
		 "NOMEM", true},
		{TAKES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "XDP", true},
		{TAKES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_REDIRECT_ERR,
		 "XDP", true},
		{TAKES, RX_NS, DEVICE + 1, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP,
		 OBSERVER_KFREE_SKB, "XDP", true},
	};

	struct rx_prog takes = {.sink = (void *)&spec};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct site s = {
			.spec = &spec,
			.lone = rows[i].site != BOTH,
			.receives = rows[i].site != SENDS,
			.prog = rows[i].site == TAKES ? &takes : NULL,
			.lab = {.tx_ns.inum = TX_NS, .rx_ns.inum = RX_NS, .rx.ifindex = DEVICE},
		};
		struct ledger_cause c = {
			.raw.cause = {.netns = rows[i].netns,
				      .ifindex = rows[i].ifindex,
				      .observer = rows[i].observer},
			.verdict = {.class = rows[i].class,
				    .direction = rows[i].direction,
				    .stage = rows[i].stage},
		};

		snprintf(c.named.reason, sizeof(c.named.reason), "%s", rows[i].reason);
		if (site_is_here(&s, &c) != rows[i].here)
			fail_msg("row %zu", i);
	}
}

static struct site s;
static struct result res;
static const struct run_spec plain;
static const uint64_t all[TRACE_STREAMS] = {8, 8};

static int open_site(void **state)
{
	struct error err = {};

	s = (struct site){.spec = &plain,
			  .receives = true,
			  .flow = {.family = AF_INET, .payload = 512},
			  .lab = {.tx_ns.inum = TX_NS, .rx_ns.inum = RX_NS}};
	s.lab.tx.ns = s.lab.router_tx.ns = s.lab.router_rx.ns = &s.lab.tx_ns;
	s.lab.rx.ns = &s.lab.rx_ns;
	memset(&res, 0, sizeof(res));
	return fates_init(&s.tracer.fates, 2, TRACE_PAGE_SIZE, &err) ||
	       fates_map(&s.tracer.fates, -1, -1, -1, &err);
}

static int close_site(void **state)
{
	fates_unmap(&s.tracer.fates);
	return 0;
}

static size_t at(uint64_t number)
{
	return fates_index(&s.tracer.fates, 1, s.tracer.fates.base + number);
}

/* What came into a bridge and did not leave it is the bridge's, by difference. */
CASE_WITH(bridge_that_passes_nothing_on, open_site, close_site)
{
	struct fates *f = &s.tracer.fates;

	s.lab.topology = LAB_BRIDGE;
	strcpy(s.lab.router_rx.ifname, "b1");
	s.receives = false;
	f->arrivals[at(0)] = 1;
	f->seen[at(1)] = f->seen[at(2)] = SEEN_TX_DEVICE | SEEN_BRIDGE_IN;
	f->seen[at(3)] = SEEN_TX_DEVICE | SEEN_BRIDGE_IN | SEEN_BRIDGE_OUT;
	f->failed[at(4)] = f->failed[at(7)] = EPERM;
	f->arrivals[at(9)] = 1; /* nobody sent it */
	assert_int_equal(site_name(&s), 0);
	site_fold(&s, all, NULL);
	site_fold(&s, all, NULL);
	site_beyond(&s);
	site_ledger(&s, 4, &res);
	assert_int_equal(s.refused[1], 2);
	assert_int_equal(res.attempted, 16);
	assert_int_equal(res.refused, 2);
	assert_int_equal(res.delivered, 1);
	assert_int_equal(res.stage[STAGE_L2].packets, 2);
	assert_int_equal(res.stage[STAGE_L2].bytes, 2 * 540);
	assert_string_equal(res.stage[STAGE_L2].source, "difference");
	assert_string_equal(res.cause[0].ifname, "b1");
	assert_string_equal(res.cause[0].netns, "bridge");
	assert_int_equal(res.in_flight, 4);
	assert_int_equal(res.unaccounted, 16 - 2 - 1 - 2 - 4);
	assert_int_equal(res.impossible, 1);
	assert_int_equal(f->tail[1], f->base + 8);
}

/* A lone receiver gives up what lacks a fragment; what others lost on this host is not its own. */
CASE_WITH(fragments_that_are_given_up, open_site, close_site)
{
	static const struct {
		const char *reason, *location;
		enum stage stage;
		unsigned netns;
		enum verdict_class class;
		bool gives_up, ignored;
	} rows[] = {
		{"FRAG_REASM_TIMEOUT", "ip_expire", STAGE_IP_FRAG, RX_NS, VERDICT_LOSS, true,
		 false},
		{"", "ip6frag_expire_frag_queue", STAGE_IP_FRAG, RX_NS, VERDICT_LOSS, true, false},
		{"DUP_FRAG", "ip_defrag", STAGE_IP_FRAG, RX_NS, VERDICT_LOSS, false, false},
		{"", "neigh_expire", STAGE_NEIGH, RX_NS, VERDICT_LOSS, false, false},
		{"NETFILTER_DROP", "nft_do_chain", STAGE_NETFILTER, OTHER_NS, VERDICT_LOSS, false,
		 true},
		{"", "", STAGE_OTHER, OTHER_NS, VERDICT_COPY, false, false},
	};
	struct fates *f = &s.tracer.fates;

	s.fragments = s.lone = true;
	s.receiver = (void *)&s; /* somebody listens */
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
	f->cause[at(6)] = 1; /* whole when it came to the device */
	f->seen[at(6)] = SEEN_RX_DEVICE;
	f->cause[at(8)] = 1; /* not yet */
	site_prepare(&s, all);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(f->cause[at(i)], rows[i].gives_up ? TRACE_CAUSE_GIVEN_UP : i + 1);
		assert_int_equal(s.ledger.ignored[i + 1], rows[i].ignored);
	}
	assert_int_equal(f->cause[at(6)], 1);
	assert_int_equal(f->cause[at(8)], 1);
	assert_true(ledger_cause(&s.ledger, TRACE_CAUSE_GIVEN_UP)->named.given_up);
	s.receiver = NULL;
	site_fold(&s, all, NULL);
	site_ledger(&s, 0, &res);
	assert_int_equal(res.stage[STAGE_IP_FRAG].packets, 4);
	assert_string_equal(res.stage[STAGE_IP_FRAG].source, "event");
	assert_int_equal(res.stage[STAGE_NETFILTER].packets, 0);
}

/* What the reader counted beside its numbers. */
CASE_WITH(end_of_a_receiver, open_site, close_site)
{
	s.sink.sums = (struct sink_sums){.delivered = 500,
					 .first_ns = 1000000000,
					 .last_ns = 3000000000,
					 .duplicated = 1,
					 .late = 2,
					 .damaged = 3,
					 .invalid = 4,
					 .foreign = 5};
	s.rx.calls = 6;
	s.rx_cpu_ns = 7;
	res.late = 10;
	res.sent = 600;
	res.duration_ns = 3000000000;
	site_end(&s, &res);
	assert_int_equal(res.duplicated, 1);
	assert_int_equal(res.late, 12);
	assert_int_equal(res.damaged, 3);
	assert_int_equal(res.invalid, 4);
	assert_int_equal(res.foreign, 5);
	assert_float_equal(res.rx_pps, 250, 1e-6);
	assert_float_equal(res.tx_pps, 200, 1e-6);
	assert_int_equal(res.rx_cost.calls, 6);
}
