// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "engine/xsk_prog.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "xsk.skel.h"

struct xsk_prog {
	struct xsk_bpf *skel;
	int link; /* -1: not attached */
	bool native;
};

static int load(struct xsk_prog *prog, const struct trace_config *trace, int cell_fd)
{
	int ret;

	prog->skel = xsk_bpf__open();
	if (!prog->skel)
		return -errno;
	prog->skel->rodata->cfg = *trace;
	if (cell_fd >= 0) {
		ret = bpf_map__reuse_fd(prog->skel->maps.cell, cell_fd);
		if (ret)
			return ret;
	}
	return xsk_bpf__load(prog->skel);
}

int xsk_prog_open(struct xsk_prog **out, const struct trace_config *trace, int cell_fd,
		  struct error *err)
{
	struct xsk_prog *prog = calloc(1, sizeof(*prog));
	int ret;

	if (!prog)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	prog->link = -1;
	ret = load(prog, trace, cell_fd);
	if (!ret) {
		*out = prog;
		return 0;
	}
	xsk_prog_close(prog);
	return error_set(err, STATUS_UNABLE, ret,
			 ret == -EPERM ? "run as root or with CAP_BPF and CAP_NET_ADMIN" : NULL,
			 "cannot load the XDP program of the engine xsk: %s", strerror(-ret));
}

static int link_create(struct xsk_prog *prog, unsigned ifindex, __u32 mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = mode);

	prog->link = bpf_link_create(xsk_prog_fd(prog), ifindex, BPF_XDP, &opts);
	return prog->link < 0 ? prog->link : 0;
}

static int attach_error(const char *ifname, int ret, struct error *err)
{
	switch (ret) {
	case -EBUSY:
	case -EEXIST:
		return error_set(
			err, STATUS_UNABLE, ret,
			"detach it (ip link set dev IFACE xdp off), or use the engine socket",
			"another XDP program is attached to %s", ifname);
	case -EPERM:
		return error_set(err, STATUS_UNABLE, ret,
				 "run as root or with CAP_BPF and CAP_NET_ADMIN",
				 "no permission to attach an XDP program to %s", ifname);
	default:
		return error_set(err, STATUS_UNABLE, ret, "use the engine socket",
				 "cannot attach an XDP program to %s: %s", ifname, strerror(-ret));
	}
}

int xsk_prog_attach(struct xsk_prog *prog, const char *ifname, unsigned queues, bool skb_mode,
		    struct error *err)
{
	unsigned max = bpf_map__max_entries(prog->skel->maps.xsks);
	unsigned ifindex = if_nametoindex(ifname);
	int ret = -EOPNOTSUPP;

	if (!ifindex)
		return error_set(err, STATUS_FAILED, -ENODEV, NULL, "no interface %s here", ifname);
	if (queues > max)
		return error_set(err, STATUS_UNABLE, -E2BIG,
				 "reduce them (ethtool -L), or use the engine socket",
				 "%s has %u receive queues; the engine xsk serves %u", ifname,
				 queues, max);
	if (!skb_mode) {
		ret = link_create(prog, ifindex, XDP_FLAGS_DRV_MODE);
		prog->native = !ret;
		if (ret == -EBUSY || ret == -EEXIST || ret == -EPERM)
			return attach_error(ifname, ret, err);
	}
	if (ret)
		ret = link_create(prog, ifindex, XDP_FLAGS_SKB_MODE);
	return ret ? attach_error(ifname, ret, err) : 0;
}

int xsk_prog_fd(const struct xsk_prog *prog)
{
	return bpf_program__fd(prog->skel->progs.xsk_steer);
}

int xsk_prog_map_fd(const struct xsk_prog *prog)
{
	return bpf_map__fd(prog->skel->maps.xsks);
}

int xsk_prog_cell_fd(const struct xsk_prog *prog)
{
	return bpf_map__fd(prog->skel->maps.cell);
}

bool xsk_prog_native(const struct xsk_prog *prog)
{
	return prog->native;
}

void xsk_prog_close(struct xsk_prog *prog)
{
	if (!prog)
		return;
	if (prog->link >= 0)
		close(prog->link);
	xsk_bpf__destroy(prog->skel);
	free(prog);
}
