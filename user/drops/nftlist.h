/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `nft -j list ruleset` says (libnftables-json(5)), as far as it drops packets: pure, text in,
 * lists out.
 */
#ifndef PKTLEDGER_DROPS_NFTLIST_H
#define PKTLEDGER_DROPS_NFTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drops/nftrules.h"

struct nftlist_chain {
	char family[8], table[NFT_NAME], name[NFT_NAME];
	unsigned hooks; /* bits of enum netfilter_hook: from which its rules are reached */
	bool policy_drop;
};

/* A rule that can end a packet. */
struct nftlist_rule {
	unsigned chain;
	uint64_t handle;
	const char *verdict; /* static */
	bool counts, exact;
	uint64_t packets, bytes;
	char comment[NFT_NAME];
};

struct nftlist {
	struct nftlist_chain *chains; /* sorted by family, table and name */
	struct nftlist_rule *rules;   /* in the order of the ruleset */
	unsigned n_chains, n_rules;
};

/* 0, -EINVAL: not what nft writes, -ENOMEM. To be given to nftlist_free() in any case. */
int nftlist_parse(const char *text, struct nftlist *list);
void nftlist_free(struct nftlist *list);

/*
 * What moved between the lists in the chains that `hook` reaches; HOOK_NONE: any. A rule that was
 * not there before counts from 0. The rules of `before` get sorted. 0 or -ENOMEM.
 */
int nftlist_compare(struct nftlist *before, const struct nftlist *after, enum netfilter_hook hook,
		    struct nft_result *out);

#endif
