/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which instructions of a classic BPF program are ever executed, and what they can rely on. */
#ifndef PKTLEDGER_DROPS_FILTER_REACH_H
#define PKTLEDGER_DROPS_FILTER_REACH_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "filter_abi.h"

struct filter_reach {
	bool live[FILTER_ROOM];	   /* reached from the first instruction */
	uint16_t set[FILTER_ROOM]; /* words of memory that are written by then, a bit each */
	bool loops;		   /* it jumps back */
};

/*
 * Fills *r, zeroed by the caller, for a program of `n` instructions, at most FILTER_ROOM. -EINVAL
 * if it leaves the program or its memory, -ENODATA if it reads a word of memory that is not written
 * on every way there.
 */
int filter_reach(struct filter_reach *r, const struct sock_filter *insns, unsigned n);

#endif
