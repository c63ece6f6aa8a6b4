/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fates of all numbers in a ledger file, added up: report/ledgerfile.h has the lines. */
#ifndef PKTLEDGER_REPORT_FATESUM_H
#define PKTLEDGER_REPORT_FATESUM_H

#include "base/json.h"

struct fatesum;

struct fatesum_run { /* numbers as the file tells them, with one outcome */
	uint64_t first, last;
	uint16_t stream, outcome;
};

struct fatesum *fatesum_new(bool keep); /* NULL: no memory; `keep`: for fatesum_runs() */
void fatesum_free(struct fatesum *f);

/* The data of a `fate` line. -EINVAL: out of order; -ENOMEM. */
int fatesum_name(struct fatesum *f, struct json_object *data);

/* The JSON of a whole `fates` line, not terminated. -EINVAL: it is not as it should be. */
int fatesum_ranges(struct fatesum *f, const char *json, size_t len);

/* Those that were kept, sorted by stream and number; borrowed. */
const struct fatesum_run *fatesum_runs(struct fatesum *f, size_t *n);

/* The data of the `fate` line of an outcome; borrowed. */
const struct json_object *fatesum_outcome(const struct fatesum *f, unsigned outcome);

/*
 * A list of {"fate","stage",..,"packets","ranges","longest"}: packets, runs of neighbouring
 * numbers, and the longest of them. NULL: there were no fates. To be given away.
 */
struct json_object *fatesum_json(const struct fatesum *f);

/*
 * Whether they add up to the books in `end`, of whichever command: as many delivered and refused,
 * and as many that were not delivered. What only a counter has settled has no fate of its own.
 */
bool fatesum_agrees(const struct fatesum *f, const struct json_object *end);

#endif
