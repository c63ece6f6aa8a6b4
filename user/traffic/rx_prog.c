// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/rx.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/load.h"
#include "host/nl.h"
#include "sink.skel.h"
#include "xsk.skel.h"

#define LEARN_BYTES (SINK_LEARNED * SINK_WINDOW)

static int share(struct bpf_map *map, int fd)
{
	return fd >= 0 ? bpf_map__reuse_fd(map, fd) : 0;
}

static int load_xsk(struct rx_prog *prog, const struct rx_prog_config *cfg)
{
	struct xsk_bpf *skel = prog->xsk = xsk_bpf__open();
	int rc;

	if (!skel)
		return -errno;
	memcpy((void *)&skel->rodata->cfg, cfg->trace, sizeof(*cfg->trace));
	rc = share(skel->maps.cell, cfg->cell_fd);
	if (!rc)
		rc = share(skel->maps.seen, cfg->seen_fd);
	if (!rc && cfg->seen_fd >= 0)
		rc = share(skel->maps.tails, cfg->tails_fd);
	if (!rc)
		rc = xsk_bpf__load(skel);
	if (rc)
		return rc;
	prog->fd = bpf_program__fd(skel->progs.xsk_steer);
	prog->map_fd = bpf_map__fd(skel->maps.xsks);
	return 0;
}

static int load_sink(struct rx_prog *prog, const struct rx_prog_config *cfg)
{
	struct sink_bpf *skel = prog->sink = sink_bpf__open();
	int rc = 0;

	prog->cpus = libbpf_num_possible_cpus();
	prog->percpu = mem_zero((size_t)prog->cpus, sizeof(*prog->percpu));
	if (!skel)
		return -errno;
	skel->rodata->cfg = *cfg->trace;
	skel->rodata->sink = (struct sink_config){.payload = cfg->payload, .pass = cfg->pass};
	if (cfg->learn) {
		skel->rodata->cfg.learn = LEARN_TAKE;
		skel->rodata->cfg.streams = SINK_LEARNED;
		skel->rodata->cfg.window = SINK_WINDOW;
		bpf_map__set_max_entries(skel->maps.arrivals, LEARN_BYTES >> TRACE_PAGE_BITS);
	} else {
		rc = share(skel->maps.arrivals, cfg->arrivals_fd);
		if (!rc)
			rc = share(skel->maps.tails, cfg->tails_fd);
		if (!rc)
			rc = share(skel->maps.seen, cfg->seen_fd);
	}
	if (!rc)
		rc = sink_bpf__load(skel);
	if (rc)
		return rc;
	prog->fd = bpf_program__fd(skel->progs.sink_take);
	if (!cfg->learn)
		return 0;
	prog->arrivals = trace_map(skel->maps.arrivals, LEARN_BYTES);
	prog->tails = trace_map(skel->maps.tails, sizeof(*prog->tails));
	return prog->arrivals && prog->tails ? 0 : -ENOMEM;
}

int rx_prog_open(struct rx_prog **out, const struct rx_prog_config *cfg, struct error *err)
{
	struct rx_prog *prog = mem_new(prog);
	int rc;

	prog->link = -1;
	rc = cfg->steer ? load_xsk(prog, cfg) : load_sink(prog, cfg);
	if (!rc) {
		*out = prog;
		return 0;
	}
	rx_prog_close(prog);
	return xdp_load_failed(
		rc, cfg->steer ? "the XDP program of the engine xsk" : "the receiving XDP program",
		err);
}

int rx_prog_read(const struct rx_prog *prog, struct sink_count *sum)
{
	__u32 zero = 0;

	memset(sum, 0, sizeof(*sum));
	if (bpf_map_lookup_elem(bpf_map__fd(prog->sink->maps.sink_counts), &zero, prog->percpu))
		return -errno;
	for (const struct sink_count *c = prog->percpu; c < prog->percpu + prog->cpus; c++) {
		sink_sums_add(&sum->sums, &c->sums);
		sum->taken += c->taken;
		sum->reordered += c->reordered;
		for (unsigned i = 0; i < TRACE_STREAMS; i++)
			sum->next[i] = larger(sum->next[i], c->next[i]);
	}
	return 0;
}

void rx_prog_close(struct rx_prog *prog)
{
	if (!prog)
		return;
	link_close(&prog->link);
	trace_unmap(prog->arrivals, LEARN_BYTES);
	trace_unmap(prog->tails, sizeof(*prog->tails));
	sink_bpf__destroy(prog->sink);
	xsk_bpf__destroy(prog->xsk);
	free(prog->percpu);
	free(prog);
}

int xdp_load_failed(int rc, const char *what, struct error *err)
{
	char why[224];

	return error_set(err, STATUS_UNABLE, rc,
			 rc == -EPERM ? "run as root or with CAP_BPF and CAP_NET_ADMIN" : NULL,
			 "cannot load %s: %s", what, log_load_failure(why, sizeof(why), rc));
}

int rx_prog_attach(struct rx_prog *prog, const struct netns *ns, const char *ifname,
		   unsigned queues, bool *native, struct error *err)
{
	static const __u32 modes[] = {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE};
	unsigned max = prog->xsk ? bpf_map__max_entries(prog->xsk->maps.xsks) : queues;
	int ifindex = nl_ifindex(ns, ifname);

	if (queues > max)
		return error_set(err, STATUS_UNABLE, -E2BIG,
				 "reduce them (ethtool -L; in a lab -P or --queues), or use the "
				 "engine socket",
				 "%s has %u receive queues, and the engine xsk serves %u", ifname,
				 queues, max);
	if (ifindex < 0)
		return error_errno(err, STATUS_FAILED, ifindex, NULL, "cannot find interface %s",
				   ifname);
	for (unsigned i = 0; i < 2; i++) {
		prog->link = link_xdp(ns, prog->fd, (unsigned)ifindex, modes[i]);
		*native = prog->link >= 0 && !i;
		switch (prog->link) {
		case -EBUSY:
		case -EEXIST:
			return error_set(err, STATUS_UNABLE, prog->link,
					 "detach it (ip link set dev IFACE xdp off), or use the "
					 "engine socket",
					 "another XDP program is attached to %s", ifname);
		case -EPERM:
			return error_set(err, STATUS_UNABLE, prog->link,
					 "run as root or with CAP_BPF and CAP_NET_ADMIN",
					 "no permission to attach an XDP program to %s", ifname);
		}
		if (prog->link >= 0)
			return 0;
	}
	return error_errno(err, STATUS_UNABLE, prog->link, "use the engine socket",
			   "cannot attach an XDP program to %s", ifname);
}
