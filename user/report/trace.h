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
#include "report/capfile.h"
#include "report/json.h"
#include "report/page.h"
#include "report/print.h"

/* Display options of a trace, in addition to its filters. */
struct trace_shown {
	uint64_t interval_ns;
	bool all;	   /* show expected drops */
	const char *netns; /* namespace of the caller, omitted in text, "": unknown */
};

/* Returns the start event with the filters. `spec` as for live_open(). `env` is taken over, NULL:
 * left out. */
struct json_object *json_trace_start(int argc, char *const *argv, struct json_object *env,
				     const struct live_spec *spec, const struct trace_shown *shown);

/* Returns the names of fields as a list. `by` as in struct live_spec. */
struct json_object *json_fields(unsigned by);

/* End of an interval, CLOCK_REALTIME and since the start, and its length. */
struct trace_time {
	uint64_t realtime_ns, time_ns, interval_ns;
};

/* Returns an interval. `by`: fields of the causes (struct live_spec). `flows`: the worst flows per
 * stage, NULL: left out. */
struct json_object *json_trace_interval(const struct live_table *t, const struct live_table *flows,
					unsigned by, const struct trace_time *time);

/* Returns the missed events of the collector so far: "missed" of an interval, and of the end. */
struct json_object *json_trace_losses(const struct live_own *own);

/*
 * Returns one sample of the path counters, "counters" of an interval: {"interval_ns",
 * "interfaces":[..],"queues":[..],"losses":[..],"xsk":[..],"counters":[..]}. Counts cover the
 * interval. `_pps` and `_bps` are rates as counted by the interface (bytes without FCS on most
 * interfaces). `all`: also include counters that did not move.
 */
struct rates; /* monitor/sources.h */
struct json_object *json_rates(const struct rates *r, bool all);

struct live_summary; /* monitor/session.h */
struct json_object *json_trace_end(const struct live_summary *s, unsigned by);

extern const struct record_field trail_flow_rows[]; /* struct trail_flow */

/* TCP balance: "tcp" of the end, or of a sum of intervals, and its text. Prints nothing if `end`
 * has no TCP balance. */
struct tcp_balance; /* monitor/tcp.h */
struct json_object *json_tcp(const struct tcp_balance *b);

/*
 * Returns "tcp" of an interval: the increments of `now`, from tcp_account_look(), since the last
 * look, which `last` keeps (NULL at first). Retransmissions of one interval may be decided in a
 * later interval. NULL: no increments.
 */
struct json_object *json_tcp_part(const struct tcp_balance *now, struct json_object **last);

/*
 * Adds the counts of a part to `sum`, or subtracts them, down to 0. List items with equal texts are
 * the same item.
 */
void json_tcp_add(struct json_object *sum, const struct json_object *part, bool less);

void print_tcp(struct page *p, const struct json_object *end);

/* Prints a count and its parts, each formatted by page_fill() of `text`: "405 qdisc 300 netfilter
 * 105". */
void print_parts(struct page *p, const char *label, unsigned indent, enum style bad, uint64_t n,
		 uint64_t whole, const struct json_object *o, const char *list, const char *text);

/* Prints the results of other hosts, "joined" of a document. */
void print_joined_tcp(struct page *p, const struct json_object *document);

/* Returns one endpoint of a flow. */
struct json_object *json_address(const struct watch_flow *f, bool source);

/* Prints the verdict of a UDP or TCP balance, and its basis. */
void print_verdict(struct page *p, const struct json_object *balance);

/*
 * Prints a trace from its document: while it runs, at its end, and later from its ledger. Only data
 * of the document is used, so all three outputs are identical.
 */

/*
 * Prints the losses of an interval as a table, and its counters, "counters" of an interval, or NULL.
 * Prints nothing without losses, or if the verbosity is negative. `start`: first event of the
 * document. `headed`: whether the column headings are printed already, updated.
 */
void print_trace_interval(const struct print_view *v, const struct json_object *start,
			  const struct live_table *rows, const struct trace_time *time,
			  const struct json_object *rates, bool *headed);

/*
 * Prints all losses and their places, missed events and overhead, the balance of a flow, and fixes.
 */
void print_trace_end(const struct print_view *v, const struct json_object *start,
		     const struct json_object *end);

/*
 * Prints a document of a ledger: if it is complete, the output of the trace itself, else the sum of
 * the selected intervals. Then the sockets and flows with the largest losses, and limits.
 */
void print_trace(const struct print_view *v, const struct ledgers_document *d);

/* Prints a single drop: as a line, as JSON, as a packet of a capture. */

/* Prints a drop with its stack. `netns`: namespace of the caller, omitted. `hex`: print the bytes
 * below the line. */
void drop_text(struct page *p, const struct live_drop *drop, const char *netns, bool hex);

/* Returns a drop as JSON. `hex`: with the bytes. `stack`: with the stack. */
struct json_object *drop_json(const struct live_drop *drop, bool hex, bool stack);

/* Writes the packet. Without an Ethernet header, it gets a cooked header as in captures of `any`.
 * Errors as in pcapng_packet(). */
int drop_capture(struct pcapng *to, const struct live_drop *drop);

#endif
