/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures, packet by packet: pcapng with its comments, which libpcap leaves out, and classic pcap.
 * Both byte orders. draft-ietf-opsawg-pcapng, draft-ietf-opsawg-pcap. And of each packet: its
 * headers, whether it matches a filter, and what it is known by at another place.
 */
#ifndef PKTLEDGER_REPORT_CAPFILE_H
#define PKTLEDGER_REPORT_CAPFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "watch_abi.h"

#define CAPFILE_COMMENT 1024 /* bytes of a comment that are kept */

struct capfile_packet {
	uint64_t time_ns; /* CLOCK_REALTIME of the capture; 0: it has none */
	const uint8_t *bytes;
	uint32_t len, wire_len;
	unsigned link;	     /* of the pcap registry: 1 Ethernet, 113 cooked, 101 IP */
	const char *comment; /* the first; "" none */
};

struct capfile_state {
	uint64_t packets;
	uint64_t shortened; /* of those, captured in part */
	uint64_t dropped;   /* by the capture itself, as far as it tells */
	bool cut;	    /* the file ends in a block that is not whole */
};

/* Whether a file begins as a capture does. False too if it cannot be read. */
bool capfile_is(const char *path);

/*
 * Calls `each` until it returns something else than 0, which is returned. What it is given lives
 * until it returns. -EINVAL with `err`: the file is spoilt; what was before has been told.
 */
int capfile_read(const char *path, int (*each)(void *arg, const struct capfile_packet *p),
		 void *arg, struct capfile_state *state, struct error *err);

/* The headers of a captured packet, up to UDP. Nothing beyond what was captured is read. */
struct datagram {
	struct watch_flow flow; /* family 0: not IP, or not readable */
	const uint8_t *ip;	/* where IP begins, */
	uint32_t ip_len;	/* and what was captured from there on */
	uint32_t ip_wire_len;	/* the same on the wire */
	uint16_t id;		/* of IPv4 */
	bool fragment;		/* one of several */
	const uint8_t *payload; /* behind UDP; NULL: not UDP, a later fragment, or not captured */
	uint32_t payload_len;	/* captured, without what pads the frame */
	uint32_t payload_told;	/* by the header of UDP */
};

/* Ethernet with VLAN tags, Linux cooked captures, and IP alone; else family stays 0. */
void datagram_read(struct datagram *d, const struct capfile_packet *p);

/* A filter of pcap-filter(7) on captured packets, whatever their link is. */
struct packetfilter;

/* `expr` NULL or "": *f stays NULL, and all packets match. STATUS_USAGE: libpcap refuses it. */
int packetfilter_new(struct packetfilter **f, const char *expr, struct error *err);
void packetfilter_free(struct packetfilter *f); /* NULL is fine */

/* `d`: what datagram_read() says of `p`. Where there is no Ethernet header, IP decides. */
bool packetfilter_match(const struct packetfilter *f, const struct capfile_packet *p,
			const struct datagram *d);

/* What stays the same in a packet on its way, so that it is known again at the other end. */
enum packetid_method {
	PACKETID_STAMP, /* the number of pktledger's own packets: include/stamp.h */
	PACKETID_RTP,	/* source, sequence number and timestamp of RTP: RFC 3550 */
	PACKETID_BYTES, /* protocol, ID of IPv4, length, ports, and the first bytes of the payload
			 */
};

enum packetid {
	PACKETID_KNOWN,
	PACKETID_OTHER, /* not of this kind: it is not compared */
	PACKETID_CUT,	/* the bytes that tell were not captured */
};

/* `key`: a hash of 64 bits, evenly spread. */
enum packetid packetid_of(enum packetid_method method, const struct datagram *d, uint64_t *key);

const char *packetid_name(enum packetid_method method); /* "stamp", "rtp", "bytes" */

#endif
