/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JUnit XML output for CI systems. There is a test case for each limit, each finding with severity
 * error, the balance of a result, each rate that a search looked for, and an error that ended the
 * command.
 */
#ifndef PKTLEDGER_REPORT_JUNIT_H
#define PKTLEDGER_REPORT_JUNIT_H

#include <json-c/json.h>

#include "base/err.h"

struct junit;

/* Returns a new suite, freed by junit_write(). `command` must be static. */
struct junit *junit_new(const char *command);

/*
 * Checks that the file can be written, so that errors are reported before the work is done. `path`
 * may be NULL.
 */
int junit_try(const char *path, struct error *err);

/* The functions below do nothing if `j` is NULL. They borrow the objects. */

/*
 * Adds a limit reported by json_limit() or compare_limits(). The test case fails if the limit is
 * exceeded.
 */
void junit_limit(struct junit *j, const struct json_object *limit);

/* Adds the "limits" member of a document or comparison. */
void junit_limits(struct junit *j, const struct json_object *of);

/*
 * Adds the end of a result: its balance and the rates searched for, if present, and its findings
 * with severity error.
 */
void junit_end(struct junit *j, const struct json_object *end);

/* Adds a document's limits and its end. */
void junit_document(struct junit *j, const struct json_object *document);

/*
 * Writes the suite, including the error in `err` if there is one, and frees it. The file is
 * replaced atomically. A file that is not JUnit XML is not overwritten. Does nothing if `j` is
 * NULL. If the file cannot be written and `err` is empty, fills `err`. Returns 0 or -errno.
 */
int junit_write(struct junit *j, const char *path, struct error *err);

#endif
