/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger file stores the outcome of every sequence number. Each run is appended to the file.
 *
 * Each line has the form
 *
 *	CRC JSON LF
 *
 * CRC: the IEEE 802.3 CRC-32 (as in zlib and gzip) of the JSON bytes, in 8 lower-case hex digits.
 * It covers neither the blank before the JSON nor the LF after it. JSON: one object without a raw
 * LF, as in --json-lines:
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
 * A `trial` line follows the end of its run and contains the other members that -j reports for a
 * trial. If the run failed before it started, only the `trial` line is written, with an `error`.
 *
 * An `outcome` line defines an outcome before its first use. IDs start at 0 in each run. `stage`
 * and the members after it are present only if `outcome` is "dropped". The other outcomes are
 * "delivered", "refused" and "unaccounted", plus "left" for send, and "came" and "unknown" for recv
 * (experiment/experiment.h). Ranges are inclusive. Numbers count from 0 in each stream, except that
 * recv uses the numbers from the sequence header. A stream's ranges ascend and do not overlap.
 *
 * A line that fails its CRC was truncated by a full disk, SIGKILL or a crash. The next writer
 * terminates the truncated line with an LF, so it cannot damage the line that follows. All other
 * lines remain valid.
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
 * Opens the file for appending, creating it with mode 0600 if necessary, and locks it (-EBUSY,
 * STATUS_FAILED: another run is writing). An existing file that is not a ledger is left unchanged
 * (-EEXIST, STATUS_USAGE).
 */
int ledgerfile_open(struct ledgerfile **lf, const char *path, struct error *err);

/*
 * Keeps trace intervals for `keep_ns` only. From time to time the file is replaced by a copy
 * without the oldest intervals, so it is complete at any moment. STATUS_USAGE: the file also
 * contains data from commands other than trace.
 */
int ledgerfile_keep(struct ledgerfile *lf, uint64_t keep_ns, struct error *err);

/*
 * Append lines. All return 0, or the -errno of the first failed write (-ENOSPC). After a failure
 * nothing more is written, and earlier lines remain valid. `data` is borrowed. Lines are passed to
 * the kernel at each interval, at the end, and whenever 64 KiB are buffered. They do nothing if
 * `lf` is NULL (no file).
 */
int ledgerfile_start(struct ledgerfile *lf, const char *schema, struct json_object *data);
int ledgerfile_interval(struct ledgerfile *lf, struct json_object *data);

/*
 * Appends other events: "limit", "error", "end". A series of trials also has "series" (with its
 * schema) before the runs, "trial" after each run, and "series_end". An error before the first
 * start is left out.
 */
int ledgerfile_event(struct ledgerfile *lf, const char *event, const char *schema,
		     struct json_object *data);

/*
 * Appends a range of a stream's sequence numbers. `cause` is set only if the outcome is "dropped".
 * Adjacent ranges are merged.
 */
int ledgerfile_range(struct ledgerfile *lf, const struct range *r, const char *outcome,
		     const struct result_cause *cause);

/*
 * Writes the buffer, syncs and closes the file, and frees `lf`. Reports the first failure. `lf` may
 * be NULL. Removes a file that ledgerfile_open() created if nothing was appended.
 */
int ledgerfile_close(struct ledgerfile *lf, struct error *err);

struct ledgerfile_state {
	uint64_t lines;	   /* valid lines */
	uint64_t bad;	   /* truncated or modified lines, including an incomplete last line */
	uint64_t bad_line; /* number of the first bad line, from 1 (0: no bad lines) */
	uint64_t at;	   /* bytes, offset of the current line */
	bool cut;	   /* the file ends with an incomplete line */
	uint64_t cut_at;   /* bytes, offset of that incomplete line */
	uint64_t cut_line; /* number of that incomplete line, from 1 */
};

/*
 * Reads all lines, stopping at a line that exceeds the maximum length. For each valid line, calls
 * `line` (may be NULL) with its JSON, which is not NUL-terminated, until it returns nonzero.
 * Returns 0, the value from `line`, or -errno.
 */
int ledgerfile_read(const char *path, int (*line)(void *arg, const char *json, size_t len),
		    void *arg, struct ledgerfile_state *state, struct error *err);

/* Returns the object on a line, owned by the caller. NULL: not an object, or too long. */
struct json_object *ledgerline_parse(const char *json, size_t len);

/* Kind of line, determined without parsing the JSON, because a file has millions of lines. */

enum ledgerline_kind {
	LEDGERLINE_START,
	LEDGERLINE_INTERVAL,
	LEDGERLINE_OUTCOMES,
	LEDGERLINE_SERIES,
	LEDGERLINE_OTHER, /* other or unknown kind */
};

struct ledgerline {
	enum ledgerline_kind kind;
	bool of_trace; /* for a start line: a trace starts here */
	/* CLOCK_REALTIME of a start, or of the end of an interval that records it (0: unknown). */
	uint64_t realtime_ns;
	uint64_t time_ns, length_ns; /* for an interval: ns from the start to its end, and its
					length, 0: unknown */
};

/*
 * Determines the kind of a line. `json` comes from ledgerfile_read(). Returns false if the time of
 * a start or an interval is invalid.
 */
bool ledgerline_peek(const char *json, size_t len, struct ledgerline *line);

#endif
