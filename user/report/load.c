// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/load.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/list.h"
#include "base/mem.h"
#include "report/capfile.h"
#include "report/json.h"
#include "report/print.h"
#include "report/series.h"
#include "stamp.h"

#define INTERVALS_LEAST 4 /* minimum number of intervals for a trial to get a history */
#define TRIALS_IN_TIME	10

/* Sums the outcomes of sequence numbers, line by line. */

struct named_outcome {
	struct json_object *data; /* data from its line */
	enum outcome outcome;
	uint64_t packets, ranges, longest;
};

struct outcome_sum {
	struct list outcome; /* struct named_outcome */
	bool keep;
	struct list range; /* struct range */
};

static struct named_outcome *outcome_at(const struct outcome_sum *f, unsigned i)
{
	return (struct named_outcome *)f->outcome.at + i;
}

struct outcome_sum *outcome_sum_new(bool keep)
{
	struct outcome_sum *f = mem_new(f);

	f->keep = keep;
	f->outcome.size = sizeof(struct named_outcome);
	f->range.size = sizeof(struct range);
	return f;
}

void outcome_sum_free(struct outcome_sum *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->outcome.n; i++)
		json_object_put(outcome_at(f, i)->data);
	list_free(&f->outcome);
	list_free(&f->range);
	free(f);
}

/* Returns the outcome that a line names. "unaccounted" and "unknown" count as open. */
static enum outcome outcome_named(const struct json_object *data)
{
	static const struct {
		const char *name;
		enum outcome outcome;
	} known[] = {
		{"refused", OUTCOME_REFUSED}, {"skipped", OUTCOME_GAP},
		{"left", OUTCOME_SEEN},	      {"came", OUTCOME_SEEN},
		{"dropped", OUTCOME_DROPPED}, {"delivered", OUTCOME_DELIVERED},
	};
	const char *name = json_get_text(data, "outcome");

	if (json_get_bool(data, "given_up"))
		return OUTCOME_GIVEN_UP;
	for (unsigned i = 0; i < LENGTH(known); i++) {
		if (!strcmp(known[i].name, name))
			return known[i].outcome;
	}
	return OUTCOME_OPEN;
}

int outcome_sum_name(struct outcome_sum *f, struct json_object *data)
{
	struct named_outcome *more;

	if (json_get_u64(data, "id") != f->outcome.n || f->outcome.n > UINT16_MAX ||
	    !*json_get_text(data, "outcome"))
		return -EINVAL;
	more = list_add(&f->outcome);
	more->data = json_object_get(data);
	more->outcome = outcome_named(data);
	return 0;
}

static bool read_number(const char **p, const char *end, uint64_t *value)
{
	const char *start = *p;

	for (*value = 0; *p < end && **p >= '0' && **p <= '9'; ++*p) {
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(**p - '0'), value))
			return false;
	}
	return *p > start;
}

static bool read_char(const char **p, const char *end, char c)
{
	return *p < end && *(*p)++ == c;
}

/* Parses [first,last,id]. */
static bool read_range(const char **p, const char *end, uint64_t v[3])
{
	for (int i = 0; i < 3; i++) {
		if (!read_char(p, end, i ? ',' : '[') || !read_number(p, end, &v[i]))
			return false;
	}
	return read_char(p, end, ']');
}

static bool stamp_holds(uint64_t stream, uint64_t number)
{
	return stream <= UINT16_MAX && number <= STAMP_NUMBER_MASK;
}

static int add(struct outcome_sum *f, uint64_t stream, const uint64_t v[3])
{
	uint64_t packets = v[1] - v[0] + 1;
	struct range *range;
	struct named_outcome *o;

	if (v[0] > v[1] || !stamp_holds(stream, v[1]) || v[2] >= f->outcome.n)
		return -EINVAL;
	o = outcome_at(f, (unsigned)v[2]);
	o->packets += packets;
	o->ranges++;
	o->longest = larger(o->longest, packets);
	if (f->keep) {
		range = list_ask(&f->range);
		if (!range)
			return -ENOMEM;
		*range = (struct range){v[0], v[1], (uint16_t)stream, (uint16_t)v[2], o->outcome};
	}
	return 0;
}

/* Returns the text after a key, or NULL if the key is missing. */
static const char *behind(const char *json, size_t len, const char *key)
{
	const char *p = memmem(json, len, key, strlen(key));

	return p ? p + strlen(key) : NULL;
}

/*
 * Parses the ranges by hand: there are millions of them, and a JSON parser would take ten times as
 * long.
 */
int outcome_sum_ranges(struct outcome_sum *f, const char *json, size_t len)
{
	const char *end = json + len, *p = behind(json, len, "\"ranges\":["), *number;
	uint64_t stream = 0, v[3];
	int rc = 0;

	if (!p)
		return -EINVAL;
	number = behind(json, (size_t)(p - json), "\"stream\":");
	if (number)
		read_number(&number, p, &stream);
	while (!rc && p < end && *p != ']') {
		if (*p == ',')
			p++;
		rc = read_range(&p, end, v) ? add(f, stream, v) : -EINVAL;
	}
	return rc;
}

/*
 * Returns a list of {"outcome","stage",..,"packets","ranges","longest"}: number of packets, number
 * of runs of adjacent numbers, and the longest run. NULL: the ledger has no outcomes. The caller
 * owns the list.
 */
static struct json_object *outcome_sum_json(const struct outcome_sum *f)
{
	struct json_object *list = f->outcome.n ? json_object_new_array() : NULL;

	for (unsigned i = 0; i < f->outcome.n; i++) {
		const struct named_outcome *outcome = outcome_at(f, i);
		struct json_object *o = NULL;

		if (json_object_deep_copy(outcome->data, &o, NULL))
			continue;
		json_object_object_del(o, "id");
		json_put_u64(o, "packets", outcome->packets);
		json_put_u64(o, "ranges", outcome->ranges);
		json_put_u64(o, "longest", outcome->longest);
		json_object_array_add(list, o);
	}
	return list;
}

static uint64_t packets_of(const struct outcome_sum *f, const char *outcome)
{
	uint64_t packets = 0;

	for (unsigned i = 0; i < f->outcome.n; i++) {
		if (!strcmp(json_get_text(outcome_at(f, i)->data, "outcome"), outcome))
			packets += outcome_at(f, i)->packets;
	}
	return packets;
}

static int by_number(const void *va, const void *vb)
{
	const struct range *a = va, *b = vb;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

const struct range *outcome_sum_ranges_kept(struct outcome_sum *f, size_t *n)
{
	if (f->range.n)
		qsort(f->range.at, f->range.n, f->range.size, by_number);
	*n = f->range.n;
	return f->range.at;
}

const struct json_object *outcome_sum_at(const struct outcome_sum *f, unsigned outcome)
{
	return outcome < f->outcome.n ? outcome_at(f, outcome)->data : NULL;
}

/*
 * Returns true if the outcomes add up to the totals in `end`, for any command: the numbers
 * delivered, refused, and not delivered all match. Losses known only from a counter have no
 * outcome.
 */
static bool outcome_sum_agrees(const struct outcome_sum *f, const struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent"), dropped = json_get_u64(end, "dropped");
	uint64_t not_delivered = packets_of(f, "dropped") + packets_of(f, "unaccounted");
	bool delivered = packets_of(f, "delivered") == json_get_u64(end, "delivered");
	bool refused = packets_of(f, "refused") == json_get_u64(end, "refused");

	if (!json_get(end, "sent")) /* recv */
		return delivered;
	if (!json_get(end, "unaccounted")) /* send */
		return refused && packets_of(f, "dropped") == dropped &&
		       not_delivered + packets_of(f, "left") == sent;
	return delivered && refused &&
	       not_delivered ==
		       dropped + json_get_u64(end, "in_flight") + json_get_u64(end, "unaccounted");
}

/* Files and documents. */

/*
 * Checks the file's first bytes. Returns 1 if it looks like printed documents, from -j or in a
 * page, 0 if it may be a ledger, otherwise STATUS_USAGE. If the file cannot be read, the error is
 * left to its reader.
 */
static int check_kind(const char *path, struct error *err)
{
	char head[sizeof(HTML_BEGIN)] = "", brace;
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(head, 1, sizeof(head) - 1, f) : 0;
	unsigned crc;

	if (f)
		fclose(f);
	if (*head == '{' || !strcmp(head, HTML_BEGIN))
		return 1;
	/* a ledger starts with a CRC and an object, even if its first line is truncated */
	if (strspn(head, "0123456789abcdef") == smaller(n, 8) &&
	    (n < 10 || (sscanf(head, "%8x %c", &crc, &brace) == 2 && brace == '{')))
		return 0;
	return error_usage(err,
			   "report reads --ledger files, -j output and captures",
			   "%s is not a ledger file", path);
}

/*
 * Extracts "run" from "pktledger/run/1". Returns false for another program's schema or another
 * version.
 */
static bool command_of(const char *schema, char command[16])
{
	int end = 0;

	return sscanf(schema, "pktledger/%15[a-z]/1%n", command, &end) == 1 && end && !schema[end];
}

/* Returns true if the command observes only one end: send, recv. */
static bool is_one_end(const char *command)
{
	return !strcmp(command, "send") || !strcmp(command, "recv");
}

static void forget(struct ledgers_document *d)
{
	json_object_put(d->json);
	outcome_sum_free(d->outcomes);
	*d = (struct ledgers_document){};
}

/*
 * Returns true if the packets in the end of a run or of a trial add up. Missing members are zero.
 * `send` does not know the outcomes of the packets that left its host.
 */
static bool adds_up(const struct json_object *end, bool outcomes)
{
	const uint64_t sent = json_get_u64(end, "sent"), dropped = json_get_u64(end, "dropped");
	const uint64_t open = json_get_u64(end, "in_flight") + json_get_u64(end, "unaccounted");
	uint64_t by_stage = 0;

	for (struct json_each stage = json_each(end, "stages"); json_next(&stage);)
		by_stage += json_get_u64(stage.item, "packets");
	if (json_get_u64(end, "attempted") != json_get_u64(end, "refused") + sent ||
	    dropped != by_stage)
		return false;
	return !outcomes ||
	       (sent == json_get_u64(end, "delivered") + dropped + open &&
		!(json_get_bool(end, "balanced") && (open || json_get_u64(end, "impossible"))));
}

/* Returns true if the packets in the end of a trace add up. Without --balance all are zero. */
static bool balance_adds_up(const struct json_object *end)
{
	const uint64_t unaccounted = (uint64_t)json_get_i64(end, "unaccounted");
	const uint64_t ended = json_get_u64(end, "delivered") +
			       json_get_u64(json_get(end, "probes"), "dropped") +
			       json_get_u64(end, "suspected_packets") +
			       (uint64_t)json_get_i64(end, "in_flight") + unaccounted;

	return (uint64_t)json_get_i64(end, "arrived") == ended &&
	       !(json_get_bool(end, "balanced") && unaccounted);
}

/* Checks the sums of a document. A document that contradicts itself is not balanced. */
static void check_sums(struct ledgers_document *d)
{
	struct json_object *end = json_get(d->json, "end");
	const bool run = !strcmp(d->command, "run");
	bool agree = true;

	if (end && (run || !strcmp(d->command, "send")))
		agree = adds_up(end, run);
	else if (d->parts)
		agree = balance_adds_up(end);
	for (struct json_each trial = json_each(d->json, "trials"); json_next(&trial);)
		agree = adds_up(trial.item, true) && agree;
	if (!agree)
		json_put_bool(d->json, "sums_agree", false);
	if (json_get(end, "balanced") && (!agree || json_denies(d->json, "outcomes_agree")))
		json_put_bool(end, "balanced", false);
}

/* Takes over the document in `d`. */
static void keep(struct ledgers *l, struct ledgers_document *d)
{
	check_sums(d);
	l->document = list_room(l->document, l->documents, sizeof(*d));
	l->document[l->documents++] = *d;
	*d = (struct ledgers_document){};
}

/* Returns a file's only document. */
static const struct ledgers_document *only(const struct ledgers *l, const char *path,
					   struct error *err)
{
	const struct ledgers_document *found = NULL;
	unsigned of_file = 0;

	for (unsigned i = 0; i < l->documents; i++) {
		if (l->document[i].path == path) {
			found = &l->document[i];
			of_file++;
		}
	}
	if (of_file != 1)
		error_usage(err, "choose a result with --number or --since",
			    "%s holds %u results, and a comparison takes one result per "
			    "file", path, of_file);
	else if (!json_get(found->json, "end"))
		error_set(err, STATUS_FAILED, -ENODATA, "report it alone",
			  "%s has no result to compare", path);
	else
		return found;
	return NULL;
}

int choose_pair(const struct ledgers *l, const struct ledgers_document **a,
		const struct ledgers_document **b, struct error *err)
{
	const struct ledgers_document *d = l->document;

	*a = *b = NULL;
	for (unsigned i = 1; i < l->documents; i++) {
		if (strcmp(d[0].command, d[i].command) != 0)
			return error_usage(err, "choose by --number",
					   "--compare: %s was written by %s, and %s by %s",
					   d[0].path, d[0].command, d[i].path, d[i].command);
	}
	if (d->parts)
		return error_usage(err, NULL, "--compare: results of %s cannot be compared",
				   d->command);
	if (l->files != 2)
		return error_usage(err, "name two files", "--compare needs two files, not %u",
				   l->files);
	*a = only(l, l->file[0].path, err);
	*b = *a ? only(l, l->file[1].path, err) : NULL;
	return *b ? 0 : -EINVAL;
}

bool trialset_is(const struct ledgers_document *d)
{
	return !strcmp(d->command, "sweep") || !strcmp(d->command, "search");
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

/*
 * State while reading a ledger's lines. A sweep or a search is a set. Its document, equal to its -j
 * output, is built from its own lines and the runs it contains.
 */
struct reading {
	struct ledgers *l;
	const struct load_spec *spec;
	struct ledgers_file *file;
	struct ledgers_document now; /* json NULL: no start has been read */
	struct ledgers_document set; /* set that the current trials belong to, json NULL: none */
	struct ledgers_document cut; /* trial during which the set was killed, json NULL: none */
	bool shown;		     /* the set contains a line for this trial */
	struct series *series;
	uint64_t started_ns, intervals; /* of the current document, even outside the range */
	uint64_t bad;			/* bad lines in the file before the current document */
};

static bool in_window(const struct load_spec *spec, uint64_t from_ns, uint64_t to_ns)
{
	return to_ns >= spec->since_ns && from_ns <= spec->until_ns;
}

/* Returns true for a trial that its set does not mention. */
static bool is_cut_trial(const struct reading *r)
{
	return r->set.json && !r->shown && !json_get(r->now.json, "end");
}

/* Returns true if the document matches the selected number and overlaps the selected time range. */
static bool is_wanted(struct reading *r)
{
	struct ledgers_document *d = &r->now;

	if (r->spec->number ? r->spec->number != r->file->documents
			    : r->set.json && !is_cut_trial(r))
		return false;
	if (d->parts && r->intervals)
		return series_count(r->series, &d->from_ns, &d->to_ns);
	return in_window(r->spec, d->from_ns, d->to_ns);
}

static void note_times(struct ledgers_file *f, uint64_t from_ns, uint64_t to_ns)
{
	f->to_ns = larger(f->to_ns, to_ns);
	if (!f->from_ns || from_ns < f->from_ns)
		f->from_ns = from_ns;
}

/* Ends a document, at the next start or the end of the file. */
static void end_document(struct reading *r)
{
	struct ledgers_document *d = &r->now;
	bool whole = r->file->state.bad == r->bad && !r->file->odd;
	struct json_object *outcomes, *end = json_get(d->json, "end");

	if (!d->json)
		return;
	d->to_ns = larger(d->to_ns, r->started_ns + json_get_u64(end, "duration_ns"));
	note_times(r->file, d->from_ns, d->to_ns);
	if (r->set.json && d->to_ns > r->set.to_ns)
		r->set.to_ns = d->to_ns;
	if (!d->parts) {
		outcomes = outcome_sum_json(d->outcomes);
		json_put(d->json, "outcomes", outcomes);
		/* outcomes can be checked only if no lines are missing */
		json_put(d->json, "outcomes_agree",
			 whole && outcomes && end
				 ? json_object_new_boolean(outcome_sum_agrees(d->outcomes, end))
				 : NULL);
	}
	json_put(d->json, "intervals", series_intervals(r->series));
	if (is_wanted(r)) {
		json_put(d->json, "covers", series_covers(r->series, d->from_ns, d->to_ns));
		json_put(d->json, "worst", series_worst(r->series));
		if (d->parts)
			json_put(d->json, "sum", series_sum(r->series));
		if (is_one_end(d->command)) {
			d->damaged = !whole || json_denies(d->json, "outcomes_agree");
		} else {
			outcome_sum_free(d->outcomes);
			d->outcomes = NULL;
		}
		if (is_cut_trial(r)) {
			forget(&r->cut);
			r->cut = *d;
			*d = (struct ledgers_document){};
		} else {
			keep(r->l, d);
		}
	}
	forget(d);
	series_free(r->series);
	r->series = NULL;
}

/* Ends a set, at the next set, at a run that is not its trial, or at the end of the file. */
static void end_set(struct reading *r)
{
	struct ledgers_document *set = &r->set;

	if (!set->json)
		return;
	if (in_window(r->spec, set->from_ns, set->to_ns) &&
	    (!r->spec->number || r->spec->number == set->number) &&
	    (!r->cut.json || json_get_length(set->json, "trials")))
		keep(r->l, set);
	if (r->cut.json)
		keep(r->l, &r->cut);
	forget(set);
}

static bool stamps_hold_streams(const struct json_object *start)
{
	for (struct json_each s = json_each(start, "streams"); json_next(&s);) {
		if (!stamp_holds(json_get_u64(s.item, "stream"), json_get_u64(s.item, "base")))
			return false;
	}
	return true;
}

/*
 * Starts a document with the given schema. Returns false if the schema, the time, or the line's
 * sequence numbers are invalid.
 */
static bool begin(struct reading *r, struct ledgers_document *d, const struct json_object *line)
{
	const char *schema = json_get_text(line, "schema");
	struct json_object *start = json_get(line, "data");

	*d = (struct ledgers_document){.path = r->file->path};
	if (!command_of(schema, d->command) || !json_object_is_type(start, json_type_object) ||
	    when_date(json_get_text(start, "time"), &d->from_ns) || !stamps_hold_streams(start)) {
		r->file->odd++;
		return false;
	}
	d->to_ns = d->from_ns;
	d->parts = !strcmp(d->command, "trace");
	d->number = ++r->file->documents;
	d->json = json_object_new_object();
	json_put_text(d->json, "schema", schema);
	return true;
}

const char *document_file(const struct ledgers_document *d)
{
	return json_get(d->json, "file") ? json_get_text(d->json, "file") : d->path;
}

static void put_place(struct ledgers_document *d)
{
	json_put_text(d->json, "file", d->path);
	json_put_u64(d->json, "number", d->number);
}

static void begin_set(struct reading *r, const struct json_object *line)
{
	end_document(r);
	end_set(r);
	if (!begin(r, &r->set, line))
		return;
	json_put(r->set.json, "start", json_object_get(json_get(line, "data")));
	json_put_list(r->set.json, "trials");
	put_place(&r->set);
	note_times(r->file, r->set.from_ns, r->set.to_ns);
}

/*
 * Ends a trial. `members` is the data on the `trial` line, which follows the run's document if the
 * run started.
 */
static void take_trial(struct reading *r, struct json_object *members)
{
	struct json_object *run = json_object_get(r->now.json), *trial, *trials;

	r->shown = true;
	end_document(r);
	r->shown = false;
	if (r->set.json) {
		trials = json_get(r->set.json, "trials");
		trial = json_add_object(trials);
		json_put_all(trial, json_get(run, "end"));
		json_put_all(trial, members);
		/* keep the history of a long trial, such as a soak test, but not for many trials */
		if (json_get_length(run, "intervals") >= INTERVALS_LEAST &&
		    json_object_array_length(trials) <= TRIALS_IN_TIME)
			json_put(trial, "intervals", json_object_get(json_get(run, "intervals")));
		if (json_denies(run, "outcomes_agree"))
			json_put_bool(r->set.json, "outcomes_agree", false);
	} else {
		r->file->headless++;
	}
	json_object_put(run);
}

static void begin_document(struct reading *r, struct json_object *line)
{
	struct json_object *start = json_get(line, "data");
	struct ledgers_document *d = &r->now;

	end_document(r);
	/* a run belongs to the set if their command lines are the same */
	if (!json_object_equal(json_get(json_get(r->set.json, "start"), "command"),
			       json_get(start, "command")))
		end_set(r);
	if (!begin(r, d, line))
		return;
	r->started_ns = d->from_ns;
	r->intervals = 0;
	r->bad = r->file->state.bad;
	r->series = series_new(d->parts, rows_by(start), SERIES_MAX);
	d->outcomes = outcome_sum_new(is_one_end(d->command));
	put_place(d);
	json_put(d->json, "start", json_object_get(start));
}

/*
 * Adds an interval. Peeks at its time first, because most intervals are outside the range and do
 * not need to be parsed.
 */
static void take_interval(struct reading *r, const struct ledgerline *peek, const char *json,
			  size_t len)
{
	uint64_t to_ns = peek->realtime_ns ? peek->realtime_ns : r->started_ns + peek->time_ns;
	uint64_t from_ns = to_ns > peek->length_ns ? to_ns - peek->length_ns : 0;
	struct json_object *line, *data;

	r->now.to_ns = larger(r->now.to_ns, to_ns);
	if (r->now.parts && !r->intervals++)
		r->now.from_ns = from_ns;
	if (r->now.parts && !in_window(r->spec, from_ns, to_ns))
		return;
	line = ledgerline_parse(json, len);
	data = json_get(line, "data");
	if (json_object_is_type(data, json_type_object))
		series_add(r->series, data, from_ns, to_ns);
	else
		r->file->odd++;
	json_object_put(line);
}

/*
 * Adds a limit that was exceeded in the selected time range or has no time. Limits on a run follow
 * at the end.
 */
static void take_limit(struct reading *r, struct json_object *data)
{
	struct json_object *list = json_get(r->now.json, "limits");
	uint64_t ns;

	if (!list)
		list = json_put_list(r->now.json, "limits");
	if ((when_date(json_get_text(data, "time"), &ns) || in_window(r->spec, ns, ns)) &&
	    json_object_array_length(list) < LOAD_LIMITS)
		json_object_array_add(list, json_object_get(data));
}

static void take_event(struct reading *r, const char *json, size_t len)
{
	struct json_object *line = ledgerline_parse(json, len), *data = json_get(line, "data");
	const char *event = json_get_text(line, "event");

	if (!strcmp(event, "start"))
		begin_document(r, line);
	else if (!strcmp(event, "series"))
		begin_set(r, line);
	else if (!*event || !json_object_is_type(data, json_type_object))
		r->file->odd++;
	else if (!strcmp(event, "trial"))
		take_trial(r, data);
	else if (!r->now.json && !r->set.json)
		r->file->headless++;
	else if (!strcmp(event, "series_end") && r->set.json)
		json_put(r->set.json, "end", json_object_get(data));
	else if (!strcmp(event, "error"))
		json_put(r->now.json ? r->now.json : r->set.json, "error", json_object_get(data));
	else if (!r->now.json)
		r->file->odd++;
	else if (!strcmp(event, "end"))
		json_put(r->now.json, "end", json_object_get(data));
	else if (!strcmp(event, "limit"))
		take_limit(r, data);
	else if (!strcmp(event, "outcome") && outcome_sum_name(r->now.outcomes, data))
		r->file->odd++;
	json_object_put(line); /* ignore events added by later versions */
}

static int take_line(void *arg, const char *json, size_t len)
{
	struct reading *r = arg;
	struct ledgerline peek;
	int rc = 0;

	if (!ledgerline_peek(json, len, &peek))
		r->file->odd++;
	else if (peek.kind != LEDGERLINE_INTERVAL && peek.kind != LEDGERLINE_OUTCOMES)
		take_event(r, json, len);
	else if (!r->now.json)
		r->file->headless++;
	else if (peek.kind == LEDGERLINE_INTERVAL)
		take_interval(r, &peek, json, len);
	else
		rc = outcome_sum_ranges(r->now.outcomes, json, len);
	r->file->odd += rc == -EINVAL;
	return rc == -ENOMEM ? rc : 0;
}

/*
 * Reads a ledger's lines, adds its documents that match `spec`, and fills `file` except for its
 * path. STATUS_FAILED: the file cannot be read or has no lines.
 */
static int read_lines(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
		      struct error *err)
{
	struct reading r = {.l = l, .spec = spec, .file = file};
	int rc = ledgerfile_read(file->path, take_line, &r, &file->state, err);

	end_document(&r);
	end_set(&r);
	if (!rc && !file->documents)
		return error_set(err, STATUS_FAILED, -ENODATA,
				 file->state.bad      ? "its first line is truncated"
				 : !file->state.lines ? "it is empty"
				 : file->odd ? "its lines are not in the format of this version"
					     : NULL,
				 "%s has nothing to show", file->path);
	return error_errno(err, STATUS_FAILED, rc, NULL, "cannot read %s", file->path);
}

/* Adds a printed document, from -j or a page, and takes it over. */
static int add_printed(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
		       struct json_object *json, struct error *err)
{
	static const char *const readable[] = {"run",	"send",	  "recv",  "trace",
					       "sweep", "search", "check", "report"};
	const char *schema = json_get_text(json, "schema");
	struct ledgers_document d = {.json = json, .path = file->path};
	int rc = 0;

	if (!json) {
		rc = error_set(err, STATUS_FAILED, -EINVAL, NULL, "%s is truncated or not a JSON "
								  "document",
			       file->path);
	} else if (!command_of(schema, d.command)) {
		rc = error_usage(err, "report reads -j output, --ledger files and its own pages",
				 "%s was not written by this version of pktledger", file->path);
	} else if (!is_one_of(d.command, readable, LENGTH(readable)) ||
		   !json_object_is_type(json_get(json, "start"), json_type_object)) {
		rc = error_usage(err, json_get_text(json_get(json, "error"), "message"),
				 "%s was written by %s -j and has no result", file->path,
				 d.command);
	}
	for (struct json_each o = json_each(json, "documents"); !rc && json_next(&o);)
		rc = add_printed(l, spec, file, json_object_get(o.item), err);
	if (rc || json_get(json, "documents")) {
		forget(&d);
		return rc;
	}
	d.number = ++file->documents;
	d.parts = !strcmp(d.command, "trace");
	when_date(json_get_text(json_get(json, "start"), "time"), &d.from_ns);
	d.to_ns = d.from_ns + json_get_u64(json_get(json, "end"), "duration_ns");
	note_times(file, d.from_ns, d.to_ns);
	d.damaged = is_one_end(d.command) && json_denies(json, "outcomes_agree");
	if (spec->number ? spec->number == d.number : in_window(spec, d.from_ns, d.to_ns))
		keep(l, &d);
	else
		forget(&d);
	return 0;
}

/*
 * Reads a single document, or all documents in a page, each in its own element that cannot contain
 * another.
 */
static int read_printed(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
			struct error *err)
{
	char *text, *at, *begin, *end;
	int rc = file_read(file->path, &text, NULL);

	if (rc)
		return error_errno(err, STATUS_FAILED, rc, NULL, "cannot read %s", file->path);
	if (*text == '{')
		rc = add_printed(l, spec, file, json_parse(text, strlen(text), JSON_DEPTH), err);
	for (at = text; *text != '{' && !rc && (at = strstr(at, HTML_DOCUMENT)); at = end + 1) {
		begin = strchr(at, '>');
		end = begin ? strstr(begin, "</script>") : NULL;
		if (!end) {
			rc = error_set(err, STATUS_FAILED, -EINVAL, NULL, "%s is cut", file->path);
			break;
		}
		*end = '\0';
		rc = add_printed(l, spec, file,
				 json_parse(begin + 1, strlen(begin + 1), JSON_DEPTH), err);
	}
	free(text);
	if (!rc && !file->documents)
		rc = error_usage(err, NULL, "%s is not a pktledger page", file->path);
	return rc;
}

static int read_file(struct ledgers *l, const struct load_spec *spec, const char *path,
		     struct error *err)
{
	struct ledgers_file *file = &l->file[l->files++];
	int rc;

	file->path = path;
	if (capfile_is(path))
		return error_usage(err, "Wireshark shows a capture of `trace -w`, and `trace -o` keeps "
					"the same losses for report",
				   "%s is a capture: report compares two captures, one from each "
				   "end", path);
	rc = check_kind(path, err);
	return rc < 0    ? rc
	       : rc == 1 ? read_printed(l, spec, file, err)
			 : read_lines(l, spec, file, err);
}

static void forget_documents(struct ledgers *l)
{
	while (l->documents)
		forget(&l->document[--l->documents]);
	free(l->document);
}

void ledgers_replace(struct ledgers *l, struct ledgers_document *docs, unsigned n)
{
	forget_documents(l);
	l->document = docs;
	l->documents = n;
}

int ledgers_load(struct ledgers **out, const struct load_spec *spec, struct error *err)
{
	struct ledgers *l = mem_new(l);
	int rc = 0;

	l->file = mem_zero(spec->n, sizeof(*l->file));
	for (unsigned i = 0; i < spec->n && !rc; i++)
		rc = read_file(l, spec, spec->path[i], err);
	if (rc) {
		ledgers_free(l);
		l = NULL;
	}
	*out = l;
	return rc;
}

void ledgers_free(struct ledgers *l)
{
	if (!l)
		return;
	forget_documents(l);
	free(l->file);
	free(l);
}
