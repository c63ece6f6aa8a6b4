// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/trace_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/clock.h"
#include "cli/options.h"
#include "host/caps.h"
#include "diagnosis/env.h"
#include "monitor/child.h"
#include "monitor/flow.h"
#include "monitor/session.h"
#include "monitor/sources.h"
#include "report/json_bursts.h"
#include "report/json_rates.h"
#include "report/json_trace.h"
#include "report/text_rates.h"
#include "report/text_trace.h"

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

	return flow_account_open(&t->account, &spec, l, err);
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
	int rc = why_open(&t->why, t->spec.owners, l, err);

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

static int check(struct trace *t, struct error *err)
{
	const struct trace_options *o = t->o;
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

int trace_session(const struct trace_options *o, struct json_out *json, struct error *err)
{
	struct trace t = {.o = o, .json = json};
	struct session_spec session = {
		.live = &t.spec,
		.interval_ns = o->view.interval_ns,
		.duration_ns = o->duration_ns,
		.command = o->command,
		.stdout_to_stderr = json != NULL,
		.on_open = on_open,
		.on_start = on_start,
		.on_tick = on_tick,
		.on_interval = on_interval,
		.on_over = on_over,
		.arg = &t,
	};
	struct session_result done = {};
	int rc = check(&t, err);

	if (!rc)
		rc = owners_open(&t.spec.owners, NULL, err);
	if (!rc)
		prepare_text(&t);
	if (!rc)
		rc = session_run(&session, &done, err);
	if (done.live)
		on_end(&t, done.live, done.interrupted, err);
	flow_account_close(t.account);
	live_close(done.live);
	why_close(t.why);
	sources_close(t.sources);
	events_close(t.events);
	t.incomplete |= !trace_ledger_close(t.ledger);
	owners_close(t.spec.owners);
	if (o->command && (done.command_status || rc))
		return done.command_status ? done.command_status : CHILD_OURS;
	if (rc)
		return err->status;
	if (limits_broken(&t.limits) || (o->balance.balance && !t.books.balanced))
		return STATUS_BROKEN;
	return !t.incomplete ? STATUS_OK : o->command ? CHILD_OURS : STATUS_FAILED;
}
