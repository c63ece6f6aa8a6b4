/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which datagram a fragment belongs to. Only the first one has a stamp, so its number is learned at
 * the sender's checkpoint, under what all fragments of the datagram share; there the first passes
 * before the others (ip_do_fragment(), ip6_fragment()). An id that comes again overwrites.
 */
#ifndef PKTLEDGER_FRAGMENT_BPF_H
#define PKTLEDGER_FRAGMENT_BPF_H

#include <bpf/bpf_helpers.h>

#include "maps.bpf.h"
#include "packet.bpf.h"
#include "trace_abi.h"

struct fragment_key {
	__u8 src[16], dst[16];
	__u32 id;
	__u32 version; /* 4 or 6 */
};

/*
 * What is known of a datagram: the word of its stamp, how many bytes of its data have passed the
 * checkpoints of sender and receiver, and how many there are, as the last fragment says. One that
 * has passed only in part was not seen there: what it lacks was lost before.
 */
struct fragmented {
	__u64 word;
	__u32 passed[2];
	__u32 bytes; /* 0: not known yet */
	__u32 pad;
};

/* Both shared by the observers of drops and the checkpoints; larger only if there are fragments. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct fragment_key);
	__type(value, struct fragmented);
} fragments SEC(".maps");

ONE_PER_CPU(fragment_counts, struct trace_fragments);

#define FRAGMENT_COUNT(field)                                                                      \
	do {                                                                                       \
		__u32 zero_ = 0;                                                                   \
		struct trace_fragments *f_ = bpf_map_lookup_elem(&fragment_counts, &zero_);        \
		if (f_)                                                                            \
			f_->field++;                                                               \
	} while (0)

/*
 * True if the IP header (and an IPv6 fragment header right behind it) at `l3`, 48 bytes, is that of
 * a fragment of UDP. `offset`: of its data in the datagram, bytes; `l4`: of its data from l3.
 */
static __always_inline bool fragment_parse(const __u8 *l3, struct fragment_key *key, __u32 *offset,
					   __u32 *l4)
{
	__u16 field;

	__builtin_memset(key, 0, sizeof(*key));
	key->version = l3[0] >> 4;
	if (key->version == 4) {
		field = be16_at(l3 + 6);
		if (!(field & (IP_MF | IP_OFFSET_MASK)) || l3[9] != IPPROTO_UDP)
			return false;
		*offset = (field & IP_OFFSET_MASK) * 8;
		*l4 = (l3[0] & 0x0f) * 4;
		key->id = be16_at(l3 + 4);
		__builtin_memcpy(key->src, l3 + 12, 4);
		__builtin_memcpy(key->dst, l3 + 16, 4);
		return true;
	}
	if (key->version != 6 || l3[6] != IPPROTO_FRAGMENT || l3[IP6_HLEN] != IPPROTO_UDP)
		return false;
	*offset = be16_at(l3 + IP6_HLEN + 2) & ~7;
	*l4 = IP6_HLEN + FRAG_HLEN;
	key->id = (__u32)be16_at(l3 + IP6_HLEN + 4) << 16 | be16_at(l3 + IP6_HLEN + 6);
	__builtin_memcpy(key->src, l3 + 8, 16);
	__builtin_memcpy(key->dst, l3 + 24, 16);
	return true;
}

/* Its first fragment: of the datagram that is known already, or of a new one. */
static __always_inline void fragment_first(const struct fragment_key *key, __u64 word)
{
	struct fragmented *known = bpf_map_lookup_elem(&fragments, key), first = {.word = word};

	if (!known || known->word != word)
		bpf_map_update_elem(&fragments, key, &first, BPF_ANY);
}

/* A fragment passes the sender's or the receiver's checkpoint. True: now the whole datagram has. */
static __always_inline bool fragment_completes(struct fragmented *d, const __u8 *l3, __u32 offset,
					       __u32 l4, __u8 where)
{
	bool six = l3[0] >> 4 == 6, last;
	__u32 n = six ? be16_at(l3 + 4) + IP6_HLEN - l4 : be16_at(l3 + 2) - l4;

	last = six ? !(l3[IP6_HLEN + 3] & 1) : !(be16_at(l3 + 6) & IP_MF);
	if (last)
		d->bytes = offset + n;
	n += __sync_fetch_and_add(&d->passed[where == SEEN_RX_DEVICE], n);
	return d->bytes && n >= d->bytes;
}

#endif
