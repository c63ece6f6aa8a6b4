// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_found.h"

#include <ctype.h>
#include <string.h>

#include "base/num.h"
#include "drops/stagemap.h"

static const char *most_dropped(const struct found_trial *t)
{
	int most = -1;

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (t->dropped[s] && (most < 0 || t->dropped[s] > t->dropped[most]))
			most = s;
	}
	return most < 0 ? "" : stage_name(most);
}

void text_found_trial(FILE *out, unsigned number, const struct found_trial *t)
{
	char rate[FMT_MAX] = "full speed", time[FMT_MAX], unsent[FMT_MAX], lost[32];
	const char *where = most_dropped(t);

	if (number == 1)
		fprintf(out, "%5s  %-8s %14s %9s %10s %12s  %s\n", "trial", "", "rate", "time",
			"lost", "unsent", "where");
	if (t->rate_pps > 0)
		fmt_rate(rate, sizeof(rate), t->rate_pps);
	snprintf(lost, sizeof(lost), "%.4f %%", t->loss_share * 100);
	fprintf(out, "%5u  %-8s %14s %9s %10s %12s%s%s\n", number, t->phase, rate,
		num_text_time(time, sizeof(time), t->time_ns), lost,
		fmt_count(unsent, sizeof(unsent), t->unsent), *where ? "  " : "", where);
}

const char *found_culprit(const struct found_rate *rate)
{
	if (rate->limit == FOUND_LIMIT_GENERATOR)
		return "the generator";
	if (rate->limit == FOUND_LIMIT_QUEUE)
		return "the sender's queue, its device takes no more";
	return rate->stage == STAGE_NONE ? "" : stage_name(rate->stage);
}

static void print_name(FILE *out, const struct found_rate *rate)
{
	char name[8] = "";

	for (unsigned i = 0; rate->name[i] && i + 1 < sizeof(name); i++)
		name[i] = (char)toupper((unsigned char)rate->name[i]);
	fprintf(out, "%-4s", name);
}

static const char *highest_rate(const struct found *f)
{
	if (f->held_back)
		return "that the sender's device takes";
	return f->generator_limited ? "that this host generates" : "that was asked for";
}

static void print_goal(FILE *out, const struct found *f, const struct found_rate *rate)
{
	char lower[FMT_MAX], upper[FMT_MAX];
	const char *culprit = found_culprit(rate);

	print_name(out, rate);
	fmt_rate(lower, sizeof(lower), rate->lower_pps);
	fmt_rate(upper, sizeof(upper), rate->upper_pps);
	if (rate->has_lower && rate->has_upper)
		fprintf(out, "%s held, %s did not", lower, upper);
	else if (rate->has_lower)
		fprintf(out, "%s held, the highest rate %s", lower, highest_rate(f));
	else if (rate->has_upper)
		fprintf(out, "below %s, which was too much", upper);
	else
		fprintf(out, "nothing is known yet");
	if (rate->has_upper && *culprit)
		fprintf(out, ": %s", culprit);
	if (rate->loss_ratio > 0)
		fprintf(out, "  (up to %g %% lost)", rate->loss_ratio * 100);
	fprintf(out, "%s\n", rate->done ? "" : "  (not finished)");
}

static void print_mrr(FILE *out, const struct found_rate *mrr)
{
	char median[FMT_MAX], lower[FMT_MAX], upper[FMT_MAX];
	const char *culprit = found_culprit(mrr);

	if (!mrr->has_upper)
		return;
	print_name(out, mrr);
	fprintf(out, "%s got through at the highest rate%s%s",
		fmt_rate(median, sizeof(median), mrr->throughput_pps), *culprit ? ": " : "",
		culprit);
	if (mrr->upper_pps > mrr->lower_pps)
		fprintf(out, "  (median; lowest %s, highest %s)",
			fmt_rate(lower, sizeof(lower), mrr->lower_pps),
			fmt_rate(upper, sizeof(upper), mrr->upper_pps));
	fprintf(out, "\n");
}

void text_found(FILE *out, const struct found *f)
{
	char min[FMT_MAX], max[FMT_MAX], time[FMT_MAX];

	fprintf(out, "\n");
	for (unsigned i = 0; i < f->goals; i++)
		print_goal(out, f, &f->goal[i]);
	print_mrr(out, &f->mrr);
	fprintf(out, "%u trials between %s and %s%s, frames of %u bytes, in %s\n", f->trials,
		fmt_rate(min, sizeof(min), f->min_pps), fmt_rate(max, sizeof(max), f->max_pps),
		f->held_back	       ? " (what the sender's device takes)"
		: f->generator_limited ? " (what this host generates)"
				       : "",
		f->frame_bytes, fmt_ns(time, sizeof(time), f->time_ns));
}

void text_found_spread(FILE *out, const char *name, const struct trials_summary *s, unsigned n)
{
	char median[FMT_MAX], min[FMT_MAX], max[FMT_MAX];

	fprintf(out, "%s of %u searches: median %s, lowest %s, highest %s, spread %.1f %%%s\n",
		name, n, fmt_rate(median, sizeof(median), s->median),
		fmt_rate(min, sizeof(min), s->min), fmt_rate(max, sizeof(max), s->max),
		s->spread * 100,
		s->spread > TRIALS_SPREAD ? " (more than 5 %: do not compare single searches)"
					  : "");
}
