/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options that `trace`, `top` and `export` share: what to look at, and how fine. */
#ifndef PKTLEDGER_CLI_OPTIONS_TRACE_H
#define PKTLEDGER_CLI_OPTIONS_TRACE_H

#include <linux/capability.h>

#include "base/opt.h"
#include "monitor/live.h"

struct trace_filters {
	struct live_spec spec; /* what is of one type with the options */
	uint64_t pid;
	struct opt_enums stages;
};

struct trace_view {
	struct opt_enums by; /* enum live_field */
	bool all, counters;
	uint64_t interval_ns;
};

extern const struct opt trace_filter_opts[]; /* of struct trace_filters */
extern const struct opt trace_view_opts[];   /* of struct trace_view */

/* Fills what the options say; `expr` "": none. STATUS_USAGE. */
int trace_spec(const struct trace_filters *f, const struct trace_view *v, const char *expr,
	       struct live_spec *spec, struct error *err);

/*
 * Rows of what they need. bpf() is for CAP_BPF only up to Linux 5.18 where unprivileged users may
 * not load programs (__sys_bpf()).
 */
#define TRACE_NEEDS                                                                                \
	{OPT_CAP(BPF), "to load its programs", .keeps = "before Linux 5.19, to read its own maps", \
	 .before = OPT_KERNEL(5, 19)},                                                             \
		{OPT_CAP(PERFMON), "for programs that look at drops"},                             \
		{OPT_CAP(SYSLOG), "to read names of kernel functions",                             \
		 .without = "places and some stages are not known"},                               \
		{OPT_CAP(SYS_ADMIN), "to enter network namespaces of others",                      \
		 .without = "their counters, rules and names of interfaces are not known",         \
		 .keeps = "to read them again, and those that are made later"},                    \
		{OPT_CAP(NET_ADMIN), "to list firewall rules", .without = "rules are not named",   \
		 .keeps = "to list them again when packets are lost there"},                       \
		{OPT_CAP(SYS_PTRACE), "to look at processes of others",                            \
		 .without = "their sockets have no process",                                       \
		 .keeps = "for sockets that lose packets later"},                                  \
	{                                                                                          \
		OPT_CAP(DAC_READ_SEARCH), "to list their descriptors",                             \
			.without = "they are known only if they are of the same user",             \
			.keeps = "for the same"                                                    \
	}

/* Warns of what this host does not report. */
void trace_show_gaps(const struct live *l);

/* `--reason help`: prints the reasons of this kernel. 0 or -errno with `err`. */
int trace_list_reasons(FILE *out, struct error *err);

#endif
