/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's own counters: a snapshot of namespaces, and the difference between two. Everybody
 * who reads counters reads them here: run for its counter check, trace and top for their rates,
 * check for its facts. What is read is chosen by flags, since some of it is expensive.
 *
 * A snapshot has counters by name, and devices with all that is counted of them.
 *
 * A counter by name has a scope, which is what the caller calls the namespace it was read in ("tx",
 * "rx", "router" in run; "host" for what is one for all namespaces), and a name:
 *
 *   Udp:RcvbufErrors, Ip:OutDiscards      /proc/net/snmp
 *   TcpExt:IPReversePathFilter            /proc/net/netstat
 *   Udp6RcvbufErrors, Ip6InHdrErrors      /proc/net/snmp6, as the kernel writes them
 *   XfrmInNoPols                          /proc/net/xfrm_stat
 *   softnet:cpu1:dropped                  /proc/net/softnet_stat; scope "host"
 *   arp_cache:unresolved_discards         /proc/net/stat/arp_cache, ndisc_cache; scope "host"
 *   v-rx:rx_dropped                       IFLA_STATS64
 *   v-tx:qdisc:drops                      root qdiscs of the device
 *   v-tx:qdisc:clsact                     drops of its tc filters, both ways
 *   ethtool:v-rx:rx_queue_0_xdp_drops     ethtool -S, blanks at its ends cut
 *   qstat:eth1:rx-hw-drops                netdev-genl
 *
 * and, added by the caller with counters_add() because only it has the socket:
 *
 *   socket:drops                          SK_MEMINFO_DROPS
 *   xsk:rx_ring_full, xsk:rx_fill_ring_empty, xsk:rx_dropped, xsk:rx_invalid,
 *   xsk:tx_invalid_descs                  XDP_STATISTICS
 *   xsk:tx_lost                           frames consumed with EBUSY
 */
#ifndef PKTLEDGER_HOST_COUNTERS_H
#define PKTLEDGER_HOST_COUNTERS_H

#include <linux/if_link.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/netdev.h"
#include "host/netns.h"
#include "host/nic.h"

#define COUNTER_SCOPE_LEN 16
#define COUNTER_NAME_LEN  72 /* longest: ethtool:<15>:<39> */

struct counter {
	char scope[COUNTER_SCOPE_LEN];
	char name[COUNTER_NAME_LEN];
	uint64_t value;
	bool level;	 /* a queue length, not a count: takes no part in deltas */
	uint32_t object; /* whose count it is, where that can be replaced (a qdisc); else 0 */
};

/* The root queueing disciplines of a device, and the filters of tc. All zero: it has none. */
struct link_qdisc {
	unsigned ifindex;
	struct netdev_qdisc root; /* its handle is another one after it was replaced */
	uint64_t drops;		  /* at the root; in skbs, not segments */
	uint64_t requeues;
	uint32_t qlen;	       /* packets waiting now */
	uint32_t backlog;      /* bytes waiting now */
	uint64_t clsact_drops; /* by tc filters at ingress and egress */
};

/* A device at the time of the snapshot. */
struct counters_device {
	char scope[COUNTER_SCOPE_LEN];
	struct link_info link;
	struct link_qdisc qdisc;
	char driver[32];       /* ETHTOOL_GDRVINFO, with COUNTERS_DRIVERS; "" unknown */
	struct nic_sample nic; /* what the NIC table knows: link:*, and by flags the driver's */
	struct nic_plan *plan; /* made by counters_device_match() */
};

/* Zero-initialise; free with counters_free(). */
struct counters {
	struct counter *items;
	size_t n;
	struct counters_device *devices; /* in the order of the scopes and their ifnames */
	unsigned n_devices;
};

enum counters_what {
	COUNTERS_SNMP = 1,    /* of the namespace: snmp, netstat, snmp6, xfrm_stat */
	COUNTERS_HOST = 2,    /* softnet, neighbour tables; once for all scopes of a call */
	COUNTERS_DEVICES = 4, /* those of ifnames: IFLA_STATS64 and qdiscs */
	COUNTERS_DRIVERS = 8, /* and what their drivers count: ethtool -S */
	COUNTERS_QUEUES = 16, /* and netdev-genl's counters, of the device and its queues */
	COUNTERS_NAMES = 32,  /* the devices' counters are also among those by name */
	COUNTERS_ALL = 64,    /* all devices of the namespace; ifnames does not count */
	COUNTERS_GOING = 128, /* those of ifnames that are gone are left out */
	COUNTERS_RUN = COUNTERS_SNMP | COUNTERS_HOST | COUNTERS_DEVICES | COUNTERS_DRIVERS |
		       COUNTERS_NAMES,
};

struct counters_scope {
	const char *role;
	const struct netns *ns;	    /* NULL: the calling thread's */
	const char *const *ifnames; /* devices on the path; NULL-terminated, or NULL: none */
	unsigned what;		    /* enum counters_what */
};

/* Appends a counter; names too long are cut. The row, until the next one. */
struct counter *counters_add(struct counters *c, const char *scope, const char *name,
			     uint64_t value);

/*
 * Appends what the `n` scopes ask for: each file and device inside its own namespace, through
 * /proc/thread-self/net. What this kernel or device does not have is left out: an absent counter is
 * not a zero. Returns 0, or -errno if a namespace cannot be entered or a device of ifnames is gone
 * (-ENODEV, not with COUNTERS_GOING); what was read until then stays.
 */
int counters_read(struct counters *c, const struct counters_scope *scopes, size_t n);

/* Sum of all entries of that scope and name (NICs repeat labels per queue). False: none. */
bool counters_get(const struct counters *c, const char *scope, const char *name, uint64_t *value);

/* The device of that scope and name; `ifindex` 0: whichever has the name. NULL: none. */
struct counters_device *counters_device(const struct counters *c, const char *scope,
					const char *ifname, unsigned ifindex);

void counters_free(struct counters *c);

/* Leaves those that are wanted, in as little memory as they need; no more can be added. */
void counters_keep(struct counters *c, bool (*wanted)(const struct counter *it));

/*
 * How much every counter that is in both snapshots moved; what is another object's by now is not in
 * both. Entries of one name are summed first. softnet (printed with %08x) and socket drops
 * (atomic_t) are 32 bits wide: their difference is taken modulo 2^32. SNMP counters are u64 or
 * unsigned long, link counters u64: they do not wrap on a 64-bit host, so going backwards there
 * means a restart. Both snapshots get sorted, as the differences are, by scope and name.
 */
void counters_delta(struct counters *before, struct counters *after, struct counters *out);

/* How much a counter of 64 bits moved; that which went backwards began anew. */
static inline uint64_t counter_moved(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

/* The same of a sum of several; 0: it went backwards. */
static inline uint64_t counter_grown(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

/*
 * Makes two snapshots of one device comparable by nic_losses() and nic_item_delta(): after->plan is
 * set (taken over from `before`, if it still fits). Returns what after->nic is to be compared with:
 * before->nic, or `matched` where counters have come or gone. `before` NULL: the device is new, and
 * nothing has moved. `matched` is zero-initialised; nic_sample_free().
 */
const struct nic_sample *counters_device_match(struct counters_device *before,
					       struct counters_device *after,
					       struct nic_sample *matched);

/*
 * The parts of a snapshot that others need alone. All devices of a namespace, or that of `ifindex`,
 * by index, and the qdiscs of those that have one; *list is to be freed. How many, or -errno.
 */
int links_read(const struct netns *ns, unsigned ifindex, struct link_info **list);

/* One of them. `netnsid`: of its namespace, as `ns` numbers it; -1: `ns`. 0 or -errno. */
int link_read(const struct netns *ns, unsigned ifindex, int netnsid, struct link_info *link);
int links_read_qdiscs(const struct netns *ns, struct link_qdisc **list);

/* Those of a device. 0, -ENOENT: it has none, or -errno. */
int link_read_qdisc(const struct netns *ns, unsigned ifindex, struct link_qdisc *qdisc);

/*
 * Counters of devices and of their queues by netdev-genl, the same names for all drivers
 * (Documentation/netlink/specs/netdev.yaml): `qstats-get`, Linux 6.10 and newer, and what XDP a
 * device can do: `dev-get`, 6.3 and newer. What the kernel or the driver does not have is absent.
 */
struct qstat {
	unsigned ifindex;
	char name[NIC_NAME]; /* "qstat:rx-hw-drops" of a device, "qstat:rx-0-hw-drops" of a queue */
	uint64_t value;
};

/*
 * The counters of all devices of `ns` that have any, and then of their queues. *list is to be
 * freed. Returns how many, 0 on a kernel without them, or -errno.
 */
int qstats_read(const struct netns *ns, struct qstat **list);

/* Its name; `what` as the specification calls it, `queue` -1: of the device. */
void qstat_name(const char *what, int queue, char out[NIC_NAME]);

enum xdp_feature {			     /* NETDEV_XDP_ACT_* */
		   XDP_FEATURE_BASIC = 1,    /* DROP, PASS, TX, ABORTED in the driver */
		   XDP_FEATURE_ZEROCOPY = 8, /* AF_XDP without copying */
};

/* Those of a device, and others of the kernel's. 0 or -errno: -ENOENT before 6.3. */
int xdp_features_read(const struct netns *ns, unsigned ifindex, uint64_t *features);

/*
 * Parsers of the files below /proc/net. Pure: text in, counters out. Unknown columns are taken
 * as they come, lines out of shape are skipped, and a number at the very end of a text that does
 * not end in a newline is not believed, since its last digits may be missing.
 * `len` is without a terminating NUL; none is needed.
 */

/* snmp and netstat: a line of names and a line of values, both beginning with "Group:". */
void procnet_snmp(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * snmp6 and xfrm_stat: "Name value" per line. Counters per ICMP type are left out, here and in
 * IcmpMsg above: the kernel prints them only once they are not zero.
 */
void procnet_snmp6(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * softnet_stat: a line per online CPU, hexadecimal (softnet_seq_show()). Columns: 1 processed,
 * 2 dropped, 3 time_squeeze, 11 flow_limit, 12 length of the backlog now (a level), 13 CPU.
 * Kernels without column 13 leave only the line: then the name has "row" instead of "cpu",
 * because offline CPUs have no line.
 */
void procnet_softnet(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * A column of stat/..: a line of names, then hexadecimal values per CPU. The first CPU's, which
 * shows the whole of some columns, or the sum of all; without one CPU's part there is no sum.
 */
bool procnet_column(const char *text, size_t len, const char *column, bool sum, uint64_t *value);

/*
 * stat/arp_cache and stat/ndisc_cache (neigh_stat_seq_show()). Adds "<table>:unresolved_discards",
 * ":res_failed", ":table_fulls" over all CPUs.
 */
void procnet_neigh_stat(struct counters *c, const char *scope, const char *table, const char *text,
			size_t len);

/*
 * What a NIC had no room for: losses that leave no event in the kernel and that only a counter of
 * the driver has.
 */
struct nic_ring_loss {
	uint64_t packets;
	char counter[COUNTER_NAME_LEN]; /* its name as above; of several the largest; "" none */
};

/* Of two snapshots of a device with COUNTERS_DRIVERS and _QUEUES, without what an event shows. */
struct nic_ring_loss nic_ring_loss(struct counters_device *before, struct counters_device *after);

#endif
