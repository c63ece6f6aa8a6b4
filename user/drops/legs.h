/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency breakdown: bpf/legs.bpf.c records when a packet with a sequence header passes the probes
 * along its path on this host. The receiver adds up the latency between them.
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

/* An interface; with ifindex 0 any interface in the namespace. ns NULL: not on this host. */
struct legs_device {
	const struct netns *ns;
	unsigned ifindex;
};

/* Loads and attaches the programs; `port` 0: any. On error nothing stays loaded: `err`, -errno. */
int legs_open(struct legs **l, uint16_t port, const struct legs_device *out,
	      const struct legs_device *in, struct error *err);

/*
 * Also attaches to a UDP socket, at the point before packets enter its queue. Returns 0 or -errno.
 */
int legs_attach(const struct legs *l, int socket);

/* Closes and frees it; NULL is allowed. */
void legs_close(struct legs *l);

/*
 * One receiver's sums: histograms of the time between consecutive probes, and of the total for the
 * same packets. Zero-initialise. For use by one thread.
 */
struct legs_sums {
	struct hist *leg[RESULT_POINTS * RESULT_POINTS]; /* by first and last probe; NULL: none */
	struct hist *backlog; /* from kernel timestamp to RESULT_DEVICE_IN; NULL: no packets */
	uint64_t stamped;     /* packets with a kernel timestamp */
};

/*
 * Adds a packet that was read. `sent_ns` is from its sequence header. `came_ns` is the kernel's
 * timestamp (0: unavailable), which replaces RESULT_DEVICE_IN if that probe did not see the packet.
 * All times including `now_ns` are CLOCK_TAI. A packet that no probe in between has seen does not
 * count.
 */
void legs_read(const struct legs *l, struct legs_sums *sums, uint64_t word, uint64_t sent_ns,
	       uint64_t came_ns, uint64_t now_ns);

/* Adds another thread's sums. */
void legs_merge(struct legs_sums *into, const struct legs_sums *from);

void legs_forget(struct legs_sums *sums);

/* Fills in the latencies in path order, ending with the total. Returns how many there are. */
unsigned legs_result(const struct legs_sums *sums, struct result_leg leg[RESULT_LEGS],
		     struct result_stamps *stamps);

#endif
