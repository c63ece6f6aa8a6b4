// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/netdev.h"

#include <errno.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>

#include "host/netdev_ethtool.h"
#include "host/nl.h"

static struct nlmsghdr *link_header(char *buf, uint16_t type, uint16_t flags,
				    const struct ifinfomsg *change)
{
	struct nlmsghdr *nlh = nl_header(buf, type, flags);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	if (change)
		*ifi = *change;
	return nlh;
}

static int on_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct netdev *dev = arg;
	const struct nlattr *a;

	dev->ifindex = ifi->ifi_index;
	dev->flags = ifi->ifi_flags;
	dev->loopback = ifi->ifi_flags & IFF_LOOPBACK;
	mnl_attr_for_each(a, nlh, sizeof(*ifi))
	{
		switch (mnl_attr_get_type(a)) {
		case IFLA_ADDRESS:
			if (mnl_attr_get_payload_len(a) == sizeof(dev->mac))
				memcpy(dev->mac, mnl_attr_get_payload(a), sizeof(dev->mac));
			break;
		case IFLA_MTU:
			dev->mtu = mnl_attr_get_u32(a);
			break;
		case IFLA_NUM_RX_QUEUES:
			dev->rx_queues = mnl_attr_get_u32(a);
			break;
		case IFLA_NUM_TX_QUEUES:
			dev->tx_queues = mnl_attr_get_u32(a);
			break;
		case IFLA_MASTER:
			dev->has_master = true;
			break;
		}
	}
	return MNL_CB_OK;
}

static int on_addr(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	struct netdev *dev = arg;

	if (ifa->ifa_index == dev->ifindex &&
	    (ifa->ifa_family == AF_INET ||
	     (ifa->ifa_family == AF_INET6 && ifa->ifa_scope == RT_SCOPE_UNIVERSE)))
		dev->has_address = true;
	return MNL_CB_OK;
}

static bool multipath_uses(const struct nlattr *a, unsigned ifindex)
{
	const struct rtnexthop *nh = mnl_attr_get_payload(a);
	int len = mnl_attr_get_payload_len(a);

	for (; RTNH_OK(nh, len); len -= RTNH_ALIGN(nh->rtnh_len), nh = RTNH_NEXT(nh)) {
		if ((unsigned)nh->rtnh_ifindex == ifindex)
			return true;
	}
	return false;
}

static int on_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct netdev *dev = arg;
	const struct nlattr *a;

	if (rt->rtm_dst_len || rt->rtm_table != RT_TABLE_MAIN || rt->rtm_type != RTN_UNICAST)
		return MNL_CB_OK;
	mnl_attr_for_each(a, nlh, sizeof(*rt))
	{
		if ((mnl_attr_get_type(a) == RTA_OIF && mnl_attr_get_u32(a) == dev->ifindex) ||
		    (mnl_attr_get_type(a) == RTA_MULTIPATH && multipath_uses(a, dev->ifindex)))
			dev->default_route = true;
	}
	return MNL_CB_OK;
}

/* A dump of one family; a kernel without IPv6 answers for the others. */
static int dump_family(const struct netns *ns, uint16_t type, int family, mnl_cb_t cb, void *arg)
{
	char buf[NL_REQUEST_SIZE];
	int ret;

	do {
		struct nlmsghdr *nlh = nl_header(buf, type, NLM_F_DUMP);
		/* struct ifaddrmsg begins with the family as well, and is no longer */
		struct rtmsg *rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));

		rt->rtm_family = family;
		ret = nl_query(ns, nlh, cb, arg);
	} while (ret == -EINTR);
	return ret;
}

int netdev_get(const struct netns *ns, const char *ifname, struct netdev *dev)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = link_header(buf, RTM_GETLINK, 0, NULL);
	int ret;

	memset(dev, 0, sizeof(*dev));
	dev->speed_mbit = -1;
	if (strlen(ifname) >= sizeof(dev->ifname))
		return -ENODEV;
	strcpy(dev->ifname, ifname);
	mnl_attr_put_strz(nlh, IFLA_IFNAME, ifname);
	ret = nl_query(ns, nlh, on_link, dev);
	if (!ret)
		ret = dump_family(ns, RTM_GETADDR, AF_UNSPEC, on_addr, dev);
	if (!ret)
		ret = dump_family(ns, RTM_GETROUTE, AF_INET, on_route, dev);
	if (!ret)
		ret = dump_family(ns, RTM_GETROUTE, AF_INET6, on_route, dev);
	return ret ? ret : netdev_ethtool_fill(ns, dev);
}

static void put_end(struct nlmsghdr *nlh, const struct netns *ns, const char *ifname,
		    const uint8_t mac[6], unsigned queues)
{
	mnl_attr_put_strz(nlh, IFLA_IFNAME, ifname);
	mnl_attr_put(nlh, IFLA_ADDRESS, 6, mac);
	mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, queues);
	mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, queues);
	if (ns && ns->fd >= 0)
		mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, ns->fd);
}

/* What devices of a kind have of their own goes between kind_begin() and kind_end(). */
struct kind {
	struct nlattr *info, *data;
};

static struct kind kind_begin(struct nlmsghdr *nlh, const char *name)
{
	struct kind k = {.info = mnl_attr_nest_start(nlh, IFLA_LINKINFO)};

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, name);
	k.data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	return k;
}

static void kind_end(struct nlmsghdr *nlh, const struct kind *k)
{
	mnl_attr_nest_end(nlh, k->data);
	mnl_attr_nest_end(nlh, k->info);
}

/* Both ends are born in their namespaces: no other ever sees them. */
int netdev_add_veth(const struct netns *ns_a, const char *a, const uint8_t mac_a[6],
		    const struct netns *ns_b, const char *b, const uint8_t mac_b[6],
		    unsigned queues)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = link_header(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, NULL);
	struct nlattr *peer;
	struct kind kind;

	if (strlen(a) >= IFNAMSIZ || strlen(b) >= IFNAMSIZ)
		return -EINVAL;
	put_end(nlh, ns_a, a, mac_a, queues);
	kind = kind_begin(nlh, "veth");
	peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	put_end(nlh, ns_b, b, mac_b, queues);
	mnl_attr_nest_end(nlh, peer);
	kind_end(nlh, &kind);
	return nl_request(NULL, nlh);
}

int netdev_add_vxlan(const struct netns *ns, const char *ifname, uint16_t port)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = link_header(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, NULL);
	struct kind kind;

	if (strlen(ifname) >= IFNAMSIZ)
		return -EINVAL;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, ifname);
	kind = kind_begin(nlh, "vxlan");
	mnl_attr_put_u8(nlh, IFLA_VXLAN_COLLECT_METADATA, 1);
	mnl_attr_put_u16(nlh, IFLA_VXLAN_PORT, htons(port));
	kind_end(nlh, &kind);
	return nl_request(ns, nlh);
}

int netdev_add_vxlan_to(const struct netns *ns, const char *ifname, const struct netdev_vxlan *v)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = link_header(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, NULL);
	struct kind kind;

	if (strlen(ifname) >= IFNAMSIZ)
		return -EINVAL;
	put_end(nlh, NULL, ifname, v->mac, v->queues);
	kind = kind_begin(nlh, "vxlan");
	mnl_attr_put_u32(nlh, IFLA_VXLAN_ID, v->vni);
	mnl_attr_put_u32(nlh, IFLA_VXLAN_GROUP, v->remote.s_addr);
	mnl_attr_put_u32(nlh, IFLA_VXLAN_LINK, v->underlay);
	mnl_attr_put_u16(nlh, IFLA_VXLAN_PORT, htons(v->port));
	mnl_attr_put_u8(nlh, IFLA_VXLAN_LEARNING, 0);
	kind_end(nlh, &kind);
	return nl_request(ns, nlh);
}

int netdev_add_bridge(const struct netns *ns, const char *ifname)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = link_header(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, NULL);
	struct kind kind;

	if (strlen(ifname) >= IFNAMSIZ)
		return -EINVAL;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, ifname);
	kind = kind_begin(nlh, "bridge");
	mnl_attr_put_u8(nlh, IFLA_BR_MCAST_SNOOPING, 0);
	mnl_attr_put_u32(nlh, IFLA_BR_STP_STATE, 0);
	kind_end(nlh, &kind);
	return nl_request(ns, nlh);
}

int netdev_set_bridge_port(const struct netns *ns, unsigned ifindex,
			   const struct netdev_bridge_port *port)
{
	const struct ifinfomsg which = {.ifi_family = AF_BRIDGE, .ifi_index = (int)ifindex};
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = link_header(buf, RTM_SETLINK, 0, &which);
	struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_PROTINFO);

	mnl_attr_put_u8(nlh, IFLA_BRPORT_STATE,
			port->blocked ? BR_STATE_DISABLED : BR_STATE_FORWARDING);
	mnl_attr_put_u8(nlh, IFLA_BRPORT_UNICAST_FLOOD, port->floods);
	mnl_attr_put_u8(nlh, IFLA_BRPORT_LEARNING, port->learns);
	if (!port->learns)
		mnl_attr_put(nlh, IFLA_BRPORT_FLUSH, 0, NULL);
	mnl_attr_nest_end(nlh, info);
	return nl_request(ns, nlh);
}

static int change_link(const struct netns *ns, const char *ifname, const struct ifinfomsg *change,
		       uint16_t attr, uint32_t value)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = link_header(buf, RTM_NEWLINK, 0, change);

	if (strlen(ifname) >= IFNAMSIZ)
		return -ENODEV;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, ifname);
	if (attr != IFLA_UNSPEC)
		mnl_attr_put_u32(nlh, attr, value);
	return nl_request(ns, nlh);
}

int netdev_set_up(const struct netns *ns, const char *ifname, bool up)
{
	struct ifinfomsg change = {.ifi_change = IFF_UP, .ifi_flags = up ? IFF_UP : 0};

	return change_link(ns, ifname, &change, IFLA_UNSPEC, 0);
}

int netdev_set_mtu(const struct netns *ns, const char *ifname, unsigned mtu)
{
	return change_link(ns, ifname, NULL, IFLA_MTU, mtu);
}

int netdev_set_master(const struct netns *ns, const char *ifname, unsigned master_ifindex)
{
	return change_link(ns, ifname, NULL, IFLA_MASTER, master_ifindex);
}
