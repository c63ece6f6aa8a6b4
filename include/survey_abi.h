/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the walk over open files (bpf/files.bpf.c) writes. */
#ifndef PKTLEDGER_SURVEY_ABI_H
#define PKTLEDGER_SURVEY_ABI_H

#include <linux/types.h>

#define FILES_WANTED 4096 /* sockets looked for at a time */

/* A process that has a wanted socket. */
struct files_holder {
	__u64 inode;
	__u32 pid; /* as the host's first PID namespace numbers it */
	__u32 fd;
};

_Static_assert(sizeof(struct files_holder) == 16, "no holes");

/* What waits in UDP sockets: a record for each, as the iterator writes them. */

struct queue_record {
	__u64 cookie;  /* as inet_diag tells it */
	__u64 packets; /* in both of its queues */
	__u64 looked;  /* how many of them were looked at */
	__u64 memory;  /* bytes that those take, as the buffer counts them (truesize) */
};

_Static_assert(sizeof(struct queue_record) == 32, "read by both sides");

/* A bound AF_XDP socket, as bpf/xskwalk.bpf.c writes it to its iterator's file. */

#define XSKWALK_COMM 16 /* TASK_COMM_LEN */

struct xskwalk_record {
	__u64 inode; /* of the socket: tells it from all others */
	__u64 rx_dropped, rx_invalid_descs, rx_ring_full, rx_fill_ring_empty;
	__u64 tx_invalid_descs, tx_ring_empty;
	__u32 netns, ifindex;
	__u32 pid; /* as the process that started us sees it */
	__u16 queue;
	__u16 zero_copy;
	char comm[XSKWALK_COMM];
};

_Static_assert(sizeof(struct xskwalk_record) == 88, "no holes");

#endif
