// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/rates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/counters.h"
#include "monitor/rates_parts.h"
#include "drops/files.h"

struct space {
	struct rates_space at;
	uint32_t netns;		       /* inode number; 0: not known */
	char scope[COUNTER_SCOPE_LEN]; /* of its counters */
	struct rates_devices devices;
};

struct rates {
	struct space *spaces;
	unsigned n;
	bool devices_only;
	uint64_t time, interval;
	struct counters counters; /* of the last sample */
	struct counters_deltas deltas;
	struct xsk_info *xsk; /* of the last sample */
	unsigned xsk_n;
	struct xsk_walk *walk; /* where sock_diag does not tell */
	bool no_walk;
	struct rates_out out;
	struct rates_list xsks, moved;
};

static void lists_init(struct rates *r)
{
	r->out.devices.size = sizeof(struct rates_device);
	r->out.queues.size = sizeof(struct rates_queue);
	r->out.losses.size = sizeof(struct rates_loss);
	r->xsks.size = sizeof(struct rates_xsk);
	r->moved.size = sizeof(struct rates_counter);
}

static uint32_t inum_of(const struct netns *ns)
{
	struct error none = {.status = STATUS_OK};
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

int rates_open(struct rates **out, const struct rates_space *spaces, unsigned n, bool devices_only,
	       struct error *err)
{
	struct rates *r = calloc(1, sizeof(*r));

	if (r)
		r->spaces = calloc(n ? n : 1, sizeof(*r->spaces));
	if (!r || !r->spaces) {
		rates_close(r);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	}
	r->n = n;
	r->devices_only = devices_only;
	lists_init(r);
	for (unsigned i = 0; i < n; i++) {
		r->spaces[i].at = spaces[i];
		r->spaces[i].netns = inum_of(spaces[i].ns);
		snprintf(r->spaces[i].scope, sizeof(r->spaces[i].scope), "%u", i);
	}
	*out = r;
	return 0;
}

void rates_close(struct rates *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n; i++)
		rates_devices_free(&r->spaces[i].devices);
	free(r->spaces);
	counters_free(&r->counters);
	counters_deltas_free(&r->deltas);
	free(r->xsk);
	xsk_walk_close(r->walk);
	free(r->out.devices.at);
	free(r->out.queues.at);
	free(r->out.losses.at);
	free(r->xsks.at);
	free(r->moved.at);
	free(r);
}

static int sample_devices(struct rates *r)
{
	int ret = 0;

	r->out.devices.n = r->out.queues.n = r->out.losses.n = 0;
	for (unsigned i = 0; i < r->n && !ret; i++) {
		struct space *s = &r->spaces[i];
		struct rates_devices now = {0};
		int saved = netns_push(s->at.ns);

		if (saved >= 0) {
			ret = rates_devices_sample(&s->devices, &now, &r->out, (int)i, s->netns);
			netns_pop(saved);
		}
		rates_devices_free(&s->devices);
		s->devices = now;
	}
	return ret;
}

static int space_of(const struct rates *r, const char *scope)
{
	for (unsigned i = 0; i < r->n; i++) {
		if (!strcmp(r->spaces[i].scope, scope))
			return (int)i;
	}
	return RATES_HOST;
}

static int sample_counters(struct rates *r)
{
	struct counters_scope *scopes = calloc(r->n ? r->n : 1, sizeof(*scopes));
	struct counters now = {0};
	int ret = 0;

	if (!scopes)
		return -ENOMEM;
	for (unsigned i = 0; i < r->n; i++)
		scopes[i] = (struct counters_scope){r->spaces[i].scope, r->spaces[i].at.ns, NULL};
	if (counters_read(&now, scopes, r->n) == -ENOMEM)
		ret = -ENOMEM;
	free(scopes);
	counters_deltas_free(&r->deltas);
	r->moved.n = 0;
	if (!ret && r->counters.n)
		ret = counters_delta(&r->counters, &now, &r->deltas);
	counters_free(&r->counters);
	r->counters = now;
	for (size_t i = 0; i < r->deltas.n && !ret; i++) {
		const struct counters_delta *d = &r->deltas.items[i];
		struct rates_counter *c = d->delta ? rates_list_add(&r->moved) : NULL;

		if (!d->delta)
			continue;
		if (!c)
			return -ENOMEM;
		*c = (struct rates_counter){space_of(r, d->scope), d->name, d->delta};
	}
	return ret;
}

/* By a walk over open files, those of one namespace. */
static int walk_xsks(struct rates *r, const struct space *s, struct xsk_info **list)
{
	struct error none = {.status = STATUS_OK};
	int n, kept = 0;

	if (!r->walk && !r->no_walk)
		r->no_walk = xsk_walk_open(&r->walk, &none) != 0;
	n = r->walk ? xsk_walk_read(r->walk, list) : 0;
	for (int i = 0; i < n; i++) {
		if ((*list)[i].netns == s->netns)
			(*list)[kept++] = (*list)[i];
	}
	return kept;
}

static int read_xsks(struct rates *r, const struct space *s, struct xsk_info **list)
{
	int n = xsk_count(s->at.ns);

	*list = NULL;
	if (n <= 0)
		return 0;
	n = xsk_diag_read(s->at.ns, list);
	return n == -EOPNOTSUPP ? walk_xsks(r, s, list) : n;
}

static const struct xsk_info *old_xsk(const struct rates *r, const struct xsk_info *x)
{
	for (unsigned i = 0; i < r->xsk_n; i++) {
		if (r->xsk[i].inode == x->inode && r->xsk[i].ifindex == x->ifindex)
			return &r->xsk[i];
	}
	return NULL;
}

static const char *ifname_of(const struct rates *r, int space, unsigned ifindex)
{
	const struct rates_devices *d = &r->spaces[space].devices;

	for (unsigned i = 0; i < d->n; i++) {
		if (d->at[i].link.ifindex == ifindex)
			return d->at[i].link.ifname;
	}
	return "";
}

static int add_xsk(struct rates *r, int space, const struct xsk_info *x)
{
	static const struct xsk_info nothing = {.inode = 0};
	const struct xsk_info *b = old_xsk(r, x);
	struct rates_xsk *row = rates_list_add(&r->xsks);
	struct xsk_info *m;

	if (!row)
		return -ENOMEM;
	if (!b) /* new: all that it lost, it lost since the last sample; at the first nothing counts
		 */
		b = r->time ? &nothing : x;
	row->now = *x;
	row->moved = *x;
	row->ifname = ifname_of(r, space, x->ifindex);
	m = &row->moved;
	m->rx_dropped = rates_moved(b->rx_dropped, x->rx_dropped);
	m->rx_invalid_descs = rates_moved(b->rx_invalid_descs, x->rx_invalid_descs);
	m->rx_ring_full = rates_moved(b->rx_ring_full, x->rx_ring_full);
	m->rx_fill_ring_empty = rates_moved(b->rx_fill_ring_empty, x->rx_fill_ring_empty);
	m->tx_invalid_descs = rates_moved(b->tx_invalid_descs, x->tx_invalid_descs);
	m->tx_ring_empty = rates_moved(b->tx_ring_empty, x->tx_ring_empty);
	return 0;
}

static int sample_xsks(struct rates *r)
{
	struct xsk_info *all = NULL;
	unsigned all_n = 0;
	int ret = 0;

	r->xsks.n = 0;
	for (unsigned i = 0; i < r->n && !ret; i++) {
		struct xsk_info *list;
		int n = read_xsks(r, &r->spaces[i], &list);
		struct xsk_info *more =
			reallocarray(all, all_n + (n > 0 ? n : 0) + 1, sizeof(*all));

		if (!more) {
			ret = -ENOMEM;
		} else {
			all = more;
			for (int j = 0; j < n && !ret; j++) {
				all[all_n++] = list[j];
				ret = add_xsk(r, (int)i, &list[j]);
			}
		}
		free(list);
	}
	free(r->xsk);
	r->xsk = all;
	r->xsk_n = all_n;
	return ret;
}

int rates_sample(struct rates *r, uint64_t now_ns, struct error *err)
{
	int ret = sample_devices(r);

	if (!ret && !r->devices_only)
		ret = sample_counters(r);
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
	*n = r->out.devices.n;
	return r->out.devices.at;
}

const struct rates_queue *rates_queues(const struct rates *r, unsigned *n)
{
	*n = r->out.queues.n;
	return r->out.queues.at;
}

const struct rates_loss *rates_losses(const struct rates *r, unsigned *n)
{
	*n = r->out.losses.n;
	return r->out.losses.at;
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
	return space == RATES_HOST ? "host" : r->spaces[space].at.name;
}
