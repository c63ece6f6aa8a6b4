// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "base/num.h"

#define UNTOUCHED 0xdeadbeefULL

struct number_case {
	const char *text;
	int code;
	uint64_t value;
};

static void check_numbers(int (*parse)(const char *, uint64_t *), const struct number_case *c)
{
	for (; c->text; c++) {
		uint64_t v = UNTOUCHED;
		int code = parse(c->text, &v);

		if (code != c->code || v != (code ? UNTOUCHED : c->value))
			fail_msg("'%s': %d, %llu; wanted %d, %llu", c->text, code,
				 (unsigned long long)v, c->code, (unsigned long long)c->value);
	}
}

/* Calls refused(word, code) for each of the words that bars separate; the empty word is one, too.
 */
static void each_word(const char *words, int code, void (*refused)(const char *word, int code))
{
	char word[80];

	for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, "|"), at);
		refused(word, code);
	}
}

static int (*parse_number)(const char *, uint64_t *);

static void number_refused(const char *word, int code)
{
	check_numbers(parse_number, (struct number_case[]){{word, code, 0}, {0}});
}

/* What is no number of this kind, and what is too large for one; and what is none of any. */
static void refuse(int (*parse)(const char *, uint64_t *), const char *invalid, const char *range)
{
	parse_number = parse;
	each_word(invalid, -EINVAL, number_refused);
	each_word(range, -ERANGE, number_refused);
	each_word("| |-1|+1| 1|1 |1\n|12abc|abc|0x10|1e3|1,000|1.|.5|1.5.5|1 k|1kk|k|nan|inf|--|"
		  "\xd9\xa1|1\xc2\xa0",
		  -EINVAL, number_refused);
	each_word("18446744073709551616|99999999999999999999999999", -ERANGE, number_refused);
}

static int parse_u64(const char *s, uint64_t *out)
{
	return num_u64(s, 0, UINT64_MAX, out);
}

static int parse_port(const char *s, uint64_t *out)
{
	return num_u64(s, 1, 65535, out);
}

CASE(test_u64)
{
	static const struct number_case good[] = {
		{"0", 0, 0},
		{"007", 0, 7},
		{"18446744073709551615", 0, UINT64_MAX},
		{0},
	};
	static const struct number_case port[] = {{"1", 0, 1}, {"65535", 0, 65535}, {0}};

	check_numbers(parse_u64, good);
	refuse(parse_u64, "1.5|1k|99999999999999999999x", "18446744073709551616");
	check_numbers(parse_port, port);
	refuse(parse_port, "1.5|1k", "0|65536");
}

CASE(test_count)
{
	static const struct number_case cases[] = {
		{"0", 0, 0},
		{"1000000", 0, 1000000},
		{"10k", 0, 10000},
		{"10K", 0, 10000},
		{"1.5M", 0, 1500000},
		{"2G", 0, 2000000000},
		{"0.001k", 0, 1},
		{"1.000", 0, 1},
		{"1.500k", 0, 1500},
		{"18446744073.709551615G", 0, UINT64_MAX},
		{0},
	};

	check_numbers(num_count, cases);
	refuse(num_count, "0.0001k|1.5|1.0005k|1m|1g|1T|1kB",
	       "18446744073.709551616G|18446744073709551615k");
}

CASE(test_size)
{
	static const struct number_case cases[] = {
		{"0", 0, 0},
		{"1500", 0, 1500},
		{"64k", 0, 65536},
		{"64K", 0, 65536},
		{"64KiB", 0, 65536},
		{"64kiB", 0, 65536},
		{"1.5k", 0, 1536},
		{"1m", 0, 1 << 20},
		{"1M", 0, 1 << 20},
		{"0.5MiB", 0, 1 << 19},
		{"1g", 0, 1 << 30},
		{"1GiB", 0, 1 << 30},
		{"17179869183g", 0, 17179869183ULL << 30},
		{0},
	};

	check_numbers(num_size, cases);
	refuse(num_size, "0.1k|64kB|64kb|64B|64kib|64iB", "17179869184g");
}

CASE(test_time)
{
	static const struct number_case cases[] = {
		{"0", 0, 0},
		{"5", 0, 5000000000},
		{"0.5", 0, 500000000},
		{"0.000000001", 0, 1},
		{"7ns", 0, 7},
		{"1.5us", 0, 1500},
		{"200ms", 0, 200000000},
		{"10s", 0, 10000000000},
		{"2m", 0, 120000000000},
		{"1.5h", 0, 5400000000000},
		{"1d", 0, 86400000000000},
		{"213503d", 0, 213503 * 86400000000000ULL},
		{0},
	};

	check_numbers(num_time, cases);
	refuse(num_time, "0.0000000001|1.5ns|5S|5sec|1h30m|5M", "213504d");
}

static void rate_refused(const char *word, int code)
{
	struct rate r = {.unit = RATE_PERCENT, .value = 7};

	if (num_rate(word, &r) != code)
		fail_msg("'%s' is not %d", word, code);
	assert_true(r.unit == RATE_PERCENT && r.value == 7);
}

CASE(test_rate)
{
	static const struct {
		const char *text;
		enum rate_unit unit;
		double value;
	} good[] = {
		{"max", RATE_MAX, 0},
		{"1", RATE_PPS, 1},
		{"0.5", RATE_PPS, 0.5},
		{"200k", RATE_PPS, 200e3},
		{"200kpps", RATE_PPS, 200e3},
		{"1.488M", RATE_PPS, 1488e3},
		{"1.5Gbit", RATE_L2_BPS, 1.5e9},
		{"1.5Gbit/l2", RATE_L2_BPS, 1.5e9},
		{"1.5Gbit/l1", RATE_L1_BPS, 1.5e9},
		{"800bit", RATE_L2_BPS, 800},
		{"1m", RATE_PPS, 1e6},
		{"1Tbit", RATE_L2_BPS, 1e12},
		{"50%", RATE_PERCENT, 50},
		{"0.1%", RATE_PERCENT, 0.1},
		{"100%", RATE_PERCENT, 100},
		{NULL, 0, 0},
	};
	struct rate r;

	for (unsigned i = 0; good[i].text; i++) {
		assert_int_equal(num_rate(good[i].text, &r), 0);
		assert_int_equal(r.unit, good[i].unit);
		assert_true(r.value == good[i].value);
	}
	each_word("|12abc|-1|+5k|k|MAX|maximum|max |1g|1Gb|1Gbps|1Gbit/|1Gbit/l3|1Gbit/s|1 "
		  "Gbit|1kk|50%%|50k%|%|1e6",
		  -EINVAL, rate_refused);
	each_word("0|0.0|0%|0bit|100.1%|1001Tbit|99999999999999999999", -ERANGE, rate_refused);
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

static void limit_refused(const char *word, int code)
{
	const struct limit before = {STAGE_XSK, LIMIT_SHARE, 7};
	struct limit l = before;

	assert_int_equal(num_limit(word, &l), code);
	assert_memory_equal(&l, &before, sizeof(l));
}

CASE(test_limit)
{
	static const struct {
		const char *text;
		struct limit limit;
	} good[] = {
		{"loss=0.1%", {STAGE_NONE, LIMIT_SHARE, 0.1 / 100}},
		{"loss=0", {STAGE_NONE, LIMIT_PACKETS, 0}},
		{"rcvbuf=12", {STAGE_RCVBUF, LIMIT_PACKETS, 12}},
		{"qdisc=10k", {STAGE_QDISC, LIMIT_PACKETS, 10000}},
		{"icmp=100/s", {STAGE_ICMP, LIMIT_PER_SECOND, 100}},
		{"tx_socket=1.5k/s", {STAGE_TX_SOCKET, LIMIT_PER_SECOND, 1500}},
		{"xdp=100%", {STAGE_XDP, LIMIT_SHARE, 1}},
		{0},
	};
	struct limit l;

	for (unsigned i = 0; good[i].text; i++) {
		if (num_limit(good[i].text, &l))
			fail_msg("'%s' is refused", good[i].text);
		assert_int_equal(l.stage, good[i].limit.stage);
		assert_int_equal(l.unit, good[i].limit.unit);
		assert_true(l.value == good[i].limit.value);
	}
	each_word("|=|loss|loss=|=12|los=1|losss=1|Loss=1|rcv=1|rcvbuff=1|rcvbuf =1|rcvbuf= "
		  "1|rcvbuf=-1|rcvbuf=1.5|rcvbuf=12abc|rcvbuf=%|rcvbuf=/s|rcvbuf=1/m|rcvbuf=1/"
		  "|rcvbuf=1%/s|rcvbuf=1/s%|rcvbuf=1=2",
		  -EINVAL, limit_refused);
	each_word("loss=101%|loss=99999999999999999999|rcvbuf=0.00000000000009%|rcvbuf=0."
		  "0000000000000009/s",
		  -ERANGE, limit_refused);
}

static void endpoint_refused(const char *word, int code)
{
	struct endpoint ep = {.family = 77};

	if (num_endpoint(word, &ep) != code)
		fail_msg("'%s' is taken", word);
	assert_int_equal(ep.family, 77);
}

CASE(test_endpoint)
{
	static const struct {
		const char *text, *addr;
		int family;
		uint16_t port;
	} good[] = {
		{"198.18.0.2", "198.18.0.2", AF_INET, 0},
		{"198.18.0.2:1", "198.18.0.2", AF_INET, 1},
		{"198.18.0.2:65535", "198.18.0.2", AF_INET, 65535},
		{"2001:2::2", "2001:2::2", AF_INET6, 0},
		{"2001:2::2:80", "2001:2::2:80", AF_INET6, 0},
		{"[2001:2::2]", "2001:2::2", AF_INET6, 0},
		{"[2001:2::2]:9", "2001:2::2", AF_INET6, 9},
		{"::", "::", AF_INET6, 0},
		{0},
	};
	struct endpoint ep;

	for (unsigned i = 0; good[i].text; i++) {
		char addr[INET6_ADDRSTRLEN];

		if (num_endpoint(good[i].text, &ep))
			fail_msg("'%s' is refused", good[i].text);
		assert_int_equal(ep.family, good[i].family);
		assert_int_equal(ep.port, good[i].port);
		inet_ntop(ep.family, ep.family == AF_INET ? (void *)&ep.ip4 : &ep.ip6, addr,
			  sizeof(addr));
		assert_string_equal(addr, good[i].addr);
	}
	each_word("|:|:80|host|host:80|198.18.0|198.18.0.256|198.18.0.2:|198.18.0.2:x|198.18.0.2:-"
		  "1|198.18.0.2: 80|198.18.0.2 "
		  "|198.18.0.2:80x|198.18.0.2/"
		  "24|[198.18.0.2]:80|[2001:2::2|2001:2::2]|[2001:2::2]80|[2001:2::2]:|[2001:2::2]:"
		  "x|[]|[]:80|[|2001:2:::2|2001:2::g|1111:2222:3333:4444:5555:6666:7777:8888:9999:"
		  "aaaa:bbbb:cccc:dddd:eeee",
		  -EINVAL, endpoint_refused);
	each_word("198.18.0.2:0|[::1]:65536", -ERANGE, endpoint_refused);
}

CASE(test_text_reads_back)
{
	static const uint64_t values[] = {
		0, 1, 999, 1000, 1024, 1536, 65536, 1000000, 1500000, 3600000000000, UINT64_MAX,
	};
	static const char *const rates[] = {"max",	"200k",	 "0.5", "1500Mbit",
					    "7Gbit/l1", "33.3%", NULL};
	static const char *const limits[] = {"loss=0.1%",   "rcvbuf=12k", "xdp=0.00001%",
					     "qdisc=1.5/s", "loss=0%",	  "udp_mem=0",
					     NULL};
	static const char *const endpoints[] = {"198.18.0.2", "198.18.0.2:9", "2001:2::2",
						"[2001:2::2]:9", NULL};
	struct endpoint ep;
	struct limit l;
	struct rate r;
	uint64_t v;

	for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++) {
		assert_int_equal(num_count(num_text_count(values[i]), &v), 0);
		assert_true(v == values[i]);
		assert_int_equal(num_size(num_text_size(values[i]), &v), 0);
		assert_true(v == values[i]);
		assert_int_equal(num_time(num_text_time(values[i]), &v), 0);
		assert_true(v == values[i]);
	}
	for (unsigned i = 0; rates[i]; i++) {
		assert_int_equal(num_rate(rates[i], &r), 0);
		assert_string_equal(num_text_rate(&r), rates[i]);
	}
	for (unsigned i = 0; limits[i]; i++) {
		assert_int_equal(num_limit(limits[i], &l), 0);
		assert_string_equal(num_text_limit(&l), limits[i]);
	}
	for (unsigned i = 0; endpoints[i]; i++) {
		assert_int_equal(num_endpoint(endpoints[i], &ep), 0);
		assert_string_equal(num_text_endpoint(&ep), endpoints[i]);
	}
	assert_string_equal(num_text_size(65536), "64k");
	assert_string_equal(num_text_time(200000000), "200ms");
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
