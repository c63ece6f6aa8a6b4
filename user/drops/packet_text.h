/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet in one line, about as tcpdump has it, and where its headers end. Pure: whatever the
 * bytes are, nothing beyond them is read.
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
	bool ethernet;	   /* they begin with an Ethernet header, else with the one behind */
	uint16_t protocol; /* of what is behind, host order; not for Ethernet. 0: unknown */
};

/*
 * "IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP, length 100", "[|udp]" at the end where bytes of that
 * header are missing. Returns `buf`.
 */
char *packet_text(const struct packet_view *p, char *buf, size_t size);

/*
 * Bytes of all headers that are known, of what is there: link, network, transport, and a stamp of
 * ours (include/stamp.h) behind UDP. What follows is somebody's data.
 */
uint32_t packet_headers(const struct packet_view *p);

/* Names of what IP carries, and of the kinds of ICMP. */

struct protocol {
	uint8_t number;		  /* IPPROTO_* */
	const char *name, *title; /* "udp", "UDP" */
};

struct icmp_kind {
	uint8_t protocol; /* IPPROTO_ICMP, IPPROTO_ICMPV6 */
	uint8_t type;
	bool numbered; /* it has id and seq */
	const char *title;
};

/* NULL: not in the table, as most numbers are not. */
const struct protocol *protocol_find(uint8_t number);
const struct icmp_kind *icmp_kind_find(uint8_t protocol, uint8_t type);

#endif
