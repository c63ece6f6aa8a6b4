// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* TCP flow balance: "tcp" in the end of a trace, and its text. */
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/record.h"
#include "drops/stagemap.h"
#include "monitor/tcp.h"
#include "report/page.h"
#include "report/trace.h"

const struct record_field trail_flow_rows[] = {
	RECORD_OTHER("src", NULL),
	RECORD_OTHER("dst", NULL),
	RECORD("sends", BOOL, trail_flow, sends),
	RECORD("known", BOOL, trail_flow, known),
	RECORD("begun", BOOL, trail_flow, begun),
	RECORD("cut", BOOL, trail_flow, cut),
	RECORD("first", UINT, trail_flow, first),
	RECORD("next", UINT, trail_flow, next),
	RECORD("acked", UINT, trail_flow, acked),
	RECORD("came", UINT, trail_flow, came),
	RECORD("dropped", UINT, trail_flow, dropped),
	RECORD("taken", UINT, trail_flow, taken),
	RECORD("ttl", UINT, trail_flow, ttl),
	{0},
};

#define ROW(name, member) RECORD(name, UINT, tcp_balance, member)
#define AT(name, of, member) RECORD_COUNTS(name, of, member, stage_names, "stage", "segments")

static const struct record_field beyond_rows[] = {
	RECORD("interface", TEXT, tcp_beyond, device),
	RECORD("netns", TEXT, tcp_beyond, netns),
	RECORD("segments", UINT, tcp_beyond, segments),
	{0},
};

static const struct record_field kinds_rows[] = {
	ROW("fast", sum.kinds[TCP_FAST]),
	ROW("rto", sum.kinds[TCP_RTO]),
	ROW("tlp", sum.kinds[TCP_TLP]),
	ROW("syn", sum.kinds[TCP_KIND_SYN]),
	ROW("syn_ack", sum.kinds[TCP_KIND_SYNACK]),
	{0},
};

/* Retransmissions and the outcomes of the original transmissions. */
static const struct record_field resent_rows[] = {
	ROW("retransmitted", sum.retransmitted),
	ROW("without_data", sum.without_data),
	ROW("lost_here", sum.lost_here),
	ROW("lost_again", sum.lost_again),
	RECORD_LIST("downstream", NESTED, tcp_balance, beyond, .rows = beyond_rows,
		    RECORD_COUNT(tcp_balance, n_beyond)),
	ROW("spurious", sum.not_lost),
	ROW("ack_lost", sum.ack_lost),
	ROW("undecided", undecided),
	RECORD_COUNTS("undecided_why", tcp_balance, sum.undecided, tcp_why_names, "why",
		      "segments"),
	RECORD_PART("kinds", kinds_rows),
	AT("stages", tcp_balance, sum.lost_at),
	{0},
};

#define FLOW(name, member) RECORD(name, UINT, tcp_shown, member)
static const struct record_field flow_rows[] = {
	RECORD("src", TEXT, tcp_shown, src),
	RECORD("dst", TEXT, tcp_shown, dst),
	RECORD("netns", TEXT, tcp_shown, netns),
	FLOW("retransmitted", flow.sum.retransmitted),
	FLOW("rejected_locally", flow.sum.returned),
	FLOW("lost_here", flow.sum.lost_here),
	FLOW("downstream", flow.sum.beyond),
	FLOW("spurious", flow.sum.not_lost),
	FLOW("received", flow.sum.received),
	FLOW("undecided", undecided),
	AT("stages", tcp_shown, flow.sum.lost_at),
	AT("rejected_locally_stages", tcp_shown, flow.sum.returned_at),
	{0},
};

static const struct record_field bytes_rows[] = {
	ROW("sent", sum.bytes_sent),
	ROW("new", sum.bytes_new),
	ROW("retransmitted", sum.bytes_retrans),
	ROW("rejected_locally", sum.bytes_returned),
	ROW("unaccounted", sum.bytes_unaccounted),
	{0},
};

static const struct record_field stall_rows[] = {
	RECORD("p50", UINT, tcp_stall, p50),
	RECORD("p99", UINT, tcp_stall, p99),
	RECORD("max", UINT, tcp_stall, max),
	{0},
};

static const struct record_field listeners_rows[] = {
	RECORD("socket", TEXT, tcp_refusing, socket),
	RECORD("netns", TEXT, tcp_refusing, netns),
	RECORD("process", TEXT, tcp_refusing, process),
	RECORD("lost", UINT, tcp_refusing, lost),
	RECORD("accept_queue", UINT, tcp_refusing, waiting),
	RECORD("backlog", UINT, tcp_refusing, room),
	{0},
};

static const struct record_field resets_rows[] = {
	RECORD("reason", TEXT, tcp_resets, reason),
	RECORD("connections", UINT, tcp_resets, connections),
	{0},
};

static const struct record_field counters_rows[] = {
	RECORD("name", POINTER, tcp_counter, name),
	RECORD("netns", TEXT, tcp_counter, netns),
	RECORD("delta", UINT, tcp_counter, delta),
	RECORD("events", UINT, tcp_counter, events, RECORD_WHEN(tcp_counter, compared)),
	RECORD("slack", UINT, tcp_counter, slack, RECORD_WHEN(tcp_counter, compared)),
	RECORD("agrees", BOOL, tcp_counter, agrees, RECORD_WHEN(tcp_counter, compared)),
	{0},
};

static const struct record_field losses_rows[] = {
	ROW("unranged", own.unranged),
	ROW("unread", own.unread),
	ROW("not_counted", own.uncounted),
	ROW("unkept", own.unkept),
	ROW("unplaced", own.unplaced),
	ROW("untracked", own.untracked),
	ROW("torn", sum.torn),
	ROW("overcounted", sum.overcounted),
	ROW("recursion_misses", missed),
	ROW("refused", refused),
	{0},
};

const struct record_field tcp_rows[] = {
	RECORD_ALSO(resent_rows),
	ROW("data_segs_out", sum.data_segs_out),
	ROW("new", fresh),
	ROW("rejected_locally", sum.returned),
	RECORD("pending", UINT, tcp_balance, pending, RECORD_WHEN(tcp_balance, so_far)),
	ROW("not_resent", sum.not_resent),
	ROW("received", sum.received),
	AT("received_stages", tcp_balance, sum.received_at),
	ROW("received_again", sum.received_again),
	ROW("received_timed", received_timed),
	RECORD("received_stall_ns", NESTED, tcp_balance, received_stall, .rows = stall_rows,
	       RECORD_WHEN(tcp_balance, has_received_stall)),
	RECORD("balanced", BOOL, tcp_balance, balanced),
	RECORD("verdict", ENUM, tcp_balance, verdict, RECORD_NAMES(tcp_verdict_names),
	       .how = RECORD_OPEN, .unknown = TCP_UNKNOWN),
	RECORD("rests_on", JSON, tcp_balance, rests_on),
	AT("rejected_locally_stages", tcp_balance, sum.returned_at),
	RECORD("stall_ns", NESTED, tcp_balance, stall, .rows = stall_rows,
	       RECORD_WHEN(tcp_balance, has_stall)),
	RECORD_PART("bytes", bytes_rows),
	RECORD_LIST("listeners", NESTED, tcp_balance, listeners, .rows = listeners_rows,
		    RECORD_COUNT(tcp_balance, n_listeners)),
	RECORD_LIST("resets", NESTED, tcp_balance, resets, .rows = resets_rows,
		    RECORD_COUNT(tcp_balance, n_resets), .how = RECORD_OMITTED),
	RECORD_OTHER("counters", counters_rows),
	RECORD_LIST("flows", NESTED, tcp_balance, flows, .rows = flow_rows,
		    RECORD_COUNT(tcp_balance, n_flows)),
	ROW("all_flows", all_flows),
	ROW("sockets", sum.sockets),
	ROW("window_ns", window_ns),
	ROW("memory_bytes", memory),
	RECORD_PART("missed", losses_rows),
	{0},
};

struct json_object *json_address(const struct watch_flow *f, bool source)
{
	return json_text(describe_end(f, source));
}

/* Returns the trail used to join with other hosts (read by report/joined_tcp.c). */
static struct json_object *json_trail(const struct tcp_balance *b)
{
	const struct trail *t = b->trail;
	struct json_object *o = json_object_new_object(), *left_out;
	struct json_object *flows = json_put_list(o, "flows"), *ranges = json_put_list(o, "ranges");

	json_put_time(o, "time", b->realtime_ns);
	for (uint32_t i = 0; i < t->flows.n; i++) {
		const struct trail_flow *f = trail_flow(t, i);
		struct json_object *row = record_write(trail_flow_rows, f);

		json_put(row, "src", json_address(&f->key, true));
		json_put(row, "dst", json_address(&f->key, false));
		json_object_array_add(flows, row);
	}
	for (uint32_t i = 0; i < t->ranges.n; i++) {
		const struct trail_range *r = (struct trail_range *)t->ranges.at + i;
		struct json_object *row = json_object_new_array_ext(6);

		json_object_array_add(row, json_object_new_uint64(r->flow));
		json_object_array_add(row, json_text(trail_names[r->what]));
		json_object_array_add(row, json_object_new_uint64(r->from));
		json_object_array_add(row, json_object_new_uint64(r->to - r->from));
		json_object_array_add(row, json_object_new_uint64(r->time_ns > b->began_ns
									  ? r->time_ns - b->began_ns
									  : 0));
		if (r->what == TRAIL_DROPPED || r->what == TRAIL_OUTSIDE)
			json_object_array_add(row, json_text(stage_name(r->stage)));
		json_object_array_add(ranges, row);
	}
	left_out = json_put_object(o, "left_out");
	json_put_u64(left_out, "flows", t->lost_flows);
	json_put_u64(left_out, "ranges", t->lost_ranges);
	json_put_u64(left_out, "resent", t->lost_resent);
	json_put_u64(left_out, "segments", b->own.untracked);
	return o;
}

struct json_object *json_tcp(const struct tcp_balance *b)
{
	struct json_object *o = record_write(tcp_rows, b);

	json_put(o, "rests_on", tcp_balance_rests_on(b));
	json_put(o, "counters", record_items(counters_rows, &b->counters));
	if (b->trail)
		json_put(o, "trail", json_trail(b));
	return o;
}

struct tcp_balance *tcp_read(const struct json_object *tcp)
{
	struct tcp_balance *b;

	if (!tcp)
		return NULL;
	b = mem_new(b);
	record_read(tcp, tcp_rows, b);
	b->recorded = true;
	return b;
}

static void add_count(uint64_t *sum, uint64_t n, bool less)
{
	*sum = !less ? *sum + n : *sum > n ? *sum - n : 0;
}

void tcp_add(struct tcp_balance *sum, const struct tcp_balance *part, bool less)
{
	uint64_t *to = (uint64_t *)&sum->sum;
	const uint64_t *from = (const uint64_t *)&part->sum;
	unsigned kept = 0, k;

	for (size_t i = 0; i < sizeof(sum->sum) / sizeof(*to); i++)
		add_count(&to[i], from[i], less);
	add_count(&sum->undecided, part->undecided, less);
	for (unsigned i = 0; i < part->n_beyond; i++) {
		const struct tcp_beyond *p = &part->beyond[i];

		for (k = 0; k < sum->n_beyond; k++) {
			if (!strcmp(sum->beyond[k].device, p->device) &&
			    !strcmp(sum->beyond[k].netns, p->netns))
				break;
		}
		if (k == sum->n_beyond && (less || k == TCP_BEYOND_MAX))
			continue;
		if (k == sum->n_beyond) {
			sum->beyond[sum->n_beyond++] = *p;
			continue;
		}
		add_count(&sum->beyond[k].segments, p->segments, less);
	}
	for (unsigned i = 0; i < sum->n_beyond; i++) {
		if (sum->beyond[i].segments)
			sum->beyond[kept++] = sum->beyond[i];
	}
	sum->n_beyond = kept;
}

struct json_object *json_tcp_resent(const struct tcp_balance *b)
{
	return record_write(resent_rows, b);
}

struct json_object *json_tcp_part(const struct tcp_balance *now, struct tcp_balance *last)
{
	static const struct tcp_sum nothing;
	static struct tcp_balance part;

	part = *now;
	tcp_add(&part, last, true);
	*last = *now;
	return memcmp(&part.sum, &nothing, sizeof(nothing)) || part.n_beyond
		       ? json_tcp_resent(&part)
		       : NULL;
}

/* Text */

void print_parts(struct page *p, const char *label, unsigned indent, enum style bad, uint64_t n,
		 uint64_t whole, const struct json_object *o, const char *list, const char *text)
{
	page_row(p, n ? bad : STYLE_PLAIN, indent, label, n, whole);
	for (struct json_each e = json_each(o, list); json_next(&e);)
		page_fill(p, STYLE_PLAIN, e.item, text);
	page_end(p);
}

/* Prints a loss and its stages. */
static void put_stages(struct page *p, const char *label, unsigned indent, uint64_t n,
		       uint64_t whole, const uint64_t at[STAGE_COUNT])
{
	page_row(p, n ? STYLE_BAD : STYLE_PLAIN, indent, label, n, whole);
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (at[s])
			page_words(p, STYLE_PLAIN, "%s %s", stage_name(s), fmt_count(at[s]));
	}
	page_end(p);
}

/* Prints a line with the time until lost segments came again. */
static void put_stall(struct page *p, unsigned indent, const char *what, const struct tcp_stall *s)
{
	page_line(p, indent, STYLE_DIM, "", STYLE_DIM,
		  "%s: half within %s, 99 %% within %s, the last after %s", what, page_ns(s->p50),
		  page_ns(s->p99), page_ns(s->max));
}

static void put_flow(struct page *p, const struct tcp_shown *f)
{
	const struct tcp_sum *s = &f->flow.sum;
	const struct page_sum parts[] = {
		{s->retransmitted, "sent again"},    {s->returned, "rejected locally"},
		{s->lost_here, "lost here"},	     {s->beyond, "downstream"},
		{s->received, "dropped on arrival"}, {s->not_lost, "spurious"},
		{f->undecided, "undecided"},
	};

	page_text(p, 2, STYLE_PLAIN, "- ");
	page_words(p, STYLE_PLAIN, "%s to %s%s%s:", f->src, f->dst, *f->netns ? " in " : "",
		   f->netns);
	page_sums(p, NULL, STYLE_PLAIN, parts, LENGTH(parts));
	for (int stage = 0; stage < STAGE_COUNT; stage++) {
		if (s->lost_at[stage])
			page_words(p, STYLE_PLAIN, "(%s)", stage_name(stage));
	}
	page_end(p);
}

#define FLOWS_PRINTED 8

/* Prints the retransmissions and the outcomes of the original transmissions. */
static void put_resent(struct page *p, const struct tcp_balance *b, uint64_t sent)
{
	static const char *const whys[TCP_WHYS] = {
		[TCP_WHY_OPEN] = "not acknowledged yet",
		[TCP_WHY_FULL] = "no room",
		[TCP_WHY_UNSEEN] = "without an event",
		[TCP_WHY_NO_SACK] = "no SACK",
		[TCP_WHY_ACK] = "no DSACK",
	};
	const struct tcp_sum *s = &b->sum;
	const uint64_t again = s->retransmitted;
	uint64_t beyond = 0;

	page_row(p, STYLE_BOLD, 0, "retransmitted", again, sent);
	for (unsigned i = 0; i < TCP_KINDS; i++) {
		if (s->kinds[i])
			page_words(p, STYLE_DIM, "%s %s", fmt_count(s->kinds[i]),
				   tcp_kind_names[i]);
	}
	if (s->without_data)
		page_words(p, STYLE_DIM, "- %s without data", fmt_count(s->without_data));
	page_end(p);
	put_stages(p, "lost here", 2, s->lost_here, again, s->lost_at);
	if (b->has_stall)
		put_stall(p, 4, "sent again", &b->stall);
	for (unsigned i = 0; i < b->n_beyond; i++)
		beyond += b->beyond[i].segments;
	page_row(p, beyond ? STYLE_BAD : STYLE_PLAIN, 2, "downstream", beyond, again);
	for (unsigned i = 0; i < b->n_beyond; i++)
		page_words(p, STYLE_PLAIN, "%s %s", b->beyond[i].device,
			   fmt_count(b->beyond[i].segments));
	page_end(p);
	if (beyond && s->without_data)
		page_line(p, 4, STYLE_DIM, "", STYLE_DIM,
			  "for a segment without data, its acknowledgment may be lost instead");
	page_row(p, STYLE_PLAIN, 2, "spurious", s->not_lost, again);
	if (s->ack_lost)
		page_words(p, STYLE_PLAIN, "of %s the acknowledgment was dropped here",
			   fmt_count(s->ack_lost));
	page_end(p);
	page_row(p, b->undecided ? STYLE_WARN : STYLE_PLAIN, 2, "undecided", b->undecided, again);
	for (unsigned i = 0; i < TCP_WHYS; i++) {
		if (s->undecided[i])
			page_words(p, STYLE_PLAIN, "%s\v%s", whys[i] ? whys[i] : tcp_why_names[i],
				   fmt_count(s->undecided[i]));
	}
	page_end(p);
	if (b->so_far) {
		page_row(p, STYLE_PLAIN, 2, "pending", b->pending, again);
		page_words(p, STYLE_DIM, "recent, or not acknowledged");
		page_end(p);
	}
}

static void put_flows(struct page *p, const struct tcp_balance *b)
{
	const unsigned n = b->n_flows < FLOWS_PRINTED ? b->n_flows : FLOWS_PRINTED;

	if (n)
		page_line(p, 0, STYLE_BOLD, "flows           ", STYLE_PLAIN,
			  "%u of %s, worst first (memory: %s)", n, fmt_count(b->all_flows),
			  page_glue(fmt_bytes(b->memory)));
	for (unsigned i = 0; i < n; i++)
		put_flow(p, &b->flows[i]);
}

/* Prints losses of segments from remote senders, and what their listeners lost without an event. */
static void put_received(struct page *p, const struct tcp_balance *b)
{
	const uint64_t again = b->sum.received_again, timed = b->received_timed;
	char text[160];

	if (b->sum.received)
		put_stages(p, "lost incoming", 0, b->sum.received, 0, b->sum.received_at);
	snprintf(text, sizeof(text), "%s of them came again%s%s%s", fmt_count(again),
		 timed && timed < again ? "; of " : "",
		 timed && timed < again ? fmt_count(timed) : "",
		 timed && timed < again ? " the time is known" : "");
	if (b->has_received_stall)
		put_stall(p, 2, text, &b->received_stall);
	for (const struct tcp_refusing *r = b->listeners; r < b->listeners + b->n_listeners; r++)
		page_entry(
			p, STYLE_BAD, 0, "tcp_listen", r->lost, 0,
			"by the counter of %s in %s, %s (sk_drops) - its accept queue held %s at "
			"the end, and its backlog is %s",
			r->socket, r->netns, r->process, fmt_count(r->waiting), fmt_count(r->room));
	for (const struct tcp_resets *r = b->resets; r < b->resets + b->n_resets; r++)
		page_entry(p, STYLE_WARN, 0, "resets sent", r->connections, 0, "%s", r->reason);
}

void print_tcp(struct page *p, const struct tcp_balance *b, bool part)
{
	const uint64_t sent = b->sum.data_segs_out;

	if (part || b->so_far) {
		put_resent(p, b, 0);
		return put_flows(p, b);
	}
	page_row(p, STYLE_BOLD, 0, "sent", sent, 0);
	page_words(p, STYLE_DIM, "segments with data, by tcp_sock");
	page_end(p);
	page_entry(p, STYLE_PLAIN, 0, "new", b->fresh, sent, "%s", "");
	put_stages(p, "rejected locally", 0, b->sum.returned, sent, b->sum.returned_at);
	put_resent(p, b, sent);
	put_received(p, b);
	if (b->sum.bytes_unaccounted) {
		page_row(p, STYLE_WARN, 0, "unaccounted", b->sum.bytes_unaccounted, 0);
		page_words(p, STYLE_WARN, "bytes");
		page_end(p);
	}
	print_verdict(p, tcp_verdict_names[b->verdict], NULL,
		      b->recorded ? json_object_get(b->rests_on) : tcp_balance_rests_on(b));
	put_flows(p, b);
}
