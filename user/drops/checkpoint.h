/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checkpoints at tc egress of the sender's device and tc ingress of the receiver's: how far each
 * number got; and where a bridge is between, at its ports. They let everything pass.
 */
#ifndef PKTLEDGER_DROPS_CHECKPOINT_H
#define PKTLEDGER_DROPS_CHECKPOINT_H

#include <stdint.h>

#include "base/err.h"
#include "host/netns.h"
#include "drops/drops.h"
#include "trace_abi.h"

struct checkpoints;

struct checkpoint_place {
	const struct netns *ns;
	unsigned ifindex;
};

enum checkpoint {
	CHECKPOINT_TX,
	CHECKPOINT_RX,
	CHECKPOINT_BRIDGE_IN,
	CHECKPOINT_BRIDGE_OUT,
	CHECKPOINTS,
};

/*
 * Loads all and attaches those of `at` (by enum checkpoint) that have a namespace; fragments become
 * known to `drops`.
 */
int checkpoints_open(struct checkpoints **c, const struct trace_config *cfg,
		     const struct drops *drops, const struct checkpoint_place at[CHECKPOINTS],
		     struct error *err);

/* The map of enum trace_seen bytes, to be mapped. */
int checkpoints_seen_fd(const struct checkpoints *c);

void checkpoints_close(struct checkpoints *c);

#endif
