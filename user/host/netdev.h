/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Network interfaces over rtnetlink and the ethtool ioctl. All functions work in the namespace `ns`
 * (NULL: the calling thread's) and return 0 or -errno.
 */
#ifndef PKTLEDGER_HOST_NETDEV_H
#define PKTLEDGER_HOST_NETDEV_H

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "host/netns.h"
#include "host/nic.h"

/* An interface's root qdisc. */
struct netdev_qdisc {
	char kind[16];
	uint32_t handle; /* tc handle: 0x10000 is "1:", 0 is the kernel's default */
	bool limited;	 /* `limit` is supported and can be set */
	uint32_t limit;	 /* packets, except for bfifo: bytes */
};

/* An interface as reported by rtnetlink. */
struct link_info {
	unsigned ifindex;
	unsigned flags; /* IFF_* */
	char ifname[16];
	char kind[16];	   /* IFLA_INFO_KIND: "veth", "bridge" ..., "" for hardware */
	uint8_t mac[6];
	uint16_t tunnel_port; /* UDP port of a VXLAN or Geneve interface, 0: other kinds */
	unsigned mtu, txqueuelen;
	unsigned rx_queues, tx_queues; /* allocated */
	unsigned master, peer; /* ifindex of the master (bridge, bond ...) and the peer, 0: none */
	int peer_netnsid;      /* -1: the same namespace */
	unsigned xdp_attached; /* XDP_ATTACHED_... of <linux/if_link.h> */
	unsigned xdp_program;  /* ID of the program in any mode, 0: none or several */
	char alias[24];	   /* IFLA_IFALIAS */
	uint8_t operstate; /* IF_OPER_* of <linux/if.h> */
	bool bridge_port;
	bool hardware;	/* belongs to a device, also to an emulated one (Linux 5.14) */
	char qdisc[32]; /* kind */
	struct rtnl_link_stats64 stats;
};

/*
 * Returns whether the interface is up but has no link, so that packets sent through it are
 * discarded (by noop_qdisc or the driver).
 */
static inline bool link_has_no_carrier(const struct link_info *link)
{
	return (link->flags & (IFF_UP | IFF_RUNNING)) == IFF_UP;
}

struct netdev {
	struct link_info link; /* has the requested name and the number of queues in use */
	char driver[32];       /* ETHTOOL_GDRVINFO, "" if unknown */
	int speed_mbit;	       /* -1: unknown */
	struct in_addr ip4;    /* first address, a global one for IPv6, 0: none */
	struct in6_addr ip6;
	bool default_route; /* a default route (v4 or v6) uses the interface */
};

/* Reads an interface. Returns -ENODEV if it does not exist. */
int netdev_get(const struct netns *ns, const char *ifname, struct netdev *dev);

int netdev_set_up(const struct netns *ns, const char *ifname, bool up);
/*
 * Returns whether neighbour resolution is in progress (NUD_INCOMPLETE) on this interface. With
 * `ifindex` 0, checks all interfaces, and a resolution that has just failed also counts. Packets
 * may be queued for the neighbour, and the kernel does not report how many. Returns false if the
 * table cannot be read.
 */
bool netdev_asks_neigh(const struct netns *ns, unsigned ifindex, struct endpoint *who);
/*
 * Looks up the kernel's path to this address: the interface, the source address, and the MAC
 * address in the next hop's neighbour entry (zeros for a local address). Only reads the table.
 * Returns -ENOENT if the table has no usable entry, -ENETUNREACH if there is no route.
 */
int netdev_next_hop(const struct netns *ns, const struct endpoint *to, unsigned *ifindex,
		    uint8_t mac[6], void *src_addr);

/* Returns the ifindex of the kernel's path to this address, or 0 if there is no route. */
unsigned netdev_way(const struct netns *ns, const struct endpoint *to);

/* The kernel's view of the next hop. */
enum netdev_hop {
	HOP_UNKNOWN,
	HOP_LOCAL,  /* the address belongs to this namespace */
	HOP_ASKED,  /* neighbour resolution in progress (NUD_INCOMPLETE) */
	HOP_SILENT, /* resolution failed (NUD_FAILED) */
};
enum netdev_hop netdev_hop(const struct netns *ns, const struct endpoint *to, unsigned *ifindex);

/*
 * Reads an ethtool feature by name, such as "tx-checksum-ip-generic" or "rx-gro". Returns -ENOENT
 * if the kernel does not know the feature.
 */
int netdev_get_feature(const struct netns *ns, const char *ifname, const char *feature, bool *on);

/* Parses a qdisc from a reply to RTM_GETQDISC. */
struct nlmsghdr;
void netdev_qdisc_read(const struct nlmsghdr *nlh, struct netdev_qdisc *q);

/*
 * Reads the root qdisc. Returns -ENOENT if there is none, for example because the interface has
 * never been up.
 */
int netdev_qdisc_root(const struct netns *ns, unsigned ifindex, struct netdev_qdisc *q);

/*
 * Appends the `ethtool -S` counters to `s` under the driver's names, and gets the driver's name (""
 * if unknown). An empty list is not an error. Returns -ENODEV if the interface does not exist.
 */
int netdev_ethtool_stats(const struct netns *ns, const char *ifname, char driver[32],
			 struct nic_sample *s);

/*
 * Reads the driver, the speed, and the number of queues in use (from ETHTOOL_GCHANNELS, because
 * rtnetlink only reports how many are allocated). Fields that the driver does not report stay
 * unchanged.
 */
void netdev_ethtool_fill(const struct netns *ns, struct netdev *dev);

/*
 * Runs an ethtool ioctl. `command` points to a structure of <linux/ethtool.h> that starts with the
 * command number. Returns -errno, or a value of at least 0 that depends on the command.
 */
int netdev_ethtool(const struct netns *ns, const char *ifname, void *command);

/*
 * Reads the RSS indirection table, which the caller frees. Returns -EOPNOTSUPP if the interface
 * does not have one.
 */
struct ethtool_rxfh_indir;
int netdev_rss_table(const struct netns *ns, const char *ifname, struct ethtool_rxfh_indir **table);

/*
 * An interface's settings. A part without `known` is all zero because the driver does not report
 * it.
 */
struct netdev_settings {
	struct {
		bool known;
		unsigned rx, rx_max, tx, tx_max; /* descriptors */
	} ring;
	struct {
		bool known;
		unsigned rx, tx, combined; /* in use, some drivers have no combined queues */
		unsigned rx_max, tx_max, combined_max;
	} channels;
	struct {
		bool known;
		unsigned rx_usecs, rx_frames;
		bool adaptive_rx;
	} coalesce;
	struct {
		bool known;
		bool autoneg, rx, tx; /* tx: sends pause frames to the link partner */
	} pause;
	struct {
		bool known;
		unsigned entries; /* size of the indirection table */
		unsigned used;	  /* number of distinct queues in the table */
	} rss;
};

/* Reads the settings. Returns 0 or -errno (-ENODEV). */
int netdev_settings_read(const struct netns *ns, const char *ifname, struct netdev_settings *out);

/* IP fragments: reassembly and fragmented sending. */

/*
 * Returns the number of incomplete datagrams in a namespace, both families: `inuse` of FRAG and
 * FRAG6 in /proc/net/sockstat and sockstat6. Returns 0 if unreadable.
 */
uint64_t reassembly_queues(const struct netns *ns);

/*
 * Returns the largest UDP payload whose fragments all fill the MTU, so that routers handle the
 * fewest packets per byte. If the maximum payload leaves no room for two fragments, returns the
 * payload of a single packet. Returns 0 if even that does not fit.
 */
unsigned reassembly_best_payload(bool ipv6, unsigned mtu);

/*
 * Returns the MTU of the route to `to` in this namespace, like a socket's IP_MTU, or 0 if unknown.
 */
unsigned reassembly_path_mtu(const struct endpoint *to);

/* Returns whether datagrams of this size to `to` are fragmented, based on the known path MTU. */
bool reassembly_fragments(const struct endpoint *to, unsigned payload);

#endif
