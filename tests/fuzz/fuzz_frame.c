// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Frames and stamps as they are received, and packets in one line. */
#include "fuzz.h"

#include <netinet/in.h>

#include "headers.h"
#include "traffic/frames.h"
#include "drops/packet_text.h"

static void payload_of(const uint8_t *frame, unsigned length, int family)
{
	unsigned bytes = 0;
	const uint8_t *payload = proto_udp_payload(frame, length, family, 0, &bytes);
	volatile uint8_t sum = 0;

	MUST(!payload || (payload >= frame && bytes <= length - (unsigned)(payload - frame)));
	for (unsigned i = 0; payload && i < bytes; i++)
		sum += payload[i];
}

static void in_one_line(const uint8_t *bytes, uint32_t length, bool ethernet, uint16_t protocol)
{
	const struct packet_view p = {bytes, length, length, ethernet, protocol};
	char line[PACKET_TEXT];

	for (unsigned room = 1; room <= sizeof(line); room *= 4) {
		packet_text(&p, line, room);
		MUST(strnlen(line, room) < room);
	}
	MUST(packet_headers(&p) <= length);
}

/* Each step gets exactly the bytes that it may read: a sanitizer detects any further read. */
static void steps(struct headers *h, const uint8_t *bytes, uint32_t n)
{
	unsigned steps = 0;

	while (h->at <= n && steps++ < HEADERS_STEPS) {
		const uint32_t have = n - h->at < HEADERS_STEP ? n - h->at : HEADERS_STEP;
		uint8_t *part = malloc(have + !have);
		bool more;

		MUST(part);
		memcpy(part, bytes + h->at, have);
		more = headers_step(h, part, have);
		free(part);
		if (!more)
			break;
	}
	MUST(steps <= HEADERS_STEPS);
}

static void inside(const uint8_t *bytes, uint32_t n, enum header first)
{
	static const struct tunnel_port ports[TUNNEL_PORTS] = {{4789, HEADER_VXLAN, 0},
							       {6081, HEADER_GENEVE, 0}};
	struct headers h = {.next = (uint8_t)first};
	enum header tunnel;

	steps(&h, bytes, n);
	while ((tunnel = headers_tunnel(&h, ports)) != HEADER_PAYLOAD) {
		const struct headers outer = h;

		headers_enter(&h, tunnel);
		steps(&h, bytes, n);
		MUST(h.depth == outer.depth + 1 && h.depth <= HEADERS_DEPTH && h.at >= outer.at);
		MUST(!h.version || h.l3 >= outer.at);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *frame = (uint8_t *)fuzz_text(data, size);

	payload_of(frame, (unsigned)size, AF_INET);
	payload_of(frame, (unsigned)size, AF_INET6);
	payload_of(frame, (unsigned)size, AF_UNSPEC);
	in_one_line(frame, (uint32_t)size, true, 0);
	in_one_line(frame, (uint32_t)size, false, 0x0800);
	in_one_line(frame, (uint32_t)size, false, 0x86dd);
	in_one_line(frame, (uint32_t)size, false, 0);
	inside(frame, (uint32_t)size, HEADER_ETHERNET);
	inside(frame, (uint32_t)size, HEADER_IP);
	free(frame);
	return 0;
}
