// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Texts of others and lines of a page: names that others have given do nothing to a terminal or a
 * spreadsheet. Complete outputs are in tests/golden.
 */

#include "cases.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json.h"
#include "monitor/describe.h"
#include "recorded.h"
#include "report/load.h"
#include "report/page.h"
#include "report/trace.h"

static char *printed;
static size_t printed_size;

static FILE *text_begin(void)
{
	return open_memstream(&printed, &printed_size);
}

static void text_end(FILE *f)
{
	fclose(f);
	tell_escaped(printed);
	free(printed);
}

static struct page page_of(FILE *f, unsigned width)
{
	struct page p = page_open(f, false, 0);

	p.width = width;
	return p;
}

/* What a terminal shows of a name, and as many columns as it takes. */
static void tell_shown(const char *word)
{
	char buf[64];
	unsigned columns;

	snprintf(buf, sizeof(buf), "%s", word);
	tell_escaped(utf8_tame(buf));
	columns = utf8_columns(buf, SIZE_MAX);
	for (const char *s = buf; *s; s++)
		columns -= (*s & 0xc0) != 0x80;
	assert_int_equal(columns, 0);
}

/* A drop at this interface, and the bytes of its packet. */
static void tell_drop(unsigned width, const char *ifname, const char *bytes)
{
	static struct described what;
	struct live_drop drop = {.what = &what,
				 .packet = {.bytes = (const uint8_t *)bytes, .len = 20}};
	FILE *f = text_begin();
	struct page p = page_of(f, width);

	what.row.stage = STAGE_XDP;
	live_row_begin(&what.row, "event", "flow");
	what.row.text[LIVE_IFNAME] = ifname;
	drop_text(&p, &drop, NULL, bytes != NULL);
	text_end(f);
}

static void tell_finding(const char *severity)
{
	struct json_object *finding = json_object_new_object();
	FILE *f = text_begin();
	struct page p = page_open(f, true, 1);

	json_put_text(finding, "stage", "qdisc");
	json_put_text(finding, "severity", severity);
	json_put_text(finding, "cause", "It is full.");
	page_finding(&p, NULL, finding);
	text_end(f);
	json_object_put(finding);
}

static void tell_table(unsigned width, char *const word[], int n)
{
	static const struct page_column columns[] = {
		{"what", 10, false}, {"sent", 8, true}, {"lost", 8, true}, {NULL, 0, false}};
	FILE *f = text_begin();
	struct page p = page_of(f, width);

	page_table(&p, columns);
	for (int i = 0; i < n; i++)
		page_cell(&p, STYLE_PLAIN, word[i]);
	page_end(&p);
	text_end(f);
}

/* Returns the port. */
static uint16_t take_address(const char *word, uint8_t address[16], struct endpoint *at)
{
	assert_int_equal(num_endpoint(word, at), 0);
	if (at->family == AF_INET)
		memcpy(address, &at->ip4, sizeof(at->ip4));
	else
		memcpy(address, &at->ip6, sizeof(at->ip6));
	return at->port;
}

static void tell_socket(const char *family, const char *address)
{
	struct watch_sock s = {.family = (uint16_t)atoi(family)};
	struct endpoint at = {};
	char buf[FLOW_TEXT];

	if (*address)
		s.local_port = take_address(address, s.local, &at);
	tell("%s", describe_socket(&s, buf, sizeof(buf)));
}

static void tell_flow(const char *proto, const char *from, const char *to)
{
	struct watch_flow f = {.proto = (uint8_t)atoi(proto)};
	struct endpoint at = {};
	char buf[FLOW_TEXT];

	if (*from) {
		f.src_port = htons(take_address(from, f.src, &at));
		f.dst_port = htons(take_address(to, f.dst, &at));
	}
	f.family = (uint8_t)at.family;
	tell("'%s'", describe_flow(&f, buf, sizeof(buf)));
}

/* "VERB TEXT" has all of a page; "VERB WIDTH ...": on a terminal of this width. */
static void take_line(void *arg, const char *verb, char *text)
{
	const bool begins = !strcmp(verb, "case");
	char *word[8] = {};
	const int n = begins ? 0 : recorded_words(text, word, LENGTH(word));
	const unsigned width = n ? (unsigned)atoi(word[0]) : 0;
	struct json_object *o;
	struct page p;
	FILE *f;

	if (begins) {
		return;
	} else if (!strcmp(verb, "shown")) {
		tell_shown(word[0]);
	} else if (!strcmp(verb, "value")) {
		o = json_text(word[0]);
		tell_escaped(json_object_get_string(o));
		json_object_put(o);
	} else if (!strcmp(verb, "finding")) {
		tell_finding(word[0]);
	} else if (!strcmp(verb, "table")) {
		tell_table(width, word + 1, n - 1);
	} else if (!strcmp(verb, "drop")) {
		tell_drop(width, word[1], word[2]);
	} else if (!strcmp(verb, "socket")) {
		tell_socket(word[0], word[1]);
	} else if (!strcmp(verb, "flow")) {
		tell_flow(word[0], word[1], word[2]);
	} else if (!strcmp(verb, "share")) {
		tell("'%s'", page_share(strtoull(word[0], NULL, 10), strtoull(word[1], NULL, 10)));
	} else {
		f = text_begin();
		p = page_of(f, width);
		if (!strcmp(verb, "json")) {
			json_print(f, word[0]);
		} else if (!strcmp(verb, "csv")) {
			csv_text(f, word[0]);
		} else if (!strcmp(verb, "words")) {
			page_words(&p, STYLE_PLAIN, "%s", word[1]);
			page_end(&p);
		} else if (!strcmp(verb, "line")) {
			page_line(&p, 0, STYLE_PLAIN, word[1], STYLE_DIM, "%s", word[2]);
		} else if (!strcmp(verb, "count")) {
			page_row(&p, STYLE_PLAIN, 0, word[1], strtoull(word[2], NULL, 10), 1);
		} else {
			assert_string_equal(verb, "command");
			page_text(&p, 2, STYLE_PLAIN, "");
			page_command(&p, word[1]);
			page_end(&p);
		}
		text_end(f);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/page", take_line, NULL);
}
