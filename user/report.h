/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `run` shows of its trials: progress, text, JSON, a ledger file, and the exit status. */
#ifndef PKTLEDGER_REPORT_H
#define PKTLEDGER_REPORT_H

#include "options.h"
#include "options_shape.h"

struct run_options {
	struct global_options global;
	struct traffic_options traffic;
	struct shape_options shape;
	struct tuning tuning;
	int tx, rx;
	uint64_t rcvbuf;
	bool pass;
	struct fault_list faults;
	const char *fault_text;
	int topology;
	bool topology_set;
	struct opt_limits limits;
	uint64_t settle_ns, interval_ns;
	unsigned repeat;
	const char *ledger, *lab;
	struct opt_strings ports;
};

struct report;

/* Opens the outputs that the options ask for. NULL with `err`. */
struct report *report_new(const struct run_options *o, struct error *err);

/* Runs one trial and shows it. */
void report_trial(struct report *r, const struct run_spec *spec, struct error *err);

/* True after an error or a signal: no further trial makes sense. */
bool report_ended(const struct report *r);

/* Ends the outputs, with `err` in them if there is one. Returns the exit status. Frees `r`. */
int report_finish(struct report *r, struct error *err);

#endif
