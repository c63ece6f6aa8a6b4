// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/sink_prog.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "traffic/xdp_attach.h"
#include "sink.skel.h"

struct sink_prog {
	struct sink_bpf *skel;
	struct xdp_attached attached;
	struct sink_count *percpu; /* scratch, one a CPU */
	int cpus;
	bool learn;
	uint8_t *arrivals; /* with `learn`: mapped */
	struct trace_tails *tails;
};

#define LEARN_BYTES (SINK_LEARNED * SINK_WINDOW)

/* The maps that are shared with the tracer. */
static int share_maps(struct sink_prog *prog, const struct sink_prog_config *cfg)
{
	int rc = bpf_map__reuse_fd(prog->skel->maps.arrivals, cfg->arrivals_fd);

	if (!rc)
		rc = bpf_map__reuse_fd(prog->skel->maps.tails, cfg->tails_fd);
	if (!rc && cfg->seen_fd >= 0)
		rc = bpf_map__reuse_fd(prog->skel->maps.seen, cfg->seen_fd);
	return rc;
}

static void *map_it(const struct bpf_map *map, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

static int load(struct sink_prog *prog, const struct sink_prog_config *cfg)
{
	int rc = 0;

	prog->skel = sink_bpf__open();
	if (!prog->skel)
		return -errno;
	prog->skel->rodata->cfg = *cfg->trace;
	prog->skel->rodata->sink = (struct sink_config){
		.payload = cfg->payload, .pass = cfg->pass, .learn = cfg->learn};
	if (cfg->learn) {
		prog->skel->rodata->cfg.streams = SINK_LEARNED;
		prog->skel->rodata->cfg.window = SINK_WINDOW;
		bpf_map__set_max_entries(prog->skel->maps.arrivals, LEARN_BYTES >> TRACE_PAGE_BITS);
	} else {
		rc = share_maps(prog, cfg);
	}
	if (!rc)
		rc = sink_bpf__load(prog->skel);
	if (rc || !cfg->learn)
		return rc;
	prog->arrivals = map_it(prog->skel->maps.arrivals, LEARN_BYTES);
	prog->tails = map_it(prog->skel->maps.tails, sizeof(*prog->tails));
	return prog->arrivals && prog->tails ? 0 : -ENOMEM;
}

int sink_prog_open(struct sink_prog **out, const struct sink_prog_config *cfg, struct error *err)
{
	char why[224];
	struct sink_prog *prog = calloc(1, sizeof(*prog));
	int rc = -ENOMEM;

	if (prog) {
		prog->attached.link = -1;
		prog->learn = cfg->learn;
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
			 "cannot load the receiving XDP program: %s",
			 log_load_failure(why, sizeof(why), rc));
}

int sink_prog_attach(struct sink_prog *prog, const char *ifname, struct error *err)
{
	return xdp_attach(&prog->attached, sink_prog_fd(prog), ifname, false, err);
}

int sink_prog_fd(const struct sink_prog *prog)
{
	return bpf_program__fd(prog->skel->progs.sink_take);
}

bool sink_prog_device_gone(const struct sink_prog *prog)
{
	return xdp_device_gone(&prog->attached);
}

bool sink_prog_native(const struct sink_prog *prog)
{
	return prog->attached.native;
}

bool sink_prog_learns(const struct sink_prog *prog)
{
	return prog->learn;
}

bool sink_prog_learned(const struct sink_prog *prog, unsigned i, struct sink_learned *stream,
		       uint8_t **arrivals)
{
	const struct sink_learned *known = prog->skel->bss->learned;

	if (i >= SINK_LEARNED || !__atomic_load_n(&known[i].ready, __ATOMIC_ACQUIRE))
		return false;
	*stream = known[i];
	*arrivals = prog->arrivals + i * SINK_WINDOW;
	return true;
}

uint64_t *sink_prog_tails(const struct sink_prog *prog)
{
	return (uint64_t *)prog->tails->at;
}

static void add(struct sink_count *sum, const struct sink_count *one)
{
	sink_sums_add(&sum->sums, &one->sums);
	sum->taken += one->taken;
	sum->reordered += one->reordered;
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
	if (prog->arrivals)
		munmap(prog->arrivals, LEARN_BYTES);
	if (prog->tails)
		munmap(prog->tails, sizeof(*prog->tails));
	sink_bpf__destroy(prog->skel);
	free(prog->percpu);
	free(prog);
}
