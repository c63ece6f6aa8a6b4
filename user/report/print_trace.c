// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/clock.h"
#include "report/text.h"
#include "report/text_trace.h"
#include "report/print.h"
#include "report/document.h"
#include "report/series.h"

#define WORST_SHOWN  8
#define LIMITS_SHOWN 20
#define CLASS(noise) (1u << (noise))
#define BY_SOCKET                                                                                  \
	(LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_PROCESS) | LIVE_BIT(LIVE_NETNS) | LIVE_BIT(LIVE_POD))

/* The rows of what was lost most often, by `by`; those without any of these are left out. */
static void put_worst(const struct print_view *v, const struct live_table *t, unsigned by,
		      const char *title)
{
	struct page p = print_page(v, table_sum(t, CLASS(NOISE_LOSS)).packets);
	struct live_table rows;
	unsigned shown = 0;

	if (table_group(&rows, t, by, CLASS(NOISE_LOSS)))
		return;
	table_sort(&rows, TABLE_BY_PACKETS);
	for (unsigned i = 0; i < rows.n && shown < WORST_SHOWN; i++) {
		const struct live_row *row = &rows.rows[i];

		if (!*row->text[LIVE_SOCKET] && !*row->text[LIVE_PROCESS] && !*row->text[LIVE_FLOW])
			continue;
		if (!shown++)
			page_end(&p);
		page_row(&p, shown == 1 ? STYLE_BOLD : STYLE_PLAIN, 0, shown == 1 ? title : "",
			 row->counts.packets, 0);
		for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
			if (*row->text[f] && f != LIVE_CLASS)
				page_words(&p, STYLE_PLAIN, "%s", row->text[f]);
		}
		page_end(&p);
	}
	table_free(&rows);
}

static void put_losses(const struct print_view *v, const struct json_object *losses)
{
	static const struct {
		const char *key, *text;
	} rows[] = {
		{"recursion_misses", "missed while another was counted"},
		{"without_socket_or_flow", "counted without socket or flow"},
		{"without_cause", "counted without anything"},
		{"without_netns", "not counted: their namespace is not known"},
		{"without_sample", "neither shown nor written"},
		{"rows_merged", "rows told as others"},
		{"filter_unread", "that the filter could not read"},
	};
	struct text_count counts[sizeof(rows) / sizeof(rows[0])];
	struct page p = print_page(v, 0);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		counts[i] = (struct text_count){json_get_u64(losses, rows[i].key), rows[i].text};
	text_counts_line(&p, "own losses      ", STYLE_WARN, counts,
			 sizeof(rows) / sizeof(rows[0]));
}

static void put_tables(const struct print_view *v, const struct json_object *sum, unsigned by,
		       struct live_summary *s, struct live_table *rows, struct live_table *flows)
{
	const struct text_trace view = {.out = v->out,
					.colour = v->colour,
					.width = v->width,
					.by = by,
					.all = v->verbosity > 0,
					.verbosity = v->verbosity};

	rows_add(rows, sum, by);
	rows_add_flows(flows, sum);
	s->duration_ns = json_get_u64(sum, "interval_ns");
	s->total = rows;
	s->lost = table_sum(rows, CLASS(NOISE_LOSS));
	s->suspect = table_sum(rows, CLASS(NOISE_SUSPECT));
	s->benign = table_sum(rows, CLASS(NOISE_BENIGN));
	fputc('\n', v->out);
	text_trace_total(&view, s);
	put_losses(v, json_get(sum, "own_losses"));
	put_worst(v, rows, BY_SOCKET, "sockets");
	put_worst(v, flows, LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_FLOW), "flows");
}

void print_sums(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *sum = json_get(d->json, "sum");
	unsigned by = rows_by(json_get(d->json, "start"));
	struct live_table rows = {}, flows = {};
	struct live_summary *s = calloc(1, sizeof(*s));

	if (s && sum && !table_init(&rows, LIVE_ROWS) && !table_init(&flows, LIVE_ROWS))
		put_tables(v, sum, by, s, &rows, &flows);
	table_free(&rows);
	table_free(&flows);
	free(s);
}

void print_limits(const struct print_view *v, const struct ledgers_document *d)
{
	size_t n = json_get_length(d->json, "limits");
	struct page p = print_page(v, 0);

	for (size_t i = 0; i < n && i < LIMITS_SHOWN; i++) {
		const struct json_object *o = json_get_item(d->json, "limits", i);
		char text[WHEN_TEXT], count[FMT_MAX];
		uint64_t ns;

		if (!i)
			page_end(&p);
		page_text(&p, 0, STYLE_BAD, i ? "                " : "limits broken   ");
		if (!when_date(json_get_text(o, "time"), &ns))
			page_words(&p, STYLE_PLAIN, "%s",
				   page_glue(when_text(text, sizeof(text), ns, true)));
		page_words(&p, STYLE_PLAIN, "%s, measured %s%s", json_get_text(o, "limit"),
			   fmt_count(count, sizeof(count),
				     json_object_get_uint64(json_get(o, "measured"))),
			   strcmp(json_get_text(o, "unit"), "pps") ? "" : "/s");
		page_end(&p);
	}
	if (n > LIMITS_SHOWN) {
		page_text(&p, 16, STYLE_DIM, "");
		page_words(&p, STYLE_DIM, "and %zu more", n - LIMITS_SHOWN);
		page_end(&p);
	}
}

void print_balance(const struct print_view *v, const struct ledgers_document *d)
{
	static const char *const keys[] = {"arrived",	"delivered",   "dropped",
					   "in_flight", "unaccounted", "lost_before"};
	const struct json_object *end = json_get(d->json, "end");
	struct page p = print_page(v, json_get_u64(end, "arrived"));

	if (!*json_get_text(end, "verdict"))
		return;
	page_end(&p);
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int64_t value = json_get_i64(end, keys[i]);

		if (!json_get(end, keys[i]))
			continue;
		page_row(&p, STYLE_PLAIN, 0, keys[i], (uint64_t)(value < 0 ? -value : value), 0);
		if (value < 0)
			page_words(&p, STYLE_WARN, "less than nothing");
		page_end(&p);
	}
	page_text(&p, 0, STYLE_BOLD, "verdict         ");
	page_words(&p, STYLE_BOLD, "%s", json_get_text(end, "verdict"));
	page_end(&p);
	for (size_t i = 0; i < json_get_length(end, "rests_on"); i++) {
		page_text(&p, 2, STYLE_PLAIN, "- ");
		page_words(&p, STYLE_PLAIN, "%s", json_get_item_text(end, "rests_on", i));
		page_end(&p);
	}
}

void print_findings(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *end = json_get(d->json, "end");
	struct page p = print_page(v, 0);

	for (size_t i = 0; v->verbosity >= 0 && i < json_get_length(end, "findings"); i++) {
		struct finding f;

		json_read_finding(json_get_item(end, "findings", i), &f);
		text_finding(&p, f.stage == STAGE_NONE ? f.id : stage_name(f.stage), &f,
			     v->verbosity > 0);
	}
}
