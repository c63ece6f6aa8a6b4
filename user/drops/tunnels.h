/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tunnels of this host, for filters that are applied to what is inside (--inner). GRE and IP in IP
 * are known by their IP protocol; VXLAN and Geneve by the UDP port.
 */
#ifndef PKTLEDGER_DROPS_TUNNELS_H
#define PKTLEDGER_DROPS_TUNNELS_H

#include "base/err.h"
#include "filter_abi.h"
#include "watch_abi.h"

/*
 * Those ports: 4789 and 6081 (RFC 7348, 8926), 8472, which Linux takes where none is given, and
 * those of the VXLAN and Geneve devices that any namespace has by now. STATUS_UNABLE: they are more
 * than TUNNEL_PORTS.
 */
int tunnels_find(struct filter_inner *out, struct error *err);

/* "vxlan 42", "gre" ..., of a flow in a tunnel; "" of any other. Returns `buf`. */
#define TUNNEL_TEXT 32
char *tunnel_text(const struct watch_flow *f, char buf[TUNNEL_TEXT]);

#endif
