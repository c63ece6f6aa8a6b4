/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files that read ledgers share; for all others: report/load.h. */
#ifndef PKTLEDGER_REPORT_LOAD_PARTS_H
#define PKTLEDGER_REPORT_LOAD_PARTS_H

#include "report/load.h"

/* Takes its JSON and fates, also when it fails. -ENOMEM. */
int ledgers_add(struct ledgers *l, const struct ledgers_document *d);

/*
 * Adds what the lines of a ledger tell: its documents within `spec`, and in `file` all that is
 * known of the file but its path, which is there. STATUS_FAILED: it cannot be read, or has none.
 */
int load_lines(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
	       struct error *err);

/* Whether a file can be a ledger, by what it begins with: 0, or STATUS_USAGE. */
int load_check_kind(const char *path, struct error *err);

/* "run" of "pktledger/run/1"; false, and nothing: it is no schema of ours. */
bool load_command(const char *schema, char command[16]);

/* Whether the command sees one end only: send, recv. */
bool load_is_one_end(const char *command);

/* Whether a document says that its fates are not those of its end. */
bool load_fates_disagree(const struct json_object *document);

#endif
