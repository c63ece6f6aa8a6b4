// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How a receiver handles arriving packets. */
#include "cases.h"

#include <endian.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "traffic/shape.h"
#include "traffic/rx.h"
#include "experiment/receiver.h"

#define LEN	100
#define WINDOW	4096
#define STREAM0 500
#define BASE	(7ULL << 32)
#define TAI	1800000000000000000ULL

static uint8_t arrivals[2][WINDOW];
static uint8_t fill[LEN];
static struct sink_streams streams;
static struct trace_tails table; /* of learned streams */
static struct sink sink;

static void begin(bool learn)
{
	memset(arrivals, 0, sizeof(arrivals));
	flow_fill(fill, sizeof(fill));
	table = (struct trace_tails){};
	streams = (struct sink_streams){.window = learn ? SINK_LEARNED_WINDOW : WINDOW,
					.table = learn ? &table : NULL,
					.room = TRACE_STREAMS};
	pthread_mutex_init(&streams.lock, NULL);
	sink = (struct sink){.streams = &streams, .payload = LEN, .fill = fill};
}

/* Two streams that are known beforehand. */
static int begin_known(void **state)
{
	begin(false);
	for (unsigned i = 0; i < 2; i++) {
		streams.at[i].id = (uint16_t)(STREAM0 + i);
		streams.at[i].base = BASE;
		streams.at[i].tail = BASE;
		streams.at[i].arrivals = arrivals[i];
	}
	streams.n = 2;
	return 0;
}

static int begin_learning(void **state)
{
	begin(true);
	return 0;
}

static int end(void **state)
{
	sink_streams_forget(&streams);
	pthread_mutex_destroy(&streams.lock);
	sink_forget(&sink);
	return 0;
}

static const uint8_t *payload(uint16_t id, uint64_t number, uint64_t tai)
{
	static uint8_t p[LEN];

	flow_fill(p, LEN);
	flow_stamp(p, LEN, STAMP_WORD(id, number), tai);
	return p;
}

static void arrive(uint16_t id, uint64_t number)
{
	sink_packet(&sink, payload(id, number, TAI), LEN, LEN, TAI);
}

/* The sums over all lines. */
static const struct arrivals *seen(void)
{
	static struct arrivals sum;
	const struct sink *all = &sink;

	memset(&sum, 0, sizeof(sum));
	arrivals_sum(&sum, &all, 1);
	return &sum;
}

/* All that is counted besides deliveries. */
static uint64_t complaints(void)
{
	return sink.sums.duplicated + seen()->order.packets + sink.sums.damaged +
	       sink.sums.invalid + sink.sums.foreign;
}

CASE_WITH(in_order, begin_known, end)
{
	for (unsigned n = 0; n < 10; n++)
		arrive(STREAM0, BASE + n);
	arrive(STREAM0 + 1, BASE + 3);
	assert_int_equal(sink.sums.delivered, 11);
	assert_int_equal(complaints(), 0);
	assert_int_equal(sink.next[0], BASE + 10);
	assert_int_equal(sink.next[1], BASE + 4);
	for (unsigned n = 0; n < WINDOW; n++) {
		assert_int_equal(arrivals[0][n], n < 10);
		assert_int_equal(arrivals[1][n], n == 3);
	}
}

CASE_WITH(duplicates_are_delivered_once, begin_known, end)
{
	arrive(STREAM0, BASE);
	arrive(STREAM0, BASE + 1);
	arrive(STREAM0, BASE);
	arrive(STREAM0, BASE);
	arrive(STREAM0 + 1, BASE); /* the same number of another stream is another packet */
	assert_int_equal(sink.sums.delivered, 3);
	assert_int_equal(sink.sums.duplicated, 2);
	assert_int_equal(complaints(), 2);
}

/* RFC 4737: below the highest seen before, in its own stream; a gap alone is no reordering. */
CASE_WITH(reordered_as_in_rfc4737, begin_known, end)
{
	static const uint64_t order[] = {0, 5, 1, 2, 7, 6, 8};

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		arrive(STREAM0, BASE + order[i]);
	arrive(STREAM0 + 1, BASE + 1);
	assert_int_equal(seen()->order.packets, 3);
	assert_int_equal(sink.sums.delivered, 8);
	assert_int_equal(complaints(), 3);
	assert_int_equal(sink.next[0], BASE + 9);
}

CASE_WITH(other_runs_are_foreign, begin_known, end)
{
	arrive(STREAM0 - 1, BASE);
	arrive(STREAM0 + 2, BASE);
	arrive(STREAM0, BASE - 1);
	arrive(STREAM0, BASE + WINDOW);
	arrive(STREAM0, 0);
	assert_int_equal(sink.sums.foreign, 5);
	assert_int_equal(sink.sums.delivered, 0);
	assert_int_equal(complaints(), 5);
	arrive(STREAM0, BASE + WINDOW - 1);
	assert_int_equal(sink.sums.delivered, 1);
	assert_int_equal(arrivals[0][WINDOW - 1], 1);
}

/* A number that left the window resolves nothing, and its place belongs to another number. */
CASE_WITH(late_numbers_are_told, begin_known, end)
{
	streams.at[0].tail = BASE + 10;
	arrive(STREAM0, BASE + 9);
	assert_int_equal(sink.sums.late, 1);
	arrive(STREAM0, BASE + 10);
	arrive(STREAM0, BASE + WINDOW + 9);
	assert_int_equal(sink.sums.late, 1);
	assert_int_equal(sink.sums.delivered, 2);
	assert_int_equal(arrivals[0][9], 1);
}

/* Damaged packets count as delivered. */
CASE_WITH(damaged_by_length_and_content, begin_known, end)
{
	uint8_t p[LEN + 1];

	memcpy(p, payload(STREAM0, BASE, TAI), LEN);
	p[LEN] = 0;
	sink_packet(&sink, p, LEN - 1, LEN - 1, 0);
	assert_int_equal(sink.sums.damaged, 1);
	flow_stamp(p, LEN, STAMP_WORD(STREAM0, BASE + 1), TAI);
	sink_packet(&sink, p, LEN, LEN + 1, 0);
	assert_int_equal(sink.sums.damaged, 2);
	for (unsigned at = STAMP_TIME_LEN; at < LEN; at++) {
		flow_stamp(p, LEN, STAMP_WORD(STREAM0, BASE + at), TAI);
		p[at] ^= 0x20;
		sink_packet(&sink, p, LEN, LEN, 0);
		p[at] ^= 0x20;
	}
	assert_int_equal(sink.sums.damaged, 2 + LEN - STAMP_TIME_LEN);
	assert_int_equal(sink.sums.delivered, sink.sums.damaged);
	assert_int_equal(complaints(), sink.sums.damaged);
}

CASE_WITH(what_is_not_expected_is_not_compared, begin_known, end)
{
	uint8_t p[LEN];

	memcpy(p, payload(STREAM0, BASE, TAI), LEN);
	p[LEN - 1] ^= 1;
	sink_packet(&sink, p, LEN - 1, LEN, 0); /* the engine keeps the head only */
	sink.fill = NULL;
	flow_stamp(p, LEN, STAMP_WORD(STREAM0, BASE + 1), TAI);
	sink_packet(&sink, p, LEN, LEN, 0);
	assert_int_equal(sink.sums.damaged, 0);
	sink.payload = 0;
	flow_stamp(p, LEN, STAMP_WORD(STREAM0, BASE + 2), TAI);
	sink_packet(&sink, p, 50, 50, 0);
	assert_int_equal(sink.sums.damaged, 0);
	assert_int_equal(sink.sums.delivered, 3);
}

/* Too short for a time: the pattern starts directly after the sequence header. */
CASE_WITH(content_of_a_payload_without_time, begin_known, end)
{
	uint8_t p[STAMP_TIME_LEN];

	sink.payload = STAMP_TIME_LEN - 1;
	flow_fill(p, sink.payload);
	flow_stamp(p, sink.payload, STAMP_WORD(STREAM0, BASE), 0);
	sink_packet(&sink, p, sink.payload, sink.payload, 0);
	assert_int_equal(sink.sums.damaged, 0);
	flow_stamp(p, sink.payload, STAMP_WORD(STREAM0, BASE + 1), 0);
	p[STAMP_LEN] ^= 1;
	sink_packet(&sink, p, sink.payload, sink.payload, 0);
	assert_int_equal(sink.sums.damaged, 1);
	assert_int_equal(sink.sums.delivered, 2);
}

/* Every flipped bit of a stamp, every length that does not hold one. */
CASE_WITH(no_valid_stamp, begin_known, end)
{
	uint8_t p[LEN];
	uint64_t expected = 0;

	memcpy(p, payload(STREAM0, BASE, TAI), LEN);
	for (unsigned bit = 0; bit < STAMP_LEN * 8; bit++) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		sink_packet(&sink, p, LEN, LEN, 0);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(sink.sums.invalid, ++expected);
	}
	for (unsigned len = 0; len < STAMP_LEN; len++) {
		sink_packet(&sink, p, len, len, 0);
		assert_int_equal(sink.sums.invalid, ++expected);
	}
	assert_int_equal(complaints(), expected);
	assert_int_equal(sink.sums.delivered, 0);
}

static struct end_record end_record(uint16_t stream, uint64_t base, uint64_t sent, uint64_t refused)
{
	return (struct end_record){
		.magic = htobe16(END_MAGIC),
		.stream = htobe16(stream),
		.base = htobe64(base),
		.sent = htobe64(sent),
		.refused = htobe64(refused),
		.check = htobe64(~(stream ^ base ^ sent ^ refused)),
	};
}

CASE_WITH(end_record_tells_the_tail, begin_known, end)
{
	struct end_record e = end_record(STREAM0 + 1, BASE, 1000, 7);

	sink_packet(&sink, &e, sizeof(e), sizeof(e), TAI);
	assert_false(streams.at[0].ended);
	assert_true(streams.at[1].ended);
	assert_int_equal(streams.at[1].end_sent, 1000);
	assert_int_equal(streams.at[1].end_refused, 7);
	assert_int_equal(sink.sums.delivered + complaints(), 0);
}

CASE_WITH(bad_end_records_tell_nothing, begin_known, end)
{
	const struct end_record made_up[] = {
		end_record(STREAM0, BASE + 1, 10, 0), /* not where the stream begins */
		end_record(STREAM0, BASE - (BASE + 1), 10, 0),
		end_record(STREAM0, BASE, UINT64_MAX, 0), /* more than a stream may use */
		end_record(STREAM0, BASE, UINT64_MAX, UINT64_MAX),
		end_record(STREAM0, BASE, STAMP_SPAN, 1),
	};
	struct end_record e = end_record(STREAM0, BASE, 1000, 7);
	uint8_t *bytes = (uint8_t *)&e;

	for (unsigned bit = 16; bit < sizeof(e) * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		sink_packet(&sink, &e, sizeof(e), sizeof(e), 0);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (unsigned len = 0; len < sizeof(e); len++)
		sink_packet(&sink, &e, len, len, 0);
	e = end_record(STREAM0 + 2, BASE, 1, 0);
	sink_packet(&sink, &e, sizeof(e), sizeof(e), 0);
	e = end_record(STREAM0, BASE + (1ULL << 32), 1, 0);
	sink_packet(&sink, &e, sizeof(e), sizeof(e), 0);
	for (unsigned i = 0; i < LENGTH(made_up); i++)
		sink_packet(&sink, &made_up[i], sizeof(e), sizeof(e), 0);
	assert_false(streams.at[0].ended);
	assert_false(streams.at[1].ended);
	assert_int_equal(sink.sums.delivered, 0);
}

/* Only a complete time in the past is valid. */
CASE_WITH(delay_is_measured, begin_known, end)
{
	uint8_t p[LEN];

	sink.timed = true;
	sink_packet(&sink, payload(STREAM0, BASE, TAI), LEN, LEN, TAI + 1000);
	sink_packet(&sink, payload(STREAM0, BASE + 1, TAI), LEN, LEN, TAI);
	assert_int_equal(sink.line[0]->delay->count, 2);
	assert_int_equal(sink.line[0]->delay->min, 0);
	assert_int_equal(sink.line[0]->delay->max, 1000);
	assert_int_equal(line_jitter(sink.line[0]), 1000 / 16);
	assert_null(arrivals_clock_doubt(seen()));
	sink_packet(&sink, payload(STREAM0, BASE + 2, TAI), LEN, LEN, TAI - 1);
	sink_packet(&sink, payload(STREAM0, BASE + 3, TAI), LEN, LEN, 0);
	sink_packet(&sink, payload(STREAM0, BASE + 4, TAI), STAMP_TIME_LEN - 1, LEN, TAI + 5);
	memcpy(p, payload(STREAM0, BASE + 5, TAI), LEN);
	p[STAMP_TIME_OFF] ^= 1;
	sink_packet(&sink, p, LEN, LEN, TAI + 5);
	assert_int_equal(sink.line[0]->delay->count, 2);
	assert_int_equal(sink.sums.delivered, 6);
	assert_int_equal(seen()->negative, 1);
	assert_non_null(arrivals_clock_doubt(seen()));
}

/* Any time can be in a stamp: for the sanitizer, that nothing overflows. */
CASE_WITH(any_time_of_sending, begin_known, end)
{
	static const uint64_t times[] = {0, UINT64_MAX, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, TAI};

	sink.timed = true;
	for (unsigned i = 0; i < 36; i++) {
		sink_packet(&sink, payload(STREAM0, BASE + 2 * i, times[i % 6]), LEN, LEN, TAI);
		sink_packet(&sink, payload(STREAM0, BASE + 2 * i + 1, times[i / 6]), LEN, LEN, 1);
	}
	assert_int_equal(sink.sums.delivered, 72);
	assert_non_null(arrivals_clock_doubt(seen()));
}

/* RFC 4737, section 4.2: from the first packet that arrived too early. */
CASE_WITH(extents_as_in_rfc4737, begin_known, end)
{
	static const uint64_t order[] = {0, 5, 1, 2, 7, 6, 3, 8};
	const struct arrivals *a;

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		arrive(STREAM0, BASE + order[i]);
	a = seen();
	assert_int_equal(a->order.packets, 4); /* 1, 2, 3 after 5, and 6 after 7 */
	assert_int_equal(a->order.extent_max, 5);
	assert_int_equal(a->order.extent_unknown, 0);
	assert_int_equal(a->order.extent[0], 2);
	assert_int_equal(a->order.extent[1], 1);
	assert_int_equal(a->order.extent[3], 1);
}

/* More jumps than recorded: packets before them have no extent, but are counted. */
CASE_WITH(forgotten_jumps_are_told, begin_known, end)
{
	for (unsigned n = 1; n < 2 * LINE_GAPS + 5; n += 2)
		arrive(STREAM0, BASE + n);
	arrive(STREAM0, BASE);
	arrive(STREAM0, BASE + 2 * LINE_GAPS);
	assert_int_equal(seen()->order.packets, 2);
	assert_int_equal(seen()->order.extent_unknown, 1);
}

/* One stream over two 5-tuples: apart, each is in order. */
CASE_WITH(flows_are_told_apart, begin_known, end)
{
	static const uint64_t order[] = {1, 0, 3, 2, 5, 4};
	const struct arrivals *a;

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		sink.source = (struct endpoint){AF_INET, .port = (uint16_t)(1000 + order[i] % 2)};
		sink.source.ip4.s_addr = htobe32(198u << 24);
		arrive(STREAM0, BASE + order[i]);
	}
	a = seen();
	assert_int_equal(a->order.packets, 0);
	assert_int_equal(a->flows, 2);
	assert_string_equal(a->flow[0].source, "198.0.0.0:1001");
	assert_int_equal(a->flow[1].delivered, 3);
	assert_int_equal(sink.next[0], BASE + 6);
}

/* However many there are, none is lost from the sums. */
CASE_WITH(too_many_flows_share_a_line, begin_known, end)
{
	for (unsigned n = 0; n < 2 * SINK_LINES; n++) {
		sink.source.port = (uint16_t)(1 + n);
		arrive(STREAM0, BASE + n);
	}
	assert_int_equal(sink.sums.delivered, 2 * SINK_LINES);
	assert_true(sink.lines < SINK_LINES);
	assert_int_equal(seen()->flows, ARRIVALS_FLOWS);
	assert_int_equal(seen()->flows + seen()->flows_more, sink.lines);
}

#define FAR 60000000 /* that the window of a discovered stream still holds */

/* Two senders with their own bases and streams. Numbers need not start at the base. */
CASE_WITH(streams_of_two_senders_are_learned, begin_learning, end)
{
	const uint64_t other = 900ULL << 32;

	for (unsigned n = 5; n < 10; n++) {
		arrive(STREAM0, BASE + n);
		arrive(STREAM0, other + n); /* the same stream by chance, of another base */
		arrive(9, BASE + n);
	}
	arrive(9, BASE + 6);
	arrive(STREAM0, BASE + FAR);
	assert_int_equal(streams.n, 3);
	assert_int_equal(streams.at[0].base, BASE);
	assert_int_equal(streams.at[1].base, other);
	assert_int_equal(streams.at[1].id, STREAM0);
	assert_int_equal(streams.at[2].id, 9);
	assert_int_equal(sink.sums.delivered, 16);
	assert_int_equal(sink.sums.duplicated, 1);
	assert_int_equal(complaints(), 1);
	assert_int_equal(sink.next[0], BASE + FAR + 1);
	assert_int_equal(sink.next[1], other + 10);
	assert_int_equal(streams.at[0].arrivals[5], 1);
	assert_int_equal(streams.at[0].arrivals[4], 0);
	assert_int_equal(streams.at[0].arrivals[FAR], 1);
}

/* Numbers that no sender can have reached so soon cost nothing: no new stream, and no count. */
CASE_WITH(numbers_beyond_the_window_are_noted_only, begin_learning, end)
{
	arrive(STREAM0, BASE);
	arrive(STREAM0, BASE + UINT32_MAX);
	arrive(STREAM0, BASE + 1);
	assert_int_equal(streams.n, 1);
	assert_int_equal(sink.sums.delivered, 2);
	assert_int_equal(sink.sums.foreign, 1);
	assert_int_equal(sink.next[0], BASE + 2);
	assert_int_equal(streams.at[0].ahead, BASE + UINT32_MAX);
}

/* A stream of which nothing arrived but its end. */
CASE_WITH(end_record_is_learned_from, begin_learning, end)
{
	struct end_record e = end_record(STREAM0, BASE, 1000, 0);

	sink_packet(&sink, &e, sizeof(e), sizeof(e), 0);
	assert_int_equal(streams.n, 1);
	assert_true(streams.at[0].ended);
	assert_int_equal(streams.at[0].end_sent, 1000);
	assert_int_equal(streams.at[0].base, BASE);
	arrive(STREAM0, BASE + 1);
	assert_int_equal(streams.n, 1);
	assert_int_equal(sink.sums.delivered, 1);
}

#define KEPT 4096

static uint8_t bytes[3 * KEPT];

/* Into a table that programs also write. `key`: key of its first stream. 0: no stream. */
static void learn_by_table(unsigned room, uint32_t key)
{
	memset(bytes, 0, sizeof(bytes));
	table.key[0] = key;
	streams.bytes = bytes;
	streams.room = room;
	streams.window = KEPT;
}

/* In slots in order, numbers no further than the window. */
CASE_WITH(streams_are_learned_by_a_table, begin_learning, end)
{
	learn_by_table(3, 9u << 16 | 4);
	arrive(STREAM0, BASE + 5);
	arrive(9, (4ULL << 32) + 1);
	assert_int_equal(streams.n, 2);
	assert_int_equal(streams.at[0].id, 9);
	assert_int_equal(streams.at[0].base, 4ULL << 32);
	assert_int_equal(table.key[1], (uint32_t)STREAM0 << 16 | BASE >> 32);
	assert_int_equal(bytes[1] + bytes[KEPT + 5], 2);
	arrive(STREAM0, BASE + KEPT + 7); /* more is missing than can be kept */
	assert_int_equal(sink.sums.foreign, 1);
	assert_int_equal(streams.at[1].ahead, BASE + KEPT + 7);
	sink_streams_set_tail(&streams, 1, BASE + KEPT);
	assert_int_equal(table.at[1], BASE + KEPT);
	arrive(STREAM0, BASE + KEPT + 7);
	assert_int_equal(sink.sums.delivered, 3);
	arrive(11, BASE);
	arrive(12, BASE); /* no slot is left */
	assert_int_equal(streams.n, 3);
	assert_int_equal(sink.sums.foreign, 2);
}

/* Of a stream that is met in its middle, numbers are kept from half a window before. */
CASE_WITH(who_comes_late_begins_near, begin_learning, end)
{
	learn_by_table(2, 0);
	arrive(STREAM0, BASE + 10 * KEPT);
	arrive(STREAM0, BASE + 10 * KEPT + 1);
	assert_int_equal(streams.n, 1);
	assert_int_equal(streams.at[0].base, BASE);
	assert_int_equal(streams.at[0].tail, BASE + 10 * KEPT - KEPT / 2);
	assert_int_equal(table.at[0], streams.at[0].tail);
	assert_int_equal(sink.sums.delivered, 2);
}

/* The upper half of its words grows: it is the same stream, in the same slot. */
CASE_WITH(a_stream_goes_on_beyond_2_to_the_32, begin_learning, end)
{
	const uint64_t middle = BASE + (1ULL << 32);

	learn_by_table(2, 0);
	arrive(STREAM0, BASE + 5);
	sink_streams_set_tail(&streams, 0, middle - 2);
	arrive(STREAM0, middle - 1);
	arrive(STREAM0, middle);
	assert_int_equal(sink.sums.delivered, 3);
	arrive(STREAM0, middle + KEPT + 7); /* after the window, without another number */
	assert_int_equal(streams.at[0].ahead, middle + KEPT + 7);
	sink_streams_set_tail(&streams, 0, middle + KEPT);
	arrive(STREAM0, middle + KEPT + 7);
	arrive(STREAM0, middle - 1);
	assert_int_equal(sink.sums.delivered, 4);
	assert_int_equal(sink.sums.late, 1);
	assert_int_equal(sink.sums.foreign, 1);
	assert_int_equal(streams.n, 1);
	assert_int_equal(table.key[1], 0);
	arrive(STREAM0, middle + (2ULL << 32)); /* no sender advances so far at once */
	assert_int_equal(streams.n, 2);
	assert_int_equal(streams.at[1].base, middle + (2ULL << 32));
}

CASE_WITH(one_stream_too_many_is_foreign, begin_learning, end)
{
	const size_t wanted = (size_t)TRACE_STREAMS << 32; /* one window each (less memory for
							    * valgrind) */
	void *room =
		mmap(NULL, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED) {
		print_message("not enough address space\n");
		skip();
	}
	munmap(room, wanted);
	for (unsigned i = 0; i < TRACE_STREAMS; i++)
		arrive((uint16_t)(STREAM0 + 3 * i), BASE);
	assert_int_equal(streams.n, TRACE_STREAMS);
	assert_int_equal(complaints(), 0);
	arrive(STREAM0 + 1, BASE);
	assert_int_equal(sink.sums.foreign, 1);
	arrive(STREAM0 + 3 * (TRACE_STREAMS - 1), BASE + 1);
	assert_int_equal(streams.n, TRACE_STREAMS);
	assert_int_equal(sink.sums.delivered, TRACE_STREAMS + 1);
	assert_int_equal(complaints(), 1);
	sink_streams_forget(&streams);
	assert_int_equal(streams.n, 0);
}

/*
 * The slot of a closed stream is the next unknown stream's. What was counted of the closed one
 * stays in the sums.
 */
CASE_WITH(a_slot_has_several_lives, begin_learning, end)
{
	arrive(STREAM0, BASE + 2);
	arrive(STREAM0, BASE + 1);
	arrive(STREAM0, BASE + 1);
	arrive(STREAM0 + 1, BASE);
	sink_streams_close(&streams, 0);
	assert_false(sink_streams_has(&streams, 0));
	arrive(STREAM0, BASE + 3);
	assert_int_equal(sink.sums.foreign, 1);
	sink_streams_open(&streams, 0);
	arrive(STREAM0, BASE + 3);
	assert_int_equal(sink.sums.delivered, 4);
	sink_streams_close(&streams, 0);
	sink_streams_empty(&streams, 0, BASE, BASE + 4);
	sink.next[0] = 0;
	sink_streams_drop(&streams, 0);
	arrive(STREAM0 + 1, BASE + (1ULL << 32)); /* ahead of its window, and not in another slot */
	assert_int_equal(sink.sums.foreign, 2);
	assert_int_equal(streams.at[1].ahead, BASE + (1ULL << 32));
	arrive(9, 5);
	assert_int_equal(streams.n, 2);
	assert_true(sink_streams_has(&streams, 0));
	assert_int_equal(streams.at[0].id, 9);
	assert_int_equal(streams.at[0].base, 0);
	assert_int_equal(streams.at[0].life, 1);
	assert_int_equal(streams.at[0].arrivals[5], 1);
	assert_int_equal(sink.next[0], 6);
	arrive(9, 4);
	arrive(STREAM0 + 1, BASE + 1);
	assert_int_equal(sink.sums.delivered, 7);
	assert_int_equal(sink.sums.duplicated, 1);
	assert_int_equal(sink.lines, 2); /* the first line again, and that of the other stream */
	assert_int_equal(seen()->order.packets, 2);
	assert_int_equal(seen()->flows, 2);
	assert_int_equal(seen()->flows_more, 1);
	for (unsigned i = 0; i < 2; i++) {
		const struct arrivals_flow *f = &seen()->flow[i];

		assert_int_equal(f->delivered, 2);
		assert_int_equal(f->duplicated, 0);
		assert_int_equal(f->stream, i ? STREAM0 + 1 : 9);
	}
}

/* Every number has its own length: another length is damage. */
CASE_WITH(length_by_number, begin_known, end)
{
	static const uint16_t sizes[] = {LEN, 20};
	const struct shape shape = {.threads = 1, .flows = 1, .payload = sizes, .n_payload = 2};

	sink.shape = &shape;
	sink_packet(&sink, payload(STREAM0, BASE, TAI), LEN, LEN, TAI);
	sink_packet(&sink, payload(STREAM0, BASE + 2, TAI), LEN, LEN, TAI);
	assert_int_equal(sink.sums.damaged, 0);
	sink_packet(&sink, payload(STREAM0, BASE + 3, TAI), LEN, LEN, TAI);
	assert_int_equal(sink.sums.damaged, 1);
	assert_int_equal(sink.sums.delivered, 3);
}

/* The end record tells where the stream began, long before we came. */
CASE_WITH(end_of_a_stream_joined_late, begin_learning, end)
{
	struct end_record e = end_record(STREAM0, BASE, 900000000000, 0);

	arrive(STREAM0, BASE + 800000000000);
	sink_packet(&sink, &e, sizeof(e), sizeof(e), 0);
	assert_int_equal(streams.n, 1);
	assert_true(streams.at[0].ended);
	assert_int_equal(streams.at[0].end_base, BASE);
	/* another sender's is no stream's that is known already */
	e = end_record(STREAM0, BASE + STAMP_SPAN, 1, 0);
	sink_packet(&sink, &e, sizeof(e), sizeof(e), 0);
	assert_int_equal(streams.n, 2);
}

/* Removed numbers are late. The memory after them is unchanged. */
CASE_WITH(emptied_numbers_are_late, begin_learning, end)
{
	const uint64_t upto = BASE + 100000, most = BASE + 110000;

	for (uint64_t number = BASE; number < most; number++)
		arrive(STREAM0, number);
	sink_streams_set_tail(&streams, 0, upto);
	sink_streams_empty(&streams, 0, BASE, BASE + 10);
	sink_streams_empty(&streams, 0, BASE + 10, upto);
	for (uint64_t i = 0; i < most - BASE; i++)
		assert_int_equal(streams.at[0].arrivals[i], BASE + i >= upto);
	arrive(STREAM0, upto - 1);
	arrive(STREAM0, upto);
	assert_int_equal(sink.sums.late, 1);
	assert_int_equal(sink.sums.duplicated, 1);
}

#define MEETINGS 4000

/* Two threads that may change the same number at the same time. */
static struct sink_reading {
	struct sink sink;
	pthread_t thread;
	uint8_t payload[LEN];
} reading[2];
static _Atomic unsigned met;
static _Atomic uint64_t wanted; /* 0: no more */

static void stamp(struct sink_reading *r, uint64_t number)
{
	flow_stamp(r->payload, LEN, STAMP_WORD(STREAM0, number), TAI);
}

static void deliver(struct sink_reading *r)
{
	sink_begin(&r->sink);
	sink_packet(&r->sink, r->payload, LEN, LEN, TAI);
	sink_end(&r->sink);
}

static void wait_a_little(unsigned *tries)
{
	if (++*tries % 1000 == 0) /* the other one may need this CPU */
		sched_yield();
}

static void *deliver_all(void *arg)
{
	for (unsigned i = 0, tries = 0; i < MEETINGS; i++) {
		bool last;

		stamp(arg, BASE + i);
		last = atomic_fetch_add(&met, 1) % 2;
		while (atomic_load(&met) < 2 * (i + 1))
			wait_a_little(&tries);
		/* about the time that the other thread needs to notice */
		for (volatile unsigned n = last ? i % 200 : 0; n;)
			n--;
		deliver(arg);
	}
	return NULL;
}

static void *deliver_what_is_wanted(void *arg)
{
	uint64_t number;

	while ((number = atomic_load(&wanted))) {
		stamp(arg, number);
		deliver(arg);
	}
	return NULL;
}

static void begin_reading(unsigned threads, void *work(void *))
{
	memset(reading, 0, sizeof(reading));
	for (unsigned i = 0; i < threads; i++) {
		flow_fill(reading[i].payload, LEN);
		reading[i].sink = (struct sink){.streams = &streams, .payload = LEN};
		assert_int_equal(pthread_create(&reading[i].thread, NULL, work, &reading[i]), 0);
	}
}

static void end_reading(unsigned threads)
{
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(reading[i].thread, NULL);
		sink_forget(&reading[i].sink);
	}
}

/* Both arrived: the second is the duplicate, in any order. */
CASE_WITH(duplicates_at_two_threads, begin_known, end)
{
	met = 0;
	streams.shared = true;
	begin_reading(2, deliver_all);
	end_reading(2);
	assert_int_equal(reading[0].sink.sums.delivered + reading[1].sink.sums.delivered, MEETINGS);
	assert_int_equal(reading[0].sink.sums.duplicated + reading[1].sink.sums.duplicated,
			 MEETINGS);
}

/* A number that leaves the window as it comes is late, or it was there; its byte is the next one's.
 */
CASE_WITH(arrives_as_it_leaves_the_window, begin_known, end)
{
	uint64_t settled = 0;
	unsigned tries = 0;

	wanted = BASE;
	begin_reading(1, deliver_what_is_wanted);
	while (!__atomic_load_n(&arrivals[0][BASE % WINDOW], __ATOMIC_RELAXED))
		wait_a_little(&tries);
	for (unsigned i = 0; i < 1000; i++) {
		uint8_t *byte = &arrivals[0][(BASE + i) % WINDOW];

		wanted = BASE + i;
		for (unsigned n = 7 * i % 300; n; n--)
			wait_a_little(&tries);
		sink_streams_set_tail(&streams, 0, BASE + i + 1);
		sink_pass(&reading[0].sink);
		settled += __atomic_exchange_n(byte, 0, __ATOMIC_RELAXED);
		for (unsigned n = 300; n; n--)
			wait_a_little(&tries);
		assert_int_equal(__atomic_load_n(byte, __ATOMIC_RELAXED), 0);
	}
	wanted = 0;
	end_reading(1);
	assert_true(settled > 0);
	assert_int_equal(settled, reading[0].sink.sums.delivered);
}
