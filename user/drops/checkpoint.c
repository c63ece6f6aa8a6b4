// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/checkpoint.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/load.h"
#include "drops/tc_first.h"

#include "checkpoint.skel.h"

struct checkpoints {
	struct checkpoint_bpf *skel;
	struct tc_first at[CHECKPOINTS];
};

static int attach(struct checkpoints *c, enum checkpoint which, const struct checkpoint_place *at)
{
	const struct bpf_program *const prog[] = {
		[CHECKPOINT_TX] = c->skel->progs.tx_device,
		[CHECKPOINT_RX] = c->skel->progs.rx_device,
		[CHECKPOINT_BRIDGE_IN] = c->skel->progs.bridge_in,
		[CHECKPOINT_BRIDGE_OUT] = c->skel->progs.bridge_out,
	};
	bool egress = which == CHECKPOINT_TX || which == CHECKPOINT_BRIDGE_OUT;

	if (!at->ns)
		return 0;
	return tc_first_attach(&c->at[which], at->ns, at->ifindex,
			       egress ? BPF_TC_EGRESS : BPF_TC_INGRESS,
			       bpf_program__fd(prog[which]));
}

int checkpoints_open(struct checkpoints **out, const struct trace_config *cfg,
		     const struct drops *drops, const struct checkpoint_place at[CHECKPOINTS],
		     struct error *err)
{
	struct checkpoints *c = calloc(1, sizeof(*c));
	uint64_t pages = cfg->streams * cfg->window >> TRACE_PAGE_BITS;
	int rc = -ENOMEM;

	if (!c)
		return error_set(err, STATUS_FAILED, rc, NULL, "out of memory");
	for (unsigned i = 0; i < CHECKPOINTS; i++)
		c->at[i] = (struct tc_first)TC_FIRST_INIT;
	c->skel = checkpoint_bpf__open_opts(trace_open_opts());
	if (!c->skel)
		goto fail;
	memcpy((void *)&c->skel->rodata->cfg, cfg, sizeof(*cfg));
	bpf_map__set_max_entries(c->skel->maps.seen, (__u32)pages);
	rc = drops_share(drops, c->skel->obj);
	if (!rc)
		rc = checkpoint_bpf__load(c->skel);
	if (rc) {
		checkpoints_close(c);
		return trace_load_error(err, rc);
	}
	for (unsigned i = 0; i < CHECKPOINTS && !rc; i++)
		rc = attach(c, i, &at[i]);
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
	for (unsigned i = 0; i < CHECKPOINTS; i++)
		tc_first_detach(&c->at[i]);
	checkpoint_bpf__destroy(c->skel);
	free(c);
}
