// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Interface counters: links and qdiscs over rtnetlink, queues over netdev-genl. */
#include <arpa/inet.h>
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

static int on_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *xdp = nl_attr(nlh, sizeof(*ifi), IFLA_XDP);
	const struct nlattr *prog = nl_nested(xdp, IFLA_XDP_DRV_PROG_ID);
	const struct nlattr *info = nl_attr(nlh, sizeof(*ifi), IFLA_LINKINFO);
	const struct nlattr *netnsid = nl_attr(nlh, sizeof(*ifi), IFLA_LINK_NETNSID);
	struct link_info *l = list_add(arg);
	const struct nlattr *data = nl_nested(info, IFLA_INFO_DATA);
	char port[16];

	l->ifindex = ifi->ifi_index;
	l->flags = ifi->ifi_flags;
	nl_text(nl_attr(nlh, sizeof(*ifi), IFLA_IFALIAS), l->alias, sizeof(l->alias));
	l->operstate = (uint8_t)nl_uint(nl_attr(nlh, sizeof(*ifi), IFLA_OPERSTATE));
	nl_text(nl_attr(nlh, sizeof(*ifi), IFLA_IFNAME), l->ifname, sizeof(l->ifname));
	nl_mac(nl_attr(nlh, sizeof(*ifi), IFLA_ADDRESS), l->mac);
	l->mtu = (unsigned)nl_uint(nl_attr(nlh, sizeof(*ifi), IFLA_MTU));
	l->rx_queues = (unsigned)nl_uint(nl_attr(nlh, sizeof(*ifi), IFLA_NUM_RX_QUEUES));
	l->tx_queues = (unsigned)nl_uint(nl_attr(nlh, sizeof(*ifi), IFLA_NUM_TX_QUEUES));
	l->master = (unsigned)nl_uint(nl_attr(nlh, sizeof(*ifi), IFLA_MASTER));
	l->txqueuelen = (unsigned)nl_uint(nl_attr(nlh, sizeof(*ifi), IFLA_TXQLEN));
	l->peer = (unsigned)nl_uint(nl_attr(nlh, sizeof(*ifi), IFLA_LINK));
	l->peer_netnsid = netnsid ? (int)nl_uint(netnsid) : -1;
	nl_text(nl_attr(nlh, sizeof(*ifi), IFLA_QDISC), l->qdisc, sizeof(l->qdisc));
	nl_text(nl_nested(info, IFLA_INFO_KIND), l->kind, sizeof(l->kind));
	if (!strcmp(l->kind, "vxlan"))
		l->tunnel_port = ntohs((uint16_t)nl_uint(nl_nested(data, IFLA_VXLAN_PORT)));
	else if (!strcmp(l->kind, "geneve"))
		l->tunnel_port = ntohs((uint16_t)nl_uint(nl_nested(data, IFLA_GENEVE_PORT)));
	nl_text(nl_nested(info, IFLA_INFO_SLAVE_KIND), port, sizeof(port));
	l->bridge_port = !strcmp(port, "bridge");
	l->xdp_attached = (unsigned)nl_uint(nl_nested(xdp, IFLA_XDP_ATTACHED));
	l->xdp_program = (unsigned)nl_uint(nl_nested(xdp, IFLA_XDP_PROG_ID));
	l->xdp_prog = (uint32_t)nl_uint(prog ? prog : nl_nested(xdp, IFLA_XDP_HW_PROG_ID));
	nl_copy(nl_attr(nlh, sizeof(*ifi), IFLA_STATS64), &l->stats, sizeof(l->stats));
	return MNL_CB_OK;
}

static int by_ifindex(const void *a, const void *b)
{
	/* both structures start with the ifindex */
	const unsigned *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int finish(struct list *rows, int n)
{
	if (n > 1)
		qsort(rows->at, n, rows->size, by_ifindex);
	return n;
}

static int ask_links(const struct netns *ns, unsigned ifindex, int netnsid, struct list *rows)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_GETLINK, ifindex ? 0 : NLM_F_DUMP);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	ifi->ifi_index = (int)ifindex;
	if (netnsid >= 0)
		mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, (uint32_t)netnsid);
	return finish(rows, nl_dump(ns, NETLINK_ROUTE, nlh, on_link, rows));
}

int link_read(const struct netns *ns, unsigned ifindex, int netnsid, struct link_info *link)
{
	struct list rows = {.size = sizeof(*link)};
	int n = ifindex ? ask_links(ns, ifindex, netnsid, &rows) : -ENODEV;

	*link = n > 0 ? *(struct link_info *)rows.at : (struct link_info){.peer_netnsid = -1};
	list_free(&rows);
	return n > 0 ? 0 : n ? n : -ENODEV;
}

int links_read(const struct netns *ns, unsigned ifindex, struct link_info **list)
{
	struct list rows = {.size = sizeof(**list)};
	int n = ask_links(ns, ifindex, -1, &rows);

	*list = rows.at;
	return n;
}

static int on_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *stats = nl_attr(nlh, sizeof(*tc), TCA_STATS2);
	struct gnet_stats_queue queue;
	struct list *rows = arg;
	struct link_qdisc *q = rows->at;

	/* an mq root qdisc already sums its children */
	if (tc->tcm_parent != TC_H_ROOT && tc->tcm_parent != TC_H_INGRESS)
		return MNL_CB_OK;
	/* an interface's qdiscs are consecutive */
	q = rows->n && q[rows->n - 1].ifindex == (unsigned)tc->tcm_ifindex ? &q[rows->n - 1]
									   : list_add(rows);
	q->ifindex = (unsigned)tc->tcm_ifindex;
	nl_copy(nl_nested(stats, TCA_STATS_QUEUE), &queue, sizeof(queue));
	if (tc->tcm_parent == TC_H_INGRESS) { /* TC_H_CLSACT has the same value */
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

int link_read_qdisc(const struct netns *ns, unsigned ifindex, struct link_qdisc *qdisc)
{
	struct link_qdisc *list;
	int n = links_read_qdiscs(ns, &list), ret = n < 0 ? n : -ENOENT;

	for (int i = 0; i < n && ret; i++) {
		if (list[i].ifindex == ifindex) {
			*qdisc = list[i];
			ret = 0;
		}
	}
	free(list);
	return ret;
}

/* From include/uapi/linux/netdev.h, which Debian 12 lacks. */
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

void qstat_name(const char *what, int queue, char out[NIC_NAME])
{
	if (queue < 0)
		snprintf(out, NIC_NAME, "qstat:%s", what);
	else
		snprintf(out, NIC_NAME, "qstat:%.2s-%d%s", what, queue, what + 2);
}

static int on_qstats(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *queue = nl_attr(nlh, GENL_HDRLEN, NETDEV_A_QSTATS_QUEUE_ID);

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct nlattr *a = nl_attr(nlh, GENL_HDRLEN, known[i].attribute);
		struct qstat *q;

		if (!a)
			continue;
		q = list_add(arg);
		q->ifindex = (unsigned)nl_uint(nl_attr(nlh, GENL_HDRLEN, NETDEV_A_QSTATS_IFINDEX));
		q->value = nl_uint(a);
		qstat_name(known[i].name, queue ? (int)nl_uint(queue) : -1, q->name);
	}
	return MNL_CB_OK;
}

/*
 * Appends a dump to `r`. Returns the number of rows, 0 if the kernel lacks the family or the
 * command, or -errno.
 */
static int dump_qstats(const struct netns *ns, uint32_t scope, struct list *r)
{
	int family = genl_family(ns, NETDEV_FAMILY), ret;
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh;

	if (family < 0)
		return family == -ENOENT ? 0 : family;
	nlh = genl_header(buf, family, NETDEV_CMD_QSTATS_GET, NLM_F_DUMP);
	if (scope)
		mnl_attr_put_u32(nlh, NETDEV_A_QSTATS_SCOPE, scope);
	ret = nl_dump(ns, NETLINK_GENERIC, nlh, on_qstats, r);
	return ret == -EOPNOTSUPP || ret == -EINVAL ? 0 : ret;
}

int qstats_read(const struct netns *ns, struct qstat **list)
{
	struct list rows = {.size = sizeof(**list)};
	int ret = dump_qstats(ns, 0, &rows);

	if (ret > 0)
		ret = dump_qstats(ns, NETDEV_QSTATS_SCOPE_QUEUE, &rows);
	*list = rows.at;
	return ret;
}

static int on_features(const struct nlmsghdr *nlh, void *features)
{
	*(uint64_t *)features = nl_uint(nl_attr(nlh, GENL_HDRLEN, NETDEV_A_DEV_XDP_FEATURES));
	return MNL_CB_OK;
}

int xdp_features_read(const struct netns *ns, unsigned ifindex, uint64_t *features)
{
	int family = genl_family(ns, NETDEV_FAMILY);
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh;

	if (family < 0)
		return family;
	nlh = genl_header(buf, family, NETDEV_CMD_DEV_GET, 0);
	mnl_attr_put_u32(nlh, NETDEV_A_DEV_IFINDEX, ifindex);
	return nl_query_bus(ns, NETLINK_GENERIC, nlh, on_features, features);
}
