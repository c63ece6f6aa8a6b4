// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "base/num.h"
#include "base/clock.h"
#include "report/print_parts.h"
#include "report/steps.h"
#include "drops/stagemap.h"

#define WORST_SHOWN 5
#define DAY	    86400000000000ULL

/* Those of a thousandth at least, most first. Returns how many. */
static unsigned rank_stages(const uint64_t stage[STAGE_COUNT], uint64_t all, int rank[STAGE_COUNT])
{
	unsigned n = 0, at;

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (!stage[s] || stage[s] < all / 1000)
			continue;
		for (at = n++; at && stage[rank[at - 1]] < stage[s]; at--)
			rank[at] = rank[at - 1];
		rank[at] = s;
	}
	return n;
}

/* "rcvbuf 12,000, netfilter 345" */
static void put_stages(struct page *p, const uint64_t stage[STAGE_COUNT], uint64_t all)
{
	int rank[STAGE_COUNT];
	unsigned n = rank_stages(stage, all, rank);
	char count[FMT_MAX];

	for (unsigned i = 0; i < n; i++)
		page_words(p, STYLE_PLAIN, "%s\v%s%s", stage_name(rank[i]),
			   fmt_count(count, sizeof(count), stage[rank[i]]), i + 1 < n ? "," : "");
}

static void put_number(struct page *p, unsigned width, const char *text)
{
	char padded[FMT_MAX + 16];

	snprintf(padded, sizeof(padded), "%*s", (int)width, text);
	page_verbatim(p, padded);
}

static void put_head(struct page *p, const struct steps *s, bool sums, bool day)
{
	char length[FMT_MAX], each[FMT_MAX + 8], head[128];

	snprintf(each, sizeof(each), "each %s",
		 num_text_time(length, sizeof(length), s->length_ns));
	snprintf(head, sizeof(head), "%-*s ", day ? 20 : 12, each);
	page_text(p, 0, STYLE_DIM, head);
	p->indent = 0;
	if (sums) {
		put_number(p, 12, "sent");
		put_number(p, 12, "delivered");
	}
	put_number(p, 12, "lost");
	put_number(p, 12, "peak");
	page_end(p);
}

static void put_step(struct page *p, const struct step *step, bool sums, bool day)
{
	char text[WHEN_TEXT], line[WHEN_TEXT + 16], number[FMT_MAX];

	when_text(text, sizeof(text), step->from_ns, day);
	if (step->from_ns % 1000000000 || step->to_ns % 1000000000)
		snprintf(text + strlen(text), 8, ".%03u",
			 (unsigned)(step->from_ns % 1000000000 / 1000000));
	snprintf(line, sizeof(line), "%-*s ", day ? 20 : 12, text);
	page_text(p, 0, step->dropped ? STYLE_BOLD : STYLE_DIM, line);
	p->indent = 0;
	if (sums) {
		put_number(p, 12, fmt_count(number, sizeof(number), step->sent));
		put_number(p, 12, fmt_count(number, sizeof(number), step->delivered));
	}
	put_number(p, 12, fmt_count(number, sizeof(number), step->dropped));
	if (step->dropped) {
		put_number(p, 12,
			   step->peak_pps > 0 ? fmt_rate(number, sizeof(number), step->peak_pps)
					      : "-");
		page_verbatim(p, "  ");
		p->indent = p->column;
		put_stages(p, step->stage, step->dropped);
	}
	page_end(p);
}

void print_steps(const struct print_view *v, const struct ledgers_document *d)
{
	bool sums = !d->parts;
	bool day = d->to_ns - d->from_ns >= DAY / 2;
	struct page p = print_page(v, 0);
	struct steps s;

	steps_make(&s, d);
	if (s.n < 2)
		return;
	page_end(&p);
	put_head(&p, &s, sums, day);
	for (unsigned i = 0; i < s.n; i++)
		put_step(&p, &s.at[i], sums, day);
}

/* The stage that lost most. */
static const char *main_stage(const struct json_object *interval)
{
	const struct json_object *best = NULL;

	for (size_t i = 0; i < json_get_length(interval, "stages"); i++) {
		const struct json_object *stage = json_get_item(interval, "stages", i);

		if (!best || json_get_u64(stage, "packets") > json_get_u64(best, "packets"))
			best = stage;
	}
	return json_get_text(best, "stage");
}

void print_worst(const struct print_view *v, const struct ledgers_document *d)
{
	size_t n = json_get_length(d->json, "worst");
	struct page p = print_page(v, 0);

	if (n < 2 || json_get_u64(json_get(d->json, "covers"), "intervals") < 3)
		return;
	page_end(&p);
	for (size_t i = 0; i < n && i < WORST_SHOWN; i++) {
		const struct json_object *o = json_get_item(d->json, "worst", i);
		char text[WHEN_TEXT], number[FMT_MAX];
		uint64_t to_ns = d->from_ns;

		when_date(json_get_text(o, "time"), &to_ns);
		page_text(&p, 0, STYLE_BOLD, i ? "                " : "worst           ");
		page_words(&p, STYLE_PLAIN, "%s",
			   page_glue(when_text(text, sizeof(text), to_ns, true)));
		page_words(&p, STYLE_PLAIN, "%s",
			   page_glue(fmt_rate(number, sizeof(number),
					      json_get_double(o, "dropped_pps"))));
		page_words(
			&p, STYLE_PLAIN, "for %s",
			page_glue(fmt_ns(number, sizeof(number), json_get_u64(o, "interval_ns"))));
		page_words(&p, STYLE_PLAIN, "%s", main_stage(o));
		page_end(&p);
	}
}
