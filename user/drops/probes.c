// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>

#include "probe.skel.h"
#include "probe_old.skel.h"
#include "base/mem.h"
#include "host/load.h"

#define HANDLE	 1
#define PRIORITY 1

/* uapi/linux/bpf.h since Linux 6.6 */
#define TCX_INGRESS 46
#define TCX_EGRESS  47
#define TCX_BEFORE  (1U << 3) /* BPF_F_BEFORE without another program means before all of them */

static int tc_first_link(unsigned ifindex, enum bpf_tc_attach_point point, int prog_fd)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = TCX_BEFORE);
	int type = point == BPF_TC_INGRESS ? TCX_INGRESS : TCX_EGRESS;

	return bpf_link_create(prog_fd, (int)ifindex, (enum bpf_attach_type)type, &opts);
}

/*
 * Fills in the hook and the filter. Does not use LIBBPF_OPTS(), which leaves padding uninitialised.
 */
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

int tc_first_attach(struct tc_first *tc, const struct netns *ns, unsigned ifindex,
		    enum bpf_tc_attach_point point, int prog_fd)
{
	int saved = netns_push(ns), rc;
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;

	*tc = (struct tc_first){ns, ifindex, point, tc->links, -1, false};
	if (saved < 0)
		return saved;
	tc->link = tc_first_link(ifindex, point, prog_fd);
	rc = tc->link < 0 ? tc->link : 0;
	if (rc == -EINVAL && !tc->links) {
		describe(tc, &hook, &opts);
		opts.prog_fd = prog_fd;
		rc = bpf_tc_hook_create(&hook);
		if (!rc || rc == -EEXIST)
			rc = bpf_tc_attach(&hook, &opts);
		tc->filter = !rc;
	}
	netns_pop(saved);
	return rc;
}

void tc_first_detach(struct tc_first *tc)
{
	int saved = tc->link < 0 && tc->filter ? netns_push(tc->ns) : -1;
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;

	link_close(&tc->link);
	if (saved >= 0) {
		describe(tc, &hook, &opts);
		bpf_tc_detach(&hook, &opts);
		netns_pop(saved);
	}
	*tc = (struct tc_first)TC_FIRST_INIT;
}

struct probes {
	struct probe_bpf *skel;
	struct tc_first at[PROBES];	 /* probes in a test network */
	int tcx;			 /* link at a host's edge; below 0: not attached */
	const char *place;		 /* location of an edge in the kernel */
};

static struct probes *new_probes(void)
{
	struct probes *c = mem_new(c);

	for (unsigned i = 0; i < PROBES; i++)
		c->at[i] = (struct tc_first)TC_FIRST_INIT;
	c->tcx = -1;
	return c;
}

/*
 * Opens the programs for the numbers in `cfg`, with the maps shared with `drops`, but does not load
 * them. `paged`: programs at the edge read sequence headers in pages (bpf/skb.bpf.h).
 */
static int open_programs(struct probes *c, const struct trace_config *cfg,
			 const struct drops *drops, bool paged)
{
	uint64_t pages = cfg->streams * cfg->window >> TRACE_PAGE_BITS;
	struct probe_bpf *s = mem_new(s);
	int rc;

	probe_bpf__destroy(c->skel);
	c->skel = s;
	rc = probe_bpf__create_skeleton(s);
	if (!rc)
		rc = trace_open(s->skeleton, paged ? NULL : probe_old_bpf__elf_bytes);
	if (rc)
		return rc;
	memcpy((void *)&s->rodata->cfg, cfg, sizeof(*cfg));
	bpf_map__set_max_entries(s->maps.seen, (__u32)pages);
	return drops_share(drops, s->obj);
}

unsigned probes_of(const struct probe_place at[PROBES])
{
	unsigned found = 0;

	for (unsigned i = 0; i < PROBES; i++)
		found |= at[i].ns ? 1u << i : 0;
	return found;
}

int probes_open(struct probes **out, const struct drops *drops,
		const struct probe_place at[PROBES], bool links, struct error *err)
{
	struct probes *c = new_probes();
	int rc = 0;

	for (unsigned i = 0; i < PROBES && !rc; i++) {
		bool egress = i == PROBE_TX || i == PROBE_BRIDGE_OUT;

		c->at[i].links = links;
		if (at[i].ns)
			rc = tc_first_attach(&c->at[i], at[i].ns, at[i].ifindex,
					     egress ? BPF_TC_EGRESS : BPF_TC_INGRESS,
					     drops_probe_fd(drops, i));
	}
	if (!rc) {
		*out = c;
		return 0;
	}
	probes_close(c);
	return error_errno(err, STATUS_UNABLE, rc, "run with -vv to see the messages of libbpf",
			   "cannot attach the probes");
}

/* `paged`: read sequence headers in pages. `tc`: also at the interface (needs CAP_NET_ADMIN). */
static int load_edge(struct probes *c, const struct trace_config *cfg, const struct drops *drops,
		     const struct edge_netns *netns, bool paged, bool tc)
{
	int rc = open_programs(c, cfg, drops, paged);
	struct probe_bpf *s = c->skel;

	if (rc)
		return rc;
	if (cfg->learn)
		s->rodata->cfg.learn = LEARN_TAKE;
	s->rodata->leave_netns = netns->leave;
	s->rodata->enter_netns = netns->enter;
	bpf_program__set_autoload(s->progs.leave, netns->leave);
	bpf_program__set_autoload(s->progs.enter, netns->enter);
	bpf_program__set_autoload(s->progs.enter_tc, tc);
	rc = probe_bpf__load(s);
	return rc ? rc : probe_bpf__attach(s);
}

int edge_open(struct probes **out, const struct trace_config *cfg, const struct drops *drops,
	      const struct edge_netns *netns, unsigned ifindex, struct error *err)
{
	struct probes *c = new_probes();
	bool tc = netns->enter && ifindex;
	int rc;

	for (;;) {
		rc = load_edge(c, cfg, drops, netns, true, tc);
		if (trace_load_again(rc)) /* retry with the fallback object */
			rc = load_edge(c, cfg, drops, netns, false, tc);
		if (rc != -EPERM || !tc)
			break;
		tc = false;
	}
	if (rc) {
		probes_close(c);
		return trace_load_error(err, rc);
	}
	if (tc)
		c->tcx = tc_first_link(ifindex, BPF_TC_INGRESS,
				       bpf_program__fd(c->skel->progs.enter_tc));
	c->place = netns->leave ? "net_dev_start_xmit"
		   : c->tcx < 0 ? "netif_receive_skb"
				: "netif_receive_skb, tcx";
	*out = c;
	return 0;
}

const char *edge_place(const struct probes *c)
{
	return c->place;
}

void edge_detach(struct probes *c)
{
	link_close(&c->tcx);
	probe_bpf__detach(c->skel);
}

int edge_seen_fd(const struct probes *c)
{
	return bpf_map__fd(c->skel->maps.seen);
}

void probes_close(struct probes *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < PROBES; i++)
		tc_first_detach(&c->at[i]);
	link_close(&c->tcx);
	probe_bpf__destroy(c->skel);
	free(c);
}
