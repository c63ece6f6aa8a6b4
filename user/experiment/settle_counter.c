// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Resolves losses that only a counter shows and that have no event. */
#include "experiment/site.h"

#include <stdio.h>
#include <string.h>

#define SOURCE_NOTE "no event shows these losses: this counter is their source"

/* Returns whether the receiver's interface received exactly this many frames. */
static bool received(const struct counters *deltas, const struct site *site, uint64_t frames)
{
	char name[COUNTER_NAME_LEN];
	uint64_t delta;

	snprintf(name, sizeof(name), "%s:rx_packets", site->lab.rx.ifname);
	return counters_get(deltas, "rx", name, &delta) && delta == frames;
}

/* Assigns losses to a stage. If packets' progress was recorded, they must have reached `where`. */
static void settle(enum stage stage, const char *source, uint64_t n, int where,
		   const struct site *site, struct result *res)
{
	struct result_stage *to = &res->stage[stage];

	res->unaccounted -= n;
	res->dropped += n;
	res->balanced = !res->unaccounted && !res->in_flight && !res->impossible;
	to->packets += n;
	to->bytes += n * (site->flow.payload + 8 + (site->flow.family == AF_INET6 ? 40 : 20));
	to->source = source;
	to->scope = stage == STAGE_WIRE ? "flow" : "interface";
	for (; n && where >= 0; where--) {
		uint64_t m = res->unaccounted_seen[where] < n ? res->unaccounted_seen[where] : n;

		res->unaccounted_seen[where] -= m;
		n -= m;
	}
}

static void add_counter(const struct result_counter *c, struct result *res)
{
	if (res->n_counters < RESULT_COUNTERS)
		res->counter[res->n_counters++] = *c;
}

/*
 * Resolves packets that the NIC dropped between two ports of this host and that never were an skb.
 * Open numbers that were seen after the NIC have passed it. Returns false if the NIC's counter also
 * includes other losses.
 */
static bool settle_ring(const struct counters *deltas, const struct site *site, struct result *res)
{
	uint64_t n = res->unaccounted, ended = 0;
	struct result_counter c = {.stage = STAGE_NIC_RING, .scope = "interface"};
	const char *ifname = site->lab.rx.ifname;
	struct nic_ring_loss loss;

	for (int where = SEEN_TX_DEVICE + 1; where <= SEEN_SOCKET; where++)
		n -= res->unaccounted_seen[where];
	if (!n || !site->spec->port_a || site->fragments)
		return true;
	loss = nic_ring_loss(counters_device(&site->before, "rx", ifname, 0),
			     counters_device(&site->after, "rx", ifname, 0));
	if (!loss.packets)
		return true;
	for (unsigned i = 0; i < res->n_causes; i++) { /* lost before reaching the NIC */
		if (res->cause[i].direction && !strcmp(res->cause[i].direction, "tx"))
			ended += res->cause[i].packets;
	}
	if (received(deltas, site, res->sent - ended - n))
		c.expected = loss.packets < n ? loss.packets : n;
	c.delta = loss.packets;
	c.agrees = c.expected == loss.packets;
	c.note = c.expected ? SOURCE_NOTE
			    : "not resolved: the device also carried other packets";
	snprintf(c.name, sizeof(c.name), "rx %s", loss.counter);
	add_counter(&c, res);
	if (c.expected)
		settle(STAGE_NIC_RING, "counter", c.expected, SEEN_TX_DEVICE, site, res);
	return c.expected;
}

/*
 * Resolves frames from the `xdp` engine that another program's XDP program dropped in the driver.
 * They never were an skb and have no event, but the driver counts them (veth_xdp_rcv_one()). The
 * part of the counter's increase that exceeds our own program's verdicts is the number of such
 * frames that entered the interface. Since the counter is the source, it agrees with the result.
 */
static void settle_xdp(const struct countercheck *check, const struct counters *deltas,
		       const struct site *site, struct result *res)
{
	const struct result_counter *u = NULL;
	uint64_t n, excess;

	for (size_t i = 0; i < check->n_unexplained && !u; i++) {
		const struct result_counter *at = &check->unexplained[i];

		if (at->stage == STAGE_XDP && !strncmp(at->name, "rx ", 3) &&
		    strstr(at->name, "xdp_drop"))
			u = at;
	}
	if (!u || site->spec->tx != &tx_xdp || site->lab.topology != LAB_PAIR ||
	    !res->unaccounted ||
	    !received(deltas, site, res->sent - res->stage[STAGE_TX_DEVICE].packets))
		return;
	excess = u->delta - u->expected_max;
	n = excess < res->unaccounted ? excess : res->unaccounted;
	settle(STAGE_XDP, "counter", n, SEEN_XDP, site, res);
	for (unsigned i = 0; i < res->n_counters; i++) {
		struct result_counter *c = &res->counter[i];

		if (c->stage != STAGE_XDP || strcmp(c->name, u->name))
			continue;
		c->expected += n;
		c->agrees = c->delta == c->expected;
		c->note = SOURCE_NOTE;
	}
}

/*
 * Resolves packets that left one port of this host and were not seen at the other port, unless an
 * interface counter shows other losses.
 */
static void settle_wire(const struct countercheck *check, const struct site *site,
			struct result *res)
{
	uint64_t n = site->fragments ? 0 : res->unaccounted_seen[SEEN_TX_DEVICE];

	for (size_t i = 0; i < check->n_unexplained; i++) {
		enum stage stage = check->unexplained[i].stage;

		if (stage == STAGE_TX_DEVICE || stage == STAGE_XDP)
			return;
	}
	if (n)
		settle(STAGE_WIRE, "difference", n, SEEN_TX_DEVICE, site, res);
}

/*
 * Names open numbers if the only loss is a timer that frees fragments and that the counter shows
 * without an event (ip_expire(), ip6frag_expire_frag_queue()). The numbers remain open.
 */
static void name_unseen_timeouts(const struct counters *deltas, struct result *res)
{
	uint64_t moved = countercheck_sum(deltas, SUM_TIMED_OUT), shown = 0, unseen;
	struct result_losses *losses = &res->losses;

	for (unsigned i = 0; i < res->n_causes; i++) {
		if (!strcmp(res->cause[i].reason, "FRAG_REASM_TIMEOUT"))
			shown += res->cause[i].packets;
	}
	/* If more fragments were lost, the remaining ones have also timed out. */
	if (res->dropped != shown || res->fragments.made != res->fragments.seen)
		return;
	shown += res->fragments.unmatched;
	if (moved <= shown || res->unaccounted <= losses->suppressed)
		return;
	unseen = smaller(res->unaccounted - losses->suppressed, moved - shown);
	losses->suppressed += unseen;
	snprintf(losses->suppressed_evidence, sizeof(losses->suppressed_evidence),
		 "ReasmTimeout counted %s, events %llu: the timer may have run in the context of "
		 "PID 1, where this kernel skips tracing programs",
		 fmt_many(moved, "datagram"), (unsigned long long)shown);
}

/*
 * Names losses in the flow that a counter shows without an event, because the kernel skipped
 * tracing programs. Which numbers were lost is not known, so they remain open. If PID 1 did not run
 * in time, it is unknown whether this kernel skips programs, and the losses are named too.
 */
static void name_unseen(const struct countercheck *check, struct result *res)
{
	struct result_losses *losses = &res->losses;

	for (size_t i = 0; i < check->n_unexplained; i++) {
		const struct result_counter *c = &check->unexplained[i];
		uint64_t open = res->unaccounted - smaller(losses->suppressed, res->unaccounted);

		if (!open || strcmp(c->scope, "flow") ||
		    quirks_found()[QUIRK_SUPPRESSED] == QUIRK_ABSENT)
			continue;
		losses->suppressed += smaller(open, c->delta - c->expected_max);
		snprintf(losses->suppressed_evidence, sizeof(losses->suppressed_evidence),
			 "%s counted %s, events %llu: the rest was probably lost in the context of "
			 "PID 1, where tracing may be skipped",
			 c->name, fmt_many(c->delta, "packet"),
			 (unsigned long long)c->expected_max);
	}
}

void settle_by_counter(const struct countercheck *check, const struct counters *deltas,
		       const struct site *site, struct result *res)
{
	if (!site->lone) {
		bool ring = settle_ring(deltas, site, res);

		settle_xdp(check, deltas, site, res);
		if (ring && site->spec->port_a)
			settle_wire(check, site, res);
		name_unseen_timeouts(deltas, res);
		name_unseen(check, res);
	}
	if (site->unread)
		add_counter(
			&(struct result_counter){
				.stage = STAGE_SOCKET_CLOSE,
				.name = "rx events:udp_destruct_common",
				.delta = site->unread_confirmed,
				.expected = site->unread,
				.agrees = site->unread_confirmed == site->unread,
				.documented = site->unread_confirmed < site->unread,
				.scope = "flow",
				.note = "no counter records this loss: the numbers were read from "
					"the queue before",
			},
			res);
}
