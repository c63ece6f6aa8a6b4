/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One socket that loses packets, and the process that reads it. Private to reading.c. */
#ifndef PKTLEDGER_DIAGNOSIS_READING_SOCK_H
#define PKTLEDGER_DIAGNOSIS_READING_SOCK_H

#include "diagnosis/reading.h"
#include "host/sockdiag.h"
#include "diagnosis/threads.h"

#define READING_LEVELS 8 /* of cgroups with a quota */

/* What is summed while packets are lost; `now`: since the last interval. */
struct reading_sums {
	uint64_t window_ns, queue_bytes, drops, lost, received_around;
	unsigned samples, sampled, stopped;
};

struct reading_sock {
	struct reading_socket id;
	struct threads threads; /* pid 0: the reader is not known */
	char process[PROC_NAME];
	unsigned holders;
	struct sockmem *mem;

	uint64_t lost_at;   /* CLOCK_MONOTONIC; 0: never */
	bool noted;	    /* in this interval */
	uint64_t beginning; /* of the interval, if it has a first sample; else 0 */
	struct reading_sums sum, now;

	struct sockmem_row row; /* the last sample of the queue */
	bool has_row;
	uint64_t queue_max, rcvbuf;
	uint64_t in_datagrams; /* of the namespace, as read */
	bool has_in_datagrams;
	uint64_t levels[READING_LEVELS], throttled[READING_LEVELS];
	unsigned n_levels;
	char sleeps_in[48]; /* majority vote over the samples */
	int votes;
};

/* Its reader from now on. `beginning`: it was born then (CLOCK_MONOTONIC), in this interval; or 0.
 */
void reading_sock_set_reader(struct reading_sock *s, int root, const struct owner *who,
			     uint64_t beginning);

/* How full the queue is, and what the reader waits for. */
void reading_sock_sample(struct reading_sock *s, int root, struct owners *owners);

/*
 * Ends the interval, with the times of the threads: what came since the last one is summed if
 * packets were lost, else forgotten. lately: the socket has lost some in the last intervals.
 */
void reading_sock_end_interval(struct reading_sock *s, int root, uint64_t now, bool lately);

/* -ENOENT: no interval had a beginning and an end, or nothing is known of the threads. */
int reading_sock_get(const struct reading_sock *s, struct reading *out);

void reading_sock_free(void *s);

#endif
