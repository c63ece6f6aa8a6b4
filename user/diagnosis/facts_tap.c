// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_tap.h"

#include <inttypes.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static void add(struct facts_owner *list, unsigned *n, uint64_t inode)
{
	if (*n < FACTS_TAPS)
		list[*n] = (struct facts_owner){.inode = inode};
	(*n)++;
}

void facts_taps_parse_packet(struct facts_taps *t, const char *text)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		unsigned protocol;
		uint64_t inode;

		line += *line == '\n';
		/* sk RefCnt Type Proto Iface R Rmem User Inode */
		if (sscanf(line, "%*s %*d %*d %x %*d %*d %*u %*u %" SCNu64, &protocol, &inode) ==
			    2 &&
		    protocol == ETH_P_ALL)
			add(t->tap, &t->taps, inode);
	}
}

void facts_taps_parse_raw(struct facts_taps *t, const char *text)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		unsigned protocol;
		uint64_t inode;

		line += *line == '\n';
		if (sscanf(line,
			   " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %*x %*x:%*x %*x:%*x %*x %*u "
			   "%*u %" SCNu64,
			   &protocol, &inode) == 2 &&
		    protocol == IPPROTO_UDP)
			add(t->raw, &t->raws, inode);
	}
}

int facts_taps_read(const struct netns *ns, struct owners *o, struct facts_taps *t)
{
	static const struct {
		const char *path;
		void (*parse)(struct facts_taps *t, const char *text);
	} files[] = {
		{"/proc/thread-self/net/packet", facts_taps_parse_packet},
		{"/proc/thread-self/net/raw", facts_taps_parse_raw},
		{"/proc/thread-self/net/raw6", facts_taps_parse_raw},
	};
	int saved = netns_push(ns), ret;

	memset(t, 0, sizeof(*t));
	if (saved < 0)
		return saved;
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *text;

		if (file_read(files[i].path, &text, NULL))
			continue;
		files[i].parse(t, text);
		free(text);
	}
	netns_pop(saved);
	if (!t->taps && !t->raws)
		return 0;
	ret = facts_owners_find(o, t->tap, t->taps < FACTS_TAPS ? t->taps : FACTS_TAPS, 0);
	if (t->raws)
		ret = facts_owners_find(o, t->raw, t->raws < FACTS_TAPS ? t->raws : FACTS_TAPS, 0);
	return ret;
}
