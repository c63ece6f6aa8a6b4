// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The probes: a byte a number, raised only, of this run's numbers only. */
#include <sys/mman.h>

#include "cases.h"
#include "bpf/helpers.h"
#include "host/load.h"
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

/* All bytes are 0 but this one. */
static void assert_only(unsigned index, uint8_t value)
{
	for (unsigned i = 0; i < BYTES; i++) {
		if (seen[i] != (i == index ? value : 0))
			fail_msg("byte %u is %u", i, seen[i]);
	}
}

static void assert_nothing_seen(void)
{
	assert_only(BYTES, 0);
}

CASE_WITH(probe_is_noted, reset, NULL)
{
	pass(tx, TEST_STREAM, TEST_BASE + 5);
	assert_only(5, SEEN_TX_DEVICE);
	pass(rx, TEST_STREAM, TEST_BASE + 5);
	assert_only(5, SEEN_RX_DEVICE);
}

/* A packet that returns or loops does not change the probe it reached before. */
CASE_WITH(later_probe_stands, reset, NULL)
{
	pass(rx, TEST_STREAM, TEST_BASE);
	pass(tx, TEST_STREAM, TEST_BASE);
	assert_only(0, SEEN_RX_DEVICE);
	seen[0] = SEEN_SOCKET;
	pass(rx, TEST_STREAM, TEST_BASE);
	assert_only(0, SEEN_SOCKET);
}

CASE_WITH(context_of_init_is_kept, reset, NULL)
{
	seen[1] = SEEN_TX_DEVICE | SEEN_ON_INIT;
	pass(rx, TEST_STREAM, TEST_BASE + 1);
	assert_only(1, SEEN_RX_DEVICE | SEEN_ON_INIT);
}

/* The test notes these packets before and after the last probe is recorded. */
CASE_WITH(ports_of_a_bridge_are_noted, reset, NULL)
{
	int in = bpf_program__fd(skel->progs.bridge_in);
	int out = bpf_program__fd(skel->progs.bridge_out);

	pass(in, TEST_STREAM, TEST_BASE + 2);
	assert_only(2, SEEN_BRIDGE_IN);
	pass(tx, TEST_STREAM, TEST_BASE + 2);
	assert_only(2, SEEN_TX_DEVICE | SEEN_BRIDGE_IN);
	pass(out, TEST_STREAM, TEST_BASE + 2);
	assert_only(2, SEEN_TX_DEVICE | SEEN_BRIDGE);
	pass(rx, TEST_STREAM, TEST_BASE + 2);
	assert_only(2, SEEN_RX_DEVICE | SEEN_BRIDGE);
}

CASE_WITH(each_stream_has_its_window, reset, NULL)
{
	pass(tx, TEST_STREAM + 1, TEST_BASE + WINDOW - 1);
	assert_only(2 * WINDOW - 1, SEEN_TX_DEVICE);
	seen[2 * WINDOW - 1] = 0;
	pass(tx, TEST_STREAM, TEST_BASE + WINDOW); /* a number that no sender can have used yet */
	assert_nothing_seen();
	set_tails(bpf_map__fd(skel->maps.tails), TEST_BASE + 3 * WINDOW, TEST_BASE);
	pass(tx, TEST_STREAM, TEST_BASE + 3 * WINDOW + TRACE_PAGE_SIZE);
	assert_only(TRACE_PAGE_SIZE, SEEN_TX_DEVICE);
}

/* The byte of a number that left the window is another number's by now. */
CASE_WITH(late_numbers_touch_nothing, reset, NULL)
{
	set_tails(bpf_map__fd(skel->maps.tails), TEST_BASE + 10, TEST_BASE);
	pass(tx, TEST_STREAM, TEST_BASE + 9);
	assert_nothing_seen();
	pass(tx, TEST_STREAM, TEST_BASE + 10);
	assert_only(10, SEEN_TX_DEVICE);
	seen[10] = 0;
	pass(tx, TEST_STREAM + 1, TEST_BASE + 9);
	assert_only(WINDOW + 9, SEEN_TX_DEVICE);
}

CASE_WITH(other_runs_touch_nothing, reset, NULL)
{
	pass(tx, TEST_STREAM - 1, TEST_BASE);
	pass(tx, TEST_STREAM + STREAMS, TEST_BASE);
	pass(tx, TEST_STREAM + TRACE_STREAMS, TEST_BASE);
	pass(tx, TEST_STREAM, TEST_BASE - 1);
	pass(tx, TEST_STREAM, TEST_BASE + (1ULL << 32));
	pass(tx, TEST_STREAM, 5);
	assert_nothing_seen();
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
		assert_only(0, seen[0]);
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
	assert_nothing_seen();
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(open_skel, close_skel);
}
