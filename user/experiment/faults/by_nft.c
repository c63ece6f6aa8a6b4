// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Faults made by nftables. Each fault has its own chain, in a table per family and namespace. */
#include <stdio.h>
#include <string.h>

#include "experiment/faults/row.h"

/* Location of a hook. netdev hooks belong to an interface, other hooks to the IP layer. */
enum { TX_DEVICE, RX_DEVICE, TX_NS, RX_NS, ROUTER_NS };

static void drop_at_hook(struct fault_state *s)
{
	const struct fault_row *row = fault_row(s->fault);
	const struct lab *lab = s->lab;
	const struct lab_port *const ports[] = {&lab->tx, &lab->rx, &lab->tx, &lab->rx,
						&lab->router_tx};
	const struct lab_port *port = ports[row->arg];
	const bool device = row->arg == TX_DEVICE || row->arg == RX_DEVICE;
	const char *hook = strchr(row->name, ':') ? strchr(row->name, ':') + 1 : "input";
	char random[64] = "", match[32] = "meta l4proto udp", at[32] = "";

	if (s->list->share[s->fault] < 1)
		snprintf(random, sizeof(random), "numgen random mod 1000000 < %u ",
			 (unsigned)(s->list->share[s->fault] * 1000000 + 0.5));
	if (s->fx->port)
		snprintf(match, sizeof(match), "udp dport %u", s->fx->port);
	if (device)
		snprintf(at, sizeof(at), "device \"%s\" ", port->ifname);
	port_step(s, RECIPE_NFT, port,
		  "table %s fault { chain %s { type filter hook %s %spriority 0; "
		  "%s %scounter drop; }; }",
		  device ? "netdev" : "inet", hook, hook, at, match, random);
}

const struct fault_row faults_by_nft[] = {
	{"netfilter", "nftables drops a fraction of the packets in the receiver's input hook",
	 FAULT_VALUE_SHARE,
	 AT_INPUT, .rx = "socket", .arg = RX_NS, .apply = drop_at_hook},
	{"netfilter:ingress", "the same, ingress hook of the receiver's device", FAULT_VALUE_SHARE,
	 AT_RECEIVER, .rx = "socket", .arg = RX_DEVICE, .apply = drop_at_hook},
	{"netfilter:prerouting", "the same, receiver's prerouting", FAULT_VALUE_SHARE,
	 AT_IP_HEADER, .rx = "socket", .arg = RX_NS, .apply = drop_at_hook},
	{"netfilter:forward", "the same, forward hook of a router", FAULT_VALUE_SHARE,
	 AT_FORWARD, .in = IN_ROUTER, .arg = ROUTER_NS, .apply = drop_at_hook},
	{"netfilter:output", "the same, sender's output hook: EPERM", FAULT_VALUE_SHARE,
	 AT_OUTPUT, .tx = "socket", .arg = TX_NS, .apply = drop_at_hook},
	{"netfilter:postrouting", "the same, sender's postrouting: EPERM", FAULT_VALUE_SHARE,
	 AT_POSTROUTING, .tx = "socket", .arg = TX_NS, .apply = drop_at_hook},
	{"netfilter:egress", "the same, egress hook of the sender's device", FAULT_VALUE_SHARE,
	 AT_SENDER, .tx = "socket", .arg = TX_DEVICE, .apply = drop_at_hook},
	{0},
};
