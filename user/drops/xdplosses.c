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
	const char *tracepoint; /* NULL: the observer's */
	const char *note;	/* NULL: use the stage map's note */
} kinds[XDPLOSS_KINDS] = {
	[XDPLOSS_REDIRECT] = {OBSERVER_REDIRECT_ERR, NULL, NULL},
	[XDPLOSS_EXCEPTION] = {OBSERVER_XDP_EXCEPTION, NULL,
			       "the XDP program returned an invalid verdict "
			       "(bpf_warn_invalid_xdp_action)"},
	[XDPLOSS_DEVMAP] = {OBSERVER_DEVMAP_XMIT, NULL, NULL},
	[XDPLOSS_BULK_TX] = {OBSERVER_BULK_TX, NULL, NULL},
	[XDPLOSS_CPUMAP_QUEUE] = {OBSERVER_CPUMAP, NULL, NULL},
	[XDPLOSS_CPUMAP_ALLOC] = {OBSERVER_CPUMAP, "xdp_cpumap_kthread",
				  "no memory on the target CPU (cpu_map_kthread_run)"},
	[XDPLOSS_CPUMAP_PROGRAM] = {OBSERVER_CPUMAP, "xdp_cpumap_kthread",
				    "the cpumap's program ended it, or its redirect failed "
				    "(cpu_map_bpf_prog_run)"},
};

void xdplosses_judge(struct judged_cause *c, const struct xdploss_key *key, enum xdploss_mode mode)
{
	static const char *const acts[] = {"ABORTED", "DROP", "PASS", "TX", "REDIRECT"};
	/*
	 * frames sent by BPF_PROG_RUN appear to arrive from lo: they come from a sender and were
	 * not received
	 */
	const bool live = key->kind == XDPLOSS_DEVMAP && key->from == LOOPBACK_IFINDEX;
	const struct watch_key cause = {.location = kinds[key->kind].observer,
					.aux = key->map_type,
					.reason = key->err,
					.flags = live ? WATCH_LIVE : 0};

	cause_name(c, &cause, false, NULL, NULL);
	if (kinds[key->kind].tracepoint)
		snprintf(c->location, sizeof(c->location), "%s", kinds[key->kind].tracepoint);
	if (kinds[key->kind].note)
		c->verdict.note = kinds[key->kind].note;
	if (key->kind == XDPLOSS_EXCEPTION)
		snprintf(c->reason, sizeof(c->reason), "%s",
			 key->act <= XDP_REDIRECT ? acts[key->act] : "INVALID");
	if (key->kind == XDPLOSS_EXCEPTION && key->act == XDP_ABORTED)
		c->verdict.note = "the XDP program aborted (trace_xdp_exception)";
	else if (key->kind == XDPLOSS_EXCEPTION && key->act == XDP_TX)
		c->verdict.note = "XDP_TX failed: no room for the frame (trace_xdp_exception)";
	/* another event, or another key here, reports the same packets */
	if (key->flags & (XDPLOSS_MAP_PROG | XDPLOSS_SKB) ||
	    (key->flags & XDPLOSS_GENERIC &&
	     (mode == XDPLOSS_BESIDE_KFREE || key->kind != XDPLOSS_REDIRECT)))
		c->verdict.class = CLASS_NONE;
}
