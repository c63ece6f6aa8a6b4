/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The XDP program in front of AF_XDP sockets (bpf/xsk.bpf.c): loading, attaching, its maps. It is
 * attached by a BPF link, which the kernel undoes when this process ends in whatever way.
 */
#ifndef PKTLEDGER_TRAFFIC_XSK_PROG_H
#define PKTLEDGER_TRAFFIC_XSK_PROG_H

#include <stdbool.h>

#include "base/err.h"
#include "trace_abi.h"

struct xsk_prog;

/* Maps of the tracer; -1: the program has one of its own, which nobody reads. */
struct xsk_prog_maps {
	int cell;  /* the number of the packet under way is left there */
	int seen;  /* packets that came on top of PID 1 are marked there */
	int tails; /* needed with `seen` */
};

/* Loads the program for the flow in `trace`. */
int xsk_prog_open(struct xsk_prog **prog, const struct trace_config *trace,
		  const struct xsk_prog_maps *maps, struct error *err);

/*
 * Attaches it to a device of this thread's namespace, native if the driver can (it may take the
 * link down for a moment), else or if `skb_mode` generic. `queues`: receive queues of the device;
 * more than the XSKMAP holds (64) are refused, because the rest would bypass it.
 */
int xsk_prog_attach(struct xsk_prog *prog, const char *ifname, unsigned queues, bool skb_mode,
		    struct error *err);

int xsk_prog_fd(const struct xsk_prog *prog);	   /* the program, for a tail call */
int xsk_prog_map_fd(const struct xsk_prog *prog);  /* the XSKMAP: rx_config.xsk_map_fd */
int xsk_prog_cell_fd(const struct xsk_prog *prog); /* map `cell` */
bool xsk_prog_native(const struct xsk_prog *prog); /* as granted by attach; false before */

/* Detaches and unloads. */
void xsk_prog_close(struct xsk_prog *prog);

#endif
