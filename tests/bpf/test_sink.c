// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The receiving program, run on single frames. */
#include <sched.h>
#include <sys/mman.h>

#include "cases.h"
#include "bpf/helpers.h"
#include "recorded.h"
#include "traffic/frames.h"
#include "traffic/rx.h"

#define STREAM0 300
#define STREAMS 2
#define BASE	(9ULL << 32)
#define WINDOW	TRACE_PAGE_SIZE
#define PORT	28779
#define PAYLOAD 100
#define ROOM	2048

static const struct trace_config trace = {
	.base = BASE, .window = WINDOW, .stream0 = STREAM0, .streams = STREAMS, .port = PORT};

struct receiving {
	struct rx_prog *prog;
	int arrivals_fd, seen_fd, tails_fd;
	uint8_t *arrivals, *seen;
	uint8_t frame[ROOM];
	unsigned length;
};

static uint8_t *make_map(int *fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	uint8_t *at;

	*fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bytes", 4, TRACE_PAGE_SIZE, STREAMS, &opts);
	assert_true(*fd >= 0);
	at = mmap(NULL, STREAMS * WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_true(at != MAP_FAILED);
	return at;
}

static int make_tails(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tails", 4, sizeof(struct trace_tails), 1,
				&opts);

	assert_true(fd >= 0);
	set_tails(fd, BASE, BASE);
	return fd;
}

static void load(struct receiving *r, bool pass)
{
	struct rx_prog_config cfg = {.trace = &trace, .payload = PAYLOAD, .pass = pass};
	struct error err = {};
	cpu_set_t one;

	if (geteuid())
		skip();
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one); /* order is kept per CPU */
	sched_setaffinity(0, sizeof(one), &one);
	memset(r, 0, sizeof(*r));
	r->arrivals = make_map(&r->arrivals_fd);
	r->seen = make_map(&r->seen_fd);
	cfg.arrivals_fd = r->arrivals_fd;
	cfg.seen_fd = r->seen_fd;
	cfg.tails_fd = r->tails_fd = make_tails();
	assert_int_equal(rx_prog_open(&r->prog, &cfg, &err), 0);
}

static void unload(struct receiving *r)
{
	rx_prog_close(r->prog);
	munmap(r->arrivals, STREAMS * WINDOW);
	munmap(r->seen, STREAMS * WINDOW);
	close(r->arrivals_fd);
	close(r->seen_fd);
	close(r->tails_fd);
}

static uint8_t *build(struct receiving *r, int family, uint16_t port, unsigned payload)
{
	struct flow flow = {.family = family, .dst_port = port, .src_port = 1, .payload = payload};
	int length = proto_build(r->frame, sizeof(r->frame), &flow, 0);

	assert_true(length > 0);
	r->length = (unsigned)length;
	return r->frame + proto_payload_offset(family);
}

static unsigned run(const struct receiving *r)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = r->frame, .data_size_in = r->length);

	assert_int_equal(bpf_prog_test_run_opts(r->prog->fd, &opts), 0);
	return opts.retval;
}

static unsigned arrive(struct receiving *r, int family, unsigned slot, uint64_t number)
{
	flow_stamp(build(r, family, PORT, PAYLOAD), PAYLOAD, STAMP_WORD(STREAM0 + slot, number), 0);
	return run(r);
}

static struct sink_count counts(const struct receiving *r)
{
	struct sink_count c;

	assert_int_equal(rx_prog_read(r->prog, &c), 0);
	return c;
}

#define SUM(member) FIELD(struct sink_count, member)
static const struct recorded_field sums[] = {
	SUM(taken),	  SUM(reordered),    SUM(sums.delivered), SUM(sums.duplicated), SUM(sums.late),
	SUM(sums.damaged), SUM(sums.invalid), SUM(sums.foreign),   {0}};

/* Tells the sums, the next number of the first stream, and the bytes of numbers. */
static void tell_all(const struct receiving *r)
{
	const struct sink_count c = counts(r);

	assert_true(!c.taken || (c.sums.first_ns && c.sums.last_ns >= c.sums.first_ns));
	tell("%s", recorded_text(sums, &c));
	if (c.next[0])
		tell("next %u", (unsigned)(c.next[0] - BASE));
	for (unsigned i = 0; i < STREAMS * WINDOW; i++) {
		if (r->arrivals[i])
			tell("%u:%u", i, r->arrivals[i]);
		if (r->seen[i] & SEEN_MASK)
			tell("%u seen %u", i, r->seen[i] & SEEN_MASK);
	}
}

/* Differences from the right packet: `at` is the byte of which bits are flipped. */
struct odd {
	int port, longer;
	unsigned cut, at, flip;
	bool zero; /* no sequence header */
};

#define ODD(member) FIELD(struct odd, member)
static const struct recorded_field odd_fields[] = {ODD(port), ODD(longer), ODD(cut), ODD(at),
						   ODD(flip), ODD(zero),   {0}};

static void take_line(void *arg, const char *verb, char *text)
{
	static struct receiving r;
	const bool six = verb[0] == '6';
	struct odd odd = {};
	uint8_t *payload;
	unsigned verdict;
	int slot, number;

	if (!strcmp(verb, "case")) {
		if (r.prog)
			unload(&r);
		load(&r, strstr(text, "--pass"));
	} else if (!strcmp(verb, "tail")) {
		set_tails(r.tails_fd, BASE + strtoull(text, NULL, 10), BASE);
	} else if (!strcmp(verb, "all")) {
		tell_all(&r);
	} else { /* 4 or 6 STREAM NUMBER */
		sscanf(text, "%d %d", &slot, &number);
		recorded_read(odd_fields, text, &odd);
		payload = build(&r, six ? AF_INET6 : AF_INET, (uint16_t)(PORT + odd.port),
				(unsigned)(PAYLOAD + odd.longer));
		flow_stamp(payload, (unsigned)(PAYLOAD + odd.longer),
			   STAMP_WORD(STREAM0 + slot, BASE + (uint64_t)(int64_t)number), 0);
		if (odd.zero)
			memset(payload, 0, STAMP_LEN);
		payload[odd.at] ^= (uint8_t)odd.flip;
		r.length -= odd.cut;
		verdict = run(&r);
		assert_true(verdict == XDP_DROP || verdict == XDP_PASS);
		tell("%s", verdict == XDP_DROP ? "taken" : "passes");
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/sinks", take_line, NULL);
}

static void load_learning(struct receiving *r)
{
	const struct trace_config any = {.port = PORT};
	const struct rx_prog_config cfg = {.trace = &any, .payload = PAYLOAD, .learn = true};
	struct error err = {};

	if (geteuid())
		skip();
	memset(r, 0, sizeof(*r));
	assert_int_equal(rx_prog_open(&r->prog, &cfg, &err), 0);
}

/* Unknown streams, two of them in the middle. */
CASE(test_learns_streams)
{
	const uint64_t first[] = {BASE + 3, BASE + 3 * SINK_WINDOW, BASE + (7ULL << 32) + 1};
	struct receiving r;
	uint8_t *arrivals;

	load_learning(&r);
	assert_int_equal(r.prog->tails->key[0], 0);
	for (unsigned i = 0; i < N_ELEMENTS(first); i++) {
		const uint64_t base = first[i] & ~(uint64_t)UINT32_MAX;
		uint64_t tail;

		assert_int_equal(arrive(&r, i % 2 ? AF_INET6 : AF_INET, 5 * i, first[i]), XDP_DROP);
		assert_int_equal(arrive(&r, AF_INET, 5 * i, first[i] + 1), XDP_DROP);
		assert_int_equal(arrive(&r, AF_INET, 5 * i, first[i]), XDP_DROP);
		arrivals = r.prog->arrivals + i * SINK_WINDOW;
		tail = r.prog->tails->at[i];
		assert_int_equal(r.prog->tails->key[i], (STREAM0 + 5 * i) << 16 | base >> 32);
		assert_true(!tail || (tail > base && tail <= first[i]));
		assert_int_equal(arrivals[first[i] % SINK_WINDOW], 1);
		assert_int_equal(arrivals[(first[i] + 1) % SINK_WINDOW], 1);
		assert_int_equal(arrivals[(first[i] + 2) % SINK_WINDOW], 0);
		assert_int_equal(counts(&r).next[i], first[i] + 2);
	}
	assert_int_equal(r.prog->tails->key[N_ELEMENTS(first)], 0);
	assert_int_equal(counts(&r).sums.delivered, 2 * N_ELEMENTS(first));
	assert_int_equal(counts(&r).sums.duplicated, N_ELEMENTS(first));
	rx_prog_close(r.prog);
}

CASE(test_learns_no_more_than_it_holds)
{
	struct receiving r;

	load_learning(&r);
	for (unsigned i = 0; i < SINK_LEARNED; i++)
		assert_int_equal(arrive(&r, AF_INET, i, BASE), XDP_DROP);
	assert_int_equal(arrive(&r, AF_INET, SINK_LEARNED, BASE), XDP_PASS);
	assert_int_equal(counts(&r).sums.foreign, 1);
	/* numbers far before or after a known stream */
	r.prog->tails->at[0] = BASE + 10;
	assert_int_equal(arrive(&r, AF_INET, 0, BASE + 9), XDP_PASS);
	assert_int_equal(counts(&r).sums.late, 1);
	assert_int_equal(arrive(&r, AF_INET, 0, BASE + 10 + SINK_WINDOW), XDP_PASS);
	assert_int_equal(counts(&r).sums.foreign, 2);
	assert_int_equal(r.prog->tails->key[SINK_LEARNED - 1] >> 16, STREAM0 + SINK_LEARNED - 1);
	rx_prog_close(r.prog);
}

int main(void)
{
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return run_cases(NULL, NULL);
}
