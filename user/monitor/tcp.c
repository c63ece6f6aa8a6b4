// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "host/counters.h"

#define SPACES	 256 /* maximum number of namespaces to read counters from */
#define READINGS 10  /* attempts per namespace to read without a retransmission in between */

const char *const tcp_verdict_names[TCP_VERDICTS] = {
	[TCP_NONE_SEEN] = "none_seen",
	[TCP_THIS_HOST] = "this_host",
	[TCP_BEYOND_HOST] = "downstream",
	[TCP_BOTH] = "both",
	[TCP_UNKNOWN] = "unknown",
};

const char *const tcp_kind_names[TCP_KINDS] = {"fast", "rto", "tlp", "syn", "syn_ack"};

const char *const tcp_why_names[TCP_WHYS] = {"late",	"open",	  "full",      "unseen",
					     "no_sack", "inside", "interface", "no_dsack"};

/* Noun for fmt_many(), and the text that follows the number. */
static const struct {
	const char *of, *text;
} why_text[TCP_WHYS] = {
	[TCP_WHY_LATE] = {"retransmission is|retransmissions are",
			  "for segments that were sent before tracing began"},
	[TCP_WHY_OPEN] = {"retransmission was|retransmissions were",
			  "not acknowledged when tracing ended, so the original may not be lost"},
	[TCP_WHY_FULL] = {"retransmission", "may belong to drops that did not fit in the ring or "
					    "were evicted"},
	[TCP_WHY_UNSEEN] = {"retransmission was|retransmissions were",
			    "counted by the socket, and no event showed it: tracing is "
			    "suppressed, or a program was busy on that CPU"},
	[TCP_WHY_NO_SACK] = {"retransmission", "went to peers without SACK, which cannot report "
					       "duplicate segments"},
	[TCP_WHY_INSIDE] = {"retransmission", "entered another namespace of this host and "
					      "disappeared without a drop event. Possible causes: "
					      "an XDP program, a queue that only counts drops, or a "
					      "drop after NAT (not followed)"},
	[TCP_WHY_DEVICE] = {"retransmission is|retransmissions are",
			    "for segments that an interface may have lost: it counted drops or "
			    "errors without an event, or its counters could not be read at the "
			    "end"},
	[TCP_WHY_ACK] = {"retransmission", "by a timer may be due to a lost segment or to a lost "
					   "acknowledgment downstream: the peer reported neither a "
					   "gap (SACK) nor a duplicate (DSACK)"},
};

/* Counters by namespace */

#define OVERFLOWS "TcpExt:ListenOverflows"
#define REFUSED	  "TcpExt:ListenDrops"

/* Counters that are shown. The first COMPARED of them are compared with the events. */
static const char *const counter_names[] = {
	"Tcp:RetransSegs",
	"TcpExt:TCPRetransFail",
	"TcpExt:TCPSynRetrans",
	"TcpExt:TCPLostRetransmit",
	"TcpExt:TCPDSACKRecv",
	"TcpExt:TCPDSACKRecvSegs",
	"TcpExt:TCPTimeouts",
	OVERFLOWS,
	REFUSED,
	"TcpExt:TCPWinProbe",
	"TcpExt:TCPKeepAlive",
	"TcpExt:TCPAbortOnTimeout",
};
#define COUNTERS (sizeof(counter_names) / sizeof(*counter_names))
#define COMPARED 3

#define SCOPE "tcp"

struct space {
	uint32_t netns;
	uint64_t cookie; /* netns_identity() */
	struct counters counters;
	struct tcp_counted counted[2]; /* events just before the counters were read and just
					* after */
};

struct tcp_account {
	struct live *live;
	struct filter *filter;
	struct tcp_observer *observer;
	struct list begin, end; /* struct space */
	struct list counters;
	uint64_t began_ns, ended_ns;
	uint64_t realtime_ns, ktime_ns; /* when the account starts */
	bool ended;
	unsigned uncompared;
	int rc;
};

/* Returns the events of this namespace, not of another one with the same inode number. */
static struct tcp_counted events_of(const struct tcp_account *a, const struct space *s)
{
	const struct tcp_counted c = tcp_observer_counted(a->observer, s->netns);

	return !s->cookie || c.cookie == s->cookie ? c : (struct tcp_counted){};
}

/* Reads a namespace's counters. `compared`: counters will be compared with the events, so both must
 * be read at the same moment. */
static void read_space(struct tcp_account *a, struct space *s, uint32_t netns, bool compared)
{
	struct counters_scope scope = {.role = SCOPE,
				       .what = (compared ? COUNTERS_SNMP : 0) | COUNTERS_DEVICES |
					       COUNTERS_ALL};
	struct owners *owners = live_parts(a->live).owners;
	struct netns ns;

	s->netns = netns;
	if (owners_netns_open(owners, netns, &ns, &(struct error){}))
		return;
	scope.ns = &ns;
	s->cookie = netns_identity(&ns);
	for (unsigned i = 0; i < (compared ? READINGS : 1); i++) {
		counters_free(&s->counters);
		s->counted[0] = events_of(a, s);
		if (counters_read(&s->counters, &scope, 1)) {
			counters_free(&s->counters);
			break;
		}
		s->counted[1] = events_of(a, s);
		if (!memcmp(&s->counted[0], &s->counted[1], sizeof(s->counted[0])))
			break;
	}
	netns_close(&ns);
}

static void free_spaces(struct list *spaces)
{
	for (unsigned i = 0; i < spaces->n; i++)
		counters_free(&((struct space *)spaces->at + i)->counters);
	list_free(spaces);
}

/* Reads all namespaces' counters and replaces the previous readings. */
static void read_spaces(struct tcp_account *a, struct list *spaces, bool compared)
{
	const uint32_t only = live_parts(a->live).netns;
	uint32_t netns[SPACES] = {only};
	unsigned n = only ? 1 : owners_netns_list(live_parts(a->live).owners, netns, SPACES);

	free_spaces(spaces);
	for (unsigned i = 0; i < n; i++)
		read_space(a, list_add(spaces), netns[i], compared);
}

static const struct space *space_of(const struct list *spaces, uint32_t netns)
{
	return list_find(spaces, offsetof(struct space, netns), &netns, sizeof(netns));
}

/* Returns the first reading of a namespace. NULL: it was created later. */
static const struct space *begin_of(const struct tcp_account *a, const struct space *to)
{
	const struct space *from = space_of(&a->begin, to->netns);

	return from && from->cookie == to->cookie ? from : NULL;
}

static uint64_t counted(const struct space *s, unsigned which, unsigned i)
{
	const struct tcp_counted *c = &s->counted[which];

	return i == 0 ? c->retrans : i == 1 ? c->failed : c->syn;
}

/* Adds a counter if it moved or if events did. In a namespace created later, it started at 0. */
static void add_counter(struct tcp_account *a, const struct space *from, const struct space *to,
			unsigned i)
{
	static const struct space none;
	struct tcp_counter c = {.name = counter_names[i], .compared = i < COMPARED};
	uint64_t before = 0, after;

	if (!from)
		from = &none;
	if (!counters_get(&to->counters, SCOPE, c.name, &after))
		return;
	counters_get(&from->counters, SCOPE, c.name, &before);
	c.delta = counter_moved(before, after);
	if (c.compared) {
		uint64_t least = counted(to, 0, i) - counted(from, 1, i);
		uint64_t most = counted(to, 1, i) - counted(from, 0, i);

		c.agrees = c.delta >= least && c.delta <= most;
		c.slack = most - least;
		c.events = c.agrees ? c.delta : c.delta < least ? least : most;
	}
	if (!c.delta && !c.events)
		return;
	owners_netns(live_parts(a->live).owners, to->netns, c.netns);
	*(struct tcp_counter *)list_add(&a->counters) = c;
}

/* Returns a counter's increment, or UINT64_MAX if it could not be read at the end. */
static uint64_t moved_in(const struct tcp_account *a, uint32_t netns, const char *name)
{
	const struct space *to = space_of(&a->end, netns), *from = to ? begin_of(a, to) : NULL;
	uint64_t before = 0, after;

	if (!to || !counters_get(&to->counters, SCOPE, name, &after))
		return UINT64_MAX;
	if (from)
		counters_get(&from->counters, SCOPE, name, &before);
	return counter_moved(before, after);
}

/* Reads losses and errors that the interface counted, which may have no event. Returns false if the
 * interface does not exist. */
static bool device_losses(const struct space *space, uint32_t ifindex, char *name, uint64_t *losses)
{
	for (unsigned i = 0; space && i < space->counters.n_devices; i++) {
		const struct link_info *link = &space->counters.devices[i].link;

		if (link->ifindex != ifindex)
			continue;
		if (name)
			snprintf(name, IF_NAMESIZE, "%s", link->ifname);
		*losses = link->stats.tx_dropped + link->stats.tx_errors;
		return true;
	}
	return false;
}

/* Returns the interface's losses from start to end. The counters of an interface created later
 * started at 0. UINT64_MAX: unknown, so the interface may have lost any number. */
static uint64_t device_moved(const struct tcp_account *a, uint32_t netns, uint32_t ifindex,
			     char *name)
{
	const struct space *was = space_of(&a->begin, netns), *to = space_of(&a->end, netns);
	uint64_t before = 0, after;

	device_losses(was, ifindex, name, &before);
	if ((was && to && was->cookie != to->cookie) || !device_losses(to, ifindex, name, &after))
		return UINT64_MAX;
	return counter_moved(before, after);
}

/* The account */

static int start(void *arg, struct error *err)
{
	struct tcp_account *a = arg;
	const struct live_parts parts = live_parts(a->live);
	int rc = tcp_observer_attach(a->observer, &parts.places, err);

	if (!rc)
		rc = live_discard(a->live); /* the balance does not include earlier drops */
	if (rc)
		return rc;
	read_spaces(a, &a->begin, true);
	a->began_ns = clock_now();
	a->realtime_ns = clock_ns(CLOCK_REALTIME);
	a->ktime_ns = ktime_now();
	return 0;
}

void tcp_account_tick(struct tcp_account *a)
{
	if (!a->rc)
		a->rc = tcp_observer_poll(a->observer);
}

int tcp_account_open(struct tcp_account **out, const char *expr, unsigned flows, bool trail,
		     struct live *l, struct error *err)
{
	struct live_source source = {.start = start};
	const struct live_parts parts = live_parts(l);
	struct tcp_spec observed = {.reasons = parts.reasons,
				    .ksyms = parts.ksyms,
				    .flows = flows,
				    .trail = trail,
				    .netns = parts.netns};
	struct tcp_account *a;
	int rc;

	if (!parts.ksyms)
		return error_set(err, STATUS_UNABLE, -EPERM, "it needs CAP_SYSLOG",
				 "addresses of kernel functions are hidden: at which stage a "
				 "segment was lost is not known");
	a = mem_new(a);
	a->live = l;
	a->counters.size = sizeof(struct tcp_counter);
	a->begin.size = a->end.size = sizeof(struct space);
	rc = filter_compile(&a->filter, expr, err);
	observed.filter = a->filter;
	if (!rc && filter_l3_refusal(a->filter))
		rc = error_usage(err, "for example: tcp port 443",
				 "--balance of TCP is for addresses and ports: %s",
				 filter_l3_refusal(a->filter));
	if (!rc)
		rc = tcp_observer_open(&a->observer, &observed, err);
	if (rc) {
		tcp_account_close(a);
		return rc;
	}
	source.arg = *out = a;
	live_add_source(l, &source);
	return 0;
}

int tcp_account_end(struct tcp_account *a, struct error *err)
{
	int rc;

	if (a->ended)
		return 0;
	a->ended = true;
	read_spaces(a, &a->end, true);
	a->ended_ns = clock_now();
	rc = tcp_observer_end(a->observer);
	if (!rc)
		rc = a->rc;
	for (unsigned s = 0; !rc && s < a->end.n; s++) {
		const struct space *to = (struct space *)a->end.at + s;
		const struct space *from = begin_of(a, to);
		const uint64_t refused = moved_in(a, to->netns, REFUSED);

		if (!tcp_observer_has(a->observer, to->netns) &&
		    (!refused || refused == UINT64_MAX))
			continue;
		a->uncompared +=
			!to->counters.n && tcp_observer_counted(a->observer, to->netns).retrans;
		for (unsigned i = 0; i < COUNTERS; i++)
			add_counter(a, from, to, i);
	}
	return rc ? error_errno(err, STATUS_FAILED, rc, NULL, "the balance of TCP") : 0;
}

/* Moves segments from downstream to undecided, because the interface counted losses itself. */
static void doubt_beyond(struct tcp_sum *sum, uint64_t segments)
{
	sum->beyond -= segments;
	sum->undecided[TCP_WHY_DEVICE] += segments;
}

/* Adds the flow's downstream losses, unless the flow's interface counts losses itself. */
static void add_beyond(struct tcp_account *a, struct tcp_balance *b, struct tcp_flow *f)
{
	struct tcp_beyond new = {.segments = f->sum.beyond}, *at = NULL;
	uint64_t ours = f->sum.lost_at[STAGE_TX_DEVICE], moved;
	uint32_t netns = f->netns;

	moved = device_moved(a, netns, f->last.ifindex, new.device);
	if (f->exit.ifindex && moved != UINT64_MAX) {
		uint64_t more;

		netns = f->exit.netns;
		more = device_moved(a, netns, f->exit.ifindex, new.device);
		moved = more == UINT64_MAX ? more : moved + more;
	}
	owners_netns(live_parts(a->live).owners, netns, new.netns);
	if (moved > ours) {
		uint64_t unknown = moved - ours < new.segments ? moved - ours : new.segments;

		new.segments -= unknown;
		doubt_beyond(&f->sum, unknown);
		doubt_beyond(&b->sum, unknown);
	}
	if (!new.segments)
		return;
	for (unsigned i = 0; i < b->n_beyond && !at; i++) {
		if (!strcmp(b->beyond[i].device, new.device) &&
		    !strcmp(b->beyond[i].netns, new.netns))
			at = &b->beyond[i];
	}
	if (!at && b->n_beyond == TCP_BEYOND_MAX) {
		at = &b->beyond[TCP_BEYOND_MAX - 1];
		snprintf(at->device, sizeof(at->device), "%s", LIVE_OTHERS);
		snprintf(at->netns, sizeof(at->netns), "%s", LIVE_OTHERS);
	}
	if (at)
		at->segments += new.segments;
	else
		b->beyond[b->n_beyond++] = new;
}

static void read_own(const struct tcp_account *a, struct tcp_balance *b)
{
	b->own = tcp_observer_losses(a->observer);
	b->missed = tcp_observer_missed(a->observer);
	b->refused = tcp_ledger_refused(tcp_observer_ledger(a->observer));
}

static uint64_t worth(const struct tcp_flow *f)
{
	return f->sum.retransmitted + f->sum.returned + f->sum.received;
}

/* Inserts the flow into the list of flows to show if it is among the largest. */
static void show_flow(struct tcp_balance *b, const struct tcp_flow *f)
{
	unsigned at = b->n_flows;

	while (at && worth(&b->flows[at - 1].flow) < worth(f))
		at--;
	if (!worth(f) || at == TCP_FLOWS_SHOWN)
		return;
	if (b->n_flows < TCP_FLOWS_SHOWN)
		b->n_flows++;
	memmove(&b->flows[at + 1], &b->flows[at], (b->n_flows - 1 - at) * sizeof(*b->flows));
	b->flows[at].flow = *f;
}

struct looked {
	struct tcp_account *a;
	struct tcp_balance *b;
};

static void look_at_flow(void *arg, const struct tcp_flow *f)
{
	const struct looked *x = arg;
	struct tcp_flow doubted;

	if (f->sum.beyond) { /* few flows, so most are not copied */
		doubted = *f;
		add_beyond(x->a, x->b, &doubted);
		f = &doubted;
	}
	if (f->key.family) /* flows that were folded together have no family */
		show_flow(x->b, f);
}

static bool read_stall(struct tcp_stall *s, const struct hist *h)
{
	*s = (struct tcp_stall){hist_quantile(h, 0.5), hist_quantile(h, 0.99), h->max};
	return h->count;
}

/* Reads the ledger's other results. */
static void read_ledger(const struct tcp_account *a, struct tcp_balance *b)
{
	const struct tcp_ledger *ledger = tcp_observer_ledger(a->observer);

	b->has_stall = read_stall(&b->stall, tcp_ledger_stall(ledger, false));
	b->memory = tcp_observer_bytes(a->observer);
	b->all_flows = tcp_ledger_flows(ledger)->n + tcp_ledger_folded(ledger);
	b->undecided = tcp_sum_undecided(&b->sum);
	for (struct tcp_shown *f = b->flows; f < b->flows + b->n_flows; f++) {
		if (f->flow.netns)
			owners_netns(live_parts(a->live).owners, f->flow.netns, f->netns);
		snprintf(f->src, sizeof(f->src), "%s", describe_end(&f->flow.key, true));
		snprintf(f->dst, sizeof(f->dst), "%s", describe_end(&f->flow.key, false));
		f->undecided = tcp_sum_undecided(&f->flow.sum);
	}
}

int tcp_account_look(struct tcp_account *a, struct tcp_balance *b)
{
	const uint64_t until = ktime_now() - TCP_LOOK_NS;
	int rc = a->ended ? -EALREADY : a->rc;

	if (!rc)
		rc = tcp_observer_look(a->observer);
	if (rc)
		return rc;
	read_spaces(a, &a->end, false);
	memset(b, 0, sizeof(*b));
	read_own(a, b);
	tcp_ledger_look(tcp_observer_ledger(a->observer), until, b->own.unranged, &b->sum,
			look_at_flow, &(struct looked){a, b});
	read_ledger(a, b);
	b->so_far = true;
	b->pending = b->sum.retransmitted - b->sum.lost_here - b->sum.beyond - b->sum.not_lost -
		     b->undecided;
	return 0;
}

/* Adds the listeners that refused connections, at most as many as their namespace counted here. */
static void add_listeners(struct tcp_account *a, const struct sources *s, struct tcp_balance *b)
{
	const struct silent *l;

	for (unsigned at = 0; b->n_listeners < TCP_LISTENERS && (l = sources_listener(s, &at));) {
		struct tcp_refusing *r = &b->listeners[b->n_listeners];

		r->lost = smaller(l->shown, moved_in(a, l->last.sock.netns, REFUSED));
		if (!r->lost)
			continue;
		describe_socket(&l->last.sock, r->socket, sizeof(r->socket));
		owners_netns(live_parts(a->live).owners, l->last.sock.netns, r->netns);
		snprintf(r->process, sizeof(r->process), "%.15s[%u]", l->last.process, l->last.pid);
		r->waiting = l->last.waiting;
		r->room = l->last.room;
		b->n_listeners++;
	}
}

/* Sums the collector's rows of resets (rows without packets), which are for the same flow. */
static void add_resets(const struct live_table *rows, struct tcp_balance *b)
{
	for (unsigned i = 0; i < rows->n; i++) {
		const struct live_row *row = &rows->rows[i];
		const char *reason = row->text[LIVE_REASON];
		unsigned at = 0;

		if (row->stage != STAGE_TCP || row->counts.packets)
			continue;
		while (at < b->n_resets && at < TCP_RESETS - 1 &&
		       strcmp(b->resets[at].reason, reason))
			at++;
		if (at == b->n_resets)
			snprintf(b->resets[b->n_resets++].reason, REASON_NAME, "%s", reason);
		b->resets[at].connections += row->counts.events;
	}
}

void tcp_balance_judge(struct tcp_balance *b)
{
	const struct tcp_sum *s = &b->sum;
	bool here = s->lost_here || s->returned || s->received || s->never || b->n_listeners;

	b->undecided = tcp_sum_undecided(s);
	b->disagree = 0;
	for (unsigned i = 0; i < b->counters.n; i++) {
		const struct tcp_counter *c = (struct tcp_counter *)b->counters.at + i;

		b->disagree += c->compared && !c->agrees;
	}
	b->balanced = !b->undecided && !b->disagree && !s->bytes_unaccounted && !s->torn &&
		      !s->overcounted && !b->own.unkept &&
		      !((b->missed || b->own.unread || b->own.unplaced) && s->beyond);
	b->verdict = here && s->beyond ? TCP_BOTH
		     : here	       ? TCP_THIS_HOST
		     : s->beyond       ? TCP_BEYOND_HOST
		     : b->balanced     ? TCP_NONE_SEEN
				       : TCP_UNKNOWN;
}

void tcp_account_balance(struct tcp_account *a, const struct sources *s, struct tcp_balance *b)
{
	struct tcp_ledger *ledger = tcp_observer_ledger(a->observer);

	memset(b, 0, sizeof(*b));
	b->window_ns = a->ended_ns - a->began_ns;
	read_own(a, b);
	b->trail = tcp_observer_trail(a->observer);
	b->realtime_ns = a->realtime_ns;
	b->began_ns = a->ktime_ns;
	b->counters = a->counters;
	b->uncompared = a->uncompared;
	tcp_ledger_close(ledger, b->own.unranged, &b->sum, look_at_flow, &(struct looked){a, b});
	b->fresh = b->sum.data_segs_out - (b->sum.retransmitted - b->sum.without_data) -
		   b->sum.returned;
	read_ledger(a, b);
	b->received_timed = tcp_ledger_stall(ledger, true)->count;
	b->has_received_stall = read_stall(&b->received_stall, tcp_ledger_stall(ledger, true));
	add_listeners(a, s, b);
	add_resets(live_total(a->live), b);
	tcp_balance_judge(b);
}

void tcp_account_close(struct tcp_account *a)
{
	if (!a)
		return;
	tcp_observer_close(a->observer);
	filter_free(a->filter);
	free_spaces(&a->begin);
	free_spaces(&a->end);
	list_free(&a->counters);
	free(a);
}

/* Sentences */

/* Adds counters that disagree with the events, and accept queue overflows, which drop SYNs without
 * an event. */
static void put_counters(struct json_object *list, const struct tcp_balance *b)
{
	for (unsigned i = 0; i < b->counters.n; i++) {
		const struct tcp_counter *c = (struct tcp_counter *)b->counters.at + i;

		if (b->undecided && b->sum.kinds[TCP_KIND_SYN] && !strcmp(c->name, OVERFLOWS))
			json_add_line(list,
				      "%s of %s rose by %s: a SYN dropped because the accept queue "
				      "is full causes no event",
				      c->name, c->netns, fmt_count(c->delta));
		else if (c->compared && !c->agrees)
			json_add_line(list, "%s of %s moved by %s, and events showed %s", c->name,
				      c->netns, fmt_count(c->delta), fmt_count(c->events));
	}
}

struct json_object *tcp_balance_rests_on(const struct tcp_balance *b)
{
	struct json_object *list = json_object_new_array();
	const struct tcp_sum *s = &b->sum;
	const struct {
		uint64_t n;
		const char *of, *text; /* of: noun for fmt_many() */
	} doubts[] = {
		{s->bytes_unaccounted, "byte that sockets sent is|bytes that sockets sent are",
		 "not new, not retransmitted, and not dropped before TCP counted the segment as "
		 "sent"},
		{s->overcounted, "more retransmission was|more retransmissions were",
		 "reported than sockets counted"},
		{s->torn, "socket",
		 "never paused long enough to read all counts at one moment: the sums of sent "
		 "segments do not match"},
		{b->own.unkept, "socket is|sockets are",
		 "not in the totals: there was no memory for more"},
		{b->balanced ? 0 : b->missed,
		 "event, of this flow or another, was|events, of this flow or another, were",
		 "missed while the tracer was active on that CPU: downstream and undecided losses "
		 "may be among these events"},
		{s->beyond ? b->own.unplaced : 0, "packet of the flow was|packets of the flow were",
		 "dropped in an unknown namespace: downstream losses may be among these segments"},
		{s->beyond ? b->own.unread : 0,
		 "packet, of this flow or another, was|packets, of this flow or another, were",
		 "dropped with their headers in pages: downstream losses may be among these "
		 "segments"},
		{b->uncompared, "namespace has|namespaces have",
		 "counters that cannot be read: events there are not compared with counters"},
		{b->refused, "record is|records are",
		 "of flows that exceeded the table (--flows): their losses are unknown"},
		{s->not_resent, "segment was|segments were",
		 "dropped here and not retransmitted: another copy arrived, the connection ended, "
		 "or the retransmission is not due yet"},
	};

	if (!b->balanced)
		json_add_line(list, "not every retransmission is explained");
	else if (!s->retransmitted)
		json_add_line(list, "nothing was retransmitted from this host");
	else
		json_add_line(
			list, "%s%s their cause", s->retransmitted > 1 ? "all " : "",
			fmt_many(s->retransmitted, "retransmission has|retransmissions have"));
	if (s->received)
		json_add_line(list, "%s dropped here on arrival",
			      fmt_many(s->received, "segment of a remote sender was|segments of "
						    "remote senders were"));
	for (unsigned i = 0; i < TCP_WHYS; i++) {
		if (s->undecided[i])
			json_add_line(list, "%s %s", fmt_many(s->undecided[i], why_text[i].of),
				      why_text[i].text);
	}
	for (unsigned i = 0; i < LENGTH(doubts); i++) {
		if (doubts[i].n)
			json_add_line(list, "%s %s", fmt_many(doubts[i].n, doubts[i].of),
				      doubts[i].text);
	}
	put_counters(list, b);
	return list;
}
