// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/opt.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/opt_value.h"

#define OPTIONS_MAX 96
#define LONG_VAL    256 /* what getopt_long() returns for option i: LONG_VAL + i; above any letter */
#define WORD_MAX    48	/* longest word that opt_nearest() compares */

struct slot {
	const struct opt *opt;
	void *field;
	bool *set;
	bool seen;
};

struct parser {
	const struct command *cmd;
	char hint[96];
	unsigned n;
	struct slot slot[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 3];
	const struct opt *next_arg; /* NULL or without a name: no more are expected */
	const struct opt *asked;
};

static struct slot make_slot(const struct opt *opt, char *base)
{
	return (struct slot){
		.opt = opt,
		.field = base + opt->offset,
		.set = opt->set_offset ? (bool *)(base + opt->set_offset - 1) : NULL,
	};
}

static int build(struct parser *p, char *options, struct error *err)
{
	char *letter = p->letters;

	/* '-': words in their place, argv untouched; ':': tell a missing value from unknown */
	*letter++ = '-';
	*letter++ = ':';
	for (const struct opt_group *g = p->cmd->groups; g && g->opts; g++) {
		for (const struct opt *o = g->opts; o->name; o++, p->n++) {
			if (p->n == OPTIONS_MAX)
				return error_set(err, STATUS_FAILED, -E2BIG, NULL,
						 "%s has more than %d options", p->cmd->name,
						 OPTIONS_MAX);
			p->slot[p->n] = make_slot(o, options + g->base);
			p->longs[p->n] = (struct option){
				.name = o->name,
				.has_arg = opt_takes_value(o) ? required_argument : no_argument,
				.val = LONG_VAL + p->n,
			};
			if (!o->letter)
				continue;
			*letter++ = o->letter;
			if (opt_takes_value(o))
				*letter++ = ':';
		}
	}
	return 0;
}

static struct slot *find_slot(struct parser *p, int val)
{
	if (val >= LONG_VAL)
		return &p->slot[val - LONG_VAL];
	for (unsigned i = 0; i < p->n; i++)
		if (p->slot[i].opt->letter == val)
			return &p->slot[i];
	return NULL;
}

static int usage(const struct parser *p, struct error *err, const char *what, const char *text,
		 const char *more)
{
	char quoted[OPT_QUOTE_MAX];

	return error_set(err, STATUS_USAGE, -EINVAL, p->hint, "%s %s%s", what,
			 opt_quote(quoted, text), more);
}

/* " (did you mean --a or --b?)", or nothing. All of which `word` is the beginning, else one. */
static char *suggest(char *buf, size_t size, const char *dashes, const char *word,
		     const char *const names[], unsigned n)
{
	const char *near = opt_nearest(word, names, n);
	size_t at = 0;

	buf[0] = '\0';
	if (!near)
		return buf;
	for (unsigned i = 0; i < n && at < size; i++)
		if (*word && !strncmp(names[i], word, strlen(word)))
			at += snprintf(buf + at, size - at, "%s%s%s",
				       at ? " or " : " (did you mean ", dashes, names[i]);
	if (!at)
		at = snprintf(buf, size, " (did you mean %s%s", dashes, near);
	if (at < size)
		snprintf(buf + at, size - at, "?)");
	return buf;
}

/* getopt_long() would take an abbreviation: see that a long option is there by its full name. */
static int check_long(const struct parser *p, const char *word, struct error *err)
{
	const char *names[OPTIONS_MAX];
	char name[OPT_QUOTE_MAX], full[OPT_QUOTE_MAX + 2], more[160];
	size_t len;

	if (strncmp(word, "--", 2) || !word[2])
		return 0;
	len = strcspn(word + 2, "=");
	for (unsigned i = 0; i < p->n; i++) {
		names[i] = p->slot[i].opt->name;
		if (strlen(names[i]) == len && !memcmp(names[i], word + 2, len))
			return 0;
	}
	snprintf(name, sizeof(name), "%.*s", (int)len, word + 2);
	snprintf(full, sizeof(full), "--%s", name);
	return usage(p, err, "unknown option", len ? full : word,
		     suggest(more, sizeof(more), "--", name, names, p->n));
}

static int take_value(struct parser *p, struct slot *s, const char *who, const char *text,
		      struct error *err)
{
	const struct opt *o = s->opt;

	if (o->values && !strcmp(text, "help")) {
		p->asked = o;
		return OPT_NEXT_VALUES;
	}
	return opt_value_parse(o, who, text, s->field, s->seen, err);
}

/* Returns 0, another enum opt_next, or -errno. */
static int take_option(struct parser *p, struct slot *s, const char *text, struct error *err)
{
	char who[WORD_MAX];
	int code = 0;

	switch (s->opt->type) {
	case OPT_HELP:
		return OPT_NEXT_HELP;
	case OPT_VERSION:
		return OPT_NEXT_VERSION;
	case OPT_FLAG:
		*(bool *)s->field = true;
		break;
	case OPT_REPEAT:
		++*(unsigned *)s->field;
		break;
	default:
		snprintf(who, sizeof(who), "--%s", s->opt->name);
		code = take_value(p, s, who, text, err);
	}
	s->seen = true;
	if (s->set)
		*s->set = true;
	return code;
}

static int take_word(struct parser *p, char *options, const char *text, struct error *err)
{
	struct slot s;

	if (!p->next_arg || !p->next_arg->name || p->next_arg->type == OPT_COMMAND)
		return usage(p, err, "unexpected argument", text, "");
	s = make_slot(p->next_arg, options);
	if (s.opt->type != OPT_WORDS && s.opt->type != OPT_ARGS)
		p->next_arg++;
	if (s.set)
		*s.set = true;
	return take_value(p, &s, s.opt->name, text, err);
}

/* What getopt_long() did not take: c is '?' or ':'. */
static int refuse(struct parser *p, int c, const char *word, struct error *err)
{
	const struct slot *s = find_slot(p, optopt);
	char name[WORD_MAX], more[WORD_MAX];

	if (s) {
		snprintf(name, sizeof(name), "--%s", s->opt->name);
		if (c == '?')
			return usage(p, err, name, "takes no value", "");
		snprintf(more, sizeof(more), "a value: %s", opt_metavar(s->opt));
		return usage(p, err, name, "needs ", more);
	}
	if (optopt > 0 && optopt < 128 && isprint(optopt) && strlen(word) > 2)
		snprintf(more, sizeof(more), " (the letter %c)", optopt);
	else
		more[0] = '\0';
	return usage(p, err, "unknown option", word, more);
}

static bool has_args(const struct opt *arg, const char *options)
{
	return arg->type == OPT_ARGS && ((const struct opt_args *)(options + arg->offset))->n;
}

static int check_complete(struct parser *p, const char *options, struct error *err)
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct opt *o = p->slot[i].opt;

		for (unsigned k = 0; p->slot[i].seen && o->excludes && k < p->n; k++)
			if (p->slot[k].seen && !strcmp(p->slot[k].opt->name, o->excludes))
				return error_set(err, STATUS_USAGE, -EINVAL, p->hint,
						 "--%s and --%s exclude each other", o->name,
						 o->excludes);
	}
	if (p->next_arg && p->next_arg->name && p->next_arg->required &&
	    !has_args(p->next_arg, options))
		return usage(p, err, p->next_arg->name, "is missing", "");
	return OPT_NEXT_RUN;
}

/* The words behind `--`, where the command takes a command. */
static int take_command(struct parser *p, char *options, int argc, char *const argv[],
			struct error *err)
{
	const struct opt *o = p->cmd->args;
	struct slot s;

	while (o && o->name && o->type != OPT_COMMAND)
		o++;
	if (!o || !o->name || strcmp(argv[optind - 1], "--"))
		return 0;
	if (optind == argc)
		return usage(p, err, "behind", "--", " there is no command");
	s = make_slot(o, options);
	*(char *const **)s.field = argv + optind;
	optind = argc;
	return 0;
}

static int parse(struct parser *p, int argc, char *const argv[], char *options, struct error *err)
{
	int c, next;

	/* 0 makes glibc and musl forget the scan before this one */
	optind = 0;
	opterr = 0;
	for (;;) {
		int at = optind ? optind : 1;
		const char *word = at < argc ? argv[at] : "";

		next = check_long(p, word, err);
		if (next)
			return next;
		c = getopt_long(argc, argv, p->letters, p->longs, NULL);
		if (c == -1)
			break;
		if (c == 1)
			next = take_word(p, options, optarg, err);
		else if (c == '?' || c == ':')
			next = refuse(p, c, word, err);
		else
			next = take_option(p, find_slot(p, c), optarg, err);
		if (next)
			return next;
	}
	next = take_command(p, options, argc, argv, err);
	if (next)
		return next;
	for (; optind < argc; optind++) {
		next = take_word(p, options, argv[optind], err);
		if (next)
			return next;
	}
	return check_complete(p, options, err);
}

int opt_parse(const struct command *cmd, int argc, char *const argv[], void *options,
	      const struct opt **asked, struct error *err)
{
	struct parser p = {.cmd = cmd, .next_arg = cmd->args};
	int next;

	if (cmd->defaults)
		memcpy(options, cmd->defaults, cmd->size);
	else
		memset(options, 0, cmd->size);
	snprintf(p.hint, sizeof(p.hint), "see %s %s --help", OPT_PROGRAM, cmd->name);
	next = build(&p, options, err);
	if (!next)
		next = parse(&p, argc, argv, options, err);
	if (asked)
		*asked = p.asked;
	/* -ERANGE and a custom parser's own say nothing more than the message does */
	return next < 0 ? -EINVAL : next;
}

const struct command *opt_command(const struct command *const *cmds, const char *name,
				  struct error *err)
{
	const char *names[OPTIONS_MAX];
	char more[160], quoted[OPT_QUOTE_MAX];
	unsigned n = 0;

	for (; cmds[n] && n < OPTIONS_MAX; n++) {
		if (!strcmp(cmds[n]->name, name))
			return cmds[n];
		names[n] = cmds[n]->name;
	}
	error_set(err, STATUS_USAGE, -EINVAL, "see " OPT_PROGRAM " --help", "unknown command %s%s",
		  opt_quote(quoted, name), suggest(more, sizeof(more), "", name, names, n));
	return NULL;
}

int opt_find(const struct command *cmd, const char *name, struct opt_ref *ref, struct error *err)
{
	const char *names[OPTIONS_MAX];
	char more[160], quoted[OPT_QUOTE_MAX], hint[96];
	unsigned n = 0;

	for (const struct opt_group *g = cmd->groups; g && g->opts; g++) {
		for (const struct opt *o = g->opts; o->name && n < OPTIONS_MAX; o++) {
			*ref = (struct opt_ref){o, g->base + o->offset};
			if (!strcmp(o->name, name))
				return 0;
			names[n++] = o->name;
		}
	}
	snprintf(hint, sizeof(hint), "see %s %s --help", OPT_PROGRAM, cmd->name);
	return error_set(err, STATUS_USAGE, -EINVAL, hint, "unknown option %s%s",
			 opt_quote(quoted, name), suggest(more, sizeof(more), "", name, names, n));
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Edits (insert, delete, replace, swap neighbours) from a to b, both at most WORD_MAX long. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][WORD_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];
	size_t la = strlen(a), lb = strlen(b);

	for (size_t j = 0; j <= lb; j++)
		last[j] = j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *free_row = before;

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			row[j] = min3(last[j] + 1, row[j - 1] + 1,
				      last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = last;
		last = row;
		row = free_row;
	}
	return last[lb];
}

const char *opt_nearest(const char *word, const char *const names[], unsigned n)
{
	size_t len = strlen(word);
	unsigned best = (len + 2) / 3 + 1; /* near: a third of the letters wrong */
	const char *near = NULL;

	if (!len || len > WORD_MAX)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		unsigned d;

		if (strlen(names[i]) > WORD_MAX)
			continue;
		d = strncmp(names[i], word, len) ? distance(word, names[i]) : 0;
		if (d < best) {
			best = d;
			near = names[i];
		}
	}
	return near;
}
