// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "host/caps.h"
#include "diagnosis/facts.h"
#include "report/ledgerfile.h"
#include "report/text.h"
#include "report/trials.h"
#include "experiment/remote.h"

#define SCHEMA	"pktledger/run/1"
#define LINE_NS 10000000000ULL

struct report {
	const struct run_options *o;
	const char *schema;
	bool own; /* run's: trials are shown here */
	char title[96];
	struct json_out *json; /* NULL: text */
	struct ledgerfile *ledger;
	struct peer *far;		 /* NULL: none, or not connected yet */
	struct json_object *start, *end; /* of this trial: what is printed, written and kept */
	struct result *res;		 /* as `end` says, from which it borrows */
	struct trials *trials;		 /* NULL: one trial only */
	unsigned shown;
	struct experiment_interval told; /* the last one that was told in a line */
	bool ended, interrupted, broken, booked;
};

struct report *report_new(const struct run_options *o, const char *schema, struct error *err)
{
	struct report *r = calloc(1, sizeof(*r));
	enum output output = global_output(&o->global);

	if (r) {
		r->o = o;
		r->own = !schema;
		r->schema = schema ? schema : SCHEMA;
		r->res = calloc(1, sizeof(*r->res));
		r->trials = r->own && o->repeat > 1 ? trials_new(o->repeat) : NULL;
		if (output != OUTPUT_TEXT)
			r->json = json_out_new(
				stdout, output == OUTPUT_JSON ? JSON_DOC : JSON_LINES, r->schema);
	}
	if (!r || !r->res || (r->own && o->repeat > 1 && !r->trials) ||
	    (output != OUTPUT_TEXT && !r->json)) {
		error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
		goto fail;
	}
	if (!o->ledger || !ledgerfile_open(&r->ledger, o->ledger, err))
		return r;
fail:
	if (r) {
		r->ended = true;
		report_finish(r, err);
	}
	return NULL;
}

/* Of this host: where another one takes part, its side of the path is not to be read here. */
static struct json_object *read_env(const struct run_spec *spec, const struct lab *lab)
{
	return env_read(spec->far ? NULL : lab);
}

static void on_start(void *arg, const struct run_spec *spec, const struct lab *lab,
		     const struct result *so_far, const struct experiment_streams *streams)
{
	struct report *r = arg;
	bool begins = r->json && r->own && !r->shown;
	struct run_header head;

	run_header_fill(&head, spec, lab, so_far, streams);
	head.argv = program_argv;
	head.argc = program_argc;
	head.faults = r->o->fault_text;
	head.far_env = spec->far ? spec->far->env : NULL;
	head.trials = r->trials ? r->o->repeat : 0;
	head.trial = r->trials ? r->shown + 1 : 0;
	if (spec->port_a || spec->far)
		tell_plan(spec, head.rate_pps, spec->far ? so_far->tx_host.name : spec->port_a,
			  spec->far ? so_far->rx_host.name : spec->port_b);
	json_object_put(r->start);
	r->start = json_start(&head, r->ledger || begins ? read_env(spec, lab) : NULL);
	if (r->ledger)
		ledgerfile_start(r->ledger, SCHEMA, r->start);
	if (begins)
		json_out_once(r->json, "start", json_object_get(r->start));
	tell_maps();
	caps_give_up(run_needs, NULL,
		     r->own && r->shown + 1 >= r->o->repeat ? CAPS_ONCE : CAPS_AGAIN);
}

static void show_progress(const struct report *r, const struct experiment_interval *now)
{
	char sent[FMT_MAX], delivered[FMT_MAX], dropped[FMT_MAX], rate[FMT_MAX];
	double seconds = (double)now->time_ns * 1e-9;

	fmt_count(sent, sizeof(sent), now->sent);
	fmt_count(delivered, sizeof(delivered), now->delivered);
	fmt_count(dropped, sizeof(dropped), now->dropped);
	fmt_rate(rate, sizeof(rate), seconds > 0 ? (double)now->sent / seconds : 0);
	if (now->settling)
		log_progress("%swaiting for packets under way: %s sent, %s delivered, %s dropped",
			     r->title, sent, delivered, dropped);
	else
		log_progress("%s%.1f s: %s sent (%s), %s delivered, %s dropped", r->title, seconds,
			     sent, rate, delivered, dropped);
}

/*
 * Long intervals are lines that stay, with what both ends cost in each: a soak is read when it is
 * over.
 */
static void tell_interval(struct report *r, const struct experiment_interval *now)
{
	const struct experiment_interval *last = &r->told;
	char sent[FMT_MAX], dropped[FMT_MAX], memory[FMT_MAX];
	double ns = (double)(now->time_ns - last->time_ns);

	log_info("%s%.0f s: %s sent, %s lost, CPU of the sender %.0f %%, of the receiver %.0f %%, "
		 "%s",
		 r->title, (double)now->time_ns * 1e-9,
		 fmt_count(sent, sizeof(sent), now->sent - last->sent),
		 fmt_count(dropped, sizeof(dropped), now->dropped - last->dropped),
		 (double)(now->tx_cpu_ns - last->tx_cpu_ns) / ns * 100,
		 (double)(now->rx_cpu_ns - last->rx_cpu_ns) / ns * 100,
		 fmt_bytes(memory, sizeof(memory), now->memory_bytes));
	r->told = *now;
}

static bool on_interval(void *arg, const struct experiment_interval *now)
{
	struct report *r = arg;

	show_progress(r, now);
	if (now->settling)
		return true;
	if (r->o->traffic.spec.interval_ns >= LINE_NS)
		tell_interval(r, now);
	if (r->ledger || (r->json && r->own)) {
		struct json_object *interval = json_interval(now);

		if (r->ledger)
			ledgerfile_interval(r->ledger, interval);
		if (r->json && r->own)
			json_out_each(r->json, "interval", json_object_get(interval));
		json_object_put(interval);
	}
	return !stdout_gone();
}

static void on_fates(void *arg, uint16_t stream, uint64_t first, uint64_t last, const char *fate,
		     const struct result_cause *cause)
{
	struct report *r = arg;

	ledgerfile_fates(r->ledger, stream, first, last, fate, cause);
}

static double measure(const struct limit *limit, const struct result *res)
{
	uint64_t lost = limit->stage == STAGE_NONE ? res->sent - res->delivered
						   : res->stage[limit->stage].packets;
	double seconds = (double)res->duration_ns * 1e-9;

	switch (limit->unit) {
	case LIMIT_SHARE:
		return res->sent ? (double)lost / (double)res->sent : 0;
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
		double measured = measure(limit, r->res);
		char text[FMT_MAX];

		if (r->json)
			json_out_each(r->json, "limit",
				      json_limit(limit, measured, measured > limit->value));
		if (measured <= limit->value)
			continue;
		r->broken = true;
		num_text_limit(text, sizeof(text), limit);
		log_error("limit broken: %s, measured %g%s", text,
			  limit->unit == LIMIT_SHARE ? measured * 100 : measured,
			  limit->unit == LIMIT_SHARE ? "%" : "");
	}
}

/* From here on all is as the document says, and as `report` will read it. */
static void close_document(struct report *r)
{
	const unsigned payload = r->res->payload_bytes, frame = r->res->frame_bytes;

	json_object_put(r->end);
	r->end = json_end(r->res);
	json_read_end(r->end, r->res);
	r->res->payload_bytes = payload;
	r->res->frame_bytes = frame;
}

static void show(struct report *r)
{
	close_document(r);
	if (r->ledger)
		ledgerfile_event(r->ledger, "end", NULL, r->end);
	log_progress_clear();
	if (!r->own) {
		/* by the caller */
	} else if (r->trials) {
		trials_add(r->trials, r->res);
		if (r->json)
			json_out_each(r->json, "trial", json_object_get(r->end));
		else
			trials_print_row(stdout, r->trials, r->res);
	} else if (r->json) {
		json_out_once(r->json, "end", json_object_get(r->end));
	} else {
		text_run(stdout, r->start, r->end, log_colour(STDOUT_FILENO),
			 r->o->global.quiet ? -1 : (int)r->o->global.verbose);
	}
	output_flush();
	check_limits(r);
	r->shown++;
}

void report_trial(struct report *r, const struct run_spec *spec, struct error *err)
{
	const struct experiment_view view = {
		.on_note = tell_note,
		.on_start = on_start,
		.on_interval = on_interval,
		.on_fates = r->ledger ? on_fates : NULL,
		.arg = r,
	};
	struct run_spec with = *spec;
	int rc = 0;

	r->told = (struct experiment_interval){};
	if (!r->far)
		rc = far_connect(&r->o->far, (uint16_t)spec->port, &r->far, err);
	with.far = r->far;
	if (rc)
		memset(r->res, 0, sizeof(*r->res));
	else
		rc = experiment_run(&with, &view, r->res, err);
	r->booked = !rc || r->res->attempted;
	/* an engine that died early leaves books that close all the same */
	if (r->booked)
		show(r);
	r->broken |= r->res->attempted && !r->res->balanced;
	r->interrupted = rc == -EINTR || r->res->interrupted;
	r->ended = rc || r->interrupted;
}

void report_next(struct report *r, const struct run_options *o, const char *title)
{
	r->o = o;
	snprintf(r->title, sizeof(r->title), "%s%s", title, *title ? ": " : "");
	if (*title)
		log_progress("%s", title);
}

bool report_interrupted(const struct report *r)
{
	return r->interrupted;
}

const struct result *report_result(const struct report *r)
{
	return r->booked ? r->res : NULL;
}

bool report_records(const struct report *r)
{
	return r->json || r->ledger;
}

void report_series(struct report *r, struct json_object *start)
{
	if (r->ledger)
		ledgerfile_event(r->ledger, "series", r->schema, start);
	if (r->json)
		json_out_once(r->json, "start", json_object_get(start));
	json_object_put(start);
}

void report_series_trial(struct report *r, struct json_object *members)
{
	struct json_object *trial;

	if (r->ledger)
		ledgerfile_event(r->ledger, "trial", NULL, members);
	if (r->json) {
		trial = r->booked ? json_object_get(r->end) : json_object_new_object();
		json_object_object_foreach (members, key, value)
			json_put(trial, key, json_object_get(value));
		json_out_each(r->json, "trial", trial);
	}
	json_object_put(members);
}

void report_series_end(struct report *r, struct json_object *end, const struct error *err)
{
	struct json_object *failed;

	if (r->ledger && err->status != STATUS_OK) {
		failed = json_error(err->message, err->hint, err->status);
		ledgerfile_event(r->ledger, "error", NULL, failed);
		json_object_put(failed);
	}
	if (r->ledger)
		ledgerfile_event(r->ledger, "series_end", NULL, end);
	if (r->json)
		json_out_once(r->json, "end", json_object_get(end));
	json_object_put(end);
}

struct json_out *report_json(const struct report *r)
{
	return r->json;
}

bool report_ended(const struct report *r)
{
	return r->ended;
}

int report_finish(struct report *r, struct error *err)
{
	bool broken = r->broken;

	ledgerfile_close(r->ledger, err);
	if (r->trials && r->shown) {
		if (r->json)
			json_out_once(r->json, "end", trials_json(r->trials));
		else
			trials_print_end(stdout, r->trials);
	}
	if (r->json && err->status != STATUS_OK)
		json_out_error(r->json, err);
	output_end(r->json, err);
	trials_free(r->trials);
	peer_close(r->far);
	json_object_put(r->start);
	json_object_put(r->end);
	free(r->res);
	free(r);
	if (err->status != STATUS_OK)
		return (int)err->status;
	return broken ? STATUS_BROKEN : STATUS_OK;
}
