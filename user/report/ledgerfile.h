/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger file: what happened to every number, kept. Runs are appended one behind the other.
 *
 * A line is
 *
 *	CRC JSON LF
 *
 * CRC: 8 lower-case hex digits, the CRC-32 of IEEE 802.3 (as in zlib and gzip) over the bytes of
 * JSON, without the blank before and the LF behind it. JSON: one object without a raw LF, as in
 * --json-lines:
 *
 *	{"event":"start","schema":"pktledger/run/1","data":{..}}    a run begins
 *	{"event":"interval","data":{..}}
 *	{"event":"outcome","data":{"id":2,"outcome":"dropped","stage":"rcvbuf","reason":..,"location":..,
 *	                        "ifname":..,"netns":..,"direction":..,"hook":..}}
 *	{"event":"outcomes","data":{"stream":7,"ranges":[[first,last,id],..]}}
 *	{"event":"limit","data":{..}}, {"event":"error","data":{..}}, {"event":"end","data":{..}}
 *
 * A sweep, a search or a preset is a series of runs:
 *
 *	{"event":"series","schema":"pktledger/sweep/1","data":{..}}  what its own -j begins with
 *	start .. end as above                                        a run
 *	{"event":"trial","data":{..}}                                what it was in the series
 *	...
 *	{"event":"series_end","data":{..}}
 *
 * `trial` has what its -j reports of a trial beside the end of the run, which stands before it; if
 * the run failed before it began, the `trial` line is all there is, and has an `error`.
 *
 * A `fate` line names an outcome before its first use; id counts from 0 in each run; `stage` and
 * what follows are there only if `fate` is "dropped", the others are "delivered", "refused" and
 * "unaccounted"; of send "left", of recv "came" and "unknown" (experiment/experiment.h). Ranges
 * are inclusive, in numbers from 0 of their stream, of recv as they are in the stamp; those of a
 * stream ascend and do not overlap.
 *
 * A line that does not match its CRC was cut: by a full disk, SIGKILL or a crash. Whoever appends
 * first ends such a line with an LF, so it never spoils the next. All other lines hold.
 */
#ifndef PKTLEDGER_REPORT_LEDGERFILE_H
#define PKTLEDGER_REPORT_LEDGERFILE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "ledger/result.h"

struct ledgerfile;

/*
 * Opens for appending, made with mode 0600 if need be, and locks it (-EBUSY, STATUS_FAILED: another
 * run writes it). What is there must be a ledger: else -EEXIST, STATUS_USAGE, untouched.
 */
int ledgerfile_open(struct ledgerfile **lf, const char *path, struct error *err);

/*
 * Keeps intervals of traces for so long, and no longer: from time to time the file is replaced by
 * one without the oldest. It is whole at any moment. STATUS_USAGE: it holds something else.
 */
int ledgerfile_keep(struct ledgerfile *lf, uint64_t keep_ns, struct error *err);

/*
 * All return 0 or the -errno of the first write that failed (-ENOSPC); after that nothing more is
 * written, and what was is whole. `data` is borrowed. Lines reach the kernel with interval and end,
 * or when 64 KiB wait. Where there is no file, `lf` is NULL and nothing is done.
 */
int ledgerfile_start(struct ledgerfile *lf, const char *schema, struct json_object *data);
int ledgerfile_interval(struct ledgerfile *lf, struct json_object *data);

/*
 * Other events: "limit", "error", "end"; and where the runs that follow are trials of a series,
 * with a line of their own behind each, "series" (with its schema), "trial", "series_end".
 */
int ledgerfile_event(struct ledgerfile *lf, const char *event, const char *schema,
		     struct json_object *data);

/*
 * One range of numbers, of a stream as its header has it; `cause` if the outcome is "dropped", else
 * NULL. Neighbours are joined.
 */
int ledgerfile_range(struct ledgerfile *lf, const struct range *r, const char *outcome,
		     const struct result_cause *cause);

/* Writes what waits, syncs, closes, frees; the first failure is reported. NULL is fine. */
int ledgerfile_close(struct ledgerfile *lf, struct error *err);

struct ledgerfile_state {
	uint64_t lines;	   /* whole */
	uint64_t bad;	   /* cut or changed, the tail included */
	uint64_t bad_line; /* the number of the first of them, from 1; 0: none */
	uint64_t at;	   /* offset of the line that is read, in bytes */
	bool cut;	   /* the file ends in a line that is not whole */
	uint64_t cut_at;   /* its offset in bytes, */
	uint64_t cut_line; /* its number, from 1 */
};

/*
 * Reads all lines, up to one that is longer than any; `line` is given the JSON of each whole one
 * (not terminated) until it returns something else than 0, and may be NULL. 0, what `line`
 * returned, or -errno.
 */
int ledgerfile_read(const char *path, int (*line)(void *arg, const char *json, size_t len),
		    void *arg, struct ledgerfile_state *state, struct error *err);

/* The object of a line, to be put; NULL: it is none, or longer than any is. */
struct json_object *ledgerline_parse(const char *json, size_t len);

/* What a line of a ledger file is, without parsing it: there are millions of them. */

enum ledgerline_kind {
	LEDGERLINE_START,
	LEDGERLINE_INTERVAL,
	LEDGERLINE_FATES,
	LEDGERLINE_SERIES,
	LEDGERLINE_OTHER, /* or none at all */
};

struct ledgerline {
	enum ledgerline_kind kind;
	bool of_trace; /* start: of a trace */
	/* CLOCK_REALTIME: of a start, or of the end of an interval that has it. 0: unknown. */
	uint64_t realtime_ns;
	uint64_t time_ns, length_ns; /* interval: from the start to its end; 0: unknown */
};

/* `json` as ledgerfile_read() gives it. False: a start or an interval whose time makes no sense. */
bool ledgerline_peek(const char *json, size_t len, struct ledgerline *line);

/*
 * What of a ledger file has become too old, and a file without it. Of the trace in whose middle the
 * cut lies, the start line stays.
 */

#define LEDGERKEEP_MARKS 64

/* What is before `at` is older than `time_ns`. */
struct ledgerkeep_mark {
	uint64_t time_ns; /* CLOCK_REALTIME */
	off_t at;
	off_t start; /* the start line of the trace that goes on there, */
	off_t start_len;
};

/* Zero-initialise all but `keep_ns`. */
struct ledgerkeep {
	uint64_t keep_ns;
	bool others; /* a line begins something else than a trace */
	struct ledgerkeep_mark mark[LEDGERKEEP_MARKS];
	unsigned n;
	off_t start, start_len; /* of the newest trace */
	uint64_t started_ns;
	uint64_t pause_ns; /* no cut before this time */
	int64_t clock_ns;  /* CLOCK_REALTIME - CLOCK_BOOTTIME, as read last; 0: not yet */
};

/*
 * What both clocks say now; before each line that is written. If the clock of the host is set, what
 * is in the file grows no older by it, and no younger.
 */
void ledgerkeep_clock(struct ledgerkeep *k, uint64_t realtime_ns, uint64_t boottime_ns);

/* The line at `at`, in the order of the file; `json` as ledgerfile_read() does. */
void ledgerkeep_line(struct ledgerkeep *k, const char *json, size_t len, off_t at);

/* True: `cut` is the begin of what must be kept, and something is before it; not too often. */
bool ledgerkeep_due(struct ledgerkeep *k, uint64_t now_ns, struct ledgerkeep_mark *cut);

#endif
