// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Interface counters: links and qdiscs over rtnetlink, queues over netdev-genl. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/devlink.h>
#include <linux/ethtool_netlink.h>
#include <linux/gen_stats.h>
#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
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

/*
 * Standard statistics of the ethtool family. They mean the same for every driver that has them. The
 * names are those of `ethtool -S IFNAME --groups`.
 */

#define GROUP_FEC		    100 /* not a group of ETHTOOL_MSG_STATS_GET */
#define ETHTOOL_LINKSTATE_DOWN_CNT 7	 /* ETHTOOL_A_LINKSTATE_EXT_DOWN_CNT, Linux 6.3 */

static const struct {
	uint16_t group, attribute;
	const char *name;
} standard[] = {
#define MAC(id, name)  {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_##id, "eth-mac-" name}
#define RMON(id, name) {ETHTOOL_STATS_RMON, ETHTOOL_A_STATS_RMON_##id, "rmon-" name}
	{ETHTOOL_STATS_ETH_PHY, ETHTOOL_A_STATS_ETH_PHY_5_SYM_ERR,
	 "eth-phy-SymbolErrorDuringCarrier"},
	MAC(6_FCS_ERR, "FrameCheckSequenceErrors"),
	MAC(7_ALIGN_ERR, "AlignmentErrors"),
	MAC(10_LATE_COL, "LateCollisions"),
	MAC(11_XS_COL, "FramesAbortedDueToXSColls"),
	MAC(12_TX_INT_ERR, "FramesLostDueToIntMACXmitError"),
	MAC(15_RX_INT_ERR, "FramesLostDueToIntMACRcvError"),
	MAC(23_IR_LEN_ERR, "InRangeLengthErrors"),
	MAC(24_OOR_LEN, "OutOfRangeLengthField"),
	MAC(25_TOO_LONG_ERR, "FrameTooLongErrors"),
	{ETHTOOL_STATS_ETH_CTRL, ETHTOOL_A_STATS_ETH_CTRL_4_RX, "eth-ctrl-MACControlFramesReceived"},
	RMON(UNDERSIZE, "etherStatsUndersizePkts"),
	RMON(OVERSIZE, "etherStatsOversizePkts"),
	RMON(FRAG, "etherStatsFragments"),
	RMON(JABBER, "etherStatsJabbers"),
	{GROUP_FEC, ETHTOOL_A_FEC_STAT_CORRECTED, "fec-corrected_blocks"},
	{GROUP_FEC, ETHTOOL_A_FEC_STAT_UNCORR, "fec-uncorrectable_blocks"},
};

/* `in`: holds a counter per attribute. The first number of an array is the sum. */
static void add_standard(struct list *rows, unsigned ifindex, uint16_t group, const struct nlattr *in)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, in)
	{
		for (unsigned i = 0; i < LENGTH(standard); i++) {
			struct qstat *q;

			if (standard[i].group != group || standard[i].attribute != mnl_attr_get_type(a))
				continue;
			q = list_add(rows);
			q->ifindex = ifindex;
			nl_copy(a, &q->value, sizeof(q->value));
			snprintf(q->name, sizeof(q->name), "%s", standard[i].name);
		}
	}
}

int standard_stats_add(const struct nlmsghdr *nlh, void *rows)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const bool stats = genl->cmd == ETHTOOL_MSG_STATS_GET_REPLY;
	const struct nlattr *a, *part, *down;
	const unsigned ifindex = (unsigned)nl_uint(nl_nested(
		nl_attr(nlh, GENL_HDRLEN, stats ? ETHTOOL_A_STATS_HEADER : ETHTOOL_A_FEC_HEADER),
		ETHTOOL_A_HEADER_DEV_INDEX));

	mnl_attr_for_each(a, nlh, GENL_HDRLEN)
	{
		if (genl->cmd == ETHTOOL_MSG_FEC_GET_REPLY &&
		    mnl_attr_get_type(a) == ETHTOOL_A_FEC_STATS)
			add_standard(rows, ifindex, GROUP_FEC, a);
		if (!stats || mnl_attr_get_type(a) != ETHTOOL_A_STATS_GRP)
			continue;
		mnl_attr_for_each_nested(part, a)
		{
			if (mnl_attr_get_type(part) == ETHTOOL_A_STATS_GRP_STAT)
				add_standard(rows, ifindex,
					     (uint16_t)nl_uint(nl_nested(a, ETHTOOL_A_STATS_GRP_ID)),
					     part);
		}
	}
	down = genl->cmd == ETHTOOL_MSG_LINKSTATE_GET_REPLY
		       ? nl_attr(nlh, GENL_HDRLEN, ETHTOOL_LINKSTATE_DOWN_CNT)
		       : NULL;
	if (down)
		*(struct qstat *)list_add(rows) = (struct qstat){
			.ifindex = ifindex, .name = "link-down-events", .value = nl_uint(down)};
	return MNL_CB_OK;
}

/* Appends a dump. Leaves `rows` unchanged if the kernel lacks the request. */
static void dump_standard(const struct netns *ns, int family, uint8_t request, struct list *rows)
{
	const bool stats = request == ETHTOOL_MSG_STATS_GET;
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = genl_header(buf, family, request, NLM_F_DUMP);
	struct nlattr *nest =
		mnl_attr_nest_start(nlh, stats ? ETHTOOL_A_STATS_HEADER : ETHTOOL_A_FEC_HEADER);

	mnl_attr_put_u32(nlh, ETHTOOL_A_HEADER_FLAGS,
			 ETHTOOL_FLAG_COMPACT_BITSETS |
				 (request == ETHTOOL_MSG_FEC_GET ? ETHTOOL_FLAG_STATS : 0));
	mnl_attr_nest_end(nlh, nest);
	if (stats) {
		const uint32_t all = (1u << __ETHTOOL_STATS_CNT) - 1;

		nest = mnl_attr_nest_start(nlh, ETHTOOL_A_STATS_GROUPS);
		mnl_attr_put(nlh, ETHTOOL_A_BITSET_NOMASK, 0, NULL);
		mnl_attr_put_u32(nlh, ETHTOOL_A_BITSET_SIZE, __ETHTOOL_STATS_CNT);
		mnl_attr_put_u32(nlh, ETHTOOL_A_BITSET_VALUE, all);
		mnl_attr_nest_end(nlh, nest);
	}
	nl_dump(ns, NETLINK_GENERIC, nlh, standard_stats_add, rows);
}

int standard_stats_read(const struct netns *ns, struct qstat **list)
{
	static const uint8_t requests[] = {ETHTOOL_MSG_STATS_GET, ETHTOOL_MSG_FEC_GET,
					   ETHTOOL_MSG_LINKSTATE_GET};
	struct list rows = {.size = sizeof(**list)};
	int family = genl_family(ns, ETHTOOL_GENL_NAME);

	for (unsigned i = 0; family >= 0 && i < LENGTH(requests); i++)
		dump_standard(ns, family, requests[i], &rows);
	*list = rows.at;
	return (int)rows.n;
}

int hw_trap_add(const struct nlmsghdr *nlh, void *rows)
{
	const struct nlattr *type = nl_attr(nlh, GENL_HDRLEN, DEVLINK_ATTR_TRAP_TYPE);
	const struct nlattr *stats = nl_attr(nlh, GENL_HDRLEN, DEVLINK_ATTR_STATS);
	const uint64_t action = nl_uint(nl_attr(nlh, GENL_HDRLEN, DEVLINK_ATTR_TRAP_ACTION));
	char bus[16], device[32];
	struct hw_trap *t;

	/* the others continue in the kernel: exceptions and control packets */
	if (!type || nl_uint(type) != DEVLINK_TRAP_TYPE_DROP || !stats)
		return MNL_CB_OK;
	t = list_add(rows);
	nl_text(nl_attr(nlh, GENL_HDRLEN, DEVLINK_ATTR_BUS_NAME), bus, sizeof(bus));
	nl_text(nl_attr(nlh, GENL_HDRLEN, DEVLINK_ATTR_DEV_NAME), device, sizeof(device));
	nl_text(nl_attr(nlh, GENL_HDRLEN, DEVLINK_ATTR_TRAP_NAME), t->name, sizeof(t->name));
	snprintf(t->device, sizeof(t->device), "%s/%s", bus, device);
	t->lost = nl_uint(nl_nested(stats, DEVLINK_ATTR_STATS_RX_DROPPED));
	if (action == DEVLINK_TRAP_ACTION_TRAP)
		t->lost += nl_uint(nl_nested(stats, DEVLINK_ATTR_STATS_RX_PACKETS));
	return MNL_CB_OK;
}

int hw_traps_read(const struct netns *ns, struct hw_trap **list)
{
	struct list rows = {.size = sizeof(**list)};
	int family = genl_family(ns, DEVLINK_GENL_NAME), n = family;
	char buf[NL_REQUEST_SIZE];

	if (family >= 0)
		n = nl_dump(ns, NETLINK_GENERIC,
			    genl_header(buf, family, DEVLINK_CMD_TRAP_GET, NLM_F_DUMP), hw_trap_add,
			    &rows);
	*list = rows.at;
	return n;
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
