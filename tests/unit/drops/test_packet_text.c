// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Headers in one line, and where they end; whole, cut and wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cases.h"
#include "drops/packet_text.h"

#define ETHER(type)                                                                                \
	"020000000002"                                                                             \
	"020000000001" type
#define IP4(len, frag, proto)                                                                      \
	"4500" len "0001" frag "40" proto "0000"                                                   \
	"c6120001"                                                                                 \
	"c6120002"
#define IP6(len, next)                                                                             \
	"60000000" len next "40"                                                                   \
	"20010002000000000000000000000001"                                                         \
	"20010002000000000000000000000002"
#define STAMP                                                                                      \
	"706b"                                                                                     \
	"0001000000000005"                                                                         \
	"fffefffffffffffa"
#define TIME                                                                                       \
	"0000000000000007"                                                                         \
	"fffffffffffffff8"
#define UDP(len) "9c402328" len "0000"

static const struct {
	const char *hex;
	bool ethernet;
	uint16_t protocol; /* without Ethernet */
	uint32_t wire_len; /* 0: as many as there are */
	uint32_t headers;
	const char *text;
} known[] = {
	{ETHER("0800") IP4("0080", "0000", "11") UDP("006c") "73656372", true, 0, 142, 42,
	 "IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP, length 100"},
	{IP4("0080", "4000", "11") UDP("006c") STAMP "7365", false, 0x0800, 0, 46,
	 "IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP, length 100"},
	{IP4("0080", "4000", "11") UDP("006c") STAMP TIME "7365", false, 0x0800, 0, 62,
	 "IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP, length 100"},
	/* Not a stamp: its complement is wrong. */
	{IP4("0080", "4000", "11") UDP("006c") "706b"
					       "0001000000000005"
					       "fffefffffffffffb",
	 false, 0x0800, 0, 28, "IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP, length 100"},
	{IP4("001c", "0000", "11") UDP("0007"), false, 0x0800, 0, 28,
	 "IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP, bad length 7"},
	{IP4("0080", "0000", "11") "9c402328", false, 0x0800, 128, 20,
	 "IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP [|udp]"},
	{IP4("0080", "0000", "11") "9c40", false, 0x0800, 128, 20,
	 "IP 198.18.0.1 > 198.18.0.2: UDP [|udp]"},
	{IP4("0024", "2000", "11") UDP("006c"), false, 0x0800, 36, 28,
	 "IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP, length 100, fragment 16@0+"},
	{IP4("0024", "00b9", "11") "73656372", false, 0x0800, 36, 20,
	 "IP 198.18.0.1 > 198.18.0.2: UDP, fragment 16@1480"},
	{ETHER("8100") "0005"
		       "0800" IP4("0080", "0000", "11") UDP("006c"),
	 true, 0, 146, 46, "vlan 5, IP 198.18.0.1.40000 > 198.18.0.2.9000: UDP, length 100"},
	{ETHER("8100") "00", true, 0, 0, 14, "Ethernet, length 15 [|vlan]"},
	{"0200", true, 0, 60, 0, "Ethernet, length 60 [|ether]"},
	{"", true, 0, 60, 0, "Ethernet, length 60 [|ether]"},
	{IP4("003c", "4000", "06") "9c400050"
				   "00000064"
				   "00000000"
				   "a002fa00"
				   "00000000"
				   "020405b40402080a0000000000000000010303"
				   "07"
				   "73656372",
	 false, 0x0800, 60, 60,
	 "IP 198.18.0.1.40000 > 198.18.0.2.80: Flags [S], seq 100, win 64000, length 0"},
	{IP4("0032", "4000", "06") "00509c40"
				   "00000001"
				   "00000065"
				   "5018fa00"
				   "00000000"
				   "7365",
	 false, 0x0800, 50, 40,
	 "IP 198.18.0.1.80 > 198.18.0.2.40000: Flags [P.], seq 1, ack 101, win 64000, length 10"},
	{IP4("0028", "4000", "06") "00509c40"
				   "00000001"
				   "00000065"
				   "1010fa00"
				   "00000000",
	 false, 0x0800, 0, 20,
	 "IP 198.18.0.1.80 > 198.18.0.2.40000: Flags [.], seq 1, ack 101, win 64000, length 16"
	 " [|tcp]"},
	{IP4("0028", "4000", "06") "0050", false, 0x0800, 0, 20,
	 "IP 198.18.0.1 > 198.18.0.2: TCP [|tcp]"},
	{IP4("0054", "4000", "01") "0800"
				   "0000"
				   "0007"
				   "0003"
				   "7365",
	 false, 0x0800, 84, 28,
	 "IP 198.18.0.1 > 198.18.0.2: ICMP echo request, id 7, seq 3, length 64"},
	{IP4("0038", "4000", "01") "0303"
				   "0000"
				   "00000000"
				   "4500",
	 false, 0x0800, 56, 28, "IP 198.18.0.1 > 198.18.0.2: ICMP unreachable, code 3, length 36"},
	{IP4("0038", "4000", "01") "0303", false, 0x0800, 56, 20,
	 "IP 198.18.0.1 > 198.18.0.2: ICMP [|icmp]"},
	{IP4("0030", "0000", "32") "00000001"
				   "73656372",
	 false, 0x0800, 48, 20, "IP 198.18.0.1 > 198.18.0.2: ESP, length 28"},
	{IP4("0030", "0000", "fd") "73656372", false, 0x0800, 48, 20,
	 "IP 198.18.0.1 > 198.18.0.2: protocol 253, length 28"},
	{IP4("0030", "0000", "84") "9c402328"
				   "0000000000000000"
				   "7365",
	 false, 0x0800, 48, 32, "IP 198.18.0.1.40000 > 198.18.0.2.9000: SCTP, length 28"},
	{"4400"
	 "0080"
	 "0001"
	 "0000"
	 "4011"
	 "0000"
	 "c6120001"
	 "c6120002",
	 false, 0x0800, 0, 0, "IP [|ip]"},
	{"4f00"
	 "0080"
	 "0001"
	 "0000"
	 "4011"
	 "0000"
	 "c6120001"
	 "c6120002",
	 false, 0x0800, 0, 0, "IP 198.18.0.1 > 198.18.0.2: [|ip]"},
	{"4500"
	 "0080",
	 false, 0x0800, 128, 0, "IP [|ip]"},
	{"6500"
	 "0080"
	 "0001"
	 "0000"
	 "4011"
	 "0000"
	 "c6120001"
	 "c6120002",
	 false, 0x0800, 0, 0, "IP [|ip]"},
	{ETHER("86dd") IP6("006c", "11") UDP("006c") "7365", true, 0, 162, 62,
	 "IP6 2001:2::1.40000 > 2001:2::2.9000: UDP, length 100"},
	{IP6("0074", "00") "1100"
			   "000000000000" UDP("006c"),
	 false, 0x86dd, 156, 56, "IP6 2001:2::1.40000 > 2001:2::2.9000: UDP, length 100"},
	{IP6("0018", "2c") "1100"
			   "05c9"
			   "00000001"
			   "7365",
	 false, 0x86dd, 64, 48, "IP6 2001:2::1 > 2001:2::2: UDP, fragment 16@1480+"},
	{IP6("0018", "00") "11ff"
			   "000000000000",
	 false, 0x86dd, 64, 40, "IP6 2001:2::1 > 2001:2::2: [|ip6 extension]"},
	{IP6("0020", "3a") "8700"
			   "0000"
			   "00000000"
			   "2001",
	 false, 0x86dd, 72, 48,
	 "IP6 2001:2::1 > 2001:2::2: ICMP6 neighbor solicitation, code 0, length 32"},
	{"6000", false, 0x86dd, 64, 0, "IP6 [|ip6]"},
	{ETHER("0806") "0001080006040001"
		       "020000000001"
		       "c6120001"
		       "000000000000"
		       "c6120002",
	 true, 0, 0, 42, "ARP, request who-has 198.18.0.2 tell 198.18.0.1"},
	{"0001080006040002"
	 "020000000001"
	 "c6120001"
	 "020000000002"
	 "c6120002",
	 false, 0x0806, 0, 28, "ARP, reply 198.18.0.1 is-at 02:00:00:00:00:01"},
	{"00010800", false, 0x0806, 0, 0, "ARP [|arp]"},
	{ETHER("88cc") "0207", true, 0, 60, 14, "ethertype 0x88cc, length 60"},
	{ETHER("0026") "4242", true, 0, 52, 14, "802.3, length 52"},
	{"73656372", false, 0, 0, 0, "ethertype 0x0000, length 4"},
};

static uint32_t from_hex(const char *hex, uint8_t *to)
{
	uint32_t n = 0;

	for (; *hex; hex += 2)
		sscanf(hex, "%2hhx", &to[n++]);
	return n;
}

CASE(test_known)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint8_t bytes[256];
		uint32_t len = from_hex(known[i].hex, bytes);
		const struct packet_view p = {bytes, len,
					      known[i].wire_len ? known[i].wire_len : len,
					      known[i].ethernet, known[i].protocol};
		char text[PACKET_TEXT];

		assert_string_equal(packet_text(&p, text, sizeof(text)), known[i].text);
		assert_int_equal(packet_headers(&p), known[i].headers);
	}
}

/* Each one cut at each byte, in memory that ends there: valgrind and sanitizers would tell. */
CASE(test_cut_everywhere)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint8_t bytes[256];
		uint32_t len = from_hex(known[i].hex, bytes);

		for (uint32_t cut = 0; cut <= len; cut++) {
			uint8_t *copy = malloc(cut ? cut : 1);
			const struct packet_view p = {copy, cut, len, known[i].ethernet,
						      known[i].protocol};
			char text[PACKET_TEXT];

			memcpy(copy, bytes, cut);
			assert_true(strlen(packet_text(&p, text, sizeof(text))) > 0);
			assert_true(packet_headers(&p) <= cut);
			free(copy);
		}
	}
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
		if (len && rand_r(&seed) % 4) /* mostly as far as the version goes */
			bytes[0] = p.protocol == 0x0800 ? 0x45 : 0x60;
		assert_true(packet_headers(&p) <= len);
		assert_true(strlen(packet_text(&p, text, sizeof(text))) < sizeof(text));
		free(bytes);
	}
}

CASE(test_small_buffers)
{
	uint8_t bytes[256];
	uint32_t len = from_hex(known[0].hex, bytes);
	const struct packet_view p = {bytes, len, 142, true, 0};
	char whole[PACKET_TEXT], text[PACKET_TEXT];

	packet_text(&p, whole, sizeof(whole));
	for (size_t size = 1; size < sizeof(text); size++) {
		packet_text(&p, text, size);
		assert_true(strlen(text) < size);
		assert_memory_equal(text, whole, strlen(text));
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
