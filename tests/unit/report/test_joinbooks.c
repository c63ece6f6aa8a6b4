// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "recorded.h"
#include "drops/stagemap.h"
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

struct join_case {
	char tx[128], rx[128]; /* FIRST-LAST:OUTCOME, numbers from 0 */
	uint64_t from, to;     /* when the receiver watched */
	bool cut;	       /* the sender's ledger is not whole */
};

#define SUM(member) FIELD(struct result, member)
#define DOUBT	    FIELDS(struct result, unaccounted_seen, NULL)
static const struct recorded_field sums[] = {
	SUM(attempted), SUM(refused),	 SUM(sent), SUM(delivered), SUM(dropped), SUM(unaccounted),
	DOUBT,		SUM(impossible), {0},
};

static void join_all(const struct join_case *c)
{
	struct joined_stream s = {.stream = STREAM,
				  .base = BASE,
				  .l3_bytes = 100,
				  .watch_from = BASE + c->from,
				  .watch_to = c->to == UINT64_MAX ? c->to : BASE + c->to,
				  .whole = !c->cut};
	struct result *res = calloc(3, sizeof(*res)), *sum = res + 1, *again = res + 2;
	uint64_t open = 0;

	s.tx = (struct joined_end){.outcomes = ledger(c->tx, 0), .host = "a"};
	s.rx = (struct joined_end){.outcomes = ledger(c->rx, BASE), .host = "b"};
	s.tx.range = outcome_sum_ranges_kept(s.tx.outcomes, &s.tx.n);
	s.rx.range = outcome_sum_ranges_kept(s.rx.outcomes, &s.rx.n);
	joined_add(&s, res, sum, &open);
	tell("%s", recorded_text(sums, res));
	for (unsigned i = 0; i < STAGE_COUNT; i++) {
		if (res->stage[i].packets)
			tell("%s=%d,%d", stage_name(i), (int)res->stage[i].packets,
			     (int)res->stage[i].bytes);
	}
	if (open)
		tell("open=%d", (int)open);
	assert_int_equal(res->attempted, res->refused + res->sent);
	assert_int_equal(res->sent, res->delivered + res->dropped + res->unaccounted);
	joined_add(&s, again, sum, &open);
	assert_int_equal(sum->sent, 2 * res->sent);
	assert_int_equal(sum->n_causes, res->n_causes);
	outcome_sum_free(s.tx.outcomes);
	outcome_sum_free(s.rx.outcomes);
	free(res);
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct join_case *c = arg;

	if (!strcmp(verb, "tx")) {
		snprintf(c->tx, sizeof(c->tx), "%s", text);
	} else if (!strcmp(verb, "rx")) {
		snprintf(c->rx, sizeof(c->rx), "%s", text);
	} else if (!strcmp(verb, "watch")) {
		sscanf(text, "%" SCNu64 " %" SCNu64, &c->from, &c->to);
	} else if (!strcmp(verb, "cut")) {
		c->cut = true;
	} else if (!strcmp(verb, "join")) {
		join_all(c);
		*c = (struct join_case){.to = UINT64_MAX};
	}
}

CASE(recorded)
{
	struct join_case c = {.to = UINT64_MAX};

	recorded_stories("tests/fixtures/joined", take_line, &c);
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
	/* a cause that is not counted any more is absent; a cause without room is only in the
	 * stages */
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
