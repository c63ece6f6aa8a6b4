/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From what a user names to the numbers that the observer filters by. */
#ifndef PKTLEDGER_MONITOR_RESOLVE_H
#define PKTLEDGER_MONITOR_RESOLVE_H

#include "monitor/live.h"

/*
 * Fills the kernel's part of the filters: namespace, device, reasons, whether a socket is needed,
 * what to tell apart. The expression is left to the caller. STATUS_USAGE or STATUS_UNABLE.
 */
int resolve_spec(const struct live_spec *spec, const struct reasons *r, struct watch_spec *out,
		 struct error *err);

/*
 * True if something that `spec` names is gone, or is another one of the same name: `what` is then
 * its kind and name. `netns` and `ifindex` are those that resolve_spec() found.
 */
bool resolve_gone(const struct live_spec *spec, uint32_t netns, uint32_t ifindex, char *what,
		  size_t size);

/* The namespace of `spec`, or the thread's own; to be closed with netns_close(). As above. */
int resolve_netns(const struct live_spec *spec, struct netns *ns, struct error *err);

#endif
