/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What tx_xsk.c does differently for shaped traffic: a descriptor is no longer a number. Used by
 * tx_xsk.c only.
 */
#ifndef PKTLEDGER_TRAFFIC_TX_XSK_SHAPED_H
#define PKTLEDGER_TRAFFIC_TX_XSK_SHAPED_H

#include "traffic/tx.h"
#include "traffic/xsk_socket.h"

struct xsk_shaped;

/* The port is open, its TX frames are free. `cfg` and `port` are borrowed. */
int xsk_shaped_open(struct xsk_shaped **x, const struct tx_config *cfg, struct xsk_port *port,
		    struct error *err);
void xsk_shaped_close(struct xsk_shaped *x);

/* Positions of the schedule that are handed over, of which `consumed` descriptors are closed. */
uint64_t xsk_shaped_backlog(const struct xsk_shaped *x);

/* Writes the frames of at most `n` positions. Returns how many descriptors that made. */
unsigned xsk_shaped_submit(struct xsk_shaped *x, unsigned n);

/*
 * Moves the stream over what is done now that the kernel consumed `consumed` descriptors since
 * open. Returns how many numbers that closed.
 */
unsigned xsk_shaped_consume(struct xsk_shaped *x, uint64_t consumed);

/* Closes what was handed over and may or may not have been sent: fail() of each. */
void xsk_shaped_fail_rest(struct xsk_shaped *x);

void xsk_shaped_stats(const struct xsk_shaped *x, struct tx_stats *st);

#endif
