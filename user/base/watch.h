/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits in the thread that watches a run, and treats signals as one of the awaited events. */
#ifndef PKTLEDGER_BASE_WATCH_H
#define PKTLEDGER_BASE_WATCH_H

#include <stdbool.h>

/*
 * Blocks SIGINT, SIGTERM and SIGHUP in this thread and its future threads: signals are awaited, not
 * handled. Call this function before any thread starts.
 */
void watch_block_signals(void);

/*
 * Prepares a process that ends when the process at the other end of its pipe ends: SIGINT and
 * SIGHUP, which a terminal sends to all its processes, are ignored. Only SIGTERM is awaited.
 */
void watch_ignore_terminal(void);

/*
 * Unblocks the signals: the default action applies again, for phases in which nothing is left half
 * done.
 */
void watch_unblock_signals(void);

/*
 * Checks for a signal without waiting, for loops that wait for another event: the next watch_tick()
 * reports the signal, and a second signal kills the process in the meantime.
 */
void watch_look(void);

/* Records a signal that was received by other means than this module. */
void watch_note_signal(void);

/* Returns whether a signal arrived at any time, or is pending. Consumes no signal. Thread-safe. */
bool watch_signalled(void);

/*
 * Waits a few milliseconds at most, and continues to write waiting output (base/output.h). Returns
 * true if a signal arrived. The next signal kills the process.
 */
bool watch_tick(void);

#endif
