/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A BPF program at a tc hook, before all others there. */
#ifndef PKTLEDGER_DROPS_TC_FIRST_H
#define PKTLEDGER_DROPS_TC_FIRST_H

#include <stdbool.h>

#include <bpf/libbpf.h>

#include "host/netns.h"

struct tc_first {
	const struct netns *ns;
	unsigned ifindex;
	enum bpf_tc_attach_point point;
	int link; /* below 0: a classic filter, or nothing */
	bool filter;
};

#define TC_FIRST_INIT                                                                              \
	{                                                                                          \
		.link = -1                                                                         \
	}

/*
 * Attaches a program at BPF_TC_INGRESS or BPF_TC_EGRESS of a device in `ns`, which the caller
 * keeps. From Linux 6.6 on by a link of tcx (tcx_link_attach()), which dies with this process and
 * leaves out the classifier; before that as a filter of clsact with priority 1, which only
 * tc_first_detach() removes. 0 or -errno: -EEXIST if another such filter is there.
 */
int tc_first_attach(struct tc_first *tc, const struct netns *ns, unsigned ifindex,
		    enum bpf_tc_attach_point point, int prog_fd);
void tc_first_detach(struct tc_first *tc);

/*
 * Only the link, on a device of the caller's namespace: nothing stays whatever happens to us. The
 * program has to return TC_ACT_UNSPEC, or it is the last. Returns its descriptor, or -errno; before
 * Linux 6.6 -EINVAL.
 */
int tc_first_link(unsigned ifindex, enum bpf_tc_attach_point point, int prog_fd);

#endif
