// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/join.h"

#include <errno.h>
#include <string.h>

#define LOWEST 128 /* the causes here are not expected to be so many */

void join_init(struct join *j, struct fates *fates, const uint8_t *ignored, bool far_receives)
{
	memset(j, 0, sizeof(*j));
	j->fates = fates;
	j->ignored = ignored;
	j->far_receives = far_receives;
	j->lowest = JOIN_WIRE;
	j->cause_of[TRACE_CAUSE_FULL] = TRACE_CAUSE_FULL;
}

uint8_t join_cause(struct join *j, uint8_t far_cause)
{
	uint8_t *here = &j->cause_of[far_cause];

	if (!*here)
		*here = j->lowest > LOWEST ? --j->lowest : TRACE_CAUSE_FULL;
	return *here;
}

static bool ends_packet(const struct join *j, uint8_t cause)
{
	return cause && !j->ignored[cause];
}

/* The last checkpoint passed, of both ends: the receiver's are behind the sender's. */
static void note_seen(uint8_t *seen, uint8_t far)
{
	uint8_t init = (*seen | far) & SEEN_ON_INIT;

	if ((*seen & SEEN_MASK) < (far & SEEN_MASK))
		*seen = far & SEEN_MASK;
	*seen |= init;
}

static void apply(const struct join *j, size_t i, enum fate fate, uint8_t detail)
{
	struct fates *f = j->fates;

	switch (fate) {
	case FATE_DELIVERED:
		f->arrivals[i] = 1;
		break;
	case FATE_DROPPED:
		if (j->far_receives || !ends_packet(j, f->cause[i]))
			f->cause[i] = j->cause_of[detail];
		break;
	case FATE_REFUSED:
		f->failed[i] = detail;
		break;
	case FATE_GAP:
		f->failed[i] = TX_ERRNO_GAP;
		break;
	case FATE_OPEN:
		note_seen(&f->seen[i], detail);
		break;
	}
}

static bool can_tell(const struct join *j, const struct join_run *run)
{
	switch (run->fate) {
	case FATE_DELIVERED:
		return j->far_receives && !run->detail;
	case FATE_DROPPED:
		return j->cause_of[run->detail];
	case FATE_REFUSED:
		return !j->far_receives && run->detail && run->detail != TX_ERRNO_GAP;
	case FATE_GAP:
		return !j->far_receives && !run->detail;
	case FATE_OPEN:
		return (run->detail & SEEN_MASK) <=
		       (j->far_receives ? SEEN_SOCKET : SEEN_TX_DEVICE);
	}
	return false;
}

int join_run(struct join *j, const struct join_run *run)
{
	const struct fates *f = j->fates;
	uint64_t tail;

	if (run->slot >= f->streams || run->first > run->last || !can_tell(j, run))
		return -EBADMSG;
	tail = f->tail[run->slot] - f->base;
	if (run->first < tail || run->last - tail >= f->window)
		return -EBADMSG;
	for (uint64_t n = run->first; n <= run->last; n++)
		apply(j, fates_index(f, run->slot, f->base + n), run->fate, run->detail);
	return 0;
}

static bool is_on_the_wire(const struct join *j, size_t i)
{
	const struct fates *f = j->fates;

	return !f->arrivals[i] && !ends_packet(j, f->cause[i]) && f->failed[i] != TX_ERRNO_GAP &&
	       (f->seen[i] & SEEN_MASK) == SEEN_TX_DEVICE;
}

void join_wire(const struct join *j, uint16_t slot, uint64_t upto)
{
	struct fates *f = j->fates;

	for (uint64_t number = f->tail[slot]; number < upto; number++) {
		size_t i = fates_index(f, slot, number);

		if (is_on_the_wire(j, i))
			f->cause[i] = JOIN_WIRE;
	}
}
