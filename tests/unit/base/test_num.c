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

/* Words separated by bars. The empty word counts as well. */
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

static const char *shown(const char *kind, const char *word)
{
	const double value = strtod(word, NULL);
	const uint64_t whole = strtoull(word, NULL, 10);

	return !strcmp(kind, "count")	? fmt_count(whole)
	       : !strcmp(kind, "ns")	? fmt_ns(whole)
	       : !strcmp(kind, "bytes") ? fmt_bytes(whole)
	       : !strcmp(kind, "rate")	? fmt_rate(value)
	       : !strcmp(kind, "bps")	? fmt_bps(value)
					: fmt_short(value);
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
	} else if (!strcmp(verb, "shown")) {
		word = strsep(&text, " ");
		if (strcmp(shown(kind, word), text))
			fail_msg("%s %s is %s, not %s", kind, word, shown(kind, word), text);
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
	assert_string_equal(fmt_many(0, "packet"), "0 packets");
	assert_string_equal(fmt_many(1, "packet"), "1 packet");
	assert_string_equal(fmt_many(2893, "packet"), "2,893 packets");
	assert_string_equal(fmt_many(1, "reply was|replies were"), "1 reply was");
	assert_string_equal(fmt_many(2, "reply was|replies were"), "2 replies were");
	assert_string_equal(fmt_rate(9868.5002), fmt_rate(9868.500)); /* as it is in JSON */
}
