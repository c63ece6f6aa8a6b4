/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers as people write them, and numbers as people read them.
 *
 * The parsers are strict: the whole string is the number. They return 0, -EINVAL if it is not one
 * (empty, a sign, blanks, an unknown unit, a fraction that leaves no whole result) or -ERANGE if it
 * is one that the result cannot hold or that has no meaning, and write nothing then. Arithmetic is
 * exact: decimal fractions do not pass through floating point, except in rates and limits.
 */
#ifndef PKTLEDGER_BASE_NUM_H
#define PKTLEDGER_BASE_NUM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "stages.h"

/* How many items an array has. */
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Whether a word is one of a list. */
bool is_one_of(const char *word, const char *const *list, size_t n);

/* Not by isdigit(): the locale has no say here. */
static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits only, min .. max. */
int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out);

/* Decimal: 10, 1.5M; k (or K), M, G = 10^3, 10^6, 10^9. */
int num_count(const char *s, uint64_t *out);

/* Bytes, binary: 1500, 64k = 65536, 1.5MiB; k, m, g in either case, alone or with iB. */
int num_size(const char *s, uint64_t *out);

/* Nanoseconds: bare seconds, or ns us ms s m h d: 5, 0.5, 200ms, 2h. */
int num_time(const char *s, uint64_t *ns);

enum rate_unit {
	RATE_MAX,     /* as fast as it goes; value is 0 */
	RATE_PPS,     /* packets/s */
	RATE_L2_BPS,  /* bit/s of frames with FCS */
	RATE_L1_BPS,  /* the same with preamble, start delimiter and gap: 20 bytes more a frame */
	RATE_PERCENT, /* of the link's speed, above 0, at most 100; L1, so 100 is line rate */
};

struct rate {
	enum rate_unit unit;
	double value;
};

/* 200k, 200kpps, 1.5Gbit, 1.5Gbit/l2, 1.5Gbit/l1, 50%, max; k M G T decimal, m is M. 0: -ERANGE. */
int num_rate(const char *s, struct rate *out);

#define FRAME_L1_OVERHEAD 20 /* IEEE 802.3: 7 preamble, 1 start delimiter, 12 gap; bytes */

/*
 * Packets/s at frames of `frame_bytes` (with FCS); 0 for RATE_MAX: no limit. link_mbit <= 0: not
 * known. -ENODATA: a share of an unknown speed; -EINVAL: no frame size where one is needed.
 */
int rate_to_pps(const struct rate *rate, double frame_bytes, int link_mbit, double *pps);

enum limit_unit {
	LIMIT_PACKETS,	  /* packets in all, whole */
	LIMIT_SHARE,	  /* share of what was sent, 0 .. 1 */
	LIMIT_PER_SECOND, /* packets/s */
};

/* The most that may be lost at a stage; stage STAGE_NONE: all loss together. */
struct limit {
	enum stage stage;
	enum limit_unit unit;
	double value;
};

/*
 * NAME=VALUE: NAME is `loss` or a stage, VALUE 0.1%, 12, 10k or 100/s. 0 is a limit too; -ERANGE
 * above 100% and for what is not 0 but below 1e-15.
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
 * Adds counters of 64 bits, `size` bytes of them and nothing else, to those of the same struct:
 * may_alias, for those of BPF programs are no uint64_t to the compiler, but __u64.
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
	int family; /* AF_INET or AF_INET6; AF_UNSPEC: not set */
	struct in_addr ip4;
	struct in6_addr ip6;
	uint16_t port; /* host order; 0: not given */
};

/* ADDR, ADDR:PORT, [V6], [V6]:PORT; numeric. V6:PORT without brackets is read as an address. */
int num_endpoint(const char *s, struct endpoint *out);

/*
 * The same, or NAME[:PORT]: the address that getaddrinfo(3) prefers for the name of a host, which
 * may take as long as /etc/resolv.conf allows. -ENOENT with the reason in `err` if it has none.
 */
int num_endpoint_named(const char *s, struct endpoint *out, struct error *err);

/* Of a `struct sockaddr_in`, or of a `struct sockaddr_in6`: any other family is not given. */
struct endpoint num_endpoint_from(const void *sockaddr);

/* Of an address as packets have it; the port is in host order. */
struct endpoint num_endpoint_of(int family, const void *address, uint16_t port);

/* Also one that is not set, which means loopback wherever it is asked. */
bool num_is_loopback(const struct endpoint *ep);

/* As the kernel wants it, and how long that is. */
socklen_t socket_address(const struct endpoint *ep, struct sockaddr_storage *out);

/* FMT_MAX bytes for a text; it stays until its thread makes 15 more, by those below, too. */
#define FMT_MAX 64
char *fmt_buffer(void);

/* The shortest text that the parser above reads back as the same value: 1M, 64k, 200ms, 50%. */
char *num_text_count(uint64_t v);
char *num_text_size(uint64_t v);
char *num_text_time(uint64_t ns);
char *num_text_rate(const struct rate *rate);
char *num_text_limit(const struct limit *limit);
char *num_text_endpoint(const struct endpoint *ep);

/* For people: 1,000,000 - 812.3 kpps - 1.500 Gbit/s - 1.24 ms - 64.0 KiB - 812k. */
char *fmt_count(uint64_t v);
/*
 * "1 packet", "2,893 packets": `of` has an s behind it unless it is 1, or says both, "was|were".
 */
char *fmt_many(uint64_t v, const char *of);
char *fmt_rate(double pps);
char *fmt_bps(double bps);
char *fmt_ns(uint64_t ns);
char *fmt_bytes(uint64_t bytes);
/* ", 3.5 s left" if all goes on as what is done, which took so long; "": nobody knows. */
char *fmt_left(double done, double all, uint64_t took_ns);
char *fmt_short(double v); /* below 10^15 at most 5 characters */

struct summary {
	double median, min, max, spread; /* (max - min) / median */
};

/* Sorts the `n` > 0 values. */
struct summary num_summary(double *values, unsigned n);

#endif
