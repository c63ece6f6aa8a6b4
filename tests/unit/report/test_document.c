// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include "cases.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/document.h"

#define SCHEMA "pktledger/run/1"

/* Facts of this host vary: a document has a placeholder for them. */
#define ENV "{\"version\":\"1.0\",\"kernel\":\"6.18.0\",\"quirks\":{}}"

static struct run_header sample_header(void)
{
	static char *argv[] = {"pktledger", "run", "-j", "\xff\"\n"};

	return (struct run_header){
		.host = "host",
		.time_ns = 1714564800123456789,
		.argv = argv,
		.argc = 4,
		.in_lab = true,
		.tx = "xsk",
		.rx = "socket",
		.tx_mode = "native copy",
		.tx_port = {"tx", "v-tx", "198.18.0.1"},
		.rx_port = {"rx", "v-rx", "198.18.0.2"},
		.port = 28779,
		.threads = 3,
		.flows = 1,
		.count = 1000,
		.payload_bytes = 512,
		.frame_bytes = 558,
		.stream0 = 65535,
		.streams = 3,
		.base = 7ULL << 32,
	};
}

static struct result res;

static struct json_object *parse(const char *text)
{
	enum json_tokener_error error;
	struct json_object *o = json_tokener_parse_verbose(text, &error);

	if (!o)
		fail_msg("not JSON (%s): %s", json_tokener_error_desc(error), text);
	return o;
}

/* The document or the lines of one run. The caller frees. */
static char *print(enum json_mode mode, const struct run_header *head, const struct result *r,
		   const struct error *err)
{
	struct experiment_interval interval = {.time_ns = 5,
					       .sent = 4,
					       .delivered = 3,
					       .dropped = 1,
					       .tx_cpu_ns = 21,
					       .rx_cpu_ns = 22,
					       .memory_bytes = 4096};
	const struct limit limit = {STAGE_NONE, LIMIT_SHARE, 0.5};
	struct json_out *o;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	o = json_out_new(f, mode, SCHEMA);
	assert_non_null(o);
	if (head)
		json_out_once(o, "start", json_start(head, parse(ENV)));
	for (; head && interval.time_ns < 8; interval.time_ns++)
		json_out_each(o, "interval", json_interval(&interval));
	if (r) {
		json_out_each(o, "limit", json_limit(&limit, 0.75, true));
		json_out_once(o, "end", json_end(r));
	}
	if (err)
		json_out_once(o, "error", json_error(err));
	assert_int_equal(json_out_finish(o), 0);
	fclose(f);
	return text;
}

/* A member by its path, "end.stages.0.packets". */
static struct json_object *at(struct json_object *o, const char *path)
{
	char copy[128], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *key = strtok_r(copy, ".", &save); key; key = strtok_r(NULL, ".", &save)) {
		if (json_object_is_type(o, json_type_array))
			o = json_object_array_get_idx(o, strtoul(key, NULL, 10));
		else if (!json_object_object_get_ex(o, key, &o))
			fail_msg("%s: no %s", path, key);
	}
	return o;
}

/* A result of tests/golden, which `res` borrows; test_golden.py has the text and the tables. */
static struct json_object *golden(const char *name)
{
	char path[300];
	struct json_object *o;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	o = json_object_from_file(path);
	if (!o)
		fail_msg("cannot read %s (run from the top of the tree)", path);
	json_read_end(at(o, "end"), &res);
	if (res.arrivals.latency.measured) { /* the histogram is for other programs: not read */
		res.arrivals.delay[40] = 400000;
		res.arrivals.delay[43] = 67605;
	}
	return o;
}

/* A document that was read is written as it was. */
CASE(results_are_documents)
{
	static const char *const names[] = {"run-clean.json", "run-losses.json", "run-wrong.json",
					    "run-wrong-in-lab.json", "run-many-causes.json"};

	for (unsigned i = 0; i < LENGTH(names); i++) {
		struct json_object *o = golden(names[i]), *end = json_end(&res);

		if (!json_object_equal(end, at(o, "end")))
			fail_msg("%s: %s", names[i], json_object_to_json_string(end));
		json_object_put(end);
		json_object_put(o);
	}
}

CASE(whole_document)
{
	const struct run_header head = sample_header();
	struct json_object *o = golden("run-wrong.json"), *doc;
	char *text = print(JSON_DOC, &head, &res, NULL);

	doc = parse(text);
	if (!json_object_equal(doc, o))
		fail_msg("%s", text);
	json_object_put(doc);
	json_object_put(o);
	free(text);
}

CASE(lines_are_the_document)
{
	struct run_header head = sample_header();
	char *doc_text, *lines, *line, *save = NULL;
	struct json_object *doc, *put, *read;
	unsigned n = 0;

	read = golden("run-wrong.json");
	doc_text = print(JSON_DOC, &head, &res, NULL);
	lines = print(JSON_LINES, &head, &res, NULL);
	doc = parse(doc_text);
	put = json_object_new_object();
	for (line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		struct json_object *o = parse(line), *list;
		const char *event = json_object_get_string(at(o, "event"));
		struct json_object *data = json_object_get(at(o, "data"));
		char plural[32];

		if (!n)
			json_put(put, "schema", json_object_get(at(o, "schema")));
		snprintf(plural, sizeof(plural), "%ss", event);
		if (strcmp(event, "interval") && strcmp(event, "limit")) {
			json_put(put, event, data);
		} else {
			if (!json_object_object_get_ex(put, plural, &list)) {
				list = json_object_new_array();
				json_put(put, plural, list);
			}
			json_object_array_add(list, data);
		}
		json_object_put(o);
	}
	assert_int_equal(n, 6);
	assert_true(json_object_equal(doc, put));
	json_object_put(doc);
	json_object_put(put);
	json_object_put(read);
	free(doc_text);
	free(lines);
}

CASE(error_alone_is_a_document)
{
	const struct error err = {STATUS_UNABLE, "no BTF", ""};
	char *text = print(JSON_DOC, NULL, NULL, &err);
	struct json_object *doc = parse(text);

	assert_string_equal(json_object_get_string(at(doc, "error.message")), "no BTF");
	assert_int_equal(json_object_get_int(at(doc, "error.status")), 3);
	assert_null(at(doc, "error.hint"));
	json_object_put(doc);
	free(text);
	text = print(JSON_DOC, NULL, NULL, NULL); /* ended before anything was known */
	json_object_put(parse(text));
	free(text);
}

CASE(numbers_are_finite)
{
	struct json_object *o = json_object_new_object();

	json_put_double(o, "nan", NAN);
	json_put_double(o, "inf", INFINITY);
	json_put_double(o, "big", 1e15);
	assert_null(at(o, "nan"));
	assert_null(at(o, "inf"));
	assert_string_equal(json_object_to_json_string(at(o, "big")), "1000000000000000.000");
	json_object_put(o);
}

CASE(full_disk_is_told)
{
	struct run_header head = sample_header();
	FILE *f = fopen("/dev/full", "w");
	struct json_out *o;

	if (!f)
		skip();
	o = json_out_new(f, JSON_DOC, SCHEMA);
	json_out_once(o, "start", json_start(&head, NULL));
	assert_int_equal(json_out_finish(o), -ENOSPC);
	fclose(f);
}
