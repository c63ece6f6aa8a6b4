/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Closing the ledger: from fates, causes, counters and what both ends know to a struct result.
 * Pure: nothing is read from the host here. Nothing is ever assigned to a stage to make it close.
 */
#ifndef PKTLEDGER_LEDGER_LEDGER_H
#define PKTLEDGER_LEDGER_LEDGER_H

#include "drops/fates.h"
#include "ledger/result.h"
#include "drops/drops.h"
#include "drops/stagemap.h"

/* A cause with names in place of numbers. */
struct ledger_cause {
	struct drops_cause raw;
	struct verdict verdict;
	struct result_cause named; /* packets, first, last, stream: not set */
};

/* Names of namespaces and interfaces, for people and for the counter check. */
struct ledger_place {
	uint32_t netns;
	unsigned ifindex; /* 0: the namespace itself */
	const char *role, *ifname;
};

struct ledger {
	struct ledger_cause cause[TRACE_CAUSES];
	int n;
	uint8_t ignored[TRACE_CAUSES]; /* by index: ends no packet */
	struct fate_tally tally;
};

/* Names the causes read so far; to be repeated when there are new ones. */
void ledger_name(struct ledger *l, const struct drops_cause *raw, int n, const struct reasons *r,
		 const struct ksyms *k, const struct ledger_place *places, unsigned n_places);

/* Adds one that was found elsewhere, or puts it in the place of the one with its index. */
void ledger_add(struct ledger *l, const struct ledger_cause *cause);

/* The cause of an index; NULL: none. */
const struct ledger_cause *ledger_cause(const struct ledger *l, uint8_t index);

/* Adds what was counted to each stage. */
void ledger_stages(const struct ledger *l, struct trace_count stage[STAGE_COUNT]);

/*
 * Whether it ended packets, or copies of them. What was seen in a socket's queue is no event: the
 * events of its end come when it is closed.
 */
bool ledger_is_event(const struct ledger_cause *c);

/*
 * Fills sums, stages and causes. `in_queues`: packets found in named queues when it closed;
 * as many of the open numbers are in flight. `l3_bytes`: of each packet; 0: as the fates know.
 */
void ledger_close(const struct ledger *l, uint64_t in_queues, uint16_t stream0, unsigned l3_bytes,
		  struct result *res);

#endif
