/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A host's records about its TCP flows, used to join its ledger with ledgers of other hosts
 * (ledger/tcp_join.h). They contain retransmissions that the host cannot explain, and segments that
 * arrived at its entry, how often they arrived, and which of them were dropped. Numbers are as in
 * struct tcp_entry. The size is limited, also when the records are read from a file of unknown
 * origin. Records that do not fit are counted.
 */
#ifndef PKTLEDGER_DROPS_TCP_TRAIL_H
#define PKTLEDGER_DROPS_TCP_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "tcp_abi.h"

#define TRAIL_FLOWS  (2 * TCP_ENTRIES)
#define TRAIL_RANGES (1u << 16)
#define TRAIL_NONE   UINT32_MAX

enum trail_what {
	TRAIL_RESENT,  /* a segment retransmitted for a reason that this host does not know */
	TRAIL_HOLE,    /* gap at the entry */
	TRAIL_AGAIN,   /* arrived at the entry after higher numbers */
	TRAIL_OUTSIDE, /* lost on this host, at `stage`, before the entry, */
	TRAIL_DROPPED, /* or after it; for a sender: its last transmission, which has not left */
	TRAIL_TWICE,   /* dropped by its receiver, which already had it */
	TRAIL_WHATS,
};
extern const char *const trail_names[TRAIL_WHATS]; /* "resent", "hole" ... */

struct trail_range {
	uint64_t from, to, time_ns; /* to > from; bpf_ktime_get_ns(), in a file since its start */
	uint32_t flow;		    /* row of the flow */
	uint8_t what, stage;	    /* enum trail_what; enum stage where it was lost */
};

/* In sending direction: of a socket on this host, or of segments that arrived at the entry. */
struct trail_flow {
	struct watch_flow key;
	bool sends;	      /* the flow is identified by this and the key */
	uint64_t first, next; /* as in struct tcp_entry; a sender that began here starts with SYN */
	uint64_t acked;	      /* for a sender: its peer has acknowledged everything up to here */
	/*
	 * Segments with data: how many arrived at the entry, were dropped between the entry and a
	 * socket, and were received by sockets on this host. 0: there is no receiving socket.
	 */
	uint64_t came, dropped, taken;
	uint8_t ttl;
	bool begun;
	bool known; /* first and next are set */
	bool cut;   /* one of its ranges did not fit */
};

struct trail {
	struct list flows, ranges;	  /* struct trail_flow, struct trail_range */
	uint64_t lost_flows, lost_ranges; /* without room */
	uint64_t lost_resent;		  /* those that are TRAIL_RESENT */
};

struct trail *trail_new(void);
void trail_free(struct trail *t); /* NULL is allowed */

struct trail_flow *trail_flow(const struct trail *t, uint32_t flow);

/* Returns the number of a flow, or TRAIL_NONE. */
uint32_t trail_find(const struct trail *t, const struct watch_flow *key, bool sends);

/* Returns the number of a flow, creating it if missing. TRAIL_NONE: no room, which is counted. */
uint32_t trail_make(struct trail *t, const struct watch_flow *key, bool sends);

/* Adds a range to a flow, or to TRAIL_NONE if the flow did not fit. */
void trail_add(struct trail *t, const struct trail_range *r);

#endif
