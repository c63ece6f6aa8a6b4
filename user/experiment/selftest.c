// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "experiment/experiment.h"
#include "experiment/faults/row.h"
#include "drops/stagemap.h"

#define PORT	28779
#define PAYLOAD 512
/*
 * Attempts if tracing was suppressed, or may have been suppressed in a timer. Neither is a
 * disagreement.
 */
#define TRIES 3

const char *selftest_verdict_name(enum selftest_verdict v)
{
	static const char *const names[] = {"agrees", "disagrees", "skipped"};

	return names[v];
}

/* Sets the note unless one is already set. */
static void note(struct selftest_row *row, const char *fmt, ...)
{
	va_list args;

	if (*row->note)
		return;
	va_start(args, fmt);
	vsnprintf(row->note, sizeof(row->note), fmt, args);
	va_end(args);
}

static void count_counters(const struct result *res, struct selftest_row *row)
{
	for (unsigned i = 0; i < res->n_counters; i++) {
		const struct result_counter *c = &res->counter[i];

		if (c->stage != row->stage)
			continue;
		row->counters++;
		row->agreeing += c->agrees || c->documented;
		if (!c->agrees)
			note(row, "%s moved by %llu, not %llu%s%s", c->name,
			     (unsigned long long)c->delta, (unsigned long long)c->expected,
			     c->note ? ": " : "", c->note ? c->note : "");
	}
}

/*
 * Returns whether a counter confirms the losses at a stage, and only counters that are known to be
 * wrong disagree.
 */
static bool confirmed(const struct result *res, enum stage stage)
{
	unsigned agreeing = 0;

	for (unsigned i = 0; i < res->n_counters; i++) {
		const struct result_counter *c = &res->counter[i];

		if (c->stage == stage && !c->agrees && !c->documented)
			return false;
		agreeing += c->stage == stage && c->agrees;
	}
	return agreeing && res->stage[stage].events == res->stage[stage].packets;
}

/* Returns confirmed losses at other stages, which a slow or busy host caused on its own. */
static uint64_t lost_elsewhere(const struct result *res, enum stage injected)
{
	uint64_t packets = 0;

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (s != (int)injected && res->stage[s].packets && confirmed(res, s))
			packets += res->stage[s].packets;
	}
	return packets;
}

static void judge(const struct result *res, struct selftest_row *row)
{
	const struct result_stage *stage = &res->stage[row->stage];
	uint64_t elsewhere = lost_elsewhere(res, row->stage), due;

	row->injected = res->sent - res->delivered - elsewhere;
	row->settled = stage->packets;
	row->events = stage->events;
	row->counters = row->agreeing = 0;
	row->note[0] = '\0';
	/* an event reports one packet, so a fragmented datagram has one event per fragment */
	due = fault_is(row->fault, SILENT) ? 0
	      : res->fragments.made	   ? res->fragments.dropped
					   : row->settled;
	row->verdict = SELFTEST_DISAGREES;
	if (fault_is(row->fault, HARMLESS)) { /* events that do not end a packet do not count */
		bool quiet = res->balanced && !row->settled;

		count_counters(res, row);
		row->note[0] = '\0';
		if (quiet && row->events)
			row->verdict = SELFTEST_AGREES;
		note(row, !quiet	? "something was lost by it"
			  : row->events ? "nothing is lost by it"
					: "no event showed it");
		return;
	}
	if (!res->balanced)
		note(row, "%llu unaccounted%s%s",
		     (unsigned long long)(res->unaccounted + res->in_flight),
		     res->losses.suppressed ? ": " : "", res->losses.suppressed_evidence);
	else if (!row->injected)
		note(row, "nothing was lost");
	count_counters(res, row);
	if (res->balanced && row->injected) {
		if (row->settled == row->injected && row->events == due &&
		    row->agreeing == row->counters)
			row->verdict = SELFTEST_AGREES;
		else if (row->settled != row->injected)
			note(row, "%llu lost elsewhere, by no counter",
			     (unsigned long long)(row->injected - row->settled));
		else if (row->events != due)
			note(row, "%s due", fmt_many(due, "event is|events are"));
	}
	if (fault_is(row->fault, SILENT))
		note(row, "known by the probes on both sides");
	if (elsewhere)
		note(row, "other stages lost %llu more", (unsigned long long)elsewhere);
}

static void skip(struct selftest_row *row, const char *why)
{
	row->verdict = SELFTEST_SKIPPED;
	row->note[0] = '\0';
	note(row, "%s", why);
}

/* Uses the fault with the given value, or with its default. */
static int take_fault(const struct selftest_spec *spec, unsigned fault, struct fault_list *list,
		      struct error *err)
{
	if (!fault_has(spec->values, fault))
		return fault_parse(fault_values[fault].name, false, list, err);
	*list = *spec->values;
	list->set = FAULT_BIT(fault);
	for (unsigned f = 0; f < fault_count(); f++)
		list->share[f] = f == fault ? list->share[f] : 0;
	return 0;
}

int selftest_fault(const struct selftest_spec *spec, unsigned fault, struct selftest_row *row)
{
	const char *rx = fault_row(fault)->rx;
	const bool needs_xsk = rx && !strcmp(rx, rx_xsk.name);
	const struct experiment_view nobody = {};
	struct run_spec run = {
		.tx = &tx_socket,
		.rx = needs_xsk ? &rx_xsk : &rx_socket,
		.count = spec->count,
		.payload = fault_row(fault)->payload ? fault_row(fault)->payload : PAYLOAD,
		.port = PORT,
		.ipv6 = spec->ipv6,
		.flows = 1,
		.threads = 1,
		.settle_ns = 5000000000,
	};
	struct result *res = mem_new(res);
	struct error err = {};
	int rc = 0;

	*row = (struct selftest_row){.fault = fault, .stage = fault_stage(fault)};
	if (fault_is(fault, HOST_GLOBAL) && !spec->host_global) {
		skip(row, "affects this whole host: --host-global");
	} else if (take_fault(spec, fault, &run.faults, &err)) {
		skip(row, err.message);
	} else {
		for (unsigned n = 0; n < TRIES; n++) {
			row->repeated = n;
			rc = experiment_run(&run, &nobody, res, NULL, &err);
			if (rc || res->interrupted)
				break;
			judge(res, row);
			if (!res->losses.suppressed &&
			    (res->balanced || !fault_is(fault, BY_TIMER)))
				break;
		}
	}
	if (rc)
		skip(row, err.message);
	if (rc && err.status == STATUS_FAILED)
		row->verdict = SELFTEST_DISAGREES;
	rc = res->interrupted ? -EINTR : 0;
	free(res);
	return rc;
}
