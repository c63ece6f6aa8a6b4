/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes for machines. Objects to be given away or put. */
#ifndef PKTLEDGER_REPORT_JSON_CHANGE_H
#define PKTLEDGER_REPORT_JSON_CHANGE_H

#include <json-c/json.h>

#include "host/change.h"

/* One that may be made: "title", "ifname", "name", "old", "wanted", "command", "undo", "risk". */
struct json_object *json_change(const struct change *c, const char *netns);

/* One that was made or undone, or was not: the same, and "outcome", "current", "why". */
struct json_object *json_change_told(const struct change_told *told, const char *netns);

#endif
