/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verdicts of an XDP program that is not ours, by fexit on it. Not every kernel or host allows
 * that, the program needs BTF, and every packet that it sees pays some 20 ns.
 */
#ifndef PKTLEDGER_DROPS_XDPVERDICTS_H
#define PKTLEDGER_DROPS_XDPVERDICTS_H

#include <stdint.h>

#include "base/err.h"
#include "xdpverdicts_abi.h"

struct xdpverdicts;

/* From here on they are counted. STATUS_UNABLE: kernel, capability, or a program without BTF. */
int xdpverdicts_open(struct xdpverdicts **v, uint32_t prog_id, struct error *err);

/* Of a device, by enum xdp_action, since xdpverdicts_open(); zeros: it saw no packet there. */
int xdpverdicts_read(const struct xdpverdicts *v, uint32_t netns, uint32_t ifindex,
		     uint64_t packets[XDPVERDICTS]);

void xdpverdicts_close(struct xdpverdicts *v);

#endif
