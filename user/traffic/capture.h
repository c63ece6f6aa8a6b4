/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture file in memory, for replay: classic pcap or pcapng, Ethernet, whole packets only. The
 * only module that knows libpcap's file reader.
 */
#ifndef PKTLEDGER_TRAFFIC_CAPTURE_H
#define PKTLEDGER_TRAFFIC_CAPTURE_H

#include <stdint.h>

#include "base/err.h"
#include "traffic/flow.h"

#define CAPTURE_PACKETS_MAX (1u << 22)
#define CAPTURE_BYTES_MAX   (1ULL << 30)

struct capture {
	uint32_t packets; /* at least one */
	uint64_t *at;	  /* offset of each frame in `data`; packets + 1 of them */
	uint8_t *data;
	uint64_t *due_ns;     /* since the first packet, never descending */
	uint64_t pass_ns;     /* until it begins again: the mean distance behind the last packet */
	uint16_t *payload;    /* capture_stamp(): UDP payload of each */
	uint16_t *payload_at; /* and where it begins in the frame */
	unsigned longest;     /* frame without FCS */
};

static inline const uint8_t *capture_frame(const struct capture *c, uint32_t n, unsigned *length)
{
	*length = (unsigned)(c->at[n + 1] - c->at[n]);
	return c->data + c->at[n];
}

/* With FCS, and padded as on the wire. */
static inline unsigned capture_frame_bytes(const struct capture *c, uint32_t n)
{
	unsigned bytes = (unsigned)(c->at[n + 1] - c->at[n]) + 4;

	return bytes < 64 ? 64 : bytes;
}

/*
 * Reads a file. Refused, with the packet's number (from 1): a file that libpcap cannot read to its
 * end, another link type than Ethernet, a packet of which only a part was captured, one shorter
 * than an Ethernet header, none at all. A time before that of the packet in front of it is raised
 * to that.
 */
int capture_open(struct capture **c, const char *path, struct error *err);

/*
 * Makes every frame carry a stamp to the receiver of `flow`: MAC addresses, IP addresses and
 * destination port are the flow's, the first bytes of the payload are the stamp (0 for now), the
 * checksums are right. Refused: a packet that is no whole UDP datagram of the flow's family with
 * room for the stamp. Sets `payload`.
 */
int capture_measure(struct capture *c, int family, struct error *err);
void capture_stamp(struct capture *c, const struct flow *flow);

void capture_free(struct capture *c);

#endif
