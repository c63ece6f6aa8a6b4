/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The traffic shape: describes the n-th packet of a stream. Pure functions of the shape, the
 * stream's slot and the number, so sender, receiver and ledger compute the same packet without
 * communicating, and the same seed gives the same traffic.
 *
 * Numbers count from 0 here. Sequential properties alternate between the streams of several
 * threads: number k of slot t of n threads is packet k * n + t overall.
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
 * Paces by absolute deadlines. All threads share one schedule (struct profile): thread t of n sends
 * its packets t, t + n, t + 2n ..., so the total rate is exact for any number of threads.
 *
 * A late thread catches up under a token bucket: the packets it missed leave as a burst of at most
 * 2 ms of the schedule (or of --burst), the rest at 1.25 times the rate. Packets more than 100 ms
 * late are dropped from the schedule and counted: the generator could not keep up.
 */

#define PACE_DEPTH_NS 2000000 /* two scheduler hiccups of a millisecond */
#define PACE_DEBT_NS  100000000
#define PACE_CATCH_UP 1.25

struct pace {
	const struct profile *profile; /* for all threads, NULL: unthrottled */
	unsigned burst;		       /* packets of all threads due at once, 1 or more */
	unsigned slot, threads;
	uint64_t end_ns;   /* ns since start, packets due later are not sent, 0: no end */
	uint64_t start_ns; /* ns, CLOCK_MONOTONIC at which packet 0 was due */
	uint64_t done, given_up;
	double tokens;	     /* packets that may leave now */
	double at_s;	     /* s since start, time of the token count */
	uint64_t slipped_ns; /* ns of schedule skipped because the thread was late */
	double most_due;     /* maximum packets at a time, */
	uint64_t late_ns;    /* ns, delay of the first of these packets */
};

/*
 * Starts thread `slot` of `threads` on a shared schedule that begins at start_ns. `profile` is
 * borrowed. Packets leave in groups of `burst` (0: 1): packet c is due when packet c - c % burst
 * is.
 */
void pace_start(struct pace *p, const struct profile *profile, unsigned burst, unsigned slot,
		unsigned threads, uint64_t start_ns);

/*
 * Returns the number of packets due, at most `max`. If it is 0, *wait_ns is the time until the next
 * packet, or 0 if no packet is due before the end.
 */
unsigned pace_due(struct pace *p, uint64_t now_ns, unsigned max, uint64_t *wait_ns);

/* Records that `n` packets were sent. */
void pace_sent(struct pace *p, unsigned n);

/* Returns CLOCK_TAI in ns, the time carried in packets. */
uint64_t pace_tai(void);

/* Sleeps if the wait is long enough, else spins: returns at or shortly before the due time. */
void pace_wait(uint64_t wait_ns);

/*
 * The send schedule: a rate over time as a function and its inverse. Packet c (from 0, over all
 * threads) is due at profile_time(c). Pure. Time is in seconds since the start, as double, which is
 * exact to a nanosecond for three months.
 */

#define PROFILE_PARTS 64

struct profile_part {
	double seconds;	 /* > 0 */
	double from, to; /* pps at the start and the end of the part, linear between */
};

struct profile {
	unsigned parts;
	bool repeat; /* restart after the last part, else keep the last rate */
	struct profile_part part[PROFILE_PARTS];
	/* Or a schedule of single packets, as captured: then parts is 0. Borrowed. */
	const uint64_t *due_ns; /* ascending, the first is 0 */
	uint64_t packets;	/* in the schedule */
	uint64_t pass_ns;	/* ns until the schedule repeats, above the last due_ns */
};

/* Sets a constant rate, in pps, above 0. */
void profile_constant(struct profile *p, double pps);

/*
 * Returns the integral of the rate from 0 to `seconds`: packets 0 .. floor of it are due by then
 * (for a schedule it is half way to the next packet).
 */
double profile_packets(const struct profile *p, double seconds);

/* Returns the time at which packet `c` is due, in s. HUGE_VAL: never. */
double profile_time(const struct profile *p, double c);

/* Validates a schedule from another host: at least one part, positive lengths, a nonzero rate. */
bool profile_valid(const struct profile *p);

/* Returns the highest rate of any part, in pps, or 0 for a schedule. */
double profile_peak(const struct profile *p);

/*
 * The schedule of a stream in segments that a BPF program can follow. Times in the plan differ from
 * the profile by at most PLAN_ERROR_NS.
 */

#define PLAN_ERROR_NS 2000

#define PLAN_NEVER UINT64_MAX

struct plan {
	const struct profile *profile;
	unsigned burst, slot, threads; /* all but slot at least 1 */
	double origin_s;	       /* base of the times, which cover 78 hours */
};

/*
 * Plans up to `n` packets of this thread from its packet `k` (from 0). `first` is the number of k
 * in the sequence header. Returns the number of packets covered: less than `n` if the segments run
 * out or the profile ends in silence.
 */
uint64_t plan_segments(const struct plan *p, uint64_t k, uint64_t n, uint64_t first,
		       struct gen_segment out[GEN_SEGMENTS]);

/*
 * Returns when packet k of this thread is due, in s since the start of the profile. HUGE_VAL:
 * never.
 */
double plan_seconds(const struct plan *p, uint64_t k);

/*
 * Returns when packet k is due since the origin, in ns << GEN_PERIOD_SHIFT. PLAN_NEVER: not in the
 * next 78 hours.
 */
uint64_t plan_due(const struct plan *p, uint64_t k);

/* Returns the packets of this thread due before `ns` since the origin. */
uint64_t plan_packets(const struct plan *p, uint64_t ns);

/* The traffic of sender and receiver: addresses, sizes, stream numbers. */
struct flow {
	int family; /* AF_INET or AF_INET6 */
	struct in_addr src4, dst4;
	struct in6_addr src6, dst6;
	uint8_t src_mac[6], dst_mac[6]; /* for engines that write frames */
	uint16_t dst_port;		/* host order */
	uint16_t src_port;		/* first port, flow f of a thread uses src_port + f */
	unsigned flows;			/* 5-tuples in all, >= 1 */
	unsigned payload;		/* UDP payload, bytes, >= STAMP_LEN */
	unsigned ttl;			/* TTL or hop limit, 0: the default, 64 */
	uint8_t tos;			/* TOS or traffic class, like vlan only with a shape */
	uint16_t vlan;			/* VLAN ID 1 .. 4094, 0: no tag */
	bool time;			/* carry the send time (payload >= STAMP_TIME_LEN) */
};

/* Returns the frame length with FCS for this payload. Valid only if it fits one frame. */
static inline unsigned flow_frame_bytes(const struct flow *f)
{
	unsigned tag = f->vlan ? 4 : 0;
	unsigned bytes = 14 + (f->family == AF_INET6 ? 40 : 20) + 8 + f->payload + 4;

	return (bytes < 64 ? 64 : bytes) + tag;
}

/*
 * Fills a payload with the pattern that receivers compare. The sequence header overwrites its
 * start.
 */
void flow_fill(uint8_t *payload, unsigned len);

/*
 * Writes the sequence header, and the send time (CLOCK_TAI, ns) if the payload of `len` bytes has
 * room for it. A checksum over the payload stays valid, see stamp.h.
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

/* The numbers of one sending thread. Numbers are absolute (base included). */
struct stream {
	uint16_t id;	/* as in the sequence header */
	uint16_t slot;	/* 0 .. threads - 1 */
	uint64_t base;	/* first number */
	uint64_t next;	/* next number to be closed: [base, next) is attempted */
	uint64_t limit; /* numbers to send in total, UINT64_MAX: until stopped */
};

/*
 * A capture file in memory, for replay: classic pcap or pcapng, Ethernet, whole packets only. Only
 * capture.c uses libpcap's file reader.
 */

#define CAPTURE_PACKETS_MAX (1u << 22)
#define CAPTURE_BYTES_MAX   (1ULL << 30)

struct capture {
	uint32_t packets; /* 1 or more */
	uint64_t *at;	  /* offset of each frame in `data`, packets + 1 entries */
	uint8_t *data;
	uint64_t *due_ns;     /* since the first packet, ascending */
	uint64_t pass_ns;     /* ns until the replay repeats: last packet plus the mean interval */
	uint16_t *payload;    /* capture_stamp(): UDP payload length per frame */
	uint16_t *payload_at; /* and its offset in the frame */
	unsigned longest;     /* bytes, longest frame without FCS */
};

static inline const uint8_t *capture_frame(const struct capture *c, uint32_t n, unsigned *length)
{
	*length = (unsigned)(c->at[n + 1] - c->at[n]);
	return c->data + c->at[n];
}

/* Returns the frame length in bytes with FCS, padded to the minimum on the wire. */
static inline unsigned capture_frame_bytes(const struct capture *c, uint32_t n)
{
	unsigned bytes = (unsigned)(c->at[n + 1] - c->at[n]) + 4;

	return bytes < 64 ? 64 : bytes;
}

/*
 * Reads a capture file. Rejects the following and reports the packet's number (from 1): a file that
 * libpcap cannot read to its end, a link type other than Ethernet, a truncated packet, a packet
 * shorter than an Ethernet header, an empty file. A time earlier than the previous packet's is
 * raised to it.
 */
int capture_open(struct capture **c, const char *path, struct error *err);

/*
 * Prepares every frame to carry a sequence header to the receiver of `flow`: sets MAC addresses, IP
 * addresses and destination port to the flow's, reserves the first payload bytes for the header (0
 * for now) and corrects the checksums. Rejects a packet that is not a complete UDP datagram of the
 * flow's family with room for the header. Sets `payload`.
 */
int capture_measure(struct capture *c, int family, struct error *err);
void capture_stamp(struct capture *c, const struct flow *flow);

void capture_free(struct capture *c);

#define SHAPE_SIZES	 1024 /* packets in a cycle of sizes */
#define SHAPE_FLOWS_MAX	 (1ULL << 32)
#define SHAPE_BURST_MAX	 65536

struct shape_ports {
	uint16_t first;
	uint32_t n; /* 0: not given */
};

struct shape_addrs {
	int family;
	uint8_t first[16]; /* network order, IPv4 in the first four bytes */
	uint64_t n;	   /* 0: not given */
};

struct shape {
	unsigned threads;
	uint64_t seed;
	bool random; /* sizes and flows are random, else round robin */

	/*
	 * Cycle of UDP payload lengths from a capture or `sizes`. n_payload 0: the flow's length.
	 */
	const uint16_t *payload;
	uint32_t n_payload;
	uint16_t sizes[SHAPE_SIZES];

	/*
	 * Values that are not given are the flow's. The source port varies fastest, then the others
	 * in order.
	 */
	struct shape_ports src_port, dst_port;
	struct shape_addrs src_addr, dst_addr;
	uint64_t flows; /* >= threads */

	bool scheduled; /* `profile` sets the times, else the rate does */
	struct profile profile;
	unsigned burst; /* packets sent at once, 0: 1 */

	struct capture
		*capture; /* owned by the creator, replaces generated frames, or NULL */
	bool frames;	  /* more than a schedule: the engine must build these packets */
};

/* Returns whether packets have different lengths. `s` NULL: all alike. */
static inline bool shape_sizes_differ(const struct shape *s)
{
	return s && s->n_payload;
}

/* Returns the UDP payload length of a number, in bytes. */
unsigned shape_payload(const struct shape *s, const struct flow *flow, unsigned slot,
		       uint64_t number);

/* Returns the bytes of a number from its IP header on. `s` NULL: all packets have one size. */
unsigned shape_l3_bytes(const struct shape *s, const struct flow *flow, unsigned slot,
			uint64_t number);

/* Returns the index of a number's 5-tuple within its slot (shape_flows_of()). */
uint64_t shape_flow(const struct shape *s, unsigned slot, uint64_t number);

/* Returns the number of 5-tuples of a slot, starting at `first`. No other slot has them. */
uint64_t shape_flows_of(const struct shape *s, unsigned slot, uint64_t *first);

/* Copies `flow` with the addresses and ports of a 5-tuple. */
void shape_tuple(const struct shape *s, const struct flow *flow, uint64_t index, struct flow *out);

/* Returns the longest common prefix of the addresses, and its first address. */
unsigned shape_addrs_prefix(const struct shape_addrs *a, struct shape_addrs *base);

/*
 * Completes a parsed shape: computes the number of flows from the ranges (`flows`: the requested
 * number, 0: all) and converts sizes to UDP payloads. STATUS_USAGE if the options contradict.
 */
int shape_complete(struct shape *s, unsigned threads, uint64_t flows, struct error *err);

/*
 * Returns whether `threads` can send a shape received from another host unchanged: sizes with room
 * for the sequence header, ranges only for the source port, no capture, and an unbounded schedule.
 */
bool shape_valid(const struct shape *s, unsigned threads);

/* Returns the highest rate in pps. `pps`: the rate of a shape without a schedule. */
double shape_peak(const struct shape *s, double pps);

/* Statistics of one cycle of sizes. */
struct shape_sizes {
	unsigned smallest, largest; /* payload */
	double mean_frame;	    /* bytes, with FCS */
};
void shape_sizes(const struct shape *s, const struct flow *flow, struct shape_sizes *out);

/*
 * Parsers of shape options. They consume the whole text, or return -EINVAL (malformed) or -ERANGE
 * (meaningless or too large), with details in `err` where available. The output is unchanged on
 * error.
 */

#define IMIX_RUNS 64

/* Frames with FCS, VLAN tag included, in the order of a cycle. */
struct imix {
	unsigned n;  /* 0: not given */
	bool simple; /* grow the smallest frame if the sequence header needs more room */
	uint16_t frame[SHAPE_SIZES];
};

/*
 * Parses a frame size mix into a struct imix, for OPT_CUSTOM. `simple`: 7 x 64, 4 x 594, 1 x 1518.
 * SIZE:WEIGHT,...: spread as evenly as possible.
 */
int imix_parse(const char *text, void *out, struct error *err);

/*
 * ramp:FROM..TO/TIME, steps:RATE,RATE,.../TIME, onoff:ON/OFF. Rates as in num_rate(), except max.
 */
enum plan_kind { PLAN_NONE, PLAN_RAMP, PLAN_STEPS, PLAN_ONOFF };
struct rate_plan {
	enum plan_kind kind;
	unsigned n;
	struct rate rate[PROFILE_PARTS];
	uint64_t time_ns; /* of the ramp, of each step, of the on phase */
	uint64_t off_ns;
};
int rate_plan_parse(const char *text, void *out, struct error *err); /* out: a struct rate_plan */

/*
 * Builds a profile in pps. `pps`: value of --rate, for onoff. Returns errors as rate_to_pps() does,
 * and -EINVAL for onoff without a rate.
 */
int rate_plan_profile(const struct rate_plan *plan, const struct shape_sizes *sizes, int link_mbit,
		      double pps, struct profile *out);

/* Parses PORT or FIRST..LAST. */
int ports_parse(const char *text, struct shape_ports *out);

/* Parses ADDR, FIRST..LAST or ADDR/PREFIX (every address of the prefix), at most 2^32 addresses. */
int addrs_parse(const char *text, struct shape_addrs *out);

#endif
