// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Small programs that each answer one question about the host. Only the required program is loaded,
 * together with its map (survey_open() in user/host/load.h), so it does not depend on what the
 * others require.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "headers.h"
#include "sock.bpf.h"
#include "survey_abi.h"

/* Walks the open files of all processes to find those that have the requested sockets open. */

MAP(wanted, HASH, FILES_WANTED, __u64, __u8); /* by socket inode */

SEC("?iter/task_file")
int holders(struct bpf_iter__task_file *ctx)
{
	struct files_holder found;
	struct file *file = ctx->file;
	struct task_struct *task = ctx->task;
	__u64 inode;

	if (!file || !task || !bpf_sock_from_file(file))
		return 0;
	inode = file->f_inode->i_ino;
	if (!bpf_map_lookup_elem(&wanted, &inode))
		return 0;
	found = (struct files_holder){.inode = inode, .pid = task->tgid, .fd = ctx->fd};
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

/*
 * Finds the host's AF_XDP sockets among all open files, and writes their ring losses. For kernels
 * where sock_diag does not report them.
 */

#define AF_XDP 44

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xsk_queue {
	__u64 invalid_descs;
	__u64 queue_empty_descs;
};

struct xsk_buff_pool {
	struct xsk_queue *fq;
};

struct xdp_sock {
	struct xsk_queue *rx, *tx;
	struct net_device *dev;
	struct xsk_buff_pool *pool;
	__u16 queue_id;
	bool zc;
	__u64 rx_dropped;
	__u64 rx_queue_full;
};

#pragma clang attribute pop

/* Returns a counter from a ring. A socket may not have that ring. */
static __always_inline __u64 invalid(struct xsk_queue *q)
{
	return q ? BPF_CORE_READ(q, invalid_descs) : 0;
}

static __always_inline __u64 empty(struct xsk_queue *q)
{
	return q ? BPF_CORE_READ(q, queue_empty_descs) : 0;
}

SEC("?iter/task_file")
int xskwalk(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct sock *sk = sock_of_file(file);
	struct xsk_info r = {};
	struct xdp_sock *xs;
	struct net_device *dev;

	if (!task || !sk || BPF_CORE_READ(sk, __sk_common.skc_family) != AF_XDP)
		return 0;
	xs = (struct xdp_sock *)sk;
	dev = BPF_CORE_READ(xs, dev);
	if (!dev)
		return 0;
	r.inode = BPF_CORE_READ(file, f_inode, i_ino);
	r.rx_dropped = BPF_CORE_READ(xs, rx_dropped);
	r.rx_ring_full = BPF_CORE_READ(xs, rx_queue_full);
	r.rx_invalid_descs = invalid(BPF_CORE_READ(xs, rx));
	r.tx_invalid_descs = invalid(BPF_CORE_READ(xs, tx));
	r.tx_ring_empty = empty(BPF_CORE_READ(xs, tx));
	r.rx_fill_ring_empty = empty(BPF_CORE_READ(xs, pool, fq));
	r.netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	r.ifindex = BPF_CORE_READ(dev, ifindex);
	r.queue = BPF_CORE_READ(xs, queue_id);
	r.zero_copy = BPF_CORE_READ(xs, zc);
	BPF_CORE_READ_STR_INTO(&r.process, task, comm);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

/*
 * Sockets with drops that raise no event: raw sockets and taps with a full buffer or ring
 * (packet_rcv(), tpacket_rcv()), and TCP listeners with a full accept queue (tcp_conn_request()).
 * Only the socket's counter increases.
 */

#define SOCK_RAW 3

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct packet_type {
	struct net_device *dev;
};

struct packet_sock {
	struct packet_type prot_hook;
	atomic_t tp_drops;
};

#pragma clang attribute pop

static __always_inline bool is_silent(struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	if (family == AF_PACKET)
		return true;
	if (family != AF_INET && family != AF_INET6)
		return false;
	return BPF_CORE_READ(sk, sk_type) == SOCK_RAW ||
	       (BPF_CORE_READ(sk, sk_protocol) == PROTO_TCP &&
		BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN);
}

/*
 * A mapped ring counts only in tp_drops, which is 0 again once its program has read it
 * (PACKET_STATISTICS). A buffer counts in both.
 */
static __always_inline __u64 silent_drops(struct sock *sk, struct silent_record *r)
{
	struct packet_sock *po = (void *)sk;
	__u64 drops = sock_drops(sk), ring;
	struct net_device *dev;

	if (BPF_CORE_READ(sk, __sk_common.skc_family) != AF_PACKET ||
	    !bpf_core_field_exists(po->tp_drops))
		return drops;
	dev = BPF_CORE_READ(po, prot_hook.dev);
	if (dev)
		BPF_CORE_READ_STR_INTO(&r->ifname, dev, name);
	ring = (__u32)BPF_CORE_READ(po, tp_drops.counter);
	return ring > drops ? ring : drops;
}

SEC("?iter/task_file")
int silent(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct sock *sk = sock_of_file(ctx->file);
	struct silent_record r = {};
	__u64 drops;

	if (!task || !sk || !is_silent(sk))
		return 0;
	drops = silent_drops(sk, &r);
	if (!drops)
		return 0;
	sock_read(&r.sock, sk);
	r.sock.drops = drops;
	r.cookie = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
	r.pid = BPF_CORE_READ(task, tgid);
	r.waiting = BPF_CORE_READ(sk, sk_ack_backlog);
	r.room = BPF_CORE_READ(sk, sk_max_ack_backlog);
	BPF_CORE_READ_STR_INTO(&r.process, task, comm);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

/*
 * Largest loss burst per UDP socket, and the buffer memory of packets that waited when it began.
 * Sampling the socket's counter cannot tell one burst from several. Two CPUs that lose packets at the
 * same moment may both start a burst, because the kernel holds no lock here. sock_diag reports only
 * the charged memory, which is larger because memory of packets that were already read is released in
 * portions (udp_rmem_release()).
 */

#define BURST_SOCKETS 256
#define LOOK	      32 /* packets per queue, enough for an average */

static __always_inline void look_at(struct sk_buff_head *head, struct burst_record *b)
{
	struct sk_buff *skb = BPF_CORE_READ(head, next);

	for (int i = 0; i < LOOK && skb && (void *)skb != (void *)head; i++) {
		b->memory += BPF_CORE_READ(skb, truesize);
		b->looked++;
		skb = BPF_CORE_READ(skb, next);
	}
}

MAP(bursts, LRU_HASH, BURST_SOCKETS, __u64, struct burst_record);
__u32 losses; /* approximate: user space stops the program if losses are too many to be bursts */

SEC("?tp_btf/udp_fail_queue_rcv_skb")
int lose_one(__u64 *ctx)
{
	struct udp_sock *up = (void *)ctx[1];
	__u64 inode = sock_inode((struct sock *)up), now = bpf_ktime_get_ns();
	struct burst_record none = {}, *b = inode ? map_value(&bursts, &inode, &none) : NULL;

	losses++;
	if (!b)
		return 0;
	if (now - b->last_ns > BURST_GAP_NS) {
		b->run = 0;
		b->memory = b->looked = 0;
		/* recvmsg() moves packets to the second queue in one go (__skb_recv_udp()) */
		look_at(&((struct sock *)up)->sk_receive_queue, b);
		look_at(&up->reader_queue, b);
	}
	b->last_ns = now;
	__sync_fetch_and_add(&b->run, 1);
	if (b->run > b->most)
		b->most = b->run;
	return 0;
}

/*
 * Counts packets that a UDP socket refused because all UDP sockets together had more memory than
 * net.ipv4.udp_mem. The kernel refuses memory with the same error if the socket's memory cgroup is
 * at its limit, with an event only in some versions. UDP has no memory pressure, so the first of
 * the three limits decides (__sk_mem_raise_allocated()).
 */

#define SK_MEM_RECV 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct proto {
	long *sysctl_mem;
};

#pragma clang attribute pop

SEC("?tp_btf/sock_exceed_buf_limit")
int exceed_udp_mem(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct proto *prot = (void *)ctx[1];
	struct burst_record none = {}, *b;
	long limit = 0;
	__u64 inode;

	if ((int)ctx[3] != SK_MEM_RECV || sk->sk_protocol != PROTO_UDP)
		return 0;
	if (bpf_probe_read_kernel(&limit, sizeof(limit), BPF_CORE_READ(prot, sysctl_mem)) ||
	    (long)ctx[2] <= limit)
		return 0;
	losses++;
	inode = sock_inode(sk);
	b = inode ? map_value(&bursts, &inode, &none) : NULL;
	if (b)
		__sync_fetch_and_add(&b->exceeded, 1);
	return 0;
}

/*
 * Records which thread reads a socket that has lost packets. An open socket is not enough evidence,
 * because it may have been inherited across fork(), and a thread that receives and then waits for
 * another one is never found waiting in a receive call. Exists since Linux 6.3.
 */
SEC("?tp_btf/sock_recv_length")
int read_thread(__u64 *ctx)
{
	__u64 inode = sock_inode((void *)ctx[0]);
	struct burst_record *b = bpf_map_lookup_elem(&bursts, &inode);

	if (b && (int)ctx[1] >= 0 && !((int)ctx[2] & MSG_ERRQUEUE))
		b->reader = bpf_get_current_pid_tgid();
	return 0;
}

/*
 * Records each read from a UDP socket. The kernel has no per-socket counter for that. The
 * tracepoint exists since Linux 6.3.
 */

#define SOCKETS 4096 /* maximum per window; reads from further sockets are not recorded */

MAP(reads, HASH, SOCKETS, __u64, __u64); /* by cookie */

SEC("?tp_btf/sock_recv_length")
int read_one(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int bytes = (int)ctx[1], flags = (int)ctx[2];
	__u64 none = 0, cookie, *n;

	if (bytes < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) || sk->sk_protocol != PROTO_UDP)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	n = map_value(&reads, &cookie, &none);
	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

/*
 * Counts drops with one reason by what their counter does not show: the source that reverse path
 * filtering rejected and its interface, or the UDP port without a socket.
 */

#define DROP_SOURCES 256

__u32 wanted_reason; /* this kernel's number, set by user space */
bool by_port;

MAP(drop_sources, LRU_HASH, DROP_SOURCES, struct drop_source, __u64);

/* Reads a UDP packet's destination port. Returns 0 for other protocols. */
static __always_inline __u32 udp_port(struct sk_buff *skb)
{
	const unsigned char *head = skb->head;
	struct udphdr *udp = (void *)(head + skb->transport_header);
	__be16 port = 0;
	__u8 ip[10];

	if (bpf_probe_read_kernel(ip, sizeof(ip), head + skb->network_header) ||
	    (ip[0] >> 4 == 4 ? ip[9] : ip[6]) != PROTO_UDP)
		return 0;
	bpf_probe_read_kernel(&port, sizeof(port), &udp->dest);
	return bpf_ntohs(port);
}

SEC("?tp_btf/kfree_skb")
int dropped(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct drop_source s = {};
	struct net_device *dev;
	struct iphdr *ip;
	__u64 none = 0, *n;

	if (!wanted_reason || (__u32)ctx[2] != wanted_reason)
		return 0;
	dev = skb->dev;
	ip = (void *)(skb->head + skb->network_header);
	if (by_port)
		s.of = udp_port(skb);
	else
		bpf_probe_read_kernel(&s.of, sizeof(s.of), &ip->saddr);
	if (!dev || !s.of)
		return 0;
	s.ifindex = dev->ifindex;
	s.netns = dev->nd_net.net->ns.inum;
	n = map_value(&drop_sources, &s, &none);
	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

/* Answers for user/drops/quirks.c: can fentry be used, and is tracing off while PID 1 runs? */

__u64 init_switches;

/* The kernel has this function only for tests, and calls it only there. */
SEC("?fentry/bpf_fentry_test1")
int quirk_fentry(__u64 *ctx)
{
	return 0;
}

/* `current` is still the thread that is leaving the CPU. */
SEC("?tp_btf/sched_switch")
int quirk_switch(__u64 *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == 1)
		__sync_fetch_and_add(&init_switches, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
