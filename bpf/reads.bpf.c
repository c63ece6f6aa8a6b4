// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is read from UDP sockets, call by call: no counter of the kernel tells it of one socket. The
 * tracepoint is there since Linux 6.3.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>

#define SOCKETS	     4096 /* that are read in a window; of more nothing is known */
#define MSG_PEEK     0x2
#define MSG_ERRQUEUE 0x2000

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SOCKETS);
	__type(key, __u64); /* cookie */
	__type(value, __u64);
} reads SEC(".maps");

SEC("tp_btf/sock_recv_length")
int read_one(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int bytes = (int)ctx[1], flags = (int)ctx[2];
	__u64 none = 0, cookie, *n;

	if (bytes < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) || sk->sk_protocol != IPPROTO_UDP)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	n = bpf_map_lookup_elem(&reads, &cookie);
	if (!n) {
		bpf_map_update_elem(&reads, &cookie, &none, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&reads, &cookie);
	}
	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
