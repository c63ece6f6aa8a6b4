// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/session.h"

#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "diagnosis/facts.h"
#include "diagnosis/reader.h"
#include "drops/nftrules.h"
#include "host/counters.h"
#include "host/netdev.h"

#define RULES_SHOWN   3
#define SOURCES_NS    500000000 /* ns to wait for sources after the first loss */
#define START_NETNS   256	/* maximum number of namespaces to read rules from before the
				 * first loss */
#define START_READERS 16	/* maximum number of namespaces to read sockets from before the
				 * first loss */

struct why {
	struct live *live;
	struct owners *owners;
	const struct sources *listeners;
	struct readings *readings;
	struct nftrules *rules;
	struct list conntracks;	    /* struct conntrack_noted */
	struct survey_bpf *sources; /* NULL: not needed yet or not available */
	uint64_t sources_ns;	    /* when they were requested, 0: not requested yet */
	struct way_dnat dnat;
	char tunnel[IF_NAMESIZE];
	uint32_t netns, dnat_netns; /* namespace of a loss, and namespace of the NAT that
				     * redirects to it */

	struct reading reading;
	char reader[READING_TEXT], rules_text[1024], chain[2 * NFT_NAME + 16];
	char rule_text[256], qdisc[96];
};

struct conntrack_noted {
	uint32_t netns;
	bool asked; /* in this interval */
	struct stack_sample was;
};

static struct reading_socket reading_id(const struct watch_sock *sock)
{
	return (struct reading_socket){.inode = sock->inode,
				       .netns = sock->netns,
				       .family = sock->family,
				       .port = sock->local_port,
				       .tcp = sock->protocol == IPPROTO_TCP,
				       .cgroup = sock->cgroup};
}

static struct conntrack_noted *conntrack_of(const struct why *w, uint32_t inum)
{
	return list_find(&w->conntracks, offsetof(struct conntrack_noted, netns), &inum,
			 sizeof(inum));
}

/*
 * Notes a namespace's firewall rules, and the drops that no rule caused. `late`: the firewall has
 * already dropped packets.
 */
static void note_firewall(struct why *w, uint32_t inum, bool late)
{
	struct conntrack_noted *noted = conntrack_of(w, inum);
	struct netns ns;

	if ((noted && noted->asked) || owners_netns_open(w->owners, inum, &ns, NULL))
		return;
	if (!noted)
		noted = list_add(&w->conntracks);
	noted->netns = inum;
	noted->asked = true;
	if (nftrules_note(w->rules, inum, &ns, late))
		stack_sample_read(&ns, &noted->was);
	netns_close(&ns);
}

static int start(void *arg, struct error *err)
{
	struct why *w = arg;
	const uint32_t only = live_parts(w->live).netns;
	uint32_t netns[START_NETNS] = {only};
	unsigned n = only ? 1 : owners_netns_list(w->owners, netns, START_NETNS);

	(void)err;
	readings_begin(w->readings, netns, n < START_READERS ? n : START_READERS);
	for (unsigned i = 0; i < n; i++)
		note_firewall(w, netns[i], false);
	return 0;
}

/* Returns true for stages at which packets are lost because the receiving or accepting process is
 * too slow. */
static bool is_reader_s(enum stage stage)
{
	return stage < STAGE_COUNT && stage_facts[stage].reader;
}

static void collect(void *arg, struct live *l)
{
	const struct live_table *t = live_interval(l);
	struct why *w = arg;

	for (unsigned i = 0; i < w->conntracks.n; i++)
		((struct conntrack_noted *)w->conntracks.at)[i].asked = false;
	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];
		struct watch_sock sock;

		if (is_reader_s(row->stage) && !live_socket(l, row, &sock)) {
			const struct reading_socket id = reading_id(&sock);

			if (id.tcp || sock.protocol == IPPROTO_UDP)
				readings_note(w->readings, &id, row->counts.packets);
		} else if (row->stage == STAGE_NETFILTER && row->netns) {
			note_firewall(w, row->netns, true);
		} else if (!w->sources_ns && !strcmp(row->text[LIVE_REASON], "IP_RPFILTER")) {
			w->sources_ns = clock_now();
			way_sources_open(&w->sources, false);
		}
	}
	readings_interval(w->readings);
}

struct why *why_new(const struct live_spec *spec, const struct sources *s, struct live *l)
{
	struct why *w = mem_new(w);

	w->live = l;
	w->owners = spec->owners;
	w->listeners = s;
	w->conntracks.size = sizeof(struct conntrack_noted);
	w->readings = readings_new(spec->owners);
	w->rules = nftrules_new();
	live_add_source(l, &(struct live_source){.start = start, .collect = collect, .arg = w});
	return w;
}

void why_close(struct why *w)
{
	if (!w)
		return;
	readings_close(w->readings);
	nftrules_close(w->rules);
	list_free(&w->conntracks);
	way_sources_close(w->sources);
	free(w);
}

void why_tick(struct why *w)
{
	readings_sample(w->readings);
}

__attribute__((format(printf, 3, 4))) static void add(char *buf, size_t size, const char *fmt, ...)
{
	size_t n = strlen(buf);
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(buf + n, size - n, fmt, args) >= (int)(size - n))
		buf[n] = '\0'; /* does not fit, so nothing is appended */
	va_end(args);
}

static void put_rule(struct why *w, const struct nft_rule *r, bool first)
{
	char text[384];

	nft_rule_text(r, text, sizeof(text));
	add(w->rules_text, sizeof(w->rules_text), "%s%s", first ? "" : ", ", text);
}

static bool same_chain(const struct nft_rule *a, const struct nft_rule *b)
{
	return !strcmp(a->family, b->family) && !strcmp(a->table, b->table) &&
	       !strcmp(a->chain, b->chain);
}

/*
 * Adds the rules with counters that moved or, if no counter moved, the rules that may have dropped
 * packets. `events`: lost packets, counted as rules count them. Rules also count packets that EXPR
 * excludes.
 */
static void put_rules(struct why *w, const struct nft_result *result, uint64_t events,
		      struct finding_facts *f)
{
	bool moved = result->n && result->rule[0].kind == NFT_RULE_MOVED, one_chain = true;
	uint64_t counted = 0;
	unsigned shown = 0;

	w->rules_text[0] = '\0';
	if (result->late)
		add(w->rules_text, sizeof(w->rules_text),
		    "rules were listed only after the loss began%s",
		    moved	? "; since it was made: "
		    : result->n ? "; without a counter: "
				: "");
	else if (!moved && result->n)
		add(w->rules_text, sizeof(w->rules_text), "%s",
		    result->n > 1 || result->problem[0] || result->legacy
			    ? "no counter shows which of these: "
			    : "by elimination: ");
	for (unsigned i = 0; i < result->n && shown < RULES_SHOWN; i++) {
		if (moved == (result->rule[i].kind == NFT_RULE_MOVED))
			put_rule(w, &result->rule[i], !shown++);
	}
	if (!result->n && result->problem[0])
		snprintf(w->rules_text, sizeof(w->rules_text), "%s", result->problem);
	else if (!result->n && result->legacy)
		add(w->rules_text, sizeof(w->rules_text),
		    "there are tables of iptables-legacy, which are not read");
	f->rules = w->rules_text;
	for (unsigned i = 0; i < result->n && result->rule[i].kind == NFT_RULE_MOVED; i++) {
		counted += result->rule[i].packets;
		one_chain &= same_chain(&result->rule[i], &result->rule[0]);
	}
	if (counted > events && !result->late)
		add(w->rules_text, sizeof(w->rules_text), ", of any traffic");
	if (!moved || !one_chain || result->late)
		return;
	snprintf(w->chain, sizeof(w->chain), "%s %s %s", result->rule[0].family,
		 result->rule[0].table, result->rule[0].chain);
	f->rule_chain = w->chain;
	/* rules that are gone, or without a counter, may have dropped the rest */
	if (shown == 1 && result->rule[0].exact && counted >= events / 2)
		f->rule_handle = result->rule[0].handle;
}

static void fill_rules(struct why *w, const struct live_row *row, struct finding_facts *f)
{
	struct nft_result result;
	struct netns ns;

	note_firewall(w, row->netns, true);
	if (owners_netns_open(w->owners, row->netns, &ns, NULL))
		return;
	nftrules_compare(w->rules, row->netns, &ns, nft_hook(row->text[LIVE_HOOK]), &result);
	put_rules(w, &result, row->counts.events, f);
	if (f->rule_handle) {
		way_rule_text(&ns, &result.rule[0], w->rule_text, sizeof(w->rule_text));
		f->rule = w->rule_text;
	}
	netns_close(&ns);
}

static bool is_tap(const struct live_row *row)
{
	return !strcmp(row->text[LIVE_SOCKET], "packet");
}

/* Returns a row's weight. The cause of a full neighbour queue outweighs its number of drops. Copies
 * for taps have no weight. */
static uint64_t weight(const struct live_row *row)
{
	if (is_tap(row))
		return 0;
	return finding_is_silence(row->text[LIVE_REASON], row->text[LIVE_LOCATION])
		       ? UINT64_MAX
		       : row->counts.packets;
}

/* Returns a stage's largest row, which names the drop site. */
static const struct live_row *main_row(const struct live_table *t, enum stage stage,
				       enum drop_class class)
{
	const struct live_row *best = NULL;

	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];

		if (row->stage == stage && row->class == class &&
		    (!best || weight(row) > weight(best)))
			best = row;
	}
	return best;
}

/* Returns the row for multicast to a group that has no member. It is not a loss, but it explains
 * missing packets. */
static const struct live_row *not_joined(const struct live_table *t)
{
	const struct live_row *v4 = main_row(t, STAGE_IP_ROUTE, CLASS_EXPECTED);
	const struct live_row *v6 = main_row(t, STAGE_L2, CLASS_EXPECTED);

	return v4 || !v6 || strcmp(v6->text[LIVE_LOCATION], "ip6_mc_input") ? v4 : v6;
}

/* Finds the NAT rule that redirects packets to a closed port. It may be in any namespace. */
static int find_dnat(void *arg, const struct netns *ns)
{
	struct why *w = arg;

	w->dnat_netns = ns->inum;
	if (way_dnat_read(ns, &w->dnat) && w->dnat.closed_at == w->netns)
		return 1;
	w->dnat = (struct way_dnat){};
	return 0;
}

/* Adds facts about the network path from the namespace in which a loss occurred. */
static void look_around(const struct live *l, struct why *why, const struct live_row *row,
			struct finding_facts *f)
{
	struct owners *owners = live_parts(l).owners;
	const struct conntrack_noted *noted;
	struct stack_sample now;
	struct netdev dev = {};
	struct netns ns;

	if (!row->netns || !owners || owners_netns_open(owners, row->netns, &ns, &(struct error){}))
		return;
	noted = why && row->stage == STAGE_NETFILTER ? conntrack_of(why, row->netns) : NULL;
	if (noted) {
		stack_sample_read(&ns, &now);
		f->conntrack_drops = counter_grown(noted->was.conntrack_drops, now.conntrack_drops);
		f->conntrack_clashes =
			counter_grown(noted->was.conntrack_clashes, now.conntrack_clashes);
		netns_sysctl_numbers(&ns, "net/netfilter/nf_conntrack_count", &f->used, 1);
		netns_sysctl_numbers(&ns, "net/netfilter/nf_conntrack_max", &f->limit, 1);
	}
	if (row->stage == STAGE_IP_FORWARD)
		way_next_read(&ns, &f->next);
	if (row->stage == STAGE_UDP_MEM)
		f->udp_pages_known = stack_udp_pages(&ns, &f->udp_pages);
	if (row->stage == STAGE_TCP_RCVBUF)
		netns_sysctl_numbers(&ns, "net/ipv4/tcp_rmem", f->tcp_rmem, 3);
	if ((row->stage == STAGE_TX_SOCKET || row->stage == STAGE_QDISC) && f->ifname &&
	    !netdev_get(&ns, f->ifname, &dev)) {
		f->mtu = dev.link.mtu;
		f->no_carrier = link_has_no_carrier(&dev.link);
		if (why && row->stage == STAGE_QDISC) {
			snprintf(why->qdisc, sizeof(why->qdisc), "%s", dev.link.qdisc);
			way_rate_text(&ns, f->ifname, why->qdisc, sizeof(why->qdisc));
			f->qdisc = why->qdisc;
		}
	}
	if (why && why->sources && row->stage == STAGE_IP_ROUTE &&
	    !way_sources_back(why->sources, &ns, row->netns, f->ifname,
			      why->sources_ns + SOURCES_NS, &f->back))
		f->back = (struct way_back){};
	if (why && f->port && row->stage == STAGE_UDP_CSUM) {
		struct link_info *links = NULL;
		int n = links_read(&ns, 0, &links);

		for (int i = 0; i < n; i++) {
			if (links[i].tunnel_port != f->port)
				continue;
			snprintf(why->tunnel, sizeof(why->tunnel), "%s", links[i].ifname);
			f->tunnel = why->tunnel;
		}
		free(links);
	}
	if (why && (row->stage == STAGE_NEIGH || row->stage == STAGE_IP_ROUTE ||
		    row->stage == STAGE_L2 || row->stage == STAGE_UDP_LOOKUP)) {
		why->netns = row->stage == STAGE_UDP_LOOKUP ? row->netns : 0;
		if (row->stage == STAGE_UDP_LOOKUP)
			netns_each(find_dnat, why);
		else
			find_dnat(why, &ns);
		if (row->stage == STAGE_NEIGH)
			way_silent_read(&ns, &f->silent);
		if (why->dnat.unreachable == (row->stage == STAGE_IP_ROUTE) &&
		    why->dnat.unbridged == (row->stage == STAGE_L2))
			f->dnat = why->dnat;
	}
	netns_close(&ns);
}

/*
 * Describes the process that reads from the socket or accepts connections, if known. `why` may be
 * NULL.
 */
static void describe_reader(struct why *why, uint64_t inode, struct finding_facts *f)
{
	if (why && !readings_get(why->readings, inode, &why->reading))
		reading_describe(&why->reading, why->reader, f);
}

/* Returns a row's facts. `known`: texts of the row, NULL: unknown. */
static struct finding_facts facts_of(const struct live_row *row, const struct finding_facts *host,
				     uint64_t lost)
{
	struct finding_facts f = *host;
	const char *known[LIVE_FIELD_COUNT];

	for (unsigned i = 0; i < LIVE_FIELD_COUNT; i++)
		known[i] = *row->text[i] ? row->text[i] : NULL;
	f.lost = lost;
	f.events = row->counts.packets ? 0 : row->counts.events;
	/* per datagram, like the rates, because a merged packet stands for many datagrams */
	if (row->counts.packets)
		f.truesize = row->counts.memory / row->counts.packets;
	f.reason = known[LIVE_REASON];
	f.location = known[LIVE_LOCATION];
	f.ifname = known[LIVE_IFNAME];
	f.hook = known[LIVE_HOOK];
	f.process = known[LIVE_PROCESS];
	f.tap = is_tap(row);
	return f;
}

static uint64_t sysctl_of(const struct live *l, uint32_t netns, const char *path)
{
	uint64_t value = 0;
	struct netns ns;

	if (!netns || owners_netns_open(live_parts(l).owners, netns, &ns, &(struct error){}))
		return 0;
	netns_sysctl_numbers(&ns, path, &value, 1);
	netns_close(&ns);
	return value;
}

/* Adds facts about a listener that refused connections. */
static void describe_listener(const struct why *why, const struct live_row *row, uint64_t inode,
			      struct finding_facts *f)
{
	const struct silent *s;

	for (unsigned at = 0; (s = sources_listener(why->listeners, &at));) {
		if (s->last.sock.inode != inode)
			continue;
		f->socket = row->text[LIVE_SOCKET];
		f->waiting = s->last.waiting;
		f->room = s->last.room;
		f->half_open = s->half_open;
		f->somaxconn = sysctl_of(why->live, row->netns, "net/core/somaxconn");
	}
}

/*
 * Returns true if no command for one namespace can be given for the row, because it is of several,
 * or of one that is gone and whose inode number another one has.
 */
static bool is_placeless(const struct live *l, const struct live_row *row)
{
	struct owners *owners = live_parts(l).owners;
	char now[OWNER_NETNS];

	if (row->one || !owners || !row->netns || !*row->text[LIVE_NETNS])
		return row->one;
	return strcmp(owners_netns(owners, row->netns, now), row->text[LIVE_NETNS]);
}

static void advise_row(const struct live *l, struct why *why, struct live_summary *s,
		       const struct live_row *row, struct finding_facts *f)
{
	const uint32_t one = row->one ? row->one : row->netns;
	struct live_row placeless = *row;
	char command[FINDING_COMMAND];
	struct finding *finding = &s->finding[s->n_findings];
	struct change change = {};
	struct watch_sock sock;

	if (is_placeless(l, row)) {
		placeless.netns = 0;
		row = &placeless;
	}
	if (!live_socket(l, row, &sock)) {
		f->rcvbuf = sock.rcvbuf;
		f->port = sock.local_port;
		if (is_reader_s(row->stage))
			describe_reader(why, sock.inode, f);
		/* 0 says nothing: packets may have been lost before the program was attached */
		if (why && row->stage == STAGE_UDP_MEM &&
		    readings_exceeded(why->readings, sock.inode, &f->exceeded))
			f->exceeded_known = f->exceeded;
		if (why && row->stage == STAGE_TCP_LISTEN)
			describe_listener(why, row, sock.inode, f);
	}
	if (why && why->rules && row->stage == STAGE_NETFILTER && row->netns)
		fill_rules(why, row, f);
	look_around(l, why, row, f);
	if (s->n_findings >= LENGTH(s->finding) - TCP_FINDINGS ||
	    findings_for_stage(row->stage, f, finding, &change))
		return;
	memcpy(command, finding->command, sizeof(command));
	finding_enter_netns(finding, &change, live_parts(l).owners,
			    *f->dnat.backend ? why->dnat_netns : one);
	if (row == &placeless) {
		snprintf(finding->netns, sizeof(finding->netns), "%s", row->text[LIVE_NETNS]);
		if (strcmp(command, finding->command)) /* not of the whole host */
			finding_forget(finding);
	}
	s->n_findings++;
}

/*
 * A cause at a stage, which is the largest row among the rows with the same place and the same
 * advice.
 */
struct cause_row {
	const struct live_row *row;
	const char *id; /* the finding's ID */
	uint64_t lost;
};

#define STAGE_CAUSES 4	/* maximum number of causes per stage that get advice, largest first */
#define STAGE_ROWS   64 /* maximum number of rows per stage that are examined, largest first */

/* Compares places but not processes, because a socket's process may have changed and a process may
 * have many sockets. */
static bool is_same_place(const struct live_row *a, const struct live_row *b)
{
	static const enum live_field fields[] = {LIVE_HOOK, LIVE_NETNS, LIVE_SOCKET};

	for (unsigned i = 0; i < LENGTH(fields); i++) {
		if (strcmp(a->text[fields[i]], b->text[fields[i]]))
			return false;
	}
	return (a->cookie && a->cookie == b->cookie) ||
	       !strcmp(a->text[LIVE_PROCESS], b->text[LIVE_PROCESS]);
}

/* Adds a row to its stage's causes. A cause with the highest weight explains all other rows. */
static unsigned add_cause(struct cause_row *causes, unsigned n, const struct live_row *row,
			  const struct finding_facts *host)
{
	const struct finding_facts f = facts_of(row, host, row->counts.packets);
	static struct finding finding; /* too large for a small stack */

	if ((n && is_tap(row)) || findings_for_stage(row->stage, &f, &finding, NULL))
		return n;
	for (unsigned i = 0; i < n; i++) {
		if ((is_same_place(causes[i].row, row) && !strcmp(causes[i].id, finding.id)) ||
		    weight(causes[i].row) == UINT64_MAX) {
			causes[i].lost += row->counts.packets;
			return n;
		}
	}
	if (n < STAGE_CAUSES)
		causes[n++] = (struct cause_row){row, finding.id, row->counts.packets};
	return n;
}

static void advise_stage(const struct live *l, struct why *why, struct live_summary *s,
			 const struct live_table *rows, const struct finding_facts *host,
			 enum stage stage)
{
	const struct live_row *main = main_row(rows, stage, CLASS_LOSS);
	struct cause_row causes[STAGE_CAUSES];
	struct finding_facts f;
	unsigned n = 0, looked = 0;

	if (!main && stage == STAGE_IP_ROUTE && live_parts(l).filter) {
		main = not_joined(s->total);
		if (!main)
			return;
		f = facts_of(main, host,
			     table_sum(s->total, 1u << main->class, stage).packets);
		f.not_joined = true;
		advise_row(l, why, s, main, &f);
		return;
	}
	if (main)
		n = add_cause(causes, n, main, host);
	for (unsigned i = 0; n && i < rows->n && looked < STAGE_ROWS; i++) {
		const struct live_row *row = &rows->rows[i];

		if (row->stage != stage || row == main)
			continue;
		n = add_cause(causes, n, row, host);
		looked++;
	}
	for (unsigned i = 0; i < n; i++) {
		f = facts_of(causes[i].row, host, causes[i].lost);
		advise_row(l, why, s, causes[i].row, &f);
	}
}

/* Adds the findings. There are separate findings for different sockets, hooks or namespaces, and
 * for causes with different advice. */
static void advise(const struct live *l, struct why *why, struct live_summary *s)
{
	const unsigned by = LIVE_BY_DEFAULT;
	struct finding_facts host = {};
	struct live_table rows;

	findings_read_host(NULL, &host);
	table_group(&rows, s->total, by, 1u << CLASS_LOSS);
	table_sort(&rows, TABLE_BY_PACKETS);
	for (int stage = 0; stage < STAGE_COUNT; stage++)
		advise_stage(l, why, s, &rows, &host, stage);
	findings_sort(s->finding, s->n_findings);
	table_free(&rows);
}

void live_summarise(const struct live *l, struct why *why, const struct live_table *of,
		    struct live_summary *out)
{
	*out = (struct live_summary){
		.duration_ns = live_time(l, NULL),
		.total = of ? of : live_total(l),
	};
	live_own(l, &out->own);
	advise(l, why, out);
}

/* Adds a finding for the TCP balance. `netns`: namespace, 0: unknown. */
static void advise_tcp(const struct live *l, struct live_summary *s, enum stage stage,
		       const struct finding_facts *f, uint32_t netns)
{
	struct change change = {};
	unsigned i = 0;

	while (i < s->n_findings && (stage == STAGE_TCP || s->finding[i].stage != stage))
		i++;
	if (findings_for_stage(stage, f, &s->finding[i], &change))
		return;
	s->n_findings += i == s->n_findings;
	finding_enter_netns(&s->finding[i], &change, live_parts(l).owners, netns);
}

/* Names one of the flows that lose their large segments. */
static void advise_black_hole(const struct live *l, struct live_summary *s)
{
	struct finding_facts f = {.flows = s->tcp->sum.large_only};
	char peer[FMT_MAX], ifname[IF_NAMESIZE];
	const struct tcp_flow *hole = NULL;
	struct endpoint to;
	struct netns ns;

	for (unsigned i = 0; i < s->tcp->n_flows && !hole; i++)
		hole = s->tcp->flows[i].flow.sum.large_only ? &s->tcp->flows[i].flow : NULL;
	if (!hole)
		return advise_tcp(l, s, STAGE_TCP, &f, 0);
	to = num_endpoint_of(hole->key.family, hole->key.dst, 0);
	snprintf(peer, sizeof(peer), "%s", num_text_endpoint(&to));
	f.peer = peer;
	f.segment_bytes = hole->large_bytes;
	if (!owners_netns_open(live_parts(l).owners, hole->netns, &ns, &(struct error){})) {
		device_name(&ns, hole->last.ifindex, ifname);
		f.ifname = ifname;
		netns_close(&ns);
	}
	advise_tcp(l, s, STAGE_TCP, &f, hole->netns);
}

/* Fewer spurious retransmissions may be due to chance. */
#define SPURIOUS       3
#define SPURIOUS_SHARE 10 /* at least 1 / SPURIOUS_SHARE of the retransmissions */

static void advise_balance(const struct live *l, struct live_summary *s)
{
	const struct live_row *row = main_row(s->total, STAGE_QDISC, CLASS_LOSS);
	const uint32_t netns = row ? row->netns : 0;
	const struct tcp_sum *sum = &s->tcp->sum;
	const uint64_t late = sum->not_lost - sum->ack_lost;
	struct finding_facts queue = {
		.lost = sum->returned_at[STAGE_QDISC],
		.ifname = row ? row->text[LIVE_IFNAME] : NULL,
		.tsq = sysctl_of(l, netns, "net/ipv4/tcp_limit_output_bytes"),
	};
	struct finding_facts reordered = {.lost = late, .again = sum->retransmitted};

	/*
	 * includes segments that were retransmitted or cut from a GSO packet, unless a router
	 * dropped them
	 */
	if (netns && s->tcp->flows[0].flow.netns == netns)
		queue.lost += sum->lost_at[STAGE_QDISC];
	if (queue.lost)
		advise_tcp(l, s, STAGE_QDISC, &queue, netns);
	if (sum->large_only)
		advise_black_hole(l, s);
	if (late >= SPURIOUS && late * SPURIOUS_SHARE >= sum->retransmitted)
		advise_tcp(l, s, STAGE_TCP, &reordered, 0);
}

bool session_balance(struct session *s, struct tcp_balance *b, struct live_summary *sum,
		     struct error *err)
{
	if (!s->tcp || tcp_account_end(s->tcp, err))
		return !s->tcp;
	tcp_account_balance(s->tcp, s->sources, b);
	sum->tcp = b;
	advise_balance(s->live, sum);
	return b->balanced;
}
