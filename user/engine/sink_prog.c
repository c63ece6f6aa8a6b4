// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "engine/sink_prog.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/xdp_attach.h"
#include "sink.skel.h"

struct sink_prog {
	struct sink_bpf *skel;
	struct xdp_attached attached;
	struct sink_count *percpu; /* scratch, one a CPU */
	int cpus;
	bool pass;
};

static int load(struct sink_prog *prog, const struct sink_prog_config *cfg)
{
	int rc;

	prog->skel = sink_bpf__open();
	if (!prog->skel)
		return -errno;
	prog->skel->rodata->cfg = *cfg->trace;
	prog->skel->rodata->sink = (struct sink_config){.payload = cfg->payload, .pass = cfg->pass};
	rc = bpf_map__reuse_fd(prog->skel->maps.arrivals, cfg->arrivals_fd);
	if (!rc)
		rc = bpf_map__reuse_fd(prog->skel->maps.tails, cfg->tails_fd);
	if (!rc && cfg->seen_fd >= 0)
		rc = bpf_map__reuse_fd(prog->skel->maps.seen, cfg->seen_fd);
	if (!rc)
		rc = sink_bpf__load(prog->skel);
	return rc;
}

int sink_prog_open(struct sink_prog **out, const struct sink_prog_config *cfg, struct error *err)
{
	struct sink_prog *prog = calloc(1, sizeof(*prog));
	int rc = -ENOMEM;

	if (prog) {
		prog->attached.link = -1;
		prog->pass = cfg->pass;
		prog->cpus = libbpf_num_possible_cpus();
		prog->percpu = calloc((size_t)prog->cpus, sizeof(*prog->percpu));
		if (prog->percpu)
			rc = load(prog, cfg);
	}
	if (!rc) {
		*out = prog;
		return 0;
	}
	sink_prog_close(prog);
	return error_set(err, STATUS_UNABLE, rc,
			 rc == -EPERM ? "run as root or with CAP_BPF and CAP_NET_ADMIN" : NULL,
			 "cannot load the receiving XDP program: %s", strerror(-rc));
}

int sink_prog_attach(struct sink_prog *prog, const char *ifname, struct error *err)
{
	return xdp_attach(&prog->attached, sink_prog_fd(prog), ifname, false, err);
}

int sink_prog_fd(const struct sink_prog *prog)
{
	return bpf_program__fd(prog->skel->progs.sink_take);
}

bool sink_prog_native(const struct sink_prog *prog)
{
	return prog->attached.native;
}

bool sink_prog_passes(const struct sink_prog *prog)
{
	return prog->pass;
}

static void add(struct sink_count *sum, const struct sink_count *one)
{
	sum->taken += one->taken;
	sum->delivered += one->delivered;
	sum->bytes += one->bytes;
	sum->duplicated += one->duplicated;
	sum->reordered += one->reordered;
	sum->damaged += one->damaged;
	sum->invalid += one->invalid;
	sum->foreign += one->foreign;
	if (one->first_ns && (!sum->first_ns || one->first_ns < sum->first_ns))
		sum->first_ns = one->first_ns;
	if (one->last_ns > sum->last_ns)
		sum->last_ns = one->last_ns;
	for (unsigned i = 0; i < TRACE_STREAMS; i++) {
		if (one->next[i] > sum->next[i])
			sum->next[i] = one->next[i];
	}
}

int sink_prog_read(const struct sink_prog *prog, struct sink_count *sum)
{
	__u32 zero = 0;

	memset(sum, 0, sizeof(*sum));
	if (bpf_map_lookup_elem(bpf_map__fd(prog->skel->maps.sink_counts), &zero, prog->percpu))
		return -errno;
	for (int i = 0; i < prog->cpus; i++)
		add(sum, &prog->percpu[i]);
	return 0;
}

void sink_prog_close(struct sink_prog *prog)
{
	if (!prog)
		return;
	if (prog->attached.link >= 0)
		close(prog->attached.link);
	sink_bpf__destroy(prog->skel);
	free(prog->percpu);
	free(prog);
}
