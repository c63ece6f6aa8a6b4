// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "base/json.h"
#include "report/json.h"
#include "report/document.h"
#include "report/load.h"
#include "report/print.h"

#define S 1000000000ULL

static struct json_object *object(const char *text)
{
	struct json_object *o = json_tokener_parse(text);

	assert_non_null(o);
	return o;
}

/* Every column of a document is escaped in this way. */
CASE(a_table_of_strangers)
{
	const struct ledgers_document d = {
		.json = object("{\"file\":\"=a\",\"start\":{\"host\":\"@h\"},\"intervals\":[{"
			       "\"time\":\"=\\u001b\",\"stages\":[{\"stage\":\"=s\",\"causes\":[{"
			       "\"process\":\"=p\",\"reason\":\"\\u001b\"}]}]}]}"),
		.command = "trace",
		.parts = true,
	};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	csv_document(f, &d);
	fclose(f);
	assert_null(strchr(text, '\x1b'));
	assert_null(strstr(text, ",=") ? strstr(text, ",=") : strstr(text, ",@"));
	assert_int_equal(*text, '"');
	assert_non_null(strstr(text, "\"'=p\""));
	free(text);
	json_object_put(d.json);
}

/* Words of the letters of addresses that are longer than any, of all lengths: unharmed, and whole.
 */
CASE(long_words_are_kept)
{
	static const char letters[] = "f:.0";
	char *text = malloc(40001);

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned n = 60; n < 40000; n = n < 70 ? n + 1 : n * 5) {
			struct json_object *o = json_object_new_object();
			struct redact *r = redact_new();

			memset(text, letters[i], n);
			text[n] = '\0';
			json_put_text(o, "text", text);
			redact_apply(r, o);
			assert_string_equal(json_get_text(o, "text"), text);
			redact_free(r);
			json_object_put(o);
		}
	}
	free(text);
}

/* A secret is hidden in strings of any name, also long ones, but not in words of pktledger's own.
 */
CASE(every_string_is_searched)
{
	struct json_object *o = object("{\"start\":{\"host\":\"socket\",\"tx\":\"socket\","
				       "\"new\":{\"thing\":[\"on socket\",5,null]}}}");
	struct json_object *thing, *start = json_get(o, "start");
	char text[10001] = "";
	struct redact *r = redact_new();

	memset(text, 'x', 9990);
	strcpy(text + 9990, " socket");
	json_put_text(start, "long", text);
	redact_learn(r, o);
	redact_apply(r, o);
	thing = json_get(json_get(start, "new"), "thing");
	assert_string_equal(json_get_text(start, "tx"), "socket");
	assert_string_equal(json_object_get_string(json_object_array_get_idx(thing, 0)),
			    "on host-1");
	assert_string_equal(json_get_text(start, "long") + 9990, " host-1");
	redact_free(r);
	json_object_put(o);
}

/* Of names that begin alike the longest is hidden, and none in the middle of a word. */
CASE(the_longest_name_is_hidden)
{
	struct json_object *o =
		object("{\"pod\":[\"web\",\"web front\",\"web front two\",\"webs\"],"
		       "\"text\":\"web front twos, web front two.web, awebs webs/web\"}");
	struct redact *r = redact_new();

	redact_learn(r, o);
	redact_apply(r, o);
	assert_string_equal(json_get_text(o, "text"), "pod-2 twos, pod-3.pod-1, awebs pod-4/pod-1");
	redact_free(r);
	json_object_put(o);
}

/* As many names, and texts with them, as a large cluster has. */
CASE(many_names_are_hidden)
{
	struct json_object *o = json_object_new_object(), *pods = json_object_new_array();
	struct json_object *texts = json_object_new_array();
	struct redact *r = redact_new();
	char name[64], text[128];

	for (unsigned i = 1; i <= 100000; i++) {
		snprintf(name, sizeof(name), "shop/front-%x", i * 2654435761u);
		json_object_array_add(pods, json_object_new_string(name));
		snprintf(text, sizeof(text), "of %s: 5", name);
		json_object_array_add(texts, json_object_new_string(text));
	}
	json_object_object_add(o, "pod", pods);
	json_object_object_add(o, "text", texts);
	redact_learn(r, o);
	redact_apply(r, o);
	for (unsigned i = 1; i <= 100000; i++) {
		snprintf(text, sizeof(text), "of pod-%u: 5", i);
		assert_string_equal(json_object_get_string(json_object_array_get_idx(texts, i - 1)),
				    text);
	}
	redact_free(r);
	json_object_put(o);
}

/* Intervals of a length that lose two packets each: steps of another, no packet left out. */
static void in_steps(uint64_t span_ns, uint64_t interval_ns, uint64_t step_ns)
{
	struct json_object *list = json_object_new_array(), *doc = json_object_new_object();
	const uint64_t start = 1714564800, n = span_ns / interval_ns;
	struct ledgers_document d = {.json = doc,
				     .command = "trace",
				     .parts = true,
				     .from_ns = start * S,
				     .to_ns = start * S + span_ns};
	struct steps *s = malloc(sizeof(*s));
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= n; i++) {
		struct json_object *o = object("{\"stages\":[{\"stage\":\"xdp\",\"packets\":2}]}");

		json_put_u64(o, "time_ns", i * interval_ns);
		json_put_u64(o, "interval_ns", interval_ns);
		json_put_u64(o, "dropped", 2);
		json_object_array_add(list, o);
	}
	json_put(doc, "start", object("{\"time\":\"2024-05-01T12:00:00Z\"}"));
	json_put(doc, "intervals", list);
	steps_make(s, &d);
	assert_int_equal(s->length_ns, step_ns);
	assert_int_equal(s->n, span_ns / step_ns);
	for (unsigned i = 0; i < s->n; i++) {
		assert_int_equal(s->at[i].from_ns, start * S + i * step_ns);
		assert_int_equal(s->at[i].sum.stage[STAGE_XDP].packets,
				 s->at[i].sum.dropped);
		assert_true(s->at[i].sum.peak_pps == 2e9 / (double)interval_ns);
		sum += s->at[i].sum.dropped;
	}
	assert_int_equal(sum, 2 * n);
	free(s);
	json_object_put(doc);
}

CASE(steps)
{
	in_steps(3600 * S, S, 300 * S);
	in_steps(2 * S, S / 2, S / 2); /* not of less than an interval */
	in_steps(2 * S, S / 10, S / 10);
}
