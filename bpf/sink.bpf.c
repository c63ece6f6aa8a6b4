// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receiver for the `xdp` engine. It intercepts the flow's packets at the interface, resolves each
 * number as arrived and ends the frame. With `pass` it only acts as a probe, and the socket
 * determines what was delivered. Packets from other runs continue into the stack.
 *
 * Two CPUs that receive two copies of one number at the same instant may both count it as delivered
 * in their sums. The ledger counts numbers, so it contains that number once.
 */
#include "kernel.h"

#include "numbers.bpf.h"
#include "skb.bpf.h"
#include "seen.bpf.h"
#include "sink_abi.h"

const volatile struct sink_config sink;

NUMBER_MAP(arrivals); /* the tracer's */

ONE_PER_CPU(sink_counts, struct sink_count);

static __always_inline void note_order(struct sink_count *c, __u32 slot, __u64 number)
{
	barrier_var(slot);
	if (slot >= TRACE_STREAMS)
		return;
	if (number < c->next[slot])
		c->reordered++;
	else
		c->next[slot] = number + 1;
}

/* Counts a number that has no byte, by reason. */
static __noinline int note_stranger(struct sink_count *c, __u32 slot, __u64 number)
{
	struct trace_loss why = {};

	if (!c)
		return XDP_PASS;
	number_byte_of(&arrivals, slot, number, &why);
	c->sums.late += why.late;
	c->sums.foreign += why.foreign;
	return XDP_PASS;
}

static __always_inline void note_time(struct sink_count *c)
{
	if (!c->sums.first_ns)
		c->sums.first_ns = c->sums.last_ns = bpf_ktime_get_ns();
	else if (!(c->sums.delivered % SINK_CLOCK_EVERY))
		c->sums.last_ns = bpf_ktime_get_ns();
}

SEC("xdp")
int sink_take(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	__u8 *payload = packet_payload((void *)(long)ctx->data, end, cfg.port), *arrived;
	__u32 zero = 0, length, slot;
	struct sink_count *c;
	__u64 word;

	if (!payload)
		return XDP_PASS;
	c = bpf_map_lookup_elem(&sink_counts, &zero);
	if (!c)
		return XDP_PASS;
	word = payload_word(payload);
	if (!word) {
		c->sums.invalid += be16_at(payload) != END_MAGIC;
		return XDP_PASS;
	}
	if (sink.pass) {
		mark_seen(word, SEEN_XDP);
		return XDP_PASS;
	}
	slot = number_slot(word);
	arrived = number_byte_of(&arrivals, slot, STAMP_NUMBER(word), NULL);
	if (!arrived)
		return note_stranger(c, slot, STAMP_NUMBER(word));
	length = be16_at(payload - 4) - UDP_HLEN;
	if ((sink.payload && length != sink.payload) || length > (__u64)(end - (void *)payload))
		c->sums.damaged++;
	c->taken++;
	if (*arrived) {
		c->sums.duplicated++;
		return XDP_DROP;
	}
	*arrived = 1;
	note_order(c, slot, STAMP_NUMBER(word));
	c->sums.delivered++;
	note_time(c);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
