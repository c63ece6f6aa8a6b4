/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP's retransmissions and what became of the transmissions before them (`trace --balance` of a
 * TCP flow). An observer reads the kernel (bpf/tcp.bpf.c), the ledger decides.
 *
 *	data_segs_out = new + retransmitted with data + returned
 *	retransmitted = lost here, by stage + beyond + not lost + undecided
 *
 * A retransmission of a range is explained by the fate of the transmission of that range just
 * before it. What is dropped while tcp_transmit_skb() holds the segment is `returned` where TCP
 * has not counted it as sent: it sends the range again as new, and no retransmission shows it.
 */
#ifndef PKTLEDGER_DROPS_TCP_H
#define PKTLEDGER_DROPS_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hist.h"
#include "base/list.h"
#include "drops/filter.h"
#include "drops/ksym.h"
#include "drops/reason.h"
#include "drops/tcp_trail.h"
#include "stages.h"
#include "tcp_abi.h"

/* Why it is not known what became of the transmission before. */
enum tcp_why {
	TCP_WHY_LATE,	 /* that was before tracing began */
	TCP_WHY_OPEN,	 /* nothing was acknowledged since, up to the end */
	TCP_WHY_FULL,	 /* records found no room, or were forgotten */
	TCP_WHY_UNSEEN,	 /* the socket counted a retransmission that no event showed */
	TCP_WHY_NO_SACK, /* the peer cannot report what it has twice */
	TCP_WHY_INSIDE,	 /* its device leads to another namespace, and no event showed a drop */
	TCP_WHY_DEVICE,	 /* its device lost packets by counter (monitor/tcp.c) */
	TCP_WHYS,
};

/* Segments, but where a name says bytes. */
struct tcp_sum {
	uint64_t sockets;
	uint64_t data_segs_out, returned;
	uint64_t retransmitted; /* events, and what only tcp_sock counted (TCP_WHY_UNSEEN) */
	uint64_t without_data;	/* of them: SYN, SYN-ACK, FIN */
	uint64_t kinds[TCP_KINDS];
	uint64_t lost_here, beyond, not_lost, undecided[TCP_WHYS];
	uint64_t ack_lost;   /* of not_lost: an acknowledgment of it was dropped here before */
	uint64_t lost_again; /* of lost_here: what was lost was a retransmission itself */
	uint64_t lost_at[STAGE_COUNT], returned_at[STAGE_COUNT];
	uint64_t not_resent; /* dropped here and not sent again until the end */
	uint64_t never;	     /* of them: was not acknowledged, and not refused by the peer's TCP */
	/* Dropped here, of senders elsewhere; of them, what has come again to its socket. */
	uint64_t received, received_at[STAGE_COUNT], received_again;
	/* Flows of which large segments were sent in vain, and smaller ones were acknowledged. */
	uint64_t large_only;
	uint64_t overcounted; /* events showed more retransmissions than tcp_sock */
	/* bytes_sent = what snd_nxt moved + bytes_retrans + bytes_returned + unaccounted */
	uint64_t bytes_sent, bytes_new, bytes_retrans, bytes_returned;
	uint64_t bytes_unaccounted; /* of all sockets, whatever its sign */
	uint64_t dsack_dups;
	uint64_t torn; /* sockets that never paused long enough to be read at one moment */
};

struct tcp_flow {
	struct watch_flow key;	/* as its segments are sent */
	uint32_t netns;		/* of the socket that sends; 0 unknown */
	struct tcp_totals last; /* of it */
	struct tcp_exit exit;	/* where it leaves this host behind other namespaces; 0: not seen */
	struct tcp_sum sum;
	/* Private */
	uint32_t unexplained, twice; /* of those, which an event shows to have arrived before */
	uint32_t large, large_to;    /* timeouts of a segment that may be too large; up to where */
	uint32_t came;	       /* what was sent before arrived, as all else was dropped here */
	uint32_t next;	       /* flow in the table of keys */
	uint32_t acks;	       /* of it that were dropped: the newest */
	uint64_t unsent_bytes; /* dropped before they were counted as sent, so far */
	uint32_t dsack_dups;   /* of its socket, if that goes on: not in the sum yet */
	uint32_t not_resent_at[STAGE_COUNT];
	int64_t returned;	/* bytes that were sent and that snd_nxt does not know */
	uint32_t came_to;	/* rcv_nxt of the last socket that received it, if `has_receiver` */
	uint64_t events;	/* segments that events showed, of those in total_retrans */
	uint64_t retransmitted; /* by total_retrans */
	uint64_t dropped_ns;	/* when a segment of it was dropped last; 0: none */
	uint64_t read_ns;	/* when its socket was read last, which goes on; 0: it does not */
	bool alive, full, forgotten, has_receiver;
};

/* The ledger: pure, so that they can be tested without a kernel. */

/* What a drop means. */
enum tcp_drop {
	TCP_DROP_NOTHING,
	TCP_DROP_LOSS,
	TCP_DROP_TWICE,	 /* the receiver had it already */
	TCP_DROP_UNSURE, /* by TCP itself: without data, it was not needed any more */
};
/* `outside`: before it came to the entry of this host. */
typedef enum tcp_drop tcp_judge(void *arg, const struct watch_key *key, enum stage *stage,
				bool *outside);

struct tcp_ledger;

/*
 * `flows`: those that are kept one by one at most, and 8 ranges for each of them. Where ranges are
 * full, the older half is decided and forgotten; where flows are, those that are over become part
 * of the sum, and nothing is kept of others: tcp_ledger_refused().
 */
#define TCP_FLOWS (1u << 15)
struct tcp_ledger *tcp_ledger_new(unsigned flows, tcp_judge *judge, void *arg);
void tcp_ledger_free(struct tcp_ledger *b);

/* From here on what other hosts may explain goes there; borrowed. */
void tcp_ledger_keep(struct tcp_ledger *b, struct trail *trail);

/* In the order of their times, but for TCP_SOCKET. */
void tcp_ledger_add(struct tcp_ledger *b, const struct tcp_record *r);

/* So many records were lost until now: sockets that end without a flow may have had one. */
void tcp_ledger_lost(struct tcp_ledger *b, uint64_t records);

/*
 * Decides everything, and fills `sum`; nothing may be added any more. `lost`: unranged records.
 * `each`: of flows, and of what those that are folded lost beyond a device, `sum` and way alone.
 * What is next is added to `sum` behind that.
 */
typedef void tcp_each(void *arg, const struct tcp_flow *f);
void tcp_ledger_close(struct tcp_ledger *b, uint64_t lost, struct tcp_sum *sum, tcp_each *each,
		      void *arg);

/*
 * What is known before the end. What was sent again since `until_ns`, or is not acknowledged, is
 * not decided yet, and in none of lost_here, beyond, not_lost, undecided; all else of `sum` is not
 * filled.
 */
void tcp_ledger_look(struct tcp_ledger *b, uint64_t until_ns, uint64_t lost, struct tcp_sum *sum,
		     tcp_each *each, void *arg);

/* The device by which the flow leaves, if its socket's own leads to another namespace. */
void tcp_ledger_exit(struct tcp_ledger *b, const struct watch_flow *key,
		     const struct tcp_exit *exit);

/*
 * From each drop to the retransmission that it explains, in ns; `received`: of senders elsewhere,
 * until it came to its socket.
 */
const struct hist *tcp_ledger_stall(const struct tcp_ledger *b, bool received);

/* Whatever the reason. */
uint64_t tcp_sum_undecided(const struct tcp_sum *s);

/* Rows of struct tcp_flow that lost something; decided after tcp_ledger_close(). */
const struct list *tcp_ledger_flows(const struct tcp_ledger *b);
uint64_t tcp_ledger_folded(const struct tcp_ledger *b);	 /* others, which are in the sum alone */
uint64_t tcp_ledger_refused(const struct tcp_ledger *b); /* records of flows without room */
uint64_t tcp_ledger_bytes(const struct tcp_ledger *b);	 /* of memory, for flows and ranges */

/* The observer */

struct tcp_observer;

struct tcp_spec {
	const struct filter *filter;
	const struct reasons *reasons;
	const struct ksyms *ksyms;
	unsigned flows; /* of tcp_ledger_new() */
	bool trail;	/* kept, for which each packet that comes is looked at */
	uint32_t netns; /* of one namespace alone, as if there were no others; 0: of all */
};

/*
 * Loads. STATUS_UNABLE: the kernel does not report which retransmissions failed (`err` of
 * tcp_retransmit_skb, or before Linux 6.17 fexit), or a capability is wanting.
 */
int tcp_observer_open(struct tcp_observer **o, const struct tcp_spec *spec, struct error *err);

/* Attaches, and reads the sockets that are there. */
int tcp_observer_attach(struct tcp_observer *o, const struct trace_places *places,
			struct error *err);

/* Reads the ring; to be called some times a second. 0 or -errno. */
int tcp_observer_poll(struct tcp_observer *o);

/* Reads the sockets that sent again, and goes on: tcp_ledger_look() may follow. 0 or -errno. */
int tcp_observer_look(struct tcp_observer *o);

/* Reads the sockets that are left, and stops. Once. 0 or -errno. */
int tcp_observer_end(struct tcp_observer *o);

/* NULL: none is kept; whole after tcp_observer_end() and tcp_ledger_close(). */
struct trail *tcp_observer_trail(const struct tcp_observer *o);

/* After tcp_observer_look() or tcp_observer_end(). */
struct tcp_ledger *tcp_observer_ledger(const struct tcp_observer *o);
struct tcp_losses tcp_observer_losses(const struct tcp_observer *o);

/* A listener that lost something by its counter (sk_drops), which an event need not have shown. */
struct tcp_listening {
	struct tcp_listener last;
	uint64_t before, lost;
};
/* Rows of struct tcp_listening, after tcp_observer_end(). */
const struct list *tcp_observer_listeners(const struct tcp_observer *o);

/* A socket of the flow was there, or a listener; whole after tcp_observer_end(). */
bool tcp_observer_has(const struct tcp_observer *o, uint32_t netns);

/* What events showed of a namespace, of all sockets there. */
struct tcp_counted tcp_observer_counted(const struct tcp_observer *o, uint32_t netns);

/* What its ledger and the maps of its programs take; but for what the kernel keeps with each
 * socket. */
uint64_t tcp_observer_bytes(const struct tcp_observer *o);

/* Events that came while a program of ours was running on that CPU: not seen. */
uint64_t tcp_observer_missed(const struct tcp_observer *o);

void tcp_observer_close(struct tcp_observer *o); /* NULL is allowed */

#endif
