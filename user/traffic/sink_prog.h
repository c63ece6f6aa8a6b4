/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving XDP program of the engine `xdp` (bpf/sink.bpf.c): loading, attaching, its sums. */
#ifndef PKTLEDGER_TRAFFIC_SINK_PROG_H
#define PKTLEDGER_TRAFFIC_SINK_PROG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "traffic/sink.h"
#include "sink_abi.h"

struct sink_prog;

struct sink_prog_config {
	const struct trace_config *trace; /* which numbers are this run's; learn: the port only */
	unsigned payload;		  /* expected length; 0: any */
	bool pass;			  /* a checkpoint, the stack decides */
	bool learn;	 /* streams are not known, and the maps are the program's own */
	int arrivals_fd; /* a BPF map of a byte a number, the tracer's */
	int tails_fd;	 /* the map `tails`, the same */
	int seen_fd;	 /* the same for `pass`; -1: how far packets got is not noted */
};

int sink_prog_open(struct sink_prog **prog, const struct sink_prog_config *cfg, struct error *err);

/* To a device of this thread's namespace: native, or generic where the driver cannot. */
int sink_prog_attach(struct sink_prog *prog, const char *ifname, struct error *err);

int sink_prog_fd(const struct sink_prog *prog);		  /* for a tail call from another program */
bool sink_prog_native(const struct sink_prog *prog);	  /* as granted by attach; false before */
bool sink_prog_device_gone(const struct sink_prog *prog); /* since attach */

/*
 * With `learn`: the i-th stream that arrived (from 0), and its SINK_WINDOW bytes of arrivals.
 * False: there are not so many yet. There is room for SINK_LEARNED; what arrives of others goes on
 * to the stack and is counted as foreign.
 */
bool sink_prog_learned(const struct sink_prog *prog, unsigned i, struct sink_learned *stream,
		       uint8_t **arrivals);
bool sink_prog_learns(const struct sink_prog *prog);

/* With `learn`: numbers below have left the window of the i-th stream. To be written. */
uint64_t *sink_prog_tails(const struct sink_prog *prog);

/* Sums of all CPUs; `next` and last_ns are the largest, first_ns the smallest but 0. */
int sink_prog_read(const struct sink_prog *prog, struct sink_count *sum);

/* Detaches and unloads. */
void sink_prog_close(struct sink_prog *prog);

#endif
