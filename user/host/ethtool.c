// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads driver settings with the ethtool ioctl. */
#include "host/netdev.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/nl.h"

int netdev_ethtool(const struct netns *ns, const char *ifname, void *command)
{
	return nl_ioctl(ns, ifname, SIOCETHTOOL, &(struct ifreq){.ifr_data = command});
}

static void read_driver(const struct netns *ns, const char *ifname, char driver[32])
{
	struct ethtool_drvinfo drv = {.cmd = ETHTOOL_GDRVINFO};

	if (!netdev_ethtool(ns, ifname, &drv))
		snprintf(driver, sizeof(drv.driver), "%s", drv.driver);
}

static void fill_speed(const struct netns *ns, struct netdev *dev)
{
	union {
		struct ethtool_link_settings is;
		uint32_t room[sizeof(struct ethtool_link_settings) / 4 + 3 * INT8_MAX];
	} link = {.is.cmd = ETHTOOL_GLINKSETTINGS};

	/* The first call returns the number of words in a link mode mask, negated. */
	if (netdev_ethtool(ns, dev->link.ifname, &link) || link.is.link_mode_masks_nwords >= 0)
		return;
	link.is.link_mode_masks_nwords = -link.is.link_mode_masks_nwords;
	link.is.cmd = ETHTOOL_GLINKSETTINGS;
	if (!netdev_ethtool(ns, dev->link.ifname, &link) && link.is.speed &&
	    link.is.speed != (uint32_t)SPEED_UNKNOWN)
		dev->speed_mbit = link.is.speed;
}

void netdev_ethtool_fill(const struct netns *ns, struct netdev *dev)
{
	struct ethtool_channels ch = {.cmd = ETHTOOL_GCHANNELS};

	read_driver(ns, dev->link.ifname, dev->driver);
	if (!netdev_ethtool(ns, dev->link.ifname, &ch)) {
		if (ch.rx_count + ch.combined_count)
			dev->link.rx_queues = ch.rx_count + ch.combined_count;
		if (ch.tx_count + ch.combined_count)
			dev->link.tx_queues = ch.tx_count + ch.combined_count;
	}
	fill_speed(ns, dev);
}

/*
 * Reads the names in a string set, ETH_GSTRING_LEN bytes each. Returns -EOPNOTSUPP if the interface
 * does not have it.
 */
static int read_strings(const struct netns *ns, const char *ifname, uint32_t set,
			struct ethtool_gstrings **strings)
{
	union {
		struct ethtool_sset_info info;
		uint32_t room[sizeof(struct ethtool_sset_info) / 4 + 1];
	} size = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << set}};
	const uint32_t *count = size.info.data;
	int ret = netdev_ethtool(ns, ifname, &size);

	if (ret)
		return ret;
	if (!size.info.sset_mask || !*count)
		return -EOPNOTSUPP;
	*strings = mem_zero(1, sizeof(**strings) + (size_t)*count * ETH_GSTRING_LEN);
	(*strings)->cmd = ETHTOOL_GSTRINGS;
	(*strings)->string_set = set;
	(*strings)->len = *count;
	ret = netdev_ethtool(ns, ifname, *strings);
	if (ret)
		free(*strings);
	return ret;
}

/*
 * Returns a feature's bit number, or -ENOENT if not found. Sets `count` to the number of features.
 */
static int find_feature(const struct netns *ns, const char *ifname, const char *feature,
			unsigned *count)
{
	struct ethtool_gstrings *names;
	int ret = read_strings(ns, ifname, ETH_SS_FEATURES, &names);

	if (ret)
		return ret;
	ret = -ENOENT;
	*count = names->len;
	for (unsigned i = 0; i < names->len && ret < 0; i++) {
		if (!strncmp((char *)names->data + i * ETH_GSTRING_LEN, feature, ETH_GSTRING_LEN))
			ret = i;
	}
	free(names);
	return ret;
}

int netdev_get_feature(const struct netns *ns, const char *ifname, const char *feature, bool *on)
{
	struct ethtool_gfeatures *get;
	unsigned count = 0, blocks;
	int bit = find_feature(ns, ifname, feature, &count), ret;

	if (bit < 0)
		return bit;
	blocks = (count + 31) / 32;
	get = mem_zero(1, sizeof(*get) + blocks * sizeof(get->features[0]));
	get->cmd = ETHTOOL_GFEATURES;
	get->size = blocks;
	ret = netdev_ethtool(ns, ifname, get);
	*on = get->features[bit / 32].active >> (bit % 32) & 1;
	free(get);
	return ret;
}

static int read_stats(const struct netns *ns, const char *ifname,
		      const struct ethtool_gstrings *names, struct nic_sample *s)
{
	/*
	 * The kernel writes as many counters as there are now, so leave room for queues added since
	 * the last call.
	 */
	size_t room = 2 * (size_t)names->len + 64;
	struct ethtool_stats *values = mem_zero(1, sizeof(*values) + room * sizeof(uint64_t));
	char name[ETH_GSTRING_LEN + 1] = "";
	int ret;

	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = names->len;
	ret = netdev_ethtool(ns, ifname, values);
	if (!ret && values->n_stats != names->len)
		ret = -EAGAIN;
	for (unsigned i = 0; !ret && i < names->len; i++) {
		memcpy(name, names->data + i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		nic_sample_add(s, name, values->data[i]);
	}
	free(values);
	return ret;
}

int netdev_ethtool_stats(const struct netns *ns, const char *ifname, char driver[32],
			 struct nic_sample *s)
{
	struct ethtool_gstrings *names;
	int ret;

	*driver = '\0';
	read_driver(ns, ifname, driver);
	ret = read_strings(ns, ifname, ETH_SS_STATS, &names);
	if (!ret) {
		ret = read_stats(ns, ifname, names, s);
		free(names);
	}
	return ret == -ENODEV ? ret : 0;
}

#define RSS_MAX 65536 /* entries: mlx5 has several thousand */

static int compare_queues(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int netdev_rss_table(const struct netns *ns, const char *ifname, struct ethtool_rxfh_indir **table)
{
	struct ethtool_rxfh_indir ask = {.cmd = ETHTOOL_GRXFHINDIR};
	/* With size 0 the kernel only returns the table size. */
	int ret = netdev_ethtool(ns, ifname, &ask);

	if (ret < 0)
		return ret;
	if (!ask.size || ask.size > RSS_MAX)
		return -EOPNOTSUPP;
	*table = mem_zero(1, sizeof(ask) + ask.size * sizeof(ask.ring_index[0]));
	(*table)->cmd = ETHTOOL_GRXFHINDIR;
	(*table)->size = ask.size;
	ret = netdev_ethtool(ns, ifname, *table);
	if (ret < 0)
		free(*table);
	return ret < 0 ? ret : 0;
}

int netdev_settings_read(const struct netns *ns, const char *ifname, struct netdev_settings *out)
{
	struct ethtool_ringparam r = {.cmd = ETHTOOL_GRINGPARAM};
	struct ethtool_channels ch = {.cmd = ETHTOOL_GCHANNELS};
	struct ethtool_coalesce co = {.cmd = ETHTOOL_GCOALESCE};
	struct ethtool_pauseparam p = {.cmd = ETHTOOL_GPAUSEPARAM};
	struct ethtool_rxfh_indir *table;
	int ret = nl_ifindex(ns, ifname);

	memset(out, 0, sizeof(*out));
	if (ret < 0)
		return ret;
	if (!netdev_ethtool(ns, ifname, &r))
		out->ring = (__typeof__(out->ring)){true, r.rx_pending, r.rx_max_pending,
						    r.tx_pending, r.tx_max_pending};
	if (!netdev_ethtool(ns, ifname, &ch))
		out->channels = (__typeof__(out->channels)){
			true,	   ch.rx_count, ch.tx_count,	ch.combined_count,
			ch.max_rx, ch.max_tx,	ch.max_combined};
	if (!netdev_ethtool(ns, ifname, &co))
		out->coalesce = (__typeof__(out->coalesce)){true, co.rx_coalesce_usecs,
							    co.rx_max_coalesced_frames,
							    co.use_adaptive_rx_coalesce};
	if (!netdev_ethtool(ns, ifname, &p))
		out->pause = (__typeof__(out->pause)){true, p.autoneg, p.rx_pause, p.tx_pause};
	if (netdev_rss_table(ns, ifname, &table))
		return 0;
	qsort(table->ring_index, table->size, sizeof(table->ring_index[0]), compare_queues);
	out->rss.known = true;
	out->rss.entries = table->size;
	for (unsigned i = 0; i < table->size; i++)
		out->rss.used += !i || table->ring_index[i] != table->ring_index[i - 1];
	free(table);
	return 0;
}
