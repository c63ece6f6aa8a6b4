// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_parts.h"

#include "base/num.h"
#include "drops/stagemap.h"

void text_counts(struct page *p, enum style style, const struct text_count *count, unsigned n)
{
	char number[FMT_MAX];
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++)
		left += count[i].count != 0;
	for (unsigned i = 0; i < n; i++) {
		if (!count[i].count)
			continue;
		page_words(p, style, "%s\v%s%s", fmt_count(number, sizeof(number), count[i].count),
			   count[i].name, --left ? "," : "");
	}
}

void text_counts_line(struct page *p, const char *label, enum style style,
		      const struct text_count *count, unsigned n)
{
	bool any = false;

	for (unsigned i = 0; i < n; i++)
		any |= count[i].count;
	if (!any)
		return;
	page_text(p, 0, style, label);
	text_counts(p, style, count, n);
	page_end(p);
}

static void put_latency(struct page *p, const struct arrivals *a)
{
	const struct result_latency *l = &a->latency;
	const char *doubt = arrivals_clock_doubt(a);
	const struct text_count at[] = {
		{l->min, "min"},    {l->p50, "p50"},	  {l->p90, "p90"}, {l->p99, "p99"},
		{l->p999, "p99.9"}, {l->p9999, "p99.99"}, {l->max, "max"}, {a->jitter_ns, "jitter"},
	};
	const unsigned n = sizeof(at) / sizeof(at[0]);
	char number[FMT_MAX];

	if (!l->measured)
		return;
	page_text(p, 0, STYLE_PLAIN, "latency         ");
	for (unsigned i = 0; i < n; i++) {
		fmt_ns(number, sizeof(number), at[i].count);
		page_words(p, STYLE_PLAIN, "%s\v%s%s", at[i].name, page_glue(number),
			   i + 1 < n ? "," : "");
	}
	page_end(p);
	if (!doubt)
		return;
	page_text(p, 0, STYLE_WARN, "clocks          ");
	page_words(p, STYLE_WARN, "%s", doubt);
	page_end(p);
}

/* Of two hosts: how far their clocks are apart, and whether delays can be told. */
static void put_clocks(struct page *p, const struct result *res)
{
	int64_t offset = res->clock.offset_ns;
	char apart[FMT_MAX], error[FMT_MAX];

	if (!res->two_hosts)
		return;
	fmt_ns(apart, sizeof(apart), (uint64_t)(offset < 0 ? -offset : offset));
	fmt_ns(error, sizeof(error), res->clock.error_ns);
	page_text(p, 0, STYLE_DIM, "clocks          ");
	page_words(p, STYLE_DIM, "the receiver's is %s %s, within %s;", page_glue(apart),
		   offset < 0 ? "behind" : "ahead", page_glue(error));
	page_words(p, STYLE_DIM,
		   res->clock.shared ? "said to be one"
				     : "no one-way delays without --shared-clock");
	page_end(p);
}

/* How what was lost lay together, and how far the displaced came too late: only if there are any.
 */
static void put_shapes(struct page *p, const struct arrivals *a)
{
	char number[FMT_MAX];

	if (a->gaps.count) {
		page_text(p, 0, STYLE_PLAIN, "gaps            ");
		page_words(p, STYLE_PLAIN, "%s", fmt_count(number, sizeof(number), a->gaps.count));
		page_words(p, STYLE_PLAIN, "of %.1f packets in the mean,",
			   (double)a->gaps.packets / (double)a->gaps.count);
		page_words(p, STYLE_PLAIN, "the longest of\v%s",
			   fmt_count(number, sizeof(number), a->gaps.longest));
		page_end(p);
	}
	if (a->order.packets) {
		page_text(p, 0, STYLE_PLAIN, "reordering      ");
		page_words(p, STYLE_PLAIN, "extent up to %s\vpackets",
			   fmt_count(number, sizeof(number), a->order.extent_max));
		page_end(p);
	}
}

void text_beside(struct page *p, const struct result *res)
{
	const struct result_losses *l = &res->losses;
	const struct text_count seen[] = {
		{res->duplicated, "duplicated"},
		{res->arrivals.order.packets, "reordered"},
		{res->late, "late"},
		{res->damaged, "damaged"},
		{res->invalid, "invalid"},
		{res->foreign, "of another run"},
		{res->replies, "ICMP replies"},
	};
	const struct text_count fragments[] = {
		{res->fragments.made, "made"},
		{res->fragments.seen, "seen at the receiver"},
		{res->fragments.dropped, "dropped"},
		{res->fragments.abandoned, "abandoned"},
		{res->fragments.unmatched, "without a number"},
		{res->fragments.made ? res->reassembled : 0, "datagrams put together"},
	};
	const struct text_count own[] = {
		{l->causes_full, "without room for their cause"},
		{l->stamp_unreadable, "with an unreadable stamp"},
		{l->recursion_misses, "events missed by recursion"},
		{l->cell_empty, "XDP losses without a number"},
		{l->gso_split, "merged packets of uneven stamps"},
	};

	put_latency(p, &res->arrivals);
	put_clocks(p, res);
	put_shapes(p, &res->arrivals);
	text_counts_line(p, "also seen       ", STYLE_PLAIN, seen, sizeof(seen) / sizeof(seen[0]));
	text_counts_line(p, "fragments       ", STYLE_PLAIN, fragments,
			 sizeof(fragments) / sizeof(fragments[0]));
	text_counts_line(p, "own losses      ", STYLE_WARN, own, sizeof(own) / sizeof(own[0]));
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

void text_finding(struct page *p, const char *label, const struct finding *f, bool undo)
{
	page_end(p);
	page_text(p, 0, STYLE_BOLD, label);
	p->indent = 2;
	page_words(p, STYLE_PLAIN, "- %s", f->text);
	page_end(p);
	put_field(p, "measured  ", f->evidence);
	put_field(p, "now       ", f->current);
	put_field(p, "wanted    ", f->wanted);
	put_command(p, "command   ", f->command);
	if (undo)
		put_command(p, "undo      ", f->undo);
	put_field(p, "risk      ", f->risk);
}

void text_findings(struct page *p, const struct result *res, int verbosity)
{
	for (unsigned i = 0; i < res->n_findings; i++) {
		const struct finding *f = &res->finding[i];
		char label[96];

		snprintf(label, sizeof(label), "%s%s%s",
			 f->stage == STAGE_NONE ? f->id : stage_name(f->stage),
			 *f->host ? " on " : "", f->host);
		text_finding(p, label, f, verbosity > 0);
	}
}
