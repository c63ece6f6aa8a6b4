// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/bycounter.h"

#include <stdio.h>
#include <string.h>

/* The receiver's device took just the frames that left the sender's. */
static bool carried_nothing_else(const struct counters_deltas *deltas, const struct rig *rig,
				 const struct result *res)
{
	char name[COUNTER_NAME_LEN];
	uint64_t received;

	snprintf(name, sizeof(name), "%s:rx_packets", rig->lab.rx.ifname);
	return counters_moved(deltas, "rx", name, &received) &&
	       received == res->sent - res->stage[STAGE_TX_DEVICE].packets;
}

static const struct book_unexplained *find_drops(const struct secondbooks *second)
{
	for (size_t i = 0; i < second->n_unexplained; i++) {
		const struct book_unexplained *u = &second->unexplained[i];

		if (u->stage == STAGE_XDP && !strcmp(u->role, "rx") && strstr(u->name, "xdp_drop"))
			return u;
	}
	return NULL;
}

/* The counter is the source now, so it agrees with what it told. */
static void note_source(const struct book_unexplained *u, uint64_t n, struct result *res)
{
	char name[sizeof(res->counter[0].name)];

	snprintf(name, sizeof(name), "%s %s", u->role, u->name);
	for (unsigned i = 0; i < res->n_counters; i++) {
		struct result_counter *c = &res->counter[i];

		if (c->stage != STAGE_XDP || strcmp(c->name, name))
			continue;
		c->expected += n;
		c->agrees = c->delta == c->expected;
		c->note = "no event tells of these losses: this counter is their source";
	}
}

/* They got as far as the program, if anything has noted how far they got. */
static void forget_seen(uint64_t n, struct result *res)
{
	for (int where = SEEN_XDP; n && where >= 0; where--) {
		uint64_t m = res->unaccounted_seen[where] < n ? res->unaccounted_seen[where] : n;

		res->unaccounted_seen[where] -= m;
		n -= m;
	}
}

void settle_by_counter(const struct secondbooks *second, const struct counters_deltas *deltas,
		       const struct rig *rig, struct result *res)
{
	const struct book_unexplained *u = find_drops(second);
	struct result_stage *stage = &res->stage[STAGE_XDP];
	uint64_t n;

	if (!u || rig->spec->tx != &tx_xdp || rig->lab.topology != LAB_PAIR || !res->unaccounted ||
	    !carried_nothing_else(deltas, rig, res))
		return;
	n = u->excess < res->unaccounted ? u->excess : res->unaccounted;
	res->unaccounted -= n;
	res->dropped += n;
	res->balanced = !res->unaccounted && !res->in_flight && !res->impossible;
	stage->packets += n;
	stage->bytes += n * (rig->flow.payload + 8 + (rig->flow.family == AF_INET6 ? 40 : 20));
	stage->source = "counter";
	stage->scope = "interface";
	forget_seen(n, res);
	note_source(u, n, res);
}
