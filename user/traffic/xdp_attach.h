/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attaching an XDP program by a BPF link, which the kernel undoes when this process ends. */
#ifndef PKTLEDGER_TRAFFIC_XDP_ATTACH_H
#define PKTLEDGER_TRAFFIC_XDP_ATTACH_H

#include <stdbool.h>

#include "base/err.h"

struct xdp_attached {
	int link;    /* to be closed; -1: not attached */
	bool native; /* in the driver; else generic */
};

/*
 * To a device of this thread's namespace: native if the driver can (which may take the link down
 * for a moment), else or if `skb_mode` generic.
 */
int xdp_attach(struct xdp_attached *at, int prog_fd, const char *ifname, bool skb_mode,
	       struct error *err);

/* It was attached, and the device has gone since (xdp_dev_bpf_prog_uninstall()). */
bool xdp_device_gone(const struct xdp_attached *at);

#endif
