/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to generic netlink families in a namespace. */
#ifndef PKTLEDGER_HOST_GENL_H
#define PKTLEDGER_HOST_GENL_H

#include <libmnl/libmnl.h>

#include "host/netns.h"

/* Number of the family of that name, or -errno; -ENOENT: not here. Loads no module. */
int genl_family(const struct netns *ns, const char *name);

/* Puts the headers of a request into `buf` of NL_REQUEST_SIZE bytes (host/nl.h). */
struct nlmsghdr *genl_header(char *buf, int family, uint8_t command, uint16_t flags);

/* As nl_query(). The attributes of an answer begin behind a struct genlmsghdr. */
int genl_query(const struct netns *ns, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg);

#endif
