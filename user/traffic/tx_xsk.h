/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sending engine on AF_XDP, behind tx.h. Frames are filled once, when the engine opens; a send
 * rewrites the stamp alone. It needs no XDP program on the device (drivers that need one for zero
 * copy fall back to copying).
 *
 * When is a number closed? When the kernel consumed its descriptor, which is in ring order:
 *
 * - Zero-copy: the driver took it; the ring's consumer index tells.
 * - Copying, all work is done in our own sendto() (__xsk_generic_xmit()): EAGAIN: the first
 *   descriptor not consumed could not be sent now and stays. EBUSY: the last one consumed was
 *   dropped by the device; its skb was freed there, which observers see. From 6.17 on the consumer
 *   index is right when sendto() returns, but for an EBUSY of the call's first descriptor, which
 *   shows with a later call. Before 6.17 it moves only when the kernel has worked off all that it
 *   saw when it looked last; completions, which never precede consumption, then tell more.
 *   So what we take for consumed is never too much, and exact as soon as the ring is drained.
 *
 * What finish() finds never consumed is taken back if that is certain; else (zero-copy, or before
 * 6.17) its numbers are closed by fail() with EAGAIN, and an observer decides.
 *
 * finish() ends the engine: send() must not be called after it.
 *
 * socket_send.no_wait has no effect: a descriptor that waits in the ring keeps its number.
 */
#ifndef PKTLEDGER_TRAFFIC_TX_XSK_H
#define PKTLEDGER_TRAFFIC_TX_XSK_H

#include "traffic/tx.h"

#define TX_XSK_FLOWS_MAX 16384 /* per thread: every flow has a frame of its own */

#endif
