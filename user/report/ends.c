// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/hist.h"
#include "report/document.h"
#include "report/endflows.h"
#include "report/endindex.h"
#include "report/packetfilter.h"

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
	endindex_free(&e.index);
	endflows_free(&e.flows);
	free(e.delay);
	return rc;
}
