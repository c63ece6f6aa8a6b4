// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_bursts.h"

#include <string.h>
#include <time.h>

#include "base/num.h"

#define WORST_SHOWN 5 /* windows of a stage */
#define LABEL	    "microburst"

/* "12:31:04.512": the window's begin, local time. */
static char *clock_text(char *buf, size_t size, const struct burst_report *r, uint64_t number)
{
	const uint64_t ns = number * r->window_ns + (uint64_t)r->realtime_ns;
	const time_t seconds = (time_t)(ns / 1000000000);
	const unsigned long long micro = ns % 1000000000 / 1000;
	struct tm tm;
	size_t n;

	localtime_r(&seconds, &tm);
	n = strftime(buf, size, "%H:%M:%S", &tm);
	if (r->window_ns < 1000000)
		snprintf(buf + n, size - n, ".%04llu", micro / 100);
	else
		snprintf(buf + n, size - n, ".%03llu", micro / 1000);
	return buf;
}

static char *rate_text(char *buf, size_t size, const struct burst_report *r, uint64_t packets)
{
	fmt_rate(buf, size, (double)packets * 1e9 / (double)r->window_ns);
	return page_glue(buf);
}

/* "96 % in 3ms of 1.00 s" */
static void put_dense(struct page *p, const struct burst_report *r, const struct burst_stage *s,
		      const char *behind)
{
	char dense[FMT_MAX], whole[FMT_MAX];

	page_words(p, STYLE_PLAIN, "%.3g\v%% in %s of %s%s",
		   100.0 * (double)s->dense_packets / (double)s->packets,
		   num_text_time(dense, sizeof(dense), s->dense_windows * r->window_ns),
		   page_glue(fmt_ns(whole, sizeof(whole), r->length_ns)), behind);
}

static void put_peak(struct page *p, const struct burst_report *r, const struct burst_window *w)
{
	char count[FMT_MAX], rate[FMT_MAX], clock[32], window[FMT_MAX];

	page_words(p, STYLE_PLAIN, "at most %s in %s, %s, at %s",
		   fmt_count(count, sizeof(count), w->packets),
		   num_text_time(window, sizeof(window), r->window_ns),
		   rate_text(rate, sizeof(rate), r, w->packets),
		   clock_text(clock, sizeof(clock), r, w->number));
}

void text_bursts(struct page *p, const struct burst_report *r)
{
	char count[FMT_MAX];

	for (int i = 0; i < STAGE_COUNT; i++) {
		const struct burst_stage *s = &r->stage[i];
		const bool single = s->worst[0].packets == 1; /* no burst at all */

		if (!s->packets)
			continue;
		page_text(p, 2, STYLE_DIM, LABEL "    ");
		page_words(p, STYLE_PLAIN, "%s %s,", stage_name(i),
			   fmt_count(count, sizeof(count), s->packets));
		put_dense(p, r, s, single ? "" : ";");
		if (!single)
			put_peak(p, r, &s->worst[0]);
		page_end(p);
	}
}

static void put_worst(struct page *p, const struct burst_report *r, const struct burst_stage *s)
{
	char rate[FMT_MAX], clock[32];

	for (unsigned i = 0; i < s->n_worst && i < WORST_SHOWN; i++) {
		const struct burst_window *w = &s->worst[i];

		page_row(p, STYLE_DIM, 2, clock_text(clock, sizeof(clock), r, w->number),
			 w->packets, s->packets);
		page_words(p, STYLE_DIM, "%s", rate_text(rate, sizeof(rate), r, w->packets));
		page_end(p);
	}
}

void text_bursts_end(struct page *p, const struct live_summary *s)
{
	const struct burst_report *r = &s->bursts;
	char window[FMT_MAX], count[FMT_MAX];

	if (!r->window_ns)
		return;
	page_text(p, 0, STYLE_BOLD, LABEL "      ");
	page_words(p, STYLE_PLAIN, "losses in windows of %s, and the worst of these",
		   num_text_time(window, sizeof(window), r->window_ns));
	page_end(p);
	for (int i = 0; i < STAGE_COUNT; i++) {
		const struct burst_stage *b = &r->stage[i];
		const uint64_t all = s->stage[i].packets;

		if (!b->packets && !all)
			continue;
		page_row(p, STYLE_PLAIN, 2, stage_name(i), b->packets, 0);
		if (b->packets)
			put_dense(p, r, b, all > b->packets ? ";" : "");
		if (all > b->packets)
			page_words(p, STYLE_WARN, "%s more, whose time is not known",
				   fmt_count(count, sizeof(count), all - b->packets));
		page_end(p);
		put_worst(p, r, b);
	}
}
