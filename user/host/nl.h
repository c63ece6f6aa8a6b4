/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Netlink requests in a namespace: opens a socket per request there. A socket stays in the
 * namespace it was created in, so the thread returns to its own before sending.
 */
#ifndef PKTLEDGER_HOST_NL_H
#define PKTLEDGER_HOST_NL_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "host/netns.h"

#define NL_REQUEST_SIZE 1024 /* room for any request made here */

/* Writes the header of a request into `buf` of NL_REQUEST_SIZE bytes. */
struct nlmsghdr *nl_header(char *buf, uint16_t type, uint16_t flags);

/* Sends and waits for the acknowledgement. Returns 0 or the kernel's -errno. */
int nl_request(const struct netns *ns, struct nlmsghdr *nlh);

/*
 * Sends a request and passes every answer to `cb` (a dump if `nlh` has NLM_F_DUMP). Returns 0 or
 * -errno. -EINTR: the tables changed during the dump, retry.
 */
int nl_query(const struct netns *ns, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg);

/*
 * Acts like nl_query() over another netlink protocol: NETLINK_GENERIC, NETLINK_SOCK_DIAG,
 * NETLINK_XFRM.
 */
int nl_query_bus(const struct netns *ns, int protocol, struct nlmsghdr *nlh, mnl_cb_t cb,
		 void *arg);

/*
 * Runs nl_query_bus() with NLM_F_DUMP and the list as `arg`, appending to existing rows. Retries if
 * the tables changed during the dump. MNL_CB_ERROR of `cb` is errno. Returns the number of rows, or
 * -errno with the list emptied.
 */
int nl_dump(const struct netns *ns, int protocol, struct nlmsghdr *nlh, mnl_cb_t cb,
	    struct list *l);

/* Returns the index of an interface in the namespace, or -errno (-ENODEV). */
int nl_ifindex(const struct netns *ns, const char *ifname);

/*
 * nl_ioctl_socket() opens a socket in the namespace, nl_ioctl() runs an ioctl() on it for an
 * interface. Both return -errno on failure.
 */
int nl_ioctl_socket(const struct netns *ns);
struct ifreq;
int nl_ioctl(const struct netns *ns, const char *ifname, unsigned long request, struct ifreq *ifr);

/*
 * Returns the attribute of this type after a header of `header` bytes, or inside another attribute
 * (NULL: returns NULL). NULL if not found. The functions below read NULL as 0 or "".
 */
const struct nlattr *nl_attr(const struct nlmsghdr *nlh, size_t header, uint16_t type);
const struct nlattr *nl_nested(const struct nlattr *in, uint16_t type);
uint64_t nl_uint(const struct nlattr *a); /* 8 to 64 bits wide */
void nl_text(const struct nlattr *a, char *buf, size_t size);
bool nl_mac(const struct nlattr *a, uint8_t mac[6]); /* false without writing if it is not a MAC
						      * address */

/* Copies the common part of a structure that newer kernels extend at its end. */
void nl_copy(const struct nlattr *a, void *to, size_t size);

/* Generic netlink. */

/*
 * Returns the number of the family with this name, -ENOENT if not loaded, or -errno. Loads no
 * module.
 */
int genl_family(const struct netns *ns, const char *name);

/*
 * Writes the headers of a request into `buf` of NL_REQUEST_SIZE bytes. The attributes of an answer
 * start after a struct genlmsghdr.
 */
struct nlmsghdr *genl_header(char *buf, int family, uint8_t command, uint16_t flags);

#endif
