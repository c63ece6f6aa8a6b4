/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options that `trace`, `top` and `export` share: what to look at, and how fine. */
#ifndef PKTLEDGER_OPTIONS_TRACE_H
#define PKTLEDGER_OPTIONS_TRACE_H

#include "base/opt.h"
#include "live/live.h"

struct trace_filters {
	const char *netns, *ifname, *cgroup;
	uint64_t pid;
	struct opt_enums stages;
	const char *reasons;
	bool consumed, xdp_verdicts;
};

struct trace_view {
	struct opt_enums by; /* enum live_field */
	bool all, counters;
	uint64_t interval_ns;
};

extern const struct opt trace_filter_opts[]; /* of struct trace_filters */
extern const struct opt trace_view_opts[];   /* of struct trace_view */

/* What these commands need. */
extern const struct opt_need trace_needs[];

#define TRACE_VIEW_DEFAULTS                                                                        \
	{                                                                                          \
		.interval_ns = 1000000000                                                          \
	}

/* Fills what the options say; `expr` "": none. STATUS_USAGE. */
int trace_spec(const struct trace_filters *f, const struct trace_view *v, const char *expr,
	       struct live_spec *spec, struct error *err);

/* Once drops are counted: keeps only what later intervals need. */
void trace_give_up_capabilities(void);

/* Warns of what this host does not tell. */
void trace_tell_gaps(const struct live *l);

/* `--reason help`: prints the reasons of this kernel. 0 or -errno with `err`. */
int trace_list_reasons(FILE *out, struct error *err);

#endif
