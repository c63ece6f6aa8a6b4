/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The observer of all lost packets of this host: bpf/watch.bpf.c on skb:kfree_skb, loaded, attached
 * and read. Numbers only; what they mean is said by monitor/live.h.
 */
#ifndef PKTLEDGER_DROPS_WATCH_H
#define PKTLEDGER_DROPS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/filter.h"
#include "drops/ksym.h"
#include "drops/nat.h"
#include "drops/reason.h"
#include "drops/stagemap.h"
#include "watch_abi.h"
#include "xdp_abi.h"

#define WATCH_OVERFLOW	    4096 /* keys of a hash map for what finds no slot */
#define WATCH_FLOW_OVERFLOW 16384
#define WATCH_SOCKS	    4096 /* sockets known at a time; the least used one gives way */
#define WATCH_DEVS	    1024

struct watch;

/* What to observe. Zero-initialised: everything. */
struct watch_spec {
	/*
	 * Filters, by_flow, by_sender, snaplen, stack, burst_ns, freeing; and `consumed`: where
	 * packets freed as used up are losses (drops/cause.h). With none these are not looked at,
	 * which each packet that is freed would pay for. watch_open() knows the rest.
	 */
	struct watch_config cfg;
	const struct filter *filter; /* EXPR, borrowed until watch_open() returns; NULL: none */
	const struct filter_inner *inner; /* where it is applied to what is in tunnels, or NULL */
	bool followed;	   /* others fill the maps of watch_shared() with what EXPR matches */
	bool unfragmented; /* no packet is looked at to know its later fragments: EXPR is of TCP */
	uint32_t ring;	   /* of samples, bytes, a power of 2, at least a page; 0: SAMPLES_RING */
	struct nat *nat;   /* where NAT is to be followed, with a filter; borrowed; NULL: nowhere */
};

/* What was counted for one key on one CPU in an interval. */
struct watch_entry {
	struct watch_key key;
	struct watch_flow flow;	  /* zero unless by_flow */
	struct watch_count count; /* packets: events + more */
	unsigned cpu;
};

/* Own losses and own cost, since watch_attach(). */
struct watch_state {
	struct watch_loss loss; /* summed over the CPUs */
	uint64_t filter_unread; /* did not match because they could not be read: drops/filter.h */
	uint64_t recursion_misses;  /* a drop while our program ran on that CPU: not counted */
	uint64_t run_ns, runs;	    /* of our program; 0 unless the host keeps BPF statistics */
	uint64_t slots, slots_used; /* over all CPUs; used: the most in an interval */
	uint64_t overflow, overflow_used; /* keys of the hash map, the same */
};

/* Loads. `r` is borrowed until it returns. STATUS_UNABLE: the kernel, or a capability. */
int watch_open(struct watch **w, const struct watch_spec *spec, const struct reasons *r,
	       struct error *err);

/* From here on drops are counted. */
int watch_attach(struct watch *w, const struct trace_places *places, struct error *err);

/* Counts no more; what was counted can be read. */
void watch_detach(struct watch *w);

/*
 * Ends an interval: calls `each`, unless it is NULL, for all that was counted since watch_attach()
 * or the last call. Takes an RCU grace period, some 10 ms. 0 or -errno; what could not be read
 * stays for the next call.
 */
typedef void watch_each(void *arg, const struct watch_entry *e);
int watch_collect(struct watch *w, watch_each *each, void *arg);

/*
 * When the packets of the last watch_collect() were lost, to be called after it. A key may come
 * more than once with the same window. Nothing without cfg.burst_ns.
 */
void watch_bursts(struct watch *w, void (*each)(void *arg, const struct burst *b), void *arg);

/* Some list of windows will be full soon: the interval should end, or a part of it be read. */
bool watch_bursts_fill(const struct watch *w);

/* What others than the observer know of a socket; `cookie`: which it is called by from then on. */
void watch_keep_sock(struct watch *w, uint64_t cookie, const struct watch_sock *sock);

/* Whether a CPU has few slots left: from then on keys are dear, and in the end not told apart. */
bool watch_fills(const struct watch *w);

/* What was noted of a socket or a device. 0 or -ENOENT. */
int watch_sock(const struct watch *w, uint64_t cookie, struct watch_sock *out);
int watch_dev(const struct watch *w, uint32_t netns, uint32_t ifindex, struct watch_dev *out);

/* All sockets known, in no order. */
void watch_each_sock(const struct watch *w,
		     void (*each)(void *arg, uint64_t cookie, const struct watch_sock *sock),
		     void *arg);

/* rx_sk is reported by the kernel: sockets that drop are known (Linux 6.11). */
bool watch_knows_sockets(const struct watch *w);

/* As it is now; what was used is known up to the last watch_collect(). */
void watch_state(const struct watch *w, struct watch_state *s);

/* Maps for others who look at the same packets: fragmented datagrams, and names that NAT gave. */
struct watch_shared {
	int followed; /* bpf/nat.bpf.h; -1: there is none */
	int renamed;  /* bpf/nat.bpf.h */
};
struct watch_shared watch_shared(const struct watch *w);

/* Whether samples are taken, if they were asked for; at first they are. */
void watch_sampling(struct watch *w, bool on);

/* Detaches and frees. NULL is allowed. */
void watch_close(struct watch *w);

/* The ring in which it leaves samples of dropped packets. */
#define SAMPLES_RING (16u << 20) /* bytes; a sample takes 72 and what is kept of its packet */

/*
 * `stack`: sample->frames addresses; `bytes`: sample->len of the packet, with its VLAN tag in
 * place. All live until it returns.
 */
typedef void samples_each(void *arg, const struct sample *sample, const uint64_t *stack,
			  const uint8_t *bytes);

/* If spec.cfg.snaplen asked for them. 0 or -errno. */
int watch_open_samples(struct watch *w, samples_each *each, void *arg, struct error *err);

/*
 * Calls `each` for what has come since, oldest first, for as long as `budget_ns`; what is left is
 * for the next call. 0: for all that is there when it is called. Returns how many, or -errno.
 */
int64_t watch_read_samples(struct watch *w, uint64_t budget_ns);

/*
 * What XDP loses without an skb: bpf/xdp.bpf.c on the xdp: tracepoints, loaded, attached and
 * read. These events cost nothing while nothing fails; xdp_cpumap_kthread comes once a batch.
 */
struct xdplosses;

struct xdploss {
	struct xdploss_key key;
	struct xdploss_count count; /* of all CPUs, since xdplosses_attach() */
};

/*
 * Loads the observers of those tracepoints that this kernel has in the form that is known.
 * STATUS_UNABLE: none could be loaded.
 */
int xdplosses_open(struct xdplosses **x, const struct reasons *r, struct error *err);

/*
 * From here on losses are counted. `places`: to distinguish verdicts on skbs from those on frames;
 * if none are known, an aborted skb on a veth may be counted here and by kfree_skb.
 */
int xdplosses_attach(struct xdplosses *x, const struct trace_places *places, struct error *err);

/*
 * Names of the tracepoints that are not observed, divided by blanks, because this kernel has them
 * not, or in another form; "": all are.
 */
const char *xdplosses_missing(const struct xdplosses *x);

/* All keys with their counts, in no order. At most `max`; how many. XDPLOSS_KEYS do. */
int xdplosses_read(const struct xdplosses *x, struct xdploss *out, int max);

/* Packets for whose key there was no room. */
uint64_t xdplosses_uncounted(const struct xdplosses *x);

/* Name of a device, as it was when its key came up; "" unknown. `buf` of WATCH_IFNAME bytes. */
const char *xdplosses_device(const struct xdplosses *x, uint32_t netns, uint32_t ifindex,
			     char *buf);

/* "name[id]" of a program, or a map, or "[id]" if it is gone; "" for id 0. Returns `buf`. */
const char *xdplosses_program(uint32_t id, char *buf, unsigned size);
const char *xdplosses_map(uint32_t id, char *buf, unsigned size);

void xdplosses_close(struct xdplosses *x); /* NULL is allowed */

/* Which event is the loss where two report it (STAGES 3.3). */
enum xdploss_mode {
	/*
	 * kfree_skb is counted too and reports generic mode: what was an skb counts there, so that
	 * a filter on packets holds. An aborted skb of a veth always counts there.
	 */
	XDPLOSS_BESIDE_KFREE,
	/*
	 * Failed redirects count here in generic mode too, with errno and map; kfree_skb with
	 * reason XDP in do_xdp_generic() is to be left out, which is one for one the same.
	 */
	XDPLOSS_INSTEAD_OF_KFREE,
};

/* CLASS_LOSS, or CLASS_NONE: another event or key reports it. The note is for people. */
struct verdict xdplosses_judge(const struct xdploss_key *key, enum xdploss_mode mode);

/* "ENOBUFS" for a negative errno; "ABORTED", "TX" ... for an exception; "" if there is neither. */
const char *xdplosses_reason(const struct xdploss_key *key);

/* The tracepoint: "xdp_redirect_err". */
const char *xdplosses_location(const struct xdploss_key *key);

#endif
