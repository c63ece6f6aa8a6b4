/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes captures in pcapng, in the byte order of this machine: draft-ietf-opsawg-pcapng. Only
 * what a list of packets with comments needs: one section, its interfaces, enhanced packet blocks.
 */
#ifndef PKTLEDGER_REPORT_PCAPNG_H
#define PKTLEDGER_REPORT_PCAPNG_H

#include <stdint.h>

#include "base/err.h"

#define PCAPNG_COMMENT 1024 /* bytes of a comment, or of another text, that are kept */

/* Link types of the pcap registry. */
enum pcapng_link { PCAPNG_ETHERNET = 1, PCAPNG_LINUX_SLL = 113 };

enum pcapng_direction { PCAPNG_UNKNOWN, PCAPNG_INBOUND, PCAPNG_OUTBOUND };

struct pcapng;

struct pcapng_packet {
	unsigned interface; /* pcapng_interface() */
	uint64_t time_ns;   /* CLOCK_REALTIME */
	const uint8_t *bytes;
	uint32_t len, wire_len;
	enum pcapng_direction direction;
	const char *comment; /* UTF-8; NULL: none */
};

/*
 * Makes the file, mode 0600, or empties it; a pipe is opened as it is, and what a link leads to if
 * the link is ours or root's. -EPERM: what is there belongs to another user. `snaplen` for the
 * interfaces. STATUS_FAILED with the reason.
 */
int pcapng_create(struct pcapng **p, const char *path, uint32_t snaplen, struct error *err);

/*
 * The number of an interface, which is written when it is first asked for. The same link type,
 * `netns` and `ifindex` are one; `name` and `description` may be "". -ENOMEM, or as
 * pcapng_packet().
 */
int pcapng_interface(struct pcapng *p, enum pcapng_link link, uint32_t netns, uint32_t ifindex,
		     const char *name, const char *description);

/*
 * 0, or -errno of the write that failed, then and from then on: the file ends with the last packet
 * that it has as a whole. Blocks are gathered; see pcapng_flush().
 */
int pcapng_packet(struct pcapng *p, const struct pcapng_packet *packet);
int pcapng_flush(struct pcapng *p);

/* Packets that are in the file as far as the kernel tells. */
uint64_t pcapng_written(const struct pcapng *p);

/* Writes what is left. 0 or -errno as above. NULL is allowed. */
int pcapng_close(struct pcapng *p);

#endif
