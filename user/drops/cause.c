// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/cause.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "host/load.h"

/*
 * Expected drops in ordinary traffic. Sources: Linux 5.15 to 6.18, function names in parentheses. A
 * drop that matches no row is a loss.
 */
#define LOSS	  CLASS_LOSS
#define SUSPECTED CLASS_SUSPECTED
#define EXPECTED  CLASS_EXPECTED

#define UDP_RCV                                                                                    \
	"__udp4_lib_rcv __udp6_lib_rcv udp_rcv udpv6_rcv __udp4_lib_mcast_deliver "                \
	"__udp6_lib_mcast_deliver"
#define IP_ROUTE "ip_rcv_finish* ip_list_rcv_finish ip_sublist_rcv_finish ip_error ip_route_*"

const struct class_row class_rows[] = {
	/* Copies. */
	{NULL, NULL, OF_OUTGOING, PROTOCOL_ANY, EXPECTED, "a tap's copy (dev_queue_xmit_nit)"},
	{"OTHERHOST", NULL, 0, PROTOCOL_ANY, SUSPECTED,
	 "a frame for another MAC address, seen because of a flood or promiscuous mode "
	 "(ip_rcv_core)"},

	{NULL, "bpf_prog_test_run_*", 0, PROTOCOL_ANY, EXPECTED,
	 "made to test a BPF program (bpf_prog_test_run_skb)"},

	{NULL, "inet_rtm_getroute inet6_rtm_getroute", 0, PROTOCOL_ANY, EXPECTED,
	 "a route lookup, for which the kernel builds a dummy packet (ip route get)"},

	/* Multicast to groups that this host has not joined. */
	{NULL, "ip6_mc_input ip_mc_input", 0, PROTOCOL_ANY, EXPECTED,
	 "multicast group without a member on this host (ip6_mc_input)"},
	{"NOT_SPECIFIED IP_INADDRERRORS", IP_ROUTE, OF_TO_MANY, PROTOCOL_ANY, EXPECTED,
	 "multicast group without a member on this host (ip_rcv_finish_core)"},
	{"IP_INNOROUTES", "ip6_pkt_*", OF_TO_MANY, PROTOCOL_ANY, EXPECTED,
	 "multicast group without a route on this host (ip6_pkt_discard)"},
	{"NOT_SPECIFIED NO_SOCKET", UDP_RCV, OF_TO_MANY, PROTOCOL_ANY, EXPECTED,
	 "broadcast or multicast without a listener (__udp4_lib_mcast_deliver)"},
	{"UNHANDLED_PROTO PTYPE_ABSENT", NULL, 0, PROTOCOL_NOT_IP, EXPECTED,
	 "neither IP nor ARP: nothing here takes it, as LLDP or STP (__netif_receive_skb_core)"},
	{NULL, NULL, OF_TO_MANY, PROTOCOL_NOT_IP, EXPECTED,
	 "neither IP nor to this host alone (__netif_receive_skb_core)"},
	{"NETFILTER_DROP", NULL, OF_TO_MANY, PROTOCOL_ANY, SUSPECTED,
	 "broadcast or multicast that a rule dropped (nf_hook_slow)"},

	/* Neighbours that do not answer. */
	{"IPV6_NDISC_NS_OTHERHOST", NULL, 0, PROTOCOL_ANY, EXPECTED,
	 "the neighbour solicitation is for another host (ndisc_recv_ns)"},

	/* TCP retransmits lost data, and many of these packets carried no data. */
	{"TCP_RESET", NULL, 0, PROTOCOL_ANY, EXPECTED, "a reset, obeyed (tcp_reset)"},
	{"TCP_TOO_OLD_ACK TCP_ACK_UNSENT_DATA TCP_INVALID_ACK_SEQUENCE TCP_RFC7323_*", NULL, 0,
	 PROTOCOL_ANY, SUSPECTED, "a segment out of its time (tcp_ack, tcp_validate_incoming)"},
	{"TCP_INVALID_SEQUENCE TCP_INVALID_END_SEQUENCE TCP_INVALID_SYN TCP_FLAGS TCP_CLOSE "
	 "TCP_ABORT_ON_DATA TCP_FASTOPEN",
	 NULL, 0, PROTOCOL_ANY, SUSPECTED, "a segment that does not fit the connection (tcp_rcv_*)"},
	{"NO_SOCKET", "tcp_*", 0, PROTOCOL_ANY, SUSPECTED,
	 "no socket listens on the port: answered by a reset (tcp_v4_rcv)"},
	{"NOT_SPECIFIED QUEUE_PURGE SOCKET_CLOSE",
	 "inet_csk_destroy_sock sk_stream_kill_queues tcp_disconnect tcp_write_queue_purge "
	 "tcp_done tcp_rtx_queue_purge skb_rbtree_purge inet_sock_destruct __release_sock reqsk_*",
	 0, PROTOCOL_ANY, EXPECTED, "left over when a connection ended (sk_stream_kill_queues)"},
	{"NOT_SPECIFIED", "tcp_* __tcp_* mptcp_*", 0, PROTOCOL_ANY, SUSPECTED,
	 "dropped by TCP without a stated reason"},

	/*
	 * ICMP and neighbour discovery free packets after processing them (before 6.4 as dropped).
	 */
	{"NOT_SPECIFIED", "icmp_* icmpv6_* igmp_* igmp6_* ndisc_* mld_* ping_*", 0, PROTOCOL_ANY,
	 EXPECTED, "answered by the kernel, or not for this host (icmp_rcv, icmpv6_rcv)"},

	{"NOT_SPECIFIED",
	 "xfrm4_udp_encap_rcv __xfrm4_udp_encap_rcv xfrm6_udp_encap_rcv __xfrm6_udp_encap_rcv", 0,
	 PROTOCOL_ANY, EXPECTED, "a NAT keepalive of IPsec: one byte, no data (xfrm4_udp_encap_rcv)"},

	/* Teardown. */
	{NULL,
	 "rtnl_kfree_skbs __rtnl_unlock rtnl_unlock netdev_run_todo dev_deactivate* "
	 "dev_reset_queue dev_qdisc_* qdisc_reset qdisc_destroy",
	 0, PROTOCOL_ANY, SUSPECTED, "waited in a qdisc that was reset or removed (qdisc_reset)"},
	{NULL, "flush_backlog dev_cpu_dead", 0, PROTOCOL_ANY, SUSPECTED,
	 "queued for an interface that was deleted (flush_backlog)"},
	{NULL, "*_clean_tx* *_free_tx_* *_unmap_and_free_tx*", 0, PROTOCOL_ANY, SUSPECTED,
	 "in the transmit ring during its cleanup, possibly sent (ndo_stop)"},
	{"QUEUE_PURGE", "neigh_* skb_queue_purge* skb_errqueue_purge*", 0, PROTOCOL_ANY, SUSPECTED,
	 "in a queue that was emptied (skb_queue_purge_reason)"},
};

const unsigned class_row_count = sizeof(class_rows) / sizeof(class_rows[0]);

static bool fits(const struct class_row *row, const struct stagemap_event *e)
{
	bool is_ip = e->protocol == ETH_P_IP || e->protocol == ETH_P_IPV6;

	if (row->packets && !(row->packets & 1u << e->pkt_type))
		return false;
	/* An unknown protocol does not match a row that has a protocol. */
	if (row->protocol != PROTOCOL_ANY && (!e->protocol || is_ip != (row->protocol == PROTOCOL_IP)))
		return false;
	return (!row->reasons || stagemap_listed(row->reasons, e->reason)) &&
	       (!row->locations || stagemap_listed(row->locations, e->location));
}

static void apply_class_rows(const struct stagemap_event *e, struct verdict *v)
{
	for (unsigned i = 0; i < class_row_count; i++) {
		const struct class_row *row = &class_rows[i];

		if (!fits(row, e))
			continue;
		if (row->note)
			v->note = row->note;
		v->class = row->class;
		return;
	}
}

unsigned consumed_ranges(const struct ksyms *k, struct trace_range out[WATCH_CONSUMED_MAX])
{
	struct trace_range r[KSYM_RANGES];
	const char *names[KSYM_RANGES] = {};
	unsigned n = 0, found = 0;

	for (unsigned i = 0; i < stagemap_row_count && n < KSYM_RANGES; i++) {
		const struct stagemap_row *row = &stagemap_rows[i];

		if (row->reasons && !strcmp(row->reasons, "CONSUMED") && row->locations)
			names[n++] = row->locations;
	}
	/* `.noclone` and the like are a single function; a `.cold` part is in a different place */
	ksym_ranges(k, names, n, r);
	for (unsigned i = 0; i < n && found < WATCH_CONSUMED_MAX; i++) {
		if (r[i].end != r[i].start)
			out[found++] = r[i];
	}
	return found;
}

int consumed_find(const struct reasons *r, const struct ksyms *k,
		  struct trace_range out[WATCH_CONSUMED_MAX], struct error *err)
{
	if (reasons_tracepoint_args(r, "consume_skb") != 2)
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "it needs Linux 6.3 or newer",
				 "this kernel does not report where packets are freed as used up");
	consumed_ranges(k, out);
	return 0;
}

/* A packet freed as consumed has not ended if the function has no row. */
static enum drop_class class_of_consumed(const struct verdict *v, bool copy)
{
	if (v->stage == STAGE_NONE)
		return CLASS_NONE;
	/* a clone of a packet that tc stole may have continued (act_mirred) */
	return copy && (v->stage == STAGE_TC_INGRESS || v->stage == STAGE_TC_EGRESS)
		       ? CLASS_SUSPECTED
		       : CLASS_LOSS;
}

struct verdict judge_drop(const struct stagemap_event *e)
{
	struct verdict v = stagemap_judge(e);

	if (e->numbered)
		return v;
	if (e->observer == OBSERVER_CONSUME_SKB)
		v.class = class_of_consumed(&v, e->flags & WATCH_COPY);
	else if (e->observer == OBSERVER_KFREE_SKB && v.class == CLASS_LOSS)
		apply_class_rows(e, &v);
	return v;
}

void cause_name(struct judged_cause *c, const struct watch_key *key, bool numbered,
		const struct reasons *r, const struct ksyms *k)
{
	static const char *const observers[OBSERVER_COUNT] = {
		[OBSERVER_REDIRECT_ERR] = "xdp_redirect_err",
		[OBSERVER_XDP_EXCEPTION] = "xdp_exception",
		[OBSERVER_DEVMAP_XMIT] = "xdp_devmap_xmit",
		[OBSERVER_BULK_TX] = "xdp_bulk_tx",
		[OBSERVER_CPUMAP] = "xdp_cpumap_enqueue",
		[OBSERVER_SOCKET_QUEUE] = "socket queue",
	};
	const unsigned observer = watch_observer(key);
	const char *place = observers[observer];
	const char *error = key->reason ? strerrorname_np(abs(key->reason)) : NULL;
	const bool xdp = place && observer != OBSERVER_SOCKET_QUEUE;
	struct ksym at = {}, aux = {};

	if (observer == OBSERVER_KFREE_SKB)
		reasons_name(r, (uint32_t)key->reason, c->reason, sizeof(c->reason));
	else
		snprintf(c->reason, sizeof(c->reason), "%s",
			 observer == OBSERVER_CONSUME_SKB ? "CONSUMED"
			 : error			  ? error
							  : "");
	if (k && !place)
		ksym_find(k, key->location, &at);
	if (k && key->flags & WATCH_DST)
		ksym_find(k, key->aux, &aux);
	snprintf(c->location, sizeof(c->location), "%s", place ? place : at.name);
	c->verdict = judge_drop(&(struct stagemap_event){
		.reason = c->reason,
		.location = c->location,
		.aux = aux.name,
		.observer = observer,
		.flags = key->flags,
		.error = xdp ? abs(key->reason) : 0,
		.map_type = xdp ? (uint32_t)key->aux : 0,
		.pkt_type = key->pkt_type,
		.protocol = ntohs(key->protocol),
		.numbered = numbered,
	});
}

static void judge(struct judged_cause *c, const struct cause_judge *j)
{
	const struct watch_key *key = &c->key;

	cause_name(c, key, false, j->reasons, j->ksyms);
	if (key->flags & WATCH_EGRESS && c->verdict.stage == STAGE_NETFILTER) {
		c->verdict.hook = HOOK_EGRESS;
		c->verdict.direction = key->flags & WATCH_SK ? DIRECTION_TX : DIRECTION_FORWARD;
	}
	if (!strcmp(c->reason, "NO_SOCKET") && progs_choose_sockets())
		c->verdict.note = "no socket received the packet: none is bound to the port, or a "
				  "BPF program rejected the packet (sk_lookup, SO_REUSEPORT)";
	if (key->flags & WATCH_ABORTED) {
		snprintf(c->reason, sizeof(c->reason), "XDP_ABORTED"); /* without a reason */
		c->verdict.note = "the XDP program aborted or returned an invalid verdict "
				  "(trace_xdp_exception)";
	}
}

const struct judged_cause *cause_judge(struct cause_judge *j, const struct watch_key *from)
{
	struct watch_key key = *from;
	struct judged_cause *c;

	key.ifindex = key.netns = 0;
	c = &j->known[(key.location ^ key.location >> 8 ^ (uint32_t)key.reason ^ key.flags << 3 ^
		       key.pkt_type << 5) %
		      LENGTH(j->known)];
	if (memcmp(&c->key, &key, sizeof(key))) {
		*c = (struct judged_cause){.key = key};
		judge(c, j);
	}
	return c;
}
