/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shapes as people write them. Strict: the whole text, or -EINVAL (not one), -ERANGE (without
 * meaning or too large); where more can be said it is in `err`. Nothing is written then.
 */
#ifndef PKTLEDGER_TRAFFIC_SHAPE_TEXT_H
#define PKTLEDGER_TRAFFIC_SHAPE_TEXT_H

#include "traffic/shape.h"

#define IMIX_RUNS 64

/* Frames with FCS, VLAN tag included, in the order of a cycle. */
struct imix {
	unsigned n;  /* 0: none */
	bool simple; /* its smallest frame grows where the stamp needs more */
	uint16_t frame[SHAPE_SIZES];
};

/*
 * `simple`: 7 x 64, 4 x 594, 1 x 1518. SIZE:WEIGHT,...: spread as evenly as they go. A genome
 * (RFC 6985, section 4): letters a to i of its table, one a packet, in that order: aaafgee.
 */
int imix_parse(const char *text, struct imix *out, struct error *err);

/* ramp:FROM..TO/TIME, steps:RATE,RATE,.../TIME, onoff:ON/OFF; rates as in num_rate(), not max. */
enum plan_kind { PLAN_NONE, PLAN_RAMP, PLAN_STEPS, PLAN_ONOFF };
struct rate_plan {
	enum plan_kind kind;
	unsigned n;
	struct rate rate[PROFILE_PARTS];
	uint64_t time_ns; /* of the ramp, of each step, on */
	uint64_t off_ns;
};
int rate_plan_parse(const char *text, struct rate_plan *out, struct error *err);

/* In packets/s. `pps`: that of --rate, for onoff. Errors as shape_pps(); -EINVAL: onoff, no rate.
 */
int rate_plan_profile(const struct rate_plan *plan, const struct shape_sizes *sizes, int link_mbit,
		      double pps, struct profile *out);

/* PORT or FIRST..LAST */
int ports_parse(const char *text, struct shape_ports *out);

/* ADDR, FIRST..LAST or ADDR/PREFIX (all of its addresses); at most 2^32 of them. */
int addrs_parse(const char *text, struct shape_addrs *out);

/* 0.1% .. 100%; and, for reordering, SHARE[:EXTENT], extent 1 .. 255, 1 if not given. */
int share_parse(const char *text, double *out);
int reorder_parse(const char *text, struct shape_reorder *out);

#endif
