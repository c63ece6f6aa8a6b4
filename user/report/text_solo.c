// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_solo.h"

#include <string.h>

#include "base/num.h"
#include "base/json.h"
#include "drops/stagemap.h"

static void line(FILE *out, const char *what, uint64_t n, const char *more)
{
	char number[FMT_MAX];

	fprintf(out, "%-15s%17s%s%s\n", what, fmt_count(number, sizeof(number), n),
		*more ? "  " : "", more);
}

static void line_if(FILE *out, const char *what, uint64_t n)
{
	if (n)
		line(out, what, n, "");
}

static void stages(FILE *out, const struct result *res)
{
	for (unsigned i = 0; i < res->n_causes; i++) {
		const struct result_cause *c = &res->cause[i];
		char what[32], more[320];

		snprintf(what, sizeof(what), "  %s", stage_name(c->stage));
		snprintf(more, sizeof(more), "%s %s", c->reason, c->ifname);
		line(out, what, c->packets, utf8_tame(more));
	}
}

void text_send(FILE *out, const struct result *res)
{
	char rate[FMT_MAX], time[FMT_MAX], more[2 * FMT_MAX + 8];

	line(out, "attempted", res->attempted, "");
	line(out, "refused", res->refused, "");
	for (unsigned i = 0; i < res->n_refused_by; i++) {
		const char *name = strerrorname_np(res->refused_by[i].error);

		line(out, "", res->refused_by[i].packets, name ? name : "(sendmmsg did not tell)");
	}
	snprintf(more, sizeof(more), "%s in %s", fmt_rate(rate, sizeof(rate), res->tx_pps),
		 fmt_ns(time, sizeof(time), res->duration_ns));
	line(out, "sent", res->sent, more);
	if (res->deliberate.asked) {
		line(out, "sent twice", res->deliberate.duplicates, "on purpose");
		line(out, "sent late", res->deliberate.reordered, "on purpose");
		line(out, "left out", res->deliberate.gaps, "on purpose, not attempted");
	}
	stages(out, res);
	line(out, "left this host", res->sent - res->dropped, "");
	line_if(out, "waits", res->waits);
}

static void text_delays(FILE *out, const struct arrivals *a)
{
	const struct result_latency *l = &a->latency;
	const char *doubt = arrivals_clock_doubt(a);
	char p50[FMT_MAX], p99[FMT_MAX], p9999[FMT_MAX], max[FMT_MAX], jitter[FMT_MAX];

	if (a->gaps.count)
		fprintf(out, "gaps %llu, the longest of %llu packets\n",
			(unsigned long long)a->gaps.count, (unsigned long long)a->gaps.longest);
	if (a->order.packets)
		fprintf(out, "reordering extent up to %llu packets\n",
			(unsigned long long)a->order.extent_max);
	if (l->measured)
		fprintf(out,
			"delay p50 %s, p99 %s, p99.99 %s, highest %s, jitter %s (" ARRIVALS_CLOCK
			" of both ends)\n",
			fmt_ns(p50, sizeof(p50), l->p50), fmt_ns(p99, sizeof(p99), l->p99),
			fmt_ns(p9999, sizeof(p9999), l->p9999), fmt_ns(max, sizeof(max), l->max),
			fmt_ns(jitter, sizeof(jitter), a->jitter_ns));
	if (doubt)
		fprintf(out, "do not trust the delay: %s\n", doubt);
}

void text_recv(FILE *out, const struct recv_result *r)
{
	const struct result *res = &r->res;
	char rate[FMT_MAX];

	line(out, "received", r->received, "");
	line(out, "delivered", res->delivered, fmt_rate(rate, sizeof(rate), res->rx_pps));
	line(out, "lost", r->lost,
	     r->tail_known ? "" : "or more: the end of a stream was not told");
	stages(out, res);
	line_if(out, "duplicated", res->duplicated);
	line_if(out, "reordered", res->arrivals.order.packets);
	line_if(out, "late", res->late);
	line_if(out, "damaged", res->damaged);
	line_if(out, "invalid", res->invalid);
	text_delays(out, &res->arrivals);
	if (!r->streams)
		fprintf(out, "no packet with a stamp of pktledger came\n");
}
