// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/top.h"

#include <math.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "report/page.h"

static bool ascii; /* for the view being drawn */

static unsigned cols(void)
{
	return (unsigned)COLS;
}

static unsigned rows(void)
{
	return (unsigned)LINES;
}

/* Returns the attribute for a style, including the colour pair with the same number. */
static attr_t attribute(enum style style)
{
	return (style == STYLE_BOLD  ? A_BOLD
		: style == STYLE_DIM ? A_DIM
				     : A_NORMAL) |
	       (COLORS > 0 ? (attr_t)COLOR_PAIR(style) : A_NORMAL);
}

#define FIELD_MAX 512 /* maximum number of columns drawn at once */

/*
 * Draws a text, truncated to `width` columns. Returns the column after it. Replaces unprintable
 * characters with '?', and also wide characters, which would shift the columns.
 */
static unsigned put_field(unsigned x, unsigned y, enum style style,
			  const char *text, unsigned width)
{
	char out[4 * FIELD_MAX], *to = out;
	unsigned n = 0;

	if (x >= cols() || y >= rows())
		return x;
	width = (unsigned)smaller(width, smaller(cols() - x, FIELD_MAX));
	while (*text && n++ < width) {
		const unsigned len = utf8_shown(text), next = len ? len : 1;

		if (n == width && text[next]) {
			to = stpcpy(to, ascii ? "~" : "…");
		} else if (!len || (unsigned char)*text >= 0xe3 || (ascii && len > 1)) {
			*to++ = '?';
		} else {
			to = mempcpy(to, text, len);
		}
		text += next;
	}
	*to = '\0';
	attrset((int)attribute(style));
	mvaddstr((int)y, (int)x, out);
	return x + (unsigned)smaller(n, width);
}

static unsigned put_text(unsigned x, unsigned y, enum style style, const char *text)
{
	return put_field(x, y, style, text, cols());
}

static unsigned put_printf(unsigned x, unsigned y, enum style style, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return put_text(x, y, style, text);
}

static void put_right(unsigned end, unsigned y, enum style style, const char *text)
{
	size_t len = strlen(text);

	put_text(len < end ? end - (unsigned)len : 0, y, style, text);
}

/* Turns a line into a heading. */
static void put_heading(unsigned y)
{
	if (y < rows())
		mvchgat((int)y, 0, -1, A_REVERSE | A_BOLD, 0, NULL);
}

/* Grids: tables on the screen */

struct column {
	const char *title;
	unsigned width; /* columns (0: hidden) */
	bool number;	/* right-aligned */
	bool sorted;
	bool gives; /* name also shown elsewhere, truncated first */
};

struct grid {
	struct column *column;
	unsigned columns, rows;
	/* Returns a cell's text, valid for as long as a fmt_buffer(), and its row's style. */
	const char *(*cell)(const void *arg, unsigned row, unsigned column, enum style *style);
	const void *arg;
};

#define GRID_LEFT 1 /* column of the first cell */

/* Returns the index of the chosen row, or of the last row if there are fewer now. */
static unsigned chosen(unsigned at, unsigned n)
{
	return at < n ? at : n ? n - 1 : 0;
}

#define TEXT_LEAST 8 /* width to which such a name may be truncated */

/*
 * Makes each text column as wide as its contents, then narrows the widest columns as far as
 * necessary.
 */
static void fit(const struct grid *g)
{
	unsigned width = GRID_LEFT;

	for (unsigned k = 0; k < g->columns; k++) {
		struct column *column = &g->column[k];
		unsigned widest = 0;
		enum style style;

		for (unsigned i = 0; column->width && !column->number && i < g->rows; i++) {
			const char *text = g->cell(g->arg, i, k, &style);

			widest = larger(widest, utf8_columns(text, SIZE_MAX));
		}
		if (!column->number) /* hide columns without contents */
			column->width = widest ? larger(widest, strlen(column->title)) : 0;
		width += column->width ? column->width + 2 : 0;
	}
	for (; width > cols() + 2; width--) {
		struct column *widest = NULL;
		unsigned most = 1;

		for (unsigned k = 0; k < g->columns; k++) {
			const struct column *column = &g->column[k];
			const bool first = column->gives && column->width > TEXT_LEAST;
			const unsigned size = column->width + (first ? cols() : 0);

			if (!column->number && size >= most) {
				widest = &g->column[k];
				most = size;
			}
		}
		if (!widest || widest->width <= 1)
			break;
		widest->width--;
	}
}

/* Draws a row, or the titles if the row is negative. Returns the style of the last cell. */
static enum style draw_cells(const struct grid *g, unsigned y, int row)
{
	enum style style = STYLE_BOLD;
	unsigned x = GRID_LEFT;

	for (unsigned k = 0; k < g->columns; k++) {
		const struct column *column = &g->column[k];
		const char *text =
			row < 0 ? column->title : g->cell(g->arg, (unsigned)row, k, &style);
		unsigned end = x + column->width;

		if (!column->width)
			continue;
		if (column->number)
			put_right(end, y, style, text);
		else
			end = put_field(x, y, style, text, column->width);
		if (row < 0 && column->sorted)
			put_text(end, y, style, ascii ? "v" : "↓");
		x += column->width + 2;
	}
	return style;
}

/*
 * Draws the grid above line `end`. `at` is the chosen row, which stays visible, or NULL. Returns
 * the first line below the grid.
 */
static unsigned draw_grid(const struct grid *g, unsigned y, unsigned end, unsigned *at)
{
	const unsigned room = end - y - 1;
	unsigned first = 0;

	fit(g);
	draw_cells(g, y, -1);
	put_heading(y++);
	if (at) {
		*at = chosen(*at, g->rows);
		first = *at < room ? 0 : *at - room + 1;
	}
	for (unsigned i = first; i < g->rows && i < first + room; i++, y++) {
		const enum style style = draw_cells(g, y, (int)i);

		if (!at || i != *at)
			continue;
		put_text(0, y, style, ">");
		mvchgat((int)y, 0, -1, A_REVERSE | (attribute(style) & ~A_COLOR), (short)style,
			NULL);
	}
	if (at && first + room < g->rows)
		put_printf(1, rows() - 1, STYLE_DIM, "%u more", g->rows - first - room);
	return y;
}

/* History: each stage over the last minute */

#define SMALL_ROWS  20 /* with fewer lines, show only the most important parts */
#define FEW_ROWS    30 /* with fewer lines, omit stages without losses */
#define LABEL_COLS  15
#define NUMBER_COLS 8
#define WIDE_COLS   80
#define BYTES_COLS  100 /* fewer leave no room for bytes next to the loss percentage */
#define CAUSE_COLS  132 /* from this width on, sockets also have a reason and an interface */

/* Computes the losses per second at each stage. Returns their sum. */
static double losses_of(const struct live_table *t, uint64_t ns, double pps[STAGE_COUNT])
{
	double sum = 0;

	for (int s = 0; s < STAGE_COUNT; s++) {
		pps[s] = per_second(table_sum(t, 1u << CLASS_LOSS, s).packets, ns);
		sum += pps[s];
	}
	return sum;
}

void view_add(struct view *v, const struct live_table *now, uint64_t interval_ns)
{
	losses_of(now, interval_ns, v->history[v->added++ % VIEW_HISTORY]);
	if (!v->paused)
		v->shown = v->added;
}

/* Returns how many intervals the history contains, at most `n`. */
static unsigned history_length(const struct view *v, unsigned n)
{
	const uint64_t newer = smaller(v->added - v->shown, VIEW_HISTORY); /* while paused */

	return (unsigned)smaller(smaller(v->shown, n), VIEW_HISTORY - newer);
}

/* Returns a stage's losses/s, `ago` intervals before the newest interval shown. */
static double lost_then(const struct view *v, enum stage stage, unsigned ago)
{
	return v->history[(v->shown - 1 - ago) % VIEW_HISTORY][stage];
}

/* Returns the maximum or the sum of the newest `n` intervals. */
static double most_of(const struct view *v, enum stage stage, unsigned n, double *sum)
{
	double most = 0;

	*sum = 0;
	for (unsigned i = 0; i < n; i++) {
		most = fmax(most, lost_then(v, stage, i));
		*sum += lost_then(v, stage, i);
	}
	return most;
}

/*
 * Draws the last `n` values, newest on the right. Each column shows the maximum of its values,
 * relative to `most`.
 */
static void draw_spark(const struct view *v, enum stage stage, unsigned x,
		       unsigned y, unsigned n, unsigned most_cols, double most)
{
	static const char bars[][4] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
			  plain[][4] = {".", ":", "-", "=", "+", "*", "%", "#"};

	const unsigned width = n < most_cols ? n : most_cols;
	for (unsigned i = 0, j = 0; i < width; i++) {
		double p = 0;
		unsigned level;

		for (; j * width < (i + 1) * n; j++)
			p = fmax(p, lost_then(v, stage, n - 1 - j));
		level = most > 0 ? (unsigned)(p / most * 7.999) : 0;
		put_text(x + i, y, STYLE_BAD, p <= 0 ? " " : (ascii ? plain : bars)[level]);
	}
}

/* Draws the stages that lost the most in the last minute, in descending order. */
static unsigned draw_history(const struct view *v, unsigned y, unsigned lines)
{
	const unsigned n = history_length(v, VIEW_LAST);
	double sum[STAGE_COUNT], most = 0; /* one scale, so lines can be compared */

	for (unsigned s = 0; s < STAGE_COUNT; s++)
		most = fmax(most, most_of(v, s, n, &sum[s]));
	for (; lines; lines--, y++) {
		enum stage worst = 0;

		for (unsigned s = 1; s < STAGE_COUNT; s++)
			worst = sum[s] > sum[worst] ? s : worst;
		if (sum[worst] <= 0)
			break;
		sum[worst] = 0;
		put_text(1, y, STYLE_PLAIN, stage_name(worst));
		put_right(LABEL_COLS + NUMBER_COLS, y, STYLE_PLAIN,
			  fmt_short(lost_then(v, worst, 0)));
		draw_spark(v, worst, LABEL_COLS + NUMBER_COLS + 2, y, n, VIEW_LAST, most);
	}
	return y;
}

/* Ways to group the table's rows in addition to the stage. Groupings with flows are last. */
enum {
	GROUP_SOCKETS,
	GROUP_REASONS,
	GROUP_IFNAMES,
	GROUP_PROCESSES,
	GROUP_CGROUPS,
	GROUP_CPUS,
	GROUP_FLOWS
};

static const struct {
	const char *name;
	unsigned by; /* LIVE_BIT()s */
} groupings[] = {
	[GROUP_SOCKETS] = {"sockets",
			   LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_PROCESS) | LIVE_BIT(LIVE_NETNS)},
	[GROUP_REASONS] = {"reasons", LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_LOCATION)},
	[GROUP_IFNAMES] = {"interfaces",
			   LIVE_BIT(LIVE_DIRECTION) | LIVE_BIT(LIVE_IFNAME) | LIVE_BIT(LIVE_NETNS)},
	[GROUP_PROCESSES] = {"processes", LIVE_BIT(LIVE_PROCESS) | LIVE_BIT(LIVE_CONTAINER) |
						  LIVE_BIT(LIVE_POD)},
	[GROUP_CGROUPS] = {"cgroups", LIVE_BIT(LIVE_CGROUP)},
	[GROUP_CPUS] = {"CPUs", LIVE_BIT(LIVE_CPU)},
	[GROUP_FLOWS] = {"flows", LIVE_BIT(LIVE_FLOW)},
};

/* Fields whose names are also shown elsewhere. */
#define NAMES                                                                                      \
	(LIVE_BIT(LIVE_NETNS) | LIVE_BIT(LIVE_CGROUP) | LIVE_BIT(LIVE_CONTAINER) |                 \
	 LIVE_BIT(LIVE_POD))

/*
 * Row columns: first the numbers, then the texts. Rows can be sorted by any column up to the stage.
 */
enum { ROW_RATE, ROW_BYTES, ROW_PACKETS, ROW_LOSS, ROW_TEXT };
#define ROW_STAGE   (ROW_TEXT + LIVE_STAGE)
#define ROW_COLUMNS (ROW_TEXT + LIVE_FIELD_COUNT)

static const char *column_title(unsigned column)
{
	static const char *const numbers[] = {"pps", "bytes/s", "packets", "loss"};

	return column < ROW_TEXT ? numbers[column] : live_field_name(column - ROW_TEXT);
}

static unsigned grouped_by(const struct view *v, unsigned grouping)
{
	const unsigned cause = LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_IFNAME);

	return groupings[grouping].by | LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CLASS) |
	       (v->wide && grouping == GROUP_SOCKETS ? cause : 0);
}

bool view_is_open(const struct view *v, const struct live_row *row)
{
	return v->open && v->opened.n && table_find(&v->opened, row, v->opened_by);
}

/* Row with its counts since the start and its losses in the last interval. */
struct line {
	const struct live_row *row;
	struct live_counts now;
};

/* Table in its current grouping, filter and order. */
struct lines {
	const struct view_input *in;
	struct live_table now, total;
	struct line *at;
	uint64_t lost; /* packets since the start */
	unsigned n, by;
};

static void lines_free(struct lines *l)
{
	table_free(&l->now);
	table_free(&l->total);
	free(l->at);
}

/* Compares numbers, sorting the largest first. */
static int by_number(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* Compares two lines. If they are equal, compares current losses, then total losses. */
static int compare_lines(const void *x, const void *y, void *arg)
{
	const struct line *a = x, *b = y;
	const unsigned sort = *(const unsigned *)arg;
	int rc = sort == ROW_STAGE   ? by_number(b->row->stage, a->row->stage)
		 : sort == ROW_BYTES ? by_number(a->now.bytes, b->now.bytes)
		 : sort == ROW_RATE  ? 0
				     : by_number(a->row->counts.packets, b->row->counts.packets);

	if (!rc)
		rc = by_number(a->now.packets, b->now.packets);
	if (!rc)
		rc = by_number(a->row->counts.packets, b->row->counts.packets);
	return rc ? rc : by_number((uintptr_t)b->row, (uintptr_t)a->row);
}

static bool row_has(const struct live_row *row, const char *text)
{
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		if (strcasestr(row->text[f], text))
			return true;
	}
	return !*text;
}

static void lines_of(const struct view *v, const struct view_input *in, unsigned grouping,
		     struct lines *l)
{
	const unsigned classes = v->benign ? 0 : 1u << CLASS_LOSS | 1u << CLASS_SUSPECTED;
	unsigned sort = v->sort;

	*l = (struct lines){.in = in, .by = grouped_by(v, grouping)};
	l->lost = table_sum(in->total, 1u << CLASS_LOSS, STAGE_NONE).packets;
	table_group(&l->now, in->now, l->by, classes);
	table_group(&l->total, in->total, l->by, classes);
	l->at = mem_zero(l->total.n, sizeof(*l->at));
	for (unsigned i = 0; i < l->total.n; i++) {
		const struct live_row *row = &l->total.rows[i], *now;

		if (!row_has(row, v->text))
			continue;
		now = table_find(&l->now, row, ~0u);
		l->at[l->n++] = (struct line){row, now ? now->counts : (struct live_counts){}};
	}
	qsort_r(l->at, l->n, sizeof(*l->at), compare_lines, &sort);
}

/* Returns the chosen line. An open row stays chosen even if sorting moves it. */
static unsigned chosen_line(const struct view *v, const struct lines *l)
{
	const struct live_row *open = v->open && v->opened.n
					      ? table_find(&l->total, v->opened.rows, ~0u)
					      : NULL;

	for (unsigned i = 0; open && i < l->n; i++) {
		if (l->at[i].row == open)
			return i;
	}
	return chosen(v->at, l->n);
}

void view_chosen(const struct view *v, const struct view_input *in, struct live_table *rows)
{
	const struct live_row *row;
	struct lines l;

	table_init(rows, LIVE_ROWS);
	lines_of(v, in, v->grouping, &l);
	row = l.n ? l.at[chosen_line(v, &l)].row : NULL;
	for (unsigned i = 0; row && i < in->total->n; i++) {
		if (table_find(&l.total, &in->total->rows[i], l.by) == row)
			table_add(rows, &in->total->rows[i], ~0u);
	}
	lines_free(&l);
}

/* Opens the row that is `by` lines below the open or chosen row. */
static void open_row(struct view *v, const struct view_input *in, int below)
{
	const bool again = v->open;
	const struct live_row *row;
	struct lines l;

	lines_of(v, in, v->grouping, &l);
	v->at = chosen_line(v, &l);
	v->at = below + (int)v->at < 0 ? 0 : v->at + (unsigned)below;
	v->at = chosen(v->at, l.n);
	v->open = l.n > 0;
	row = v->open ? l.at[v->at].row : NULL;
	if (row && !(again && table_find(&v->opened, row, ~0u))) {
		table_free(&v->opened);
		table_init(&v->opened, LIVE_ROWS);
		table_add(&v->opened, row, ~0u);
		v->opened_by = l.by;
		v->openings++;
	}
	lines_free(&l);
}

static const char *row_cell(const void *arg, unsigned i, unsigned column, enum style *style)
{
	const struct lines *l = arg;
	const struct live_row *row = l->at[i].row;
	const struct live_counts *now = &l->at[i].now;
	const bool lost = row->class == CLASS_LOSS;

	*style = !lost ? STYLE_DIM : now->packets ? STYLE_BAD : STYLE_PLAIN;
	switch (column) {
	case ROW_RATE:
	case ROW_BYTES:
		if (!now->packets || !l->in->interval_ns)
			return "";
		return fmt_short(per_second(column == ROW_RATE ? now->packets : now->bytes,
					    l->in->interval_ns));
	case ROW_PACKETS:
		return fmt_short((double)row->counts.packets);
	case ROW_LOSS:
		return lost ? page_share(row->counts.packets, l->lost) : "";
	case ROW_STAGE:
		if (row->class == CLASS_SUSPECTED) /* as in trace */
			return strcat(strcpy(fmt_buffer(), row->text[LIVE_STAGE]), "?");
		/* fallthrough */
	default:
		return row->text[column - ROW_TEXT];
	}
}

/*
 * Draws rows in this grouping above line `end`. Returns the first line below them. A row can be
 * chosen only in the user's grouping.
 */
static unsigned draw_rows(struct view *v, const struct view_input *in, unsigned y,
			  unsigned end, unsigned grouping)
{
	const bool main = grouping == v->grouping;
	struct column column[ROW_COLUMNS] = {};
	struct lines l;
	struct grid g = {column, ROW_COLUMNS, 0, row_cell, &l};
	unsigned shown;

	if (y + 1 >= end)
		return y;
	lines_of(v, in, grouping, &l);
	g.rows = l.n;
	shown = l.by & ~LIVE_BIT(LIVE_CLASS);
	if (v->netns || in->one_scope)
		shown &= ~LIVE_BIT(LIVE_NETNS);
	if (cols() < WIDE_COLS) /* keep the name of the program */
		shown &= ~(LIVE_BIT(LIVE_NETNS) | LIVE_BIT(LIVE_SOCKET));
	for (unsigned k = 0; k < ROW_COLUMNS; k++) {
		if (k < ROW_TEXT || shown & LIVE_BIT(k - ROW_TEXT))
			column[k] = (struct column){
				column_title(k), NUMBER_COLS, k < ROW_TEXT, k == v->sort,
				k > ROW_STAGE && NAMES & LIVE_BIT(k - ROW_TEXT)};
	}
	if (cols() < BYTES_COLS) /* bytes/s replace the percentage */
		column[v->sort == ROW_BYTES ? ROW_LOSS : ROW_BYTES].width = 0;
	if (cols() < WIDE_COLS && v->sort != ROW_PACKETS)
		column[ROW_PACKETS].width = 0;
	if (l.n || main)
		y = draw_grid(&g, y, end, main ? &v->at : NULL);
	if (!l.n && main)
		put_printf(1, y++, STYLE_DIM,
			   *v->text ? "no row has \"%s\"" : "nothing has been lost so far",
			   v->text);
	lines_free(&l);
	return y;
}

/* Interfaces */

/* Interfaces shown. Idle interfaces appear only so that they can be chosen. */
struct devices {
	const struct view_device **at;
	unsigned n;
};

static struct devices devices_of(const struct view *v, const struct view_input *in, bool main)
{
	struct devices list = {.at = mem_zero(in->n_devices + 1, sizeof(*list.at))};

	for (unsigned i = 0; i < in->n_devices; i++) {
		const struct view_device *d = &in->devices[i];

		if ((strcasestr(d->ifname, v->text) || strcasestr(d->netns, v->text)) &&
		    (main || d->rx_pps + d->tx_pps + d->dropped_pps > 0))
			list.at[list.n++] = d;
	}
	return list;
}

static const char *device_cell(const void *arg, unsigned row, unsigned column, enum style *style)
{
	const struct devices *list = arg;
	const struct view_device *d = list->at[row];
	const double rates[] = {d->rx_pps, d->rx_bps, d->tx_pps, d->tx_bps, d->dropped_pps};
	char *name = fmt_buffer();

	*style = d->dropped_pps > 0 ? STYLE_BAD : STYLE_PLAIN;
	if (column)
		return fmt_short(rates[column - 1]);
	snprintf(name, FMT_MAX, "%s%s%s", d->ifname, *d->netns ? " in " : "", d->netns);
	return name;
}

/* Draws interfaces above line `end`. `main`: one of them is the chosen row. */
static void draw_devices(struct view *v, const struct view_input *in, unsigned y,
			 unsigned end, bool main)
{
	static const char *const titles[] = {"interface", "rx pps",   "rx bit/s",
					     "tx pps",	  "tx bit/s", "drops/s"};
	struct column column[LENGTH(titles)];
	struct devices list = devices_of(v, in, main);
	struct grid g = {column, LENGTH(column), list.n, device_cell, &list};

	for (unsigned k = 0; k < LENGTH(titles); k++)
		column[k] = (struct column){titles[k], NUMBER_COLS, k, false, !k};
	if (cols() < WIDE_COLS)
		column[2].width = column[4].width = 0;
	if (y + 1 < end && (list.n || main))
		draw_grid(&g, y, end, main ? &v->at : NULL);
	free(list.at);
}

/*
 * Returns the namespace where the chosen row lost the most, or the chosen interface's namespace. 0
 * if unknown.
 */
static uint32_t chosen_netns(const struct view *v, const struct view_input *in)
{
	uint32_t netns = 0;
	struct live_table rows;
	uint64_t most = 0;

	if (v->devices) {
		struct devices list = devices_of(v, in, true);

		netns = list.n ? list.at[chosen(v->at, list.n)]->inum : 0;
		free(list.at);
		return netns;
	}
	view_chosen(v, in, &rows);
	for (unsigned i = 0; i < rows.n; i++) {
		if (rows.rows[i].netns && rows.rows[i].counts.packets > most) {
			netns = rows.rows[i].netns;
			most = rows.rows[i].counts.packets;
		}
	}
	table_free(&rows);
	return netns;
}

/* Open row */

#define LAST_LEAST 3 /* packets shown even if the advice is long */

static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (; text && *text; text++)
		n += *text == '\n' || !text[1];
	return n;
}

/*
 * Draws a number of lines from the text, after skipping the first lines. If lines are left over at
 * the end, draws "..." in their place.
 */
static unsigned draw_lines(const char *text, unsigned y, unsigned without, unsigned lines)
{
	unsigned x = 0;

	if (!text)
		return y;
	for (size_t n; *text && lines; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (without && without--)
			continue;
		x = put_printf(1, y++, STYLE_PLAIN, "%.*s", (int)n, text);
		lines--;
	}
	if (x && *text)
		put_text(x, y - 1, STYLE_DIM, ascii ? " ..." : " …");
	return y;
}

/* Draws the row's fields one after another. */
static unsigned draw_fields(const struct live_row *row, unsigned y)
{
	unsigned x = 1;

	for (unsigned f = 0; f <= LIVE_FIELD_COUNT; f++) {
		const char *name = f < LIVE_FIELD_COUNT ? live_field_name(f) : "packets";
		const char *value = f < LIVE_FIELD_COUNT ? row->text[f]
							 : fmt_short((double)row->counts.packets);

		if (!*value || (f == LIVE_CLASS && row->class == CLASS_LOSS))
			continue;
		if (x > 1 && x + strlen(name) + 1 + utf8_columns(value, SIZE_MAX) > cols()) {
			y++;
			x = 1;
		}
		x = put_printf(x, y, STYLE_DIM, "%s ", name);
		x = put_text(x, y, f == LIVE_STAGE ? STYLE_BOLD : STYLE_PLAIN, value) + 2;
	}
	return y + 1;
}

/*
 * Draws the chosen row with its advice, its latest packets and its history. If space is tight, the
 * advice is drawn first, then some packets.
 */
static bool draw_open(struct view *v, const struct view_input *in, unsigned y)
{
	const unsigned end = rows() - 1, all = count_lines(in->packets);
	const char *advice = in->advice ? in->advice + strspn(in->advice, "\n") : "";
	unsigned room, packets = rows() < SMALL_ROWS ? 0 : (unsigned)smaller(all, LAST_LEAST);
	unsigned n = history_length(v, VIEW_HISTORY);
	enum stage stage;
	struct lines l;
	double sum, most;

	lines_of(v, in, v->grouping, &l);
	v->at = chosen_line(v, &l);
	if (!l.n) {
		lines_free(&l);
		return false;
	}
	stage = l.at[v->at].row->stage;
	y = draw_fields(l.at[v->at].row, y) + 1;
	lines_free(&l);
	packets += packets ? 2 : 0; /* including the heading */
	room = end > y + packets ? end - y - packets : 0;
	if (*advice)
		y = draw_lines(advice, y, 0, room) + 1;
	room = end > y ? end - y : 0;
	if (all && room > 1) {
		packets = (unsigned)smaller(all, room - 1);
		put_text(1, y, STYLE_DIM, "last lost packets");
		y = draw_lines(in->packets, y + 1, all - packets, packets) + 1;
	}
	if (y + 2 > end || stage == STAGE_NONE)
		return true;
	most = most_of(v, stage, n, &sum);
	put_printf(1, y, STYLE_DIM, "losses at this stage in the last %u intervals, at most %s/s", n,
		   fmt_short(most));
	draw_spark(v, stage, 1, y + 1, n, cols() - 2, most);
	return true;
}

/*
 * Path: a chain of stages for each direction, on as many lines as necessary, with current losses
 * next to the stage names. If there are few lines, stages without losses are drawn as "...".
 */

/*
 * Appends `text` after the previous text, separated by `with` (NULL: none, this is the first), or
 * on a new line.
 */
static void add(unsigned *x, unsigned *y, const char *with, unsigned style, const char *text)
{
	if (*x + utf8_columns(text, SIZE_MAX) + (with ? 3 : 0) >= cols()) {
		*x = 2;
		++*y;
	}
	if (with)
		*x = put_printf(*x, *y, STYLE_DIM, " %s ", with);
	*x = put_text(*x, *y, style, text);
}

static const char *end_text(const char *label, double pps)
{
	char *text = fmt_buffer();

	snprintf(text, FMT_MAX, pps < 0 ? "%s" : "%s %s/s", label, fmt_short(pps));
	return text;
}

/* Draws a chain of stages, in path order, between its two ends. */
static unsigned draw_chain(unsigned y, enum stage first, enum stage last, const double pps[],
			   const double ever[], const char *from, const char *to)
{
	const char *with = ascii ? ">" : "▶", *lost = ascii ? "v" : "▼";
	bool left_out = false;
	unsigned x = 1;
	char text[64];

	add(&x, &y, NULL, STYLE_BOLD, from);
	for (enum stage s = first; s <= last; s++) {
		const bool skipped = rows() < FEW_ROWS && pps[s] <= 0 && ever[s] <= 0;

		if (!skipped || !left_out) {
			snprintf(text, sizeof(text), "%s%s%s", skipped ? "..." : stage_name(s),
				 pps[s] > 0 ? lost : "", pps[s] > 0 ? fmt_short(pps[s]) : "");
			add(&x, &y, with, skipped	  ? STYLE_DIM
			    : pps[s] > 0  ? STYLE_BAD
			    : ever[s] > 0 ? STYLE_WARN
					  : STYLE_PLAIN,
			    text);
		}
		left_out = skipped;
		with = ascii ? "-" : "─";
	}
	add(&x, &y, ascii ? ">" : "▶", STYLE_BOLD, to);
	return y + 1;
}

static unsigned draw_path(const struct view_input *in, unsigned y)
{
	const struct view_traffic *t = &in->traffic;
	double pps[STAGE_COUNT], ever[STAGE_COUNT];
	unsigned x = 1;

	losses_of(in->now, in->interval_ns, pps);
	losses_of(in->total, 1000000000, ever);
	y = draw_chain(y, STAGE_NIC_RING, STAGE_SOCKET_CLOSE, pps, ever, end_text("in", t->in_pps),
		       end_text("read", t->read_pps)) +
	    (rows() >= SMALL_ROWS);
	y = draw_chain(y, STAGE_TX_SOCKET, STAGE_TX_DEVICE, pps, ever,
		       end_text("sent", t->sent_pps), end_text("out", t->out_pps));
	for (enum stage s = 0; s < STAGE_COUNT; s++) { /* not on a datagram's path */
		if (pps[s] <= 0 || (s >= STAGE_NIC_RING && s <= STAGE_SOCKET_CLOSE) ||
		    (s >= STAGE_TX_SOCKET && s <= STAGE_TX_DEVICE))
			continue;
		x = put_printf(x, y, STYLE_BAD, "%s%s %s/s", x > 1 ? ", " : "also lost: ",
			       stage_name(s), fmt_short(pps[s]));
	}
	return x > 1 ? y + 1 : y;
}

static bool shows_tcp(const struct view *v, const struct view_input *in)
{
	return in->tcp && !v->no_tcp && !v->devices;
}

#define ESCAPE	      0x1b
#define HISTORY_LINES 4 /* on a small screen (a large one uses half of the remaining lines) */
#define PAGE_LINES    10
#define TALL_ROWS     24
#define LARGE_ROOM    18 /* lines left below the history: enough for three tables */
#define MORE_COLS     14 /* columns reserved for "12345 more" on the line of keys */

/* No line is wider than the narrowest screen, and all lines fit on the lowest. */
static const char *const help[] = {
	"A red stage loses packets now, a yellow stage",
	"has lost some.",
	"up/down choose a row",
	"Enter   what to do, its last minutes and packets",
	"n       only its namespace; again: all of them",
	"/       only rows with a text: Enter keeps it,",
	"        Esc drops it",
	"g       group by sockets, reasons, interfaces ...",
	"s       sort by the next column",
	"d       interfaces: packets and bits/s",
	"b       expected drops   t  TCP balance or rows",
	"space   pause; counting goes on    q  leave",
};

/* Most important first. As many are shown as fit. */
static const char *const keys[] = {"q quit",  "? help",	     "Enter open", "/ filter",	 "s sort",
				   "g group", "n namespace", "d devices",  "space pause"};

static void draw_keys(void)
{
	char text[128] = "";
	size_t n = 0;

	for (unsigned i = 0; i < LENGTH(keys); i++) {
		if (n + strlen(keys[i]) + MORE_COLS < cols())
			n += (size_t)sprintf(text + n, " %s ", keys[i]);
	}
	put_right(cols(), rows() - 1, STYLE_DIM, text);
}

/* Draws the scope and settings of the view. */
static void draw_scope(const struct view *v, const struct view_input *in)
{
	unsigned x = put_text(1, 2, STYLE_BOLD, in->scope);

	if (!v->devices && (cols() >= WIDE_COLS || !(v->typing || *v->text)))
		x = put_printf(x, 2, STYLE_DIM, ", by %s, sorted by %s",
			       groupings[v->grouping].name, column_title(v->sort));
	if (v->typing || *v->text)
		put_printf(x, 2, v->typing ? STYLE_BOLD : STYLE_WARN, ", rows with \"%s%s",
			   v->text, v->typing ? "_" : "\"");
}

static void draw_title(const struct view *v, const struct view_input *in)
{
	double seconds = round((double)in->interval_ns / 5e7) / 20; /* interval as requested */
	double pps[STAGE_COUNT], lost = losses_of(in->now, in->interval_ns, pps);
	const double all = fmax(in->traffic.in_pps, 0) + fmax(in->traffic.sent_pps, 0);
	char right[96], share[16];
	unsigned x;

	put_printf(1, 0, STYLE_BOLD, "pktledger top  %s%s%s", in->host, in->what ? "  " : "",
		   in->what ? in->what : "");
	snprintf(right, sizeof(right), " %s%s  %.3g s ", v->paused ? "PAUSED  " : "",
		 in->clock_text, seconds);
	put_right(cols(), 0, STYLE_BOLD, right);
	put_heading(0);
	snprintf(share, sizeof(share), " %s",
		 lost > 0 && all > 0 ? page_percent(fmin(lost / all, 1)) : "");
	x = put_printf(1, 1, lost > 0 ? STYLE_BAD : STYLE_GOOD, "lost %s/s%s", fmt_short(lost),
		       share);
	if (in->traffic.in_bps >= 0)
		put_printf(cols() < WIDE_COLS ? x + 1 : larger(x + 2, 24), 1, STYLE_PLAIN,
			   "in %sbit/s out %sbit/s", fmt_short(in->traffic.in_bps),
			   fmt_short(in->traffic.out_bps));
	if (cols() < WIDE_COLS)
		return;
	snprintf(right, sizeof(right), "overhead: %.1f %% of a CPU ",
		 in->time_ns ? 100.0 * (double)in->own.cpu_ns / (double)in->time_ns : 0);
	put_right(cols(), 1, STYLE_DIM, right);
}

/*
 * Draws the table in the chosen grouping. A large screen also shows another table and the
 * interfaces, in the space below it.
 */
static void draw_tables(struct view *v, const struct view_input *in, unsigned y)
{
	const unsigned end = rows() - 1, room = end > y ? end - y : 0;
	const bool large = room >= LARGE_ROOM;
	unsigned below = in->by_flow ? GROUP_FLOWS : GROUP_REASONS;

	if (below == v->grouping)
		below = GROUP_PROCESSES;
	y = draw_rows(v, in, y, large ? y + room / 2 : end, v->grouping) + 1;
	if (!large)
		return;
	y = draw_rows(v, in, y, y + (end - y) / 2, below) + 1;
	draw_devices(v, in, y, end, false);
}

void view_draw(struct view *v, const struct view_input *in)
{
	unsigned y, lines;

	erase();
	if (cols() < VIEW_MIN_COLS || rows() < VIEW_MIN_ROWS) {
		put_printf(0, 0, STYLE_BAD, "too small: %ux%u", cols(), rows());
		put_printf(0, 1, STYLE_PLAIN, "%ux%u at least", VIEW_MIN_COLS, VIEW_MIN_ROWS);
		return;
	}
	ascii = v->ascii;
	v->wide = cols() >= CAUSE_COLS;
	draw_title(v, in);
	draw_scope(v, in);
	for (unsigned i = 0; v->help && i < LENGTH(help); i++)
		put_text(1, 3 + i, STYLE_PLAIN, help[i]);
	if (v->help)
		return;
	if (v->open && draw_open(v, in, rows() < SMALL_ROWS ? 3 : 4)) {
		put_right(cols(), rows() - 1, STYLE_DIM,
			  " Enter close  up/down next  q quit ");
		return;
	}
	y = draw_path(in, 3) + (rows() >= TALL_ROWS);
	lines = rows() > y + 4 * HISTORY_LINES ? (rows() - y) / 2 : HISTORY_LINES;
	if (shows_tcp(v, in))
		y = draw_lines(in->tcp, y, 0, rows() - 1 > y ? rows() - 1 - y : 0) + 1;
	else if (y + lines + 4 < rows())
		y = draw_history(v, y, lines) + 1;
	if (v->devices)
		draw_devices(v, in, y, rows() - 1, true);
	else
		draw_tables(v, in, y);
	draw_keys();
}

/* Handles a key while the user is typing the filter text. */
static void type_key(struct view *v, int key)
{
	size_t n = strlen(v->text);

	if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		while (n && (v->text[--n] & 0xc0) == 0x80)
			; /* all bytes of a multibyte character */
		v->text[n] = '\0';
	} else if (key == '\n' || key == '\r' || key == KEY_ENTER || key == ESCAPE) {
		v->typing = false;
		if (key == ESCAPE)
			*v->text = '\0';
	} else if (key >= ' ' && key <= UINT8_MAX && n + 1 < sizeof(v->text)) {
		v->text[n] = (char)key;
		v->text[n + 1] = '\0';
	}
	v->at = 0;
}

/* Switches between one namespace and all of them. Keeps the history. */
static void switch_netns(struct view *v, const struct view_input *in)
{
	uint32_t netns = v->netns || in->one_scope ? 0 : chosen_netns(v, in);

	if (netns == v->netns)
		return;
	v->netns = netns;
	v->at = 0;
	v->open = false;
}

bool view_key(struct view *v, int key, const struct view_input *in)
{
	int scroll = 0;

	if (v->typing && (key < KEY_MIN || key == KEY_BACKSPACE || key == KEY_ENTER)) {
		type_key(v, key);
		return false;
	}
	if (key != 'h' && key != '?')
		v->help = false;
	switch (key) {
	case 'q':
	case 'Q':
		return true;
	case 'g':
		v->grouping = (v->grouping + 1) % (LENGTH(groupings) - !in->by_flow);
		v->at = 0;
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		if (v->open || v->devices)
			v->open = false;
		else
			open_row(v, in, 0);
		break;
	case 's':
		v->sort = v->sort == ROW_PACKETS ? ROW_STAGE
			  : v->sort == ROW_STAGE ? 0
						 : v->sort + 1;
		break;
	case 'n':
		switch_netns(v, in);
		break;
	case '/':
		v->typing = true;
		*v->text = '\0';
		v->open = false;
		break;
	case ESCAPE:
		*v->text = '\0';
		v->open = false;
		break;
	case 'b':
		v->benign = !v->benign;
		break;
	case 't':
		v->no_tcp = in->tcp && !v->no_tcp;
		break;
	case 'd':
		v->devices = !v->devices;
		v->open = false;
		v->at = 0;
		break;
	case ' ':
	case 'p':
		v->paused = !v->paused;
		v->shown = v->paused ? v->shown : v->added;
		break;
	case 'h':
	case '?':
		v->help = !v->help;
		break;
	case KEY_UP:
	case KEY_DOWN:
		scroll = key == KEY_UP ? -1 : 1;
		break;
	case KEY_PPAGE:
	case KEY_NPAGE:
		scroll = key == KEY_PPAGE ? -PAGE_LINES : PAGE_LINES;
		break;
	}
	if (v->open)
		open_row(v, in, scroll);
	else
		v->at = scroll + (int)v->at < 0 ? 0 : v->at + (unsigned)scroll;
	return false;
}
