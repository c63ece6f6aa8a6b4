// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The balance of TCP flows for people and for machines. */

#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "monitor/session.h"
#include "report/page.h"
#include "report/trace.h"

static struct tcp_counter counters[] = {
	{.netns = "a",
	 .name = "Tcp:RetransSegs",
	 .delta = 20,
	 .events = 20,
	 .compared = true,
	 .agrees = true},
	{.netns = "a", .name = "TcpExt:TCPTimeouts", .delta = 3},
};

static const struct tcp_shown flow = {
	.flow = {.key = {.family = 2, .proto = 6, .src = {198, 18, 0, 1}, .dst = {198, 18, 0, 2}},
		 .sum = {.retransmitted = 20,
			 .lost_here = 12,
			 .beyond = 5,
			 .lost_at = {[STAGE_QDISC] = 12}}},
	.netns = "a",
};

/* 100 segments: 70 new, 12 returned, 20 sent again, 2 of them without data. */
static struct tcp_balance balance(void)
{
	struct tcp_balance b = {
		.sum =
			{
				.data_segs_out = 100,
				.retransmitted = 20,
				.without_data = 2,
				.returned = 12,
				.kinds = {[TCP_FAST] = 18, [TCP_KIND_SYN] = 2},
				.lost_here = 12,
				.beyond = 5,
				.not_lost = 3,
				.ack_lost = 1,
				.lost_at = {[STAGE_QDISC] = 12},
				.returned_at = {[STAGE_NETFILTER] = 12},
			},
		.fresh = 70,
		.stall = {1000000, 2000000, 3000000},
		.has_stall = true,
		.counters = {.at = counters, .size = sizeof(*counters), .n = 2},
		.beyond = {{.device = "eth0", .netns = "a", .segments = 5}},
		.n_beyond = 1,
		.n_flows = 1,
		.all_flows = 2,
	};

	b.flows[0] = flow;
	tcp_balance_judge(&b);
	return b;
}

static char *text_of(const struct tcp_balance *b)
{
	struct json_object *end = json_object_new_object();
	struct page p;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	p = page_open(out, false, 100);
	json_put(end, "tcp", json_tcp(b));
	print_tcp(&p, end);
	page_end(&p);
	fclose(out);
	json_object_put(end);
	return text;
}

static void assert_says(const struct tcp_balance *b, const char *words)
{
	char *text = text_of(b);

	if (!strstr(text, words))
		fail_msg("no \"%s\" in:\n%s", words, text);
	free(text);
}

CASE(text)
{
	const struct tcp_balance b = balance();

	assert_true(b.balanced);
	assert_says(&b, "sent            100           segments with data, by tcp_sock\n");
	assert_says(&b, "retransmitted    20  20.00 %  18 fast 2 syn - 2 of them without data\n");
	assert_says(&b, "  lost here      12  60.00 %  qdisc 12\n");
	assert_says(&b, "sent again after 1.00 ms, 99 % within 2.00 ms, the last after 3.00 ms\n");
	assert_says(&b, "  beyond          5  25.00 %  eth0 5\n");
	assert_says(&b, "    of one without data it may be the acknowledgment, on its way back\n");
	assert_says(&b, "  not lost        3  15.00 %  of 1 the acknowledgment was dropped here\n");
	assert_says(&b, "returned         12  12.00 %  netfilter 12\n");
	assert_says(&b, "verdict         both\n");
	assert_says(&b, "all 20 retransmissions have their cause\n");
	assert_says(&b,
		    "198.18.0.1 to 198.18.0.2 in a: 20 sent again, 12 lost here, 5 beyond (qdisc)");
}

/* While it goes on only what was sent again is known, and the flows. */
CASE(so_far)
{
	struct tcp_balance b = balance();
	char *text;

	b.so_far = true;
	b.pending = 7;
	assert_says(&b, "  lost here      12  60.00 %  qdisc 12\n");
	assert_says(&b, "  pending         7  35.00 %  lately, or not acknowledged\n");
	assert_says(&b, "flows           1 of 2, the worst first; memory: ");
	text = text_of(&b);
	assert_null(strstr(text, "segments with data"));
	assert_null(strstr(text, "returned"));
	assert_null(strstr(text, "verdict"));
	free(text);
}

CASE(undecided)
{
	struct tcp_balance b = balance();

	b.sum.undecided[TCP_WHY_UNSEEN] = 4;
	b.sum.bytes_unaccounted = 1448;
	tcp_balance_judge(&b);
	assert_false(b.balanced);
	assert_int_equal(b.undecided, 4);
	assert_says(&b, "  undecided       4  20.00 %  unseen 4\n");
	assert_says(&b, "unaccounted   1,448           bytes\n");
	assert_says(&b, "what was retransmitted does not balance\n");
}

CASE(counters_that_differ)
{
	struct tcp_balance b = balance();

	counters[0].agrees = false;
	counters[0].events = 19;
	tcp_balance_judge(&b);
	assert_false(b.balanced);
	assert_says(&b, "Tcp:RetransSegs of a moved by 20, and events showed 19\n");
	counters[0].agrees = true;
	counters[0].events = 20;
}

/* Where events were missed, what is called lost beyond may be of them. */
CASE(missed)
{
	struct tcp_balance b = balance();

	b.missed = 1;
	tcp_balance_judge(&b);
	assert_false(b.balanced);
	b.sum.beyond = 0;
	tcp_balance_judge(&b);
	assert_true(b.balanced);
	assert_int_equal(b.verdict, TCP_THIS_HOST);
}

CASE(json)
{
	const struct tcp_balance b = balance();
	struct json_object *o = json_tcp(&b), *row;

	assert_int_equal(json_get_u64(o, "new"), 70);
	assert_int_equal(json_get_u64(json_get(o, "kinds"), "syn"), 2);
	assert_int_equal(json_get_u64(json_get(o, "stall_ns"), "p99"), 2000000);
	row = json_get_item(o, "counters", 1);
	assert_non_null(row);
	assert_null(json_get(row, "agrees"));
	assert_string_equal(json_get_text(json_get_item(o, "beyond", 0), "device"), "eth0");
	assert_string_equal(json_get_text(json_get_item(o, "flows", 0), "src"), "198.18.0.1");
	json_object_put(o);
}
