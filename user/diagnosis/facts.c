// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "drops/reason.h"
#include "host/caps.h"
#include "host/load.h"
#include "host/nl.h"
#include "survey.skel.h"
#include "survey_abi.h"

#define ARGS_WITH_SOCKET 4 /* trace_kfree_skb() arguments */

/*
 * Reads which kernel features pktledger can use on this host. Looks up generic netlink families in
 * `ns`.
 */
static void facts_self_read(const struct netns *ns, struct facts_self *self)
{
	static const int wanted[] = {CAP_BPF,	  CAP_PERFMON,	 CAP_NET_ADMIN,
				     CAP_NET_RAW, CAP_SYS_ADMIN, CAP_SYS_PTRACE};
	int af_xdp = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	struct reasons *reasons;

	memset(self, 0, sizeof(*self));
	/* AF_XDP is supported even if we may not open a socket */
	self->af_xdp = af_xdp >= 0 || errno == EPERM;
	fd_close(&af_xdp);
	self->btf = !access("/sys/kernel/btf/vmlinux", R_OK);
	caps_missing(wanted, LENGTH(wanted), self->missing_caps, sizeof(self->missing_caps));
	if (self->btf && !reasons_open(&reasons, NULL, NULL)) {
		self->reasons = reasons_count(reasons);
		self->drop_socket =
			reasons_tracepoint_args(reasons, "kfree_skb") >= ARGS_WITH_SOCKET;
		reasons_free(reasons);
	}
	self->xdp_features = genl_family(ns, "netdev") >= 0;
}

#define TICK_NS	  100000000
#define SOURCE_NS 500000000 /* ns to wait for a rejected source or a stray frame */

/* Data sampled twice. */
struct moment {
	uint64_t time_ns;
	struct counters counters;
	struct cpu_sample cpus;
	char *interrupts; /* NULL: unreadable */
	struct facts_socks socks, listeners;
	struct list captures; /* facts_captures_read() */
};

struct facts_reader {
	struct facts_spec spec;
	struct facts *f;
	struct netns host;	  /* NETNS_NONE: the thread's namespace */
	int root;		  /* proc_root() */
	struct survey_bpf *reads; /* NULL: not available here */
	struct nftrules *rules;	  /* NULL: not read */
	struct moment before, after;

	/* Activity of socket readers during losses. */
	struct readings *readings; /* NULL: unknown */
	uint32_t inum;		   /* inode of the namespace */
	struct facts_socks last, now;

	const char *names[FACTS_LINKS + 1]; /* names of the links */
};

static void __attribute__((format(printf, 3, 4)))
unread(struct facts *f, const char *what, const char *fmt, ...)
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

void facts_unread_netns(struct facts *f, unsigned n)
{
	if (n)
		unread(f, "other network namespaces",
		       "at least %u; requires CAP_SYS_ADMIN and CAP_SYS_PTRACE", n);
}

/* Sets up the readings. Returns 0, or -errno if they are not available. */
static int open_readers(struct facts_reader *r)
{
	int ret, saved;

	if (!r->spec.owners)
		return -ENOENT;
	ret = facts_socks_read(r->spec.ns, r->spec.port, &r->last);
	saved = ret ? ret : netns_push(r->spec.ns);
	if (saved < 0)
		return saved;
	r->readings = readings_new(r->spec.owners);
	readings_begin(r->readings, NULL, 0);
	readings_sample(r->readings);
	netns_pop(saved);
	return 0;
}

/* Checks several times per second which sockets have lost more packets. */
static void sample_readers(struct facts_reader *r)
{
	if (facts_socks_read(r->spec.ns, r->spec.port, &r->now))
		return;
	facts_socks_rates(&r->last, &r->now);
	readings_sample(r->readings);
	for (unsigned i = 0; i < r->now.n; i++) {
		const struct facts_sock *s = &r->now.at[i];
		const struct reading_socket id = {.inode = s->inode,
						  .netns = r->inum,
						  .family = (uint16_t)s->family,
						  .port = s->port};

		if (s->lost)
			readings_note(r->readings, &id, s->lost);
	}
	readings_interval(r->readings);
	r->last = r->now;
}

static void went_away(struct facts *f, const char *ifname)
{
	unread(f, ifname, "the interface was removed during the check");
}

static int read_links(struct facts_reader *r, struct error *err)
{
	struct link_info *links = NULL;
	struct facts *f = r->f;
	unsigned more = 0;
	int n = links_read(r->spec.ns, 0, &links), ret = n < 0 ? n : 0;

	for (int i = 0; i < n && !ret; i++) {
		const bool usual = links[i].flags & IFF_UP && !(links[i].flags & IFF_LOOPBACK);
		struct facts_link *link = &f->link[f->n_links];

		if (r->spec.ifname ? strcmp(r->spec.ifname, links[i].ifname) : !usual)
			continue;
		if (f->n_links == FACTS_LINKS) {
			more++;
			continue;
		}
		ret = facts_link_read(r->spec.ns, links[i].ifname, link);
		if (!ret)
			r->names[f->n_links++] = link->dev.link.ifname;
		else if (ret == -ENODEV)
			went_away(f, links[i].ifname);
		ret = ret == -ENODEV ? 0 : ret;
	}
	free(links);
	if (ret)
		return error_errno(err, STATUS_FAILED, ret, NULL, "cannot read the interfaces");
	if (more)
		unread(f, "interfaces", "%u more than %d; choose by -i", more, FACTS_LINKS);
	if (r->spec.ifname && !f->n_links)
		return error_set(err, STATUS_FAILED, -ENODEV, "ip link shows all interfaces",
				 "cannot find interface %s", r->spec.ifname);
	return 0;
}

/*
 * Takes a sample. The counters' window lies inside the sockets' window, so losses not seen at these
 * sockets belong to other sockets.
 */
static int take_moment(struct facts_reader *r, struct moment *m)
{
	const struct counters_scope scope = {FACTS_HERE, r->spec.ns, r->names,
					     COUNTERS_RUN | COUNTERS_QUEUES | COUNTERS_GOING};
	const bool last = m == &r->after;
	int ret = last ? 0 : facts_socks_read(r->spec.ns, r->spec.port, &m->socks);
	char *stat;

	ret = ret ? ret : counters_read(&m->counters, &scope, 1);
	if (ret)
		return ret;
	if (!file_read("/proc/stat", &stat, NULL)) {
		cpu_sample_parse(&m->cpus, stat);
		free(stat);
	}
	file_read("/proc/interrupts", &m->interrupts, NULL);
	facts_listeners_read(r->spec.ns, &m->listeners);
	ret = facts_captures_read(r->spec.owners, r->spec.ns, r->inum, &m->captures);
	if (!last)
		unread_if(r->f, ret, "losses of captures");
	m->time_ns = clock_now();
	return last ? facts_socks_read(r->spec.ns, r->spec.port, &m->socks) : 0;
}

bool facts_wait(struct facts_reader *const *r, unsigned n, uint64_t ns)
{
	uint64_t end = clock_now() + ns;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	for (;;) {
		uint64_t left = end - smaller(clock_now(), end);
		struct timespec t = {.tv_nsec = (long)smaller(left, TICK_NS)};

		if (sigtimedwait(&set, NULL, &t) != -1)
			return false;
		for (unsigned i = 0; i < n; i++) {
			if (r[i]->readings)
				sample_readers(r[i]);
		}
		if (left <= TICK_NS)
			return true;
	}
}

bool facts_undecided(const struct facts_reader *r)
{
	for (unsigned i = 0; r->readings && i < r->last.n; i++) {
		struct reading reading;

		/* if the process is unknown, so is the reason */
		if (!readings_get(r->readings, r->last.at[i].inode, &reading) && reading.lost &&
		    !reading_decides(&reading))
			return true;
	}
	return false;
}

/*
 * Joins the two samples of each interface. Container interfaces appear and disappear, and an
 * interface without both samples cannot be judged.
 */
static void join_links(struct facts_reader *r)
{
	struct facts *f = r->f;
	unsigned kept = 0;

	for (unsigned i = 0; i < f->n_links; i++) {
		const struct link_info *of = &f->link[i].dev.link;
		struct counters_device *before =
			counters_device(&r->before.counters, FACTS_HERE, of->ifname, of->ifindex);
		struct counters_device *after =
			counters_device(&f->after, FACTS_HERE, of->ifname, of->ifindex);
		struct facts_link *link = &f->link[kept];
		const struct netdev_settings *s = &link->set;
		const char *ifname = link->dev.link.ifname;
		unsigned irq[FACTS_IRQS], n;
		char name[COUNTER_NAME_LEN];

		if (!before || !after) {
			went_away(f, of->ifname);
			continue;
		}
		if (kept++ != i)
			*link = f->link[i];
		n = irq_numbers(r->spec.ns, ifname, irq, FACTS_IRQS);
		snprintf(name, sizeof(name), "%s:rx_packets", ifname);
		link->rx_packets = facts_moved(f, FACTS_HERE, name);
		snprintf(name, sizeof(name), "%s:tx_packets", ifname);
		link->tx_packets = facts_moved(f, FACTS_HERE, name);
		facts_link_rates(link, before, after);
		snprintf(name, sizeof(name), "%s:qdisc:drops", ifname);
		if (facts_moved(f, FACTS_HERE, name))
			way_rate_text(r->spec.ns, ifname, link->qdisc, sizeof(link->qdisc));
		if (!strcmp(link->dev.driver, "tun") && facts_link_lost(link, NIC_SEND))
			way_tun_reader(r->root, ifname, r->inum, link->tun_reader,
				       sizeof(link->tun_reader));
		if (facts_strays(f, ifname))
			way_stray_read(r->spec.ns, (unsigned)of->ifindex, clock_now() + SOURCE_NS,
				       &link->stray);
		if (r->before.interrupts && r->after.interrupts)
			link->n_irqs = irq_rates(r->before.interrupts, r->after.interrupts, irq, n,
						 link->irq);
		irq_affinities(r->root, link->irq, link->n_irqs);
		/* Virtual interfaces have neither a ring nor interrupts. */
		if (link->dev.driver[0] && (s->ring.known || link->n_irqs) &&
		    (!s->ring.known || !s->channels.known || !s->coalesce.known))
			unread(f, ifname, "driver %s does not report:%s%s%s", link->dev.driver,
			       s->ring.known ? "" : " rings", s->channels.known ? "" : " channels",
			       s->coalesce.known ? "" : " coalescing");
	}
	f->n_links = kept;
	if (!r->before.interrupts)
		unread(f, "/proc/interrupts", "not readable");
}

/*
 * Reads the reverse route, and the port without a socket, but only if that justifies loading a BPF
 * program.
 */
static void read_sources(struct facts_reader *r)
{
	const bool refused = facts_moved(r->f, FACTS_HERE, "Udp:NoPorts") ||
			     facts_moved(r->f, FACTS_HERE, "Udp6NoPorts");
	struct survey_bpf *w;

	if (refused && !way_sources_open(&w, true)) {
		r->f->closed_port =
			way_sources_port(w, r->inum, r->f->port, clock_now() + SOURCE_NS);
		way_sources_close(w);
	}
	if (!facts_moved(r->f, FACTS_HERE, "TcpExt:IPReversePathFilter"))
		return;
	if (way_sources_open(&w, false)) {
		unread(r->f, "sources of packets", "needs CAP_BPF, CAP_PERFMON and Linux 5.17");
		return;
	}
	way_sources_back(w, r->spec.ns, r->inum, r->spec.ifname, clock_now() + SOURCE_NS,
			 &r->f->back);
	way_sources_close(w);
}

static int find_silent(void *arg, const struct netns *ns)
{
	struct facts_reader *r = arg;

	if (!way_silent_read(ns, &r->f->silent))
		return 0;
	if (r->spec.owners) {
		owners_netns(r->spec.owners, ns->inum, r->f->silent.netns);
		owners_netns_enter(r->spec.owners, ns->inum, r->f->silent.enter);
	}
	return 1;
}

/* Keeps the listeners that lost packets, and finds their processes. */
static void join_listeners(struct facts_reader *r)
{
	struct facts_socks *l = &r->f->listeners;
	unsigned kept = 0;

	*l = r->after.listeners;
	facts_socks_rates(&r->before.listeners, l);
	for (unsigned i = 0; i < l->n; i++) {
		if (l->at[i].lost)
			l->at[kept++] = l->at[i];
	}
	l->n = kept;
	if (kept)
		facts_holders_find(r->spec.owners, l, r->spec.pid);
	if (kept && facts_moved(r->f, FACTS_HERE, "TcpExt:ListenDrops"))
		facts_half_open_read(r->spec.ns, l);
}

static void join(struct facts_reader *r)
{
	struct facts *f = r->f;
	unsigned wanted = 0;

	counters_delta(&r->before.counters, &r->after.counters, &f->moved);
	f->window_ns = r->after.time_ns - r->before.time_ns;
	f->after = r->after.counters; /* taken over by the facts */
	r->after.counters = (struct counters){0};
	facts_cpus_rates(&f->cpus, &r->before.cpus, &r->after.cpus);
	facts_cpus_read(r->root, &f->cpus);
	join_links(r);
	facts_socks_rates(&r->before.socks, &r->after.socks);
	f->n_captures = facts_captures_rates(&r->before.captures, &r->after.captures, f->capture);
	f->socks = r->after.socks;
	if (facts_holders_find(r->spec.owners, &f->socks, r->spec.pid) == -EACCES)
		unread(f, "owners of sockets", "requires CAP_SYS_PTRACE for processes of other users");
	join_listeners(r);
	read_sources(r);
	/* the counter is global, so its packets may be in any namespace */
	if (!way_dnat_read(r->spec.ns, &f->dnat) && !way_silent_read(r->spec.ns, &f->silent) &&
	    (facts_moved(f, FACTS_HOST, "arp_cache:unresolved_discards") ||
	     facts_moved(f, FACTS_HOST, "ndisc_cache:unresolved_discards")))
		netns_each(find_silent, r);
	for (unsigned i = 0; i < f->socks.n; i++) {
		if (!r->spec.pid || f->socks.at[i].pid == r->spec.pid)
			f->socks.at[wanted++] = f->socks.at[i];
	}
	f->socks.n = wanted;
	for (unsigned i = 0; r->readings && i < f->socks.n; i++) {
		struct facts_sock *s = &f->socks.at[i];

		if (!s->lost)
			continue;
		s->truesize = readings_truesize(r->readings, s->inode);
		s->exceeded_known = readings_exceeded(r->readings, s->inode, &s->exceeded);
		readings_get(r->readings, s->inode, &s->reading);
	}
	if (f->socks.no_buffer)
		unread(f, "receive buffers", "this kernel has no udp_diag");
	if (f->socks.more)
		unread(f, "sockets", "%u more than %d; choose by --port", f->socks.more,
		       FACTS_SOCKS);
}

static int begin(struct facts_reader *r)
{
	/* an address for documentation (RFC 5737), so only the default route leads there */
	const struct endpoint anywhere = {.family = AF_INET, .ip4 = {htonl(0xc0000201)}};
	const struct netns *ns = r->spec.ns;
	struct facts *f = r->f;
	int ret;

	facts_stack_read(ns, &r->host, &f->stack);
	if (access("/sys/class/net", F_OK))
		unread(f, "/sys", "not mounted: no interrupts, RPS, XPS, threads, CPU speeds, BTF");
	if (!f->stack.max_backlog)
		unread(f, "settings of the host", "not shown in this network namespace");
	facts_self_read(ns, &f->self);
	device_name(ns, netdev_way(ns, &anywhere), f->egress);
	way_next_read(ns, &f->next);
	ret = r->spec.mtu_to ? path_mtu_read(ns, r->spec.mtu_to, &f->path) : 0;
	unread_if(f, ret, "path MTU");
	if (r->spec.mtu_to && !ret && !f->path.fits)
		unread(f, "path MTU", "%s does not answer pings", f->path.to);
	r->inum = ns ? ns->inum : proc_netns(r->root, getpid());
	r->rules = nftrules_new();
	nftrules_note(r->rules, r->inum, ns, false);
	unread_if(f, open_readers(r), "readers of sockets");
	/* no counter shows this, so it takes a BPF program and Linux 6.3 */
	unread_if(f, survey_attach(&r->reads, "read_one", "reads"), "how often sockets are read");
	ret = take_moment(r, &r->before);
	if (ret)
		return ret;
	stack_sample_read(ns, &f->stack.before);
	return 0;
}

/*
 * Reads the rules with counters that count drops. A counter that also counts passing packets says
 * nothing.
 */
static void read_rules(struct facts_reader *r)
{
	struct nft_result *all = mem_new(all);
	struct facts *f = r->f;

	nftrules_compare(r->rules, r->inum, r->spec.ns, HOOK_NONE, all);
	if (*all->problem)
		unread(f, "rules of the firewall", "%s", all->problem);
	f->rules_ns = all->window_ns;
	for (unsigned i = 0; i < all->n && f->n_rules < FACTS_RULES; i++) {
		const struct nft_rule *rule = &all->rule[i];

		if (rule->kind == NFT_RULE_MOVED && rule->exact && strcmp(rule->verdict, "queue") &&
		    (!f->port || !rule->dport || rule->dport == f->port))
			f->rule[f->n_rules++] = *rule;
	}
	for (unsigned i = 0; i < f->n_rules; i++) {
		way_rule_text(r->spec.ns, &f->rule[i], f->rule_text[i],
			      sizeof(f->rule_text[i]));
	}
	free(all);
}

static int end(struct facts_reader *r)
{
	int ret;

	ret = take_moment(r, &r->after);
	if (r->reads)
		survey_bpf__detach(r->reads);
	for (unsigned i = 0; r->reads && !ret && i < r->after.socks.n; i++) {
		struct facts_sock *s = &r->after.socks.at[i];
		int reads = bpf_map__fd(r->reads->maps.reads);

		/* A socket without an entry was not read, or there was no room for its entry. */
		s->reads_known = s->cookie && !bpf_map_lookup_elem(reads, &s->cookie, &s->reads);
	}
	stack_sample_read(r->spec.ns, &r->f->stack.after);
	if (!ret)
		read_rules(r);
	if (!ret)
		join(r);
	return ret;
}

static void reader_free(struct facts_reader *r)
{
	counters_free(&r->before.counters);
	counters_free(&r->after.counters);
	list_free(&r->before.captures);
	list_free(&r->after.captures);
	free(r->before.interrupts);
	free(r->after.interrupts);
	readings_close(r->readings);
	nftrules_close(r->rules);
	survey_bpf__destroy(r->reads);
	netns_close(&r->host);
	fd_close(&r->root);
	free(r);
}

int facts_begin(struct facts_reader **out, const struct facts_spec *spec, struct facts *facts,
		struct error *err)
{
	struct facts_reader *r = *out = mem_new(r);
	int ret;

	memset(facts, 0, sizeof(*facts));
	r->spec = *spec;
	r->f = facts;
	r->root = proc_root(NULL);
	facts->port = spec->port;
	facts->pid = spec->pid;
	/*
	 * PID 1's namespace has the global settings. If it cannot be opened, or in a container that
	 * has its own PID 1, the current namespace is used.
	 */
	if (netns_open(&r->host, "/proc/1/ns/net", NULL))
		r->host = NETNS_NONE;
	netns_open_sysfs(&r->host);
	ret = read_links(r, err);
	if (!ret)
		ret = error_errno(err, STATUS_FAILED, begin(r), NULL, "cannot read this host");
	if (ret) {
		reader_free(r);
		*out = NULL;
	}
	return ret;
}

int facts_end(struct facts_reader *r, struct error *err)
{
	int ret = end(r);

	reader_free(r);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot read this host");
}

void facts_free(struct facts *facts)
{
	counters_free(&facts->after);
	counters_free(&facts->moved);
}

uint64_t facts_moved(const struct facts *f, const char *scope, const char *name)
{
	uint64_t v;

	return counters_get(&f->moved, scope, name, &v) ? v : 0;
}

uint64_t facts_strays(const struct facts *f, const char *ifname)
{
	char name[2][COUNTER_NAME_LEN];

	snprintf(name[0], sizeof(name[0]), "%s:rx_dropped", ifname);
	snprintf(name[1], sizeof(name[1]), "%s:rx_otherhost_dropped", ifname);
	return facts_moved(f, FACTS_HERE, name[0]) + facts_moved(f, FACTS_HERE, name[1]);
}

uint64_t facts_total(const struct facts *f, const char *scope, const char *name)
{
	uint64_t v;

	return counters_get(&f->after, scope, name, &v) ? v : 0;
}
