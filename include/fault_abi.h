/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* In rodata of the fault programs. Each share is a number of cases out of 2^32. */
#ifndef PKTLEDGER_FAULT_ABI_H
#define PKTLEDGER_FAULT_ABI_H

/* How the XDP program loses a packet. */
enum fault_xdp_way {
	FAULT_XDP_VERDICT,    /* returns xdp_verdict */
	FAULT_XDP_TO_NOWHERE, /* redirects to an interface that does not exist */
	FAULT_XDP_TO_DEVICE,  /* redirects to the interface in the map `devices` */
	FAULT_XDP_TO_CPU,     /* redirects to the CPU that it runs on, through the map `cpus` */
};

/* What the program at tc ingress does to fragments. */
enum fault_frag_way {
	FAULT_FRAG_MISSING,   /* the last fragment gets another sender's address */
	FAULT_FRAG_OVERLAP,   /* the last fragment begins 8 bytes earlier */
	FAULT_FRAG_DUPLICATE, /* the first fragment arrives twice, so nothing is lost */
};

/* Bits of skb->mark. */
#define FAULT_MARK_AGAIN  0x01000000 /* has already passed once, and continues this time */
#define FAULT_MARK_POLICY 0x02000000 /* mark that the IPsec policies match */

struct fault_config {
	__u64 udp_csum_share;	/* UDP checksums to damage */
	__u64 udp_header_share; /* UDP lengths to damage */
	__u64 frag_share;	/* fraction of fragmented datagrams to damage */
	__u64 cgroup_share;	/* packets that the cgroup's egress program refuses */
	__u64 ip_header_share;	/* IP headers to damage */
	__u64 merged_share;	/* merged packets to damage */
	__u64 mark_share;	/* packets to mark for IPsec policies */
	__u64 filter_share;	/* datagrams that the socket filter refuses */
	__u64 xdp_share;	/* packets that the XDP program drops */
	__u64 egress_share;	/* packets that the program at tc egress drops */
	__u64 ingress_share;	/* packets that the program at tc ingress drops */
	__u32 xdp_verdict;	/* XDP_DROP or XDP_ABORTED */
	__u32 tc_burn_ns;	/* ns of CPU time per packet at tc ingress */
	__u32 xdp_burn_ns;	/* ns of CPU time per packet in the XDP program */
	__u32 xdp_way;		/* enum fault_xdp_way */
	__u32 cpu_burn_ns;	/* ns of CPU time per packet after the map `cpus` */
	__u32 frag_way;		/* enum fault_frag_way */
	__u32 pad;
	__u32 egress_verdict; /* tc verdict: "shot" or "stolen" */
	__u32 ingress_verdict;
	__u32 any; /* UDP from any sender; 0: only packets of the flow with a sequence header */
};

_Static_assert(sizeof(struct fault_config) == 128, "no holes");

#endif
