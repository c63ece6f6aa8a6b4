/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A filter in the test program bpf/test.bpf.c, and packets given to it. */
#ifndef PKTLEDGER_TESTS_FILTER_RUN_H
#define PKTLEDGER_TESTS_FILTER_RUN_H

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "filter_abi.h"
#include "drops/filter.h"
#include "host/load.h"
#include "test.skel.h"
#include "test_old.skel.h"

#define HEADROOM 64
#define UNSET	 0xffff

/* Whether the kernel has bpf_rdonly_cast(), since Linux 6.2. */
static inline bool has_kfuncs(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return has;
}

/* As programs are opened that call functions of the kernel; NULL: it cannot be. */
static inline struct test_bpf *open_test(void)
{
	struct test_bpf *s = calloc(1, sizeof(*s));

	if (s && !test_bpf__create_skeleton(s) &&
	    !trace_open(s->skeleton, has_kfuncs() ? NULL : test_old_bpf__elf_bytes))
		return s;
	test_bpf__destroy(s);
	return NULL;
}

struct loaded {
	struct test_bpf *skel;
	struct filter_test *test; /* input of the next run */
	int fd;
};

static inline int load(struct loaded *l)
{
	int rc = test_bpf__load(l->skel);

	if (rc)
		return rc;
	l->fd = bpf_program__fd(l->skel->progs.matches);
	l->test = mmap(NULL, sizeof(*l->test), PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(l->skel->maps.test), 0);
	return l->test == MAP_FAILED ? -errno : 0;
}

static inline struct loaded load_filter(const struct filter *f, const char *expr)
{
	struct loaded l = {.skel = open_test()};
	struct error err = {};

	assert_non_null(l.skel);
	if (filter_install(f, l.skel->obj, &err))
		fail_msg("%s", err.message);
	if (load(&l))
		fail_msg("the kernel refuses '%s'", expr);
	return l;
}

static inline struct loaded load_expression(const char *expr)
{
	struct filter *f = NULL;
	struct error err = {};
	struct loaded l;

	if (filter_compile(&f, expr, &err))
		fail_msg("%s", err.message);
	l = load_filter(f, expr);
	filter_free(f);
	return l;
}

static inline void unload(struct loaded *l)
{
	munmap(l->test, sizeof(*l->test));
	test_bpf__destroy(l->skel);
}

static inline bool matches(const struct loaded *l)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int rc = bpf_prog_test_run_opts(l->fd, &opts);

	if (rc || opts.retval > 1)
		fail_msg("run: %d, %u", rc, opts.retval);
	return opts.retval;
}

static inline uint64_t unread(const struct loaded *l)
{
	return filter_unread(l->skel->obj);
}

#endif
