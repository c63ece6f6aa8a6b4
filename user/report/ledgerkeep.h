/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What of a ledger file has become too old, and a file without it. Of the trace in whose middle the
 * cut lies, the start line stays. A part of report/ledgerfile.c.
 */
#ifndef PKTLEDGER_REPORT_LEDGERKEEP_H
#define PKTLEDGER_REPORT_LEDGERKEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LEDGERKEEP_MARKS 64

/* What is before `at` is older than `time_ns`. */
struct ledgerkeep_mark {
	uint64_t time_ns; /* CLOCK_REALTIME */
	off_t at;
	off_t start; /* the start line of the trace that goes on there, */
	off_t start_len;
};

struct ledgerkeep {
	uint64_t keep_ns;
	bool others; /* a line begins something else than a trace */
	struct ledgerkeep_mark mark[LEDGERKEEP_MARKS];
	unsigned n;
	off_t start, start_len; /* of the newest trace */
	uint64_t started_ns;
	uint64_t pause_ns; /* no cut before this time */
	int64_t clock_ns;  /* CLOCK_REALTIME - CLOCK_BOOTTIME, as told last; 0: not yet */
};

void ledgerkeep_init(struct ledgerkeep *k, uint64_t keep_ns);

/*
 * What both clocks say now; before each line that is written. If the clock of the host is set, what
 * is in the file grows no older by it, and no younger.
 */
void ledgerkeep_clock(struct ledgerkeep *k, uint64_t realtime_ns, uint64_t boottime_ns);

/* A line that is in the file at `at`, in the order of the file; `json` as ledgerfile_read() does.
 */
void ledgerkeep_line(struct ledgerkeep *k, const char *json, size_t len, off_t at);

/* True: `cut` is the begin of what must be kept, and something is before it; not too often. */
bool ledgerkeep_due(struct ledgerkeep *k, uint64_t now_ns, struct ledgerkeep_mark *cut);

/*
 * Puts a file without what is before `cut` in the place of `path`, which is open as `fd`, and locks
 * it as that is. `size`: what is in it now. Returns the new one, open for appending, and its size;
 * or -errno, and all is as before.
 */
int ledgerkeep_rewrite(struct ledgerkeep *k, const char *path, int fd, off_t *size,
		       const struct ledgerkeep_mark *cut);

/* What a rewrite left when it was killed, for whoever has locked the file. */
void ledgerkeep_tidy(const char *path);

#endif
