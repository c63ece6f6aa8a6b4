// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/trials.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "drops/stagemap.h"
#include "report/csv.h"

static const char *const names[TRIALS_MEASURES] = {
	"tx_pps",	  "rx_pps",	    "delivered",	 "dropped",
	"lost_share",	  "duration_ns",    "payload_bps",	 "waits",
	"tx_calls",	  "rx_calls",	    "tx_cpu_ns",	 "rx_cpu_ns",
	"fragments_made", "fragments_seen", "fragments_dropped", "datagrams_reassembled"};

struct trials {
	unsigned n, max, balanced;
	double *value[TRIALS_MEASURES];
	uint64_t stage[STAGE_COUNT]; /* packets of all trials */
};

struct trials *trials_new(unsigned max)
{
	struct trials *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->max = max;
	for (int m = 0; m < TRIALS_MEASURES; m++) {
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
	for (int m = 0; m < TRIALS_MEASURES; m++)
		free(t->value[m]);
	free(t);
}

static double result_lost_share(const struct result *res)
{
	return res->sent ? (double)(res->sent - res->delivered) / (double)res->sent : 0;
}

void trials_add(struct trials *t, const struct result *res)
{
	if (t->n == t->max)
		return;
	t->value[TRIALS_TX_PPS][t->n] = res->tx_pps;
	t->value[TRIALS_RX_PPS][t->n] = res->rx_pps;
	t->value[TRIALS_DELIVERED][t->n] = (double)res->delivered;
	t->value[TRIALS_DROPPED][t->n] = (double)res->dropped;
	t->value[TRIALS_LOST][t->n] = result_lost_share(res);
	t->value[TRIALS_TIME][t->n] = (double)res->duration_ns;
	t->value[TRIALS_PAYLOAD][t->n] = res->rx_pps * res->payload_bytes * 8;
	t->value[TRIALS_WAITS][t->n] = (double)res->waits;
	t->value[TRIALS_TX_CALLS][t->n] = (double)res->tx_cost.calls;
	t->value[TRIALS_RX_CALLS][t->n] = (double)res->rx_cost.calls;
	t->value[TRIALS_TX_CPU][t->n] = (double)res->tx_cost.cpu_ns;
	t->value[TRIALS_RX_CPU][t->n] = (double)res->rx_cost.cpu_ns;
	t->value[TRIALS_FRAGMENTS][t->n] = (double)res->fragments.made;
	t->value[TRIALS_SEEN][t->n] = (double)res->fragments.seen;
	t->value[TRIALS_CUT][t->n] = (double)res->fragments.dropped;
	t->value[TRIALS_REASSEMBLED][t->n] = (double)res->reassembled;
	for (int s = 0; s < STAGE_COUNT; s++)
		t->stage[s] += res->stage[s].packets;
	t->balanced += res->balanced;
	t->n++;
}

void trials_clear(struct trials *t)
{
	t->n = t->balanced = 0;
	memset(t->stage, 0, sizeof(t->stage));
}

unsigned trials_count(const struct trials *t)
{
	return t->n;
}

static unsigned trials_balanced(const struct trials *t)
{
	return t->balanced;
}

static enum stage worst_of(const uint64_t packets[STAGE_COUNT])
{
	enum stage worst = STAGE_NONE;

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (packets[s] && (worst == STAGE_NONE || packets[s] > packets[worst]))
			worst = s;
	}
	return worst;
}

enum stage trials_stage(const struct trials *t)
{
	return worst_of(t->stage);
}

const char *trials_stage_name(enum stage stage)
{
	return stage == STAGE_NONE ? "" : stage_name(stage);
}

/* Of one trial: the share of what was sent that was not delivered; the stage that lost most. */
static enum stage result_worst_stage(const struct result *res)
{
	uint64_t packets[STAGE_COUNT];

	for (int s = 0; s < STAGE_COUNT; s++)
		packets[s] = res->stage[s].packets;
	return worst_of(packets);
}

void trials_print_row(FILE *out, const struct trials *t, const struct result *res)
{
	char sent[FMT_MAX], delivered[FMT_MAX], dropped[FMT_MAX], tx[FMT_MAX], rx[FMT_MAX];
	const char *where = trials_stage_name(result_worst_stage(res));

	if (t->n == 1)
		fprintf(out, "%5s %13s %13s %13s %14s %14s  %s\n", "trial", "sent", "delivered",
			"dropped", "sent at", "received at", "");
	fprintf(out, "%5u %13s %13s %13s %14s %14s  %s%s%s\n", t->n,
		fmt_count(sent, sizeof(sent), res->sent),
		fmt_count(delivered, sizeof(delivered), res->delivered),
		fmt_count(dropped, sizeof(dropped), res->dropped),
		fmt_rate(tx, sizeof(tx), res->tx_pps), fmt_rate(rx, sizeof(rx), res->rx_pps), where,
		res->balanced || !*where ? "" : ", ", res->balanced ? "" : "NOT BALANCED");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct trials_summary trials_summary_of(double *values, unsigned n)
{
	struct trials_summary s;

	qsort(values, n, sizeof(*values), by_value);
	s.min = values[0];
	s.max = values[n - 1];
	s.median = (values[(n - 1) / 2] + values[n / 2]) / 2;
	s.spread = s.median > 0 ? (s.max - s.min) / s.median : 0;
	return s;
}

struct trials_summary trials_summarise(const struct trials *t, enum trials_measure m)
{
	return trials_summary_of(t->value[m], t->n);
}

bool trials_steady(const struct trials *t)
{
	return trials_summarise(t, TRIALS_TX_PPS).spread <= TRIALS_SPREAD &&
	       trials_summarise(t, TRIALS_RX_PPS).spread <= TRIALS_SPREAD;
}

static void print_rate(FILE *out, const char *title, struct trials_summary s)
{
	char median[FMT_MAX], min[FMT_MAX], max[FMT_MAX];

	fprintf(out, "%s: median %s, lowest %s, highest %s, spread %.1f %%%s\n", title,
		fmt_rate(median, sizeof(median), s.median), fmt_rate(min, sizeof(min), s.min),
		fmt_rate(max, sizeof(max), s.max), s.spread * 100,
		s.spread > TRIALS_SPREAD ? " (more than 5 %: do not compare single runs)" : "");
}

void trials_print_end(FILE *out, const struct trials *t)
{
	struct trials_summary lost = trials_summarise(t, TRIALS_LOST);

	fprintf(out, "\n");
	print_rate(out, "sent at    ", trials_summarise(t, TRIALS_TX_PPS));
	print_rate(out, "received at", trials_summarise(t, TRIALS_RX_PPS));
	fprintf(out, "lost       : median %.3g %%, lowest %.3g %%, highest %.3g %%\n",
		lost.median * 100, lost.min * 100, lost.max * 100);
	fprintf(out, "%u of %u balanced\n", t->balanced, t->n);
}

struct json_object *trials_summary_json(struct trials_summary s)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "median", json_object_new_double(s.median));
	json_object_object_add(o, "min", json_object_new_double(s.min));
	json_object_object_add(o, "max", json_object_new_double(s.max));
	json_object_object_add(o, "spread", json_object_new_double(s.spread));
	return o;
}

void trials_put(struct json_object *o, const struct trials *t)
{
	json_put_u64(o, "trials", t->n);
	json_put_bool(o, "balanced", t->balanced == t->n);
	if (t->n)
		json_put_bool(o, "steady", trials_steady(t));
	for (int m = 0; m < TRIALS_MEASURES && t->n; m++)
		json_put(o, names[m], trials_summary_json(trials_summarise(t, m)));
}

struct json_object *trials_json(const struct trials *t)
{
	struct json_object *end = json_object_new_object();

	trials_put(end, t);
	return end;
}

void rows_column(struct rows *r, const char *title, unsigned width)
{
	unsigned least = (unsigned)strlen(title);

	r->title[r->columns] = title;
	r->width[r->columns++] = width > least ? width : least;
}

static void print_texts(const struct rows *r, const char *const *text)
{
	for (unsigned i = 0; i < r->columns; i++)
		fprintf(r->out, "%-*s  ", (int)r->width[i], text[i]);
}

void rows_about(FILE *out, const char *title, const char *about)
{
	fprintf(out, "%s\n\n%s\n\n", title, about);
}

void rows_heading(const struct rows *r)
{
	print_texts(r, r->title);
	fprintf(r->out, "%10s  %10s  %12s  %7s  %11s  %7s  %8s  %s\n", "sent at", "received",
		"payload", "time", "calls", "CPU, %", "lost", "where");
}

static const char *share_text(char *buf, size_t size, double share)
{
	if (share > 0 && share < 0.0001)
		snprintf(buf, size, "< 0.01 %%");
	else if (share < 1 && share > 0.9999)
		snprintf(buf, size, "> 99.99 %%");
	else
		snprintf(buf, size, "%.*f %%", share > 0 && share < 1 ? 2 : 0, share * 100);
	return buf;
}

/* Appends to what stands there already, by comma. */
static void remark(char *buf, size_t size, const char *text)
{
	size_t at = strlen(buf);

	snprintf(buf + at, size - at, "%s%s", at ? ", " : "", text);
}

static void add_spread(char *buf, size_t size, const struct trials *t)
{
	struct trials_summary tx = trials_summarise(t, TRIALS_TX_PPS);
	struct trials_summary rx = trials_summarise(t, TRIALS_RX_PPS);
	double spread = tx.spread > rx.spread ? tx.spread : rx.spread;
	char text[64];

	snprintf(text, sizeof(text), "spread %.1f %%%s", spread * 100,
		 trials_steady(t) ? "" : " (more than 5 %)");
	remark(buf, size, text);
}

static void add_waits(char *buf, size_t size, const struct trials *t)
{
	uint64_t waits = (uint64_t)trials_summarise(t, TRIALS_WAITS).median;
	char count[FMT_MAX], text[FMT_MAX + 16];

	if (!waits)
		return;
	snprintf(text, sizeof(text), "%s waits", fmt_count(count, sizeof(count), waits));
	remark(buf, size, text);
}

/* Of datagrams that were cut: how many pieces, how many came, what was made of them. */
static void add_fragments(char *buf, size_t size, const struct trials *t)
{
	double fragments = trials_summarise(t, TRIALS_FRAGMENTS).median;
	char made[FMT_MAX], seen[FMT_MAX], whole[FMT_MAX], text[4 * FMT_MAX];

	if (!(fragments > 0))
		return;
	fmt_count(made, sizeof(made), (uint64_t)fragments);
	fmt_count(seen, sizeof(seen), (uint64_t)trials_summarise(t, TRIALS_SEEN).median);
	fmt_count(whole, sizeof(whole), (uint64_t)trials_summarise(t, TRIALS_REASSEMBLED).median);
	snprintf(text, sizeof(text), "%s fragments, %s seen, %s datagrams of them", made, seen,
		 whole);
	remark(buf, size, text);
}

/* "1.2k+340": of the sender and of the receiver. */
static const char *calls_text(char *buf, size_t size, const struct trials *t)
{
	char tx[FMT_MAX], rx[FMT_MAX];

	fmt_short(tx, sizeof(tx), trials_summarise(t, TRIALS_TX_CALLS).median);
	fmt_short(rx, sizeof(rx), trials_summarise(t, TRIALS_RX_CALLS).median);
	snprintf(buf, size, "%s+%s", tx, rx);
	return buf;
}

/* "98+45": of the time from the first packet sent to the last. */
static const char *cpu_text(char *buf, size_t size, const struct trials *t)
{
	double ns = trials_summarise(t, TRIALS_TIME).median;
	double tx = trials_summarise(t, TRIALS_TX_CPU).median;
	double rx = trials_summarise(t, TRIALS_RX_CPU).median;

	if (!(ns > 0))
		return "-";
	snprintf(buf, size, "%.0f+%.0f", 100 * tx / ns, 100 * rx / ns);
	return buf;
}

void rows_point(const struct rows *r, const char *const *text, const struct trials *t,
		const struct error *failed)
{
	char sent[FMT_MAX], received[FMT_MAX], payload[FMT_MAX], time[FMT_MAX], lost[FMT_MAX];
	char calls[2 * FMT_MAX], cpu[32], where[512] = "";

	print_texts(r, text);
	if (!trials_count(t)) {
		fprintf(r->out, "%10s  %10s  %12s  %7s  %11s  %7s  %8s  failed: %s\n", "-", "-",
			"-", "-", "-", "-", "-", failed->message);
		return;
	}
	remark(where, sizeof(where), trials_stage_name(trials_stage(t)));
	add_waits(where, sizeof(where), t);
	add_fragments(where, sizeof(where), t);
	if (r->repeated)
		add_spread(where, sizeof(where), t);
	if (trials_balanced(t) != trials_count(t))
		remark(where, sizeof(where), "NOT BALANCED");
	if (failed) {
		remark(where, sizeof(where), "failed: ");
		strncat(where, failed->message, sizeof(where) - strlen(where) - 1);
		utf8_tame(where);
	}
	fmt_rate(sent, sizeof(sent), trials_summarise(t, TRIALS_TX_PPS).median);
	fmt_rate(received, sizeof(received), trials_summarise(t, TRIALS_RX_PPS).median);
	fmt_bps(payload, sizeof(payload), trials_summarise(t, TRIALS_PAYLOAD).median);
	/* what is read from a file may be any number */
	fmt_ns(time, sizeof(time),
	       (uint64_t)fmin(fmax(trials_summarise(t, TRIALS_TIME).median, 0), 1e18));
	share_text(lost, sizeof(lost), trials_summarise(t, TRIALS_LOST).median);
	fprintf(r->out, "%10s  %10s  %12s  %7s  %11s  %7s  %8s%s%s\n", sent, received, payload,
		time, calls_text(calls, sizeof(calls), t), cpu_text(cpu, sizeof(cpu), t), lost,
		*where ? "  " : "", where);
}

void rows_csv_heading(const struct rows *r)
{
	for (unsigned i = 0; i < r->columns; i++) {
		csv_text(r->out, r->title[i]);
		fputc(',', r->out);
	}
	fputs("trial,attempted,refused,sent,delivered,dropped,lost_share,tx_pps,rx_pps,stage,"
	      "balanced,payload_bytes,duration_ns,waits,error,tx_calls,rx_calls,tx_cpu_ns,rx_cpu_"
	      "ns,"
	      "fragments_made,fragments_seen,datagrams_reassembled\n",
	      r->out);
}

void rows_csv_trial(const struct rows *r, const char *const *text, unsigned trial,
		    const struct result *res, const struct error *failed)
{
	for (unsigned i = 0; i < r->columns; i++) {
		csv_text(r->out, text[i]);
		fputc(',', r->out);
	}
	fprintf(r->out, "%u,", trial);
	if (res)
		fprintf(r->out,
			"%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			",%.9g,%.3f,%.3f,%s,%s,%u,%" PRIu64 ",%" PRIu64 ",",
			res->attempted, res->refused, res->sent, res->delivered, res->dropped,
			result_lost_share(res), res->tx_pps, res->rx_pps,
			trials_stage_name(result_worst_stage(res)),
			res->balanced ? "true" : "false", res->payload_bytes, res->duration_ns,
			res->waits);
	else
		fputs(",,,,,,,,,,,,,", r->out);
	csv_text(r->out, failed ? failed->message : "");
	if (res)
		fprintf(r->out,
			",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%llu,%llu,%" PRIu64 "\n",
			res->tx_cost.calls, res->rx_cost.calls, res->tx_cost.cpu_ns,
			res->rx_cost.cpu_ns, (unsigned long long)res->fragments.made,
			(unsigned long long)res->fragments.seen, res->reassembled);
	else
		fputs(",,,,,,,\n", r->out);
}
