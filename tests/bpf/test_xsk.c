// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The program in front of AF_XDP sockets: the packets that it accepts, and the number that it
 * records.
 */
#include <linux/if_xdp.h>
#include <sched.h>
#include <sys/socket.h>

#include "cases.h"
#include "bpf/helpers.h"
#include "traffic/rx.h"

#define UNTOUCHED 0x5555555555555555ULL

static struct rx_prog *prog;
static int xsk = -1, cell_fd = -1;
static int cpu;
static uint64_t *cells; /* one a CPU */

/*
 * A socket with rings is all that an XSKMAP asks for; nothing is bound or received. Linux 7.2
 * refuses one without an RX ring (ENOBUFS).
 */
static int open_socket(void)
{
	int entries = 64, fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0 && (setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &entries, sizeof(entries)) ||
			setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int open_prog(void **state)
{
	const struct trace_config cfg = {.port = TEST_PORT};
	struct rx_prog_config own = {.trace = &cfg, .steer = true, .seen_fd = -1};
	struct error err = {};
	cpu_set_t one;

	cpu = sched_getcpu(); /* the cell is per CPU */
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	cells = calloc((size_t)libbpf_num_possible_cpus(), sizeof(*cells));
	if (!cells || sched_setaffinity(0, sizeof(one), &one))
		return -1;
	own.cell_fd = cell_fd =
		bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "cell", 4, sizeof(*cells), 1, NULL);
	if (rx_prog_open(&prog, &own, &err)) {
		print_error("%s\n", err.message);
		return -1;
	}
	xsk = open_socket();
	return xsk < 0 ? -1 : 0;
}

static int close_prog(void **state)
{
	rx_prog_close(prog);
	close(xsk);
	close(cell_fd);
	free(cells);
	return 0;
}

/* In queue 0, which is what BPF_PROG_RUN says. */
static void enter_socket(bool there)
{
	const uint32_t queue = 0;

	if (there)
		assert_int_equal(bpf_map_update_elem(prog->map_fd, &queue, &xsk, 0), 0);
	else
		bpf_map_delete_elem(prog->map_fd, &queue);
}

static void cell_set(uint64_t value)
{
	const uint32_t zero = 0;

	for (int i = 0; i < libbpf_num_possible_cpus(); i++)
		cells[i] = value;
	assert_int_equal(bpf_map_update_elem(cell_fd, &zero, cells, 0), 0);
}

static uint64_t cell_get(void)
{
	const uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(cell_fd, &zero, cells), 0);
	return cells[cpu];
}

static void assert_steers(struct frame *f, unsigned len, int64_t verdict, uint64_t cell,
			  const char *name)
{
	const struct frame before = *f;
	int64_t got;

	cell_set(UNTOUCHED);
	got = run_program(prog->fd, f, len);
	if (got != verdict)
		fail_msg("%s, %u bytes: verdict %lld", name, len, (long long)got);
	if (cell_get() != cell)
		fail_msg("%s, %u bytes: %llx", name, len, (unsigned long long)cell_get());
	assert_memory_equal(f->at, before.at, f->len);
}

static void steers_ours(const struct frame_case *c, struct frame *f, unsigned len, bool ours)
{
	assert_steers(f, len, ours ? XDP_REDIRECT : XDP_PASS,
		      ours ? STAMP_WORD(TEST_STREAM, TEST_BASE) : UNTOUCHED, c->name);
}

/* A frame that ends inside the sequence header does not belong to the flow. */
CASE(only_the_flow_is_redirected)
{
	enter_socket(true);
	each_frame(steers_ours);
}

/* To the socket, but its loss would be the loss of no number. */
CASE(end_records_leave_no_number)
{
	struct frame v4 = frame_make((struct frame_spec){.magic = END_MAGIC});
	struct frame v6 = frame_make((struct frame_spec){.magic = END_MAGIC, .six = true});
	struct frame other =
		frame_make((struct frame_spec){.magic = END_MAGIC, .port = TEST_PORT + 1});

	enter_socket(true);
	assert_steers(&v4, v4.len, XDP_REDIRECT, 0, "end record");
	assert_steers(&v6, v6.len, XDP_REDIRECT, 0, "end record, IPv6");
	assert_steers(&other, other.len, XDP_PASS, UNTOUCHED, "end record to another port");
}

static void passes(const struct frame_case *c, struct frame *f, unsigned len, bool ours)
{
	if (run_program(prog->fd, f, len) != XDP_PASS)
		fail_msg("%s, %u bytes of it", c->name, len);
}

CASE(without_a_socket_all_passes)
{
	enter_socket(false);
	each_frame(passes);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(open_prog, close_prog);
}
