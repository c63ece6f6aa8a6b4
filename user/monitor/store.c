// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct store {
	struct series **at; /* in the order of compare() */
	unsigned n, room;
	struct store_state state;
	uint64_t oldest_ns; /* no series moved before that */
};

static int compare(const struct series *a, const struct series *b)
{
	if (a->noise != b->noise)
		return a->noise < b->noise ? -1 : 1;
	return labels_compare(a->label, b->label);
}

struct store *store_new(unsigned max)
{
	struct store *s = calloc(1, sizeof(*s));

	if (s)
		s->state.max = max;
	return s;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++)
		free(s->at[i]);
	free(s->at);
	free(s);
}

/* A copy with its texts behind it. */
static struct series *copy_of(const struct series *from)
{
	size_t size = sizeof(*from);
	struct series *copy;
	char *text;

	for (unsigned i = 0; i < LABEL_COUNT; i++)
		size += strlen(from->label[i]) + 1;
	copy = malloc(size);
	if (!copy)
		return NULL;
	*copy = *from;
	text = (char *)(copy + 1);
	for (unsigned i = 0; i < LABEL_COUNT; i++) {
		copy->label[i] = text;
		text = stpcpy(text, from->label[i]) + 1;
	}
	return copy;
}

/* Where the series of these labels is, or where it is to be. */
static unsigned place_of(const struct store *s, const struct series *key)
{
	unsigned low = 0, high = s->n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (compare(s->at[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* NULL: there is none. */
static struct series *find(const struct store *s, const struct series *key)
{
	unsigned at = place_of(s, key);

	return at < s->n && !compare(s->at[at], key) ? s->at[at] : NULL;
}

static struct series *insert(struct store *s, const struct series *key)
{
	unsigned at = place_of(s, key);
	struct series *copy;

	if (s->n == s->room) {
		unsigned room = s->room ? 2 * s->room : 64;
		struct series **more = reallocarray(s->at, room, sizeof(*more));

		if (!more)
			return NULL;
		s->at = more;
		s->room = room;
	}
	copy = copy_of(key);
	if (!copy)
		return NULL;
	memmove(&s->at[at + 1], &s->at[at], (s->n++ - at) * sizeof(s->at[0]));
	s->at[at] = copy;
	return copy;
}

static bool is_others(const struct series *one)
{
	return !strcmp(one->label[LABEL_REASON], LIVE_OTHERS);
}

/* Makes room by what has not moved for long. All are looked at only if there can be one. */
static bool expire(struct store *s, uint64_t now_ns)
{
	unsigned oldest = s->n;

	if (now_ns - s->oldest_ns < STORE_IDLE_NS)
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		if (!is_others(s->at[i]) &&
		    (oldest == s->n || s->at[i]->moved_ns < s->at[oldest]->moved_ns))
			oldest = i;
	}
	if (oldest == s->n)
		return false;
	s->oldest_ns = s->at[oldest]->moved_ns;
	if (now_ns - s->oldest_ns < STORE_IDLE_NS)
		return false;
	free(s->at[oldest]);
	memmove(&s->at[oldest], &s->at[oldest + 1], (--s->n - oldest) * sizeof(s->at[0]));
	s->state.series--;
	s->state.expired++;
	return true;
}

/* The series of these labels or, for want of room, that of others. NULL: no memory. */
static struct series *series_of(struct store *s, struct series *key, struct labels *labels,
				enum stage stage, uint64_t now_ns)
{
	struct series *one = find(s, key);

	if (one)
		return one;
	if (s->state.series < s->state.max || expire(s, now_ns)) {
		one = insert(s, key);
		s->state.series += one != NULL;
		return one;
	}
	s->state.merged++;
	labels_of_others(stage, labels);
	memcpy(key->label, labels->at, sizeof(key->label));
	one = find(s, key);
	return one ? one : insert(s, key);
}

int store_add(struct store *s, const struct live_row *row, uint64_t now_ns)
{
	struct series key = {.noise = row->noise}, *one;
	struct labels labels;

	if (row->noise == NOISE_NOTHING)
		return 0;
	labels_of(row, &labels);
	for (unsigned i = 0; i < LABEL_COUNT; i++) {
		bool told = row->noise != NOISE_BENIGN || i == LABEL_STAGE || i == LABEL_REASON;

		key.label[i] = told ? labels.at[i] : "";
	}
	one = series_of(s, &key, &labels, row->stage, now_ns);
	if (!one)
		return -ENOMEM;
	one->packets += row->counts.packets;
	one->bytes += row->counts.bytes;
	one->moved_ns = now_ns;
	return 0;
}

void store_each(const struct store *s, enum noise noise,
		void (*each)(void *arg, const struct series *one), void *arg)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->at[i]->noise == noise)
			each(arg, s->at[i]);
	}
}

void store_state(const struct store *s, struct store_state *out)
{
	*out = s->state;
}
