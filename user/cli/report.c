// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/caps.h"
#include "diagnosis/facts.h"
#include "drops/reason.h"
#include "report/junit.h"
#include "report/ledgerfile.h"
#include "report/print.h"
#include "report/series.h"
#include "experiment/remote.h"

#define SCHEMA	"pktledger/run/1"
#define LINE_NS 10000000000ULL

int outputs_open(struct outputs *o, const char *schema, const struct global_options *g,
		 const char *ledger, struct error *err)
{
	*o = (struct outputs){.schema = schema};
	o->json = global_json_out(g, schema);
	return ledger ? ledgerfile_open(&o->ledger, ledger, err) : 0;
}

void outputs_start(struct outputs *o, struct json_object *data)
{
	ledgerfile_start(o->ledger, o->schema, data);
	json_out_once(o->json, "start", data);
}

void outputs_end(struct outputs *o, struct json_object *data)
{
	const struct print_view view = global_view(NULL);

	ledgerfile_event(o->ledger, "end", NULL, data);
	if (!o->json)
		text_one_end(&view, data);
	json_out_once(o->json, "end", data);
}

void outputs_interval(struct outputs *o, const struct experiment_interval *now)
{
	struct json_object *data = o->json || o->ledger ? json_interval(now) : NULL;

	ledgerfile_interval(o->ledger, data);
	json_out_each(o->json, "interval", data);
}

void outputs_range(void *arg, const struct range *r, const char *outcome,
		   const struct result_cause *cause)
{
	struct outputs *o = arg;

	ledgerfile_range(o->ledger, r, outcome, cause);
}

static void keep_error(struct outputs *o, const struct error *err)
{
	struct json_object *data = json_error(err);

	if (err->status != STATUS_OK)
		ledgerfile_event(o->ledger, "error", NULL, data);
	json_object_put(data);
}

void outputs_close(struct outputs *o, struct error *err)
{
	keep_error(o, err);
	ledgerfile_close(o->ledger, err);
	output_end(o->json, err);
}

/* Returns "search" from "pktledger/search/1". */
static const char *command_of(const char *schema)
{
	return !strcmp(schema, SERIES_SCHEMA) ? "sweep" : "search";
}

struct report *report_new(const struct run_options *o, const char *schema, struct error *err)
{
	struct report *r = mem_new(r);

	r->o = o;
	r->own = !schema;
	r->junit_file = o->junit;
	r->session = session_new();
	r->junit = o->junit ? junit_new(schema ? command_of(schema) : "run") : NULL;
	r->trials = r->own && o->repeat > 1 ? trials_new(o->repeat) : NULL;
	if (!outputs_open(&r->out, schema ? schema : SCHEMA, &o->global, o->ledger, err) &&
	    !junit_try(o->junit, err))
		return r;
	report_finish(r, err);
	return NULL;
}

static void on_start(void *arg, const struct run_spec *spec, const struct lab *lab,
		     const struct result *so_far, const struct outcomes_numbers *streams)
{
	struct report *r = arg;
	bool begins = r->out.json && r->own && !r->shown;
	struct run_header head;

	run_header_fill(&head, spec, lab, so_far, streams);
	head.argv = program_argv;
	head.argc = program_argc;
	head.faults = r->o->fault_text;
	head.far_env = spec->far ? spec->far->env : NULL;
	head.trials = r->trials ? r->o->repeat : 0;
	head.trial = r->trials ? r->shown + 1 : 0;
	if (spec->port_a || spec->far)
		show_plan(spec, head.rate_pps, spec->far ? so_far->tx_host.name : spec->port_a,
			  spec->far ? so_far->rx_host.name : spec->port_b);
	json_object_put(r->start);
	/* if there is another host, its side of the path cannot be read from here */
	r->start = json_start(&head,
			      r->out.ledger || begins ? env_read(spec->far ? NULL : lab) : NULL);
	ledgerfile_start(r->out.ledger, SCHEMA, r->start);
	if (begins)
		json_out_once(r->out.json, "start", json_object_get(r->start));
	caps_give_up(run_needs, NULL,
		     r->own && r->shown + 1 >= r->o->repeat ? CAPS_ONCE : CAPS_AGAIN);
}

/*
 * Prints an interval. Long intervals become permanent lines with the CPU cost at both ends, because
 * a soak test is read after it has finished.
 */
static void show_interval(struct report *r, const struct experiment_interval *now)
{
	const struct experiment_interval *last = &r->reported;
	double ns = (double)(now->time_ns - last->time_ns);

	log_info("%s%.0f s: %s sent, %s lost, CPU of the sender %.0f %%, of the receiver %.0f %%, "
		 "%s",
		 r->title, (double)now->time_ns * 1e-9, fmt_count(now->sent - last->sent),
		 fmt_count(now->dropped - last->dropped),
		 (double)(now->tx_cpu_ns - last->tx_cpu_ns) / ns * 100,
		 (double)(now->rx_cpu_ns - last->rx_cpu_ns) / ns * 100,
		 fmt_bytes(now->memory_bytes));
	r->reported = *now;
}

char *report_left(const struct run_spec *spec, uint64_t n, uint64_t time_ns)
{
	const double done = (double)n, time = (double)time_ns;
	const double all = (double)spec->count, limit = (double)spec->duration_ns;
	const bool by_time = limit > 0 && (spec->count == UINT64_MAX || time / limit > done / all);

	if (!by_time && spec->count == UINT64_MAX)
		return fmt_left(0, 0, 0);
	return by_time ? fmt_left(time, limit, time_ns) : fmt_left(done, all, time_ns);
}

static bool on_interval(void *arg, const struct experiment_interval *now)
{
	const char *sent = fmt_count(now->sent), *delivered = fmt_count(now->delivered);
	const char *dropped = fmt_count(now->dropped);
	double seconds = (double)now->time_ns * 1e-9;
	struct report *r = arg;

	if (now->settling) {
		log_progress("%swaiting for packets in flight: %s sent, %s delivered, %s dropped",
			     r->title, sent, delivered, dropped);
		return true;
	}
	log_progress("%s%.1f s%s: %s sent (%s), %s delivered, %s dropped", r->title, seconds,
		     report_left(r->spec, now->sent, now->time_ns), sent,
		     fmt_rate(seconds > 0 ? (double)now->sent / seconds : 0), delivered, dropped);
	if (r->o->traffic.spec.interval_ns >= LINE_NS)
		show_interval(r, now);
	/* a series document contains only trials */
	outputs_interval(
		&(struct outputs){.json = r->own ? r->out.json : NULL, .ledger = r->out.ledger},
		now);
	return !stdout_gone();
}

static double measure(const struct limit *limit, const struct result *res)
{
	uint64_t lost = limit->stage == STAGE_NONE
				? lost_packets(res->sent, res->delivered, res->in_flight)
				: res->stage[limit->stage].packets;
	double seconds = (double)res->duration_ns * 1e-9;

	switch (limit->unit) {
	case LIMIT_SHARE:
		return fraction_of((double)lost, (double)res->sent);
	case LIMIT_PER_SECOND:
		return seconds > 0 ? (double)lost / seconds : 0;
	case LIMIT_PACKETS:
		break;
	}
	return (double)lost;
}

static void check_limits(struct report *r)
{
	for (unsigned i = 0; i < r->o->limits.n; i++) {
		const struct limit *limit = &r->o->limits.at[i];
		double measured = measure(limit, &r->res);

		struct json_object *o = json_limit(limit, measured, measured > limit->value);

		junit_limit(r->junit, o);
		json_out_each(r->out.json, "limit", o);
		if (measured <= limit->value)
			continue;
		r->broken = true;
		log_error("limit broken: %s, measured %g%s", num_text_limit(limit),
			  limit->unit == LIMIT_SHARE ? measured * 100 : measured,
			  limit->unit == LIMIT_SHARE ? "%" : "");
	}
}

static void show(struct report *r)
{
	json_object_put(r->end);
	r->end = json_end(&r->res);
	ledgerfile_event(r->out.ledger, "end", NULL, r->end);
	log_progress_clear();
	if (!r->own) {
		/* shown by the caller */
	} else if (r->trials) {
		trials_add(r->trials, &r->res, r->res.payload_bytes);
		if (r->out.json)
			json_out_each(r->out.json, "trial", json_object_get(r->end));
		else
			trials_print_row(stdout, r->trials, &r->res);
	} else if (r->out.json) {
		json_out_once(r->out.json, "end", json_object_get(r->end));
	} else {
		const struct print_view view = global_view(&r->o->global);
		struct run_header head;

		json_read_start(r->start, &head);
		text_run(&view, &head, &r->res);
	}
	output_flush();
	if (r->own) /* search trials lose packets on purpose */
		junit_end(r->junit, r->end);
	check_limits(r);
	r->shown++;
}

void report_trial(struct report *r, const struct run_spec *spec, struct error *err)
{
	const struct experiment_view view = {
		.on_note = show_note,
		.on_start = on_start,
		.on_interval = on_interval,
		.on_range = r->out.ledger ? outputs_range : NULL,
		.arg = r,
	};
	struct run_spec with = *spec;
	int rc = 0;

	r->reported = (struct experiment_interval){};
	if (!r->shown && (r->out.json || r->out.ledger))
		quirks_prepare(); /* for env_read(), while the test network is created */
	if (!r->far)
		rc = remote_connect(&r->o->far, (uint16_t)spec->port, &r->far, err);
	with.far = r->far;
	with.session = r->session;
	r->spec = &with;
	if (rc)
		memset(&r->res, 0, sizeof(r->res));
	else
		rc = experiment_run(&with, &view, &r->res, NULL, err);
	r->recorded = !rc || r->res.attempted;
	/* the ledger is closed even if an engine ended early */
	if (r->recorded)
		show(r);
	r->broken |= r->res.attempted && !r->res.balanced;
	r->interrupted = rc == -EINTR || r->res.interrupted;
	r->ended = rc || r->interrupted;
}

void report_next(struct report *r, const struct run_options *o, const char *title)
{
	r->o = o;
	snprintf(r->title, sizeof(r->title), "%s%s", title, *title ? ": " : "");
	if (*title)
		log_progress("%s", title);
}

void report_series(struct report *r, struct json_object *start)
{
	ledgerfile_event(r->out.ledger, "series", r->out.schema, start);
	json_out_once(r->out.json, "start", start);
}

struct json_object *report_series_trial(struct report *r, struct json_object *members)
{
	struct json_object *trial =
		r->recorded ? json_object_get(r->end) : json_object_new_object();

	ledgerfile_event(r->out.ledger, "trial", NULL, members);
	json_put_all(trial, members);
	json_out_each(r->out.json, "trial", json_object_get(trial));
	json_object_put(members);
	return trial;
}

void report_series_end(struct report *r, struct json_object *end, const struct error *err)
{
	keep_error(&r->out, err);
	junit_end(r->junit, end);
	ledgerfile_event(r->out.ledger, "series_end", NULL, end);
	json_out_once(r->out.json, "end", end);
}

int report_finish(struct report *r, struct error *err)
{
	bool broken = r->broken;

	junit_write(r->junit, r->junit_file, err);
	if (r->own) /* already part of the series document */
		keep_error(&r->out, err);
	ledgerfile_close(r->out.ledger, err);
	r->out.ledger = NULL;
	if (r->trials && r->shown && r->out.json) {
		struct json_object *end = json_object_new_object();

		trials_put(end, r->trials);
		json_out_once(r->out.json, "end", end);
	} else if (r->trials && r->shown) {
		trials_print_end(stdout, r->trials);
	}
	outputs_close(&r->out, err);
	free(r->trials);
	peer_close(r->far);
	session_close(r->session);
	json_object_put(r->start);
	json_object_put(r->end);
	free(r);
	return broken && err->status == STATUS_OK ? STATUS_BROKEN : 0;
}
