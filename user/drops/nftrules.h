/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the netfilter rules that dropped packets. Lists a namespace's rules over netlink, including
 * those of iptables-nft, before and after the loss, and compares the counters of rules that drop. A
 * rule without a counter is reported as a possible cause.
 */
#ifndef PKTLEDGER_DROPS_NFTRULES_H
#define PKTLEDGER_DROPS_NFTRULES_H

#include <stdbool.h>
#include <stdint.h>

#include "host/netns.h"
#include "drops/stagemap.h"

#define NFT_NAME  64
#define NFT_RULES 64 /* maximum rules in a result */

struct nftrules;

enum nft_kind {
	NFT_RULE_MOVED,	  /* a rule that drops and whose counter moved */
	NFT_RULE_BLIND,	  /* a rule that drops and has no counter */
	NFT_POLICY_BLIND, /* a base chain with policy drop, for which nft shows no counter */
};

struct nft_rule {
	enum nft_kind kind;
	char family[8]; /* "ip", "ip6", "inet", "netdev", "bridge", "arp" */
	char table[NFT_NAME], chain[NFT_NAME];
	uint64_t table_handle; /* a table that is created again has another one */
	uint64_t handle;       /* unique in the table; 0 for a policy */
	char comment[NFT_NAME];
	const char *verdict;	 /* "drop", "reject", "queue"; static */
	uint64_t packets, bytes; /* counter increase; the rule counts a GSO skb as one packet */
	unsigned hooks;		 /* hooks from which it is reached: bits of enum netfilter_hook */
	uint32_t dport; /* port that the rule matches, above 65535 for TCP; 0: any, or unknown */
	bool exact; /* the verdict follows its counter; otherwise it also counts passing packets */
};

struct nft_result {
	struct nft_rule rule[NFT_RULES]; /* rules that moved first, then sorted by packets */
	unsigned n;
	uint64_t window_ns; /* time between the two lists */
	bool late;   /* listed only after the loss: counters are totals and never exact */
	bool legacy; /* iptables-legacy has tables, which nft does not show */
	char problem[160]; /* why data is missing, e.g. nft cannot be run; otherwise "" */
};

struct nftrules *nftrules_new(void);
void nftrules_close(struct nftrules *n); /* NULL is allowed */

/*
 * Lists this namespace's rules for the first time, and returns true. Returns false if they have
 * been listed before, in this namespace and not in a former one with the same inode number. `late`:
 * packets were already lost there, so the counts before the loss are unknown.
 */
bool nftrules_note(struct nftrules *n, uint32_t inum, const struct netns *ns, bool late);

/*
 * Lists the rules a second time (at most once per second) and compares. A namespace that was not
 * noted before is noted now, as late.
 */
void nftrules_compare(struct nftrules *n, uint32_t inum, const struct netns *ns,
		      enum netfilter_hook hook, struct nft_result *out);

/* Formats "rule with handle 6 of chain inet t input (comment): 300 packets". */
void nft_rule_text(const struct nft_rule *r, char *buf, size_t size);

/*
 * Returns the number of nftables chains in the namespace (including those of iptables-nft), either
 * of one type or of all types (NULL), or -errno.
 */
int nft_chains(const struct netns *ns, const char *type);

/* Returns the hook with this name in netfilter_hook_names, or HOOK_NONE. */
enum netfilter_hook nft_hook(const char *name);

#endif
