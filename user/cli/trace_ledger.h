/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `trace --ledger`: intervals kept in a file, for days. Each has a bounded number of rows and
 * flows; those in which nothing happened are put together, up to a minute. A file that cannot be
 * written any more ends the writing, not the trace.
 */
#ifndef PKTLEDGER_CLI_TRACE_LEDGER_H
#define PKTLEDGER_CLI_TRACE_LEDGER_H

#include <json-c/json.h>

#include "base/opt.h"
#include "monitor/session.h"
#include "monitor/summary.h"

struct trace_ledger_options {
	const char *file;
	uint64_t keep_ns;
	bool keep_set;
};

extern const struct opt trace_ledger_opts[]; /* of struct trace_ledger_options */

#define TRACE_LEDGER_DEFAULTS                                                                      \
	{                                                                                          \
		.keep_ns = 7 * 86400000000000ULL                                                   \
	}

struct trace_ledger;

/*
 * Opens the file; *t stays NULL if none is asked for, which all functions allow. Sets what the
 * collector has to tell apart for it: flows, unless `by_given`; `spec` is then borrowed.
 * STATUS_USAGE, STATUS_FAILED.
 */
int trace_ledger_open(struct trace_ledger **t, const struct trace_ledger_options *o, bool by_given,
		      struct live_spec *spec, struct error *err);

/* When drops are counted. `start` is taken. */
void trace_ledger_start(struct trace_ledger *t, struct json_object *start);

/* An interval has ended. */
void trace_ledger_interval(struct trace_ledger *t, const struct live *l);

/* A limit was crossed in it; after trace_ledger_interval(). `limit` is borrowed. */
void trace_ledger_limit(struct trace_ledger *t, const struct live *l, struct json_object *limit);

/* The end; `s` is as it was when it returns. */
void trace_ledger_end(struct trace_ledger *t, const struct live *l, struct live_summary *s);

/* Closes and frees. False: the file is not whole, which was said. */
bool trace_ledger_close(struct trace_ledger *t);

#endif
