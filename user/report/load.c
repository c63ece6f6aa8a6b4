// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/load.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/clock.h"
#include "report/html.h"
#include "report/capfile.h"
#include "report/trace.h"
#include "report/ledgerfile.h"
#include "report/series.h"

/* Ours begin with a CRC and an object; so does one that was cut in its first line. */
static bool looks_like_ledger(const char *path)
{
	FILE *f = fopen(path, "re");
	char head[11] = "";
	unsigned crc;
	char brace;
	bool ours;

	if (!f)
		return true; /* whoever reads it says why */
	ours = fread(head, 1, sizeof(head) - 1, f) < 10 ||
	       (strspn(head, "0123456789abcdef") == 8 &&
		sscanf(head, "%8x %c", &crc, &brace) == 2 && brace == '{');
	fclose(f);
	return ours;
}

/* Whether a file can be a ledger, by what it begins with: 0, or STATUS_USAGE. */
static int check_kind(const char *path, struct error *err)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return error_set(err, STATUS_USAGE, -EISDIR, "name the files in it",
				 "%s is a directory", path);
	if (!looks_like_ledger(path))
		return error_set(
			err, STATUS_USAGE, -EINVAL,
			printed_is(path)
				? "report --html PAGE shows what -j has printed"
				: "report reads what --ledger of a command wrote, and captures",
			"%s is no ledger", path);
	return 0;
}

/* "run" of "pktledger/run/1"; false, and nothing: it is no schema of ours. */
static bool command_of(const char *schema, char command[16])
{
	return sscanf(schema, "pktledger/%15[a-z]/1", command) == 1;
}

/* Whether the command sees one end only: send, recv. */
static bool is_one_end(const char *command)
{
	return !strcmp(command, "send") || !strcmp(command, "recv");
}

/* Whether a document says that its fates are not those of its end. */
static bool fates_disagree(const struct json_object *document)
{
	return json_get(document, "fates_agree") && !json_get_bool(document, "fates_agree");
}

#define SCHEMA "pktledger/"

bool printed_is(const char *path)
{
	FILE *f = fopen(path, "re");
	char head[sizeof(HTML_BEGIN)] = "";
	bool is;

	if (!f)
		return false; /* whoever reads it says why */
	is = fread(head, 1, sizeof(head) - 1, f) && (*head == '{' || !strcmp(head, HTML_BEGIN));
	fclose(f);
	return is;
}

static int add_document(struct json_object *list, const char *path, const char *text, size_t len,
			struct error *err)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *doc =
		tokener && len <= INT32_MAX ? json_tokener_parse_ex(tokener, text, (int)len) : NULL;

	json_tokener_free(tokener);
	if (!doc)
		return error_set(err, STATUS_FAILED, -EINVAL, NULL,
				 "%s is cut, or no JSON document", path);
	json_object_array_add(list, doc);
	if (strncmp(json_get_text(doc, "schema"), SCHEMA, strlen(SCHEMA)) ||
	    !json_object_is_type(json_get(doc, "start"), json_type_object))
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "--html takes what -j has printed, what --ledger has kept, and "
				 "its own pages",
				 "%s is not of pktledger", path);
	return 0;
}

/* Each is in an element of its own, in which no other can begin. */
static int add_of_page(struct json_object *list, const char *path, const char *text,
		       struct error *err)
{
	int rc = 0;

	while (!rc && (text = strstr(text, HTML_DOCUMENT))) {
		const char *begin = strchr(text, '>'),
			   *end = begin ? strstr(begin, "</script>") : NULL;

		if (!end)
			return error_set(err, STATUS_FAILED, -EINVAL, NULL, "%s is cut", path);
		rc = add_document(list, path, begin + 1, (size_t)(end - begin - 1), err);
		text = end;
	}
	if (!rc && !json_object_array_length(list))
		rc = error_set(err, STATUS_USAGE, -EINVAL, NULL, "%s is no page of pktledger",
			       path);
	return rc;
}

int printed_load(const char *path, struct json_object **documents, struct error *err)
{
	size_t len;
	char *text;
	int rc = file_read(path, &text, &len);

	*documents = NULL;
	if (rc)
		return error_set(err, STATUS_FAILED, rc, NULL, "cannot read %s: %s", path,
				 strerror(-rc));
	*documents = json_object_new_array();
	rc = *text == '{' ? add_document(*documents, path, text, len, err)
			  : add_of_page(*documents, path, text, err);
	free(text);
	if (rc) {
		json_object_put(*documents);
		*documents = NULL;
	}
	return rc;
}

/* What was sent and received is told apart from what was only watched. */
static int check_kinds(const struct ledgers *l, struct error *err)
{
	const struct ledgers_document *d;
	unsigned n;

	d = ledgers_documents(l, &n);
	for (unsigned i = 1; i < n; i++) {
		/* of one file they stand one below the other */
		if (d[0].path != d[i].path && strcmp(d[0].command, d[i].command))
			return error_set(err, STATUS_USAGE, -EINVAL,
					 "report them apart, or choose by --number",
					 "%s is of %s, and %s of %s", d[0].path, d[0].command,
					 d[i].path, d[i].command);
	}
	return 0;
}

/* The only one of a file. */
static const struct ledgers_document *only(const struct ledgers *l, const char *path,
					   struct error *err)
{
	const struct ledgers_document *d, *found = NULL;
	unsigned n, of_file = 0;

	d = ledgers_documents(l, &n);
	for (unsigned i = 0; i < n; i++) {
		if (d[i].path != path)
			continue;
		found = &d[i];
		of_file++;
	}
	if (of_file != 1) {
		error_set(err, STATUS_USAGE, -EINVAL, "choose one by --number, or by --since",
			  "%s holds %u, and of two files one each is compared", path, of_file);
		return NULL;
	}
	if (!json_get(found->json, "end")) {
		error_set(err, STATUS_FAILED, -ENODATA, "report it alone",
			  "%s has no end that could be compared", path);
		return NULL;
	}
	return found;
}

int choose_pair(const struct ledgers *l, const struct ledgers_document **a,
		const struct ledgers_document **b, struct error *err)
{
	const struct ledgers_document *d;
	const struct ledgers_file *f;
	unsigned documents, files;
	int rc = check_kinds(l, err);

	*a = *b = NULL;
	d = ledgers_documents(l, &documents);
	f = ledgers_files(l, &files);
	if (rc || files < 2 || !documents || d->parts)
		return rc;
	if (files > 2)
		return error_set(err, STATUS_USAGE, -EINVAL, "name two of them",
				 "two ledgers of %s are compared, not %u", d->command, files);
	*a = only(l, f[0].path, err);
	*b = *a ? only(l, f[1].path, err) : NULL;
	return *b ? 0 : -EINVAL;
}

#define INTERVALS_LEAST 4
#define TRIALS_IN_TIME	10

/* `start` is borrowed. 0 or -ENOMEM. */
static int trialset_begin(struct trialset *t, const char *schema, struct json_object *start)
{
	*t = (struct trialset){.document = json_object_new_object()};
	if (!t->document)
		return -ENOMEM;
	json_put_text(t->document, "schema", schema);
	json_put(t->document, "start", json_object_get(start));
	json_put(t->document, "trials", json_object_new_array());
	return 0;
}

/* Whether a run that begins is of it: both have the same command line. */
static bool trialset_owns(const struct trialset *t, const struct json_object *run_start)
{
	return t->document && json_object_equal(json_get(json_get(t->document, "start"), "command"),
						json_get(run_start, "command"));
}

static void copy_members(struct json_object *to, struct json_object *from)
{
	if (!json_object_is_type(from, json_type_object))
		return;
	json_object_object_foreach (from, key, value)
		json_put(to, key, json_object_get(value));
}

/* What happened in a long one, as in a soak; not of many. */
static void keep_intervals(const struct trialset *t, struct json_object *trial,
			   const struct json_object *run)
{
	if (json_get_length(run, "intervals") >= INTERVALS_LEAST &&
	    json_get_length(t->document, "trials") < TRIALS_IN_TIME)
		json_put(trial, "intervals", json_object_get(json_get(run, "intervals")));
}

/*
 * A trial is over: `members` of its own line, and the document of its run, up to now; NULL: it came
 * to none. Both are borrowed.
 */
static void trialset_trial(struct trialset *t, struct json_object *members,
			   const struct json_object *run)
{
	struct json_object *trial = json_object_new_object();

	copy_members(trial, json_get(run, "end"));
	copy_members(trial, members);
	keep_intervals(t, trial, run);
	if (json_get(run, "fates_agree") && !json_get_bool(run, "fates_agree"))
		json_put_bool(t->document, "fates_agree", false);
	json_object_array_add(json_get(t->document, "trials"), trial);
}

bool trialset_is(const struct json_object *document)
{
	const char *schema = json_get_text(document, "schema");

	return !strncmp(schema, "pktledger/sweep/", 16) ||
	       !strncmp(schema, "pktledger/search/", 17);
}

unsigned trialset_columns(const struct json_object *document, const char **name, unsigned max)
{
	const struct json_object *start = json_get(document, "start");
	struct json_object *first = json_get(json_get_item(document, "trials", 0), "parameters");
	unsigned n = 0;

	for (size_t i = 0; i < json_get_length(start, "parameters") && n < max; i++) {
		struct json_object *item = json_get_item(start, "parameters", i);

		if (json_object_is_type(item, json_type_string))
			name[n++] = json_object_get_string(item);
	}
	if (n || !json_object_is_type(first, json_type_object))
		return n;
	json_object_object_foreach (first, key, value) {
		(void)value;
		if (n < max)
			name[n++] = key;
	}
	return n;
}

struct ledgers {
	struct ledgers_file *file;
	unsigned files;
	struct ledgers_document *document;
	unsigned documents;
};

/* Takes its JSON and fates, also when it fails. -ENOMEM. */
static int keep(struct ledgers *l, const struct ledgers_document *d)
{
	struct ledgers_document *more;

	more = realloc(l->document, (l->documents + 1) * sizeof(*more));
	if (!more) {
		json_object_put(d->json);
		fatesum_free(d->fates);
		return -ENOMEM;
	}
	l->document = more;
	more[l->documents++] = *d;
	return 0;
}

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
	if (is_one_end(r->command)) {
		d.fates = r->fates;
		d.damaged =
			r->file->state.bad != r->bad || r->file->odd || fates_disagree(r->document);
		r->fates = NULL;
	}
	if (!is_cut_trial(r))
		return keep(r->l, &d);
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
		r->rc = keep(r->l, &d);
	if (r->cut.json && !r->rc)
		r->rc = keep(r->l, &r->cut);
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

	if (command_of(json_get_text(line, "schema"), command) &&
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
	r->fates = fatesum_new(is_one_end(r->command));
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

/*
 * Adds what the lines of a ledger tell: its documents within `spec`, and in `file` all that is
 * known of the file but its path, which is there. STATUS_FAILED: it cannot be read, or has none.
 */
static int read_lines(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
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

static int read_capture(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
			struct error *err)
{
	struct ledgers_document d;
	int rc = lostcap_read(file->path, spec, &d, file, err);

	if (!rc && d.json && keep(l, &d))
		rc = error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	return rc;
}

/* Documents that another has put together already. */
static int read_printed(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
			struct error *err)
{
	struct json_object *list;
	int rc = printed_load(file->path, &list, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < json_object_array_length(list) && !rc; i++) {
		struct ledgers_document d = {
			.json = json_object_array_get_idx(list, i),
			.path = file->path,
			.number = ++file->documents,
		};

		if (spec->number && spec->number != d.number)
			continue;
		command_of(json_get_text(d.json, "schema"), d.command);
		when_date(json_get_text(json_get(d.json, "start"), "time"), &d.from_ns);
		d.to_ns = d.from_ns;
		d.damaged = is_one_end(d.command) && fates_disagree(d.json);
		json_object_get(d.json);
		rc = keep(l, &d);
	}
	json_object_put(list);
	return rc ? error_set(err, STATUS_FAILED, rc, NULL, "out of memory") : 0;
}

static int read_file(struct ledgers *l, const struct load_spec *spec, const char *path,
		     struct error *err)
{
	struct ledgers_file *file = &l->file[l->files++];
	int rc;

	file->path = path;
	if (capfile_is(path))
		return read_capture(l, spec, file, err);
	if (spec->printed && printed_is(path))
		return read_printed(l, spec, file, err);
	rc = check_kind(path, err);
	return rc ? rc : read_lines(l, spec, file, err);
}

static void forget_documents(struct ledgers *l)
{
	for (unsigned i = 0; i < l->documents; i++) {
		json_object_put(l->document[i].json);
		fatesum_free(l->document[i].fates);
	}
	l->documents = 0;
}

int ledgers_replace(struct ledgers *l, const struct ledgers_document *docs, unsigned n)
{
	int rc = 0;

	forget_documents(l);
	for (unsigned i = 0; i < n && !rc; i++)
		rc = keep(l, &docs[i]);
	return rc;
}

int ledgers_load(struct ledgers **out, const struct load_spec *spec, struct error *err)
{
	struct ledgers *l = calloc(1, sizeof(*l));
	int rc = 0;

	*out = NULL;
	if (l)
		l->file = calloc(spec->n + 1, sizeof(*l->file));
	if (!l || !l->file)
		rc = error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	for (unsigned i = 0; i < spec->n && !rc; i++)
		rc = read_file(l, spec, spec->path[i], err);
	if (rc)
		ledgers_free(l);
	else
		*out = l;
	return rc;
}

void ledgers_free(struct ledgers *l)
{
	if (!l)
		return;
	forget_documents(l);
	free(l->document);
	free(l->file);
	free(l);
}

const struct ledgers_document *ledgers_documents(const struct ledgers *l, unsigned *n)
{
	*n = l->documents;
	return l->document;
}

const struct ledgers_file *ledgers_files(const struct ledgers *l, unsigned *n)
{
	*n = l->files;
	return l->file;
}
