// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What of all that a host drops is a loss. */
#include <linux/if_ether.h>

#include "cases.h"
#include "drops/cause.h"
#include "trace_abi.h"

enum { TO_US, BROADCAST, MULTICAST, TO_OTHERS, OUTGOING };

static enum drop_class judge(const char *reason, const char *location, unsigned pkt_type,
			uint16_t protocol, unsigned flags)
{
	const struct stagemap_event e = {.reason = reason,
					 .location = location,
					 .aux = "",
					 .flags = flags,
					 .pkt_type = pkt_type,
					 .protocol = protocol};
	const struct verdict v = judge_drop(&e);

	assert_non_null(v.note);
	return v.class;
}

static const struct {
	const char *reason, *location;
	unsigned pkt_type;
	uint16_t protocol;
	enum drop_class class;
} known[] = {
	/* Measured on 6.18 (shared notes), or read where there was nothing to measure with. */
	{"SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", TO_US, ETH_P_IP, CLASS_LOSS},
	{"NO_SOCKET", "__udp4_lib_rcv", TO_US, ETH_P_IP, CLASS_LOSS},
	{"NETFILTER_DROP", "nft_do_chain", TO_US, ETH_P_IP, CLASS_LOSS},
	{"NOT_SPECIFIED", "udp_destruct_common", TO_US, ETH_P_IP, CLASS_LOSS},
	{"NOT_SPECIFIED", "veth_xmit", TO_US, ETH_P_IP, CLASS_LOSS},
	{"CPU_BACKLOG", "enqueue_to_backlog", TO_US, ETH_P_IPV6, CLASS_LOSS},
	{"TCP_ZEROWINDOW", "tcp_data_queue", TO_US, ETH_P_IP, CLASS_LOSS},
	{"UNHANDLED_PROTO", "__netif_receive_skb_core", TO_US, ETH_P_IPV6, CLASS_LOSS},
	{"NEIGH_QUEUEFULL", "__neigh_event_send", TO_US, ETH_P_IP, CLASS_LOSS},
	{"NEIGH_FAILED", "neigh_invalidate", TO_US, ETH_P_IP, CLASS_LOSS},
	/* A place that nobody knows is a loss until somebody does. */
	{"NOT_SPECIFIED", "no_such_function", TO_US, ETH_P_IP, CLASS_LOSS},

	{"OTHERHOST", "ip_rcv_core", TO_OTHERS, ETH_P_IP, CLASS_SUSPECTED},
	{"NO_SOCKET", "tcp_v4_rcv", TO_US, ETH_P_IP, CLASS_SUSPECTED},
	{"NETFILTER_DROP", "nft_do_chain", BROADCAST, ETH_P_IP, CLASS_SUSPECTED},
	{"NOT_SPECIFIED", "__rtnl_unlock", TO_US, ETH_P_IP, CLASS_SUSPECTED},
	{"NOT_SPECIFIED", "ixgbe_clean_tx_ring", TO_US, ETH_P_IP, CLASS_SUSPECTED},

	{"NOT_SPECIFIED", "ip6_mc_input", MULTICAST, ETH_P_IPV6, CLASS_EXPECTED},
	{"IP_INNOROUTES", "ip6_pkt_discard", MULTICAST, ETH_P_IPV6, CLASS_EXPECTED},
	{"NOT_SPECIFIED", "__udp4_lib_rcv", BROADCAST, ETH_P_IP, CLASS_EXPECTED},
	{"NOT_SPECIFIED", "ip_rcv_finish_core", MULTICAST, ETH_P_IP, CLASS_EXPECTED},
	{"UNHANDLED_PROTO", "__netif_receive_skb_core", MULTICAST, 0x88cc, CLASS_EXPECTED},
	{"TCP_OLD_DATA", "tcp_data_queue", TO_US, ETH_P_IP, CLASS_EXPECTED},
	{"TCP_RESET", "tcp_rcv_established", TO_US, ETH_P_IP, CLASS_EXPECTED},
	{"NOT_SPECIFIED", "icmpv6_rcv", TO_US, ETH_P_IPV6, CLASS_EXPECTED},
	{"NOT_SPECIFIED", "nothing", OUTGOING, ETH_P_IP, CLASS_EXPECTED},

	{"NOT_SPECIFIED", "skb_release_data", TO_US, ETH_P_IP, CLASS_NONE},
	{"NOT_SPECIFIED", "unix_release_sock", TO_US, 0, CLASS_NONE},
};

CASE(as_known)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		enum drop_class n = judge(known[i].reason, known[i].location, known[i].pkt_type,
				     known[i].protocol, 0);

		if (n != known[i].class)
			fail_msg("%s at %s is %s, not %s", known[i].reason, known[i].location,
				 class_name(n), class_name(known[i].class));
	}
}

CASE(copies)
{
	assert_int_equal(judge("OTHERHOST", "ip_rcv_core", TO_OTHERS, ETH_P_IP, CAUSE_COPY),
			 CLASS_COPY);
	assert_int_equal(judge("NOT_SPECIFIED", "packet_rcv", TO_US, ETH_P_IP, 0), CLASS_COPY);
	assert_int_equal(judge("SOCKET_RCVBUFF", "x", TO_US, ETH_P_IP, CAUSE_COPY), CLASS_COPY);
}

/* An unknown protocol is not taken for one that is not IP. */
CASE(unknown_protocol)
{
	assert_int_equal(judge("UNHANDLED_PROTO", "__netif_receive_skb_core", TO_US, 0, 0),
			 CLASS_LOSS);
}

CASE(rows_are_sound)
{
	for (unsigned i = 0; i < class_row_count; i++) {
		const struct class_row *r = &class_rows[i];

		assert_true(r->reasons || r->locations || r->packets);
		assert_in_range(r->class, CLASS_LOSS, CLASS_EXPECTED);
		assert_true(r->packets < 1 << 6);
	}
}

/* A numbered packet of `run` is lost wherever it ends; a copy of it is a copy. */
CASE(numbered_packets)
{
	struct stagemap_event e = {.reason = "OTHERHOST",
				   .location = "ip_rcv_core",
				   .aux = "",
				   .numbered = true,
				   .pkt_type = TO_OTHERS,
				   .protocol = ETH_P_IP};

	assert_int_equal(judge_drop(&e).class, CLASS_LOSS);
	e.flags = CAUSE_COPY;
	assert_int_equal(judge_drop(&e).class, CLASS_COPY);
}

/* What is freed as used up is judged by the function that frees it. */
CASE(freed_as_used_up)
{
	struct stagemap_event e = {.reason = "CONSUMED",
				   .location = "__netif_receive_skb_core",
				   .aux = "",
				   .observer = OBSERVER_CONSUME_SKB};

	assert_int_equal(judge_drop(&e).class, CLASS_LOSS);
	assert_int_equal(judge_drop(&e).stage, STAGE_TC_INGRESS);
	e.flags = CAUSE_COPY;
	assert_int_equal(judge_drop(&e).class, CLASS_SUSPECTED);
	e.numbered = true;
	assert_int_equal(judge_drop(&e).class, CLASS_COPY);
	e.location = "another_function";
	e.numbered = false;
	assert_int_equal(judge_drop(&e).class, CLASS_NONE);
}
