// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts.h"

#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "diagnosis/facts_owner.h"
#include "diagnosis/facts_queue.h"
#include "diagnosis/facts_reads.h"
#include "host/nl.h"
#include "base/proc.h"

#define TICK_NS 100000000

/* What has two samples. */
struct moment {
	uint64_t time_ns;
	struct counters counters;
	struct cpu_sample cpus;
	char *interrupts; /* NULL: not readable */
	struct facts_socks socks;
};

struct reader {
	const struct facts_spec *spec;
	struct facts *f;
	struct netns host;     /* NETNS_NONE: the thread's */
	int root;	       /* proc_root() */
	struct owners *owners; /* NULL: not known */
	struct facts_watch *watch;
	struct facts_reads *reads; /* NULL: not here */
	struct moment before, after;
	char name[FACTS_LINKS][16];
	const char *names[FACTS_LINKS + 1];
};

static void unread(struct facts *f, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void unread(struct facts *f, const char *what, const char *fmt, ...)
{
	struct facts_unread *u = &f->unread[f->n_unread];
	va_list args;

	if (f->n_unread == FACTS_UNREAD)
		return;
	f->n_unread++;
	snprintf(u->what, sizeof(u->what), "%s", what);
	va_start(args, fmt);
	vsnprintf(u->why, sizeof(u->why), fmt, args);
	va_end(args);
}

static void unread_if(struct facts *f, int ret, const char *what)
{
	if (ret)
		unread(f, what, "%s", strerror(-ret));
}

/*
 * The namespace of PID 1 has the settings that are one for the host. Where it may not be opened, or
 * in a container with a PID 1 of its own, what this one shows has to do.
 */
static void open_host(struct reader *r)
{
	struct error ignored = {};

	if (netns_open(&r->host, "/proc/1/ns/net", &ignored))
		r->host = NETNS_NONE;
}

static int list_links(struct reader *r, struct error *err)
{
	struct if_nameindex *list;
	unsigned more = 0;
	int saved = netns_push(r->spec->ns);

	if (saved < 0)
		return error_set(err, STATUS_FAILED, saved, NULL,
				 "cannot enter the network namespace: %s", strerror(-saved));
	list = if_nameindex();
	netns_pop(saved);
	for (struct if_nameindex *i = list; i && i->if_index; i++) {
		struct netdev dev;

		if (r->spec->ifname && strcmp(r->spec->ifname, i->if_name))
			continue;
		if (netdev_get(r->spec->ns, i->if_name, &dev))
			continue;
		if (!r->spec->ifname && (dev.loopback || !(dev.flags & IFF_UP)))
			continue;
		if (r->f->n_links == FACTS_LINKS) {
			more++;
			continue;
		}
		snprintf(r->name[r->f->n_links], sizeof(r->name[0]), "%s", i->if_name);
		r->names[r->f->n_links] = r->name[r->f->n_links];
		r->f->n_links++;
	}
	if (list)
		if_freenameindex(list);
	if (more)
		unread(r->f, "interfaces", "%u more than %d; choose by -i", more, FACTS_LINKS);
	if (r->spec->ifname && !r->f->n_links)
		return error_set(err, STATUS_FAILED, -ENODEV, "ip link shows those there are",
				 "there is no interface %s here", r->spec->ifname);
	return 0;
}

static int take_moment(struct reader *r, struct moment *m)
{
	const struct counters_scope scope = {FACTS_HERE, r->spec->ns, r->names,
					     COUNTERS_RUN | COUNTERS_QUEUES};
	int ret = counters_read(&m->counters, &scope, 1);

	if (ret)
		return ret;
	cpu_sample_read(&m->cpus);
	file_read("/proc/interrupts", &m->interrupts, NULL);
	ret = facts_socks_read(r->spec->ns, r->spec->port, &m->socks);
	m->time_ns = clock_now();
	return ret;
}

static void name_owners(struct reader *r, struct facts_socks *socks)
{
	if (facts_holders_find(r->owners, socks, r->spec->pid) == -EACCES)
		unread(r->f, "owners of sockets", "processes of others; needs CAP_SYS_PTRACE");
}

/*
 * The window, or less if a signal ends it: what was seen until then is judged. Readers are looked
 * at meanwhile.
 */
static void wait_window(const struct facts_spec *spec, struct facts_watch *watch)
{
	uint64_t end = clock_now() + spec->window_ns;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	for (;;) {
		uint64_t now = clock_now(), left = now < end ? end - now : 0;
		struct timespec t = {.tv_nsec = TICK_NS};

		if (left < TICK_NS)
			t.tv_nsec = (long)left;
		if (sigtimedwait(&set, NULL, &t) >= 0)
			return;
		if (watch)
			facts_watch_tick(watch);
		if (left <= TICK_NS)
			return;
	}
}

static void unread_link(struct facts *f, const struct facts_link *link)
{
	const struct netdev_settings *s = &link->set;
	char what[64];

	/* Devices without hardware have none of these, and need none. */
	if (!link->dev.driver[0] || (!s->ring.known && !link->n_irqs))
		return;
	snprintf(what, sizeof(what), "%s", link->dev.ifname);
	if (!s->ring.known || !s->channels.known || !s->coalesce.known)
		unread(f, what, "driver %s does not tell:%s%s%s", link->dev.driver,
		       s->ring.known ? "" : " rings", s->channels.known ? "" : " channels",
		       s->coalesce.known ? "" : " coalescing");
}

static uint64_t link_moved(const struct facts *f, const char *ifname, const char *counter)
{
	char name[COUNTER_NAME_LEN];

	snprintf(name, sizeof(name), "%s:%s", ifname, counter);
	return facts_moved(f, FACTS_HERE, name);
}

static void join_links(struct reader *r)
{
	struct facts *f = r->f;

	for (unsigned i = 0; i < f->n_links; i++) {
		struct facts_link *link = &f->link[i];
		unsigned irq[FACTS_IRQS];
		unsigned n = irq_numbers(r->spec->ns, r->name[i], irq, FACTS_IRQS);

		link->rx_packets = link_moved(f, r->name[i], "rx_packets");
		link->tx_packets = link_moved(f, r->name[i], "tx_packets");
		unread_if(f,
			  facts_link_rates(
				  link,
				  counters_device(&r->before.counters, FACTS_HERE, r->name[i], 0),
				  &f->after.devices[i]),
			  r->name[i]);
		if (n && r->before.interrupts && r->after.interrupts)
			link->n_irqs = irq_rates(r->before.interrupts, r->after.interrupts, irq, n,
						 link->irq);
		irq_affinities(r->root, link->irq, link->n_irqs);
		unread_link(f, link);
	}
	if (!r->before.interrupts)
		unread(f, "/proc/interrupts", "not readable");
}

/* What a packet takes in a full queue, only where that is worth a BPF program. */
static void count_packets(struct reader *r, struct facts_socks *socks)
{
	bool full = false;

	for (unsigned i = 0; i < socks->n; i++)
		full |= socks->at[i].cookie && socks->at[i].lost && socks->at[i].queued;
	if (full)
		unread_if(r->f, facts_queues_read(r->spec->ns, socks), "packets in sockets");
}

static int join(struct reader *r)
{
	struct facts *f = r->f;
	int ret = counters_delta(&r->before.counters, &r->after.counters, &f->moved);

	if (ret)
		return ret;
	f->window_ns = r->after.time_ns - r->before.time_ns;
	f->after = r->after.counters; /* taken over */
	r->after.counters = (struct counters){0};
	facts_cpus_rates(&f->cpus, &r->before.cpus, &r->after.cpus);
	facts_cpus_read(r->root, &f->cpus);
	join_links(r);
	facts_socks_rates(&r->before.socks, &r->after.socks);
	count_packets(r, &r->after.socks);
	f->socks = r->after.socks;
	name_owners(r, &f->socks);
	if (r->spec->pid)
		facts_socks_only(&f->socks, r->spec->pid);
	if (r->watch)
		facts_watch_get(r->watch, &f->socks, &f->readers);
	facts_holders_throttled(&f->groups, &f->socks);
	if (f->socks.no_buffer)
		unread(f, "receive buffers", "this kernel has no udp_diag");
	if (f->socks.more)
		unread(f, "sockets", "%u more than %d; choose by --port", f->socks.more,
		       FACTS_SOCKS);
	return 0;
}

static int read_once(struct reader *r)
{
	struct facts *f = r->f;
	int ret = 0;

	for (unsigned i = 0; i < f->n_links && !ret; i++)
		ret = facts_link_read(r->spec->ns, r->name[i], &f->link[i]);
	facts_stack_read(r->spec->ns, &r->host, &f->stack);
	if (access("/sys/class/net", F_OK))
		unread(f, "/sys", "not mounted: no interrupts, RPS, XPS, threads, CPU speeds, BTF");
	if (!f->stack.max_backlog)
		unread(f, "settings of the host", "not shown in this network namespace");
	unread_if(f, facts_taps_read(r->spec->ns, r->owners, &f->taps), "owners of packet sockets");
	facts_self_read(r->spec->ns, &f->self);
	return ret;
}

/* Interfaces of containers come and go: without a second sample there is nothing to judge. */
static void forget_gone(struct reader *r)
{
	struct facts *f = r->f;
	unsigned n = 0;

	for (unsigned i = 0; i < f->n_links; i++) {
		if (nl_ifindex(r->spec->ns, r->name[i]) != (int)f->link[i].dev.ifindex) {
			unread(f, r->name[i], "the interface went away meanwhile");
			continue;
		}
		if (n != i) {
			memcpy(r->name[n], r->name[i], sizeof(r->name[0]));
			f->link[n] = f->link[i];
		}
		n++;
	}
	r->names[n] = NULL;
	f->n_links = n;
}

static int read_all(struct reader *r)
{
	int ret = read_once(r);

	if (ret)
		return ret;
	unread_if(r->f, facts_watch_open(&r->watch, r->owners, r->spec->ns, r->spec->port),
		  "readers of sockets");
	unread_if(r->f, facts_reads_open(&r->reads), "how often sockets are read");
	ret = take_moment(r, &r->before);
	if (ret)
		return ret;
	name_owners(r, &r->before.socks);
	facts_holders_groups(&r->f->groups, &r->before.socks);
	stack_sample_read(r->spec->ns, &r->f->stack.before);
	wait_window(r->spec, r->watch);
	forget_gone(r);
	ret = take_moment(r, &r->after);
	if (r->reads && !ret)
		facts_reads_get(r->reads, &r->after.socks);
	stack_sample_read(r->spec->ns, &r->f->stack.after);
	return ret ? ret : join(r);
}

static void free_moment(struct moment *m)
{
	counters_free(&m->counters);
	free(m->interrupts);
}

int facts_read(const struct facts_spec *spec, struct facts *facts, struct error *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	struct error ignored = {};
	int ret;

	memset(facts, 0, sizeof(*facts));
	if (!r)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	*r = (struct reader){.spec = spec, .f = facts, .root = proc_root(NULL)};
	facts->port = spec->port;
	facts->pid = spec->pid;
	open_host(r);
	owners_open(&r->owners, NULL, &ignored);
	ret = list_links(r, err);
	if (!ret) {
		ret = read_all(r);
		if (ret)
			error_set(err, STATUS_FAILED, ret, NULL, "cannot read this host: %s",
				  strerror(-ret));
	}
	free_moment(&r->before);
	free_moment(&r->after);
	facts_watch_close(r->watch);
	facts_reads_close(r->reads);
	owners_close(r->owners);
	netns_close(&r->host);
	if (r->root >= 0)
		close(r->root);
	free(r);
	return ret;
}

void facts_free(struct facts *facts)
{
	counters_free(&facts->after);
	counters_deltas_free(&facts->moved);
}

uint64_t facts_moved(const struct facts *f, const char *scope, const char *name)
{
	uint64_t v = 0;

	return counters_moved(&f->moved, scope, name, &v) ? v : 0;
}

uint64_t facts_total(const struct facts *f, const char *scope, const char *name)
{
	uint64_t v = 0;

	return counters_get(&f->after, scope, name, &v) ? v : 0;
}
