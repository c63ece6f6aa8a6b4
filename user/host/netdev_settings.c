// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/netdev_settings.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <stdlib.h>
#include <string.h>

#include "host/netdev_ethtool.h"
#include "host/nl.h"

#define RSS_MAX 65536 /* entries; mlx5 has some thousands */

static void read_ring(const struct netns *ns, const char *ifname, struct netdev_settings *out)
{
	struct ethtool_ringparam r = {.cmd = ETHTOOL_GRINGPARAM};

	if (netdev_ethtool(ns, ifname, &r))
		return;
	out->ring.known = true;
	out->ring.rx = r.rx_pending;
	out->ring.rx_max = r.rx_max_pending;
	out->ring.tx = r.tx_pending;
	out->ring.tx_max = r.tx_max_pending;
}

static void read_channels(const struct netns *ns, const char *ifname, struct netdev_settings *out)
{
	struct ethtool_channels c = {.cmd = ETHTOOL_GCHANNELS};

	if (netdev_ethtool(ns, ifname, &c))
		return;
	out->channels.known = true;
	out->channels.rx = c.rx_count;
	out->channels.tx = c.tx_count;
	out->channels.combined = c.combined_count;
	out->channels.rx_max = c.max_rx;
	out->channels.tx_max = c.max_tx;
	out->channels.combined_max = c.max_combined;
}

static void read_coalesce(const struct netns *ns, const char *ifname, struct netdev_settings *out)
{
	struct ethtool_coalesce c = {.cmd = ETHTOOL_GCOALESCE};

	if (netdev_ethtool(ns, ifname, &c))
		return;
	out->coalesce.known = true;
	out->coalesce.rx_usecs = c.rx_coalesce_usecs;
	out->coalesce.rx_frames = c.rx_max_coalesced_frames;
	out->coalesce.adaptive_rx = c.use_adaptive_rx_coalesce;
}

static void read_pause(const struct netns *ns, const char *ifname, struct netdev_settings *out)
{
	struct ethtool_pauseparam p = {.cmd = ETHTOOL_GPAUSEPARAM};

	if (netdev_ethtool(ns, ifname, &p))
		return;
	out->pause.known = true;
	out->pause.autoneg = p.autoneg;
	out->pause.rx = p.rx_pause;
	out->pause.tx = p.tx_pause;
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void read_rss(const struct netns *ns, const char *ifname, struct netdev_settings *out)
{
	struct ethtool_rxfh_indir size = {.cmd = ETHTOOL_GRXFHINDIR}, *table;

	/* With room for none the kernel tells the size. */
	if (netdev_ethtool(ns, ifname, &size) || !size.size || size.size > RSS_MAX)
		return;
	table = calloc(1, sizeof(*table) + size.size * sizeof(table->ring_index[0]));
	if (!table)
		return;
	table->cmd = ETHTOOL_GRXFHINDIR;
	table->size = size.size;
	if (!netdev_ethtool(ns, ifname, table) && table->size == size.size) {
		qsort(table->ring_index, size.size, sizeof(table->ring_index[0]), compare);
		out->rss.known = true;
		out->rss.entries = size.size;
		for (unsigned i = 0; i < size.size; i++)
			out->rss.used += !i || table->ring_index[i] != table->ring_index[i - 1];
	}
	free(table);
}

int netdev_settings_read(const struct netns *ns, const char *ifname, struct netdev_settings *out)
{
	int ret = nl_ifindex(ns, ifname);

	memset(out, 0, sizeof(*out));
	if (ret < 0)
		return ret;
	read_ring(ns, ifname, out);
	read_channels(ns, ifname, out);
	read_coalesce(ns, ifname, out);
	read_pause(ns, ifname, out);
	read_rss(ns, ifname, out);
	return 0;
}
