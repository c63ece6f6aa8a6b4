// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Frames and stamps as they are received, and packets in one line. */
#include "fuzz.h"

#include <netinet/in.h>

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
	free(frame);
	return 0;
}
