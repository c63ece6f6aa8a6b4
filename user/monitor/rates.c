// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/rates.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "drops/owners.h"
#include "host/counters.h"

#define SCOPE	   "0" /* of the namespace's counters; any but "host" */
#define LOSSES_MAX 512 /* counters of losses that moved, a device */

struct rates {
	const struct netns *ns;
	const char *name;
	uint32_t netns; /* inode number; 0: not known */
	bool devices_only;
	uint64_t time, interval;
	struct counters counters; /* of the last sample */
	struct counters_deltas deltas;
	struct xsk_info *xsk; /* of the last sample */
	int xsk_n;
	struct files *walk; /* where sock_diag is not there */
	bool no_walk;
	struct list devices, queues, losses, xsks, moved; /* the results */
};

static uint32_t inum_of(const struct netns *ns)
{
	struct error none = {};
	struct netns own;
	uint32_t inum;

	if (ns)
		return ns->inum;
	if (netns_current(&own, &none))
		return 0;
	inum = own.inum;
	netns_close(&own);
	return inum;
}

int rates_open(struct rates **out, const struct netns *ns, const char *name, bool devices_only,
	       struct error *err)
{
	struct rates *r = calloc(1, sizeof(*r));

	if (!r)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	*r = (struct rates){
		.ns = ns,
		.name = name ? name : "",
		.netns = inum_of(ns),
		.devices_only = devices_only,
		.devices.size = sizeof(struct rates_device),
		.queues.size = sizeof(struct rates_queue),
		.losses.size = sizeof(struct rates_loss),
		.xsks.size = sizeof(struct rates_xsk),
		.moved.size = sizeof(struct rates_counter),
	};
	*out = r;
	return 0;
}

void rates_close(struct rates *r)
{
	if (!r)
		return;
	counters_free(&r->counters);
	counters_deltas_free(&r->deltas);
	free(r->xsk);
	files_close(r->walk);
	list_free(&r->devices);
	list_free(&r->queues);
	list_free(&r->losses);
	list_free(&r->xsks);
	list_free(&r->moved);
	free(r);
}

static struct rates_device *add_device(struct rates *r, const struct counters_device *s,
				       const struct counters_device *old)
{
	const struct rtnl_link_stats64 *a = &s->link.stats;
	const struct rtnl_link_stats64 *b = old ? &old->link.stats : a;
	const struct link_qdisc *q = old ? &old->qdisc : &s->qdisc;
	struct rates_device *d = list_add(&r->devices);

	if (!d)
		return NULL;
	d->netns = r->netns;
	d->ifindex = s->link.ifindex;
	memcpy(d->ifname, s->link.ifname, sizeof(d->ifname));
	memcpy(d->driver, s->driver, sizeof(d->driver));
	memcpy(d->qdisc, s->qdisc.kind, sizeof(d->qdisc));
	d->up = s->link.flags & IFF_UP;
	d->traffic.rx_packets = counter_moved(b->rx_packets, a->rx_packets);
	d->traffic.rx_bytes = counter_moved(b->rx_bytes, a->rx_bytes);
	d->traffic.tx_packets = counter_moved(b->tx_packets, a->tx_packets);
	d->traffic.tx_bytes = counter_moved(b->tx_bytes, a->tx_bytes);
	d->rx_dropped = counter_moved(b->rx_dropped, a->rx_dropped);
	d->tx_dropped = counter_moved(b->tx_dropped, a->tx_dropped);
	d->rx_errors = counter_moved(b->rx_errors, a->rx_errors);
	d->tx_errors = counter_moved(b->tx_errors, a->tx_errors);
	d->rx_missed = counter_moved(b->rx_missed_errors, a->rx_missed_errors);
	d->qdisc_drops = counter_moved(q->drops, s->qdisc.drops);
	d->clsact_drops = counter_moved(q->clsact_drops, s->qdisc.clsact_drops);
	d->qdisc_packets = s->qdisc.qlen;
	d->qdisc_bytes = s->qdisc.backlog;
	d->xdp_prog = s->link.xdp_prog;
	d->xdp_skb_prog = s->link.xdp_skb_prog;
	d->moved = d->traffic.rx_packets || d->traffic.tx_packets || d->rx_dropped ||
		   d->tx_dropped || d->rx_errors || d->tx_errors || d->rx_missed ||
		   d->qdisc_drops || d->clsact_drops;
	return d;
}

/* The row of a queue of the device, which is the last one; rows are in order. */
static struct rates_queue *queue_of(struct rates *r, unsigned first, int queue)
{
	struct rates_queue *q = r->queues.at, *added;
	unsigned device = r->devices.n - 1;

	for (unsigned i = first; i < r->queues.n; i++) {
		if (q[i].queue == queue)
			return &q[i];
	}
	added = list_add(&r->queues);
	if (added) {
		added->device = device;
		added->queue = queue;
	}
	return added;
}

static void add_traffic(struct rates_queue *q, enum nic_cause cause, uint64_t delta)
{
	uint64_t *const sums[] = {&q->traffic.rx_packets, &q->traffic.rx_bytes,
				  &q->traffic.tx_packets, &q->traffic.tx_bytes};

	*sums[cause - NIC_RX_PACKETS] += delta;
	q->has_rx |= cause <= NIC_RX_BYTES;
	q->has_tx |= cause > NIC_RX_BYTES;
	q->moved |= delta != 0;
}

static int add_queues(struct rates *r, const struct counters_device *s,
		      const struct nic_sample *before)
{
	unsigned n, first = r->queues.n;
	const struct nic_item *items = nic_plan_items(s->plan, &n);

	for (unsigned i = 0; i < n; i++) {
		struct rates_queue *q;

		if (items[i].row->class != NIC_TRAFFIC || items[i].repeated || items[i].queue < 0)
			continue;
		q = queue_of(r, first, items[i].queue);
		if (!q)
			return -ENOMEM;
		add_traffic(q, items[i].row->cause,
			    nic_item_delta(&items[i], before, &s->nic, NULL));
	}
	return 0;
}

static int add_losses(struct rates *r, const struct counters_device *s,
		      const struct nic_sample *before)
{
	struct nic_loss l[LOSSES_MAX];
	unsigned n = nic_losses(s->plan, before, &s->nic, l, LOSSES_MAX);

	for (unsigned i = 0; i < n && i < LOSSES_MAX; i++) {
		struct rates_loss *row = list_add(&r->losses);

		if (!row)
			return -ENOMEM;
		row->device = r->devices.n - 1;
		row->loss = l[i];
	}
	return 0;
}

/* How all devices moved since the last sample. */
static int add_devices(struct rates *r, struct counters *now)
{
	int ret = 0;

	r->devices.n = r->queues.n = r->losses.n = 0;
	for (unsigned i = 0; i < now->n_devices && !ret; i++) {
		struct counters_device *d = &now->devices[i], *old;
		struct nic_sample matched = {0};
		const struct nic_sample *base;

		old = counters_device(&r->counters, SCOPE, d->link.ifname, d->link.ifindex);
		ret = add_device(r, d, old) ? counters_device_match(old, d, &matched, &base)
					    : -ENOMEM;
		if (!ret)
			ret = add_queues(r, d, base);
		if (!ret)
			ret = add_losses(r, d, base);
		nic_sample_free(&matched);
	}
	return ret;
}

static int add_counters(struct rates *r, struct counters *now)
{
	int ret;

	counters_deltas_free(&r->deltas);
	r->moved.n = 0;
	ret = counters_delta(&r->counters, now, &r->deltas);
	for (size_t i = 0; i < r->deltas.n && !ret; i++) {
		const struct counters_delta *d = &r->deltas.items[i];
		struct rates_counter *c = d->delta ? list_add(&r->moved) : NULL;

		if (!d->delta)
			continue;
		if (!c)
			return -ENOMEM;
		*c = (struct rates_counter){strcmp(d->scope, SCOPE) ? RATES_HOST : 0, d->name,
					    d->delta};
	}
	return ret;
}

/* Where there is no sock_diag, by a walk over open files, those of the namespace. */
static int read_xsks(struct rates *r, struct xsk_info **list)
{
	struct error none = {};
	int n = xsk_count(r->ns), kept = 0;

	*list = NULL;
	if (n <= 0)
		return 0;
	n = xsk_diag_read(r->ns, list);
	if (n != -EOPNOTSUPP)
		return n;
	if (!r->walk && !r->no_walk)
		r->no_walk = files_open_xsk(&r->walk, &none) != 0;
	n = r->walk ? files_read_xsk(r->walk, list) : 0;
	for (int i = 0; i < n; i++) {
		if ((*list)[i].netns == r->netns)
			(*list)[kept++] = (*list)[i];
	}
	return kept;
}

static const struct xsk_info *old_xsk(const struct rates *r, const struct xsk_info *x)
{
	for (int i = 0; i < r->xsk_n; i++) {
		if (r->xsk[i].inode == x->inode && r->xsk[i].ifindex == x->ifindex)
			return &r->xsk[i];
	}
	return NULL;
}

static const char *ifname_of(const struct rates *r, unsigned ifindex)
{
	for (unsigned i = 0; i < r->counters.n_devices; i++) {
		if (r->counters.devices[i].link.ifindex == ifindex)
			return r->counters.devices[i].link.ifname;
	}
	return "";
}

static int add_xsk(struct rates *r, const struct xsk_info *x)
{
	static const struct xsk_info nothing;
	const struct xsk_info *b = old_xsk(r, x);
	struct rates_xsk *row = list_add(&r->xsks);
	struct xsk_info *m;

	if (!row)
		return -ENOMEM;
	if (!b) /* new: all that it lost is since the last sample; at the first nothing counts */
		b = r->time ? &nothing : x;
	row->now = row->moved = *x;
	row->ifname = ifname_of(r, x->ifindex);
	m = &row->moved;
	m->rx_dropped = counter_moved(b->rx_dropped, x->rx_dropped);
	m->rx_invalid_descs = counter_moved(b->rx_invalid_descs, x->rx_invalid_descs);
	m->rx_ring_full = counter_moved(b->rx_ring_full, x->rx_ring_full);
	m->rx_fill_ring_empty = counter_moved(b->rx_fill_ring_empty, x->rx_fill_ring_empty);
	m->tx_invalid_descs = counter_moved(b->tx_invalid_descs, x->tx_invalid_descs);
	m->tx_ring_empty = counter_moved(b->tx_ring_empty, x->tx_ring_empty);
	return 0;
}

static int sample_xsks(struct rates *r)
{
	struct xsk_info *list;
	int n = read_xsks(r, &list), ret = 0;

	r->xsks.n = 0;
	for (int i = 0; i < n && !ret; i++)
		ret = add_xsk(r, &list[i]);
	free(r->xsk);
	r->xsk = list;
	r->xsk_n = n;
	return ret;
}

int rates_sample(struct rates *r, uint64_t now_ns, struct error *err)
{
	struct counters_scope scope = {SCOPE, r->ns, NULL,
				       COUNTERS_ALL | COUNTERS_DEVICES | COUNTERS_DRIVERS |
					       COUNTERS_QUEUES};
	struct counters now = {0};
	int ret;

	if (!r->devices_only)
		scope.what |= COUNTERS_SNMP | COUNTERS_HOST;
	ret = counters_read(&now, &scope, 1);
	if (ret != -ENOMEM) /* a namespace that is gone has no rows */
		ret = add_devices(r, &now);
	if (!ret)
		ret = add_counters(r, &now);
	counters_free(&r->counters);
	r->counters = now;
	if (!ret)
		ret = sample_xsks(r);
	r->interval = r->time ? now_ns - r->time : 0;
	r->time = now_ns;
	return ret ? error_set(err, STATUS_FAILED, ret, NULL, "cannot read counters: %s",
			       strerror(-ret))
		   : 0;
}

uint64_t rates_interval(const struct rates *r)
{
	return r->interval;
}

const struct rates_device *rates_devices(const struct rates *r, unsigned *n)
{
	*n = r->devices.n;
	return r->devices.at;
}

const struct rates_queue *rates_queues(const struct rates *r, unsigned *n)
{
	*n = r->queues.n;
	return r->queues.at;
}

const struct rates_loss *rates_losses(const struct rates *r, unsigned *n)
{
	*n = r->losses.n;
	return r->losses.at;
}

const struct rates_xsk *rates_xsks(const struct rates *r, unsigned *n)
{
	*n = r->xsks.n;
	return r->xsks.at;
}

const struct rates_counter *rates_counters(const struct rates *r, unsigned *n)
{
	*n = r->moved.n;
	return r->moved.at;
}

const char *rates_space_name(const struct rates *r, int space)
{
	return space == RATES_HOST ? "host" : r->name;
}
