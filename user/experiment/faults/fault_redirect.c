// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/faults/fault_redirect.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "host/netdev.h"
#include "host/nl.h"
#include "experiment/faults/fault_table.h"

#define TARGET "v-out"
#define AWAY   "v-away" /* its peer */

bool fault_redirect_wanted(const struct fault_list *list)
{
	return fault_has(list, FAULT_XDP_REDIRECT) || fault_has(list, FAULT_XDP_DEVMAP) ||
	       fault_has(list, FAULT_XDP_CPUMAP);
}

static int failed(int ret, const char *what, struct error *err)
{
	return ret ? error_set(err, STATUS_UNABLE, ret, NULL, "cannot %s to redirect to: %s", what,
			       strerror(-ret))
		   : 0;
}

/*
 * A veth that is up and whose peer is down: the device takes part in redirects because the peer
 * once had NAPI, but its ndo_xdp_xmit() refuses every batch, ENXIO (veth_xdp_xmit()).
 */
static int make_target(const struct netns *ns)
{
	static const uint8_t mac[2][6] = {{2, 0x70, 0x6b, 1, 0, 1}, {2, 0x70, 0x6b, 1, 0, 2}};
	int ret = netdev_add_veth(ns, TARGET, mac[0], ns, AWAY, mac[1], 1);

	if (!ret)
		ret = netdev_set_feature(ns, AWAY, "rx-gro", true);
	if (!ret)
		ret = netdev_set_up(ns, AWAY, true);
	if (!ret)
		ret = netdev_set_up(ns, TARGET, true);
	return ret ? ret : netdev_set_up(ns, AWAY, false);
}

/* The map takes an index of the namespace that the thread is in. */
static int open_device(const struct netns *ns, int map_fd, unsigned *target)
{
	int ret = make_target(ns), saved;
	uint32_t slot = 0, index;

	if (ret)
		return ret;
	ret = nl_ifindex(ns, TARGET);
	if (ret < 0)
		return ret;
	*target = index = (uint32_t)ret;
	saved = netns_push(ns);
	if (saved < 0)
		return saved;
	ret = bpf_map_update_elem(map_fd, &slot, &index, BPF_ANY) ? -errno : 0;
	netns_pop(saved);
	return ret;
}

/* A thread for each CPU that a packet may come in on. */
static int open_cpus(int map_fd, int prog_fd)
{
	const struct bpf_cpumap_val queue = {.qsize = FAULT_CPUMAP_QUEUE, .bpf_prog.fd = prog_fd};
	int cpus = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < cpus; cpu++) {
		if (bpf_map_update_elem(map_fd, &cpu, &queue, BPF_ANY))
			return -errno;
	}
	return cpus < 0 ? cpus : 0;
}

int fault_redirect_open(const struct fault_list *list, const struct lab *lab,
			const struct fault_prog *prog, struct drops_redirects *r, struct error *err)
{
	const struct netns *ns = &lab->rx_ns;

	*r = (struct drops_redirects){lab->rx.ifindex, ns->inum, 0, -1};
	if (fault_has(list, FAULT_XDP_DEVMAP))
		return failed(open_device(ns, fault_prog_devices_fd(prog), &r->target),
			      "make a device", err);
	if (!fault_has(list, FAULT_XDP_CPUMAP))
		return 0;
	r->cpumap_fd = fault_prog_cpus_fd(prog);
	return failed(open_cpus(r->cpumap_fd, fault_prog_cpu_fd(prog)), "make a map of CPUs", err);
}
