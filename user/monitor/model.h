/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is exported: the sums of all that the collector has told, and what it says of itself. */
#ifndef PKTLEDGER_MONITOR_MODEL_H
#define PKTLEDGER_MONITOR_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "monitor/expose.h"
#include "monitor/live.h"

struct model;

struct model_spec {
	unsigned max_series; /* as of store_new() */
	bool xdp_gaps;	     /* not all losses of XDP itself are seen */
};

struct model_interval {
	const struct live_table *rows;
	const struct live_own *own;
	uint64_t time_ns;     /* its end, since counting began */
	uint64_t realtime_ns; /* the same since the epoch */
};

/* NULL: no memory. */
struct model *model_new(const struct model_spec *spec);
void model_free(struct model *m); /* NULL is allowed */

/* Adds what was lost in an interval. -ENOMEM. */
int model_take(struct model *m, const struct model_interval *in);

/* As text. 0 or -EIO. */
int model_write(const struct model *m, enum expose_format format, FILE *out);

/* The same, to be freed; NULL: no memory. */
char *model_text(const struct model *m, enum expose_format format, size_t *len);

#endif
