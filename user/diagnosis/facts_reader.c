// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_reader.h"

#include <errno.h>
#include <stdlib.h>

struct facts_watch {
	const struct netns *ns;
	uint32_t inum;
	struct owners *owners;
	struct readings *readings;
	struct facts_socks last, now;
};

static uint32_t number_of(const struct netns *ns)
{
	struct error ignored = {};
	struct netns own;
	uint32_t inum;

	if (ns)
		return ns->inum;
	if (netns_current(&own, &ignored))
		return 0;
	inum = own.inum;
	netns_close(&own);
	return inum;
}

static int begin(struct facts_watch *w, uint16_t port)
{
	struct error ignored = {};
	int ret = w->owners ? 0 : -ENOENT;
	int saved;

	if (!ret)
		ret = readings_open(&w->readings, w->owners, NULL, &ignored);
	if (!ret)
		ret = facts_socks_read(w->ns, port, &w->last);
	if (ret)
		return ret;
	saved = netns_push(w->ns);
	if (saved < 0)
		return saved;
	readings_begin(w->readings, NULL, 0);
	netns_pop(saved);
	return 0;
}

int facts_watch_open(struct facts_watch **watch, struct owners *o, const struct netns *ns,
		     uint16_t port)
{
	struct facts_watch *w = calloc(1, sizeof(*w));
	int ret;

	*watch = NULL;
	if (!w)
		return -ENOMEM;
	w->owners = o;
	w->ns = ns;
	w->inum = number_of(ns);
	ret = begin(w, port);
	if (ret)
		facts_watch_close(w);
	else
		*watch = w;
	return ret;
}

void facts_watch_close(struct facts_watch *w)
{
	if (!w)
		return;
	if (w->readings)
		readings_close(w->readings);
	free(w);
}

void facts_watch_tick(struct facts_watch *w)
{
	if (facts_socks_read(w->ns, w->last.port, &w->now))
		return;
	facts_socks_rates(&w->last, &w->now);
	readings_sample(w->readings);
	for (unsigned i = 0; i < w->now.n; i++) {
		const struct facts_sock *s = &w->now.at[i];
		const struct reading_socket id = {.inode = s->inode,
						  .netns = w->inum,
						  .family = (uint16_t)s->family,
						  .port = s->port};

		if (s->lost)
			readings_note(w->readings, &id, s->lost);
	}
	readings_interval(w->readings);
	w->last = w->now;
}

void facts_watch_get(const struct facts_watch *w, const struct facts_socks *socks,
		     struct facts_readers *out)
{
	out->n = 0;
	for (unsigned i = 0; i < socks->n && out->n < FACTS_READERS; i++) {
		const struct facts_sock *s = &socks->at[i];

		if (!s->lost || readings_get(w->readings, s->inode, &out->at[out->n].reading))
			continue;
		out->at[out->n++].inode = s->inode;
	}
}

const struct reading *facts_reader_of(const struct facts_readers *readers, uint64_t inode)
{
	for (unsigned i = 0; i < readers->n; i++) {
		if (readers->at[i].inode == inode)
			return &readers->at[i].reading;
	}
	return NULL;
}
