/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting in the thread that watches a run, with signals as one of the things waited for. */
#ifndef PKTLEDGER_BASE_WATCH_H
#define PKTLEDGER_BASE_WATCH_H

#include <stdbool.h>

/*
 * Blocks SIGINT, SIGTERM and SIGHUP in this thread and those it will start: they are waited for,
 * not handled. Before any thread.
 */
void watch_block_signals(void);

/*
 * Of a process whose end is another's to say, on whose pipe it hangs: SIGINT and SIGHUP, which a
 * terminal sends to all of its processes, mean nothing here; SIGTERM alone is waited for.
 */
void watch_ignore_terminal(void);

/* They kill again, as where nothing is left half done by it. */
void watch_unblock_signals(void);

/*
 * Checks for one of the signals without waiting, where something else is waited for: the next
 * watch_tick() reports it, and a second signal kills meanwhile.
 */
void watch_look(void);

/* Records a signal that was taken in another way than by this module. */
void watch_note_signal(void);

/* True if one of the signals came at any time, or is pending. Takes none. Safe from any thread. */
bool watch_signalled(void);

/*
 * Waits for some milliseconds at most, and lets output that waits for its reader (base/output.h) go
 * on. True if one of the signals came; the next one kills.
 */
bool watch_tick(void);

#endif
