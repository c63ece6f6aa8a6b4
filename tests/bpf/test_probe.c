// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The probes: a byte a number, raised only, of this run's numbers only. */
#include <sys/mman.h>

#include "cases.h"
#include "bpf/helpers.h"
#include "host/load.h"
#include "recorded.h"
#include "trace_abi.h"
#include "probe.skel.h"
#include "probe_old.skel.h"

#define WINDOW	(2 * TRACE_PAGE_SIZE)
#define STREAMS 2
#define BYTES	(STREAMS * WINDOW)
#define UNSPEC	UINT32_MAX /* TC_ACT_UNSPEC: on to the next filter */

static struct probe_bpf *skel;
static uint8_t *seen;
static int tx, rx;

static int load_skel(trace_elf_bytes *old)
{
	skel = calloc(1, sizeof(*skel));
	if (!skel || probe_bpf__create_skeleton(skel) || trace_open(skel->skeleton, old))
		return -1;
	skel->rodata->cfg = (struct trace_config){
		.base = TEST_BASE,
		.window = WINDOW,
		.stream0 = TEST_STREAM,
		.streams = STREAMS,
		.port = TEST_PORT,
	};
	bpf_map__set_max_entries(skel->maps.seen, BYTES / TRACE_PAGE_SIZE);
	bpf_program__set_autoload(skel->progs.tx_device, true);
	bpf_program__set_autoload(skel->progs.rx_device, true);
	bpf_program__set_autoload(skel->progs.bridge_in, true);
	bpf_program__set_autoload(skel->progs.bridge_out, true);
	return probe_bpf__load(skel);
}

static int open_skel(void **state)
{
	if (load_skel(NULL)) { /* Linux before 6.2 */
		probe_bpf__destroy(skel);
		if (load_skel(probe_old_bpf__elf_bytes))
			return -1;
	}
	seen = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(skel->maps.seen),
		    0);
	tx = bpf_program__fd(skel->progs.tx_device);
	rx = bpf_program__fd(skel->progs.rx_device);
	return seen == MAP_FAILED ? -1 : 0;
}

static int close_skel(void **state)
{
	munmap(seen, BYTES);
	probe_bpf__destroy(skel);
	return 0;
}

static int reset(void **state)
{
	memset(seen, 0, BYTES);
	set_tails(bpf_map__fd(skel->maps.tails), TEST_BASE, TEST_BASE);
	return 0;
}

/* A packet of the stream passes; it goes on as it was. */
static void pass(int prog, uint16_t stream, uint64_t number)
{
	struct frame f = frame_make((struct frame_spec){.word = STAMP_WORD(stream, number)});
	const struct frame before = f;

	assert_int_equal(run_program(prog, &f, f.len), UNSPEC);
	assert_memory_equal(f.at, before.at, f.len);
}

static void assert_nothing_from(unsigned first)
{
	for (unsigned i = first; i < BYTES; i++) {
		if (seen[i])
			fail_msg("byte %u is %u", i, seen[i]);
	}
}

/* Tells all bytes that are not 0. */
static void tell_seen(void)
{
	for (unsigned i = 0; i < BYTES; i++) {
		if (seen[i])
			tell("%u:%u", i, seen[i]);
	}
	if (!*told)
		tell("none");
}

static void take_line(void *arg, const char *verb, char *text)
{
	static const char *const names[] = {"tx", "rx", "in", "out"};
	const int progs[] = {tx, rx, bpf_program__fd(skel->progs.bridge_in),
			     bpf_program__fd(skel->progs.bridge_out)};
	long long a = 0, b = 0;

	sscanf(text, "%lld %lld", &a, &b);
	if (!strcmp(verb, "case"))
		reset(NULL);
	else if (!strcmp(verb, "set"))
		seen[a] = (uint8_t)b;
	else if (!strcmp(verb, "tails"))
		set_tails(bpf_map__fd(skel->maps.tails), TEST_BASE + (uint64_t)a,
			  TEST_BASE + (uint64_t)b);
	for (unsigned i = 0; i < LENGTH(names); i++) {
		if (strcmp(names[i], verb))
			continue;
		pass(progs[i], (uint16_t)(TEST_STREAM + a), TEST_BASE + (uint64_t)b);
		tell_seen();
	}
}

CASE_WITH(recorded, reset, NULL)
{
	recorded_stories("tests/fixtures/probes", take_line, NULL);
}

static void notes_ours(const struct frame_case *c, struct frame *f, unsigned len, bool ours)
{
	const int progs[] = {tx, rx};

	for (unsigned i = 0; i < 2; i++) {
		const uint8_t wanted = i ? SEEN_RX_DEVICE : SEEN_TX_DEVICE;
		int64_t rc;

		seen[0] = 0;
		rc = run_program(progs[i], f, len);
		if (rc != -EINVAL || !may_be_refused(f, len))
			assert_int_equal(rc, UNSPEC);
		if (seen[0] != (ours ? wanted : 0))
			fail_msg("%s, %u bytes of it: %u", c->name, len, seen[0]);
		assert_nothing_from(1);
	}
}

CASE_WITH(only_the_flow_is_noted, reset, NULL)
{
	each_frame(notes_ours);
}

CASE_WITH(end_records_are_no_packets, reset, NULL)
{
	struct frame f = frame_make((struct frame_spec){.magic = END_MAGIC});

	assert_int_equal(run_program(rx, &f, f.len), UNSPEC);
	assert_nothing_from(0);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(open_skel, close_skel);
}
