// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/opt_value.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/utf8.h"

/* A closed set is spelled out in an error where it is no longer than this, else `help` is named. */
#define VALUES_INLINE 80

static int plain_number(const char *s, uint64_t *out)
{
	return num_u64(s, 0, UINT64_MAX, out);
}

static char *plain_text(char *buf, size_t size, uint64_t v)
{
	snprintf(buf, size, "%llu", (unsigned long long)v);
	return buf;
}

static const struct type {
	const char *name, *metavar;
	const char *what, *examples; /* "is not WHAT (examples: EXAMPLES)" */
	int (*number)(const char *s, uint64_t *out);
	char *(*text)(char *buf, size_t size, uint64_t v);
} types[OPT_TYPES] = {
	[OPT_FLAG] = {.name = "flag"},
	[OPT_REPEAT] = {.name = "repeat"},
	[OPT_HELP] = {.name = "help"},
	[OPT_VERSION] = {.name = "version"},
	[OPT_UINT] = {.name = "uint", "N", "a whole number", "1, 16", plain_number, plain_text},
	[OPT_U64] = {.name = "u64", "N", "a whole number", "1, 16", plain_number, plain_text},
	[OPT_COUNT] =
		{.name = "count", "N", "a count", "5000, 10k, 1.5M", num_count, num_text_count},
	[OPT_SIZE] =
		{.name = "size", "BYTES", "a size", "1500, 64k, 1.5MiB", num_size, num_text_size},
	[OPT_TIME] =
		{.name = "time", "TIME", "a time", "5, 0.5, 200ms, 2m", num_time, num_text_time},
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

bool opt_takes_value(const struct opt *opt)
{
	return types[opt->type].metavar;
}

const char *opt_metavar(const struct opt *opt)
{
	if (opt->metavar)
		return opt->metavar;
	return opt_takes_value(opt) ? types[opt->type].metavar : "";
}

static bool is_list(const struct opt *opt)
{
	return opt->type == OPT_STRINGS || opt->type == OPT_ENUMS || opt->type == OPT_LIMITS;
}

char *opt_quote(char buf[OPT_QUOTE_MAX], const char *text)
{
	size_t len = strlen(text), keep = len < OPT_QUOTE_MAX ? len : OPT_QUOTE_MAX - 4;

	/* not in the middle of a UTF-8 character */
	while (keep < len && keep && (text[keep] & 0xc0) == 0x80)
		keep--;
	memcpy(buf, text, keep);
	strcpy(buf + keep, keep < len ? "..." : "");
	return utf8_tame(buf);
}

static int complain_range(const struct opt *opt, const char *who, const char *quoted, bool parsed,
			  struct error *err)
{
	const struct type *type = &types[opt->type];
	char min[FMT_MAX], max[FMT_MAX];

	if (opt->max)
		return error_set(err, STATUS_USAGE, -ERANGE, NULL,
				 "%s: '%s' is out of range (%s to %s)", who, quoted,
				 type->text(min, sizeof(min), opt->min),
				 type->text(max, sizeof(max), opt->max));
	if (parsed && opt->min)
		return error_set(err, STATUS_USAGE, -ERANGE, NULL,
				 "%s: '%s' is out of range (at least %s)", who, quoted,
				 type->text(min, sizeof(min), opt->min));
	return error_set(err, STATUS_USAGE, -ERANGE, NULL, "%s: '%s' is too large", who, quoted);
}

static int complain(const struct opt *opt, const char *who, const char *text, int code,
		    struct error *err)
{
	const struct type *type = &types[opt->type];
	char quoted[OPT_QUOTE_MAX];

	opt_quote(quoted, text);
	if (code == -ERANGE)
		return error_set(err, STATUS_USAGE, code, NULL,
				 "%s: '%s' is out of range (examples: %s)", who, quoted,
				 type->examples);
	return error_set(err, STATUS_USAGE, code, NULL, "%s: '%s' is not %s (examples: %s)", who,
			 quoted, type->what, type->examples);
}

static int parse_number(const struct opt *opt, const char *who, const char *text, void *field,
			struct error *err)
{
	uint64_t top = opt->type == OPT_UINT ? UINT_MAX : UINT64_MAX, v;
	int code = types[opt->type].number(text, &v);
	char quoted[OPT_QUOTE_MAX];

	if (code == -ERANGE || (!code && v > top))
		return complain_range(opt, who, opt_quote(quoted, text), false, err);
	if (code)
		return complain(opt, who, text, code, err);
	if (v < opt->min || (opt->max && v > opt->max))
		return complain_range(opt, who, opt_quote(quoted, text), true, err);
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
	char quoted[OPT_QUOTE_MAX], list[VALUES_INLINE] = "", hint[128];
	size_t at = 0;
	unsigned n = 0;

	opt_quote(quoted, text);
	snprintf(hint, sizeof(hint), "%s help lists the values", opt->required ? "the word" : who);
	for (const struct opt_value *v = opt->values; v->name && n < OPT_TEXT_MAX; v++) {
		if (at < sizeof(list))
			at += snprintf(list + at, sizeof(list) - at, "%s%s", n ? ", " : "",
				       v->name);
		names[n++] = v->name;
	}
	near = opt_nearest(text, names, n);
	if (near)
		return error_set(err, STATUS_USAGE, -EINVAL, hint,
				 "%s: '%s' is not known (did you mean %s?)", who, quoted, near);
	if (at < sizeof(list))
		return error_set(err, STATUS_USAGE, -EINVAL, NULL, "%s: '%s' is not one of %s", who,
				 quoted, list);
	return error_set(err, STATUS_USAGE, -EINVAL, hint, "%s: '%s' is not known", who, quoted);
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

static int add_enum(const struct opt *opt, const char *who, const char *item,
		    struct opt_enums *list, struct error *err)
{
	int code = parse_enum(opt, who, item, &list->at[list->n], err);

	if (code)
		return code;
	for (unsigned i = 0; i < list->n; i++)
		if (list->at[i] == list->at[list->n])
			return error_set(err, STATUS_USAGE, -EINVAL, NULL,
					 "%s: '%s' is given twice", who, item);
	list->n++;
	return 0;
}

static int add_item(const struct opt *opt, const char *who, const char *item, void *field,
		    struct error *err)
{
	struct opt_limits *limits = field;
	struct opt_strings *strings = field;
	int code;

	switch (opt->type) {
	case OPT_STRINGS:
		strcpy(strings->at[strings->n++], item);
		return 0;
	case OPT_ENUMS:
		return add_enum(opt, who, item, field, err);
	default:
		code = num_limit(item, &limits->at[limits->n]);
		if (code)
			return complain(opt, who, item, code, err);
		limits->n++;
		return 0;
	}
}

static int parse_list(const struct opt *opt, const char *who, const char *text, void *field,
		      bool again, struct error *err)
{
	unsigned *n = field; /* the first member of every list */
	unsigned most = opt->max ? opt->max : OPT_LIST_MAX;
	char item[OPT_ITEM_LEN], quoted[OPT_QUOTE_MAX];
	int code;

	if (!again)
		*n = 0;
	for (;;) {
		size_t len = strcspn(text, ",");

		if (!len)
			return error_set(err, STATUS_USAGE, -EINVAL, NULL,
					 "%s: an item of the list is empty", who);
		if (len >= sizeof(item))
			return error_set(err, STATUS_USAGE, -EINVAL, NULL, "%s: '%s' is too long",
					 who, opt_quote(quoted, text));
		if (*n >= most)
			return error_set(err, STATUS_USAGE, -EINVAL, NULL,
					 "%s: more than %u in the list", who, most);
		memcpy(item, text, len);
		item[len] = '\0';
		code = add_item(opt, who, item, field, err);
		if (code || !text[len])
			return code;
		text += len + 1;
	}
}

static int add_word(const char *who, const char *text, struct opt_words *words, struct error *err)
{
	size_t used = strlen(words->text);

	if (used + strlen(text) + 2 > sizeof(words->text))
		return error_set(err, STATUS_USAGE, -E2BIG, NULL, "%s: more than %zu characters",
				 who, sizeof(words->text) - 1);
	snprintf(words->text + used, sizeof(words->text) - used, "%s%s", used ? " " : "", text);
	return 0;
}

static int add_arg(const char *who, const char *text, struct opt_args *args, struct error *err)
{
	if (args->n == OPT_ARGS_MAX)
		return error_set(err, STATUS_USAGE, -E2BIG, NULL, "%s: more than %u", who,
				 OPT_ARGS_MAX);
	args->at[args->n++] = text;
	return 0;
}

static int parse_custom(const struct opt *opt, const char *who, const char *text, void *field,
			struct error *err)
{
	struct error own = {0};
	char quoted[OPT_QUOTE_MAX];
	int code = opt->parse(text, field, &own);

	if (!code)
		return 0;
	if (own.status == STATUS_OK)
		return error_set(err, STATUS_USAGE, code, NULL, "%s: '%s' is not valid", who,
				 opt_quote(quoted, text));
	return error_set(err, own.status, code, own.hint, "%s: %s", who, own.message);
}

int opt_value_parse(const struct opt *opt, const char *who, const char *text, void *field,
		    bool again, struct error *err)
{
	int code;

	if (!*text)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL, "%s: the value is empty", who);
	if (types[opt->type].number)
		return parse_number(opt, who, text, field, err);
	if (is_list(opt))
		return parse_list(opt, who, text, field, again, err);
	switch (opt->type) {
	case OPT_WORDS:
		return add_word(who, text, field, err);
	case OPT_ARGS:
		return add_arg(who, text, field, err);
	case OPT_CUSTOM:
		return parse_custom(opt, who, text, field, err);
	case OPT_ENUM:
		return parse_enum(opt, who, text, field, err);
	case OPT_RATE:
		code = num_rate(text, field);
		break;
	case OPT_ENDPOINT:
		code = num_endpoint(text, field);
		break;
	default:
		*(const char **)field = text;
		return 0;
	}
	return code ? complain(opt, who, text, code, err) : 0;
}

static const char *value_name(const struct opt *opt, int value)
{
	for (const struct opt_value *v = opt->values; v->name; v++)
		if (v->value == value)
			return v->name;
	return "";
}

static void list_text(const struct opt *opt, const void *field, char *buf, size_t size)
{
	unsigned n = *(const unsigned *)field;
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < n && at < size; i++) {
		char limit[FMT_MAX];
		const char *item;

		if (opt->type == OPT_STRINGS)
			item = ((const struct opt_strings *)field)->at[i];
		else if (opt->type == OPT_ENUMS)
			item = value_name(opt, ((const struct opt_enums *)field)->at[i]);
		else
			item = num_text_limit(limit, sizeof(limit),
					      &((const struct opt_limits *)field)->at[i]);
		at += snprintf(buf + at, size - at, "%s%s", i ? "," : "", item);
	}
}

void opt_value_text(const struct opt *opt, const void *field, char *buf, size_t size)
{
	const struct endpoint *ep = field;
	uint64_t v;

	buf[0] = '\0';
	if (types[opt->type].text) {
		v = opt->type == OPT_UINT ? *(const unsigned *)field : *(const uint64_t *)field;
		if (v)
			types[opt->type].text(buf, size, v);
	} else if (is_list(opt)) {
		list_text(opt, field, buf, size);
	} else if (opt->type == OPT_RATE) {
		num_text_rate(buf, size, field);
	} else if (opt->type == OPT_ENDPOINT && ep->family) {
		num_text_endpoint(buf, size, ep);
	} else if (opt->type == OPT_ENUM) {
		snprintf(buf, size, "%s", value_name(opt, *(const int *)field));
	} else if (opt->type == OPT_STRING && *(const char *const *)field) {
		snprintf(buf, size, "%s", *(const char *const *)field);
	}
}

int opt_value_number(const struct opt *opt, const char *text, uint64_t *v)
{
	return types[opt->type].number ? types[opt->type].number(text, v) : -ENOTSUP;
}

void opt_value_number_text(const struct opt *opt, uint64_t v, char *buf, size_t size)
{
	types[opt->type].text(buf, size, v);
}

void opt_default_text(const struct opt *opt, const char *base, char *buf, size_t size)
{
	if (opt->default_text)
		snprintf(buf, size, "%s", opt->default_text);
	else if (base && opt_takes_value(opt))
		opt_value_text(opt, base + opt->offset, buf, size);
	else
		buf[0] = '\0';
}
