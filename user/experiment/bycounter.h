/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Losses of which no event tells, but a counter does. */
#ifndef PKTLEDGER_EXPERIMENT_BYCOUNTER_H
#define PKTLEDGER_EXPERIMENT_BYCOUNTER_H

#include "ledger/countercheck.h"
#include "experiment/rig.h"

/*
 * Settles as many of the numbers that are still open as a counter tells of, if the receiver's
 * device received nothing but this flow: by number such a loss is not known. The stage's source is
 * `counter` then.
 *
 * nic_ring: what the NIC between two ports of this host had no room for never was an skb. Open
 * numbers that were seen behind the NIC have passed it.
 *
 * xdp: a frame that never was an skb (of the sending engine `xdp`) and that a foreign XDP program
 * drops in the driver leaves no event; the driver's counter knows it (veth_xdp_rcv_one()). What
 * that counter moved beyond our own program's verdicts are numbers that entered the device.
 */
void settle_by_counter(const struct countercheck *second, const struct counters_deltas *deltas,
		       const struct rig *rig, struct result *res);

/*
 * Where a timer that frees fragments is the only loss: numbers that are open because no event told
 * of it, although the counter did (ip_expire(), ip6frag_expire_frag_queue()). They stay open, with
 * that as evidence in own_losses.
 */
void name_unseen_timeouts(const struct counters_deltas *deltas, struct result *res);

#endif
