/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of faults, and what its files share. */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_FAULT_TABLE_H
#define PKTLEDGER_EXPERIMENT_FAULTS_FAULT_TABLE_H

#include <stddef.h>

#include "experiment/faults/fault.h"

#define FAULT_SHARE_DEFAULT 20 /* percent */
#define FAULT_SHARE_TEXT    "20%"

enum fault_value {
	FAULT_VALUE_NONE,
	FAULT_VALUE_SHARE,
	FAULT_VALUE_RATE,
};

struct fault_row {
	enum fault_value value;
	const char *tx, *rx; /* the only engine it makes sense with; NULL: any */
	int family;	     /* the only one in which it can happen: AF_INET, AF_INET6; 0: any */
	const char *not_tx;  /* the sending engine with which it cannot be seen, or has no effect */
	bool by_timer;	     /* lost in a timer, on top of any task */
	bool harmless;	     /* nothing is lost by it */
	bool silent;	     /* no event tells of it, but two checkpoints */
	bool host_global;    /* changes something of the whole host while it runs */
	bool of_program;     /* made by, or depending on, the program that sends or receives */
};

#define FAULT_FLOW_LIMIT_PATH "net/core/flow_limit_cpu_bitmap"

#define FAULT_THIRD "v-third" /* the device of who gets what a bridge floods */

#define FAULT_CPUMAP_QUEUE 61 /* frames; no multiple of a batch: one is refused in part */

#define FAULT_MTU                                                                                  \
	1280 /* of the small link: the least that IPv6 works with (RFC 8200, section 5)            \
	      */

extern const struct fault_row fault_rows[FAULT_COUNT];

/* Any of `a` with any other of `b` is a contradiction. */
struct fault_conflict {
	uint64_t a, b;
	const char *why;
};

extern const struct fault_conflict fault_conflicts[];
extern const unsigned fault_conflict_count;

/* What the faults' packets have to go through. */
enum lab_topology fault_topology(const struct fault_list *list);

#define FAULTS_OF_FRAGMENTS                                                                        \
	(FAULT_BIT(FAULT_IP_FRAG_MISSING) | FAULT_BIT(FAULT_IP_FRAG_OVERLAP) |                     \
	 FAULT_BIT(FAULT_IP_FRAG_DUPLICATE) | FAULT_BIT(FAULT_IP_FRAG_MEM))

#define FAULTS_OF_QDISC                                                                            \
	(FAULT_BIT(FAULT_QDISC) | FAULT_BIT(FAULT_QDISC_PFIFO) | FAULT_BIT(FAULT_QDISC_REPLACE))

/* They change nothing of the lab: what they attach or open goes with the process. */
#define FAULTS_THAT_GO                                                                             \
	(FAULT_BIT(FAULT_TX_SOCKET) | FAULT_BIT(FAULT_XDP) | FAULT_BIT(FAULT_XDP_ABORTED) |        \
	 FAULT_BIT(FAULT_XDP_GENERIC) | FAULT_BIT(FAULT_XDP_REDIRECT) |                            \
	 FAULT_BIT(FAULT_XDP_CPUMAP) | FAULT_BIT(FAULT_XSK_RING) | FAULT_BIT(FAULT_XSK_FILL) |     \
	 FAULT_BIT(FAULT_XSK_OVERSIZE) | FAULT_BIT(FAULT_IP_FORWARD_TTL) |                         \
	 FAULT_BIT(FAULT_UDP_LOOKUP) | FAULT_BIT(FAULT_SOCKET_FILTER) | FAULT_BIT(FAULT_UDP_MEM) | \
	 FAULT_BIT(FAULT_RCVBUF) | FAULT_BIT(FAULT_SOCKET_CLOSE))

/*
 * For a veth only: they thread its NAPI, or lose by native XDP, of which no event tells if the
 * frames are a tap's.
 */
#define FAULTS_OF_VETH                                                                             \
	(FAULT_BIT(FAULT_TX_DEVICE) | FAULTS_OF_QDISC | FAULT_BIT(FAULT_BACKLOG) |                 \
	 FAULT_BIT(FAULT_BACKLOG_FLOW_LIMIT) | FAULT_BIT(FAULT_XDP) |                              \
	 FAULT_BIT(FAULT_XDP_ABORTED) | FAULT_BIT(FAULT_XDP_CPUMAP))

/* A tap's driver runs XDP programs, that of a vxlan does not. */
#define FAULTS_OF_XDP_DRIVER (FAULT_BIT(FAULT_XDP_REDIRECT) | FAULT_BIT(FAULT_XDP_DEVMAP))

/* Of an XDP program in the driver. */
static inline bool fault_is_native_xdp(const struct fault_list *list)
{
	return fault_has(list, FAULT_XDP) || fault_has(list, FAULT_XDP_ABORTED) ||
	       fault_has(list, FAULT_XDP_REDIRECT) || fault_has(list, FAULT_XDP_DEVMAP) ||
	       fault_has(list, FAULT_XDP_CPUMAP);
}

/*
 * A mask with one CPU as bitmap_parse() reads it: words of 32 bits in hex, by comma. `size` of
 * FAULT_MASK_LEN holds any.
 */
#define FAULT_MASK_LEN 1024
char *fault_cpu_mask(char *buf, size_t size, unsigned cpu);

#endif
