// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/options_balance.h"

#include <errno.h>
#include <stddef.h>

#include "drops/numbering.h"

static int parse_seq(const char *value, void *field, struct error *err)
{
	return numbering_parse(value, field, err);
}

const struct opt balance_opts[] = {
	{"balance", 0, OPT_FLAG, offsetof(struct balance_options, balance),
	 .help = "close the books of the UDP flow that EXPR is: what arrived was delivered, "
		 "dropped, or waits; exit with 4 if they do not close"},
	{"seq", 0, OPT_CUSTOM, offsetof(struct balance_options, seq), .metavar = "WHAT",
	 .default_text = "none", .parse = parse_seq,
	 .help = "the application's own numbers, so that what was lost before this host is known: "
		 "rtp, or OFFSET:BYTES[:STEP] of a counter in the payload"},
	{"settle", 0, OPT_TIME, offsetof(struct balance_options, settle_ns),
	 .set_offset = OPT_SET(struct balance_options, settle_set),
	 .help = "with --balance: wait so long at the end for what is under way"},
	{0},
};

int balance_check(const struct balance_options *o, const struct trace_filters *f, const char *expr,
		  struct error *err)
{
	const struct {
		const char *name;
		bool given;
	} part[] = {
		{"--netns", f->netns != NULL}, {"--interface", f->ifname != NULL},
		{"--pid", f->pid != 0},	       {"--cgroup", f->cgroup != NULL},
		{"--stage", f->stages.n != 0}, {"--reason", f->reasons != NULL},
	};

	if (!o->balance)
		return o->seq.kind == NUMBERS_NONE && !o->settle_set
			       ? 0
			       : error_set(err, STATUS_USAGE, -EINVAL, "add --balance",
					   "%s is for the books of a flow",
					   o->settle_set ? "--settle" : "--seq");
	if (!*expr)
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "for example: trace --balance udp port 5060",
				 "--balance needs to know which flow: an EXPR");
	for (unsigned i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		if (part[i].given)
			return error_set(err, STATUS_USAGE, -EINVAL, "narrow EXPR instead",
					 "%s and --balance cannot be together: a part of the "
					 "losses makes no books",
					 part[i].name);
	}
	return 0;
}
