// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Structs as JSON: written values are read back, and other values are refused. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cases.h"
#include "base/record.h"
#include "record_fill.h"
#include "recorded.h"

static const char *const colours[] = {NULL, "red", "green"};

struct point {
	int32_t x;
	int64_t y;
};

struct all {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64, omitted, nothing, since;
	bool yes, known;
	double share, rate;
	char text[8];
	const char *borrowed, *word;
	int colour;
	struct point at, more[3];
	unsigned n_more;
	uint64_t maybe;
	uint16_t list[4];
	char words[2][4];
	unsigned n_words;
	struct json_object *any;
	uint64_t part;
};

static const struct record_field point_rows[] = {
	RECORD("x", INT, point, x),
	RECORD("y", INT, point, y),
	{0},
};

static const struct record_field part_rows[] = {RECORD("part", UINT, all, part), {0}};

static const struct record_field rows[] = {
	RECORD("u8", UINT, all, u8),
	RECORD("u16", UINT, all, u16),
	RECORD("u32", UINT, all, u32),
	RECORD("u64", UINT, all, u64),
	RECORD("omitted", UINT, all, omitted, .how = RECORD_OMITTED),
	RECORD("nothing", UINT, all, nothing, .how = RECORD_NULL),
	RECORD("since", TIME, all, since),
	RECORD("yes", BOOL, all, yes),
	RECORD("share", DOUBLE, all, share),
	RECORD("rate", DOUBLE, all, rate, .how = RECORD_MILLI),
	RECORD("text", TEXT, all, text),
	RECORD("borrowed", POINTER, all, borrowed),
	RECORD("word", WORD, all, word, RECORD_NAMES(colours)),
	RECORD("colour", ENUM, all, colour, RECORD_NAMES(colours)),
	RECORD("at", NESTED, all, at, .rows = point_rows),
	RECORD_LIST("more", NESTED, all, more, .rows = point_rows, RECORD_COUNT(all, n_more)),
	RECORD("maybe", UINT, all, maybe, RECORD_WHEN(all, known)),
	RECORD_LIST("list", UINT, all, list),
	RECORD_LIST("words", TEXT, all, words, RECORD_COUNT(all, n_words)),
	RECORD("any", JSON, all, any),
	RECORD_PART("inner", part_rows),
	RECORD_OTHER("own", NULL),
	{0},
};

static struct all full(void)
{
	struct all a = {};

	record_fill(rows, &a);
	return a;
}

static const char *text_of(struct json_object *o)
{
	return json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void is_written_as(const struct all *a, const char *text)
{
	struct json_object *o = record_write(rows, a);

	assert_string_equal(text_of(o), text);
	json_object_put(o);
}

CASE(all_comes_back)
{
	const struct all in = full();
	struct json_object *o = record_write(rows, &in);
	struct all out;

	memset(&out, 0xff, sizeof(out));
	assert_string_equal(
		text_of(o),
		"{\"u8\":255,\"u16\":65535,\"u32\":4294967295,\"u64\":18446744073709551611,"
		"\"omitted\":18446744073709551610,\"nothing\":18446744073709551609,"
		"\"since\":\"2024-05-01T12:00:00.123463Z\",\"yes\":true,\"share\":1243.5,"
		"\"rate\":1244.500,\"text\":\"t11\",\"borrowed\":\"a text\",\"word\":\"green\","
		"\"colour\":\"green\",\"at\":{\"x\":-1001,\"y\":-1002},\"more\":[{\"x\":-1001,"
		"\"y\":-1002},{\"x\":-1001,\"y\":-1002},{\"x\":-1001,\"y\":-1002}],"
		"\"maybe\":18446744073709551598,\"list\":[65535,65535,65535,65535],"
		"\"words\":[\"t19\",\"t19\"],\"any\":null,"
		"\"inner\":{\"part\":18446744073709551614},\"own\":null}");
	assert_int_equal(record_read(o, rows, &out), 0);
	is_written_as(&out, text_of(o));
	assert_null(out.any);
	json_object_put(o);
}

/* A missing value is null or absent, and reads as zero regardless of the previous content. */
CASE(nothing_comes_back)
{
	struct all in = {.omitted = 0};
	struct json_object *o = record_write(rows, &in);
	struct all out = full();

	assert_string_equal(
		text_of(o),
		"{\"u8\":0,\"u16\":0,\"u32\":0,\"u64\":0,\"nothing\":null,\"since\":null,"
		"\"yes\":false,\"share\":0.0,\"rate\":0.000,\"text\":null,\"borrowed\":null,"
		"\"word\":null,\"colour\":null,\"at\":{\"x\":0,\"y\":0},\"more\":[],"
		"\"maybe\":null,\"list\":[],\"words\":[],\"any\":null,\"inner\":{\"part\":0},"
		"\"own\":null}");
	assert_int_equal(record_read(o, rows, &out), 0);
	assert_true(!out.omitted && !out.known && !out.colour && !out.list[0]);
	is_written_as(&out, text_of(o));
	json_object_put(o);
}

/* Each member is required with its type. The other members are still read. */
CASE(each_member_is_needed)
{
	const struct all in = full();

	for (const struct record_field *f = rows; f->key; f++) {
		struct json_object *o = record_write(rows, &in);
		struct all out;

		json_object_object_del(o, f->key);
		assert_int_equal(record_read(o, rows, &out),
				 f->how & RECORD_OMITTED || f->type == RECORD_OWN ? 0 : -EBADMSG);
		assert_true(out.yes || !strcmp(f->key, "yes"));
		assert_true(out.part || !strcmp(f->key, "inner"));
		json_object_object_add(o, f->key,
				       f->type == RECORD_NESTED ? json_object_new_int(1)
								: json_object_new_object());
		assert_int_equal(record_read(o, rows, &out), f->type >= RECORD_OWN ? 0 : -EBADMSG);
		assert_true(out.yes || !strcmp(f->key, "yes"));
		json_object_put(o);
	}
}

/* A value in place of an object is ignored. */
CASE(only_objects_are_read)
{
	static const char *const others[] = {"[]", "1", "\"a\"", "true", "1.5", "null"};

	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct json_object *o = json_tokener_parse(others[i]);
		struct all out = full();

		assert_int_equal(record_read(o, rows, &out), -EBADMSG);
		assert_true(!out.u64 && !out.n_more && !out.at.x && !out.known && !out.part);
		json_object_put(o);
	}
}

/* Reads one member of a kind and writes its value again. */
static void take_line(void *arg, const char *verb, char *text)
{
	static const struct record_field kinds[][2] = {
		{RECORD("few", UINT, all, u16, .max = 64), {0}},
		{RECORD("byte", UINT, all, u8), {0}},
		{RECORD("wide", UINT, all, u64), {0}},
		{RECORD("small", INT, all, at.x), {0}},
		{RECORD("large", INT, all, at.y), {0}},
		{RECORD("real", DOUBLE, all, share), {0}},
		{RECORD_LIST("list", UINT, all, list), {0}},
		{RECORD("word", WORD, all, word, RECORD_NAMES(colours)), {0}},
		{RECORD("colour", ENUM, all, colour, RECORD_NAMES(colours)), {0}},
		{RECORD("open", ENUM, all, colour, RECORD_NAMES(colours), .how = RECORD_OPEN,
			.unknown = 1),
		 {0}},
		{RECORD("when", TIME, all, since), {0}},
		{RECORD("text", TEXT, all, text), {0}},
	};
	static struct all taken;

	for (unsigned i = 0; i < LENGTH(kinds); i++) {
		struct json_object *o, *written;

		if (strcmp(verb, kinds[i]->key))
			continue;
		o = json_object_new_object();
		json_object_object_add(o, verb, json_tokener_parse(text));
		if (record_read(o, kinds[i], &taken))
			tell("refused:");
		written = record_write(kinds[i], &taken);
		tell("%s", text_of(json_object_object_get(written, verb)));
		json_object_put(o);
		json_object_put(written);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/record", take_line, NULL);
}

/* NaN and infinity are not valid JSON. */
CASE(numbers_are_finite)
{
	const struct all in = {.share = NAN, .rate = INFINITY};
	struct json_object *o = record_write(rows, &in), *share, *rate;

	assert_true(json_object_object_get_ex(o, "share", &share));
	assert_true(json_object_object_get_ex(o, "rate", &rate));
	assert_null(share);
	assert_null(rate);
	json_object_put(o);
}
