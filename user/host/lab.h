/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A test network: namespaces and a path between them, for experiments isolated from the host.
 *
 *   pair:    tx [v-tx]======[v-rx] rx
 *   router:  tx [v-tx]==[v-r0] router [v-r1]==[v-rx] rx
 *   bridge:  tx [v-tx]==[v-b0] bridge [v-b1]==[v-rx] rx
 *   vxlan:   tx [x-tx][v-tx]======[v-rx][x-rx] rx, x-tx and x-rx the ends of a tunnel
 *   tap:     tx [v-tx]--a thread of this process--[v-rx] rx, both taps, anonymous only
 *
 * Addresses: 198.18.0.0/15 (RFC 2544) and 2001:2::/48 (RFC 5180). Neighbours are static and the
 * kernel sends no packets of its own after lab_open() returns, so that counters reflect only the
 * flow: no DAD, RA, RS, no link-local addresses. The MLD reports for the solicited-node groups
 * cannot be suppressed. They are finished before lab_open() returns, but are repeated (two per
 * group within about 10 ms) when an interface loses and regains its carrier.
 *
 * The interfaces have the kernel's defaults except for GRO, which is off: no qdisc, no XDP,
 * checksums offloaded.
 */
#ifndef PKTLEDGER_HOST_LAB_H
#define PKTLEDGER_HOST_LAB_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "host/recipe.h"

enum lab_topology { LAB_PAIR, LAB_ROUTER, LAB_BRIDGE, LAB_TAP, LAB_VXLAN };

#define LAB_VXLAN_PORT 4789

#define LAB_BRIDGE_NAME "br0"

/* Names of the topologies, in the order of the enum. */
extern const struct opt_value lab_topologies[];

/*
 * Returns the name of the namespace between the ends: "router", "bridge", or NULL without a middle.
 */
const char *lab_middle(enum lab_topology topology);

struct lab_spec {
	enum lab_topology topology;
	unsigned queues; /* per veth, at most 256, 0: 1 */
	unsigned mtu;	 /* 1280 to 65535, 0: 1500 */
	bool other_vni;	 /* the tunnel's ends use different VNIs: all packets are lost */
};

/* An interface at one end of a link. */
struct lab_port {
	struct netns *ns; /* borrowed from the test network */
	char ifname[16];
	unsigned ifindex;
	unsigned mtu;
	unsigned queues;
	uint8_t mac[6];
	struct in_addr ip4;  /* /24 */
	struct in6_addr ip6; /* /64 */
};

struct lab_taps;

/* Must not move while it is open: the ports point into it. */
struct lab {
	enum lab_topology topology;
	union {
		struct {
			struct netns tx_ns, rx_ns;
			struct netns router_ns; /* the middle, NETNS_NONE in a pair */
		};
		struct netns ns[3];
	};
	union {
		struct {
			struct lab_port tx, rx; /* the ends */
			/*
			 * The middle's ports towards tx and rx, without addresses on a bridge. With
			 * a tunnel: the interfaces below it, in the namespaces of its ends.
			 */
			struct lab_port router_tx, router_rx;
		};
		struct lab_port port[4];
	};
	char name[32];	       /* empty: anonymous */
	struct lab_taps *taps; /* NULL: not a tap topology */
};

/*
 * Builds an anonymous test network, with all links up on return. Undo it with lab_close(). Without
 * IPv6 in the kernel the ip6 of the ports are ::. Removes everything on failure.
 */
int lab_open(struct lab *lab, const struct lab_spec *spec, struct error *err);

/* Fills names, addresses, MTUs and queues of a test network that does not exist yet. */
void lab_plan(struct lab *lab, const struct lab_spec *spec);

/* Adds the steps that set up the namespaces of lab_plan(), all but taps. */
void lab_recipe(const struct lab *lab, const struct lab_spec *spec, struct recipe *r);

/* Prints the recipe for namespaces NAME-tx, NAME-rx ..., and empties it. */
void lab_print(const struct lab *lab, const char *name, struct recipe *r, FILE *out);

/* The addresses of a port as text, "" for none. */
struct lab_text {
	char mac[18], ip4[INET_ADDRSTRLEN], ip6[INET6_ADDRSTRLEN];
};
struct lab_text lab_text(const struct lab_port *port);

/*
 * Returns the next hop's port for the sender's frames: lab->rx in a pair, router_tx with a router.
 */
const struct lab_port *lab_next_hop(const struct lab *lab);

/* Returns the number of ports, including ports of the middle or below a tunnel. */
unsigned lab_ports(const struct lab *lab);

/* Returns the port at the other end of the sender's link, which receives its frames. */
const struct lab_port *lab_link_peer(const struct lab *lab);

/*
 * Names the namespaces NAME-tx, NAME-rx (, NAME-router or NAME-bridge), so that the test network
 * stays until lab_remove(). -EEXIST if the name is taken.
 */
int lab_publish(struct lab *lab, const char *name, struct error *err);

/* Returns -EEXIST if another test network has the name, -EINVAL if it is invalid. */
int lab_check_free(const char *name, struct error *err);

/*
 * Attaches to a test network opened by another process. -ENOENT if not found. Undo with
 * lab_close().
 */
int lab_open_named(struct lab *lab, const char *name, struct error *err);

/* Returns the topology of a named test network. -ENOENT if not found. */
int lab_topology_of(const char *name, enum lab_topology *topology, struct error *err);

/* Closes the descriptors. Removes an anonymous test network, and keeps a named network. */
void lab_close(struct lab *lab);

/*
 * Removes a named test network. -ENOENT if not found. Only deletes namespaces that lab_open() has
 * marked: their loopback interface has an alias. Processes still running in the namespaces keep them alive
 * without a name.
 */
int lab_remove(const char *name, struct error *err);

struct lab_info {
	char name[32];
	enum lab_topology topology;
	unsigned queues, mtu; /* 0: unknown */
	bool whole;	      /* false: a namespace is missing, only lab_remove() works */
};

/*
 * Calls `cb` for each named test network until it returns nonzero. Returns that value, or -errno.
 */
int lab_list(int (*cb)(void *arg, const struct lab_info *info), void *arg, struct error *err);

/*
 * The taps of a test network: an interface at each end, and a thread of this process that copies
 * frames between them, like the switch of a virtual machine.
 */
#define LAB_TAP_RING 1000 /* frames: tx_queue_len of a tap (ether_setup()) */

/*
 * Creates the interfaces of both ports, down and without carrier, and starts the thread. Undo it
 * with lab_taps_close(). STATUS_UNABLE if this host does not support taps.
 */
int lab_taps_open(struct lab_taps **taps, const struct lab_port *a, const struct lab_port *b,
		  struct error *err);

/*
 * Gives both interfaces a carrier. They must be up, so that the kernel announces the carrier at
 * once, not up to a second later (linkwatch_urgent_event()). Returns 0 or -errno.
 */
int lab_taps_connect(struct lab_taps *taps);

/* Makes the carrier thread spend `ns` on each frame that `a` sends from now on. */
void lab_taps_slow(struct lab_taps *taps, uint64_t ns);

/* Keeps frames that `a` sends from now on in its ring. */
void lab_taps_pause(struct lab_taps *taps);

/*
 * Detaches the reader from `a`: frames in its ring are lost. The interface stays, without carrier.
 */
void lab_taps_detach(struct lab_taps *taps);

/* Returns whether no frame waits in a ring that is read, or is in transfer. */
bool lab_taps_idle(const struct lab_taps *taps);

void lab_taps_close(struct lab_taps *taps); /* may be NULL */

#endif
