/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's own counters, read before and after an experiment: the second books.
 *
 * A counter has a scope, the role of the namespace it was read in ("tx", "rx", "router"; "host"
 * for what is one for all namespaces), and a name:
 *
 *   Udp:RcvbufErrors, Ip:OutDiscards      /proc/net/snmp
 *   TcpExt:IPReversePathFilter            /proc/net/netstat
 *   Udp6RcvbufErrors, Ip6InHdrErrors      /proc/net/snmp6, as the kernel writes them
 *   XfrmInNoPols                          /proc/net/xfrm_stat
 *   softnet:cpu1:dropped                  /proc/net/softnet_stat; scope "host"
 *   arp_cache:unresolved_discards         /proc/net/stat/arp_cache, ndisc_cache; scope "host"
 *   v-rx:rx_dropped                       IFLA_STATS64
 *   v-tx:qdisc:drops                      root qdiscs of the device
 *   ethtool:v-rx:rx_queue_0_xdp_drops     ethtool -S
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/netns.h"

#define COUNTER_SCOPE_LEN 16
#define COUNTER_NAME_LEN  72 /* longest: ethtool:<15>:<31> */

struct counter {
	char scope[COUNTER_SCOPE_LEN];
	char name[COUNTER_NAME_LEN];
	uint64_t value;
	bool level;	 /* a queue length, not a count: takes no part in deltas */
	uint32_t object; /* whose count it is, where that can be replaced (a qdisc); else 0 */
};

/* Zero-initialise; free with counters_free(). */
struct counters {
	struct counter *items;
	size_t n, cap;
};

struct counters_scope {
	const char *role;
	const struct netns *ns;	    /* NULL: the calling thread's */
	const char *const *ifnames; /* devices on the path; NULL-terminated, or NULL: none */
};

/* Appends a counter; names too long are cut. -ENOMEM. */
int counters_add(struct counters *c, const char *scope, const char *name, uint64_t value);
int counters_add_level(struct counters *c, const char *scope, const char *name, uint64_t value);

/*
 * Appends everything that can be read in the `n` scopes: each file and device inside its own
 * namespace, through /proc/thread-self/net. What this kernel or device does not have is left
 * out: an absent counter is not a zero. Returns 0, or -errno if a namespace cannot be entered,
 * a device is gone (-ENODEV) or memory is short; what was read until then stays.
 */
int counters_read(struct counters *c, const struct counters_scope *scopes, size_t n);

/* Sum of all entries of that scope and name (NICs repeat labels per queue). False: none. */
bool counters_get(const struct counters *c, const char *scope, const char *name, uint64_t *value);

void counters_free(struct counters *c);

struct counters_delta {
	char scope[COUNTER_SCOPE_LEN];
	char name[COUNTER_NAME_LEN];
	uint64_t delta;
	bool restarted; /* went backwards: the counter began anew, `delta` is a lower bound */
};

/* Zero-initialise; free with counters_deltas_free(). Sorted by scope and name. */
struct counters_deltas {
	struct counters_delta *items;
	size_t n, cap;
};

/*
 * How much every counter that is in both snapshots moved; what is another object's by now is not
 * in both. Entries of one name are summed first.
 * softnet (printed with %08x) and socket drops (atomic_t) are 32 bits wide: their difference is
 * taken modulo 2^32. SNMP counters are u64 or unsigned long, link counters u64: they do not wrap
 * on a 64-bit host, so going backwards there means a restart. Both snapshots get sorted. -ENOMEM.
 */
int counters_delta(struct counters *before, struct counters *after, struct counters_deltas *out);

/* How much one counter moved. False: not in both snapshots. */
bool counters_moved(const struct counters_deltas *d, const char *scope, const char *name,
		    uint64_t *delta);

void counters_deltas_free(struct counters_deltas *d);

#endif
