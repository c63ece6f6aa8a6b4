// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "base/json.h"
#include "report/capfile.h"
#include "stamp.h"

#define S     1000000000ULL
#define START (1714564800 * S)
#define HEAD  (14 + 20 + 8)

static char dir[] = "/tmp/pktledger-test-XXXXXX";
static char path[2][64];

/* A frame of UDP: from a port, with an ID of IP and a payload. Returns its length. */
static uint32_t frame(uint8_t *f, uint8_t host, uint16_t port, uint16_t id, const void *payload,
		      uint16_t len)
{
	const uint16_t ip_len = htons(28 + len), udp_len = htons(8 + len),
		       ports[] = {htons(port), htons(9)};

	id = htons(id);
	memset(f, 0, HEAD);
	f[12] = 8;
	f[14] = 0x45;
	memcpy(f + 16, &ip_len, 2);
	memcpy(f + 18, &id, 2);
	f[22] = 64;
	f[23] = IPPROTO_UDP;
	memcpy(f + 26, (const uint8_t[]){198, 18, 0, host}, 4);
	memcpy(f + 30, (const uint8_t[]){198, 18, 0, 99}, 4);
	memcpy(f + 34, ports, 4);
	memcpy(f + 38, &udp_len, 2);
	memcpy(f + HEAD, payload, len);
	return HEAD + len;
}

static uint32_t stamped(uint8_t *f, uint8_t host, unsigned number)
{
	struct stamp stamp = {.magic = htons(STAMP_MAGIC), .word = htobe64(STAMP_WORD(7, number))};

	stamp.check = ~stamp.word;
	return frame(f, host, 5000, 0, &stamp, sizeof(stamp));
}

static FILE *create(int end)
{
	const uint32_t head[] = {0xa1b23c4d, 2 | 4 << 16, 0, 0, 65535, 1}; /* ns */
	FILE *f;

	unlink(path[end]);
	f = fopen(path[end], "w");
	fwrite(head, sizeof(head), 1, f);
	return f;
}

static void put(FILE *f, uint64_t ns, const uint8_t *bytes, uint32_t len, uint32_t wire_len)
{
	const uint32_t head[] = {(uint32_t)((START + ns) / S), (uint32_t)((START + ns) % S), len,
				 wire_len};

	fwrite(head, sizeof(head), 1, f);
	fwrite(bytes, len, 1, f);
}

static struct json_object *compare(const char *expr)
{
	const struct ends_spec spec = {
		.a = path[0], .b = path[1], .expr = expr, .until_ns = UINT64_MAX, .choose = true};
	struct json_object *o;
	struct error err = {};

	if (ends_compare(&spec, &o, &err))
		fail_msg("%s", err.message);
	return o;
}

static void assert_balance(const struct json_object *o, uint64_t compared, uint64_t matched,
			   uint64_t lost, uint64_t outside, uint64_t doubt)
{
	const struct json_object *unknown = json_get(o, "unknown");

	assert_int_equal(json_get_u64(json_get(o, "a"), "compared"), compared);
	assert_int_equal(json_get_u64(o, "matched"), matched);
	assert_int_equal(json_get_u64(o, "lost"), lost);
	assert_int_equal(json_get_u64(unknown, "outside"), outside);
	assert_int_equal(json_get_u64(unknown, "dropped_or_cut"), doubt);
	assert_int_equal(matched + lost + outside + doubt, compared);
}

/*
 * 100 numbered packets, a second apart, of which B has 10 to 89, some of them lost, late, twice,
 * and from another address.
 */
CASE(by_number)
{
	FILE *a = create(0), *b = create(1);
	uint8_t f[256];
	struct json_object *o;
	uint32_t len;

	for (unsigned i = 0; i < 100; i++) {
		len = stamped(f, 1, i);
		put(a, i * S, f, len, len);
		if (i < 10 || i >= 90 || i == 20 || i == 30 || i == 31 || i == 40)
			continue;
		len = stamped(f, 2, i); /* behind a NAT */
		put(b, i * S + 5000, f, len, len);
		if (i == 50)
			put(b, i * S + 6000, f, len, len);
		if (i == 45) {
			len = stamped(f, 2, 40);
			put(b, i * S + 7000, f, len, len);
		}
	}
	len = stamped(f, 2, 1000);
	put(b, 90 * S - 1000, f, len, len);
	fclose(a);
	fclose(b);
	o = compare(NULL);
	assert_string_equal(json_get_text(o, "method"), "header");
	assert_balance(o, 100, 77, 3, 20, 0);
	assert_int_equal(json_get_u64(o, "duplicated"), 1);
	assert_int_equal(json_get_u64(o, "reordered"), 1);
	assert_int_equal(json_get_u64(o, "only_b"), 1);
	assert_int_equal(json_get_u64(o, "bursts"), 2);
	assert_int_equal(json_get_u64(o, "longest_burst"), 2);
	assert_int_equal(json_get_i64(json_get(o, "latency_ns"), "min"), 5000);
	assert_int_equal(json_get_i64(json_get(o, "latency_ns"), "p99"), 5000);
	assert_int_equal(json_get_i64(json_get(o, "latency_ns"), "max"), 5 * S + 7000);
	assert_string_equal(json_get_text(json_get_item(o, "flows", 0), "flow"),
			    "udp 198.18.0.1:5000 > 198.18.0.99:9");
	assert_int_equal(json_get_u64(json_get_item(o, "flows", 0), "missing"), 3);
	json_object_put(o);
}

/* Plain traffic of three flows; the clock of B is an hour behind. What looks the same is shown. */
CASE(by_bytes)
{
	FILE *a = create(0), *b = create(1);
	struct json_object *o;
	uint8_t f[256];

	for (unsigned i = 0; i < 300; i++) {
		unsigned flow = i % 3;
		uint32_t payload = i, len;

		/* the third has neither ID nor number */
		len = frame(f, 1, 5000 + flow, flow == 2 ? 0 : i,
			    flow == 1 ? (void *)&payload : "same", 4);
		put(a, 4000 * S + i * 1000000, f, len, len);
		if (i != 150 && i != 151 && i != 152)
			put(b, 400 * S + i * 1000000, f, len, len);
	}
	fclose(a);
	fclose(b);
	o = compare("udp");
	assert_string_equal(json_get_text(o, "method"), "bytes");
	/* of those that look the same the last is missing, and by then B had ended */
	assert_int_equal(json_get_u64(o, "matched"), 297);
	assert_int_equal(json_get_u64(o, "ambiguous"), 100);
	assert_int_equal(json_get_u64(o, "lost") + json_get_u64(json_get(o, "unknown"), "outside"),
			 3);
	assert_true(json_get_u64(o, "lost") >= 2);
	assert_int_equal(json_get_i64(json_get(o, "latency_ns"), "p50"), -3600 * (int64_t)S);
	json_object_put(o);
	o = compare("src port 5001");
	assert_balance(o, 100, 99, 1, 0, 0);
	json_object_put(o);
}

/* A packet of B that was cut may be any that is missing. */
CASE(cut_is_not_lost)
{
	FILE *a = create(0), *b = create(1);
	struct json_object *o;
	uint8_t f[256];

	for (unsigned i = 0; i < 100; i++) {
		uint32_t len = stamped(f, 1, i);

		put(a, i * S, f, i == 5 ? HEAD + 4 : len, len);
		if (i == 10 || i == 11)
			put(b, i * S, f, HEAD + 17, len);
		else if (i != 12)
			put(b, i * S, f, len, len);
	}
	fclose(a);
	fclose(b);
	o = compare("");
	assert_int_equal(json_get_u64(json_get(o, "a"), "cut"), 1);
	assert_int_equal(json_get_u64(json_get(o, "b"), "cut"), 2);
	assert_balance(o, 99, 96, 1, 0, 2);
	assert_int_equal(json_get_u64(o, "only_b"), 1);
	json_object_put(o);
}

/* RTP whose numbers wrap, with RTCP between; nothing is lost. */
CASE(by_rtp)
{
	const struct ends_spec spec = {
		.a = path[0], .b = path[1], .until_ns = UINT64_MAX, .method = PACKETID_RTP};
	FILE *a = create(0), *b = create(1);
	struct json_object *o;
	struct error err = {};
	uint8_t f[256];

	for (unsigned i = 0; i < 70000; i++) {
		const uint32_t number = htonl(0x80000000 | (i % 100 == 99 ? 200u : 8u) << 16 |
					      ((65000 + i) & 0xffff));
		const uint32_t rtp[] = {number, htonl(i * 160), htonl(77)};
		uint32_t len = frame(f, 1, 5000, i, rtp, sizeof(rtp));

		put(a, i * 20000000ULL, f, len, len);
		if (i != 69000)
			put(b, i * 20000000ULL, f, len, len);
	}
	fclose(a);
	fclose(b);
	assert_int_equal(ends_compare(&spec, &o, &err), 0);
	assert_balance(o, 69300, 69299, 1, 0, 0);
	assert_int_equal(json_get_u64(o, "ambiguous"), 0);
	json_object_put(o);
}

static void put_block(FILE *f, uint32_t type, const void *body, uint32_t len)
{
	static const uint32_t zero;
	const uint32_t pad = -len & 3, total = len + pad + 12;

	fwrite(&type, 4, 1, f);
	fwrite(&total, 4, 1, f);
	fwrite(body, len, 1, f);
	fwrite(&zero, 1, pad, f);
	fwrite(&total, 4, 1, f);
}

/* pcapng that says it dropped three: then of five that are missing only two are surely lost. */
CASE(drops_of_the_capture)
{
	const uint32_t section[] = {0x1a2b3c4d, 1, 0xffffffff, 0xffffffff};
	const uint32_t interface[] = {1, 65535};
	const uint32_t statistics[] = {0, 0, 0, 5 | 8 << 16, 3, 0, 0};
	FILE *a = create(0), *b = fopen(path[1], "w");
	uint32_t packet[64] = {};
	struct json_object *o;

	put_block(b, 0x0a0d0d0a, section, sizeof(section));
	put_block(b, 1, interface, sizeof(interface));
	for (unsigned i = 0; i < 20; i++) {
		const uint64_t us = (START + i * S) / 1000;
		uint8_t *f = (uint8_t *)&packet[5];
		uint32_t len = stamped(f, 1, i);

		put(a, i * S, f, len, len);
		packet[1] = (uint32_t)(us >> 32);
		packet[2] = (uint32_t)us;
		packet[3] = packet[4] = len;
		if (i % 4 != 2)
			put_block(b, 6, packet, 20 + len);
	}
	put_block(b, 5, statistics, sizeof(statistics));
	fclose(a);
	fclose(b);
	o = compare(NULL);
	assert_int_equal(json_get_u64(json_get(o, "b"), "dropped_by_capture"), 3);
	assert_balance(o, 20, 15, 2, 0, 3);
	json_object_put(o);
}

/* Whatever is in a file: an error or a result, and no byte beyond it is read. */
CASE(spoilt_files)
{
	const struct ends_spec spec = {
		.a = path[0], .b = path[1], .until_ns = UINT64_MAX, .choose = true};
	static uint8_t whole[65536];
	unsigned refused = 0, seed = 1;
	size_t size;
	FILE *f;

	drops_of_the_capture(state);
	f = fopen(path[1], "r");
	size = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	for (unsigned i = 0; i < 1000; i++) {
		struct json_object *o;
		struct error err = {};
		uint8_t was[4];
		size_t at[4];

		for (unsigned k = 0; k < 4; k++) {
			at[k] = (seed = seed * 1103515245 + 12345) / 65536 % size;
			was[k] = whole[at[k]];
			whole[at[k]] = (uint8_t)(seed >> 8);
		}
		unlink(path[1]); /* some file systems sync what is truncated */
		f = fopen(path[1], "w");
		fwrite(whole, 1, i % 2 ? size : seed / 65536 % size, f);
		fclose(f);
		for (unsigned k = 4; k--;)
			whole[at[k]] = was[k];
		refused += ends_compare(&spec, &o, &err) != 0;
		if (!o)
			assert_true(*err.message);
		json_object_put(o);
	}
	assert_in_range(refused, 1, 999);
}

static int take_empty(void *arg, const struct capfile_packet *p)
{
	*(bool *)arg = true;
	assert_int_equal(p->len, 0);
	assert_non_null(p->bytes);
	return 0;
}

CASE(an_empty_packet)
{
	struct capfile_state counts;
	struct error err = {};
	bool shown = false;
	FILE *f = create(0);

	put(f, 0, (const uint8_t *)"", 0, 0);
	fclose(f);
	assert_int_equal(capfile_read(path[0], take_empty, &shown, &counts, &err), 0);
	assert_true(shown && counts.packets == 1 && !counts.cut);
}

static int make_dir(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%c", dir, 'a' + i);
	return 0;
}

static int remove_dir(void **state)
{
	unlink(path[0]);
	unlink(path[1]);
	return rmdir(dir);
}

int main(void)
{
	return run_cases(make_dir, remove_dir);
}
