/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events of `check`: its start is json_solo_origin(), this is its end. */
#ifndef PKTLEDGER_REPORT_JSON_CHECK_H
#define PKTLEDGER_REPORT_JSON_CHECK_H

#include <json-c/json.h>

#include "diagnosis/judge.h"

/* `netns` as in check_plan(). To be given away or put. */
struct json_object *json_check_end(const struct facts *f, const struct check_findings *list,
				   const char *netns);

#endif
