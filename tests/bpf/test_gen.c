// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sending program, run on single frames that are not sent. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "base/clock.h"
#include "bpf/helpers.h"
#include "traffic/shape.h"
#include "traffic/frames.h"
#include "gen_abi.h"
#include "traffic/tx.h"
#include "gen.skel.h"
#include "trace_abi.h"
#include "unit/residue.h"

#define STREAM	 77
#define BASE	 (5ULL << 32)
#define SRC_PORT 40000
#define LOOPBACK 1
#define ROOM	 2048

struct sending {
	struct flow flow;
	struct gen_bpf *skel;
	struct gen_state *state;
	unsigned length;
	uint8_t template[ROOM], frame[ROOM];
};

static void load_shaped(struct sending *s, int family, unsigned payload, unsigned flows, bool paced,
			const struct shape *shape, unsigned slot)
{
	struct stream stream = {.id = STREAM, .slot = (uint16_t)slot, .base = BASE, .next = BASE};
	const struct sender_config sender = {.flow = &s->flow};
	const struct tx_config cfg = {
		.sender = &sender, .stream = &stream, .flows = flows, .shape = shape};
	__u32 zero = 0, ifindex = LOOPBACK;
	struct flow one;
	int length;

	memset(s, 0, sizeof(*s));
	s->flow = (struct flow){.family = family,
				.src_mac = {2, 0, 0, 0, 0, 1},
				.dst_mac = {2, 0, 0, 0, 0, 2},
				.dst_port = 28779,
				.src_port = SRC_PORT,
				.flows = flows,
				.payload = payload,
				.time = payload >= STAMP_TIME_LEN};
	inet_pton(AF_INET, "198.18.0.1", &s->flow.src4);
	inet_pton(AF_INET, "198.18.0.2", &s->flow.dst4);
	inet_pton(AF_INET6, "2001:2::1", &s->flow.src6);
	inet_pton(AF_INET6, "2001:2::2", &s->flow.dst6);
	one = s->flow;
	if (shape)
		shape_tuple(shape, &s->flow, 0, &one);
	length = proto_build(s->template, sizeof(s->template), &one, 0);
	assert_true(length > 0);
	s->length = (unsigned)length;

	s->skel = gen_bpf__open();
	assert_non_null(s->skel);
	assert_int_equal(tx_xdp_describe((void *)&s->skel->rodata->gen, s->template, &cfg), 0);
	((struct gen_config *)&s->skel->rodata->gen)->paced = paced;
	((struct gen_config *)&s->skel->rodata->gen)->time = s->flow.time;
	assert_int_equal(gen_bpf__load(s->skel), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(s->skel->maps.device), &zero, &ifindex, 0),
			 0);
	s->state = (struct gen_state *)&s->skel->bss->state;
	s->state->next = BASE;
	s->state->limit = BASE + 1000;
	s->state->port = s->skel->rodata->gen.from_port;
	s->state->address = s->skel->rodata->gen.from_address;
}

static void load(struct sending *s, int family, unsigned payload, unsigned flows, bool paced)
{
	load_shaped(s, family, payload, flows, paced, NULL, 0);
}

/* Runs the program on `input` and stores the output in s->frame. */
static unsigned run(struct sending *s, const uint8_t *input)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = input, .data_size_in = s->length,
		    .data_out = s->frame, .data_size_out = sizeof(s->frame));

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(s->skel->progs.gen_stream), &opts),
			 0);
	assert_int_equal(opts.data_size_out, s->length);
	return opts.retval;
}

static void assert_checksum(const struct sending *s)
{
	assert_checksums(s->frame + ETH_BYTES, s->flow.family);
}

static void assert_stamped(const struct sending *s, uint64_t number)
{
	unsigned length = 0;
	const uint8_t *payload =
		proto_udp_payload(s->frame, s->length, s->flow.family, s->flow.dst_port, &length);
	struct stamp stamp;

	assert_non_null(payload);
	assert_int_equal(length, s->flow.payload);
	memcpy(&stamp, payload, sizeof(stamp));
	assert_int_equal(be16toh(stamp.magic), STAMP_MAGIC);
	assert_true(be64toh(stamp.word) == STAMP_WORD(STREAM, number));
	assert_true(stamp.check == ~stamp.word);
}

/* The next packet has this number, and is right. */
static void assert_sends(struct sending *s, uint64_t number)
{
	assert_int_equal(run(s, s->template), XDP_REDIRECT);
	assert_stamped(s, number);
	assert_checksum(s);
}

static const int families[] = {AF_INET, AF_INET6};

/* The shortest frames have no room for a time: nothing is written after the sequence header. */
CASE(test_numbers_follow_each_other)
{
	static const unsigned payloads[] = {512, STAMP_LEN};
	struct sending s;

	for (unsigned i = 0; i < 4; i++) {
		load(&s, families[i % 2], payloads[i / 2], 1, false);
		for (unsigned n = 0; n < 3; n++)
			assert_sends(&s, BASE + n);
		assert_true(s.state->next == BASE + 3);
		gen_bpf__destroy(s.skel);
	}
}

CASE(test_carries_the_time)
{
	struct stamp_time t;
	struct timespec now;
	struct sending s;

	load(&s, AF_INET, STAMP_TIME_LEN, 1, false);
	assert_int_equal(run(&s, s.template), XDP_REDIRECT);
	clock_gettime(CLOCK_TAI, &now);
	memcpy(&t, s.frame + proto_payload_offset(AF_INET) + STAMP_TIME_OFF, sizeof(t));
	assert_true(t.check == ~t.ns);
	assert_true(be64toh(t.ns) <= now.tv_sec * 1000000000ULL + now.tv_nsec);
	assert_true(be64toh(t.ns) > (now.tv_sec - 60) * 1000000000ULL);
	assert_checksum(&s);
	gen_bpf__destroy(s.skel);
}

/* The kernel reuses a page with the changes of a router or another program. */
CASE(test_writes_spoilt_headers_anew)
{
	uint8_t spoilt[ROOM];
	struct sending s;

	for (unsigned f = 0; f < 2; f++) {
		load(&s, families[f], 64, 1, false);
		memcpy(spoilt, s.template, s.length);
		memset(spoilt, 0xa5, proto_payload_offset(families[f]) + STAMP_LEN);
		assert_int_equal(run(&s, s.template), XDP_REDIRECT);
		memcpy(s.template, s.frame, s.length);
		s.state->next = BASE;
		assert_int_equal(run(&s, spoilt), XDP_REDIRECT);
		/* all alike but the time */
		assert_memory_equal(s.frame, s.template,
				    proto_payload_offset(families[f]) + STAMP_LEN);
		assert_checksum(&s);
		gen_bpf__destroy(s.skel);
	}
}

CASE(test_flows_take_turns)
{
	struct sending s;

	for (unsigned f = 0; f < 2; f++) {
		unsigned at = proto_payload_offset(families[f]) - 8;

		load(&s, families[f], 100, 3, false);
		for (unsigned i = 0; i < 7; i++) {
			assert_sends(&s, BASE + i);
			assert_int_equal(s.frame[at] << 8 | s.frame[at + 1], SRC_PORT + i % 3);
		}
		gen_bpf__destroy(s.skel);
	}
}

/* The sizes equal the sizes of engines that ask the shape for each packet. */
CASE(test_flows_of_many_addresses)
{
	static const char *const first[] = {"198.18.0.253", "2001:2::fffd"};
	struct shape shape = {.threads = 2, .src_port = {65533, 3}, .flows = 1000};
	struct sending s;
	struct flow want;
	uint64_t from;

	for (unsigned i = 0; i < 4; i++) {
		unsigned f = i / 2, slot = i % 2, at = proto_payload_offset(families[f]) - 8;
		uint64_t n = shape_flows_of(&shape, slot, &from);

		shape.src_addr = (struct shape_addrs){.family = families[f], .n = 70000};
		inet_pton(families[f], first[f], shape.src_addr.first);
		load_shaped(&s, families[f], 100, 1, false, &shape, slot);
		for (unsigned k = 0; k < 1000; k++) {
			assert_sends(&s, BASE + k);
			shape_tuple(&shape, &s.flow, from + k % n, &want);
			assert_int_equal(s.frame[at] << 8 | s.frame[at + 1], want.src_port);
			if (f)
				assert_memory_equal(s.frame + 22, &want.src6, 16);
			else
				assert_memory_equal(s.frame + 26, &want.src4, 4);
		}
		gen_bpf__destroy(s.skel);
	}
}

/* The program counts in 32 bits only. */
CASE(test_addresses_that_overflow)
{
	const struct shape shape = {
		.threads = 1,
		.src_addr = {.family = AF_INET6, .first = {[12] = 255, 255, 255, 254}, .n = 4},
		.flows = 3};
	const struct flow flow = {.family = AF_INET6};
	const struct sender_config sender = {.flow = &flow};
	struct stream stream = {.id = STREAM};
	const struct tx_config cfg = {.sender = &sender, .stream = &stream, .shape = &shape};
	uint8_t frame[GEN_HEADER_MAX] = {[34] = 255, 255, 255, 254};
	struct gen_config gen;

	assert_int_equal(tx_xdp_describe(&gen, frame, &cfg), -ERANGE);
	frame[37] = 253;
	assert_int_equal(tx_xdp_describe(&gen, frame, &cfg), 0);
}

/* Many ports produce all kinds of sums, including 0, which has to be written as 0xffff. */
CASE(test_checksum_of_every_port)
{
	struct sending s;

	load(&s, AF_INET, STAMP_LEN, 65536, false);
	s.state->limit = BASE + 65536;
	for (unsigned i = 0; i < 65536; i++) {
		assert_int_equal(run(&s, s.template), XDP_REDIRECT);
		assert_checksum(&s);
	}
	gen_bpf__destroy(s.skel);
}

CASE(test_stops_at_the_limit)
{
	struct sending s;

	load(&s, AF_INET, 64, 1, false);
	s.state->limit = BASE + 2;
	assert_int_equal(run(&s, s.template), XDP_REDIRECT);
	assert_true(s.state->first_ns && !s.state->last_ns);
	assert_int_equal(run(&s, s.template), XDP_REDIRECT);
	assert_true(s.state->last_ns >= s.state->first_ns);
	assert_int_equal(run(&s, s.template), XDP_DROP);
	assert_true(s.state->next == BASE + 2);
	gen_bpf__destroy(s.skel);
}

static void plan(struct sending *s, unsigned i, unsigned packets, uint64_t due_ns,
		 uint64_t period_ns, unsigned group)
{
	s->skel->bss->segments[i] = (struct gen_segment){
		.until = (i ? s->skel->bss->segments[i - 1].until : BASE) + packets,
		.due = due_ns << GEN_PERIOD_SHIFT,
		.period = period_ns << GEN_PERIOD_SHIFT,
		.group = group,
	};
}

static unsigned run_until_dropped(struct sending *s)
{
	unsigned n = 0;

	while (run(s, s->template) == XDP_REDIRECT)
		n++;
	return n;
}

#define HOUR 3600000000000ULL

/* A packet that is not due does not use a number. */
CASE(test_keeps_the_pace)
{
	struct sending s;

	load(&s, AF_INET, 64, 1, true);
	plan(&s, 0, 1000, 0, HOUR, 1);
	s.state->start_ns = clock_now() + HOUR;
	assert_int_equal(run(&s, s.template), XDP_DROP);
	s.state->start_ns = 0;
	assert_int_equal(run_until_dropped(&s), 1);
	assert_true(s.state->start_ns);
	assert_true(s.state->next == BASE + 1);
	assert_true(s.state->due == HOUR << GEN_PERIOD_SHIFT);
	assert_int_equal(s.state->shift, 0);
	gen_bpf__destroy(s.skel);
}

/*
 * Late packets are caught up: immediately up to two milliseconds' worth, then faster than the
 * schedule, in total at most the debt. Later packets are skipped.
 */
CASE(test_catches_up)
{
	const uint64_t late = 60000000, period = 500000;
	struct sending s;
	uint64_t begin;
	unsigned n;

	load(&s, AF_INET, 64, 1, true);
	plan(&s, 0, 1000, 0, period, 1);
	begin = clock_now();
	s.state->start_ns = begin - late;
	n = run_until_dropped(&s);
	if (clock_now() - begin < period / 2) /* nothing held us up */
		assert_in_range(n, PACE_DEPTH_NS / period, 3 * PACE_DEPTH_NS / period);
	while (s.state->next < BASE + late / period)
		run(&s, s.template);
	/* the whole of it takes about 4/5 of the time that it was late */
	assert_true(clock_now() - begin >= late * 4 / 5 - 2 * PACE_DEPTH_NS);
	if (clock_now() - begin + late < PACE_DEBT_NS)
		assert_int_equal(s.state->shift, 0);

	s.state->start_ns -= 3 * PACE_DEBT_NS;
	run(&s, s.template);
	assert_true(s.state->shift >> GEN_PERIOD_SHIFT >= 2 * (uint64_t)PACE_DEBT_NS - late);
	gen_bpf__destroy(s.skel);
}

/* The pieces of a schedule follow each other, in groups and after silences. */
CASE(test_follows_the_segments)
{
	struct sending s;

	load(&s, AF_INET, 64, 1, true);
	plan(&s, 0, 7, 0, 0, 1);
	plan(&s, 1, 6, 0, HOUR, 4); /* four at once, then two of the next four */
	plan(&s, 2, 5, 2 * HOUR, 0, 5);
	assert_int_equal(run_until_dropped(&s), 7 + 4);
	assert_int_equal(s.state->segment, 1);
	s.state->due = 0; /* an hour later */
	s.state->allowed = 0;
	assert_int_equal(run_until_dropped(&s), 2);
	assert_int_equal(s.state->segment, 2);
	assert_true(s.state->due == 2 * HOUR << GEN_PERIOD_SHIFT);
	s.state->due = 0;
	s.state->allowed = 0;
	s.state->limit = BASE + 7 + 6 + 5;
	assert_int_equal(run_until_dropped(&s), 5);
	gen_bpf__destroy(s.skel);
}

/* The tracer resolves numbers by the words in the order of redirection. */
CASE(test_leaves_the_words)
{
	int cpus = libbpf_num_possible_cpus();
	struct trace_batch *each = calloc((size_t)cpus, sizeof(*each));
	unsigned seen = 0;
	struct sending s;
	__u32 zero = 0;

	assert_non_null(each);
	load(&s, AF_INET, 64, 1, false);
	for (unsigned i = 0; i < 5; i++)
		run(&s, s.template);
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(s.skel->maps.batch), &zero, each), 0);
	for (int c = 0; c < cpus; c++) {
		assert_int_equal(each[c].head, 0);
		for (unsigned i = 0; i < each[c].tail; i++, seen++)
			assert_true(STAMP_STREAM(each[c].word[i]) == STREAM);
	}
	assert_int_equal(seen, 5);
	gen_bpf__destroy(s.skel);
	free(each);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(NULL, NULL);
}
