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

static struct cell *cell_at(const struct canvas *c, unsigned x, unsigned y)
{
	return &c->cells[(size_t)y * c->cols + x];
}

void canvas_resize(struct canvas *c, unsigned cols, unsigned rows)
{
	c->cells = mem_resize(c->cells, (size_t)cols * rows, sizeof(*c->cells));
	c->cols = cols;
	c->rows = rows;
}

static void canvas_put(struct canvas *c, unsigned x, unsigned y, unsigned style, wchar_t ch)
{
	if (x < c->cols && y < c->rows)
		*cell_at(c, x, y) = (struct cell){ch, (uint8_t)style};
}

/*
 * Reads one character. Wide and combining characters would shift the columns, so they become '?'
 * too.
 */
static wchar_t next_char(const char **text)
{
	const unsigned char *p = (const unsigned char *)*text;
	unsigned length = utf8_shown(*text);
	wchar_t ch = length == 3 ? *p & 0x0f : length == 2 ? *p & 0x1f : *p;

	*text += length ? length : 1;
	if (!length || length > 3)
		return L'?';
	for (unsigned i = 1; i < length; i++)
		ch = ch << 6 | (p[i] & 0x3f);
	return ch < 0x3000 ? ch : L'?';
}

static unsigned canvas_text(struct canvas *c, unsigned x, unsigned y, unsigned style,
			    const char *text)
{
	while (*text && x < c->cols)
		canvas_put(c, x++, y, style, next_char(&text));
	return x;
}

static unsigned canvas_printf(struct canvas *c, unsigned x, unsigned y, unsigned style,
			      const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return canvas_text(c, x, y, style, text);
}

static void canvas_right(struct canvas *c, unsigned end, unsigned y, unsigned style,
			 const char *text)
{
	size_t len = strlen(text);

	canvas_text(c, len < end ? end - (unsigned)len : 0, y, style, text);
}

static void canvas_number(struct canvas *c, unsigned end, unsigned y, unsigned style, double v)
{
	canvas_right(c, end, y, style, fmt_short(v));
}

/* Turns the whole line into a heading, whatever its contents. */
static void canvas_heading(struct canvas *c, unsigned y)
{
	for (unsigned x = 0; y < c->rows && x < c->cols; x++)
		cell_at(c, x, y)->style = STYLE_BOLD | CANVAS_REVERSED;
}

/* Marks the chosen line, which keeps its colour, unlike a heading. */
static void canvas_select(struct canvas *c, unsigned y)
{
	for (unsigned x = 0; y < c->rows && x < c->cols; x++)
		cell_at(c, x, y)->style |= CANVAS_REVERSED;
	if (cell_at(c, 0, y)->at == L' ')
		cell_at(c, 0, y)->at = L'>';
}

/* The lower half: the last minute of each stage, and the worst rows. */

#define SMALL_ROWS  20 /* a lower screen only shows the most important parts */
#define FEW_ROWS    30 /* a lower screen omits stages without losses */
#define LABEL_COLS  15
#define NUMBER_COLS 8
#define TEXT_MAX    48 /* columns of a field, at most */
#define TEXT_LEAST  8  /* columns of a field, at least, even with little room */
#define WIDE_COLS   80
#define BYTES_COLS  100 /* fewer columns leave no room for bytes next to the loss percentage */
#define TEXTS_AT(c) (((c)->cols < BYTES_COLS ? 3 : 4) * (NUMBER_COLS + 2))

/* Groupings of the table's rows, in addition to the stage. Groupings with flows come last. */
enum {
	GROUP_SOCKETS,
	GROUP_REASONS,
	GROUP_IFNAMES,
	GROUP_PROCESSES,
	GROUP_CGROUPS,
	GROUP_CPUS,
	GROUP_FLOWS
};

static const struct view_grouping {
	const char *name;
	unsigned by; /* LIVE_BIT()s */
} view_groupings[] = {
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

#define GROUPINGS (sizeof(view_groupings) / sizeof(*view_groupings))

/* Sort columns of the rows: a number, or one of the texts after it. */
enum { SORT_RATE, SORT_BYTES, SORT_PACKETS, SORT_TEXT, SORTS = SORT_TEXT + LIVE_FIELD_COUNT };

static const char *const number_names[SORT_TEXT] = {"pps", "bytes/s", "packets"};

static unsigned grouped_by(unsigned grouping)
{
	return view_groupings[grouping].by | LIVE_BIT(LIVE_STAGE);
}

/* Returns whether rows of this grouping have the sort column. */
static bool sort_is_shown(const struct view *v, unsigned grouping)
{
	return v->sort < SORT_TEXT || grouped_by(grouping) & LIVE_BIT(v->sort - SORT_TEXT);
}

/* Computes losses per second at each stage. Returns the sum. */
static double losses_of(const struct live_table *t, uint64_t ns, double pps[STAGE_COUNT])
{
	double sum = 0;

	for (int s = 0; s < STAGE_COUNT; s++) {
		pps[s] = per_second(table_sum(t, 1u << CLASS_LOSS, s).packets, ns);
		sum += pps[s];
	}
	return sum;
}

/* Returns the maximum of the newest `n`. */
static double most_of(const double *pps, const struct view *v, unsigned n)
{
	double most = 0;

	for (unsigned i = 1; i <= n; i++)
		most = fmax(most, pps[(v->head + VIEW_HISTORY - i) % VIEW_HISTORY]);
	return most;
}

/*
 * Draws the last `n` values, the newest on the right. A column shows the maximum of its values,
 * relative to `most`.
 */
static void draw_spark(const double *pps, const struct view *v, struct canvas *c, unsigned x,
		       unsigned y, unsigned n, unsigned cols, double most)
{
	static const wchar_t bars[] = L"▁▂▃▄▅▆▇█", plain[] = L".:-=+*%#";

	cols = n < cols ? n : cols;
	for (unsigned i = 0, j = 0; i < cols; i++) {
		double p = 0;
		unsigned level;

		for (; j * cols < (i + 1) * n; j++)
			p = fmax(p, pps[(v->head + VIEW_HISTORY - n + j) % VIEW_HISTORY]);
		level = most > 0 ? (unsigned)(p / most * 7.999) : 0;
		canvas_put(c, x + i, y, p > 0 ? STYLE_BAD : STYLE_DIM,
			   !p ? L' ' : (c->ascii ? plain : bars)[level]);
	}
}

/* Draws the stages with the most losses in the last minute, in descending order. */
static unsigned draw_history(const struct view *v, struct canvas *c, unsigned y, unsigned lines)
{
	unsigned newest = (v->head + VIEW_HISTORY - 1) % VIEW_HISTORY;
	const unsigned n = v->filled < VIEW_LAST ? v->filled : VIEW_LAST;
	double sum[STAGE_COUNT] = {0}, most = 0; /* one scale, so that lines can be compared */

	for (unsigned s = 0; s < STAGE_COUNT; s++) {
		most = fmax(most, most_of(v->history[s], v, n));
		for (unsigned i = 1; i <= VIEW_LAST && i <= v->filled; i++)
			sum[s] += v->history[s][(v->head + VIEW_HISTORY - i) % VIEW_HISTORY];
	}
	for (; lines; lines--, y++) {
		enum stage worst = 0;

		for (unsigned s = 1; s < STAGE_COUNT; s++)
			worst = sum[s] > sum[worst] ? s : worst;
		if (sum[worst] <= 0)
			break;
		sum[worst] = 0;
		canvas_text(c, 1, y, STYLE_PLAIN, stage_name(worst));
		canvas_number(c, LABEL_COLS + NUMBER_COLS, y, STYLE_PLAIN,
			      v->history[worst][newest]);
		draw_spark(v->history[worst], v, c, LABEL_COLS + NUMBER_COLS + 2, y,
			   n, VIEW_LAST, most);
	}
	return y;
}

/* Compares rows of tables with the same grouping. Returns 0 if they are the same. */
static int compare_texts(const void *x, const void *y)
{
	const struct live_row *a = x, *b = y;
	int rc = (a->class > b->class) - (a->class < b->class);

	for (unsigned f = 0; f < LIVE_FIELD_COUNT && !rc; f++)
		rc = strcmp(a->text[f], b->text[f]);
	return rc;
}

/* Returns whether `part` was added to `row`, which is grouped by these fields. */
bool view_is_part(const struct live_row *part, const struct live_row *row, unsigned by)
{
	unsigned f = 0;

	while (f < LIVE_FIELD_COUNT &&
	       (!(by & LIVE_BIT(f)) || !strcmp(part->text[f], row->text[f])))
		f++;
	return f == LIVE_FIELD_COUNT && part->class == row->class;
}

struct columns {
	unsigned at;   /* column where the texts begin */
	unsigned loss; /* column where the loss percentage ends */
	bool bytes;    /* show bytes/s, else the percentage takes their place */
	unsigned shown, width[LIVE_FIELD_COUNT];
};

/* Measures the columns. Omits a column without contents. */
static void measure(struct columns *k, const struct live_table *t)
{
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		unsigned widest = 0, title = (unsigned)strlen(live_field_name(f));

		for (unsigned i = 0; i < t->n; i++) {
			unsigned w = utf8_columns(t->rows[i].text[f], SIZE_MAX);

			widest = w > widest ? w : widest;
		}
		if (!widest)
			k->shown &= ~LIVE_BIT(f);
		k->width[f] = widest < title ? title : widest < TEXT_MAX ? widest : TEXT_MAX;
	}
}

static unsigned texts_end(const struct columns *k)
{
	unsigned end = k->at;

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		end += k->shown & LIVE_BIT(f) ? k->width[f] + 2 : 0;
	return end;
}

/*
 * Shortens columns to the width: first names that are known from elsewhere, which are removed if
 * necessary.
 */
static void fit(struct columns *k, unsigned cols)
{
	static const enum live_field order[] = {LIVE_NETNS,  LIVE_CGROUP,  LIVE_CONTAINER, LIVE_POD,
						LIVE_SOCKET, LIVE_PROCESS, LIVE_LOCATION};

	for (unsigned i = 0; i < LENGTH(order); i++) {
		unsigned f = order[i], end = texts_end(k), by;
		unsigned title = (unsigned)strlen(live_field_name(f));
		unsigned least = title > TEXT_LEAST ? title : TEXT_LEAST;

		by = end > cols + 2 ? end - cols - 2 : 0; /* columns missing to show everything */
		if (k->shown & LIVE_BIT(f) && k->width[f] > least)
			k->width[f] = k->width[f] - least < by ? least : k->width[f] - by;
	}
	for (unsigned i = 0; i < LENGTH(order) && texts_end(k) > cols + 2; i++)
		k->shown &= ~LIVE_BIT(order[i]);
	for (unsigned f = LIVE_FIELD_COUNT; f--;) { /* the last field may use the remaining
						     * columns */
		if (k->shown & LIVE_BIT(f)) {
			k->width[f] += cols + 2 > texts_end(k) ? cols + 2 - texts_end(k) : 0;
			break;
		}
	}
}

/* Returns the offset in `text` of character number `n`. */
static size_t skip_columns(const char *text, unsigned n)
{
	const char *at = text;

	while (*at && n--)
		next_char(&at);
	return (size_t)(at - text);
}

static void draw_texts(struct canvas *c, unsigned y, unsigned style, const struct columns *k,
		       const struct live_row *row)
{
	unsigned x = k->at;

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		const char *text = row ? row->text[f] : live_field_name(f);
		unsigned length, end;

		if (!(k->shown & LIVE_BIT(f)))
			continue;
		canvas_text(c, x, y, style, text);
		x += k->width[f] + 2;
		length = utf8_columns(text, SIZE_MAX);
		if (length <= k->width[f])
			continue;
		/* the text does not fit, and namespaces often differ only at the end */
		end = f == LIVE_NETNS ? (k->width[f] - 1) / 2 : 0;
		for (unsigned i = x - 3 - end; i < c->cols; i++)
			canvas_put(c, i, y, style, L' ');
		canvas_put(c, x - 3 - end, y, style, c->ascii ? L'~' : L'…');
		canvas_text(c, x - 2 - end, y, style, text + skip_columns(text, length - end));
	}
}

/* A row of the table: since the start, and in the last interval (NULL: no losses then). */
struct line {
	const struct live_row *row, *last;
};

static void draw_row(const struct view_input *in, struct canvas *c, unsigned y,
		     const struct columns *k, const struct line *line)
{
	const struct live_row *row = line->row, *last = line->last;
	unsigned style = row->class == CLASS_LOSS ? last ? STYLE_BAD : STYLE_PLAIN : STYLE_DIM;
	double seconds = (double)in->interval_ns / 1e9;

	if (last && seconds > 0) {
		canvas_number(c, NUMBER_COLS, y, style, (double)last->counts.packets / seconds);
		if (k->bytes)
			canvas_number(c, 2 * NUMBER_COLS + 2, y, style,
				      (double)last->counts.bytes / seconds);
	}
	canvas_number(c, 3 * NUMBER_COLS + 4, y, style, (double)row->counts.packets);
	if (row->class == CLASS_LOSS && k->loss)
		canvas_right(c, k->loss, y, style,
			     page_share(row->counts.packets,
					table_sum(in->total, 1u << CLASS_LOSS, STAGE_NONE).packets));
	draw_texts(c, y, style, k, row);
}

/* The table in its current grouping, filter and order. */
struct lines {
	struct live_table now, total;
	struct line *at;
	unsigned n, by;
};

static void lines_free(struct lines *l)
{
	table_free(&l->now);
	table_free(&l->total);
	free(l->at);
}

/* Sorts the largest number first. */
static int by_number(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* Sorts like trace: in the order of the path, then alphabetically, unknown values last. */
static int by_field(const struct live_row *a, const struct live_row *b, enum live_field f)
{
	if (f == LIVE_STAGE)
		return (a->stage > b->stage) - (a->stage < b->stage);
	if (!*a->text[f] || !*b->text[f])
		return !*a->text[f] - !*b->text[f];
	return strcmp(a->text[f], b->text[f]);
}

/* Compares two lines. Equal values are ordered by losses now, then by total losses. */
static int compare_lines(const void *x, const void *y, void *arg)
{
	static const struct live_counts none;
	const struct line *a = x, *b = y;
	const struct live_counts *now = a->last ? &a->last->counts : &none;
	const struct live_counts *other = b->last ? &b->last->counts : &none;
	const unsigned sort = *(const unsigned *)arg;
	int rc = sort >= SORT_TEXT	? by_field(a->row, b->row, sort - SORT_TEXT)
		 : sort == SORT_PACKETS ? by_number(a->row->counts.packets, b->row->counts.packets)
		 : sort == SORT_BYTES	? by_number(now->bytes, other->bytes)
					: 0;

	if (!rc)
		rc = by_number(now->packets, other->packets);
	if (!rc)
		rc = by_number(a->row->counts.packets, b->row->counts.packets);
	for (unsigned f = 0; f < LIVE_FIELD_COUNT && !rc; f++)
		rc = by_field(a->row, b->row, f);
	return rc;
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
	unsigned sort = sort_is_shown(v, grouping) ? v->sort : SORT_RATE;

	*l = (struct lines){.by = grouped_by(grouping)};
	table_group(&l->now, in->now, l->by, classes);
	table_group(&l->total, in->total, l->by, classes);
	l->at = mem_zero(l->total.n, sizeof(*l->at));
	if (l->now.n)
		qsort(l->now.rows, l->now.n, sizeof(*l->now.rows), compare_texts);
	for (unsigned i = 0; i < l->total.n; i++) {
		const struct live_row *row = &l->total.rows[i];

		if (row_has(row, v->text))
			l->at[l->n++] =
				(struct line){row, l->now.n ? bsearch(row, l->now.rows, l->now.n,
								      sizeof(*row), compare_texts)
							    : NULL};
	}
	qsort_r(l->at, l->n, sizeof(*l->at), compare_lines, &sort);
}

/* Returns the chosen row, or the last row if there are fewer now. */
static unsigned chosen(const struct view *v, unsigned n)
{
	return v->at < n ? v->at : n ? n - 1 : 0;
}

/* Returns the chosen line. An open row stays chosen wherever it is sorted. */
static unsigned chosen_line(const struct view *v, const struct lines *l)
{
	for (unsigned i = 0; v->open && v->opened.n && i < l->n; i++) {
		if (!compare_texts(l->at[i].row, v->opened.rows))
			return i;
	}
	return chosen(v, l->n);
}

void view_chosen(const struct view *v, const struct view_input *in, struct live_table *rows)
{
	const struct live_row *row;
	struct lines l;

	table_init(rows, LIVE_ROWS);
	lines_of(v, in, v->grouping, &l);
	row = l.n ? l.at[chosen_line(v, &l)].row : NULL;
	for (unsigned i = 0; row && i < in->total->n; i++) {
		if (view_is_part(&in->total->rows[i], row, l.by))
			table_add(rows, &in->total->rows[i], ~0u);
	}
	lines_free(&l);
}

/* Opens the row `by` lines below the open or chosen row. */
static void open_row(struct view *v, const struct view_input *in, int below)
{
	const struct live_row *row, *last = v->open && v->opened.n ? v->opened.rows : NULL;
	struct lines l;

	lines_of(v, in, v->grouping, &l);
	v->at = chosen_line(v, &l);
	v->at = below + (int)v->at < 0 ? 0 : v->at + (unsigned)below;
	v->at = chosen(v, l.n);
	v->open = l.n > 0;
	row = v->open ? l.at[v->at].row : NULL;
	if (row && (!last || compare_texts(row, last))) {
		table_free(&v->opened);
		table_init(&v->opened, LIVE_ROWS);
		table_add(&v->opened, row, ~0u);
		v->opened_by = l.by;
		v->openings++;
	}
	lines_free(&l);
}

static bool device_shown(const struct view *v, const struct view_device *d)
{
	return strcasestr(d->ifname, v->text) || strcasestr(d->netns, v->text);
}

/* Returns the n-th interface shown, or NULL. */
static const struct view_device *device_at(const struct view *v, const struct view_input *in,
					   unsigned n)
{
	for (unsigned i = 0; i < in->n_devices; i++) {
		if (device_shown(v, &in->devices[i]) && !n--)
			return &in->devices[i];
	}
	return NULL;
}

/*
 * Returns the namespace in which the chosen row lost most, or the namespace of an interface. 0 if
 * unknown.
 */
static uint32_t chosen_netns(const struct view *v, const struct view_input *in)
{
	const struct view_device *device = v->devices ? device_at(v, in, v->at) : NULL;
	uint32_t netns = device ? device->inum : 0;
	struct live_table rows;
	uint64_t most = 0;

	if (v->devices)
		return netns;
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

/* Draws an arrow next to the name of the sort column. */
static void mark_sorted(struct canvas *c, unsigned y, unsigned sort, const struct columns *k)
{
	unsigned x = NUMBER_COLS + sort * (NUMBER_COLS + 2);

	if (sort >= SORT_TEXT) {
		x = k->at + (unsigned)strlen(live_field_name(sort - SORT_TEXT));
		for (unsigned f = 0; f < sort - SORT_TEXT; f++)
			x += k->shown & LIVE_BIT(f) ? k->width[f] + 2 : 0;
	}
	canvas_put(c, x, y, STYLE_BOLD, c->ascii ? L'v' : L'↓');
}

/*
 * Draws rows of this grouping above line `end`. Returns the first line below. A row is only chosen
 * in the user's grouping.
 */
static unsigned draw_table(struct view *v, const struct view_input *in, struct canvas *c,
			   unsigned y, unsigned end, unsigned grouping)
{
	const bool main = grouping == v->grouping;
	unsigned room, first = 0;
	struct columns k;
	struct lines l;

	if (y + 1 >= end)
		return y;
	lines_of(v, in, grouping, &l);
	if (!l.n && !main) {
		lines_free(&l);
		return y;
	}
	k.at = TEXTS_AT(c);
	k.bytes = c->cols >= BYTES_COLS || v->sort == SORT_BYTES;
	k.loss = c->cols >= BYTES_COLS ? 4 * NUMBER_COLS + 6 : k.bytes ? 0 : 2 * NUMBER_COLS + 2;
	k.shown = l.by & ~(v->netns || in->one_scope ? LIVE_BIT(LIVE_NETNS) : 0);
	measure(&k, &l.total);
	fit(&k, c->cols);
	for (unsigned i = 0; i < SORT_TEXT; i++) {
		if (i != SORT_BYTES || k.bytes)
			canvas_right(c, NUMBER_COLS + i * (NUMBER_COLS + 2), y, STYLE_BOLD,
				     number_names[i]);
	}
	if (k.loss)
		canvas_right(c, k.loss, y, STYLE_BOLD, "loss");
	draw_texts(c, y, STYLE_BOLD, &k, NULL);
	mark_sorted(c, y, sort_is_shown(v, grouping) ? v->sort : SORT_RATE, &k);
	canvas_heading(c, y++);
	room = end - y;
	if (main) {
		v->at = chosen(v, l.n);
		first = v->at < room ? 0 : v->at - room + 1;
	}
	for (unsigned i = 0; i < room && first + i < l.n; i++) {
		draw_row(in, c, y + i, &k, &l.at[first + i]);
		if (main && first + i == v->at)
			canvas_select(c, y + i);
	}
	if (!l.n)
		canvas_printf(c, 1, y, STYLE_DIM,
			      *v->text ? "no row has \"%s\"" : "nothing was lost so far", v->text);
	else if (main && first + room < l.n)
		canvas_printf(c, 1, c->rows - 1, STYLE_DIM, "%u more", l.n - first - room);
	y += !l.n ? 1 : l.n - first < room ? l.n - first : room;
	lines_free(&l);
	return y;
}

static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (; text && *text; text++)
		n += *text == '\n' || !text[1];
	return n;
}

/*
 * Draws a number of lines of the text, skipping the first lines, or with "..." in place of missing
 * lines at the end.
 */
static unsigned draw_lines(const char *text, struct canvas *c, unsigned y, unsigned without,
			   unsigned lines)
{
	unsigned x = 0;

	if (!text)
		return y;
	for (size_t n; *text && lines; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (without && without--)
			continue;
		x = canvas_printf(c, 1, y++, STYLE_PLAIN, "%.*s", (int)n, text);
		lines--;
	}
	if (x && *text)
		canvas_text(c, x, y - 1, STYLE_DIM, c->ascii ? " ..." : " …");
	return y;
}

/* Draws the fields of the row, one per line or, with little room, one after the other. */
static unsigned draw_fields(const struct live_row *row, struct canvas *c, unsigned y, bool roomy)
{
	unsigned x = 1;

	for (unsigned f = 0; f <= LIVE_FIELD_COUNT; f++) {
		const char *name = f < LIVE_FIELD_COUNT ? live_field_name(f) : "packets";
		const char *value = f < LIVE_FIELD_COUNT ? row->text[f]
							 : fmt_short((double)row->counts.packets);
		unsigned wide = (unsigned)strlen(name) + 1 + utf8_columns(value, SIZE_MAX);

		if (!*value)
			continue;
		if (x > 1 && (roomy || x + wide > c->cols)) {
			y++;
			x = 1;
		}
		x = canvas_printf(c, x, y, roomy ? STYLE_PLAIN : STYLE_DIM,
				  roomy ? "%-12s " : "%s ", name);
		x = canvas_text(c, x, y, f == LIVE_STAGE ? STYLE_BOLD : STYLE_PLAIN, value) + 2;
	}
	return y + 1;
}

#define OPEN_HISTORY 3 /* lines: empty, title, minutes */
#define LAST_LEAST   3 /* packets shown even if there is much other text */

/*
 * Draws all details of the chosen row. Without room for everything, the order is: advice, some of
 * the last packets, the last minutes.
 */
static bool draw_open(struct view *v, const struct view_input *in, struct canvas *c, unsigned y)
{
	const unsigned end = c->rows - 1, all = count_lines(in->packets);
	const char *advice = in->advice ? in->advice + strspn(in->advice, "\n") : NULL;
	unsigned said = advice && *advice ? count_lines(advice) + 1 : 0, last = all, room;
	unsigned fields = 1; /* the packets */
	const struct live_row *row;
	struct lines l;
	bool roomy;

	lines_of(v, in, v->grouping, &l);
	v->at = chosen_line(v, &l);
	row = l.n ? l.at[v->at].row : NULL;
	if (!row) {
		lines_free(&l);
		return false;
	}
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		fields += *row->text[f] != '\0';
	roomy = y + fields + said + OPEN_HISTORY + (all ? all + 2 : 0) <= end;
	y = draw_fields(row, c, y, roomy);
	room = end > y ? end - y : 0;
	if (all) {
		unsigned other = said + OPEN_HISTORY + 2;
		unsigned least = c->rows < SMALL_ROWS ? 0 : all < LAST_LEAST ? all : LAST_LEAST;

		last = room > other ? larger(room - other, least) : least;
		last = last < all ? last : all;
	}
	room -= last ? last + 2 < room ? last + 2 : room : 0;
	if (said)
		y = draw_lines(advice, c, y + 1, 0, room > said ? said - 1 : room - (room > 0));
	room = room > said ? room - said : 0;
	if (room >= OPEN_HISTORY) {
		canvas_printf(c, 1, y + 1, STYLE_DIM,
			      "the stage in the last %u intervals, at most %s/s", v->filled,
			      fmt_short(most_of(v->history[row->stage], v, v->filled)));
		draw_spark(v->history[row->stage], v, c, 1, y + 2, v->filled, c->cols - 2,
			   most_of(v->history[row->stage], v, v->filled));
		y += OPEN_HISTORY;
	}
	if (last) {
		canvas_text(c, 1, y + 1, STYLE_DIM, "lost lately");
		draw_lines(in->packets, c, y + 2, all - last, last);
	}
	lines_free(&l);
	return true;
}

#define DEVICE_COLS   24 /* columns of its name, bit/s only if they fit */
#define DEVICE_NARROW 22

static const char *const device_columns[] = {"rx pps", "rx bit/s", "tx pps", "tx bit/s", "drops/s"};

/* Returns whether to show the interface. Idle interfaces are shown only to be chosen. */
static bool device_counts(const struct view *v, const struct view_device *d, bool main)
{
	return device_shown(v, d) && (main || d->rx_pps + d->tx_pps + d->dropped_pps > 0);
}

/* Draws interfaces and their queues above line `end`. `main`: one of them is chosen. */
static void draw_devices(struct view *v, const struct view_input *in, struct canvas *c, unsigned y,
			 unsigned end, bool main)
{
	const unsigned room = y + 1 < end ? end - y - 1 : 0;
	const bool bits = c->cols >= DEVICE_COLS + 1 + 9 * LENGTH(device_columns);
	const unsigned wide = bits ? DEVICE_COLS : DEVICE_NARROW;
	unsigned n = 0, first = 0, shown = 0;

	for (unsigned i = 0; i < in->n_devices; i++)
		n += device_counts(v, &in->devices[i], main);
	if (!room || (!n && !main))
		return;
	canvas_text(c, 1, y, STYLE_BOLD, "interface");
	for (unsigned k = 0, x = wide + 1; k < LENGTH(device_columns); k++) {
		if (bits || k % 2 == 0)
			canvas_right(c, x += 9, y, STYLE_BOLD, device_columns[k]);
	}
	canvas_heading(c, y++);
	if (main) {
		v->at = chosen(v, n);
		first = v->at < room ? 0 : v->at - room + 1;
	}
	for (unsigned i = 0; i < in->n_devices && shown < first + room; i++) {
		const struct view_device *d = &in->devices[i];
		const double rates[] = {d->rx_pps, d->rx_bps, d->tx_pps, d->tx_bps, d->dropped_pps};
		unsigned style = d->dropped_pps > 0 ? STYLE_BAD : STYLE_PLAIN;
		char name[2 * DEVICE_COLS], queue[24] = "";
		int left, more;

		if (!device_counts(v, d, main) || shown++ < first)
			continue;
		if (d->queue >= 0)
			snprintf(queue, sizeof(queue), " queue %d", d->queue);
		/* truncate the namespace (or pod) name first, then the interface name */
		left = (int)(wide - strlen(queue));
		more = left - (int)strlen(d->ifname) - 1;
		snprintf(name, sizeof(name), "%.*s%s%s", more > 0 ? more : 0, d->netns,
			 *d->netns ? "/" : "", d->ifname);
		canvas_printf(c, 1, y, style, "%.*s%s", left, name, queue);
		for (unsigned k = 0, x = wide + 1; k < LENGTH(rates); k++) {
			if (bits || k % 2 == 0)
				canvas_number(c, x += 9, y, style, rates[k]);
		}
		if (main && shown - 1 == v->at)
			canvas_select(c, y);
		y++;
	}
	if (main && first + room < n)
		canvas_printf(c, 1, c->rows - 1, STYLE_DIM, "%u more", n - first - room);
}

/*
 * The path: a chain of stages per direction, on as many lines as needed, with the current losses
 * below each stage's name. With few lines, stages without losses are drawn as "...".
 */

#define INDENT 2

/* Stages without a place on a datagram's path, drawn after it. */
static const enum stage elsewhere[] = {STAGE_TCP_LISTEN, STAGE_TCP_BACKLOG, STAGE_TCP_STATE,
				       STAGE_TCP_RCVBUF, STAGE_TCP,	    STAGE_ICMP,
				       STAGE_OTHER};

struct chain {
	struct canvas *c;
	unsigned x, y;
	bool lost; /* there is text below the names of this line */
};

/*
 * Appends `text` after the text before, separated by `with` (NULL: first text), or on a new line.
 */
static void add(struct chain *k, const char *with, unsigned style, const char *text,
		const char *below)
{
	unsigned width = larger(utf8_columns(text, SIZE_MAX), utf8_columns(below, SIZE_MAX));

	if (k->x + width + (with ? 3 : 0) >= k->c->cols) {
		k->x = INDENT;
		k->y += k->lost ? 2 : 1;
		k->lost = false;
	}
	if (with && k->x + 3 < k->c->cols)
		k->x = canvas_printf(k->c, k->x, k->y, STYLE_DIM, " %s ", with);
	canvas_text(k->c, k->x, k->y, style, text);
	canvas_text(k->c, k->x, k->y + 1, STYLE_BAD, below);
	k->lost |= *below;
	k->x += width;
}

static void add_end(struct chain *k, const char *with, const char *label, double pps)
{
	char text[48];

	snprintf(text, sizeof(text), "%s%s%s%s", label, pps < 0 ? "" : " ",
		 pps < 0 ? "" : fmt_short(pps), pps < 0 ? "" : "/s");
	add(k, with, STYLE_BOLD, text, "");
}

/* Draws a chain of stages, which are numbered in the order of the path. */
static unsigned draw_chain(struct canvas *c, unsigned y, enum stage first, enum stage last,
			   const double pps[], const double ever[], const char *from,
			   double from_pps, const char *to, double to_pps)
{
	const char *arrow = c->ascii ? ">" : "▶", *line = c->ascii ? "-" : "─";
	struct chain k = {.c = c, .x = 1, .y = y};
	bool left_out = false;
	char lost[32];

	add_end(&k, NULL, from, from_pps);
	for (enum stage s = first; s <= last; s++) {
		if (c->rows < FEW_ROWS && pps[s] <= 0 && ever[s] <= 0) {
			if (!left_out)
				add(&k, s > first ? line : arrow, STYLE_DIM, c->ascii ? "..." : "…",
				    "");
			left_out = true;
			continue;
		}
		left_out = false;
		*lost = '\0';
		if (pps[s] > 0)
			snprintf(lost, sizeof(lost), "%s%s", c->ascii ? "v" : "▼",
				 fmt_short(pps[s]));
		add(&k, s > first ? line : arrow,
		    *lost	  ? STYLE_BAD | CANVAS_REVERSED
		    : ever[s] > 0 ? STYLE_WARN
				  : STYLE_PLAIN,
		    stage_name(s), lost);
	}
	add_end(&k, arrow, to, to_pps);
	return k.y + (k.lost ? 2 : 1);
}

static unsigned draw_path(const struct view_input *in, struct canvas *c, unsigned y)
{
	const struct view_traffic *t = &in->traffic;
	double pps[STAGE_COUNT], ever[STAGE_COUNT];
	unsigned x = 1;

	losses_of(in->now, in->interval_ns, pps);
	losses_of(in->total, 1000000000, ever);
	y = draw_chain(c, y, STAGE_NIC_RING, STAGE_SOCKET_CLOSE, pps, ever, "in", t->in_pps, "read",
		       t->read_pps) +
	    (c->rows >= SMALL_ROWS);
	y = draw_chain(c, y, STAGE_TX_SOCKET, STAGE_TX_DEVICE, pps, ever, "sent", t->sent_pps,
		       "out", t->out_pps);
	for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++) {
		enum stage s = elsewhere[i];

		if (pps[s] > 0)
			x = canvas_printf(c, x, y, STYLE_BAD, "%s%s %s/s",
					  x > 1 ? ", " : "also lost: ", stage_name(s),
					  fmt_short(pps[s]));
	}
	return x > 1 ? y + 1 : y;
}

static bool shows_tcp(const struct view *v, const struct view_input *in)
{
	return in->tcp && !v->no_tcp && !v->devices;
}

#define ESCAPE	      0x1b
#define HISTORY_LINES 4 /* on a small screen, and half of the remaining lines on a large screen */
#define PAGE_LINES    10
#define TALL_ROWS     24
#define LARGE_ROOM    18 /* lines below the history: room for three tables */
#define MORE_COLS     14 /* columns in the line of keys for "12345 more" */

/* No line exceeds the narrowest screen, and all lines fit on the lowest screen. */
static const char *const help[] = {
	"A stage in red loses packets now, one in yellow",
	"has lost some.",
	"up/down choose a row",
	"Enter   what to do, its last minutes and packets",
	"n       only its namespace; again: all of them",
	"/       only rows with a text: Enter keeps it,",
	"        Esc drops it",
	"g       group by sockets, reasons, interfaces ...",
	"s       sort by the next column",
	"d       devices, queues: packets and bits/s",
	"b       expected ends   t  with --balance: all rows",
	"space   pause; counting goes on    q  leave",
};

/* In the order of importance: as many as fit. */
static const char *const keys[] = {"q quit",  "? help",	     "Enter open", "/ filter",	 "s sort",
				   "g group", "n namespace", "d devices",  "space pause"};

static void draw_keys(struct canvas *c)
{
	char text[128] = "";
	size_t n = 0;

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (n + strlen(keys[i]) + MORE_COLS < c->cols)
			n += (size_t)sprintf(text + n, " %s ", keys[i]);
	}
	canvas_right(c, c->cols, c->rows - 1, STYLE_DIM, text);
}

/* Draws the scope of the view and its settings. */
static void draw_scope(const struct view *v, const struct view_input *in, struct canvas *c)
{
	const char *sort =
		v->sort < SORT_TEXT ? number_names[v->sort] : live_field_name(v->sort - SORT_TEXT);
	unsigned x = canvas_text(c, 1, 2, STYLE_BOLD, in->scope);

	if (!v->devices && (c->cols >= WIDE_COLS || !(v->typing || *v->text)))
		x = canvas_printf(c, x, 2, STYLE_DIM, ", by %s, sorted by %s",
				  view_groupings[v->grouping].name, sort);
	if (v->typing || *v->text)
		canvas_printf(c, x, 2, v->typing ? STYLE_BOLD : STYLE_WARN, ", rows with \"%s%s",
			      v->text, v->typing ? "_" : "\"");
}

void view_add(struct view *v, const struct view_input *in)
{
	double pps[STAGE_COUNT];

	losses_of(in->now, in->interval_ns, pps);
	for (unsigned s = 0; s < STAGE_COUNT; s++)
		v->history[s][v->head] = pps[s];
	v->head = (v->head + 1) % VIEW_HISTORY;
	if (v->filled < VIEW_HISTORY)
		v->filled++;
}

static void draw_title(const struct view *v, const struct view_input *in, struct canvas *c)
{
	double seconds = round((double)in->interval_ns / 5e7) / 20; /* interval as requested */
	double pps[STAGE_COUNT], lost = losses_of(in->now, in->interval_ns, pps);
	const double all = fmax(in->traffic.in_pps, 0) + fmax(in->traffic.sent_pps, 0);
	char right[96], share[16];

	canvas_printf(c, 1, 0, STYLE_BOLD, "pktledger top  %s%s%s", in->host, in->what ? "  " : "",
		      in->what ? in->what : "");
	snprintf(right, sizeof(right), " %s%s  %.3g s ", v->paused ? "PAUSED  " : "",
		 in->clock_text, seconds);
	canvas_right(c, c->cols, 0, STYLE_BOLD, right);
	canvas_heading(c, 0);
	snprintf(share, sizeof(share), " %s", lost > 0 && all > 0 ? page_percent(fmin(lost / all, 1))
								   : "");
	canvas_printf(c, 1, 1, lost > 0 ? STYLE_BAD : STYLE_GOOD, "lost %s/s%s", fmt_short(lost),
		      share);
	if (in->traffic.in_bps >= 0)
		canvas_printf(c, 24, 1, STYLE_PLAIN, "in %sbit/s, out %sbit/s",
			      fmt_short(in->traffic.in_bps), fmt_short(in->traffic.out_bps));
	if (c->cols < WIDE_COLS)
		return;
	snprintf(right, sizeof(right), "overhead: %.1f %% of a CPU ",
		 in->time_ns ? 100.0 * (double)(in->own.cpu_ns + in->own.watch.run_ns) /
				       (double)in->time_ns
			     : 0);
	canvas_right(c, c->cols, 1, STYLE_DIM, right);
}

/*
 * Draws the table of the chosen grouping. A large screen also has another table and the interfaces
 * in the remaining room or in half of it.
 */
static void draw_tables(struct view *v, const struct view_input *in, struct canvas *c, unsigned y)
{
	const unsigned end = c->rows - 1, room = end > y ? end - y : 0;
	const bool large = room >= LARGE_ROOM;
	unsigned below = in->by_flow ? GROUP_FLOWS : GROUP_REASONS;

	if (below == v->grouping)
		below = GROUP_PROCESSES;
	y = draw_table(v, in, c, y, large ? y + room / 2 : end, v->grouping) + 1;
	if (!large)
		return;
	y = draw_table(v, in, c, y, y + (end - y) / 2, below) + 1;
	draw_devices(v, in, c, y, end, false);
}

void view_draw(struct view *v, const struct view_input *in, struct canvas *c)
{
	unsigned y, lines;

	for (size_t i = 0; i < (size_t)c->cols * c->rows; i++)
		c->cells[i] = (struct cell){L' ', STYLE_PLAIN};
	if (c->cols < VIEW_MIN_COLS || c->rows < VIEW_MIN_ROWS) {
		canvas_printf(c, 0, 0, STYLE_BAD, "too small: %ux%u", c->cols, c->rows);
		canvas_printf(c, 0, 1, STYLE_PLAIN, "%ux%u at least", VIEW_MIN_COLS, VIEW_MIN_ROWS);
		return;
	}
	draw_title(v, in, c);
	draw_scope(v, in, c);
	for (unsigned i = 0; v->help && i < sizeof(help) / sizeof(*help); i++)
		canvas_text(c, 1, 3 + i, STYLE_PLAIN, help[i]);
	if (v->help)
		return;
	if (v->open && draw_open(v, in, c, c->rows < SMALL_ROWS ? 3 : 4)) {
		canvas_right(c, c->cols, c->rows - 1, STYLE_DIM,
			     " Enter close  up/down next  q quit ");
		return;
	}
	y = draw_path(in, c, 3) + (c->rows >= TALL_ROWS);
	lines = c->rows > y + 4 * HISTORY_LINES ? (c->rows - y) / 2 : HISTORY_LINES;
	if (shows_tcp(v, in))
		y = draw_lines(in->tcp, c, y, 0, c->rows - 1 > y ? c->rows - 1 - y : 0) + 1;
	else if (y + lines + 4 < c->rows)
		y = draw_history(v, c, y, lines) + 1;
	if (v->devices)
		draw_devices(v, in, c, y, c->rows - 1, true);
	else
		draw_tables(v, in, c, y);
	draw_keys(c);
}

/* Handles a key while the user types the filter text. */
static void type_key(struct view *v, int key)
{
	size_t n = strlen(v->text);

	if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		while (n && (v->text[--n] & 0xc0) == 0x80)
			; /* all bytes of a character */
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

/* Switches between all namespaces and one. The history is kept. */
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
		v->grouping = (v->grouping + 1) % (in->by_flow ? GROUPINGS : GROUPINGS - 1);
		v->at = 0;
		if (!sort_is_shown(v, v->grouping))
			v->sort = SORT_RATE;
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
		do
			v->sort = (v->sort + 1) % SORTS;
		while (!sort_is_shown(v, v->grouping));
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
