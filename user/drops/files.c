// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "host/load.h"
#include "files.skel.h"

#define PID_NS_INIT 0xeffffffcU /* PROC_PID_INIT_INO */
#define BATCH	    256

struct files {
	struct files_bpf *skel;
	struct bpf_link *link;
};

static int load(struct files *f)
{
	int rc;

	f->skel = files_bpf__open_opts(trace_open_opts());
	rc = f->skel ? files_bpf__load(f->skel) : -errno;
	if (rc)
		return rc;
	f->link = bpf_program__attach_iter(f->skel->progs.holders, NULL);
	return f->link ? 0 : -errno;
}

int files_open(struct files **files)
{
	struct files *f;
	struct stat st;
	int ret;

	*files = NULL;
	if (stat("/proc/self/ns/pid", &st))
		return -errno;
	if (st.st_ino != PID_NS_INIT)
		return -EOPNOTSUPP;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	ret = load(f);
	if (ret)
		files_close(f);
	else
		*files = f;
	return ret;
}

void files_close(struct files *f)
{
	if (!f)
		return;
	bpf_link__destroy(f->link);
	files_bpf__destroy(f->skel);
	free(f);
}

static int read_all(int iter, void (*each)(void *arg, const struct files_holder *h), void *arg)
{
	struct files_holder batch[BATCH];
	ssize_t n;

	/* a read ends between two records (bpf_seq_read()) */
	while ((n = read(iter, batch, sizeof(batch))) > 0) {
		for (unsigned i = 0; i < (size_t)n / sizeof(*batch); i++)
			each(arg, &batch[i]);
	}
	return n < 0 ? -errno : 0;
}

int files_walk(struct files *f, const uint64_t *inodes, unsigned n,
	       void (*each)(void *arg, const struct files_holder *h), void *arg)
{
	int map = bpf_map__fd(f->skel->maps.wanted);
	const uint8_t one = 1;
	int iter, ret = 0;

	if (n > FILES_WANTED)
		n = FILES_WANTED;
	for (unsigned i = 0; i < n && !ret; i++)
		ret = bpf_map_update_elem(map, &inodes[i], &one, BPF_ANY);
	iter = ret ? ret : bpf_iter_create(bpf_link__fd(f->link));
	if (iter >= 0) {
		ret = read_all(iter, each, arg);
		close(iter);
	} else {
		ret = iter;
	}
	for (unsigned i = 0; i < n; i++)
		bpf_map_delete_elem(map, &inodes[i]);
	return ret;
}
