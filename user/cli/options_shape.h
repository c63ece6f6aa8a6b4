/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options that shape traffic, a group of rows for every command that sends. */
#ifndef PKTLEDGER_CLI_OPTIONS_SHAPE_H
#define PKTLEDGER_CLI_OPTIONS_SHAPE_H

#include "traffic/shape.h"
#include "cli/options.h"

struct shape_options {
	struct rate_plan plan;
	unsigned burst;
	struct imix imix;
	struct shape_addrs src_addr, dst_addr;
	struct shape_ports src_port, dst_port;
	bool random;
	uint64_t seed;
	unsigned vlan, tos, ttl;
	double duplicate, gap;
	struct shape_reorder reorder;
	const char *pcap;
	bool stamp;
};

#define SHAPE_DEFAULTS                                                                             \
	{                                                                                          \
		.seed = 1                                                                          \
	}

extern const struct opt shape_opts[];

/* All that was asked for, with what must be freed. */
struct shape_plan {
	struct shape shape;
	struct capture *capture; /* NULL: none */
	bool any;		 /* false: packets are alike, evenly spaced */
	unsigned vlan, tos, ttl;
	unsigned payload; /* the longest */
};

/*
 * Whether frames are asked for that only an engine below the IP stack can make: --tx auto then
 * means xsk.
 */
bool shape_needs_frames(const struct shape_options *o);

/* Whether one of its frames needs fragments at this MTU, as only --tx socket makes them. */
bool shape_needs_fragments(const struct shape_options *o, unsigned mtu);

/*
 * Makes the shape of the options; what does not go together, or not with the engine, is
 * STATUS_USAGE. `payload`: of --size or --length. With a capture and no --count the file is
 * sent once: t->count changes.
 */
int shape_plan(const struct shape_options *o, struct traffic_options *t, const struct tx_ops *tx,
	       unsigned payload, struct shape_plan *plan, struct error *err);
void shape_plan_free(struct shape_plan *plan);

/* Whether a rate is told by other means than --rate. */
bool shape_has_schedule(const struct shape_options *o);

#endif
