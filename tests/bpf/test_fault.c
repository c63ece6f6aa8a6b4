// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The programs that make losses: the share asked for, of the flow only, and nothing else. */
#include <math.h>
#include <time.h>

#include "cases.h"
#include "bpf/helpers.h"
#include "fault_abi.h"
#include "trace_abi.h"
#include "fault.skel.h"
#include "recorded.h"

#define UNSPEC	 UINT32_MAX /* TC_ACT_UNSPEC */
#define SHOT	 2	    /* TC_ACT_SHOT */
#define STOLEN	 4	    /* TC_ACT_STOLEN */
#define REDIRECT 7	    /* TC_ACT_REDIRECT */
#define KEEP_ALL UINT32_MAX /* of a socket filter */
#define ALWAYS	 (1ULL << 32)
#define RUNS	 20000
#define SIGMAS	 6 /* wrong once in 500 million tests */

static struct fault_bpf *load(struct fault_config fault)
{
	struct fault_bpf *skel = fault_bpf__open();

	assert_non_null(skel);
	skel->rodata->fault = fault;
	skel->rodata->cfg = (struct trace_config){.base = TEST_BASE, .stream0 = TEST_STREAM};
	skel->rodata->cfg.window = TRACE_PAGE_SIZE;
	skel->rodata->cfg.streams = 1;
	skel->rodata->cfg.port = TEST_PORT;
	assert_int_equal(fault_bpf__load(skel), 0);
	set_tails(bpf_map__fd(skel->maps.tails), TEST_BASE, TEST_BASE);
	return skel;
}

static int64_t run_on(const struct bpf_program *prog, struct frame *f)
{
	return run_program(bpf_program__fd(prog), f, f->len);
}

/*
 * Counts in how many of RUNS runs the program returns `verdict` for an ordinary packet. All other
 * runs must return `other`.
 */
static unsigned count_verdicts(const struct bpf_program *prog, uint32_t verdict, uint32_t other)
{
	struct frame f = frame_make((struct frame_spec){});
	unsigned n = 0;

	for (unsigned i = 0; i < RUNS; i++) {
		int64_t got = run_on(prog, &f);

		assert_true(got == verdict || got == other);
		n += got == verdict;
	}
	return n;
}

static void assert_share(unsigned n, double share)
{
	double sigma = sqrt(RUNS * share * (1 - share));

	if (fabs(n - RUNS * share) > SIGMAS * sigma)
		fail_msg("%u of %u, not a share of %g", n, RUNS, share);
}

static const double shares[] = {0, 0.01, 0.2, 0.5, 1};

/* A frame with other bytes after the IP header, or a header of options for each hop. */
struct shown {
	struct frame_spec spec;
	uint8_t at[2];
	bool hop_by_hop;
};

#define SHOWN(member) FIELD(struct shown, member)
static const struct recorded_field shown_fields[] = {
	SHOWN(spec.six),      SHOWN(spec.options),
	SHOWN(spec.fragment), SHOWN(spec.ethertype),
	SHOWN(spec.protocol), FIELDS(struct shown, at, NULL),
	SHOWN(hop_by_hop),    {0}};

#define CONFIG(member) FIELD(struct fault_config, member)
static const struct recorded_field config_fields[] = {
	CONFIG(ip_header_share), CONFIG(udp_header_share), CONFIG(frag_share), CONFIG(frag_way),
	{0}};

/* Tells the verdict, each byte that was changed, and whether the header's checksum is wrong. */
static void take_line(void *arg, const char *verb, char *text)
{
	static struct fault_bpf *skel;
	struct fault_config config = {};
	struct shown shown = {};
	struct frame f, before;
	uint32_t verdict;

	if (!strcmp(verb, "case"))
		return;
	if (!strcmp(verb, "load")) {
		fault_bpf__destroy(skel);
		recorded_read(config_fields, text, &config);
		skel = load(config);
		return;
	}
	recorded_read(shown_fields, text, &shown);
	f = frame_make(shown.spec);
	if (shown.at[0] || shown.at[1])
		memcpy(f.at + f.udp, shown.at, 2);
	if (shown.hop_by_hop) { /* whole, so that a trace of the host can parse the packet */
		f.at[f.l3 + 6] = IPPROTO_HOPOPTS;
		f.at[f.udp] = IPPROTO_ICMPV6;
		f.at[f.udp + 1] = 0;
	}
	before = f;
	verdict = (uint32_t)run_on(bpf_object__find_program_by_name(skel->obj, verb), &f);
	assert_true(verdict == SHOT || verdict == UNSPEC);
	tell("%s", verdict == SHOT ? "shot" : "passes");
	for (unsigned i = 0; i < FRAME_MAX; i++) {
		if (f.at[i] != before.at[i])
			tell("%d:%02x", (int)(i - f.l3), f.at[i]);
	}
	if (!shown.spec.six && sum16(f.at + f.l3, 20 + shown.spec.options, 0) != 0xffff)
		tell("bad header");
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/faulty", take_line, NULL);
}

/* Policies are for packets with the mark, which nothing else shows. */
CASE(marks_for_policies)
{
	struct fault_bpf *skel = load((struct fault_config){.mark_share = ALWAYS});
	struct __sk_buff in = {.mark = 5}, out = {};
	struct frame f = frame_make((struct frame_spec){});
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.at, .data_size_in = f.len, .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .ctx_out = &out, .ctx_size_out = sizeof(out));

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.fault_spoil), &opts),
			 0);
	assert_int_equal(out.mark, 5 | FAULT_MARK_POLICY);
	fault_bpf__destroy(skel);
}

#define MERGED 3

static void put_lengths(struct frame *f, bool six)
{
	uint8_t *ip = f->at + f->l3;

	put16(f->at + f->udp + 4, f->len - f->udp);
	put16(ip + (six ? 4 : 2), f->len - (six ? f->udp : f->l3));
	if (six)
		return;
	put16(ip + 10, 0);
	put16(ip + 10, ~sum16(ip, 20, 0));
}

/* Numbers 0, 1, 2 as GRO merges them. */
static struct frame merged(bool six, unsigned *size)
{
	struct frame f = frame_make((struct frame_spec){.six = six});

	*size = f.len - f.payload;
	for (unsigned i = 1; i < MERGED; i++) {
		const uint64_t word = STAMP_WORD(TEST_STREAM, TEST_BASE + i);
		struct frame next = frame_make((struct frame_spec){.six = six, .word = word});

		memcpy(f.at + f.len, next.at + next.payload, *size);
		f.len += *size;
	}
	put_lengths(&f, six);
	return f;
}

/* All numbers stay in it, the last one in front; another time it goes on as it is. */
CASE(merged_packets_get_another_front)
{
	struct fault_bpf *skel = load((struct fault_config){.merged_share = ALWAYS});
	int fd = bpf_program__fd(skel->progs.fault_merged);

	for (int six = 0; six < 2; six++) {
		struct __sk_buff in = {.gso_segs = MERGED}, out = {};
		struct frame f = merged(six, &in.gso_size), got = f, expected = f;
		unsigned size = in.gso_size;
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.at, .data_size_in = f.len,
			    .data_out = got.at, .data_size_out = sizeof(got.at), .ctx_in = &in,
			    .ctx_size_in = sizeof(in), .ctx_out = &out,
			    .ctx_size_out = sizeof(out));

		assert_int_equal(bpf_prog_test_run_opts(fd, &opts), 0);
		assert_int_equal(opts.retval, REDIRECT);
		assert_int_equal(opts.data_size_out, f.len + size);
		assert_int_equal(out.mark, FAULT_MARK_AGAIN);
		expected.len += size;
		put_lengths(&expected, six);
		assert_memory_equal(got.at, expected.at, f.payload);
		assert_memory_equal(got.at + f.payload, f.at + f.payload + 2 * size, STAMP_LEN);
		assert_memory_equal(got.at + f.payload + size, f.at + f.payload, 3 * size);

		in.mark = out.mark;
		opts.data_size_out = sizeof(got.at);
		assert_int_equal(bpf_prog_test_run_opts(fd, &opts), 0);
		assert_int_equal(opts.retval, UNSPEC);
		assert_memory_equal(got.at, f.at, f.len);
	}
	assert_share(count_verdicts(skel->progs.fault_merged, REDIRECT, UNSPEC), 0);
	fault_bpf__destroy(skel);
}

/* The number of a packet with a failed redirect is left for the tracer. */
CASE(redirects_leave_the_number)
{
	static const enum fault_xdp_way ways[] = {FAULT_XDP_TO_NOWHERE, FAULT_XDP_TO_DEVICE};
	int cpus = libbpf_num_possible_cpus();
	uint64_t *word = calloc((size_t)cpus, sizeof(*word));
	struct trace_batch *batch = calloc((size_t)cpus, sizeof(*batch));
	const uint32_t zero = 0;

	assert_true(word && batch);
	for (unsigned i = 0; i < N_ELEMENTS(ways); i++) {
		struct fault_bpf *skel =
			load((struct fault_config){.xdp_share = ALWAYS, .xdp_way = ways[i]});
		int fd = bpf_program__fd(skel->progs.fault_xdp);
		struct frame f = frame_make((struct frame_spec){});
		struct frame other = frame_make((struct frame_spec){.port = 1});
		uint64_t in_cell = 0, in_batch = 0;

		assert_int_equal(run_program(fd, &other, other.len), XDP_PASS);
		/* there is no device in the map here */
		assert_int_equal(run_program(fd, &f, f.len),
				 ways[i] == FAULT_XDP_TO_NOWHERE ? XDP_REDIRECT : XDP_ABORTED);
		bpf_map_lookup_elem(bpf_map__fd(skel->maps.cell), &zero, word);
		bpf_map_lookup_elem(bpf_map__fd(skel->maps.batch), &zero, batch);
		for (int cpu = 0; cpu < cpus; cpu++) {
			in_cell |= word[cpu];
			in_batch |= batch[cpu].tail ? batch[cpu].word[0] : 0;
		}
		assert_int_equal(ways[i] == FAULT_XDP_TO_NOWHERE ? in_cell : in_batch,
				 STAMP_WORD(TEST_STREAM, TEST_BASE));
		assert_int_equal(ways[i] == FAULT_XDP_TO_NOWHERE ? in_batch : in_cell, 0);
		fault_bpf__destroy(skel);
	}
	free(word);
	free(batch);
}

static struct fault_bpf *tried;

static void drops_ours(const struct frame_case *c, struct frame *f, unsigned len, bool ours)
{
	const struct frame before = *f;

	if (run_program(bpf_program__fd(tried->progs.fault_xdp), f, len) !=
	    (ours ? XDP_DROP : XDP_PASS))
		fail_msg("%s, %u bytes of it", c->name, len);
	assert_memory_equal(f->at, before.at, f->len);
}

CASE(xdp_drops_the_flow_only)
{
	tried = load((struct fault_config){.xdp_share = ALWAYS, .xdp_verdict = XDP_DROP});
	each_frame(drops_ours);
	fault_bpf__destroy(tried);
}

/* How far it got, for a loss between here and the stack. */
CASE(xdp_is_a_probe)
{
	struct fault_bpf *skel = load((struct fault_config){});
	int fd = bpf_program__fd(skel->progs.fault_xdp);
	static struct trace_page page;
	const uint32_t first = 0;

	for (unsigned i = 0; i < N_ELEMENTS(frame_cases); i++) {
		struct frame_spec spec = frame_cases[i].spec;
		struct frame f;

		spec.word = STAMP_WORD(TEST_STREAM, TEST_BASE + i);
		f = frame_make(spec);
		assert_int_equal(run_program(fd, &f, f.len), XDP_PASS);
	}
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.seen), &first, &page), 0);
	for (unsigned i = 0; i < N_ELEMENTS(frame_cases); i++) {
		if ((page.at[i] & SEEN_MASK) != (frame_cases[i].ours ? SEEN_XDP : 0))
			fail_msg("%s: %u", frame_cases[i].name, page.at[i]);
	}
	fault_bpf__destroy(skel);
}

/* Packets that are not dropped reach the receiver's program. */
CASE(xdp_goes_on_to_the_next)
{
	struct fault_bpf *skel =
		load((struct fault_config){.xdp_share = ALWAYS / 2, .xdp_verdict = XDP_DROP});
	struct frame other = frame_make((struct frame_spec){.port = 1});
	/* a tail call requires the same type of attachment */
	int fd = verdict_program(BPF_PROG_TYPE_XDP, BPF_XDP, XDP_TX);
	const uint32_t slot = 0;

	assert_true(fd >= 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.next), &slot, &fd, 0), 0);
	assert_int_equal(run_on(skel->progs.fault_xdp, &other), XDP_TX);
	assert_share(count_verdicts(skel->progs.fault_xdp, XDP_DROP, XDP_TX), 0.5);
	close(fd);
	fault_bpf__destroy(skel);
}

/* Runs fault_spoil. Whether it changed the checksum; everything else must be as before. */
static bool corrupts(int fd, struct frame *f, unsigned len, const char *name)
{
	struct frame before = *f;
	unsigned at = f->udp + 6;
	bool changed;
	int64_t rc = run_program(fd, f, len);

	if (rc != -EINVAL || !may_be_refused(f, len))
		assert_int_equal(rc, UNSPEC);
	changed = memcmp(f->at + at, before.at + at, 2);
	memcpy(before.at + at, f->at + at, 2);
	if (memcmp(f->at, before.at, sizeof(f->at)))
		fail_msg("%s: more than the checksum was changed", name);
	return changed;
}

static void corrupts_ours(const struct frame_case *c, struct frame *f, unsigned len, bool ours)
{
	assert_int_equal(udp_sum(f, c->spec.six), 0xffff);
	if (corrupts(bpf_program__fd(tried->progs.fault_spoil), f, len, c->name) != ours)
		fail_msg("%s, %u bytes of it", c->name, len);
	assert_int_equal(udp_sum(f, c->spec.six) == 0xffff, !ours);
}

CASE(corrupted_checksums_are_wrong)
{
	tried = load((struct fault_config){.udp_csum_share = ALWAYS});
	each_frame(corrupts_ours);
	fault_bpf__destroy(tried);
}

/*
 * For each possible checksum: the result differs modulo 0xffff and is never "none". "none" stays
 * unchanged.
 */
CASE(every_checksum_becomes_wrong)
{
	struct fault_bpf *skel = load((struct fault_config){.udp_csum_share = ALWAYS});
	int fd = bpf_program__fd(skel->progs.fault_spoil);
	struct frame f = frame_make((struct frame_spec){});

	for (unsigned csum = 0; csum <= UINT16_MAX; csum++) {
		unsigned now;

		put16(f.at + f.udp + 6, csum);
		assert_int_equal(run_program(fd, &f, f.len), UNSPEC);
		now = (unsigned)f.at[f.udp + 6] << 8 | f.at[f.udp + 7];
		if (!csum)
			assert_int_equal(now, 0);
		else if (!now || now % 0xffff == csum % 0xffff)
			fail_msg("%#x became %#x", csum, now);
	}
	fault_bpf__destroy(skel);
}

CASE(each_program_keeps_its_share)
{
	for (unsigned i = 0; i < LENGTH(shares); i++) {
		const uint64_t share = (uint64_t)(shares[i] * ALWAYS);
		struct fault_bpf *skel = load((struct fault_config){.xdp_share = share,
								    .xdp_verdict = XDP_DROP,
								    .egress_share = share,
								    .egress_verdict = SHOT,
								    .ingress_share = ALWAYS - share,
								    .ingress_verdict = STOLEN,
								    .filter_share = share,
								    .udp_csum_share = share});
		unsigned n = 0;

		assert_share(count_verdicts(skel->progs.fault_xdp, XDP_DROP, XDP_PASS), shares[i]);
		assert_share(count_verdicts(skel->progs.fault_egress, SHOT, UNSPEC), shares[i]);
		assert_share(count_verdicts(skel->progs.fault_ingress, STOLEN, UNSPEC),
			     1 - shares[i]);
		assert_share(count_verdicts(skel->progs.fault_filter, 0, KEEP_ALL), shares[i]);
		for (unsigned k = 0; k < RUNS; k++) {
			struct frame f = frame_make((struct frame_spec){});

			n += corrupts(bpf_program__fd(skel->progs.fault_spoil), &f, f.len, "");
		}
		assert_share(n, shares[i]);
		fault_bpf__destroy(skel);
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* the clock of bpf_ktime_get_ns() */
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* At least as long as was asked for; how much longer is the machine's affair. */
CASE(slow_takes_its_time)
{
	const uint32_t burn = 300000;
	struct fault_bpf *skel =
		load((struct fault_config){.tc_burn_ns = burn, .xdp_burn_ns = burn});
	struct frame f = frame_make((struct frame_spec){});
	uint64_t begin = now_ns();

	assert_int_equal(run_on(skel->progs.fault_slow, &f), UNSPEC);
	assert_true(now_ns() - begin >= burn);
	begin = now_ns();
	assert_int_equal(run_on(skel->progs.fault_xdp, &f), XDP_PASS);
	assert_true(now_ns() - begin >= burn);
	fault_bpf__destroy(skel);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(NULL, NULL);
}
