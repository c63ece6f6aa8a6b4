// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The counters of devices: rtnetlink's of links and qdiscs, netdev-genl's. */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/counters.h"
#include "host/nl.h"

/* Copies what both sides know of a structure that kernels have extended at its end. */
static void read_known(void *to, size_t size, const struct nlattr *a)
{
	size_t len = mnl_attr_get_payload_len(a);

	memset(to, 0, size);
	memcpy(to, mnl_attr_get_payload(a), len < size ? len : size);
}

static int on_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct link_info *l = list_add(arg);
	const struct nlattr *a, *in;

	if (!l)
		return MNL_CB_ERROR;
	l->ifindex = ifi->ifi_index;
	l->flags = ifi->ifi_flags;
	mnl_attr_for_each(a, nlh, sizeof(*ifi))
	{
		switch (mnl_attr_get_type(a)) {
		case IFLA_IFNAME:
			snprintf(l->ifname, sizeof(l->ifname), "%s", mnl_attr_get_str(a));
			break;
		case IFLA_ADDRESS:
			if (mnl_attr_get_payload_len(a) == sizeof(l->mac))
				memcpy(l->mac, mnl_attr_get_payload(a), sizeof(l->mac));
			break;
		case IFLA_MTU:
			l->mtu = mnl_attr_get_u32(a);
			break;
		case IFLA_NUM_RX_QUEUES:
			l->rx_queues = mnl_attr_get_u32(a);
			break;
		case IFLA_NUM_TX_QUEUES:
			l->tx_queues = mnl_attr_get_u32(a);
			break;
		case IFLA_MASTER:
			l->master = mnl_attr_get_u32(a);
			break;
		case IFLA_LINKINFO:
			mnl_attr_for_each_nested(in, a)
			{
				if (mnl_attr_get_type(in) == IFLA_INFO_KIND)
					snprintf(l->kind, sizeof(l->kind), "%s",
						 mnl_attr_get_str(in));
			}
			break;
		case IFLA_XDP:
			mnl_attr_for_each_nested(in, a)
			{
				uint16_t type = mnl_attr_get_type(in);

				if (type == IFLA_XDP_DRV_PROG_ID || type == IFLA_XDP_HW_PROG_ID)
					l->xdp_prog = mnl_attr_get_u32(in);
				else if (type == IFLA_XDP_SKB_PROG_ID)
					l->xdp_skb_prog = mnl_attr_get_u32(in);
			}
			break;
		case IFLA_STATS64:
			read_known(&l->stats, sizeof(l->stats), a);
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

static int finish(struct list *rows, int n)
{
	if (n > 1)
		qsort(rows->at, n, rows->size, by_ifindex);
	return n;
}

int links_read(const struct netns *ns, unsigned ifindex, struct link_info **list)
{
	struct list rows = {.size = sizeof(**list)};
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_GETLINK, ifindex ? 0 : NLM_F_DUMP);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	int n;

	ifi->ifi_index = (int)ifindex;
	n = finish(&rows, nl_dump(ns, NETLINK_ROUTE, nlh, on_link, &rows));
	*list = rows.at;
	return n;
}

/* The row of a device: qdiscs of one come one after another. */
static struct link_qdisc *row_of(struct list *rows, unsigned ifindex)
{
	struct link_qdisc *q = rows->at;

	if (rows->n && q[rows->n - 1].ifindex == ifindex)
		return &q[rows->n - 1];
	q = list_add(rows);
	if (q)
		q->ifindex = ifindex;
	return q;
}

static int on_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	struct gnet_stats_queue queue = {.qlen = 0};
	const struct nlattr *a, *stat;
	struct link_qdisc *q;

	/* mq at the root already sums its children */
	if (tc->tcm_parent != TC_H_ROOT && tc->tcm_parent != TC_H_INGRESS)
		return MNL_CB_OK;
	q = row_of(arg, (unsigned)tc->tcm_ifindex);
	if (!q)
		return MNL_CB_ERROR;
	mnl_attr_for_each(a, nlh, sizeof(*tc))
	{
		if (mnl_attr_get_type(a) != TCA_STATS2)
			continue;
		mnl_attr_for_each_nested(stat, a)
		{
			if (mnl_attr_get_type(stat) == TCA_STATS_QUEUE)
				read_known(&queue, sizeof(queue), stat);
		}
	}
	if (tc->tcm_parent == TC_H_INGRESS) { /* TC_H_CLSACT is the same */
		q->clsact_drops += queue.drops;
		return MNL_CB_OK;
	}
	netdev_qdisc_read(nlh, &q->root);
	q->drops += queue.drops;
	q->requeues += queue.requeues;
	q->qlen += queue.qlen;
	q->backlog += queue.backlog;
	return MNL_CB_OK;
}

int links_read_qdiscs(const struct netns *ns, struct link_qdisc **list)
{
	struct list rows = {.size = sizeof(**list)};
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_GETQDISC, NLM_F_DUMP);
	int n;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct tcmsg));
	n = finish(&rows, nl_dump(ns, NETLINK_ROUTE, nlh, on_qdisc, &rows));
	*list = rows.at;
	return n;
}

uint32_t links_queued(const struct netns *ns, unsigned ifindex)
{
	struct link_qdisc *list;
	int n = links_read_qdiscs(ns, &list);
	uint32_t queued = 0;

	for (int i = 0; i < n; i++) {
		if (list[i].ifindex == ifindex)
			queued += list[i].qlen;
	}
	free(list);
	return queued;
}

/* include/uapi/linux/netdev.h, which Debian 12 does not have. */
#define NETDEV_FAMILY		  "netdev"
#define NETDEV_CMD_DEV_GET	  1
#define NETDEV_CMD_QSTATS_GET	  12
#define NETDEV_QSTATS_SCOPE_QUEUE 1

enum { NETDEV_A_DEV_IFINDEX = 1, NETDEV_A_DEV_XDP_FEATURES = 3 };

enum { NETDEV_A_QSTATS_IFINDEX = 1, NETDEV_A_QSTATS_QUEUE_ID = 3, NETDEV_A_QSTATS_SCOPE };

static const struct {
	uint16_t attribute;
	const char *name;
} known[] = {{8, "rx-packets"},
	     {9, "rx-bytes"},
	     {10, "tx-packets"},
	     {11, "tx-bytes"},
	     {12, "rx-alloc-fail"},
	     {13, "rx-hw-drops"},
	     {14, "rx-hw-drop-overruns"},
	     {18, "rx-csum-bad"},
	     {23, "rx-hw-drop-ratelimits"},
	     {24, "tx-hw-drops"},
	     {25, "tx-hw-drop-errors"},
	     {32, "tx-hw-drop-ratelimits"},
	     {33, "tx-stop"}};

/* Netlink's "uint": 32 or 64 bits, as the value needs. False: it is none. */
static bool read_uint(const struct nlattr *a, uint64_t *v)
{
	uint16_t len = mnl_attr_get_payload_len(a);

	if (len == sizeof(uint64_t))
		*v = mnl_attr_get_u64(a);
	else if (len == sizeof(uint32_t))
		*v = mnl_attr_get_u32(a);
	return len == sizeof(uint32_t) || len == sizeof(uint64_t);
}

void qstat_name(const char *what, int queue, char out[NIC_NAME])
{
	if (queue < 0)
		snprintf(out, NIC_NAME, "qstat:%s", what);
	else
		snprintf(out, NIC_NAME, "qstat:%.2s-%d%s", what, queue, what + 2);
}

static int on_qstats(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *a;
	unsigned ifindex = 0;
	struct qstat *q;
	int queue = -1;
	uint64_t v;

	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(a) == NETDEV_A_QSTATS_IFINDEX && read_uint(a, &v))
			ifindex = (unsigned)v;
		if (mnl_attr_get_type(a) == NETDEV_A_QSTATS_QUEUE_ID && read_uint(a, &v))
			queue = (int)v;
	}
	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr))
	{
		for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
			if (known[i].attribute != mnl_attr_get_type(a) || !read_uint(a, &v))
				continue;
			q = list_add(arg);
			if (!q)
				return MNL_CB_ERROR;
			q->ifindex = ifindex;
			q->value = v;
			qstat_name(known[i].name, queue, q->name);
		}
	}
	return MNL_CB_OK;
}

static int on_features(const struct nlmsghdr *nlh, void *arg)
{
	struct xdp_features *f = list_add(arg);
	const struct nlattr *a;
	uint64_t v;

	if (!f)
		return MNL_CB_ERROR;
	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(a) == NETDEV_A_DEV_IFINDEX && read_uint(a, &v))
			f->ifindex = (unsigned)v;
		if (mnl_attr_get_type(a) == NETDEV_A_DEV_XDP_FEATURES)
			read_uint(a, &f->features);
	}
	return MNL_CB_OK;
}

/* One dump into `r`. How many rows, or -errno; a kernel without the family or command has none. */
static int dump(const struct netns *ns, uint8_t command, uint32_t scope, mnl_cb_t cb,
		struct list *r)
{
	int family = genl_family(ns, NETDEV_FAMILY), ret;
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh;

	if (family < 0)
		return family == -ENOENT ? 0 : family;
	nlh = genl_header(buf, family, command, NLM_F_DUMP);
	if (scope)
		mnl_attr_put_u32(nlh, NETDEV_A_QSTATS_SCOPE, scope);
	ret = nl_dump(ns, NETLINK_GENERIC, nlh, cb, r);
	return ret == -EOPNOTSUPP || ret == -EINVAL ? 0 : ret;
}

int qstats_read(const struct netns *ns, struct qstat **list)
{
	struct list rows = {.size = sizeof(**list)};
	int ret = dump(ns, NETDEV_CMD_QSTATS_GET, 0, on_qstats, &rows);

	if (ret > 0)
		ret = dump(ns, NETDEV_CMD_QSTATS_GET, NETDEV_QSTATS_SCOPE_QUEUE, on_qstats, &rows);
	*list = rows.at;
	return ret;
}

int xdp_features_read(const struct netns *ns, struct xdp_features **list)
{
	struct list rows = {.size = sizeof(**list)};
	int ret = dump(ns, NETDEV_CMD_DEV_GET, 0, on_features, &rows);

	*list = rows.at;
	return ret;
}
