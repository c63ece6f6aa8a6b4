// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Interface settings of a test network: requested by the user, and required by faults. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "experiment/faults/row.h"
#include "host/netdev.h"

int lab_failed(int ret, const char *what, const struct lab_port *port, struct error *err)
{
	return error_errno(err, STATUS_UNABLE, ret, NULL, "cannot %s %s %s", what,
			   port ? "of" : "in", port ? port->ifname : "the lab");
}

char *lab_cpu_mask(char *buf, size_t size, unsigned cpu)
{
	int len = snprintf(buf, size, "%x", 1U << cpu % 32);

	for (unsigned word = cpu / 32; word && len + 10 <= (int)size; word--)
		len += snprintf(buf + len, size - len, ",00000000");
	return buf;
}

static int switch_off_tso(const struct lab_port *port, struct error *err)
{
	static const char *const tso[] = {
		"tx-tcp-segmentation",
		"tx-tcp6-segmentation",
		"tx-tcp-ecn-segmentation",
		"tx-tcp-mangleid-segmentation",
	};
	int ret = 0;

	for (unsigned i = 0; i < LENGTH(tso) && !ret; i++)
		ret = netdev_set_feature(port->ns, port->ifname, tso[i], false);
	return lab_failed(ret, "switch off TSO", port, err);
}

/*
 * Enables NAPI for `to`, optionally in a kernel thread. `from` is the interface that sends to it.
 * GRO enables a veth's NAPI, but packets use it only if the sending side has TSO off
 * (veth_skb_is_eligible_for_gro()). UDP is not merged unless a socket requests it.
 */
static int give_napi(const struct lab_port *from, const struct lab_port *to, bool threaded,
		     struct error *err)
{
	char path[64];
	int ret = switch_off_tso(from, err);

	if (!ret)
		ret = lab_failed(netdev_set_feature(to->ns, to->ifname, "rx-gro", true),
				 "switch on GRO", to, err);
	if (ret || !threaded)
		return ret;
	snprintf(path, sizeof(path), "class/net/%s/threaded", to->ifname);
	return lab_failed(netns_sysfs(to->ns, path, "1", NULL, 0), "thread the NAPI", to, err);
}

/*
 * Enables merging of forwarded UDP on a router's port, which has NAPI, and the wait for more
 * packets.
 */
static int merge_udp(const struct lab_port *port, uint64_t ns, struct error *err)
{
	char path[64], text[24];
	int ret = netdev_set_feature(port->ns, port->ifname, "rx-udp-gro-forwarding", true);

	snprintf(path, sizeof(path), "class/net/%s/gro_flush_timeout", port->ifname);
	snprintf(text, sizeof(text), "%" PRIu64, ns);
	if (!ret)
		ret = netns_sysfs(port->ns, path, text, NULL, 0);
	return lab_failed(ret, "merge the packets", port, err);
}

/* Steers all queues of the port to one CPU (RPS). */
static int steer(const struct lab_port *port, unsigned cpu, struct error *err)
{
	char path[96], mask[LAB_MASK_LEN];
	int ret = 0;

	if (cpu >= (unsigned)sysconf(_SC_NPROCESSORS_CONF))
		return error_usage(err, "`lscpu` lists them",
				   "there is no CPU %u to hand packets to", cpu);
	lab_cpu_mask(mask, sizeof(mask), cpu);
	for (unsigned queue = 0; queue < port->queues && !ret; queue++) {
		snprintf(path, sizeof(path), "class/net/%s/queues/rx-%u/rps_cpus", port->ifname,
			 queue);
		ret = netns_sysfs(port->ns, path, mask, NULL, 0);
	}
	return lab_failed(ret, "set RPS", port, err);
}

int fault_apply_devices(const struct fault_state *s, struct error *err)
{
	const struct fault_effects *fx = s->fx;
	const struct lab_port *tx = &s->lab->tx, *peer = lab_link_peer(s->lab);
	int ret = 0;

	if (fx->tx_csum_off)
		ret = lab_failed(
			netdev_set_feature(tx->ns, tx->ifname, "tx-checksum-ip-generic", false),
			"switch off checksum offload", tx, err);
	if (!ret && fx->threaded_napi)
		ret = give_napi(tx, peer, true, err);
	if (!ret && fx->merge_ns)
		ret = merge_udp(peer, fx->merge_ns, err);
	if (!ret && fx->busy_cpu >= 0)
		ret = steer(&s->lab->rx, (unsigned)fx->busy_cpu, err);
	return ret;
}

int lab_tune(const struct lab *lab, const struct lab_wish *wish, struct error *err)
{
	const struct lab_port *from = lab_middle(lab->topology) ? &lab->router_rx : &lab->tx;
	int ret = 0;

	if (lab_wish_moves(wish) && (lab->topology == LAB_TAP || lab->topology == LAB_VXLAN))
		return error_usage(err, "leave --topology out",
				   "the device that receives is no veth, but of a %s",
				   lab_topologies[lab->topology].name);
	if (wish->threaded_napi || wish->gro)
		ret = give_napi(from, &lab->rx, wish->threaded_napi, err);
	if (!ret && wish->rps_set)
		ret = steer(&lab->rx, wish->rps_cpu, err);
	return ret;
}
