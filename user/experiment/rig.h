/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All that stands while an experiment runs: the ports, the faults, the tracer, both ends. Built
 * in the order that a true ledger needs: observers first, then counters, then the sender.
 */
#ifndef PKTLEDGER_EXPERIMENT_RIG_H
#define PKTLEDGER_EXPERIMENT_RIG_H

#include "traffic/sink.h"
#include "traffic/xsk.h"
#include "host/counters.h"
#include "host/lab.h"
#include "experiment/experiment.h"
#include "experiment/receiver.h"
#include "experiment/sender.h"
#include "experiment/tracer.h"

struct rig {
	const struct run_spec *spec;
	struct lab lab;
	bool lab_open;
	bool fragments; /* datagrams are larger than the MTU */
	bool moving;	/* more numbers than the window holds: it has to be moved */
	double rate_pps;
	struct fault_effects fx;
	struct fault_state *faults;
	struct tracer tracer;
	struct xsk_prog *xsk_prog;
	struct sink_prog *sink_prog;
	const struct lab_port *gro; /* where GRO was switched on to give it NAPI; NULL: nowhere */
	struct flow flow;
	struct receiver_config receiver_config;
	struct receiver *receiver; /* NULL: nobody listens, or closed already */
	struct sender_config sender_config;
	struct sender *sender;
	struct counters before, after;
	struct nic_watch nic; /* of the receiver, between two ports of this host */
};

/* Builds everything up to the sender, whose threads stand ready. On failure all is undone. */
int rig_open(struct rig *rig, const struct run_spec *spec, const struct experiment_view *view,
	     struct error *err);

/* For rig_open(): attaches the receiver's XDP program, and that of a fault before it. */
int rig_open_xdp(struct rig *rig, struct error *err);

/* Reads the kernel's counters of all namespaces on the path, and those of our sockets. */
int rig_read_counters(struct rig *rig, struct counters *c, struct error *err);

void rig_close(struct rig *rig);

#endif
