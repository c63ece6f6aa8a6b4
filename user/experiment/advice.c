// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/advice.h"

#include <stdio.h>

#include "host/netdev.h"

const struct result_cause *advise_main_cause(const struct result *res, enum stage stage)
{
	const struct result_cause *best = NULL;

	for (unsigned i = 0; i < res->n_causes; i++) {
		const struct result_cause *c = &res->cause[i];

		if (c->stage == stage && (!best || c->packets > best->packets))
			best = c;
	}
	return best;
}

/* Bytes that a packet took in the full queue, measured on those that found no room. */
static uint64_t truesize(const struct ledger *l, enum stage stage)
{
	struct trace_count sum = {};

	for (int i = 0; i < l->n; i++) {
		if (l->cause[i].named.stage != stage)
			continue;
		sum.events += l->cause[i].raw.count.events;
		sum.memory += l->cause[i].raw.count.memory;
	}
	return sum.events ? sum.memory / sum.events : 0;
}

void advise_stage(enum stage stage, const struct finding_facts *host, const struct ledger *l,
		  struct result *res)
{
	const struct result_cause *c = advise_main_cause(res, stage);
	struct finding_facts f = *host;

	if (!res->stage[stage].packets)
		return;
	f.lost = res->stage[stage].packets;
	f.truesize = truesize(l, stage);
	if (c) {
		f.reason = c->reason;
		f.location = c->location;
		f.ifname = *c->ifname ? c->ifname : NULL;
		f.hook = c->hook;
	}
	if (!findings_for_stage(stage, &f, &res->finding[res->n_findings]))
		res->n_findings++;
}

/* Of a loss that only a counter tells no cause names the device. */
static void about_ring(const struct rig *rig, struct finding_facts *f)
{
	struct netdev_settings settings;

	f->ifname = rig->lab.rx.ifname;
	if (netdev_settings_read(&rig->lab.rx_ns, f->ifname, &settings) || !settings.ring.known)
		return;
	f->ring_now = settings.ring.rx;
	f->ring_max = settings.ring.rx_max;
}

void advise(const struct rig *rig, const struct books *b, struct result *res)
{
	struct finding_facts host = {
		.sent = res->sent,
		.port = rig->flow.dst_port,
		.process = "pktledger",
		.ttl = rig->flow.ttl,
		.mtu = rig->lab.rx.mtu,
		.rcvbuf = (uint64_t)b->rx.rcvbuf,
		.arrival_pps = res->tx_pps,
		.read_pps = res->rx_pps,
		.qdisc = rig->fx.tbf_bps ? "tbf" : NULL,
	};

	char limit[64];

	snprintf(limit, sizeof(limit), "limit %u %s, rate %llu bit/s",
		 rig->fx.pfifo_limit ? rig->fx.pfifo_limit : rig->fx.tbf_limit,
		 rig->fx.pfifo_limit ? "packets" : "bytes", (unsigned long long)rig->fx.tbf_bps);
	if (rig->fx.tbf_bps)
		host.qdisc_limit = limit;
	findings_read_host(&rig->lab.rx_ns, &host);
	for (int s = 0; s < STAGE_COUNT; s++) {
		struct finding_facts f = host;

		if (s == STAGE_NIC_RING && res->stage[s].packets)
			about_ring(rig, &f);
		advise_stage(s, &f, &b->ledger, res);
	}
}
