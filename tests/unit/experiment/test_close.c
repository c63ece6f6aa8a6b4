// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which losses are a site's own. */
#include <stdio.h>

#include "cases.h"
#include "experiment/site.h"

#define TX_NS	 11
#define RX_NS	 12
#define OTHER_NS 13
#define DEVICE	 3

CASE(each_end_has_its_own_losses)
{
	enum { BOTH, SENDS, RECEIVES, TAKES }; /* with an XDP program that takes packets */
	static struct run_spec spec;
	static const struct {
		int site;
		unsigned netns, ifindex;
		int class, direction, stage, observer;
		const char *reason;
		bool here;
	} rows[] = {
		{BOTH, OTHER_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", true},
		{SENDS, TX_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB, "",
		 true},
		{SENDS, RX_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB, "",
		 false},
		{SENDS, OTHER_NS, 0, VERDICT_LOSS, DIRECTION_TX, STAGE_QDISC, OBSERVER_KFREE_SKB,
		 "", true},
		{RECEIVES, RX_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", true},
		{RECEIVES, 0, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB, "",
		 true},
		{RECEIVES, TX_NS, 0, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", false},
		{RECEIVES, RX_NS, 0, VERDICT_BENIGN, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "", false},
		{RECEIVES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_KFREE_SKB,
		 "XDP", true},
		{TAKES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_KFREE_SKB,
		 "XDP", false},
		{TAKES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_KFREE_SKB,
		 "NOMEM", true},
		{TAKES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_RCVBUF, OBSERVER_KFREE_SKB,
		 "XDP", true},
		{TAKES, RX_NS, DEVICE, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP, OBSERVER_REDIRECT_ERR,
		 "XDP", true},
		{TAKES, RX_NS, DEVICE + 1, VERDICT_LOSS, DIRECTION_RX, STAGE_XDP,
		 OBSERVER_KFREE_SKB, "XDP", true},
	};

	struct rx_prog takes = {.sink = (void *)&spec};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct site s = {
			.spec = &spec,
			.lone = rows[i].site != BOTH,
			.receives = rows[i].site != SENDS,
			.prog = rows[i].site == TAKES ? &takes : NULL,
			.lab = {.tx_ns.inum = TX_NS, .rx_ns.inum = RX_NS, .rx.ifindex = DEVICE},
		};
		struct ledger_cause c = {
			.raw.cause = {.netns = rows[i].netns,
				      .ifindex = rows[i].ifindex,
				      .observer = rows[i].observer},
			.verdict = {.class = rows[i].class,
				    .direction = rows[i].direction,
				    .stage = rows[i].stage},
		};

		snprintf(c.named.reason, sizeof(c.named.reason), "%s", rows[i].reason);
		if (site_is_here(&s, &c) != rows[i].here)
			fail_msg("row %zu", i);
	}
}
