/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows of the counter table, by maker. Read in the drivers of Linux 6.18, and checked against
 * recorded output; where older kernels differ, the row says so.
 */
#ifndef PKTLEDGER_HOST_NIC_DATA_H
#define PKTLEDGER_HOST_NIC_DATA_H

#include "host/nic.h"

#define NIC_ROW(counter_, class_, stage_, cause_, what_, ...)                                      \
	{                                                                                          \
		.counter = (counter_), .class = NIC_##class_, .stage = STAGE_##stage_,             \
		.cause = NIC_##cause_, .what = (what_), ##__VA_ARGS__                              \
	}
#define NIC_END                                                                                    \
	{                                                                                          \
		.counter = NULL                                                                    \
	}

/* The same with every driver that has them. */
#define NIC_PAUSED(counter_)                                                                       \
	NIC_ROW(counter_, EVENT, NONE, PAUSE, "the other end asked to wait, and sending stopped")
#define NIC_PAUSES(counter_)                                                                       \
	NIC_ROW(counter_, EVENT, NONE, PAUSE,                                                      \
		"the other end was asked to wait: this port's buffer was filling up")
#define NIC_SPOILT(counter_, ...)                                                                  \
	NIC_ROW(counter_, LOSS, WIRE, DAMAGED, "the frame came damaged or with a wrong length",    \
		##__VA_ARGS__)
#define NIC_BAD_SUM(counter_)                                                                      \
	NIC_ROW(counter_, EVENT, NONE, CSUM,                                                       \
		"wrong IP, TCP or UDP checksum; the stack gets the packet and decides")
#define NIC_REFILL(counter_, ...)                                                                  \
	NIC_ROW(counter_, EVENT, NIC_RING, ALLOC,                                                  \
		"no memory for a receive buffer; the ring runs empty if it goes on",               \
		##__VA_ARGS__)
#define NIC_SAME(counter_, owners, ...)                                                            \
	NIC_ROW(counter_, LOSS, NIC_RING, RING, "the same packets again", .repeats = (owners),     \
		##__VA_ARGS__)

/* Where the core adds to a device's rx_dropped what it drops itself (netdev_core_stats). */
#define NIC_STACK_PLACES "__netif_receive_skb* enqueue_to_backlog netif_rx* __netif_rx*"

extern const struct nic_row nic_rows_ixgbe[], nic_rows_i40e[], nic_rows_ice[], nic_rows_iavf[],
	nic_rows_igb[], nic_rows_e1000[];
extern const struct nic_row nic_rows_mlx5[], nic_rows_mlx4[], nic_rows_bnxt[], nic_rows_tg3[],
	nic_rows_bnx2x[], nic_rows_bnx2[], nic_rows_sfc[], nic_rows_be2net[], nic_rows_r8169[],
	nic_rows_8139cp[], nic_rows_8139too[];
extern const struct nic_row nic_rows_ena[], nic_rows_gve[], nic_rows_netvsc[], nic_rows_virtio[],
	nic_rows_vmxnet3[], nic_rows_veth[], nic_rows_tun[], nic_rows_software[];

#endif
