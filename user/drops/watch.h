/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Observer of all packets lost on this host: loads, attaches and reads bpf/watch.bpf.c on
 * skb:kfree_skb. Numbers only, which monitor/live.h interprets.
 */
#ifndef PKTLEDGER_DROPS_WATCH_H
#define PKTLEDGER_DROPS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/cause.h"
#include "drops/filter.h"
#include "drops/nat.h"
#include "xdp_abi.h"

#define WATCH_OVERFLOW	    4096 /* capacity of a hash map for keys without a slot */
#define WATCH_FLOW_OVERFLOW 16384
#define WATCH_SOCKS	    4096 /* maximum sockets known at a time, LRU-evicted */
#define WATCH_DEVS	    1024

struct watch;

/* Options of the observer. Zero-initialised: observe everything. */
struct watch_spec {
	/*
	 * Filters, by_flow, by_sender, xdp, snaplen, stack, burst_ns, freeing, and `consumed`: places
	 * where packets freed as consumed are losses (drops/cause.h). Without such locations, these
	 * packets are not traced, because that would cost time for every freed packet. watch_open()
	 * fills in the rest.
	 */
	struct watch_config cfg;
	const struct filter *filter; /* EXPR, borrowed until watch_open() returns; or NULL */
	const struct filter_inner *inner; /* tunnels inside which it is applied; or NULL */
	bool followed;	   /* another object's programs do the counting: watch_share() */
	bool unfragmented; /* do not parse packets to find later fragments: EXPR is TCP only */
	uint32_t ring;	   /* sample ring, bytes, a power of 2, at least a page; 0: SAMPLES_RING */
	struct nat *nat;   /* NAT to track if there is a filter, borrowed; NULL: not tracked */
};

/* The time window in which a key lost most packets, over all CPUs. 0: unknown. */
struct watch_burst {
	uint64_t window; /* CLOCK_MONOTONIC / cfg.burst_ns */
	uint64_t packets;
};

/* One key's counts on one CPU in an interval. */
struct watch_entry {
	struct watch_key key;
	struct watch_flow flow; /* zero unless by_flow */
	unsigned cpu;
	struct watch_count count; /* packets are events + more */
	struct watch_burst burst; /* of this interval; only with cfg.burst_ns */
};

/* Missed events, and how full the tables are, since watch_attach(). */
struct watch_state {
	struct watch_loss loss; /* total over all CPUs */
	uint64_t filter_unread; /* packets without a match, because unreadable: drops/filter.h */
	uint64_t recursion_misses;  /* drops missed because our program was running on that CPU */
	uint64_t slots, slots_used; /* over all CPUs; slots_used: maximum in any interval */
	uint64_t overflow, overflow_used; /* the same for keys in the hash map */
};

/*
 * Loads the observer. `r` is borrowed until this returns. STATUS_UNABLE: not possible with this
 * kernel or without a capability.
 */
int watch_open(struct watch **w, const struct watch_spec *spec, const struct reasons *r,
	       struct error *err);

/* Attaches the observer, which counts drops from now on. */
int watch_attach(struct watch *w, const struct trace_places *places, struct error *err);

/* Stops counting. Counts can still be read. */
void watch_detach(struct watch *w);

/* Resumes counting after watch_detach(). Needs no capability. Returns 0 or -errno. */
int watch_attach_again(struct watch *w);

/*
 * Ends an interval. Calls `each`, unless it is NULL, for all counts since watch_attach() or the
 * previous call. Takes an RCU grace period, about 10 ms, and two after watch_discard(). Returns 0
 * or -errno. Counts that could not be read stay until the next call.
 */
typedef void watch_each(void *arg, const struct watch_entry *e);
int watch_collect(struct watch *w, watch_each *each, void *arg);

/*
 * Ends an interval and discards its counts. Takes no time the first time, and an RCU grace period
 * if it is called again before watch_collect(). Returns 0 or -errno.
 */
int watch_discard(struct watch *w);

/* Adds data about a socket from another source. `cookie`: the socket's ID from now on. */
void watch_keep_sock(struct watch *w, uint64_t cookie, const struct watch_sock *sock);

/*
 * Returns true if a CPU has few free slots, so that part of the interval should be read now.
 * Without free slots, lookups hit the overflow map, which is expensive, and eventually keys are
 * merged.
 */
bool watch_fills(const struct watch *w);

/* Reads the record for a socket or an interface. Returns 0 or -ENOENT. */
int watch_sock(const struct watch *w, uint64_t cookie, struct watch_sock *out);
int watch_dev(const struct watch *w, uint32_t netns, uint32_t ifindex, struct watch_dev *out);

/* Calls `each` for all known sockets, unsorted. */
void watch_each_sock(const struct watch *w,
		     void (*each)(void *arg, uint64_t cookie, const struct watch_sock *sock),
		     void *arg);

/* Returns true if the kernel reports rx_sk, the socket that dropped the packet (Linux 6.11). */
bool watch_knows_sockets(const struct watch *w);

/* Reads the current state. Table usage is known up to the last watch_collect(). */
void watch_state(const struct watch *w, struct watch_state *s);

/*
 * Lets `program`, from another object that is not loaded yet, count in this observer's maps. The
 * observer itself then counts nothing (spec.followed). *cfg: set to the configuration for
 * bpf/watch.bpf.h there. Missed events are those of `program`, so close that object last. Returns 0
 * or -errno.
 */
struct bpf_object;
int watch_share(struct watch *w, struct bpf_object *other, const char *program,
		struct watch_config *cfg);

/* Enables or disables samples if they were requested. They are enabled at first. */
void watch_sampling(struct watch *w, bool on);

/* Detaches and frees. NULL is allowed. */
void watch_close(struct watch *w);

/* The ring for samples of dropped packets. */
#define SAMPLES_RING (8u << 20) /* bytes; a sample takes 72 bytes plus its packet bytes */

/*
 * `stack`: sample->frames addresses. `bytes`: sample->len bytes of the packet, with the VLAN tag in
 * place. Both are valid until the callback returns.
 */
typedef void samples_each(void *arg, const struct sample *sample, const uint64_t *stack,
			  const uint8_t *bytes);

/* Opens the ring if spec.cfg.snaplen requested samples. Returns 0 or -errno. */
int watch_open_samples(struct watch *w, samples_each *each, void *arg, struct error *err);

/*
 * Calls `each` for new samples, oldest first, for at most `budget_ns`, and leaves the rest for the
 * next call. `budget_ns` 0: process all samples present at the time of the call. Returns how many
 * were processed, or -errno.
 */
int64_t watch_read_samples(struct watch *w, uint64_t budget_ns);

/* Frames that XDP loses without an skb being involved. Only with spec.cfg.xdp. */
struct xdploss {
	struct xdploss_key key;
	struct xdploss_count count; /* total over all CPUs since watch_attach() */
};

/*
 * Returns the space-separated names of tracepoints that are missing or incompatible on this kernel.
 * "": all are observed.
 */
const char *watch_xdp_missing(const struct watch *w);

/* Reads up to `max` keys with their counts, unsorted. Returns how many. XDPLOSS_KEYS is enough. */
int watch_xdp(const struct watch *w, struct xdploss *out, int max);

/*
 * Calls `each` for each rare event that the same option observes (enum sign_kind), with its total
 * since watch_attach().
 */
void watch_signs(const struct watch *w,
		 void (*each)(void *arg, const struct sign_key *key, const struct sign *sign),
		 void *arg);

/*
 * Formats "name[id]" for a program or map, "[id]" if it no longer exists, "" for 0. Returns `buf`.
 */
const char *xdplosses_program(uint32_t id, char *buf, unsigned size);
const char *xdplosses_map(uint32_t id, char *buf, unsigned size);

/* Which event counts as the loss if two events report it. */
enum xdploss_mode {
	/*
	 * kfree_skb is also counted and reports generic mode. Skbs are counted there, so that a
	 * packet filter takes effect. An aborted skb on a veth always counts there.
	 */
	XDPLOSS_BESIDE_KFREE,
	/*
	 * Failed redirects in generic mode also count here, with errno and map. kfree_skb with the
	 * reason XDP in do_xdp_generic() has to be ignored, because it reports exactly the same
	 * event.
	 */
	XDPLOSS_INSTEAD_OF_KFREE,
};

/*
 * Names and judges a loss: CLASS_LOSS, or CLASS_NONE if another event or key reports it. The reason
 * is "ENOBUFS" for a negative errno, "ABORTED", "TX" ... for an exception, otherwise "".
 */
void xdplosses_judge(struct judged_cause *c, const struct xdploss_key *key, enum xdploss_mode mode);

#endif
