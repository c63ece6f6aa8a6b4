// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/checkpoint.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.skel.h"

#define PRIORITY 1 /* before any other tc program on the same hook */

struct checkpoint {
	struct checkpoint_place place;
	enum bpf_tc_attach_point point;
	bool attached;
};

struct checkpoints {
	struct checkpoint_bpf *skel;
	struct checkpoint at[2];
};

static int attach(struct checkpoint *c, const struct checkpoint_place *place,
		  enum bpf_tc_attach_point point, int prog_fd)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)place->ifindex,
			    .attach_point = point);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog_fd, .handle = 1,
			    .priority = PRIORITY);
	int saved = netns_push(place->ns), rc;

	if (saved < 0)
		return saved;
	rc = bpf_tc_hook_create(&hook);
	if (!rc || rc == -EEXIST)
		rc = bpf_tc_attach(&hook, &opts);
	netns_pop(saved);
	c->place = *place;
	c->point = point;
	c->attached = !rc;
	return rc;
}

static void detach(struct checkpoint *c)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)c->place.ifindex,
			    .attach_point = c->point);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = PRIORITY);
	int saved;

	if (!c->attached)
		return;
	saved = netns_push(c->place.ns);
	if (saved < 0)
		return;
	bpf_tc_detach(&hook, &opts);
	netns_pop(saved);
}

int checkpoints_open(struct checkpoints **out, const struct trace_config *cfg,
		     const struct drops *drops, const struct checkpoint_place *tx,
		     const struct checkpoint_place *rx, struct error *err)
{
	struct checkpoints *c = calloc(1, sizeof(*c));
	uint64_t pages = cfg->streams * cfg->window >> TRACE_PAGE_BITS;
	int rc = -ENOMEM;

	if (!c)
		return error_set(err, STATUS_FAILED, rc, NULL, "out of memory");
	c->skel = checkpoint_bpf__open();
	if (!c->skel)
		goto fail;
	memcpy((void *)&c->skel->rodata->cfg, cfg, sizeof(*cfg));
	bpf_map__set_max_entries(c->skel->maps.seen, (__u32)pages);
	rc = bpf_map__reuse_fd(c->skel->maps.tails, drops_tails_fd(drops));
	if (!rc)
		rc = bpf_map__reuse_fd(c->skel->maps.fragments, drops_fragments_fd(drops));
	if (!rc)
		rc = bpf_map__reuse_fd(c->skel->maps.fragment_counts,
				       drops_fragment_counts_fd(drops));
	if (!rc)
		rc = checkpoint_bpf__load(c->skel);
	if (rc)
		goto fail;
	rc = attach(&c->at[0], tx, BPF_TC_EGRESS, bpf_program__fd(c->skel->progs.tx_device));
	if (!rc)
		rc = attach(&c->at[1], rx, BPF_TC_INGRESS,
			    bpf_program__fd(c->skel->progs.rx_device));
	if (!rc) {
		*out = c;
		return 0;
	}
fail:
	checkpoints_close(c);
	return error_set(err, STATUS_UNABLE, rc, "run with -vv to see what libbpf says",
			 "cannot attach the checkpoints: %s", strerror(-rc));
}

int checkpoints_seen_fd(const struct checkpoints *c)
{
	return bpf_map__fd(c->skel->maps.seen);
}

void checkpoints_close(struct checkpoints *c)
{
	if (!c)
		return;
	detach(&c->at[0]);
	detach(&c->at[1]);
	checkpoint_bpf__destroy(c->skel);
	free(c);
}
