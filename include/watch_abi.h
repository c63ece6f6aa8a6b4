/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Interface between the observer of all traffic (bpf/watch.bpf.c) and user space.
 *
 * Drops are counted per CPU and key. Each CPU has a table of slots, and the first key that hashes
 * to a slot owns it until the interval ends. If both of a key's slots are in use, the key goes into
 * a hash map. There are two sets of slots and maps. User space switches the programs to the other
 * set (watch_control.interval), waits until no program can still be using the old one (an RCU grace
 * period), then reads and empties it. Counts are therefore exact, and stale keys take up no room.
 */
#ifndef PKTLEDGER_WATCH_ABI_H
#define PKTLEDGER_WATCH_ABI_H

#include <linux/types.h>

#include "trace_abi.h"

#define WATCH_SETS	   2
#define WATCH_IFNAME	   16 /* IFNAMSIZ */
#define WATCH_CONSUMED_MAX 8  /* locations */
#define WATCH_REASONS	   256
#define WATCH_SLOTS	   256	/* slots per CPU, a power of two */
#define WATCH_FLOW_SLOTS   1024 /* slots per CPU if flows are counted */
#define WATCH_OTHERS_SLOTS 64	/* slots per CPU for keys without socket and flow */

/* Flags of a key. */
enum watch_flag {
	WATCH_COPY = 1, /* a copy ended (flood, tap); the end of the packet itself overrides it */
	WATCH_SK = 2,	/* skb->sk was set: this host sent the packet */
	/*
	 * A route was attached. For NETFILTER_DROP, aux is the route's input function, or the
	 * function that ran netfilter's hooks (struct trace_places) if that is more specific.
	 */
	WATCH_DST = 4,
	WATCH_NO_DEV = 8,   /* skb->dev was not an interface; ifindex: ingress, if known */
	WATCH_PORT = 16,    /* aux represents the destination: the socket is unknown, or missing */
	WATCH_SOCKET = 32,  /* aux is the cookie of the dropping socket */
	WATCH_SENDER = 64,  /* aux is the cookie of the sending socket, only on request */
	WATCH_OTHERS = 128, /* no room: aux and flow are omitted, and several keys are merged */
	WATCH_CONSUMED = 256, /* freed as consumed (consume_skb) where that is a loss */
	WATCH_ABORTED = 512,  /* an XDP program ended with an error: xdp_exception, not XDP_DROP */
	/*
	 * NETFILTER_DROP with WATCH_SENDER: dropped at the interface's egress hook. Other hooks can
	 * be told from the flags, because this host sent the packet.
	 */
	WATCH_EGRESS = 1024,
	WATCH_LIVE = 2048, /* a frame of the sending `xdp` engine, at the sender's interface */
	WATCH_MANY = WATCH_PORT | WATCH_SOCKET | WATCH_SENDER, /* aux takes many values */
};

/*
 * The cause of a drop. 32 bytes, compared as four words. A cause of `run` has no protocol, and only
 * has a packet type if aux is the caller of netfilter's hooks.
 */
struct watch_key {
	/* return address in the kernel, or an enum trace_observer without one; 0: an empty slot */
	__u64 location;
	__u64 aux; /* socket cookie, dst->input, destination (see flags) or enum bpf_map_type */
	__s32 reason;	 /* enum skb_drop_reason, 0: not supported; XDP observers: -errno */
	__u32 ifindex;	 /* 0: unknown */
	__u32 netns;	 /* inode number; 0 unknown */
	__be16 protocol; /* skb->protocol: ETH_P_IP ...; 0 unknown */
	__u16 pkt_type : 3; /* PACKET_HOST, PACKET_BROADCAST ... */
	__u16 flags : 13;   /* enum watch_flag */
};

/* Returns the enum trace_observer that reported a cause. */
static inline __u32 watch_observer(const struct watch_key *key)
{
	return key->flags & WATCH_CONSUMED	? OBSERVER_CONSUME_SKB
	       : key->location < OBSERVER_COUNT ? (__u32)key->location
						: OBSERVER_KFREE_SKB;
}

#define WATCH_PKT_TYPE_SHIFT 48 /* position of pkt_type in the fourth word */
#define WATCH_FLAGS_SHIFT    51

struct watch_count {
	__u64 events; /* skbs */
	__u64 more;   /* further packets, because a merged skb counts as its segments */
	__u64 bytes;  /* L3 bytes; each segment of a merged skb counts with its own headers */
	__u64 memory; /* skb->truesize, the bytes that a queue charges for it */
};

/* A flow, only with --by flow. IPv4 addresses are in the first 4 bytes and the rest is 0. */
struct watch_flow {
	__u8 src[16] __attribute__((aligned(4))), dst[16];
	__be16 src_port, dst_port; /* 0: unknown, for example in later fragments */
	__u8 family;		   /* AF_INET, AF_INET6; 0: not IP or not readable */
	__u8 proto;		   /* IPPROTO_* */
	__u16 tunnel;		   /* enclosing tunnel with --inner, enum header; 0: none */
	__u32 tunnel_id;	   /* as in struct headers */
	__u32 pad;
};

/* One cache line, or two with flows. */
struct watch_slot {
	struct watch_key key;
	struct watch_count count;
};

struct watch_flow_slot {
	struct watch_slot slot;
	struct watch_flow flow;
	__u8 pad[16];
};

/* Key of the hash maps for keys without a slot. */
struct watch_flow_key {
	struct watch_key key;
	struct watch_flow flow;
};

/*
 * A socket, identified by its cookie. Recorded when one of its keys claims a slot, so once per
 * interval while it loses packets. Levels and counters are the values at that time. 0: unknown.
 */
struct watch_sock {
	__u8 local[16];	  /* as in struct watch_flow */
	__u16 local_port; /* host byte order, like skc_num */
	__u16 family;	  /* AF_INET, AF_INET6, AF_PACKET, AF_UNIX ... */
	__u16 type;	  /* SOCK_DGRAM ... */
	__u16 protocol;	  /* IPPROTO_* */
	__u32 state;	  /* TCP_ESTABLISHED ... */
	__u32 netns;	  /* inode number */
	__u64 inode;	  /* inode, as in /proc/PID/fd; 0: closed, or the kernel's own socket */
	__u64 cgroup;	  /* ID as in cgroup_path_ns(); 0: unknown */
	__u64 drops;	  /* sk_drops */
	__u64 rcvbuf;	  /* bytes, as returned by getsockopt(SO_RCVBUF) */
};

/*
 * A network interface, identified by namespace and index. Recorded when one of its keys claims a
 * slot.
 */
struct watch_dev_key {
	__u32 netns, ifindex;
};

struct watch_dev {
	char name[WATCH_IFNAME];
};

/* Per CPU: the observer's own failures. */
struct watch_loss {
	__u64 overflow; /* events without a slot, counted in the hash map (slow, but not lost) */
	__u64 merged;	/* events without their socket or flow, or not shown: a map was full */
	__u64 unsampled;  /* events counted without a sample because the ring was full */
	__u64 unframed;	  /* packets that XDP lost: counted without their key */
	__u64 unwindowed; /* packets counted without their window because there was no room */
	struct watch_count uncounted; /* events for which there was no room, not told apart */
};

/* The only element of the map `control`. Set by user space unless stated. */
struct watch_control {
	__u32 interval;	   /* the set in use is interval % WATCH_SETS */
	__u32 unsampled;   /* skip samples for now */
	__u32 any_aborted; /* set once by a program; until then no drop has to test its mark */
};

/* In rodata: the selected features. Code for features that are not selected is removed. */
#define WATCH_SOCKET_REASONS 4
struct watch_config {
	/*
	 * Drop reasons that involve a socket. If the kernel does not report which socket, the
	 * destination is used.
	 */
	__s32 socket_reasons[WATCH_SOCKET_REASONS];
	__s32 no_socket; /* drop reason of packets for which there is no socket */
	__u32 cpus; /* number of possible CPUs */
	__u8 by_flow;
	__u8 by_sender; /* if no socket dropped the packet, also record the sending socket */
	__u8 stack;	/* add the kernel stack to samples */
	/* Filters: */
	__u8 is_filtered; /* any of these filters except has_expr is set */
	__u8 has_reasons; /* only the reasons in the set */
	__u8 socket_only; /* only packets with a socket, according to rx_sk or skb->sk */
	__u8 has_expr;	  /* EXPR, patched in (bpf/filter.bpf.h) */
	__u8 extensions;  /* EXPR tests IPv6 extension headers */
	__u8 has_firsts;  /* look for first fragments */
	__u8 xdp;	  /* also count frames that XDP loses */
	__u8 pad[2];
	__u32 netns;	  /* only this namespace; 0: all */
	__u32 ifindex;	  /* only this interface of that namespace; 0: all */
	__u32 snaplen;	  /* bytes per sample; 0: no samples */
	__u64 burst_ns;	  /* length of a window; 0: no windows */
	/* Bit n: reason n. Reasons of subsystems are above WATCH_REASONS and always pass. */
	__u64 reasons[WATCH_REASONS / 64];
	struct trace_range consumed_within; /* all of: */
	struct trace_range consumed[WATCH_CONSUMED_MAX];
};

_Static_assert(sizeof(struct watch_key) == 32, "four words, no holes");
_Static_assert(sizeof(struct watch_slot) == 64, "a cache line");
_Static_assert(sizeof(struct watch_flow) == 48, "no holes");
_Static_assert(sizeof(struct watch_flow_slot) == 128, "two cache lines");
_Static_assert(sizeof(struct watch_sock) == 64, "no holes");

/*
 * Bursts: each key's losses per time window, over all CPUs. An interval's largest window is kept
 * while the next interval already counts, and a window may continue in it.
 */

#define BURST_NS_MIN 100000 /* minimum length of a window */
#define BURST_NS_MAX 1000000000
#define BURST_KEYS   16384 /* at the same time */

struct burst {
#ifdef __bpf__
	struct bpf_spin_lock lock;
#else
	__u32 lock; /* linux/bpf.h and pcap/bpf.h exclude each other */
#endif
	__u32 pad;
	__u64 window, packets; /* current window: CLOCK_MONOTONIC / watch_config.burst_ns */
	struct {
		__u64 interval, window, packets;
	} most[WATCH_SETS]; /* largest window of an interval, by watch_control.interval */
};

_Static_assert(sizeof(struct burst) == 72, "no holes");

/*
 * A dropped packet, sampled for display by the observer of all traffic: owner, place, and the first
 * bytes of the packet. Samples do not affect counts. A drop that does not fit in the ring is only
 * counted.
 */

#define SAMPLE_SNAPLEN_MAX 65535
#define SAMPLE_PROGRAMS	   2 /* kfree_skb and consume_skb, which may interrupt each other */

#define SAMPLE_FRAMES 32 /* maximum stack depth */

/* Followed by room for `frames_room` kernel stack addresses, then by `len` bytes of the packet. */
struct sample {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	struct watch_key key;
	__u32 len;	/* bytes of the packet, all taken from the linear part */
	__u32 wire_len; /* length of the packet, counted from the same header */
	__u32 tag;	/* VLAN tag stored outside the packet: TPID << 16 | TCI; 0: untagged */
	__u16 segments; /* number of segments in a merged packet; 1: not merged */
	__u16 layer;	/* enum filter_layer: the layer at which the bytes begin */
	__u32 cpu;
	__u16 frames;	   /* number of stack addresses, innermost first */
	__u16 frames_room; /* SAMPLE_FRAMES; 0: no stacks */
};

_Static_assert(sizeof(struct sample) == 64, "no holes");

#endif
