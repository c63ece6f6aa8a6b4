/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps the end of a packet, given by reason and location in the kernel, to a ledger stage. The map
 * is data (stagemap_data.c). An unknown end is STAGE_OTHER and is displayed verbatim.
 */
#ifndef PKTLEDGER_DROPS_STAGEMAP_H
#define PKTLEDGER_DROPS_STAGEMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "stages.h"

/* The class of a drop, used in the same way by `run`, `trace`, `--balance`, TCP and `export`. */
enum drop_class {
	CLASS_LOSS,	 /* a packet was lost */
	CLASS_SUSPECTED, /* a packet ended, but it is not known whether that is a loss */
	CLASS_EXPECTED,	 /* a packet ended as it should, which is not a loss */
	CLASS_COPY,	 /* a copy ended (tap, raw socket, flood); the packet itself continues */
	CLASS_NONE,	 /* no packet ended, or another event reports it, so it is not counted */
	CLASS_COUNT,
};

const char *class_name(enum drop_class class); /* "loss", "suspected", "expected", "copy" */

enum netfilter_hook {
	HOOK_NONE, /* not netfilter */
	HOOK_INGRESS,
	HOOK_PREROUTING, /* on Linux 6.1 also ingress: a real NIC's driver sets no socket */
	HOOK_INPUT,
	HOOK_FORWARD,
	HOOK_OUTPUT,
	HOOK_POSTROUTING, /* on Linux 6.1 also egress */
	HOOK_EGRESS,
	/* nft's bridge and arp families; Linux 6.1 reports one of the hooks above instead */
	HOOK_BRIDGE_PREROUTING,
	HOOK_BRIDGE_INPUT,
	HOOK_BRIDGE_FORWARD,
	HOOK_BRIDGE_OUTPUT,
	HOOK_BRIDGE_POSTROUTING,
	HOOK_ARP_INPUT,
	HOOK_ARP_OUTPUT,
	HOOK_COUNT,
};

/* One tracer event, with names instead of numbers. No pointer may be NULL. */
struct stagemap_event {
	const char *reason;   /* as from reasons_name(); "" without a reason */
	const char *location; /* function name, cut at the first dot; "": unknown */
	const char *aux;   /* function of dst->input, or caller of netfilter's hooks; "": unknown */
	unsigned observer; /* enum trace_observer */
	unsigned flags;	   /* enum watch_flag */
	int error;	   /* XDP observers: positive errno, otherwise 0 */
	uint32_t map_type; /* XDP observers: enum bpf_map_type of the redirect; 0: not a map */
	unsigned pkt_type; /* skb->pkt_type, where needed: judge_drop(), bridges */
	uint16_t protocol; /* skb->protocol, host order, for judge_drop() only; 0: unknown */
	bool numbered;	   /* a packet of `run`, for which every end is a loss; for judge_drop() */
};

struct verdict {
	enum stage stage; /* STAGE_NONE: a tap's copy, or not a packet */
	enum drop_class class;
	enum direction direction;
	enum netfilter_hook hook; /* HOOK_NONE unless the stage is netfilter */
	const char *note;	  /* what happened, as one clause for display; never NULL, static */
	bool known;		  /* false: no row in the map matches */
};

/*
 * A row of the map. The first matching row wins. Lists are words separated by blanks. `*` stands
 * for any characters, and NULL for any reason or location.
 */
struct stagemap_row {
	const char *reasons;
	const char *locations;
	enum stage stage;
	enum drop_class class;
	const char *note; /* in parentheses: the kernel function that decides */
};

extern const struct stagemap_row stagemap_rows[];
extern const unsigned stagemap_row_count;

/* Looks up the event in the map. judge_drop() (drops/cause.h) may override the class. */
struct verdict stagemap_judge(const struct stagemap_event *e);

/* Returns true if `name` matches a word in a row's list. An empty list matches the empty name. */
bool stagemap_listed(const char *list, const char *name);

/* Names indexed by number, for tables of records. */
extern const char *const stage_names[STAGE_COUNT];
extern const char *const direction_names[DIRECTION_FORWARD + 1]; /* "rx", "tx", "forward" */
extern const char *const netfilter_hook_names[HOOK_COUNT];	 /* HOOK_NONE: NULL */

/*
 * A row of include/stages.h. The texts say how a stage loses packets and how to observe that, for
 * the stage catalogue, pktledger-stages(7) and `check --explain`. The last three are complete
 * sentences.
 */
struct stage_facts {
	const char *title;
	enum path_part part;
	enum direction direction;
	enum path_phase phase; /* unless the packet or the location decides (drops/balance.c) */
	enum path_reader reader;
	const char *mechanism; /* kernel mechanism that ends the packet, with function names */
	const char *hook;      /* where to observe it: tracepoint and reasons */
	const char *limit;     /* limits to what can be seen or reported; NULL: none known */
	const char *uncounted; /* why some losses have no counter; NULL: all have one */
	const char *what;   /* where the stage is, and how sender and receiver learn of the loss */
	const char *causes; /* common causes of losses there, most frequent first */
	const char *remedy; /* how to fix it, and how to find out more */
};

extern const struct stage_facts stage_facts[STAGE_COUNT]; /* by enum stage */

const char *stage_name(enum stage stage);  /* "rcvbuf", as in all output; "none" */
const char *stage_title(enum stage stage); /* "receive buffer of the socket" */

#endif
