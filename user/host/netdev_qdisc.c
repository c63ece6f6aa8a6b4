// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/netdev.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "host/nl.h"

static struct nlmsghdr *root_qdisc(char *buf, uint16_t type, uint16_t flags, unsigned ifindex)
{
	struct nlmsghdr *nlh = nl_header(buf, type, flags);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));

	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = ifindex;
	tc->tcm_parent = TC_H_ROOT;
	return nlh;
}

int netdev_qdisc_tbf(const struct netns *ns, unsigned ifindex, uint64_t rate_bps, uint32_t burst,
		     uint32_t limit)
{
	uint64_t rate = rate_bps / 8; /* bytes/s, as tbf wants it */
	struct tc_tbf_qopt opt = {
		.rate.rate = rate < UINT32_MAX ? rate : UINT32_MAX,
		.rate.linklayer = TC_LINKLAYER_ETHERNET, /* or tbf_change() wants a rate table */
		.limit = limit,
	};
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = root_qdisc(buf, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ifindex);
	struct nlattr *nest;

	mnl_attr_put_strz(nlh, TCA_KIND, "tbf");
	nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	mnl_attr_put(nlh, TCA_TBF_PARMS, sizeof(opt), &opt);
	mnl_attr_put_u32(nlh, TCA_TBF_BURST, burst);
	if (rate >= UINT32_MAX)
		mnl_attr_put_u64(nlh, TCA_TBF_RATE64, rate);
	mnl_attr_nest_end(nlh, nest);
	return nl_request(ns, nlh);
}

#define LIMIT_STRUCT UINT16_MAX /* the options are a struct tc_fifo_qopt, no attributes */

/* Where the limit is in the options; the other options keep their values if they are not given. */
static const struct {
	const char *kind;
	uint16_t attr;
} limits[] = {
	{"pfifo", LIMIT_STRUCT},
	{"bfifo", LIMIT_STRUCT},
	{"pfifo_head_drop", LIMIT_STRUCT},
	{"fq", TCA_FQ_PLIMIT},
	{"fq_codel", TCA_FQ_CODEL_LIMIT},
	{"codel", TCA_CODEL_LIMIT},
	{"pie", TCA_PIE_LIMIT},
};

/* 0: the kind has no limit that is known. */
static uint16_t limit_attr(const char *kind)
{
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (!strcmp(limits[i].kind, kind))
			return limits[i].attr;
	}
	return 0;
}

bool netdev_qdisc_limited(const char *kind)
{
	return limit_attr(kind);
}

static int set_at(const struct netns *ns, unsigned ifindex, uint32_t parent,
		  const struct netdev_qdisc *q, uint16_t flags)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = root_qdisc(buf, RTM_NEWQDISC, flags, ifindex);
	struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	uint16_t attr = q->limited ? limit_attr(q->kind) : 0;

	tc->tcm_parent = parent;
	tc->tcm_handle = q->handle;
	mnl_attr_put_strz(nlh, TCA_KIND, q->kind);
	if (attr == LIMIT_STRUCT) {
		mnl_attr_put_u32(nlh, TCA_OPTIONS, q->limit);
	} else if (attr) {
		struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

		mnl_attr_put_u32(nlh, attr, q->limit);
		mnl_attr_nest_end(nlh, nest);
	}
	return nl_request(ns, nlh);
}

int netdev_qdisc_change(const struct netns *ns, unsigned ifindex, const struct netdev_qdisc *q)
{
	return set_at(ns, ifindex, TC_H_ROOT, q, 0);
}

int netdev_qdisc_replace(const struct netns *ns, unsigned ifindex, const struct netdev_qdisc *q)
{
	return set_at(ns, ifindex, TC_H_ROOT, q, NLM_F_CREATE | NLM_F_REPLACE);
}

static void read_limit(const struct nlattr *options, struct netdev_qdisc *q)
{
	uint16_t attr = limit_attr(q->kind);
	const struct nlattr *a;

	if (attr == LIMIT_STRUCT && mnl_attr_get_payload_len(options) >= sizeof(q->limit)) {
		memcpy(&q->limit, mnl_attr_get_payload(options), sizeof(q->limit));
		q->limited = true;
	}
	if (!attr || attr == LIMIT_STRUCT)
		return;
	mnl_attr_for_each_nested(a, options)
	{
		if (mnl_attr_get_type(a) == attr) {
			q->limit = mnl_attr_get_u32(a);
			q->limited = true;
		}
	}
}

struct wanted_root {
	unsigned ifindex;
	struct netdev_qdisc *q;
	bool found;
};

static int on_root(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a, *options = NULL;
	struct wanted_root *w = arg;

	if ((unsigned)tc->tcm_ifindex != w->ifindex || tc->tcm_parent != TC_H_ROOT)
		return MNL_CB_OK;
	w->found = true;
	w->q->handle = tc->tcm_handle;
	mnl_attr_for_each(a, nlh, sizeof(*tc))
	{
		if (mnl_attr_get_type(a) == TCA_KIND)
			snprintf(w->q->kind, sizeof(w->q->kind), "%s", mnl_attr_get_str(a));
		else if (mnl_attr_get_type(a) == TCA_OPTIONS)
			options = a;
	}
	if (options)
		read_limit(options, w->q);
	return MNL_CB_OK;
}

int netdev_qdisc_root(const struct netns *ns, unsigned ifindex, struct netdev_qdisc *q)
{
	struct wanted_root w = {.ifindex = ifindex, .q = q};
	char buf[NL_REQUEST_SIZE];
	int ret;

	do {
		memset(q, 0, sizeof(*q));
		w.found = false;
		ret = nl_query(ns, root_qdisc(buf, RTM_GETQDISC, NLM_F_DUMP, ifindex), on_root, &w);
	} while (ret == -EINTR);
	return ret ? ret : w.found ? 0 : -ENOENT;
}

/* A tbf has one class, whatever the minor number (tbf_find()). */
int netdev_qdisc_inner(const struct netns *ns, unsigned ifindex, const struct netdev_qdisc *q)
{
	struct netdev_qdisc root;
	int ret = netdev_qdisc_root(ns, ifindex, &root);

	return ret ? ret : set_at(ns, ifindex, root.handle | 1, q, NLM_F_CREATE | NLM_F_REPLACE);
}

int netdev_qdisc_del(const struct netns *ns, unsigned ifindex)
{
	char buf[NL_REQUEST_SIZE];

	return nl_request(ns, root_qdisc(buf, RTM_DELQDISC, 0, ifindex));
}
