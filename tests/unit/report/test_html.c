// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include "cases.h"
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/document.h"
#include "out_sample.h"
#include "report/html_page.h"
#include "report/page.h"
#include "report/print.h"
#include "report/load.h"

#define EVIL "</script><!--<script>\"'&\xff\xc3\xa9\x01"

static struct result res;

static char *put(const char *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	html_put(&(struct html){.out = f}, "<a b=\"%s\">%.1f %u%% %lu %d", s, 1.25, 7U, UINT64_MAX,
		 -1);
	fclose(f);
	return text;
}

CASE(names_are_no_markup)
{
	char *text = put(EVIL);

	assert_string_equal(text, "<a b=\"&lt;/script&gt;&lt;!--&lt;script&gt;&quot;&#39;&amp;"
				  "\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\">1.2 7% "
				  "18446744073709551615 -1");
	free(text);
	text = put(NULL);
	assert_string_equal(text, "<a b=\"\">1.2 7% 18446744073709551615 -1");
	free(text);
}

CASE(data_stays_in_its_element)
{
	struct json_object *o = json_object_new_object(), *again;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	json_object_object_add(o, "<!--", json_object_new_string(EVIL));
	html_put_json(f, o);
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

/* Heading, line, row, table and finding, as text (`h` NULL) or HTML. The caller frees. */
static char *printed(struct html *h)
{
	static const struct page_column columns[] = {
		{"name", 8, false}, {"n", 6, true}, {NULL, 0, false}};
	struct json_object *finding = json_tokener_parse(
		"{\"id\":\"x\",\"stage\":\"rcvbuf\",\"severity\":\"error\",\"text\":\"Full <b>.\","
		"\"evidence\":\"3 lost\",\"command\":\"a  'b'\",\"undo\":\"c\",\"host\":\"vm\"}");
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct page p = page_open(f, false, 1000);

	if (h) {
		h->out = f;
		p = page_open_html(h);
	}
	page_heading(&p, "sums", ": all");
	page_row(&p, STYLE_BAD, 2, "rcvbuf", 10, 1000);
	page_words(&p, STYLE_DIM, "in\v%s", "<v-rx>");
	page_end(&p);
	page_text(&p, 0, STYLE_PLAIN, "- ");
	page_words(&p, STYLE_PLAIN, "a note");
	page_end(&p);
	p.indent = 0;
	page_table(&p, columns);
	page_cell(&p, STYLE_PLAIN, "wire");
	page_cell(&p, STYLE_BOLD, "7");
	page_end(&p);
	page_finding(&p, NULL, finding);
	fclose(f);
	json_object_put(finding);
	return text;
}

CASE(the_same_calls_print_text_and_html)
{
	struct html h = {.lossy = {[STAGE_RCVBUF] = true, [STAGE_WIRE] = true}};
	char *text = printed(NULL), *html = printed(&h);

	assert_string_equal(text, "\nsums: all\n"
				  "  rcvbuf           10   1.00 %  in <v-rx>\n"
				  "- a note\n"
				  "name         n\n"
				  "wire         7\n"
				  "\nrcvbuf on vm - Full <b>.\n"
				  "  measured  3 lost\n"
				  "  command   a  'b'\n"
				  "  undo      c\n");
	assert_string_equal(
		html,
		"<h3>Sums: all</h3><div class=\"scroll\"><table class=\"rows\"><tbody><tr>"
		"<th class=\"bad\"><i class=\"key c1\"></i>rcvbuf<br><small>receive buffer of the "
		"socket</small><td class=\"n bad\">10"
		"<td class=\"n\">1.00 %<td> <span class=\"dim\">in &lt;v-rx&gt;</span>"
		"</tbody></table></div>\n<p>-  a note</p>\n"
		"<div class=\"scroll\"><table><thead><tr><th>name<th class=\"n\">n</thead><tbody>"
		"<tr><th><i class=\"key c0\"></i>wire<td class=\"n bold\">7</tbody></table></div>\n"
		"<article class=\"finding bad\"><h3>rcvbuf on vm <span "
		"class=\"dim\">error</span></h3>"
		"<p> Full &lt;b&gt;.</p>\n<div class=\"scroll\"><table class=\"rows\"><tbody>"
		"<tr><th class=\"dim\">measured  <td colspan=\"3\"> 3 lost"
		"<tr><th class=\"dim\">command   <td colspan=\"3\"> <code>a  &#39;b&#39;</code>"
		"<tr><th class=\"dim\">undo      <td colspan=\"3\"> <code>c</code>"
		"</tbody></table></div>\n</article>\n");
	assert_null(h.block);
	free(text);
	free(html);
}

CASE(ticks_are_where_people_expect_them)
{
	struct html_axis a = html_axis_linear(HTML_COUNT, 0, 577900);

	assert_int_equal(a.ticks, 4); /* 0, 200k, 400k, 600k */
	assert_true(a.max == 600000 && a.tick[1] == 200000);
	assert_string_equal(html_axis_label(&a, a.tick[3]), "600k");
	assert_true(fabs(html_axis_at(&a, 300000) - 0.5) < 1e-9);
	assert_true(html_axis_at(&a, 7e5) == 1 && html_axis_at(&a, -1) == 0);

	a = html_axis_linear(HTML_SECONDS, 0, 7200);
	assert_string_equal(html_axis_unit(&a), "min");
	assert_true(a.max == 7200); /* ends with the data */
	assert_string_equal(html_axis_label(&a, a.tick[1]), "50");

	a = html_axis_log(HTML_NS, 3180, 3640000);
	assert_true(a.min == 1000 && a.max == 1e7);
	assert_string_equal(html_axis_label(&a, a.tick[1]), "10 us");

	a = html_axis_log(HTML_NS, 3180, 3180);
	assert_true(a.min <= 3180 && a.max > a.min && a.ticks >= 2);

	a = html_axis_log(HTML_NINES, 1, 100000);
	assert_string_equal(html_axis_label(&a, a.tick[3]), "99.9");
}

CASE(any_range_gives_an_axis)
{
	static const double values[] = {0,    1,  -1,  0.3,  7,	      1e-300, 1e300,   1e17,
					9.99, 10, 100, 1e-7, 1234567, NAN,    INFINITY};
	const unsigned n = sizeof(values) / sizeof(values[0]);

	for (unsigned i = 0; i < n * n * 5 * 2; i++) {
		double min = values[i % n], max = values[i / n % n];
		enum html_unit unit = i / n / n % 5;
		struct html_axis a = i / n / n / 5 ? html_axis_log(unit, min, max)
						   : html_axis_linear(unit, min, max);
		const char *label;

		assert_in_range(a.ticks, 1, HTML_TICKS);
		assert_true(isfinite(a.min) && isfinite(a.max) && a.max > a.min);
		for (unsigned k = 0; k < a.ticks; k++) {
			double at = html_axis_at(&a, a.tick[k]);

			assert_true(at >= 0 && at <= 1);
			assert_true(!k || a.tick[k] > a.tick[k - 1]);
			label = html_axis_label(&a, a.tick[k]);
			if (strlen(label) > 12)
				fail_msg("%g is %s", a.tick[k], label);
		}
		for (unsigned k = 0; k < n; k++) {
			double at = html_axis_at(&a, values[k]);

			assert_true(at >= 0 && at <= 1);
		}
	}
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

	assert_int_equal(html_write(f, &whole, true), 0);
	fclose(f);
	return text;
}

/* By tests/html_check.py: well-formed, alone, and its pictures are those of the ledgers. */
static void check(const char *text, bool form_only)
{
	FILE *f = popen(form_only ? "/usr/bin/python3 tests/html_check.py --form"
				  : "/usr/bin/python3 tests/html_check.py",
			"w");
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

	check(text, false);
	free(text);
	json_object_put(doc);
}

/* The CPU time of both ends is shown; none is that of ledgers that were joined: not known. */
CASE(cpu_time_that_is_known)
{
	for (unsigned known = 0; known < 2; known++) {
		struct json_object *doc;
		char *text;

		sample_clean(&res);
		res.duration_ns = 1000000000;
		res.tx_cost.cpu_ns = 0;
		res.rx_cost.cpu_ns = known * 30000000;
		doc = document(&res, 0);
		text = page(doc);
		assert_int_equal(strstr(text, "CPU, sender") != NULL, known);
		free(text);
		json_object_put(doc);
	}
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

/* All stages at once have no room from left to right, and all is lost. */
CASE(every_stage_has_its_row)
{
	sample_clean(&res);
	for (int s = 0; s < STAGE_COUNT; s++)
		sample_cause(&res, s, "A_REASON", "rx", "v-rx", "rx", NULL,
			     s ? 1000 : 1000000 - 1000 * (STAGE_COUNT - 1));
	assert_int_equal(res.delivered, 0);
	check_document(document(&res, 3));
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
		assert_int_equal(times(text, "<script"), 1);
		assert_int_equal(times(text, "</script"), 1);
		assert_int_equal(times(text, "</html>\n"), 1);
		if (i % 16 == 0) /* a process each */
			check(text, true);
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
		assert_int_equal(html_write(nowhere, &page, true), 0);
		compare_print(&text, &docs[0], &docs[1], page.comparison);
		print_joined(&text, doc[0]);
		json_object_put(page.comparison);
		page.comparison = NULL;
		if (!matrix_new(docs, 2, &page.matrix, &err)) {
			assert_int_equal(html_write(nowhere, &page, true), 0);
			matrix_print(&text, page.matrix);
		}
		json_object_put(page.matrix);
		json_object_put(doc[0]);
		json_object_put(doc[1]);
	}
	fclose(nowhere);
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
	assert_true(printed_is(path));
	assert_int_equal(ledgers_load(&l, &spec, &err), 0);
	assert_int_equal(l->documents, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(json_object_equal(l->document[i].json, d[i].json));
		json_object_put(d[i].json);
	}
	ledgers_free(l);
	d[0].json = d[1].json = NULL;
	assert_int_not_equal(html_file("/dev/full", &whole, &err), 0);
	assert_int_equal(err.status, STATUS_FAILED);
	unlink(path);
	assert_false(printed_is(path));
}

CASE(a_full_disk_is_told)
{
	FILE *f = fopen("/dev/full", "w");
	const struct ledgers_document d = {};
	const struct html_page whole = {.docs = &d, .n = 1};

	assert_non_null(f);
	assert_int_equal(html_write(f, &whole, true), -ENOSPC);
	fclose(f);
}
