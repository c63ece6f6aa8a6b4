// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Structs as JSON: written values are read back, and other values are refused. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cases.h"
#include "base/record.h"
#include "record_fill.h"

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
	assert_string_equal(out.borrowed, in.borrowed);
	assert_ptr_equal(out.word, in.word);
	assert_true(out.u8 == in.u8 && out.u16 == in.u16 && out.u32 == in.u32);
	assert_true(out.u64 == in.u64 && out.omitted == in.omitted && out.nothing == in.nothing);
	assert_true(out.since == in.since && out.yes && out.known && out.maybe == in.maybe);
	assert_true(fabs(out.share - in.share) < 1e-9 && fabs(out.rate - in.rate) < 1e-9);
	assert_string_equal(out.text, in.text);
	assert_int_equal(out.colour, 2);
	assert_true(out.at.x == -1001 && out.at.y == -1002 && out.n_more == 3);
	assert_true(out.more[2].x == -1001 && out.more[2].y == -1002);
	assert_memory_equal(out.list, in.list, sizeof(in.list));
	assert_int_equal(out.n_words, 2);
	assert_string_equal(out.words[1], "t19");
	assert_null(out.any);
	assert_true(out.part == in.part);
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
	assert_true(!out.omitted && !out.nothing && !out.known && !out.maybe && !out.n_more);
	assert_true(!out.word && !out.borrowed && !*out.text && !out.colour && !out.list[0]);
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

static struct all taken;

static int take(const struct record_field *some, const char *text)
{
	struct json_object *o = json_tokener_parse(text);
	int rc;

	assert_non_null(o);
	rc = record_read(o, some, &taken);
	json_object_put(o);
	return rc;
}

CASE(values_have_bounds)
{
	static const struct record_field few[] = {RECORD("n", UINT, all, u16, .max = 64), {0}};
	static const struct record_field byte[] = {RECORD("n", UINT, all, u8), {0}};
	static const struct record_field wide[] = {RECORD("n", UINT, all, u64), {0}};
	static const struct record_field small[] = {RECORD("n", INT, all, at.x), {0}};
	static const struct record_field large[] = {RECORD("n", INT, all, at.y), {0}};
	static const struct record_field real[] = {RECORD("n", DOUBLE, all, share), {0}};
	static const struct record_field list[] = {RECORD_LIST("n", UINT, all, list), {0}};
	static const struct record_field word[] = {
		RECORD("n", WORD, all, word, RECORD_NAMES(colours)), {0}};
	static const struct record_field colour[] = {
		RECORD("n", ENUM, all, colour, RECORD_NAMES(colours)), {0}};
	static const struct record_field open[] = {RECORD("n", ENUM, all, colour,
							  RECORD_NAMES(colours), .how = RECORD_OPEN,
							  .unknown = 1),
						   {0}};
	static const struct record_field when[] = {RECORD("n", TIME, all, since), {0}};

	assert_int_equal(take(few, "{\"n\":64}"), 0);
	assert_int_equal(take(few, "{\"n\":65}"), -EBADMSG);
	assert_int_equal(take(few, "{\"n\":-1}"), -EBADMSG);
	assert_int_equal(take(few, "{\"n\":1.0}"), -EBADMSG);
	assert_int_equal(take(few, "{\"n\":\"1\"}"), -EBADMSG);
	assert_int_equal(take(byte, "{\"n\":255}"), 0);
	assert_int_equal(take(byte, "{\"n\":256}"), -EBADMSG);
	assert_int_equal(take(wide, "{\"n\":18446744073709551615}"), 0);
	assert_int_equal(take(wide, "{\"n\":-9223372036854775808}"), -EBADMSG);
	assert_int_equal(take(small, "{\"n\":-2147483648}"), 0);
	assert_true(taken.at.x == INT32_MIN);
	assert_int_equal(take(small, "{\"n\":-2147483649}"), -EBADMSG);
	assert_int_equal(take(small, "{\"n\":2147483648}"), -EBADMSG);
	assert_int_equal(take(large, "{\"n\":-9223372036854775808}"), 0);
	assert_int_equal(take(large, "{\"n\":9223372036854775807}"), 0);
	assert_int_equal(take(large, "{\"n\":9223372036854775808}"), -EBADMSG);
	assert_int_equal(take(real, "{\"n\":2}"), 0);
	assert_int_equal(take(real, "{\"n\":-0.5}"), -EBADMSG);
	assert_int_equal(take(real, "{\"n\":1e999}"), -EBADMSG);
	assert_int_equal(take(list, "{\"n\":[1,2]}"), 0);
	assert_true(taken.list[1] == 2 && !taken.list[2]);
	assert_int_equal(take(list, "{\"n\":[1,2,3,4,5]}"), -EBADMSG);
	assert_int_equal(take(list, "{\"n\":[1,null]}"), -EBADMSG);
	assert_int_equal(take(list, "{\"n\":[1,65536]}"), -EBADMSG);
	assert_int_equal(take(list, "{\"n\":null}"), -EBADMSG);
	assert_int_equal(take(word, "{\"n\":\"red\"}"), 0);
	assert_ptr_equal(taken.word, colours[1]);
	assert_int_equal(take(word, "{\"n\":\"blue\"}"), -EBADMSG);
	assert_null(taken.word);
	assert_int_equal(take(colour, "{\"n\":\"blue\"}"), -EBADMSG);
	assert_int_equal(take(colour, "{\"n\":2}"), -EBADMSG);
	assert_int_equal(take(open, "{\"n\":\"blue\"}"), 0);
	assert_int_equal(taken.colour, 1);
	assert_int_equal(take(when, "{\"n\":\"yesterday\"}"), -EBADMSG);
	assert_int_equal(take(when, "{\"n\":5}"), -EBADMSG);
}

/* Foreign names are shown on a terminal. */
CASE(texts_are_tame)
{
	static const struct record_field text[] = {RECORD("n", TEXT, all, text), {0}};

	assert_int_equal(take(text, "{\"n\":\"\\u001b[3\\n\\u007f\"}"), 0);
	assert_string_equal(taken.text, "?[3??");
	assert_int_equal(take(text, "{\"n\":\"0123456789\"}"), 0);
	assert_string_equal(taken.text, "0123456");
	assert_int_equal(take(text, "{\"n\":\"abcdef\\u00e4\"}"), 0);
	assert_string_equal(taken.text, "abcdef?"); /* cut inside a character */
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
