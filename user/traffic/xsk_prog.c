// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/xsk_prog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "traffic/xdp_attach.h"
#include "xsk.skel.h"

struct xsk_prog {
	struct xsk_bpf *skel;
	struct xdp_attached attached;
};

static int share(struct bpf_map *map, int fd)
{
	return fd < 0 ? 0 : bpf_map__reuse_fd(map, fd);
}

static int load(struct xsk_prog *prog, const struct trace_config *trace,
		const struct xsk_prog_maps *maps)
{
	int ret;

	prog->skel = xsk_bpf__open();
	if (!prog->skel)
		return -errno;
	memcpy((void *)&prog->skel->rodata->cfg, trace, sizeof(*trace));
	ret = share(prog->skel->maps.cell, maps->cell);
	if (!ret)
		ret = share(prog->skel->maps.seen, maps->seen);
	if (!ret)
		ret = share(prog->skel->maps.tails, maps->tails);
	return ret ? ret : xsk_bpf__load(prog->skel);
}

int xsk_prog_open(struct xsk_prog **out, const struct trace_config *trace,
		  const struct xsk_prog_maps *maps, struct error *err)
{
	char why[224];
	struct xsk_prog *prog = calloc(1, sizeof(*prog));
	int ret;

	if (!prog)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	prog->attached.link = -1;
	ret = load(prog, trace, maps);
	if (!ret) {
		*out = prog;
		return 0;
	}
	xsk_prog_close(prog);
	return error_set(err, STATUS_UNABLE, ret,
			 ret == -EPERM ? "run as root or with CAP_BPF and CAP_NET_ADMIN" : NULL,
			 "cannot load the XDP program of the engine xsk: %s",
			 log_load_failure(why, sizeof(why), ret));
}

int xsk_prog_attach(struct xsk_prog *prog, const char *ifname, unsigned queues, bool skb_mode,
		    struct error *err)
{
	unsigned max = bpf_map__max_entries(prog->skel->maps.xsks);

	if (queues > max)
		return error_set(err, STATUS_UNABLE, -E2BIG,
				 "reduce them (ethtool -L), or use the engine socket",
				 "%s has %u receive queues; the engine xsk serves %u", ifname,
				 queues, max);
	return xdp_attach(&prog->attached, xsk_prog_fd(prog), ifname, skb_mode, err);
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
	return prog->attached.native;
}

void xsk_prog_close(struct xsk_prog *prog)
{
	if (!prog)
		return;
	if (prog->attached.link >= 0)
		close(prog->attached.link);
	xsk_bpf__destroy(prog->skel);
	free(prog);
}
