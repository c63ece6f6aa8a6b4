// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What of all that a host drops is a loss. */
#include <linux/if_ether.h>

#include "cases.h"
#include "drops/noise.h"
#include "trace_abi.h"

enum { TO_US, BROADCAST, MULTICAST, TO_OTHERS, OUTGOING };

static enum noise judge(const char *reason, const char *location, unsigned pkt_type,
			uint16_t protocol, unsigned flags)
{
	const struct stagemap_event e = {.reason = reason,
					 .location = location,
					 .aux = "",
					 .flags = flags,
					 .pkt_type = pkt_type,
					 .protocol = protocol};
	struct verdict v = stagemap_judge(&e);
	enum noise n = noise_judge(&e, &v);

	assert_non_null(v.note);
	return n;
}

static const struct {
	const char *reason, *location;
	unsigned pkt_type;
	uint16_t protocol;
	enum noise noise;
} known[] = {
	/* Measured on 6.18 (shared notes), or read where there was nothing to measure with. */
	{"SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", TO_US, ETH_P_IP, NOISE_LOSS},
	{"NO_SOCKET", "__udp4_lib_rcv", TO_US, ETH_P_IP, NOISE_LOSS},
	{"NETFILTER_DROP", "nft_do_chain", TO_US, ETH_P_IP, NOISE_LOSS},
	{"NOT_SPECIFIED", "udp_destruct_common", TO_US, ETH_P_IP, NOISE_LOSS},
	{"NOT_SPECIFIED", "veth_xmit", TO_US, ETH_P_IP, NOISE_LOSS},
	{"CPU_BACKLOG", "enqueue_to_backlog", TO_US, ETH_P_IPV6, NOISE_LOSS},
	{"TCP_ZEROWINDOW", "tcp_data_queue", TO_US, ETH_P_IP, NOISE_LOSS},
	{"UNHANDLED_PROTO", "__netif_receive_skb_core", TO_US, ETH_P_IPV6, NOISE_LOSS},
	{"NEIGH_QUEUEFULL", "__neigh_event_send", TO_US, ETH_P_IP, NOISE_LOSS},
	{"NEIGH_FAILED", "neigh_invalidate", TO_US, ETH_P_IP, NOISE_LOSS},
	/* A place that nobody knows is a loss until somebody does. */
	{"NOT_SPECIFIED", "no_such_function", TO_US, ETH_P_IP, NOISE_LOSS},

	{"OTHERHOST", "ip_rcv_core", TO_OTHERS, ETH_P_IP, NOISE_SUSPECT},
	{"NO_SOCKET", "tcp_v4_rcv", TO_US, ETH_P_IP, NOISE_SUSPECT},
	{"NETFILTER_DROP", "nft_do_chain", BROADCAST, ETH_P_IP, NOISE_SUSPECT},
	{"NOT_SPECIFIED", "__rtnl_unlock", TO_US, ETH_P_IP, NOISE_SUSPECT},
	{"NOT_SPECIFIED", "ixgbe_clean_tx_ring", TO_US, ETH_P_IP, NOISE_SUSPECT},

	{"NOT_SPECIFIED", "ip6_mc_input", MULTICAST, ETH_P_IPV6, NOISE_BENIGN},
	{"IP_INNOROUTES", "ip6_pkt_discard", MULTICAST, ETH_P_IPV6, NOISE_BENIGN},
	{"NOT_SPECIFIED", "__udp4_lib_rcv", BROADCAST, ETH_P_IP, NOISE_BENIGN},
	{"NOT_SPECIFIED", "ip_rcv_finish_core", MULTICAST, ETH_P_IP, NOISE_BENIGN},
	{"UNHANDLED_PROTO", "__netif_receive_skb_core", MULTICAST, 0x88cc, NOISE_BENIGN},
	{"TCP_OLD_DATA", "tcp_data_queue", TO_US, ETH_P_IP, NOISE_BENIGN},
	{"TCP_RESET", "tcp_rcv_established", TO_US, ETH_P_IP, NOISE_BENIGN},
	{"NOT_SPECIFIED", "icmpv6_rcv", TO_US, ETH_P_IPV6, NOISE_BENIGN},
	{"NOT_SPECIFIED", "nothing", OUTGOING, ETH_P_IP, NOISE_BENIGN},

	{"NOT_SPECIFIED", "skb_release_data", TO_US, ETH_P_IP, NOISE_NOTHING},
	{"NOT_SPECIFIED", "unix_release_sock", TO_US, 0, NOISE_NOTHING},
};

CASE(as_known)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		enum noise n = judge(known[i].reason, known[i].location, known[i].pkt_type,
				     known[i].protocol, 0);

		if (n != known[i].noise)
			fail_msg("%s at %s is %s, not %s", known[i].reason, known[i].location,
				 noise_name(n), noise_name(known[i].noise));
	}
}

CASE(copies_are_benign)
{
	assert_int_equal(judge("OTHERHOST", "ip_rcv_core", TO_OTHERS, ETH_P_IP, CAUSE_COPY),
			 NOISE_BENIGN);
	assert_int_equal(judge("NOT_SPECIFIED", "packet_rcv", TO_US, ETH_P_IP, 0), NOISE_BENIGN);
	assert_int_equal(judge("SOCKET_RCVBUFF", "x", TO_US, ETH_P_IP, CAUSE_COPY), NOISE_BENIGN);
}

/* An unknown protocol is not taken for one that is not IP. */
CASE(unknown_protocol)
{
	assert_int_equal(judge("UNHANDLED_PROTO", "__netif_receive_skb_core", TO_US, 0, 0),
			 NOISE_LOSS);
}

CASE(rows_are_sound)
{
	for (unsigned i = 0; i < noise_row_count; i++) {
		const struct noise_row *r = &noise_rows[i];

		assert_true(r->reasons || r->locations || r->packets);
		assert_in_range(r->noise, NOISE_LOSS, NOISE_BENIGN);
		assert_true(r->packets < 1 << 6);
	}
}
