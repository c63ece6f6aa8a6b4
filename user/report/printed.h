/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Documents as commands have printed them: by -j, or in a page of `report --html`. */
#ifndef PKTLEDGER_REPORT_PRINTED_H
#define PKTLEDGER_REPORT_PRINTED_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/err.h"

/* Whether the file looks like one of them. */
bool printed_is(const char *path);

/*
 * A list of the documents in the file, in their order, to be put. STATUS_USAGE: it is JSON, or a
 * page, but not ours; STATUS_FAILED: it is cut, or cannot be read.
 */
int printed_load(const char *path, struct json_object **documents, struct error *err);

#endif
