// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/sender.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/pace.h"
#include "run/worker.h"

#define BATCH	    512	   /* the most that an engine is asked for at once */
#define INTERRUPT_MS 20

struct sending {
	struct sender *sender;
	pthread_t thread;
	bool started;
	struct stream stream;
	struct tx_config tx_config;
	struct tx *tx;
	struct pace pace;
	uint64_t allowed; /* numbers below may be used */
	uint64_t start_ns, end_ns;
	struct error error;
	atomic_bool done;
};

struct sender {
	const struct sender_config *cfg;
	struct gate gate;
	atomic_bool stop;
	struct sending at[TRACE_STREAMS];
};

static void note_failure(void *arg, uint64_t number, int error)
{
	struct sending *me = arg;
	struct fates *f = me->sender->cfg->fates;

	f->failed[fates_index(f, me->stream.slot, number)] = (uint8_t)error;
}

/* How many may be sent now: limit, window, pace. 0: waited a little. */
static unsigned may_send(struct sending *me, uint64_t now)
{
	uint64_t left = me->stream.limit - (me->stream.next - me->stream.base), room, wait;
	unsigned max = left < BATCH ? (unsigned)left : BATCH, n;

	room = __atomic_load_n(&me->allowed, __ATOMIC_ACQUIRE) - me->stream.next;
	if (!room) {
		pace_wait(1000000);
		return 0;
	}
	if (room < max)
		max = (unsigned)room;
	n = pace_due(&me->pace, now, max, &wait);
	if (!n)
		pace_wait(wait);
	return n;
}

static void send_all(struct sending *me)
{
	const struct sender_config *cfg = me->sender->cfg;
	uint64_t now = pace_now(), deadline = cfg->duration_ns ? now + cfg->duration_ns : 0;

	me->start_ns = now;
	pace_start(&me->pace, cfg->rate_pps / cfg->threads, now);
	while (!atomic_load_explicit(&me->sender->stop, memory_order_relaxed) &&
	       me->stream.next - me->stream.base < me->stream.limit) {
		unsigned n;
		int sent;

		if (deadline || cfg->rate_pps > 0)
			now = pace_now();
		if (deadline && now >= deadline)
			break;
		n = may_send(me, now);
		if (!n)
			continue;
		sent = cfg->ops->send(me->tx, n, &me->error);
		if (sent < 0)
			break;
		pace_sent(&me->pace, (unsigned)sent);
	}
	cfg->ops->finish(me->tx, &me->error);
	me->end_ns = pace_now();
}

static void *sending_thread(void *arg)
{
	struct sending *me = arg;
	const struct sender_config *cfg = me->sender->cfg;
	int cpu = cfg->cpu < 0 ? -1 : cfg->cpu + me->stream.slot;
	int rc = worker_settle_in(cfg->ns, cpu, &cfg->tuning->tx, cfg->tuning,
				  me->stream.slot, &me->error);

	if (!rc)
		rc = cfg->ops->open(&me->tx, &me->tx_config, &me->error);
	gate_report(&me->sender->gate);
	if (!rc) {
		gate_pass(&me->sender->gate);
		send_all(me);
	}
	atomic_store(&me->done, true);
	return NULL;
}

/* Thread t of n gets its share of `count`, the first ones one more. */
static uint64_t share_of(uint64_t count, unsigned t, unsigned n)
{
	return count == UINT64_MAX ? count : count / n + (t < count % n);
}

static void prepare(struct sender *s, unsigned t)
{
	const struct sender_config *cfg = s->cfg;
	struct sending *me = &s->at[t];
	unsigned flows = cfg->flow->flows ? cfg->flow->flows : 1;

	me->sender = s;
	me->stream = (struct stream){
		.id = (uint16_t)(cfg->fates->stream0 + t),
		.slot = (uint16_t)t,
		.base = cfg->fates->base,
		.next = cfg->fates->base,
		.limit = share_of(cfg->count, t, cfg->threads),
	};
	me->allowed = cfg->fates->base + cfg->fates->window;
	me->tx_config = (struct tx_config){
		.flow = cfg->flow,
		.stream = &me->stream,
		.ifname = cfg->ifname,
		.ifindex = cfg->ifindex,
		.queue = t,
		.sndbuf = cfg->sndbuf,
		.no_wait = cfg->no_wait,
		.socket = cfg->tuning->send,
		.first_flow = flows > cfg->threads ? flows * t / cfg->threads : t,
		.fail = note_failure,
		.fail_arg = me,
		.stop = &s->stop,
	};
	me->tx_config.flows = flows > cfg->threads
				      ? flows * (t + 1) / cfg->threads - me->tx_config.first_flow
				      : 1;
}

int sender_open(struct sender **out, const struct sender_config *cfg, struct error *err)
{
	struct sender *s = calloc(1, sizeof(*s));
	unsigned t;

	if (!s)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	s->cfg = cfg;
	s->gate = (struct gate)GATE_INIT;
	worker_allow_interrupts();
	for (t = 0; t < cfg->threads; t++) {
		int rc;

		prepare(s, t);
		rc = pthread_create(&s->at[t].thread, NULL, sending_thread, &s->at[t]);
		if (rc) {
			error_set(err, STATUS_FAILED, -rc, NULL, "cannot start a thread: %s",
				  strerror(rc));
			break;
		}
		s->at[t].started = true;
	}
	gate_await(&s->gate, t);
	for (unsigned i = 0; i < t; i++) {
		if (!s->at[i].tx)
			*err = s->at[i].error;
	}
	if (err->status != STATUS_OK) {
		sender_close(s);
		return -EIO;
	}
	*out = s;
	return 0;
}

void sender_start(struct sender *s)
{
	gate_open(&s->gate);
}

bool sender_done(const struct sender *s)
{
	for (unsigned t = 0; t < s->cfg->threads; t++) {
		if (!atomic_load(&s->at[t].done))
			return false;
	}
	return true;
}

void sender_stop(struct sender *s)
{
	atomic_store(&s->stop, true);
	gate_open(&s->gate);
}

int sender_join(struct sender *s, struct error *err)
{
	const struct timespec pause = {.tv_nsec = INTERRUPT_MS * 1000000};

	/* a signal that comes just before a blocking call does not end it: repeat */
	while (atomic_load(&s->stop) && !sender_done(s)) {
		for (unsigned t = 0; t < s->cfg->threads; t++) {
			if (!atomic_load(&s->at[t].done))
				worker_interrupt(s->at[t].thread);
		}
		nanosleep(&pause, NULL);
	}
	for (unsigned t = 0; t < s->cfg->threads; t++) {
		if (!s->at[t].started)
			continue;
		pthread_join(s->at[t].thread, NULL);
		s->at[t].started = false;
		if (s->at[t].error.status != STATUS_OK && err->status == STATUS_OK)
			*err = s->at[t].error;
	}
	return err->status == STATUS_OK ? 0 : -EIO;
}

uint64_t sender_next(const struct sender *s, unsigned slot)
{
	return __atomic_load_n(&s->at[slot].stream.next, __ATOMIC_ACQUIRE);
}

void sender_allow(struct sender *s, unsigned slot, uint64_t upto)
{
	__atomic_store_n(&s->at[slot].allowed, upto, __ATOMIC_RELEASE);
}

void sender_stats(const struct sender *s, struct sender_stats *st)
{
	memset(st, 0, sizeof(*st));
	for (unsigned t = 0; t < s->cfg->threads; t++) {
		const struct sending *me = &s->at[t];
		struct tx_stats one = {};

		if (!me->tx)
			continue;
		s->cfg->ops->stats(me->tx, &one);
		st->tx.waits += one.waits;
		st->tx.wait_ns += one.wait_ns;
		st->tx.calls += one.calls;
		st->tx.lost_at_device += one.lost_at_device;
		st->tx.taken_back += one.taken_back;
		st->tx.tx_invalid_descs += one.tx_invalid_descs;
		st->tx.tx_ring_empty += one.tx_ring_empty;
		if (!st->start_ns || me->start_ns < st->start_ns)
			st->start_ns = me->start_ns;
		if (me->end_ns > st->end_ns)
			st->end_ns = me->end_ns;
		if (me->pace.slipped_ns > st->slipped_ns)
			st->slipped_ns = me->pace.slipped_ns;
	}
}

const char *sender_mode(const struct sender *s)
{
	return s->cfg->ops->mode(s->at[0].tx);
}

void sender_close(struct sender *s)
{
	struct error ignored = {};

	if (!s)
		return;
	sender_stop(s);
	sender_join(s, &ignored);
	for (unsigned t = 0; t < s->cfg->threads; t++) {
		if (s->at[t].tx)
			s->cfg->ops->close(s->at[t].tx);
	}
	free(s);
}
