/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the n-th frame of a shape for engines below the IP stack. The payload fill depends only on
 * its length, so it is written once per buffer, and per frame only headers and sequence header
 * change. Checksums use sums computed beforehand for every length.
 */
#ifndef PKTLEDGER_TRAFFIC_FRAMES_H
#define PKTLEDGER_TRAFFIC_FRAMES_H

#include <stdint.h>

#include "traffic/shape.h"

struct frames;

/*
 * Prepares frames. `room`: bytes per buffer. -EMSGSIZE: a frame does not fit. Arguments are
 * borrowed.
 */
int frames_open(struct frames **f, const struct flow *flow, const struct shape *shape,
		unsigned slot, unsigned room, struct error *err);
void frames_close(struct frames *f);

/* Returns the longest frame in bytes without FCS. `shape` NULL: all are alike. */
unsigned frames_longest(const struct flow *flow, const struct shape *shape);

/*
 * Checks that a frame of `length` bytes without FCS, optionally VLAN-tagged, fits the MTU of an
 * interface of this thread's namespace. STATUS_USAGE if not: `engine` cannot fragment.
 */
int frame_fits_mtu(const char *ifname, unsigned length, bool tagged, const char *engine,
		   struct error *err);

/* Fills a buffer, once per buffer. */
void frames_prepare(const struct frames *f, void *buffer);

/*
 * Writes the frame of a number (from 0) into a prepared buffer, with sequence header `word` and
 * send time. Returns its length without FCS, including padding.
 */
unsigned frames_write(const struct frames *f, void *buffer, uint64_t number, uint64_t word,
		      uint64_t tai_ns);

/*
 * Redirects a captured frame to the receiver of `flow`: sets MAC and IP addresses, destination
 * port, sequence header and time 0, and complete checksums. `payload_at`: offset of the UDP
 * payload.
 */
void frame_readdress(uint8_t *frame, unsigned payload_at, unsigned payload,
		     const struct flow *flow);

/*
 * Frames as engines below the IP stack write and read them: Ethernet, IPv4 or IPv6 without options,
 * UDP. Every frame is an atomic datagram (IPv4: DF, ID 0, RFC 6864) with complete checksums. The
 * sequence word is stored next to its complement, and so is the time, both on 16-bit boundaries of
 * the payload: together they add nothing to the UDP checksum, which is therefore computed once per
 * frame template and stays valid for any number and time.
 */

#define PROTO_FRAME_MIN 60 /* without FCS */

/* Returns the offset of the UDP payload in a frame made by proto_build(). */
static inline unsigned proto_payload_offset(int family)
{
	return 14 + (family == AF_INET6 ? 40 : 20) + 8;
}

/*
 * Writes a whole frame of 5-tuple `index` (source port src_port + index, modulo 2^16), with word
 * and time 0, into `room` bytes. Returns its length without FCS, or -EMSGSIZE if there is no room,
 * or the payload is too short for the sequence header (with the time if the flow has it) or too
 * long for IP.
 */
int proto_build(void *frame, unsigned room, const struct flow *flow, unsigned index);

/*
 * Returns the UDP payload of a received frame of `length` bytes: up to two VLAN tags, IPv4 with
 * options, IPv6 without extension headers, whole datagrams only, destination port `port` (host
 * order, 0: any). `family`: AF_INET, AF_INET6, or AF_UNSPEC for both. Checks every length in the
 * headers against the enclosing length. NULL for any other frame.
 */
const void *proto_udp_payload(const void *frame, unsigned length, int family, uint16_t port,
			      unsigned *payload_length);

#endif
