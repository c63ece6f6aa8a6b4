// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/countercheck.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define IFNAME_LEN 16

/* How surely a loss moves a counter: by its cause, its place on the path, the engines' ways. */
enum surely { NOT, PERHAPS, SURELY };

static enum surely least(enum surely a, enum surely b)
{
	return a < b ? a : b;
}

/* `list`: NULL any, "a|b" one of, "!a|b" none of. */
static enum surely in_list(const char *list, const char *word)
{
	bool negated;
	size_t len;

	if (!list)
		return SURELY;
	if (!word || !*word)
		return PERHAPS;
	negated = *list == '!';
	list += negated;
	for (;; list += len + 1) {
		len = strcspn(list, "|");
		if (len == strlen(word) && !memcmp(list, word, len))
			return negated ? NOT : SURELY;
		if (!list[len])
			return negated ? SURELY : NOT;
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

struct side {
	const char *role, *ifname;
};

static bool same_side(const struct side *a, const char *role, const char *ifname)
{
	return same(a->ifname, ifname) && (!known(a->role) || same(a->role, role));
}

/* The other end of the device's link; false if no link is known there. */
static bool other_end(const struct engine_facts *f, const struct side *s, struct side *other)
{
	for (size_t i = 0; i < f->n_links; i++) {
		const struct engine_link *l = &f->links[i];

		if (same_side(s, l->role_a, l->ifname_a)) {
			*other = (struct side){l->role_b, l->ifname_b};
			return true;
		}
		if (same_side(s, l->role_b, l->ifname_b)) {
			*other = (struct side){l->role_a, l->ifname_a};
			return true;
		}
	}
	return false;
}

static enum surely at_role(const char *role, const char *wanted)
{
	if (!known(role))
		return PERHAPS;
	return !strcmp(role, wanted) ? SURELY : NOT;
}

/* Where one namespace is all, the sender's part of it cannot be told. */
static enum surely at_sender(const char *role)
{
	return same(role, "host") ? PERHAPS : at_role(role, "tx");
}

static enum surely at_device(const struct side *at, const struct side *counter)
{
	if (!known(at->ifname))
		return least(PERHAPS, at_role(at->role, counter->role));
	return same_side(at, counter->role, counter->ifname) ? SURELY : NOT;
}

static enum surely related(const struct stage_events *e, enum counter_relation relation,
			   const struct side *counter, const struct engine_facts *f)
{
	struct side at = {e->role, e->ifname}, peer;
	bool have_peer = known(e->ifname) && other_end(f, &at, &peer);
	enum surely here;

	switch (relation) {
	case REL_ANY:
		return SURELY;
	case REL_ROLE:
		return at_role(e->role, counter->role);
	case REL_TX:
		return at_sender(e->role);
	case REL_DEV:
		return at_device(&at, counter);
	case REL_PEER:
		return have_peer ? at_device(&peer, counter) : PERHAPS;
	case REL_LINK:
		here = at_device(&at, counter);
		if (here == SURELY)
			return SURELY;
		return have_peer ? at_device(&peer, counter) : PERHAPS;
	case REL_SENT:
		here = at_sender(e->role);
		if (here == SURELY)
			return SURELY;
		return have_peer ? at_sender(peer.role) : PERHAPS;
	}
	return NOT;
}

static bool has_qdisc(const struct engine_facts *f)
{
	return known(f->tx_qdisc) && strcmp(f->tx_qdisc, "noqueue");
}

static enum surely if_known(enum engine_known fact)
{
	if (fact == ENGINE_NO)
		return NOT;
	return fact == ENGINE_YES ? SURELY : PERHAPS;
}

static enum surely forced(enum counter_force force, const struct engine_facts *f)
{
	switch (force) {
	case MUST:
	case QUIRK:
	case SEGMENTS:
		return SURELY;
	case MAY:
		return PERHAPS;
	case TAIL:
		return in_list("tbf|pfifo|bfifo|pfifo_fast", f->tx_qdisc) == SURELY ? SURELY
										    : PERHAPS;
	case DIRECT:
		return has_qdisc(f) ? PERHAPS : SURELY;
	case INLINE:
		return if_known(f->rx_in_sender);
	case NATIVE:
		return if_known(f->xdp_native);
	}
	return NOT;
}

static enum surely counter_surely(const struct counter_member *m, const struct stage_events *e,
				  const char *role, const char *ifname,
				  const struct engine_facts *f)
{
	struct side counter = {role, ifname};
	enum surely s;

	if (m->stage != e->stage)
		return NOT;
	s = least(in_list(m->reason, e->reason), in_list(m->location, e->location));
	s = least(s, related(e, m->relation, &counter, f));
	return least(s, forced(m->force, f));
}

const char *const counter_scope_names[] = {"flow", "interface", "host"};

const char *counter_scope_name(enum counter_scope scope)
{
	return counter_scope_names[scope];
}

const char *countercheck_silent(enum stage stage)
{
	for (unsigned i = 0; i < counter_silents_n; i++) {
		if (counter_silents[i].stage == stage)
			return counter_silents[i].why;
	}
	return NULL;
}

/* One counter, or the sum of those of one device that a pattern matches. */
struct group {
	char role[COUNTER_SCOPE_LEN];
	char ifname[IFNAME_LEN];
	char name[COUNTER_NAME_LEN];
	unsigned alternative, members;
	uint64_t delta;
	bool restarted;
};

struct groups {
	struct group *items;
	size_t n, cap;
};

static void *grow(void *items, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 16;

	if (n < *cap)
		return items;
	items = reallocarray(items, more, size);
	if (items)
		*cap = more;
	return items;
}

/* Does the name match, and which device stands at '@'? */
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
		return false; /* a socket's counter, no device's */
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

static void name_group(struct group *g, const char *pattern)
{
	const char *at = strchr(pattern, '@');

	if (at)
		snprintf(g->name, sizeof(g->name), "%.*s%s%s", (int)(at - pattern), pattern,
			 g->ifname, at + 1);
	else
		snprintf(g->name, sizeof(g->name), "%s", pattern);
}

static int join_group(struct groups *gs, const struct counters_delta *d, const char *ifname,
		      const char *pattern, unsigned alternative)
{
	struct group *g = NULL, *items;

	for (size_t i = 0; i < gs->n && !g; i++) {
		if (!strcmp(gs->items[i].role, d->scope) && !strcmp(gs->items[i].ifname, ifname))
			g = &gs->items[i];
	}
	if (g && g->alternative != alternative)
		return 0; /* an earlier alternative exists: this one repeats it */
	if (!g) {
		items = grow(gs->items, gs->n, &gs->cap, sizeof(*items));
		if (!items)
			return -ENOMEM;
		gs->items = items;
		g = &items[gs->n++];
		memset(g, 0, sizeof(*g));
		memcpy(g->role, d->scope, sizeof(g->role));
		snprintf(g->ifname, sizeof(g->ifname), "%s", ifname);
		memcpy(g->name, d->name, sizeof(g->name));
		g->alternative = alternative;
	}
	if (++g->members == 2)
		name_group(g, pattern);
	g->delta += d->delta;
	g->restarted |= d->restarted;
	return 0;
}

static int collect(struct groups *gs, const struct counters_deltas *deltas, const char *patterns,
		   const char *role)
{
	char pattern[COUNTER_NAME_LEN], ifname[IFNAME_LEN];
	unsigned alternative = 0;
	size_t len;
	int err;

	for (const char *p = patterns;; p += len + 1, alternative++) {
		len = strcspn(p, "|");
		snprintf(pattern, sizeof(pattern), "%.*s", (int)len, p);
		for (size_t i = 0; i < deltas->n; i++) {
			const struct counters_delta *d = &deltas->items[i];

			if (!role_fits(role, d->scope) || !match(pattern, d->name, ifname))
				continue;
			err = join_group(gs, d, ifname, pattern, alternative);
			if (err)
				return err;
		}
		if (!p[len])
			return 0;
	}
}

struct compare {
	const struct counters_deltas *deltas;
	const struct stage_events *ev;
	size_t n;
	const struct engine_facts *facts;
	struct countercheck *out;
	size_t rows_cap, unexplained_cap;
};

struct expected {
	uint64_t sure, perhaps, quirk;
	bool shown[STAGE_COUNT]; /* stages with losses that this counter should know */
};

static void expect_from_events(const struct compare *c, const struct counter_rule *rule,
			       const struct group *g, struct expected *x)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct stage_events *e = &c->ev[i];
		const struct counter_member *best = NULL;
		enum surely most = NOT;
		uint64_t units;

		/* One loss moves one counter once, whatever number of lines it fits. */
		for (const struct counter_member *m = rule->set; m->stage != STAGE_NONE; m++) {
			enum surely s = counter_surely(m, e, g->role, g->ifname, c->facts);

			if (s > most) {
				most = s;
				best = m;
			}
		}
		if (!best)
			continue;
		units = best->force == SEGMENTS ? e->packets : e->events;
		if (most == PERHAPS)
			x->perhaps += units;
		else if (best->force == QUIRK || best->relation == REL_SENT)
			x->quirk += units;
		else
			x->sure += units;
		if (units)
			x->shown[e->stage] |= most == SURELY;
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

static int add_row(struct compare *c, const struct counter_row *row)
{
	struct counter_row *rows;

	rows = grow(c->out->rows, c->out->n_rows, &c->rows_cap, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	c->out->rows = rows;
	rows[c->out->n_rows++] = *row;
	return 0;
}

static int add_unexplained(struct compare *c, const struct counter_rule *rule,
			   const struct counter_row *row)
{
	struct counter_unexplained *u;
	enum stage only = rule->set->stage;

	u = grow(c->out->unexplained, c->out->n_unexplained, &c->unexplained_cap, sizeof(*u));
	if (!u)
		return -ENOMEM;
	c->out->unexplained = u;
	u += c->out->n_unexplained++;
	for (const struct counter_member *m = rule->set; m->stage != STAGE_NONE; m++) {
		if (m->stage != only)
			only = STAGE_NONE;
	}
	memset(u, 0, sizeof(*u));
	u->stage = only;
	memcpy(u->name, row->name, sizeof(u->name));
	memcpy(u->role, row->role, sizeof(u->role));
	u->delta = row->delta;
	u->excess = row->delta - row->expected_max;
	u->scope = row->scope;
	u->note = rule->note;
	return 0;
}

static bool fits(uint64_t delta, uint64_t fewest, uint64_t most, bool alone)
{
	return delta >= fewest && (!alone || delta <= most);
}

static void judge(struct counter_row *row, const struct counter_rule *rule,
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

static int compare_group(struct compare *c, const struct counter_rule *rule, const struct group *g)
{
	struct counter_row row = {.delta = g->delta, .restarted = g->restarted};
	struct expected x;
	bool alone;
	int err = 0;

	/* In namespaces that carry only the flow, their counters are the flow's. */
	row.scope = rule->scope;
	if (c->facts->private_ns && row.scope == COUNTER_HOST && strcmp(g->role, "host"))
		row.scope = COUNTER_FLOW;
	alone = row.scope == COUNTER_FLOW ||
		(c->facts->private_ns && row.scope == COUNTER_INTERFACE);
	memcpy(row.name, g->name, sizeof(row.name));
	memcpy(row.role, g->role, sizeof(row.role));

	expect(c, rule, g, &x);
	judge(&row, rule, &x, alone);
	for (int s = 0; s < STAGE_COUNT && !err; s++) {
		row.stage = s;
		if (x.shown[s])
			err = add_row(c, &row);
	}
	if (!err && row.delta > row.expected_max && !(rule->flags & COUNTER_EVIDENCE))
		err = add_unexplained(c, rule, &row);
	return err;
}

static int compare_rule(struct compare *c, const struct counter_rule *rule)
{
	int family = c->facts->family;
	struct groups gs = {0};
	int err = 0;

	if (rule->flags & COUNTER_COPY_MODE && c->facts->xsk_zerocopy)
		return 0;
	if (!rule->name6 || family != AF_INET6)
		err = collect(&gs, c->deltas, rule->name4, rule->role);
	/* With both families the counter is the sum of the two: one group, the first name. */
	if (!err && rule->name6 && family != AF_INET)
		err = collect(&gs, c->deltas, rule->name6, rule->role);
	for (size_t i = 0; i < gs.n && !err; i++)
		err = compare_group(c, rule, &gs.items[i]);
	free(gs.items);
	return err;
}

static int by_stage(const void *a, const void *b)
{
	const struct counter_row *x = a, *y = b;

	if (x->stage != y->stage)
		return (int)x->stage - (int)y->stage;
	return strcmp(x->name, y->name);
}

int countercheck_compare(const struct counters_deltas *deltas, const struct stage_events *ev,
			 size_t n, const struct engine_facts *facts, struct countercheck **out)
{
	struct compare c = {.deltas = deltas, .ev = ev, .n = n, .facts = facts};
	int err = 0;

	c.out = calloc(1, sizeof(*c.out));
	if (!c.out)
		return -ENOMEM;
	for (unsigned i = 0; i < counter_rules_n && !err; i++)
		err = compare_rule(&c, &counter_rules[i]);
	if (err) {
		countercheck_free(c.out);
		return err;
	}
	if (c.out->n_rows)
		qsort(c.out->rows, c.out->n_rows, sizeof(*c.out->rows), by_stage);
	*out = c.out;
	return 0;
}

bool countercheck_agree(const struct countercheck *b, enum stage stage)
{
	for (size_t i = 0; i < b->n_rows; i++) {
		const struct counter_row *row = &b->rows[i];

		if (row->stage == stage && !row->agrees && !row->documented)
			return false;
	}
	return true;
}

static uint64_t sum_moved(const struct counters_deltas *deltas, const char *role,
			  const char *const *names, size_t n)
{
	uint64_t sum = 0, delta;

	for (size_t i = 0; i < n; i++) {
		if (counters_moved(deltas, role, names[i], &delta))
			sum += delta;
	}
	return sum;
}

uint64_t countercheck_replies(const struct counters_deltas *deltas)
{
	static const char *const names[] = {
		"Icmp:InDestUnreachs", "Icmp:InTimeExcds", "Icmp:InParmProbs",
		"Icmp6InDestUnreachs", "Icmp6InTimeExcds", "Icmp6InParmProblems",
		"Icmp6InPktTooBigs",
	};

	return sum_moved(deltas, "tx", names, sizeof(names) / sizeof(names[0]));
}

uint64_t countercheck_reassembled(const struct counters_deltas *deltas)
{
	static const char *const names[] = {"Ip:ReasmOKs", "Ip6ReasmOKs"};

	return sum_moved(deltas, "rx", names, sizeof(names) / sizeof(names[0]));
}

uint64_t countercheck_timed_out(const struct counters_deltas *deltas)
{
	static const char *const names[] = {"Ip:ReasmTimeout", "Ip6ReasmTimeout"};

	return sum_moved(deltas, "rx", names, sizeof(names) / sizeof(names[0]));
}

void countercheck_free(struct countercheck *b)
{
	if (!b)
		return;
	free(b->rows);
	free(b->unexplained);
	free(b);
}

/* Whether a line of the rule's set is of the stage and, if `certain`, no mere possibility. */
static bool knows(const struct counter_rule *rule, enum stage stage, bool certain)
{
	for (const struct counter_member *m = rule->set; m->stage != STAGE_NONE; m++) {
		if (m->stage == stage && (!certain || m->force != MAY))
			return true;
	}
	return false;
}

static unsigned names_of(enum stage stage, bool certain, const char **names, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < counter_rules_n && n < max; i++) {
		if (knows(&counter_rules[i], stage, certain) &&
		    !(counter_rules[i].flags & COUNTER_EVIDENCE))
			names[n++] = counter_rules[i].name4;
	}
	return n;
}

unsigned countercheck_counters(enum stage stage, const char **names, unsigned max)
{
	unsigned n = names_of(stage, true, names, max);

	return n ? n : names_of(stage, false, names, max);
}
