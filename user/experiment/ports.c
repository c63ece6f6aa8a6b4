// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/netdev.h"

/* Where an end has no address of its own and needs none: RFC 2544 and RFC 5180. */
#define BENCH_V4 "198.18.0.1"
#define BENCH_V6 "2001:2::1"

/* The first usable address of a family on the interface, seen from the calling thread. */
static bool find_address(const char *ifname, int family, void *out)
{
	struct ifaddrs *all, *a;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (a = all; a && !found; a = a->ifa_next) {
		if (!a->ifa_addr || a->ifa_addr->sa_family != family || strcmp(a->ifa_name, ifname))
			continue;
		if (family == AF_INET) {
			*(struct in_addr *)out = ((struct sockaddr_in *)a->ifa_addr)->sin_addr;
			found = true;
		} else if (!IN6_IS_ADDR_LINKLOCAL(
				   &((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr)) {
			*(struct in6_addr *)out = ((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr;
			found = true;
		}
	}
	freeifaddrs(all);
	return found;
}

static int refuse(const struct netdev *dev, struct error *err)
{
	if (dev->loopback)
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "run without -i makes a lab of its own",
				 "%s is the loopback device, not a port", dev->ifname);
	if (dev->default_route)
		return error_set(err, STATUS_USAGE, -EINVAL, "use ports that carry nothing else",
				 "%s carries the default route of this host", dev->ifname);
	if (!(dev->flags & IFF_UP))
		return error_set(err, STATUS_FAILED, -ENETDOWN, "ip link set the interface up",
				 "%s is down", dev->ifname);
	return 0;
}

/* Fills a port from "[NETNS/]IFNAME". `has_address`: one of the family wanted. */
static int open_port(const char *text, int family, struct netns *ns, struct lab_port *port,
		     bool *has_address, struct error *err)
{
	const char *slash = strrchr(text, '/');
	char name[256];
	struct netdev dev;
	int rc, saved;

	if (slash) {
		snprintf(name, sizeof(name), "%.*s", (int)(slash - text), text);
		rc = netns_open(ns, name, err);
		text = slash + 1;
	} else {
		rc = netns_current(ns, err);
	}
	if (rc)
		return rc;
	rc = netdev_get(ns, text, &dev);
	if (rc)
		return error_set(err, STATUS_FAILED, rc, "ip link tells which there are",
				 "no interface '%s': %s", text, strerror(-rc));
	rc = refuse(&dev, err);
	if (rc)
		return rc;
	*port = (struct lab_port){.ns = ns,
				  .ifindex = dev.ifindex,
				  .mtu = dev.mtu,
				  .queues = dev.rx_queues ? dev.rx_queues : 1};
	memcpy(port->ifname, dev.ifname, sizeof(port->ifname));
	memcpy(port->mac, dev.mac, sizeof(port->mac));
	inet_pton(AF_INET, BENCH_V4, &port->ip4);
	inet_pton(AF_INET6, BENCH_V6, &port->ip6);
	saved = netns_push(ns);
	if (saved < 0)
		return error_set(err, STATUS_FAILED, saved, NULL,
				 "cannot enter the network namespace of '%s': %s", text,
				 strerror(-saved));
	*has_address = find_address(port->ifname, family,
				    family == AF_INET ? (void *)&port->ip4 : &port->ip6);
	netns_pop(saved);
	return 0;
}

static int open_pair(const struct run_spec *spec, struct lab *lab, struct error *err)
{
	int family = spec->ipv6 ? AF_INET6 : AF_INET, rc;
	bool tx_address, rx_address;

	rc = open_port(spec->port_a, family, &lab->tx_ns, &lab->tx, &tx_address, err);
	if (!rc)
		rc = open_port(spec->port_b, family, &lab->rx_ns, &lab->rx, &rx_address, err);
	if (rc)
		return rc;
	if (lab->tx_ns.inum == lab->rx_ns.inum && lab->tx.ifindex == lab->rx.ifindex)
		return error_set(err, STATUS_USAGE, -EINVAL, "sender first: -i A,B",
				 "both ports are %s", lab->tx.ifname);
	if (lab->tx_ns.inum == lab->rx_ns.inum && spec->tx == &tx_socket)
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "use --tx xsk, or move a port to another namespace (NETNS/IFNAME)",
				 "both ports are in one namespace: sockets would use loopback");
	if (!rx_address && (spec->rx == &rx_socket || spec->pass || spec->tx == &tx_socket))
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "give it one, or use --tx xsk --rx xsk",
				 "%s has no IPv%c address for a socket to be reached by",
				 lab->rx.ifname, spec->ipv6 ? '6' : '4');
	if (spec->payload + (spec->ipv6 ? 48 : 28) > lab->tx.mtu && !spec->tx->fragments)
		return error_set(err, STATUS_USAGE, -EMSGSIZE, "use smaller packets",
				 "%u bytes of payload do not fit the MTU of %u of %s",
				 spec->payload, lab->tx.mtu, lab->tx.ifname);
	return 0;
}

static int open_host(const struct run_spec *spec, struct lab *lab, struct error *err)
{
	int rc;

	*lab = (struct lab){.topology = LAB_PAIR,
			    .tx_ns = NETNS_NONE,
			    .rx_ns = NETNS_NONE,
			    .router_ns = NETNS_NONE};
	rc = open_pair(spec, lab, err);
	if (rc)
		lab_close(lab);
	return rc;
}

int ports_open(const struct run_spec *spec, const struct fault_effects *fx, struct lab *lab,
	       struct error *err)
{
	struct lab_spec lab_spec = {
		.topology = fx->topology,
		.other_vni = fx->other_vni,
		.queues = spec->tx != &tx_socket || spec->rx == &rx_xsk ? spec->threads : 1,
	};

	if (spec->port_a)
		return open_host(spec, lab, err);
	if (spec->lab)
		return lab_open_named(lab, spec->lab, err);
	if (spec->wish.queues && spec->wish.queues < lab_spec.queues)
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "use fewer threads (-P), or more queues",
				 "--queues %u are too few: each of %u threads needs its own",
				 spec->wish.queues, lab_spec.queues);
	lab_spec.mtu = spec->wish.mtu;
	if (spec->wish.queues)
		lab_spec.queues = spec->wish.queues;
	return lab_open(lab, &lab_spec, err);
}

/* Speed of the sending port in Mbit/s; -1: unknown, as of every lab. */
static int link_speed(const struct run_spec *spec)
{
	struct error ignored = {};
	struct netns ns = NETNS_NONE;
	struct lab_port port;
	struct netdev dev;
	bool has_address;
	int speed = -1;

	if (spec->port_a && !open_port(spec->port_a, AF_INET, &ns, &port, &has_address, &ignored) &&
	    !netdev_get(&ns, port.ifname, &dev))
		speed = dev.speed_mbit;
	netns_close(&ns);
	return speed;
}

int ports_rate(const struct run_spec *spec, double *pps, struct error *err)
{
	const struct flow flow = {.family = spec->ipv6 ? AF_INET6 : AF_INET,
				  .payload = spec->payload,
				  .vlan = (uint16_t)spec->vlan};
	struct shape_sizes sizes;
	int speed = spec->rate.unit == RATE_PERCENT ? link_speed(spec) : -1;
	int rc;

	shape_sizes(spec->shape, &flow, &sizes);
	rc = shape_pps(&sizes, &spec->rate, speed, pps);
	if (spec->shape && spec->shape->scheduled)
		*pps = profile_peak(&spec->shape->profile);

	if (rc == -ENODATA)
		return error_set(err, STATUS_USAGE, rc, "give packets/s or bit/s",
				 "the link has no known speed to take a share of");
	return rc ? error_set(err, STATUS_USAGE, rc, NULL, "this rate has no meaning here") : 0;
}
