/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The traffic shape describes the n-th packet of a stream. All functions are pure: they depend only
 * on the shape, the stream's slot and the number. Sender, receiver and ledger therefore compute the
 * same packet without communicating, and the same seed gives the same traffic.
 *
 * Numbers count from 0 here. Sequential properties alternate between the streams of several
 * threads: number k in slot t of n threads is packet k * n + t overall.
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
 * Paces packets using absolute deadlines. All threads share one schedule (struct profile). Thread t
 * of n sends packets t, t + n, t + 2n and so on, so the total rate is exact for any number of
 * threads.
 *
 * A late thread catches up, limited by a token bucket. Of the packets it missed, at most 2 ms of
 * the schedule (or --burst packets) leave as a burst, and the rest at 1.25 times the rate. Packets
 * that are more than 100 ms late are dropped from the schedule and counted as packets that the
 * generator was too slow to send.
 */

#define PACE_DEPTH_NS 2000000 /* ns, enough for two scheduler hiccups of one millisecond each */
#define PACE_DEBT_NS  100000000
#define PACE_CATCH_UP 1.25

struct pace {
	const struct profile *profile; /* schedule of all threads, NULL: unthrottled */
	unsigned burst;		       /* packets of all threads that are due at once, at least 1 */
	unsigned slot, threads;
	uint64_t end_ns;   /* ns since start, packets due later are not sent, 0: no end */
	uint64_t start_ns; /* ns, CLOCK_MONOTONIC when packet 0 was due */
	uint64_t done, given_up;
	double tokens;	     /* packets that may leave now */
	double at_s;	     /* s since start, time of the token count */
	uint64_t slipped_ns; /* ns of schedule skipped because the thread was late */
	double most_due;     /* most packets that were due at once */
	uint64_t late_ns;    /* ns, how late the first of those packets was */
};

/*
 * Starts thread `slot` of `threads` on a shared schedule that begins at start_ns. `profile` is
 * borrowed. Packets leave in groups of `burst` (0: 1): packet c is due at the same time as packet c
 * - c % burst.
 */
void pace_start(struct pace *p, const struct profile *profile, unsigned burst, unsigned slot,
		unsigned threads, uint64_t start_ns);

/*
 * Returns how many packets are due, at most `max`. If the result is 0, *wait_ns is the time until
 * the next packet, or 0 if no more packets are due before the end.
 */
unsigned pace_due(struct pace *p, uint64_t now_ns, unsigned max, uint64_t *wait_ns);

/* Records that `n` packets were sent. */
void pace_sent(struct pace *p, unsigned n);

/* Returns CLOCK_TAI in ns, the time that packets carry. */
uint64_t pace_tai(void);

/*
 * Sleeps if the wait is long enough, otherwise spins. Returns when the time is up, or shortly
 * before.
 */
void pace_wait(uint64_t wait_ns);

/*
 * The send schedule: a rate over time as a function, and its inverse. Packet c (counting from 0,
 * over all threads) is due at profile_time(c). All functions are pure. Times are in seconds since
 * the start, as a double, which is accurate to a nanosecond for three months.
 */

#define PROFILE_PARTS 64

struct profile_part {
	double seconds;	 /* > 0 */
	double from, to; /* pps at the start and the end of the part, linear in between */
};

struct profile {
	unsigned parts;
	bool repeat; /* restart after the last part, otherwise continue at the last rate */
	struct profile_part part[PROFILE_PARTS];
	/* Or a schedule of individual packets from a capture, with `parts` 0. Borrowed. */
	const uint64_t *due_ns; /* ascending, starting with 0 */
	uint64_t packets;	/* in the schedule */
	uint64_t pass_ns;	/* ns until the schedule repeats, more than the last due_ns */
};

/* Sets a constant rate in pps, greater than 0. */
void profile_constant(struct profile *p, double pps);

/*
 * Returns the integral of the rate from 0 to `seconds`. Packets 0 .. floor of the result are due by
 * then. (For a schedule of packets, the result is halfway to the next packet.)
 */
double profile_packets(const struct profile *p, double seconds);

/* Returns when packet `c` is due, in s, or HUGE_VAL if never. */
double profile_time(const struct profile *p, double c);

/*
 * Validates a schedule from another host. It must have at least one part, positive lengths and a
 * nonzero rate.
 */
bool profile_valid(const struct profile *p);

/* Returns the highest rate of all parts in pps, or 0 for a schedule of packets. */
double profile_peak(const struct profile *p);

/*
 * A stream's schedule in segments that a BPF program can follow. The times in the plan differ from
 * the profile by at most PLAN_ERROR_NS.
 */

#define PLAN_ERROR_NS 2000

#define PLAN_NEVER UINT64_MAX

struct plan {
	const struct profile *profile;
	unsigned burst, slot, threads; /* all but slot are at least 1 */
	double origin_s;	       /* s, base of the times, which cover 78 hours */
};

/*
 * Plans up to `n` of this thread's packets, starting with its packet `k` (counting from 0). `first`
 * is packet k's number in the sequence header. Returns the number of packets planned, which is less
 * than `n` if the segments run out or the profile ends in silence.
 */
uint64_t plan_segments(const struct plan *p, uint64_t k, uint64_t n, uint64_t first,
		       struct gen_segment out[GEN_SEGMENTS]);

/*
 * Returns when this thread's packet k is due, in s since the start of the profile, or HUGE_VAL if
 * never.
 */
double plan_seconds(const struct plan *p, uint64_t k);

/*
 * Returns when packet k is due, in ns << GEN_PERIOD_SHIFT since the origin, or PLAN_NEVER if that
 * is more than 78 hours away.
 */
uint64_t plan_due(const struct plan *p, uint64_t k);

/* Returns how many of this thread's packets are due less than `ns` after the origin. */
uint64_t plan_packets(const struct plan *p, uint64_t ns);

/* The traffic, as sender and receiver see it: addresses, sizes, stream numbers. */
struct flow {
	int family; /* AF_INET or AF_INET6 */
	struct in_addr src4, dst4;
	struct in6_addr src6, dst6;
	uint8_t src_mac[6], dst_mac[6]; /* for engines that write whole frames */
	uint16_t dst_port;		/* host order */
	uint16_t src_port;		/* first port, flow f of a thread uses src_port + f */
	unsigned flows;			/* total number of 5-tuples, >= 1 */
	unsigned payload;		/* bytes of UDP payload, >= STAMP_LEN */
	unsigned ttl;			/* TTL or hop limit, 0: the default, 64 */
	uint8_t tos;			/* TOS or traffic class, set only by a shape, like vlan */
	uint16_t vlan;			/* VLAN ID, 1 .. 4094, 0: untagged */
	bool time;			/* carry the send time (payload >= STAMP_TIME_LEN) */
};

/*
 * Returns the frame length, including FCS, for this payload. Only valid if the payload fits a
 * single frame.
 */
static inline unsigned flow_frame_bytes(const struct flow *f)
{
	unsigned tag = f->vlan ? 4 : 0;
	unsigned bytes = 14 + (f->family == AF_INET6 ? 40 : 20) + 8 + f->payload + 4;

	return (bytes < 64 ? 64 : bytes) + tag;
}

/*
 * Fills a payload with the pattern that receivers compare. The sequence header overwrites the
 * beginning.
 */
void flow_fill(uint8_t *payload, unsigned len);

/*
 * Writes the sequence header and, if the payload of `len` bytes has room for it, the send time
 * (CLOCK_TAI, ns). A checksum over the payload stays valid (see stamp.h).
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

/* One sending thread's numbers. They are absolute, that is, they include the base. */
struct stream {
	uint16_t id;	/* stream ID in the sequence header */
	uint16_t slot;	/* 0 .. threads - 1 */
	uint64_t base;	/* first number */
	uint64_t next;	/* next number to be closed: numbers in [base, next) have been attempted */
	uint64_t limit; /* number of packets to send, UINT64_MAX: until stopped */
};

/*
 * A capture file in memory, for replay. Only classic pcap and pcapng files with whole Ethernet
 * packets are supported. capture.c is the only user of libpcap's file reader.
 */

#define CAPTURE_PACKETS_MAX (1u << 22)
#define CAPTURE_BYTES_MAX   (1ULL << 30)

struct capture {
	uint32_t packets; /* 1 or more */
	uint64_t *at;	  /* offset of each frame in `data`, packets + 1 entries */
	uint8_t *data;
	uint64_t *due_ns;     /* ns since the first packet, ascending */
	uint64_t pass_ns;     /* ns until the replay repeats: last packet plus the mean interval */
	uint16_t *payload;    /* capture_stamp(): UDP payload length of each frame */
	uint16_t *payload_at; /* offset of the payload in the frame */
	unsigned longest;     /* bytes, longest frame without FCS */
};

static inline const uint8_t *capture_frame(const struct capture *c, uint32_t n, unsigned *length)
{
	*length = (unsigned)(c->at[n + 1] - c->at[n]);
	return c->data + c->at[n];
}

/* Returns the frame length in bytes, including FCS and padding to the minimum frame size. */
static inline unsigned capture_frame_bytes(const struct capture *c, uint32_t n)
{
	unsigned bytes = (unsigned)(c->at[n + 1] - c->at[n]) + 4;

	return bytes < 64 ? 64 : bytes;
}

/*
 * Reads a capture file. Reports the number (from 1) of a packet it rejects. Rejects a file that
 * libpcap cannot read to the end, a link type other than Ethernet, a truncated packet, a packet
 * shorter than an Ethernet header, and an empty file. If a packet's time is earlier than the
 * previous packet's, it is set to the previous packet's time.
 */
int capture_open(struct capture **c, const char *path, struct error *err);

/*
 * Prepares every frame to carry a sequence header to the receiver of `flow`: sets MAC addresses, IP
 * addresses and destination port to the flow's, reserves the first payload bytes for the header (0
 * for now) and corrects the checksums. Rejects packets other than complete UDP datagrams of the
 * flow's family with room for the header. Sets `payload`.
 */
int capture_measure(struct capture *c, int family, struct error *err);
void capture_stamp(struct capture *c, const struct flow *flow);

void capture_free(struct capture *c);

#define SHAPE_SIZES	 1024 /* packets in one cycle of sizes */
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
	bool random; /* sizes and flows are chosen at random, otherwise round robin */

	/*
	 * Cycle of UDP payload lengths, from a capture or from `sizes`. If n_payload is 0, the
	 * flow's length is used.
	 */
	const uint16_t *payload;
	uint32_t n_payload;
	uint16_t sizes[SHAPE_SIZES];

	/*
	 * Values that are not given are taken from the flow. The source port varies fastest, then
	 * the others in this order.
	 */
	struct shape_ports src_port, dst_port;
	struct shape_addrs src_addr, dst_addr;
	uint64_t flows; /* >= threads */

	bool scheduled; /* `profile` sets the times, otherwise the rate does */
	struct profile profile;
	unsigned burst; /* packets sent at once, 0: 1 */

	struct capture
		*capture; /* replaces generated frames, owned by the creator, or NULL */
	bool frames;	  /* more than just a schedule: the engine has to build these packets */
};

/* Returns whether packets differ in length. `s` NULL means that all are alike. */
static inline bool shape_sizes_differ(const struct shape *s)
{
	return s && s->n_payload;
}

/* Returns the UDP payload length of the packet with this number, in bytes. */
unsigned shape_payload(const struct shape *s, const struct flow *flow, unsigned slot,
		       uint64_t number);

/*
 * Returns the number of bytes, from the IP header on, of the packet with this number. `s` NULL
 * means that all packets have the same size.
 */
unsigned shape_l3_bytes(const struct shape *s, const struct flow *flow, unsigned slot,
			uint64_t number);

/*
 * Returns the index, within its slot (see shape_flows_of()), of the 5-tuple that this number uses.
 */
uint64_t shape_flow(const struct shape *s, unsigned slot, uint64_t number);

/*
 * Returns the number of 5-tuples in a slot, and the first one in `first`. No other slot uses them.
 */
uint64_t shape_flows_of(const struct shape *s, unsigned slot, uint64_t *first);

/* Copies `flow` and sets the addresses and ports of one 5-tuple. */
void shape_tuple(const struct shape *s, const struct flow *flow, uint64_t index, struct flow *out);

/* Returns the length of the addresses' longest common prefix, and its first address. */
unsigned shape_addrs_prefix(const struct shape_addrs *a, struct shape_addrs *base);

/*
 * Completes a parsed shape: computes the number of flows from the ranges (`flows` is the requested
 * number, 0: all) and converts sizes to UDP payloads. Returns STATUS_USAGE if options contradict
 * each other.
 */
int shape_complete(struct shape *s, unsigned threads, uint64_t flows, struct error *err);

/*
 * Returns whether `threads` threads can send a shape received from another host as it is. Its sizes
 * must have room for the sequence header, only the source port may have a range, and it must have
 * no capture and an unbounded schedule.
 */
bool shape_valid(const struct shape *s, unsigned threads);

/* Returns the highest rate in pps. `pps` is the rate of a shape without a schedule. */
double shape_peak(const struct shape *s, double pps);

/* Statistics for one cycle of sizes. */
struct shape_sizes {
	unsigned smallest, largest; /* payload bytes */
	double mean_frame;	    /* bytes, including FCS */
};
void shape_sizes(const struct shape *s, const struct flow *flow, struct shape_sizes *out);

/*
 * Parsers for shape options. They consume the whole text, or return -EINVAL (malformed) or -ERANGE
 * (meaningless or too large), with details in `err` where available. On error the output does not
 * change.
 */

#define IMIX_RUNS 64

/* Frame sizes, including FCS and VLAN tag, in cycle order. */
struct imix {
	unsigned n;  /* 0: not given */
	bool simple; /* enlarge the smallest frame if the sequence header needs more room */
	uint16_t frame[SHAPE_SIZES];
};

/*
 * Parses a mix of frame sizes into a struct imix, for OPT_CUSTOM. `simple` is 7 x 64, 4 x 594, 1 x
 * 1518. In SIZE:WEIGHT,... the sizes are spread as evenly as possible.
 */
int imix_parse(const char *text, void *out, struct error *err);

/*
 * ramp:FROM..TO/TIME, steps:RATE,RATE,.../TIME or onoff:ON/OFF. Rates as in num_rate(), except max.
 */
enum plan_kind { PLAN_NONE, PLAN_RAMP, PLAN_STEPS, PLAN_ONOFF };
struct rate_plan {
	enum plan_kind kind;
	unsigned n;
	struct rate rate[PROFILE_PARTS];
	uint64_t time_ns; /* ns, duration of the ramp, of each step, or of the on phase */
	uint64_t off_ns;
};
int rate_plan_parse(const char *text, void *out, struct error *err); /* out: struct rate_plan */

/*
 * Builds a profile in pps. `pps` is the value of --rate, used for onoff. Returns the same errors as
 * rate_to_pps(), and -EINVAL for onoff without a rate.
 */
int rate_plan_profile(const struct rate_plan *plan, const struct shape_sizes *sizes, int link_mbit,
		      double pps, struct profile *out);

/* Parses PORT or FIRST..LAST. */
int ports_parse(const char *text, struct shape_ports *out);

/* Parses ADDR, FIRST..LAST or ADDR/PREFIX (every address in the prefix), at most 2^32 addresses. */
int addrs_parse(const char *text, struct shape_addrs *out);

#endif
