/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A flow's books beside the collector of drops: the checkpoints are attached when it starts, and
 * the books closed with what it saw of the flow.
 */
#ifndef PKTLEDGER_MONITOR_FLOW_ACCOUNT_H
#define PKTLEDGER_MONITOR_FLOW_ACCOUNT_H

#include <stddef.h>

#include "monitor/flow_books.h"
#include "monitor/live.h"

struct flow_account;

struct flow_account_spec {
	const char *expr; /* of flow_expression(); borrowed */
	struct balance_numbering numbering;
	uint64_t settle_ns;
};

/*
 * What checkpoints and collector have to filter by: EXPR, of UDP, and of fragments only the first.
 * STATUS_USAGE: it is no expression, or matches no UDP.
 */
#define FLOW_EXPRESSION 4096
int flow_expression(const char *expr, char buf[FLOW_EXPRESSION], struct error *err);

/*
 * Loads. STATUS_UNABLE: kernel or capability. `r` and `k` are borrowed; `k` NULL: functions of the
 * kernel are not known, which makes it impossible.
 */
int flow_account_open(struct flow_account **a, const struct flow_account_spec *spec,
		      const struct reasons *r, const struct ksyms *k, struct error *err);

/* To be added to the collector: begins the books as it starts, and follows it. */
const struct live_source *flow_account_source(const struct flow_account *a);

/* Chooses the moment at which the books end; waits up to settle_ns for it. */
int flow_account_end(struct flow_account *a, struct error *err);

/* After flow_account_end(). Texts of the culprit live as long as `l` and its next interval. */
void flow_account_books(const struct flow_account *a, const struct live *l,
			struct flow_books *books, struct balance_cost *cost);

/* NULL is allowed. */
void flow_account_close(struct flow_account *a);

#endif
