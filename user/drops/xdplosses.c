// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "host/load.h"
#include "trace_abi.h"
#include "xdp.skel.h"

struct xdplosses {
	struct xdp_bpf *skel;
	char missing[160];
};

/* Tracepoints and the number of arguments the programs expect, the same in Linux 6.1 to 7.x. */
static const struct {
	const char *program, *tracepoint;
	int args;
} observers[] = {
	{"xdplosses_redirect", "xdp_redirect_err", 7},
	{"xdplosses_exception", "xdp_exception", 3},
	{"xdplosses_devmap", "xdp_devmap_xmit", 5},
	{"xdplosses_bulk_tx", "xdp_bulk_tx", 4},
	{"xdplosses_cpumap_enqueue", "xdp_cpumap_enqueue", 4},
	{"xdplosses_cpumap_kthread", "xdp_cpumap_kthread", 5},
};

static void find_observers(struct xdplosses *x, const struct reasons *r)
{
	size_t len = 0;

	for (unsigned i = 0; i < sizeof(observers) / sizeof(*observers); i++) {
		bool fits =
			reasons_tracepoint_args(r, observers[i].tracepoint) == observers[i].args;

		bpf_program__set_autoload(
			bpf_object__find_program_by_name(x->skel->obj, observers[i].program), fits);
		if (!fits)
			len += snprintf(x->missing + len, sizeof(x->missing) - len, "%s%s",
					len ? " " : "", observers[i].tracepoint);
	}
}

int xdplosses_open(struct xdplosses **out, const struct reasons *r, struct error *err)
{
	struct xdplosses *x = mem_new(x);
	int rc;

	x->skel = xdp_bpf__open_opts(trace_open_opts());
	rc = x->skel ? 0 : -errno;
	if (!rc) {
		find_observers(x, r);
		rc = xdp_bpf__load(x->skel);
	}
	if (rc)
		xdplosses_close(x);
	else
		*out = x;
	return trace_load_error(err, rc);
}

int xdplosses_attach(struct xdplosses *x, const struct trace_places *places, struct error *err)
{
	x->skel->bss->on_skb = places->xdp[0];
	return trace_load_error(err, xdp_bpf__attach(x->skel));
}

const char *xdplosses_missing(const struct xdplosses *x)
{
	return x->missing;
}

int xdplosses_read(const struct xdplosses *x, struct xdploss *out, int max)
{
	const struct bpf_map *map = x->skel->maps.xdp_counts;
	struct xdploss_key key, *prev = NULL;
	int n = 0;

	/* keys are never deleted, so the walk cannot repeat or skip one */
	while (n < max && !bpf_map_get_next_key(bpf_map__fd(map), prev, &key)) {
		prev = &key;
		out[n].key = key;
		n += !trace_sum(map, &key, &out[n].count, sizeof(out[n].count));
	}
	return n;
}

uint64_t xdplosses_uncounted(const struct xdplosses *x)
{
	struct xdploss_own sum;
	const __u32 zero = 0;

	trace_sum(x->skel->maps.xdp_own, &zero, &sum, sizeof(sum));
	return sum.uncounted;
}

const char *xdplosses_device(const struct xdplosses *x, uint32_t netns, uint32_t ifindex, char *buf)
{
	struct watch_dev_key key = {netns, ifindex};
	struct watch_dev dev;

	buf[0] = '\0';
	if (!bpf_map_lookup_elem(bpf_map__fd(x->skel->maps.xdp_devs), &key, &dev))
		snprintf(buf, WATCH_IFNAME, "%s", dev.name);
	return buf;
}

/* `info`: information about a kernel object, with its name at `name`. Closes `fd`. */
static const char *with_id(int fd, void *info, __u32 len, char *name, uint32_t id, char *buf,
			   unsigned size)
{
	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, info, &len))
		name[0] = '\0';
	if (fd >= 0)
		close(fd);
	snprintf(buf, size, id ? "%s[%u]" : "%s", name, id);
	return buf;
}

const char *xdplosses_program(uint32_t id, char *buf, unsigned size)
{
	struct bpf_prog_info info = {0};

	return with_id(id ? bpf_prog_get_fd_by_id(id) : -1, &info, sizeof(info), info.name, id, buf,
		       size);
}

const char *xdplosses_map(uint32_t id, char *buf, unsigned size)
{
	struct bpf_map_info info = {0};

	return with_id(id ? bpf_map_get_fd_by_id(id) : -1, &info, sizeof(info), info.name, id, buf,
		       size);
}

void xdplosses_close(struct xdplosses *x)
{
	if (!x)
		return;
	xdp_bpf__destroy(x->skel);
	free(x);
}

static const struct {
	unsigned observer;
	const char *tracepoint;
	const char *note; /* NULL: use the stage map's note */
} kinds[XDPLOSS_KINDS] = {
	[XDPLOSS_REDIRECT] = {OBSERVER_REDIRECT_ERR, "xdp_redirect_err", NULL},
	[XDPLOSS_EXCEPTION] = {OBSERVER_XDP_EXCEPTION, "xdp_exception",
			       "the XDP program returned an invalid verdict "
			       "(bpf_warn_invalid_xdp_action)"},
	[XDPLOSS_DEVMAP] = {OBSERVER_DEVMAP_XMIT, "xdp_devmap_xmit", NULL},
	[XDPLOSS_BULK_TX] = {OBSERVER_BULK_TX, "xdp_bulk_tx", NULL},
	[XDPLOSS_CPUMAP_QUEUE] = {OBSERVER_CPUMAP, "xdp_cpumap_enqueue", NULL},
	[XDPLOSS_CPUMAP_ALLOC] = {OBSERVER_CPUMAP, "xdp_cpumap_kthread",
				  "no memory on the target CPU (cpu_map_kthread_run)"},
	[XDPLOSS_CPUMAP_PROGRAM] = {OBSERVER_CPUMAP, "xdp_cpumap_kthread",
				    "the cpumap's program ended it, or its redirect failed "
				    "(cpu_map_bpf_prog_run)"},
};

struct verdict xdplosses_judge(const struct xdploss_key *key, enum xdploss_mode mode)
{
	const struct stagemap_event e = {
		.reason = "",
		.location = "",
		.aux = "",
		.observer = kinds[key->kind].observer,
		/*
		 * frames sent by BPF_PROG_RUN appear to arrive from lo: they come from a sender and
		 * were not received
		 */
		.flags = key->kind == XDPLOSS_DEVMAP && key->from == LOOPBACK_IFINDEX ? CAUSE_LIVE
										      : 0,
		.error = -key->err,
		.map_type = key->map_type,
	};
	struct verdict v = stagemap_judge(&e);

	if (kinds[key->kind].note)
		v.note = kinds[key->kind].note;
	if (key->kind == XDPLOSS_EXCEPTION && key->act == XDP_ABORTED)
		v.note = "the XDP program aborted (trace_xdp_exception)";
	else if (key->kind == XDPLOSS_EXCEPTION && key->act == XDP_TX)
		v.note = "XDP_TX failed: no room for the frame (trace_xdp_exception)";
	/* another event, or another key here, reports the same packets */
	if (key->flags & (XDPLOSS_MAP_PROG | XDPLOSS_SKB) ||
	    (key->flags & XDPLOSS_GENERIC &&
	     (mode == XDPLOSS_BESIDE_KFREE || key->kind != XDPLOSS_REDIRECT)))
		v.class = CLASS_NONE;
	return v;
}

const char *xdplosses_reason(const struct xdploss_key *key)
{
	static const char *const acts[] = {"ABORTED", "DROP", "PASS", "TX", "REDIRECT"};
	const char *name;

	if (key->kind == XDPLOSS_EXCEPTION)
		return key->act <= XDP_REDIRECT ? acts[key->act] : "INVALID";
	name = key->err ? strerrorname_np(-key->err) : "";
	return name ? name : "";
}

const char *xdplosses_location(const struct xdploss_key *key)
{
	return kinds[key->kind].tracepoint;
}
