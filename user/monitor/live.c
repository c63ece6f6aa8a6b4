// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/live_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "host/bpfmaps.h"
#include "monitor/resolve.h"
#include "drops/consumed.h"
#include "drops/filter.h"

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
		if (l->spec.stack)
			return error_set(err, STATUS_UNABLE, -EPERM,
					 *quiet.hint ? quiet.hint : "it needs CAP_SYSLOG",
					 "functions of the kernel are hidden: --stack cannot name "
					 "them");
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
		return error_set(
			err, STATUS_UNABLE, -EPERM, "it needs CAP_SYSLOG",
			"functions of the kernel are hidden: --consumed cannot tell places");
	watch->consumed_n = consumed_ranges(l->ksyms, watch->consumed);
	return 0;
}

static struct watch_range find_freeing(const struct live *l)
{
	struct ksym_range at = {};

	if (l->ksyms)
		at = ksym_freeing(l->ksyms);
	return (struct watch_range){at.start, at.end - at.start};
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
	l->spec.total_by = l->spec.total_by ? l->spec.total_by | LIVE_BY_STAGE : l->spec.by;
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
		l->netns = watch.netns;
		l->ifindex = watch.ifindex;
		watch.filter = l->filter;
		watch.snaplen = spec->snaplen;
		watch.stack = spec->stack;
		watch.burst_ns = spec->burst_ns;
		watch.freeing = find_freeing(l);
		if (spec->consumed)
			rc = find_consumed(l, &watch, err);
	}
	if (!rc && spec->burst_ns) {
		l->bursts = bursts_new(spec->burst_ns);
		if (!l->bursts)
			rc = error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	}
	if (!rc)
		rc = watch_open(&l->watch, &watch, l->reasons, err);
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
	l->start_ns = l->end_ns = ktime_now();
	rc = watch_attach(l->watch, err);
	for (unsigned i = 0; i < l->sources && !rc; i++) {
		if (l->source[i].start)
			rc = l->source[i].start(l->source[i].arg, err);
	}
	l->own.map_bytes = bpfmaps_bytes();
	return rc;
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

bool live_gone(const struct live *l, char *what, size_t size)
{
	return resolve_gone(&l->spec, l->netns, l->ifindex, what, size);
}

uint64_t live_started(const struct live *l)
{
	return l->start_ns;
}

int live_samples(const struct live *l)
{
	return watch_samples(l->watch);
}

const struct ksyms *live_ksyms(const struct live *l)
{
	return l->ksyms;
}

const struct reasons *live_reasons(const struct live *l)
{
	return l->reasons;
}

void live_last(struct live *l)
{
	l->last = true;
	watch_detach(l->watch);
}

static void put_times(const struct live *l, uint64_t length_ns, struct burst_report *out)
{
	out->length_ns = length_ns;
	out->start_ns = l->start_ns;
	out->realtime_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - ktime_now());
}

bool live_bursts(const struct live *l, struct burst_report *interval, struct burst_report *whole)
{
	if (!l->bursts)
		return false;
	if (interval) {
		bursts_interval(l->bursts, interval);
		put_times(l, l->interval_ns, interval);
	}
	if (whole) {
		bursts_whole(l->bursts, whole);
		put_times(l, l->end_ns - l->start_ns, whole);
	}
	return true;
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
	bursts_free(l->bursts);
	entries_free(&l->entries);
	free(l);
}
