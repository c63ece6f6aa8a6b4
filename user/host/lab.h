/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lab: namespaces and a path between them, for experiments that must touch nothing else.
 *
 *   pair:    tx [v-tx]======[v-rx] rx
 *   router:  tx [v-tx]==[v-r0] router [v-r1]==[v-rx] rx
 *   bridge:  tx [v-tx]==[v-b0] bridge [v-b1]==[v-rx] rx
 *   vxlan:   tx [x-tx][v-tx]======[v-rx][x-rx] rx, x-tx and x-rx the ends of a tunnel
 *   tap:     tx [v-tx]--a thread of this process--[v-rx] rx, both taps; anonymous only
 *
 * Addresses: 198.18.0.0/15 (RFC 2544) and 2001:2::/48 (RFC 5180). Neighbours are static and
 * the kernel sends nothing of its own once lab_open() is back, so that counters carry the flow
 * alone: no DAD, RA, RS, no link-local addresses. The MLD reports for the solicited-node groups
 * cannot be suppressed; they are over before lab_open() returns, but come again (two for each
 * group within some 10 ms) when a device loses and regains its carrier.
 *
 * The devices are as the kernel makes them, but without GRO: no qdisc, no XDP, checksums offloaded.
 */
#ifndef PKTLEDGER_HOST_LAB_H
#define PKTLEDGER_HOST_LAB_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "host/netns.h"

#define LAB_DIR "/run/pktledger/labs"

enum lab_topology { LAB_PAIR, LAB_ROUTER, LAB_BRIDGE, LAB_TAP, LAB_VXLAN };

#define LAB_VXLAN_PORT 4789

#define LAB_BRIDGE_NAME "br0"

/* Their names, in the order of the enum. */
extern const struct opt_value lab_topologies[];

/* What the namespace between the ends is: "router", "bridge"; NULL: there is none. */
const char *lab_middle(enum lab_topology topology);

struct lab_spec {
	enum lab_topology topology;
	unsigned queues; /* per veth, at most 256; 0: 1 */
	unsigned mtu;	 /* 1280 to 65535; 0: 1500 */
	bool other_vni;	 /* the ends of a tunnel are of different networks: all is lost */
	/* NULL: anonymous; else namespaces NAME-tx, NAME-rx (, NAME-router or NAME-bridge) */
	const char *name;
};

/* One device at one end of a link. */
struct lab_port {
	struct netns *ns; /* borrowed from the lab */
	char ifname[16];
	unsigned ifindex;
	unsigned mtu;
	unsigned queues;
	uint8_t mac[6];
	struct in_addr ip4;  /* /24 */
	struct in6_addr ip6; /* /64 */
};

struct lab_taps;

/* Stays where it is while it is open: the ports point into it. */
struct lab {
	enum lab_topology topology;
	union {
		struct {
			struct netns tx_ns, rx_ns;
			struct netns router_ns; /* the middle; NETNS_NONE in a pair */
		};
		struct netns ns[3];
	};
	union {
		struct {
			struct lab_port tx, rx; /* the ends */
			/*
			 * The middle's ports towards tx and rx; those of a bridge have no
			 * addresses. Of a tunnel: the devices below it, in the namespaces of its
			 * ends.
			 */
			struct lab_port router_tx, router_rx;
		};
		struct lab_port port[4];
	};
	char name[32];	       /* empty: anonymous */
	struct lab_taps *taps; /* NULL: it has none */
};

/*
 * Builds the lab; all links are up when it returns. Undone by lab_close(). -EEXIST if the
 * name is taken. Without IPv6 in the kernel the ip6 of the ports are ::. On failure all is gone.
 */
int lab_open(struct lab *lab, const struct lab_spec *spec, struct error *err);

/* The next hop's port for the sender's frames: lab->rx in a pair, router_tx behind a router. */
const struct lab_port *lab_next_hop(const struct lab *lab);

/* How many ports it has: those of the middle, or below a tunnel, too. */
unsigned lab_ports(const struct lab *lab);

/* The device that the sender's frames come to: at the other end of its link. */
const struct lab_port *lab_link_peer(const struct lab *lab);

/*
 * A named lab is listed as not finished, and cannot be attached to, until everything has been done
 * to it that belongs to it: a process that is killed meanwhile leaves what only lab_remove() takes.
 */
int lab_finish(const struct lab *lab, struct error *err);

/* Attaches to the lab that another process opened; -ENOENT: none. Undone by lab_close(). */
int lab_open_named(struct lab *lab, const char *name, struct error *err);

/* The topology of a named lab. -ENOENT if there is none. */
int lab_topology_of(const char *name, enum lab_topology *topology, struct error *err);

/* Closes the descriptors; an anonymous lab is gone after it, a named one stays. */
void lab_close(struct lab *lab);

/*
 * Removes a named lab. -ENOENT if there is none. Only namespaces that lab_open() made are touched:
 * each lab has a file in LAB_DIR with the inode numbers of its own. Processes that still run
 * in them keep them alive, nameless.
 */
int lab_remove(const char *name, struct error *err);

struct lab_info {
	char name[32];
	enum lab_topology topology;
	unsigned queues, mtu;
	bool finished; /* lab_finish() was called */
	bool whole;    /* false: a namespace is missing, or it is not finished; only lab_remove()
			  makes sense */
};

/* Calls `cb` for each named lab until it returns something else than 0: that, or -errno. */
int lab_list(int (*cb)(void *arg, const struct lab_info *info), void *arg, struct error *err);

/*
 * The taps of a lab: a device at each end, and a thread of this process that carries frames from
 * one to the other, as a virtual machine's switch does.
 */
#define LAB_TAP_RING 1000 /* frames: tx_queue_len of a tap (ether_setup()) */

/*
 * Makes the devices of both ports, down and without carrier, and starts the thread. Undone by
 * lab_taps_close(). STATUS_UNABLE if this host has no taps.
 */
int lab_taps_open(struct lab_taps **taps, const struct lab_port *a, const struct lab_port *b,
		  struct error *err);

/*
 * Gives both their carrier. Of devices that are up, so that the kernel announces it at once, not
 * up to a second later (linkwatch_urgent_event()). 0 or -errno.
 */
int lab_taps_connect(struct lab_taps *taps);

/* From here on each frame that `a` sends costs the carrier so much time. */
void lab_taps_slow(struct lab_taps *taps, uint64_t ns);

/* From here on frames that `a` sends stay in its ring. */
void lab_taps_pause(struct lab_taps *taps);

/* Takes the reader from `a`: what its ring holds is lost; the device stays, without carrier. */
void lab_taps_detach(struct lab_taps *taps);

/* No frame waits in a ring that is read, or is being carried. */
bool lab_taps_idle(const struct lab_taps *taps);

void lab_taps_close(struct lab_taps *taps); /* NULL is fine */

#endif
