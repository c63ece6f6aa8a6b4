// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "live/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "live/describe.h"
#include "live/inodes.h"
#include "live/resolve.h"
#include "trace/consumed.h"
#include "trace/filter.h"

#define SEARCH_TRIES 3
#define SEARCH_NS    120000000 /* owners_tick() passes over /proc at most each 100 ms */

struct live {
	struct live_spec spec;
	struct reasons *reasons;
	struct ksyms *ksyms;
	struct filter *filter;
	struct watch *watch;
	struct inodes *inodes; /* of the sockets of spec.pid */
	struct describer describer;
	struct live_table interval, total;
	struct live_source source[LIVE_SOURCES];
	unsigned sources;
	uint64_t start_ns, end_ns, interval_ns; /* monotonic; of the last interval */
	uint64_t start_cpu_ns;
	struct live_own own;
	struct watch_count uncounted; /* told so far */

	/* While an interval is read: */
	struct watch_entry *entry;
	unsigned entries, room;
	int rc;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Without CAP_SYSLOG functions have no names: all but what reasons tell is then `other`. */
static int open_names(struct live *l, struct error *err)
{
	struct error quiet = {};
	int rc = reasons_open(&l->reasons, NULL, err);

	if (rc)
		return rc;
	l->own.no_reasons = !reasons_count(l->reasons);
	if (ksyms_open(&l->ksyms, NULL, &quiet)) {
		l->own.no_places = true;
		if (l->spec.stages || l->own.no_reasons)
			return error_set(err, STATUS_UNABLE, -EPERM,
					 *quiet.hint ? quiet.hint : "it needs CAP_SYSLOG",
					 "functions of the kernel are hidden, and with them the "
					 "stages");
	}
	return 0;
}

/* Where packets freed as used up are losses. The tracepoint tells its caller since Linux 6.3. */
static int find_consumed(const struct live *l, struct watch_spec *watch, struct error *err)
{
	if (reasons_tracepoint_args(l->reasons, "consume_skb") != 2)
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "leave --consumed out",
				 "this kernel does not tell where packets are freed as used up "
				 "(Linux 6.3)");
	if (!l->ksyms)
		return error_set(err, STATUS_UNABLE, -EPERM, "it needs CAP_SYSLOG",
				 "functions of the kernel are hidden: --consumed cannot tell places");
	watch->consumed_n = consumed_ranges(l->ksyms, watch->consumed);
	return 0;
}

int live_open(struct live **out, const struct live_spec *spec, struct error *err)
{
	struct live *l = calloc(1, sizeof(*l));
	struct watch_spec watch;
	int rc;

	if (!l)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	l->spec = *spec;
	if (!l->spec.by)
		l->spec.by = LIVE_BY_DEFAULT;
	l->spec.by |= LIVE_BY_STAGE;
	rc = open_names(l, err);
	if (!rc && table_init(&l->interval, LIVE_ROWS) | table_init(&l->total, LIVE_ROWS))
		rc = error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	if (!rc && spec->expr)
		rc = filter_compile(&l->filter, spec->expr, err);
	if (!rc)
		rc = resolve_spec(&l->spec, l->reasons, &watch, err);
	if (!rc && spec->pid)
		rc = inodes_open(&l->inodes, spec->pid, err);
	if (!rc) {
		watch.filter = l->filter;
		watch.snaplen = spec->snaplen;
		if (spec->consumed)
			rc = find_consumed(l, &watch, err);
	}
	if (!rc) {
		rc = watch_open(&l->watch, &watch, l->reasons, err);
	}
	if (rc) {
		live_close(l);
		return rc;
	}
	l->own.no_sockets = !watch_knows_sockets(l->watch);
	l->describer.watch = l->watch;
	l->describer.reasons = l->reasons;
	l->describer.ksyms = l->ksyms;
	l->describer.owners = spec->owners;
	l->describer.by = l->spec.by;
	if (spec->cgroup)
		l->describer.by |= LIVE_BIT(LIVE_CGROUP);
	if (spec->snaplen)
		l->describer.by |= LIVE_BIT(LIVE_PROCESS);
	*out = l;
	return 0;
}

int live_add_source(struct live *l, const struct live_source *s)
{
	if (l->sources == LIVE_SOURCES)
		return -ENOSPC;
	l->source[l->sources++] = *s;
	return 0;
}

int live_start(struct live *l, struct error *err)
{
	int rc;

	l->start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	l->start_ns = l->end_ns = clock_ns(CLOCK_MONOTONIC);
	rc = watch_attach(l->watch, err);
	for (unsigned i = 0; i < l->sources && !rc; i++) {
		if (l->source[i].start)
			rc = l->source[i].start(l->source[i].arg, err);
	}
	return rc;
}

void live_add(struct live *l, const struct live_row *row)
{
	if (l->spec.stages && (row->stage >= STAGE_COUNT || !(l->spec.stages >> row->stage & 1)))
		return;
	table_add(&l->interval, row, l->spec.by);
	if (!table_add(&l->total, row, l->spec.by))
		l->own.rows_merged++;
}

static void keep_entry(void *arg, const struct watch_entry *e)
{
	struct live *l = arg;

	if (l->entries == l->room) {
		unsigned room = l->room ? l->room * 2 : 256;
		struct watch_entry *more = realloc(l->entry, room * sizeof(*more));

		if (!more) {
			l->rc = -ENOMEM;
			return;
		}
		l->entry = more;
		l->room = room;
	}
	l->entry[l->entries++] = *e;
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

		for (unsigned n = 0; n < l->entries; n++)
			searching |= describe_searching(&l->describer, &l->entry[n]);
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
		.note = "no room in the tables of the observer: neither reason nor place is known",
		.counts = {now->events - told->events,
			   now->events + now->more - told->events - told->more,
			   now->bytes - told->bytes, now->memory - told->memory},
	};

	if (now->events == told->events)
		return;
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		row.text[f] = "";
	row.text[LIVE_STAGE] = stage_name(STAGE_OTHER);
	row.text[LIVE_CLASS] = noise_name(NOISE_LOSS);
	row.text[LIVE_SOURCE] = "event";
	row.text[LIVE_SCOPE] = "host";
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

static void add_entries(struct live *l, struct described *d)
{
	for (unsigned n = 0; n < l->entries; n++) {
		describe(&l->describer, &l->entry[n], d);
		l->own.events += d->row.counts.events;
		if (d->row.noise == NOISE_NOTHING)
			l->own.ignored += d->row.counts.events;
		else if (!is_claimed(l, &l->entry[n], &d->row) && is_wanted(l, d))
			live_add(l, &d->row);
	}
	l->entries = 0;
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
	if (!l->spec.owners)
		return;
	watch_each_sock(l->watch, ask_owner, l);
	owners_tick(l->spec.owners);
}

int live_collect(struct live *l, struct error *err)
{
	struct described *d = malloc(sizeof(*d));
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int rc;

	if (!d)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	table_clear(&l->interval);
	l->rc = 0;
	if (l->inodes)
		inodes_read(l->inodes);
	for (unsigned i = 0; i < l->sources; i++) {
		if (l->source[i].sample)
			l->source[i].sample(l->source[i].arg);
	}
	rc = watch_collect(l->watch, keep_entry, l);
	l->interval_ns = now - l->end_ns;
	l->end_ns = now;
	describe_begin(&l->describer);
	find_owners(l);
	add_entries(l, d);
	free(d);
	watch_state(l->watch, &l->own.watch);
	add_uncounted(l);
	for (unsigned i = 0; i < l->sources; i++) {
		if (l->source[i].collect)
			l->source[i].collect(l->source[i].arg, l);
	}
	if (!rc)
		rc = l->rc;
	return rc ? error_set(err, STATUS_FAILED, rc, NULL, "cannot read what was dropped: %s",
			      strerror(-rc))
		  : 0;
}

uint64_t live_time(const struct live *l, uint64_t *interval_ns)
{
	if (interval_ns)
		*interval_ns = l->interval_ns;
	return l->end_ns - l->start_ns;
}

const struct live_table *live_interval(const struct live *l)
{
	return &l->interval;
}

const struct live_table *live_total(const struct live *l)
{
	return &l->total;
}

int live_socket(const struct live *l, const struct live_row *row, struct watch_sock *out)
{
	int rc = row->cookie ? watch_sock(l->watch, row->cookie, out) : -ENOENT;

	if (!rc && !out->inode && l->spec.owners)
		describe_bound(l->spec.owners, row->netns, out);
	return rc;
}

uint64_t live_started(const struct live *l)
{
	return l->start_ns;
}

int live_samples(const struct live *l)
{
	return watch_samples(l->watch);
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

const struct ksyms *live_ksyms(const struct live *l)
{
	return l->ksyms;
}

const struct reasons *live_reasons(const struct live *l)
{
	return l->reasons;
}

void live_own(const struct live *l, struct live_own *own)
{
	*own = l->own;
	own->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - l->start_cpu_ns;
}

void live_close(struct live *l)
{
	if (!l)
		return;
	watch_close(l->watch);
	inodes_close(l->inodes);
	filter_free(l->filter);
	table_free(&l->interval);
	table_free(&l->total);
	ksyms_free(l->ksyms);
	reasons_free(l->reasons);
	free(l->entry);
	free(l);
}
