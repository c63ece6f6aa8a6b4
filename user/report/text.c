// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "base/json.h"
#include "drops/stagemap.h"
#include "report/document.h"
#include "report/print.h"
#include "report/series.h"
#include "traffic/tx.h"

/* Prints latency, if the receiver's clock could measure it, and the offset between the clocks of
 * two hosts. */
static void put_latency(struct page *p, const struct json_object *end)
{
	const struct json_object *hosts = json_get(end, "host_clocks");
	int64_t offset = json_get_i64(hosts, "offset_ns");

	page_fill_line(p, 0, STYLE_PLAIN, "latency         ", STYLE_PLAIN, end,
		       "{?latency_ns}min\v{latency_ns.min#}, p50\v{latency_ns.p50#}, "
		       "p90\v{latency_ns.p90#}, p99\v{latency_ns.p99#}, "
		       "p99.9\v{latency_ns.p999#}, p99.99\v{latency_ns.p9999#}, "
		       "max\v{latency_ns.max#}, jitter\v{jitter_ns#}");
	if (json_get(end, "latency_ns"))
		page_fill_line(p, 0, STYLE_WARN, "clocks          ", STYLE_WARN, end,
			       "{?clock.doubt}{clock.doubt}");
	if (!hosts)
		return;
	page_text(p, 0, STYLE_DIM, "clocks          ");
	page_words(p, STYLE_DIM, "the receiver's is %s %s,",
		   page_glue(fmt_ns(offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset)),
		   offset < 0 ? "behind" : "ahead");
	page_fill(p, STYLE_DIM, hosts,
		  "within {error_ns#}; {shared|said to be one|no one-way latency without "
		  "--shared-clock}");
	page_end(p);
}

/* Returns the name of the probe at which a part of the latency begins or ends, or "" if unknown. */
static const char *point_of(const struct json_object *leg, const char *key)
{
	static const char *const points[][2] = {
		{"sent", "send call"}, {"device_out", "tx interface"}, {"device_in", "rx interface"},
		{"socket", "socket"},  {"read", "receiver"},
	};

	for (unsigned i = 0; i < LENGTH(points); i++) {
		if (!strcmp(points[i][0], json_get_text(leg, key)))
			return points[i][1];
	}
	return "";
}

/* Prints the latency breakdown: each part of the path, then the whole path. */
static void put_legs(struct page *p, const struct json_object *end)
{
	static const char *const keys[] = {"p50", "p99", "p9999", "max"};
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

	if (!json_get_length(end, "latency_breakdown"))
		return;
	p->indent = 0;
	page_table(p, columns);
	p->indent = 2;
	for (struct json_each e = json_each(end, "latency_breakdown"); json_next(&e);) {
		const struct json_object *latency = json_get(e.item, "latency_ns");
		char name[64];

		snprintf(name, sizeof(name), "%s - %s", point_of(e.item, "from"),
			 point_of(e.item, "to"));
		page_cell(p, STYLE_PLAIN, name);
		page_cell(p, STYLE_PLAIN, fmt_count(json_get_u64(e.item, "packets")));
		page_cell(p, STYLE_PLAIN, fmt_ns(json_get_u64(e.item, "mean_ns")));
		for (unsigned i = 0; i < LENGTH(keys); i++)
			page_cell(p, STYLE_PLAIN, fmt_ns(json_get_u64(latency, keys[i])));
		page_end(p);
	}
	p->indent = 0;
	page_end(p);
}

/* Prints the arrival times reported by the kernel, and how long packets then waited for a CPU. */
static void put_stamps(struct page *p, const struct json_object *end)
{
	const struct json_object *stamps = json_get(end, "timestamps");

	if (stamps)
		page_fill_line(p, 0, STYLE_PLAIN, "timestamps      ", STYLE_PLAIN, stamps,
			       json_get(stamps, "backlog_ns")
				       ? "{kind}, of {packets#packet}; from\vthere to\vrx interface\v"
					 "p50 {backlog_ns.p50#}, p99 {backlog_ns.p99#}, max "
					 "{backlog_ns.max#}"
				       : "{kind}, of {packets#packet}");
}

static void put_beside(struct page *p, const struct json_object *end)
{
	static const struct page_count seen[] = {
		{"duplicated", "duplicated"},
		{"reordered", "reordered"},
		{"late", "late"},
		{"damaged", "damaged"},
		{"invalid", "invalid"},
		{"foreign", "of another run"},
		{"replies", "ICMP reply|ICMP replies"},
	};
	static const struct page_count fragments[] = {
		{"fragments_made", "made"},
		{"fragments_seen", "seen at the receiver"},
		{"fragments_dropped", "dropped"},
		{"fragments_abandoned", "abandoned"},
		{"fragments_unmatched", "without a number"},
		{"datagrams_reassembled",
		 "datagram put together|datagrams put together"}, /* if there are any */
	};
	static const struct page_count own[] = {
		{"causes_full", "without room for their cause"},
		{"header_unreadable", "with an unreadable header"},
		{"recursion_misses", "event missed by recursion|events missed by recursion"},
		{"cell_empty", "XDP loss without a number|XDP losses without a number"},
		{"gso_split", "GRO packet with gaps in its numbers|GRO packets with gaps in their numbers"},
	};
	const struct json_object *gaps = json_get(end, "loss_bursts");
	const struct json_object *losses = json_get(end, "missed");

	put_latency(p, end);
	put_legs(p, end);
	put_stamps(p, end);
	/* sizes of loss bursts, and how late reordered packets arrived */
	if (json_get_u64(gaps, "bursts"))
		page_line(p, 0, STYLE_PLAIN, "loss bursts     ", STYLE_PLAIN,
			  "%s of %.1f packets in the mean, the longest of\v%s",
			  fmt_count(json_get_u64(gaps, "bursts")),
			  json_get_double(gaps, "packets") / json_get_double(gaps, "bursts"),
			  fmt_count(json_get_u64(gaps, "longest")));
	page_fill_line(p, 0, STYLE_PLAIN, "reordering      ", STYLE_PLAIN, end,
		       "{?reordered}extent up to {reordering.extent_max#packet}");
	page_counts(p, "also seen       ", STYLE_PLAIN, end, seen, LENGTH(seen));
	page_counts(p, "fragments       ", STYLE_PLAIN, end, fragments,
		    LENGTH(fragments) - !json_get_u64(end, "fragments_made"));
	page_counts(p, "missed events   ", STYLE_WARN, losses, own, LENGTH(own));
	page_fill_line(p, 0, STYLE_WARN, "suppressed      ", STYLE_WARN, losses,
		       "{?suppressed}{suppressed_evidence}");
}

#define FINDINGS_SHOWN 3 /* findings without -v */

void text_findings(struct page *p, const struct json_object *end, bool all)
{
	const size_t n = json_get_length(end, "findings");
	const size_t most = all || n <= FINDINGS_SHOWN + 1 ? n : FINDINGS_SHOWN;

	for (size_t i = 0; i < most; i++)
		page_finding(p, NULL, json_get_item(end, "findings", i));
	if (most < n)
		page_line(p, 0, STYLE_DIM, "", STYLE_DIM, "%s more: -v shows them",
			  fmt_many(n - most, "finding"));
}

#define CAUSES_SHOWN 4 /* causes per stage without -v */

/* A cause, summed over all streams. */
struct group {
	const struct json_object *cause;
	uint64_t packets, first, last;
};

static bool same_cause(const struct json_object *a, const struct json_object *b)
{
	static const char *const keys[] = {"reason", "location", "ifname",   "netns",
					   "host",   "hook",	 "direction"};
	unsigned i = 0;

	while (i < LENGTH(keys) && !strcmp(json_get_text(a, keys[i]), json_get_text(b, keys[i])))
		i++;
	return i == LENGTH(keys);
}

/* Groups the causes of a stage, largest first. Returns their number. */
static unsigned group_causes(const struct json_object *stage, struct group group[RESULT_CAUSES])
{
	unsigned n = 0, g;

	for (struct json_each c = json_each(stage, "causes");
	     json_next(&c) && c.next <= RESULT_CAUSES;) {
		uint64_t first = json_get_u64(c.item, "first"), last = json_get_u64(c.item, "last");

		for (g = 0; g < n && !same_cause(group[g].cause, c.item); g++)
			;
		if (g == n)
			group[n++] = (struct group){.cause = c.item, .first = first};
		group[g].packets += json_get_u64(c.item, "packets");
		group[g].first = smaller(group[g].first, first);
		if (last > group[g].last)
			group[g].last = last;
	}
	for (unsigned i = 1; i < n; i++) { /* stable sort */
		const struct group one = group[i];

		for (g = i; g && group[g - 1].packets < one.packets; g--)
			group[g] = group[g - 1];
		group[g] = one;
	}
	return n;
}

static void put_cause(struct page *p, const struct group *g, enum stage stage, int verbosity)
{
	const struct json_object *c = g->cause;
	const char *reason = json_get_text(c, "reason"), *netns = json_get_text(c, "netns");
	/* the drop site is more useful than a missing or unknown reason */
	bool located = verbosity > 0 || stage == STAGE_OTHER || !*reason ||
		       !strcmp(reason, "NOT_SPECIFIED");

	page_fill(p, STYLE_PLAIN, c, "{reason}");
	page_fill(p, STYLE_PLAIN, c, "{?hook}{hook}\vhook");
	if (located)
		page_fill(p, STYLE_PLAIN, c, "{?location}in\v{location}");
	page_fill(p, STYLE_PLAIN, c,
		  *netns && json_get(c, "ifname") ? "{netns}\v{ifname}" : "{netns}{ifname}");
	page_fill(p, STYLE_PLAIN, c, "{?host}on\v{host}");
	if (!json_get(c, "hook") && strcmp(json_get_text(c, "direction"), netns))
		page_fill(p, STYLE_PLAIN, c, "{direction}");
	if (verbosity > 0) {
		page_break(p);
		page_words(p, STYLE_DIM, "numbers\v%" PRIu64 "-%" PRIu64, g->first, g->last);
		page_fill(p, STYLE_DIM, c, "{?note}({note})");
	}
}

/* Prints a counter. `cause` is already on this line, so its namespace is not repeated. */
static void put_counter(struct page *p, const struct json_object *c,
			const struct json_object *cause, bool details)
{
	const char *netns = json_get_text(cause, "netns"), *note = json_get_text(c, "note");
	const bool documented = json_get_bool(c, "documented"), agrees = json_get_bool(c, "agrees");
	const char *delta = fmt_count(json_get_u64(c, "delta"));
	char name[96];
	size_t n = strlen(netns);

	snprintf(name, sizeof(name), "%s", json_get_text(c, "name"));
	if (n && !strncmp(name, netns, n) && name[n] == ' ')
		memmove(name, name + n + 1, strlen(name + n));
	page_glue(name);
	if (!agrees)
		page_words(p, documented ? STYLE_WARN : STYLE_BAD, "%s\v+%s,\vexpected\v+%s", name,
			   delta, fmt_count(json_get_u64(c, "expected")));
	else if (details)
		page_words(p, STYLE_DIM, "%s\v+%s", name, delta);
	else
		page_words(p, STYLE_DIM, "(%s\vagrees)", name);
	if (agrees ? *note && details : documented || *note)
		page_words(p, STYLE_DIM, "(%s)", *note ? note : "documented");
}

/*
 * Prints the disagreeing counters and the number of agreeing counters, or all counters in detail.
 */
static void put_counters(struct page *p, const struct json_object *stage,
			 const struct json_object *cause, int verbosity)
{
	const struct json_object *one = NULL;
	unsigned agree = 0;

	for (struct json_each c = json_each(stage, "counters"); json_next(&c);) {
		if (verbosity > 0) {
			page_break(p);
			put_counter(p, c.item, cause, true);
		} else if (!json_get_bool(c.item, "agrees")) {
			put_counter(p, c.item, cause, false);
		} else if (!agree++) {
			one = c.item;
		}
	}
	if (agree == 1)
		put_counter(p, one, cause, false);
	else if (agree)
		page_words(p, STYLE_DIM, "(%u\vcounters\vagree)", agree);
}

static void put_stage(struct page *p, const struct json_object *o, enum stage stage, uint64_t sent,
		      int verbosity)
{
	struct group group[RESULT_CAUSES];
	const uint64_t packets = json_get_u64(o, "packets");
	const char *source = json_get_text(o, "source");
	unsigned n = group_causes(o, group);

	page_row(p, STYLE_BOLD, 2, stage_name(stage), packets, packets ? sent : 0);
	if (n == 1)
		put_cause(p, &group[0], stage, verbosity);
	else if (n)
		page_words(p, STYLE_PLAIN, "%u causes", n);
	if (*source && strcmp(source, "event"))
		page_words(p, STYLE_WARN, "known by %s only", source);
	put_counters(p, o, n == 1 ? group[0].cause : NULL, verbosity);
	page_end(p);
	for (unsigned i = 0; n > 1 && i < n; i++) {
		if (i == CAUSES_SHOWN && n > CAUSES_SHOWN + 1 && verbosity < 1) {
			page_words(p, STYLE_DIM, "and %u more (-v shows all)", n - i);
			page_end(p);
			break;
		}
		page_row(p, STYLE_PLAIN, 2, "", group[i].packets, sent);
		put_cause(p, &group[i], stage, verbosity);
		page_end(p);
	}
}

static void put_port(struct page *p, const struct json_object *port, const char *host)
{
	page_fill(p, STYLE_PLAIN, port, json_get(port, "ifname") ? "{netns}\v{ifname}" : "{netns}");
	if (*host)
		page_words(p, STYLE_PLAIN, "on\v%s", host);
	page_fill(p, STYLE_PLAIN, port, "{address}");
}

static void put_header(struct page *p, const struct json_object *start)
{
	const struct json_object *hosts = json_get(start, "hosts");
	const char *topology = json_get_text(json_get(start, "lab"), "topology");
	const double mean = json_get_double(start, "mean_frame_bytes");
	const bool middle = !strcmp(topology, "router") || !strcmp(topology, "bridge");

	p->indent = 0;
	page_fill(p, STYLE_BOLD, start, "{tx}");
	page_fill(p, STYLE_PLAIN, start, "{?granted_mode.tx}({granted_mode.tx})");
	page_words(p, STYLE_BOLD, "->");
	page_fill(p, STYLE_BOLD, start, "{rx}");
	page_fill(p, STYLE_PLAIN, start, "{?granted_mode.rx}({granted_mode.rx})");
	if (mean > 0)
		page_words(p, STYLE_PLAIN, "| up to %u bytes a frame, %.0f on average |",
			   (unsigned)json_get_u64(start, "frame_bytes"), mean);
	else
		page_fill(p, STYLE_PLAIN, start,
			  "| {payload_bytes} bytes of payload, {frame_bytes} a frame |");
	page_fill(p, STYLE_PLAIN, start,
		  json_get_double(start, "rate_pps") > 0 ? "{rate_pps#}" : "unthrottled");
	if (json_get_length(start, "streams") > 1)
		page_words(p, STYLE_PLAIN, "| %zu\vthreads", json_get_length(start, "streams"));
	if (json_get_u64(start, "flows") > 1)
		page_fill(p, STYLE_PLAIN, start, "| {flows}\vflows");
	page_end(p);
	put_port(p, json_get(start, "tx_port"), json_get_text(json_get(hosts, "tx"), "name"));
	page_words(p, STYLE_PLAIN, middle ? "-> %s ->" : "->", topology);
	put_port(p, json_get(start, "rx_port"), json_get_text(json_get(hosts, "rx"), "name"));
	page_fill(p, STYLE_PLAIN, start, "port\v{rx_port.port}");
	page_fill(p, STYLE_WARN, start, "{?faults}| fault\v{faults}");
	page_end(p);
	page_end(p);
}

static void put_refused(struct page *p, const struct json_object *end)
{
	struct json_object *by = json_get(end, "refused_by");
	struct page_count count[RESULT_ERRNOS];
	unsigned n = 0;

	page_row(p, STYLE_PLAIN, 0, "refused", json_get_u64(end, "refused"), 0);
	if (json_object_is_type(by, json_type_object)) {
		json_object_object_foreach (by, name, packets) {
			(void)packets;
			if (n < RESULT_ERRNOS)
				count[n++] = (struct page_count){name, name};
		}
	}
	page_counts(p, NULL, STYLE_PLAIN, by, count, n);
	page_end(p);
}

/* Prints the limit that prevented the requested rate. */
static void put_bound(struct page *p, const struct json_object *end)
{
	const char *bound = json_get_text(end, "bound");

	if (!*bound)
		return;
	page_line(
		p, 0, STYLE_WARN, "not reached: ", STYLE_PLAIN, "%s",
		!strcmp(bound, "generator")
			? "the generator is at its limit on this host; -P has more threads, --tx "
			  "other engines"
		: !strcmp(bound, "interface")
			? "the interface, or a queue in front of it, accepts no more"
			: "the receiver is slower; sending waited until numbers were resolved");
}

static void put_sent(struct page *p, const struct json_object *end)
{
	page_row(p, STYLE_PLAIN, 0, "sent", json_get_u64(end, "sent"), 0);
	page_fill(p, STYLE_PLAIN, end, "{?duration_ns}{tx_pps#} in {duration_ns#}");
	page_fill(p, STYLE_DIM, end, "{?waits}({waits#wait}, {wait_ns#})");
	page_fill(p, STYLE_WARN, end, "{?slipped_ns}|\v{slipped_ns#}\vbehind\vschedule");
	if (json_get_u64(end, "late_ns") >= PACE_DEPTH_NS)
		page_fill(p, STYLE_DIM, end, "|\v{late_ns#}\vlate\vat\vmost,\vrecovered");
	page_fill(p, STYLE_WARN, end,
		  "{?held_ns}|\vheld\vback\vfor\v{held_ns#},\vuntil\vnumbers\vwere\vresolved");
	page_fill(p, STYLE_DIM, end, /* faults of traffic/shape.h */
		  "{?deliberate}|\von\vpurpose: {deliberate.duplicates#}\vtwice, "
		  "{deliberate.reordered#}\vlate, {deliberate.skipped#}\vskipped");
	page_end(p);
}

static void put_open(struct page *p, const struct json_object *end)
{
	static const struct page_count seen[] = {
		{"nowhere", "nowhere"},	     {"tx_device", "tx\vdevice"}, {"xdp", "xdp"},
		{"rx_device", "rx\vdevice"}, {"socket", "socket"},
	};
	const uint64_t in_flight = json_get_u64(end, "in_flight"), sent = json_get_u64(end, "sent");
	const uint64_t unaccounted = json_get_u64(end, "unaccounted");

	page_row(p, in_flight ? STYLE_BAD : STYLE_PLAIN, 0, "in flight", in_flight,
		 in_flight ? sent : 0);
	page_fill(p, STYLE_PLAIN, end, "{?in_flight}{in_flight_where}");
	page_end(p);
	page_row(p, unaccounted ? STYLE_BAD : STYLE_PLAIN, 0, "unaccounted", unaccounted,
		 unaccounted ? sent : 0);
	page_fill(p, STYLE_PLAIN, end, "{?unaccounted}last\vseen:");
	if (unaccounted)
		page_counts(p, NULL, STYLE_PLAIN, json_get(end, "unaccounted_last_seen"), seen,
			    LENGTH(seen));
	page_end(p);
	page_facts(p, end, 0,
		   &(struct page_fact){"impossible", "impossible", STYLE_BAD,
				       .text = "outcomes of numbers never sent", .omitted = true},
		   1);
}

/* Returns the number of counters of a stage that disagree with the events. `documented`:
 * differences known for this kernel. */
static unsigned disagreeing(const struct json_object *stage, bool documented)
{
	unsigned n = 0;

	for (struct json_each c = json_each(stage, "counters"); json_next(&c);)
		n += !json_get_bool(c.item, "agrees") &&
		     (documented || !json_get_bool(c.item, "documented"));
	return n;
}

static void put_ledger(struct page *p, const struct json_object *end, int verbosity)
{
	const uint64_t sent = json_get_u64(end, "sent");

	page_facts(p, end, 0, &(struct page_fact){"attempted", .key = "attempted"}, 1);
	put_refused(p, end);
	put_sent(p, end);
	put_bound(p, end);
	for (int s = 0; s < STAGE_COUNT; s++) {
		const struct json_object *stage = print_stage(end, stage_name(s));

		if (json_get_u64(stage, "packets") || disagreeing(stage, true))
			put_stage(p, stage, s, sent, verbosity);
	}
	page_facts(p, end, sent,
		   &(struct page_fact){"delivered", "delivered", STYLE_BOLD,
				       .text = "{?rx_pps}{rx_pps#}", .shared = true},
		   1);
	put_open(p, end);
}

static void put_verdict(struct page *p, const struct json_object *start,
			const struct json_object *end)
{
	static const struct page_count reported[] = {
		{"sent", "sent"},
		{"delivered", "delivered"},
		{"dropped", "dropped"},
	};
	const struct json_object *lab = json_get(start, "lab");
	unsigned disagree = 0;

	for (struct json_each stage = json_each(end, "stages"); json_next(&stage);)
		disagree += disagreeing(stage.item, false);
	p->indent = 0;
	if (json_get_bool(end, "balanced")) {
		page_words(p, STYLE_GOOD, "balanced:");
		page_words(p, STYLE_PLAIN, "every packet is accounted for.");
	} else {
		page_words(p, STYLE_BAD, "NOT BALANCED:");
		if (!json_get_u64(end, "unaccounted") && !json_get_u64(end, "in_flight") &&
		    !json_get_u64(end, "impossible"))
			page_words(p, STYLE_BAD, "ledgers are missing, or not whole.");
		else
			page_fill(p, STYLE_BAD, end,
				  "{unaccounted#} unaccounted, {in_flight#} in flight, "
				  "{impossible#} impossible.");
	}
	if (disagree)
		page_words(p, STYLE_BAD, "%s.",
			   fmt_many(disagree, "counter of the kernel disagrees|"
					      "counters of the kernel disagree"));
	if (disagree && (!lab || json_get(lab, "name")))
		page_words(p, STYLE_PLAIN, "Traffic of others counts there, too.");
	if (json_get_bool(end, "interrupted"))
		page_words(p, STYLE_WARN, "Interrupted: this is the ledger of what was sent.");
	page_end(p);
	page_fill_line(p, 0, STYLE_WARN, "", STYLE_WARN, end, /* lost connection */
		       "{?remote}The other host is unknown since {remote.unknown_since_ns#}.");
	page_counts(p, "Until then it had reported ", STYLE_WARN, json_get(end, "remote"), reported,
		    LENGTH(reported));
}

void text_run(const struct print_view *v, const struct json_object *start,
	      const struct json_object *end, unsigned parts)
{
	struct page p = print_page(v, json_get_u64(end, "attempted"));

	if (parts & TEXT_HEADER)
		put_header(&p, start);
	if (parts & TEXT_LEDGER)
		put_ledger(&p, end, v->verbosity);
	if (parts & TEXT_BESIDE)
		put_beside(&p, end);
	if (parts & TEXT_VERDICT)
		put_verdict(&p, start, end);
	if (parts & TEXT_FINDINGS)
		text_findings(&p, end, true);
}

void text_found_trial(FILE *out, unsigned number, const struct json_object *trial)
{
	const struct json_object *of = json_get(trial, "parameters");
	const double rate = json_get_double(of, "rate_pps");
	const char *where = print_worst_stage(trial);
	char phase[16], lost[32];

	if (number == 1)
		fprintf(out, "%5s  %-8s %14s %9s %10s %12s  %s\n", "trial", "", "rate", "time",
			"lost", "unsent", "where");
	snprintf(phase, sizeof(phase), "%s", json_get_text(of, "phase"));
	snprintf(lost, sizeof(lost), "%.4f %%", lost_fraction(trial) * 100);
	fprintf(out, "%5u  %-8s %14s %9s %10s %12s%s%s\n", number, utf8_tame(phase),
		rate > 0 ? fmt_rate(rate) : "full speed",
		num_text_time(json_get_u64(of, "duration_ns")), lost,
		fmt_count(json_get_u64(trial, "unsent")), *where ? "  " : "", where);
}

const char *found_culprit(const struct json_object *rate)
{
	const char *limit = json_get_text(rate, "limited_by");
	enum stage stage = rows_stage(json_get_text(rate, "stage"));

	if (!strcmp(limit, "generator"))
		return "the generator";
	if (!strcmp(limit, "send_queue"))
		return "the sender's queue, its interface accepts no more";
	return stage == STAGE_NONE ? "" : stage_name(stage);
}

const char *found_highest(const struct json_object *end)
{
	return json_get_bool(end, "held_back")		 ? "the sender's interface takes"
	       : json_get_bool(end, "generator_limited") ? "this host generates steadily"
							 : "was asked for";
}

static void print_mrr(struct page *p, const struct json_object *rate)
{
	const char *culprit = found_culprit(rate);

	page_text(p, 0, STYLE_PLAIN, "MRR ");
	page_fill(p, STYLE_PLAIN, rate,
		  *culprit ? "{throughput_pps#} got through at the highest rate:"
			   : "{throughput_pps#} got through at the highest rate");
	page_words(p, STYLE_PLAIN, "%s", culprit);
	page_end(p);
	if (json_get_double(rate, "upper_pps") > json_get_double(rate, "lower_pps"))
		page_fill_line(p, 4, STYLE_PLAIN, "", STYLE_PLAIN, rate,
			       "(median; lowest {lower_pps#}, highest {upper_pps#})");
}

static void print_goal(struct page *p, const char *name, const struct json_object *rate,
		       const char *highest)
{
	const bool has_lower = json_get(rate, "lower_pps"), has_upper = json_get(rate, "upper_pps");
	const bool done = json_get_bool(rate, "done");
	const char *culprit = has_upper ? found_culprit(rate) : "";
	const double loss_ratio = json_get_double(rate, "loss_ratio");

	page_text(p, 0, STYLE_PLAIN, name);
	p->indent = 4;
	page_fill(p, STYLE_PLAIN, rate,
		  has_lower && has_upper ? "{lower_pps#} held, {upper_pps#} did not"
		  : has_lower && done	 ? "at least {lower_pps#}, the highest rate that"
		  : has_lower		 ? "{lower_pps#} held"
		  : has_upper		 ? "below {upper_pps#}, which was too much"
					 : "nothing is known yet");
	if (has_lower && !has_upper && done)
		page_words(p, STYLE_PLAIN, "%s", highest);
	if (*culprit) {
		page_verbatim(p, ":");
		page_words(p, STYLE_PLAIN, "%s", culprit);
	}
	if (loss_ratio > 0)
		page_words(p, STYLE_PLAIN, "(up to %g\v%% lost)", loss_ratio * 100);
	page_fill(p, STYLE_PLAIN, rate,
		  "{?lost_below}({lost_below#} of {trials_below#trial} up to that rate lost more)");
	page_words(p, STYLE_PLAIN, done ? "" : "(not finished)");
	page_end(p);
}

#define UNSTEADY 0.1 /* fraction, difference between slowest and fastest warm-up that is reported */

void text_found(FILE *out, const struct json_object *end)
{
	const bool held_back = json_get_bool(end, "held_back");
	const bool generator = json_get_bool(end, "generator_limited");
	const char *highest = found_highest(end);
	const double low = json_get_double(end, "generator_low_pps");
	struct page p = page_open(out, false, 0);

	page_end(&p);
	if (json_get(end, "ndr"))
		print_goal(&p, "NDR", json_get(end, "ndr"), highest);
	if (json_get(end, "pdr"))
		print_goal(&p, "PDR", json_get(end, "pdr"), highest);
	if (json_get(end, "mrr"))
		print_mrr(&p, json_get(end, "mrr"));
	page_text(&p, 0, STYLE_PLAIN, "");
	page_words(&p, STYLE_PLAIN, "%s", fmt_many(json_get_u64(end, "trials"), "trial"));
	page_fill(&p, STYLE_PLAIN, end, "{?late_trials}({late_trials#} not sent in time)");
	page_words(&p, STYLE_PLAIN, "between %s and %s%s%s%s, frames of %u bytes, in\v%s",
		   fmt_rate(json_get_double(end, "min_rate_pps")),
		   fmt_rate(json_get_double(end, "max_rate_pps")),
		   held_back || generator ? " (at most " : "",
		   held_back || generator ? fmt_rate(json_get_double(end, "generator_pps")) : "",
		   held_back   ? " leave the sender)"
		   : generator ? " are generated)"
			       : "",
		   (unsigned)json_get_u64(end, "frame_bytes"),
		   fmt_ns(json_get_u64(end, "duration_ns")));
	page_end(&p);
	if (generator && low > 0 && low < json_get_double(end, "generator_pps") * (1 - UNSTEADY)) {
		page_fill(&p, STYLE_PLAIN, end,
			  "this host is not steady: it generated {generator_low_pps#} at one time "
			  "and "
			  "{generator_pps#} at another, and another search may find another rate");
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

/* Causes of send and recv. */
static void put_causes(struct page *p, const struct json_object *end)
{
	for (struct json_each stage = json_each(end, "stages"); json_next(&stage);) {
		struct page_fact fact = {json_get_text(stage.item, "stage"), "packets",
					 .text = "as the engine counts", .indent = 2};

		if (!strcmp(json_get_text(stage.item, "source"), "counter"))
			page_facts(p, stage.item, 0, &fact, 1);
		fact.text = "{reason} {ifname}";
		for (struct json_each c = json_each(stage.item, "causes"); json_next(&c);)
			page_facts(p, c.item, 0, &fact, 1);
	}
}

static void put_send(struct page *p, const struct json_object *end)
{
	static const struct page_fact tried[] = {
		{"attempted", .key = "attempted"},
		{"refused", .key = "refused"},
	};
	static const struct page_fact deliberate[] = {
		{"sent twice", "duplicates", .text = "on purpose"},
		{"sent late", "reordered", .text = "on purpose"},
		{"skipped", "skipped", .text = "on purpose, not attempted"},
	};
	struct json_object *by = json_get(end, "refused_by");

	page_facts(p, end, 0, tried, LENGTH(tried));
	if (json_object_is_type(by, json_type_object)) {
		json_object_object_foreach (by, name, packets) {
			page_row(p, STYLE_PLAIN, 0, "", json_object_get_uint64(packets), 0);
			page_words(p, STYLE_PLAIN, "%s",
				   strcmp(name, "unknown") ? name : "(sendmmsg did not say)");
			page_end(p);
		}
	}
	page_facts(p, end, 0,
		   &(struct page_fact){"sent", "sent", .text = "{tx_pps#} in {duration_ns#}"}, 1);
	if (json_get(end, "deliberate"))
		page_facts(p, json_get(end, "deliberate"), 0, deliberate, LENGTH(deliberate));
	put_causes(p, end);
	page_row(p, STYLE_PLAIN, 0, "left this host",
		 lost_packets(json_get_u64(end, "sent"), 0, json_get_u64(end, "dropped")), 0);
	page_end(p);
	page_facts(p, end, 0, &(struct page_fact){"waits", "waits", .omitted = true}, 1);
	put_bound(p, end);
}

static void put_delays(struct page *p, const struct json_object *end)
{
	static const char *const lines[] = {
		"{?loss_bursts.bursts}loss bursts {loss_bursts.bursts}, the longest of "
		"{loss_bursts.longest#packet}",
		"{?reordered}reordering extent up to {reordering.extent_max#packet}",
		"{?latency_ns}latency p50 {latency_ns.p50#}, p99 {latency_ns.p99#}, p99.99 "
		"{latency_ns.p9999#}, highest {latency_ns.max#}, jitter {jitter_ns#} "
		"(" ARRIVALS_CLOCK " of both ends)",
		"{?clock.doubt}do not trust the latency: {clock.doubt}",
	};

	for (unsigned i = 0; i < LENGTH(lines); i++)
		page_fill_line(p, 0, STYLE_PLAIN, "", STYLE_PLAIN, end, lines[i]);
}

static void put_recv(struct page *p, const struct json_object *end)
{
	static const struct page_fact received[] = {
		{"received", .key = "received"},
		{"delivered", "delivered", .text = "{rx_pps#}"},
	};
	static const struct page_fact others[] = {
		{"duplicated", "duplicated", .omitted = true},
		{"reordered", "reordered", .omitted = true},
		{"late", "late", .omitted = true},
		{"damaged", "damaged", .omitted = true},
		{"invalid", "invalid", .omitted = true},
	};
	const struct page_fact lost = {
		"lost", "lost",
		.text = json_get(end, "lost_tail")
				? NULL
				: "or more: the end of a stream was not reported"};

	page_facts(p, end, 0, received, LENGTH(received));
	page_facts(p, end, 0, &lost, 1);
	put_causes(p, end);
	page_facts(p, end, 0, others, LENGTH(others));
	put_delays(p, end);
	if (!json_get_length(end, "streams"))
		page_line(p, 0, STYLE_PLAIN, "", STYLE_PLAIN, "no pktledger packets received");
}

void text_one_end(const struct print_view *v, const struct json_object *end)
{
	struct page p = print_page(v, 0);

	p.count_width = 16;
	p.detail = 34;
	if (json_get(end, "received"))
		put_recv(&p, end);
	else
		put_send(&p, end);
}
