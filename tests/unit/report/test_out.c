// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include "cases.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "diagnosis/facts.h"
#include "report/document.h"
#include "out_sample.h"
#include "schema.h"

#define SCHEMA "pktledger/run/1"

static struct result res;

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
		json_out_once(o, "start", json_start(head, env_read(NULL)));
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

static struct json_object *parse(const char *text)
{
	enum json_tokener_error error;
	struct json_object *o = json_tokener_parse_verbose(text, &error);

	if (!o)
		fail_msg("not JSON (%s): %s", json_tokener_error_desc(error), text);
	return o;
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

static void is_u64(struct json_object *o, const char *path, uint64_t wanted)
{
	assert_true(json_object_is_type(at(o, path), json_type_int));
	if (json_object_get_uint64(at(o, path)) != wanted)
		fail_msg("%s is %s, not %llu", path, json_object_to_json_string(at(o, path)),
			 (unsigned long long)wanted);
}

static void is_text(struct json_object *o, const char *path, const char *wanted)
{
	assert_true(json_object_is_type(at(o, path), json_type_string));
	assert_string_equal(json_object_get_string(at(o, path)), wanted);
}

CASE(start_tells_the_plan)
{
	struct run_header head = sample_header();
	char *text = print(JSON_DOC, &head, NULL, NULL);
	struct json_object *doc = parse(text);

	is_text(doc, "schema", SCHEMA);
	is_text(doc, "start.time", "2024-05-01T12:00:00.123456Z");
	is_text(doc, "start.granted_mode.tx", "native copy");
	assert_null(at(doc, "start.granted_mode.rx"));
	assert_null(at(doc, "start.rate_pps"));
	is_text(doc, "start.command.3", "\xef\xbf\xbd\"\n");
	is_u64(doc, "start.rx_port.port", 28779);
	is_u64(doc, "start.streams.0.stream", 65535);
	is_u64(doc, "start.streams.0.count", 334);
	is_u64(doc, "start.streams.1.stream", 0); /* 16 bits */
	is_u64(doc, "start.streams.2.count", 333);
	is_u64(doc, "start.streams.2.base", 7ULL << 32);
	is_text(doc, "start.env.version", PKTLEDGER_VERSION);
	assert_int_equal(json_object_array_length(at(doc, "intervals")), 3);
	is_u64(doc, "intervals.2.time_ns", 7);
	is_u64(doc, "intervals.2.tx_cpu_ns", 21);
	is_u64(doc, "intervals.2.rx_cpu_ns", 22);
	is_u64(doc, "intervals.2.memory_bytes", 4096);
	json_object_put(doc);
	free(text);
}

CASE(end_tells_the_ledger)
{
	struct json_object *end;

	sample_losses(&res);
	end = json_end(&res);
	is_u64(end, "delivered", 467635);
	is_u64(end, "dropped", 532365);
	assert_null(at(end, "latency_ns"));
	assert_true(json_object_get_boolean(at(end, "balanced")));
	assert_int_equal(json_object_array_length(at(end, "stages")), 4);
	is_text(end, "stages.0.stage", "qdisc"); /* in the order of the path */
	is_text(end, "stages.1.stage", "netfilter");
	is_text(end, "stages.2.stage", "udp_mem");
	is_text(end, "stages.3.stage", "rcvbuf");
	is_u64(end, "stages.1.packets", 100000);
	is_u64(end, "stages.1.bytes", 54000000);
	assert_int_equal(json_object_array_length(at(end, "stages.1.causes")), 2);
	is_text(end, "stages.1.causes.0.hook", "input");
	is_text(end, "stages.1.causes.1.netns", "router");
	is_u64(end, "stages.1.causes.1.first", 3);
	is_u64(end, "stages.1.causes.1.last", 102);
	is_text(end, "stages.2.counters.0.note", "as newer kernels do");
	assert_false(json_object_get_boolean(at(end, "stages.2.counters.0.agrees")));
	is_u64(end, "stages.3.counters.0.delta", 312345);
	is_text(end, "findings.0.id", "rcvbuf-burst");
	assert_null(at(end, "findings.0.undo"));
	json_object_put(end);
}

CASE(end_tells_what_is_wrong)
{
	struct json_object *end;

	sample_wrong(&res);
	end = json_end(&res);
	is_u64(end, "refused_by.ENOBUFS", 11000);
	is_u64(end, "refused_by.unknown", 1000);
	is_u64(end, "unaccounted_last_seen.nowhere", 5);
	is_u64(end, "unaccounted_last_seen.tx_device", 20);
	is_u64(end, "replies", UINT64_MAX);
	is_u64(end, "latency_ns.p999", 1200000);
	is_u64(end, "latency_histogram.0.from_ns", 32768);
	is_u64(end, "latency_histogram.1.to_ns", 65535);
	is_u64(end, "latency_histogram.1.packets", 67605);
	is_u64(end, "missed.suppressed", 25);
	is_u64(end, "slipped_ns", 12000000);
	assert_false(json_object_get_boolean(at(end, "balanced")));
	assert_true(json_object_get_boolean(at(end, "interrupted")));
	/* no loss, but a counter that disagrees */
	is_text(end, "stages.2.stage", "udp_csum");
	is_u64(end, "stages.2.packets", 0);
	assert_null(at(end, "stages.2.source"));
	json_object_put(end);
}

CASE(lines_are_the_document)
{
	struct run_header head = sample_header();
	char *doc_text, *lines, *line, *save = NULL;
	struct json_object *doc, *put;
	unsigned n = 0;

	sample_wrong(&res);
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
	/* env is read anew each time: time goes on */
	json_object_object_del(at(doc, "start"), "env");
	json_object_object_del(at(put, "start"), "env");
	assert_true(json_object_equal(doc, put));
	json_object_put(doc);
	json_object_put(put);
	free(doc_text);
	free(lines);
}

CASE(error_alone_is_a_document)
{
	const struct error err = {STATUS_UNABLE, "no BTF", ""};
	char *text = print(JSON_DOC, NULL, NULL, &err);
	struct json_object *doc = parse(text);

	is_text(doc, "error.message", "no BTF");
	is_u64(doc, "error.status", 3);
	assert_null(at(doc, "error.hint"));
	json_object_put(doc);
	free(text);
	text = print(JSON_DOC, NULL, NULL, NULL); /* ended before anything was known */
	json_object_put(parse(text));
	free(text);
}

CASE(no_name_spoils_the_json)
{
	static const struct {
		const char *in, *out;
	} texts[] = {
		{"a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xc3", "\xef\xbf\xbd"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},		  /* overlong */
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
		{"\xf4\x90\x80\x80z",
		 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz"}, /* beyond U+10FFFF */
	};
	struct json_object *o = json_object_new_object();

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct json_object *s = json_text(texts[i].in);

		assert_string_equal(json_object_get_string(s), texts[i].out);
		json_object_put(s);
	}
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

CASE(matches_schema)
{
	const struct error err = {STATUS_FAILED, "the device went away", "put it back"};
	struct run_header head = sample_header();
	char *text[4];

	if (access("/usr/bin/python3", X_OK))
		skip();
	sample_losses(&res);
	text[0] = print(JSON_DOC, &head, &res, NULL);
	sample_wrong(&res);
	text[1] = print(JSON_DOC, &head, &res, &err);
	text[2] = print(JSON_DOC, NULL, NULL, &err);
	text[3] = print(JSON_DOC, &head, NULL, NULL);
	if (validate("run", text[0], false) == 77) {
		print_message("skipped: python3 has no jsonschema\n");
		skip();
	}
	for (int i = 0; i < 4; i++) {
		/* the last has neither end nor error */
		assert_int_equal(validate("run", text[i], i == 3), i == 3);
		free(text[i]);
	}
}
