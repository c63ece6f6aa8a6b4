// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "host/load.h"

#define BATCH	     512 /* maximum packets per call of the engine */
#define INTERRUPT_MS 20
#define HELD_NS	     1000000	 /* ns between checks that the window has moved */
#define STUCK_NS     10000000000 /* ns during which no packet was sent, */
#define STUCK_TRIES  32		 /* despite this many attempts, because this process may
				  * have been stopped */

struct sending {
	struct sender *sender;
	struct worker worker;
	struct stream stream;
	struct tx_config tx_config;
	struct tx *tx;
	struct pace pace;
	uint64_t allowed; /* numbers below this may be used */
	uint64_t start_ns, end_ns;
	uint64_t held_ns;  /* ns spent waiting for numbers to be allowed */
	uint64_t stuck_ns; /* ns, start of the time in which nothing is sent, */
	unsigned stuck;	   /* number of failed attempts since then, 0: not stuck */
};

struct sender {
	const struct sender_config *cfg;
	struct worker_team team;
	atomic_bool stop;
	int pass;		/* link of tx_attach_pass(), negative: not attached */
	struct profile profile; /* profile for a constant rate */
	uint64_t start_ns;	/* ns, start of the schedule shared by the threads */
	struct sending at[TRACE_STREAMS];
};

/*
 * Returns how many packets the limit, the window and the pace allow now. 0: waited briefly, or the
 * schedule has ended.
 */
static unsigned may_send(struct sending *me, uint64_t now, bool *over)
{
	uint64_t left = me->stream.limit - (me->stream.next - me->stream.base), room, wait;
	bool paces = me->sender->cfg->ops->paces;
	unsigned most = paces ? INT32_MAX : BATCH, max = left < most ? (unsigned)left : most, n;

	room = __atomic_load_n(&me->allowed, __ATOMIC_ACQUIRE) - me->stream.next;
	if (!room) {
		now = clock_now();
		pace_wait(HELD_NS);
		me->held_ns += clock_now() - now;
		return 0;
	}
	if (room < max)
		max = (unsigned)room;
	if (paces)
		return max;
	n = pace_due(&me->pace, now, max, &wait);
	*over = !n && !wait;
	if (wait)
		pace_wait(wait);
	return n;
}

/*
 * Detects a sender that cannot send. A shaper may hold packets for ever, or a driver may stop a
 * queue without restarting it, as veth in Linux 6.18 does after its ring was full.
 */
static bool is_stuck(struct sending *me)
{
	const uint64_t now = clock_now();

	if (!me->stuck++)
		me->stuck_ns = now;
	if (me->stuck < STUCK_TRIES || now - me->stuck_ns < STUCK_NS)
		return false;
	error_set(&me->worker.error, STATUS_FAILED, -ETIMEDOUT,
		  "find the interface with a stalled queue: tc -s qdisc, ip -s link",
		  "sending stopped: for %d s no packet could be sent",
		  (int)(STUCK_NS / 1000000000));
	return true;
}

static void send_all(void *arg)
{
	struct sending *me = arg;
	const struct sender_config *cfg = me->sender->cfg;
	uint64_t now = clock_now(), deadline;

	me->start_ns = now;
	pace_start(&me->pace, me->tx_config.profile, cfg->shape ? cfg->shape->burst : 1,
		   me->stream.slot, cfg->threads, me->sender->start_ns);
	me->pace.end_ns = cfg->duration_ns;
	deadline = cfg->duration_ns ? me->sender->start_ns + cfg->duration_ns : 0;
	/*
	 * the end of the schedule decides, but a late thread may send overdue packets for a short
	 * time after it
	 */
	if (deadline && me->pace.profile)
		deadline += 2 * PACE_DEBT_NS;
	while (!atomic_load_explicit(&me->sender->stop, memory_order_relaxed) &&
	       me->stream.next - me->stream.base < me->stream.limit) {
		bool over = false;
		unsigned n;
		int sent;

		if (deadline || me->pace.profile)
			now = clock_now();
		if (deadline && now >= deadline)
			break;
		n = may_send(me, now, &over);
		if (over)
			break;
		if (!n)
			continue;
		sent = cfg->ops->send(me->tx, n, &me->worker.error);
		if (sent < 0 || (!sent && is_stuck(me)))
			break;
		if (sent)
			me->stuck = 0;
		pace_sent(&me->pace, (unsigned)sent);
	}
	if (cfg->ops->finish)
		cfg->ops->finish(me->tx, &me->worker.error);
	me->end_ns = clock_now();
}

static int open_engine(void *arg, struct error *err)
{
	struct sending *me = arg;
	const struct tx_ops *ops = me->sender->cfg->ops;

	me->tx = mem_zero(1, ops->size);
	return ops->open(me->tx, &me->tx_config, err);
}

static struct worker *prepare(void *of, unsigned t)
{
	struct sender *s = of;
	const struct sender_config *cfg = s->cfg;
	struct sending *me = &s->at[t];
	bool shaped = cfg->shape && cfg->shape->frames;
	unsigned flows = cfg->flow->flows && !shaped ? cfg->flow->flows : 1;

	me->sender = s;
	me->worker.arg = me;
	me->stream = (struct stream){
		.id = (uint16_t)(cfg->outcomes->stream0 + t),
		.slot = (uint16_t)t,
		.base = cfg->outcomes->base,
		.next = cfg->outcomes->base,
		/* the first threads get an extra number */
		.limit = cfg->count == UINT64_MAX
				 ? UINT64_MAX
				 : cfg->count / cfg->threads + (t < cfg->count % cfg->threads),
	};
	me->allowed = cfg->outcomes->base + cfg->outcomes->window;
	me->tx_config = (struct tx_config){
		.sender = cfg,
		.stream = &me->stream,
		/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is a thread */
		.first_flow = flows > cfg->threads ? flows * t / cfg->threads : t,
		.flows = 1,
		.shape = shaped ? cfg->shape : NULL,
		.profile = cfg->shape && cfg->shape->scheduled ? &cfg->shape->profile
			   : cfg->rate_pps > 0		       ? &s->profile
							       : NULL,
		.stop = &s->stop,
	};
	if (flows > cfg->threads)
		me->tx_config.flows = flows * (t + 1) / cfg->threads - me->tx_config.first_flow;
	return &me->worker;
}

int sender_open(struct sender **out, const struct sender_config *cfg, struct error *err)
{
	struct sender *s = mem_new(s);

	s->cfg = cfg;
	/* engines that can work without the program do so */
	s->pass = cfg->wants_xdp ? tx_attach_pass(cfg->ns, cfg->ifindex) : -1;
	s->team = (struct worker_team){.ns = cfg->ns,
				       .wish = &cfg->tuning->tx,
				       .tuning = cfg->tuning,
				       .cpu = cfg->cpu,
				       .prepare = prepare,
				       .open = open_engine,
				       .run = send_all};
	profile_constant(&s->profile, cfg->rate_pps);
	worker_allow_interrupts();
	if (worker_team_start(&s->team, cfg->threads, s, err)) {
		sender_close(s);
		return -EIO;
	}
	*out = s;
	return 0;
}

void sender_start(struct sender *s)
{
	s->start_ns = clock_now();
	sem_post(&s->team.door);
}

bool sender_done(const struct sender *s)
{
	for (unsigned t = 0; t < s->cfg->threads; t++) {
		if (!worker_ended(&s->at[t].worker))
			return false;
	}
	return true;
}

void sender_stop(struct sender *s)
{
	atomic_store(&s->stop, true);
	sem_post(&s->team.door);
}

int sender_join(struct sender *s, struct error *err)
{
	/* a signal just before a blocking call does not interrupt the call, so repeat it */
	while (atomic_load(&s->stop) && !sender_done(s)) {
		for (unsigned t = 0; t < s->cfg->threads; t++) {
			if (!worker_ended(&s->at[t].worker))
				worker_interrupt(&s->at[t].worker);
		}
		clock_sleep(INTERRUPT_MS * 1000000);
	}
	for (unsigned t = 0; t < s->cfg->threads; t++) {
		if (!s->at[t].worker.started)
			continue;
		worker_join(&s->at[t].worker);
		if (s->at[t].worker.error.status != STATUS_OK && err->status == STATUS_OK)
			*err = s->at[t].worker.error;
	}
	return err->status == STATUS_OK ? 0 : -EIO;
}

uint64_t sender_cpu_ns(struct sender *s)
{
	uint64_t sum = 0;

	for (unsigned t = 0; t < s->cfg->threads; t++)
		sum += worker_cpu_ns(&s->at[t].worker);
	return sum;
}

uint64_t sender_next(const struct sender *s, unsigned slot)
{
	const struct sending *me = &s->at[slot];

	return s->cfg->ops->next ? s->cfg->ops->next(me->tx)
				 : __atomic_load_n(&me->stream.next, __ATOMIC_ACQUIRE);
}

void sender_allow(struct sender *s, unsigned slot, uint64_t upto)
{
	__atomic_store_n(&s->at[slot].allowed, upto, __ATOMIC_RELEASE);
}

void sender_stats(const struct sender *s, struct tx_stats *st)
{
	memset(st, 0, sizeof(*st));
	for (unsigned t = 0; t < s->cfg->threads; t++) {
		const struct sending *me = &s->at[t];
		struct tx_stats one = {};
		uint64_t start;

		s->cfg->ops->stats(me->tx, &one);
		sum_words(st, &one, offsetof(struct tx_stats, first_ns));
		start = one.first_ns ? one.first_ns : me->start_ns;
		if (!st->first_ns || start < st->first_ns)
			st->first_ns = start;
		st->last_ns = larger(st->last_ns, one.last_ns ? one.last_ns : me->end_ns);
		st->slipped_ns = larger(st->slipped_ns, me->pace.slipped_ns + one.slipped_ns);
		st->late_ns = larger(st->late_ns, me->pace.late_ns);
		st->held_ns = larger(st->held_ns, me->held_ns);
	}
}

void sender_result(struct sender *s, struct result *res)
{
	struct tx_stats st;

	sender_stats(s, &st);
	res->waits = st.waits;
	res->wait_ns = st.wait_ns;
	res->tx_cost = (struct result_cost){st.calls, sender_cpu_ns(s)};
	res->slipped_ns = st.slipped_ns;
	res->late_ns = st.late_ns;
	res->held_ns = st.held_ns;
	res->duration_ns = st.last_ns > st.first_ns ? st.last_ns - st.first_ns : 0;
}

const char *sender_mode(const struct sender *s)
{
	return s->at[0].tx_config.mode;
}

void sender_close(struct sender *s)
{
	if (!s)
		return;
	sender_stop(s);
	sender_join(s, &(struct error){});
	for (unsigned t = 0; t < s->cfg->threads; t++) {
		if (s->at[t].tx)
			s->cfg->ops->close(s->at[t].tx);
		free(s->at[t].tx);
	}
	link_close(&s->pass);
	free(s);
}
