/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads captures packet by packet. Supports classic pcap and pcapng in either byte order
 * (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng), including the drop statistics in pcapng,
 * which libpcap does not report. Also parses packet headers and computes the key that identifies a
 * packet in another capture.
 */
#ifndef PKTLEDGER_REPORT_CAPFILE_H
#define PKTLEDGER_REPORT_CAPFILE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "watch_abi.h"

#define PCAPNG_COMMENT 1024 /* maximum length of a comment or other text, in bytes */

struct capfile_packet {
	uint64_t time_ns; /* ns, CLOCK_REALTIME of the capture (0: no timestamp) */
	const uint8_t *bytes;
	uint32_t len, wire_len;
	unsigned link;	     /* libpcap DLT_ value: Ethernet, cooked, IP */
};

struct capfile_state {
	uint64_t packets;
	uint64_t dropped; /* packets the capture itself dropped, if reported */
	bool cut;	  /* the file ends with an incomplete block */
};

/* Returns true if a file starts like a capture. Returns false if it cannot be read. */
bool capfile_is(const char *path);

/*
 * Calls `each` for every packet until it returns nonzero, and returns that value. Pointers passed
 * to `each` are valid only during the call. If the file is corrupt, returns -EINVAL with `err`
 * after reporting the packets before the damage.
 */
int capfile_read(const char *path, int (*each)(void *arg, const struct capfile_packet *p),
		 void *arg, struct capfile_state *state, struct error *err);

/* Parsed packet headers, up to UDP. Only captured bytes are read. */
struct datagram {
	struct watch_flow flow; /* family 0: not IP, or unreadable */
	const uint8_t *ip;	/* start of the IP header */
	uint32_t ip_len;	/* captured bytes, starting at `ip` */
	uint32_t ip_wire_len;	/* bytes on the wire, starting at `ip` */
	uint16_t id;		/* IPv4 identification */
	const uint8_t *payload; /* UDP payload, NULL: not UDP, a later fragment, or not captured */
	uint32_t payload_len;	/* captured bytes, without frame padding */
	uint32_t payload_sent;	/* payload bytes, according to the UDP header */
};

/*
 * Parses Ethernet with VLAN tags, Linux cooked captures, and raw IP. Leaves the family at 0 for
 * other link types.
 */
void datagram_read(struct datagram *d, const struct capfile_packet *p);

/* Packet fields that do not change along the path, so they identify the packet at the other end. */
enum packetid_method {
	PACKETID_STAMP, /* sequence header of pktledger packets (include/stamp.h) */
	PACKETID_RTP,	/* RTP source, sequence number and timestamp (RFC 3550) */
	PACKETID_BYTES, /* protocol, IPv4 ID, length, ports, and the first payload bytes */
};

enum packetid {
	PACKETID_KNOWN,
	PACKETID_OTHER, /* packet of another kind, not compared */
	PACKETID_CUT,	/* the bytes needed for the key are not in the capture */
};

/* Computes `key`, a uniformly distributed 64-bit hash. */
enum packetid packetid_of(enum packetid_method method, const struct datagram *d, uint64_t *key);

extern const char *const packetid_names[]; /* "header", "rtp", "bytes" */

/*
 * Compares two captures of the same traffic, one per end: reports loss between the two ends,
 * duplicates, reordering and latency. Packets that a capture dropped, truncated or missed because
 * of its time range count as unknown, never as lost.
 *
 * Each packet in A is looked up in B. Packets with equal keys are matched in order and counted as
 * `ambiguous`. Packets merged before the capture count as one packet.
 */

struct ends_spec {
	const char *a, *b;	     /* file names */
	const char *expr;	     /* NULL or "": all packets */
	uint64_t since_ns, until_ns; /* ns on A's clock, default 0 and UINT64_MAX */
	bool choose;		     /* true: use sequence headers if A has any, else bytes. false:
					use `method` */
	enum packetid_method method;
};

/*
 * Returns the comparison, which the caller frees:
 *
 *	{ "method","a":{"file","packets","compared","cut","dropped_by_capture"},"b":{..},
 *	  "matched","lost","unknown":{"outside","dropped_or_cut"},"duplicated","reordered",
 *	  "only_b","ambiguous","bursts","longest_burst",
 *	  "latency_ns":{"min","p50","p90","p99","max"} or null, "latency_histogram":[..] or null,
 *	  "flows":[..] }
 *
 * matched + lost + unknown.outside + unknown.dropped_or_cut = a.compared. latency_ns is the time in
 * B minus the time in A. It compares two clocks, so it may be negative, in which case there is no
 * histogram. only_b: in B but not in A. reordered: RFC 4737, per flow, relative to the order in A.
 * flows: largest loss first.
 */
int ends_compare(const struct ends_spec *spec, struct json_object **out, struct error *err);

struct print_view;
void ends_print(const struct print_view *v, const struct json_object *ends);

/*
 * Writes captures as pcapng in host byte order. Implements only the blocks needed to list packets
 * with comments: one section, its interfaces, and enhanced packet blocks.
 */

/* Link types from the pcap registry. */
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
 * Creates the file with mode 0600, or truncates an existing file. Opens a pipe as it is. Follows a
 * symbolic link if the caller or root owns it. -EPERM: the existing file belongs to another user.
 * `snaplen` applies to all interfaces. STATUS_FAILED: `err` says why.
 */
int pcapng_create(struct pcapng **p, const char *path, uint32_t snaplen, struct error *err);

/*
 * Returns the interface's number and writes its block on the first call. Two interfaces are the
 * same if their link type, `netns` and `ifindex` match. `name` and `description` may be "". Errors
 * are as in pcapng_packet().
 */
int pcapng_interface(struct pcapng *p, enum pcapng_link link, uint32_t netns, uint32_t ifindex,
		     const char *name, const char *description);

/*
 * Appends a packet. Returns 0, or the -errno of the failed write, which all later calls return too.
 * After a failure the file ends with its last complete packet. Blocks are buffered, see
 * pcapng_flush().
 */
int pcapng_packet(struct pcapng *p, const struct pcapng_packet *packet);
int pcapng_flush(struct pcapng *p);

/* Returns the number of packets that reached the file, according to the kernel. */
uint64_t pcapng_written(const struct pcapng *p);

/*
 * Writes the buffer and closes the file. Returns 0, or -errno as pcapng_packet() does. `p` may be
 * NULL.
 */
int pcapng_close(struct pcapng *p);

#endif
