// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "engine/flow.h"

#include <endian.h>
#include <string.h>

#include "stamp.h"

void flow_fill(uint8_t *payload, unsigned len)
{
	for (unsigned i = STAMP_LEN; i < len; i++)
		payload[i] = (uint8_t)('a' + i % 26);
}

void flow_stamp(uint8_t *payload, unsigned len, uint16_t stream, uint64_t number, uint64_t tai_ns)
{
	struct stamp s = {.magic = htobe16(STAMP_MAGIC),
			  .word = htobe64(STAMP_WORD(stream, number))};
	struct stamp_time t = {.ns = htobe64(tai_ns)};

	s.check = ~s.word;
	memcpy(payload, &s, sizeof(s));
	if (len < STAMP_TIME_LEN)
		return;
	t.check = ~t.ns;
	memcpy(payload + STAMP_TIME_OFF, &t, sizeof(t));
}
