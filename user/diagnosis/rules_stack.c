// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "diagnosis/judge.h"

#define NEAR 0.8 /* of a limit: the next burst may reach it */

static const struct about here = {.scope = CHECK_NAMESPACE}, host = {.scope = CHECK_HOST};

/* What is full, or nearly so. `full`, `near`: the states. */
static void judge_limit(const struct facts *f, struct check_findings *out, const char *full,
			const char *near, struct about about, struct binds *b, uint64_t used,
			uint64_t limit)
{
	double share = limit ? (double)used / (double)limit : 0;

	if (!about.lost && share < NEAR)
		return;
	bind_percent(b, "share", share);
	bind_count(b, "used", used);
	bind_count(b, "limit", limit);
	bind_count(b, "limit_wanted", limit * 2);
	judge_state(out, f, about.lost ? full : near, about, b);
}

static void judge_neighbours(const struct facts *f, struct check_findings *out, unsigned family)
{
	static const char *const counters[] = {"arp_cache:table_fulls", "ndisc_cache:table_fulls"};
	const struct facts_stack *s = &f->stack;
	uint64_t lost = facts_moved(f, FACTS_HOST, counters[family]);
	struct binds b = {};

	bind_loss(&b, f->window_ns, counters[family], lost,
		  facts_total(f, FACTS_HOST, counters[family]));
	bind_count(&b, "v", family == STACK_V4 ? 4 : 6);
	judge_limit(f, out, "neigh-full", "neigh-near", (struct about){.scope = CHECK_HOST, .lost = lost}, &b,
		    s->neighbours[family], s->neighbours_max[family]);
}

/* A state that a counter of the namespace shows by moving; `b`: what else is known of it. */
static void judge_moved(const struct facts *f, struct check_findings *out, const char *id,
			const char *counter, struct binds *b)
{
	uint64_t n = facts_moved(f, FACTS_HERE, counter);

	bind_loss(b, f->window_ns, counter, n, facts_total(f, FACTS_HERE, counter));
	if (n)
		judge_state(out, f, id, here, b);
}

/* Fragments that came or were made: work, and one that is lost loses all of its datagram. */
static void judge_fragments(const struct facts *f, struct check_findings *out, unsigned family)
{
	static const char *const arriving[] = {"Ip:ReasmReqds", "Ip6ReasmReqds"},
				 *const leaving[] = {"Ip:FragCreates", "Ip6FragCreates"};

	judge_moved(f, out, "frag-arriving", arriving[family], &(struct binds){});
	judge_moved(f, out, "frag-leaving", leaving[family], &(struct binds){});
}

/* What user space judges, and was too slow for. */
static void judge_upcalls(const struct facts *f, struct check_findings *out, const char *id,
			  const char *counter, uint64_t before, uint64_t after)
{
	struct binds b = {};

	/* A queue or datapath that is gone takes its count with it. */
	if (after <= before)
		return;
	bind_loss(&b, f->window_ns, counter, after - before, after);
	judge_state(out, f, id, (struct about){.scope = CHECK_NAMESPACE, .lost = after - before}, &b);
}

/* Names of the owners, each once. */
static void bind_owners(struct binds *b, const struct facts_owner *owner, unsigned n)
{
	char text[96] = "";
	size_t at = 0;

	for (unsigned i = 0; i < n && i < FACTS_TAPS && at < sizeof(text); i++) {
		bool again = false;

		for (unsigned j = 0; j < i; j++)
			again |= owner[j].pid == owner[i].pid;
		if (owner[i].pid && !again)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s (%d)",
					       at ? ", " : "", owner[i].process, (int)owner[i].pid);
	}
	bind_text(b, "processes", text);
}

static void judge_taps(const struct facts *f, struct check_findings *out, const char *id,
		       const char *name, const struct facts_owner *owner, unsigned n)
{
	struct binds b = {};

	bind_count(&b, name, n);
	bind_owners(&b, owner, n);
	if (n)
		judge_state(out, f, id, here, &b);
}

/* What a queue behind the socket loses is counted at the socket, too. */
static bool lost_behind_sockets(const struct facts *f)
{
	for (unsigned i = 0; i < f->n_links; i++) {
		char name[COUNTER_NAME_LEN];

		snprintf(name, sizeof(name), "%s:qdisc:drops", f->link[i].dev.link.ifname);
		if (facts_moved(f, FACTS_HERE, name) || facts_link_lost(&f->link[i], NIC_SEND))
			return true;
	}
	return judge_softnet(f, "dropped", false);
}

/* A socket whose send buffer the host made small, and what would let it be larger. */
static void bind_small_sndbuf(struct binds *b, const struct facts *f)
{
	const struct facts_stack *s = &f->stack;

	for (unsigned i = 0; i < f->socks.n; i++) {
		const struct facts_sock *sock = &f->socks.at[i];
		bool usual = sock->sndbuf == s->wmem_default && s->wmem_default < KERNEL_MEM;
		bool capped = sock->sndbuf == 2 * s->wmem_max && 4 * s->wmem_max <= MEM_SANE;
		uint64_t now = usual ? s->wmem_default : s->wmem_max;
		char process[PROCESS_SIZE];

		if (!sock->sndbuf || (!usual && !capped))
			continue;
		bind_text(b, "process", judge_process(sock, process));
		bind_count(b, "sndbuf", sock->sndbuf);
		bind_text(b, "wmem", usual ? "wmem_default" : "wmem_max");
		bind_count(b, "wmem_now", now);
		bind_count(b, "wmem_wanted", judge_larger_mem(now));
		return;
	}
}

static void judge_senders(const struct facts *f, struct check_findings *out)
{
	static const char *const counters[] = {"Udp:SndbufErrors", "Udp6SndbufErrors"};

	for (unsigned i = 0; i < 2 && !lost_behind_sockets(f); i++) {
		struct binds b = {};

		bind_small_sndbuf(&b, f);
		judge_moved(f, out, "sndbuf", counters[i], &b);
	}
}

/* What the firewall dropped, by the counters of its rules. */
static void judge_rules(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < f->n_rules; i++) {
		const struct nft_rule *r = &f->rule[i];
		char rule[416], text[440], chain[2 * NFT_NAME + 16];
		struct finding_facts facts = {
			.rules = text,
			.rule_chain = chain,
			.window_ns = f->rules_ns,
		};

		nft_rule_text(r, rule, sizeof(rule));
		snprintf(text, sizeof(text), "%s%s", rule,
			 f->port && !r->dport ? ", of any port" : "");
		snprintf(chain, sizeof(chain), "%s %s %s", r->family, r->table, r->chain);
		judge_loss(out, f, STAGE_NETFILTER,
			   (struct about){.scope = CHECK_NAMESPACE, .lost = r->packets}, &facts);
		if (f->rules_ns)
			out->at[out->n - 1].loss_pps =
				(double)r->packets * 1e9 / (double)f->rules_ns;
	}
}

void judge_stack(const struct facts *f, struct check_findings *out)
{
	static const char *const sysctls[] = {"net/ipv4/ipfrag_high_thresh",
					      "net/ipv6/ip6frag_high_thresh"};
	const struct facts_stack *s = &f->stack;
	uint64_t before = s->before.conntrack_drops, after = s->after.conntrack_drops;
	struct binds conntrack = {}, udp = {}, self = {};

	bind_loss(&conntrack, f->window_ns, "nf_conntrack drop", after - before, after);
	if (after >= before)
		judge_limit(f, out, "conntrack-full", "conntrack-near",
			    (struct about){.scope = CHECK_NAMESPACE, .lost = after - before}, &conntrack,
			    s->conntrack, s->conntrack_max);
	if (s->after.conntrack_clashes > s->before.conntrack_clashes) {
		struct finding_facts clash = {
			.conntrack_clashes =
				s->after.conntrack_clashes - s->before.conntrack_clashes,
		};

		judge_loss(out, f, STAGE_NETFILTER,
			   (struct about){.scope = CHECK_NAMESPACE, .lost = clash.conntrack_clashes}, &clash);
	}
	for (unsigned family = 0; family < STACK_FAMILIES; family++) {
		struct binds frag = {};

		judge_neighbours(f, out, family);
		judge_fragments(f, out, family);
		bind_text(&frag, "frag_sysctl", sysctls[family]);
		judge_limit(f, out, NULL, "frag-memory", here, &frag, s->frag_memory[family],
			    s->frag_high[family]);
	}
	/* without a counter of those that did not fit in its queue */
	if (*f->silent.address && !facts_moved(f, FACTS_HOST, "arp_cache:unresolved_discards") &&
	    !facts_moved(f, FACTS_HOST, "ndisc_cache:unresolved_discards")) {
		struct finding_facts waiting = {.silent = &f->silent};

		/* a packet at least waited for each of them */
		judge_loss(out, f, STAGE_NEIGH,
			   (struct about){
				   .scope = CHECK_NAMESPACE,
				   .lost = facts_moved(f, FACTS_HOST, "arp_cache:res_failed") +
					   facts_moved(f, FACTS_HOST, "ndisc_cache:res_failed")},
			   &waiting);
	}
	if (*f->dnat.backend) {
		struct binds nat = {};

		bind_dnat(&nat, &f->dnat);
		judge_state(out, f, *f->dnat.ifname ? "neigh-dnat" : "udp-lookup-dnat", here, &nat);
	}
	judge_rules(f, out);
	bind_three(&udp, "udp_mem", s->udp_mem, 1);
	bind_three(&udp, "udp_mem_wanted", s->udp_mem, 2);
	judge_limit(f, out, NULL, "udp-mem-near", host, &udp, s->udp_pages, s->udp_mem[2]);
	judge_upcalls(f, out, "nfqueue", "nfnetlink_queue dropped", s->before.nfqueue_drops,
		      s->after.nfqueue_drops);
	judge_upcalls(f, out, "ovs-upcall", "datapath lost", s->before.ovs_lost, s->after.ovs_lost);
	judge_senders(f, out);
	judge_taps(f, out, "taps", "taps", f->taps.tap, f->taps.taps);
	judge_taps(f, out, "raw-sockets", "raws", f->taps.raw, f->taps.raws);
	bind_text(&self, "missing", f->self.missing_caps);
	if (!f->self.btf)
		judge_state(out, f, "own-btf", host, &self);
	if (*f->self.missing_caps)
		judge_state(out, f, "own-capabilities", host, &self);
}

/*
 * Counters of a namespace or of the host that move only when packets are lost, and at which stage.
 * What the sender's side counts a second time (SndbufErrors, OutDiscards) is not among them.
 */
static const struct {
	const char *name4, *name6;
	enum stage stage;
	const char *reason;		 /* which row of the stage */
	enum { HERE, HOST, HISTORY } of; /* history: shown by the sockets while they are open */
} rules[] = {
	{"TcpExt:IPReversePathFilter", NULL, STAGE_IP_ROUTE, "IP_RPFILTER", HERE},
	{"IpExt:InNoRoutes", "Ip6InNoRoutes", STAGE_IP_ROUTE, "IP_INNOROUTES", HERE},
	{"Ip:InAddrErrors", "Ip6InAddrErrors", STAGE_IP_ROUTE, "IP_INADDRERRORS", HERE},
	{"Ip:OutNoRoutes", "Ip6OutNoRoutes", STAGE_TX_ROUTE, NULL, HERE},
	{"Ip:InHdrErrors", "Ip6InHdrErrors", STAGE_IP_HEADER, NULL, HERE},
	{"Ip:ReasmFails", "Ip6ReasmFails", STAGE_IP_FRAG, NULL, HERE},
	{"Ip:FragFails", "Ip6FragFails", STAGE_IP_FORWARD, "PKT_TOO_BIG", HERE},
	{NULL, "Ip6InTooBigErrors", STAGE_IP_FORWARD, "PKT_TOO_BIG", HERE},
	{"Udp:NoPorts", "Udp6NoPorts", STAGE_UDP_LOOKUP, NULL, HERE},
	{"TcpExt:ListenDrops", NULL, STAGE_TCP_LISTEN, NULL, HERE},
	{"TcpExt:TCPBacklogDrop", NULL, STAGE_TCP_BACKLOG, NULL, HERE},
	{"TcpExt:TCPRcvQDrop", NULL, STAGE_TCP_RCVBUF, NULL, HERE},
	{"TcpExt:TCPOFODrop", NULL, STAGE_TCP_RCVBUF, NULL, HERE},
	{"TcpExt:TCPZeroWindowDrop", NULL, STAGE_TCP_RCVBUF, NULL, HERE},
	{"XfrmInNoPols", NULL, STAGE_XFRM, NULL, HERE},
	{"XfrmInPolBlock", NULL, STAGE_XFRM, NULL, HERE},
	{"XfrmOutPolBlock", NULL, STAGE_XFRM, NULL, HERE},
	{"arp_cache:unresolved_discards", NULL, STAGE_NEIGH, "NEIGH_QUEUEFULL", HOST},
	{NULL, "ndisc_cache:unresolved_discards", STAGE_NEIGH, "NEIGH_QUEUEFULL", HOST},
	{"Udp:RcvbufErrors", "Udp6RcvbufErrors", STAGE_RCVBUF, NULL, HISTORY},
	{"Udp:MemErrors", "Udp6MemErrors", STAGE_UDP_MEM, NULL, HISTORY},
	{"Udp:InCsumErrors", "Udp6InCsumErrors", STAGE_UDP_CSUM, NULL, HISTORY},
};

/* The interface that a packet was refused at; if none was seen, of the strict ones the busiest. */
static const struct facts_link *strict_link(const struct facts *f)
{
	const struct facts_link *best = NULL;

	for (unsigned i = 0; i < f->n_links; i++) {
		const struct facts_link *l = &f->link[i];

		if (!strcmp(l->dev.link.ifname, f->back.ifname))
			return l;
		if (strcmp(l->rp_filter, "1"))
			continue;
		if (!best || l->rx_packets > best->rx_packets)
			best = l;
	}
	return best;
}

/* A router counts what has no TTL left as a bad header, too, and answers it, or would. */
static bool answers_ttl(const struct facts *f, unsigned family)
{
	static const char *const counters[][2] = {
		{"Icmp:OutTimeExcds", "Icmp6OutTimeExcds"},
		{"Icmp:OutRateLimitHost", "Icmp6OutRateLimitHost"},
		{"Icmp:OutRateLimitGlobal", NULL},
	};

	for (unsigned i = 0; i < LENGTH(counters); i++) {
		if (counters[i][family] && facts_moved(f, FACTS_HERE, counters[i][family]))
			return true;
	}
	return false;
}

static void judge_counter(const struct facts *f, struct check_findings *out, const char *name,
			  unsigned i)
{
	const char *scope = rules[i].of == HOST ? FACTS_HOST : FACTS_HERE;
	uint64_t total = facts_total(f, scope, name);
	enum stage stage = rules[i].stage;
	struct about about = {
		.scope = rules[i].of == HOST ? CHECK_HOST : CHECK_NAMESPACE,
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
	if (rules[i].of == HISTORY && !f->counters_only)
		return;
	/* the finding about the closed port has them */
	if (rules[i].stage == STAGE_UDP_LOOKUP && f->port && !f->socks.n && !f->socks.more)
		return;
	if (rules[i].reason && !strcmp(rules[i].reason, "IP_RPFILTER")) {
		const struct facts_link *link = strict_link(f);

		facts.back = &f->back;
		facts.ifname = about.subject = link ? link->dev.link.ifname : NULL;
		facts.rp_filter = link ? link->rp_filter : NULL;
	}
	if (stage == STAGE_NEIGH) {
		facts.silent = &f->silent;
		if (*f->silent.address && !*f->silent.netns)
			about.scope = CHECK_NAMESPACE;
	}
	if (rules[i].stage == STAGE_IP_HEADER && answers_ttl(f, name == rules[i].name4 ? 0 : 1)) {
		facts.reason = "IP_INHDR";
		stage = STAGE_IP_FORWARD;
	}
	judge_loss(out, f, stage, about, &facts);
}

/* Where the flow limit took most of them, the queue's length is not to blame. */
static void judge_backlog(const struct facts *f, struct check_findings *out)
{
	uint64_t dropped = judge_softnet(f, "dropped", false);
	uint64_t limited = judge_softnet(f, "flow_limit", false);
	uint64_t total = judge_softnet(f, "dropped", true);
	struct about about = {.scope = CHECK_HOST, .lost = dropped};
	struct finding_facts facts = {
		.total = total,
		.counter = "softnet dropped",
		.netdev_max_backlog = (unsigned)f->stack.max_backlog,
	};
	struct binds b = {};

	if (!dropped) {
		if (total)
			judge_history(out, STAGE_BACKLOG, "softnet:dropped", total);
		return;
	}
	if (2 * limited < dropped) {
		judge_loss(out, f, STAGE_BACKLOG, about, &facts);
		return;
	}
	bind_loss(&b, f->window_ns, "softnet flow_limit", limited,
		  judge_softnet(f, "flow_limit", true));
	bind_text(&b, "flow_limit", f->stack.flow_limit_cpus);
	judge_state(out, f, "backlog-flow-limit", about, &b);
}

void judge_counters(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < LENGTH(rules); i++) {
		if (rules[i].name4)
			judge_counter(f, out, rules[i].name4, i);
		if (rules[i].name6)
			judge_counter(f, out, rules[i].name6, i);
	}
	judge_backlog(f, out);
}
