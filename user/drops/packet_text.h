/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formats a packet as one line in the style of tcpdump, and finds the end of its headers. Pure:
 * never reads past the end of the packet, whatever its content.
 */
#ifndef PKTLEDGER_DROPS_PACKET_TEXT_H
#define PKTLEDGER_DROPS_PACKET_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_TEXT 256

struct packet_view {
	const uint8_t *bytes;
	uint32_t len, wire_len;
	bool ethernet;	   /* starts with an Ethernet header; otherwise with the next header */
	uint16_t protocol; /* type of the next header, host order; not for Ethernet. 0: unknown */
};

/*
 * Formats "IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP, length 100", with "[|udp]" at the end if
 * part of that header is missing. Returns `buf`.
 */
char *packet_text(const struct packet_view *p, char *buf, size_t size);

/*
 * Returns the total size in bytes of all known headers in the packet: link, network, transport, and
 * our sequence header (include/stamp.h) after UDP. The rest is user data.
 */
uint32_t packet_headers(const struct packet_view *p);

/* Names of IP protocols, and of ICMP types. */

struct protocol {
	uint8_t number;		  /* IPPROTO_* */
	const char *name, *title; /* "udp", "UDP" */
};

struct icmp_kind {
	uint8_t protocol; /* IPPROTO_ICMP, IPPROTO_ICMPV6 */
	uint8_t type;
	bool numbered; /* has an ID and a sequence number */
	const char *title;
};

/* Returns NULL for a number that is not in the table, which applies to most numbers. */
const struct protocol *protocol_find(uint8_t number);
const struct icmp_kind *icmp_kind_find(uint8_t protocol, uint8_t type);

#endif
