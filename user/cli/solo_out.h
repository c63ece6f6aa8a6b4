/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where `send` and `recv` tell what happens: JSON on stdout, a ledger file, both or neither. */
#ifndef PKTLEDGER_CLI_SOLO_OUT_H
#define PKTLEDGER_CLI_SOLO_OUT_H

#include <linux/capability.h>

#include "cli/options.h"
#include "report/document.h"

struct solo_out {
	const char *schema; /* static */
	struct json_out *json;
	struct ledgerfile *ledger;
};

/* Rows of what both need: for --ledger, to see `what`; and without it, for losses if they can. */
#define SOLO_NEEDS(what)                                                                           \
	{OPT_CAP(BPF), what, .when = "--ledger"},                                                  \
		{OPT_CAP(PERFMON), "for the same", .when = "--ledger"},                            \
		{OPT_CAP(SYSLOG), "to read names of kernel functions", .when = "--ledger"},        \
		{OPT_CAP(BPF), "to load programs that look at drops", .without = SOLO_UNTRACED},   \
		{OPT_CAP(PERFMON), "for the same", .without = SOLO_UNTRACED},                      \
	{                                                                                          \
		OPT_CAP(SYSLOG), "to read names of kernel functions", .without = SOLO_UNTRACED     \
	}
#define SOLO_UNTRACED "losses on this side are not traced"

/* `ledger`: a file to be appended to; NULL: none. */
int solo_out_open(struct solo_out *o, const char *schema, const struct global_options *g,
		  const char *ledger, struct error *err);

/* Both take `data`. `print`: the end as text, if it is not told as JSON. */
void solo_out_start(struct solo_out *o, struct json_object *data);
void solo_out_end(struct solo_out *o, struct json_object *data,
		  void (*print)(FILE *out, const struct json_object *end));

void solo_out_interval(struct solo_out *o, const struct experiment_interval *now);

/* For experiment_view: `arg` begins with a struct solo_out that has a ledger. */
void solo_out_fates(void *arg, uint16_t stream, uint64_t first, uint64_t last, const char *fate,
		    const struct result_cause *cause);

/* With the error, if there is one. */
void solo_out_close(struct solo_out *o, struct error *err);

#endif
