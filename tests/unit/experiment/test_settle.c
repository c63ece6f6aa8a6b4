// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What ends the wait for the last fates. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <cmocka.h>

#include "experiment/settle.h"
#include "base/watch.h"

#define HOUR_NS 3600000000000ULL

struct path {
	unsigned coming;  /* fates come in so many rounds */
	unsigned waiting; /* a queue is not empty in so many */
	unsigned gone;	  /* who knows is gone in this round; 0: never */
	bool incomplete;
	unsigned rounds, asked, shown;
	bool too_early; /* asked while more came, or waited */
};

static bool fates(void *arg, uint64_t *n)
{
	struct path *p = arg;

	p->rounds++;
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

static void show(void *arg, uint64_t start, uint64_t now)
{
	struct path *p = arg;

	assert_true(now > start);
	p->shown++;
}

static bool wait_for(struct path *p, uint64_t most_ns, uint64_t interval_ns)
{
	return settle_wait(&(struct settling){
		.most_ns = most_ns,
		.silent_ns = 200000000,
		.interval_ns = interval_ns,
		.fates = fates,
		.complete = complete,
		.quiet_ns = 1,
		.idle = idle,
		.show = show,
		.arg = p,
	});
}

static void ends_when_all_is_known(void **state)
{
	struct path p = {.coming = 4, .waiting = 6};

	(void)state;
	wait_for(&p, HOUR_NS, 0);
	assert_int_equal(p.asked, 1);
	assert_false(p.too_early);
	assert_int_equal(p.shown, 0);
}

static void what_is_open_is_given_time(void **state)
{
	struct path p = {.incomplete = true};

	(void)state;
	wait_for(&p, HOUR_NS, 1);
	assert_true(p.asked > 2);
	assert_true(p.shown > 2);
}

static void a_full_queue_is_given_all_the_time(void **state)
{
	struct path p = {.waiting = UINT32_MAX};

	(void)state;
	wait_for(&p, 400000000, 0);
	assert_int_equal(p.asked, 0);
	assert_true(p.rounds > 2);
}

static void ends_with_the_one_who_knows(void **state)
{
	struct path p = {.waiting = UINT32_MAX, .gone = 3};

	(void)state;
	assert_false(wait_for(&p, HOUR_NS, 0));
	assert_int_equal(p.rounds, 3);
}

/* Whoever repeats runs has to know of it. */
static void a_signal_ends_it_and_is_told(void **state)
{
	struct path p = {.waiting = UINT32_MAX};

	(void)state;
	raise(SIGTERM);
	assert_true(wait_for(&p, HOUR_NS, 0));
	assert_int_equal(p.rounds, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_when_all_is_known),
		cmocka_unit_test(what_is_open_is_given_time),
		cmocka_unit_test(a_full_queue_is_given_all_the_time),
		cmocka_unit_test(ends_with_the_one_who_knows),
		cmocka_unit_test(a_signal_ends_it_and_is_told),
	};

	watch_block_signals();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
