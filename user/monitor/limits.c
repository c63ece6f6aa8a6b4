// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/limits.h"

#include <errno.h>
#include <string.h>

int limits_init(struct limits *l, const struct limit *limit, unsigned n, struct error *err)
{
	char text[FMT_MAX];

	memset(l, 0, sizeof(*l));
	for (unsigned i = 0; i < n && i < OPT_LIST_MAX; i++) {
		if (limit[i].unit == LIMIT_SHARE)
			return error_set(
				err, STATUS_USAGE, -EINVAL,
				"use packets, or packets per second: 10, 100/s",
				"--limit: %s is a share of what was sent, which trace does "
				"not know",
				num_text_limit(text, sizeof(text), &limit[i]));
		l->at[l->n++].limit = limit[i];
	}
	return 0;
}

static uint64_t lost_at(const struct live_table *t, enum stage stage)
{
	uint64_t packets = 0;

	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];

		if (row->noise == NOISE_LOSS && (stage == STAGE_NONE || row->stage == stage))
			packets += row->counts.packets;
	}
	return packets;
}

bool limits_crossed(struct limits *l, unsigned i, const struct live_table *interval,
		    const struct live_table *total, uint64_t interval_ns)
{
	const struct limit *limit = &l->at[i].limit;
	bool rate = limit->unit == LIMIT_PER_SECOND, was = l->at[i].above;
	double packets = (double)lost_at(rate ? interval : total, limit->stage);

	if (rate)
		packets = interval_ns ? packets * 1e9 / (double)interval_ns : 0;
	l->at[i].measured = packets;
	l->at[i].above = packets > limit->value;
	if (!l->at[i].above || was)
		return false;
	l->at[i].crossings++;
	return true;
}

bool limits_broken(const struct limits *l)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (l->at[i].crossings)
			return true;
	}
	return false;
}
