// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

#define WAITING (1 << 18) /* records, 14 MiB */

/* Window sizes have 32 classes per power of two, so each size below 64 has its own class. */
#define SUB_BITS 5
#define SUB	 (1u << SUB_BITS)
#define CLASSES	 ((64 - SUB_BITS + 1) * SUB)

struct size_class {
	uint64_t windows, packets;
};

struct sum {
	struct burst_stage shown;
	struct size_class *sizes; /* array of CLASSES, NULL: no losses */
};

struct record {
	struct burst burst;
	enum stage stage; /* set when the key is judged */
	bool judged;
};

struct bursts {
	uint64_t window_ns;
	struct list records;
	struct sum interval[STAGE_COUNT], whole[STAGE_COUNT];
};

struct bursts *bursts_new(uint64_t window_ns)
{
	struct bursts *b = mem_new(b);

	b->window_ns = window_ns;
	b->records.size = sizeof(struct record);
	return b;
}

void bursts_free(struct bursts *b)
{
	if (!b)
		return;
	for (int s = 0; s < STAGE_COUNT; s++) {
		free(b->interval[s].sizes);
		free(b->whole[s].sizes);
	}
	list_free(&b->records);
	free(b);
}

void bursts_add(void *bursts, const struct burst *b)
{
	struct record *r = list_add(&((struct bursts *)bursts)->records);

	r->burst = *b;
}

bool bursts_waiting(const struct bursts *b)
{
	return b->records.n >= WAITING;
}

static unsigned class_of(uint64_t packets)
{
	unsigned shift;

	if (packets < SUB)
		return (unsigned)packets;
	shift = 63 - SUB_BITS - (unsigned)__builtin_clzll(packets);
	return (shift + 1) * SUB + (unsigned)(packets >> shift & (SUB - 1));
}

static void add_worst(struct burst_stage *s, uint64_t number, uint64_t packets)
{
	unsigned i = s->n_worst;

	if (i == BURSTS_WORST && packets <= s->worst[i - 1].packets)
		return;
	if (i < BURSTS_WORST)
		s->n_worst++;
	else
		i--;
	for (; i && s->worst[i - 1].packets < packets; i--)
		s->worst[i] = s->worst[i - 1];
	s->worst[i] = (struct burst_window){number, packets};
}

/* Adds a complete window of a stage. */
static void add_window(struct sum *sum, uint64_t number, uint64_t packets)
{
	sum->shown.packets += packets;
	sum->shown.windows++;
	add_worst(&sum->shown, number, packets);
	if (!sum->sizes)
		sum->sizes = mem_zero(CLASSES, sizeof(*sum->sizes));
	sum->sizes[class_of(packets)].windows++;
	sum->sizes[class_of(packets)].packets += packets;
}

void bursts_begin(struct bursts *b)
{
	for (int s = 0; s < STAGE_COUNT; s++) {
		struct sum *sum = &b->interval[s];

		if (sum->sizes)
			memset(sum->sizes, 0, CLASSES * sizeof(*sum->sizes));
		memset(&sum->shown, 0, sizeof(sum->shown));
	}
}

static int by_key(const void *x, const void *y)
{
	const struct record *a = x, *b = y;

	return memcmp(&a->burst.key, &b->burst.key, sizeof(a->burst.key));
}

static int by_window(const void *x, const void *y)
{
	const struct record *a = x, *b = y;

	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	return (a->burst.window > b->burst.window) - (a->burst.window < b->burst.window);
}

/* Judges each key once, because judging is slow. */
static void judge_all(struct bursts *b, burst_judge *judge, void *arg)
{
	enum stage stage = STAGE_COUNT;
	const struct record *last = NULL;

	struct record *r = b->records.at;

	if (b->records.n)
		qsort(r, b->records.n, sizeof(*r), by_key);
	for (unsigned i = 0; i < b->records.n; i++, r++) {
		if (r->judged)
			continue;
		if (!last || by_key(last, r))
			stage = judge(arg, &r->burst.key);
		last = r;
		r->stage = stage;
		r->judged = true;
	}
}

void bursts_settle(struct bursts *b, uint64_t now_ns, burst_judge *judge, void *arg)
{
	const uint64_t now = now_ns / b->window_ns;
	struct record *at = b->records.at;
	unsigned kept = 0, next;

	judge_all(b, judge, arg);
	if (b->records.n)
		qsort(at, b->records.n, sizeof(*at), by_window);
	for (unsigned i = 0; i < b->records.n; i = next) {
		const struct record first = at[i];
		uint64_t packets = 0;

		for (next = i; next < b->records.n && !by_window(&first, &at[next]); next++)
			packets += at[next].burst.packets;
		if (first.stage >= STAGE_COUNT)
			continue;
		if (first.burst.window >= now) { /* the window may still grow */
			at[kept] = first;
			at[kept++].burst.packets = packets;
			continue;
		}
		add_window(&b->interval[first.stage], first.burst.window, packets);
		add_window(&b->whole[first.stage], first.burst.window, packets);
	}
	b->records.n = kept;
}

/* Adds windows, largest first, until they hold BURSTS_DENSE of the loss. */
static void find_dense(const struct sum *sum, struct burst_stage *out)
{
	const double wanted = BURSTS_DENSE * (double)out->packets;

	for (unsigned i = CLASSES; sum->sizes && i-- && (double)out->dense_packets < wanted;) {
		const struct size_class *c = &sum->sizes[i];
		double each, missing = wanted - (double)out->dense_packets;
		uint64_t windows;

		if (!c->windows)
			continue;
		each = (double)c->packets / (double)c->windows;
		windows = (uint64_t)(missing / each);
		if ((double)windows * each < missing)
			windows++;
		windows = smaller(windows, c->windows);
		out->dense_windows += windows;
		out->dense_packets += (uint64_t)((double)windows * each + 0.5);
	}
}

void bursts_report(const struct bursts *b, bool whole, struct burst_report *out)
{
	const struct sum *sums = whole ? b->whole : b->interval;

	out->window_ns = b->window_ns;
	for (int s = 0; s < STAGE_COUNT; s++) {
		out->stage[s] = sums[s].shown;
		find_dense(&sums[s], &out->stage[s]);
	}
}
