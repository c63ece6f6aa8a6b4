// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The balance of a flow: what adds up to what, and who is to blame. */
#include "cases.h"

#include <errno.h>
#include <string.h>

#include "monitor/session.h"

/* Counts do not begin at 0: those of the time before it are no part of it. */
static struct flow_facts facts(void)
{
	struct flow_facts f = {
		.begin.sum = {.entered = 1000,
			      .left = 100,
			      .delivered = 800,
			      .undecided = 3,
			      .unread = 7},
		.begin.dropped = {[SIDE_INSIDE] = 60, [SIDE_OUTSIDE] = 5},
		.begin.queued = 40,
	};

	f.end = f.begin;
	return f;
}

static struct flow_balance closed(const struct flow_facts *f)
{
	struct flow_balance b;

	flow_balance_close(&b, f);
	assert_int_equal(b.arrived, (int64_t)(b.delivered + b.dropped + b.suspected) + b.in_flight +
					    b.unaccounted);
	return b;
}

/* Drops that the collector has counted, too. */
static void lose(struct flow_facts *f, enum balance_side side, uint64_t packets)
{
	f->end.dropped[side] += packets;
	f->in_rows += packets;
}

CASE(nothing)
{
	struct flow_facts f = facts();
	struct flow_balance b = closed(&f);

	assert_int_equal(b.arrived, 0);
	assert_true(b.balanced);
	assert_int_equal(b.verdict, FLOW_NONE_SEEN);
}

CASE(all_terms)
{
	struct flow_facts f = facts();
	struct flow_balance b;

	f.end.sum.entered += 100;
	f.end.sum.left += 10;
	f.end.sum.delivered += 70;
	lose(&f, SIDE_INSIDE, 15);
	lose(&f, SIDE_OUTSIDE, 4);
	f.end.queued += 5;
	b = closed(&f);
	assert_int_equal(b.arrived, 94);
	assert_int_equal(b.delivered, 70);
	assert_int_equal(b.dropped, 19);
	assert_int_equal(b.in_flight, 5);
	assert_int_equal(b.unaccounted, 0);
	assert_int_equal(b.left, 10);
	assert_true(b.balanced);
	assert_int_equal(b.verdict, FLOW_THIS_HOST);
}

static const char *sentence(struct json_object *list, size_t i)
{
	return json_object_get_string(json_object_array_get_idx(list, i));
}

/* The collector began later or ended earlier: its rows change no term, and the difference is said. */
CASE(rows_of_another_time)
{
	struct flow_facts f = facts();
	struct flow_balance b;
	struct json_object *list;

	f.end.sum.entered += 10;
	f.end.sum.delivered += 6;
	lose(&f, SIDE_INSIDE, 4);
	f.in_rows = 3;
	b = closed(&f);
	assert_int_equal(b.arrived, 10);
	assert_int_equal(b.dropped, 4);
	assert_true(b.balanced);
	list = flow_balance_rests_on(&b);
	assert_string_equal(sentence(list, 1), "the rows hold 1 drop fewer than the balance");
	json_object_put(list);
}

/* A drop that was counted twice, or not at all, is not made up for. */
CASE(drops_that_do_not_fit)
{
	struct flow_facts f = facts();
	struct flow_balance b;

	f.end.sum.entered += 10;
	f.end.sum.delivered += 6;
	lose(&f, SIDE_INSIDE, 5);
	b = closed(&f);
	assert_int_equal(b.unaccounted, -1);
	assert_false(b.balanced);
	f.end.dropped[SIDE_INSIDE] -= 2;
	b = closed(&f);
	assert_int_equal(b.unaccounted, 1);
	assert_false(b.balanced);
}

/* What may be a loss is a term of its own, and nothing balances while it is undecided. */
CASE(suspected)
{
	struct flow_facts f = facts();
	struct flow_balance b;

	f.end.sum.entered += 10;
	f.end.sum.delivered += 6;
	lose(&f, SIDE_INSIDE, 1);
	f.end.suspected[SIDE_INSIDE] += 2;
	f.end.suspected[SIDE_OUTSIDE] += 1;
	f.end.sum.entered -= 1;
	b = closed(&f);
	assert_int_equal(b.arrived, 10);
	assert_int_equal(b.suspected, 3);
	assert_int_equal(b.unaccounted, 0);
	assert_int_equal(b.doubt[DOUBT_SUSPECT], 3);
	assert_false(b.balanced);
	assert_int_equal(b.verdict, FLOW_UNKNOWN);
}

/* A copy that its socket did not want has arrived nowhere. */
CASE(benign)
{
	struct flow_facts f = facts();
	struct flow_balance b;

	f.end.sum.entered += 10;
	f.end.sum.delivered += 6;
	f.end.dropped[SIDE_EXPECTED] += 4;
	b = closed(&f);
	assert_int_equal(b.arrived, 6);
	assert_true(b.balanced);
	assert_int_equal(b.verdict, FLOW_NONE_SEEN);
}

/* Fragments that never came were lost before, though their datagram died here. */
CASE(lacking_fragments)
{
	struct flow_facts f = facts();
	struct flow_balance b;

	f.end.sum.entered += 10;
	f.end.sum.delivered += 6;
	lose(&f, SIDE_BEFORE, 4);
	b = closed(&f);
	assert_true(b.balanced && b.before_known);
	assert_int_equal(b.lost_before, 4);
	assert_int_equal(b.verdict, FLOW_BEFORE);
	f.end.sum.entered += 1;
	lose(&f, SIDE_INSIDE, 1);
	assert_int_equal(closed(&f).verdict, FLOW_BOTH);
}

CASE(a_queue_that_shrank)
{
	struct flow_facts f = facts();
	struct flow_balance b;

	f.end.sum.delivered += 40;
	f.end.queued = 0;
	b = closed(&f);
	assert_int_equal(b.arrived, 0);
	assert_int_equal(b.in_flight, -40);
	assert_int_equal(b.unaccounted, 0);
	assert_true(b.balanced);
}

CASE(residual)
{
	struct flow_facts f = facts();
	struct flow_balance b;

	f.end.sum.entered += 10;
	f.end.sum.delivered += 7;
	b = closed(&f);
	assert_int_equal(b.unaccounted, 3);
	assert_false(b.balanced);
	assert_int_equal(b.verdict, FLOW_UNKNOWN);

	f.end.sum.delivered += 5;
	b = closed(&f);
	assert_int_equal(b.unaccounted, -2);
	assert_false(b.balanced);
	assert_int_equal(b.verdict, FLOW_UNKNOWN);
}

static enum flow_verdict numbered(uint64_t dropped, uint64_t missing)
{
	struct flow_facts f = facts();

	f.end.sum.entered += 100;
	f.end.sum.delivered += 100 - dropped;
	lose(&f, SIDE_INSIDE, dropped);
	f.numbered = true;
	f.streams = (struct balance_streams){.streams = 1, .seen = 100, .missing = missing};
	return closed(&f).verdict;
}

CASE(verdicts)
{
	assert_int_equal(numbered(0, 0), FLOW_NONE_SEEN);
	assert_int_equal(numbered(5, 0), FLOW_THIS_HOST);
	assert_int_equal(numbered(0, 5), FLOW_BEFORE);
	assert_int_equal(numbered(5, 5), FLOW_BOTH);
}

/* Each doubt about the balance alone makes the verdict unknown. */
CASE(doubts_about_the_balance)
{
	struct flow_facts f[] = {facts(), facts(), facts(), facts(),
				 facts(), facts(), facts(), facts()};

	f[0].end.sum.undecided++;
	f[1].end.unseen++;
	f[2].end.sum.unsized++;
	f[3].end.sum.elsewhere++;
	f[4].end.moved = true;
	f[5].end.unjudged = 1;
	f[6].end.filter_unread = 1;
	f[7].end.sum.hidden++;
	for (unsigned i = 0; i < sizeof(f) / sizeof(f[0]); i++) {
		struct flow_balance b = closed(&f[i]);

		assert_false(b.balanced);
		assert_int_equal(b.verdict, FLOW_UNKNOWN);
	}
}

/* What was missed is reported where something is missing; else it was others'. */
CASE(missed)
{
	struct flow_facts f = facts();

	f.missed = 3;
	assert_true(closed(&f).balanced);
	f.end.sum.entered++;
	assert_int_equal(closed(&f).doubt[DOUBT_MISSED], 3);
}

/* Where numbers are not known, losses here still are. */
CASE(doubts_about_the_numbers)
{
	struct flow_facts f = facts();

	f.numbered = true;
	f.streams.streams = 1;
	f.end.sum.unread++;
	assert_int_equal(closed(&f).verdict, FLOW_UNKNOWN);
	assert_true(closed(&f).balanced);
	f.end.sum.entered++;
	lose(&f, SIDE_INSIDE, 1);
	assert_int_equal(closed(&f).verdict, FLOW_THIS_HOST);

	f = facts();
	f.numbered = true;
	f.end.sum.entered++;
	f.end.sum.delivered++;
	assert_int_equal(closed(&f).doubt[DOUBT_NO_STREAM], 1);
	f.streams = (struct balance_streams){.streams = 1, .missing = 2};
	assert_int_equal(closed(&f).verdict, FLOW_BEFORE);
	f.lost_by_interfaces = 5;
	assert_int_equal(closed(&f).verdict, FLOW_BEFORE);
	f.end.sum.received++;
	assert_int_equal(closed(&f).verdict, FLOW_UNKNOWN);
}

CASE(sentences)
{
	struct flow_facts f = facts();
	struct flow_balance b;
	struct json_object *list;
	unsigned n;

	f.end.sum.entered += 10;
	f.end.sum.undecided += 2;
	f.end.moved = true;
	f.end.sum.entered += 5;
	lose(&f, SIDE_INSIDE, 5);
	f.culprit = (struct flow_culprit){"rcvbuf", "*:5060", "app[1]", 4};
	b = closed(&f);
	list = flow_balance_rests_on(&b);
	n = (unsigned)json_object_array_length(list);
	for (unsigned i = 0; i < n; i++) {
		assert_true(strlen(sentence(list, i)) >= 10);
		assert_null(strchr(sentence(list, i), '\n'));
	}
	assert_int_equal(n, 6); /* balance, culprit, residual, undecided, moved, before */
	assert_string_equal(sentence(list, 1), "4 of 5 dropped at rcvbuf, socket *:5060 of app[1]");
	json_object_put(list);
}

/* NAT that cannot be followed is a doubt only where something is missing. */
CASE(nat)
{
	struct flow_facts f = facts();
	struct flow_balance b;
	struct json_object *list;

	f.end.sum.entered += 10;
	f.end.sum.delivered += 10;
	f.nat_unseen = 2;
	f.n_nat = 2;
	f.nat[0] = (struct nat_translation){.kind = NAT_DESTINATION, .packets = 10};
	f.nat[1] = (struct nat_translation){.kind = NAT_SOURCE, .packets = 1};
	assert_int_equal(num_endpoint("198.18.0.2:53", &f.nat[0].from), 0);
	assert_int_equal(num_endpoint("[2001:2::1]:5353", &f.nat[0].to), 0);
	f.nat[1].from = f.nat[1].to = f.nat[0].from;
	b = closed(&f);
	assert_true(b.balanced);
	list = flow_balance_rests_on(&b);
	assert_string_equal(sentence(list, 1),
			    "10 datagrams of connections to 198.18.0.2:53, translated by NAT "
			    "to [2001:2::1]:5353");
	assert_non_null(strstr(sentence(list, 2), " from 198.18.0.2:53,"));
	json_object_put(list);
	f.end.sum.delivered--;
	b = closed(&f);
	assert_false(b.balanced);
	assert_int_equal(b.doubt[DOUBT_NAT], 2);
}

CASE(names)
{
	assert_string_equal(flow_verdict_names[FLOW_THIS_HOST], "this_host");
	assert_string_equal(flow_verdict_names[FLOW_BEFORE], "before_this_host");
	assert_string_equal(flow_verdict_names[FLOW_BOTH], "both");
	assert_string_equal(flow_verdict_names[FLOW_NONE_SEEN], "none_seen");
	assert_string_equal(flow_verdict_names[FLOW_UNKNOWN], "unknown");
}
