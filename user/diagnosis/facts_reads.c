// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_reads.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "host/load.h"
#include "survey.skel.h"

struct facts_reads {
	struct survey_bpf *skel;
};

int facts_reads_open(struct facts_reads **reads)
{
	struct facts_reads *r = calloc(1, sizeof(*r));
	int ret = r ? 0 : -ENOMEM;

	*reads = NULL;
	if (!ret)
		ret = survey_open(&r->skel, "read_one", "reads");
	if (!ret)
		ret = survey_bpf__attach(r->skel);
	if (ret)
		facts_reads_close(r);
	else
		*reads = r;
	return ret;
}

void facts_reads_get(struct facts_reads *r, struct facts_socks *socks)
{
	int fd = bpf_map__fd(r->skel->maps.reads);

	survey_bpf__detach(r->skel);
	for (unsigned i = 0; i < socks->n; i++) {
		struct facts_sock *s = &socks->at[i];

		/* One without an entry was not read, or there was no room for it. */
		s->reads_known = s->cookie && !bpf_map_lookup_elem(fd, &s->cookie, &s->reads);
	}
}

void facts_reads_close(struct facts_reads *r)
{
	if (!r)
		return;
	survey_bpf__destroy(r->skel);
	free(r);
}
