/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of devices and of their queues by netdev-genl, the same names for all drivers
 * (Documentation/netlink/specs/netdev.yaml): `qstats-get`, Linux 6.10 and newer, and what XDP a
 * device can do: `dev-get`, 6.3 and newer. What the kernel or the driver does not have is absent.
 */
#ifndef PKTLEDGER_HOST_QSTATS_H
#define PKTLEDGER_HOST_QSTATS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/netns.h"

enum qstat {
	QSTAT_RX_PACKETS,
	QSTAT_RX_BYTES,
	QSTAT_TX_PACKETS,
	QSTAT_TX_BYTES,
	QSTAT_RX_ALLOC_FAIL,
	QSTAT_RX_HW_DROPS,
	QSTAT_RX_HW_DROP_OVERRUNS,
	QSTAT_RX_CSUM_BAD,
	QSTAT_RX_HW_DROP_RATELIMITS,
	QSTAT_TX_HW_DROPS,
	QSTAT_TX_HW_DROP_ERRORS,
	QSTAT_TX_HW_DROP_RATELIMITS,
	QSTAT_TX_STOP,
	QSTATS,
};

struct qstats {
	unsigned ifindex;
	int queue;	  /* -1: of the device */
	bool tx;	  /* of a queue: its kind */
	uint32_t present; /* bit 1 << enum qstat */
	uint64_t value[QSTATS];
};

/* As the specification calls it: "rx-hw-drops". */
const char *qstat_name(enum qstat q);

/*
 * The counters of all devices of `ns` that have any, and if `queues` of their queues too. *list is
 * to be freed. Returns how many, 0 on a kernel without them, or -errno.
 */
int qstats_read(const struct netns *ns, bool queues, struct qstats **list);

enum xdp_feature {			     /* NETDEV_XDP_ACT_* */
		   XDP_FEATURE_BASIC = 1,    /* DROP, PASS, TX, ABORTED in the driver */
		   XDP_FEATURE_REDIRECT = 2, /* from it */
		   XDP_FEATURE_XMIT =
			   4, /* to it (ndo_xdp_xmit); veth: only with NAPI at its peer */
		   XDP_FEATURE_ZEROCOPY = 8, /* AF_XDP without copying */
		   XDP_FEATURE_OFFLOAD = 16,
		   XDP_FEATURE_RX_SG = 32, /* frames in several buffers */
		   XDP_FEATURE_XMIT_SG = 64,
};

struct xdp_features {
	unsigned ifindex;
	uint64_t features;     /* enum xdp_feature */
	uint32_t zc_max_segs;  /* buffers of a frame with zero-copy; 0: not told */
	uint64_t rx_metadata;  /* 1 timestamp, 2 hash, 4 VLAN tag */
	uint64_t xsk_features; /* 1 TX timestamp, 2 TX checksum, 4 launch time */
};

/* Of all devices of `ns`. *list is to be freed. Returns how many, 0 before 6.3, or -errno. */
int xdp_features_read(const struct netns *ns, struct xdp_features **list);

#endif
