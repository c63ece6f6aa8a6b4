// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/line.h"

#include <stdlib.h>

struct line *line_new(uint16_t stream, const struct line_source *source, uint64_t first)
{
	struct line *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->stream = stream;
	l->source = *source;
	l->next = first;
	return l;
}

void line_free(struct line *l)
{
	if (!l)
		return;
	hist_free(l->delay);
	free(l);
}

/*
 * RFC 4737, section 4.2: the extent counts from the first packet that arrived with a higher number.
 * That is the one which jumped over this number, so it is enough to remember jumps.
 */
static void note_extent(struct line *l, uint64_t number)
{
	unsigned oldest = l->gaps > LINE_GAPS ? l->gaps - LINE_GAPS : 0;

	for (unsigned i = l->gaps; i-- > oldest;) {
		const struct line_gap *gap = &l->gap[i % LINE_GAPS];

		if (number >= gap->end)
			break;
		if (number < gap->first)
			continue;
		reordering_note(&l->order, l->delivered - gap->at);
		return;
	}
	l->order.extent_unknown++;
}

void line_displaced(struct line *l, uint64_t number)
{
	if (number < l->next) {
		l->order.packets++;
		note_extent(l, number);
		return;
	}
	l->gap[l->gaps++ % LINE_GAPS] = (struct line_gap){l->next, number, l->delivered};
	l->next = number + 1;
}

void line_timed(struct line *l, uint64_t sent, uint64_t now)
{
	int64_t transit = (int64_t)(now - sent), d = transit - l->transit;

	if (l->timed)
		l->jitter += (uint64_t)(d < 0 ? -d : d) - ((l->jitter + 8) >> 4);
	if (!l->timed || transit < l->fastest)
		l->fastest = transit;
	l->timed = true;
	l->transit = transit;
	if (transit < 0)
		l->negative++;
	else if (l->delay || (l->delay = hist_new()))
		hist_add(l->delay, (uint64_t)transit);
}
