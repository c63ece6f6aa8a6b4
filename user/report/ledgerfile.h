/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger file: stores the outcome of every sequence number. Runs are appended one after
 * another.
 *
 * A line is
 *
 *	CRC JSON LF
 *
 * CRC: 8 lower-case hex digits, the CRC-32 of IEEE 802.3 (as in zlib and gzip) over the bytes of
 * JSON, without the blank before JSON and the LF after it. JSON: one object without a raw LF, as in
 * --json-lines:
 *
 *	{"event":"start","schema":"pktledger/run/1","data":{..}}    a run begins
 *	{"event":"interval","data":{..}}
 *	{"event":"outcome","data":{"id":2,"outcome":"dropped","stage":"rcvbuf","reason":..,"location":..,
 *	                        "ifname":..,"netns":..,"direction":..,"hook":..}}
 *	{"event":"outcomes","data":{"stream":7,"ranges":[[first,last,id],..]}}
 *	{"event":"limit","data":{..}}, {"event":"error","data":{..}}, {"event":"end","data":{..}}
 *
 * A sweep or a search is a series of runs:
 *
 *	{"event":"series","schema":"pktledger/sweep/1","data":{..}}  the start of its own -j
 *	start .. end as above                                        a run
 *	{"event":"trial","data":{..}}                                the run as a trial
 *	...
 *	{"event":"series_end","data":{..}}
 *
 * `trial` holds the members that -j reports for a trial in addition to the end of the run, which
 * precedes the `trial` line. If the run failed before its start, the `trial` line is the only line
 * and has an `error`.
 *
 * An `outcome` line defines an outcome before its first use. The id counts from 0 in each run.
 * `stage` and the members after it are only present if `outcome` is "dropped". The other outcomes
 * are "delivered", "refused" and "unaccounted", for send also "left", for recv "came" and "unknown"
 * (experiment/experiment.h). Ranges are inclusive, in numbers from 0 of their stream, for recv in
 * the numbers of the sequence header. Ranges of a stream ascend and do not overlap.
 *
 * A line that does not match its CRC was truncated by a full disk, SIGKILL or a crash. The next
 * writer terminates such a line with an LF, so it never damages the next line. All other lines
 * remain valid.
 */
#ifndef PKTLEDGER_REPORT_LEDGERFILE_H
#define PKTLEDGER_REPORT_LEDGERFILE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ledger/result.h"

struct ledgerfile;

/*
 * Opens the file for appending, creates it with mode 0600 if necessary, and locks it (-EBUSY,
 * STATUS_FAILED: another run is writing). An existing file must be a ledger, else it is left
 * unchanged (-EEXIST, STATUS_USAGE).
 */
int ledgerfile_open(struct ledgerfile **lf, const char *path, struct error *err);

/*
 * Keeps intervals of traces for `keep_ns` only: from time to time, the file is replaced by a copy
 * without the oldest intervals. The file is complete at any moment. STATUS_USAGE: the file contains
 * data other than traces.
 */
int ledgerfile_keep(struct ledgerfile *lf, uint64_t keep_ns, struct error *err);

/*
 * Append lines. All return 0 or the -errno of the first failed write (-ENOSPC). After a failure
 * nothing more is written, and earlier lines remain valid. `data` is borrowed. Lines are passed to
 * the kernel at each interval and end, or when 64 KiB are buffered. `lf` NULL: no file, does
 * nothing.
 */
int ledgerfile_start(struct ledgerfile *lf, const char *schema, struct json_object *data);
int ledgerfile_interval(struct ledgerfile *lf, struct json_object *data);

/*
 * Appends other events: "limit", "error", "end", and for a series of trials "series" (with its
 * schema) before the runs, "trial" after each run, and "series_end".
 */
int ledgerfile_event(struct ledgerfile *lf, const char *event, const char *schema,
		     struct json_object *data);

/*
 * Appends a range of sequence numbers of a stream. `cause` is set if the outcome is "dropped", else
 * NULL. Adjacent ranges are merged.
 */
int ledgerfile_range(struct ledgerfile *lf, const struct range *r, const char *outcome,
		     const struct result_cause *cause);

/* Writes the buffer, syncs, closes and frees. Reports the first failure. NULL is allowed. */
int ledgerfile_close(struct ledgerfile *lf, struct error *err);

struct ledgerfile_state {
	uint64_t lines;	   /* valid lines */
	uint64_t bad;	   /* truncated or changed lines, including an incomplete last line */
	uint64_t bad_line; /* number of the first bad line, from 1, 0: no bad line */
	uint64_t at;	   /* bytes, offset of the current line */
	bool cut;	   /* the file ends with an incomplete line */
	uint64_t cut_at;   /* bytes, offset of that line */
	uint64_t cut_line; /* number of that line, from 1 */
};

/*
 * Reads all lines, and stops at a line longer than the maximum. Calls `line`, which may be NULL,
 * with the JSON of each valid line (not terminated) until it returns a value other than 0. Returns
 * 0, the value of `line`, or -errno.
 */
int ledgerfile_read(const char *path, int (*line)(void *arg, const char *json, size_t len),
		    void *arg, struct ledgerfile_state *state, struct error *err);

/* Returns the object of a line, owned by the caller. NULL: not an object, or longer than the
 * maximum. */
struct json_object *ledgerline_parse(const char *json, size_t len);

/* Kind of a line, determined without parsing, because a file has millions of lines. */

enum ledgerline_kind {
	LEDGERLINE_START,
	LEDGERLINE_INTERVAL,
	LEDGERLINE_OUTCOMES,
	LEDGERLINE_SERIES,
	LEDGERLINE_OTHER, /* other or unknown kind */
};

struct ledgerline {
	enum ledgerline_kind kind;
	bool of_trace; /* for a start line: it starts a trace */
	/* CLOCK_REALTIME of a start, or of the end of an interval that records it. 0: unknown. */
	uint64_t realtime_ns;
	uint64_t time_ns, length_ns; /* for an interval: ns from the start to its end, and its
					length, 0: unknown */
};

/* Determines the kind of a line. `json` is from ledgerfile_read(). Returns false if the time of a
 * start or an interval is invalid. */
bool ledgerline_peek(const char *json, size_t len, struct ledgerline *line);

#endif
