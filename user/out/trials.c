// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "out/trials.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "trace/stagemap.h"

enum measure { TX_PPS, RX_PPS, DELIVERED, DROPPED, MEASURES };

static const char *const names[MEASURES] = {"tx_pps", "rx_pps", "delivered", "dropped"};

struct trials {
	unsigned n, max, balanced;
	double *value[MEASURES];
};

struct trials *trials_new(unsigned max)
{
	struct trials *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->max = max;
	for (int m = 0; m < MEASURES; m++) {
		t->value[m] = calloc(max, sizeof(double));
		if (!t->value[m]) {
			trials_free(t);
			return NULL;
		}
	}
	return t;
}

void trials_free(struct trials *t)
{
	if (!t)
		return;
	for (int m = 0; m < MEASURES; m++)
		free(t->value[m]);
	free(t);
}

void trials_add(struct trials *t, const struct result *res)
{
	if (t->n == t->max)
		return;
	t->value[TX_PPS][t->n] = res->tx_pps;
	t->value[RX_PPS][t->n] = res->rx_pps;
	t->value[DELIVERED][t->n] = (double)res->delivered;
	t->value[DROPPED][t->n] = (double)res->dropped;
	t->balanced += res->balanced;
	t->n++;
}

/* The stage that lost most. */
static const char *worst_stage(const struct result *res)
{
	int worst = -1;

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (res->stage[s].packets &&
		    (worst < 0 || res->stage[s].packets > res->stage[worst].packets))
			worst = s;
	}
	return worst < 0 ? "" : stage_name(worst);
}

void trials_print_row(FILE *out, const struct trials *t, const struct result *res)
{
	char sent[FMT_MAX], delivered[FMT_MAX], dropped[FMT_MAX], tx[FMT_MAX], rx[FMT_MAX];

	if (t->n == 1)
		fprintf(out, "%5s %13s %13s %13s %14s %14s  %s\n", "trial", "sent", "delivered",
			"dropped", "sent at", "received at", "");
	fprintf(out, "%5u %13s %13s %13s %14s %14s  %s%s%s\n", t->n,
		fmt_count(sent, sizeof(sent), res->sent),
		fmt_count(delivered, sizeof(delivered), res->delivered),
		fmt_count(dropped, sizeof(dropped), res->dropped),
		fmt_rate(tx, sizeof(tx), res->tx_pps), fmt_rate(rx, sizeof(rx), res->rx_pps),
		worst_stage(res),
		res->balanced	    ? ""
		: *worst_stage(res) ? ", "
				    : "",
		res->balanced ? "" : "NOT BALANCED");
}

struct summary {
	double median, min, max, spread;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct summary summarise(const struct trials *t, enum measure m)
{
	double *sorted = t->value[m];
	struct summary s;

	qsort(sorted, t->n, sizeof(*sorted), by_value);
	s.min = sorted[0];
	s.max = sorted[t->n - 1];
	s.median = (sorted[(t->n - 1) / 2] + sorted[t->n / 2]) / 2;
	s.spread = s.median > 0 ? (s.max - s.min) / s.median : 0;
	return s;
}

static void print_rate(FILE *out, const char *title, struct summary s)
{
	char median[FMT_MAX], min[FMT_MAX], max[FMT_MAX];

	fprintf(out, "%s: median %s, lowest %s, highest %s, spread %.1f %%%s\n", title,
		fmt_rate(median, sizeof(median), s.median), fmt_rate(min, sizeof(min), s.min),
		fmt_rate(max, sizeof(max), s.max), s.spread * 100,
		s.spread > TRIALS_SPREAD ? " (more than 5 %: do not compare single runs)" : "");
}

void trials_print_end(FILE *out, const struct trials *t)
{
	fprintf(out, "\n");
	print_rate(out, "sent at    ", summarise(t, TX_PPS));
	print_rate(out, "received at", summarise(t, RX_PPS));
	fprintf(out, "%u of %u balanced\n", t->balanced, t->n);
}

struct json_object *trials_json(const struct trials *t)
{
	struct json_object *end = json_object_new_object();

	json_object_object_add(end, "trials", json_object_new_int((int)t->n));
	json_object_object_add(end, "balanced", json_object_new_boolean(t->balanced == t->n));
	for (int m = 0; m < MEASURES; m++) {
		struct summary s = summarise(t, m);
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "median", json_object_new_double(s.median));
		json_object_object_add(o, "min", json_object_new_double(s.min));
		json_object_object_add(o, "max", json_object_new_double(s.max));
		json_object_object_add(o, "spread", json_object_new_double(s.spread));
		json_object_object_add(end, names[m], o);
	}
	return end;
}
