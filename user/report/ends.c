// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/capfile.h"

#include <errno.h>
#include <pcap/dlt.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/json.h"
#include "base/list.h"
#include "base/mem.h"
#include "drops/filter.h"
#include "monitor/describe.h"
#include "report/document.h"
#include "report/print.h"
#include "watch_abi.h"

#define FLOWS_SHOWN 16

struct endflow {
	struct watch_flow flow;
	uint64_t packets, matched, missing;
	uint32_t highest; /* highest position in A of any packet matched so far */
};

/* Kept small, because there may be tens of millions. */
struct packet {
	uint64_t key, time_ns;
	struct endflow *flow; /* for a packet in B, its match's flow, or NULL */
	uint32_t at;	      /* position in its capture */
	uint32_t match;	      /* position of its match in A; in A, nonzero if matched */
};

struct end {
	const char *file;
	struct capfile_state state;
	uint64_t compared, cut;
	uint64_t first_ns, last_ns; /* ns, time range of all packets, ignoring the filter */
	struct list packet;	    /* struct packet */
};

struct ends {
	const struct ends_spec *spec;
	enum packetid_method method;
	const char *method_name;
	struct filter *filter; /* NULL: use all packets */
	void *flows;	       /* tree of struct endflow for tsearch() */
	struct list flow;      /* the same flows, struct endflow * */
	struct list delay;     /* int64_t ns, latency of each matched packet */
	struct end a, b, *now; /* now: the capture being read */
	uint64_t matched, duplicated, reordered, only_b;
	uint64_t ambiguous; /* packets that share their key with another packet */
	uint64_t missing, lost, doubt, outside, gaps, longest;
	bool has_stamps;
	bool timed;
	int64_t latency[5]; /* ns, quantiles */
};

static int by_flow(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct watch_flow));
}

/* Returns the packet's flow, adding it if it is new. */
static struct endflow *find_flow(struct ends *e, const struct watch_flow *flow)
{
	struct endflow *const *node = tfind(flow, &e->flows, by_flow);
	struct endflow *added;

	if (node)
		return *node;
	added = mem_new(added);
	added->flow = *flow;
	*(struct endflow **)list_add(&e->flow) = added;
	mem_need(tsearch(added, &e->flows, by_flow));
	return added;
}

/*
 * Returns true if the packet matches the filter. A packet without an Ethernet header is filtered
 * from its IP header.
 */
static bool is_selected(const struct filter *f, const struct capfile_packet *p,
			const struct datagram *d)
{
	if (!f)
		return true;
	if (p->link == DLT_EN10MB)
		return filter_match_user(f, FILTER_L2, p->bytes, p->len, p->wire_len);
	return d->flow.family &&
	       filter_match_user(f, FILTER_L3, d->ip, d->ip_len, d->ip_wire_len);
}

/* Returns true if the packet can be compared. Otherwise counts the reason. */
static bool identify(const struct ends *e, struct end *end, const struct capfile_packet *p,
		     struct datagram *d, uint64_t *key)
{
	enum packetid id;

	if (!end->first_ns)
		end->first_ns = p->time_ns;
	end->last_ns = larger(end->last_ns, p->time_ns);
	datagram_read(d, p);
	if (!is_selected(e->filter, p, d))
		return false;
	id = packetid_of(e->method, d, key);
	end->cut += id == PACKETID_CUT;
	end->compared += id == PACKETID_KNOWN;
	return id == PACKETID_KNOWN;
}

static int check_for_stamp(void *arg, const struct capfile_packet *p)
{
	struct ends *e = arg;
	struct datagram d;
	uint64_t key;

	datagram_read(&d, p);
	e->has_stamps = packetid_of(PACKETID_STAMP, &d, &key) == PACKETID_KNOWN;
	return e->has_stamps;
}

static int take(void *arg, const struct capfile_packet *p)
{
	struct ends *e = arg;
	const bool is_a = e->now == &e->a;
	struct packet *added;
	struct datagram d;
	uint64_t key;

	if ((is_a && (p->time_ns < e->spec->since_ns || p->time_ns > e->spec->until_ns)) ||
	    !identify(e, e->now, p, &d, &key))
		return 0;
	added = e->now->packet.n < UINT32_MAX ? list_ask(&e->now->packet) : NULL;
	if (!added)
		return -ENOMEM;
	*added = (struct packet){.key = key, .time_ns = p->time_ns, .at = e->now->packet.n};
	if (!is_a)
		return 0;
	added->flow = find_flow(e, &d.flow);
	added->flow->packets++;
	return 0;
}

static int by_position(const void *a, const void *b)
{
	const struct packet *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int by_key(const void *a, const void *b)
{
	const struct packet *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : by_position(a, b);
}

static void sort(struct list *l, int (*by)(const void *, const void *))
{
	if (l->n)
		qsort(l->at, l->n, l->size, by);
}

/* Matches each packet in B with the first unmatched packet in A that has the same key. */
static int match(struct ends *e)
{
	struct packet *a = e->a.packet.at, *end_a = a + e->a.packet.n;
	struct packet *b = e->b.packet.at, *end_b = b + e->b.packet.n, *at = a;

	sort(&e->a.packet, by_key);
	sort(&e->b.packet, by_key);
	for (const struct packet *p = a; p < end_a; p++)
		e->ambiguous += (p > a && p[-1].key == p->key) ||
				(p + 1 < end_a && p[1].key == p->key);
	for (struct packet *p = b; p < end_b; p++) {
		int64_t *delay;

		while (at < end_a && at->key < p->key)
			at++;
		if (at == end_a || at->key != p->key) {
			if (at > a && at[-1].key == p->key)
				e->duplicated++;
			else
				e->only_b++;
			continue;
		}
		delay = list_ask(&e->delay);
		if (!delay)
			return -ENOMEM;
		*delay = (int64_t)(p->time_ns - at->time_ns);
		p->flow = at->flow;
		p->match = at->at;
		at++->match = p->at;
		e->matched++;
	}
	sort(&e->a.packet, by_position);
	sort(&e->b.packet, by_position);
	for (const struct packet *p = b; p < end_b; p++) {
		if (p->flow && p->flow->matched++ && p->match < p->flow->highest)
			e->reordered++;
		else if (p->flow)
			p->flow->highest = p->match;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t quantile(const struct ends *e, double q)
{
	return ((int64_t *)e->delay.at)[(size_t)((double)(e->matched - 1) * q)];
}

static void judge_missing(struct ends *e)
{
	int64_t median = e->matched ? quantile(e, 0.5) : 0;
	uint64_t run = 0;

	for (uint32_t i = 0; i < e->a.packet.n; i++) {
		const struct packet *p = (struct packet *)e->a.packet.at + i;
		int64_t due = (int64_t)p->time_ns + median;

		if (p->match) {
			run = 0;
		} else if (due < (int64_t)e->b.first_ns || due > (int64_t)e->b.last_ns) {
			/*
			 * capture B had not started or had already ended when the packet should
			 * have arrived
			 */
			e->outside++;
			run = 0;
		} else {
			e->missing++;
			p->flow->missing++;
			e->gaps += !run++;
			e->longest = larger(e->longest, run);
		}
	}
	/* any of these packets may be among the missing packets */
	e->doubt = e->b.state.dropped + e->b.cut;
	e->doubt = smaller(e->doubt, e->missing);
	e->lost = e->missing - e->doubt;
}

static const struct record_field end_rows[] = {
	RECORD("file", POINTER, end, file),
	RECORD("packets", UINT, end, state.packets),
	RECORD("compared", UINT, end, compared),
	RECORD("cut", UINT, end, cut),
	RECORD("dropped_by_capture", UINT, end, state.dropped),
	RECORD("file_is_cut", BOOL, end, state.cut),
	{0},
};

static const struct record_field unknown_rows[] = {
	RECORD("outside", UINT, ends, outside),
	RECORD("dropped_or_cut", UINT, ends, doubt),
	{0},
};

static const struct record_field latency_rows[] = {
	RECORD("min", INT, ends, latency[0]), RECORD("p50", INT, ends, latency[1]),
	RECORD("p90", INT, ends, latency[2]), RECORD("p99", INT, ends, latency[3]),
	RECORD("max", INT, ends, latency[4]), {0},
};
static const double quantiles[] = {0, 0.5, 0.9, 0.99, 1};

/* Returns the latency histogram, or NULL if any latency is negative. */
static struct json_object *delay_histogram(const void *at)
{
	const struct ends *e = at;
	uint64_t quarters[HIST_QUARTERS];
	struct hist *hist;

	if (!e->matched || quantile(e, 0) < 0)
		return NULL;
	hist = mem_new(hist);
	for (size_t i = 0; i < e->matched; i++)
		hist_add(hist, (uint64_t)((int64_t *)e->delay.at)[i]);
	hist_quarters(hist, quarters);
	free(hist);
	return json_quarters(quarters);
}

static int by_missing(const void *a, const void *b)
{
	const struct endflow *x = *(struct endflow *const *)a, *y = *(struct endflow *const *)b;

	if (x->missing != y->missing)
		return x->missing < y->missing ? 1 : -1;
	return by_flow(x, y);
}

/* Returns the flows that miss the most packets: [{"flow","packets","matched","missing"}]. */
static struct json_object *flows_json(const void *at)
{
	const struct ends *e = at;
	struct json_object *list = json_object_new_array();
	struct endflow *const *sorted = e->flow.at;
	char text[FLOW_TEXT];

	qsort(e->flow.at, e->flow.n, e->flow.size, by_missing);
	for (unsigned i = 0; i < FLOWS_SHOWN && i < e->flow.n && sorted[i]->missing; i++) {
		struct json_object *o = json_add_object(list);

		json_put_text(o, "flow", describe_flow(&sorted[i]->flow, text, sizeof(text)));
		json_put_u64(o, "packets", sorted[i]->packets);
		json_put_u64(o, "matched", sorted[i]->matched);
		json_put_u64(o, "missing", sorted[i]->missing);
	}
	return list;
}

static const struct record_field ends_rows[] = {
	RECORD("method", POINTER, ends, method_name),
	RECORD("a", NESTED, ends, a, .rows = end_rows),
	RECORD("b", NESTED, ends, b, .rows = end_rows),
	RECORD("matched", UINT, ends, matched),
	RECORD("lost", UINT, ends, lost),
	RECORD_PART("unknown", unknown_rows),
	RECORD("duplicated", UINT, ends, duplicated),
	RECORD("reordered", UINT, ends, reordered),
	RECORD("only_b", UINT, ends, only_b),
	RECORD("ambiguous", UINT, ends, ambiguous),
	RECORD("bursts", UINT, ends, gaps),
	RECORD("longest_burst", UINT, ends, longest),
	RECORD_PART("latency_ns", latency_rows, RECORD_WHEN(ends, timed)),
	RECORD_BY("latency_histogram", delay_histogram, NULL),
	RECORD_BY("flows", flows_json, NULL),
	{0},
};

static int compare(struct ends *e, struct error *err)
{
	const struct ends_spec *spec = e->spec;
	int rc = spec->expr && *spec->expr ? filter_compile(&e->filter, spec->expr, err) : 0;

	if (!rc && spec->choose) {
		rc = capfile_read(spec->a, check_for_stamp, e, &e->a.state, err);
		e->method = e->has_stamps ? PACKETID_STAMP : PACKETID_BYTES;
		rc = rc < 0 ? rc : 0;
	}
	e->now = &e->a;
	if (!rc)
		rc = capfile_read(spec->a, take, e, &e->a.state, err);
	e->now = &e->b;
	if (!rc)
		rc = capfile_read(spec->b, take, e, &e->b.state, err);
	rc = rc ? rc : match(e);
	if (rc)
		return error_errno(err, STATUS_FAILED, rc, NULL, "cannot compare");
	if (!e->a.compared)
		return error_set(err, STATUS_FAILED, -ENODATA, "name the sender's capture first",
				 "%s has no packet to be looked for in %s", spec->a, spec->b);
	sort(&e->delay, by_value);
	e->timed = e->matched;
	for (unsigned i = 0; e->timed && i < LENGTH(quantiles); i++)
		e->latency[i] = quantile(e, quantiles[i]);
	judge_missing(e);
	e->method_name = packetid_names[e->method];
	return 0;
}

int ends_compare(const struct ends_spec *spec, struct json_object **out, struct error *err)
{
	struct ends e = {
		.spec = spec,
		.method = spec->method,
		.a.file = spec->a,
		.b.file = spec->b,
		.a.packet.size = sizeof(struct packet),
		.b.packet.size = sizeof(struct packet),
		.flow.size = sizeof(struct endflow *),
		.delay.size = sizeof(int64_t),
	};
	int rc = compare(&e, err);

	*out = rc ? NULL : record_write(ends_rows, &e);
	filter_free(e.filter);
	tdestroy(e.flows, free);
	list_free(&e.a.packet);
	list_free(&e.b.packet);
	list_free(&e.flow);
	list_free(&e.delay);
	return rc;
}

/* Text */

static void put_end(struct page *p, const char *label, const struct end *end)
{
	page_text(p, 0, STYLE_BOLD, label);
	page_words(p, STYLE_PLAIN, "%s: %s, %s compared", end->file ? end->file : "",
		   page_many(end->state.packets, "packet"), fmt_count(end->compared));
	if (end->cut)
		page_words(p, STYLE_WARN, ", %s cut too short to be matched", fmt_count(end->cut));
	if (end->state.dropped)
		page_words(p, STYLE_WARN, ", %s dropped by the capture",
			   fmt_count(end->state.dropped));
	if (end->state.cut)
		page_words(p, STYLE_WARN, "; the file is cut");
	page_end(p);
}

static void put_delay(struct page *p, const struct ends *e)
{
	page_text(p, 0, STYLE_PLAIN, "latency         ");
	for (unsigned i = 0; i < LENGTH(quantiles); i++) {
		const int64_t ns = e->latency[i];

		page_words(p, STYLE_PLAIN, "%s\v%s%s%s", latency_rows[i].key, ns < 0 ? "-" : "",
			   page_ns(ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns),
			   i + 1 < LENGTH(quantiles) ? "," : "");
	}
	if (e->latency[0] < 0)
		page_words(p, STYLE_WARN, "(the clocks differ, or these went from B to A)");
	page_end(p);
}

static void put_count(struct page *p, const char *label, uint64_t n, const char *text)
{
	if (n)
		page_entry(p, STYLE_WARN, 0, label, n, 0, "%s", text);
}

void ends_print(const struct print_view *v, const struct json_object *ends)
{
	static const char *const how[][2] = {
		{"header", "by the number that pktledger has put into each"},
		{"rtp", "by the numbers of RTP"},
		{"bytes", "by ID, length, ports and the first bytes of each"},
	};
	struct page p;
	struct ends e;
	uint64_t whole;

	record_read(ends, ends_rows, &e);
	whole = e.a.compared;
	p = print_page(v, whole);
	put_end(&p, "A ", &e.a);
	put_end(&p, "B ", &e.b);
	p.indent = 0;
	for (unsigned i = 0; i < LENGTH(how); i++) {
		if (e.method_name && !strcmp(how[i][0], e.method_name))
			page_words(&p, STYLE_PLAIN, "compared %s", how[i][1]);
	}
	page_end(&p);
	page_end(&p);
	page_entry(&p, STYLE_PLAIN, 0, "in A", whole, 0, "%s", "");
	page_row(&p, e.lost ? STYLE_BAD : STYLE_PLAIN, 0, "lost", e.lost, whole);
	if (e.lost)
		page_words(&p, STYLE_PLAIN, "%s, the longest of %s", page_many(e.gaps, "burst"),
			   fmt_count(e.longest));
	page_end(&p);
	put_count(&p, "unknown", e.outside, "B was not capturing yet, or no longer, when they "
					    "should have arrived");
	put_count(&p, "unknown", e.doubt, "lost, or dropped or cut by the capture of B");
	page_entry(&p, STYLE_BOLD, 0, "in A and B", e.matched, whole, "%s", "");
	put_count(&p, "duplicated", e.duplicated, "more often in B than in A");
	put_count(&p, "reordered", e.reordered, "after a later packet of the same flow");
	put_count(&p, "in B only", e.only_b, "");
	put_count(&p, "alike", e.ambiguous,
		  "look the same as another packet: which of them was lost is not known");
	if (e.timed)
		put_delay(&p, &e);
	for (struct json_each flow = json_each(ends, "flows"); json_next(&flow);) {
		const bool first = flow.next == 1;

		page_entry(&p, first ? STYLE_BOLD : STYLE_PLAIN, 0, first ? "missing of" : "",
			   json_get_u64(flow.item, "missing"), json_get_u64(flow.item, "packets"),
			   "%s", json_get_text(flow.item, "flow"));
	}
}
