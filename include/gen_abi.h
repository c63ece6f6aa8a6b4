/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the sending program of the engine `xdp` (bpf/gen.bpf.c) and user space say to each other. */
#ifndef PKTLEDGER_GEN_ABI_H
#define PKTLEDGER_GEN_ABI_H

#include <linux/types.h>

#define GEN_HEADER_MAX	 64 /* Ethernet, IPv6, UDP and the stamp's magic */
#define GEN_PERIOD_SHIFT 16 /* times of the schedule are ns << 16: 78 hours, 1e-7 of 10 Mpps */

/* In rodata: one program instance sends one stream. */
struct gen_config {
	__u64 stream;	     /* stream << 48 */
	__u64 period;	     /* between two packets, ns << GEN_PERIOD_SHIFT; 0: unthrottled */
	__u64 debt;	     /* what is caught up at most, same unit */
	__u32 flows;	     /* source ports in turn, at least 1 */
	__u16 first_port;    /* of them, host order */
	__u16 port_free_sum; /* folded sum over all that the UDP checksum covers but the source port
			      */
	__u8 ipv6;
	__u8 time; /* the payload has room for the send time, and the kernel has CLOCK_TAI for BPF
		    */
	__u8 pad[6];
	__u64 header[GEN_HEADER_MAX / 8]; /* first bytes of the frame */
};

/* In bss: written by the program while a call runs, by user space between calls. */
struct gen_state {
	__u64 next;	  /* number of the next packet */
	__u64 limit;	  /* numbers from here on are not to be sent by this call */
	__u64 start_ns;	  /* CLOCK_MONOTONIC at which the schedule begins; 0: at the first run */
	__u64 due;	  /* next packet, since start_ns, ns << GEN_PERIOD_SHIFT */
	__u64 slipped_ns; /* schedule given up because the CPU was elsewhere */
	__u64 first_ns;	  /* CLOCK_MONOTONIC of the first packet */
	__u64 last_ns;	  /* of the last one; unthrottled: of the last one below limit */
	__u32 flow;
	__u32 pad;
};

_Static_assert(sizeof(struct gen_config) == 40 + GEN_HEADER_MAX, "no holes");
_Static_assert(sizeof(struct gen_state) == 64, "a cache line");

#endif
