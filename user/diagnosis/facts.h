/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `check` reads of a host: settings once, counters twice, so that there is a rate. What
 * cannot be read is listed, and the rest is judged.
 */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_H
#define PKTLEDGER_DIAGNOSIS_FACTS_H

#include "diagnosis/facts_cpu.h"
#include "diagnosis/facts_group.h"
#include "diagnosis/facts_link.h"
#include "diagnosis/facts_reader.h"
#include "diagnosis/facts_self.h"
#include "diagnosis/facts_sock.h"
#include "diagnosis/facts_stack.h"
#include "diagnosis/facts_tap.h"
#include "host/counters.h"

#define FACTS_LINKS  64 /* more are left out, and listed as unread */
#define FACTS_UNREAD 48

/* Scopes of the counters. */
#define FACTS_HERE "here" /* the namespace looked at */
#define FACTS_HOST "host"

struct facts_unread {
	char what[64], why[96];
};

struct facts {
	uint64_t window_ns;
	uint16_t port;
	pid_t pid; /* what was asked for; 0: all */

	struct counters_deltas moved;
	struct counters after;
	struct facts_cpus cpus;
	struct facts_link link[FACTS_LINKS];
	unsigned n_links;
	struct facts_stack stack;
	struct facts_socks socks; /* those asked for */
	struct facts_readers readers;
	struct facts_groups groups;
	struct facts_taps taps;

	struct facts_self self;

	struct facts_unread unread[FACTS_UNREAD];
	unsigned n_unread;
};

struct facts_spec {
	const struct netns *ns; /* to look at */
	const char *ifname;	/* NULL: all that are up, but for loopback */
	uint16_t port;
	pid_t pid;
	uint64_t window_ns;
};

/*
 * Reads all of it, and waits for window_ns in between, or until SIGINT, SIGTERM or SIGHUP comes,
 * which the caller has blocked. -ENODEV: no such interface.
 */
int facts_read(const struct facts_spec *spec, struct facts *facts, struct error *err);

void facts_free(struct facts *facts);

/* How much a counter moved, and how far it stands; 0: it is not there. */
uint64_t facts_moved(const struct facts *f, const char *scope, const char *name);
uint64_t facts_total(const struct facts *f, const char *scope, const char *name);

#endif
