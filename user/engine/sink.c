// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "engine/sink.h"

#include <endian.h>
#include <string.h>
#include <time.h>

#include "stamp.h"

/* The delay counts only if the time stamp is whole and the clocks agree on the order. */
static void note_delay(struct sink *s, const uint8_t *data, unsigned have, uint64_t now_tai)
{
	struct stamp_time t;

	if (!s->delay || !now_tai || have < STAMP_TIME_LEN)
		return;
	memcpy(&t, data + STAMP_TIME_OFF, sizeof(t));
	if (t.check != ~t.ns || now_tai < be64toh(t.ns))
		return;
	hist_add(s->delay, now_tai - be64toh(t.ns));
}

static bool is_whole(const struct sink *s, const uint8_t *data, unsigned have, unsigned len)
{
	unsigned from = len < STAMP_TIME_LEN ? STAMP_LEN : STAMP_TIME_LEN;

	if (s->payload && len != s->payload)
		return false;
	return !s->fill || have <= from || !memcmp(data + from, s->fill + from, have - from);
}

static void note_arrival(struct sink *s, struct sink_stream *st, uint64_t number, unsigned len)
{
	uint8_t *arrived = &st->arrivals[number & (s->window - 1)];

	if (*arrived) {
		s->duplicated++;
		return;
	}
	*arrived = 1;
	s->delivered++;
	s->bytes += len;
	if (number < st->highest)
		s->reordered++;
	else
		st->highest = number + 1;
}

void sink_packet(struct sink *s, const void *data, unsigned have, unsigned len, uint64_t now_tai)
{
	struct stamp stamp;
	uint64_t word, number;
	uint16_t slot;

	if (have >= sizeof(stamp))
		memcpy(&stamp, data, sizeof(stamp));
	if (have < sizeof(stamp) || stamp.magic != htobe16(STAMP_MAGIC) ||
	    stamp.check != ~stamp.word) {
		if (have < 2 || memcmp(data, &(uint16_t){htobe16(END_MAGIC)}, 2))
			s->invalid++;
		return;
	}
	word = be64toh(stamp.word);
	number = STAMP_NUMBER(word);
	slot = (uint16_t)(STAMP_STREAM(word) - s->stream0);
	if (slot >= s->streams || number < s->base || number - s->base > UINT32_MAX) {
		s->foreign++;
		return;
	}
	if (!is_whole(s, data, have, len))
		s->damaged++;
	note_arrival(s, &s->stream[slot], number, len);
	note_delay(s, data, have, now_tai);
}
