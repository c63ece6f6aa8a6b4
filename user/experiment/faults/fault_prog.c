// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/faults/fault_prog.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fault.skel.h"
#include "host/cgroup.h"

struct fault_prog {
	struct fault_bpf *skel;
	int xdp_link, cgroup_link; /* -1: none */
};

static struct bpf_program *tc_program(const struct fault_prog *prog, enum fault_tc which)
{
	switch (which) {
	case FAULT_TC_MERGED:
		return prog->skel->progs.fault_merged;
	case FAULT_TC_SLOW:
		return prog->skel->progs.fault_slow;
	case FAULT_TC_SPOIL:
		return prog->skel->progs.fault_spoil;
	case FAULT_TC_INGRESS_DROP:
		return prog->skel->progs.fault_ingress;
	case FAULT_TC_FRAGMENT:
		return prog->skel->progs.fault_fragment;
	case FAULT_TC_DEAF:
		return prog->skel->progs.fault_deaf;
	case FAULT_TC_UNTOLD:
		return prog->skel->progs.fault_untold;
	case FAULT_TC_KEEP:
		return prog->skel->progs.fault_keep;
	case FAULT_TC_EGRESS_DROP:
		return prog->skel->progs.fault_egress;
	case FAULT_TC_MUTE:
		return prog->skel->progs.fault_mute;
	case FAULT_TC_COUNT:
		break;
	}
	return NULL;
}

static int share_maps(struct fault_bpf *skel, const struct fault_numbers *numbers)
{
	int ret = bpf_map__reuse_fd(skel->maps.seen, numbers->seen_fd);

	if (!ret)
		ret = bpf_map__reuse_fd(skel->maps.tails, numbers->tails_fd);
	if (!ret)
		ret = bpf_map__reuse_fd(skel->maps.cell, numbers->cell_fd);
	return ret ? ret : bpf_map__reuse_fd(skel->maps.batch, numbers->batch_fd);
}

int fault_prog_load(struct fault_prog **out, const struct fault_config *cfg,
		    const struct fault_programs *which, const struct fault_numbers *numbers,
		    struct error *err)
{
	char why[224];
	struct fault_prog *prog = calloc(1, sizeof(*prog));
	int ret;

	*out = NULL;
	if (!prog)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory for faults");
	prog->xdp_link = prog->cgroup_link = -1;
	prog->skel = fault_bpf__open();
	if (!prog->skel) {
		ret = -errno;
		goto failed;
	}
	prog->skel->rodata->fault = *cfg;
	if (numbers)
		memcpy((void *)&prog->skel->rodata->cfg, numbers->config, sizeof(*numbers->config));
	for (unsigned i = 0; i < FAULT_TC_COUNT; i++)
		bpf_program__set_autoload(tc_program(prog, i), which->tc[i]);
	bpf_program__set_autoload(prog->skel->progs.fault_xdp, which->xdp);
	bpf_program__set_autoload(prog->skel->progs.fault_filter, which->filter);
	bpf_program__set_autoload(prog->skel->progs.fault_cgroup, which->cgroup);
	bpf_program__set_autoload(prog->skel->progs.fault_cpu, which->cpu);
	if (which->cpu)
		bpf_map__set_max_entries(prog->skel->maps.cpus, (__u32)libbpf_num_possible_cpus());
	ret = numbers ? share_maps(prog->skel, numbers) : 0;
	if (ret)
		goto failed;
	ret = fault_bpf__load(prog->skel);
	if (ret)
		goto failed;
	*out = prog;
	return 0;

failed:
	fault_prog_close(prog);
	return error_set(err, STATUS_UNABLE, ret,
			 ret == -EPERM ? "run it as root; it needs CAP_BPF and CAP_NET_ADMIN"
				       : NULL,
			 "cannot load the programs of the faults: %s",
			 log_load_failure(why, sizeof(why), ret));
}

static int attach_tc(const struct bpf_program *prog, const struct lab_port *port,
		     enum bpf_tc_attach_point point, unsigned priority)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = port->ifindex, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = priority,
		    .prog_fd = bpf_program__fd(prog));
	int saved = netns_push(port->ns);
	int ret;

	if (saved < 0)
		return saved;
	ret = bpf_tc_hook_create(&hook);
	if (!ret || ret == -EEXIST) /* one clsact serves all */
		ret = bpf_tc_attach(&hook, &opts);
	netns_pop(saved);
	return ret;
}

int fault_prog_tc(struct fault_prog *prog, enum fault_tc which, const struct lab_port *port,
		  struct error *err)
{
	bool egress = which == FAULT_TC_EGRESS_DROP || which == FAULT_TC_MUTE;
	int ret = attach_tc(tc_program(prog, which), port, egress ? BPF_TC_EGRESS : BPF_TC_INGRESS,
			    FAULT_TC_PRIORITY + which);

	return ret ? error_set(err, STATUS_UNABLE, ret, NULL,
			       "cannot attach a program to tc %s of %s: %s",
			       egress ? "egress" : "ingress", port->ifname, strerror(-ret))
		   : 0;
}

static int xdp_error(int ret, const struct lab_port *port, struct error *err)
{
	return ret < 0 ? error_set(err, STATUS_UNABLE, ret, NULL,
				   "cannot attach an XDP program to %s: %s", port->ifname,
				   strerror(-ret))
		       : 0;
}

static unsigned xdp_mode(bool generic)
{
	return generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

int fault_prog_xdp_stay(struct fault_prog *prog, const struct lab_port *port, bool generic,
			struct error *err)
{
	int saved = netns_push(port->ns), ret;

	if (saved < 0)
		return xdp_error(saved, port, err);
	ret = bpf_xdp_attach((int)port->ifindex, bpf_program__fd(prog->skel->progs.fault_xdp),
			     xdp_mode(generic), NULL);
	netns_pop(saved);
	return xdp_error(ret, port, err);
}

int fault_prog_xdp(struct fault_prog *prog, const struct lab_port *port, int next_fd, bool generic,
		   struct error *err)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = xdp_mode(generic));
	const uint32_t slot = 0;
	int saved;

	if (next_fd >= 0 &&
	    bpf_map_update_elem(bpf_map__fd(prog->skel->maps.next), &slot, &next_fd, BPF_ANY))
		return error_set(err, STATUS_UNABLE, -errno, NULL,
				 "cannot go on to the receiver's XDP program: %s", strerror(errno));
	saved = netns_push(port->ns);
	if (saved < 0)
		return xdp_error(saved, port, err);
	prog->xdp_link = bpf_link_create(bpf_program__fd(prog->skel->progs.fault_xdp),
					 port->ifindex, BPF_XDP, &opts);
	netns_pop(saved);
	return xdp_error(prog->xdp_link, port, err);
}

int fault_prog_cgroup(struct fault_prog *prog, struct error *err)
{
	int fd = cgroup_open_v2();

	if (fd < 0)
		return error_set(err, STATUS_UNABLE, fd,
				 "mount the hierarchy: mount -t cgroup2 none /sys/fs/cgroup",
				 "cannot open this process's group of the unified hierarchy "
				 "(cgroup v2): %s",
				 strerror(-fd));
	prog->cgroup_link = bpf_link_create(bpf_program__fd(prog->skel->progs.fault_cgroup), fd,
					    BPF_CGROUP_INET_EGRESS, NULL);
	close(fd);
	if (prog->cgroup_link < 0)
		return error_set(err, STATUS_UNABLE, prog->cgroup_link,
				 "the kernel needs CONFIG_CGROUP_BPF",
				 "cannot attach a program to the egress of the cgroup: %s",
				 strerror(-prog->cgroup_link));
	return 0;
}

int fault_prog_filter(struct fault_prog *prog, int socket, struct error *err)
{
	int fd = bpf_program__fd(prog->skel->progs.fault_filter);

	if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_BPF, &fd, sizeof(fd)))
		return error_set(err, STATUS_UNABLE, -errno, NULL,
				 "cannot attach a filter to the receiving socket: %s",
				 strerror(errno));
	return 0;
}

int fault_prog_devices_fd(const struct fault_prog *prog)
{
	return bpf_map__fd(prog->skel->maps.devices);
}

int fault_prog_cpus_fd(const struct fault_prog *prog)
{
	return bpf_map__fd(prog->skel->maps.cpus);
}

int fault_prog_cpu_fd(const struct fault_prog *prog)
{
	return bpf_program__fd(prog->skel->progs.fault_cpu);
}

void fault_prog_close(struct fault_prog *prog)
{
	if (!prog)
		return;
	if (prog->xdp_link >= 0)
		close(prog->xdp_link);
	if (prog->cgroup_link >= 0)
		close(prog->cgroup_link);
	fault_bpf__destroy(prog->skel);
	free(prog);
}
