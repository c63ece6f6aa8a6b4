/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `trace --microburst` for machines. */
#ifndef PKTLEDGER_OUT_JSON_BURSTS_H
#define PKTLEDGER_OUT_JSON_BURSTS_H

#include <json-c/json.h>

#include "live/bursts.h"

struct json_object *json_bursts(const struct burst_report *r);

#endif
