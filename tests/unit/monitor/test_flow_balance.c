// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The balance of a flow: its sums, and the cause of a difference. */
#include "cases.h"

#include <string.h>

#include "monitor/session.h"
#include "recorded.h"

static const char *const sides[SIDES] = {"inside", "outside", "none", "expected", "before"};
static const char *const doubts[DOUBTS] = {
	"residual", "suspect", "undecided", "unsized", "elsewhere", "moved",	 "unjudged",
	"filter",   "missed",  "nat",	    "numbers", "crowded",   "no_stream", "interfaces"};

struct flow_case {
	char name[96];
	struct flow_facts f; /* `end`: what grew since the beginning */
	uint64_t lost[SIDES];
	struct flow_balance b;
	struct json_object *rests_on;
	char culprit[3][16];
};

#define AT(name, member, count, names)                                                             \
	{name, offsetof(struct flow_case, member), sizeof(((struct flow_case *)0)->member), count,   \
	 names}
#define FACT(name)  AT(#name, f.name, 1, NULL)
#define GREW(name)  AT(#name, f.end.name, 1, NULL)
#define SUM(name)   AT(#name, f.end.sum.name, 1, NULL)
#define SIDED(name, member) AT(name, member[0], SIDES, sides)

static const struct recorded_field facts[] = {
	SUM(entered), SUM(received), SUM(left), SUM(delivered), SUM(undecided), SUM(unsized),
	SUM(elsewhere), SUM(hidden), SUM(unread), GREW(queued), GREW(unseen), GREW(moved),
	GREW(unjudged), GREW(filter_unread), SIDED("dropped", f.end.dropped),
	SIDED("suspected", f.end.suspected), SIDED("lost", lost), FACT(in_rows), FACT(missed),
	FACT(lost_by_interfaces), FACT(nat_unseen), FACT(numbered), FACT(streams.streams),
	FACT(streams.seen), FACT(streams.missing), {0}};

#define BALANCE(name) FIELD(struct flow_balance, name)
static const struct recorded_field terms[] = {
	FIELD_ENUM(struct flow_balance, verdict, flow_verdict_names),
	BALANCE(balanced), BALANCE(arrived), BALANCE(delivered), BALANCE(dropped),
	BALANCE(suspected), BALANCE(in_flight), BALANCE(unaccounted), BALANCE(left),
	BALANCE(before), BALANCE(lost_before), BALANCE(before_known),
	FIELDS(struct flow_balance, doubt, doubts), {0}};

/* Counts do not start at 0: earlier counts are excluded. */
static void close_balance(struct flow_case *c)
{
	static const struct balance_moment begin = {
		.sum = {.entered = 1000, .left = 100, .delivered = 800, .undecided = 3, .unread = 7},
		.dropped = {[SIDE_INSIDE] = 60, [SIDE_OUTSIDE] = 5},
		.queued = 40,
	};
	struct flow_balance *b = &c->b;

	for (unsigned i = 0; i < SIDES; i++) {
		c->f.end.dropped[i] += c->lost[i];
		c->f.in_rows += c->lost[i];
	}
	c->f.begin = begin;
	sum_words(&c->f.end.sum, &begin.sum, sizeof(begin.sum));
	sum_words(c->f.end.dropped, begin.dropped, sizeof(begin.dropped));
	c->f.end.queued += begin.queued;
	flow_balance_close(b, &c->f);
	c->rests_on = flow_balance_rests_on(b);
	assert_int_equal(b->arrived, (int64_t)(b->delivered + b->dropped + b->suspected) +
					     b->in_flight + b->unaccounted);
	for (size_t i = 0; i < json_object_array_length(c->rests_on); i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(c->rests_on, i));

		assert_true(strlen(text) >= 10 && !strchr(text, '\n'));
	}
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct flow_case *c = arg;
	struct flow_facts *f = &c->f;
	char from[64], to[64];

	if (!strcmp(verb, "case")) {
		json_object_put(c->rests_on);
		*c = (struct flow_case){};
		snprintf(c->name, sizeof(c->name), "%s", text);
	} else if (!strcmp(verb, "culprit")) {
		assert_int_equal(sscanf(text, "%15s %15s %15s %" SCNu64, c->culprit[0], c->culprit[1],
					c->culprit[2], &f->culprit.packets),
				 4);
		f->culprit.stage = c->culprit[0];
		f->culprit.socket = c->culprit[1];
		f->culprit.process = c->culprit[2];
	} else if (!strcmp(verb, "nat")) {
		struct nat_translation *t = &f->nat[f->n_nat];
		unsigned packets;

		t->kind = f->n_nat++ ? NAT_SOURCE : NAT_DESTINATION;
		assert_int_equal(sscanf(text, "%u %63s %63s", &packets, from, to), 3);
		assert_int_equal(num_endpoint(from, &t->from) || num_endpoint(to, &t->to), 0);
		t->packets = packets;
	} else if (!strcmp(verb, "facts")) {
		recorded_read(facts, text, c);
		close_balance(c);
	} else if (!strcmp(verb, "balance")) {
		if (strcmp(recorded_text(terms, &c->b), text))
			fail_msg("%s\n   %s\nis %s", c->name, text, recorded_text(terms, &c->b));
	} else {
		const unsigned i = (unsigned)strtoul(text, &text, 10);

		assert_string_equal(verb, "rests");
		assert_string_equal(
			json_object_get_string(json_object_array_get_idx(c->rests_on, i)), text + 1);
	}
}

CASE(balances)
{
	struct flow_case c = {};

	recorded_each("tests/fixtures/flow/balance", take_line, &c);
}
