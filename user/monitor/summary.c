// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/summary.h"

#include <string.h>

#define RULES_PATIENCE_MS 2000 /* for the list of netfilter rules */

/* The largest row of a stage tells the place. */
static const struct live_row *main_row(const struct live_table *t, enum stage stage)
{
	const struct live_row *best = NULL;

	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];

		if (row->stage == stage && row->noise == NOISE_LOSS &&
		    (!best || row->counts.packets > best->counts.packets))
			best = row;
	}
	return best;
}

static const char *known(const char *text)
{
	return *text ? text : NULL;
}

static void advise(const struct live *l, struct why *why, struct live_summary *s)
{
	struct finding_facts host = {};

	findings_read_host(NULL, &host);
	for (int stage = 0; stage < STAGE_COUNT; stage++) {
		const struct live_row *row = main_row(s->total, stage);
		struct finding_facts f = host;
		struct watch_sock sock;

		if (!row)
			continue;
		f.lost = s->stage[stage].packets;
		if (row->counts.events)
			f.truesize = row->counts.memory / row->counts.events;
		f.reason = known(row->text[LIVE_REASON]);
		f.location = known(row->text[LIVE_LOCATION]);
		f.ifname = known(row->text[LIVE_IFNAME]);
		f.hook = known(row->text[LIVE_HOOK]);
		f.process = known(row->text[LIVE_PROCESS]);
		if (!live_socket(l, row, &sock)) {
			f.rcvbuf = sock.rcvbuf;
			f.port = sock.local_port;
		}
		if (why)
			why_fill(why, l, row, RULES_PATIENCE_MS, &f);
		if (!findings_for_stage(stage, &f, &s->finding[s->n_findings]))
			s->n_findings++;
	}
}

void live_summarise(const struct live *l, struct why *why, struct live_summary *out)
{
	memset(out, 0, sizeof(*out));
	out->duration_ns = live_time(l, NULL);
	out->total = live_total(l);
	out->lost = table_sum(out->total, 1u << NOISE_LOSS);
	out->suspect = table_sum(out->total, 1u << NOISE_SUSPECT);
	out->benign = table_sum(out->total, 1u << NOISE_BENIGN);
	for (unsigned i = 0; i < out->total->n; i++) {
		const struct live_row *row = &out->total->rows[i];

		if (row->noise == NOISE_LOSS && row->stage < STAGE_COUNT)
			live_counts_add(&out->stage[row->stage], &row->counts);
	}
	live_own(l, &out->own);
	live_bursts(l, NULL, &out->bursts);
	advise(l, why, out);
}
