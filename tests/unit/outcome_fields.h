/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is known of a number, and the sums over all of them, as text. */
#ifndef PKTLEDGER_TESTS_OUTCOME_FIELDS_H
#define PKTLEDGER_TESTS_OUTCOME_FIELDS_H

#include "drops/outcomes.h"
#include "recorded.h"

struct bytes {
	uint8_t arrival, cause, seen, failed;
};

#define BYTE(member) FIELD(struct bytes, member)
static const struct recorded_field byte_fields[] = {
	BYTE(arrival), BYTE(cause), BYTE(seen), BYTE(failed), {0}};

#define TALLY(member)	FIELD(struct outcome_tally, member)
#define TALLIES(member) FIELDS(struct outcome_tally, member, NULL)
static const struct recorded_field tally_fields[] = {
	TALLY(attempted),	   TALLY(refused),
	TALLY(delivered),	   TALLY(dropped),
	TALLY(unaccounted),	   TALLY(impossible),
	TALLIES(unaccounted_seen), TALLY(unaccounted_on_init),
	TALLY(gaps.count),	   TALLY(gaps.packets),
	TALLY(gaps.longest),	   TALLIES(missing),
	TALLIES(refused_by),	   {0}};

static inline void tell_tally(const struct outcome_tally *tally)
{
	tell("%s", recorded_text(tally_fields, tally));
	for (unsigned slot = 0; slot < TRACE_STREAMS; slot++) {
		for (unsigned i = 0; i < TRACE_CAUSES; i++) {
			const struct outcome_cause *c = &tally->cause[slot][i];

			if (c->packets || c->l3_bytes)
				tell("cause.%u.%u=%d,%d-%d,%d", slot, i, (int)c->packets,
				     (int)c->first, (int)c->last, (int)c->l3_bytes);
		}
	}
}

/* "put" SLOT FIRST LAST, and the bytes of these numbers, which count from 0. */
static inline void put_bytes(struct outcomes *f, uint16_t slot, uint64_t first, uint64_t last,
			     struct bytes b)
{
	for (uint64_t n = f->base + first; n <= f->base + last; n++) {
		const size_t i = outcomes_index(f, slot, n);

		f->arrivals[i] = b.arrival;
		f->cause[i] = b.cause;
		f->seen[i] = b.seen;
		f->failed[i] = b.failed;
	}
}

#endif
