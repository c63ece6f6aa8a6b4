/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The intervals of one run or trace, as many as there are, in bounded memory: neighbours are put
 * together, always two and two, so that at most SERIES_MAX are left. The worst are kept.
 */
#ifndef PKTLEDGER_REPORT_SERIES_H
#define PKTLEDGER_REPORT_SERIES_H

#include "base/json.h"
#include "monitor/table.h"

#define SERIES_MAX   1024
#define SERIES_WORST 10

struct series;

enum series_kind {
	SERIES_COUNTERS, /* of run, send, recv: counts since the start */
	SERIES_PARTS,	 /* of trace: counts of each interval */
};

/* `by`: of the rows of SERIES_PARTS, as in struct live_spec. */
struct series *series_new(enum series_kind kind, unsigned by);
void series_free(struct series *s); /* NULL is fine */

/* `interval` is taken, when it was in `from_ns` .. `to_ns` of CLOCK_REALTIME. */
void series_add(struct series *s, struct json_object *interval, uint64_t from_ns, uint64_t to_ns);

/* How many were added, and the time that they cover; 0 without any. */
uint64_t series_count(const struct series *s, uint64_t *from_ns, uint64_t *to_ns);

/* {"from","to","intervals","joined"}: the last says for how many of them an item stands, at most.
 * NULL: there are none. */
struct json_object *series_covers(const struct series *s, uint64_t from_ns, uint64_t to_ns);

/*
 * What was added, in its order, as a list; SERIES_PARTS that were put together carry the sums, the
 * whole length, and in "peak_pps" the loss of the worst of them. When no more comes; the caller's.
 */
struct json_object *series_intervals(struct series *s);

/*
 * Those that lost most packets a second, worst first: {"time","time_ns","interval_ns","dropped",
 * "dropped_pps"} and for SERIES_PARTS all of the interval.
 */
struct json_object *series_worst(struct series *s);

/* What happened between two readings, as an interval; `last` NULL: since the start. To be put. */
struct json_object *series_growth(const struct json_object *now, const struct json_object *last);

/* Packets lost a second, in the worst part of an interval. */
double series_peak(const struct json_object *interval);

/* SERIES_PARTS: all in one, as an interval; else NULL. */
struct json_object *series_sum(struct series *s);

/* From the JSON of a trace back to the tables that it was made of: report/trace.h. */

/* The fields that the rows of a trace are told apart by; `start`: its event. */
unsigned rows_by(const struct json_object *start);

/*
 * Lists of rows in intervals, sums and ends, by class: "stages", "suspected", "expected". The last list
 * holds copies too.
 */
#define ROWS_CLASSES (CLASS_EXPECTED + 1)
extern const char *const rows_classes[ROWS_CLASSES];

/* Adds all rows of an interval, of a sum, or of an end. Texts are copied, notes borrowed. */
void rows_add(struct live_table *t, const struct json_object *interval, unsigned by);

/* Adds its worst flows: rows by stage and flow. */
#define ROWS_BY_FLOW (LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CLASS) | LIVE_BIT(LIVE_FLOW))
void rows_add_flows(struct live_table *t, const struct json_object *interval);

/* STAGE_NONE: no such stage. */
enum stage rows_stage(const char *name);

/* Adds the packets of "stages", of an interval or an end. */
void rows_add_stages(uint64_t packets[STAGE_COUNT], const struct json_object *o);

/*
 * Returns the packets sent that were neither delivered nor are in flight. A file may claim that more
 * arrived than was sent: then none are lost.
 */
uint64_t lost_packets(uint64_t sent, uint64_t delivered, uint64_t in_flight);

/* Returns part / whole as a fraction from 0 to 1, whatever the numbers are; 0 if `whole` is 0. */
double fraction_of(double part, double whole);

/*
 * Returns the fraction of the packets sent that were lost, 0 to 1. Every loss percentage of a run,
 * a trial or a sum of runs is this one. A trial of a search has measured its own ("loss_fraction"),
 * which includes the packets that could not be sent.
 */
double lost_fraction(const struct json_object *end);

/* The stage that lost most; "": none lost any. */
const char *rows_worst_stage(const uint64_t packets[STAGE_COUNT]);

#endif
