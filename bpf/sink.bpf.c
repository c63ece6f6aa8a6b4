// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receiver of the engine `xdp`: takes the flow's packets at the interface, resolves each number as
 * arrived and ends the frame. With `pass` it is a probe, and the socket decides. Packets of other
 * runs continue into the stack.
 *
 * Two CPUs that take two copies of one number at the same instant may both count it as delivered in
 * their sums. The ledger counts numbers, so it contains the number once.
 */
#include "kernel.h"

#include "numbers.bpf.h"
#include "skb.bpf.h"
#include "seen.bpf.h"
#include "sink_abi.h"

const volatile struct sink_config sink;

NUMBER_MAP(arrivals); /* the tracer's */

ONE_PER_CPU(sink_counts, struct sink_count);

struct sink_discovered learned[SINK_LEARNED];
__u8 slots[1 << 16]; /* slot + 1 of a stream; 0: not learned */

/* A lock for learning: two CPUs may see a stream for the first time. */
struct learning {
	struct bpf_spin_lock lock;
	__u32 streams;
};

MAP(learning, ARRAY, 1, __u32, struct learning);

/* Takes a slot for a new stream. SINK_LEARNED: all slots are taken. */
static __noinline __u32 learn(__u64 word)
{
	__u64 number = STAMP_NUMBER(word), base = number & ~0xffffffffULL, first;
	__u32 stream = STAMP_STREAM(word) & 0xffff, slot, zero = 0;
	struct learning *l = bpf_map_lookup_elem(&learning, &zero);
	struct trace_tails *t = bpf_map_lookup_elem(&tails, &zero);

	if (!l || !t)
		return SINK_LEARNED;
	/* a receiver that starts within a stream cannot go back to its beginning */
	first = number - base < SINK_WINDOW / 2 ? base : number - SINK_WINDOW / 2;
	bpf_spin_lock(&l->lock);
	slot = slots[stream] ? slots[stream] - 1 : l->streams;
	if (!slots[stream] && slot < SINK_LEARNED) {
		l->streams = slot + 1;
		t->at[slot] = first;
		learned[slot].base = base;
		learned[slot].first = first;
		learned[slot].stream = stream;
		/* an atomic exchange: ordered for readers that do not take the lock */
		__sync_lock_test_and_set(&learned[slot].ready, 1);
		slots[stream] = slot + 1;
	}
	bpf_spin_unlock(&l->lock);
	return slot;
}

static __always_inline __u32 slot_of(__u64 word)
{
	__u32 slot;

	if (!sink.learn)
		return number_slot(word);
	slot = slots[STAMP_STREAM(word) & 0xffff];
	return slot ? slot - 1 : learn(word);
}

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
	slot = slot_of(word);
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
