/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the plan have in common: fault_plan_tx.c the way there, fault_plan_rx.c the
 * end.
 */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_FAULT_PLAN_PARTS_H
#define PKTLEDGER_EXPERIMENT_FAULTS_FAULT_PLAN_PARTS_H

#include "experiment/faults/fault_table.h"

#define MIB(n)	  ((uint64_t)(n) << 20)
#define TBF_SHARE (2.0 / 3) /* of what is sent gets through a tbf */

struct plan {
	const struct fault_list *list;
	const struct fault_request *req;
	struct fault_effects *fx;
	struct error *err;

	unsigned frames;   /* of one datagram */
	unsigned segments; /* datagrams of one packet */
	uint64_t bytes;	   /* of its frames, without FCS */
	uint64_t truesize; /* what it is charged to a socket */
};

static inline bool plan_has(const struct plan *p, enum fault fault)
{
	return fault_has(p->list, fault);
}

/* A buffer's size as setsockopt() takes it: the kernel doubles it. */
int plan_ask(uint64_t bytes);

/* The first number of a sysctl of the host; `otherwise` if it cannot be read. */
uint64_t plan_host_sysctl(const char *path, uint64_t otherwise);

/* -EINVAL unless twice as many frames come as fit in `what`. */
int plan_need_count(struct plan *p, enum fault fault, uint64_t frames, const char *what);

/* What the senders have to respect, and the devices on the way. */
int plan_way(struct plan *p);

/* What the receiver has to respect. */
int plan_receiver(struct plan *p);

#endif
