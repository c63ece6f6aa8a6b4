// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "report/load.h"

#define STREAM 7
#define BASE   (5ULL << 32)

static const char *const outcomes[] = {
	"{\"id\":0,\"outcome\":\"delivered\"}",
	"{\"id\":1,\"outcome\":\"dropped\",\"stage\":\"netfilter\",\"reason\":\"NETFILTER_DROP\","
	"\"direction\":\"tx\",\"hook\":\"output\"}",
	"{\"id\":2,\"outcome\":\"refused\"}",
	"{\"id\":3,\"outcome\":\"unaccounted\"}",
	"{\"id\":4,\"outcome\":\"left\"}",
	"{\"id\":5,\"outcome\":\"came\"}",
	"{\"id\":6,\"outcome\":\"unknown\"}",
	"{\"id\":7,\"outcome\":\"skipped\"}",
	"{\"id\":8,\"outcome\":\"dropped\",\"stage\":\"rcvbuf\",\"reason\":\"SOCKET_RCVBUFF\"}",
	"{\"id\":9,\"outcome\":\"dropped\",\"stage\":\"of another version\"}",
};

/* A ledger of one stream; `ranges` as in its lines, from `base` on. */
static struct outcome_sum *ledger(const char *ranges, uint64_t base)
{
	struct outcome_sum *f = outcome_sum_new(true);
	char line[1024], one[128];
	unsigned long long first, last;
	unsigned id;
	int n;

	assert_non_null(f);
	for (unsigned i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		struct json_object *data = json_tokener_parse(outcomes[i]);

		assert_int_equal(outcome_sum_name(f, data), 0);
		json_object_put(data);
	}
	snprintf(line, sizeof(line), "{\"event\":\"outcomes\",\"data\":{\"stream\":%u,\"ranges\":[",
		 STREAM);
	for (; sscanf(ranges, " %llu-%llu:%u%n", &first, &last, &id, &n) == 3; ranges += n) {
		snprintf(one, sizeof(one), "%s[%llu,%llu,%u]",
			 line[strlen(line) - 1] == '[' ? "" : ",", first + base, last + base, id);
		strcat(line, one);
	}
	strcat(line, "]}}");
	assert_int_equal(outcome_sum_ranges(f, line, strlen(line)), 0);
	return f;
}

struct expected {
	const char *tx, *rx;	       /* FIRST-LAST:OUTCOME, numbers from 0 */
	uint64_t watch_from, watch_to; /* from 0 */
	bool cut;		       /* the sender's ledger is not whole */
	uint64_t attempted, refused, delivered, wire, filtered, overflown, impossible, open;
	uint64_t nowhere, left, came; /* unaccounted, by where they were last seen */
};

static void check(const struct expected *e)
{
	struct joined_stream s = {.stream = STREAM, .base = BASE, .l3_bytes = 100};
	struct result *res = calloc(3, sizeof(*res)), *sum = res + 1, *again = res + 2;
	uint64_t open = 0;

	s.tx = (struct joined_end){.outcomes = ledger(e->tx, 0), .host = "a"};
	s.rx = (struct joined_end){.outcomes = ledger(e->rx, BASE), .host = "b"};
	s.tx.range = outcome_sum_ranges_kept(s.tx.outcomes, &s.tx.n);
	s.rx.range = outcome_sum_ranges_kept(s.rx.outcomes, &s.rx.n);
	s.watch_from = BASE + e->watch_from;
	s.watch_to = e->watch_to == UINT64_MAX ? UINT64_MAX : BASE + e->watch_to;
	s.whole = !e->cut;
	joined_add(&s, res, sum, &open);
	assert_int_equal(res->attempted, e->attempted);
	assert_int_equal(res->refused, e->refused);
	assert_int_equal(res->delivered, e->delivered);
	assert_int_equal(res->stage[STAGE_WIRE].packets, e->wire);
	assert_int_equal(res->stage[STAGE_NETFILTER].packets, e->filtered);
	assert_int_equal(res->stage[STAGE_RCVBUF].packets, e->overflown);
	assert_int_equal(res->stage[STAGE_RCVBUF].bytes, e->overflown * 100);
	assert_int_equal(res->impossible, e->impossible);
	assert_int_equal(res->unaccounted_seen[0], e->nowhere);
	assert_int_equal(res->unaccounted_seen[SEEN_TX_DEVICE], e->left);
	assert_int_equal(res->unaccounted_seen[SEEN_RX_DEVICE], e->came);
	assert_int_equal(res->unaccounted, e->nowhere + e->left + e->came);
	assert_int_equal(open, e->open);
	assert_int_equal(res->attempted, res->refused + res->sent);
	assert_int_equal(res->sent, res->delivered + res->dropped + res->unaccounted);
	joined_add(&s, again, sum, &open);
	assert_int_equal(sum->sent, 2 * res->sent);
	assert_int_equal(sum->n_causes, res->n_causes);
	outcome_sum_free(s.tx.outcomes);
	outcome_sum_free(s.rx.outcomes);
	free(res);
}

CASE(each_number_has_one_place)
{
	static const struct expected rows[] = {
		{"0-9:4", "0-9:0", 0, UINT64_MAX, .attempted = 10, .delivered = 10},
		/* packets that left and did not arrive */
		{"0-9:4", "0-3:0 6-9:0", 0, UINT64_MAX, .attempted = 10, .delivered = 8, .wire = 2},
		{"0-9:4", "", 0, UINT64_MAX, .attempted = 10, .wire = 10},
		/* dropped at either end */
		{"0-4:4 5-6:1 7-9:4", "0-4:0 7-7:8 8-9:0", 0, UINT64_MAX, .attempted = 10,
		 .delivered = 7, .filtered = 2, .overflown = 1},
		/* a copy was dropped here, and the packet came */
		{"0-9:1", "0-4:0 5-9:8", 0, UINT64_MAX, .attempted = 10, .delivered = 5,
		 .overflown = 5},
		/* refused, but for one that was a packet after all; and left out */
		{"0-1:4 2-4:2 5-7:7 8-9:4", "0-1:0 3-3:0 8-9:0", 0, UINT64_MAX, .attempted = 7,
		 .refused = 2, .delivered = 5},
		/* never seen to leave is not the wire */
		{"0-4:3 5-9:4", "0-1:0 5-9:0", 0, UINT64_MAX, .attempted = 10, .delivered = 7,
		 .nowhere = 3},
		/* arrived without an outcome, possibly arrived */
		{"0-9:4", "0-4:0 5-6:5 7-9:6", 0, UINT64_MAX, .attempted = 10, .delivered = 5,
		 .came = 2, .left = 3},
		/* never sent */
		{"0-4:4", "0-5:0", 0, UINT64_MAX, .attempted = 5, .delivered = 5, .impossible = 1},
		{"0-4:4 5-5:7", "0-5:0", 0, UINT64_MAX, .attempted = 5, .delivered = 5,
		 .impossible = 1},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

static const struct result_cause *cause_of(const struct result *res, enum stage stage, uint16_t of)
{
	for (unsigned i = 0; i < res->n_causes; i++) {
		if (res->cause[i].stage == stage && res->cause[i].stream == of)
			return &res->cause[i];
	}
	fail_msg("no cause of stage %d in stream %u", stage, of);
	return NULL;
}

/* Each stream has its causes, and the sum of several streams has each place once. */
CASE(causes_have_numbers_and_places)
{
	struct joined_stream s = {.stream = STREAM, .base = BASE, .watch_to = UINT64_MAX};
	struct result *one = calloc(2, sizeof(*one)), *sum = one + 1;
	struct range there[8], here[8];
	const struct result_cause *c;
	uint64_t open = 0;

	s.tx = (struct joined_end){.outcomes = ledger("0-9:4", 0), .host = "a"};
	s.rx = (struct joined_end){.outcomes = ledger("0-1:0 2-2:8 4-5:8 6-8:0 9-9:9", BASE),
				   .host = "b"};
	s.tx.range = outcome_sum_ranges_kept(s.tx.outcomes, &s.tx.n);
	s.rx.range = outcome_sum_ranges_kept(s.rx.outcomes, &s.rx.n);
	joined_add(&s, one, sum, &open);
	memcpy(here, s.tx.range, s.tx.n * sizeof(*here));
	memcpy(there, s.rx.range, s.rx.n * sizeof(*there));
	for (unsigned i = 0; i < 8; i++)
		here[i].stream = there[i].stream = STREAM + 1;
	s.stream = STREAM + 1;
	s.tx.range = here;
	s.rx.range = there;
	joined_add(&s, one, sum, &open);
	for (uint16_t i = 0; i < 2; i++) {
		c = cause_of(one, STAGE_RCVBUF, STREAM + i);
		assert_string_equal(c->host, "b");
		assert_string_equal(c->reason, "SOCKET_RCVBUFF");
		assert_int_equal(c->packets, 3);
		assert_true(c->first == 2 && c->last == 5);
		c = cause_of(one, STAGE_WIRE, STREAM + i);
		assert_true(c->packets == 1 && c->first == 3 && c->last == 3 && !*c->host);
		assert_int_equal(cause_of(one, STAGE_OTHER, STREAM + i)->packets, 1);
	}
	assert_int_equal(one->n_causes, 6);
	assert_int_equal(sum->n_causes, 3);
	assert_int_equal(cause_of(sum, STAGE_RCVBUF, STREAM)->packets, 6);
	assert_int_equal(one->stage[STAGE_RCVBUF].events, 6);
	assert_string_equal(one->stage[STAGE_RCVBUF].source, "event");
	assert_string_equal(one->stage[STAGE_WIRE].source, "difference");
	/* what is not counted any more is not there, and what has no room is in the stages only */
	sum->n_causes = 0;
	joined_add(&s, one, sum, &open);
	assert_int_equal(sum->n_causes, 3);
	one->n_causes = RESULT_CAUSES;
	memset(one->cause, 0, sizeof(one->cause));
	joined_add(&s, one, sum, &open);
	assert_int_equal(one->n_causes, RESULT_CAUSES);
	assert_int_equal(one->stage[STAGE_RCVBUF].packets, 12);
	outcome_sum_free(s.tx.outcomes);
	outcome_sum_free(s.rx.outcomes);
	free(one);
}

/* Packets sent while the receiver was absent are not lost on the wire. */
CASE(only_while_somebody_watched)
{
	static const struct expected rows[] = {
		{"0-9:4", "4-5:0 8-8:0", 4, 8, .attempted = 10, .delivered = 3, .wire = 2,
		 .left = 5},
		{"0-9:4", "4-8:0", 4, UINT64_MAX, .attempted = 10, .delivered = 5, .wire = 1,
		 .left = 4},
		{"0-9:4", "", 3, 5, .attempted = 10, .wire = 3, .left = 7},
		{"0-9:4", "4-5:0", 4, 6, .attempted = 10, .delivered = 2, .wire = 1, .left = 7},
		{"0-9:4", "4-5:0", 3, 5, .attempted = 10, .delivered = 2, .wire = 1, .left = 7},
		{"0-9:4", "", 20, 0, .attempted = 10, .left = 10},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

/* A stamp has 48 bits for them. */
CASE(numbers_that_no_stamp_holds)
{
	struct outcome_sum *f = ledger("281474976710655-281474976710655:0", 0);
	static const char *const lines[] = {
		"\"ranges\":[[281474976710656,281474976710656,0]]",
		"\"stream\":65536,\"ranges\":[[1,1,0]]",
		"\"ranges\":[[0,18446744073709551615,0]]",
		"\"ranges\":[[7,6,0]]",
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(outcome_sum_ranges(f, lines[i], strlen(lines[i])), -EINVAL);
	outcome_sum_free(f);
}

/* A killed sender: arrived packets were sent, the rest is unknown. */
CASE(ledgers_with_holes)
{
	static const struct expected rows[] = {
		{"0-4:4", "0-9:0", 0, UINT64_MAX, .cut = true, .attempted = 10, .delivered = 10},
		{"0-2:4 6-9:4", "0-4:0 6-9:0", 0, UINT64_MAX, .cut = true, .attempted = 10,
		 .delivered = 9, .nowhere = 1, .open = 1},
		{"", "0-9:0", 0, UINT64_MAX, .cut = true, .attempted = 10, .delivered = 10},
		{"", "", 0, UINT64_MAX, .cut = true},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}
