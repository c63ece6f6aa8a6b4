// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "base/json.h"
#include "report/json.h"
#include "report/document.h"
#include "report/load.h"
#include "report/print.h"
#include "unit/out_sample.h"

#define S 1000000000ULL

static struct json_object *object(const char *text)
{
	struct json_object *o = json_tokener_parse(text);

	assert_non_null(o);
	return o;
}

/* To be freed. */
static char *run_text(const struct json_object *start, const struct json_object *end)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	print_run(&(struct print_view){.out = f, .verbosity = 1}, start, end);
	fclose(f);
	return text;
}

/* A document looks the same when it was in a file. */
static void assert_rereads(const struct run_header *head, const struct result *res)
{
	struct json_object *start = json_start(head, NULL), *end = json_end(res);
	struct json_object *start_again = object(json_object_to_json_string(start));
	struct json_object *end_again = object(json_object_to_json_string(end));
	char *was, *is;

	was = run_text(start, end);
	is = run_text(start_again, end_again);
	assert_string_equal(is, was);
	json_object_put(start);
	json_object_put(end);
	json_object_put(start_again);
	json_object_put(end_again);
	free(was);
	free(is);
}

CASE(what_was_printed)
{
	struct run_header head = sample_header();
	struct result *res = calloc(1, sizeof(*res));

	head.faults = "netfilter=5%";
	head.trial = 2;
	head.trials = 3;
	head.topology = LAB_BRIDGE;
	head.rate_pps = 1234.5;
	head.duration_ns = 2 * S;
	head.mean_frame_bytes = 300.5;
	*res = (struct result){
		.attempted = 1000,
		.refused = 30,
		.sent = 970,
		.delivered = 900,
		.dropped = 60,
		.in_flight = 4,
		.in_flight_where = "the socket",
		.unaccounted = 6,
		.unaccounted_seen = {1, 2, 1, 1, 1},
		.impossible = 1,
		.interrupted = true,
		.waits = 7,
		.wait_ns = 12345,
		.duplicated = 2,
		.late = 3,
		.damaged = 4,
		.invalid = 5,
		.foreign = 6,
		.replies = 7,
		.tx_pps = 1000.5,
		.rx_pps = 900.25,
		.duration_ns = S,
		.slipped_ns = 1000000,
		.late_ns = 3000000,
		.held_ns = 2000000,
		.refused_by = {{EPERM, 20}, {TX_ERRNO_LOST, 10}},
		.n_refused_by = 2,
		.two_hosts = true,
		.clock = {true, -5, 6},
		.fragments = {.made = 9, .seen = 8, .dropped = 1},
		.losses = {.causes_full = 1, .suppressed = 2, .suppressed_evidence = "why"},
	};
	res->arrivals.latency =
		(struct result_latency){true, 1000, 2000, 3000, 4000, 5000, 6000, 7000};
	res->arrivals.jitter_ns = 99;
	res->arrivals.gaps.count = 3;
	res->arrivals.gaps.packets = 60;
	res->arrivals.gaps.longest = 40;
	res->arrivals.order.packets = 5;
	res->arrivals.order.extent_max = 6;
	sample_cause(res, STAGE_RCVBUF, "SOCKET_RCVBUFF", "rx", "v-rx", "rx", NULL, 40);
	sample_cause(res, STAGE_NETFILTER, "NETFILTER_DROP", "rx", "v-rx", "rx", "input", 20);
	res->counter[res->n_counters++] = (struct result_counter){.stage = STAGE_RCVBUF,
								  .name = "rx Udp:RcvbufErrors",
								  .delta = 40,
								  .expected = 40,
								  .agrees = true,
								  .scope = "flow"};
	res->counter[res->n_counters++] = (struct result_counter){.stage = STAGE_NETFILTER,
								  .name = "rx Ip:InDiscards",
								  .delta = 1,
								  .expected = 20,
								  .documented = true,
								  .scope = "interface",
								  .note = "as known"};
	res->finding[res->n_findings++] = (struct finding){.id = "rcvbuf-burst",
							   .stage = STAGE_RCVBUF,
							   .severity = SEVERITY_WARNING,
							   .cause = "It was full.",
							   .facts = "{\"lost\":40}",
							   .command = "sysctl -w a=b",
							   .undo = "sysctl -w a=c",
							   .risk = "memory",
							   .host = "vm"};
	snprintf(res->cause[0].host, sizeof(res->cause[0].host), "vm");
	res->arrivals.flow[0] = (struct arrivals_flow){.stream = 7,
						       .source = "[::1]:5",
						       .delivered = 6,
						       .jitter_ns = 5,
						       .latency = {true, 1, 2, 3, 4, 5, 6, 7}};
	res->arrivals.flows = 1;
	res->arrivals.flows_more = 2;
	assert_rereads(&head, res);
	head.in_lab = false;
	head.two_hosts = true;
	head.tx_host = (struct result_host){"a", "tc"};
	head.rx_host = (struct result_host){"b", ""};
	assert_rereads(&head, res);
	memset(res, 0, sizeof(*res));
	res->balanced = true;
	head = sample_header();
	assert_rereads(&head, res);
	free(res);
}

/* send and recv too, below a title. */
CASE(one_end_alone)
{
	struct recv_result *r = calloc(1, sizeof(*r));
	struct json_object *doc = object("{\"start\":{\"time\":\"2024-05-01T12:00:00Z\"}}");
	struct ledgers_document d = {.json = doc};

	r->res.attempted = r->res.sent = 100;
	r->res.delivered = r->received = 90;
	r->res.duration_ns = S;
	r->res.tx_pps = 100;
	r->res.rx_pps = 90;
	r->lost = r->lost_tail = 10;
	r->tail_known = true;
	r->streams = 1;
	for (int recv = 0; recv < 2; recv++) {
		struct json_object *end = recv ? json_recv_end(r) : json_send_end(&r->res);
		char *was = NULL, *is = NULL;
		size_t size;
		FILE *f = open_memstream(&was, &size);
		struct print_view to = {.width = 80};

		text_one_end(&(struct print_view){.out = f}, end);
		fclose(f);
		to.out = open_memstream(&is, &size);
		strcpy(d.command, recv ? "recv" : "send");
		json_put(doc, "end", end);
		print_document(&to, &d);
		fclose(to.out);
		assert_true(strlen(is) > strlen(was));
		assert_string_equal(is + strlen(is) - strlen(was), was);
		free(was);
		free(is);
	}
	json_object_put(doc);
	free(r);
}

#define RUN_A                                                                                      \
	"{\"start\":{\"time\":\"2024-05-01T12:00:00Z\",\"host\":\"h\",\"tx\":\"socket\",\"env\":{" \
	"\"kernel\":\"6.1\",\"steal_ns\":1,\"sysctls\":{\"rmem\":1,\"same\":2},\"interfaces\":["   \
	"{\"ifname\":\"a\",\"netns\":\"n\",\"mtu\":1500},{\"ifname\":\"b\",\"netns\":\"n\"}]}},"   \
	"\"end\":{\"sent\":100,\"delivered\":80,\"tx_pps\":10.0,\"stages\":[{\"stage\":"           \
	"\"rcvbuf\","                                                                              \
	"\"packets\":20}]}}"
#define RUN_B                                                                                      \
	"{\"start\":{\"time\":\"2024-05-01T12:10:00Z\",\"host\":\"h\",\"tx\":\"xsk\",\"env\":{"    \
	"\"kernel\":\"6.12\",\"steal_ns\":2,\"sysctls\":{\"rmem\":4,\"same\":2},\"interfaces\":["  \
	"{\"ifname\":\"b\",\"netns\":\"n\"},{\"ifname\":\"a\",\"netns\":\"n\",\"mtu\":9000}],"     \
	"\"new\":true}},\"end\":{\"sent\":200,\"delivered\":150,\"tx_pps\":20.0,\"stages\":[{"     \
	"\"stage\":\"xdp\",\"packets\":50}]}}"

CASE(differences)
{
	const struct ledgers_document a = {.json = object(RUN_A)}, b = {.json = object(RUN_B)};
	struct json_object *o = compare_documents(&a, &b);
	struct json_object *expected = object(
		"{\"env\":[{\"name\":\"kernel\",\"a\":\"6.1\",\"b\":\"6.12\"},"
		"{\"name\":\"sysctls.rmem\",\"a\":1,\"b\":4},"
		"{\"name\":\"interfaces.n/a.mtu\",\"a\":1500,\"b\":9000},"
		"{\"name\":\"new\",\"a\":null,\"b\":true}],"
		"\"setup\":[{\"name\":\"tx\",\"a\":\"socket\",\"b\":\"xsk\"}],"
		"\"results\":[{\"name\":\"sent\",\"a\":100,\"b\":200,\"change\":1.0},"
		"{\"name\":\"xdp\",\"a\":0,\"b\":50,\"change\":null,\"a_fraction\":0.0,\"b_fraction\":"
		"0.25},"
		"{\"name\":\"rcvbuf\",\"a\":20,\"b\":0,\"change\":-1.0,\"a_fraction\":0.2,\"b_fraction\":"
		"0.0},"
		"{\"name\":\"delivered\",\"a\":80,\"b\":150,\"change\":-0.06250000000000006,\"a_"
		"fraction\":0.8,"
		"\"b_fraction\":0.75},"
		"{\"name\":\"tx_pps\",\"a\":10.0,\"b\":20.0,\"change\":1.0}],"
		"\"verdict\":\"B lost 25 % more (25 % and 20 %), all of it at xdp.\"}");

	if (!json_object_equal(o, expected))
		fail_msg("%s", json_object_to_json_string(o));
	json_object_put(o);
	json_object_put(expected);
	json_object_put(a.json);
	json_object_put(b.json);
}

/* For people there are words and units, and what an option and a member both say, once. */
CASE(differences_in_words)
{
#define END(delivered, pps, ns)                                                                    \
	"\"end\":{\"sent\":100,\"delivered\":" #delivered                                          \
	",\"stages\":[{\"stage\":\"rcvbuf\",\"packets\":50}],\"in_flight\":1,\"tx_pps\":" #pps     \
	",\"rx_pps\":" #pps ",\"jitter_ns\":" #ns ",\"latency_ns\":{\"p50\":" #ns                  \
	",\"p9999\":" #ns "},\"ndr\":{"                                                            \
	"\"lower_pps\":" #pps "}}}"
	const struct ledgers_document
		a = {.json = object(
			     "{\"start\":{\"command\":[\"pktledger\",\"run\",\"--rate=2k\"],"
			     "\"rate_pps\":2000.0,\"frame_bytes\":1512,\"direct_io\":true,"
			     "\"granted_mode\":{\"tx\":\"skb\"},\"env\":{\"sysctls\":{"
			     "\"net.ipv4.tcp_x_bytes\":4096},\"interfaces\":[{\"netns\":\"rx\","
			     "\"ifname\":\"a_b.100\",\"rx_queues\":1}]}}," END(99, 2000.0, 1500))},
		b = {.json = object(
			     "{\"start\":{\"command\":[\"pktledger\",\"run\",\"--rate=3k\","
			     "\"--rcvbuf=64k\"],\"rate_pps\":3000.0,\"frame_bytes\":1514,"
			     "\"direct_io\":false,\"granted_mode\":{\"tx\":null},\"env\":{"
			     "\"sysctls\":{\"net.ipv4.tcp_x_bytes\":4097},\"interfaces\":[{"
			     "\"netns\":\"rx\",\"ifname\":\"a_b.100\",\"rx_queues\":2}]}}," END(
				     49, 30000.0, 2500))};
	static const char *const lines[] = {
		"\n  net.ipv4.tcp_x_bytes              4096 -> 4097\n",
		"\n  rx/a_b.100 rx queues              1 -> 2\n",
		"\n  rate                              2.000 kpps -> 3.000 kpps\n",
		"\n  frame                             1,512 bytes -> 1,514 bytes\n",
		"\n  direct io                         on -> off\n",
		"\n  tx XDP mode                       skb -> -\n",
		"\n  --rcvbuf                          the default -> 64k\n",
		"\n  in flight   ",
		"\n  sent at     ",
		"\n  received at ",
		"\n  jitter      ",
		"\n  NDR         ",
		"\n  latency p50 ",
		"\n  latency p99.99 ",
	};
	struct json_object *o = compare_documents(&a, &b);
	struct print_view v = {.width = 80};
	char *text = NULL;
	size_t size;

	v.out = open_memstream(&text, &size);
	compare_print(&v, NULL, NULL, o);
	fclose(v.out);
	assert_true(strlen(json_get_text(o, "verdict")) > 80 && strcspn(text, "\n") <= 80);
	for (unsigned i = 0; i < LENGTH(lines); i++) {
		if (!strstr(text, lines[i]))
			fail_msg("%s is not in %s", lines[i], text);
	}
	assert_non_null(strstr(text, " 15 times\n"));
	assert_non_null(strstr(text, " +66.7 %\n"));
	assert_null(strstr(text, "--rate"));
	assert_null(strstr(text, "_pps"));
	assert_null(strstr(text, "_ns"));
	free(text);
	json_object_put(o);
	json_object_put(a.json);
	json_object_put(b.json);
}

/* One sentence of two runs: who lost more, where, and the option that it may be for. */
CASE(verdicts)
{
#define RUN(command, sent, delivered, stages)                                                      \
	"{\"start\":{\"command\":[\"pktledger\",\"run\"" command "]},\"end\":{\"sent\":" #sent     \
	",\"delivered\":" #delivered ",\"stages\":[" stages "]}}"
#define LOST(stage, packets) "{\"stage\":\"" stage "\",\"packets\":" #packets "}"
	static const struct {
		const char *a, *b, *verdict;
	} rows[] = {
		{RUN("", 100, 100, ""), RUN("", 7, 7, ""), "Neither A nor B lost anything."},
		{RUN(",\"--rcvbuf=4m\",\"--duration=2\"", 1000, 990, LOST("rcvbuf", 10)),
		 RUN(",\"--work=3us\",\"--rcvbuf=64k\"", 100, 88, LOST("rcvbuf", 12)),
		 "B lost 12 times more (12 % and 1 %), all of it at rcvbuf; its --rcvbuf was 64k "
		 "instead of 4m."},
		{RUN(",\"--work=9us\",\"-q\"", 100, 60, LOST("rcvbuf", 30) "," LOST("xdp", 10)),
		 RUN(",\"-j\"", 10, 10, ""),
		 "A lost 40 % of what it sent, B nothing, most of it at rcvbuf; its --work was 9us "
		 "instead of the default."},
		{RUN(",\"--gso\",\"--seed=1\"", 100, 90, ""),
		 RUN(",\"--seed=2\"", 100, 90, ""), "B lost the same fraction as A, 10 %."},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ledgers_document a = {.json = object(rows[i].a)},
					      b = {.json = object(rows[i].b)};
		struct json_object *o = compare_documents(&a, &b);

		assert_string_equal(json_get_text(o, "verdict"), rows[i].verdict);
		json_object_put(o);
		json_object_put(a.json);
		json_object_put(b.json);
	}
}

CASE(other_names)
{
	struct json_object *o = object(
		"{\"start\":{\"host\":\"db7.example.org\",\"time\":\"2024-05-01T12:00:00Z\","
		"\"command\":[\"/opt/x/pktledger\",\"trace\",\"host\",\"10.1.2.3\"],\"filter\":{"
		"\"expression\":\"host 10.1.2.3\"}},\"sum\":{\"stages\":[{\"stage\":\"rcvbuf\","
		"\"causes\":[{\"netns\":\"blue\",\"process\":\"my app[812]\",\"socket\":\"10.1.2.3:"
		"5060\",\"ifname\":\"eth0\",\"location\":\"udp_rcv\",\"cpu\":3},{\"netns\":\"rx\","
		"\"process\":\"others\",\"socket\":\"*:53\"}]}],\"flows\":[{\"flow\":\"udp "
		"[2001:db8::7]:1 > [2001:db8::8]:2\"},{\"flow\":\"udp 10.1.2.3:1 > "
		"127.0.0.1:2\"}]},"
		"\"end\":{\"findings\":[{\"text\":\"my app[812] in blue, at 10.1.2.3. (version "
		"6.1.2), "
		"bluer\",\"evidence\":\"02:42:ac:11:00:02 at 12:00:00\"}]}}");
	struct json_object *expected = object(
		"{\"start\":{\"host\":\"host-1\",\"time\":\"2024-05-01T12:00:00Z\",\"command\":["
		"\"pktledger\",\"trace\",\"...\"],\"filter\":{\"expression\":\"filter-1\"}},"
		"\"sum\":{\"stages\":[{\"stage\":\"rcvbuf\",\"causes\":[{\"netns\":\"netns-1\","
		"\"process\":\"process-1[812]\",\"socket\":\"addr-1:5060\",\"ifname\":\"eth0\","
		"\"location\":\"udp_rcv\",\"cpu\":3},{\"netns\":\"rx\",\"process\":\"others\","
		"\"socket\":\"*:53\"}]}],\"flows\":[{\"flow\":\"udp [addr-2]:1 > [addr-3]:2\"},{"
		"\"flow\":\"udp addr-1:1 > 127.0.0.1:2\"}]},\"end\":{\"findings\":[{\"text\":"
		"\"process-1[812] in netns-1, at addr-1. (version 6.1.2), bluer\",\"evidence\":"
		"\"addr-4 at 12:00:00\"}]}}");
	struct redact *r = redact_new();

	redact_learn(r, o);
	redact_apply(r, o);
	if (!json_object_equal(o, expected))
		fail_msg("%s", json_object_to_json_string(o));
	redact_free(r);
	json_object_put(o);
	json_object_put(expected);
}

CASE(a_table)
{
	const struct ledgers_document d = {
		.json = object(
			"{\"file\":\"a, \\\"b\\\"\",\"start\":{\"time\":\"2024-05-01T12:00:00Z"
			"\",\"host\":\"h\"},\"intervals\":[{\"time\":\"2024-05-01T12:00:01Z\","
			"\"time_ns\":1000000000,\"interval_ns\":1000000000,\"dropped\":5,"
			"\"stages\":[{\"stage\":\"rcvbuf\",\"packets\":5,\"causes\":[{"
			"\"reason\":\"R\",\"process\":\"p\\nq\",\"packets\":5,\"bytes\":500,"
			"\"events\":4}]}]}]}"),
		.command = "trace",
		.parts = true,
		.number = 2,
	};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	csv_document(f, &d);
	fclose(f);
	assert_string_equal(
		text, "\"a, \"\"b\"\"\",2,trace,h,2024-05-01T12:00:01.000000Z,1000000000,interval,,"
		      ",,,,,,,,,,,,,,,,5,,,,\n"
		      "\"a, \"\"b\"\"\",2,trace,h,2024-05-01T12:00:01.000000Z,1000000000,interval,loss,"
		      "rcvbuf,R,,,,,,,\"p\nq\",,,,,,,,5,500,4,,\n");
	free(text);
	json_object_put(d.json);
}

static char *csv_of(const char *text)
{
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	csv_text(f, text);
	fclose(f);
	return out;
}

/* What names of others do to a terminal, and to a spreadsheet. */
CASE(a_table_does_nothing)
{
	static const char *const cells[][2] = {
		{"eth0", "eth0"},
		{"a,b", "\"a,b\""},
		{"\x1b[31mred\x7f", "?[31mred?"},
		{"\xc2\x9b"
		 "31m\xff",
		 "??31m?"},
		{"=1+1", "\"'=1+1\""},
		{"@SUM(A1)", "\"'@SUM(A1)\""},
		{"+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""},
		{"-2+3", "\"'-2+3\""},
		{"-", "\"'-\""},
		{"-5", "-5"}, /* numbers are no formulas */
		{"+1.5e3", "+1.5e3"},
		{"\t=1", "?=1"},
	};

	for (unsigned i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		char *out = csv_of(cells[i][0]);

		assert_string_equal(out, cells[i][1]);
		free(out);
	}
}

/* Every column of a document goes that way, whatever stands in it. */
CASE(a_table_of_strangers)
{
	const struct ledgers_document d = {
		.json = object("{\"file\":\"=a\",\"start\":{\"host\":\"@h\"},\"intervals\":[{"
			       "\"time\":\"=\\u001b\",\"stages\":[{\"stage\":\"=s\",\"causes\":[{"
			       "\"process\":\"=p\",\"reason\":\"\\u001b\"}]}]}]}"),
		.command = "trace",
		.parts = true,
	};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	csv_document(f, &d);
	fclose(f);
	assert_null(strchr(text, '\x1b'));
	assert_null(strstr(text, ",=") ? strstr(text, ",=") : strstr(text, ",@"));
	assert_int_equal(*text, '"');
	assert_non_null(strstr(text, "\"'=p\""));
	free(text);
	json_object_put(d.json);
}

/* Words of the letters of addresses that are longer than any, of all lengths: unharmed, and whole.
 */
CASE(long_words_are_kept)
{
	static const char letters[] = "f:.0";
	char *text = malloc(40001);

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned n = 60; n < 40000; n = n < 70 ? n + 1 : n * 5) {
			struct json_object *o = json_object_new_object();
			struct redact *r = redact_new();

			memset(text, letters[i], n);
			text[n] = '\0';
			json_put_text(o, "text", text);
			redact_apply(r, o);
			assert_string_equal(json_get_text(o, "text"), text);
			redact_free(r);
			json_object_put(o);
		}
	}
	free(text);
}

/* A secret is hidden in strings of any name, also long ones, but not in words of pktledger's own.
 */
CASE(every_string_is_searched)
{
	struct json_object *o = object("{\"start\":{\"host\":\"socket\",\"tx\":\"socket\","
				       "\"new\":{\"thing\":[\"on socket\",5,null]}}}");
	struct json_object *thing, *start = json_get(o, "start");
	char text[10001] = "";
	struct redact *r = redact_new();

	memset(text, 'x', 9990);
	strcpy(text + 9990, " socket");
	json_put_text(start, "long", text);
	redact_learn(r, o);
	redact_apply(r, o);
	thing = json_get(json_get(start, "new"), "thing");
	assert_string_equal(json_get_text(start, "tx"), "socket");
	assert_string_equal(json_object_get_string(json_object_array_get_idx(thing, 0)),
			    "on host-1");
	assert_string_equal(json_get_text(start, "long") + 9990, " host-1");
	redact_free(r);
	json_object_put(o);
}

/* Of names that begin alike the longest is hidden, and none in the middle of a word. */
CASE(the_longest_name_is_hidden)
{
	struct json_object *o =
		object("{\"pod\":[\"web\",\"web front\",\"web front two\",\"webs\"],"
		       "\"text\":\"web front twos, web front two.web, awebs webs/web\"}");
	struct redact *r = redact_new();

	redact_learn(r, o);
	redact_apply(r, o);
	assert_string_equal(json_get_text(o, "text"), "pod-2 twos, pod-3.pod-1, awebs pod-4/pod-1");
	redact_free(r);
	json_object_put(o);
}

/* As many names, and texts with them, as a large cluster has. */
CASE(many_names_are_hidden)
{
	struct json_object *o = json_object_new_object(), *pods = json_object_new_array();
	struct json_object *texts = json_object_new_array();
	struct redact *r = redact_new();
	char name[64], text[128];

	for (unsigned i = 1; i <= 100000; i++) {
		snprintf(name, sizeof(name), "shop/front-%x", i * 2654435761u);
		json_object_array_add(pods, json_object_new_string(name));
		snprintf(text, sizeof(text), "of %s: 5", name);
		json_object_array_add(texts, json_object_new_string(text));
	}
	json_object_object_add(o, "pod", pods);
	json_object_object_add(o, "text", texts);
	redact_learn(r, o);
	redact_apply(r, o);
	for (unsigned i = 1; i <= 100000; i++) {
		snprintf(text, sizeof(text), "of pod-%u: 5", i);
		assert_string_equal(json_object_get_string(json_object_array_get_idx(texts, i - 1)),
				    text);
	}
	redact_free(r);
	json_object_put(o);
}

/* Ends in which everything is of another type than it should be are read as if it were not there.
 */
CASE(strangers_are_read)
{
	static const char *const values[] = {"[]",   "{}",   "5",    "\"a\"", "null",
					     "true", "[[]]", "[{}]", "[5]",   "{\"a\":[]}"};
	static struct recv_result r;
	struct json_object *end;

	memset(&r, 0, sizeof(r));
	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		end = json_recv_end(&r);
		json_object_object_foreach (end, key, value) {
			struct json_object *copy = object(json_object_to_json_string(end));
			FILE *nowhere = fopen("/dev/null", "w");

			(void)value;
			json_put(copy, key, object(values[i][0] == 'n' ? "[null]" : values[i]));
			json_put(copy, "refused_by", object(i == 4 ? "[]" : values[0]));
			text_one_end(&(struct print_view){.out = nowhere}, copy);
			print_run(&(struct print_view){.out = nowhere}, NULL, copy);
			fclose(nowhere);
			json_object_put(copy);
		}
		json_object_put(end);
	}
}

/* The worst intervals are named by their start. */
CASE(worst_intervals)
{
	static const char item[] = "{\"time\":\"2024-05-01T12:00:09Z\",\"interval_ns\":2000000000,"
				   "\"dropped_pps\":5.0,\"stages\":[]}";
	struct json_object *doc = object("{\"covers\":{\"intervals\":3}}");
	const struct ledgers_document d = {.json = doc};
	struct print_view v = {.width = 80};
	char *text = NULL;
	size_t size;

	json_put_list(doc, "worst");
	json_object_array_add(json_get(doc, "worst"), object(item));
	json_object_array_add(json_get(doc, "worst"), object(item));
	v.out = open_memstream(&text, &size);
	print_worst(&v, &d);
	fclose(v.out);
	assert_non_null(strstr(text, ":07 5 pps lost for 2.00 s"));
	free(text);
	json_object_put(doc);
}

/* Intervals of a length that lose two packets each: steps of another, no packet left out. */
static void in_steps(uint64_t span_ns, uint64_t interval_ns, uint64_t step_ns)
{
	struct json_object *list = json_object_new_array(), *doc = json_object_new_object();
	const uint64_t start = 1714564800, n = span_ns / interval_ns;
	struct ledgers_document d = {.json = doc,
				     .command = "trace",
				     .parts = true,
				     .from_ns = start * S,
				     .to_ns = start * S + span_ns};
	struct steps *s = malloc(sizeof(*s));
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= n; i++) {
		struct json_object *o = object("{\"stages\":[{\"stage\":\"xdp\",\"packets\":2}]}");

		json_put_u64(o, "time_ns", i * interval_ns);
		json_put_u64(o, "interval_ns", interval_ns);
		json_put_u64(o, "dropped", 2);
		json_object_array_add(list, o);
	}
	json_put(doc, "start", object("{\"time\":\"2024-05-01T12:00:00Z\"}"));
	json_put(doc, "intervals", list);
	steps_make(s, &d);
	assert_int_equal(s->length_ns, step_ns);
	assert_int_equal(s->n, span_ns / step_ns);
	for (unsigned i = 0; i < s->n; i++) {
		assert_int_equal(s->at[i].from_ns, start * S + i * step_ns);
		assert_int_equal(s->at[i].sum.stage[STAGE_XDP].packets,
				 s->at[i].sum.dropped);
		assert_true(s->at[i].sum.peak_pps == 2e9 / (double)interval_ns);
		sum += s->at[i].sum.dropped;
	}
	assert_int_equal(sum, 2 * n);
	free(s);
	json_object_put(doc);
}

CASE(steps)
{
	in_steps(3600 * S, S, 300 * S);
	in_steps(2 * S, S / 2, S / 2); /* not of less than an interval */
	in_steps(2 * S, S / 10, S / 10);
}
