// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers of an application: missing numbers are found in spite of reordering, wrap and restart. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/num.h"
#include "cases.h"
#include "sequence.h"

#define W SEQUENCE_WINDOW

/* Streams, and what is missing, twice, late, stray and restarted in each. */
static const struct {
	unsigned bits, step;
	uint64_t numbers[8]; /* END: no more */
	uint64_t counts[5];
} streams[] = {
#define END UINT64_C(0x123456789abcdef)
	{16, 1, {END}, {0}},
	{16, 1, {7, 8, 9, 10, END}, {0}},
	{16, 1, {7, 9, 10, END}, {1}},
	{16, 1, {1, 2, 5, 6, 10, END}, {5}},
	{16, 1, {1, 2, 5, 3, 6, END}, {1, 0, 1}}, /* late ones fill gaps */
	{16, 1, {1, 2, 5, 4, 3, 6, END}, {0, 0, 2}},
	{16, 1, {1, 2, 2, 3, 1, 3, END}, {0, 3}},
	{16, 1, {1, 2, 4, 3, 3, END}, {0, 1, 1}},
	/* what comes from before the first says nothing about those in between */
	{16, 1, {100, 95, 101, END}, {0, 0, 0, 1}},
	{16, 1, {65534, 65535, 0, 1, END}, {0}},
	{16, 1, {65533, 65534, 1, 65535, END}, {1, 0, 1}},
	{8, 1, {254, 255, 2, 3, END}, {2}},
	{64, 1, {UINT64_MAX - 1, UINT64_MAX, 1, END}, {1}},
	{32, 160, {160, 320, 640, 800, END}, {1}},
	{32, 160, {160, 320, 321, 480, END}, {0, 0, 0, 1}},
	{32, 160, {0xffffff60, 0, 160, END}, {0}}, /* 2^32 is no multiple */
	{16, 1, {40000, 40001, 40003, 7, 8, 10, END}, {2, 0, 0, 0, 1}},
	/* RFC 3550: a packet far away alone changes nothing */
	{16, 1, {40000, 40001, 7, 40002, 40003, END}, {0, 0, 0, 1}},
	{16, 1, {40000, 40001, 7, 9, 40002, END}, {0, 0, 0, 2}},
	{16, 1, {1, 2, 3002, END}, {2999}}, /* MAX_DROPOUT */
	{16, 1, {1, 2, 3003, END}, {0, 0, 0, 1}},
	{16, 1, {1, 2, 3003, 3004, END}, {0, 0, 0, 0, 1}},
	{32, 1, {1, 2, 100002, END}, {99999}},
	{32, 1, {5000000, 5000001, 1, 2, END}, {0, 0, 0, 0, 1}},
	/* as late as the window is long: no longer known whether it came before */
	{32, 1, {1, 2, 2 + W, 3, END}, {W - 2, 0, 1}},
	{32, 1, {1, 2, 2 + W, 2, END}, {W - 1, 0, 0, 1}},
	/* all of the window is new behind a gap larger than it */
	{32, 1, {1, 2, 5000, 4000, 4001, END}, {4995, 0, 2}},
};

static void assert_counts(const struct sequence *s, const uint64_t *counts)
{
	const uint64_t found[] = {sequence_missing(s), s->duplicates, s->reordered, s->stray,
				  s->restarts};

	for (unsigned i = 0; i < LENGTH(found); i++)
		assert_int_equal(found[i], counts[i]);
}

static struct sequence fed(const struct sequence_rule *r, const uint64_t *numbers)
{
	struct sequence s = {};

	while (*numbers != END)
		sequence_see(&s, r, *numbers++, 0);
	return s;
}

CASE(streams_of_numbers)
{
	for (unsigned i = 0; i < LENGTH(streams); i++) {
		const struct sequence_rule r = sequence_rule_of(streams[i].bits, streams[i].step);
		const struct sequence s = fed(&r, streams[i].numbers);

		print_message("stream %u\n", i);
		assert_counts(&s, streams[i].counts);
	}
}

/* Two numbers in a row are a stream; after a restart all is of the new one, but what is missing. */
CASE(one_packet_is_no_stream)
{
	static const struct {
		uint64_t numbers[8];
		bool valid;
		uint64_t total, seen;
	} rows[] = {
		{{END}, false, 0, 0},
		{{7, END}, false, 1, 1},
		{{7, 9, 11, END}, false, 5, 3},
		{{7, 9, 10, END}, true, 4, 3},
		{{7, 8, 9, 10, END}, true, 4, 4},
		{{40000, 40001, 40003, 7, 8, 10, END}, true, 3, 3},
	};
	const struct sequence_rule r = sequence_rule_of(16, 1);

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		const struct sequence s = fed(&r, rows[i].numbers);

		print_message("stream %u\n", i);
		assert_int_equal(s.valid, rows[i].valid);
		assert_int_equal(s.seen, rows[i].seen);
		assert_true(!s.valid || !s.restarts || s.total == rows[i].total);
	}
}

/* The end of a packet tells its number again, and is no second packet. */
CASE(told_again)
{
	const struct sequence_rule r = sequence_rule_of(16, 1);
	struct sequence s = fed(&r, (const uint64_t[]){1, 2, 3, END});

	sequence_see(&s, &r, 2, 1);
	sequence_see(&s, &r, 40000, 1);
	sequence_see(&s, &r, 40001, 1);
	assert_counts(&s, (const uint64_t[5]){});
	sequence_see(&s, &r, 4, 1); /* it died before it was seen coming */
	sequence_see(&s, &r, 5, 0);
	assert_counts(&s, (const uint64_t[5]){});
	assert_int_equal(s.seen, 5);
}

static unsigned draw(unsigned below)
{
	return (unsigned)random() % below;
}

/*
 * A stream with random losses, duplicates and late packets, compared with the truth. The first and
 * last packets arrive in order, so that they are recognised.
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
	assert_counts(&s, (const uint64_t[5]){lost, twice, s.reordered});
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
