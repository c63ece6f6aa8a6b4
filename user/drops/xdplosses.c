// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/watch.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>


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
		.flags = key->kind == XDPLOSS_DEVMAP && key->from == LOOPBACK_IFINDEX ? WATCH_LIVE
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
