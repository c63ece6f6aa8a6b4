/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Network devices over rtnetlink and the ethtool ioctl. All functions act in the namespace `ns`
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

/* The root qdisc of a device. */
struct netdev_qdisc {
	char kind[16];
	uint32_t handle; /* as tc writes it: 0x10000 is "1:"; 0: the kernel's own choice */
	bool limited;	 /* `limit` is known and can be set */
	uint32_t limit;	 /* packets; bytes of bfifo */
};

/* As rtnetlink shows a device. */
struct link_info {
	unsigned ifindex;
	unsigned flags; /* IFF_* */
	char ifname[16];
	char kind[16];	   /* IFLA_INFO_KIND: "veth", "bridge" ...; "" of hardware */
	uint32_t xdp_prog; /* native or offloaded, id; 0: none */
	uint8_t mac[6];
	uint16_t tunnel_port; /* UDP, of VXLAN and Geneve; 0: of no such device */
	unsigned mtu, txqueuelen;
	unsigned rx_queues, tx_queues; /* allocated */
	unsigned master, peer; /* ifindex of the bridge, bond ..., of the other end; 0: none */
	int peer_netnsid;      /* -1: the same namespace */
	unsigned xdp_attached; /* XDP_ATTACHED_... of <linux/if_link.h> */
	unsigned xdp_program;  /* of any kind; 0: none, or several */
	bool bridge_port;
	char qdisc[32]; /* kind */
	struct rtnl_link_stats64 stats;
};

/* It is up and has no link, so what is sent by it is discarded (noop_qdisc, or by its driver). */
static inline bool link_has_no_carrier(const struct link_info *link)
{
	return (link->flags & (IFF_UP | IFF_RUNNING)) == IFF_UP;
}

struct netdev {
	struct link_info link; /* with the name that was asked for, and the queues in use */
	char driver[32];       /* ETHTOOL_GDRVINFO; "" if unknown */
	int speed_mbit;	       /* -1: unknown */
	struct in_addr ip4;    /* the first address; IPv6: a global one; 0: none */
	struct in6_addr ip6;
	bool default_route; /* a default route (v4 or v6) leaves by it */
};

/* -ENODEV: no such device. */
int netdev_get(const struct netns *ns, const char *ifname, struct netdev *dev);

/* A veth pair: `a` in ns_a, `b` in ns_b, `queues` rx and tx queues each, MACs as given. */
int netdev_add_veth(const struct netns *ns_a, const char *a, const uint8_t mac_a[6],
		    const struct netns *ns_b, const char *b, const uint8_t mac_b[6],
		    unsigned queues);

/* A tunnel that sends all it gets to `remote`, out of the device `underlay`. */
struct netdev_vxlan {
	const uint8_t *mac;
	uint32_t vni;
	struct in_addr remote;
	unsigned underlay; /* ifindex */
	unsigned queues;
};

/*
 * A VXLAN device on this UDP port, down; `to` NULL: for any network (collect_metadata): its sockets
 * are there while it is up. -EEXIST, or -EOPNOTSUPP without CONFIG_VXLAN.
 */
int netdev_add_vxlan(const struct netns *ns, const char *ifname, uint16_t port,
		     const struct netdev_vxlan *to);

/* A bridge without snooping and spanning tree, down. -EOPNOTSUPP without CONFIG_BRIDGE. */
int netdev_add_bridge(const struct netns *ns, const char *ifname);

/* Settings of a port of a bridge. */
struct netdev_bridge_port {
	bool blocked; /* takes no frames: BR_STATE_DISABLED, as the bridge itself undoes blocking */
	bool floods;  /* sends frames whose address is at no port that is known */
	bool learns;  /* notes which addresses are there; if not, it forgets those it knows */
};
int netdev_set_bridge_port(const struct netns *ns, unsigned ifindex,
			   const struct netdev_bridge_port *port);
int netdev_set_up(const struct netns *ns, const char *ifname, bool up);
int netdev_set_mtu(const struct netns *ns, const char *ifname, unsigned mtu);
int netdev_set_master(const struct netns *ns, const char *ifname, unsigned master_ifindex);
int netdev_add_addr(const struct netns *ns, unsigned ifindex, int family, const void *addr,
		    unsigned prefix);
/* Static (NUD_PERMANENT) neighbour; `mac` NULL: it goes, -ENOENT if there is no such entry. */
int netdev_set_neigh(const struct netns *ns, unsigned ifindex, int family, const void *addr,
		     const uint8_t *mac);
/*
 * The kernel is asking for a neighbour right now (NUD_INCOMPLETE), on this device (0: on any, or has
 * done so just now, in vain): packets may wait for it, how many is shown nowhere. False if it cannot
 * be read.
 */
bool netdev_asks_neigh(const struct netns *ns, unsigned ifindex, struct endpoint *who);
/*
 * `type`: RTN_UNICAST; RTN_LOCAL, the namespace takes what is sent to these addresses; or
 * RTN_BLACKHOLE, ifindex 0: they are dropped without an answer. prefix 0: default route.
 */
int netdev_add_route(const struct netns *ns, int type, unsigned ifindex, int family,
		     const void *dst, unsigned prefix, const void *via);
/*
 * How the kernel would send to this address: device, source address, and MAC from the neighbour
 * entry of the next hop; zeros for an address of its own. Only the table is read: -ENOENT if it has
 * no usable entry, -ENETUNREACH if there is no route.
 */
int netdev_next_hop(const struct netns *ns, const struct endpoint *to, unsigned *ifindex,
		    uint8_t mac[6], void *src_addr);

/* The device by which the kernel would send to this address; 0: there is no route. */
unsigned netdev_way(const struct netns *ns, const struct endpoint *to);

/* What the kernel knows of the next hop to it. */
enum netdev_hop {
	HOP_UNKNOWN,
	HOP_LOCAL,  /* the address is one of the namespace */
	HOP_ASKED,  /* a neighbour that is being asked for (NUD_INCOMPLETE) */
	HOP_SILENT, /* and has not answered (NUD_FAILED) */
};
enum netdev_hop netdev_hop(const struct netns *ns, const struct endpoint *to, unsigned *ifindex);

/*
 * An ethtool feature by its string, e.g. "tx-checksum-ip-generic", "rx-gro". -ENOENT: the kernel
 * has none of this name; -EOPNOTSUPP: the device does not take the change.
 */
int netdev_set_feature(const struct netns *ns, const char *ifname, const char *feature, bool on);
int netdev_get_feature(const struct netns *ns, const char *ifname, const char *feature, bool *on);

/* Root qdisc tbf: rate in bit/s, burst and limit in bytes. */
int netdev_qdisc_tbf(const struct netns *ns, unsigned ifindex, uint64_t rate_bps, uint32_t burst,
		     uint32_t limit);

/* As an answer to RTM_GETQDISC shows it. */
struct nlmsghdr;
void netdev_qdisc_read(const struct nlmsghdr *nlh, struct netdev_qdisc *q);

/* The root qdisc. -ENOENT: there is none, as while the device was never up. */
int netdev_qdisc_root(const struct netns *ns, unsigned ifindex, struct netdev_qdisc *q);

/* Puts one in place of the root qdisc, or of what a tbf at the root keeps its packets in. */
int netdev_qdisc_set(const struct netns *ns, unsigned ifindex, bool inner,
		     const struct netdev_qdisc *q);

/* Whether qdiscs of this kind have a limit that is understood here. */
bool netdev_qdisc_limited(const char *kind);

/*
 * `ethtool -S`, appended to `s` with the names that the driver gives, and the driver's own name
 * ("" unknown). None is no error. -ENODEV.
 */
int netdev_ethtool_stats(const struct netns *ns, const char *ifname, char driver[32],
			 struct nic_sample *s);

/*
 * Driver, speed, and the queues in use (ETHTOOL_GCHANNELS; rtnetlink has those allocated). What
 * a driver does not report stays as it is.
 */
void netdev_ethtool_fill(const struct netns *ns, struct netdev *dev);

/*
 * One command of the ethtool ioctl: a structure of <linux/ethtool.h> that begins with its number.
 * 0 or more as the command says, or -errno.
 */
int netdev_ethtool(const struct netns *ns, const char *ifname, void *command);

/* The RSS indirection table, to be freed. -EOPNOTSUPP: it has none. */
struct ethtool_rxfh_indir;
int netdev_rss_table(const struct netns *ns, const char *ifname, struct ethtool_rxfh_indir **table);

/* How a device is set up. A part that is not `known` is all zero: the driver does not report it. */
struct netdev_settings {
	struct {
		bool known;
		unsigned rx, rx_max, tx, tx_max; /* descriptors */
	} ring;
	struct {
		bool known;
		unsigned rx, tx, combined; /* in use; a driver has combined ones or not */
		unsigned rx_max, tx_max, combined_max;
	} channels;
	struct {
		bool known;
		unsigned rx_usecs, rx_frames;
		bool adaptive_rx;
	} coalesce;
	struct {
		bool known;
		bool autoneg, rx, tx; /* tx: asks the link's partner to wait */
	} pause;
	struct {
		bool known;
		unsigned entries; /* of the indirection table */
		unsigned used;	  /* different queues in it */
	} rss;
};

/* 0 or -errno (-ENODEV). */
int netdev_settings_read(const struct netns *ns, const char *ifname, struct netdev_settings *out);

/* An IPsec policy for UDP to a port, whoever sends it. */
struct xfrm_policy {
	int family;    /* AF_INET, AF_INET6 */
	uint16_t port; /* destination, host order; 0: any */
	bool out;      /* for what leaves; else for what is to be delivered */
	bool esp;      /* wants it in ESP, transport mode; else forbids it */
	uint32_t mark; /* only packets with all these bits in their mark; 0: any */
};

/* Goes with the namespace. -EPROTONOSUPPORT without CONFIG_XFRM_USER, -EEXIST; or -errno. */
int xfrm_add_policy(const struct netns *ns, const struct xfrm_policy *policy);

/* Fragments of IP that wait for the rest of their datagram, and what is sent in them. */

/*
 * Datagrams of both families that are incomplete in a namespace: `inuse` of FRAG and FRAG6 in
 * /proc/net/sockstat and sockstat6. 0 if it cannot be read.
 */
uint64_t reassembly_queues(const struct netns *ns);

/*
 * The largest UDP payload whose fragments are all full at this MTU: a router then handles the
 * fewest packets for the most bytes. Where two do not fit: what one packet holds. 0: not even that.
 */
unsigned reassembly_best_payload(bool ipv6, unsigned mtu);

/* The MTU of the route to `to` in this namespace, as a socket's IP_MTU; 0: unknown. */
unsigned reassembly_path_mtu(const struct endpoint *to);

/* Whether datagrams of so many bytes travel to `to` in fragments, as far as is known. */
bool reassembly_fragments(const struct endpoint *to, unsigned payload);

#endif
