// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/nic_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/netdev.h"

#define LOSSES_MAX 128 /* counters that moved, of one device */

int nic_watch_begin(struct nic_watch *w, const struct netns *ns, const char *ifname)
{
	struct netdev dev;
	int rc = netdev_get(ns, ifname, &dev);

	if (rc)
		return rc;
	w->ns = ns;
	memcpy(w->ifname, dev.ifname, sizeof(w->ifname));
	memcpy(w->driver, dev.driver, sizeof(w->driver));
	return nic_sample_read(&w->before, ns, ifname);
}

/* "link:rx_missed_errors" is "eth0:rx_missed_errors", "pkts rx OOB" is "ethtool:eth0:pkts rx OOB".
 */
static void name_counter(const struct nic_watch *w, const char *name, char out[COUNTER_NAME_LEN])
{
	const char *rest = strchr(name, ':');

	if (!strncmp(name, "link:", 5))
		snprintf(out, COUNTER_NAME_LEN, "%s%s", w->ifname, rest);
	else if (!strncmp(name, "qstat:", 6))
		snprintf(out, COUNTER_NAME_LEN, "qstat:%s%s", w->ifname, rest);
	else
		snprintf(out, COUNTER_NAME_LEN, "ethtool:%s:%s", w->ifname, name);
}

static bool is_ring_loss(const struct nic_row *row)
{
	return row->class == NIC_LOSS && row->stage == STAGE_NIC_RING && !row->events;
}

int nic_ring_loss(const struct nic_watch *w, const struct nic_sample *after,
		  struct nic_ring_loss *out)
{
	struct nic_sample before = {0};
	struct nic_loss l[LOSSES_MAX];
	struct nic_plan *plan;
	uint64_t largest = 0;
	unsigned n;
	int rc;

	*out = (struct nic_ring_loss){0};
	plan = nic_plan_new(w->driver, after);
	if (!plan)
		return -ENOMEM;
	rc = nic_sample_match(&w->before, after, &before);
	n = rc ? 0 : nic_losses(plan, &before, after, l, LOSSES_MAX);
	for (unsigned i = 0; i < n && i < LOSSES_MAX; i++) {
		if (!is_ring_loss(l[i].item->row))
			continue;
		out->packets += l[i].packets;
		out->restarted |= l[i].restarted;
		if (l[i].packets <= largest)
			continue;
		largest = l[i].packets;
		name_counter(w, l[i].name, out->counter);
	}
	nic_sample_free(&before);
	nic_plan_free(plan);
	return rc;
}

int nic_watch_read(const struct nic_watch *w, struct nic_ring_loss *out)
{
	struct nic_sample now = {0};
	int rc = nic_sample_read(&now, w->ns, w->ifname);

	*out = (struct nic_ring_loss){0};
	if (!rc)
		rc = nic_ring_loss(w, &now, out);
	nic_sample_free(&now);
	return rc;
}

void nic_watch_end(struct nic_watch *w)
{
	nic_sample_free(&w->before);
}
