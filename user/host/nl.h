/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests to netlink in a namespace: one socket per request, opened there. A socket stays in
 * the namespace it was made in, so the thread is back in its own before anything is sent.
 */
#ifndef PKTLEDGER_HOST_NL_H
#define PKTLEDGER_HOST_NL_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "host/netns.h"

#define NL_REQUEST_SIZE 1024 /* room for any request made here */

/* Puts the header of a request into `buf` of NL_REQUEST_SIZE bytes. */
struct nlmsghdr *nl_header(char *buf, uint16_t type, uint16_t flags);

/* Sends and waits for the acknowledgement. 0 or -errno as the kernel answered. */
int nl_request(const struct netns *ns, struct nlmsghdr *nlh);

/*
 * Sends; gives every answer to `cb` (a dump if `nlh` has NLM_F_DUMP). 0 or -errno. -EINTR: the
 * tables changed during the dump; ask again.
 */
int nl_query(const struct netns *ns, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg);

/* The same over another netlink protocol: NETLINK_GENERIC, NETLINK_SOCK_DIAG, NETLINK_XFRM. */
int nl_query_bus(const struct netns *ns, int protocol, struct nlmsghdr *nlh, mnl_cb_t cb,
		 void *arg);

/*
 * nl_query_bus() with NLM_F_DUMP and the list as `arg`, behind the rows that are there; again if
 * the tables changed meanwhile. MNL_CB_ERROR of `cb` is errno. Returns how
 * many rows there are, or -errno; none are left then.
 */
int nl_dump(const struct netns *ns, int protocol, struct nlmsghdr *nlh, mnl_cb_t cb,
	    struct list *l);

/* Index of an interface in the namespace, or -errno (-ENODEV). */
int nl_ifindex(const struct netns *ns, const char *ifname);

/* A socket of the namespace, or -errno; and what ioctl() returns on one for a device, or -errno. */
int nl_ioctl_socket(const struct netns *ns);
struct ifreq;
int nl_ioctl(const struct netns *ns, const char *ifname, unsigned long request, struct ifreq *ifr);

/*
 * Of an answer: the attribute of this type behind a header of so many bytes, or in another
 * attribute (NULL: in none). NULL: there is none. Those below read what is NULL as 0 or "".
 */
const struct nlattr *nl_attr(const struct nlmsghdr *nlh, size_t header, uint16_t type);
const struct nlattr *nl_nested(const struct nlattr *in, uint16_t type);
uint64_t nl_uint(const struct nlattr *a); /* of 8 to 64 bits */
void nl_text(const struct nlattr *a, char *buf, size_t size);
bool nl_mac(const struct nlattr *a, uint8_t mac[6]); /* false, and nothing is written: it is none */

/* Copies what both sides know of a structure that kernels have extended at its end. */
void nl_copy(const struct nlattr *a, void *to, size_t size);

/* Generic netlink. */

/* Number of the family of that name, or -errno; -ENOENT: not here. Loads no module. */
int genl_family(const struct netns *ns, const char *name);

/*
 * Puts the headers of a request into `buf` of NL_REQUEST_SIZE bytes. The attributes of an answer
 * begin behind a struct genlmsghdr.
 */
struct nlmsghdr *genl_header(char *buf, int family, uint8_t command, uint16_t flags);

#endif
