// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/netdev.h"
#include "host/nic.h"
#include "host/nl.h"
#include "host/qstats.h"

#define ETHTOOL_MAX 16384

int nic_sample_add(struct nic_sample *s, const char *name, uint64_t value)
{
	struct nic_value *v;
	size_t len;

	if (s->n == s->cap) {
		unsigned cap = s->cap ? s->cap * 2 : 64;
		struct nic_value *more = reallocarray(s->at, cap, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->at = more;
		s->cap = cap;
	}
	v = &s->at[s->n++];
	memset(v, 0, sizeof(*v));
	name += strspn(name, " \t");
	len = strnlen(name, NIC_NAME - 1);
	while (len && (name[len - 1] == ' ' || name[len - 1] == '\t'))
		len--;
	memcpy(v->name, name, len);
	v->value = value;
	return 0;
}

void nic_sample_free(struct nic_sample *s)
{
	free(s->at);
	*s = (struct nic_sample){0};
}

/* Names repeat (vmxnet3 has one set a queue): the n-th of a name is the n-th there too. */
static const struct nic_value *find_nth(const struct nic_sample *s, const char *name, unsigned nth)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (!strcmp(s->at[i].name, name) && !nth--)
			return &s->at[i];
	}
	return NULL;
}

int nic_sample_match(const struct nic_sample *before, const struct nic_sample *after,
		     struct nic_sample *out)
{
	int ret = 0;

	for (unsigned i = 0; i < after->n && !ret; i++) {
		const struct nic_value *v = &after->at[i], *old;
		unsigned nth = 0;

		for (unsigned j = 0; j < i; j++)
			nth += !strcmp(after->at[j].name, v->name);
		old = find_nth(before, v->name, nth);
		ret = nic_sample_add(out, v->name, old ? old->value : v->value);
	}
	return ret;
}

int nic_sample_link(struct nic_sample *s, const struct rtnl_link_stats64 *st)
{
	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{"link:rx_dropped", st->rx_dropped},
		{"link:tx_dropped", st->tx_dropped},
		{"link:rx_missed_errors", st->rx_missed_errors},
		{"link:rx_fifo_errors", st->rx_fifo_errors},
		{"link:rx_over_errors", st->rx_over_errors},
		{"link:rx_crc_errors", st->rx_crc_errors},
		{"link:rx_length_errors", st->rx_length_errors},
		{"link:rx_frame_errors", st->rx_frame_errors},
		{"link:tx_fifo_errors", st->tx_fifo_errors},
		{"link:tx_carrier_errors", st->tx_carrier_errors},
	};
	int ret = 0;

	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]) && !ret; i++)
		ret = nic_sample_add(s, fields[i].name, fields[i].value);
	return ret;
}

int nic_sample_ethtool(struct nic_sample *s, const struct netns *ns, const char *ifname)
{
	struct netdev_counter *st = calloc(ETHTOOL_MAX, sizeof(*st));
	int n, ret = 0;

	if (!st)
		return -ENOMEM;
	n = netdev_ethtool_stats(ns, ifname, st, ETHTOOL_MAX);
	for (int i = 0; i < n && !ret; i++)
		ret = nic_sample_add(s, st[i].name, st[i].value);
	free(st);
	return n == -ENODEV ? n : ret;
}

/* "qstat:rx-hw-drops" of the device, "qstat:rx-0-hw-drops" of a queue. */
int nic_sample_qstats(struct nic_sample *s, const struct qstats *q)
{
	char name[NIC_NAME];
	int ret = 0;

	for (unsigned i = 0; i < QSTATS && !ret; i++) {
		const char *what = qstat_name(i);

		if (!(q->present & 1u << i))
			continue;
		if (q->queue < 0)
			snprintf(name, sizeof(name), "qstat:%s", what);
		else
			snprintf(name, sizeof(name), "qstat:%.2s-%d%s", what, q->queue, what + 2);
		ret = nic_sample_add(s, name, q->value[i]);
	}
	return ret;
}

int nic_sample_read(struct nic_sample *s, const struct netns *ns, const char *ifname)
{
	int ifindex = nl_ifindex(ns, ifname), n, ret;
	struct rtnl_link_stats64 link;
	struct qstats *q = NULL;

	if (ifindex < 0)
		return ifindex;
	ret = nic_sample_ethtool(s, ns, ifname);
	if (!ret)
		ret = netdev_link_stats(ns, (unsigned)ifindex, &link);
	if (!ret)
		ret = nic_sample_link(s, &link);
	n = ret ? 0 : qstats_read(ns, true, &q);
	for (int i = 0; i < n && !ret; i++) {
		if (q[i].ifindex == (unsigned)ifindex)
			ret = nic_sample_qstats(s, &q[i]);
	}
	free(q);
	return ret;
}
