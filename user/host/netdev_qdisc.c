// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/netdev.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
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

int netdev_qdisc_pfifo(const struct netns *ns, unsigned ifindex, uint32_t limit)
{
	struct tc_fifo_qopt opt = {.limit = limit};
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = root_qdisc(buf, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ifindex);

	mnl_attr_put_strz(nlh, TCA_KIND, "pfifo");
	mnl_attr_put(nlh, TCA_OPTIONS, sizeof(opt), &opt);
	return nl_request(ns, nlh);
}

int netdev_qdisc_del(const struct netns *ns, unsigned ifindex)
{
	char buf[NL_REQUEST_SIZE];

	return nl_request(ns, root_qdisc(buf, RTM_DELQDISC, 0, ifindex));
}

struct sum {
	unsigned ifindex;
	struct netdev_qdisc_stats *st;
};

/* Copies what both sides know of a structure that kernels have extended at its end. */
static void read_known(void *to, size_t size, const struct nlattr *a)
{
	size_t len = mnl_attr_get_payload_len(a);

	memset(to, 0, size);
	memcpy(to, mnl_attr_get_payload(a), len < size ? len : size);
}

static void add_stats2(const struct nlattr *stats2, struct netdev_qdisc_stats *st)
{
	struct gnet_stats_basic basic = {.packets = 0};
	struct gnet_stats_queue queue = {.qlen = 0};
	uint64_t packets64 = 0;
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, stats2)
	{
		switch (mnl_attr_get_type(a)) {
		case TCA_STATS_BASIC:
			read_known(&basic, sizeof(basic), a);
			break;
		case TCA_STATS_PKT64: /* only there once the 32 bits do not suffice */
			packets64 = mnl_attr_get_u64(a);
			break;
		case TCA_STATS_QUEUE:
			read_known(&queue, sizeof(queue), a);
			break;
		}
	}
	st->packets += packets64 ? packets64 : basic.packets;
	st->bytes += basic.bytes;
	st->drops += queue.drops;
	st->overlimits += queue.overlimits;
	st->requeues += queue.requeues;
	st->qlen += queue.qlen;
	st->backlog += queue.backlog;
}

static int on_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct sum *sum = arg;
	const struct nlattr *a;

	/* The dump ignores the index asked for; mq at the root already sums its children. */
	if ((unsigned)tc->tcm_ifindex != sum->ifindex || tc->tcm_parent != TC_H_ROOT)
		return MNL_CB_OK;
	sum->st->handle = tc->tcm_handle;
	mnl_attr_for_each(a, nlh, sizeof(*tc))
	{
		if (mnl_attr_get_type(a) == TCA_STATS2)
			add_stats2(a, sum->st);
	}
	return MNL_CB_OK;
}

int netdev_qdisc_stats(const struct netns *ns, unsigned ifindex, struct netdev_qdisc_stats *st)
{
	struct sum sum = {.ifindex = ifindex, .st = st};
	char buf[NL_REQUEST_SIZE];
	int ret;

	do {
		memset(st, 0, sizeof(*st));
		ret = nl_query(ns, root_qdisc(buf, RTM_GETQDISC, NLM_F_DUMP, ifindex), on_qdisc,
			       &sum);
	} while (ret == -EINTR);
	return ret;
}
