// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The tables of records beside tools/schema, which is written by hand: keys, types, words. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "base/json.h"
#include "host/lab.h"
#include "report/document.c" /* for its tables, which nobody else reads */

/* All tables: of what schema, and which object in it, by its path. Ends with a NULL schema. */
static const struct document_part {
	const char *schema, *path;
	const struct record_field *rows;
} document_parts[] = {
	{"run", "start", origin_rows},
	{"run", "start", start_rows},
	{"run", "start.repeat", repeat_rows},
	{"run", "intervals", interval_rows},
	{"run", "limits", limit_rows},
	{"run", "end", sending_rows},
	{"run", "end", receiving_rows},
	{"run", "end", arrivals_rows},
	{"run", "end", open_rows},
	{"run", "end", tracing_rows},
	{"run", "end.stages", sums_rows},
	{"run", "end.stages.causes", cause_rows},
	{"run", "end.stages.counters", counter_rows},
	{"run", "end", rest_rows},
	{"send", "start", origin_rows},
	{"send", "start", send_rows},
	{"send", "end", sending_rows},
	{"send", "end", tracing_rows},
	{"recv", "start", origin_rows},
	{"recv", "start", recv_rows},
	{"recv", "end", received_rows},
	{"recv", "end", receiving_rows},
	{"recv", "end", arrivals_rows},
	{"recv", "end", lost_rows},
	{"recv", "end", tracing_rows},
	{"search", "trials", found_trial_rows},
	{"search", "end", found_rows},
	{0},
};

static struct json_object *root; /* of the schema */
static unsigned wrong;

/* What a schema stands for, if it refers to another. */
static struct json_object *resolve(struct json_object *node)
{
	const char *to = json_get_text(node, "$ref");

	if (strncmp(to, "#/$defs/", 8))
		return node;
	node = json_get(json_get(root, "$defs"), to + 8);
	assert_non_null(node);
	return resolve(node);
}

/* Calls for a schema and all of its alternatives, until one says true. */
static bool any(struct json_object *node, bool (*is)(struct json_object *node, void *arg),
		void *arg)
{
	static const char *const lists[] = {"anyOf", "oneOf", "allOf"};

	if (is(node, arg))
		return true;
	if (node != resolve(node) && any(resolve(node), is, arg))
		return true;
	for (unsigned k = 0; k < 3; k++) {
		for (size_t i = 0; i < json_get_length(node, lists[k]); i++) {
			if (any(json_get_item(node, lists[k], i), is, arg))
				return true;
		}
	}
	return false;
}

struct wanted {
	const char *name;
	struct json_object *found;
};

static bool has_member(struct json_object *node, void *arg)
{
	struct wanted *w = arg;

	w->found = json_get(json_get(node, "properties"), w->name);
	return w->found;
}

static bool has_items(struct json_object *node, void *arg)
{
	struct wanted *w = arg;

	w->found = json_get(node, "items");
	return w->found;
}

static bool has_words(struct json_object *node, void *arg)
{
	struct wanted *w = arg;

	w->found = json_get(node, "enum");
	return w->found;
}

/* Whether a word of a list is it; `null`: a null is. */
static bool lists(struct json_object *list, const char *word)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (!item ? !strcmp(word, "null") : !strcmp(json_object_get_string(item), word))
			return true;
	}
	return false;
}

static bool has_type(struct json_object *node, void *arg)
{
	const char *type = arg;
	struct json_object *types = json_get(node, "type"), *words = json_get(node, "enum");

	if (json_object_is_type(types, json_type_array))
		return lists(types, type);
	if (types)
		return !strcmp(json_object_get_string(types), type) ||
		       (!strcmp(type, "integer") &&
			!strcmp(json_object_get_string(types), "number"));
	if (words)
		return !strcmp(type, "string") || (!strcmp(type, "null") && lists(words, "null"));
	return json_get(node, "const") && !strcmp(type, "string");
}

static struct json_object *member_of(struct json_object *node, const char *name)
{
	struct wanted w = {.name = name};

	return any(node, has_member, &w) ? w.found : NULL;
}

static const char *type_of(const struct record_field *f)
{
	static const char *const names[] = {
		[RECORD_UINT] = "integer",  [RECORD_INT] = "integer", [RECORD_BOOL] = "boolean",
		[RECORD_DOUBLE] = "number", [RECORD_TEXT] = "string", [RECORD_POINTER] = "string",
		[RECORD_WORD] = "string",   [RECORD_ENUM] = "string", [RECORD_TIME] = "string",
		[RECORD_NESTED] = "object", [RECORD_OWN] = NULL,      [RECORD_JSON] = NULL,
	};

	return f->items ? "array" : names[f->type];
}

static void compare(const char *where, struct json_object *node, const struct record_field *rows);

static void complain(const char *path, const char *what, const char *word)
{
	print_error("%s %s %s\n", path, what, word);
	wrong++;
}

static void compare_field(const char *where, struct json_object *node, const struct record_field *f)
{
	const char *type = type_of(f);
	struct wanted words = {};
	char path[256];

	snprintf(path, sizeof(path), "%s.%s", where, f->key);
	node = member_of(node, f->key);
	if (!node) {
		complain(path, "is not in the schema", "");
		return;
	}
	if (type && !any(node, has_type, (void *)type))
		complain(path, "is not in the schema as", type);
	if (((f->when && !(f->how & RECORD_OMITTED)) || f->how & RECORD_NULL) &&
	    !any(node, has_type, "null"))
		complain(path, "is never null in the schema", "");
	if (f->names && any(node, has_words, &words)) {
		for (unsigned i = 0; i < f->names_n; i++) {
			if (f->names[i] && !lists(words.found, f->names[i]))
				complain(path, "is never in the schema", f->names[i]);
		}
	}
	if (!f->rows)
		return;
	if (f->items || f->type == RECORD_OWN) {
		struct wanted items = {};

		if (any(node, has_items, &items))
			node = items.found;
	}
	compare(path, node, f->rows);
}

static void compare(const char *where, struct json_object *node, const struct record_field *rows)
{
	for (const struct record_field *f = rows; f->key; f++)
		compare_field(where, node, f);
}

/* The object at the end of a path, "end.stages": of lists their items. */
static struct json_object *at(const char *path)
{
	struct json_object *node = root;
	char copy[64], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *key = strtok_r(copy, ".", &save); key; key = strtok_r(NULL, ".", &save)) {
		struct json_object *member = member_of(node, key);
		struct wanted items = {};

		if (!member && node == root)
			member = json_get(json_get(root, "$defs"), key);
		if (!member)
			fail_msg("there is no %s of %s in the schema", key, path);
		node = any(member, has_items, &items) ? items.found : member;
	}
	return node;
}

CASE(records_are_in_the_schema)
{
	unsigned n = 0;

	for (const struct document_part *part = document_parts; part->schema; part++, n++) {
		char file[64], where[64];

		snprintf(file, sizeof(file), "tools/schema/%s.schema.json", part->schema);
		snprintf(where, sizeof(where), "%s: %s", part->schema, part->path);
		root = json_object_from_file(file);
		assert_non_null(root);
		compare(where, at(part->path), part->rows);
		json_object_put(root);
	}
	assert_true(n > 20);
	assert_int_equal(wrong, 0);
}

/* The names that document.c has of its own. */
CASE(topologies_have_their_names)
{
	for (const struct opt_value *v = lab_topologies; v->name; v++) {
		const struct run_header head = {.in_lab = true,
						.topology = (enum lab_topology)v->value};
		struct json_object *start = json_start(&head, NULL);

		assert_string_equal(json_get_text(json_get(start, "lab"), "topology"), v->name);
		json_object_put(start);
	}
}
