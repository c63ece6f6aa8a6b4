/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The UDP sockets of a namespace, who has them, and how they are served. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_SOCK_H
#define PKTLEDGER_DIAGNOSIS_FACTS_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/netns.h"

#define FACTS_SOCKS 512 /* more are counted, not judged */

struct facts_sock {
	uint64_t inode;
	uint64_t cookie; /* 0: not known */
	int family;	 /* AF_INET, AF_INET6 */
	uint16_t port;
	bool connected;
	uint64_t queued;	/* bytes of truesize waiting (SK_MEMINFO_RMEM_ALLOC) */
	uint64_t queued_before; /* a window ago */
	uint64_t truesize;	/* bytes that a waiting packet takes, of the mean; 0: not known */
	uint64_t rcvbuf;	/* as getsockopt(SO_RCVBUF) tells; 0: not known */
	uint64_t sndbuf;	/* as getsockopt(SO_SNDBUF) tells; 0: not known */
	uint32_t drops;		/* since it was opened */
	uint32_t lost;		/* in the window */
	bool reads_known;
	uint64_t reads; /* calls that took one from it in the window; merged by UDP_GRO are one */

	/* Its owner; pid 0: not found. */
	pid_t pid;
	char process[16]; /* name */
	char group[256];  /* its control group */
	bool throttled_known;
	uint64_t periods, throttled, throttled_ns; /* of the group, in the window */
};

struct facts_socks {
	uint16_t port; /* on which they have to be; 0: any */
	unsigned all;  /* of the namespace, on any port */
	unsigned n;
	unsigned more;	  /* that are not in the list, those first that neither lost nor wait */
	bool more_lose;	  /* not only such are left out */
	unsigned settled; /* private: entries before are not replaced */
	bool no_buffer;	  /* rcvbuf is unknown: the kernel has no udp_diag */
	struct facts_sock at[FACTS_SOCKS];
};

/*
 * The UDP sockets of `ns` on this port (0: any), by sock_diag; where the kernel has no udp_diag,
 * from the files. 0 or -errno.
 */
int facts_socks_read(const struct netns *ns, uint16_t port, struct facts_socks *socks);

/* /proc/net/udp and udp6; appends. Pure. */
void facts_socks_parse(struct facts_socks *socks, int family, const char *text);

/*
 * What the sockets of `after` lost since `before`, by inode; of those opened meanwhile, all. What
 * is not known because the list was full is 0.
 */
void facts_socks_rates(const struct facts_socks *before, struct facts_socks *after);

/* Leaves only those of this process. */
void facts_socks_only(struct facts_socks *socks, pid_t pid);

#endif
