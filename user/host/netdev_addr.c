// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses, neighbours and routes. */
#include "host/netdev.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "host/nl.h"

#define NUD_USABLE (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)

static size_t addr_len(int family)
{
	return family == AF_INET6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
}

int netdev_add_addr(const struct netns *ns, unsigned ifindex, int family, const void *addr,
		    unsigned prefix)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));

	ifa->ifa_family = family;
	ifa->ifa_prefixlen = prefix;
	ifa->ifa_scope = RT_SCOPE_UNIVERSE;
	ifa->ifa_index = ifindex;
	mnl_attr_put(nlh, IFA_LOCAL, addr_len(family), addr);
	mnl_attr_put(nlh, IFA_ADDRESS, addr_len(family), addr);
	return nl_request(ns, nlh);
}

static struct nlmsghdr *neigh_request(char *buf, uint16_t type, uint16_t flags, unsigned ifindex,
				      int family, const void *addr, uint16_t state)
{
	struct nlmsghdr *nlh = nl_header(buf, type, flags);
	struct ndmsg *nd = mnl_nlmsg_put_extra_header(nlh, sizeof(*nd));

	nd->ndm_family = family;
	nd->ndm_ifindex = ifindex;
	nd->ndm_state = state;
	mnl_attr_put(nlh, NDA_DST, addr_len(family), addr);
	return nlh;
}

int netdev_add_neigh(const struct netns *ns, unsigned ifindex, int family, const void *addr,
		     const uint8_t mac[6])
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = neigh_request(buf, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE,
					     ifindex, family, addr, NUD_PERMANENT);

	mnl_attr_put(nlh, NDA_LLADDR, 6, mac);
	return nl_request(ns, nlh);
}

int netdev_del_neigh(const struct netns *ns, unsigned ifindex, int family, const void *addr)
{
	char buf[NL_REQUEST_SIZE];

	return nl_request(ns, neigh_request(buf, RTM_DELNEIGH, 0, ifindex, family, addr, 0));
}

struct asked {
	unsigned ifindex, n;
};

static int on_asked(const struct nlmsghdr *nlh, void *arg)
{
	const struct ndmsg *nd = mnl_nlmsg_get_payload(nlh);
	struct asked *asked = arg;

	asked->n += (unsigned)nd->ndm_ifindex == asked->ifindex && nd->ndm_state & NUD_INCOMPLETE;
	return MNL_CB_OK;
}

unsigned netdev_asked_neighs(const struct netns *ns, unsigned ifindex)
{
	struct asked asked;
	char buf[NL_REQUEST_SIZE];
	int ret;

	do {
		struct nlmsghdr *nlh = nl_header(buf, RTM_GETNEIGH, NLM_F_DUMP);

		mnl_nlmsg_put_extra_header(nlh, sizeof(struct ndmsg));
		asked = (struct asked){.ifindex = ifindex};
		ret = nl_query(ns, nlh, on_asked, &asked);
	} while (ret == -EINTR);
	return ret ? 0 : asked.n;
}

static int add_route(const struct netns *ns, unsigned ifindex, int family, const void *dst,
		     unsigned prefix, const void *via, int type)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
	struct rtmsg *rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));

	rt->rtm_family = family;
	rt->rtm_dst_len = prefix;
	rt->rtm_table = type == RTN_LOCAL ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
	rt->rtm_protocol = RTPROT_STATIC;
	rt->rtm_scope = type == RTN_LOCAL				     ? RT_SCOPE_HOST
			: via || family == AF_INET6 || type == RTN_BLACKHOLE ? RT_SCOPE_UNIVERSE
									     : RT_SCOPE_LINK;
	rt->rtm_type = type;
	if (prefix)
		mnl_attr_put(nlh, RTA_DST, addr_len(family), dst);
	if (via)
		mnl_attr_put(nlh, RTA_GATEWAY, addr_len(family), via);
	if (ifindex)
		mnl_attr_put_u32(nlh, RTA_OIF, ifindex);
	return nl_request(ns, nlh);
}

int netdev_add_route(const struct netns *ns, unsigned ifindex, int family, const void *dst,
		     unsigned prefix, const void *via)
{
	return add_route(ns, ifindex, family, dst, prefix, via, RTN_UNICAST);
}

int netdev_add_local(const struct netns *ns, unsigned ifindex, int family, const void *dst,
		     unsigned prefix)
{
	return add_route(ns, ifindex, family, dst, prefix, NULL, RTN_LOCAL);
}

int netdev_add_blackhole(const struct netns *ns, int family, const void *dst, unsigned prefix)
{
	return add_route(ns, 0, family, dst, prefix, NULL, RTN_BLACKHOLE);
}

/* What the kernel answers about the way to an address. */
struct route {
	int type;   /* RTN_* */
	int family; /* of the next hop; an IPv4 route can have an IPv6 one (RFC 5549) */
	unsigned ifindex;
	uint8_t hop[16];
	uint8_t src[16];
};

static int on_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct route *r = arg;
	const struct nlattr *a;

	r->type = rt->rtm_type;
	mnl_attr_for_each(a, nlh, sizeof(*rt))
	{
		const void *data = mnl_attr_get_payload(a);
		size_t len = mnl_attr_get_payload_len(a);
		const struct rtvia *via = data;

		switch (mnl_attr_get_type(a)) {
		case RTA_OIF:
			r->ifindex = mnl_attr_get_u32(a);
			break;
		case RTA_GATEWAY:
			memcpy(r->hop, data, len < sizeof(r->hop) ? len : sizeof(r->hop));
			break;
		case RTA_VIA:
			r->family = via->rtvia_family;
			memcpy(r->hop, via->rtvia_addr, addr_len(r->family));
			break;
		case RTA_PREFSRC:
			memcpy(r->src, data, len < sizeof(r->src) ? len : sizeof(r->src));
			break;
		}
	}
	return MNL_CB_OK;
}

static int find_route(const struct netns *ns, int family, const void *addr, struct route *r)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_GETROUTE, 0);
	struct rtmsg *rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));

	rt->rtm_family = family;
	rt->rtm_dst_len = addr_len(family) * 8;
	mnl_attr_put(nlh, RTA_DST, addr_len(family), addr);
	memset(r, 0, sizeof(*r));
	r->family = family;
	memcpy(r->hop, addr, addr_len(family)); /* on the link, unless a gateway is told */
	return nl_query(ns, nlh, on_route, r);
}

unsigned netdev_way(const struct netns *ns, const struct endpoint *to)
{
	const void *addr = to->family == AF_INET6 ? (const void *)&to->ip6 : &to->ip4;
	struct route r;

	return to->family && !find_route(ns, to->family, addr, &r) ? (unsigned)r.ifindex : 0;
}

struct neigh {
	bool usable;
	uint8_t mac[6];
};

static int on_neigh(const struct nlmsghdr *nlh, void *arg)
{
	const struct ndmsg *nd = mnl_nlmsg_get_payload(nlh);
	struct neigh *n = arg;
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, sizeof(*nd))
	{
		if (mnl_attr_get_type(a) == NDA_LLADDR &&
		    mnl_attr_get_payload_len(a) == sizeof(n->mac)) {
			memcpy(n->mac, mnl_attr_get_payload(a), sizeof(n->mac));
			n->usable = nd->ndm_state & NUD_USABLE;
		}
	}
	return MNL_CB_OK;
}

int netdev_next_hop(const struct netns *ns, int family, const void *addr, unsigned *ifindex,
		    uint8_t mac[6], void *src_addr)
{
	char buf[NL_REQUEST_SIZE];
	struct neigh neigh = {.usable = false};
	struct route r;
	int ret = find_route(ns, family, addr, &r);

	if (ret)
		return ret;
	*ifindex = r.ifindex;
	memcpy(src_addr, r.src, addr_len(family));
	memset(mac, 0, 6);
	if (r.type == RTN_LOCAL)
		return 0;
	if (r.type != RTN_UNICAST)
		return -ENETUNREACH;
	ret = nl_query(ns, neigh_request(buf, RTM_GETNEIGH, 0, r.ifindex, r.family, r.hop, 0),
		       on_neigh, &neigh);
	if (ret)
		return ret;
	if (!neigh.usable)
		return -ENOENT;
	memcpy(mac, neigh.mac, 6);
	return 0;
}
