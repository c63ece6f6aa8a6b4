/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ledger for people: the path of the packets from top to bottom. */
#ifndef PKTLEDGER_REPORT_TEXT_H
#define PKTLEDGER_REPORT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "ledger/result.h"
#include "report/header.h"

/*
 * Prints the result, 80 columns wide; only a command, to be pasted, may be longer. verbosity: -1
 * leaves the advice away, 1 and more show places in the kernel, number ranges and every counter.
 * A counter is marked = if it agrees, ~ if it disagrees as this kernel is known to, != if not.
 * Write errors are left in ferror(out).
 */
void text_result(FILE *out, const struct run_header *head, const struct result *res, bool colour,
		 int verbosity);

#endif
