// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Trials of run --repeat, sweep and search: a bar each, and each in full to be unfolded. Of a
 * search what it found: the trials by load and loss, and the bounds between which the answer is.
 */
#include <math.h>
#include <string.h>

#include "drops/stagemap.h"
#include "report/html_page.h"
#include "report/print.h"
#include "report/series.h"

#define BARS	   400	/* shown */
#define MANY	   20	/* up to so many are there with their own path, costs and ledger */
#define IN_FULL	   4	/* of more, the first that lost: a page is to have less than 300 kB */
#define LEAST_LOSS 1e-7 /* what is drawn at the bottom, with no loss at all */

/* "search 409.6 kpps 1 s", "rcvbuf=64k rate=100k", a preset's name of its line, or its number. */
static const char *label_of(struct html *h, struct json_object *trial, size_t i)
{
	struct json_object *parameters = json_get(trial, "parameters");
	const char *phase = json_get_text(parameters, "phase");
	double load = json_get_double(parameters, "rate_pps");
	size_t n = 0;

	*h->label = '\0';
	if (*phase) {
		snprintf(h->label, sizeof(h->label), "%s %s %s", phase,
			 load > 0 ? fmt_rate(load) : "max",
			 fmt_ns(json_get_u64(parameters, "duration_ns")));
	} else if (!json_object_is_type(parameters, json_type_object) ||
		   !json_object_object_length(parameters)) {
		snprintf(h->label, sizeof(h->label), "trial %zu", i + 1);
	} else if (json_object_object_length(parameters) == 1 && json_get(parameters, "trial")) {
		return json_get_text(parameters, "trial");
	} else {
		json_object_object_foreach (parameters, name, value) {
			if (n < sizeof(h->label))
				n += (size_t)snprintf(h->label + n, sizeof(h->label) - n, "%s%s=%s",
						      n ? " " : "", name,
						      json_object_get_string(value));
		}
	}
	return h->label;
}

static void put_segment(struct html *h, const char *class, const char *name,
			struct json_object *trial, uint64_t packets, double width)
{
	uint64_t sent = json_get_u64(trial, "sent");

	if (packets && sent)
		html_put(h, "<i class=\"%s\" style=\"width:%.3f%%\" title=\"%s: %s, %s\"></i>",
			 class, 100 * width * fmin((double)packets / (double)sent, 1), name,
			 fmt_many(packets, "packet"), page_share(packets, sent));
}

/* As long as packets were sent a second, split by where they went. */
static void put_bar(struct html *h, struct json_object *trial, double width)
{
	put_segment(h, "flow", "delivered", trial, json_get_u64(trial, "delivered"), width);
	for (struct json_each stage = json_each(trial, "stages"); json_next(&stage);) {
		const char *name = json_get_text(stage.item, "stage");

		put_segment(h, html_colour(h, name), name, trial,
			    json_get_u64(stage.item, "packets"), width);
	}
	put_segment(h, "waiting", "in flight", trial, json_get_u64(trial, "in_flight"), width);
	put_segment(h, "unknown", "unaccounted", trial, json_get_u64(trial, "unaccounted"), width);
}

/* "12.00 % lost"; what a search could not send is a loss, too. */
static const char *loss_of(struct html *h, struct json_object *trial)
{
	snprintf(h->loss, sizeof(h->loss), "%s lost%s", page_percent(lost_fraction(trial)),
		 json_get_u64(trial, "unsent") ? " or unsent" : "");
	return h->loss;
}

/* Of what was sent, that was lost: 0 .. 1. */
static double share_of(struct json_object *point, const char *key)
{
	return fraction_of(json_get_double(json_get(point, "lost_fraction"), key), 1);
}

/* Medians: delivered, and lost in the worst stage's colour; a line from worst to best trial. */
static void put_point(struct html *h, struct json_object *point, double sent)
{
	double lost = share_of(point, "median"), least = share_of(point, "min");
	double most = share_of(point, "max");
	const char *stage = json_get_text(point, "stage");

	html_put(h,
		 "<i class=\"flow\" style=\"width:%.3f%%\"></i>"
		 "<i class=\"%s\" style=\"width:%.3f%%\" title=\"%s\"></i>",
		 100 * sent * (1 - lost), html_colour(h, stage), 100 * sent * lost, stage);
	if (most > least)
		html_put(h, "<b style=\"left:%.3f%%;width:%.3f%%\"></b>", 100 * sent * (1 - most),
			 100 * sent * (most - least));
	snprintf(h->loss, sizeof(h->loss), "%.2f %% lost, %.2f – %.2f", 100 * lost, 100 * least,
		 100 * most);
}

/* What was sent a second; of several trials the median. */
static double rate_of(struct json_object *o)
{
	struct json_object *pps = json_get(o, "tx_pps");

	return json_object_is_type(pps, json_type_object) ? json_get_double(pps, "median")
							  : json_get_double(o, "tx_pps");
}

/* Trials, or points of several trials each. */
static void put_bars(struct html *h, struct json_object *of, const char *list)
{
	size_t n = json_get_length(of, list);
	struct html_axis axis;
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, rate_of(json_get_item(of, list, i)));
	axis = html_axis_linear(HTML_COUNT, 0, most);
	html_put(h, "<div class=\"bars trials\">");
	for (size_t i = 0; i < n && i < BARS; i++) {
		struct json_object *o = json_get_item(of, list, i);
		double rate = rate_of(o), width = html_axis_at(&axis, rate);

		html_put(h, "<div class=\"row\"><span>%s</span>", label_of(h, o, i));
		if (json_get(o, "error")) {
			html_put(h, "<span class=\"bad\">failed: %s</span><span></span></div>",
				 json_get_text(json_get(o, "error"), "message"));
			continue;
		}
		html_put(h, "<span class=\"bar\">");
		if (json_get(o, "lost_fraction")) {
			put_point(h, o, width);
		} else {
			put_bar(h, o, width);
			loss_of(h, o);
		}
		html_put(h,
			 "</span><span class=\"n\">%s <span class=\"dim\">%s</span>%s</span></div>",
			 fmt_rate(rate), h->loss,
			 json_denies(o, "balanced") ? " ✗ not balanced" : "");
	}
	html_put(h, "<div class=\"row\"><span></span><span class=\"x\">");
	html_axis_put(h, &axis, "left");
	html_put(h, "</span><span class=\"dim unit\">packets/s</span></div></div>");
	if (n > BARS)
		html_put(h, "<p class=\"hint\">The first %u of %lu; all are in the data.</p>", BARS,
			 n);
}

/* Of the stages that lost something in any trial. */
static void put_stages_legend(struct html *h, struct json_object *doc)
{
	for (int s = 0; s < STAGE_COUNT; s++) {
		const char *name = stage_name(s);
		uint64_t packets = 0;

		for (struct json_each t = json_each(doc, "trials"); h->lossy[s] && json_next(&t);)
			packets += json_get_u64(print_stage(t.item, name), "packets");
		if (packets)
			html_chart_legend(h, html_colour(h, name), name, fmt_count(packets));
	}
}

static void put_summaries(struct html *h, struct json_object *end)
{
	static const char *const keys[][2] = {{"tx_pps", "sent at"}, {"rx_pps", "received at"}};
	struct page p = page_open_html(h);

	for (unsigned i = 0; json_get(end, "tx_pps") && i < LENGTH(keys); i++)
		trials_put_spread(&p, keys[i][1], trials_summary_read(json_get(end, keys[i][0])),
				  "runs");
	html_end_block(h);
}

/* What is not 0 in any of them has no column. */
static void put_costs(struct html *h, struct json_object *doc)
{
	static const struct {
		const char *key, *name;
		char *(*text)(uint64_t value);
	} costs[] = {
		{"duration_ns", "time", fmt_ns},
		{"waits", "waits", fmt_count},
		{"tx_calls", "calls to send", fmt_count},
		{"rx_calls", "to receive", fmt_count},
		{"tx_cpu_ns", "CPU to send", fmt_ns},
		{"rx_cpu_ns", "to receive", fmt_ns},
		{"fragments_made", "fragments", fmt_count},
		{"fragments_seen", "seen", fmt_count},
		{"datagrams_reassembled", "datagrams", fmt_count},
	};
	struct page_column columns[LENGTH(costs) + 3] = {{"trial", 0, false}, {"payload", 0, true}};
	unsigned cost[LENGTH(costs)], n = 0;
	struct page p = page_open_html(h);

	for (unsigned k = 0; k < LENGTH(costs); k++) {
		if (!json_sum(doc, "trials", costs[k].key))
			continue;
		columns[2 + n] = (struct page_column){costs[k].name, 0, true};
		cost[n++] = k;
	}
	html_put(h, "<details><summary>time, calls, CPU, fragments</summary>");
	page_table(&p, columns);
	for (size_t i = 0; i < json_get_length(doc, "trials") && i < BARS; i++) {
		struct json_object *trial = json_get_item(doc, "trials", i);
		double bits = json_get_double(trial, "payload_bytes") *
			      json_get_double(trial, "rx_pps") * 8;

		page_cell(&p, STYLE_PLAIN, label_of(h, trial, i));
		page_cell(&p, STYLE_PLAIN, bits > 0 ? fmt_bps(bits) : ""); /* received */
		for (unsigned k = 0; k < n; k++)
			page_cell(&p, STYLE_PLAIN,
				  costs[cost[k]].text(json_get_u64(trial, costs[cost[k]].key)));
		page_end(&p);
	}
	html_end_block(h);
	html_put(h, "</details>");
}

static const struct goal {
	const char *key, *name, *title, *class;
} goals[] = {
	{"ndr", "NDR", "NDR, no drop", "line mark mark-good"},
	{"pdr", "PDR", "PDR, partial drop", "line mark mark-warn"},
	{"mrr", "MRR", "MRR, as fast as it goes", "line mark mark-dim"},
};

#define GOALS LENGTH(goals)

/* What was asked for, packets/s; what came of it if that was all that goes. */
static double load_of(struct json_object *trial)
{
	double load = json_get_double(json_get(trial, "parameters"), "rate_pps");

	return load > 0 ? load : json_get_double(trial, "tx_pps");
}

static void put_answers(struct html *h, struct json_object *end)
{
	html_put(h, "<dl class=\"figures answers\">");
	for (unsigned i = 0; i < GOALS; i++) {
		struct json_object *goal = json_get(end, goals[i].key);
		struct json_object *all = json_get(json_get(end, "lower_pps_of_all"), goals[i].key);
		const char *culprit = found_culprit(goal);
		double lower = json_get_double(goal, "lower_pps");
		double upper = json_get_double(goal, "upper_pps");
		bool is_mrr;
		char beyond[96] = "", searches[128] = "", losers[96] = "", why[416];

		if (!goal)
			continue;
		is_mrr = !strcmp(goals[i].key, "mrr");
		if (is_mrr) /* what got through, and what was lost of the rest */
			snprintf(beyond, sizeof(beyond), "%s", *culprit ? "limited by " : "");
		else if (upper > lower)
			snprintf(beyond, sizeof(beyond), "%s did not hold%s", fmt_rate(upper),
				 *culprit ? ": " : "");
		else if (lower > 0)
			snprintf(beyond, sizeof(beyond), "at least that%s%s",
				 json_get_bool(goal, "done") ? ", the highest rate that "
							     : "; not finished",
				 json_get_bool(goal, "done") ? found_highest(end) : "");
		if (!is_mrr && !(upper > lower))
			culprit = "";
		if (all) /* with --repeat: what the others found */
			snprintf(searches, sizeof(searches), "; of %zu searches: %s to %s",
				 json_get_length(end, "searches"),
				 fmt_rate(json_get_double(all, "min")),
				 fmt_rate(json_get_double(all, "max")));
		if (json_get_u64(goal, "lost_below"))
			snprintf(losers, sizeof(losers),
				 "; %s of %s up to the lower rate lost more",
				 fmt_count(json_get_u64(goal, "lost_below")),
				 fmt_many(json_get_u64(goal, "trials_below"), "trial"));
		snprintf(why, sizeof(why), "%s%.60s%s%s", beyond, culprit, losers, searches);
		html_figure(h, goals[i].title, lower > 0 ? fmt_rate(lower) : "not known", why);
	}
	html_put(h, "</dl>");
}

static void put_dot(struct html *h, const struct html_chart *c, struct json_object *trial,
		    size_t number)
{
	bool warm_up = !strcmp(json_get_text(json_get(trial, "parameters"), "phase"), "warm-up");
	double load = load_of(trial), loss = lost_fraction(trial);
	const char *stage = print_worst_stage(trial), *class = loss > 0 ? "refused" : "flow";
	char tip[160];

	if (warm_up)
		class = "waiting";
	else if (*stage)
		class = html_colour(h, stage);
	snprintf(tip, sizeof(tip), "trial %zu: %s, %.4g %% lost%s%.40s", number, fmt_rate(load),
		 100 * loss, *stage ? ", most at " : "", stage);
	html_chart_dot(h, c, class, load, fmax(loss, LEAST_LOSS), tip);
}

/* `end`: of a search, with its answers; NULL: there are none. */
static void put_chart(struct html *h, struct json_object *doc, struct json_object *end)
{
	struct html_chart c = {
		.title = "Loss over rate",
		.note = "a dot is a trial, coloured by the stage that lost most",
		.x_title = "packets/s",
		.y_title = end ? "lost or unsent; at the bottom: nothing"
			       : "lost; at the bottom: nothing",
	};
	double least = 1, most = LEAST_LOSS, lowest = INFINITY, highest = 0, lower[GOALS];

	for (struct json_each t = json_each(doc, "trials"); json_next(&t);) {
		double loss = lost_fraction(t.item);

		lowest = fmin(lowest, fmax(load_of(t.item), 1));
		highest = fmax(highest, load_of(t.item));
		if (loss > LEAST_LOSS) {
			least = fmin(least, loss);
			most = fmax(most, loss);
		}
	}
	c.x = (highest < 3 * lowest ? html_axis_linear : html_axis_log)(HTML_COUNT, lowest,
									highest);
	c.y = html_axis_log(HTML_SHARE, fmin(least / 10, most / 100), most);
	html_chart_begin(h, &c);
	html_chart_legend(h, "flow", "no loss", "");
	if (end) {
		html_chart_legend(h, "waiting", "warm-up", "");
		html_chart_legend(h, "refused", "unsent only", "");
	}
	put_stages_legend(h, doc);
	for (unsigned i = 0; i < GOALS; i++) {
		lower[i] = json_get_double(json_get(end, goals[i].key), "lower_pps");
		if (lower[i] > 0)
			html_chart_legend(h, goals[i].class, goals[i].name, fmt_rate(lower[i]));
	}
	html_chart_plot(h, &c);
	for (unsigned i = 0; i < GOALS; i++) {
		double upper = json_get_double(json_get(end, goals[i].key), "upper_pps");

		if (lower[i] > 0 && upper > lower[i])
			html_chart_band(h, &c, goals[i].class, lower[i], upper);
		if (lower[i] > 0)
			html_chart_line(h, &c, goals[i].class, (double[]){lower[i], lower[i]},
					(double[]){c.y.min, c.y.max}, 2);
	}
	for (struct json_each t = json_each(doc, "trials"); json_next(&t);)
		put_dot(h, &c, t.item, t.next);
	html_chart_end(h, &c);
}

/* What a sweep shows at a glance: of two options, or of the rate. */
static void put_sweep(struct html *h, struct json_object *doc)
{
	struct json_object *start = json_get(doc, "start");
	const char *name[2] = {json_get_item_text(start, "parameters", 0),
			       json_get_item_text(start, "parameters", 1)};
	const struct print_view v = {.html = h};
	struct json_object *matrix = NULL;
	char title[128];

	if (json_get_length(start, "parameters") == 2)
		matrix = matrix_of_points(json_get(doc, "end"), name[0], name[1]);
	if (matrix) {
		snprintf(title, sizeof(title),
			 "%s down, %s across; below each loss the rate that was sent", name[0],
			 name[1]);
		html_section(h, "Loss", title);
		matrix_print(&v, matrix);
		html_section_end(h);
		json_object_put(matrix);
	}
	if (strcmp(name[0], "rate") && strcmp(name[1], "rate"))
		return;
	html_section(h, "What this path can take", "");
	put_chart(h, doc, NULL);
	html_section_end(h);
}

/* Of many trials the first that lost; `shown`: of those before. */
static bool is_in_full(struct json_object *doc, struct json_object *trial, size_t *shown)
{
	const bool many = json_get_length(doc, "trials") > MANY;

	if (!json_get_u64(trial, "attempted") ||
	    (many && (*shown == IN_FULL || !(lost_fraction(trial) > 0))))
		return false;
	(*shown)++;
	return true;
}

/* The members of `from` with these names, up to NULL. */
static struct json_object *brief_of(struct json_object *from, const char *const *names)
{
	struct json_object *o = json_object_new_object();

	for (; *names; names++) {
		if (json_get(from, *names))
			json_put(o, *names, json_object_get(json_get(from, *names)));
	}
	return o;
}

/* What bars and dots are made of. */
static struct json_object *brief_trial(struct json_object *trial)
{
	static const char *const shown[] = {
		"parameters", "trial",	   "tx",      "rx",	    "error",	 "attempted",
		"sent",	      "delivered", "dropped", "tx_pps",	    "in_flight", "unaccounted",
		"balanced",   "intended",  "unsent",  "loss_fraction", NULL};
	static const char *const of_stage[] = {"stage", "packets", NULL};
	struct json_object *o = brief_of(trial, shown), *list = json_put_list(o, "stages");

	for (struct json_each s = json_each(trial, "stages"); json_next(&s);)
		json_object_array_add(list, brief_of(s.item, of_stage));
	return o;
}

static const char *const of_point[] = {"parameters", "trials",	  "balanced", "stage",	    "error",
				       "tx_pps",     "delivered", "dropped",  "lost_fraction", NULL};

struct json_object *html_trials_brief(struct json_object *doc)
{
	struct json_object *o, *list, *brief, *end = json_get(doc, "end");
	size_t shown = 0;

	if (json_get_length(doc, "trials") <= MANY)
		return json_object_get(doc);
	o = json_object_new_object();
	json_put_all(o, doc);
	list = json_put_list(o, "trials");
	for (struct json_each t = json_each(doc, "trials"); json_next(&t);)
		json_object_array_add(list, is_in_full(doc, t.item, &shown)
						    ? json_object_get(t.item)
						    : brief_trial(t.item));
	if (!json_get(end, "points"))
		return o;
	brief = json_put_object(o, "end");
	json_put_all(brief, end);
	list = json_put_list(brief, "points");
	for (struct json_each point = json_each(end, "points"); json_next(&point);)
		json_object_array_add(list, brief_of(point.item, of_point));
	return o;
}

void html_trials(struct html *h, struct json_object *doc)
{
	struct json_object *end = json_get(doc, "end"), *start = json_get(doc, "start");
	size_t n = json_get_length(doc, "trials"), shown = 0;

	if (!n)
		return;
	put_sweep(h, doc);
	if (json_get_u64(json_get_item(end, "points", 0), "trials") > 1) {
		html_section(h, "Points",
			     "medians of what was sent a second, split; lines go from the worst "
			     "trial to the best");
		put_bars(h, end, "points");
		html_section_end(h);
	}
	html_section(h, "Trials", "each bar is what was sent a second, split by where it went");
	put_summaries(h, end);
	html_put(h, "<ul class=\"legend\">");
	html_chart_legend(h, "flow", "delivered", "");
	put_stages_legend(h, doc);
	html_put(h, "</ul>");
	put_bars(h, doc, "trials");
	if (n <= MANY)
		put_costs(h, doc);
	html_put(h, "<details><summary>%s in full</summary>",
		 n > MANY ? "the first that lost" : "each");
	for (size_t i = 0; i < n; i++) {
		struct json_object *trial = json_get_item(doc, "trials", i);

		if (!is_in_full(doc, trial, &shown))
			continue;
		html_put(h, "<details><summary>%s: %s</summary>", label_of(h, trial, i),
			 loss_of(h, trial));
		html_path(h, start, trial);
		html_time(h, trial);
		html_ledger(h, start, trial);
		html_put(h, "</details>");
	}
	if (n > MANY)
		html_put(h, "<p class=\"hint\">Of the others the data has what is shown.</p>");
	html_put(h, "</details>");
	html_section_end(h);
}

void html_search(struct html *h, struct json_object *doc)
{
	struct json_object *end = json_get(doc, "end");
	bool any = false;

	for (unsigned i = 0; i < GOALS; i++)
		any |= json_get(end, goals[i].key) != NULL;
	if (!any)
		return;
	html_section(h, "What this path can take", "");
	put_answers(h, end);
	if (json_get_length(doc, "trials"))
		put_chart(h, doc, end);
	html_section_end(h);
}
