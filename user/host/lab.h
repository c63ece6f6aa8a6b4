/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A test network: namespaces and a path between them, for experiments that do not touch the host.
 *
 *   pair:    tx [v-tx]======[v-rx] rx
 *   router:  tx [v-tx]==[v-r0] router [v-r1]==[v-rx] rx
 *   bridge:  tx [v-tx]==[v-b0] bridge [v-b1]==[v-rx] rx
 *   vxlan:   tx [x-tx][v-tx]======[v-rx][x-rx] rx, x-tx and x-rx the ends of a tunnel
 *   tap:     tx [v-tx]--a thread of this process--[v-rx] rx, both taps, anonymous only
 *
 * Addresses: 198.18.0.0/15 (RFC 2544) and 2001:2::/48 (RFC 5180). Neighbours are static, and the
 * kernel does not originate any packets after lab_open() returns, so counters reflect only the
 * flow. There is no DAD, no RA, no RS, and there are no link-local addresses. MLD reports for the
 * solicited-node groups cannot be suppressed. They are sent before lab_open() returns, and again
 * (two per group within about 10 ms) when an interface loses and regains its carrier.
 *
 * Apart from GRO, which is off, the interfaces have the kernel's defaults: no qdisc, no XDP,
 * checksum offload.
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

/* Names of the topologies, in enum order. */
extern const struct opt_value lab_topologies[];

struct lab_spec {
	enum lab_topology topology;
	unsigned queues; /* queues per veth, at most 256, 0: 1 */
	unsigned mtu;	 /* bytes, 1280 to 65535, 0: 1500 */
	bool other_vni;	 /* use a different VNI at each end of the tunnel: all packets are lost */
	bool ip4_only;	 /* without IPv6, whose first reports to its groups take 60 ms */
};

/* A hop: an interface that the packets pass, at one end of a link. */
struct lab_port {
	struct netns *ns; /* borrowed from the test network, NULL: the path has no such hop */
	const char *role; /* of its namespace: "tx", "rx", "router" or "bridge" */
	char ifname[16];
	unsigned ifindex;
	unsigned mtu;
	unsigned queues;
	uint8_t mac[6];
	struct in_addr ip4;  /* /24 */
	struct in6_addr ip6; /* /64 */
};

struct lab_taps;

#define LAB_SPACES 3
#define LAB_PORTS  4

/* Must not be moved while open, because the ports point into it. */
struct lab {
	enum lab_topology topology;
	union {
		struct {
			struct netns tx_ns, router_ns, rx_ns; /* NETNS_NONE: no such one */
		};
		struct netns ns[LAB_SPACES];
	};
	union {
		/*
		 * In path order. The middle's ports have no addresses on a bridge. With a tunnel,
		 * they are the interfaces below it, in the end namespaces.
		 */
		struct {
			struct lab_port tx, router_tx, router_rx, rx;
		};
		struct lab_port port[LAB_PORTS];
	};
	char name[32];	       /* empty: anonymous */
	struct lab_taps *taps; /* NULL: not a tap topology */
};

/*
 * Creates an anonymous test network. All links are up on return. Close it with lab_close(). If the
 * kernel lacks IPv6, the ports' ip6 is ::. Removes everything on failure.
 */
int lab_open(struct lab *lab, const struct lab_spec *spec, struct error *err);

/* Fills in the names, addresses, MTUs and queues of a test network that does not exist yet. */
void lab_plan(struct lab *lab, const struct lab_spec *spec);

/* Adds the steps that set up the namespaces planned by lab_plan(), except for taps. */
void lab_recipe(const struct lab *lab, const struct lab_spec *spec, struct recipe *r);

/* Prints the recipe for the namespaces NAME-tx, NAME-rx and so on, and empties it. */
void lab_print(const struct lab *lab, const char *name, struct recipe *r, FILE *out);

/* A port's addresses as text, "" if missing. */
struct lab_text {
	char mac[18], ip4[INET_ADDRSTRLEN], ip6[INET6_ADDRSTRLEN];
};
struct lab_text lab_text(const struct lab_port *port);

/*
 * Returns the port that is the next hop for the sender's frames: lab->rx in a pair, router_tx with
 * a router.
 */
const struct lab_port *lab_next_hop(const struct lab *lab);

/* Returns the hop after `port` (NULL: the first hop), or NULL after the last one. */
const struct lab_port *lab_hop(const struct lab *lab, const struct lab_port *port);

/*
 * Returns the hop at the other end of the link on which packets leave the namespace of `port`, or
 * NULL if they do not leave it there.
 */
const struct lab_port *lab_peer(const struct lab *lab, const struct lab_port *port);

/*
 * Names the namespaces NAME-tx, NAME-rx (and NAME-router or NAME-bridge), so that the test network
 * persists until lab_remove(). Returns -EEXIST if the name is already in use.
 */
int lab_publish(struct lab *lab, const char *name, struct error *err);

/* Returns -EEXIST if another test network uses the name, -EINVAL if the name is invalid. */
int lab_check_free(const char *name, struct error *err);

/*
 * Opens a test network that another process created. Returns -ENOENT if not found. Close it with
 * lab_close().
 */
int lab_open_named(struct lab *lab, const char *name, struct error *err);

/* Gets a named test network's topology. Returns -ENOENT if not found. */
int lab_topology_of(const char *name, enum lab_topology *topology, struct error *err);

/* Closes the descriptors. An anonymous test network is removed, a named one persists. */
void lab_close(struct lab *lab);

/*
 * Removes a named test network. Returns -ENOENT if not found. Only deletes namespaces that
 * lab_open() marked by giving their loopback interface an alias. A namespace with processes still
 * running in it survives, without a name.
 */
int lab_remove(const char *name, struct error *err);

struct lab_info {
	char name[32];
	enum lab_topology topology;
	unsigned queues, mtu; /* 0: unknown */
	bool whole;	      /* false: a namespace is missing, and only lab_remove() works */
};

/*
 * Calls `cb` for each named test network until it returns nonzero. Returns that value, or -errno.
 */
int lab_list(int (*cb)(void *arg, const struct lab_info *info), void *arg, struct error *err);

/*
 * A test network's taps: an interface at each end and a thread in this process that copies frames
 * between them, like a virtual machine's switch.
 */
#define LAB_TAP_RING 1000 /* frames: a tap's tx_queue_len (ether_setup()) */

/*
 * Creates both ports' interfaces, down and without carrier, and starts the thread. Undo it with
 * lab_taps_close(). Returns STATUS_UNABLE if the host does not support taps.
 */
int lab_taps_open(struct lab_taps **taps, const struct lab_port *a, const struct lab_port *b,
		  struct error *err);

/*
 * Turns the carrier on at both interfaces. They must be up, so that the kernel announces the
 * carrier immediately instead of up to a second later (linkwatch_urgent_event()). Returns 0 or
 * -errno.
 */
int lab_taps_connect(struct lab_taps *taps);

/*
 * Makes the thread spend `ns` on every frame that `a` sends from now on. With LAB_TAPS_PAUSED, it
 * leaves them in the ring.
 */
#define LAB_TAPS_PAUSED UINT64_MAX
void lab_taps_slow(struct lab_taps *taps, uint64_t ns);

/*
 * Detaches the reader from `a`, which loses the frames in its ring. The interface stays but has no
 * carrier.
 */
void lab_taps_detach(struct lab_taps *taps);

/* Returns whether no frame is in transit or waiting in a ring that is being read. */
bool lab_taps_idle(const struct lab_taps *taps);

void lab_taps_close(struct lab_taps *taps); /* `taps` may be NULL */

#endif
