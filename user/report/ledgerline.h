/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a line of a ledger file is, without parsing it: there are millions of them. */
#ifndef PKTLEDGER_REPORT_LEDGERLINE_H
#define PKTLEDGER_REPORT_LEDGERLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ledgerline_kind {
	LEDGERLINE_START,
	LEDGERLINE_INTERVAL,
	LEDGERLINE_FATES,
	LEDGERLINE_OTHER, /* or none at all */
};

struct ledgerline {
	enum ledgerline_kind kind;
	bool of_trace; /* start: of a trace */
	/*
	 * CLOCK_REALTIME: of a start, or of the end of an interval that tells it. 0: not told.
	 */
	uint64_t realtime_ns;
	uint64_t time_ns, length_ns; /* interval: from the start to its end; 0: not told */
};

/* `json` as ledgerfile_read() tells it. False: a start or an interval whose time makes no sense. */
bool ledgerline_peek(const char *json, size_t len, struct ledgerline *line);

#endif
