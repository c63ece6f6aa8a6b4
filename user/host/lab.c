// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/lab_parts.h"
#include "host/lab_tap.h"
#include "host/netdev.h"
#include "host/nl.h"

#define BRIDGE_LINK   2 /* in the MAC addresses of its ports */
#define TUNNEL_LINK   3
#define TUNNEL_HEADER 50 /* IPv4, UDP, VXLAN, Ethernet */
#define TUNNEL_VNI    0x706b
#define QUEUES_MAX    256
#define MTU_MIN	      1280  /* IPv6 does not work below (RFC 8200, section 5) */
#define MTU_MAX	      65535 /* of a veth */

/* 198.18.LINK.HOST/24, 2001:2:0:LINK::HOST/64, 02:70:6b:00:LINK:HOST */
static void plan_port(struct lab_port *p, struct netns *ns, const char *ifname, unsigned link,
		      unsigned host)
{
	const uint8_t mac[6] = {0x02, 0x70, 0x6b, 0, link, host};
	const uint8_t ip6[16] = {0x20, 0x01, 0, 2, [7] = link, [15] = host};

	p->ns = ns;
	snprintf(p->ifname, sizeof(p->ifname), "%s", ifname);
	memcpy(p->mac, mac, sizeof(mac));
	p->ip4.s_addr = htonl(198u << 24 | 18 << 16 | link << 8 | host);
	if (!access("/proc/sys/net/ipv6", F_OK))
		memcpy(&p->ip6, ip6, sizeof(ip6));
}

static void plan_bridge_port(struct lab_port *p, struct netns *ns, const char *ifname, unsigned n)
{
	plan_port(p, ns, ifname, BRIDGE_LINK, n);
	p->ip4.s_addr = INADDR_ANY;
	p->ip6 = in6addr_any;
}

void lab_plan(struct lab *lab, enum lab_topology topology)
{
	memset(lab, 0, sizeof(*lab));
	lab->tx_ns = lab->rx_ns = lab->router_ns = NETNS_NONE;
	lab->topology = topology;
	plan_port(&lab->tx, &lab->tx_ns, "v-tx", 0, 1);
	if (topology == LAB_VXLAN) {
		plan_port(&lab->tx, &lab->tx_ns, "x-tx", TUNNEL_LINK, 1);
		plan_port(&lab->rx, &lab->rx_ns, "x-rx", TUNNEL_LINK, 2);
		plan_port(&lab->router_tx, &lab->tx_ns, "v-tx", 0, 1);
		plan_port(&lab->router_rx, &lab->rx_ns, "v-rx", 0, 2);
		return;
	}
	if (topology != LAB_ROUTER)
		plan_port(&lab->rx, &lab->rx_ns, "v-rx", 0, 2);
	if (topology == LAB_BRIDGE) {
		plan_bridge_port(&lab->router_tx, &lab->router_ns, "v-b0", 0);
		plan_bridge_port(&lab->router_rx, &lab->router_ns, "v-b1", 1);
	} else if (topology == LAB_ROUTER) {
		plan_port(&lab->router_tx, &lab->router_ns, "v-r0", 0, 254);
		plan_port(&lab->router_rx, &lab->router_ns, "v-r1", 1, 254);
		plan_port(&lab->rx, &lab->rx_ns, "v-rx", 1, 2);
	}
}

static int build_pair(struct lab *lab, unsigned queues, unsigned mtu, struct error *err)
{
	int ret = lab_make_link(&lab->tx, &lab->rx, queues, mtu, err);

	return ret ? ret : lab_join_ends(&lab->tx, &lab->rx, err);
}

static int build_router(struct lab *lab, unsigned queues, unsigned mtu, struct error *err)
{
	int ret = lab_make_namespace(&lab->router_ns, true, err);

	if (!ret)
		ret = lab_make_link(&lab->tx, &lab->router_tx, queues, mtu, err);
	if (!ret)
		ret = lab_make_link(&lab->router_rx, &lab->rx, queues, mtu, err);
	if (!ret)
		ret = lab_join_ends(&lab->tx, &lab->router_tx, err);
	if (!ret)
		ret = lab_join_ends(&lab->router_rx, &lab->rx, err);
	if (!ret)
		ret = lab_add_route(&lab->tx, &lab->router_tx, &lab->rx, err);
	if (!ret)
		ret = lab_add_route(&lab->rx, &lab->router_rx, &lab->tx, err);
	return ret;
}

/*
 * Nothing of its own: no snooping, which would join a group and report it, no spanning tree, and
 * no netfilter of IP, which would put fragments together.
 */
static int make_bridge(const struct lab *lab, struct error *err)
{
	static const char *const netfilter[] = {
		"net/bridge/bridge-nf-call-iptables",
		"net/bridge/bridge-nf-call-ip6tables",
		"net/bridge/bridge-nf-call-arptables",
	};
	const struct netns *ns = &lab->router_ns;
	int ret = netdev_add_bridge(ns, LAB_BRIDGE_NAME), index;

	if (ret == -EOPNOTSUPP)
		return error_set(err, STATUS_UNABLE, ret, "the kernel needs CONFIG_BRIDGE",
				 "this kernel makes no bridge");
	for (unsigned i = 0; i < sizeof(netfilter) / sizeof(*netfilter) && !ret; i++) {
		ret = netns_sysctl_write(ns, netfilter[i], "0");
		ret = ret == -ENOENT ? 0 : ret;
	}
	if (!ret)
		ret = netdev_set_up(ns, LAB_BRIDGE_NAME, true);
	index = ret ? ret : nl_ifindex(ns, LAB_BRIDGE_NAME);
	ret = index < 0 ? index : netdev_set_master(ns, lab->router_tx.ifname, (unsigned)index);
	if (!ret)
		ret = netdev_set_master(ns, lab->router_rx.ifname, (unsigned)index);
	return ret ? error_set(err, STATUS_FAILED, ret, NULL, "cannot make a bridge: %s",
			       strerror(-ret))
		   : 0;
}

static int build_bridge(struct lab *lab, unsigned queues, unsigned mtu, struct error *err)
{
	int ret = lab_make_namespace(&lab->router_ns, false, err);

	if (!ret)
		ret = lab_make_link(&lab->tx, &lab->router_tx, queues, mtu, err);
	if (!ret)
		ret = lab_make_link(&lab->router_rx, &lab->rx, queues, mtu, err);
	if (!ret)
		ret = make_bridge(lab, err);
	return ret ? ret : lab_join_ends(&lab->tx, &lab->rx, err);
}

static int make_tunnel_end(struct lab_port *end, const struct lab_port *below,
			   const struct lab_port *far, uint32_t vni, struct error *err)
{
	struct netdev_vxlan v = {.vni = vni,
				 .remote = far->ip4,
				 .port = LAB_VXLAN_PORT,
				 .underlay = below->ifindex,
				 .queues = below->queues};
	int ret;

	memcpy(v.mac, end->mac, sizeof(v.mac));
	ret = netdev_add_vxlan_to(end->ns, end->ifname, &v);
	return ret ? error_set(err, ret == -EOPNOTSUPP ? STATUS_UNABLE : STATUS_FAILED, ret,
			       ret == -EOPNOTSUPP ? "the kernel needs CONFIG_VXLAN" : NULL,
			       "cannot make the tunnel %s: %s", end->ifname, strerror(-ret))
		   : 0;
}

/* What is below has room for the tunnel's headers. */
static int build_vxlan(struct lab *lab, unsigned queues, unsigned mtu, bool other_vni,
		       struct error *err)
{
	struct lab_port *a = &lab->router_tx, *b = &lab->router_rx;
	int ret = lab_make_link(a, b, queues, mtu + TUNNEL_HEADER, err);

	if (!ret)
		ret = lab_join_ends(a, b, err);
	if (!ret)
		ret = make_tunnel_end(&lab->tx, a, b, TUNNEL_VNI, err);
	if (!ret)
		ret = make_tunnel_end(&lab->rx, b, a, TUNNEL_VNI + other_vni, err);
	if (!ret)
		ret = lab_set_up_link(&lab->tx, &lab->rx, mtu, err);
	return ret ? ret : lab_join_ends(&lab->tx, &lab->rx, err);
}

static int wait_quiet(struct lab *lab, struct error *err)
{
	struct lab_port *ports[] = {&lab->tx, &lab->rx, &lab->router_tx, &lab->router_rx};
	int ret = 0;

	for (unsigned i = 0; i < lab_ports(lab) && !ret; i++)
		ret = lab_wait_quiet(ports[i], err);
	return ret;
}

/* Its queues are one each: the carrier is one thread. */
static int build_tap(struct lab *lab, unsigned queues, unsigned mtu, struct error *err)
{
	int ret = 0;

	if (queues > 1)
		return error_set(err, STATUS_USAGE, -EINVAL, "use one thread (-P 1)",
				 "the taps of a lab have one queue each");
	ret = lab_taps_open(&lab->taps, &lab->tx, &lab->rx, err);
	if (!ret)
		ret = lab_set_up_link(&lab->tx, &lab->rx, mtu, err);
	if (ret)
		return ret;
	ret = lab_taps_connect(lab->taps);
	if (ret)
		return error_set(err, STATUS_FAILED, ret, NULL, "cannot connect the taps: %s",
				 strerror(-ret));
	ret = lab_wait_told_up(&lab->tx, err);
	if (!ret)
		ret = lab_wait_told_up(&lab->rx, err);
	return ret ? ret : lab_join_ends(&lab->tx, &lab->rx, err);
}

static int (*const build[])(struct lab *lab, unsigned queues, unsigned mtu, struct error *err) = {
	[LAB_PAIR] = build_pair,
	[LAB_ROUTER] = build_router,
	[LAB_BRIDGE] = build_bridge,
	[LAB_TAP] = build_tap,
};

int lab_open(struct lab *lab, const struct lab_spec *spec, struct error *err)
{
	unsigned queues = spec->queues ? spec->queues : 1;
	unsigned mtu = spec->mtu ? spec->mtu : 1500;
	int ret;

	lab_plan(lab, spec->topology);
	if (queues > QUEUES_MAX)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "a lab has at most %d queues, not %u", QUEUES_MAX, queues);
	if (mtu < MTU_MIN || mtu > MTU_MAX)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "the MTU of a lab is %d to %d, not %u", MTU_MIN, MTU_MAX, mtu);
	if (spec->name && spec->topology == LAB_TAP)
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "use run --topology tap",
				 "a lab of taps is there only while a process carries its frames");
	ret = spec->name ? lab_check_free(spec->name, err) : 0;
	if (!ret)
		ret = lab_make_namespace(&lab->tx_ns, false, err);
	if (!ret)
		ret = lab_make_namespace(&lab->rx_ns, false, err);
	if (!ret)
		ret = lab->topology == LAB_VXLAN
			      ? build_vxlan(lab, queues, mtu, spec->other_vni, err)
			      : build[lab->topology](lab, queues, mtu, err);
	if (!ret)
		ret = wait_quiet(lab, err);
	if (!ret && spec->name)
		ret = lab_publish(lab, spec->name, err);
	if (ret)
		lab_close(lab);
	return ret;
}

void lab_close(struct lab *lab)
{
	lab_taps_close(lab->taps);
	lab->taps = NULL;
	netns_close(&lab->tx_ns);
	netns_close(&lab->rx_ns);
	netns_close(&lab->router_ns);
}
