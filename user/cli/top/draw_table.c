// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The lower half: the last minute of each stage, and the worst rows. */
#include <stdio.h>
#include <string.h>

#include "cli/top/draw.h"

#define LABEL_COLS  15
#define NUMBER_COLS 8
#define TEXT_MAX    48 /* columns that a field may take */
#define TEXT_LEAST  8  /* and has, also where there is little room */
#define TEXTS_AT    (3 * (NUMBER_COLS + 2))

const struct view_grouping view_groupings[] = {
	{"sockets", LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_PROCESS) |
			    LIVE_BIT(LIVE_NETNS)},
	{"reasons", LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_LOCATION)},
	{"interfaces", LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_DIRECTION) | LIVE_BIT(LIVE_IFNAME) |
			       LIVE_BIT(LIVE_NETNS)},
	{"processes", LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_PROCESS) | LIVE_BIT(LIVE_CONTAINER) |
			      LIVE_BIT(LIVE_POD)},
	{"cgroups", LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CGROUP)},
	{"CPUs", LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CPU)},
	{"flows", LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_FLOW)},
};

#define GROUPINGS (sizeof(view_groupings) / sizeof(*view_groupings))

unsigned view_grouping_count(bool by_flow)
{
	return by_flow ? GROUPINGS : GROUPINGS - 1;
}

static bool is_loss(const struct live_row *row)
{
	return row->stage < STAGE_COUNT && row->noise == NOISE_LOSS;
}

void draw_losses(const struct live_table *t, uint64_t ns, double pps[STAGE_COUNT])
{
	memset(pps, 0, STAGE_COUNT * sizeof(*pps));
	for (unsigned i = 0; ns && i < t->n; i++) {
		if (is_loss(&t->rows[i]))
			pps[t->rows[i].stage] +=
				(double)t->rows[i].counts.packets * 1e9 / (double)ns;
	}
}

char *draw_number(char *buf, unsigned size, double v)
{
	static const char units[] = {0, 'k', 'M', 'G', 'T'};
	unsigned u = 0;

	while (v >= 999.5 && u + 1 < sizeof(units)) {
		v /= 1000;
		u++;
	}
	snprintf(buf, size, "%.*f%c", v >= 99.95 || (v >= 9.95 && !u) || v == (int)v ? 0 : 1, v,
		 units[u]);
	return buf;
}

/* The newest is on the right. */
static void draw_spark(const double *pps, const struct view *v, struct canvas *c, unsigned x,
		       unsigned y, unsigned cols)
{
	static const wchar_t bars[] = L"▁▂▃▄▅▆▇█", plain[] = L".:-=+*%#";
	unsigned n = v->filled < cols ? v->filled : cols;
	double most = 0;

	for (unsigned i = 0; i < v->filled; i++)
		most = pps[i] > most ? pps[i] : most;
	for (unsigned i = 0; i < n; i++) {
		double p = pps[(v->head + VIEW_HISTORY - n + i) % VIEW_HISTORY];
		unsigned level = most > 0 ? (unsigned)(p / most * 7.999) : 0;

		canvas_put(c, x + i, y, p > 0 ? STYLE_BAD : STYLE_DIM,
			   !p ? L' ' : (c->ascii ? plain : bars)[level]);
	}
}

/* The stages that lost most in the minute, most first. */
static unsigned worst_stages(const struct view *v, enum stage *out, unsigned max)
{
	double sum[STAGE_COUNT] = {0};
	unsigned n = 0;

	for (unsigned s = 0; s < STAGE_COUNT; s++) {
		for (unsigned i = 0; i < v->filled; i++)
			sum[s] += v->history[s][i];
	}
	while (n < max) {
		unsigned best = 0;

		for (unsigned s = 1; s < STAGE_COUNT; s++)
			best = sum[s] > sum[best] ? s : best;
		if (sum[best] <= 0)
			break;
		sum[best] = 0;
		out[n++] = best;
	}
	return n;
}

unsigned draw_history(const struct view *v, struct canvas *c, unsigned y, unsigned lines)
{
	enum stage worst[STAGE_COUNT];
	unsigned n = worst_stages(v, worst, lines), newest = (v->head + VIEW_HISTORY - 1);
	char number[16];

	for (unsigned i = 0; i < n; i++, y++) {
		const double *pps = v->history[worst[i]];

		canvas_text(c, 1, y, STYLE_PLAIN, stage_name(worst[i]));
		canvas_right(c, LABEL_COLS + NUMBER_COLS, y, STYLE_PLAIN,
			     draw_number(number, sizeof(number), pps[newest % VIEW_HISTORY]));
		draw_spark(pps, v, c, LABEL_COLS + NUMBER_COLS + 2, y, VIEW_HISTORY);
	}
	return y;
}

/* The row of `t` with the same texts in the fields `by`; NULL: none. */
static const struct live_row *same_row(const struct live_table *t, const struct live_row *row,
				       unsigned by)
{
	for (unsigned i = 0; i < t->n; i++) {
		unsigned f = 0;

		while (f < LIVE_FIELD_COUNT &&
		       (!(by & LIVE_BIT(f)) || !strcmp(t->rows[i].text[f], row->text[f])))
			f++;
		if (f == LIVE_FIELD_COUNT && t->rows[i].noise == row->noise)
			return &t->rows[i];
	}
	return NULL;
}

struct columns {
	unsigned by, shown, width[LIVE_FIELD_COUNT];
};

static unsigned text_width(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

/* A column in which nothing stands is left out. */
static void measure(struct columns *k, const struct live_table *t)
{
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		unsigned widest = 0, title = (unsigned)strlen(live_field_name(f));

		for (unsigned i = 0; i < t->n; i++) {
			unsigned w = text_width(t->rows[i].text[f]);

			widest = w > widest ? w : widest;
		}
		if (!widest)
			k->shown &= ~LIVE_BIT(f);
		k->width[f] = widest < title ? title : widest < TEXT_MAX ? widest : TEXT_MAX;
	}
}

/* So much is missing for all columns to be seen. */
static unsigned missing(const struct columns *k, unsigned cols)
{
	unsigned end = TEXTS_AT;

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		if (k->shown & LIVE_BIT(f))
			end += k->width[f] + 2;
	}
	return end > cols + 2 ? end - cols - 2 : 0;
}

static void shrink(struct columns *k, unsigned f, unsigned by)
{
	unsigned title = (unsigned)strlen(live_field_name(f));
	unsigned least = title > TEXT_LEAST ? title : TEXT_LEAST;

	if (!(k->shown & LIVE_BIT(f)) || k->width[f] <= least)
		return;
	k->width[f] = k->width[f] - least < by ? least : k->width[f] - by;
}

/* Names that are known anyway give way first. */
static void fit(struct columns *k, unsigned cols)
{
	static const enum live_field order[] = {LIVE_NETNS,   LIVE_CGROUP, LIVE_CONTAINER, LIVE_POD,
						LIVE_PROCESS, LIVE_SOCKET, LIVE_LOCATION};

	for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++)
		shrink(k, order[i], missing(k, cols));
}

/* What does not fit ends with a mark. */
static void draw_cut(struct canvas *c, unsigned x, unsigned y, unsigned style, const char *text,
		     unsigned width)
{
	canvas_text(c, x, y, style, text);
	if (text_width(text) <= width)
		return;
	canvas_put(c, x + width - 1, y, style, c->ascii ? L'~' : L'…');
	for (unsigned i = x + width; i < c->cols; i++)
		canvas_put(c, i, y, style, L' ');
}

static void draw_texts(struct canvas *c, unsigned y, unsigned style, const struct columns *k,
		       const struct live_row *row)
{
	unsigned x = TEXTS_AT;

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		if (!(k->shown & LIVE_BIT(f)))
			continue;
		draw_cut(c, x, y, style, row ? row->text[f] : live_field_name(f), k->width[f]);
		x += k->width[f] + 2;
	}
}

static void draw_row(const struct view_input *in, const struct live_table *now, struct canvas *c,
		     unsigned y, const struct columns *k, const struct live_row *row)
{
	const struct live_row *last = same_row(now, row, k->by);
	unsigned style = row->noise == NOISE_LOSS ? last ? STYLE_BAD : STYLE_PLAIN : STYLE_DIM;
	double seconds = (double)in->interval_ns / 1e9;
	char number[16];

	if (last && seconds > 0) {
		canvas_right(c, NUMBER_COLS, y, style,
			     draw_number(number, sizeof(number),
					 (double)last->counts.packets / seconds));
		canvas_right(
			c, 2 * NUMBER_COLS + 2, y, style,
			draw_number(number, sizeof(number), (double)last->counts.bytes / seconds));
	}
	canvas_right(c, 3 * NUMBER_COLS + 4, y, style,
		     draw_number(number, sizeof(number), (double)row->counts.packets));
	draw_texts(c, y, style, k, row);
}

/* Rows that lose now come before those that did. */
static unsigned draw_rows(const struct view *v, const struct view_input *in, struct canvas *c,
			  unsigned y, const struct columns *k, const struct live_table *now,
			  const struct live_table *total)
{
	unsigned skip = v->scroll, hidden = 0;

	for (int losing = 1; losing >= 0; losing--) {
		for (unsigned i = 0; i < total->n; i++) {
			const struct live_row *row = &total->rows[i];

			if (!!same_row(now, row, k->by) != losing)
				continue;
			if (skip)
				skip--;
			else if (y + 1 < c->rows)
				draw_row(in, now, c, y++, k, row);
			else
				hidden++;
		}
	}
	return hidden;
}

void draw_table(const struct view *v, const struct view_input *in, struct canvas *c, unsigned y)
{
	const struct view_grouping *g = &view_groupings[v->grouping];
	unsigned classes = v->benign ? 0 : 1u << NOISE_LOSS | 1u << NOISE_SUSPECT, hidden;
	struct live_table now = {0}, total = {0};
	struct columns k = {.by = g->by, .shown = g->by};

	if (y + 1 >= c->rows)
		return;
	if (table_group(&now, in->now, g->by, classes) ||
	    table_group(&total, in->total, g->by, classes)) {
		canvas_text(c, 1, y, STYLE_BAD, "out of memory");
	} else {
		table_sort(&total, v->order);
		measure(&k, &total);
		fit(&k, c->cols);
		canvas_right(c, NUMBER_COLS, y, STYLE_BOLD, "pkts/s");
		canvas_right(c, 2 * NUMBER_COLS + 2, y, STYLE_BOLD, "bytes/s");
		canvas_right(c, 3 * NUMBER_COLS + 4, y, STYLE_BOLD, "packets");
		draw_texts(c, y, STYLE_BOLD, &k, NULL);
		canvas_style(c, y, STYLE_BOLD | CANVAS_REVERSED);
		hidden = draw_rows(v, in, c, y + 1, &k, &now, &total);
		if (hidden)
			canvas_printf(c, 1, c->rows - 1, STYLE_DIM, "%u more: arrow keys", hidden);
		else if (!total.n)
			canvas_text(c, 1, y + 1, STYLE_DIM, "nothing was lost so far");
	}
	table_free(&now);
	table_free(&total);
}

void draw_devices(const struct view *v, const struct view_input *in, struct canvas *c, unsigned y)
{
	char rx[16], rx_bits[16], tx[16], tx_bits[16], lost[16];

	canvas_printf(c, 1, y, STYLE_BOLD, "%-24s %8s %8s %8s %8s %8s", "interface", "rx pps",
		      "rx bit/s", "tx pps", "tx bit/s", "drops/s");
	canvas_style(c, y++, STYLE_BOLD | CANVAS_REVERSED);
	for (unsigned i = v->scroll; i < in->n_devices && y < c->rows; i++, y++) {
		const struct view_device *d = &in->devices[i];
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", d->netns, *d->netns ? "/" : "", d->ifname);
		canvas_printf(c, 1, y, d->dropped_pps > 0 ? STYLE_BAD : STYLE_PLAIN,
			      "%-24.24s %8s %8s %8s %8s %8s", name,
			      draw_number(rx, sizeof(rx), d->rx_pps),
			      draw_number(rx_bits, sizeof(rx_bits), d->rx_bps),
			      draw_number(tx, sizeof(tx), d->tx_pps),
			      draw_number(tx_bits, sizeof(tx_bits), d->tx_bps),
			      draw_number(lost, sizeof(lost), d->dropped_pps));
	}
}
