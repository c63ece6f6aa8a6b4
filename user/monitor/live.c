// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/live.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/load.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/opt.h"
#include "drops/cause.h"
#include "drops/filter.h"
#include "filter_abi.h"
#include "host/nl.h"
#include "host/sockdiag.h"
#include "monitor/describe.h"

#define NETNS_TRIES  3 /* number of /proc scans */
#define SEARCH_TRIES 2 /* the second search is for sockets that are known by their port */

#define FEW_SAMPLES (256u << 10) /* bytes, a few thousand packets */
#define BOUND_SHARE 100		 /* reading sockets may use 1 / BOUND_SHARE of the time */

struct live {
	struct live_spec spec;
	struct live_parts parts;
	uint32_t ifindex; /* the spec's interface, 0: no interface filter */
	struct filter *filter;
	struct watch *watch;
	struct filter_inner inner;
	struct list inodes; /* uint64_t: sockets that spec.pid has or used to have */
	struct describer describer;
	struct live_table interval, total;
	struct list sources;	      /* struct live_source */
	uint64_t end_ns, interval_ns; /* ktime_now() at the end of the last interval, and its
				       * length */
	uint64_t start_cpu_ns;
	uint64_t paused_at_ns; /* 0: programs are attached */
	struct live_own own;
	struct watch_count uncounted; /* events that rows already include */
	struct entries entries;	      /* entries of this interval that were read so far */
	bool marked;		      /* live_mark() was called, so later drops are not counted */
	struct described what;	      /* the drop that is being read */

	uint64_t cookie;   /* the cookie of the spec's namespace, 0: no filter or unknown */
	bool gone, left;   /* gone: the namespace no longer exists. left: it was already gone
			    * when this interval started */
	uint64_t realtime_off; /* ns, CLOCK_REALTIME - ktime_now() */
	struct list bound;     /* uint64_t: bound_id()s of UDP sockets there, in case they close */
	uint64_t bound_at_ns, bound_ns; /* when they were last read, and how long that took */

	/* Single drops. */
	bool payload, expected; /* options given to live_open_drops() */
	live_each_drop *each;
	void *each_arg;
};

/*
 * A packet that is freed together with its UDP socket no longer has a namespace. It belonged to the
 * spec's namespace if its destination is a local address and a bound port there.
 */
static uint64_t bound_id(int family, uint16_t port)
{
	return (uint64_t)family << 16 | port;
}

static void keep_bound(void *arg, const struct sockmem_row *row)
{
	const uint64_t id = bound_id(row->family, row->port);

	if (row->port)
		list_row(arg, &id);
}

/* Remembers sockets that may be closed by the time their drops are read. */
static void read_sockets(struct live *l)
{
	const uint64_t now = clock_now();
	struct netns ns;

	if (l->spec.netns && now - l->bound_at_ns >= BOUND_SHARE * l->bound_ns &&
	    !live_netns_again(l, &ns)) {
		sockmem_files(&ns, keep_bound, &l->bound);
		netns_close(&ns);
		l->bound_at_ns = clock_now();
		l->bound_ns = l->bound_at_ns - now;
	}
	if (l->spec.pid)
		owners_sockets(l->spec.owners, l->spec.pid, &l->inodes, NULL);
}

static int hidden(const char *hint, const char *what, struct error *err)
{
	return error_set(err, STATUS_UNABLE, -EPERM, *hint ? hint : "it needs CAP_SYSLOG",
			 "addresses of kernel functions are hidden%s", what);
}

/* Opens the drop reasons, and starts what takes long and is needed later. */
static int open_reasons(struct live *l, struct error *err)
{
	int rc;

	ksyms_prepare();
	if (l->spec.owners)
		owners_prepare(l->spec.owners);
	rc = reasons_open(&l->parts.reasons, NULL, err);
	l->own.no_reasons = !rc && !reasons_count(l->parts.reasons);
	return rc;
}

/* Opens the kernel symbols. Without CAP_SYSLOG, functions have no names, so all drops that their
 * reasons do not identify are put in stage `other`. */
static int open_places(struct live *l, struct error *err)
{
	struct error quiet = {};

	if (l->parts.ksyms || l->own.no_places)
		return 0;
	l->own.no_places = ksyms_open(&l->parts.ksyms, NULL, &quiet) != 0;
	if (l->own.no_places && (l->spec.stack || l->spec.stages || l->own.no_reasons))
		return hidden(quiet.hint,
			      l->spec.stack ? ": --stack cannot name them"
					    : ", and with them the stages",
			      err);
	return 0;
}

static int unknown_reason(const char *name, const struct reasons *r, struct error *err)
{
	const char **names = reasons_names(r), *near = opt_nearest(name, names, reasons_count(r));

	free(names);
	return error_usage(err, "see --reason help", "this kernel has no drop reason '%s'%s%s%s",
			   name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static int resolve_reasons(const char *list, const struct reasons *r, struct watch_spec *out,
			   struct error *err)
{
	if (!reasons_count(r))
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "leave --reason out",
				 "this kernel has no drop reasons (introduced in Linux 5.17)");
	out->cfg.has_reasons = true;
	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		char name[REASON_NAME];
		int value;

		snprintf(name, sizeof(name), "%.*s", (int)len, p);
		value = reasons_value(r, name);
		if (value < 0)
			return unknown_reason(name, r, err);
		if (value < WATCH_REASONS)
			out->cfg.reasons[value / 64] |= 1ULL << value % 64;
		p += len;
		if (!*p)
			return 0;
	}
}

int live_netns(const struct live_spec *spec, struct netns *ns, struct error *err)
{
	struct error quiet = {};
	uint64_t inum;
	int rc;

	if (!spec->netns)
		return netns_current(ns, err);
	rc = netns_open(ns, spec->netns, &quiet);
	if (rc == -ENOENT && spec->owners && !num_u64(spec->netns, 1, UINT32_MAX, &inum)) {
		for (int i = 0; i < NETNS_TRIES && rc; i++) {
			owners_tick(spec->owners);
			rc = owners_netns_open(spec->owners, (uint32_t)inum, ns, &quiet);
		}
	}
	if (rc == -ENOENT || rc == -EAGAIN)
		return error_set(err, STATUS_FAILED, -ENOENT, "see: ip netns; lsns -t net",
				 "network namespace %s not found", spec->netns);
	if (rc)
		*err = quiet;
	return rc;
}

/*
 * The namespace is reopened for each use, because an open descriptor would keep it and its
 * interfaces alive. Inode numbers are reused at once, but cookies never are (there are no cookies
 * before Linux 5.14).
 */
int live_netns_again(const struct live *l, struct netns *ns)
{
	uint64_t inum;
	int rc = netns_open(ns, l->spec.netns, &(struct error){});

	if (rc == -ENOENT && l->spec.owners && !num_u64(l->spec.netns, 1, UINT32_MAX, &inum))
		rc = owners_netns_open(l->spec.owners, (uint32_t)inum, ns, &(struct error){});
	if (rc || (ns->inum == l->parts.netns && netns_identity(ns) == l->cookie))
		return rc;
	netns_close(ns);
	return -ENOENT;
}

static bool is_netns_gone(const struct live *l)
{
	struct netns ns;
	int rc = l->spec.netns ? live_netns_again(l, &ns) : -EINVAL;

	if (!rc)
		netns_close(&ns);
	return rc == -ENOENT;
}

static int resolve_places(struct live *l, struct watch_spec *out, struct error *err)
{
	const struct live_spec *spec = &l->spec;
	struct netns ns = NETNS_NONE;
	int rc = live_netns(spec, &ns, err), ifindex;

	if (rc)
		return rc;
	out->cfg.netns = ns.inum;
	l->cookie = netns_identity(&ns);
	if (spec->ifname) {
		ifindex = nl_ifindex(&ns, spec->ifname);
		if (ifindex > 0)
			out->cfg.ifindex = (uint32_t)ifindex;
		else
			rc = error_set(err, STATUS_FAILED, -ENODEV, "see: ip link",
				       "no interface %s in %s", spec->ifname,
				       spec->netns ? spec->netns : "this network namespace");
	}
	netns_close(&ns);
	return rc;
}

static bool no_process(const struct live_spec *spec)
{
	return spec->pid && kill(spec->pid, 0) && errno == ESRCH;
}

static bool no_cgroup(const struct live_spec *spec)
{
	return spec->cgroup && !cgroup_exists(spec->cgroup);
}

static int resolve_spec(struct live *l, struct watch_spec *out, struct error *err)
{
	const struct live_spec *spec = &l->spec;
	int rc = spec->reasons ? resolve_reasons(spec->reasons, l->parts.reasons, out, err) : 0;

	if (!rc && (spec->netns || spec->ifname))
		rc = resolve_places(l, out, err);
	if (!rc && no_process(spec))
		rc = error_set(err, STATUS_FAILED, -ESRCH, NULL, "process %d not found",
			       (int)spec->pid);
	if (!rc && no_cgroup(spec))
		rc = error_set(err, STATUS_FAILED, -ENOENT, "see: systemd-cgls",
			       "there is no cgroup %s", spec->cgroup);
	if (!rc && spec->consumed)
		rc = open_places(l, err);
	if (!rc && spec->consumed && !l->parts.ksyms)
		rc = hidden("", ": --consumed cannot find drop sites", err);
	else if (!rc && spec->consumed)
		rc = consumed_find(l->parts.reasons, l->parts.ksyms, out->cfg.consumed, err);
	return rc;
}

/* Prepares to inspect packets inside tunnels. */
static int open_inner(struct live *l, struct error *err)
{
	int rc = l->filter ? filter_check_inner(l->filter, err) : 0;

	if (!l->filter && !(l->spec.by & LIVE_BIT(LIVE_FLOW)))
		return error_usage(err, "for example: --inner udp port 5060",
				   "--inner needs an EXPR to apply, or --by flow");
	return rc ? rc : tunnels_find(&l->inner, err);
}

int live_open(struct live **out, const struct live_spec *spec, struct error *err)
{
	struct live *l = mem_new(l);
	struct watch_spec watch;
	int rc;

	*out = l;
	l->spec = *spec;
	l->sources.size = sizeof(struct live_source);
	l->inodes = l->bound = (struct list){.size = sizeof(uint64_t), .key = sizeof(uint64_t)};
	l->parts.owners = spec->owners;
	if (!l->spec.by)
		l->spec.by = LIVE_BY_DEFAULT;
	l->spec.by |= LIVE_BY_STAGE;
	l->spec.total_by = l->spec.total_by ? l->spec.total_by | LIVE_BY_STAGE : l->spec.by;
	watch = (struct watch_spec){
		.cfg.by_flow = !!(l->spec.by & LIVE_BIT(LIVE_FLOW)),
		.cfg.by_sender = spec->senders || spec->pid || spec->cgroup,
		.cfg.socket_only = spec->pid || spec->cgroup,
		.cfg.xdp = !spec->pid && !spec->cgroup && !spec->reasons,
		.cfg.snaplen = spec->snaplen,
		.cfg.stack = spec->stack,
		.ring = spec->few_samples ? FEW_SAMPLES : 0,
		.cfg.burst_ns = spec->burst_ns,
	};
	table_init(&l->interval, LIVE_ROWS);
	table_init(&l->total, LIVE_ROWS);
	rc = open_reasons(l, err);
	if (!rc && spec->expr)
		rc = filter_compile(&l->filter, spec->expr, err);
	if (!rc && spec->inner)
		rc = open_inner(l, err);
	if (!rc)
		rc = resolve_spec(l, &watch, err);
	if (!rc && spec->pid)
		rc = owners_sockets(spec->owners, spec->pid, &l->inodes, err);
	if (rc)
		return rc;
	l->parts.netns = watch.cfg.netns;
	l->ifindex = watch.cfg.ifindex;
	watch.filter = l->parts.filter = l->filter;
	watch.nat = l->parts.nat = l->filter ? nat_find(l->parts.reasons) : NULL;
	watch.inner = l->parts.inner = spec->inner ? &l->inner : NULL;
	watch.followed = spec->followed;
	watch.unfragmented = spec->unfragmented;
	rc = watch_open(&l->watch, &watch, l->parts.reasons, err);
	if (!rc)
		rc = open_places(l, err); /* last, because they are read meanwhile */
	if (rc)
		return rc;
	l->parts.watch = l->watch;
	l->parts.knows_sockets = watch_knows_sockets(l->watch);
	l->own.no_sockets = !l->parts.knows_sockets;
	l->describer.watch = l->watch;
	l->describer.causes.reasons = l->parts.reasons;
	l->describer.causes.ksyms = l->parts.ksyms;
	l->describer.owners = spec->owners;
	l->describer.by = l->spec.by;
	if (spec->cgroup)
		l->describer.by |= LIVE_BIT(LIVE_CGROUP);
	if (spec->snaplen)
		l->describer.by |= LIVE_BIT(LIVE_PROCESS);
	return 0;
}

void live_add_source(struct live *l, const struct live_source *s)
{
	*(struct live_source *)list_add(&l->sources) = *s;
}

int live_start(struct live *l, struct error *err)
{
	const struct live_source *source = l->sources.at;
	int rc;

	ksym_places(l->parts.ksyms, &l->parts.places);
	l->parts.start_ns = l->end_ns = ktime_now();
	rc = watch_attach(l->watch, &l->parts.places, err);
	if (l->spec.owners)
		owners_iterate(l->spec.owners);
	l->start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	read_sockets(l);
	for (unsigned i = 0; i < l->sources.n && !rc; i++) {
		if (source[i].start)
			rc = source[i].start(source[i].arg, err);
	}
	l->own.map_bytes = bpfmaps_bytes();
	return rc;
}

int live_discard(struct live *l)
{
	return watch_discard(l->watch);
}

void live_pause(struct live *l)
{
	watch_detach(l->watch);
	l->paused_at_ns = clock_now();
}

int live_resume(struct live *l)
{
	l->own.paused_ns += clock_now() - l->paused_at_ns;
	l->paused_at_ns = 0;
	return watch_attach_again(l->watch);
}

/* Reads the observer's entries for this interval so far. */
static int read_watch(struct live *l)
{
	return watch_collect(l->watch, l->marked ? NULL : entries_add, &l->entries);
}

int live_mark(struct live *l)
{
	int rc;

	l->marked = false;
	rc = read_watch(l);
	l->marked = !rc;
	return rc;
}

static bool is_stage(const struct live *l, const struct live_row *row)
{
	return !l->spec.stages || (row->stage < STAGE_COUNT && l->spec.stages >> row->stage & 1);
}

void live_add(struct live *l, const struct live_row *row)
{
	if (!is_stage(l, row))
		return;
	table_add(&l->interval, row, l->spec.by);
	table_add(&l->total, row, l->spec.total_by);
	l->own.rows_merged = l->total.others;
}

/* Returns true if `to` is a local address. Loopback addresses do not count, because they exist in
 * every namespace and do not identify it. */
static bool is_address(const struct netns *ns, const struct watch_sock *to)
{
	const struct endpoint local = num_endpoint_of(to->family, to->local, 0);
	struct sockaddr_storage address;
	socklen_t len = socket_address(&local, &address);
	int saved, fd, rc = -1;

	if (num_is_loopback(&local))
		return false;
	saved = netns_push(ns);
	if (saved < 0)
		return false;
	fd = socket(to->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		rc = bind(fd, (void *)&address, len);
		close(fd);
	}
	netns_pop(saved);
	return !rc;
}

/*
 * Returns true if the packet, for which l->what has no namespace, belonged to the spec's namespace.
 */
static bool was_here(const struct live *l)
{
	const struct watch_sock *to = &l->what.sock;
	struct netns ns = NETNS_NONE;
	bool found;

	if (to->protocol != IPPROTO_UDP || (to->family != AF_INET && to->family != AF_INET6))
		return false;
	/* IPv6 sockets also receive IPv4 packets */
	if ((!list_get(&l->bound, &(uint64_t){bound_id(to->family, to->local_port)}) &&
	     !list_get(&l->bound, &(uint64_t){bound_id(AF_INET6, to->local_port)})) ||
	    (l->spec.netns && live_netns_again(l, &ns)))
		return false;
	found = is_address(&ns, to);
	netns_close(&ns);
	return found;
}

/* Returns true if the packet was in the spec's namespace. */
static bool is_in_place(struct live *l)
{
	struct described *what = &l->what;

	if (!l->parts.netns || what->row.netns)
		return true;
	if (!was_here(l))
		return false;
	what->row.netns = l->parts.netns;
	what->row.text[LIVE_NETNS] = describe_netns(l->spec.owners, l->parts.netns, what->netns);
	return true;
}

static bool lists_reason(const struct live *l, const char *name)
{
	const size_t len = strlen(name);

	for (const char *p = l->spec.reasons; *p; p += strcspn(p, ","), p += *p == ',') {
		if (strcspn(p, ",") == len && !memcmp(p, name, len))
			return true;
	}
	return false;
}

/*
 * Returns true if the packet matches the reasons, the process and the cgroup in the spec. Reasons
 * of subsystems pass the observer's filter. A qdisc's own reason also counts as QDISC_DROP.
 */
static bool is_wanted(const struct live *l)
{
	const char *path = l->what.owner.cgroup, *top = l->spec.cgroup;
	const char *reason = l->what.row.text[LIVE_REASON];
	size_t len = top ? strlen(top) : 0;

	if (l->spec.reasons && strchr(reason, ':') && !lists_reason(l, reason) &&
	    (strncmp(reason, "qdisc:", 6) || !lists_reason(l, "QDISC_DROP")))
		return false;
	if (l->spec.pid && !list_get(&l->inodes, &(uint64_t){l->what.sock.inode}))
		return false;
	while (len && top[len - 1] == '/')
		len--;
	return !top || (!strncmp(path, top, len) && (!path[len] || path[len] == '/'));
}

/* Looks up the owners of all sockets in this interval. */
static void find_owners(struct live *l)
{
	const struct watch_entry *e = l->entries.at.at;

	for (int i = 0; i < SEARCH_TRIES; i++) {
		bool searching = false;

		for (unsigned n = 0; n < l->entries.at.n; n++)
			searching |= describe_searching(&l->describer, &e[n]);
		if (!searching)
			return;
		owners_tick(l->spec.owners);
	}
}

/* Adds a row with unknown cause for events that the observer could not tell apart. */
static void add_uncounted(struct live *l)
{
	const struct watch_count *now = &l->own.watch.loss.uncounted, *old = &l->uncounted;
	struct live_row row = {
		.stage = STAGE_OTHER,
		.class = CLASS_LOSS,
		.note = "no room in the tables of the observer: neither reason nor place is known",
		.counts = {now->events - old->events,
			   now->events + now->more - old->events - old->more,
			   now->bytes - old->bytes, now->memory - old->memory},
	};

	if (now->events == old->events)
		return;
	live_row_begin(&row, "event", "host");
	live_add(l, &row);
	l->uncounted = *now;
}

static bool is_claimed(const struct live *l, const struct watch_entry *e,
		       const struct live_row *row)
{
	const struct live_source *s = l->sources.at;
	bool claimed = false;

	for (unsigned i = 0; i < l->sources.n; i++, s++)
		claimed |= s->claims && s->claims(s->arg, e, row);
	return claimed;
}

static struct live_burst burst_of(const struct live *l, const struct watch_burst *b)
{
	const uint64_t ns = l->spec.burst_ns;

	return b->packets ? (struct live_burst){b->packets, b->window * ns + l->realtime_off, ns}
			  : (struct live_burst){};
}

static void add_entries(struct live *l)
{
	const struct watch_entry *e = l->entries.at.at;
	const struct live_source *source = l->sources.at;
	const struct live_row *row = &l->what.row;

	for (unsigned n = 0; n < l->entries.at.n; n++, e++) {
		describe(&l->describer, e, &l->what);
		l->what.row.burst = burst_of(l, &e->burst);
		l->own.events += row->counts.events;
		if (row->class == CLASS_NONE || l->left) {
			l->own.ignored += row->counts.events;
			continue;
		}
		if (!is_in_place(l)) {
			l->own.unplaced += row->counts.events;
			continue;
		}
		for (unsigned i = 0; i < l->sources.n; i++) {
			if (source[i].note)
				source[i].note(source[i].arg, e, row);
		}
		if (!is_claimed(l, e, row) && is_wanted(l))
			live_add(l, row);
	}
	list_clear(&l->entries.at);
}

/*
 * Converts a drop to a row with text fields in l->what. Returns false if the spec's filters exclude
 * the drop or if it is not a drop at all.
 */
static bool describe_drop(struct live *l, const struct watch_entry *e)
{
	const struct live_row *row = &l->what.row;

	if (l->spec.owners && describe_searching(&l->describer, e))
		owners_tick(l->spec.owners);
	describe(&l->describer, e, &l->what);
	return row->class != CLASS_NONE && is_in_place(l) && !is_claimed(l, e, row) &&
	       is_wanted(l) && is_stage(l, row);
}

/*
 * Queues a lookup by owners_tick() for the owner of a socket that has not lost packets before, in
 * case the owner ends before the interval. The end of the interval brings known owners up to date.
 */
static void ask_owner(void *arg, uint64_t cookie, const struct watch_sock *sock)
{
	const struct live *l = arg;
	struct owner owner;

	(void)cookie;
	if (owners_searched(l->spec.owners, sock->inode))
		return;
	owners_socket(l->spec.owners, sock->inode, sock->netns, sock->cgroup, &owner);
}

void live_tick(struct live *l)
{
	read_sockets(l);
	if (watch_fills(l->watch))
		read_watch(l);
	if (!l->spec.owners)
		return;
	watch_each_sock(l->watch, ask_owner, l);
	owners_tick(l->spec.owners);
}

static void sample_sources(struct live *l)
{
	const struct live_source *source = l->sources.at;

	for (unsigned i = 0; i < l->sources.n; i++) {
		if (source[i].sample)
			source[i].sample(source[i].arg);
	}
}

int live_collect(struct live *l, struct error *err)
{
	const struct live_source *source = l->sources.at;
	uint64_t now = ktime_now();
	int rc;

	table_clear(&l->interval);
	l->left = l->gone;
	l->gone = is_netns_gone(l);
	read_sockets(l);
	if (!l->parts.last)
		sample_sources(l);
	rc = read_watch(l);
	l->realtime_off = when_now() - ktime_now();
	l->interval_ns = now - l->end_ns;
	l->end_ns = now;
	if (l->parts.ksyms)
		ksyms_refresh(l->parts.ksyms);
	describe_begin(&l->describer);
	find_owners(l);
	add_entries(l);
	watch_state(l->watch, &l->own.watch);
	l->own.watch.loss.merged += l->entries.others;
	add_uncounted(l);
	for (unsigned i = 0; i < l->sources.n; i++) {
		if (source[i].collect)
			source[i].collect(source[i].arg, l);
	}
	l->own.collect_ns = clock_now() - now;
	return error_errno(err, STATUS_FAILED, rc, NULL, "cannot read the counts of drops");
}

uint64_t live_time(const struct live *l, uint64_t *interval_ns)
{
	if (interval_ns)
		*interval_ns = l->interval_ns;
	return l->end_ns - l->parts.start_ns;
}

const struct live_table *live_interval(const struct live *l)
{
	return &l->interval;
}

const struct live_table *live_total(const struct live *l)
{
	return &l->total;
}

void live_keep_socket(struct live *l, struct live_row *row, const struct watch_sock *sock)
{
	row->cookie = ~sock->inode; /* unique, because real cookies are smaller */
	watch_keep_sock(l->watch, row->cookie, sock);
}

int live_socket(const struct live *l, const struct live_row *row, struct watch_sock *out)
{
	int rc = row->cookie ? watch_sock(l->watch, row->cookie, out) : -ENOENT;

	if (!rc && !out->inode && l->spec.owners)
		describe_bound(l->spec.owners, row->netns, out);
	return rc;
}

bool live_gone(const struct live *l, char *what, size_t size)
{
	const struct live_spec *spec = &l->spec;
	struct netns ns = NETNS_NONE;
	int rc = 0, now = 0;

	if (l->gone)
		return snprintf(what, size, "network namespace %s", spec->netns);
	if (spec->netns)
		rc = live_netns_again(l, &ns);
	if (spec->ifname && !rc)
		now = nl_ifindex(&ns, spec->ifname);
	netns_close(&ns);
	if (now == -ENODEV || (now > 0 && (uint32_t)now != l->ifindex))
		return snprintf(what, size, "interface %s", spec->ifname);
	if (no_process(spec))
		return snprintf(what, size, "process %d", (int)spec->pid);
	if (no_cgroup(spec))
		return snprintf(what, size, "cgroup %s", spec->cgroup);
	return false;
}

struct live_parts live_parts(const struct live *l)
{
	return l->parts;
}

void live_last(struct live *l)
{
	l->parts.last = true;
	sample_sources(l); /* the observer is detached next, so later losses will have no event */
	watch_detach(l->watch);
}

void live_own(const struct live *l, struct live_own *own)
{
	*own = l->own;
	own->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - l->start_cpu_ns;
	if (l->paused_at_ns)
		own->paused_ns += clock_now() - l->paused_at_ns;
	if (l->spec.few_samples)
		own->watch.loss.unsampled = 0;
}

const struct record_field live_missed_rows[] = {
	RECORD("recursion_misses", UINT, live_own, watch.recursion_misses),
	RECORD("without_socket_or_flow", UINT, live_own, watch.loss.merged),
	RECORD("without_cause", UINT, live_own, watch.loss.uncounted.events),
	RECORD("without_netns", UINT, live_own, unplaced),
	RECORD("without_sample", UINT, live_own, watch.loss.unsampled),
	RECORD("without_window", UINT, live_own, watch.loss.unwindowed),
	RECORD("rows_merged", UINT, live_own, rows_merged),
	RECORD("filter_unread", UINT, live_own, watch.filter_unread),
	RECORD("no_places", BOOL, live_own, no_places),
	RECORD("no_reasons", BOOL, live_own, no_reasons),
	RECORD("no_sockets", BOOL, live_own, no_sockets),
	{0},
};

void live_close(struct live *l)
{
	if (!l)
		return;
	watch_close(l->watch);
	nat_close(l->parts.nat);
	list_free(&l->inodes);
	filter_free(l->filter);
	table_free(&l->interval);
	table_free(&l->total);
	ksyms_free(l->parts.ksyms);
	reasons_free(l->parts.reasons);
	list_free(&l->entries.at);
	list_free(&l->bound);
	list_free(&l->sources);
	free(l);
}

/* Single drops */

static void take_sample(void *arg, const struct sample *s, const uint64_t *stack,
			const uint8_t *bytes)
{
	const struct watch_entry e = {
		.key = s->key,
		.count = {.events = 1, .more = s->segments - 1u, .bytes = s->wire_len},
		.cpu = s->cpu,
	};
	struct live *l = arg;
	struct live_drop drop = {
		.what = &l->what,
		.key = &s->key,
		.time_ns = s->time_ns - l->parts.start_ns,
		.realtime_ns = s->time_ns + l->realtime_off,
		.packet = {.bytes = bytes,
			   .len = s->len,
			   .wire_len = s->wire_len,
			   .ethernet = s->layer == FILTER_L2,
			   .protocol = ntohs(s->key.protocol)},
		.ksyms = l->parts.ksyms,
	};
	struct packet_view *p = &drop.packet;
	unsigned below = 0;

	if (!describe_drop(l, &e) || (LIVE_NO_LOSS >> l->what.row.class & 1 && !l->expected))
		return;
	if (!p->protocol && !p->ethernet && p->len)
		p->protocol = *bytes >> 4 == 4 ? ETH_P_IP : *bytes >> 4 == 6 ? ETH_P_IPV6 : 0;
	/* skip the frames below the drop site, which are the tracepoint and the BPF program */
	while (below < s->frames && stack[below] != s->key.location)
		below++;
	if (below == s->frames)
		below = 0;
	drop.stack = stack + below;
	drop.frames = s->frames - below;
	if (!l->payload)
		p->len = packet_headers(p);
	l->each(l->each_arg, &drop);
}

void live_sampling(struct live *l, bool on)
{
	watch_sampling(l->watch, on);
}

int live_open_drops(struct live *l, bool payload, bool expected, live_each_drop *each, void *arg,
		    struct error *err)
{
	l->payload = payload;
	l->expected = expected;
	l->each = each;
	l->each_arg = arg;
	watch_sampling(l->watch, !l->spec.few_samples);
	return watch_open_samples(l->watch, take_sample, l, err);
}

int64_t live_read_drops(struct live *l, uint64_t budget_ns)
{
	l->realtime_off = when_now() - ktime_now();
	return watch_read_samples(l->watch, budget_ns);
}
