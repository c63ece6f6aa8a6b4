/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a test has printed, and what is in it. */
#ifndef PKTLEDGER_PRINTED_H
#define PKTLEDGER_PRINTED_H

#include <string.h>

static char *text;

static inline void has(const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("no \"%s\" in:\n%s", wanted, text);
}

static inline void has_not(const char *unwanted)
{
	if (strstr(text, unwanted))
		fail_msg("\"%s\" in:\n%s", unwanted, text);
}

#endif
