/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The netfilter rules that dropped packets: the rules of a namespace are listed over netlink, those of
 * iptables-nft included, before and after, and the counters of rules that drop are compared. A rule
 * without a counter is named as one that could have dropped.
 */
#ifndef PKTLEDGER_DROPS_NFTRULES_H
#define PKTLEDGER_DROPS_NFTRULES_H

#include <stdbool.h>
#include <stdint.h>

#include "host/netns.h"
#include "drops/stagemap.h"

#define NFT_NAME  64
#define NFT_RULES 64 /* in a result */

struct nftrules;

enum nft_kind {
	NFT_RULE_MOVED,	  /* a rule that drops, whose counter moved */
	NFT_RULE_BLIND,	  /* a rule that drops and has no counter */
	NFT_POLICY_BLIND, /* a base chain whose policy is drop; nft shows no counter for it */
};

struct nft_rule {
	enum nft_kind kind;
	char family[8]; /* "ip", "ip6", "inet", "netdev", "bridge", "arp" */
	char table[NFT_NAME], chain[NFT_NAME];
	uint64_t handle; /* 0 for a policy */
	char comment[NFT_NAME];
	const char *verdict;	 /* "drop", "reject", "queue"; static */
	uint64_t packets, bytes; /* that its counter has moved by; a GSO skb is one packet to it */
	unsigned hooks;		 /* bits of enum netfilter_hook: from which it is reached */
	uint32_t dport; /* the one that it asks for, TCP's beyond 65535; 0: any, or not known */
	bool exact; /* the verdict follows its counter; else it counts what is not dropped, too */
};

struct nft_result {
	struct nft_rule rule[NFT_RULES]; /* those that moved first, most packets first */
	unsigned n;
	uint64_t window_ns; /* between the lists */
	bool late;   /* no list is of before the loss: counters are whole, and none is exact */
	bool legacy; /* tables of iptables-legacy are there, which nft does not show */
	char problem[160]; /* why not all is known, e.g. that nft cannot be run; else "" */
};

struct nftrules *nftrules_new(void);
void nftrules_close(struct nftrules *n); /* NULL is allowed */

/*
 * Lists the rules of this namespace for the first time; nothing is done if they were listed. `late`:
 * packets have been lost there, so what a counter counted before them is not known.
 */
void nftrules_note(struct nftrules *n, uint32_t inum, const struct netns *ns, bool late);

bool nftrules_known(const struct nftrules *n, uint32_t inum); /* was noted */

/*
 * Lists them for the second time (at most once a second) and compares. A namespace that was not noted
 * is, late.
 */
void nftrules_compare(struct nftrules *n, uint32_t inum, const struct netns *ns,
		      enum netfilter_hook hook, struct nft_result *out);

/* "rule with handle 6 of chain inet t input (comment): 300 packets" */
void nft_rule_text(const struct nft_rule *r, char *buf, size_t size);

/*
 * How many chains of nftables (iptables-nft's among them) the namespace has, of the type, or of all
 * (NULL); or -errno.
 */
int nft_chains(const struct netns *ns, const char *type);

/* The hook that netfilter_hook_names calls so; HOOK_NONE: none. */
enum netfilter_hook nft_hook(const char *name);

#endif
