// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/proc.h"

static bool read_value(const char *text, const char *name, uint64_t *value)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ')
			return sscanf(line + strlen(name), "%" SCNu64, value) == 1;
	}
	return false;
}

static bool read_throttled(const char *text, uint64_t *ns)
{
	if (!read_value(text, "throttled_usec", ns))
		return read_value(text, "throttled_time", ns);
	*ns *= 1000;
	return true;
}

struct group_stat group_stat_parse(const char *text)
{
	struct group_stat s = {};

	s.known = read_value(text, "nr_periods", &s.periods) &&
		  read_value(text, "nr_throttled", &s.throttled) &&
		  read_throttled(text, &s.throttled_ns);
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

unsigned group_throttled(int root, pid_t pid, uint64_t *ns, unsigned max)
{
	struct cgroup at;
	char text[1024];
	unsigned n = 0;

	if (!cgroup_of(root, pid, &at))
		return 0;
	do {
		if (proc_read(root, text, sizeof(text), "%s/cpu.stat", at.dir + 1) < 0 ||
		    !read_throttled(text, &ns[n]))
			break;
	} while (++n < max && cgroup_up(&at));
	return n;
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
