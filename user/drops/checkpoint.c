// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/checkpoint.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.skel.h"
#include "checkpoint_old.skel.h"
#include "host/load.h"

/* A program before all others at a tc hook */

#define HANDLE	 1
#define PRIORITY 1

/* uapi/linux/bpf.h since Linux 6.6 */
#define TCX_INGRESS 46
#define TCX_EGRESS  47
#define TCX_BEFORE  (1U << 3) /* BPF_F_BEFORE: without another program, before all of them */

static int tc_first_link(unsigned ifindex, enum bpf_tc_attach_point point, int prog_fd)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = TCX_BEFORE);
	int type = point == BPF_TC_INGRESS ? TCX_INGRESS : TCX_EGRESS;

	return bpf_link_create(prog_fd, (int)ifindex, (enum bpf_attach_type)type, &opts);
}

/* The hook, and the filter there. Not LIBBPF_OPTS(): its copy may have anything in its padding. */
static void describe(const struct tc_first *tc, struct bpf_tc_hook *hook, struct bpf_tc_opts *opts)
{
	memset(hook, 0, sizeof(*hook));
	hook->sz = sizeof(*hook);
	hook->ifindex = (int)tc->ifindex;
	hook->attach_point = tc->point;
	memset(opts, 0, sizeof(*opts));
	opts->sz = sizeof(*opts);
	opts->handle = HANDLE;
	opts->priority = PRIORITY;
}

static int attach_filter(struct tc_first *tc, int prog_fd)
{
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;
	int rc;

	describe(tc, &hook, &opts);
	opts.prog_fd = prog_fd;
	rc = bpf_tc_hook_create(&hook);
	if (!rc || rc == -EEXIST)
		rc = bpf_tc_attach(&hook, &opts);
	tc->filter = !rc;
	return rc;
}

int tc_first_attach(struct tc_first *tc, const struct netns *ns, unsigned ifindex,
		    enum bpf_tc_attach_point point, int prog_fd)
{
	int saved = netns_push(ns), rc;

	*tc = (struct tc_first){ns, ifindex, point, -1, false};
	if (saved < 0)
		return saved;
	tc->link = tc_first_link(ifindex, point, prog_fd);
	rc = tc->link < 0 ? tc->link : 0;
	if (rc == -EINVAL)
		rc = attach_filter(tc, prog_fd);
	netns_pop(saved);
	return rc;
}

static void remove_filter(struct tc_first *tc)
{
	int saved = netns_push(tc->ns);
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;

	if (saved < 0)
		return;
	describe(tc, &hook, &opts);
	bpf_tc_detach(&hook, &opts);
	netns_pop(saved);
}

void tc_first_detach(struct tc_first *tc)
{
	if (tc->link >= 0)
		close(tc->link);
	else if (tc->filter)
		remove_filter(tc);
	*tc = (struct tc_first)TC_FIRST_INIT;
}

/* In a lab */

/*
 * Opens the programs for the numbers in `cfg`, with the maps that they share with `drops`; none is
 * to be loaded yet. `paged`: those at the edge read stamps in pages (bpf/skb.bpf.h).
 */
static int open_programs(struct checkpoint_bpf **out, const struct trace_config *cfg,
			 const struct drops *drops, bool paged)
{
	uint64_t pages = cfg->streams * cfg->window >> TRACE_PAGE_BITS;
	struct checkpoint_bpf *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	rc = checkpoint_bpf__create_skeleton(s);
	if (!rc)
		rc = trace_open(s->skeleton, paged ? NULL : checkpoint_old_bpf__elf_bytes);
	if (!rc) {
		memcpy((void *)&s->rodata->cfg, cfg, sizeof(*cfg));
		bpf_map__set_max_entries(s->maps.seen, (__u32)pages);
		rc = drops_share(drops, s->obj);
	}
	if (rc) {
		checkpoint_bpf__destroy(s);
		return rc;
	}
	*out = s;
	return 0;
}

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
	int rc = -ENOMEM;

	if (!c)
		return error_set(err, STATUS_FAILED, rc, NULL, "out of memory");
	for (unsigned i = 0; i < CHECKPOINTS; i++)
		c->at[i] = (struct tc_first)TC_FIRST_INIT;
	/* those of tc call no functions of the kernel */
	rc = open_programs(&c->skel, cfg, drops, false);
	if (!rc) {
		bpf_program__set_autoload(c->skel->progs.tx_device, true);
		bpf_program__set_autoload(c->skel->progs.rx_device, true);
		bpf_program__set_autoload(c->skel->progs.bridge_in, true);
		bpf_program__set_autoload(c->skel->progs.bridge_out, true);
		rc = checkpoint_bpf__load(c->skel);
	}
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

/* At the edge of the host */

struct border {
	struct checkpoint_bpf *skel;
	struct bpf_link *leave, *enter;
	int tcx; /* a link; below 0: none */
};

/*
 * `paged`: the program reads stamps in pages (bpf/skb.bpf.h). `tc`: that of the device, too,
 * which needs CAP_NET_ADMIN.
 */
static int load_border(struct border *b, const struct trace_config *cfg, const struct drops *drops,
		       const struct border_netns *netns, bool paged, bool tc)
{
	int rc = open_programs(&b->skel, cfg, drops, paged);
	struct checkpoint_bpf *s = b->skel;

	if (rc)
		return rc;
	if (cfg->learn)
		s->rodata->cfg.learn = LEARN_TAKE;
	s->rodata->leave_netns = netns->leave;
	s->rodata->enter_netns = netns->enter;
	bpf_program__set_autoload(s->progs.leave, netns->leave);
	bpf_program__set_autoload(s->progs.enter, netns->enter);
	bpf_program__set_autoload(s->progs.enter_tc, tc);
	rc = checkpoint_bpf__load(s);
	if (!rc && netns->leave && !(b->leave = bpf_program__attach(s->progs.leave)))
		rc = -errno;
	if (!rc && netns->enter && !(b->enter = bpf_program__attach(s->progs.enter)))
		rc = -errno;
	if (rc) {
		bpf_link__destroy(b->leave);
		checkpoint_bpf__destroy(s);
		b->leave = NULL;
		b->skel = NULL;
	}
	return rc;
}

/* As this kernel can. */
static int load_newest(struct border *b, const struct trace_config *cfg, const struct drops *drops,
		       const struct border_netns *netns, bool tc)
{
	int rc = load_border(b, cfg, drops, netns, true, tc);

	return trace_load_again(rc) ? load_border(b, cfg, drops, netns, false, tc) : rc;
}

int border_open(struct border **out, const struct trace_config *cfg, const struct drops *drops,
		const struct border_netns *netns, unsigned ifindex, struct error *err)
{
	bool tc = netns->enter && ifindex;
	struct border *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	b->tcx = -1;
	rc = load_newest(b, cfg, drops, netns, tc);
	if (rc == -EPERM && tc) {
		tc = false;
		rc = load_newest(b, cfg, drops, netns, tc);
	}
	if (rc) {
		border_close(b);
		return trace_load_error(err, rc);
	}
	if (tc)
		b->tcx = tc_first_link(ifindex, BPF_TC_INGRESS,
				       bpf_program__fd(b->skel->progs.enter_tc));
	*out = b;
	return 0;
}

int border_seen_fd(const struct border *b)
{
	return bpf_map__fd(b->skel->maps.seen);
}

const char *border_place(const struct border *b)
{
	if (b->leave)
		return "net_dev_start_xmit";
	return b->tcx < 0 ? "netif_receive_skb" : "netif_receive_skb, tcx";
}

void border_close(struct border *b)
{
	if (!b)
		return;
	if (b->tcx >= 0)
		close(b->tcx);
	bpf_link__destroy(b->leave);
	bpf_link__destroy(b->enter);
	checkpoint_bpf__destroy(b->skel);
	free(b);
}
