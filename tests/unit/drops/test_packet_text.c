// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Headers in one line, and where they end; whole, cut and wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cases.h"
#include "drops/packet_text.h"
#include "recorded.h"

struct described {
	uint8_t bytes[256];
	struct packet_view p;
	uint32_t headers;
	void (*judge)(const struct described *d, const char *text);
};

static void take_line(void *arg, const char *verb, char *text)
{
	struct described *d = arg;
	const char *layer;

	if (!strcmp(verb, "packet")) {
		layer = strsep(&text, " ");
		d->p = (struct packet_view){.bytes = d->bytes, .ethernet = !strcmp(layer, "ether")};
		d->p.protocol = d->p.ethernet ? 0 : (uint16_t)strtoul(layer, NULL, 16);
		d->p.wire_len = (uint32_t)strtoul(text, &text, 10);
		d->headers = (uint32_t)strtoul(text, &text, 10);
		for (text++; *text; text += 2)
			sscanf(text, "%2hhx", &d->bytes[d->p.len++]);
	} else if (!strcmp(verb, "text")) {
		d->judge(d, text);
	}
}

static void each_packet(void (*judge)(const struct described *d, const char *text))
{
	struct described d = {.judge = judge};

	recorded_each("tests/fixtures/headers/texts", take_line, &d);
}

static void is_described(const struct described *d, const char *wanted)
{
	char text[PACKET_TEXT];

	assert_string_equal(packet_text(&d->p, text, sizeof(text)), wanted);
	assert_int_equal(packet_headers(&d->p), d->headers);
}

CASE(test_known)
{
	each_packet(is_described);
}

/* Each one cut at each byte, in memory that ends there: valgrind and sanitizers would tell. */
static void cut_everywhere(const struct described *d, const char *wanted)
{
	(void)wanted;
	for (uint32_t cut = 0; cut <= d->p.len; cut++) {
		uint8_t *copy = malloc(cut ? cut : 1);
		struct packet_view p = d->p;
		char text[PACKET_TEXT];

		memcpy(copy, d->bytes, cut);
		p.bytes = copy;
		p.len = cut;
		assert_true(strlen(packet_text(&p, text, sizeof(text))) > 0);
		assert_true(packet_headers(&p) <= cut);
		for (size_t size = 1; cut == d->p.len && size < sizeof(text); size++) {
			char part[PACKET_TEXT];

			packet_text(&p, part, size);
			assert_true(strlen(part) < size);
			assert_memory_equal(part, text, strlen(part));
		}
		free(copy);
	}
}

CASE(test_cut_everywhere)
{
	each_packet(cut_everywhere);
}

CASE(test_any_bytes)
{
	unsigned seed = 1;

	for (int round = 0; round < 200000; round++) {
		uint32_t len = (uint32_t)rand_r(&seed) % 100;
		uint8_t *bytes = malloc(len + 1);
		const struct packet_view p = {bytes, len, len, rand_r(&seed) % 2,
					      rand_r(&seed) % 2 ? 0x0800 : 0x86dd};
		char text[PACKET_TEXT];

		for (uint32_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)rand_r(&seed);
		if (len && rand_r(&seed) % 4) /* usually truncated after the version */
			bytes[0] = p.protocol == 0x0800 ? 0x45 : 0x60;
		assert_true(packet_headers(&p) <= len);
		assert_true(strlen(packet_text(&p, text, sizeof(text))) < sizeof(text));
		free(bytes);
	}
}

CASE(test_names_are_told_once)
{
	assert_string_equal(protocol_find(17)->name, "udp");
	assert_string_equal(protocol_find(50)->title, "ESP");
	assert_null(protocol_find(253));
	assert_string_equal(icmp_kind_find(58, 128)->title, "echo request");
	assert_true(icmp_kind_find(1, 8)->numbered);
	assert_null(icmp_kind_find(1, 128));
	assert_null(icmp_kind_find(17, 8));
	for (int i = 0; i < 256; i++) {
		const struct protocol *p = protocol_find((uint8_t)i);

		if (p)
			assert_int_equal(strcasecmp(p->name, p->title), 0);
	}
}
