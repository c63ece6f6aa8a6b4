// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/nftrules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "host/counters.h"

#define JUMPS_DEEP 16	      /* NFT_JUMP_STACK_SIZE */
#define RULESET	   "nftables" /* the list of all that it has */

/* A jump or goto, from chain to chain. */
struct jump {
	unsigned from, to;
};

/* A chain, map or counter, to be found by its name. Strings live as long as the document. */
struct thing {
	const char *kind, *family, *table, *name;
	struct json_object *o;
	unsigned hooks; /* of a chain: from which it is reached, bits of enum netfilter_hook */
};

/* Things are known by their number. */
struct reader {
	struct json_object *doc;
	struct list things; /* struct thing, sorted */
	struct list jumps;  /* struct jump */
	struct list *rules; /* struct nft_rule, the result; `hooks`: the chain at first */
};

static bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

enum netfilter_hook nft_hook(const char *name)
{
	for (unsigned h = HOOK_NONE + 1; h < HOOK_COUNT; h++) {
		if (is(name, netfilter_hook_names[h]))
			return (enum netfilter_hook)h;
	}
	return HOOK_NONE;
}

/* Of a base chain: what a packet meets at bridges, or ARP, is not what IP meets. */
static enum netfilter_hook hook_of_chain(struct json_object *o)
{
	const char *family = json_get_text(o, "family"), *hook = json_get_text(o, "hook");
	char name[32];

	if (!is(family, "bridge") && !is(family, "arp"))
		return nft_hook(hook);
	snprintf(name, sizeof(name), "%s %s", family, hook);
	return nft_hook(name);
}

static int compare_things(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;
	int ret = strcmp(x->kind, y->kind);

	ret = ret ? ret : strcmp(x->family, y->family);
	ret = ret ? ret : strcmp(x->table, y->table);
	return ret ? ret : strcmp(x->name, y->name);
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
			enum netfilter_hook hook = hook_of_chain(o);
			struct thing *t;

			if (!o)
				continue;
			t = list_add(&r->things);
			*t = describe(kinds[k], o, json_get_text(o, "name"));
			t->hooks = hook ? 1U << hook : 0;
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

static unsigned number_of(const struct reader *r, const struct thing *t)
{
	return (unsigned)(t - (const struct thing *)r->things.at);
}

/* A statement that ends the packet; else NULL. Jumps are noted. */
static const char *read_verdict(struct reader *r, struct nft_rule *rule, struct json_object *parent,
				const char *kind, struct json_object *o)
{
	static const char *const ends[][2] = {
		{"drop", "DROP"}, {"reject", "REJECT"}, {"queue", "NFQUEUE"}};
	bool xt = is(kind, "xt") && is(json_get_text(o, "type"), "target"); /* of x_tables */
	const char *name = xt ? json_get_text(o, "name") : kind;

	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (is(name, ends[i][xt]))
			return ends[i][0];
	}
	if (is(kind, "jump") || is(kind, "goto")) {
		const struct thing *to = named(r, parent, "chain", json_get_text(o, "target"));

		if (to)
			*(struct jump *)list_add(&r->jumps) =
				(struct jump){rule->hooks, number_of(r, to)};
	}
	return NULL;
}

/* The elements of a verdict map: [[key, {verdict}], ...], here or in a map with a name. */
static const char *read_map(struct reader *r, struct nft_rule *rule, struct json_object *parent,
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

static void read_counter(struct reader *r, struct nft_rule *rule, struct json_object *parent,
			 struct json_object *o)
{
	if (json_object_is_type(o, json_type_string)) {
		const struct thing *counter =
			named(r, parent, "counter", json_object_get_string(o));

		o = counter ? counter->o : NULL;
	}
	if (!json_object_is_type(o, json_type_object))
		return;
	rule->kind = NFT_RULE_MOVED;
	rule->exact = true;
	rule->packets = json_get_u64(o, "packets");
	rule->bytes = json_get_u64(o, "bytes");
}

/* "udp dport 53"; sets and ranges are any port. */
static void read_match(struct nft_rule *rule, struct json_object *match)
{
	struct json_object *what = json_get(json_get(match, "left"), "payload");

	if (is(json_get_text(match, "op"), "==") && is(json_get_text(what, "field"), "dport"))
		rule->dport = (uint16_t)json_get_u64(match, "right");
	if (rule->dport && is(json_get_text(what, "protocol"), "tcp"))
		rule->dport |= 1U << 16;
}

static void read_statements(struct reader *r, struct nft_rule *rule, struct json_object *parent,
			    struct json_object *expr)
{
	for (size_t i = 0; i < json_object_array_length(expr) && !rule->verdict; i++) {
		struct json_object *statement = json_object_array_get_idx(expr, i);

		if (!json_object_is_type(statement, json_type_object))
			continue;
		json_object_object_foreach (statement, kind, o) {
			if (is(kind, "match"))
				read_match(rule, o);
			if (is(kind, "counter"))
				read_counter(r, rule, parent, o);
			else if (is(kind, "vmap"))
				rule->verdict = read_map(r, rule, parent, o);
			else
				rule->verdict = read_verdict(r, rule, parent, kind, o);
			/* between counter and verdict all packets go on through these alone */
			if (is(kind, "vmap") || (!rule->verdict && !is(kind, "counter") &&
						 !is(kind, "log") && !is(kind, "mangle")))
				rule->exact = false;
		}
	}
}

/* A row for what can end packets in a chain. */
static struct nft_rule *add_rule(struct reader *r, const struct thing *chain, enum nft_kind kind)
{
	struct nft_rule *rule = list_add(r->rules);

	rule->kind = kind;
	rule->hooks = number_of(r, chain);
	snprintf(rule->family, sizeof(rule->family), "%s", chain->family);
	snprintf(rule->table, sizeof(rule->table), "%s", chain->table);
	snprintf(rule->chain, sizeof(rule->chain), "%s", chain->name);
	return rule;
}

static void read_rule(struct reader *r, struct json_object *o)
{
	const struct thing *chain = named(r, o, "chain", json_get_text(o, "chain"));
	struct json_object *expr = json_get(o, "expr");
	struct nft_rule *rule;

	if (!chain || !json_object_is_type(expr, json_type_array))
		return;
	rule = add_rule(r, chain, NFT_RULE_BLIND);
	rule->handle = json_get_u64(o, "handle");
	snprintf(rule->comment, sizeof(rule->comment), "%s", json_get_text(o, "comment"));
	read_statements(r, rule, o, expr);
	if (!rule->verdict)
		r->rules->n--;
}

/* A chain is reached from where those that jump to it are, and a rule from where its chain is. */
static void spread_hooks(const struct reader *r)
{
	const struct jump *jumps = r->jumps.at;
	struct thing *things = r->things.at;
	struct nft_rule *rules = r->rules->at;
	bool changed = true;

	if (!things) /* no chains, so no rules either */
		return;
	for (unsigned depth = 0; changed && depth <= JUMPS_DEEP; depth++) {
		changed = false;
		for (unsigned i = 0; i < r->jumps.n; i++) {
			const struct thing *from = &things[jumps[i].from];
			struct thing *to = &things[jumps[i].to];

			changed |= from->hooks & ~to->hooks;
			to->hooks |= from->hooks;
		}
	}
	for (unsigned i = 0; i < r->rules->n; i++)
		rules[i].hooks = things[rules[i].hooks].hooks;
}

int nftlist_parse(const char *text, struct list *rules)
{
	struct reader r = {.doc = json_tokener_parse(text),
			   .things.size = sizeof(struct thing),
			   .jumps.size = sizeof(struct jump),
			   .rules = rules};
	int ret = -EINVAL;

	*rules = (struct list){.size = sizeof(struct nft_rule)};
	if (json_object_is_type(json_get(r.doc, RULESET), json_type_array)) {
		read_things(&r);
		for (size_t i = 0; i < json_get_length(r.doc, RULESET); i++)
			read_rule(&r, json_get(json_get_item(r.doc, RULESET, i), "rule"));
		for (const struct thing *t = r.things.at; number_of(&r, t) < r.things.n; t++) {
			if (is(t->kind, "chain") && is(json_get_text(t->o, "policy"), "drop"))
				add_rule(&r, t, NFT_POLICY_BLIND)->verdict = "drop";
		}
		spread_hooks(&r);
		ret = 0;
	}
	list_free(&r.things);
	list_free(&r.jumps);
	json_object_put(r.doc);
	return ret;
}

static int compare_rules(const void *a, const void *b)
{
	const struct nft_rule *x = a, *y = b;
	int ret = strcmp(x->family, y->family);

	ret = ret ? ret : strcmp(x->table, y->table);
	ret = ret ? ret : strcmp(x->chain, y->chain);
	return ret ? ret : x->handle < y->handle ? -1 : x->handle > y->handle;
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
}

static void put_rules(const struct list *before, const struct list *after, unsigned hooks,
		      enum nft_kind kind, struct nft_result *out)
{
	for (unsigned i = 0; i < after->n; i++) {
		struct nft_rule row = ((const struct nft_rule *)after->at)[i];

		if (row.kind != kind || !(row.hooks & hooks))
			continue;
		if (kind == NFT_RULE_MOVED) {
			const struct nft_rule *was = before->n
							     ? bsearch(&row, before->at, before->n,
								       sizeof(row), compare_rules)
							     : NULL;

			row.packets = counter_moved(was ? was->packets : 0, row.packets);
			row.bytes = counter_moved(was ? was->bytes : 0, row.bytes);
			if (!row.packets)
				continue;
		}
		put(out, &row);
	}
}

static int by_packets(const void *a, const void *b)
{
	const struct nft_rule *x = a, *y = b;

	return x->packets < y->packets ? 1 : x->packets > y->packets ? -1 : 0;
}

void nftlist_compare(struct list *before, const struct list *after, enum netfilter_hook hook,
		     struct nft_result *out)
{
	unsigned hooks = hook ? 1U << hook : ~0U;

	memset(out, 0, sizeof(*out));
	/* on Linux 6.1 stagemap does not always tell them apart */
	if (hook == HOOK_PREROUTING)
		hooks |= 1U << HOOK_INGRESS;
	if (hook == HOOK_POSTROUTING)
		hooks |= 1U << HOOK_EGRESS;
	if (before->n)
		qsort(before->at, before->n, before->size, compare_rules);
	put_rules(before, after, hooks, NFT_RULE_MOVED, out);
	qsort(out->rule, out->n, sizeof(*out->rule), by_packets);
	put_rules(before, after, hooks, NFT_RULE_BLIND, out);
	put_rules(before, after, hooks, NFT_POLICY_BLIND, out);
}

void nft_rule_text(const struct nft_rule *r, char *buf, size_t size)
{
	char what[64] = "the policy", count[64] = "";

	if (r->kind != NFT_POLICY_BLIND)
		snprintf(what, sizeof(what), "rule with handle %llu",
			 (unsigned long long)r->handle);
	if (r->kind == NFT_RULE_MOVED)
		snprintf(count, sizeof(count), ": %s%s", r->exact ? "" : "at most ",
			 fmt_many(r->packets, "packet"));
	snprintf(buf, size, "%s of chain %s %s %s%s%s%s%s", what, r->family, r->table, r->chain,
		 *r->comment ? " (" : "", r->comment, *r->comment ? ")" : "", count);
}
