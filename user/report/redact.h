/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes out of documents what tells whose host it is: names of hosts, namespaces, processes,
 * cgroups, containers, pods and files, addresses of IP and of Ethernet, command lines. Each becomes
 * a name of its own ("host-1", "addr-3"), the same wherever it comes again: every string of a
 * document is searched for them, but for the words of pktledger and of the kernel. Ports,
 * interfaces, stages, functions of the kernel, counts and times stay.
 */
#ifndef PKTLEDGER_REPORT_REDACT_H
#define PKTLEDGER_REPORT_REDACT_H

#include <json-c/json.h>

struct redact;

struct redact *redact_new(void); /* NULL: no memory */
void redact_free(struct redact *r);

/* To be called for all documents before redact_apply() is, so that each name is known. */
void redact_learn(struct redact *r, const struct json_object *document);

/* Changes it in place. */
void redact_apply(struct redact *r, struct json_object *document);

#endif
