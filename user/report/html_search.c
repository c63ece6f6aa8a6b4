// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a search found: the trials by load and loss, and the bounds between which the answer is. */
#include "report/html_chart.h"

#include <math.h>
#include <string.h>

#define LEAST_LOSS 1e-7 /* what is drawn at the bottom, with no loss at all */

static const struct goal {
	const char *key, *name, *what, *class;
} goals[] = {
	{"ndr", "NDR", "no drop", "good"},
	{"pdr", "PDR", "partial drop", "warn"},
	{"mrr", "MRR", "as fast as it goes", "dim"},
};

#define GOALS (sizeof(goals) / sizeof(goals[0]))

/* What was asked for, packets/s; what came of it if that was all that goes. */
static double load_of(struct json_object *trial)
{
	double load = json_get_double(json_get(trial, "parameters"), "rate_pps");

	return load > 0 ? load : json_get_double(trial, "tx_pps");
}

/* Lost and unsent, of what was asked for. */
static double loss_of(struct json_object *trial)
{
	return json_get_double(trial, "loss_share");
}

static bool is_warm_up(struct json_object *trial)
{
	return !strcmp(json_get_text(json_get(trial, "parameters"), "phase"), "warm-up");
}

static const char *worst_stage(struct json_object *trial)
{
	const char *name = "";
	uint64_t most = 0;

	for (size_t i = 0; i < json_get_length(trial, "stages"); i++) {
		struct json_object *stage = json_get_item(trial, "stages", i);

		if (json_get_u64(stage, "packets") > most) {
			most = json_get_u64(stage, "packets");
			name = json_get_text(stage, "stage");
		}
	}
	return name;
}

/* With --repeat: what the others found. */
static void put_spread(struct html *h, struct json_object *end, const char *key)
{
	struct json_object *all = json_get(json_get(end, "lower_pps_of_all"), key);
	char min[FMT_MAX], max[FMT_MAX];

	if (all)
		html_put(h->out, "<small>of %lu searches: %s to %s</small>",
			 json_get_length(end, "searches"),
			 fmt_rate(min, sizeof(min), json_get_double(all, "min")),
			 fmt_rate(max, sizeof(max), json_get_double(all, "max")));
}

static void put_answers(struct html *h, struct json_object *end)
{
	char lower[FMT_MAX], upper[FMT_MAX];

	html_put(h->out, "<dl class=\"figures answers\">");
	for (unsigned i = 0; i < GOALS; i++) {
		struct json_object *goal = json_get(end, goals[i].key);
		const char *stage = json_get_text(goal, "stage");

		if (!goal)
			continue;
		html_put(h->out, "<div><dt>%s, %s</dt><dd class=\"%s\">%s", goals[i].name,
			 goals[i].what, goals[i].class,
			 fmt_rate(lower, sizeof(lower), json_get_double(goal, "lower_pps")));
		if (json_get_double(goal, "upper_pps") > json_get_double(goal, "lower_pps"))
			html_put(
				h->out, " <small>not %s</small>",
				fmt_rate(upper, sizeof(upper), json_get_double(goal, "upper_pps")));
		if (!strcmp(json_get_text(goal, "limited_by"), "generator"))
			html_put(h->out, "<small>this host generates no more</small>");
		else if (!strcmp(json_get_text(goal, "limited_by"), "send_queue"))
			html_put(h->out, "<small>the sender's device takes no more</small>");
		else if (*stage)
			html_put(h->out, "<small><i class=\"key %s\"></i>%s breaks</small>",
				 html_colour(h, stage), stage);
		put_spread(h, end, goals[i].key);
		html_put(h->out, "</dd></div>");
	}
	html_put(h->out, "</dl>");
}

static void put_legend(struct html *h, struct json_object *trials, struct json_object *end)
{
	char rate[FMT_MAX];

	html_chart_legend(h, "flow", "no loss", "");
	html_chart_legend(h, "waiting", "warm-up", "");
	html_chart_legend(h, "refused", "unsent only", "");
	for (unsigned s = 0; s < h->stages; s++) {
		for (size_t i = 0; i < html_length(trials); i++) {
			if (strcmp(worst_stage(html_at(trials, i)), h->stage[s]))
				continue;
			html_chart_legend(h, html_colour(h, h->stage[s]), h->stage[s], "");
			break;
		}
	}
	for (unsigned i = 0; i < GOALS; i++) {
		double lower = json_get_double(json_get(end, goals[i].key), "lower_pps");
		char class[32];

		snprintf(class, sizeof(class), "line mark-%s", goals[i].class);
		if (lower > 0)
			html_chart_legend(h, class, goals[i].name,
					  fmt_rate(rate, sizeof(rate), lower));
	}
}

static void put_marks(struct html *h, const struct html_chart *c, struct json_object *end)
{
	for (unsigned i = 0; i < GOALS; i++) {
		double lower = json_get_double(json_get(end, goals[i].key), "lower_pps");
		char class[32];

		snprintf(class, sizeof(class), "mark-%s", goals[i].class);
		if (lower > 0)
			html_chart_mark(h, c, class, lower, goals[i].name);
	}
}

static const char *class_of(const struct html *h, struct json_object *trial)
{
	const char *stage = worst_stage(trial);

	if (is_warm_up(trial))
		return "waiting";
	if (*stage)
		return html_colour(h, stage);
	return loss_of(trial) > 0 ? "refused" : "flow";
}

static void put_dots(struct html *h, const struct html_chart *c, struct json_object *trials)
{
	for (size_t i = 0; i < html_length(trials); i++) {
		struct json_object *trial = html_at(trials, i);
		const char *stage = worst_stage(trial);
		char rate[FMT_MAX], tip[160];

		snprintf(tip, sizeof(tip), "trial %zu: %s, %.4g %% lost%s%.40s", i + 1,
			 fmt_rate(rate, sizeof(rate), load_of(trial)), 100 * loss_of(trial),
			 *stage ? ", most at " : "", stage);
		html_chart_dot(h, c, class_of(h, trial), load_of(trial),
			       fmax(loss_of(trial), LEAST_LOSS), tip);
	}
}

static void put_chart(struct html *h, struct json_object *trials, struct json_object *end)
{
	struct html_chart c = {
		.title = "Trials by load",
		.note = "coloured by the stage that lost most",
		.x_title = "load, packets/s",
		.y_title = "lost or unsent; at the bottom: nothing",
	};
	double least = 1, most = LEAST_LOSS, lowest = INFINITY, highest = 0;

	for (size_t i = 0; i < html_length(trials); i++) {
		double loss = loss_of(html_at(trials, i));

		lowest = fmin(lowest, fmax(load_of(html_at(trials, i)), 1));
		highest = fmax(highest, load_of(html_at(trials, i)));
		if (loss > LEAST_LOSS) {
			least = fmin(least, loss);
			most = fmax(most, loss);
		}
	}
	c.x = (highest < 10 * lowest ? html_axis_linear : html_axis_log)(HTML_COUNT, lowest,
									 highest);
	c.y = html_axis_log(HTML_SHARE, fmin(least / 10, most / 100), most);
	html_chart_begin(h, &c);
	put_legend(h, trials, end);
	html_chart_plot(h, &c);
	put_marks(h, &c, end);
	put_dots(h, &c, trials);
	html_chart_end(h, &c);
}

void html_search(struct html *h, struct json_object *doc)
{
	struct json_object *trials = json_get(doc, "trials"), *end = json_get(doc, "end");
	bool any = false;

	for (unsigned i = 0; i < GOALS; i++)
		any |= json_get(end, goals[i].key) != NULL;
	if (!any)
		return;
	html_section(h, "What this path can take", "");
	put_answers(h, end);
	if (html_length(trials))
		put_chart(h, trials, end);
	html_section_end(h);
}
