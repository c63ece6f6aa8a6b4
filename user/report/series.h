/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Intervals of one run or trace, any number of them in bounded memory: adjacent intervals are
 * merged, always in pairs, so that at most SERIES_MAX remain. The worst intervals are kept
 * separately.
 */
#ifndef PKTLEDGER_REPORT_SERIES_H
#define PKTLEDGER_REPORT_SERIES_H

#include "base/json.h"
#include "monitor/table.h"

#define SERIES_MAX   1024
#define SERIES_WORST 10

struct series;

/*
 * Creates a series of at most `max` items. `parts`: counts are per interval, as in a trace, separated
 * by the fields `by` (struct live_spec), else since the start, as in run, send and recv.
 */
struct series *series_new(bool parts, unsigned by, unsigned max);
void series_free(struct series *s); /* NULL is allowed */

/* Adds an interval. `from_ns` .. `to_ns`: its time range, CLOCK_REALTIME. */
void series_add(struct series *s, struct json_object *interval, uint64_t from_ns, uint64_t to_ns);

/* Returns the number of intervals added, and their time range, 0 if empty. */
uint64_t series_count(const struct series *s, uint64_t *from_ns, uint64_t *to_ns);

/* Returns {"from","to","intervals","joined"}. `joined` is the largest number of intervals merged
 * into one item. NULL: no intervals. */
struct json_object *series_covers(const struct series *s, uint64_t from_ns, uint64_t to_ns);

/*
 * Returns the intervals in order, as a list. Merged intervals have the sums, the total length, and
 * the highest loss rate in "peak_pps". Call after the last addition. The caller owns the list.
 */
struct json_object *series_intervals(struct series *s);

/*
 * Returns the intervals with the highest loss rate, worst first:
 * {"time","time_ns","interval_ns","dropped", "dropped_pps"}, with `parts` all members of
 * the interval.
 */
struct json_object *series_worst(struct series *s);

/* Returns the sum of the list as an interval, NULL without `parts`. Call after
 * the last addition. */
struct json_object *series_sum(struct series *s);

/* The increase in an interval, or in several. */
struct part {
	uint64_t time_ns, interval_ns;	   /* ns since the start, of the end, and the length */
	uint64_t sent, delivered, dropped; /* packets, sent and delivered are 0 in a trace */
	struct live_counts stage[STAGE_COUNT]; /* parts of `dropped` */
	double peak_pps; /* loss rate of the worst interval, 0: length unknown */
};

/* Reads the counts of an interval or an end as they are. */
void part_read(struct part *p, const struct json_object *o);

/*
 * Iterates over the intervals of a document, then over the counts after the last of them:
 * for (struct parts p = parts_of(d); parts_next(&p);) p.now
 */
struct ledgers_document; /* report/load.h */
struct parts {
	struct part now;
	struct json_object *item; /* the interval, or the end, borrowed */
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

/* Adds to a sum: all counts, and the larger peak. */
void part_add(struct part *sum, const struct part *p);

/* Rebuilds the tables of a trace from its JSON, see report/trace.h. */

/* Returns the fields that separate the rows of a trace. `start`: its start event. */
unsigned rows_by(const struct json_object *start);

/*
 * Names of the row lists in intervals, sums and ends, by class: "stages", "suspected", "expected".
 * The last list also contains copies.
 */
#define ROWS_CLASSES (CLASS_EXPECTED + 1)
extern const char *const rows_classes[ROWS_CLASSES];

/* Adds all rows of an interval, a sum, or an end. Texts are copied, notes are borrowed. */
void rows_add(struct live_table *t, const struct json_object *interval, unsigned by);

/* Adds the worst flows of an interval as rows by stage and flow. */
#define ROWS_BY_FLOW (LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CLASS) | LIVE_BIT(LIVE_FLOW))
void rows_add_flows(struct live_table *t, const struct json_object *interval);

/* Returns STAGE_NONE if the stage is unknown. */
enum stage rows_stage(const char *name);

/* Adds the packets of "stages" from an interval or an end. */
void rows_add_stages(uint64_t packets[STAGE_COUNT], const struct json_object *o);

/*
 * Returns the packets sent that were neither delivered nor are in flight. A file may claim that
 * more arrived than was sent. The result is then 0.
 */
uint64_t lost_packets(uint64_t sent, uint64_t delivered, uint64_t in_flight);

/* Returns part / whole as a fraction from 0 to 1, whatever the numbers are; 0 if `whole` is 0. */
double fraction_of(double part, double whole);

/*
 * Returns the fraction of the packets sent that were lost, 0 to 1. Used for every loss percentage
 * of a run, a trial or a sum of runs. A trial of a search has a separate fraction
 * ("loss_fraction"), which includes the packets that could not be sent.
 */
double lost_fraction(const struct json_object *end);

/* Returns the stage with the largest loss, or "" without losses. */
const char *rows_worst_stage(const uint64_t packets[STAGE_COUNT]);

#endif
