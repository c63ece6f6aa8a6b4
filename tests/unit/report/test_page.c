// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A page of text. Complete outputs are in tests/golden. */

#include "cases.h"
#include <stdlib.h>

#include "base/json.h"
#include "report/page.h"

/* A shell joins the lines of a command. Columns without room are printed below. */
CASE(on_a_narrow_terminal)
{
	static const struct page_column columns[] = {
		{"what", 10, false}, {"sent", 8, true}, {"lost", 8, true}, {NULL, 0, false}};
	static const struct {
		const char *command, *lines;
	} of[] = {
		{"tc qdisc show", "  tc qdisc show\n"},
		{"sysctl -w net.core.rmem_max=1", "  sysctl -w \\\n    net.core.rmem_max=1\n"},
		{"a 'b c d e f g h i j' k l m", "  a \\\n    'b c d e f g h i j' \\\n    k l m\n"},
		{"a 'it'\\''s so' \"b  c\" d e f", "  a 'it'\\''s so' \\\n    \"b  c\" d e f\n"},
	};
	struct page p;
	char *text;
	size_t size;
	FILE *f;

	for (unsigned i = 0; i < LENGTH(of); i++) {
		f = open_memstream(&text, &size);
		p = page_open(f, false, 0);
		p.width = 22;
		page_text(&p, 2, STYLE_PLAIN, "");
		page_command(&p, of[i].command);
		page_end(&p);
		fclose(f);
		assert_string_equal(text, of[i].lines);
		free(text);
	}
	f = open_memstream(&text, &size);
	p = page_open(f, false, 0);
	p.width = 22;
	page_table(&p, columns);
	page_cell(&p, STYLE_PLAIN, "all");
	page_cell(&p, STYLE_PLAIN, "1,000");
	page_cell(&p, STYLE_PLAIN, "12");
	page_end(&p);
	fclose(f);
	assert_string_equal(text, "what          sent\n"
				  "        lost\n"
				  "all          1,000\n"
				  "          12\n");
	free(text);
}

/* Without room next to it, words had no length: an endless loop. */
CASE(words_after_a_label_as_wide_as_the_terminal)
{
	static const unsigned widths[] = {20, 23, 24, 29};

	for (unsigned i = 0; i < LENGTH(widths); i++) {
		char *text;
		size_t size;
		FILE *f = open_memstream(&text, &size);
		struct page p = page_open(f, false, 0);

		p.width = widths[i];
		page_line(&p, 0, STYLE_PLAIN, "softnet:processed 180  ", STYLE_DIM, "(whole host)");
		fclose(f);
		assert_string_equal(text, "softnet:processed 180\n"
					  "    (whole host)\n");
		free(text);
	}
}

CASE(severities_have_colours)
{
	static const char *const begin[][2] = {
		{"error", "\n\033[1;31mqdisc\033[0m - It is full.\n"},
		{"warning", "\n\033[33mqdisc\033[0m - It is full.\n"},
		{"info", "\n\033[1mqdisc\033[0m - It is full.\n"},
	};

	for (unsigned i = 0; i < LENGTH(begin); i++) {
		struct json_object *finding = json_object_new_object();
		size_t size;
		char *said;
		FILE *f = open_memstream(&said, &size);
		struct page p = page_open(f, true, 1);

		json_put_text(finding, "stage", "qdisc");
		json_put_text(finding, "severity", begin[i][0]);
		json_put_text(finding, "cause", "It is full.");
		page_finding(&p, NULL, finding);
		fclose(f);
		assert_string_equal(said, begin[i][1]);
		free(said);
		json_object_put(finding);
	}
}

/* As documents of others have it: columns of padding without end. */
CASE(a_count_wider_than_its_column)
{
	char *text;
	size_t size;
	FILE *f;
	struct page p;

	f = open_memstream(&text, &size);
	p = page_open(f, false, 1);
	page_row(&p, STYLE_PLAIN, 0, "packets", UINT64_MAX, 1);
	fclose(f);
	assert_string_equal(text, "packets 18,446,744,073,709,551,615");
	free(text);
}
