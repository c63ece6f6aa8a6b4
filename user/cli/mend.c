// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/mend.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "diagnosis/findings_data.h"
#include "report/document.h"
#include "report/text_change.h"
#include "base/watch.h"

const struct opt mend_opts[] = {
	{"apply", 0, OPT_FLAG, offsetof(struct mend_options, apply), .excludes = "undo",
	 .help = "make the changes that the findings ask for; notes only if their ID is given"},
	{"yes", 0, OPT_FLAG, offsetof(struct mend_options, yes), .excludes = "undo",
	 .help = "with --apply: do not ask for each"},
	{"undo", 0, OPT_FLAG, offsetof(struct mend_options, undo), .excludes = "persist",
	 .help = "take back what --apply has changed since the last boot, and check nothing"},
	{"persist", 0, OPT_FLAG, offsetof(struct mend_options, persist), .excludes = "apply",
	 .help = "print the files that make such changes, and those already made, at each boot"},
	{"undo-file", 0, OPT_STRING, offsetof(struct mend_options, undo_file), .metavar = "FILE",
	 .default_text = CHANGE_UNDO_FILE, .help = "where changes are written down"},
	{0},
};

/* A change that was chosen, and what its finding says of it. */
struct chosen {
	struct change *at;
	const struct check_finding **why;
	unsigned n;
};

struct telling {
	const char *netns;
	struct json_object *list; /* NULL: text to stdout */
	unsigned told, others;	  /* of all, those that are not as they were */
};

int mend_check(const struct mend_options *o, struct error *err)
{
	if (o->ids.n && !o->apply && !o->persist)
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "IDs of findings go with --apply or --persist",
				 "'%s' means nothing here", o->ids.at[0]);
	if (o->yes && !o->apply)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL, "--yes goes with --apply");
	for (unsigned i = 0; i < o->ids.n; i++) {
		if (!finding_row(o->ids.at[i]))
			return error_set(err, STATUS_USAGE, -EINVAL, "--explain all lists them",
					 "there is no finding '%s'", o->ids.at[i]);
	}
	if (o->apply && !o->yes && !isatty(STDIN_FILENO))
		return error_set(err, STATUS_USAGE, -ENOTTY,
				 "see what `check` advises, then give --yes",
				 "--apply asks, and there is no terminal to ask on");
	return 0;
}

static bool is_chosen(const struct opt_strings *ids, const struct finding *f)
{
	for (unsigned i = 0; i < ids->n; i++) {
		if (!strcmp(ids->at[i], f->id))
			return true;
	}
	return !ids->n && f->severity > SEVERITY_INFO;
}

/* An id that was given stands for a finding that is here, and that a change can mend. */
static int check_ids(const struct opt_strings *ids, const struct check_findings *list,
		     struct error *err)
{
	for (unsigned i = 0; i < ids->n; i++) {
		bool here = false, changes = false;

		for (unsigned j = 0; j < list->n; j++) {
			if (!strcmp(list->at[j].finding.id, ids->at[i])) {
				here = true;
				changes |= list->at[j].n_changes;
			}
		}
		if (!changes)
			return error_set(err, STATUS_FAILED, -ENOENT, NULL,
					 here ? "the finding '%s' has no change that can be made"
					      : "the finding '%s' is not among those of this host",
					 ids->at[i]);
	}
	return 0;
}

/* Of several wishes for one setting the first has it: findings come in their order of weight. */
static void choose(struct chosen *c, const struct change *change, const struct check_finding *why)
{
	for (unsigned i = 0; i < c->n; i++) {
		if (change_same_setting(&c->at[i], change))
			return;
	}
	c->at[c->n] = *change;
	c->why[c->n++] = why;
}

static void chosen_free(struct chosen *c)
{
	free(c->at);
	free(c->why);
}

/* `more`: room for as many changes beside those of findings. */
static int collect(const struct mend_options *o, const struct check_findings *list, unsigned more,
		   struct chosen *c, struct error *err)
{
	unsigned n = more + 1;
	int ret = check_ids(&o->ids, list, err);

	*c = (struct chosen){};
	if (ret)
		return ret;
	for (unsigned i = 0; i < list->n; i++)
		n += list->at[i].n_changes;
	c->at = calloc(n, sizeof(*c->at));
	c->why = calloc(n, sizeof(*c->why));
	if (!c->at || !c->why)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	for (unsigned i = 0; i < list->n; i++) {
		const struct check_finding *f = &list->at[i];

		for (unsigned j = 0; j < f->n_changes && is_chosen(&o->ids, &f->finding); j++)
			choose(c, &f->changes[j], f);
	}
	return 0;
}

/* The first letter of a line; 'q' at the end of the input. */
static char answer(void)
{
	char line[64];
	char c;

	fputs("Make this change? [y]es, [n]o, [a]ll from here, [q]uit without any: ", stderr);
	fflush(stderr);
	if (!fgets(line, sizeof(line), stdin))
		return 'q';
	c = *line;
	while (!strchr(line, '\n') && fgets(line, sizeof(line), stdin))
		;
	return c;
}

/* Leaves those that are agreed to. Nothing is changed yet, so a signal may end it all. */
static void ask(struct chosen *c, const char *netns)
{
	const bool colour = log_colour(STDERR_FILENO);
	unsigned kept = 0;
	bool all = false;

	watch_unblock_signals();
	for (unsigned i = 0; i < c->n; i++) {
		const struct finding *f = &c->why[i]->finding;
		char said = 'y';

		if (!all) {
			fputc('\n', stderr);
			text_change(stderr, &c->at[i], *f->risk ? f->risk : change_risk(&c->at[i]),
				    netns, colour);
			said = answer();
		}
		if (said == 'q') {
			kept = 0;
			break;
		}
		all |= said == 'a';
		if (said == 'y' || said == 'a') {
			c->at[kept] = c->at[i];
			c->why[kept++] = c->why[i];
		}
	}
	c->n = kept;
	watch_block_signals();
}

static void tell(void *arg, const struct change_told *told)
{
	struct telling *t = arg;

	t->told++;
	t->others += told->outcome == CHANGE_FOREIGN || told->outcome == CHANGE_KEPT;
	if (t->list)
		json_object_array_add(t->list, json_change_told(told, t->netns));
	else
		text_change_told(stdout, told, log_colour(STDOUT_FILENO));
}

int mend_apply(const struct mend_options *o, const struct check_findings *list, const char *netns,
	       struct json_object *json, struct error *err)
{
	struct telling t = {.netns = netns};
	struct chosen c;
	int ret = collect(o, list, 0, &c, err);

	if (!ret && !o->yes)
		ask(&c, netns);
	if (!ret && json)
		json_put(json, "applied", t.list = json_object_new_array());
	if (!ret && c.n)
		ret = change_apply(c.at, c.n, o->undo_file, tell, &t, err);
	if (!ret && !c.n)
		log_info("nothing is changed");
	else if (!ret)
		log_info("pktledger check --undo%s%s takes it back",
			 o->undo_file ? " --undo-file " : "", o->undo_file ? o->undo_file : "");
	chosen_free(&c);
	return ret ? (int)err->status : STATUS_OK;
}

int mend_undo(const struct mend_options *o, struct json_object *json, struct error *err)
{
	struct telling t = {};
	int ret;

	if (json)
		json_put(json, "undone", t.list = json_object_new_array());
	ret = change_undo(o->undo_file, tell, &t, err);
	if (!ret && t.others)
		ret = error_set(err, STATUS_FAILED, -ESTALE, NULL,
				"%u of %u settings are not as they were", t.others, t.told);
	if (!ret && !t.told)
		log_info("there is nothing to undo");
	return ret ? (int)err->status : STATUS_OK;
}

int mend_persist(const struct mend_options *o, const struct check_findings *list,
		 const struct netns *ns, struct json_object *json, struct error *err)
{
	struct change *made = NULL;
	char *text = NULL;
	unsigned n = 0;
	struct chosen c;
	struct error unread = {};
	int ret;

	if (!o->ids.n && change_made(ns, o->undo_file, &made, &n, &unread))
		log_warn("what was changed before is left out: %s", unread.message);
	ret = collect(o, list, n, &c, err);
	for (unsigned i = 0; i < n && !ret; i++)
		choose(&c, &made[i], NULL);
	if (!ret && change_persist(c.at, c.n, &text))
		ret = error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	if (!ret && !c.n)
		log_info("no change is called for, and none was made");
	if (!ret && json)
		json_put(json, "persist", json_object_new_string(text));
	else if (!ret)
		fputs(text, stdout);
	free(text);
	free(made);
	chosen_free(&c);
	return ret ? (int)err->status : STATUS_OK;
}
