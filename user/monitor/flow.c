// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"

#define ENDED_CLASSES (1u << CLASS_LOSS | 1u << CLASS_SUSPECTED)

static uint64_t on_side(const struct flow_facts *f, enum balance_side side)
{
	return f->end.dropped[side] - f->begin.dropped[side];
}

static uint64_t suspected_on_side(const struct flow_facts *f, enum balance_side side)
{
	return f->end.suspected[side] - f->begin.suspected[side];
}

static void add_up(struct flow_balance *b)
{
	const struct balance_moment *begin = &b->facts.begin, *end = &b->facts.end;
	const struct balance_tally *from = &begin->sum, *to = &end->sum;
	static const enum balance_side lost[] = {SIDE_INSIDE, SIDE_OUTSIDE, SIDE_BEFORE};
	const struct flow_facts *f = &b->facts;

	b->window_ns = end->time_ns - begin->time_ns;
	b->entered = to->entered - from->entered;
	b->left = to->left - from->left;
	b->sent = to->sent - from->sent;
	b->delivered = to->delivered - from->delivered;
	for (unsigned i = 0; i < LENGTH(lost); i++) {
		b->dropped += on_side(f, lost[i]);
		b->suspected += suspected_on_side(f, lost[i]);
	}
	b->before = on_side(f, SIDE_BEFORE);
	b->in_flight = (int64_t)(end->queued - begin->queued);
	b->arrived = (int64_t)(b->entered - b->left - on_side(f, SIDE_EXPECTED) +
			       on_side(f, SIDE_OUTSIDE) + suspected_on_side(f, SIDE_OUTSIDE));
	b->unaccounted =
		b->arrived - (int64_t)(b->delivered + b->dropped + b->suspected) - b->in_flight;
}

static void find_doubts(struct flow_balance *b)
{
	const struct flow_facts *f = &b->facts;
	const struct balance_tally *from = &f->begin.sum, *to = &f->end.sum;
	uint64_t *doubt = b->doubt;

	doubt[DOUBT_RESIDUAL] = (uint64_t)(b->unaccounted < 0 ? -b->unaccounted : b->unaccounted);
	doubt[DOUBT_SUSPECT] = b->suspected;
	doubt[DOUBT_UNDECIDED] = to->undecided - from->undecided;
	doubt[DOUBT_UNSIZED] = to->unsized - from->unsized;
	doubt[DOUBT_ELSEWHERE] = to->elsewhere - from->elsewhere + f->end.unseen;
	doubt[DOUBT_MOVED] = f->begin.moved || f->end.moved;
	doubt[DOUBT_UNJUDGED] = f->end.unjudged;
	doubt[DOUBT_FILTER] =
		f->end.filter_unread - f->begin.filter_unread + to->hidden - from->hidden;
	if (b->unaccounted) { /* otherwise the events belong to other flows */
		doubt[DOUBT_MISSED] = f->missed;
		doubt[DOUBT_NAT] = f->nat_unseen;
	}
	if (!f->numbered)
		return;
	doubt[DOUBT_NUMBERS] = to->unread - from->unread;
	doubt[DOUBT_CROWDED] = to->crowded - from->crowded;
	doubt[DOUBT_NO_STREAM] = !f->streams.streams && to->entered > from->entered;
	/* Packets from local sockets did not arrive on an interface. */
	if (f->streams.missing && to->received > from->received)
		doubt[DOUBT_INTERFACES] = f->lost_by_interfaces;
}

static bool doubtful(const struct flow_balance *b, enum flow_doubt from, enum flow_doubt to)
{
	for (unsigned i = from; i < to; i++) {
		if (b->doubt[i])
			return true;
	}
	return false;
}

static uint64_t multicast(const struct flow_balance *b)
{
	return b->facts.end.sum.multicast - b->facts.begin.sum.multicast;
}

/*
 * Losses on this host are reliable even if the sequence numbers are not. They are also reliable if
 * the only mismatch is in copies for several members of a multicast group.
 */
static enum flow_verdict judge(const struct flow_balance *b)
{
	bool here = b->dropped > b->before;
	bool copies = b->unaccounted < 0 && multicast(b);

	if (!b->balanced)
		return here && copies && !doubtful(b, DOUBT_RESIDUAL + 1, DOUBT_BALANCE)
			       ? FLOW_THIS_HOST
			       : FLOW_UNKNOWN;
	if (doubtful(b, DOUBT_BALANCE, DOUBTS))
		return here ? FLOW_THIS_HOST : FLOW_UNKNOWN;
	if (b->lost_before)
		return here ? FLOW_BOTH : FLOW_BEFORE;
	return here ? FLOW_THIS_HOST : FLOW_NONE_SEEN;
}

void flow_balance_close(struct flow_balance *b, const struct flow_facts *facts)
{
	memset(b, 0, sizeof(*b));
	b->facts = *facts;
	b->has_culprit = facts->culprit.stage && *facts->culprit.stage;
	add_up(b);
	b->lost_before = b->before + (facts->numbered ? facts->streams.missing : 0);
	b->before_known = b->before || (facts->numbered && facts->streams.streams);
	find_doubts(b);
	b->balanced = !doubtful(b, 0, DOUBT_BALANCE);
	b->verdict = judge(b);
}

static void put_residual(struct json_object *list, const struct flow_balance *b)
{
	const uint64_t copied = multicast(b), n = b->doubt[DOUBT_RESIDUAL];

	if (b->unaccounted > 0)
		json_add_line(
			list,
			"%s not seen after arriving: still in a queue below the sockets, read "
			"inside the kernel without recv() (for a tunnel, --inner follows the "
			"packets inside), or lost where the kernel reports no drop",
			fmt_many(n, "datagram was|datagrams were"));
	else
		json_add_line(list,
			      "not balanced: %s, such as multicast to several sockets, broadcast, "
			      "packets that a tc rule or a bridge mirrored, or packets that waited "
			      "below the sockets when tracing began%s%s",
			      fmt_many(n, "copy|copies"), copied ? "; multicast that arrived: " : "",
			      copied ? fmt_count(copied) : "");
}

/* The text that follows the number, if there is a number. */
static const struct {
	const char *of, *text; /* of: noun for fmt_many(), NULL: no number */
} doubt_text[DOUBTS] = {
	[DOUBT_SUSPECT] = {"datagram was|datagrams were",
			   "dropped at a place where it is unclear whether the packet is lost"},
	[DOUBT_UNDECIDED] =
		{"read|reads",
		 "on a port that also receives other datagrams: the program did not ask "
		 "for the source address, or other datagrams have the same one, so "
		 "pktledger cannot tell which datagrams it read; use an EXPR that matches "
		 "all datagrams to that port"},
	[DOUBT_UNSIZED] = {"read",
			   "returned several merged datagrams (UDP_GRO) of different sizes, "
			   "so their number is unknown"},
	[DOUBT_ELSEWHERE] = {"datagram was|datagrams were",
			     "received in a network namespace without being seen to arrive there: "
			     "macvlan, ipvlan, VLAN devices on another namespace's device and "
			     "bpf_redirect_peer() bypass the place where arrivals are counted"},
	[DOUBT_MOVED] = {NULL, "the flow never paused long enough to read all counts and queues at "
			       "one moment"},
	[DOUBT_UNJUDGED] = {"cause of drops is|causes of drops are",
			    "not in the stage map: the dropped packets may not have arrived "
			    "before"},
	[DOUBT_FILTER] = {"packet",
			  "of this or another flow could not be parsed far enough for EXPR"},
	[DOUBT_MISSED] = {"packet", "of this or another flow were missed because a probe was busy "
				    "on that CPU"},
	[DOUBT_NAT] =
		{"namespace has|namespaces have",
		 "NAT that cannot be followed (needs Linux 6.4 with CONFIG_NETFILTER_BPF_LINK, and "
		 "CAP_NET_ADMIN): packets with translated addresses may be delivered or "
		 "dropped unnoticed"},
	[DOUBT_NUMBERS] = {"packet", "had the number in a page that could not be read (needs Linux "
				     "6.12): earlier losses are unknown"},
	[DOUBT_CROWDED] = {"packet was|packets were",
			   "of streams that exceeded the table: their earlier losses are unknown"},
	[DOUBT_NO_STREAM] = {NULL,
			     "no two packets came in sequence: they are not numbered as --seq "
			     "says"},
	[DOUBT_INTERFACES] =
		{"packet was|packets were",
		 "lost by interfaces of this host in the same time, for any flow: some "
		 "of the missing numbers may be among these packets"},
};

static void put_before(struct json_object *list, const struct flow_balance *b)
{
	const struct balance_streams *s = &b->facts.streams;

	if (b->before)
		json_add_line(list, "%s dropped here because some fragments never reached this "
				    "host",
			      fmt_many(b->before, "datagram was|datagrams were"));
	else if (b->sent && !b->entered)
		json_add_line(list, "the other host decides the outcome of sent packets: use `run "
				    "--to`, or `report` with captures of both hosts");
	else if (!b->facts.numbered)
		json_add_line(list, "losses before this host are not visible without --seq");
	else if (!s->streams)
		json_add_line(list, "no numbers, so losses before this host are unknown");
	else
		json_add_line(list, "missing where the flow enters this host: %s of %s in %s",
			      fmt_count(s->missing), fmt_many(s->missing + s->seen, "number"),
			      fmt_many(s->streams, "stream"));
}

static void put_culprit(struct json_object *list, const struct flow_balance *b)
{
	const struct flow_culprit *c = &b->facts.culprit;
	bool socket = c->socket && *c->socket, process = c->process && *c->process;

	json_add_line(list, "%s of %s dropped at %s%s%s%s%s", fmt_count(c->packets),
		      fmt_count(b->dropped), c->stage, socket ? ", socket " : "",
		      socket ? c->socket : "", process ? " of " : "", process ? c->process : "");
}

/* Reports the difference between the rows and the balance, because the collector cannot start and
 * end at exactly the same moments. */
static void put_rows(struct json_object *list, const struct flow_balance *b)
{
	const int64_t more = (int64_t)(b->facts.in_rows - b->dropped - b->suspected);

	if (more)
		json_add_line(list, "the rows contain %s %s than the balance",
			      fmt_many((uint64_t)(more < 0 ? -more : more), "drop|drops"),
			      more < 0 ? "fewer" : "more");
}

static void put_arrived(struct json_object *list, const struct flow_balance *b)
{
	if (!b->balanced)
		json_add_line(list, "not all arrived packets are accounted for");
	else if (b->arrived <= 0 && b->facts.benign)
		json_add_line(list,
			      "%s of the flow arrived, but nothing on this host receives them: "
			      "--all shows where they were discarded",
			      fmt_many(b->facts.benign, "packet"));
	else if (b->arrived <= 0 && b->sent)
		json_add_line(list, "nothing of the flow arrived here, where it is sent");
	else if (b->arrived <= 0)
		json_add_line(list, "no packet of the flow arrived");
	else if (b->arrived == 1)
		json_add_line(list, "the only packet that arrived is accounted for");
	else
		json_add_line(list, "all %s that arrived are accounted for",
			      fmt_count((uint64_t)b->arrived));
}

struct json_object *flow_balance_rests_on(const struct flow_balance *b)
{
	struct json_object *list = json_object_new_array();

	put_arrived(list, b);
	put_rows(list, b);
	if (b->dropped && b->has_culprit)
		put_culprit(list, b);
	for (const struct nat_translation *t = b->facts.nat; t < b->facts.nat + b->facts.n_nat; t++)
		json_add_line(list, "%s of connections %s %s, translated by NAT to %s",
			      fmt_many(t->packets, "datagram"),
			      t->kind == NAT_SOURCE ? "from" : "to", num_text_endpoint(&t->from),
			      num_text_endpoint(&t->to));
	if (b->doubt[DOUBT_RESIDUAL])
		put_residual(list, b);
	for (unsigned i = DOUBT_RESIDUAL + 1; i < DOUBTS; i++) {
		const char *of = doubt_text[i].of;

		if (b->doubt[i])
			json_add_line(list, "%s%s%s", of ? fmt_many(b->doubt[i], of) : "",
				      of ? " " : "", doubt_text[i].text);
	}
	put_before(list, b);
	return list;
}

const char *const flow_verdict_names[FLOW_VERDICTS] = {
	[FLOW_NONE_SEEN] = "none_seen",	    [FLOW_THIS_HOST] = "this_host",
	[FLOW_BEFORE] = "before_this_host", [FLOW_BOTH] = "both",
	[FLOW_UNKNOWN] = "unknown",
};

struct flow_account {
	struct flow_account_spec spec;
	struct filter *filter;
	struct balance *balance;
	struct live *live;
	struct balance_moment begin, end;
	uint64_t missed;		/* balance_misses() when the balance began */
	bool begun, ended;
};

/* Returns true if packets of the protocol may match `expr`. `buf` gets the expression that selects
 * these packets. */
static bool may_match(const char *expr, const char *protocol, char buf[FLOW_EXPRESSION])
{
	struct filter *f;

	snprintf(buf, FLOW_EXPRESSION, "(%s) and %s", expr, protocol);
	if (filter_compile(&f, buf, NULL))
		return false;
	filter_free(f);
	return true;
}

int flow_expressions(struct flow_expressions *e, const char *expr, struct error *err)
{
	bool tcp, udp;
	struct filter *f;
	int rc = filter_compile(&f, expr, err);

	if (rc)
		return rc;
	filter_free(f);
	if (strlen(expr) + sizeof("() and udp") > FLOW_EXPRESSION)
		return error_set(err, STATUS_USAGE, -E2BIG, NULL, "the expression is too long");
	tcp = may_match(expr, "tcp", e->tcp);
	udp = may_match(expr, "udp", e->udp);
	if (!tcp && !udp)
		return error_usage(err, "for example: udp port 5060, or tcp port 443",
				   "--balance supports UDP and TCP: '%s' matches neither", expr);
	/* libpcap does not detect all contradictions, so the words in the expression decide */
	if (tcp && udp && filter_has_word(expr, "tcp") != filter_has_word(expr, "udp"))
		tcp = !(udp = filter_has_word(expr, "udp"));
	if (!tcp)
		*e->tcp = '\0';
	if (!udp)
		*e->udp = '\0';
	return 0;
}

/* Makes the collector's rows start or end at this moment, too. Used as a callback. */
static void chosen(void *arg)
{
	const struct flow_account *a = arg;

	if (!a->begun)
		live_discard(a->live);
	else if (a->spec.alone)
		live_mark(a->live);
}

static int start(void *arg, struct error *err)
{
	struct flow_account *a = arg;
	const struct live_parts parts = live_parts(a->live);
	int rc = balance_attach(a->balance, &parts.places, err);

	a->missed = balance_misses(a->balance);
	if (!rc)
		rc = balance_begin(a->balance, &a->begin, err);
	a->begun = true;
	return rc;
}

int flow_account_open(struct flow_account **out, const struct flow_account_spec *spec,
		      struct live *l, struct error *err)
{
	struct live_source source = {.start = start};
	const struct live_parts parts = live_parts(l);
	struct flow_account *a;
	int rc;

	if (!parts.ksyms)
		return error_set(err, STATUS_UNABLE, -EPERM, "it needs CAP_SYSLOG",
				 "addresses of kernel functions are hidden: drops before and after "
				 "arrival cannot be distinguished");
	a = mem_new(a);
	a->spec = *spec;
	a->live = l;
	rc = filter_compile(&a->filter, spec->expr, err);
	if (!rc)
		rc = balance_open(&a->balance,
				  &(struct balance_spec){
					  .filter = a->filter,
					  .numbering = spec->numbering,
					  .reasons = parts.reasons,
					  .ksyms = parts.ksyms,
					  .netns = parts.netns,
					  .consumed = spec->consumed,
					  .watch = parts.watch,
					  .nat = parts.nat,
					  .inner = parts.inner,
					  .chosen = chosen,
					  .arg = a,
				  },
				  err);
	if (rc) {
		flow_account_close(a);
		return rc;
	}
	source.arg = *out = a;
	live_add_source(l, &source);
	return 0;
}

int flow_account_end(struct flow_account *a, struct error *err)
{
	int rc;

	if (a->ended)
		return 0;
	a->ended = true;
	rc = balance_end(a->balance, &a->begin, a->spec.settle_ns, &a->end, err);
	return rc;
}

/* Returns true if this row counts packets of the flow that ended there. */
static bool is_end(const struct live_row *row)
{
	return !strcmp(row->text[LIVE_SCOPE], "flow") && ENDED_CLASSES >> row->class & 1 &&
	       row->stage < STAGE_COUNT;
}

/* Finds the socket and process of the largest row at the stage that lost the most packets, and sums
 * all rows with this socket and process. */
static void find_culprit(const struct live_table *t, const uint64_t lost[STAGE_COUNT],
			 struct flow_facts *f)
{
	struct flow_culprit *c = &f->culprit;
	const struct live_row *most = NULL;

	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];

		if (is_end(row) &&
		    (!most || lost[row->stage] > lost[most->stage] ||
		     (row->stage == most->stage && row->counts.packets > most->counts.packets)))
			most = row;
	}
	if (!most)
		return;
	*c = (struct flow_culprit){most->text[LIVE_STAGE], most->text[LIVE_SOCKET],
				   most->text[LIVE_PROCESS], 0};
	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];

		if (is_end(row) && row->stage == most->stage && row->class == most->class &&
		    !strcmp(row->text[LIVE_SOCKET], c->socket) &&
		    !strcmp(row->text[LIVE_PROCESS], c->process))
			c->packets += row->counts.packets;
	}
}

/* Adds the rows and finds where the largest loss happened. */
static void add_rows(const struct live_table *t, struct flow_facts *f)
{
	uint64_t lost[STAGE_COUNT] = {};

	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];

		if (strcmp(row->text[LIVE_SCOPE], "flow")) {
			/* stages at which packets end before they have an skb */
			if (row->class == CLASS_LOSS &&
			    (row->stage == STAGE_NIC_RING || row->stage == STAGE_XDP ||
			     row->stage == STAGE_XSK))
				f->lost_by_interfaces += row->counts.packets;
			continue;
		}
		if (row->class == CLASS_EXPECTED)
			f->benign += row->counts.packets;
		if (!is_end(row))
			continue;
		f->in_rows += row->counts.packets;
		lost[row->stage] += row->counts.packets;
	}
	find_culprit(t, lost, f);
}

void flow_account_balance(const struct flow_account *a, const struct live *l,
			  struct flow_balance *b)
{
	struct flow_facts f = {.begin = a->begin, .end = a->end};

	f.n_nat = balance_translations(a->balance, f.nat, FLOW_TRANSLATIONS);
	f.nat_unseen = nat_unseen(live_parts(l).nat);
	f.missed = balance_misses(a->balance) - a->missed;
	f.numbered = a->spec.numbering.kind != NUMBERS_NONE;
	if (f.numbered)
		balance_read_streams(a->balance, &f.streams);
	add_rows(live_total(l), &f);
	flow_balance_close(b, &f);
}

void flow_account_close(struct flow_account *a)
{
	if (!a)
		return;
	balance_close(a->balance);
	filter_free(a->filter);
	free(a);
}
