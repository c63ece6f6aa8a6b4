// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The schemas of documents: of each command, whole, and from the tables that write them. */

#include "cases.h"
#include "host/lab.h"
#include "report/document.c" /* for its tables */

static const char *const commands[] = {"run",   "send",  "recv",   "trace",    "sweep", "search",
				       "check", "lab", "report", "selftest", "help"};

/* Each reference leads to a type, and what stands for nothing is nowhere. */
static void walk(struct json_object *root, struct json_object *node)
{
	if (json_object_is_type(node, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(node); i++)
			walk(root, json_object_array_get_idx(node, i));
	} else if (json_object_is_type(node, json_type_object)) {
		const char *to = json_get_text(node, "$ref");

		if (*to && !json_get(json_get(root, "$defs"), to + strlen("#/$defs/")))
			fail_msg("%s is not there", to);
		json_object_object_foreach (node, key, value) {
			assert_true(*key);
			walk(root, value);
		}
	}
}

CASE(each_document_has_a_whole_schema)
{
	for (unsigned i = 0; i < LENGTH(commands); i++) {
		struct json_object *schema = json_schema(commands[i]);

		assert_non_null(schema);
		assert_true(*json_get_text(schema, "title"));
		walk(schema, schema);
		json_object_put(schema);
	}
	assert_null(json_schema("top"));
	assert_null(json_schema("ru"));
	assert_null(json_schema(""));
}

/* The member of an object of the schema of run; NULL: there is none. */
static struct json_object *member_of(struct json_object *root, const char *of, const char *name)
{
	struct json_object *o = json_get(json_get(root, "$defs"), of);

	return json_get(json_get(o, "properties"), name);
}

static bool is_required(struct json_object *root, const char *of, const char *name)
{
	struct json_object *o = json_get(json_get(root, "$defs"), of);

	for (size_t i = 0; i < json_get_length(o, "required"); i++) {
		if (!strcmp(json_get_item_text(o, "required", i), name))
			return true;
	}
	return false;
}

CASE(tables_say_types_words_and_what_is_always_there)
{
	struct json_object *run = json_schema("run"), *scope;

	assert_string_equal(json_get_text(member_of(run, "cause", "stream"), "type"), "integer");
	assert_int_equal(json_get_u64(member_of(run, "cause", "stream"), "maximum"), UINT16_MAX);
	assert_true(json_get_u64(member_of(run, "end", "sent"), "maximum") == UINT64_MAX);
	assert_true(is_required(run, "end", "wait_ns") && is_required(run, "cause", "reason"));
	assert_false(is_required(run, "cause", "host")); /* RECORD_OMITTED */
	assert_string_equal(json_get_text(member_of(run, "cause", "host"), "type"), "string");
	scope = member_of(run, "counter", "scope");
	assert_string_equal(json_object_to_json_string_ext(scope, JSON_C_TO_STRING_PLAIN),
			    "{\"enum\":[\"flow\",\"interface\",\"host\",null]}");
	assert_string_equal(json_get_text(member_of(run, "counter", "name"), "type"), "string");
	assert_string_equal(
		json_object_to_json_string_ext(member_of(run, "cause", "reason"),
					       JSON_C_TO_STRING_PLAIN),
		"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}");
	json_object_put(run);
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
