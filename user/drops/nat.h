/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds where this host translates addresses, and attaches the programs that report the tuples of
 * its packets before they are lost (bpf/nat.bpf.h). They run at netfilter's hook `input`, after all
 * other programs: BPF_LINK_TYPE_NETFILTER, Linux 6.4 with CONFIG_NETFILTER_BPF_LINK.
 *
 * A namespace counts if it has a chain of type nat or a table `nat` of x_tables when nat_find() is
 * called. NAT that is configured later is not followed, and neither is NAT by tc or an XDP program.
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

/* Prepares the program for loading as BPF_PROG_TYPE_NETFILTER, which is missing in libbpf 1.1. */
void nat_prepare(const struct nat *n, struct bpf_program *prog);

/* Attaches the program in the namespaces with NAT, for IPv4 and IPv6. */
void nat_attach(struct nat *n, const struct bpf_program *prog);

/*
 * Returns the number of namespaces with NAT in which it is not attached: not supported by the
 * kernel, or a missing capability.
 */
unsigned nat_unseen(const struct nat *n);

/* Packets of EXPR in translated connections, in both directions. */
struct nat_translation {
	enum nat_kind kind;	  /* translated end, as seen from the first packet */
	struct endpoint from, to; /* for a source without its port */
	uint64_t packets;
};

/* Reads at most `n` entries of the map `translations`, largest first. Returns their number. */
unsigned nat_read(const struct bpf_map *map, struct nat_translation *out, unsigned n);

/* Detaches. NULL is allowed. */
void nat_close(struct nat *n);

#endif
