/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters of the path as JSON (trace --counters -j). */
#ifndef PKTLEDGER_REPORT_JSON_RATES_H
#define PKTLEDGER_REPORT_JSON_RATES_H

#include <json-c/json.h>
#include <stdbool.h>

#include "monitor/rates.h"

/*
 * One sample: {"interval_ns","interfaces":[..],"queues":[..],"losses":[..],"xsk":[..],
 * "counters":[..]}. Counts are of the interval; `_pps` and `_bps` are per second, from what the
 * device counts (bytes without FCS, on most). `all`: what did not move too.
 */
struct json_object *json_rates(const struct rates *r, bool all);

#endif
