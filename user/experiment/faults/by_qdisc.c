// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Faults made by the qdisc on the sender's interface: a tbf, the queue in it, and replacing the
 * qdisc.
 */
#include <inttypes.h>

#include "experiment/faults/row.h"

#define TBF_SHARE     (2.0 / 3) /* fraction of the sent packets that pass a tbf */
#define TBF_LIMIT     256	/* frames, well below QDISC_FLIGHT */
#define TBF_LEAST     8000	/* bits/s, lowest rate of a tbf */
#define TBF_BURST     64	/* frames, less than a veth's ring, which would overflow
				 * otherwise */
#define QDISC_FLIGHT  4096	/* maximum frames that the sender has in flight */
#define PFIFO_LIMIT   100	/* packets, fewer than a socket may have in flight by default */
#define PFIFO_TIMES   4		/* midway: this multiple of the capacity of queue and tbf has
				 * been sent ... */
#define PFIFO_SLOWER  20	/* ... at a 20th of the planned rate until then */
#define MIDWAY_FLIGHT 2048	/* maximum frames waiting in the qdisc that will be replaced */
#define SLOW_BPS      8000000	/* bits/s, for a qdisc that must be full at the end */
#define AFTER	      (1 << 17) /* packets, limit of the pfifo that replaces another qdisc */
#define PACED_SECONDS 3		/* seconds, for a run with a qdisc ... */
#define PACED_MIN     10000.0	/* ... within these rates, in pps, which slow hosts reach */
#define PACED_MAX     100000.0

/* Returns the rate that the user set, in bits/s. */
static double given_bps(const struct fault_plan *p)
{
	const struct rate *rate = &p->spec->faults.rate;
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
 * Paces the sender unless the user set a rate, because an unthrottled sender outruns any tbf by a
 * factor that depends on the host. A tbf dequeues in a timer, which interrupts any task. With the
 * next interface's NAPI in a kernel thread, packets return to a context in which tracing is never
 * suppressed (STAGES 6.1).
 */
static int plan_tbf(struct fault_plan *p)
{
	struct fault_effects *fx = p->fx;
	double rate = p->spec->rate_pps, bps = given_bps(p);

	if (!bps) {
		if (!rate) {
			rate = (double)p->spec->count / PACED_SECONDS;
			rate = rate < PACED_MIN ? PACED_MIN : rate > PACED_MAX ? PACED_MAX : rate;
			fx->rate_pps = rate;
		}
		bps = TBF_SHARE * rate * p->bytes * 8;
	}
	fx->tbf_bps = bps < TBF_LEAST ? TBF_LEAST : bps;
	fx->tbf_limit = TBF_LIMIT * p->bytes / p->frames;
	fx->tbf_burst = TBF_BURST * p->bytes / p->frames;
	fx->settle_ns += fx->tbf_limit * 8.0 / fx->tbf_bps * 1e9;
	p->passing *= TBF_SHARE;
	return 0;
}

/*
 * Plans a tbf with an inner queue that counts packets, not bytes. Some hosts send too slowly to
 * fill it, so the tbf starts at a low rate, until several times the capacity of tbf and queue, or a
 * quarter of all packets, has been sent.
 */
static int plan_pfifo(struct fault_plan *p)
{
	struct fault_effects *fx = p->fx;

	plan_tbf(p);
	fx->pfifo_limit = PFIFO_LIMIT;
	fx->slow_bps =
		fx->tbf_bps < PFIFO_SLOWER * TBF_LEAST ? TBF_LEAST : fx->tbf_bps / PFIFO_SLOWER;
	fx->midway = PFIFO_TIMES * (PFIFO_LIMIT + TBF_BURST) * p->segments / p->frames + 1;
	fx->midway = smaller(fx->midway, p->spec->count / 4 + 1);
	return 0;
}

/*
 * Plans for queued packets to be dropped with the qdisc, which must not overflow before that.
 * Senders block when a quarter of the packets are queued, so that most packets are sent after the
 * qdisc is replaced.
 */
static int plan_replace(struct fault_plan *p)
{
	uint64_t quarter = p->spec->count / 4 / p->threads / p->segments * p->frames;
	uint64_t flight = quarter < MIDWAY_FLIGHT ? quarter + 1 : MIDWAY_FLIGHT;
	struct fault_effects *fx = p->fx;

	fx->tbf_burst = p->bytes / p->frames;
	fx->tbf_limit =
		fault_plan_ask(4 * flight * p->threads * p->segments * p->bytes / p->frames);
	fx->midway = flight / p->frames * p->segments / 2 + 1;
	fault_plan_flight(p, flight);
	return 0;
}

/*
 * Keeps queued packets. A tbf's limit is that of its inner fifo, in the fifo's unit
 * (fifo_set_limit()).
 */
static void set_tbf(struct fault_state *s, uint64_t bps)
{
	const struct fault_effects *fx = s->fx;
	const struct lab_port *tx = &s->lab->tx;

	port_step(s, RECIPE_TC, tx,
		  "qdisc replace dev %s root handle 1: tbf rate %" PRIu64 "bit burst %u limit %u",
		  tx->ifname, bps, fx->tbf_burst,
		  fx->pfifo_limit ? fx->pfifo_limit : fx->tbf_limit);
}

static void apply_tbf(struct fault_state *s)
{
	const struct lab_port *tx = &s->lab->tx;

	set_tbf(s, s->fx->tbf_bps);
	if (s->fx->pfifo_limit)
		port_step(s, RECIPE_TC, tx, "qdisc replace dev %s parent 1:1 pfifo limit %u",
			  tx->ifname, s->fx->pfifo_limit);
}

/* Applies the slow rate from the start until midway. */
static int change_rate(struct fault_state *s, struct error *err)
{
	set_tbf(s, s->midway_due ? s->fx->slow_bps : s->fx->tbf_bps);
	return recipe_run(&s->recipe, "change the tbf", err);
}

static int replace(struct fault_state *s, struct error *err)
{
	const struct lab_port *tx = &s->lab->tx;

	port_step(s, RECIPE_TC, tx, "qdisc replace dev %s root handle 2: pfifo limit %u",
		  tx->ifname, AFTER);
	return recipe_run(&s->recipe, "replace the qdisc", err);
}

const struct fault_row faults_by_qdisc[] = {
	{"qdisc", "a tbf with the rate VALUE on the sender's device", FAULT_VALUE_RATE,
	 AT_SENDER, NO_BACKLOG, SLOT_QUEUE, IN_VETHS, .tx = "socket", .fx.threaded_napi = true,
	 .flight = QDISC_FLIGHT, .plan = plan_tbf, .apply = apply_tbf},
	{"qdisc:pfifo", "a short pfifo in a tbf that is slow at the beginning of a run",
	 FAULT_VALUE_NONE, AT_SENDER, NO_BACKLOG, SLOT_QUEUE, IN_VETHS, .tx = "socket",
	 .fx.threaded_napi = true, .flight = QDISC_FLIGHT, .plan = plan_pfifo,
	 .apply = apply_tbf, .begin = change_rate, .midway = change_rate},
	{"qdisc:replace", "the sender's qdisc is replaced in mid-run, with its queue full",
	 FAULT_VALUE_NONE, AT_SENDER, OF_PROGRAM | NO_BACKLOG, SLOT_QUEUE, IN_VETHS, .tx = "socket",
	 .fx = {.threaded_napi = true, .qdisc_replaced = true, .tbf_bps = SLOW_BPS},
	 .plan = plan_replace, .apply = apply_tbf, .midway = replace},
	{0},
};
