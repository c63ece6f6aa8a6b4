/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures, packet by packet: pcapng with its comments, which libpcap leaves out, and classic pcap.
 * Both byte orders. draft-ietf-opsawg-pcapng, draft-ietf-opsawg-pcap.
 */
#ifndef PKTLEDGER_REPORT_CAPFILE_H
#define PKTLEDGER_REPORT_CAPFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

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

#endif
