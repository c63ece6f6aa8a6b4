/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `trace` from the check of its options to its exit status: what it asks for, and what it shows. */
#ifndef PKTLEDGER_CLI_TRACE_SESSION_H
#define PKTLEDGER_CLI_TRACE_SESSION_H

#include "cli/events.h"
#include "cli/options.h"
#include "cli/options_balance.h"
#include "cli/options_trace.h"
#include "cli/trace_ledger.h"

struct trace_options {
	struct global_options global;
	struct trace_filters filters;
	struct balance_options balance;
	struct trace_view view;
	struct events_options events;
	struct trace_ledger_options ledger;
	struct opt_limits limits;
	bool until_limit;
	uint64_t duration_ns, burst_ns;
	struct opt_words expr;
	char *const *command;
};

/* `json`: NULL for text; its document is not ended. Returns the exit status. */
int trace_session(const struct trace_options *o, struct json_out *json, struct error *err);

#endif
