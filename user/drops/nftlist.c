// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/nftrules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/list.h"

#define JUMPS_DEEP 16	      /* NFT_JUMP_STACK_SIZE */
#define NFT_RULES  64	      /* in a result */
#define RULESET	   "nftables" /* the list of all that it has */

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
	struct json_object *doc;
	struct list things;	   /* struct thing, sorted */
	struct list jumps;	   /* struct jump */
	struct list chains, rules; /* of the result */
	bool short_of_memory;
};

/* Room for one more; NULL: no memory, which is kept in mind. */
static void *next(struct reader *r, struct list *list)
{
	void *new = list_add(list);

	r->short_of_memory |= !new;
	return new;
}

static bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

static int compare_places(const char *const *a, const char *const *b, unsigned n)
{
	int ret = 0;

	for (unsigned i = 0; i < n && !ret; i++)
		ret = strcmp(a[i], b[i]);
	return ret;
}

static int compare_things(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;
	const char *const left[] = {x->kind, x->family, x->table, x->name};
	const char *const right[] = {y->kind, y->family, y->table, y->name};

	return compare_places(left, right, 4);
}

static struct thing describe(const char *kind, struct json_object *o, const char *name)
{
	return (struct thing){kind, json_get_text(o, "family"), json_get_text(o, "table"), name, o,
			      0};
}

static void read_things(struct reader *r)
{
	static const char *const kinds[] = {"chain", "map", "counter"};

	for (size_t i = 0; i < json_get_length(r->doc, RULESET); i++) {
		for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			struct json_object *o =
				json_get(json_get_item(r->doc, RULESET, i), kinds[k]);
			struct thing *t = o ? next(r, &r->things) : NULL;

			if (t)
				*t = describe(kinds[k], o, json_get_text(o, "name"));
		}
	}
	if (r->things.n)
		qsort(r->things.at, r->things.n, sizeof(struct thing), compare_things);
}

/* The thing of a kind and name in the table of `o`. NULL: none. */
static struct thing *named(const struct reader *r, struct json_object *o, const char *kind,
			   const char *name)
{
	struct thing key = describe(kind, o, name);

	return r->things.n ? bsearch(&key, r->things.at, r->things.n, sizeof(key), compare_things)
			   : NULL;
}

enum netfilter_hook nft_hook(const char *name)
{
	for (unsigned h = HOOK_NONE + 1; h <= HOOK_POSTROUTING; h++) {
		if (is(name, netfilter_hook_name((enum netfilter_hook)h)))
			return (enum netfilter_hook)h;
	}
	/* stagemap cannot tell it from postrouting */
	return is(name, "egress") ? HOOK_POSTROUTING : HOOK_NONE;
}

/* In the order of the things, so that the list is sorted as well. */
static void read_chains(struct reader *r)
{
	struct thing *t = r->things.at;

	for (unsigned i = 0; i < r->things.n; i++, t++) {
		struct nftlist_chain *c;
		enum netfilter_hook hook;

		if (strcmp(t->kind, "chain"))
			continue;
		c = next(r, &r->chains);
		if (!c)
			return;
		t->chain = r->chains.n - 1;
		snprintf(c->family, sizeof(c->family), "%s", t->family);
		snprintf(c->table, sizeof(c->table), "%s", t->table);
		snprintf(c->name, sizeof(c->name), "%s", t->name);
		hook = nft_hook(json_get_text(t->o, "hook"));
		c->hooks = hook ? 1U << hook : 0;
		c->policy_drop = is(json_get_text(t->o, "policy"), "drop");
	}
}

static void read_jump(struct reader *r, struct nftlist_rule *rule, struct json_object *parent,
		      struct json_object *o)
{
	const struct thing *to = named(r, parent, "chain", json_get_text(o, "target"));
	struct jump *j;

	if (!to)
		return;
	j = next(r, &r->jumps);
	if (j)
		*j = (struct jump){rule->chain, to->chain};
}

static const char *xt_verdict(struct json_object *xt)
{
	const char *name = is(json_get_text(xt, "type"), "target") ? json_get_text(xt, "name") : "";

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
	const char *name = json_get_text(vmap, "data"), *found = NULL, *key = "set";
	struct json_object *set = json_get(vmap, "data");

	if (*name) {
		const struct thing *map = named(r, parent, "map", name + (*name == '@'));

		set = map ? map->o : NULL;
		key = "elem";
	}
	for (size_t i = 0; i < json_get_length(set, key); i++) {
		struct json_object *pair = json_get_item(set, key, i);
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
	rule->packets = json_get_u64(o, "packets");
	rule->bytes = json_get_u64(o, "bytes");
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
	const struct thing *chain = named(r, o, "chain", json_get_text(o, "chain"));
	struct json_object *expr = json_get(o, "expr");
	struct nftlist_rule *rule;

	if (!chain || !json_object_is_type(expr, json_type_array))
		return;
	rule = next(r, &r->rules);
	if (!rule)
		return;
	rule->chain = chain->chain;
	rule->handle = json_get_u64(o, "handle");
	snprintf(rule->comment, sizeof(rule->comment), "%s", json_get_text(o, "comment"));
	read_statements(r, rule, o, expr);
	if (!rule->verdict)
		r->rules.n--;
}

/* A chain is reached from wherever those that jump to it are. */
static void spread_hooks(const struct reader *r)
{
	const struct jump *jumps = r->jumps.at;
	struct nftlist_chain *chains = r->chains.at;
	bool changed = true;

	for (unsigned depth = 0; changed && depth <= JUMPS_DEEP; depth++) {
		changed = false;
		for (unsigned i = 0; i < r->jumps.n; i++) {
			const struct nftlist_chain *from = &chains[jumps[i].from];
			struct nftlist_chain *to = &chains[jumps[i].to];

			changed |= from->hooks & ~to->hooks;
			to->hooks |= from->hooks;
		}
	}
}

int nftlist_parse(const char *text, struct nftlist *list)
{
	struct reader r = {.doc = json_tokener_parse(text),
			   .things.size = sizeof(struct thing),
			   .jumps.size = sizeof(struct jump),
			   .chains.size = sizeof(struct nftlist_chain),
			   .rules.size = sizeof(struct nftlist_rule)};
	int ret = -EINVAL;

	if (json_object_is_type(json_get(r.doc, RULESET), json_type_array)) {
		read_things(&r);
		read_chains(&r);
		for (size_t i = 0; i < json_get_length(r.doc, RULESET); i++)
			read_rule(&r, json_get(json_get_item(r.doc, RULESET, i), "rule"));
		spread_hooks(&r);
		ret = r.short_of_memory ? -ENOMEM : 0;
	}
	*list = (struct nftlist){r.chains.at, r.rules.at, r.chains.n, r.rules.n};
	list_free(&r.things);
	list_free(&r.jumps);
	json_object_put(r.doc);
	return ret;
}

void nftlist_free(struct nftlist *list)
{
	free(list->chains);
	free(list->rules);
	*list = (struct nftlist){};
}

/* stagemap takes ingress for prerouting where the driver has set no socket: all real NICs. */
static unsigned wanted_hooks(enum netfilter_hook hook)
{
	switch (hook) {
	case HOOK_NONE:
		return ~0U;
	case HOOK_PREROUTING:
		return 1U << HOOK_PREROUTING | 1U << HOOK_INGRESS;
	default:
		return 1U << hook;
	}
}

static int compare_chains(const void *a, const void *b)
{
	const struct nftlist_chain *x = a, *y = b;
	const char *const left[] = {x->family, x->table, x->name};
	const char *const right[] = {y->family, y->table, y->name};

	return compare_places(left, right, 3);
}

static int compare_rules(const void *a, const void *b)
{
	const struct nftlist_rule *x = a, *y = b;

	if (x->chain != y->chain)
		return x->chain < y->chain ? -1 : 1;
	return x->handle < y->handle ? -1 : x->handle > y->handle;
}

static const struct nftlist_rule *same_rule(const struct nftlist *before,
					    const struct nftlist_chain *chain, uint64_t handle)
{
	const struct nftlist_chain *c;
	struct nftlist_rule key = {.handle = handle};

	if (!before->n_rules)
		return NULL;
	c = bsearch(chain, before->chains, before->n_chains, sizeof(*c), compare_chains);
	if (!c)
		return NULL;
	key.chain = (unsigned)(c - before->chains);
	return bsearch(&key, before->rules, before->n_rules, sizeof(key), compare_rules);
}

static void put_chain(struct nft_rule *out, const struct nftlist_chain *c)
{
	memcpy(out->family, c->family, sizeof(out->family));
	memcpy(out->table, c->table, sizeof(out->table));
	memcpy(out->chain, c->name, sizeof(out->chain));
}

/* Without room the one that moved least is left out. */
static void put(struct nft_result *out, const struct nft_rule *r)
{
	struct nft_rule *least = out->rule;

	if (out->n < NFT_RULES) {
		out->rule[out->n++] = *r;
		return;
	}
	for (unsigned i = 1; i < out->n; i++) {
		if (out->rule[i].packets < least->packets)
			least = &out->rule[i];
	}
	if (least->packets < r->packets)
		*least = *r;
	out->more++;
}

/* What has moved since. A counter below what it was has been reset: it counts from 0. */
static uint64_t moved(uint64_t before, uint64_t after)
{
	return after >= before ? after - before : after;
}

static void put_rules(const struct nftlist *before, const struct nftlist *after, unsigned hooks,
		      bool counting, struct nft_result *out)
{
	for (unsigned i = 0; i < after->n_rules; i++) {
		const struct nftlist_rule *r = &after->rules[i], *was;
		const struct nftlist_chain *c = &after->chains[r->chain];
		struct nft_rule row = {.kind = NFT_RULE_BLIND,
				       .handle = r->handle,
				       .verdict = r->verdict,
				       .exact = r->exact};

		if (!(c->hooks & hooks) || r->counts != counting)
			continue;
		if (counting) {
			was = same_rule(before, c, r->handle);
			row.kind = NFT_RULE_MOVED;
			row.packets = moved(was ? was->packets : 0, r->packets);
			row.bytes = moved(was ? was->bytes : 0, r->bytes);
			if (!row.packets)
				continue;
		}
		put_chain(&row, c);
		memcpy(row.comment, r->comment, sizeof(row.comment));
		put(out, &row);
	}
}

static int by_packets(const void *a, const void *b)
{
	const struct nft_rule *x = a, *y = b;

	return x->packets < y->packets ? 1 : x->packets > y->packets ? -1 : 0;
}

int nftlist_compare(struct nftlist *before, const struct nftlist *after, enum netfilter_hook hook,
		    struct nft_result *out)
{
	unsigned hooks = wanted_hooks(hook);

	memset(out, 0, sizeof(*out));
	out->rule = calloc(NFT_RULES, sizeof(*out->rule));
	if (!out->rule)
		return -ENOMEM;
	if (before->n_rules)
		qsort(before->rules, before->n_rules, sizeof(*before->rules), compare_rules);
	put_rules(before, after, hooks, true, out);
	qsort(out->rule, out->n, sizeof(*out->rule), by_packets);
	put_rules(before, after, hooks, false, out);
	for (unsigned i = 0; i < after->n_chains; i++) {
		const struct nftlist_chain *c = &after->chains[i];
		struct nft_rule row = {.kind = NFT_POLICY_BLIND, .verdict = "drop"};

		if (!c->policy_drop || !(c->hooks & hooks))
			continue;
		put_chain(&row, c);
		put(out, &row);
	}
	return 0;
}
