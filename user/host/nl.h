/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Netlink requests in a namespace. Each request opens a socket there. A socket stays in the
 * namespace it was created in, so the thread returns to its own namespace before sending.
 */
#ifndef PKTLEDGER_HOST_NL_H
#define PKTLEDGER_HOST_NL_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "host/netns.h"

#define NL_REQUEST_SIZE 1024 /* bytes, enough for any request made here */

/* Writes a request header into `buf`, which has NL_REQUEST_SIZE bytes. */
struct nlmsghdr *nl_header(char *buf, uint16_t type, uint16_t flags);

/*
 * Sends a request (a dump if `nlh` has NLM_F_DUMP), passes every answer to `cb` (may be NULL) and
 * waits for the acknowledgement. Returns 0 or -errno. On -EINTR the tables changed during the dump,
 * so retry.
 */
int nl_query(const struct netns *ns, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg);

/*
 * Works like nl_query() with another netlink protocol: NETLINK_GENERIC, NETLINK_SOCK_DIAG or
 * NETLINK_XFRM.
 */
int nl_query_bus(const struct netns *ns, int protocol, struct nlmsghdr *nlh, mnl_cb_t cb,
		 void *arg);

/*
 * Runs nl_query_bus() with NLM_F_DUMP and with the list as `arg`, appending to its rows. Retries if
 * the tables changed during the dump. If `cb` returns MNL_CB_ERROR, errno has the error. Returns
 * the number of rows, or -errno and leaves only the rows that the list had before (freed if none).
 */
int nl_dump(const struct netns *ns, int protocol, struct nlmsghdr *nlh, mnl_cb_t cb,
	    struct list *l);

/* Returns an interface's index in the namespace, or -errno (-ENODEV). */
int nl_ifindex(const struct netns *ns, const char *ifname);

/*
 * nl_ioctl_socket() opens a socket in the namespace. nl_ioctl() runs an ioctl() for an interface on
 * such a socket. Both return -errno on failure.
 */
int nl_ioctl_socket(const struct netns *ns);
struct ifreq;
int nl_ioctl(const struct netns *ns, const char *ifname, unsigned long request, struct ifreq *ifr);

/*
 * Returns the attribute of this type after a header of `header` bytes, or inside another attribute
 * (which may be NULL). Returns NULL if not found. The functions below read NULL as 0 or "".
 */
const struct nlattr *nl_attr(const struct nlmsghdr *nlh, size_t header, uint16_t type);
const struct nlattr *nl_nested(const struct nlattr *in, uint16_t type);
uint64_t nl_uint(const struct nlattr *a); /* 8 to 64 bits wide */
void nl_text(const struct nlattr *a, char *buf, size_t size);
bool nl_mac(const struct nlattr *a, uint8_t mac[6]); /* false, without writing, if it is not a MAC
						      * address */

/* Copies the common part of a structure that newer kernels extend at the end. */
void nl_copy(const struct nlattr *a, void *to, size_t size);

/* Generic netlink. */

/*
 * Returns the ID of the family with this name, -ENOENT if it is not loaded, or -errno. Does not
 * load any module.
 */
int genl_family(const struct netns *ns, const char *name);

/*
 * Writes the headers of a request into `buf`, which has NL_REQUEST_SIZE bytes. In an answer, the
 * attributes follow a struct genlmsghdr.
 */
struct nlmsghdr *genl_header(char *buf, int family, uint8_t command, uint16_t flags);

#endif
