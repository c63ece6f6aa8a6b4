/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads captures packet by packet: pcapng including its statistics of lost packets, which libpcap
 * does not report, and classic pcap, both in either byte order (draft-ietf-opsawg-pcapng,
 * draft-ietf-opsawg-pcap). Also parses the headers of each packet, and computes the key that
 * identifies a packet in another capture.
 */
#ifndef PKTLEDGER_REPORT_CAPFILE_H
#define PKTLEDGER_REPORT_CAPFILE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "watch_abi.h"

#define PCAPNG_COMMENT 1024 /* maximum bytes of a comment or other text written */

struct capfile_packet {
	uint64_t time_ns; /* ns, CLOCK_REALTIME of the capture, 0: no timestamp */
	const uint8_t *bytes;
	uint32_t len, wire_len;
	unsigned link;	     /* DLT_ value of libpcap: Ethernet, cooked, IP */
};

struct capfile_state {
	uint64_t packets;
	uint64_t dropped; /* packets dropped by the capture itself, if it reports them */
	bool cut;	  /* the file ends with an incomplete block */
};

/* Returns true if a file starts like a capture. Returns false if it cannot be read. */
bool capfile_is(const char *path);

/*
 * Calls `each` for every packet until it returns a value other than 0, and returns that value.
 * Pointers passed to `each` are valid during the call. Returns -EINVAL with `err` if the file is
 * corrupt. Packets before the corrupt part have been reported.
 */
int capfile_read(const char *path, int (*each)(void *arg, const struct capfile_packet *p),
		 void *arg, struct capfile_state *state, struct error *err);

/* Headers of a captured packet, up to UDP. Only captured bytes are read. */
struct datagram {
	struct watch_flow flow; /* family 0: not IP, or not readable */
	const uint8_t *ip;	/* start of the IP header */
	uint32_t ip_len;	/* captured bytes from `ip` on */
	uint32_t ip_wire_len;	/* bytes on the wire from `ip` on */
	uint16_t id;		/* IPv4 identification */
	const uint8_t *payload; /* UDP payload, NULL: not UDP, a later fragment, or not captured */
	uint32_t payload_len;	/* captured bytes, without frame padding */
	uint32_t payload_sent;	/* payload bytes according to the UDP header */
};

/* Parses Ethernet with VLAN tags, Linux cooked captures, and raw IP. The family stays 0 for other
 * link types. */
void datagram_read(struct datagram *d, const struct capfile_packet *p);

/* Packet fields that stay constant along the path and identify the packet at the other end. */
enum packetid_method {
	PACKETID_STAMP, /* sequence header of pktledger's own packets (include/stamp.h) */
	PACKETID_RTP,	/* source, sequence number and timestamp of RTP (RFC 3550) */
	PACKETID_BYTES, /* protocol, IPv4 ID, length, ports, and the first bytes of the payload */
};

enum packetid {
	PACKETID_KNOWN,
	PACKETID_OTHER, /* not of this kind, not compared */
	PACKETID_CUT,	/* the bytes needed for the key were not captured */
};

/* Computes `key`, an evenly distributed 64-bit hash. */
enum packetid packetid_of(enum packetid_method method, const struct datagram *d, uint64_t *key);

extern const char *const packetid_names[]; /* "header", "rtp", "bytes" */

/*
 * Compares two captures of the same traffic, one per end: loss between them, duplicates, reordering
 * and latency. Packets that a capture itself dropped or truncated, or that fall outside its time
 * range, count as unknown and never as lost.
 *
 * Each packet of A is searched for in B. Packets with equal keys are matched in order. Their number
 * is reported as `ambiguous`. Packets merged before the capture count as one packet.
 */

struct ends_spec {
	const char *a, *b;	     /* file names */
	const char *expr;	     /* NULL or "": all packets */
	uint64_t since_ns, until_ns; /* ns of A's clock, default 0 and UINT64_MAX */
	bool choose;		     /* true: use sequence headers if A has any, else bytes. false:
					use `method` */
	enum packetid_method method;
};

/*
 * Returns the comparison, to be released by the caller:
 *
 *	{ "method","a":{"file","packets","compared","cut","dropped_by_capture"},"b":{..},
 *	  "matched","lost","unknown":{"outside","dropped_or_cut"},"duplicated","reordered",
 *	  "only_b","ambiguous","bursts","longest_burst",
 *	  "latency_ns":{"min","p50","p90","p99","max"} or null, "latency_histogram":[..] or null,
 *	  "flows":[..] }
 *
 * matched + lost + unknown.outside + unknown.dropped_or_cut = a.compared. latency_ns is the time in
 * B minus the time in A, measured with two clocks. It may be negative, and then has no histogram.
 * only_b: not found in A. reordered: RFC 4737, per flow, relative to the order in A. flows: largest
 * loss first.
 */
int ends_compare(const struct ends_spec *spec, struct json_object **out, struct error *err);

struct print_view;
void ends_print(const struct print_view *v, const struct json_object *ends);

/*
 * Writes captures as pcapng in host byte order. Implements the blocks needed for a list of packets
 * with comments: one section, its interfaces, enhanced packet blocks.
 */

/* Link types of the pcap registry. */
enum pcapng_link { PCAPNG_ETHERNET = 1, PCAPNG_LINUX_SLL = 113 };

enum pcapng_direction { PCAPNG_UNKNOWN, PCAPNG_INBOUND, PCAPNG_OUTBOUND };

struct pcapng;

struct pcapng_packet {
	unsigned interface; /* number from pcapng_interface() */
	uint64_t time_ns;   /* ns, CLOCK_REALTIME */
	const uint8_t *bytes;
	uint32_t len, wire_len;
	enum pcapng_direction direction;
	const char *comment; /* UTF-8, NULL: no comment */
};

/*
 * Creates the file with mode 0600, or truncates it. A pipe is opened unchanged. A symbolic link is
 * followed if it belongs to the caller or to root. -EPERM: the existing file belongs to another
 * user. `snaplen` is for the interfaces. STATUS_FAILED: `err` names the reason.
 */
int pcapng_create(struct pcapng **p, const char *path, uint32_t snaplen, struct error *err);

/*
 * Returns the number of an interface, and writes its block on the first call. Interfaces are the
 * same if link type, `netns` and `ifindex` are equal. `name` and `description` may be "". Errors as
 * in pcapng_packet().
 */
int pcapng_interface(struct pcapng *p, enum pcapng_link link, uint32_t netns, uint32_t ifindex,
		     const char *name, const char *description);

/*
 * Appends a packet. Returns 0 or the -errno of the failed write, also on all later calls. The file
 * then ends with its last complete packet. Blocks are buffered, see pcapng_flush().
 */
int pcapng_packet(struct pcapng *p, const struct pcapng_packet *packet);
int pcapng_flush(struct pcapng *p);

/* Returns the number of packets written to the file, as reported by the kernel. */
uint64_t pcapng_written(const struct pcapng *p);

/* Writes the buffer and closes the file. Returns 0 or -errno as pcapng_packet() does. NULL is
 * allowed. */
int pcapng_close(struct pcapng *p);

#endif
