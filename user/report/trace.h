/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Output of trace: its events as JSON, for json_out_*(), for a ledger, and for the text printer
 * below, and single drops. Members of an interval and of the end:
 *
 *	"dropped": packets lost. "stages", "suspected", "expected": the rows of each class. Rows
 *	of a stage are combined in "causes", stages in path order, causes with most packets first
 */
#ifndef PKTLEDGER_REPORT_TRACE_H
#define PKTLEDGER_REPORT_TRACE_H

#include "monitor/describe.h"
#include "monitor/live.h"
#include "monitor/session.h"
#include "report/capfile.h"
#include "report/json.h"
#include "report/page.h"
#include "report/print.h"

/* Display options for a trace, in addition to its filters. */
struct trace_shown {
	uint64_t interval_ns;
	bool all;	   /* show expected drops */
	const char *netns; /* the caller's namespace, omitted from text ("": unknown) */
	bool filtered;	   /* by an expression */
	bool one_netns;	   /* only one namespace is traced */
};

/*
 * Returns the start event, including the filters. `spec` is the argument to live_open(). Takes over
 * `env`, which may be NULL.
 */
struct json_object *json_trace_start(int argc, char *const *argv, struct json_object *env,
				     const struct live_spec *spec, const struct trace_shown *shown);

/* Returns a list of field names. `by` is as in struct live_spec. */
struct json_object *json_fields(unsigned by);

/* End of an interval, CLOCK_REALTIME and relative to the start, and the interval's length. */
struct trace_time {
	uint64_t realtime_ns, time_ns, interval_ns;
};

/*
 * Returns an interval. `by` selects the fields of the causes (struct live_spec). `flows` are the
 * worst flows for each stage (NULL: left out).
 */
struct json_object *json_trace_interval(const struct live_table *t, const struct live_table *flows,
					unsigned by, const struct trace_time *time);

/*
 * Returns the events that the collector has missed so far, for "missed" in an interval and in the
 * end.
 */
struct json_object *json_trace_losses(const struct live_own *own);
void json_read_losses(const struct json_object *missed, struct live_own *own);

/*
 * Returns one sample of the path counters, an interval's "counters": {"interval_ns",
 * "interfaces":[..],"queues":[..],"losses":[..],"xsk":[..],"counters":[..]}. Counts cover the
 * interval. `_pps` and `_bps` are rates according to the interface's own counters (on most
 * interfaces, bytes exclude the FCS). `all`: include counters that did not change.
 */
struct rates; /* monitor/sources.h */
struct json_object *json_rates(const struct rates *r, bool all);

struct json_object *json_trace_end(const struct live_summary *s, unsigned by);

/* The end of a trace, read from a document, whose strings are borrowed. */
struct trace_end {
	struct live_summary s;
	/* Private */
	struct live_table rows;
	struct flow_balance flow;
	struct tcp_balance *tcp;
};

struct trace_end *trace_end_read(const struct json_object *end);
void trace_end_free(struct trace_end *e);

extern const struct record_field trail_flow_rows[]; /* struct trail_flow */
extern const struct record_field overhead_rows[];   /* struct live_own */
extern const struct record_field balance_rows[]; /* struct flow_balance */
extern const struct record_field tcp_rows[];	 /* struct tcp_balance */

/*
 * TCP balance: "tcp" in the end of a trace. tcp_read() returns a balance that the caller frees and
 * that borrows from `tcp`, or NULL if `tcp` is NULL.
 */
struct json_object *json_tcp(const struct tcp_balance *b);
struct tcp_balance *tcp_read(const struct json_object *tcp);

/*
 * "tcp" in an interval, or in a sum of intervals: the retransmissions and the outcomes of the
 * original transmissions. json_tcp_part() returns their increase in `now`, from tcp_account_look(),
 * since the last call, which `last` remembers (zero-initialised). A later interval may decide an
 * earlier interval's retransmissions. Returns NULL if nothing increased.
 */
struct json_object *json_tcp_resent(const struct tcp_balance *b);
struct json_object *json_tcp_part(const struct tcp_balance *now, struct tcp_balance *last);

/* Adds a part's counts to `sum`, or subtracts them, stopping at 0. */
void tcp_add(struct tcp_balance *sum, const struct tcp_balance *part, bool less);

/* Prints a balance. `part`: only the retransmissions are known. */
void print_tcp(struct page *p, const struct tcp_balance *b, bool part);

/*
 * Prints a count and its parts, each formatted by page_fill() using `text`: "405 qdisc 300
 * netfilter 105".
 */
void print_parts(struct page *p, const char *label, unsigned indent, enum style bad, uint64_t n,
		 uint64_t whole, const struct json_object *o, const char *list, const char *text);

/* Prints the results from other hosts, "joined" in a document. */
void print_joined_tcp(struct page *p, const struct json_object *document);

/* Returns one endpoint of a flow. */
struct json_object *json_address(const struct watch_flow *f, bool source);

/*
 * Prints the verdict on a UDP or TCP balance, the largest loss (NULL: unknown), and the evidence, a
 * list of sentences that is put.
 */
void print_verdict(struct page *p, const char *verdict, const struct flow_culprit *culprit,
		   struct json_object *rests_on);

/*
 * Prints a trace from its document: while it runs, at its end, and later from its ledger. Uses only
 * data from the document, so all three outputs are identical.
 */

/*
 * Prints an interval's losses as a table, and its counters, the interval's "counters" or NULL.
 * Prints nothing if nothing was lost or the verbosity is negative. `headed` records whether the
 * column headings have been printed.
 */
void print_trace_interval(const struct print_view *v, const struct trace_shown *shown,
			  const struct live_table *rows, const struct trace_time *time,
			  const struct json_object *rates, bool *headed);

/*
 * Prints all losses and where they occurred, missed events and overhead, the balance of a flow, and
 * fixes.
 */
void print_trace_end(const struct print_view *v, const struct trace_shown *shown,
		     const struct live_summary *s);

/* Returns the options with which a trace was shown. `start` is its document's first event. */
struct trace_shown trace_shown_of(const struct print_view *v, const struct json_object *start);

/*
 * Prints a document from a ledger. If it is complete, this is the trace's own output, otherwise the
 * sum of the selected intervals. Then prints the sockets and flows with the largest losses, and the
 * limits.
 */
void print_trace(const struct print_view *v, const struct ledgers_document *d);

/* Output of a single drop as a line, as JSON, or as a packet in a capture. */

/*
 * Prints a drop and its stack. `netns` is the caller's namespace, which is omitted. `hex`: print
 * the bytes below the line.
 */
void drop_text(struct page *p, const struct live_drop *drop, const char *netns, bool hex);

/* Returns a drop as JSON. `hex`: include the bytes. `stack`: include the stack. */
struct json_object *drop_json(const struct live_drop *drop, bool hex, bool stack);

/*
 * Writes the packet. A packet without an Ethernet header gets a cooked header, as in captures on
 * `any`. Errors are as in pcapng_packet().
 */
int drop_capture(struct pcapng *to, const struct live_drop *drop);

#endif
