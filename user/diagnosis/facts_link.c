// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "host/change.h"

bool link_sysfs(const struct netns *ns, const char *ifname, const char *file, char *buf,
		unsigned size)
{
	char path[96];
	bool read;

	snprintf(path, sizeof(path), "class/net/%s/%s", ifname, file);
	read = !netns_sysfs(ns, path, NULL, buf, size);
	if (!read)
		buf[0] = '\0';
	return read;
}

/* Reads rp_filter. The larger of the two values applies (IN_DEV_RPFILTER()). */
static void read_rp_filter(const struct netns *ns, struct facts_link *link)
{
	const char *const names[] = {link->dev.link.ifname, "all"};
	uint64_t value[2];

	for (unsigned i = 0; i < 2; i++) {
		char path[96], text[16];

		snprintf(path, sizeof(path), "net/ipv4/conf/%s/rp_filter", names[i]);
		if (netns_sysctl(ns, path, NULL, text, sizeof(text)) ||
		    num_u64(text, 0, 2, &value[i]))
			return;
	}
	snprintf(link->rp_filter, sizeof(link->rp_filter), "%u",
		 (unsigned)larger(value[0], value[1]));
}

static bool feature(const struct netns *ns, const char *ifname, const char *name)
{
	bool on;

	return !netdev_get_feature(ns, ifname, name, &on) && on;
}

/* Sets the kind and its options, without the handle and the origin. */
void facts_link_qdisc(struct facts_link *link, const char *value)
{
	char kind[32];
	int n = 0;

	if (!strncmp(value, "default ", strlen("default ")))
		value += strlen("default ");
	if (sscanf(value, "%31s handle %*s%n", kind, &n) == 1 && n)
		snprintf(link->qdisc, sizeof(link->qdisc), "%s%s", kind, value + n);
	else
		snprintf(link->qdisc, sizeof(link->qdisc), "%s", value);
}

int facts_link_read(const struct netns *ns, const char *ifname, struct facts_link *link)
{
	char text[16], value[JOURNAL_VALUE_SIZE];
	const struct link_info *attrs = &link->dev.link;
	struct link_info peer;
	int ret;
	uint64_t n;

	memset(link, 0, sizeof(*link));
	ret = netdev_get(ns, ifname, &link->dev);
	if (!ret)
		ret = netdev_settings_read(ns, ifname, &link->set);
	if (ret)
		return ret;
	device_name(ns, attrs->master, link->master_name);
	/* The other end of a veth may be in a namespace that we may not open. */
	if (!strcmp(link->dev.driver, "veth") && attrs->peer &&
	    !link_read(ns, attrs->peer, attrs->peer_netnsid, &peer))
		link->peer_mtu = peer.mtu;
	link->features_known = !xdp_features_read(ns, link->dev.link.ifindex, &n);
	if (link->features_known) {
		link->native_xdp = n & XDP_FEATURE_BASIC;
		link->zero_copy = n & XDP_FEATURE_ZEROCOPY;
	}
	snprintf(link->qdisc, sizeof(link->qdisc), "%s", attrs->qdisc);
	/* Includes the limit if the kind is known. */
	if (!change_read(ns, CHANGE_QDISC, ifname, "root", value))
		facts_link_qdisc(link, value);
	link_sysfs(ns, ifname, "threaded", text, sizeof(text));
	link->threaded = !strcmp(text, "1");
	link_sysfs(ns, ifname, "queues/rx-0/rps_cpus", link->rps_cpus, sizeof(link->rps_cpus));
	link_sysfs(ns, ifname, "queues/tx-0/xps_cpus", link->xps_cpus, sizeof(link->xps_cpus));
	link_sysfs(ns, ifname, "queues/rx-0/rps_flow_cnt", text, sizeof(text));
	if (!num_u64(text, 0, UINT32_MAX, &n))
		link->rps_flow_cnt = (unsigned)n;
	read_rp_filter(ns, link);
	link->gro = feature(ns, ifname, "rx-gro");
	link->gro_hw = feature(ns, ifname, "rx-gro-hw");
	link->lro = feature(ns, ifname, "rx-lro");
	link->gso = feature(ns, ifname, "tx-generic-segmentation");
	link->udp_gso = feature(ns, ifname, "tx-udp-segmentation");
	link->rx_csum = feature(ns, ifname, "rx-checksum");
	link->tx_csum = feature(ns, ifname, "tx-checksum-ip-generic") ||
			feature(ns, ifname, "tx-checksum-ipv4");
	return 0;
}

/*
 * Returns the loss that a counter belongs to. Per-queue counters form a single loss, shown under
 * the name of the first and largest.
 */
static struct link_loss *loss_of(struct facts_link *link, const struct nic_row *row)
{
	for (unsigned i = 0; i < link->n_losses; i++) {
		struct link_loss *l = &link->loss[i];

		if (l->cause == row->cause && l->class == row->class && l->stage == row->stage)
			return l;
	}
	if (link->n_losses == FACTS_LINK_LOSSES)
		return NULL;
	link->loss[link->n_losses] =
		(struct link_loss){.cause = row->cause, .class = row->class, .stage = row->stage};
	return &link->loss[link->n_losses++];
}

void facts_link_rates(struct facts_link *link, struct counters_device *before,
		      struct counters_device *after)
{
	struct nic_sample matched = {0};
	const struct nic_sample *base = counters_device_match(before, after, &matched);
	struct nic_loss loss[256];
	unsigned n = nic_losses(after->plan, base, &after->nic, loss, 256);

	for (unsigned i = 0; i < n && i < 256; i++) {
		struct link_loss *l = loss_of(link, loss[i].item->row);

		if (!l)
			continue;
		if (!l->counter[0]) {
			snprintf(l->counter, sizeof(l->counter), "%s", loss[i].name);
			l->total = after->nic.at[loss[i].item->at].value;
		} else {
			l->total = 0;
		}
		l->lost += loss[i].packets;
	}
	nic_sample_free(&matched);
}

uint64_t facts_link_lost(const struct facts_link *link, enum nic_cause cause)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < link->n_losses; i++) {
		const struct link_loss *l = &link->loss[i];

		if (l->cause == cause && l->class != NIC_EVENT && l->class != NIC_TRAFFIC)
			sum += l->lost;
	}
	return sum;
}
