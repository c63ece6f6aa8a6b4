/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A mutator for harnesses with one JSON value per line as input: ledgers, messages between two
 * hosts, nft output. Changes lines, members and values, and corrects checksums. Include it once, in
 * harnesses without their own mutator.
 */
#ifndef PKTLEDGER_TESTS_FUZZ_LINES_H
#define PKTLEDGER_TESTS_FUZZ_LINES_H

#include <inttypes.h>
#include <stdbool.h>
#include <zlib.h>

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

enum fuzz_kind { FUZZ_LINE, FUZZ_MEMBER, FUZZ_VALUE };

struct fuzz_part {
	const uint8_t *at;
	size_t len;
};

struct fuzz_out {
	uint8_t *at;
	size_t len, max;
};

static uint64_t fuzz_state;

static size_t fuzz_random(size_t below)
{
	fuzz_state = fuzz_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return below ? (fuzz_state >> 20) % below : 0;
}

static void fuzz_add(struct fuzz_out *o, const void *from, size_t len)
{
	len = len < o->max - o->len ? len : o->max - o->len;
	memcpy(o->at + o->len, from, len);
	o->len += len;
}

/* Of a value that begins at `p`, up to the end of its line. */
static size_t fuzz_length(const uint8_t *p, size_t size)
{
	bool quoted = false;
	unsigned depth = 0;

	for (size_t i = 0; i < size && p[i] != '\n'; i++) {
		if (p[i] == '"')
			quoted = !quoted;
		else if (quoted)
			i += p[i] == '\\';
		else if (p[i] == '[' || p[i] == '{')
			depth++;
		else if (!depth && strchr(",:]}", p[i]))
			return i;
		else if (p[i] == ']' || p[i] == '}')
			depth--;
	}
	return strnlen((const char *)p, size);
}

/* A random part of the text. Length 0: none. */
static struct fuzz_part fuzz_pick(enum fuzz_kind kind, const uint8_t *data, size_t size)
{
	const size_t from = fuzz_random(size);

	for (size_t k = 0; k < size; k++) {
		const size_t i = (from + k) % size;
		const uint8_t *end;
		size_t len = size - i;
		bool member;

		if (kind == FUZZ_LINE && (!i || data[i - 1] == '\n')) {
			end = memchr(data + i, '\n', len);
			return (struct fuzz_part){data + i,
						  end ? (size_t)(end - data) - i + 1 : len};
		}
		if (kind == FUZZ_LINE || !i || !strchr("[{,:", data[i - 1]))
			continue;
		len = fuzz_length(data + i, len);
		member = len && i + len < size && data[i + len] == ':';
		if (len && member == (kind == FUZZ_MEMBER)) {
			if (member)
				len += 1 + fuzz_length(data + i + len + 1, size - i - len - 1);
			return (struct fuzz_part){data + i, len};
		}
	}
	return (struct fuzz_part){data, 0};
}

/* A value at the edge of its type. */
static void fuzz_edge(struct fuzz_out *o)
{
	static const char *const edges[] = {"0",
					    "-1",
					    "255",
					    "65535",
					    "65536",
					    "2147483648",
					    "4294967295",
					    "281474976710656",
					    "9223372036854775807",
					    "-9223372036854775808",
					    "18446744073709551615",
					    "1e308",
					    "-0.0",
					    "1e-320",
					    "NaN",
					    "null",
					    "true",
					    "[]",
					    "{}",
					    "[null]",
					    "[{}]",
					    "\"\"",
					    "\"\\u001b[2J\\u009b\\n\"",
					    "\"=1\\\",'<script>\"",
					    "\"fe80::1%e 192.0.2.1:9.\"",
					    "\"\\ud800\\u0000\"",
					    "\"dropped\"",
					    "\"rcvbuf\"",
					    "\"9999-12-31T23:59:59Z\""};
	const char *edge = edges[fuzz_random(sizeof(edges) / sizeof(edges[0]))];

	fuzz_add(o, edge, strlen(edge));
}

/* A number near it, or a bit away; else other bytes, or one of them very often. */
static void fuzz_alike(struct fuzz_out *o, const struct fuzz_part *p)
{
	char *text = fuzz_text(p->at, p->len), *end, number[24];
	uint64_t v = strtoull(text, &end, 10);
	const size_t at = o->len;

	v = fuzz_random(2) ? v + fuzz_random(9) - 4 : v ^ 1ULL << fuzz_random(64);
	if (end != text && fuzz_random(4)) {
		fuzz_add(o, number, (size_t)snprintf(number, sizeof(number), "%" PRIu64, v));
	} else if (fuzz_random(4) || p->len < 3) {
		fuzz_add(o, p->at, p->len);
		o->len = at + LLVMFuzzerMutate(o->at + at, o->len - at, o->max - at);
	} else {
		fuzz_add(o, p->at, 1);
		for (size_t n = fuzz_random(4096); n--;)
			fuzz_add(o, text + 1, 1);
		fuzz_add(o, p->at + 1, p->len - 1);
	}
	free(text);
}

/* Removes the value, replaces it by another or a similar value, or repeats it. */
static void fuzz_change(struct fuzz_out *o, const uint8_t *data, size_t size)
{
	const enum fuzz_kind kind = !fuzz_random(4) ? FUZZ_LINE : 1 + fuzz_random(2);
	const struct fuzz_part a = fuzz_pick(kind, data, size), b = fuzz_pick(kind, data, size);
	const uint8_t *rest = a.at + a.len;
	size_t times = fuzz_random(32) ? 1 : fuzz_random(1000);
	const unsigned how = (unsigned)fuzz_random(kind == FUZZ_VALUE ? 8 : 4);
	const bool in_list = kind != FUZZ_VALUE || (a.at > data && a.at[-1] != ':');

	fuzz_add(o, data, (size_t)(a.at - data));
	if (how == 0 && in_list) {
		rest += kind != FUZZ_LINE && rest < data + size && *rest == ',';
	} else if (how == 1 && in_list) {
		for (; times; times--) {
			fuzz_add(o, b.at, b.len);
			fuzz_add(o, ",", kind != FUZZ_LINE);
		}
		fuzz_add(o, a.at, a.len);
	} else if (how < 4) {
		fuzz_add(o, b.at, b.len);
	} else if (how < 6) {
		fuzz_edge(o);
	} else {
		fuzz_alike(o, &a);
	}
	fuzz_add(o, rest, (size_t)(data + size - rest));
}

static void fuzz_checksums(uint8_t *data, size_t size)
{
	for (size_t n; size; data += n, size -= n) {
		const uint8_t *end = memchr(data, '\n', size);
		const size_t len = end ? (size_t)(end - data) : size;
		char sum[9];

		n = len + (end != NULL);
		if (len < 10 || data[8] != ' ' || data[9] != '{' || !fuzz_random(64))
			continue;
		snprintf(sum, sizeof(sum), "%08lx", crc32_z(0, data + 9, len - 9));
		memcpy(data, sum, 8);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct fuzz_out out = {.at = malloc(max + 1), .max = max};

	MUST(out.at);
	fuzz_state = seed;
	fuzz_random(0);
	if (fuzz_random(6)) {
		fuzz_change(&out, data, size);
		memcpy(data, out.at, out.len);
	} else {
		out.len = LLVMFuzzerMutate(data, size, max);
	}
	free(out.at);
	fuzz_checksums(data, out.len);
	return out.len;
}

#endif
