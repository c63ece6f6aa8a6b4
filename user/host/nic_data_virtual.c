// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stddef.h>

#include "host/nic_data.h"

#define XDP_FAILED (NIC_EV_EXCEPTION | NIC_EV_EXCEPTION_TX | NIC_EV_REDIRECT)

#define ENA_ALLOWANCE(counter_, what_)                                                             \
	NIC_ROW(counter_, BOUND, WIRE, SHAPER,                                                     \
		what_ "; the cloud delays or drops, and does not tell which")

const struct nic_row nic_rows_ena[] = {
	NIC_ROW("rx_drops", LOSS, NIC_RING, RING, "no receive descriptor was free"),
	NIC_ROW("link:rx_dropped", BOUND, NIC_RING, RING,
		"no receive descriptor was free (ena_get_stats64)", .events = NIC_EV_KFREE,
		.places = NIC_STACK_PLACES, .repeats = "rx_drops", .less = "queue_#_rx_xdp_drop"),
	ENA_ALLOWANCE("bw_in_allowance_exceeded", "more bits/s came than the instance may receive"),
	ENA_ALLOWANCE("bw_out_allowance_exceeded", "more bits/s went than the instance may send"),
	ENA_ALLOWANCE("pps_allowance_exceeded", "more packets/s than the instance may have"),
	ENA_ALLOWANCE("conntrack_allowance_exceeded", "more connections than the cloud tracks"),
	ENA_ALLOWANCE("linklocal_allowance_exceeded",
		      "more packets/s to local services than allowed"),
	NIC_ROW("queue_#_rx_empty_rx_ring", EVENT, NIC_RING, RING, "the receive ring ran empty"),
	NIC_REFILL("queue_#_rx_page_alloc_fail"),
	NIC_REFILL("queue_#_rx_skb_alloc_fail"),
	NIC_REFILL("queue_#_rx_dma_mapping_err"),
	NIC_REFILL("queue_#_rx_refil_partial"),
	NIC_BAD_SUM("queue_#_rx_csum_bad"),
	NIC_BAD_SUM("queue_#_rx_bad_csum"),
	NIC_ROW("queue_#_rx_xdp_drop", LOSS, XDP, XDP, "verdict of the XDP program"),
	NIC_ROW("queue_#_rx_xdp_aborted", LOSS, XDP, XDP, "aborted, or the program's action failed",
		.events = NIC_EV_ALL),
	NIC_ROW("queue_#_rx_xdp_invalid", LOSS, XDP, XDP, "the XDP program's verdict is none",
		.events = NIC_EV_ALL),
	/* freed by consume_skb() */
	NIC_ROW("queue_#_tx_dma_mapping_err", LOSS, TX_DEVICE, SEND, "could not be mapped",
		.events = NIC_EV_KFREE, .places = "ena_start_xmit"),
	NIC_ROW("queue_#_tx_linearize_failed", LOSS, TX_DEVICE, SEND,
		"too many pages, and no memory", .events = NIC_EV_KFREE,
		.places = "ena_start_xmit"),
	NIC_ROW("queue_#_tx_prepare_ctx_err", LOSS, TX_DEVICE, SEND, "the device refused it",
		.events = NIC_EV_KFREE, .places = "ena_start_xmit"),
	NIC_END,
};

/* What the device counts is brought up to date when it reports (stats_report_trigger_cnt). */
const struct nic_row nic_rows_gve[] = {
	NIC_ROW("rx_queue_drop_cnt[#]", LOSS, NIC_RING, RING, "the device had no receive buffer"),
	NIC_ROW("rx_no_buffers_posted[#]", BOUND, NIC_RING, RING,
		"no receive buffer was posted; may be in rx_queue_drop_cnt"),
	NIC_ROW("rx_desc_err_dropped_pkt", LOSS, NIC_RING, OTHER, "the device reported an error"),
	NIC_ROW("rx_skb_alloc_fail", LOSS, NIC_RING, ALLOC, "no memory for the packet"),
	NIC_REFILL("rx_buf_alloc_fail"),
	NIC_ROW("rx_dropped", BOUND, NIC_RING, OTHER, "the same packets again",
		.repeats = "rx_desc_err_dropped_pkt"),
	NIC_ROW("rx_dropped_pkt[#]", BOUND, NIC_RING, OTHER, "the same packets again",
		.repeats = "rx_dropped"),
	NIC_ROW("rx_drops_packet_over_mru[#]", BOUND, NIC_RING, OTHER,
		"longer than the device takes"),
	NIC_ROW("rx_drops_invalid_checksum[#]", BOUND, NIC_RING, CSUM, "wrong checksum"),
	NIC_ROW("rx_xdp_drop[#]", LOSS, XDP, XDP, "verdict of the XDP program"),
	NIC_ROW("rx_xdp_aborted[#]", LOSS, XDP, XDP, "aborted by the XDP program",
		.events = NIC_EV_ALL),
	NIC_ROW("rx_xdp_tx_errors[#]", LOSS, XDP, REDIRECT, "XDP_TX failed", .events = NIC_EV_ALL),
	NIC_ROW("rx_xdp_redirect_errors[#]", LOSS, XDP, REDIRECT, "an XDP redirect failed",
		.events = NIC_EV_ALL),
	NIC_ROW("rx_xdp_alloc_fails[#]", LOSS, XDP, ALLOC, "no memory for an XDP redirect"),
	NIC_ROW("tx_dropped", LOSS, TX_DEVICE, SEND, "the driver could not send it",
		.events = NIC_EV_ALL),
	NIC_ROW("tx_xdp_xmit_errors[#]", LOSS, XDP, REDIRECT, "a redirected frame was refused",
		.events = NIC_EV_ALL),
	NIC_END,
};

const struct nic_row nic_rows_netvsc[] = {
	NIC_ROW("rx_no_memory", LOSS, NIC_RING, ALLOC,
		"no memory for the packet (netvsc_recv_callback)"),
	NIC_ROW("rx_comp_busy", EVENT, NIC_RING, RING,
		"a receive buffer could not be given back at once, as the host's ring was full"),
	NIC_ROW("vlan_error", EVENT, NONE, OTHER, "no memory for a VLAN tag"),
	NIC_ROW("rx_queue_#_xdp_drop", LOSS, XDP, XDP, "verdict of the XDP program",
		.events = NIC_EV_REDIRECT),
	NIC_ROW("tx_no_memory", LOSS, TX_DEVICE, SEND, "no memory", .events = NIC_EV_ALL),
	NIC_ROW("tx_no_space", LOSS, TX_DEVICE, SEND, "no room for the headers",
		.events = NIC_EV_ALL),
	NIC_ROW("tx_too_big", LOSS, TX_DEVICE, SEND, "too many pages", .events = NIC_EV_ALL),
	NIC_ROW("vf_tx_dropped", LOSS, TX_DEVICE, SEND, "the VF did not take it",
		.events = NIC_EV_ALL),
	NIC_END,
};

/* What the host's side drops when the ring is empty shows only if the device tells (qstat:). */
const struct nic_row nic_rows_virtio[] = {
	NIC_ROW("rx_queue_#_drops", LOSS, NIC_RING, ALLOC,
		"no memory, or a malformed buffer (virtnet_receive)",
		.less = "rx_queue_#_xdp_drops"),
	NIC_ROW("rx#_drops", LOSS, NIC_RING, ALLOC,
		"no memory, or a malformed buffer (virtnet_receive)", .less = "rx#_xdp_drops"),
	NIC_SAME("rx_drops", "rx#_drops"),
	NIC_SAME("link:rx_dropped", "rx_queue_#_drops|rx#_drops"),
	NIC_ROW("rx_queue_#_xdp_drops", LOSS, XDP, XDP,
		"verdict of the XDP program, or its action failed", .events = XDP_FAILED),
	NIC_ROW("rx#_xdp_drops", LOSS, XDP, XDP, "verdict of the XDP program, or its action failed",
		.events = XDP_FAILED),
	NIC_ROW("rx_xdp_drops", LOSS, XDP, XDP, "the same packets again",
		.repeats = "rx#_xdp_drops"),
	NIC_ROW("tx_queue_#_xdp_tx_drops", LOSS, XDP, REDIRECT, "a redirected frame was refused",
		.events = NIC_EV_ALL),
	NIC_ROW("tx#_xdp_tx_drops", LOSS, XDP, REDIRECT, "a redirected frame was refused",
		.events = NIC_EV_ALL),
	NIC_ROW("tx_xdp_tx_drops", LOSS, XDP, REDIRECT, "the same packets again",
		.repeats = "tx#_xdp_tx_drops"),
	NIC_ROW("link:rx_length_errors", BOUND, NIC_RING, OTHER, "the same packets again",
		.repeats = "rx_queue_#_drops|rx#_drops"),
	NIC_ROW("link:rx_frame_errors", LOSS, NIC_RING, OTHER,
		"a header of virtio that makes no sense (virtnet_receive_done)",
		.events = NIC_EV_KFREE,
		.places = "virtnet_receive_done virtnet_receive receive_buf"),
	NIC_END,
};

/* Queues are told by a line "Rx Queue#" in front of their counters. */
const struct nic_row nic_rows_vmxnet3[] = {
	NIC_ROW("pkts rx OOB", LOSS, NIC_RING, RING,
		"no receive buffer was posted (pktsRxOutOfBuf)"),
	NIC_ROW("pkts rx err", LOSS, NIC_RING, OTHER, "the device reported an error"),
	NIC_ROW("drv dropped rx total", LOSS, NIC_RING, OTHER,
		"the driver could not take it (vmxnet3_rx_error, no memory)"),
	NIC_ROW("link:rx_dropped", LOSS, NIC_RING, OTHER, "the same packets again",
		.repeats = "drv dropped rx total"),
	NIC_REFILL("rx buf alloc fail"),
	NIC_ROW("xdp drops", LOSS, XDP, XDP, "verdict of the XDP program, or its action failed",
		.events = NIC_EV_REDIRECT),
	NIC_ROW("xdp aborted", LOSS, XDP, XDP, "aborted by the XDP program", .events = NIC_EV_ALL),
	NIC_ROW("pkts tx err", LOSS, TX_DEVICE, SEND, "the device reported an error"),
	NIC_ROW("pkts tx discard", LOSS, TX_DEVICE, SEND, "discarded by the device"),
	NIC_ROW("drv dropped tx total", LOSS, TX_DEVICE, SEND, "the driver could not send it",
		.events = NIC_EV_ALL),
	NIC_ROW("ring full", EVENT, NONE, SEND, "the transmit ring was full, and sending waited"),
	NIC_ROW("xdp xmit err", LOSS, XDP, REDIRECT, "a redirected frame was refused",
		.events = NIC_EV_ALL),
	NIC_END,
};

/*
 * A packet that came as an skb has an event of its own when the program drops it, a frame that was
 * redirected here has none.
 */
const struct nic_row nic_rows_veth[] = {
	NIC_ROW("rx_queue_#_xdp_drops", LOSS, XDP, XDP,
		"verdict of the XDP program on a frame that was redirected here (veth_xdp_rcv_one)",
		.events = NIC_EV_KFREE | NIC_EV_EXCEPTION,
		.places = "veth_xdp_rcv_skb veth_xdp_rcv"),
	NIC_ROW("rx_queue_#_drops", LOSS, XDP, ALLOC,
		"no memory for a packet at XDP (veth_convert_skb_to_xdp_buff, "
		"veth_xdp_rcv_bulk_skb)",
		.events = NIC_EV_REDIRECT | NIC_EV_EXCEPTION_TX),
	NIC_ROW("rx_queue_#_xdp_tx_errors", LOSS, XDP, REDIRECT, "XDP_TX was refused by the peer",
		.events = NIC_EV_ALL),
	NIC_ROW("tx_queue_#_xdp_xmit_errors", LOSS, XDP, REDIRECT,
		"a frame redirected here was refused: no NAPI at the peer, or its ring was full",
		.events = NIC_EV_ALL),
	NIC_ROW("link:tx_dropped", LOSS, TX_DEVICE, SEND,
		"the peer's ring or its CPU's backlog was full, or it is down (veth_xmit)",
		.events = NIC_EV_ALL),
	NIC_ROW("link:rx_dropped", LOSS, XDP, OTHER, "the same packets again",
		.repeats = "rx_queue_#_drops"),
	NIC_END,
};

/* Also what the stack drops, as of every device. */
const struct nic_row nic_rows_tun[] = {
	NIC_ROW("link:tx_dropped", LOSS, TX_DEVICE, SEND,
		"the queue to the reading program was full, or nobody has it open (tun_net_xmit)",
		.events = NIC_EV_ALL),
	NIC_ROW("link:rx_dropped", BOUND, XDP, XDP,
		"XDP ended it, or the program that wrote it is at fault (tun_xdp_act)",
		.events = XDP_FAILED | NIC_EV_KFREE, .places = NIC_STACK_PLACES " tun_get_user"),
	NIC_ROW("link:rx_frame_errors", EVENT, NONE, OTHER,
		"a program wrote a packet with a wrong header (tun_get_user)"),
	NIC_END,
};

/* Devices of software, whose losses all have an event. */
const struct nic_row nic_rows_software[] = {
	NIC_ROW("link:*", EVENT, NONE, OTHER, "told by events", .events = NIC_EV_ALL),
	NIC_END,
};
