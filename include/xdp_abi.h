/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interface between the XDP loss observer (bpf/xdp.bpf.h) and user space. */
#ifndef PKTLEDGER_XDP_ABI_H
#define PKTLEDGER_XDP_ABI_H

#include "watch_abi.h"

#define XDPLOSS_KEYS 1024

enum xdploss_kind {
	XDPLOSS_REDIRECT,	/* xdp_redirect_err: redirecting a frame failed */
	XDPLOSS_EXCEPTION,	/* xdp_exception: aborted, an invalid verdict, or XDP_TX failed */
	XDPLOSS_DEVMAP,		/* xdp_devmap_xmit: the target interface refused frames */
	XDPLOSS_BULK_TX,	/* xdp_bulk_tx: the interface refused XDP_TX frames */
	XDPLOSS_CPUMAP_QUEUE,	/* xdp_cpumap_enqueue: the target CPU's queue was full */
	XDPLOSS_CPUMAP_ALLOC,	/* xdp_cpumap_kthread: no memory for an skb */
	XDPLOSS_CPUMAP_PROGRAM, /* xdp_cpumap_kthread: the map's program ended the frame */
	XDPLOSS_KINDS,
};

/* Why another event reports the same packet. */
enum xdploss_flag {
	XDPLOSS_GENERIC = 1,  /* generic mode: the frame is an skb, and kfree_skb follows */
	XDPLOSS_SKB = 2,      /* native mode, but on an skb (veth): kfree_skb follows */
	XDPLOSS_MAP_PROG = 4, /* by a map's program: DEVMAP or CPUMAP_PROGRAM also counts it */
};

/* 32 bytes without holes, because it is a hash key. */
struct xdploss_key {
	__u8 kind;     /* enum xdploss_kind */
	__u8 flags;    /* enum xdploss_flag */
	__u8 act;      /* enum xdp_action */
	__u8 map_type; /* enum bpf_map_type; 0: not a map */
	__s32 err;     /* negative errno; 0: no error */
	__u32 ifindex; /* ingress interface of the frame; DEVMAP and BULK_TX: egress interface */
	__u32 netns;   /* namespace of that interface; 0: unknown (cpumap) */
	__u32 from;    /* DEVMAP: ingress interface of the frame; CPUMAP_QUEUE: target CPU */
	__u32 map_id;  /* 0: no map */
	__u32 prog_id; /* 0: not reported */
	__u32 pad;
};

struct xdploss_count {
	__u64 events;
	__u64 packets;
};

_Static_assert(sizeof(struct xdploss_key) == 32, "no holes");

/*
 * Events that end no packet that could be counted, but that explain missing data: this host reset a
 * connection, or a transmit queue stood still.
 */
enum sign_kind {
	SIGN_RESET,   /* tcp_send_reset, for a socket */
	SIGN_TIMEOUT, /* net_dev_xmit_timeout: a stopped queue made no progress for seconds */
	SIGN_STALL,   /* dql_stall_detected: completions came later than stall_thrs */
};

#define SIGN_KEYS      4096 /* when full, resets are counted without their flow */
#define SIGN_NO_REASON (-1) /* this kernel does not report why (before Linux 6.10) */

/* A hash key without holes. */
struct sign_key {
	struct watch_flow flow; /* SIGN_RESET: as the host sends; otherwise 0 */
	__u32 netns, ifindex;	/* ifindex 0: SIGN_RESET */
	__s32 reason;		/* SIGN_RESET: enum sk_rst_reason; otherwise 0 */
	__u16 queue;
	__u8 kind;   /* enum sign_kind */
	__u8 answer; /* SIGN_RESET: to a segment that arrived */
};

struct sign {
	__u64 events;
	union {
		struct watch_sock sock; /* SIGN_RESET */
		struct watch_dev dev;
	};
};

_Static_assert(sizeof(struct sign_key) == 64 && sizeof(struct sign) == 72, "no holes");

#endif
