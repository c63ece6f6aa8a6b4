// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/border.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "border.skel.h"
#include "border_old.skel.h"
#include "host/load.h"
#include "drops/tc_first.h"

struct border {
	struct border_bpf *skel;
	struct bpf_link *leave, *enter;
	int tcx; /* a link; below 0: none */
};

/*
 * `paged`: the program reads stamps in pages (bpf/paged.bpf.h). `tc`: that of the device, too,
 * which needs CAP_NET_ADMIN.
 */
static int load(struct border *b, const struct trace_config *cfg, const struct drops *drops,
		const struct border_netns *netns, bool paged, bool tc)
{
	uint64_t pages = cfg->streams * cfg->window >> TRACE_PAGE_BITS;
	int rc;

	b->skel = calloc(1, sizeof(*b->skel));
	if (!b->skel)
		return -ENOMEM;
	rc = border_bpf__create_skeleton(b->skel);
	if (!rc)
		rc = trace_open(b->skel->skeleton, paged ? NULL : border_old_bpf__elf_bytes);
	if (rc)
		goto out;
	memcpy((void *)&b->skel->rodata->cfg, cfg, sizeof(*cfg));
	if (cfg->learn)
		b->skel->rodata->cfg.learn = LEARN_TAKE;
	bpf_map__set_max_entries(b->skel->maps.seen, (__u32)pages);
	b->skel->rodata->leave_netns = netns->leave;
	b->skel->rodata->enter_netns = netns->enter;
	bpf_program__set_autoload(b->skel->progs.leave, netns->leave);
	bpf_program__set_autoload(b->skel->progs.enter, netns->enter);
	bpf_program__set_autoload(b->skel->progs.enter_tc, tc);
	rc = drops_share(drops, b->skel->obj);
	if (!rc)
		rc = border_bpf__load(b->skel);
	if (!rc && netns->leave && !(b->leave = bpf_program__attach(b->skel->progs.leave)))
		rc = -errno;
	if (!rc && netns->enter && !(b->enter = bpf_program__attach(b->skel->progs.enter)))
		rc = -errno;
out:
	if (rc) {
		bpf_link__destroy(b->leave);
		border_bpf__destroy(b->skel);
		b->leave = NULL;
		b->skel = NULL;
	}
	return rc;
}

/* As this kernel can. */
static int load_newest(struct border *b, const struct trace_config *cfg, const struct drops *drops,
		       const struct border_netns *netns, bool tc)
{
	int rc = load(b, cfg, drops, netns, true, tc);

	return trace_load_again(rc) ? load(b, cfg, drops, netns, false, tc) : rc;
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
	border_bpf__destroy(b->skel);
	free(b);
}
