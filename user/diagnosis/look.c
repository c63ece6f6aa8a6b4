// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"

#define WATCHED (COUNTERS_SNMP | COUNTERS_DEVICES | COUNTERS_ALL)

/* Counters of a namespace. */
struct space {
	uint32_t inum;
	uint64_t cookie; /* netns_identity() */
	bool now_read; /* read in this pass, so the namespace still exists */
	bool entered;  /* could be read in the first pass */
	struct counters base, now;
	uint64_t lost;		     /* packets lost since the base */
	struct check_findings found; /* findings from these counters */
};

struct looker {
	struct look *l;
	const struct look_spec *spec;
	struct list spaces; /* struct space */
	struct facts_reader *reader[LOOK_PLACES];
	bool again;	  /* the counters are being read again */
	uint64_t read_ns; /* time of the last read */
};

/* Starts reading everything in `ns`, which is taken over. */
static int add_place(struct looker *k, struct netns *ns, struct error *err)
{
	struct look *l = k->l;
	struct look_place *p = mem_new(p);
	struct facts_spec spec = {
		.owners = l->owners,
		.ifname = k->spec->ifname,
		.port = k->spec->port,
		.pid = k->spec->pid,
		.mtu_to = l->n ? NULL : k->spec->mtu_to,
	};
	int rc;

	l->at[l->n] = p;
	p->ns = *ns;
	if (ns->fd >= 0) {
		netns_open_sysfs(&p->ns);
		spec.ns = &p->ns;
		owners_netns(l->owners, ns->inum, p->name);
		owners_netns_enter(l->owners, ns->inum, p->enter);
	}
	rc = facts_begin(&k->reader[l->n], &spec, &p->facts, err);
	if (rc) {
		netns_close(&p->ns);
		free(p);
		return rc;
	}
	l->n++;
	return 0;
}

/* Counters in all namespaces */

static struct space *space_of(struct looker *k, uint32_t inum)
{
	struct space *s = list_find(&k->spaces, offsetof(struct space, inum), &inum, sizeof(inum));

	if (s || k->again || k->spaces.n == LOOK_SPACES)
		return s;
	s = list_add(&k->spaces);
	s->inum = inum;
	return s;
}

/* Returns NULL for the thread's own namespace, which requires no capability. */
static const struct netns *to_enter(const struct looker *k, const struct netns *ns)
{
	return owners_netns_is_own(k->l->owners, ns->inum) ? NULL : ns;
}

/*
 * Visits all namespaces for the first time, and counts those that could not be entered. A namespace
 * without a readable process may also be visited by name, so the sum could be too large.
 */
static void visit_spaces(struct looker *k, netns_visit *visit)
{
	const int hidden = netns_each(visit, k);
	const struct space *s = k->spaces.at;
	unsigned refused = 0;

	for (unsigned i = 0; i < k->spaces.n; i++)
		refused += !s[i].entered;
	k->l->unread = larger(refused, hidden < 0 ? -hidden : 0);
}

static int read_space(void *arg, const struct netns *ns)
{
	struct looker *k = arg;
	const struct counters_scope scope = {FACTS_HERE, to_enter(k, ns), NULL, WATCHED};
	struct space *s = space_of(k, ns->inum);
	struct counters *to;
	uint64_t cookie;

	if (!s || s->now_read || (k->again && !s->entered))
		return 0;
	cookie = netns_identity(to_enter(k, ns));
	if (k->again && s->cookie != cookie)	/* another namespace with this inode number */
		return 0;
	s->cookie = cookie;
	to = k->again ? &s->now : &s->base;
	counters_free(to);
	s->now_read = !counters_read(to, &scope, 1);
	s->entered |= s->now_read;
	return 0;
}

/* Returns the losses that driver counters show. Both snapshots are sorted. */
static uint64_t lost_at_devices(struct space *s)
{
	struct facts_link *link = mem_new(link);
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->now.n_devices; i++) {
		struct counters_device *now = &s->now.devices[i];
		struct counters_device *before =
			counters_device(&s->base, FACTS_HERE, now->link.ifname, now->link.ifindex);

		memset(link, 0, sizeof(*link));
		if (!before)
			continue;
		facts_link_rates(link, before, now);
		if (before->qdisc.root.handle == now->qdisc.root.handle)
			sum += counter_moved(before->qdisc.drops, now->qdisc.drops);
		for (unsigned j = 0; j < link->n_losses; j++)
			sum += link->loss[j].class == NIC_LOSS ? link->loss[j].lost : 0;
	}
	free(link);
	return sum;
}

/*
 * Judges a namespace with the same rules as everything else. `scratch` is zeroed before and after
 * use.
 */
static void judge_space(struct space *s, struct facts *scratch, uint64_t window_ns)
{
	check_findings_free(&s->found);
	s->lost = 0;
	counters_delta(&s->base, &s->now, &scratch->moved);
	scratch->window_ns = window_ns;
	scratch->counters_only = true;
	judge_counters(scratch, &s->found);
	for (unsigned i = 0; i < s->found.n; i++)
		s->lost += (uint64_t)(s->found.at[i].loss_pps * (double)window_ns * 1e-9 + 0.5);
	s->lost += lost_at_devices(s);
	counters_free(&scratch->moved);
}

/*
 * Reads all namespaces again. Returns how many have losses. `enough`: each of these has lost enough
 * packets.
 */
static unsigned watch_spaces(struct looker *k, uint64_t window_ns, bool *enough)
{
	struct facts *scratch = mem_new(scratch);
	struct space *s = k->spaces.at;
	unsigned losing = 0;

	for (unsigned i = 0; i < k->spaces.n; i++)
		s[i].now_read = false;
	k->again = true;
	netns_each(read_space, k);
	k->read_ns = clock_now();
	*enough = true;
	for (unsigned i = 0; i < k->spaces.n; i++) {
		if (s[i].now_read)
			judge_space(&s[i], scratch, window_ns);
		losing += s[i].lost > 0;
		*enough &= !s[i].lost || s[i].lost >= LOOK_ENOUGH;
	}
	free(scratch);
	return losing;
}

static int by_loss(const void *a, const void *b)
{
	const struct space *x = a, *y = b;

	return x->lost != y->lost ? (x->lost < y->lost ? 1 : -1) : 0;
}

/*
 * Adds places for namespaces, starting with the namespaces that lost the most. A namespace that no
 * longer exists gets no place. `own`: include this namespace.
 */
static int add_places(struct looker *k, bool own, struct error *err)
{
	struct space *s = k->spaces.at;
	struct netns ns = NETNS_NONE;
	int rc = 0;

	if (k->spaces.n)
		qsort(s, k->spaces.n, sizeof(*s), by_loss);
	for (unsigned i = 0; i < k->spaces.n && s[i].lost && !rc; i++) {
		const bool is_own = owners_netns_is_own(k->l->owners, s[i].inum);

		if (is_own && !own)
			continue;
		if (k->l->n == LOOK_PLACES)
			k->l->losing++;
		else if (is_own || !owners_netns_open(k->l->owners, s[i].inum, &ns, NULL))
			rc = add_place(k, &ns, err);
		ns = NETNS_NONE;
	}
	return rc;
}

/* Marks the namespaces where the port is open, giving this namespace the highest priority. */
static int find_port(void *arg, const struct netns *ns)
{
	struct looker *k = arg;
	struct facts_socks *socks = mem_new(socks);
	struct space *s = space_of(k, ns->inum);

	if (s && !facts_socks_read(to_enter(k, ns), k->spec->port, socks)) {
		s->entered = true;
		s->lost = !socks->n ? 0 : to_enter(k, ns) ? 1 : 2;
	}
	free(socks);
	return 0;
}

/* Opens the requested namespace, by name or through its process. NETNS_NONE: the thread's own. */
static int open_asked(const struct look_spec *spec, struct netns *ns, struct error *err)
{
	char path[48];

	*ns = NETNS_NONE;
	if (access("/proc/net", F_OK))
		return error_errno(err, STATUS_UNABLE, -errno, "mount /proc", "/proc/net");
	if (!spec->netns && !spec->pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d", spec->pid);
	if (spec->pid && access(path, F_OK))
		return error_set(err, STATUS_FAILED, -ESRCH, NULL, "cannot find process %d",
				 spec->pid);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", spec->pid);
	return netns_open(ns, spec->netns ? spec->netns : path, err);
}

/* Adds the places where the port is open, or else the namespace that was asked for. */
static int add_first(struct looker *k, bool any, struct error *err)
{
	struct netns ns;
	int rc = 0;

	if (any && k->spec->port) {
		visit_spaces(k, find_port);
		rc = add_places(k, true, err);
		k->spaces.n = k->l->losing = 0;
	}
	if (rc || k->l->n)
		return rc;
	rc = open_asked(k->spec, &ns, err);
	return rc ? rc : add_place(k, &ns, err);
}

/* Waits until `end_ns`. Returns false after a signal. */
static bool wait_until(struct looker *k, uint64_t start, uint64_t end_ns, uint64_t all_ns)
{
	uint64_t elapsed;

	while ((elapsed = clock_now() - start) < end_ns) {
		if (k->spec->on_second && all_ns > LOOK_NS)
			k->spec->on_second(elapsed, all_ns, 0);
		if (!facts_wait(k->reader, k->l->n, smaller(LOOK_NS, end_ns - elapsed)))
			return false;
	}
	return true;
}

static bool is_undecided(const struct looker *k)
{
	for (unsigned i = 0; i < k->l->n; i++) {
		if (facts_undecided(k->reader[i]))
			return true;
	}
	return false;
}

/* Watches until time is up, enough losses have been seen, or a signal arrives. */
static void watch(struct looker *k, bool all)
{
	const struct look_spec *spec = k->spec;
	const uint64_t asked = spec->window_ns, start = clock_now();
	uint64_t first = !asked ? LOOK_NS : all ? asked / 2 : asked, elapsed = 0;
	unsigned losing = 0;
	bool enough = true;

	if (!wait_until(k, start, first, asked))
		return;
	if (all) {
		losing = watch_spaces(k, clock_now() - start, &enough);
		add_places(k, false, &(struct error){});
	}
	if (asked) {
		wait_until(k, start, asked, asked);
		return;
	}
	/* one more second for namespaces that are read in full only from now */
	while (((losing && (!enough || elapsed < 2 * first)) || is_undecided(k)) &&
	       elapsed < LOOK_LONGEST_NS) {
		if (!facts_wait(k->reader, k->l->n, LOOK_NS))
			return;
		elapsed = clock_now() - start;
		if (all)
			losing = watch_spaces(k, elapsed, &enough);
		if (spec->on_second)
			spec->on_second(elapsed, LOOK_LONGEST_NS, losing);
	}
}

/*
 * Removes the changes for a namespace that was not read, because their effect is unknown. `enter`:
 * words to enter it for other commands, "" or NULL if unknown or not possible.
 */
static void forget_changes(struct check_findings *list, const char *enter)
{
	for (unsigned i = 0; i < list->n; i++) {
		struct check_finding *c = &list->at[i];

		if (c->n_changes || !enter || !*enter)
			finding_forget(&c->finding);
		else
			finding_enter(&c->finding, &(struct change){}, NULL, enter);
		c->n_changes = 0;
	}
}

/*
 * Turns some findings into notes, because their losses may belong elsewhere. When a single
 * namespace, port or process is checked, this applies to findings about host counters. When a port
 * or process is checked, it also applies to findings about namespace counters. A note does not fail
 * the check, and is changed only if its ID is given.
 */
static void note_others(struct check_findings *list, bool namespaces)
{
	for (unsigned i = 0; i < list->n; i++) {
		struct check_finding *c = &list->at[i];

		if (!c->losing || c->asked ||
		    (c->scope != CHECK_HOST && (c->scope != CHECK_NAMESPACE || !namespaces)))
			continue;
		c->losing = false;
		c->finding.severity = SEVERITY_INFO;
		finding_add_fact(&c->finding, "scope",
				 c->scope == CHECK_HOST
					 ? "counted for the whole host, in any of its namespaces"
					 : "counted for the whole namespace, on any port");
	}
}

/* Judges the places. `here`: changes are possible. `spec` NULL: unknown. */
static void judge_places(struct look *l, bool here, const struct look_spec *spec)
{
	for (unsigned i = 0; i < l->n; i++) {
		struct look_place *p = l->at[i];
		struct check_findings found = {0};

		judge(&p->facts, &found);
		if (spec && (spec->netns || spec->port || spec->pid))
			note_others(&found, spec->port || spec->pid);
		if (here)
			check_plan(&found, p->ns.fd < 0 ? NULL : &p->ns, p->enter);
		else
			forget_changes(&found, NULL);
		check_findings_join(&l->findings, &found, p->name, i > 0);
	}
}

/*
 * Collects the findings for a place, or for a namespace without a place the findings from its
 * counters.
 */
static void conclude(struct looker *k, uint64_t window_ns, bool all)
{
	struct look *l = k->l;
	struct space *s = k->spaces.at;
	bool enough;

	judge_places(l, true, k->spec);
	if (!all)
		return;
	if (clock_now() - k->read_ns > LOOK_NS / 4)
		watch_spaces(k, window_ns, &enough);
	for (unsigned i = 0; i < k->spaces.n; i++) {
		char name[OWNER_NETNS], enter[OWNER_ENTER];

		if (!s[i].lost || owners_netns_is_own(l->owners, s[i].inum))
			continue;
		owners_netns(l->owners, s[i].inum, name);
		for (unsigned j = 0; j < l->findings.n && s[i].lost; j++) {
			if (l->findings.at[j].losing &&
			    !strcmp(l->findings.at[j].finding.netns, name))
				s[i].lost = 0;
		}
		if (!s[i].lost)
			continue;
		forget_changes(&s[i].found, owners_netns_enter(l->owners, s[i].inum, enter));
		check_findings_join(&l->findings, &s[i].found, name, true);
	}
}

int look(struct look *l, const struct look_spec *spec, struct error *err)
{
	struct looker k = {.l = l, .spec = spec, .spaces = {.size = sizeof(struct space)}};
	const bool any = !spec->netns && !spec->ifname && !spec->pid;
	const bool all = any && !spec->port;
	uint32_t own;
	uint64_t start;
	int rc = owners_open(&l->owners, NULL, err);

	if (rc)
		return rc;
	owners_iterate(l->owners);
	owners_netns_list(l->owners, &own, 1); /* by now all of them are known by name or process */
	if (all)
		visit_spaces(&k, read_space);
	start = clock_now();
	rc = add_first(&k, any, err);
	if (!rc) {
		facts_unread_netns(&l->at[0]->facts, l->unread);
		watch(&k, all);
	}
	for (unsigned i = 0; i < l->n; i++) {
		int ret = facts_end(k.reader[i], err);

		rc = rc ? rc : ret;
	}
	l->window_ns = clock_now() - start;
	if (!rc) {
		conclude(&k, l->window_ns, all);
		check_findings_sort(&l->findings);
	}
	for (unsigned i = 0; i < k.spaces.n; i++) {
		struct space *s = (struct space *)k.spaces.at + i;

		l->spaces += s->base.n && s->now.n;
		counters_free(&s->base);
		counters_free(&s->now);
		check_findings_free(&s->found);
	}
	list_free(&k.spaces);
	return rc;
}

void look_judge(struct look *l)
{
	judge_places(l, false, NULL);
	check_findings_sort(&l->findings);
}

void look_close(struct look *l)
{
	for (unsigned i = 0; i < l->n; i++) {
		facts_free(&l->at[i]->facts);
		netns_close(&l->at[i]->ns);
		free(l->at[i]);
	}
	check_findings_free(&l->findings);
	owners_close(l->owners);
}

static double arrived(const struct facts *f)
{
	uint64_t n = facts_moved(f, FACTS_HERE, "Ip:InReceives") +
		     facts_moved(f, FACTS_HERE, "Ip6InReceives");

	return f->window_ns ? (double)n * 1e9 / (double)f->window_ns : 0;
}

enum remedy_outcome remedy_judge(const struct remedy *r)
{
	double before = r->lost_pps;

	if (r->arrived_pps_after * 2 < r->arrived_pps)
		return REMEDY_NO_TRAFFIC;
	if (r->arrived_pps_after < r->arrived_pps)
		before *= r->arrived_pps_after / r->arrived_pps;
	return r->lost_pps_after * 2 > before ? REMEDY_NO_HELP : REMEDY_HELPED;
}

int look_again(const struct look *l, const struct look_spec *spec,
	       const struct check_finding *finding, struct remedy *out, struct error *err)
{
	const struct look_place *p = NULL;
	struct look_spec again = *spec;
	struct look now = {};
	char path[32];
	int rc;

	for (unsigned i = 0; i < l->n && !p; i++) {
		if (!strcmp(l->at[i]->name, finding->finding.netns))
			p = l->at[i];
	}
	if (!p || !finding->losing || finding->loss_pps <= 0)
		return -ENODATA;
	if (p->ns.fd >= 0)
		snprintf(path, sizeof(path), "/proc/self/fd/%d", p->ns.fd);
	else
		snprintf(path, sizeof(path), "/proc/thread-self/ns/net");
	again.netns = path;
	again.window_ns = larger(l->window_ns, LOOK_NS);
	rc = look(&now, &again, err);
	*out = (struct remedy){.lost_pps = finding->loss_pps, .arrived_pps = arrived(&p->facts)};
	snprintf(out->id, sizeof(out->id), "%s", finding->finding.id);
	snprintf(out->subject, sizeof(out->subject), "%s", finding->subject);
	snprintf(out->netns, sizeof(out->netns), "%s", finding->finding.netns);
	if (!rc)
		out->arrived_pps_after = arrived(&now.at[0]->facts);
	for (unsigned i = 0; i < now.findings.n; i++) {
		const struct check_finding *f = &now.findings.at[i];

		/* the same loss may now have a different name and no subject */
		if (f->finding.stage == finding->finding.stage &&
		    f->loss_pps > out->lost_pps_after &&
		    (!*f->subject || !*finding->subject || !strcmp(f->subject, finding->subject)))
			out->lost_pps_after = f->loss_pps;
	}
	look_close(&now);
	out->outcome = remedy_judge(out);
	return rc;
}
