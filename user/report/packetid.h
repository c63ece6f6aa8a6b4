/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What stays the same in a packet on its way, so that it is known again at the other end. */
#ifndef PKTLEDGER_REPORT_PACKETID_H
#define PKTLEDGER_REPORT_PACKETID_H

#include "report/datagram.h"

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
