// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/secondbooks.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ledger/secondbooks_data.h"

#define IFNAME_LEN 16

const char *const book_scope_names[] = {"flow", "interface", "host"};

const char *book_scope_name(enum book_scope scope)
{
	return book_scope_names[scope];
}

const char *secondbooks_silent(enum stage stage)
{
	for (unsigned i = 0; i < book_silents_n; i++) {
		if (book_silents[i].stage == stage)
			return book_silents[i].why;
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
	struct secondbooks *out;
	size_t rows_cap, unexplained_cap;
};

struct expected {
	uint64_t sure, perhaps, quirk;
	bool shown[STAGE_COUNT]; /* stages with losses that this counter should know */
};

static void expect_from_events(const struct compare *c, const struct book_rule *rule,
			       const struct group *g, struct expected *x)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct stage_events *e = &c->ev[i];
		const struct book_member *best = NULL;
		enum surely most = NOT;
		uint64_t units;

		/* One loss moves one counter once, whatever number of lines it fits. */
		for (const struct book_member *m = rule->set; m->stage != STAGE_NONE; m++) {
			enum surely s = book_surely(m, e, g->role, g->ifname, c->facts);

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

static void expect(const struct compare *c, const struct book_rule *rule, const struct group *g,
		   struct expected *x)
{
	const struct engine_facts *f = c->facts;

	memset(x, 0, sizeof(*x));
	if (rule->flags & BOOK_TX_SOCKET && !f->tx_socket)
		return;
	expect_from_events(c, rule, g, x);
	if (rule->flags & BOOK_EAGAIN) {
		x->sure += f->eagain;
		x->perhaps += f->short_calls + f->refused;
	}
	if (rule->flags & BOOK_SINK && role_fits("rx", g->role))
		x->sure += f->xdp_sink;
}

static int add_row(struct compare *c, const struct book_row *row)
{
	struct book_row *rows;

	rows = grow(c->out->rows, c->out->n_rows, &c->rows_cap, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	c->out->rows = rows;
	rows[c->out->n_rows++] = *row;
	return 0;
}

static int add_unexplained(struct compare *c, const struct book_rule *rule,
			   const struct book_row *row)
{
	struct book_unexplained *u;
	enum stage only = rule->set->stage;

	u = grow(c->out->unexplained, c->out->n_unexplained, &c->unexplained_cap, sizeof(*u));
	if (!u)
		return -ENOMEM;
	c->out->unexplained = u;
	u += c->out->n_unexplained++;
	for (const struct book_member *m = rule->set; m->stage != STAGE_NONE; m++) {
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

static void judge(struct book_row *row, const struct book_rule *rule, const struct expected *x,
		  bool alone)
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

static int compare_group(struct compare *c, const struct book_rule *rule, const struct group *g)
{
	struct book_row row = {.delta = g->delta, .restarted = g->restarted};
	struct expected x;
	bool alone;
	int err = 0;

	/* In namespaces that carry only the flow, their counters are the flow's. */
	row.scope = rule->scope;
	if (c->facts->private_ns && row.scope == BOOK_HOST && strcmp(g->role, "host"))
		row.scope = BOOK_FLOW;
	alone = row.scope == BOOK_FLOW || (c->facts->private_ns && row.scope == BOOK_INTERFACE);
	memcpy(row.name, g->name, sizeof(row.name));
	memcpy(row.role, g->role, sizeof(row.role));

	expect(c, rule, g, &x);
	judge(&row, rule, &x, alone);
	for (int s = 0; s < STAGE_COUNT && !err; s++) {
		row.stage = s;
		if (x.shown[s])
			err = add_row(c, &row);
	}
	if (!err && row.delta > row.expected_max && !(rule->flags & BOOK_EVIDENCE))
		err = add_unexplained(c, rule, &row);
	return err;
}

static int compare_rule(struct compare *c, const struct book_rule *rule)
{
	int family = c->facts->family;
	struct groups gs = {0};
	int err = 0;

	if (rule->flags & BOOK_COPY_MODE && c->facts->xsk_zerocopy)
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
	const struct book_row *x = a, *y = b;

	if (x->stage != y->stage)
		return (int)x->stage - (int)y->stage;
	return strcmp(x->name, y->name);
}

int secondbooks_compare(const struct counters_deltas *deltas, const struct stage_events *ev,
			size_t n, const struct engine_facts *facts, struct secondbooks **out)
{
	struct compare c = {.deltas = deltas, .ev = ev, .n = n, .facts = facts};
	int err = 0;

	c.out = calloc(1, sizeof(*c.out));
	if (!c.out)
		return -ENOMEM;
	for (unsigned i = 0; i < book_rules_n && !err; i++)
		err = compare_rule(&c, &book_rules[i]);
	if (err) {
		secondbooks_free(c.out);
		return err;
	}
	if (c.out->n_rows)
		qsort(c.out->rows, c.out->n_rows, sizeof(*c.out->rows), by_stage);
	*out = c.out;
	return 0;
}

bool secondbooks_agree(const struct secondbooks *b, enum stage stage)
{
	for (size_t i = 0; i < b->n_rows; i++) {
		const struct book_row *row = &b->rows[i];

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

uint64_t secondbooks_replies(const struct counters_deltas *deltas)
{
	static const char *const names[] = {
		"Icmp:InDestUnreachs", "Icmp:InTimeExcds", "Icmp:InParmProbs",
		"Icmp6InDestUnreachs", "Icmp6InTimeExcds", "Icmp6InParmProblems",
		"Icmp6InPktTooBigs",
	};

	return sum_moved(deltas, "tx", names, sizeof(names) / sizeof(names[0]));
}

uint64_t secondbooks_reassembled(const struct counters_deltas *deltas)
{
	static const char *const names[] = {"Ip:ReasmOKs", "Ip6ReasmOKs"};

	return sum_moved(deltas, "rx", names, sizeof(names) / sizeof(names[0]));
}

uint64_t secondbooks_timed_out(const struct counters_deltas *deltas)
{
	static const char *const names[] = {"Ip:ReasmTimeout", "Ip6ReasmTimeout"};

	return sum_moved(deltas, "rx", names, sizeof(names) / sizeof(names[0]));
}

void secondbooks_free(struct secondbooks *b)
{
	if (!b)
		return;
	free(b->rows);
	free(b->unexplained);
	free(b);
}
