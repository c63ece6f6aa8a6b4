/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes record how far each number got. They let every packet pass. */
#ifndef PKTLEDGER_DROPS_PROBE_H
#define PKTLEDGER_DROPS_PROBE_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/drops.h"
#include "host/netns.h"
#include "trace_abi.h"

/*
 * Probes in a test network: at tc egress of the sender's interface, at tc ingress of the receiver's
 * interface, and at the ports of a bridge between them.
 */
struct probes;

struct probe_place {
	const struct netns *ns;
	unsigned ifindex;
};

/* Returns the probes in `at` (by enum probe_point) that have a namespace, a bit each. */
unsigned probes_of(const struct probe_place at[PROBES]);

/*
 * Attaches the programs of these probes, which `drops` has loaded. `links`: attach only through
 * links, which end with this process; -EINVAL before Linux 6.6.
 */
int probes_open(struct probes **c, const struct drops *drops, const struct probe_place at[PROBES],
		bool links, struct error *err);

/* Returns the map of enum trace_seen bytes of probes at the edge, for mapping. */
int edge_seen_fd(const struct probes *c);

void probes_close(struct probes *c); /* NULL is allowed */

/* Inode numbers of the namespaces that packets leave or enter. One of them is 0. */
struct edge_netns {
	uint32_t leave, enter;
};

/*
 * Probes at the edge of a host, for experiments between two hosts. They record which numbers in
 * `cfg` left this namespace through an interface, or arrived through one. They are held by links,
 * so they always end with this process and change no setting on the host. Fragments become known to
 * `drops`. For packets that enter, there is also a tc program on the interface `ifindex` (0: no
 * program) if the kernel has links for tc (Linux 6.6) and CAP_NET_ADMIN is available, because
 * tracing may be suppressed in the context of PID 1.
 */
int edge_open(struct probes **c, const struct trace_config *cfg, const struct drops *drops,
	      const struct edge_netns *netns, unsigned ifindex, struct error *err);

/* Returns the location in the kernel: "net_dev_start_xmit", "netif_receive_skb, tcx" ... Static. */
const char *edge_place(const struct probes *c);

/* Numbers that pass the edge from now on are no longer recorded. */
void edge_detach(struct probes *c);

/* A BPF program at a tc hook that runs before all others. */
struct tc_first {
	const struct netns *ns;
	unsigned ifindex;
	enum bpf_tc_attach_point point;
	bool links; /* do not fall back to a classic filter */
	int link;   /* below 0: classic filter, or not attached */
	bool filter;
};

#define TC_FIRST_INIT                                                                              \
	{                                                                                          \
		.link = -1                                                                         \
	}

/*
 * Attaches a program at BPF_TC_INGRESS or BPF_TC_EGRESS of an interface in `ns`, which the caller
 * still owns. Since Linux 6.6 it uses a tcx link (tcx_link_attach()), which ends with this process
 * and adds no classifier. On older kernels it uses a clsact filter with priority 1, which only
 * tc_first_detach() removes. Returns 0 or -errno: -EEXIST if another such filter is present.
 */
int tc_first_attach(struct tc_first *tc, const struct netns *ns, unsigned ifindex,
		    enum bpf_tc_attach_point point, int prog_fd);
void tc_first_detach(struct tc_first *tc);

#endif
