// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static bool read_value(const char *text, const char *name, uint64_t *value)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ')
			return sscanf(line + strlen(name), "%" SCNu64, value) == 1;
	}
	return false;
}

struct group_stat group_stat_parse(const char *text)
{
	struct group_stat s = {.known = false};
	uint64_t usec;

	if (!read_value(text, "nr_periods", &s.periods) ||
	    !read_value(text, "nr_throttled", &s.throttled))
		return s;
	if (read_value(text, "throttled_usec", &usec))
		s.throttled_ns = usec * 1000;
	else if (!read_value(text, "throttled_time", &s.throttled_ns))
		return s;
	s.known = true;
	return s;
}

static struct group_stat read_stat(const char *dir)
{
	struct group_stat s = {.known = false};
	char path[544], *text;

	snprintf(path, sizeof(path), "%s/cpu.stat", dir);
	if (file_read(path, &text, NULL))
		return s;
	s = group_stat_parse(text);
	free(text);
	return s;
}

static const struct facts_group *find(const struct facts_groups *groups, const char *dir)
{
	for (unsigned i = 0; i < groups->n; i++) {
		if (!strcmp(groups->at[i].dir, dir))
			return &groups->at[i];
	}
	return NULL;
}

void facts_groups_add(struct facts_groups *groups, const struct cgroup *group)
{
	struct cgroup at = *group;

	do {
		struct facts_group *g = &groups->at[groups->n];

		if (groups->n == FACTS_GROUPS)
			return;
		if (find(groups, at.dir))
			return; /* and so are those above it */
		snprintf(g->dir, sizeof(g->dir), "%s", at.dir);
		g->before = read_stat(at.dir);
		groups->n++;
	} while (cgroup_up(&at));
}

void facts_groups_sample(struct facts_groups *groups)
{
	for (unsigned i = 0; i < groups->n; i++)
		groups->at[i].after = read_stat(groups->at[i].dir);
}

const struct facts_group *facts_groups_worst(const struct facts_groups *groups,
					     const struct cgroup *group)
{
	const struct facts_group *worst = NULL;
	struct cgroup at = *group;
	uint64_t most = 0;

	do {
		const struct facts_group *g = find(groups, at.dir);

		if (!g || !g->before.known || !g->after.known ||
		    g->after.throttled <= g->before.throttled)
			continue;
		if (!worst || g->after.throttled_ns - g->before.throttled_ns > most) {
			worst = g;
			most = g->after.throttled_ns - g->before.throttled_ns;
		}
	} while (cgroup_up(&at));
	return worst;
}
