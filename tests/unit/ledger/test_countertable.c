// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a counter that moved without any event is evidence of: whose traffic it counts, and which
 * stage, if it serves one only. Sources: the kernel functions named beside the rules.
 */

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
	{"Udp6SndbufErrors", "tx", AF_INET6, COUNTER_HOST, STAGE_NONE},
	{"Ip:OutDiscards", "tx", AF_INET, COUNTER_HOST, STAGE_NONE},
	{"Ip6OutDiscards", "tx", AF_INET6, COUNTER_HOST, STAGE_NONE},
	{"Ip:OutNoRoutes", "rx", AF_INET, COUNTER_HOST, STAGE_TX_ROUTE},
	{"Ip6OutNoRoutes", "rx", AF_INET6, COUNTER_HOST, STAGE_TX_ROUTE},
	{"arp_cache:unresolved_discards", "host", AF_INET, COUNTER_HOST, STAGE_NEIGH},
	{"ndisc_cache:unresolved_discards", "host", AF_INET6, COUNTER_HOST, STAGE_NEIGH},
	{"e0:qdisc:drops", "rx", AF_INET, COUNTER_INTERFACE, STAGE_QDISC},
	{"e0:tx_dropped", "rx", AF_INET, COUNTER_INTERFACE, STAGE_NONE},
	{"ethtool:e0:tx_queue_0_xdp_xmit_errors", "rx", AF_INET, COUNTER_INTERFACE, STAGE_NONE},
	{"xsk:tx_lost", "tx", AF_INET, COUNTER_FLOW, STAGE_NONE},
	{"e0:rx_missed_errors", "rx", AF_INET, COUNTER_INTERFACE, STAGE_NIC_RING},
	{"ethtool:e0:rx_no_dma_resources", "rx", AF_INET, COUNTER_INTERFACE, STAGE_NIC_RING},
	{"ethtool:e0:rx_queue_0_xdp_drops", "rx", AF_INET, COUNTER_INTERFACE, STAGE_XDP},
	{"e0:rx_dropped", "rx", AF_INET, COUNTER_INTERFACE, STAGE_NONE},
	{"e0:rx_otherhost_dropped", "rx", AF_INET, COUNTER_INTERFACE, STAGE_L2},
	{"softnet:0:dropped", "host", AF_INET, COUNTER_HOST, STAGE_BACKLOG},
	{"xsk:rx_ring_full", "rx", AF_INET, COUNTER_FLOW, STAGE_XSK},
	{"xsk:rx_fill_ring_empty", "rx", AF_INET, COUNTER_FLOW, STAGE_XSK},
	{"xsk:rx_dropped", "rx", AF_INET, COUNTER_FLOW, STAGE_XSK},
	{"Ip:InHdrErrors", "rx", AF_INET, COUNTER_HOST, STAGE_NONE},
	{"Ip6InHdrErrors", "rx", AF_INET6, COUNTER_HOST, STAGE_NONE},
	{"IpExt:InCsumErrors", "rx", AF_INET, COUNTER_HOST, STAGE_IP_HEADER},
	{"IpExt:InTruncatedPkts", "rx", AF_INET, COUNTER_HOST, STAGE_IP_HEADER},
	{"Ip6InTruncatedPkts", "rx", AF_INET6, COUNTER_HOST, STAGE_IP_HEADER},
	{"Ip:InDiscards", "rx", AF_INET, COUNTER_HOST, STAGE_IP_HEADER},
	{"Ip6InDiscards", "rx", AF_INET6, COUNTER_HOST, STAGE_IP_HEADER},
	{"TcpExt:IPReversePathFilter", "rx", AF_INET, COUNTER_HOST, STAGE_IP_ROUTE},
	{"Ip:InAddrErrors", "rx", AF_INET, COUNTER_HOST, STAGE_IP_ROUTE},
	{"Ip6InAddrErrors", "rx", AF_INET6, COUNTER_HOST, STAGE_IP_ROUTE},
	{"IpExt:InNoRoutes", "rx", AF_INET, COUNTER_HOST, STAGE_IP_ROUTE},
	{"Ip6InNoRoutes", "rx", AF_INET6, COUNTER_HOST, STAGE_IP_ROUTE},
	{"Ip:ReasmFails", "rx", AF_INET, COUNTER_HOST, STAGE_IP_FRAG},
	{"Ip6ReasmFails", "rx", AF_INET6, COUNTER_HOST, STAGE_IP_FRAG},
	{"Ip:FragFails", "rx", AF_INET, COUNTER_HOST, STAGE_NONE},
	{"Ip6FragFails", "rx", AF_INET6, COUNTER_HOST, STAGE_NONE},
	{"Ip6InTooBigErrors", "rx", AF_INET, COUNTER_HOST, STAGE_IP_FORWARD},
	{"XfrmOutNoStates", "rx", AF_INET, COUNTER_HOST, STAGE_TX_ROUTE},
	{"XfrmIn0", "rx", AF_INET, COUNTER_HOST, STAGE_XFRM},
	{"Udp:NoPorts", "rx", AF_INET, COUNTER_HOST, STAGE_UDP_LOOKUP},
	{"Udp6NoPorts", "rx", AF_INET6, COUNTER_HOST, STAGE_UDP_LOOKUP},
	{"Udp:IgnoredMulti", "rx", AF_INET, COUNTER_HOST, STAGE_UDP_LOOKUP},
	{"Udp6IgnoredMulti", "rx", AF_INET6, COUNTER_HOST, STAGE_UDP_LOOKUP},
	{"Udp:RcvbufErrors", "rx", AF_INET, COUNTER_HOST, STAGE_RCVBUF},
	{"Udp6RcvbufErrors", "rx", AF_INET6, COUNTER_HOST, STAGE_RCVBUF},
	{"Udp:MemErrors", "rx", AF_INET, COUNTER_HOST, STAGE_UDP_MEM},
	{"Udp6MemErrors", "rx", AF_INET6, COUNTER_HOST, STAGE_UDP_MEM},
	{"Udp:InCsumErrors", "rx", AF_INET, COUNTER_HOST, STAGE_NONE},
	{"Udp6InCsumErrors", "rx", AF_INET6, COUNTER_HOST, STAGE_NONE},
	{"Udp:InErrors", "rx", AF_INET, COUNTER_HOST, STAGE_NONE},
	{"Udp6InErrors", "rx", AF_INET6, COUNTER_HOST, STAGE_NONE},
	{"socket:drops", "rx", AF_INET, COUNTER_FLOW, STAGE_NONE},
	{"Ip:InUnknownProtos", "host", AF_UNSPEC, COUNTER_HOST, STAGE_NONE},
	{"Ip6InUnknownProtos", "host", AF_UNSPEC, COUNTER_HOST, STAGE_NONE},
	{"Icmp:InErrors", "host", AF_UNSPEC, COUNTER_HOST, STAGE_ICMP},
	{"Icmp6InErrors", "host", AF_UNSPEC, COUNTER_HOST, STAGE_ICMP},
	{"TcpExt:ListenDrops", "host", AF_UNSPEC, COUNTER_HOST, STAGE_TCP_LISTEN},
	{"TcpExt:TCPBacklogDrop", "host", AF_UNSPEC, COUNTER_HOST, STAGE_TCP_BACKLOG},
	{"TcpExt:TCPRcvQDrop", "host", AF_UNSPEC, COUNTER_HOST, STAGE_NONE},
	{"TcpExt:TCPOFODrop", "host", AF_UNSPEC, COUNTER_HOST, STAGE_NONE},
	{"TcpExt:TCPZeroWindowDrop", "host", AF_UNSPEC, COUNTER_HOST, STAGE_NONE},
	{"TcpExt:PFMemallocDrop", "host", AF_UNSPEC, COUNTER_HOST, STAGE_NONE},
	{"Tcp:InErrs", "host", AF_UNSPEC, COUNTER_HOST, STAGE_TCP},
};

/* Counters beside a loss that another one counts: never evidence on their own. */
static const struct known beside[] = {
	{"softnet:0:flow_limit", "host", AF_INET, COUNTER_HOST, STAGE_NONE},
	{"Icmp:OutDestUnreachs", "rx", AF_INET, COUNTER_HOST, STAGE_NONE},
	{"Icmp6OutDestUnreachs", "rx", AF_INET6, COUNTER_HOST, STAGE_NONE},
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

CASE(what_did_not_move_is_none)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		struct countercheck found = compare(&counters[i], counters[i].name, 0);

		assert_int_equal(found.n_unexplained, 0);
		countercheck_free(&found);
	}
}

CASE(some_only_stand_beside_others)
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

CASE(stages_have_counters)
{
	static const struct {
		enum stage stage;
		unsigned max, n;
		const char *first;
	} rows[] = {
		{STAGE_RCVBUF, 8, 3, "Udp:RcvbufErrors"},
		{STAGE_NIC_RING, 8, 3, "@:rx_missed_errors"}, /* may know them, none is certain */
		{STAGE_NIC_RING, 1, 1, "@:rx_missed_errors"},
		{STAGE_SOCKET_CLOSE, 8, 0, NULL},
		{STAGE_NONE, 8, 0, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *names[8];

		assert_int_equal(countercheck_counters(rows[i].stage, names, rows[i].max),
				 rows[i].n);
		if (rows[i].n)
			assert_string_equal(names[0], rows[i].first);
	}
}
