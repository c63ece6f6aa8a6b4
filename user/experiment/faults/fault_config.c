// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/faults/fault_config.h"

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define CPUMAP_BURN_NS 20000 /* a packet: 50 kpps */

static uint64_t of_2_32(double share)
{
	return share * (1ULL << 32);
}

/* At most one of exclusive faults has a share. */
static double xdp_share(const struct fault_list *list)
{
	static const enum fault by_xdp[] = {FAULT_XDP, FAULT_XDP_ABORTED, FAULT_XDP_GENERIC,
					    FAULT_XDP_REDIRECT, FAULT_XDP_DEVMAP};
	double share = fault_has(list, FAULT_XDP_CPUMAP);

	for (unsigned i = 0; i < sizeof(by_xdp) / sizeof(by_xdp[0]); i++)
		share += list->share[by_xdp[i]];
	return share;
}

static enum fault_xdp_way xdp_way(const struct fault_list *list)
{
	if (fault_has(list, FAULT_XDP_REDIRECT))
		return FAULT_XDP_TO_NOWHERE;
	if (fault_has(list, FAULT_XDP_DEVMAP))
		return FAULT_XDP_TO_DEVICE;
	return fault_has(list, FAULT_XDP_CPUMAP) ? FAULT_XDP_TO_CPU : FAULT_XDP_VERDICT;
}

static enum fault_frag_way frag_way(const struct fault_list *list)
{
	if (fault_has(list, FAULT_IP_FRAG_OVERLAP))
		return FAULT_FRAG_OVERLAP;
	return fault_has(list, FAULT_IP_FRAG_DUPLICATE) ? FAULT_FRAG_DUPLICATE : FAULT_FRAG_MISSING;
}

static uint32_t tc_verdict(bool stolen)
{
	return stolen ? TC_ACT_STOLEN : TC_ACT_SHOT;
}

struct fault_config fault_config(const struct fault_list *list, const struct fault_effects *fx,
				 bool any)
{
	const double *share = list->share;

	return (struct fault_config){
		.udp_csum_share = of_2_32(share[FAULT_UDP_CSUM] + share[FAULT_SOCKET_READ_CSUM]),
		.udp_header_share = of_2_32(share[FAULT_UDP_HEADER]),
		.frag_share = of_2_32(share[FAULT_IP_FRAG_MISSING] + share[FAULT_IP_FRAG_OVERLAP] +
				      share[FAULT_IP_FRAG_DUPLICATE]),
		.frag_way = frag_way(list),
		.cgroup_share = of_2_32(share[FAULT_TX_SOCKET]),
		.ip_header_share = of_2_32(share[FAULT_IP_HEADER]),
		.merged_share = of_2_32(share[FAULT_GSO]),
		.mark_share = of_2_32(share[FAULT_XFRM] + share[FAULT_XFRM_PLAIN]),
		.filter_share = of_2_32(share[FAULT_SOCKET_FILTER]),
		.xdp_share = of_2_32(xdp_share(list)),
		.egress_share = of_2_32(share[FAULT_TC_EGRESS] + share[FAULT_TC_EGRESS_STOLEN]),
		.ingress_share = of_2_32(share[FAULT_TC_INGRESS] + share[FAULT_TC_INGRESS_STOLEN]),
		.egress_verdict = tc_verdict(fault_has(list, FAULT_TC_EGRESS_STOLEN)),
		.ingress_verdict = tc_verdict(fault_has(list, FAULT_TC_INGRESS_STOLEN)),
		.xdp_verdict = fault_has(list, FAULT_XDP_ABORTED) ? XDP_ABORTED : XDP_DROP,
		.xdp_way = xdp_way(list),
		.tc_burn_ns = fx->tc_burn_ns,
		.xdp_burn_ns = fx->xdp_burn_ns,
		.cpu_burn_ns = CPUMAP_BURN_NS,
		.any = any,
	};
}

struct fault_programs fault_programs(const struct fault_list *list, const struct fault_effects *fx)
{
	return (struct fault_programs){
		.tc[FAULT_TC_MERGED] = fault_has(list, FAULT_GSO),
		.tc[FAULT_TC_SLOW] = fx->tc_burn_ns,
		.tc[FAULT_TC_SPOIL] =
			fault_has(list, FAULT_UDP_CSUM) ||
			fault_has(list, FAULT_SOCKET_READ_CSUM) ||
			fault_has(list, FAULT_IP_HEADER) || fault_has(list, FAULT_UDP_HEADER) ||
			fault_has(list, FAULT_XFRM) || fault_has(list, FAULT_XFRM_PLAIN),
		.tc[FAULT_TC_INGRESS_DROP] = fault_has(list, FAULT_TC_INGRESS) ||
					     fault_has(list, FAULT_TC_INGRESS_STOLEN),
		.tc[FAULT_TC_FRAGMENT] = fault_has(list, FAULT_IP_FRAG_MISSING) ||
					 fault_has(list, FAULT_IP_FRAG_OVERLAP) ||
					 fault_has(list, FAULT_IP_FRAG_DUPLICATE),
		.tc[FAULT_TC_DEAF] = fault_has(list, FAULT_NEIGH),
		.tc[FAULT_TC_UNTOLD] = fault_has(list, FAULT_IP_FORWARD_MTU),
		.tc[FAULT_TC_KEEP] = fault_has(list, FAULT_L2_SILENT),
		.tc[FAULT_TC_EGRESS_DROP] =
			fault_has(list, FAULT_TC_EGRESS) || fault_has(list, FAULT_TC_EGRESS_STOLEN),
		/* it would report once more, and the counter of the device show it */
		.tc[FAULT_TC_MUTE] = fault_has(list, FAULT_TX_DEVICE_DETACH),
		.xdp = fx->xdp,
		.cpu = fault_has(list, FAULT_XDP_CPUMAP),
		.cgroup = fault_has(list, FAULT_TX_SOCKET),
		.filter = fx->socket_filter,
	};
}
