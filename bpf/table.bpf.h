/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where drops are counted: slots, a hash map for what finds none, and one place for all that finds
 * no room there either. See include/watch_abi.h.
 */
#ifndef PKTLEDGER_TABLE_BPF_H
#define PKTLEDGER_TABLE_BPF_H

#include <bpf/bpf_helpers.h>

#include "maps.bpf.h"
#include "note.bpf.h"
#include "watch_abi.h"

const volatile struct watch_config cfg;

/* Of the set in use, 0 or cfg.cpus: number of its first CPU. Set by user space. */
__u32 watch_base;

/*
 * Slots of CPU c of a set are those from (watch_base + c) * slots on. How many there are and how
 * large is set by user space: struct watch_slot, or struct watch_flow_slot with flows.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct watch_flow_slot));
	__uint(max_entries, 1);
} slots SEC(".maps"), others SEC(".maps");

/* For keys that found no slot, one of each set. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(key_size, sizeof(struct watch_flow_key));
	__uint(value_size, sizeof(struct watch_count));
	__uint(max_entries, 1);
} overflow0 SEC(".maps"), overflow1 SEC(".maps");

ONE_PER_CPU(losses, struct watch_loss);

#define LOSS(field, n)                                                                             \
	({                                                                                         \
		__u32 zero_key = 0;                                                                \
		struct watch_loss *of_cpu = bpf_map_lookup_elem(&losses, &zero_key);               \
		if (of_cpu)                                                                        \
			of_cpu->field += (n);                                                      \
	})

/*
 * A drop on its way to the table. It begins as struct watch_flow_key, with the key as four words,
 * which is how it is compared.
 */
struct drop {
	__u64 word[4];
	struct watch_flow flow; /* only with flows, or for WATCH_PORT */
	struct net_device *dev; /* NULL: skb->dev is none */
	struct sock *sk;	/* whose cookie is in the key; or NULL */
	__u32 cpu;		/* counted from that of the first set */
	__u32 slot;
};

static __always_inline bool same_flow(const struct watch_flow *a, const struct watch_flow *b)
{
	const __u64 *x = (const void *)a, *y = (const void *)b;

	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3] && x[4] == y[4];
}

static __always_inline bool same(const struct watch_slot *slot, const __u64 *word,
				 const struct watch_flow *flow, bool flows)
{
	const struct watch_flow_slot *with_flow = (const void *)slot;
	const __u64 *w = (const void *)&slot->key;

	if (w[0] != word[0] || w[1] != word[1] || w[2] != word[2] || w[3] != word[3])
		return false;
	return !flows || same_flow(&with_flow->flow, flow);
}

static __always_inline struct watch_count *claim(struct watch_slot *slot, const struct drop *d)
{
	struct watch_flow_slot *with_flow = (void *)slot;

	if (cfg.by_flow)
		with_flow->flow = d->flow;
	__builtin_memcpy(&slot->key, d->word, sizeof(slot->key));
	return &slot->count;
}

/* Without socket and flow there are few keys: a table that is searched from the hash on. */
static __always_inline struct watch_count *merge(struct drop *d)
{
	d->word[1] = 0;
	d->word[3] |= (__u64)WATCH_OTHERS << WATCH_FLAGS_SHIFT;
	__builtin_memset(&d->flow, 0, sizeof(d->flow));
	for (__u32 i = 0; i < WATCH_OTHERS_SLOTS; i++) {
		__u32 at = d->cpu * WATCH_OTHERS_SLOTS + (d->slot + i) % WATCH_OTHERS_SLOTS;
		struct watch_slot *slot = bpf_map_lookup_elem(&others, &at);

		if (!slot)
			return NULL;
		if (!slot->key.location)
			return claim(slot, d);
		if (same(slot, d->word, &d->flow, cfg.by_flow))
			return &slot->count;
	}
	return NULL;
}

static __always_inline void note(const struct drop *d)
{
	if (d->dev)
		note_dev((__u32)d->word[3], d->word[2] >> 32, d->dev);
	if (d->sk)
		note_sock(d->word[1], d->sk);
	else if (d->word[3] >> WATCH_FLAGS_SHIFT & WATCH_PORT)
		note_port(d->word[1], &d->flow);
}

static __always_inline struct watch_count *overflow(struct drop *d, struct watch_loss *loss)
{
	void *map = d->cpu < cfg.cpus ? (void *)&overflow0 : (void *)&overflow1;
	const struct watch_count none = {};
	struct watch_count *sum;

	loss->overflow++;
	sum = bpf_map_lookup_elem(map, d);
	if (sum)
		return sum;
	note(d);
	bpf_map_update_elem(map, d, &none, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(map, d);
	if (sum)
		return sum;
	loss->merged++;
	sum = merge(d);
	return sum ? sum : &loss->uncounted;
}

/* The first event of a key in this interval on this CPU, or one that is not in its first slot. */
static __noinline struct watch_count *elsewhere(struct drop *d)
{
	__u32 zero = 0, at = d->slot, beside = d->slot ^ 1;
	struct watch_loss *loss = bpf_map_lookup_elem(&losses, &zero);
	struct watch_slot *first = bpf_map_lookup_elem(&slots, &at);
	struct watch_slot *second = bpf_map_lookup_elem(&slots, &beside);

	if (!first || !second || !loss)
		return NULL;
	if (!first->key.location) {
		note(d);
		return claim(first, d);
	}
	if (!second->key.location) {
		note(d);
		return claim(second, d);
	}
	if (same(second, d->word, &d->flow, cfg.by_flow))
		return &second->count;
	return overflow(d, loss);
}

/*
 * The program on consume_skb may interrupt the one on kfree_skb, so it has no slots: its keys are
 * all in the hash map.
 */
static __noinline struct watch_count *consumed_event(struct drop *d)
{
	__u32 zero = 0;
	struct watch_loss *loss = bpf_map_lookup_elem(&losses, &zero);

	return loss ? overflow(d, loss) : NULL;
}

/* Of the words of the key; the upper bits of a product depend on all bits below. */
static __always_inline __u32 hash(const __u64 *word, const struct watch_flow *flow, bool flows)
{
	__u64 sum = word[0] ^ word[1] << 17 ^ word[2] ^ word[3] << 7;
	const __u64 *f = (const void *)flow;

	if (flows)
		sum += (f[0] ^ f[2]) * 0x165667b19e3779f9 + (f[1] ^ f[3]) * 0x27d4eb2f165667c5 +
		       f[4] * 0x9e3779b185ebca87;
	return sum * 0x9e3779b97f4a7c15 >> 40;
}

#endif
