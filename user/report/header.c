// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/header.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static void fill_port(struct header_port *out, const char *role, const struct lab_port *port,
		      bool ipv6)
{
	out->role = role;
	snprintf(out->ifname, sizeof(out->ifname), "%s", port->ifname);
	inet_ntop(ipv6 ? AF_INET6 : AF_INET, ipv6 ? (const void *)&port->ip6 : &port->ip4,
		  out->address, sizeof(out->address));
}

static void fill_shape(struct run_header *h, const struct run_spec *spec)
{
	const struct flow flow = {.family = spec->ipv6 ? AF_INET6 : AF_INET,
				  .payload = spec->payload,
				  .vlan = (uint16_t)spec->vlan};
	struct shape_sizes sizes;

	if (!spec->shape || !spec->shape->frames)
		return;
	shape_sizes(spec->shape, &flow, &sizes);
	if (sizes.smallest != sizes.largest)
		h->mean_frame_bytes = sizes.mean_frame;
	h->flows = spec->shape->flows > UINT32_MAX ? UINT32_MAX : (unsigned)spec->shape->flows;
}

void run_header_fill(struct run_header *h, const struct run_spec *spec, const struct lab *lab,
		     const struct result *so_far, const struct experiment_streams *streams)
{

	*h = (struct run_header){
		.in_lab = !spec->port_a && !spec->far,
		.topology = lab->topology,
		.tx = spec->tx->name,
		.rx = spec->rx->name,
		.port = spec->port,
		.ipv6 = spec->ipv6,
		.threads = spec->threads,
		.flows = spec->flows,
		.count = streams->count,
		.duration_ns = spec->duration_ns,
		.rate_pps = so_far->rate_pps,
		.payload_bytes = so_far->payload_bytes,
		.frame_bytes = so_far->frame_bytes,
		.stream0 = streams->stream0,
		.streams = streams->streams,
		.base = streams->base,
	};
	fill_shape(h, spec);
	h->time_ns = when_now();
	gethostname(h->host, sizeof(h->host) - 1);
	snprintf(h->lab, sizeof(h->lab), "%s", lab->name);
	snprintf(h->tx_mode, sizeof(h->tx_mode), "%s", so_far->tx_mode);
	snprintf(h->rx_mode, sizeof(h->rx_mode), "%s", so_far->rx_mode);
	fill_port(&h->tx_port, "tx", &lab->tx, spec->ipv6);
	fill_port(&h->rx_port, "rx", &lab->rx, spec->ipv6);
	h->two_hosts = so_far->two_hosts;
	h->tx_host = so_far->tx_host;
	h->rx_host = so_far->rx_host;
}

uint64_t run_header_stream_count(const struct run_header *h, unsigned i)
{
	if (h->count == UINT64_MAX || !h->streams)
		return UINT64_MAX;
	return h->count / h->streams + (i < h->count % h->streams);
}
