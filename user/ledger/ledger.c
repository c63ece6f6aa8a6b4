// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/ledger.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "drops/cause.h"

const char *const severity_names[] = {"info", "warning", "error"};

static void name_place(struct ledger_cause *c, const struct ledger_place *places, unsigned n)
{
	const struct watch_key *raw = &c->raw.cause;

	if (raw->netns)
		snprintf(c->named.netns, sizeof(c->named.netns), "%u", raw->netns);
	for (unsigned i = 0; i < n; i++) {
		if (places[i].netns != raw->netns)
			continue;
		snprintf(c->named.netns, sizeof(c->named.netns), "%s", places[i].role);
		if (places[i].ifindex == raw->ifindex)
			snprintf(c->named.ifname, sizeof(c->named.ifname), "%s", places[i].ifname);
	}
}

static void name_cause(struct ledger_cause *c, const struct reasons *r, const struct ksyms *k)
{
	struct result_cause *named = &c->named;
	struct judged_cause judged;

	cause_name(&judged, &c->raw.cause, true, r, k);
	c->verdict = judged.verdict;
	memcpy(named->reason, judged.reason, sizeof(named->reason));
	snprintf(named->location, sizeof(named->location), "%s",
		 *judged.location ? judged.location : "?");
	named->stage = c->verdict.stage == STAGE_NONE ? STAGE_OTHER : c->verdict.stage;
	named->direction = direction_names[c->verdict.direction];
	named->hook = netfilter_hook_names[c->verdict.hook];
	named->note = c->verdict.note;
}

void ledger_name(struct ledger *l, const struct drops_cause *raw, int n, const struct reasons *r,
		 const struct ksyms *k, const struct ledger_place *places, unsigned n_places)
{
	memset(l->cause, 0, sizeof(l->cause));
	l->n = n;
	for (int i = 0; i < n; i++) {
		struct ledger_cause *c = &l->cause[i];

		c->raw = raw[i];
		if (c->raw.index == TRACE_CAUSE_FULL) {
			c->named.stage = c->verdict.stage = STAGE_OTHER;
			c->named.note = "the tracer's table of causes was full";
			c->named.direction = direction_names[DIRECTION_RX];
			continue;
		}
		name_cause(c, r, k);
		name_place(c, places, n_places);
		l->ignored[c->raw.index] = c->verdict.class == CLASS_NONE;
	}
}

void ledger_add(struct ledger *l, const struct ledger_cause *cause)
{
	int i;

	for (i = 0; i < l->n && l->cause[i].raw.index != cause->raw.index; i++)
		;
	l->cause[i] = *cause; /* there are as many entries as indices */
	if (i == l->n)
		l->n++;
}

const struct ledger_cause *ledger_cause(const struct ledger *l, uint8_t index)
{
	for (int i = 0; i < l->n; i++) {
		if (l->cause[i].raw.index == index)
			return &l->cause[i];
	}
	return NULL;
}

bool ledger_is_event(const struct ledger_cause *c)
{
	return watch_observer(&c->raw.cause) != OBSERVER_SOCKET_QUEUE &&
	       c->verdict.class != CLASS_NONE && c->raw.count.events;
}

void ledger_stages(const struct ledger *l, struct trace_count stage[STAGE_COUNT])
{
	for (int i = 0; i < l->n; i++) {
		const struct ledger_cause *c = &l->cause[i];

		if (ledger_is_event(c))
			sum_words(&stage[c->named.stage], &c->raw.count, sizeof(*stage));
	}
}

static void add_cause(struct result *res, const struct ledger_cause *c, uint16_t stream,
		      const struct outcome_cause *f, unsigned l3_bytes)
{
	struct result_stage *stage = &res->stage[c->named.stage];
	struct result_cause *out;

	stage->packets += f->packets;
	stage->bytes += l3_bytes ? f->packets * l3_bytes : f->l3_bytes;
	stage->source = "event";
	stage->scope = "flow";
	if (res->n_causes == RESULT_CAUSES)
		return;
	out = &res->cause[res->n_causes++];
	*out = c->named;
	out->stream = stream;
	out->packets = f->packets;
	out->first = f->first;
	out->last = f->last;
}

void ledger_close(const struct ledger *l, uint64_t in_queues, uint16_t stream0, unsigned l3_bytes,
		  struct result *res)
{
	const struct outcome_tally *t = &l->tally;
	struct trace_count seen[STAGE_COUNT] = {};

	res->attempted = t->attempted;
	res->refused = t->refused;
	res->sent = t->attempted - t->refused;
	res->delivered = t->delivered;
	res->dropped = t->dropped;
	res->in_flight = smaller(in_queues, t->unaccounted);
	res->unaccounted = t->unaccounted - res->in_flight;
	res->impossible = t->impossible;
	res->arrivals.gaps = t->gaps;
	for (unsigned s = 0; s < TRACE_STREAMS; s++)
		gaps_note(&res->arrivals.gaps, t->missing[s]);
	memcpy(res->unaccounted_seen, t->unaccounted_seen, sizeof(res->unaccounted_seen));
	res->balanced = !res->unaccounted && !res->in_flight && !res->impossible;
	for (int e = 0; e < 256; e++) {
		if (t->refused_by[e] && res->n_refused_by < RESULT_ERRNOS)
			res->refused_by[res->n_refused_by++] =
				(struct result_errno){e, t->refused_by[e]};
	}
	ledger_stages(l, seen);
	for (int s = 0; s < STAGE_COUNT; s++)
		res->stage[s].events = seen[s].packets;
	for (int i = 0; i < l->n; i++) {
		const struct ledger_cause *c = &l->cause[i];

		for (uint16_t s = 0; s < TRACE_STREAMS; s++) {
			const struct outcome_cause *f = &t->cause[s][c->raw.index];

			if (f->packets)
				add_cause(res, c, (uint16_t)(stream0 + s), f, l3_bytes);
		}
	}
}
