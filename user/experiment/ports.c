// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finds an experiment's ports and its maximum rate. */
#include "experiment/site.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "host/netdev.h"
#include "stamp.h"

#define SRC_PORT 40000

/*
 * Addresses from RFC 2544 and RFC 5180, for an end that has no address and needs none of its own.
 */
#define BENCH_V4 "198.18.0.1"
#define BENCH_V6 "2001:2::1"

/* Fills in a hop whose namespace and role are set. */
static int get_port(const char *ifname, struct netdev *dev, struct lab_port *port,
		    struct error *err)
{
	int rc = netdev_get(port->ns, ifname, dev);

	if (rc < 0)
		return error_errno(err, STATUS_FAILED, rc, "`ip link` lists them",
				   "no interface '%s'", ifname);
	*port = (struct lab_port){.ns = port->ns,
				  .role = port->role,
				  .ifindex = dev->link.ifindex,
				  .mtu = dev->link.mtu,
				  .ip4 = dev->ip4,
				  .ip6 = dev->ip6,
				  .queues = dev->link.rx_queues ? dev->link.rx_queues : 1};
	memcpy(port->ifname, dev->link.ifname, sizeof(port->ifname));
	memcpy(port->mac, dev->link.mac, sizeof(port->mac));
	return 0;
}

/* Opens "[NETNS/]IFNAME". */
static int open_port(const char *text, struct netdev *dev, struct lab_port *port, struct error *err)
{
	struct netns *ns = port->ns;
	const char *slash = strrchr(text, '/');
	char name[256];
	int rc;

	if (slash)
		snprintf(name, sizeof(name), "%.*s", (int)(slash - text), text);
	rc = slash ? netns_open(ns, name, err) : netns_current(ns, err);
	if (!rc)
		netns_open_sysfs(ns);
	if (!rc)
		rc = get_port(slash ? slash + 1 : text, dev, port, err);
	if (rc)
		return rc;
	if (dev->link.flags & IFF_LOOPBACK)
		return error_usage(err, "run without -i creates its own test network",
				   "%s is the loopback device, not a port", dev->link.ifname);
	if (dev->default_route)
		return error_usage(err, "use ports that carry nothing else",
				   "%s carries the default route of its network namespace",
				   dev->link.ifname);
	if (!(dev->link.flags & IFF_UP))
		return error_set(err, STATUS_FAILED, -ENETDOWN, "ip link set the interface up",
				 "%s is down", dev->link.ifname);
	if (!port->ip4.s_addr)
		inet_pton(AF_INET, BENCH_V4, &port->ip4);
	if (IN6_IS_ADDR_UNSPECIFIED(&port->ip6))
		inet_pton(AF_INET6, BENCH_V6, &port->ip6);
	return 0;
}

#define MOVE "move a port to another namespace (NETNS/IFNAME)"

/*
 * Returns true if the receiver's stack rejects packets with this source address because it is an
 * address of the receiver's namespace (fib_validate_source()). IPv6 has no such check.
 */
static bool rejects_source(const struct lab_port *rx, struct in_addr source)
{
	const struct endpoint from = {.family = AF_INET, .ip4 = source};
	uint64_t all = 0, one = 0;
	char path[64];
	unsigned ifindex;

	snprintf(path, sizeof(path), "net/ipv4/conf/%s/accept_local", rx->ifname);
	netns_sysctl_numbers(rx->ns, "net/ipv4/conf/all/accept_local", &all, 1);
	netns_sysctl_numbers(rx->ns, path, &one, 1);
	return !all && !one && netdev_hop(rx->ns, &from, &ifindex) == HOP_LOCAL;
}

static int open_pair(const struct run_spec *spec, struct lab *lab, struct error *err)
{
	const struct shape_addrs *from = &spec->shape.src_addr;
	const bool to_socket = spec->rx->socket || spec->pass;
	char text[INET_ADDRSTRLEN];
	struct in_addr source;
	struct netdev dev;
	bool unreached;
	int rc = open_port(spec->port_a, &dev, &lab->tx, err);

	if (!rc)
		rc = open_port(spec->port_b, &dev, &lab->rx, err);
	if (rc)
		return rc;
	unreached = spec->ipv6 ? IN6_IS_ADDR_UNSPECIFIED(&dev.ip6) : !dev.ip4.s_addr;
	if (lab->tx_ns.inum == lab->rx_ns.inum && lab->tx.ifindex == lab->rx.ifindex)
		return error_usage(err, "sender first: -i A,B", "both ports are %s",
				   lab->tx.ifname);
	if (lab->tx_ns.inum == lab->rx_ns.inum && spec->tx->socket)
		return error_usage(err, "use --tx xsk, or " MOVE,
				   "both ports are in one namespace: sockets would use loopback");
	if (unreached && (to_socket || spec->tx->socket))
		return error_usage(err, "give it one, or use --tx xsk --rx xsk",
				   "%s has no IPv%c address that a socket could receive on",
				   lab->rx.ifname, spec->ipv6 ? '6' : '4');
	source = lab->tx.ip4;
	if (from->n)
		memcpy(&source, from->first, sizeof(source));
	if (to_socket && !spec->ipv6 && rejects_source(&lab->rx, source))
		return error_usage(err, "use --src-addr or --rx xsk, or " MOVE,
				   "the receiver's namespace rejects packets from its own address "
				   "%s",
				   inet_ntop(AF_INET, &source, text, sizeof(text)));
	if (spec->payload + (spec->ipv6 ? 48 : 28) > lab->tx.mtu && !spec->tx->socket)
		return error_set(err, STATUS_USAGE, -EMSGSIZE, "use smaller packets",
				 "%u bytes of payload do not fit the MTU of %u of %s",
				 spec->payload, lab->tx.mtu, lab->tx.ifname);
	return 0;
}

/* Finds the next hop's address, which frames need. For sockets, the kernel finds it. */
static int find_next_hop(struct site *s, struct error *err)
{
	const struct endpoint *to = &s->spec->to;
	bool six = to->family == AF_INET6;
	unsigned ifindex;
	int rc = netdev_next_hop(NULL, to, &ifindex, s->flow.dst_mac,
				 six ? (void *)&s->flow.src6 : &s->flow.src4);

	if (!rc && ifindex != s->lab.tx.ifindex)
		rc = -EHOSTUNREACH;
	if (rc)
		return error_errno(err, STATUS_FAILED, rc,
				   "check `ip route get`, and ping the target once to resolve its "
				   "neighbour entry",
				   "no known next hop to the target through %s", s->lab.tx.ifname);
	memcpy(s->flow.src_mac, s->lab.tx.mac, sizeof(s->flow.src_mac));
	s->flow.src_port = SRC_PORT;
	return 0;
}

/*
 * Opens this namespace with the interface given for an engine, otherwise with the outgoing
 * interface. Packets also arrive on the outgoing interface if they take the same path as replies,
 * as in most networks.
 */
static int open_one(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	struct lab_port *port = s->sends ? &s->lab.tx : &s->lab.rx;
	struct netdev dev;
	int rc = netns_current(port->ns, err);

	if (rc)
		return rc;
	if (s->sends ? !spec->tx->socket : !spec->rx->socket) {
		if (spec->ifname)
			return get_port(spec->ifname, &dev, port, err);
		return error_usage(err, "for example -i eth1",
				   s->sends ? "--tx %s needs the interface to send by"
					    : "--rx %s needs the interface to receive at",
				   s->sends ? spec->tx->name : spec->rx->name);
	}
	if (spec->to.family)
		port->ifindex = netdev_way(port->ns, &spec->to);
	else if (spec->ifname)
		port->ifindex = if_nametoindex(spec->ifname);
	if (port->ifindex)
		if_indextoname(port->ifindex, port->ifname);
	return 0;
}

static void plan_flow(struct site *s)
{
	const struct run_spec *spec = s->spec;
	const struct lab *lab = &s->lab;

	s->flow = (struct flow){
		.family = spec->ipv6 ? AF_INET6 : AF_INET,
		.dst_port = s->lone && s->sends ? spec->to.port : spec->port,
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
	if (s->sends && spec->shape.dst_port.n)
		s->flow.dst_port = spec->shape.dst_port.n == 1 ? spec->shape.dst_port.first : 0;
}

/*
 * Plans datagrams that need fragmentation. When one fragment is lost, the datagram's other
 * fragments are freed after reassembly times out. In a test network of our own, that timeout must
 * not exceed the time to close the ledger.
 */
static int plan_fragments(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	const bool ours = s->in_lab && !spec->lab;
	int rc = 0;

	s->fragments =
		s->lone ? spec->fragments : spec->payload + (spec->ipv6 ? 48 : 28) > s->lab.tx.mtu;
	if (s->fragments && ours) /* 1 s */
		rc = netns_sysctl_write(&s->lab.rx_ns, "net/ipv4/ipfrag_time", "1");
	if (s->fragments && ours && !rc)
		rc = netns_sysctl_write(&s->lab.rx_ns, "net/ipv6/ip6frag_time", "1");
	return error_errno(err, STATUS_FAILED, rc, NULL, "cannot set the time for reassembly");
}

/*
 * Opens the hops of a single end, of two ports of this host, of a named test network, or of an
 * anonymous one that suits the faults.
 */
static int open_hops(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	int rc;

	s->lab = (struct lab){.topology = LAB_PAIR,
			      .tx_ns = NETNS_NONE,
			      .rx_ns = NETNS_NONE,
			      .router_ns = NETNS_NONE};
	if (s->sends)
		s->lab.tx = (struct lab_port){.ns = &s->lab.tx_ns, .role = "tx"};
	if (s->receives)
		s->lab.rx = (struct lab_port){.ns = &s->lab.rx_ns, .role = "rx"};
	rc = s->lone	    ? open_one(s, err)
	     : spec->port_a ? open_pair(spec, &s->lab, err)
	     : spec->lab    ? lab_open_named(&s->lab, spec->lab, err)
			    : lab_open(&s->lab, &s->needs.lab, err);
	s->lab_open = !s->in_lab || !rc;
	return rc || s->lone ? rc : lab_tune(&s->lab, &spec->wish, err);
}

int site_open_ports(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	int rc = s->lab_open ? 0 : open_hops(s, err);

	if (rc)
		return rc;
	plan_flow(s);
	if (s->sends && s->lone && !spec->tx->socket)
		rc = find_next_hop(s, err);
	if (!rc && s->sends && spec->shape.capture && (!s->lone || spec->shape.capture->payload))
		capture_stamp(spec->shape.capture, &s->flow);
	return rc ? rc : plan_fragments(s, err);
}

int ports_rate(const struct run_spec *spec, double *pps, struct error *err)
{
	const struct flow flow = {.family = spec->ipv6 ? AF_INET6 : AF_INET,
				  .payload = spec->payload,
				  .vlan = (uint16_t)spec->vlan};
	struct netns ns = NETNS_NONE;
	struct lab_port port = {.ns = &ns};
	struct shape_sizes sizes;
	int rc, speed = -1; /* Mbit/s, unknown for a test network */
	struct netdev dev;

	if (spec->rate.unit == RATE_PERCENT && spec->port_a &&
	    !open_port(spec->port_a, &dev, &port, &(struct error){}))
		speed = dev.speed_mbit;
	netns_close(&ns);
	shape_sizes(spec_shape(spec), &flow, &sizes);
	rc = rate_to_pps(&spec->rate, sizes.mean_frame, speed, pps);
	if (spec->shape.scheduled)
		*pps = profile_peak(&spec->shape.profile);
	if (rc == -ENODATA)
		return error_set(err, STATUS_USAGE, rc, "give packets/s or bit/s",
				 "the speed of the link is unknown, so a percentage of it has no "
				 "meaning");
	return rc ? error_set(err, STATUS_USAGE, rc, NULL, "this rate has no meaning here") : 0;
}
