// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/num.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NSEC	 1000000000ULL
#define RATE_TOP 1e15 /* 1 Pbit/s: faster than any link, and well below 2^53 */

/* A decimal number: digits / 10^scale, with no trailing zeros in the fraction. */
struct decimal {
	uint64_t digits;
	unsigned scale;
};

struct unit {
	uint64_t factor;
	const char *name;
};

/*
 * Units used when formatting, in descending order down to factor 1, followed by units that are only
 * parsed.
 */
static const struct unit count_units[] = {
	{1000000000, "G"}, {1000000, "M"}, {1000, "k"}, {1, ""}, {1000, "K"}, {0},
};

static const struct unit size_units[] = {
	{1 << 30, "g"},	  {1 << 20, "m"},
	{1 << 10, "k"},	  {1, ""},
	{1 << 30, "G"},	  {1 << 20, "M"},
	{1 << 10, "K"},	  {1 << 30, "GiB"},
	{1 << 20, "MiB"}, {1 << 10, "KiB"},
	{1 << 30, "giB"}, {1 << 20, "miB"},
	{1 << 10, "kiB"}, {0},
};

static const struct unit time_units[] = {
	{86400 * NSEC, "d"}, {3600 * NSEC, "h"}, {60 * NSEC, "m"}, {NSEC, "s"}, {1000000, "ms"},
	{1000, "us"},	     {1, "ns"},		 {NSEC, ""},	   {0},
};

/* Reads D or D.D at *s and advances *s. */
static int read_decimal(const char **s, struct decimal *d)
{
	struct decimal r = {0};
	unsigned zeros = 0; /* zeros in the fraction, which only count if another digit follows */
	bool fraction = false;
	const char *p = *s;

	if (!is_digit(*p))
		return -EINVAL;
	for (;; p++) {
		if (*p == '.' && !fraction && is_digit(p[1])) {
			fraction = true;
			continue;
		}
		if (!is_digit(*p))
			break;
		if (fraction && *p == '0') {
			zeros++;
			continue;
		}
		for (unsigned i = 0; i <= zeros; i++)
			if (__builtin_mul_overflow(r.digits, 10, &r.digits))
				return -ERANGE;
		if (__builtin_add_overflow(r.digits, *p - '0', &r.digits))
			return -ERANGE;
		r.scale += fraction ? zeros + 1 : 0;
		zeros = 0;
	}
	*d = r;
	*s = p;
	return 0;
}

/*
 * Computes with more bits than the result has, so that the result is the nearest double, as with
 * strtod().
 */
static double decimal_value(const struct decimal *d)
{
	long double power = 1;

	for (unsigned i = 0; i < d->scale; i++)
		power *= 10;
	return (double)(d->digits / power);
}

static int read_scaled(const char *s, const struct unit *units, uint64_t *out)
{
	unsigned __int128 v;
	struct decimal d;
	int err = read_decimal(&s, &d);

	if (err)
		return err;
	while (units->name && strcmp(units->name, s))
		units++;
	if (!units->name)
		return -EINVAL;
	v = (unsigned __int128)d.digits * units->factor;
	for (; d.scale; d.scale--, v /= 10)
		if (v % 10)
			return -EINVAL;
	if (v > UINT64_MAX)
		return -ERANGE;
	*out = v;
	return 0;
}

bool is_one_of(const char *word, const char *const *list, size_t n)
{
	while (n && strcmp(list[n - 1], word))
		n--;
	return n;
}

int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	bool large = false;
	uint64_t v = 0;

	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		if (!is_digit(*s))
			return -EINVAL;
		large |= __builtin_mul_overflow(v, 10, &v) ||
			 __builtin_add_overflow(v, *s - '0', &v);
	}
	if (large || v < min || v > max)
		return -ERANGE;
	*out = v;
	return 0;
}

int num_count(const char *s, uint64_t *out)
{
	return read_scaled(s, count_units, out);
}

int num_size(const char *s, uint64_t *out)
{
	return read_scaled(s, size_units, out);
}

int num_time(const char *s, uint64_t *ns)
{
	return read_scaled(s, time_units, ns);
}

static double read_si_prefix(const char **s)
{
	static const struct {
		char letter;
		double factor;
	} prefixes[] = {{'k', 1e3}, {'K', 1e3}, {'m', 1e6}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};

	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (**s == prefixes[i].letter) {
			++*s;
			return prefixes[i].factor;
		}
	}
	return 1;
}

int num_rate(const char *s, struct rate *out)
{
	static const struct {
		const char *name;
		enum rate_unit unit;
	} units[] = {
		{"", RATE_PPS},		 {"pps", RATE_PPS},	  {"bit", RATE_L2_BPS},
		{"bit/l2", RATE_L2_BPS}, {"bit/l1", RATE_L1_BPS}, {NULL, RATE_MAX},
	};
	struct rate r = {RATE_MAX, 0};
	struct decimal d;
	unsigned i = 0;
	int err;

	if (!strcmp(s, "max")) {
		*out = r;
		return 0;
	}
	err = read_decimal(&s, &d);
	if (err)
		return err;
	r.value = decimal_value(&d);
	if (!strcmp(s, "%")) {
		r.unit = RATE_PERCENT;
	} else {
		r.value *= read_si_prefix(&s);
		while (units[i].name && strcmp(units[i].name, s))
			i++;
		if (!units[i].name)
			return -EINVAL;
		r.unit = units[i].unit;
	}
	if (r.value <= 0 || r.value > (r.unit == RATE_PERCENT ? 100 : RATE_TOP))
		return -ERANGE;
	*out = r;
	return 0;
}

int rate_to_pps(const struct rate *rate, double frame_bytes, int link_mbit, double *pps)
{
	double l1_bits = (frame_bytes + FRAME_L1_OVERHEAD) * 8.0;

	if (rate->unit == RATE_MAX || rate->unit == RATE_PPS) {
		*pps = rate->value;
		return 0;
	}
	if (frame_bytes <= 0)
		return -EINVAL;
	if (rate->unit == RATE_L2_BPS) {
		*pps = rate->value / (frame_bytes * 8.0);
	} else if (rate->unit == RATE_L1_BPS) {
		*pps = rate->value / l1_bits;
	} else {
		if (link_mbit <= 0)
			return -ENODATA;
		*pps = rate->value / 100 * link_mbit * 1e6 / l1_bits;
	}
	return 0;
}

/*
 * Returns whether the value is smaller than any measurable loss, and needs more digits than fit
 * into a text.
 */
static bool is_tiny(double value)
{
	return value != 0 && value < 1e-15;
}

static int read_limit_value(const char *s, struct limit *l)
{
	uint64_t packets = 0;
	struct decimal d;
	int err;

	if (strcspn(s, "%/") == strlen(s)) {
		err = num_count(s, &packets);
		l->unit = LIMIT_PACKETS;
		l->value = packets;
		return err;
	}
	err = read_decimal(&s, &d);
	if (err)
		return err;
	l->value = decimal_value(&d);
	if (!strcmp(s, "%")) {
		l->unit = LIMIT_SHARE;
		l->value /= 100;
		return l->value > 1 || is_tiny(l->value) ? -ERANGE : 0;
	}
	l->unit = LIMIT_PER_SECOND;
	l->value *= read_si_prefix(&s);
	if (strcmp(s, "/s") != 0)
		return -EINVAL;
	return is_tiny(l->value) ? -ERANGE : 0;
}

static const char *const limit_names[] = {
#define STAGE(id, name, ...) [STAGE_##id] = name,
#include "stages.h"
	[STAGE_NONE] = "loss",
};

int num_limit(const char *s, struct limit *out)
{
	const unsigned n = sizeof(limit_names) / sizeof(limit_names[0]);
	size_t len = strcspn(s, "=");
	struct limit l = {.stage = 0};
	int err;

	while (l.stage < n && (!limit_names[l.stage] || strlen(limit_names[l.stage]) != len ||
			       memcmp(limit_names[l.stage], s, len)))
		l.stage++;
	if (!s[len] || l.stage == n)
		return -EINVAL;
	err = read_limit_value(s + len + 1, &l);
	if (!err)
		*out = l;
	return err;
}

int num_endpoint(const char *s, struct endpoint *out)
{
	struct endpoint ep = {.family = AF_INET};
	const char *port = strrchr(s, ':');
	char addr[INET6_ADDRSTRLEN];
	size_t len = strlen(s);
	uint64_t v;
	int err;

	if (*s == '[') {
		const char *close = strchr(s++, ']');

		if (!close || (close[1] && close[1] != ':'))
			return -EINVAL;
		ep.family = AF_INET6;
		len = close - s;
		port = close[1] ? close + 1 : NULL;
	} else if (port && port != strchr(s, ':')) {
		ep.family = AF_INET6;
		port = NULL;
	} else if (port) {
		len = port - s;
	}
	if (len >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, s, len);
	addr[len] = '\0';
	if (inet_pton(ep.family, addr, ep.family == AF_INET ? (void *)&ep.ip4 : &ep.ip6) != 1)
		return -EINVAL;
	if (port) {
		err = num_u64(port + 1, 1, UINT16_MAX, &v);
		if (err)
			return err;
		ep.port = v;
	}
	*out = ep;
	return 0;
}

int num_endpoint_named(const char *s, struct endpoint *out, struct error *err)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	static const char in_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789.-_";
	const size_t len = strspn(s, in_names);
	struct addrinfo *found;
	char name[NI_MAXHOST];
	uint64_t port = 0;
	int rc = num_endpoint(s, out);

	if (!rc || !len || len >= sizeof(name) || strspn(s, "0123456789.") == len ||
	    (s[len] && s[len] != ':') || (s[len] && num_u64(s + len + 1, 1, UINT16_MAX, &port)))
		return rc;
	snprintf(name, sizeof(name), "%.*s", (int)len, s);
	rc = getaddrinfo(name, NULL, &hints, &found);
	if (rc)
		return error_set(err, STATUS_FAILED, -ENOENT, "give its address",
				 "no address of the host '%s': %s", name, gai_strerror(rc));
	*out = num_endpoint_from(found->ai_addr);
	out->port = port;
	freeaddrinfo(found);
	return 0;
}

struct endpoint num_endpoint_from(const void *sockaddr)
{
	const struct sockaddr_in *v4 = sockaddr;
	const struct sockaddr_in6 *v6 = sockaddr;

	return v4->sin_family == AF_INET6
		       ? num_endpoint_of(AF_INET6, &v6->sin6_addr, ntohs(v6->sin6_port))
		       : num_endpoint_of(AF_INET, &v4->sin_addr, ntohs(v4->sin_port));
}

struct endpoint num_endpoint_of(int family, const void *address, uint16_t port)
{
	struct endpoint ep = {.family = family, .port = port};

	if (family == AF_INET6)
		memcpy(&ep.ip6, address, sizeof(ep.ip6));
	else
		memcpy(&ep.ip4, address, sizeof(ep.ip4));
	return ep;
}

bool num_is_loopback(const struct endpoint *ep)
{
	return !ep->family || (ep->family == AF_INET ? ntohl(ep->ip4.s_addr) >> 24 == IN_LOOPBACKNET
						     : IN6_IS_ADDR_LOOPBACK(&ep->ip6));
}

char *fmt_buffer(void)
{
	static _Thread_local char text[16][FMT_MAX];
	static _Thread_local unsigned made;

	return text[made++ % LENGTH(text)];
}

/* Formats a value in the largest unit in which it is a whole number. */
static char *text_exact(uint64_t v, const struct unit *unit)
{
	char *text = fmt_buffer();

	while (unit->factor > 1 && (!v || v % unit->factor))
		unit++;
	snprintf(text, FMT_MAX, "%" PRIu64 "%s", v / unit->factor, unit->name);
	return text;
}

char *num_text_count(uint64_t v)
{
	return text_exact(v, count_units);
}

char *num_text_size(uint64_t v)
{
	return text_exact(v, size_units);
}

char *num_text_time(uint64_t ns)
{
	return text_exact(ns, time_units);
}

/*
 * Formats the shortest number that gives v again when it is parsed and divided by `divisor`. Never
 * uses an exponent.
 */
static char *text_double(double v, double divisor)
{
	char *text = fmt_buffer();
	int digits = 0;

	do
		snprintf(text, FMT_MAX, "%.*f", digits, v * divisor);
	while (strtod(text, NULL) / divisor != v && ++digits < 32);
	return text;
}

char *num_text_rate(const struct rate *rate)
{
	static const char *const suffix[] = {[RATE_PPS] = "",
					     [RATE_L2_BPS] = "bit",
					     [RATE_L1_BPS] = "bit/l1",
					     [RATE_PERCENT] = "%"};
	char *text = fmt_buffer();

	if (rate->unit == RATE_MAX)
		return strcpy(text, "max");
	snprintf(text, FMT_MAX, "%.55s%s",
		 rate->unit != RATE_PERCENT && rate->value == floor(rate->value)
			 ? num_text_count(rate->value)
			 : text_double(rate->value, 1),
		 suffix[rate->unit]);
	return text;
}

char *num_text_limit(const struct limit *limit)
{
	static const char *const suffix[] = {
		[LIMIT_PACKETS] = "", [LIMIT_SHARE] = "%", [LIMIT_PER_SECOND] = "/s"};
	char *text = fmt_buffer();

	snprintf(text, FMT_MAX, "%s=%.47s%s", limit_names[limit->stage],
		 limit->unit == LIMIT_PACKETS
			 ? num_text_count(limit->value)
			 : text_double(limit->value, limit->unit == LIMIT_SHARE ? 100 : 1),
		 suffix[limit->unit]);
	return text;
}

char *num_text_endpoint(const struct endpoint *ep)
{
	char addr[INET6_ADDRSTRLEN] = "", *text = fmt_buffer();

	inet_ntop(ep->family, ep->family == AF_INET6 ? (void *)&ep->ip6 : (void *)&ep->ip4, addr,
		  sizeof(addr));
	if (!ep->port)
		snprintf(text, FMT_MAX, "%s", addr);
	else
		snprintf(text, FMT_MAX, ep->family == AF_INET6 ? "[%s]:%u" : "%s:%u", addr,
			 ep->port);
	return text;
}

socklen_t socket_address(const struct endpoint *ep, struct sockaddr_storage *out)
{
	struct sockaddr_in *s4 = (void *)out;
	struct sockaddr_in6 *s6 = (void *)out;

	memset(out, 0, sizeof(*out));
	if (ep->family == AF_INET6) {
		*s6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					    .sin6_port = htons(ep->port),
					    .sin6_addr = ep->ip6};
		return sizeof(*s6);
	}
	*s4 = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(ep->port), .sin_addr = ep->ip4};
	return sizeof(*s4);
}

char *fmt_count(uint64_t v)
{
	char plain[24], *grouped = fmt_buffer();
	int n = snprintf(plain, sizeof(plain), "%" PRIu64, v), at = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			grouped[at++] = ',';
		grouped[at++] = plain[i];
	}
	grouped[at] = '\0';
	return grouped;
}

char *fmt_many(uint64_t v, const char *of)
{
	const char *many = strchr(of, '|');
	char *buf = fmt_buffer();

	if (v == 1)
		snprintf(buf, FMT_MAX, "1 %.*s", (int)strcspn(of, "|"), of);
	else
		snprintf(buf, FMT_MAX, "%s %s%s", fmt_count(v), many ? many + 1 : of,
			 many ? "" : "s");
	return buf;
}

static int decimals(double v, int significant)
{
	int whole = v >= 1000 ? 4 : v >= 100 ? 3 : v >= 10 ? 2 : 1;

	return significant > whole ? significant - whole : 0;
}

/*
 * Formats v in the first unit in which it is less than `base`, even after rounding. In the first of
 * the units, whole numbers have no decimals.
 */
static char *fmt_scaled(double v, double base, int significant, const char *const *units)
{
	char *buf = fmt_buffer();
	int digits;

	/* JSON has three decimals (json_double()), and the text of a document is the printed one */
	v = round(v * 1000) / 1000;
	digits = v == floor(v) ? 0 : decimals(v, significant);
	while (units[1]) {
		double scale = pow(10, digits);

		if (round(v * scale) / scale < base)
			break;
		v /= base;
		units++;
		digits = decimals(v, significant);
	}
	/* 9.999 with two decimals becomes 10.00, so use one decimal less */
	if (digits && decimals(round(v * pow(10, digits)) / pow(10, digits), significant) < digits)
		digits--;
	snprintf(buf, FMT_MAX, "%.*f %s", digits, v, *units);
	return buf;
}

char *fmt_rate(double pps)
{
	static const char *const units[] = {"pps", "kpps", "Mpps", "Gpps", NULL};

	return fmt_scaled(pps, 1000, 4, units);
}

char *fmt_bps(double bps)
{
	static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", NULL};

	return fmt_scaled(bps, 1000, 4, units);
}

char *fmt_ns(uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};

	return fmt_scaled(ns, 1000, 3, units);
}

char *fmt_left(double done, double all, uint64_t took_ns)
{
	char *text = fmt_buffer();

	*text = '\0';
	if (done > 0 && done < all)
		snprintf(text, FMT_MAX, ", %s left",
			 fmt_ns((uint64_t)((double)took_ns / done * (all - done))));
	return text;
}

char *fmt_bytes(uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};

	return fmt_scaled(bytes, 1024, 3, units);
}

char *fmt_short(double v)
{
	static const char *const units[] = {"", "k", "M", "G", "T", NULL};
	char *text = fmt_scaled(v, 1000, 3, units), *blank = strchr(text, ' ');

	if (blank)
		memmove(blank, blank + 1, strlen(blank));
	return text;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct summary num_summary(double *values, unsigned n)
{
	struct summary s;

	qsort(values, n, sizeof(*values), by_value);
	s.min = values[0];
	s.max = values[n - 1];
	s.median = (values[(n - 1) / 2] + values[n / 2]) / 2;
	s.spread = s.median > 0 ? (s.max - s.min) / s.median : 0;
	return s;
}
