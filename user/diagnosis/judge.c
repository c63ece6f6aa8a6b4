// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/judge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "diagnosis/findings.h"
#include "diagnosis/rules.h"

const char *check_scope_name(enum check_scope scope)
{
	static const char *const names[] = {"socket", "interface", "namespace", "host"};

	return names[scope];
}

void bind_text(struct binds *b, const char *name, const char *value)
{
	if (!value || !*value || b->n == BINDS_MAX)
		return;
	b->at[b->n].name = name;
	snprintf(b->at[b->n].value, sizeof(b->at[0].value), "%s", value);
	b->n++;
}

void bind_zero(struct binds *b, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	bind_text(b, name, text);
}

void bind_count(struct binds *b, const char *name, uint64_t value)
{
	if (value)
		bind_zero(b, name, value);
}

void bind_rate(struct binds *b, const char *name, double per_second)
{
	char text[24];

	if (fact_rate(text, sizeof(text), per_second))
		bind_text(b, name, text);
}

void bind_percent(struct binds *b, const char *name, double share)
{
	char text[24];

	snprintf(text, sizeof(text), "%.3g", share * 100);
	bind_text(b, name, text);
}

void bind_time(struct binds *b, const char *name, uint64_t ns)
{
	char text[FMT_MAX];

	if (ns)
		bind_text(b, name, fmt_ns(text, sizeof(text), ns));
}

static double per_second(const struct facts *f, uint64_t count)
{
	return f->window_ns ? (double)count * 1e9 / (double)f->window_ns : 0;
}

void bind_loss(struct binds *b, const struct facts *f, const char *counter, uint64_t lost,
	       uint64_t total)
{
	bind_text(b, "counter", counter);
	bind_count(b, "lost", lost);
	bind_time(b, "window", f->window_ns);
	bind_rate(b, "loss_rate", per_second(f, lost));
	bind_count(b, "total", total > lost ? total : 0);
}

static bool bound(const void *arg, const char *name, char *buf, size_t size)
{
	const struct binds *b = arg;

	for (unsigned i = 0; i < b->n; i++) {
		if (!strcmp(b->at[i].name, name))
			return fact_text(buf, size, b->at[i].value);
	}
	return false;
}

static struct check_finding *add(struct check_findings *out, const struct facts *f,
				 const struct about *about)
{
	struct check_finding *c;

	if (out->n == out->cap) {
		unsigned cap = out->cap ? out->cap * 2 : 16;
		struct check_finding *at = reallocarray(out->at, cap, sizeof(*at));

		if (!at) {
			out->out_of_memory = true;
			return NULL;
		}
		out->at = at;
		out->cap = cap;
	}
	c = &out->at[out->n++];
	*c = (struct check_finding){
		.scope = about->scope,
		.losing = about->lost,
		.loss_pps = per_second(f, about->lost),
	};
	if (about->subject)
		snprintf(c->subject, sizeof(c->subject), "%s", about->subject);
	return c;
}

void judge_add_change(struct check_findings *out, struct check_finding *c,
		      const struct change *change)
{
	struct change *more;

	if (!c || !change->name[0])
		return;
	more = reallocarray(c->changes, c->n_changes + 1, sizeof(*more));
	if (!more) {
		out->out_of_memory = true;
		return;
	}
	c->changes = more;
	c->changes[c->n_changes++] = *change;
}

struct check_finding *judge_state(struct check_findings *out, const struct facts *f, const char *id,
				  const struct binds *b)
{
	const struct finding_row *row = finding_row(id);
	struct check_finding *c = row ? add(out, f, &b->about) : NULL;
	struct change change;

	if (!c)
		return NULL;
	finding_write(row, bound, b, &c->finding, &change);
	judge_add_change(out, c, &change);
	return c;
}

void judge_loss(struct check_findings *out, const struct facts *f, enum stage stage,
		const struct about *about, struct finding_facts *facts)
{
	struct check_finding *c = add(out, f, about);
	struct change change;

	if (!c)
		return;
	facts->lost = about->lost;
	facts->window_ns = f->window_ns;
	if (!facts->since)
		facts->since = "boot";
	if (findings_with_change(stage, facts, &c->finding, &change))
		out->n--;
	else
		judge_add_change(out, c, &change);
}

void judge_history(struct check_findings *out, enum stage stage, const char *counter,
		   uint64_t total)
{
	struct check_history *h;

	if (out->n_history == out->cap_history) {
		unsigned cap = out->cap_history ? out->cap_history * 2 : 16;

		h = reallocarray(out->history, cap, sizeof(*h));
		if (!h) {
			out->out_of_memory = true;
			return;
		}
		out->history = h;
		out->cap_history = cap;
	}
	h = &out->history[out->n_history++];
	*h = (struct check_history){.stage = stage, .total = total};
	snprintf(h->counter, sizeof(h->counter), "%s", counter);
}

/* Lines are called by their CPU, or by their row where the kernel does not number them. */
uint64_t judge_softnet(const struct facts *f, const char *what, bool total)
{
	uint64_t sum = 0;
	char name[COUNTER_NAME_LEN];

	for (unsigned i = 0; i < f->cpus.n; i++) {
		static const char *const lines[] = {"cpu", "row"};

		for (unsigned j = 0; j < 2; j++) {
			snprintf(name, sizeof(name), "softnet:%s%u:%s", lines[j], i, what);
			sum += total ? facts_total(f, FACTS_HOST, name)
				     : facts_moved(f, FACTS_HOST, name);
		}
	}
	return sum;
}

static int compare(const void *a, const void *b)
{
	const struct check_finding *x = a, *y = b;

	if (x->losing != y->losing)
		return y->losing - x->losing;
	if (x->finding.severity != y->finding.severity)
		return (int)y->finding.severity - (int)x->finding.severity;
	if (x->loss_pps != y->loss_pps)
		return x->loss_pps < y->loss_pps ? 1 : -1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int judge(const struct facts *f, struct check_findings *out)
{
	judge_socks(f, out);
	judge_counters(f, out);
	judge_links(f, out);
	judge_stack(f, out);
	judge_cpus(f, out);
	if (out->out_of_memory)
		return -ENOMEM;
	for (unsigned i = 0; i < out->n; i++)
		out->at[i].order = i;
	if (out->n)
		qsort(out->at, out->n, sizeof(*out->at), compare);
	return 0;
}

void check_findings_free(struct check_findings *list)
{
	for (unsigned i = 0; i < list->n; i++)
		free(list->at[i].changes);
	free(list->at);
	free(list->history);
	*list = (struct check_findings){0};
}

/* The command of one of its changes, or the one that undoes it. Returns `buf`. */
static char *check_command(const struct check_finding *c, unsigned i, bool undo, const char *netns,
			   char buf[FINDING_COMMAND])
{
	return change_command(&c->changes[i], undo, netns, buf, FINDING_COMMAND);
}

/*
 * What belongs to the host is written from outside of namespaces. Other ones than the first show
 * some of its settings without a right to write them, and the others not at all.
 */
static bool writable(const struct netns *ns, const struct change *change)
{
	char path[CHANGE_NAME_SIZE + 16];
	struct stat st = {.st_mode = 0};
	int saved;

	if (!change_of_namespace(change->kind))
		return !ns;
	if (change->kind != CHANGE_SYSCTL)
		return true;
	saved = netns_push(ns);
	if (saved < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/sys/%s", change->name);
	if (stat(path, &st))
		st.st_mode = 0;
	netns_pop(saved);
	return st.st_mode & 0222;
}

static void plan(struct check_finding *c, const struct netns *ns)
{
	unsigned n = 0;

	c->on_host = ns && !writable(ns, &c->changes[0]);
	for (unsigned i = 0; i < c->n_changes; i++) {
		const struct netns *where = c->on_host ? NULL : ns;
		const struct change wish = c->changes[i];
		struct error ignored = {};

		if (writable(where, &wish) &&
		    !change_plan(&c->changes[n], where, wish.kind, wish.ifname, wish.name,
				 wish.wanted, &ignored))
			n++;
	}
	c->n_changes = n;
}

void check_plan(struct check_findings *list, const struct netns *ns, const char *netns)
{
	for (unsigned i = 0; i < list->n; i++) {
		struct check_finding *c = &list->at[i];

		if (!c->n_changes)
			continue;
		plan(c, ns);
		c->finding.command[0] = c->finding.undo[0] = '\0';
		if (!c->n_changes)
			continue;
		check_command(c, 0, false, netns, c->finding.command);
		check_command(c, 0, true, netns, c->finding.undo);
	}
}
