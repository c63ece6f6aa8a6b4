/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checkpoints at tc egress of the sender's device and tc ingress of the receiver's: how far each
 * number got. They let everything pass.
 */
#ifndef PKTLEDGER_CHECKPOINT_H
#define PKTLEDGER_CHECKPOINT_H

#include <stdint.h>

#include "base/err.h"
#include "host/netns.h"
#include "trace/drops.h"
#include "trace_abi.h"

struct checkpoints;

struct checkpoint_place {
	const struct netns *ns;
	unsigned ifindex;
};

/* Loads and attaches both; fragments become known to `drops`. */
int checkpoints_open(struct checkpoints **c, const struct trace_config *cfg,
		     const struct drops *drops, const struct checkpoint_place *tx,
		     const struct checkpoint_place *rx, struct error *err);

/* The map of enum trace_seen bytes, to be mapped. */
int checkpoints_seen_fd(const struct checkpoints *c);

void checkpoints_close(struct checkpoints *c);

#endif
