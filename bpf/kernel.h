/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types that our programs read, reduced by hand to the fields in use and relocated
 * against the running kernel by CO-RE. A full vmlinux.h is 3 MB and hides the dependencies.
 */
#ifndef PKTLEDGER_KERNEL_H
#define PKTLEDGER_KERNEL_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct netns_nf {
	struct nf_hook_entries *hooks_arp[3], *hooks_bridge[5]; /* by hook number */
};

#define NETNS_INUM_MIN 0xefff0000 /* lower bound: PROC_DYNAMIC_FIRST, with a few inodes below */

struct net {
	__u64 net_cookie; /* unique until reboot */
	struct ns_common ns;
	struct netns_nf nf;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct rtnl_link_ops {
	const char *kind;
};

struct Qdisc {
	void *enqueue;
	unsigned int flags;
};

struct netdev_queue {
	struct Qdisc *qdisc;
};

struct net_device {
	char name[16];
	struct netdev_queue *_tx;
	int ifindex;
	unsigned int flags;
	unsigned long priv_flags : 32; /* a whole word before Linux 6.12 */
	possible_net_t nd_net;
	const struct rtnl_link_ops *rtnl_link_ops;
	struct nf_hook_entries *nf_hooks_ingress, *nf_hooks_egress; /* egress: since Linux 5.17 */
};

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	__s64 counter;
} atomic64_t;

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
	__u32 skc_tw_rcv_nxt; /* of TIME_WAIT */
};

struct sk_buff;

struct sk_buff_head {
	struct sk_buff *next;
	__u32 qlen;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct socket;

struct inode {
	unsigned long i_ino;
};

struct socket_alloc {
	struct inode vfs_inode;
};

struct numa_drop_counters {
	atomic_t drops0, drops1;
};

struct sock {
	struct sock_common __sk_common;
	atomic_t sk_drops;
	struct numa_drop_counters *sk_drop_counters; /* UDP, since 6.18 */
	struct sk_buff_head sk_receive_queue;
	int sk_rcvbuf;
	__u32 sk_ack_backlog, sk_max_ack_backlog;
	__u16 sk_protocol;
	__u16 sk_type;
	struct socket *sk_socket;
	struct sock_cgroup_data sk_cgrp_data;
};

struct socket {
	struct sock *sk;
};

struct udp_sock {
	struct sk_buff_head reader_queue;
};

struct dst_entry {
	void *input;
};

struct sk_buff {
	struct sk_buff *next;
	struct sock *sk;
	struct net_device *dev;
	unsigned long _skb_refdst;
	unsigned long _nfct; /* only in kernels with connection tracking */
	unsigned int len;
	unsigned int data_len;
	__u16 queue_mapping;
	__u8 cloned : 1, fclone : 2;
	__u8 pkt_type : 3;
	__u8 tc_skip_classify : 1; /* with CONFIG_NET_XGRESS; before Linux 6.6 CONFIG_NET_CLS_ACT */
	__be16 protocol;
	int skb_iif;
	__u16 transport_header;
	__u16 network_header;
	__u16 mac_header;
	unsigned int tail;
	unsigned int end;
	unsigned int truesize;
	__be16 vlan_proto;
	__u16 vlan_tci;
	unsigned char *head;
	unsigned char *data;
	char cb[48];
};

struct tc_skb_cb {
	__u32 drop_reason;
};

struct sk_buff___before_6_2 {
	__u8 vlan_present : 1;
};

struct iphdr {
	__be32 saddr, daddr;
};

struct ipv6hdr {
	struct in6_addr saddr, daddr;
};

struct udphdr { /* TCP, SCTP and DCCP have their ports at the same offsets */
	__be16 source, dest;
};

struct tcphdr {
	__be16 source, dest;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs;
	unsigned int gso_type;
};

/* Connection tracking. Packets in each direction arrive with that direction's tuple. */
union nf_inet_addr {
	__u32 all[4];
};

struct nf_conntrack_man {
	union nf_inet_addr u3;
	union {
		__be16 all;
	} u;
	__u16 l3num;
};

struct nf_conntrack_tuple {
	struct nf_conntrack_man src;
	struct {
		union nf_inet_addr u3;
		union {
			__be16 all;
		} u;
		__u8 protonum;
	} dst;
};

struct nf_conntrack_tuple_hash {
	struct nf_conntrack_tuple tuple;
};

struct nf_conn {
	struct nf_conntrack_tuple_hash tuplehash[2]; /* original, reply */
	unsigned long status;
};

struct bpf_nf_ctx {
	struct sk_buff *skb;
};

struct task_struct {
	int tgid;
	char comm[16];
};

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct file {
	struct inode *f_inode;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

struct bpf_iter__udp {
	struct bpf_iter_meta *meta;
	struct udp_sock *udp_sk;
	unsigned int uid;
	int bucket;
};

#pragma clang attribute pop

/* Missing from UAPI headers, or defined in headers that conflict with this one. */
#define AF_INET		 2
#define AF_INET6	 10
#define AF_PACKET	 17
#define IFF_LOOPBACK	 0x8
#define PACKET_OUTGOING	 4
#define PACKET_OTHERHOST 3
#define SKB_FCLONE_CLONE 2	/* clone that TCP passes down; its original stays in the queue */
#define SKB_DST_PTRMASK	 (~7UL) /* low bits of _skb_refdst are flags (SKB_DST_NOREF) */
#define TC_ACT_UNSPEC	 (-1)	/* continue with the next filter */
#define MSG_PEEK	 0x2
#define MSG_ERRQUEUE	 0x2000

/* A map with `entries` keys. If user space sets the size, it is 1 here. */
#define MAP(name, kind, entries, key_type, value_type)                                             \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, entries);                                                      \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

/* An array that user space maps into memory. */
#define MAPPED(name, entries, value_type)                                                          \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, entries);                                                      \
		__type(key, __u32);                                                                \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

/* One value per CPU. Programs that share a map use the same name. */
#define ONE_PER_CPU(name, kind) MAP(name, PERCPU_ARRAY, 1, __u32, kind)

/* Returns a key's value. Adds a missing key with the value `first`. NULL: no room. */
static __always_inline void *map_value(void *map, const void *key, const void *first)
{
	void *value = bpf_map_lookup_elem(map, key);

	if (value)
		return value;
	bpf_map_update_elem(map, key, first, BPF_NOEXIST); /* another CPU may add it first */
	return bpf_map_lookup_elem(map, key);
}

/* Adds to a counter in a per-CPU value. */
#define COUNT_ON_CPU(name, kind, field, n)                                                         \
	do {                                                                                       \
		__u32 zero_ = 0;                                                                   \
		kind *of_cpu_ = bpf_map_lookup_elem(&name, &zero_);                                \
		if (of_cpu_)                                                                       \
			of_cpu_->field += (n);                                                     \
	} while (0)

#endif
