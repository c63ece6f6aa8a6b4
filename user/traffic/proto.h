/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames as the engines below the IP stack write and read them: Ethernet, IPv4 or IPv6 without
 * options, UDP. Every frame is an atomic datagram (IPv4: DF, ID 0, RFC 6864) with complete
 * checksums. A stamp word stands beside its complement, and so does the time, and both lie on
 * 16-bit boundaries of the payload: together they add nothing to the UDP checksum, which is
 * therefore computed once per frame template and stays right whatever is stamped later.
 */
#ifndef PKTLEDGER_TRAFFIC_PROTO_H
#define PKTLEDGER_TRAFFIC_PROTO_H

#include <endian.h>
#include <stdint.h>
#include <linux/types.h>

#include "traffic/flow.h"
#include "stamp.h"

#define PROTO_FRAME_MIN 60 /* without FCS */

/* Where the UDP payload of a frame made by proto_build() begins. */
static inline unsigned proto_payload_offset(int family)
{
	return 14 + (family == AF_INET6 ? 40 : 20) + 8;
}

/* Length of the flow's frames without FCS, padding included. */
static inline unsigned proto_frame_length(const struct flow *flow)
{
	return flow_frame_bytes(flow) - 4;
}

/*
 * Writes a whole frame of 5-tuple `index` (source port src_port + index, modulo 2^16), with word
 * and time 0, into `room` bytes. Returns its length without FCS, or -EMSGSIZE: no room, or the
 * payload is shorter than a stamp, or than stamp and time if the flow carries it, or longer than IP
 * can say.
 */
int proto_build(void *frame, unsigned room, const struct flow *flow, unsigned index);

/*
 * The UDP payload of a received frame of `length` bytes: up to two VLAN tags, IPv4 with options,
 * IPv6 without extension headers, whole datagrams only, destination port `port` (host order; 0:
 * any). `family`: AF_INET, AF_INET6, or AF_UNSPEC for both. Every length in the headers is checked
 * against the one that contains it. NULL if it is anything else.
 */
const void *proto_udp_payload(const void *frame, unsigned length, int family, uint16_t port,
			      unsigned *payload_length);

#endif
