// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/json.h"
#include "drops/stagemap.h"
#include "report/document.h"
#include "report/print.h"
#include "report/series.h"
#include "report/trials.h"
#include "traffic/tx.h"

#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

void text_counts(struct page *p, enum style style, const struct text_count *count, unsigned n)
{
	const struct text_count *last = count + n;

	while (last > count && !last[-1].count)
		last--;
	for (; count < last; count++) {
		if (count->count)
			page_words(p, style, "%s\v%s%s", page_count(count->count), count->name,
				   count + 1 < last ? "," : "");
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

/* Delays, if the receiver's clock could measure them, and how far the clocks of two hosts are
 * apart.
 */
static void put_latency(struct page *p, const struct result *res)
{
	const struct arrivals *a = &res->arrivals;
	const struct result_latency *l = &a->latency;
	const char *doubt = l->measured ? arrivals_clock_doubt(a) : NULL;
	const struct text_count at[] = {
		{l->min, "min"},    {l->p50, "p50"},	  {l->p90, "p90"}, {l->p99, "p99"},
		{l->p999, "p99.9"}, {l->p9999, "p99.99"}, {l->max, "max"}, {a->jitter_ns, "jitter"},
	};
	int64_t offset = res->clock.offset_ns;

	if (l->measured) {
		page_text(p, 0, STYLE_PLAIN, "latency         ");
		for (unsigned i = 0; i < LENGTH(at); i++)
			page_words(p, STYLE_PLAIN, "%s\v%s%s", at[i].name,
				   page_glue(page_ns(at[i].count)), i + 1 < LENGTH(at) ? "," : "");
		page_end(p);
	}
	if (doubt)
		page_line(p, 0, STYLE_WARN, "clocks          ", STYLE_WARN, "%s", doubt);
	if (!res->two_hosts)
		return;
	page_text(p, 0, STYLE_DIM, "clocks          ");
	page_words(p, STYLE_DIM, "the receiver's is %s %s, within %s;",
		   page_glue(page_ns((uint64_t)(offset < 0 ? -offset : offset))),
		   offset < 0 ? "behind" : "ahead", page_glue(page_ns(res->clock.error_ns)));
	page_words(p, STYLE_DIM,
		   res->clock.shared ? "said to be one"
				     : "no one-way delays without --shared-clock");
	page_end(p);
}

/* How what was lost lay together, and how far the displaced came too late: only if there are any.
 */
static void put_shapes(struct page *p, const struct arrivals *a)
{
	if (a->gaps.count)
		page_line(p, 0, STYLE_PLAIN, "gaps            ", STYLE_PLAIN,
			  "%s of %.1f packets in the mean, the longest of\v%s",
			  page_count(a->gaps.count),
			  (double)a->gaps.packets / (double)a->gaps.count,
			  page_count(a->gaps.longest));
	if (a->order.packets)
		page_line(p, 0, STYLE_PLAIN, "reordering      ", STYLE_PLAIN,
			  "extent up to %s\vpackets", page_count(a->order.extent_max));
}

static void put_beside(struct page *p, const struct result *res)
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

	put_latency(p, res);
	put_shapes(p, &res->arrivals);
	text_counts_line(p, "also seen       ", STYLE_PLAIN, seen, LENGTH(seen));
	text_counts_line(p, "fragments       ", STYLE_PLAIN, fragments, LENGTH(fragments));
	text_counts_line(p, "own losses      ", STYLE_WARN, own, LENGTH(own));
	if (l->suppressed)
		page_line(p, 0, STYLE_WARN, "suppressed      ", STYLE_WARN, "%s",
			  l->suppressed_evidence);
}

void text_findings(struct page *p, const struct json_object *end, int verbosity)
{
	for (size_t i = 0; verbosity >= 0 && i < json_get_length(end, "findings"); i++)
		page_finding(p, NULL, json_get_item(end, "findings", i), verbosity > 0);
}

#define CAUSES_SHOWN 4 /* of one stage, without -v */

/* A cause of all streams together. */
struct group {
	const struct result_cause *cause;
	uint64_t packets, first, last;
};

static bool same_cause(const struct result_cause *a, const struct result_cause *b)
{
	return a->hook == b->hook && a->direction == b->direction &&
	       !strcmp(a->reason, b->reason) && !strcmp(a->location, b->location) &&
	       !strcmp(a->ifname, b->ifname) && !strcmp(a->netns, b->netns) &&
	       !strcmp(a->host, b->host);
}

static int by_packets(const void *va, const void *vb)
{
	const struct group *a = va, *b = vb;

	if (a->packets != b->packets)
		return a->packets < b->packets ? 1 : -1;
	return a->cause < b->cause ? -1 : 1; /* groups differ in their first cause */
}

/* The causes of a stage, largest first. Returns how many. */
static unsigned group_causes(const struct result *res, enum stage stage,
			     struct group group[RESULT_CAUSES])
{
	unsigned n = 0, g;

	for (unsigned i = 0; i < res->n_causes; i++) {
		const struct result_cause *c = &res->cause[i];

		if (c->stage != stage)
			continue;
		for (g = 0; g < n && !same_cause(group[g].cause, c); g++)
			;
		if (g == n)
			group[n++] = (struct group){c, 0, c->first, c->last};
		group[g].packets += c->packets;
		if (c->first < group[g].first)
			group[g].first = c->first;
		if (c->last > group[g].last)
			group[g].last = c->last;
	}
	qsort(group, n, sizeof(*group), by_packets);
	return n;
}

static void put_cause(struct page *p, const struct group *g, int verbosity)
{
	const struct result_cause *c = g->cause;
	/* the drop site says more than a reason that is none, or none we know */
	bool located = verbosity > 0 || c->stage == STAGE_OTHER || !*c->reason ||
		       !strcmp(c->reason, "NOT_SPECIFIED");

	if (*c->reason)
		page_words(p, STYLE_PLAIN, "%s", c->reason);
	if (c->hook)
		page_words(p, STYLE_PLAIN, "%s\vhook", c->hook);
	if (*c->location && located)
		page_words(p, STYLE_PLAIN, "in\v%s", c->location);
	if (*c->netns || *c->ifname)
		page_words(p, STYLE_PLAIN, "%s%s%s", c->netns, *c->netns && *c->ifname ? "\v" : "",
			   c->ifname);
	if (*c->host)
		page_words(p, STYLE_PLAIN, "on\v%s", c->host);
	if (c->direction && !c->hook && strcmp(c->direction, c->netns))
		page_words(p, STYLE_PLAIN, "%s", c->direction);
	if (verbosity > 0) {
		page_break(p);
		page_words(p, STYLE_DIM, "numbers\v%" PRIu64 "-%" PRIu64, g->first, g->last);
		if (c->note)
			page_words(p, STYLE_DIM, "(%s)", c->note);
	}
}

/* `cause` stands already on this line, so that its namespace before the name need not be. */
static void put_counter(struct page *p, const struct result_counter *c,
			const struct result_cause *cause, unsigned more, bool note)
{
	size_t n = cause ? strlen(cause->netns) : 0;
	char name[sizeof(c->name)], others[16] = "";

	if (n && (strncmp(c->name, cause->netns, n) || c->name[n] != ' '))
		n = 0;
	snprintf(name, sizeof(name), "%s", c->name + n + (n > 0));
	page_glue(name);
	if (more)
		snprintf(others, sizeof(others), "\v+%u", more);
	if (c->agrees)
		page_words(p, STYLE_DIM, "=\v%s%s", name, others);
	else
		page_words(p, c->documented ? STYLE_WARN : STYLE_BAD, "%s\v%s %s,\vnot\v%s",
			   c->documented ? "~" : "!=", name, page_count(c->delta),
			   page_count(c->expected));
	if (c->agrees ? c->note && note : c->documented || c->note)
		page_words(p, STYLE_DIM, "(%s)", c->note ? c->note : "documented");
}

/*
 * All that disagree; of those that agree one, and how many more: one that knows these losses alone
 * says most, it has no note.
 */
static void put_counters(struct page *p, const struct result *res, enum stage stage,
			 const struct result_cause *cause, int verbosity)
{
	const struct result_counter *best = NULL, *end = res->counter + res->n_counters;
	unsigned agree = 0;

	for (const struct result_counter *c = res->counter; c < end; c++) {
		if (c->stage != stage || !c->agrees)
			continue;
		agree++;
		if (!best || (c->delta && !c->note && (!best->delta || best->note)))
			best = c;
	}
	if (best && verbosity < 1)
		put_counter(p, best, cause, agree - 1, false);
	for (const struct result_counter *c = res->counter; c < end; c++) {
		if (c->stage != stage || (verbosity < 1 && c->agrees))
			continue;
		if (verbosity > 0)
			page_break(p);
		put_counter(p, c, cause, 0, verbosity > 0);
	}
}

static void put_stage(struct page *p, const struct result *res, enum stage stage, int verbosity,
		      struct group group[RESULT_CAUSES])
{
	unsigned n = group_causes(res, stage, group);
	const struct result_stage *s = &res->stage[stage];

	page_row(p, STYLE_BOLD, 2, stage_name(stage), s->packets, s->packets ? res->sent : 0);
	if (n == 1)
		put_cause(p, &group[0], verbosity);
	else if (n)
		page_words(p, STYLE_PLAIN, "%u causes", n);
	if (s->source && strcmp(s->source, "event"))
		page_words(p, STYLE_WARN, "known by %s only", s->source);
	put_counters(p, res, stage, n == 1 ? group[0].cause : NULL, verbosity);
	page_end(p);
	for (unsigned i = 0; n > 1 && i < n; i++) {
		if (i == CAUSES_SHOWN && n > CAUSES_SHOWN + 1 && verbosity < 1) {
			page_words(p, STYLE_DIM, "and %u more (-v shows all)", n - i);
			page_end(p);
			break;
		}
		page_row(p, STYLE_PLAIN, 2, "", group[i].packets, res->sent);
		put_cause(p, &group[i], verbosity);
		page_end(p);
	}
}

static void put_engine(struct page *p, const char *name, const char *mode)
{
	page_words(p, STYLE_BOLD, "%s", name);
	if (*mode)
		page_words(p, STYLE_PLAIN, "(%s)", mode);
}

static void put_port(struct page *p, const struct header_port *port, const char *host)
{
	page_words(p, STYLE_PLAIN, "%s%s%s", port->role, *port->ifname ? "\v" : "", port->ifname);
	if (*host)
		page_words(p, STYLE_PLAIN, "on\v%s", host);
	if (*port->address)
		page_words(p, STYLE_PLAIN, "%s", port->address);
}

static void put_header(struct page *p, const struct run_header *h)
{
	p->indent = 0;
	put_engine(p, h->tx, h->tx_mode);
	page_words(p, STYLE_BOLD, "->");
	put_engine(p, h->rx, h->rx_mode);
	if (h->mean_frame_bytes > 0)
		page_words(p, STYLE_PLAIN, "| up to %u bytes a frame, %.0f on average |",
			   h->frame_bytes, h->mean_frame_bytes);
	else
		page_words(p, STYLE_PLAIN, "| %u bytes of payload, %u a frame |", h->payload_bytes,
			   h->frame_bytes);
	if (h->rate_pps > 0)
		page_words(p, STYLE_PLAIN, "%s", page_rate(h->rate_pps));
	else
		page_words(p, STYLE_PLAIN, "unthrottled");
	if (h->threads > 1)
		page_words(p, STYLE_PLAIN, "| %u\vthreads", h->threads);
	if (h->flows > 1)
		page_words(p, STYLE_PLAIN, "| %u\vflows", h->flows);
	page_end(p);
	put_port(p, &h->tx_port, h->tx_host.name);
	if (lab_middle(h->topology))
		page_words(p, STYLE_PLAIN, "-> %s ->", lab_middle(h->topology));
	else
		page_words(p, STYLE_PLAIN, "->");
	put_port(p, &h->rx_port, h->rx_host.name);
	page_words(p, STYLE_PLAIN, "port\v%u", h->port);
	if (h->faults)
		page_words(p, STYLE_WARN, "| fault\v%s", h->faults);
	page_end(p);
	page_end(p);
}

static void put_refused(struct page *p, const struct result *res)
{
	struct text_count by[RESULT_ERRNOS];

	for (unsigned i = 0; i < res->n_refused_by; i++) {
		const struct result_errno *e = &res->refused_by[i];
		const char *name = e->error == TX_ERRNO_LOST ? NULL : strerrorname_np(e->error);

		by[i] = (struct text_count){e->packets, name ? name : "unknown"};
	}
	page_row(p, STYLE_PLAIN, 0, "refused", res->refused, 0);
	text_counts(p, STYLE_PLAIN, by, res->n_refused_by);
	page_end(p);
}

static void put_sent(struct page *p, const struct result *res)
{
	page_row(p, STYLE_PLAIN, 0, "sent", res->sent, 0);
	if (res->duration_ns)
		page_words(p, STYLE_PLAIN, "%s in %s", page_glue(page_rate(res->tx_pps)),
			   page_glue(page_ns(res->duration_ns)));
	if (res->waits)
		page_words(p, STYLE_DIM, "(%s\vwaits, %s)", page_count(res->waits),
			   page_glue(page_ns(res->wait_ns)));
	if (res->slipped_ns)
		page_words(p, STYLE_WARN, "|\v%s\vbehind\vschedule",
			   page_glue(page_ns(res->slipped_ns)));
	if (res->held_ns)
		page_words(p, STYLE_WARN, "|\vheld\vback\vfor\v%s,\vas\vnumbers\vhad\vto\vsettle",
			   page_glue(page_ns(res->held_ns)));
	if (res->deliberate.asked) /* faults of traffic/shape.h */
		page_words(p, STYLE_DIM, "|\von\vpurpose: %s\vtwice, %s\vlate, %s\vleft\vout",
			   page_count(res->deliberate.duplicates),
			   page_count(res->deliberate.reordered), page_count(res->deliberate.gaps));
	page_end(p);
}

static void put_open(struct page *p, const struct result *res)
{
	const struct text_count seen[] = {
		{res->unaccounted_seen[0], "nowhere"},
		{res->unaccounted_seen[SEEN_TX_DEVICE], "tx\vdevice"},
		{res->unaccounted_seen[SEEN_XDP], "xdp"},
		{res->unaccounted_seen[SEEN_RX_DEVICE], "rx\vdevice"},
		{res->unaccounted_seen[SEEN_SOCKET], "socket"},
	};

	page_row(p, res->in_flight ? STYLE_BAD : STYLE_PLAIN, 0, "in flight", res->in_flight,
		 res->in_flight ? res->sent : 0);
	if (res->in_flight)
		page_words(p, STYLE_PLAIN, "%s", res->in_flight_where);
	page_end(p);
	page_row(p, res->unaccounted ? STYLE_BAD : STYLE_PLAIN, 0, "unaccounted", res->unaccounted,
		 res->unaccounted ? res->sent : 0);
	if (res->unaccounted)
		page_words(p, STYLE_PLAIN, "last\vseen:");
	if (res->unaccounted)
		text_counts(p, STYLE_PLAIN, seen, LENGTH(seen));
	page_end(p);
	if (!res->impossible)
		return;
	page_row(p, STYLE_BAD, 0, "impossible", res->impossible, 0);
	page_words(p, STYLE_PLAIN, "fates of numbers never sent");
	page_end(p);
}

static void put_ledger(struct page *p, const struct result *res, int verbosity)
{
	struct group *group = calloc(RESULT_CAUSES, sizeof(*group));

	page_row(p, STYLE_PLAIN, 0, "attempted", res->attempted, 0);
	page_end(p);
	put_refused(p, res);
	put_sent(p, res);
	for (int s = 0; group && s < STAGE_COUNT; s++) {
		if (res->stage[s].packets || result_disagrees(res, s))
			put_stage(p, res, s, verbosity, group);
	}
	page_row(p, STYLE_BOLD, 0, "delivered", res->delivered, res->sent);
	if (res->rx_pps > 0)
		page_words(p, STYLE_PLAIN, "%s", page_rate(res->rx_pps));
	page_end(p);
	put_open(p, res);
	free(group);
}

static void put_verdict(struct page *p, const struct run_header *head, const struct result *res)
{
	unsigned disagree = 0;

	for (unsigned i = 0; i < res->n_counters; i++)
		disagree += !res->counter[i].agrees && !res->counter[i].documented;
	p->indent = 0;
	if (res->balanced)
		page_words(p, STYLE_GOOD, "balanced:");
	else
		page_words(p, STYLE_BAD, "NOT BALANCED:");
	if (res->balanced)
		page_words(p, STYLE_PLAIN, "every packet sent has its place.");
	else if (!res->unaccounted && !res->in_flight && !res->impossible)
		page_words(p, STYLE_BAD, "ledgers are missing, or not whole.");
	else
		page_words(p, STYLE_BAD, "%s unaccounted, %s in flight, %s impossible.",
			   page_count(res->unaccounted), page_count(res->in_flight),
			   page_count(res->impossible));
	if (disagree)
		page_words(p, STYLE_BAD, "%u %s of the kernel disagree%s (!=).", disagree,
			   disagree == 1 ? "counter" : "counters", disagree == 1 ? "s" : "");
	if (disagree && (*head->lab || !head->in_lab))
		page_words(p, STYLE_PLAIN, "Traffic of others counts there, too.");
	if (res->interrupted)
		page_words(p, STYLE_WARN, "Interrupted: this is the ledger of what was sent.");
	page_end(p);
}

void text_run(const struct print_view *v, const struct json_object *start,
	      const struct json_object *end, unsigned parts)
{
	struct result *res = calloc(1, sizeof(*res));
	struct run_header head;
	struct page p;

	if (!res)
		return;
	json_read_start(start, &head);
	json_read_end(end, res);
	p = print_page(v, res->attempted);
	p.width = PAGE_WIDTH;
	if (parts & TEXT_HEADER)
		put_header(&p, &head);
	if (parts & TEXT_LEDGER)
		put_ledger(&p, res, v->verbosity);
	if (parts & TEXT_BESIDE)
		put_beside(&p, res);
	if (parts & TEXT_VERDICT)
		put_verdict(&p, &head, res);
	if (parts & TEXT_FINDINGS)
		text_findings(&p, end, v->verbosity);
	free(res);
}

void text_found_trial(FILE *out, unsigned number, const struct json_object *trial)
{
	const struct json_object *of = json_get(trial, "parameters");
	const double rate = json_get_double(of, "rate_pps");
	const char *where = trials_worst_stage(trial);
	char phase[16], lost[32];

	if (number == 1)
		fprintf(out, "%5s  %-8s %14s %9s %10s %12s  %s\n", "trial", "", "rate", "time",
			"lost", "unsent", "where");
	snprintf(phase, sizeof(phase), "%s", json_get_text(of, "phase"));
	snprintf(lost, sizeof(lost), "%.4f %%", json_get_double(trial, "loss_share") * 100);
	fprintf(out, "%5u  %-8s %14s %9s %10s %12s%s%s\n", number, utf8_tame(phase),
		rate > 0 ? page_rate(rate) : "full speed",
		page_time(json_get_u64(of, "duration_ns")), lost,
		page_count(json_get_u64(trial, "unsent")), *where ? "  " : "", where);
}

const char *found_culprit(const struct json_object *rate)
{
	const char *limit = json_get_text(rate, "limited_by");
	enum stage stage = rows_stage(json_get_text(rate, "stage"));

	if (!strcmp(limit, "generator"))
		return "the generator";
	if (!strcmp(limit, "send_queue"))
		return "the sender's queue, its device takes no more";
	return stage == STAGE_NONE ? "" : stage_name(stage);
}

static void print_mrr(FILE *out, const struct json_object *rate)
{
	double lower = json_get_double(rate, "lower_pps"),
	       upper = json_get_double(rate, "upper_pps");
	const char *culprit = found_culprit(rate);

	fprintf(out, "MRR %s got through at the highest rate%s%s",
		page_rate(json_get_double(rate, "throughput_pps")), *culprit ? ": " : "", culprit);
	if (upper > lower)
		fprintf(out, "  (median; lowest %s, highest %s)", page_rate(lower),
			page_rate(upper));
	fputc('\n', out);
}

static void print_goal(FILE *out, const char *name, const struct json_object *rate,
		       const char *highest)
{
	const bool has_lower = json_get(rate, "lower_pps"), has_upper = json_get(rate, "upper_pps");
	const char *lower = page_rate(json_get_double(rate, "lower_pps"));
	const char *upper = page_rate(json_get_double(rate, "upper_pps"));
	double loss_ratio = json_get_double(rate, "loss_ratio");

	if (has_lower && has_upper)
		fprintf(out, "%s %s held, %s did not", name, lower, upper);
	else if (has_lower)
		fprintf(out, "%s %s held, the highest rate that %s", name, lower, highest);
	else if (has_upper)
		fprintf(out, "%s below %s, which was too much", name, upper);
	else
		fprintf(out, "%s nothing is known yet", name);
	if (has_upper && *found_culprit(rate))
		fprintf(out, ": %s", found_culprit(rate));
	if (loss_ratio > 0)
		fprintf(out, "  (up to %g %% lost)", loss_ratio * 100);
	fprintf(out, "%s\n", json_get_bool(rate, "done") ? "" : "  (not finished)");
}

void text_found(FILE *out, const struct json_object *end)
{
	const bool held_back = json_get_bool(end, "held_back");
	const bool generator = json_get_bool(end, "generator_limited");
	const char *highest = held_back	  ? "the sender's device takes"
			      : generator ? "this host generates"
					  : "was asked for";

	fprintf(out, "\n");
	if (json_get(end, "ndr"))
		print_goal(out, "NDR", json_get(end, "ndr"), highest);
	if (json_get(end, "pdr"))
		print_goal(out, "PDR", json_get(end, "pdr"), highest);
	if (json_get(end, "mrr"))
		print_mrr(out, json_get(end, "mrr"));
	fprintf(out, "%u trials between %s and %s", (unsigned)json_get_u64(end, "trials"),
		page_rate(json_get_double(end, "min_rate_pps")),
		page_rate(json_get_double(end, "max_rate_pps")));
	if (held_back || generator)
		fprintf(out, " (what %s)", highest);
	fprintf(out, ", frames of %u bytes, in %s\n", (unsigned)json_get_u64(end, "frame_bytes"),
		page_ns(json_get_u64(end, "duration_ns")));
}

void text_found_spread(FILE *out, const struct json_object *end)
{
	for (unsigned g = 0; g < FOUND_GOALS; g++) {
		const struct json_object *all =
			json_get(json_get(end, "lower_pps_of_all"), found_goals[g]);
		unsigned n = 0;
		char title[40];

		for (struct json_each f = json_each(end, "searches"); json_next(&f);) {
			const struct json_object *rate = json_get(f.item, found_goals[g]);

			n += json_get(rate, "lower_pps") && json_get_bool(rate, "done");
		}
		snprintf(title, sizeof(title), "%s of %u searches", found_goals[g], n);
		if (all)
			trials_print_spread(out, title, trials_summary_read(all), "searches");
	}
}

/* Of send and recv, a sentence behind its count. */
static void put_line(struct page *p, unsigned indent, const char *what, uint64_t n,
		     const char *more)
{
	page_row(p, STYLE_PLAIN, indent, what, n, 0);
	p->indent = 34;
	if (*more)
		page_verbatim(p, more);
	page_end(p);
}

static void put_line_if(struct page *p, const char *what, uint64_t n)
{
	if (n)
		put_line(p, 0, what, n, "");
}

static void put_causes(struct page *p, const struct result *res)
{
	for (unsigned i = 0; i < res->n_causes; i++) {
		const struct result_cause *c = &res->cause[i];
		char more[320];

		snprintf(more, sizeof(more), "%s %s", c->reason, c->ifname);
		put_line(p, 2, stage_name(c->stage), c->packets, more);
	}
}

static void put_send(struct page *p, const struct result *res)
{
	char more[2 * FMT_MAX + 8];

	put_line(p, 0, "attempted", res->attempted, "");
	put_line(p, 0, "refused", res->refused, "");
	for (unsigned i = 0; i < res->n_refused_by; i++) {
		const char *name = strerrorname_np(res->refused_by[i].error);

		put_line(p, 0, "", res->refused_by[i].packets,
			 name ? name : "(sendmmsg did not say)");
	}
	snprintf(more, sizeof(more), "%s in %s", page_rate(res->tx_pps), page_ns(res->duration_ns));
	put_line(p, 0, "sent", res->sent, more);
	if (res->deliberate.asked) {
		put_line(p, 0, "sent twice", res->deliberate.duplicates, "on purpose");
		put_line(p, 0, "sent late", res->deliberate.reordered, "on purpose");
		put_line(p, 0, "left out", res->deliberate.gaps, "on purpose, not attempted");
	}
	put_causes(p, res);
	put_line(p, 0, "left this host", res->sent - res->dropped, "");
	put_line_if(p, "waits", res->waits);
}

static void put_delays(struct page *p, const struct arrivals *a)
{
	const struct result_latency *l = &a->latency;
	const char *doubt = arrivals_clock_doubt(a);

	if (a->gaps.count)
		page_line(p, 0, STYLE_PLAIN, "", STYLE_PLAIN,
			  "gaps %" PRIu64 ", the longest of %" PRIu64 " packets", a->gaps.count,
			  a->gaps.longest);
	if (a->order.packets)
		page_line(p, 0, STYLE_PLAIN, "", STYLE_PLAIN,
			  "reordering extent up to %" PRIu64 " packets", a->order.extent_max);
	if (l->measured)
		page_line(p, 0, STYLE_PLAIN, "", STYLE_PLAIN,
			  "delay p50 %s, p99 %s, p99.99 %s, highest %s, jitter %s (" ARRIVALS_CLOCK
			  " of both ends)",
			  page_ns(l->p50), page_ns(l->p99), page_ns(l->p9999), page_ns(l->max),
			  page_ns(a->jitter_ns));
	if (doubt)
		page_line(p, 0, STYLE_PLAIN, "", STYLE_PLAIN, "do not trust the delay: %s", doubt);
}

static void put_recv(struct page *p, const struct recv_result *r)
{
	const struct result *res = &r->res;

	put_line(p, 0, "received", r->received, "");
	put_line(p, 0, "delivered", res->delivered, page_rate(res->rx_pps));
	put_line(p, 0, "lost", r->lost,
		 r->tail_known ? "" : "or more: the end of a stream was not told");
	put_causes(p, res);
	if (!p->html) { /* which has more of it beside the ledger */
		put_line_if(p, "duplicated", res->duplicated);
		put_line_if(p, "reordered", res->arrivals.order.packets);
		put_line_if(p, "late", res->late);
		put_line_if(p, "damaged", res->damaged);
		put_line_if(p, "invalid", res->invalid);
		put_delays(p, &res->arrivals);
	}
	if (!r->streams)
		page_line(p, 0, STYLE_PLAIN, "", STYLE_PLAIN,
			  "no packet with a stamp of pktledger came");
}

void text_solo(const struct print_view *v, const struct json_object *end)
{
	struct recv_result *r = calloc(1, sizeof(*r));
	struct page p = print_page(v, 0);

	if (!r)
		return;
	p.width = UINT_MAX;
	p.count_width = 16;
	json_read_recv_end(end, r);
	if (json_get(end, "received"))
		put_recv(&p, r);
	else
		put_send(&p, &r->res);
	free(r);
}
