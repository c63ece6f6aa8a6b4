// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Texts filled with members of an object, and lists of named counts. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "base/json.h"
#include "base/num.h"
#include "base/record.h"
#include "recorded.h"

static const char members[] =
	"{\"host\":\"a\",\"sent\":12345,\"zero\":0,\"one\":1,\"yes\":true,\"less\":-3,"
	"\"wait_ns\":1240000,\"tx_pps\":812345.5,\"list\":[1,2],\"empty\":\"\","
	"\"hosts\":{\"tx\":\"b\"}}";

struct counted {
	uint64_t before, at[3], after;
};

static const char *const names[] = {"first", "second", "third"};
static const struct record_field rows[] = {RECORD_COUNTS("parts", counted, at, names, "part", "n"),
					   {0}};

/* "fill ROOM TEXT": on a page, and whole. "read": the counts of a list. */
static void take_line(void *arg, const char *verb, char *text)
{
	struct counted back = {7, {7, 7, 7}, 7};
	struct json_object *o;
	char filled[64];
	size_t room;
	bool any;

	if (!strcmp(verb, "fill")) {
		room = strtoul(text, &text, 10);
		o = json_parse(members, strlen(members), JSON_DEPTH);
		for (unsigned whole = 0; whole < 2; whole++) {
			any = json_fill(filled, room, text + 1, o, '_', whole);
			tell("'%s'%s", filled, any ? "" : " nothing");
		}
		json_object_put(o);
	} else if (!strcmp(verb, "read")) {
		o = json_parse(text, strlen(text), JSON_DEPTH);
		tell(record_read(o, rows, &back) < 0 ? "refused:" : "read:");
		tell("%d %d %d", (int)back.at[0], (int)back.at[1], (int)back.at[2]);
		assert_int_equal(back.before + back.after, 14);
		json_object_put(o);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/members", take_line, NULL);
}

CASE(named_counts)
{
	const struct counted c = {1, {4, 0, 5}, 2};
	struct json_object *o = record_write(rows, &c);
	struct counted back = {7, {7, 7, 7}, 7};

	assert_string_equal(
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
		"{\"parts\":[{\"part\":\"first\",\"n\":4},{\"part\":\"third\",\"n\":5}]}");
	assert_int_equal(record_read(o, rows, &back), 0);
	assert_memory_equal(back.at, c.at, sizeof(c.at));
	json_object_put(o);
}
