// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "out/text_solo.h"

#include <string.h>

#include "base/num.h"
#include "trace/stagemap.h"

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
		line(out, what, c->packets, more);
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

void text_recv(FILE *out, const struct recv_result *r)
{
	const struct result *res = &r->res;
	char rate[FMT_MAX], p50[FMT_MAX], p99[FMT_MAX], max[FMT_MAX];

	line(out, "received", r->received, "");
	line(out, "delivered", res->delivered, fmt_rate(rate, sizeof(rate), res->rx_pps));
	line(out, "lost", r->lost,
	     r->tail_known ? "" : "or more: the end of a stream was not told");
	stages(out, res);
	line_if(out, "duplicated", res->duplicated);
	line_if(out, "reordered", res->reordered);
	line_if(out, "damaged", res->damaged);
	line_if(out, "invalid", res->invalid);
	if (res->latency.measured)
		fprintf(out, "delay p50 %s, p99 %s, highest %s (if both clocks agree)\n",
			fmt_ns(p50, sizeof(p50), res->latency.p50),
			fmt_ns(p99, sizeof(p99), res->latency.p99),
			fmt_ns(max, sizeof(max), res->latency.max));
	if (!r->streams)
		fprintf(out, "no packet with a stamp of pktledger came\n");
}
