// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* trace for people and for machines: a fixed model in, text and JSON out. */
#include "cases.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "diagnosis/facts.h"
#include "monitor/describe.h"
#include "report/document.h"
#include "monitor/session.h"
#include "report/trace.h"
#include "report/page.h"
#include "printed.h"
#include "schema.h"

#define SECOND 1000000000ull

static struct live_table table;
static struct live_summary summary;

struct traced {
	enum stage stage;
	enum drop_class class;
	const char *reason, *location, *ifname, *netns, *socket, *process;
	uint64_t packets;
};

static void add(const struct traced *s)
{
	struct live_row r = {.stage = s->stage,
			     .class = s->class,
			     .note = "what happened (function)",
			     .counts = {s->packets, s->packets, 100 * s->packets, 0}};

	live_row_begin(&r, "event", "flow");
	r.text[LIVE_DIRECTION] = "rx";
	r.text[LIVE_REASON] = s->reason;
	r.text[LIVE_LOCATION] = s->location;
	r.text[LIVE_IFNAME] = s->ifname;
	r.text[LIVE_NETNS] = s->netns;
	r.text[LIVE_SOCKET] = s->socket;
	r.text[LIVE_PROCESS] = s->process;
	r.text[LIVE_CPU] = "3";
	assert_true(table_add(&table, &r, LIVE_BY_DEFAULT | LIVE_BIT(LIVE_CPU)));
}

static int fill(void **state)
{
	static const struct traced samples[] = {
		{STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", "eth0",
		 "host", "*:5060", "sip[812]", 3000},
		{STAGE_NETFILTER, CLASS_LOSS, "NETFILTER_DROP", "nft_do_chain", "a-long-ifname15",
		 "a-namespace-of-quite-a-long-name-as-kubernetes-makes-them-0123", "", "", 40},
		{STAGE_NEIGH, CLASS_SUSPECTED, "NEIGH_FAILED", "neigh_invalidate", "eth0", "host", "",
		 "", 5},
		{STAGE_L2, CLASS_EXPECTED, "NOT_SPECIFIED", "ip6_mc_input", "eth0", "host", "", "",
		 70},
		{STAGE_NONE, CLASS_EXPECTED, "PACKET_SOCK_ERROR", "packet_rcv", "eth0", "host",
		 "packet", "tcpdump[99]", 2},
	};

	table_init(&table, LIVE_ROWS);
	for (unsigned i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		add(&samples[i]);
	memset(&summary, 0, sizeof(summary));
	summary.total = &table;
	summary.duration_ns = 2 * SECOND;
	summary.own.events = 3117;
	summary.own.cpu_ns = 1500000;
	summary.own.map_bytes = 2 << 20;
	summary.n_findings = 1;
	summary.finding[0] = (struct finding){.id = "rcvbuf", .stage = STAGE_RCVBUF};
	strcpy(summary.finding[0].cause, "The buffer was full.");
	return 0;
}

static int empty(void **state)
{
	table_free(&table);
	free(text);
	text = NULL;
	return 0;
}

static FILE *begin(void)
{
	static size_t size;

	free(text);
	return open_memstream(&text, &size);
}

/* What a trace of this begins with. */
static struct json_object *start_of(unsigned by, bool all)
{
	const struct live_spec spec = {.by = by, .stages = 1 << STAGE_RCVBUF};
	const struct trace_shown shown = {SECOND, all, "host"};
	const char *const argv[] = {"pktledger", "trace"};

	return json_trace_start(2, (char *const *)argv, NULL, &spec, &shown);
}

static struct json_object *interval_of(const struct live_table *t, unsigned by, uint64_t length_ns)
{
	const struct trace_time time = {0, 5, length_ns};

	return json_trace_interval(t, NULL, by, &time);
}

/* Prints one of both, which are put. */
static void print(struct json_object *start, struct json_object *interval, struct json_object *end,
		  unsigned width, int verbosity)
{
	struct print_view v = {.out = begin(), .width = width, .verbosity = verbosity};

	if (interval)
		print_trace_interval(&v, start, interval, &(bool){false});
	if (end)
		print_trace_end(&v, start, end);
	fclose(v.out);
	json_object_put(start);
	json_object_put(interval);
	json_object_put(end);
}

static void is_narrow(unsigned width)
{
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");

		if (n > width)
			fail_msg("%zu columns: %.*s", n, (int)n, line);
		if (n && line[n - 1] == ' ')
			fail_msg("blank at the end of: %.*s", (int)n, line);
		line += n + (line[n] == '\n');
	}
}

CASE_WITH(interval, fill, empty)
{
	print(start_of(LIVE_BY_DEFAULT, false), interval_of(&table, LIVE_BY_DEFAULT, 2 * SECOND),
	      NULL, PAGE_WIDTH, 0);
	is_narrow(PAGE_WIDTH);
	has("3,040 lost, 1.520 kpps");
	has("packets     loss  stage          where and why\n");
	has("     3,000  98.68 %  rcvbuf         *:5060 sip[812] rx eth0 SOCKET_RCVBUFF\n");
	has("udp_queue_rcv_one_skb\n");
	has("*:5060 sip[812]");
	has("neigh?");
	has_not("in host"); /* goes without saying */
	has_not("ip6_mc_input");
	has_not("event");
	print(start_of(LIVE_BY_DEFAULT, true), interval_of(&table, LIVE_BY_DEFAULT, 2 * SECOND),
	      NULL, 200, 0);
	is_narrow(200);
	has("l2");
	has("copy");
	has(" in a-namespace-of-quite-a-long-name-as-kubernetes-makes-them-0123 NETFILTER_DROP nft_do_chain\n");
}

CASE_WITH(quiet_interval, fill, empty)
{
	struct live_table quiet;

	table_group(&quiet, &table, LIVE_BY_DEFAULT, 1 << CLASS_EXPECTED);
	print(start_of(LIVE_BY_DEFAULT, false), interval_of(&quiet, LIVE_BY_DEFAULT, SECOND), NULL,
	      PAGE_WIDTH, 0);
	assert_string_equal(text, "");
	table_free(&quiet);
}

/* Many rows are cut, and none is lost in the sum. */
CASE_WITH(many_rows, fill, empty)
{
	char sockets[100][16];

	for (unsigned i = 0; i < 100; i++) {
		const struct traced s = {STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF",
					 "f",	       "eth0",	   "host",
					 sockets[i],   "p",	   10};

		snprintf(sockets[i], sizeof(sockets[i]), "*:%u", i);
		add(&s);
	}
	print(start_of(LIVE_BY_DEFAULT, false), interval_of(&table, LIVE_BY_DEFAULT, SECOND), NULL,
	      PAGE_WIDTH, 0);
	has("4,040 lost");
	has("others");
	has("78 rows more");
}

CASE_WITH(other_groups, fill, empty)
{
	const unsigned by = LIVE_BY_STAGE | LIVE_BIT(LIVE_CPU);

	print(start_of(by, false), interval_of(&table, by, SECOND), NULL, PAGE_WIDTH, 0);
	has("cpu 3");
	has_not("SOCKET_RCVBUFF");
}

CASE_WITH(end, fill, empty)
{
	print(start_of(LIVE_BY_DEFAULT, false), NULL, json_trace_end(&summary, LIVE_BY_DEFAULT),
	      PAGE_WIDTH, 0);
	is_narrow(PAGE_WIDTH);
	has("drops           3,040");
	has("98.68 %");
	has("suspected   ");
	has("expected           72");
	has("ip6_mc_input 70 packet_rcv 2");
	has("overhead        1.50 ms of CPU time for 3,117 events; tables of 2.00 MiB");
	has("rcvbuf - The buffer was full.");
	has_not("missed events");
	summary.own.watch.recursion_misses = 3;
	print(start_of(LIVE_BY_DEFAULT, true), NULL, json_trace_end(&summary, LIVE_BY_DEFAULT),
	      PAGE_WIDTH, -1);
	has("missed events   3 while the tracer was active on that CPU");
	has("tcpdump[99]");
	has("The buffer was full.");
}

CASE_WITH(bursts, fill, empty)
{
	table.rows[0].burst =
		(struct live_burst){.packets = 1500, .time_ns = 5123 * 1000000ULL, .window_ns = 1000000};
	print(start_of(LIVE_BY_DEFAULT, false), interval_of(&table, LIVE_BY_DEFAULT, SECOND), NULL,
	      PAGE_WIDTH, 0);
	is_narrow(PAGE_WIDTH);
	has(" burst 1,500 in 1ms\n");
	has(" at 00:00:05.123\n");
}

/* A ledger of `n` seconds, each as the table is, of which `seconds` are asked for. */
static void print_ledger(unsigned n, unsigned joined, unsigned seconds, int verbosity)
{
	struct print_view v = {.out = begin(), .width = PAGE_WIDTH, .verbosity = verbosity};
	struct json_object *json = json_object_new_object(), *covers = json_object_new_object();
	struct json_object *list = json_object_new_array();
	struct ledgers_document d = {.json = json, .command = "trace", .parts = true};

	summary.duration_ns = n * SECOND;
	for (unsigned i = 0; i < n; i++)
		json_object_array_add(list, interval_of(&table, LIVE_BY_DEFAULT, SECOND));
	json_put_u64(covers, "joined", joined);
	json_put(json, "start", start_of(LIVE_BY_DEFAULT, false));
	json_put(json, "intervals", list);
	json_put(json, "covers", covers);
	json_put(json, "sum", interval_of(&table, LIVE_BY_DEFAULT, seconds * SECOND));
	json_put(json, "end", json_trace_end(&summary, LIVE_BY_DEFAULT));
	print_trace(&v, &d);
	fclose(v.out);
	json_object_put(json);
}

/* What was printed is printed again, but intervals only where they are few, and all there. */
CASE_WITH(ledger, fill, empty)
{
	print_ledger(3, 1, 3, 0);
	has("\n00:00:00  3,040 lost, 3.040 kpps\n");
	has("overhead        1.50 ms of CPU time");
	has("\nlost by socket  3,000           host *:5060 sip[812]\n");
	print_ledger(61, 1, 61, 0);
	has_not("3,040 lost, ");
	has("overhead");
	print_ledger(61, 1, 61, 1);
	has("3,040 lost, ");
	print_ledger(3, 2, 3, 0); /* put together: they are no longer what was printed */
	has_not("3,040 lost, ");
	print_ledger(3, 1, 2, 0); /* a part: of the end only what it means */
	has_not("3,040 lost, ");
	has("\ndrops           3,040           1.520 kpps in 2.00 s\n");
	has_not("overhead");
	has("rcvbuf - The buffer was full.");
}

static char *document(bool with_end)
{
	struct json_object *start = start_of(LIVE_BY_DEFAULT, false);
	const struct limit limit = {STAGE_NONE, LIMIT_PER_SECOND, 5};
	FILE *f = begin();
	struct json_out *o = json_out_new(f, JSON_DOC, "pktledger/trace/1");

	json_put(start, "env", env_read(NULL));
	json_out_once(o, "start", start);
	json_out_each(o, "interval", interval_of(&table, LIVE_BY_DEFAULT, SECOND));
	json_out_each(o, "limit", json_limit(&limit, 7, true));
	table.rows[0].burst = (struct live_burst){1500, 5 * SECOND, 1000000};
	if (with_end)
		json_out_once(o, "end",
			      json_trace_end(&summary, LIVE_BY_DEFAULT | LIVE_BIT(LIVE_CPU)));
	assert_int_equal(json_out_finish(o), 0);
	fclose(f);
	return text;
}

static struct json_object *get(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(o, key, &value))
		fail_msg("no %s in %s", key, json_object_to_json_string(o));
	return value;
}

CASE_WITH(json, fill, empty)
{
	struct json_object *doc = json_tokener_parse(document(true)), *stage, *cause;
	struct json_object *last = get(doc, "end");

	assert_int_equal(json_object_get_uint64(get(last, "dropped")), 3040);
	assert_int_equal(json_object_array_length(get(last, "stages")), 2);
	assert_int_equal(json_object_array_length(get(last, "suspected")), 1);
	assert_int_equal(json_object_array_length(get(last, "expected")), 2);
	stage = json_object_array_get_idx(get(last, "stages"), 1);
	assert_string_equal(json_object_get_string(get(stage, "stage")), "rcvbuf");
	assert_int_equal(json_object_get_uint64(get(stage, "packets")), 3000);
	assert_int_equal(json_object_get_uint64(get(stage, "bytes")), 300000);
	assert_string_equal(json_object_get_string(get(stage, "source")), "event");
	cause = json_object_array_get_idx(get(stage, "causes"), 0);
	assert_string_equal(json_object_get_string(get(cause, "process")), "sip[812]");
	assert_string_equal(json_object_get_string(get(cause, "netns")), "host");
	assert_int_equal(json_object_get_uint64(get(cause, "cpu")), 3);
	assert_null(get(cause, "hook"));
	assert_false(json_object_object_get_ex(cause, "flow", NULL));
	cause = get(cause, "burst");
	assert_int_equal(json_object_get_uint64(get(cause, "packets")), 1500);
	assert_string_equal(json_object_get_string(get(cause, "time")),
			    "1970-01-01T00:00:05.000000Z");
	json_object_put(doc);
}

CASE_WITH(matches_schema, fill, empty)
{
	if (access("/usr/bin/python3", X_OK))
		skip();
	if (validate("trace", document(true), false) == 77) {
		print_message("skipped: python3 has no jsonschema\n");
		skip();
	}
	assert_int_equal(validate("trace", document(true), false), 0);
	assert_int_equal(validate("trace", document(false), true), 1);
}

/* A line of bytes is never broken: it has half of them where there is not room for 16. */
CASE(bytes_of_a_packet)
{
	static const uint8_t bytes[20] = "0123456789abcdefghi";
	static struct described what;
	struct live_drop drop = {.what = &what, .packet = {.bytes = bytes, .len = 20}};
	struct page p;
	char *printed;
	size_t len;

	live_row_begin(&what.row, "event", "flow");
	for (unsigned width = 69; width <= 70; width++) {
		FILE *f = open_memstream(&printed, &len);

		p = page_open(f, false, 0);
		p.width = width;
		drop_text(&p, &drop, NULL, true);
		fclose(f);
		assert_string_equal(
			strchr(printed, '\n') + 1,
			width < 70 ? "    0x0000:  3031 3233 3435 3637  01234567\n"
				     "    0x0008:  3839 6162 6364 6566  89abcdef\n"
				     "    0x0010:  6768 6900            ghi.\n"
				   : "    0x0000:  3031 3233 3435 3637 3839 6162 6364 6566  "
				     "0123456789abcdef\n"
				     "    0x0010:  6768 6900                                "
				     "ghi.\n");
		free(printed);
	}
}

CASE(sockets_and_flows)
{
	struct watch_sock s = {.family = AF_INET, .local_port = 53};
	struct watch_flow f = {.family = AF_INET,
			       .proto = IPPROTO_UDP,
			       .src_port = htons(1),
			       .dst_port = htons(53),
			       .src = {198, 18, 0, 1},
			       .dst = {198, 18, 0, 2}};
	char buf[FLOW_TEXT];

	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "*:53");
	memcpy(s.local, (uint8_t[]){198, 18, 0, 2}, 4);
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "198.18.0.2:53");
	s.family = AF_INET6;
	inet_pton(AF_INET6, "2001:2::1", s.local);
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "[2001:2::1]:53");
	memset(s.local, 0, sizeof(s.local));
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "*:53");
	s.family = AF_PACKET;
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "packet");
	s.family = 45;
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "family 45");

	assert_string_equal(describe_flow(&f, buf, sizeof(buf)),
			    "udp 198.18.0.1:1 > 198.18.0.2:53");
	f.src_port = f.dst_port = 0;
	f.proto = IPPROTO_ICMP;
	assert_string_equal(describe_flow(&f, buf, sizeof(buf)), "icmp 198.18.0.1 > 198.18.0.2");
	f.family = AF_INET6;
	f.proto = 200;
	f.dst_port = htons(9);
	inet_pton(AF_INET6, "2001:2::1", f.src);
	inet_pton(AF_INET6, "2001:2::2", f.dst);
	assert_string_equal(describe_flow(&f, buf, sizeof(buf)),
			    "proto 200 2001:2::1 > [2001:2::2]:9");
	f.family = 0;
	assert_string_equal(describe_flow(&f, buf, sizeof(buf)), "");
}

int main(void)
{

	return run_cases(NULL, NULL);
}
