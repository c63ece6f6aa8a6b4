/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JUnit XML output for CI systems: a test case per limit, per finding of severity error, for the
 * balance of a result, per rate of a search, and for an error that ended the command.
 */
#ifndef PKTLEDGER_REPORT_JUNIT_H
#define PKTLEDGER_REPORT_JUNIT_H

#include <json-c/json.h>

#include "base/err.h"

struct junit;

/* Returns a new suite, freed by junit_write(). `command` is static. */
struct junit *junit_new(const char *command);

/* The functions below do nothing if `j` is NULL. Objects are borrowed. */

/* Adds a limit reported by json_limit() or compare_limits(). It fails if the limit is exceeded. */
void junit_limit(struct junit *j, const struct json_object *limit);

/* Adds the "limits" of a document or a comparison. */
void junit_limits(struct junit *j, const struct json_object *of);

/*
 * Adds the end of a result: its balance and the rates that a search looked for, if it has them, and
 * its findings of severity error.
 */
void junit_end(struct junit *j, const struct json_object *end);

/* Adds a document: its limits and its end. */
void junit_document(struct junit *j, const struct json_object *document);

/*
 * Writes the suite, with the error in `err` if there is one, and frees it. The file is replaced
 * atomically. A file that is not JUnit XML is not overwritten. `j` NULL: does nothing. If the file
 * cannot be written and `err` is empty, it is filled. Returns 0 or -errno.
 */
int junit_write(struct junit *j, const char *path, struct error *err);

#endif
