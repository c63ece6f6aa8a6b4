// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The numbers of an application: what is missing, whatever order, wrap and restart there is. */
#include <stdbool.h>
#include <stdlib.h>

#include "cases.h"
#include "sequence.h"

#define RTP sequence_rule_of(16, 1)

static struct sequence fed(const struct sequence_rule *r, const uint64_t *numbers, unsigned n)
{
	struct sequence s = {};

	for (unsigned i = 0; i < n; i++)
		sequence_see(&s, r, numbers[i], 0);
	return s;
}

#define FED(rule, ...)                                                                             \
	({                                                                                         \
		const struct sequence_rule r_ = rule;                                              \
		const uint64_t n_[] = {__VA_ARGS__};                                               \
		fed(&r_, n_, sizeof(n_) / sizeof(n_[0]));                                          \
	})

static void assert_counts(struct sequence s, uint64_t missing, uint64_t duplicates,
			  uint64_t reordered, uint64_t stray, unsigned restarts)
{
	assert_int_equal(sequence_missing(&s), missing);
	assert_int_equal(s.duplicates, duplicates);
	assert_int_equal(s.reordered, reordered);
	assert_int_equal(s.stray, stray);
	assert_int_equal(s.restarts, restarts);
}

CASE(in_order)
{
	struct sequence s = FED(RTP, 7, 8, 9, 10);

	assert_counts(s, 0, 0, 0, 0, 0);
	assert_int_equal(s.seen, 4);
	assert_true(s.valid);
}

CASE(nothing_is_missing_from_nothing)
{
	struct sequence s = {};

	assert_counts(s, 0, 0, 0, 0, 0);
	assert_false(s.valid);
}

CASE(one_packet_is_no_stream)
{
	struct sequence s = FED(RTP, 7);

	assert_false(s.valid);
	s = FED(RTP, 7, 9, 11);
	assert_false(s.valid);
	s = FED(RTP, 7, 9, 10);
	assert_true(s.valid);
	assert_counts(s, 1, 0, 0, 0, 0);
}

CASE(gaps)
{
	assert_counts(FED(RTP, 1, 2, 5, 6, 10), 5, 0, 0, 0, 0);
}

CASE(late_ones_fill_gaps)
{
	assert_counts(FED(RTP, 1, 2, 5, 3, 6), 1, 0, 1, 0, 0);
	assert_counts(FED(RTP, 1, 2, 5, 4, 3, 6), 0, 0, 2, 0, 0);
}

CASE(twice)
{
	assert_counts(FED(RTP, 1, 2, 2, 3, 1, 3), 0, 3, 0, 0, 0);
	assert_counts(FED(RTP, 1, 2, 4, 3, 3), 0, 1, 1, 0, 0);
}

/* What comes from before the first packet that was seen says nothing about those in between. */
CASE(before_the_first)
{
	assert_counts(FED(RTP, 100, 95, 101), 0, 0, 0, 1, 0);
}

CASE(wraps)
{
	assert_counts(FED(RTP, 65534, 65535, 0, 1), 0, 0, 0, 0, 0);
	assert_counts(FED(RTP, 65533, 65534, 1, 65535), 1, 0, 1, 0, 0);
	assert_counts(FED(sequence_rule_of(8, 1), 254, 255, 2, 3), 2, 0, 0, 0, 0);
	assert_counts(FED(sequence_rule_of(64, 1), UINT64_MAX - 1, UINT64_MAX, 1), 1, 0, 0, 0, 0);
}

CASE(steps)
{
	const struct sequence_rule r = sequence_rule_of(32, 160);

	assert_counts(FED(r, 160, 320, 640, 800), 1, 0, 0, 0, 0);
	assert_counts(FED(r, 160, 320, 321, 480), 0, 0, 0, 1, 0);
	assert_counts(FED(r, 0xffffff60, 0, 160), 0, 0, 0, 0, 0); /* 2^32 is no multiple */
}

CASE(restart)
{
	struct sequence s = FED(RTP, 40000, 40001, 40003, 7, 8, 10);

	assert_counts(s, 2, 0, 0, 0, 1);
	assert_int_equal(s.total, 3);
	assert_int_equal(s.seen, 3);
}

/* RFC 3550: a packet far away alone changes nothing. */
CASE(a_stray_packet_is_no_restart)
{
	assert_counts(FED(RTP, 40000, 40001, 7, 40002, 40003), 0, 0, 0, 1, 0);
	assert_counts(FED(RTP, 40000, 40001, 7, 9, 40002), 0, 0, 0, 2, 0);
}

CASE(how_far_is_a_gap)
{
	assert_counts(FED(RTP, 1, 2, 3002), 2999, 0, 0, 0, 0); /* MAX_DROPOUT */
	assert_counts(FED(RTP, 1, 2, 3003), 0, 0, 0, 1, 0);
	assert_counts(FED(RTP, 1, 2, 3003, 3004), 0, 0, 0, 0, 1);
	assert_counts(FED(sequence_rule_of(32, 1), 1, 2, 100002), 99999, 0, 0, 0, 0);
	assert_counts(FED(sequence_rule_of(32, 1), 5000000, 5000001, 1, 2), 0, 0, 0, 0, 1);
}

CASE(beyond_the_window)
{
	/* As late as the window is long: no longer known whether it came before. */
	assert_counts(FED(sequence_rule_of(32, 1), 1, 2, 2 + SEQUENCE_WINDOW, 3),
		      SEQUENCE_WINDOW - 2, 0, 1, 0, 0);
	assert_counts(FED(sequence_rule_of(32, 1), 1, 2, 2 + SEQUENCE_WINDOW, 2),
		      SEQUENCE_WINDOW - 1, 0, 0, 1, 0);
	/* All of the window is new behind a gap larger than it. */
	assert_counts(FED(sequence_rule_of(32, 1), 1, 2, 5000, 4000, 4001), 4995, 0, 2, 0, 0);
}

/* The end of a packet tells its number again, and is no second packet. */
CASE(told_again)
{
	const struct sequence_rule r = RTP;
	struct sequence s = FED(RTP, 1, 2, 3);

	sequence_see(&s, &r, 2, 1);
	sequence_see(&s, &r, 40000, 1);
	sequence_see(&s, &r, 40001, 1);
	assert_counts(s, 0, 0, 0, 0, 0);
	sequence_see(&s, &r, 4, 1); /* it died before it was seen coming */
	sequence_see(&s, &r, 5, 0);
	assert_counts(s, 0, 0, 0, 0, 0);
	assert_int_equal(s.seen, 5);
}

static unsigned draw(unsigned below)
{
	return (unsigned)random() % below;
}

/*
 * A stream with losses, packets twice and packets late, each at random, against what is known of
 * it. Its first and last packets arrive in order, so that they are seen as such.
 */
static void random_stream(unsigned width, unsigned step)
{
	enum { N = 20000, LATE = 30 };
	static uint64_t order[2 * N];
	const struct sequence_rule r = sequence_rule_of(width, step);
	uint64_t first = (uint64_t)random() << 32 ^ (uint64_t)random(), lost = 0, twice = 0;
	struct sequence s = {};
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++) {
		bool edge = i < 100 || i >= N - 100;

		if (!edge && !draw(50)) {
			lost++;
			continue;
		}
		order[n++] = first + (uint64_t)i * step;
		if (!edge && !draw(60)) {
			order[n++] = first + (uint64_t)i * step;
			twice++;
		}
	}
	for (unsigned i = 100; i < n - 100 - LATE; i++) {
		unsigned to = i + draw(LATE);
		uint64_t swap = order[i];

		if (draw(20))
			continue;
		order[i] = order[to];
		order[to] = swap;
	}
	for (unsigned i = 0; i < n; i++)
		sequence_see(&s, &r, order[i] & r.mask, 0);
	assert_counts(s, lost, twice, s.reordered, 0, 0);
	assert_int_equal(s.seen, N - lost);
	assert_in_range(s.reordered, 100, n);
}

CASE(random_streams)
{
	const char *seed = getenv("PKTLEDGER_SEED");

	srandom(seed ? (unsigned)atoi(seed) : 1);
	for (unsigned i = 0; i < 50; i++) {
		random_stream(16, 1);
		random_stream(32, 1 + draw(1000));
		random_stream(64, 1 + draw(1000));
	}
}
