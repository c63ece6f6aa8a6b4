/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The books of a flow as members of the end of `trace`. */
#ifndef PKTLEDGER_REPORT_JSON_BOOKS_H
#define PKTLEDGER_REPORT_JSON_BOOKS_H

#include "base/json.h"
#include "monitor/flow.h"

void json_put_books(struct json_object *end, const struct flow_books *b,
		    const struct balance_cost *cost);

#endif
