// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "out/text_parts.h"

#include "base/num.h"
#include "trace/stagemap.h"

struct column {
	uint64_t value;
	const char *name;
};

/* "3 duplicated, 12 reordered"; no line if all are 0. */
static void put_columns(struct page *p, const char *label, enum style style,
			const struct column *column, unsigned n)
{
	const struct column *last = NULL;
	char number[FMT_MAX];

	for (unsigned i = 0; i < n; i++) {
		if (!column[i].value)
			continue;
		if (!last)
			page_text(p, 0, style, label);
		last = &column[i];
	}
	for (unsigned i = 0; last && column + i <= last; i++) {
		if (!column[i].value)
			continue;
		page_words(p, style, "%s %s%s", fmt_count(number, sizeof(number), column[i].value),
			   column[i].name, column + i < last ? "," : "");
	}
	if (last)
		page_end(p);
}

static void put_latency(struct page *p, const struct result_latency *l)
{
	const struct column column[] = {
		{l->min, "min"}, {l->p50, "p50"},    {l->p90, "p90"},
		{l->p99, "p99"}, {l->p999, "p99.9"}, {l->max, "max"},
	};
	char number[FMT_MAX];

	if (!l->measured)
		return;
	page_text(p, 0, STYLE_PLAIN, "latency         ");
	for (unsigned i = 0; i < sizeof(column) / sizeof(column[0]); i++) {
		fmt_ns(number, sizeof(number), column[i].value);
		for (char *s = number; *s; s++)
			*s = *s == ' ' ? PAGE_BLANK : *s;
		page_words(p, STYLE_PLAIN, "%s\v%s", column[i].name, number);
	}
	page_end(p);
}

void text_beside(struct page *p, const struct result *res)
{
	const struct result_losses *l = &res->losses;
	const struct column seen[] = {
		{res->duplicated, "duplicated"},
		{res->reordered, "reordered"},
		{res->late, "late"},
		{res->damaged, "damaged"},
		{res->invalid, "invalid"},
		{res->foreign, "of another run"},
		{res->replies, "ICMP replies"},
	};
	const struct column own[] = {
		{l->causes_full, "without room for their cause"},
		{l->stamp_unreadable, "with an unreadable stamp"},
		{l->recursion_misses, "events missed by recursion"},
		{l->cell_empty, "XDP losses without a number"},
		{l->gso_split, "merged packets of uneven stamps"},
	};

	put_latency(p, &res->latency);
	put_columns(p, "also seen       ", STYLE_PLAIN, seen, sizeof(seen) / sizeof(seen[0]));
	put_columns(p, "own losses      ", STYLE_WARN, own, sizeof(own) / sizeof(own[0]));
	if (l->suppressed) {
		page_text(p, 0, STYLE_WARN, "suppressed      ");
		page_words(p, STYLE_WARN, "%s", l->suppressed_evidence);
		page_end(p);
	}
}

static void put_field(struct page *p, const char *label, const char *text)
{
	if (!*text)
		return;
	page_text(p, 2, STYLE_DIM, label);
	page_words(p, STYLE_PLAIN, "%s", text);
	page_end(p);
}

static void put_command(struct page *p, const char *label, const char *command)
{
	if (!*command)
		return;
	page_text(p, 2, STYLE_DIM, label);
	page_verbatim(p, command);
	page_end(p);
}

void text_findings(struct page *p, const struct result *res, int verbosity)
{
	for (unsigned i = 0; i < res->n_findings; i++) {
		const struct finding *f = &res->finding[i];

		page_end(p);
		page_text(p, 0, STYLE_BOLD, f->stage == STAGE_NONE ? f->id : stage_name(f->stage));
		p->indent = 2;
		page_words(p, STYLE_PLAIN, "- %s", f->text);
		page_end(p);
		put_field(p, "measured  ", f->evidence);
		put_field(p, "now       ", f->current);
		put_field(p, "wanted    ", f->wanted);
		put_command(p, "command   ", f->command);
		if (verbosity > 0)
			put_command(p, "undo      ", f->undo);
		put_field(p, "risk      ", f->risk);
	}
}
