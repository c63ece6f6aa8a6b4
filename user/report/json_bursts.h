/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `trace --microburst` for machines. */
#ifndef PKTLEDGER_REPORT_JSON_BURSTS_H
#define PKTLEDGER_REPORT_JSON_BURSTS_H

#include <json-c/json.h>

#include "monitor/bursts.h"

struct json_object *json_bursts(const struct burst_report *r);

#endif
