/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several trials of one experiment: a row each, then median, lowest and highest. */
#ifndef PKTLEDGER_OUT_TRIALS_H
#define PKTLEDGER_OUT_TRIALS_H

#include <json-c/json.h>
#include <stdio.h>

#include "books/result.h"

#define TRIALS_SPREAD 0.05 /* (highest - lowest) / median above which the spread is called out */

struct trials;

struct trials *trials_new(unsigned max);
void trials_free(struct trials *t);
void trials_add(struct trials *t, const struct result *res);

/* The trial added last as a line of a table, with a heading before the first. */
void trials_print_row(FILE *out, const struct trials *t, const struct result *res);
void trials_print_end(FILE *out, const struct trials *t);
struct json_object *trials_json(const struct trials *t);

#endif
