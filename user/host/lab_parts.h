/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the lab have in common: lab.c builds, lab_ready.c waits, lab_name.c names. */
#ifndef PKTLEDGER_LAB_PARTS_H
#define PKTLEDGER_LAB_PARTS_H

#include "host/lab.h"

/* Fills in what every lab of this topology has in common: names, addresses. No namespaces yet. */
void lab_plan(struct lab *lab, enum lab_topology topology);

/* Reads ifindex, MTU and queues of a planned port whose device exists. 0 or -errno. */
int lab_read_port(struct lab_port *port);

static inline bool lab_has_ip6(const struct lab_port *port)
{
	return !IN6_IS_ADDR_UNSPECIFIED(&port->ip6);
}

/* Waits until the link has its carrier. -ETIMEDOUT. */
int lab_wait_running(const struct lab_port *port, struct error *err);

/* Waits until the carrier is known everywhere; of a veth it is at once. -ETIMEDOUT. */
int lab_wait_told_up(const struct lab_port *port, struct error *err);

/* Waits until the kernel has sent all it sends for new IPv6 addresses. -ETIMEDOUT. */
int lab_wait_quiet(const struct lab_port *port, struct error *err);

/* 0 if a lab of this name can be made; -EEXIST, or -EINVAL for a bad name. */
int lab_check_free(const char *name, struct error *err);

/* Gives the finished lab its name: namespaces in /run/netns, file in LAB_DIR. */
int lab_publish(struct lab *lab, const char *name, struct error *err);

#endif
