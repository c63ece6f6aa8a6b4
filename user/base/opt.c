// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/opt.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Errors list a closed set up to this length. For a longer set they refer to `help`. */
#define VALUES_INLINE 80

static int plain_number(const char *s, uint64_t *out)
{
	return num_u64(s, 0, UINT64_MAX, out);
}

static char *plain_text(uint64_t v)
{
	char *text = fmt_buffer();

	snprintf(text, FMT_MAX, "%llu", (unsigned long long)v);
	return text;
}

static const struct type {
	const char *name, *metavar;
	const char *what, *examples; /* used in "is not WHAT (examples: EXAMPLES)" */
	int (*number)(const char *s, uint64_t *out);
	char *(*text)(uint64_t v);
} types[OPT_TYPES] = {
	[OPT_FLAG] = {.name = "flag"},
	[OPT_REPEAT] = {.name = "repeat"},
	[OPT_HELP] = {.name = "help"},
	[OPT_VERSION] = {.name = "version"},
	[OPT_UINT] = {"uint", "N", "a whole number", "1, 16", plain_number, plain_text},
	[OPT_U64] = {"u64", "N", "a whole number", "1, 16", plain_number, plain_text},
	[OPT_COUNT] = {"count", "N", "a count", "5000, 10k, 1.5M", num_count, num_text_count},
	[OPT_SIZE] = {"size", "BYTES", "a size", "1500, 64k, 1.5MiB", num_size, num_text_size},
	[OPT_TIME] = {"time", "TIME", "a time", "5, 0.5, 200ms, 2m", num_time, num_text_time},
	[OPT_RATE] = {.name = "rate", "RATE", "a rate", "200k, 1.5Gbit, 50%, max"},
	[OPT_ENDPOINT] = {.name = "endpoint",
			  "ADDR[:PORT]",
			  "an address",
			  "198.18.0.2, 198.18.0.2:9000, 2001:2::2, [2001:2::2]:9000"},
	[OPT_STRING] = {.name = "string", "TEXT"},
	[OPT_ENUM] = {.name = "enum", "NAME"},
	[OPT_STRINGS] = {.name = "strings", "LIST"},
	[OPT_ENUMS] = {.name = "enums", "LIST"},
	[OPT_LIMITS] = {.name = "limits",
			"NAME=VALUE",
			"a limit",
			"loss=0.1%, rcvbuf=12, qdisc=100/s"},
	[OPT_CUSTOM] = {.name = "custom", "VALUE"},
	[OPT_WORDS] = {.name = "words", "WORD ..."},
	[OPT_ARGS] = {.name = "args", "WORD ..."},
	[OPT_COMMAND] = {.name = "command", "COMMAND"},
};

const char *opt_type_name(enum opt_type type)
{
	return types[type].name;
}

static bool opt_takes_value(const struct opt *opt)
{
	return types[opt->type].metavar;
}

const char *opt_metavar(const struct opt *opt)
{
	if (opt->metavar)
		return opt->metavar;
	return opt_takes_value(opt) ? types[opt->type].metavar : "";
}

/* Reports that the type's parser rejected the value with `code`. Returns 0 if it was accepted. */
static int complain(const struct opt *opt, const char *who, const char *text, int code,
		    struct error *err)
{
	const struct type *type = &types[opt->type];

	if (!code)
		return 0;
	return error_usage(err, NULL, "%s: '%.60s' is %s%s (examples: %s)", who, text,
			   code == -ERANGE ? "out of range" : "not ",
			   code == -ERANGE ? "" : type->what, type->examples);
}

static int parse_number(const struct opt *opt, const char *who, const char *text, void *field,
			struct error *err)
{
	const struct type *type = &types[opt->type];
	uint64_t top = opt->type == OPT_UINT ? UINT_MAX : UINT64_MAX, v;
	int code = type->number(text, &v);
	bool too_large = code == -ERANGE || (!code && v > top);
	char why[FMT_MAX * 3] = "too large";

	if (code && !too_large)
		return complain(opt, who, text, code, err);
	if (too_large || v < opt->min || (opt->max && v > opt->max)) {
		if (opt->max)
			snprintf(why, sizeof(why), "out of range (%s to %s)", type->text(opt->min),
				 type->text(opt->max));
		else if (!too_large)
			snprintf(why, sizeof(why), "out of range (at least %s)",
				 type->text(opt->min));
		return error_usage(err, NULL, "%s: '%.60s' is %s", who, text, why);
	}
	if (opt->type == OPT_UINT)
		*(unsigned *)field = v;
	else
		*(uint64_t *)field = v;
	return 0;
}

static int complain_value(const struct opt *opt, const char *who, const char *text,
			  struct error *err)
{
	const char *names[OPT_TEXT_MAX], *near;
	char list[VALUES_INLINE] = "", hint[128];
	size_t at = 0;
	unsigned n = 0;

	snprintf(hint, sizeof(hint), "%s help lists them", opt->required ? "the word" : who);
	for (const struct opt_value *v = opt->values; v->name && n < OPT_TEXT_MAX; v++) {
		if (at < sizeof(list))
			at += snprintf(list + at, sizeof(list) - at, "%s%s", n ? ", " : "",
				       v->name);
		names[n++] = v->name;
	}
	near = n ? opt_nearest(text, names, n) : NULL;
	if (near)
		return error_usage(err, hint, "%s: '%.60s' is not known (did you mean %s?)", who,
				   text, near);
	if (at < sizeof(list))
		return error_usage(err, NULL, "%s: '%.60s' is not one of %s", who, text, list);
	return error_usage(err, hint, "%s: '%.60s' is not known", who, text);
}

static int parse_enum(const struct opt *opt, const char *who, const char *text, int *field,
		      struct error *err)
{
	for (const struct opt_value *v = opt->values; v->name; v++) {
		if (!strcmp(v->name, text)) {
			*field = v->value;
			return 0;
		}
	}
	return complain_value(opt, who, text, err);
}

static int add_item(const struct opt *opt, const char *who, const char *item, void *field,
		    struct error *err)
{
	struct opt_limits *limits = field;
	struct opt_strings *strings = field;
	struct opt_enums *enums = field;
	int code = 0;

	switch (opt->type) {
	case OPT_STRINGS:
		strcpy(strings->at[strings->n++], item);
		return 0;
	case OPT_ENUMS:
		code = parse_enum(opt, who, item, &enums->at[enums->n], err);
		for (unsigned i = 0; i < enums->n && !code; i++) {
			if (enums->at[i] == enums->at[enums->n])
				code = error_usage(err, NULL, "%s: '%s' is given twice", who, item);
		}
		enums->n += !code;
		return code;
	default:
		code = num_limit(item, &limits->at[limits->n]);
		limits->n += !code;
		return complain(opt, who, item, code, err);
	}
}

static int parse_list(const struct opt *opt, const char *who, const char *text, void *field,
		      bool again, struct error *err)
{
	unsigned *n = field; /* every list starts with this member */
	unsigned most = opt->max ? opt->max : OPT_LIST_MAX;
	char item[OPT_ITEM_LEN];
	int code;

	if (!again)
		*n = 0;
	for (;;) {
		size_t len = strcspn(text, ",");

		if (!len)
			return error_usage(err, NULL, "%s: an item of the list is empty", who);
		if (len >= sizeof(item))
			return error_usage(err, NULL, "%s: '%.60s' is too long", who, text);
		if (*n >= most)
			return error_usage(err, NULL, "%s: more than %u in the list", who, most);
		memcpy(item, text, len);
		item[len] = '\0';
		code = add_item(opt, who, item, field, err);
		if (code || !text[len])
			return code;
		text += len + 1;
	}
}

/*
 * Parses `text` into the field. `again` means that the option already occurred on this command
 * line, so lists append. `who` is the option's name in messages. After an error the field is
 * undefined.
 */
static int parse_value(const struct opt *opt, const char *who, const char *text, void *field,
		       bool again, struct error *err)
{
	struct opt_words *words = field;
	struct opt_args *args = field;
	struct error own = {0};
	size_t used;
	int code;

	if (!*text)
		return error_usage(err, NULL, "%s: the value is empty", who);
	if (types[opt->type].number)
		return parse_number(opt, who, text, field, err);
	switch (opt->type) {
	case OPT_STRINGS:
	case OPT_ENUMS:
	case OPT_LIMITS:
		return parse_list(opt, who, text, field, again, err);
	case OPT_WORDS:
		used = strlen(words->text);
		if (used + strlen(text) + 2 > sizeof(words->text))
			return error_usage(err, NULL, "%s: more than %zu characters", who,
					   sizeof(words->text) - 1);
		snprintf(words->text + used, sizeof(words->text) - used, "%s%s", used ? " " : "",
			 text);
		return 0;
	case OPT_ARGS:
		if (args->n == OPT_ARGS_MAX)
			return error_usage(err, NULL, "%s: more than %u", who, OPT_ARGS_MAX);
		args->at[args->n++] = text;
		return 0;
	case OPT_CUSTOM:
		code = opt->parse(text, field, &own);
		if (code && own.status == STATUS_OK)
			return error_usage(err, NULL, "%s: '%.60s' is not valid", who, text);
		return code ? error_set(err, own.status, code, own.hint, "%s: %s", who, own.message)
			    : 0;
	case OPT_ENUM:
		return parse_enum(opt, who, text, field, err);
	case OPT_RATE:
	case OPT_ENDPOINT:
		code = opt->type == OPT_RATE ? num_rate(text, field) : num_endpoint(text, field);
		return complain(opt, who, text, code, err);
	default:
		*(const char **)field = text;
		return 0;
	}
}

/* Returns the field as text that parses to the same value, or NULL for an empty or zero field. */
static const char *field_text(const struct opt *opt, const void *field)
{
	const struct opt_value *v = opt->values;
	uint64_t n;

	if (types[opt->type].text) {
		n = opt->type == OPT_UINT ? *(const unsigned *)field : *(const uint64_t *)field;
		return n ? types[opt->type].text(n) : NULL;
	}
	switch (opt->type) {
	case OPT_RATE:
		return num_text_rate(field);
	case OPT_ENDPOINT:
		return ((const struct endpoint *)field)->family ? num_text_endpoint(field) : NULL;
	case OPT_ENUM:
		while (v->name && v->value != *(const int *)field)
			v++;
		return v->name;
	default:
		return opt->type == OPT_STRING ? *(const char *const *)field : NULL;
	}
}

void opt_default_text(const struct opt *opt, const char *base, char *buf, size_t size)
{
	const char *text = opt->default_text;

	if (!text && base)
		text = field_text(opt, base + opt->offset);
	snprintf(buf, size, "%s", text ? text : "");
}

#define WORD_MAX 48 /* longest word that opt_nearest() compares */

struct parser {
	const struct command *cmd;
	char *options;
	char hint[96];
	int argc, at; /* argv[at] is the current word */
	char *const *argv;
	const struct opt *next_arg; /* NULL or without a name: no more arguments are expected */
	struct opt_seen *seen;
	char **words; /* words other than options, to be kept, or NULL */
	unsigned n;
};

/* Keeps an option, or a word that comes before all others. */
__attribute__((format(printf, 2, 3))) static void keep(const struct parser *p, const char *fmt, ...)
{
	struct opt_seen *seen = p->seen;
	va_list args;

	if (!p->words)
		return;
	seen->argv = mem_resize(seen->argv, (size_t)seen->argc + 2, sizeof(*seen->argv));
	va_start(args, fmt);
	seen->argv[seen->argc++] = mem_vprint(fmt, args);
	va_end(args);
	seen->argv[seen->argc] = NULL;
}

/* Appends the words to the options, after `--` if a word looks like an option. */
static void keep_words(struct parser *p)
{
	bool dashes = false;

	for (unsigned i = 0; i < p->n && strcmp(p->words[i], "--"); i++)
		dashes |= *p->words[i] == '-' && p->words[i][1];
	if (dashes)
		keep(p, "--");
	for (unsigned i = 0; i < p->n; i++)
		keep(p, "%s", p->words[i]);
	free(p->words);
}

static int usage(const struct parser *p, struct error *err, const char *what, const char *text,
		 const char *more)
{
	return error_usage(err, p->hint, "%s %.60s%s", what, text, more);
}

/* Returns " (did you mean --a?)" or "". */
static char *suggest(char *buf, size_t size, const char *dashes, const char *word,
		     const char *const names[], unsigned n)
{
	const char *near = opt_nearest(word, names, n);

	*buf = '\0';
	if (near)
		snprintf(buf, size, " (did you mean %s%s?)", dashes, near);
	return buf;
}

/* Finds the option with this name or letter. Returns false if there is no match. */
static bool find(const struct command *cmd, const char *name, size_t len, char letter,
		 struct opt_ref *ref)
{
	for (const struct opt_group *g = cmd->groups; g && g->opts; g++) {
		for (const struct opt *o = g->opts; o->name; o++) {
			*ref = (struct opt_ref){o, g->base};
			if (name ? strlen(o->name) == len && !memcmp(o->name, name, len)
				 : o->letter == letter)
				return true;
		}
	}
	return false;
}

/* Reports an unknown option. `shown` is the word as given, with or without dashes. */
static int unknown(const struct parser *p, const char *shown, const char *name, struct error *err)
{
	const char *names[OPT_OPTIONS_MAX], *dashes = *shown == '-' ? "--" : "";
	char more[160];
	unsigned n = 0;

	for (const struct opt_group *g = p->cmd->groups; g && g->opts; g++) {
		for (const struct opt *o = g->opts; o->name && n < OPT_OPTIONS_MAX; o++) {
			names[n++] = o->name;
			if (!o->formerly || strcmp(o->formerly, name))
				continue;
			snprintf(more, sizeof(more), " is now called %s%s", dashes, o->name);
			return usage(p, err, "option", shown, more);
		}
	}
	return usage(p, err, "unknown option", shown,
		     suggest(more, sizeof(more), dashes, name, names, n));
}

bool opt_given(const struct opt_seen *seen, const struct opt *opt)
{
	for (unsigned i = 0; i < seen->n; i++) {
		if (seen->given[i] == opt)
			return true;
	}
	return false;
}

static int take_value(struct parser *p, const struct opt_ref *ref, const char *who,
		      const char *text, struct error *err)
{
	const struct opt *o = ref->opt;
	char *base = p->options + ref->base;

	/*
	 * NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): an option with values takes one
	 */
	if (o->values && !strcmp(text, "help")) {
		p->seen->asked = o;
		return OPT_NEXT_VALUES;
	}
	if (o->set_offset)
		*(bool *)(base + o->set_offset - 1) = true;
	return parse_value(o, who, text, base + o->offset, opt_given(p->seen, o), err);
}

/*
 * Processes an option. `text` is the rest of the same word, or NULL. Returns 0, another enum
 * opt_next, or -errno.
 */
static int take_option(struct parser *p, const struct opt_ref *ref, const char *text,
		       struct error *err)
{
	const struct opt *o = ref->opt;
	void *field = p->options + ref->base + o->offset;
	char who[WORD_MAX], more[WORD_MAX];
	const char *number = NULL;
	int code = 0;

	snprintf(who, sizeof(who), "--%s", o->name);
	if (o->type == OPT_HELP && !text && p->at + 1 < p->argc)
		text = strcmp(p->argv[p->at + 1], "all") ? NULL : "all";
	if (o->type == OPT_HELP && text && !strcmp(text, "all"))
		return OPT_NEXT_HELP_ALL;
	if (!opt_takes_value(o) && text)
		return usage(p, err, who, "takes no value", "");
	if (opt_takes_value(o) && !text) {
		if (p->at + 1 == p->argc) {
			snprintf(more, sizeof(more), "a value: %s", opt_metavar(o));
			return usage(p, err, who, "needs ", more);
		}
		text = p->argv[++p->at];
	}
	if (o->type == OPT_HELP)
		return OPT_NEXT_HELP;
	if (o->type == OPT_VERSION)
		return OPT_NEXT_VERSION;
	if (text)
		code = take_value(p, ref, who, text, err);
	else if (o->type == OPT_FLAG)
		*(bool *)field = true;
	else
		++*(unsigned *)field;
	if (text && !code && (types[o->type].text || o->type == OPT_RATE))
		number = field_text(o, field);
	text = number ? number : text;
	keep(p, "--%s%s%s", o->name, text ? "=" : "", text ? text : "");
	if (!opt_given(p->seen, o) && p->seen->n < OPT_OPTIONS_MAX)
		p->seen->given[p->seen->n++] = o;
	return code;
}

/* Parses --name and --name=value. */
static int take_long(struct parser *p, const char *word, struct error *err)
{
	char name[OPT_ITEM_LEN], full[OPT_ITEM_LEN + 2];
	size_t len = strcspn(word + 2, "=");
	struct opt_ref ref;

	if (find(p->cmd, word + 2, len, 0, &ref))
		return take_option(p, &ref, word[2 + len] ? word + 3 + len : NULL, err);
	snprintf(name, sizeof(name), "%.*s", (int)len, word + 2);
	snprintf(full, sizeof(full), "--%s", name);
	return unknown(p, len ? full : word, name, err);
}

/* Parses -c, -cvalue, and several letters that take no values. */
static int take_letters(struct parser *p, const char *word, struct error *err)
{
	char more[WORD_MAX] = "";
	struct opt_ref ref;
	int next = 0;

	for (const char *c = word + 1; *c && !next; c++) {
		if (!find(p->cmd, NULL, 0, *c, &ref)) {
			if (isprint((unsigned char)*c) && strlen(word) > 2)
				snprintf(more, sizeof(more), " (the letter %c)", *c);
			return usage(p, err, "unknown option", word, more);
		}
		if (opt_takes_value(ref.opt))
			return take_option(p, &ref, c[1] ? c + 1 : NULL, err);
		next = take_option(p, &ref, NULL, err);
	}
	return next;
}

static int take_word(struct parser *p, const char *text, struct error *err)
{
	const struct opt *o = p->next_arg;

	if (!o || !o->name || o->type == OPT_COMMAND)
		return usage(p, err, "unexpected argument", text, "");
	if (p->words)
		p->words[p->n++] = (char *)text;
	if (o->type != OPT_WORDS && o->type != OPT_ARGS)
		p->next_arg++;
	return take_value(p, &(struct opt_ref){o, 0}, o->name, text, err);
}

/* Returns the name that follows `name` (NULL: the first) in a blank-separated list, or NULL. */
static const char *next_name(const char *list, const char *name)
{
	name = name ? strchr(name, ' ') : list;
	return name ? name + (name != list) : NULL;
}

void opt_names_text(const struct command *cmd, const char *names, const char *word, char *buf,
		    size_t size)
{
	const char *last = NULL;
	struct opt_ref ref;
	size_t at = 0;

	*buf = '\0';
	for (const char *n = next_name(names, NULL); n; n = next_name(names, n)) {
		if (find(cmd, n, strcspn(n, "= "), 0, &ref))
			last = n;
	}
	for (const char *n = next_name(names, NULL); n && at < size; n = next_name(names, n)) {
		const size_t len = strcspn(n, "= "), value = strcspn(n + len, " ");

		if (!find(cmd, n, len, 0, &ref))
			continue;
		at += snprintf(buf + at, size - at, "%s--%.*s%s%.*s",
			       !at	  ? ""
			       : n != last ? ", "
					   : word,
			       (int)len, n, value ? " " : "", value ? (int)value - 1 : 0,
			       value ? n + len + 1 : "");
	}
}

/*
 * Returns the first entry in a list of names whose option is given or, for NAME=VALUE, has that
 * value, or NULL.
 */
static const char *first_given(const struct parser *p, const char *names, bool *known)
{
	struct opt_ref ref;

	for (const char *n = next_name(names, NULL); n; n = next_name(names, n)) {
		const size_t len = strcspn(n, "= ");
		const char *value = n[len] == '=' ? n + len + 1 : NULL;

		if (!find(p->cmd, n, len, 0, &ref))
			continue;
		*known = true;
		if (!value && opt_given(p->seen, ref.opt))
			return n;
		for (const struct opt_value *v = ref.opt->values; value && v->name; v++) {
			const int *field = (const void *)(p->options + ref.base + ref.opt->offset);

			if (v->value == *field && strlen(v->name) == strcspn(value, " ") &&
			    !strncmp(v->name, value, strlen(v->name)))
				return n;
		}
	}
	return NULL;
}

/* Checks a given option against the other options. */
static int check_option(const struct parser *p, const struct opt *o, struct error *err)
{
	bool known = false, needed = false;
	const char *other = first_given(p, o->excludes, &known);
	char names[OPT_TEXT_MAX], one[WORD_MAX], hint[OPT_TEXT_MAX + 8];

	if (other) {
		snprintf(one, sizeof(one), "%.*s", (int)strcspn(other, " "), other);
		opt_names_text(p->cmd, one, "", names, sizeof(names));
		return error_usage(err, p->hint, "--%s and %s cannot be given together", o->name,
				   names);
	}
	if (!o->needs || first_given(p, o->needs, &needed) || !needed)
		return 0;
	opt_names_text(p->cmd, o->needs, " or ", names, sizeof(names));
	snprintf(hint, sizeof(hint), "add %s", names);
	return error_usage(err, hint, "--%s needs %s", o->name, names);
}

static int check_complete(struct parser *p, struct error *err)
{
	const struct opt *arg = p->next_arg;

	for (unsigned i = 0; i < p->seen->n; i++) {
		if (check_option(p, p->seen->given[i], err))
			return -EINVAL;
	}
	if (arg && arg->name && arg->required &&
	    (arg->type != OPT_ARGS || !((const struct opt_args *)(p->options + arg->offset))->n))
		return usage(p, err, arg->name, "is missing", "");
	return OPT_NEXT_RUN;
}

static int parse(struct parser *p, struct error *err)
{
	const struct opt *command = p->cmd->args;
	int next = 0;

	for (; p->at < p->argc && strcmp(p->argv[p->at], "--") && !next; p->at++) {
		const char *word = p->argv[p->at];

		next = *word != '-' || !word[1] ? take_word(p, word, err)
		       : word[1] == '-'		? take_long(p, word, err)
						: take_letters(p, word, err);
	}
	if (next)
		return next;
	while (command && command->name && command->type != OPT_COMMAND)
		command++;
	if (p->at++ < p->argc && command && command->name) {
		if (p->at == p->argc)
			return usage(p, err, "no command after", "--", "");
		*(char *const **)(p->options + command->offset) = p->argv + p->at;
		for (int i = p->at - 1; p->words && i < p->argc; i++)
			p->words[p->n++] = p->argv[i];
		p->at = p->argc;
	}
	for (; p->at < p->argc && !next; p->at++)
		next = take_word(p, p->argv[p->at], err);
	return next ? next : check_complete(p, err);
}

int opt_parse(const struct command *cmd, int argc, char *const argv[], void *options,
	      struct opt_seen *seen, struct error *err)
{
	struct parser p = {.cmd = cmd,
			   .options = options,
			   .next_arg = cmd->args,
			   .argc = argc,
			   .at = 1,
			   .argv = argv,
			   .seen = seen};
	int next;

	if (cmd->defaults)
		memcpy(options, cmd->defaults, cmd->size);
	else
		memset(options, 0, cmd->size);
	*seen = (struct opt_seen){.keeps = seen->keeps};
	snprintf(p.hint, sizeof(p.hint), "see %s %s --help", OPT_PROGRAM, cmd->name);
	if (seen->keeps) {
		p.words = mem_zero((size_t)argc + 1, sizeof(*p.words));
		keep(&p, "%s", OPT_PROGRAM);
		keep(&p, "%s", cmd->name);
	}
	next = parse(&p, err);
	keep_words(&p);
	/* -ERANGE and a custom parser's error code add nothing to the message */
	return next < 0 ? -EINVAL : next;
}

const struct command *opt_command(const struct command *const *cmds, const char *name,
				  struct error *err)
{
	const char *names[OPT_OPTIONS_MAX];
	char more[160];
	unsigned n = 0;

	for (; cmds[n] && n < OPT_OPTIONS_MAX; n++) {
		if (!strcmp(cmds[n]->name, name))
			return cmds[n];
		names[n] = cmds[n]->name;
	}
	error_usage(err, "see " OPT_PROGRAM " --help", "unknown command %.60s%s", name,
		    suggest(more, sizeof(more), "", name, names, n));
	return NULL;
}

/*
 * Returns the number of edits (insert, delete, replace, swap neighbours) that turn a into b. Both
 * are at most WORD_MAX long.
 */
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
			row[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			if (last[j] + 1 < row[j])
				row[j] = last[j] + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
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
	unsigned best = (len + 2) / 3 + 1; /* near: at most a third of the letters are wrong */
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

#define VARY_HINT "OPTION=VALUE,VALUE or OPTION=FIRST..LAST/STEP"
#define ROUNDING  1e-9 /* for steps of rates, which are not whole numbers */

/* FIRST..LAST/STEP, split into its parts. */
struct range {
	const char *text; /* as given */
	char first[OPT_ITEM_LEN], last[OPT_ITEM_LEN], step[OPT_ITEM_LEN];
	bool factor; /* whether the step multiplies */
};

static int add_value(struct opt_vary *v, const char *text, struct error *err)
{
	struct opt_vary_value *value = &v->at[v->n];
	const char *name = v->ref.opt->name;

	if (v->n == OPT_VARY_MAX)
		return error_usage(err, "use a larger step", "--vary %s: more than %u values", name,
				   OPT_VARY_MAX);
	if (v->ref.opt->type == OPT_FLAG && strcmp(text, "on") && strcmp(text, "off"))
		return error_usage(err, NULL, "--vary %s: '%.60s' is not on or off", name, text);
	for (unsigned i = 0; i < v->n; i++) {
		if (!strcmp(v->at[i].text, text))
			return error_usage(err, "--repeat measures a value again",
					   "--vary %s: '%.60s' is given twice", name, text);
	}
	snprintf(value->text, sizeof(value->text), "%s", text);
	*value->word = '\0';
	if (v->ref.opt->type != OPT_FLAG && strcmp(text, "default"))
		snprintf(value->word, sizeof(value->word), "--%s=%s", name, text);
	else if (!strcmp(text, "on"))
		snprintf(value->word, sizeof(value->word), "--%s", name);
	v->n++;
	return 0;
}

/* Splits a range into its parts. Returns false if the item is not a range. */
static bool split(const char *item, struct range *r)
{
	const char *dots = strstr(item, ".."), *slash = dots ? strrchr(dots, '/') : NULL;
	const char *unit = slash ? slash + 1 : NULL;

	*r = (struct range){.text = item};
	if (!dots)
		return false;
	/* in 1Gbit/l1..2Gbit/l1/100Mbit/l1 the units contain slashes too */
	if (unit && (!strcmp(unit, "l1") || !strcmp(unit, "l2"))) {
		slash = memrchr(dots, '/', (size_t)(slash - dots));
		if (slash && slash[1] == 'l') /* the last value has a unit, and there is no step */
			slash = NULL;
	}
	if (!slash)
		slash = item + strlen(item);
	snprintf(r->first, sizeof(r->first), "%.*s", (int)(dots - item), item);
	snprintf(r->last, sizeof(r->last), "%.*s", (int)(slash - dots - 2), dots + 2);
	r->factor = *slash && slash[1] == 'x';
	snprintf(r->step, sizeof(r->step), "%s", *slash ? slash + 1 + r->factor : "");
	return true;
}

/* Parses an end of a range or its step. Whole numbers are exact in a long double. */
static int range_value(const struct opt *o, const char *text, enum rate_unit *unit, long double *v)
{
	struct rate rate = {0};
	uint64_t whole = 0;
	int rc = o->type == OPT_RATE	 ? num_rate(text, &rate)
		 : types[o->type].number ? types[o->type].number(text, &whole)
					 : num_size(text, &whole);

	*unit = rate.unit;
	*v = o->type == OPT_RATE ? (long double)rate.value : (long double)whole;
	return rc;
}

static char *range_text(const struct opt *o, enum rate_unit unit, long double v)
{
	if (o->type == OPT_RATE)
		return num_text_rate(&(struct rate){unit, (double)v});
	return (types[o->type].text ? types[o->type].text : plain_text)((uint64_t)v);
}

static int add_range(struct opt_vary *v, const struct range *r, struct error *err)
{
	const struct opt *o = v->ref.opt;
	const bool rates = o->type == OPT_RATE;
	long double first, last, step = 0, now, next;
	enum rate_unit unit, other;
	char text[OPT_ITEM_LEN];
	struct rate factor = {0};
	int rc = 0;

	if (range_value(o, r->first, &unit, &first) || range_value(o, r->last, &other, &last) ||
	    unit != other || (rates && unit == RATE_MAX))
		return error_usage(err, VARY_HINT,
				   "--vary: the ends of '%.60s' are not two values of one unit",
				   r->text);
	if (first > last)
		return error_usage(err, "give the lower end first: FIRST..LAST/STEP",
				   "--vary: '%.60s' runs backwards", r->text);
	/* a factor is a plain number greater than 1, fractions are allowed */
	if (r->factor ? num_rate(r->step, &factor) || factor.unit != RATE_PPS ||
				factor.value <= 1 || first == 0
		      : range_value(o, r->step, &other, &step) || other != unit || step == 0)
		return error_usage(err, "FIRST..LAST/STEP, or /x2 to double",
				   "--vary: '%.60s' needs a step above 0, or a factor above 1 and "
				   "a start above 0",
				   r->text);
	now = first;
	for (unsigned i = 1; !rc && now <= last * (rates ? 1 + ROUNDING : 1); i++, now = next) {
		rc = add_value(v, range_text(o, unit, now), err);
		next = r->factor ? now * factor.value : first + i * step;
		/* removes the residue of binary sums: 0.3, not 0.30000000000000004 */
		snprintf(text, sizeof(text), "%.12Lg", next);
		next = rates ? strtod(text, NULL) : roundl(next);
		if (next <= now)
			break;
	}
	return rc;
}

/*
 * Adds the values of a range. Adds the item as a single value if the option does not take numbers
 * or the part before the dots is not a number.
 */
static int vary_item(struct opt_vary *v, const char *item, struct error *err)
{
	const struct opt *o = v->ref.opt;
	struct range r;
	uint64_t first;
	bool range = split(item, &r);

	if (o->type == OPT_CUSTOM)
		range = range && *r.step && !num_size(r.first, &first);
	else if (o->type != OPT_RATE && !types[o->type].number)
		range = false;
	return range ? add_range(v, &r, err) : add_value(v, item, err);
}

int opt_vary_parse(const struct command *cmd, const char *text, struct opt_vary *v,
		   struct error *err)
{
	struct parser p = {.cmd = cmd};
	size_t len = strcspn(text, "=");
	char name[OPT_ITEM_LEN], item[OPT_ITEM_LEN];
	int rc;

	v->n = 0;
	if (!text[len] || !len || len >= sizeof(name))
		return error_usage(err, VARY_HINT, "--vary: '%.60s' is not OPTION=LIST", text);
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	snprintf(p.hint, sizeof(p.hint), "see %s %s --help", OPT_PROGRAM, cmd->name);
	rc = find(cmd, text, len, 0, &v->ref) ? 0 : unknown(&p, name, name, err);
	for (text += len + 1; !rc; text += len + 1) {
		len = strcspn(text, ",");
		if (!len)
			return error_usage(err, VARY_HINT,
					   "--vary %s: the list is empty, or an item of it", name);
		if (len >= sizeof(item))
			return error_usage(err, NULL, "--vary: '%.60s' is too long", text);
		snprintf(item, sizeof(item), "%.*s", (int)len, text);
		rc = vary_item(v, item, err);
		if (!text[len])
			break;
	}
	return rc;
}
