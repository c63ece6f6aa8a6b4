// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Judges sockets, counters, and the network stack's tables and memory. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "diagnosis/judge.h"

#define FULL_FRACTION	0.5  /* fraction of the buffer above which the reader is behind */
#define UDP_MEM_USED_UP 0.95 /* fraction of the limit */
#define NEAR		0.8  /* fraction of a limit from which the next burst may reach it */
#define UNCOUNTED	10   /* packets that may arrive between two reads */
#define SOCKET_SIZE	(FMT_MAX + 16)

/* Sockets */

static uint64_t moved(const struct facts *f, const char *name4, const char *name6)
{
	return facts_moved(f, FACTS_HERE, name4) + (name6 ? facts_moved(f, FACTS_HERE, name6) : 0);
}

/* Returns true if the reader was behind both times, by more than one packet in a small buffer. */
static bool is_filling(const struct facts_sock *s)
{
	return s->rcvbuf && (double)s->queued > FULL_FRACTION * (double)s->rcvbuf &&
	       (double)s->queued_before > FULL_FRACTION * (double)s->rcvbuf;
}

/*
 * Returns the stage where a socket's drops occurred. A socket counts all its drops in one number
 * (sk_drops), so the stage comes from the namespace's counters for the same time, whichever
 * increased the most. If neither counters nor limits are known (text of `ss -uam`), the most
 * frequent stage is assumed.
 */
static enum stage stage_of_drops(const struct facts *f, const struct facts_sock *sock)
{
	const struct facts_stack *s = &f->stack;
	const uint64_t errors = moved(f, "Udp:InErrors", "Udp6InErrors");
	const uint64_t full = moved(f, "Udp:RcvbufErrors", "Udp6RcvbufErrors");
	const uint64_t memory = moved(f, "Udp:MemErrors", "Udp6MemErrors");
	const uint64_t checksum = moved(f, "Udp:InCsumErrors", "Udp6InCsumErrors");
	const uint64_t rest = counter_grown(full + memory + checksum, errors);
	const bool used_up =
		s->udp_mem[0] && (double)s->udp_pages >= UDP_MEM_USED_UP * (double)s->udp_mem[0];
	uint64_t total;

	if (!s->udp_mem[0] && !counters_get(&f->after, FACTS_HERE, "Udp:InErrors", &total))
		return STAGE_RCVBUF;
	/* with losses of several kinds in the namespace, a queue that is full shows this one's */
	if (full && (is_filling(sock) || (full >= memory && full >= checksum && full >= rest)))
		return STAGE_RCVBUF;
	/*
	 * Newer kernels do not count drops for lack of memory, but count all others
	 * (__udp_enqueue_schedule_skb()).
	 */
	if (memory > checksum || (!errors && (used_up || sock->lost >= UNCOUNTED)))
		return STAGE_UDP_MEM;
	if (checksum && checksum >= rest)
		return STAGE_UDP_CSUM;
	return rest ? STAGE_SOCKET_FILTER : STAGE_RCVBUF;
}

const char *judge_process(const struct facts_sock *s, char buf[PROCESS_SIZE])
{
	if (!s->pid && !s->holders)
		return "an unknown process";
	if (s->pid)
		snprintf(buf, PROCESS_SIZE, "%s (%d)", s->process, (int)s->pid);
	else
		snprintf(buf, PROCESS_SIZE, "one of %u processes", s->holders);
	return buf;
}

/*
 * Sets the rates. They can be attributed to one socket only if its reads are counted or no other
 * socket reads.
 */
static void put_rates(const struct facts *f, const struct facts_sock *s, struct finding_facts *facts)
{
	const uint64_t read =
		s->reads_known ? s->reads : moved(f, "Udp:InDatagrams", "Udp6InDatagrams");
	const double seconds = (double)f->window_ns * 1e-9;

	/* reads are not counted before Linux 6.3 */
	if (s->young || (!s->reads_known && f->socks.all != 1) || seconds <= 0)
		return;
	facts->read_pps = (double)read / seconds;
	facts->arrival_pps = (double)(read + s->lost) / seconds;
}

/*
 * Returns how many sockets of a program share the port and address of this one, if all others
 * received nothing. 0: they did, or this is unknown.
 */
static unsigned idle_group(const struct facts *f, const struct facts_sock *s)
{
	unsigned n = 1;

	for (unsigned i = 0; i < f->socks.n; i++) {
		const struct facts_sock *o = &f->socks.at[i];

		if (o == s || o->port != s->port || o->family != s->family || *o->peer ||
		    strcmp(o->bound, s->bound) || strcmp(o->process, s->process))
			continue;
		if (o->lost || o->queued || o->reads_known)
			return 0;
		n++;
	}
	return n > 1 && s->reads_known && !*s->peer ? n : 0;
}

static void judge_sock(const struct facts *f, struct check_findings *out,
		       const struct facts_sock *s)
{
	const enum stage stage = s->lost ? stage_of_drops(f, s) : STAGE_RCVBUF;
	char process[PROCESS_SIZE], reader[READING_TEXT];
	struct finding_facts facts = {
		.lost = s->lost,
		.total = s->drops,
		.since = "it was opened",
		.process = judge_process(s, process),
		.port = s->port,
		.sharing = idle_group(f, s),
		.page_bytes = f->stack.page_bytes,
		.udp_pages_known = true,
		.udp_pages = f->stack.udp_pages,
		.exceeded_known = s->exceeded_known,
		.exceeded = s->exceeded,
		.queue_seen = s->rcvbuf,
		.queued = s->queued,
		.queued_before = s->queued_before,
		.rcvbuf = s->rcvbuf,
		.rmem_max = f->stack.rmem_max,
		.rmem_default = f->stack.rmem_default,
		.truesize = s->truesize,
	};

	snprintf(reader, sizeof(reader), "drops of port %u", s->port);
	if (!s->lost && !f->window_ns) /* only the total is known */
		judge_history(out, STAGE_RCVBUF, false, reader, s->drops);
	if (!s->lost && !is_filling(s))
		return;
	memcpy(facts.udp_mem, f->stack.udp_mem, sizeof(facts.udp_mem));
	put_rates(f, s, &facts);
	if (stage == STAGE_RCVBUF && s->reading.window_ns)
		reading_describe(&s->reading, reader, &facts);
	for (unsigned i = 0; i < f->n_links && stage == STAGE_UDP_CSUM; i++) {
		if (f->link[i].dev.link.tunnel_port == s->port)
			facts.tunnel = f->link[i].dev.link.ifname;
	}
	judge_add(out, f, stage, CHECK_SOCKET, &facts);
}

void judge_socks(const struct facts *f, struct check_findings *out)
{
	uint64_t full = moved(f, "Udp:RcvbufErrors", "Udp6RcvbufErrors"), listed = 0;

	for (unsigned i = 0; i < f->socks.n; i++) {
		judge_sock(f, out, &f->socks.at[i]);
		listed += f->socks.at[i].lost;
	}
	/*
	 * Sockets that are not in the list have been closed or did not fit. The two counts are not
	 * read at the same time. Without a list, judge_counters() reports the loss.
	 */
	if (!f->counters_only && !f->port && !f->pid && full > listed + listed / 10)
		judge_add(out, f, STAGE_RCVBUF, CHECK_NAMESPACE,
			  &(struct finding_facts){.lost = full - listed,
						  .counter = "Udp:RcvbufErrors"});
	/* NoPorts covers any port in the namespace */
	if (f->port && !f->socks.n && !f->socks.more)
		judge_add(out, f, STAGE_UDP_LOOKUP, CHECK_NAMESPACE,
			  &(struct finding_facts){
				  .port_closed = true,
				  .port = f->port,
				  .refused = moved(f, "Udp:NoPorts", "Udp6NoPorts")});
}

/* Counters */

#define FLAG(fact) .flag = 1 + offsetof(struct finding_facts, fact)

/*
 * Counters in a namespace or on the host that increase only with losses, and their stages. Sender
 * counters that count a loss twice (OutDiscards) are excluded.
 */
static const struct {
	const char *name4, *name6;
	enum stage stage;
	enum {
		HERE,
		HOST,
		HISTORY, /* sockets show it while they are open */
		EVENTS,	 /* not a loss */
	} of;
	const char *reason; /* selects the stage's row */
	size_t flag;	    /* fact that selects it: 1 + its offset, 0: none */
} rules[] = {
	{"TcpExt:IPReversePathFilter", NULL, STAGE_IP_ROUTE, .reason = "IP_RPFILTER"},
	{"IpExt:InNoRoutes", "Ip6InNoRoutes", STAGE_IP_ROUTE, .reason = "IP_INNOROUTES"},
	{"Ip:InAddrErrors", "Ip6InAddrErrors", STAGE_IP_ROUTE, .reason = "IP_INADDRERRORS"},
	{"Ip:OutNoRoutes", "Ip6OutNoRoutes", STAGE_TX_ROUTE, .of = HERE},
	{"Ip:InHdrErrors", "Ip6InHdrErrors", STAGE_IP_HEADER, .of = HERE},
	{"Ip:ReasmFails", "Ip6ReasmFails", STAGE_IP_FRAG, .of = HERE},
	{"Ip:FragFails", "Ip6FragFails", STAGE_IP_FORWARD, .reason = "PKT_TOO_BIG"},
	{"Ip6InTooBigErrors", NULL, STAGE_IP_FORWARD, .reason = "PKT_TOO_BIG"},
	{"Udp:NoPorts", "Udp6NoPorts", STAGE_UDP_LOOKUP, .of = HERE},
	{"TcpExt:ListenDrops", NULL, STAGE_TCP_LISTEN, .of = HERE},
	{"TcpExt:SyncookiesFailed", NULL, STAGE_TCP_LISTEN, .of = HERE, FLAG(cookie)},
	{"TcpExt:TCPMD5NotFound", NULL, STAGE_TCP, .reason = "TCP_MD5NOTFOUND"},
	{"TcpExt:TCPMD5Unexpected", NULL, STAGE_TCP, .reason = "TCP_MD5UNEXPECTED"},
	{"TcpExt:TCPMD5Failure", NULL, STAGE_TCP, .reason = "TCP_MD5FAILURE"},
	{"TcpExt:TCPAORequired", NULL, STAGE_TCP, .reason = "TCP_AONOTFOUND"},
	{"TcpExt:TCPAOKeyNotFound", NULL, STAGE_TCP, .reason = "TCP_AOKEYNOTFOUND"},
	{"TcpExt:TCPAOBad", NULL, STAGE_TCP, .reason = "TCP_AOFAILURE"},
	{"TcpExt:TCPBacklogDrop", NULL, STAGE_TCP_BACKLOG, .of = HERE},
	{"TcpExt:TCPRcvQDrop", NULL, STAGE_TCP_RCVBUF, .of = HERE},
	{"TcpExt:TCPOFODrop", NULL, STAGE_TCP_RCVBUF, .of = HERE},
	{"TcpExt:TCPZeroWindowDrop", NULL, STAGE_TCP_RCVBUF, .of = HERE},
	{"XfrmInNoPols", NULL, STAGE_XFRM, .of = HERE},
	{"XfrmInPolBlock", NULL, STAGE_XFRM, .of = HERE},
	{"XfrmOutPolBlock", NULL, STAGE_XFRM, .of = HERE},
	{"arp_cache:unresolved_discards", "ndisc_cache:unresolved_discards", STAGE_NEIGH,
	 .of = HOST, .reason = "NEIGH_QUEUEFULL"},
	{"Udp:RcvbufErrors", "Udp6RcvbufErrors", STAGE_RCVBUF, .of = HISTORY},
	{"Udp:MemErrors", "Udp6MemErrors", STAGE_UDP_MEM, .of = HISTORY},
	{"Udp:InCsumErrors", "Udp6InCsumErrors", STAGE_UDP_CSUM, .of = HISTORY},
	{"Ip:ReasmReqds", "Ip6ReasmReqds", STAGE_IP_FRAG, .of = EVENTS, FLAG(arriving)},
	{"Ip:FragCreates", "Ip6FragCreates", STAGE_IP_FRAG, .of = EVENTS, FLAG(leaving)},
	{"Udp:SndbufErrors", "Udp6SndbufErrors", STAGE_TX_SOCKET, .of = EVENTS, FLAG(send_full)},
	{"Tcp:RetransSegs", NULL, STAGE_TCP, .of = EVENTS, FLAG(retransmits)},
};

bool judge_counter_called(const char *counter, const char *name)
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
		if (rules[i].of != EVENTS && (judge_counter_called(rules[i].name4, name) ||
					      judge_counter_called(rules[i].name6, name)))
			return true;
	}
	return false;
}

/*
 * Sets the port without a socket, and its addresses if sockets on that port receive only from one
 * peer or on one address.
 */
static void put_sockets(const struct facts *f, struct finding_facts *facts,
			char process[PROCESS_SIZE])
{
	const struct facts_sock *one = NULL;
	bool any = false;

	facts->port = f->closed_port;
	for (unsigned i = 0; i < f->socks.n && facts->port; i++) {
		const struct facts_sock *s = &f->socks.at[i];

		if (s->port != facts->port)
			continue;
		one = one ? one : s;
		any |= !*s->bound && !*s->peer;
	}
	if (f->port && (any || !one || f->port != facts->port))
		facts->port = 0; /* the packets were for other ports */
	if (any || !one)
		return;
	facts->process = judge_process(one, process);
	facts->bound = one->bound;
	facts->peer = *one->peer ? one->peer : NULL;
}

/*
 * Sets the interface where packets were rejected. If no packet was seen, uses the busiest strict
 * interface.
 */
static void put_strict_link(const struct facts *f, struct finding_facts *facts)
{
	const struct facts_link *best = NULL;

	for (unsigned i = 0; i < f->n_links; i++) {
		const struct facts_link *l = &f->link[i];
		const bool seen = !strcmp(l->dev.link.ifname, f->back.ifname);

		if (seen || (!strcmp(l->rp_filter, "1") &&
			     (!best || l->rx_packets > best->rx_packets)))
			best = l;
		if (seen)
			break;
	}
	facts->back = f->back;
	facts->ifname = best ? best->dev.link.ifname : NULL;
	facts->rp_filter = best ? best->rp_filter : NULL;
}

/*
 * Returns true if the router answers packets with an expired TTL, or would do so. It also counts them
 * as bad headers.
 */
static bool answers_ttl(const struct facts *f, bool v6)
{
	return v6 ? facts_moved(f, FACTS_HERE, "Icmp6OutTimeExcds")
		  : facts_moved(f, FACTS_HERE, "Icmp:OutTimeExcds") ||
			    facts_moved(f, FACTS_HERE, "Icmp:OutRateLimitHost") ||
			    facts_moved(f, FACTS_HERE, "Icmp:OutRateLimitGlobal");
}

/* Returns true if packets were lost after the sockets, which count them too. */
static bool lost_after_sockets(const struct facts *f)
{
	for (unsigned i = 0; i < f->n_links; i++) {
		char name[COUNTER_NAME_LEN];

		snprintf(name, sizeof(name), "%s:qdisc:drops", f->link[i].dev.link.ifname);
		if (facts_moved(f, FACTS_HERE, name) || facts_link_lost(&f->link[i], NIC_SEND))
			return true;
	}
	return judge_softnet(f, "dropped", false);
}

/* Finds a socket with a send buffer that the host limits, and the setting that would allow more. */
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

/* Judges counters for events that are not losses. */
static void judge_events(const struct facts *f, struct check_findings *out, unsigned i)
{
	struct finding_facts facts = {
		.counter = facts_moved(f, FACTS_HERE, rules[i].name4) ? rules[i].name4 : rules[i].name6,
		.events = moved(f, rules[i].name4, rules[i].name6),
	};
	char process[PROCESS_SIZE];

	((bool *)&facts)[rules[i].flag - 1] = true;
	/* only segments with data are explained by `trace --balance` */
	if (facts.retransmits)
		facts.events = counter_grown(facts_moved(f, FACTS_HERE, "TcpExt:TCPSynRetrans"),
					     facts.events);
	if (!facts.events || f->counters_only ||
	    (f->port && (facts.send_full || facts.retransmits)) ||
	    (facts.send_full && lost_after_sockets(f)))
		return;
	if (facts.send_full)
		put_small_sndbuf(f, &facts, process);
	judge_add(out, f, rules[i].stage, CHECK_NAMESPACE, &facts);
}

/* Sets what is known of a listener. The text of its socket is stored in `socket`. */
static void put_listener(const struct facts *f, const struct facts_sock *s,
			 struct finding_facts *facts, char socket[SOCKET_SIZE],
			 char process[PROCESS_SIZE])
{
	const bool v6 = strchr(s->bound, ':');

	snprintf(socket, SOCKET_SIZE, "%s%s%s:%u", v6 ? "[" : "", *s->bound ? s->bound : "*",
		 v6 ? "]" : "", s->port);
	facts->socket = socket;
	facts->process = judge_process(s, process);
	facts->port = s->port;
	facts->waiting = s->waiting;
	facts->room = s->room;
	facts->somaxconn = f->stack.somaxconn;
}

/*
 * Divides the refused connections among the listeners with a full accept queue or SYN queue. A
 * listener's own counter also has segments that are no connections, such as resets.
 */
static void judge_listeners(const struct facts *f, struct check_findings *out,
			    const struct finding_facts *all)
{
	uint64_t accept = facts_moved(f, FACTS_HERE, "TcpExt:ListenOverflows");
	uint64_t syn = counter_grown(accept, all->lost), *of;
	const bool alone = f->listeners.n == 1;
	struct finding_facts rest = *all;

	for (unsigned i = 0; i < f->listeners.n; i++) {
		const struct facts_sock *s = &f->listeners.at[i];
		struct finding_facts one = *all;
		char socket[SOCKET_SIZE], process[PROCESS_SIZE];

		/* a full accept queue leaves half-open connections, too */
		if (s->waiting <= s->room)
			one.half_open = alone ? syn > accept : s->half_open;
		if (s->waiting <= s->room && !alone && !one.half_open)
			continue;
		of = one.half_open ? &syn : &accept;
		one.lost = smaller(s->lost, *of);
		one.total = s->drops;
		one.since = "it was opened";
		*of -= one.lost;
		rest.lost -= one.lost;
		put_listener(f, s, &one, socket, process);
		if (one.lost && (!f->pid || s->pid == f->pid))
			judge_add(out, f, STAGE_TCP_LISTEN, CHECK_SOCKET, &one);
	}
	/* the counters and the sockets are not read at the same time */
	if (rest.lost > all->lost / 10 && !f->pid)
		judge_add(out, f, STAGE_TCP_LISTEN, CHECK_NAMESPACE, &rest);
}

/*
 * Sets the listener that refused segments for their signature, if only one listener can have done
 * so: one that lost at least half as many packets, and has MD5 keys unless a signature was not
 * expected. The kernel does not list the keys of TCP-AO.
 */
static void put_signed_listener(const struct facts *f, struct finding_facts *facts,
				char socket[SOCKET_SIZE], char process[PROCESS_SIZE])
{
	const bool md5 = facts->reason && !strncmp(facts->reason, "TCP_MD5", 7);
	const bool keyed = md5 && strcmp(facts->reason, "TCP_MD5UNEXPECTED");
	const struct facts_sock *one = NULL;

	for (unsigned i = 0; i < f->listeners.n; i++) {
		const struct facts_sock *s = &f->listeners.at[i];

		/* the counters and the sockets are not read at the same time */
		if (!s->lost || 2 * (uint64_t)s->lost < facts->lost || (md5 && s->md5 != keyed))
			continue;
		if (one)
			return;
		one = s;
	}
	if (one)
		put_listener(f, one, facts, socket, process);
}

/*
 * Returns true if FragFails counted packets of this host of which a fragment was refused, by a full
 * queue for example. send() failed for them (ip_send_skb()), and the refused fragment is a loss of
 * its own. By contrast, packets that are too large are forwarded, and their senders told.
 */
static bool lost_with_fragment(const struct facts *f, const struct finding_facts *facts)
{
	return strstr(facts->counter, "FragFails") && !facts->told &&
	       moved(f, "Ip:OutDiscards", "Ip6OutDiscards") >= facts->lost;
}

static void judge_counter(const struct facts *f, struct check_findings *out, unsigned i)
{
	const bool host = rules[i].of == HOST;
	struct finding_facts facts = {.reason = rules[i].reason};
	enum check_scope scope = host ? CHECK_HOST : CHECK_NAMESPACE;
	enum stage stage = rules[i].stage;
	char process[PROCESS_SIZE], socket[SOCKET_SIZE];

	if (rules[i].of == EVENTS)
		return judge_events(f, out, i);
	if (rules[i].flag)
		((bool *)&facts)[rules[i].flag - 1] = true;
	if (!judge_moved(f, out, stage, host ? FACTS_HOST : FACTS_HERE, rules[i].name4,
			 rules[i].name6, &facts) ||
	    (rules[i].of == HISTORY && !f->counters_only))
		return;
	if (stage == STAGE_UDP_LOOKUP)
		put_sockets(f, &facts, process);
	/* may be about other ports, unless this port's sockets do not receive all packets */
	if (f->port &&
	    (stage == STAGE_TCP_LISTEN || stage == STAGE_TCP_BACKLOG || stage == STAGE_TCP ||
	     stage == STAGE_TCP_RCVBUF || (stage == STAGE_UDP_LOOKUP && !facts.port)))
		return;
	if (stage == STAGE_TCP_LISTEN && !facts.cookie)
		return judge_listeners(f, out, &facts);
	if (stage == STAGE_TCP)
		put_signed_listener(f, &facts, socket, process);
	if (facts.reason && !strcmp(facts.reason, "IP_RPFILTER"))
		put_strict_link(f, &facts);
	if (stage == STAGE_NEIGH) {
		facts.silent = f->silent;
		if (*f->silent.address && !*f->silent.netns)
			scope = CHECK_NAMESPACE;
	}
	if (stage == STAGE_IP_FORWARD) {
		facts.next = f->next;
		facts.forwarded = moved(f, "Ip:ForwDatagrams", "Ip6OutForwDatagrams");
		facts.told = moved(f, "Icmp:OutDestUnreachs", "Icmp6OutPktTooBigs");
		if (lost_with_fragment(f, &facts))
			return;
	}
	if (stage == STAGE_IP_HEADER && answers_ttl(f, facts.counter == rules[i].name6)) {
		facts.reason = "IP_INHDR";
		stage = STAGE_IP_FORWARD;
	}
	judge_add(out, f, stage, scope, &facts);
}

/*
 * Judges the backlog. If most packets were dropped by the flow limit, queue length is not the
 * cause.
 */
static void judge_backlog(const struct facts *f, struct check_findings *out)
{
	struct finding_facts facts = {
		.lost = judge_softnet(f, "dropped", false),
		.total = judge_softnet(f, "dropped", true),
		.counter = "softnet dropped",
		.netdev_max_backlog = f->stack.max_backlog,
	};

	if (!facts.lost) {
		judge_history(out, STAGE_BACKLOG, true, "softnet:dropped", facts.total);
		return;
	}
	if (2 * judge_softnet(f, "flow_limit", false) >= facts.lost) {
		facts.counter = "softnet flow_limit";
		facts.total = judge_softnet(f, "flow_limit", true);
		facts.flow_limit = f->stack.flow_limit_cpus;
	}
	judge_add(out, f, STAGE_BACKLOG, CHECK_HOST, &facts);
}

void judge_counters(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < LENGTH(rules); i++)
		judge_counter(f, out, i);
	judge_backlog(f, out);
}

/* Tables and memory */

/* Judges a table or memory limit that is reached or nearly reached. */
static void judge_limit(const struct facts *f, struct check_findings *out, enum stage stage,
			enum check_scope scope, struct finding_facts facts)
{
	memcpy(facts.udp_mem, f->stack.udp_mem, sizeof(facts.udp_mem));
	if (facts.lost || (facts.limit && (double)facts.used >= NEAR * (double)facts.limit))
		judge_add(out, f, stage, scope, &facts);
}

static void judge_limits(const struct facts *f, struct check_findings *out)
{
	static const char *const fulls[] = {"arp_cache:table_fulls", "ndisc_cache:table_fulls"},
				 *const frags[] = {"net/ipv4/ipfrag_high_thresh",
						   "net/ipv6/ip6frag_high_thresh"};
	const struct facts_stack *s = &f->stack;
	const uint64_t drops = counter_grown(s->before.conntrack_drops, s->after.conntrack_drops);

	judge_limit(f, out, STAGE_NETFILTER, CHECK_NAMESPACE,
		    (struct finding_facts){.lost = drops,
					   .total = s->after.conntrack_drops,
					   .conntrack_drops = drops,
					   .used = s->conntrack,
					   .limit = s->conntrack_max});
	judge_limit(f, out, STAGE_UDP_MEM, CHECK_HOST,
		    (struct finding_facts){.used = s->udp_pages, .limit = s->udp_mem[0]});
	for (unsigned i = 0; i < STACK_FAMILIES; i++) {
		judge_limit(f, out, STAGE_NEIGH, CHECK_HOST,
			    (struct finding_facts){.counter = fulls[i],
						   .lost = facts_moved(f, FACTS_HOST, fulls[i]),
						   .total = facts_total(f, FACTS_HOST, fulls[i]),
						   .family = i == STACK_V4 ? 4 : 6,
						   .used = s->neighbours[i],
						   .limit = s->neighbours_max[i]});
		judge_limit(f, out, STAGE_IP_FRAG, CHECK_NAMESPACE,
			    (struct finding_facts){.limit_sysctl = frags[i],
						   .used = s->frag_memory[i],
						   .limit = s->frag_high[i]});
	}
}

/* Judges a count that is not a counter. When a queue or datapath disappears, so does its count. */
static void judge_count(const struct facts *f, struct check_findings *out, enum stage stage,
			struct finding_facts facts, uint64_t before, uint64_t after)
{
	facts.lost = counter_grown(before, after);
	facts.total = after;
	if (stage == STAGE_NETFILTER && !facts.nfqueue)
		facts.conntrack_clashes = facts.lost;
	if (facts.lost)
		judge_add(out, f, stage, CHECK_NAMESPACE, &facts);
}

static void judge_captures(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < f->n_captures && !f->port; i++) {
		const struct facts_capture *c = &f->capture[i];
		char process[PROCESS_SIZE];
		struct finding_facts facts = {
			.tap = true,
			.lost = c->lost,
			.process = process,
			.ifname = *c->ifname ? c->ifname : NULL,
		};

		snprintf(process, sizeof(process), "%s (%d)", c->process, (int)c->pid);
		if (!f->pid || c->pid == f->pid)
			judge_add(out, f, STAGE_RCVBUF, CHECK_SOCKET, &facts);
	}
}

/* Judges firewall drops using the rule counters. */
static void judge_rules(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < f->n_rules; i++) {
		const struct nft_rule *r = &f->rule[i];
		char rule[416], text[440], chain[2 * NFT_NAME + 16];
		struct finding_facts facts = {
			.port = r->dport <= UINT16_MAX ? r->dport : 0,
			.rules = text,
			.rule_chain = chain,
			.rule = f->rule_text[i],
			.rule_handle = r->handle,
			.window_ns = f->rules_ns,
			.lost = r->packets,
		};

		nft_rule_text(r, rule, sizeof(rule));
		snprintf(text, sizeof(text), "%s%s", rule,
			 f->port && !r->dport ? ", of any port" : "");
		snprintf(chain, sizeof(chain), "%s %s %s", r->family, r->table, r->chain);
		judge_add(out, f, STAGE_NETFILTER, CHECK_NAMESPACE, &facts);
	}
}

/*
 * Judges next hops that do not answer. No counter records the packets that did not fit in their
 * queue.
 */
static void judge_silent(const struct facts *f, struct check_findings *out)
{
	/* for each of them at least one packet waited */
	struct finding_facts waiting = {
		.silent = f->silent,
		.lost = facts_moved(f, FACTS_HOST, "arp_cache:res_failed") +
			facts_moved(f, FACTS_HOST, "ndisc_cache:res_failed"),
	};

	if (*f->silent.address && !facts_moved(f, FACTS_HOST, "arp_cache:unresolved_discards") &&
	    !facts_moved(f, FACTS_HOST, "ndisc_cache:unresolved_discards"))
		judge_add(out, f, STAGE_NEIGH, CHECK_NAMESPACE, &waiting);
	if (*f->dnat.backend)
		judge_add(out, f,
			  f->dnat.unbridged	? STAGE_L2
			  : *f->dnat.ifname	? STAGE_NEIGH
			  : f->dnat.unreachable ? STAGE_IP_ROUTE
						: STAGE_UDP_LOOKUP,
			  CHECK_NAMESPACE, &(struct finding_facts){.dnat = f->dnat});
}

void judge_stack(const struct facts *f, struct check_findings *out)
{
	const struct stack_sample *before = &f->stack.before, *after = &f->stack.after;

	judge_limits(f, out);
	judge_count(f, out, STAGE_NETFILTER, (struct finding_facts){}, before->conntrack_clashes,
		    after->conntrack_clashes);
	judge_silent(f, out);
	judge_rules(f, out);
	if (f->path.fits)
		judge_add(out, f, STAGE_IP_FORWARD, CHECK_NAMESPACE,
			  &(struct finding_facts){
				  .path = f->path, .ifname = f->path.ifname, .mtu = f->path.mtu});
	judge_count(f, out, STAGE_NETFILTER,
		    (struct finding_facts){.nfqueue = true, .counter = "nfnetlink_queue dropped"},
		    before->nfqueue_drops, after->nfqueue_drops);
	judge_captures(f, out);
	if (!f->self.btf)
		judge_add(out, f, STAGE_NONE, CHECK_HOST, &(struct finding_facts){.no_btf = true});
	if (*f->self.missing_caps)
		judge_add(out, f, STAGE_NONE, CHECK_HOST,
			  &(struct finding_facts){.missing = f->self.missing_caps});
}
