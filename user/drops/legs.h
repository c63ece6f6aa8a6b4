/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency breakdown: bpf/legs.bpf.c records when a packet with a sequence header passes the probes
 * on its path on this host, and the reader adds up the latency between them.
 */
#ifndef PKTLEDGER_DROPS_LEGS_H
#define PKTLEDGER_DROPS_LEGS_H

#include <stdint.h>

#include "base/err.h"
#include "base/hist.h"
#include "drops/outcomes.h"
#include "host/netns.h"
#include "legs_abi.h"

struct legs;

/* An interface, or with ifindex 0 any interface of the namespace; ns NULL: not on this host. */
struct legs_device {
	const struct netns *ns;
	unsigned ifindex;
};

/* Loads and attaches; `port` 0: any. On error nothing stays loaded: `err`, -errno. */
int legs_open(struct legs **l, uint16_t port, const struct legs_device *out,
	      const struct legs_device *in, struct error *err);

/* Also attaches to a UDP socket, before packets enter its queue. Returns 0 or -errno. */
int legs_attach(const struct legs *l, int socket);

/* Closes and frees it; NULL is allowed. */
void legs_close(struct legs *l);

/*
 * Sums of one reader: histograms of the time between consecutive probes, and of the total of the
 * same packets. Zero-initialise. For one thread.
 */
struct legs_sums {
	struct hist *leg[RESULT_POINTS * RESULT_POINTS]; /* by from and to; NULL: no packet */
	struct hist *backlog; /* from the kernel's timestamp to RESULT_DEVICE_IN; NULL: no packet */
	uint64_t stamped;     /* packets with a kernel timestamp */
};

/*
 * Adds a packet that was read: `sent_ns` from its sequence header, `now_ns`, `came_ns` from the
 * kernel's timestamp (0: unavailable), which replaces RESULT_DEVICE_IN if that probe has not seen
 * the packet. All CLOCK_TAI. A packet that no probe in between has seen does not count.
 */
void legs_read(const struct legs *l, struct legs_sums *sums, uint64_t word, uint64_t sent_ns,
	       uint64_t came_ns, uint64_t now_ns);

/* Adds the sums of another thread. */
void legs_merge(struct legs_sums *into, const struct legs_sums *from);

void legs_forget(struct legs_sums *sums);

/* Fills the latencies in path order, the total last. Returns their number. */
unsigned legs_result(const struct legs_sums *sums, struct result_leg leg[RESULT_LEGS],
		     struct result_stamps *stamps);

#endif
