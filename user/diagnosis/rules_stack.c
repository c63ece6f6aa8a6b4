// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "diagnosis/judge.h"

#define NEAR 0.8 /* fraction of a limit that the next burst may reach */

static const struct about here = {.scope = CHECK_NAMESPACE}, host = {.scope = CHECK_HOST};

/* Judges a table or memory that is full or nearly full. */
static void judge_limit(const struct facts *f, struct check_findings *out, enum stage stage,
			struct about about, struct finding_facts *facts)
{
	if (about.lost || (facts->limit && (double)facts->used >= NEAR * (double)facts->limit))
		judge_add(out, f, stage, about, facts);
}

static void judge_neighbours(const struct facts *f, struct check_findings *out, unsigned family)
{
	static const char *const counters[] = {"arp_cache:table_fulls", "ndisc_cache:table_fulls"};
	struct finding_facts facts = {
		.counter = counters[family],
		.total = facts_total(f, FACTS_HOST, counters[family]),
		.family = family == STACK_V4 ? 4 : 6,
		.used = f->stack.neighbours[family],
		.limit = f->stack.neighbours_max[family],
	};

	judge_limit(f, out, STAGE_NEIGH,
		    (struct about){.scope = CHECK_HOST,
				   .lost = facts_moved(f, FACTS_HOST, counters[family])},
		    &facts);
}

/*
 * Judges a condition shown by an increasing counter of the namespace. `facts`: other facts about
 * it.
 */
static void judge_moved(const struct facts *f, struct check_findings *out, enum stage stage,
			const char *counter, struct finding_facts facts)
{
	facts.counter = counter;
	facts.events = facts_moved(f, FACTS_HERE, counter);
	facts.total = facts_total(f, FACTS_HERE, counter);
	if (facts.events)
		judge_add(out, f, stage, here, &facts);
}

/*
 * Judges fragments that arrived or were sent: they add work, and a lost fragment loses its whole
 * datagram.
 */
static void judge_fragments(const struct facts *f, struct check_findings *out, unsigned family)
{
	static const char *const arriving[] = {"Ip:ReasmReqds", "Ip6ReasmReqds"},
				 *const leaving[] = {"Ip:FragCreates", "Ip6FragCreates"},
				 *const sysctls[] = {"net/ipv4/ipfrag_high_thresh",
						     "net/ipv6/ip6frag_high_thresh"};
	struct finding_facts memory = {
		.limit_sysctl = sysctls[family],
		.used = f->stack.frag_memory[family],
		.limit = f->stack.frag_high[family],
	};

	judge_moved(f, out, STAGE_IP_FRAG, arriving[family], (struct finding_facts){.arriving = true});
	judge_moved(f, out, STAGE_IP_FRAG, leaving[family], (struct finding_facts){.leaving = true});
	judge_limit(f, out, STAGE_IP_FRAG, here, &memory);
}

/* Judges packets for a user-space program that was too slow. */
static void judge_upcalls(const struct facts *f, struct check_findings *out, enum stage stage,
			  struct finding_facts facts, uint64_t before, uint64_t after)
{
	facts.total = after;
	/* A queue or datapath that disappears takes its count with it. */
	if (after > before)
		judge_add(out, f, stage,
			  (struct about){.scope = CHECK_NAMESPACE, .lost = after - before}, &facts);
}

/* Lists the names of the owners, each once, as many as fit. */
static void put_owners(char *buf, size_t size, const struct facts_owner *owner, unsigned n)
{
	size_t at = 0;

	*buf = '\0';
	for (unsigned i = 0; i < n && i < FACTS_TAPS; i++) {
		bool again = false;
		char one[48];
		int length;

		for (unsigned j = 0; j < i; j++)
			again |= owner[j].pid == owner[i].pid;
		length = snprintf(one, sizeof(one), "%s%s (%d)", at ? ", " : "", owner[i].process,
				  (int)owner[i].pid);
		if (!owner[i].pid || again || at + (size_t)length >= size)
			continue;
		memcpy(buf + at, one, (size_t)length + 1);
		at += (size_t)length;
	}
}

static void judge_copies(const struct facts *f, struct check_findings *out)
{
	char taps[512], raws[512];
	struct finding_facts tap = {.taps = f->taps.taps, .processes = taps},
			     raw = {.raws = f->taps.raws, .processes = raws};

	put_owners(taps, sizeof(taps), f->taps.tap, f->taps.taps);
	put_owners(raws, sizeof(raws), f->taps.raw, f->taps.raws);
	if (tap.taps)
		judge_add(out, f, STAGE_OTHER, here, &tap);
	if (raw.raws)
		judge_add(out, f, STAGE_OTHER, here, &raw);
}

/*
 * Returns whether packets were lost in a queue after the socket, where the socket counts them too.
 */
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

/* Sets a socket whose send buffer the host limits, and the setting that would allow more. */
static void put_small_sndbuf(const struct facts *f, struct finding_facts *facts,
			     char process[PROCESS_SIZE])
{
	const struct facts_stack *s = &f->stack;

	for (unsigned i = 0; i < f->socks.n; i++) {
		const struct facts_sock *sock = &f->socks.at[i];
		bool usual = sock->sndbuf == s->wmem_default && s->wmem_default < KERNEL_MEM;
		bool capped = sock->sndbuf == 2 * s->wmem_max && 4 * s->wmem_max <= MEM_SANE;

		if (!sock->sndbuf || (!usual && !capped))
			continue;
		facts->process = judge_process(sock, process);
		facts->sndbuf = sock->sndbuf;
		facts->wmem = usual ? "wmem_default" : "wmem_max";
		facts->wmem_now = usual ? s->wmem_default : s->wmem_max;
		return;
	}
}

static void judge_senders(const struct facts *f, struct check_findings *out)
{
	static const char *const counters[] = {"Udp:SndbufErrors", "Udp6SndbufErrors"};

	for (unsigned i = 0; i < 2 && !lost_behind_sockets(f); i++) {
		struct finding_facts facts = {.send_full = true};
		char process[PROCESS_SIZE];

		put_small_sndbuf(f, &facts, process);
		judge_moved(f, out, STAGE_TX_SOCKET, counters[i], facts);
	}
}

/* Judges firewall drops by the counters of its rules. */
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
		struct check_finding *c;

		nft_rule_text(r, rule, sizeof(rule));
		snprintf(text, sizeof(text), "%s%s", rule,
			 f->port && !r->dport ? ", of any port" : "");
		snprintf(chain, sizeof(chain), "%s %s %s", r->family, r->table, r->chain);
		facts.loss_pps =
			f->rules_ns ? (double)r->packets * 1e9 / (double)f->rules_ns : 0;
		c = judge_add(out, f, STAGE_NETFILTER,
			      (struct about){.scope = CHECK_NAMESPACE, .lost = r->packets}, &facts);
		if (c && facts.loss_pps > 0)
			c->loss_pps = facts.loss_pps;
	}
}

static void judge_conntrack(const struct facts *f, struct check_findings *out)
{
	const struct facts_stack *s = &f->stack;
	const uint64_t before = s->before.conntrack_drops, after = s->after.conntrack_drops;
	struct about about = {.scope = CHECK_NAMESPACE,
			      .lost = after > before ? after - before : 0};
	struct finding_facts facts = {
		.total = after,
		.conntrack_drops = about.lost,
		.conntrack_used = s->conntrack,
		.conntrack_max = s->conntrack_max,
		.used = s->conntrack,
		.limit = s->conntrack_max,
	};

	judge_limit(f, out, STAGE_NETFILTER, about, &facts);
	about.lost = 0;
	if (s->after.conntrack_clashes > s->before.conntrack_clashes)
		about.lost = s->after.conntrack_clashes - s->before.conntrack_clashes;
	facts = (struct finding_facts){.conntrack_clashes = about.lost};
	if (about.lost)
		judge_add(out, f, STAGE_NETFILTER, about, &facts);
}

/*
 * Judges next hops that do not answer, without a counter of the packets that did not fit in their
 * queue.
 */
static void judge_silent(const struct facts *f, struct check_findings *out)
{
	struct finding_facts nat = {.dnat = f->dnat}, waiting = {.silent = f->silent};

	if (*f->silent.address && !facts_moved(f, FACTS_HOST, "arp_cache:unresolved_discards") &&
	    !facts_moved(f, FACTS_HOST, "ndisc_cache:unresolved_discards"))
		/* at least one packet waited for each of them */
		judge_add(out, f, STAGE_NEIGH,
			  (struct about){.scope = CHECK_NAMESPACE,
					 .lost = facts_moved(f, FACTS_HOST,
							     "arp_cache:res_failed") +
						 facts_moved(f, FACTS_HOST,
							     "ndisc_cache:res_failed")},
			  &waiting);
	if (*f->dnat.backend)
		judge_add(out, f, *f->dnat.ifname ? STAGE_NEIGH : STAGE_UDP_LOOKUP, here, &nat);
}

void judge_stack(const struct facts *f, struct check_findings *out)
{
	const struct facts_stack *s = &f->stack;
	struct finding_facts udp = {.used = s->udp_pages, .limit = s->udp_mem[2]},
			     btf = {.no_btf = true}, caps = {.missing = f->self.missing_caps};

	judge_conntrack(f, out);
	for (unsigned family = 0; family < STACK_FAMILIES; family++) {
		judge_neighbours(f, out, family);
		judge_fragments(f, out, family);
	}
	judge_silent(f, out);
	judge_rules(f, out);
	memcpy(udp.udp_mem, s->udp_mem, sizeof(udp.udp_mem));
	judge_limit(f, out, STAGE_UDP_MEM, host, &udp);
	judge_upcalls(f, out, STAGE_NETFILTER,
		      (struct finding_facts){.nfqueue = true, .counter = "nfnetlink_queue dropped"},
		      s->before.nfqueue_drops, s->after.nfqueue_drops);
	judge_upcalls(f, out, STAGE_OTHER,
		      (struct finding_facts){.ovs = true, .counter = "datapath lost"},
		      s->before.ovs_lost, s->after.ovs_lost);
	judge_senders(f, out);
	judge_copies(f, out);
	if (!f->self.btf)
		judge_add(out, f, STAGE_NONE, host, &btf);
	if (*f->self.missing_caps)
		judge_add(out, f, STAGE_NONE, host, &caps);
}

/*
 * Counters of a namespace or of the host that only increase with losses, and their stages. Counters
 * of the sender that count a loss twice (SndbufErrors, OutDiscards) are excluded.
 */
static const struct {
	const char *name4, *name6;
	enum stage stage;
	const char *reason;		 /* selects the row of the stage */
	enum { HERE, HOST, HISTORY } of; /* history: sockets show it while they are open */
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

/* Compares names: "Udp:NoPorts" is also UdpNoPorts (nstat) and NoPorts (netstat). */
static bool is_called(const char *counter, const char *name)
{
	const char *colon = counter ? strchr(counter, ':') : NULL;
	const size_t n = colon ? (size_t)(colon - counter) : 0;

	return counter && (!strcmp(counter, name) ||
			   (colon && (!strcmp(colon + 1, name) ||
				      (!strncmp(counter, name, n) && !strcmp(colon + 1, name + n)))));
}

bool judge_counter_stage(const char *name, enum stage *stage)
{
	for (unsigned i = 0; i < LENGTH(rules); i++) {
		*stage = rules[i].stage;
		if (is_called(rules[i].name4, name) || is_called(rules[i].name6, name))
			return true;
	}
	return false;
}

/*
 * Sets the addresses if the sockets of the requested port only receive from one peer, or for one
 * address.
 */
static void put_sockets(const struct facts *f, struct finding_facts *facts,
			char process[PROCESS_SIZE])
{
	const struct facts_sock *s = f->socks.at;

	for (unsigned i = 0; i < f->socks.n; i++) {
		if (!*s[i].bound && !*s[i].peer)
			return;
	}
	if (!f->port || !f->socks.n)
		return;
	facts->port = f->port;
	facts->process = judge_process(s, process);
	facts->bound = s->bound;
	facts->peer = *s->peer ? s->peer : NULL;
}

/*
 * Returns the interface at which a packet was rejected. Without such a packet, the busiest strict
 * interface.
 */
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

/*
 * Returns whether the router answers packets with an expired TTL, or would. It also counts them as
 * bad headers.
 */
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
	char process[PROCESS_SIZE];
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
	/* the finding about the closed port includes them */
	if (rules[i].stage == STAGE_UDP_LOOKUP && f->port && !f->socks.n && !f->socks.more)
		return;
	if (rules[i].reason && !strcmp(rules[i].reason, "IP_RPFILTER")) {
		const struct facts_link *link = strict_link(f);

		facts.back = f->back;
		facts.ifname = about.subject = link ? link->dev.link.ifname : NULL;
		facts.rp_filter = link ? link->rp_filter : NULL;
	}
	if (stage == STAGE_UDP_LOOKUP)
		put_sockets(f, &facts, process);
	if (stage == STAGE_NEIGH) {
		facts.silent = f->silent;
		if (*f->silent.address && !*f->silent.netns)
			about.scope = CHECK_NAMESPACE;
	}
	if (rules[i].stage == STAGE_IP_HEADER && answers_ttl(f, name == rules[i].name4 ? 0 : 1)) {
		facts.reason = "IP_INHDR";
		stage = STAGE_IP_FORWARD;
	}
	judge_add(out, f, stage, about, &facts);
}

/* Judges the backlog. If the flow limit dropped most packets, the queue length is not the cause. */
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

	if (!dropped) {
		if (total)
			judge_history(out, STAGE_BACKLOG, "softnet:dropped", total);
		return;
	}
	if (2 * limited >= dropped) {
		facts.counter = "softnet flow_limit";
		facts.total = judge_softnet(f, "flow_limit", true);
		facts.flow_limit = f->stack.flow_limit_cpus;
	}
	judge_add(out, f, STAGE_BACKLOG, about, &facts);
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
