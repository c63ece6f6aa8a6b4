/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the observer of an XDP program's verdicts (bpf/xdpverdicts.bpf.c) tells user space. */
#ifndef PKTLEDGER_XDPVERDICTS_ABI_H
#define PKTLEDGER_XDPVERDICTS_ABI_H

#include <linux/types.h>

#define XDPVERDICT_DEVICES 64 /* that a program is at, at most */
#define XDPVERDICT_INVALID 5  /* behind XDP_REDIRECT */
#define XDPVERDICTS	   8  /* a power of two: an index that is masked is within bounds */

struct xdpverdict_key {
	__u32 netns, ifindex;
};

/* Per CPU. */
struct xdpverdict_count {
	__u64 packets[XDPVERDICTS]; /* by enum xdp_action */
};

#endif
