// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

#define EMPTY	   0
#define ROWS_FIRST 64

static const char *const fields[LIVE_FIELD_COUNT] = {
#define FIELD_NAME(id, name, title) [LIVE_##id] = name,
	LIVE_FIELDS(FIELD_NAME)
#undef FIELD_NAME
};

void live_row_begin(struct live_row *row, const char *source, const char *scope)
{
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		row->text[f] = "";
	if (row->stage != STAGE_NONE)
		row->text[LIVE_STAGE] = stage_name(row->stage);
	row->text[LIVE_CLASS] = class_name(row->class);
	row->text[LIVE_SOURCE] = source;
	row->text[LIVE_SCOPE] = scope;
}

void table_init(struct live_table *t, unsigned max)
{
	*t = (struct live_table){.max = max};
}

void table_clear(struct live_table *t)
{
	while (t->n)
		free(t->rows[--t->n].texts);
	if (t->index)
		memset(t->index, 0, t->slots * sizeof(*t->index));
}

void table_free(struct live_table *t)
{
	table_clear(t);
	free(t->index);
	free(t->rows);
	table_init(t, 0);
}

static bool has(unsigned by, unsigned field)
{
	return by & LIVE_BIT(field);
}

/* Copies the texts of the fields that separate rows into a single block. */
static void keep_texts(struct live_row *row, unsigned by)
{
	size_t size = 1;
	char *to;

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		size += has(by, f) ? strlen(row->text[f]) + 1 : 0;
	row->texts = to = mem_zero(1, size);
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		const char *text = has(by, f) ? row->text[f] : "";

		row->text[f] = *text ? to : "";
		if (*text)
			to = stpcpy(to, text) + 1;
	}
}

/*
 * Returns true if the namespace is known only by its number, which is used until its name is found.
 */
static bool is_unnamed(const struct live_row *row)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", row->netns);
	return !strcmp(row->text[LIVE_NETNS], number);
}

/* Replaces the namespace's number with its name. */
static void name_netns(struct live_row *into, const struct live_row *row)
{
	char *before = into->texts;

	into->text[LIVE_NETNS] = row->text[LIVE_NETNS];
	keep_texts(into, ~0u);
	free(before);
}

/* Returns FNV-1a over the texts of the fields in `by`, except the namespace, because its name may
 * change. */
static unsigned hash(const struct live_row *row, unsigned by)
{
	uint32_t h = 2166136261u;

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		const bool hashed = has(by, f) && f != LIVE_NETNS;

		for (const char *p = hashed ? row->text[f] : ""; *p; p++)
			h = (h ^ (unsigned char)*p) * 16777619u;
		h = (h ^ 0xff) * 16777619u;
	}
	return h ^ h >> 15;
}

static bool same(const struct live_row *a, const struct live_row *b, unsigned by)
{
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		const bool renamed = f == LIVE_NETNS && has(by, f) && a->netns &&
				     a->netns == b->netns && (is_unnamed(a) || is_unnamed(b));

		if (!renamed && strcmp(a->text[f], has(by, f) ? b->text[f] : ""))
			return false;
	}
	return true;
}

/* Returns the row's slot in the index, or a free slot for a new row. */
static unsigned *find(const struct live_table *t, const struct live_row *row, unsigned by)
{
	unsigned at = hash(row, by) & (t->slots - 1);

	while (t->index[at] != EMPTY && !same(&t->rows[t->index[at] - 1], row, by))
		at = (at + 1) & (t->slots - 1);
	return &t->index[at];
}

static void make_index(struct live_table *t)
{
	memset(t->index, 0, t->slots * sizeof(*t->index));
	for (unsigned i = 0; i < t->n; i++)
		*find(t, &t->rows[i], ~0u) = i + 1;
}

static void grow(struct live_table *t)
{
	t->room = t->room ? t->room * 2 : ROWS_FIRST;
	t->slots = t->room * 4;
	t->rows = mem_resize(t->rows, t->room, sizeof(*t->rows));
	t->index = mem_resize(t->index, t->slots, sizeof(*t->index));
	make_index(t);
}

double per_second(uint64_t n, uint64_t ns)
{
	return ns ? (double)n * 1e9 / (double)ns : 0;
}

void live_counts_add(struct live_counts *sum, const struct live_counts *one)
{
	sum_words(sum, one, sizeof(*sum));
}

static void merge(struct live_row *into, const struct live_row *row)
{
	const uint64_t packets = row->counts.packets;

	if (into->note != row->note)
		into->note = NULL;
	if (!into->one)
		into->one = row->one;
	if (into->netns != row->netns) {
		if (!into->one)
			into->one = into->netns ? into->netns : row->netns;
		into->netns = 0;
	}
	live_counts_add(&into->counts, &row->counts);
	if (row->burst.packets > into->burst.packets)
		into->burst = row->burst;
	/*
	 * Boyer-Moore majority vote, in which a cookie with more than half of all packets remains
	 */
	if (into->cookie == row->cookie) {
		into->votes += packets;
	} else if (into->votes >= packets) {
		into->votes -= packets;
	} else {
		into->votes = packets - into->votes;
		into->cookie = row->cookie;
	}
}

/* Adds a row. Returns false if the row does not exist yet and the table is full. */
static bool add(struct live_table *t, const struct live_row *row, unsigned by, unsigned max)
{
	struct live_row *new;
	unsigned *slot;

	if (t->n == t->room)
		grow(t);
	slot = find(t, row, by);
	if (*slot != EMPTY) {
		new = &t->rows[*slot - 1];
		if (has(by, LIVE_NETNS) && row->netns && is_unnamed(new) && !is_unnamed(row))
			name_netns(new, row);
		merge(new, row);
		return true;
	}
	if (t->n >= max)
		return false;
	new = &t->rows[t->n];
	*new = *row;
	new->votes = row->counts.packets;
	keep_texts(new, by);
	*slot = ++t->n;
	return true;
}

struct live_row *table_find(const struct live_table *t, const struct live_row *row, unsigned by)
{
	const unsigned *slot = t->n ? find(t, row, by) : NULL;

	return slot && *slot != EMPTY ? &t->rows[*slot - 1] : NULL;
}

void table_remove(struct live_table *t, struct live_row *row)
{
	free(row->texts);
	*row = t->rows[--t->n];
	make_index(t);
}

static void add_others(struct live_table *t, const struct live_row *row, unsigned by)
{
	struct live_row others = *row;

	t->others++;
	others.cookie = 0;
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		if (has(LIVE_BY_MANY, f) && *row->text[f])
			others.text[f] = LIVE_OTHERS;
	}
	if (!add(t, &others, by, t->max + t->max / 4))
		add(t, &others, by & (LIVE_BY_STAGE | LIVE_BY_MANY), UINT32_MAX);
}

/* Returns true if the row may be merged into a row of "others". */
static bool is_of_many(const struct live_row *row)
{
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		if (has(LIVE_BY_MANY, f) && *row->text[f] && strcmp(row->text[f], LIVE_OTHERS))
			return true;
	}
	return false;
}

/*
 * Merges the smaller half of the rows into "others", so that the table has room for later losses.
 * Never merges a row with at least 2 / max of all packets. Returns false if no row can be merged.
 */
static bool make_room(struct live_table *t, unsigned by)
{
	struct live_row *gone = mem_zero(t->n, sizeof(*gone));
	unsigned n = t->n, kept = 0, went = 0;

	table_sort(t, TABLE_BY_PACKETS);
	for (unsigned i = 0; i < n; i++) {
		if (kept < t->max / 2 || !is_of_many(&t->rows[i]))
			t->rows[kept++] = t->rows[i];
		else
			gone[went++] = t->rows[i];
	}
	t->n = kept;
	make_index(t);
	for (unsigned i = 0; i < went; i++) {
		add_others(t, &gone[i], by);
		free(gone[i].texts);
	}
	free(gone);
	return went;
}

bool table_add(struct live_table *t, const struct live_row *row, unsigned by)
{
	if (add(t, row, by, t->max) ||
	    (is_of_many(row) && make_room(t, by) && add(t, row, by, t->max)))
		return true;
	add_others(t, row, by);
	return false;
}

static bool of_class(const struct live_row *row, unsigned classes)
{
	return !classes || classes & 1u << row->class;
}

void table_group(struct live_table *t, const struct live_table *from, unsigned by, unsigned classes)
{
	table_init(t, from->n);
	for (unsigned i = 0; i < from->n; i++) {
		if (of_class(&from->rows[i], classes))
			table_add(t, &from->rows[i], by);
	}
}

static int by_packets(const void *x, const void *y)
{
	const struct live_row *a = x, *b = y;
	int rc = (a->counts.packets < b->counts.packets) - (a->counts.packets > b->counts.packets);

	for (unsigned f = 0; f < LIVE_FIELD_COUNT && !rc; f++)
		rc = strcmp(a->text[f], b->text[f]);
	return rc;
}

static int by_path(const void *x, const void *y)
{
	const struct live_row *a = x, *b = y;

	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	return by_packets(x, y);
}

void table_sort(struct live_table *t, enum table_order order)
{
	if (!t->index) /* the table is empty and has never been used */
		return;
	qsort(t->rows, t->n, sizeof(*t->rows), order == TABLE_BY_PATH ? by_path : by_packets);
	make_index(t);
}

struct live_counts table_sum(const struct live_table *t, unsigned classes, enum stage stage)
{
	struct live_counts sum = {};

	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];

		if (of_class(row, classes) && (stage == STAGE_NONE || row->stage == stage))
			live_counts_add(&sum, &row->counts);
	}
	return sum;
}

const char *live_field_name(enum live_field field)
{
	return fields[field];
}

void worst_rows(struct live_table *t, const struct live_table *from, unsigned by, unsigned classes,
		unsigned max)
{
	table_init(t, max);
	for (int class = 0; class < CLASS_COUNT; class++) {
		struct live_table rows;

		if (classes && !(classes & 1u << class))
			continue;
		table_group(&rows, from, by, 1u << class);
		table_sort(&rows, TABLE_BY_PACKETS);
		for (unsigned i = 0; i < rows.n; i++)
			table_add(t, &rows.rows[i], by);
		table_free(&rows);
	}
}
