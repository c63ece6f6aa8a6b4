// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "drops/stagemap.h"

#define CAUSES_SHOWN 4 /* of one stage, without -v */

/* A cause of all streams together. */
struct group {
	const struct result_cause *cause;
	uint64_t packets, first, last;
};

static bool same_cause(const struct result_cause *a, const struct result_cause *b)
{
	return a->hook == b->hook && a->direction == b->direction &&
	       !strcmp(a->reason, b->reason) && !strcmp(a->location, b->location) &&
	       !strcmp(a->ifname, b->ifname) && !strcmp(a->netns, b->netns) &&
	       !strcmp(a->host, b->host);
}

static int by_packets(const void *va, const void *vb)
{
	const struct group *a = va, *b = vb;

	if (a->packets != b->packets)
		return a->packets < b->packets ? 1 : -1;
	return a->cause < b->cause ? -1 : 1; /* groups differ in their first cause */
}

/* The causes of a stage, largest first. Returns how many. */
static unsigned group_causes(const struct result *res, enum stage stage,
			     struct group group[RESULT_CAUSES])
{
	unsigned n = 0, g;

	for (unsigned i = 0; i < res->n_causes; i++) {
		const struct result_cause *c = &res->cause[i];

		if (c->stage != stage)
			continue;
		for (g = 0; g < n && !same_cause(group[g].cause, c); g++)
			;
		if (g == n)
			group[n++] = (struct group){c, 0, c->first, c->last};
		group[g].packets += c->packets;
		if (c->first < group[g].first)
			group[g].first = c->first;
		if (c->last > group[g].last)
			group[g].last = c->last;
	}
	qsort(group, n, sizeof(*group), by_packets);
	return n;
}

/* The place in the kernel says more than the reason where there is none, or none we know. */
static bool needs_location(const struct result_cause *c)
{
	return c->stage == STAGE_OTHER || !*c->reason || !strcmp(c->reason, "NOT_SPECIFIED");
}

static void put_cause(struct page *p, const struct group *g, int verbosity)
{
	const struct result_cause *c = g->cause;

	if (*c->reason)
		page_words(p, STYLE_PLAIN, "%s", c->reason);
	if (c->hook)
		page_words(p, STYLE_PLAIN, "%s\vhook", c->hook);
	if (*c->location && (verbosity > 0 || needs_location(c)))
		page_words(p, STYLE_PLAIN, "in\v%s", c->location);
	if (*c->netns || *c->ifname)
		page_words(p, STYLE_PLAIN, "%s%s%s", c->netns, *c->netns && *c->ifname ? "\v" : "",
			   c->ifname);
	if (*c->host)
		page_words(p, STYLE_PLAIN, "on\v%s", c->host);
	if (c->direction && !c->hook && strcmp(c->direction, c->netns))
		page_words(p, STYLE_PLAIN, "%s", c->direction);
	if (verbosity > 0) {
		page_break(p);
		page_words(p, STYLE_DIM, "numbers\v%" PRIu64 "-%" PRIu64, g->first, g->last);
		if (c->note)
			page_words(p, STYLE_DIM, "(%s)", c->note);
	}
}

/* "rx Udp:RcvbufErrors" without "rx " where the line has told the namespace. */
static const char *counter_name(const struct result_counter *c, const struct result_cause *cause)
{
	size_t n = cause ? strlen(cause->netns) : 0;

	if (n && !strncmp(c->name, cause->netns, n) && c->name[n] == ' ')
		return c->name + n + 1;
	return c->name;
}

static void put_counter(struct page *p, const struct result_counter *c,
			const struct result_cause *cause, unsigned more, bool note)
{
	char delta[FMT_MAX], expected[FMT_MAX], name[sizeof(c->name)], others[16] = "";
	enum style style = c->documented ? STYLE_WARN : STYLE_BAD;

	snprintf(name, sizeof(name), "%s", counter_name(c, cause));
	page_glue(name);
	if (more)
		snprintf(others, sizeof(others), "\v+%u", more);
	if (c->agrees) {
		page_words(p, STYLE_DIM, "=\v%s%s", name, others);
		if (c->note && note)
			page_words(p, STYLE_DIM, "(%s)", c->note);
		return;
	}
	page_words(p, style, "%s\v%s %s,\vnot\v%s", c->documented ? "~" : "!=", name,
		   fmt_count(delta, sizeof(delta), c->delta),
		   fmt_count(expected, sizeof(expected), c->expected));
	if (c->documented || c->note)
		page_words(p, STYLE_DIM, "(%s)", c->note ? c->note : "documented");
}

/* Of the counters that agree, one that knows these losses alone says most: it has no note. */
static const struct result_counter *best_agreeing(const struct result *res, enum stage stage,
						  unsigned *agree)
{
	const struct result_counter *best = NULL;

	*agree = 0;
	for (unsigned i = 0; i < res->n_counters; i++) {
		const struct result_counter *c = &res->counter[i];

		if (c->stage != stage || !c->agrees)
			continue;
		++*agree;
		if (!best || (c->delta && !c->note && (!best->delta || best->note)))
			best = c;
	}
	return best;
}

/*
 * All that disagree; of those that agree one, and how many more. `cause` is told already on this
 * line, so that its namespace need not be.
 */
static void put_counters(struct page *p, const struct result *res, enum stage stage,
			 const struct result_cause *cause, int verbosity)
{
	unsigned agree;
	const struct result_counter *best = best_agreeing(res, stage, &agree);

	if (best && verbosity < 1)
		put_counter(p, best, cause, agree - 1, false);
	for (unsigned i = 0; i < res->n_counters; i++) {
		const struct result_counter *c = &res->counter[i];

		if (c->stage != stage || (verbosity < 1 && c->agrees))
			continue;
		if (verbosity > 0)
			page_break(p);
		put_counter(p, c, cause, 0, verbosity > 0);
	}
}

static void put_stage(struct page *p, const struct result *res, enum stage stage, int verbosity,
		      struct group group[RESULT_CAUSES])
{
	unsigned n = group_causes(res, stage, group);
	const struct result_stage *s = &res->stage[stage];

	page_row(p, STYLE_BOLD, 2, stage_name(stage), s->packets, s->packets ? res->sent : 0);
	if (n == 1)
		put_cause(p, &group[0], verbosity);
	else if (n)
		page_words(p, STYLE_PLAIN, "%u causes", n);
	if (s->source && strcmp(s->source, "event"))
		page_words(p, STYLE_WARN, "known by %s only", s->source);
	put_counters(p, res, stage, n == 1 ? group[0].cause : NULL, verbosity);
	page_end(p);
	for (unsigned i = 0; n > 1 && i < n; i++) {
		if (i == CAUSES_SHOWN && n > CAUSES_SHOWN + 1 && verbosity < 1) {
			page_words(p, STYLE_DIM, "and %u more (-v shows all)", n - i);
			page_end(p);
			break;
		}
		page_row(p, STYLE_PLAIN, 2, "", group[i].packets, res->sent);
		put_cause(p, &group[i], verbosity);
		page_end(p);
	}
}

void text_path(struct page *p, const struct result *res, int verbosity)
{
	struct group *group = calloc(RESULT_CAUSES, sizeof(*group));

	for (int s = 0; group && s < STAGE_COUNT; s++) {
		if (res->stage[s].packets || result_disagrees(res, s))
			put_stage(p, res, s, verbosity, group);
	}
	free(group);
}

unsigned text_disagreements(const struct result *res)
{
	unsigned n = 0;

	for (unsigned i = 0; i < res->n_counters; i++)
		n += !res->counter[i].agrees && !res->counter[i].documented;
	return n;
}
