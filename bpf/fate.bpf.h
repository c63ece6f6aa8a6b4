/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Settling fates. A byte store needs no atomic: two observers of one number write one of two
 * true answers, and neighbours are other bytes.
 */
#ifndef PKTLEDGER_FATE_BPF_H
#define PKTLEDGER_FATE_BPF_H

#include <bpf/bpf_helpers.h>

#include "maps.bpf.h"
#include "numbers.bpf.h"

NUMBER_MAP(fates);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TRACE_CAUSES);
	__type(key, struct trace_cause);
	__type(value, __u32);
} causes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TRACE_CAUSES);
	__type(key, __u32);
	__type(value, struct trace_count);
} counts SEC(".maps");

ONE_PER_CPU(losses, struct trace_loss);

__u32 cause_next = 1;
__u8 cause_is_copy[TRACE_CAUSES];

static __always_inline struct trace_loss *loss(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&losses, &zero);
}

#define LOSS(field, n)                                                                             \
	do {                                                                                       \
		struct trace_loss *l_ = loss();                                                    \
		if (l_)                                                                            \
			l_->field += (n);                                                          \
	} while (0)

/* Index of a cause, made on its first sight. */
static __always_inline __u32 cause_index(const struct trace_cause *cause)
{
	__u32 *known = bpf_map_lookup_elem(&causes, cause), index;

	if (known)
		return *known;
	index = __sync_fetch_and_add(&cause_next, 1);
	if (index >= TRACE_CAUSE_DIFFERENCE) {
		LOSS(causes_full, 1);
		return TRACE_CAUSE_FULL;
	}
	cause_is_copy[index & (TRACE_CAUSES - 1)] = cause->flags & CAUSE_COPY;
	if (bpf_map_update_elem(&causes, cause, &index, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&causes, cause); /* another CPU was first */
		index = known ? *known : TRACE_CAUSE_FULL;
	}
	return index;
}

/* The end of a packet itself stands before the end of a copy; else the first observer is right. */
static __always_inline void settle_byte(__u8 *fate, __u32 index)
{
	__u8 old = *fate;

	if (!old || (cause_is_copy[old] && !cause_is_copy[index & (TRACE_CAUSES - 1)]))
		*fate = index;
}

/* Not static, so that it is verified once, whoever calls it. False: none of this run's numbers. */
__noinline bool settle(__u64 word, __u32 index)
{
	__u8 *fate = number_byte(&fates, word, loss());

	if (!fate)
		return false;
	settle_byte(fate, index);
	return true;
}

__noinline bool is_settled(__u64 word)
{
	__u8 *fate = number_byte(&fates, word, NULL);

	return fate && *fate;
}

/* Whether an end is to be counted: another run's is not, unless whoever sends is not known. */
static __always_inline bool is_counted(__u64 word)
{
	return cfg.count_all || is_ours(word);
}

__noinline int count(__u32 index, __u64 packets, __u64 bytes, __u64 memory)
{
	struct trace_count *c = bpf_map_lookup_elem(&counts, &index);

	if (!c)
		return 0;
	c->events++;
	c->packets += packets;
	c->bytes += bytes;
	c->memory += memory;
	return 0;
}

/* Frames that one event tells of; their lengths are not known. */
static __always_inline void count_frames(__u32 index, __u64 frames)
{
	struct trace_count *c = bpf_map_lookup_elem(&counts, &index);

	if (!c)
		return;
	c->events += frames;
	c->packets += frames;
}

#endif
