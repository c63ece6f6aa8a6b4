/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The self-test: injects each loss that this host allows, in a lab, and checks that three sources
 * say the same: what both ends know (sent - delivered), the tracer's events, the kernel's counters.
 * What a busy host loses at other stages meanwhile is no disagreement if a counter of theirs
 * confirms it.
 */
#ifndef PKTLEDGER_EXPERIMENT_SELFTEST_H
#define PKTLEDGER_EXPERIMENT_SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/result.h"
#include "experiment/faults/fault.h"

enum selftest_verdict {
	SELFTEST_AGREES,
	SELFTEST_DISAGREES,
	SELFTEST_SKIPPED, /* this host cannot do it, or was not asked to: see note */
};

const char *selftest_verdict_name(enum selftest_verdict v); /* "agrees", ... */

struct selftest_row {
	unsigned fault;
	enum stage stage;
	uint64_t injected; /* sent - delivered - lost at other stages as their counters say */
	uint64_t settled;  /* fates at the stage */
	uint64_t events;
	unsigned counters, agreeing; /* of the stage; documented disagreements agree */
	enum selftest_verdict verdict;
	char note[320]; /* why skipped, or what disagrees; or what this kernel is known for */
};

struct selftest_spec {
	uint64_t count; /* packets for each fault */
	bool ipv6;
	bool host_global;		 /* also what affects the whole host while it runs */
	const struct fault_list *values; /* given with faults, as in `xdp=5%` */
};

/*
 * Tests one fault. Never fails: what goes wrong is in the row. -EINTR if a signal came, after which
 * the caller should stop.
 */
int selftest_fault(const struct selftest_spec *spec, unsigned fault, struct selftest_row *row);

#endif
