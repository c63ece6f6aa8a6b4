// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Trials of one experiment, and sums of intervals. Their tables are in tests/golden. */
#include "cases.h"
#include <stdlib.h>

#include "drops/stagemap.h"
#include "monitor/session.h"
#include "recorded.h"
#include "report/document.h"
#include "report/print.h"
#include "report/series.h"
#include "report/trace.h"

#define RESULT(member) FIELD(struct result, member)
static const struct recorded_field fields[] = {
	RESULT(sent), RESULT(delivered), RESULT(in_flight), RESULT(dropped), {0}};

/* "STAGE TX_PPS FIELD=VALUE...": a trial, and what is lost of it. */
static void take_trial(struct trials *t, char *text)
{
	struct result res = {.duration_ns = 2000000000, .payload_bytes = 512, .balanced = true};
	const char *name = recorded_word(&text);
	enum stage stage = 0;
	struct json_object *end;

	while (strcmp(stage_name(stage), name))
		stage++;
	res.tx_pps = strtod(recorded_word(&text), NULL);
	res.rx_pps = res.tx_pps / 2;
	recorded_read(fields, text, &res);
	res.attempted = res.sent;
	res.stage[stage].packets = res.dropped;
	trials_add(t, &res, res.payload_bytes);
	end = json_end(&res);
	tell("lost %g", lost_fraction(end));
	json_object_put(end);
}

static void take_line(void *arg, const char *verb, char *text)
{
	static const char *const names[TRIALS_MEASURES] = {
		[TRIALS_TX_PPS] = "tx_pps", [TRIALS_LOST] = "lost", [TRIALS_DROPPED] = "dropped"};
	struct trials **t = arg;
	struct summary s;

	if (!strcmp(verb, "room")) {
		free(*t);
		*t = trials_new((unsigned)atoi(text));
	} else if (!strcmp(verb, "trial")) {
		take_trial(*t, text);
	} else if (!strcmp(verb, "clear")) {
		trials_clear(*t);
	} else if (!strcmp(verb, "summary")) {
		tell("%u", (*t)->n);
		for (unsigned m = 0; m < TRIALS_MEASURES && (*t)->n; m++) {
			if (!names[m])
				continue;
			s = trials_summarise(*t, m);
			tell("%s %.12g %.12g %.12g spread %.12g;", names[m], s.median, s.min, s.max,
			     s.spread);
		}
		tell("'%s'%s", trials_stage(*t), (*t)->n && trials_steady(*t) ? " steady" : "");
	}
}

CASE(recorded)
{
	struct trials *t = NULL;

	recorded_stories("tests/fixtures/trials", take_line, &t);
	free(t);
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
