// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/watch.h"

#define POLL_MS	 20 /* ms, short enough to notice a stop quickly */
#define PAUSE_NS 1000000

struct receiving {
	struct receiver *receiver;
	struct worker worker;
	struct rx_config rx_config;
	struct rx *rx;
	struct sink sink;
	uint64_t delivered; /* same as in the sink's sums, for other threads: worker_read() */
	uint64_t emptied;   /* number of times the queue was found empty, also for worker_read() */
	uint64_t marked;    /* value of `emptied` at receiver_mark() */
	struct reader_state reader;
	atomic_bool failed;
};

struct receiver {
	const struct receiver_config *cfg;
	struct worker_team team;
	atomic_bool stop, paused, slow;
	int log_fd;
	uint8_t *fill;
	struct sink_streams streams;
	struct trace_tails table; /* table of learned streams, unless another component learns
				   * them too */
	uint64_t later[TRACE_STREAMS]; /* first number per stream that was sent after
					* receiver_mark() */
	struct receiving at[RECEIVER_THREADS];
};

static void receive_all(void *arg)
{
	struct receiving *me = arg;
	struct receiver *r = me->receiver;
	const struct reader *reader = &r->cfg->tuning->reader;
	uint64_t start = clock_now(), pause;

	while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
		int n;

		if (atomic_load_explicit(&r->paused, memory_order_relaxed)) {
			clock_sleep(PAUSE_NS);
			continue;
		}
		pause = reader_pause(reader, start, clock_now());
		if (pause) {
			clock_sleep(pause < PAUSE_NS ? pause : PAUSE_NS);
			continue;
		}
		n = r->cfg->ops->poll(me->rx, POLL_MS, &me->worker.error);
		worker_add(&me->delivered, me->sink.sums.delivered - me->delivered);
		if (n < 0) {
			atomic_store(&me->failed, true);
			return;
		}
		if (!n) {
			worker_add(&me->emptied, 1);
			continue;
		}
		me->sink.sums.last_ns = clock_now();
		if (!me->sink.sums.first_ns)
			me->sink.sums.first_ns = me->sink.sums.last_ns;
		if (atomic_load_explicit(&r->slow, memory_order_relaxed))
			clock_sleep(r->cfg->work_ns * (unsigned)n);
	}
}

static int open_engine(void *arg, struct error *err)
{
	struct receiving *me = arg;
	const struct rx_ops *ops = me->receiver->cfg->ops;

	me->rx = mem_zero(1, ops->size);
	return ops->open(me->rx, &me->rx_config, err);
}

/*
 * Prepares the streams. A run's streams are known and record arrivals in the run's outcomes. Other
 * streams are learned in a table that belongs to the tracer, the receiving program or this
 * receiver.
 */
static void prepare_streams(struct receiver *r)
{
	const struct rx_prog *prog = r->cfg->prog;
	const struct outcomes *f = r->cfg->outcomes;
	struct sink_streams *t = &r->streams;

	pthread_mutex_init(&t->lock, NULL);
	t->shared = r->cfg->threads > 1;
	if (!f) {
		const bool by_prog = prog && prog->tails;

		t->table = by_prog ? prog->tails : &r->table;
		t->bytes = by_prog ? prog->arrivals : NULL;
		t->room = by_prog ? SINK_LEARNED : TRACE_STREAMS;
		t->window = by_prog ? SINK_WINDOW : SINK_LEARNED_WINDOW;
		return;
	}
	t->window = f->window;
	if (r->cfg->table) {
		t->table = r->cfg->table;
		t->bytes = f->arrivals;
		t->room = f->streams;
		return;
	}
	for (unsigned s = 0; s < f->streams; s++) {
		t->at[s].id = (uint16_t)(f->stream0 + s);
		t->at[s].base = f->base;
		t->at[s].tail = f->base;
		t->at[s].arrivals = f->arrivals + s * f->window;
	}
	atomic_store(&t->n, f->streams);
}

static struct worker *prepare(void *of, unsigned t)
{
	struct receiver *r = of;
	const struct receiver_config *cfg = r->cfg;
	struct receiving *me = &r->at[t];

	me->worker.arg = me;
	me->receiver = r;
	me->sink = (struct sink){
		.streams = &r->streams,
		.payload = cfg->flow->payload,
		.shape = cfg->shape,
		/* captured packets retain their payload */
		.fill = cfg->flow->payload && !(cfg->shape && cfg->shape->capture) ? r->fill : NULL,
	};
	me->sink.timed = cfg->flow->time;
	me->sink.legs = cfg->legs;
	me->reader = (struct reader_state){
		.reader = &cfg->tuning->reader, .stop = &r->stop, .log_fd = r->log_fd};
	if (reader_works(me->reader.reader))
		me->sink.reader = &me->reader;
	me->rx_config = (struct rx_config){
		.receiver = cfg, .sink = &me->sink, .queue = t, .stop = &r->stop};
	return &me->worker;
}

/* Opens the log for appending, mode 0600. Sets *fd to -1 without a log. */
static int open_log(const struct reader *r, int *fd, struct error *err)
{
	int rc = 0;

	*fd = -1;
	while (r->log && *fd < 0 && !rc) {
		*fd = file_open_ours(r->log, O_WRONLY | O_APPEND | O_NONBLOCK);
		if (*fd < 0) /* waits until the pipe has a reader */
			rc = *fd != -ENXIO ? *fd : watch_tick() ? -EINTR : 0;
		else
			fcntl(*fd, F_SETFL, O_APPEND);
	}
	return error_errno(err, STATUS_FAILED, rc, rc == -EPERM ? FILE_OF_OTHERS : NULL,
			   "cannot write to '%s'", r->log);
}

int receiver_open(struct receiver **out, const struct receiver_config *cfg, struct error *err)
{
	struct receiver *r = mem_new(r);
	int rc;

	r->cfg = cfg;
	rc = open_log(&cfg->tuning->reader, &r->log_fd, err);
	if (rc) {
		free(r);
		return rc;
	}
	r->fill = mem_zero(1, cfg->flow->payload + 1);
	r->team = (struct worker_team){.ns = cfg->ns,
				       .wish = &cfg->tuning->rx,
				       .tuning = cfg->tuning,
				       .cpu = cfg->cpu,
				       .at_once = true,
				       .prepare = prepare,
				       .open = open_engine,
				       .run = receive_all};
	flow_fill(r->fill, cfg->flow->payload);
	prepare_streams(r);
	worker_allow_interrupts();
	atomic_store(&r->paused, cfg->paused);
	atomic_store(&r->slow, cfg->work_ns != 0);
	if (worker_team_start(&r->team, cfg->threads, r, err)) {
		receiver_close(r);
		return -EIO;
	}
	*out = r;
	return 0;
}

void receiver_resume(struct receiver *r)
{
	atomic_store(&r->paused, false);
	atomic_store(&r->slow, false);
}

uint64_t receiver_delivered(const struct receiver *r)
{
	uint64_t sum = 0;

	for (unsigned t = 0; t < r->cfg->threads; t++)
		sum += worker_read(&r->at[t].delivered);
	return sum;
}

uint64_t receiver_cpu_ns(struct receiver *r)
{
	uint64_t sum = 0;

	for (unsigned t = 0; t < r->cfg->threads; t++)
		sum += worker_cpu_ns(&r->at[t].worker);
	return sum;
}

struct sink_streams *receiver_streams(struct receiver *r)
{
	return &r->streams;
}

void receiver_pass(const struct receiver *r)
{
	for (unsigned t = 0; t < r->cfg->threads; t++)
		sink_pass(&r->at[t].sink);
}

void receiver_mark(struct receiver *r, const uint64_t *later)
{
	memcpy(r->later, later, r->cfg->outcomes->streams * sizeof(*later));
	for (unsigned t = 0; t < r->cfg->threads; t++)
		r->at[t].marked = worker_read(&r->at[t].emptied);
}

static bool caught_up(const struct receiving *me)
{
	const struct receiver *r = me->receiver;
	const struct outcomes *f = r->cfg->outcomes;

	if (worker_read(&me->emptied) != me->marked)
		return true;
	for (unsigned s = 0; f && s < f->streams; s++) {
		if (__atomic_load_n(&me->sink.next[s], __ATOMIC_RELAXED) > r->later[s])
			return true;
	}
	return false;
}

bool receiver_caught_up(const struct receiver *r)
{
	for (unsigned t = 0; t < r->cfg->threads; t++) {
		if (!caught_up(&r->at[t]))
			return false;
	}
	return true;
}

uint64_t receiver_next(const struct receiver *r, unsigned stream)
{
	uint64_t highest = 0;

	for (unsigned t = 0; t < r->cfg->threads; t++)
		highest = larger(highest,
				 __atomic_load_n(&r->at[t].sink.next[stream], __ATOMIC_RELAXED));
	return highest;
}

void receiver_forget(struct receiver *r, unsigned stream)
{
	for (unsigned t = 0; t < r->cfg->threads; t++)
		__atomic_store_n(&r->at[t].sink.next[stream], 0, __ATOMIC_RELAXED);
}

bool receiver_fastest(const struct receiver *r, unsigned stream, int64_t *ns)
{
	const unsigned life = r->streams.at[stream].life;
	bool timed = false;

	for (unsigned t = 0; t < r->cfg->threads; t++) {
		const struct sink *s = &r->at[t].sink;

		for (unsigned i = 0; i < s->lines; i++) {
			const struct line *l = s->line[i];

			if (l->stream != stream || l->life != life || !l->timed ||
			    (timed && l->fastest >= *ns))
				continue;
			timed = true;
			*ns = l->fastest;
		}
	}
	return timed;
}

bool receiver_ended(const struct receiver *r, unsigned stream)
{
	const struct sink_stream *st = &r->streams.at[stream];

	return atomic_load(&st->ended) &&
	       receiver_next(r, stream) <= st->end_base + st->end_sent + st->end_refused;
}

bool receiver_all_ended(const struct receiver *r)
{
	unsigned n = atomic_load(&r->streams.n);

	for (unsigned i = 0; i < n; i++) {
		if (sink_streams_has(&r->streams, i) && !receiver_ended(r, i))
			return false;
	}
	return n > 0;
}

bool receiver_idle(const struct receiver *r)
{
	for (unsigned t = 0; t < r->cfg->threads; t++) {
		if (r->cfg->ops->pending && r->cfg->ops->pending(r->at[t].rx))
			return false;
	}
	return true;
}

bool receiver_failed(const struct receiver *r, struct error *err)
{
	for (unsigned t = 0; t < r->cfg->threads; t++) {
		if (atomic_load(&r->at[t].failed)) {
			*err = r->at[t].worker.error;
			return true;
		}
	}
	return false;
}

void receiver_stop(struct receiver *r)
{
	atomic_store(&r->stop, true);
	for (unsigned t = 0; t < r->cfg->threads; t++) {
		/* ends a wait for packets, but not a write to the log */
		if (r->log_fd < 0 && !worker_ended(&r->at[t].worker))
			worker_interrupt(&r->at[t].worker);
		worker_join(&r->at[t].worker);
	}
}

int receiver_check_log(const struct receiver *r, struct error *err)
{
	for (unsigned t = 0; t < r->cfg->threads; t++) {
		const struct reader_state *s = &r->at[t].reader;

		if (s->log_errors)
			return error_set(err, STATUS_FAILED, -s->log_errno, NULL,
					 "the reader's log %s is not complete, %llu of its lines "
					 "are missing: %s",
					 s->reader->log, (unsigned long long)s->log_errors,
					 strerror(s->log_errno));
	}
	return 0;
}

/* ---- from the threads' sinks to the results ---- */

/* Fills the latency from a sum of lines, and frees the sum. Returns the mean jitter. */
static uint64_t take_delays(struct line *sum, struct result_latency *latency)
{
	result_latency_fill(latency, sum->delay);
	free(sum->delay);
	return line_jitter(sum);
}

/* Sums all lines of the same flow as lines[0], and sets these lines to NULL. */
static void fill_flow(struct arrivals_flow *f, const struct line **lines, unsigned n)
{
	const struct line *first = lines[0];
	struct line sum = {};

	for (unsigned i = 0; i < n; i++) {
		if (!lines[i] || !line_is(lines[i], first->stream, first->life, &first->source))
			continue;
		line_add(&sum, lines[i]);
		lines[i] = NULL;
	}
	*f = (struct arrivals_flow){.stream = first->id,
				    .delivered = sum.delivered,
				    .bytes = sum.bytes,
				    .duplicated = sum.duplicated,
				    .order = sum.order};
	if (first->source.port)
		snprintf(f->source, sizeof(f->source), "%s", num_text_endpoint(&first->source));
	f->jitter_ns = take_delays(&sum, &f->latency);
}

void arrivals_sum(struct arrivals *out, const struct sink *const *sink, unsigned n)
{
	const struct line **lines = mem_zero((size_t)n * SINK_LINES, sizeof(*lines));
	struct legs_sums legs = {};
	struct line all = {};
	unsigned found = 0;

	for (unsigned s = 0; s < n; s++) {
		for (unsigned i = 0; i < sink[s]->lines; i++)
			line_add(&all, lines[found++] = sink[s]->line[i]);
		if (sink[s]->past)
			line_add(&all, sink[s]->past);
		out->flows_more += sink[s]->past_lines;
		legs_merge(&legs, &sink[s]->legs_sums);
	}
	for (unsigned i = 0; i < found; i++) {
		struct arrivals_flow more;

		if (!lines[i])
			continue;
		if (out->flows < ARRIVALS_FLOWS)
			fill_flow(&out->flow[out->flows++], lines + i, found - i);
		else if (++out->flows_more)
			fill_flow(&more, lines + i, found - i);
	}
	if (all.delay)
		hist_quarters(all.delay, out->delay);
	out->order = all.order;
	out->negative = all.negative;
	out->legs = legs_result(&legs, out->leg, &out->stamps);
	out->stamps.asked = n && sink[0]->legs;
	legs_forget(&legs);
	out->jitter_ns = take_delays(&all, &out->latency);
	free(lines);
}

void receiver_sum(const struct receiver *r, struct sink *sum, struct arrivals *arrivals)
{
	const struct sink *sink[RECEIVER_THREADS];

	memset(sum, 0, sizeof(*sum));
	sum->streams = r->at[0].sink.streams;
	for (unsigned t = 0; t < r->cfg->threads; t++) {
		const struct sink *one = sink[t] = &r->at[t].sink;

		if (r->cfg->ops->collect)
			r->cfg->ops->collect(r->at[t].rx);
		sink_sums_add(&sum->sums, &one->sums);
	}
	arrivals_sum(arrivals, sink, r->cfg->threads);
}

void receiver_stats(const struct receiver *r, struct rx_stats *st)
{
	memset(st, 0, sizeof(*st));
	for (unsigned t = 0; t < r->cfg->threads; t++)
		r->cfg->ops->stats(r->at[t].rx, st);
}

const char *receiver_mode(const struct receiver *r)
{
	return r->at[0].rx_config.mode;
}

int receiver_fd(const struct receiver *r, unsigned thread)
{
	return r->at[thread].rx_config.fd;
}

void receiver_close(struct receiver *r)
{
	if (!r)
		return;
	receiver_stop(r);
	for (unsigned t = 0; t < r->cfg->threads; t++) {
		if (r->at[t].rx)
			r->cfg->ops->close(r->at[t].rx);
		free(r->at[t].rx);
		sink_forget(&r->at[t].sink);
	}
	sink_streams_forget(&r->streams);
	fd_close(&r->log_fd);
	free(r->fill);
	free(r);
}
