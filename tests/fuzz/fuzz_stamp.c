// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Payloads one after the other, as a receiver takes them. Each begins with two bytes: its length,
 * and whether the checks of stamp, time and end record are made right, which no chance would do.
 */
#include "fuzz.h"

#include <endian.h>

#include "traffic/shape.h"
#include "traffic/rx.h"
#include "experiment/receiver.h"

#define LEN	   100
#define RIGHT	   1 /* bits of the second byte */
#define END	   2
#define ALIKE	   4 /* of few streams and numbers */
#define SPARE	   8 /* the rest of the payload is as it was sent */
#define TAI	   1800000000000000000ULL
#define WINDOW	   4096
#define FIRST_BASE (1ULL << 32)

static uint8_t fill[256];

static void make_right(uint8_t *payload, unsigned len, unsigned how)
{
	struct stamp stamp;
	struct end_record end;
	uint64_t word;

	if (how & END && len >= sizeof(end)) {
		memcpy(&end, payload, sizeof(end));
		end.magic = htobe16(END_MAGIC);
		end.check = htobe64(~(be16toh(end.stream) ^ be64toh(end.base) ^ be64toh(end.sent) ^
				      be64toh(end.refused)));
		memcpy(payload, &end, sizeof(end));
	} else if (!(how & END) && len >= STAMP_LEN) {
		memcpy(&stamp, payload, sizeof(stamp));
		word = be64toh(stamp.word);
		if (how & ALIKE)
			word = STAMP_WORD(word % 3, FIRST_BASE + (word >> 8) % (2 * WINDOW));
		if (how & SPARE)
			memcpy(payload, fill, len);
		flow_stamp(payload, len, word, word % TAI);
	}
}

static uint64_t sum_of(const struct sink_sums *s)
{
	return s->delivered + s->duplicated + s->late + s->invalid + s->foreign;
}

static void receive(struct sink_streams *streams, const uint8_t *data, size_t size)
{
	static struct arrivals arrivals;
	struct sink sink = {.streams = streams, .payload = LEN, .fill = fill, .timed = true};
	const struct sink *all = &sink;
	uint64_t packets = 0, ends = 0;

	while (size > 2) {
		unsigned len = data[0], how = data[1];
		uint8_t *payload;

		data += 2;
		size -= 2;
		len = len < size ? len : (unsigned)size;
		payload = (uint8_t *)fuzz_text(data, len);
		if (how & RIGHT)
			make_right(payload, len, how);
		ends += sink_is_end(payload, len);
		packets++;
		sink_packet(&sink, payload, len, len, TAI);
		free(payload);
		data += len;
		size -= len;
	}
	MUST(sum_of(&sink.sums) + ends == packets);
	arrivals_sum(&arrivals, &all, 1);
	sink_forget(&sink);
	sink_streams_forget(streams);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t arrived[2][WINDOW];
	struct sink_streams known = {.window = WINDOW, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct trace_tails table = {};
	struct sink_streams learned = {.window = SINK_LEARNED_WINDOW,
				       .table = &table,
				       .room = TRACE_STREAMS,
				       .lock = PTHREAD_MUTEX_INITIALIZER};

	flow_fill(fill, sizeof(fill));
	memset(arrived, 0, sizeof(arrived));
	for (unsigned i = 0; i < 2; i++) {
		known.at[i].id = (uint16_t)i;
		known.at[i].base = FIRST_BASE;
		known.at[i].tail = FIRST_BASE + (i ? WINDOW : 0);
		known.at[i].arrivals = arrived[i];
	}
	known.n = 2;
	receive(&known, data, size);
	receive(&learned, data, size);
	return 0;
}
