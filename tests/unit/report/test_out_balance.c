// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The balance of a flow for people and for machines. */

#include "cases.h"
#include <stdlib.h>
#include <string.h>

#include "monitor/session.h"
#include "report/trace.h"
#include "report/page.h"

static const struct trace_cost cost = {.runs = 1000, .run_ns = 150000};

/* 1000 that arrived: 900 delivered, 60 dropped, 30 wait, 10 are missing; 5 were lost before. */
static struct flow_facts facts(void)
{
	struct flow_facts f = {
		.in_rows = 60,
		.culprit = {"rcvbuf", "[2001:2::1234:5678:9abc:def0]:5060", "application[4711]",
			    55},
		.measured_ns = 10000000,
		.numbered = true,
		.streams =
			{.streams = 2, .seen = 1000, .missing = 5, .duplicates = 3, .restarts = 1},
	};

	f.end.sum.entered = 1007;
	f.end.sum.left = 7;
	f.end.sum.sent = 1234;
	f.end.sum.delivered = 900;
	f.end.dropped[SIDE_INSIDE] = 60;
	f.end.queued = 30;
	return f;
}

/* The end of a trace that lost 1000 packets. */
static struct json_object *end_of(const struct flow_facts *f, const struct trace_cost *c)
{
	struct flow_balance b;
	struct live_row row = {.stage = STAGE_RCVBUF, .counts = {.packets = 1000}};
	struct live_table rows;
	struct live_summary *s = calloc(1, sizeof(*s));
	struct json_object *end;

	assert_non_null(s);
	table_init(&rows, 1);
	live_row_begin(&row, "event", "flow");
	assert_true(table_add(&rows, &row, LIVE_BY_DEFAULT));
	flow_balance_close(&b, f);
	b.facts.cost = *c;
	s->total = &rows;
	s->flow = &b;
	end = json_trace_end(s, LIVE_BY_DEFAULT);
	table_free(&rows);
	free(s);
	return end;
}

static char *text_of(const struct flow_facts *f, const struct trace_cost *c)
{
	struct json_object *start = json_object_new_object(), *end = end_of(f, c);
	struct print_view v = {.width = PAGE_WIDTH};
	char *text = NULL;
	size_t size;

	v.out = open_memstream(&text, &size);
	print_trace_end(&v, start, end);
	fclose(v.out);
	json_object_put(start);
	json_object_put(end);
	for (char *line = text; *line;) {
		size_t n = strcspn(line, "\n");

		if (n > PAGE_WIDTH || (n && line[n - 1] == ' '))
			fail_msg("%zu columns: '%.*s'", n, (int)n, line);
		line += n + (line[n] == '\n');
	}
	return text;
}

static void has(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("no \"%s\" in:\n%s", wanted, text);
}

CASE(for_people)
{
	struct flow_facts f = facts();
	char *text = text_of(&f, &cost);

	has(text, "\narrived         1,000\n");
	has(text, "\ndelivered         900  90.00 %\n");
	has(text, "\ndropped            60   6.00 %\n");
	has(text, "\nin flight          30\n");
	has(text, "\nunaccounted        10\n");
	has(text, "\npassed on           7");
	has(text, "\nsent            1,234           from here to an interface's queue");
	has(text,
	    "\nlost before         5   0.50 %  of the numbers in 2 streams - 3 twice, 1 restart");
	has(text, "\nresult          unknown\n");
	has(text, "10 datagrams were seen nowhere after arriving");
	has(text, "150 ns a packet at each of them, 1.50 % of a CPU");
	free(text);
}

CASE(for_people_balanced)
{
	const struct trace_cost none = {};
	struct flow_facts f = facts();
	char *text;

	f.end.sum.delivered = 910;
	text = text_of(&f, &none);
	has(text, "\nresult          both - rcvbuf [2001:2::1234:5678:9abc:def0]:5060");
	has(text, "all 1,000 that arrived have their place");
	has(text, "probes          no packet arrived");
	free(text);

	memset(&f, 0, sizeof(f));
	f.begin.queued = 12;
	f.end.sum.delivered = 12;
	text = text_of(&f, &cost);
	has(text, "\nin flight          12           less than at the beginning\n");
	has(text, "result          no loss seen on this host\n");
	free(text);
}

static int64_t number(struct json_object *o, const char *key)
{
	struct json_object *v;

	assert_true(json_object_object_get_ex(o, key, &v));
	assert_int_equal(json_object_get_type(v), json_type_int);
	return json_object_get_int64(v);
}

static const char *word(struct json_object *o, const char *key)
{
	struct json_object *v;

	assert_true(json_object_object_get_ex(o, key, &v));
	return json_object_get_string(v);
}

CASE(for_machines)
{
	struct flow_facts f = facts();
	struct json_object *end = end_of(&f, &cost), *part;

	assert_int_equal(number(end, "arrived"), 1000);
	assert_int_equal(number(end, "delivered"), 900);
	assert_int_equal(number(end, "in_flight"), 30);
	assert_int_equal(number(end, "unaccounted"), 10);
	assert_int_equal(number(end, "lost_before"), 5);
	assert_string_equal(word(end, "verdict"), "unknown");
	assert_string_equal(word(end, "balanced"), "false");
	assert_true(json_object_object_get_ex(end, "culprit", &part));
	assert_string_equal(word(part, "stage"), "rcvbuf");
	assert_int_equal(number(part, "packets"), 55);
	assert_true(json_object_object_get_ex(end, "sequence", &part));
	assert_int_equal(number(part, "missing"), 5);
	assert_true(json_object_object_get_ex(end, "probes", &part));
	assert_int_equal(number(part, "entered"), 1007);
	assert_int_equal(number(part, "left"), 7);
	assert_int_equal(number(part, "dropped"), 60);
	assert_true(json_object_object_get_ex(end, "rests_on", &part));
	assert_int_equal(json_object_array_length(part), 4);
	json_object_put(end);
}

/* What is not known is null, not 0. */
CASE(for_machines_without_numbers)
{
	struct flow_facts f = facts();
	struct json_object *end;

	f.numbered = false;
	f.culprit = (struct flow_culprit){};
	end = end_of(&f, &cost);
	assert_null(word(end, "lost_before"));
	assert_null(word(end, "sequence"));
	assert_null(word(end, "culprit"));
	json_object_put(end);
}
