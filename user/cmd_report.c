// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/when.h"
#include "commands.h"
#include "options.h"
#include "out/json_solo.h"
#include "out/text_trace.h"
#include "report/compare.h"
#include "report/load.h"
#include "report/print.h"

struct report_options {
	struct global_options global;
	const char *since, *until;
	uint64_t number;
	struct opt_args files;
};

static const struct opt report_opts[] = {
	{"since", 0, OPT_STRING, offsetof(struct report_options, since), .metavar = "WHEN",
	 .default_text = "the beginning", .help = "from then on: 2024-05-01T12:00:00Z, 03:12, -2h"},
	{"until", 0, OPT_STRING, offsetof(struct report_options, until), .metavar = "WHEN",
	 .default_text = "the end", .help = "up to then; a time of day is the first after --since"},
	{"number", 'n', OPT_U64, offsetof(struct report_options, number), .min = 1,
	 .default_text = "all", .help = "only this run or trace of each file, from 1"},
	{0},
};

static const struct opt report_args[] = {
	{"FILE", 0, OPT_ARGS, offsetof(struct report_options, files), .required = true,
	 .default_text = "", .help = "what --ledger wrote"},
	{0},
};

static const struct opt_group report_groups[] = {
	{"What", report_opts, 0},
	{"Output", global_opts, offsetof(struct report_options, global)},
	{0},
};

static const struct report_options defaults = {};

struct report_command {
	const struct report_options *o;
	struct json_out *json; /* NULL: text */
	struct load_spec window;
	struct ledgers *ledgers;
	const struct ledgers_document *a, *b; /* to be compared; NULL: not so */
};

static int parse_moment(const char *option, const char *text, uint64_t now, uint64_t after,
			uint64_t *ns, struct error *err)
{
	if (!text || !when_moment(text, now, after, ns))
		return 0;
	return error_set(err, STATUS_USAGE, -EINVAL,
			 "for example 2024-05-01T12:00:00Z, 2024-05-01, 03:12, -2h, now",
			 "%s: '%s' is no moment", option, text);
}

static int parse_window(struct report_command *c, struct error *err)
{
	uint64_t now = when_now();
	int rc;

	c->window.until_ns = UINT64_MAX;
	rc = parse_moment("--since", c->o->since, now, 0, &c->window.since_ns, err);
	if (!rc)
		rc = parse_moment("--until", c->o->until, now, c->window.since_ns,
				  &c->window.until_ns, err);
	if (!rc && c->window.since_ns > c->window.until_ns)
		rc = error_set(err, STATUS_USAGE, -EINVAL, NULL, "--since is after --until");
	return rc;
}

/* What is not in the file any more, or not as it was written. */
static void tell_damage(const struct ledgers_file *f)
{
	const struct ledgerfile_state *s = &f->state;
	unsigned long long others = s->bad - s->cut;

	if (s->cut)
		log_warn("%s is cut in line %llu, at byte %llu: what is before it is used", f->path,
			 (unsigned long long)s->cut_line, (unsigned long long)s->cut_at);
	if (others)
		log_warn("%s: %llu line%s not match the checksum, the first is line %llu: the rest "
			 "is used",
			 f->path, others, others == 1 ? " does" : "s do",
			 (unsigned long long)s->bad_line);
	if (f->odd)
		log_warn("%s: %llu lines are not as this version writes them: they are left out",
			 f->path, (unsigned long long)f->odd);
	if (f->headless)
		log_warn("%s: %llu lines have lost their beginning: they are left out", f->path,
			 (unsigned long long)f->headless);
}

static struct json_object *file_object(const struct ledgers_file *f)
{
	struct json_object *o = json_object_new_object(), *cut = NULL;

	json_put_text(o, "file", f->path);
	json_put_u64(o, "lines", f->state.lines);
	json_put_u64(o, "bad", f->state.bad);
	if (f->state.cut) {
		cut = json_object_new_object();
		json_put_u64(cut, "line", f->state.cut_line);
		json_put_u64(cut, "offset", f->state.cut_at);
	}
	json_put(o, "cut", cut);
	json_put_u64(o, "odd", f->odd);
	json_put_u64(o, "headless", f->headless);
	return o;
}

static bool is_chosen(const struct report_command *c, const struct ledgers_document *d)
{
	return !c->o->number || c->o->number == d->number;
}

/* How many are to be shown; all are of one kind. */
static int count_chosen(const struct report_command *c, unsigned *chosen, struct error *err)
{
	const struct ledgers_document *d, *first = NULL;
	unsigned n;

	d = ledgers_documents(c->ledgers, &n);
	*chosen = 0;
	for (unsigned i = 0; i < n; i++) {
		if (!is_chosen(c, &d[i]))
			continue;
		if (first && strcmp(first->command, d[i].command))
			return error_set(err, STATUS_USAGE, -EINVAL,
					 "report them apart, or choose by --number",
					 "%s has a %s, and %s a %s", first->path, first->command,
					 d[i].path, d[i].command);
		if (!first)
			first = &d[i];
		++*chosen;
	}
	return 0;
}

/* The only one of a file. */
static const struct ledgers_document *only(const struct report_command *c, const char *path,
					   struct error *err)
{
	const struct ledgers_document *d, *found = NULL;
	unsigned n, chosen = 0;

	d = ledgers_documents(c->ledgers, &n);
	for (unsigned i = 0; i < n; i++) {
		if (d[i].path != path || !is_chosen(c, &d[i]))
			continue;
		found = &d[i];
		chosen++;
	}
	if (chosen != 1)
		error_set(err, STATUS_USAGE, -EINVAL, "choose one by --number, or by --since",
			  "%s holds %u, and two files are compared, with one each", path, chosen);
	return chosen == 1 ? found : NULL;
}

/* Two ledgers of runs are compared; traces of several hosts are told one by one. */
static int choose_pair(struct report_command *c, struct error *err)
{
	const struct ledgers_document *d;
	unsigned n;

	d = ledgers_documents(c->ledgers, &n);
	if (c->window.n < 2 || !strcmp(d->command, "trace"))
		return 0;
	if (c->window.n > 2)
		return error_set(err, STATUS_USAGE, -EINVAL, "name two of them",
				 "two ledgers of %s are compared, not %u", d->command, c->window.n);
	c->a = only(c, c->window.path[0], err);
	c->b = c->a ? only(c, c->window.path[1], err) : NULL;
	if (!c->b)
		return -EINVAL;
	for (unsigned i = 0; i < 2; i++) {
		d = i ? c->b : c->a;
		if (!json_get(d->json, "end"))
			return error_set(err, STATUS_FAILED, -ENODATA, "report it alone",
					 "%s has no end to compare", d->path);
	}
	return 0;
}

/* Says what there is instead. */
static int nothing(const struct report_command *c, struct error *err)
{
	const struct ledgers_file *f;
	char from[WHEN_TEXT], to[WHEN_TEXT], hint[192];
	unsigned n;

	f = ledgers_files(c->ledgers, &n);
	snprintf(hint, sizeof(hint), "%.80s has %u, from %s to %s", f->path, f->documents,
		 when_text(from, sizeof(from), f->from_ns, true),
		 when_text(to, sizeof(to), f->to_ns, true));
	if (c->o->number)
		return error_set(err, STATUS_FAILED, -ENODATA, hint, "there is no number %llu",
				 (unsigned long long)c->o->number);
	return error_set(err, STATUS_FAILED, -ENODATA, hint, "nothing is of this time");
}

static struct print_view print_view(const struct report_command *c)
{
	return (struct print_view){
		.out = stdout,
		.colour = log_colour(STDOUT_FILENO),
		.width = text_trace_width(stdout),
		.verbosity = c->o->global.quiet ? -1 : (int)c->o->global.verbose,
	};
}

static void show_documents(const struct report_command *c)
{
	const struct print_view view = print_view(c);
	const struct ledgers_document *d;
	bool first = true;
	unsigned n;

	d = ledgers_documents(c->ledgers, &n);
	for (unsigned i = 0; i < n; i++) {
		if (!is_chosen(c, &d[i]))
			continue;
		if (c->json) {
			json_out_each(c->json, "document", json_object_get(d[i].json));
			continue;
		}
		if (!first)
			fputc('\n', stdout);
		print_document(&view, &d[i]);
		first = false;
	}
}

static void show_comparison(const struct report_command *c)
{
	const struct print_view view = print_view(c);
	struct json_object *o = compare_documents(c->a, c->b);

	if (c->json)
		json_out_once(c->json, "comparison", json_object_get(o));
	else
		compare_print(&view, c->a, c->b, o);
	json_object_put(o);
}

/* The fates of the numbers say something else than the books. */
static bool is_broken(const struct report_command *c)
{
	const struct ledgers_document *d;
	unsigned n;

	d = ledgers_documents(c->ledgers, &n);
	for (unsigned i = 0; i < n; i++) {
		if (is_chosen(c, &d[i]) && json_get(d[i].json, "fates_agree") &&
		    !json_get_bool(d[i].json, "fates_agree"))
			return true;
	}
	return false;
}

static void show(const struct report_command *c)
{
	const struct ledgers_file *f;
	unsigned n;

	if (c->json) {
		json_out_once(c->json, "start", json_solo_origin(program_argc, program_argv, NULL));
		f = ledgers_files(c->ledgers, &n);
		for (unsigned i = 0; i < n; i++)
			json_out_each(c->json, "file", file_object(&f[i]));
	}
	if (c->json || !c->a)
		show_documents(c);
	if (c->a)
		show_comparison(c);
}

static int report(struct report_command *c, struct error *err)
{
	const struct ledgers_file *f;
	unsigned n, chosen;
	int rc = parse_window(c, err);

	c->window.path = c->o->files.at;
	c->window.n = c->o->files.n;
	if (!rc)
		rc = ledgers_load(&c->ledgers, &c->window, err);
	if (rc)
		return rc;
	f = ledgers_files(c->ledgers, &n);
	for (unsigned i = 0; i < n; i++)
		tell_damage(&f[i]);
	rc = count_chosen(c, &chosen, err);
	if (rc)
		return rc;
	if (!chosen)
		return nothing(c, err);
	rc = choose_pair(c, err);
	if (!rc)
		show(c);
	return rc;
}

static int report_run(void *options, struct error *err)
{
	const struct report_options *o = options;
	enum output output = global_output(&o->global);
	struct report_command c = {.o = o};
	int status = STATUS_FAILED;

	log_init(o->global.quiet ? -1 : (int)o->global.verbose);
	if (output != OUTPUT_TEXT)
		c.json = json_out_new(stdout, output == OUTPUT_JSON ? JSON_DOC : JSON_LINES,
				      "pktledger/report/1");
	if (!report(&c, err))
		status = is_broken(&c) ? STATUS_BROKEN : STATUS_OK;
	if (c.json) {
		if (err->status != STATUS_OK)
			json_out_error(c.json, err);
		json_out_finish(c.json);
	}
	ledgers_free(c.ledgers);
	return err->status != STATUS_OK ? (int)err->status : status;
}

static const struct opt_example examples[] = {
	{"report run.ledger", "the books of a run that kept them"},
	{"report --since 03:10 --until 03:15 trace.ledger", "what happened at 03:12"},
	{"report --since -2h trace.ledger", "the last two hours"},
	{"report before.ledger after.ledger", "what was different, and what came of it"},
	{0},
};

const struct command cmd_report = {
	.name = "report",
	.summary = "renders ledgers that run and trace have kept",
	.description = "Reads what `run --ledger` or `trace --ledger` have written and prints what "
		       "they would have printed, and what happened when. Lines that are cut or "
		       "spoilt are named, and the rest is used.",
	.groups = report_groups,
	.args = report_args,
	.defaults = &defaults,
	.size = sizeof(struct report_options),
	.examples = examples,
	.run = report_run,
};
