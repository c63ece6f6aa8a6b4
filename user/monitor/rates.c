// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drops/owners.h"

#define SCOPE	   "0" /* scope of the namespace's counters, any text other than "host" */
#define LOSSES_MAX 512 /* maximum number of changed loss counters per interface */

void rates_close(struct rates *r)
{
	counters_free(&r->counters);
	counters_free(&r->deltas);
	free(r->xsk);
	files_close(r->walk);
	list_free(&r->devices);
	list_free(&r->queues);
	list_free(&r->losses);
	list_free(&r->xsks);
}

/* Subtracts `before` from `now` in place. Both are `size` bytes of 64-bit counters. Returns true if
 * any counter changed. */
static bool subtract(void *now, const void *before, size_t size)
{
	bool moved = false;

	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		uint64_t a, b;

		memcpy(&a, (const char *)now + at, sizeof(a));
		memcpy(&b, (const char *)before + at, sizeof(b));
		a = counter_moved(b, a);
		memcpy((char *)now + at, &a, sizeof(a));
		moved |= a != 0;
	}
	return moved;
}

static void add_device(struct rates *r, const struct counters_device *now,
		       const struct counters_device *old)
{
	struct rates_device *d = list_add(&r->devices);

	if (!old)
		old = now;
	*d = (struct rates_device){
		.netns = r->inum,
		.link = now->link,
		.qdisc = now->qdisc,
		.up = now->link.flags & IFF_UP,
	};
	memcpy(d->driver, now->driver, sizeof(d->driver));
	d->moved = subtract(&d->link.stats, &old->link.stats, sizeof(d->link.stats));
	d->qdisc.drops = counter_moved(old->qdisc.drops, now->qdisc.drops);
	d->qdisc.clsact_drops = counter_moved(old->qdisc.clsact_drops, now->qdisc.clsact_drops);
	d->moved |= d->qdisc.drops || d->qdisc.clsact_drops;
}

/* Returns the row for a queue of the last interface in the list. Rows are in order. */
static struct rates_queue *queue_of(struct rates *r, unsigned first, int queue)
{
	struct rates_queue *q = r->queues.at;

	for (unsigned i = first; i < r->queues.n; i++) {
		if (q[i].queue == queue)
			return &q[i];
	}
	q = list_add(&r->queues);
	q->device = r->devices.n - 1;
	q->queue = queue;
	return q;
}

static void add_queues(struct rates *r, const struct counters_device *s,
		       const struct nic_sample *before)
{
	unsigned n, first = r->queues.n;
	const struct nic_item *items = nic_plan_items(s->plan, &n);

	for (unsigned i = 0; i < n; i++) {
		const enum nic_cause cause = items[i].row->cause;
		struct rates_queue *q;
		uint64_t delta;

		if (items[i].row->class != NIC_TRAFFIC || items[i].repeated || items[i].queue < 0)
			continue;
		q = queue_of(r, first, items[i].queue);
		delta = nic_item_delta(&items[i], before, &s->nic, NULL);
		*(cause == NIC_RX_PACKETS   ? &q->stats.rx_packets
		  : cause == NIC_RX_BYTES   ? &q->stats.rx_bytes
		  : cause == NIC_TX_PACKETS ? &q->stats.tx_packets
					    : &q->stats.tx_bytes) += delta;
		q->has_rx |= cause <= NIC_RX_BYTES;
		q->has_tx |= cause > NIC_RX_BYTES;
		q->moved |= delta != 0;
	}
}

/* Adds all interfaces' increments since the last sample. */
static void add_devices(struct rates *r, struct counters *now)
{
	r->devices.n = r->queues.n = r->losses.n = 0;
	for (unsigned i = 0; i < now->n_devices; i++) {
		struct counters_device *d = &now->devices[i], *old;
		struct nic_sample matched = {0};
		const struct nic_sample *base;
		struct nic_loss loss[LOSSES_MAX];
		unsigned n;

		old = counters_device(&r->counters, SCOPE, d->link.ifname, d->link.ifindex);
		add_device(r, d, old);
		base = counters_device_match(old, d, &matched);
		add_queues(r, d, base);
		n = nic_losses(d->plan, base, &d->nic, loss, LOSSES_MAX);
		for (unsigned j = 0; j < n && j < LOSSES_MAX; j++)
			*(struct rates_loss *)list_add(&r->losses) =
				(struct rates_loss){r->devices.n - 1, loss[j]};
		nic_sample_free(&matched);
	}
}

/* Reads the namespace's AF_XDP sockets, through open files if sock_diag is not available. */
static int read_xsks(struct rates *r, struct xsk_info **list)
{
	int n = r->gone ? 0 : xsk_count(r->ns), kept = 0;

	*list = NULL;
	if (n <= 0)
		return 0;
	n = xsk_diag_read(r->ns, list);
	if (n != -EOPNOTSUPP)
		return n;
	if (!r->walk && !r->no_walk)
		r->no_walk = files_open_xsk(&r->walk, &(struct error){}) != 0;
	n = r->walk ? files_read_xsk(r->walk, list) : 0;
	for (int i = 0; i < n; i++) {
		if ((*list)[i].netns == r->inum)
			(*list)[kept++] = (*list)[i];
	}
	return kept;
}

static void add_xsk(struct rates *r, const struct xsk_info *x)
{
	const size_t counters = offsetof(struct xsk_info, rx_dropped);
	/*
	 * the total of a new socket is its increment, except that the first sample counts nothing
	 */
	struct xsk_info before = r->time ? (struct xsk_info){} : *x;
	struct rates_xsk *row = list_add(&r->xsks);

	for (int i = 0; i < r->xsk_n; i++) {
		if (r->xsk[i].inode == x->inode && r->xsk[i].ifindex == x->ifindex)
			before = r->xsk[i];
	}
	row->moved = *x;
	subtract((char *)&row->moved + counters, (char *)&before + counters, sizeof(*x) - counters);
	row->ifname = "";
	for (unsigned i = 0; i < r->counters.n_devices; i++) {
		if (r->counters.devices[i].link.ifindex == x->ifindex)
			row->ifname = r->counters.devices[i].link.ifname;
	}
}

static bool has_moved(const struct counter *delta)
{
	return delta->value != 0;
}

void rates_sample(struct rates *r, uint64_t now_ns)
{
	struct counters_scope scope = {SCOPE, r->ns, NULL,
				       COUNTERS_ALL | COUNTERS_DEVICES | COUNTERS_DRIVERS |
					       COUNTERS_QUEUES};
	struct counters now = {.earlier = &r->counters};
	struct xsk_info *list;
	int n;

	r->devices.size = sizeof(struct rates_device);
	r->queues.size = sizeof(struct rates_queue);
	r->losses.size = sizeof(struct rates_loss);
	r->xsks.size = sizeof(struct rates_xsk);
	if (!r->devices_only)
		scope.what |= COUNTERS_SNMP | COUNTERS_HOST;
	if (!r->gone)
		counters_read(&now, &scope, 1);
	add_devices(r, &now);
	counters_free(&r->deltas);
	counters_delta(&r->counters, &now, &r->deltas);
	counters_keep(&r->deltas, has_moved);
	counters_free(&r->counters);
	r->counters = now;
	r->counters.earlier = NULL;
	n = read_xsks(r, &list);
	r->xsks.n = 0;
	for (int i = 0; i < n; i++)
		add_xsk(r, &list[i]);
	free(r->xsk);
	r->xsk = list;
	r->xsk_n = n;
	r->interval = r->time ? now_ns - r->time : 0;
	r->time = now_ns;
}
