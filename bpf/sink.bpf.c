// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receiver of the engine `xdp`: takes the flow's packets at the device, settles the arrival of
 * each number and ends the frame. With `pass` it is a checkpoint, and the socket decides. What is
 * not this run's goes on into the stack.
 *
 * Two CPUs that take two copies of one number at the same instant may both count it as delivered in
 * their sums; the books count numbers, so there it is one.
 */
#include "kernel.h"

#include "numbers.bpf.h"
#include "packet.bpf.h"
#include "seen.bpf.h"
#include "sink_abi.h"

const volatile struct sink_config sink;

NUMBER_MAP(arrivals); /* the tracer's */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sink_count);
} sink_counts SEC(".maps");

static __always_inline void note_order(struct sink_count *c, __u64 word)
{
	__u32 slot = (STAMP_STREAM(word) - cfg.stream0) & 0xffff;
	__u64 number = STAMP_NUMBER(word);

	barrier_var(slot);
	if (slot >= TRACE_STREAMS)
		return;
	if (number < c->next[slot])
		c->reordered++;
	else
		c->next[slot] = number + 1;
}

static __always_inline void note_time(struct sink_count *c)
{
	if (!c->first_ns)
		c->first_ns = c->last_ns = bpf_ktime_get_ns();
	else if (!(c->delivered % SINK_CLOCK_EVERY))
		c->last_ns = bpf_ktime_get_ns();
}

SEC("xdp")
int sink_take(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	__u8 *payload = packet_payload((void *)(long)ctx->data, end, cfg.port), *arrived;
	struct sink_count *c;
	__u32 zero = 0, length;
	__u64 word;

	if (!payload)
		return XDP_PASS;
	c = bpf_map_lookup_elem(&sink_counts, &zero);
	if (!c)
		return XDP_PASS;
	word = payload_word(payload);
	if (!word) {
		c->invalid += be16_at(payload) != END_MAGIC;
		return XDP_PASS;
	}
	if (sink.pass) {
		mark_seen(word, SEEN_XDP);
		return XDP_PASS;
	}
	arrived = number_byte(&arrivals, word, NULL);
	if (!arrived) {
		c->foreign++;
		return XDP_PASS;
	}
	length = be16_at(payload - 4) - UDP_HLEN;
	if ((sink.payload && length != sink.payload) || length > (__u64)(end - (void *)payload))
		c->damaged++;
	c->taken++;
	if (*arrived) {
		c->duplicated++;
		return XDP_DROP;
	}
	*arrived = 1;
	note_order(c, word);
	c->delivered++;
	c->bytes += length;
	note_time(c);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
