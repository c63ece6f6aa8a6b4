/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One interface: how it is set up, who handles its queues, and what its driver lost. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_LINK_H
#define PKTLEDGER_DIAGNOSIS_FACTS_LINK_H

#include "diagnosis/facts_irq.h"
#include "host/netdev.h"
#include "host/journal.h"
#include "host/counters.h"

#define FACTS_LINK_LOSSES 24

enum link_xdp { LINK_XDP_NONE, LINK_XDP_NATIVE, LINK_XDP_GENERIC, LINK_XDP_OFFLOADED };

struct link_loss {
	enum nic_cause cause;
	enum nic_class class;
	enum stage stage;
	char counter[NIC_NAME];
	uint64_t lost;	/* in the window */
	uint64_t total; /* as the counter stands; 0: not comparable (several counters) */
};

struct facts_link {
	struct netdev dev;
	struct netdev_settings set;
	unsigned master; /* ifindex of its bridge, bond ...; 0: none */
	char master_name[16];
	unsigned peer, peer_mtu; /* other end of a veth: ifindex in its namespace; 0: not known */
	int peer_netnsid;	 /* of that namespace; -1: the same one */
	bool bridge_port;
	enum link_xdp xdp;
	bool features_known;
	bool native_xdp, zero_copy; /* what the driver can do (netdev-genl, Linux 6.3) */
	bool threaded;		    /* NAPI in threads */
	char qdisc[64];		    /* kind, with its limit where known: "pfifo limit 1000" */
	unsigned txqueuelen;

	/* Of queue 0; "" or 0 where the kernel has none of it. */
	char rps_cpus[128], xps_cpus[128];
	unsigned rps_flow_cnt;
	char rp_filter[8]; /* effective: the larger of the interface's and all's; "" unknown */
	bool gro, gro_hw, lro, gso, udp_gso, rx_csum;

	struct facts_irq irq[FACTS_IRQS]; /* those that have a line in /proc/interrupts */
	unsigned n_irqs;

	uint64_t rx_packets, tx_packets; /* in the window; by facts_read() */
	struct link_loss loss[FACTS_LINK_LOSSES];
	unsigned n_losses;
};

/* Everything that does not need two samples. 0 or -errno (-ENODEV). */
int facts_link_read(const struct netns *ns, const char *ifname, struct facts_link *link);

/* Sets link->qdisc from what change_read() tells of the root. Pure. */
void facts_link_qdisc(struct facts_link *link, const char *value);

/* Losses between two snapshots of the interface. -ENOMEM. */
int facts_link_rates(struct facts_link *link, struct counters_device *before,
		     struct counters_device *after);

/* Sum of the losses of one cause that count packets, and the counter of the largest of them. */
uint64_t facts_link_lost(const struct facts_link *link, enum nic_cause cause,
			 const struct link_loss **largest);

#endif
