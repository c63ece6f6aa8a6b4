// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/print.h"

/* A run from one host to another; `stages` as in JSON. */
static struct json_object *run(const char *from, const char *to, unsigned delivered,
			       const char *stages)
{
	struct json_object *doc;
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"start\":{\"hosts\":{\"tx\":{\"name\":\"%s\"},\"rx\":{\"name\":\"%s\"}}},"
		 "\"end\":{\"sent\":1000,\"delivered\":%u,\"balanced\":true,\"stages\":[%s]}}",
		 from, to, delivered, stages);
	doc = json_tokener_parse(text);
	assert_non_null(doc);
	return doc;
}

static char *print(struct json_object *matrix)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	matrix_print(&(struct print_view){.out = f, .width = 80}, matrix);
	fclose(f);
	return text;
}

static int matrix_of(struct json_object *const *json, unsigned n, struct json_object **matrix,
		     struct error *err)
{
	struct ledgers_document docs[MATRIX_NODES + 1] = {};

	for (unsigned i = 0; i < n; i++)
		docs[i].json = json[i];
	return matrix_new(docs, n, matrix, err);
}

static void put_all(struct json_object **doc, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		json_object_put(doc[i]);
}

CASE(runs_of_a_pair_are_added_up)
{
	struct json_object *doc[] = {
		run("a", "b", 1000, ""),
		run("a", "b", 900,
		    "{\"stage\":\"wire\",\"packets\":40},{\"stage\":\"rcvbuf\",\"packets\":60}"),
		run("b", "a", 990, "{\"stage\":\"rcvbuf\",\"packets\":10}"),
		run("a", "b", 970, "{\"stage\":\"wire\",\"packets\":30}"),
	};
	struct json_object *matrix, *pair;
	struct error err = {};
	char *text;

	assert_int_equal(matrix_of(doc, 4, &matrix, &err), 0);
	assert_int_equal(json_get_length(matrix, "nodes"), 2);
	assert_int_equal(json_get_length(matrix, "pairs"), 2);
	pair = matrix_pair(matrix, "a", "b");
	assert_int_equal(json_get_u64(pair, "runs"), 3);
	assert_int_equal(json_get_u64(pair, "sent"), 3000);
	assert_true(json_get_double(pair, "lost_fraction") > 0.0433);
	assert_true(json_get_double(pair, "lost_fraction") < 0.0434);
	assert_string_equal(json_get_text(pair, "stage"), "wire");
	assert_null(matrix_pair(matrix, "a", "a"));
	text = print(matrix);
	assert_string_equal(text, "from \\ to               a                       b\n"
				  "a                       -                       4.33 % wire\n"
				  "b                       1.00 % rcvbuf           -\n");
	free(text);
	json_object_put(matrix);
	put_all(doc, 4);
}

CASE(a_name_commands_no_terminal)
{
	struct json_object *doc[] = {run("a\\u001b[2J", "\xc3\xa9", 1000, "")}, *matrix;
	struct error err = {};
	char *text;

	assert_int_equal(matrix_of(doc, 1, &matrix, &err), 0);
	text = print(matrix);
	assert_non_null(strstr(text, "a?[2J  "));
	assert_non_null(strstr(text, "\xc3\xa9"));
	assert_null(strchr(text, '\033'));
	free(text);
	json_object_put(matrix);
	put_all(doc, 1);
}

CASE(addresses_stand_for_hosts)
{
	struct json_object *matrix,
		*doc[] = {json_tokener_parse(
			"{\"start\":{\"tx_port\":{\"address\":\"198.18.0.1\"},\"rx_port\":{"
			"\"address\":"
			"\"198.18.0.2\"}},\"end\":{\"sent\":0,\"delivered\":0,\"stages\":[]}}")};
	struct error err = {};

	assert_int_equal(matrix_of(doc, 1, &matrix, &err), 0);
	assert_non_null(matrix_pair(matrix, "198.18.0.1", "198.18.0.2"));
	assert_null(json_get(json_get_item(matrix, "pairs", 0), "lost_fraction"));
	json_object_put(matrix);
	put_all(doc, 1);
}

CASE(what_makes_no_matrix_is_told)
{
	struct json_object *many[MATRIX_NODES + 1], *matrix,
		*none[] = {json_tokener_parse("{\"start\":{},\"end\":{\"sent\":1}}"), NULL};
	struct error err = {};

	assert_int_not_equal(matrix_of(none, 2, &matrix, &err), 0);
	assert_int_equal(err.status, STATUS_FAILED);
	assert_null(matrix);
	put_all(none, 1);
	for (unsigned i = 0; i <= MATRIX_NODES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "host%u", i);
		many[i] = run(name, "host0", 1, "");
	}
	err = (struct error){};
	assert_int_equal(matrix_of(many, MATRIX_NODES, &matrix, &err), 0);
	json_object_put(matrix);
	assert_int_not_equal(matrix_of(many, MATRIX_NODES + 1, &matrix, &err), 0);
	assert_int_equal(err.status, STATUS_USAGE);
	put_all(many, MATRIX_NODES + 1);
}
