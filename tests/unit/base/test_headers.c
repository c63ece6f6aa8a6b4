// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The parser of packet headers (include/headers.h): the packets of tests/fixtures/headers/packets,
 * cut short everywhere, and random bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"
#include "headers.h"
#include "recorded.h"

#define PACKET_MAX 512

static uint8_t *page, *page_end; /* bytes after page_end must not be read */

static int map_page(void **state)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	page = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -1;
	page_end = page + size;
	return mprotect(page_end, size, PROT_NONE);
}

/* Parses `n` bytes that lie at the end of memory; each step has at most HEADERS_STEP of them. */
static struct headers parse_from(struct headers h, const void *bytes, unsigned n)
{
	uint8_t *at = page_end - n;
	unsigned steps = 0;

	memcpy(at, bytes, n);
	while (h.at <= n && headers_step(&h, at + h.at, n - h.at))
		assert_true(++steps <= HEADERS_STEPS);
	if (h.at > n && h.next < HEADER_PAYLOAD)
		h.next = HEADER_CUT;
	return h;
}

static struct headers parse(enum header first, const void *bytes, unsigned n)
{
	return parse_from((struct headers){.next = first}, bytes, n);
}

struct packet {
	uint8_t at[PACKET_MAX];
	unsigned n;
};

/* All of it, and that every part of it ends with HEADER_CUT or says less, never more. */
static struct headers parse_all(enum header first, const struct packet *p)
{
	struct headers whole = parse(first, p->at, p->n);

	for (unsigned n = 0; n < p->n; n++) {
		struct headers part = parse(first, p->at, n);

		assert_true(part.at <= whole.at);
		if (n < whole.at && whole.next == HEADER_PAYLOAD && part.next != HEADER_CUT)
			assert_true(part.next == HEADER_PAYLOAD && part.at == whole.at);
	}
	return whole;
}

static const struct tunnel_port ports[TUNNEL_PORTS] = {{4789, HEADER_VXLAN, 0},
						       {6081, HEADER_GENEVE, 0}};

/* The innermost packet. */
static struct headers innermost(const struct packet *p, unsigned n)
{
	struct headers h = parse(HEADER_IP, p->at, n);
	enum header tunnel;

	while ((tunnel = headers_tunnel(&h, ports)) != HEADER_PAYLOAD) {
		headers_enter(&h, tunnel);
		h = parse_from(h, p->at, n);
	}
	return h;
}

/* All of it; and no part of it is taken for another packet than it is. */
static struct headers innermost_all(const struct packet *p)
{
	struct headers whole = innermost(p, p->n);

	for (unsigned n = 0; n < p->n; n++) {
		struct headers part = innermost(p, n);

		assert_true(part.depth <= whole.depth && part.at <= whole.at);
		if (part.depth == whole.depth && part.version) {
			assert_int_equal(part.l3, whole.l3);
			assert_int_equal(part.tunnel, whole.tunnel);
			assert_int_equal(part.tunnel_id, whole.tunnel_id);
		} else if (part.depth) {
			assert_int_equal(part.next == HEADER_CUT || part.version != 0, true);
		}
	}
	return whole;
}

static const char *const header_names[] = {"ethernet", "vlan",	   "ip",	"protocol", "vxlan",
					   "geneve",   "gre",	   "payload",	"fragment", "tunnel",
					   "unknown",  "cut",	   "bad"};

#define H(member) FIELD(struct headers, member)
static const struct recorded_field header_fields[] = {
	FIELD_ENUM(struct headers, next, header_names),
	H(at),	      H(l3),	  H(l4),	H(bytes),     H(id),	  H(type),  H(fragment),
	H(src_port),  H(dst_port), H(length),	H(version),   H(proto),	  H(passed), H(fragmented),
	H(more),      H(icmp_type), H(icmp_code), H(depth),
	FIELD_ENUM(struct headers, tunnel, header_names), H(tunnel_id), {0}};

struct run {
	struct packet packet;
	struct headers h;
	char name[64]; /* of the case */
};

/* Takes the bytes that are written in the last word, in base 16. */
static void take_bytes(struct packet *p, const char *text)
{
	unsigned byte;

	for (p->n = 0; sscanf(text + 2 * p->n, "%2x", &byte) == 1; p->n++)
		p->at[p->n] = (uint8_t)byte;
}

static enum header named(const char *name)
{
	unsigned i = 0;

	while (strcmp(header_names[i], name))
		assert_true(++i < LENGTH(header_names));
	return (enum header)i;
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct run *r = arg;
	const char *last = strrchr(text, ' ') ? strrchr(text, ' ') + 1 : text;
	const bool typed = !strcmp(verb, "all") || !strcmp(verb, "parse");

	if (!strcmp(verb, "case")) {
		snprintf(r->name, sizeof(r->name), "%s", text);
	} else if (!strcmp(verb, "is")) {
		if (strcmp(recorded_text(header_fields, &r->h), text))
			fail_msg("%s\n   %s\nis %s", r->name, text,
				 recorded_text(header_fields, &r->h));
	} else if (!strcmp(verb, "enter")) {
		headers_enter(&r->h, named(text));
		r->h = parse_from(r->h, r->packet.at, r->packet.n);
	} else {
		take_bytes(&r->packet, last);
		text[strcspn(text, " ")] = '\0';
		r->h = !strcmp(verb, "all")	    ? parse_all(named(text), &r->packet)
		       : typed			    ? parse(named(text), r->packet.at, r->packet.n)
		       : !strcmp(verb, "innermost") ? innermost_all(&r->packet)
						    : innermost(&r->packet, r->packet.n);
	}
}

CASE(recorded)
{
	struct run r = {};

	recorded_each("tests/fixtures/headers/packets", take_line, &r);
}

CASE(tags_of_frames)
{
	for (unsigned n = 0; n <= HEADERS_TAGS + 1; n++) {
		uint8_t frame[64] = {};
		__u16 type;

		for (unsigned i = 0; i <= n; i++) {
			const unsigned is = i == n ? TYPE_IP6 : i || n < 2 ? TYPE_VLAN : TYPE_QINQ;

			frame[12 + 4 * i] = (uint8_t)(is >> 8);
			frame[13 + 4 * i] = (uint8_t)is;
		}
		assert_int_equal(headers_frame(frame, &type),
				 14 + 4 * (n < HEADERS_TAGS ? n : HEADERS_TAGS));
		assert_int_equal(type, n <= HEADERS_TAGS ? TYPE_IP6 : TYPE_VLAN);
	}
}

CASE(addresses)
{
	const uint8_t ip4[20] = {[12] = 10, [15] = 1, [16] = 10, [19] = 2};
	uint8_t src[16] = {}, dst[16] = {}, ip6[40];

	headers_addresses(4, ip4, src, dst);
	assert_memory_equal(src, ((uint8_t[16]){10, 0, 0, 1}), 16);
	assert_memory_equal(dst, ((uint8_t[16]){10, 0, 0, 2}), 16);
	for (unsigned i = 0; i < sizeof(ip6); i++)
		ip6[i] = (uint8_t)i;
	headers_addresses(6, ip6, src, dst);
	assert_memory_equal(src, ip6 + 8, 16);
	assert_memory_equal(dst, ip6 + 24, 16);
}

/*
 * For any input, the parser ends and reads no byte after the end. A guard page detects such reads.
 */
CASE(random_bytes)
{
	static const uint8_t protos[] = {0, 1, 4, 6, 17, 33, 41, 43, 44, 47, 51, 58, 60, 132, 136};
	uint8_t bytes[PACKET_MAX];

	srandom(1);
	for (unsigned round = 0; round < 300000; round++) {
		unsigned n = (unsigned)random() % 160;
		enum header first = (enum header)((unsigned)random() % (HEADER_BAD + 1));
		struct headers h;

		for (unsigned i = 0; i < n; i++) {
			unsigned r = (unsigned)random();

			bytes[i] = (uint8_t)(r >> 8);
			if (r & 1) /* many are known */
				bytes[i] = protos[(r >> 8) % sizeof(protos)];
		}
		if (n && round & 1)
			bytes[0] = (uint8_t)(round & 2 ? 0x45 : 0x60);
		h = parse_from((struct headers){.next = (uint8_t)first,
						.version = round & 4 ? 6 : 4,
						.proto = protos[round % sizeof(protos)]},
			       bytes, n);
		assert_true(h.next >= HEADER_PAYLOAD);
		if (h.next == HEADER_PAYLOAD && first < HEADER_PAYLOAD)
			assert_true(h.l4 + 8 <= n);
	}
}

int main(void)
{
	return run_cases(map_page, NULL);
}
