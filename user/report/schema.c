// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Generates JSON Schemas for the documents from the record tables that write them
 * (report/document.c) and from schema.txt, which describes all other members. schema.txt uses this
 * notation:
 *
 *	document NAME TITLE		members of a document, on the lines below
 *	object NAME COMMAND ..		a type that the documents of these commands refer to by @NAME
 *
 *	name:type  name?:type		a member, ? if it is optional
 *	name`text`			a description of an existing member
 *	&table  &?table			the members of a table of records, ? if all are optional
 *	!a,b|c				either a and b exist, or c exists
 *	~a>b,c				if a exists, b and c exist
 *
 *	s string, b boolean, t time, u unsigned (u65535: at most), c at least 1, p a port, i integer,
 *	r number, n number from 0, f fraction below 1, S stage, a anything, @NAME, [item], [+item]
 *	not empty, {value of each member}, {+..}, (members), <word|word>, type/type alternatives.
 *	After a type, 0 adds null, and `text` is its description
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/record.h"
#include "drops/stagemap.h"
#include "report/document.h"

static const struct {
	const char *hash, *text;
} shapes = {
#include "report/schema.txt.h"
};

static struct json_object *type(const char **at);

static struct json_object *of_type(const char *name)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "type", name);
	return o;
}

static struct json_object *bounded(const char *name, int64_t least, uint64_t most)
{
	struct json_object *o = of_type(name);

	json_put(o, "minimum", json_object_new_int64(least));
	if (most)
		json_put_u64(o, "maximum", most);
	return o;
}

/*
 * Returns the text up to one of the characters in `ends`, which is also consumed if `skipped`. The
 * caller frees it.
 */
static char *word(const char **at, const char *ends, bool skipped)
{
	size_t n = strcspn(*at, ends);
	char *text = mem_string(*at);

	text[n] = '\0';
	*at += n + (skipped && (*at)[n]);
	return text;
}

/* Returns comma-separated names as a list. */
static struct json_object *names(char *rest)
{
	struct json_object *list = json_object_new_array();

	for (char *name; (name = strsep(&rest, ","));)
		json_object_array_add(list, json_text(name));
	return list;
}

/* Adds a string to a list that does not contain it yet. */
static void add_name(struct json_object *list, const char *name, bool there)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		if (strcmp(json_object_get_string(json_object_array_get_idx(list, i)), name))
			continue;
		if (!there)
			json_object_array_del_idx(list, i, 1);
		return;
	}
	if (there)
		json_object_array_add(list, json_text(name));
}

/* Adds the members of another object. */
static void add_all(struct json_object *o, struct json_object *from)
{
	struct json_object *required = json_get(o, "required");

	json_object_object_foreach (json_get(from, "properties"), key, value)
		json_put(json_get(o, "properties"), key, json_object_get(value));
	for (size_t i = 0; i < json_get_length(from, "required"); i++)
		add_name(required, json_get_item_text(from, "required", i), true);
	if (json_get(from, "anyOf"))
		json_put(o, "anyOf", json_object_get(json_get(from, "anyOf")));
	json_object_put(from);
}

/* Adds the text between two ` if there is one at this position. */
static void describe(struct json_object *o, const char **at)
{
	char *text, *c;

	if (**at != '`')
		return;
	(*at)++;
	c = text = word(at, "`", true);
	while ((c = strpbrk(c, "\n\t")))
		*c = ' ';
	while ((c = strstr(text, "  ")))
		memmove(c, c + 1, strlen(c));
	json_put_text(o, "description", text);
	free(text);
}

static void member(struct json_object *o, const char **at)
{
	char *name = word(at, "?:`", false);
	bool there = **at != '?';

	if (**at == '`') {
		describe(json_get(json_get(o, "properties"), name), at);
		free(name);
		return;
	}
	if (!**at)
		abort(); /* not a type, so schema.txt is wrong */
	*at += there ? 1 : 2;
	json_put(json_get(o, "properties"), name, type(at));
	add_name(json_get(o, "required"), name, there);
	free(name);
}

/* Parses members up to a ) or the end of the text. */
static struct json_object *members(const char **at)
{
	struct json_object *o = of_type("object");

	json_put_list(o, "required");
	json_put_object(o, "properties");
	while (*(*at += strspn(*at, " \t\n")) && **at != ')') {
		char *text, *rest;

		if (!strchr("&!~", **at)) {
			member(o, at);
			continue;
		}
		text = rest = word(at, " \t\n)", false);
		if (*text == '&') {
			bool maybe = text[1] == '?';
			struct json_object *of = record_schema(document_table(text + 1 + maybe));

			if (maybe)
				json_put_list(of, "required");
			add_all(o, of);
		} else if (*text == '~') {
			char *key = strsep(&rest, ">") + 1;

			json_put(json_put_object(o, "dependentRequired"), key, names(rest));
		} else {
			struct json_object *list = json_put_list(o, "anyOf");

			rest++;
			for (char *one; (one = strsep(&rest, "|"));)
				json_put(json_add_object(list), "required", names(one));
		}
		free(text);
	}
	return o;
}

static struct json_object *within(const char **at, char end)
{
	const char begin = (*at)[-1];
	bool filled = begin != '(' && **at == '+';
	struct json_object *o = begin == '(' ? NULL : of_type(begin == '[' ? "array" : "object");

	*at += filled;
	if (!o)
		o = members(at);
	else
		json_put(o, begin == '[' ? "items" : "additionalProperties", type(at));
	if (filled)
		json_put_u64(o, begin == '[' ? "minItems" : "minProperties", 1);
	*at += **at == end;
	return o;
}

static struct json_object *words(const char **at)
{
	char *text = word(at, ">", true), *rest = text;
	struct json_object *o = json_object_new_object(), *list = json_put_list(o, "enum");

	for (char *one; (one = strsep(&rest, "|"));)
		json_object_array_add(list, isdigit((unsigned char)*one) && !one[1]
						    ? json_object_new_int(*one - '0')
						    : json_text(one));
	free(text);
	return o;
}

static struct json_object *stages(void)
{
	struct json_object *o = json_object_new_object(), *list = json_put_list(o, "enum");

	for (int s = 0; s < STAGE_COUNT; s++)
		json_object_array_add(list, json_text(stage_name(s)));
	return o;
}

static struct json_object *reference(const char **at)
{
	struct json_object *o = json_object_new_object();
	size_t n = strspn(*at, "abcdefghijklmnopqrstuvwxyz_");
	char to[64];

	snprintf(to, sizeof(to), "#/$defs/%.*s", (int)n, *at);
	*at += n;
	json_put_text(o, "$ref", to);
	return o;
}

static struct json_object *one_type(const char **at)
{
	struct json_object *o;
	char *end;

	switch (*(*at)++) {
	case '@':
		return reference(at);
	case '[':
		return within(at, ']');
	case '{':
		return within(at, '}');
	case '(':
		return within(at, ')');
	case '<':
		return words(at);
	case 's':
		return of_type("string");
	case 'b':
		return of_type("boolean");
	case 't':
		return record_schema_time();
	case 'u':
		if (**at < '1' || **at > '9')
			return bounded("integer", 0, UINT64_MAX);
		o = bounded("integer", 0, strtoull(*at, &end, 10));
		*at = end;
		return o;
	case 'c':
		return bounded("integer", 1, 0);
	case 'p':
		return bounded("integer", 1, 65535);
	case 'i':
		return of_type("integer");
	case 'r':
		return of_type("number");
	case 'n':
		return bounded("number", 0, 0);
	case 'f':
		o = bounded("number", 0, 0);
		json_put_u64(o, "exclusiveMaximum", 1);
		return o;
	case 'S':
		return stages();
	default: /* a: any type */
		return json_object_new_object();
	}
}

static struct json_object *type(const char **at)
{
	struct json_object *o = one_type(at), *list = NULL;

	while (**at == '/') {
		if (!list)
			list = json_object_new_array();
		json_object_array_add(list, o);
		(*at)++;
		o = one_type(at);
	}
	if (list) {
		json_object_array_add(list, o);
		o = json_object_new_object();
		json_put(o, "anyOf", list);
	}
	if (**at == '0') {
		(*at)++;
		o = record_schema_or_null(o);
	}
	describe(o, at);
	return o;
}

/* Returns true if the blank-separated list contains the word. */
static bool has_word(const char *list, const char *wanted)
{
	size_t n = strlen(wanted);

	for (const char *at = list; n && (at = strstr(at, wanted)); at += n) {
		if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	}
	return false;
}

/* Adds an entry from schema.txt if it applies to the command. */
static void add_entry(struct json_object *root, const char *command, char *entry)
{
	char *body = entry, *head = strsep(&body, "\n"), *kind = strsep(&head, " ");
	char *name = strsep(&head, " ");
	const char *at = body;
	char text[128];

	if (!strcmp(kind, "object") && has_word(head, command)) {
		at += strspn(at, "\t");
		json_put(json_get(root, "$defs"), name, type(&at));
	} else if (!strcmp(kind, "document") && !strcmp(name, command)) {
		json_put_text(root, "title", head);
		add_all(root, members(&at));
		snprintf(text, sizeof(text), "https://pktledger.invalid/schema/%s/1", command);
		json_put_text(root, "$id", text);
		snprintf(text, sizeof(text), "pktledger/%s/1", command);
		json_put_text(json_put_object(json_get(root, "properties"), "schema"), "const",
			      text);
	}
}

struct json_object *json_schema(const char *command)
{
	struct json_object *root = of_type("object");
	char *copy = mem_string(shapes.text), *next = copy, *entry;

	json_put_text(root, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_put_list(root, "required");
	json_put_object(root, "properties");
	json_put_object(root, "$defs");
	while ((entry = next)) {
		while ((next = strchr(next, '\n')) && (next[1] == '\t' || next[1] == '#'))
			next++;
		if (next)
			*next++ = '\0';
		if (*entry && *entry != '#')
			add_entry(root, command, entry);
	}
	free(copy);
	if (json_get(root, "title"))
		return root;
	json_object_put(root);
	return NULL;
}
