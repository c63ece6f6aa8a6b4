// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/sources.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "drops/filter.h"
#include "drops/owners.h"
#include "drops/watch.h"
#include "host/netdev.h"
#include "ledger/ledger.h"
#include "monitor/describe.h"

#define SPACES_MAX   4096 /* maximum number of namespaces to check */

/* Packets that an interface counted, which is the counter's sum over all queues. */
struct counted {
	const struct nic_row *row; /* NULL: AF_XDP sockets */
	uint32_t netns, ifindex;
	char ifname[16];
	char what[COUNTER_NAME_LEN]; /* name of the counter */
	uint64_t packets, shown;     /* shown: rows already include them */
};

/* Loss counters for a namespace, or for the host (inum 0). */
struct space {
	uint32_t inum;
	uint64_t cookie;	   /* the namespace's cookie, because inode numbers are reused */
	struct counters base, now; /* base: first reading, now: this interval */
	struct rates *rates;	   /* NULL: not sampled */
	bool found;		   /* in the last sample of all namespaces */
	bool late;		   /* created after the start, so its listeners counted from 0 */
	uint64_t refused; /* packets refused by its listeners without an event, which rows
			   * already include */
};

/* Kinds of counters. A key is only compared with keys of the same kind. */
enum shown_kind { SHOWN_COUNTER, SHOWN_XDP, SHOWN_UNFRAMED, SHOWN_SIGN };

struct shown_counter {
	uint64_t cookie; /* of the namespace */
	uint32_t inum;
	char name[COUNTER_NAME_LEN];
};

/* Packets or events that rows already include. */
struct shown {
	struct {
		uint64_t kind; /* enum shown_kind */
		unsigned char key[sizeof(struct shown_counter)];
	} of;
	uint64_t n;
};

/* A devlink trap. */
struct trapped {
	struct hw_trap now;
	uint64_t base;	/* packets when the collector started */
	uint64_t shown; /* packets that rows already include */
};

struct sources {
	struct live_spec spec;
	const struct live *live;
	struct netns ns; /* the spec's namespace, open while it is read, otherwise NETNS_NONE */
	uint32_t inum;	 /* inode number of that namespace, or of the thread's own namespace */
	char gaps[512];

	/* Losses in XDP itself, NULL: not observed. */
	struct watch *losses;
	enum xdploss_mode mode;
	uint32_t netns; /* inode number to filter by, 0: all */
	struct xdploss now[XDPLOSS_KEYS];
	int now_n;
	struct list shown; /* struct shown */

	bool walks;	    /* walks the sockets that drop packets without an event */
	bool knows_sockets; /* watch_knows_sockets() */
	uint16_t port;	    /* port that all packets matching EXPR have, 0: unknown */
	struct list silent; /* struct silent */
	uint64_t walked_ns; /* start of the last walk, and its CPU time */
	uint64_t walk_ns;

	bool started;
	bool checks;		  /* compare namespaces' counters with all events */
	struct list spaces;	  /* struct space */
	struct live_table events; /* events, by fields that a counter can distinguish */
	uint64_t checked_ns, check_ns; /* the same of the last check */

	bool others;	   /* sample the rates of other namespaces */
	uint32_t selected; /* sources_select() */
	unsigned samples;  /* of all namespaces */

	struct rates rates;
	struct list counted; /* struct counted */
	struct list traps;   /* struct trapped */
	bool has_traps;
};

#define WORK_SHARE 300 /* the most expensive readings may use 1 / WORK_SHARE of a CPU */

/* A loss that will be added as a row. */
struct loss {
	struct verdict verdict; /* the loss's stage, direction and note */
	bool suspect;
	uint64_t packets;
	const char *source, *scope, *reason;
	const char *location, *ifname, *socket, *process; /* NULL: unknown */
	const struct watch_sock *sock;			  /* `socket` in binary form */
	uint32_t netns;
};

/* Returns the packets that rows do not include yet, and marks them as included. */
static uint64_t unshown(uint64_t *shown, uint64_t packets)
{
	uint64_t n = packets > *shown ? packets - *shown : 0;

	*shown += n;
	return n;
}

/* Does the same for a total with a key of `size` bytes without holes. */
static uint64_t unshown_of(struct sources *s, enum shown_kind kind, const void *key, size_t size,
			   uint64_t total)
{
	struct shown wanted = {.of.kind = kind}, *at;

	memcpy(wanted.of.key, key, size);
	at = list_row(&s->shown, &wanted);
	return unshown(&at->n, total);
}

static void add_row(const struct sources *s, struct live *l, const struct loss *x)
{
	char netns[OWNER_NETNS];
	struct live_row row = {
		.stage = x->verdict.stage,
		/* a counter cannot filter packets, so with a filter its losses are only
		 * suspected */
		.class = x->suspect || (s->spec.expr && !x->sock) ? CLASS_SUSPECTED : CLASS_LOSS,
		.note = x->verdict.note,
		.netns = x->netns,
		.counts = {.events = x->packets, .packets = x->packets},
	};

	if (!x->packets)
		return;
	live_row_begin(&row, x->source, x->scope);
	if (x->sock)
		live_keep_socket(l, &row, x->sock);
	row.text[LIVE_DIRECTION] = direction_names[x->verdict.direction];
	row.text[LIVE_REASON] = x->reason;
	row.text[LIVE_LOCATION] = x->location ? x->location : "";
	row.text[LIVE_IFNAME] = x->ifname ? x->ifname : "";
	row.text[LIVE_SOCKET] = x->socket ? x->socket : "";
	row.text[LIVE_PROCESS] = x->process ? x->process : "";
	row.text[LIVE_NETNS] = describe_netns(s->spec.owners, x->netns, netns);
	live_add(l, &row);
}

static bool other_device(const struct sources *s, const char *ifname)
{
	return s->spec.ifname && strcmp(ifname, s->spec.ifname);
}

/* Losses in XDP itself */

static void open_losses(struct sources *s, const struct live *l)
{
	s->losses = live_parts(l).watch;
	s->mode = s->spec.expr ? XDPLOSS_BESIDE_KFREE : XDPLOSS_INSTEAD_OF_KFREE;
	if (s->spec.netns || s->spec.ifname)
		s->netns = s->inum;
	if (*watch_xdp_missing(s->losses))
		snprintf(s->gaps, sizeof(s->gaps),
			 "some XDP losses are not visible, because this kernel lacks a tracepoint "
			 "or changed it: %s",
			 watch_xdp_missing(s->losses));
}

/*
 * Claims failed redirects in generic mode, because this source reports them with errno and map. The
 * event would show only the reason XDP.
 */
static bool claims(void *arg, const struct watch_entry *e, const struct live_row *row)
{
	const struct sources *s = arg;

	(void)e;
	return s->losses && s->mode == XDPLOSS_INSTEAD_OF_KFREE &&
	       !strcmp(row->text[LIVE_REASON], "XDP") &&
	       !strcmp(row->text[LIVE_LOCATION], "do_xdp_generic");
}

/* Adds a loss at a location such as "xdp_redirect_err program filter[12] map xsks[3]". */
static void add_loss(const struct sources *s, struct live *l, const struct xdploss_key *key,
		     uint64_t packets)
{
	char location[KSYM_NAME + 2 * 50], program[40], map[40];
	struct watch_dev dev = {};
	struct judged_cause cause;
	struct loss loss = {
		.packets = packets,
		.source = "event",
		.scope = key->ifindex ? "interface" : "host",
		.reason = cause.reason,
		.location = location,
		.ifname = dev.name,
		.netns = key->netns,
	};

	xdplosses_judge(&cause, key, s->mode);
	loss.verdict = cause.verdict;
	watch_dev(s->losses, key->netns, key->ifindex, &dev);
	if (loss.verdict.class != CLASS_LOSS || (s->netns && key->netns != s->netns) ||
	    other_device(s, dev.name))
		return;
	xdplosses_program(key->prog_id, program, sizeof(program));
	xdplosses_map(key->map_id, map, sizeof(map));
	snprintf(location, sizeof(location), "%s%s%s%s%s", cause.location,
		 *program ? " program " : "", program, *map ? " map " : "", map);
	add_row(s, l, &loss);
}

static void collect_losses(struct sources *s, struct live *l)
{
	const struct xdploss_key unknown = {.kind = XDPLOSS_REDIRECT};
	struct live_own own;

	live_own(l, &own);
	s->now_n = watch_xdp(s->losses, s->now, XDPLOSS_KEYS);
	for (int i = 0; i < s->now_n; i++)
		add_loss(s, l, &s->now[i].key,
			 unshown_of(s, SHOWN_XDP, &s->now[i].key, sizeof(s->now[i].key),
				    s->now[i].count.packets));
	/* losses with a key that did not fit in the map are reported as unknown */
	add_loss(s, l, &unknown, unshown_of(s, SHOWN_UNFRAMED, "", 1, own.watch.loss.unframed));
}

/* Events without a packet: their rows have events, but no packets. */

#define QUEUE_TIMEOUT "XMIT_TIMEOUT"
#define QUEUE_STALL   "DQL_STALL"

struct signs_view {
	struct sources *s;
	struct live *l;
};

/* Returns true if EXPR selects a TCP segment with these addresses, ports and flags. */
static bool selects(const struct filter *filter, const struct watch_flow *f, uint8_t flags)
{
	const bool ip4 = f->family == AF_INET;
	const size_t ip = ip4 ? sizeof(struct iphdr) : sizeof(struct ip6_hdr);
	uint8_t bytes[sizeof(struct ip6_hdr) + sizeof(struct tcphdr)] = {};
	const struct tcphdr tcp = {
		.th_sport = f->src_port, .th_dport = f->dst_port, .th_off = 5, .th_flags = flags};
	const uint32_t len = (uint32_t)(ip + sizeof(tcp));
	const struct iphdr four = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP,
				   .tot_len = htons((uint16_t)len)};
	const struct ip6_hdr six = {.ip6_flow = htonl(6u << 28), .ip6_hlim = 64,
				    .ip6_nxt = IPPROTO_TCP, .ip6_plen = htons(sizeof(tcp))};

	memcpy(bytes, ip4 ? (const void *)&four : &six, ip);
	memcpy(bytes + (ip4 ? 12 : 8), f->src, ip4 ? 4 : 16);
	memcpy(bytes + (ip4 ? 16 : 24), f->dst, ip4 ? 4 : 16);
	memcpy(bytes + ip, &tcp, sizeof(tcp));
	return filter_match_user(filter, FILTER_L3, bytes, len, len);
}

/* Returns true if EXPR selects the connection, in either direction. */
static bool is_flow(const struct sources *s, const struct watch_flow *f)
{
	const struct filter *filter = live_parts(s->live).filter;
	struct watch_flow back = {
		.family = f->family, .src_port = f->dst_port, .dst_port = f->src_port};

	memcpy(back.src, f->dst, sizeof(back.src));
	memcpy(back.dst, f->src, sizeof(back.dst));
	return !filter || (f->family && !s->spec.inner && !filter_l3_refusal(filter) &&
			   (selects(filter, f, TH_RST) || selects(filter, &back, TH_RST)));
}

static bool describe_reset(const struct sources *s, struct live *l, const struct sign_key *key,
			   const struct sign *sign, char reason[REASON_NAME], struct described *d)
{
	struct live_row *row = &d->row;

	if (!is_flow(s, &key->flow) || s->spec.ifname)
		return false;
	row->stage = STAGE_TCP;
	row->class = CLASS_SUSPECTED;
	row->note = key->answer ? "this host answered a segment by a reset (tcp_v4_send_reset)"
				: "this host ended the connection by a reset (tcp_send_active_reset)";
	live_row_begin(row, "event", "flow");
	if (sign->sock.inode)
		live_keep_socket(l, row, &sign->sock);
	if (s->spec.owners)
		owners_socket(s->spec.owners, sign->sock.inode, key->netns, sign->sock.cgroup,
			      &d->owner);
	row->text[LIVE_REASON] = reasons_reset(live_parts(l).reasons, key->reason, reason,
					       REASON_NAME);
	row->text[LIVE_LOCATION] = key->answer ? "tcp_send_reset" : "tcp_send_active_reset";
	row->text[LIVE_SOCKET] = describe_socket(&sign->sock, d->socket, sizeof(d->socket));
	row->text[LIVE_PROCESS] = owner_text(&d->owner, d->process);
	row->text[LIVE_FLOW] = describe_flow(&key->flow, d->flow, sizeof(d->flow));
	return true;
}

static bool describe_stall(const struct sources *s, const struct sign_key *key,
			   const struct sign *sign, struct described *d)
{
	const bool timeout = key->kind == SIGN_TIMEOUT;
	struct live_row *row = &d->row;

	if (other_device(s, sign->dev.name))
		return false;
	row->stage = STAGE_TX_DEVICE;
	row->class = CLASS_LOSS;
	row->note = timeout ? "the queue made no progress: the driver resets the interface and loses "
			      "the packets in its ring (dev_watchdog)"
			    : "completions came later than stall_thrs (dql_check_stall)";
	live_row_begin(row, "event", "interface");
	snprintf(d->flow, sizeof(d->flow), "%s queue %u",
		 timeout ? "dev_watchdog" : "dql_check_stall", key->queue);
	row->text[LIVE_REASON] = timeout ? QUEUE_TIMEOUT : QUEUE_STALL;
	row->text[LIVE_LOCATION] = d->flow;
	row->text[LIVE_IFNAME] = sign->dev.name;
	return true;
}

static void collect_sign(void *arg, const struct sign_key *key, const struct sign *sign)
{
	const struct signs_view *v = arg;
	struct sources *s = v->s;
	struct described d = {.row.netns = key->netns};
	char reason[REASON_NAME];

	d.row.counts.events = unshown_of(s, SHOWN_SIGN, key, sizeof(*key), sign->events);
	if (!d.row.counts.events || (s->netns && key->netns != s->netns) ||
	    !(key->kind == SIGN_RESET ? describe_reset(s, v->l, key, sign, reason, &d)
				      : describe_stall(s, key, sign, &d)))
		return;
	d.row.text[LIVE_DIRECTION] = direction_names[DIRECTION_TX];
	d.row.text[LIVE_NETNS] = describe_netns(s->spec.owners, key->netns, d.netns);
	live_add(v->l, &d.row);
}

/* Returns true if a counter for these events (enum nic_events, 0: AF_XDP sockets) also counts the
 * key. Only in native mode, because the driver's counters do not change in generic mode. */
static bool repeats(const struct xdploss_key *key, unsigned events)
{
	if (!events)
		return key->kind == XDPLOSS_REDIRECT && key->map_type == BPF_MAP_TYPE_XSKMAP;
	if (key->flags)
		return false;
	if (key->kind == XDPLOSS_EXCEPTION)
		return events & (key->act == XDP_TX ? NIC_EV_EXCEPTION_TX : NIC_EV_EXCEPTION);
	return key->kind == XDPLOSS_REDIRECT && events & NIC_EV_REDIRECT;
}

/* Returns how many packets these events have reported at an interface since the start. */
static uint64_t lost_by_xdp(const struct sources *s, const struct counted *c, unsigned events)
{
	uint64_t sum = 0;

	for (int i = 0; i < s->now_n; i++) {
		const struct xdploss_key *key = &s->now[i].key;

		if (key->netns == c->netns && key->ifindex == c->ifindex && repeats(key, events))
			sum += s->now[i].count.packets;
	}
	return sum;
}

/* Counters */

/* Returns the counter's sum. */
static struct counted *find(struct sources *s, const struct counted *key)
{
	struct counted *c = s->counted.at;

	for (unsigned i = 0; i < s->counted.n; i++, c++) {
		if (c->row == key->row && c->netns == key->netns && c->ifindex == key->ifindex)
			return c;
	}
	c = list_add(&s->counted);
	*c = *key;
	return c;
}

static void count_losses(struct sources *s)
{
	const struct rates_loss *l = s->rates.losses.at;
	const struct rates_device *all = s->rates.devices.at;

	for (unsigned i = 0; i < s->rates.losses.n; i++) {
		const struct rates_device *d = &all[l[i].device];
		const struct nic_loss *loss = &l[i].loss;
		struct counted *c, key = {.row = loss->item->row,
					  .netns = d->netns,
					  .ifindex = d->link.ifindex};

		if ((key.row->class != NIC_LOSS && key.row->class != NIC_BOUND) ||
		    key.row->stage == STAGE_NONE || key.row->events & NIC_EV_ALL ||
		    other_device(s, d->link.ifname))
			continue;
		memcpy(key.ifname, d->link.ifname, sizeof(key.ifname));
		snprintf(key.what, sizeof(key.what), "%s", loss->name);
		c = find(s, &key);
		c->packets += loss->packets;
		if (strcmp(c->what, loss->name)) /* use the name pattern for per-queue counters */
			snprintf(c->what, sizeof(c->what), "%s", key.row->counter);
	}
}

/* Counts packets that AF_XDP sockets' rings did not accept. Packets that found no fill ring entry
 * are in rx_dropped (xsk_rcv()). */
static void count_sockets(struct sources *s)
{
	const struct rates_xsk *x = s->rates.xsks.at;

	for (unsigned i = 0; i < s->rates.xsks.n; i++) {
		uint64_t lost = x[i].moved.rx_dropped + x[i].moved.rx_ring_full;
		struct counted key = {.netns = x[i].moved.netns,
				      .ifindex = x[i].moved.ifindex,
				      .what = "XDP_STATISTICS"};

		if (!lost || other_device(s, x[i].ifname))
			continue;
		snprintf(key.ifname, sizeof(key.ifname), "%s", x[i].ifname);
		find(s, &key)->packets += lost;
	}
}

/* Traps of hardware */

/* A trap that appears later counted from 0. */
static void sample_traps(struct sources *s)
{
	struct hw_trap *list = NULL;
	const int n = s->has_traps ? hw_traps_read(s->rates.ns, &list) : 0;

	s->has_traps &= n >= 0;
	for (int i = 0; i < n; i++) {
		struct trapped *t = list_find(&s->traps, offsetof(struct trapped, now), &list[i],
					      offsetof(struct hw_trap, lost));

		if (!t) {
			t = list_add(&s->traps);
			t->base = s->started ? 0 : list[i].lost;
		}
		t->now = list[i];
	}
	free(list);
}

static void collect_traps(struct sources *s, struct live *l)
{
	struct trapped *t = s->traps.at;

	for (unsigned i = 0; i < s->traps.n; i++) {
		const struct loss loss = {
			.verdict = {.stage = STAGE_HW,
				    .direction = DIRECTION_RX,
				    .note = "dropped by the hardware (devlink trap)"},
			.packets = unshown(&t[i].shown, counter_grown(t[i].base, t[i].now.lost)),
			.source = "counter",
			.scope = "host",
			.reason = t[i].now.name,
			.location = t[i].now.device,
			.netns = s->inum,
		};

		add_row(s, l, &loss);
	}
}

/* Sockets that drop packets without an event */

#define SILENT_MAX    4096
#define SILENT_REASON "sk_drops"

static bool is_listener(const struct watch_sock *sock)
{
	return sock->type == SOCK_STREAM;
}

/* Returns true if EXPR matches a SYN sent to the listener from any address. */
static bool takes_syn(const struct sources *s, const struct watch_sock *sock)
{
	const struct filter *f = live_parts(s->live).filter;
	const bool six =
		sock->family == AF_INET6; /* also takes IPv4, at ::ffff:a.b.c.d and at :: */
	struct watch_flow to = {.family = AF_INET, .dst_port = htons(sock->local_port)};

	memcpy(to.dst, sock->local + (six ? 12 : 0), 4);
	if (selects(f, &to, TH_SYN))
		return true;
	to.family = AF_INET6;
	memcpy(to.dst, sock->local, sizeof(to.dst));
	return six && selects(f, &to, TH_SYN);
}

static void keep_silent(void *arg, const void *record)
{
	const struct silent_record *r = record;
	struct sources *s = arg;
	struct silent *x;
	bool taken;

	if (s->spec.netns && r->sock.netns != s->inum)
		return;
	taken = !s->spec.expr || (is_listener(&r->sock) && takes_syn(s, &r->sock));
	if (!taken && (!is_listener(&r->sock) || r->sock.local_port != s->port))
		return;
	/* without rx_sk (before Linux 6.11), drops by raw sockets have an event with an unknown
	 * socket */
	if (!s->knows_sockets && !is_listener(&r->sock))
		return;
	x = list_find(&s->silent, offsetof(struct silent, last.sock.inode), &r->sock.inode,
		      sizeof(r->sock.inode));
	if (!x && r->cookie)
		x = list_find(&s->silent, offsetof(struct silent, cookie), &r->cookie,
			      sizeof(r->cookie));
	if (!x && s->silent.n < SILENT_MAX)
		x = list_add(&s->silent);
	if (!x)
		return;
	/* a program that reads its counter resets it */
	x->drops += counter_moved(x->last.sock.drops, r->sock.drops);
	x->cookie = r->cookie;
	x->last = *r;
	x->perhaps = !taken;
}

static int walk_silent(struct sources *s)
{
	const uint64_t begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int rc;

	s->walked_ns = clock_now();
	rc = owners_silent(s->spec.owners, keep_silent, s);
	s->walk_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
	return rc;
}

/* Compares each namespace's counters with all events in the namespace */

#define BY_COUNTER                                                                                 \
	(LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_LOCATION) |                  \
	 LIVE_BIT(LIVE_NETNS) | LIVE_BIT(LIVE_IFNAME))
#define CHECKED "host" /* scope of all these counters. The namespace is in `inum` */
#define DROPPED ":rx_dropped"

static bool is_checked(const struct counter *it)
{
	return countercheck_knows(it->name) || !strncmp(it->name, "TcpExt:Listen", 13) ||
	       !strcmp(it->name, "TcpExt:TCPReqQFullDrop") || strstr(it->name, DROPPED);
}

/*
 * Adds rx_dropped of the namespace's interfaces if there may be macvlan interfaces, which may be in
 * other namespaces. Since Linux 7.1 macvlan_broadcast_enqueue() has no event for a copy that finds
 * the queue full. Only this counter of the lower interface changes.
 */
static void add_dropped(struct counters *c, const struct netns *ns)
{
	struct link_info *links = NULL;
	const int n = access("/sys/module/macvlan", F_OK) ? 0 : links_read(ns, 0, &links);
	char name[COUNTER_NAME_LEN];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s" DROPPED, links[i].ifname);
		counters_add(c, CHECKED, name, links[i].stats.rx_dropped);
	}
	free(links);
}

/* Returns a counter's increase since the start. */
static uint64_t moved_in(const struct space *x, const char *name)
{
	uint64_t before = 0, after = 0;

	if (!x->late)
		counters_get(&x->base, CHECKED, name, &before);
	counters_get(&x->now, CHECKED, name, &after);
	return counter_moved(before, after);
}

/* Reads a namespace's loss counters, about one counter in seven. */
static int read_space(struct counters *c, const struct netns *ns, unsigned what)
{
	const struct counters_scope scope = {.role = CHECKED, .ns = ns, .what = what};
	int rc = counters_read(c, &scope, 1);

	counters_keep(c, is_checked);
	return rc;
}

/* Takes the same counters out of a namespace's rates, which were read just now. */
static void take_space(struct counters *c, const struct rates *r)
{
	for (size_t i = 0; i < r->counters.n; i++) {
		const struct counter *it = &r->counters.items[i];

		if (is_checked(it) && strcmp(it->scope, CHECKED)) /* not those of the whole host */
			counters_add(c, CHECKED, it->name, it->value);
	}
}

static void drop_space(struct space *x)
{
	struct rates *rates = x->rates; /* stays, because its name may be displayed */

	if (rates) {
		rates_close(rates);
		*rates = (struct rates){};
	}
	counters_free(&x->base);
	counters_free(&x->now);
	*x = (struct space){.rates = rates};
}

static struct space *space_of(struct sources *s, uint32_t inum, uint64_t cookie)
{
	struct space *x = list_find(&s->spaces, offsetof(struct space, inum), &inum, sizeof(inum));

	if (x && x->cookie != cookie)
		drop_space(x);
	else if (!x && s->spaces.n < SPACES_MAX)
		x = list_add(&s->spaces);
	if (!x)
		return NULL;
	x->inum = inum;
	x->cookie = cookie;
	x->late |= !x->base.n && s->started;
	return x;
}

/* Samples the rates of a namespace other than the first. */
static void sample_rates(const struct sources *s, struct space *x, const struct netns *ns)
{
	if (!x->rates)
		x->rates = mem_new(x->rates);
	x->rates->ns = ns;
	x->rates->inum = x->inum;
	owners_netns(s->spec.owners, x->inum, x->rates->netns);
	rates_sample(x->rates, clock_now());
}

/* Compares one namespace. Skips namespaces without readable counters, because a namespace may
 * vanish at any time. */
static void check_space(struct sources *s, uint32_t inum, const struct netns *ns, unsigned what)
{
	struct space *x = space_of(s, inum, inum ? netns_identity(ns) : 0);
	struct counters *c;

	if (!x)
		return;
	x->found = true;
	if (s->others && inum && inum != s->inum)
		sample_rates(s, x, ns);
	if (!s->checks && !s->walks)
		return;
	counters_free(&x->now);
	c = x->base.n ? &x->now : &x->base;
	if (s->checks && inum)
		add_dropped(c, ns);
	if (x->rates)
		take_space(c, x->rates);
	else if (read_space(c, ns, what))
		counters_free(c);
}

static void sample_spaces(struct sources *s)
{
	const uint64_t begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint32_t netns[SPACES_MAX];
	struct netns ns;
	unsigned n;

	s->checked_ns = clock_now();
	if (s->spec.netns && !s->rates.gone) {
		check_space(s, s->inum, &s->ns, COUNTERS_SNMP);
	} else if (!s->spec.netns) {
		for (unsigned i = 0; i < s->spaces.n; i++)
			((struct space *)s->spaces.at)[i].found = false;
		if (s->checks)
			check_space(s, 0, NULL, COUNTERS_HOST);
		n = owners_netns_list(s->spec.owners, netns, SPACES_MAX);
		for (unsigned i = 0; i < n; i++) {
			if (owners_netns_open(s->spec.owners, netns[i], &ns, &(struct error){}))
				continue;
			check_space(s, netns[i], &ns, COUNTERS_SNMP);
			netns_close(&ns);
		}
	}
	s->check_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
	s->samples++;
}

/* Samples the selected namespace between two samples of all namespaces. */
static void sample_selected(struct sources *s)
{
	struct netns ns;

	if (owners_netns_open(s->spec.owners, s->selected, &ns, &(struct error){}))
		return;
	check_space(s, s->selected, &ns, COUNTERS_SNMP);
	netns_close(&ns);
}

/* Returns the packets of a namespace's counter that rows already include. */
static uint64_t *shown_of(struct sources *s, const struct space *x, const char *counter)
{
	struct shown wanted = {.of.kind = SHOWN_COUNTER}, *at;
	struct shown_counter key;

	memset(&key, 0, sizeof(key)); /* padding too: list_row() compares bytes */
	key.cookie = x->cookie;
	key.inum = x->inum;
	snprintf(key.name, sizeof(key.name), "%s", counter);
	memcpy(wanted.of.key, &key, sizeof(key));
	at = list_row(&s->shown, &wanted);
	return &at->n;
}

#define LISTEN_DROPS "TcpExt:ListenDrops"

/*
 * Returns how many packets in a listener's own counter were refused without an event. A listener's
 * sk_drops also counts segments that have an event, such as segments with a wrong MD5 signature.
 * ListenDrops in its namespace does not count these segments.
 */
static uint64_t refused(struct sources *s, struct silent *x, uint64_t rest, const char **note)
{
	const uint32_t inum = x->last.sock.netns;
	struct space *of = list_find(&s->spaces, offsetof(struct space, inum), &inum, sizeof(inum));
	uint64_t more = rest > x->shown ? rest - x->shown : 0, left, before;
	bool accept, syn;

	*note = "the queue of the listener was full, or memory short: no event (tcp_conn_request)";
	if (!more || (of && !of->base.n))
		return rest;
	if (!of || !of->now.n) /* not read in this interval */
		return live_parts(s->live).last ? rest : x->shown;
	accept = moved_in(of, "TcpExt:ListenOverflows");
	syn = moved_in(of, "TcpExt:TCPReqQFullDrop");
	x->half_open = !accept;
	if (accept && !syn)
		*note = "the listener's accept queue was full: no event (ListenOverflows)";
	else if (syn && !accept)
		*note = "the listener's SYN queue was full: no event (TCPReqQFullDrop)";
	left = moved_in(of, LISTEN_DROPS);
	left = left > of->refused ? left - of->refused : 0;
	before = *shown_of(s, of, LISTEN_DROPS); /* before this listener was found */
	left = left > before ? left - before : 0;
	more = smaller(more, left);
	of->refused += more;
	return x->shown + more;
}

static void collect_silent(struct sources *s, struct live *l)
{
	struct silent *x;

	/* if namespace counters were read, losses that they show and that no row contains are
	 * reported as losses without an event */
	if (live_parts(l).last || s->checked_ns > s->walked_ns)
		walk_silent(s); /* drops that are not read yet are reported next time */
	x = s->silent.at;
	for (unsigned i = 0; i < s->silent.n; i++, x++) {
		const struct watch_sock *sock = &x->last.sock;
		const bool tcp = is_listener(sock);
		uint64_t lost = x->drops - x->base, rest = lost > x->events ? lost - x->events : 0;
		const char *note = "the buffer or ring of the socket was full: no event "
				   "(raw_rcv, packet_rcv, tpacket_rcv)";
		const uint64_t all = tcp ? refused(s, x, rest, &note) : rest;
		char socket[SOCKET_TEXT], process[32];
		const struct loss loss = {
			.sock = sock,
			.verdict = {.stage = tcp ? STAGE_TCP_LISTEN : STAGE_RCVBUF,
				    .direction = DIRECTION_RX,
				    .note = note},
			.suspect = x->perhaps,
			.packets = unshown(&x->shown, all),
			.source = "counter",
			.scope = "host",
			.reason = SILENT_REASON,
			.socket = describe_socket(sock, socket, sizeof(socket)),
			.process = process,
			.ifname = x->last.ifname,
			.netns = sock->netns,
		};

		snprintf(process, sizeof(process), "%.15s[%u]", x->last.process, x->last.pid);
		add_row(s, l, &loss);
	}
}

static void add_cause(struct list *causes, const struct live_row *row, const char *netns)
{
	struct ledger_cause *c = list_add(causes);

	c->raw.count.events = row->counts.events;
	c->raw.count.packets = row->counts.packets;
	c->named.stage = row->stage;
	snprintf(c->named.reason, sizeof(c->named.reason), "%s", row->text[LIVE_REASON]);
	snprintf(c->named.location, sizeof(c->named.location), "%s", row->text[LIVE_LOCATION]);
	snprintf(c->named.netns, sizeof(c->named.netns), "%s", netns);
	snprintf(c->named.ifname, sizeof(c->named.ifname), "%s", row->text[LIVE_IFNAME]);
}

/* Sums all losses and suspected losses in the namespace by cause. */
static void causes_in(const struct sources *s, uint32_t inum, struct list *causes)
{
	const struct silent *silent = s->silent.at;
	struct live_row of_sockets = {.stage = STAGE_TCP_LISTEN};

	for (unsigned i = 0; i < s->events.n; i++) {
		const struct live_row *row = &s->events.rows[i];

		if (!inum || !row->netns || row->netns == inum)
			add_cause(causes, row, row->netns ? CHECKED : "");
	}
	for (unsigned i = 0; i < s->silent.n; i++) {
		if (silent[i].last.sock.netns == inum && is_listener(&silent[i].last.sock))
			of_sockets.counts.events += silent[i].shown;
	}
	live_row_begin(&of_sockets, "counter", CHECKED);
	of_sockets.text[LIVE_REASON] = SILENT_REASON;
	add_cause(causes, &of_sockets, CHECKED);
}

/* Returns how many packets the interface's other counters lost, which may be in rx_dropped too. */
static uint64_t counted_at(const struct sources *s, uint32_t netns, const char *ifname)
{
	const struct counted *c = s->counted.at;
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->counted.n; i++)
		sum += c[i].netns == netns && !strcmp(c[i].ifname, ifname) ? c[i].packets : 0;
	return sum;
}

static void show_space(struct sources *s, struct live *l, struct space *x,
		       const struct result_counter *row, uint64_t rest)
{
	const char *counter = strchr(row->name, ' ') + 1, *dropped = strstr(counter, DROPPED);
	char ifname[IF_NAMESIZE] = "";
	struct loss loss = {
		.verdict = {.stage = row->stage == STAGE_NONE ? STAGE_OTHER : row->stage,
			    .direction = row->stage < STAGE_WIRE ? DIRECTION_TX : DIRECTION_RX,
			    .note = "a counter of the kernel, with no event that explains it"},
		.source = "counter",
		.scope = "host",
		.reason = "no_event",
		.location = counter,
		.ifname = ifname,
		.netns = x->inum,
	};

	if (dropped) {
		snprintf(ifname, sizeof(ifname), "%.*s", (int)(dropped - counter), counter);
		loss.verdict.stage = STAGE_BACKLOG;
		loss.verdict.note =
			"the queue for broadcast and multicast copies was full: no event, but "
			"rx_dropped of the interface (macvlan_broadcast_enqueue)";
		loss.location = "macvlan_broadcast_enqueue";
		loss.scope = "interface";
		rest = counter_grown(counted_at(s, x->inum, ifname), rest);
	}
	loss.packets = unshown(shown_of(s, x, counter), rest);
	if (row->stage == STAGE_ICMP) {
		loss.suspect = true;
		loss.verdict.note = "InErrors also counts ICMP errors about a socket that is "
				    "already closed: no packet is lost (udp_err, tcp_v4_err)";
	}
	add_row(s, l, &loss);
}

static void check_events(struct sources *s, struct live *l, struct space *x)
{
	const struct engine_facts facts = {.any_traffic = true};
	struct list causes = {.size = sizeof(struct ledger_cause)};
	struct countercheck check = {};
	struct counters moved = {};
	bool still = x->now.n == x->base.n &&
		     !memcmp(x->now.items, x->base.items, x->now.n * sizeof(*x->now.items));
	struct live_own own;

	live_own(l, &own);
	if (s->checks && x->now.n && !still) {
		counters_delta(&x->base, &x->now, &moved);
		causes_in(s, x->inum, &causes);
		countercheck_compare(&moved, causes.at, causes.n, &facts, &check);
	}
	for (size_t i = 0; i < check.n_unexplained; i++) {
		const struct result_counter *row = &check.unexplained[i];
		uint64_t excess = row->delta - row->expected_max;

		/* drops that our program missed may explain the excess */
		if (excess > own.watch.recursion_misses)
			show_space(s, l, x, row, excess - own.watch.recursion_misses);
	}
	countercheck_free(&check);
	counters_free(&moved);
	counters_free(&x->now);
	list_free(&causes);
}

/* Counts events that counters also count. Used as a callback. */
static void note(void *arg, const struct watch_entry *e, const struct live_row *row)
{
	struct sources *s = arg;
	bool known = false;

	for (unsigned i = 0; i < s->silent.n; i++) {
		struct silent *x = (struct silent *)s->silent.at + i;
		const bool same = e->key.flags & WATCH_SOCKET && x->cookie == e->key.aux;

		/* without known sockets, the event may belong to any socket */
		if (same || (!s->knows_sockets && row->stage == STAGE_SOCKET_FILTER &&
			     x->last.sock.netns == row->netns))
			x->events += row->counts.packets;
		known |= same;
	}
	/* may be a listener, so its counter is read after its events */
	if (s->walks && !known && e->key.flags & WATCH_SOCKET && s->silent.n < SILENT_MAX / 2 &&
	    (row->stage == STAGE_TCP || row->stage == STAGE_SOCKET_FILTER))
		*(struct silent *)list_add(&s->silent) =
			(struct silent){.cookie = e->key.aux, .events = row->counts.packets};
	table_add(&s->events, row, BY_COUNTER);
}

/* Returns how many of a counter's packets have an event. */
static uint64_t repeated(const struct sources *s, const struct counted *c)
{
	uint64_t sum = 0;

	if (!c->row)
		return lost_by_xdp(s, c, 0);
	if (c->row->events & ~NIC_EV_KFREE)
		sum = lost_by_xdp(s, c, c->row->events);
	for (unsigned i = 0; c->row->places && i < s->events.n; i++) {
		const struct live_row *row = &s->events.rows[i];

		if (row->netns == c->netns && !strcmp(row->text[LIVE_IFNAME], c->ifname) &&
		    stagemap_listed(c->row->places, row->text[LIVE_LOCATION]))
			sum += row->counts.packets;
	}
	return sum;
}

static void collect_counter(const struct sources *s, struct live *l, struct counted *c)
{
	const struct nic_row *r = c->row;
	enum stage stage = r ? r->stage : STAGE_XSK;
	uint64_t events = repeated(s, c), rest = c->packets > events ? c->packets - events : 0;
	const struct loss loss = {
		.verdict = {.stage = stage,
			    .direction = stage == STAGE_TX_DEVICE ? DIRECTION_TX : DIRECTION_RX,
			    .note = r ? r->what
				      : "the rings of the AF_XDP socket had no room (xsk_rcv)"},
		.suspect = r && r->class == NIC_BOUND,
		.packets = unshown(&c->shown, rest),
		.source = "counter",
		.scope = "interface",
		.reason = r ? nic_cause_names[r->cause] : "ring",
		.location = c->what,
		.ifname = c->ifname,
		.netns = c->netns,
	};

	add_row(s, l, &loss);
}

/* All sources */

/* Opens the namespace in `spec`. Close it with leave(). */
static void enter(struct sources *s)
{
	s->rates.gone = s->spec.netns && live_netns_again(s->live, &s->ns);
}

static void leave(struct sources *s)
{
	netns_close(&s->ns);
}

static int start(void *arg, struct error *err)
{
	struct sources *s = arg;
	struct silent *x;

	(void)err;

	if (s->walks) /* reset if the BPF programs cannot be loaded */
		s->walks = !walk_silent(s);
	x = s->silent.at;
	for (unsigned i = 0; i < s->silent.n; i++)
		x[i].base = x[i].drops; /* drops before the start are not counted */
	enter(s);
	if (s->checks || s->walks || s->others)
		sample_spaces(s);
	sample_traps(s);
	s->started = true;
	rates_sample(&s->rates, clock_now());
	leave(s);
	return 0;
}

static void sample(void *arg)
{
	struct sources *s = arg;

	enter(s);
	/* there are no rates to show before the second sample */
	if ((s->checks || s->walks || s->others) &&
	    (live_parts(s->live).last || (s->others && s->samples < 2) ||
	     clock_now() - s->checked_ns > WORK_SHARE * (s->check_ns + s->walk_ns)))
		sample_spaces(s);
	else if (s->selected)
		sample_selected(s);
	rates_sample(&s->rates, clock_now());
	sample_traps(s);
	leave(s);
	count_losses(s);
	count_sockets(s);
}

static void collect(void *arg, struct live *l)
{
	struct sources *s = arg;
	struct counted *c = s->counted.at;

	if (s->losses) {
		collect_losses(s, l);
		watch_signs(s->losses, collect_sign, &(struct signs_view){s, l});
	}
	for (unsigned i = 0; i < s->counted.n; i++)
		collect_counter(s, l, &c[i]);
	collect_traps(s, l);
	if (s->walks)
		collect_silent(s, l);
	for (unsigned i = 0; i < s->spaces.n; i++)
		check_events(s, l, (struct space *)s->spaces.at + i);
}

int sources_open(struct sources **out, const struct live_spec *spec, enum sources_counters counters,
		 struct live *l, struct error *err)
{
	struct sources *s = mem_new(s);
	struct live_source source = {.start = start, .sample = sample, .arg = s};
	int rc;

	*out = s;
	*s = (struct sources){
		.spec = *spec,
		.live = l,
		.ns = NETNS_NONE,
		.counted.size = sizeof(struct counted),
		.shown = {.size = sizeof(struct shown), .key = offsetof(struct shown, n)},
		.traps.size = sizeof(struct trapped),
		.has_traps = !spec->ifname,
		.silent.size = sizeof(struct silent),
		.spaces.size = sizeof(struct space),
		.others = counters == COUNTERS_OF_ALL && !spec->netns && !spec->ifname,
		.rates = {.ns = spec->netns ? &s->ns : NULL, .devices_only = !counters},
	};
	snprintf(s->rates.netns, sizeof(s->rates.netns), "%s", spec->netns ? spec->netns : "");
	if (!spec->pid && !spec->cgroup && !spec->reasons) {
		source.claims = claims;
		source.note = note;
		source.collect = collect;
	} else if (!counters) {
		return 0;
	}
	rc = live_netns(spec, &s->ns, err);
	if (rc)
		return rc;
	s->inum = s->ns.inum;
	if (source.collect)
		open_losses(s, l);
	leave(s);
	s->walks = source.collect && !spec->ifname && !spec->inner && spec->owners;
	s->knows_sockets = live_parts(l).knows_sockets;
	if (spec->expr && !strstr(spec->expr, "udp"))
		s->port = filter_port(spec->expr, &(bool){false});
	s->checks = source.collect && !spec->expr && !spec->ifname && spec->owners;
	table_init(&s->events, LIVE_ROWS);
	s->rates.inum = s->inum;
	live_add_source(l, &source);
	return 0;
}

void sources_close(struct sources *s)
{
	if (!s)
		return;
	list_free(&s->silent);
	for (unsigned i = 0; i < s->spaces.n; i++) {
		struct space *x = (struct space *)s->spaces.at + i;

		drop_space(x);
		free(x->rates);
	}
	list_free(&s->spaces);
	table_free(&s->events);
	rates_close(&s->rates);
	netns_close(&s->ns);
	list_free(&s->counted);
	list_free(&s->shown);
	list_free(&s->traps);
	free(s);
}

const struct rates *sources_rates(const struct sources *s)
{
	return s && s->rates.inum ? &s->rates : NULL;
}

const struct rates *sources_others(const struct sources *s, unsigned *at)
{
	while (*at < s->spaces.n) {
		const struct space *x = (struct space *)s->spaces.at + (*at)++;

		if (x->found && x->rates)
			return x->rates;
	}
	return NULL;
}

const struct silent *sources_listener(const struct sources *s, unsigned *at)
{
	while (s && *at < s->silent.n) {
		const struct silent *x = (struct silent *)s->silent.at + (*at)++;

		if (x->shown && !x->perhaps && is_listener(&x->last.sock))
			return x;
	}
	return NULL;
}

void sources_select(struct sources *s, uint32_t netns)
{
	s->selected = netns;
}

const char *sources_gaps(const struct sources *s)
{
	return s->gaps;
}
