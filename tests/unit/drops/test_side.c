// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* On which side of the balance a drop is, for each phase of a packet's way. */
#include "cases.h"
#include <stdio.h>
#include <string.h>

#include "drops/balance.h"
#include "watch_abi.h"

/* Of a loss. */
static enum balance_side side_at(struct verdict v, const char *location, enum balance_role role,
				 uint32_t flags, bool *sure)
{
	const struct balance_cause key = {.role = role, .flags = flags};
	struct judged_cause c = {.verdict = v};

	snprintf(c.location, sizeof(c.location), "%s", location);
	return side_of(&c, &key, sure);
}

static enum balance_side side_with(const char *reason, const char *location, enum balance_role role,
				   uint32_t flags, bool *sure)
{
	const struct stagemap_event e = {
		.reason = reason,
		.location = location,
		.aux = "",
		.observer = OBSERVER_KFREE_SKB,
		.flags = flags & BALANCE_OWN ? WATCH_SK : 0,
	};

	return side_at(stagemap_judge(&e), location, role, flags, sure);
}

static enum balance_side side(const char *reason, const char *location, enum balance_role role,
			      bool own, bool *sure)
{
	return side_with(reason, location, role, own ? BALANCE_OWN : 0, sure);
}

/* NAT gave it the name that EXPR matches: it enters as it is sent, or goes to a socket. */
CASE(renamed)
{
	static const struct {
		const char *reason, *location;
		enum balance_side edge, inside;
	} t[] = {
		{"NETFILTER_DROP", "nf_hook_slow", SIDE_OUTSIDE, SIDE_OUTSIDE},
		{"IP_INHDR", "ip_forward", SIDE_OUTSIDE, SIDE_OUTSIDE},
		{"NEIGH_FAILED", "neigh_invalidate", SIDE_OUTSIDE, SIDE_OUTSIDE},
		{"QDISC_DROP", "__dev_queue_xmit", SIDE_OUTSIDE, SIDE_INSIDE},
	};

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		bool sure;

		assert_int_equal(
			side_with(t[i].reason, t[i].location, ROLE_EDGE, BALANCE_RENAMED, &sure),
			t[i].edge);
		assert_int_equal(
			side_with(t[i].reason, t[i].location, ROLE_INSIDE, BALANCE_RENAMED, &sure),
			t[i].inside);
		assert_true(sure);
	}
}

struct expected {
	const char *reason, *location;
	enum balance_side edge, inside, stacked; /* of a packet from elsewhere */
	enum balance_side own_edge, own_inside, own_stacked;
};

#define IN   SIDE_INSIDE
#define OUT  SIDE_OUTSIDE
#define NONE SIDE_NONE

static const struct expected table[] = {
	/* before netif_receive_skb */
	{"CPU_BACKLOG", "enqueue_to_backlog", OUT, IN, IN, OUT, IN, IN},
	{"NOT_SPECIFIED", "veth_xdp_rcv_skb", OUT, IN, IN, OUT, IN, IN},
	/* after it */
	{"NOT_SPECIFIED", "do_xdp_generic", IN, IN, IN, IN, IN, IN},
	{"TC_INGRESS", "__netif_receive_skb_core", IN, IN, IN, IN, IN, IN},
	{"IP_RPFILTER", "ip_rcv_finish_core", IN, IN, IN, IN, IN, IN},
	{"IP_INHDR", "ip_forward", IN, IN, IN, IN, IN, IN},
	{"NO_SOCKET", "__udp4_lib_rcv", IN, IN, IN, IN, IN, IN},
	{"SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", IN, IN, IN, IN, IN, IN},
	{"NOT_SPECIFIED", "udp_destruct_common", IN, IN, IN, IN, IN, IN},
	/* before net_dev_queue */
	{"NEIGH_FAILED", "neigh_invalidate", IN, IN, IN, OUT, OUT, OUT},
	{"TC_EGRESS", "__dev_queue_xmit", IN, IN, IN, OUT, OUT, OUT},
	{"BPF_CGROUP_EGRESS", "ip_finish_output", IN, IN, IN, OUT, OUT, OUT},
	/* after it */
	{"QDISC_DROP", "__dev_queue_xmit", OUT, IN, IN, OUT, IN, OUT},
	{"NOT_SPECIFIED", "veth_xmit", OUT, IN, IN, OUT, IN, OUT},
	{"FULL_RING", "tun_net_xmit", OUT, IN, IN, OUT, IN, OUT},
	/* no end of a packet */
	{"NOT_SPECIFIED", "skb_release_data", NONE, NONE, NONE, NONE, NONE, NONE},
	{"NOT_SPECIFIED", "tbf_enqueue", NONE, NONE, NONE, NONE, NONE, NONE},
	{"PACKET_SOCK_ERROR", "packet_rcv", NONE, NONE, NONE, NONE, NONE, NONE},
};

CASE(places)
{
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct expected *t = &table[i];
		const enum balance_side wanted[2][3] = {
			{t->edge, t->inside, t->stacked},
			{t->own_edge, t->own_inside, t->own_stacked},
		};

		for (int own = 0; own < 2; own++) {
			for (int role = ROLE_EDGE; role <= ROLE_STACKED; role++) {
				bool sure;

				if (side(t->reason, t->location, role, own, &sure) !=
				    wanted[own][role])
					fail_msg("%s %s, own %d, role %d", t->reason, t->location,
						 own, role);
				assert_true(sure);
			}
		}
	}
}

static enum balance_side netfilter(enum netfilter_hook hook, bool own)
{
	const struct verdict v = {.stage = STAGE_NETFILTER, .class = CLASS_LOSS, .hook = hook};
	bool sure;

	return side_at(v, "nft_do_chain", ROLE_INSIDE, own, &sure);
}

CASE(netfilter_hooks)
{
	for (int hook = HOOK_INGRESS; hook <= HOOK_FORWARD; hook++) {
		assert_int_equal(netfilter(hook, false), IN);
		assert_int_equal(netfilter(hook, true), IN); /* across a veth, until ip_rcv */
	}
	assert_int_equal(netfilter(HOOK_OUTPUT, true), OUT);
	assert_int_equal(netfilter(HOOK_POSTROUTING, true), OUT);
	assert_int_equal(netfilter(HOOK_POSTROUTING, false), IN);
	assert_int_equal(netfilter(HOOK_EGRESS, true), OUT);
	for (int hook = HOOK_BRIDGE_PREROUTING; hook <= HOOK_BRIDGE_FORWARD; hook++)
		assert_int_equal(netfilter(hook, false), IN);
	assert_int_equal(netfilter(HOOK_BRIDGE_OUTPUT, true), OUT);
	assert_int_equal(netfilter(HOOK_BRIDGE_POSTROUTING, true), OUT);
	assert_int_equal(netfilter(HOOK_BRIDGE_POSTROUTING, false), IN);
}

/* Between two namespaces of this host it does not matter where: the packet had entered. */
CASE(a_place_that_nobody_knows)
{
	bool sure;

	side("NOT_SPECIFIED", "some_function", ROLE_INSIDE, false, &sure);
	assert_true(sure);
	side("NOT_SPECIFIED", "some_function", ROLE_EDGE, false, &sure);
	assert_false(sure);
	side("NOT_SPECIFIED", "some_function", ROLE_INSIDE, true, &sure);
	assert_false(sure);
}

/* An expected end belongs to a packet that had entered. For leftovers, the arrivals decide. */
CASE(ends_that_are_no_loss_here)
{
	struct judged_cause c = {.verdict = {.stage = STAGE_IP_FRAG}};
	struct balance_cause key = {.role = ROLE_EDGE};
	bool sure;

	assert_int_equal(side_of(&c, &key, &sure), SIDE_INSIDE);
	key.flags = BALANCE_INCOMPLETE;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_BEFORE);
	c.verdict.stage = STAGE_UDP_LOOKUP;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_INSIDE);
	c.verdict.class = CLASS_SUSPECTED;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_INSIDE);
	c.verdict.class = CLASS_EXPECTED;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_EXPECTED);
	c.verdict.stage = STAGE_NIC_RING; /* before its entry */
	assert_int_equal(side_of(&c, &key, &sure), SIDE_NONE);
	c.verdict.class = CLASS_NONE;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_NONE);
}

/* As the kernel has their names: other strings follow. */
CASE(kinds_of_links)
{
	static const struct {
		const char *name;
		unsigned role;
	} kinds[] = {{"veth", 1},    {"macvlan", 3},	{"macvtap", 0}, {"vlan", 7},
		     {"ip6gre", 15}, {"ip6gretap", 16}, {"tun", 0},	{"bridge", 6}};
	struct link_kind links[LINK_KINDS] = {};
	uint8_t roles[LINK_KINDS];

	for (unsigned i = 0; i < LINK_KINDS; i++)
		roles[i] = (uint8_t)(i + 1);
	link_kinds_fill(links, roles);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char text[] = "next next next next";
		union link_name found;
		uint64_t role = 0;

		memcpy(text, kinds[i].name, strlen(kinds[i].name) + 1);
		memcpy(found.name, text, sizeof(found.name));
		for (unsigned k = LINK_KINDS; k-- > 0;) {
			if ((found.word & links[k].mask.word) == links[k].is.word)
				role = links[k].role;
		}
		assert_int_equal(role, kinds[i].role);
	}
}
