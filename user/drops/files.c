// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drops/owners.h"
#include "host/load.h"
#include "survey.skel.h"

#define PID_NS_INIT 0xeffffffcU /* PROC_PID_INIT_INO */

struct files {
	struct survey_bpf *skel;
	struct bpf_link *link, *silent; /* the second beside the walk for owners; NULL: not here */
};

bool files_of_all(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == PID_NS_INIT;
}

static int open_walk(struct files **out, const char *program, const char *map, const char *beside)
{
	struct files *f = calloc(1, sizeof(*f));
	int rc = f ? survey_open(&f->skel, program, map, beside) : -ENOMEM;

	*out = NULL;
	if (!rc) {
		f->link = bpf_program__attach_iter(
			bpf_object__find_program_by_name(f->skel->obj, program), NULL);
		rc = f->link ? 0 : -errno;
	}
	if (rc)
		files_close(f);
	else
		*out = f;
	return rc;
}

int files_open(struct files **f)
{
	*f = NULL;
	int rc = files_of_all() ? open_walk(f, "holders", "wanted", "silent") : -EOPNOTSUPP;

	if (!rc)
		(*f)->silent = bpf_program__attach_iter((*f)->skel->progs.silent, NULL);
	return rc;
}

int files_open_xsk(struct files **f, struct error *err)
{
	int rc = open_walk(f, "xskwalk", NULL, NULL);

	return error_errno(err, STATUS_UNABLE, rc, NULL, "cannot walk over AF_XDP sockets");
}

int files_read_silent(const struct files *f, void (*each)(void *arg, const struct silent_record *r),
		      void *arg)
{
	int fd = f->silent ? bpf_iter_create(bpf_link__fd(f->silent)) : -EOPNOTSUPP, rc;
	struct silent_record batch[32];
	ssize_t got;

	if (fd < 0)
		return fd;
	while ((got = read(fd, batch, sizeof(batch))) > 0 || (got < 0 && errno == EAGAIN)) {
		for (ssize_t i = 0; i < got / (ssize_t)sizeof(batch[0]); i++)
			each(arg, &batch[i]);
	}
	rc = got < 0 ? -errno : 0;
	close(fd);
	return rc;
}

void files_close(struct files *f)
{
	if (!f)
		return;
	bpf_link__destroy(f->link);
	bpf_link__destroy(f->silent);
	survey_bpf__destroy(f->skel);
	free(f);
}

int files_walk(struct files *f, const uint64_t *inodes, unsigned n,
	       void (*each)(void *arg, const struct files_holder *h), void *arg)
{
	int map = bpf_map__fd(f->skel->maps.wanted), iter = -1, ret = 0;
	struct files_holder batch[256];
	const uint8_t one = 1;
	ssize_t got;

	if (n > FILES_WANTED)
		n = FILES_WANTED;
	for (unsigned i = 0; i < n && !ret; i++)
		ret = bpf_map_update_elem(map, &inodes[i], &one, BPF_ANY);
	if (!ret)
		ret = iter = bpf_iter_create(bpf_link__fd(f->link));
	if (iter >= 0) {
		/* a read ends between two records (bpf_seq_read()) */
		while ((got = read(iter, batch, sizeof(batch))) > 0) {
			for (unsigned i = 0; i < (size_t)got / sizeof(*batch); i++)
				each(arg, &batch[i]);
		}
		ret = got < 0 ? -errno : 0;
		close(iter);
	}
	for (unsigned i = 0; i < n; i++)
		bpf_map_delete_elem(map, &inodes[i]);
	return ret;
}

/* All that the walk writes; records never straddle a read, since bpf_seq_write() is all or none. */
static int read_sockets(int fd, struct xsk_info **list)
{
	struct xsk_info buf[32];
	unsigned n = 0;
	ssize_t got;

	while ((got = read(fd, buf, sizeof(buf))) > 0 || (got < 0 && errno == EAGAIN)) {
		size_t records = got > 0 ? (size_t)got / sizeof(buf[0]) : 0;
		struct xsk_info *more = reallocarray(*list, n + records + 1, sizeof(*more));

		if (!more)
			return -ENOMEM;
		*list = more;
		for (size_t i = 0, k; i < records; i++) {
			for (k = 0; k < n && more[k].inode != buf[i].inode; k++)
				;
			if (k == n)
				more[n++] = buf[i];
		}
	}
	return got < 0 ? -errno : (int)n;
}

int files_read_xsk(const struct files *f, struct xsk_info **list)
{
	int fd = bpf_iter_create(bpf_link__fd(f->link)), n;

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
