// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Interface settings in a test network that the user requests or that faults require. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "experiment/faults/row.h"

char *lab_cpu_mask(char *buf, size_t size, unsigned cpu)
{
	int len = snprintf(buf, size, "%x", 1U << cpu % 32);

	for (unsigned word = cpu / 32; word && len + 10 <= (int)size; word--)
		len += snprintf(buf + len, size - len, ",00000000");
	return buf;
}

/*
 * Enables NAPI for `to`, optionally in a kernel thread. `from` is the interface that sends to `to`.
 * GRO enables NAPI on a veth, but packets use NAPI only if TSO is off on the sending side
 * (veth_skb_is_eligible_for_gro()). UDP is not merged unless a socket requests it.
 */
static void give_napi(struct recipe *r, const struct lab_port *from, const struct lab_port *to,
		      bool threaded)
{
	recipe_add(r, RECIPE_ETHTOOL, from->ns, "-K %s tso off", from->ifname);
	recipe_add(r, RECIPE_ETHTOOL, to->ns, "-K %s gro on", to->ifname);
	if (threaded)
		recipe_add(r, RECIPE_FILE, to->ns, "/sys/class/net/%s/threaded=1", to->ifname);
}

/* Steers all of the port's queues to one CPU (RPS). */
static int steer(struct recipe *r, const struct lab_port *port, unsigned cpu, struct error *err)
{
	char mask[LAB_MASK_LEN];

	if (cpu >= (unsigned)sysconf(_SC_NPROCESSORS_CONF))
		return error_usage(err, "`lscpu` lists them",
				   "there is no CPU %u that packets could be handed to", cpu);
	lab_cpu_mask(mask, sizeof(mask), cpu);
	for (unsigned queue = 0; queue < port->queues; queue++)
		recipe_add(r, RECIPE_FILE, port->ns, "/sys/class/net/%s/queues/rx-%u/rps_cpus=%s",
			   port->ifname, queue, mask);
	return 0;
}

/*
 * With merge_ns, a router's port, which has NAPI, merges forwarded UDP packets and waits for more.
 */
int fault_apply_devices(struct fault_state *s, struct error *err)
{
	const struct fault_effects *fx = s->fx;
	const struct lab_port *tx = &s->lab->tx, *peer = lab_peer(s->lab, tx);

	if (fx->tx_csum_off)
		port_step(s, RECIPE_ETHTOOL, tx, "-K %s tx-checksum-ip-generic off", tx->ifname);
	if (fx->threaded_napi)
		give_napi(&s->recipe, tx, peer, true);
	if (fx->merge_ns) {
		port_step(s, RECIPE_ETHTOOL, peer, "-K %s rx-udp-gro-forwarding on", peer->ifname);
		port_step(s, RECIPE_FILE, peer, "/sys/class/net/%s/gro_flush_timeout=%" PRIu64,
			  peer->ifname, fx->merge_ns);
	}
	return fx->busy_cpu < 0 ? 0
				: steer(&s->recipe, &s->lab->rx, (unsigned)fx->busy_cpu, err);
}

int lab_tune(const struct lab *lab, const struct lab_wish *wish, struct error *err)
{
	const struct lab_port *from = lab->router_rx.ns ? &lab->router_rx : &lab->tx;
	struct recipe r = RECIPE;
	int ret = 0;

	if (lab_wish_moves(wish) && (lab->topology == LAB_TAP || lab->topology == LAB_VXLAN))
		return error_usage(err, "leave --topology out",
				   "the receiving device is not a veth but a %s",
				   lab_topologies[lab->topology].name);
	if (wish->threaded_napi || wish->gro)
		give_napi(&r, from, &lab->rx, wish->threaded_napi);
	if (wish->rps_set)
		ret = steer(&r, &lab->rx, wish->rps_cpu, err);
	return ret ? ret : recipe_run(&r, "change the receiver's interface", err);
}
