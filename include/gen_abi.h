/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interface between the sending program of the `xdp` engine (bpf/gen.bpf.c) and user space. */
#ifndef PKTLEDGER_GEN_ABI_H
#define PKTLEDGER_GEN_ABI_H

#include <linux/types.h>

#define GEN_HEADER_MAX	 64 /* Ethernet, IPv6, UDP and the magic of the sequence header */
#define GEN_PERIOD_SHIFT 16 /* times of the schedule are ns << 16: 78 hours, 1e-7 of 10 Mpps */
#define GEN_SEGMENTS	 8192

/* In rodata. One program instance sends one stream. */
struct gen_config {
	__u64 stream;	     /* stream << 48 */
	__u64 debt;	     /* maximum backlog to catch up on, ns << GEN_PERIOD_SHIFT */
	__u64 depth;	     /* largest burst when sending is late, same unit */
	__u32 flows;	     /* flows used in turn, at least 1; the source port varies first */
	__u32 ports;	     /* number of ports per address, at least 1 */
	__u32 first_address; /* last 4 bytes of the source address, host order */
	__u32 from_address;  /* index of the first address of this stream */
	__u16 from_port;
	__u16 first_port; /* host order */
	/*
	 * Folded sums over all bytes that a checksum covers, except the port and 4 bytes that
	 * change.
	 */
	__u16 udp_free_sum, ip_free_sum;
	__u8 addresses; /* the source addresses vary too */
	__u8 ipv6;
	__u8 time;  /* the payload has room for the send time, and BPF can read CLOCK_TAI */
	__u8 paced; /* paced according to the segments; 0: at full speed */
	__u8 pad[4];
	__u64 header[GEN_HEADER_MAX / 8]; /* first bytes of the frame */
};

/*
 * A segment of the schedule with evenly spaced packets, or groups of packets sent together. In bss,
 * written by user space between calls.
 */
struct gen_segment {
	__u64 until;  /* first number of the next segment */
	__u64 due;    /* time of the first packet since the schedule began, same shift */
	__u64 period; /* time between two groups, same unit */
	__u32 group;  /* packets per group, at least 1 */
	__u32 pad;
};

/* In bss. The program writes it during a call, user space between calls. */
struct gen_state {
	__u64 next;	/* number of the next packet */
	__u64 limit;	/* numbers from this one on are not sent in this call */
	__u64 start_ns; /* CLOCK_MONOTONIC when the schedule begins; 0: at the first run */
	__u64 due;	/* time of the next group since start_ns, ns << GEN_PERIOD_SHIFT */
	__u64 allowed;	/* limit including time to catch up, same unit */
	__u64 shift;	/* schedule skipped because the CPU was busy elsewhere, same unit */
	__u64 first_ns; /* CLOCK_MONOTONIC of the first packet */
	__u64 last_ns;	/* ns, last packet; unthrottled: the last packet below the limit */
	__u32 flow, port, address; /* of the next packet, relative to the first ones */
	__u32 segment;
	__u32 left; /* packets remaining in the current group */
	__u32 pad;
};

_Static_assert(sizeof(struct gen_config) == 56 + GEN_HEADER_MAX, "no holes");
_Static_assert(sizeof(struct gen_segment) == 32, "no holes");
_Static_assert(sizeof(struct gen_state) == 88, "no holes");

#endif
