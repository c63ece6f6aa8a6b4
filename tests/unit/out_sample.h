/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Results made by hand, for the tests of the printers. */
#ifndef PKTLEDGER_OUT_SAMPLE_H
#define PKTLEDGER_OUT_SAMPLE_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "traffic/tx.h"
#include "report/document.h"

static inline struct run_header sample_header(void)
{
	static char *argv[] = {"pktledger", "run", "-j", "\xff\"\n"};

	return (struct run_header){
		.host = "host",
		.time_ns = 1714564800123456789,
		.argv = argv,
		.argc = 4,
		.in_lab = true,
		.tx = "xsk",
		.rx = "socket",
		.tx_mode = "native copy",
		.tx_port = {"tx", "v-tx", "198.18.0.1"},
		.rx_port = {"rx", "v-rx", "198.18.0.2"},
		.port = 28779,
		.threads = 3,
		.flows = 1,
		.count = 1000,
		.payload_bytes = 512,
		.frame_bytes = 558,
		.stream0 = 65535,
		.streams = 3,
		.base = 7ULL << 32,
	};
}

static inline void sample_cause(struct result *r, enum stage stage, const char *reason,
				const char *netns, const char *ifname, const char *direction,
				const char *hook, uint64_t packets)
{
	struct result_cause *c = &r->cause[r->n_causes++];

	*c = (struct result_cause){
		.stage = stage,
		.direction = direction,
		.hook = hook,
		.note = "what happened",
		.stream = 65535,
		.packets = packets,
		.first = 3,
		.last = 2 + packets,
	};
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
	snprintf(c->location, sizeof(c->location), "function_of_%.100s", reason);
	snprintf(c->netns, sizeof(c->netns), "%s", netns);
	snprintf(c->ifname, sizeof(c->ifname), "%s", ifname);
	r->stage[stage].packets += packets;
	r->stage[stage].events += packets;
	r->stage[stage].bytes += packets * 540;
	r->stage[stage].source = "event";
	r->stage[stage].scope = "flow";
	r->dropped += packets;
	r->delivered -= packets;
}

static inline void sample_counter(struct result *r, enum stage stage, const char *name,
				  uint64_t delta, uint64_t expected, const char *documented)
{
	struct result_counter *c = &r->counter[r->n_counters++];

	*c = (struct result_counter){
		.stage = stage,
		.delta = delta,
		.expected = expected,
		.agrees = delta == expected,
		.documented = documented,
		.scope = "flow",
		.note = documented,
	};
	snprintf(c->name, sizeof(c->name), "%s", name);
}

/* 1,000,000 sent, nothing lost. */
static inline void sample_clean(struct result *r)
{
	memset(r, 0, sizeof(*r));
	r->attempted = r->sent = r->delivered = 1000000;
	r->balanced = true;
	r->tx_pps = 812400.5;
	r->rx_pps = 560100;
	r->duration_ns = 1231000000;
	r->payload_bytes = 512;
	r->frame_bytes = 558;
}

/* The same with losses at four stages, which balance. */
static inline void sample_losses(struct result *r)
{
	struct finding *f;

	sample_clean(r);
	sample_cause(r, STAGE_QDISC, "QDISC_DROP", "tx", "v-tx", "tx", NULL, 120000);
	sample_counter(r, STAGE_QDISC, "tx v-tx qdisc:drops", 120000, 120000, NULL);
	sample_cause(r, STAGE_NETFILTER, "NETFILTER_DROP", "rx", "v-rx", "rx", "input", 99900);
	sample_cause(r, STAGE_NETFILTER, "NETFILTER_DROP", "router", "v-r1", "forward", "forward",
		     100);
	sample_cause(r, STAGE_UDP_MEM, "PROTO_MEM", "rx", "v-rx", "rx", NULL, 20);
	sample_counter(r, STAGE_UDP_MEM, "rx Udp:MemErrors", 0, 20, "as newer kernels do");
	sample_cause(r, STAGE_RCVBUF, "SOCKET_RCVBUFF", "rx", "v-rx", "rx", NULL, 312345);
	sample_counter(r, STAGE_RCVBUF, "rx Udp:InErrors", 312345, 312345, NULL);
	r->counter[r->n_counters - 1].note = "counts others too";
	sample_counter(r, STAGE_RCVBUF, "rx Udp:RcvbufErrors", 312345, 312345, NULL);
	f = &r->finding[r->n_findings++];
	*f = (struct finding){
		.id = "rcvbuf-burst", .stage = STAGE_RCVBUF, .severity = SEVERITY_WARNING};
	snprintf(f->cause, sizeof(f->cause), "The buffer was full.");
	snprintf(f->facts, sizeof(f->facts), "{\"lost\":312345,\"rcvbuf_bytes\":212992}");
	snprintf(f->fix, sizeof(f->fix), "request SO_RCVBUF 425984");
	snprintf(f->command, sizeof(f->command), "sysctl -w net.core.rmem_max=425984");
}

/* Everything that can be wrong at once. */
static inline void sample_wrong(struct result *r)
{
	sample_losses(r);
	sample_counter(r, STAGE_UDP_CSUM, "rx Udp:InCsumErrors", 12, 0, NULL);
	r->attempted += 12000;
	r->refused = 12000;
	r->refused_by[r->n_refused_by++] = (struct result_errno){ENOBUFS, 11000};
	r->refused_by[r->n_refused_by++] = (struct result_errno){TX_ERRNO_LOST, 1000};
	r->balanced = false;
	r->in_flight = 5;
	r->unaccounted = 25;
	r->impossible = 1;
	r->delivered -= 30;
	r->unaccounted_seen[0] = 5;
	r->unaccounted_seen[SEEN_TX_DEVICE] = 20;
	r->interrupted = true;
	r->duplicated = 3;
	r->replies = UINT64_MAX;
	r->waits = 9;
	r->wait_ns = 1000;
	r->slipped_ns = 12000000;
	r->arrivals.latency =
		(struct result_latency){true, 3100, 12000, 18000, 99000, 1200000, 2500000, 3400000};
	r->arrivals.delay[40] = 400000;
	r->arrivals.delay[43] = 67605;
	r->losses.suppressed = 25;
	snprintf(r->in_flight_where, sizeof(r->in_flight_where), "3 in the queue, 2 in the socket");
	snprintf(r->losses.suppressed_evidence, sizeof(r->losses.suppressed_evidence),
		 "25 packets were last seen in the context of a PID 1 thread");
}

#endif
