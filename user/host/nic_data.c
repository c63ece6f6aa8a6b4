// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/nic_data.h"

#include <stddef.h>

#define ETH "drivers/net/ethernet/"

const struct nic_driver nic_drivers[] = {
	{"ixgbe", ETH "intel/ixgbe/ixgbe_main.c (ixgbe_update_stats)", nic_rows_ixgbe},
	{"i40e", ETH "intel/i40e/i40e_main.c (i40e_update_vsi_stats)", nic_rows_i40e},
	{"ice", ETH "intel/ice/ice_main.c (ice_update_vsi_stats)", nic_rows_ice},
	{"iavf ixgbevf", ETH "intel/iavf/iavf_virtchnl.c (VIRTCHNL_OP_GET_STATS)", nic_rows_iavf},
	{"igb igc", ETH "intel/igb/igb_main.c (igb_update_stats)", nic_rows_igb},
	{"e1000e e1000", ETH "intel/e1000e/netdev.c (e1000e_update_stats)", nic_rows_e1000},
	{"mlx5_core mlx5e_rep", ETH "mellanox/mlx5/core/en_stats.c", nic_rows_mlx5},
	{"mlx4_en", ETH "mellanox/mlx4/en_port.c (mlx4_en_DUMP_ETH_STATS)", nic_rows_mlx4},
	{"bnxt_en", ETH "broadcom/bnxt/bnxt.c (bnxt_get_stats64)", nic_rows_bnxt},
	{"tg3", ETH "broadcom/tg3.c (tg3_get_nstats)", nic_rows_tg3},
	{"bnx2x", ETH "broadcom/bnx2x/bnx2x_stats.c (bnx2x_net_stats_update)", nic_rows_bnx2x},
	{"bnx2", ETH "broadcom/bnx2.c (bnx2_get_stats64)", nic_rows_bnx2},
	{"sfc sfc_ef100 sfc-siena sfc-falcon", ETH "sfc/ef10.c (efx_ef10_update_stats_common)",
	 nic_rows_sfc},
	{"be2net", ETH "emulex/benet/be_main.c (be_get_stats64)", nic_rows_be2net},
	{"r8169", ETH "realtek/r8169_main.c (rtl8169_get_stats64)", nic_rows_r8169},
	{"8139cp", ETH "realtek/8139cp.c (__cp_get_stats)", nic_rows_8139cp},
	{"8139too", ETH "realtek/8139too.c (rtl8139_get_stats64)", nic_rows_8139too},
	{"ena", ETH "amazon/ena/ena_ethtool.c", nic_rows_ena},
	{"gve", ETH "google/gve/gve_ethtool.c", nic_rows_gve},
	{"hv_netvsc", "drivers/net/hyperv/netvsc_drv.c (netvsc_get_stats64)", nic_rows_netvsc},
	{"virtio_net", "drivers/net/virtio_net.c (virtnet_stats)", nic_rows_virtio},
	{"vmxnet3", "drivers/net/vmxnet3/vmxnet3_ethtool.c (vmxnet3_get_stats64)",
	 nic_rows_vmxnet3},
	{"veth", "drivers/net/veth.c (veth_get_stats64, veth_xdp_rcv)", nic_rows_veth},
	{"tun", "drivers/net/tun.c (tun_net_get_stats64)", nic_rows_tun},
	{"bridge bonding team dummy ifb 802.1Q macvlan macvtap ipvlan vxlan geneve",
	 "devices of software; those of ports and lower devices are in them", nic_rows_software},
};

const unsigned nic_driver_count = sizeof(nic_drivers) / sizeof(nic_drivers[0]);

/* What other counters of a queue tell its packets too: the same are not to be added again. */
#define QUEUE_RX                                                                                   \
	"rx_queue_#_packets|rx#_packets|rx-#.packets|rx-#.rx_packets|[#]: rx_ucast_packets|"       \
	"queue_#_rx_cnt|rxq#: rx_pkts"
#define QUEUE_TX                                                                                   \
	"tx_queue_#_packets|tx#_packets|tx-#.packets|tx-#.tx_packets|[#]: tx_ucast_packets|"       \
	"queue_#_tx_cnt|txq#: tx_pkts"

#define TRAFFIC(counter_, cause_, ...)                                                             \
	NIC_ROW(counter_, TRAFFIC, NONE, cause_, "passed", ##__VA_ARGS__)

const struct nic_row nic_common_rows[] = {
	TRAFFIC("rx_queue_#_packets", RX_PACKETS),
	TRAFFIC("rx_queue_#_bytes", RX_BYTES),
	TRAFFIC("tx_queue_#_packets", TX_PACKETS),
	TRAFFIC("tx_queue_#_bytes", TX_BYTES),
	TRAFFIC("rx_queue_#_xdp_packets", RX_PACKETS, .repeats = "rx_queue_#_packets"), /* veth */
	TRAFFIC("rx_queue_#_xdp_bytes", RX_BYTES, .repeats = "rx_queue_#_bytes"),
	TRAFFIC("rx#_packets", RX_PACKETS),
	TRAFFIC("rx#_bytes", RX_BYTES),
	TRAFFIC("tx#_packets", TX_PACKETS),
	TRAFFIC("tx#_bytes", TX_BYTES),
	TRAFFIC("rx-#.packets", RX_PACKETS),
	TRAFFIC("rx-#.bytes", RX_BYTES),
	TRAFFIC("tx-#.packets", TX_PACKETS),
	TRAFFIC("tx-#.bytes", TX_BYTES),
	TRAFFIC("rx-#.rx_packets", RX_PACKETS),
	TRAFFIC("rx-#.rx_bytes", RX_BYTES),
	TRAFFIC("tx-#.tx_packets", TX_PACKETS),
	TRAFFIC("tx-#.tx_bytes", TX_BYTES),
	TRAFFIC("[#]: rx_ucast_packets", RX_PACKETS),
	TRAFFIC("[#]: rx_mcast_packets", RX_PACKETS),
	TRAFFIC("[#]: rx_bcast_packets", RX_PACKETS),
	TRAFFIC("[#]: rx_ucast_bytes", RX_BYTES),
	TRAFFIC("[#]: rx_mcast_bytes", RX_BYTES),
	TRAFFIC("[#]: rx_bcast_bytes", RX_BYTES),
	TRAFFIC("[#]: tx_ucast_packets", TX_PACKETS),
	TRAFFIC("[#]: tx_mcast_packets", TX_PACKETS),
	TRAFFIC("[#]: tx_bcast_packets", TX_PACKETS),
	TRAFFIC("[#]: tx_ucast_bytes", TX_BYTES),
	TRAFFIC("[#]: tx_mcast_bytes", TX_BYTES),
	TRAFFIC("[#]: tx_bcast_bytes", TX_BYTES),
	TRAFFIC("queue_#_rx_cnt", RX_PACKETS), /* ena */
	TRAFFIC("queue_#_rx_bytes", RX_BYTES),
	TRAFFIC("queue_#_tx_cnt", TX_PACKETS),
	TRAFFIC("queue_#_tx_bytes", TX_BYTES),
	TRAFFIC("rx_bytes[#]", RX_BYTES), /* gve tells descriptors, not packets */
	TRAFFIC("tx_bytes[#]", TX_BYTES),
	TRAFFIC("ucast pkts rx", RX_PACKETS), /* vmxnet3 */
	TRAFFIC("mcast pkts rx", RX_PACKETS),
	TRAFFIC("bcast pkts rx", RX_PACKETS),
	TRAFFIC("ucast bytes rx", RX_BYTES),
	TRAFFIC("mcast bytes rx", RX_BYTES),
	TRAFFIC("bcast bytes rx", RX_BYTES),
	TRAFFIC("ucast pkts tx", TX_PACKETS),
	TRAFFIC("mcast pkts tx", TX_PACKETS),
	TRAFFIC("bcast pkts tx", TX_PACKETS),
	TRAFFIC("ucast bytes tx", TX_BYTES),
	TRAFFIC("mcast bytes tx", TX_BYTES),
	TRAFFIC("bcast bytes tx", TX_BYTES),
	TRAFFIC("rxq#: rx_pkts", RX_PACKETS), /* be2net */
	TRAFFIC("rxq#: rx_bytes", RX_BYTES),
	TRAFFIC("txq#: tx_pkts", TX_PACKETS),
	TRAFFIC("txq#: tx_bytes", TX_BYTES),
	TRAFFIC("qstat:rx-#-packets", RX_PACKETS, .repeats = QUEUE_RX),
	TRAFFIC("qstat:rx-#-bytes", RX_BYTES, .repeats = QUEUE_RX "|rx_bytes[#]"),
	TRAFFIC("qstat:tx-#-packets", TX_PACKETS, .repeats = QUEUE_TX),
	TRAFFIC("qstat:tx-#-bytes", TX_BYTES, .repeats = QUEUE_TX "|tx_bytes[#]"),

	/* netdev-genl says the same of all drivers (Documentation/netlink/specs/netdev.yaml). */
	NIC_ROW("qstat:rx-hw-drops", LOSS, NIC_RING, RING,
		"entered the device and never left it (rx-hw-drops)"),
	NIC_SAME("qstat:rx-#-hw-drops", "qstat:rx-hw-drops"),
	NIC_ROW("qstat:rx-hw-drop-overruns", LOSS, NIC_RING, RING,
		"no buffer or descriptor (rx-hw-drop-overruns)", .repeats = "qstat:rx-hw-drops"),
	NIC_SAME("qstat:rx-#-hw-drop-overruns", "qstat:rx-hw-drop-overruns|qstat:rx-hw-drops"),
	NIC_ROW("qstat:rx-hw-drop-ratelimits", LOSS, NIC_RING, SHAPER,
		"faster than the device's limit (rx-hw-drop-ratelimits)",
		.repeats = "qstat:rx-hw-drops"),
	NIC_SAME("qstat:rx-#-hw-drop-ratelimits", "qstat:rx-hw-drop-ratelimits|qstat:rx-hw-drops"),
	NIC_REFILL("qstat:rx-alloc-fail"),
	NIC_REFILL("qstat:rx-#-alloc-fail", .repeats = "qstat:rx-alloc-fail"),
	NIC_ROW("qstat:rx-csum-bad", EVENT, NONE, CSUM,
		"wrong IP, TCP or UDP checksum; the stack gets the packet and decides"),
	NIC_ROW("qstat:tx-hw-drops", LOSS, TX_DEVICE, SEND,
		"reached the device and never left it (tx-hw-drops)"),
	NIC_ROW("qstat:tx-#-hw-drops", LOSS, TX_DEVICE, SEND, "the same packets again",
		.repeats = "qstat:tx-hw-drops"),
	NIC_ROW("qstat:tx-hw-drop-errors", LOSS, TX_DEVICE, SEND, "malformed (tx-hw-drop-errors)",
		.repeats = "qstat:tx-hw-drops"),
	NIC_ROW("qstat:tx-hw-drop-ratelimits", LOSS, TX_DEVICE, SHAPER,
		"faster than the device's limit (tx-hw-drop-ratelimits)",
		.repeats = "qstat:tx-hw-drops"),

	/*
	 * IFLA_STATS64 where the driver's own rows say nothing. The core adds what the stack
	 * dropped to both `dropped` (dev_get_stats()), and those have events.
	 */
	NIC_ROW("link:rx_dropped", BOUND, NIC_RING, OTHER,
		"the stack dropped it, or the driver for want of memory", .events = NIC_EV_ALL),
	NIC_ROW("link:tx_dropped", LOSS, TX_DEVICE, SEND, "the driver could not send it",
		.events = NIC_EV_ALL),
	NIC_ROW("link:tx_carrier_errors", LOSS, TX_DEVICE, SEND, "the link was lost while sending"),
	NIC_ROW("link:tx_fifo_errors", BOUND, TX_DEVICE, SEND,
		"the device ran out of data or room"),
	NIC_SPOILT("link:rx_crc_errors"),
	NIC_SPOILT("link:rx_length_errors"),
	NIC_SPOILT("link:rx_frame_errors"),
	NIC_END,
};

/*
 * Of a driver that nobody has read: what the three fields are meant to say
 * (Documentation/networking/statistics.rst), though drivers often put one loss in several.
 */
const struct nic_row nic_unknown_rows[] = {
	NIC_ROW("link:rx_missed_errors", LOSS, NIC_RING, RING, "the device had no room",
		.largest = true),
	NIC_ROW("link:rx_fifo_errors", LOSS, NIC_RING, RING, "the device had no room",
		.largest = true),
	NIC_ROW("link:rx_over_errors", LOSS, NIC_RING, RING, "the device had no room",
		.largest = true),
	NIC_ROW("link:rx_dropped", BOUND, NIC_RING, OTHER,
		"the device had no room, or the driver no memory", .events = NIC_EV_KFREE,
		.places = NIC_STACK_PLACES),
	NIC_END,
};
