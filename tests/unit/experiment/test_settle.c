// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers leave the window when they had time to settle, and what ends the wait for the last. */
#include <signal.h>
#include "cases.h"
#include <unistd.h>

#include "base/clock.h"
#include "base/watch.h"
#include "drops/outcomes.h"
#include "experiment/settle.h"

#define SECOND	1000000000ULL
#define STREAMS 3
#define TICK	5000000ULL
#define HOUR_NS 3600000000000ULL

CASE(small_counts_are_kept_whole)
{
	assert_int_equal(window_size(1, 12e6, 5 * SECOND, 1), TRACE_PAGE_SIZE);
	assert_int_equal(window_size(1000000, 12e6, 5 * SECOND, 1), 1 << 20);
	assert_int_equal(window_size(1000000, 12e6, 5 * SECOND, 64), 1 << 20);
}

CASE(size_follows_rate_and_time)
{
	uint64_t slow, fast, longer;

	slow = window_size(UINT64_MAX, 1e3, 5 * SECOND, 1);
	fast = window_size(UINT64_MAX, 1e6, 5 * SECOND, 1);
	longer = window_size(UINT64_MAX, 1e3, 50 * SECOND, 1);
	assert_true(slow >= 5000 && slow <= 16384);
	assert_true(fast >= 5000000 && fast <= 1 << 23);
	assert_true(longer >= 50000 && longer <= 1 << 17);
	assert_int_equal(slow & (slow - 1), 0);
}

/* What pktledger-engines(7) says, on a host with the memory for it. */
CASE(sizes_of_the_engines)
{
	const struct {
		const struct tx_ops *tx;
		bool gso, veth;
		uint64_t most;
	} engines[] = {{&tx_xdp, false, true, 1 << 26},
		       {&tx_socket, true, true, 1 << 26},
		       {&tx_socket, false, true, 1 << 24},
		       {&tx_xsk, false, true, 1 << 24},
		       {&tx_xsk, false, false, 1 << 27}};

	for (unsigned i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
		double pps = window_pps(engines[i].tx, engines[i].gso, engines[i].veth);
		uint64_t size = window_size(UINT64_MAX, pps, 5 * SECOND, 1);

		assert_true(size == engines[i].most ||
			    (size < engines[i].most && size * 2 > window_most(1)));
	}
}

/* However much is asked for. */
CASE(memory_is_the_limit)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	for (unsigned streams = 1; streams <= TRACE_STREAMS; streams *= 2)
		assert_true(window_size(UINT64_MAX, 1e9, 3600 * SECOND, streams) * streams * 3 <=
			    bytes / 8);
}

#define LATE (SECOND / 4) /* as late as the loop may be and still count as turning */

/*
 * Each stream sends `streams index + 1` numbers a tick; the loop may turn late. Above LATE
 * everything has stood still, and nothing was sent.
 */
static void run(uint64_t settle, uint64_t late_every, uint64_t late)
{
	uint64_t next[STREAMS] = {}, left[STREAMS] = {}, now = 7 * SECOND, ran = 0, most = 0;
	struct window w;

	window_init(&w, STREAMS, settle);
	for (unsigned tick = 1; tick < 20000; tick++) {
		uint64_t passes = late_every && tick % late_every == 0 ? late : TICK;
		const uint64_t *leaving;

		now += passes;
		ran += passes > LATE ? TICK : passes;
		for (unsigned s = 0; s < STREAMS; s++)
			next[s] = ran / TICK * (s + 1);
		if (!window_is_due(&w, now))
			continue;
		window_note(&w, now, next);
		leaving = window_leaving(&w);
		for (unsigned s = 0; leaving && s < STREAMS; s++) {
			assert_true(leaving[s] >= left[s]);
			left[s] = leaving[s];
			/* sent `settle` ago, but for what counts of a pause */
			assert_true(leaving[s] * TICK / (s + 1) + settle <=
				    ran + (late > LATE ? settle / 10 : 0));
		}
		if (ran > settle && next[0] - left[0] > most)
			most = next[0] - left[0];
	}
	assert_true(left[0] > 0);
	/* and not much later */
	assert_true(most * TICK <= settle + settle / 10 + (late > LATE ? 0 : late) + 100000000);
}

CASE(old_numbers_leave)
{
	run(5 * SECOND, 0, 0);
	run(SECOND / 2, 0, 0);
	run(20 * SECOND, 0, 0);
	run(0, 0, 0);
}

CASE(a_late_loop_loses_nothing)
{
	run(5 * SECOND, 10, SECOND / 3 - SECOND / 10);
}

/* Packets in flight before a pause of the machine are in flight after it. */
CASE(a_pause_is_no_time_to_settle)
{
	run(5 * SECOND, 4000, 14 * SECOND);
	run(5 * SECOND, 4000, 3600 * SECOND);
}

/* Numbers that waited longer, for example for a receiver, leave as soon as possible. */
CASE(numbers_wait_longer)
{
	const struct {
		uint64_t waits, least; /* minimum of the leaving packets, besides `waits` */
	} rows[] = {{SECOND, SECOND / 5},
		    {30 * SECOND, SECOND + SECOND / 5},
		    {60 * SECOND, SECOND + SECOND / 5},
		    {600 * SECOND, 540 * SECOND}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const uint64_t *leaving;
		uint64_t now = 0;
		struct window w;

		window_init(&w, 1, 5 * SECOND);
		for (; now < 5 * SECOND + rows[i].waits; now += TICK) {
			if (window_is_due(&w, now))
				window_note(&w, now, &now);
		}
		leaving = window_leaving(&w);
		assert_non_null(leaving);
		assert_in_range(*leaving, rows[i].waits - rows[i].least, rows[i].waits);
		assert_null(window_leaving(&w));
	}
}

struct path {
	unsigned coming;  /* outcomes come in so many rounds */
	unsigned waiting; /* a queue is not empty in so many */
	unsigned gone;	  /* who knows is gone in this round; 0: never */
	unsigned stands;  /* nothing runs for most of a second in this round; 0: never */
	bool incomplete;
	unsigned rounds, asked, shown;
	uint64_t start_ns;
	bool too_early; /* asked while more came, or waited */
};

static bool outcomes(void *arg, uint64_t *n)
{
	struct path *p = arg;

	p->rounds++;
	if (p->rounds == p->stands)
		clock_sleep(SECOND - SECOND / 10);
	*n = p->rounds < p->coming ? p->rounds : p->coming;
	return p->rounds != p->gone;
}

static bool complete(void *arg)
{
	struct path *p = arg;

	p->asked++;
	p->too_early |= p->rounds <= p->coming || p->rounds <= p->waiting;
	return !p->incomplete;
}

static bool idle(void *arg)
{
	const struct path *p = arg;

	return p->rounds > p->waiting;
}

static bool show(void *arg, bool settling)
{
	struct path *p = arg;

	assert_true(clock_now() > p->start_ns);
	p->shown++;
	return settling;
}

static bool wait_for(struct path *p, uint64_t most_ns, uint64_t interval_ns)
{
	p->start_ns = clock_now();
	return settle_wait(&(struct settling){
		.most_ns = most_ns,
		.silent_ns = 200000000,
		.interval_ns = interval_ns,
		.outcomes = outcomes,
		.complete = complete,
		.quiet_ns = 1,
		.idle = idle,
		.show = show,
		.arg = p,
	});
}

CASE(ends_when_all_is_known)
{
	struct path p = {.coming = 4, .waiting = 6};

	wait_for(&p, HOUR_NS, 0);
	assert_int_equal(p.asked, 1);
	assert_false(p.too_early);
	assert_int_equal(p.shown, 0);
}

CASE(what_is_open_is_given_time)
{
	struct path p = {.incomplete = true};

	wait_for(&p, HOUR_NS, 1);
	assert_true(p.asked > 2);
	assert_true(p.shown > 2);
}

CASE(a_full_queue_is_given_all_the_time)
{
	struct path p = {.waiting = UINT32_MAX};

	wait_for(&p, 400000000, 0);
	assert_int_equal(p.asked, 0);
	assert_true(p.rounds > 2);
}

/* Waiting numbers still have the rest of the time. */
CASE(standing_still_is_no_waiting)
{
	struct path p = {.waiting = UINT32_MAX, .stands = 2};

	wait_for(&p, SECOND * 6 / 10, 0);
	assert_true(p.rounds > 5);
}

CASE(ends_with_the_one_who_knows)
{
	struct path p = {.waiting = UINT32_MAX, .gone = 3};

	assert_false(wait_for(&p, HOUR_NS, 0));
	assert_int_equal(p.rounds, 3);
}

/* Commands that repeat runs need this. */
CASE(a_signal_ends_it_and_is_told)
{
	struct path p = {.waiting = UINT32_MAX};

	raise(SIGTERM);
	assert_true(wait_for(&p, HOUR_NS, 0));
	assert_int_equal(p.rounds, 1);
}

int main(void)
{
	watch_block_signals();
	return run_cases(NULL, NULL);
}
