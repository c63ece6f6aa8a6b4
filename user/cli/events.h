/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `trace --events` and `trace -w`: single drops, shown and captured. */
#ifndef PKTLEDGER_CLI_EVENTS_H
#define PKTLEDGER_CLI_EVENTS_H

#include "base/opt.h"
#include "monitor/live.h"
#include "report/json.h"

struct events_options {
	bool shown, hex, stack, snaplen_set;
	uint64_t snaplen;
	const char *file;
};

extern const struct opt events_opts[]; /* of struct events_options */

/* Drops in a document of -j, which is kept in memory; more are counted only. */
#define EVENTS_IN_DOCUMENT 100000

struct events;

struct events_view {
	struct json_out *json; /* NULL: text to stdout */
	bool document;	       /* JSON in one piece */
	bool all;	       /* benign drops too */
	const char *netns;     /* the own one, not told in text */
};

/*
 * Opens the file. *e stays NULL if the options ask for nothing; all functions allow that.
 * STATUS_USAGE, STATUS_FAILED.
 */
int events_open(struct events **e, const struct events_options *o, struct error *err);

/* For live_spec.snaplen. */
uint32_t events_snaplen(const struct events *e);

/* When `l` is open; both are borrowed. */
int events_begin(struct events *e, struct live *l, const struct events_view *v, struct error *err);

/* Shows what has come. `all`: to the last, else what a tick has time for. */
void events_read(struct events *e, bool all);

/* The capture is closed and its state said. False: it is not whole. */
bool events_finish(struct events *e);

/* Puts "capture" and "drops_left_out" into the event `end`, after events_finish(). */
void events_json_end(const struct events *e, struct json_object *end);

void events_close(struct events *e);

#endif
