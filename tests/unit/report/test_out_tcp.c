// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The balance of TCP flows for people and for machines. */

#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "monitor/session.h"
#include "report/page.h"
#include "report/series.h"
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
	assert_says(
		&b,
		"sent again: half within 1.00 ms, 99 % within 2.00 ms, the last after 3.00 ms\n");
	assert_says(&b, "  downstream      5  25.00 %  eth0 5\n");
	assert_says(&b, "    of one without data it may be the acknowledgment, on its way back\n");
	assert_says(&b, "  spurious        3  15.00 %  of 1 the acknowledgment was dropped here\n");
	assert_says(&b, "rejected locally 12  12.00 %  netfilter 12\n");
	assert_says(&b, "result          both\n");
	assert_says(&b, "all 20 retransmissions have their cause\n");
	assert_says(&b,
		    "198.18.0.1 to 198.18.0.2 in a: 20 sent again, 12 lost here, 5 downstream\n    (qdisc)");
}

/* Of a flow that was sending before the trace began more may be sent again than was sent. */
CASE(no_percentage_above_100)
{
	struct tcp_balance b = balance();
	char *text;

	b.sum.data_segs_out = 4;
	text = text_of(&b);
	assert_null(strstr(text, "500.00 %"));
	assert_non_null(strstr(text, "retransmitted    20           18 fast"));
	free(text);
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
	assert_null(strstr(text, "rejected_locally"));
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
	assert_says(&b, "  undecided       4  20.00 %  without an event 4\n");
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
	assert_string_equal(json_get_text(json_get_item(o, "downstream", 0), "interface"), "eth0");
	assert_string_equal(json_get_text(json_get_item(o, "flows", 0), "src"), "198.18.0.1");
	json_object_put(o);
}

/* Looks at a balance that grows, each part in an interval: their sum is the last look. */
CASE(parts_of_a_ledger)
{
	struct series *series = series_new(SERIES_PARTS, LIVE_BY_DEFAULT, SERIES_MAX);
	struct tcp_balance b = {.so_far = true};
	struct json_object *interval, *sum, *tcp, *last = NULL;

	for (unsigned i = 1; i <= 3 * SERIES_MAX; i++) {
		b.sum.retransmitted += 3;
		b.sum.kinds[TCP_FAST] += 3;
		b.sum.lost_here += i % 2;
		b.sum.lost_at[i % 4 == 1 ? STAGE_QDISC : STAGE_NETFILTER] += i % 2;
		b.sum.undecided[TCP_WHY_FULL] = b.undecided = i / 3;
		b.n_beyond = i > 5 ? 2 : 1;
		b.beyond[0] = (struct tcp_beyond){.device = "eth0", .netns = "a", .segments = i};
		b.beyond[1] = (struct tcp_beyond){.device = "eth0", .netns = "b", .segments = 7};
		interval = json_object_new_object();
		json_put_u64(interval, "time_ns", i * 1000);
		json_put_u64(interval, "interval_ns", 1000);
		json_put(interval, "tcp", json_tcp_part(&b, &last));
		series_add(series, interval, i * 1000, i * 1000 + 999);
		json_object_put(interval);
	}
	assert_null(json_tcp_part(&b, &last)); /* nothing since */
	for (unsigned way = 0; way < 2; way++) {
		if (way) { /* those that were put together, once more */
			struct json_object *parts = series_intervals(series);

			assert_true(json_object_array_length(parts) <= SERIES_MAX);
			series_free(series);
			series = series_new(SERIES_PARTS, LIVE_BY_DEFAULT, SERIES_MAX);
			for (size_t i = 0; i < json_object_array_length(parts); i++)
				series_add(series, json_object_array_get_idx(parts, i), i, i);
			json_object_put(parts);
		}
		sum = series_sum(series);
		tcp = json_get(sum, "tcp");
		assert_int_equal(json_get_u64(tcp, "retransmitted"), b.sum.retransmitted);
		assert_int_equal(json_get_u64(json_get(tcp, "kinds"), "fast"), b.sum.retransmitted);
		assert_int_equal(json_get_u64(tcp, "lost_here"), b.sum.lost_here);
		assert_int_equal(json_get_length(tcp, "stages"), 2);
		assert_int_equal(json_sum(tcp, "stages", "segments"), b.sum.lost_here);
		assert_int_equal(json_get_u64(tcp, "undecided"), b.undecided);
		assert_int_equal(json_sum(tcp, "undecided_why", "segments"), b.undecided);
		assert_int_equal(json_get_length(tcp, "downstream"), 2);
		assert_int_equal(json_sum(tcp, "downstream", "segments"), 3 * SERIES_MAX + 7);
		json_object_put(sum);
	}
	series_free(series);
	json_object_put(last);
}
