// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `trace`: turns observations into document events (report/trace.h) and sends each event to the
 * requested outputs: -j, a ledger, or the text printer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/options.h"
#include "diagnosis/facts.h"
#include "drops/balance.h"
#include "host/caps.h"
#include "monitor/session.h"
#include "monitor/sources.h"
#include "report/document.h"
#include "report/trace.h"
#include "watch_abi.h"
#include "report/junit.h"
#include "report/ledgerfile.h"
#include "report/series.h"

/* Limits for data on the screen and in a ledger. A ledger written next to JSON has all rows. */
#define ROWS_MAX     32 /* rows per interval (most intervals have only a few) */
#define FLOWS_MAX    16 /* only in a ledger */
#define END_ROWS_MAX 256
#define TCP_NS	     10000000000ULL /* ns between two reads of the retransmissions */
#define QUIET_NS     60000000000ULL /* ns, longest quiet period written as one interval */

struct trace_options {
	struct live_options live;
	struct opt_limits limits;
	struct balance_numbering seq;
	bool until_limit, events, hex, stack;
	const char *capture, *ledger, *junit; /* file names */
	uint64_t count, burst_ns, settle_ns, keep_ns, snaplen;
	char *const *command;
};

static const struct trace_options defaults = {
	.live.interval_ns = 1000000000,
	.live.flows = TCP_FLOWS,
	.settle_ns = 5000000000,
	.keep_ns = 7 * 86400000000000ULL,
};

#define AT(member) offsetof(struct trace_options, member)

static const struct opt trace_opts[] = {
	{"duration", 't', OPT_TIME, AT(live.duration_ns), .min = 1,
	 .default_text = "until a signal or the end of COMMAND", .help = "stop after this long"},
	{"count", 'c', OPT_COUNT, AT(count), .min = 1, .default_text = "none",
	 .help = "stop after this many lost packets"},
	{"limit", 0, OPT_LIMITS, AT(limits), .default_text = "none",
	 .help = "exit with 4 if losses exceed a limit: loss=0, rcvbuf=100/s"},
	{"junit", 0, OPT_STRING, AT(junit), .metavar = "FILE", .default_text = "none",
	 .help = "write limits and findings as JUnit XML, for CI"},
	MAX_CPU_OPT(AT(live.max_cpu)),
	{"until-limit", 0, OPT_FLAG, AT(until_limit), .needs = "limit",
	 .help = "stop as soon as a limit is broken"},
	{"microburst", 0, OPT_TIME, AT(burst_ns), .min = BURST_NS_MIN, .max = BURST_NS_MAX,
	 .default_text = "off",
	 .help = "find microbursts: show in which window of this length a cause lost most"},
	{0},
};

static const struct opt balance_opts[] = {
	{"balance", 0, OPT_FLAG, AT(live.balance), .excludes = TRACE_PARTS " max-cpu",
	 .help = "account for every packet of the flow that EXPR selects"},
	{"seq", 0, OPT_CUSTOM, AT(seq), .metavar = "WHAT", .default_text = "none",
	 .parse = numbering_parse, .needs = "balance",
	 .help = "find losses before this host by sequence numbers in the payload: rtp or "
		 "OFFSET:BYTES[:STEP]"},
	{"settle", 0, OPT_TIME, AT(settle_ns), .needs = "balance",
	 .help = "at the end, wait at most this long for packets still queued"},
	{"flows", 0, OPT_COUNT, AT(live.flows), .min = 16, .max = 1 << 22,
	 .needs = "balance",
	 .help = "for TCP: keep at most N flows with losses, 8 ranges each"},
	{0},
};

static const struct opt events_opts[] = {
	{"events", 0, OPT_FLAG, AT(events),
	 .help = "print one line per lost packet (folded on a terminal)"},
	{"hex", 0, OPT_FLAG, AT(hex), .needs = "events", .help = "also print the packet's bytes"},
	{"stack", 0, OPT_FLAG, AT(stack), .needs = "events",
	 .help = "also print the kernel's call stack"},
	{"write", 'w', OPT_STRING, AT(capture), .metavar = "FILE", .default_text = "none",
	 .help = "write lost packets as pcapng, with the cause as a comment"},
	{"snaplen", 's', OPT_SIZE, AT(snaplen), .min = 1, .max = SAMPLE_SNAPLEN_MAX,
	 .metavar = "BYTES", .default_text = "headers", .needs = "events write",
	 .help = "capture length in bytes (linear part of the packet)"},
	{0},
};

static const struct opt ledger_opts[] = {
	{"ledger", 'o', OPT_STRING, AT(ledger), .metavar = "FILE", .default_text = "none",
	 .help = "append intervals to a file for `report`"},
	{"keep", 0, OPT_TIME, AT(keep_ns), .min = 1000000000, .needs = "ledger",
	 .help = "remove intervals older than this from the file"},
	{0},
};

static const struct opt trace_args[] = {
	{"EXPR", 0, OPT_WORDS, AT(live.expr),
	 .help = "packet filter, see pcap-filter(7)", .default_text = "all"},
	{"-- COMMAND", 0, OPT_COMMAND, AT(command),
	 .help = "run COMMAND, trace until it ends and return its exit status"},
	{0},
};

static const struct opt_group trace_groups[] = {
	{"Filter", trace_filter_opts, AT(live)},	{"Duration", trace_opts, 0},
	{"Flow balance", balance_opts, 0}, {"Packets", events_opts, 0},
	{"Long-term recording", ledger_opts, 0}, {"Tables", trace_view_opts, AT(live)},
	{"Output", global_opts, AT(live)},	{0},
};

/* Ledger: events kept in a file for days */

struct trace_ledger {
	struct ledgerfile *file; /* NULL: no ledger was requested */
	uint64_t quiet_ns;	 /* quiet time that has not been written yet */
	struct live_own last;	 /* missed events as of the last write */
	uint64_t tcp_ns;	 /* ns, last time the retransmissions were read */
	int rc;			 /* -errno of a reported write error (the trace continues) */
};

/* Individual lost packets, shown and captured. */
struct events {
	bool wanted;
	struct pcapng *file; /* NULL: no capture was requested */
	int file_error, read_error;
	uint64_t seen;
	uint64_t shown, left_out; /* left_out: packets that are not in the document */
	uint64_t captured;
	struct page page;
};

struct trace {
	const struct trace_options *o;
	struct session session;
	unsigned by;		   /* fields that are shown */
	struct json_out *json;	   /* NULL: print text */
	struct trace_shown shown;
	struct print_view text;
	char netns[OWNER_NETNS];
	struct limits limits;
	double broken[OPT_LIST_MAX]; /* per limit: value measured when exceeded, else 0 */
	struct junit *junit;	     /* NULL: not requested */
	struct flow_account *account;
	struct flow_balance balance;
	bool tcp_balanced;
	struct events events;
	struct trace_ledger ledger;
	bool shows_intervals; /* with a balance, only the end is shown by default */
	bool headed;	      /* the column headings have been printed */
	bool incomplete;      /* a requested file is incomplete */
	struct overhead overhead;
	bool gone;	      /* the traced object disappeared, and this was reported */
};

/* Opens the ledger, and also has the collector count by flow unless --by was given. */
static int ledger_open(struct trace *t, struct error *err)
{
	int rc;

	if (!t->o->ledger)
		return 0;
	if (!t->o->live.by.n) {
		t->session.spec.total_by = t->session.spec.by;
		t->session.spec.by |= LIVE_BIT(LIVE_FLOW);
	}
	rc = ledgerfile_open(&t->ledger.file, t->o->ledger, err);
	return rc ? rc : ledgerfile_keep(t->ledger.file, t->o->keep_ns, err);
}

/* Reports once that a file cannot be written. */
static void goes_on(int *first, const char *file, int rc)
{
	if (!rc || *first)
		return;
	*first = rc;
	log_error("cannot write %s: %s (continuing without the file)", file, strerror(-rc));
}

static void written(struct trace *t, int rc)
{
	goes_on(&t->ledger.rc, t->o->ledger, rc);
}

/* Returns the time `time_ns` after the start of the trace. */
static struct trace_time time_of(const struct trace *t, uint64_t time_ns, uint64_t length_ns)
{
	const uint64_t ago_ns = ktime_now() - live_parts(t->session.live).start_ns - time_ns;

	return (struct trace_time){when_now() - ago_ns, time_ns, length_ns};
}

/* Returns an interval for JSON or a ledger, owned by the caller. */
static struct json_object *interval_json(const struct trace *t, const struct live_table *rows,
					 const struct trace_time *time)
{
	const bool by_flow = t->ledger.file && t->session.spec.by & LIVE_BIT(LIVE_FLOW);
	struct live_table flows = {};
	struct json_object *o;

	if (by_flow)
		worst_rows(&flows, live_interval(t->session.live), ROWS_BY_FLOW, 1u << CLASS_LOSS,
			   FLOWS_MAX);
	o = json_trace_interval(rows, by_flow ? &flows : NULL, t->by, time);
	table_free(&flows);
	return o;
}

/* Writes quiet intervals as one that ends at `time_ns` and lasts up to a minute. */
static void write_quiet(struct trace *t, uint64_t time_ns)
{
	const struct trace_time time = time_of(t, time_ns, t->ledger.quiet_ns);
	static const struct live_table nothing;
	struct json_object *o;

	if (!t->ledger.quiet_ns)
		return;
	o = json_trace_interval(&nothing, NULL, t->by, &time);
	written(t, ledgerfile_interval(t->ledger.file, o));
	json_object_put(o);
	t->ledger.quiet_ns = 0;
}

/* Writes the interval's losses if there are any. */
static void write_interval(struct trace *t, const struct trace_time *time, struct json_object *o)
{
	const struct live *l = t->session.live;
	struct trace_ledger *k = &t->ledger;
	struct live_own own;
	bool lossy;

	if (!k->file || k->rc)
		return;
	live_own(l, &own);
	lossy = memcmp(&own.watch.loss, &k->last.watch.loss, sizeof(own.watch.loss)) ||
		own.watch.recursion_misses != k->last.watch.recursion_misses ||
		own.watch.filter_unread != k->last.watch.filter_unread ||
		own.rows_merged != k->last.rows_merged;
	if (!table_sum(live_interval(l), 0, STAGE_NONE).events && !lossy &&
	    !json_get(o, "counters") && !json_get(o, "tcp")) {
		k->quiet_ns += time->interval_ns;
		if (k->quiet_ns >= QUIET_NS)
			write_quiet(t, time->time_ns);
		return;
	}
	write_quiet(t, time->time_ns - time->interval_ns);
	if (lossy) {
		json_put(o, "missed", json_trace_losses(&own));
		k->last = own;
	}
	written(t, ledgerfile_interval(k->file, o));
}

#define EVENTS_NS	   80000000 /* ns per tick */
#define EVENTS_IN_DOCUMENT 100000   /* maximum in -j (further events are only counted) */

static void on_drop(void *arg, const struct live_drop *drop)
{
	struct trace *t = arg;
	const struct trace_options *o = t->o;
	struct events *e = &t->events;

	if (o->count && e->seen == o->count)
		return;
	e->seen++;
	if (o->events && o->live.global.json && e->shown >= EVENTS_IN_DOCUMENT) {
		e->left_out++;
	} else if (o->events) {
		if (t->json)
			json_out_each(t->json, "drop", drop_json(drop, o->hex, o->stack));
		else
			drop_text(&e->page, drop, t->netns, o->hex);
		e->shown++;
	}
	if (e->file && !e->file_error)
		goes_on(&e->file_error, t->o->capture, drop_capture(e->file, drop));
}

/* Requests samples of lost packets. */
static void events_ask(struct trace *t)
{
	const struct trace_options *o = t->o;
	struct live_spec *spec = &t->session.spec;

	if (!o->events && !o->capture)
		return;
	t->events.wanted = true;
	spec->snaplen = o->snaplen ? (uint32_t)o->snaplen : LIVE_SNAPLEN;
	spec->stack = o->stack;
}

/* Shows new samples. With `all`, shows every sample, otherwise as many as a tick has time for. */
static void events_read(struct trace *t, bool all)
{
	struct events *e = &t->events;
	int64_t n;

	if (!e->wanted || e->read_error)
		return;
	if (t->o->events && !t->json)
		log_progress_clear();
	e->page = page_open(stdout, false, 0);
	if (!isatty(STDOUT_FILENO)) /* one line per packet, for tools that read lines */
		e->page.width = UINT32_MAX;
	n = live_read_drops(t->session.live, all ? 0 : EVENTS_NS);
	if (n < 0) {
		e->read_error = (int)n;
		log_error("cannot read samples of drops: %s (continuing without samples)",
			  strerror(-e->read_error));
	}
	if (e->file)
		goes_on(&e->file_error, t->o->capture, pcapng_flush(e->file));
	if (t->o->events)
		output_flush();
}

/* Closes the capture and reports its state. */
static void events_finish(struct trace *t)
{
	struct events *e = &t->events;

	if (e->file) {
		goes_on(&e->file_error, t->o->capture, pcapng_flush(e->file));
		e->captured = pcapng_written(e->file);
		goes_on(&e->file_error, t->o->capture, pcapng_close(e->file));
		e->file = NULL;
		log_info("%s: %s%s", t->o->capture, fmt_many(e->captured, "packet"),
			 e->file_error ? ", not all" : "");
	}
	if (e->left_out)
		log_warn("%s not in the document, which keeps %d; --json-lines has all",
			 fmt_many(e->left_out, "drop is|drops are"), EVENTS_IN_DOCUMENT);
	t->incomplete = e->file_error || e->read_error;
}

static void events_json_end(const struct trace *t, struct json_object *end)
{
	const struct events *e = &t->events;
	struct json_object *capture;

	if (!e->wanted)
		return;
	json_put_u64(end, "drops_left_out", e->left_out);
	if (!t->o->capture)
		return;
	capture = json_put_object(end, "capture");
	json_put_text(capture, "file", t->o->capture);
	json_put_u64(capture, "packets", e->captured);
	json_put_text(capture, "error", e->file_error ? strerror(-e->file_error) : NULL);
}

static int on_open(void *arg, struct error *err)
{
	struct trace *t = arg;
	const struct trace_options *o = t->o;
	struct session *s = &t->session;
	const struct flow_account_spec spec = {s->flow.udp, o->seq, o->settle_ns, s->spec.consumed,
					       !*s->flow.tcp};
	struct netns own;
	int rc = 0;

	if (!netns_current(&own, &(struct error){})) {
		owners_netns(s->spec.owners, own.inum, t->netns);
		netns_close(&own);
	}
	if (o->capture) /* not earlier: a trace that cannot start leaves an old file alone */
		rc = pcapng_create(&t->events.file, o->capture, s->spec.snaplen, err);
	if (!rc && t->events.wanted)
		rc = live_open_drops(s->live, o->snaplen, o->live.all, on_drop, t, err);
	if (!rc && *sources_gaps(s->sources))
		log_warn("%s", sources_gaps(s->sources));
	return !rc && *s->flow.udp ? flow_account_open(&t->account, &spec, s->live, err) : rc;
}

static bool on_tick(void *arg)
{
	struct trace *t = arg;

	events_read(t, false);
	return !t->o->count || t->events.seen < t->o->count;
}

static int on_over(void *arg, struct error *err)
{
	const struct trace *t = arg;

	return t->account ? flow_account_end(t->account, err) : 0;
}

static void on_start(void *arg)
{
	struct trace *t = arg;
	/* while it is still permitted to load programs */
	struct json_object *env = t->json || t->ledger.file ? env_read(NULL) : NULL;
	struct live_spec asked = t->session.spec;
	struct json_object *start;
	int words = 0;

	/* shows only COMMAND's name, as for all processes */
	while (words < program_argc && strcmp(program_argv[words], "--"))
		words++;
	words = words + 2 < program_argc ? words + 2 : program_argc;
	if (asked.expr) /* as entered by the user */
		asked.expr = t->o->live.expr.text;
	asked.by = t->by;
	caps_give_up(cmd_trace.needs, option_given("keep") ? "--keep" : NULL, CAPS_ONCE);
	trace_show_gaps(t->session.live);
	t->shown = (struct trace_shown){.interval_ns = t->o->live.interval_ns,
					.all = t->o->live.all,
					.netns = t->netns,
					.filtered = asked.expr,
					.one_netns = asked.netns};
	start = json_trace_start(words, program_argv, env, &asked, &t->shown);
	written(t, ledgerfile_start(t->ledger.file, "pktledger/trace/1", start));
	json_out_once(t->json, "start", start);
	if (!t->json)
		log_info("tracing drops on this host%s%s%s%s", asked.expr ? " matching: " : "",
			 asked.expr ? asked.expr : "", asked.inner ? ", also in tunnels" : "",
			 t->o->command || t->o->live.duration_ns ? "" : "; Ctrl-C ends");
}

/* Shows a limit that was exceeded. The ledger also gets the time, which live readers know. */
static void show_limit(struct trace *t, const struct limit *limit, double measured)
{
	const struct trace_time time = time_of(t, live_time(t->session.live, NULL), 0);
	struct json_object *o = json_limit(limit, measured, true);

	log_progress_clear();
	json_out_each(t->json, "limit", json_limit(limit, measured, true));
	if (!t->json)
		log_warn("limit %s is broken: %.0f%s", num_text_limit(limit), measured,
			 limit->unit == LIMIT_PER_SECOND ? "/s" : "");
	json_put_u64(o, "time_ns", time.time_ns);
	json_put_time(o, "time", time.realtime_ns);
	written(t, ledgerfile_event(t->ledger.file, "limit", NULL, o));
	json_object_put(o);
}

/*
 * Stores decided retransmissions in the ledger, so that they survive a crash. Reads sockets and
 * interfaces.
 */
static void keep_tcp(struct trace *t, struct json_object *o, uint64_t time_ns)
{
	static struct tcp_balance now, last;
	struct json_object *part;

	if (!t->session.tcp || time_ns - t->ledger.tcp_ns < TCP_NS)
		return;
	t->ledger.tcp_ns = time_ns;
	if (tcp_account_look(t->session.tcp, &now))
		return;
	part = json_tcp_part(&now, &last);
	if (part)
		json_put(o, "tcp", part);
}

/* Shows an interval: all rows in JSON, otherwise the largest rows, which also go to a ledger. */
static void show_interval(struct trace *t)
{
	const struct rates *rates = t->o->live.counters ? sources_rates(t->session.sources) : NULL;
	uint64_t length_ns, time_ns = live_time(t->session.live, &length_ns);
	const struct trace_time time = time_of(t, time_ns, length_ns);
	struct json_object *counters = rates ? json_rates(rates, t->o->live.all) : NULL, *o = NULL;
	const struct live_table *now = live_interval(t->session.live);
	struct live_table rows = {};

	if (!t->json) {
		worst_rows(&rows, now, t->by, 0, ROWS_MAX);
		now = &rows;
	}
	if (t->json || t->ledger.file)
		o = interval_json(t, now, &time);
	if (o && counters)
		json_put(o, "counters", json_object_get(counters));
	if (t->ledger.file)
		keep_tcp(t, o, time_ns);
	write_interval(t, &time, o);
	if (!t->json && t->shows_intervals)
		print_trace_interval(&t->text, &t->shown, now, &time, counters, &t->headed);
	json_out_each(t->json, "interval", o);
	json_object_put(counters);
	table_free(&rows);
	output_flush();
}

static bool on_interval(void *arg)
{
	struct trace *t = arg;
	const struct live *l = t->session.live;
	uint64_t length, time = live_time(l, &length);
	uint64_t lost = table_sum(live_total(l), 1u << CLASS_LOSS, STAGE_NONE).packets;
	char what[128];
	bool broken = false;

	events_read(t, false);
	log_progress_clear();
	show_interval(t);
	overhead_limit(&t->overhead, t->o->live.max_cpu, t->session.live);
	for (unsigned i = 0; i < t->limits.n; i++) {
		if (limits_crossed(&t->limits, i, live_interval(l), live_total(l), length)) {
			t->broken[i] = t->limits.at[i].measured;
			show_limit(t, &t->limits.at[i].limit, t->limits.at[i].measured);
			broken = true;
		}
	}
	if (!t->gone && live_gone(l, what, sizeof(what))) {
		t->gone = true;
		log_warn("%s was deleted, and stays untraced if it is created again", what);
	}
	log_progress("%.0f s%s: %s lost", (double)time * 1e-9,
		     fmt_left((double)time, (double)t->o->live.duration_ns, time), fmt_count(lost));
	return !stdout_gone() && !(broken && t->o->until_limit) &&
	       !(t->o->count && !t->events.wanted && lost >= t->o->count);
}

static void show_end(struct trace *t, struct live_summary *s)
{
	struct json_object *end = NULL;
	struct live_table rows = {};

	if (!t->json) {
		worst_rows(&rows, s->total, t->by, 0, END_ROWS_MAX);
		s->total = &rows;
	}
	if (t->json || t->ledger.file || t->junit)
		end = json_trace_end(s, t->by);
	if (t->ledger.file && !t->ledger.rc) {
		write_quiet(t, s->duration_ns);
		written(t, ledgerfile_event(t->ledger.file, "end", NULL, end));
	}
	if (t->json)
		events_json_end(t, end);
	else
		print_trace_end(&t->text, &t->shown, s);
	table_free(&rows);
	junit_end(t->junit, end);
	json_out_once(t->json, "end", json_object_get(end));
	json_object_put(end);
}

static void put_junit_limits(const struct trace *t)
{
	for (unsigned i = 0; t->junit && i < t->limits.n; i++) {
		const double last = t->limits.at[i].measured, broken = t->broken[i];
		struct json_object *o = json_limit(&t->limits.at[i].limit,
						   broken > 0 ? broken : last, broken > 0);

		junit_limit(t->junit, o);
		json_object_put(o);
	}
}

static void on_end(struct trace *t, struct error *err)
{
	const struct live *l = t->session.live;
	static struct live_summary s; /* static because it is too large for a small stack */
	static struct tcp_balance tcp;

	events_read(t, true);
	events_finish(t);
	live_summarise(l, t->session.why, NULL, &s);
	s.interrupted = t->session.interrupted;
	if (t->account && !flow_account_end(t->account, err)) {
		flow_account_balance(t->account, l, &t->balance);
		s.flow = &t->balance;
	}
	t->tcp_balanced = session_balance(&t->session, &tcp, &s, err);
	log_progress_clear();
	put_junit_limits(t);
	show_end(t, &s);
}

/* Checks requirements that the option rows cannot express. */
static int check_options(const struct trace *t, struct error *err)
{
	const bool udp = *t->session.flow.udp, tcp = *t->session.flow.tcp;
	const struct trace_options *o = t->o;
	const struct contradiction list[] = {
		{o->capture && !strcmp(o->capture, "-"), "-w -: stdout is used for the tables",
		 "give a file, or a named pipe (mkfifo)"},
		{o->live.balance && !udp && o->seq.kind != NUMBERS_NONE,
		 "--seq is for UDP: TCP has its own", "leave it out"},
		{o->live.balance && !tcp && option_given("flows"),
		 "--flows is for TCP: the balance of UDP has no table of flows", "leave it out"},
		{o->live.balance && !udp && option_given("settle"),
		 "--settle is for UDP: TCP retransmits lost segments", "leave it out"},
		{tcp && o->live.spec.inner,
		 "--inner and --balance of TCP cannot be given together: TCP sockets do not know "
		 "the tunnel",
		 "remove one of the two options"},
		{0},
	};

	return contradiction_check(list, err);
}

static int check(struct trace *t, struct error *err)
{
	const struct trace_options *o = t->o;
	struct flow_expressions *flow = &t->session.flow;
	struct live_spec *spec = &t->session.spec;

	if (o->live.balance && !*o->live.expr.text)
		return error_usage(err, "for example: trace --balance udp port 5060",
				   "--balance needs an EXPR that selects the flow");
	if (trace_spec(&o->live, spec, err) ||
	    (o->live.balance && flow_expressions(flow, o->live.expr.text, err)) ||
	    check_options(t, err) || limits_init(&t->limits, o->limits.at, o->limits.n, err) ||
	    caps_require(&cmd_trace, *flow->udp ? "--balance" : NULL, err) ||
	    junit_try(o->junit, err))
		return -EINVAL;
	events_ask(t);
	if (o->live.balance) { /* the TCP ledger finds its drops independently */
		spec->followed = *flow->udp;
		spec->unfragmented = !spec->followed;
		spec->expr = spec->followed ? flow->udp : flow->tcp;
	}
	spec->burst_ns = o->burst_ns;
	t->by = spec->by;
	return ledger_open(t, err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists this kernel's drop reasons for `--reason help`. */
static int list_reasons(struct error *err)
{
	struct reasons *r;
	const char **names;
	unsigned n;
	int rc = reasons_open(&r, NULL, err);

	if (rc)
		return rc;
	n = reasons_count(r);
	names = reasons_names(r);
	qsort(names, n, sizeof(*names), by_name);
	for (unsigned i = 0; i < n; i++)
		printf("%s\n", names[i]);
	free(names);
	reasons_free(r);
	return 0;
}

static int trace_run(void *options, struct error *err)
{
	const struct trace_options *o = options;
	struct trace t = {
		.o = o,
		.text = global_view(&o->live.global),
		.shows_intervals =
			!o->live.balance || o->live.interval_set || o->live.counters || o->burst_ns,
		.session = {.tcp_flows = (unsigned)o->live.flows,
			    .tcp_trail = o->ledger,
			    .tcp_ends = true,
			    .interval_ns = o->live.interval_ns,
			    .duration_ns = o->live.duration_ns,
			    .command = o->command,
			    .stdout_to_stderr = global_json(&o->live.global),
			    .with_why = true,
			    .counters = o->live.counters ? COUNTERS_OF_ONE : COUNTERS_FOR_ROWS,
			    .on_open = on_open,
			    .on_start = on_start,
			    .on_tick = on_tick,
			    .on_interval = on_interval,
			    .on_over = on_over,
			    .arg = &t},
	};
	const int ours = o->command ? CHILD_OURS : STATUS_FAILED;
	int rc, child;

	if (o->live.spec.reasons && !strcmp(o->live.spec.reasons, "help"))
		return list_reasons(err);
	t.json = global_json_out(&o->live.global, "pktledger/trace/1");
	t.junit = o->junit ? junit_new("trace") : NULL;
	rc = check(&t, err);
	if (!rc)
		rc = session_run(&t.session, err);
	if (t.session.started)
		on_end(&t, err);
	junit_write(t.junit, o->junit, err);
	child = t.session.child.status;
	flow_account_close(t.account);
	session_end(&t.session);
	pcapng_close(t.events.file);
	if (t.ledger.file)
		written(&t, ledgerfile_close(t.ledger.file, &(struct error){}));
	log_progress_clear();
	t.incomplete |= output_end(t.json, err) || t.ledger.rc;
	if (o->command && (child > 0 || rc))
		return child > 0 ? child : CHILD_OURS;
	if (!rc && (t.limits.broken || (*t.session.flow.udp && !t.balance.balanced) ||
		    (*t.session.flow.tcp && !t.tcp_balanced)))
		return STATUS_BROKEN;
	return rc ? rc : t.incomplete ? ours : STATUS_OK;
}

int trace_lines(const struct live_options *o, struct error *err)
{
	struct trace_options options = defaults;

	options.live = *o;
	options.live.interval_set = true; /* the user asked for the screen */
	if (o->balance && !*o->expr.text)
		snprintf(options.live.expr.text, sizeof(options.live.expr.text), "tcp");
	return trace_run(&options, err);
}

static const struct opt_need needs[] = {
	TRACE_NEEDS,
	{OPT_CAP(SYSLOG), "to tell drops before and after arrival apart", .when = "--balance"},
	{OPT_CAP(NET_ADMIN), "to count the packets of a UDP flow", .when = "--balance"},
	{OPT_CAP(DAC_OVERRIDE), "to write to other users' directories", .when = "--keep",
	 .without = "the ledger must be in a directory that this user can write to",
	 .keeps = "to rewrite the ledger"},
	{0},
};

static const struct opt_example examples[] = {
	{"trace", "show drops on this host every second until Ctrl-C"},
	{"trace udp port 53 -- dig @198.18.0.2 example.org",
	 "trace one protocol while a command runs"},
	{"trace --by process,netns", "show which process and namespace owns the packets"},
	{"trace --balance udp port 5060",
	 "check that the application gets all packets that arrive for it"},
	{"trace --stage rcvbuf,backlog --limit loss=100/s --until-limit",
	 "wait until losses exceed the limit"},
	{"trace --counters -i eth0", "also show the rates of interfaces, queues and counters"},
	{"trace --events -c 10", "print the next ten lost packets, one per line"},
	{"trace --events -w lost.pcapng udp port 5060",
	 "print each packet and write it for Wireshark"},
	{"trace --inner --by flow udp port 53",
	 "show flows inside VXLAN, Geneve, GRE and IP in IP"},
	{"trace --microburst 1ms udp port 5060",
	 "show whether packets were lost in bursts, and when"},
	{"trace -t 60 -j", "trace for a minute, with JSON output"},
	{0},
};

const struct command cmd_trace = {
	.name = "trace",
	.summary = "watch packet drops live: where, why, which process",
	.everyday = "netns interface pid stage duration count limit balance events write "
		    "ledger by interval json verbose help",
	.synopsis = "[options] [EXPR] [-- COMMAND]",
	.description =
		"Shows the kernel's drops on this host in all network namespaces: the stage on the "
		"packet's path, the kernel's reason and function, interface, namespace, and, for a "
		"drop at a socket, that socket and its process. A question mark after the stage "
		"marks a suspected loss. Expected drops, such as multicast to a group that no "
		"socket here has joined, are only shown as a total.",
	.groups = trace_groups,
	.args = trace_args,
	.defaults = &defaults,
	.size = sizeof(struct trace_options),
	.needs = needs,
	.examples = examples,
	.run = trace_run,
};
