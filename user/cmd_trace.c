// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/when.h"
#include "commands.h"
#include "events.h"
#include "host/caps.h"
#include "host/env.h"
#include "live/child.h"
#include "live/flow_account.h"
#include "live/limits.h"
#include "live/session.h"
#include "live/sources.h"
#include "options.h"
#include "options_balance.h"
#include "options_trace.h"
#include "out/json_bursts.h"
#include "out/json_rates.h"
#include "out/json_trace.h"
#include "out/text_rates.h"
#include "out/text_trace.h"
#include "trace_ledger.h"

struct trace_options {
	struct global_options global;
	struct trace_filters filters;
	struct balance_options balance;
	struct trace_view view;
	struct events_options events;
	struct trace_ledger_options ledger;
	struct opt_limits limits;
	bool until_limit;
	uint64_t duration_ns, burst_ns;
	struct opt_words expr;
	char *const *command;
};

static const struct trace_options defaults = {
	.view = TRACE_VIEW_DEFAULTS, .balance = BALANCE_DEFAULTS, .ledger = TRACE_LEDGER_DEFAULTS};

static const struct opt trace_opts[] = {
	{"duration", 't', OPT_TIME, offsetof(struct trace_options, duration_ns), .min = 1,
	 .default_text = "until a signal, or the end of COMMAND", .help = "end after so long"},
	{"limit", 0, OPT_LIMITS, offsetof(struct trace_options, limits), .default_text = "none",
	 .help = "exit with 4 if more is lost: loss or a stage, in all or per second"},
	{"until-limit", 0, OPT_FLAG, offsetof(struct trace_options, until_limit),
	 .help = "end as soon as a limit is broken"},
	{"microburst", 0, OPT_TIME, offsetof(struct trace_options, burst_ns), .min = BURST_NS_MIN,
	 .max = BURST_NS_MAX, .default_text = "off",
	 .help = "tell in which windows of so long packets were lost, and which were the worst"},
	{0},
};

static const struct opt trace_args[] = {
	{"EXPR", 0, OPT_WORDS, offsetof(struct trace_options, expr),
	 .help = "which packets, in the language of pcap-filter(7)", .default_text = "all"},
	{"-- COMMAND", 0, OPT_COMMAND, offsetof(struct trace_options, command),
	 .help = "run it and trace while it lives; its exit status is ours"},
	{0},
};

static const struct opt_group trace_groups[] = {
	{"What", trace_filter_opts, offsetof(struct trace_options, filters)},
	{"How long", trace_opts, 0},
	{"Books of a flow", balance_opts, offsetof(struct trace_options, balance)},
	{"Single packets", events_opts, offsetof(struct trace_options, events)},
	{"For days", trace_ledger_opts, offsetof(struct trace_options, ledger)},
	{"Tables", trace_view_opts, offsetof(struct trace_options, view)},
	{"Output", global_opts, offsetof(struct trace_options, global)},
	{0},
};

/* What the callbacks of the session need. */
struct trace {
	const struct trace_options *o;
	struct live_spec spec;
	unsigned by;	       /* of what is shown */
	struct json_out *json; /* NULL: text */
	struct text_trace text;
	char netns[OWNER_NETNS];
	struct limits limits;
	struct why *why;
	struct sources *sources;
	char flow[FLOW_EXPRESSION]; /* EXPR, of the books */
	struct flow_account *account;
	struct flow_books books;
	struct balance_cost books_cost;
	struct events *events;
	struct trace_ledger *ledger;
	bool incomplete; /* a file that was asked for */
	bool gone;	 /* what is looked at, and it was said */
};

static int open_account(struct trace *t, struct live *l, struct error *err)
{
	const struct flow_account_spec spec = {t->flow, t->o->balance.seq, t->o->balance.settle_ns};
	int rc = flow_account_open(&t->account, &spec, live_reasons(l), live_ksyms(l), err);

	return rc ? rc : live_add_source(l, flow_account_source(t->account));
}

static int begin_events(struct trace *t, struct live *l, struct error *err)
{
	const struct events_view view = {
		.json = t->json,
		.document = t->o->global.json,
		.all = t->o->view.all,
		.netns = t->netns,
	};

	return events_begin(t->events, l, &view, err);
}

static int on_open(void *arg, struct live *l, struct error *err)
{
	struct trace *t = arg;
	int rc = why_open(&t->why, t->spec.owners, err);

	if (!rc)
		rc = live_add_source(l, why_source(t->why));
	if (!rc)
		rc = sources_open(&t->sources, &t->spec, t->o->view.counters, l, err);
	if (!rc)
		rc = begin_events(t, l, err);
	if (!rc && *sources_gaps(t->sources))
		log_warn("%s", sources_gaps(t->sources));
	if (!rc && t->o->balance.balance)
		rc = open_account(t, l, err);
	return rc;
}

static void on_tick(void *arg)
{
	const struct trace *t = arg;

	why_tick(t->why);
	events_read(t->events, false);
}

static int on_over(void *arg, struct error *err)
{
	const struct trace *t = arg;

	return t->account ? flow_account_end(t->account, err) : 0;
}

/* How much of the command line is told: of a COMMAND its name, as of all processes. */
static int told_words(void)
{
	int n = 0;

	while (n < program_argc && strcmp(program_argv[n], "--"))
		n++;
	return n + 2 < program_argc ? n + 2 : program_argc;
}

static void on_start(void *arg, const struct live *l)
{
	struct trace *t = arg;
	/* while we may load programs */
	struct json_object *env = t->json || t->ledger ? env_read(NULL) : NULL;
	struct live_spec shown = t->spec;
	struct json_object *start;

	if (shown.expr) /* as it was given */
		shown.expr = t->o->expr.text;
	tell_maps();
	trace_give_up_capabilities(cmd_trace.needs, t->o->ledger.keep_set ? "--keep" : NULL);
	trace_tell_gaps(l);
	shown.by = t->by;
	start = json_trace_start(told_words(), program_argv, env, &shown, t->o->view.interval_ns);
	trace_ledger_start(t->ledger, json_object_get(start));
	if (t->json)
		json_out_once(t->json, "start", json_object_get(start));
	else
		log_info("tracing what this host drops%s%s%s", shown.expr ? " of: " : "",
			 shown.expr ? shown.expr : "",
			 t->o->command || t->o->duration_ns ? "" : "; Ctrl-C ends");
	json_object_put(start);
}

static void tell_limit(const struct trace *t, const struct live *l, const struct limit *limit,
		       double measured)
{
	struct json_object *o = json_limit(limit, measured, true);
	char text[FMT_MAX];

	log_progress_clear();
	trace_ledger_limit(t->ledger, l, o);
	if (t->json)
		json_out_each(t->json, "limit", json_object_get(o));
	else
		log_warn("limit %s is broken: %.0f%s", num_text_limit(text, sizeof(text), limit),
			 measured, limit->unit == LIMIT_PER_SECOND ? "/s" : "");
	json_object_put(o);
}

static void tell_interval(const struct trace *t, const struct live *l)
{
	struct burst_report bursts;
	uint64_t length, time = live_time(l, &length);
	struct json_object *o = json_trace_interval(live_interval(l), t->by, time, length);

	if (live_bursts(l, &bursts, NULL))
		json_put(o, "microbursts", json_bursts(&bursts));
	if (t->o->view.counters && sources_rates(t->sources))
		json_put(o, "counters", json_rates(sources_rates(t->sources), t->o->view.all));
	json_out_each(t->json, "interval", o);
}

static void tell_gone(struct trace *t, const struct live *l)
{
	char what[128];

	t->gone = live_gone(l, what, sizeof(what));
	if (t->gone)
		log_warn("%s is gone: one that comes by this name is another", what);
}

/* False ends the session. */
static bool on_interval(void *arg, const struct live *l)
{
	struct trace *t = arg;
	const struct live_table *now = live_interval(l);
	uint64_t length, time = live_time(l, &length);
	struct burst_report bursts;
	char number[FMT_MAX];
	bool broken = false;

	events_read(t->events, false);
	log_progress_clear();
	if (t->json)
		tell_interval(t, l);
	else if (!t->o->global.quiet)
		text_trace_interval(&t->text, now, when_now(), length);
	if (!t->json && !t->o->global.quiet && live_bursts(l, &bursts, NULL))
		text_trace_bursts(&t->text, &bursts);
	if (!t->json && t->o->view.counters && sources_rates(t->sources))
		text_rates(stdout, sources_rates(t->sources), t->text.colour, t->o->view.all);
	output_flush();
	trace_ledger_interval(t->ledger, l);
	for (unsigned i = 0; i < t->limits.n; i++) {
		if (limits_crossed(&t->limits, i, now, live_total(l), length)) {
			tell_limit(t, l, &t->limits.at[i].limit, t->limits.at[i].measured);
			broken = true;
		}
	}
	if (!t->gone)
		tell_gone(t, l);
	log_progress("%.0f s: %s lost", (double)time * 1e-9,
		     fmt_count(number, sizeof(number),
			       table_sum(live_total(l), 1u << NOISE_LOSS).packets));
	return !stdout_gone() && !(broken && t->o->until_limit);
}

static void on_end(struct trace *t, const struct live *l, bool interrupted, struct error *err)
{
	struct live_summary *s = malloc(sizeof(*s));
	struct json_object *end;

	if (!s)
		return;
	events_read(t->events, true);
	t->incomplete = !events_finish(t->events);
	live_summarise(l, t->why, s);
	s->interrupted = interrupted;
	if (t->account && !flow_account_end(t->account, err)) {
		flow_account_books(t->account, l, &t->books, &t->books_cost);
		s->books = &t->books;
		s->books_cost = &t->books_cost;
	}
	log_progress_clear();
	trace_ledger_end(t->ledger, l, s);
	if (t->json) {
		end = json_trace_end(s, t->by);
		events_json_end(t->events, end);
		json_out_once(t->json, "end", end);
	} else {
		text_trace_end(&t->text, s);
	}
	free(s);
}

static void prepare_text(struct trace *t)
{
	struct netns own;
	struct error quiet = {};

	if (!netns_current(&own, &quiet)) {
		owners_netns(t->spec.owners, own.inum, t->netns);
		netns_close(&own);
	}
	t->text = (struct text_trace){
		.out = stdout,
		.colour = log_colour(STDOUT_FILENO),
		.width = text_trace_width(stdout),
		.by = t->by,
		.all = t->o->view.all,
		.verbosity = t->o->global.quiet ? -1 : (int)t->o->global.verbose,
		.netns = t->netns,
	};
}

static int check(const struct trace_options *o, struct trace *t, struct error *err)
{
	int rc = trace_spec(&o->filters, &o->view, o->expr.text, &t->spec, err);

	if (!rc)
		rc = balance_check(&o->balance, &o->filters, o->expr.text, err);
	if (!rc && o->balance.balance) {
		rc = flow_expression(o->expr.text, t->flow, err);
		t->spec.expr = t->flow;
	}
	if (!rc)
		rc = limits_init(&t->limits, o->limits.at, o->limits.n, err);
	if (!rc && o->until_limit && !o->limits.n)
		rc = error_set(err, STATUS_USAGE, -EINVAL, "add --limit loss=0",
			       "--until-limit needs a --limit");
	if (!rc)
		rc = caps_require(&cmd_trace, NULL, err);
	if (!rc)
		rc = events_open(&t->events, &o->events, err);
	t->spec.snaplen = events_snaplen(t->events);
	t->spec.stack = o->events.stack;
	t->spec.burst_ns = o->burst_ns;
	t->by = t->spec.by;
	return rc ? rc : trace_ledger_open(&t->ledger, &o->ledger, o->view.by.n, &t->spec, err);
}

/* Runs the whole; returns the exit status. */
static int trace(struct trace *t, struct error *err)
{
	const struct trace_options *o = t->o;
	struct session_spec session = {
		.live = &t->spec,
		.interval_ns = o->view.interval_ns,
		.duration_ns = o->duration_ns,
		.command = o->command,
		.stdout_to_stderr = t->json != NULL,
		.on_open = on_open,
		.on_start = on_start,
		.on_tick = on_tick,
		.on_interval = on_interval,
		.on_over = on_over,
		.arg = t,
	};
	struct session_result done = {};
	int rc = check(o, t, err);

	if (!rc)
		rc = owners_open(&t->spec.owners, NULL, err);
	if (!rc)
		prepare_text(t);
	if (!rc)
		rc = session_run(&session, &done, err);
	if (done.live)
		on_end(t, done.live, done.interrupted, err);
	flow_account_close(t->account);
	live_close(done.live);
	why_close(t->why);
	sources_close(t->sources);
	events_close(t->events);
	t->incomplete |= !trace_ledger_close(t->ledger);
	owners_close(t->spec.owners);
	if (o->command && (done.command_status || rc))
		return done.command_status ? done.command_status : CHILD_OURS;
	if (rc)
		return err->status;
	if (limits_broken(&t->limits) || (o->balance.balance && !t->books.balanced))
		return STATUS_BROKEN;
	return !t->incomplete ? STATUS_OK : o->command ? CHILD_OURS : STATUS_FAILED;
}

static int trace_run(void *options, struct error *err)
{
	const struct trace_options *o = options;
	enum output output = global_output(&o->global);
	struct trace t = {.o = o};
	int status;

	log_init(o->global.quiet ? -1 : (int)o->global.verbose);
	if (o->filters.reasons && !strcmp(o->filters.reasons, "help"))
		return trace_list_reasons(stdout, err) ? (int)err->status : STATUS_OK;
	if (output != OUTPUT_TEXT)
		t.json = json_out_new(stdout, output == OUTPUT_JSON ? JSON_DOC : JSON_LINES,
				      "pktledger/trace/1");
	status = trace(&t, err);
	log_progress_clear();
	if (t.json && err->status != STATUS_OK)
		json_out_error(t.json, err);
	if (output_end(t.json, err) && status == STATUS_OK)
		status = o->command ? CHILD_OURS : STATUS_FAILED;
	return status;
}

static const struct opt_need needs[] = {
	TRACE_NEEDS,
	{OPT_CAP(DAC_OVERRIDE), "to write in directories of others", .when = "--keep",
	 .without = "the ledger must be where this user may write",
	 .keeps = "to make the ledger anew"},
	{0},
};

static const struct opt_example examples[] = {
	{"trace", "what this host drops, each second, until Ctrl-C"},
	{"trace udp port 53 -- dig @198.18.0.2 example.org",
	 "of one protocol, while a command runs"},
	{"trace --by process,netns", "whose packets they are"},
	{"trace --balance udp port 5060", "does what arrives for this application reach it?"},
	{"trace --stage rcvbuf,backlog --limit loss=100/s --until-limit", "wait for it to happen"},
	{"trace --counters -i eth0", "the rates of devices, queues and counters beside it"},
	{"trace --events -w lost.pcapng udp port 5060", "each packet, for people and Wireshark"},
	{"trace --microburst 1ms udp port 5060", "did it come all at once, and when?"},
	{"trace -t 60 -j", "a minute, as JSON"},
	{0},
};

const struct command cmd_trace = {
	.name = "trace",
	.summary = "live drop attribution of any traffic here",
	.synopsis = "[options] [EXPR] [-- COMMAND]",
	.description =
		"Shows what the kernel drops on this host, in all network namespaces: the stage on "
		"the packet's path, the kernel's reason and function, interface, namespace, and "
		"where a socket dropped it, that socket and its process. A stage with a question "
		"mark may be no loss. What nobody misses, as multicast that no one has joined, is "
		"only summed up.",
	.groups = trace_groups,
	.args = trace_args,
	.defaults = &defaults,
	.size = sizeof(struct trace_options),
	.needs = needs,
	.examples = examples,
	.run = trace_run,
};
