/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table behind the second books: which counter is moved by which losses. Private to
 * secondbooks.c and its test.
 */
#ifndef PKTLEDGER_LEDGER_SECONDBOOKS_DATA_H
#define PKTLEDGER_LEDGER_SECONDBOOKS_DATA_H

#include "ledger/secondbooks.h"

/* Where the loss must have happened for this counter to see it. */
enum book_relation {
	REL_ANY,  /* anywhere */
	REL_ROLE, /* in the counter's namespace */
	REL_TX,	  /* in the sender's namespace */
	REL_DEV,  /* at the counter's device */
	REL_PEER, /* at the other end of its link */
	REL_LINK, /* at the counter's device or the other end of its link */
	/*
	 * At the sender's device or the other end of its link, inside send(). veth hides the
	 * loss from send() before v6.6 (151e887d8ff9, in later stable kernels): as QUIRK.
	 */
	REL_SENT,
};

/* How surely it does. */
enum book_force {
	MUST,
	MAY,
	NATIVE,	  /* if XDP runs in the driver */
	INLINE,	  /* if the receiving side's netif_rx() ran inside send() */
	TAIL,	  /* if the sender's qdisc refuses the packet being sent, not one queued before */
	DIRECT,	  /* if no qdisc stands between send() and the device */
	QUIRK,	  /* MUST, but newer kernels forget it: a documented disagreement */
	SEGMENTS, /* MUST, once per segment, not per skb */
};

struct book_member {
	enum stage stage;     /* STAGE_NONE ends the set */
	const char *reason;   /* NULL: any; a|b: one of; !a|b: none of */
	const char *location; /* NULL: any; a|b: one of; !a|b: none of */
	enum book_relation relation;
	enum book_force force;
};

enum book_flag {
	BOOK_TX_SOCKET = 1,  /* moved by sockets only: with other senders nothing is expected */
	BOOK_EAGAIN = 2,     /* each EAGAIN moves it too, without a packet */
	BOOK_SINK = 4,	     /* what our XDP sink takes moves it too */
	BOOK_EVIDENCE = 8,   /* no count of losses: shown beside them, never missed */
	BOOK_COPY_MODE = 16, /* meaningless with zero-copy AF_XDP */
};

struct book_rule {
	/*
	 * Names for IPv4 and IPv6, or for both where name6 is NULL. '@' is the device, '*' any
	 * characters (all matches are summed), a|b the first that exists.
	 */
	const char *name4, *name6;
	const char *role; /* "tx", "rx" (also found in "host": one namespace); "host"; NULL any */
	enum book_scope scope;
	unsigned flags;
	const char *note;
	const char *quirk; /* the note of a documented disagreement; NULL: there is none */
	const struct book_member *set;
};

extern const struct book_rule book_rules[];
extern const unsigned book_rules_n;

enum surely { NOT, PERHAPS, SURELY };

/* How surely did the losses `e` move a counter of this role and device by this line of its set? */
enum surely book_surely(const struct book_member *m, const struct stage_events *e, const char *role,
			const char *ifname, const struct engine_facts *f);

struct book_silent {
	enum stage stage;
	const char *why;
};

extern const struct book_silent book_silents[];
extern const unsigned book_silents_n;

#endif
