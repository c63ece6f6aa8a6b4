// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/counters.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "host/netdev.h"

struct counter *counters_add(struct counters *c, const char *scope, const char *name,
			     uint64_t value)
{
	struct counter *it;

	c->items = list_room(c->items, c->n, sizeof(*it));
	it = &c->items[c->n++];
	snprintf(it->scope, sizeof(it->scope), "%s", scope);
	snprintf(it->name, sizeof(it->name), "%s", name);
	it->value = value;
	return it;
}

void counters_free(struct counters *c)
{
	for (unsigned i = 0; i < c->n_devices; i++) {
		nic_sample_free(&c->devices[i].nic);
		nic_plan_free(c->devices[i].plan);
	}
	free(c->devices);
	free(c->items);
	*c = (struct counters){0};
}

/* Copies the array: shrinking blocks in place leaves holes too small for the next block. */
void counters_keep(struct counters *c, bool (*wanted)(const struct counter *it))
{
	struct counter *kept;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (wanted(&c->items[i]))
			c->items[n++] = c->items[i];
	}
	kept = mem_zero(n, sizeof(*kept));
	if (n)
		memcpy(kept, c->items, n * sizeof(*kept));
	free(c->items);
	c->items = kept;
	c->n = n;
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

struct proc_file {
	const char *path;
	void (*parse)(struct counters *c, const char *scope, const char *text, size_t len);
	const char *table; /* parse with procnet_neigh_stat() instead */
};

static const struct proc_file namespace_files[] = {
	{"/proc/thread-self/net/snmp", procnet_snmp, NULL},
	{"/proc/thread-self/net/netstat", procnet_snmp, NULL},
	{"/proc/thread-self/net/snmp6", procnet_snmp6, NULL},
	{"/proc/thread-self/net/xfrm_stat", procnet_snmp6, NULL},
};

/* Read once per host. Neighbour tables are only visible in the initial namespace. */
static const struct proc_file host_files[] = {
	{"/proc/thread-self/net/softnet_stat", procnet_softnet, NULL},
	{"/proc/thread-self/net/stat/arp_cache", NULL, "arp_cache"},
	{"/proc/thread-self/net/stat/ndisc_cache", NULL, "ndisc_cache"},
};

static int read_files(struct counters *c, const char *scope, const struct proc_file *files,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *text;
		size_t len;
		int err = file_read(files[i].path, &text, &len);

		/* skip files that this kernel lacks or that we may not read */
		if (err == -ENOENT || err == -EACCES || err == -EPERM)
			continue;
		if (err)
			return err;
		if (files[i].parse)
			files[i].parse(c, scope, text, len);
		else
			procnet_neigh_stat(c, scope, files[i].table, text, len);
		free(text);
	}
	return 0;
}

#define STAT(name) #name, offsetof(struct rtnl_link_stats64, name)

/*
 * Loss counters go into the NIC sample instead, because the NIC table has rows for every software
 * interface.
 */
static const struct {
	const char *name;
	size_t at;
	bool loss;
} link_stats[] = {
	{STAT(rx_packets), false},	{STAT(tx_packets), false},
	{STAT(rx_errors), false},	{STAT(tx_errors), false},
	{STAT(rx_nohandler), false},	{STAT(rx_otherhost_dropped), false},
	{STAT(rx_dropped), true},	{STAT(tx_dropped), true},
	{STAT(rx_missed_errors), true}, {STAT(rx_fifo_errors), true},
	{STAT(rx_over_errors), true},	{STAT(rx_crc_errors), true},
	{STAT(rx_length_errors), true}, {STAT(rx_frame_errors), true},
	{STAT(tx_fifo_errors), true},	{STAT(tx_carrier_errors), true},
};

#define LINK_STATS LENGTH(link_stats)

static uint64_t link_stat(const struct counters_device *d, unsigned i)
{
	uint64_t value;

	memcpy(&value, (const char *)&d->link.stats + link_stats[i].at, sizeof(value));
	return value;
}

/*
 * Formats a counter name: "link:rx_dropped" becomes "eth0:rx_dropped", "pkts rx OOB" becomes
 * "ethtool:eth0:pkts rx OOB".
 */
static void name_counter(const char *ifname, const char *name, char out[COUNTER_NAME_LEN])
{
	const char *rest = strchr(name, ':');

	if (!strncmp(name, "link:", 5))
		snprintf(out, COUNTER_NAME_LEN, "%s%s", ifname, rest);
	else if (!strncmp(name, "qstat:", 6) || !strncmp(name, "pool:", 5))
		snprintf(out, COUNTER_NAME_LEN, "%.*s:%s%s", (int)(rest - name), name, ifname,
			 rest);
	else
		snprintf(out, COUNTER_NAME_LEN, "ethtool:%s:%s", ifname, name);
}

static void add_names(struct counters *c, const struct counters_device *d)
{
	const struct {
		const char *name;
		uint64_t value;
		bool level;
	} qdisc[] = {{"drops", d->qdisc.drops, false},
		     {"clsact", d->qdisc.clsact_drops, false},
		     {"requeues", d->qdisc.requeues, false},
		     {"qlen", d->qdisc.qlen, true}};
	char name[COUNTER_NAME_LEN];

	for (unsigned i = 0; i < d->nic.n; i++) {
		name_counter(d->link.ifname, d->nic.at[i].name, name);
		counters_add(c, d->scope, name, d->nic.at[i].value);
	}
	for (unsigned i = 0; i < LINK_STATS; i++) {
		snprintf(name, sizeof(name), "%s:%s", d->link.ifname, link_stats[i].name);
		if (!link_stats[i].loss)
			counters_add(c, d->scope, name, link_stat(d, i));
	}
	for (unsigned i = 0; i < LENGTH(qdisc); i++) {
		struct counter *it;

		snprintf(name, sizeof(name), "%s:qdisc:%s", d->link.ifname, qdisc[i].name);
		it = counters_add(c, d->scope, name, qdisc[i].value);
		it->level = qdisc[i].level;
		it->object = d->qdisc.root.handle;
	}
}

/* Results of requests that return all interfaces of a namespace at once. */
struct dumps {
	struct link_qdisc *qdiscs;
	struct qstat *qstats;
	int qdiscs_n, qstats_n;
	bool has_qstats; /* they were requested: once the first hardware was found */
};

/*
 * Adds how often transmit queues stood still: until the watchdog fired (dev_watchdog()), and longer
 * than stall_thrs (dql_check_stall(), since Linux 6.9).
 */
static void add_stalls(struct counters_device *d, const struct netns *ns)
{
	static const char *const files[][2] = {{"timeouts", "tx_timeout"},
					       {"stalls", "byte_queue_limits/stall_cnt"}};
	char path[PATH_MAX], text[24], name[NIC_NAME];
	uint64_t n;

	for (unsigned i = 0; i < LENGTH(files) * d->link.tx_queues; i++) {
		const char *const *file = files[i % LENGTH(files)];
		const unsigned queue = i / LENGTH(files);

		snprintf(path, sizeof(path), "class/net/%s/queues/tx-%u/%s", d->link.ifname, queue,
			 file[1]);
		snprintf(name, sizeof(name), "queue:tx-%u-%s", queue, file[0]);
		if (!netns_sysfs(ns, path, NULL, text, sizeof(text)) &&
		    !num_u64(text, 0, UINT64_MAX, &n))
			nic_sample_add(&d->nic, name, n);
	}
}

/* Reads one interface. The thread must already be in the scope's namespace. */
static int read_device(struct counters *c, const struct counters_scope *s, unsigned what,
		       const struct link_info *link, struct dumps *all)
{
	const struct counters_device *earlier =
		c->earlier ? counters_device(c->earlier, s->role, link->ifname, link->ifindex)
			   : NULL;
	struct counters_device *d;
	char name[NIC_NAME];
	int err = 0;

	c->devices = list_room(c->devices, c->n_devices, sizeof(*d));
	d = &c->devices[c->n_devices++];
	snprintf(d->scope, sizeof(d->scope), "%s", s->role);
	d->link = *link;
	for (int i = 0; i < all->qdiscs_n; i++) {
		if (all->qdiscs[i].ifindex == link->ifindex)
			d->qdisc = all->qdiscs[i];
	}
	if (what & COUNTERS_QUEUES && link->hardware && !all->has_qstats) {
		all->has_qstats = true;
		all->qstats_n = qstats_read(NULL, &all->qstats);
	}
	/* first, because the driver's own counters count the same packets again */
	for (int i = 0; i < all->qstats_n; i++) {
		if (all->qstats[i].ifindex == link->ifindex)
			nic_sample_add(&d->nic, all->qstats[i].name, all->qstats[i].value);
	}
	if (what & COUNTERS_DRIVERS)
		err = netdev_ethtool_stats(NULL, link->ifname, d->driver, &d->nic);
	if (err && !(what & (COUNTERS_ALL | COUNTERS_GOING))) /* otherwise it was removed in the
							       * meantime */
		return err;
	for (unsigned i = 0; i < LINK_STATS; i++) {
		snprintf(name, sizeof(name), "link:%s", link_stats[i].name);
		if (link_stats[i].loss)
			nic_sample_add(&d->nic, name, link_stat(d, i));
	}
	d->silent = earlier ? earlier->silent : 0;
	if (what & COUNTERS_DRIVERS)
		standard_stats_read(NULL, link, &d->nic, &d->silent);
	if (what & COUNTERS_DRIVERS && what & COUNTERS_NAMES && s->ns)
		add_stalls(d, s->ns);
	if (what & COUNTERS_NAMES)
		add_names(c, d);
	return 0;
}

static int read_links(struct counters *c, const struct counters_scope *s, unsigned what,
		      unsigned ifindex, struct dumps *all)
{
	struct link_info *links;
	int n = links_read(NULL, ifindex, &links), err = n < 0 ? n : 0;

	for (int i = 0; i < n && !err; i++)
		err = read_device(c, s, what, &links[i], all);
	free(links);
	return err;
}

static int read_devices(struct counters *c, const struct counters_scope *s, unsigned what)
{
	struct dumps all = {0};
	int err = 0;

	/* unreadable dumps do not fail the snapshot */
	all.qdiscs_n = links_read_qdiscs(NULL, &all.qdiscs);
	if (what & COUNTERS_ALL)
		err = read_links(c, s, what, 0, &all);
	for (const char *const *i = s->ifnames; !(what & COUNTERS_ALL) && *i && !err; i++) {
		unsigned ifindex = if_nametoindex(*i);

		err = ifindex ? read_links(c, s, what, ifindex, &all) : -ENODEV;
		if (err == -ENODEV && what & COUNTERS_GOING)
			err = 0;
	}
	free(all.qdiscs);
	free(all.qstats);
	return err;
}

int counters_read(struct counters *c, const struct counters_scope *scopes, size_t n)
{
	bool host = false;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		unsigned what = scopes[i].what;
		int saved;

		if (what & COUNTERS_HOST && !host)
			err = read_files(c, "host", host_files, LENGTH(host_files));
		host |= what & COUNTERS_HOST;
		saved = netns_push(scopes[i].ns);
		if (saved < 0)
			return saved;
		if (!err && what & COUNTERS_SNMP)
			err = read_files(c, scopes[i].role, namespace_files,
					 LENGTH(namespace_files));
		if (!err && what & COUNTERS_DEVICES && (what & COUNTERS_ALL || scopes[i].ifnames))
			err = read_devices(c, &scopes[i], what);
		netns_pop(saved);
	}
	return err;
}

struct counters_device *counters_device(const struct counters *c, const char *scope,
					const char *ifname, unsigned ifindex)
{
	for (unsigned i = 0; i < c->n_devices; i++) {
		struct counters_device *d = &c->devices[i];

		if ((!ifindex || d->link.ifindex == ifindex) && !strcmp(d->scope, scope) &&
		    !strcmp(d->link.ifname, ifname))
			return d;
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct counter *x = a, *y = b;
	int d = strcmp(x->scope, y->scope);

	return d ? d : strcmp(x->name, y->name);
}

/* Sums the run of equal names starting at *i and advances *i past it. */
static uint64_t take_sum(const struct counters *c, size_t *i)
{
	const struct counter *first = &c->items[*i];
	uint64_t sum = 0;

	for (; *i < c->n && !compare(first, &c->items[*i]); (*i)++)
		sum += c->items[*i].value;
	return sum;
}

void counters_delta(struct counters *before, struct counters *after, struct counters *out)
{
	size_t b = 0, a = 0;

	if (before->n)
		qsort(before->items, before->n, sizeof(*before->items), compare);
	if (after->n)
		qsort(after->items, after->n, sizeof(*after->items), compare);
	while (b < before->n && a < after->n) {
		const struct counter *it = &after->items[a];
		int order = compare(&before->items[b], it);

		if (order < 0) {
			b++;
		} else if (order > 0) {
			a++;
		} else {
			bool same = before->items[b].object == it->object;
			bool narrow = !strncmp(it->name, "softnet:", 8) ||
				      !strncmp(it->name, "socket:", 7); /* 32 bits wide */
			uint64_t old = take_sum(before, &b), now = take_sum(after, &a);

			if (same && !it->level)
				counters_add(out, it->scope, it->name,
					     narrow && now < old ? (uint32_t)(now - old)
								 : counter_moved(old, now));
		}
	}
}

const struct nic_sample *counters_device_match(struct counters_device *before,
					       struct counters_device *after,
					       struct nic_sample *matched)
{
	if (before && before->plan && nic_plan_fits(before->plan, &after->nic)) {
		after->plan = before->plan;
		before->plan = NULL;
		return &before->nic;
	}
	after->plan = nic_plan_new(after->driver, &after->nic);
	if (!before)
		return &after->nic;
	if (nic_plan_fits(after->plan, &before->nic))
		return &before->nic;
	nic_sample_match(&before->nic, &after->nic, matched);
	return matched;
}

#define LOSSES_MAX 128 /* counters that increased, per interface */

struct nic_ring_loss nic_ring_loss(struct counters_device *before, struct counters_device *after)
{
	struct nic_sample matched = {0};
	const struct nic_sample *base = counters_device_match(before, after, &matched);
	struct nic_loss l[LOSSES_MAX];
	unsigned n = nic_losses(after->plan, base, &after->nic, l, LOSSES_MAX);
	struct nic_ring_loss sum = {0};
	uint64_t largest = 0;

	for (unsigned i = 0; i < n && i < LOSSES_MAX; i++) {
		const struct nic_row *row = l[i].item->row;

		if (row->class != NIC_LOSS || row->stage != STAGE_NIC_RING || row->events)
			continue;
		sum.packets += l[i].packets;
		if (l[i].packets <= largest)
			continue;
		largest = l[i].packets;
		name_counter(after->link.ifname, l[i].name, sum.counter);
	}
	nic_sample_free(&matched);
	return sum;
}
