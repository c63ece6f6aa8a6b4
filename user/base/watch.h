/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits in the thread that watches a run. Signals are one of the events it waits for. */
#ifndef PKTLEDGER_BASE_WATCH_H
#define PKTLEDGER_BASE_WATCH_H

#include <stdbool.h>

/*
 * Blocks SIGINT, SIGTERM and SIGHUP in this thread and the threads it starts later. Signals are
 * waited for instead of handled. Call this function before starting any thread.
 */
void watch_block_signals(void);

/*
 * Prepares a process that ends together with the process at the other end of its pipe. Ignores
 * SIGINT and SIGHUP, which a terminal sends to all its processes. Only SIGTERM is waited for.
 */
void watch_ignore_terminal(void);

/*
 * Unblocks the signals, so that the default action applies again. For phases in which nothing can
 * be left half done.
 */
void watch_unblock_signals(void);

/*
 * Checks for a signal without waiting, for loops that wait for something else. The next
 * watch_tick() reports the signal, and a second signal before that kills the process.
 */
void watch_look(void);

/* Records a signal that was received outside this module. */
void watch_note_signal(void);

/*
 * Returns whether a signal has arrived at any time or is pending. Does not consume a signal.
 * Thread-safe.
 */
bool watch_signalled(void);

/*
 * Waits a few milliseconds at most while it continues to write waiting output (base/output.h).
 * Returns true if a signal arrived. The next signal kills the process.
 */
bool watch_tick(void);

#endif
