// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers of an application: missing numbers are found in spite of reordering, wrap and restart. */
#include <stdbool.h>
#include <stdlib.h>

#include "cases.h"
#include "recorded.h"
#include "sequence.h"

static void assert_counts(const struct sequence *s, const uint64_t *counts)
{
	const uint64_t found[] = {sequence_missing(s), s->duplicates, s->reordered, s->stray,
				  s->restarts};

	for (unsigned i = 0; i < LENGTH(found); i++)
		assert_int_equal(found[i], counts[i]);
}

#define COUNT(member) FIELD(struct sequence, member)
static const struct recorded_field fields[] = {COUNT(seen),  COUNT(duplicates), COUNT(reordered),
					       COUNT(stray), COUNT(restarts),	COUNT(valid),
					       {0}};

/* "stream BITS STEP NUMBER...": a number may have +W, the window. */
static void take_line(void *arg, const char *verb, char *text)
{
	struct sequence_rule r;
	struct sequence s = {};
	unsigned bits, step;
	int at;

	if (strcmp(verb, "stream"))
		return;
	assert_int_equal(sscanf(text, "%u %u%n", &bits, &step, &at), 2);
	r = sequence_rule_of(bits, step);
	for (text += at; *text;) {
		uint64_t n = strtoull(text, &text, 0);

		if (!strncmp(text, "+W", 2)) {
			n += SEQUENCE_WINDOW;
			text += 2;
		}
		sequence_see(&s, &r, n, 0);
	}
	tell("missing=%llu %s", sequence_missing(&s), recorded_text(fields, &s));
	if (s.valid && s.restarts)
		tell("total=%llu", s.total);
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/sequences", take_line, NULL);
}

/* The end of a packet tells its number again, and is no second packet. */
CASE(told_again)
{
	const struct sequence_rule r = sequence_rule_of(16, 1);
	struct sequence s = {};

	for (uint64_t n = 1; n <= 3; n++)
		sequence_see(&s, &r, n, 0);
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
