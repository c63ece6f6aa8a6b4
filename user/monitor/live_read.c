// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From what was counted to the rows of the model. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "monitor/live_parts.h"

#define SEARCH_TRIES 3
#define SEARCH_NS    120000000 /* owners_tick() passes over /proc at most each 100 ms */

void live_add(struct live *l, const struct live_row *row)
{
	if (l->spec.stages && (row->stage >= STAGE_COUNT || !(l->spec.stages >> row->stage & 1)))
		return;
	table_add(&l->interval, row, l->spec.by);
	if (!table_add(&l->total, row, l->spec.total_by))
		l->own.rows_merged++;
}

static void keep_entry(void *arg, const struct watch_entry *e)
{
	struct live *l = arg;

	if (entries_add(&l->entries, e))
		l->rc = -ENOMEM;
}

static void keep_burst(void *arg, const struct burst *b)
{
	struct live *l = arg;

	if (!bursts_add(l->bursts, b))
		l->rc = -ENOMEM;
}

static bool in_cgroup(const char *path, const char *top)
{
	size_t len = strlen(top);

	while (len && top[len - 1] == '/')
		len--;
	return !strncmp(path, top, len) && (!path[len] || path[len] == '/');
}

static bool is_wanted(const struct live *l, const struct described *d)
{
	if (l->spec.pid && !inodes_have(l->inodes, d->sock.inode))
		return false;
	return !l->spec.cgroup || in_cgroup(d->owner.cgroup, l->spec.cgroup);
}

/* The owners of all sockets of this interval, as far as they can be found. */
static void find_owners(struct live *l)
{
	for (int i = 0; i < SEARCH_TRIES; i++) {
		const struct timespec pause = {.tv_nsec = SEARCH_NS};
		bool searching = false;

		for (unsigned n = 0; n < l->entries.n; n++)
			searching |= describe_searching(&l->describer, &l->entries.at[n]);
		if (!searching)
			return;
		if (i)
			nanosleep(&pause, NULL);
		owners_tick(l->spec.owners);
	}
}

/* What the observer could not keep apart is told too, as what it is: unknown. */
static void add_uncounted(struct live *l)
{
	const struct watch_count *now = &l->own.watch.loss.uncounted, *told = &l->uncounted;
	struct live_row row = {
		.stage = STAGE_OTHER,
		.noise = NOISE_LOSS,
		.note = "no room in the tables of the observer: neither reason nor place is known",
		.counts = {now->events - told->events,
			   now->events + now->more - told->events - told->more,
			   now->bytes - told->bytes, now->memory - told->memory},
	};

	if (now->events == told->events)
		return;
	live_row_begin(&row, "event", "host");
	live_add(l, &row);
	l->uncounted = *now;
}

static bool is_claimed(const struct live *l, const struct watch_entry *e,
		       const struct live_row *row)
{
	bool claimed = false;

	for (unsigned i = 0; i < l->sources; i++) {
		const struct live_source *s = &l->source[i];

		claimed |= s->claims && s->claims(s->arg, e, row);
	}
	return claimed;
}

static void note_entry(const struct live *l, const struct watch_entry *e,
		       const struct live_row *row)
{
	for (unsigned i = 0; i < l->sources; i++) {
		if (l->source[i].note)
			l->source[i].note(l->source[i].arg, e, row);
	}
}

static void add_entries(struct live *l, struct described *d)
{
	for (unsigned n = 0; n < l->entries.n; n++) {
		const struct watch_entry *e = &l->entries.at[n];

		describe(&l->describer, e, d);
		l->own.events += d->row.counts.events;
		if (d->row.noise == NOISE_NOTHING) {
			l->own.ignored += d->row.counts.events;
			continue;
		}
		note_entry(l, e, &d->row);
		if (!is_claimed(l, e, &d->row) && is_wanted(l, d))
			live_add(l, &d->row);
	}
	entries_clear(&l->entries);
}

bool live_describe(struct live *l, const struct watch_entry *e, struct described *out)
{
	if (l->spec.owners && describe_searching(&l->describer, e))
		owners_tick(l->spec.owners);
	describe(&l->describer, e, out);
	if (out->row.noise == NOISE_NOTHING || is_claimed(l, e, &out->row) || !is_wanted(l, out))
		return false;
	return !l->spec.stages ||
	       (out->row.stage < STAGE_COUNT && l->spec.stages >> out->row.stage & 1);
}

static enum stage stage_of_burst(void *arg, const struct watch_key *key)
{
	const struct watch_entry e = {.key = *key};
	struct live *l = arg;
	enum stage stage = STAGE_NONE;
	struct described *d = malloc(sizeof(*d));

	if (!d)
		l->rc = -ENOMEM;
	else if (live_describe(l, &e, d) && d->row.noise == NOISE_LOSS)
		stage = d->row.stage;
	free(d);
	return stage;
}

/* What the observer has of this interval until now. */
static int read_watch(struct live *l)
{
	int rc = watch_collect(l->watch, keep_entry, l);

	if (!rc && l->bursts)
		watch_bursts(l->watch, keep_burst, l);
	return rc;
}

static void settle_bursts(struct live *l, uint64_t now)
{
	if (l->bursts_told)
		bursts_begin(l->bursts);
	l->bursts_told = false;
	bursts_settle(l->bursts, now, stage_of_burst, l);
}

/* There is room for windows of some 100 ms only. */
static void read_bursts(struct live *l)
{
	uint64_t now = ktime_now(); /* what comes later may be read later */

	if (!watch_bursts_fill(l->watch) || read_watch(l))
		return;
	if (bursts_waiting(l->bursts))
		settle_bursts(l, now);
}

/* Those that are not known yet are then looked for by owners_tick(). */
static void ask_owner(void *arg, uint64_t cookie, const struct watch_sock *sock)
{
	const struct live *l = arg;
	struct owner owner;

	(void)cookie;
	owners_socket(l->spec.owners, sock->inode, sock->netns, sock->cgroup, &owner);
}

void live_tick(struct live *l)
{
	if (l->inodes)
		inodes_read(l->inodes);
	if (l->bursts)
		read_bursts(l);
	if (!l->spec.owners)
		return;
	watch_each_sock(l->watch, ask_owner, l);
	owners_tick(l->spec.owners);
}

int live_collect(struct live *l, struct error *err)
{
	struct described *d = malloc(sizeof(*d));
	uint64_t now = ktime_now();
	int rc;

	if (!d)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	table_clear(&l->interval);
	if (l->inodes)
		inodes_read(l->inodes);
	for (unsigned i = 0; i < l->sources; i++) {
		if (l->source[i].sample)
			l->source[i].sample(l->source[i].arg);
	}
	rc = read_watch(l);
	l->interval_ns = now - l->end_ns;
	l->end_ns = now;
	describe_begin(&l->describer);
	find_owners(l);
	add_entries(l, d);
	free(d);
	if (l->bursts) {
		settle_bursts(l, l->last ? UINT64_MAX : now);
		l->bursts_told = true;
	}
	watch_state(l->watch, &l->own.watch);
	add_uncounted(l);
	for (unsigned i = 0; i < l->sources; i++) {
		if (l->source[i].collect)
			l->source[i].collect(l->source[i].arg, l);
	}
	if (!rc)
		rc = l->rc;
	l->rc = 0;
	l->own.collect_ns = clock_now() - now;
	return rc ? error_set(err, STATUS_FAILED, rc, NULL, "cannot read what was dropped: %s",
			      strerror(-rc))
		  : 0;
}
