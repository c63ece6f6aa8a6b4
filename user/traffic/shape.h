/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The shape of the traffic: what the n-th packet of a stream is. Pure functions of the shape, the
 * stream's slot and the number, so that sender, receiver and ledger know the same without asking
 * each other, and the same seed gives the same traffic.
 *
 * Numbers count from 0 here. The streams of several threads take turns in what is sequential:
 * number k of slot t of n threads is packet k * n + t of the whole.
 *
 * Faults made on purpose, to test receivers, and how the ledger shows them (`deliberate`):
 *
 * duplicate: the number is sent twice, back to back. One number: attempted, sent and settled once;
 * the second packet is found under `duplicated`. It takes no place in the rate.
 *
 * reordering: the first of `extent` + 1 numbers is sent as the last of them, so it is late by
 * `extent` packets (RFC 4737). Nothing else changes; the receiver finds one `reordered`.
 *
 * gap: a number that is left out: not attempted, so neither sent nor lost. It takes its place in
 * --count and in the rate. The end record counts it as refused: a number without a packet.
 */
#ifndef PKTLEDGER_TRAFFIC_SHAPE_H
#define PKTLEDGER_TRAFFIC_SHAPE_H

#include <endian.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/num.h"
#include "gen_abi.h"
#include "stamp.h"

/*
 * Pacing by absolute deadlines. All threads share one schedule (struct profile): thread t of n
 * sends the packets t, t + n, t + 2n ... of it, so that the rate is exact however many there are.
 *
 * A thread that came late catches up, but as a token bucket lets it: what it saved up while it did
 * not run leaves as a burst of 2 ms of the schedule at most (or of --burst), the rest at 1.25 times
 * the rate. What is later than 100 ms is given up and counted: the generator could not keep up.
 */

#define PACE_DEPTH_NS 2000000 /* two scheduler hiccups of a millisecond */
#define PACE_DEBT_NS  100000000
#define PACE_CATCH_UP 1.25

struct pace {
	const struct profile *profile; /* of all threads; NULL: unthrottled */
	unsigned burst;		       /* packets of all threads that are due at once; >= 1 */
	unsigned slot, threads;
	uint64_t end_ns;   /* since start: what is due from then on is not sent; 0: no end */
	uint64_t start_ns; /* CLOCK_MONOTONIC at which packet 0 was due */
	uint64_t done, given_up;
	double tokens;	     /* may leave now */
	double at_s;	     /* when they were counted, since start */
	uint64_t slipped_ns; /* schedule given up because the thread came too late */
	double most_due;     /* packets at a time, */
	uint64_t late_ns;    /* and by how much the first of them was late */
};

/*
 * Thread `slot` of `threads` of a shared schedule that starts at start_ns; `profile` is borrowed.
 * Packets leave in groups of `burst` (0: one): packet c is due when packet c - c % burst is.
 */
void pace_start(struct pace *p, const struct profile *profile, unsigned burst, unsigned slot,
		unsigned threads, uint64_t start_ns);

/*
 * How many packets are due, at most `max`. 0: none; then *wait_ns is how long until the next, 0
 * if there is none before the end.
 */
unsigned pace_due(struct pace *p, uint64_t now_ns, unsigned max, uint64_t *wait_ns);

/* `n` packets were sent. */
void pace_sent(struct pace *p, unsigned n);

/* CLOCK_TAI, ns: the time that packets carry. */
uint64_t pace_tai(void);

/* Sleeps if there is time, else spins a little: returns at or shortly before the due time. */
void pace_wait(uint64_t wait_ns);

/*
 * When packets are due: a rate over time as a function and its inverse. Packet c (from 0, of all
 * threads together) is due at profile_time(c). Pure; time is in seconds since the start, as double:
 * a nanosecond is exact for three months.
 */

#define PROFILE_PARTS 64

struct profile_part {
	double seconds;	 /* > 0 */
	double from, to; /* packets/s at its beginning and its end; linear between */
};

struct profile {
	unsigned parts;
	bool repeat; /* begins again after the last part; else the last rate holds */
	struct profile_part part[PROFILE_PARTS];
	/* Or a schedule of single packets, as captured: parts is 0 then. Borrowed. */
	const uint64_t *due_ns; /* ascending, the first is 0 */
	uint64_t packets;	/* of it */
	uint64_t pass_ns;	/* then it begins again; more than the last of due_ns */
};

/* The same rate for ever; > 0. */
void profile_constant(struct profile *p, double pps);

/* The integral of the rate from 0 to `seconds`: packets 0 .. floor(it) are due by then (for a
 * schedule it is half way to the next). */
double profile_packets(const struct profile *p, double seconds);

/* Its inverse: when packet `c` is due. HUGE_VAL: never. */
double profile_time(const struct profile *p, double c);

/* Whether parts from elsewhere are a schedule: some, of some length, that send something. */
bool profile_valid(const struct profile *p);

/* The highest rate of any part; 0 for a schedule. */
double profile_peak(const struct profile *p);

/*
 * The schedule of a stream in pieces that a BPF program can follow. A time in the plan is at most
 * PLAN_ERROR_NS beside that of the profile.
 */

#define PLAN_ERROR_NS 2000

#define PLAN_NEVER UINT64_MAX

struct plan {
	const struct profile *profile;
	unsigned burst, slot, threads; /* each but slot at least 1 */
	double origin_s;	       /* times are since then: 78 hours of them can be expressed */
};

/*
 * Plans this thread's packets from number `k` of it (from 0) on, `n` of them at most; `first` is
 * the stamped number of k. Returns how many the segments cover: less than `n` where there are not
 * enough of them, or where the profile ends in silence.
 */
uint64_t plan_segments(const struct plan *p, uint64_t k, uint64_t n, uint64_t first,
		       struct gen_segment out[GEN_SEGMENTS]);

/* When packet k of this thread is due, since the start of the profile; HUGE_VAL: never. */
double plan_seconds(const struct plan *p, uint64_t k);

/* The same since the origin, ns << GEN_PERIOD_SHIFT; PLAN_NEVER: not in the next 78 hours. */
uint64_t plan_due(const struct plan *p, uint64_t k);

/* Packets of this thread that are due before `ns` since the origin. */
uint64_t plan_packets(const struct plan *p, uint64_t ns);

/* What a sender sends and a receiver expects: addresses, sizes, the streams' numbers. */
struct flow {
	int family; /* AF_INET or AF_INET6 */
	struct in_addr src4, dst4;
	struct in6_addr src6, dst6;
	uint8_t src_mac[6], dst_mac[6]; /* for engines that write frames */
	uint16_t dst_port;		/* host order */
	uint16_t src_port;		/* first one; flow f of a thread uses src_port + f */
	unsigned flows;			/* 5-tuples in all, >= 1 */
	unsigned payload;		/* UDP payload, bytes, >= STAMP_LEN */
	unsigned ttl;			/* TTL or hop limit; 0: the default, 64 */
	uint8_t tos;			/* TOS or traffic class; with a shape only, as vlan is */
	uint16_t vlan;			/* VLAN ID 1 .. 4094; 0: no tag */
	bool time;			/* carry the send time (payload >= STAMP_TIME_LEN) */
};

/* Length of the whole frame with FCS for this payload; only where it fits one frame. */
static inline unsigned flow_frame_bytes(const struct flow *f)
{
	unsigned tag = f->vlan ? 4 : 0;
	unsigned bytes = 14 + (f->family == AF_INET6 ? 40 : 20) + 8 + f->payload + 4;

	return (bytes < 64 ? 64 : bytes) + tag;
}

/* Fills a payload with the pattern that receivers compare with; the stamp is written over it. */
void flow_fill(uint8_t *payload, unsigned len);

/*
 * Writes the stamp, and the send time (CLOCK_TAI, ns) if the payload of `len` bytes has room for
 * it. A checksum over the payload stays right: see stamp.h.
 */
static inline void flow_stamp(void *payload, unsigned len, uint64_t word, uint64_t tai_ns)
{
	struct stamp *stamp = payload;
	struct stamp_time *time = (void *)((char *)payload + STAMP_TIME_OFF);

	stamp->magic = htobe16(STAMP_MAGIC);
	stamp->word = htobe64(word);
	stamp->check = htobe64(~word);
	if (len < STAMP_TIME_LEN)
		return;
	time->ns = htobe64(tai_ns);
	time->check = htobe64(~tai_ns);
}

/* One sending thread's numbers. Numbers are absolute (base included). */
struct stream {
	uint16_t id;	/* as stamped */
	uint16_t slot;	/* 0 .. threads - 1 */
	uint64_t base;	/* first number */
	uint64_t next;	/* next number to be closed: [base, next) is attempted */
	uint64_t limit; /* numbers to send in all; UINT64_MAX: until stopped */
};

/*
 * A capture file in memory, for replay: classic pcap or pcapng, Ethernet, whole packets only. The
 * only module that knows libpcap's file reader is capture.c.
 */

#define CAPTURE_PACKETS_MAX (1u << 22)
#define CAPTURE_BYTES_MAX   (1ULL << 30)

struct capture {
	uint32_t packets; /* at least one */
	uint64_t *at;	  /* offset of each frame in `data`; packets + 1 of them */
	uint8_t *data;
	uint64_t *due_ns;     /* since the first packet, never descending */
	uint64_t pass_ns;     /* until it begins again: the mean distance behind the last packet */
	uint16_t *payload;    /* capture_stamp(): UDP payload of each */
	uint16_t *payload_at; /* and where it begins in the frame */
	unsigned longest;     /* frame without FCS */
};

static inline const uint8_t *capture_frame(const struct capture *c, uint32_t n, unsigned *length)
{
	*length = (unsigned)(c->at[n + 1] - c->at[n]);
	return c->data + c->at[n];
}

/* With FCS, and padded as on the wire. */
static inline unsigned capture_frame_bytes(const struct capture *c, uint32_t n)
{
	unsigned bytes = (unsigned)(c->at[n + 1] - c->at[n]) + 4;

	return bytes < 64 ? 64 : bytes;
}

/*
 * Reads a file. Refused, with the packet's number (from 1): a file that libpcap cannot read to its
 * end, another link type than Ethernet, a packet of which only a part was captured, one shorter
 * than an Ethernet header, none at all. A time before that of the packet in front is raised.
 */
int capture_open(struct capture **c, const char *path, struct error *err);

/*
 * Makes every frame carry a stamp to the receiver of `flow`: MAC addresses, IP addresses and
 * destination port are the flow's, the first bytes of the payload are the stamp (0 for now), the
 * checksums are right. Refused: a packet that is no whole UDP datagram of the flow's family with
 * room for the stamp. Sets `payload`.
 */
int capture_measure(struct capture *c, int family, struct error *err);
void capture_stamp(struct capture *c, const struct flow *flow);

void capture_free(struct capture *c);

#define SHAPE_SIZES	 1024 /* packets in a cycle of sizes */
#define SHAPE_FLOWS_MAX	 (1ULL << 32)
#define SHAPE_EXTENT_MAX 255
#define SHAPE_BURST_MAX	 65536

struct shape_ports {
	uint16_t first;
	uint32_t n; /* 0: not given */
};

struct shape_addrs {
	int family;
	uint8_t first[16]; /* network order; IPv4 in the first four */
	uint64_t n;	   /* 0: not given */
};

struct shape_reorder {
	double share; /* of the packets that come late, 0 .. 1 / (extent + 1) */
	unsigned extent;
};

struct shape {
	unsigned threads;
	uint64_t seed;
	bool random; /* sizes and flows are drawn, else they take turns */

	/* A cycle of UDP payloads; n_payload 0: the flow's own. Of a capture or `sizes`. */
	const uint16_t *payload;
	uint32_t n_payload;
	uint16_t sizes[SHAPE_SIZES];

	/* What is not given is the flow's. The source port varies first, the others as listed. */
	struct shape_ports src_port, dst_port;
	struct shape_addrs src_addr, dst_addr;
	uint64_t flows; /* >= threads */

	double duplicate, gap; /* share of the numbers, 0 .. 1 */
	struct shape_reorder reorder;

	bool scheduled; /* `profile` says when, else the rate */
	struct profile profile;
	unsigned burst; /* packets that leave at once; 0: one */

	struct capture
		*capture; /* owned by whoever made it; whole frames in place of ours; NULL: none */
	bool frames;	  /* more than a schedule: an engine must make these packets */
};

/* What happens at a position of a stream's schedule. */
struct shape_step {
	uint64_t number;
	unsigned copies; /* 0: a gap; 2: sent twice */
	bool displaced;	 /* comes late on purpose */
};

/* Duplicates, reordering or gaps were asked for. */
static inline bool shape_has_faults(const struct shape *s)
{
	return s->duplicate > 0 || s->gap > 0 || s->reorder.share > 0;
}

/* Not all packets have one length; `s` NULL: they have. */
static inline bool shape_sizes_differ(const struct shape *s)
{
	return s && s->n_payload;
}

/* Positions are 0 .. limit - 1, and so are the numbers; limit UINT64_MAX: open. */
void shape_step(const struct shape *s, unsigned slot, uint64_t position, uint64_t limit,
		struct shape_step *step);

/*
 * A number below `positions`, all of which were sent, that was not sent itself: sending ended
 * within a reordering. False: there is none. Then numbers to `positions` are used, without it.
 */
bool shape_unfinished(const struct shape *s, unsigned slot, uint64_t positions, uint64_t limit,
		      uint64_t *number);

/* UDP payload of a number. */
unsigned shape_payload(const struct shape *s, const struct flow *flow, unsigned slot,
		       uint64_t number);

/* Bytes of a number from its IP header on, of packets whose sizes may differ (`s` NULL: do not). */
unsigned shape_l3_bytes(const struct shape *s, const struct flow *flow, unsigned slot,
			uint64_t number);

/* Index of the 5-tuple of a number, within those of its slot (shape_flows_of()). */
uint64_t shape_flow(const struct shape *s, unsigned slot, uint64_t number);

/* The 5-tuples of a slot: `first` and how many follow. No other slot has them. */
uint64_t shape_flows_of(const struct shape *s, unsigned slot, uint64_t *first);

/* A copy of `flow` with addresses and ports of a 5-tuple. */
void shape_tuple(const struct shape *s, const struct flow *flow, uint64_t index, struct flow *out);

/* The longest prefix that all of the addresses have, and its first address. */
unsigned shape_addrs_prefix(const struct shape_addrs *a, struct shape_addrs *base);

/*
 * Completes a shape whose fields were parsed: the number of flows from the ranges (`flows`: what
 * was asked for, 0: all), sizes as UDP payloads. STATUS_USAGE where parts do not go together.
 */
int shape_complete(struct shape *s, unsigned threads, uint64_t flows, struct error *err);

/*
 * Whether a shape that came from elsewhere can be sent by `threads` as it is: sizes with room for
 * the stamp, one range of source ports and no other, no capture, and a schedule that goes on.
 */
bool shape_valid(const struct shape *s, unsigned threads);

/* The most packets/s that it asks for, with copies; `pps`: the rate if it has no schedule. */
double shape_peak(const struct shape *s, double pps);

/* Of one cycle of sizes. */
struct shape_sizes {
	unsigned smallest, largest; /* payload */
	double mean_frame;	    /* with FCS */
};
void shape_sizes(const struct shape *s, const struct flow *flow, struct shape_sizes *out);

/*
 * Shapes as people write them. Strict: the whole text, or -EINVAL (not one), -ERANGE (without
 * meaning or too large); where more can be said it is in `err`. Nothing is written then.
 */

#define IMIX_RUNS 64

/* Frames with FCS, VLAN tag included, in the order of a cycle. */
struct imix {
	unsigned n;  /* 0: none */
	bool simple; /* its smallest frame grows where the stamp needs more */
	uint16_t frame[SHAPE_SIZES];
};

/*
 * `simple`: 7 x 64, 4 x 594, 1 x 1518. SIZE:WEIGHT,...: spread as evenly as they go.
 * Into a struct imix, as OPT_CUSTOM has it.
 */
int imix_parse(const char *text, void *out, struct error *err);

/* ramp:FROM..TO/TIME, steps:RATE,RATE,.../TIME, onoff:ON/OFF; rates as in num_rate(), not max. */
enum plan_kind { PLAN_NONE, PLAN_RAMP, PLAN_STEPS, PLAN_ONOFF };
struct rate_plan {
	enum plan_kind kind;
	unsigned n;
	struct rate rate[PROFILE_PARTS];
	uint64_t time_ns; /* of the ramp, of each step, on */
	uint64_t off_ns;
};
int rate_plan_parse(const char *text, void *out, struct error *err); /* a struct rate_plan */

/* Packets/s; `pps`: of --rate, for onoff. Errors as rate_to_pps(); -EINVAL: onoff, no rate. */
int rate_plan_profile(const struct rate_plan *plan, const struct shape_sizes *sizes, int link_mbit,
		      double pps, struct profile *out);

/* PORT or FIRST..LAST */
int ports_parse(const char *text, struct shape_ports *out);

/* ADDR, FIRST..LAST or ADDR/PREFIX (all of its addresses); at most 2^32 of them. */
int addrs_parse(const char *text, struct shape_addrs *out);

/* 0.1% .. 100%; and, for reordering, SHARE[:EXTENT], extent 1 .. 255, 1 if not given. */
int share_parse(const char *text, double *out);
int reorder_parse(const char *text, struct shape_reorder *out);

#endif
