/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* In rodata of the fault programs. A share is a number of cases in 2^32. */
#ifndef PKTLEDGER_FAULT_ABI_H
#define PKTLEDGER_FAULT_ABI_H

/* How the XDP program loses a packet. */
enum fault_xdp_way {
	FAULT_XDP_VERDICT,    /* returns xdp_verdict */
	FAULT_XDP_TO_NOWHERE, /* redirects to an interface that does not exist */
	FAULT_XDP_TO_DEVICE,  /* to the interface in the map `devices` */
	FAULT_XDP_TO_CPU,     /* to the CPU that it runs on, with the map `cpus` */
};

/* Fault that the program at tc ingress applies to fragments. */
enum fault_frag_way {
	FAULT_FRAG_MISSING,   /* the last fragment gets another sender's address */
	FAULT_FRAG_OVERLAP,   /* the last fragment begins 8 bytes earlier */
	FAULT_FRAG_DUPLICATE, /* the first fragment arrives twice, which loses nothing */
};

/* Bits of skb->mark. */
#define FAULT_MARK_AGAIN  0x01000000 /* has passed before, and continues this time */
#define FAULT_MARK_POLICY 0x02000000 /* mark that the IPsec policies match */

struct fault_config {
	__u64 udp_csum_share;	/* UDP checksums to damage */
	__u64 udp_header_share; /* UDP lengths to damage */
	__u64 frag_share;	/* fraction of fragmented datagrams to damage */
	__u64 cgroup_share;	/* packets for the cgroup's egress program to refuse */
	__u64 ip_header_share;	/* IP headers to damage */
	__u64 merged_share;	/* merged packets to damage */
	__u64 mark_share;	/* packets to mark for IPsec policies */
	__u64 filter_share;	/* datagrams for the socket filter to refuse */
	__u64 xdp_share;	/* packets for the XDP program to drop */
	__u64 egress_share;	/* packets for the program at tc egress to drop */
	__u64 ingress_share;	/* packets for the program at tc ingress to drop */
	__u32 xdp_verdict;	/* XDP_DROP or XDP_ABORTED */
	__u32 tc_burn_ns;	/* ns of CPU time per packet at tc ingress */
	__u32 xdp_burn_ns;	/* ns of CPU time per packet in the XDP program */
	__u32 xdp_way;		/* enum fault_xdp_way */
	__u32 cpu_burn_ns;	/* ns of CPU time per packet after the map `cpus` */
	__u32 frag_way;		/* enum fault_frag_way */
	__u32 pad;
	__u32 egress_verdict; /* tc verdict: "shot" or "stolen" */
	__u32 ingress_verdict;
	__u32 any; /* all UDP of any sender, else packets of the flow with a sequence header */
};

_Static_assert(sizeof(struct fault_config) == 128, "no holes");

#endif
