/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A ledger file that is open: what its parts share. ledgerfile_fates.c has fates and ranges. */
#ifndef PKTLEDGER_REPORT_LEDGERFILE_PARTS_H
#define PKTLEDGER_REPORT_LEDGERFILE_PARTS_H

#include "report/ledgerfile.h"
#include "report/ledgerkeep.h"

#define LEDGERFILE_RANGES 256 /* of one line */

/* An outcome that a `fate` line has named; its id is its place in the list. */
struct ledgerfile_outcome {
	const char *fate;
	struct result_cause cause; /* only if dropped */
};

struct ledgerfile_range {
	uint64_t first, last;
	unsigned id;
};

struct ledgerfile {
	int fd;
	int rc; /* -errno of the first write that failed */
	char *path;
	bool is_file;
	off_t size;		 /* of the file */
	struct ledgerkeep *keep; /* NULL: everything is kept */
	char *waiting;
	size_t n_waiting;
	struct ledgerfile_outcome *outcome;
	unsigned n_outcomes;
	uint16_t stream; /* of the ranges */
	struct ledgerfile_range range[LEDGERFILE_RANGES];
	unsigned n_ranges;
};

/* Appends a line. Both return lf->rc. */
int ledgerfile_line(struct ledgerfile *lf, const char *json, size_t len);
int ledgerfile_event(struct ledgerfile *lf, const char *event, const char *schema,
		     struct json_object *data);

/* Writes the ranges that are gathered. */
int ledgerfile_end_ranges(struct ledgerfile *lf);

#endif
