// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a counter that moved without any event is evidence of: whose traffic it counts, and which
 * stage, if it serves one only. One of each kind: the whole list is countercheck_data.c.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "cases.h"
#include "ledger/ledger.h"

#define MOVED 7

static const struct known {
	const char *name, *role;
	int family; /* AF_UNSPEC: where all traffic is looked at */
	enum counter_scope scope;
	enum stage stage; /* STAGE_NONE: of several */
} counters[] = {
	{"Udp:SndbufErrors", "tx", AF_INET, COUNTER_HOST, STAGE_NONE},
	{"Ip6OutNoRoutes", "rx", AF_INET6, COUNTER_HOST, STAGE_TX_ROUTE},
	{"arp_cache:unresolved_discards", "host", AF_INET, COUNTER_HOST, STAGE_NEIGH},
	{"e0:qdisc:drops", "rx", AF_INET, COUNTER_INTERFACE, STAGE_QDISC},
	{"ethtool:e0:rx_queue_0_xdp_drops", "rx", AF_INET, COUNTER_INTERFACE, STAGE_XDP},
	{"e0:rx_dropped", "rx", AF_INET, COUNTER_INTERFACE, STAGE_NONE},
	{"softnet:0:dropped", "host", AF_INET, COUNTER_HOST, STAGE_BACKLOG},
	{"xsk:rx_ring_full", "rx", AF_INET, COUNTER_FLOW, STAGE_XSK},
	{"Ip:InHdrErrors", "rx", AF_INET, COUNTER_HOST, STAGE_NONE},
	{"XfrmIn0", "rx", AF_INET, COUNTER_HOST, STAGE_XFRM},
	{"Udp6RcvbufErrors", "rx", AF_INET6, COUNTER_HOST, STAGE_RCVBUF},
	{"socket:drops", "rx", AF_INET, COUNTER_FLOW, STAGE_NONE},
	{"Icmp6InErrors", "host", AF_UNSPEC, COUNTER_HOST, STAGE_ICMP},
	{"TcpExt:ListenDrops", "host", AF_UNSPEC, COUNTER_HOST, STAGE_TCP_LISTEN},
	{"Tcp:InErrs", "host", AF_UNSPEC, COUNTER_HOST, STAGE_TCP},
};

/* Never evidence. */
static const struct known beside[] = {
	{"Udp:SndbufErrors", "rx", AF_INET, COUNTER_HOST, STAGE_NONE},	   /* the other end's */
	{"TcpExt:ListenDrops", "host", AF_INET, COUNTER_HOST, STAGE_NONE}, /* of others */
	{"Udp:SndbufErrors", "host", AF_UNSPEC, COUNTER_HOST, STAGE_NONE}, /* no packet */
};

static struct countercheck compare(const struct known *c, const char *name, uint64_t delta)
{
	struct engine_facts facts = {
		.family = c->family, .tx_socket = true, .any_traffic = !c->family};
	struct counter item = {.value = delta};
	struct counters deltas = {.items = &item, .n = 1};
	struct countercheck found;

	snprintf(item.scope, sizeof(item.scope), "%s", c->role);
	snprintf(item.name, sizeof(item.name), "%s", name);
	countercheck_compare(&deltas, NULL, 0, &facts, &found);
	return found;
}

CASE(each_is_evidence_of_its_stage)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		const struct known *c = &counters[i];
		struct countercheck found = compare(c, c->name, MOVED);

		print_message("%s\n", c->name);
		assert_int_equal(found.n_unexplained, 1);
		assert_memory_equal(found.unexplained[0].name, c->role, strlen(c->role));
		assert_string_equal(found.unexplained[0].name + strlen(c->role) + 1, c->name);
		assert_int_equal(found.unexplained[0].delta, MOVED);
		assert_int_equal(found.unexplained[0].expected_max, 0);
		assert_string_equal(found.unexplained[0].scope, counter_scope_names[c->scope]);
		assert_int_equal(found.unexplained[0].stage, c->stage);
		countercheck_free(&found);
	}
}

/*
 * Which losses move a counter, and how surely: MUST, MAY, QUIRK (which may be documented), or
 * NEVER, by which ways of the engines; beside those of test_countercheck.c. Both devices are a pair
 * of veth; without more, send() has no qdisc, and fills the receiver's backlog within the call.
 */
enum {
	NEVER = SEGMENTS,
	HOW = 15,
	DRIVER = 16,
	GENERIC = 32, /* XDP */
	LATER = 64,   /* the receiver's softirq is not within the call */
	TBF = 128,
	FQ = 256,
};

static const struct engine_link pair[] = {{{{"tx", "v-tx"}, {"rx", "v-rx"}}}};

static const struct moved_by {
	const char *role, *counters; /* a|b: each of them */
	enum stage stage;
	const char *reason, *location, *netns; /* the device is that of the namespace */
	unsigned how;
} moved_by[] = {
	/* ip_send_skb() and udp_send_skb() count what dev_queue_xmit() gives back, and EPERM. */
	{"tx", "Udp:SndbufErrors|Ip:OutDiscards", STAGE_TC_EGRESS, "CONSUMED", "__dev_queue_xmit",
	 "tx", NEVER},
	{"tx", "Udp:SndbufErrors|Ip:OutDiscards", STAGE_QDISC, "", "__dev_queue_xmit", "tx", MAY},
	{"tx", "Udp:SndbufErrors|Ip:OutDiscards", STAGE_QDISC, "", "__dev_queue_xmit", "tx",
	 MUST | TBF},
	{"tx", "Udp:SndbufErrors", STAGE_QDISC, "", "__dev_queue_xmit", "tx", MAY | FQ},
	{"tx", "Udp:SndbufErrors|Ip:OutDiscards", STAGE_QDISC, "", "tbf_enqueue", "tx", MAY},
	{"tx", "Udp:SndbufErrors|Ip:OutDiscards", STAGE_QDISC, "", "__rtnl_unlock", "tx", NEVER},
	{"tx", "Udp:SndbufErrors|Ip:OutDiscards", STAGE_TX_DEVICE, "", "veth_xmit", "rx", QUIRK},
	{"tx", "Udp:SndbufErrors", STAGE_TX_DEVICE, "", "veth_xmit", "rx", MAY | FQ},
	{"tx", "Udp:SndbufErrors|Ip:OutDiscards", STAGE_BACKLOG, "", "", "rx", QUIRK},
	{"tx", "Udp:SndbufErrors", STAGE_BACKLOG, "", "", "rx", NEVER | LATER},
	{"tx", "Udp:SndbufErrors", STAGE_NETFILTER, "NETFILTER_DROP", "", "tx", MAY},
	{"tx", "Udp:SndbufErrors", STAGE_TX_SOCKET, "", "ip_finish_output", "tx", MAY},
	{"rx", "Ip:OutNoRoutes", STAGE_TX_ROUTE, "IP_OUTNOROUTES", "", "rx", MUST},
	{"host", "arp_cache:unresolved_discards", STAGE_NEIGH, "NEIGH_QUEUEFULL", "", "tx", MUST},
	/* Devices and their qdiscs; veth_xmit() has turned skb->dev to the peer. */
	{"tx", "v-tx:qdisc:drops", STAGE_QDISC, "", "__rtnl_unlock", "tx", NEVER},
	{"tx", "v-tx:tx_dropped", STAGE_TX_DEVICE, "", "tun_queue_purge", "tx", NEVER},
	{"tx", "v-tx:tx_dropped", STAGE_TX_DEVICE, "", "sch_direct_xmit", "tx", MAY},
	{"tx", "v-tx:tx_dropped", STAGE_BACKLOG, "", "", "rx", NEVER | LATER},
	{"tx", "v-tx:tx_dropped", STAGE_XDP, "", "xdp_devmap_xmit", "rx", MAY},
	{"tx", "v-tx:tx_dropped", STAGE_XDP, "", "xdp_bulk_tx", "tx", MAY},
	{"tx", "ethtool:v-tx:tx_queue_0_xdp_xmit_errors", STAGE_TX_DEVICE, "", "xdp_devmap_xmit",
	 "tx", MUST},
	{"tx", "ethtool:v-tx:tx_queue_0_xdp_xmit_errors", STAGE_XDP, "", "xdp_devmap_xmit", "tx",
	 MAY},
	{"tx", "xsk:tx_lost", STAGE_TX_DEVICE, "", "veth_xmit", "rx", QUIRK},
	{"tx", "xsk:tx_lost", STAGE_TX_DEVICE, "", "dev_direct_xmit", "tx", MAY},
	{"tx", "xsk:tx_lost", STAGE_BACKLOG, "", "", "rx", QUIRK},
	{"tx", "xsk:tx_lost", STAGE_TC_EGRESS, "TC_EGRESS", "", "tx", MAY},
	{"rx", "ethtool:v-rx:rx_queue_1_xdp_drops", STAGE_XDP, "", "mlx5e_xdp_handle", "rx", MAY},
	{"rx", "ethtool:v-rx:rx_queue_1_xdp_drops", STAGE_XDP, "", "do_xdp_generic", "rx", NEVER},
	{"rx", "v-rx:rx_dropped", STAGE_TX_DEVICE, "", "xdp_devmap_xmit", "tx", MAY},
	{"rx", "v-rx:rx_dropped", STAGE_XDP, "", "xdp_redirect_err", "rx", MAY},
	{"rx", "v-rx:rx_dropped", STAGE_XDP, "", "xdp_redirect_err", "rx", MUST | DRIVER},
	{"rx", "v-rx:rx_dropped", STAGE_XDP, "", "xdp_redirect_err", "rx", NEVER | GENERIC},
	{"rx", "v-rx:rx_dropped", STAGE_XDP, "", "xdp_devmap_xmit", "rx", MAY},
	{"rx", "v-rx:rx_dropped", STAGE_XDP, "", "xdp_bulk_tx", "tx", MAY},
	{"rx", "v-rx:rx_dropped|v-rx:rx_missed_errors|ethtool:v-rx:rx_no_memory", STAGE_NIC_RING,
	 "", "", "rx", MAY},
	{"rx", "v-rx:rx_dropped", STAGE_TUNNEL, "", "", "rx", MAY},
	{"host", "softnet:cpu1:dropped", STAGE_BACKLOG, "DEV_READY", "", "rx", NEVER},
	{"rx", "xsk:rx_ring_full|xsk:rx_fill_ring_empty|xsk:rx_dropped", STAGE_XSK, "XDP", "", "rx",
	 MAY},
	/* IP. */
	{"rx", "Ip:InHdrErrors", STAGE_IP_HEADER, "PKT_TOO_SMALL", "", "rx", MAY},
	{"rx", "IpExt:InTruncatedPkts", STAGE_IP_HEADER, "PKT_TOO_SMALL", "", "rx", MAY},
	{"rx", "Ip:InDiscards", STAGE_IP_HEADER, "IPV6DISABLED", "", "rx", MUST},
	{"rx", "Ip:InDiscards", STAGE_IP_HEADER, "NOMEM", "", "rx", MAY},
	{"rx", "Ip:InAddrErrors", STAGE_IP_ROUTE, "IP_INADDRERRORS", "", "rx", MUST},
	{"rx", "Ip:InAddrErrors", STAGE_IP_ROUTE, "NOT_SPECIFIED", "", "rx", MAY},
	{"rx", "IpExt:InNoRoutes", STAGE_IP_ROUTE, "IP_INNOROUTES", "", "rx", MUST},
	{"rx", "IpExt:InNoRoutes", STAGE_IP_ROUTE, "NOT_SPECIFIED", "", "rx", MAY},
	{"rx", "Ip:ReasmFails", STAGE_IP_FRAG, "", "", "rx", MAY},
	{"rx", "Ip:FragFails", STAGE_TX_SOCKET, "", "ip_do_fragment", "rx", MAY},
	{"rx", "XfrmOutNoStates", STAGE_TX_ROUTE, "NOT_SPECIFIED", "dst_discard_out", "rx", MUST},
	{"rx", "XfrmInNoPols", STAGE_XFRM, "XFRM_POLICY", "", "rx", MUST},
	{"rx", "XfrmInNoStates", STAGE_XFRM, "NOT_SPECIFIED", "", "rx", MAY},
	/* UDP, and its socket. */
	{"rx", "Udp:MemErrors", STAGE_UDP_MEM, "", "__udp_enqueue_schedule_skb", "rx", QUIRK},
	{"rx", "Udp:InErrors", STAGE_UDP_MEM, "", "__udp_enqueue_schedule_skb", "rx", QUIRK},
	{"rx", "Udp:InErrors", STAGE_UDP_HEADER, "", "", "rx", MUST},
	{"rx", "Udp:InErrors", STAGE_XFRM, "", "udp_queue_rcv_one_skb", "rx", MUST},
	{"rx", "socket:drops", STAGE_UDP_CSUM, "", "__udp4_lib_rcv", "rx", NEVER},
	{"rx", "socket:drops", STAGE_XFRM, "", "udpv6_queue_rcv_one_skb", "rx", MUST},
	/* What is not UDP, in a namespace that is looked at as a whole. */
	{"host", "Ip:InUnknownProtos", STAGE_IP_HEADER, "", "", "host", MAY},
	{"host", "Ip:InUnknownProtos", STAGE_TUNNEL, "", "", "host", MAY},
	{"host", "Icmp:InErrors", STAGE_ICMP, "", "", "host", MAY},
	{"host", "TcpExt:ListenDrops", STAGE_TCP_LISTEN, "TCP_LISTEN_OVERFLOW", "", "host", MAY},
	{"host", "TcpExt:TCPBacklogDrop", STAGE_TCP_BACKLOG, "SOCKET_BACKLOG", "", "host", MUST},
	{"host", "TcpExt:TCPBacklogDrop", STAGE_TCP_BACKLOG, "NOT_SPECIFIED", "", "host", MAY},
	{"host", "TcpExt:TCPRcvQDrop|TcpExt:TCPOFODrop|TcpExt:TCPZeroWindowDrop", STAGE_TCP_RCVBUF,
	 "", "", "host", MAY},
	{"host", "TcpExt:TCPRcvQDrop|TcpExt:TCPOFODrop|TcpExt:TCPZeroWindowDrop", STAGE_TCP,
	 "NOT_SPECIFIED", "", "host", MAY},
	{"host", "TcpExt:TCPRcvQDrop|TcpExt:TCPOFODrop", STAGE_RCVBUF, "", "", "host", MAY},
	{"host", "TcpExt:TCPRcvQDrop|TcpExt:TCPOFODrop", STAGE_UDP_MEM, "", "", "host", MAY},
	{"host", "TcpExt:PFMemallocDrop", STAGE_TCP, "", "", "host", MAY},
	{"host", "TcpExt:PFMemallocDrop", STAGE_SOCKET_FILTER, "", "", "host", MAY},
	{"host", "Tcp:InErrs", STAGE_TCP, "", "", "host", MAY},
};

static void moves(const struct moved_by *m, const char *counter, uint64_t delta)
{
	const bool everything = !strcmp(m->netns, "host");
	const struct engine_facts facts = {
		.family = everything ? AF_UNSPEC : AF_INET,
		.any_traffic = everything,
		.private_ns = true,
		.tx_socket = true,
		.rx_in_sender = m->how & LATER ? ENGINE_NO : ENGINE_YES,
		.xdp_native = m->how & (DRIVER | GENERIC) ? 1 + !!(m->how & DRIVER) : 0,
		.tx_qdisc = m->how & TBF  ? "tbf"
			    : m->how & FQ ? "fq"
					  : NULL,
		.links = pair,
		.n_links = 1,
	};
	struct ledger_cause loss = {.named.stage = m->stage,
				    .raw.count = {.events = MOVED, .packets = 2 * MOVED}};
	struct counter item = {.value = delta};
	struct counters deltas = {.items = &item, .n = 1};
	const unsigned how = m->how & HOW;
	const bool row = how == MUST || how == QUIRK;
	struct countercheck found;
	bool good;

	snprintf(loss.named.reason, sizeof(loss.named.reason), "%s", m->reason);
	snprintf(loss.named.location, sizeof(loss.named.location), "%s", m->location);
	snprintf(loss.named.netns, sizeof(loss.named.netns), "%s", m->netns);
	snprintf(loss.named.ifname, sizeof(loss.named.ifname), "v-%s", m->netns);
	snprintf(item.scope, sizeof(item.scope), "%s", m->role);
	snprintf(item.name, sizeof(item.name), "%s", counter);
	countercheck_compare(&deltas, &loss, 1, &facts, &found);
	good = found.n_rows == row && found.n_unexplained == (delta > (how == NEVER ? 0 : MOVED));
	if (good && row) /* others may have moved one of the host, too */
		good = found.rows[0].stage == m->stage &&
		       found.rows[0].agrees ==
			       (delta == MOVED || (delta && !strcmp(m->role, "host"))) &&
		       found.rows[0].documented == (!delta && how == QUIRK);
	if (!good)
		fail_msg("%s, %s %s @%s in %s, moved by %u", counter, stage_name(m->stage),
			 m->reason, m->location, m->netns, (unsigned)delta);
	countercheck_free(&found);
}

CASE(each_is_moved_by_its_losses)
{
	for (size_t i = 0; i < sizeof(moved_by) / sizeof(moved_by[0]); i++) {
		char list[128], *rest = list, *counter;

		snprintf(list, sizeof(list), "%s", moved_by[i].counters);
		while ((counter = strsep(&rest, "|"))) {
			moves(&moved_by[i], counter, 0);
			moves(&moved_by[i], counter, MOVED);
			moves(&moved_by[i], counter, MOVED + 1);
		}
	}
}

CASE(what_did_not_move_is_none)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		struct countercheck found = compare(&counters[i], counters[i].name, 0);

		assert_int_equal(found.n_unexplained, 0);
		countercheck_free(&found);
	}
}

CASE(some_are_not_the_flows)
{
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		struct countercheck found = compare(&beside[i], beside[i].name, MOVED);

		assert_int_equal(found.n_unexplained, 0);
		countercheck_free(&found);
	}
}

CASE(another_name_is_none)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		struct countercheck found = compare(&counters[i], "Udp:InDatagrams", MOVED);

		assert_int_equal(found.n_unexplained, 0);
		countercheck_free(&found);
	}
}

CASE(those_of_namespaces_are_known)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		const char *name = counters[i].name;

		assert_true(countercheck_knows(name) || strchr(name, ':') != strrchr(name, ':') ||
			    strstr(name, "e0:"));
	}
	assert_false(countercheck_knows("Udp:InDatagrams"));
	assert_false(countercheck_knows("TcpExt:TCPTimeouts"));
}

/* Two queues are a sum with a pattern for a name; one is not. */
CASE(one_member_keeps_its_name)
{
	struct engine_facts facts = {.family = AF_INET};
	struct counter items[] = {
		{.scope = "rx", .name = "ethtool:e0:rx_queue_0_xdp_drops", .value = 3},
		{.scope = "rx", .name = "ethtool:e0:rx_queue_1_xdp_drops", .value = 4},
		{.scope = "rx", .name = "ethtool:e0:rx_queue_2_xdp_drops", .value = 5},
	};
	static const char *const names[] = {"rx ethtool:e0:rx_queue_0_xdp_drops",
					    "rx ethtool:e0:rx_queue_*_xdp_drops",
					    "rx ethtool:e0:rx_queue_*_xdp_drops"};
	static const uint64_t sums[] = {3, 7, 12};

	for (size_t n = 1; n <= 3; n++) {
		struct counters deltas = {.items = items, .n = n};
		struct countercheck found;

		countercheck_compare(&deltas, NULL, 0, &facts, &found);
		assert_int_equal(found.n_unexplained, 1);
		assert_string_equal(found.unexplained[0].name, names[n - 1]);
		assert_int_equal(found.unexplained[0].delta, sums[n - 1]);
		countercheck_free(&found);
	}
}

static struct countercheck compare_all(const struct counter *items, size_t n,
				       const struct engine_facts *facts)
{
	struct counters deltas = {.items = (struct counter *)items, .n = n};
	struct countercheck found;

	countercheck_compare(&deltas, NULL, 0, facts, &found);
	return found;
}

/* Each device has its counter; of several names for one ring the first is taken. */
CASE(devices_and_their_names)
{
	static const struct engine_facts facts = {.family = AF_INET, .private_ns = true};
	static const struct counter items[] = {
		{.scope = "rx", .name = "e0:rx_dropped", .value = 3},
		{.scope = "rx", .name = "e1:rx_dropped", .value = 4},
		{.scope = "tx", .name = "e0:rx_dropped", .value = 5},
		{.scope = "rx", .name = "ethtool:e0:rx_no_memory", .value = 6},
		{.scope = "rx", .name = "ethtool:e0:rx_no_dma_resources", .value = 7},
		{.scope = "rx", .name = "a-name-of-sixteen:rx_dropped", .value = 8},
	};
	struct countercheck found = compare_all(items, 6, &facts);
	static const uint64_t deltas[] = {7, 3, 4, 5}; /* in the order of the rules */

	assert_int_equal(found.n_unexplained, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(found.unexplained[i].delta, deltas[i]);
	countercheck_free(&found);
}

/* InErrors counts again what three others of its namespace have counted, and no other's. */
CASE(errors_are_counted_twice)
{
	static const struct engine_facts facts = {.family = AF_INET};
	struct counter items[] = {
		{.scope = "rx", .name = "Udp:RcvbufErrors", .value = 3},
		{.scope = "rx", .name = "Udp:MemErrors", .value = 4},
		{.scope = "host", .name = "Udp:RcvbufErrors", .value = 50},
		{.scope = "rx", .name = "Udp:NoPorts", .value = 60},
		{.scope = "rx", .name = "Udp:InErrors", .value = 7},
	};
	struct countercheck found = compare_all(items, 5, &facts);

	assert_int_equal(found.n_unexplained, 4);
	countercheck_free(&found);
	items[4].value = 9;
	found = compare_all(items, 5, &facts);
	assert_int_equal(found.n_unexplained, 5);
	assert_string_equal(found.unexplained[4].name, "rx Udp:InErrors");
	assert_int_equal(found.unexplained[4].delta - found.unexplained[4].expected_max, 2);
	countercheck_free(&found);
}

/* What send() refused: EAGAIN moves them each time, the rest may have. */
CASE(refusals_move_them_too)
{
	const struct result res = {.n_refused_by = 4,
				   .refused_by = {{EPERM, 10},
						  {EAGAIN, 20},
						  {TX_ERRNO_LOST, 3},
						  {ENOBUFS, 4},
						  {EINVAL, 1000}}};
	static const struct {
		uint64_t delta;
		bool unexplained;
	} rows[] = {{20, false}, {37, false}, {38, true}};
	struct engine_facts facts = {.family = AF_INET, .tx_socket = true, .private_ns = true};

	countercheck_refusals(&res, &facts);
	assert_int_equal(facts.eagain, 20);
	assert_int_equal(facts.short_calls, 3);
	assert_int_equal(facts.refused, 14);
	for (unsigned i = 0; i < 3; i++) {
		const struct counter item = {
			.scope = "tx", .name = "Udp:SndbufErrors", .value = rows[i].delta};
		struct countercheck found = compare_all(&item, 1, &facts);

		assert_int_equal(found.n_unexplained, rows[i].unexplained);
		countercheck_free(&found);
	}
}

CASE(sums_of_what_is_no_loss)
{
	static const char *const names[] = {"Icmp:InDestUnreachs", "Icmp6InPktTooBigs",
					    "Ip:ReasmOKs", "Ip6ReasmOKs", "Ip6ReasmTimeout"};
	struct counters deltas = {};

	for (unsigned i = 0; i < 5; i++) {
		counters_add(&deltas, i < 2 ? "tx" : "rx", names[i], 1 << i);
		counters_add(&deltas, i < 2 ? "rx" : "tx", names[i], 100);
	}
	assert_int_equal(countercheck_sum(&deltas, SUM_REPLIES), 3);
	assert_int_equal(countercheck_sum(&deltas, SUM_REASSEMBLED), 12);
	assert_int_equal(countercheck_sum(&deltas, SUM_TIMED_OUT), 16);
	counters_free(&deltas);
}
