/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel counters: takes snapshots of namespaces and compares two snapshots. All code that reads
 * kernel counters uses this module: the counter check in run, the rates in trace and top, and the
 * facts in check. Flags select which groups to read, because some are expensive.
 *
 * A snapshot consists of named counters and of interfaces with all their counters.
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
 *   pool:eth1:alloc-empty                 netdev-genl, page pools
 *
 * The caller adds its own sockets' counters with counters_add():
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
	uint32_t object; /* ID of the replaceable object that owns it (a qdisc), otherwise 0 */
};

/* An interface's root queueing disciplines and tc filters. All zero if it has no qdisc. */
struct link_qdisc {
	unsigned ifindex;
	struct netdev_qdisc root; /* its handle changes when it is replaced */
	uint64_t drops;		  /* at the root, in skbs (not segments) */
	uint64_t requeues;
	uint32_t qlen;	       /* packets waiting now */
	uint32_t backlog;      /* bytes waiting now */
	uint64_t clsact_drops; /* drops by tc filters at ingress and egress */
};

/* An interface at the time of the snapshot. */
struct counters_device {
	char scope[COUNTER_SCOPE_LEN];
	struct link_info link;
	struct link_qdisc qdisc;
	char driver[32];       /* ETHTOOL_GDRVINFO if COUNTERS_DRIVERS is set, "": unknown */
	struct nic_sample nic; /* counters in the NIC table: link:*, the driver's if requested */
	uint8_t silent;	       /* requests it does not answer, see standard_stats_read() */
	struct nic_plan *plan; /* created by counters_device_match() */
};

/* Zero-initialise. Free with counters_free(). */
struct counters {
	struct counter *items;
	size_t n;
	struct counters_device *devices; /* sorted by scope, then in the order of ifnames */
	unsigned n_devices;
	/* An earlier snapshot, or NULL. Requests that it found unanswered are not sent again. */
	const struct counters *earlier;
};

enum counters_what {
	COUNTERS_SNMP = 1,    /* per namespace: snmp, netstat, snmp6, xfrm_stat */
	COUNTERS_HOST = 2,    /* softnet and neighbour tables, read once per call for all scopes */
	COUNTERS_DEVICES = 4, /* interfaces in ifnames: IFLA_STATS64 and qdiscs */
	COUNTERS_DRIVERS = 8, /* also driver counters: ethtool -S */
	COUNTERS_QUEUES = 16, /* also netdev-genl counters, per interface and per queue */
	COUNTERS_NAMES = 32,  /* also add the interface counters to the named counters */
	COUNTERS_ALL = 64,    /* all interfaces in the namespace, ifnames is ignored */
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

/*
 * Appends a counter, truncating long names. Returns the entry, which is valid until the next call.
 */
struct counter *counters_add(struct counters *c, const char *scope, const char *name,
			     uint64_t value);

/*
 * Appends the counters that the `n` scopes request. Reads every file and interface inside its own
 * namespace, through /proc/thread-self/net. Counters that the kernel or interface lacks are omitted
 * rather than reported as zero. Returns 0, or -errno if a namespace cannot be entered or an
 * interface in ifnames no longer exists (-ENODEV, unless COUNTERS_GOING is set). Counters read
 * before the error are kept.
 */
int counters_read(struct counters *c, const struct counters_scope *scopes, size_t n);

/*
 * Sums all entries with this scope and name (NICs repeat labels per queue). Returns false if not
 * found.
 */
bool counters_get(const struct counters *c, const char *scope, const char *name, uint64_t *value);

/*
 * Finds an interface by scope and name. `ifindex` 0 matches any index. Returns NULL if not found.
 */
struct counters_device *counters_device(const struct counters *c, const char *scope,
					const char *ifname, unsigned ifindex);

void counters_free(struct counters *c);

/*
 * Keeps only the counters that wanted() accepts and frees unused memory. Nothing can be added
 * afterwards.
 */
void counters_keep(struct counters *c, bool (*wanted)(const struct counter *it));

/*
 * Computes the increase of every counter present in both snapshots. A counter whose object was
 * replaced in between counts as absent. Entries with the same name are summed first. softnet
 * counters (printed with %08x) and socket drops (atomic_t) are 32 bits wide, so their difference is
 * taken modulo 2^32. SNMP counters are u64 or unsigned long and link counters are u64, so they do
 * not wrap on a 64-bit host, and a decrease means a restart. Sorts both snapshots and the
 * differences by scope and name.
 */
void counters_delta(struct counters *before, struct counters *after, struct counters *out);

/* Returns the increase of a 64-bit counter. If it decreased, it restarted from 0. */
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
 * Makes two snapshots of one interface comparable with nic_losses() and nic_item_delta(). Sets
 * after->plan, reusing the plan in `before` if it still fits. Returns the sample to compare with
 * after->nic: before->nic, or `matched` if counters appeared or disappeared. If `before` is NULL,
 * the interface is new and no counter has increased. `matched` must be zero-initialised and is
 * freed with nic_sample_free().
 */
const struct nic_sample *counters_device_match(struct counters_device *before,
					       struct counters_device *after,
					       struct nic_sample *matched);

/*
 * links_read() lists all interfaces of a namespace (or only `ifindex`), sorted by index.
 * links_read_qdiscs() lists the qdiscs of interfaces that have any. The caller frees *list. Both
 * return the number of entries or -errno.
 */
int links_read(const struct netns *ns, unsigned ifindex, struct link_info **list);

/*
 * Reads one interface in `ns`, or in the peer namespace that has the ID `netnsid` in `ns` (-1: `ns`
 * itself). Returns 0 or -errno.
 */
int link_read(const struct netns *ns, unsigned ifindex, int netnsid, struct link_info *link);
int links_read_qdiscs(const struct netns *ns, struct link_qdisc **list);

/* Reads one interface's qdiscs. Returns 0, -ENOENT if it has no qdisc, or -errno. */
int link_read_qdisc(const struct netns *ns, unsigned ifindex, struct link_qdisc *qdisc);

/*
 * Interface and queue counters from netdev-genl, which have the same names for all drivers
 * (Documentation/netlink/specs/netdev.yaml). `qstats-get` requires Linux 6.10. `dev-get`, which
 * reports the XDP features, requires 6.3. Counters that the kernel or the driver lacks are omitted.
 */
struct qstat {
	unsigned ifindex;
	char name[NIC_NAME]; /* "qstat:rx-hw-drops" (interface), "qstat:rx-0-hw-drops" (queue) or
			      * "pool:alloc-empty" (one of the interface's page pools, since 6.8) */
	uint64_t value;
};

struct nlmsghdr;

/*
 * Reads the counters of all interfaces in `ns` that have any, then those of their queues and page
 * pools. The caller frees *list. Returns the number of entries (0 if the kernel lacks them) or
 * -errno. qstats_add() appends one message to a list of struct qstat.
 */
int qstats_read(const struct netns *ns, struct qstat **list);
int qstats_add(const struct nlmsghdr *nlh, void *rows);

/*
 * Appends the standard ethtool statistics that lose packets or explain losses: eth-mac, eth-phy,
 * eth-ctrl, rmon, FEC and link-down events. Asks only hardware. `silent`: a bit for each request
 * that the interface does not answer, which is not sent again; 0 at first. Errors are ignored.
 * standard_stats_add() appends one message to a struct nic_sample.
 */
void standard_stats_read(const struct netns *ns, const struct link_info *link, struct nic_sample *s,
			 uint8_t *silent);
int standard_stats_add(const struct nlmsghdr *nlh, void *sample);

/*
 * A devlink trap for packets that the hardware drops. `lost`: those that it dropped, and those that
 * it handed to the kernel only for the report (action `trap`).
 */
struct hw_trap {
	char device[48], name[48]; /* "pci/0000:01:00.0", "blackhole_route" */
	uint64_t lost;
};

/*
 * Lists the traps of a namespace. The caller frees *list. Returns the number of traps, -ENOENT if
 * the kernel has no devlink, or -errno. hw_trap_add() appends one message to a list of them.
 */
int hw_traps_read(const struct netns *ns, struct hw_trap **list);
int hw_trap_add(const struct nlmsghdr *nlh, void *rows);

/*
 * Formats the counter name. `what` is the name in the specification. `queue` -1 means the whole
 * interface.
 */
void qstat_name(const char *what, int queue, char out[NIC_NAME]);

enum xdp_feature {			     /* NETDEV_XDP_ACT_* */
		   XDP_FEATURE_BASIC = 1,    /* DROP, PASS, TX, ABORTED in the driver */
		   XDP_FEATURE_ZEROCOPY = 8, /* AF_XDP without copying */
};

/*
 * Reads an interface's XDP feature bits, including bits not listed above. Returns 0 or -errno,
 * -ENOENT before 6.3.
 */
int xdp_features_read(const struct netns *ns, unsigned ifindex, uint64_t *features);

/*
 * Parsers for files under /proc/net. They are pure functions from text to counters. They accept
 * unknown columns and skip malformed lines. A number at the very end of a text without a final
 * newline is ignored, because its last digits may be missing. `len` does not include a terminating
 * NUL, which is not required.
 */

/*
 * Parses snmp and netstat: a line of names followed by a line of values, both starting with
 * "Group:".
 */
void procnet_snmp(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * Parses snmp6 and xfrm_stat: "Name value" on each line. Skips counters per ICMP type, here and in
 * the IcmpMsg group of snmp, because the kernel only prints them once they are nonzero.
 */
void procnet_snmp6(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * Parses softnet_stat: one line of hexadecimal numbers per online CPU (softnet_seq_show()).
 * Columns: 1 processed, 2 dropped, 3 time_squeeze, 11 flow_limit, 12 current backlog length (a
 * level), 13 CPU. Older kernels lack column 13. Only the line number is known then, and because
 * offline CPUs have no line, the name has "row" instead of "cpu".
 */
void procnet_softnet(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * Reads a column from a file in stat/: a line of names, then a line of hexadecimal values per CPU.
 * Returns the sum over all CPUs, or the first CPU's value for columns that contain the total. Fails
 * if the column is missing for a CPU.
 */
bool procnet_column(const char *text, size_t len, const char *column, bool sum, uint64_t *value);

/*
 * Parses stat/arp_cache and stat/ndisc_cache (neigh_stat_seq_show()). Adds
 * "<table>:unresolved_discards", ":res_failed" and ":table_fulls", summed over all CPUs.
 */
void procnet_neigh_stat(struct counters *c, const char *scope, const char *table, const char *text,
			size_t len);

/*
 * Packets that a NIC dropped because its ring was full. The kernel has no event for this loss, only
 * a driver counter.
 */
struct nic_ring_loss {
	uint64_t packets;
	char counter[COUNTER_NAME_LEN]; /* counter name as listed above, the largest one if there
					 * are several, or "" */
};

/*
 * Compares two snapshots of an interface that were taken with COUNTERS_DRIVERS and COUNTERS_QUEUES.
 * Losses that have a drop event are excluded.
 */
struct nic_ring_loss nic_ring_loss(struct counters_device *before, struct counters_device *after);

#endif
