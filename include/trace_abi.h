/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Interface between the tracing programs and user space.
 *
 * A packet's outcome is one byte, indexed by the packet's number. It is 0 while the packet is open,
 * and otherwise the index of the cause that ended it (struct watch_key). User space maps a cause to
 * a stage (drops/stagemap.h), because that needs names.
 */
#ifndef PKTLEDGER_TRACE_ABI_H
#define PKTLEDGER_TRACE_ABI_H

#include <linux/types.h>

/* Address range of a function: start <= address < end; 0, 0: the function does not exist. */
struct trace_range {
	__u64 start, end;
};

/* Properties of this kernel for programs at skb:kfree_skb, set when the programs are loaded. */
struct trace_kfree {
	/* SKB_DROP_REASON_*; negative: missing in this kernel */
	__s32 netfilter, otherhost, packet_sock, qdisc, dup_frag;
	/* QDISC_DROP_GENERIC: kfree_skb does not report a qdisc's own reason (Linux 7.2) */
	__s32 qdisc_generic;
	__u8 has_reason; /* the tracepoint's 3rd argument, since Linux 5.17 */
	__u8 has_rx_sk;	 /* the 4th argument, since 6.11 */
	__u8 pad[2];
};

#define TRACE_XDP	  3
#define TRACE_FRAGMENTING 3

/* Address ranges of functions, set when the programs are attached. */
struct trace_places {
	/*
	 * dev_kfree_skb_any(), which drivers use to free packets. Unless the compiler turned its
	 * last call into a jump, kfree_skb reports this location instead of the function that
	 * dropped the packet.
	 */
	struct trace_range freeing;
	/*
	 * Functions that run netfilter's hooks or resume a bridge's hooks (br_netfilter), and the
	 * callers at interfaces (nf_hook_ingress(), nf_hook_egress()) for ingress and egress.
	 */
	struct trace_range run, resume, in, out;
	struct trace_range xdp[TRACE_XDP]; /* run XDP on an skb and free it, veth's comes first */
	/* ip_do_fragment(), ip6_fragment(), and before 6.3 kfree_skb_list_reason(), called by both
	 */
	struct trace_range fragmenting[TRACE_FRAGMENTING];
};

#define TRACE_SPACES	 3 /* of a test network: LAB_SPACES */
#define TRACE_HANDING	 6
#define TRACE_IGNORED	 3
#define TRACE_CONSUMING	 3
#define TRACE_STREAMS	 256 /* sending threads per run */
#define TRACE_CAUSES	 256 /* index 0: unused; TRACE_CAUSE_FULL: the table was full */
#define TRACE_CAUSE_FULL 255
/* Set by user space: reassembly timed out because fragments were missing. */
#define TRACE_CAUSE_GIVEN_UP   254
#define TRACE_CAUSE_DIFFERENCE 253 /* seen at one probe but not at the next */
#define TRACE_PAGE_BITS	       12
#define TRACE_PAGE_SIZE	       (1 << TRACE_PAGE_BITS)

/* One element of the maps `outcomes`, `arrivals` and `seen`, with one byte per packet. */
struct trace_page {
	__u8 at[TRACE_PAGE_SIZE];
};

/*
 * The only element of the map `tails`. Numbers below a tail have left their stream's window. If
 * streams are learned, `key` is the upper half of one of the stream's words, in order of arrival
 * (0: the slot is free), and a tail of 0 is the stream's base.
 */
struct trace_tails {
	__u64 at[TRACE_STREAMS];
	__u32 key[TRACE_STREAMS];
};

/*
 * Returns true if the upper half of a word belongs to the stream with this key and tail (0: its
 * base). The upper half grows with every 2^32 numbers, so an arriving number is at most one ahead
 * of the tail.
 */
static inline _Bool trace_key_fits(__u32 key, __u64 tail, __u32 upper)
{
	__u32 reached = tail ? (__u32)(tail >> 32) - (key & 0xffff) : 0;

	return !((key ^ upper) >> 16) && upper - key <= reached + 1;
}

enum trace_observer {
	OBSERVER_KFREE_SKB,	/* skb:kfree_skb */
	OBSERVER_REDIRECT_ERR,	/* xdp:xdp_redirect_err, number taken from the per-CPU cell */
	OBSERVER_XDP_EXCEPTION, /* xdp:xdp_exception, number taken from the per-CPU cell */
	OBSERVER_DEVMAP_XMIT,	/* xdp:xdp_devmap_xmit */
	OBSERVER_BULK_TX,	/* xdp:xdp_bulk_tx */
	OBSERVER_CPUMAP,	/* xdp:xdp_cpumap_enqueue */
	OBSERVER_CONSUME_SKB,	/* skb:consume_skb, at locations where that is a loss */
	OBSERVER_SOCKET_QUEUE,	/* found in the receive queue just before the socket closed */
	OBSERVER_COUNT,
};

/* Per CPU and cause. */
struct trace_count {
	__u64 events;
	__u64 packets; /* weighted: a GSO skb counts as its segments */
	__u64 bytes;   /* L3 bytes */
	__u64 memory;  /* skb->truesize, the bytes that a queue charges for it */
};

#define TRACE_BULK	 16 /* DEV_MAP_BULK_SIZE: maximum frames handed to an interface at once */
#define TRACE_BULK_CPU	 8  /* CPU_MAP_BULK_SIZE: maximum frames handed to a CPU at once */
#define TRACE_BATCH	 32 /* a power of two above TRACE_BULK */
#define LOOPBACK_IFINDEX 1  /* live frames appear to arrive there */

/*
 * Per CPU: words of the frames redirected to the interface or CPU, in order, that have not been
 * handed over yet. The sending program moves `tail`, and the tracer moves `head`.
 */
struct trace_batch {
	__u32 head, tail; /* modulo 2^32; entry n is at word[n % TRACE_BATCH] */
	__u32 lost;	  /* the tracer missed a batch, so the waiting frames are unknown */
	__u32 pad;
	__u64 word[TRACE_BATCH];
};

/* Per CPU: events that the tracer missed or excluded. */
struct trace_loss {
	__u64 causes_full;	/* no index left, resolved as TRACE_CAUSE_FULL */
	__u64 stamp_unreadable; /* on our port, payload not readable */
	__u64 foreign;		/* valid sequence header from another run */
	__u64 late;		/* number no longer in the window */
	__u64 cell_empty;	/* XDP loss with no number in the cell */
	__u64 gso_split;	/* merged skbs whose numbers do not span the segments */
};

/* Per CPU: how an observer and its twin (bpf/drops.bpf.c) divide the packets. */
struct trace_begun {
	__u64 skb[OBSERVER_COUNT]; /* last skb of the first program, not yet seen by the twin */
	__u64 taken;		   /* packets handled by the twin in place of the first program */
};

/* Per CPU: fragments of numbered datagrams. */
struct trace_fragments {
	__u64 made;	 /* seen at the sender's interface */
	__u64 seen;	 /* seen at the receiver's interface */
	__u64 dropped;	 /* drop events */
	__u64 abandoned; /* not sent because an earlier fragment was lost */
	__u64 unmatched; /* UDP fragments whose first fragment is unknown; they resolve no number */
};

/* Fragment tracking (bpf/fragment.bpf.h): the fields that all fragments of a datagram share. */
struct fragment_key {
	__u8 src[16], dst[16];
	__u32 id;
	__u8 version; /* 4 or 6 */
	__u8 proto;   /* IPv6: 0, because only the first fragment has it (RFC 8200, 4.5) */
	__u16 pad[3];
};

/*
 * State of a datagram: the word of its sequence header, how many bytes of its data have passed the
 * sender's and the receiver's probes, and its total length, known from the last fragment. A
 * datagram that only partly passed a probe does not count as seen there, because the missing part
 * was lost earlier.
 */
struct fragmented {
	__u64 word;
	__u32 passed[2];
	__u32 bytes; /* 0: not known yet */
	__u32 pad;
};

/* A datagram's first loss. */
struct fragment_loss {
	/* CLOCK_MONOTONIC in ns; the lowest 16 bits are the offset of the fragment. 0: unset */
	__u64 when;
	/*
	 * With --balance: index + 1 of the cause while it is unknown whether EXPR matches the
	 * datagram; 0: counted, or not lost. FRAGMENT_MERGED: see fragment_merge().
	 */
	__u32 cause;
	__u32 pad;
};

#define FRAGMENT_OFFSET 0xffffULL
#define FRAGMENT_MERGED 0xffffffff

#define FRAGMENT_UNIT 256 /* bytes of data per bit */
#define FRAGMENT_BITS 4	  /* words of 64 such bits: 65536 bytes */

/*
 * Another program's datagram, tracked from the first fragment to arrive, at any offset. EXPR can
 * only be tested on the fragment at offset 0.
 */
struct followed {
	__u32 flags;  /* FOLLOWED_*; 0: not known whether EXPR matches */
	__u32 netns;  /* namespace where bytes are counted; 0: none yet */
	__u32 passed; /* bytes of data that arrived there, each counted once */
	__u32 bytes;  /* length of the whole datagram in bytes; 0: unknown */
	__u64 begun;  /* CLOCK_MONOTONIC */
	__u64 came[FRAGMENT_BITS]; /* arrived fragments, by offset / FRAGMENT_UNIT */
	__u32 again;		   /* fragments that arrived more than once */
	__u32 again_lost;	   /* fragments in `again` that were dropped */
	struct fragment_loss lost;
};

#define FOLLOWED_OURS	  1    /* EXPR matches it */
#define FOLLOWED_RECEIVED 2    /* it came from outside this host */
#define FOLLOWED_LEFT	  4    /* its first fragment has left the host */
#define FOLLOWED_COPY	  8    /* looped-back multicast: a copy of the original */
#define FOLLOWED_ENTERED  16   /* it is counted as entered, see balance_tally */
#define FOLLOWED_MAX	  8192 /* maximum number of datagrams tracked at a time, LRU-evicted */
#define FRAGMENT_LIFE	  61000000000LL /* IP6_FRAG_TIMEOUT, the longer of the two, plus 1 s */
/* Maximum delay in ns of a fragment that comes twice or before the first one. */
#define FRAGMENT_CLOSE 1000000000LL
/*
 * The same for two copies of a first fragment that leave the host. No probe sees when that datagram
 * is complete, and a sender may then use the ID for another one.
 */
#define FRAGMENT_AT_ONCE 1000000LL

/*
 * How programs learn streams that are not known in advance. Streams whose packets arrive on this
 * host take slots. Programs that also see packets of other hosts only look streams up.
 */
enum trace_learn { LEARN_LOOK = 1, LEARN_TAKE = 2 };

/* In rodata of every program: which numbers belong to this run. */
struct trace_config {
	__u64 base;    /* first number of every stream, a multiple of 2^32 */
	__u64 window;  /* numbers kept per stream, a power of two >= TRACE_PAGE_SIZE */
	__u16 stream0; /* stream of slot 0 */
	__u16 streams; /* slots */
	__u16 port;    /* the flow's destination port, host byte order; 0: any */
	__u16 pad[3];
	__u32 count_all; /* also count the ends of other numbers, because the senders are unknown */
	__u32 fragments; /* datagrams are larger than the MTU, so track fragment numbers */
	__u32 tunnel;	 /* UDP port of VXLAN to decapsulate; 0: none */
	__u32 learn;	 /* enum trace_learn; if not 0, base and stream0 are unused */
	__u32 netns[TRACE_SPACES]; /* only count ends in these namespaces; the first one 0: any */
	struct trace_range ignored[TRACE_IGNORED]; /* locations where freeing a packet does not end
						    * it */
	/* Location that frees a merged packet whose segments will all be freed: tbf_segment(). */
	struct trace_range segmenting[2];
	/*
	 * Interfaces that hand over to a peer: a packet dropped there has the peer as its
	 * interface.
	 */
	struct trace_range handing[TRACE_HANDING];
	struct trace_range consuming[TRACE_CONSUMING]; /* locations where consume_skb() is a loss */
};

/* A byte in `seen`: the last probe that a packet passed, and where it was processed. */
enum trace_seen {
	SEEN_TX_DEVICE = 1, /* tc egress of the sender's interface */
	SEEN_XDP = 2, /* XDP at the receiver's interface: a fault program, or ours with --pass */
	SEEN_RX_DEVICE = 3, /* tc ingress of the receiver's interface */
	SEEN_SOCKET = 4,    /* in the socket's receive queue */
	SEEN_MASK = 0x0f,
	SEEN_BRIDGE_IN = 0x10,	/* additional probe at tc ingress of a bridge port */
	SEEN_BRIDGE_OUT = 0x20, /* additional probe: tc egress of the bridge port to the receiver */
	SEEN_BRIDGE = SEEN_BRIDGE_IN | SEEN_BRIDGE_OUT,
	SEEN_ON_INIT = 0x80, /* `current` was a thread of PID 1, so tracing may be suppressed */
};

_Static_assert(sizeof(struct trace_page) == TRACE_PAGE_SIZE, "a page of outcomes");
_Static_assert(sizeof(struct trace_count) == 32, "counts");
_Static_assert(sizeof(struct trace_config) ==
		       88 + 16 * (TRACE_IGNORED + TRACE_HANDING + TRACE_CONSUMING),
	       "no holes");

#endif
