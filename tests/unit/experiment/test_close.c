// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The part of a site: which losses belong to it, and the outcomes of its numbers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cases.h"
#include "experiment/faults/row.h"
#include "experiment/site.h"
#include "host/netdev.h"

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
		{BOTH, OTHER_NS, 0, CLASS_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", true},
		{SENDS, TX_NS, 0, CLASS_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB, "",
		 true},
		{SENDS, RX_NS, 0, CLASS_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB, "",
		 false},
		{SENDS, OTHER_NS, 0, CLASS_LOSS, DIRECTION_TX, STAGE_QDISC, OBSERVER_KFREE_SKB,
		 "", true},
		{RECEIVES, RX_NS, 0, CLASS_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", true},
		{RECEIVES, 0, 0, CLASS_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB, "",
		 true},
		{RECEIVES, TX_NS, 0, CLASS_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", false},
		{RECEIVES, RX_NS, 0, CLASS_EXPECTED, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", false},
		{RECEIVES, RX_NS, DEVICE, CLASS_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_KFREE_SKB,
		 "XDP", true},
		{TAKES, RX_NS, DEVICE, CLASS_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_KFREE_SKB,
		 "XDP", false},
		{TAKES, RX_NS, DEVICE, CLASS_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_KFREE_SKB,
		 "NOMEM", true},
		{TAKES, RX_NS, DEVICE, CLASS_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "XDP", true},
		{TAKES, RX_NS, DEVICE, CLASS_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_REDIRECT_ERR,
		 "XDP", true},
		{TAKES, RX_NS, DEVICE + 1, CLASS_LOSS, DIRECTION_RX, STAGE_XDP,
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
				      .location = rows[i].observer},
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

/* Packets that entered a bridge and did not leave are losses of the bridge, by difference. */
CASE_WITH(bridge_that_passes_nothing_on, open_site, close_site)
{
	struct outcomes *f = &s.tracer.outcomes;

	s.lab.topology = LAB_BRIDGE;
	strcpy(s.lab.router_rx.ifname, "b1");
	s.receives = false;
	f->arrivals[at(0)] = 1;
	f->seen[at(1)] = f->seen[at(2)] = SEEN_TX_DEVICE | SEEN_BRIDGE_IN;
	f->seen[at(3)] = SEEN_TX_DEVICE | SEEN_BRIDGE_IN | SEEN_BRIDGE_OUT;
	f->failed[at(4)] = f->failed[at(7)] = EPERM;
	f->failed[at(8)] = EPERM; /* later */
	f->arrivals[at(9)] = 1;	  /* never sent */
	f->arrivals[outcomes_index(f, 0, f->base + 9)] = 1;
	f->arrivals[outcomes_index(f, 2, f->base + 9)] = 1;
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
	assert_int_equal(res.impossible, 2);
	assert_int_equal(f->tail[1], f->base + 8);
	assert_int_equal(f->tail[2], f->base);
}

/* Losses known only by difference are marked as such, and no others are. */
CASE_WITH(lost_on_the_wire, open_site, close_site)
{
	struct outcomes *f = &s.tracer.outcomes;

	for (unsigned i = 0; i < 2; i++) {
		s.ledger.cause[i] = (struct ledger_cause){
			.raw.index = i ? 1 : TRACE_CAUSE_DIFFERENCE,
			.verdict = {.class = CLASS_LOSS, .stage = STAGE_WIRE},
			.named.stage = STAGE_WIRE};
		s.ledger.n = (int)i + 1;
		memset(&s.ledger.tally, 0, sizeof(s.ledger.tally));
		f->tail[0] = f->base;
		f->cause[outcomes_index(f, 0, f->base)] = TRACE_CAUSE_DIFFERENCE;
		f->cause[outcomes_index(f, 0, f->base + 1)] = (uint8_t)i;
		site_fold(&s, all, NULL);
		memset(&res, 0, sizeof(res));
		site_ledger(&s, 0, &res);
		assert_int_equal(res.stage[STAGE_WIRE].packets, i + 1);
		assert_int_equal(!strcmp(res.stage[STAGE_WIRE].source, "difference"), !i);
	}
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

static struct site_status status(void)
{
	struct site_status st;

	site_status(&s, &st);
	return st;
}

/* The counts of the receiver besides its numbers. */
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
	site_start(&s);
	assert_true(s.started && !status().running); /* no sender on this host */
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

#define COUNT	  8 /* of two threads */
#define PORT	  40405
#define LATEST_NS 20000000000

static struct run_spec both = {.rx = &rx_socket};

/* A sender between two namespaces, and a receiver that does not read yet; nothing is traced. */
static int open_ends(void **state)
{
	const struct lab_spec pair = {.topology = LAB_PAIR};
	struct error err = {};

	if (geteuid())
		return 0;
	both.tx = &tx_socket;
	memset(&res, 0, sizeof(res));
	s = (struct site){
		.spec = &both, .sends = true, .receives = true, .by_number = true, .in_lab = true};
	if (lab_open(&s.lab, &pair, &err))
		return -1;
	s.flow = (struct flow){.family = AF_INET,
			       .src4 = s.lab.tx.ip4,
			       .dst4 = s.lab.rx.ip4,
			       .dst_port = PORT,
			       .flows = 2,
			       .payload = 64};
	s.sender_config = (struct sender_config){.ops = &tx_socket,
						 .flow = &s.flow,
						 .ns = &s.lab.tx_ns,
						 .ifname = s.lab.tx.ifname,
						 .ifindex = s.lab.tx.ifindex,
						 .threads = 2,
						 .outcomes = &s.tracer.outcomes,
						 .count = COUNT,
						 .batch_fd = -1,
						 .tuning = &both.tuning,
						 .cpu = -1};
	s.receiver_config = (struct receiver_config){.ops = &rx_socket,
						     .flow = &s.flow,
						     .ns = &s.lab.rx_ns,
						     .ifname = s.lab.rx.ifname,
						     .threads = 1,
						     .outcomes = &s.tracer.outcomes,
						     .paused = true,
						     .tuning = &both.tuning,
						     .cpu = -1};
	return open_outcomes(&err) || receiver_open(&s.receiver, &s.receiver_config, &err) ||
	       sender_open(&s.sender, &s.sender_config, &err) ||
	       site_read_counters(&s, &s.before, &err);
}

static int close_ends(void **state)
{
	if (geteuid())
		return 0;
	sender_close(s.sender);
	receiver_close(s.receiver);
	counters_free(&s.before);
	counters_free(&s.after);
	outcomes_unmap(&s.tracer.outcomes);
	lab_close(&s.lab);
	return 0;
}

static void send_all(void)
{
	uint64_t end = clock_now() + LATEST_NS;

	if (geteuid())
		skip();
	site_start(&s);
	site_start(&s); /* it has */
	while (!sender_done(s.sender) && clock_now() < end)
		clock_sleep(1000000);
	assert_true(s.started && sender_done(s.sender));
}

/* From the first packet to the last that is read. */
CASE_WITH(two_ends, open_ends, close_ends)
{
	static const struct {
		enum fault_reader reader;
		bool stopped, idle;
	} waits[] = {{READER_PAUSED, true, true},
		     {READER_NEVER, false, true},
		     {READER_NEVER, true, true},
		     {READER_PAUSED, false, false}};
	uint64_t next[TRACE_STREAMS] = {}, end = clock_now() + LATEST_NS;
	struct error err = {};

	if (geteuid())
		skip();
	assert_false(status().running);
	assert_true(status().idle);
	s.started = true;
	assert_true(status().running);
	s.stopped = true;
	assert_false(status().running);
	s.started = s.stopped = false;
	send_all();
	assert_false(status().running);
	site_next(&s, next);
	for (unsigned t = 0; t < TRACE_STREAMS; t++) {
		assert_int_equal(next[t], t < 2 ? COUNT / 2 : 0);
		assert_int_equal(status().next[t], next[t]);
	}
	for (unsigned i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		s.fx.reader = waits[i].reader;
		s.stopped = waits[i].stopped;
		assert_int_equal(status().idle, waits[i].idle);
	}
	s.in_socket = 5;
	assert_int_equal(status().in_queues, 5);
	assert_int_equal(site_outcomes_seen(&s), 0);
	assert_false(site_is_complete(&s));
	site_stop_sending(&s, &err); /* a paused sender continues */
	assert_false(s.stopped);
	while (!site_is_complete(&s) && clock_now() < end)
		clock_sleep(1000000);
	assert_int_equal(status().delivered, COUNT);
	assert_int_equal(site_outcomes_seen(&s), COUNT);
	assert_true(status().idle);
	assert_false(site_failed(&s, &err));
	site_fold(&s, next, NULL); /* later packets are late */
	for (unsigned t = 0; t < 3; t++)
		assert_int_equal(receiver_streams(s.receiver)->at[t].tail,
				 t < 2 ? s.tracer.outcomes.base + COUNT / 2 : 0);
	assert_int_equal(site_stop_receiving(&s, &err), 0);
	assert_true(s.stopped && s.receiver);
	assert_int_equal(s.sink.sums.delivered, COUNT);
	s.sink.sums.delivered = 0;
	assert_int_equal(site_stop_receiving(&s, &err), 0); /* it has */
	assert_int_equal(s.sink.sums.delivered, 0);
}

/* A fault that acts in mid-run does so when both threads together have sent as many. */
CASE_WITH(faults_in_midway, open_ends, close_ends)
{
	const struct fault_list none = {};
	struct fault_effects fx = {};
	struct fault_state fault = {.list = &none, .fx = &fx};
	struct error err = {};

	send_all();
	s.faults = &fault;
	for (fx.midway = COUNT - 1; fx.midway <= COUNT + 1; fx.midway++) {
		fault.midway_due = true;
		assert_false(site_failed(&s, &err));
		assert_int_equal(fault.midway_due, fx.midway > COUNT);
	}
}

/* Who waits for the address of a next hop is known of the devices that packets are sent by. */
CASE_WITH(next_hops_that_are_asked_for, open_ends, close_ends)
{
	const struct sockaddr_in nobody = {.sin_family = AF_INET,
					   .sin_port = htons(PORT),
					   .sin_addr.s_addr = s.lab.rx.ip4.s_addr ^ htonl(64)};
	const struct lab lab = s.lab;
	static const struct {
		enum lab_topology topology;
		bool own, first, second, no_sender, idle; /* which asks; two are in the middle */
	} rows[] = {
		{LAB_PAIR, false, false, false, false, true},
		{LAB_PAIR, true, false, false, false, false},
		{LAB_PAIR, true, false, false, true, true},
		{LAB_PAIR, false, true, true, false, true},
		{LAB_ROUTER, true, false, false, false, false},
		{LAB_ROUTER, false, false, true, false, false},
		{LAB_ROUTER, false, true, false, false, true},
		{LAB_ROUTER, false, false, true, true, true},
		{LAB_VXLAN, false, true, false, false, false},
		{LAB_VXLAN, false, false, true, false, true},
	};
	struct sender *sender = s.sender;
	int saved, fd;

	if (geteuid())
		skip();
	saved = netns_push(&s.lab.rx_ns);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(sendto(fd, "", 1, 0, (const void *)&nobody, sizeof(nobody)), 1);
	close(fd);
	netns_pop(saved);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool asks[LAB_PORTS] = {rows[i].own, rows[i].first, rows[i].second};
		const bool router = rows[i].topology == LAB_ROUTER;

		s.lab.tx_ns = s.lab.router_ns = lab.rx_ns;
		s.lab.router_tx.ns = router ? &s.lab.router_ns : &s.lab.tx_ns;
		s.lab.router_rx.ns = router ? &s.lab.router_ns : &s.lab.rx_ns;
		if (rows[i].topology == LAB_PAIR)
			s.lab.router_tx.ns = s.lab.router_rx.ns = NULL;
		for (unsigned p = 0; p < LAB_PORTS; p++)
			s.lab.port[p].ifindex = lab.rx.ifindex + !asks[p];
		s.sender = rows[i].no_sender ? NULL : sender;
		if (status().idle != rows[i].idle)
			fail_msg("row %u", i);
	}
	s.lab = lab;
	s.sender = sender;
}

/* Without observers, the packets in the socket of a stopped receiver are unknown. */
CASE_WITH(stopped_while_it_waits, open_ends, close_ends)
{
	struct error err = {};

	send_all();
	assert_false(status().idle);
	assert_int_equal(site_stop_receiving(&s, &err), 0);
	assert_true(s.stopped);
	assert_int_equal(status().in_queues, 0);
	assert_int_equal(s.sink.sums.delivered, 0);
}

/* What each number became, or where it rests for good. */
CASE_WITH(all_outcomes_are_known, open_ends, close_ends)
{
	static const struct {
		bool bridge;
		enum fault_reader reader;
		bool arrived[2]; /* of both streams */
		uint8_t seen;
		bool complete;
	} rows[] = {
		{false, READER_NORMAL, {false, false}, 0, false},
		{false, READER_NORMAL, {true, false}, 0, false},
		{false, READER_NORMAL, {false, true}, 0, false},
		{false, READER_NORMAL, {true, true}, 0, true},
		{false, READER_NORMAL, {true, false}, SEEN_RX_DEVICE, false},
		{false, READER_NEVER, {true, false}, SEEN_TX_DEVICE, false},
		{false, READER_NEVER, {true, false}, SEEN_RX_DEVICE, true},
		{false, READER_NEVER, {false, false}, SEEN_SOCKET, true},
		{false, READER_NORMAL, {true, false}, SEEN_BRIDGE_IN, false},
		{true, READER_NORMAL, {true, false}, SEEN_BRIDGE_IN, true},
		{true, READER_NORMAL, {true, false}, SEEN_BRIDGE, false},
		{true, READER_NORMAL, {true, false}, SEEN_TX_DEVICE, false},
	};
	struct outcomes *f = &s.tracer.outcomes;

	send_all();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(s.known, 0, sizeof(s.known));
		s.lab.topology = rows[i].bridge ? LAB_BRIDGE : LAB_PAIR;
		s.fx.reader = rows[i].reader;
		for (uint16_t t = 0; t < 2; t++) {
			for (uint64_t n = f->base; n < f->base + COUNT / 2; n++) {
				f->arrivals[outcomes_index(f, t, n)] = rows[i].arrived[t];
				f->seen[outcomes_index(f, t, n)] = rows[i].seen;
			}
		}
		if (site_is_complete(&s) != rows[i].complete)
			fail_msg("row %u", i);
	}
	s.lab.topology = LAB_PAIR;
}

/*
 * Packets of an engine without an edge probe count as seen at its interface, if the numbers are
 * known.
 */
CASE_WITH(handed_to_the_device, open_ends, close_ends)
{
	static const struct {
		const struct tx_ops *tx;
		bool sends, by_number, in_lab, noted;
	} rows[] = {
		{&tx_xsk, true, true, false, true},	{&tx_xdp, true, true, false, true},
		{&tx_socket, true, true, false, false}, {&tx_xsk, false, true, false, false},
		{&tx_xsk, true, false, false, false},	{&tx_xsk, true, true, true, false},
	};
	struct outcomes *f = &s.tracer.outcomes;
	uint64_t accepted, refused;

	send_all();
	f->failed[outcomes_index(f, 1, f->base)] = EPERM;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(f->seen + outcomes_index(f, 0, f->base), 0, TRACE_PAGE_SIZE);
		memset(f->seen + outcomes_index(f, 1, f->base), 0, TRACE_PAGE_SIZE);
		memset(f->seen + outcomes_index(f, 2, f->base), 0, TRACE_PAGE_SIZE);
		f->seen[outcomes_index(f, 0, f->base + 1)] = SEEN_SOCKET;
		both.tx = rows[i].tx;
		s.sends = rows[i].sends;
		s.in_lab = rows[i].in_lab;
		s.by_number = rows[i].by_number;
		site_prepare(&s, all);
		for (uint16_t t = 0; t < 3; t++) {
			for (uint64_t n = 0; n < 9; n++) {
				uint8_t wanted = t == 0 && n == 1 ? SEEN_SOCKET
						 : n < 8 && t < 2 && (t == 0 || n) && rows[i].noted
							 ? SEEN_TX_DEVICE
							 : 0;

				if (f->seen[outcomes_index(f, t, f->base + n)] != wanted)
					fail_msg("row %u, %d of stream %d", i, (int)n, t);
			}
		}
	}
	s.refused[1] = 1; /* folded by now */
	site_count(&s, 1, &accepted, &refused);
	assert_int_equal(refused, 2);
	assert_int_equal(accepted, COUNT / 2 - 2);
}

/* The drops of a socket that is closed by now are those that it had. */
CASE_WITH(counters_of_a_closed_socket, open_ends, close_ends)
{
	static const struct {
		int64_t drops;
		bool receives;
		int counted; /* -1: not at all */
	} rows[] = {{0, true, 0}, {3, true, 3}, {-1, true, -1}, {3, false, -1}};
	struct error err = {};

	send_all();
	receiver_close(s.receiver);
	s.receiver = NULL;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t drops = UINT64_MAX;

		memset(&res, 0, sizeof(res));
		s.rx.socket_drops = rows[i].drops;
		s.receives = rows[i].receives;
		assert_int_equal(site_check(&s, &res, &err), 0);
		counters_get(&s.after, "rx", "socket:drops", &drops);
		assert_int_equal(drops, (uint64_t)rows[i].counted);
		counters_free(&s.after);
	}
}

/* More numbers than the window holds: each may be used when that before it has left. */
CASE_WITH(window_that_moves, open_ends, close_ends)
{
	uint64_t next[TRACE_STREAMS] = {}, end = clock_now() + LATEST_NS;
	struct error err = {};

	if (geteuid())
		skip();
	sender_close(s.sender);
	s.sender_config.count = 6 * TRACE_PAGE_SIZE;
	assert_int_equal(sender_open(&s.sender, &s.sender_config, &err), 0);
	receiver_resume(s.receiver);
	site_start(&s);
	while (!sender_done(s.sender) && clock_now() < end) {
		site_next(&s, next);
		site_fold(&s, next, NULL);
		clock_sleep(1000000);
	}
	assert_true(sender_done(s.sender));
	site_next(&s, next);
	site_fold(&s, next, NULL);
	site_ledger(&s, 0, &res);
	assert_int_equal(res.attempted, s.sender_config.count);
}

/*
 * The properties of a site decide which counters must record a loss (with scope and other counted
 * events), and which may or cannot.
 */
CASE_WITH(counters_that_have_to_know, open_ends, close_ends)
{
	enum {
		LONE = 1 << 0,
		THREADED = 1 << 1,
		TAPS = 1 << 2,
		MOVED = 1 << 3,
		FAULT = 1 << 4, /* an XDP program before the socket */
		SKB = 1 << 5,
		REPLACED = 1 << 6,
		TBF = 1 << 7,
		PORTS = 1 << 8,
		NO_SENDER = 1 << 9,
		PFIFO = 1 << 10,
		NO_RECEIVER = 1 << 11,
		TUNNEL = 1 << 12,
		ROUTER = 1 << 13,
		TX_XDP = 1 << 14,
		TX_XSK = 1 << 15,
		RX_XDP = 1 << 16,
		EVENTS = 7,
		SINK = 5, /* taken by our own program */
	};
	static const char tx_dropped[] = "tx v-tx:tx_dropped", rx_dropped[] = "rx v-rx:rx_dropped",
			  xdp_drops[] = "rx ethtool:v-rx:rx_queue_0_xdp_drops",
			  sndbuf[] = "tx Udp:SndbufErrors";
	static const struct {
		enum stage stage;
		const char *location, *netns, *counter, *scope; /* NULL: no row */
		unsigned site;
	} rows[] = {
		/* The receiver's backlog overflows within the sender's call, or elsewhere. */
		{STAGE_BACKLOG, "", "rx", tx_dropped, "interface", 0},
		{STAGE_BACKLOG, "", "rx", tx_dropped, NULL, LONE},
		{STAGE_BACKLOG, "", "rx", tx_dropped, NULL, THREADED},
		{STAGE_BACKLOG, "", "rx", tx_dropped, NULL, MOVED},
		{STAGE_BACKLOG, "", "rx", tx_dropped, NULL, FAULT},
		{STAGE_BACKLOG, "", "rx", tx_dropped, NULL, NO_RECEIVER},
		{STAGE_BACKLOG, "", "rx", tx_dropped, NULL, TUNNEL},
		{STAGE_BACKLOG, "", "rx", tx_dropped, NULL, RX_XDP},
		{STAGE_BACKLOG, "", "rx", tx_dropped, NULL, TX_XDP},
		/* The owner of the link. */
		{STAGE_TX_DEVICE, "veth_xmit", "rx", tx_dropped, "interface", 0},
		{STAGE_TX_DEVICE, "veth_xmit", "rx", tx_dropped, NULL, LONE},
		{STAGE_TX_DEVICE, "veth_xmit", "rx", tx_dropped, NULL, TAPS},
		{STAGE_TX_DEVICE, "veth_xmit", "rx", tx_dropped, "interface", TUNNEL},
		{STAGE_TX_DEVICE, "veth_xmit", "rx", tx_dropped, NULL, ROUTER},
		{STAGE_TX_DEVICE, "veth_xmit", "rx", "router v-tx:tx_dropped", "interface", ROUTER},
		/* Native XDP is counted, with what our own program takes; generic XDP is not. */
		{STAGE_XDP, "xdp_redirect_err", "rx", rx_dropped, NULL, 0},
		{STAGE_XDP, "xdp_redirect_err", "rx", rx_dropped, "interface", FAULT},
		{STAGE_XDP, "xdp_redirect_err", "rx", rx_dropped, "interface", RX_XDP},
		{STAGE_XDP, "xdp_redirect_err", "rx", rx_dropped, NULL, RX_XDP | SKB},
		{STAGE_XDP, "veth_xdp_rcv_skb", "rx", xdp_drops, "interface", 0},
		{STAGE_XDP, "veth_xdp_rcv_skb", "rx", xdp_drops, "interface", RX_XDP},
		{STAGE_XDP, "veth_xdp_rcv_skb", "rx", xdp_drops, "interface", RX_XDP | SKB},
		/* The result of send() depends on the qdisc and on the owner of the socket. */
		{STAGE_QDISC, "__dev_queue_xmit", "tx", sndbuf, NULL, 0},
		{STAGE_QDISC, "__dev_queue_xmit", "tx", sndbuf, "flow", TBF},
		{STAGE_QDISC, "__dev_queue_xmit", "tx", sndbuf, "host", TBF | PORTS},
		{STAGE_QDISC, "__dev_queue_xmit", "tx", sndbuf, NULL, TBF | NO_SENDER},
		{STAGE_QDISC, "__dev_queue_xmit", "tx", sndbuf, NULL, TBF | TX_XSK},
		{STAGE_QDISC, "__dev_queue_xmit", "tx", sndbuf, "flow", TAPS},
		{STAGE_QDISC, "__dev_queue_xmit", "tx", sndbuf, NULL, LONE},
		{STAGE_QDISC, "__dev_queue_xmit", "tx", sndbuf, "host", LONE | PFIFO},
		{STAGE_TX_DEVICE, "", "tx", sndbuf, "flow", 0},
		{STAGE_TX_DEVICE, "", "tx", sndbuf, NULL, REPLACED},
	};
	struct sender *sender = s.sender;
	struct receiver *receiver = s.receiver;
	const struct lab lab = s.lab;
	struct error err = {};

	send_all();
	s.receiver = NULL;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const unsigned is = rows[i].site;
		const uint64_t expected =
			EVENTS +
			((is & (RX_XDP | SKB)) == RX_XDP && rows[i].counter == xdp_drops) * SINK;
		struct ledger_cause *c = &s.ledger.cause[0];
		const struct result_counter *found = NULL;
		struct run_spec spec = both;

		if (is & PFIFO) {
			struct recipe r = RECIPE;

			recipe_add(&r, RECIPE_TC, &s.lab.tx_ns,
				   "qdisc replace dev v-tx root pfifo limit 10");
			assert_int_equal(recipe_run(&r, "add a pfifo", &err), 0);
		}
		spec.tx = is & TX_XDP ? &tx_xdp : is & TX_XSK ? &tx_xsk : &tx_socket;
		spec.rx = is & RX_XDP ? &rx_xdp : &rx_socket;
		spec.port_a = is & PORTS ? "a" : NULL;
		spec.wish.rps_set = is & MOVED;
		s.spec = &spec;
		s.lab.topology = is & TUNNEL ? LAB_VXLAN : is & ROUTER ? LAB_ROUTER : LAB_PAIR;
		s.lab.taps = is & TAPS ? (void *)&s : NULL;
		s.lab.router_ns = lab.tx_ns;
		s.lab.router_tx.ns = is & TUNNEL   ? &s.lab.tx_ns
				     : is & ROUTER ? &s.lab.router_ns
						   : NULL;
		s.lab.router_rx.ns = is & TUNNEL   ? &s.lab.rx_ns
				     : is & ROUTER ? &s.lab.router_ns
						   : NULL;
		s.lab.router_tx.role = is & TUNNEL ? "tx" : "router";
		s.lab.router_rx.role = is & TUNNEL ? "rx" : "router";
		/* the interfaces of a tunnel differ from the interfaces of the underlying link */
		strcpy(s.lab.tx.ifname, is & TUNNEL ? "lo" : "v-tx");
		strcpy(s.lab.rx.ifname, is & TUNNEL ? "lo" : "v-rx");
		strcpy(s.lab.router_tx.ifname, is & (TUNNEL | ROUTER) ? "v-tx" : "");
		strcpy(s.lab.router_rx.ifname, is & TUNNEL ? "v-rx" : is & ROUTER ? "v-tx" : "");
		s.lone = is & LONE;
		s.in_lab = !(is & (LONE | PORTS));
		s.receives = !(is & NO_RECEIVER);
		s.sender = is & NO_SENDER ? NULL : sender;
		s.fx = (struct fault_effects){.threaded_napi = is & THREADED,
					      .xdp = is & FAULT,
					      .qdisc_replaced = is & REPLACED,
					      .tbf_bps = is & TBF ? 1000000 : 0};
		s.receiver_config.xdp_skb_mode = is & SKB;
		s.rx = (struct rx_stats){.socket_drops = -1, .xdp_drops = SINK};
		*c = (struct ledger_cause){
			.raw = {.index = 1, .count = {.events = EVENTS, .packets = EVENTS}},
			.named.stage = rows[i].stage};
		snprintf(c->named.location, sizeof(c->named.location), "%s", rows[i].location);
		snprintf(c->named.netns, sizeof(c->named.netns), "%s", rows[i].netns);
		snprintf(c->named.ifname, sizeof(c->named.ifname), "v-%s", rows[i].netns);
		s.ledger.n = 1;
		memset(&res, 0, sizeof(res));
		res.stage[rows[i].stage].packets = EVENTS;
		counters_free(&s.before);
		assert_int_equal(site_read_counters(&s, &s.before, &err), 0);
		assert_int_equal(site_check(&s, &res, &err), 0);
		for (unsigned k = 0; k < res.n_counters; k++) {
			if (res.counter[k].stage == rows[i].stage &&
			    !strcmp(res.counter[k].name, rows[i].counter))
				found = &res.counter[k];
		}
		if (!found != !rows[i].scope ||
		    (found && (strcmp(found->scope, rows[i].scope) || found->expected != expected)))
			fail_msg("row %u: %s %d", i, found ? found->scope : "none",
				 found ? (int)found->expected : 0);
		counters_free(&s.after);
	}
	s.lab = lab;
	s.spec = &both;
	s.sender = sender;
	s.receiver = receiver;
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
	const bool skips = quirks_found()[QUIRK_SUPPRESSED] == QUIRK_FOUND;
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
		assert_int_equal(res.losses.suppressed, skips ? rows[i].named : 0);
		assert_int_equal(!*res.losses.suppressed_evidence, !res.losses.suppressed);
	}
}
