/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Of all that a host drops, what is a loss. The stage map judges packets of known traffic, where
 * each end is a loss; other traffic holds much that nobody misses: multicast that no one here has
 * joined, frames for other hosts, segments that TCP has already. Rows are data (noise.c).
 */
#ifndef PKTLEDGER_DROPS_NOISE_H
#define PKTLEDGER_DROPS_NOISE_H

#include "drops/ksym.h"
#include "drops/reason.h"
#include "drops/stagemap.h"
#include "watch_abi.h"

enum noise {
	NOISE_LOSS,    /* somebody misses this packet */
	NOISE_SUSPECT, /* perhaps: it depends on what it was, which is not known here */
	NOISE_BENIGN,  /* dropped as it should be */
	NOISE_NOTHING, /* no packet of its own */
	NOISE_COUNT,
};

/* Whose packet it was: bits of 1 << skb->pkt_type. */
enum noise_packet {
	NOISE_TO_US = 1 << 0,	  /* PACKET_HOST */
	NOISE_BROADCAST = 1 << 1, /* PACKET_BROADCAST */
	NOISE_MULTICAST = 1 << 2, /* PACKET_MULTICAST */
	NOISE_TO_OTHERS = 1 << 3, /* PACKET_OTHERHOST */
	NOISE_OUTGOING = 1 << 4,  /* PACKET_OUTGOING: a tap's copy */
	NOISE_LOOPED = 1 << 5,	  /* PACKET_LOOPBACK: the sender's own copy (ip_mc_output) */
	NOISE_TO_MANY = NOISE_BROADCAST | NOISE_MULTICAST | NOISE_LOOPED,
};

enum noise_protocol {
	NOISE_ANY,
	NOISE_IP,     /* IPv4, IPv6 */
	NOISE_NOT_IP, /* ARP, LLDP, STP ... */
};

/* A row: the first that fits is taken. Lists as in struct stagemap_row. */
struct noise_row {
	const char *reasons;
	const char *locations;
	unsigned packets; /* enum noise_packet; 0: any */
	enum noise_protocol protocol;
	enum noise noise;
	const char *note; /* as in struct stagemap_row; NULL: that of the stage map */
};

extern const struct noise_row noise_rows[];
extern const unsigned noise_row_count;

/* Judges what the stage map said of it. `v->note` is replaced where a row knows better. */
enum noise noise_judge(const struct stagemap_event *e, struct verdict *v);

const char *noise_name(enum noise noise); /* "loss", "suspect", "benign", "nothing" */

/*
 * Losses that the kernel frees as if the packet had been used up (consume_skb): tc verdicts that
 * say "stolen" though nobody took it, fragments that overlap, drivers.
 */
struct consumed_row {
	const char *function; /* where it is freed */
	enum stage stage;
	enum direction direction;
	enum noise noise;
	/* What it is if the packet was cloned: the clone may have gone on (act_mirred). */
	enum noise cloned;
	const char *note;
};

extern const struct consumed_row consumed_rows[];
extern const unsigned consumed_row_count;

/* Addresses of the functions that this kernel has, for struct watch_spec. Returns how many. */
unsigned consumed_ranges(const struct ksyms *k, struct trace_range out[WATCH_CONSUMED_MAX]);

/* The row of a function, and its verdict; NULL: none. `v` is left as it is then. */
const struct consumed_row *consumed_judge(const char *function, struct verdict *v);

/* A cause of drops, with all that is known of it. */
struct judged_cause {
	struct watch_key key;	  /* without device and namespace */
	char reason[REASON_NAME]; /* "CONSUMED": freed as used up */
	char location[KSYM_NAME]; /* "" unknown */
	struct verdict verdict;
	enum noise noise;
};

/* What a cause is takes long to find out, and few come again and again. Set the first two. */
struct cause_judge {
	const struct reasons *reasons;
	const struct ksyms *ksyms; /* NULL: places are not known */
	struct judged_cause known[256];
};

/* Lives until the next call. */
const struct judged_cause *cause_judge(struct cause_judge *j, const struct watch_key *key);

#endif
