// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/noise.h"

#include <linux/if_ether.h>

static bool is_ip(uint16_t protocol)
{
	return protocol == ETH_P_IP || protocol == ETH_P_IPV6;
}

static bool fits(const struct noise_row *row, const struct noise_event *e)
{
	if (row->packets && !(row->packets & 1u << e->pkt_type))
		return false;
	/* Not known: no row that asks for it. */
	if (row->protocol != NOISE_ANY &&
	    (!e->protocol || is_ip(e->protocol) != (row->protocol == NOISE_IP)))
		return false;
	return (!row->reasons || stagemap_listed(row->reasons, e->reason)) &&
	       (!row->locations || stagemap_listed(row->locations, e->location));
}

enum noise noise_judge(const struct noise_event *e, struct verdict *v)
{
	if (v->class == VERDICT_IGNORE)
		return NOISE_NOTHING;
	if (v->class != VERDICT_LOSS)
		return NOISE_BENIGN;
	for (unsigned i = 0; i < noise_row_count; i++) {
		const struct noise_row *row = &noise_rows[i];

		if (!fits(row, e))
			continue;
		if (row->note)
			v->note = row->note;
		return row->noise;
	}
	return NOISE_LOSS;
}

const char *noise_name(enum noise noise)
{
	static const char *const names[NOISE_COUNT] = {"loss", "suspect", "benign", "nothing"};

	return names[noise];
}
