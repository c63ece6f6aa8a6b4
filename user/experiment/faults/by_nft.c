// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Faults by nftables: a separate chain per fault, in a table per family and namespace. */
#include <stdio.h>
#include <string.h>

#include "experiment/faults/row.h"

/* Location of a hook: netdev hooks belong to an interface, others to the IP layer. */
enum { TX_DEVICE, RX_DEVICE_HOOK, TX_NS, RX_NS, ROUTER_NS };

static int drop_at_hook(struct fault_state *s, struct error *err)
{
	const struct fault_row *row = fault_row(s->fault);
	const struct lab *lab = s->lab;
	const struct netns *const ns[] = {
		lab->tx.ns, lab->rx.ns, &lab->tx_ns, &lab->rx_ns, &lab->router_ns,
	};
	const char *const ifname[] = {lab->tx.ifname, lab->rx.ifname, NULL, NULL, NULL};
	const char *hook = strchr(row->name, ':') ? strchr(row->name, ':') + 1 : "input";
	char script[256], random[64] = "", match[32] = "meta l4proto udp", device[32] = "";
	char *const argv[] = {"nft", "-f", "-", NULL};

	if (s->list->share[s->fault] < 1)
		snprintf(random, sizeof(random), "numgen random mod 1000000 < %u",
			 (unsigned)(s->list->share[s->fault] * 1000000 + 0.5));
	if (s->fx->port)
		snprintf(match, sizeof(match), "udp dport %u", s->fx->port);
	if (ifname[row->arg])
		snprintf(device, sizeof(device), "device \"%s\"", ifname[row->arg]);
	snprintf(script, sizeof(script),
		 "table %s fault { chain %s { type filter hook %s %s priority 0; "
		 "%s %s counter drop; }; }\n",
		 ifname[row->arg] ? "netdev" : "inet", hook, hook, device, match, random);
	return netns_exec(ns[row->arg], argv, script, -1, err);
}

const struct fault_row faults_by_nft[] = {
	{"netfilter", "nftables drops a share, receiver's input hook", FAULT_VALUE_SHARE,
	 RX_IP | AT_INPUT, .rx = "socket", .arg = RX_NS, .apply = drop_at_hook},
	{"netfilter:ingress", "the same, ingress hook of the receiver's device", FAULT_VALUE_SHARE,
	 RX_DEVICE, .rx = "socket", .arg = RX_DEVICE_HOOK, .apply = drop_at_hook},
	{"netfilter:prerouting", "the same, receiver's prerouting", FAULT_VALUE_SHARE, RX_IP,
	 .rx = "socket", .arg = RX_NS, .apply = drop_at_hook},
	{"netfilter:forward", "the same, forward hook of a router", FAULT_VALUE_SHARE,
	 ROUTED | IN_ROUTER, .arg = ROUTER_NS, .apply = drop_at_hook},
	{"netfilter:output", "the same, sender's output hook: EPERM", FAULT_VALUE_SHARE,
	 BEFORE_ROUTE, .tx = "socket", .arg = TX_NS, .apply = drop_at_hook},
	{"netfilter:postrouting", "the same, sender's postrouting: EPERM", FAULT_VALUE_SHARE,
	 BEFORE_NEIGH, .tx = "socket", .arg = TX_NS, .apply = drop_at_hook},
	{"netfilter:egress", "the same, egress hook of the sender's device", FAULT_VALUE_SHARE,
	 .tx = "socket", .arg = TX_DEVICE, .apply = drop_at_hook},
	{0},
};
