// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/watch.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "base/output.h"

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

/* Only used by the watching thread. */
static bool came;
static atomic_bool ever;

static void await_signal(long ns)
{
	const struct timespec ts = {.tv_nsec = ns};
	sigset_t set;

	ending_signals(&set);
	if (sigtimedwait(&set, NULL, &ts) <= 0)
		return;
	watch_unblock_signals();
	came = true;
	watch_note_signal();
}

void watch_note_signal(void)
{
	atomic_store(&ever, true);
}

bool watch_signalled(void)
{
	sigset_t pending;

	if (!atomic_load(&ever) && !sigpending(&pending) &&
	    (sigismember(&pending, SIGTERM) ||
	     (!terminal_ignored &&
	      (sigismember(&pending, SIGINT) || sigismember(&pending, SIGHUP)))))
		watch_note_signal();
	return atomic_load(&ever);
}

void watch_look(void)
{
	await_signal(0);
}

bool watch_tick(void)
{
	bool ended;

	output_push();
	if (!came)
		await_signal(TICK_NS);
	ended = came;
	came = false;
	return ended;
}
