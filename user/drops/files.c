// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/files.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/load.h"
#include "survey.skel.h"

#define PID_NS_INIT 0xeffffffcU /* PROC_PID_INIT_INO */
#define BATCH	    256

struct files {
	struct survey_bpf *skel;
	struct bpf_link *link;
};

static int load(struct files *f)
{
	int rc = survey_open(&f->skel, "holders", "wanted");

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
	survey_bpf__destroy(f->skel);
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

/* AF_XDP sockets */

struct xsk_walk {
	struct survey_bpf *skel;
	struct bpf_link *link;
};

int xsk_walk_open(struct xsk_walk **out, struct error *err)
{
	struct xsk_walk *w = calloc(1, sizeof(*w));
	int rc = w ? survey_open(&w->skel, "xskwalk", NULL) : -ENOMEM;

	if (!rc) {
		w->link = bpf_program__attach_iter(w->skel->progs.xskwalk, NULL);
		rc = w->link ? 0 : -errno;
	}
	if (rc) {
		xsk_walk_close(w);
		return error_set(err, STATUS_UNABLE, rc, NULL,
				 "cannot walk over AF_XDP sockets: %s", strerror(-rc));
	}
	*out = w;
	return 0;
}

static bool is_known(const struct xsk_info *list, unsigned n, uint32_t inode)
{
	for (unsigned i = 0; i < n; i++) {
		if (list[i].inode == inode)
			return true;
	}
	return false;
}

static void fill(struct xsk_info *x, const struct xskwalk_record *r)
{
	*x = (struct xsk_info){
		.cookie = r->inode,
		.inode = (uint32_t)r->inode,
		.netns = r->netns,
		.ifindex = r->ifindex,
		.queue = r->queue,
		.zero_copy = r->zero_copy,
		.pid = (int)r->pid,
		.rx_dropped = r->rx_dropped,
		.rx_invalid_descs = r->rx_invalid_descs,
		.rx_ring_full = r->rx_ring_full,
		.rx_fill_ring_empty = r->rx_fill_ring_empty,
		.tx_invalid_descs = r->tx_invalid_descs,
		.tx_ring_empty = r->tx_ring_empty,
	};
	memcpy(x->process, r->comm, sizeof(x->process) - 1);
}

/* All that the walk writes; records never straddle a read, since bpf_seq_write() is all or none. */
static int read_sockets(int fd, struct xsk_info **list)
{
	struct xskwalk_record buf[32];
	unsigned n = 0;
	ssize_t got;

	while ((got = read(fd, buf, sizeof(buf))) > 0 || (got < 0 && errno == EAGAIN)) {
		size_t records = got > 0 ? (size_t)got / sizeof(buf[0]) : 0;
		struct xsk_info *more = reallocarray(*list, n + records + 1, sizeof(*more));

		if (!more)
			return -ENOMEM;
		*list = more;
		for (size_t i = 0; i < records; i++) {
			if (!is_known(more, n, (uint32_t)buf[i].inode))
				fill(&more[n++], &buf[i]);
		}
	}
	return got < 0 ? -errno : (int)n;
}

int xsk_walk_read(const struct xsk_walk *w, struct xsk_info **list)
{
	int fd = bpf_iter_create(bpf_link__fd(w->link)), n;

	*list = NULL;
	if (fd < 0)
		return fd;
	n = read_sockets(fd, list);
	close(fd);
	if (n < 0) {
		free(*list);
		*list = NULL;
	}
	return n;
}

void xsk_walk_close(struct xsk_walk *w)
{
	if (!w)
		return;
	bpf_link__destroy(w->link);
	survey_bpf__destroy(w->skel);
	free(w);
}
