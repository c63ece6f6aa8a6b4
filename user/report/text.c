// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/json.h"
#include "base/mem.h"
#include "drops/stagemap.h"
#include "report/document.h"
#include "report/print.h"
#include "report/series.h"
#include "traffic/tx.h"

/*
 * Prints latency if the receiver's clock could measure it, and the offset between two hosts'
 * clocks.
 */
static void put_latency(struct page *p, const struct result *r)
{
	const struct result_latency *l = &r->arrivals.latency;
	const char *doubt = arrivals_clock_doubt(&r->arrivals);
	const int64_t offset = r->clock.offset_ns;

	if (l->measured)
		page_line(p, 0, STYLE_PLAIN, "latency         ", STYLE_PLAIN,
			  "min\v%s, p50\v%s, p90\v%s, p99\v%s, p99.9\v%s, p99.99\v%s, max\v%s, jitter\v%s",
			  page_ns(l->min), page_ns(l->p50), page_ns(l->p90), page_ns(l->p99),
			  page_ns(l->p999), page_ns(l->p9999), page_ns(l->max),
			  page_ns(r->arrivals.jitter_ns));
	if (l->measured && doubt)
		page_line(p, 0, STYLE_WARN, "clocks          ", STYLE_WARN, "%s", doubt);
	if (r->two_hosts)
		page_line(p, 0, STYLE_DIM, "clocks          ", STYLE_DIM,
			  "the receiver's is %s %s, within %s; %s",
			  page_ns(offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset),
			  offset < 0 ? "behind" : "ahead", page_ns(r->clock.error_ns),
			  r->clock.shared ? "said to be one"
					  : "no one-way latency without --shared-clock");
}

/* Prints the latency breakdown: first each part of the path, then the whole path. */
static void put_legs(struct page *p, const struct arrivals *a)
{
	static const char *const points[RESULT_POINTS] = {"send call", "tx interface", "rx interface",
							  "socket", "receiver"};
	static const struct page_column columns[] = {
		{"latency breakdown", 29, false},
		{"packets", 10, true},
		{"mean", 8, true},
		{"p50", 8, true},
		{"p99", 8, true},
		{"p99.99", 8, true},
		{"max", 8, true},
		{0},
	};

	if (!a->legs)
		return;
	p->indent = 0;
	page_table(p, columns);
	p->indent = 2;
	for (const struct result_leg *leg = a->leg; leg < a->leg + a->legs; leg++) {
		const struct result_latency *l = &leg->latency;
		const uint64_t ns[] = {leg->mean_ns, l->p50, l->p99, l->p9999, l->max};
		char name[64];

		snprintf(name, sizeof(name), "%s - %s", points[leg->from], points[leg->to]);
		page_cell(p, STYLE_PLAIN, name);
		page_cell(p, STYLE_PLAIN, fmt_count(leg->packets));
		for (unsigned i = 0; i < LENGTH(ns); i++)
			page_cell(p, STYLE_PLAIN, fmt_ns(ns[i]));
		page_end(p);
	}
	p->indent = 0;
	page_end(p);
}

/* Prints the arrival times that the kernel reported, and how long packets then waited for a CPU. */
static void put_stamps(struct page *p, const struct result_stamps *s)
{
	if (!s->asked)
		return;
	page_text(p, 0, STYLE_PLAIN, "timestamps      ");
	page_words(p, STYLE_PLAIN, "%s, of %s%s", s->kind == STAMPED_BY_NONE ? "none" : "software",
		   page_many(s->packets, "packet"), s->backlog.measured ? ";" : "");
	if (s->backlog.measured)
		page_words(p, STYLE_PLAIN, "from\vthere to\vrx interface\vp50 %s, p99 %s, max %s",
			   page_ns(s->backlog.p50), page_ns(s->backlog.p99),
			   page_ns(s->backlog.max));
	page_end(p);
}

static void put_beside(struct page *p, const struct result *r)
{
	const struct arrivals *a = &r->arrivals;
	const struct result_losses *l = &r->losses;
	const struct page_sum seen[] = {
		{r->duplicated, "duplicated"}, {a->order.packets, "reordered"},
		{r->late, "late"},	       {r->damaged, "damaged"},
		{r->invalid, "invalid"},       {r->foreign, "of unknown streams"},
		{r->replies, "ICMP reply|ICMP replies"},
	};
	const struct page_sum fragments[] = {
		{r->fragments.made, "made"},
		{r->fragments.seen, "seen at the receiver"},
		{r->fragments.dropped, "dropped"},
		{r->fragments.abandoned, "abandoned"},
		{r->fragments.unmatched, "without a number"},
		{r->fragments.made ? r->reassembled : 0,
		 "datagram put together|datagrams put together"},
	};
	const struct page_sum own[] = {
		{l->causes_full, "without a free entry for their cause"},
		{l->stamp_unreadable, "with an unreadable header"},
		{l->recursion_misses, "event missed by recursion|events missed by recursion"},
		{l->cell_empty, "XDP loss without a number|XDP losses without a number"},
		{l->gso_split,
		 "GRO packet with gaps in its numbers|GRO packets with gaps in their numbers"},
	};

	put_latency(p, r);
	put_legs(p, a);
	put_stamps(p, &a->stamps);
	/* sizes of loss bursts, and how late reordered packets were */
	if (a->gaps.count)
		page_line(p, 0, STYLE_PLAIN, "loss bursts     ", STYLE_PLAIN,
			  "%s, %.1f packets on average, the longest\v%s",
			  fmt_count(a->gaps.count), (double)a->gaps.packets / (double)a->gaps.count,
			  fmt_count(a->gaps.longest));
	if (a->order.packets)
		page_line(p, 0, STYLE_PLAIN, "reordering      ", STYLE_PLAIN, "extent up to %s",
			  page_many(a->order.extent_max, "packet"));
	page_sums(p, "also seen       ", STYLE_PLAIN, seen, LENGTH(seen));
	if (r->invalid && (r->unaccounted || r->stage[STAGE_WIRE].packets))
		page_line(p, 0, STYLE_WARN, "invalid         ", STYLE_WARN,
			  "%s arrived at this port without a valid header: lost packets may be "
			  "among them",
			  page_many(r->invalid, "datagram"));
	page_sums(p, "fragments       ", STYLE_PLAIN, fragments, LENGTH(fragments));
	page_sums(p, "missed events   ", STYLE_WARN, own, LENGTH(own));
	if (l->suppressed)
		page_line(p, 0, STYLE_WARN, "suppressed      ", STYLE_WARN, "%s",
			  l->suppressed_evidence);
}

#define FINDINGS_SHOWN 3 /* findings shown without -v */

void text_findings(struct page *p, const struct finding *f, unsigned n, bool all)
{
	const unsigned most = all || n <= FINDINGS_SHOWN + 1 ? n : FINDINGS_SHOWN;

	for (unsigned i = 0; i < most; i++) {
		struct json_object *finding = json_finding(&f[i]);

		page_finding(p, NULL, finding);
		json_object_put(finding);
	}
	if (most < n)
		page_line(p, 0, STYLE_DIM, "", STYLE_DIM, "%s more: -v shows them",
			  fmt_many(n - most, "finding"));
}

#define CAUSES_SHOWN 4 /* causes shown per stage without -v */

static int texts_differ(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Sums a stage's causes over all streams, largest first. Returns how many there are. */
static unsigned group_causes(const struct result *r, enum stage stage,
			     struct result_cause group[RESULT_CAUSES])
{
	unsigned n = 0, g;

	for (const struct result_cause *c = r->cause; c < r->cause + r->n_causes; c++) {
		if (c->stage != stage)
			continue;
		for (g = 0; g < n; g++) {
			const struct result_cause *o = &group[g];

			if (!strcmp(o->reason, c->reason) && !strcmp(o->location, c->location) &&
			    !strcmp(o->ifname, c->ifname) && !strcmp(o->netns, c->netns) &&
			    !strcmp(o->host, c->host) && !texts_differ(o->hook, c->hook) &&
			    !texts_differ(o->direction, c->direction))
				break;
		}
		if (g == n) {
			group[n] = *c;
			group[n++].packets = 0;
		}
		group[g].packets += c->packets;
		group[g].first = smaller(group[g].first, c->first);
		group[g].last = larger(group[g].last, c->last);
	}
	for (unsigned i = 1; i < n; i++) { /* stable sort */
		const struct result_cause one = group[i];

		for (g = i; g && group[g - 1].packets < one.packets; g--)
			group[g] = group[g - 1];
		group[g] = one;
	}
	return n;
}

static void put_cause(struct page *p, const struct result_cause *c, int verbosity)
{
	/* the drop site says more than a missing or unknown reason */
	bool located = verbosity > 0 || c->stage == STAGE_OTHER || !*c->reason ||
		       !strcmp(c->reason, "NOT_SPECIFIED");

	page_words(p, STYLE_PLAIN, "%s", c->reason);
	if (c->hook)
		page_words(p, STYLE_PLAIN, "%s\vhook", c->hook);
	if (located && *c->location)
		page_words(p, STYLE_PLAIN, "in\v%s", c->location);
	page_words(p, STYLE_PLAIN, *c->netns && *c->ifname ? "%s\v%s" : "%s%s", c->netns, c->ifname);
	if (*c->host)
		page_words(p, STYLE_PLAIN, "on\v%s", c->host);
	if (!c->hook && texts_differ(c->direction, c->netns))
		page_words(p, STYLE_PLAIN, "%s", c->direction ? c->direction : "");
	if (verbosity > 0) {
		page_break(p);
		page_words(p, STYLE_DIM, "numbers\v%" PRIu64 "-%" PRIu64, c->first, c->last);
		if (c->note)
			page_words(p, STYLE_DIM, "(%s)", c->note);
	}
}

/* Prints a counter. `netns` is already shown on this line, so it is not repeated. */
static void put_counter(struct page *p, const struct result_counter *c, const char *netns,
			bool details)
{
	const char *delta = fmt_count(c->delta), *note = c->note ? c->note : "";
	const size_t n = strlen(netns);
	const bool known = n && !strncmp(c->name, netns, n) && c->name[n] == ' ';
	char name[sizeof(c->name)];

	snprintf(name, sizeof(name), "%s", c->name + (known ? n + 1 : 0));
	page_glue(name);
	if (!c->agrees)
		page_words(p, c->documented ? STYLE_WARN : STYLE_BAD, "%s\v+%s,\vexpected\v+%s",
			   name, delta, fmt_count(c->expected));
	else if (details)
		page_words(p, STYLE_DIM, "%s\v+%s", name, delta);
	else
		page_words(p, STYLE_DIM, "(%s\vagrees)", name);
	if (c->agrees ? *note && details : c->documented || *note)
		page_words(p, STYLE_DIM, "(%s)", *note ? note : "documented");
}

/* Prints the counters that disagree and how many agree, or all counters in detail. */
static void put_counters(struct page *p, const struct result *r, enum stage stage,
			 const char *netns, int verbosity)
{
	const struct result_counter *one = NULL;
	unsigned agree = 0;

	for (const struct result_counter *c = r->counter; c < r->counter + r->n_counters; c++) {
		if (c->stage != stage)
			continue;
		if (verbosity > 0) {
			page_break(p);
			put_counter(p, c, netns, true);
		} else if (!c->agrees) {
			put_counter(p, c, netns, false);
		} else if (!agree++) {
			one = c;
		}
	}
	if (agree == 1)
		put_counter(p, one, netns, false);
	else if (agree)
		page_words(p, STYLE_DIM, "(%u\vcounters\vagree)", agree);
}

static void put_stage(struct page *p, const struct result *r, enum stage stage, int verbosity)
{
	struct result_cause *group = mem_zero(RESULT_CAUSES, sizeof(*group));
	const struct result_stage *sums = &r->stage[stage];
	unsigned n = group_causes(r, stage, group);

	page_row(p, STYLE_BAD, 2, stage_name(stage), sums->packets, sums->packets ? r->sent : 0);
	if (n == 1)
		put_cause(p, &group[0], verbosity);
	else if (n)
		page_words(p, STYLE_PLAIN, "%u causes", n);
	if (sums->source && strcmp(sums->source, "event"))
		page_words(p, STYLE_WARN, "known by %s only", sums->source);
	put_counters(p, r, stage, n == 1 ? group[0].netns : "", verbosity);
	page_end(p);
	for (unsigned i = 0; n > 1 && i < n; i++) {
		if (i == CAUSES_SHOWN && n > CAUSES_SHOWN + 1 && verbosity < 1) {
			page_words(p, STYLE_DIM, "and %u more (-v shows all)", n - i);
			page_end(p);
			break;
		}
		page_row(p, STYLE_PLAIN, 2, "", group[i].packets, r->sent);
		put_cause(p, &group[i], verbosity);
		page_end(p);
	}
	free(group);
}

static void put_port(struct page *p, const struct header_port *port, const char *host)
{
	page_words(p, STYLE_PLAIN, *port->ifname ? "%s\v%s" : "%s%s", port->role ? port->role : "",
		   port->ifname);
	if (*host)
		page_words(p, STYLE_PLAIN, "on\v%s", host);
	page_words(p, STYLE_PLAIN, "%s", port->address);
}

static void put_engine(struct page *p, const char *name, const char *mode)
{
	page_words(p, STYLE_BOLD, "%s", name ? name : "");
	if (*mode)
		page_words(p, STYLE_PLAIN, "(%s)", mode);
}

static void put_header(struct page *p, const struct run_header *h)
{
	const char *middle = h->in_lab && h->topology == LAB_ROUTER ? "-> router ->"
			     : h->in_lab && h->topology == LAB_BRIDGE ? "-> bridge ->"
								      : "->";

	p->indent = 0;
	put_engine(p, h->tx, h->tx_mode);
	page_words(p, STYLE_BOLD, "->");
	put_engine(p, h->rx, h->rx_mode);
	if (h->mean_frame_bytes > 0)
		page_words(p, STYLE_PLAIN, "| frames up to %u bytes, %.0f on average |",
			   h->frame_bytes, h->mean_frame_bytes);
	else
		page_words(p, STYLE_PLAIN, "| %u-byte payload, %u-byte frames |", h->payload_bytes,
			   h->frame_bytes);
	page_words(p, STYLE_PLAIN, "%s", h->rate_pps > 0 ? page_pps(h->rate_pps) : "unthrottled");
	if (h->streams > 1)
		page_words(p, STYLE_PLAIN, "| %u\vthreads", h->streams);
	if (h->flows > 1)
		page_words(p, STYLE_PLAIN, "| %u\vflows", h->flows);
	page_end(p);
	put_port(p, &h->tx_port, h->two_hosts ? h->tx_host.name : "");
	page_words(p, STYLE_PLAIN, "%s", middle);
	put_port(p, &h->rx_port, h->two_hosts ? h->rx_host.name : "");
	page_words(p, STYLE_PLAIN, "port\v%u", h->port);
	if (h->faults)
		page_words(p, STYLE_WARN, "| fault\v%s", h->faults);
	page_end(p);
	page_end(p);
}

static void put_refused(struct page *p, const struct result *r)
{
	struct page_sum by[RESULT_ERRNOS];

	for (unsigned i = 0; i < r->n_refused_by; i++)
		by[i] = (struct page_sum){r->refused_by[i].packets,
					  json_errno(r->refused_by[i].error)};
	page_row(p, STYLE_PLAIN, 0, "refused", r->refused, 0);
	page_sums(p, NULL, STYLE_PLAIN, by, r->n_refused_by);
	page_end(p);
}

/* Prints the limit that kept the requested rate from being reached. */
static void put_bound(struct page *p, const char *bound)
{
	if (bound)
		page_line(
			p, 0, STYLE_WARN, "not reached: ", STYLE_PLAIN, "%s",
			!strcmp(bound, "generator")
				? "the generator is at its limit on this host; -P has more threads, --tx "
				  "other engines"
			: !strcmp(bound, "interface")
				? "the interface, or a queue in front of it, accepts no more"
				: "the receiver is slower, so the sender waited until numbers were "
				  "resolved");
}

static void put_sent(struct page *p, const struct result *r)
{
	page_row(p, STYLE_PLAIN, 0, "sent", r->sent, 0);
	if (r->duration_ns)
		page_words(p, STYLE_PLAIN, "%s in %s", page_pps(r->tx_pps), page_ns(r->duration_ns));
	if (r->waits)
		page_words(p, STYLE_DIM, "(%s, %s)", page_many(r->waits, "wait"),
			   page_ns(r->wait_ns));
	if (r->slipped_ns)
		page_words(p, STYLE_WARN, "|\v%s\vbehind\vschedule", page_ns(r->slipped_ns));
	if (r->late_ns >= PACE_DEPTH_NS)
		page_words(p, STYLE_DIM, "|\v%s\vlate\vat\vmost,\vrecovered", page_ns(r->late_ns));
	if (r->held_ns)
		page_words(p, STYLE_WARN,
			   "|\vheld\vback\vfor\v%s,\vuntil\vnumbers\vwere\vresolved",
			   page_ns(r->held_ns));
	page_end(p);
}

static void put_open(struct page *p, const struct result *r)
{
	const struct page_sum seen[] = {
		{r->unaccounted_seen[0], "nowhere"},
		{r->unaccounted_seen[SEEN_TX_DEVICE], "tx\vdevice"},
		{r->unaccounted_seen[SEEN_XDP], "xdp"},
		{r->unaccounted_seen[SEEN_RX_DEVICE], "rx\vdevice"},
		{r->unaccounted_seen[SEEN_SOCKET], "socket"},
	};

	page_row(p, r->in_flight ? STYLE_BAD : STYLE_PLAIN, 0, "in flight", r->in_flight,
		 r->in_flight ? r->sent : 0);
	if (r->in_flight)
		page_words(p, STYLE_PLAIN, "%s", r->in_flight_where);
	page_end(p);
	page_row(p, r->unaccounted ? STYLE_BAD : STYLE_PLAIN, 0, "unaccounted", r->unaccounted,
		 r->unaccounted ? r->sent : 0);
	if (r->unaccounted) {
		page_words(p, STYLE_PLAIN, "last\vseen:");
		page_sums(p, NULL, STYLE_PLAIN, seen, LENGTH(seen));
	}
	page_end(p);
	if (r->impossible)
		page_entry(p, STYLE_BAD, 0, "impossible", r->impossible, 0,
			   "outcomes of numbers never sent");
}

static void put_stages(struct page *p, const struct result *r, int verbosity)
{
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (r->stage[s].packets || result_disagrees(r, s))
			put_stage(p, r, s, verbosity);
	}
}

static void put_sending(struct page *p, const struct result *r, int verbosity)
{
	page_entry(p, STYLE_PLAIN, 0, "attempted", r->attempted, 0, "%s", "");
	put_refused(p, r);
	put_sent(p, r);
	put_bound(p, r->bound);
	put_stages(p, r, verbosity);
}

static void put_ledger(struct page *p, const struct result *r, int verbosity)
{
	put_sending(p, r, verbosity);
	page_entry(p, STYLE_BOLD, 0, "delivered", r->delivered, r->sent, "%s",
		   r->rx_pps > 0 ? page_pps(r->rx_pps) : "");
	put_open(p, r);
}

static void put_verdict(struct page *p, const struct run_header *h, const struct result *r)
{
	const struct page_sum reported[] = {
		{r->remote.sent, "sent"},
		{r->remote.delivered, "delivered"},
		{r->remote.dropped, "dropped"},
	};
	unsigned disagree = 0;

	for (const struct result_counter *c = r->counter; c < r->counter + r->n_counters; c++)
		disagree += !c->agrees && !c->documented;
	p->indent = 0;
	if (r->balanced) {
		page_words(p, STYLE_GOOD, "balanced:");
		page_words(p, STYLE_PLAIN, "every packet is accounted for.");
	} else {
		page_words(p, STYLE_BAD, "NOT BALANCED:");
		if (!r->unaccounted && !r->in_flight && !r->impossible)
			page_words(p, STYLE_BAD, "ledgers are missing or incomplete.");
		else
			page_words(p, STYLE_BAD, "%s unaccounted, %s in flight, %s impossible.",
				   fmt_count(r->unaccounted), fmt_count(r->in_flight),
				   fmt_count(r->impossible));
	}
	if (r->settled_ns && (!r->balanced || r->stage[STAGE_WIRE].packets))
		page_words(p, STYLE_PLAIN, "The ledger was closed %s after the last packet.",
			   page_ns(r->settled_ns));
	if (disagree)
		page_words(p, STYLE_BAD, "%s.",
			   fmt_many(disagree, "counter of the kernel disagrees|"
					      "counters of the kernel disagree"));
	if (disagree && (!h->in_lab || *h->lab))
		page_words(p, STYLE_PLAIN, "These counters include other traffic.");
	if (r->interrupted)
		page_words(p, STYLE_WARN, "Interrupted: the ledger covers the packets sent so "
					  "far.");
	page_end(p);
	if (!r->remote.lost) /* the connection was lost */
		return;
	page_line(p, 0, STYLE_WARN, "", STYLE_WARN, "The other host is unknown since %s.",
		  page_ns(r->remote.since_ns));
	page_sums(p, "Until that time it reported ", STYLE_WARN, reported, LENGTH(reported));
}

void text_run(const struct print_view *v, const struct run_header *h, const struct result *r)
{
	struct page p = print_page(v, r->attempted);

	put_header(&p, h);
	put_ledger(&p, r, v->verbosity);
	put_beside(&p, r);
	put_verdict(&p, h, r);
	text_findings(&p, r->finding, r->n_findings, true);
}

void text_found_trial(FILE *out, unsigned number, const struct found_trial *t)
{
	const char *where = rows_worst_stage(t->dropped);
	char lost[32];

	if (number == 1)
		fprintf(out, "%5s  %-8s %14s %9s %10s %12s  %s\n", "trial", "", "rate", "time",
			"lost", "unsent", "where");
	snprintf(lost, sizeof(lost), "%.4f %%", t->loss_share * 100);
	fprintf(out, "%5u  %-8s %14s %9s %10s %12s%s%s\n", number, t->phase ? t->phase : "",
		t->rate_pps > 0 ? fmt_rate(t->rate_pps) : "full speed", num_text_time(t->time_ns),
		lost, fmt_count(t->unsent), *where ? "  " : "", where);
}

const char *found_culprit(const struct found_rate *rate)
{
	return rate->limit == FOUND_LIMIT_GENERATOR ? "the generator"
	       : rate->limit == FOUND_LIMIT_QUEUE
		       ? "the sender's queue, its interface accepts no more"
	       : rate->stage == STAGE_NONE ? ""
					   : stage_name(rate->stage);
}

static void print_mrr(struct page *p, const struct found_rate *rate)
{
	const char *culprit = found_culprit(rate);

	page_text(p, 0, STYLE_PLAIN, "MRR ");
	page_words(p, STYLE_PLAIN, "%s received at the highest rate%s %s",
		   page_pps(rate->throughput_pps), *culprit ? ":" : "", culprit);
	page_end(p);
	if (rate->upper_pps > rate->lower_pps)
		page_line(p, 4, STYLE_PLAIN, "", STYLE_PLAIN, "(median; lowest %s, highest %s)",
			  page_pps(rate->lower_pps), page_pps(rate->upper_pps));
}

static void print_goal(struct page *p, const struct found *f, const struct found_rate *rate)
{
	const char *culprit = rate->has_upper ? found_culprit(rate) : "";
	const char *lower = page_pps(rate->lower_pps), *upper = page_pps(rate->upper_pps);

	page_text(p, 0, STYLE_PLAIN, !strcmp(rate->name, "ndr") ? "NDR" : "PDR");
	p->indent = 4;
	if (rate->has_lower && rate->has_upper)
		page_words(p, STYLE_PLAIN, "%s held, %s did not", lower, upper);
	else if (rate->has_lower && rate->done) /* a bound that no trial exceeded */
		page_words(p, STYLE_PLAIN, "at least %s, the highest rate that %s", lower,
			   f->held_back		  ? "the sender's interface takes"
			   : f->generator_limited ? "this host generates steadily"
						  : "was asked for");
	else if (rate->has_lower)
		page_words(p, STYLE_PLAIN, "%s held", lower);
	else if (rate->has_upper)
		page_words(p, STYLE_PLAIN, "below %s, which was too much", upper);
	else
		page_words(p, STYLE_PLAIN, "no result yet");
	if (*culprit) {
		page_verbatim(p, ":");
		page_words(p, STYLE_PLAIN, "%s", culprit);
	}
	if (rate->loss_ratio > 0)
		page_words(p, STYLE_PLAIN, "(up to %g\v%% lost)", rate->loss_ratio * 100);
	if (rate->lost_below)
		page_words(p, STYLE_PLAIN, "(%s of %s up to that rate lost more)",
			   fmt_count(rate->lost_below), page_many(rate->below, "trial"));
	page_words(p, STYLE_PLAIN, rate->done ? "" : "(not finished)");
	page_end(p);
}

#define UNSTEADY 0.1 /* fraction above which a difference in warm-up speed is reported */

void text_found(FILE *out, const struct found *f)
{
	const double most = f->generator_pps, low = f->generator_low;
	struct page p = page_open(out, false, 0);

	page_end(&p);
	for (unsigned i = 0; i < f->goals; i++)
		print_goal(&p, f, &f->goal[i]);
	if (f->mrr.has_upper)
		print_mrr(&p, &f->mrr);
	page_text(&p, 0, STYLE_PLAIN, "");
	page_words(&p, STYLE_PLAIN, "%s", fmt_many(f->trials, "trial"));
	if (f->late)
		page_words(&p, STYLE_PLAIN, "(%s not sent in time)", fmt_count(f->late));
	page_words(&p, STYLE_PLAIN, "between %s and %s%s%s%s, frames of %u bytes, in\v%s",
		   fmt_rate(f->min_pps), fmt_rate(f->max_pps),
		   f->held_back || f->generator_limited ? " (at most " : "",
		   f->held_back || f->generator_limited ? fmt_rate(most) : "",
		   f->held_back		  ? " leave the sender)"
		   : f->generator_limited ? " are generated)"
					  : "",
		   f->frame_bytes, fmt_ns(f->time_ns));
	page_end(&p);
	if (f->generator_limited && low > 0 && low < most * (1 - UNSTEADY)) {
		page_words(
			&p, STYLE_PLAIN,
			"this host is not steady: it generated %s at one time and %s at another, "
			"so another search may find another rate",
			page_pps(low), page_pps(most));
		page_end(&p);
	}
}

void text_found_spread(FILE *out, const struct json_object *end)
{
	struct page p = page_open(out, false, 0);

	for (unsigned g = 0; g < FOUND_GOALS; g++) {
		const struct json_object *all =
			json_get(json_get(end, "lower_pps_of_all"), found_goals[g]);
		unsigned n = 0;
		char title[40];

		for (struct json_each f = json_each(end, "searches"); json_next(&f);) {
			const struct json_object *rate = json_get(f.item, found_goals[g]);

			n += json_get(rate, "lower_pps") && json_get_bool(rate, "done");
		}
		snprintf(title, sizeof(title), "%s of %u searches:", found_goals[g], n);
		if (all)
			trials_put_spread(&p, title, trials_summary_read(all), "searches");
	}
}

static void put_recv(struct page *p, const struct recv_result *r, int verbosity)
{
	page_entry(p, STYLE_PLAIN, 0, "received", r->received, 0, "%s", "");
	page_entry(p, STYLE_BOLD, 0, "delivered", r->res.delivered, 0, "%s",
		   page_pps(r->res.rx_pps));
	page_entry(p, r->lost ? STYLE_BAD : STYLE_PLAIN, 0, "lost", r->lost, 0, "%s",
		   r->tail_known || !r->streams ? "" : "or more: the end of a stream is unknown");
	put_stages(p, &r->res, verbosity);
	put_beside(p, &r->res);
	if (r->res.arrivals.latency.measured)
		page_line(p, 0, STYLE_DIM, "clocks          ", STYLE_DIM,
			  "the latency compares " ARRIVALS_CLOCK " at both ends");
	if (!r->streams)
		page_line(p, 0, STYLE_PLAIN, "", STYLE_PLAIN, "no pktledger packets received");
}

void text_one_end(const struct print_view *v, const struct json_object *end)
{
	struct recv_result *r = mem_new(r);
	struct page p;

	if (json_get(end, "received")) {
		json_read_recv_end(end, r);
		p = print_page(v, r->received);
		put_recv(&p, r, v->verbosity);
	} else {
		json_read_end(end, &r->res);
		p = print_page(v, r->res.attempted);
		put_sending(&p, &r->res, v->verbosity);
		page_entry(&p, STYLE_PLAIN, 0, "left this host",
			   lost_packets(r->res.sent, 0, r->res.dropped), r->res.sent, "%s", "");
	}
	free(r);
}
