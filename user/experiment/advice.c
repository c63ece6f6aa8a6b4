// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Adds a finding for each loss in a result, using settings of the host where the loss occurred. */
#include "experiment/site.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnosis/facts.h"
#include "host/netdev.h"

#define WAITED 0.1 /* median wait of packets for a slow reader, as a fraction of a full queue's */
#define SLACK  1.5 /* factor for queues and waits that are not the same for all packets */

/* Returns the largest cause at a stage that names a location, or NULL. */
static const struct result_cause *main_cause(const struct result *res, enum stage stage)
{
	const struct result_cause *best = NULL;

	for (unsigned i = 0; i < res->n_causes; i++) {
		const struct result_cause *c = &res->cause[i];

		if (c->stage != stage)
			continue;
		if (finding_is_silence(c->reason, c->location))
			return c;
		if (!best || c->packets > best->packets)
			best = c;
	}
	return best;
}

/* Returns the bytes that one datagram uses in the full queue, computed from dropped datagrams. */
static uint64_t truesize(const struct ledger *l, enum stage stage)
{
	struct trace_count sum = {};

	for (int i = 0; i < l->n; i++) {
		if (l->cause[i].named.stage == stage)
			sum_words(&sum, &l->cause[i].raw.count, sizeof(sum));
	}
	return sum.packets ? sum.memory / sum.packets : 0;
}

/* Returns the inode of a cause's namespace, which is a role in the test network or that inode. */
static uint32_t netns_of(const struct lab *lab, const char *netns)
{
	const struct lab_port *const ports[] = {&lab->tx, &lab->router_tx, &lab->router_rx,
						&lab->rx};

	for (unsigned i = 0; i < LENGTH(ports); i++) {
		if (ports[i]->ns && !strcmp(ports[i]->role, netns))
			return ports[i]->ns->inum;
	}
	return (uint32_t)strtoul(netns, NULL, 10);
}

/* Rewrites commands for the namespace of a cause, because users type the commands outside it. */
static void enter(const struct lab *lab, const char *netns, struct finding *f,
		  const struct change *change)
{
	const uint32_t inum = netns_of(lab, netns);
	struct owners *owners;

	if (owners_open(&owners, "/", &(struct error){}))
		return finding_forget(f);
	owners_netns(owners, inum, (char[OWNER_NETNS]){}); /* requests it */
	owners_tick(owners);
	finding_enter_netns(f, change, owners, inum);
	owners_close(owners);
}

/* Returns the number of receiving threads, which have a socket each. */
static unsigned readers(const struct run_spec *spec)
{
	return spec->tuning.rx_threads ? spec->tuning.rx_threads : 1;
}

/*
 * Stores the number of pages used by all UDP sockets if that number plus the most that our sockets
 * may use is within udp_mem. In that case another limit left a socket without memory. Changes made
 * by a fault are already reverted here.
 */
static bool is_within_udp_mem(const struct site *s, struct finding_facts *f)
{
	return !s->spec->faults.set && f->page_bytes &&
	       stack_udp_pages(&s->lab.rx_ns, &f->udp_pages) &&
	       f->udp_pages + readers(s->spec) * f->rcvbuf / f->page_bytes < f->udp_mem[0];
}

/* Returns whether a fault deliberately loses packets at this stage. */
static bool is_injected(const struct run_spec *spec, enum stage stage)
{
	const char *name = stage_name(stage);
	const size_t n = strlen(name);

	for (unsigned i = 0; i < fault_count(); i++) {
		if (fault_has(&spec->faults, i) && !strncmp(fault_values[i].name, name, n) &&
		    (!fault_values[i].name[n] || fault_values[i].name[n] == ':'))
			return true;
	}
	return false;
}

/*
 * Tells a reader that is too slow from one that stops reading at times. The rate of deliveries does
 * not, because it is always the rate of arrivals minus the losses. It is the reader's maximum only
 * if packets always waited: if a queue that was emptied would have delivered more between two
 * losses, and if the median packet waited, but not longer than a full queue takes at that rate.
 * Losses at other stages count as loss bursts too.
 */
static void judge_reader(const struct site *s, const struct result *res, struct finding_facts *f)
{
	const struct gaps *gaps = &res->arrivals.gaps;
	const struct result_latency *latency = &res->arrivals.latency;
	const uint64_t holds = f->truesize ? f->rcvbuf / f->truesize : 0,
		       elsewhere = gaps->packets - smaller(gaps->packets, f->lost),
		       bursts = gaps->count - smaller(gaps->count, elsewhere);
	const double full_ns = res->rx_pps > 0 ? 1e9 * (double)holds / res->rx_pps : 0,
		     wait_ns = latency->measured ? (double)(latency->p50 - latency->min) : 0;

	if (latency->measured && wait_ns < WAITED * full_ns) {
		f->loss_bursts = bursts;
		f->reading.burst = smaller(gaps->longest, f->lost);
	} else if (wait_ns < SLACK * full_ns * readers(s->spec) &&
		   (double)res->delivered < SLACK * (double)(bursts * holds)) {
		f->read_pps = res->rx_pps;
	}
}

void advise(const struct site *s, const struct finding_facts *remote, struct result *res)
{
	struct finding_facts host = remote ? *remote : (struct finding_facts){};
	char qdisc[80];

	host.sent = res->sent;
	host.port = s->flow.dst_port;
	host.process = "pktledger";
	host.ttl = s->flow.ttl;
	host.mtu = s->lone ? 0 : s->lab.rx.mtu;
	host.arrival_pps = res->tx_pps;
	snprintf(qdisc, sizeof(qdisc), "tbf limit %u %s, rate %llu bit/s",
		 s->fx.pfifo_limit ? s->fx.pfifo_limit : s->fx.tbf_limit,
		 s->fx.pfifo_limit ? "packets" : "bytes", (unsigned long long)s->fx.tbf_bps);
	if (s->fx.tbf_bps)
		host.qdisc = qdisc;
	if (!remote)
		site_settings(s, &host);
	for (int stage = 0; stage < STAGE_COUNT; stage++) {
		const struct result_cause *c = main_cause(res, stage);
		struct finding *out = &res->finding[res->n_findings];
		struct finding_facts f = host;
		struct netdev_settings set;
		struct change change;

		f.lost = res->stage[stage].packets;
		if (!f.lost)
			continue;
		f.injected = is_injected(s->spec, stage);
		f.truesize = truesize(&s->ledger, stage);
		if (stage == STAGE_RCVBUF)
			judge_reader(s, res, &f);
		/* A loss that only a counter shows has no cause with an interface. */
		if (stage == STAGE_NIC_RING && !s->lone) {
			f.ifname = s->lab.rx.ifname;
			if (!netdev_settings_read(&s->lab.rx_ns, f.ifname, &set) &&
			    set.ring.known) {
				f.ring = set.ring.rx;
				f.ring_max = set.ring.rx_max;
			}
		}
		if (c) {
			f.reason = c->reason;
			f.location = c->location;
			f.ifname = *c->ifname ? c->ifname : NULL;
			f.hook = c->hook;
		}
		if (stage == STAGE_UDP_MEM && !remote)
			f.udp_pages_known = f.exceeded_known = is_within_udp_mem(s, &f);
		if (stage == STAGE_IP_ROUTE && !s->lone &&
		    inet_ntop(AF_INET, &s->lab.tx.ip4, f.back.source, sizeof(f.back.source)))
			way_back_read(&s->lab.rx_ns, &f.back);
		if (findings_for_stage(stage, &f, out, &change))
			continue;
		if (c)
			memcpy(out->host, c->host, sizeof(c->host));
		/* the test network is removed before this is printed, but host settings remain */
		if (f.injected || (s->in_lab && !s->spec->lab &&
				   (!change.name[0] || change_belongs(&change, &s->lab.rx_ns))))
			finding_forget(out);
		else if (c && !*c->host && (s->spec->lab || s->spec->port_a))
			enter(&s->lab, c->netns, out, &change);
		res->n_findings++;
	}
	findings_sort(res->finding, res->n_findings);
}
