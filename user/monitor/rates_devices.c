// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/rates_parts.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "host/netdev_ethtool.h"
#include "host/qstats.h"

#define LOSSES_MAX 512 /* counters of losses that moved, a device */

/* Everything of a namespace that comes in one answer. */
struct dumps {
	struct link_info *links;
	struct link_qdisc *qdiscs;
	struct qstats *qstats;
	int links_n, qdiscs_n, qstats_n;
};

static int dumps_read(struct dumps *d)
{
	*d = (struct dumps){0};
	d->links_n = links_read(NULL, &d->links);
	if (d->links_n < 0)
		return d->links_n;
	d->qdiscs_n = links_read_qdiscs(NULL, &d->qdiscs);
	d->qstats_n = qstats_read(NULL, true, &d->qstats);
	return 0;
}

static void dumps_free(struct dumps *d)
{
	free(d->links);
	free(d->qdiscs);
	free(d->qstats);
}

static const struct rates_state *find(const struct rates_devices *d, const struct link_info *link)
{
	for (unsigned i = 0; i < d->n; i++) {
		if (d->at[i].link.ifindex == link->ifindex &&
		    !strcmp(d->at[i].link.ifname, link->ifname))
			return &d->at[i];
	}
	return NULL;
}

static void read_driver(struct rates_state *s)
{
	struct netdev dev = {.ifindex = s->link.ifindex};

	memcpy(dev.ifname, s->link.ifname, sizeof(dev.ifname));
	if (!netdev_ethtool_fill(NULL, &dev))
		memcpy(s->driver, dev.driver, sizeof(s->driver));
}

static int read_counters(struct rates_state *s, const struct dumps *d)
{
	int ret = nic_sample_ethtool(&s->now, NULL, s->link.ifname);

	if (ret == -ENODEV) /* gone meanwhile */
		ret = 0;
	if (!ret)
		ret = nic_sample_link(&s->now, &s->link.stats);
	for (int i = 0; i < d->qstats_n && !ret; i++) {
		if (d->qstats[i].ifindex == s->link.ifindex)
			ret = nic_sample_qstats(&s->now, &d->qstats[i]);
	}
	return ret;
}

static int read_state(struct rates_state *s, const struct link_info *link, const struct dumps *d,
		      const struct rates_state *old)
{
	s->link = *link;
	if (old)
		memcpy(s->driver, old->driver, sizeof(s->driver));
	else
		read_driver(s);
	for (int i = 0; i < d->qdiscs_n; i++) {
		if (d->qdiscs[i].ifindex == link->ifindex)
			s->qdisc = d->qdiscs[i];
	}
	return read_counters(s, d);
}

static struct rates_device *add_device(struct rates_out *out, const struct rates_state *s,
				       const struct rates_state *old)
{
	const struct rtnl_link_stats64 *a = &s->link.stats;
	const struct rtnl_link_stats64 *b = old ? &old->link.stats : a;
	const struct link_qdisc *q = old ? &old->qdisc : &s->qdisc;
	struct rates_device *d = list_add(&out->devices);

	if (!d)
		return NULL;
	d->ifindex = s->link.ifindex;
	memcpy(d->ifname, s->link.ifname, sizeof(d->ifname));
	memcpy(d->driver, s->driver, sizeof(d->driver));
	memcpy(d->qdisc, s->qdisc.kind, sizeof(d->qdisc));
	d->up = s->link.flags & IFF_UP;
	d->traffic.rx_packets = rates_moved(b->rx_packets, a->rx_packets);
	d->traffic.rx_bytes = rates_moved(b->rx_bytes, a->rx_bytes);
	d->traffic.tx_packets = rates_moved(b->tx_packets, a->tx_packets);
	d->traffic.tx_bytes = rates_moved(b->tx_bytes, a->tx_bytes);
	d->rx_dropped = rates_moved(b->rx_dropped, a->rx_dropped);
	d->tx_dropped = rates_moved(b->tx_dropped, a->tx_dropped);
	d->rx_errors = rates_moved(b->rx_errors, a->rx_errors);
	d->tx_errors = rates_moved(b->tx_errors, a->tx_errors);
	d->rx_missed = rates_moved(b->rx_missed_errors, a->rx_missed_errors);
	d->qdisc_drops = rates_moved(q->drops, s->qdisc.drops);
	d->clsact_drops = rates_moved(q->clsact_drops, s->qdisc.clsact_drops);
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
	added = list_add(&out->queues);
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

static int add_queues(struct rates_out *out, const struct rates_state *s,
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
			    nic_item_delta(&items[i], before, &s->now, NULL));
	}
	return 0;
}

static int add_losses(struct rates_out *out, const struct rates_state *s,
		      const struct nic_sample *before)
{
	struct nic_loss l[LOSSES_MAX];
	unsigned n = nic_losses(s->plan, before, &s->now, l, LOSSES_MAX);

	for (unsigned i = 0; i < n && i < LOSSES_MAX; i++) {
		struct rates_loss *r = list_add(&out->losses);

		if (!r)
			return -ENOMEM;
		r->device = out->devices.n - 1;
		r->loss = l[i];
	}
	return 0;
}

/* `s` has no plan yet: it takes that of `old` if it fits still. */
static int add_counters(struct rates_out *out, struct rates_state *s, struct rates_state *old)
{
	struct nic_sample matched = {0};
	const struct nic_sample *before = old ? &old->now : &s->now;
	int ret = 0;

	if (old && nic_plan_fits(old->plan, &s->now)) {
		s->plan = old->plan;
		old->plan = NULL;
	} else {
		s->plan = nic_plan_new(s->driver, &s->now);
		if (!s->plan)
			return -ENOMEM;
		if (old) {
			ret = nic_sample_match(before, &s->now, &matched);
			before = &matched;
		}
	}
	if (!ret)
		ret = add_queues(out, s, before);
	if (!ret)
		ret = add_losses(out, s, before);
	nic_sample_free(&matched);
	return ret;
}

int rates_devices_sample(const struct rates_devices *before, struct rates_devices *now,
			 struct rates_out *out, int space, uint32_t netns)
{
	struct dumps d;
	int ret = dumps_read(&d);

	*now = (struct rates_devices){0};
	if (!ret && d.links_n)
		now->at = calloc(d.links_n, sizeof(*now->at));
	if (!ret && d.links_n && !now->at)
		ret = -ENOMEM;
	for (int i = 0; i < d.links_n && !ret; i++) {
		struct rates_state *s = &now->at[now->n++];
		struct rates_state *old = (struct rates_state *)find(before, &d.links[i]);
		struct rates_device *dev;

		ret = read_state(s, &d.links[i], &d, old);
		dev = ret ? NULL : add_device(out, s, old);
		if (!dev) {
			ret = -ENOMEM;
			break;
		}
		dev->space = space;
		dev->netns = netns;
		ret = add_counters(out, s, old);
	}
	dumps_free(&d);
	return ret == -ENOMEM ? ret : 0;
}

void rates_devices_free(struct rates_devices *d)
{
	for (unsigned i = 0; i < d->n; i++) {
		nic_sample_free(&d->at[i].now);
		nic_plan_free(d->at[i].plan);
	}
	free(d->at);
	*d = (struct rates_devices){0};
}
