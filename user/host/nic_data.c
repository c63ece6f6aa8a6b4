// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Driver counters: one entry in nic_drivers[] per driver, ordered by manufacturer. Based on the
 * drivers in Linux 6.18 and checked against recorded output. Rows note where older kernels differ.
 */
#include <stddef.h>

#include "host/nic.h"

#define ROW(counter_, class_, stage_, cause_, what_, ...)                                          \
	{                                                                                          \
		.counter = (counter_), .class = NIC_##class_, .stage = STAGE_##stage_,             \
		.cause = NIC_##cause_, .what = (what_), ##__VA_ARGS__                              \
	}

/* Has the same meaning for every driver. */
#define PAUSED(counter_, ...)                                                                      \
	ROW(counter_, EVENT, NONE, PAUSE, "the other end sent a pause frame, and sending stopped", \
	    ##__VA_ARGS__)
#define PAUSES(counter_)                                                                           \
	ROW(counter_, EVENT, NONE, PAUSE,                                                          \
	    "this port sent a pause frame because its buffer was filling up")
#define SPOILT(counter_, ...)                                                                      \
	ROW(counter_, LOSS, WIRE, DAMAGED, "the frame came damaged or with a wrong length",        \
	    ##__VA_ARGS__)
#define BAD_SUM(counter_)                                                                          \
	ROW(counter_, EVENT, NONE, CSUM,                                                           \
	    "wrong IP, TCP or UDP checksum (the IP stack receives the packet and decides)")
#define REFILL(counter_, ...)                                                                      \
	ROW(counter_, EVENT, NIC_RING, ALLOC,                                                      \
	    "no memory for a receive buffer (the ring runs empty if this continues)", ##__VA_ARGS__)
#define SAME(counter_, owners, ...)                                                                \
	ROW(counter_, LOSS, NIC_RING, RING, "the same packets again", .repeats = (owners),         \
	    ##__VA_ARGS__)

/* Core functions that add their drops to an interface's rx_dropped (netdev_core_stats). */
#define STACK_PLACES "__netif_receive_skb* enqueue_to_backlog netif_rx* __netif_rx*"

#define ENA_ALLOWANCE(counter_, what_)                                                             \
	ROW(counter_, BOUND, WIRE, SHAPER,                                                         \
	    what_ "; the cloud delays or drops, and does not say which")

/* Common explanations. `its` is " (the hardware's name for it)" or "". */
#define NO_DESCRIPTOR(c, its) ROW(c, LOSS, NIC_RING, RING, "no receive descriptor was free" its)
#define NO_BUFFER(c, its)     ROW(c, LOSS, NIC_RING, RING, "no receive buffer was posted" its)
#define PORT_FULL(c, its)     ROW(c, LOSS, NIC_RING, PORT, "the port's buffer was full" its)
#define NIC_FULL(c)	      ROW(c, LOSS, NIC_RING, PORT, "the NIC's buffer was full")
#define NO_MEMORY(c, ...)     ROW(c, LOSS, NIC_RING, ALLOC, "no memory for the packet", ##__VA_ARGS__)
#define KEPT_MAYBE(c)                                                                              \
	ROW(c, EVENT, NIC_RING, RING,                                                              \
	    "no descriptor was free, the port may have kept the packet (RNBC)")
#define SHORTAGE(c, cause_, what_) ROW(c, EVENT, NIC_RING, cause_, what_)
#define FILTERED(c, what_)	   ROW(c, EVENT, NONE, FILTER, what_)
#define SPOILT_AGAIN(c, owners)	   SPOILT(c, .repeats = (owners))
#define SPOILT_AS(c, link)	   SPOILT(c), SPOILT_AGAIN("link:" link, c)
#define SPOILT_TWICE(c)		   SPOILT_AS(c, c)
#define AGAIN(c, class_, stage_, cause_, owners)                                                   \
	ROW(c, class_, stage_, cause_, "the same packets again", .repeats = (owners))
#define XDP_VERDICT(c, ...) ROW(c, LOSS, XDP, XDP, "verdict of the XDP program", ##__VA_ARGS__)
#define XDP_ENDED(c, ...)                                                                          \
	ROW(c, LOSS, XDP, XDP, "verdict of the XDP program, or its action failed", ##__VA_ARGS__)
/* The next three have their own events. */
#define XDP_FAULT(c, cause_, what_) ROW(c, LOSS, XDP, cause_, what_, .events = NIC_EV_ALL)
#define FRAME_REFUSED(c)	    XDP_FAULT(c, REDIRECT, "a redirected frame was rejected")
#define UNSENT(c, what_)	    ROW(c, LOSS, TX_DEVICE, SEND, what_, .events = NIC_EV_ALL)
#define UNSENT_SILENT(c, what_)	    ROW(c, LOSS, TX_DEVICE, SEND, what_)

#define XDP_FAILED (NIC_EV_EXCEPTION | NIC_EV_EXCEPTION_TX | NIC_EV_REDIRECT)

#define ETH	  "drivers/net/ethernet/"
#define ROWS(...) ((const struct nic_row[]){__VA_ARGS__, {.counter = NULL}})

const struct nic_driver nic_drivers[] = {
	/* ---- Intel ---- */
	{"ixgbe", ETH "intel/ixgbe/ixgbe_main.c (ixgbe_update_stats)",
	 ROWS(NO_DESCRIPTOR("rx_no_dma_resources", " (QPRDC)"),
	      PORT_FULL("rx_missed_errors", " (MPC)"),
	      SAME("link:rx_missed_errors", "rx_missed_errors"), KEPT_MAYBE("rx_no_buffer_count"),
	      FILTERED("fdir_miss", "no flow director rule for the packet: no loss"),
	      REFILL("alloc_rx_page_failed"), REFILL("alloc_rx_buff_failed"),
	      SPOILT_TWICE("rx_crc_errors"), SPOILT_TWICE("rx_length_errors"),
	      SPOILT("rx_long_length_errors"), SPOILT("rx_short_length_errors"),
	      BAD_SUM("rx_csum_offload_errors"), PAUSED("rx_flow_control_xoff"),
	      PAUSES("tx_flow_control_xoff"))},
	/*
	 * In older kernels rx_dropped is the counter that is now called rx_missed_errors: the VSI's
	 * discards (GLV_RDPC). In newer kernels it counts other discards (GL_RXERR1).
	 */
	{"i40e", ETH "intel/i40e/i40e_main.c (i40e_update_vsi_stats)",
	 ROWS(NO_DESCRIPTOR("rx_missed_errors", " (GLV_RDPC)"),
	      ROW("rx_dropped", LOSS, NIC_RING, RING,
		  "no receive descriptor was free, or in newer kernels other discards (GL_RXERR1)"),
	      PORT_FULL("port.rx_discards", " (GLPRT_RDPC)"),
	      PORT_FULL("port.rx_dropped", " (GLPRT_RDPC)"),
	      SAME("link:rx_missed_errors", "rx_missed_errors|rx_dropped"),
	      SAME("link:rx_dropped", "rx_dropped"),
	      ROW("veb.rx_discards", BOUND, NIC_RING, OTHER,
		  "discarded by the NIC's internal switch, in front of the ports' functions"),
	      FILTERED("rx_unknown_protocol", "a protocol unknown to the NIC"),
	      REFILL("rx_alloc_fail"), REFILL("rx_pg_alloc_fail"), SPOILT("port.rx_crc_errors"),
	      SPOILT_AGAIN("rx_crc_errors", "port.rx_crc_errors"),
	      SPOILT_AGAIN("link:rx_crc_errors", "port.rx_crc_errors|rx_crc_errors"),
	      SPOILT("port.rx_length_errors"),
	      SPOILT_AGAIN("rx_length_errors", "port.rx_length_errors"),
	      SPOILT_AGAIN("link:rx_length_errors", "port.rx_length_errors|rx_length_errors"),
	      SPOILT("port.rx_undersize"), SPOILT("port.rx_oversize"), SPOILT("port.rx_fragments"),
	      SPOILT("port.rx_jabber"), BAD_SUM("port.rx_csum_bad"),
	      UNSENT_SILENT("port.tx_dropped_link_down", "the link was down"),
	      PAUSED("port.link_xoff_rx"), PAUSES("port.link_xoff_tx"),
	      ROW("veb.tx_discards", BOUND, TX_DEVICE, SEND,
		  "discarded by the NIC's internal switch"),
	      UNSENT_SILENT("veb.tx_errors", "the NIC's internal switch could not send the packet"),
	      UNSENT_SILENT("port.tx_errors", "the port could not send the packet"),
	      PAUSED("port.rx_priority_#_xoff"), PAUSES("port.tx_priority_#_xoff"),
	      PAUSED("port.rx_priority_#_xoff_rx"), PAUSES("port.tx_priority_#_xoff_tx"))},
	{"ice", ETH "intel/ice/ice_main.c (ice_update_vsi_stats)",
	 ROWS(NO_DESCRIPTOR("rx_dropped", " (GLV_RDPC)"),
	      PORT_FULL("rx_dropped.nic", " (GLPRT_RDPC)"), SAME("link:rx_dropped", "rx_dropped"),
	      SAME("link:rx_missed_errors", "rx_dropped.nic"),
	      FILTERED("rx_unknown_protocol", "a protocol unknown to the NIC"),
	      REFILL("rx_alloc_fail"), REFILL("rx_pg_alloc_fail"),
	      SPOILT_AS("rx_crc_errors.nic", "rx_crc_errors"), SPOILT("rx_undersize.nic"),
	      SPOILT("rx_oversize.nic"), SPOILT("rx_fragments.nic"), SPOILT("rx_jabber.nic"),
	      BAD_SUM("rx_csum_bad.nic"), BAD_SUM("rx_eipe_error.nic"),
	      SPOILT("rx_length_errors.nic"),
	      UNSENT_SILENT("tx_errors.nic", "the port could not send the packet"),
	      UNSENT_SILENT("tx_dropped_link_down.nic", "the link was down"),
	      PAUSED("link_xoff_rx.nic"), PAUSES("link_xoff_tx.nic"),
	      PAUSED("rx_priority_#_xoff.nic"), PAUSES("tx_priority_#_xoff.nic"))},
	{"iavf|ixgbevf", ETH "intel/iavf/iavf_virtchnl.c (VIRTCHNL_OP_GET_STATS)",
	 ROWS(NO_DESCRIPTOR("rx_discards", " (GLV_RDPC)"), SAME("link:rx_dropped", "rx_discards"),
	      FILTERED("rx_unknown_protocol", "a protocol unknown to the NIC"),
	      UNSENT_SILENT("tx_discards", "discarded by the NIC (GLV_TDPC)"),
	      AGAIN("link:tx_dropped", LOSS, TX_DEVICE, SEND, "tx_discards"))},
	/* Also igc. Queue counters restart when the queues do (ethtool -L, ip link set down). */
	{"igb|igc", ETH "intel/igb/igb_main.c (igb_update_stats)",
	 ROWS(NO_DESCRIPTOR("rx_queue_#_drops", " (RQDPC)"),
	      PORT_FULL("rx_missed_errors", " (MPC)"),
	      SAME("rx_fifo_errors", "rx_queue_#_drops|rx_missed_errors"),
	      SAME("link:rx_fifo_errors", "rx_fifo_errors|rx_queue_#_drops|rx_missed_errors"),
	      SAME("link:rx_missed_errors", "rx_missed_errors"), KEPT_MAYBE("rx_no_buffer_count"),
	      REFILL("rx_queue_#_alloc_failed"), BAD_SUM("rx_queue_#_csum_err"),
	      SPOILT_TWICE("rx_crc_errors"), SPOILT_AS("rx_align_errors", "rx_frame_errors"),
	      SPOILT("rx_long_length_errors"), SPOILT("rx_short_length_errors"),
	      SPOILT_AGAIN("link:rx_length_errors", "rx_long_length_errors"),
	      PAUSED("rx_flow_control_xoff"), PAUSES("tx_flow_control_xoff"))},
	{"e1000e|e1000", ETH "intel/e1000e/netdev.c (e1000e_update_stats)",
	 ROWS(ROW("rx_missed_errors", LOSS, NIC_RING, PORT,
		  "the port's buffer was full, usually because descriptors were missing (MPC)"),
	      SAME("link:rx_missed_errors", "rx_missed_errors"), KEPT_MAYBE("rx_no_buffer_count"),
	      REFILL("alloc_rx_buff_failed"), REFILL("rx_dma_failed"),
	      AGAIN("rx_over_errors", BOUND, NIC_RING, PORT, "rx_missed_errors"),
	      SPOILT_AGAIN("rx_frame_errors", "rx_align_errors"),
	      SPOILT_AGAIN("rx_length_errors", "rx_long_length_errors"),
	      FILTERED("dropped_smbus", "for the management controller"),
	      SHORTAGE("uncorr_ecc_errors", OTHER, "the NIC's memory is defective"),
	      UNSENT_SILENT("tx_fifo_errors", "the device ran out of data or room"),
	      UNSENT_SILENT("tx_aborted_errors", "too many collisions"),
	      BAD_SUM("rx_csum_offload_errors"), SPOILT_TWICE("rx_crc_errors"),
	      SPOILT_AS("rx_align_errors", "rx_frame_errors"), SPOILT("rx_long_length_errors"),
	      SPOILT("rx_short_length_errors"),
	      SPOILT_AGAIN("link:rx_length_errors", "rx_long_length_errors"),
	      PAUSED("rx_flow_control_xoff"), PAUSES("tx_flow_control_xoff"))},
	/* ---- NVIDIA (Mellanox) ---- */
	{"mlx5_core|mlx5e_rep", ETH "mellanox/mlx5/core/en_stats.c",
	 ROWS(NO_BUFFER("rx_out_of_buffer", " (out_of_buffer of the queue counter)"),
	      PORT_FULL("rx_discards_phy", " (if_in_discards)"),
	      SAME("link:rx_missed_errors", "rx_out_of_buffer"),
	      SAME("link:rx_dropped", "rx_discards_phy"),
	      SAME("rx_prio#_discards", "rx_discards_phy"),
	      SAME("rx_prio#_buf_discard", "rx_discards_phy"),
	      SAME("rx_prio#_cong_discard", "rx_discards_phy"),
	      SHORTAGE("rx_buffer_passed_thres_phy", PORT, "the port's buffer was nearly full"),
	      SHORTAGE("outbound_pci_stalled_wr_events", PORT,
		       "the PCIe bus or the memory could not keep up"),
	      ROW("rx_steer_missed_packets", BOUND, L2, FILTER,
		  "no steering rule matched, for example because the packet has another address"),
	      ROW("rx_if_down_packets", BOUND, L2, FILTER, "arrived while the interface was down"),
	      ROW("rx_oversize_pkts_buffer", LOSS, NIC_RING, OTHER,
		  "longer than the receive buffers (of another queue's MTU)"),
	      ROW("rx_oversize_pkts_sw_drop", LOSS, NIC_RING, OTHER,
		  "longer than the device's MTU (mlx5e_handle_rx_cqe_mpwrq)"),
	      AGAIN("rx#_oversize_pkts_sw_drop", LOSS, NIC_RING, OTHER, "rx_oversize_pkts_sw_drop"),
	      ROW("rx_wqe_err", LOSS, NIC_RING, OTHER, "the NIC reported an error with the packet"),
	      AGAIN("rx#_wqe_err", LOSS, NIC_RING, OTHER, "rx_wqe_err"),
	      REFILL("rx_buff_alloc_err"),
	      REFILL("rx#_buff_alloc_err", .repeats = "rx_buff_alloc_err"),
	      ROW("rx_xsk_buff_alloc_err", EVENT, XSK, ALLOC,
		  "the fill ring of an AF_XDP socket was empty (packets are lost in the NIC's "
		  "ring)"),
	      XDP_ENDED("rx_xdp_drop", .events = XDP_FAILED),
	      ROW("rx_xsk_xdp_drop", LOSS, XDP, XDP,
		  "verdict of the XDP program on an AF_XDP queue, or its action failed",
		  .events = XDP_FAILED),
	      AGAIN("rx#_xdp_drop", LOSS, XDP, XDP, "rx_xdp_drop"),
	      AGAIN("rx#_xsk_xdp_drop", LOSS, XDP, XDP, "rx_xsk_xdp_drop"),
	      AGAIN("rx_xdp_tx_err", LOSS, XDP, REDIRECT, "rx_xdp_drop"),
	      FRAME_REFUSED("tx_xdp_err"),
	      UNSENT("tx_queue_dropped", "could not be mapped or was malformed"),
	      AGAIN("tx#_dropped", LOSS, TX_DEVICE, SEND, "tx_queue_dropped"),
	      UNSENT_SILENT("tx_discards_phy", "discarded by the port, as a rule because the link "
					       "was paused (if_out_discards)"),
	      SPOILT_AS("rx_crc_errors_phy", "rx_crc_errors"), SPOILT("rx_in_range_len_errors_phy"),
	      SPOILT("rx_out_of_range_len_phy"), SPOILT("rx_oversize_pkts_phy"),
	      SPOILT_AGAIN("link:rx_length_errors", "rx_in_range_len_errors_phy"),
	      SPOILT("rx_undersize_pkts_phy"), SPOILT("rx_fragments_phy"), SPOILT("rx_jabbers_phy"),
	      SHORTAGE("rx_cache_empty", ALLOC, "no recycled page was left, so a page was "
						"allocated"),
	      ROW("rx_symbol_err_phy", EVENT, NONE, DAMAGED, "errors of the line, not frames"),
	      ROW("rx_pcs_symbol_err_phy", EVENT, NONE, DAMAGED, "errors of the line, not frames"),
	      SHORTAGE("outbound_pci_stalled_rd", PORT, "the PCIe bus or the memory could not keep up"),
	      SHORTAGE("outbound_pci_stalled_rd_events", PORT,
		       "the PCIe bus or the memory could not keep up"),
	      UNSENT_SILENT("tx_errors_phy", "the port could not send the packet"),
	      PAUSED("rx_global_pause"), PAUSES("tx_global_pause"),
	      PAUSED("rx_pause_ctrl_phy"), PAUSES("tx_pause_ctrl_phy"), PAUSED("rx_prio#_pause"),
	      PAUSES("tx_prio#_pause"))},
	{"mlx4_en", ETH "mellanox/mlx4/en_port.c (mlx4_en_DUMP_ETH_STATS)",
	 ROWS(ROW("rx_dropped", LOSS, NIC_RING, RING,
		  "no receive buffer was posted, or the driver could not take it (RDROP)"),
	      AGAIN("rx#_dropped", LOSS, NIC_RING, RING, "rx_dropped"),
	      SAME("link:rx_dropped", "rx_dropped"),
	      ROW("rx_fifo_errors", BOUND, NIC_RING, PORT,
		  "the port's buffer was full (RdropOvflw), possibly also counted in rx_dropped"),
	      SAME("link:rx_fifo_errors", "rx_fifo_errors"),
	      XDP_VERDICT("rx_xdp_drop", .events = NIC_EV_EXCEPTION),
	      AGAIN("rx#_xdp_drop", LOSS, XDP, XDP, "rx_xdp_drop"),
	      XDP_FAULT("rx_xdp_redirect_fail", REDIRECT, "an XDP redirect failed"),
	      XDP_FAULT("rx_xdp_tx_full", REDIRECT, "no room to transmit (XDP_TX)"),
	      SPOILT_TWICE("rx_crc_errors"), SPOILT_TWICE("rx_length_errors"), PAUSED("rx_pause"),
	      PAUSES("tx_pause"), PAUSED("rx_pause_prio_#"), PAUSES("tx_pause_prio_#"))},
	/* ---- Broadcom ---- */
	/* Totals survive a reset of the interface, but ring counters restart. */
	{"bnxt_en", ETH "broadcom/bnxt/bnxt.c (bnxt_get_stats64)",
	 ROWS(NO_BUFFER("[#]: rx_discards", ""), SAME("rx_total_ring_discards", "[#]: rx_discards"),
	      SAME("link:rx_missed_errors", "rx_total_ring_discards|[#]: rx_discards"),
	      PORT_FULL("rx_stat_discard", ""), SAME("rx_discard_packets_cos#", "rx_stat_discard"),
	      NO_MEMORY("rx_total_oom_discards"),
	      ROW("rx_total_netpoll_discards", LOSS, NIC_RING, OTHER,
		  "arrived while netpoll was sending"),
	      SAME("link:rx_dropped", "rx_total_oom_discards"),
	      ROW("[#]: rx_errors", BOUND, NIC_RING, OTHER, "the NIC reported an error"),
	      SHORTAGE("rx_total_buf_errors", OTHER, "a buffer error made the ring restart"),
	      SHORTAGE("[#]: rx_buf_errors", OTHER, "a buffer error made the ring restart"),
	      SHORTAGE("rx_buffer_passed_threshold", PORT, "the port's buffer was nearly full"),
	      BAD_SUM("rx_total_l4_csum_errors"), BAD_SUM("[#]: rx_l4_csum_errors"),
	      SPOILT("rx_mtu_err_frames"), SPOILT("rx_stat_err"),
	      ROW("rx_pcs_symbol_err", EVENT, NONE, DAMAGED, "errors of the line, not frames"),
	      ROW("[#]: missed_irqs", EVENT, NONE, OTHER, "an interrupt was late"),
	      UNSENT_SILENT("[#]: tx_errors", "the NIC could not send the packet"),
	      UNSENT_SILENT("tx_fifo_underruns", "the NIC ran out of data while sending"),
	      PAUSED("continuous_pause_events"),
	      UNSENT_SILENT("[#]: tx_discards", "discarded by the NIC"),
	      AGAIN("tx_total_ring_discards", LOSS, TX_DEVICE, SEND, "[#]: tx_discards"),
	      UNSENT_SILENT("tx_stat_discard", "discarded by the port"),
	      SPOILT_AS("rx_fcs_err_frames", "rx_crc_errors"),
	      SPOILT_AS("rx_align_err_frames", "rx_frame_errors"), SPOILT("rx_ovrsz_frames"),
	      SPOILT("rx_undrsz_frames"), SPOILT("rx_runt_frames"),
	      SPOILT_AGAIN("link:rx_length_errors", "rx_ovrsz_frames"), SPOILT("rx_jbr_frames"),
	      PAUSED("rx_pause_frames"), PAUSES("tx_pause_frames"))},
	{"tg3", ETH "broadcom/tg3.c (tg3_get_nstats)",
	 ROWS(ROW("rx_discards", LOSS, NIC_RING, PORT, "the NIC had no room (ifInDiscards)"),
	      SAME("link:rx_missed_errors", "rx_discards"),
	      SHORTAGE("rxbds_empty", RING, "the receive ring ran empty"),
	      ROW("link:rx_over_errors", EVENT, NIC_RING, RING, "the same again",
		  .repeats = "rxbds_empty"),
	      SHORTAGE("mbuf_lwm_thresh_hit", PORT, "the NIC's buffer was nearly full"),
	      UNSENT_SILENT("tx_discards", "discarded by the NIC"),
	      SPOILT_AS("rx_fcs_errors", "rx_crc_errors"),
	      SPOILT_AS("rx_align_errors", "rx_frame_errors"), SPOILT("rx_frame_too_long_errors"),
	      SPOILT("rx_undersize_packets"),
	      SPOILT_AGAIN("link:rx_length_errors", "rx_frame_too_long_errors"),
	      PAUSED("rx_xoff_pause_rcvd"), PAUSES("tx_xoff_sent"))},
	{"bnx2x", ETH "broadcom/bnx2x/bnx2x_stats.c (bnx2x_net_stats_update)",
	 ROWS(NO_BUFFER("[#]: rx_discards", ""), SAME("rx_discards", "[#]: rx_discards"),
	      SAME("link:rx_fifo_errors", "rx_discards"), PORT_FULL("rx_brb_discard", ""),
	      ROW("rx_brb_truncate", LOSS, NIC_RING, PORT, "truncated because the port's buffer was "
							   "full"),
	      SAME("link:rx_over_errors", "rx_brb_discard"), NO_MEMORY("rx_skb_alloc_discard"),
	      AGAIN("[#]: rx_skb_alloc_discard", LOSS, NIC_RING, ALLOC, "rx_skb_alloc_discard"),
	      SPOILT("rx_phy_ip_err_discards"),
	      SPOILT_AGAIN("[#]: rx_phy_ip_err_discards", "rx_phy_ip_err_discards"),
	      FILTERED("rx_filtered_packets", "for another address: no loss"),
	      FILTERED("rx_mf_tag_discard", "a tag of another function of the NIC"),
	      BAD_SUM("rx_csum_offload_errors"), BAD_SUM("[#]: rx_csum_offload_errors"),
	      UNSENT("[#]: driver_filtered_tx_pkt", "the driver refused it"),
	      UNSENT_SILENT("tx_mac_errors", "the MAC could not send the packet"),
			    SPOILT("rx_align_errors"),
	      SPOILT("rx_undersize_packets"), SPOILT("rx_oversize_packets"), SPOILT("rx_fragments"),
	      SPOILT("rx_jabbers"), SPOILT_TWICE("rx_crc_errors"), PAUSED("rx_pause_frames"),
	      PAUSED("rx_constant_pause_events"), PAUSES("tx_pause_frames"))},
	{"bnx2", ETH "broadcom/bnx2.c (bnx2_get_stats64)",
	 ROWS(NO_BUFFER("rx_fw_discards", " (FwRxDrop)"),
	      ROW("rx_discards", LOSS, NIC_RING, PORT,
		  "the NIC's buffer was full (IfInMBUFDiscards)"),
	      ROW("rx_ftq_discards", LOSS, NIC_RING, PORT,
		  "the NIC's queue was full (IfInFTQDiscards)"),
	      SAME("link:rx_missed_errors", "rx_fw_discards"),
	      SAME("link:rx_over_errors", "rx_discards"), SPOILT_TWICE("rx_crc_errors"),
	      SPOILT_AS("rx_align_errors", "rx_frame_errors"), SPOILT("rx_fragments"),
	      SPOILT("rx_jabbers"), SPOILT("rx_undersize_packets"), SPOILT("rx_oversize_packets"),
	      FILTERED("rx_filtered_packets", "for another address: no loss"),
	      UNSENT_SILENT("tx_carrier_errors", "the link was lost while sending"),
	      PAUSED("rx_xoff_frames"), PAUSES("tx_xoff_frames"))},
	/* ---- others ---- */
	{"sfc|sfc_ef100|sfc-siena|sfc-falcon", ETH "sfc/ef10.c (efx_ef10_update_stats_common)",
	 ROWS(NO_DESCRIPTOR("port_rx_nodesc_drops", ""), NO_DESCRIPTOR("rx_nodesc_drop_cnt", ""),
	      ROW("rx_nodesc_trunc", LOSS, NIC_RING, RING,
		  "truncated because no further descriptor was free"),
	      NO_MEMORY("rx_noskb_drops"),
	      SAME("link:rx_dropped", "port_rx_nodesc_drops|rx_nodesc_drop_cnt"),
	      PORT_FULL("port_rx_overflow", ""), PORT_FULL("port_rx_pm_discard_bb_overflow", ""),
	      PORT_FULL("port_rx_pm_discard_vfifo_full", ""), PORT_FULL("rx_overflow", ""),
	      PORT_FULL("port_rx_pm_trunc_bb_overflow", ""),
	      PORT_FULL("port_rx_pm_trunc_vfifo_full", ""), PORT_FULL("port_rx_pm_trunc_qbb", ""),
	      PORT_FULL("port_rx_pm_discard_qbb", ""),
	      ROW("port_rx_pm_discard_mapping", LOSS, NIC_RING, PORT, "no buffer is set up for the "
								      "packet"),
	      UNSENT_SILENT("tx_overflow", "the NIC had no room"), SPOILT("rx_eth_crc_err"),
	      SPOILT("rx_frm_trunc"), PAUSED("port_rx_pause"), PAUSES("port_tx_pause"),
	      SAME("link:rx_fifo_errors", "port_rx_overflow"),
	      FILTERED("port_rx_dp_di_dropped_packets", "no filter of the NIC matched"),
	      XDP_VERDICT("rx_xdp_drops"),
	      XDP_FAULT("rx_xdp_bad_drops", XDP, "aborted, or the program's action failed"),
	      SPOILT_AS("port_rx_bad", "rx_crc_errors"),
	      SPOILT_AGAIN("link:rx_length_errors", "port_rx_bad"),
	      /* "all packets that entered and never left": includes the counters above */
	      AGAIN("qstat:rx-hw-drops", BOUND, NIC_RING, OTHER, "rx_nodesc_trunc"))},
	{"be2net", ETH "emulex/benet/be_main.c (be_get_stats64)",
	 ROWS(NO_BUFFER("rxq#: rx_drops_no_frags", ""), NO_MEMORY("rxq#: rx_drops_no_skbs"),
	      NIC_FULL("rx_drops_no_pbuf"), NIC_FULL("rx_drops_no_erx_descr"),
	      NIC_FULL("rx_drops_no_tpre_descr"), NIC_FULL("rxpp_fifo_overflow_drop"),
	      NIC_FULL("rx_input_fifo_overflow_drop"), NIC_FULL("pmem_fifo_overflow_drop"),
	      SAME("link:rx_dropped", "rxq#: rx_drops_no_frags"),
	      SAME("link:rx_fifo_errors", "rx_input_fifo_overflow_drop"),
	      ROW("rx_drops_mtu", LOSS, NIC_RING, OTHER, "longer than the MTU"),
	      FILTERED("rx_address_filtered", "for another address: no loss"),
	      BAD_SUM("rx_ip_checksum_errs"), BAD_SUM("rx_udp_checksum_errs"),
	      BAD_SUM("rx_tcp_checksum_errs"), BAD_SUM("rxq#: rx_compl_err"),
	      REFILL("rxq#: rx_post_fail"), SPOILT("rx_dropped_too_short"),
	      SPOILT("rx_dropped_too_small"), SPOILT("rx_dropped_header_too_small"),
	      SPOILT("rx_dropped_tcp_length"), SPOILT("rx_dropped_runt"), SPOILT("rx_in_range_errors"),
	      SPOILT("rx_out_range_errors"), SPOILT("rx_frame_too_long"),
	      SPOILT("rx_alignment_symbol_errors"),
	      ROW("jabber_events", EVENT, NONE, DAMAGED, "the port received a frame that did not end"),
	      ROW("rx_drops_too_many_frags", LOSS, NIC_RING, OTHER, "too many pieces"),
	      ROW("eth_red_drops", LOSS, NIC_RING, PORT, "early drop: the NIC's buffer was filling"),
	      UNSENT("txq#: tx_drv_drops", "the driver could not send the packet"),
	      SPOILT_TWICE("rx_crc_errors"), PAUSED("rx_pause_frames"),
	      PAUSED("rx_priority_pause_frames"), PAUSES("tx_pauseframes"))},
	/* The chip's counters are 16 bits wide. */
	{"r8169", ETH "realtek/r8169_main.c (rtl8169_get_stats64)",
	 ROWS(ROW("rx_missed", LOSS, NIC_RING, RING, "no receive descriptor was free, or no room",
		  .bits = 16),
	      SAME("link:rx_missed_errors", "rx_missed", .bits = 16),
	      ROW("align_errors", LOSS, WIRE, DAMAGED, "the frame came damaged", .bits = 16),
	      ROW("rx_errors", BOUND, WIRE, DAMAGED, "damaged and other frames"),
	      ROW("tx_underrun", LOSS, TX_DEVICE, SEND, "the NIC ran out of data while sending",
		  .bits = 16))},
	/* ---- boards ---- */
	{"fsl_dpaa2_eth", ETH "freescale/dpaa2/dpaa2-ethtool.c",
	 ROWS(NO_BUFFER("[hw] rx nobuffer discards", ""),
	      ROW("[hw] rx discarded frames", LOSS, NIC_RING, PORT, "the NIC discarded it"),
	      FILTERED("[hw] rx filtered frames", "no filter of the NIC matched"),
	      UNSENT_SILENT("[hw] tx discarded frames", "discarded by the NIC"),
	      ROW("[hw] tx rejected frames", EVENT, NONE, SEND,
		  "the NIC had no room, and sending was retried"),
	      PORT_FULL("[mac] rx frame discards", ""), SPOILT("[mac] rx align errors"),
	      XDP_VERDICT("[drv] xdp drop"),
	      SHORTAGE("[drv] channel pull errors", OTHER, "a queue could not be polled at once"))},
	{"macb", ETH "cadence/macb_main.c (gem_get_stats)",
	 ROWS(ROW("q#_rx_dropped", LOSS, NIC_RING, ALLOC, "no memory, or a malformed frame"),
	      ROW("rx_resource_errors", LOSS, NIC_RING, RING, "no receive buffer was free"),
	      SAME("link:rx_over_errors", "rx_resource_errors"), PORT_FULL("rx_overruns", ""),
	      SAME("link:rx_fifo_errors", "rx_overruns"))},
	{"stmmac|st_gmac", ETH "stmicro/stmmac/mmc_core.c",
	 ROWS(PORT_FULL("mmc_rx_fifo_overflow", ""), SPOILT("mmc_rx_crc_error"),
	      SPOILT("mmc_rx_align_error"), SPOILT("mmc_rx_run_error"),
	      SPOILT("mmc_rx_jabber_error"))},
	{"bcmgenet", ETH "broadcom/genet/bcmgenet.c (bcmgenet_gstrings_stats)",
	 ROWS(ROW("rx_missed_errors", LOSS, NIC_RING, RING, "no receive descriptor was free"),
	      SAME("link:rx_missed_errors", "rx_missed_errors"), PORT_FULL("rx_over_errors", ""),
	      SAME("link:rx_over_errors", "rx_over_errors"), SPOILT_AS("rx_crc", "rx_crc_errors"),
	      SPOILT_AGAIN("rx_fcs", "rx_crc"), SPOILT("rx_align"), SPOILT("rx_outrange"),
	      SPOILT("rx_oversize"), SPOILT("rx_jabber"), SPOILT("rx_mtu_err"))},
	{"8139cp", ETH "realtek/8139cp.c (__cp_get_stats)",
	 ROWS(ROW("link:rx_missed_errors", LOSS, NIC_RING, RING,
		  "the receive ring was full (RxMissed)"),
	      SAME("rx_fifo", "link:rx_missed_errors", .bits = 16),
	      SHORTAGE("link:rx_fifo_errors", PORT, "the NIC's buffer overflowed"),
	      ROW("frame_align", LOSS, WIRE, DAMAGED, "the frame came damaged", .bits = 16),
	      AGAIN("link:rx_frame_errors", LOSS, WIRE, DAMAGED, "frame_align"))},
	{"8139too", ETH "realtek/8139too.c (rtl8139_get_stats64)",
	 ROWS(ROW("link:rx_missed_errors", LOSS, NIC_RING, RING,
		  "the receive buffer was full (RxMissed)"),
	      SHORTAGE("link:rx_fifo_errors", PORT, "the receive buffer overflowed"),
	      SHORTAGE("rx_lost_in_ring", OTHER, "the driver lost its place in the ring"))},
	/* ---- clouds and hypervisors ---- */
	{"ena", ETH "amazon/ena/ena_ethtool.c",
	 ROWS(NO_DESCRIPTOR("rx_drops", ""),
	      ROW("link:rx_dropped", BOUND, NIC_RING, RING,
		  "no receive descriptor was free (ena_get_stats64)", .events = NIC_EV_KFREE,
		  .places = STACK_PLACES, .repeats = "rx_drops", .less = "queue_#_rx_xdp_drop"),
	      ENA_ALLOWANCE("bw_in_allowance_exceeded",
			    "more bits/s arrived than the instance may receive"),
	      ENA_ALLOWANCE("bw_out_allowance_exceeded",
			    "more bits/s were sent than the instance may send"),
	      ENA_ALLOWANCE("pps_allowance_exceeded", "more packets/s than the instance may have"),
	      ENA_ALLOWANCE("conntrack_allowance_exceeded",
			    "more connections than the cloud tracks"),
	      ENA_ALLOWANCE("linklocal_allowance_exceeded",
			    "more packets/s to local services than allowed"),
	      SHORTAGE("queue_#_rx_empty_rx_ring", RING, "the receive ring ran empty"),
	      REFILL("queue_#_rx_page_alloc_fail"), REFILL("queue_#_rx_skb_alloc_fail"),
	      REFILL("queue_#_rx_dma_mapping_err"), REFILL("queue_#_rx_refil_partial"),
	      BAD_SUM("queue_#_rx_csum_bad"), BAD_SUM("queue_#_rx_bad_csum"),
	      XDP_VERDICT("queue_#_rx_xdp_drop"),
	      XDP_FAULT("queue_#_rx_xdp_aborted", XDP, "aborted, or the program's action failed"),
	      XDP_FAULT("queue_#_rx_xdp_invalid", XDP, "the XDP program returned an invalid "
						       "verdict"),
	      /* freed by consume_skb() */
	      ROW("queue_#_tx_dma_mapping_err", LOSS, TX_DEVICE, SEND, "could not be mapped",
		  .events = NIC_EV_KFREE, .places = "ena_start_xmit"),
	      ROW("queue_#_tx_linearize_failed", LOSS, TX_DEVICE, SEND,
		  "too many pages, and no memory", .events = NIC_EV_KFREE,
		  .places = "ena_start_xmit"),
	      ROW("queue_#_tx_prepare_ctx_err", LOSS, TX_DEVICE, SEND, "the device refused it",
		  .events = NIC_EV_KFREE, .places = "ena_start_xmit"))},
	/* Hardware counters are updated when the hardware reports (stats_report_trigger_cnt). */
	{"gve", ETH "google/gve/gve_ethtool.c",
	 ROWS(ROW("rx_queue_drop_cnt[#]", LOSS, NIC_RING, RING, "the device had no receive buffer"),
	      ROW("rx_no_buffers_posted[#]", BOUND, NIC_RING, RING,
		  "no receive buffer was posted, possibly also counted in rx_queue_drop_cnt"),
	      ROW("rx_desc_err_dropped_pkt", LOSS, NIC_RING, OTHER, "the device reported an error"),
	      NO_MEMORY("rx_skb_alloc_fail"), REFILL("rx_buf_alloc_fail"),
	      AGAIN("rx_dropped", BOUND, NIC_RING, OTHER, "rx_desc_err_dropped_pkt"),
	      AGAIN("rx_dropped_pkt[#]", BOUND, NIC_RING, OTHER, "rx_dropped"),
	      ROW("rx_drops_packet_over_mru[#]", BOUND, NIC_RING, OTHER,
		  "longer than the device accepts"),
	      ROW("rx_drops_invalid_checksum[#]", BOUND, NIC_RING, CSUM, "wrong checksum"),
	      XDP_VERDICT("rx_xdp_drop[#]"),
	      XDP_FAULT("rx_xdp_aborted[#]", XDP, "aborted by the XDP program"),
	      XDP_FAULT("rx_xdp_tx_errors[#]", REDIRECT, "XDP_TX failed"),
	      XDP_FAULT("rx_xdp_redirect_errors[#]", REDIRECT, "an XDP redirect failed"),
	      ROW("rx_xdp_alloc_fails[#]", LOSS, XDP, ALLOC, "no memory for an XDP redirect"),
	      UNSENT("tx_dropped", "the driver could not send the packet"),
	      FRAME_REFUSED("tx_xdp_xmit_errors[#]"))},
	{"hv_netvsc", "drivers/net/hyperv/netvsc_drv.c (netvsc_get_stats64)",
	 ROWS(ROW("rx_no_memory", LOSS, NIC_RING, ALLOC,
		  "no memory for the packet (netvsc_recv_callback)"),
	      SHORTAGE("rx_comp_busy", RING,
		       "a receive buffer could not be returned at once because the host's ring was "
		       "full"),
	      ROW("vlan_error", EVENT, NONE, OTHER, "no memory for a VLAN tag"),
	      XDP_VERDICT("rx_queue_#_xdp_drop", .events = NIC_EV_REDIRECT),
	      UNSENT("tx_no_memory", "no memory"), UNSENT("tx_no_space", "no room for the headers"),
	      UNSENT("tx_too_big", "too many pages"),
	      UNSENT("vf_tx_dropped", "the VF did not accept the packet"))},
	/*
	 * If the host drops packets because the ring is empty, those drops are visible only if the
	 * hypervisor reports them (qstat:).
	 */
	{"virtio_net", "drivers/net/virtio_net.c (virtnet_stats)",
	 ROWS(ROW("rx_queue_#_drops", LOSS, NIC_RING, ALLOC,
		  "no memory, or a malformed buffer (virtnet_receive)",
		  .less = "rx_queue_#_xdp_drops"),
	      ROW("rx#_drops", LOSS, NIC_RING, ALLOC,
		  "no memory, or a malformed buffer (virtnet_receive)", .less = "rx#_xdp_drops"),
	      SAME("rx_drops", "rx#_drops"), SAME("link:rx_dropped", "rx_queue_#_drops|rx#_drops"),
	      XDP_ENDED("rx_queue_#_xdp_drops", .events = XDP_FAILED),
	      XDP_ENDED("rx#_xdp_drops", .events = XDP_FAILED),
	      AGAIN("rx_xdp_drops", LOSS, XDP, XDP, "rx#_xdp_drops"),
	      FRAME_REFUSED("tx_queue_#_xdp_tx_drops"), FRAME_REFUSED("tx#_xdp_tx_drops"),
	      AGAIN("tx_xdp_tx_drops", LOSS, XDP, REDIRECT, "tx#_xdp_tx_drops"),
	      AGAIN("link:rx_length_errors", BOUND, NIC_RING, OTHER, "rx_queue_#_drops|rx#_drops"),
	      ROW("link:rx_frame_errors", LOSS, NIC_RING, OTHER,
		  "a header of virtio that makes no sense (virtnet_receive_done)",
		  .events = NIC_EV_KFREE,
		  .places = "virtnet_receive_done virtnet_receive receive_buf"))},
	/* A line "Rx Queue#" before a queue's counters has the queue number as its value. */
	{"vmxnet3", "drivers/net/vmxnet3/vmxnet3_ethtool.c (vmxnet3_get_stats64)",
	 ROWS(NO_BUFFER("pkts rx OOB", " (pktsRxOutOfBuf)"),
	      ROW("pkts rx err", LOSS, NIC_RING, OTHER, "the device reported an error"),
	      ROW("drv dropped rx total", LOSS, NIC_RING, OTHER,
		  "the driver could not take it (vmxnet3_rx_error, no memory)"),
	      AGAIN("link:rx_dropped", LOSS, NIC_RING, OTHER, "drv dropped rx total"),
	      AGAIN("err", LOSS, NIC_RING, OTHER, "drv dropped rx total"),
	      ROW("hdr err", EVENT, NONE, SEND, "the headers of a packet to send were not read"),
	      REFILL("rx buf alloc fail"), XDP_ENDED("xdp drops", .events = NIC_EV_REDIRECT),
	      XDP_FAULT("xdp aborted", XDP, "aborted by the XDP program"),
	      UNSENT_SILENT("pkts tx err", "the device reported an error"),
	      UNSENT_SILENT("pkts tx discard", "discarded by the device"),
	      UNSENT("drv dropped tx total", "the driver could not send the packet"),
	      ROW("ring full", EVENT, NONE, SEND, "the transmit ring was full, and sending waited"),
	      FRAME_REFUSED("xdp xmit err"))},
	/* ---- software ---- */
	/*
	 * A packet that arrives as an skb has its own event when the program drops it. A redirected
	 * frame does not.
	 */
	{"veth", "drivers/net/veth.c (veth_get_stats64, veth_xdp_rcv)",
	 ROWS(ROW("rx_queue_#_xdp_drops", LOSS, XDP, XDP,
		  "verdict of the XDP program on a frame that was redirected here "
		  "(veth_xdp_rcv_one)",
		  .events = NIC_EV_KFREE | NIC_EV_EXCEPTION,
		  .places = "veth_xdp_rcv_skb veth_xdp_rcv"),
	      ROW("rx_queue_#_drops", LOSS, XDP, ALLOC,
		  "no memory for a packet at XDP (veth_convert_skb_to_xdp_buff, "
		  "veth_xdp_rcv_bulk_skb)",
		  .events = NIC_EV_REDIRECT | NIC_EV_EXCEPTION_TX),
	      XDP_FAULT("rx_queue_#_xdp_tx_errors", REDIRECT, "XDP_TX was refused by the peer"),
	      XDP_FAULT("tx_queue_#_xdp_xmit_errors", REDIRECT,
			"a frame redirected here was rejected: the peer runs without NAPI, or its "
			"ring was full"),
	      UNSENT("link:tx_dropped",
		     "the peer's ring or its CPU's backlog was full, or it is down (veth_xmit)"),
	      AGAIN("link:rx_dropped", LOSS, XDP, OTHER, "rx_queue_#_drops"))},
	/* Includes drops by the stack, as on every interface. */
	{"tun", "drivers/net/tun.c (tun_net_get_stats64)",
	 ROWS(UNSENT("link:tx_dropped", "the queue to the reading program was full, or no program "
					"has it open (tun_net_xmit)"),
	      ROW("link:rx_dropped", BOUND, XDP, XDP,
		  "XDP ended it, or the program that wrote it is at fault (tun_xdp_act)",
		  .events = XDP_FAILED | NIC_EV_KFREE, .places = STACK_PLACES " tun_get_user"),
	      ROW("link:rx_frame_errors", EVENT, NONE, OTHER,
		  "a program wrote a packet with a wrong header (tun_get_user)"))},
	/* Software interfaces. They have an event for every loss. */
	{"bridge|bonding|team|dummy|ifb|802.1Q|macvlan|macvtap|ipvlan|vxlan|geneve",
	 "software interfaces, whose counters include ports and lower interfaces",
	 ROWS(ROW("link:*", EVENT, NONE, OTHER, "reported by events", .events = NIC_EV_ALL))},
};

const unsigned nic_driver_count = sizeof(nic_drivers) / sizeof(nic_drivers[0]);

#define TRAFFIC(counter_, cause_, ...) ROW(counter_, TRAFFIC, NONE, cause_, "passed", ##__VA_ARGS__)
#define TRAFFIC_OF(rx_packets, rx_bytes, tx_packets, tx_bytes)                                     \
	TRAFFIC(rx_packets, RX_PACKETS), TRAFFIC(rx_bytes, RX_BYTES),                              \
		TRAFFIC(tx_packets, TX_PACKETS), TRAFFIC(tx_bytes, TX_BYTES)
#define PASSED(before, behind)                                                                     \
	TRAFFIC_OF(before "rx" behind "packets", before "rx" behind "bytes",                       \
		   before "tx" behind "packets", before "tx" behind "bytes")

const struct nic_row *const nic_common_rows = ROWS(
	PASSED("", "_queue_#_"), PASSED("", "#_"), PASSED("", "-#."), PASSED("[#]: ", "_ucast_"),
	PASSED("[#]: ", "_mcast_"), PASSED("[#]: ", "_bcast_"),
	TRAFFIC("rx_queue_#_xdp_packets", RX_PACKETS, .repeats = "rx_queue_#_packets"), /* veth */
	TRAFFIC("rx_queue_#_xdp_bytes", RX_BYTES, .repeats = "rx_queue_#_bytes"),
	TRAFFIC_OF("rx-#.rx_packets", "rx-#.rx_bytes", "tx-#.tx_packets", "tx-#.tx_bytes"),
	/* ena, vmxnet3, be2net, and gve, which counts descriptors instead of packets */
	TRAFFIC_OF("queue_#_rx_cnt", "queue_#_rx_bytes", "queue_#_tx_cnt", "queue_#_tx_bytes"),
	TRAFFIC_OF("ucast pkts rx", "ucast bytes rx", "ucast pkts tx", "ucast bytes tx"),
	TRAFFIC_OF("mcast pkts rx", "mcast bytes rx", "mcast pkts tx", "mcast bytes tx"),
	TRAFFIC_OF("bcast pkts rx", "bcast bytes rx", "bcast pkts tx", "bcast bytes tx"),
	TRAFFIC_OF("rxq#: rx_pkts", "rxq#: rx_bytes", "txq#: tx_pkts", "txq#: tx_bytes"),
	TRAFFIC("rx_bytes[#]", RX_BYTES), TRAFFIC("tx_bytes[#]", TX_BYTES), PASSED("qstat:", "-#-"),

	/*
	 * netdev-genl has the same meaning for all drivers
	 * (Documentation/netlink/specs/netdev.yaml).
	 */
	ROW("qstat:rx-hw-drops", LOSS, NIC_RING, RING,
	    "entered the device and never left it (rx-hw-drops)"),
	SAME("qstat:rx-#-hw-drops", "qstat:rx-hw-drops"),
	ROW("qstat:rx-hw-drop-overruns", LOSS, NIC_RING, RING,
	    "no buffer or descriptor (rx-hw-drop-overruns)", .repeats = "qstat:rx-hw-drops"),
	SAME("qstat:rx-#-hw-drop-overruns", "qstat:rx-hw-drop-overruns|qstat:rx-hw-drops"),
	ROW("qstat:rx-hw-drop-ratelimits", LOSS, NIC_RING, SHAPER,
	    "faster than the device's limit (rx-hw-drop-ratelimits)",
	    .repeats = "qstat:rx-hw-drops"),
	SAME("qstat:rx-#-hw-drop-ratelimits", "qstat:rx-hw-drop-ratelimits|qstat:rx-hw-drops"),
	REFILL("qstat:rx-alloc-fail"),
	REFILL("qstat:rx-#-alloc-fail", .repeats = "qstat:rx-alloc-fail"),
	ROW("qstat:rx-csum-bad", EVENT, NONE, CSUM,
	    "wrong IP, TCP or UDP checksum (the IP stack receives the packet and decides)"),
	UNSENT_SILENT("qstat:tx-hw-drops", "reached the device and never left it (tx-hw-drops)"),
	AGAIN("qstat:tx-#-hw-drops", LOSS, TX_DEVICE, SEND, "qstat:tx-hw-drops"),
	ROW("qstat:tx-hw-drop-errors", LOSS, TX_DEVICE, SEND, "malformed (tx-hw-drop-errors)",
	    .repeats = "qstat:tx-hw-drops"),
	ROW("qstat:tx-hw-drop-ratelimits", LOSS, TX_DEVICE, SHAPER,
	    "faster than the device's limit (tx-hw-drop-ratelimits)",
	    .repeats = "qstat:tx-hw-drops"),

	/* Pages of a receive queue. No packet is lost, but receiving takes longer. */
	ROW("pool:alloc-empty", EVENT, NONE, OTHER,
	    "no recycled page was left, so a page was allocated (page_pool_refill_alloc_cache)"),
	ROW("pool:alloc-waive", EVENT, NONE, OTHER, "a recycled page was on another NUMA node"),
	ROW("pool:recycle-ring-full", EVENT, NONE, OTHER,
	    "the ring of recycled pages was full, so a page was freed"),

	/* The ethtool family (IEEE 802.3 clause 30, RFC 2819). */
	ROW("eth-mac-FramesLostDueToIntMACRcvError", LOSS, NIC_RING, PORT,
	    "the MAC could not accept the packet, usually because its buffer was full",
	    .standard = true, .largest = true),
	ROW("eth-mac-FramesLostDueToIntMACXmitError", LOSS, TX_DEVICE, SEND,
	    "the MAC could not send the packet", .standard = true),
	ROW("eth-mac-FramesAbortedDueToXSColls", LOSS, TX_DEVICE, SEND, "too many collisions",
	    .standard = true),
	ROW("eth-mac-LateCollisions", BOUND, TX_DEVICE, SEND,
	    "a late collision: the two ends differ in duplex", .standard = true),
	SPOILT("eth-mac-FrameCheckSequenceErrors", .standard = true),
	SPOILT("eth-mac-AlignmentErrors", .standard = true),
	SPOILT("eth-mac-InRangeLengthErrors", .standard = true),
	SPOILT("eth-mac-OutOfRangeLengthField", .standard = true),
	SPOILT("eth-mac-FrameTooLongErrors", .standard = true),
	SPOILT("rmon-etherStatsUndersizePkts", .standard = true),
	SPOILT("rmon-etherStatsOversizePkts", .standard = true,
	       .repeats = "eth-mac-FrameTooLongErrors"),
	SPOILT("rmon-etherStatsFragments", .standard = true,
	       .repeats = "eth-mac-FrameCheckSequenceErrors"),
	SPOILT("rmon-etherStatsJabbers", .standard = true,
	       .repeats = "eth-mac-FrameCheckSequenceErrors"),
	ROW("eth-phy-SymbolErrorDuringCarrier", EVENT, WIRE, DAMAGED,
	    "the signal was damaged while a frame arrived"),
	ROW("fec-uncorrectable_blocks", EVENT, WIRE, DAMAGED,
	    "FEC could not repair a block, whose frames are lost"),
	ROW("fec-corrected_blocks", EVENT, NONE, OTHER,
	    "FEC repaired a block: no loss, but a sign of a bad cable or transceiver"),
	PAUSED("eth-ctrl-MACControlFramesReceived", .standard = true),
	/* sysfs */
	ROW("queue:tx-#-timeouts", EVENT, TX_DEVICE, TIMEOUT,
	    "the transmit queue stood still, and the watchdog reset the interface (dev_watchdog)"),
	ROW("queue:tx-#-stalls", EVENT, TX_DEVICE, STALL,
	    "completions came later than stall_thrs (dql_check_stall)"),
	ROW("link-down-events", EVENT, WIRE, LINK, "the link went down"),

	/*
	 * IFLA_STATS64 for drivers that have no rows for it. The core adds stack drops to both
	 * `dropped` fields (dev_get_stats()), and stack drops have events.
	 */
	ROW("link:rx_dropped", BOUND, NIC_RING, OTHER,
	    "dropped by the IP stack, or by the driver because memory was "
	    "missing",
	    .events = NIC_EV_ALL),
	UNSENT("link:tx_dropped", "the driver could not send the packet"),
	UNSENT_SILENT("link:tx_carrier_errors", "the link was lost while sending"),
	ROW("link:tx_fifo_errors", BOUND, TX_DEVICE, SEND, "the device ran out of data or room"),
	SPOILT_AGAIN("link:rx_crc_errors", "eth-mac-FrameCheckSequenceErrors"),
	SPOILT_AGAIN("link:rx_length_errors",
		     "eth-mac-InRangeLengthErrors|eth-mac-FrameTooLongErrors|"
		     "rmon-etherStatsUndersizePkts|rmon-etherStatsOversizePkts"),
	SPOILT_AGAIN("link:rx_frame_errors", "eth-mac-AlignmentErrors"));

/*
 * For drivers that are not in the table: the documented meaning of the three fields
 * (Documentation/networking/statistics.rst), although drivers often count one loss in several of
 * them.
 */
const struct nic_row *const nic_unknown_rows = ROWS(
	ROW("link:rx_missed_errors", LOSS, NIC_RING, RING, "the device had no room",
	    .largest = true),
	ROW("link:rx_fifo_errors", LOSS, NIC_RING, RING, "the device had no room", .largest = true),
	ROW("link:rx_over_errors", LOSS, NIC_RING, RING, "the device had no room", .largest = true),
	ROW("link:rx_dropped", BOUND, NIC_RING, OTHER,
	    "the device had no room, or the driver no memory", .events = NIC_EV_KFREE,
	    .places = STACK_PLACES));
