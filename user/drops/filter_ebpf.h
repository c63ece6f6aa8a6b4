/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From classic BPF, as libpcap makes it, to the eBPF that runs inside bpf/filter.bpf.h. The meaning
 * is that of libpcap's interpreter (pcap_offline_filter()): loads are checked against the packet's
 * bytes, an index does not wrap, division by zero is no match, any value but 0 is a match.
 */
#ifndef PKTLEDGER_DROPS_FILTER_EBPF_H
#define PKTLEDGER_DROPS_FILTER_EBPF_H

#include <linux/bpf.h>
#include <linux/filter.h>

#include "filter_abi.h"

struct filter_source {
	const struct sock_filter *insns;
	unsigned n; /* 0: no packet of this layer matches */
};

/*
 * Fills out[0 .. room - 1] with the programs of both layers, `layers` indexed by enum filter_layer.
 * On entry r1 is the struct filter_scratch; r1 and r6 to r9 are kept; it ends behind out[room - 1]
 * with the verdict in r0. Returns how many instructions it took, -E2BIG if more than `room` (at
 * most FILTER_ROOM), -EINVAL for a program that the interpreter would not run, or -ENODATA for one
 * that reads a word of memory which it has not written on the way there.
 */
int filter_translate(const struct filter_source layers[2], struct bpf_insn *out, unsigned room);

#endif
