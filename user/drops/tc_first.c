// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/tc_first.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define HANDLE	 1
#define PRIORITY 1

/* uapi/linux/bpf.h since Linux 6.6 */
#define TCX_INGRESS 46
#define TCX_EGRESS  47
#define TCX_BEFORE  (1U << 3) /* BPF_F_BEFORE: without another program, before all of them */

int tc_first_link(unsigned ifindex, enum bpf_tc_attach_point point, int prog_fd)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = TCX_BEFORE);
	int type = point == BPF_TC_INGRESS ? TCX_INGRESS : TCX_EGRESS;

	return bpf_link_create(prog_fd, (int)ifindex, (enum bpf_attach_type)type, &opts);
}

/* The hook, and the filter there. Not LIBBPF_OPTS(): its copy may have anything in its padding. */
static void describe(const struct tc_first *tc, struct bpf_tc_hook *hook, struct bpf_tc_opts *opts)
{
	memset(hook, 0, sizeof(*hook));
	hook->sz = sizeof(*hook);
	hook->ifindex = (int)tc->ifindex;
	hook->attach_point = tc->point;
	memset(opts, 0, sizeof(*opts));
	opts->sz = sizeof(*opts);
	opts->handle = HANDLE;
	opts->priority = PRIORITY;
}

static int attach_filter(struct tc_first *tc, int prog_fd)
{
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;
	int rc;

	describe(tc, &hook, &opts);
	opts.prog_fd = prog_fd;
	rc = bpf_tc_hook_create(&hook);
	if (!rc || rc == -EEXIST)
		rc = bpf_tc_attach(&hook, &opts);
	tc->filter = !rc;
	return rc;
}

int tc_first_attach(struct tc_first *tc, const struct netns *ns, unsigned ifindex,
		    enum bpf_tc_attach_point point, int prog_fd)
{
	int saved = netns_push(ns), rc;

	*tc = (struct tc_first){ns, ifindex, point, -1, false};
	if (saved < 0)
		return saved;
	tc->link = tc_first_link(ifindex, point, prog_fd);
	rc = tc->link < 0 ? tc->link : 0;
	if (rc == -EINVAL)
		rc = attach_filter(tc, prog_fd);
	netns_pop(saved);
	return rc;
}

static void remove_filter(struct tc_first *tc)
{
	int saved = netns_push(tc->ns);
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;

	if (saved < 0)
		return;
	describe(tc, &hook, &opts);
	bpf_tc_detach(&hook, &opts);
	netns_pop(saved);
}

void tc_first_detach(struct tc_first *tc)
{
	if (tc->link >= 0)
		close(tc->link);
	else if (tc->filter)
		remove_filter(tc);
	*tc = (struct tc_first)TC_FIRST_INIT;
}
