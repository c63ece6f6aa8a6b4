// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What every lab is made of: quiet namespaces, links, addresses. */
#include "host/lab_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "host/netdev.h"

struct setting {
	const char *path, *value;
};

/* Before the devices exist, so that they are born with it. */
static const struct setting quiet4[] = {
	{"net/ipv4/conf/all/rp_filter", "0"},
	{"net/ipv4/conf/default/rp_filter", "0"},
	{"net/ipv4/conf/default/arp_notify", "0"},
};

/*
 * MLDv1, because there the kernel shows in /proc/net/igmp6 whether a report is still to come, and
 * its second report comes within the interval set here instead of 10 s.
 */
static const struct setting quiet6[] = {
	{"net/ipv6/conf/all/disable_ipv6", "0"},
	{"net/ipv6/conf/default/disable_ipv6", "0"},
	{"net/ipv6/conf/all/accept_dad", "0"},
	{"net/ipv6/conf/default/accept_dad", "0"},
	{"net/ipv6/conf/default/dad_transmits", "0"},
	{"net/ipv6/conf/default/accept_ra", "0"},
	{"net/ipv6/conf/default/autoconf", "0"},
	{"net/ipv6/conf/default/router_solicitations", "0"},
	{"net/ipv6/conf/default/ndisc_notify", "0"},
	{"net/ipv6/conf/default/use_tempaddr", "0"},
	{"net/ipv6/conf/default/addr_gen_mode", "1"}, /* IN6_ADDR_GEN_MODE_NONE */
	{"net/ipv6/conf/default/force_mld_version", "1"},
	{"net/ipv6/conf/default/mldv1_unsolicited_report_interval", "1"},
};

static const struct setting forward[] = {
	{"net/ipv4/ip_forward", "1"},
	{"net/ipv6/conf/all/forwarding", "1"},
};

static int apply(const struct netns *ns, const struct setting *s, unsigned n, struct error *err)
{
	for (unsigned i = 0; i < n; i++) {
		int ret = netns_sysctl_write(ns, s[i].path, s[i].value);

		if (ret && !(ret == -ENOENT && !strncmp(s[i].path, "net/ipv6/", 9)))
			return error_set(err, STATUS_FAILED, ret, NULL,
					 "cannot write %s to /proc/sys/%s: %s", s[i].value,
					 s[i].path, strerror(-ret));
	}
	return 0;
}

int lab_make_namespace(struct netns *ns, bool router, struct error *err)
{
	int ret = netns_create(ns, err);

	if (!ret)
		ret = apply(ns, quiet4, sizeof(quiet4) / sizeof(*quiet4), err);
	if (!ret)
		ret = apply(ns, quiet6, sizeof(quiet6) / sizeof(*quiet6), err);
	if (!ret && router)
		ret = apply(ns, forward, sizeof(forward) / sizeof(*forward), err);
	return ret;
}

int lab_read_port(struct lab_port *p)
{
	struct netdev dev;
	int ret = netdev_get(p->ns, p->ifname, &dev);

	p->ifindex = dev.ifindex;
	p->mtu = dev.mtu;
	p->queues = dev.rx_queues;
	return ret;
}

/* The device as every experiment expects it, whatever the kernel's default is. */
static int set_up_port(struct lab_port *p, unsigned mtu)
{
	int ret = netdev_set_mtu(p->ns, p->ifname, mtu);

	if (!ret)
		ret = netdev_set_feature(p->ns, p->ifname, "rx-gro", false);
	if (!ret)
		ret = netdev_set_up(p->ns, p->ifname, true);
	return ret;
}

int lab_set_up_link(struct lab_port *a, struct lab_port *b, unsigned mtu, struct error *err)
{
	int ret = set_up_port(a, mtu);

	if (!ret)
		ret = set_up_port(b, mtu);
	if (!ret)
		ret = lab_read_port(a);
	if (!ret)
		ret = lab_read_port(b);
	return ret ? error_set(err, STATUS_FAILED, ret, NULL, "cannot set up %s and %s: %s",
			       a->ifname, b->ifname, strerror(-ret))
		   : 0;
}

int lab_make_link(struct lab_port *a, struct lab_port *b, unsigned queues, unsigned mtu,
		  struct error *err)
{
	int ret = netdev_add_veth(a->ns, a->ifname, a->mac, b->ns, b->ifname, b->mac, queues);

	if (ret)
		return error_set(err, ret == -EOPNOTSUPP ? STATUS_UNABLE : STATUS_FAILED, ret,
				 ret == -EOPNOTSUPP ? "the kernel needs CONFIG_VETH" : NULL,
				 "cannot make the veth pair %s, %s: %s", a->ifname, b->ifname,
				 strerror(-ret));
	return lab_set_up_link(a, b, mtu, err);
}

static int add_addresses(const struct lab_port *p, struct error *err)
{
	int ret = netdev_add_addr(p->ns, p->ifindex, AF_INET, &p->ip4, 24);

	if (!ret && lab_has_ip6(p))
		ret = netdev_add_addr(p->ns, p->ifindex, AF_INET6, &p->ip6, 64);
	if (ret)
		return error_set(err, STATUS_FAILED, ret, NULL, "cannot add an address to %s: %s",
				 p->ifname, strerror(-ret));
	return 0;
}

static int add_neighbour(const struct lab_port *p, const struct lab_port *peer, struct error *err)
{
	int ret = netdev_add_neigh(p->ns, p->ifindex, AF_INET, &peer->ip4, peer->mac);

	if (!ret && lab_has_ip6(p))
		ret = netdev_add_neigh(p->ns, p->ifindex, AF_INET6, &peer->ip6, peer->mac);
	if (ret)
		return error_set(err, STATUS_FAILED, ret, NULL, "cannot add a neighbour to %s: %s",
				 p->ifname, strerror(-ret));
	return 0;
}

int lab_add_route(const struct lab_port *p, const struct lab_port *router,
		  const struct lab_port *far, struct error *err)
{
	struct in_addr net4 = {far->ip4.s_addr & htonl(0xffffff00)};
	struct in6_addr net6 = far->ip6;
	int ret = netdev_add_route(p->ns, p->ifindex, AF_INET, &net4, 24, &router->ip4);

	memset(&net6.s6_addr[8], 0, 8);
	if (!ret && lab_has_ip6(p))
		ret = netdev_add_route(p->ns, p->ifindex, AF_INET6, &net6, 64, &router->ip6);
	if (ret)
		return error_set(err, STATUS_FAILED, ret, NULL, "cannot add a route to %s: %s",
				 p->ifname, strerror(-ret));
	return 0;
}

int lab_join_ends(struct lab_port *a, struct lab_port *b, struct error *err)
{
	int ret = lab_wait_running(a, err);

	if (!ret)
		ret = lab_wait_running(b, err);
	if (!ret)
		ret = add_addresses(a, err);
	if (!ret)
		ret = add_addresses(b, err);
	if (!ret)
		ret = add_neighbour(a, b, err);
	if (!ret)
		ret = add_neighbour(b, a, err);
	return ret;
}
