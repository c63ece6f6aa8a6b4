/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The findings of `check` for people. */
#ifndef PKTLEDGER_REPORT_TEXT_CHECK_H
#define PKTLEDGER_REPORT_TEXT_CHECK_H

#include <stdio.h>

#include "diagnosis/judge.h"

/*
 * What loses packets, then what will, then what is worth knowing (a line each), what has lost
 * before, and what could not be read. verbosity: -1 only what loses or will; 1 and more also shows
 * how each interface is set up. `netns` as in check_plan().
 */
void text_check(FILE *out, const struct facts *f, const struct check_findings *list,
		const char *netns, bool colour, int verbosity);

/* The paragraph about a finding. */
void text_about(FILE *out, const char *id, const char *about, bool colour);

#endif
