// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/lab_tune.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/netdev.h"

int lab_failed(int ret, const char *what, const struct lab_port *port, struct error *err)
{
	return ret ? error_set(err, STATUS_UNABLE, ret, NULL, "cannot %s %s %s: %s", what,
			       port ? "of" : "in", port ? port->ifname : "the lab", strerror(-ret))
		   : 0;
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

	for (unsigned i = 0; i < sizeof(tso) / sizeof(*tso) && !ret; i++)
		ret = netdev_set_feature(port->ns, port->ifname, tso[i], false);
	return lab_failed(ret, "switch off TSO", port, err);
}

static int give_napi(const struct lab_port *from, const struct lab_port *to, struct error *err)
{
	int ret = switch_off_tso(from, err);

	return ret ? ret
		   : lab_failed(netdev_set_feature(to->ns, to->ifname, "rx-gro", true),
				"switch on GRO", to, err);
}

int lab_thread_napi(const struct lab_port *from, const struct lab_port *to, struct error *err)
{
	char path[64];
	int ret = give_napi(from, to, err);

	if (ret)
		return ret;
	snprintf(path, sizeof(path), "class/net/%s/threaded", to->ifname);
	return lab_failed(netns_sysfs_write(to->ns, path, "1"), "thread the NAPI", to, err);
}

int lab_merge_udp(const struct lab_port *port, uint64_t ns, struct error *err)
{
	char path[64], text[24];
	int ret = netdev_set_feature(port->ns, port->ifname, "rx-udp-gro-forwarding", true);

	if (ret == -ENOENT)
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "it needs Linux 5.12 or newer",
				 "this kernel does not merge UDP that is forwarded");
	snprintf(path, sizeof(path), "class/net/%s/gro_flush_timeout", port->ifname);
	snprintf(text, sizeof(text), "%" PRIu64, ns);
	if (!ret)
		ret = netns_sysfs_write(port->ns, path, text);
	return lab_failed(ret, "merge the packets", port, err);
}

int lab_steer(const struct lab_port *port, unsigned cpu, struct error *err)
{
	char path[96], mask[LAB_MASK_LEN];
	int ret = 0;

	if (cpu >= (unsigned)sysconf(_SC_NPROCESSORS_CONF))
		return error_set(err, STATUS_USAGE, -EINVAL, "lscpu tells which there are",
				 "there is no CPU %u to hand packets to", cpu);
	lab_cpu_mask(mask, sizeof(mask), cpu);
	for (unsigned queue = 0; queue < port->queues && !ret; queue++) {
		snprintf(path, sizeof(path), "class/net/%s/queues/rx-%u/rps_cpus", port->ifname,
			 queue);
		ret = netns_sysfs_write(port->ns, path, mask);
	}
	return lab_failed(ret, "set RPS", port, err);
}

int lab_tune(const struct lab *lab, const struct lab_wish *wish, struct error *err)
{
	const struct lab_port *from = lab_middle(lab->topology) ? &lab->router_rx : &lab->tx;
	int ret = 0;

	if (lab_wish_moves(wish) && (lab->topology == LAB_TAP || lab->topology == LAB_VXLAN))
		return error_set(err, STATUS_USAGE, -EINVAL, "leave --topology out",
				 "the device that receives is no veth, but of a %s",
				 lab_topologies[lab->topology].name);
	if (wish->threaded_napi)
		ret = lab_thread_napi(from, &lab->rx, err);
	else if (wish->gro)
		ret = give_napi(from, &lab->rx, err);
	if (!ret && wish->rps_set)
		ret = lab_steer(&lab->rx, wish->rps_cpu, err);
	return ret;
}
