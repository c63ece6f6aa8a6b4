/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the host itself says of the way of packets that are lost: asked before anything is advised.
 */
#ifndef PKTLEDGER_DIAGNOSIS_WAY_H
#define PKTLEDGER_DIAGNOSIS_WAY_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "drops/owners.h"
#include "host/netns.h"

/*
 * The route back to a source that reverse path filtering refused (__fib_validate_source()): by
 * another device, which mode 2 accepts, or none, which it does not.
 */
struct way_back {
	char source[INET_ADDRSTRLEN]; /* "": not known, nor is the rest */
	char ifname[IF_NAMESIZE];     /* by which its packets come in; "": not known */
	char by[IF_NAMESIZE];	      /* by which the route leaves; "": there is no route */
};

/* The name of a device of `ns`; "": there is none. */
void device_name(const struct netns *ns, unsigned ifindex, char name[IF_NAMESIZE]);

/* Sets `by` from the routes of `ns`, for the source there. */
void way_back_read(const struct netns *ns, struct way_back *back);

/*
 * Whose packets are refused from now on, in all namespaces: a BPF program at skb:kfree_skb, for no
 * counter has it. 0 or -errno: no drop reasons (Linux 5.17), no CAP_BPF and CAP_PERFMON.
 */
struct survey_bpf;
int way_sources_open(struct survey_bpf **sources);
void way_sources_close(struct survey_bpf *sources); /* NULL is allowed */

/*
 * Of the source of which most were refused in `ns`, whose inode is `inum`, at the device `ifname`
 * (NULL: at any). Waits until `until_ns` (CLOCK_MONOTONIC; 0: does not) for as many packets as tell
 * that it is the most frequent. False: none was seen.
 */
bool way_sources_back(const struct survey_bpf *sources, const struct netns *ns, uint32_t inum,
		      const char *ifname, uint64_t until_ns, struct way_back *back);

/* A next hop that is being asked for, and does not answer. */
struct way_silent {
	char address[FMT_MAX]; /* "": there is none */
	char ifname[IF_NAMESIZE];
	/* Of the caller: where it is, if in another namespace, and how commands enter that one. */
	char netns[OWNER_NETNS], enter[OWNER_ENTER];
};

/* One of `ns`. Waits a moment for the answer if one is being asked for. False: there is none. */
bool way_silent_read(const struct netns *ns, struct way_silent *silent);

/*
 * A destination that NAT changes to one that is not there. Connection tracking has an entry without
 * an answer (IPS_DST_NAT, not IPS_SEEN_REPLY), and either nobody answers for the address that it
 * leads to, or that address is one of this host, in any namespace, and the UDP port is closed.
 */
struct way_dnat {
	char asked[FMT_MAX], backend[FMT_MAX]; /* "198.18.0.9:53"; "": there is none such */
	char ifname[IF_NAMESIZE];	       /* on which nobody answers; "": the port is closed */
	char rule[160];	    /* of nftables that has this backend, "ip nat pre handle 4"; "": none */
	char entries[256];  /* the command that deletes them */
	uint32_t closed_at; /* the namespace that has the address; 0: nobody answers for it */
};

#define WAY_ENTRIES 100000 /* in a table that has more they are not looked for */

/* The first in `ns`. Waits a moment for a neighbour that is being asked for. False: there is none.
 */
bool way_dnat_read(const struct netns *ns, struct way_dnat *dnat);

#endif
