/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples of dropped packets (include/sample_abi.h), for people. A record is put together in memory
 * of the CPU and the program, and copied: bpf_ringbuf_reserve() takes only constant sizes, and with
 * --snaplen 65535 each short packet would take a record of that size.
 */
#ifndef PKTLEDGER_SAMPLE_BPF_H
#define PKTLEDGER_SAMPLE_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "filter.bpf.h"
#include "flow.bpf.h"
#include "sample_abi.h"

/* Both maps are made only if samples are asked for; user space sets their sizes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} samples SEC(".maps");

/* Elements CPU * SAMPLE_PROGRAMS + program. A per-CPU map has no room for 64 KiB. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct sample));
	__uint(max_entries, 1);
} sample_room SEC(".maps");

static __always_inline __u16 sample_segments(struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 n = BPF_CORE_READ(shared, gso_segs);

	return BPF_CORE_READ(shared, gso_size) && n ? n : 1;
}

/*
 * At most `snaplen` bytes, which must be a constant to the verifier. As in filter_read(), the
 * register that is compared must be the one that is used.
 */
static __always_inline __u64 sample_read(void *to, __u64 snaplen, const void *from, __u64 there)
{
	asm volatile("if %[there] <= %[snaplen] goto +1\n"
		     "%[there] = %[snaplen]\n"
		     : [there] "+r"(there)
		     : [snaplen] "r"(snaplen));
	return bpf_probe_read_kernel(to, there, from) ? 0 : there;
}

/* How many frames of the stack were read. */
static __always_inline __u16 sample_stack(void *ctx, void *to)
{
	long bytes = bpf_get_stack(ctx, to, SAMPLE_FRAMES * sizeof(__u64), 0);

	return bytes > 0 ? bytes / sizeof(__u64) : 0;
}

/* `word`: the four words of the key; `frames_room`: constant, see struct sample. False: the ring is
 * full. */
static __always_inline bool sample_take(void *ctx, struct sk_buff *skb, const __u64 *word,
					__u32 snaplen, __u32 frames_room, bool consumed)
{
	const struct packet_place at = place_of(skb);
	__u32 slot = bpf_get_smp_processor_id() * SAMPLE_PROGRAMS + consumed, start, layer;
	struct sample *s = bpf_map_lookup_elem(&sample_room, &slot);
	const __u32 stack = frames_room * sizeof(__u64);
	__u64 len;

	if (!s)
		return false;
	start = filter_start(&at, &layer);
	s->frames = frames_room ? sample_stack(ctx, s + 1) : 0;
	s->frames_room = frames_room;
	len = sample_read((void *)(s + 1) + stack, snaplen, at.head + start,
			  start < at.tail ? at.tail - start : 0);
	s->time_ns = bpf_ktime_get_ns();
	__builtin_memcpy(&s->key, word, sizeof(s->key));
	s->len = len;
	s->wire_len = skb->len + filter_data(&at) - start;
	s->tag = filter_tag(skb);
	s->segments = sample_segments(skb);
	s->layer = layer;
	s->cpu = slot / SAMPLE_PROGRAMS;
	/* User space looks some times a second: nobody is woken up. */
	return !bpf_ringbuf_output(&samples, s, sizeof(*s) + stack + len, BPF_RB_NO_WAKEUP);
}

#endif
