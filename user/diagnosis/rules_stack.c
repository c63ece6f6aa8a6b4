// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diagnosis/rules.h"

#define NEAR 0.8 /* of a limit: the next burst may reach it */

static double share(uint64_t used, uint64_t limit)
{
	return limit ? (double)used / (double)limit : 0;
}

static void judge_conntrack(const struct facts *f, struct check_findings *out)
{
	const struct facts_stack *s = &f->stack;
	uint64_t lost = s->after.conntrack_drops - s->before.conntrack_drops;
	double used = share(s->conntrack, s->conntrack_max);
	struct binds b = {.about = {CHECK_NAMESPACE, NULL, lost}};

	if (s->after.conntrack_drops < s->before.conntrack_drops || (!lost && used < NEAR))
		return;
	bind_loss(&b, f, "nf_conntrack drop", lost, s->after.conntrack_drops);
	bind_percent(&b, "share", used);
	bind_count(&b, "entries", s->conntrack);
	bind_count(&b, "entries_max", s->conntrack_max);
	bind_count(&b, "entries_wanted", s->conntrack_max * 2);
	judge_state(out, f, lost ? "conntrack-full" : "conntrack-near", &b);
}

static void judge_neighbours(const struct facts *f, struct check_findings *out, unsigned family)
{
	static const char *const counters[] = {"arp_cache:table_fulls", "ndisc_cache:table_fulls"};
	const struct facts_stack *s = &f->stack;
	uint64_t lost = facts_moved(f, FACTS_HOST, counters[family]);
	double used = share(s->neighbours[family], s->neighbours_max[family]);
	struct binds b = {.about = {CHECK_HOST, NULL, lost}};

	if (!lost && used < NEAR)
		return;
	bind_loss(&b, f, counters[family], lost, facts_total(f, FACTS_HOST, counters[family]));
	bind_percent(&b, "share", used);
	bind_count(&b, "v", family == STACK_V4 ? 4 : 6);
	bind_count(&b, "entries", s->neighbours[family]);
	bind_count(&b, "entries_max", s->neighbours_max[family]);
	bind_count(&b, "entries_wanted", s->neighbours_max[family] * 2);
	judge_state(out, f, lost ? "neigh-full" : "neigh-near", &b);
}

/* Fragments that came or were made: work, and one that is lost loses all of its datagram. */
static void judge_fragments(const struct facts *f, struct check_findings *out, unsigned family)
{
	static const struct {
		const char *id, *counter[STACK_FAMILIES];
	} rows[] = {
		{"frag-arriving", {"Ip:ReasmReqds", "Ip6ReasmReqds"}},
		{"frag-leaving", {"Ip:FragCreates", "Ip6FragCreates"}},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *counter = rows[i].counter[family];
		uint64_t n = facts_moved(f, FACTS_HERE, counter);
		struct binds b = {.about = {.scope = CHECK_NAMESPACE}};

		bind_loss(&b, f, counter, n, facts_total(f, FACTS_HERE, counter));
		if (n)
			judge_state(out, f, rows[i].id, &b);
	}
}

static void judge_fragment_memory(const struct facts *f, struct check_findings *out,
				  unsigned family)
{
	static const char *const sysctls[] = {"net/ipv4/ipfrag_high_thresh",
					      "net/ipv6/ip6frag_high_thresh"};
	const struct facts_stack *s = &f->stack;
	double used = share(s->frag_memory[family], s->frag_high[family]);
	struct binds b = {.about = {.scope = CHECK_NAMESPACE}};

	if (used < NEAR)
		return;
	bind_percent(&b, "share", used);
	bind_text(&b, "frag_sysctl", sysctls[family]);
	bind_count(&b, "frag_memory", s->frag_memory[family]);
	bind_count(&b, "frag_high", s->frag_high[family]);
	bind_count(&b, "frag_wanted", s->frag_high[family] * 2);
	judge_state(out, f, "frag-memory", &b);
}

static void bind_udp_mem(struct binds *b, const char *name, const uint64_t mem[3], uint64_t factor)
{
	char text[72];

	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %" PRIu64, mem[0] * factor,
		 mem[1] * factor, mem[2] * factor);
	bind_text(b, name, text);
}

static void judge_udp_mem(const struct facts *f, struct check_findings *out)
{
	const struct facts_stack *s = &f->stack;
	double used = share(s->udp_pages, s->udp_mem[2]);
	struct binds b = {.about = {.scope = CHECK_HOST}};

	if (used < NEAR)
		return;
	bind_percent(&b, "share", used);
	bind_count(&b, "udp_pages", s->udp_pages);
	bind_udp_mem(&b, "udp_mem", s->udp_mem, 1);
	bind_udp_mem(&b, "udp_mem_wanted", s->udp_mem, 2);
	judge_state(out, f, "udp-mem-near", &b);
}

/* What user space judges, and was too slow for. */
static void judge_upcalls(const struct facts *f, struct check_findings *out)
{
	const struct stack_sample *b = &f->stack.before, *a = &f->stack.after;
	const struct {
		const char *id, *counter;
		uint64_t before, after;
	} rows[] = {
		{"nfqueue", "nfnetlink_queue dropped", b->nfqueue_drops, a->nfqueue_drops},
		{"ovs-upcall", "datapath lost", b->ovs_lost, a->ovs_lost},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint64_t lost = rows[i].after - rows[i].before;
		struct binds binds = {.about = {CHECK_NAMESPACE, NULL, lost}};

		/* A queue or datapath that is gone takes its count with it. */
		if (rows[i].after <= rows[i].before)
			continue;
		bind_loss(&binds, f, rows[i].counter, lost, rows[i].after);
		judge_state(out, f, rows[i].id, &binds);
	}
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

static void judge_taps(const struct facts *f, struct check_findings *out)
{
	const struct {
		const char *id, *name;
		const struct facts_owner *owner;
		unsigned n;
	} rows[] = {
		{"taps", "taps", f->taps.tap, f->taps.taps},
		{"raw-sockets", "raws", f->taps.raw, f->taps.raws},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct binds b = {.about = {.scope = CHECK_NAMESPACE}};

		bind_count(&b, rows[i].name, rows[i].n);
		bind_owners(&b, rows[i].owner, rows[i].n);
		if (rows[i].n)
			judge_state(out, f, rows[i].id, &b);
	}
}

/* What a queue behind the socket loses is counted at the socket, too. */
static bool lost_behind_sockets(const struct facts *f)
{
	for (unsigned i = 0; i < f->n_links; i++) {
		const struct link_loss *largest;
		char name[COUNTER_NAME_LEN];

		snprintf(name, sizeof(name), "%s:qdisc:drops", f->link[i].dev.ifname);
		if (facts_moved(f, FACTS_HERE, name) ||
		    facts_link_lost(&f->link[i], NIC_SEND, &largest))
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
		uint64_t failed = facts_moved(f, FACTS_HERE, counters[i]);
		struct binds b = {.about = {.scope = CHECK_NAMESPACE}};

		if (!failed)
			continue;
		bind_loss(&b, f, counters[i], failed, facts_total(f, FACTS_HERE, counters[i]));
		bind_small_sndbuf(&b, f);
		judge_state(out, f, "sndbuf", &b);
	}
}

static void judge_self(const struct facts *f, struct check_findings *out)
{
	struct binds b = {.about = {.scope = CHECK_HOST}};

	bind_text(&b, "missing", f->self.missing_caps);
	if (!f->self.btf)
		judge_state(out, f, "own-btf", &b);
	if (*f->self.missing_caps)
		judge_state(out, f, "own-capabilities", &b);
}

void judge_stack(const struct facts *f, struct check_findings *out)
{
	judge_conntrack(f, out);
	for (unsigned family = 0; family < STACK_FAMILIES; family++) {
		judge_neighbours(f, out, family);
		judge_fragments(f, out, family);
		judge_fragment_memory(f, out, family);
	}
	judge_udp_mem(f, out);
	judge_upcalls(f, out);
	judge_senders(f, out);
	judge_taps(f, out);
	judge_self(f, out);
}

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
	struct binds b = {.about = about};

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
	judge_state(out, f, "backlog-flow-limit", &b);
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
