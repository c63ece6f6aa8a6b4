// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* For tests: somebody's XDP program, with BTF, as clang makes them. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

const volatile int verdict;

SEC("xdp")
int verdict_of_the_test(struct xdp_md *ctx)
{
	return verdict;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
