// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What drivers say and take: the ethtool ioctl. */
#include "host/netdev.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "host/nl.h"

/* The device that the commands go to. */
struct ethtool {
	int fd;
	struct ifreq ifr;
};

static int ethtool_open(struct ethtool *et, const struct netns *ns, const char *ifname)
{
	memset(et, 0, sizeof(*et));
	if (strlen(ifname) >= sizeof(et->ifr.ifr_name))
		return -ENODEV;
	strcpy(et->ifr.ifr_name, ifname);
	et->fd = nl_ioctl_socket(ns);
	return et->fd < 0 ? et->fd : 0;
}

static int ethtool_do(struct ethtool *et, void *command)
{
	int ret;

	et->ifr.ifr_data = command;
	ret = ioctl(et->fd, SIOCETHTOOL, &et->ifr);
	return ret < 0 ? -errno : ret;
}

int netdev_ethtool(const struct netns *ns, const char *ifname, void *command)
{
	struct ethtool et;
	int ret = ethtool_open(&et, ns, ifname);

	if (ret)
		return ret;
	ret = ethtool_do(&et, command);
	close(et.fd);
	return ret;
}

static void read_driver(struct ethtool *et, char driver[32])
{
	struct ethtool_drvinfo drv = {.cmd = ETHTOOL_GDRVINFO};

	if (!ethtool_do(et, &drv))
		snprintf(driver, sizeof(drv.driver), "%s", drv.driver);
}

static void fill_speed(struct ethtool *et, struct netdev *dev)
{
	struct ethtool_link_settings *ls;

	/* The first call asks how many words a link mode mask has; the answer is negative. */
	ls = calloc(1, sizeof(*ls) + 3 * INT8_MAX * sizeof(uint32_t));
	if (!ls)
		return;
	ls->cmd = ETHTOOL_GLINKSETTINGS;
	if (!ethtool_do(et, ls) && ls->link_mode_masks_nwords < 0) {
		ls->link_mode_masks_nwords = -ls->link_mode_masks_nwords;
		ls->cmd = ETHTOOL_GLINKSETTINGS;
		if (!ethtool_do(et, ls) && ls->speed && ls->speed != (uint32_t)SPEED_UNKNOWN)
			dev->speed_mbit = ls->speed;
	}
	free(ls);
}

int netdev_ethtool_fill(const struct netns *ns, struct netdev *dev)
{
	struct ethtool_channels ch = {.cmd = ETHTOOL_GCHANNELS};
	struct ethtool et;
	int ret = ethtool_open(&et, ns, dev->ifname);

	if (ret)
		return ret;
	read_driver(&et, dev->driver);
	if (!ethtool_do(&et, &ch)) {
		if (ch.rx_count + ch.combined_count)
			dev->rx_queues = ch.rx_count + ch.combined_count;
		if (ch.tx_count + ch.combined_count)
			dev->tx_queues = ch.tx_count + ch.combined_count;
	}
	fill_speed(&et, dev);
	close(et.fd);
	return 0;
}

/* The names of a string set, ETH_GSTRING_LEN bytes each. -EOPNOTSUPP if the device has none. */
static int read_strings(struct ethtool *et, uint32_t set, struct ethtool_gstrings **strings)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t count;
	} size = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << set}};
	int ret = ethtool_do(et, &size);

	if (ret)
		return ret;
	if (!size.info.sset_mask || !size.count)
		return -EOPNOTSUPP;
	*strings = calloc(1, sizeof(**strings) + (size_t)size.count * ETH_GSTRING_LEN);
	if (!*strings)
		return -ENOMEM;
	(*strings)->cmd = ETHTOOL_GSTRINGS;
	(*strings)->string_set = set;
	(*strings)->len = size.count;
	ret = ethtool_do(et, *strings);
	if (ret)
		free(*strings);
	return ret;
}

/* Bit number of a feature; `count` gets the number of features. -ENOENT: no such name. */
static int find_feature(struct ethtool *et, const char *feature, unsigned *count)
{
	struct ethtool_gstrings *names;
	int ret = read_strings(et, ETH_SS_FEATURES, &names);

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

/* Sets it if `want` is not NULL. *on: how it is then. */
static int do_feature(const struct netns *ns, const char *ifname, const char *feature,
		      const bool *want, bool *on)
{
	struct ethtool_gfeatures *get;
	struct ethtool_sfeatures *set;
	unsigned count = 0, blocks;
	struct ethtool et;
	int bit, ret = ethtool_open(&et, ns, ifname);

	if (ret)
		return ret;
	bit = find_feature(&et, feature, &count);
	blocks = (count + 31) / 32;
	get = calloc(1, sizeof(*get) + blocks * sizeof(get->features[0]));
	set = calloc(1, sizeof(*set) + blocks * sizeof(set->features[0]));
	ret = bit < 0 ? bit : get && set ? 0 : -ENOMEM;
	if (!ret && want) {
		set->cmd = ETHTOOL_SFEATURES;
		set->size = blocks;
		set->features[bit / 32].valid = 1u << bit % 32;
		set->features[bit / 32].requested = *want ? 1u << bit % 32 : 0;
		ret = ethtool_do(&et, set);
	}
	if (ret >= 0) {
		get->cmd = ETHTOOL_GFEATURES;
		get->size = blocks;
		ret = ethtool_do(&et, get);
		*on = get->features[bit / 32].active >> (bit % 32) & 1;
	}
	free(get);
	free(set);
	close(et.fd);
	return ret;
}

int netdev_get_feature(const struct netns *ns, const char *ifname, const char *feature, bool *on)
{
	return do_feature(ns, ifname, feature, NULL, on);
}

/* Success of ETHTOOL_SFEATURES may mean no more than a wish noted: only the state counts. */
int netdev_set_feature(const struct netns *ns, const char *ifname, const char *feature, bool on)
{
	bool now = !on;
	int ret = do_feature(ns, ifname, feature, &on, &now);

	return ret ? ret : now == on ? 0 : -EOPNOTSUPP;
}

static int read_stats(struct ethtool *et, const struct ethtool_gstrings *names,
		      struct nic_sample *s)
{
	/* The kernel writes as many as there are now: leave room for queues added since. */
	size_t room = 2 * (size_t)names->len + 64;
	struct ethtool_stats *values = calloc(1, sizeof(*values) + room * sizeof(uint64_t));
	char name[ETH_GSTRING_LEN + 1] = "";
	int ret;

	if (!values)
		return -ENOMEM;
	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = names->len;
	ret = ethtool_do(et, values);
	if (!ret && values->n_stats != names->len)
		ret = -EAGAIN;
	for (unsigned i = 0; !ret && i < names->len; i++) {
		memcpy(name, names->data + i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		ret = nic_sample_add(s, name, values->data[i]);
	}
	free(values);
	return ret;
}

int netdev_ethtool_stats(const struct netns *ns, const char *ifname, char driver[32],
			 struct nic_sample *s)
{
	struct ethtool_gstrings *names;
	struct ethtool et;
	int ret = ethtool_open(&et, ns, ifname);

	*driver = '\0';
	if (ret)
		return ret;
	read_driver(&et, driver);
	ret = read_strings(&et, ETH_SS_STATS, &names);
	if (!ret) {
		ret = read_stats(&et, names, s);
		free(names);
	}
	close(et.fd);
	return ret == -ENOMEM || ret == -ENODEV ? ret : 0;
}

#define RSS_MAX 65536 /* entries; mlx5 has some thousands */

static int compare_queues(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int netdev_rss_table(const struct netns *ns, const char *ifname, struct ethtool_rxfh_indir **table)
{
	struct ethtool_rxfh_indir ask = {.cmd = ETHTOOL_GRXFHINDIR};
	/* With room for none the kernel says how large it is. */
	int ret = netdev_ethtool(ns, ifname, &ask);

	if (ret < 0)
		return ret;
	if (!ask.size || ask.size > RSS_MAX)
		return -EOPNOTSUPP;
	*table = calloc(1, sizeof(ask) + ask.size * sizeof(ask.ring_index[0]));
	if (!*table)
		return -ENOMEM;
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
