// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/trace_ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "monitor/worst.h"
#include "report/json_trace.h"
#include "report/ledgerfile.h"

#define ROWS_MAX     32 /* of an interval: in most there are a few */
#define FLOWS_MAX    16
#define END_ROWS_MAX 256
#define QUIET_NS     60000000000ULL /* what a quiet stretch is long at most */
#define BY_FLOW	     (LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CLASS) | LIVE_BIT(LIVE_FLOW))

const struct opt trace_ledger_opts[] = {
	{"ledger", 0, OPT_STRING, offsetof(struct trace_ledger_options, file), .metavar = "FILE",
	 .default_text = "none",
	 .help = "append intervals to a file, with their worst sockets and flows, for `report`"},
	{"keep", 0, OPT_TIME, offsetof(struct trace_ledger_options, keep_ns),
	 .set_offset = OPT_SET(struct trace_ledger_options, keep_set), .min = 1000000000,
	 .help = "drop intervals from the file when they are older"},
	{0},
};

struct trace_ledger {
	const struct trace_ledger_options *o;
	struct ledgerfile *file;
	unsigned by; /* of the rows */
	bool flows;
	uint64_t quiet_ns;    /* of the stretch that is not written yet */
	struct live_own told; /* own losses, as written last */
	int rc;
};

int trace_ledger_open(struct trace_ledger **out, const struct trace_ledger_options *o,
		      bool by_given, struct live_spec *spec, struct error *err)
{
	struct trace_ledger *t;
	int rc;

	*out = NULL;
	if (!o->file)
		return o->keep_set ? error_set(err, STATUS_USAGE, -EINVAL, "add --ledger FILE",
					       "--keep needs a ledger")
				   : 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	t->o = o;
	if (!by_given) {
		spec->total_by = spec->by;
		spec->by |= LIVE_BIT(LIVE_FLOW);
	}
	t->by = spec->by & ~LIVE_BIT(LIVE_FLOW);
	t->flows = spec->by & LIVE_BIT(LIVE_FLOW);
	rc = ledgerfile_open(&t->file, o->file, err);
	if (!rc)
		rc = ledgerfile_keep(t->file, o->keep_ns, err);
	if (rc) {
		trace_ledger_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

/* Says it once. */
static void written(struct trace_ledger *t, int rc)
{
	if (!rc || t->rc)
		return;
	t->rc = rc;
	log_error("cannot write %s: %s; the trace goes on without it", t->o->file, strerror(-rc));
}

void trace_ledger_start(struct trace_ledger *t, struct json_object *start)
{
	if (t)
		written(t, ledgerfile_start(t->file, "pktledger/trace/1", start));
	json_object_put(start);
}

/* When it was `time_ns` after the start, in CLOCK_REALTIME. */
static uint64_t realtime_of(const struct live *l, uint64_t time_ns)
{
	return when_now() - (ktime_now() - live_started(l) - time_ns);
}

/* What is kept of a table; NULL: no memory. */
static struct json_object *kept(const struct trace_ledger *t, const struct live *l,
				const struct live_table *from, uint64_t time_ns, uint64_t length_ns)
{
	struct live_table rows, flows = {};
	struct json_object *o = NULL;

	if (worst_rows(&rows, from, t->by, 0, ROWS_MAX))
		return NULL;
	if (!t->flows || !worst_rows(&flows, from, BY_FLOW, 1u << NOISE_LOSS, FLOWS_MAX))
		o = json_trace_kept(&rows, t->flows ? &flows : NULL, t->by, realtime_of(l, time_ns),
				    time_ns, length_ns);
	table_free(&flows);
	table_free(&rows);
	return o;
}

static bool same_losses(const struct live_own *a, const struct live_own *b)
{
	return !memcmp(&a->watch.loss, &b->watch.loss, sizeof(a->watch.loss)) &&
	       a->watch.recursion_misses == b->watch.recursion_misses &&
	       a->watch.filter_unread == b->watch.filter_unread && a->rows_merged == b->rows_merged;
}

static void write_interval(struct trace_ledger *t, const struct live *l,
			   const struct live_table *rows, uint64_t time_ns, uint64_t length_ns,
			   const struct live_own *own)
{
	struct json_object *o = kept(t, l, rows, time_ns, length_ns);

	if (own && o) {
		json_put(o, "own_losses", json_trace_losses(own));
		t->told = *own;
	}
	written(t, o ? ledgerfile_interval(t->file, o) : -ENOMEM);
	json_object_put(o);
}

/* The quiet stretch, which ended at `time_ns`. */
static void write_quiet(struct trace_ledger *t, const struct live *l, uint64_t time_ns)
{
	struct live_table none;

	if (!t->quiet_ns || table_init(&none, 1))
		return;
	write_interval(t, l, &none, time_ns, t->quiet_ns, NULL);
	table_free(&none);
	t->quiet_ns = 0;
}

void trace_ledger_interval(struct trace_ledger *t, const struct live *l)
{
	uint64_t length_ns, time_ns = live_time(l, &length_ns);
	const struct live_table *now = live_interval(l);
	struct live_own own;
	bool lossy;

	if (!t || t->rc)
		return;
	live_own(l, &own);
	lossy = !same_losses(&own, &t->told);
	if (!table_sum(now, 0).events && !lossy) {
		t->quiet_ns += length_ns;
		if (t->quiet_ns >= QUIET_NS)
			write_quiet(t, l, time_ns);
		return;
	}
	write_quiet(t, l, time_ns - length_ns);
	write_interval(t, l, now, time_ns, length_ns, lossy ? &own : NULL);
}

void trace_ledger_limit(struct trace_ledger *t, const struct live *l, struct json_object *limit)
{
	struct json_object *copy = NULL;
	char time[32];

	if (!t || t->rc || json_object_deep_copy(limit, &copy, NULL))
		return;
	json_put_u64(copy, "time_ns", live_time(l, NULL));
	json_put_text(copy, "time",
		      json_time(time, sizeof(time), realtime_of(l, live_time(l, NULL))));
	written(t, ledgerfile_event(t->file, "limit", NULL, copy));
	json_object_put(copy);
}

void trace_ledger_end(struct trace_ledger *t, const struct live *l, struct live_summary *s)
{
	const struct live_table *total = s->total;
	struct live_table rows;
	struct json_object *end;

	if (!t || t->rc)
		return;
	write_quiet(t, l, s->duration_ns);
	if (worst_rows(&rows, total, t->by, 0, END_ROWS_MAX))
		return written(t, -ENOMEM);
	s->total = &rows;
	end = json_trace_end(s, t->by);
	written(t, ledgerfile_event(t->file, "end", NULL, end));
	json_object_put(end);
	s->total = total;
	table_free(&rows);
}

bool trace_ledger_close(struct trace_ledger *t)
{
	struct error err = {};
	bool whole;

	if (!t)
		return true;
	written(t, ledgerfile_close(t->file, &err));
	whole = !t->rc;
	free(t);
	return whole;
}
