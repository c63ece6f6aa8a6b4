// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/tc_first.h"

#include <bpf/bpf.h>
#include <errno.h>
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

static int attach_filter(struct tc_first *tc, int prog_fd)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)tc->ifindex, .attach_point = tc->point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog_fd, .handle = HANDLE, .priority = PRIORITY);
	int rc = bpf_tc_hook_create(&hook);

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
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)tc->ifindex, .attach_point = tc->point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = HANDLE, .priority = PRIORITY);
	int saved = netns_push(tc->ns);

	if (saved < 0)
		return;
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
