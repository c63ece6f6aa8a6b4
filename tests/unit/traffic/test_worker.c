// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Threads that the host of a guest gives no CPU time on record. */

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "traffic/worker.h"

/* Time that was stolen is not accounted to a thread (update_rq_clock_task()): a short one has 0. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	*t = (struct timespec){};
	return clock == CLOCK_THREAD_CPUTIME_ID ? 0 : (int)syscall(SYS_clock_gettime, clock, t);
}

static int opens(void *arg, struct error *err)
{
	return *(bool *)arg ? 0 : error_set(err, STATUS_UNABLE, -EPERM, NULL, "not for you");
}

static void runs(void *arg)
{
	(void)arg;
}

static struct worker *prepares(void *of, unsigned slot)
{
	assert_int_equal(slot, 0);
	return of;
}

/* Whether it ends, for at most 5 s. */
static bool ends(bool open)
{
	const struct worker_wish wish = {};
	const struct tuning tuning = {};
	struct worker_team team = {.wish = &wish,
				   .tuning = &tuning,
				   .cpu = -1,
				   .prepare = prepares,
				   .open = opens,
				   .run = runs};
	struct worker worker = {.arg = &open};
	struct error err = {};

	assert_true(worker_ended(&worker));
	assert_int_equal(worker_team_start(&team, 1, &worker, &err), open ? 0 : -EIO);
	assert_int_equal(err.status, open ? STATUS_OK : STATUS_UNABLE);
	assert_true(!open || !worker_ended(&worker));
	sem_post(&team.door);
	for (unsigned ms = 0; ms < 5000 && !worker_ended(&worker); ms++)
		usleep(1000);
	open = worker_ended(&worker);
	worker_join(&worker);
	return open;
}

static void ends_without_cpu_time(void **state)
{
	assert_true(ends(true));
	assert_true(ends(false));
}

int main(void)
{
	static const struct CMUnitTest cases[] = {cmocka_unit_test(ends_without_cpu_time)};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
