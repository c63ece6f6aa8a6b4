/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the n-th frame of a shape, for engines below the IP stack. The payload fill depends only
 * on the length, so it is written once per buffer. For each frame only the headers and the sequence
 * header change. Checksums are computed from sums that were calculated beforehand for every length.
 */
#ifndef PKTLEDGER_TRAFFIC_FRAMES_H
#define PKTLEDGER_TRAFFIC_FRAMES_H

#include <stdint.h>

#include "traffic/shape.h"

struct frames;

/*
 * Prepares frames. `room` is the size of a buffer in bytes. Arguments are borrowed. Returns
 * -EMSGSIZE if a frame does not fit.
 */
int frames_open(struct frames **f, const struct flow *flow, const struct shape *shape,
		unsigned slot, unsigned room, struct error *err);
void frames_close(struct frames *f);

/*
 * Returns the length of the longest frame, in bytes without FCS. `shape` NULL means that all frames
 * have the same length.
 */
unsigned frames_longest(const struct flow *flow, const struct shape *shape);

/*
 * Checks that a frame of `length` bytes without FCS, optionally VLAN-tagged, fits the MTU of an
 * interface in this thread's namespace. Returns STATUS_USAGE if it does not, because `engine`
 * cannot fragment.
 */
int frame_fits_mtu(const char *ifname, unsigned length, bool tagged, const char *engine,
		   struct error *err);

/* Fills a buffer. Needed only once per buffer. */
void frames_prepare(const struct frames *f, void *buffer);

/*
 * Writes frame `number` (from 0) into a prepared buffer, with the sequence header `word` and the
 * send time. Returns its length without FCS, including padding.
 */
unsigned frames_write(const struct frames *f, void *buffer, uint64_t number, uint64_t word,
		      uint64_t tai_ns);

/*
 * Redirects a captured frame to the receiver of `flow`: sets its MAC and IP addresses, its
 * destination port, the sequence header and time 0, and computes complete checksums. `payload_at`
 * is the offset of the UDP payload.
 */
void frame_readdress(uint8_t *frame, unsigned payload_at, unsigned payload,
		     const struct flow *flow);

/*
 * Frames as engines below the IP stack write and read them: Ethernet, IPv4 or IPv6 without options,
 * UDP. Every frame is an atomic datagram (IPv4: DF, ID 0, RFC 6864) with complete checksums. The
 * sequence word and the time are each stored next to their complement, at 16-bit boundaries of the
 * payload. They therefore add nothing to the UDP checksum, which is computed once per frame
 * template and stays valid for any number and time.
 */

#define PROTO_FRAME_MIN 60 /* bytes without FCS */

/* Returns the offset of the UDP payload in a frame built by proto_build(). */
static inline unsigned proto_payload_offset(int family)
{
	return 14 + (family == AF_INET6 ? 40 : 20) + 8;
}

/*
 * Writes a complete frame of 5-tuple `index` (source port src_port + index, modulo 2^16), with word
 * and time 0, into `room` bytes. Returns its length without FCS. Returns -EMSGSIZE if there is not
 * enough room, or if the payload is too long for IP or too short for the sequence header (plus the
 * time if the flow has it).
 */
int proto_build(void *frame, unsigned room, const struct flow *flow, unsigned index);

/*
 * Returns the UDP payload of a received frame of `length` bytes. Accepts up to two VLAN tags, IPv4
 * with options, IPv6 without extension headers, whole datagrams only, and the destination port
 * `port` (host order, 0: any). `family` is AF_INET, AF_INET6, or AF_UNSPEC for both. Checks every
 * length in the headers against the enclosing length. Returns NULL for any other frame.
 */
const void *proto_udp_payload(const void *frame, unsigned length, int family, uint16_t port,
			      unsigned *payload_length);

#endif
