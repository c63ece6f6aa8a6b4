// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/json.h"
#include "base/num.h"
#include "monitor/describe.h"
#include "report/document.h"
#include "report/print.h"
#include "watch_abi.h"

/* The flows of a capture, with what became of their packets. */

struct endflow {
	struct watch_flow flow;
	uint64_t packets, matched, missing;
	uint32_t highest; /* of the packets of A that were found, the last in their order */
};

struct endflows {
	struct endflow *at;
	uint32_t n, room;
	uint32_t *slot; /* hash to number + 1 */
};

#define FLOWS_FIRST 64
#define FLOWS_SHOWN 16

/* FNV-1a */
static uint32_t flow_hash(const struct watch_flow *flow)
{
	const uint8_t *p = (const uint8_t *)flow;
	uint32_t h = 2166136261u;

	for (unsigned i = 0; i < sizeof(*flow); i++)
		h = (h ^ p[i]) * 16777619u;
	return h ^ h >> 15;
}

static uint32_t *flow_slot(const struct endflows *f, const struct watch_flow *flow)
{
	uint32_t mask = f->room * 2 - 1, at = flow_hash(flow) & mask;

	while (f->slot[at] && memcmp(&f->at[f->slot[at] - 1].flow, flow, sizeof(*flow)))
		at = (at + 1) & mask;
	return &f->slot[at];
}

static int flows_grow(struct endflows *f)
{
	uint32_t room = f->room ? f->room * 2 : FLOWS_FIRST;
	struct endflow *at = realloc(f->at, room * sizeof(*at));
	uint32_t *slot;

	if (!at)
		return -ENOMEM;
	f->at = at;
	slot = calloc(room * 2UL, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	free(f->slot);
	f->slot = slot;
	f->room = room;
	for (uint32_t i = 0; i < f->n; i++)
		*flow_slot(f, &at[i].flow) = i + 1;
	return 0;
}

/* Its number, of a new one if need be; -ENOMEM. */
static int endflows_find(struct endflows *f, const struct watch_flow *flow)
{
	uint32_t *slot;

	if (f->n == f->room && flows_grow(f))
		return -ENOMEM;
	slot = flow_slot(f, flow);
	if (!*slot) {
		f->at[f->n] = (struct endflow){.flow = *flow};
		*slot = ++f->n;
	}
	return (int)(*slot - 1);
}

/* The one that misses most, of those that come behind `last`; NULL: none. */
static const struct endflow *next_worst(const struct endflows *f, const struct endflow *last)
{
	const struct endflow *best = NULL;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct endflow *flow = &f->at[i];

		if (!flow->missing || (last && (flow->missing > last->missing ||
						(flow->missing == last->missing && flow <= last))))
			continue;
		if (!best || flow->missing > best->missing)
			best = flow;
	}
	return best;
}

/* Those that miss most packets: [{"flow","packets","matched","missing"}]. */
static struct json_object *endflows_json(const struct endflows *f)
{
	struct json_object *list = json_object_new_array();
	const struct endflow *flow = NULL;

	for (unsigned i = 0; i < FLOWS_SHOWN && (flow = next_worst(f, flow)); i++) {
		struct json_object *o = json_object_new_object();
		char text[FLOW_TEXT];

		json_put_text(o, "flow", describe_flow(&flow->flow, text, sizeof(text)));
		json_put_u64(o, "packets", flow->packets);
		json_put_u64(o, "matched", flow->matched);
		json_put_u64(o, "missing", flow->missing);
		json_object_array_add(list, o);
	}
	return list;
}

/* The packets of one capture, to be found by their key; tens of millions. */

struct endindex_entry {
	uint64_t time_ns;
	uint32_t flow;
	uint32_t next : 31; /* of the same key */
	uint32_t taken : 1;
};

#define ENDINDEX_MAX 0x7ffffffeu

struct endindex {
	struct endindex_entry *entry; /* in the order in which they were added */
	uint32_t n;
	uint64_t ambiguous; /* that share their key with another */
	uint32_t room;
	struct endindex_slot *slot;
	uint32_t slots;
};

enum endindex_found {
	ENDINDEX_NONE,	/* no such key */
	ENDINDEX_AGAIN, /* all of this key are taken */
	ENDINDEX_FOUND, /* the first of this key that was not taken now is, and is *at */
};

#define NONE	      0x7fffffffu
#define PACKETS_FIRST 4096 /* entries to begin with */

/* Chains by key: whatever many packets look the same, one step finds the next. */
struct endindex_slot {
	uint64_t key;
	uint32_t head, tail; /* of those that are not taken; head NONE: all are */
	bool used;
};

static struct endindex_slot *key_slot(const struct endindex *x, uint64_t key)
{
	uint32_t at = (uint32_t)key & (x->slots - 1);

	while (x->slot[at].used && x->slot[at].key != key)
		at = (at + 1) & (x->slots - 1);
	return &x->slot[at];
}

static int index_grow(struct endindex *x)
{
	uint32_t room = x->room ? x->room * 2 : PACKETS_FIRST;
	struct endindex old = *x;
	struct endindex_entry *entry;

	if (x->n >= ENDINDEX_MAX / 2)
		return -EFBIG;
	entry = realloc(x->entry, room * sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	x->entry = entry;
	x->slot = calloc(room * 2UL, sizeof(*x->slot));
	if (!x->slot) {
		x->slot = old.slot;
		return -ENOMEM;
	}
	x->room = room;
	x->slots = room * 2;
	for (uint32_t i = 0; i < old.slots; i++) {
		if (old.slot[i].used)
			*key_slot(x, old.slot[i].key) = old.slot[i];
	}
	free(old.slot);
	return 0;
}

/* -ENOMEM, -EFBIG. */
static int endindex_add(struct endindex *x, uint64_t key, const struct endindex_entry *entry)
{
	struct endindex_slot *slot;
	int rc = x->n == x->room ? index_grow(x) : 0;

	if (rc)
		return rc;
	x->entry[x->n] = *entry;
	x->entry[x->n].next = NONE;
	x->entry[x->n].taken = false;
	slot = key_slot(x, key);
	if (slot->used) {
		x->ambiguous += slot->head == slot->tail ? 2 : 1;
		x->entry[slot->tail].next = x->n;
		slot->tail = x->n;
	} else {
		*slot = (struct endindex_slot){key, x->n, x->n, true};
	}
	x->n++;
	return 0;
}

static enum endindex_found endindex_take(struct endindex *x, uint64_t key, uint32_t *at)
{
	struct endindex_slot *slot = x->slots ? key_slot(x, key) : NULL;

	if (!slot || !slot->used)
		return ENDINDEX_NONE;
	if (slot->head == NONE)
		return ENDINDEX_AGAIN;
	*at = slot->head;
	slot->head = x->entry[*at].next;
	x->entry[*at].taken = true;
	return ENDINDEX_FOUND;
}

/* The comparison */

struct ends {
	const struct ends_spec *spec;
	enum packetid_method method;
	struct packetfilter *filter;
	struct endindex index; /* the packets of A */
	struct endflows flows;
	int64_t *delay; /* of the matched */
	size_t matched, room;
	struct end {
		struct capfile_state state;
		uint64_t compared, cut;
		uint64_t first_ns, last_ns; /* of all packets, whatever the filter says */
	} a, b;
	uint64_t duplicated, reordered, only_b;
	uint64_t missing, outside, gaps, longest;
	bool has_stamps;
};

/* Whether it is compared; counts what cannot be. */
static bool identify(const struct ends *e, struct end *end, const struct capfile_packet *p,
		     struct datagram *d, uint64_t *key)
{
	enum packetid id;

	if (!end->first_ns)
		end->first_ns = p->time_ns;
	if (p->time_ns > end->last_ns)
		end->last_ns = p->time_ns;
	datagram_read(d, p);
	if (!packetfilter_match(e->filter, p, d))
		return false;
	id = packetid_of(e->method, d, key);
	end->cut += id == PACKETID_CUT;
	end->compared += id == PACKETID_KNOWN;
	return id == PACKETID_KNOWN;
}

static int look_for_stamp(void *arg, const struct capfile_packet *p)
{
	struct ends *e = arg;
	struct datagram d;
	uint64_t key;

	datagram_read(&d, p);
	e->has_stamps = packetid_of(PACKETID_STAMP, &d, &key) == PACKETID_KNOWN;
	return e->has_stamps;
}

static int take_a(void *arg, const struct capfile_packet *p)
{
	struct ends *e = arg;
	struct endindex_entry entry = {.time_ns = p->time_ns};
	struct datagram d;
	uint64_t key;
	int flow;

	if (p->time_ns < e->spec->since_ns || p->time_ns > e->spec->until_ns)
		return 0;
	if (!identify(e, &e->a, p, &d, &key))
		return 0;
	flow = endflows_find(&e->flows, &d.flow);
	if (flow < 0)
		return flow;
	entry.flow = (uint32_t)flow;
	e->flows.at[flow].packets++;
	return endindex_add(&e->index, key, &entry);
}

static int note_delay(struct ends *e, int64_t delay)
{
	if (e->matched == e->room) {
		size_t room = e->room ? e->room * 2 : 4096;
		int64_t *more = realloc(e->delay, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		e->delay = more;
		e->room = room;
	}
	e->delay[e->matched++] = delay;
	return 0;
}

static int take_b(void *arg, const struct capfile_packet *p)
{
	struct ends *e = arg;
	struct endflow *flow;
	struct datagram d;
	uint64_t key;
	uint32_t at;

	if (!identify(e, &e->b, p, &d, &key))
		return 0;
	switch (endindex_take(&e->index, key, &at)) {
	case ENDINDEX_NONE:
		e->only_b++;
		return 0;
	case ENDINDEX_AGAIN:
		e->duplicated++;
		return 0;
	case ENDINDEX_FOUND:
		break;
	}
	flow = &e->flows.at[e->index.entry[at].flow];
	if (flow->matched++ && at < flow->highest)
		e->reordered++;
	else
		flow->highest = at;
	return note_delay(e, (int64_t)(p->time_ns - e->index.entry[at].time_ns));
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t quantile(const struct ends *e, double q)
{
	return e->delay[(size_t)((double)(e->matched - 1) * q)];
}

/* B was not there yet, or no more, when it should have come. */
static bool is_outside(const struct ends *e, const struct endindex_entry *entry)
{
	int64_t due = (int64_t)entry->time_ns + (e->matched ? quantile(e, 0.5) : 0);

	return due < (int64_t)e->b.first_ns || due > (int64_t)e->b.last_ns;
}

static void judge_missing(struct ends *e)
{
	uint64_t run = 0;

	for (uint32_t i = 0; i < e->index.n; i++) {
		const struct endindex_entry *entry = &e->index.entry[i];

		if (entry->taken) {
			run = 0;
		} else if (is_outside(e, entry)) {
			e->outside++;
			run = 0;
		} else {
			e->missing++;
			e->flows.at[entry->flow].missing++;
			e->gaps += !run++;
			if (run > e->longest)
				e->longest = run;
		}
	}
}

static struct json_object *end_json(const struct end *end, const char *file)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "file", file);
	json_put_u64(o, "packets", end->state.packets);
	json_put_u64(o, "compared", end->compared);
	json_put_u64(o, "cut", end->cut);
	json_put_u64(o, "dropped_by_capture", end->state.dropped);
	json_put_bool(o, "file_is_cut", end->state.cut);
	return o;
}

static struct json_object *delay_json(const struct ends *e)
{
	static const struct {
		const char *key;
		double q;
	} at[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
	struct json_object *o;

	if (!e->matched)
		return NULL;
	o = json_object_new_object();
	for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		json_put(o, at[i].key, json_object_new_int64(quantile(e, at[i].q)));
	return o;
}

/* NULL: some are less than nothing. */
static struct json_object *delay_histogram(const struct ends *e)
{
	uint64_t quarters[HIST_QUARTERS];
	struct hist *hist = e->matched && quantile(e, 0) >= 0 ? hist_new() : NULL;

	if (!hist)
		return NULL;
	for (size_t i = 0; i < e->matched; i++)
		hist_add(hist, (uint64_t)e->delay[i]);
	hist_quarters(hist, quarters);
	hist_free(hist);
	return json_quarters(quarters);
}

static struct json_object *result(struct ends *e)
{
	struct json_object *o = json_object_new_object(), *unknown = json_object_new_object();
	uint64_t doubt = e->b.state.dropped + e->b.cut; /* of those any may be among the missing */

	if (doubt > e->missing)
		doubt = e->missing;
	json_put_text(o, "method", packetid_name(e->method));
	json_put(o, "a", end_json(&e->a, e->spec->a));
	json_put(o, "b", end_json(&e->b, e->spec->b));
	json_put_u64(o, "matched", e->matched);
	json_put_u64(o, "lost", e->missing - doubt);
	json_put_u64(unknown, "outside", e->outside);
	json_put_u64(unknown, "dropped_or_cut", doubt);
	json_put(o, "unknown", unknown);
	json_put_u64(o, "duplicated", e->duplicated);
	json_put_u64(o, "reordered", e->reordered);
	json_put_u64(o, "only_b", e->only_b);
	json_put_u64(o, "ambiguous", e->index.ambiguous);
	json_put_u64(o, "gaps", e->gaps);
	json_put_u64(o, "longest_gap", e->longest);
	json_put(o, "delay_ns", delay_json(e));
	json_put(o, "delay_histogram", delay_histogram(e));
	json_put(o, "flows", endflows_json(&e->flows));
	return o;
}

static int compare(struct ends *e, struct error *err)
{
	const struct ends_spec *spec = e->spec;
	int rc = packetfilter_new(&e->filter, spec->expr, err);

	e->method = spec->method;
	if (!rc && spec->choose) {
		rc = capfile_read(spec->a, look_for_stamp, e, &e->a.state, err);
		e->method = e->has_stamps ? PACKETID_STAMP : PACKETID_BYTES;
		rc = rc < 0 ? rc : 0;
	}
	if (!rc)
		rc = capfile_read(spec->a, take_a, e, &e->a.state, err);
	if (!rc)
		rc = capfile_read(spec->b, take_b, e, &e->b.state, err);
	if (rc)
		return error_set(err, STATUS_FAILED, rc, NULL, "cannot compare: %s", strerror(-rc));
	if (!e->a.compared)
		return error_set(err, STATUS_FAILED, -ENODATA, "name the sender's capture first",
				 "%s has no packet to be looked for in %s", spec->a, spec->b);
	if (e->matched)
		qsort(e->delay, e->matched, sizeof(*e->delay), by_value);
	judge_missing(e);
	return 0;
}

int ends_compare(const struct ends_spec *spec, struct json_object **out, struct error *err)
{
	struct ends e = {.spec = spec};
	int rc = compare(&e, err);

	*out = rc ? NULL : result(&e);
	packetfilter_free(e.filter);
	free(e.index.entry);
	free(e.index.slot);
	free(e.flows.at);
	free(e.flows.slot);
	free(e.delay);
	return rc;
}

/* Text */

static void put_end(struct page *p, const char *label, const struct json_object *end)
{
	char count[FMT_MAX];

	page_text(p, 0, STYLE_BOLD, label);
	page_words(p, STYLE_PLAIN, "%s:", json_get_text(end, "file"));
	page_words(p, STYLE_PLAIN, "%s packets,",
		   fmt_count(count, sizeof(count), json_get_u64(end, "packets")));
	page_words(p, STYLE_PLAIN, "%s compared",
		   fmt_count(count, sizeof(count), json_get_u64(end, "compared")));
	if (json_get_u64(end, "cut"))
		page_words(p, STYLE_WARN, ", %s cut too short to be known again",
			   fmt_count(count, sizeof(count), json_get_u64(end, "cut")));
	if (json_get_u64(end, "dropped_by_capture"))
		page_words(
			p, STYLE_WARN, ", %s dropped by the capture",
			fmt_count(count, sizeof(count), json_get_u64(end, "dropped_by_capture")));
	if (json_get_bool(end, "file_is_cut"))
		page_words(p, STYLE_WARN, "; the file is cut");
	page_end(p);
}

static void put_row(struct page *p, enum style style, const char *label, uint64_t count,
		    uint64_t whole, const char *note)
{
	page_row(p, style, 0, label, count, whole);
	page_words(p, STYLE_PLAIN, "%s", note);
	page_end(p);
}

static void put_row_if(struct page *p, const char *label, uint64_t count, const char *note)
{
	if (count)
		put_row(p, STYLE_WARN, label, count, 0, note);
}

static void put_lost(struct page *p, const struct json_object *ends, uint64_t whole)
{
	uint64_t lost = json_get_u64(ends, "lost"), gaps = json_get_u64(ends, "gaps");
	char count[FMT_MAX], longest[FMT_MAX];

	page_row(p, lost ? STYLE_BAD : STYLE_PLAIN, 0, "lost", lost, whole);
	if (lost)
		page_words(p, STYLE_PLAIN, "%s gap%s, the longest of %s",
			   fmt_count(count, sizeof(count), gaps), gaps == 1 ? "" : "s",
			   fmt_count(longest, sizeof(longest), json_get_u64(ends, "longest_gap")));
	page_end(p);
}

/* ns that may be less than nothing. */
static char *signed_ns(char *buf, size_t size, int64_t ns)
{
	char text[FMT_MAX];

	snprintf(buf, size, "%s%s", ns < 0 ? "-" : "",
		 fmt_ns(text, sizeof(text), ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns));
	return page_glue(buf);
}

static void put_delay(struct page *p, const struct json_object *delay)
{
	static const char *const keys[] = {"min", "p50", "p90", "p99", "max"};
	const unsigned n = sizeof(keys) / sizeof(keys[0]);
	char text[FMT_MAX + 1];

	if (!delay)
		return;
	page_text(p, 0, STYLE_PLAIN, "delay           ");
	for (unsigned i = 0; i < n; i++)
		page_words(p, STYLE_PLAIN, "%s\v%s%s", keys[i],
			   signed_ns(text, sizeof(text), json_get_i64(delay, keys[i])),
			   i + 1 < n ? "," : "");
	if (json_get_i64(delay, "min") < 0)
		page_words(p, STYLE_WARN, "(the clocks differ, or these went from B to A)");
	page_end(p);
}

static void put_flows(struct page *p, const struct json_object *ends)
{
	for (size_t i = 0; i < json_get_length(ends, "flows"); i++) {
		const struct json_object *flow = json_get_item(ends, "flows", i);

		page_row(p, i ? STYLE_PLAIN : STYLE_BOLD, 0, i ? "" : "missing of",
			 json_get_u64(flow, "missing"), json_get_u64(flow, "packets"));
		page_words(p, STYLE_PLAIN, "%s", json_get_text(flow, "flow"));
		page_end(p);
	}
}

void ends_print(const struct print_view *v, const struct json_object *ends)
{
	static const struct {
		const char *method, *text;
	} how[] = {
		{"stamp", "by the number that pktledger has put into each"},
		{"rtp", "by the numbers of RTP"},
		{"bytes", "by ID, length, ports and the first bytes of each"},
	};
	const struct json_object *unknown = json_get(ends, "unknown");
	uint64_t whole = json_get_u64(json_get(ends, "a"), "compared");
	struct page p = print_page(v, whole);

	put_end(&p, "A ", json_get(ends, "a"));
	put_end(&p, "B ", json_get(ends, "b"));
	p.indent = 0;
	for (unsigned i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		if (!strcmp(how[i].method, json_get_text(ends, "method")))
			page_words(&p, STYLE_PLAIN, "compared %s", how[i].text);
	}
	page_end(&p);
	page_end(&p);
	put_row(&p, STYLE_PLAIN, "in A", whole, 0, "");
	put_lost(&p, ends, whole);
	put_row_if(&p, "unknown", json_get_u64(unknown, "outside"),
		   "B was not there yet, or no more, when they were due");
	put_row_if(&p, "unknown", json_get_u64(unknown, "dropped_or_cut"),
		   "lost, or dropped or cut by the capture of B");
	put_row(&p, STYLE_BOLD, "in A and B", json_get_u64(ends, "matched"), whole, "");
	put_row_if(&p, "duplicated", json_get_u64(ends, "duplicated"), "more often in B than in A");
	put_row_if(&p, "reordered", json_get_u64(ends, "reordered"),
		   "behind a later one of the same flow");
	put_row_if(&p, "in B only", json_get_u64(ends, "only_b"), "");
	put_row_if(&p, "alike", json_get_u64(ends, "ambiguous"),
		   "look the same as another: which of them was lost is not known");
	put_delay(&p, json_get(ends, "delay_ns"));
	put_flows(&p, ends);
}
