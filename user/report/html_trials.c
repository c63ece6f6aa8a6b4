// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Trials of run --repeat, sweep and search: a bar each, and each in full to be unfolded. */
#include "report/html_chart.h"

#include <math.h>
#include <string.h>

#define BARS	400 /* shown */
#define IN_FULL 100 /* shown with their own path and books */
#define LABEL	160 /* bytes */

/* "search 409.6 kpps 1 s" */
static char *label_of_search(struct json_object *parameters, char *buf, size_t size)
{
	double load = json_get_double(parameters, "rate_pps");
	char rate[FMT_MAX], time[FMT_MAX];

	snprintf(buf, size, "%s %s %s", json_get_text(parameters, "phase"),
		 load > 0 ? fmt_rate(rate, sizeof(rate), load) : "max",
		 fmt_ns(time, sizeof(time), json_get_u64(parameters, "duration_ns")));
	return buf;
}

/* "rcvbuf=64k rate=100k", what a preset calls its line, or the number of the trial. */
static char *label_of(struct json_object *trial, size_t i, char *buf, size_t size)
{
	struct json_object *parameters = json_get(trial, "parameters");
	size_t n = 0;

	snprintf(buf, size, "trial %zu", i + 1);
	if (*json_get_text(parameters, "phase"))
		return label_of_search(parameters, buf, size);
	if (!html_has_members(parameters))
		return buf;
	if (json_object_object_length(parameters) == 1 && json_get(parameters, "trial")) {
		snprintf(buf, size, "%s", json_get_text(parameters, "trial"));
		return buf;
	}
	json_object_object_foreach (parameters, name, value) {
		n += (size_t)snprintf(buf + n, n < size ? size - n : 0, "%s%s=%s", n ? " " : "",
				      name, value ? json_object_get_string(value) : "");
		if (n >= size)
			break;
	}
	return buf;
}

static void put_segment(struct html *h, const char *class, const char *name, uint64_t packets,
			uint64_t whole, double width)
{
	char count[FMT_MAX], share[24];

	if (!packets || !whole)
		return;
	html_put(h->out, "<i class=\"%s\" style=\"width:%.3f%%\" title=\"%s: %s packets, %s\"></i>",
		 class, 100 * width * fmin((double)packets / (double)whole, 1), name,
		 fmt_count(count, sizeof(count), packets),
		 html_share(share, sizeof(share), packets, whole));
}

/* As long as packets were sent a second, split by where they went. */
static void put_bar(struct html *h, struct json_object *trial, const struct html_axis *axis)
{
	double width = html_axis_at(axis, json_get_double(trial, "tx_pps"));
	uint64_t sent = json_get_u64(trial, "sent");
	size_t n = json_get_length(trial, "stages");

	html_put(h->out, "<span class=\"bar\">");
	put_segment(h, "flow", "delivered", json_get_u64(trial, "delivered"), sent, width);
	for (size_t i = 0; i < n; i++) {
		struct json_object *stage = json_get_item(trial, "stages", i);
		const char *name = json_get_text(stage, "stage");

		put_segment(h, html_colour(h, name), name, json_get_u64(stage, "packets"), sent,
			    width);
	}
	put_segment(h, "waiting", "in flight", json_get_u64(trial, "in_flight"), sent, width);
	put_segment(h, "unknown", "unaccounted", json_get_u64(trial, "unaccounted"), sent, width);
	html_put(h->out, "</span>");
}

/* "12.00 % lost"; what a search could not send is a loss, too. */
static char *loss_text(struct json_object *trial, char *buf, size_t size)
{
	uint64_t sent = json_get_u64(trial, "sent"), delivered = json_get_u64(trial, "delivered");
	char share[24];

	if (json_get_u64(trial, "unsent"))
		snprintf(buf, size, "%.2f %% lost or unsent",
			 100 * json_get_double(trial, "loss_share"));
	else
		snprintf(buf, size, "%s lost",
			 html_share(share, sizeof(share), sent > delivered ? sent - delivered : 0,
				    sent));
	return buf;
}

static void put_row(struct html *h, struct json_object *trial, size_t i,
		    const struct html_axis *axis)
{
	char label[LABEL], rate[FMT_MAX], share[64];

	html_put(h->out, "<div class=\"row\"><span>%s</span>",
		 label_of(trial, i, label, sizeof(label)));
	if (json_get(trial, "error")) {
		html_put(h->out, "<span class=\"bad\">failed: %s</span><span></span></div>",
			 json_get_text(json_get(trial, "error"), "message"));
		return;
	}
	put_bar(h, trial, axis);
	html_put(h->out, "<span class=\"n\">%s <span class=\"dim\">%s</span>%s</span></div>",
		 fmt_rate(rate, sizeof(rate), json_get_double(trial, "tx_pps")),
		 loss_text(trial, share, sizeof(share)),
		 json_get_bool(trial, "balanced") ? "" : " ✗ not balanced");
}

static void put_axis(struct html *h, const struct html_axis *axis)
{
	char label[FMT_MAX];

	html_put(h->out, "<div class=\"row\"><span></span><span class=\"x\">");
	for (unsigned i = 0; i < axis->ticks; i++)
		html_put(h->out, "<span style=\"left:%.2f%%\">%s</span>",
			 100 * html_axis_at(axis, axis->tick[i]),
			 html_axis_label(axis, axis->tick[i], label, sizeof(label)));
	html_put(h->out, "</span><span class=\"dim unit\">packets/s</span></div>");
}

static void put_legend(struct html *h, struct json_object *trials)
{
	char count[FMT_MAX];

	html_put(h->out, "<ul class=\"legend\">");
	html_chart_legend(h, "flow", "delivered", "");
	for (unsigned s = 0; s < h->stages; s++) {
		uint64_t packets = 0;

		for (size_t i = 0; i < html_length(trials); i++) {
			struct json_object *trial = html_at(trials, i);

			for (size_t k = 0; k < json_get_length(trial, "stages"); k++) {
				struct json_object *stage = json_get_item(trial, "stages", k);

				if (!strcmp(json_get_text(stage, "stage"), h->stage[s]))
					packets += json_get_u64(stage, "packets");
			}
		}
		if (packets)
			html_chart_legend(h, html_colour(h, h->stage[s]), h->stage[s],
					  fmt_count(count, sizeof(count), packets));
	}
	html_put(h->out, "</ul>");
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
	html_put(h->out, "<div class=\"bars trials\">");
	for (size_t i = 0; i < n && i < BARS; i++)
		put_row(h, html_at(trials, i), i, &axis);
	put_axis(h, &axis);
	html_put(h->out, "</div>");
	if (n > BARS)
		html_put(h->out,
			 "<p class=\"hint\">The first %u of %lu trials; all are in the data."
			 "</p>",
			 BARS, n);
}

static void put_summary(struct html *h, const char *name, struct json_object *s)
{
	char median[FMT_MAX], min[FMT_MAX], max[FMT_MAX];
	double spread = json_get_double(s, "spread");

	if (!s)
		return;
	html_put(h->out,
		 "<tr><th>%s<td class=\"n\">%s<td class=\"n\">%s<td class=\"n\">%s<td class=\"n "
		 "%s\">%.1f %%",
		 name, fmt_rate(median, sizeof(median), json_get_double(s, "median")),
		 fmt_rate(min, sizeof(min), json_get_double(s, "min")),
		 fmt_rate(max, sizeof(max), json_get_double(s, "max")), spread > 0.05 ? "warn" : "",
		 100 * spread);
}

static void put_summaries(struct html *h, struct json_object *end)
{
	if (!json_get(end, "tx_pps"))
		return;
	html_put(h->out, "<div class=\"scroll\"><table class=\"facts\"><thead><tr><th><th "
			 "class=\"n\">median<th class=\"n\">lowest<th class=\"n\">highest<th "
			 "class=\"n\">spread</thead><tbody>");
	put_summary(h, "sent at", json_get(end, "tx_pps"));
	put_summary(h, "received at", json_get(end, "rx_pps"));
	html_put(h->out, "</tbody></table></div>");
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
	char label[LABEL], text[FMT_MAX];

	html_put(h->out, "<div class=\"row\"><span>%s</span>",
		 label_of(point, 0, label, sizeof(label)));
	html_put(h->out,
		 "<span class=\"bar\"><i class=\"flow\" style=\"width:%.3f%%\"></i>"
		 "<i class=\"%s\" style=\"width:%.3f%%\" title=\"%s\"></i>",
		 sent * (1 - lost), html_colour(h, stage), sent * lost, stage);
	if (most > least)
		html_put(h->out, "<b style=\"left:%.3f%%;width:%.3f%%\"></b>", sent * (1 - most),
			 sent * (most - least));
	html_put(h->out,
		 "</span><span class=\"n\">%s <span class=\"dim\">%.2f %% lost, %.2f – %.2f</span>"
		 "</span></div>",
		 fmt_rate(text, sizeof(text), rate), 100 * lost, 100 * least, 100 * most);
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
	html_put(h->out, "<div class=\"bars trials\">");
	for (size_t i = 0; i < n && i < BARS; i++)
		put_point(h, json_get_item(end, "points", i), &axis);
	put_axis(h, &axis);
	html_put(h->out, "</div>");
	html_section_end(h);
}

static void put_in_full(struct html *h, struct json_object *start, struct json_object *trial,
			size_t i)
{
	char label[LABEL], loss[64];

	html_put(h->out, "<details><summary>%s: %s</summary>",
		 label_of(trial, i, label, sizeof(label)), loss_text(trial, loss, sizeof(loss)));
	html_path(h, start, trial);
	html_time(h, trial);
	html_books(h, trial);
	html_beside(h, trial);
	html_put(h->out, "</details>");
}

static const struct cost {
	const char *key, *name;
	char *(*text)(char *buf, size_t size, uint64_t value);
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

#define COSTS (sizeof(costs) / sizeof(costs[0]))

/* bit/s of payload that were received; "" if its size is not told. */
static char *payload_text(struct json_object *trial, char *buf, size_t size)
{
	double bytes = json_get_double(trial, "payload_bytes");

	*buf = '\0';
	return bytes > 0 ? fmt_bps(buf, size, json_get_double(trial, "rx_pps") * bytes * 8) : buf;
}

/* What is not 0 in any of them has no column. */
static void put_costs(struct html *h, struct json_object *trials)
{
	char label[LABEL], text[FMT_MAX];

	html_put(h->out, "<details><summary>time, calls, CPU, fragments</summary><div "
			 "class=\"scroll\"><table class=\"facts\"><thead><tr><th><th "
			 "class=\"n\">payload");
	for (unsigned k = 0; k < COSTS; k++) {
		if (html_sum(trials, costs[k].key))
			html_put(h->out, "<th class=\"n\">%s", costs[k].name);
	}
	html_put(h->out, "</thead><tbody>");
	for (size_t i = 0; i < html_length(trials) && i < BARS; i++) {
		struct json_object *trial = html_at(trials, i);

		html_put(h->out, "<tr><th>%s<td class=\"n\">%s",
			 label_of(trial, i, label, sizeof(label)),
			 payload_text(trial, text, sizeof(text)));
		for (unsigned k = 0; k < COSTS; k++) {
			if (html_sum(trials, costs[k].key))
				html_put(h->out, "<td class=\"n\">%s",
					 costs[k].text(text, sizeof(text),
						       json_get_u64(trial, costs[k].key)));
		}
	}
	html_put(h->out, "</tbody></table></div></details>");
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
	html_put(h->out, "<details><summary>each in full</summary>");
	for (size_t i = 0; i < html_length(trials) && i < IN_FULL; i++) {
		if (json_get_u64(html_at(trials, i), "attempted"))
			put_in_full(h, start, html_at(trials, i), i);
	}
	html_put(h->out, "</details>");
	html_section_end(h);
}
