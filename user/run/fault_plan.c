// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What an experiment has to respect so that a fault loses packets where it should, on slow hosts
 * and fast ones. Two rules recur. A queue in the kernel overflows only if more packets can be in
 * flight than it holds, and SO_SNDBUF limits those (veth keeps skb->sk). And a queue meant to
 * overflow needs more packets than it holds.
 */
#include "run/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lab_tap.h"
#include "run/fault_plan_parts.h"

#define VETH_RING      256	  /* VETH_RING_SIZE */
#define BURN_NS	       20000	  /* a packet, of a consumer that takes its time: 50 kpps */
#define TBF_LIMIT      256	  /* frames; well below QDISC_FLIGHT */
#define PFIFO_LIMIT    100	  /* packets; a socket has more of them in flight by itself */
#define TBF_BURST      64	  /* frames; below VETH_RING, or that would overflow instead */
#define QDISC_FLIGHT   4096	  /* frames that the sender may have in flight */
#define MIDWAY_FLIGHT  2048	  /* frames at most that wait in the qdisc to be replaced */
#define SLOW_BPS       8000000	  /* of a qdisc that is meant to be full in the end */
#define NEIGH_FLIGHT   4096	  /* more than unres_qlen_bytes has room for by default */
#define NEIGH_SETTLE   4000000000 /* three questions, a second each (mcast_solicit) */
#define PACED_SECONDS  3	  /* a run with a qdisc takes about this long ... */
#define PACED_MIN      10000.0	  /* ... within these rates: packets/s, which slow hosts reach */
#define PACED_MAX      100000.0
#define MERGE_PACKETS  8	       /* of a flow, that a router waits for */
#define MERGE_MIN      50000	       /* ns that it waits: a timer, so not less, */
#define MERGE_MAX      1000000	       /* and not more than is plausible */
#define SKB_OVERHEAD   (320 + 64 + 14) /* skb_shared_info, headroom, link header */
#define SKB_STRUCT     256	       /* sizeof(struct sk_buff), rounded up */
#define SKB_SMALL_HEAD 640	       /* SKB_SMALL_HEAD_CACHE_SIZE */

static void measure_datagram(struct plan *p)
{
	const struct fault_request *req = p->req;
	unsigned ip = req->family == AF_INET6 ? 40 : 20;
	unsigned mtu = req->mtu ? req->mtu : 1500;
	unsigned udp = 8 + req->payload, frame, fragment;
	unsigned need, alloc;

	p->frames = 1;
	if (ip + udp > mtu) {
		if (req->family == AF_INET6)
			ip += 8; /* fragment header */
		fragment = (mtu - ip) & ~7U;
		p->frames = (udp + fragment - 1) / fragment;
	}
	p->bytes = udp + (uint64_t)p->frames * (ETH_HLEN + ip);
	frame = p->frames > 1 ? mtu : ip + udp;
	need = frame + SKB_OVERHEAD;
	alloc = SKB_SMALL_HEAD;
	if (need > alloc) {
		for (alloc = 1024; alloc < need; alloc *= 2)
			; /* kmalloc_reserve() */
	}
	p->truesize = p->frames * (alloc + SKB_STRUCT);
	p->segments = req->segments ? req->segments : 1;
}

/* Packets have to come past what loses them. */
static int plan_topology(struct plan *p)
{
	enum lab_topology needed = fault_topology(p->list);

	p->fx->topology = p->req->topology_fixed ? p->req->topology : needed;
	if ((p->fx->topology == LAB_TAP || p->fx->topology == LAB_VXLAN) &&
	    p->list->set & FAULTS_OF_VETH)
		return error_set(p->err, STATUS_USAGE, -EINVAL, "leave --topology out",
				 "--fault %s needs a veth, not a %s",
				 fault_values[__builtin_ctzll(p->list->set & FAULTS_OF_VETH)].name,
				 lab_topologies[p->fx->topology].name);
	if (needed == LAB_PAIR || needed == p->fx->topology)
		return 0;
	return error_set(p->err, STATUS_USAGE, -EINVAL, "leave --lab and --topology out",
			 "these faults need the topology %s, not %s", lab_topologies[needed].name,
			 lab_topologies[p->fx->topology].name);
}

enum lab_topology fault_topology(const struct fault_list *list)
{
	const uint64_t routed = FAULT_BIT(FAULT_IP_FORWARD_TTL) | FAULT_BIT(FAULT_IP_FORWARD_MTU) |
				FAULT_BIT(FAULT_NETFILTER_FORWARD) |
				FAULT_BIT(FAULT_IP_ROUTE_BLACKHOLE) | FAULT_BIT(FAULT_GSO);
	const uint64_t tapped = FAULT_BIT(FAULT_TX_DEVICE_TAP) | FAULT_BIT(FAULT_TX_DEVICE_DETACH);
	const uint64_t bridged = FAULT_BIT(FAULT_L2_BLOCKED) | FAULT_BIT(FAULT_L2_FLOOD) |
				 FAULT_BIT(FAULT_L2_SILENT);

	if (list->set & routed)
		return LAB_ROUTER;
	if (list->set & tapped)
		return LAB_TAP;
	if (fault_has(list, FAULT_TUNNEL))
		return LAB_VXLAN;
	return list->set & bridged ? LAB_BRIDGE : LAB_PAIR;
}

char *fault_cpu_mask(char *buf, size_t size, unsigned cpu)
{
	int len = snprintf(buf, size, "%x", 1U << cpu % 32);

	for (unsigned word = cpu / 32; word && len + 10 <= (int)size; word--)
		len += snprintf(buf + len, size - len, ",00000000");
	return buf;
}

int plan_ask(uint64_t bytes)
{
	return bytes < INT_MAX / 2 ? bytes : INT_MAX / 2; /* the kernel doubles it */
}

static int cannot(struct plan *p, enum fault fault, const char *hint, const char *why)
{
	return error_set(p->err, STATUS_UNABLE, -EOPNOTSUPP, hint, "--fault %s: %s",
			 fault_values[fault].name, why);
}

int plan_need_count(struct plan *p, enum fault fault, uint64_t frames, const char *what)
{
	uint64_t queue = frames / p->frames * p->segments + 1;
	char hint[96];

	if (p->req->count / 2 >= queue)
		return 0;
	snprintf(hint, sizeof(hint), "use --count %" PRIu64 " or more", 2 * queue);
	return error_set(p->err, STATUS_USAGE, -EINVAL, hint,
			 "--fault %s: %" PRIu64 " packets fit in %s", fault_values[fault].name,
			 queue, what);
}

static int check_engines(struct plan *p)
{
	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		const struct fault_row *row = &fault_rows[i];

		if (!plan_has(p, i))
			continue;
		if (row->tx && strcmp(row->tx, p->req->tx))
			return error_set(p->err, STATUS_USAGE, -EINVAL, NULL,
					 "--fault %s needs --tx %s, not %s", fault_values[i].name,
					 row->tx, p->req->tx);
		if (row->not_tx && !strcmp(row->not_tx, p->req->tx))
			return error_set(p->err, STATUS_USAGE, -EINVAL,
					 "use --tx socket or --tx xsk",
					 "--fault %s cannot be seen with --tx %s",
					 fault_values[i].name, p->req->tx);
		if (row->rx && strcmp(row->rx, p->req->rx))
			return error_set(p->err, STATUS_USAGE, -EINVAL, NULL,
					 "--fault %s needs --rx %s, not %s", fault_values[i].name,
					 row->rx, p->req->rx);
	}
	return 0;
}

static int check_family(struct plan *p)
{
	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		int family = fault_rows[i].family;

		if (plan_has(p, i) && family && family != p->req->family)
			return error_set(p->err, STATUS_USAGE, -EINVAL,
					 family == AF_INET ? "leave --ipv6 out" : "use --ipv6",
					 "--fault %s: IPv%c has no such loss", fault_values[i].name,
					 family == AF_INET ? '6' : '4');
	}
	if (plan_has(p, FAULT_IP_FORWARD_MTU) &&
	    (p->frames > 1 || p->bytes - ETH_HLEN <= FAULT_MTU))
		return error_set(p->err, STATUS_USAGE, -EINVAL, "use --length 1400, for example",
				 "--fault ip_forward:mtu needs packets of more than %d bytes that "
				 "fit the first link",
				 FAULT_MTU);
	if (p->list->set & FAULTS_OF_FRAGMENTS && p->frames < 2)
		return error_set(p->err, STATUS_USAGE, -EINVAL, "use --length 4000, for example",
				 "--fault ip_frag needs datagrams that do not fit the MTU");
	return 0;
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
	fx->tbf_bps = bps < 8000 ? 8000 : bps;
	fx->tbf_limit = TBF_LIMIT * p->bytes / p->frames;
	fx->tbf_burst = TBF_BURST * p->bytes / p->frames;
	fx->settle_ns += fx->tbf_limit * 8.0 / fx->tbf_bps * 1e9;
	fx->threaded_napi = true;
	want_flight(p, QDISC_FLIGHT);
}

/* The same, but packets are counted in the queue, not bytes. */
static void plan_qdisc_pfifo(struct plan *p)
{
	plan_qdisc(p);
	p->fx->pfifo_limit = PFIFO_LIMIT;
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

int fault_plan(const struct fault_list *list, const struct fault_request *req,
	       struct fault_effects *fx, struct error *err)
{
	struct plan p = {.list = list, .req = req, .fx = fx, .err = err};
	int ret;

	*fx = (struct fault_effects){.port = req->port, .tx_cpu = -1, .busy_cpu = -1};
	ret = plan_topology(&p);
	if (ret || !list->set)
		return ret;
	ret = check_engines(&p);
	if (ret)
		return ret;
	measure_datagram(&p);
	fx->other_vni = plan_has(&p, FAULT_TUNNEL);
	ret = check_family(&p);
	if (ret)
		return ret;
	fx->consumed =
		plan_has(&p, FAULT_TC_EGRESS_STOLEN) || plan_has(&p, FAULT_TC_INGRESS_STOLEN);
	if (plan_has(&p, FAULT_IP_FORWARD_TTL))
		fx->ttl = 1;
	fx->xdp = fault_is_native_xdp(list) || plan_has(&p, FAULT_XDP_GENERIC);
	/* Native XDP brings NAPI and its ring, which must not be what overflows. */
	if (fault_is_native_xdp(list))
		fx->sndbuf = less_than_ring(&p);
	if (plan_has(&p, FAULT_QDISC))
		plan_qdisc(&p);
	if (plan_has(&p, FAULT_QDISC_PFIFO))
		plan_qdisc_pfifo(&p);
	if (plan_has(&p, FAULT_QDISC_REPLACE))
		plan_qdisc_replace(&p);
	if (plan_has(&p, FAULT_NEIGH)) {
		fx->settle_ns += NEIGH_SETTLE;
		want_flight(&p, NEIGH_FLIGHT);
	}
	if (plan_has(&p, FAULT_XDP_CPUMAP))
		ret = plan_need_count(&p, FAULT_XDP_CPUMAP, FAULT_CPUMAP_QUEUE,
				      "the queue of the CPU");
	if (!ret && (plan_has(&p, FAULT_TX_DEVICE_TAP) || plan_has(&p, FAULT_TX_DEVICE_DETACH)))
		ret = plan_need_count(&p,
				      plan_has(&p, FAULT_TX_DEVICE_TAP) ? FAULT_TX_DEVICE_TAP
									: FAULT_TX_DEVICE_DETACH,
				      LAB_TAP_RING, "the ring of the tap");
	if (!ret && plan_has(&p, FAULT_TX_DEVICE))
		ret = plan_tx_device(&p);
	if (!ret && plan_has(&p, FAULT_BACKLOG))
		ret = plan_backlog(&p, FAULT_BACKLOG);
	if (!ret && plan_has(&p, FAULT_BACKLOG_FLOW_LIMIT))
		ret = plan_backlog(&p, FAULT_BACKLOG_FLOW_LIMIT);
	if (!ret && plan_has(&p, FAULT_GSO))
		ret = plan_gso(&p);
	return ret ? ret : plan_receiver(&p);
}
