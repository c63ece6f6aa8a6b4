// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/experiment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "traffic/pace.h"
#include "host/lab.h"
#include "host/netdev.h"
#include "experiment/pair.h"
#include "experiment/close.h"
#include "experiment/rig.h"
#include "experiment/settle.h"
#include "base/watch.h"

#define QUIET_NS	50000000
#define CONFIRM_NS	1000000000 /* between events of a closed socket: an RCU grace period */
#define CONFIRM_STEP_NS 5000000

uint64_t experiment_memory(void)
{
	unsigned long all, resident;
	char text[64];

	if (!file_line("/proc/self/statm", text, sizeof(text)) ||
	    sscanf(text, "%lu %lu", &all, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t sent(const struct rig *rig)
{
	uint64_t numbers = 0;

	for (unsigned t = 0; t < rig->spec->threads; t++)
		numbers += sender_next(rig->sender, t) - rig->tracer.fates.base;
	return numbers;
}

static uint64_t delivered(const struct rig *rig)
{
	return rig->receiver ? receiver_delivered(rig->receiver) : 0;
}

static bool show(const struct rig *rig, struct books *books, uint64_t start, uint64_t now,
		 bool settling)
{
	const struct experiment_view *view = books->view;
	struct experiment_interval i = {.time_ns = now - start, .settling = settling};

	if (!view->on_interval)
		return true;
	i.sent = sent(rig);
	i.delivered = delivered(rig);
	i.dropped = drops_packets(rig->tracer.drops);
	i.tx_cpu_ns = sender_cpu_ns(rig->sender);
	i.rx_cpu_ns = rig->receiver ? receiver_cpu_ns(rig->receiver) : 0;
	i.memory_bytes = experiment_memory();
	books_stages(books, rig, i.stage);
	return view->on_interval(view->arg, &i);
}

/* Numbers older than the time to settle leave the window; the sender may go on behind it. */
static void move_window(struct rig *rig, struct books *books, uint64_t now)
{
	if (rig->moving)
		books_move_window(books, rig, now);
}

/* Watches until sending is over. Returns true if a signal ended it. */
static bool watch(struct rig *rig, struct books *books, struct error *err)
{
	uint64_t start = clock_now(), next = start + rig->spec->interval_ns;
	bool interrupted = false;

	while (!sender_done(rig->sender)) {
		uint64_t now;

		interrupted |= watch_tick();
		now = clock_now();
		move_window(rig, books, now);
		if (rig->spec->interval_ns && now >= next) {
			interrupted |= !show(rig, books, start, now, false);
			next += rig->spec->interval_ns;
		}
		if (interrupted || fault_watch(rig->faults, sent(rig), err) ||
		    (rig->receiver && receiver_failed(rig->receiver, err))) {
			sender_stop(rig->sender);
			break; /* sender_join() ends what is within a long call */
		}
	}
	sender_join(rig->sender, err);
	return interrupted;
}

struct open_run {
	struct rig *rig;
	struct books *books;
};

static bool count_fates(void *arg, uint64_t *fates)
{
	const struct open_run *o = arg;

	*fates = drops_packets(o->rig->tracer.drops) + delivered(o->rig);
	return true;
}

static bool is_complete(void *arg)
{
	const struct open_run *o = arg;

	return books_complete(o->books, o->rig);
}

static bool queues_empty(void *arg)
{
	const struct rig *rig = ((struct open_run *)arg)->rig;

	if (rig->receiver && rig->fx.reader != READER_NEVER && !receiver_idle(rig->receiver))
		return false;
	if (rig->lab.taps && !lab_taps_idle(rig->lab.taps))
		return false;
	return !books_in_qdiscs(rig) && !books_in_reassembly(rig) && !books_asking(rig);
}

static void show_settling(void *arg, uint64_t start, uint64_t now)
{
	const struct open_run *o = arg;

	show(o->rig, o->books, start, now, true);
}

/* By counter only: what a NIC's ring had no room for, and frames that never were an skb. */
static bool loses_without_event(const struct rig *rig)
{
	return rig->spec->port_a || rig->sender_config.ops == &tx_xdp;
}

static bool settle(struct rig *rig, struct books *books)
{
	uint64_t most = rig->spec->settle_ns + rig->fx.settle_ns;
	struct open_run open = {rig, books};

	return settle_wait(&(struct settling){
		.most_ns = most,
		.silent_ns = loses_without_event(rig) ? SETTLE_SILENT_NS : most,
		.interval_ns = rig->spec->interval_ns,
		.fates = count_fates,
		.complete = is_complete,
		.quiet_ns = QUIET_NS,
		.idle = queues_empty,
		.show = show_settling,
		.arg = &open,
	});
}

/*
 * The reader is gone for good: what lies in its queue is lost when the socket closes. The numbers
 * are read there first; the events of the kernel freeing them confirm it.
 */
static int close_unread(struct rig *rig, struct books *books, struct error *err)
{
	uint64_t before = drops_packets(rig->tracer.drops), deadline, confirmed = 0;
	int rc;

	receiver_stop(rig->receiver);
	rc = drops_walk_unread(rig->tracer.drops, &rig->lab.rx_ns, true, &books->unread, err);
	if (rc)
		return rc;
	books_take_receiver(books, rig);
	receiver_close(rig->receiver);
	rig->receiver = NULL;
	/* behind the closing of the books they would be taken for those of later numbers */
	deadline = clock_now() + CONFIRM_NS;
	while (confirmed < books->unread && clock_now() < deadline) {
		pace_wait(CONFIRM_STEP_NS);
		confirmed = drops_packets(rig->tracer.drops) - before;
		if (confirmed > books->unread_confirmed)
			deadline = clock_now() + CONFIRM_NS;
		books->unread_confirmed = confirmed;
	}
	return 0;
}

static int finish_receiver(struct rig *rig, struct books *books, struct error *err)
{
	if (!rig->receiver)
		return 0;
	if (rig->fx.reader == READER_NEVER)
		return close_unread(rig, books, err);
	receiver_stop(rig->receiver);
	receiver_check_log(rig->receiver, err);
	if (!receiver_idle(rig->receiver) && rig->receiver_config.ops == &rx_socket)
		drops_walk_unread(rig->tracer.drops, &rig->lab.rx_ns, false, &books->in_socket,
				  err);
	books_take_receiver(books, rig);
	return 0;
}

static void announce(const struct rig *rig, const struct experiment_view *view, struct result *res)
{
	struct experiment_streams streams = {
		.stream0 = rig->tracer.fates.stream0,
		.streams = rig->tracer.fates.streams,
		.base = rig->tracer.fates.base,
		.count = rig->spec->count,
	};

	books_describe(rig, res);
	if (view->on_start)
		view->on_start(view->arg, rig->spec, &rig->lab, res, &streams);
}

int experiment_run(const struct run_spec *spec, const struct experiment_view *view,
		   struct result *res, struct error *err)
{
	struct books *books;
	struct rig *rig;
	int rc = -ENOMEM;

	if (spec->far)
		return pair_run(spec, view, res, err);
	rig = calloc(1, sizeof(*rig));
	books = books_new(view);
	memset(res, 0, sizeof(*res));
	if (!rig || !books) {
		error_set(err, STATUS_FAILED, rc, NULL, "out of memory");
		goto out;
	}
	rc = rig_open(rig, spec, view, err);
	if (rc)
		goto out;
	announce(rig, view, res);
	rc = fault_begin(rig->faults, err);
	if (!rc) {
		sender_start(rig->sender);
		res->interrupted = watch(rig, books, err);
		fault_end(rig->faults, err);
		if (rig->receiver && rig->fx.reader != READER_NEVER)
			receiver_resume(rig->receiver);
		res->interrupted |= settle(rig, books);
		rc = finish_receiver(rig, books, err);
	}
	if (!rc)
		rc = books_close(books, rig, res, err);
	if (!rc && err->status != STATUS_OK)
		rc = -EIO; /* an engine ended early; the books are whole all the same */
	rig_close(rig);
out:
	books_free(books);
	free(rig);
	return rc;
}
