// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/faults/fault_net.h"

#include <errno.h>
#include <stdio.h>
#include <linux/types.h>
#include <string.h>

#include "fault_abi.h"
#include "host/netdev.h"
#include "host/nl.h"
#include "experiment/faults/fault_table.h"

#define HOST4 32 /* prefix lengths of one address */
#define HOST6 128

#define FRAG_ROOM     "134217728" /* bytes, of a namespace, for a second at most */
#define TUNNEL_DEVICE "v-vxlan"

struct net_fault {
	const struct fault_list *list;
	const struct fault_effects *fx;
	const struct lab *lab;
};

static int failed(int ret, const char *what, struct error *err)
{
	return ret ? error_set(err, STATUS_UNABLE, ret, NULL, "cannot %s in the lab: %s", what,
			       strerror(-ret))
		   : 0;
}

struct hook {
	enum fault fault;
	const char *name;
	const struct netns *ns;
	const char *device; /* the hook is of this device; NULL: of the IP layer */
};

/* A chain of its own for each fault, in one table a family and namespace. */
static int drop_at_hook(const struct hook *hook, double share, uint16_t port, struct error *err)
{
	char *const argv[] = {"nft", "-f", "-", NULL};
	char script[256], random[64] = "", match[32] = "meta l4proto udp", device[32] = "";

	if (share < 1)
		snprintf(random, sizeof(random), "numgen random mod 1000000 < %u",
			 (unsigned)(share * 1000000 + 0.5));
	if (port)
		snprintf(match, sizeof(match), "udp dport %u", port);
	if (hook->device)
		snprintf(device, sizeof(device), "device \"%s\"", hook->device);
	snprintf(script, sizeof(script),
		 "table %s fault { chain %s { type filter hook %s %s priority 0; "
		 "%s %s counter drop; }; }\n",
		 hook->device ? "netdev" : "inet", hook->name, hook->name, device, match, random);
	return netns_exec(hook->ns, argv, script, err);
}

static int apply_netfilter(const struct net_fault *f, struct error *err)
{
	const struct lab_port *tx = &f->lab->tx, *rx = &f->lab->rx;
	const struct hook hooks[] = {
		{FAULT_NETFILTER_EGRESS, "egress", tx->ns, tx->ifname},
		{FAULT_NETFILTER_INGRESS, "ingress", rx->ns, rx->ifname},
		{FAULT_NETFILTER, "input", &f->lab->rx_ns, NULL},
		{FAULT_NETFILTER_PREROUTING, "prerouting", &f->lab->rx_ns, NULL},
		{FAULT_NETFILTER_FORWARD, "forward", &f->lab->router_ns, NULL},
		{FAULT_NETFILTER_OUTPUT, "output", &f->lab->tx_ns, NULL},
		{FAULT_NETFILTER_POSTROUTING, "postrouting", &f->lab->tx_ns, NULL},
	};
	int ret = 0;

	for (unsigned i = 0; i < sizeof(hooks) / sizeof(*hooks) && !ret; i++) {
		if (fault_has(f->list, hooks[i].fault))
			ret = drop_at_hook(&hooks[i], f->list->share[hooks[i].fault], f->fx->port,
					   err);
	}
	return ret;
}

/* The static entries go; who asks for the address now is not heard (FAULT_TC_DEAF). */
static int apply_neigh(const struct net_fault *f, struct error *err)
{
	const struct lab_port *tx = &f->lab->tx, *hop = lab_next_hop(f->lab);
	int ret = netdev_del_neigh(tx->ns, tx->ifindex, AF_INET, &hop->ip4);

	if (!ret)
		ret = netdev_del_neigh(tx->ns, tx->ifindex, AF_INET6, &hop->ip6);
	return failed(ret == -ENOENT ? 0 : ret, "forget the neighbour", err);
}

static int apply_l2_blocked(const struct net_fault *f, struct error *err)
{
	const struct netdev_bridge_port port = {.blocked = true, .floods = true, .learns = true};

	return failed(netdev_set_bridge_port(&f->lab->router_ns, f->lab->router_tx.ifindex, &port),
		      "block a port", err);
}

/*
 * The bridge forgets where the receiver is and may not send to that port what it floods: it sends
 * to a third one only, whose owner drops it as another host's, or keeps it (FAULT_TC_KEEP).
 */
static int apply_l2_flood(const struct net_fault *f, struct error *err)
{
	static const uint8_t mac[2][6] = {{2, 0x70, 0x6b, 2, 0, 1}, {2, 0x70, 0x6b, 2, 0, 2}};
	const struct netdev_bridge_port deaf = {.learns = false};
	const struct netns *ns = &f->lab->router_ns;
	int bridge = nl_ifindex(ns, LAB_BRIDGE_NAME);
	int ret = bridge < 0 ? bridge
			     : netdev_add_veth(ns, "v-b2", mac[0], ns, FAULT_THIRD, mac[1], 1);

	if (!ret)
		ret = netdev_set_master(ns, "v-b2", (unsigned)bridge);
	if (!ret)
		ret = netdev_set_up(ns, FAULT_THIRD, true);
	if (!ret)
		ret = netdev_set_up(ns, "v-b2", true);
	if (!ret)
		ret = netdev_set_bridge_port(ns, f->lab->router_rx.ifindex, &deaf);
	return failed(ret, "keep the bridge from flooding", err);
}

static int apply_l2_address(const struct net_fault *f, struct error *err)
{
	const struct lab_port *tx = &f->lab->tx, *hop = lab_next_hop(f->lab);
	uint8_t nobody[6];
	int ret;

	memcpy(nobody, hop->mac, sizeof(nobody));
	nobody[5] ^= 0x80;
	ret = netdev_add_neigh(tx->ns, tx->ifindex, AF_INET, &hop->ip4, nobody);
	if (!ret && !IN6_IS_ADDR_UNSPECIFIED(&hop->ip6))
		ret = netdev_add_neigh(tx->ns, tx->ifindex, AF_INET6, &hop->ip6, nobody);
	return failed(ret, "change the neighbour", err);
}

/* The way back to the sender leads to the receiver's loopback. */
static int apply_rp_filter(const struct net_fault *f, struct error *err)
{
	const struct lab_port *rx = &f->lab->rx;
	char path[80];
	int ret, lo;

	snprintf(path, sizeof(path), "net/ipv4/conf/%s/rp_filter", rx->ifname);
	ret = netns_sysctl_write(rx->ns, path, "1");
	lo = nl_ifindex(rx->ns, "lo");
	if (!ret)
		ret = lo < 0 ? lo
			     : netdev_add_route(rx->ns, (unsigned)lo, AF_INET, &f->lab->tx.ip4,
						HOST4, NULL);
	return failed(ret, "set rp_filter", err);
}

/* Who has an address himself takes nothing from it (fib_validate_source()). */
static int apply_martian(const struct net_fault *f, struct error *err)
{
	const struct lab_port *rx = &f->lab->rx;
	int lo = nl_ifindex(rx->ns, "lo");
	int ret = lo < 0 ? lo
			 : netdev_add_addr(rx->ns, (unsigned)lo, AF_INET, &f->lab->tx.ip4, HOST4);

	return failed(ret, "give the receiver the sender's address", err);
}

static int apply_blackhole(const struct net_fault *f, struct error *err)
{
	const struct lab_port *rx = &f->lab->rx;
	int ret = netdev_add_blackhole(&f->lab->router_ns, AF_INET, &rx->ip4, HOST4);

	if (!ret && !IN6_IS_ADDR_UNSPECIFIED(&rx->ip6))
		ret = netdev_add_blackhole(&f->lab->router_ns, AF_INET6, &rx->ip6, HOST6);
	return failed(ret, "add a blackhole", err);
}

/* Who would be told of it does not hear it (FAULT_TC_UNTOLD). */
static int apply_mtu(const struct net_fault *f, struct error *err)
{
	const struct lab_port *out = &f->lab->router_rx;

	return failed(netdev_set_mtu(out->ns, out->ifname, FAULT_MTU), "set the MTU", err);
}

/* What waits for fragments that do not come fills the usual 4 MiB, and then all are refused. */
static int apply_frag_missing(const struct net_fault *f, struct error *err)
{
	int ret = netns_sysctl_write(&f->lab->rx_ns, "net/ipv4/ipfrag_high_thresh", FRAG_ROOM);

	if (!ret)
		ret = netns_sysctl_write(&f->lab->rx_ns, "net/ipv6/ip6frag_high_thresh", FRAG_ROOM);
	return failed(ret == -ENOENT ? 0 : ret, "give fragments memory", err);
}

/* A limit of 0 refuses every new queue (inet_frag_find()); the low one may not be above it. */
static int apply_frag_mem(const struct net_fault *f, struct error *err)
{
	static const char *const paths[] = {
		"net/ipv4/ipfrag_low_thresh",
		"net/ipv4/ipfrag_high_thresh",
		"net/ipv6/ip6frag_low_thresh",
		"net/ipv6/ip6frag_high_thresh",
	};
	int ret = 0;

	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths) && !ret; i++) {
		ret = netns_sysctl_write(&f->lab->rx_ns, paths[i], "0");
		if (ret == -ENOENT)
			ret = 0; /* no IPv6 here */
	}
	return failed(ret, "limit the memory for fragments", err);
}

/* Our stamp is no header of VXLAN: its flags lack the I, 0x08 (RFC 7348, vxlan_rcv()). */
static int apply_tunnel(const struct net_fault *f, struct error *err)
{
	const struct netns *ns = &f->lab->rx_ns;
	int ret = netdev_add_vxlan(ns, TUNNEL_DEVICE, f->fx->port);

	if (ret == -EOPNOTSUPP)
		return error_set(err, STATUS_UNABLE, ret, "the kernel needs CONFIG_VXLAN",
				 "this kernel makes no VXLAN device");
	if (!ret)
		ret = netdev_set_up(ns, TUNNEL_DEVICE, true);
	return failed(ret, "set up a tunnel", err);
}

/* Of both families, as far as the kernel has them. */
static int add_policies(const struct netns *ns, struct xfrm_policy policy, struct error *err)
{
	int ret;

	policy.family = AF_INET;
	ret = xfrm_add_policy(ns, &policy);
	policy.family = AF_INET6;
	if (!ret)
		ret = xfrm_add_policy(ns, &policy);
	if (ret == -EAFNOSUPPORT)
		ret = 0; /* no IPv6 here */
	if (ret == -EPROTONOSUPPORT)
		return error_set(err, STATUS_UNABLE, ret, "the kernel needs CONFIG_XFRM_USER",
				 "this kernel takes no IPsec policies");
	return failed(ret, "add an IPsec policy", err);
}

/*
 * Without a state, and nobody to make one, xfrm_lookup_route() gives each packet a route that is a
 * blackhole: so it does while xfrm_larval_drop is set.
 */
static int apply_tx_route(const struct net_fault *f, struct error *err)
{
	const struct xfrm_policy policy = {.port = f->fx->port, .out = true, .esp = true};
	int ret = netns_sysctl_write(&f->lab->tx_ns, "net/core/xfrm_larval_drop", "1");

	if (ret == -ENOENT)
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "the kernel needs CONFIG_XFRM",
				 "this kernel has no IPsec");
	return ret ? failed(ret, "have packets without a key dropped", err)
		   : add_policies(&f->lab->tx_ns, policy, err);
}

/* For packets that the program at tc ingress has marked (FAULT_TC_SPOIL). */
static int apply_xfrm(const struct net_fault *f, struct error *err)
{
	const struct xfrm_policy policy = {
		.port = f->fx->port,
		.mark = FAULT_MARK_POLICY,
		.esp = fault_has(f->list, FAULT_XFRM_PLAIN),
	};

	return add_policies(&f->lab->rx_ns, policy, err);
}

int fault_net_apply(const struct fault_list *list, const struct fault_effects *fx,
		    const struct lab *lab, struct error *err)
{
	static const struct {
		enum fault fault;
		int (*apply)(const struct net_fault *f, struct error *err);
	} settings[] = {
		{FAULT_TX_ROUTE, apply_tx_route},
		{FAULT_NEIGH, apply_neigh},
		{FAULT_L2_ADDRESS, apply_l2_address},
		{FAULT_L2_BLOCKED, apply_l2_blocked},
		{FAULT_L2_FLOOD, apply_l2_flood},
		{FAULT_L2_SILENT, apply_l2_flood},
		{FAULT_IP_ROUTE_RP_FILTER, apply_rp_filter},
		{FAULT_IP_ROUTE_MARTIAN, apply_martian},
		{FAULT_IP_ROUTE_BLACKHOLE, apply_blackhole},
		{FAULT_IP_FRAG_MISSING, apply_frag_missing},
		{FAULT_IP_FRAG_MEM, apply_frag_mem},
		{FAULT_IP_FORWARD_MTU, apply_mtu},
		{FAULT_TUNNEL_HEADER, apply_tunnel},
		{FAULT_XFRM, apply_xfrm},
		{FAULT_XFRM_PLAIN, apply_xfrm},
	};
	const struct net_fault f = {list, fx, lab};
	int ret = apply_netfilter(&f, err);

	for (unsigned i = 0; i < sizeof(settings) / sizeof(*settings) && !ret; i++) {
		if (fault_has(list, settings[i].fault))
			ret = settings[i].apply(&f, err);
	}
	return ret;
}
