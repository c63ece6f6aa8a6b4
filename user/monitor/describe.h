/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From what the observer counted, numbers, to a row of the model, texts. */
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

#define DESCRIBE_SOCKS 512 /* places in caches, powers of two */
#define DESCRIBE_DEVS  64

/* Set the first four, the rest to 0. */
struct describer {
	const struct watch *watch;
	struct owners *owners; /* NULL: owners are not searched for */
	unsigned by;	       /* fields that matter: others may stay empty */

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

/* A row with room for its texts. */
struct described {
	struct live_row row;
	struct watch_sock sock; /* of the row's cookie; family 0: none */
	struct owner owner;
	char socket[SOCKET_TEXT], flow[FLOW_TEXT];
	char netns[OWNER_NETNS], process[OWNER_TEXT], cpu[12];
	char container[OWNER_CGROUP], pod[CONTAINER_POD + CONTAINER_K8S_NS];
};

/* Forgets what may have changed since the last interval: names of devices, levels of sockets. */
void describe_begin(struct describer *d);

/* Whether the owner of its socket has not been searched for yet: owners_tick() will. */
bool describe_searching(struct describer *d, const struct watch_entry *e);

/* Texts of the row point into `out` and `d`: they hold until the next call. */
void describe(struct describer *d, const struct watch_entry *e, struct described *out);

/*
 * Completes what is known of a socket by its address alone (inode 0): inode, rcvbuf, netns. 0, also
 * where there is nothing to do; -ENOENT: there is none; -EAGAIN: ask again after owners_tick().
 */
int describe_bound(struct owners *owners, uint32_t netns, struct watch_sock *sock);

/* "198.18.0.1:5000", "*:5000" for any address, "[2001:2::1]:5000"; "packet" for AF_PACKET ... */
char *describe_socket(const struct watch_sock *s, char *buf, size_t size);

/* A namespace by its name, or its number; "" for 0. `buf` of OWNER_NETNS bytes; returned. */
char *describe_netns(struct owners *owners, uint32_t netns, char *buf);

/* What was counted in an interval, as it was read: in parts, if it is read more than once. */
struct entries {
	struct list at;	 /* struct watch_entry; zero-initialise */
	unsigned merged; /* private: as many there were after the last merge */
	uint64_t others; /* events, over all intervals, that lost their socket and flow to others */
};

/*
 * To struct entries, for watch_collect(). Those of one key, flow and CPU may be made one; where
 * there are too many, the smaller ones are counted without their socket and flow.
 */
void entries_add(void *entries, const struct watch_entry *e);

/* "udp 198.18.0.1:40000 > 198.18.0.2:53", without ports where there are none; "" if unknown. */
char *describe_flow(const struct watch_flow *f, char *buf, size_t size);

#endif
