// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What became of segments that were sent again, from trails that no host has left. */
#include "cases.h"

#include <string.h>

#include "ledger/tcp_join.h"

#define MSS 1000
#define ISN 5000u

/* Hosts in path order, the sender first. One flow by default. */
struct scene {
	struct tcp_join_host host[4];
	unsigned hosts, sender;
	uint64_t ms;
	struct tcp_joint sum;
	struct tcp_join_flow flow; /* the last one */
	unsigned flows;
	uint64_t lost, wire, not_lost; /* of all of them */
};

static struct watch_flow key_of(uint16_t src, uint16_t dst)
{
	return (struct watch_flow){.family = 2,
				   .proto = 6,
				   .src = {10, 1},
				   .dst = {10, 2},
				   .src_port = src,
				   .dst_port = dst};
}

static struct trail_flow *flow_at(struct scene *s, unsigned host, struct watch_flow key,
				  uint64_t first, uint64_t bytes)
{
	struct trail *t = s->host[host].trail;
	struct trail_flow *f = trail_flow(t, trail_make(t, &key, !host));

	f->first = first;
	f->next = first + bytes;
	f->acked = host ? 0 : f->next;
	f->begun = f->known = true;
	f->ttl = (uint8_t)(64 - host);
	return f;
}

static struct scene begun(unsigned hosts)
{
	struct scene s = {.hosts = hosts};

	for (unsigned i = 0; i < hosts; i++) {
		s.host[i] = (struct tcp_join_host){.trail = trail_new(), .ended_ns = 1000000000};
		flow_at(&s, i, key_of(1, 2), ISN, 100 * MSS);
	}
	return s;
}

/* Of a flow of a host: the segment that begins at this number of segments. */
static void note_of(struct scene *s, unsigned host, uint32_t flow, enum trail_what what,
		    unsigned segment, enum stage stage)
{
	uint64_t first = trail_flow(s->host[host].trail, flow)->first;

	trail_add(s->host[host].trail, &(struct trail_range){
					       .from = first + 1 + segment * MSS,
					       .to = first + 1 + (segment + 1) * MSS,
					       .time_ns = ++s->ms * 1000000,
					       .flow = flow,
					       .what = (uint8_t)what,
					       .stage = (uint8_t)stage,
				       });
}

static void note(struct scene *s, unsigned host, enum trail_what what, unsigned segment,
		 enum stage stage)
{
	note_of(s, host, 0, what, segment, stage);
}

static void resends(struct scene *s, unsigned segment)
{
	note(s, 0, TRAIL_RESENT, segment, 0);
}

static void comes_again(struct scene *s, unsigned host, unsigned segment)
{
	note(s, host, TRAIL_AGAIN, segment, 0);
}

static void on_flow(void *arg, const struct tcp_join_flow *f)
{
	struct scene *s = arg;

	assert_int_equal(f->segments, f->lost + f->wire + f->not_lost + f->undecided);
	s->flow = *f;
	s->flows++;
	s->lost += f->lost;
	s->wire += f->wire;
	s->not_lost += f->not_lost;
}

static uint64_t undecided(const struct scene *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < JOIN_WHYS; i++)
		n += s->sum.undecided[i];
	return n;
}

static void joins(struct scene *s)
{
	uint64_t lost = 0, wire = 0;

	s->lost = s->wire = s->not_lost = 0;
	tcp_join_prepare(s->host, s->hosts);
	tcp_join(s->host, s->hosts, s->sender, &s->sum, on_flow, s);
	for (unsigned i = 0; i < s->hosts; i++) {
		for (unsigned k = 0; k < s->hosts; k++)
			wire += s->sum.wire[i][k];
		for (unsigned k = 0; k < STAGE_COUNT; k++)
			lost += s->sum.lost[i][k];
	}
	assert_int_equal(s->sum.segments, undecided(s) + s->sum.not_lost + wire + lost);
	assert_int_equal(s->lost, lost);
	assert_int_equal(s->wire, wire);
	assert_int_equal(s->not_lost, s->sum.not_lost);
}

static void ends(struct scene *s)
{
	for (unsigned i = 0; i < s->hosts; i++)
		trail_free(s->host[i].trail);
}

CASE(each_outcome)
{
	struct scene s = begun(2);

	/* passed over, and then it came */
	resends(&s, 1);
	note(&s, 1, TRAIL_HOLE, 1, 0);
	comes_again(&s, 1, 1);
	/* the last of a flight: it came once, as the next one */
	resends(&s, 3);
	/* dropped there and retransmitted, twice */
	resends(&s, 5);
	note(&s, 1, TRAIL_DROPPED, 5, STAGE_NETFILTER);
	comes_again(&s, 1, 5);
	resends(&s, 7);
	resends(&s, 7);
	note(&s, 1, TRAIL_DROPPED, 7, STAGE_NETFILTER);
	comes_again(&s, 1, 7);
	note(&s, 1, TRAIL_DROPPED, 7, STAGE_TCP_RCVBUF);
	comes_again(&s, 1, 7);
	/* arrived twice */
	resends(&s, 9);
	comes_again(&s, 1, 9);
	note(&s, 1, TRAIL_TWICE, 9, 0);
	/* arrived twice, with an unknown outcome of the first */
	resends(&s, 11);
	comes_again(&s, 1, 11);
	/* dropped there before it came to the entry */
	resends(&s, 13);
	note(&s, 1, TRAIL_HOLE, 13, 0);
	note(&s, 1, TRAIL_OUTSIDE, 13, STAGE_BACKLOG);
	comes_again(&s, 1, 13);
	/* lost between the hosts, and later segments dropped as data of a closed connection */
	resends(&s, 15);
	note(&s, 1, TRAIL_HOLE, 15, 0);
	comes_again(&s, 1, 15);
	note(&s, 1, TRAIL_DROPPED, 15, STAGE_TCP_STATE);
	/* arrived, then arrived again and was dropped: only the second is lost */
	resends(&s, 17);
	comes_again(&s, 1, 17);
	note(&s, 1, TRAIL_DROPPED, 17, STAGE_NETFILTER);
	joins(&s);
	assert_int_equal(s.flows, 1);
	assert_int_equal(s.sum.segments, 10);
	assert_int_equal(s.sum.wire[0][1], 3);
	assert_int_equal(s.sum.lost[1][STAGE_NETFILTER], 3);
	assert_int_equal(s.sum.lost[1][STAGE_TCP_RCVBUF], 1);
	assert_int_equal(s.sum.lost[1][STAGE_BACKLOG], 1);
	assert_int_equal(s.sum.not_lost, 1);
	assert_int_equal(s.sum.undecided[JOIN_NO_EVENT], 1);
	ends(&s);
}

/* Of a number that came three times, each time another end: none is taken for another's. */
CASE(each_is_taken_once)
{
	static const enum trail_what ends_as[] = {TRAIL_OUTSIDE, TRAIL_DROPPED, TRAIL_TWICE};

	for (enum stage stage = 0; stage < STAGE_COUNT; stage++) {
		for (unsigned i = 0; i < 3; i++) {
			struct scene s = begun(2);
			bool lost = ends_as[i] != TRAIL_TWICE;

			for (unsigned n = 0; n < 3; n++)
				resends(&s, 5);
			note(&s, 1, ends_as[i], 5, stage);
			comes_again(&s, 1, 5);
			if (ends_as[i] != TRAIL_OUTSIDE)
				comes_again(&s, 1, 5);
			joins(&s);
			assert_int_equal(s.sum.wire[0][1], 1);
			assert_int_equal(s.sum.lost[1][stage], lost);
			assert_int_equal(s.sum.not_lost, !lost);
			assert_int_equal(s.sum.undecided[JOIN_NO_EVENT], 1);
			ends(&s);
		}
	}
}

/* A range ends at the start of the next range, and may contain several segments. */
CASE(ranges_have_ends)
{
	struct scene s = begun(2);
	struct trail_range hole = {.from = ISN + 1 + 20 * MSS, .to = ISN + 1 + 23 * MSS};

	resends(&s, 2);
	comes_again(&s, 1, 1);
	comes_again(&s, 1, 3);
	joins(&s);
	assert_int_equal(s.sum.wire[0][1], 1);
	ends(&s);

	s = begun(2);
	hole.what = TRAIL_HOLE;
	trail_add(s.host[1].trail, &hole);
	for (unsigned i = 19; i < 24; i++) {
		resends(&s, i);
		comes_again(&s, 1, i);
	}
	joins(&s);
	assert_int_equal(s.sum.wire[0][1], 3);
	assert_int_equal(s.sum.undecided[JOIN_NO_EVENT], 2);
	ends(&s);
}

/*
 * Flows with the same numbers, unordered, in lists that fill their memory. For even flows all
 * segments arrived, for odd flows no retransmission arrived. The last flow is unknown at the
 * receiver.
 */
CASE(flows_beside_each_other)
{
	struct scene s = begun(2);

	for (unsigned i = 1; i < 64; i++) {
		flow_at(&s, 1, key_of((uint16_t)(1 + i), 2), ISN, 100 * MSS);
		if (i < 32)
			flow_at(&s, 0, i < 31 ? key_of((uint16_t)(1 + i), 2) : key_of(500, 600),
				ISN, 100 * MSS);
	}
	for (unsigned i = 0; i < 64; i++)
		note_of(&s, 0, 31 - i % 32, TRAIL_RESENT, 1, 0);
	for (unsigned i = 30; i < 32; i -= 2) {
		note_of(&s, 1, i, TRAIL_TWICE, 1, 0);
		note_of(&s, 1, i, TRAIL_DROPPED, 1, STAGE_NETFILTER);
		note_of(&s, 1, i, TRAIL_AGAIN, 1, 0);
		note_of(&s, 1, i, TRAIL_AGAIN, 1, 0);
	}
	assert_int_equal(s.host[0].trail->ranges.n, s.host[0].trail->ranges.cap);
	assert_int_equal(s.host[1].trail->ranges.n, s.host[1].trail->ranges.cap);
	assert_int_equal(s.host[1].trail->flows.n, s.host[1].trail->flows.cap);
	joins(&s);
	assert_int_equal(s.flows, 32);
	assert_int_equal(s.sum.segments, 64);
	assert_int_equal(s.sum.wire[0][1], 30);
	assert_int_equal(s.sum.lost[1][STAGE_NETFILTER], 16);
	assert_int_equal(s.sum.not_lost, 16);
	assert_int_equal(s.sum.undecided[JOIN_ELSEWHERE], 2);
	ends(&s);
}

/* A segment that never left its sender is not lost downstream. */
CASE(the_last_one_stayed)
{
	struct scene s = begun(2);
	struct trail_flow *to = trail_flow(s.host[1].trail, 0);

	to->came = to->taken = 100;
	/* skipped, arrived, and was still retransmitted */
	resends(&s, 1);
	note(&s, 1, TRAIL_HOLE, 1, 0);
	comes_again(&s, 1, 1);
	resends(&s, 1);
	note(&s, 0, TRAIL_DROPPED, 1, STAGE_NETFILTER);
	joins(&s);
	assert_int_equal(s.sum.wire[0][1], 1);
	assert_int_equal(s.sum.not_lost, 1);
	ends(&s);
}

/* Sockets count received segments. A duplicate that is merged with new data causes no event. */
CASE(twice_without_an_event)
{
	for (unsigned missing = 0; missing < 4; missing++) {
		struct scene s = begun(2);
		struct trail_flow *to = trail_flow(s.host[1].trail, 0);

		to->came = 103;
		to->dropped = 1;
		to->taken = 102 - missing;
		for (unsigned i = 0; i < 3; i++) {
			resends(&s, 2 * i);
			comes_again(&s, 1, 2 * i);
		}
		note(&s, 1, TRAIL_DROPPED, 0, STAGE_NETFILTER);
		joins(&s);
		assert_int_equal(s.sum.lost[1][STAGE_NETFILTER], 1);
		assert_int_equal(s.sum.undecided[JOIN_NO_EVENT], missing < 2 ? missing : 2);
		assert_int_equal(s.sum.not_lost, missing < 2 ? 2 - missing : 0);
		ends(&s);
	}
}

CASE(a_way_of_three)
{
	struct scene s = begun(4);
	struct tcp_join_host middle = s.host[1];

	/* lost before the first, at it, between it and the second, at that, at the receiver */
	for (unsigned i = 0; i < 5; i++) {
		resends(&s, 2 * i);
		for (unsigned host = 1; host < 4; host++) {
			bool came = host == 1 ? i > 0 : host == 2 ? i > 2 : i > 3;

			if (!came)
				note(&s, host, TRAIL_HOLE, 2 * i, 0);
			if (host == (i == 1 ? 1 : i < 3 ? 0 : i - 1))
				note(&s, host, TRAIL_DROPPED, 2 * i, STAGE_NETFILTER);
			comes_again(&s, host, 2 * i);
		}
	}
	/* the order by TTL matters, the order in the list does not */
	s.host[1] = s.host[3];
	s.host[3] = middle;
	joins(&s);
	assert_int_equal(s.sum.wire[0][3], 1);
	assert_int_equal(s.sum.lost[3][STAGE_NETFILTER], 1);
	assert_int_equal(s.sum.wire[3][2], 1);
	assert_int_equal(s.sum.lost[2][STAGE_NETFILTER], 1);
	assert_int_equal(s.sum.lost[1][STAGE_NETFILTER], 1);
	assert_int_equal(s.flow.n, 3);
	assert_int_equal(s.flow.way[0].host, 3);
	assert_int_equal(s.flow.way[2].host, 1);
	ends(&s);
}

/* Some segments are dropped at one host, and another segment is lost after that host. */
CASE(what_is_let_through)
{
	for (unsigned stayed = 0; stayed < 2; stayed++) { /* at its sender */
		struct scene s = begun(3);

		for (unsigned i = 0; i < 2; i++) {
			resends(&s, 1);
			if (!stayed || !i)
				comes_again(&s, 1, 1);
		}
		if (stayed)
			note(&s, 0, TRAIL_DROPPED, 1, STAGE_NETFILTER);
		note(&s, 1, TRAIL_DROPPED, 1, STAGE_NETFILTER);
		note(&s, 2, TRAIL_HOLE, 1, 0);
		comes_again(&s, 2, 1);
		joins(&s);
		assert_int_equal(s.sum.wire[0][1], 0);
		assert_int_equal(s.sum.lost[1][STAGE_NETFILTER], 1);
		assert_int_equal(s.sum.wire[1][2], !stayed);
		ends(&s);
	}
}

/* Two that are as far away are passed in the order of the list. */
CASE(as_far_away)
{
	static const unsigned way[] = {1, 2, 0};
	struct scene s = begun(4);
	struct tcp_join_host last = s.host[3];

	trail_flow(s.host[2].trail, 0)->ttl++;
	resends(&s, 1);
	s.host[3] = s.host[0];
	s.host[0] = last;
	s.sender = 3;
	joins(&s);
	assert_int_equal(s.flow.n, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(s.flow.way[i].host, way[i]);
	ends(&s);
}

/*
 * A SYN or FIN that arrived twice had arrived before, unless a listener lost some without an event.
 * For data this cannot be concluded.
 */
CASE(what_is_bare)
{
	static const struct {
		uint64_t isn, from, to; /* above it */
		bool bare;
	} rows[] = {
		{ISN, 0, 1, true},
		{0, 0, 1, true},
		{ISN, 100 * MSS - 1, 100 * MSS, true},
		{ISN, 0, 1 + MSS, false}, /* with data, for example TCP Fast Open */
		{ISN, 99 * MSS, 100 * MSS, false},
		{ISN, 50 * MSS, 50 * MSS + 1, false},
	};

	for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const unsigned refuses = i % 2, n = i / 2;
		struct scene s = begun(2);
		struct trail_range range = {.from = rows[n].isn + rows[n].from,
					    .to = rows[n].isn + rows[n].to,
					    .what = TRAIL_RESENT};

		for (unsigned host = 0; host < 2; host++)
			flow_at(&s, host, key_of(1, 2), rows[n].isn, 100 * MSS);
		trail_add(s.host[0].trail, &range);
		range.what = TRAIL_AGAIN;
		trail_add(s.host[1].trail, &range);
		s.host[1].refuses = refuses;
		joins(&s);
		assert_int_equal(s.sum.not_lost, rows[n].bare && !refuses);
		assert_int_equal(s.sum.undecided[JOIN_NO_EVENT], !rows[n].bare || refuses);
		ends(&s);
	}
}

CASE(what_was_not_watched)
{
	static const struct {
		int64_t first, bytes; /* at the entry */
		uint64_t acked, ended_ns;
		enum tcp_join_why why;
		bool stayed; /* the last one has not left its sender */
	} rows[] = {
		{50 * MSS, 50 * MSS, 100 * MSS, 1000000000, JOIN_BEFORE, false},
		/* the first watched segment, and the segment after the last */
		{10 * MSS + 1, 50 * MSS, 100 * MSS, 1000000000, JOIN_WHYS, false},
		{10 * MSS + 2, 50 * MSS, 100 * MSS, 1000000000, JOIN_BEFORE, false},
		{0, 10 * MSS + 1, 100 * MSS, 1000000000, JOIN_AFTER, false},
		{0, 10 * MSS + 1, 5 * MSS, 1000000000, JOIN_WHYS, true},
		{0, 5 * MSS, 10 * MSS + 1, 1000000000, JOIN_WHYS, false},
		{0, 5 * MSS, 10 * MSS + 2, 1000000000, JOIN_AFTER, false},
		{0, 5 * MSS, 100 * MSS, 1000000000, JOIN_AFTER,
		 false},					     /* it has come, unseen there */
		{0, 5 * MSS, 5 * MSS, 1000, JOIN_AFTER, false},	     /* tracing had ended */
		{0, 5 * MSS, 5 * MSS, 1000000000, JOIN_WHYS, false}, /* it never came */
		/* sent after 1 ms; the clocks may differ by 100 ms */
		{0, 5 * MSS, 5 * MSS, 101000000, JOIN_AFTER, false},
		{0, 5 * MSS, 5 * MSS, 101000001, JOIN_WHYS, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = begun(2);
		struct trail_flow *to = trail_flow(s.host[1].trail, 0);

		trail_flow(s.host[0].trail, 0)->acked = ISN + rows[i].acked;
		to->begun = !rows[i].first;
		to->first = ISN + (uint64_t)rows[i].first;
		to->next = to->first + (uint64_t)rows[i].bytes;
		s.host[1].ended_ns = rows[i].ended_ns;
		resends(&s, 10);
		if (rows[i].stayed)
			note(&s, 0, TRAIL_DROPPED, 10, STAGE_NETFILTER);
		joins(&s);
		assert_int_equal(s.sum.wire[0][1], rows[i].why == JOIN_WHYS);
		if (rows[i].why != JOIN_WHYS)
			assert_int_equal(s.sum.undecided[rows[i].why], 1);
		ends(&s);
	}
}

/* A second connection took its name: of the first no first and last number is known any more. */
CASE(name_given_again)
{
	struct scene s = begun(2);

	resends(&s, 10);
	trail_flow(s.host[0].trail, 0)->first += 20 * MSS;
	trail_flow(s.host[1].trail, 0)->first += 20 * MSS;
	joins(&s);
	assert_int_equal(s.sum.undecided[JOIN_REUSED], 1);
	assert_int_equal(s.sum.wire[0][1], 0);
	ends(&s);
}

/*
 * A skipped range never arrived, but the receiver has it: the entry point did not see all segments.
 */
CASE(some_went_by)
{
	struct scene s = begun(2);

	note(&s, 1, TRAIL_HOLE, 20, 0);
	resends(&s, 1);
	note(&s, 1, TRAIL_HOLE, 1, 0);
	comes_again(&s, 1, 1);
	resends(&s, 3);
	note(&s, 1, TRAIL_DROPPED, 3, STAGE_NETFILTER);
	comes_again(&s, 1, 3);
	joins(&s);
	assert_int_equal(s.sum.undecided[JOIN_UNSEEN], 1);
	assert_int_equal(s.sum.lost[1][STAGE_NETFILTER], 1); /* that is seen */
	ends(&s);
}

/* A skipped range before the receiver got any data is excluded, regardless of its numbers. */
CASE(behind_what_has_come)
{
	for (unsigned late = 0; late < 2; late++) {
		const uint64_t shift = late ? 1ULL << 32 : 0;
		struct scene s = begun(2);

		for (unsigned host = 0; host < 2; host++) {
			struct trail_flow *f = trail_flow(s.host[host].trail, 0);

			f->begun = !late;
			f->first += host ? shift : 0;
			f->next = f->first + 100 * MSS;
			f->acked = host ? 0 : f->first + 1 + 20 * MSS;
		}
		note(&s, 1, TRAIL_HOLE, 20, 0);
		resends(&s, 1);
		note(&s, 1, TRAIL_HOLE, 1, 0);
		comes_again(&s, 1, 1);
		joins(&s);
		assert_int_equal(s.sum.undecided[JOIN_UNSEEN], 0);
		assert_int_equal(s.sum.wire[0][1], 1);
		ends(&s);
	}
}

/* Missing reports of a host with missed events prove nothing. */
CASE(records_were_lost)
{
	for (unsigned how = 0; how < 3; how++) {
		struct scene s = begun(2);

		s.host[1].torn = how == 0;
		trail_flow(s.host[1].trail, 0)->cut = how == 1;
		if (how == 2) { /* the flow may be among those that found no room */
			s.host[1].crowded = true;
			trail_flow(s.host[1].trail, 0)->known = false;
		}
		resends(&s, 1);
		joins(&s);
		assert_int_equal(s.sum.undecided[JOIN_FULL], 1);
		ends(&s);
	}
}

CASE(numbers_of_flows_that_were_there)
{
	static const struct {
		bool begun;
		uint64_t here, there; /* above the first number of the sender; and its own window */
		uint64_t bytes;
		enum tcp_join_why why;
		uint64_t others; /* of the receiver's window, if it is another one */
	} rows[] = {
		{true, 0, 0, 1ULL << 34, JOIN_WHYS, 0},
		{true, 0, 1, 100 * MSS, JOIN_SEQUENCE,
		 0}, /* another first number: a proxy is between */
		{false, 1ULL << 33, 1ULL << 32, 100 * MSS, JOIN_WHYS, 0},
		{false, 0, 1ULL << 32, 100 * MSS, JOIN_WHYS, 0},
		{false, 0, (1ULL << 32) + (1 << 30), 100 * MSS, JOIN_SEQUENCE, 0},
		{false, 1 << 30, 1ULL << 32, 100 * MSS, JOIN_SEQUENCE, 0},
		{false, 0, 1ULL << 32, 1ULL << 31, JOIN_WRAPPED, 0},
		{false, 0, 1ULL << 32, 1ULL << 31, JOIN_WRAPPED, 100 * MSS},
		{false, 0, 1ULL << 32, 100 * MSS, JOIN_WRAPPED, 1ULL << 31},
		/* one host started to trace after the other had ended: still one connection */
		{false, 0, (1ULL << 32) + 100 * MSS, 100 * MSS, JOIN_WHYS, 0},
		{false, 100 * MSS, 1ULL << 32, 100 * MSS, JOIN_WHYS, 0},
		{false, 0, (1ULL << 32) + 101 * MSS, 100 * MSS, JOIN_SEQUENCE, 0},
		{false, 101 * MSS, 1ULL << 32, 100 * MSS, JOIN_SEQUENCE, 0},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = begun(2);
		struct trail_flow *from = trail_flow(s.host[0].trail, 0);
		struct trail_flow *to = trail_flow(s.host[1].trail, 0);

		from->begun = rows[i].begun;
		from->first += rows[i].here;
		from->next = from->acked = from->first + rows[i].bytes;
		to->first += rows[i].there;
		to->next = to->first + (rows[i].others ? rows[i].others : rows[i].bytes);
		resends(&s, 1);
		note(&s, 1, TRAIL_HOLE, 1, 0);
		comes_again(&s, 1, 1);
		resends(&s, 3);
		comes_again(&s, 1, 3);
		joins(&s);
		assert_int_equal(s.sum.wire[0][1],
				 rows[i].why == JOIN_WHYS &&
					 (uint32_t)rows[i].here == (uint32_t)rows[i].there);
		assert_int_equal(s.flow.n, rows[i].why == JOIN_WHYS);
		if (rows[i].why != JOIN_WHYS) {
			assert_int_equal(s.sum.undecided[rows[i].why], 2);
			assert_int_equal(s.flow.unjoined, rows[i].why);
		}
		ends(&s);
	}
}

/* By NAT: one end keeps its name, and the first number is the same. */
CASE(a_flow_that_is_renamed)
{
	static const struct {
		struct trail_flow to; /* the addition to the receiver's count */
		bool late;	      /* the sender's was there before */
		bool joined;
	} rows[] = {
		{.to = {.key.src[3] = 9}, .joined = true},
		{.to = {.key.src_port = 9}, .joined = true},
		{.to = {.key.src[3] = 9, .key.src_port = 9}, .joined = true},
		{.to = {.key.dst[3] = 9}, .joined = true},
		{.to = {.key.dst_port = 9}, .joined = true},
		{.to = {.key.dst[3] = 9, .key.dst_port = 9}, .joined = true},
		{.to = {.key.src[3] = 9, .key.dst[3] = 9}},
		{.to = {.key.src_port = 9, .key.dst_port = 9}},
		{.to = {.key.src[3] = 9, .key.dst_port = 9}},
		{.to = {.key.src_port = 9, .key.dst[3] = 9}},
		{.to = {.key.src[3] = 9, .key.family = 8}},
		{.to = {.key.src[3] = 9, .first = 1}},
		{.to = {.key.src[3] = 9, .begun = true}}, /* not in its beginning */
		{.to = {.key.src[3] = 9}, .late = true},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = begun(2);
		struct trail_flow *x = trail_flow(s.host[1].trail, 0);

		x->key.src[3] ^= rows[i].to.key.src[3];
		x->key.dst[3] ^= rows[i].to.key.dst[3];
		x->key.src_port ^= rows[i].to.key.src_port;
		x->key.dst_port ^= rows[i].to.key.dst_port;
		x->key.family ^= rows[i].to.key.family;
		x->first += rows[i].to.first;
		x->begun ^= rows[i].to.begun;
		trail_flow(s.host[0].trail, 0)->begun = !rows[i].late;
		resends(&s, 1);
		joins(&s);
		assert_int_equal(s.sum.wire[0][1], rows[i].joined);
		assert_int_equal(s.sum.undecided[JOIN_ELSEWHERE], !rows[i].joined);
		ends(&s);
	}
}

/* Crafted input that would take forever ends early, without a conclusion. */
CASE(lists_that_are_made_to_last)
{
	struct scene s = begun(2);
	struct trail_range all = {.from = ISN, .to = ISN + (1ULL << 40), .what = TRAIL_AGAIN};

	for (unsigned i = 0; i < 2 * TRAIL_RANGES; i++) {
		trail_add(s.host[0].trail,
			  &(struct trail_range){.from = ISN + 1 + i, .to = ISN + 2 + i});
		trail_add(s.host[1].trail, &all);
	}
	assert_int_equal(s.host[0].trail->ranges.n, TRAIL_RANGES);
	assert_int_equal(s.host[0].trail->lost_resent, TRAIL_RANGES);
	assert_true(trail_flow(s.host[1].trail, 0)->cut);
	joins(&s);
	assert_int_equal(s.sum.segments, 2 * TRAIL_RANGES);
	assert_int_equal(undecided(&s), s.sum.segments);
	assert_true(s.sum.undecided[JOIN_FULL] > TRAIL_RANGES);
	ends(&s);
}

/* Where a number stands is searched for, not walked to. */
CASE(long_lists_of_short_ranges)
{
	struct scene s = begun(2);

	for (unsigned i = 0; i < TRAIL_RANGES; i++) {
		struct trail_range range = {.from = ISN + 1 + i, .to = ISN + 2 + i};

		trail_add(s.host[0].trail, &range);
		range.what = TRAIL_AGAIN;
		trail_add(s.host[1].trail, &range);
	}
	joins(&s);
	assert_int_equal(s.sum.segments, TRAIL_RANGES);
	assert_int_equal(s.sum.undecided[JOIN_NO_EVENT], TRAIL_RANGES);
	ends(&s);
}

CASE(more_flows_than_there_is_room_for)
{
	struct trail *t = trail_new();
	struct watch_flow key = {};

	for (unsigned i = 0; i < TRAIL_FLOWS + 7; i++) {
		memcpy(key.src, &i, sizeof(i));
		assert_int_equal(trail_make(t, &key, false), i < TRAIL_FLOWS ? i : TRAIL_NONE);
	}
	assert_int_equal(t->lost_flows, 7);
	trail_add(t, &(struct trail_range){.flow = TRAIL_NONE, .what = TRAIL_HOLE});
	assert_int_equal(t->lost_ranges, 1);
	assert_int_equal(t->ranges.n, 0);
	key.src[0]--;
	assert_true(trail_find(t, &key, true) == TRAIL_NONE);
	trail_free(t);
}
