/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragment tracking: finds the datagram that a fragment belongs to. Only the first fragment has
 * ports and a sequence header. They are stored under a key that all fragments of a datagram share,
 * so they also apply to later fragments. During fragmentation the first fragment passes before the
 * rest (ip_do_fragment(), ip6_fragment()). A reused IP ID replaces the old entry.
 *
 * The namespace is not part of the key, because a datagram that crosses several namespaces on one
 * host is a single datagram in all of them. If two namespaces use the same addresses and the same
 * ID at the same time, their datagrams are mixed up unless the first fragments differ, for example
 * in their sequence headers.
 */
#ifndef PKTLEDGER_FRAGMENT_BPF_H
#define PKTLEDGER_FRAGMENT_BPF_H

#include <bpf/bpf_helpers.h>

#include "skb.bpf.h"
#include "trace_abi.h"

/* Shared by all programs that see a run's fragments. Enlarged only if fragments are expected. */
MAP(fragments, LRU_HASH, 1, struct fragment_key, struct fragmented);

ONE_PER_CPU(fragment_counts, struct trace_fragments);

#define FRAGMENT_COUNT(field) COUNT_ON_CPU(fragment_counts, struct trace_fragments, field, 1)

/* `l3`: the IP header, without options for IPv4. */
static __always_inline void fragment_key(const struct headers *h, const __u8 *l3,
					 struct fragment_key *key)
{
	*key = (struct fragment_key){
		.id = h->id,
		.version = h->version,
		.proto = h->version == 4 ? h->proto : 0,
	};
	headers_addresses(h->version, l3, key->src, key->dst);
}

/*
 * Returns true for a fragment that may be UDP. The protocol of a later IPv6 fragment is known only
 * from the first one.
 */
static __always_inline bool is_fragment(const struct headers *h)
{
	return h->fragmented && (h->next == HEADER_PAYLOAD || h->next == HEADER_FRAGMENT) &&
	       (h->proto == PROTO_UDP || headers_is_extension(h->version, h->proto));
}

/*
 * Reads a fragment from an skb, with its IP header (IP6_HLEN bytes) in `l3`. Returns false if the
 * packet is not a fragment.
 */
static __always_inline bool fragment_headers(const struct linear *at, struct headers *h, __u8 *l3)
{
	__u16 type = 0;
	int from = at->outer ? at->outer : linear_l3(at, &type);

	if (from < 0)
		return false;
	headers_from(at, from, type, h);
	return h->fragmented && h->at <= at->tail &&
	       !bpf_probe_read_kernel(l3, IP6_HLEN, at->head + h->l3);
}

/*
 * Reads a fragment that may be UDP. `word`: from the sequence header of a first fragment sent to
 * `port` (0: any port), otherwise 0.
 */
static __always_inline bool fragment_read(const struct stamp_reader *r, __u16 port,
					  struct headers *h, __u8 *l3, __u64 *word)
{
	*word = 0;
	if (!fragment_headers(r->at, h, l3) || !is_fragment(h))
		return false;
	if (h->next == HEADER_PAYLOAD && (!port || h->dst_port == port))
		*word = stamp_at(r, h->at);
	return true;
}

/* Adds the first fragment to a datagram that is already known, or starts a new one. */
static __always_inline void fragment_first(const struct fragment_key *key, __u64 word)
{
	struct fragmented *known = bpf_map_lookup_elem(&fragments, key), first = {.word = word};

	if (!known || known->word != word)
		bpf_map_update_elem(&fragments, key, &first, BPF_ANY);
}

/*
 * Counts a fragment that passes the sender's or the receiver's probe. Returns true once the whole
 * datagram has passed.
 */
static __always_inline bool fragment_completes(struct fragmented *d, const struct headers *h,
					       __u8 where)
{
	__u32 n = h->bytes - ((h->fragment ? h->at : h->l4) - h->l3);

	if (!h->more)
		d->bytes = h->fragment + n;
	n += __sync_fetch_and_add(&d->passed[where == SEEN_RX_DEVICE], n);
	return d->bytes && n >= d->bytes;
}

#endif
