/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How an application numbers its packets, as people write it (--seq). */
#ifndef PKTLEDGER_DROPS_NUMBERING_H
#define PKTLEDGER_DROPS_NUMBERING_H

#include "base/err.h"
#include "drops/balance.h"

/*
 * "rtp" (RFC 3550), or OFFSET:BYTES[:STEP]: a big-endian counter of 1 to 8 bytes at that offset of
 * the payload, which grows by STEP (1) from packet to packet. STATUS_USAGE.
 */
int numbering_parse(const char *text, struct balance_numbering *out, struct error *err);

#endif
