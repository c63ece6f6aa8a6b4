// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/counters.h"

static const struct tunnel_port known[] = {
	{4789, HEADER_VXLAN, 0},
	{8472, HEADER_VXLAN, 0},
	{6081, HEADER_GENEVE, 0},
};

struct search {
	struct filter_inner *out;
	int rc;
};

static void add(struct search *s, const struct tunnel_port *found)
{
	struct tunnel_port *p = s->out->ports;

	for (unsigned i = 0; i < TUNNEL_PORTS; i++, p++) {
		if (p->port == found->port)
			return;
		if (!p->port) {
			*p = *found;
			return;
		}
	}
	s->rc = -E2BIG;
}

static int look_at(void *arg, const struct netns *ns)
{
	struct link_info *links = NULL;
	int n = links_read(ns, 0, &links);

	for (int i = 0; i < n; i++) {
		const struct tunnel_port p = {
			links[i].tunnel_port,
			strcmp(links[i].kind, "vxlan") ? HEADER_GENEVE : HEADER_VXLAN, 0};

		if (p.port)
			add(arg, &p);
	}
	free(links);
	return 0;
}

int tunnels_find(struct filter_inner *out, struct error *err)
{
	struct search s = {.out = out};

	*out = (struct filter_inner){.wanted = 1};
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		add(&s, &known[i]);
	netns_each(look_at, &s);
	return s.rc ? error_set(err, STATUS_UNABLE, s.rc, "trace without it, and filter on the "
							  "tunnel's port",
				"--inner knows %d UDP ports of tunnels, and devices of this host "
				"use more",
				TUNNEL_PORTS)
		    : 0;
}

char *tunnel_text(const struct watch_flow *f, char buf[TUNNEL_TEXT])
{
	static const char *const names[] = {
		[HEADER_IP] = "ipip",
		[HEADER_VXLAN] = "vxlan",
		[HEADER_GENEVE] = "geneve",
		[HEADER_GRE] = "gre",
	};
	const char *name = f->tunnel < sizeof(names) / sizeof(names[0]) ? names[f->tunnel] : NULL;

	*buf = '\0';
	if (name && (f->tunnel_id || f->tunnel == HEADER_VXLAN || f->tunnel == HEADER_GENEVE))
		snprintf(buf, TUNNEL_TEXT, "%s %u", name, f->tunnel_id);
	else if (name)
		snprintf(buf, TUNNEL_TEXT, "%s", name);
	return buf;
}
