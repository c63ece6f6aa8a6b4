/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records written by the programs in bpf/survey.bpf.c. */
#ifndef PKTLEDGER_SURVEY_ABI_H
#define PKTLEDGER_SURVEY_ABI_H

#include <linux/types.h>
#include <stdbool.h>

#include "watch_abi.h"

#define FILES_WANTED 4096 /* maximum number of sockets searched at the same time */

/* A process that has a requested socket open. */
struct files_holder {
	__u64 inode;
	__u32 pid; /* in the host's first PID namespace */
	__u32 fd;
};

_Static_assert(sizeof(struct files_holder) == 16, "no holes");

/* A socket that has lost packets without an event, and one of the processes that have it open. */
struct silent_record {
	struct watch_sock sock;
	__u64 cookie; /* 0: not assigned yet */
	__u32 pid;
	__u32 waiting, room; /* listeners: length and limit of the accept queue, sk_ack_backlog */
	__u32 pad;
	char process[16];
	char ifname[16]; /* of a packet socket, "": bound to no interface */
};

_Static_assert(sizeof(struct silent_record) == 120, "read by both sides");

/*
 * Loss bursts by UDP socket inode. Both of its queues are sampled when a burst begins. User space adds
 * other sockets, of which only the reader is recorded.
 */
struct burst_record {
	__u64 last_ns; /* bpf_ktime_get_ns() of the last loss */
	__u64 run, most;
	__u64 looked; /* packets examined in the queues */
	__u64 memory; /* bytes charged to the buffer for these packets (truesize) */
	__u64 reader; /* thread that read last, as bpf_get_current_pid_tgid(), 0: none yet */
	__u64 exceeded; /* packets refused because all UDP sockets had more than udp_mem */
};

_Static_assert(sizeof(struct burst_record) == 56, "read by both sides");

#define BURST_GAP_NS 20000000 /* ns without a loss after which a burst ends */

/*
 * A bound AF_XDP socket and its ring losses, from sock_diag or from the walk over open files. 0 and
 * "": unknown. rx_dropped includes rx_fill_ring_empty (xsk_rcv(): no buffer) and frames that are
 * too long. With zero-copy it counts attempts, not packets.
 */
struct xsk_info {
	__u32 inode, netns, ifindex, queue;
	bool zero_copy;
	char process[16];
	__u64 rx_dropped, rx_invalid_descs, rx_ring_full, rx_fill_ring_empty;
	__u64 tx_invalid_descs, tx_ring_empty;
};

_Static_assert(sizeof(struct xsk_info) == 88, "read by both sides");

/* Dropped packets by source or port, and the interface where they arrived. */
struct drop_source {
	__u32 of; /* IPv4 source address in network order, or destination port */
	__u32 ifindex, netns;
};

_Static_assert(sizeof(struct drop_source) == 12, "no holes: it is a hash key");

#endif
