// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include "cases.h"
#include <stdlib.h>

#include "report/page.h"
#include "report/print.h"
#include "out_sample.h"
#include "printed.h"
#include "drops/stagemap.h"

static struct result res;
static char lab[32]; /* "": made for the run */

static const char *print(bool colour, int verbosity)
{
	struct run_header head = sample_header();
	struct json_object *start, *end;
	size_t size;
	FILE *f;

	free(text);
	f = open_memstream(&text, &size);
	assert_non_null(f);
	memcpy(head.lab, lab, sizeof(lab));
	start = json_start(&head, NULL);
	end = json_end(&res);
	print_run(&(struct print_view){.out = f, .colour = colour, .verbosity = verbosity}, start,
		  end);
	json_object_put(start);
	json_object_put(end);
	fclose(f);
	return text;
}

/* Commands are to be pasted and stay whole. */
static void is_narrow(void)
{
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");

		if (n > PAGE_WIDTH && strncmp(line, "  command ", 10) &&
		    strncmp(line, "  undo ", 7))
			fail_msg("%zu columns: %.*s", n, (int)n, line);
		if (n && line[n - 1] == ' ')
			fail_msg("blank at the end of: %.*s", (int)n, line);
		line += n + (line[n] == '\n');
	}
}

static void nothing_lost(void **state)
{
	sample_clean(&res);
	print(false, 0);
	has("xsk (native copy) -> socket | 512 bytes of payload, 558 a frame | unthrottled");
	has("tx v-tx 198.18.0.1 -> rx v-rx 198.18.0.2 port 28779");
	has("\nattempted       1,000,000\n");
	has("\nrefused                 0\n");
	has("\nsent            1,000,000           812.4 kpps in 1.23 s\n");
	has("\ndelivered       1,000,000 100.00 %  560.1 kpps\n");
	has("\nin flight               0\n");
	has("\nunaccounted             0\n");
	has("\nbalanced: every packet is accounted for.\n");
	has_not("also seen");
	has_not("missed events");
	has_not("impossible");
	has_not("\033");
	is_narrow();
}

static void losses_by_stage(void **state)
{
	sample_losses(&res);
	print(false, 0);
	has("\n  qdisc           120,000  12.00 %  QDISC_DROP tx v-tx (v-tx qdisc:drops agrees)\n");
	has("\n  netfilter       100,000  10.00 %  2 causes\n");
	has("99,900   9.99 %  NETFILTER_DROP input hook rx v-rx\n");
	has("100   0.01 %  NETFILTER_DROP forward hook router v-r1\n");
	has("\n  udp_mem              20  <0.01 %  PROTO_MEM rx v-rx\n"
	    "                                    Udp:MemErrors +0, expected +20 (as newer\n");
	has(" kernels do)\n");
	has("\n  rcvbuf          312,345  31.23 %  SOCKET_RCVBUFF rx v-rx (2 counters agree)\n");
	has("balanced: every packet is accounted for.\n");
	has("\nrcvbuf - The buffer was full.\n");
	has("  buffer    212992 bytes\n");
	has("  fix       request SO_RCVBUF 425984\n");
	has("  command   sysctl -w net.core.rmem_max=425984\n");
	has_not("function_of_");
	has_not("disagree");
	is_narrow();
	for (int s = 0; s < STAGE_COUNT; s++) {
		char label[32];

		snprintf(label, sizeof(label), "\n  %s ", stage_name(s));
		if (res.stage[s].packets)
			has(label);
		else
			has_not(label);
	}
}

static void what_is_wrong(void **state)
{
	sample_wrong(&res);
	print(false, 0);
	has("11,000 ENOBUFS, 1,000 unknown\n");
	has("(9 waits, 1.00 us)");
	has("12.0 ms behind schedule");
	has("\n  udp_csum              0           rx Udp:InCsumErrors +12, expected +0\n");
	has("\nin flight               5  <0.01 %  3 in the queue, 2 in the socket\n");
	has("\nunaccounted            25  <0.01 %  last seen: 5 nowhere, 20 tx device\n");
	has("\nimpossible              1 ");
	has("\nNOT BALANCED: 25 unaccounted, 5 in flight, 1 impossible.");
	has("1 counter");
	has_not("Traffic of others");
	snprintf(lab, sizeof(lab), "demo");
	print(false, 0);
	has("disagrees. Traffic of others counts there, too.");
	*lab = '\0';
	has("Interrupted");
	has("3 duplicated, 18,446,744,073,709,551,615 ICMP replies\n");
	has("p99.9 1.20 ms");
	has("PID 1");
	is_narrow();
}

static void details_and_quiet(void **state)
{
	sample_losses(&res);
	print(false, 1);
	has("in function_of_QDISC_DROP");
	has("numbers 3-120002");
	has("Udp:InErrors +312,345");
	is_narrow();
	print(false, -1);
	has("rcvbuf - The buffer was full.");
	has("unaccounted");
}

/* Without its escapes the coloured text is the plain one. */
static void colour_adds_nothing_else(void **state)
{
	char *plain, *to;

	sample_wrong(&res);
	plain = strdup(print(false, 1));
	print(true, 1);
	has("\033[1;31mNOT BALANCED:\033[0m");
	to = text;
	for (const char *from = text; *from; from++) {
		if (*from == '\033')
			from += strcspn(from, "m");
		else
			*to++ = *from;
	}
	*to = '\0';
	assert_string_equal(text, plain);
	free(plain);
}

static void no_name_moves_the_cursor(void **state)
{
	sample_clean(&res);
	sample_cause(&res, STAGE_OTHER, "\033[2Jx", "rx", "v\nrx", "rx", NULL, 5);
	memset(res.cause[0].location, 'y', KSYM_NAME - 1);
	print(false, 0);
	has("?[2Jx");
	has("v?rx");
	has_not("\033");
	is_narrow();
}

static void many_causes_and_huge_counts(void **state)
{
	char reason[32];

	sample_clean(&res);
	res.attempted = res.sent = res.delivered = UINT64_MAX;
	for (int i = 0; i < 40; i++) {
		snprintf(reason, sizeof(reason), "REASON_%d", i);
		sample_cause(&res, STAGE_XDP, reason, "rx", "v-rx", "rx", NULL, 1ULL << i);
	}
	/* the same of another stream is no cause of its own */
	sample_cause(&res, STAGE_XDP, "REASON_39", "rx", "v-rx", "rx", NULL, 1);
	res.cause[40].stream = 1;
	print(false, 0);
	has("40 causes");
	has("549,755,813,889  <0.01 %  REASON_39 ");
	has("and 36 more (-v shows all)");
	has(">99.99 %");
	is_narrow();
	print(false, 1);
	has("  REASON_0\n");
	is_narrow();
}

static void severities_have_colours(void **state)
{
	static const char *const begin[][2] = {
		{"error", "\n\033[1;31mqdisc\033[0m - It is full.\n"},
		{"warning", "\n\033[33mqdisc\033[0m - It is full.\n"},
		{"info", "\n\033[1mqdisc\033[0m - It is full.\n"},
	};

	for (unsigned i = 0; i < LENGTH(begin); i++) {
		struct json_object *finding = json_object_new_object();
		size_t size;
		char *said;
		FILE *f = open_memstream(&said, &size);
		struct page p = page_open(f, true, 1);

		json_put_text(finding, "stage", "qdisc");
		json_put_text(finding, "severity", begin[i][0]);
		json_put_text(finding, "cause", "It is full.");
		page_finding(&p, NULL, finding);
		fclose(f);
		assert_string_equal(said, begin[i][1]);
		free(said);
		json_object_put(finding);
	}
}

/* As documents of others have it: columns of padding without end. */
static void a_count_wider_than_its_column(void **state)
{
	size_t size;
	FILE *f;
	struct page p;

	free(text);
	f = open_memstream(&text, &size);
	p = page_open(f, false, 1);
	page_row(&p, STYLE_PLAIN, 0, "packets", UINT64_MAX, 1);
	fclose(f);
	assert_string_equal(text, "packets 18,446,744,073,709,551,615");
}

/* A shell joins the lines of a command again; columns for which there is no room stand below. */
CASE(on_a_narrow_terminal)
{
	static const struct page_column columns[] = {
		{"what", 10, false}, {"sent", 8, true}, {"lost", 8, true}, {NULL, 0, false}};
	static const struct {
		const char *command, *lines;
	} of[] = {
		{"tc qdisc show", "  tc qdisc show\n"},
		{"sysctl -w net.core.rmem_max=1", "  sysctl -w \\\n    net.core.rmem_max=1\n"},
		{"a 'b c d e f g h i j' k l m", "  a \\\n    'b c d e f g h i j' \\\n    k l m\n"},
		{"a 'it'\\''s so' \"b  c\" d e f", "  a 'it'\\''s so' \\\n    \"b  c\" d e f\n"},
	};
	struct page p;
	size_t size;
	FILE *f;

	for (unsigned i = 0; i < LENGTH(of); i++) {
		free(text);
		f = open_memstream(&text, &size);
		p = page_open(f, false, 0);
		p.width = 22;
		page_text(&p, 2, STYLE_PLAIN, "");
		page_command(&p, of[i].command);
		page_end(&p);
		fclose(f);
		assert_string_equal(text, of[i].lines);
	}
	free(text);
	f = open_memstream(&text, &size);
	p = page_open(f, false, 0);
	p.width = 22;
	page_table(&p, columns);
	page_cell(&p, STYLE_PLAIN, "all");
	page_cell(&p, STYLE_PLAIN, "1,000");
	page_cell(&p, STYLE_PLAIN, "12");
	page_end(&p);
	fclose(f);
	assert_string_equal(text, "what          sent\n"
				  "        lost\n"
				  "all          1,000\n"
				  "          12\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_a_narrow_terminal),
		cmocka_unit_test(nothing_lost),
		cmocka_unit_test(losses_by_stage),
		cmocka_unit_test(what_is_wrong),
		cmocka_unit_test(details_and_quiet),
		cmocka_unit_test(colour_adds_nothing_else),
		cmocka_unit_test(no_name_moves_the_cursor),
		cmocka_unit_test(many_causes_and_huge_counts),
		cmocka_unit_test(a_count_wider_than_its_column),
		cmocka_unit_test(severities_have_colours),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(text);
	return failed;
}
