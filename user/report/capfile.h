/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures, packet by packet: pcapng with what it says about its own losses, which libpcap leaves
 * out, and classic pcap. Both byte orders. draft-ietf-opsawg-pcapng, draft-ietf-opsawg-pcap. And of each packet: its
 * headers, whether it matches a filter, and what it is known by at another place.
 */
#ifndef PKTLEDGER_REPORT_CAPFILE_H
#define PKTLEDGER_REPORT_CAPFILE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "watch_abi.h"

#define PCAPNG_COMMENT 1024 /* bytes of a comment, or of another text, that are written */

struct capfile_packet {
	uint64_t time_ns; /* CLOCK_REALTIME of the capture; 0: it has none */
	const uint8_t *bytes;
	uint32_t len, wire_len;
	unsigned link;	     /* of the pcap registry: 1 Ethernet, 113 cooked, 101 IP */
};

struct capfile_state {
	uint64_t packets;
	uint64_t dropped; /* by the capture itself, as far as it says */
	bool cut;	  /* the file ends in a block that is not whole */
};

/* Whether a file begins as a capture does. False too if it cannot be read. */
bool capfile_is(const char *path);

/*
 * Calls `each` until it returns something else than 0, which is returned. What it is given lives
 * until it returns. -EINVAL with `err`: the file is spoilt; what was before has been reported.
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
	const uint8_t *payload; /* behind UDP; NULL: not UDP, a later fragment, or not captured */
	uint32_t payload_len;	/* captured, without what pads the frame */
	uint32_t payload_sent;	/* by the header of UDP */
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
	PACKETID_CUT,	/* the bytes that identify it were not captured */
};

/* `key`: a hash of 64 bits, evenly spread. */
enum packetid packetid_of(enum packetid_method method, const struct datagram *d, uint64_t *key);

extern const char *const packetid_names[]; /* "header", "rtp", "bytes" */

/*
 * Two captures of the same traffic, one at each end: what was lost between them, came twice, out of
 * order, and after which time. What a capture itself dropped, cut, or was not there for, is
 * unknown, and never loss.
 *
 * Each packet of A is looked for in B. Several that look the same are matched in their order; how
 * many there are is reported as `ambiguous`. Packets merged before their capture count as one.
 */

struct ends_spec {
	const char *a, *b;	     /* files */
	const char *expr;	     /* NULL or "": all packets */
	uint64_t since_ns, until_ns; /* of A's clock; 0, UINT64_MAX */
	bool choose;		     /* stamps if A has any, else bytes; `method` if not */
	enum packetid_method method;
};

/*
 * To be given away:
 *
 *	{ "method","a":{"file","packets","compared","cut","dropped_by_capture"},"b":{..},
 *	  "matched","lost","unknown":{"outside","dropped_or_cut"},"duplicated","reordered",
 *	  "only_b","ambiguous","bursts","longest_burst",
 *	  "latency_ns":{"min","p50","p90","p99","max"} or null, "latency_histogram":[..] or null,
 *	  "flows":[..] }
 *
 * matched + lost + unknown.outside + unknown.dropped_or_cut = a.compared. delay_ns is the time of B
 * less that of A, and so of two clocks: it may be negative, and then has no histogram. only_b: not
 * in A; reordered: RFC 4737, within a flow, by the order of A. flows: those that lost most.
 */
int ends_compare(const struct ends_spec *spec, struct json_object **out, struct error *err);

struct print_view;
void ends_print(const struct print_view *v, const struct json_object *ends);

/*
 * Writes captures in pcapng, in the byte order of this machine. Only what a list of packets with
 * comments needs: one section, its interfaces, enhanced packet blocks.
 */

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
 * The number of an interface, written when first asked for. The same link type,
 * `netns` and `ifindex` are one; `name` and `description` may be "". Or as pcapng_packet().
 */
int pcapng_interface(struct pcapng *p, enum pcapng_link link, uint32_t netns, uint32_t ifindex,
		     const char *name, const char *description);

/*
 * 0, or -errno of the write that failed, then and from then on: the file ends with the last packet
 * that it has as a whole. Blocks are gathered; see pcapng_flush().
 */
int pcapng_packet(struct pcapng *p, const struct pcapng_packet *packet);
int pcapng_flush(struct pcapng *p);

/* Packets that are in the file as far as the kernel reports. */
uint64_t pcapng_written(const struct pcapng *p);

/* Writes what is left. 0 or -errno as above. NULL is allowed. */
int pcapng_close(struct pcapng *p);

#endif
