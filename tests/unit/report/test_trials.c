// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Trials of one experiment, and sums of intervals. Their tables are in tests/golden. */
#include "cases.h"
#include <math.h>
#include <stdlib.h>

#include "monitor/session.h"
#include "report/document.h"
#include "report/print.h"
#include "report/series.h"
#include "report/trace.h"

static struct result made(uint64_t sent, uint64_t lost, enum stage stage, double pps)
{
	struct result res = {.attempted = sent,
			     .sent = sent,
			     .delivered = sent - lost,
			     .dropped = lost,
			     .tx_pps = pps,
			     .rx_pps = pps / 2,
			     .duration_ns = 2000000000,
			     .payload_bytes = 512,
			     .balanced = true};

	res.stage[stage].packets = lost;
	return res;
}

static void add(struct trials *t, const struct result *res)
{
	trials_add(t, res, res->payload_bytes);
}

static void assert_summary(const struct trials *t, enum trials_measure m, double median, double min,
			   double max, double spread)
{
	struct summary s = trials_summarise(t, m);

	assert_true(s.median == median && s.min == min && s.max == max);
	assert_true(fabs(s.spread - spread) < 1e-12);
}

CASE(summary)
{
	struct trials *t = trials_new(4);
	struct result res[] = {made(100, 10, STAGE_RCVBUF, 3000), made(100, 0, STAGE_RCVBUF, 1000),
			       made(100, 50, STAGE_QDISC, 2000), made(100, 45, STAGE_RCVBUF, 2500)};

	for (unsigned i = 0; i < 3; i++)
		add(t, &res[i]);
	assert_int_equal(t->n, 3);
	assert_summary(t, TRIALS_TX_PPS, 2000, 1000, 3000, 1);
	assert_summary(t, TRIALS_LOST, 0.1, 0, 0.5, 5);
	assert_string_equal(trials_stage(t), "qdisc");
	add(t, &res[3]);
	assert_summary(t, TRIALS_TX_PPS, 2250, 1000, 3000, 2000.0 / 2250);
	assert_summary(t, TRIALS_DROPPED, 27.5, 0, 50, 50 / 27.5);
	assert_string_equal(trials_stage(t), "rcvbuf"); /* 55 in all */
	assert_false(trials_steady(t));
	add(t, &res[3]); /* one more than there is room for */
	assert_int_equal(t->n, 4);
	trials_clear(t);
	assert_int_equal(t->n, 0);
	assert_string_equal(trials_stage(t), "");
	add(t, &res[1]);
	assert_string_equal(trials_stage(t), ""); /* it lost nothing */
	free(t);
}

/* A file may claim that more arrived than was sent, or that more is in flight. */
CASE(no_fraction_above_one)
{
	static const struct {
		uint64_t sent, delivered, in_flight;
		double lost;
	} table[] = {{100, 300, 0, 0}, {100, 20, 500, 0}, {0, 5, 0, 0}, {100, 60, 30, 0.1}};

	for (unsigned i = 0; i < LENGTH(table); i++) {
		struct result res = made(table[i].sent, 0, STAGE_RCVBUF, 1000);
		struct trials *t = trials_new(1);
		struct json_object *end;

		res.delivered = table[i].delivered;
		res.in_flight = table[i].in_flight;
		end = json_end(&res);
		assert_true(fabs(lost_fraction(end) - table[i].lost) < 1e-12);
		trials_add(t, &res, 0);
		assert_summary(t, TRIALS_LOST, table[i].lost, table[i].lost, table[i].lost, 0);
		free(t);
		json_object_put(end);
	}
}

/* 5 % are steady, a little more is not. */
CASE(steady)
{
	static const struct {
		double low, high;
		bool steady;
	} table[] = {{1000, 1000, true}, {975.61, 1024.39, true}, {974, 1026, false}};

	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct trials *t = trials_new(2);
		struct result a = made(10, 0, STAGE_RCVBUF, table[i].low);
		struct result b = made(10, 0, STAGE_RCVBUF, table[i].high);

		add(t, &a);
		add(t, &b);
		assert_int_equal(trials_steady(t), table[i].steady);
		free(t);
	}
}

/* Looks at a balance that grows, each part in an interval: their sum is the last look. */
CASE(parts_of_a_ledger)
{
	struct series *series = series_new(true, LIVE_BY_DEFAULT, SERIES_MAX);
	struct tcp_balance b = {.so_far = true};
	struct json_object *interval, *sum, *tcp;
	static struct tcp_balance last;

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
			series = series_new(true, LIVE_BY_DEFAULT, SERIES_MAX);
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
}
