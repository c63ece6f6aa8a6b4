// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Between which ports an experiment runs, and how fast it may. */
#include "experiment/site.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/netdev.h"
#include "stamp.h"

#define SRC_PORT	   40000
#define REASSEMBLY_SECONDS 1

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

/* An anonymous lab as the faults need it, a named one, or two ports of this host. */
static int open_two(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	struct lab_spec lab_spec = {
		.topology = s->fx.topology,
		.other_vni = s->fx.other_vni,
		.queues = spec->tx != &tx_socket || spec->rx == &rx_xsk ? spec->threads : 1,
	};

	if (spec->port_a)
		return open_host(spec, &s->lab, err);
	if (spec->lab)
		return lab_open_named(&s->lab, spec->lab, err);
	if (spec->wish.queues && spec->wish.queues < lab_spec.queues)
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "use fewer threads (-P), or more queues",
				 "--queues %u are too few: each of %u threads needs its own",
				 spec->wish.queues, lab_spec.queues);
	lab_spec.mtu = spec->wish.mtu;
	if (spec->wish.queues)
		lab_spec.queues = spec->wish.queues;
	return lab_open(&s->lab, &lab_spec, err);
}

/* The device that an engine was told to use. */
static int find_device(const struct run_spec *spec, bool sends, struct lab_port *port,
		       struct error *err)
{
	struct netdev dev;
	int rc;

	if (!spec->ifname)
		return error_set(err, STATUS_USAGE, -EINVAL, "for example -i eth1",
				 sends ? "--tx %s needs the interface to send by"
				       : "--rx %s needs the interface to receive at",
				 sends ? spec->tx->name : spec->rx->name);
	rc = netdev_get(NULL, spec->ifname, &dev);
	if (rc)
		return error_set(err, STATUS_FAILED, rc, "ip link tells which there are",
				 "no interface '%s': %s", spec->ifname, strerror(-rc));
	port->ifindex = dev.ifindex;
	port->mtu = dev.mtu;
	port->queues = dev.rx_queues ? dev.rx_queues : 1;
	memcpy(port->ifname, dev.ifname, sizeof(port->ifname));
	memcpy(port->mac, dev.mac, sizeof(port->mac));
	return 0;
}

/* Frames need the next hop's address; sockets leave that to the kernel. */
static int find_next_hop(struct site *s, struct error *err)
{
	const struct endpoint *to = &s->spec->to;
	bool six = to->family == AF_INET6;
	unsigned ifindex;
	int rc =
		netdev_next_hop(NULL, to->family, six ? (const void *)&to->ip6 : &to->ip4, &ifindex,
				s->flow.dst_mac, six ? (void *)&s->flow.src6 : &s->flow.src4);

	if (!rc && ifindex != s->lab.tx.ifindex)
		rc = -EHOSTUNREACH;
	if (rc)
		return error_set(err, STATUS_FAILED, rc,
				 "look at `ip route get`; reach the target once (ping) so that its "
				 "neighbour entry is there",
				 "no known next hop to the target by %s: %s", s->lab.tx.ifname,
				 strerror(-rc));
	memcpy(s->flow.src_mac, s->lab.tx.mac, sizeof(s->flow.src_mac));
	s->flow.src_port = SRC_PORT;
	return 0;
}

/*
 * This namespace, and the device by which packets leave, or come in if they take the way that
 * answers would, as they do in most networks.
 */
static int open_one(struct site *s, bool sends, struct error *err)
{
	const struct run_spec *spec = s->spec;
	struct netns *ns = sends ? &s->lab.tx_ns : &s->lab.rx_ns;
	struct lab_port *port = sends ? &s->lab.tx : &s->lab.rx;
	int rc = netns_current(ns, err);

	port->ns = ns;
	if (!rc && (sends ? spec->tx != &tx_socket : spec->rx != &rx_socket))
		return find_device(spec, sends, port, err);
	if (rc)
		return rc;
	if (spec->to.family)
		port->ifindex = netdev_way(ns, &spec->to);
	else if (spec->ifname)
		port->ifindex = if_nametoindex(spec->ifname);
	if (port->ifindex)
		if_indextoname(port->ifindex, port->ifname);
	return 0;
}

static void plan_flow(struct site *s, bool sends)
{
	const struct run_spec *spec = s->spec;
	const struct lab *lab = &s->lab;

	s->flow = (struct flow){
		.family = spec->ipv6 ? AF_INET6 : AF_INET,
		.dst_port = s->lone && sends ? spec->to.port : spec->port,
		.flows = spec->flows,
		.payload = spec->payload,
		.ttl = s->fx.ttl ? (unsigned)s->fx.ttl : spec->ttl,
		.tos = (uint8_t)spec->tos,
		.vlan = (uint16_t)spec->vlan,
		.time = !spec->payload || spec->payload >= STAMP_TIME_LEN,
	};
	if (s->lone) {
		s->flow.dst4 = spec->to.ip4;
		s->flow.dst6 = spec->to.ip6;
	} else {
		s->flow.src4 = lab->tx.ip4;
		s->flow.dst4 = lab->rx.ip4;
		s->flow.src6 = lab->tx.ip6;
		s->flow.dst6 = lab->rx.ip6;
		s->flow.src_port = SRC_PORT;
		memcpy(s->flow.src_mac, lab->tx.mac, 6);
		memcpy(s->flow.dst_mac, lab_next_hop(lab)->mac, 6);
	}
	if (sends && spec->shape.dst_port.n)
		s->flow.dst_port = spec->shape.dst_port.n == 1 ? spec->shape.dst_port.first : 0;
}

/*
 * Datagrams that need fragments. What is lost with one of them is known when the rest has been
 * given up: in a lab of our own that shall not take longer than closing the ledger.
 */
static int plan_fragments(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	int rc = 0;

	s->fragments =
		s->lone ? spec->fragments : spec->payload + (spec->ipv6 ? 48 : 28) > s->lab.tx.mtu;
	if (s->fragments && !s->lone && !spec->port_a && !spec->lab)
		rc = reassembly_set_time(&s->lab.rx_ns, REASSEMBLY_SECONDS);
	return rc ? error_set(err, STATUS_FAILED, rc, NULL,
			      "cannot set the time for reassembly: %s", strerror(-rc))
		  : 0;
}

int site_open_ports(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	bool sends = spec->tx && !(spec->far && spec->reverse);
	int rc;

	s->lab = (struct lab){.topology = LAB_PAIR,
			      .tx_ns = NETNS_NONE,
			      .rx_ns = NETNS_NONE,
			      .router_ns = NETNS_NONE};
	if (s->lone) {
		s->lab_open = true;
		rc = open_one(s, sends, err);
	} else {
		rc = open_two(s, err);
		s->lab_open = !rc;
		if (!rc)
			rc = lab_tune(&s->lab, &spec->wish, err);
	}
	if (rc)
		return rc;
	plan_flow(s, sends);
	if (sends && s->lone && spec->tx != &tx_socket)
		rc = find_next_hop(s, err);
	if (!rc && sends && spec->shape.capture && (!s->lone || spec->shape.capture->payload))
		capture_stamp(spec->shape.capture, &s->flow);
	return rc ? rc : plan_fragments(s, err);
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

	shape_sizes(spec_shape(spec), &flow, &sizes);
	rc = shape_pps(&sizes, &spec->rate, speed, pps);
	if (spec->shape.scheduled)
		*pps = profile_peak(&spec->shape.profile);

	if (rc == -ENODATA)
		return error_set(err, STATUS_USAGE, rc, "give packets/s or bit/s",
				 "the link has no known speed to take a share of");
	return rc ? error_set(err, STATUS_USAGE, rc, NULL, "this rate has no meaning here") : 0;
}
