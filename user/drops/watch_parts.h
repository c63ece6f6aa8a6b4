/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the observer have in common: watch.c loads it, watch_read.c reads it. */
#ifndef PKTLEDGER_DROPS_WATCH_PARTS_H
#define PKTLEDGER_DROPS_WATCH_PARTS_H

#include "drops/watch.h"
#include "watch.skel.h"

#define WATCH_BATCH 128 /* keys read from a hash map at a time */

struct watch {
	struct watch_bpf *skel;
	struct bpf_program *prog, *used; /* used: on consume_skb; NULL: not wanted */
	struct bpf_link *link, *used_link;
	bool by_flow, has_rx_sk, has_filter;
	unsigned cpus;	   /* of a set: the highest number + 1 */
	unsigned possible; /* values of a per-CPU map */
	unsigned slots;	   /* of a CPU */
	uint32_t keys;	   /* that a hash map holds */
	size_t slot_size, key_size;
	char *slot, *other, *burst; /* mapped */
	uint32_t burst_room;	    /* of a list of windows; 0: there are none */
	int rcu_map, inner_map;
	uint64_t slots_used, overflow_used;
	void *batch_keys;
	struct watch_count *batch_values;
};

/* Bytes of all lists of windows; they and the settings of the map. */
size_t watch_bursts_size(const struct watch *w);
void watch_bursts_prepare(struct watch *w, uint64_t burst_ns);

#endif
