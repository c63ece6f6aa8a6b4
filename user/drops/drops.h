/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tracer: loads and attaches the observers in drops.bpf.c and reads their counters. It only
 * returns raw causes, which drops/stagemap.h maps to stages.
 */
#ifndef PKTLEDGER_DROPS_DROPS_H
#define PKTLEDGER_DROPS_DROPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "host/netns.h"
#include "watch_abi.h"

struct drops;
struct bpf_object;

struct drops_losses {
	struct trace_loss bpf;
	uint64_t recursion_misses; /* missed events: one of our programs was running on that CPU */
};

/* A cause, with its count over all CPUs. */
struct drops_cause {
	struct watch_key cause;
	struct trace_count count;
	uint8_t index; /* same index as in the outcomes; TRACE_CAUSE_FULL has no key of its own */
};

/* FRAMES: XDP frames, reported by xdp_redirect_err, xdp_devmap_xmit and xdp_cpumap_enqueue. */
enum drops_of { DROPS_OF_ALL, DROPS_OF_SKBS, DROPS_OF_FRAMES };

/* Points at which a test network has a probe, from TX to RX. */
enum probe_point {
	PROBE_TX,
	PROBE_RX,
	PROBE_BRIDGE_IN,
	PROBE_BRIDGE_OUT,
	PROBES,
};

/*
 * Loads the programs for the numbers in `cfg` (copied). Traces consume_skb if `cfg` has locations
 * for it. `probes`: bit n: also load the program of probe n, for probes_open(). STATUS_UNABLE if
 * the kernel or missing capabilities do not allow it.
 */
int drops_open(struct drops **d, const struct trace_config *cfg, const struct trace_kfree *kernel,
	       enum drops_of of, unsigned probes, struct error *err);

/* Returns the descriptor of a probe's program, which has been loaded. */
int drops_probe_fd(const struct drops *d, enum probe_point point);

/* Attaches the observers, which record drops from now on. */
int drops_attach(struct drops *d, const struct trace_places *places, struct error *err);

/*
 * Forgets causes, counts and losses. From now on, numbers are new from `base` on. No packet of this
 * run may be in flight. Returns 0 or -errno.
 */
int drops_arm(struct drops *d, uint64_t base);

/*
 * Returns a map that is shared with other programs or mapped: "outcomes", "arrivals" (sink.bpf.c),
 * "cell" (xsk.bpf.c), "batch" (gen.bpf.c), "seen" (enum trace_seen bytes, if there are probes), or
 * "tails", for code that looks up the bytes of numbers.
 */
int drops_map_fd(const struct drops *d, const char *name);

/*
 * Gives probes that are not loaded yet the maps for the window and for fragments. If cfg.fragments
 * is set, they also get the map that records how far numbers got. Returns 0 or -errno.
 */
int drops_share(const struct drops *d, const struct bpf_object *probes);
struct trace_fragments drops_read_fragments(const struct drops *d);

struct trace_tails *drops_tails(const struct drops *d); /* the element of `tails`, mapped */

/* Returns true if sequence headers in pages are also read (bpf/skb.bpf.h). */
bool drops_reads_pages(const struct drops *d);

/*
 * From now on, also resolves live frames that the interface `ifindex` in the namespace `netns`
 * (inode number) refuses. Their words are in the map `batch`.
 */
int drops_watch_live(struct drops *d, unsigned ifindex, uint32_t netns, struct error *err);

struct drops_redirects {
	unsigned ifindex; /* interface that the program runs on */
	uint32_t netns;	  /* inode number */
	unsigned target;  /* interface in the program's devmap; 0: unset */
	int cpumap_fd;	  /* -1: unset */
};

/*
 * From now on, also resolves a fault program's failed redirects: to no interface, to an interface
 * that refuses frames, or to a CPU whose queue is full. Their words are in the maps `cell` and
 * `batch`.
 */
int drops_watch_redirects(struct drops *d, const struct drops_redirects *r, struct error *err);

/*
 * Tells the tracer that sink.bpf.c ends packets as delivered. The kernel frees these as dropped,
 * but they are not losses.
 */
void drops_expect_sink(struct drops *d);

/* Treats redirects into this XSKMAP as packets that belong to the flow. */
int drops_watch_xskmap(struct drops *d, int map_fd);

/*
 * Declares that numbers below have left the stream's window, for all programs that share the map.
 */
void drops_set_tail(struct drops *d, unsigned slot, uint64_t number);

/*
 * Marks this word's stream as one that arrived in config.netns[0]. With config.count_all, packets
 * whose namespace is unknown, for example because their socket is closing, only count for such
 * streams.
 */
void drops_note_stream(struct drops *d, uint64_t word);

/*
 * Returns the weighted number of packets in all causes so far. Cheap enough to call every interval.
 */
uint64_t drops_packets(const struct drops *d);

/* Reads all causes with their counts. Returns how many it wrote (at most `max`), or -errno. */
int drops_read(const struct drops *d, struct drops_cause *out, int max);

struct drops_losses drops_read_losses(const struct drops *d);

/*
 * Walks the receive queues of the UDP sockets on the flow's port in `ns`, after sending and reading
 * have stopped. `closing`: the socket will be closed next, so its packets are resolved as lost.
 * *packets: set to the number of packets found.
 */
int drops_walk_unread(struct drops *d, const struct netns *ns, bool closing, uint64_t *packets,
		      struct error *err);

/* Detaches and unloads. Maps that other code has mapped remain until they are unmapped. */
void drops_close(struct drops *d);

#endif
