// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Verdicts of a foreign XDP program, run without a network; skipped where fexit is refused. */
#include "cases.h"
#include "helpers.h"
#include "host/netns.h"
#include "drops/watch.h"
#include "test.skel.h"

#define RUNS 1000
#define LO   1 /* interface index that BPF_PROG_RUN gives */

static struct test_bpf *load(int verdict)
{
	struct test_bpf *s = test_bpf__open();

	assert_non_null(s);
	bpf_program__set_autoload(s->progs.matches, false);
	bpf_program__set_autoload(s->progs.verdict_of_the_test, true);
	*(int *)&s->rodata->verdict = verdict;
	assert_int_equal(test_bpf__load(s), 0);
	return s;
}

static uint32_t id_of(int fd)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	return info.id;
}

static void run(int fd)
{
	struct frame f = frame_make((struct frame_spec){0});
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.at, .data_size_in = f.len,
		    .repeat = RUNS);

	assert_int_equal(bpf_prog_test_run_opts(fd, &opts), 0);
}

/* What the observer counts for `verdict`, in the namespace of this test. */
static void counts(int verdict, unsigned as)
{
	struct test_bpf *s = load(verdict);
	int fd = bpf_program__fd(s->progs.verdict_of_the_test);
	uint64_t packets[XDPVERDICTS], sum = 0;
	struct xdplosses *v;
	struct netns own;
	struct error err = {0};

	assert_int_equal(netns_current(&own, &err), 0);
	assert_int_equal(xdpverdicts_open(&v, id_of(fd), &err), 0);
	run(fd);
	xdpverdicts_read(v, own.inum, LO, packets);
	for (unsigned i = 0; i < XDPVERDICTS; i++)
		sum += packets[i];
	assert_int_equal(packets[as], RUNS);
	assert_int_equal(sum, RUNS);
	xdpverdicts_read(v, own.inum, LO + 1, packets);
	assert_int_equal(packets[as], 0);
	xdplosses_close(v);
	run(fd); /* it works without us as well */
	netns_close(&own);
	test_bpf__destroy(s);
}

CASE(drop)
{
	counts(XDP_DROP, XDP_DROP);
}

CASE(pass)
{
	counts(XDP_PASS, XDP_PASS);
}

CASE(no_verdict)
{
	counts(77, XDPVERDICT_INVALID);
}

CASE(without_btf)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_DROP},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, NULL, "GPL", code, 2, NULL);
	struct xdplosses *v;
	struct error err = {0};

	assert_true(fd >= 0);
	assert_int_equal(xdpverdicts_open(&v, id_of(fd), &err), -ENOENT);
	assert_int_equal(err.status, STATUS_UNABLE);
	assert_non_null(strstr(err.message, "BTF"));
	close(fd);
}

CASE(no_such_program)
{
	struct xdplosses *v;
	struct error err = {0};

	assert_true(xdpverdicts_open(&v, UINT32_MAX, &err) < 0);
	assert_int_equal(err.status, STATUS_UNABLE);
}

/* Some hosts let nobody attach to functions, nor to programs. */
static void skip_unless_allowed(void)
{
	struct test_bpf *s = load(0);
	struct xdplosses *v = NULL;
	struct error err = {0};
	int rc = xdpverdicts_open(&v, id_of(bpf_program__fd(s->progs.verdict_of_the_test)), &err);

	xdplosses_close(v);
	test_bpf__destroy(s);
	if (rc == -EPERM) {
		printf("%s\n", err.message);
		exit(SKIPPED);
	}
}

int main(void)
{
	skip_unless_privileged();
	skip_unless_allowed();
	return run_cases(NULL, NULL);
}
