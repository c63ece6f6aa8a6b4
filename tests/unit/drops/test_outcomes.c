// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One outcome per number: which of several events decides, and no number is counted twice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases.h"
#include "outcome_fields.h"
#include "traffic/tx.h"
#include "stamp.h"

#define WINDOW	TRACE_PAGE_SIZE
#define IGNORED 9 /* a cause that ends no packet */

static struct outcomes f;
static struct outcome_tally tally;
static const uint8_t ignored[TRACE_CAUSES] = {[IGNORED] = 1};

static uint16_t drawn;
static bool draws; /* that, again and again */

ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
	if (!draws)
		return syscall(SYS_getrandom, buf, len, flags);
	for (size_t i = 0; i < len / sizeof(drawn); i++)
		((uint16_t *)buf)[i] = drawn;
	return (ssize_t)len;
}

static int open_outcomes(void **state)
{
	struct error err = {};

	memset(&tally, 0, sizeof(tally));
	outcomes_init(&f, 2, WINDOW);
	return outcomes_map(&f, -1, -1, -1, &err);
}

static int close_outcomes(void **state)
{
	outcomes_unmap(&f);
	return f.cause || f.seen || f.arrivals || f.failed;
}

/* `n`: from 0. */
static void put(uint16_t slot, uint64_t n, struct bytes b)
{
	put_bytes(&f, slot, n, n, b);
}

/* Each range is counted, and given to another visitor if there is one. */
static void count(void *arg, const struct range *r)
{
	const struct range_visitor *then = arg;

	tally_add(&tally, &f, r);
	if (then)
		then->range(then->arg, r);
}

static void fold_to(uint16_t slot, uint64_t upto, struct range_visitor *then)
{
	outcomes_fold(&f, slot, f.base + upto, ignored, &(struct range_visitor){count, then});
}

static void fold(uint16_t slot, uint64_t upto)
{
	fold_to(slot, upto, NULL);
}

CASE(window_is_a_power_of_two)
{
	assert_int_equal(outcomes_window(0), TRACE_PAGE_SIZE);
	assert_int_equal(outcomes_window(TRACE_PAGE_SIZE), TRACE_PAGE_SIZE);
	assert_int_equal(outcomes_window(TRACE_PAGE_SIZE + 1), 2 * TRACE_PAGE_SIZE);
	assert_int_equal(outcomes_window(1000000), 1 << 20);
	assert_int_equal(outcomes_window((1ULL << 32) + 1), 1ULL << 33);
}

CASE_WITH(given_numbers_are_taken, open_outcomes, close_outcomes)
{
	const struct outcomes_numbers good = {f.base, WINDOW, f.stream0, 2};
	/* all at their upper ends, and the smallest window */
	const struct outcomes_numbers most = {(STAMP_NUMBER_MASK - STAMP_SPAN) >> 32 << 32,
					      TRACE_PAGE_SIZE, UINT16_MAX - TRACE_STREAMS,
					      TRACE_STREAMS};
	struct outcomes_numbers wide = most, bad[10];
	struct outcomes given;

	assert_true(outcomes_numbers_valid(&good));
	assert_true(outcomes_numbers_valid(&most));
	wide.window = 1ULL << 40;
	assert_true(outcomes_numbers_valid(&wide));
	outcomes_init_given(&given, &good);
	assert_true(given.base == f.base && given.window == WINDOW && given.streams == 2);
	assert_int_equal(given.stream0, f.stream0);
	assert_int_equal(given.tail[1], f.base);
	assert_int_equal(given.bytes, 2 * WINDOW);
	for (unsigned i = 0; i < 10; i++)
		bad[i] = most;
	bad[0].base++;
	bad[1].base = 0;
	bad[2].base = ~0ULL << 32;
	bad[3].window++;
	bad[4].window = TRACE_PAGE_SIZE / 2;
	bad[5].streams++;
	bad[6].stream0 = 0; /* a word of 0 means "no number" */
	bad[7].stream0++;
	bad[8].base += 1ULL << 32;
	bad[9].window = wide.window * 2;
	for (unsigned i = 0; i < 10; i++)
		assert_false(outcomes_numbers_valid(&bad[i]));
}

CASE(whatever_is_drawn_is_valid)
{
	struct outcomes draw;

	draws = true;
	do {
		outcomes_init(&draw, 1, WINDOW);
		if (!outcomes_numbers_valid(&(struct outcomes_numbers){draw.base, draw.window,
								       draw.stream0, draw.streams}))
			fail_msg("%d", drawn);
	} while (++drawn);
	draws = false;
}

CASE(numbers_are_drawn_apart_from_other_runs)
{
	struct outcomes first, draw;
	unsigned same_base = 0, same_stream = 0;

	outcomes_init(&first, TRACE_STREAMS, WINDOW);
	for (int i = 0; i < 200; i++) {
		outcomes_init(&draw, TRACE_STREAMS, WINDOW);
		assert_int_not_equal(draw.stream0, 0);
		assert_true(draw.stream0 + TRACE_STREAMS - 1 <= UINT16_MAX);
		assert_int_not_equal(draw.base, 0);
		assert_int_equal(draw.base & UINT32_MAX, 0);
		assert_int_equal((draw.base + STAMP_SPAN - 1) & ~STAMP_NUMBER_MASK, 0);
		assert_int_equal(draw.tail[TRACE_STREAMS - 1], draw.base);
		same_base += draw.base == first.base;
		same_stream += draw.stream0 == first.stream0;
	}
	assert_true(same_base < 20);
	assert_true(same_stream < 20);
}

/* Recorded */

static void tell_range(void *arg, const struct range *r)
{
	assert_int_equal(r->stream, 1);
	tell("%d-%d %s %d;", (int)r->first, (int)r->last, outcome_name(r->outcome), r->detail);
}

static unsigned bytes_of(const void *arg, uint16_t slot, uint64_t number)
{
	(void)arg;
	return slot * 1000 + (unsigned)number;
}

static bool rests(const void *arg, uint8_t seen)
{
	return arg && seen == SEEN_RX_DEVICE;
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct range_visitor visitor = {tell_range, NULL};
	struct arrivals a = {.latency.measured = true};
	unsigned slot = 0, from = 0, upto = 0;
	struct bytes b = {};
	const char *doubt;

	sscanf(text, "%u %u %u", &slot, &from, &upto);
	if (!strcmp(verb, "case")) {
		close_outcomes(NULL);
		assert_int_equal(open_outcomes(NULL), 0);
	} else if (!strcmp(verb, "put") || !strcmp(verb, "all")) {
		recorded_read(byte_fields, text, &b);
		put_bytes(&f, (uint16_t)slot, from, larger(from, upto), b);
	} else if (!strcmp(verb, "fold")) {
		fold_to((uint16_t)slot, from, slot ? &visitor : NULL);
	} else if (!strcmp(verb, "tail")) {
		f.tail[slot] = f.base + from;
	} else if (!strcmp(verb, "beyond")) {
		outcomes_beyond(&f, (uint16_t)slot, f.base + from, &tally);
	} else if (!strcmp(verb, "between")) {
		outcomes_settle_between(&f, (uint16_t)slot, f.base + from, ignored, SEEN_BRIDGE_IN,
					SEEN_BRIDGE_OUT, TRACE_CAUSE_DIFFERENCE);
	} else if (!strcmp(verb, "first")) {
		tell("%d", (int)(outcomes_first_open(&f, (uint16_t)slot, f.base + from,
						     f.base + upto, ignored, rests, &f) -
				 f.base));
	} else if (!strcmp(verb, "delays")) { /* the shortest, the longest */
		sscanf(text, "%" SCNu64 " %" SCNu64, &a.latency.min, &a.latency.max);
		doubt = arrivals_clock_doubt(&a);
		tell("%s", doubt ? doubt : "none");
	} else if (!strcmp(verb, "sized")) {
		f.l3_bytes = bytes_of;
	} else {
		assert_string_equal(verb, "sum");
		tell_tally(&tally);
	}
}

CASE_WITH(recorded, open_outcomes, close_outcomes)
{
	recorded_stories("tests/fixtures/outcomes", take_line, NULL);
}

/* Three windows through one window of memory, in pieces that do not divide it. */
CASE_WITH(window_is_a_ring, open_outcomes, close_outcomes)
{
	enum { STEP = 1000, ALL = 3 * WINDOW };

	put(1, 0, (struct bytes){.arrival = 1});
	for (uint64_t from = 0; from < ALL; from += STEP) {
		uint64_t upto = from + STEP < ALL ? from + STEP : ALL;

		for (uint64_t n = from; n < upto; n++)
			put(0, n,
			    n % 3 ? (struct bytes){.arrival = 1}
				  : (struct bytes){
					    .cause = 2, .seen = SEEN_RX_DEVICE, .failed = EPERM});
		fold(0, upto);
		assert_int_equal(f.tail[0], f.base + upto);
	}
	assert_int_equal(tally.attempted, ALL);
	assert_int_equal(tally.dropped, ALL / 3);
	assert_int_equal(tally.delivered, ALL - ALL / 3);
	assert_int_equal(tally.cause[0][2].last, ALL - 3);
	for (uint64_t n = 0; n < WINDOW; n++) {
		size_t i = outcomes_index(&f, 0, n);

		assert_int_equal(f.arrivals[i] | f.cause[i] | f.seen[i] | f.failed[i], 0);
	}
	assert_int_equal(f.tail[1], f.base);
	fold(1, 1);
	assert_int_equal(tally.attempted, ALL + 1);
}

struct covered {
	uint64_t next, of[OUTCOME_DELIVERED + 1];
};

static void cover(void *arg, const struct range *r)
{
	struct covered *c = arg;

	assert_int_equal(r->stream, 0);
	assert_int_equal(r->first, c->next);
	assert_true(r->last >= r->first);
	if (r->outcome == OUTCOME_DROPPED)
		assert_true(r->detail);
	else if (r->outcome == OUTCOME_OPEN)
		assert_true(!r->detail || r->detail == SEEN_RX_DEVICE);
	else
		assert_int_equal(r->detail, r->outcome == OUTCOME_REFUSED ? EPERM : 0);
	c->next = r->last + 1;
	c->of[r->outcome] += range_packets(r);
}

/* Whatever the bytes and the pieces: every number once, and both counts of it agree. */
CASE_WITH(every_number_has_one_outcome, open_outcomes, close_outcomes)
{
	enum { ALL = 5 * WINDOW };
	struct covered c = {};
	struct range_visitor visitor = {cover, &c};
	uint64_t from = 0, by_cause = 0;

	srand(1);
	while (from < ALL) {
		uint64_t upto = from + (unsigned)rand() % (WINDOW + 1);

		for (uint64_t n = from; n < upto; n++)
			put(0, n,
			    (struct bytes){rand() % 3 == 0, rand() % 2 * (rand() & 0xff),
					   rand() % 2 * SEEN_RX_DEVICE, rand() % 2 * EPERM});
		fold_to(0, upto, &visitor);
		from = upto;
	}
	assert_int_equal(c.next, from);
	assert_int_equal(tally.attempted, from);
	assert_int_equal(tally.delivered, c.of[OUTCOME_DELIVERED]);
	assert_int_equal(tally.dropped, c.of[OUTCOME_DROPPED]);
	assert_int_equal(tally.refused, c.of[OUTCOME_REFUSED]);
	assert_int_equal(tally.unaccounted, c.of[OUTCOME_OPEN]);
	for (unsigned i = 0; i < TRACE_CAUSES; i++)
		by_cause += tally.cause[0][i].packets;
	assert_int_equal(by_cause, tally.dropped);
	assert_int_equal(tally.cause[0][IGNORED].packets, 0);
}

/* Anything that is known of a number shows that it was sent, whichever it is and wherever. */
CASE_WITH(highest_that_is_known, open_outcomes, close_outcomes)
{
	static const struct bytes known[] = {
		{.arrival = 1}, {.cause = 3}, {.seen = SEEN_TX_DEVICE}, {1, 3, SEEN_SOCKET, EPERM}};
	static const uint64_t places[] = {0, 3, 8, 16, 21, WINDOW - 1};

	put(1, 40, (struct bytes){.failed = EPERM});
	put(0, 50, (struct bytes){.arrival = 1}); /* of another stream */
	assert_int_equal(outcomes_highest(&f, 1, f.base, WINDOW), f.base);
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned p = 0; p < 6; p++) {
			const uint64_t n = places[p];

			put(1, n, known[i]);
			assert_int_equal(outcomes_highest(&f, 1, f.base, WINDOW), f.base + n + 1);
			assert_int_equal(outcomes_highest(&f, 1, f.base + n, 1), f.base + n + 1);
			assert_int_equal(outcomes_highest(&f, 1, f.base + n, UINT64_MAX),
					 f.base + n + 1);
			assert_int_equal(outcomes_highest(&f, 1, f.base, n), f.base);
			assert_int_equal(outcomes_highest(&f, 1, f.base + n + 1, WINDOW),
					 f.base + n + 1);
			put(1, n, (struct bytes){});
		}
	}
	put(1, 1, known[0]); /* as the first of the next window it would be known, too */
	assert_int_equal(outcomes_highest(&f, 1, f.base + WINDOW, WINDOW), f.base + WINDOW);
	assert_int_equal(outcomes_highest(&f, 1, f.base + WINDOW + 9, WINDOW), f.base + WINDOW + 9);
}

CASE(lengths_have_their_buckets)
{
	for (unsigned b = 0; b < ARRIVALS_BUCKETS; b++) {
		assert_int_equal(arrivals_bucket(arrivals_bucket_from(b)), b);
		assert_int_equal(arrivals_bucket(arrivals_bucket_to(b)), b);
		if (b)
			assert_int_equal(arrivals_bucket_from(b), arrivals_bucket_to(b - 1) + 1);
	}
	assert_int_equal(arrivals_bucket_to(ARRIVALS_BUCKETS - 1), UINT64_MAX);
}

/* What two streams had, together. */
CASE(reordering_is_added)
{
	struct reordering sum = {.packets = 3, .extent_unknown = 1};
	struct reordering other = {.packets = 5, .extent_unknown = 2};

	reordering_note(&sum, 1);
	reordering_note(&sum, 9);
	reordering_note(&other, 1);
	reordering_note(&other, 9);
	reordering_note(&other, 40);
	reordering_add(&sum, &other);
	assert_int_equal(sum.packets, 8);
	assert_int_equal(sum.extent_unknown, 3);
	assert_int_equal(sum.extent_max, 40);
	assert_int_equal(sum.extent[arrivals_bucket(1)], 2);
	assert_int_equal(sum.extent[arrivals_bucket(9)], 2);
	assert_int_equal(sum.extent[arrivals_bucket(40)], 1);
}

CASE(clocks_in_doubt)
{
	struct arrivals a = {};
	struct hist delay = {};

	assert_null(arrivals_clock_doubt(&a));
	a.negative = 1;
	assert_non_null(strstr(arrivals_clock_doubt(&a), "before they were sent"));
	result_latency_fill(&a.latency, &delay);
	assert_false(a.latency.measured);
	hist_add(&delay, 20);
	result_latency_fill(&a.latency, &delay);
	assert_true(a.latency.measured);
	assert_int_equal(a.latency.min, 20);
}
