/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts the numbers that the observer counted to a row of text fields. */
#ifndef PKTLEDGER_MONITOR_DESCRIBE_H
#define PKTLEDGER_MONITOR_DESCRIBE_H

#include "base/list.h"
#include "drops/cause.h"
#include "drops/ksym.h"
#include "drops/owners.h"
#include "drops/reason.h"
#include "drops/watch.h"
#include "monitor/table.h"

#define SOCKET_TEXT 64
#define FLOW_TEXT   144

#define DESCRIBE_SOCKS 512 /* entries per cache, each a power of two */
#define DESCRIBE_DEVS  64

/* The caller sets the first four members and sets the rest to zero. */
struct describer {
	const struct watch *watch;
	struct owners *owners; /* NULL: do not look up owners */
	unsigned by;	       /* fields to fill, all other fields may stay empty */

	struct cause_judge causes;
	struct {
		uint64_t cookie;
		struct watch_sock sock;
	} sock[DESCRIBE_SOCKS];
	struct {
		struct watch_dev_key key;
		struct watch_dev dev;
	} dev[DESCRIBE_DEVS];
};

/* A row with the memory for its text fields. */
struct described {
	struct live_row row;
	struct watch_sock sock; /* socket identified by the row's cookie, family 0: no socket */
	struct owner owner;
	char socket[SOCKET_TEXT], flow[FLOW_TEXT];
	char netns[OWNER_NETNS], process[OWNER_TEXT], cpu[12];
	char container[OWNER_CGROUP], pod[CONTAINER_POD + CONTAINER_K8S_NS];
};

/* Clears caches of data that may have changed since the last interval, such as interface names and
 * socket levels. */
void describe_begin(struct describer *d);

/*
 * Returns true if the owner of the entry's socket has not been looked up yet. owners_tick() will
 * look it up.
 */
bool describe_searching(struct describer *d, const struct watch_entry *e);

/* Fills `out`. The row's text fields point into `out` and `d` and are valid until the next call. */
void describe(struct describer *d, const struct watch_entry *e, struct described *out);

/*
 * Completes a socket that is known only by its address (inode 0) by filling in inode, rcvbuf and
 * netns. Returns 0, also if there is nothing to do, -ENOENT if no socket has this address, or
 * -EAGAIN if it should be called again after owners_tick().
 */
int describe_bound(struct owners *owners, uint32_t netns, struct watch_sock *sock);

/* Formats "198.18.0.1:5000", "*:5000" for any address, "[2001:2::1]:5000", or "packet" for
 * AF_PACKET etc. Returns `buf`. */
char *describe_socket(const struct watch_sock *s, char *buf, size_t size);

/* Formats the namespace as its name, as its inode number if it has no name, or as "" for 0. `buf`
 * has OWNER_NETNS bytes. Returns `buf`. */
char *describe_netns(struct owners *owners, uint32_t netns, char *buf);

/* An interval's counts as read from the kernel, possibly in several reads. */
struct entries {
	struct list at;	 /* struct watch_entry, zero-initialise */
	uint64_t others; /* events since the start that were counted without socket and flow */
};

/*
 * Adds an entry to a struct entries, in which each key, flow and CPU is one entry. This is a
 * callback for watch_collect(). If there are too many, new ones are counted without socket and
 * flow.
 */
void entries_add(void *entries, const struct watch_entry *e);

/* Formats "udp 198.18.0.1:40000 > 198.18.0.2:53", without ports if the protocol has no ports, or ""
 * if unknown. Returns `buf`. */
char *describe_flow(const struct watch_flow *f, char *buf, size_t size);

/* Returns one endpoint of a flow, valid for as long as a fmt_buffer(). */
char *describe_end(const struct watch_flow *f, bool source);

#endif
