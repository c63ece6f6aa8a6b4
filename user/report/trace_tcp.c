// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* TCP flow balance: "tcp" in the end of a trace, and its text. */
#include <string.h>

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

/* Returns nonzero counts by name, as [{"<key>", "segments"}]. */
static struct json_object *named(const char *key, const char *const names[], unsigned n,
				 const uint64_t counts[])
{
	struct json_object *list = json_object_new_array(), *o;

	for (unsigned i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		o = json_add_object(list);
		json_put_text(o, key, names[i]);
		json_put_u64(o, "segments", counts[i]);
	}
	return list;
}

struct json_object *json_address(const struct watch_flow *f, bool source)
{
	const struct endpoint ep = num_endpoint_of(f->family, source ? f->src : f->dst,
						   be16toh(source ? f->src_port : f->dst_port));

	return json_text(num_text_endpoint(&ep));
}

static struct json_object *json_flow(const struct tcp_shown *shown)
{
	static const struct record_field rows[] = {
		RECORD("retransmitted", UINT, tcp_sum, retransmitted),
		RECORD("rejected_locally", UINT, tcp_sum, returned),
		RECORD("lost_here", UINT, tcp_sum, lost_here),
		RECORD("downstream", UINT, tcp_sum, beyond),
		RECORD("spurious", UINT, tcp_sum, not_lost),
		RECORD("received", UINT, tcp_sum, received),
		{0},
	};
	const struct tcp_sum *s = &shown->flow.sum;
	struct json_object *o = json_object_new_object();

	json_put(o, "src", json_address(&shown->flow.key, true));
	json_put(o, "dst", json_address(&shown->flow.key, false));
	json_put_text(o, "netns", shown->netns);
	record_put(o, rows, s);
	json_put_u64(o, "undecided", tcp_sum_undecided(s));
	json_put(o, "stages", named("stage", stage_names, STAGE_COUNT, s->lost_at));
	json_put(o, "rejected_locally_stages", named("stage", stage_names, STAGE_COUNT, s->returned_at));
	return o;
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

/*
 * Returns the retransmissions and the outcomes of the original transmissions, as named counts only.
 */
static struct json_object *json_resent(const struct tcp_balance *b)
{
	static const struct record_field beyond[] = {
		RECORD("interface", TEXT, tcp_beyond, device),
		RECORD("netns", TEXT, tcp_beyond, netns),
		RECORD("segments", UINT, tcp_beyond, segments),
		{0},
	};
	static const struct record_field rows[] = {
		ROW("retransmitted", sum.retransmitted),
		ROW("without_data", sum.without_data),
		ROW("lost_here", sum.lost_here),
		ROW("lost_again", sum.lost_again),
		RECORD_LIST("downstream", NESTED, tcp_balance, beyond, .rows = beyond,
			    RECORD_COUNT(tcp_balance, n_beyond)),
		ROW("spurious", sum.not_lost),
		ROW("ack_lost", sum.ack_lost),
		ROW("undecided", undecided),
		RECORD_OTHER("undecided_why", NULL),
		RECORD_OTHER("kinds", NULL),
		RECORD_OTHER("stages", NULL),
		{0},
	};
	struct json_object *o = record_write(rows, b), *kinds = json_put_object(o, "kinds");

	for (unsigned i = 0; i < TCP_KINDS; i++)
		json_put_u64(kinds, tcp_kind_names[i], b->sum.kinds[i]);
	json_put(o, "undecided_why", named("why", tcp_why_names, TCP_WHYS, b->sum.undecided));
	json_put(o, "stages", named("stage", stage_names, STAGE_COUNT, b->sum.lost_at));
	return o;
}

/* Returns the item in `list` that has the same strings as `part`. */
static struct json_object *same_item(const struct json_object *list, const struct json_object *part)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		bool same = true;

		json_object_object_foreach (part, key, value) {
			if (!json_object_is_type(value, json_type_int))
				same &= json_object_equal(value, json_get(item, key));
		}
		if (same)
			return item;
	}
	return NULL;
}

static bool has_counts(const struct json_object *o)
{
	json_object_object_foreach (o, key, value) {
		bool any = json_get_u64(o, key);

		if (json_object_is_type(value, json_type_object))
			any = has_counts(value);
		for (struct json_each e = json_each(o, key); json_next(&e);)
			any |= has_counts(e.item);
		if (any)
			return true;
	}
	return false;
}

static void add_list(struct json_object *sum, const struct json_object *part, bool less)
{
	for (size_t i = 0; i < json_object_array_length(part); i++) {
		struct json_object *from = json_object_array_get_idx(part, i), *to, *copy = NULL;

		if (!json_object_is_type(from, json_type_object))
			continue;
		to = same_item(sum, from);
		if (to)
			json_tcp_add(to, from, less);
		else if (!less && !json_object_deep_copy(from, &copy, NULL))
			json_object_array_add(sum, copy);
	}
	for (size_t i = json_object_array_length(sum); less && i--;) {
		if (!has_counts(json_object_array_get_idx(sum, i)))
			json_object_array_del_idx(sum, i, 1);
	}
}

void json_tcp_add(struct json_object *sum, const struct json_object *part, bool less)
{
	json_object_object_foreach (part, key, value) {
		struct json_object *old = json_get(sum, key);
		const uint64_t had = json_get_u64(sum, key), n = json_get_u64(part, key);

		if (json_object_is_type(value, json_type_int))
			json_put_u64(sum, key, !less ? had + n : had > n ? had - n : 0);
		else if (json_object_is_type(value, json_type_object))
			json_tcp_add(old ? old : json_put_object(sum, key), value, less);
		else if (json_object_is_type(value, json_type_array))
			add_list(old ? old : json_put_list(sum, key), value, less);
	}
}

struct json_object *json_tcp_part(const struct tcp_balance *b, struct json_object **last)
{
	struct json_object *part = json_resent(b), *now = json_resent(b);

	if (*last)
		json_tcp_add(part, *last, true);
	json_object_put(*last);
	*last = now;
	if (has_counts(part))
		return part;
	json_object_put(part);
	return NULL;
}

struct json_object *json_tcp(const struct tcp_balance *b)
{
	static const struct record_field bytes[] = {
		ROW("sent", sum.bytes_sent),
		ROW("new", sum.bytes_new),
		ROW("retransmitted", sum.bytes_retrans),
		ROW("rejected_locally", sum.bytes_returned),
		ROW("unaccounted", sum.bytes_unaccounted),
		{0},
	};
	static const struct record_field stall[] = {
		RECORD("p50", UINT, tcp_stall, p50),
		RECORD("p99", UINT, tcp_stall, p99),
		RECORD("max", UINT, tcp_stall, max),
		{0},
	};
	static const struct record_field listeners[] = {
		RECORD("socket", TEXT, tcp_refusing, socket),
		RECORD("netns", TEXT, tcp_refusing, netns),
		RECORD("process", TEXT, tcp_refusing, process),
		RECORD("lost", UINT, tcp_refusing, lost),
		RECORD("accept_queue", UINT, tcp_refusing, waiting),
		RECORD("backlog", UINT, tcp_refusing, room),
		{0},
	};
	static const struct record_field counters[] = {
		RECORD("name", POINTER, tcp_counter, name),
		RECORD("netns", TEXT, tcp_counter, netns),
		RECORD("delta", UINT, tcp_counter, delta),
		RECORD("events", UINT, tcp_counter, events, RECORD_WHEN(tcp_counter, compared)),
		RECORD("slack", UINT, tcp_counter, slack, RECORD_WHEN(tcp_counter, compared)),
		RECORD("agrees", BOOL, tcp_counter, agrees, RECORD_WHEN(tcp_counter, compared)),
		{0},
	};
	static const struct record_field losses[] = {
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
	static const struct record_field rows[] = {
		ROW("data_segs_out", sum.data_segs_out),
		ROW("new", fresh),
		ROW("rejected_locally", sum.returned),
		RECORD("pending", UINT, tcp_balance, pending, RECORD_WHEN(tcp_balance, so_far)),
		ROW("not_resent", sum.not_resent),
		ROW("received", sum.received),
		RECORD_OTHER("received_stages", NULL),
		ROW("received_again", sum.received_again),
		ROW("received_timed", received_timed),
		RECORD("received_stall_ns", NESTED, tcp_balance, received_stall, .rows = stall,
		       RECORD_WHEN(tcp_balance, has_received_stall)),
		RECORD("balanced", BOOL, tcp_balance, balanced),
		RECORD("verdict", ENUM, tcp_balance, verdict, RECORD_NAMES(tcp_verdict_names)),
		RECORD_OTHER("rests_on", NULL),
		RECORD_OTHER("rejected_locally_stages", NULL),
		RECORD("stall_ns", NESTED, tcp_balance, stall, .rows = stall,
		       RECORD_WHEN(tcp_balance, has_stall)),
		RECORD_PART("bytes", bytes),
		RECORD_LIST("listeners", NESTED, tcp_balance, listeners, .rows = listeners,
			    RECORD_COUNT(tcp_balance, n_listeners)),
		RECORD_OTHER("counters", counters),
		RECORD_OTHER("flows", NULL),
		ROW("all_flows", all_flows),
		ROW("sockets", sum.sockets),
		ROW("window_ns", window_ns),
		ROW("memory_bytes", memory),
		RECORD_PART("missed", losses),
		{0},
	};
	struct json_object *o = json_resent(b), *flows;

	record_put(o, rows, b);
	json_put(o, "rests_on", tcp_balance_rests_on(b));
	flows = json_put_list(o, "flows");
	for (unsigned i = 0; i < b->n_flows; i++)
		json_object_array_add(flows, json_flow(&b->flows[i]));

	json_put(o, "rejected_locally_stages",
		 named("stage", stage_names, STAGE_COUNT, b->sum.returned_at));
	json_put(o, "received_stages",
		 named("stage", stage_names, STAGE_COUNT, b->sum.received_at));

	json_put(o, "counters", record_items(counters, &b->counters));
	if (b->trail)
		json_put(o, "trail", json_trail(b));
	return o;
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

static void put_tcp_flow(struct page *p, const struct json_object *f)
{
	static const struct page_count parts[] = {
		{"retransmitted", "sent again"},    {"rejected_locally", "rejected locally"},
		{"lost_here", "lost here"},	    {"downstream", "downstream"},
		{"received", "dropped on arrival"}, {"spurious", "spurious"},
		{"undecided", "undecided"},
	};

	page_text(p, 2, STYLE_PLAIN, "- ");
	page_fill(p, STYLE_PLAIN, f,
		  *json_get_text(f, "netns") ? "{src} to {dst} in {netns}:" : "{src} to {dst}:");
	page_counts(p, NULL, STYLE_PLAIN, f, parts, LENGTH(parts));
	for (struct json_each e = json_each(f, "stages"); json_next(&e);)
		page_fill(p, STYLE_PLAIN, e.item, "({stage})");
	page_end(p);
}

#define FLOWS_PRINTED 8

static const char *why_words(const char *why)
{
	static const char *const words[TCP_WHYS] = {
		[TCP_WHY_OPEN] = "not acknowledged yet",
		[TCP_WHY_FULL] = "no room",
		[TCP_WHY_UNSEEN] = "without an event",
		[TCP_WHY_NO_SACK] = "no SACK",
	};

	for (unsigned i = 0; i < TCP_WHYS; i++) {
		if (!strcmp(why, tcp_why_names[i]) && words[i])
			return words[i];
	}
	return why;
}

/* Prints the retransmissions and the outcomes of the original transmissions. */
static void put_resent(struct page *p, const struct json_object *tcp, uint64_t sent)
{
	static const struct page_fact rest[] = {
		{"spurious", "spurious", .shared = true, .indent = 2,
		 .text = "{?ack_lost}of {ack_lost#} the acknowledgment was dropped here"},
		{"pending", "pending", .shared = true, .indent = 2, .of_text = STYLE_DIM,
		 .text = "lately, or not acknowledged"},
	};
	const uint64_t again = json_get_u64(tcp, "retransmitted");
	const uint64_t beyond = json_sum(tcp, "downstream", "segments");

	page_row(p, STYLE_BOLD, 0, "retransmitted", again, sent);
	for (unsigned i = 0; i < TCP_KINDS; i++) {
		uint64_t n = json_get_u64(json_get(tcp, "kinds"), tcp_kind_names[i]);

		if (n)
			page_words(p, STYLE_DIM, "%s %s", fmt_count(n), tcp_kind_names[i]);
	}
	page_fill(p, STYLE_DIM, tcp, "{?without_data}- {without_data#} of them without data");
	page_end(p);
	print_parts(p, "lost here", 2, STYLE_BAD, json_get_u64(tcp, "lost_here"), again, tcp,
		    "stages", "{stage} {segments#}");
	page_fill_line(
		p, 4, STYLE_DIM, "", STYLE_DIM, tcp,
		"{?stall_ns}sent again: half within {stall_ns.p50#}, 99 % within {stall_ns.p99#}, "
		"the last after {stall_ns.max#}");
	print_parts(p, "downstream", 2, STYLE_BAD, beyond, again, tcp, "downstream",
		    "{interface} {segments#}");
	if (beyond)
		page_fill_line(p, 4, STYLE_DIM, "", STYLE_DIM, tcp,
			       "{?without_data}for a segment without data, its acknowledgment may "
			       "be lost instead");
	page_facts(p, tcp, again, rest, 1);
	page_row(p, json_get_u64(tcp, "undecided") ? STYLE_WARN : STYLE_PLAIN, 2, "undecided",
		 json_get_u64(tcp, "undecided"), again);
	for (struct json_each e = json_each(tcp, "undecided_why"); json_next(&e);)
		page_words(p, STYLE_PLAIN, "%s\v%s", why_words(json_get_text(e.item, "why")),
			   fmt_count(json_get_u64(e.item, "segments")));
	page_end(p);
	if (json_get(tcp, "pending"))
		page_facts(p, tcp, again, &rest[1], 1);
}

static void put_flows(struct page *p, const struct json_object *tcp)
{
	const size_t flows = json_get_length(tcp, "flows");

	if (!flows)
		return;
	page_line(p, 0, STYLE_BOLD, "flows           ", STYLE_PLAIN,
		  "%s of %s, worst first (memory: %s)",
		  fmt_count(flows < FLOWS_PRINTED ? flows : FLOWS_PRINTED),
		  fmt_count(json_get_u64(tcp, "all_flows")),
		  page_glue(fmt_bytes(json_get_u64(tcp, "memory_bytes"))));
	for (size_t i = 0; i < flows && i < FLOWS_PRINTED; i++)
		put_tcp_flow(p, json_get_item(tcp, "flows", i));
}

void print_tcp(struct page *p, const struct json_object *end)
{
	static const struct page_fact first[] = {
		{"sent", "data_segs_out", STYLE_BOLD, STYLE_DIM,
		 .text = "segments with data, by tcp_sock"},
		{"new", "new", .shared = true},
	};
	static const struct page_fact listening[] = {
		{"tcp_listen", "lost", STYLE_BAD,
		 .text = "by the counter of {socket} in {netns}, {process} (sk_drops) - its accept "
			 "queue held {accept_queue#} at the end, and its backlog is {backlog#}"},
	};
	static const struct page_fact unaccounted[] = {
		{"unaccounted", "bytes.unaccounted", STYLE_WARN, STYLE_WARN, .text = "bytes",
		 .omitted = true},
	};
	const struct json_object *tcp = json_get(end, "tcp");
	const uint64_t sent = json_get_u64(tcp, "data_segs_out");
	const uint64_t timed = json_get_u64(tcp, "received_timed");

	if (!tcp)
		return;
	if (json_get(tcp, "pending") || !json_get(tcp, "data_segs_out")) { /* partial balance */
		put_resent(p, tcp, 0);
		return put_flows(p, tcp);
	}
	page_facts(p, tcp, sent, first, LENGTH(first));
	print_parts(p, "rejected locally", 0, STYLE_BAD, json_get_u64(tcp, "rejected_locally"), sent, tcp,
		    "rejected_locally_stages", "{stage} {segments#}");
	put_resent(p, tcp, sent);
	if (json_get_u64(tcp, "received"))
		print_parts(p, "lost incoming", 0, STYLE_BAD, json_get_u64(tcp, "received"), 0, tcp,
			    "received_stages", "{stage} {segments#}");
	page_fill_line(
		p, 2, STYLE_DIM, "", STYLE_DIM, tcp,
		timed && timed < json_get_u64(tcp, "received_again")
			? "{?received_stall_ns}{received_again#} of them came again; of "
			  "{received_timed#} the time is known: half within "
			  "{received_stall_ns.p50#}, 99 % within {received_stall_ns.p99#}, the "
			  "last after {received_stall_ns.max#}"
			: "{?received_stall_ns}{received_again#} of them came again: half within "
			  "{received_stall_ns.p50#}, 99 % within {received_stall_ns.p99#}, "
			  "the last after {received_stall_ns.max#}");
	for (struct json_each e = json_each(tcp, "listeners"); json_next(&e);)
		page_facts(p, e.item, 0, listening, LENGTH(listening));
	page_facts(p, tcp, 0, unaccounted, LENGTH(unaccounted));
	print_verdict(p, tcp);
	put_flows(p, tcp);
}
