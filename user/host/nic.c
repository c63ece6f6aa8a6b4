// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/nic.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

struct nic_plan {
	struct nic_item *items;
	unsigned n;
	unsigned *less;		 /* included counters of all items */
	char (*names)[NIC_NAME]; /* names in the sample that the plan was made for */
	unsigned names_n;
};

void nic_sample_add(struct nic_sample *s, const char *name, uint64_t value)
{
	struct nic_value *v;
	size_t len;

	s->at = list_room(s->at, s->n, sizeof(*v));
	v = &s->at[s->n++];
	name += strspn(name, " \t");
	len = strnlen(name, NIC_NAME - 1);
	while (len && (name[len - 1] == ' ' || name[len - 1] == '\t'))
		len--;
	memcpy(v->name, name, len);
	v->value = value;
}

void nic_sample_free(struct nic_sample *s)
{
	free(s->at);
	*s = (struct nic_sample){0};
}

/*
 * Names repeat (vmxnet3 has one set per queue), so the n-th occurrence of a name in one sample
 * matches the n-th in the other.
 */
void nic_sample_match(const struct nic_sample *before, const struct nic_sample *after,
		      struct nic_sample *out)
{
	for (unsigned i = 0; i < after->n; i++) {
		const struct nic_value *v = &after->at[i], *old = v;
		unsigned nth = 0;

		for (unsigned j = 0; j < i; j++)
			nth += !strcmp(after->at[j].name, v->name);
		for (unsigned j = 0; j < before->n && old == v; j++) {
			if (!strcmp(before->at[j].name, v->name) && !nth--)
				old = &before->at[j];
		}
		nic_sample_add(out, v->name, old->value);
	}
}

/*
 * Matches a name against a pattern of `len` bytes. Sets *queue to the number that `#` matches, if
 * any.
 */
static bool fits(const char *pattern, size_t len, const char *name, int *queue)
{
	const char *end = pattern + len;

	for (; pattern < end; pattern++) {
		if (*pattern == '*')
			return true;
		if (*pattern == '#') {
			size_t digits = strspn(name, "0123456789");

			if (!digits || digits > 6)
				return false;
			*queue = atoi(name);
			name += digits;
			continue;
		}
		if (*pattern != *name)
			return false;
		name++;
	}
	return !*name;
}

/* Matches a name against all patterns in a list. */
static bool fits_list(const char *list, const char *name, int *queue)
{
	for (const char *p = list; *p; p += *p == '|') {
		size_t len = strcspn(p, "|");

		if (fits(p, len, name, queue))
			return true;
		p += len;
	}
	return false;
}

const struct nic_row *nic_row_find(const struct nic_row *rows, const char *counter, int *queue)
{
	int ignored;

	for (; rows->counter; rows++) {
		if (fits_list(rows->counter, counter, queue ? queue : &ignored))
			return rows;
	}
	return NULL;
}

const struct nic_driver *nic_driver_find(const char *driver)
{
	int ignored;

	for (unsigned i = 0; *driver && i < nic_driver_count; i++) {
		if (fits_list(nic_drivers[i].names, driver, &ignored))
			return &nic_drivers[i];
	}
	return NULL;
}

/*
 * A counter is subtracted from at most two others, its queue's and the interface's. If a driver
 * repeats a name more often, the rest are ignored.
 */
#define LESS_MAX 2

static unsigned add_less(const struct nic_sample *s, const struct nic_item *item, unsigned *less,
			 size_t room)
{
	unsigned n = 0;

	for (unsigned i = 0; item->row->less && i < s->n && n < room; i++) {
		int queue = -1;

		if (fits_list(item->row->less, s->at[i].name, &queue) &&
		    (item->queue < 0 || item->queue == queue))
			less[n++] = i;
	}
	return n;
}

/* Returns true if a counter before it, of a better rank, has the packets of its cause and class. */
static bool is_outranked(const struct nic_plan *p, const struct nic_item *item)
{
	const struct nic_item *other = p->items;

	for (; other < item && (item->rank == NIC_DRIVER || item->row->standard); other++) {
		if (other->rank < item->rank && !other->repeated &&
		    other->row->cause == item->row->cause && other->row->class == item->row->class)
			return true;
	}
	return false;
}

static void fill(struct nic_plan *p, const struct nic_driver *driver, const struct nic_sample *s)
{
	size_t room = (size_t)s->n * LESS_MAX;
	unsigned *less = p->less;
	int section = -1, ignored;

	for (unsigned i = 0; i < s->n; i++) {
		struct nic_item *item = &p->items[p->n];
		const char *name = s->at[i].name;

		memcpy(p->names[i], name, NIC_NAME);
		/* vmxnet3: the value is the queue number for the counters that follow */
		if (!strcmp(name, "Rx Queue#") || !strcmp(name, "Tx Queue#"))
			section = (int)s->at[i].value;
		/* interface counters and other sources come after the last queue */
		else if (!strcmp(name, "tx timeout count") || !strncmp(name, "link:", 5))
			section = -1;
		*item = (struct nic_item){.at = i, .queue = section, .rank = NIC_DRIVER};
		item->row = nic_row_find(driver ? driver->rows : nic_unknown_rows, name,
					 &item->queue);
		if (!item->row) {
			item->row = nic_row_find(nic_common_rows, name, &item->queue);
			if (!item->row)
				continue;
			item->rank = item->row->class == NIC_TRAFFIC ? NIC_DRIVER : NIC_COMMON;
		}
		if (!strncmp(name, "qstat:", 6))
			item->rank = NIC_NETDEV_GENL;
		item->less = less;
		item->less_count = add_less(s, item, less, room);
		less += item->less_count;
		room -= item->less_count;
		for (unsigned k = 0; item->row->repeats && k < s->n; k++)
			item->repeated |= fits_list(item->row->repeats, s->at[k].name, &ignored);
		item->repeated |= is_outranked(p, item);
		p->n++;
	}
	p->names_n = s->n;
}

struct nic_plan *nic_plan_new(const char *driver, const struct nic_sample *s)
{
	struct nic_plan *p = mem_new(p);

	p->items = mem_zero(s->n, sizeof(*p->items));
	p->less = mem_zero((size_t)s->n * LESS_MAX, sizeof(*p->less));
	p->names = mem_zero(s->n, sizeof(*p->names));
	fill(p, nic_driver_find(driver), s);
	return p;
}

const struct nic_item *nic_plan_items(const struct nic_plan *p, unsigned *n)
{
	*n = p->n;
	return p->items;
}

bool nic_plan_fits(const struct nic_plan *p, const struct nic_sample *s)
{
	if (p->names_n != s->n)
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		if (strcmp(p->names[i], s->at[i].name))
			return false;
	}
	return true;
}

void nic_plan_free(struct nic_plan *p)
{
	if (!p)
		return;
	free(p->items);
	free(p->less);
	free(p->names);
	free(p);
}

static uint64_t moved(uint64_t before, uint64_t after, unsigned bits, bool *restarted)
{
	if (after >= before)
		return after - before;
	if (bits)
		return (after - before) & ((1ULL << bits) - 1);
	*restarted = true;
	return after;
}

uint64_t nic_item_delta(const struct nic_item *item, const struct nic_sample *before,
			const struct nic_sample *after, bool *restarted)
{
	bool ignored, *anew = restarted ? restarted : &ignored;
	uint64_t delta, less = 0;

	*anew = false;
	delta = moved(before->at[item->at].value, after->at[item->at].value, item->row->bits, anew);
	for (unsigned i = 0; i < item->less_count; i++)
		less += moved(before->at[item->less[i]].value, after->at[item->less[i]].value, 0,
			      anew);
	return delta > less ? delta - less : 0;
}

unsigned nic_losses(const struct nic_plan *p, const struct nic_sample *before,
		    const struct nic_sample *after, struct nic_loss *out, unsigned max)
{
	struct nic_loss largest = {.packets = 0};
	unsigned n = 0;

	for (unsigned i = 0; i < p->n; i++) {
		struct nic_loss l = {.item = &p->items[i]};

		if (l.item->repeated || l.item->row->class == NIC_TRAFFIC)
			continue;
		l.packets = nic_item_delta(l.item, before, after, &l.restarted);
		l.name = after->at[l.item->at].name;
		if (!l.packets)
			continue;
		if (!l.item->row->largest && n++ < max)
			out[n - 1] = l;
		else if (l.item->row->largest && l.packets > largest.packets)
			largest = l;
	}
	if (largest.packets && n < max)
		out[n] = largest;
	return n + (largest.packets > 0);
}

const char *const nic_cause_names[] = {
	"ring", "port",	 "alloc",  "damaged", "csum",	    "filter",	"xdp",	      "redirect",
	"send", "pause", "shaper", "link", "timeout", "stall", "other", "rx_packets", "rx_bytes",
	"tx_packets", "tx_bytes",
};

const char *const nic_class_names[] = {"loss", "bound", "event", "traffic"};
