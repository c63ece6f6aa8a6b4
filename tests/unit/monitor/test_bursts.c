// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Windows of time: what is reported of them adds up, and the worst are the worst. */
#include "cases.h"

#include <stdlib.h>

#include "monitor/live.h"
#include "monitor/describe.h"

#define WINDOW_NS 1000000
#define RCVBUF	  1 /* reasons of the keys here, and the stages that they are judged to be */
#define NO_SOCKET 2
#define BENIGN	  3

static struct bursts *bursts;
static unsigned judged;

static int make(void **state)
{
	bursts = bursts_new(WINDOW_NS);
	judged = 0;
	return bursts ? 0 : -1;
}

static int done(void **state)
{
	bursts_free(bursts);
	return 0;
}

static enum stage judge(void *arg, const struct watch_key *key)
{
	(void)arg;
	judged++;
	return key->reason == RCVBUF	  ? STAGE_RCVBUF
	       : key->reason == NO_SOCKET ? STAGE_UDP_LOOKUP
					  : STAGE_NONE;
}

static void add(int reason, uint64_t socket, uint64_t window, uint64_t packets)
{
	const struct burst b = {{.location = 1, .reason = reason, .aux = socket}, window, packets};

	bursts_add(bursts, &b);
}

static struct burst_stage whole(enum stage stage)
{
	struct burst_report r = {};

	bursts_report(bursts, true, &r);
	assert_int_equal(r.window_ns, WINDOW_NS);
	return r.stage[stage];
}

static struct burst_stage interval(enum stage stage)
{
	struct burst_report r = {};

	bursts_report(bursts, false, &r);
	return r.stage[stage];
}

static void settle(uint64_t windows)
{
	bursts_settle(bursts, windows * WINDOW_NS, judge, NULL);
}

CASE_WITH(keys_and_cpus_are_one_window, make, done)
{
	struct burst_stage s;

	add(RCVBUF, 7, 100, 3);
	add(RCVBUF, 8, 100, 4);
	add(RCVBUF, 7, 100, 5);
	add(RCVBUF, 7, 101, 1);
	add(NO_SOCKET, 0, 100, 50);
	add(BENIGN, 0, 100, 1000);
	settle(200);
	assert_int_equal(judged, 4); /* keys, not windows */
	s = whole(STAGE_RCVBUF);
	assert_int_equal(s.packets, 13);
	assert_int_equal(s.windows, 2);
	assert_int_equal(s.n_worst, 2);
	assert_int_equal(s.worst[0].number, 100);
	assert_int_equal(s.worst[0].packets, 12);
	assert_int_equal(s.worst[1].packets, 1);
	assert_int_equal(s.dense_windows, 1); /* 12 of 13 are 92 % */
	assert_int_equal(s.dense_packets, 12);
	assert_int_equal(whole(STAGE_UDP_LOOKUP).packets, 50);
	assert_int_equal(whole(STAGE_OTHER).packets, 0);
}

CASE_WITH(a_window_waits_until_it_has_ended, make, done)
{
	add(RCVBUF, 7, 99, 2);
	add(RCVBUF, 7, 100, 3);
	settle(100);
	assert_int_equal(interval(STAGE_RCVBUF).packets, 2);
	bursts_begin(bursts);
	add(RCVBUF, 9, 100, 4);
	settle(101);
	assert_int_equal(interval(STAGE_RCVBUF).packets, 7);
	assert_int_equal(interval(STAGE_RCVBUF).windows, 1);
	assert_int_equal(whole(STAGE_RCVBUF).packets, 9);
	assert_int_equal(whole(STAGE_RCVBUF).windows, 2);
	add(RCVBUF, 9, 500, 1);
	bursts_settle(bursts, UINT64_MAX, judge, NULL); /* the last */
	assert_int_equal(whole(STAGE_RCVBUF).packets, 10);
}

CASE_WITH(the_worst_come_first, make, done)
{
	struct burst_stage s;

	for (uint64_t w = 0; w < 1000; w++)
		add(RCVBUF, 1, w, w * 7919 % 1000 + 1);
	settle(1000);
	s = whole(STAGE_RCVBUF);
	assert_int_equal(s.packets, 500500);
	assert_int_equal(s.n_worst, BURSTS_WORST);
	for (unsigned i = 0; i < BURSTS_WORST; i++) {
		assert_int_equal(s.worst[i].packets, 1000 - i);
		assert_int_equal(s.worst[i].number * 7919 % 1000 + 1, 1000 - i);
	}
}

/* The fewest windows with 90 % of the loss. */
CASE_WITH(how_dense, make, done)
{
	struct burst_stage s;

	for (uint64_t w = 0; w < 40; w++)
		add(RCVBUF, 1, 1000 + 20 * w, 1);
	for (uint64_t w = 0; w < 3; w++)
		add(RCVBUF, 1, 2000 + w, 320);
	settle(3000);
	s = interval(STAGE_RCVBUF);
	assert_int_equal(s.dense_windows, 3); /* 96 % */
	assert_int_equal(s.dense_packets, 960);
	bursts_begin(bursts);
	for (uint64_t w = 0; w < 1000; w++)
		add(RCVBUF, 1, 4000 + w, 5);
	settle(6000);
	s = interval(STAGE_RCVBUF);
	assert_int_equal(s.dense_windows, 900);
	assert_int_equal(s.dense_packets, 4500);
}

/* Of many sizes it is found by classes of them: close to what sorting finds, and never below. */
static int descending(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a < *b) - (*a > *b);
}

CASE_WITH(how_dense_of_many_sizes, make, done)
{
	uint64_t size[2000], sum = 0, reached = 0;
	unsigned exact = 0;
	struct burst_stage s;

	srand(1);
	for (unsigned w = 0; w < 2000; w++) {
		size[w] = 1 + (uint64_t)rand() % 100000 * (uint64_t)(rand() % 100) / 100;
		add(RCVBUF, 1, w, size[w]);
		sum += size[w];
	}
	settle(2000);
	qsort(size, 2000, sizeof(*size), descending);
	while ((double)reached < 0.9 * (double)sum)
		reached += size[exact++];
	s = whole(STAGE_RCVBUF);
	assert_int_equal(s.packets, sum);
	assert_in_range(s.dense_windows, exact - 2, exact + exact / 30);
	assert_true((double)s.dense_packets >= 0.9 * (double)sum - 1);
	assert_true(s.dense_packets <= sum);
}

/* Parts of an interval, in any order: the sum is what one reading shows. */
CASE(entries_read_in_parts)
{
	struct entries list = {};
	uint64_t events[3][4] = {}, total = 0;

	srand(2);
	for (unsigned i = 0; i < 20000; i++) {
		struct watch_entry e = {.key = {.location = 1 + (uint64_t)rand() % 3},
					.cpu = (unsigned)rand() % 4,
					.count = {.events = (uint64_t)rand() % 10, .bytes = 100}};

		events[e.key.location - 1][e.cpu] += e.count.events;
		entries_add(&list, &e);
	}
	assert_in_range(list.at.n, 12, 2048);
	for (unsigned i = 0; i < list.at.n; i++) {
		const struct watch_entry *e = (struct watch_entry *)list.at.at + i;

		total += e->count.bytes;
		events[e->key.location - 1][e->cpu] -= e->count.events;
	}
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(events[i / 4][i % 4], 0);
	assert_int_equal(total, 20000 * 100);
	list.at.n = list.merged = 0;
	assert_int_equal(list.at.n, 0);
	list_free(&list.at);
}

int main(void)
{

	return run_cases(NULL, NULL);
}
