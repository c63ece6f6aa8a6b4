/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tracer: loads and attaches the observers of drops.bpf.c, and reads their counts. Raw causes
 * only; drops/stagemap.h maps them to stages.
 */
#ifndef PKTLEDGER_DROPS_DROPS_H
#define PKTLEDGER_DROPS_DROPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "host/netns.h"
#include "trace_abi.h"

struct drops;
struct bpf_object;

struct drops_losses {
	struct trace_loss bpf;
	uint64_t recursion_misses; /* missed events: our programs were running on that CPU */
};

/* A cause as counted on all CPUs. */
struct drops_cause {
	struct trace_cause cause;
	struct trace_count count;
	uint8_t index; /* as in the outcomes; TRACE_CAUSE_FULL has no separate key */
};

/* FRAMES: XDP frames, by xdp_redirect_err, xdp_devmap_xmit and xdp_cpumap_enqueue. */
enum drops_of { DROPS_OF_ALL, DROPS_OF_SKBS, DROPS_OF_FRAMES };

/*
 * Loads the programs for the numbers in `cfg` (copied). consume_skb is traced if `cfg` has
 * locations for it. STATUS_UNABLE if the kernel or a capability does not allow it.
 */
int drops_open(struct drops **d, const struct trace_config *cfg, const struct trace_kfree *kernel,
	       enum drops_of of, struct error *err);

/* Attaches the observers, which record drops from now on. */
int drops_attach(struct drops *d, const struct trace_places *places, struct error *err);

/*
 * Returns a map shared with other programs, or mapped: "outcomes", "arrivals" (sink.bpf.c), "cell"
 * (xsk.bpf.c), "batch" (gen.bpf.c), "tails", for all code that looks up bytes of numbers.
 */
int drops_map_fd(const struct drops *d, const char *name);

/*
 * Gives probes that are not loaded yet the maps of the window and of fragments, and if
 * cfg.fragments is set also the map of how far numbers got. Returns 0 or -errno.
 */
int drops_share(const struct drops *d, const struct bpf_object *probes);
struct trace_fragments drops_read_fragments(const struct drops *d);

struct trace_tails *drops_tails(const struct drops *d); /* the element of `tails`, mapped */

/*
 * Returns true if sequence headers are read in pages, too (bpf/skb.bpf.h), false if only in the
 * linear part.
 */
bool drops_reads_pages(const struct drops *d);

/*
 * Also resolves live frames that the interface `ifindex` of the namespace `netns` (inode number)
 * refuses, from now on. Their words are in the map `batch`.
 */
int drops_watch_live(struct drops *d, unsigned ifindex, uint32_t netns, struct error *err);

struct drops_redirects {
	unsigned ifindex; /* interface on which the program runs */
	uint32_t netns;	  /* inode number */
	unsigned target;  /* interface in its devmap; 0: unset */
	int cpumap_fd;	  /* -1: unset */
};

/*
 * Also resolves failed redirects of a fault's program, from now on: to no interface, to an
 * interface that refuses, to a CPU with a full queue. Their words are in the maps `cell` and
 * `batch`.
 */
int drops_watch_redirects(struct drops *d, const struct drops_redirects *r, struct error *err);

/*
 * sink.bpf.c ends packets as delivered: the kernel then frees them as dropped, which is not a loss.
 */
void drops_expect_sink(struct drops *d);

/* Treats redirects into this XSKMAP as packets of the flow. */
int drops_watch_xskmap(struct drops *d, int map_fd);

/* Numbers below have left the window of the stream, for all programs that share the map. */
void drops_set_tail(struct drops *d, unsigned slot, uint64_t number);

/*
 * Marks the stream of this word as one that arrived in config.netns. With config.count_all, packets
 * that do not tell their namespace, as when their socket closes, count only for such streams.
 */
void drops_note_stream(struct drops *d, uint64_t word);

/* Returns the packets of all causes so far, by their weight. Cheap enough for every interval. */
uint64_t drops_packets(const struct drops *d);

/* Reads all causes with their counts. Returns the number written (at most `max`) or -errno. */
int drops_read(const struct drops *d, struct drops_cause *out, int max);

struct drops_losses drops_read_losses(const struct drops *d);

/*
 * Walks over the receive queues of the UDP sockets on the flow's port in `ns`, after sending and
 * reading have ended. `closing`: the socket will be closed next, so its packets are resolved as
 * lost. *packets: number of packets found.
 */
int drops_walk_unread(struct drops *d, const struct netns *ns, bool closing, uint64_t *packets,
		      struct error *err);

/* Detaches and unloads. Maps that other code has mapped stay until unmapped. */
void drops_close(struct drops *d);

#endif
