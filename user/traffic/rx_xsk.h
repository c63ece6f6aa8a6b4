/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receiving engine on AF_XDP, behind rx.h. Its packets come by the program of xsk_prog.h,
 * whose XSKMAP is rx_config.xsk_map_fd; open() enters the socket there, close() takes it out.
 *
 * There are twice as many frames as the RX ring has descriptors, all of them on the fill ring or in
 * the RX ring: a reader that is too slow meets a full RX ring (rx_ring_full) before the fill ring
 * can run empty. XDP_STATISTICS counts the packets of rx_fill_ring_empty in rx_dropped once more:
 * never add the two.
 */
#ifndef PKTLEDGER_TRAFFIC_RX_XSK_H
#define PKTLEDGER_TRAFFIC_RX_XSK_H

#include "traffic/rx.h"

#define RX_XSK_FRAMES 8192
#define RX_XSK_BATCH  64

#endif
