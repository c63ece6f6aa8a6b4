/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fragments of IP that wait for the rest of their datagram. */
#ifndef PKTLEDGER_HOST_REASSEMBLY_H
#define PKTLEDGER_HOST_REASSEMBLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "host/netns.h"

/*
 * Datagrams of both families that are incomplete in a namespace: `inuse` of FRAG and FRAG6 in
 * /proc/net/sockstat and sockstat6. 0 if it cannot be read.
 */
uint64_t reassembly_queues(const struct netns *ns);

/*
 * How long the rest is waited for, whole seconds as the sysctls have it. -errno of the first
 * that fails; a kernel without IPv6 is none.
 */
int reassembly_set_time(const struct netns *ns, unsigned seconds);

/*
 * The largest UDP payload whose fragments are all full at this MTU: a router then handles the
 * fewest packets for the most bytes. Where two do not fit in a datagram: what one packet holds.
 * 0: not even that.
 */
unsigned reassembly_best_payload(bool ipv6, unsigned mtu);

/* The MTU of the route to `to` in this namespace, as IP_MTU of a connected socket; 0: unknown.
 */
unsigned reassembly_path_mtu(const struct endpoint *to);

/* Whether datagrams of so many bytes travel to `to` in fragments, as far as is known. */
bool reassembly_fragments(const struct endpoint *to, unsigned payload);

#endif
