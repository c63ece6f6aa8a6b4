// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/top/traffic.h"

#include <stdio.h>
#include <string.h>

/* Datagrams that applications have read, and sent; the names of procnet_snmp() and of snmp6. */
static const char *const read_counters[] = {"Udp:InDatagrams", "Udp6InDatagrams", NULL};
static const char *const sent_counters[] = {"Udp:OutDatagrams", "Udp6OutDatagrams", NULL};

static double per_second(uint64_t n, uint64_t ns)
{
	return (double)n * 1e9 / (double)ns;
}

static double sum_of(const struct rates *r, const char *const *names, uint64_t ns)
{
	unsigned n;
	const struct rates_counter *c = rates_counters(r, &n);
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		for (const char *const *name = names; *name; name++) {
			if (!strcmp(c[i].name, *name))
				sum += c[i].delta;
		}
	}
	return per_second(sum, ns);
}

unsigned traffic_read(const struct rates *r, struct view_traffic *sum,
		      struct view_device devices[TRAFFIC_DEVICES])
{
	uint64_t ns = rates_interval(r);
	unsigned n, shown = 0;
	const struct rates_device *d = rates_devices(r, &n);

	*sum = (struct view_traffic){-1, -1, -1, -1, -1, -1};
	if (!ns)
		return 0;
	*sum = (struct view_traffic){.read_pps = sum_of(r, read_counters, ns),
				     .sent_pps = sum_of(r, sent_counters, ns)};
	for (unsigned i = 0; i < n; i++) {
		const struct rates_traffic *t = &d[i].traffic;
		struct view_device v = {
			.netns = rates_space_name(r, d[i].space),
			.rx_pps = per_second(t->rx_packets, ns),
			.rx_bps = per_second(t->rx_bytes * 8, ns),
			.tx_pps = per_second(t->tx_packets, ns),
			.tx_bps = per_second(t->tx_bytes * 8, ns),
			.dropped_pps = per_second(d[i].rx_dropped + d[i].tx_dropped +
							  d[i].rx_missed + d[i].qdisc_drops,
						  ns),
		};

		snprintf(v.ifname, sizeof(v.ifname), "%s", d[i].ifname);
		if (strcmp(d[i].ifname, "lo")) {
			sum->in_pps += v.rx_pps;
			sum->in_bps += v.rx_bps;
			sum->out_pps += v.tx_pps;
			sum->out_bps += v.tx_bps;
		}
		if (d[i].up && shown < TRAFFIC_DEVICES)
			devices[shown++] = v;
	}
	return shown;
}
