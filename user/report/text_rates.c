// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_rates.h"

#include <string.h>

#include "base/num.h"
#include "report/page.h"
#include "drops/stagemap.h"

#define NAME_WIDTH    20
#define TRAFFIC_WIDTH 9
#define LOSS_WIDTH    8
#define COUNTER_WIDTH 40

struct view {
	struct page page;
	const struct rates *rates;
	double seconds;
	bool all;
};

static void put_name(struct view *v, unsigned indent, enum style style, const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), "%-*.*s", NAME_WIDTH - (int)indent, NAME_WIDTH - (int)indent,
		 name);
	page_text(&v->page, indent, style, text);
}

/* A rate in a column of `width`; nothing is a dash, so that what is there stands out. */
static void put_rate(struct view *v, int width, uint64_t moved, enum style style)
{
	char number[FMT_MAX], text[FMT_MAX + 32];

	if (moved)
		fmt_short(number, sizeof(number), (double)moved / v->seconds);
	else
		snprintf(number, sizeof(number), "-");
	snprintf(text, sizeof(text), "%*s", width, number);
	page_text(&v->page, 0, moved ? style : STYLE_DIM, text);
}

static void put_traffic(struct view *v, const struct rates_traffic *t)
{
	put_rate(v, TRAFFIC_WIDTH, t->rx_packets, STYLE_PLAIN);
	put_rate(v, TRAFFIC_WIDTH, t->rx_bytes * 8, STYLE_PLAIN);
	put_rate(v, TRAFFIC_WIDTH, t->tx_packets, STYLE_PLAIN);
	put_rate(v, TRAFFIC_WIDTH, t->tx_bytes * 8, STYLE_PLAIN);
}

static void put_device(struct view *v, const struct rates_device *d)
{
	put_name(v, 0, STYLE_BOLD, d->ifname);
	put_traffic(v, &d->traffic);
	put_rate(v, LOSS_WIDTH, d->rx_dropped + d->rx_missed, STYLE_BAD);
	put_rate(v, LOSS_WIDTH, d->tx_dropped + d->qdisc_drops + d->clsact_drops, STYLE_BAD);
	put_rate(v, LOSS_WIDTH, d->rx_errors + d->tx_errors, STYLE_BAD);
	page_end(&v->page);
}

static void put_queues(struct view *v, unsigned device)
{
	unsigned n;
	const struct rates_queue *q = rates_queues(v->rates, &n);

	for (unsigned i = 0; i < n; i++) {
		char name[32];

		if (q[i].device != device || (!q[i].moved && !v->all))
			continue;
		snprintf(name, sizeof(name), "queue %d", q[i].queue);
		put_name(v, 2, STYLE_PLAIN, name);
		put_traffic(v, &q[i].traffic);
		page_end(&v->page);
	}
}

static void put_heading(struct view *v, const char *text)
{
	page_text(&v->page, 0, STYLE_DIM, text);
	page_end(&v->page);
}

static void put_devices(struct view *v)
{
	unsigned n;
	const struct rates_device *d = rates_devices(v->rates, &n);
	bool headed = false;
	int space = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!d[i].moved && !v->all)
			continue;
		if (!headed)
			put_heading(v, "interface             rx pps rx bit/s   tx pps tx bit/s"
				       " rx lost tx lost  errors");
		headed = true;
		if (d[i].space != space) {
			page_text(&v->page, 0, STYLE_DIM, "in ");
			page_words(&v->page, STYLE_DIM, "%s",
				   rates_space_name(v->rates, d[i].space));
			page_end(&v->page);
		}
		space = d[i].space;
		put_device(v, &d[i]);
		put_queues(v, i);
	}
}

/* "name   rate  ": what follows is wrapped behind it. */
static void put_counter(struct view *v, const char *name, uint64_t moved, enum style style)
{
	char number[FMT_MAX], text[128];

	snprintf(text, sizeof(text), "%-*s%8s  ", COUNTER_WIDTH, name,
		 fmt_short(number, sizeof(number), (double)moved / v->seconds));
	page_text(&v->page, 0, style, text);
}

static enum style loss_style(enum nic_class class)
{
	return class == NIC_LOSS ? STYLE_BAD : class == NIC_BOUND ? STYLE_WARN : STYLE_PLAIN;
}

static void put_losses(struct view *v)
{
	unsigned n, devices;
	const struct rates_loss *l = rates_losses(v->rates, &n);
	const struct rates_device *d = rates_devices(v->rates, &devices);

	for (unsigned i = 0; i < n; i++) {
		const struct nic_row *row = l[i].loss.item->row;
		char name[80];

		snprintf(name, sizeof(name), "%s %s", d[l[i].device].ifname, l[i].loss.name);
		if (l[i].loss.item->queue >= 0 && !strpbrk(l[i].loss.name, "0123456789"))
			snprintf(name, sizeof(name), "%s %s, queue %d", d[l[i].device].ifname,
				 l[i].loss.name, l[i].loss.item->queue);
		put_counter(v, name, l[i].loss.packets, loss_style(row->class));
		if (row->stage != STAGE_NONE)
			page_words(&v->page, STYLE_PLAIN, "%s%s:", stage_name(row->stage),
				   row->class == NIC_LOSS ? "" : "?");
		page_words(&v->page, STYLE_PLAIN, "%s", row->what);
		page_end(&v->page);
	}
}

static void put_xsk_counter(struct view *v, const struct rates_xsk *x, const char *name,
			    uint64_t moved, const char *what)
{
	char text[80];

	if (!moved)
		return;
	snprintf(text, sizeof(text), "%s xsk queue %u %s", x->ifname, x->now.queue, name);
	put_counter(v, text, moved, STYLE_BAD);
	page_words(&v->page, STYLE_PLAIN, "%s", what);
	if (*x->now.process)
		page_words(&v->page, STYLE_PLAIN, "(%s)", x->now.process);
	page_end(&v->page);
}

static void put_sockets(struct view *v)
{
	unsigned n;
	const struct rates_xsk *x = rates_xsks(v->rates, &n);

	for (unsigned i = 0; i < n; i++) {
		const struct xsk_info *m = &x[i].moved;

		put_xsk_counter(v, &x[i], "rx_ring_full", m->rx_ring_full,
				"xsk: the program does not empty its RX ring");
		put_xsk_counter(v, &x[i], "rx_dropped", m->rx_dropped,
				"xsk: no buffer in the fill ring, or the frame was too long");
		put_xsk_counter(v, &x[i], "rx_fill_ring_empty", m->rx_fill_ring_empty,
				x[i].now.zero_copy ? "tries; packets are lost in the NIC's ring"
						   : "the same packets as rx_dropped");
		put_xsk_counter(v, &x[i], "rx_invalid_descs", m->rx_invalid_descs,
				"the program filled in wrong buffers");
		put_xsk_counter(v, &x[i], "tx_invalid_descs", m->tx_invalid_descs,
				"the program's descriptor was wrong: not sent");
	}
}

static void put_counters(struct view *v)
{
	unsigned n;
	const struct rates_counter *c = rates_counters(v->rates, &n);

	for (unsigned i = 0; i < n; i++) {
		put_counter(v, c[i].name, c[i].delta, STYLE_PLAIN);
		if (c[i].space > 0)
			page_words(&v->page, STYLE_DIM, "in %s",
				   rates_space_name(v->rates, c[i].space));
		if (c[i].space == RATES_HOST)
			page_words(&v->page, STYLE_DIM, "(whole host)");
		page_end(&v->page);
	}
}

void text_rates(FILE *out, const struct rates *r, bool colour, bool all)
{
	struct view v = {
		.page = page_open(out, colour, 0),
		.rates = r,
		.seconds = (double)rates_interval(r) * 1e-9,
		.all = all,
	};

	if (!rates_interval(r))
		return;
	put_devices(&v);
	put_heading(&v, "counter                                       /s");
	put_losses(&v);
	put_sockets(&v);
	put_counters(&v);
}
