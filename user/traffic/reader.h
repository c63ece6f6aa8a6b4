/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The slow reader: what an application does beside reading, which is the commonest cause of loss.
 * Shared by the receiving threads.
 */
#ifndef PKTLEDGER_TRAFFIC_READER_H
#define PKTLEDGER_TRAFFIC_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct reader {
	uint64_t work_ns;  /* CPU time spent on each packet */
	uint64_t pause_ns; /* reads nothing for so long, ... */
	uint64_t read_ns;  /* ... then reads for so long, again and again */
	const char *log;   /* file to which each record is written, one write() each; NULL: none */
};

/* "ON/OFF", two times: a pause of ON, then reading for OFF. -EINVAL. */
int reader_parse_pause(const char *text, uint64_t *pause_ns, uint64_t *read_ns);

/* Opens (appends to, mode 0600) the log. *fd is -1 if there is none. */
int reader_open_log(const struct reader *r, int *fd, struct error *err);

struct reader_state {
	const struct reader *reader;
	const atomic_bool *stop; /* true: no more work is done */
	int log_fd;
	uint64_t log_errors; /* records that were not written, */
	int log_errno;	     /* why the first was not */
};

/* The hook of struct sink; `arg` is a struct reader_state. */
void reader_work(void *arg, uint16_t stream, uint64_t number, unsigned len);

/* STATUS_FAILED if not all records were written. */
int reader_check_log(const struct reader_state *s, struct error *err);

/* How long from now the reader stands still, ns; 0: it reads. `start`: when the first pause began.
 */
uint64_t reader_pause(const struct reader *r, uint64_t start, uint64_t now);

/* Whether there is anything to do for each packet. */
static inline bool reader_works(const struct reader *r)
{
	return r->work_ns || r->log;
}

#endif
