// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/nftlist.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JUMPS_DEEP 16 /* NFT_JUMP_STACK_SIZE */

/* A jump or goto, from chain to chain. */
struct jump {
	unsigned from, to;
};

/* A chain, map or counter, to be found by its name. Strings live as long as the document. */
struct thing {
	const char *kind, *family, *table, *name;
	struct json_object *o;
	unsigned chain; /* index in the list */
};

struct reader {
	struct nftlist *list;
	struct json_object *all; /* the array of what the ruleset has */
	struct thing *things;	 /* sorted */
	struct jump *jumps;
	unsigned n_things, n_jumps, cap_things, cap_jumps, cap_chains, cap_rules;
	bool short_of_memory;
};

/* Room for one more; NULL: no memory, which is kept in mind. */
static void *next(struct reader *r, void **at, unsigned n, unsigned *cap, size_t size)
{
	if (n == *cap) {
		unsigned more = *cap ? *cap * 2 : 64;
		void *p = reallocarray(*at, more, size);

		if (!p) {
			r->short_of_memory = true;
			return NULL;
		}
		*at = p;
		*cap = more;
	}
	return memset((char *)*at + n * size, 0, size);
}

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : NULL;
}

static uint64_t number_of(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? (uint64_t)json_object_get_int64(v) : 0;
}

static bool is(const char *a, const char *b)
{
	return a && !strcmp(a, b);
}

static void keep(char *out, size_t size, const char *s)
{
	snprintf(out, size, "%.*s", (int)size - 1, s ? s : "");
}

static int compare_things(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;
	int ret = strcmp(x->kind, y->kind);

	if (!ret)
		ret = strcmp(x->family, y->family);
	if (!ret)
		ret = strcmp(x->table, y->table);
	return ret ? ret : strcmp(x->name, y->name);
}

static struct thing describe(const char *kind, struct json_object *o, const char *name)
{
	const char *family = text_of(o, "family"), *table = text_of(o, "table");

	return (struct thing){kind, family ? family : "", table ? table : "", name ? name : "", o,
			      0};
}

static void read_things(struct reader *r)
{
	static const char *const kinds[] = {"chain", "map", "counter"};
	struct json_object *o;

	for (size_t i = 0; i < json_object_array_length(r->all); i++) {
		for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			struct thing *t;

			if (!json_object_object_get_ex(json_object_array_get_idx(r->all, i),
						       kinds[k], &o))
				continue;
			t = next(r, (void **)&r->things, r->n_things, &r->cap_things, sizeof(*t));
			if (!t)
				return;
			*t = describe(kinds[k], o, text_of(o, "name"));
			r->n_things++;
		}
	}
	if (r->n_things)
		qsort(r->things, r->n_things, sizeof(*r->things), compare_things);
}

/* The thing of a kind and name in the table of `o`. NULL: none. */
static struct thing *named(const struct reader *r, struct json_object *o, const char *kind,
			   const char *name)
{
	struct thing key = describe(kind, o, name);

	return r->n_things ? bsearch(&key, r->things, r->n_things, sizeof(key), compare_things)
			   : NULL;
}

static unsigned hook_bit(const char *name)
{
	for (unsigned h = HOOK_NONE + 1; h <= HOOK_POSTROUTING; h++) {
		if (is(name, netfilter_hook_name((enum netfilter_hook)h)))
			return 1U << h;
	}
	/* stagemap cannot tell it from postrouting */
	return is(name, "egress") ? 1U << HOOK_POSTROUTING : 0;
}

/* In the order of the things, so that the list is sorted as well. */
static void read_chains(struct reader *r)
{
	for (unsigned i = 0; i < r->n_things; i++) {
		struct thing *t = &r->things[i];
		struct nftlist_chain *c;

		if (strcmp(t->kind, "chain"))
			continue;
		c = next(r, (void **)&r->list->chains, r->list->n_chains, &r->cap_chains,
			 sizeof(*c));
		if (!c)
			return;
		t->chain = r->list->n_chains++;
		keep(c->family, sizeof(c->family), t->family);
		keep(c->table, sizeof(c->table), t->table);
		keep(c->name, sizeof(c->name), t->name);
		c->hooks = hook_bit(text_of(t->o, "hook"));
		c->policy_drop = is(text_of(t->o, "policy"), "drop");
	}
}

static void read_jump(struct reader *r, struct nftlist_rule *rule, struct json_object *parent,
		      struct json_object *o)
{
	const struct thing *to = named(r, parent, "chain", text_of(o, "target"));
	struct jump *j;

	if (!to)
		return;
	j = next(r, (void **)&r->jumps, r->n_jumps, &r->cap_jumps, sizeof(*j));
	if (!j)
		return;
	r->n_jumps++;
	*j = (struct jump){rule->chain, to->chain};
}

static const char *xt_verdict(struct json_object *xt)
{
	const char *name = is(text_of(xt, "type"), "target") ? text_of(xt, "name") : NULL;

	return is(name, "DROP")	     ? "drop"
	       : is(name, "REJECT")  ? "reject"
	       : is(name, "NFQUEUE") ? "queue"
				     : NULL;
}

/* A statement that ends the packet; else NULL. Jumps are noted. */
static const char *read_verdict(struct reader *r, struct nftlist_rule *rule,
				struct json_object *parent, const char *kind, struct json_object *o)
{
	static const char *const ends[] = {"drop", "reject", "queue"};

	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (is(kind, ends[i]))
			return ends[i];
	}
	if (is(kind, "jump") || is(kind, "goto"))
		read_jump(r, rule, parent, o);
	return is(kind, "xt") ? xt_verdict(o) : NULL;
}

/* The elements of a verdict map: [[key, {verdict}], ...], here or in a map with a name. */
static const char *read_map(struct reader *r, struct nftlist_rule *rule, struct json_object *parent,
			    struct json_object *vmap)
{
	struct json_object *data, *set = NULL;
	const char *found = NULL;

	if (!json_object_object_get_ex(vmap, "data", &data))
		return NULL;
	if (json_object_is_type(data, json_type_string)) {
		const char *name = json_object_get_string(data);
		const struct thing *map = named(r, parent, "map", name + (*name == '@'));

		if (map)
			json_object_object_get_ex(map->o, "elem", &set);
	} else {
		json_object_object_get_ex(data, "set", &set);
	}
	for (size_t i = 0;
	     set && json_object_is_type(set, json_type_array) && i < json_object_array_length(set);
	     i++) {
		struct json_object *pair = json_object_array_get_idx(set, i);
		struct json_object *verdict = json_object_is_type(pair, json_type_array)
						      ? json_object_array_get_idx(pair, 1)
						      : NULL;

		if (!json_object_is_type(verdict, json_type_object))
			continue;
		json_object_object_foreach (verdict, kind, o) {
			const char *v = read_verdict(r, rule, parent, kind, o);

			found = v ? v : found;
		}
	}
	return found;
}

static void read_counter(struct reader *r, struct nftlist_rule *rule, struct json_object *parent,
			 struct json_object *o)
{
	if (json_object_is_type(o, json_type_string)) {
		const struct thing *counter =
			named(r, parent, "counter", json_object_get_string(o));

		o = counter ? counter->o : NULL;
	}
	if (!json_object_is_type(o, json_type_object))
		return;
	rule->counts = rule->exact = true;
	rule->packets = number_of(o, "packets");
	rule->bytes = number_of(o, "bytes");
}

/* Statements that let all packets go on; any other stands between a counter and the verdict. */
static bool passes_all(const char *kind)
{
	return is(kind, "log") || is(kind, "mangle");
}

static void read_statements(struct reader *r, struct nftlist_rule *rule, struct json_object *parent,
			    struct json_object *expr)
{
	for (size_t i = 0; i < json_object_array_length(expr) && !rule->verdict; i++) {
		struct json_object *statement = json_object_array_get_idx(expr, i);

		if (!json_object_is_type(statement, json_type_object))
			continue;
		json_object_object_foreach (statement, kind, o) {
			if (is(kind, "counter"))
				read_counter(r, rule, parent, o);
			else if (is(kind, "vmap"))
				rule->verdict = read_map(r, rule, parent, o);
			else
				rule->verdict = read_verdict(r, rule, parent, kind, o);
			if (is(kind, "vmap") ||
			    (!rule->verdict && !is(kind, "counter") && !passes_all(kind)))
				rule->exact = false;
		}
	}
}

static void read_rule(struct reader *r, struct json_object *o)
{
	const struct thing *chain = named(r, o, "chain", text_of(o, "chain"));
	struct json_object *expr;
	struct nftlist_rule *rule;

	if (!chain || !json_object_object_get_ex(o, "expr", &expr) ||
	    !json_object_is_type(expr, json_type_array))
		return;
	rule = next(r, (void **)&r->list->rules, r->list->n_rules, &r->cap_rules, sizeof(*rule));
	if (!rule)
		return;
	rule->chain = chain->chain;
	rule->handle = number_of(o, "handle");
	keep(rule->comment, sizeof(rule->comment), text_of(o, "comment"));
	read_statements(r, rule, o, expr);
	r->list->n_rules += rule->verdict != NULL;
}

/* A chain is reached from wherever those that jump to it are. */
static void spread_hooks(const struct reader *r)
{
	bool changed = true;

	for (unsigned depth = 0; changed && depth <= JUMPS_DEEP; depth++) {
		changed = false;
		for (unsigned i = 0; i < r->n_jumps; i++) {
			const struct nftlist_chain *from = &r->list->chains[r->jumps[i].from];
			struct nftlist_chain *to = &r->list->chains[r->jumps[i].to];

			changed |= from->hooks & ~to->hooks;
			to->hooks |= from->hooks;
		}
	}
}

static void read_all(struct reader *r)
{
	struct json_object *o;

	read_things(r);
	read_chains(r);
	for (size_t i = 0; i < json_object_array_length(r->all); i++) {
		if (json_object_object_get_ex(json_object_array_get_idx(r->all, i), "rule", &o))
			read_rule(r, o);
	}
	spread_hooks(r);
}

int nftlist_parse(const char *text, struct nftlist *list)
{
	struct json_object *doc = json_tokener_parse(text);
	struct reader r = {.list = list};
	int ret = -EINVAL;

	*list = (struct nftlist){};
	if (json_object_object_get_ex(doc, "nftables", &r.all) &&
	    json_object_is_type(r.all, json_type_array)) {
		read_all(&r);
		ret = r.short_of_memory ? -ENOMEM : 0;
	}
	free(r.things);
	free(r.jumps);
	json_object_put(doc);
	return ret;
}

void nftlist_free(struct nftlist *list)
{
	free(list->chains);
	free(list->rules);
	*list = (struct nftlist){};
}
