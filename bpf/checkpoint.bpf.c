// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checkpoints on the way: how far a packet got. They let everything pass, are never suppressed as
 * tracing programs can be, and note whether they ran on top of PID 1, where those are.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>

#include "numbers.bpf.h"
#include "packet.bpf.h"

#define TC_ACT_UNSPEC (-1)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u32);
	__type(value, struct trace_page);
} seen SEC(".maps");

static __always_inline int mark(struct __sk_buff *skb, __u8 where)
{
	__u64 word = packet_word_direct((void *)(long)skb->data, (void *)(long)skb->data_end,
					cfg.port);
	struct task_struct *task;
	__u8 *byte;

	if (!word)
		return TC_ACT_UNSPEC;
	byte = number_byte(&seen, word, NULL);
	if (!byte)
		return TC_ACT_UNSPEC;
	task = (void *)bpf_get_current_task();
	if (BPF_CORE_READ(task, tgid) == 1)
		where |= SEEN_ON_INIT;
	if ((*byte & SEEN_MASK) < (where & SEEN_MASK))
		*byte = where | (*byte & SEEN_ON_INIT);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int tx_device(struct __sk_buff *skb)
{
	return mark(skb, SEEN_TX_DEVICE);
}

SEC("tc")
int rx_device(struct __sk_buff *skb)
{
	return mark(skb, SEEN_RX_DEVICE);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
