// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_sock.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "host/nl.h"

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

static int on_socket(const struct nlmsghdr *nlh, void *arg)
{
	const struct inet_diag_msg *d = mnl_nlmsg_get_payload(nlh);
	struct facts_sock s = {
		.inode = d->idiag_inode,
		.cookie = (uint64_t)d->id.idiag_cookie[1] << 32 | d->id.idiag_cookie[0],
		.family = d->idiag_family,
		.port = ntohs(d->id.idiag_sport),
		.connected = d->id.idiag_dport,
	};
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, sizeof(*d))
	{
		const uint32_t *m = mnl_attr_get_payload(a);

		if (mnl_attr_get_type(a) != INET_DIAG_SKMEMINFO ||
		    mnl_attr_get_payload_len(a) < (SK_MEMINFO_DROPS + 1) * sizeof(*m))
			continue;
		s.queued = m[SK_MEMINFO_RMEM_ALLOC];
		s.rcvbuf = m[SK_MEMINFO_RCVBUF];
		s.sndbuf = m[SK_MEMINFO_SNDBUF];
		s.drops = m[SK_MEMINFO_DROPS];
	}
	add(arg, &s);
	return MNL_CB_OK;
}

static int read_family(const struct netns *ns, struct facts_socks *socks, int family)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
	struct inet_diag_req_v2 *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));

	req->sdiag_family = (uint8_t)family;
	req->sdiag_protocol = IPPROTO_UDP;
	req->idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1);
	req->idiag_states = UINT32_MAX;
	return nl_query_bus(ns, NETLINK_SOCK_DIAG, nlh, on_socket, socks);
}

/* "  sl  local_address rem_address st tx_queue:rx_queue ... inode ref pointer drops" */
void facts_socks_parse(struct facts_socks *socks, int family, const char *text)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		struct facts_sock s = {.family = family};
		unsigned port, remote;

		line += *line == '\n';
		if (sscanf(line,
			   " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%x %*x %*x:%" SCNx64
			   " %*x:%*x %*x %*u %*u %" SCNu64 " %*u %*s %" SCNu32,
			   &port, &remote, &s.queued, &s.inode, &s.drops) == 5) {
			s.port = (uint16_t)port;
			s.connected = remote;
			add(socks, &s);
		}
	}
}

static int read_files(const struct netns *ns, struct facts_socks *socks)
{
	static const struct {
		const char *path;
		int family;
	} files[] = {{"/proc/thread-self/net/udp", AF_INET},
		     {"/proc/thread-self/net/udp6", AF_INET6}};
	int saved = netns_push(ns);
	int ret = 0;

	if (saved < 0)
		return saved;
	for (unsigned i = 0; i < 2; i++) {
		char *text;
		int rc = file_read(files[i].path, &text, NULL);

		if (rc) {
			ret = rc == -ENOENT ? ret : rc;
			continue;
		}
		facts_socks_parse(socks, files[i].family, text);
		free(text);
	}
	netns_pop(saved);
	return ret;
}

int facts_socks_read(const struct netns *ns, uint16_t port, struct facts_socks *socks)
{
	int ret;

	memset(socks, 0, sizeof(*socks));
	socks->port = port;
	ret = read_family(ns, socks, AF_INET);
	if (!ret)
		ret = read_family(ns, socks, AF_INET6);
	if (!ret)
		return 0;
	memset(socks, 0, sizeof(*socks));
	socks->port = port;
	socks->no_buffer = true;
	return read_files(ns, socks);
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
