// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/outcomes.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/num.h"
#include "stamp.h"

#define EIGHT	    8
#define DELIVERED_8 0x0101010101010101ULL /* value that sinks write per packet */

/* Possible bases. A stream's numbers must not exceed 48 bits. */
#define BASES	   ((uint16_t)((STAMP_NUMBER_MASK - STAMP_SPAN) >> 32))
#define STREAMS	   (UINT16_MAX - TRACE_STREAMS)
#define WINDOW_MAX (1ULL << 40)

#define DELAY_DOUBT_NS 10000000000ULL /* no network queue holds a packet this long */
#define TAI_OFFSET_NS  37000000000ULL /* TAI - UTC since 2017 */
#define TAI_NEAR_NS    1000000000ULL

unsigned arrivals_bucket(uint64_t value)
{
	unsigned bucket = value > 1 ? 64 - (unsigned)__builtin_clzll(value - 1) : 0;

	return bucket < ARRIVALS_BUCKETS ? bucket : ARRIVALS_BUCKETS - 1;
}

uint64_t arrivals_bucket_from(unsigned bucket)
{
	return bucket ? (1ULL << (bucket - 1)) + 1 : 1;
}

uint64_t arrivals_bucket_to(unsigned bucket)
{
	return bucket < ARRIVALS_BUCKETS - 1 ? 1ULL << bucket : UINT64_MAX;
}

void reordering_note(struct reordering *r, uint64_t extent)
{
	r->extent[arrivals_bucket(extent)]++;
	r->extent_max = larger(r->extent_max, extent);
}

void reordering_add(struct reordering *into, const struct reordering *from)
{
	into->packets += from->packets;
	into->extent_unknown += from->extent_unknown;
	into->extent_max = larger(into->extent_max, from->extent_max);
	for (unsigned b = 0; b < ARRIVALS_BUCKETS; b++)
		into->extent[b] += from->extent[b];
}

void gaps_note(struct gaps *g, uint64_t length)
{
	if (!length)
		return;
	g->count++;
	g->packets += length;
	g->length[arrivals_bucket(length)]++;
	g->longest = larger(g->longest, length);
}

void result_latency_fill(struct result_latency *l, const struct hist *delay)
{
	*l = (struct result_latency){};
	if (!delay || !delay->count)
		return;
	*l = (struct result_latency){
		.measured = true,
		.min = delay->min,
		.p50 = hist_quantile(delay, 0.5),
		.p90 = hist_quantile(delay, 0.9),
		.p99 = hist_quantile(delay, 0.99),
		.p999 = hist_quantile(delay, 0.999),
		.p9999 = hist_quantile(delay, 0.9999),
		.max = delay->max,
	};
}

const struct record_field result_latency_rows[] = {
	RECORD("min", UINT, result_latency, min),   RECORD("p50", UINT, result_latency, p50),
	RECORD("p90", UINT, result_latency, p90),   RECORD("p99", UINT, result_latency, p99),
	RECORD("p999", UINT, result_latency, p999), RECORD("p9999", UINT, result_latency, p9999),
	RECORD("max", UINT, result_latency, max),   {0},
};

static const char *const point_names[] = {
	[RESULT_SENT] = "sent",		  [RESULT_DEVICE_OUT] = "device_out",
	[RESULT_DEVICE_IN] = "device_in", [RESULT_SOCKET] = "socket",
	[RESULT_READ] = "read",
};

const struct record_field result_leg_rows[] = {
	RECORD("from", ENUM, result_leg, from, RECORD_NAMES(point_names), .how = RECORD_FULL),
	RECORD("to", ENUM, result_leg, to, RECORD_NAMES(point_names), .how = RECORD_FULL),
	RECORD("packets", UINT, result_leg, packets),
	RECORD("mean_ns", UINT, result_leg, mean_ns),
	RECORD("latency_ns", NESTED, result_leg, latency, .rows = result_latency_rows),
	{0},
};

static const char *const stamper_names[] = {
	[STAMPED_BY_NONE] = "none",
	[STAMPED_BY_SOFTWARE] = "software",
};

const struct record_field result_stamps_rows[] = {
	RECORD("kind", ENUM, result_stamps, kind, RECORD_NAMES(stamper_names), .how = RECORD_FULL),
	RECORD("packets", UINT, result_stamps, packets),
	RECORD("backlog_ns", NESTED, result_stamps, backlog, .rows = result_latency_rows,
	       RECORD_WHEN(result_stamps, backlog.measured)),
	{0},
};

const struct record_field arrivals_flow_rows[] = {
	RECORD("stream", UINT, arrivals_flow, stream),
	RECORD("source", TEXT, arrivals_flow, source),
	RECORD("delivered", UINT, arrivals_flow, delivered),
	RECORD("bytes", UINT, arrivals_flow, bytes),
	RECORD("duplicated", UINT, arrivals_flow, duplicated),
	RECORD("reordered", UINT, arrivals_flow, order.packets),
	RECORD("reordering_extent_max", UINT, arrivals_flow, order.extent_max),
	RECORD("jitter_ns", UINT, arrivals_flow, jitter_ns),
	RECORD("latency_ns", NESTED, arrivals_flow, latency, .rows = result_latency_rows,
	       RECORD_WHEN(arrivals_flow, latency.measured)),
	{0},
};

const char *arrivals_clock_doubt(const struct arrivals *a)
{
	const struct result_latency *l = &a->latency;

	if (a->negative)
		return "packets arrived before they were sent: the clocks of both ends differ";
	if (!l->measured || l->max < DELAY_DOUBT_NS)
		return NULL;
	if (l->min < DELAY_DOUBT_NS)
		return "some latencies exceed 10 s: a clock was set during the run, or packets "
		       "were held for that long";
	if (l->min > TAI_OFFSET_NS - TAI_NEAR_NS && l->min < TAI_OFFSET_NS + TAI_NEAR_NS)
		return "every latency is about 37 s: the TAI offset is not set in the kernel of "
		       "one end";
	return "even the shortest delay is above 10 s: the clocks of both ends differ";
}

const char *outcome_name(enum outcome outcome)
{
	static const char *const names[] = {
		[OUTCOME_OPEN] = "unaccounted",
		[OUTCOME_REFUSED] = "refused",
		[OUTCOME_DROPPED] = "dropped",
		[OUTCOME_DELIVERED] = "delivered",
	};

	return names[outcome];
}

uint64_t outcomes_window(uint64_t count)
{
	uint64_t window = TRACE_PAGE_SIZE;

	while (window < count)
		window *= 2;
	return window;
}

void outcomes_init(struct outcomes *f, uint16_t streams, uint64_t window)
{
	uint16_t random[2] = {};

	(void)!getrandom(random, sizeof(random), 0); /* does not fail for this few bytes */
	outcomes_init_given(f,
			    &(struct outcomes_numbers){
				    .streams = streams,
				    .window = window,
				    /*
				     * 0 is reserved, because observers read a word of 0 as "no
				     * number"
				     */
				    .stream0 = (uint16_t)(1 + random[0] % STREAMS),
				    .base = (uint64_t)(random[1] % BASES + 1) << 32,
			    });
}

void outcomes_init_given(struct outcomes *f, const struct outcomes_numbers *numbers)
{
	memset(f, 0, sizeof(*f));
	f->streams = numbers->streams;
	f->window = numbers->window;
	f->stream0 = numbers->stream0;
	f->base = numbers->base;
	for (unsigned i = 0; i < TRACE_STREAMS; i++)
		f->tail[i] = f->base;
	f->bytes = f->streams * f->window;
}

bool outcomes_numbers_valid(const struct outcomes_numbers *n)
{
	return n->streams && n->streams <= TRACE_STREAMS && n->stream0 && n->stream0 <= STREAMS &&
	       n->base && !(n->base & UINT32_MAX) && n->base >> 32 <= BASES &&
	       n->window >= TRACE_PAGE_SIZE && n->window <= WINDOW_MAX &&
	       !(n->window & (n->window - 1));
}

int outcomes_map(struct outcomes *f, int outcomes_fd, int seen_fd, int arrivals_fd,
		 struct error *err)
{
	uint8_t **part[] = {&f->cause, &f->seen, &f->arrivals, &f->failed};
	const int fd[] = {outcomes_fd, seen_fd, arrivals_fd, -1};
	int rc = 0;

	for (unsigned i = 0; i < 4 && !rc; i++) {
		int flags = fd[i] < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
		void *p = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, flags, fd[i], 0);

		if (p == MAP_FAILED)
			rc = -errno;
		else
			*part[i] = p;
	}
	if (!rc)
		return 0;
	outcomes_unmap(f);
	return error_errno(err, STATUS_FAILED, rc, "use a smaller --count",
			   "cannot map 4 x %zu bytes for the outcomes", f->bytes);
}

void outcomes_unmap(struct outcomes *f)
{
	uint8_t **part[] = {&f->cause, &f->seen, &f->arrivals, &f->failed};

	for (unsigned i = 0; i < 4; i++) {
		if (*part[i])
			munmap(*part[i], f->bytes);
		*part[i] = NULL;
	}
}

/*
 * Reads a byte that receiving and sending threads and programs may still be writing, except for
 * numbers older than the settle time.
 */
static uint8_t byte_at(const uint8_t *bytes, size_t i)
{
	return __atomic_load_n(bytes + i, __ATOMIC_RELAXED);
}

static void empty_byte(uint8_t *bytes, size_t i)
{
	__atomic_store_n(bytes + i, 0, __ATOMIC_RELAXED);
}

/*
 * Returns the outcome of a number. Delivered overrides any drop. If an observer saw the packet of a
 * failed send call, it was a packet after all.
 */
static enum outcome outcome_of(const struct outcomes *f, size_t i, const uint8_t *ignored)
{
	if (byte_at(f->arrivals, i))
		return OUTCOME_DELIVERED;
	if (!ignored[f->cause[i]] && f->cause[i])
		return OUTCOME_DROPPED;
	return byte_at(f->failed, i) && !f->seen[i] && !f->cause[i] ? OUTCOME_REFUSED
								    : OUTCOME_OPEN;
}

static uint8_t detail_of(const struct outcomes *f, size_t i, enum outcome outcome)
{
	return outcome == OUTCOME_DROPPED   ? f->cause[i]
	       : outcome == OUTCOME_REFUSED ? byte_at(f->failed, i)
	       : outcome == OUTCOME_OPEN    ? f->seen[i]
					    : 0;
}

static void tally_cause(struct outcome_cause *c, const struct outcomes *f, const struct range *r)
{
	if (!c->packets)
		c->first = r->first;
	c->packets += range_packets(r);
	c->last = r->last;
	for (uint64_t n = r->first; f->l3_bytes && n <= r->last; n++)
		c->l3_bytes += f->l3_bytes(f->l3_arg, r->stream, n);
}

void tally_add(struct outcome_tally *t, const struct outcomes *f, const struct range *r)
{
	const uint64_t n = range_packets(r);
	uint64_t *missing = &t->missing[r->stream];

	t->attempted += n;
	switch (r->outcome) {
	case OUTCOME_DELIVERED:
		t->delivered += n;
		gaps_note(&t->gaps, *missing);
		*missing = 0;
		break;
	case OUTCOME_DROPPED:
		t->dropped += n;
		*missing += n;
		tally_cause(&t->cause[r->stream][r->detail], f, r);
		break;
	case OUTCOME_REFUSED:
		t->refused += n;
		t->refused_by[r->detail] += n;
		break;
	case OUTCOME_OPEN:
		t->unaccounted += n;
		*missing += n;
		t->unaccounted_seen[r->detail & SEEN_MASK] += n;
		t->unaccounted_on_init += r->detail & SEEN_ON_INIT ? n : 0;
		break;
	default:
		break;
	}
}

/* Returns the bytes for EIGHT numbers, starting at a multiple of EIGHT. See byte_at(). */
static uint64_t eight(const uint8_t *bytes, size_t i)
{
	return __atomic_load_n((const uint64_t *)(bytes + i), __ATOMIC_RELAXED);
}

static void empty_eight(uint8_t *bytes, size_t i)
{
	__atomic_store_n((uint64_t *)(bytes + i), 0, __ATOMIC_RELAXED);
}

/* Returns true if all eight numbers were delivered, which is the usual case. */
static bool all_delivered(const struct outcomes *f, size_t i)
{
	return eight(f->arrivals, i) == DELIVERED_8 && !eight(f->failed, i);
}

/* Sets the outcome of the numbers from n. Passes the previous range to the visitor if it ends. */
static void visit(const struct range_visitor *visitor, struct range *r, uint64_t n,
		  enum outcome outcome, uint8_t detail)
{
	if (r->outcome == outcome && r->detail == detail)
		return;
	if (r->outcome != OUTCOME_NOTHING) {
		r->last = n - 1;
		visitor->range(visitor->arg, r);
	}
	r->first = n;
	r->outcome = outcome;
	r->detail = detail;
}

void outcomes_settle_between(struct outcomes *f, uint16_t slot, uint64_t upto,
			     const uint8_t *ignored, uint8_t passed, uint8_t missed, uint8_t cause)
{
	for (uint64_t number = f->tail[slot]; number < upto; number++) {
		size_t i = outcomes_index(f, slot, number);

		if ((f->seen[i] & (passed | missed)) == passed &&
		    outcome_of(f, i, ignored) == OUTCOME_OPEN)
			f->cause[i] = cause;
	}
}

void outcomes_fold(struct outcomes *f, uint16_t slot, uint64_t upto, const uint8_t *ignored,
		   const struct range_visitor *visitor)
{
	struct range r = {.stream = slot};
	uint64_t number = f->tail[slot];

	while (number < upto) {
		size_t i = outcomes_index(f, slot, number);
		uint64_t n = number - f->base;
		enum outcome outcome;

		if (!(i % EIGHT) && upto - number >= EIGHT && all_delivered(f, i)) {
			visit(visitor, &r, n, OUTCOME_DELIVERED, 0);
			empty_eight(f->arrivals, i);
			empty_eight(f->cause, i);
			empty_eight(f->seen, i);
			number += EIGHT;
			continue;
		}
		outcome = outcome_of(f, i, ignored);
		visit(visitor, &r, n, outcome, detail_of(f, i, outcome));
		empty_byte(f->arrivals, i);
		f->cause[i] = f->seen[i] = 0;
		if (byte_at(f->failed, i)) /* a page that was never written uses no memory */
			empty_byte(f->failed, i);
		number++;
	}
	visit(visitor, &r, number - f->base, OUTCOME_NOTHING, 0);
	f->tail[slot] = number;
}

uint64_t outcomes_first_open(const struct outcomes *f, uint16_t slot, uint64_t from, uint64_t upto,
			     const uint8_t *ignored, bool (*rests)(const void *arg, uint8_t seen),
			     const void *arg)
{
	uint64_t number = larger(from, f->tail[slot]);

	while (number < upto) {
		size_t i = outcomes_index(f, slot, number);

		if (!(i % EIGHT) && all_delivered(f, i))
			number += EIGHT;
		else if (outcome_of(f, i, ignored) != OUTCOME_OPEN || rests(arg, f->seen[i]))
			number++;
		else
			break;
	}
	return smaller(number, upto);
}

uint64_t outcomes_highest(const struct outcomes *f, uint16_t slot, uint64_t from, uint64_t most)
{
	uint64_t end = larger(f->tail[slot] + f->window, from), highest = from;

	end = from + smaller(end - from, most);
	for (uint64_t number = from; number < end;) {
		size_t i = outcomes_index(f, slot, number);

		if (!(i % EIGHT) && !eight(f->arrivals, i) && !eight(f->cause, i) &&
		    !eight(f->seen, i)) {
			number += EIGHT;
			continue;
		}
		if (byte_at(f->arrivals, i) || f->cause[i] || f->seen[i])
			highest = number + 1;
		number++;
	}
	return highest;
}

void outcomes_beyond(struct outcomes *f, uint16_t slot, uint64_t next, struct outcome_tally *t)
{
	for (uint64_t number = next; number < f->tail[slot] + f->window;) {
		size_t i = outcomes_index(f, slot, number);

		if (!(i % EIGHT) && !eight(f->arrivals, i) && !eight(f->cause, i)) {
			number += EIGHT;
			continue;
		}
		t->impossible += byte_at(f->arrivals, i) || f->cause[i];
		number++;
	}
}
