/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes for people: what is asked, and what was done. */
#ifndef PKTLEDGER_REPORT_TEXT_CHANGE_H
#define PKTLEDGER_REPORT_TEXT_CHANGE_H

#include <stdio.h>

#include "host/change.h"

/* One that may be made: values, command, and what it risks ("" for nothing). `netns` may be NULL.
 */
void text_change(FILE *out, const struct change *c, const char *risk, const char *netns,
		 bool colour);

/* A line or two about one that was made or undone, or was not. */
void text_change_told(FILE *out, const struct change_told *told, bool colour);

#endif
