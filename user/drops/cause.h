/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Determines, for each drop cause, the stage on the path and whether its packets are lost. The
 * stage map (drops/stagemap.h) says where a packet ended. On a host with other traffic, many
 * packets end without being lost: multicast that no local socket joined, frames for other hosts,
 * segments that TCP already has. These rows are data (cause.c).
 */
#ifndef PKTLEDGER_DROPS_CAUSE_H
#define PKTLEDGER_DROPS_CAUSE_H

#include "drops/ksym.h"
#include "drops/reason.h"
#include "drops/stagemap.h"
#include "watch_abi.h"

/* The packet's destination, as bits of 1 << skb->pkt_type. */
enum packet_kind {
	OF_TO_US = 1 << 0,	  /* PACKET_HOST */
	OF_BROADCAST = 1 << 1, /* PACKET_BROADCAST */
	OF_MULTICAST = 1 << 2, /* PACKET_MULTICAST */
	OF_TO_OTHERS = 1 << 3, /* PACKET_OTHERHOST */
	OF_OUTGOING = 1 << 4,  /* PACKET_OUTGOING: a copy for a tap */
	OF_LOOPED = 1 << 5,	  /* PACKET_LOOPBACK: the sender's copy (ip_mc_output) */
	OF_TO_MANY = OF_BROADCAST | OF_MULTICAST | OF_LOOPED,
};

enum protocol_kind {
	PROTOCOL_ANY,
	PROTOCOL_IP,     /* IPv4, IPv6 */
	PROTOCOL_NOT_IP, /* ARP, LLDP, STP ... */
};

/* A row of the table. The first matching row wins. Lists are written as in struct stagemap_row. */
struct class_row {
	const char *reasons;
	const char *locations;
	unsigned packets; /* enum packet_kind; 0: any */
	enum protocol_kind protocol;
	enum drop_class class;
	const char *note; /* as in struct stagemap_row; NULL: use the stage map's note */
};

extern const struct class_row class_rows[];
extern const unsigned class_row_count;

/*
 * Returns a drop's stage, class and note according to the stage map. If the map says that the
 * packet is lost, and it is not a numbered packet of `run`, class_rows decide.
 */
struct verdict judge_drop(const struct stagemap_event *e);

/*
 * Finds the addresses of this kernel's functions that free lost packets as consumed (the CONSUMED
 * rows of the stage map), for struct watch_spec. Returns how many there are. consumed_find() first
 * checks that the kernel reports these functions. STATUS_UNABLE: it does not (before Linux 6.3).
 */
unsigned consumed_ranges(const struct ksyms *k, struct trace_range out[WATCH_CONSUMED_MAX]);
int consumed_find(const struct reasons *r, const struct ksyms *k,
		  struct trace_range out[WATCH_CONSUMED_MAX], struct error *err);

/* A drop cause with everything known about it. */
struct judged_cause {
	struct watch_key key;	  /* without interface and namespace; set by cause_judge() */
	char reason[REASON_NAME]; /* "CONSUMED": freed as consumed; XDP observers: "ENOBUFS" */
	char location[KSYM_NAME]; /* XDP observers: the tracepoint; "": unknown */
	struct verdict verdict;
};

/*
 * Names a cause and judges it. `k` NULL: locations are unknown. `numbered`: as in struct
 * stagemap_event.
 */
void cause_name(struct judged_cause *c, const struct watch_key *key, bool numbered,
		const struct reasons *r, const struct ksyms *k);

/*
 * Cache of judged causes: judging is slow, and few causes repeat often. Set the first two fields.
 */
struct cause_judge {
	const struct reasons *reasons;
	const struct ksyms *ksyms; /* NULL: locations are unknown */
	struct judged_cause known[256];
};

/* Returns a judged cause that is valid until the next call. */
const struct judged_cause *cause_judge(struct cause_judge *j, const struct watch_key *key);

#endif
