// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "host/lab.h"

const struct opt_value lab_topologies[] = {
	{"pair", LAB_PAIR, "two namespaces, one link"},
	{"router", LAB_ROUTER, "a third namespace between them forwards"},
	{"bridge", LAB_BRIDGE, "a third namespace between them bridges"},
	{"tap", LAB_TAP, "two taps, and run carries the frames between them"},
	{"vxlan", LAB_VXLAN, "two namespaces, one link, a VXLAN tunnel over it"},
	{0},
};

enum lab_topology lab_topology_named(const char *name)
{
	for (const struct opt_value *v = lab_topologies; v->name; v++) {
		if (!strcmp(v->name, name))
			return (enum lab_topology)v->value;
	}
	return LAB_PAIR;
}

const char *lab_middle(enum lab_topology topology)
{
	return topology == LAB_ROUTER || topology == LAB_BRIDGE ? lab_topologies[topology].name
								: NULL;
}

unsigned lab_ports(const struct lab *lab)
{
	return lab_middle(lab->topology) || lab->topology == LAB_VXLAN ? 4 : 2;
}

const struct lab_port *lab_next_hop(const struct lab *lab)
{
	return lab->topology == LAB_ROUTER ? &lab->router_tx : &lab->rx;
}

const struct lab_port *lab_link_peer(const struct lab *lab)
{
	return lab_middle(lab->topology) ? &lab->router_tx : &lab->rx;
}
