/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the host's view of the path of lost packets, before advice is given. */
#ifndef PKTLEDGER_DIAGNOSIS_WAY_H
#define PKTLEDGER_DIAGNOSIS_WAY_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "drops/nftrules.h"
#include "drops/owners.h"
#include "host/netns.h"

/*
 * The reverse route of a source that rp_filter rejected (__fib_validate_source()): through another
 * interface, which loose mode (2) accepts, or missing, which it does not.
 */
struct way_back {
	char source[INET_ADDRSTRLEN]; /* "" if unknown, like the rest */
	char ifname[IF_NAMESIZE];     /* interface on which its packets arrive, "" if unknown */
	char by[IF_NAMESIZE];	      /* interface of the route, "" without a route */
};

/* Finds the name of an interface of `ns`, "" if not found. */
void device_name(const struct netns *ns, unsigned ifindex, char name[IF_NAMESIZE]);

/* Sets `by` from the routes of `ns` for the source. */
void way_back_read(const struct netns *ns, struct way_back *back);

/*
 * Counts rejected sources from now on, in all namespaces: a BPF program at skb:kfree_skb, because
 * no counter has the source. Returns 0 or -errno: no drop reasons (Linux 5.17), no CAP_BPF and
 * CAP_PERFMON.
 */
struct survey_bpf;
int way_sources_open(struct survey_bpf **sources);
void way_sources_close(struct survey_bpf *sources); /* NULL is allowed */

/*
 * Finds the source with the most rejected packets in `ns`, whose inode is `inum`, at the interface
 * `ifname` (NULL: any). Waits until `until_ns` (CLOCK_MONOTONIC, 0: no wait) for enough packets to
 * tell that it is the most frequent. Returns false if no packet was seen.
 */
bool way_sources_back(const struct survey_bpf *sources, const struct netns *ns, uint32_t inum,
		      const char *ifname, uint64_t until_ns, struct way_back *back);

/* Frames that arrive and that no part of the kernel takes. */
struct way_stray {
	char what[FMT_MAX]; /* "LLDP (0x88cc)", "frames for other MAC addresses", "" if not seen */
	unsigned vlan;	    /* ID for which there is no VLAN interface, 0: another kind */
};

/*
 * Finds the most frequent kind at an interface of `ns` until `until_ns` (CLOCK_MONOTONIC), with a
 * packet socket (CAP_NET_RAW). Returns false if no such frame arrived.
 */
bool way_stray_read(const struct netns *ns, unsigned ifindex, uint64_t until_ns,
		    struct way_stray *stray);

/* Sets the text of a rule of `ns` as nft prints it, "" if nft does not. */
void way_rule_text(const struct netns *ns, const struct nft_rule *rule, char *out, size_t size);

/* A next hop that is being resolved and does not answer. */
struct way_silent {
	char address[FMT_MAX]; /* "" if not found */
	char ifname[IF_NAMESIZE];
	/*
	 * Set by the caller: the next hop's namespace if it is another one, and the words to enter
	 * it.
	 */
	char netns[OWNER_NETNS], enter[OWNER_ENTER];
};

/*
 * Finds such a next hop of `ns`. Waits a moment for the answer if one is being resolved. Returns
 * false if not found.
 */
bool way_silent_read(const struct netns *ns, struct way_silent *silent);

/*
 * A destination that NAT changes to a missing destination. Connection tracking has an entry without
 * an answer (IPS_DST_NAT, not IPS_SEEN_REPLY), and either no host answers for the new address, or
 * no route leads to it, or the address belongs to this host, in any namespace, and the UDP port is
 * closed.
 */
struct way_dnat {
	char asked[FMT_MAX], backend[FMT_MAX]; /* "198.18.0.9:53", "" if not found */
	char ifname[IF_NAMESIZE];	       /* interface without an answer, "" if the port is
					        * closed */
	char rule[160];	    /* nftables rule with this backend, "ip nat pre handle 4", or "" */
	char entries[256];  /* the command that deletes the entries */
	uint32_t closed_at; /* namespace that has the address, 0 if no host answers for it */
	bool unreachable;   /* there is no route, or one that discards packets */
};

#define WAY_ENTRIES 100000 /* larger tables are not searched */

/*
 * Finds the first such destination in `ns`. Waits a moment for a neighbour that is being resolved.
 * Returns false if not found.
 */
bool way_dnat_read(const struct netns *ns, struct way_dnat *dnat);

#endif
