// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_books.h"

#include "base/num.h"
#include "report/text.h"

static enum style style_of(enum flow_verdict v)
{
	switch (v) {
	case FLOW_NONE_SEEN:
		return STYLE_GOOD;
	case FLOW_UNKNOWN:
		return STYLE_WARN;
	default:
		return STYLE_BAD;
	}
}

/* A count that may be less than nothing; then `less` says of what. */
static void put_signed(struct page *p, enum style style, const char *label, int64_t v,
		       const char *less)
{
	page_row(p, style, 0, label, (uint64_t)(v < 0 ? -v : v), 0);
	if (v < 0)
		page_words(p, style, "%s", less);
	page_end(p);
}

static void put_sum(struct page *p, const struct flow_books *b)
{
	uint64_t whole = b->arrived > 0 ? (uint64_t)b->arrived : 0;

	put_signed(p, STYLE_BOLD, "arrived", b->arrived, "less than left again");
	page_row(p, STYLE_PLAIN, 0, "delivered", b->delivered, whole);
	page_end(p);
	page_row(p, b->dropped ? STYLE_BAD : STYLE_PLAIN, 0, "dropped", b->dropped, whole);
	page_end(p);
	put_signed(p, STYLE_PLAIN, "in flight", b->in_flight, "less than at the beginning");
	put_signed(p, b->unaccounted ? STYLE_WARN : STYLE_PLAIN, "unaccounted", b->unaccounted,
		   "more ended than arrived");
	if (b->left) {
		page_row(p, STYLE_DIM, 0, "passed on", b->left, 0);
		page_words(p, STYLE_DIM, "entered this host and left it again; not in the sum");
		page_end(p);
	}
}

static void put_numbers(struct page *p, const struct flow_books *b)
{
	const struct balance_streams *s = &b->facts.streams;
	const struct text_count beside[] = {
		{s->duplicates, "twice"},
		{s->reordered, "late"},
		{s->restarts, s->restarts == 1 ? "restart" : "restarts"},
		{s->stray, "that belong nowhere"},
	};

	if (!b->facts.numbered || !s->streams)
		return;
	page_row(p, s->missing ? STYLE_BAD : STYLE_PLAIN, 0, "lost before", s->missing,
		 s->missing + s->seen);
	page_words(p, STYLE_PLAIN, "of the numbers in %u stream%s", s->streams,
		   s->streams == 1 ? "" : "s");
	if (s->duplicates + s->reordered + s->restarts + s->stray)
		page_words(p, STYLE_PLAIN, "-");
	text_counts(p, STYLE_PLAIN, beside, sizeof(beside) / sizeof(beside[0]));
	page_end(p);
}

static void put_verdict(struct page *p, const struct flow_books *b)
{
	const struct flow_culprit *c = &b->facts.culprit;
	char line[FLOW_SENTENCE];

	page_text(p, 0, STYLE_BOLD, "verdict         ");
	page_words(p, style_of(b->verdict), "%s", flow_verdict_name(b->verdict));
	if ((b->verdict == FLOW_THIS_HOST || b->verdict == FLOW_BOTH) && c->stage)
		page_words(p, STYLE_PLAIN, "- %s %s %s", c->stage, c->socket ? c->socket : "",
			   c->process ? c->process : "");
	page_end(p);
	for (unsigned i = 0; !flow_books_rests_on(b, i, line, sizeof(line)); i++) {
		page_text(p, 2, STYLE_PLAIN, "- ");
		page_words(p, STYLE_PLAIN, "%s", line);
		page_end(p);
	}
}

static void put_cost(struct page *p, const struct balance_cost *cost)
{
	char time[FMT_MAX];

	page_text(p, 0, STYLE_DIM, "checkpoints     ");
	if (cost->runs)
		page_words(p, STYLE_DIM, "%s each time, %.2f %% of a CPU while it was measured",
			   page_glue(fmt_ns(time, sizeof(time), cost->run_ns / cost->runs)),
			   100.0 * (double)cost->run_ns / (double)cost->measured_ns);
	else
		page_words(p, STYLE_DIM, "no packet came while their cost was measured");
	page_end(p);
}

void text_books(struct page *p, const struct flow_books *b, const struct balance_cost *cost)
{
	fputc('\n', p->out);
	put_sum(p, b);
	put_numbers(p, b);
	put_verdict(p, b);
	put_cost(p, cost);
}
