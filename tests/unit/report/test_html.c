// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include "cases.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/document.h"
#include "out_sample.h"
#include "report/page.h"
#include "report/print.h"
#include "report/load.h"

#define EVIL "</script><!--<script>\"'&\xff\xc3\xa9\x01"

static struct result res;

CASE(names_are_no_markup)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	html_text(f, EVIL);
	html_text(f, NULL);
	fclose(f);
	assert_string_equal(text, "&lt;/script&gt;&lt;!--&lt;script&gt;&quot;&#39;&amp;"
				  "\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
	free(text);
}

CASE(data_stays_in_its_element)
{
	struct json_object *o = json_object_new_object(), *again;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	json_object_object_add(o, "<!--", json_object_new_string(EVIL));
	html_json(f, o);
	fclose(f);
	assert_null(strpbrk(text, "<"));
	again = json_tokener_parse(text);
	assert_non_null(again);
	assert_string_equal(json_object_get_string(json_object_object_get(again, "<!--")),
			    "</script><!--<script>\"'&\xef\xbf\xbd\xc3\xa9\x01");
	json_object_put(again);
	json_object_put(o);
	free(text);
}

/* The document of a run, as `run -j` prints it. To be put. */
static struct json_object *document(const struct result *r, unsigned intervals)
{
	struct experiment_interval now = {};
	struct run_header head = sample_header();
	struct json_out *o;
	struct json_object *doc;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	o = json_out_new(f, JSON_DOC, "pktledger/run/1");
	assert_non_null(o);
	json_out_once(o, "start", json_start(&head, NULL));
	for (unsigned i = 1; i <= intervals; i++) {
		now.time_ns = i * 10000000ULL;
		now.sent = r->sent * i / intervals;
		now.delivered = r->delivered * i / intervals;
		now.dropped = r->dropped * i / intervals;
		for (int s = 0; s < STAGE_COUNT; s++) {
			now.stage[s].packets = r->stage[s].packets * i / intervals;
			now.stage[s].events = now.stage[s].packets;
		}
		json_out_each(o, "interval", json_interval(&now));
	}
	json_out_once(o, "end", json_end(r));
	assert_int_equal(json_out_finish(o), 0);
	fclose(f);
	doc = json_tokener_parse(text);
	assert_non_null(doc);
	free(text);
	return doc;
}

/* The page. The caller frees. */
static char *page(struct json_object *doc)
{
	const struct ledgers_document d = {.path = "file " EVIL, .json = doc};
	const struct html_page whole = {.docs = &d, .n = 1};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(html_write(f, &whole), 0);
	fclose(f);
	return text;
}

/* By tests/html_check.py: well-formed, alone, and what its policy allows is what it has. */
static void check(const char *text)
{
	FILE *f = popen("/usr/bin/python3 tests/html_check.py", "w");
	int status;

	assert_non_null(f);
	fputs(text, f);
	status = pclose(f);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void check_document(struct json_object *doc)
{
	char *text = page(doc);

	check(text);
	free(text);
	json_object_put(doc);
}

CASE(pages_are_true)
{
	sample_clean(&res);
	check_document(document(&res, 0));
	sample_losses(&res);
	check_document(document(&res, 10));
	sample_wrong(&res);
	check_document(document(&res, 1000));
	memset(&res, 0, sizeof(res));
	check_document(document(&res, 1));
}

/* A document that is a sweep and a search in one. To be put. */
static struct json_object *many_trials(void)
{
	struct json_object *doc, *trials = json_object_new_array();

	sample_losses(&res);
	doc = document(&res, 0);
	for (unsigned i = 0; i < 3; i++) {
		struct json_object *trial = json_end(&res), *p = json_object_new_object();

		json_put_text(p, i == 2 ? "phase" : "rcvbuf", i ? "64k" : EVIL);
		json_put_double(p, "rate_pps", 1000.0 * i);
		json_put(trial, "parameters", p);
		json_put_double(trial, "loss_fraction", 0.5 * i);
		json_object_array_add(trials, trial);
	}
	json_put(doc, "trials", trials);
	json_put(doc, "end",
		 json_tokener_parse("{\"balanced\":true,\"ndr\":{\"lower_pps\":400000,"
				    "\"upper_pps\":410000,\"stage\":\"rcvbuf\"},\"points\":[{"
				    "\"trials\":2,\"tx_pps\":{\"median\":2e5},\"lost_fraction\":{"
				    "\"median\":0.1,\"min\":0,\"max\":1}}]}"));
	return doc;
}

CASE(trials_have_their_pages)
{
	check_document(many_trials());
}

static struct json_object *any_run(unsigned intervals)
{
	sample_wrong(&res);
	return document(&res, intervals);
}

static char huge[20000];

/* Of two captures, and of ledgers that were joined. To be put. */
static struct json_object *joined(void)
{
	struct json_object *doc = any_run(2), *senders = json_object_new_array();

	for (unsigned i = 0; i < 2; i++) {
		struct json_object *sender = any_run(0);

		json_put(sender, "schema", NULL);
		json_object_array_add(senders, sender);
	}
	json_put(doc, "senders", senders);
	json_put(doc, "unknown_streams",
		 json_tokener_parse("[{\"delivered\":3,\"stream\":1,\"base\":2}]"));
	json_put(doc, "notes", json_tokener_parse("[\"a part is missing\"]"));
	json_put(doc, "limits",
		 json_tokener_parse("[{\"limit\":\"x\",\"broken\":true,\"measured\":1.5}]"));
	json_put(doc, "between",
		 json_tokener_parse(
			 "{\"method\":\"rtp\",\"a\":{\"file\":\"a\",\"packets\":9,\"compared\":"
			 "8,\"cut\":1},\"b\":{\"file\":\"b\",\"dropped_by_capture\":1},"
			 "\"matched\":5,\"lost\":2,\"gaps\":1,\"unknown\":{\"outside\":1},"
			 "\"latency_ns\":{\"min\":-9223372036854775808,\"max\":7},"
			 "\"flows\":[{\"flow\":\"f\",\"packets\":4,\"missing\":2}]}"));
	return doc;
}

/* Puts something else in the place of members at random, all over a document. */
static void spoil(struct json_object *o, unsigned depth)
{
	static const char *const other[] = {
		"null", "true",	 "-1",	 "18446744073709551615", "1e308", "NaN",
		"[]",	"[[1]]", "[{}]", "{\"stage\":1}",	 "\"\"",  "[null]",
	};

	if (depth > 8)
		return;
	if (json_object_is_type(o, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(o); i++)
			spoil(json_object_array_get_idx(o, i), depth + 1);
		return;
	}
	if (!json_object_is_type(o, json_type_object))
		return;
	json_object_object_foreach (o, key, value) {
		int dice = rand() % 40;

		if (dice < (int)(sizeof(other) / sizeof(other[0])))
			json_object_object_add(o, key, json_tokener_parse(other[dice]));
		else if (dice < 16)
			json_object_object_add(o, key, json_object_new_string("<b id=zq>" EVIL));
		else if (dice < 17)
			json_object_object_add(o, key, json_object_new_string(huge));
		else
			spoil(value, depth + 1);
	}
}

static unsigned times(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what))) {
		text++;
		n++;
	}
	return n;
}

CASE(any_document_gives_a_page)
{
	srand(1);
	memset(huge, 'x', sizeof(huge) - 1);
	for (unsigned i = 0; i < 200; i++) {
		struct json_object *doc = i % 3 ? i % 2 ? many_trials() : any_run(i % 7) : joined();
		char *text;

		spoil(doc, 0);
		text = page(doc);
		assert_int_equal(times(text, "<b id=zq>"), 0);
		assert_int_equal(times(text, "<script"), 3);
		assert_int_equal(times(text, "</script"), 3);
		assert_int_equal(times(text, "</html>\n"), 1);
		if (i % 16 == 0) /* a process each */
			check(text);
		free(text);
		json_object_put(doc);
	}
}

/* Beside each other, and as a matrix, for people and as a page. */
CASE(any_documents_are_compared)
{
	FILE *nowhere = fopen("/dev/null", "w");
	const struct print_view text = {.out = nowhere, .width = 80};

	assert_non_null(nowhere);
	srand(2);
	for (unsigned i = 0; i < 100; i++) {
		struct json_object *doc[2] = {joined(), i % 2 ? joined() : many_trials()};
		const struct ledgers_document docs[2] = {
			{.json = doc[0], .command = "run", .path = "a"},
			{.json = doc[1], .command = "run", .path = "b"},
		};
		struct html_page page = {.docs = docs, .n = 2};
		struct error err = {};

		spoil(doc[0], 0);
		spoil(doc[1], 0);
		page.comparison = compare_documents(&docs[0], &docs[1]);
		assert_non_null(page.comparison);
		assert_int_equal(html_write(nowhere, &page), 0);
		compare_print(&text, &docs[0], &docs[1], page.comparison);
		print_joined(&text, doc[0]);
		json_object_put(page.comparison);
		page.comparison = NULL;
		if (!matrix_new(docs, 2, &page.matrix, &err)) {
			assert_int_equal(html_write(nowhere, &page), 0);
			matrix_print(&text, page.matrix);
		}
		json_object_put(page.matrix);
		json_object_put(doc[0]);
		json_object_put(doc[1]);
	}
	fclose(nowhere);
}

/* At most 240 points, whose last is the sum of all; the highest rate is kept. */
CASE(a_long_history_keeps_its_sum_and_its_peak)
{
	struct json_object *doc, *list, *last;
	struct ledgers_document d;
	struct html_page live = {.docs = &d, .n = 1};
	char *text = NULL;
	size_t size, n;
	FILE *f = open_memstream(&text, &size);

	sample_losses(&res);
	doc = document(&res, 1000);
	/* all is lost in the 500th of them, 10 ms long */
	for (unsigned i = 0; i < 1000; i++)
		json_put_u64(json_get_item(doc, "intervals", i), "dropped", i < 500 ? 0 : 7000);
	d = (struct ledgers_document){.json = doc};
	assert_int_equal(html_live(f, &live), 0);
	fclose(f);
	json_object_put(doc);
	doc = json_tokener_parse(text);
	free(text);
	list = json_get_item(doc, "documents", 0);
	n = json_get_length(list, "intervals");
	assert_int_equal(n, 125); /* 8 each: 4 would be 250 points */
	assert_int_equal(json_get_u64(json_get(list, "covers"), "joined"), 8);
	last = json_get_item(list, "intervals", n - 1);
	assert_int_equal(json_get_u64(last, "sent"), res.sent);
	assert_int_equal(json_sum(last, "stages", "packets"),
			 json_sum(json_get(list, "end"), "stages", "packets"));
	for (size_t i = 0; i < n; i++)
		assert_true(json_get_double(json_get_item(list, "intervals", i), "peak_pps") ==
			    (i == 62 ? 7000 / 0.01 : 0));
	json_object_put(doc);
}

CASE(a_file_is_whole_or_as_before)
{
	char path[] = "/tmp/pktledger-page-XXXXXX";
	struct ledgers_document d[2] = {{.path = "first"}, {.path = EVIL}};
	const struct html_page whole = {.docs = d, .n = 2};
	const struct load_spec spec = {
		.path = &(const char *){path}, .n = 1, .until_ns = UINT64_MAX};
	struct ledgers *l;
	struct error err = {};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	sample_wrong(&res);
	d[0].json = document(&res, 3);
	d[1].json = document(&res, 0);
	assert_int_equal(html_file(path, &whole, &err), 0);
	assert_int_equal(ledgers_load(&l, &spec, &err), 0);
	assert_int_equal(l->documents, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(json_object_equal(json_get(l->document[i].json, "start"),
					      json_get(d[i].json, "start")));
		assert_true(json_object_equal(json_get(l->document[i].json, "end"),
					      json_get(d[i].json, "end")));
		assert_int_equal(json_get_length(l->document[i].json, "intervals"), i ? 0 : 3);
		json_object_put(d[i].json);
	}
	ledgers_free(l);
	d[0].json = d[1].json = NULL;
	assert_int_not_equal(html_file("/dev/full", &whole, &err), 0);
	assert_int_equal(err.status, STATUS_FAILED);
	unlink(path);
}

CASE(a_full_disk_is_told)
{
	FILE *f = fopen("/dev/full", "w");
	const struct ledgers_document d = {};
	const struct html_page whole = {.docs = &d, .n = 1};

	assert_non_null(f);
	assert_int_equal(html_write(f, &whole), -ENOSPC);
	fclose(f);
}
