// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/tcp_join.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#define STEPS	  (1u << 28) /* limits the work on lists that may be malicious */
#define WRAP	  (1ULL << 32)
#define HALF	  (1ULL << 31)
#define CLOCKS_NS 100000000 /* maximum difference between two hosts' clocks */

struct stop { /* a host on a flow's path */
	const struct tcp_join_host *host;
	unsigned number; /* index of the host */
	uint32_t flow;
	uint64_t shift;		 /* added to the sender's numbers to get this host's numbers */
	uint64_t swallowed;	 /* segments that raised no event and reached no socket */
	enum tcp_join_why doubt; /* why reports may be missing; JOIN_WHYS: no doubt */
};

struct join {
	const struct tcp_join_host *hosts;
	unsigned n, sender;
	uint64_t steps;
	struct tcp_joint *sum;
	struct stop way[TCP_JOIN_HOSTS];
	unsigned stops;
};

/* Ranges */

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_place(const void *va, const void *vb)
{
	const struct trail_range *a = va, *b = vb;
	int flow = order(a->flow, b->flow), what = order(a->what, b->what);

	return flow ? flow : what ? what : order(a->from, b->from);
}

void tcp_join_prepare(struct tcp_join_host *hosts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct list *l = &hosts[i].trail->ranges;

		if (l->n)
			qsort(l->at, l->n, l->size, by_place);
		memset(hosts[i].longest, 0, sizeof(hosts[i].longest));
		for (unsigned k = 0; k < l->n; k++) {
			const struct trail_range *r = (struct trail_range *)l->at + k;
			uint64_t *longest = &hosts[i].longest[r->what];

			*longest = larger(*longest, r->to - r->from);
		}
	}
}

/* Returns the first range that is not before `key`. */
static const struct trail_range *lower(const struct trail *t, const struct trail_range *key)
{
	const struct trail_range *at = t->ranges.at;
	size_t from = 0, to = t->ranges.n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (by_place(&at[middle], key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return at ? at + from : NULL;
}

/* Entries of one kind at a stop, starting with the first that may contain a number. */
struct some {
	struct join *j;
	const struct trail_range *at, *end;
	struct trail_range key;
};

static struct some some_of(struct join *j, const struct stop *s, enum trail_what what,
			   uint64_t number)
{
	const struct trail *t = s->host->trail;
	struct some some = {.j = j, .key = {.flow = s->flow, .what = (uint8_t)what}};

	some.key.from = number - smaller(number, s->host->longest[what]);
	some.at = lower(t, &some.key);
	some.end = some.at ? (const struct trail_range *)t->ranges.at + t->ranges.n : NULL;
	return some;
}

static const struct trail_range *next(struct some *s)
{
	if (s->at == s->end || s->at->flow != s->key.flow || s->at->what != s->key.what ||
	    !s->j->steps)
		return NULL;
	s->j->steps--;
	return s->at++;
}

/* Returns the next entry that contains a number. Call it with ascending numbers. */
static const struct trail_range *next_with(struct some *s, uint64_t number)
{
	const struct trail_range *r;

	while ((r = next(s)) && r->from <= number) {
		if (number < r->to)
			return r;
	}
	return NULL;
}

/* What a stop knows about a number. */
struct seen {
	uint64_t came;		       /* arrived at the entry */
	uint64_t outside, lost, twice; /* dropped before the stop, and after it */
	uint64_t at[STAGE_COUNT];      /* `outside` plus `lost` */
};

static void look(struct join *j, const struct stop *s, uint64_t number, struct seen *seen)
{
	const struct trail_flow *f = trail_flow(s->host->trail, s->flow);
	struct some some = some_of(j, s, TRAIL_HOLE, number);
	const struct trail_range *r;

	memset(seen, 0, sizeof(*seen));
	seen->came = number < f->next && !next_with(&some, number);
	for (some = some_of(j, s, TRAIL_AGAIN, number); next_with(&some, number);)
		seen->came++;
	for (some = some_of(j, s, TRAIL_TWICE, number); next_with(&some, number);)
		seen->twice++;
	for (some = some_of(j, s, TRAIL_OUTSIDE, number); (r = next_with(&some, number));) {
		seen->outside++;
		seen->at[r->stage]++;
	}
	for (some = some_of(j, s, TRAIL_DROPPED, number); (r = next_with(&some, number));) {
		seen->lost++;
		seen->at[r->stage]++;
	}
}

/* Flows */

/*
 * Returns true if `f` is the flow after NAT: its numbers start the same, and one end has the same
 * address and port.
 */
static bool is_renamed(const struct trail_flow *f, const struct trail_flow *x)
{
	return x->begun && f->begun && x->first == f->first && x->key.family == f->key.family &&
	       ((x->key.src_port == f->key.src_port &&
		 !memcmp(x->key.src, f->key.src, sizeof(f->key.src))) ||
		(x->key.dst_port == f->key.dst_port &&
		 !memcmp(x->key.dst, f->key.dst, sizeof(f->key.dst))));
}

static uint32_t find_at(struct join *j, const struct tcp_join_host *h, const struct trail_flow *f)
{
	uint32_t found = trail_find(h->trail, &f->key, false);

	for (uint32_t i = 0; found == TRAIL_NONE && i < h->trail->flows.n && j->steps; i++) {
		const struct trail_flow *x = trail_flow(h->trail, i);

		j->steps--;
		if (!x->sends && is_renamed(f, x))
			found = i;
	}
	return found;
}

/* Finds the multiple of 2^32 by which their numbers differ. JOIN_WHYS: success. */
static enum tcp_join_why align(const struct trail_flow *f, const struct trail_flow *x,
			       uint64_t *shift)
{
	*shift = 0;
	if (f->begun && x->begun)
		return f->first == x->first ? JOIN_WHYS : JOIN_SEQUENCE;
	if (f->next - f->first >= HALF || x->next - x->first >= HALF)
		return JOIN_WRAPPED;
	*shift = (x->next - f->next + HALF) & ~(WRAP - 1);
	return (int64_t)(x->next - (f->first + *shift)) < 0 ||
			       (int64_t)(f->next + *shift - x->first) < 0
		       ? JOIN_SEQUENCE
		       : JOIN_WHYS;
}

/*
 * Returns true if a segment bypassed the entry at the stop: it never arrived there, but the
 * receiver has it.
 */
static bool went_by(struct join *j, const struct stop *s, uint64_t acked)
{
	struct some holes = some_of(j, s, TRAIL_HOLE, 0), again;
	const struct trail_range *r;

	while ((r = next(&holes)) && r->from < acked) {
		again = some_of(j, s, TRAIL_AGAIN, r->from);
		if (!next_with(&again, r->from))
			return true;
	}
	return false;
}

/*
 * Returns the maximum number of segments that arrived and then disappeared without an event and
 * without reaching a socket.
 */
static uint64_t swallowed(const struct trail_flow *x)
{
	uint64_t known = x->dropped + x->taken;

	if (!x->begun || !x->taken)
		return UINT64_MAX;
	return x->came - smaller(x->came, known);
}

/* Finds the hosts on the path. Returns the reason if there are none. */
static enum tcp_join_why find_way(struct join *j, const struct trail_flow *f)
{
	enum tcp_join_why why = JOIN_ELSEWHERE;

	j->stops = 0;
	for (unsigned i = 0; i < j->n; i++) {
		struct stop s = {.host = &j->hosts[i], .number = i, .doubt = JOIN_WHYS};
		const struct trail_flow *x;
		enum tcp_join_why no;
		unsigned at = j->stops;

		if (i == j->sender)
			continue;
		s.flow = find_at(j, s.host, f);
		x = s.flow == TRAIL_NONE ? NULL : trail_flow(s.host->trail, s.flow);
		if (!x || !x->known) {
			if (why == JOIN_ELSEWHERE && (s.host->torn || s.host->crowded))
				why = JOIN_FULL;
			continue;
		}
		no = align(f, x, &s.shift);
		if (no != JOIN_WHYS) {
			why = no;
			continue;
		}
		s.swallowed = swallowed(x);
		if (x->cut || s.host->torn)
			s.doubt = JOIN_FULL;
		else if (went_by(j, &s, f->acked + s.shift))
			s.doubt = JOIN_UNSEEN;
		while (at &&
		       trail_flow(j->way[at - 1].host->trail, j->way[at - 1].flow)->ttl < x->ttl) {
			j->way[at] = j->way[at - 1];
			at--;
		}
		j->way[at] = s;
		j->stops++;
	}
	return why;
}

/* Segments with one first number: how often they were retransmitted, last at `time_ns`. */
struct again {
	uint64_t number, n, time_ns;
	bool bare; /* SYN or FIN, for which a repeated arrival is not visible */
};

static uint64_t take(uint64_t *left, uint64_t n)
{
	n = smaller(*left, n);
	*left -= n;
	return n;
}

/*
 * Returns why this stop cannot tell: the segment did not arrive, or the stop was not watching at
 * the time. JOIN_WHYS: it can tell.
 */
static enum tcp_join_why unwatched(const struct join *j, const struct stop *s,
				   const struct trail_flow *f, const struct again *a)
{
	const struct trail_flow *x = trail_flow(s->host->trail, s->flow);
	uint64_t number = a->number + s->shift;

	/*
	 * after TIME_WAIT a tuple is reused with numbers above the previous ones
	 * (tcp_twsk_unique())
	 */
	if (f->begun && a->number < f->first)
		return JOIN_REUSED;
	if (number < x->first)
		return JOIN_BEFORE;
	if (number < x->next)
		return JOIN_WHYS;
	if (a->number < f->acked) /* it arrived nevertheless */
		return JOIN_AFTER;
	return s->host->ended_ns > j->hosts[j->sender].began_ns + a->time_ns + CLOCKS_NS
		       ? JOIN_WHYS
		       : JOIN_AFTER;
}

/*
 * Returns how often a number has left the sender. Ignores its last transmission if dropped there.
 */
static uint64_t went_out(struct join *j, const struct trail_flow *f, const struct again *a)
{
	const struct stop sender = {.host = &j->hosts[j->sender],
				    .flow = trail_find(j->hosts[j->sender].trail, &f->key, true)};
	struct some stayed = some_of(j, &sender, TRAIL_DROPPED, a->number);

	return a->n + !next_with(&stayed, a->number);
}

static void decide(struct join *j, const struct trail_flow *f, const struct again *a,
		   struct tcp_join_flow *to)
{
	uint64_t out = went_out(j, f, a), left = a->n, open = 0, n;
	struct stop *end;
	unsigned from = j->sender;
	struct seen seen = {};

	for (unsigned i = 0; i < j->stops && left; i++) {
		const struct stop *s = &j->way[i];
		enum tcp_join_why why = unwatched(j, s, f, a);

		if (why != JOIN_WHYS) {
			j->sum->undecided[why] += left;
			return;
		}
		look(j, s, a->number + s->shift, &seen);
		if (!j->steps)
			break;
		n = seen.came + seen.outside;
		n = take(&left, out - smaller(out, n));
		if (s->doubt != JOIN_WHYS) {
			j->sum->undecided[s->doubt] += n;
		} else {
			j->sum->wire[from][s->number] += n;
			to->wire += n;
		}
		for (unsigned stage = 0; stage < STAGE_COUNT; stage++) {
			n = take(&left, seen.at[stage]);
			j->sum->lost[s->number][stage] += n;
			to->lost += n;
		}
		out = seen.came - smaller(seen.came, seen.lost);
		from = s->number;
	}
	if (!j->steps) {
		j->sum->undecided[JOIN_FULL] += left;
		return;
	}
	end = &j->way[j->stops - 1];
	n = take(&left, seen.twice);
	/* the receiver may have merged old and new data without raising an event */
	if (!a->bare)
		open = take(&end->swallowed, left);
	else if (end->host->refuses)
		open = left;
	n += left - open;
	j->sum->not_lost += n;
	to->not_lost += n;
	j->sum->undecided[JOIN_NO_EVENT] += open;
}

static void join_flow(struct join *j, const struct trail_range *r, const struct trail_range *end,
		      struct tcp_join_flow *to)
{
	const struct trail_flow *f = to->flow;

	to->segments = (uint64_t)(end - r);
	to->unjoined = find_way(j, f);
	for (; to->n < j->stops; to->n++) {
		to->way[to->n].host = j->way[to->n].number;
		to->way[to->n].flow = trail_flow(j->way[to->n].host->trail, j->way[to->n].flow);
	}
	if (!j->stops)
		j->sum->undecided[to->unjoined] += to->segments;
	while (j->stops && r < end) {
		struct again a = {.number = r->from};

		for (; r < end && r->from == a.number; r++, a.n++) {
			a.time_ns = larger(a.time_ns, r->time_ns);
			a.bare = r->to - r->from == 1 && (r->from == f->first || r->to == f->next);
		}
		decide(j, f, &a, to);
	}
	to->undecided = to->segments - to->lost - to->wire - to->not_lost;
}

void tcp_join(const struct tcp_join_host *hosts, unsigned n, unsigned sender, struct tcp_joint *sum,
	      tcp_join_each *each, void *arg)
{
	struct join j = {.hosts = hosts, .n = n, .sender = sender, .steps = STEPS, .sum = sum};
	const struct trail *t = hosts[sender].trail;
	const struct trail_range *r = t->ranges.at, *end = r ? r + t->ranges.n : NULL, *from;

	memset(sum, 0, sizeof(*sum));
	sum->undecided[JOIN_FULL] = t->lost_resent;
	sum->segments = t->lost_resent;
	while (r < end) {
		struct tcp_join_flow to = {.flow = trail_flow(t, r->flow)};
		const uint32_t flow = r->flow;

		if (r->what != TRAIL_RESENT) {
			r++;
			continue;
		}
		for (from = r; r < end && r->flow == flow && r->what == TRAIL_RESENT;)
			r++;
		join_flow(&j, from, r, &to);
		sum->segments += to.segments;
		each(arg, &to);
	}
}
