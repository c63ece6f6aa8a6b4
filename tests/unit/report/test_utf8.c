// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names that others have given do nothing to the terminal on which they are shown. */

#include "cases.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/trace.h"
#include "report/page.h"

static const struct {
	const char *text, *shown;
} texts[] = {
	{"", ""},
	{"eth0", "eth0"},
	{"a b", "a b"},
	{"\033[31mred", "?[31mred"},
	{"a\nb\tc\177", "a?b?c?"},
	{"\xc2\x9b"
	 "31mred",
	 "??31mred"}, /* U+009B: the same as ESC [ */
	{"\xc2\x80\xc2\x9f\xc2\xa0", "????\xc2\xa0"},
	{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
	{"\xff\xc3", "??"},		   /* no UTF-8; cut short */
	{"\xc0\x8a\xe0\x80\x8a", "?????"}, /* LF in too many bytes */
	{"\xed\xa0\x80", "???"},	   /* a surrogate */
	/* U+202E, U+2069, U+200F and U+061C change the direction of the following text */
	{"a\xe2\x80\xae"
	 "b\xe2\x81\xa9\xe2\x80\x8f\xd8\x9c"
	 "c",
	 "a???b????????c"},
	{"\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5", "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5"},
};

CASE(what_is_shown)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char buf[64];
		unsigned columns;

		snprintf(buf, sizeof(buf), "%s", texts[i].text);
		assert_string_equal(utf8_tame(buf), texts[i].shown);
		columns = utf8_columns(buf, SIZE_MAX);
		for (const char *s = texts[i].shown; *s; s++)
			columns -= (*s & 0xc0) != 0x80;
		assert_int_equal(columns, 0);
	}
}

/* JSON keeps these characters, escaped. */
CASE(what_is_printed_of_json)
{
	static const struct {
		const char *json, *printed;
	} documents[] = {
		{"", ""},
		{"{\"a\":\"eth0\\u001b\"}", "{\"a\":\"eth0\\u001b\"}"},
		{"\"\xc2\x9b"
		 "31m\177\xc2\xa0\xc2\x80\"",
		 "\"\\u009b31m\\u007f\xc2\xa0\\u0080\""},
		{"\"\xc3\xa4\xc2\"", "\"\xc3\xa4\xc2\""},
		{"\"\xe2\x80\xae"
		 "a\xe2\x81\xa6\xd8\x9c\"",
		 "\"\\u202ea\\u2066\\u061c\""},
		{"\xc2", "\xc2"},
		{"\x7f", "\\u007f"},
	};

	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		char *printed;
		size_t len;
		FILE *f = open_memstream(&printed, &len);

		json_print(f, documents[i].json);
		fclose(f);
		assert_string_equal(printed, documents[i].printed);
		free(printed);
	}
}

CASE(words_on_a_page)
{
	char *printed;
	size_t len;
	FILE *f = open_memstream(&printed, &len);
	struct page p = page_open(f, false, 0);

	p.width = 4;
	page_words(&p, STYLE_PLAIN, "a\vb \xc2\x9b \xc3\xa4\xc3\xa4\xc3\xa4");
	page_end(&p);
	fclose(f);
	assert_string_equal(printed, "a b\n??\n\xc3\xa4\xc3\xa4\n\xc3\xa4\n");
	free(printed);
}

/* A user who may create a namespace can choose such interface names. */
CASE(a_device_in_a_line_of_trace)
{
	static struct described what;
	struct live_drop drop = {.what = &what};
	struct page p;
	char *printed;
	size_t len;
	FILE *f = open_memstream(&printed, &len);

	what.row.stage = STAGE_XDP;
	live_row_begin(&what.row, "event", "flow");
	what.row.text[LIVE_IFNAME] = "\033]0;mine\007";
	p = page_open(f, false, 0);
	p.width = UINT32_MAX;
	drop_text(&p, &drop, NULL, false);
	fclose(f);
	assert_non_null(strstr(printed, " xdp ?]0;mine?  "));
	free(printed);
}
