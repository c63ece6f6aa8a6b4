/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which rules of netfilter dropped packets: `nft -j list ruleset` in the namespace, before and
 * after; those of iptables-nft are in it too. The counters of rules that drop are compared. A rule
 * without a counter cannot be said to have dropped anything: it is named as one that could have.
 *
 * All work is done by a thread, with a limit for time and size, so no ruleset holds up anything.
 */
#ifndef PKTLEDGER_DROPS_NFTRULES_H
#define PKTLEDGER_DROPS_NFTRULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
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

/* Starts the thread. NULL: it cannot. */
struct nftrules *nftrules_new(void);

/*
 * Takes the first list of this namespace, now and in the thread; nothing is done if it has one. The
 * best time is before the first packet; with a namespace that appears later, its first drop.
 * `ns` is duplicated, and held until the list is there: no longer, for that keeps it alive.
 * -ENOSPC: too many namespaces.
 */
int nftrules_note(struct nftrules *n, uint32_t inum, const struct netns *ns);

bool nftrules_known(struct nftrules *n, uint32_t inum); /* was noted */

/* Waits until all first lists are there, at most so long. False: they are not. What comes is late,
 */
bool nftrules_wait(struct nftrules *n, int timeout_ms);

/* but not where it came before the first loss: that was at `since_ns` (clock_now()) or after. */
void nftrules_lost(struct nftrules *n, uint32_t inum, uint64_t since_ns);

/*
 * Takes the second list of the namespace and compares; waits at most `timeout_ms`, also for the
 * first list.
 */
void nftrules_compare(struct nftrules *n, uint32_t inum, const struct netns *ns,
		      enum netfilter_hook hook, int timeout_ms, struct nft_result *out);

/* "rule with handle 6 of chain inet t input (comment): 300 packets" */
void nft_rule_text(const struct nft_rule *r, char *buf, size_t size);

void nftrules_close(struct nftrules *n);

/*
 * How many chains of nftables (iptables-nft's among them) the namespace has, of the type, or of all
 * (NULL); or -errno.
 */
int nft_chains(const struct netns *ns, const char *type);

/* The hook that netfilter_hook_names calls so; HOOK_NONE: none. */
enum netfilter_hook nft_hook(const char *name);

/*
 * What `nft -j list ruleset` says (libnftables-json(5)), as far as it drops packets: pure, text in,
 * list out. For nftrules.c and tests. A rule with a counter is of the kind NFT_RULE_MOVED, with its
 * count.
 */

/*
 * Rows of struct nft_rule in the order of the ruleset, behind them the policies; list_free() in any
 * case. 0, -EINVAL: not what nft writes.
 */
int nftlist_parse(const char *text, struct list *rules);

/*
 * What moved between two such lists in the chains that `hook` reaches; HOOK_NONE: any. A rule that
 * was not there before counts from 0. `before` gets sorted.
 */
void nftlist_compare(struct list *before, const struct list *after, enum netfilter_hook hook,
		     struct nft_result *out);

#endif
