/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks up how the host routes and translates lost packets, before advice is given. */
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
 * Reverse route for a source that rp_filter rejected (__fib_validate_source()): either it uses
 * another interface, which loose mode (2) accepts, or it is missing, which loose mode rejects.
 */
struct way_back {
	char source[INET_ADDRSTRLEN]; /* "" if unknown, as for the rest */
	char ifname[IF_NAMESIZE];     /* interface where its packets arrive, "" if unknown */
	char by[IF_NAMESIZE];	      /* interface that the route uses, "" if there is no route */
};

/* Finds the name of an interface in `ns`, "" if not found. */
void device_name(const struct netns *ns, unsigned ifindex, char name[IF_NAMESIZE]);

/* Sets `by` from the routes to the source in `ns`. */
void way_back_read(const struct netns *ns, struct way_back *back);

/* The only link with a smaller MTU than the largest in a namespace. "": none or several. */
struct way_next {
	char ifname[IF_NAMESIZE];
	unsigned mtu;
};

void way_next_read(const struct netns *ns, struct way_next *next);

/*
 * Starts counting, in all namespaces, the sources that reverse path filtering rejects, or the UDP
 * ports without a socket. Uses a BPF program at skb:kfree_skb, because no counter records them.
 * Returns 0, or -errno if the kernel has no drop reasons (added in Linux 5.17), or without CAP_BPF
 * and CAP_PERFMON.
 */
struct survey_bpf;
int way_sources_open(struct survey_bpf **sources, bool of_ports);
void way_sources_close(struct survey_bpf *sources); /* `sources` may be NULL */

/*
 * Finds the source with the most rejected packets in `ns` (inode `inum`), on the interface
 * `ifname` (NULL: any). Waits until `until_ns` (CLOCK_MONOTONIC, 0: do not wait) for enough packets
 * to be sure that it is the most frequent source. Returns false if no packet was seen.
 */
bool way_sources_back(const struct survey_bpf *sources, const struct netns *ns, uint32_t inum,
		      const char *ifname, uint64_t until_ns, struct way_back *back);

/*
 * Returns the port without a socket in the namespace with the inode `inum` to which the most
 * packets were sent, or `port` if any were sent to that. 0 if there was no packet. Waits as
 * way_sources_back() does.
 */
uint16_t way_sources_port(const struct survey_bpf *sources, uint32_t inum, uint16_t port,
			  uint64_t until_ns);

/* Frames that arrive but that nothing in the kernel receives. */
struct way_stray {
	char what[FMT_MAX]; /* "LLDP (0x88cc)", "frames for other MAC addresses", "" if not seen */
	unsigned vlan;	    /* ID without a VLAN interface, 0: other kinds of frames */
};

/*
 * Finds the most frequent kind on an interface in `ns` until `until_ns` (CLOCK_MONOTONIC), using a
 * packet socket (CAP_NET_RAW). Returns false if no such frame arrived.
 */
bool way_stray_read(const struct netns *ns, unsigned ifindex, uint64_t until_ns,
		    struct way_stray *stray);

/*
 * Appends the configured rate of a qdisc in `ns` to its text: "tbf" becomes "tbf rate 1Mbit". For
 * htb, shows the class that dropped the most. Leaves other kinds unchanged.
 */
void way_rate_text(const struct netns *ns, const char *ifname, char *qdisc, size_t size);

/*
 * Finds a process that reads the tun or tap interface `ifname`, preferring one in the namespace
 * with the inode `inum`. Sets "name (pid)", or "" if none is found. `root`: proc_root().
 */
void way_tun_reader(int root, const char *ifname, uint32_t inum, char *out, size_t size);

/* Sets the text of a rule in `ns` as nft prints it, or "" if nft does not print it. */
void way_rule_text(const struct netns *ns, const struct nft_rule *rule, char *out, size_t size);

/* Next hop that is being resolved but does not answer. */
struct way_silent {
	char address[FMT_MAX]; /* "" if not found */
	char ifname[IF_NAMESIZE];
	/* Set by the caller: the next hop's namespace if it differs, and the words to enter it. */
	char netns[OWNER_NETNS], enter[OWNER_ENTER];
};

/*
 * Finds such a next hop in `ns`. If one is being resolved, waits briefly for its answer. Returns
 * false if none was found.
 */
bool way_silent_read(const struct netns *ns, struct way_silent *silent);

/*
 * Destination that NAT rewrites to a nonexistent one. Connection tracking has an entry without a
 * reply (IPS_DST_NAT, not IPS_SEEN_REPLY), and one of these is true: no host answers for the new
 * address, there is no route to it, no port of the bridge that the route uses leads to its MAC
 * address, or the address belongs to this host, in any namespace, and its UDP port is closed.
 */
struct way_dnat {
	char asked[FMT_MAX], backend[FMT_MAX]; /* "198.18.0.9:53", "" if not found */
	char ifname[IF_NAMESIZE]; /* interface without an answer, or the bridge, "" if the
				     port is closed */
	char rule[160];	    /* nftables rule with this backend, "ip nat pre handle 4", or "" */
	char entries[256];  /* command that deletes the entries */
	uint32_t closed_at; /* namespace that has the address, 0 if no host answers for it */
	bool unreachable;   /* there is no route, or the route discards packets */
	bool unbridged;	    /* its neighbour entry is valid, but the bridge has no port for it */
};

#define WAY_ENTRIES 100000 /* larger tables are not searched */

/*
 * Finds the first such destination in `ns`. If a neighbour is being resolved, waits briefly.
 * Returns false if none was found.
 */
bool way_dnat_read(const struct netns *ns, struct way_dnat *dnat);

#endif
