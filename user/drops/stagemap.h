/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps the end of a packet, by reason and location in the kernel, to a stage of the ledger. The map
 * is data (stagemap_data.c). An unknown end is STAGE_OTHER and is displayed verbatim.
 */
#ifndef PKTLEDGER_DROPS_STAGEMAP_H
#define PKTLEDGER_DROPS_STAGEMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "stages.h"

/* The class of a drop, for `run`, `trace`, `--balance`, TCP and `export` alike. */
enum drop_class {
	CLASS_LOSS,	 /* a packet is lost */
	CLASS_SUSPECTED, /* a packet ended; whether it is a loss is unknown */
	CLASS_EXPECTED,	 /* a packet ended as it should: not a loss */
	CLASS_COPY,	 /* a copy ended (tap, raw socket, flood); the packet itself continues */
	CLASS_NONE,	 /* no packet ended, or another event reports it: not counted */
	CLASS_COUNT,
};

const char *class_name(enum drop_class class); /* "loss", "suspected", "expected", "copy" */

enum direction {
	DIRECTION_RX,
	DIRECTION_TX,
	DIRECTION_FORWARD,
};

enum netfilter_hook {
	HOOK_NONE, /* not netfilter */
	HOOK_INGRESS,
	HOOK_PREROUTING, /* or ingress, on Linux 6.1: a real NIC's driver sets no socket */
	HOOK_INPUT,
	HOOK_FORWARD,
	HOOK_OUTPUT,
	HOOK_POSTROUTING, /* or egress, on Linux 6.1 */
	HOOK_EGRESS,
	/* nft's families bridge and arp; on Linux 6.1 a hook above is reported instead */
	HOOK_BRIDGE_PREROUTING,
	HOOK_BRIDGE_INPUT,
	HOOK_BRIDGE_FORWARD,
	HOOK_BRIDGE_OUTPUT,
	HOOK_BRIDGE_POSTROUTING,
	HOOK_ARP_INPUT,
	HOOK_ARP_OUTPUT,
	HOOK_COUNT,
};

/* One event of the tracer, with names in place of numbers. No pointer may be NULL. */
struct stagemap_event {
	const char *reason;   /* reasons_name(); "" without a reason */
	const char *location; /* function, cut at the first dot; "": unknown */
	const char *aux;   /* function of dst->input, or caller of netfilter's hooks; "": unknown */
	unsigned observer; /* enum trace_observer */
	unsigned flags;	   /* enum trace_cause_flag */
	int error;	   /* XDP observers: positive errno, else 0 */
	uint32_t map_type; /* XDP observers: enum bpf_map_type of the redirect; 0: not a map */
	unsigned pkt_type; /* skb->pkt_type, if required: judge_drop(), bridges */
	uint16_t protocol; /* skb->protocol, host order, for judge_drop() only; 0: unknown */
	bool numbered;	   /* a packet of `run`: each of its ends is a loss; for judge_drop() */
};

struct verdict {
	enum stage stage; /* STAGE_NONE: a tap's copy, or not a packet */
	enum drop_class class;
	enum direction direction;
	enum netfilter_hook hook; /* HOOK_NONE unless the stage is netfilter */
	const char *note;	  /* event in one clause, for display; never NULL, static */
	bool known;		  /* false: no row of the map matches */
};

/*
 * A row: the first match is taken. Lists are words separated by blanks; `*` stands for any
 * characters, NULL for any reason or location.
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

/* Looks the event up in the map. judge_drop() (drops/cause.h) overrules the class. */
struct verdict stagemap_judge(const struct stagemap_event *e);

/* Returns true if `name` matches a word of a row's list. An empty list contains the empty name. */
bool stagemap_listed(const char *list, const char *name);

/* Names by number, for tables of records. */
extern const char *const stage_names[STAGE_COUNT];
extern const char *const direction_names[DIRECTION_FORWARD + 1]; /* "rx", "tx", "forward" */
extern const char *const netfilter_hook_names[HOOK_COUNT];	 /* HOOK_NONE: NULL */

/*
 * How a stage loses packets, and how to see it: for the catalogue of stages, for
 * pktledger-stages(7) and `check --explain`. The last three are whole sentences.
 */
struct stage_facts {
	enum stage stage;
	const char *mechanism; /* kernel mechanism that ends the packet, with function names */
	const char *hook;      /* where to see it: tracepoint and reasons */
	const char *limit;  /* limits of visibility or reporting; NULL: no known limits */
	const char *what;   /* place of the stage, and how sender and receiver learn of the loss */
	const char *causes; /* usual causes of losses there, most frequent first */
	const char *remedy; /* fix, and how to find out more */
};

extern const struct stage_facts stage_facts[STAGE_COUNT]; /* by enum stage */

const char *stage_name(enum stage stage);  /* "rcvbuf", as in every output; "none" */
const char *stage_title(enum stage stage); /* "receive buffer of the socket" */

#endif
