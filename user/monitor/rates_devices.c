// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/rates_parts.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#define LOSSES_MAX 512 /* counters of losses that moved, a device */

void *rates_list_add(struct rates_list *l)
{
	if (l->n == l->cap) {
		unsigned cap = l->cap ? l->cap * 2 : 64;
		void *more = reallocarray(l->at, cap, l->size);

		if (!more)
			return NULL;
		l->at = more;
		l->cap = cap;
	}
	return memset((char *)l->at + l->n++ * l->size, 0, l->size);
}

static struct rates_device *add_device(struct rates_out *out, const struct counters_device *s,
				       const struct counters_device *old)
{
	const struct rtnl_link_stats64 *a = &s->link.stats;
	const struct rtnl_link_stats64 *b = old ? &old->link.stats : a;
	const struct link_qdisc *q = old ? &old->qdisc : &s->qdisc;
	struct rates_device *d = rates_list_add(&out->devices);

	if (!d)
		return NULL;
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
static struct rates_queue *queue_of(struct rates_out *out, unsigned first, int queue)
{
	struct rates_queue *q = out->queues.at, *added;
	unsigned device = out->devices.n - 1;

	for (unsigned i = first; i < out->queues.n; i++) {
		if (q[i].queue == queue)
			return &q[i];
	}
	added = rates_list_add(&out->queues);
	if (added) {
		added->device = device;
		added->queue = queue;
	}
	return added;
}

static void add_traffic(struct rates_queue *q, enum nic_cause cause, uint64_t delta)
{
	switch (cause) {
	case NIC_RX_PACKETS:
		q->traffic.rx_packets += delta;
		q->has_rx = true;
		break;
	case NIC_RX_BYTES:
		q->traffic.rx_bytes += delta;
		q->has_rx = true;
		break;
	case NIC_TX_PACKETS:
		q->traffic.tx_packets += delta;
		q->has_tx = true;
		break;
	default:
		q->traffic.tx_bytes += delta;
		q->has_tx = true;
		break;
	}
	q->moved |= delta != 0;
}

static int add_queues(struct rates_out *out, const struct counters_device *s,
		      const struct nic_sample *before)
{
	unsigned n, first = out->queues.n;
	const struct nic_item *items = nic_plan_items(s->plan, &n);

	for (unsigned i = 0; i < n; i++) {
		struct rates_queue *q;

		if (items[i].row->class != NIC_TRAFFIC || items[i].repeated || items[i].queue < 0)
			continue;
		q = queue_of(out, first, items[i].queue);
		if (!q)
			return -ENOMEM;
		add_traffic(q, items[i].row->cause,
			    nic_item_delta(&items[i], before, &s->nic, NULL));
	}
	return 0;
}

static int add_losses(struct rates_out *out, const struct counters_device *s,
		      const struct nic_sample *before)
{
	struct nic_loss l[LOSSES_MAX];
	unsigned n = nic_losses(s->plan, before, &s->nic, l, LOSSES_MAX);

	for (unsigned i = 0; i < n && i < LOSSES_MAX; i++) {
		struct rates_loss *r = rates_list_add(&out->losses);

		if (!r)
			return -ENOMEM;
		r->device = out->devices.n - 1;
		r->loss = l[i];
	}
	return 0;
}

int rates_device_add(struct counters_device *before, struct counters_device *after,
		     struct rates_out *out, int space, uint32_t netns)
{
	struct rates_device *dev = add_device(out, after, before);
	struct nic_sample matched = {0};
	const struct nic_sample *base;
	int ret;

	if (!dev)
		return -ENOMEM;
	dev->space = space;
	dev->netns = netns;
	ret = counters_device_match(before, after, &matched, &base);
	if (!ret)
		ret = add_queues(out, after, base);
	if (!ret)
		ret = add_losses(out, after, base);
	nic_sample_free(&matched);
	return ret;
}
