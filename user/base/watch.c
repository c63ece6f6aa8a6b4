// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/watch.h"

#include <signal.h>
#include <time.h>

#define TICK_NS 5000000

static bool terminal_ignored;

static void ending_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	if (terminal_ignored)
		return;
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

void watch_ignore_terminal(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	terminal_ignored = true;
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

/* Of the thread that watches only. */
static bool came;

static void await_signal(long ns)
{
	const struct timespec ts = {.tv_nsec = ns};
	sigset_t set;

	ending_signals(&set);
	if (sigtimedwait(&set, NULL, &ts) <= 0)
		return;
	watch_unblock_signals();
	came = true;
}

void watch_look(void)
{
	await_signal(0);
}

bool watch_tick(void)
{
	bool ended;

	if (!came)
		await_signal(TICK_NS);
	ended = came;
	came = false;
	return ended;
}
