/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds where this host translates addresses, and attaches the programs that report the tuples of
 * its packets before they are lost (bpf/nat.bpf.h). The programs run at netfilter's `input` hook,
 * after all others: BPF_LINK_TYPE_NETFILTER, Linux 6.4 with CONFIG_NETFILTER_BPF_LINK.
 *
 * A namespace counts if it has a chain of type nat or an x_tables table `nat` when nat_find() is
 * called. NAT configured later is not tracked, nor is NAT by tc or an XDP program.
 */
#ifndef PKTLEDGER_DROPS_NAT_H
#define PKTLEDGER_DROPS_NAT_H

#include <stdint.h>

#include "base/num.h"
#include "drops/reason.h"
#include "filter_abi.h"
#include "watch_abi.h"

struct bpf_map;
struct bpf_program;
struct nat;

/* Returns NULL if no namespace has NAT. */
struct nat *nat_find(const struct reasons *r);

/*
 * Prepares the program for loading as BPF_PROG_TYPE_NETFILTER, which libbpf 1.1 does not support.
 */
void nat_prepare(const struct nat *n, struct bpf_program *prog);

/* Attaches the program in the namespaces with NAT, for IPv4 and IPv6. */
void nat_attach(struct nat *n, const struct bpf_program *prog);

/*
 * Returns the number of NAT namespaces in which the program is not attached, because the kernel
 * does not support it or a capability is missing.
 */
unsigned nat_unseen(const struct nat *n);

/* EXPR's packets in translated connections, in both directions. */
struct nat_translation {
	enum nat_kind kind;	  /* translated end, as seen from the connection's first packet */
	struct endpoint from, to; /* a source is stored without its port */
	uint64_t packets;
};

/* Reads up to `n` entries of the map `translations`, largest first. Returns how many it read. */
unsigned nat_read(const struct bpf_map *map, struct nat_translation *out, unsigned n);

/* Detaches. NULL is allowed. */
void nat_close(struct nat *n);

#endif
