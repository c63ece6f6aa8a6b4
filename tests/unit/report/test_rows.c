// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <math.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cases.h"
#include "report/document.h"
#include "report/print.h"
#include "report/series.h"

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
	struct json_object *end = json_end(res);

	trials_add(t, end, res->payload_bytes);
	json_object_put(end);
}

static void assert_summary(const struct trials *t, enum trials_measure m, double median, double min,
			   double max, double spread)
{
	struct summary s = trials_summarise(t, m);

	assert_true(s.median == median && s.min == min && s.max == max);
	assert_true(fabs(s.spread - spread) < 1e-12);
}

CASE(test_summary)
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
CASE(test_no_fraction_above_one)
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
		trials_add(t, end, 0);
		assert_summary(t, TRIALS_LOST, table[i].lost, table[i].lost, table[i].lost, 0);
		free(t);
		json_object_put(end);
	}
	assert_string_equal(page_share(530, 98), "");
	assert_string_equal(page_share(98, 98), "100.00 %");
	assert_string_equal(page_share(1, 1000000), "<0.01 %");
}

/* 5 % are steady, a little more is not. */
CASE(test_steady)
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

/* A document of which only this is known. */
static struct json_object *json_of(const char *text)
{
	struct json_object *o = json_tokener_parse(text);

	assert_non_null(o);
	return o;
}

static void expect(struct rows *rows, char **text, const char *wanted)
{
	fclose(rows->out);
	assert_string_equal(*text, wanted);
	free(*text);
}

static void print_table(FILE *out)
{
	struct json_object *first = json_of("{\"rcvbuf\":\"64k\",\"gro\":\"on\"}");
	struct json_object *second = json_of("{\"rcvbuf\":\"1m\",\"gro\":\"off\"}");
	struct json_object *start = json_of("{\"start\":{\"parameters\":[\"rcvbuf\",\"gro\"]}}");
	struct result lossy = made(1000, 10, STAGE_RCVBUF, 50000), clean = made(10, 0, 0, 50000);
	struct trials *t = trials_new(1);
	struct rows rows;

	rows_open(&rows, out, false, start);
	add(t, &lossy);
	rows_point(&rows, first, t, NULL);
	trials_clear(t);
	clean.balanced = false;
	clean.waits = 1234;
	clean.tx_cost = (struct result_cost){50, 1960000000};
	clean.rx_cost = (struct result_cost){1200, 500000000};
	clean.fragments.made = 60;
	clean.fragments.seen = 59;
	clean.reassembled = 9;
	add(t, &clean);
	rows_point(&rows, second, t, NULL);
	trials_clear(t);
	rows_point(&rows, second, t, "no such CPU");
	free(t);
	json_object_put(first);
	json_object_put(second);
	json_object_put(start);
}

/* What has no terminal is as one of 80 columns. */
CASE(test_table)
{
	char *text;
	size_t size;
	struct rows rows = {.out = open_memstream(&text, &size)};

	print_table(rows.out);
	expect(&rows, &text,
	       "rcvbuf  gro     sent at    received     time      lost  where\n"
	       "64k     on   50.00 kpps  25.00 kpps   2.00 s    1.00 %  rcvbuf\n"
	       "1m      off  50.00 kpps  25.00 kpps   2.00 s    0.00 %  1,234 waits, 60\n"
	       "                                                        fragments, 59 seen, 9\n"
	       "                                                        datagrams of them, NOT\n"
	       "                                                        BALANCED\n"
	       "1m      off           -           -        -         -  failed: no such CPU\n");
}

CASE(test_table_on_a_wide_terminal)
{
	const struct winsize size = {.ws_col = 170};
	struct termios raw;
	char text[4096];
	int master, slave;
	size_t len = 0;
	ssize_t n;
	FILE *f;

	cfmakeraw(&raw);
	if (openpty(&master, &slave, NULL, &raw, &size))
		skip();
	f = fdopen(slave, "w");
	print_table(f);
	fclose(f); /* then a read ends, which may be of a part */
	while ((n = read(master, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	assert_string_equal(
		text,
		"rcvbuf  gro     sent at    received       payload     time        calls   CPU, %"
		"      lost  where\n"
		"64k     on   50.00 kpps  25.00 kpps  102.4 Mbit/s   2.00 s          0+0      0+0"
		"    1.00 %  rcvbuf\n"
		"1m      off  50.00 kpps  25.00 kpps  102.4 Mbit/s   2.00 s     50+1.20k    98+25"
		"    0.00 %  1,234 waits, 60 fragments, 59 seen, 9 datagrams of "
		"them, NOT BALANCED\n"
		"1m      off           -           -             -        -            -        -"
		"         -  failed: no such CPU\n");
	close(master);
}

CASE(test_csv)
{
	struct json_object *start = json_of("{\"start\":{\"parameters\":[\"fault\",\"x\"]}}");
	struct json_object *values = json_of("{\"fault\":\"a,b\",\"x\":\"say \\\"no\\\"\"}");
	struct json_object *failed = json_of("{\"error\":{\"message\":\"one, two\"}}"), *trial;
	struct result lossy = made(1000, 10, STAGE_QDISC, 50000);
	char *text;
	size_t size;
	struct rows rows;

	lossy.tx_cost.calls = 7;
	lossy.rx_cost.calls = 8;
	trial = json_end(&lossy);
	json_put_u64(trial, "payload_bytes", lossy.payload_bytes);
	json_put(trial, "parameters", json_object_get(values));
	json_put(failed, "parameters", values);
	rows_open(&rows, open_memstream(&text, &size), true, start);
	rows_csv_trial(&rows, trial, 1);
	rows_csv_trial(&rows, failed, 2);
	json_object_put(trial);
	json_object_put(failed);
	json_object_put(start);
	expect(&rows, &text,
	       "fault,x,trial,attempted,refused,sent,delivered,dropped,lost_fraction,tx_pps,rx_pps,"
	       "stage,balanced,payload_bytes,duration_ns,waits,error,tx_calls,rx_calls,tx_cpu_ns,"
	       "rx_cpu_ns,fragments_made,fragments_seen,datagrams_reassembled\n"
	       "\"a,b\",\"say \"\"no\"\"\",1,1000,0,1000,990,10,0.01,50000.000,25000.000,qdisc,"
	       "true,512,2000000000,0,,7,8,0,0,0,0,0\n"
	       "\"a,b\",\"say \"\"no\"\"\",2,,,,,,,,,,,,,,\"one, two\",,,,,,,\n");
}
