// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Losses of which no event tells, but a counter does. */
#include "experiment/site.h"

#include <stdio.h>
#include <string.h>

#define SOURCE_NOTE "no event tells of these losses: this counter is their source"

/* Whether the receiver's device took so many frames. */
static bool received(const struct counters_deltas *deltas, const struct site *site, uint64_t frames)
{
	char name[COUNTER_NAME_LEN];
	uint64_t delta;

	snprintf(name, sizeof(name), "%s:rx_packets", site->lab.rx.ifname);
	return counters_moved(deltas, "rx", name, &delta) && delta == frames;
}

/* They got as far as `where`, if anything has noted how far they got. */
static void forget_seen(int where, uint64_t n, struct result *res)
{
	for (; n && where >= 0; where--) {
		uint64_t m = res->unaccounted_seen[where] < n ? res->unaccounted_seen[where] : n;

		res->unaccounted_seen[where] -= m;
		n -= m;
	}
}

static void settle(enum stage s, uint64_t n, const struct site *site, struct result *res)
{
	struct result_stage *stage = &res->stage[s];

	res->unaccounted -= n;
	res->dropped += n;
	res->balanced = !res->unaccounted && !res->in_flight && !res->impossible;
	stage->packets += n;
	stage->bytes += n * (site->flow.payload + 8 + (site->flow.family == AF_INET6 ? 40 : 20));
	stage->source = "counter";
	stage->scope = "interface";
}

/* Numbers that are known to have ended on their way to the NIC of the receiver. */
static uint64_t ended_before(const struct result *res)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < res->n_causes; i++) {
		if (res->cause[i].direction && !strcmp(res->cause[i].direction, "tx"))
			n += res->cause[i].packets;
	}
	return n;
}

static uint64_t open_before(const struct result *res)
{
	uint64_t n = res->unaccounted;

	for (int where = SEEN_TX_DEVICE + 1; where <= SEEN_SOCKET; where++)
		n -= res->unaccounted_seen[where];
	return n;
}

/* `settled`: of the packets that the counter tells of. */
static void note_ring(const struct nic_ring_loss *loss, uint64_t settled, struct result *res)
{
	struct result_counter *c;

	if (res->n_counters == RESULT_COUNTERS)
		return;
	c = &res->counter[res->n_counters++];
	*c = (struct result_counter){
		.stage = STAGE_NIC_RING,
		.delta = loss->packets,
		.expected = settled,
		.agrees = settled == loss->packets,
		.scope = "interface",
		.note = settled ? SOURCE_NOTE
				: "not settled: the device took other packets than these, too",
	};
	snprintf(c->name, sizeof(c->name), "rx %s", loss->counter);
}

static void settle_ring(const struct counters_deltas *deltas, const struct site *site,
			struct result *res)
{
	uint64_t n = open_before(res), settled = 0;
	struct nic_ring_loss loss;

	if (!n || !site->spec->port_a || site->fragments || nic_watch_read(&site->nic, &loss) ||
	    !loss.packets)
		return;
	if (received(deltas, site, res->sent - ended_before(res) - n))
		settled = loss.packets < n ? loss.packets : n;
	note_ring(&loss, settled, res);
	if (!settled)
		return;
	settle(STAGE_NIC_RING, settled, site, res);
	forget_seen(SEEN_TX_DEVICE, settled, res);
}

static const struct counter_row *find_drops(const struct countercheck *check)
{
	for (size_t i = 0; i < check->n_unexplained; i++) {
		const struct counter_row *u = &check->unexplained[i];

		if (u->stage == STAGE_XDP && !strcmp(u->role, "rx") && strstr(u->name, "xdp_drop"))
			return u;
	}
	return NULL;
}

/* The counter is the source now, so it agrees with what it told. */
static void note_source(const struct counter_row *u, uint64_t n, struct result *res)
{
	char name[sizeof(res->counter[0].name)];

	snprintf(name, sizeof(name), "%s %s", u->role, u->name);
	for (unsigned i = 0; i < res->n_counters; i++) {
		struct result_counter *c = &res->counter[i];

		if (c->stage != STAGE_XDP || strcmp(c->name, name))
			continue;
		c->expected += n;
		c->agrees = c->delta == c->expected;
		c->note = SOURCE_NOTE;
	}
}

static void settle_xdp(const struct countercheck *check, const struct counters_deltas *deltas,
		       const struct site *site, struct result *res)
{
	const struct counter_row *u = find_drops(check);
	uint64_t n, excess;

	if (!u || site->spec->tx != &tx_xdp || site->lab.topology != LAB_PAIR ||
	    !res->unaccounted ||
	    !received(deltas, site, res->sent - res->stage[STAGE_TX_DEVICE].packets))
		return;
	excess = u->delta - u->expected_max;
	n = excess < res->unaccounted ? excess : res->unaccounted;
	settle(STAGE_XDP, n, site, res);
	forget_seen(SEEN_XDP, n, res);
	note_source(u, n, res);
}

void settle_by_counter(const struct countercheck *check, const struct counters_deltas *deltas,
		       const struct site *site, struct result *res)
{
	settle_ring(deltas, site, res);
	settle_xdp(check, deltas, site, res);
}

/* Datagrams that a timer gave up, as far as events told of it. */
static uint64_t timed_out(const struct result *res)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < res->n_causes; i++) {
		if (!strcmp(res->cause[i].reason, "FRAG_REASM_TIMEOUT"))
			n += res->cause[i].packets;
	}
	return n;
}

void name_unseen_timeouts(const struct counters_deltas *deltas, struct result *res)
{
	uint64_t moved = countercheck_timed_out(deltas), told = timed_out(res), unseen;
	struct result_losses *losses = &res->losses;

	/* Where others were lost, what was left of them has timed out, too. */
	if (res->dropped != told || res->fragments.made != res->fragments.seen)
		return;
	told += res->fragments.unmatched;
	if (moved <= told || res->unaccounted <= losses->suppressed)
		return;
	unseen = res->unaccounted - losses->suppressed;
	if (unseen > moved - told)
		unseen = moved - told;
	losses->suppressed += unseen;
	snprintf(losses->suppressed_evidence, sizeof(losses->suppressed_evidence),
		 "ReasmTimeout tells of %llu datagrams, events of %llu: the timer may have run "
		 "on top of PID 1, where this kernel skips tracing programs",
		 (unsigned long long)moved, (unsigned long long)told);
}
