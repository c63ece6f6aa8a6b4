/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A site without a kernel, for the harnesses of the protocol between two hosts. It has outcomes,
 * most of them open, and causes. Its ends only count. It aborts on requests that it cannot fulfil.
 * Time advances with each read. Include it once.
 */
#ifndef PKTLEDGER_TESTS_FUZZ_SITE_H
#define PKTLEDGER_TESTS_FUZZ_SITE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/watch.h"
#include "diagnosis/facts.h"
#include "experiment/site.h"
#include "experiment/msg.h"

#define SITE_WINDOW 4096
#define SITE_MOST   (1 << 18) /* bytes of a map of outcomes */
#define SITE_STEP   64	      /* numbers that a sender sends until it is asked again */
#define SITE_COUNT  500	      /* of each stream */

/* Replaces the clock of pktledger. libFuzzer uses another clock. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	static uint64_t now_ns = 1000000000;

	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, t);
	now_ns += 1000000;
	*t = (struct timespec){(time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000)};
	return 0;
}

/* Functions of other rooms. They do nothing, or return a value that the input selects. */
#define STUB(name, ...)                                                                            \
	void name(__VA_ARGS__)                                                                     \
	{                                                                                          \
	}
#define STUB_VALUE(type, value, name, ...)                                                         \
	type name(__VA_ARGS__)                                                                     \
	{                                                                                          \
		return value;                                                                      \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* clang-format off */
STUB(watch_look, void)
STUB_VALUE(bool, false, watch_tick, void)
STUB(watch_block_signals, void)
STUB(watch_unblock_signals, void)
STUB(watch_ignore_terminal, void)
STUB_VALUE(uint64_t, 1, sender_cpu_ns, struct sender *s)
STUB_VALUE(const char *, "", sender_mode, const struct sender *s)
STUB_VALUE(const char *, "", receiver_mode, const struct receiver *r)
STUB_VALUE(uint64_t, 1, receiver_delivered, const struct receiver *r)
STUB_VALUE(uint64_t, 1, receiver_cpu_ns, struct receiver *r)
STUB_VALUE(bool, true, receiver_all_ended, const struct receiver *r)
STUB_VALUE(uint64_t, 1, drops_packets, const struct drops *d)
STUB_VALUE(const char *, "here", site_place, const struct site *s)
STUB_VALUE(uint64_t, s->started, site_outcomes_seen, const struct site *s)
STUB(site_mark, const struct site *s, const uint64_t *later)
STUB_VALUE(bool, true, site_caught_up, const struct site *s)
STUB_VALUE(bool, s->stopped, site_is_complete, struct site *s)
STUB_VALUE(bool, true, site_is_here, const struct site *s, const struct ledger_cause *c)
STUB_VALUE(bool, false, site_failed, struct site *s, struct error *err)
STUB_VALUE(int, 0, site_name, struct site *s)
STUB(site_prepare, struct site *s, const uint64_t *upto)
STUB(site_beyond, struct site *s)
STUB(site_describe, const struct site *s, struct result *res)
STUB_VALUE(int, 0, site_check, struct site *s, struct result *res, struct error *err)
STUB(site_settings, const struct site *s, struct finding_facts *f)
STUB(advise, const struct site *s, const struct finding_facts *remote, struct result *res)
/* clang-format on */

/* The ends, which are only known to be there. */

static struct {
	char sender, receiver;
	uint64_t next[TRACE_STREAMS]; /* from 0 */
} ends;

bool sender_done(const struct sender *s)
{
	MUST(s);
	return ends.next[0] >= SITE_COUNT;
}

struct sink_streams *receiver_streams(struct receiver *r)
{
	static struct sink_streams none;

	MUST(r);
	return &none;
}

/* The site. */

static void site_causes(struct site *s)
{
	for (uint8_t i = 1; i < 4; i++) {
		struct ledger_cause c = {.raw.index = i,
					 .verdict = {.class = CLASS_LOSS, .stage = STAGE_RCVBUF},
					 .named = {.stage = STAGE_RCVBUF, .reason = "X"}};

		ledger_add(&s->ledger, &c);
	}
}

int site_open(struct site *s, const struct run_spec *spec, const struct experiment_view *view,
	      struct error *err)
{
	const struct outcomes_numbers own = {
		.base = 1ULL << 32, .window = SITE_WINDOW, .stream0 = 7, .streams = 2};
	const struct outcomes_numbers *numbers = spec->numbers ? spec->numbers : &own;
	struct outcomes *f = &s->tracer.outcomes;

	(void)view;
	memset(s, 0, sizeof(*s));
	memset(&ends, 0, sizeof(ends));
	s->spec = spec;
	s->sends = spec->tx && !(spec->far && spec->reverse);
	s->receives = spec->rx && !(spec->far && !spec->reverse);
	s->lone = !s->sends || !s->receives;
	s->by_number = s->moving = true;
	MUST(s->sends != s->receives && outcomes_numbers_valid(numbers));
	MUST(spec->threads == numbers->streams);
	if (numbers->streams * numbers->window > SITE_MOST)
		return error_set(err, STATUS_FAILED, -ENOMEM, "less", "too much");
	outcomes_init_given(f, numbers);
	MUST(!outcomes_map(f, -1, -1, -1, err));
	for (size_t i = 0; i < f->bytes; i += 5)
		f->seen[i] = SEEN_TX_DEVICE;
	for (size_t i = 0; i < f->bytes; i += 7)
		f->cause[i] = (uint8_t)(i % 4);
	s->sender = s->sends ? (void *)&ends.sender : NULL;
	s->receiver = s->receives ? (void *)&ends.receiver : NULL;
	site_causes(s);
	return 0;
}

void site_close(struct site *s)
{
	outcomes_unmap(&s->tracer.outcomes);
	memset(s, 0, sizeof(*s));
}

void site_rest(struct site *s)
{
	site_close(s);
}

void site_start(struct site *s)
{
	MUST(s->spec);
	s->started = true;
}

void site_next(const struct site *s, uint64_t next[TRACE_STREAMS])
{
	const struct outcomes *f = &s->tracer.outcomes;

	for (unsigned t = 0; s->sender && t < f->streams; t++) {
		ends.next[t] += s->started && !s->stopped ? SITE_STEP : 0;
		ends.next[t] = ends.next[t] < SITE_COUNT ? ends.next[t] : SITE_COUNT;
		next[t] = ends.next[t];
	}
}

void site_count(struct site *s, unsigned slot, uint64_t *sent, uint64_t *refused)
{
	MUST(s->spec);
	*sent = ends.next[slot];
	*refused = 0;
}

void site_status(const struct site *s, struct site_status *st)
{
	MUST(s->spec);
	*st = (struct site_status){
		.idle = true, .caught_up = true, .running = s->sender && s->started && !s->stopped};
	site_next(s, st->next);
}

void site_stop_sending(struct site *s, struct error *err)
{
	MUST(s->spec && err);
	s->stopped |= s->sends;
}

int site_stop_receiving(struct site *s, struct error *err)
{
	MUST(s->spec && err);
	s->stopped |= s->receives;
	return 0;
}

struct folding {
	struct site *site;
	const struct range_visitor *visitor;
};

static void count_range(void *arg, const struct range *r)
{
	const struct folding *f = arg;

	tally_add(&f->site->ledger.tally, &f->site->tracer.outcomes, r);
	if (f->visitor)
		f->visitor->range(f->visitor->arg, r);
}

static void join_range(void *arg, const struct range *r)
{
	const struct folding *f = arg;

	join_here(f->site->join, r, &(struct range_visitor){count_range, arg});
}

/* What costs time by the number: never more numbers than there are. */
void site_fold(struct site *s, const uint64_t *upto, const struct range_visitor *visitor)
{
	struct outcomes *f = &s->tracer.outcomes;
	struct folding folding = {s, visitor};
	const struct range_visitor each = {s->join ? join_range : count_range, &folding};

	for (unsigned t = 0; t < f->streams; t++) {
		MUST(upto[t] + f->base <= f->tail[t] ||
		     upto[t] + f->base - f->tail[t] <= f->window);
		outcomes_fold(f, (uint16_t)t, f->base + upto[t], s->ledger.ignored, &each);
	}
}

void site_ledger(const struct site *s, uint64_t in_queues, struct result *res)
{
	ledger_close(&s->ledger, in_queues, s->tracer.outcomes.stream0, 100, res);
}

void site_end(struct site *s, struct result *res)
{
	MUST(s->stopped && res);
}

/* Probes find 192.0.2.1 every other time. */

int probe_open(bool ipv6, unsigned port)
{
	(void)ipv6;
	(void)port;
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

void probe_send(int fd, const struct endpoint *to, uint64_t mark)
{
	MUST(fd >= 0 && to->family);
	(void)mark;
}

bool probe_take(int fd, uint64_t mark, int timeout_ms, struct endpoint *from)
{
	static bool found;

	MUST(fd >= 0);
	(void)mark;
	(void)timeout_ms;
	found = !found;
	if (found)
		MUST(!num_endpoint("192.0.2.1:9", from));
	return found;
}

#endif
