/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What trace shows: its events as JSON, to be given to json_out_*(), to a ledger, and to the
 * printer of text below; and single drops. Of an interval and of the end:
 *
 *	"dropped": packets lost; "stages", "suspected", "expected": the rows of each class, those of a
 *	stage together in "causes", in the order of the path and there most packets first
 */
#ifndef PKTLEDGER_REPORT_TRACE_H
#define PKTLEDGER_REPORT_TRACE_H

#include "monitor/describe.h"
#include "monitor/live.h"
#include "report/capfile.h"
#include "report/json.h"
#include "report/page.h"
#include "report/print.h"

/* How a trace is shown, beside what it looks at. */
struct trace_shown {
	uint64_t interval_ns;
	bool all;	   /* benign drops too */
	const char *netns; /* the own one, which text leaves out; "": not known */
};

/* What is looked at; `spec` of live_open(). `env` is taken; NULL: left out. */
struct json_object *json_trace_start(int argc, char *const *argv, struct json_object *env,
				     const struct live_spec *spec, const struct trace_shown *shown);

/* Names of fields as a list; `by` as in struct live_spec. */
struct json_object *json_fields(unsigned by);

/* When an interval ended: CLOCK_REALTIME and from the start; and how long it was. */
struct trace_time {
	uint64_t realtime_ns, time_ns, interval_ns;
};

/* `by`: fields of the causes (struct live_spec). `flows`: the worst, by stage; NULL: left out. */
struct json_object *json_trace_interval(const struct live_table *t, const struct live_table *flows,
					unsigned by, const struct trace_time *time);

/* What the collector itself lost until now: "missed" of an interval, and of the end. */
struct json_object *json_trace_losses(const struct live_own *own);

/* When packets were lost: "microbursts" of an interval, and of the end. */
struct json_object *json_bursts(const struct burst_report *r);

/*
 * One sample of the counters of the path, "counters" of an interval: {"interval_ns",
 * "interfaces":[..],"queues":[..],"losses":[..],"xsk":[..],"counters":[..]}. Counts are of the
 * interval; `_pps` and `_bps` are per second, from what the device counts (bytes without FCS, on
 * most). `all`: what did not move too.
 */
struct rates; /* monitor/sources.h */
struct json_object *json_rates(const struct rates *r, bool all);

struct live_summary; /* monitor/session.h */
struct json_object *json_trace_end(const struct live_summary *s, unsigned by);

extern const struct record_field trail_flow_rows[]; /* struct trail_flow */

/* The balance of TCP flows: "tcp" of the end, or of a sum of intervals, and its text; nothing where
 * `end` has none. */
struct tcp_balance; /* monitor/tcp.h */
struct json_object *json_tcp(const struct tcp_balance *b);

/*
 * "tcp" of an interval: what `now`, of tcp_account_look(), has more than at the last look, which
 * `last` keeps; NULL at first. What was sent again in one interval may be decided in a later one.
 * NULL: nothing.
 */
struct json_object *json_tcp_part(const struct tcp_balance *now, struct json_object **last);

/*
 * Adds the counts of such a part to `sum`, or takes them off, down to 0. Items of its lists are the
 * same if their texts are.
 */
void json_tcp_add(struct json_object *sum, const struct json_object *part, bool less);

void print_tcp(struct page *p, const struct json_object *end);

/* A count with where it was, each by page_fill() of `text`: "405 qdisc 300 netfilter 105". */
void print_parts(struct page *p, const char *label, unsigned indent, enum style bad, uint64_t n,
		 uint64_t whole, const struct json_object *o, const char *list, const char *text);

/* What other hosts know of it, "joined" of a document. */
void print_joined_tcp(struct page *p, const struct json_object *document);

/* An end of a flow. */
struct json_object *json_address(const struct watch_flow *f, bool source);

/* The verdict of a balance, of UDP or of TCP, with what it rests on. */
void print_verdict(struct page *p, const struct json_object *balance);

/*
 * A trace for people, from its document: as it goes on, at its end, and again from its ledger.
 * Nothing is known here that is not in the document, so all of them say the same.
 */

/*
 * What was lost in an interval, a table; its microbursts and counters if it has them. Nothing if
 * nothing was lost, and with a verbosity below 0. `start`: the event that began the document.
 * `headed`: whether the heads of the columns are printed already; it is updated.
 */
void print_trace_interval(const struct print_view *v, const struct json_object *start,
			  const struct json_object *interval, bool *headed);

/* What was lost in all, and where; own losses and cost, a flow's balance, and what to do. */
void print_trace_end(const struct print_view *v, const struct json_object *start,
		     const struct json_object *end);

/*
 * A document of a ledger: if all of it is there, what the trace printed, else the sum
 * of what was asked for; then the sockets and flows that lost most, and limits.
 */
void print_trace(const struct print_view *v, const struct ledgers_document *d);

/* A single drop: as a line, as JSON, as a packet of a capture. */

/* `netns`: the own namespace, left out. `hex`: the bytes below the line. The stack as well. */
void drop_text(struct page *p, const struct live_drop *drop, const char *netns, bool hex);

/* `hex`: with the bytes; `stack`: with the stack. */
struct json_object *drop_json(const struct live_drop *drop, bool hex, bool stack);

/* Without an Ethernet header a packet gets that of captures of `any`. As pcapng_packet(). */
int drop_capture(struct pcapng *to, const struct live_drop *drop);

#endif
