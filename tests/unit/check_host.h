/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host as check reads it: healthy, and what makes it sick. */
#ifndef PKTLEDGER_CHECK_HOST_H
#define PKTLEDGER_CHECK_HOST_H

#include <stdlib.h>
#include <string.h>

#include "diagnosis/findings.h"
#include "facts_of.h"
#include "diagnosis/judge.h"

/* A host with a NIC of 4 of 8 queues on 4 CPUs, one socket, and nothing wrong. */
struct host {
	struct facts f;
	struct counters before;
};

static inline struct host *healthy_host(void)
{
	struct host *h = calloc(1, sizeof(*h));
	struct facts *f = &h->f;
	struct facts_link *l = &f->link[0];

	assert_non_null(h);
	f->window_ns = 1000000000;
	f->self.btf = true;
	f->cpus.n = f->cpus.online = 4;
	for (unsigned i = 0; i < 4; i++) {
		struct facts_cpu *cpu = &f->cpus.at[i];

		*cpu = (struct facts_cpu){.online = true, .ticked = true, .idle = 0.9};
		strcpy(cpu->governor, "powersave");
		cpu->mhz = cpu->mhz_max = 3000;
		strcpy(cpu->idle_state, "C6");
		cpu->idle_latency_us = 100;
	}
	f->n_links = 1;
	strcpy(l->dev.link.ifname, "eth1");
	strcpy(l->dev.driver, "ice");
	l->dev.link.mtu = 1500;
	l->dev.link.rx_queues = 4;
	l->set.ring.known = l->set.channels.known = l->set.coalesce.known = true;
	l->set.pause.known = l->set.rss.known = true;
	l->set.ring.rx = 512;
	l->set.ring.rx_max = 4096;
	l->set.channels.combined = 4;
	l->set.channels.combined_max = 8;
	l->set.coalesce.rx_usecs = 50;
	l->set.rss.entries = 128;
	l->set.rss.used = 4;
	strcpy(l->rps_cpus, "0");
	strcpy(l->qdisc, "fq_codel limit 10240");
	strcpy(l->rp_filter, "2");
	l->dev.link.txqueuelen = 1000;
	l->rx_packets = 100000;
	l->n_irqs = 4;
	for (unsigned i = 0; i < 4; i++)
		l->irq[i] = (struct facts_irq){
			.irq = 64 + i, .fired = 1000, .most = 1000, .cpu = (int)i};
	f->stack = (struct facts_stack){
		.rmem_default = 212992,
		.rmem_max = 212992,
		.wmem_default = 212992,
		.wmem_max = 212992,
		.udp_mem = {1000, 2000, 3000},
		.udp_pages = 10,
		.page_bytes = 4096,
		.max_backlog = 1000,
		.budget = 300,
		.budget_usecs = 2000,
		.flow_entries_known = true,
		.flow_limit_cpus = "f",
		.conntrack = 10,
		.conntrack_max = 1000,
		.frag_high = {4194304, 4194304},
		.neighbours = {10, 10},
		.neighbours_max = {1024, 1024},
	};
	f->socks.n = f->socks.all = 1;
	f->socks.at[0] = (struct facts_sock){.inode = 5,
					     .family = AF_INET,
					     .port = 5001,
					     .rcvbuf = 300000,
					     .sndbuf = 212992,
					     .pid = 77,
					     .process = "reader"};
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

/* What makes it sick, in more than one test. */

static inline void sock_at(struct host *h, uint64_t rcvbuf, uint32_t lost)
{
	struct facts_sock *s = &h->f.socks.at[0];

	s->rcvbuf = rcvbuf;
	s->queued = s->queued_before = rcvbuf;
	s->drops = lost + 10;
	s->lost = lost;
	move(h, "here", "Udp:RcvbufErrors", lost);
	move(h, "here", "Udp:InErrors", lost);
	move(h, "here", "Udp:InDatagrams", 400);
}

static inline void slow_reader(struct host *h)
{
	sock_at(h, 300000, 500);
}

/* Its reader had time to spare, and the buffer was full only for moments. */
static inline void rested(struct host *h)
{
	h->f.socks.at[0].reading = (struct reading){.pid = 77,
						    .process = "reader",
						    .thread = "reader",
						    .threads = 1,
						    .holders = 1,
						    .window_ns = 1000000000,
						    .run_ns = 10000000,
						    .samples = 10};
}

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
