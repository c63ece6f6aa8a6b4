// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json_rates.h"

#include "base/json.h"
#include "drops/stagemap.h"

static double per_second(const struct rates *r, uint64_t moved)
{
	return rates_interval(r) ? (double)moved * 1e9 / (double)rates_interval(r) : 0;
}

static void put_place(struct json_object *o, const struct rates *r, const struct rates_device *d)
{
	json_put_text(o, "netns", rates_space_name(r, d->space));
	json_put_text(o, "ifname", d->ifname);
}

static void put_side(struct json_object *o, const struct rates *r, const char *const keys[4],
		     uint64_t packets, uint64_t bytes)
{
	json_put_u64(o, keys[0], packets);
	json_put_u64(o, keys[1], bytes);
	json_put_double(o, keys[2], per_second(r, packets));
	json_put_double(o, keys[3], per_second(r, bytes * 8));
}

static void put_traffic(struct json_object *o, const struct rates *r, const struct rates_traffic *t,
			bool rx, bool tx)
{
	static const char *const in[] = {"rx_packets", "rx_bytes", "rx_pps", "rx_bps"};
	static const char *const out[] = {"tx_packets", "tx_bytes", "tx_pps", "tx_bps"};

	if (rx)
		put_side(o, r, in, t->rx_packets, t->rx_bytes);
	if (tx)
		put_side(o, r, out, t->tx_packets, t->tx_bytes);
}

static struct json_object *interfaces(const struct rates *r, bool all)
{
	struct json_object *list = json_object_new_array();
	unsigned n;
	const struct rates_device *d = rates_devices(r, &n);

	for (unsigned i = 0; i < n; i++) {
		struct json_object *o, *q;

		if (!d[i].moved && !all)
			continue;
		o = json_object_new_object();
		q = json_object_new_object();
		put_place(o, r, &d[i]);
		json_put_text(o, "driver", d[i].driver);
		json_put_bool(o, "up", d[i].up);
		put_traffic(o, r, &d[i].traffic, true, true);
		json_put_u64(o, "rx_dropped", d[i].rx_dropped);
		json_put_u64(o, "rx_missed", d[i].rx_missed);
		json_put_u64(o, "rx_errors", d[i].rx_errors);
		json_put_u64(o, "tx_dropped", d[i].tx_dropped);
		json_put_u64(o, "tx_errors", d[i].tx_errors);
		json_put_text(q, "kind", d[i].qdisc);
		json_put_u64(q, "drops", d[i].qdisc_drops);
		json_put_u64(q, "clsact_drops", d[i].clsact_drops);
		json_put_u64(q, "waiting_packets", d[i].qdisc_packets);
		json_put_u64(q, "waiting_bytes", d[i].qdisc_bytes);
		json_put(o, "qdisc", q);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *queues(const struct rates *r, bool all)
{
	struct json_object *list = json_object_new_array();
	unsigned n, devices;
	const struct rates_queue *q = rates_queues(r, &n);
	const struct rates_device *d = rates_devices(r, &devices);

	for (unsigned i = 0; i < n; i++) {
		struct json_object *o;

		if (!q[i].moved && !all)
			continue;
		o = json_object_new_object();
		put_place(o, r, &d[q[i].device]);
		json_put_u64(o, "queue", (uint64_t)q[i].queue);
		put_traffic(o, r, &q[i].traffic, q[i].has_rx, q[i].has_tx);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *losses(const struct rates *r)
{
	struct json_object *list = json_object_new_array();
	unsigned n, devices;
	const struct rates_loss *l = rates_losses(r, &n);
	const struct rates_device *d = rates_devices(r, &devices);

	for (unsigned i = 0; i < n; i++) {
		const struct nic_item *item = l[i].loss.item;
		struct json_object *o = json_object_new_object();

		put_place(o, r, &d[l[i].device]);
		json_put_text(o, "name", l[i].loss.name);
		json_put(o, "queue", item->queue < 0 ? NULL : json_object_new_int(item->queue));
		json_put_text(o, "stage",
			      item->row->stage == STAGE_NONE ? NULL : stage_name(item->row->stage));
		json_put_text(o, "class", nic_class_name(item->row->class));
		json_put_text(o, "cause", nic_cause_name(item->row->cause));
		json_put_u64(o, "delta", l[i].loss.packets);
		json_put_double(o, "per_second", per_second(r, l[i].loss.packets));
		json_put_bool(o, "restarted", l[i].loss.restarted);
		json_put_text(o, "text", item->row->what);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *sockets(const struct rates *r)
{
	struct json_object *list = json_object_new_array();
	unsigned n;
	const struct rates_xsk *x = rates_xsks(r, &n);

	for (unsigned i = 0; i < n; i++) {
		const struct xsk_info *m = &x[i].moved;
		struct json_object *o = json_object_new_object();

		json_put_text(o, "ifname", x[i].ifname);
		json_put_u64(o, "queue", x[i].now.queue);
		json_put_bool(o, "zero_copy", x[i].now.zero_copy);
		json_put_text(o, "process", x[i].now.process);
		json_put_u64(o, "rx_dropped", m->rx_dropped);
		json_put_u64(o, "rx_ring_full", m->rx_ring_full);
		json_put_u64(o, "rx_fill_ring_empty", m->rx_fill_ring_empty);
		json_put_u64(o, "rx_invalid_descs", m->rx_invalid_descs);
		json_put_u64(o, "tx_invalid_descs", m->tx_invalid_descs);
		json_put_u64(o, "tx_ring_empty", m->tx_ring_empty);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *counters(const struct rates *r)
{
	struct json_object *list = json_object_new_array();
	unsigned n;
	const struct rates_counter *c = rates_counters(r, &n);

	for (unsigned i = 0; i < n; i++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "scope", c[i].space == RATES_HOST ? "host" : "netns");
		json_put_text(o, "netns",
			      c[i].space == RATES_HOST ? NULL : rates_space_name(r, c[i].space));
		json_put_text(o, "name", c[i].name);
		json_put_u64(o, "delta", c[i].delta);
		json_put_double(o, "per_second", per_second(r, c[i].delta));
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *json_rates(const struct rates *r, bool all)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "interval_ns", rates_interval(r));
	json_put(o, "interfaces", interfaces(r, all));
	json_put(o, "queues", queues(r, all));
	json_put(o, "losses", losses(r));
	json_put(o, "xsk", sockets(r));
	json_put(o, "counters", counters(r));
	return o;
}
