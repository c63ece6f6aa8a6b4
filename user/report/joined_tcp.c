// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Joins traces with a TCP balance from several hosts. Adds "joined" to each host's document: the
 * other hosts' information about its retransmissions (ledger/tcp_join.h). Files are untrusted, so
 * ranges that do not match this version's format count as lost lines.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/record.h"
#include "ledger/tcp_join.h"
#include "report/document.h"
#include "report/load.h"
#include "report/series.h"
#include "report/trace.h"

#define HOST_NAME   160
#define FLOWS_SHOWN 16

struct tcp_hosts {
	struct tcp_join_host host[TCP_JOIN_HOSTS];
	struct ledgers_document *d[TCP_JOIN_HOSTS];
	char name[TCP_JOIN_HOSTS][HOST_NAME];
	unsigned n;
};

static struct json_object *tcp_of(const struct ledgers_document *d)
{
	return json_get(json_get(d->json, "end"), "tcp");
}

bool joined_tcp_wanted(const struct ledgers *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->documents; i++) {
		if (strcmp(l->document[i].command, "trace") != 0)
			return false;
		n += json_get(tcp_of(&l->document[i]), "trail") != NULL;
	}
	return n > 1;
}

/* Reading */

static bool read_end(const struct json_object *row, const char *key, uint8_t address[16],
		     __be16 *port, uint8_t *family)
{
	struct endpoint ep;

	if (num_endpoint(json_get_text(row, key), &ep) || (*family && *family != ep.family))
		return false;
	*family = (uint8_t)ep.family;
	*port = htobe16(ep.port);
	memcpy(address, ep.family == AF_INET ? (void *)&ep.ip4 : (void *)&ep.ip6,
	       ep.family == AF_INET ? 4 : 16);
	return true;
}

/*
 * Returns the flow's index in the trail, or TRAIL_NONE if the row is invalid or the trail is full.
 */
static uint32_t read_flow(struct trail *t, const struct json_object *row)
{
	struct watch_flow key = {.proto = IPPROTO_TCP};
	struct trail_flow read, *f;
	uint32_t i;

	if (!read_end(row, "src", key.src, &key.src_port, &key.family) ||
	    !read_end(row, "dst", key.dst, &key.dst_port, &key.family) ||
	    record_read(row, trail_flow_rows, &read))
		return TRAIL_NONE;
	i = trail_make(t, &key, read.sends);
	if (i == TRAIL_NONE)
		return i;
	f = trail_flow(t, i);
	read.key = key;
	read.known &= read.next >= read.first && read.next < UINT64_MAX / 2;
	*f = read;
	return i;
}

static uint64_t number_of(struct json_object *row, unsigned i)
{
	struct json_object *item = json_object_array_get_idx(row, i);

	return json_object_is_type(item, json_type_int) ? json_object_get_uint64(item) : UINT64_MAX;
}

static const char *word_of(struct json_object *row, unsigned i)
{
	struct json_object *item = json_object_array_get_idx(row, i);

	return json_object_is_type(item, json_type_string) ? json_object_get_string(item) : "";
}

/* [flow, what, first number, numbers, ns, stage] */
static bool read_range(struct trail *t, struct json_object *row, const uint32_t *flow, size_t flows)
{
	struct trail_range r = {.what = TRAIL_WHATS};
	uint64_t i, bytes;

	if (!json_object_is_type(row, json_type_array))
		return false;
	i = number_of(row, 0);
	r.from = number_of(row, 2);
	bytes = number_of(row, 3);
	r.time_ns = number_of(row, 4);
	for (unsigned what = 0; what < TRAIL_WHATS; what++) {
		if (!strcmp(trail_names[what], word_of(row, 1)))
			r.what = (uint8_t)what;
	}
	if (i >= flows || flow[i] == TRAIL_NONE || r.what == TRAIL_WHATS || !bytes ||
	    bytes > UINT32_MAX || r.from >= UINT64_MAX / 2 || r.time_ns >= UINT64_MAX / 2 ||
	    (trail_flow(t, flow[i])->sends ? r.what != TRAIL_RESENT && r.what != TRAIL_DROPPED
					   : r.what == TRAIL_RESENT))
		return false;
	if (r.what == TRAIL_DROPPED || r.what == TRAIL_OUTSIDE) {
		enum stage stage = rows_stage(word_of(row, 5));

		r.stage = (uint8_t)(stage == STAGE_NONE ? STAGE_OTHER : stage);
	}
	r.to = r.from + bytes;
	r.flow = flow[i];
	trail_add(t, &r);
	return true;
}

static int read_trail(struct tcp_join_host *h, const struct json_object *tcp, struct error *err)
{
	const struct json_object *trail = json_get(tcp, "trail"),
				 *left = json_get(trail, "left_out");
	const size_t flows = json_get_length(trail, "flows");
	const struct json_object *own = json_get(tcp, "missed");
	uint32_t *flow = calloc(flows + 1, sizeof(*flow));

	if (!flow)
		return error_memory(err);
	h->trail = trail_new();
	for (size_t i = 0; i < flows; i++) {
		flow[i] = read_flow(h->trail, json_get_item(trail, "flows", i));
		h->crowded |= flow[i] == TRAIL_NONE;
	}
	for (size_t i = 0; i < json_get_length(trail, "ranges"); i++)
		h->torn |= !read_range(h->trail, json_get_item(trail, "ranges", i), flow, flows);
	free(flow);
	h->trail->lost_resent += json_get_u64(left, "resent");
	h->crowded |= json_get_u64(left, "flows") || json_get_u64(left, "segments");
	h->torn |= json_get_u64(own, "unranged") || json_get_u64(own, "refused") ||
		   json_get_u64(own, "unplaced") || json_get_u64(own, "recursion_misses");
	h->refuses = json_get_length(tcp, "listeners");
	when_date(json_get_text(trail, "time"), &h->began_ns);
	h->ended_ns = h->began_ns + json_get_u64(tcp, "window_ns");
	return 0;
}

/* Names the hosts. If several share a name, appends the namespace or the file. */
static void name_hosts(struct tcp_hosts *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		const struct json_object *start = json_get(h->d[i]->json, "start");
		const char *host = json_get_text(start, "host");
		const char *netns = json_get_text(json_get(start, "filter"), "netns");

		snprintf(h->name[i], HOST_NAME, "%s",
			 *netns	 ? netns
			 : *host ? host
				 : h->d[i]->path);
	}
	for (unsigned i = 1; i < h->n; i++) {
		for (unsigned k = 0; k < i; k++) {
			if (!strcmp(h->name[i], h->name[k]))
				snprintf(h->name[i], HOST_NAME, "%s", h->d[i]->path);
		}
	}
}

/* Writing */

static const char *const why_names[JOIN_WHYS] = {"elsewhere", "sequence", "wrapped",
						 "reused",    "before",	  "after",
						 "unseen",    "full",	  "no_event"};

/* Noun for fmt_many(), and the text that follows the number. */
static const struct {
	const char *of, *text;
} why_text[JOIN_WHYS] = {
	[JOIN_ELSEWHERE] = {"is|are",
			    "of flows that no other host has seen (compared by addresses, or by the "
			    "initial sequence number and an address)"},
	[JOIN_SEQUENCE] = {"is|are",
			   "of flows that other hosts have seen with other sequence numbers: a "
			   "proxy, a SYN proxy or a sequence adjustment is on the path"},
	[JOIN_WRAPPED] = {"is|are",
			  "of flows that existed before and carried more than 2 GiB, so that "
			  "sequence numbers repeat"},
	[JOIN_REUSED] = {"was|were", "of an earlier connection with the same addresses and ports, "
				     "whose sequence numbers are not kept"},
	[JOIN_BEFORE] = {"was|were", "sent before tracing of the other host began"},
	[JOIN_AFTER] = {"came|came", "after the other host stopped tracing, or by another path"},
	[JOIN_UNSEEN] = {"is|are",
			 "of flows with packets that were not seen entering the other host: they "
			 "take another path, or tracing is suppressed there"},
	[JOIN_FULL] = {"may be|may be", "of records that did not fit, or of events that were missed "
					"because a program was busy on that CPU"},
	[JOIN_NO_EVENT] = {"came|came", "on the last host without a drop event: lost there "
					"silently, or downstream"},
};

/* Adds the interface counters at `stage` that may include lost segments. Returns their sum. */
static uint64_t add_counters(struct json_object *list, const struct tcp_hosts *h, unsigned host,
			     const char *stage)
{
	const struct json_object *end = json_get(h->d[host]->json, "end");
	static const char *const classes[] = {"stages", "suspected"};
	uint64_t sum = 0;

	for (unsigned c = 0; c < LENGTH(classes); c++) {
		for (struct json_each s = json_each(end, classes[c]); json_next(&s);) {
			if (strcmp(json_get_text(s.item, "stage"), stage) != 0)
				continue;
			for (struct json_each e = json_each(s.item, "causes"); json_next(&e);) {
				struct json_object *o;

				if (strcmp(json_get_text(e.item, "source"), "counter") != 0)
					continue;
				o = json_add_object(list);
				json_put_text(o, "host", h->name[host]);
				json_put_text(o, "stage", stage);
				json_put_text(o, "ifname", json_get_text(e.item, "ifname"));
				json_put_text(o, "counter", json_get_text(e.item, "reason"));
				json_put_u64(o, "packets", json_get_u64(e.item, "packets"));
				sum += json_get_u64(e.item, "packets");
			}
		}
	}
	return sum;
}

/*
 * Adds losses between two hosts. Returns how many of them an interface on either host may have
 * lost.
 */
static uint64_t put_wire(struct json_object *list, const struct tcp_hosts *h, unsigned from,
			 unsigned to, uint64_t segments)
{
	struct json_object *o = json_add_object(list), * or = json_object_new_array();
	uint64_t doubtful = add_counters(or, h, from, "tx_device") +
			    add_counters(or, h, to, "nic_ring") + add_counters(or, h, to, "xdp");

	doubtful = smaller(doubtful, segments);
	json_put_text(o, "from", h->name[from]);
	json_put_text(o, "to", h->name[to]);
	json_put_u64(o, "segments", segments - doubtful);
	json_put_u64(o, "doubtful", doubtful);
	json_put(o, "or", or);
	return doubtful;
}

struct shown {
	struct tcp_join_flow flow[FLOWS_SHOWN];
	unsigned n;
	uint64_t flows, renamed;
};

/* Returns true if NAT changed the flow's addresses or ports on that host. */
static bool renamed(const struct tcp_join_flow *f, unsigned at)
{
	return memcmp(&f->way[at].flow->key, &f->flow->key, sizeof(f->flow->key)) != 0;
}

/* Keeps the flows that have the most segments. */
static void show_flow(void *arg, const struct tcp_join_flow *f)
{
	struct shown *s = arg;
	unsigned at = s->n;

	s->flows++;
	s->renamed += f->n && renamed(f, f->n - 1);
	while (at && s->flow[at - 1].segments < f->segments)
		at--;
	if (at == FLOWS_SHOWN)
		return;
	if (s->n < FLOWS_SHOWN)
		s->n++;
	memmove(&s->flow[at + 1], &s->flow[at], (s->n - 1 - at) * sizeof(*s->flow));
	s->flow[at] = *f;
}

static void put_flow(struct json_object *list, const struct tcp_hosts *h,
		     const struct tcp_join_flow *f)
{
	static const struct record_field rows[] = {
		RECORD("segments", UINT, tcp_join_flow, segments),
		RECORD("lost", UINT, tcp_join_flow, lost),
		RECORD("wire", UINT, tcp_join_flow, wire),
		RECORD("spurious", UINT, tcp_join_flow, not_lost),
		RECORD("undecided", UINT, tcp_join_flow, undecided),
		{0},
	};
	struct json_object *o = json_add_object(list), *way;

	json_put(o, "src", json_address(&f->flow->key, true));
	json_put(o, "dst", json_address(&f->flow->key, false));
	record_put(o, rows, f);
	json_put_text(o, "unjoined", f->n ? NULL : why_names[f->unjoined]);
	way = json_put_list(o, "way");
	for (unsigned i = 0; i < f->n; i++) {
		struct json_object *stop = json_add_object(way);

		json_put_text(stop, "host", h->name[f->way[i].host]);
		if (!renamed(f, i))
			continue;
		json_put(stop, "src", json_address(&f->way[i].flow->key, true));
		json_put(stop, "dst", json_address(&f->way[i].flow->key, false));
	}
}

static void put_host(struct json_object *list, const char *name,
		     const uint64_t segments[STAGE_COUNT])
{
	for (unsigned stage = 0; stage < STAGE_COUNT; stage++) {
		struct json_object *o;

		if (!segments[stage])
			continue;
		o = json_add_object(list);
		json_put_text(o, "host", name);
		json_put_text(o, "stage", stage_name(stage));
		json_put_u64(o, "segments", segments[stage]);
	}
}

/* Adds "joined" to the sender's document, unless the sender retransmitted nothing. */
static void put_joint(const struct tcp_hosts *h, unsigned sender)
{
	struct tcp_joint *sum = mem_new(sum);
	struct shown *shown = mem_new(shown);
	uint64_t undecided = 0, unjoined = 0, doubtful = 0;
	struct json_object *o, *lost, *wire, *why, *flows;
	const struct json_object *tcp = tcp_of(h->d[sender]);

	tcp_join(h->host, h->n, sender, sum, show_flow, shown);
	for (struct json_each e = json_each(tcp, "undecided_why"); json_next(&e);) {
		uint64_t n = json_get_u64(e.item, "segments");

		/*
		 * the sender has no numbers for these segments, so no host can determine their
		 * outcome
		 */
		if (strcmp(json_get_text(e.item, "why"), "unseen") != 0)
			continue;
		sum->undecided[JOIN_FULL] += n;
		sum->segments += n;
	}
	if (!sum->segments) {
		free(sum);
		free(shown);
		return;
	}
	o = json_put_object(h->d[sender]->json, "joined");
	json_put_text(o, "host", h->name[sender]);
	json_put_u64(o, "sent", json_get_u64(tcp, "data_segs_out"));
	json_put_u64(o, "segments", sum->segments);
	lost = json_put_list(o, "lost");
	wire = json_put_list(o, "wire");
	why = json_put_list(o, "undecided_why");
	flows = json_put_list(o, "flows");
	for (unsigned i = 0; i < h->n; i++) {
		put_host(lost, h->name[i], sum->lost[i]);
		for (unsigned k = 0; k < h->n; k++) {
			if (sum->wire[i][k])
				doubtful += put_wire(wire, h, i, k, sum->wire[i][k]);
		}
	}
	for (unsigned i = 0; i < JOIN_WHYS; i++) {
		struct json_object *row;
		char text[400];

		if (!sum->undecided[i])
			continue;
		*(i <= JOIN_WRAPPED ? &unjoined : &undecided) += sum->undecided[i];
		row = json_add_object(why);
		snprintf(text, sizeof(text), "%s %s", fmt_many(sum->undecided[i], why_text[i].of),
			 why_text[i].text);
		json_put_text(row, "why", why_names[i]);
		json_put_u64(row, "segments", sum->undecided[i]);
		json_put_text(row, "text", text);
	}
	json_put_u64(o, "spurious", sum->not_lost);
	json_put_u64(o, "undecided", undecided);
	json_put_u64(o, "unjoined", unjoined);
	json_put_u64(o, "all_flows", shown->flows);
	json_put_u64(o, "renamed_flows", shown->renamed);
	json_put_bool(o, "balanced", !undecided && !doubtful);
	for (unsigned i = 0; i < shown->n; i++)
		put_flow(flows, h, &shown->flow[i]);
	free(sum);
	free(shown);
}

/*
 * Returns the losses of flows in `back` that run in the opposite direction to flows in `of` with
 * spurious retransmissions.
 */
static uint64_t lost_back(const struct json_object *of, const struct json_object *back)
{
	uint64_t sum = 0;

	for (struct json_each e = json_each(of, "flows"); json_next(&e);) {
		for (struct json_each b = json_each(back, "flows"); json_next(&b);) {
			if (json_get_u64(e.item, "spurious") &&
			    json_object_equal(json_get(e.item, "src"), json_get(b.item, "dst")) &&
			    json_object_equal(json_get(e.item, "dst"), json_get(b.item, "src")))
				sum += json_get_u64(b.item, "wire") + json_get_u64(b.item, "lost");
		}
	}
	return sum;
}

/*
 * Removes the finding about reordering if segments were lost on the reverse path: a single host
 * cannot tell the two causes apart.
 */
static void put_lost_back(const struct tcp_hosts *h, unsigned sender)
{
	struct json_object *o = json_get(h->d[sender]->json, "joined");
	struct json_object *findings = json_get(json_get(h->d[sender]->json, "end"), "findings");
	uint64_t sum = 0;

	for (unsigned i = 0; o && i < h->n; i++)
		sum += lost_back(o, json_get(h->d[i]->json, "joined"));
	if (!sum)
		return;
	json_put_u64(o, "lost_back", sum);
	for (size_t i = findings ? json_object_array_length(findings) : 0; i--;) {
		const struct json_object *f = json_object_array_get_idx(findings, i);

		if (!strcmp(json_get_text(f, "id"), "tcp-reordered"))
			json_object_array_del_idx(findings, i, 1);
	}
}

int joined_tcp_make(struct ledgers *l, bool asked, struct error *why)
{
	struct error quiet, *err = asked ? why : &quiet;
	struct tcp_hosts *h = mem_new(h);
	int rc = 0;

	for (unsigned i = 0; i < l->documents && !rc; i++) {
		struct ledgers_document *d = &l->document[i];

		if (!json_get(tcp_of(d), "trail"))
			continue;
		if (h->n == TCP_JOIN_HOSTS) {
			rc = error_usage(err, "name the files of the hosts on the path of a flow",
					 "ledgers of more than %u hosts are not joined",
					 TCP_JOIN_HOSTS);
			break;
		}
		for (unsigned k = 0; k < h->n && !rc; k++)
			rc = ledgers_same(h->d[k], d, err) || ledgers_apart(h->d[k], h->d[k]->to_ns,
									    d, d->to_ns, err)
				     ? -EINVAL
				     : 0;
		h->d[h->n] = d;
		rc = rc ? rc : read_trail(&h->host[h->n++], tcp_of(d), err);
	}
	if (!rc) {
		name_hosts(h);
		tcp_join_prepare(h->host, h->n);
	}
	for (unsigned i = 0; !rc && i < h->n; i++)
		put_joint(h, i);
	for (unsigned i = 0; !rc && i < h->n; i++)
		put_lost_back(h, i);
	for (unsigned i = 0; i < h->n; i++)
		trail_free(h->host[i].trail);
	free(h);
	return asked ? rc : 0; /* the traces are shown separately if they cannot be joined */
}

/* Text */

/* Returns the host's name (name_hosts()), even after --redact. */
static const char *name_of(const struct ledgers_document *d)
{
	const struct json_object *start = json_get(d->json, "start");
	const char *netns = json_get_text(json_get(start, "filter"), "netns");
	const char *joined = json_get_text(json_get(d->json, "joined"), "host");

	return *joined ? joined : *netns ? netns : json_get_text(start, "host");
}

char *joined_tcp_text(const struct ledgers_document *d, unsigned n)
{
	uint64_t wire = 0, lost = 0, unknown = 0;
	const char *before = ": ";
	bool any = false;
	size_t size;
	char *text;
	FILE *out;

	for (unsigned i = 0; i < n; i++) {
		const struct json_object *o = json_get(d[i].json, "joined");

		any |= o != NULL;
		wire += json_sum(o, "wire", "segments");
		unknown += json_sum(o, "wire", "doubtful") + json_get_u64(o, "undecided");
	}
	if (!any || !(out = open_memstream(&text, &size)))
		return NULL;
	if (wire)
		fprintf(out, "%s lost on the wire", fmt_many(wire, "TCP segment"));
	for (unsigned i = 0; i < n; i++) {
		const struct json_object *o = json_get(d[i].json, "joined");

		for (struct json_each e = json_each(o, "wire"); json_next(&e);) {
			if (!json_get_u64(e.item, "segments"))
				continue;
			fprintf(out, "%s%s %s to %s", before,
				page_share(json_get_u64(e.item, "segments"),
					   json_get_u64(o, "sent")),
				json_get_text(e.item, "from"), json_get_text(e.item, "to"));
			before = ", ";
		}
	}
	for (unsigned i = 0; i < n; i++) {
		const uint64_t here = json_get_u64(tcp_of(&d[i]), "lost_here");

		if (here)
			fprintf(out, "%s%s lost on %s, which sent them", wire || lost ? "; " : "",
				fmt_many(here, "TCP segment"), name_of(&d[i]));
		lost += here;
		for (struct json_each e = json_each(json_get(d[i].json, "joined"), "lost");
		     json_next(&e);) {
			fprintf(out, "%s%s lost on %s, at %s", wire || lost ? "; " : "",
				fmt_many(json_get_u64(e.item, "segments"), "TCP segment"),
				json_get_text(e.item, "host"), json_get_text(e.item, "stage"));
			lost += json_get_u64(e.item, "segments");
		}
	}
	/* of flows that were not seen entering the host, so no join contains them */
	for (unsigned i = 0, none = !wire && !lost; none && i < n; i++) {
		const uint64_t received = json_get_u64(tcp_of(&d[i]), "received");

		if (received)
			fprintf(out, "%s%s lost on %s, on arrival", lost ? "; " : "",
				fmt_many(received, "TCP segment"), name_of(&d[i]));
		lost += received;
	}
	if (!wire && !lost)
		fprintf(out, "No TCP segment was seen to be lost on these hosts or between them");
	if (unknown)
		fprintf(out, "; %s undecided", fmt_count(unknown));
	fclose(out);
	return text;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

char *joined_udp_text(const struct ledgers_document *a, const struct ledgers_document *b)
{
	const struct json_object *from = json_get(a->json, "end"), *to = json_get(b->json, "end");
	const uint64_t sent = json_get_u64(json_get(from, "probes"), "sent");
	const int64_t came = json_get_i64(to, "arrived");
	const uint64_t off = apart(a->from_ns, b->from_ns) + apart(a->to_ns, b->to_ns);
	const uint64_t ns = a->to_ns - a->from_ns;
	char tail[200];

	if (!json_get(from, "verdict") || !json_get(to, "verdict") || !sent || came <= 0 ||
	    a->to_ns <= a->from_ns || a->to_ns < b->from_ns || b->to_ns < a->from_ns ||
	    !strcmp(name_of(a), name_of(b)))
		return NULL;
	snprintf(tail, sizeof(tail),
		 "if both chose the same packets. The two windows differ by %s, in which %s were "
		 "sent",
		 fmt_ns(off),
		 fmt_many((uint64_t)((double)sent * (double)off / (double)ns), "packet"));
	return mem_print("%s sent by %s, %s arrived at %s: %s %s, %s, %s", fmt_count(sent),
			 name_of(a), fmt_count((uint64_t)came), name_of(b),
			 fmt_count(apart(sent, (uint64_t)came)),
			 (uint64_t)came > sent ? "more" : "fewer",
			 page_share(apart(sent, (uint64_t)came), sent), tail);
}

static void print_joined_flow(struct page *p, const struct json_object *f)
{
	const struct page_sum parts[] = {
		{json_get_u64(f, "segments"), "sent again"},
		{json_get_u64(f, "lost"), "lost there"},
		{json_get_u64(f, "wire"), "wire"},
		{json_get_u64(f, "spurious"), "spurious"},
		{json_get_u64(f, "undecided"), "undecided"},
	};

	page_text(p, 2, STYLE_DIM, "- ");
	page_fill(p, STYLE_PLAIN, f, "{src} to {dst}:");
	for (struct json_each e = json_each(f, "way"); json_next(&e);)
		page_fill(p, STYLE_PLAIN, e.item, "{?src}(at {host} {src} to {dst})");
	page_sums(p, NULL, STYLE_PLAIN, parts, LENGTH(parts));
	page_fill(p, STYLE_WARN, f, "{?unjoined}not joined ({unjoined})");
	page_end(p);
}

#define FLOWS_PRINTED 8

void print_joined_tcp(struct page *p, const struct json_object *document)
{
	const struct json_object *o = json_get(document, "joined");
	const uint64_t all = json_get_u64(o, "segments"), spurious = json_get_u64(o, "spurious");
	const uint64_t undecided = json_get_u64(o, "undecided");
	const uint64_t unjoined = json_get_u64(o, "unjoined");
	const uint64_t doubtful = json_sum(o, "wire", "doubtful");

	if (!o)
		return;
	page_end(p);
	page_row(p, STYLE_BOLD, 0, "joined", all, 0);
	page_words(p, STYLE_DIM,
		   "retransmitted, but not because of a loss on this host, according to the other "
		   "ledgers");
	page_end(p);
	print_parts(p, "lost there", 2, STYLE_BAD, json_sum(o, "lost", "segments"), all, o, "lost",
		    "{stage} at {host} {segments#}");
	print_parts(p, "wire", 2, STYLE_BAD, json_sum(o, "wire", "segments"), all, o, "wire",
		    "{from} to {to} {segments#}");
	for (struct json_each e = json_each(o, "wire"); doubtful && json_next(&e);) {
		page_row(p, STYLE_WARN, 2, "wire?", json_get_u64(e.item, "doubtful"), all);
		page_words(p, STYLE_WARN, "wire, or");
		for (struct json_each c = json_each(e.item, "or"); json_next(&c);)
			page_fill(p, STYLE_WARN, c.item,
				  "{stage} of {host}: {ifname} {counter} {packets#},");
		page_end(p);
	}
	page_entry(p, STYLE_PLAIN, 2, "spurious", spurious, all, "%s",
		   spurious ? "it arrived twice" : "");
	page_fill_line(p, 4, STYLE_DIM, "", STYLE_DIM, o,
		       "{?lost_back}{lost_back#segment} of the same flows were lost the other way, "
		       "and with such losses acknowledgments: one host alone takes that for "
		       "reordering");
	page_entry(p, undecided ? STYLE_WARN : STYLE_PLAIN, 2, "undecided", undecided, all, "%s", "");
	if (unjoined)
		page_entry(p, STYLE_WARN, 2, "not joined", unjoined, all, "%s", "");
	for (struct json_each e = json_each(o, "undecided_why"); json_next(&e);)
		page_fill_line(p, 2, STYLE_DIM, "- ", STYLE_DIM, e.item, "{text}");
	for (struct json_each e = json_each(o, "flows"); json_next(&e) && e.next <= FLOWS_PRINTED;)
		print_joined_flow(p, e.item);
}
