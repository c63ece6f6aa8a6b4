/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An option and the values that it takes in turn, as in --vary rate=100k..1m/100k:
 *
 *	OPTION=ITEM[,ITEM ...]
 *
 *	VALUE			as behind the option itself; on or off for a flag
 *	default			the option is left out; for a flag that is off
 *	FIRST..LAST/STEP	FIRST, FIRST + STEP ... up to LAST
 *	FIRST..LAST/xFACTOR	FIRST, FIRST * FACTOR ... up to LAST
 *
 * What is no number in FIRST is taken as a value, so that those with dots of their own work.
 */
#ifndef PKTLEDGER_BASE_OPT_VARY_H
#define PKTLEDGER_BASE_OPT_VARY_H

#include "base/opt.h"

#define OPT_VARY_MAX  256
#define OPT_VARY_WORD (OPT_ITEM_LEN + 32)

struct opt_vary {
	struct opt_ref ref;
	unsigned n;
	struct opt_vary_value {
		char text[OPT_ITEM_LEN];  /* as people see it */
		char word[OPT_VARY_WORD]; /* for the command line: --rate=100k; "": none */
	} at[OPT_VARY_MAX];
};

/*
 * Reads `text`. An unknown option, an empty list or item, one twice, a range that runs backwards or
 * needs a step, and more than OPT_VARY_MAX values are -EINVAL with STATUS_USAGE. Values are only
 * checked as far as ranges need it: opt_parse() of the words does the rest.
 */
int opt_vary_parse(const struct command *cmd, const char *text, struct opt_vary *v,
		   struct error *err);

#endif
