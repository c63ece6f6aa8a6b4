// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Texts filled with members of an object, and lists of named counts. */
#include <string.h>

#include "cases.h"
#include "base/json.h"
#include "base/num.h"
#include "base/record.h"

CASE(filled_texts)
{
	static const char members[] =
		"{\"host\":\"a\",\"sent\":12345,\"zero\":0,\"one\":1,\"yes\":true,\"less\":-3,"
		"\"wait_ns\":1240000,\"tx_pps\":812345.5,\"list\":[1,2],\"empty\":\"\","
		"\"hosts\":{\"tx\":\"b\"}}";
	static const struct {
		const char *text, *page, *whole; /* whole: NULL if it is the same */
	} of[] = {
		{"plain", "plain", NULL},
		{"{host} {hosts.tx} {sent} {list}", "a b 12345 1 2", NULL},
		{"{sent#} {wait_ns#} {tx_pps#}", "12,345 1.24_ms 812.3_kpps", NULL},
		{"{one#packet}, {sent#packet}, {list#item}", "1_packet, 12,345_packets, 2_items",
		 NULL},
		{"{sent*2}", "24690", NULL},
		{"{yes|on|off} {zero|on|off} {no|on}.", "on off .", NULL},
		{"{no:none} {no}|{no#}", "none |0", ""},
		{"{host}[ in {no}][; {sent#}]", "a; 12,345", NULL},
		{"[; {host}][, {no}]", "a", NULL},
		{"{host}[ and {zero}]", "a", "a and 0"},
		{"{?zero}{host}", "", NULL},
		{"{?empty}{host}", "", NULL},
		{"{?hosts}{host}", "a", NULL},
		{"{<sent}{host}", "", NULL},
		{"{<less}{host}", "a", NULL},
		{"{no}", "", NULL},
	};
	struct json_object *o = json_parse(members, strlen(members), JSON_DEPTH);
	char text[64];

	assert_non_null(o);
	for (unsigned i = 0; i < LENGTH(of); i++) {
		assert_int_equal(json_fill(text, sizeof(text), of[i].text, o, '_', false),
				 *of[i].page != '\0');
		assert_string_equal(text, of[i].page);
		json_fill(text, sizeof(text), of[i].text, o, '_', true);
		assert_string_equal(text, of[i].whole ? of[i].whole : of[i].page);
	}
	/* without room: cut, or nothing, or without the part in brackets */
	json_fill(text, 6, "{host} {sent#}", o, ' ', false);
	assert_string_equal(text, "a 12,");
	assert_false(json_fill(text, 6, "{host} {sent#}", o, ' ', true));
	assert_string_equal(text, "");
	json_fill(text, 6, "{host}[ {sent#}]", o, ' ', true);
	assert_string_equal(text, "a");
	json_object_put(o);
}

struct counted {
	uint64_t before, at[3], after;
};

static const char *const names[] = {"first", "second", "third"};
static const struct record_field rows[] = {RECORD_COUNTS("parts", counted, at, names, "part", "n"),
					   {0}};

CASE(named_counts)
{
	static const struct {
		const char *json;
		int rc;
		uint64_t at[3];
	} of[] = {
		{"{\"parts\":[{\"part\":\"third\",\"n\":9}]}", 0, {0, 0, 9}},
		{"{\"parts\":[{\"part\":\"fourth\",\"n\":9},{\"part\":\"first\",\"n\":1}]}",
		 0,
		 {1}},
		{"{\"parts\":[1,null,{},{\"part\":7,\"n\":\"x\"}]}", 0, {0}},
		{"{\"parts\":7}", -1, {0}},
		{"{\"parts\":null}", -1, {0}},
		{"{}", -1, {0}},
	};
	const struct counted c = {1, {4, 0, 5}, 2};
	struct json_object *o = record_write(rows, &c);
	struct counted back = {7, {7, 7, 7}, 7};

	assert_string_equal(
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
		"{\"parts\":[{\"part\":\"first\",\"n\":4},{\"part\":\"third\",\"n\":5}]}");
	assert_int_equal(record_read(o, rows, &back), 0);
	assert_memory_equal(back.at, c.at, sizeof(c.at));
	json_object_put(o);
	for (unsigned i = 0; i < LENGTH(of); i++) {
		o = json_parse(of[i].json, strlen(of[i].json), JSON_DEPTH);
		assert_int_equal(record_read(o, rows, &back) < 0, of[i].rc < 0);
		assert_memory_equal(back.at, of[i].at, sizeof(back.at));
		assert_int_equal(back.before + back.after, 14);
		json_object_put(o);
	}
}
