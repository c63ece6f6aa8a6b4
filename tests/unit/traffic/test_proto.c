// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"
#include <errno.h>
#include <string.h>
#include <arpa/inet.h>

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

CASE(test_headers_v4)
{
	struct flow flow = make_flow(AF_INET, 100);
	uint8_t frame[ROOM];
	static const uint8_t head[] = {
		2,    0, 0, 0,	 0, 2, 2,    0, 0,  0,	0, 1, 0x08, 0x00, /* Ethernet */
		0x45, 0, 0, 128, 0, 0, 0x40, 0, 64, 17,			  /* DF, ID 0 */
	};
	static const uint8_t ports[] = {0, 0, 0x70, 0x6b, 0, 108};

	assert_int_equal(proto_build(frame, ROOM, &flow, 2), 142);
	assert_memory_equal(frame, head, sizeof(head));
	assert_memory_equal(frame + 26, &flow.src4, 4);
	assert_memory_equal(frame + 30, &flow.dst4, 4);
	assert_memory_equal(frame + 34, ports, sizeof(ports)); /* 65534 + 2 wraps */

	flow.ttl = 1;
	assert_int_equal(proto_build(frame, ROOM, &flow, 2), 142);
	assert_int_equal(frame[22], 1);
	assert_checksums(frame + 14, AF_INET);
}

CASE(test_headers_v6)
{
	struct flow flow = make_flow(AF_INET6, 100);
	uint8_t frame[ROOM];
	static const uint8_t head[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 108, 17, 64,
	};

	assert_int_equal(proto_build(frame, ROOM, &flow, 0), 162);
	assert_memory_equal(frame, head, sizeof(head));
	assert_memory_equal(frame + 22, &flow.src6, 16);
	assert_memory_equal(frame + 38, &flow.dst6, 16);
}

CASE(test_short_frames_are_padded_with_zero)
{
	struct flow flow = make_flow(AF_INET, STAMP_LEN);
	uint8_t frame[ROOM];

	flow.payload = STAMP_LEN;
	assert_int_equal(proto_build(frame, ROOM, &flow, 0), 60);
	flow = make_flow(AF_INET6, STAMP_LEN);
	assert_int_equal(proto_build(frame, ROOM, &flow, 0), 14 + 40 + 8 + STAMP_LEN);
	assert_int_equal(proto_build(frame, ROOM, &flow, 0) + 4, flow_frame_bytes(&flow));
}

CASE(test_build_refuses)
{
	struct flow flow = make_flow(AF_INET, STAMP_LEN - 1);
	uint8_t frame[ROOM];

	assert_int_equal(proto_build(frame, ROOM, &flow, 0), -EMSGSIZE);
	flow = make_flow(AF_INET, STAMP_TIME_LEN - 1);
	flow.time = true;
	assert_int_equal(proto_build(frame, ROOM, &flow, 0), -EMSGSIZE);
	flow = make_flow(AF_INET, 100);
	assert_int_equal(proto_build(frame, 141, &flow, 0), -EMSGSIZE);
	assert_int_equal(proto_build(frame, 142, &flow, 0), 142);
	flow = make_flow(AF_INET, 65508);
	assert_int_equal(proto_build(frame, 1 << 20, &flow, 0), -EMSGSIZE);
	flow = make_flow(AF_INET6, 65528);
	assert_int_equal(proto_build(frame, 1 << 20, &flow, 0), -EMSGSIZE);
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

CASE(test_parse_vlan)
{
	struct flow flow = make_flow(AF_INET6, 100);
	uint8_t frame[ROOM], tagged[ROOM];
	static const uint8_t tags[] = {0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3};
	unsigned whole = proto_build(frame, ROOM, &flow, 0), length = 0;

	for (unsigned n = 1; n <= 3; n++) {
		unsigned bytes = n * 4;
		const uint8_t *payload = tagged + 62 + bytes;

		memcpy(tagged, frame, 12);
		memcpy(tagged + 12, tags, bytes);
		memcpy(tagged + 12 + bytes, frame + 12, whole - 12);
		assert_ptr_equal(proto_udp_payload(tagged, whole + bytes, AF_UNSPEC, PORT, &length),
				 n <= 2 ? payload : NULL);
	}
	assert_int_equal(length, 100);
	assert_null(proto_udp_payload(tagged, 17, AF_UNSPEC, PORT, &length));
}

CASE(test_parse_ipv4_options)
{
	struct flow flow = make_flow(AF_INET, 100);
	uint8_t frame[ROOM], with[ROOM] = {0};
	unsigned whole = proto_build(frame, ROOM, &flow, 0), length = 0;

	memcpy(with, frame, 34);
	memcpy(with + 74, frame + 34, whole - 34);
	with[14] = 0x4f; /* 60 bytes of header */
	with[17] = 168;
	assert_ptr_equal(proto_udp_payload(with, whole + 40, AF_INET, PORT, &length), with + 82);
	assert_int_equal(length, 100);
	with[14] = 0x44; /* shorter than a header can be */
	assert_null(proto_udp_payload(with, whole + 40, AF_INET, PORT, &length));
}

struct edit {
	int family;
	unsigned at;
	uint8_t value;
};

/* One byte changed makes it something else, or makes its lengths contradict each other. */
CASE(test_parse_refuses)
{
	static const struct edit edits[] = {
		{AF_INET, 13, 0x06},  /* ARP */
		{AF_INET, 14, 0x55},  /* version */
		{AF_INET, 17, 19},    /* total length below the header */
		{AF_INET, 17, 127},   /* and one below the UDP length */
		{AF_INET, 17, 129},   /* and after the end of the frame */
		{AF_INET, 20, 0x20},  /* more fragments */
		{AF_INET, 21, 1},     /* not the first fragment */
		{AF_INET, 23, 6},     /* TCP */
		{AF_INET, 39, 7},     /* UDP length below its header */
		{AF_INET, 39, 109},   /* and after the end of the packet */
		{AF_INET6, 14, 0x40}, /* version */
		{AF_INET6, 19, 107},  /* payload length below the UDP length */
		{AF_INET6, 19, 109},  /* and after the end of the frame */
		{AF_INET6, 20, 44},   /* fragment header */
		{AF_INET6, 59, 7},    {AF_INET6, 59, 109},
	};
	unsigned length;

	for (unsigned i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		struct flow flow = make_flow(edits[i].family, 100);
		uint8_t frame[ROOM];
		unsigned whole = proto_build(frame, ROOM, &flow, 0);

		assert_non_null(proto_udp_payload(frame, whole, AF_UNSPEC, PORT, &length));
		frame[edits[i].at] = edits[i].value;
		assert_null(proto_udp_payload(frame, whole, AF_UNSPEC, PORT, &length));
	}
}
