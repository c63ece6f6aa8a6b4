// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The way's part of the plan: what senders may have in flight, and the queues that overflow. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lab.h"
#include "experiment/faults/fault_plan_parts.h"

#define VETH_RING     256	 /* VETH_RING_SIZE */
#define BURN_NS	      20000	 /* a packet, of a consumer that takes its time: 50 kpps */
#define TBF_LIMIT     256	 /* frames; well below QDISC_FLIGHT */
#define PFIFO_LIMIT   100	 /* packets; a socket has more of them in flight by itself */
#define PFIFO_TIMES   4		 /* what it and the tbf have room for is sent until midway ... */
#define PFIFO_SLOWER  20	 /* ... while the tbf gives a 20th of what is planned */
#define TBF_LEAST     8000	 /* bits a second */
#define TBF_BURST     64	 /* frames; below VETH_RING, or that would overflow instead */
#define QDISC_FLIGHT  4096	 /* frames that the sender may have in flight */
#define MIDWAY_FLIGHT 2048	 /* frames at most that wait in the qdisc to be replaced */
#define SLOW_BPS      8000000	 /* of a qdisc that is meant to be full in the end */
#define NEIGH_FLIGHT  4096	 /* more than unres_qlen_bytes has room for by default */
#define NEIGH_SETTLE  4000000000 /* three questions, a second each (mcast_solicit) */
#define PACED_SECONDS 3		 /* a run with a qdisc takes about this long ... */
#define PACED_MIN     10000.0	 /* ... within these rates: packets/s, which slow hosts reach */
#define PACED_MAX     100000.0
#define MERGE_PACKETS 8	      /* of a flow, that a router waits for */
#define MERGE_MIN     50000   /* ns that it waits: a timer, so not less, */
#define MERGE_MAX     1000000 /* and not more than is plausible */

static int cannot(struct plan *p, enum fault fault, const char *hint, const char *why)
{
	return error_set(p->err, STATUS_UNABLE, -EOPNOTSUPP, hint, "--fault %s: %s",
			 fault_values[fault].name, why);
}

/* Lets each sending thread have this many frames in flight; forced, wmem_max is less. */
static void want_flight(struct plan *p, uint64_t frames)
{
	int bytes = plan_ask(frames * (p->truesize / p->frames) * p->segments);

	if (bytes > p->fx->sndbuf)
		p->fx->sndbuf = bytes;
	p->fx->sndbuf_force = true;
}

/* A sndbuf with which all threads together fill half a ring; room for a datagram at least. */
static int less_than_ring(const struct plan *p)
{
	/* A quarter, because the kernel doubles it. */
	uint64_t frames = VETH_RING / 4 / (p->req->threads ? p->req->threads : 1);

	return (frames > p->frames ? frames : p->frames) * (p->truesize / p->frames);
}

uint64_t plan_host_sysctl(const char *path, uint64_t otherwise)
{
	char text[64];
	uint64_t value;

	if (netns_sysctl_read(NULL, path, text, sizeof(text)))
		return otherwise;
	return sscanf(text, "%" SCNu64, &value) == 1 ? value : otherwise;
}

/* Bits a second of a rate that the user gave. */
static double given_bps(const struct plan *p)
{
	const struct rate *rate = &p->list->rate;
	double frame = (double)p->bytes / p->frames;

	switch (rate->unit) {
	case RATE_PPS:
		return rate->value * p->bytes * 8;
	case RATE_L2_BPS:
		return rate->value;
	case RATE_L1_BPS:
		return rate->value * frame / (frame + 4 + FRAME_L1_OVERHEAD);
	default:
		return 0;
	}
}

/*
 * Unthrottled, a sender outruns any tbf, and by how much depends on the host: so the plan paces
 * it, unless the user set a rate. A tbf dequeues in a timer, on top of whatever task that finds:
 * the next device's NAPI in a kernel thread brings the packets back to a context in which tracing
 * is never suppressed (STAGES 6.1).
 */
static void plan_qdisc(struct plan *p)
{
	struct fault_effects *fx = p->fx;
	double rate = p->req->rate_pps, bps = given_bps(p);

	if (!bps) {
		if (!rate) {
			rate = (double)p->req->count / PACED_SECONDS;
			rate = rate < PACED_MIN ? PACED_MIN : rate > PACED_MAX ? PACED_MAX : rate;
			fx->rate_pps = rate;
		}
		bps = TBF_SHARE * rate * p->bytes * 8;
	}
	fx->tbf_bps = bps < TBF_LEAST ? TBF_LEAST : bps;
	fx->tbf_limit = TBF_LIMIT * p->bytes / p->frames;
	fx->tbf_burst = TBF_BURST * p->bytes / p->frames;
	fx->settle_ns += fx->tbf_limit * 8.0 / fx->tbf_bps * 1e9;
	fx->threaded_napi = true;
	want_flight(p, QDISC_FLIGHT);
}

/*
 * The same, but packets are counted in the queue, not bytes. Some hosts are too slow senders to
 * fill it: so the tbf gives little at first, until several times as many were sent as it and the
 * queue have room for, or a quarter of all.
 */
static void plan_qdisc_pfifo(struct plan *p)
{
	uint64_t most = p->req->count / 4 + 1;
	struct fault_effects *fx = p->fx;

	plan_qdisc(p);
	fx->pfifo_limit = PFIFO_LIMIT;
	fx->slow_bps =
		fx->tbf_bps < PFIFO_SLOWER * TBF_LEAST ? TBF_LEAST : fx->tbf_bps / PFIFO_SLOWER;
	fx->midway = PFIFO_TIMES * (PFIFO_LIMIT + TBF_BURST) * p->segments / p->frames + 1;
	if (fx->midway > most)
		fx->midway = most;
}

/*
 * What is queued dies with the qdisc: nothing may overflow before. The senders are held up by a
 * quarter of the packets in the queue, so that most are sent after it was replaced.
 */
static void plan_qdisc_replace(struct plan *p)
{
	unsigned threads = p->req->threads ? p->req->threads : 1;
	uint64_t quarter = p->req->count / 4 / threads / p->segments * p->frames;
	uint64_t flight = quarter < MIDWAY_FLIGHT ? quarter + 1 : MIDWAY_FLIGHT;
	struct fault_effects *fx = p->fx;

	fx->tbf_bps = SLOW_BPS;
	fx->tbf_burst = p->bytes / p->frames;
	fx->tbf_limit = plan_ask(4 * flight * threads * p->segments * p->bytes / p->frames);
	fx->threaded_napi = true; /* as in plan_qdisc() */
	fx->midway = flight / p->frames * p->segments / 2 + 1;
	want_flight(p, flight);
}

static int plan_tx_device(struct plan *p)
{
	struct fault_effects *fx = p->fx;

	/* Frames for AF_XDP leave before tc; behind a router the next hop is the router's port. */
	if (strcmp(p->req->rx, "socket") && fx->topology == LAB_PAIR) {
		fx->xdp = true;
		fx->xdp_burn_ns = BURN_NS;
	} else {
		fx->tc_burn_ns = BURN_NS;
	}
	fx->threaded_napi = true;
	want_flight(p, 8 * VETH_RING);
	return plan_need_count(p, FAULT_TX_DEVICE, 2 * VETH_RING, "the ring of the device");
}

/* The sender's CPU and the one that RPS steers to have to differ. */
static int plan_backlog(struct plan *p, enum fault fault)
{
	uint64_t queue = plan_host_sysctl("net/core/netdev_max_backlog", 1000);
	struct fault_effects *fx = p->fx;
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return cannot(p, fault, NULL, "the CPUs of this process are not known");
	for (int cpu = 0; cpu < CPU_SETSIZE && fx->busy_cpu < 0; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		if (fx->tx_cpu < 0)
			fx->tx_cpu = cpu;
		else
			fx->busy_cpu = cpu;
	}
	if (fx->busy_cpu < 0)
		return cannot(p, fault, "give this process two CPUs", "it takes two CPUs");
	if (fault == FAULT_BACKLOG_FLOW_LIMIT) {
		if (access("/proc/sys/" FAULT_FLOW_LIMIT_PATH, F_OK))
			return cannot(p, fault, "the kernel needs CONFIG_NET_FLOW_LIMIT",
				      "this kernel does not limit a flow's share of the backlog");
		fx->notes[fx->n_notes++] = "backlog:flow_limit: all flows of this host are limited "
					   "while it runs";
	}
	fx->tc_burn_ns = BURN_NS;
	want_flight(p, 4 * queue);
	return plan_need_count(p, fault, queue, "the backlog of a CPU");
}

/*
 * A router merges what it need not give to a socket of its own (rx-udp-gro-forwarding); the socket
 * behind it wants single datagrams. In a kernel thread, because it is a timer that ends the
 * waiting.
 */
static int plan_gso(struct plan *p)
{
	struct fault_effects *fx = p->fx;
	double pps = p->req->rate_pps ? p->req->rate_pps : fx->rate_pps;

	if (p->frames > 1)
		return error_set(p->err, STATUS_USAGE, -EINVAL, "use --length 1000, for example",
				 "--fault gso needs datagrams that fit the MTU");
	if (p->req->gro)
		return error_set(p->err, STATUS_USAGE, -EINVAL, "leave --gro out",
				 "--fault gso: a socket with --gro takes merged packets as they "
				 "are");
	fx->threaded_napi = true;
	fx->merge_ns = pps ? MERGE_PACKETS * 1e9 / pps : MERGE_MIN;
	if (fx->merge_ns < MERGE_MIN)
		fx->merge_ns = MERGE_MIN;
	if (fx->merge_ns > MERGE_MAX)
		fx->merge_ns = MERGE_MAX;
	return 0;
}

int plan_way(struct plan *p)
{
	struct fault_effects *fx = p->fx;
	int ret = 0;

	/* Native XDP brings NAPI and its ring, which must not be what overflows. */
	if (fault_is_native_xdp(p->list))
		fx->sndbuf = less_than_ring(p);
	if (plan_has(p, FAULT_QDISC))
		plan_qdisc(p);
	if (plan_has(p, FAULT_QDISC_PFIFO))
		plan_qdisc_pfifo(p);
	if (plan_has(p, FAULT_QDISC_REPLACE))
		plan_qdisc_replace(p);
	if (plan_has(p, FAULT_NEIGH)) {
		fx->settle_ns += NEIGH_SETTLE;
		want_flight(p, NEIGH_FLIGHT);
	}
	if (plan_has(p, FAULT_XDP_CPUMAP))
		ret = plan_need_count(p, FAULT_XDP_CPUMAP, FAULT_CPUMAP_QUEUE,
				      "the queue of the CPU");
	if (!ret && (plan_has(p, FAULT_TX_DEVICE_TAP) || plan_has(p, FAULT_TX_DEVICE_DETACH)))
		ret = plan_need_count(p,
				      plan_has(p, FAULT_TX_DEVICE_TAP) ? FAULT_TX_DEVICE_TAP
								       : FAULT_TX_DEVICE_DETACH,
				      LAB_TAP_RING, "the ring of the tap");
	if (!ret && plan_has(p, FAULT_TX_DEVICE))
		ret = plan_tx_device(p);
	if (!ret && plan_has(p, FAULT_BACKLOG))
		ret = plan_backlog(p, FAULT_BACKLOG);
	if (!ret && plan_has(p, FAULT_BACKLOG_FLOW_LIMIT))
		ret = plan_backlog(p, FAULT_BACKLOG_FLOW_LIMIT);
	if (!ret && plan_has(p, FAULT_GSO))
		ret = plan_gso(p);
	return ret;
}
