/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a host records of its TCP flows, so that its ledger can be joined with those of others
 * (ledger/tcp_join.h): what it sent again and cannot explain, and what came to its entry, how
 * often, and was dropped. Numbers are those of struct tcp_entry. Bounded, also when it is read from
 * a file that a stranger wrote; what found no room is counted.
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
	TRAIL_RESENT,  /* a segment, sent again without a reason that this host knows */
	TRAIL_HOLE,    /* passed over at the entry */
	TRAIL_AGAIN,   /* came to the entry when what is behind it had come */
	TRAIL_OUTSIDE, /* lost here, at `stage`, before it came to the entry, */
	TRAIL_DROPPED, /* or behind it; of a sender: its last transmission, which has not left */
	TRAIL_TWICE,   /* dropped by its receiver, which had it */
	TRAIL_WHATS,
};
extern const char *const trail_names[TRAIL_WHATS]; /* "resent", "hole" ... */

struct trail_range {
	uint64_t from, to, time_ns; /* to > from; bpf_ktime_get_ns(), in a file since it began */
	uint32_t flow;		    /* its row */
	uint8_t what, stage;	    /* enum trail_what; enum stage, of what was lost */
};

/* As its segments are sent: of a socket here, or what came to the entry. */
struct trail_flow {
	struct watch_flow key;
	uint64_t first, next; /* as struct tcp_entry; first of a sender that began here: its SYN */
	uint64_t acked;	      /* of a sender: up to there its peer has got it */
	/* Segments with data: that came to the entry, that were dropped between it and a socket,
	 * and that sockets here took; 0: no socket has */
	uint64_t came, dropped, taken;
	uint8_t ttl;
	bool sends, begun;
	bool known;    /* first and next are set */
	bool cut;      /* a range of it found no room */
	uint32_t same; /* private: the next one with this hash */
};

struct trail {
	struct list flows, ranges; /* struct trail_flow, struct trail_range */
	uint32_t heads[4096];
	uint64_t lost_flows, lost_ranges; /* without room */
	uint64_t lost_resent;		  /* of them those of TRAIL_RESENT */
};

uint32_t tcp_flow_hash(const struct watch_flow *key);

struct trail *trail_new(void);
void trail_free(struct trail *t); /* NULL is allowed */

struct trail_flow *trail_flow(const struct trail *t, uint32_t flow);

/* TRAIL_NONE: there is none. */
uint32_t trail_find(const struct trail *t, const struct watch_flow *key, bool sends);

/* It is made if there is none; TRAIL_NONE: no room, which is counted. */
uint32_t trail_make(struct trail *t, const struct watch_flow *key, bool sends);

/* One of a flow, TRAIL_NONE if that has no room. */
void trail_add(struct trail *t, const struct trail_range *r);

#endif
