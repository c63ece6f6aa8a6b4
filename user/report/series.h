/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stores any number of intervals from one run or trace in bounded memory. Adjacent intervals are
 * merged in pairs so that at most SERIES_MAX remain. The worst intervals are kept separately.
 */
#ifndef PKTLEDGER_REPORT_SERIES_H
#define PKTLEDGER_REPORT_SERIES_H

#include "base/json.h"
#include "monitor/table.h"

#define SERIES_MAX   1024
#define SERIES_WORST 10

struct series;

/*
 * Creates a series of at most `max` items. With `parts`, counts are per interval, as in a trace,
 * and separated by the fields `by` (struct live_spec). Otherwise they count from the start, as in
 * run, send and recv.
 */
struct series *series_new(bool parts, unsigned by, unsigned max);
void series_free(struct series *s); /* `s` may be NULL */

/* Adds an interval that lasted from `from_ns` to `to_ns`, CLOCK_REALTIME. */
void series_add(struct series *s, struct json_object *interval, uint64_t from_ns, uint64_t to_ns);

/* Returns the number of intervals added and their time range, 0 if there are none. */
uint64_t series_count(const struct series *s, uint64_t *from_ns, uint64_t *to_ns);

/*
 * Returns {"from","to","intervals","joined"}. `joined` is the largest number of intervals merged
 * into one item. Returns NULL if there are no intervals.
 */
struct json_object *series_covers(const struct series *s, uint64_t from_ns, uint64_t to_ns);

/*
 * Returns a list of the intervals in order. Merged intervals contain the sums, the total length,
 * and the highest loss rate as "peak_pps". Must be called after the last addition. The caller owns
 * the list.
 */
struct json_object *series_intervals(struct series *s);

/*
 * Returns the intervals with the highest loss rate, worst first:
 * {"time","time_ns","interval_ns","dropped", "dropped_pps"}, or with `parts` all of the interval's
 * members.
 */
struct json_object *series_worst(struct series *s);

/*
 * Returns the sum of the list as an interval, or NULL without `parts`. Must be called after the
 * last addition.
 */
struct json_object *series_sum(struct series *s);

/* Increase during one or more intervals. */
struct part {
	uint64_t time_ns, interval_ns;	   /* ns, end (since the start) and length */
	uint64_t sent, delivered, dropped; /* packets (sent and delivered are 0 in a trace) */
	struct live_counts stage[STAGE_COUNT]; /* breakdown of `dropped` */
	double peak_pps; /* worst interval's loss rate, 0: length unknown */
};

/* Reads the counts from an interval or an end unchanged. */
void part_read(struct part *p, const struct json_object *o);

/*
 * Iterates over a document's intervals, then over the counts after the last one: for (struct parts
 * p = parts_of(d); parts_next(&p);) p.now
 */
struct ledgers_document; /* report/load.h */
struct parts {
	struct part now;
	struct json_object *item; /* the interval or the end, borrowed */
	uint64_t to_ns;			/* ns, CLOCK_REALTIME of its end */
	/* private */
	struct json_each each;
	struct json_object *end;
	bool own, any;
	uint64_t start_ns, end_ns;
	struct part last;
};

struct parts parts_of(const struct ledgers_document *d);
bool parts_next(struct parts *p);

/* Adds `part` to a sum: adds all counts and keeps the larger peak. */
void part_add(struct part *sum, const struct part *p);

/* Rebuilds a trace's tables from its JSON, see report/trace.h. */

/* Returns the fields that separate a trace's rows. `start` is its start event. */
unsigned rows_by(const struct json_object *start);

/*
 * Names of the row lists in intervals, sums and ends, by class: "stages", "suspected", "expected".
 * The last list also contains copies.
 */
#define ROWS_CLASSES (CLASS_EXPECTED + 1)
extern const char *const rows_classes[ROWS_CLASSES];

/* Adds all rows from an interval, a sum, or an end. Strings are copied, notes are borrowed. */
void rows_add(struct live_table *t, const struct json_object *interval, unsigned by);

/* Adds an interval's worst flows as rows, by stage and flow. */
#define ROWS_BY_FLOW (LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CLASS) | LIVE_BIT(LIVE_FLOW))
void rows_add_flows(struct live_table *t, const struct json_object *interval);

/* Returns the stage with this name, or STAGE_NONE if it is unknown. */
enum stage rows_stage(const char *name);

/* Adds the packets listed in "stages" in an interval or an end. */
void rows_add_stages(uint64_t packets[STAGE_COUNT], const struct json_object *o);

/*
 * Returns how many of the packets sent were neither delivered nor are in flight. Returns 0 if a
 * file claims that more packets arrived than were sent.
 */
uint64_t lost_packets(uint64_t sent, uint64_t delivered, uint64_t in_flight);

/* Returns part / whole, limited to the range 0 to 1, or 0 if `whole` is 0. */
double fraction_of(double part, double whole);

/*
 * Returns the fraction of sent packets that were lost, 0 to 1. Used for every loss percentage of a
 * run, a trial or a sum of runs. A search trial has another fraction, "loss_fraction", which
 * includes packets that could not be sent.
 */
double lost_fraction(const struct json_object *end);

/* Returns the stage with the largest loss, or "" if nothing was lost. */
const char *rows_worst_stage(const uint64_t packets[STAGE_COUNT]);

#endif
