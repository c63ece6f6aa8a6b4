/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Losses that the kernel frees as if the packet had been used up (consume_skb): tc verdicts that
 * say "stolen" though nobody took it, fragments that overlap, drivers. Places are data.
 */
#ifndef PKTLEDGER_DROPS_CONSUMED_H
#define PKTLEDGER_DROPS_CONSUMED_H

#include "drops/ksym.h"
#include "drops/noise.h"
#include "drops/stagemap.h"
#include "watch_abi.h"

struct consumed_row {
	const char *function; /* where it is freed */
	enum stage stage;
	enum direction direction;
	enum noise noise;
	/* What it is if the packet was cloned: the clone may have gone on (act_mirred). */
	enum noise cloned;
	const char *note;
};

extern const struct consumed_row consumed_rows[];
extern const unsigned consumed_row_count;

/* Addresses of the functions that this kernel has, for struct watch_spec. Returns how many. */
unsigned consumed_ranges(const struct ksyms *k, struct watch_range out[WATCH_CONSUMED_MAX]);

/* The row of a function; NULL: none. */
const struct consumed_row *consumed_find(const char *function);

#endif
