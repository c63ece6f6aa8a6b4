// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/steps.h"

#include <string.h>

#include "base/clock.h"
#include "report/rows.h"

#define ROWS_WANTED (STEPS_MAX - 2) /* the first and the last may be parts of a step */

/*
 * The shortest round time of which the table needs at most so many, and in which about one interval
 * ends at least: else a row would tell of a longer time than it claims.
 */
static uint64_t round_length(uint64_t span_ns, uint64_t interval_ns)
{
	static const unsigned ms[] = {1,	10,	  100,	    200,       500,
				      1000,	2000,	  5000,	    10000,     15000,
				      30000,	60000,	  120000,   300000,    600000,
				      900000,	1800000,  3600000,  7200000,   10800000,
				      21600000, 43200000, 86400000, 172800000, 604800000};
	const unsigned n = sizeof(ms) / sizeof(ms[0]);
	uint64_t length = 0;

	for (unsigned i = 0; i < n; i++) {
		length = ms[i] * 1000000ULL;
		if (span_ns / length < ROWS_WANTED && length >= interval_ns / 4 * 3)
			return length;
	}
	return (span_ns / ROWS_WANTED / length + 1) * length;
}

/* The mean length of an interval. */
static uint64_t interval_length(const struct ledgers_document *d)
{
	size_t n = json_get_length(d->json, "intervals");
	uint64_t sum = 0;

	if (!n)
		return 0;
	if (!d->parts)
		return json_get_u64(json_get_item(d->json, "intervals", n - 1), "time_ns") / n;
	for (size_t i = 0; i < n; i++)
		sum += json_get_u64(json_get_item(d->json, "intervals", i), "interval_ns");
	return sum / n;
}

/* The step of a moment, from the first one on; it comes after those that are there. */
static struct step *step_of(struct steps *s, uint64_t to_ns)
{
	uint64_t from_ns = (to_ns ? to_ns - 1 : 0) / s->length_ns * s->length_ns;
	struct step *last = s->n ? &s->at[s->n - 1] : NULL;

	/* a clock that was set back, or more steps than there can be: to the last one */
	if (last && (last->from_ns >= from_ns || s->n == STEPS_MAX))
		return last;
	s->at[s->n] = (struct step){.from_ns = from_ns, .to_ns = from_ns + s->length_ns};
	return &s->at[s->n++];
}

static void note_peak(struct step *step, uint64_t lost, uint64_t length_ns)
{
	double pps = length_ns ? (double)lost * 1e9 / (double)length_ns : 0;

	if (pps > step->peak_pps)
		step->peak_pps = pps;
}

/* An interval of a trace. */
static void add_part(struct step *step, const struct json_object *interval)
{
	uint64_t lost = json_get_u64(interval, "dropped");

	step->dropped += lost;
	note_peak(step, lost, json_get_u64(interval, "interval_ns"));
	if (json_get_double(interval, "peak_pps") > step->peak_pps)
		step->peak_pps = json_get_double(interval, "peak_pps");
	for (size_t i = 0; i < json_get_length(interval, "stages"); i++) {
		const struct json_object *stage = json_get_item(interval, "stages", i);
		enum stage at = rows_stage(json_get_text(stage, "stage"));

		if (at != STAGE_NONE)
			step->stage[at] += json_get_u64(stage, "packets");
	}
}

/* Counters of a run, since the start. */
struct counters {
	uint64_t time_ns, sent, delivered, dropped;
	uint64_t stage[STAGE_COUNT];
};

static void read_counters(struct counters *c, const struct json_object *interval)
{
	*c = (struct counters){
		.time_ns = json_get_u64(interval, "time_ns"),
		.sent = json_get_u64(interval, "sent"),
		.delivered = json_get_u64(interval, "delivered"),
		.dropped = json_get_u64(interval, "dropped"),
	};
	for (size_t i = 0; i < json_get_length(interval, "stages"); i++) {
		const struct json_object *stage = json_get_item(interval, "stages", i);
		enum stage at = rows_stage(json_get_text(stage, "stage"));

		if (at != STAGE_NONE)
			c->stage[at] = json_get_u64(stage, "packets");
	}
}

/* Counts of packets under way may be corrected downwards. */
static uint64_t grown(uint64_t now, uint64_t last)
{
	return now > last ? now - last : 0;
}

static void add_growth(struct step *step, const struct counters *now, const struct counters *last)
{
	step->sent += grown(now->sent, last->sent);
	step->delivered += grown(now->delivered, last->delivered);
	step->dropped += grown(now->dropped, last->dropped);
	note_peak(step, grown(now->dropped, last->dropped), grown(now->time_ns, last->time_ns));
	for (int s = 0; s < STAGE_COUNT; s++)
		step->stage[s] += grown(now->stage[s], last->stage[s]);
}

/* When an interval ended. */
static uint64_t end_of(const struct json_object *interval, uint64_t started_ns)
{
	uint64_t ns;

	return when_date(json_get_text(interval, "time"), &ns)
		       ? started_ns + json_get_u64(interval, "time_ns")
		       : ns;
}

void steps_make(struct steps *s, const struct ledgers_document *d)
{
	struct counters last = {}, now;
	uint64_t started_ns = 0;

	memset(s, 0, sizeof(*s));
	s->length_ns =
		round_length(d->to_ns > d->from_ns ? d->to_ns - d->from_ns : 0, interval_length(d));
	when_date(json_get_text(json_get(d->json, "start"), "time"), &started_ns);
	for (size_t i = 0; i < json_get_length(d->json, "intervals"); i++) {
		const struct json_object *interval = json_get_item(d->json, "intervals", i);
		struct step *step = step_of(s, end_of(interval, started_ns));

		if (d->parts) {
			add_part(step, interval);
			continue;
		}
		read_counters(&now, interval);
		add_growth(step, &now, &last);
		last = now;
	}
	if (!d->parts && s->n && json_get(d->json, "end")) { /* what came after the last of them */
		read_counters(&now, json_get(d->json, "end"));
		add_growth(step_of(s, d->to_ns), &now, &last);
	}
}
