// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Processes each rule in the table: adds up its counters by interface (collect()), adds up the
 * events that must or may have moved them (expect()), and compares the two (judge()).
 */
#include "ledger/ledger.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/num.h"

#define IFNAME_LEN 16

/* How certain a loss is to move a counter, given its cause, its location, and the engines. */
enum certainty { IMPOSSIBLE, POSSIBLE, CERTAIN };

/*
 * Matches a word against a pattern. `list`: NULL: any; "a|b": one of these; "!a|b": anything else.
 */
static enum certainty in_list(const char *list, const char *word)
{
	bool negated;
	size_t len;

	if (!list)
		return CERTAIN;
	if (!word || !*word)
		return POSSIBLE;
	negated = *list == '!';
	list += negated;
	for (;; list += len + 1) {
		len = strcspn(list, "|");
		if (len == strlen(word) && !memcmp(list, word, len))
			return negated ? IMPOSSIBLE : CERTAIN;
		if (!list[len])
			return negated ? CERTAIN : IMPOSSIBLE;
	}
}

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static bool known(const char *s)
{
	return s && *s;
}

static bool same_end(const struct link_end *a, const struct link_end *b)
{
	return same(a->ifname, b->ifname) && (!known(a->role) || same(a->role, b->role));
}

/* Returns the other end of the interface's link, or NULL if no link is known. */
static const struct link_end *other_end(const struct engine_facts *f, const struct link_end *at)
{
	for (size_t i = 0; i < 2 * f->n_links; i++) {
		const struct engine_link *l = &f->links[i / 2];

		if (same_end(at, &l->end[i % 2]))
			return &l->end[!(i % 2)];
	}
	return NULL;
}

static enum certainty at_role(const char *role, const char *wanted)
{
	if (!known(role))
		return POSSIBLE;
	return !strcmp(role, wanted) ? CERTAIN : IMPOSSIBLE;
}

/*
 * Returns the certainty for a place at the sender. If everything is in one namespace, the sender's
 * part of a counter is unknown.
 */
static enum certainty at_sender(const char *role)
{
	return same(role, "host") ? POSSIBLE : at_role(role, "tx");
}

static enum certainty at_device(const struct link_end *at, const struct link_end *counter)
{
	if (!known(at->ifname))
		return smaller(POSSIBLE, at_role(at->role, counter->role));
	return same_end(at, counter) ? CERTAIN : IMPOSSIBLE;
}

static enum certainty related(const struct link_end *at, enum counter_relation relation,
			      const struct link_end *counter, const struct engine_facts *f)
{
	const struct link_end *peer = known(at->ifname) ? other_end(f, at) : NULL;
	enum certainty here;

	switch (relation) {
	case REL_ANY:
		return CERTAIN;
	case REL_ROLE:
		return at_role(at->role, counter->role);
	case REL_TX:
		return at_sender(at->role);
	case REL_DEV:
		return at_device(at, counter);
	case REL_PEER:
		return peer ? at_device(peer, counter) : POSSIBLE;
	case REL_LINK:
	case REL_SENT:
		here = relation == REL_LINK ? at_device(at, counter) : at_sender(at->role);
		if (here == CERTAIN)
			return CERTAIN;
		if (!peer)
			return POSSIBLE;
		return relation == REL_LINK ? at_device(peer, counter) : at_sender(peer->role);
	}
	return IMPOSSIBLE;
}

static enum certainty if_known(enum engine_known fact)
{
	if (fact == ENGINE_NO)
		return IMPOSSIBLE;
	return fact == ENGINE_YES ? CERTAIN : POSSIBLE;
}

static enum certainty forced(enum counter_force force, const struct engine_facts *f)
{
	switch (force) {
	case MUST:
	case QUIRK:
	case SEGMENTS:
		return CERTAIN;
	case MAY:
		return POSSIBLE;
	case TAIL:
		return in_list("tbf|pfifo|bfifo|pfifo_fast", f->tx_qdisc) == CERTAIN ? CERTAIN
										     : POSSIBLE;
	case DIRECT:
		return known(f->tx_qdisc) && strcmp(f->tx_qdisc, "noqueue") ? POSSIBLE : CERTAIN;
	case INLINE:
		return if_known(f->rx_in_sender);
	case NATIVE:
		return if_known(f->xdp_native);
	}
	return IMPOSSIBLE;
}

const char *const counter_scope_names[] = {"flow", "interface", "host"};

/* One counter, or the sum of all counters of an interface that match a pattern. */
struct group {
	char role[COUNTER_SCOPE_LEN];
	char ifname[IFNAME_LEN];
	char name[COUNTER_NAME_LEN];
	unsigned members;
	ptrdiff_t alternative; /* start in the rule's patterns */
	uint64_t delta;
};

/* Returns true if the name matches the pattern, and stores the interface matched by '@'. */
static bool match(const char *pattern, const char *name, char *ifname)
{
	const char *at = strchr(pattern, '@');
	size_t before, len;

	*ifname = 0;
	if (!at)
		return !fnmatch(pattern, name, 0);
	before = at - pattern;
	if (strncmp(pattern, name, before))
		return false;
	name += before;
	len = strcspn(name, ":");
	if (!before && !strncmp(name, "xsk:", 4))
		return false; /* a socket's counter, not an interface's */
	if (!len || len >= IFNAME_LEN || fnmatch(at + 1, name + len, 0))
		return false;
	memcpy(ifname, name, len);
	ifname[len] = 0;
	return true;
}

static bool role_fits(const char *wanted, const char *role)
{
	return !wanted || !strcmp(wanted, role) ||
	       (strcmp(wanted, "host") && !strcmp(role, "host"));
}

static void join_group(struct list *groups, const struct counter *d, const char *ifname,
		       const char *pattern, ptrdiff_t alternative)
{
	const char *at = strchr(pattern, '@');
	struct group *g = groups->at;

	for (unsigned i = 0; i < groups->n; i++, g++) {
		if (!strcmp(g->role, d->scope) && !strcmp(g->ifname, ifname))
			break;
	}
	if (groups->n && g < (struct group *)groups->at + groups->n) {
		if (g->alternative != alternative)
			return; /* an earlier alternative exists, and this counter repeats it */
	} else {
		g = list_add(groups);
		memcpy(g->role, d->scope, sizeof(g->role));
		snprintf(g->ifname, sizeof(g->ifname), "%s", ifname);
		g->alternative = alternative;
	}
	if (!g->delta) /* of two families, the one that moved */
		memcpy(g->name, d->name, sizeof(g->name));
	if (++g->members > 1 && strpbrk(pattern, "*["))
		snprintf(g->name, sizeof(g->name), "%.*s%s%s",
			 at ? (int)(at - pattern) : (int)strlen(pattern), pattern, ifname,
			 at ? at + 1 : "");
	g->delta += d->value;
}

static void collect(struct list *groups, const struct counters *deltas, const char *patterns,
		    const char *role)
{
	char pattern[COUNTER_NAME_LEN], ifname[IFNAME_LEN];
	size_t len;

	for (const char *p = patterns;; p += len + 1) {
		len = strcspn(p, "|");
		snprintf(pattern, sizeof(pattern), "%.*s", (int)len, p);
		for (size_t i = 0; i < deltas->n; i++) {
			const struct counter *d = &deltas->items[i];

			if (role_fits(role, d->scope) && match(pattern, d->name, ifname))
				join_group(groups, d, ifname, pattern, p - patterns);
		}
		if (!p[len])
			return;
	}
}

struct compare {
	const struct counters *deltas;
	const struct ledger_cause *cause;
	size_t n;
	const struct engine_facts *facts;
	struct list rows, unexplained; /* struct result_counter */
};

struct expected {
	uint64_t sure, perhaps, quirk;
	bool shown[STAGE_COUNT]; /* stages whose losses this counter should record */
};

static void expect_from_events(const struct compare *c, const struct counter_rule *rule,
			       const struct group *g, struct expected *x)
{
	const struct link_end counter = {g->role, g->ifname};

	for (size_t i = 0; i < c->n; i++) {
		const struct result_cause *e = &c->cause[i].named;
		const struct trace_count *count = &c->cause[i].raw.count;
		const struct link_end at = {e->netns, e->ifname};
		const struct counter_member *best = NULL;
		enum certainty most = IMPOSSIBLE;
		uint64_t units;

		if (!ledger_is_event(&c->cause[i]))
			continue;
		/* A loss moves a counter once, no matter how many lines it matches. */
		for (const struct counter_member *m = rule->set; m->stage != STAGE_NONE; m++) {
			enum certainty s;

			if (m->stage != e->stage)
				continue;
			s = smaller(in_list(m->reason, e->reason),
				    in_list(m->location, e->location));
			s = smaller(s, related(&at, m->relation, &counter, c->facts));
			s = smaller(s, forced(m->force, c->facts));
			if (s > most) {
				most = s;
				best = m;
			}
		}
		if (!best)
			continue;
		units = best->force == SEGMENTS ? count->packets : count->events;
		if (most == POSSIBLE)
			x->perhaps += units;
		else if (best->force == QUIRK || best->relation == REL_SENT)
			x->quirk += units;
		else
			x->sure += units;
		if (units)
			x->shown[e->stage] |= most == CERTAIN;
	}
}

static void expect(const struct compare *c, const struct counter_rule *rule, const struct group *g,
		   struct expected *x)
{
	const struct engine_facts *f = c->facts;

	memset(x, 0, sizeof(*x));
	if (rule->flags & COUNTER_TX_SOCKET && !f->tx_socket)
		return;
	expect_from_events(c, rule, g, x);
	if (rule->flags & COUNTER_EAGAIN) {
		x->sure += f->eagain;
		x->perhaps += f->short_calls + f->refused;
	}
	if (rule->flags & COUNTER_SINK && role_fits("rx", g->role))
		x->sure += f->xdp_sink;
}

static bool fits(uint64_t delta, uint64_t fewest, uint64_t most, bool alone)
{
	return delta >= fewest && (!alone || delta <= most);
}

static void judge(struct result_counter *row, const struct counter_rule *rule,
		  const struct expected *x, bool alone)
{
	uint64_t without = x->sure, without_max = x->sure + x->perhaps;

	row->expected = without + x->quirk;
	row->expected_max = without_max + x->quirk;
	row->note = rule->note;
	row->agrees = fits(row->delta, row->expected, row->expected_max, alone);
	if (!row->agrees && x->quirk && fits(row->delta, without, without_max, alone)) {
		row->documented = true;
		row->note = rule->quirk;
	}
}

/* Returns the only stage that a counter covers, or STAGE_NONE if there are several. */
static enum stage only_stage(const struct counter_rule *rule)
{
	for (const struct counter_member *m = rule->set; m->stage != STAGE_NONE; m++) {
		if (m->stage != rule->set->stage)
			return STAGE_NONE;
	}
	return rule->set->stage;
}

static void add_row(struct list *rows, const struct result_counter *row, enum stage stage)
{
	struct result_counter *added = list_add(rows);

	*added = *row;
	added->stage = stage;
}

/* Returns how much of the movement is unexplained in the counters that this counter repeats. */
static uint64_t repeated(const struct compare *c, const struct counter_rule *rule,
			 const struct group *g)
{
	const struct result_counter *row = c->unexplained.at;
	size_t len = strlen(g->role);
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->unexplained.n; i++, row++) {
		const struct counter_member *m = rule->set;

		while (m->stage != STAGE_NONE && m->stage != row->stage)
			m++;
		if (m->stage != STAGE_NONE && !strncmp(row->name, g->role, len) &&
		    row->name[len] == ' ')
			sum += row->delta - row->expected_max;
	}
	return sum;
}

static void compare_group(struct compare *c, const struct counter_rule *rule, const struct group *g)
{
	struct result_counter row = {.delta = g->delta};
	enum counter_scope scope = rule->scope;
	struct expected x;
	bool alone;

	/* In namespaces that carry only the flow, all counters belong to the flow. */
	if (c->facts->private_ns && scope == COUNTER_HOST && strcmp(g->role, "host"))
		scope = COUNTER_FLOW;
	alone = scope == COUNTER_FLOW || (c->facts->private_ns && scope == COUNTER_INTERFACE);
	row.scope = counter_scope_names[scope];
	snprintf(row.name, sizeof(row.name), "%s %s", g->role, g->name);
	expect(c, rule, g, &x);
	judge(&row, rule, &x, alone);
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (x.shown[s])
			add_row(&c->rows, &row, s);
	}
	row.note = rule->note;
	if (rule->flags & COUNTER_SUM)
		row.expected_max += repeated(c, rule, g);
	if (row.delta > row.expected_max)
		add_row(&c->unexplained, &row, only_stage(rule));
}

static void compare_rule(struct compare *c, const struct counter_rule *rule)
{
	struct list groups = {.size = sizeof(struct group)};
	int family = c->facts->family;

	if (rule->flags & COUNTER_COPY_MODE && c->facts->xsk_zerocopy)
		return;
	/* the number of EAGAIN errors is unknown for other senders */
	if (rule->flags & (c->facts->any_traffic ? COUNTER_EAGAIN : COUNTER_OTHERS))
		return;
	if (!rule->name6 || family != AF_INET6)
		collect(&groups, c->deltas, rule->name4, rule->role);
	/*
	 * With both families, the counter is the sum of two counters, grouped under the first name.
	 */
	if (rule->name6 && family != AF_INET)
		collect(&groups, c->deltas, rule->name6, rule->role);
	for (unsigned i = 0; i < groups.n; i++)
		compare_group(c, rule, (struct group *)groups.at + i);
	list_free(&groups);
}

static int by_stage(const void *a, const void *b)
{
	const struct result_counter *x = a, *y = b;

	return x->stage != y->stage ? (int)x->stage - (int)y->stage
				    : strcmp(strchr(x->name, ' '), strchr(y->name, ' '));
}

void countercheck_compare(const struct counters *deltas, const struct ledger_cause *cause, size_t n,
			  const struct engine_facts *facts, struct countercheck *out)
{
	struct compare c = {.deltas = deltas, .cause = cause, .n = n, .facts = facts};

	c.rows.size = c.unexplained.size = sizeof(struct result_counter);
	for (unsigned i = 0; i < counter_rules_n; i++)
		compare_rule(&c, &counter_rules[i]);
	if (c.rows.n)
		qsort(c.rows.at, c.rows.n, c.rows.size, by_stage);
	*out = (struct countercheck){c.rows.at, c.rows.n, c.unexplained.at, c.unexplained.n};
}

static bool is_named(const char *name, const char *pattern)
{
	/* fnmatch() takes long */
	return pattern && (*pattern == *name || strchr("*[", *pattern)) &&
	       !fnmatch(pattern, name, 0);
}

bool countercheck_knows(const char *name)
{
	for (unsigned i = 0; i < counter_rules_n; i++) {
		if (is_named(name, counter_rules[i].name4) ||
		    is_named(name, counter_rules[i].name6))
			return true;
	}
	return false;
}

void countercheck_refusals(const struct result *res, struct engine_facts *facts)
{
	for (unsigned i = 0; i < res->n_refused_by; i++) {
		const struct result_errno *by = &res->refused_by[i];

		if (by->error == EAGAIN)
			facts->eagain = by->packets;
		else if (by->error == TX_ERRNO_LOST)
			facts->short_calls = by->packets;
		else
			facts->refused += by->packets;
	}
}

void countercheck_show(const struct countercheck *check, struct result *res)
{
	for (size_t i = 0; i < check->n_rows && res->n_counters < RESULT_COUNTERS; i++) {
		const struct result_counter *row = &check->rows[i];

		if (res->stage[row->stage].packets || !row->agrees)
			res->counter[res->n_counters++] = *row;
	}
}

uint64_t countercheck_sum(const struct counters *deltas, enum counter_sum which)
{
	static const struct {
		const char *role, *names[8];
	} sums[] = {
		[SUM_REPLIES] = {"tx",
				 {"Icmp:InDestUnreachs", "Icmp:InTimeExcds", "Icmp:InParmProbs",
				  "Icmp6InDestUnreachs", "Icmp6InTimeExcds", "Icmp6InParmProblems",
				  "Icmp6InPktTooBigs"}},
		[SUM_REASSEMBLED] = {"rx", {"Ip:ReasmOKs", "Ip6ReasmOKs"}},
		[SUM_TIMED_OUT] = {"rx", {"Ip:ReasmTimeout", "Ip6ReasmTimeout"}},
	};
	uint64_t sum = 0, delta;

	for (const char *const *name = sums[which].names; *name; name++)
		sum += counters_get(deltas, sums[which].role, *name, &delta) ? delta : 0;
	return sum;
}

void countercheck_free(struct countercheck *b)
{
	free(b->rows);
	free(b->unexplained);
}
