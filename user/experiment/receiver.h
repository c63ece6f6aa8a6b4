/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving threads, each with an engine and a sink. */
#ifndef PKTLEDGER_EXPERIMENT_RECEIVER_H
#define PKTLEDGER_EXPERIMENT_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/outcomes.h"
#include "traffic/rx.h"

#define RECEIVER_THREADS 64

struct receiver;

/* Starts the threads and opens the engines. Packets that arrive from now on are received. */
int receiver_open(struct receiver **r, const struct receiver_config *cfg, struct error *err);

/* Ends `paused` and `work_ns`. */
void receiver_resume(struct receiver *r);

/* Returns how many numbers were delivered so far. May be called while the threads run. */
uint64_t receiver_delivered(const struct receiver *r);

/* Returns the threads' CPU time in ns, so far or until they ended. */
uint64_t receiver_cpu_ns(struct receiver *r);

/* Returns the received streams. With outcomes, they are the run's streams. */
struct sink_streams *receiver_streams(struct receiver *r);

/* Runs sink_pass() in all threads after tails were moved. */
void receiver_pass(const struct receiver *r);

/*
 * receiver_caught_up() returns whether the threads have read all packets that were waiting at
 * receiver_mark(). Each thread must since have found its queue empty, or received a number of this
 * run that was sent later than `later`, the first unsent number in each stream (as in the sequence
 * header). Only for a single caller.
 */
void receiver_mark(struct receiver *r, const uint64_t *later);
bool receiver_caught_up(const struct receiver *r);

/*
 * Returns the highest number received in a stream, plus 1, or 0. May be called while the threads
 * run.
 */
uint64_t receiver_next(const struct receiver *r, unsigned stream);

/* Makes receiver_next() 0 for a stream that is closed: see sink_streams_close(). */
void receiver_forget(struct receiver *r, unsigned stream);

/*
 * Returns a stream's smallest latency, using the clocks of both ends, or false if packets have no
 * timestamp. Call it after receiver_stop().
 */
bool receiver_fastest(const struct receiver *r, unsigned stream, int64_t *ns);

/* Returns whether the stream's end record has arrived and no number above its end has. */
bool receiver_ended(const struct receiver *r, unsigned stream);

/* Returns whether there are streams and all of them have ended. */
bool receiver_all_ended(const struct receiver *r);

/* Returns whether all engines' queues are empty. */
bool receiver_idle(const struct receiver *r);

/* Returns whether a thread ended with an error, which is stored in `err`. */
bool receiver_failed(const struct receiver *r, struct error *err);

/* Stops the threads. The engines and their sockets remain open. */
void receiver_stop(struct receiver *r);

/*
 * Returns STATUS_FAILED if a thread could not write its whole log. Call it after receiver_stop().
 */
int receiver_check_log(const struct receiver *r, struct error *err);

/* Sums all threads after receiver_stop(). `sum` has no lines, because they are in `arrivals`. */
void receiver_sum(const struct receiver *r, struct sink *sum, struct arrivals *arrivals);

/*
 * Sums the lines of `n` sinks for receiver_sum(). Merges lines for a flow that two threads
 * received. Streams that have lost their slots are only in the sums. Fills all of `out` except the
 * gaps.
 */
void arrivals_sum(struct arrivals *out, const struct sink *const *sink, unsigned n);
void receiver_stats(const struct receiver *r, struct rx_stats *st);
const char *receiver_mode(const struct receiver *r);
int receiver_fd(const struct receiver *r, unsigned thread);

/* Closes the engines, and with them their sockets. */
void receiver_close(struct receiver *r);

#endif
