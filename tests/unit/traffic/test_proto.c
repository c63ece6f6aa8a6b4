// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"
#include <string.h>
#include <arpa/inet.h>

#include "recorded.h"
#include "traffic/frames.h"
#include "unit/residue.h"

#define ROOM 2048
#define PORT 28779

static const unsigned sizes[] = {18, 19, 20, 33, 34, 35, 512, 513, 1451, 1452, 1471, 1472};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct flow make_flow(int family, unsigned payload)
{
	struct flow flow = {
		.family = family,
		.src_mac = {2, 0, 0, 0, 0, 1},
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.src_port = 65534,
		.dst_port = PORT,
		.flows = 3,
		.payload = payload,
		.time = payload >= STAMP_TIME_LEN,
	};

	inet_pton(AF_INET, "198.18.0.1", &flow.src4);
	inet_pton(AF_INET, "198.19.255.254", &flow.dst4);
	inet_pton(AF_INET6, "2001:2::1", &flow.src6);
	inet_pton(AF_INET6, "2001:2:0:ffff::2", &flow.dst6);
	return flow;
}

/* Some payloads produce the sum 0xffff, and its complement 0 would mean "no checksum". */
CASE(test_checksum_is_never_zero)
{
	struct flow flow = make_flow(AF_INET, 64);
	uint8_t frame[ROOM];
	unsigned all_ones = 0;

	for (unsigned host = 0; host < 65536; host++) {
		flow.src4.s_addr = htonl(0xc6120000 + host);
		assert_true(proto_build(frame, ROOM, &flow, 0) > 0);
		assert_checksums(frame + 14, AF_INET);
		all_ones += frame[40] == 0xff && frame[41] == 0xff;
	}
	assert_true(all_ones >= 1);
}

/* A frame cut anywhere is either refused, or only its padding was cut. */
CASE(test_parse_what_was_built)
{
	uint8_t frame[ROOM];
	unsigned length;

	for (unsigned i = 0; i < 2 * SIZES; i++) {
		int family = i & 1 ? AF_INET6 : AF_INET, other = i & 1 ? AF_INET : AF_INET6;
		struct flow flow = make_flow(family, sizes[i / 2]);
		unsigned whole = proto_payload_offset(family) + flow.payload;
		const uint8_t *payload = frame + proto_payload_offset(family);
		const int built = proto_build(frame, ROOM, &flow, 0);
		const int asked[] = {family, AF_UNSPEC};

		assert_true(built >= (int)whole);
		assert_checksums(frame + 14, family);
		for (unsigned cut = 0; cut < whole; cut++)
			assert_null(proto_udp_payload(frame, cut, family, PORT, &length));
		for (unsigned k = 0; k < 2; k++) {
			length = 0;
			assert_ptr_equal(
				proto_udp_payload(frame, (unsigned)built, asked[k], PORT, &length),
				payload);
			assert_int_equal(length, flow.payload);
		}
		assert_non_null(proto_udp_payload(frame, whole, family, PORT, &length));
		assert_null(proto_udp_payload(frame, whole, other, PORT, &length));
		assert_null(proto_udp_payload(frame, whole, family, PORT + 1, &length));
	}
}

struct request {
	uint16_t payload;
	uint8_t ttl;
	bool time;
	unsigned flow, room; /* of the source ports; bytes for the frame, 0: enough */
};

#define ASK(member) FIELD(struct request, member)
static const struct recorded_field requests[] = {ASK(payload), ASK(ttl),  ASK(time),
						 ASK(flow),    ASK(room), {0}};

static struct {
	uint8_t at[ROOM];
	unsigned n;
} made;

static unsigned hex(const char *text, uint8_t *bytes)
{
	unsigned n = 0, byte;

	for (; sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
		bytes[n] = (uint8_t)byte;
	return n;
}

/* Its length, that of the frame on the wire, and the headers. */
static void tell_built(int family, char *text)
{
	struct request r = {};
	struct flow flow;
	char shown[2 * 64];
	int n;

	recorded_read(requests, text, &r);
	flow = make_flow(family, r.payload);
	flow.ttl = r.ttl;
	flow.time = r.time;
	n = proto_build(made.at, r.room ? r.room : ROOM, &flow, r.flow);
	made.n = n < 0 ? 0 : (unsigned)n;
	if (n < 0) {
		tell("%s", strerror(-n));
		return;
	}
	for (unsigned i = 0; i < proto_payload_offset(family); i++)
		sprintf(shown + 2 * i, "%02x", made.at[i]);
	tell("%u of %u %s", made.n, flow_frame_bytes(&flow), shown);
}

static void tell_parsed(unsigned n)
{
	unsigned length = 0;
	const uint8_t *payload = proto_udp_payload(made.at, n, AF_UNSPEC, PORT, &length);

	if (payload)
		tell("%u bytes at %d", length, (int)(payload - made.at));
	else
		tell("none");
}

static void take_line(void *arg, const char *verb, char *text)
{
	const unsigned at = (unsigned)atoi(text);
	const char *bytes = strchr(text, ' ');
	uint8_t value[64], was;
	unsigned n;

	if (!strcmp(verb, "ip4") || !strcmp(verb, "ip6")) {
		tell_built(verb[2] == '4' ? AF_INET : AF_INET6, text);
	} else if (!strcmp(verb, "insert")) {
		n = hex(bytes + 1, value);
		memmove(made.at + at + n, made.at + at, made.n - at);
		memcpy(made.at + at, value, n);
		made.n += n;
	} else if (!strcmp(verb, "set")) {
		made.n = larger(made.n, at + hex(bytes + 1, made.at + at));
	} else if (!strcmp(verb, "with")) { /* for once */
		was = made.at[at];
		hex(bytes + 1, made.at + at);
		tell_parsed(made.n);
		made.at[at] = was;
	} else if (!strcmp(verb, "parse")) {
		tell_parsed(at ? at : made.n);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/frames", take_line, NULL);
}
