/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Interface between the observer of TCP retransmissions (bpf/tcp.bpf.c) and user space.
 *
 * The ledger is based on tcp_sock and on maps. The bytes that a socket sent and retransmitted are
 * the difference between two readings of it. The first reading is taken when the connection was
 * established or tracing began, and the last one when it was closed or tracing ended. The sequence
 * ranges that were dropped or retransmitted arrive through a ring and only explain the counters. If
 * a range does not fit in the ring, the retransmission stays undecided.
 */
#ifndef PKTLEDGER_TCP_ABI_H
#define PKTLEDGER_TCP_ABI_H

#include <linux/types.h>

#include "trace_abi.h"
#include "watch_abi.h"

/* Where a socket's packets go first, according to the interface of its route. */
enum tcp_role {
	TCP_ROLE_UNKNOWN, /* no route is cached */
	TCP_ROLE_INSIDE,  /* an interface whose peer is in another namespace of this kernel */
	TCP_ROLE_EDGE,	  /* any other */
};

/* Counters from struct tcp_sock, with the same names. `sack`: the peer supports SACK (RFC 2018). */
struct tcp_totals {
	__u64 bytes_sent, bytes_retrans;
	__u32 data_segs_out, total_retrans;
	__u32 dsack_dups;
	__u32 snd_nxt, snd_una;
	__u32 rcv_nxt;
	__u32 ifindex; /* interface of the route; 0: unknown */
	__u8 role;     /* enum tcp_role */
	__u8 sack;
	__u8 flags; /* enum tcp_total_flag */
	__u8 pad;
	__u32 data_segs_in, pad2;
};

enum tcp_total_flag {
	TCP_LATE = 1, /* first reading: the socket had sent before tracing began */
	TCP_TORN = 2, /* read while the socket was locked, so the fields may be inconsistent */
	TCP_DEAD = 4, /* last reading: the socket is closed */
};

enum tcp_event {
	TCP_DROPPED,	   /* a segment with data, SYN or FIN, or an acknowledgment */
	TCP_RETRANSMITTED, /* tcp_retransmit_skb, for a segment that the kernel counts */
	TCP_SYNACK,	   /* tcp_retransmit_synack */
	TCP_SOCKET,	   /* first and last readings of a socket */
	TCP_CAME,	   /* a range dropped earlier, at start_ns, reached a socket on this host */
	TCP_LOOKED,	   /* first and intermediate readings of a socket that retransmitted */
	TCP_HOLE,	   /* gap at the entry: numbers above [seq, end) arrived */
	TCP_AGAIN,	   /* at the entry: `seq` is below a number that already arrived */
};

/* For TCP_RETRANSMITTED and TCP_SYNACK. */
enum tcp_kind {
	TCP_FAST, /* in fast recovery */
	TCP_RTO,  /* in loss recovery started by a timer */
	TCP_TLP,  /* a tail loss probe (RFC 8985, 7), outside of recovery */
	TCP_KIND_SYN,
	TCP_KIND_SYNACK,
	TCP_KINDS,
};

struct tcp_record {
	__u64 time_ns;	/* bpf_ktime_get_ns() */
	__u64 start_ns; /* TCP_RETRANSMITTED: tcp_clock_cache, before its transmission */
	struct watch_flow flow; /* flow of the segment as sent */
	__u32 seq, end;		/* sequence range; SYN and FIN use one number each */
	__u32 bytes;		/* of payload */
	__u32 tsval;		/* value of the timestamp option (RFC 7323); 0: unknown */
	__u16 segs, size;	/* number of segments, and bytes of payload per segment (0: one) */
	__u8 event;		/* enum tcp_event */
	__u8 kind;		/* enum tcp_kind; TCP_DROPPED: the receiver already had it */
	/*
	 * TCP_DROPPED: the sender's socket was still transmitting it and had not counted it as sent
	 * (snd_nxt). If transmission ends with an error, the segment is sent again as new;
	 * otherwise it was sent. TCP_RETRANSMITTED: the segment is as large as the connection's MSS
	 * minus options.
	 */
	__u8 unsent;
	/*
	 * TCP_DROPPED: `ack` is the segment's acknowledgment number. TCP_RETRANSMITTED: data sent
	 * after the segment has arrived (SACK), and each such range is smaller than the segment.
	 */
	__u8 has_ack;
	__u32 netns; /* inode of the socket's namespace; TCP_DROPPED: 0 */
	__u32 ack; /* TCP_DROPPED: see above; TCP_RETRANSMITTED: later segments that arrived (SACK)
		    */
	__u64 place; /* TCP_HOLE, TCP_AGAIN, TCP_DROPPED: `seq` in a struct tcp_entry; 0: unknown */
	union {
		struct watch_key key; /* TCP_DROPPED */
		struct {
			/* TCP_SOCKET, TCP_LOOKED; TCP_RETRANSMITTED: last */
			struct tcp_totals first, last;
		};
	};
};

/* Per namespace, for all its sockets regardless of EXPR: the same events as the SNMP counters. */
struct tcp_counted {
	__u64 retrans; /* Tcp:RetransSegs */
	__u64 failed;  /* TcpExt:TCPRetransFail */
	__u64 syn;     /* TcpExt:TCPSynRetrans */
	__u64 cookie;  /* net_cookie of the namespace */
};

/* A range that was dropped after it left its sender, keyed by its start. */
struct tcp_hole {
	struct watch_flow flow;
	__u32 seq, pad;
};

struct tcp_hole_drop {
	__u64 time_ns;
	__u64 segs;
};

/*
 * A flow where it enters this host: segments with data, SYN or FIN, with numbers that do not wrap.
 * The numbers start as sequence numbers: `first` is below 2^32 if the SYN was seen, and above 2^32
 * otherwise. They are therefore the same on every host that saw the SYN.
 */
struct tcp_entry {
	__u64 first, next; /* first number that arrived, and end of the highest */
	__u64 segs;	   /* segments with data, counted like data_segs_in in tcp_sock */
	__u8 begun;	   /* the first segment was the SYN */
	__u8 ttl;	   /* TTL or hop limit; highest at the first host on the path */
	__u8 pad[6];
};

/* Interface through which a flow leaves this host, for TCP_ROLE_INSIDE. ifindex 0: not seen. */
struct tcp_exit {
	__u32 netns, ifindex;
};

#define TCP_EXITS      4096	      /* flows that retransmitted, LRU-evicted */
#define TCP_HOLES      16384	      /* LRU-evicted */
#define TCP_HOLE_LIFE  10000000000ULL /* ns: later arrivals and departures are not reported */
#define TCP_NAMESPACES 1024
#define TCP_ENTRIES    16384	  /* when full, additional flows are not told apart */
#define TCP_FAR	       (1 << 30)  /* distance from `next`; windows are smaller */
#define TCP_RING       (16 << 20) /* bytes */

/* Per CPU: missed events. */
struct tcp_losses {
	__u64 unranged;	 /* records that did not fit in the ring */
	__u64 unread;	 /* dropped TCP packets whose headers are in pages */
	__u64 uncounted; /* retransmissions in namespaces that did not fit in the table */
	__u64 unkept;	 /* sockets for which there was no memory */
	__u64 untracked; /* segments of flows that did not fit among the entries */
	__u64 unplaced;	 /* drops in an unknown namespace, if one was selected */
};

struct tcp_config {
	__u32 netns;		/* inode of the only namespace that counts; 0: the whole host */
	__s32 reason_merged[3]; /* of out-of-order segments; negative: missing in this kernel */
	__u16 trail;		/* keep entries */
	__u16 has_err;		/* tcp_retransmit_skb has its 3rd argument */
};

_Static_assert(sizeof(struct tcp_totals) == 56, "no holes");
_Static_assert(sizeof(struct tcp_record) == 216, "no holes");

#endif
