/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What pktledger itself can do on this host. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_SELF_H
#define PKTLEDGER_DIAGNOSIS_FACTS_SELF_H

#include <stdbool.h>

#include "host/netns.h"

struct facts_self {
	bool btf;
	char missing_caps[96]; /* "": none */
	unsigned reasons;      /* that the kernel gives for drops; 0: none, places only */
	bool drop_socket;      /* it tells which socket a packet was dropped for (Linux 6.11) */
	bool af_xdp;
	bool xdp_features; /* it tells what drivers can do (netdev-genl, Linux 6.3) */
};

/* Genl families are looked for in `ns`. */
void facts_self_read(const struct netns *ns, struct facts_self *self);

#endif
