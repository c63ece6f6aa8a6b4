/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the time goes: bpf/legs.bpf.c notes when a stamped packet passes the points of its way on
 * this host, and whoever has read it adds up the legs between them.
 */
#ifndef PKTLEDGER_DROPS_LEGS_H
#define PKTLEDGER_DROPS_LEGS_H

#include <stdint.h>

#include "base/err.h"
#include "base/hist.h"
#include "drops/fates.h"
#include "host/netns.h"
#include "legs_abi.h"

struct legs;

/* A device, or with ifindex 0 any of the namespace; ns NULL: not on this host. */
struct legs_device {
	const struct netns *ns;
	unsigned ifindex;
};

/* Loads and attaches; `port` 0: any. In case of an error nothing is left: `err`, -errno. */
int legs_open(struct legs **l, uint16_t port, const struct legs_device *out,
	      const struct legs_device *in, struct error *err);

/* Also before the packets of a UDP socket enter its queue. 0 or -errno. */
int legs_attach(const struct legs *l, int socket);

/* Closes and frees it; NULL is allowed. */
void legs_close(struct legs *l);

/*
 * What one reader adds up: histograms of each leg between two points that follow each other, and of
 * the whole of the same packets. Zero-initialise. For one thread.
 */
struct legs_sums {
	struct hist *leg[RESULT_POINTS * RESULT_POINTS]; /* by from and to; NULL: no packet */
	struct hist *backlog; /* from the kernel's timestamp to RESULT_DEVICE_IN; NULL: no packet */
	uint64_t stamped;     /* packets with such a timestamp */
};

/*
 * A packet was read: `sent_ns` by its stamp, `now_ns`, `came_ns` by the kernel's timestamp (0: it
 * has none), which stands for RESULT_DEVICE_IN where that has not seen it; all CLOCK_TAI. One that
 * no point between knows does not count.
 */
void legs_read(const struct legs *l, struct legs_sums *sums, uint64_t word, uint64_t sent_ns,
	       uint64_t came_ns, uint64_t now_ns);

/* Adds those of another thread. */
void legs_merge(struct legs_sums *into, const struct legs_sums *from);

void legs_forget(struct legs_sums *sums);

/* In the order of the way, the whole last. Returns how many. */
unsigned legs_result(const struct legs_sums *sums, struct result_leg leg[RESULT_LEGS],
		     struct result_stamps *stamps);

#endif
