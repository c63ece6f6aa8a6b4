// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The meaning of XDP losses and of packets freed as consumed. tests/bpf and tests/net test the
 * events.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "cases.h"
#include "drops/cause.h"
#include "drops/watch.h"

static const struct judged {
	struct xdploss_key key;
	const char *reason, *location;
	enum stage stage;
	enum direction direction;
	bool beside, instead; /* a loss by this count */
} judged[] = { /* kind, flags, act, map_type, err */
	{{XDPLOSS_REDIRECT, 0, XDP_REDIRECT, 0, -EINVAL, .from = 0},
	 "EINVAL", "xdp_redirect_err", STAGE_XDP, DIRECTION_RX, true, true},
	{{XDPLOSS_REDIRECT, 0, 0, BPF_MAP_TYPE_XSKMAP, -ENOBUFS, .from = 0},
	 "ENOBUFS", "xdp_redirect_err", STAGE_XSK, DIRECTION_RX, true, true},
	/* generic mode: kfree_skb tells it, unless it is left out there */
	{{XDPLOSS_REDIRECT, XDPLOSS_GENERIC, 0, BPF_MAP_TYPE_XSKMAP, -ENOMEM, .from = 0},
	 "ENOMEM", "xdp_redirect_err", STAGE_XSK, DIRECTION_RX, false, true},
	{{XDPLOSS_EXCEPTION, 0, XDP_ABORTED, 0, 0, .from = 0},
	 "ABORTED", "xdp_exception", STAGE_XDP, DIRECTION_RX, true, true},
	{{XDPLOSS_EXCEPTION, 0, XDP_REDIRECT + 1, 0, 0, .from = 0},
	 "INVALID", "xdp_exception", STAGE_XDP, DIRECTION_RX, true, true},
	{{XDPLOSS_EXCEPTION, 0, XDP_TX, 0, 0, .from = 0},
	 "TX", "xdp_exception", STAGE_XDP, DIRECTION_RX, true, true},
	{{XDPLOSS_EXCEPTION, XDPLOSS_GENERIC, XDP_ABORTED, 0, 0, .from = 0},
	 "ABORTED", "xdp_exception", STAGE_XDP, DIRECTION_RX, false, false},
	{{XDPLOSS_EXCEPTION, XDPLOSS_SKB, XDP_ABORTED, 0, 0, .from = 0},
	 "ABORTED", "xdp_exception", STAGE_XDP, DIRECTION_RX, false, false},
	{{XDPLOSS_EXCEPTION, XDPLOSS_MAP_PROG, XDP_ABORTED, 0, 0, .from = 0},
	 "ABORTED", "xdp_exception", STAGE_XDP, DIRECTION_RX, false, false},
	{{XDPLOSS_REDIRECT, XDPLOSS_MAP_PROG, 0, 0, -EINVAL, .from = 0},
	 "EINVAL", "xdp_redirect_err", STAGE_XDP, DIRECTION_RX, false, false},
	{{XDPLOSS_DEVMAP, 0, 0, 0, -ENXIO, .from = 7},
	 "ENXIO", "xdp_devmap_xmit", STAGE_XDP, DIRECTION_FORWARD, true, true},
	/* live frames: sent by BPF_PROG_RUN, as if they came in by lo */
	{{XDPLOSS_DEVMAP, 0, 0, 0, 0, .from = 1},
	 "", "xdp_devmap_xmit", STAGE_TX_DEVICE, DIRECTION_TX, true, true},
	{{XDPLOSS_BULK_TX, 0, 0, 0, -ENXIO, .from = 0},
	 "ENXIO", "xdp_bulk_tx", STAGE_XDP, DIRECTION_TX, true, true},
	{{XDPLOSS_CPUMAP_QUEUE, 0, 0, 0, 0, .from = 0},
	 "", "xdp_cpumap_enqueue", STAGE_XDP, DIRECTION_RX, true, true},
	{{XDPLOSS_CPUMAP_ALLOC, 0, 0, 0, 0, .from = 0},
	 "", "xdp_cpumap_kthread", STAGE_XDP, DIRECTION_RX, true, true},
	{{XDPLOSS_CPUMAP_PROGRAM, 0, 0, 0, 0, .from = 0},
	 "", "xdp_cpumap_kthread", STAGE_XDP, DIRECTION_RX, true, true},
};

CASE(one_loss_one_book)
{
	for (unsigned i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
		const struct judged *j = &judged[i];
		struct judged_cause beside, instead;

		xdplosses_judge(&beside, &j->key, XDPLOSS_BESIDE_KFREE);
		xdplosses_judge(&instead, &j->key, XDPLOSS_INSTEAD_OF_KFREE);
		assert_string_equal(beside.reason, j->reason);
		assert_string_equal(beside.location, j->location);
		assert_int_equal(beside.verdict.stage, j->stage);
		assert_int_equal(beside.verdict.direction, j->direction);
		assert_int_equal(beside.verdict.class == CLASS_LOSS, j->beside);
		assert_int_equal(instead.verdict.class == CLASS_LOSS, j->instead);
		assert_true(*beside.verdict.note);
	}
}

CASE(names_of_programs)
{
	char name[40];

	assert_string_equal(xdplosses_program(0, name, sizeof(name)), "");
	assert_string_equal(xdplosses_map(0, name, sizeof(name)), "");
	assert_string_equal(xdplosses_program(UINT32_MAX, name, sizeof(name)), "[4294967295]");
}

CASE(places_of_the_used_up)
{
	struct trace_range r[WATCH_CONSUMED_MAX];
	struct error err = {0};
	struct ksyms *k;
	unsigned n;

	assert_int_equal(ksyms_open(&k, "tests/fixtures/kallsyms/small", &err), 0);
	n = consumed_ranges(k, r);
	assert_int_equal(n, 1); /* of the functions wanted the file has but one */
	assert_int_equal(r[0].start, 0xffffffff81002000);
	assert_int_equal(r[0].end - r[0].start, 0x1000);
	ksyms_free(k);
}
