/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel counters: takes snapshots of namespaces and computes the difference between two snapshots.
 * All counters are read here: the counter check of run, the rates of trace and top, and the facts
 * of check. Flags select the groups to read, because some groups are expensive.
 *
 * A snapshot has named counters, and interfaces with all their counters.
 *
 * A named counter has a scope and a name. The scope is the caller's label for the namespace ("tx",
 * "rx", "router" in run, "host" for counters shared by all namespaces). The names are:
 *
 *   Udp:RcvbufErrors, Ip:OutDiscards      /proc/net/snmp
 *   TcpExt:IPReversePathFilter            /proc/net/netstat
 *   Udp6RcvbufErrors, Ip6InHdrErrors      /proc/net/snmp6, as the kernel writes them
 *   XfrmInNoPols                          /proc/net/xfrm_stat
 *   softnet:cpu1:dropped                  /proc/net/softnet_stat, scope "host"
 *   arp_cache:unresolved_discards         /proc/net/stat/arp_cache, ndisc_cache, scope "host"
 *   v-rx:rx_dropped                       IFLA_STATS64
 *   v-tx:qdisc:drops                      root qdiscs of the interface
 *   v-tx:qdisc:clsact                     drops of its tc filters, ingress and egress
 *   ethtool:v-rx:rx_queue_0_xdp_drops     ethtool -S, leading and trailing blanks removed
 *   qstat:eth1:rx-hw-drops                netdev-genl
 *
 * The caller adds the counters of its sockets with counters_add():
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
	bool level;	 /* a queue length, not a count: excluded from deltas */
	uint32_t object; /* ID of a replaceable object that has the counter (a qdisc), else 0 */
};

/* The root queueing disciplines of an interface and its tc filters. All zero if it has no qdisc. */
struct link_qdisc {
	unsigned ifindex;
	struct netdev_qdisc root; /* its handle changes when it is replaced */
	uint64_t drops;		  /* at the root, in skbs (not segments) */
	uint64_t requeues;
	uint32_t qlen;	       /* packets waiting now */
	uint32_t backlog;      /* bytes waiting now */
	uint64_t clsact_drops; /* by tc filters at ingress and egress */
};

/* An interface at the time of the snapshot. */
struct counters_device {
	char scope[COUNTER_SCOPE_LEN];
	struct link_info link;
	struct link_qdisc qdisc;
	char driver[32];       /* ETHTOOL_GDRVINFO, with COUNTERS_DRIVERS, "" unknown */
	struct nic_sample nic; /* counters in the NIC table: link:*, and the driver's if flagged */
	struct nic_plan *plan; /* created by counters_device_match() */
};

/* Zero-initialise. Free with counters_free(). */
struct counters {
	struct counter *items;
	size_t n;
	struct counters_device *devices; /* ordered by scope and its ifnames */
	unsigned n_devices;
};

enum counters_what {
	COUNTERS_SNMP = 1,    /* of the namespace: snmp, netstat, snmp6, xfrm_stat */
	COUNTERS_HOST = 2,    /* softnet and neighbour tables, once per call for all scopes */
	COUNTERS_DEVICES = 4, /* interfaces in ifnames: IFLA_STATS64 and qdiscs */
	COUNTERS_DRIVERS = 8, /* also their driver counters: ethtool -S */
	COUNTERS_QUEUES = 16, /* also netdev-genl counters, per interface and per queue */
	COUNTERS_NAMES = 32,  /* add the interface counters to the named counters as well */
	COUNTERS_ALL = 64,    /* all interfaces of the namespace, ifnames is ignored */
	COUNTERS_GOING = 128, /* skip interfaces of ifnames that no longer exist */
	COUNTERS_RUN = COUNTERS_SNMP | COUNTERS_HOST | COUNTERS_DEVICES | COUNTERS_DRIVERS |
		       COUNTERS_NAMES,
};

struct counters_scope {
	const char *role;
	const struct netns *ns;	    /* NULL: the calling thread's namespace */
	const char *const *ifnames; /* interfaces on the path: NULL-terminated, or NULL if empty */
	unsigned what;		    /* enum counters_what */
};

/* Appends a counter and truncates long names. Returns the entry, valid until the next call. */
struct counter *counters_add(struct counters *c, const char *scope, const char *name,
			     uint64_t value);

/*
 * Appends the counters requested by the `n` scopes. Reads each file and interface inside its own
 * namespace, through /proc/thread-self/net. Counters that this kernel or interface lacks are
 * omitted: an absent counter is not a zero. Returns 0, or -errno if a namespace cannot be entered
 * or an interface of ifnames no longer exists (-ENODEV, unless COUNTERS_GOING). Counters read
 * before the error are kept.
 */
int counters_read(struct counters *c, const struct counters_scope *scopes, size_t n);

/*
 * Sums all entries of that scope and name (NICs repeat labels per queue). Returns false if not
 * found.
 */
bool counters_get(const struct counters *c, const char *scope, const char *name, uint64_t *value);

/* Finds the interface of that scope and name. `ifindex` 0 matches any index. NULL if not found. */
struct counters_device *counters_device(const struct counters *c, const char *scope,
					const char *ifname, unsigned ifindex);

void counters_free(struct counters *c);

/*
 * Keeps only the counters accepted by wanted() and frees unused memory. Nothing can be added later.
 */
void counters_keep(struct counters *c, bool (*wanted)(const struct counter *it));

/*
 * Computes the increase of every counter present in both snapshots. A counter whose object was
 * replaced is not in both. Entries of the same name are summed first. softnet (printed with %08x)
 * and socket drops (atomic_t) are 32 bits wide: their difference is taken modulo 2^32. SNMP
 * counters are u64 or unsigned long, link counters u64: they do not wrap on a 64-bit host, so a
 * decrease means a restart. Sorts both snapshots and the differences by scope and name.
 */
void counters_delta(struct counters *before, struct counters *after, struct counters *out);

/* Returns the increase of a 64-bit counter. A counter that decreased restarted from 0. */
static inline uint64_t counter_moved(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

/* Returns the increase of a sum of counters, or 0 if the sum decreased. */
static inline uint64_t counter_grown(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

/*
 * Makes two snapshots of one interface comparable by nic_losses() and nic_item_delta(): sets
 * after->plan (taken over from `before` if it still fits). Returns the sample to compare after->nic
 * with: before->nic, or `matched` if counters appeared or disappeared. `before` NULL means the
 * interface is new and nothing has moved. `matched` must be zero-initialised. Free it with
 * nic_sample_free().
 */
const struct nic_sample *counters_device_match(struct counters_device *before,
					       struct counters_device *after,
					       struct nic_sample *matched);

/*
 * Reads one part of a snapshot. links_read() lists all interfaces of a namespace, or only
 * `ifindex`, sorted by index. links_read_qdiscs() lists the qdiscs of interfaces that have any. The
 * caller frees *list. Returns the number of entries, or -errno.
 */
int links_read(const struct netns *ns, unsigned ifindex, struct link_info **list);

/*
 * Reads one interface of `ns`, or of the peer namespace with ID `netnsid` in `ns` (-1: `ns`
 * itself). Returns 0 or -errno.
 */
int link_read(const struct netns *ns, unsigned ifindex, int netnsid, struct link_info *link);
int links_read_qdiscs(const struct netns *ns, struct link_qdisc **list);

/* Reads the qdiscs of one interface. Returns 0, -ENOENT if it has no qdisc, or -errno. */
int link_read_qdisc(const struct netns *ns, unsigned ifindex, struct link_qdisc *qdisc);

/*
 * Counters of interfaces and their queues from netdev-genl, with the same names for all drivers
 * (Documentation/netlink/specs/netdev.yaml): `qstats-get`, Linux 6.10 and newer. `dev-get`, 6.3 and
 * newer, reports the XDP features. Counters that the kernel or the driver lacks are omitted.
 */
struct qstat {
	unsigned ifindex;
	char name[NIC_NAME]; /* "qstat:rx-hw-drops" (interface) or "qstat:rx-0-hw-drops" (queue) */
	uint64_t value;
};

/*
 * Reads the counters of all interfaces of `ns` that have any, followed by their queues. The caller
 * frees *list. Returns the number of entries, 0 on a kernel without them, or -errno.
 */
int qstats_read(const struct netns *ns, struct qstat **list);

/*
 * Writes the counter name. `what` is its name in the specification, `queue` -1 means the interface.
 */
void qstat_name(const char *what, int queue, char out[NIC_NAME]);

enum xdp_feature {			     /* NETDEV_XDP_ACT_* */
		   XDP_FEATURE_BASIC = 1,    /* DROP, PASS, TX, ABORTED in the driver */
		   XDP_FEATURE_ZEROCOPY = 8, /* AF_XDP without copying */
};

/*
 * Reads the XDP feature bits of an interface, including bits not listed above. Returns 0 or -errno,
 * -ENOENT before 6.3.
 */
int xdp_features_read(const struct netns *ns, unsigned ifindex, uint64_t *features);

/*
 * Parsers of the files below /proc/net. Pure: text in, counters out. Unknown columns are accepted
 * and malformed lines are skipped. A number at the very end of a text without a final newline is
 * ignored, because its last digits may be missing. `len` excludes a terminating NUL, which is not
 * required.
 */

/* Parses snmp and netstat: a line of names, then a line of values, each starting with "Group:". */
void procnet_snmp(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * Parses snmp6 and xfrm_stat: "Name value" per line. Skips counters per ICMP type, here and in
 * IcmpMsg of snmp: the kernel prints them only once they are not zero.
 */
void procnet_snmp6(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * Parses softnet_stat: a line per online CPU, hexadecimal (softnet_seq_show()). Columns: 1
 * processed, 2 dropped, 3 time_squeeze, 11 flow_limit, 12 current backlog length (a level), 13 CPU.
 * Without column 13, in older kernels, only the line number is known: the name then has "row"
 * instead of "cpu", because offline CPUs have no line.
 */
void procnet_softnet(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * Reads a column of stat/..: a line of names, then hexadecimal values per CPU. Returns the sum, or
 * the first CPU's value for columns where it is the total. Fails if a CPU lacks the column.
 */
bool procnet_column(const char *text, size_t len, const char *column, bool sum, uint64_t *value);

/*
 * Parses stat/arp_cache and stat/ndisc_cache (neigh_stat_seq_show()). Adds
 * "<table>:unresolved_discards", ":res_failed", ":table_fulls", summed over all CPUs.
 */
void procnet_neigh_stat(struct counters *c, const char *scope, const char *table, const char *text,
			size_t len);

/*
 * Packets that a NIC dropped for lack of ring space. The kernel has no event for such a loss, only
 * a driver counter.
 */
struct nic_ring_loss {
	uint64_t packets;
	char counter[COUNTER_NAME_LEN]; /* counter name in the form listed above, the largest if
					 * several, or "" */
};

/*
 * Compares two snapshots of an interface taken with COUNTERS_DRIVERS and _QUEUES. Excludes losses
 * that have a drop event.
 */
struct nic_ring_loss nic_ring_loss(struct counters_device *before, struct counters_device *after);

#endif
