/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One end alone: `send` and `recv`. Each settles only losses in its own namespace; what became of
 * the rest only both ends together can tell.
 */
#ifndef PKTLEDGER_EXPERIMENT_SOLO_H
#define PKTLEDGER_EXPERIMENT_SOLO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/num.h"
#include "drops/fates.h"
#include "ledger/result.h"
#include "traffic/rx.h"
#include "traffic/sink.h"
#include "traffic/tx.h"
#include "experiment/experiment.h"

struct send_spec {
	const struct tx_ops *tx;
	struct endpoint to;		  /* address and port */
	const char *ifname;		  /* xsk, xdp: the port to send by */
	uint64_t count, duration_ns;	  /* as in struct run_spec */
	double rate_pps;		  /* 0: unthrottled */
	unsigned payload, flows, threads; /* payload: the longest */
	unsigned vlan, tos, ttl;
	const struct shape *shape; /* as in struct run_spec; a capture need not be stamped */
	uint64_t sndbuf;
	bool no_wait;
	struct tuning tuning;
	uint64_t interval_ns;
	/* with another host that knows of it; `send` has none of these but `border` */
	const struct fates_numbers *numbers; /* drawn there; NULL: to be drawn */
	uint64_t settle_ns;		     /* 0: as losses on this side need */
	/* note what leaves this host (drops/border.h); for `send`, to keep a ledger with it */
	bool border;
	bool fragments; /* datagrams are larger than the MTU */
};

/*
 * Sends, follows what is lost on this side, says the end of each stream to the receiver. `on_plan`
 * is told in one line what will be sent, before anything is. In `res`: attempted .. sent, dropped
 * and stages (this namespace only), rates, waits; the rest is 0. With `border` the fate of each
 * number is told: beside those of a run "left", of one that was seen to leave this host.
 */
int solo_send(const struct send_spec *spec, const struct experiment_view *view, struct result *res,
	      struct error *err);

struct recv_spec {
	const struct rx_ops *rx;
	const char *ifname; /* xsk: the port to receive at */
	bool ipv6;
	uint16_t port;
	uint64_t count;	      /* ends after so many deliveries; UINT64_MAX: no limit */
	uint64_t duration_ns; /* 0: no limit */
	bool stay;	      /* goes on when all senders have said that they are done */
	unsigned streams;     /* else, until so many of them have come and are done; 0: any */
	uint64_t rcvbuf;
	struct tuning tuning;
	uint64_t interval_ns;
	unsigned ledger; /* the fates of so many streams are told, as learned_tell(); 0: of none */
	/* with another host that knows of it; `recv` has none of these */
	const struct fates_numbers *numbers; /* of the sender; NULL: streams are learned */
	struct endpoint from;		     /* the sender's address; family 0: not known */
	unsigned payload;		     /* length of all packets; 0: any */
	const struct shape *shape;	     /* which length each has; NULL: not known, or alike */
	bool pass;			     /* rx xdp: the program only looks, a socket receives */
	bool fragments;			     /* datagrams are larger than the MTU */
};

struct recv_stream {
	uint16_t stream;
	uint64_t base;
	uint64_t delivered, highest; /* numbers, and the highest + 1, from 0 */
	uint64_t first;		     /* below, nothing was looked at */
	bool timed;		     /* packets carry a time: */
	int64_t fastest_ns;	     /* least from sending to arrival, by the clocks of both */
	bool ended;		     /* its sender has told: */
	uint64_t sent, refused;
};

struct recv_result {
	bool closed;	    /* the rest is what was received, though an engine may have failed */
	struct result res;  /* delivered, duplicated .. invalid, rx_pps, latency, stages (counts) */
	uint64_t received;  /* with a valid stamp */
	uint64_t lost;	    /* sent, as far as known, and not delivered */
	bool tail_known;    /* every stream has ended */
	uint64_t lost_tail; /* of those, behind the highest number seen */
	unsigned streams;
	struct recv_stream stream[TRACE_STREAMS];
};

int solo_recv(const struct recv_spec *spec, const struct experiment_view *view,
	      struct recv_result *out, struct error *err);

#endif
