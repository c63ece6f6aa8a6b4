// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "recorded.h"

/* A number of any kind. What is refused changes nothing. */
union number {
	uint64_t u64;
	struct rate rate;
	struct limit limit;
	struct endpoint endpoint;
};

static int parse(const char *kind, const char *word, union number *n)
{
	return !strcmp(kind, "u64")	? num_u64(word, 0, UINT64_MAX, &n->u64)
	       : !strcmp(kind, "port")	? num_u64(word, 1, 65535, &n->u64)
	       : !strcmp(kind, "count") ? num_count(word, &n->u64)
	       : !strcmp(kind, "size")	? num_size(word, &n->u64)
	       : !strcmp(kind, "time")	? num_time(word, &n->u64)
	       : !strcmp(kind, "rate")	? num_rate(word, &n->rate)
	       : !strcmp(kind, "limit") ? num_limit(word, &n->limit)
					: num_endpoint(word, &n->endpoint);
}

static const char *print(const char *kind, const union number *n)
{
	static char plain[24];

	snprintf(plain, sizeof(plain), "%" PRIu64, n->u64);
	return !strcmp(kind, "count")	   ? num_text_count(n->u64)
	       : !strcmp(kind, "size")	   ? num_text_size(n->u64)
	       : !strcmp(kind, "time")	   ? num_text_time(n->u64)
	       : !strcmp(kind, "rate")	   ? num_text_rate(&n->rate)
	       : !strcmp(kind, "limit")	   ? num_text_limit(&n->limit)
	       : !strcmp(kind, "endpoint") ? num_text_endpoint(&n->endpoint)
					   : plain;
}

/* Words separated by bars; the empty word is one, too. */
static void refused(const char *kind, const char *words, int code)
{
	char word[80];

	for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
		union number n, before;

		memset(&n, 0x5a, sizeof(n));
		before = n;
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, "|"), at);
		if (parse(kind, word, &n) != code)
			fail_msg("%s '%s' is not %d", kind, word, code);
		assert_memory_equal(&n, &before, sizeof(n));
	}
}

static void take_line(void *arg, const char *verb, char *text)
{
	const char *kind = strsep(&text, " "), *word;
	union number n;

	(void)arg;
	if (!strcmp(verb, "valid")) {
		word = strsep(&text, " ");
		if (parse(kind, word, &n) || strcmp(print(kind, &n), text) ||
		    parse(kind, text, &n) || strcmp(print(kind, &n), text))
			fail_msg("%s '%s' is not %s", kind, word, text);
	} else if (!strcmp(verb, "loopback")) { /* what needs no token */
		assert_int_equal(parse("endpoint", kind, &n), 0);
		if (num_is_loopback(&n.endpoint) != !strcmp(text, "yes"))
			fail_msg("%s is not %s", kind, text);
	} else if (strcmp(verb, "case")) {
		refused(kind, text, strcmp(verb, "range") ? -EINVAL : -ERANGE);
	}
}

CASE(words)
{
	static const char *const whole[] = {"u64", "port", "count", "size", "time"};

	recorded_each("tests/fixtures/numbers", take_line, NULL);
	for (unsigned i = 0; i < LENGTH(whole); i++) { /* what is no number of any of these */
		refused(whole[i],
			"| |-1|+1| 1|1 |1\n|12abc|abc|0x10|1e3|1,000|1.|.5|1.5.5|1 "
			"k|1kk|k|nan|inf|--|"
			"\xd9\xa1|1\xc2\xa0",
			-EINVAL);
		refused(whole[i], "18446744073709551616|99999999999999999999999999", -ERANGE);
	}
}

CASE(test_rate_to_pps)
{
	double pps = -1;

	assert_int_equal(rate_to_pps(&(struct rate){RATE_MAX, 0}, 64, -1, &pps), 0);
	assert_true(pps == 0);
	assert_int_equal(rate_to_pps(&(struct rate){RATE_PPS, 5}, 0, -1, &pps), 0);
	assert_true(pps == 5);
	/* 10 Gbit/s at 64 bytes is 14.88 Mpps on the wire, 19.53 without preamble and gap */
	assert_int_equal(rate_to_pps(&(struct rate){RATE_L1_BPS, 10e9}, 64, -1, &pps), 0);
	assert_int_equal(pps, 14880952);
	assert_int_equal(rate_to_pps(&(struct rate){RATE_L2_BPS, 10e9}, 64, -1, &pps), 0);
	assert_int_equal(pps, 19531250);
	assert_int_equal(rate_to_pps(&(struct rate){RATE_PERCENT, 50}, 1518, 10000, &pps), 0);
	assert_int_equal(pps, 406371);
	pps = -1;
	assert_int_equal(rate_to_pps(&(struct rate){RATE_PERCENT, 50}, 64, -1, &pps), -ENODATA);
	assert_int_equal(rate_to_pps(&(struct rate){RATE_PERCENT, 50}, 64, 0, &pps), -ENODATA);
	assert_int_equal(rate_to_pps(&(struct rate){RATE_L2_BPS, 1e9}, 0, -1, &pps), -EINVAL);
	assert_true(pps == -1);
}

CASE(test_fmt)
{
#define IS(call, text) assert_string_equal(call, text)
	IS(fmt_count(0), "0");
	IS(fmt_count(999), "999");
	IS(fmt_count(1000), "1,000");
	IS(fmt_count(1000000), "1,000,000");
	IS(fmt_count(UINT64_MAX), "18,446,744,073,709,551,615");
	IS(fmt_many(0, "packet"), "0 packets");
	IS(fmt_many(1, "packet"), "1 packet");
	IS(fmt_many(2893, "packet"), "2,893 packets");
	IS(fmt_many(1, "reply was|replies were"), "1 reply was");
	IS(fmt_many(2, "reply was|replies were"), "2 replies were");
	IS(fmt_rate(0), "0 pps");
	IS(fmt_rate(0.5), "0.500 pps");
	IS(fmt_rate(999), "999 pps");
	IS(fmt_rate(812345), "812.3 kpps");
	IS(fmt_rate(999949), "999.9 kpps");
	IS(fmt_rate(999951), "1.000 Mpps");
	IS(fmt_rate(9999.6), "10.00 kpps");
	IS(fmt_rate(14880952), "14.88 Mpps");
	IS(fmt_rate(9868.5002), fmt_rate(9868.500)); /* as it is in JSON */
	IS(fmt_bps(1.5e9), "1.500 Gbit/s");
	IS(fmt_bps(5e16), "50000 Tbit/s");
	IS(fmt_ns(0), "0 ns");
	IS(fmt_ns(999), "999 ns");
	IS(fmt_ns(1240000), "1.24 ms");
	IS(fmt_ns(999999), "1.00 ms");
	IS(fmt_ns(12345678901), "12.3 s");
	IS(fmt_ns(7200000000000), "7200 s");
	IS(fmt_bytes(1023), "1023 B");
	IS(fmt_bytes(1024), "1.00 KiB");
	IS(fmt_bytes(65536), "64.0 KiB");
	IS(fmt_bytes((1 << 20) - 1), "1.00 MiB");
	IS(fmt_short(0), "0");
	IS(fmt_short(999), "999");
	IS(fmt_short(1000), "1.00k");
	IS(fmt_short(99950), "100k");
	IS(fmt_short(1.5), "1.50");
	IS(fmt_short(999999), "1.00M");
	IS(fmt_short(1e12), "1.00T");
	IS(fmt_short(0.5), "0.50");
	IS(fmt_short(9.96), "9.96");
	IS(fmt_short(811.7), "812");
	IS(fmt_short(999.4), "999");
	IS(fmt_short(999.6), "1.00k");
	IS(fmt_short(30120), "30.1k");
	IS(fmt_short(812000), "812k");
	IS(fmt_short(3.4e9), "3.40G");
	IS(fmt_short(1e6), "1.00M");
#undef IS
}
