// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/load_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/clock.h"
#include "report/ledgerline.h"
#include "report/rows.h"
#include "report/series.h"
#include "report/trialset.h"

/* The document that is being read. */
struct reading {
	struct ledgers *l;
	const struct load_spec *spec;
	struct ledgers_file *file;
	struct json_tokener *tokener;
	struct json_object *document; /* NULL: no start has come */
	struct trialset set;	      /* of which it is a trial, if one is open */
	bool told;		      /* the set has told of this trial */
	struct ledgers_document cut;  /* a trial that the set was killed in; json NULL: none */
	struct series *series;
	struct fatesum *fates;
	char command[16];
	bool is_trace;
	uint64_t started_ns, from_ns, to_ns; /* from_ns: of the first interval that is kept */
	uint64_t intervals;		     /* of it, whenever they were */
	uint64_t bad;			     /* lines of the file that were bad before it */
	int rc;
};

static bool in_window(const struct load_spec *spec, uint64_t from_ns, uint64_t to_ns)
{
	return to_ns >= spec->since_ns && from_ns <= spec->until_ns;
}

static struct json_object *covers(const struct series *s, uint64_t from_ns, uint64_t to_ns)
{
	struct json_object *o = json_object_new_object();
	uint64_t count, first, last;
	char time[32];

	count = series_count(s, &first, &last);
	json_put_text(o, "from", json_time(time, sizeof(time), from_ns));
	json_put_text(o, "to", json_time(time, sizeof(time), to_ns));
	json_put_u64(o, "intervals", count);
	json_put_u64(o, "joined", series_joined(s));
	return o;
}

/* All that is known of it is in its own lines. */
static bool is_cut_trial(const struct reading *r)
{
	return r->set.document && !r->told && !json_get(r->document, "end");
}

/* What is in it of the time that was asked for. */
static bool is_wanted(const struct reading *r, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = r->from_ns;
	*to_ns = r->to_ns;
	if (r->spec->number ? r->spec->number != r->file->documents
			    : r->set.document && !is_cut_trial(r))
		return false;
	if (r->is_trace && r->intervals)
		return series_count(r->series, from_ns, to_ns);
	return in_window(r->spec, *from_ns, *to_ns);
}

static int keep_document(struct reading *r, uint64_t from_ns, uint64_t to_ns)
{
	struct ledgers_document d = {
		.json = json_object_get(r->document),
		.path = r->file->path,
		.number = r->file->documents,
		.parts = r->is_trace,
		.from_ns = from_ns,
		.to_ns = to_ns,
	};

	memcpy(d.command, r->command, sizeof(d.command));
	if (load_is_one_end(r->command)) {
		d.fates = r->fates;
		d.damaged = r->file->state.bad != r->bad || r->file->odd ||
			    load_fates_disagree(r->document);
		r->fates = NULL;
	}
	if (!is_cut_trial(r))
		return ledgers_add(r->l, &d);
	json_object_put(r->cut.json);
	r->cut = d;
	return 0;
}

static void note_times(struct ledgers_file *f, uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns > f->to_ns)
		f->to_ns = to_ns;
	if (!f->from_ns || from_ns < f->from_ns)
		f->from_ns = from_ns;
}

/* They can be judged only where no line is lost. */
static void put_fates(struct reading *r)
{
	struct json_object *fates = fatesum_json(r->fates), *end = json_get(r->document, "end");
	bool whole = fates && end && r->file->state.bad == r->bad && !r->file->odd;

	json_put(r->document, "fates", fates);
	json_put(r->document, "fates_agree",
		 whole ? json_object_new_boolean(fatesum_agrees(r->fates, end)) : NULL);
}

/* The next start has come, or the end of the file. */
static void end_document(struct reading *r)
{
	uint64_t from_ns, to_ns;

	if (!r->document)
		return;
	note_times(r->file, r->from_ns, r->to_ns);
	if (r->set.document && r->to_ns > r->set.to_ns)
		r->set.to_ns = r->to_ns;
	if (!r->is_trace)
		put_fates(r);
	json_put(r->document, "intervals", series_intervals(r->series));
	if (!r->rc && is_wanted(r, &from_ns, &to_ns)) {
		json_put(r->document, "covers", covers(r->series, from_ns, to_ns));
		json_put(r->document, "worst", series_worst(r->series));
		if (r->is_trace)
			json_put(r->document, "sum", series_sum(r->series));
		r->rc = keep_document(r, from_ns, to_ns);
	}
	json_object_put(r->document);
	series_free(r->series);
	fatesum_free(r->fates);
	r->document = NULL;
	r->series = NULL;
	r->fates = NULL;
}

static struct json_object *parse(struct reading *r, const char *json, size_t len)
{
	json_tokener_reset(r->tokener);
	return len <= INT32_MAX ? json_tokener_parse_ex(r->tokener, json, (int)len) : NULL;
}

/* The next series has come, or a run that is none of its trials, or the end of the file. */
static void end_set(struct reading *r)
{
	struct trialset *set = &r->set;
	struct ledgers_document d = {
		.json = set->document,
		.path = r->file->path,
		.number = set->number,
		.from_ns = set->from_ns,
		.to_ns = set->to_ns,
	};

	if (!set->document)
		return;
	memcpy(d.command, set->command, sizeof(d.command));
	if (r->rc || !in_window(r->spec, d.from_ns, d.to_ns) ||
	    (r->spec->number && r->spec->number != d.number) ||
	    (r->cut.json && !json_get_length(d.json, "trials")))
		json_object_put(d.json);
	else
		r->rc = ledgers_add(r->l, &d);
	if (r->cut.json && !r->rc)
		r->rc = ledgers_add(r->l, &r->cut);
	else
		json_object_put(r->cut.json);
	r->cut = (struct ledgers_document){};
	*set = (struct trialset){};
}

/* "command" of the schema, and when it was; false: it tells neither. */
static bool begins(struct reading *r, const struct json_object *line, char command[16],
		   uint64_t *started_ns)
{
	struct json_object *start = json_get(line, "data");

	if (load_command(json_get_text(line, "schema"), command) &&
	    json_object_is_type(start, json_type_object) &&
	    !when_date(json_get_text(start, "time"), started_ns))
		return true;
	r->file->odd++;
	return false;
}

static void begin_set(struct reading *r, const struct json_object *line)
{
	struct trialset *set = &r->set;

	end_document(r);
	end_set(r);
	if (r->rc)
		return;
	r->rc = trialset_begin(set, json_get_text(line, "schema"), json_get(line, "data"));
	if (r->rc)
		return;
	if (!begins(r, line, set->command, &set->from_ns)) {
		json_object_put(set->document);
		set->document = NULL;
		return;
	}
	set->to_ns = set->from_ns;
	set->number = ++r->file->documents;
	json_put_text(set->document, "file", r->file->path);
	json_put_u64(set->document, "number", set->number);
	note_times(r->file, set->from_ns, set->to_ns);
}

static void take_trial(struct reading *r, struct json_object *data)
{
	struct json_object *run = json_object_get(r->document);

	r->told = true;
	end_document(r);
	r->told = false;
	if (r->set.document)
		trialset_trial(&r->set, data, run);
	else
		r->file->headless++;
	json_object_put(run);
}

static void begin_document(struct reading *r, struct json_object *line)
{
	const char *schema = json_get_text(line, "schema");
	struct json_object *start = json_get(line, "data");

	end_document(r);
	if (!trialset_owns(&r->set, start))
		end_set(r);
	if (r->rc || !begins(r, line, r->command, &r->started_ns))
		return;
	r->is_trace = !strcmp(r->command, "trace");
	r->from_ns = r->to_ns = r->started_ns;
	r->intervals = 0;
	r->bad = r->file->state.bad;
	r->file->documents++;
	r->document = json_object_new_object();
	r->series = series_new(r->is_trace ? SERIES_PARTS : SERIES_COUNTERS, rows_by(start));
	r->fates = fatesum_new(load_is_one_end(r->command));
	if (!r->document || !r->series || !r->fates) {
		r->rc = -ENOMEM;
		return;
	}
	json_put_text(r->document, "schema", schema);
	json_put_text(r->document, "file", r->file->path);
	json_put_u64(r->document, "number", r->file->documents);
	json_put(r->document, "start", json_object_get(start));
}

/* When an interval began and ended: most are not asked for, so it is not parsed for that. */
static void interval_time(const struct reading *r, const struct ledgerline *peek, uint64_t *from_ns,
			  uint64_t *to_ns)
{
	*to_ns = peek->realtime_ns ? peek->realtime_ns : r->started_ns + peek->time_ns;
	*from_ns = *to_ns > peek->length_ns ? *to_ns - peek->length_ns : 0;
}

static void take_interval(struct reading *r, const struct ledgerline *peek, const char *json,
			  size_t len)
{
	struct json_object *line, *data;
	uint64_t from_ns, to_ns;

	interval_time(r, peek, &from_ns, &to_ns);
	if (to_ns > r->to_ns)
		r->to_ns = to_ns;
	if (r->is_trace && !r->intervals++)
		r->from_ns = from_ns;
	if (r->is_trace && !in_window(r->spec, from_ns, to_ns))
		return;
	line = parse(r, json, len);
	data = json_get(line, "data");
	if (json_object_is_type(data, json_type_object))
		r->rc = series_add(r->series, json_object_get(data), from_ns, to_ns);
	else
		r->file->odd++;
	json_object_put(line);
}

/* When a limit was crossed; those of run are told in the end. */
static bool limit_in_window(const struct reading *r, const struct json_object *data)
{
	uint64_t ns;

	return when_date(json_get_text(data, "time"), &ns) || in_window(r->spec, ns, ns);
}

static void take_limit(struct reading *r, struct json_object *data)
{
	struct json_object *list = json_get(r->document, "limits");

	if (!list) {
		list = json_object_new_array();
		json_put(r->document, "limits", list);
	}
	if (limit_in_window(r, data) && json_object_array_length(list) < LOAD_LIMITS)
		json_object_array_add(list, json_object_get(data));
}

static void take_end(struct reading *r, struct json_object *data)
{
	uint64_t to_ns = r->started_ns + json_get_u64(data, "duration_ns");

	json_put(r->document, "end", json_object_get(data));
	if (to_ns > r->to_ns)
		r->to_ns = to_ns;
}

static void take_event(struct reading *r, const char *json, size_t len)
{
	struct json_object *line = parse(r, json, len), *data = json_get(line, "data");
	const char *event = json_get_text(line, "event");

	if (!strcmp(event, "start"))
		begin_document(r, line);
	else if (!strcmp(event, "series"))
		begin_set(r, line);
	else if (!*event || !json_object_is_type(data, json_type_object))
		r->file->odd++;
	else if (!strcmp(event, "trial"))
		take_trial(r, data);
	else if (!r->document && !r->set.document)
		r->file->headless++;
	else if (!strcmp(event, "series_end") && r->set.document)
		json_put(r->set.document, "end", json_object_get(data));
	else if (!strcmp(event, "error"))
		json_put(r->document ? r->document : r->set.document, "error",
			 json_object_get(data));
	else if (!r->document)
		r->file->odd++;
	else if (!strcmp(event, "end"))
		take_end(r, data);
	else if (!strcmp(event, "limit"))
		take_limit(r, data);
	else if (!strcmp(event, "fate") && fatesum_name(r->fates, data))
		r->file->odd++;
	json_object_put(line); /* events of later versions tell what is not asked for here */
}

static int take_line(void *arg, const char *json, size_t len)
{
	struct reading *r = arg;
	struct ledgerline peek;

	if (!ledgerline_peek(json, len, &peek))
		r->file->odd++;
	else if (peek.kind != LEDGERLINE_INTERVAL && peek.kind != LEDGERLINE_FATES)
		take_event(r, json, len);
	else if (!r->document)
		r->file->headless++;
	else if (peek.kind == LEDGERLINE_INTERVAL)
		take_interval(r, &peek, json, len);
	else
		r->file->odd += fatesum_ranges(r->fates, json, len) != 0;
	return r->rc;
}

int load_lines(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
	       struct error *err)
{
	struct reading r = {.l = l, .spec = spec, .file = file};
	int rc;

	r.tokener = json_tokener_new();
	if (!r.tokener)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	rc = ledgerfile_read(file->path, take_line, &r, &file->state, err);
	end_document(&r);
	end_set(&r);
	json_tokener_free(r.tokener);
	if (!rc)
		rc = r.rc;
	if (!rc && !file->documents)
		return error_set(err, STATUS_FAILED, -ENODATA,
				 file->state.bad      ? "it was cut before its first line was whole"
				 : !file->state.lines ? "it is empty"
						      : NULL,
				 "%s tells of nothing", file->path);
	return rc ? error_set(err, STATUS_FAILED, rc, NULL, "cannot read %s: %s", file->path,
			      strerror(-rc))
		  : 0;
}
