/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a packet takes of the buffer of a UDP socket, by a BPF iterator: no other interface tells.
 */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_QUEUE_H
#define PKTLEDGER_DIAGNOSIS_FACTS_QUEUE_H

#include "diagnosis/facts_sock.h"

/*
 * Fills in `truesize` of the sockets, which are in `ns`. 0 or -errno: -EPERM without CAP_BPF and
 * CAP_PERFMON, and others where the kernel has no such iterator.
 */
int facts_queues_read(const struct netns *ns, struct facts_socks *socks);

#endif
