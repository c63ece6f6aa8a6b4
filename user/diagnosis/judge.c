// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/judge.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "diagnosis/findings.h"

const char *const check_scope_names[] = {"socket", "interface", "namespace", "host"};

void judge_add_change(struct check_finding *c, const struct change *change)
{
	if (!change->name[0])
		return;
	c->changes = list_room(c->changes, c->n_changes, sizeof(*c->changes));
	c->changes[c->n_changes++] = *change;
}

struct check_finding *judge_add(struct check_findings *out, const struct facts *f, enum stage stage,
				enum check_scope scope, struct finding_facts *facts)
{
	struct check_finding *c;
	struct change change;

	if (!facts->window_ns)
		facts->window_ns = f->window_ns;
	if (!facts->since)
		facts->since = "boot";
	if (!facts->loss_pps && facts->window_ns)
		facts->loss_pps = (double)facts->lost * 1e9 / (double)facts->window_ns;
	out->at = list_room(out->at, out->n, sizeof(*c));
	c = &out->at[out->n];
	*c = (struct check_finding){
		.scope = scope,
		.losing = facts->lost,
		.asked = (f->port && facts->port == f->port) || (scope == CHECK_SOCKET && f->pid),
		.loss_pps = facts->loss_pps,
		.order = out->n,
	};
	if (findings_for_stage(stage, facts, &c->finding, &change))
		return NULL;
	out->n++;
	if (scope == CHECK_SOCKET && facts->port)
		snprintf(c->subject, sizeof(c->subject), "port %u", (unsigned)facts->port);
	else if (facts->ifname)
		snprintf(c->subject, sizeof(c->subject), "%s", facts->ifname);
	judge_add_change(c, &change);
	return c;
}

void judge_history(struct check_findings *out, enum stage stage, bool host, const char *counter,
		   uint64_t total)
{
	struct check_history *h;

	if (!total)
		return;
	out->history = list_room(out->history, out->n_history, sizeof(*h));
	h = &out->history[out->n_history++];
	*h = (struct check_history){.stage = stage, .host = host, .total = total};
	snprintf(h->counter, sizeof(h->counter), "%s", counter);
}

bool judge_moved(const struct facts *f, struct check_findings *out, enum stage stage,
		 const char *scope, const char *name, const char *other,
		 struct finding_facts *facts)
{
	const uint64_t lost = facts_moved(f, scope, name), total = facts_total(f, scope, name);

	facts->lost = lost + (other ? facts_moved(f, scope, other) : 0);
	facts->total = total + (other ? facts_total(f, scope, other) : 0);
	facts->counter = facts->lost > 2 * lost || (!facts->lost && !total) ? other : name;
	if (!facts->lost)
		judge_history(out, stage, !strcmp(scope, FACTS_HOST), facts->counter, facts->total);
	return facts->lost;
}

/*
 * Sums a softnet counter. Lines carry their CPU number, or their row number if the kernel does not
 * number them.
 */
uint64_t judge_softnet(const struct facts *f, const char *what, bool total)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 2 * f->cpus.n; i++) {
		char name[COUNTER_NAME_LEN];

		snprintf(name, sizeof(name), "softnet:%s%u:%s", i % 2 ? "row" : "cpu", i / 2, what);
		sum += (total ? facts_total : facts_moved)(f, FACTS_HOST, name);
	}
	return sum;
}

static int compare(const void *a, const void *b)
{
	const struct check_finding *x = a, *y = b;
	int order = y->asked - x->asked;

	if (!order)
		order = y->losing - x->losing;
	if (!order)
		order = (x->loss_pps < y->loss_pps) - (x->loss_pps > y->loss_pps);
	if (!order)
		order = (int)y->finding.severity - (int)x->finding.severity;
	return order ? order : (int)x->order - (int)y->order;
}

void judge(const struct facts *f, struct check_findings *out)
{
	judge_socks(f, out);
	judge_counters(f, out);
	judge_links(f, out);
	judge_stack(f, out);
	judge_cpus(f, out);
	check_findings_sort(out);
}

/* Returns true if an earlier finding about current losses has the same command for the host. */
static bool is_said(const struct check_findings *list, unsigned i)
{
	const struct check_finding *c = &list->at[i];

	for (unsigned j = 0; j < i && !c->losing && c->scope == CHECK_HOST; j++) {
		if (list->at[j].losing && *c->finding.command &&
		    !strcmp(list->at[j].finding.command, c->finding.command))
			return true;
	}
	return false;
}

void check_findings_sort(struct check_findings *list)
{
	unsigned kept = 0;
	double all = 0;

	for (unsigned i = 0; i < list->n; i++)
		all += list->at[i].loss_pps;
	for (unsigned i = 0; i < list->n; i++) {
		struct check_finding *c = &list->at[i];

		if (c->loss_pps > 0 && c->loss_pps < FINDING_SMALL * all &&
		    c->finding.severity == SEVERITY_ERROR)
			c->finding.severity = SEVERITY_WARNING;
	}
	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), compare);
	for (unsigned i = 0; i < list->n; i++) {
		if (is_said(list, i))
			free(list->at[i].changes);
		else
			list->at[kept++] = list->at[i];
	}
	list->n = kept;
}

void check_findings_join(struct check_findings *list, struct check_findings *from,
			 const char *netns, bool others)
{
	for (unsigned i = 0; i < from->n; i++) {
		struct check_finding *c;

		if (others && from->at[i].scope == CHECK_HOST)
			continue;
		list->at = list_room(list->at, list->n, sizeof(*c));
		c = &list->at[list->n];
		*c = from->at[i];
		c->order = list->n++;
		/* a host counter does not reveal the namespace */
		if (c->scope != CHECK_HOST)
			snprintf(c->finding.netns, sizeof(c->finding.netns), "%s", netns);
		from->at[i].changes = NULL;
	}
	if (!others) {
		free(list->history);
		list->history = from->history;
		list->n_history = from->n_history;
		from->history = NULL;
	}
	check_findings_free(from);
}

void check_findings_free(struct check_findings *list)
{
	for (unsigned i = 0; i < list->n; i++)
		free(list->at[i].changes);
	free(list->at);
	free(list->history);
	*list = (struct check_findings){0};
}

void check_plan(struct check_findings *list, const struct netns *ns, const char *enter)
{
	for (unsigned i = 0; i < list->n; i++) {
		struct check_finding *c = &list->at[i];
		const struct netns *where = ns;
		unsigned wishes = c->n_changes;

		if (!wishes) {
			if (ns && *enter && c->scope != CHECK_HOST)
				finding_enter(&c->finding, &(struct change){}, ns, enter);
			continue;
		}
		c->on_host = ns && !change_belongs(&c->changes[0], ns);
		if (c->on_host)
			where = NULL;
		c->n_changes = 0;
		for (unsigned j = 0; j < wishes; j++) {
			const struct change wish = c->changes[j];

			if (change_belongs(&wish, where) &&
			    !change_plan(&c->changes[c->n_changes], where, wish.kind, wish.ifname,
					 wish.name, wish.wanted))
				c->changes[c->n_changes++].enter = where ? enter : NULL;
		}
		c->finding.command[0] = c->finding.undo[0] = '\0';
		if (!c->n_changes) {
			finding_forget(&c->finding);
			continue;
		}
		change_command(c->changes, false, c->finding.command, FINDING_COMMAND);
		change_command(c->changes, true, c->finding.undo, FINDING_COMMAND);
	}
}
