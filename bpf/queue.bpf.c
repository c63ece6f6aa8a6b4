// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packets that wait in UDP sockets, and what they take of its buffer. sock_diag tells only the
 * memory that is charged, which is more: what is read already is given back in portions
 * (udp_rmem_release()).
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "queue_abi.h"

#define LOOK 32 /* packets of a queue: enough for a mean */

static __always_inline void look_at(struct sk_buff_head *head, struct queue_record *r)
{
	struct sk_buff *skb = BPF_CORE_READ(head, next);

	for (int i = 0; i < LOOK && skb && (void *)skb != (void *)head; i++) {
		r->memory += BPF_CORE_READ(skb, truesize);
		r->looked++;
		skb = BPF_CORE_READ(skb, next);
	}
}

SEC("iter/udp")
int queue(struct bpf_iter__udp *ctx)
{
	struct udp_sock *up = ctx->udp_sk;
	struct queue_record r = {};
	struct sock *sk;

	if (!up)
		return 0;
	sk = (struct sock *)up;
	r.cookie = bpf_get_socket_cookie(up);
	/* What recvmsg() has taken over at once waits in the second (__skb_recv_udp()). */
	r.packets = (__u64)BPF_CORE_READ(sk, sk_receive_queue.qlen) +
		    BPF_CORE_READ(up, reader_queue.qlen);
	look_at(&sk->sk_receive_queue, &r);
	look_at(&up->reader_queue, &r);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
