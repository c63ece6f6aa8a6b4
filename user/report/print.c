// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/print.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/clock.h"
#include "report/text.h"
#include "report/print_parts.h"
#include "report/document.h"
#include "report/print_trace.h"
#include "report/trialset.h"

struct page print_page(const struct print_view *v, uint64_t most)
{
	struct page p = page_open(v->out, v->colour, most);

	if (v->html)
		return page_open_html(v->html);
	p.width = v->width;
	return p;
}

static void put_command(struct page *p, const struct json_object *start)
{
	size_t n = json_get_length(start, "command");

	if (!n)
		return;
	page_text(p, 2, STYLE_DIM, "command   ");
	for (size_t i = 1; i < n; i++)
		page_words(p, STYLE_PLAIN, "%s",
			   json_object_get_string(json_get_item(start, "command", i)));
	page_end(p);
}

static void put_joined(struct page *p, const struct json_object *document)
{
	const struct json_object *covers = json_get(document, "covers");
	char count[FMT_MAX];

	if (json_get_u64(covers, "joined") < 2)
		return;
	page_text(p, 2, STYLE_DIM, "intervals ");
	page_words(p, STYLE_PLAIN, "%s, put together by up to %u",
		   fmt_count(count, sizeof(count), json_get_u64(covers, "intervals")),
		   (unsigned)json_get_u64(covers, "joined"));
	page_end(p);
}

/* Where what is told is not all of it: --since, or --keep. */
static void put_begin(struct page *p, const struct ledgers_document *d,
		      const struct json_object *start)
{
	char text[WHEN_TEXT];
	uint64_t ns;

	if (when_date(json_get_text(start, "time"), &ns) || d->from_ns < ns + 2000000000)
		return;
	page_text(p, 2, STYLE_DIM, "began     ");
	page_words(p, STYLE_PLAIN, "%s", when_text(text, sizeof(text), ns, true));
	page_end(p);
}

static void put_fates(struct page *p, const struct json_object *document)
{
	if (!json_get(document, "fates_agree") || json_get_bool(document, "fates_agree"))
		return;
	page_text(p, 2, STYLE_BAD, "fates     ");
	page_words(p, STYLE_BAD, "those of the numbers do not add up to the books");
	page_end(p);
}

static void put_error(struct page *p, const struct json_object *error)
{
	if (!error)
		return;
	page_text(p, 2, STYLE_BAD, "failed    ");
	page_words(p, STYLE_BAD, "%s", json_get_text(error, "message"));
	page_end(p);
}

static void put_title(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *start = json_get(d->json, "start");
	struct page p = print_page(v, 0);
	char from[WHEN_TEXT], to[WHEN_TEXT];
	bool same_day;

	when_text(from, sizeof(from), d->from_ns, true);
	when_text(to, sizeof(to), d->to_ns, true);
	same_day = !strncmp(from, to, strcspn(from, " "));
	page_text(&p, 0, STYLE_BOLD, d->command);
	p.indent = 2;
	if (*json_get_text(start, "host"))
		page_words(&p, STYLE_BOLD, "on %s,", json_get_text(start, "host"));
	page_words(&p, STYLE_BOLD, "%s - %s", from, same_day ? strchr(to, ' ') + 1 : to);
	page_words(&p, STYLE_DIM, "(%s, %u)", json_get_text(d->json, "file"), d->number);
	page_end(&p);
	put_command(&p, start);
	put_begin(&p, d, start);
	put_joined(&p, d->json);
	put_fates(&p, d->json);
	put_error(&p, json_get(d->json, "error"));
	if (!json_get(d->json, "end") && strcmp(d->command, "capture")) {
		page_text(&p, 2, STYLE_WARN, "no end    ");
		page_words(&p, STYLE_WARN, "it was killed, or still writes");
		page_end(&p);
	}
}

/* The books of run, send and recv, as they printed them. */
static void put_books(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *end = json_get(d->json, "end");

	if (!end)
		return;
	fputc('\n', v->out);
	if (!strcmp(d->command, "send"))
		text_send(v->out, end);
	else if (!strcmp(d->command, "recv"))
		text_recv(v->out, end);
	else if (!strcmp(d->command, "run"))
		text_run(v->out, json_get(d->json, "start"), end, v->colour, v->verbosity);
}

void print_document(const struct print_view *v, const struct ledgers_document *d)
{
	put_title(v, d);
	if (trialset_is(d->json)) {
		print_trials(v, d);
		return;
	}
	print_steps(v, d);
	print_worst(v, d);
	if (!d->parts) {
		put_books(v, d);
		print_joined(v, d);
		return;
	}
	print_trace(v, d);
}
