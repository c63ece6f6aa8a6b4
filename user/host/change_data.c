// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kinds of changes, and the settings of each. */
#include <linux/ethtool.h>
#include <stddef.h>

#include "host/change_parts.h"

#define FILE_OPS                                                                                   \
	.read = change_file_read, .write = change_file_write, .command = change_file_command
#define ETHTOOL_OPS                                                                                \
	.of_interface = true, .of_namespace = true, .read = change_ethtool_read,                   \
	.write = change_ethtool_write, .limit = change_ethtool_limit,                              \
	.command = change_ethtool_command

#define RESTART                                                                                    \
	"the driver may restart the device: packets under way are lost, the link may go down"

const struct change_ops change_ops[CHANGE_KINDS] = {
	[CHANGE_SYSCTL] = {"sysctl", .of_namespace = true, .before = "", .after = "", .risk = "",
			   FILE_OPS},
	[CHANGE_SYSFS] = {"sysfs", true, true, "", "", "", FILE_OPS},
	[CHANGE_IRQ] = {"irq", .before = "interrupt ", .after = " CPUs",
			.risk = "irqbalance, where it runs, may set it again", FILE_OPS},
	[CHANGE_RING] = {"ring", .before = "", .after = " ring", .risk = RESTART,
			 .ethtool = {ETHTOOL_GRINGPARAM, ETHTOOL_SRINGPARAM, 'G'}, ETHTOOL_OPS},
	[CHANGE_CHANNELS] = {"channels", .before = "", .after = " channels", .risk = RESTART,
			     .ethtool = {ETHTOOL_GCHANNELS, ETHTOOL_SCHANNELS, 'L'}, ETHTOOL_OPS},
	[CHANGE_COALESCE] =
		{"coalesce", .before = "", .after = "",
		 .risk = "more packets an interrupt mean more delay, fewer more CPU time",
		 .ethtool = {ETHTOOL_GCOALESCE, ETHTOOL_SCOALESCE, 'C'}, ETHTOOL_OPS},
	[CHANGE_FEATURE] = {"feature", true, true, "", "", "other features may depend on it",
			    .ethtool = {.letter = 'K'}, .read = change_feature_read,
			    .write = change_feature_write, .command = change_ethtool_command},
	[CHANGE_PAUSE] = {"pause", .before = "", .after = " pause frames",
			  .risk = "the link may be negotiated anew, and is down meanwhile",
			  .wait_ms = 3000,
			  .ethtool = {ETHTOOL_GPAUSEPARAM, ETHTOOL_SPAUSEPARAM, 'A'}, ETHTOOL_OPS},
	[CHANGE_RSS] = {"rss", true, true, "RSS ", "", "flows move to other CPUs: some reordering",
			.read = change_rss_read, .write = change_rss_write,
			.check = change_rss_check, .command = change_rss_command},
	[CHANGE_QDISC] = {"qdisc", true, true, "", " qdisc",
			  "a qdisc that is replaced loses what it holds", .read = change_qdisc_read,
			  .write = change_qdisc_write, .check = change_qdisc_check,
			  .command = change_qdisc_command},
	[CHANGE_GOVERNOR] = {"governor", .before = "CPU ", .after = " governor",
			     .risk = "more power and heat", FILE_OPS},
};

#define RING(name, field, key)                                                                     \
	{                                                                                          \
		CHANGE_RING, name,                                                                 \
			.form = FORM_NUMBER, .min = 1, .max = UINT32_MAX, .link = key "=%s",       \
			.offset = offsetof(struct ethtool_ringparam, field##_pending),             \
			.max_offset = offsetof(struct ethtool_ringparam, field##_max_pending)      \
	}
#define CHANNELS(name, key)                                                                        \
	{                                                                                          \
		CHANGE_CHANNELS, #name,                                                            \
			.form = FORM_NUMBER, .max = UINT32_MAX, .link = key "=%s",                 \
			.offset = offsetof(struct ethtool_channels, name##_count),                 \
			.max_offset = offsetof(struct ethtool_channels, max_##name)                \
	}
#define COALESCE(name, field, how, line)                                                           \
	{                                                                                          \
		CHANGE_COALESCE, name, .form = how, .max = UINT32_MAX, .link = line,               \
				       .offset = offsetof(struct ethtool_coalesce, field)          \
	}
#define PAUSE(name, field, key)                                                                    \
	{                                                                                          \
		CHANGE_PAUSE, name, .form = FORM_SWITCH, .link = key "=%s",                        \
				    .offset = offsetof(struct ethtool_pauseparam, field)           \
	}
#define FEATURE(name, key)                                                                         \
	{                                                                                          \
		CHANGE_FEATURE, name, .form = FORM_SWITCH, .link = key "=%s"                       \
	}

/*
 * The first that fits counts. Keys of .link files: systemd, src/udev/net/link-config-gperf.gperf;
 * names of coalescing parameters: ethtool(8), -C.
 */
const struct change_setting change_settings[] = {
	{CHANGE_SYSCTL, "net/core/flow_limit_cpu_bitmap", .form = FORM_MASK},
	{CHANGE_SYSCTL, "net/core/rps_default_mask", .form = FORM_MASK},
	{CHANGE_SYSCTL, "*", .form = FORM_NUMBERS},

	{CHANGE_SYSFS, "queues/rx-[0-9]*/rps_cpus", .form = FORM_MASK,
	 .risk = "flows move to other CPUs: some reordering"},
	{CHANGE_SYSFS, "queues/rx-[0-9]*/rps_flow_cnt", .form = FORM_NUMBER, .max = INT32_MAX},
	{CHANGE_SYSFS, "queues/tx-[0-9]*/xps_cpus", .form = FORM_MASK},
	{CHANGE_SYSFS, "queues/tx-[0-9]*/xps_rxqs", .form = FORM_MASK},
	{CHANGE_SYSFS, "threaded", .form = FORM_NUMBER, .max = 2,
	 .risk = "the threads compete with other processes for the CPU"},
	{CHANGE_SYSFS, "napi_defer_hard_irqs", .form = FORM_NUMBER, .max = INT32_MAX,
	 .risk = "more delay"},
	{CHANGE_SYSFS, "gro_flush_timeout", .form = FORM_NUMBER, .max = UINT64_MAX,
	 .risk = "more delay"},
	{CHANGE_SYSFS, "tx_queue_len", .form = FORM_NUMBER, .max = UINT32_MAX,
	 .link = "TransmitQueueLength=%s", .risk = "a full queue means more delay"},

	{CHANGE_IRQ, "[0-9]*", .form = FORM_CPUS},

	RING("rx", rx, "RxBufferSize"),
	RING("rx-mini", rx_mini, "RxMiniBufferSize"),
	RING("rx-jumbo", rx_jumbo, "RxJumboBufferSize"),
	RING("tx", tx, "TxBufferSize"),

	CHANNELS(rx, "RxChannels"),
	CHANNELS(tx, "TxChannels"),
	CHANNELS(other, "OtherChannels"),
	CHANNELS(combined, "CombinedChannels"),

	COALESCE("adaptive-rx", use_adaptive_rx_coalesce, FORM_SWITCH, "UseAdaptiveRxCoalesce=%s"),
	COALESCE("adaptive-tx", use_adaptive_tx_coalesce, FORM_SWITCH, "UseAdaptiveTxCoalesce=%s"),
	COALESCE("rx-usecs", rx_coalesce_usecs, FORM_NUMBER, "RxCoalesceSec=%sus"),
	COALESCE("rx-frames", rx_max_coalesced_frames, FORM_NUMBER, "RxMaxCoalescedFrames=%s"),
	COALESCE("rx-usecs-irq", rx_coalesce_usecs_irq, FORM_NUMBER, "RxCoalesceIrqSec=%sus"),
	COALESCE("rx-frames-irq", rx_max_coalesced_frames_irq, FORM_NUMBER,
		 "RxMaxCoalescedIrqFrames=%s"),
	COALESCE("tx-usecs", tx_coalesce_usecs, FORM_NUMBER, "TxCoalesceSec=%sus"),
	COALESCE("tx-frames", tx_max_coalesced_frames, FORM_NUMBER, "TxMaxCoalescedFrames=%s"),
	COALESCE("tx-usecs-irq", tx_coalesce_usecs_irq, FORM_NUMBER, "TxCoalesceIrqSec=%sus"),
	COALESCE("tx-frames-irq", tx_max_coalesced_frames_irq, FORM_NUMBER,
		 "TxMaxCoalescedIrqFrames=%s"),

	FEATURE("rx-checksum", "ReceiveChecksumOffload"),
	FEATURE("tx-generic-segmentation", "GenericSegmentationOffload"),
	FEATURE("tx-tcp-segmentation", "TCPSegmentationOffload"),
	FEATURE("tx-tcp6-segmentation", "TCP6SegmentationOffload"),
	FEATURE("rx-gro", "GenericReceiveOffload"),
	FEATURE("rx-lro", "LargeReceiveOffload"),
	{CHANGE_FEATURE, "*", .form = FORM_SWITCH},

	PAUSE("autoneg", autoneg, "AutoNegotiationFlowControl"),
	PAUSE("rx", rx_pause, "RxFlowControl"),
	PAUSE("tx", tx_pause, "TxFlowControl"),

	{CHANGE_RSS, "indirection", .form = FORM_OWN},
	{CHANGE_QDISC, "root", .form = FORM_OWN},
	{CHANGE_GOVERNOR, "[0-9]*", .form = FORM_WORD},
	{0},
};
