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
	l->hardware = nl_attr(nlh, sizeof(*ifi), IFLA_PARENT_DEV_NAME);
	l->xdp_attached = (unsigned)nl_uint(nl_nested(xdp, IFLA_XDP_ATTACHED));
	l->xdp_program = (unsigned)nl_uint(nl_nested(xdp, IFLA_XDP_PROG_ID));
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
static void add_standard(struct nic_sample *s, uint16_t group, const struct nlattr *in)
{
	const struct nlattr *a;
	uint64_t value;

	mnl_attr_for_each_nested(a, in)
	{
		for (unsigned i = 0; i < LENGTH(standard); i++) {
			if (standard[i].group != group || standard[i].attribute != mnl_attr_get_type(a))
				continue;
			nl_copy(a, &value, sizeof(value));
			nic_sample_add(s, standard[i].name, value);
		}
	}
}

int standard_stats_add(const struct nlmsghdr *nlh, void *sample)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a, *part, *down;

	mnl_attr_for_each(a, nlh, GENL_HDRLEN)
	{
		if (genl->cmd == ETHTOOL_MSG_FEC_GET_REPLY &&
		    mnl_attr_get_type(a) == ETHTOOL_A_FEC_STATS)
			add_standard(sample, GROUP_FEC, a);
		if (genl->cmd != ETHTOOL_MSG_STATS_GET_REPLY ||
		    mnl_attr_get_type(a) != ETHTOOL_A_STATS_GRP)
			continue;
		mnl_attr_for_each_nested(part, a)
		{
			if (mnl_attr_get_type(part) == ETHTOOL_A_STATS_GRP_STAT)
				add_standard(
					sample,
					(uint16_t)nl_uint(nl_nested(a, ETHTOOL_A_STATS_GRP_ID)),
					part);
		}
	}
	down = genl->cmd == ETHTOOL_MSG_LINKSTATE_GET_REPLY
		       ? nl_attr(nlh, GENL_HDRLEN, ETHTOOL_LINKSTATE_DOWN_CNT)
		       : NULL;
	if (down)
		nic_sample_add(sample, "link-down-events", nl_uint(down));
	return MNL_CB_OK;
}

static void ask_standard(const struct netns *ns, int family, uint8_t request, unsigned ifindex,
			 struct nic_sample *s)
{
	const bool stats = request == ETHTOOL_MSG_STATS_GET;
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = genl_header(buf, family, request, 0);
	struct nlattr *nest =
		mnl_attr_nest_start(nlh, stats ? ETHTOOL_A_STATS_HEADER : ETHTOOL_A_FEC_HEADER);

	mnl_attr_put_u32(nlh, ETHTOOL_A_HEADER_DEV_INDEX, ifindex);
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
	nl_query_bus(ns, NETLINK_GENERIC, nlh, standard_stats_add, s);
}

void standard_stats_read(const struct netns *ns, const struct link_info *link, struct nic_sample *s,
			 uint8_t *silent)
{
	static const uint8_t requests[] = {ETHTOOL_MSG_STATS_GET, ETHTOOL_MSG_FEC_GET,
					   ETHTOOL_MSG_LINKSTATE_GET};
	int family = 0;

	for (unsigned i = 0; link->hardware && i < LENGTH(requests); i++) {
		const unsigned before = s->n;

		if (*silent & 1 << i)
			continue;
		if (!family)
			family = genl_family(ns, ETHTOOL_GENL_NAME);
		if (family > 0)
			ask_standard(ns, family, requests[i], link->ifindex, s);
		/* without a link, some drivers have no counters yet */
		if (s->n == before && link->flags & IFF_RUNNING)
			*silent |= 1 << i;
	}
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
#define NETDEV_FAMILY		       "netdev"
#define NETDEV_CMD_DEV_GET	       1
#define NETDEV_CMD_PAGE_POOL_STATS_GET 9
#define NETDEV_CMD_QSTATS_GET	       12
#define NETDEV_QSTATS_SCOPE_QUEUE      1

enum { NETDEV_A_DEV_IFINDEX = 1, NETDEV_A_DEV_XDP_FEATURES = 3 };

enum { NETDEV_A_QSTATS_IFINDEX = 1, NETDEV_A_QSTATS_QUEUE_ID = 3, NETDEV_A_QSTATS_SCOPE };

enum { NETDEV_A_PAGE_POOL_IFINDEX = 2, NETDEV_A_PAGE_POOL_STATS_INFO = 1 };

static const struct {
	uint16_t attribute;
	const char *name;
	bool pool; /* of a page pool, otherwise of queues */
} netdev_stats[] = {{8, "rx-packets", false},
		    {9, "rx-bytes", false},
		    {10, "tx-packets", false},
		    {11, "tx-bytes", false},
		    {12, "rx-alloc-fail", false},
		    {13, "rx-hw-drops", false},
		    {14, "rx-hw-drop-overruns", false},
		    {18, "rx-csum-bad", false},
		    {23, "rx-hw-drop-ratelimits", false},
		    {24, "tx-hw-drops", false},
		    {25, "tx-hw-drop-errors", false},
		    {32, "tx-hw-drop-ratelimits", false},
		    {33, "tx-stop", false},
		    {11, "alloc-empty", true},
		    {13, "alloc-waive", true},
		    {17, "recycle-ring-full", true}};

void qstat_name(const char *what, int queue, char out[NIC_NAME])
{
	if (queue < 0)
		snprintf(out, NIC_NAME, "qstat:%s", what);
	else
		snprintf(out, NIC_NAME, "qstat:%.2s-%d%s", what, queue, what + 2);
}

int qstats_add(const struct nlmsghdr *nlh, void *rows)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const bool pool = genl->cmd == NETDEV_CMD_PAGE_POOL_STATS_GET;
	const struct nlattr *queue = nl_attr(nlh, GENL_HDRLEN, NETDEV_A_QSTATS_QUEUE_ID);
	const struct nlattr *device = nl_attr(
		nlh, GENL_HDRLEN, pool ? NETDEV_A_PAGE_POOL_STATS_INFO : NETDEV_A_QSTATS_IFINDEX);

	if (pool)
		device = nl_nested(device, NETDEV_A_PAGE_POOL_IFINDEX);
	for (unsigned i = 0; i < LENGTH(netdev_stats); i++) {
		const struct nlattr *a = nl_attr(nlh, GENL_HDRLEN, netdev_stats[i].attribute);
		struct qstat *q;

		if (!a || netdev_stats[i].pool != pool)
			continue;
		q = list_add(rows);
		q->ifindex = (unsigned)nl_uint(device);
		q->value = nl_uint(a);
		if (pool)
			snprintf(q->name, sizeof(q->name), "pool:%s", netdev_stats[i].name);
		else
			qstat_name(netdev_stats[i].name, queue ? (int)nl_uint(queue) : -1, q->name);
	}
	return MNL_CB_OK;
}

int qstats_read(const struct netns *ns, struct qstat **list)
{
	static const struct {
		uint8_t command;
		uint32_t scope;
	} dumps[] = {{NETDEV_CMD_QSTATS_GET, 0},
		     {NETDEV_CMD_QSTATS_GET, NETDEV_QSTATS_SCOPE_QUEUE},
		     {NETDEV_CMD_PAGE_POOL_STATS_GET, 0}};
	struct list rows = {.size = sizeof(**list)};
	int family = genl_family(ns, NETDEV_FAMILY), ret = family == -ENOENT ? 0 : family;
	char buf[NL_REQUEST_SIZE];

	for (unsigned i = 0; family >= 0 && ret >= 0 && i < LENGTH(dumps); i++) {
		struct nlmsghdr *nlh = genl_header(buf, family, dumps[i].command, NLM_F_DUMP);

		if (dumps[i].scope)
			mnl_attr_put_u32(nlh, NETDEV_A_QSTATS_SCOPE, dumps[i].scope);
		ret = nl_dump(ns, NETLINK_GENERIC, nlh, qstats_add, &rows);
		if (ret == -EOPNOTSUPP || ret == -EINVAL)
			ret = (int)rows.n; /* unknown to this kernel */
	}
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
