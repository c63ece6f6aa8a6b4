/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing the n-th frame of a shape for engines below the IP stack. The fill of a payload depends
 * on nothing but its length, so it is written once per buffer, and of a frame only headers and
 * stamp change; checksums come from sums that are made beforehand for every length.
 */
#ifndef PKTLEDGER_TRAFFIC_FRAMES_H
#define PKTLEDGER_TRAFFIC_FRAMES_H

#include <stdint.h>

#include "traffic/shape.h"

struct frames;

/* `room`: of each buffer. -EMSGSIZE: a frame does not fit. Arguments borrowed. */
int frames_open(struct frames **f, const struct flow *flow, const struct shape *shape,
		unsigned slot, unsigned room, struct error *err);
void frames_close(struct frames *f);

/* Longest frame without FCS; `shape` NULL: all are alike. */
unsigned frames_longest(const struct flow *flow, const struct shape *shape);

/*
 * A frame of `length` bytes without FCS, with or without a VLAN tag, fits the MTU of a device of
 * this thread's namespace. STATUS_USAGE if not: `engine` makes no fragments.
 */
int frame_fits_mtu(const char *ifname, unsigned length, bool tagged, const char *engine,
		   struct error *err);

/* Once for each buffer. */
void frames_prepare(const struct frames *f, void *buffer);

/*
 * Makes the frame of a number (from 0) in a prepared buffer, with stamp `word` and send time.
 * Returns its length without FCS, padding included.
 */
unsigned frames_write(const struct frames *f, void *buffer, uint64_t number, uint64_t word,
		      uint64_t tai_ns);

/*
 * Turns a captured frame towards the receiver of `flow`: MAC and IP addresses, destination port,
 * stamp and time 0, checksums complete. `payload_at`: where the UDP payload begins.
 */
void frame_readdress(uint8_t *frame, unsigned payload_at, unsigned payload,
		     const struct flow *flow);

/*
 * Frames as the engines below the IP stack write and read them: Ethernet, IPv4 or IPv6 without
 * options, UDP. Every frame is an atomic datagram (IPv4: DF, ID 0, RFC 6864) with complete
 * checksums. A stamp word stands beside its complement, and so does the time, and both lie on
 * 16-bit boundaries of the payload: together they add nothing to the UDP checksum, which is
 * therefore computed once per frame template and stays right whatever is stamped later.
 */

#define PROTO_FRAME_MIN 60 /* without FCS */

/* Where the UDP payload of a frame made by proto_build() begins. */
static inline unsigned proto_payload_offset(int family)
{
	return 14 + (family == AF_INET6 ? 40 : 20) + 8;
}

/*
 * Writes a whole frame of 5-tuple `index` (source port src_port + index, modulo 2^16), with word
 * and time 0, into `room` bytes. Returns its length without FCS, or -EMSGSIZE: no room, or the
 * payload is shorter than a stamp, or than stamp and time if the flow has it, or too long for IP.
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
