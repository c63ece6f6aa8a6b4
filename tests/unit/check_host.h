/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host as check reads it (tests/fixtures/advice), for tests that need its structs. */
#ifndef PKTLEDGER_CHECK_HOST_H
#define PKTLEDGER_CHECK_HOST_H

#include <stdlib.h>
#include <string.h>

#include "diagnosis/findings.h"
#include "facts_of.h"
#include "diagnosis/judge.h"

struct host {
	struct facts f;
	struct counters before;
};

/* A host with a NIC of 4 of 8 queues on 4 CPUs, one socket, and nothing wrong. */
static inline struct host *healthy_host(void)
{
	struct json_object *o = json_object_from_file("tests/fixtures/advice/host.json");
	struct host *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	if (!o)
		fail_msg("no host.json (run from the top of the tree)");
	facts_load(o, &h->f);
	json_object_put(o);
	return h;
}

/* A counter that has moved by `delta` since, and stood at 1000 before. */
static inline void move(struct host *h, const char *scope, const char *name, uint64_t delta)
{
	counters_add(&h->before, scope, name, 1000);
	counters_add(&h->f.after, scope, name, 1000 + delta);
}

static inline void lose(struct host *h, enum nic_cause cause, enum nic_class class, uint64_t lost)
{
	struct facts_link *l = &h->f.link[0];

	l->loss[l->n_losses++] = (struct link_loss){.cause = cause,
						    .class = class,
						    .counter = "rx_something",
						    .lost = lost,
						    .total = lost + 5};
}

static inline void judge_host(struct host *h, struct check_findings *list)
{
	*list = (struct check_findings){0};
	counters_delta(&h->before, &h->f.after, &h->f.moved);
	judge(&h->f, list);
	for (unsigned i = 0; i < list->n; i++) {
		const struct finding *f = &list->at[i].finding;

		const struct finding_row *row = finding_row(f->id);

		/* Every sentence has its facts. */
		assert_non_null(row);
		if (!f->cause[0] || !f->fix[0])
			fail_msg("%s: a fact is missing: '%s', '%s'", f->id, f->cause, f->fix);
		assert_true(!row->seen || *row->seen == '[' || *fact(f, "seen"));
		assert_true(!row->setting || *row->setting == '[' || *fact(f, "setting"));
	}
}

static inline void end(struct host *h, struct check_findings *list)
{
	check_findings_free(list);
	counters_free(&h->before);
	facts_free(&h->f);
	free(h);
}

static inline const struct check_finding *by_id(const struct check_findings *list, const char *id)
{
	for (unsigned i = 0; i < list->n; i++) {
		if (!strcmp(list->at[i].finding.id, id))
			return &list->at[i];
	}
	return NULL;
}

/* What makes it sick. */

static inline void backlog(struct host *h)
{
	move(h, "host", "softnet:cpu1:dropped", 50);
}

static inline void ring(struct host *h)
{
	lose(h, NIC_RING, NIC_LOSS, 40);
}

static inline void busy(struct host *h)
{
	for (unsigned i = 0; i < 4; i++) {
		h->f.link[0].irq[i].cpu = 0;
		h->f.cpus.at[i].idle = i ? 0.99 : 0;
	}
	h->f.cpus.at[0].softirq = 0.97;
	move(h, "host", "softnet:cpu0:processed", 900000);
}

static inline void conntrack_near(struct host *h)
{
	h->f.stack.conntrack = 900;
}

static inline void tap(struct host *h)
{
	h->f.taps.taps = 1;
	h->f.taps.tap[0] = (struct facts_owner){.pid = 5, .process = "tcpdump"};
}

static inline void slow_cpus(struct host *h)
{
	h->f.cpus.at[1].mhz = h->f.cpus.at[3].mhz = 800;
	move(h, "host", "softnet:cpu0:time_squeeze", 50);
	ring(h);
}

#endif
