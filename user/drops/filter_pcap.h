/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libpcap's compiler and interpreter of filters. Apart from the rest, because libpcap and libbpf
 * give the same names to different structures.
 */
#ifndef PKTLEDGER_DROPS_FILTER_PCAP_H
#define PKTLEDGER_DROPS_FILTER_PCAP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter_abi.h"

/* A compiled filter. */
struct filter_code {
	struct sock_filter *insns; /* as libpcap made them */
	unsigned n;
	/*
	 * The same for the interpreter. Only `protochain` makes programs that jump back, and on
	 * some packets they never end: here, what comes after each of FILTER_LOOPS jumps back is
	 * a copy of its own, and one more is no match. Without such jumps, it is `insns`.
	 */
	struct sock_filter *straight;
	unsigned n_straight;
};

/*
 * 0, -ENOMEM, -E2BIG, or -EINVAL with libpcap's message in `why`, also for what only a live capture
 * knows (SKF_AD_OFF). `layer`: what the packets begin with.
 */
int filter_pcap_compile(struct filter_code *code, const char *expr, enum filter_layer layer,
			char *why, size_t size);

void filter_pcap_free(struct filter_code *code);

/* Whether a packet of `length` bytes, `have` of which are at `bytes`, matches. */
bool filter_pcap_match(const struct filter_code *code, const void *bytes, uint32_t have,
		       uint32_t length);

#endif
