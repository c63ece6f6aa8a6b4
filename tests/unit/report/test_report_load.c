// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "cases.h"
#include "base/json.h"
#include "report/load.h"
#include "report/print.h"
#include "report/series.h"
#include "unit/scratch.h"

#define S     1000000000ULL
#define START 1714564800ULL /* 2024-05-01T12:00:00Z, s */

static struct json_object *object(const char *format, ...)
{
	struct json_object *o;
	char text[4096];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	o = json_tokener_parse(text);
	assert_non_null(o);
	return o;
}

static void put(struct ledgerfile *lf, const char *event, struct json_object *data)
{
	assert_int_equal(strcmp(event, "interval") ? ledgerfile_event(lf, event, NULL, data)
						   : ledgerfile_interval(lf, data),
			 0);
	json_object_put(data);
}

static struct ledgerfile *begin(const char *schema, unsigned second)
{
	struct json_object *start = object("{\"time\":\"2024-05-01T12:%02u:%02u.000000Z\",\"by\":["
					   "\"stage\",\"reason\",\"socket\"]}",
					   second / 60, second % 60);
	struct ledgerfile *lf;
	struct error err = {};

	assert_int_equal(ledgerfile_open(&lf, path, &err), 0);
	assert_int_equal(ledgerfile_start(lf, schema, start), 0);
	json_object_put(start);
	return lf;
}

static void finish(struct ledgerfile *lf)
{
	struct error err = {};

	assert_int_equal(ledgerfile_close(lf, &err), 0);
}

/* One second, in which a socket lost `lost`, of two flows. */
static void put_interval(struct ledgerfile *lf, unsigned second, unsigned lost)
{
	put(lf, "interval",
	    object("{\"time_ns\":%llu,\"interval_ns\":1000000000,\"dropped\":%u,\"stages\":[{"
		   "\"stage\":\"rcvbuf\",\"packets\":%u,\"bytes\":%u,\"events\":%u,\"source\":"
		   "\"event\",\"scope\":\"flow\",\"causes\":[{\"reason\":\"SOCKET_RCVBUFF\","
		   "\"socket\":\"*:%u\",\"packets\":%u,\"bytes\":%u,\"events\":%u,\"source\":"
		   "\"event\",\"scope\":\"flow\",\"note\":null}]}],\"suspect\":[],\"benign\":[],"
		   "\"flows\":[{\"stage\":\"rcvbuf\",\"flow\":\"udp 198.18.0.1:%u > "
		   "198.18.0.2:9\",\"packets\":%u,\"bytes\":%u,\"events\":%u}]}",
		   second * S, lost, lost, lost * 100, lost, 5000 + second % 2, lost, lost * 100,
		   lost, 4000 + second % 2, lost, lost * 100, lost));
}

static void write_trace(unsigned intervals)
{
	struct ledgerfile *lf = begin("pktledger/trace/1", 0);

	for (unsigned i = 1; i <= intervals; i++)
		put_interval(lf, i, i);
	put(lf, "limit", object("{\"limit\":\"loss=5\",\"time\":\"2024-05-01T12:00:06Z\"}"));
	put(lf, "end", object("{\"duration_ns\":%llu}", intervals * S));
	finish(lf);
}

static struct ledgers *load(uint64_t since, uint64_t until)
{
	const char *const paths[] = {path};
	const struct load_spec spec = {.path = paths,
				       .n = 1,
				       .since_ns = since * S,
				       .until_ns = until == UINT64_MAX ? until : until * S};
	struct error err = {};
	struct ledgers *l;

	if (ledgers_load(&l, &spec, &err))
		fail_msg("%s", err.message);
	return l;
}

static const struct ledgers_document *only(const struct ledgers *l)
{
	assert_int_equal(l->documents, 1);
	return l->document;
}

/* What all rows of an interval or of the sum tell of packets: stages, causes, flows. */
static void assert_packets(const struct json_object *o, uint64_t packets)
{
	uint64_t causes = 0, flows = 0;
	struct json_object *stage = json_get_item(o, "stages", 0);

	assert_int_equal(json_get_u64(o, "dropped"), packets);
	assert_int_equal(json_get_u64(stage, "packets"), packets);
	for (size_t i = 0; i < json_get_length(stage, "causes"); i++)
		causes += json_get_u64(json_get_item(stage, "causes", i), "packets");
	for (size_t i = 0; i < json_get_length(o, "flows"); i++)
		flows += json_get_u64(json_get_item(o, "flows", i), "packets");
	assert_int_equal(causes, packets);
	assert_int_equal(flows, packets);
}

/* However many there are: no packet is left out, and the time is covered without gaps. */
CASE_WITH(thousands_of_intervals, NULL, remove_file)
{
	const unsigned n = 5000;
	uint64_t packets = 0, time = 0;
	const struct ledgers_document *d;
	struct json_object *list;
	struct ledgers *l;

	write_trace(n);
	l = load(0, UINT64_MAX);
	d = only(l);
	list = json_get(d->json, "intervals");
	assert_int_equal(json_get_u64(json_get(d->json, "covers"), "intervals"), n);
	assert_int_equal(json_get_u64(json_get(d->json, "covers"), "joined"), 8);
	assert_int_equal(json_object_array_length(list), n / 8);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		assert_packets(o, json_get_u64(o, "dropped"));
		packets += json_get_u64(o, "dropped");
		assert_true(json_get_double(o, "peak_pps") == 8.0 * (double)(i + 1));
		assert_int_equal(json_get_u64(o, "time_ns"), time + json_get_u64(o, "interval_ns"));
		time = json_get_u64(o, "time_ns");
	}
	assert_int_equal(time, n * S);
	assert_int_equal(packets, (uint64_t)n * (n + 1) / 2);
	assert_packets(json_get(d->json, "sum"), packets);
	assert_packets(json_get_item(d->json, "worst", 0), n);
	ledgers_free(l);
}

/* Printing them with -j would not be valid JSON. */
CASE_WITH(values_that_json_has_not, NULL, remove_file)
{
	static const char *const values[] = {
		"NaN",		"-Infinity",   "1e999",	       "\"\xed\xa0\x80\"",
		"\"\xc0\x80\"", "\"\\u0000\"", "{\"\xff\":1}", "1,"};

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct ledgers *l;
		char text[128];
		FILE *f;

		snprintf(text, sizeof(text), "{\"event\":\"limit\",\"data\":{\"limit\":%s}}",
			 values[i]);
		write_trace(1);
		f = fopen(path, "a");
		fprintf(f, "%08lx %s\n", crc32_z(0, (const void *)text, strlen(text)), text);
		fclose(f);
		l = load(0, UINT64_MAX);
		if (l->file->odd != 1 || json_get_length(only(l)->json, "limits") != 1)
			fail_msg("%s was taken", values[i]);
		ledgers_free(l);
		unlink(path);
	}
}

int main(void)
{
	return run_cases(make_dir, remove_dir);
}
