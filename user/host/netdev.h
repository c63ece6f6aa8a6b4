/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Network interfaces over rtnetlink and the ethtool ioctl. All functions act in the namespace `ns`
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

/* The root qdisc of an interface. */
struct netdev_qdisc {
	char kind[16];
	uint32_t handle; /* tc handle: 0x10000 is "1:", 0: the kernel's default */
	bool limited;	 /* `limit` is supported and can be set */
	uint32_t limit;	 /* packets, but bytes for bfifo */
};

/* An interface as reported by rtnetlink. */
struct link_info {
	unsigned ifindex;
	unsigned flags; /* IFF_* */
	char ifname[16];
	char kind[16];	   /* IFLA_INFO_KIND: "veth", "bridge" ..., "" for hardware */
	uint32_t xdp_prog; /* ID of the native or offloaded program, 0: not attached */
	uint8_t mac[6];
	uint16_t tunnel_port; /* UDP port of VXLAN or Geneve, 0: other kinds */
	unsigned mtu, txqueuelen;
	unsigned rx_queues, tx_queues; /* allocated */
	unsigned master, peer; /* ifindex of the bridge, bond ..., and of the peer, 0: none */
	int peer_netnsid;      /* -1: the same namespace */
	unsigned xdp_attached; /* XDP_ATTACHED_... of <linux/if_link.h> */
	unsigned xdp_program;  /* ID of the program in any mode, 0: none or several */
	char alias[24];	   /* IFLA_IFALIAS */
	uint8_t operstate; /* IF_OPER_* of <linux/if.h> */
	bool bridge_port;
	char qdisc[32]; /* kind */
	struct rtnl_link_stats64 stats;
};

/*
 * Returns whether the interface is up without a link, so that sent packets are discarded (by
 * noop_qdisc or the driver).
 */
static inline bool link_has_no_carrier(const struct link_info *link)
{
	return (link->flags & (IFF_UP | IFF_RUNNING)) == IFF_UP;
}

struct netdev {
	struct link_info link; /* with the requested name and the queues in use */
	char driver[32];       /* ETHTOOL_GDRVINFO, "" if unknown */
	int speed_mbit;	       /* -1: unknown */
	struct in_addr ip4;    /* first address, for IPv6 a global one, 0: none */
	struct in6_addr ip6;
	bool default_route; /* has a default route (v4 or v6) */
};

/* Reads an interface. -ENODEV if it does not exist. */
int netdev_get(const struct netns *ns, const char *ifname, struct netdev *dev);

int netdev_set_up(const struct netns *ns, const char *ifname, bool up);
/*
 * Returns whether neighbour resolution is in progress (NUD_INCOMPLETE) on this interface (0: on
 * any, or has just failed). Packets may be queued for it, and the kernel does not report how many.
 * False if the table cannot be read.
 */
bool netdev_asks_neigh(const struct netns *ns, unsigned ifindex, struct endpoint *who);
/*
 * Looks up the kernel's path to this address: interface, source address, and MAC from the neighbour
 * entry of the next hop, zeros for a local address. Only reads the table: -ENOENT if it has no
 * usable entry, -ENETUNREACH without a route.
 */
int netdev_next_hop(const struct netns *ns, const struct endpoint *to, unsigned *ifindex,
		    uint8_t mac[6], void *src_addr);

/* Returns the ifindex of the kernel's path to this address, or 0 without a route. */
unsigned netdev_way(const struct netns *ns, const struct endpoint *to);

/* The kernel's state of the next hop. */
enum netdev_hop {
	HOP_UNKNOWN,
	HOP_LOCAL,  /* the address belongs to the namespace */
	HOP_ASKED,  /* neighbour resolution in progress (NUD_INCOMPLETE) */
	HOP_SILENT, /* resolution failed (NUD_FAILED) */
};
enum netdev_hop netdev_hop(const struct netns *ns, const struct endpoint *to, unsigned *ifindex);

/*
 * Reads an ethtool feature by name, e.g. "tx-checksum-ip-generic", "rx-gro". -ENOENT: unknown to
 * the kernel.
 */
int netdev_get_feature(const struct netns *ns, const char *ifname, const char *feature, bool *on);

/* Reads a qdisc from an answer to RTM_GETQDISC. */
struct nlmsghdr;
void netdev_qdisc_read(const struct nlmsghdr *nlh, struct netdev_qdisc *q);

/* Reads the root qdisc. -ENOENT if it has no qdisc, for example before it was ever up. */
int netdev_qdisc_root(const struct netns *ns, unsigned ifindex, struct netdev_qdisc *q);

/*
 * Appends the output of `ethtool -S` to `s` with the driver's counter names, and returns the
 * driver's name ("" if unknown). An empty list is not an error. -ENODEV.
 */
int netdev_ethtool_stats(const struct netns *ns, const char *ifname, char driver[32],
			 struct nic_sample *s);

/*
 * Reads driver, speed, and the queues in use (ETHTOOL_GCHANNELS, rtnetlink has the allocated ones).
 * Fields that the driver does not report stay unchanged.
 */
void netdev_ethtool_fill(const struct netns *ns, struct netdev *dev);

/*
 * Runs an ethtool ioctl: `command` is a structure of <linux/ethtool.h> that starts with its number.
 * Returns 0 or more, depending on the command, or -errno.
 */
int netdev_ethtool(const struct netns *ns, const char *ifname, void *command);

/*
 * Reads the RSS indirection table. The caller frees it. -EOPNOTSUPP if the interface has no table.
 */
struct ethtool_rxfh_indir;
int netdev_rss_table(const struct netns *ns, const char *ifname, struct ethtool_rxfh_indir **table);

/*
 * The settings of an interface. A part that is not `known` is all zero: the driver does not report
 * it.
 */
struct netdev_settings {
	struct {
		bool known;
		unsigned rx, rx_max, tx, tx_max; /* descriptors */
	} ring;
	struct {
		bool known;
		unsigned rx, tx, combined; /* in use, a driver may lack combined queues */
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
		unsigned entries; /* of the indirection table */
		unsigned used;	  /* number of distinct queues in it */
	} rss;
};

/* Reads the settings. Returns 0 or -errno (-ENODEV). */
int netdev_settings_read(const struct netns *ns, const char *ifname, struct netdev_settings *out);

/* IP fragments waiting for reassembly, and fragmented sending. */

/*
 * Returns the number of incomplete datagrams in a namespace, both families: `inuse` of FRAG and
 * FRAG6 in /proc/net/sockstat and sockstat6. 0 if unreadable.
 */
uint64_t reassembly_queues(const struct netns *ns);

/*
 * Returns the largest UDP payload whose fragments are all full at this MTU: a router then handles
 * the fewest packets per byte. If two fragments do not fit, the payload of a single packet. 0 if
 * even that does not fit.
 */
unsigned reassembly_best_payload(bool ipv6, unsigned mtu);

/*
 * Returns the MTU of the route to `to` in this namespace, like a socket's IP_MTU, or 0 if unknown.
 */
unsigned reassembly_path_mtu(const struct endpoint *to);

/* Returns whether datagrams of this size to `to` are fragmented, based on the known path MTU. */
bool reassembly_fragments(const struct endpoint *to, unsigned payload);

#endif
