/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a sender sends and a receiver expects: addresses, sizes, the streams' numbers. */
#ifndef PKTLEDGER_TRAFFIC_FLOW_H
#define PKTLEDGER_TRAFFIC_FLOW_H

#include <endian.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "stamp.h"

struct flow {
	int family; /* AF_INET or AF_INET6 */
	struct in_addr src4, dst4;
	struct in6_addr src6, dst6;
	uint8_t src_mac[6], dst_mac[6]; /* for engines that write frames */
	uint16_t dst_port;		/* host order */
	uint16_t src_port;		/* first one; flow f of a thread uses src_port + f */
	unsigned flows;			/* 5-tuples in all, >= 1 */
	unsigned payload;		/* UDP payload, bytes, >= STAMP_LEN */
	unsigned ttl;			/* TTL or hop limit; 0: the default, 64 */
	uint8_t tos;			/* TOS or traffic class; with a shape only, as vlan is */
	uint16_t vlan;			/* VLAN ID 1 .. 4094; 0: no tag */
	bool time;			/* carry the send time (payload >= STAMP_TIME_LEN) */
};

/* Length of the whole frame with FCS for this payload; only where it fits one frame. */
static inline unsigned flow_frame_bytes(const struct flow *f)
{
	unsigned tag = f->vlan ? 4 : 0;
	unsigned bytes = 14 + (f->family == AF_INET6 ? 40 : 20) + 8 + f->payload + 4;

	return (bytes < 64 ? 64 : bytes) + tag;
}

/* Fills a payload with the pattern that receivers compare with; the stamp is written over it. */
void flow_fill(uint8_t *payload, unsigned len);

/*
 * Writes the stamp, and the send time (CLOCK_TAI, ns) if the payload of `len` bytes has room for
 * it. A checksum over the payload stays right: see stamp.h.
 */
static inline void flow_stamp(void *payload, unsigned len, uint64_t word, uint64_t tai_ns)
{
	struct stamp *stamp = payload;
	struct stamp_time *time = (void *)((char *)payload + STAMP_TIME_OFF);

	stamp->magic = htobe16(STAMP_MAGIC);
	stamp->word = htobe64(word);
	stamp->check = htobe64(~word);
	if (len < STAMP_TIME_LEN)
		return;
	time->ns = htobe64(tai_ns);
	time->check = htobe64(~tai_ns);
}

/* One sending thread's numbers. Numbers are absolute (base included). */
struct stream {
	uint16_t id;	/* as stamped */
	uint16_t slot;	/* 0 .. threads - 1 */
	uint64_t base;	/* first number */
	uint64_t next;	/* next number to be closed: [base, next) is attempted */
	uint64_t limit; /* numbers to send in all; UINT64_MAX: until stopped */
};

#endif
