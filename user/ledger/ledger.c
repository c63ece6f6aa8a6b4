// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "drops/cause.h"

const char *const severity_names[] = {"info", "warning", "error"};

static void name_reason(struct ledger_cause *c, const struct reasons *r)
{
	const struct trace_cause *raw = &c->raw.cause;
	const char *name = raw->reason ? strerrorname_np(abs(raw->reason)) : NULL;

	if (raw->observer == OBSERVER_KFREE_SKB)
		reasons_name(r, (uint32_t)raw->reason, c->named.reason, sizeof(c->named.reason));
	else
		snprintf(c->named.reason, sizeof(c->named.reason), "%s",
			 raw->observer == OBSERVER_CONSUME_SKB ? "CONSUMED"
			 : name				       ? name
							       : "");
}

static void name_location(struct ledger_cause *c, const struct ksyms *k)
{
	static const char *const observers[OBSERVER_COUNT] = {
		[OBSERVER_REDIRECT_ERR] = "xdp_redirect_err",
		[OBSERVER_XDP_EXCEPTION] = "xdp_exception",
		[OBSERVER_DEVMAP_XMIT] = "xdp_devmap_xmit",
		[OBSERVER_BULK_TX] = "xdp_bulk_tx",
		[OBSERVER_CPUMAP] = "xdp_cpumap_enqueue",
		[OBSERVER_SOCKET_QUEUE] = "socket queue",
	};
	struct ksym sym = {};

	if (observers[c->raw.cause.observer])
		snprintf(sym.name, sizeof(sym.name), "%s", observers[c->raw.cause.observer]);
	else if (ksym_find(k, c->raw.cause.location, &sym))
		snprintf(sym.name, sizeof(sym.name), "?");
	memcpy(c->named.location, sym.name, sizeof(c->named.location));
}

static void name_place(struct ledger_cause *c, const struct ledger_place *places, unsigned n)
{
	const struct trace_cause *raw = &c->raw.cause;

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

static void judge(struct ledger_cause *c, const struct ksyms *k)
{
	const struct trace_cause *raw = &c->raw.cause;
	bool xdp = raw->observer != OBSERVER_KFREE_SKB && raw->observer != OBSERVER_CONSUME_SKB &&
		   raw->observer != OBSERVER_SOCKET_QUEUE;
	struct ksym aux = {};

	if (!xdp)
		ksym_find(k, raw->aux, &aux);
	c->verdict = judge_drop(&(struct stagemap_event){
			.reason = c->named.reason,
			.location = c->named.location,
			.aux = aux.name,
			.observer = raw->observer,
			.flags = raw->flags,
			.error = xdp ? abs(raw->reason) : 0,
			.map_type = xdp ? (uint32_t)raw->aux : 0,
			.pkt_type = raw->pkt_type,
			.numbered = true,
		});
	c->named.stage = c->verdict.stage == STAGE_NONE ? STAGE_OTHER : c->verdict.stage;
	c->named.direction = direction_names[c->verdict.direction];
	c->named.hook = netfilter_hook_names[c->verdict.hook];
	c->named.note = c->verdict.note;
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
		name_reason(c, r);
		name_location(c, k);
		name_place(c, places, n_places);
		judge(c, k);
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
	return c->raw.cause.observer != OBSERVER_SOCKET_QUEUE &&
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
