// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/num.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct step {
	uint64_t factor;
	const char *name;
};

/* In the largest unit that leaves a whole number. Steps descend and end with factor 1. */
static char *text_exact(char *buf, size_t size, uint64_t v, const struct step *step)
{
	while (step->factor > 1 && (!v || v % step->factor))
		step++;
	snprintf(buf, size, "%" PRIu64 "%s", v / step->factor, step->name);
	return buf;
}

char *num_text_count(char *buf, size_t size, uint64_t v)
{
	static const struct step steps[] = {
		{1000000000, "G"}, {1000000, "M"}, {1000, "k"}, {1, ""}};

	return text_exact(buf, size, v, steps);
}

char *num_text_size(char *buf, size_t size, uint64_t v)
{
	static const struct step steps[] = {
		{1 << 30, "g"}, {1 << 20, "m"}, {1 << 10, "k"}, {1, ""}};

	return text_exact(buf, size, v, steps);
}

char *num_text_time(char *buf, size_t size, uint64_t ns)
{
	static const struct step steps[] = {
		{86400000000000, "d"}, {3600000000000, "h"}, {60000000000, "m"}, {1000000000, "s"},
		{1000000, "ms"},       {1000, "us"},	     {1, "ns"}};

	return text_exact(buf, size, ns, steps);
}

/* The shortest number that, read and divided by `divisor`, is v again; never with an exponent. */
static void text_double(char *buf, size_t size, double v, double divisor)
{
	int digits = 0;

	do
		snprintf(buf, size, "%.*f", digits, v * divisor);
	while (strtod(buf, NULL) / divisor != v && ++digits < 32);
}

char *num_text_rate(char *buf, size_t size, const struct rate *rate)
{
	static const char *const suffix[] = {[RATE_PPS] = "",
					     [RATE_L2_BPS] = "bit",
					     [RATE_L1_BPS] = "bit/l1",
					     [RATE_PERCENT] = "%"};
	char number[FMT_MAX - 8];

	if (rate->unit == RATE_MAX) {
		snprintf(buf, size, "max");
		return buf;
	}
	if (rate->unit != RATE_PERCENT && rate->value == floor(rate->value))
		num_text_count(number, sizeof(number), rate->value);
	else
		text_double(number, sizeof(number), rate->value, 1);
	snprintf(buf, size, "%s%s", number, suffix[rate->unit]);
	return buf;
}

char *num_text_limit(char *buf, size_t size, const struct limit *limit)
{
	static const char *const names[] = {
#define STAGE_NAME(id, name, title) [STAGE_##id] = name,
		STAGES(STAGE_NAME)
#undef STAGE_NAME
			[STAGE_NONE] = "loss",
	};
	static const char *const suffix[] = {
		[LIMIT_PACKETS] = "", [LIMIT_SHARE] = "%", [LIMIT_PER_SECOND] = "/s"};

	char number[FMT_MAX - 16];

	if (limit->unit == LIMIT_PACKETS)
		num_text_count(number, sizeof(number), limit->value);
	else
		text_double(number, sizeof(number), limit->value,
			    limit->unit == LIMIT_SHARE ? 100 : 1);
	snprintf(buf, size, "%s=%s%s", names[limit->stage], number, suffix[limit->unit]);
	return buf;
}

char *num_text_endpoint(char *buf, size_t size, const struct endpoint *ep)
{
	char addr[INET6_ADDRSTRLEN] = "";

	inet_ntop(ep->family, ep->family == AF_INET6 ? (void *)&ep->ip6 : (void *)&ep->ip4, addr,
		  sizeof(addr));
	if (!ep->port)
		snprintf(buf, size, "%s", addr);
	else
		snprintf(buf, size, ep->family == AF_INET6 ? "[%s]:%u" : "%s:%u", addr, ep->port);
	return buf;
}

char *fmt_count(char *buf, size_t size, uint64_t v)
{
	char plain[24], grouped[32];
	int n = snprintf(plain, sizeof(plain), "%" PRIu64, v), at = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			grouped[at++] = ',';
		grouped[at++] = plain[i];
	}
	snprintf(buf, size, "%.*s", at, grouped);
	return buf;
}

static int decimals(double v, int significant)
{
	int whole = v >= 1000 ? 4 : v >= 100 ? 3 : v >= 10 ? 2 : 1;

	return significant > whole ? significant - whole : 0;
}

/* v in the unit that leaves it below `base`, also after rounding; the first unit without decimals
 * if v is whole. */
static char *fmt_scaled(char *buf, size_t size, double v, double base, int significant,
			const char *const *units)
{
	int digits = v == floor(v) ? 0 : decimals(v, significant);

	while (units[1]) {
		double scale = pow(10, digits);

		if (round(v * scale) / scale < base)
			break;
		v /= base;
		units++;
		digits = decimals(v, significant);
	}
	/* 9.999 with two decimals is 10.00: one place less */
	if (digits && decimals(round(v * pow(10, digits)) / pow(10, digits), significant) < digits)
		digits--;
	snprintf(buf, size, "%.*f %s", digits, v, *units);
	return buf;
}

char *fmt_rate(char *buf, size_t size, double pps)
{
	static const char *const units[] = {"pps", "kpps", "Mpps", "Gpps", NULL};

	return fmt_scaled(buf, size, pps, 1000, 4, units);
}

char *fmt_bps(char *buf, size_t size, double bps)
{
	static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", NULL};

	return fmt_scaled(buf, size, bps, 1000, 4, units);
}

char *fmt_ns(char *buf, size_t size, uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};

	return fmt_scaled(buf, size, ns, 1000, 3, units);
}

char *fmt_bytes(char *buf, size_t size, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};

	return fmt_scaled(buf, size, bytes, 1024, 3, units);
}

char *fmt_short(char *buf, size_t size, double v)
{
	static const char *const units[] = {"", "k", "M", "G", "T", NULL};
	char *blank;

	fmt_scaled(buf, size, v, 1000, 3, units);
	blank = strchr(buf, ' ');
	if (blank)
		memmove(blank, blank + 1, strlen(blank));
	return buf;
}
