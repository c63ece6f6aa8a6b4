// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "drops/owners.h"
#include "host/load.h"
#include "survey.skel.h"

#define PID_NS_INIT 0xeffffffcU /* PROC_PID_INIT_INO */

struct files {
	struct survey_bpf *skel;
	struct bpf_link *link, *silent; /* `silent`: used with the walk for owners; NULL: missing */
};

bool files_of_all(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == PID_NS_INIT;
}

static int open_walk(struct files **out, const char *program, const char *map,
		     const char *const beside[])
{
	struct files *f = mem_new(f);
	int rc = survey_open(&f->skel, program, map, beside);

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
	const char *const beside[] = {"silent", NULL};
	int rc = files_of_all() ? open_walk(f, "holders", "wanted", beside) : -EOPNOTSUPP;

	if (!rc)
		(*f)->silent = bpf_program__attach_iter((*f)->skel->progs.silent, NULL);
	return rc;
}

int files_open_xsk(struct files **f, struct error *err)
{
	int rc = open_walk(f, "xskwalk", NULL, NULL);

	return error_errno(err, STATUS_UNABLE, rc, NULL, "cannot walk over AF_XDP sockets");
}

int files_read_silent(const struct files *f, void (*each)(void *arg, const void *record), void *arg)
{
	return f->silent ? trace_iterate(f->silent, sizeof(struct silent_record), each, arg)
			 : -EOPNOTSUPP;
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
	       void (*each)(void *arg, const void *record), void *arg)
{
	int map = bpf_map__fd(f->skel->maps.wanted), ret = 0;
	const uint8_t wanted = 1;

	if (n > FILES_WANTED)
		n = FILES_WANTED;
	for (unsigned i = 0; i < n && !ret; i++)
		ret = bpf_map_update_elem(map, &inodes[i], &wanted, BPF_ANY) ? -errno : 0;
	if (!ret)
		ret = trace_iterate(f->link, sizeof(struct files_holder), each, arg);
	for (unsigned i = 0; i < n; i++)
		bpf_map_delete_elem(map, &inodes[i]);
	return ret;
}

static void add_xsk(void *list, const void *record)
{
	const struct xsk_info *x = record;

	if (!list_find(list, offsetof(struct xsk_info, inode), &x->inode, sizeof(x->inode)))
		*(struct xsk_info *)list_add(list) = *x;
}

int files_read_xsk(const struct files *f, struct xsk_info **list)
{
	struct list found = {.size = sizeof(**list)};
	int rc = trace_iterate(f->link, sizeof(**list), add_xsk, &found);

	if (rc)
		list_free(&found);
	*list = found.at;
	return rc ? rc : (int)found.n;
}
