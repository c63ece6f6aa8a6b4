/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The application's own numbers, read where its packets enter the host: one state per stream. */
#ifndef PKTLEDGER_STREAM_BPF_H
#define PKTLEDGER_STREAM_BPF_H

#include <bpf/bpf_helpers.h>

#include "datagram.bpf.h"
#include "tally.bpf.h"

#define RTP_VERSION  2
#define RTP_SEQUENCE 2	 /* offset */
#define RTP_SSRC     8	 /* offset */
#define RTCP_FIRST   192 /* second bytes that are RTCP where it shares the port (RFC 5761) */
#define RTCP_LAST    223
#define MAX_SEGMENTS 128 /* UDP_MAX_SEGMENTS since 6.9; 64 before */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct balance_stream_key);
	__type(value, struct balance_stream);
} streams SEC(".maps");

/*
 * Zeroes, to begin a stream with: too large for the stack, and a lock may not be read from another
 * map.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct balance_stream));
} stream_none SEC(".maps");

/* The segments of a packet, or the packet itself as the only one. */
struct stream_walk {
	struct sk_buff *skb;
	struct balance_tally *tally;
	unsigned char *head;
	struct balance_stream_key key;
	__u32 from;   /* of the payload, from head */
	__u32 bytes;  /* of the payload */
	__u32 size;   /* of a segment's */
	__u32 linear; /* bytes from head on that are not in pages */
	__u32 data;   /* of skb->data, from head */
	int again;
};

/* Not inline: the verifier wants the stack slots of a dynptr for itself. */
static __noinline int read_pages(struct sk_buff *skb, __u32 from_data, __u8 *out)
{
	struct bpf_dynptr ptr;

	if (bpf_dynptr_from_skb(skb, 0, &ptr))
		return -1;
	return bpf_dynptr_read(out, cfg.bytes, &ptr, from_data, 0);
}

/* cfg.bytes bytes at `from` head. */
static __always_inline int read_number(const struct stream_walk *w, __u32 from, __u8 *out)
{
	__u32 bytes = cfg.bytes;

	if (bytes > BALANCE_NUMBER)
		return -1;
	if (from + bytes <= w->linear)
		return bpf_probe_read_kernel(out, bytes, w->head + from);
	if (!cfg.paged || from < w->data)
		return -1;
	return read_pages(w->skb, from - w->data, out);
}

/* False: the payload is no RTP. */
static __always_inline bool rtp_number(const __u8 *rtp, struct balance_stream_key *key,
				       __u64 *number)
{
	if (rtp[0] >> 6 != RTP_VERSION || (rtp[1] >= RTCP_FIRST && rtp[1] <= RTCP_LAST))
		return false;
	*number = be16_at(rtp + RTP_SEQUENCE);
	__builtin_memcpy(&key->ssrc, rtp + RTP_SSRC, sizeof(key->ssrc));
	return true;
}

static __always_inline __u64 plain_number(const __u8 *bytes)
{
	__u64 number = 0;

	for (int i = 0; i < 8; i++) {
		if (i < cfg.bytes)
			number = number << 8 | bytes[i];
	}
	return number;
}

static __always_inline struct balance_stream *stream_find(struct stream_walk *w)
{
	struct balance_stream *s = bpf_map_lookup_elem(&streams, &w->key), *none;
	__u32 zero = 0;

	if (s || w->again) /* a packet that ends begins no stream: addresses may have changed */
		return s;
	none = bpf_map_lookup_elem(&stream_none, &zero);
	if (none)
		bpf_map_update_elem(&streams, &w->key, none, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&streams, &w->key);
	if (!s)
		TALLY(w->tally->crowded, 1);
	return s;
}

static long stream_segment(__u32 n, struct stream_walk *w)
{
	const struct sequence_rule rule = {cfg.rule.mask, cfg.rule.step, cfg.rule.ahead,
					   cfg.rule.behind};
	__u32 at = n * w->size + cfg.offset;
	__u8 bytes[BALANCE_NUMBER] WIDE = {};
	struct balance_stream *s;
	__u64 number;

	if (at + cfg.bytes > w->bytes || cfg.offset + cfg.bytes > w->size) {
		TALLY(w->tally->unnumbered, !w->again);
		return 0;
	}
	if (read_number(w, w->from + at, bytes)) {
		TALLY(w->tally->unread, !w->again);
		return 0;
	}
	if (cfg.numbers == NUMBERS_RTP) {
		if (!rtp_number(bytes, &w->key, &number)) {
			TALLY(w->tally->unnumbered, !w->again);
			return 0;
		}
	} else {
		number = plain_number(bytes);
	}
	s = stream_find(w);
	if (!s)
		return 0;
	bpf_spin_lock(&s->lock);
	sequence_see(&s->sequence, &rule, number, w->again);
	bpf_spin_unlock(&s->lock);
	return 0;
}

/* `again`: the packet ends here, and most probably has been seen as it came. */
static __always_inline void stream_see(struct sk_buff *skb, const struct skb_view *v,
				       const struct datagram *d, struct balance_tally *tally,
				       int again)
{
	struct stream_walk w = {
		.skb = skb,
		.tally = tally,
		.head = v->at.head,
		.from = d->payload,
		.bytes = d->bytes,
		.size = d->size ? d->size : d->bytes,
		.linear = v->at.tail,
		.data = v->data,
		.again = again,
	};

	if (cfg.numbers == NUMBERS_NONE)
		return;
	if (d->headers_at[0] >> 4 == 4) {
		__builtin_memcpy(w.key.src, d->headers_at + 12, 4);
		__builtin_memcpy(w.key.dst, d->headers_at + 16, 4);
	} else {
		__builtin_memcpy(w.key.src, d->headers_at + 8, 16);
		__builtin_memcpy(w.key.dst, d->headers_at + 24, 16);
	}
	w.key.src_port = bpf_htons(d->src_port);
	w.key.dst_port = bpf_htons(d->dst_port);
	if (d->segments == 1)
		stream_segment(0, &w);
	else
		bpf_loop(d->segments < MAX_SEGMENTS ? d->segments : MAX_SEGMENTS, stream_segment,
			 &w, 0);
}

#endif
