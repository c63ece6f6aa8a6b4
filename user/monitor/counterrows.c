// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/counterrows.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/describe.h"
#include "monitor/rates_parts.h"
#include "monitor/resolve.h"

#define PLACES_MAX 16 /* different lists of places in the table of counters */

/* What a row of the table has counted at a device, over its queues, and how much of it is told. */
struct book {
	const struct nic_row *row; /* NULL: AF_XDP sockets */
	uint32_t netns, ifindex;
	char ifname[16];
	char counter[NIC_NAME];
	uint64_t counted, reported;
};

/* Drops that kfree_skb told at a place that some row of the table names. */
struct told {
	uint32_t netns, ifindex;
	char location[KSYM_NAME];
	uint64_t packets;
};

struct counterrows {
	struct live_spec spec;
	struct netns ns; /* the one that `spec` names */
	struct rates *rates;
	const struct xdprows *xdp;
	struct live_source source;
	struct rates_list books, tolds;
	const char *places[PLACES_MAX];
	unsigned places_n;
	bool broken; /* memory ran short: nothing more is told */
};

static struct book *book_of(struct counterrows *c, const struct nic_row *row,
			    const struct rates_device *d)
{
	struct book *b = c->books.at;

	for (unsigned i = 0; i < c->books.n; i++) {
		if (b[i].row == row && b[i].netns == d->netns && b[i].ifindex == d->ifindex)
			return &b[i];
	}
	b = rates_list_add(&c->books);
	if (!b) {
		c->broken = true;
		return NULL;
	}
	b->row = row;
	b->netns = d->netns;
	b->ifindex = d->ifindex;
	memcpy(b->ifname, d->ifname, sizeof(b->ifname));
	return b;
}

static bool is_row(const struct nic_row *row)
{
	return (row->class == NIC_LOSS || row->class == NIC_BOUND) && row->stage != STAGE_NONE &&
	       !(row->events & NIC_EV_ALL);
}

static void count_losses(struct counterrows *c)
{
	unsigned n, devices;
	const struct rates_loss *l = rates_losses(c->rates, &n);
	const struct rates_device *d = rates_devices(c->rates, &devices);

	for (unsigned i = 0; i < n; i++) {
		const struct nic_loss *loss = &l[i].loss;
		struct book *b;

		if (!is_row(loss->item->row) ||
		    (c->spec.ifname && strcmp(d[l[i].device].ifname, c->spec.ifname)))
			continue;
		b = book_of(c, loss->item->row, &d[l[i].device]);
		if (!b)
			return;
		b->counted += loss->packets;
		/* of several queues, the counter is called by its pattern */
		if (!*b->counter)
			memcpy(b->counter, loss->name, sizeof(b->counter));
		else if (strcmp(b->counter, loss->name))
			snprintf(b->counter, sizeof(b->counter), "%s", loss->item->row->counter);
	}
}

/* Packets that a socket's rings did not take; the fill ring's are in rx_dropped (STAGES 3.6). */
static void count_sockets(struct counterrows *c)
{
	unsigned n;
	const struct rates_xsk *x = rates_xsks(c->rates, &n);

	for (unsigned i = 0; i < n; i++) {
		struct rates_device d = {.netns = x[i].now.netns, .ifindex = x[i].now.ifindex};
		uint64_t lost = x[i].moved.rx_dropped + x[i].moved.rx_ring_full;
		struct book *b;

		if (!lost || (c->spec.ifname && strcmp(x[i].ifname, c->spec.ifname)))
			continue;
		snprintf(d.ifname, sizeof(d.ifname), "%s", x[i].ifname);
		b = book_of(c, NULL, &d);
		if (!b)
			return;
		snprintf(b->counter, sizeof(b->counter), "XDP_STATISTICS");
		b->counted += lost;
	}
}

static void sample(void *arg)
{
	struct counterrows *c = arg;
	struct error err = {.status = STATUS_OK};

	if (c->broken)
		return;
	c->broken = rates_sample(c->rates, clock_now(), &err) != 0;
	count_losses(c);
	count_sockets(c);
}

static int start(void *arg, struct error *err)
{
	struct counterrows *c = arg;

	return rates_sample(c->rates, clock_now(), err);
}

/* Words divided by blanks; a word may end with `*`. */
static bool is_place(const char *places, const char *location)
{
	char word[KSYM_NAME];

	for (const char *p = places; *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		snprintf(word, sizeof(word), "%.*s", (int)len, p);
		if (!fnmatch(word, location, 0))
			return true;
		p += len;
	}
	return false;
}

static bool is_any_place(const struct counterrows *c, const char *location)
{
	for (unsigned i = 0; i < c->places_n; i++) {
		if (is_place(c->places[i], location))
			return true;
	}
	return false;
}

static void add_places(struct counterrows *c, const struct nic_row *rows)
{
	for (const struct nic_row *r = rows; r->counter; r++) {
		bool known = !r->places;

		for (unsigned i = 0; i < c->places_n && !known; i++)
			known = !strcmp(c->places[i], r->places);
		if (!known && c->places_n < PLACES_MAX)
			c->places[c->places_n++] = r->places;
	}
}

/* All places that some row of the table names. */
static void find_places(struct counterrows *c)
{
	add_places(c, nic_unknown_rows);
	for (unsigned i = 0; i < nic_driver_count; i++)
		add_places(c, nic_drivers[i].rows);
}

/* Keeps the books of events that counters repeat. */
static void note(void *arg, const struct watch_entry *e, const struct live_row *row)
{
	struct counterrows *c = arg;
	const char *location = row->text[LIVE_LOCATION];
	struct told *t = c->tolds.at;
	unsigned i;

	if (!is_any_place(c, location))
		return;
	for (i = 0; i < c->tolds.n; i++) {
		if (t[i].netns == e->key.netns && t[i].ifindex == e->key.ifindex &&
		    !strcmp(t[i].location, location))
			break;
	}
	if (i == c->tolds.n) {
		t = rates_list_add(&c->tolds);
		if (!t) {
			c->broken = true;
			return;
		}
		t->netns = e->key.netns;
		t->ifindex = e->key.ifindex;
		snprintf(t->location, sizeof(t->location), "%s", location);
		t = c->tolds.at;
	}
	t[i].packets += row->counts.packets;
}

static uint64_t told_of(const struct counterrows *c, const struct book *b)
{
	const struct told *t = c->tolds.at;
	uint64_t sum = 0;

	if (!b->row)
		return c->xdp ? xdprows_told_xsk(c->xdp, b->netns, b->ifindex) : 0;
	if (c->xdp && b->row->events & ~NIC_EV_KFREE)
		sum = xdprows_told(c->xdp, b->netns, b->ifindex, b->row->events);
	for (unsigned i = 0; b->row->places && i < c->tolds.n; i++) {
		if (t[i].netns == b->netns && t[i].ifindex == b->ifindex &&
		    is_place(b->row->places, t[i].location))
			sum += t[i].packets;
	}
	return sum;
}

static void add_row(const struct counterrows *c, struct live *l, const struct book *b,
		    uint64_t packets)
{
	const struct nic_row *r = b->row;
	enum stage stage = r ? r->stage : STAGE_XSK;
	char netns[OWNER_NETNS];
	struct live_row row = {
		.stage = stage,
		.note = r ? r->what : "the rings of the AF_XDP socket had no room (xsk_rcv)",
		.counts = {.events = packets, .packets = packets},
	};

	/* of a filter on packets, a device's counter can only say "perhaps" */
	row.noise = (r && r->class == NIC_BOUND) || c->spec.expr ? NOISE_SUSPECT : NOISE_LOSS;
	live_row_begin(&row, "counter", "interface");
	row.text[LIVE_DIRECTION] =
		direction_name(stage == STAGE_TX_DEVICE ? DIRECTION_TX : DIRECTION_RX);
	row.text[LIVE_REASON] = r ? nic_cause_name(r->cause) : "ring";
	row.text[LIVE_LOCATION] = b->counter;
	row.text[LIVE_IFNAME] = b->ifname;
	row.text[LIVE_NETNS] = describe_netns(c->spec.owners, b->netns, netns);
	live_add(l, &row);
}

static void collect(void *arg, struct live *l)
{
	struct counterrows *c = arg;
	struct book *b = c->books.at;

	for (unsigned i = 0; i < c->books.n && !c->broken; i++) {
		uint64_t told = told_of(c, &b[i]);
		uint64_t rest = b[i].counted > told ? b[i].counted - told : 0;

		if (rest <= b[i].reported)
			continue;
		add_row(c, l, &b[i], rest - b[i].reported);
		b[i].reported = rest;
	}
}

int counterrows_open(struct counterrows **out, const struct live_spec *spec,
		     const struct xdprows *xdp, bool all, struct error *err)
{
	struct counterrows *c = calloc(1, sizeof(*c));
	struct rates_space space = {.name = ""};
	int rc = 0;

	if (!c)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	c->spec = *spec;
	c->xdp = xdp;
	c->ns = NETNS_NONE;
	c->books.size = sizeof(struct book);
	c->tolds.size = sizeof(struct told);
	find_places(c);
	c->source = (struct live_source){
		.start = start, .sample = sample, .note = note, .collect = collect, .arg = c};
	if (spec->netns) {
		rc = resolve_netns(spec, &c->ns, err);
		space = (struct rates_space){&c->ns, spec->netns};
	}
	if (!rc)
		rc = rates_open(&c->rates, &space, 1, !all, err);
	if (rc) {
		counterrows_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

void counterrows_close(struct counterrows *c)
{
	if (!c)
		return;
	rates_close(c->rates);
	netns_close(&c->ns);
	free(c->books.at);
	free(c->tolds.at);
	free(c);
}

const struct live_source *counterrows_source(struct counterrows *c)
{
	return &c->source;
}

const struct rates *counterrows_rates(const struct counterrows *c)
{
	return c->rates;
}
