/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The headers of a captured packet, up to UDP. Nothing beyond what was captured is read. */
#ifndef PKTLEDGER_REPORT_DATAGRAM_H
#define PKTLEDGER_REPORT_DATAGRAM_H

#include "report/capfile.h"
#include "watch_abi.h"

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

#endif
