/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Single drops, as the collector's tables tell them: from its samples to rows with their packets.
 */
#ifndef PKTLEDGER_MONITOR_DROPFEED_H
#define PKTLEDGER_MONITOR_DROPFEED_H

#include "monitor/describe.h"
#include "monitor/live.h"
#include "drops/packet_text.h"

/*
 * What is kept of a packet by default: bytes that hold the headers of any UDP and TCP packet and a
 * stamp. Of those only the headers and the stamp are told.
 */
#define DROPFEED_SNAPLEN 128

struct dropfeed;

struct live_drop {
	const struct described *what; /* counts are of this packet */
	const struct watch_key *key;
	uint64_t time_ns;     /* since live_started() */
	uint64_t realtime_ns; /* CLOCK_REALTIME */
	struct packet_view packet;
	const uint64_t *stack; /* return addresses, from the place of the drop outwards */
	unsigned frames;       /* 0: not asked for, or not known */
	const struct ksyms *ksyms;
};

/* What it points to lives until it returns. */
typedef void dropfeed_each(void *arg, const struct live_drop *drop);

/*
 * `l` was opened with spec.snaplen, and is borrowed. `payload`: tell more than headers. `all`:
 * drops of class benign too.
 */
int dropfeed_open(struct dropfeed **f, struct live *l, bool payload, bool all, dropfeed_each *each,
		  void *arg, struct error *err);

/* As samples_read(). */
int64_t dropfeed_read(struct dropfeed *f, uint64_t budget_ns);

/* NULL is allowed. */
void dropfeed_close(struct dropfeed *f);

#endif
