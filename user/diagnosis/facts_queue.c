// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_queue.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "host/load.h"
#include "survey.skel.h"
#include "survey_abi.h"

static void note(struct facts_socks *socks, const struct queue_record *r)
{
	for (unsigned i = 0; i < socks->n; i++) {
		if (socks->at[i].cookie == r->cookie && r->looked)
			socks->at[i].truesize = r->memory / r->looked;
	}
}

/* Records come whole: bpf_seq_write() puts one or none. */
static int read_records(int fd, struct facts_socks *socks)
{
	struct queue_record r[256];
	ssize_t n;

	while ((n = read(fd, r, sizeof(r))) > 0) {
		if (n % (ssize_t)sizeof(r[0]))
			return -EIO;
		for (size_t i = 0; i < (size_t)n / sizeof(r[0]); i++)
			note(socks, &r[i]);
	}
	return n < 0 ? -errno : 0;
}

/* The iterator shows the sockets of the namespace in which it is made. */
static int walk(const struct survey_bpf *skel, const struct netns *ns, struct facts_socks *socks)
{
	struct bpf_link *link = bpf_program__attach_iter(skel->progs.queue, NULL);
	int saved, fd, ret;

	if (!link)
		return -errno;
	saved = netns_push(ns);
	fd = saved < 0 ? saved : bpf_iter_create(bpf_link__fd(link));
	ret = fd < 0 ? fd : read_records(fd, socks);
	if (fd >= 0)
		close(fd);
	if (saved >= 0)
		netns_pop(saved);
	bpf_link__destroy(link);
	return ret;
}

int facts_queues_read(const struct netns *ns, struct facts_socks *socks)
{
	struct survey_bpf *skel;
	int ret = survey_open(&skel, "queue", NULL);

	if (!ret)
		ret = walk(skel, ns, socks);
	survey_bpf__destroy(skel);
	return ret;
}
