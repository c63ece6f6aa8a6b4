// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The second books of one end. */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "host/netdev.h"
#include "experiment/near.h"

static const char *role_of(const struct near *n)
{
	return n->sends ? "tx" : "rx";
}

static void add_engine_counters(struct near *n, struct counters *c)
{
	struct sender_stats tx;
	struct rx_stats rx = {};

	if (n->sends && n->send.tx == &tx_xsk) {
		sender_stats(n->tx.sender, &tx);
		counters_add(c, "tx", "xsk:tx_invalid_descs", tx.tx.tx_invalid_descs);
		counters_add(c, "tx", "xsk:tx_lost", tx.tx.lost_at_device);
	}
	if (n->sends)
		return;
	receiver_stats(n->rx.receiver, &rx);
	if (n->recv.rx == &rx_xsk) {
		counters_add(c, "rx", "xsk:rx_ring_full", rx.rx_ring_full);
		counters_add(c, "rx", "xsk:rx_fill_ring_empty", rx.rx_fill_ring_empty);
		counters_add(c, "rx", "xsk:rx_dropped", rx.rx_dropped);
		counters_add(c, "rx", "xsk:rx_invalid", rx.rx_invalid);
	} else if (rx.socket_drops >= 0) {
		counters_add(c, "rx", "socket:drops", (uint64_t)rx.socket_drops);
	}
}

int near_read_counters(struct near *n, struct counters *c)
{
	unsigned ifindex = n->sends ? n->tx.ifindex : n->rx.ifindex;
	const char *devices[] = {NULL, NULL};
	char ifname[IF_NAMESIZE];
	struct counters_scope scope = {role_of(n), n->sends ? &n->tx.ns : &n->rx.ns, devices,
				       COUNTERS_RUN};
	int rc;

	devices[0] = ifindex ? if_indextoname(ifindex, ifname) : NULL;
	rc = counters_read(c, &scope, 1);
	if (!rc)
		add_engine_counters(n, c);
	return rc;
}

static void fill_facts(struct near *n, const struct result *own, struct engine_facts *f,
		       struct netdev_qdisc *qdisc)
{
	struct rx_stats rx = {};

	memset(f, 0, sizeof(*f));
	memset(qdisc, 0, sizeof(*qdisc));
	if (n->sends) {
		f->family = n->tx.flow.family;
		f->tx_socket = n->send.tx == &tx_socket;
		if (n->tx.ifindex && !netdev_qdisc_root(&n->tx.ns, n->tx.ifindex, qdisc))
			f->tx_qdisc = qdisc->kind;
		ledger_refusals(own, f);
		return;
	}
	f->family = n->rx.flow.family;
	f->rx_in_sender = ENGINE_NO;
	if (n->recv.rx == &rx_socket)
		return;
	receiver_stats(n->rx.receiver, &rx);
	f->xsk_zerocopy = rx.zero_copy;
	f->xdp_native = n->rx.config.xdp_skb_mode ? ENGINE_NO : ENGINE_YES;
	/* generic XDP counts its drops nowhere */
	f->xdp_sink = n->rx.config.xdp_skb_mode ? 0 : rx.xdp_drops;
}

static int compare(struct near *n, struct counters_deltas *deltas, struct result *own)
{
	struct stage_events *ev = calloc(TRACE_CAUSES, sizeof(*ev));
	struct countercheck *second = NULL;
	struct netdev_qdisc qdisc;
	struct engine_facts facts;
	int rc = -ENOMEM;

	if (ev) {
		fill_facts(n, own, &facts, &qdisc);
		rc = countercheck_compare(deltas, ev,
					 ledger_events(near_ledger(n), ev, TRACE_CAUSES), &facts,
					 &second);
	}
	if (!rc) {
		ledger_compare(second, own);
		own->replies = countercheck_replies(deltas);
		own->reassembled = countercheck_reassembled(deltas);
	}
	countercheck_free(second);
	free(ev);
	return rc;
}

int near_compare(struct near *n, struct result *res)
{
	struct counters_deltas deltas = {};
	struct counters after = {};
	int rc;

	if (n->sends)
		sending_end_name(&n->tx);
	else
		receiving_end_name(&n->rx);
	ledger_close(near_ledger(n), 0, near_fates(n)->stream0, 1, res);
	rc = near_read_counters(n, &after);
	if (!rc)
		rc = counters_delta(&n->before, &after, &deltas);
	if (!rc)
		rc = compare(n, &deltas, res);
	counters_deltas_free(&deltas);
	counters_free(&after);
	return rc;
}
