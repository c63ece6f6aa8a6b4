/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What waits in UDP sockets: a record for each, as the iterator writes them. */
#ifndef PKTLEDGER_QUEUE_ABI_H
#define PKTLEDGER_QUEUE_ABI_H

#include <linux/types.h>

struct queue_record {
	__u64 cookie;  /* as inet_diag tells it */
	__u64 packets; /* in both of its queues */
	__u64 looked;  /* how many of them were looked at */
	__u64 memory;  /* bytes that those take, as the buffer counts them (truesize) */
};

_Static_assert(sizeof(struct queue_record) == 32, "read by both sides");

#endif
