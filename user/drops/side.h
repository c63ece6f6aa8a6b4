/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On which side of a flow's books a drop is: of a packet that had entered the host and not left it
 * again, or of one that had not, or was on its way out. include/balance_abi.h says what entry and
 * exit are; the stage tells whether the packet was before or behind that checkpoint.
 */
#ifndef PKTLEDGER_DROPS_SIDE_H
#define PKTLEDGER_DROPS_SIDE_H

#include <stdbool.h>

#include "balance_abi.h"
#include "drops/stagemap.h"

/*
 * `location`: function of the kernel, as in struct stagemap_event. `role`: of skb->dev. `own`:
 * BALANCE_OWN is set. *sure is set to false where the stage map does not know the place, and the
 * side depends on it.
 */
enum balance_side side_of(const struct verdict *v, const char *location, enum balance_role role,
			  bool own, bool *sure);

#endif
