/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The flows of a capture, with what became of their packets. */
#ifndef PKTLEDGER_REPORT_ENDFLOWS_H
#define PKTLEDGER_REPORT_ENDFLOWS_H

#include <json-c/json.h>
#include <stdint.h>

#include "watch_abi.h"

struct endflow {
	struct watch_flow flow;
	uint64_t packets, matched, missing;
	uint32_t highest; /* the caller's */
};

/* Zero-initialise. */
struct endflows {
	struct endflow *at;
	uint32_t n, room;
	uint32_t *slot; /* private: hash to number + 1 */
};

/* Its number, of a new one if need be; -ENOMEM. */
int endflows_find(struct endflows *f, const struct watch_flow *flow);

/* Those that miss most packets, at most 16: [{"flow","packets","matched","missing"}]. */
struct json_object *endflows_json(const struct endflows *f);

void endflows_free(struct endflows *f);

#endif
