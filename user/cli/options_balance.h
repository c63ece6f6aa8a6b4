/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options of `trace --balance`. Rows count from the start of struct balance_options. */
#ifndef PKTLEDGER_CLI_OPTIONS_BALANCE_H
#define PKTLEDGER_CLI_OPTIONS_BALANCE_H

#include "base/opt.h"
#include "cli/options_trace.h"
#include "drops/balance.h"

struct balance_options {
	bool balance;
	struct balance_numbering seq;
	uint64_t settle_ns;
	bool settle_set;
};

#define BALANCE_DEFAULTS                                                                           \
	{                                                                                          \
		.settle_ns = 5000000000                                                            \
	}

extern const struct opt balance_opts[];

/* STATUS_USAGE: options that need --balance, or cannot be with it. `expr` "": none. */
int balance_check(const struct balance_options *o, const struct trace_filters *f, const char *expr,
		  struct error *err);

#endif
