// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/nftlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NFT_RULES 64 /* in a result */

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
	int ret = strcmp(x->family, y->family);

	if (!ret)
		ret = strcmp(x->table, y->table);
	return ret ? ret : strcmp(x->name, y->name);
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

void nftrules_result_free(struct nft_result *r)
{
	free(r->rule);
	*r = (struct nft_result){};
}
