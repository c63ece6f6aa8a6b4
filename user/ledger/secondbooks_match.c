// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How surely a loss moves a counter: by its cause, its place on the path, the engines' ways. */
#include <string.h>

#include "ledger/secondbooks_data.h"

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
		const struct book_link *l = &f->links[i];

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

static enum surely related(const struct stage_events *e, enum book_relation relation,
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

static enum surely if_known(enum book_known fact)
{
	if (fact == BOOK_NO)
		return NOT;
	return fact == BOOK_YES ? SURELY : PERHAPS;
}

static enum surely forced(enum book_force force, const struct engine_facts *f)
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

enum surely book_surely(const struct book_member *m, const struct stage_events *e, const char *role,
			const char *ifname, const struct engine_facts *f)
{
	struct side counter = {role, ifname};
	enum surely s;

	if (m->stage != e->stage)
		return NOT;
	s = least(in_list(m->reason, e->reason), in_list(m->location, e->location));
	s = least(s, related(e, m->relation, &counter, f));
	return least(s, forced(m->force, f));
}
