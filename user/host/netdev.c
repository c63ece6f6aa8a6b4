// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Interfaces, addresses, routes, neighbours and qdiscs, over rtnetlink. */
#include "host/netdev.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/proc.h"
#include "host/counters.h"
#include "host/nl.h"

static int on_addr(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *own = nl_attr(nlh, sizeof(*ifa), IFA_LOCAL);
	struct netdev *dev = arg;
	bool six = ifa->ifa_family == AF_INET6;

	if (ifa->ifa_index != dev->link.ifindex || (!six && ifa->ifa_family != AF_INET) ||
	    (six && ifa->ifa_scope != RT_SCOPE_UNIVERSE))
		return MNL_CB_OK;
	if (!own) /* otherwise IFA_ADDRESS is the peer's address */
		own = nl_attr(nlh, sizeof(*ifa), IFA_ADDRESS);
	if (own && six && IN6_IS_ADDR_UNSPECIFIED(&dev->ip6))
		memcpy(&dev->ip6, mnl_attr_get_payload(own), sizeof(dev->ip6));
	else if (own && !six && !dev->ip4.s_addr)
		memcpy(&dev->ip4, mnl_attr_get_payload(own), sizeof(dev->ip4));
	return MNL_CB_OK;
}

static int on_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *hops = nl_attr(nlh, sizeof(*rt), RTA_MULTIPATH);
	const struct rtnexthop *nh = hops ? mnl_attr_get_payload(hops) : NULL;
	int len = hops ? mnl_attr_get_payload_len(hops) : 0;
	struct netdev *dev = arg;

	if (rt->rtm_dst_len || rt->rtm_table != RT_TABLE_MAIN || rt->rtm_type != RTN_UNICAST)
		return MNL_CB_OK;
	dev->default_route |= nl_uint(nl_attr(nlh, sizeof(*rt), RTA_OIF)) == dev->link.ifindex;
	for (; len >= (int)sizeof(*nh) && RTNH_OK(nh, len);
	     len -= RTNH_ALIGN(nh->rtnh_len), nh = RTNH_NEXT(nh))
		dev->default_route |= (unsigned)nh->rtnh_ifindex == dev->link.ifindex;
	return MNL_CB_OK;
}

/* Dumps one address family. A kernel without IPv6 answers with entries of other families. */
static int dump_family(const struct netns *ns, uint16_t type, int family, mnl_cb_t cb, void *arg)
{
	char buf[NL_REQUEST_SIZE];
	int ret;

	do {
		struct nlmsghdr *nlh = nl_header(buf, type, NLM_F_DUMP);
		/* ifaddrmsg and ndmsg also start with the family and are no longer than rtmsg */
		struct rtmsg *rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));

		rt->rtm_family = family;
		ret = nl_query(ns, nlh, cb, arg);
	} while (ret == -EINTR);
	return ret;
}

int netdev_get(const struct netns *ns, const char *ifname, struct netdev *dev)
{
	int ret = nl_ifindex(ns, ifname);

	*dev = (struct netdev){.speed_mbit = -1};
	if (ret >= 0)
		ret = link_read(ns, (unsigned)ret, -1, &dev->link);
	if (ret)
		return ret;
	snprintf(dev->link.ifname, sizeof(dev->link.ifname), "%s", ifname);
	ret = dump_family(ns, RTM_GETADDR, AF_UNSPEC, on_addr, dev);
	if (!ret)
		ret = dump_family(ns, RTM_GETROUTE, AF_INET, on_route, dev);
	if (!ret)
		ret = dump_family(ns, RTM_GETROUTE, AF_INET6, on_route, dev);
	if (!ret)
		netdev_ethtool_fill(ns, dev);
	return ret;
}

int netdev_set_up(const struct netns *ns, const char *ifname, bool up)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_NEWLINK, 0);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	ifi->ifi_change = IFF_UP;
	ifi->ifi_flags = up ? IFF_UP : 0;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, ifname);
	return nl_query(ns, nlh, NULL, NULL);
}

/* ---- neighbours and routes ---- */

#define NUD_USABLE (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)

static size_t addr_len(int family)
{
	return family == AF_INET6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
}

static struct nlmsghdr *neigh_request(char *buf, unsigned ifindex, int family, const void *addr)
{
	struct nlmsghdr *nlh = nl_header(buf, RTM_GETNEIGH, 0);
	struct ndmsg *nd = mnl_nlmsg_put_extra_header(nlh, sizeof(*nd));

	nd->ndm_family = family;
	nd->ndm_ifindex = ifindex;
	mnl_attr_put(nlh, NDA_DST, addr_len(family), addr);
	return nlh;
}

#define RECENT 200 /* in units of 1/100 s, time since a packet was last queued for the neighbour */

struct asked {
	unsigned ifindex;
	struct endpoint who; /* no family: not found yet */
};

static int on_asked(const struct nlmsghdr *nlh, void *arg)
{
	const struct ndmsg *nd = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *dst = nl_attr(nlh, sizeof(*nd), NDA_DST);
	struct asked *asked = arg;
	struct nda_cacheinfo cache = {.ndm_used = RECENT};
	bool asks = nd->ndm_state & NUD_INCOMPLETE;

	nl_copy(nl_attr(nlh, sizeof(*nd), NDA_CACHEINFO), &cache, sizeof(cache));
	asks |= !asked->ifindex && nd->ndm_state & NUD_FAILED && cache.ndm_used < RECENT;
	if (asked->who.family || !asks ||
	    (asked->ifindex && (unsigned)nd->ndm_ifindex != asked->ifindex))
		return MNL_CB_OK;
	asked->who.family = nd->ndm_family;
	nl_copy(dst, nd->ndm_family == AF_INET6 ? (void *)&asked->who.ip6 : &asked->who.ip4,
		addr_len(nd->ndm_family));
	return MNL_CB_OK;
}

bool netdev_asks_neigh(const struct netns *ns, unsigned ifindex, struct endpoint *who)
{
	struct asked asked = {.ifindex = ifindex};

	if (dump_family(ns, RTM_GETNEIGH, AF_UNSPEC, on_asked, &asked))
		return false;
	*who = asked.who;
	return who->family;
}

/* The kernel's reply to a route lookup. */
struct route {
	int type;   /* RTN_* */
	int family; /* family of the next hop: an IPv4 route can have an IPv6 next hop (RFC 5549) */
	unsigned ifindex;
	uint8_t hop[16];
	uint8_t src[16];
};

static int on_way(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *hop = nl_attr(nlh, sizeof(*rt), RTA_GATEWAY);
	const struct nlattr *other = nl_attr(nlh, sizeof(*rt), RTA_VIA);
	struct route *r = arg;

	r->type = rt->rtm_type;
	r->ifindex = (unsigned)nl_uint(nl_attr(nlh, sizeof(*rt), RTA_OIF));
	nl_copy(nl_attr(nlh, sizeof(*rt), RTA_PREFSRC), r->src, sizeof(r->src));
	if (hop)
		nl_copy(hop, r->hop, sizeof(r->hop));
	if (other) {
		const struct rtvia *via = mnl_attr_get_payload(other);

		r->family = via->rtvia_family;
		memcpy(r->hop, via->rtvia_addr, addr_len(r->family));
	}
	return MNL_CB_OK;
}

static int find_route(const struct netns *ns, const struct endpoint *to, struct route *r)
{
	const void *addr = to->family == AF_INET6 ? (const void *)&to->ip6 : &to->ip4;
	const size_t len = addr_len(to->family);
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_GETROUTE, 0);
	struct rtmsg *rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));

	rt->rtm_family = to->family;
	rt->rtm_dst_len = len * 8;
	mnl_attr_put(nlh, RTA_DST, len, addr);
	*r = (struct route){.family = to->family};
	memcpy(r->hop, addr, len); /* on-link, unless a gateway follows */
	return nl_query(ns, nlh, on_way, r);
}

unsigned netdev_way(const struct netns *ns, const struct endpoint *to)
{
	struct route r;

	return to->family && !find_route(ns, to, &r) ? r.ifindex : 0;
}

static int on_state(const struct nlmsghdr *nlh, void *arg)
{
	const struct ndmsg *nd = mnl_nlmsg_get_payload(nlh);

	*(unsigned *)arg = nd->ndm_state;
	return MNL_CB_OK;
}

enum netdev_hop netdev_hop(const struct netns *ns, const struct endpoint *to, unsigned *ifindex)
{
	char buf[NL_REQUEST_SIZE];
	unsigned state = 0;
	struct route r;

	if (!to->family || find_route(ns, to, &r))
		return HOP_UNKNOWN;
	*ifindex = r.ifindex;
	if (r.type == RTN_LOCAL)
		return HOP_LOCAL;
	nl_query(ns, neigh_request(buf, r.ifindex, r.family, r.hop), on_state,
		 &state);
	return state & NUD_FAILED ? HOP_SILENT : state & NUD_INCOMPLETE ? HOP_ASKED : HOP_UNKNOWN;
}

/* Stores the MAC address if the entry is usable. */
static int on_neigh(const struct nlmsghdr *nlh, void *arg)
{
	const struct ndmsg *nd = mnl_nlmsg_get_payload(nlh);

	if (nd->ndm_state & NUD_USABLE && nl_mac(nl_attr(nlh, sizeof(*nd), NDA_LLADDR), arg))
		return MNL_CB_OK;
	errno = ENOENT;
	return MNL_CB_ERROR;
}

int netdev_next_hop(const struct netns *ns, const struct endpoint *to, unsigned *ifindex,
		    uint8_t mac[6], void *src_addr)
{
	char buf[NL_REQUEST_SIZE];
	struct route r;
	int ret = find_route(ns, to, &r);

	if (ret)
		return ret;
	*ifindex = r.ifindex;
	memcpy(src_addr, r.src, addr_len(to->family));
	memset(mac, 0, 6);
	if (r.type == RTN_LOCAL)
		return 0;
	if (r.type != RTN_UNICAST)
		return -ENETUNREACH;
	return nl_query(ns, neigh_request(buf, r.ifindex, r.family, r.hop),
			on_neigh, mac);
}

/* ---- qdiscs ---- */

#define LIMIT_STRUCT UINT16_MAX /* the options are a struct tc_fifo_qopt, not attributes */

/* Which option attribute contains the limit. Options that are left out keep their values. */
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

void netdev_qdisc_read(const struct nlmsghdr *nlh, struct netdev_qdisc *q)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *limit = nl_attr(nlh, sizeof(*tc), TCA_OPTIONS);
	uint16_t attr = 0; /* 0: limits are not supported for this kind */

	*q = (struct netdev_qdisc){.handle = tc->tcm_handle};
	nl_text(nl_attr(nlh, sizeof(*tc), TCA_KIND), q->kind, sizeof(q->kind));
	for (unsigned i = 0; i < LENGTH(limits); i++)
		attr = strcmp(limits[i].kind, q->kind) ? attr : limits[i].attr;
	if (attr != LIMIT_STRUCT)
		limit = attr ? nl_nested(limit, attr) : NULL;
	q->limited = limit && mnl_attr_get_payload_len(limit) >= sizeof(q->limit);
	if (q->limited)
		nl_copy(limit, &q->limit, sizeof(q->limit));
}

int netdev_qdisc_root(const struct netns *ns, unsigned ifindex, struct netdev_qdisc *q)
{
	struct link_qdisc of_link;
	int ret = link_read_qdisc(ns, ifindex, &of_link);

	*q = ret ? (struct netdev_qdisc){} : of_link.root;
	return ret || *q->kind ? ret : -ENOENT;
}

/* ---- fragments ---- */

#define UDP_HEADER	8
#define UDP_PAYLOAD_MAX 65507 /* bytes, limit of IPv4's length field, also used for IPv6 */

uint64_t reassembly_queues(const struct netns *ns)
{
	int saved = netns_push(ns);
	uint64_t queues;

	if (saved < 0)
		return 0;
	/* /proc/net shows the namespace of the process's first thread */
	queues = proc_number("/proc/thread-self/net/sockstat", "FRAG: inuse") +
		 proc_number("/proc/thread-self/net/sockstat6", "FRAG6: inuse");
	netns_pop(saved);
	return queues;
}

unsigned reassembly_best_payload(bool ipv6, unsigned mtu)
{
	unsigned header = ipv6 ? 40 : 20, whole, fragment, n;

	if (mtu <= header + UDP_HEADER + 8)
		return 0;
	whole = mtu - header - UDP_HEADER;
	fragment = (mtu - header - (ipv6 ? 8 : 0)) & ~7u; /* IPv6 adds an 8-byte fragment header */
	if (!fragment)
		return whole;
	n = (UDP_PAYLOAD_MAX + UDP_HEADER) / fragment;
	if (n * fragment - UDP_HEADER > whole && n > 1)
		return n * fragment - UDP_HEADER;
	return whole < UDP_PAYLOAD_MAX ? whole : UDP_PAYLOAD_MAX;
}

unsigned reassembly_path_mtu(const struct endpoint *to)
{
	const struct endpoint any_port = {to->family, to->ip4, to->ip6, 9};
	bool ipv6 = to->family == AF_INET6;
	int fd = socket(to->family, SOCK_DGRAM | SOCK_CLOEXEC, 0), mtu = 0;
	struct sockaddr_storage addr;
	socklen_t addr_size = socket_address(&any_port, &addr), len = sizeof(mtu);

	if (fd < 0)
		return 0;
	if (connect(fd, (void *)&addr, addr_size) ||
	    getsockopt(fd, ipv6 ? SOL_IPV6 : SOL_IP, ipv6 ? IPV6_MTU : IP_MTU, &mtu, &len))
		mtu = 0;
	close(fd);
	return (unsigned)mtu;
}

bool reassembly_fragments(const struct endpoint *to, unsigned payload)
{
	unsigned mtu = reassembly_path_mtu(to);

	return mtu && payload + UDP_HEADER + (to->family == AF_INET6 ? 40 : 20) > mtu;
}
