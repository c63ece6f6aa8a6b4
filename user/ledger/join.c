// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/join.h"

#include <errno.h>
#include <string.h>

#define LOWEST 128 /* the causes here are not expected to be so many */

enum joint join_decide(enum claim tx, enum claim rx)
{
	bool came = rx >= CLAIM_SEEN;

	if (tx == CLAIM_GAP)
		return came ? JOINT_IMPOSSIBLE : JOINT_GAP;
	if (rx == CLAIM_DELIVERED)
		return JOINT_DELIVERED;
	if (rx == CLAIM_DROPPED)
		return JOINT_DROPPED_RX;
	if (tx == CLAIM_DROPPED)
		return JOINT_DROPPED_TX;
	if (rx == CLAIM_GIVEN_UP)
		return tx == CLAIM_SEEN ? JOINT_WIRE : JOINT_DROPPED_RX;
	if (tx == CLAIM_REFUSED && !came)
		return JOINT_REFUSED;
	return tx == CLAIM_SEEN && rx == CLAIM_NOTHING ? JOINT_WIRE : JOINT_OPEN;
}

void join_init(struct join *j, struct fates *fates, const uint8_t *ignored, bool remote_receives)
{
	memset(j, 0, sizeof(*j));
	j->fates = fates;
	j->ignored = ignored;
	j->remote_receives = remote_receives;
	j->lowest = JOIN_WIRE;
	j->cause_of[TRACE_CAUSE_FULL] = TRACE_CAUSE_FULL;
}

uint8_t join_cause(struct join *j, uint8_t remote_cause)
{
	uint8_t *here = &j->cause_of[remote_cause];

	if (!*here)
		*here = j->lowest > LOWEST ? --j->lowest : TRACE_CAUSE_FULL;
	return *here;
}

/* Of a packet that nobody ended: how far it was seen, by the site that sends or receives. */
static enum claim claim_open(uint8_t seen, bool receives)
{
	uint8_t where = seen & SEEN_MASK;

	if (receives)
		return where > SEEN_TX_DEVICE ? CLAIM_SEEN : CLAIM_NOTHING;
	return where == SEEN_TX_DEVICE ? CLAIM_SEEN : CLAIM_OPEN;
}

static enum claim claim_here(const struct join *j, size_t i)
{
	const struct fates *f = j->fates;
	bool receives = !j->remote_receives;

	if (f->failed[i] == TX_ERRNO_GAP)
		return CLAIM_GAP;
	if (f->arrivals[i])
		return CLAIM_DELIVERED;
	if (f->cause[i] && !j->ignored[f->cause[i]])
		return receives && f->cause[i] == TRACE_CAUSE_GIVEN_UP ? CLAIM_GIVEN_UP
								       : CLAIM_DROPPED;
	/* a refused call stays one if nobody saw its packet, whatever is decided (fate_of()) */
	return claim_open(f->seen[i], receives);
}

static enum claim claim_there(const struct join *j, const struct join_run *run)
{
	static const enum claim claims[] = {
		[FATE_DELIVERED] = CLAIM_DELIVERED,
		[FATE_DROPPED] = CLAIM_DROPPED,
		[FATE_REFUSED] = CLAIM_REFUSED,
		[FATE_GAP] = CLAIM_GAP,
	};

	if (run->fate == FATE_OPEN)
		return claim_open(run->detail, j->remote_receives);
	return run->fate == FATE_DROPPED && j->remote_receives &&
			       run->detail == TRACE_CAUSE_GIVEN_UP
		       ? CLAIM_GIVEN_UP
		       : claims[run->fate];
}

/* Makes the fates here say what was decided. */
static void apply(const struct join *j, size_t i, const struct join_run *run)
{
	enum claim here = claim_here(j, i), there = claim_there(j, run);
	struct fates *f = j->fates;
	uint8_t seen = f->seen[i];
	enum joint joint;

	/* the last checkpoint passed, of both ends: the receiver's are behind the sender's */
	if (run->fate == FATE_OPEN && (seen & SEEN_MASK) < (run->detail & SEEN_MASK))
		f->seen[i] = (seen & SEEN_ON_INIT) | (run->detail & (SEEN_MASK | SEEN_ON_INIT));
	else if (run->fate == FATE_OPEN)
		f->seen[i] |= run->detail & SEEN_ON_INIT;
	else if (run->fate == FATE_REFUSED)
		f->failed[i] = run->detail;
	joint = j->remote_receives ? join_decide(here, there) : join_decide(there, here);
	/* what is impossible is so by both: an arrival of what was left out */
	if (joint == JOINT_IMPOSSIBLE || joint == JOINT_DELIVERED)
		f->arrivals[i] = 1;
	if (joint == JOINT_IMPOSSIBLE || joint == JOINT_GAP)
		f->failed[i] = TX_ERRNO_GAP;
	if (joint == JOINT_WIRE)
		f->cause[i] = JOIN_WIRE;
	if (joint == (j->remote_receives ? JOINT_DROPPED_RX : JOINT_DROPPED_TX))
		f->cause[i] = j->cause_of[run->detail];
}

static bool can_report(const struct join *j, const struct join_run *run)
{
	switch (run->fate) {
	case FATE_DELIVERED:
		return j->remote_receives && !run->detail;
	case FATE_DROPPED:
		return j->cause_of[run->detail];
	case FATE_REFUSED:
		return !j->remote_receives && run->detail && run->detail != TX_ERRNO_GAP;
	case FATE_GAP:
		return !j->remote_receives && !run->detail;
	case FATE_OPEN:
		return (run->detail & SEEN_MASK) <=
		       (j->remote_receives ? SEEN_SOCKET : SEEN_TX_DEVICE);
	}
	return false;
}

int join_run(struct join *j, const struct join_run *run)
{
	const struct fates *f = j->fates;
	uint64_t tail;

	if (run->slot >= f->streams || run->first > run->last || !can_report(j, run))
		return -EBADMSG;
	tail = f->tail[run->slot] - f->base;
	if (run->first < tail || run->last - tail >= f->window)
		return -EBADMSG;
	for (uint64_t n = run->first; n <= run->last; n++)
		apply(j, fates_index(f, run->slot, f->base + n), run);
	return 0;
}
