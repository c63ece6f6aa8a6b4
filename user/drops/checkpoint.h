/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checkpoints: how far each number got. They let everything pass. */
#ifndef PKTLEDGER_DROPS_CHECKPOINT_H
#define PKTLEDGER_DROPS_CHECKPOINT_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/drops.h"
#include "host/netns.h"
#include "trace_abi.h"

/*
 * In a lab: at tc egress of the sender's device and tc ingress of the receiver's; and where a
 * bridge is between, at its ports.
 */
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
 * Loads all, attaches those of `at` (by enum checkpoint) with a namespace; gives `drops`
 * fragments. `links`: only by links, which die with this process; -EINVAL before Linux 6.6.
 */
int checkpoints_open(struct checkpoints **c, const struct trace_config *cfg,
		     const struct drops *drops, const struct checkpoint_place at[CHECKPOINTS],
		     bool links, struct error *err);

/* The map of enum trace_seen bytes, to be mapped. */
int checkpoints_seen_fd(const struct checkpoints *c);

void checkpoints_close(struct checkpoints *c); /* NULL is allowed */

/* Inode numbers of the namespaces that packets leave and enter; the other one is 0. */
struct edge_netns {
	uint32_t leave, enter;
};

/*
 * At the edge of a host, for experiments between two: which numbers in `cfg` left this namespace by
 * a device, or came in by one. It is held by links, so it ends with this process in whatever way,
 * and no setting of the host is changed for it. Fragments become known to `drops`. Where they
 * enter: besides, a program of tc on the device `ifindex` (0: none) where the kernel has links for
 * those (Linux 6.6) and CAP_NET_ADMIN is there: on top of PID 1 tracing may be suppressed.
 */
int edge_open(struct checkpoints **c, const struct trace_config *cfg, const struct drops *drops,
	      const struct edge_netns *netns, unsigned ifindex, struct error *err);

/* Which place in the kernel it is: "net_dev_start_xmit", "netif_receive_skb, tcx" .. Static. */
const char *edge_place(const struct checkpoints *c);

/* A BPF program at a tc hook, before all others there. */
struct tc_first {
	const struct netns *ns;
	unsigned ifindex;
	enum bpf_tc_attach_point point;
	bool links; /* no classic filter instead */
	int link;   /* below 0: a classic filter, or nothing */
	bool filter;
};

#define TC_FIRST_INIT                                                                              \
	{                                                                                          \
		.link = -1                                                                         \
	}

/*
 * Attaches a program at BPF_TC_INGRESS or BPF_TC_EGRESS of a device in `ns`, which the caller
 * keeps. From Linux 6.6 on by a link of tcx (tcx_link_attach()), which dies with this process and
 * leaves out the classifier; before that as a filter of clsact with priority 1, which only
 * tc_first_detach() removes. 0 or -errno: -EEXIST if another such filter is there.
 */
int tc_first_attach(struct tc_first *tc, const struct netns *ns, unsigned ifindex,
		    enum bpf_tc_attach_point point, int prog_fd);
void tc_first_detach(struct tc_first *tc);

#endif
