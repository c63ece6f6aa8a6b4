/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sequence header: the first 18 bytes of the payload, in network byte order, by which a UDP
 * datagram is counted. Each word is followed by its complement, so it adds nothing to the Internet
 * checksum. The UDP checksum of a flow is therefore constant, and no engine has to recompute it.
 *
 * Shared by BPF programs and user space. Needs only the fixed-width types.
 */
#ifndef PKTLEDGER_STAMP_H
#define PKTLEDGER_STAMP_H

#include <linux/types.h>

#define STAMP_MAGIC    0x706b
#define STAMP_LEN      18 /* bytes: magic, word, check */
#define STAMP_TIME_OFF 18 /* offset of the optional send time */
#define STAMP_TIME_LEN 34 /* minimum payload bytes if there is a send time */

#define STAMP_NUMBER_BITS 48
#define STAMP_NUMBER_MASK ((1ULL << STAMP_NUMBER_BITS) - 1)
#define STAMP_SPAN	  (1ULL << 44) /* numbers per stream: ten days at 20 Mpps */

/* word = stream << 48 | number */
#define STAMP_WORD(stream, number)                                                                 \
	(((__u64)(stream) << STAMP_NUMBER_BITS) | ((number)&STAMP_NUMBER_MASK))
#define STAMP_STREAM(word) ((__u16)((word) >> STAMP_NUMBER_BITS))
#define STAMP_NUMBER(word) ((word)&STAMP_NUMBER_MASK)

struct stamp {
	__u16 magic;
	__u64 word;
	__u64 check; /* ~word */
} __attribute__((packed));

/* Follows the sequence header if the payload has at least STAMP_TIME_LEN bytes. CLOCK_TAI, ns. */
struct stamp_time {
	__u64 ns;
	__u64 check; /* ~ns */
} __attribute__((packed));

#define END_MAGIC 0x7065

/*
 * The end record: sent a few times after a stream's last packet, so that a single-ended receiver
 * can detect a lost tail. It is not a ledger packet.
 */
struct end_record {
	__u16 magic;
	__u16 stream;
	__u64 base; /* number of the stream's first packet */
	__u64 sent;
	__u64 refused; /* base + sent + refused = first unused number */
	__u64 check;   /* ~(stream ^ base ^ sent ^ refused) */
} __attribute__((packed));

_Static_assert(sizeof(struct stamp) == STAMP_LEN, "the stamp is 18 bytes");
_Static_assert(sizeof(struct stamp_time) == STAMP_TIME_LEN - STAMP_TIME_OFF, "the time is 16");
_Static_assert(sizeof(struct end_record) == 36, "the end record is 36 bytes");

#endif
