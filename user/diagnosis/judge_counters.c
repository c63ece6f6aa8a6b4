// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/judge_parts.h"

#include <stdio.h>
#include <string.h>

/*
 * Counters of a namespace or of the host that move only when packets are lost, and at which stage.
 * What the sender's side counts a second time (SndbufErrors, OutDiscards) is not among them.
 */
static const struct {
	const char *name4, *name6;
	enum stage stage;
	const char *reason; /* which row of the stage */
	bool host;
} rules[] = {
	{"TcpExt:IPReversePathFilter", NULL, STAGE_IP_ROUTE, "IP_RPFILTER", false},
	{"IpExt:InNoRoutes", "Ip6InNoRoutes", STAGE_IP_ROUTE, "IP_INNOROUTES", false},
	{"Ip:InAddrErrors", "Ip6InAddrErrors", STAGE_IP_ROUTE, "IP_INADDRERRORS", false},
	{"Ip:OutNoRoutes", "Ip6OutNoRoutes", STAGE_TX_ROUTE, NULL, false},
	{"Ip:InHdrErrors", "Ip6InHdrErrors", STAGE_IP_HEADER, NULL, false},
	{"Ip:ReasmFails", "Ip6ReasmFails", STAGE_IP_FRAG, NULL, false},
	{"Ip:FragFails", "Ip6FragFails", STAGE_IP_FORWARD, "PKT_TOO_BIG", false},
	{NULL, "Ip6InTooBigErrors", STAGE_IP_FORWARD, "PKT_TOO_BIG", false},
	{"Udp:NoPorts", "Udp6NoPorts", STAGE_UDP_LOOKUP, NULL, false},
	{"XfrmInNoPols", NULL, STAGE_XFRM, NULL, false},
	{"XfrmInPolBlock", NULL, STAGE_XFRM, NULL, false},
	{"XfrmOutPolBlock", NULL, STAGE_XFRM, NULL, false},
	{"arp_cache:unresolved_discards", NULL, STAGE_NEIGH, "NEIGH_QUEUEFULL", true},
	{NULL, "ndisc_cache:unresolved_discards", STAGE_NEIGH, "NEIGH_QUEUEFULL", true},
};

/* The interface that filters by the reverse path; with several, the busiest. */
static const struct facts_link *strict_link(const struct facts *f)
{
	const struct facts_link *best = NULL;

	for (unsigned i = 0; i < f->n_links; i++) {
		const struct facts_link *l = &f->link[i];

		if (strcmp(l->rp_filter, "1"))
			continue;
		if (!best || l->rx_packets > best->rx_packets)
			best = l;
	}
	return best;
}

static void judge_counter(const struct facts *f, struct check_findings *out, const char *name,
			  unsigned i)
{
	const char *scope = rules[i].host ? FACTS_HOST : FACTS_HERE;
	uint64_t total = facts_total(f, scope, name);
	struct about about = {
		.scope = rules[i].host ? CHECK_HOST : CHECK_NAMESPACE,
		.lost = facts_moved(f, scope, name),
	};
	struct finding_facts facts = {
		.reason = rules[i].reason,
		.counter = name,
		.total = total,
	};

	if (!about.lost) {
		if (total)
			judge_history(out, rules[i].stage, name, total);
		return;
	}
	if (rules[i].reason && !strcmp(rules[i].reason, "IP_RPFILTER")) {
		const struct facts_link *link = strict_link(f);

		facts.ifname = about.subject = link ? link->dev.ifname : NULL;
		facts.rp_filter = link ? link->rp_filter : NULL;
	}
	judge_loss(out, f, rules[i].stage, &about, &facts);
}

/* Told by the sockets themselves while they are open; after that only history is left. */
static void judge_udp_history(const struct facts *f, struct check_findings *out)
{
	static const struct {
		const char *name;
		enum stage stage;
	} counters[] = {
		{"Udp:RcvbufErrors", STAGE_RCVBUF},   {"Udp6RcvbufErrors", STAGE_RCVBUF},
		{"Udp:MemErrors", STAGE_UDP_MEM},     {"Udp6MemErrors", STAGE_UDP_MEM},
		{"Udp:InCsumErrors", STAGE_UDP_CSUM}, {"Udp6InCsumErrors", STAGE_UDP_CSUM},
	};

	for (unsigned i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		uint64_t total = facts_total(f, FACTS_HERE, counters[i].name);

		if (total && !facts_moved(f, FACTS_HERE, counters[i].name))
			judge_history(out, counters[i].stage, counters[i].name, total);
	}
}

/* Where the flow limit took most of them, the queue's length is not to blame. */
static void judge_backlog(const struct facts *f, struct check_findings *out)
{
	uint64_t dropped = judge_softnet(f, "dropped", false);
	uint64_t limited = judge_softnet(f, "flow_limit", false);
	uint64_t total = judge_softnet(f, "dropped", true);
	struct about about = {CHECK_HOST, NULL, dropped};
	struct finding_facts facts = {
		.total = total,
		.counter = "softnet dropped",
		.netdev_max_backlog = (unsigned)f->stack.max_backlog,
	};
	struct binds b = {.n = 0};

	if (!dropped) {
		if (total)
			judge_history(out, STAGE_BACKLOG, "softnet:dropped", total);
		return;
	}
	if (2 * limited < dropped) {
		judge_loss(out, f, STAGE_BACKLOG, &about, &facts);
		return;
	}
	bind_loss(&b, f, "softnet flow_limit", limited, judge_softnet(f, "flow_limit", true));
	bind_text(&b, "flow_limit", f->stack.flow_limit_cpus);
	judge_state(out, f, "backlog-flow-limit", &about, &b);
}

void judge_counters(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].name4)
			judge_counter(f, out, rules[i].name4, i);
		if (rules[i].name6)
			judge_counter(f, out, rules[i].name6, i);
	}
	judge_udp_history(f, out);
	judge_backlog(f, out);
}
