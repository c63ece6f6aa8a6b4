// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/counters.h"

#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "host/netdev.h"
#include "host/procnet.h"

static int add(struct counters *c, const char *scope, const char *name, uint64_t value, bool level)
{
	struct counter *it;

	if (c->n == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 512;
		struct counter *items = reallocarray(c->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		c->items = items;
		c->cap = cap;
	}
	it = &c->items[c->n++];
	memset(it, 0, sizeof(*it));
	snprintf(it->scope, sizeof(it->scope), "%s", scope);
	snprintf(it->name, sizeof(it->name), "%s", name);
	it->value = value;
	it->level = level;
	return 0;
}

int counters_add(struct counters *c, const char *scope, const char *name, uint64_t value)
{
	return add(c, scope, name, value, false);
}

int counters_add_level(struct counters *c, const char *scope, const char *name, uint64_t value)
{
	return add(c, scope, name, value, true);
}

void counters_free(struct counters *c)
{
	free(c->items);
	*c = (struct counters){0};
}

void counters_deltas_free(struct counters_deltas *d)
{
	free(d->items);
	*d = (struct counters_deltas){0};
}

bool counters_get(const struct counters *c, const char *scope, const char *name, uint64_t *value)
{
	uint64_t sum = 0;
	bool found = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct counter *it = &c->items[i];

		if (strcmp(it->scope, scope) || strcmp(it->name, name))
			continue;
		found = true;
		sum += it->value;
	}
	if (found)
		*value = sum;
	return found;
}

bool counters_moved(const struct counters_deltas *d, const char *scope, const char *name,
		    uint64_t *delta)
{
	for (size_t i = 0; i < d->n; i++) {
		if (strcmp(d->items[i].scope, scope) || strcmp(d->items[i].name, name))
			continue;
		*delta = d->items[i].delta;
		return true;
	}
	return false;
}

typedef int (*parser)(struct counters *c, const char *scope, const char *text, size_t len);

static int parse_arp(struct counters *c, const char *scope, const char *text, size_t len)
{
	return procnet_neigh_stat(c, scope, "arp_cache", text, len);
}

static int parse_ndisc(struct counters *c, const char *scope, const char *text, size_t len)
{
	return procnet_neigh_stat(c, scope, "ndisc_cache", text, len);
}

struct proc_file {
	const char *path;
	parser parse;
};

static const struct proc_file namespace_files[] = {
	{"/proc/thread-self/net/snmp", procnet_snmp},
	{"/proc/thread-self/net/netstat", procnet_snmp},
	{"/proc/thread-self/net/snmp6", procnet_snmp6},
	{"/proc/thread-self/net/xfrm_stat", procnet_snmp6},
};

/* One for the whole host; the neighbour tables are shown in the first namespace only. */
static const struct proc_file host_files[] = {
	{"/proc/thread-self/net/softnet_stat", procnet_softnet},
	{"/proc/thread-self/net/stat/arp_cache", parse_arp},
	{"/proc/thread-self/net/stat/ndisc_cache", parse_ndisc},
};

static int read_files(struct counters *c, const char *scope, const struct proc_file *files,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *text;
		size_t len;
		int err = file_read(files[i].path, &text, &len);

		/* What the kernel does not have, or not for us, is left out. */
		if (err == -ENOENT || err == -EACCES || err == -EPERM)
			continue;
		if (err)
			return err;
		err = files[i].parse(c, scope, text, len);
		free(text);
		if (err)
			return err;
	}
	return 0;
}

static int read_link(struct counters *c, const char *role, const char *ifname, unsigned ifindex)
{
	struct rtnl_link_stats64 st = {0};
	const struct {
		const char *name;
		uint64_t value;
	} * f;
	char name[COUNTER_NAME_LEN];
	int err;

	err = netdev_link_stats(NULL, ifindex, &st);
	if (err)
		return err;
	f = (const __typeof__(*f)[]){
		{"rx_packets", st.rx_packets},
		{"tx_packets", st.tx_packets},
		{"rx_errors", st.rx_errors},
		{"tx_errors", st.tx_errors},
		{"rx_dropped", st.rx_dropped},
		{"tx_dropped", st.tx_dropped},
		{"rx_missed_errors", st.rx_missed_errors},
		{"rx_fifo_errors", st.rx_fifo_errors},
		{"rx_over_errors", st.rx_over_errors},
		{"rx_crc_errors", st.rx_crc_errors},
		{"rx_length_errors", st.rx_length_errors},
		{"tx_fifo_errors", st.tx_fifo_errors},
		{"tx_carrier_errors", st.tx_carrier_errors},
		{"rx_nohandler", st.rx_nohandler},
		{"rx_otherhost_dropped", st.rx_otherhost_dropped},
		{NULL, 0},
	};
	for (; f->name && !err; f++) {
		snprintf(name, sizeof(name), "%s:%s", ifname, f->name);
		err = counters_add(c, role, name, f->value);
	}
	return err;
}

static int read_qdisc(struct counters *c, const char *role, const char *ifname, unsigned ifindex)
{
	struct netdev_qdisc_stats st = {0};
	char name[COUNTER_NAME_LEN];
	size_t first = c->n;
	int err;

	if (netdev_qdisc_stats(NULL, ifindex, &st))
		return 0; /* nothing to read here is no failure of the experiment */
	snprintf(name, sizeof(name), "%s:qdisc:drops", ifname);
	err = counters_add(c, role, name, st.drops);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s:qdisc:requeues", ifname);
	err = counters_add(c, role, name, st.requeues);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s:qdisc:qlen", ifname);
	err = counters_add_level(c, role, name, st.qlen);
	for (size_t i = first; i < c->n; i++)
		c->items[i].object = st.handle;
	return err;
}

#define ETHTOOL_MAX 8192

static int read_ethtool(struct counters *c, const char *role, const char *ifname)
{
	struct netdev_counter *st = calloc(ETHTOOL_MAX, sizeof(*st));
	char name[COUNTER_NAME_LEN];
	int n, err = 0;

	if (!st)
		return -ENOMEM;
	n = netdev_ethtool_stats(NULL, ifname, st, ETHTOOL_MAX);
	for (int i = 0; i < n && i < ETHTOOL_MAX && !err; i++) {
		snprintf(name, sizeof(name), "ethtool:%s:%.31s", ifname, st[i].name);
		err = counters_add(c, role, name, st[i].value);
	}
	free(st);
	return err;
}

static int read_scope(struct counters *c, const struct counters_scope *s)
{
	int err = read_files(c, s->role, namespace_files,
			     sizeof(namespace_files) / sizeof(namespace_files[0]));

	for (const char *const *i = s->ifnames; i && *i && !err; i++) {
		unsigned ifindex = if_nametoindex(*i);

		if (!ifindex)
			return -ENODEV;
		err = read_link(c, s->role, *i, ifindex);
		if (!err)
			err = read_qdisc(c, s->role, *i, ifindex);
		if (!err)
			err = read_ethtool(c, s->role, *i);
	}
	return err;
}

int counters_read(struct counters *c, const struct counters_scope *scopes, size_t n)
{
	int err = read_files(c, "host", host_files, sizeof(host_files) / sizeof(host_files[0]));

	for (size_t i = 0; i < n && !err; i++) {
		int saved = -1;

		if (scopes[i].ns) {
			saved = netns_push(scopes[i].ns);
			if (saved < 0)
				return saved;
		}
		err = read_scope(c, &scopes[i]);
		if (saved >= 0)
			netns_pop(saved);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct counter *x = a, *y = b;
	int d = strcmp(x->scope, y->scope);

	return d ? d : strcmp(x->name, y->name);
}

/* Sums the run of equal names that begins at *i and moves *i behind it. */
static uint64_t take_sum(const struct counters *c, size_t *i)
{
	const struct counter *first = &c->items[*i];
	uint64_t sum = 0;

	for (; *i < c->n && !compare(first, &c->items[*i]); (*i)++)
		sum += c->items[*i].value;
	return sum;
}

static bool is_32_bits(const char *name)
{
	return !strncmp(name, "softnet:", 8) || !strncmp(name, "socket:", 7);
}

static int add_delta(struct counters_deltas *out, const struct counter *it, uint64_t before,
		     uint64_t after)
{
	struct counters_delta *d;

	if (out->n == out->cap) {
		size_t cap = out->cap ? out->cap * 2 : 512;
		struct counters_delta *items = reallocarray(out->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		out->items = items;
		out->cap = cap;
	}
	d = &out->items[out->n++];
	memset(d, 0, sizeof(*d));
	memcpy(d->scope, it->scope, sizeof(d->scope));
	memcpy(d->name, it->name, sizeof(d->name));
	if (after >= before) {
		d->delta = after - before;
	} else if (is_32_bits(it->name)) {
		d->delta = (uint32_t)(after - before);
	} else {
		d->delta = after;
		d->restarted = true;
	}
	return 0;
}

int counters_delta(struct counters *before, struct counters *after, struct counters_deltas *out)
{
	size_t b = 0, a = 0;
	int err = 0;

	if (before->n)
		qsort(before->items, before->n, sizeof(*before->items), compare);
	if (after->n)
		qsort(after->items, after->n, sizeof(*after->items), compare);
	while (b < before->n && a < after->n && !err) {
		const struct counter *it = &after->items[a];
		int order = compare(&before->items[b], it);

		if (order < 0) {
			b++;
		} else if (order > 0) {
			a++;
		} else {
			bool same = before->items[b].object == it->object;
			uint64_t old = take_sum(before, &b), now = take_sum(after, &a);

			if (same && !it->level)
				err = add_delta(out, it, old, now);
		}
	}
	return err;
}
