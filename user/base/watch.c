// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/watch.h"

#include <signal.h>
#include <time.h>

#define TICK_NS 5000000

static void ending_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

void watch_block_signals(void)
{
	sigset_t set;

	ending_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void watch_unblock_signals(void)
{
	sigset_t set;

	ending_signals(&set);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

bool watch_tick(void)
{
	const struct timespec ts = {.tv_nsec = TICK_NS};
	sigset_t set;

	ending_signals(&set);
	if (sigtimedwait(&set, NULL, &ts) <= 0)
		return false;
	watch_unblock_signals();
	return true;
}
