// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Trials of run --repeat, sweep and search: a bar each, and each in full to be unfolded. Of a
 * search what it found: the trials by load and loss, and the bounds between which the answer is.
 */
#include <math.h>
#include <string.h>

#include "report/html_page.h"

#define BARS	     400  /* shown */
#define IN_FULL	     100  /* shown with their own path and ledger */
#define LEAST_LOSS   1e-7 /* what is drawn at the bottom, with no loss at all */
#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

/*
 * "search 409.6 kpps 1 s", "rcvbuf=64k rate=100k", what a preset calls its line, or the number of
 * the trial.
 */
static void put_label(struct html *h, struct json_object *trial, size_t i)
{
	struct json_object *parameters = json_get(trial, "parameters");
	double load = json_get_double(parameters, "rate_pps");
	const char *before = "";

	if (*json_get_text(parameters, "phase")) {
		html_put(h, "%s %s %s", json_get_text(parameters, "phase"),
			 load > 0 ? html_rate(h, load) : "max",
			 html_ns(h, json_get_u64(parameters, "duration_ns")));
	} else if (!html_has_members(parameters)) {
		html_put(h, "trial %lu", i + 1);
	} else if (json_object_object_length(parameters) == 1 && json_get(parameters, "trial")) {
		html_put(h, "%s", json_get_text(parameters, "trial"));
	} else {
		json_object_object_foreach (parameters, name, value) {
			html_put(h, "%s%s=%s", before, name, json_object_get_string(value));
			before = " ";
		}
	}
}

static void put_segment(struct html *h, const char *class, const char *name, uint64_t packets,
			uint64_t whole, double width)
{
	if (!packets || !whole)
		return;
	html_put(h, "<i class=\"%s\" style=\"width:%.3f%%\" title=\"%s: %s packets, %s\"></i>",
		 class, 100 * width * fmin((double)packets / (double)whole, 1), name,
		 html_count(h, packets), html_share(h, packets, whole));
}

/* As long as packets were sent a second, split by where they went. */
static void put_bar(struct html *h, struct json_object *trial, const struct html_axis *axis)
{
	double width = html_axis_at(axis, json_get_double(trial, "tx_pps"));
	uint64_t sent = json_get_u64(trial, "sent");
	size_t n = json_get_length(trial, "stages");

	html_put(h, "<span class=\"bar\">");
	put_segment(h, "flow", "delivered", json_get_u64(trial, "delivered"), sent, width);
	for (size_t i = 0; i < n; i++) {
		struct json_object *stage = json_get_item(trial, "stages", i);
		const char *name = json_get_text(stage, "stage");

		put_segment(h, html_colour(h, name), name, json_get_u64(stage, "packets"), sent,
			    width);
	}
	put_segment(h, "waiting", "in flight", json_get_u64(trial, "in_flight"), sent, width);
	put_segment(h, "unknown", "unaccounted", json_get_u64(trial, "unaccounted"), sent, width);
	html_put(h, "</span>");
}

/* "12.00 % lost"; what a search could not send is a loss, too. */
static void put_loss(struct html *h, struct json_object *trial)
{
	uint64_t sent = json_get_u64(trial, "sent"), delivered = json_get_u64(trial, "delivered");

	if (json_get_u64(trial, "unsent"))
		html_put(h, "%.2f %% lost or unsent", 100 * json_get_double(trial, "loss_share"));
	else
		html_put(h, "%s lost",
			 html_share(h, sent > delivered ? sent - delivered : 0, sent));
}

static void put_row(struct html *h, struct json_object *trial, size_t i,
		    const struct html_axis *axis)
{
	html_put(h, "<div class=\"row\"><span>");
	put_label(h, trial, i);
	html_put(h, "</span>");
	if (json_get(trial, "error")) {
		html_put(h, "<span class=\"bad\">failed: %s</span><span></span></div>",
			 json_get_text(json_get(trial, "error"), "message"));
		return;
	}
	put_bar(h, trial, axis);
	html_put(h, "<span class=\"n\">%s <span class=\"dim\">",
		 html_rate(h, json_get_double(trial, "tx_pps")));
	put_loss(h, trial);
	html_put(h, "</span>%s</span></div>",
		 json_get_bool(trial, "balanced") ? "" : " ✗ not balanced");
}

static void put_axis(struct html *h, const struct html_axis *axis)
{
	html_put(h, "<div class=\"row\"><span></span><span class=\"x\">");
	html_axis_put(h, axis);
	html_put(h, "</span><span class=\"dim unit\">packets/s</span></div>");
}

static uint64_t lost_at(struct json_object *trial, const char *stage)
{
	uint64_t packets = 0;

	for (size_t i = 0; i < json_get_length(trial, "stages"); i++) {
		struct json_object *o = json_get_item(trial, "stages", i);

		if (!strcmp(json_get_text(o, "stage"), stage))
			packets += json_get_u64(o, "packets");
	}
	return packets;
}

static void put_legend(struct html *h, struct json_object *trials)
{
	html_put(h, "<ul class=\"legend\">");
	html_chart_legend(h, "flow", "delivered", "");
	for (unsigned s = 0; s < h->stages; s++) {
		uint64_t packets = 0;

		for (size_t i = 0; i < html_length(trials); i++)
			packets += lost_at(html_at(trials, i), h->stage[s]);
		if (packets)
			html_chart_legend(h, html_colour(h, h->stage[s]), h->stage[s],
					  html_count(h, packets));
	}
	html_put(h, "</ul>");
}

static void put_bars(struct html *h, struct json_object *trials)
{
	size_t n = html_length(trials);
	struct html_axis axis;
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, json_get_double(html_at(trials, i), "tx_pps"));
	axis = html_axis_linear(HTML_COUNT, 0, most);
	put_legend(h, trials);
	html_put(h, "<div class=\"bars trials\">");
	for (size_t i = 0; i < n && i < BARS; i++)
		put_row(h, html_at(trials, i), i, &axis);
	put_axis(h, &axis);
	html_put(h, "</div>");
	if (n > BARS)
		html_put(h,
			 "<p class=\"hint\">The first %u of %lu trials; all are in the data."
			 "</p>",
			 BARS, n);
}

static void put_summaries(struct html *h, struct json_object *end)
{
	static const char *const keys[][2] = {{"tx_pps", "sent at"}, {"rx_pps", "received at"}};

	if (!json_get(end, "tx_pps"))
		return;
	html_put(h, "<div class=\"scroll\"><table class=\"facts\"><thead><tr><th><th "
		    "class=\"n\">median<th class=\"n\">lowest<th class=\"n\">highest<th "
		    "class=\"n\">spread</thead><tbody>");
	for (unsigned i = 0; i < LENGTH(keys); i++) {
		struct json_object *s = json_get(end, keys[i][0]);
		double spread = json_get_double(s, "spread");

		if (s)
			html_put(h,
				 "<tr><th>%s<td class=\"n\">%s<td class=\"n\">%s<td class=\"n\">%s"
				 "<td class=\"n %s\">%.1f %%",
				 keys[i][1], html_rate(h, json_get_double(s, "median")),
				 html_rate(h, json_get_double(s, "min")),
				 html_rate(h, json_get_double(s, "max")),
				 spread > 0.05 ? "warn" : "", 100 * spread);
	}
	html_put(h, "</tbody></table></div>");
}

/* Of what was sent, that was lost: 0 .. 1. */
static double share_of(struct json_object *point, const char *key)
{
	return fmin(fmax(json_get_double(json_get(point, "lost_share"), key), 0), 1);
}

/* Medians: delivered, and lost in the colour of the worst stage; a line from worst to best trial.
 */
static void put_point(struct html *h, struct json_object *point, const struct html_axis *axis)
{
	double rate = json_get_double(json_get(point, "tx_pps"), "median");
	double sent = 100 * html_axis_at(axis, rate);
	double lost = share_of(point, "median"), least = share_of(point, "min");
	double most = share_of(point, "max");
	const char *stage = json_get_text(point, "stage");

	html_put(h, "<div class=\"row\"><span>");
	put_label(h, point, 0);
	html_put(h,
		 "</span><span class=\"bar\"><i class=\"flow\" style=\"width:%.3f%%\"></i>"
		 "<i class=\"%s\" style=\"width:%.3f%%\" title=\"%s\"></i>",
		 sent * (1 - lost), html_colour(h, stage), sent * lost, stage);
	if (most > least)
		html_put(h, "<b style=\"left:%.3f%%;width:%.3f%%\"></b>", sent * (1 - most),
			 sent * (most - least));
	html_put(h,
		 "</span><span class=\"n\">%s <span class=\"dim\">%.2f %% lost, %.2f – %.2f</span>"
		 "</span></div>",
		 html_rate(h, rate), 100 * lost, 100 * least, 100 * most);
}

/* Of a sweep whose points have several trials each. */
static void put_points(struct html *h, struct json_object *end)
{
	size_t n = json_get_length(end, "points");
	struct html_axis axis;
	double most = 0;

	if (json_get_u64(json_get_item(end, "points", 0), "trials") < 2)
		return;
	for (size_t i = 0; i < n; i++) {
		struct json_object *point = json_get_item(end, "points", i);

		most = fmax(most, json_get_double(json_get(point, "tx_pps"), "median"));
	}
	axis = html_axis_linear(HTML_COUNT, 0, most);
	html_section(h, "Points",
		     "medians of what was sent a second, split; lines go from the worst trial to "
		     "the best");
	html_put(h, "<div class=\"bars trials\">");
	for (size_t i = 0; i < n && i < BARS; i++)
		put_point(h, json_get_item(end, "points", i), &axis);
	put_axis(h, &axis);
	html_put(h, "</div>");
	html_section_end(h);
}

static void put_in_full(struct html *h, struct json_object *start, struct json_object *trial,
			size_t i)
{
	html_put(h, "<details><summary>");
	put_label(h, trial, i);
	html_put(h, ": ");
	put_loss(h, trial);
	html_put(h, "</summary>");
	html_path(h, start, trial);
	html_time(h, trial);
	html_ledger(h, trial);
	html_beside(h, trial);
	html_put(h, "</details>");
}

/* What is not 0 in any of them has no column. */
static void put_costs(struct html *h, struct json_object *trials)
{
	static const struct {
		const char *key, *name;
		const char *(*text)(struct html *h, uint64_t value);
	} costs[] = {
		{"duration_ns", "time", html_ns},
		{"waits", "waits", html_count},
		{"tx_calls", "calls to send", html_count},
		{"rx_calls", "to receive", html_count},
		{"tx_cpu_ns", "CPU to send", html_ns},
		{"rx_cpu_ns", "to receive", html_ns},
		{"fragments_made", "fragments", html_count},
		{"fragments_seen", "seen", html_count},
		{"datagrams_reassembled", "datagrams", html_count},
	};
	bool any[LENGTH(costs)];

	html_put(h, "<details><summary>time, calls, CPU, fragments</summary><div "
		    "class=\"scroll\"><table class=\"facts\"><thead><tr><th><th "
		    "class=\"n\">payload");
	for (unsigned k = 0; k < LENGTH(costs); k++) {
		any[k] = html_sum(trials, costs[k].key);
		if (any[k])
			html_put(h, "<th class=\"n\">%s", costs[k].name);
	}
	html_put(h, "</thead><tbody>");
	for (size_t i = 0; i < html_length(trials) && i < BARS; i++) {
		struct json_object *trial = html_at(trials, i);
		double bytes = json_get_double(trial, "payload_bytes");
		char payload[FMT_MAX] = ""; /* that were received, bit/s */

		if (bytes > 0)
			fmt_bps(payload, sizeof(payload),
				json_get_double(trial, "rx_pps") * bytes * 8);
		html_put(h, "<tr><th>");
		put_label(h, trial, i);
		html_put(h, "<td class=\"n\">%s", payload);
		for (unsigned k = 0; k < LENGTH(costs); k++) {
			if (any[k])
				html_put(h, "<td class=\"n\">%s",
					 costs[k].text(h, json_get_u64(trial, costs[k].key)));
		}
	}
	html_put(h, "</tbody></table></div></details>");
}

void html_trials(struct html *h, struct json_object *doc)
{
	struct json_object *trials = json_get(doc, "trials"), *end = json_get(doc, "end");
	struct json_object *start = json_get(doc, "start");

	if (!html_length(trials))
		return;
	put_points(h, end);
	html_section(h, "Trials",
		     "as long as packets were sent a second, split by where they went");
	put_summaries(h, end);
	put_bars(h, trials);
	put_costs(h, trials);
	html_put(h, "<details><summary>each in full</summary>");
	for (size_t i = 0; i < html_length(trials) && i < IN_FULL; i++) {
		if (json_get_u64(html_at(trials, i), "attempted"))
			put_in_full(h, start, html_at(trials, i), i);
	}
	html_put(h, "</details>");
	html_section_end(h);
}

static const struct goal {
	const char *key, *name, *what, *class;
} goals[] = {
	{"ndr", "NDR", "no drop", "good"},
	{"pdr", "PDR", "partial drop", "warn"},
	{"mrr", "MRR", "as fast as it goes", "dim"},
};

#define GOALS LENGTH(goals)

/* What was asked for, packets/s; what came of it if that was all that goes. */
static double load_of(struct json_object *trial)
{
	double load = json_get_double(json_get(trial, "parameters"), "rate_pps");

	return load > 0 ? load : json_get_double(trial, "tx_pps");
}

static const char *worst_stage(struct json_object *trial)
{
	return json_get_text(html_worst_stage(trial, NULL), "stage");
}

static void put_answers(struct html *h, struct json_object *end)
{
	html_put(h, "<dl class=\"figures answers\">");
	for (unsigned i = 0; i < GOALS; i++) {
		struct json_object *goal = json_get(end, goals[i].key);
		struct json_object *all = json_get(json_get(end, "lower_pps_of_all"), goals[i].key);
		const char *stage = json_get_text(goal, "stage");

		if (!goal)
			continue;
		html_put(h, "<div><dt>%s, %s</dt><dd class=\"%s\">%s", goals[i].name, goals[i].what,
			 goals[i].class, html_rate(h, json_get_double(goal, "lower_pps")));
		if (json_get_double(goal, "upper_pps") > json_get_double(goal, "lower_pps"))
			html_put(h, " <small>not %s</small>",
				 html_rate(h, json_get_double(goal, "upper_pps")));
		if (!strcmp(json_get_text(goal, "limited_by"), "generator"))
			html_put(h, "<small>this host generates no more</small>");
		else if (!strcmp(json_get_text(goal, "limited_by"), "send_queue"))
			html_put(h, "<small>the sender's device takes no more</small>");
		else if (*stage)
			html_put(h, "<small><i class=\"key %s\"></i>%s breaks</small>",
				 html_colour(h, stage), stage);
		if (all) /* with --repeat: what the others found */
			html_put(h, "<small>of %lu searches: %s to %s</small>",
				 json_get_length(end, "searches"),
				 html_rate(h, json_get_double(all, "min")),
				 html_rate(h, json_get_double(all, "max")));
		html_put(h, "</dd></div>");
	}
	html_put(h, "</dl>");
}

static void put_search_legend(struct html *h, struct json_object *trials, struct json_object *end)
{
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
			html_chart_legend(h, class, goals[i].name, html_rate(h, lower));
	}
}

static void put_dot(struct html *h, const struct html_chart *c, struct json_object *trial, size_t i)
{
	bool warm_up = !strcmp(json_get_text(json_get(trial, "parameters"), "phase"), "warm-up");
	double load = load_of(trial), loss = json_get_double(trial, "loss_share");
	const char *stage = worst_stage(trial), *class = loss > 0 ? "refused" : "flow";
	char tip[160];

	if (warm_up)
		class = "waiting";
	else if (*stage)
		class = html_colour(h, stage);
	snprintf(tip, sizeof(tip), "trial %zu: %s, %.4g %% lost%s%.40s", i + 1, html_rate(h, load),
		 100 * loss, *stage ? ", most at " : "", stage);
	html_chart_dot(h, c, class, load, fmax(loss, LEAST_LOSS), tip);
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
		double loss = json_get_double(html_at(trials, i), "loss_share");

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
	put_search_legend(h, trials, end);
	html_chart_plot(h, &c);
	for (unsigned i = 0; i < GOALS; i++) {
		double lower = json_get_double(json_get(end, goals[i].key), "lower_pps");
		char class[32];

		snprintf(class, sizeof(class), "mark-%s", goals[i].class);
		if (lower > 0)
			html_chart_mark(h, &c, class, lower, goals[i].name);
	}
	for (size_t i = 0; i < html_length(trials); i++)
		put_dot(h, &c, html_at(trials, i), i);
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
