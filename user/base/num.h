/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parsers and formatters for numbers that users read or write.
 *
 * The parsers are strict: the whole string must be the number. They return 0, -EINVAL for a string
 * that is not a number (empty, a sign, blanks, an unknown unit, a fraction without a whole result),
 * or -ERANGE for a number that does not fit the result or makes no sense. On error they write
 * nothing. Arithmetic is exact: decimal fractions do not pass through floating point, except in
 * rates and limits.
 */
#ifndef PKTLEDGER_BASE_NUM_H
#define PKTLEDGER_BASE_NUM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "stages.h"

/* Number of items in an array. */
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Returns whether the word is in the list. */
bool is_one_of(const char *word, const char *const *list, size_t n);

/* Returns whether `c` is a digit, whatever the locale, unlike isdigit(). */
static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parses a number between min and max that consists of digits only. */
int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out);

/* Parses a decimal number such as 10 or 1.5M. k (or K), M and G are 10^3, 10^6 and 10^9. */
int num_count(const char *s, uint64_t *out);

/*
 * Parses a size in bytes with binary units: 1500, 64k = 65536, 1.5MiB. k, m and g may be in either
 * case, and may be followed by iB.
 */
int num_size(const char *s, uint64_t *out);

/*
 * Parses a time into ns. Plain numbers are seconds, other units are ns us ms s m h d: 5, 0.5,
 * 200ms, 2h.
 */
int num_time(const char *s, uint64_t *ns);

enum rate_unit {
	RATE_MAX,     /* unlimited, the value is 0 */
	RATE_PPS,     /* packets/s */
	RATE_L2_BPS,  /* bit/s of frames including FCS */
	RATE_L1_BPS,  /* bit/s including preamble, start delimiter and gap: 20 bytes per frame */
	RATE_PERCENT, /* percentage of link speed (0 < x <= 100) at L1, so 100 is line rate */
};

struct rate {
	enum rate_unit unit;
	double value;
};

/*
 * Parses 200k, 200kpps, 1.5Gbit, 1.5Gbit/l2, 1.5Gbit/l1, 50%, max. k M G T are decimal, and m means
 * M. Returns -ERANGE for 0.
 */
int num_rate(const char *s, struct rate *out);

#define FRAME_L1_OVERHEAD 20 /* bytes, IEEE 802.3: 7 preamble, 1 start delimiter, 12 gap */

/*
 * Computes the rate in packets/s for frames of `frame_bytes` (including FCS), 0 (no limit) for
 * RATE_MAX. link_mbit <= 0 means unknown. Returns -ENODATA for a percentage of an unknown speed,
 * -EINVAL if the frame size is missing.
 */
int rate_to_pps(const struct rate *rate, double frame_bytes, int link_mbit, double *pps);

enum limit_unit {
	LIMIT_PACKETS,	  /* packets in total, a whole number */
	LIMIT_SHARE,	  /* fraction of the packets sent, 0 .. 1 */
	LIMIT_PER_SECOND, /* packets/s */
};

/* Maximum loss at a stage. STAGE_NONE stands for the total loss. */
struct limit {
	enum stage stage;
	enum limit_unit unit;
	double value;
};

/*
 * Parses NAME=VALUE. NAME is `loss` or a stage, and VALUE is 0.1%, 12, 10k or 100/s. 0 is a valid
 * limit. Returns -ERANGE for values above 100%, and for values below 1e-15 other than 0.
 */
int num_limit(const char *s, struct limit *out);

static inline uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Adds the counters in one struct to another of the same type. The struct is `size` bytes long and
 * consists of 64-bit counters only. may_alias is needed because the compiler treats the __u64 of
 * BPF programs and uint64_t as different types.
 */
static inline void sum_words(void *to, const void *from, size_t size)
{
	typedef uint64_t __attribute__((may_alias)) word;
	const word *add = from;
	word *at = to;

	for (size_t i = 0; i < size / sizeof(*at); i++)
		at[i] += add[i];
}

struct endpoint {
	int family; /* AF_INET or AF_INET6, AF_UNSPEC: not set */
	struct in_addr ip4;
	struct in6_addr ip6;
	uint16_t port; /* host order, 0: not given */
};

/*
 * Parses a numeric ADDR, ADDR:PORT, [V6] or [V6]:PORT. V6:PORT without brackets is read as an
 * address.
 */
int num_endpoint(const char *s, struct endpoint *out);

/*
 * Parses a numeric endpoint or NAME[:PORT]. For a host name, uses the address that getaddrinfo(3)
 * prefers, which may take as long as /etc/resolv.conf allows. Returns -ENOENT, with the reason in
 * `err`, if the name has no address.
 */
int num_endpoint_named(const char *s, struct endpoint *out, struct error *err);

/* Converts a struct sockaddr_in or sockaddr_in6. Any other family gives an unset endpoint. */
struct endpoint num_endpoint_from(const void *sockaddr);

/* Converts an address in packet format. The port is in host order. */
struct endpoint num_endpoint_of(int family, const void *address, uint16_t port);

/*
 * Returns whether the endpoint is loopback. For all callers an unset endpoint counts as loopback.
 */
bool num_is_loopback(const struct endpoint *ep);

/* Writes the endpoint in the kernel's format and returns its length. */
socklen_t socket_address(const struct endpoint *ep, struct sockaddr_storage *out);

/*
 * Size of a text in bytes. A text stays valid until the thread has made 15 more texts with the
 * functions below.
 */
#define FMT_MAX 64
char *fmt_buffer(void);

/*
 * Formats the shortest text that the matching parser reads back as the same value: 1M, 64k, 200ms,
 * 50%.
 */
char *num_text_count(uint64_t v);
char *num_text_size(uint64_t v);
char *num_text_time(uint64_t ns);
char *num_text_rate(const struct rate *rate);
char *num_text_limit(const struct limit *limit);
char *num_text_endpoint(const struct endpoint *ep);

/* Formats for users: 1,000,000 - 812.3 kpps - 1.500 Gbit/s - 1.24 ms - 64.0 KiB - 812k. */
char *fmt_count(uint64_t v);
/*
 * Formats "1 packet" or "2,893 packets". `of` gets a plural s, or contains both forms, "was|were".
 */
char *fmt_many(uint64_t v, const char *of);
char *fmt_rate(double pps);
char *fmt_bps(double bps);
char *fmt_ns(uint64_t ns);
char *fmt_bytes(uint64_t bytes);
/* Formats ", 3.5 s left", extrapolated from the part completed in `took_ns`. "" if unknown. */
char *fmt_left(double done, double all, uint64_t took_ns);
char *fmt_short(double v); /* at most 5 characters if v < 10^15 */

struct summary {
	double median, min, max, spread; /* (max - min) / median */
};

/* Computes the summary of `n` > 0 values. Sorts them. */
struct summary num_summary(double *values, unsigned n);

#endif
