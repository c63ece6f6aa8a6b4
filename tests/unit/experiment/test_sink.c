// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How a receiver handles arriving packets: tests/fixtures/sink, and what a table cannot hold. */
#include "cases.h"

#include <endian.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "experiment/receiver.h"
#include "recorded.h"
#include "traffic/rx.h"
#include "traffic/shape.h"

#define LEN	100
#define WINDOW	4096
#define STREAM0 500
#define BASE	(7ULL << 32)
#define TAI	1800000000000000000ULL

static uint8_t arrivals[3][WINDOW];
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

/* Recorded */

#define SUM(member) FIELD(struct sink_sums, member)
static const struct recorded_field sum_fields[] = {
	SUM(delivered), SUM(duplicated), SUM(late), SUM(damaged), SUM(invalid), SUM(foreign), {0}};

#define SEEN(member) FIELD(struct arrivals, member)
static const struct recorded_field seen_fields[] = {SEEN(order.packets),
						    SEEN(order.extent_max),
						    FIELDS(struct arrivals, order.extent, NULL),
						    SEEN(order.extent_unknown),
						    SEEN(negative),
						    SEEN(flows),
						    SEEN(flows_more),
						    {0}};

/* "5" is the fifth number of the streams that are known, "9:5" the fifth after 9 << 32. */
static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	return *end == ':' ? (n << 32) + strtoull(end + 1, NULL, 10) : BASE + n;
}

static const char *text_of(uint64_t number)
{
	static char text[8][32];
	static unsigned last;
	char *to = text[++last % 8];

	snprintf(to, sizeof(text[0]), "%u:%u", (unsigned)(number >> 32), (unsigned)number);
	return to;
}

/* Numbers of a small window that are marked. */
static void tell_marked(const struct sink_stream *st)
{
	for (unsigned n = 0, from = 0; n <= WINDOW; n++) {
		if (n == WINDOW || !st->arrivals[n]) {
			if (n > from)
				tell("%u-%u", from, n - 1);
			from = n + 1;
		}
	}
}

static void tell_all(void)
{
	tell("%s", recorded_text(sum_fields, &sink.sums));
	tell("%s", recorded_text(seen_fields, seen()));
	if (sink.timed && sink.lines)
		tell("delays=%u of %u-%u jitter=%u%s", (unsigned)sink.line[0]->delay->count,
		     (unsigned)sink.line[0]->delay->min, (unsigned)sink.line[0]->delay->max,
		     (unsigned)line_jitter(sink.line[0]),
		     arrivals_clock_doubt(seen()) ? " in doubt" : "");
	for (unsigned i = 0; i < streams.n; i++) {
		const struct sink_stream *st = &streams.at[i];

		tell("| %u%s from %s tail %s next %s", st->id,
		     sink_streams_has(&streams, i) ? "" : " closed", text_of(st->base),
		     text_of(st->tail), text_of(sink.next[i]));
		if (st->ahead)
			tell("ahead %s", text_of(st->ahead));
		if (st->ended)
			tell("ended %s %" PRIu64 " %" PRIu64, text_of(st->end_base), st->end_sent,
			     st->end_refused);
		if (st->life)
			tell("life %u", st->life);
		if (streams.window == WINDOW)
			tell_marked(st);
	}
	for (unsigned i = 0; streams.table && i < 4 && streams.bytes; i++)
		tell("%s%u:%u at %s", i ? "" : "| table ", table.key[i] >> 16,
		     table.key[i] & UINT16_MAX, text_of(table.at[i]));
	for (unsigned i = 0; i < seen()->flows; i++)
		tell("| %u %s %u %u", seen()->flow[i].stream, seen()->flow[i].source,
		     (unsigned)seen()->flow[i].delivered, (unsigned)seen()->flow[i].duplicated);
}

static void take_packets(uint16_t id, char *text)
{
	for (char *word; *(word = recorded_word(&text));) {
		uint64_t from = number_of(word);
		const char *to = strchr(word, '-'), *step = strchr(word, '/');

		for (uint64_t n = from; n <= (to ? number_of(to + 1) : from);
		     n += step ? strtoull(step + 1, NULL, 10) : 1)
			arrive(id, n);
	}
}

/* "LENGTH HAVE CHANGED SENT READ": of the payload, the byte that is changed, and ns since TAI. */
static void take_odd(uint16_t id, uint64_t number, const char *text)
{
	uint8_t p[2 * LEN] = {};
	unsigned len, have, changed;
	int64_t sent, read;

	assert_int_equal(
		sscanf(text, "%u %u %u %" SCNd64 " %" SCNd64, &len, &have, &changed, &sent, &read),
		5);
	flow_fill(p, len < LEN ? len : LEN);
	flow_stamp(p, len, STAMP_WORD(id, number), TAI + (uint64_t)sent);
	p[changed] ^= changed != 0;
	sink_packet(&sink, p, have, len, TAI + (uint64_t)read);
}

static void take_end(char *text)
{
	const uint16_t id = (uint16_t)atoi(recorded_word(&text));
	const uint64_t base = number_of(recorded_word(&text));
	const uint64_t sent = strtoull(recorded_word(&text), NULL, 10);
	const struct end_record e = end_record(id, base, sent, strtoull(text, NULL, 10));

	sink_packet(&sink, &e, sizeof(e), sizeof(e), TAI);
}

/* With each bit from the first on flipped, and of each length below the whole. */
static void take_broken(const void *whole, unsigned len, unsigned first)
{
	uint8_t p[LEN];

	memcpy(p, whole, LEN < len ? LEN : len);
	for (unsigned bit = first; bit < len * 8; bit++) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		sink_packet(&sink, p, len, len, TAI);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (unsigned n = 0; n < len; n++)
		sink_packet(&sink, p, n, n, TAI);
}

/* Any time can be in a stamp: for the sanitizer, that nothing overflows. */
static void take_any_times(uint16_t id)
{
	static const uint64_t times[] = {0, UINT64_MAX, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, TAI};

	for (unsigned i = 0; i < 36; i++) {
		sink_packet(&sink, payload(id, BASE + 2 * i, times[i % 6]), LEN, LEN, TAI);
		sink_packet(&sink, payload(id, BASE + 2 * i + 1, times[i / 6]), LEN, LEN, 1);
	}
}

static void take_line(void *arg, const char *verb, char *text)
{
	static const uint16_t sizes[] = {LEN, 20};
	static const struct shape shape = {
		.threads = 1, .flows = 1, .payload = sizes, .n_payload = 2};
	const unsigned first = (unsigned)atoi(text);
	const char *rest = strchr(text, ' ');

	if (!strcmp(verb, "case")) {
		end(NULL);
		begin_known(NULL);
	} else if (!strcmp(verb, "learns")) {
		end(NULL);
		begin(true);
	} else if (!strcmp(verb, "table")) { /* which programs write, too */
		streams.bytes = &arrivals[0][0];
		streams.window = WINDOW;
		sscanf(text, "%u %u", &streams.room, &table.key[0]);
	} else if (!strcmp(verb, "take")) {
		recorded_word(&text);
		take_packets((uint16_t)first, text);
	} else if (!strcmp(verb, "odd")) {
		recorded_word(&text);
		rest = recorded_word(&text);
		take_odd((uint16_t)first, number_of(rest), text);
	} else if (!strcmp(verb, "stamps")) {
		take_broken(payload((uint16_t)first, BASE, TAI), STAMP_LEN, 0);
	} else if (!strcmp(verb, "ends")) { /* not of the magic, which is another packet's */
		const struct end_record e = end_record((uint16_t)first, BASE, 1000, 7);

		take_broken(&e, sizeof(e), 16);
	} else if (!strcmp(verb, "times")) {
		take_any_times((uint16_t)first);
	} else if (!strcmp(verb, "changed")) { /* each byte after the time */
		for (unsigned at = STAMP_TIME_LEN; at < LEN; at++) {
			char odd[32];

			snprintf(odd, sizeof(odd), "%u %u %u 0 0", LEN, LEN, at);
			take_odd((uint16_t)first, BASE + at, odd);
		}
	} else if (!strcmp(verb, "source")) {
		sink.source = (struct endpoint){AF_INET, .port = (uint16_t)first};
		sink.source.ip4.s_addr = htobe32(198u << 24);
	} else if (!strcmp(verb, "payload")) {
		sink.payload = first;
	} else if (!strcmp(verb, "any")) {
		sink.fill = NULL;
	} else if (!strcmp(verb, "timed")) {
		sink.timed = true;
	} else if (!strcmp(verb, "shape")) {
		sink.shape = &shape;
	} else if (!strcmp(verb, "end")) {
		take_end(text);
	} else if (!strcmp(verb, "tail")) {
		sink_streams_set_tail(&streams, first, number_of(rest + 1));
	} else if (!strcmp(verb, "close")) {
		sink_streams_close(&streams, first);
	} else if (!strcmp(verb, "open")) {
		sink_streams_open(&streams, first);
	} else if (!strcmp(verb, "drop")) {
		sink_streams_empty(&streams, first, streams.at[first].base, sink.next[first]);
		sink.next[first] = 0;
		sink_streams_drop(&streams, first);
	} else {
		assert_string_equal(verb, "all");
		tell_all();
	}
}

CASE_WITH(recorded, begin_known, end)
{
	recorded_stories("tests/fixtures/sink", take_line, NULL);
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
	arrive(STREAM0 + 1, BASE);
	assert_int_equal(sink.sums.foreign, 1);
	arrive(STREAM0 + 3 * (TRACE_STREAMS - 1), BASE + 1);
	assert_int_equal(streams.n, TRACE_STREAMS);
	assert_int_equal(sink.sums.delivered, TRACE_STREAMS + 1);
	assert_int_equal(sink.sums.duplicated + sink.sums.damaged + sink.sums.invalid, 0);
	assert_int_equal(seen()->order.packets, 0);
	sink_streams_forget(&streams);
	assert_int_equal(streams.n, 0);
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
