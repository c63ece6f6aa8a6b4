/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The result of an experiment: a single model, of which every printer shows a view. Plain data. */
#ifndef PKTLEDGER_LEDGER_RESULT_H
#define PKTLEDGER_LEDGER_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/outcomes.h"
#include "drops/owners.h"
#include "host/change.h"
#include "stages.h"
#include "drops/ksym.h"
#include "drops/reason.h"
#include "trace_abi.h"

#define RESULT_CAUSES	(TRACE_CAUSES * 2)
#define RESULT_COUNTERS 96
#define RESULT_ERRNOS	8

/* Packets of one stream that ended at one drop site for one reason. */
struct result_cause {
	enum stage stage;
	char reason[REASON_NAME]; /* "SOCKET_RCVBUFF"; for XDP observers the errno name */
	char location[KSYM_NAME]; /* kernel function, without offset */
	char ifname[16];	  /* "": unknown */
	char netns[16];		  /* role in the test network ("tx", "rx", "router"), or inode */
	const char *direction;	  /* "rx", "tx", "forward" */
	const char *hook;	  /* only for netfilter, otherwise NULL */
	const char *note;	  /* what happened, for display */
	char host[65];		  /* "" if there is only one host */
	bool given_up; /* reassembly failed because fragments were missing */
	uint16_t stream;
	uint64_t packets;
	uint64_t first, last; /* numbers, counted from 0 */
};

struct result_host { /* of an experiment between two hosts */
	char name[65];
	char place[32]; /* where in the kernel its probe is */
};

/* Names of a cause's place: reason, location, ifname, netns, host, direction, hook. */
extern const struct record_field result_place_rows[];

/* Returns whether two causes have the same stage and place. */
bool result_cause_same(const struct result_cause *a, const struct result_cause *b);

/* A kernel counter that should record the losses of a stage. */
struct result_counter {
	enum stage stage;
	char name[96]; /* role and name; a pattern with '*' if several counters were added up */
	uint64_t delta;
	/*
	 * Expected movement across all stages that the counter covers. The two values are equal
	 * unless some losses may or may not be counted. The maximum is not stored in a document.
	 */
	uint64_t expected, expected_max;
	bool agrees;
	bool documented;   /* the disagreement is known for this kernel: see note */
	const char *scope; /* "flow", "interface", "host" */
	const char *note;  /* static; NULL: none */
};

struct result_stage {
	uint64_t packets;   /* according to the outcomes */
	uint64_t events;    /* weighted, including copies */
	uint64_t bytes;	    /* L3 bytes of the packets */
	const char *source; /* "event", "counter", "difference"; NULL: no loss at this stage */
	const char *scope;  /* "flow", "interface", "host" */
};

struct result_errno {
	int error; /* errno; TX_ERRNO_LOST: the kernel did not report it */
	uint64_t packets;
};

struct result_losses { /* events that the program itself missed */
	uint64_t causes_full, stamp_unreadable, recursion_misses, cell_empty, gso_split;
	uint64_t suppressed; /* losses for which there is evidence that tracing was suppressed */
	char suppressed_evidence[200];
};

/* CPU usage by one end's threads. */
struct result_cost {
	uint64_t calls;	 /* system calls that send or receive packets */
	uint64_t cpu_ns; /* CPU time, including set-up */
};

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR };

extern const char *const severity_names[SEVERITY_ERROR + 1]; /* "info", "warning", "error" */

#define FINDING_ENTER	(OWNER_ENTER + 64) /* command prefix that enters the finding's namespace */
#define FINDING_COMMAND (CHANGE_COMMAND_SIZE + FINDING_ENTER)

#define FINDING_TEXT	1024
#define FINDING_FACTS	6144

/* Explains a loss and how to fix it. Self-contained. Empty strings: not set. */
struct finding {
	const char *id; /* static, e.g. "rcvbuf-burst" */
	enum stage stage;
	enum severity severity;
	uint64_t lost;		       /* packets with this cause, 0: not counted in packets */
	char cause[FINDING_TEXT];      /* one or two sentences */
	char facts[FINDING_FACTS];     /* a JSON object, by finding_fact_rows */
	char fix[FINDING_TEXT];	       /* begins with a verb */
	char command[FINDING_COMMAND]; /* shell command that applies the fix or shows more */
	char undo[FINDING_COMMAND];    /* shell command that restores the old value */
	char risk[512];
	char applies[256];	 /* when it takes effect: "at once"; "": the command has none */
	char host[65];		 /* host that has these settings; "": this host */
	char netns[OWNER_NETNS]; /* namespace that has these settings; "": selected, or unknown */
};

struct result {
	uint64_t attempted, refused, sent, delivered, dropped, in_flight, unaccounted, impossible;
	bool balanced;
	bool interrupted; /* stopped by a signal: the ledger covers the packets sent until then */
	uint64_t unaccounted_seen[SEEN_SOCKET + 1]; /* by the last probe that was passed */
	uint64_t waits, wait_ns;
	uint64_t duplicated, late, damaged, invalid, foreign;
	uint64_t replies; /* ICMP errors received */
	double tx_pps, rx_pps;
	double rate_pps;      /* intended; 0: unthrottled */
	uint64_t duration_ns; /* time from the first to the last packet sent */
	uint64_t slipped_ns;  /* part of the schedule that the generator could not keep */
	uint64_t late_ns;     /* maximum delay behind schedule, later recovered */
	uint64_t held_ns;     /* time a sender waited for numbers to resolve: the window was full */
	uint64_t settled_ns;  /* time from the last packet until the ledger was closed */
	/* what limits the rate or count: "generator", "interface", "receiver"; NULL */
	const char *bound;
	unsigned payload_bytes, frame_bytes;
	char tx_mode[32], rx_mode[32];
	struct arrivals arrivals;
	struct trace_fragments fragments; /* counted in addition to datagrams */
	uint64_t reassembled;		  /* datagrams, according to the receiver's counters */
	struct result_cost tx_cost, rx_cost;
	uint64_t memory_bytes; /* memory this process used when the ledger was closed; 0: unknown */
	struct result_errno refused_by[RESULT_ERRNOS];
	unsigned n_refused_by;
	char in_flight_where[160];

	struct result_stage stage[STAGE_COUNT];
	struct result_cause cause[RESULT_CAUSES];
	unsigned n_causes;
	struct result_counter counter[RESULT_COUNTERS];
	unsigned n_counters;
	struct finding finding[STAGE_COUNT];
	unsigned n_findings;
	struct result_losses losses;

	bool two_hosts;
	struct result_host tx_host, rx_host;
	struct {
		bool shared;	   /* declared to be synchronized */
		int64_t offset_ns; /* receiver clock minus sender clock, */
		uint64_t error_ns; /* maximum error */
	} clock;
	struct { /* the other host, if contact with it was lost: */
		bool lost;
		uint64_t since_ns; /* outcomes on that host are unknown from this time on */
		uint64_t sent, delivered, dropped; /* reported before then */
	} remote;
};

/*
 * Members of struct result_counter, struct result_losses and struct result that more than one kind
 * of document has, so that they have the same names in all of them.
 */
extern const struct record_field result_counter_rows[]; /* all but stage and note */
extern const struct record_field result_losses_rows[];
extern const struct record_field result_calls_rows[]; /* the sender's calls and waits */
extern const struct record_field result_pace_rows[];  /* how long it sent, and how late */
extern const struct record_field result_receiving_rows[];
extern const struct record_field result_fragments_rows[];

/* Returns true if a counter of the stage disagrees with the events. */
static inline bool result_disagrees(const struct result *res, enum stage stage)
{
	for (unsigned i = 0; i < res->n_counters; i++) {
		if (res->counter[i].stage == stage && !res->counter[i].agrees)
			return true;
	}
	return false;
}

#endif
