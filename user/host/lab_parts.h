/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the lab have in common: lab.c builds, of the parts in lab_link.c; lab_ready.c
 * waits, lab_name.c names.
 */
#ifndef PKTLEDGER_HOST_LAB_PARTS_H
#define PKTLEDGER_HOST_LAB_PARTS_H

#include "host/lab.h"

/* Fills in what every lab of this topology has in common: names, addresses. No namespaces yet. */
void lab_plan(struct lab *lab, enum lab_topology topology);

/* Reads ifindex, MTU and queues of a planned port whose device exists. 0 or -errno. */
int lab_read_port(struct lab_port *port);

/* A namespace whose devices say nothing by themselves; `router`: it forwards. */
int lab_make_namespace(struct netns *ns, bool router, struct error *err);

/* A veth pair between two planned ports, up, with what lab_read_port() reads. */
int lab_make_link(struct lab_port *a, struct lab_port *b, unsigned queues, unsigned mtu,
		  struct error *err);

/* The same of two devices that exist. */
int lab_set_up_link(struct lab_port *a, struct lab_port *b, unsigned mtu, struct error *err);

/*
 * Waits for the carrier and makes neighbours of the two, with their addresses. These come last:
 * with the carrier there, each IPv6 address is announced once, at once.
 */
int lab_join_ends(struct lab_port *a, struct lab_port *b, struct error *err);

/* From `p` to the network of `far`, by way of `router`. */
int lab_add_route(const struct lab_port *p, const struct lab_port *router,
		  const struct lab_port *far, struct error *err);

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
