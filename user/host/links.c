// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/links.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/netdev_qdisc.h"
#include "host/nl.h"

static void put_kind(struct link_info *l, const struct nlattr *info)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, info)
	{
		if (mnl_attr_get_type(a) == IFLA_INFO_KIND)
			snprintf(l->kind, sizeof(l->kind), "%s", mnl_attr_get_str(a));
	}
}

static void put_xdp(struct link_info *l, const struct nlattr *xdp)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, xdp)
	{
		switch (mnl_attr_get_type(a)) {
		case IFLA_XDP_DRV_PROG_ID:
		case IFLA_XDP_HW_PROG_ID:
			l->xdp_prog = mnl_attr_get_u32(a);
			break;
		case IFLA_XDP_SKB_PROG_ID:
			l->xdp_skb_prog = mnl_attr_get_u32(a);
			break;
		}
	}
}

static int on_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct link_info *l = nl_rows_add(arg);
	const struct nlattr *a;
	size_t len;

	if (!l)
		return MNL_CB_STOP;
	l->ifindex = ifi->ifi_index;
	l->flags = ifi->ifi_flags;
	mnl_attr_for_each(a, nlh, sizeof(*ifi))
	{
		switch (mnl_attr_get_type(a)) {
		case IFLA_IFNAME:
			snprintf(l->ifname, sizeof(l->ifname), "%s", mnl_attr_get_str(a));
			break;
		case IFLA_LINKINFO:
			put_kind(l, a);
			break;
		case IFLA_XDP:
			put_xdp(l, a);
			break;
		case IFLA_STATS64:
			/* an older kernel's has fewer fields, a newer one's more */
			len = mnl_attr_get_payload_len(a);
			memcpy(&l->stats, mnl_attr_get_payload(a),
			       len < sizeof(l->stats) ? len : sizeof(l->stats));
			break;
		}
	}
	return MNL_CB_OK;
}

static int by_ifindex(const void *a, const void *b)
{
	/* both structures begin with it */
	const unsigned *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int finish(struct nl_rows *rows, int n)
{
	if (n > 1)
		qsort(rows->at, n, rows->size, by_ifindex);
	return n;
}

int links_read(const struct netns *ns, struct link_info **list)
{
	struct nl_rows rows = {.size = sizeof(**list)};
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_GETLINK, NLM_F_DUMP);
	int n;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	n = finish(&rows, nl_dump(ns, NETLINK_ROUTE, nlh, on_link, &rows));
	*list = rows.at;
	return n;
}

/* The row of a device: qdiscs of one come one after another. */
static struct link_qdisc *row_of(struct nl_rows *rows, unsigned ifindex)
{
	struct link_qdisc *q = rows->at;

	if (rows->n && q[rows->n - 1].ifindex == ifindex)
		return &q[rows->n - 1];
	q = nl_rows_add(rows);
	if (q)
		q->ifindex = ifindex;
	return q;
}

static int on_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	struct netdev_qdisc_stats st = {.packets = 0};
	const char *kind = "";
	const struct nlattr *a;
	struct link_qdisc *q;

	/* mq at the root already sums its children */
	if (tc->tcm_parent != TC_H_ROOT && tc->tcm_parent != TC_H_INGRESS)
		return MNL_CB_OK;
	q = row_of(arg, tc->tcm_ifindex);
	if (!q)
		return MNL_CB_STOP;
	mnl_attr_for_each(a, nlh, sizeof(*tc))
	{
		if (mnl_attr_get_type(a) == TCA_KIND)
			kind = mnl_attr_get_str(a);
		if (mnl_attr_get_type(a) == TCA_STATS2)
			netdev_qdisc_add(&st, a);
	}
	if (tc->tcm_parent == TC_H_INGRESS) { /* TC_H_CLSACT is the same */
		q->clsact_drops += st.drops;
		return MNL_CB_OK;
	}
	snprintf(q->kind, sizeof(q->kind), "%s", kind);
	q->drops += st.drops;
	q->requeues += st.requeues;
	q->qlen += st.qlen;
	q->backlog += st.backlog;
	return MNL_CB_OK;
}

int links_read_qdiscs(const struct netns *ns, struct link_qdisc **list)
{
	struct nl_rows rows = {.size = sizeof(**list)};
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_GETQDISC, NLM_F_DUMP);
	int n;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct tcmsg));
	n = finish(&rows, nl_dump(ns, NETLINK_ROUTE, nlh, on_qdisc, &rows));
	*list = rows.at;
	return n;
}
