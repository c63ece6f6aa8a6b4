// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_sock.h"

#include <string.h>
#include <sys/socket.h>

#include "host/sockdiag.h"

static bool is_quiet(const struct facts_sock *s)
{
	return !s->drops && !s->queued;
}

/* If it is wanted and there is room; one that loses or waits takes that of one that does neither.
 */
static void add(struct facts_socks *socks, const struct facts_sock *s)
{
	socks->all++;
	if (socks->port && socks->port != s->port)
		return;
	if (socks->n < FACTS_SOCKS) {
		socks->at[socks->n++] = *s;
		return;
	}
	socks->more++;
	if (is_quiet(s))
		return;
	while (socks->settled < socks->n && !is_quiet(&socks->at[socks->settled]))
		socks->settled++;
	if (socks->settled < socks->n)
		socks->at[socks->settled++] = *s;
	else
		socks->more_lose = true;
}

static void on_row(void *arg, const struct sockmem_row *row)
{
	const struct facts_sock s = {.inode = row->inode,
				     .cookie = row->cookie,
				     .family = row->family,
				     .port = row->port,
				     .connected = row->connected,
				     .queued = row->rmem,
				     .rcvbuf = row->rcvbuf,
				     .sndbuf = row->sndbuf,
				     .drops = row->drops};

	add(arg, &s);
}

void facts_socks_parse(struct facts_socks *socks, int family, const char *text)
{
	sockmem_parse(text, strlen(text), family, on_row, socks);
}

int facts_socks_read(const struct netns *ns, uint16_t port, struct facts_socks *socks)
{
	struct sockmem *mem;
	int ret = sockmem_open(&mem, ns);

	memset(socks, 0, sizeof(*socks));
	socks->port = port;
	if (!ret)
		ret = sockmem_udp(mem, AF_INET, 0, on_row, socks);
	if (!ret)
		ret = sockmem_udp(mem, AF_INET6, 0, on_row, socks);
	sockmem_close(mem);
	if (!ret)
		return 0;
	memset(socks, 0, sizeof(*socks));
	socks->port = port;
	socks->no_buffer = true;
	return sockmem_files(ns, on_row, socks);
}

static const struct facts_sock *find(const struct facts_socks *socks, uint64_t inode)
{
	for (unsigned i = 0; i < socks->n; i++) {
		if (socks->at[i].inode == inode)
			return &socks->at[i];
	}
	return NULL;
}

void facts_socks_rates(const struct facts_socks *before, struct facts_socks *after)
{
	for (unsigned i = 0; i < after->n; i++) {
		struct facts_sock *s = &after->at[i];
		const struct facts_sock *b = find(before, s->inode);

		s->queued_before = b ? b->queued : 0;
		s->lost = s->drops - (b ? b->drops : 0); /* modulo 2^32, as sk_drops */
		if (!b && before->more_lose)		 /* before or since is not known */
			s->lost = 0;
	}
}

void facts_socks_only(struct facts_socks *socks, pid_t pid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < socks->n; i++) {
		if (socks->at[i].pid == pid)
			socks->at[n++] = socks->at[i];
	}
	socks->n = n;
}
