// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Faults made by nftables. Each fault has its own chain, in a table per family and namespace. */
#include <stddef.h>

#include "experiment/faults/row.h"

/* Drops a fraction of the packets in a hook of a namespace's IP layer, or of a device (AT). */
#define DROP_AT(ns, family, hook, at)                                                              \
	.steps = {ns " nft table " family " fault { chain " hook " { type filter hook " hook       \
		     " " at "priority 0; {udp} {random}counter drop; }; }"}
#define DROP(ns, hook) DROP_AT(ns, "inet", hook, "")

const struct fault_row faults_by_nft[] = {
	{"netfilter", "nftables drops a fraction of the packets in the receiver's input hook",
	 FAULT_VALUE_SHARE, AT_INPUT, .rx = "socket", DROP("rx", "input")},
	{"netfilter:ingress", "the same, ingress hook of the receiver's device", FAULT_VALUE_SHARE,
	 AT_RECEIVER, .rx = "socket", DROP_AT("rx", "netdev", "ingress", "device \"{rx}\" ")},
	{"netfilter:prerouting", "the same, receiver's prerouting", FAULT_VALUE_SHARE,
	 AT_IP_HEADER, .rx = "socket", DROP("rx", "prerouting")},
	{"netfilter:forward", "the same, forward hook of a router", FAULT_VALUE_SHARE,
	 AT_FORWARD, .in = IN_ROUTER, DROP("mid", "forward")},
	{"netfilter:output", "the same, sender's output hook: EPERM", FAULT_VALUE_SHARE,
	 AT_OUTPUT, .tx = "socket", DROP("tx", "output")},
	{"netfilter:postrouting", "the same, sender's postrouting: EPERM", FAULT_VALUE_SHARE,
	 AT_POSTROUTING, .tx = "socket", DROP("tx", "postrouting")},
	{"netfilter:egress", "the same, egress hook of the sender's device", FAULT_VALUE_SHARE,
	 AT_SENDER, .tx = "socket", DROP_AT("tx", "netdev", "egress", "device \"{tx}\" ")},
	{0},
};
