// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_trace.h"

#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "report/page.h"
#include "report/text_books.h"
#include "report/text_bursts.h"
#include "report/text.h"

#define ROWS_MAX      24 /* of a class in an interval's table; the rest is one line */
#define BENIGN_PLACES 4	 /* named in the line of benign drops */
#define CLASS(noise)  (1u << (noise))

unsigned text_trace_width(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || size.ws_col < PAGE_WIDTH)
		return PAGE_WIDTH;
	return size.ws_col;
}

static enum style style_of(enum noise noise)
{
	static const enum style styles[NOISE_COUNT] = {
		[NOISE_LOSS] = STYLE_BAD, [NOISE_SUSPECT] = STYLE_WARN, [NOISE_BENIGN] = STYLE_DIM};

	return styles[noise];
}

static void put_field(const struct text_trace *v, struct page *p, const struct live_row *row,
		      enum live_field field)
{
	const char *text = row->text[field];
	char word[512];

	if (!*text || (field == LIVE_NETNS && v->netns && !strcmp(text, v->netns)))
		return;
	snprintf(word, sizeof(word), "%s", text);
	if (field != LIVE_FLOW) /* which is long: it may be broken where there are blanks */
		page_glue(word);
	switch (field) {
	case LIVE_NETNS:
		page_words(p, STYLE_PLAIN, "in\v%s", word);
		break;
	case LIVE_CPU:
		page_words(p, STYLE_PLAIN, "cpu\v%s", word);
		break;
	case LIVE_SOURCE: /* events of packets need not be told */
		if (strcmp(text, "event"))
			page_words(p, STYLE_PLAIN, "(%s,", word);
		break;
	case LIVE_SCOPE:
		if (strcmp(row->text[LIVE_SOURCE], "event"))
			page_words(p, STYLE_PLAIN, "%s)", word);
		break;
	default:
		page_words(p, STYLE_PLAIN, "%s", word);
	}
}

static void put_details(const struct text_trace *v, struct page *p, const struct live_row *row)
{
	static const enum live_field order[] = {
		LIVE_REASON, LIVE_LOCATION, LIVE_HOOK,	  LIVE_DIRECTION, LIVE_IFNAME,
		LIVE_NETNS,  LIVE_SOCKET,   LIVE_PROCESS, LIVE_CGROUP,	  LIVE_CONTAINER,
		LIVE_POD,    LIVE_FLOW,	    LIVE_CPU,	  LIVE_SOURCE,	  LIVE_SCOPE,
	};

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		put_field(v, p, row, order[i]);
}

/* "neigh?": whether it is a loss is not known. */
static const char *label_of(const struct live_row *row, char buf[32])
{
	const char *stage = *row->text[LIVE_STAGE] ? row->text[LIVE_STAGE] : "copy";

	snprintf(buf, 32, "%s%s", stage, row->noise == NOISE_SUSPECT ? "?" : "");
	return buf;
}

static double per_second(uint64_t n, uint64_t ns)
{
	return ns ? (double)n * 1e9 / (double)ns : 0;
}

/* Whole packets where there are few: an interval is never exactly a second. */
static char *rate_text(char *buf, size_t size, double pps)
{
	if (pps >= 0.5 && pps < 999.5)
		snprintf(buf, size, "%.0f pps", pps);
	else
		fmt_rate(buf, size, pps);
	return buf;
}

static void put_rates(struct page *p, enum style style, const char *label,
		      const struct live_counts *c, uint64_t ns)
{
	char packets[FMT_MAX], bytes[FMT_MAX], head[128];

	snprintf(head, sizeof(head), "%-14s%11s%11s/s", label,
		 rate_text(packets, sizeof(packets), per_second(c->packets, ns)),
		 fmt_bytes(bytes, sizeof(bytes), (uint64_t)per_second(c->bytes, ns)));
	page_text(p, 2, style, head);
	p->indent += 2;
}

static void put_interval_rows(const struct text_trace *v, struct page *p,
			      const struct live_table *t, enum noise noise, uint64_t ns)
{
	struct live_counts rest = {};
	struct live_table rows;
	unsigned more = 0;
	char label[32];

	if (table_group(&rows, t, v->by, CLASS(noise)))
		return;
	table_sort(&rows, rows.n > ROWS_MAX ? TABLE_BY_PACKETS : TABLE_BY_PATH);
	for (unsigned i = 0; i < rows.n; i++) {
		const struct live_row *row = &rows.rows[i];

		if (i >= ROWS_MAX) {
			live_counts_add(&rest, &row->counts);
			more++;
			continue;
		}
		put_rates(p, style_of(noise), label_of(row, label), &row->counts, ns);
		put_details(v, p, row);
		page_end(p);
	}
	if (more) {
		put_rates(p, STYLE_DIM, "others", &rest, ns);
		page_words(p, STYLE_DIM, "%u rows more", more);
		page_end(p);
	}
	table_free(&rows);
}

void text_trace_interval(const struct text_trace *v, const struct live_table *t, uint64_t time_ns,
			 uint64_t interval_ns)
{
	const struct live_counts lost = table_sum(t, CLASS(NOISE_LOSS));
	const time_t seconds = (time_t)(time_ns / 1000000000);
	struct page p = page_open(v->out, v->colour, 0);
	char clock[16], rate[FMT_MAX], count[FMT_MAX];
	struct tm tm;

	p.width = v->width;
	if (!table_sum(t, CLASS(NOISE_LOSS) | CLASS(NOISE_SUSPECT) |
				  (v->all ? CLASS(NOISE_BENIGN) : 0))
		     .events)
		return;
	localtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	page_text(&p, 0, STYLE_BOLD, clock);
	page_words(&p, STYLE_BOLD, "\v\v%s lost, %s", fmt_count(count, sizeof(count), lost.packets),
		   page_glue(rate_text(rate, sizeof(rate), per_second(lost.packets, interval_ns))));
	page_end(&p);
	put_interval_rows(v, &p, t, NOISE_LOSS, interval_ns);
	put_interval_rows(v, &p, t, NOISE_SUSPECT, interval_ns);
	if (v->all)
		put_interval_rows(v, &p, t, NOISE_BENIGN, interval_ns);
}

void text_trace_bursts(const struct text_trace *v, const struct burst_report *r)
{
	struct page p = page_open(v->out, v->colour, 0);

	p.width = v->width;
	text_bursts(&p, r);
}

/* The rows of one class, each with its share of all losses. */
static void put_total_rows(const struct text_trace *v, struct page *p, const struct live_summary *s,
			   enum noise noise)
{
	uint64_t whole = noise == NOISE_LOSS ? s->lost.packets : 0;
	struct live_table rows;
	char label[32];

	if (table_group(&rows, s->total, v->by, CLASS(noise)))
		return;
	table_sort(&rows, TABLE_BY_PATH);
	for (unsigned i = 0; i < rows.n; i++) {
		const struct live_row *row = &rows.rows[i];

		page_row(p, style_of(noise), 2, label_of(row, label), row->counts.packets, whole);
		put_details(v, p, row);
		if (v->verbosity > 0 && row->note) {
			page_break(p);
			page_words(p, STYLE_DIM, "%s", row->note);
		}
		page_end(p);
	}
	table_free(&rows);
}

/* One line: how many, and where most of them were. */
static void put_benign(struct page *p, const struct live_summary *s)
{
	struct live_table rows;
	char count[FMT_MAX];

	if (table_group(&rows, s->total, LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_LOCATION),
			CLASS(NOISE_BENIGN)))
		return;
	table_sort(&rows, TABLE_BY_PACKETS);
	page_row(p, STYLE_DIM, 0, "benign", s->benign.packets, 0);
	for (unsigned i = 0; i < rows.n && i < BENIGN_PLACES; i++) {
		const struct live_row *row = &rows.rows[i];
		const char *at = row->text[LIVE_LOCATION];

		page_words(p, STYLE_DIM, "%s\v%s", *at ? at : row->text[LIVE_REASON],
			   fmt_count(count, sizeof(count), row->counts.packets));
	}
	if (rows.n > BENIGN_PLACES)
		page_words(p, STYLE_DIM, "...");
	page_end(p);
	table_free(&rows);
}

static void put_own(const struct text_trace *v, struct page *p, const struct live_summary *s)
{
	const struct watch_state *w = &s->own.watch;
	const struct text_count own[] = {
		{w->recursion_misses, "missed while another was counted"},
		{w->loss.merged, "counted without socket or flow, for want of room"},
		{w->loss.uncounted.events, "counted without anything, for want of room"},
		{w->loss.unplaced, "not counted: their namespace is not known"},
		{w->loss.unsampled, "counted, but neither shown nor written: they came too fast"},
		{w->loss.unwindowed, "counted, but not in a window: those came too fast"},
		{s->own.rows_merged, "rows told as others"},
		{w->filter_unread, "that the filter could not read"},
	};
	char time[FMT_MAX], memory[FMT_MAX];

	page_text(p, 0, STYLE_DIM, "own cost        ");
	page_words(p, STYLE_DIM, "%s of CPU time",
		   page_glue(fmt_ns(time, sizeof(time), s->own.cpu_ns)));
	if (w->runs)
		page_words(p, STYLE_DIM, "and %s in the kernel,",
			   page_glue(fmt_ns(time, sizeof(time), w->run_ns)));
	page_words(p, STYLE_DIM, "for %s events;", fmt_count(time, sizeof(time), s->own.events));
	page_words(p, STYLE_DIM, "tables of %s",
		   page_glue(fmt_bytes(memory, sizeof(memory), s->own.map_bytes)));
	if (v->verbosity > 0)
		page_words(p, STYLE_DIM,
			   ", %llu of %llu slots and %llu of %llu keys beside them in use",
			   (unsigned long long)w->slots_used, (unsigned long long)w->slots,
			   (unsigned long long)w->overflow_used, (unsigned long long)w->overflow);
	page_end(p);
	text_counts_line(p, "own losses      ", STYLE_WARN, own, sizeof(own) / sizeof(own[0]));
}

static struct page open_page(const struct text_trace *v, const struct live_summary *s)
{
	struct page p = page_open(v->out, v->colour,
				  s->lost.packets > s->benign.packets ? s->lost.packets
								      : s->benign.packets);

	p.width = v->width;
	return p;
}

void text_trace_total(const struct text_trace *v, const struct live_summary *s)
{
	struct page p = open_page(v, s);
	char rate[FMT_MAX], time[FMT_MAX];

	page_row(&p, STYLE_BOLD, 0, "lost", s->lost.packets, 0);
	page_words(&p, STYLE_PLAIN, "%s in %s",
		   page_glue(fmt_rate(rate, sizeof(rate),
				      per_second(s->lost.packets, s->duration_ns))),
		   page_glue(fmt_ns(time, sizeof(time), s->duration_ns)));
	page_end(&p);
	put_total_rows(v, &p, s, NOISE_LOSS);
	if (s->suspect.packets) {
		page_row(&p, STYLE_BOLD, 0, "perhaps lost", s->suspect.packets, 0);
		page_end(&p);
		put_total_rows(v, &p, s, NOISE_SUSPECT);
	}
	if (s->benign.packets)
		put_benign(&p, s);
	if (v->all)
		put_total_rows(v, &p, s, NOISE_BENIGN);
}

void text_trace_end(const struct text_trace *v, const struct live_summary *s)
{
	struct page p = open_page(v, s);

	text_trace_total(v, s);
	text_bursts_end(&p, s);
	put_own(v, &p, s);
	if (s->books)
		text_books(&p, s->books, s->books_cost);
	for (unsigned i = 0; v->verbosity >= 0 && i < s->n_findings; i++)
		text_finding(&p, stage_name(s->finding[i].stage), &s->finding[i], v->verbosity > 0);
}
