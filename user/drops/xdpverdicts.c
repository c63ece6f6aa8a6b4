// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/xdpverdicts.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/load.h"
#include "xdpverdicts.skel.h"

struct xdpverdicts {
	struct xdpverdicts_bpf *skel;
	int cpus;
};

/* What its BTF calls the program's main function: the kernel's own name is cut to 15 characters. */
static int main_function(int fd, char *name, size_t size)
{
	struct bpf_func_info func = {0};
	struct bpf_prog_info info = {
		.nr_func_info = 1,
		.func_info_rec_size = sizeof(func),
		.func_info = (__u64)(uintptr_t)&func,
	};
	const struct btf_type *type;
	__u32 len = sizeof(info);
	struct btf *btf;
	int rc = -ENOENT;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	if (!info.btf_id || !info.nr_func_info)
		return -ENOENT;
	btf = btf__load_from_kernel_by_id(info.btf_id);
	if (!btf)
		return -errno;
	type = btf__type_by_id(btf, func.type_id);
	if (type) {
		snprintf(name, size, "%s", btf__name_by_offset(btf, type->name_off));
		rc = 0;
	}
	btf__free(btf);
	return rc;
}

static int load(struct xdpverdicts *v, uint32_t prog_id)
{
	int target = bpf_prog_get_fd_by_id(prog_id), rc;
	char name[128];

	if (target < 0)
		return -errno;
	rc = main_function(target, name, sizeof(name));
	if (!rc)
		rc = bpf_program__set_attach_target(v->skel->progs.xdpverdicts, target, name);
	if (!rc)
		rc = xdpverdicts_bpf__load(v->skel);
	if (!rc)
		rc = xdpverdicts_bpf__attach(v->skel);
	close(target);
	return rc;
}

int xdpverdicts_open(struct xdpverdicts **out, uint32_t prog_id, struct error *err)
{
	struct xdpverdicts *v = calloc(1, sizeof(*v));
	int rc;

	if (v)
		v->skel = xdpverdicts_bpf__open_opts(trace_open_opts());
	if (!v || !v->skel) {
		free(v);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	}
	v->cpus = libbpf_num_possible_cpus();
	rc = load(v, prog_id);
	if (rc) {
		xdpverdicts_close(v);
		return error_set(err, STATUS_UNABLE, rc, NULL,
				 "cannot observe the XDP program %u: %s", prog_id,
				 rc == -ENOENT ? "it has no BTF" : strerror(-rc));
	}
	*out = v;
	return 0;
}

int xdpverdicts_read(const struct xdpverdicts *v, uint32_t netns, uint32_t ifindex,
		     uint64_t packets[XDPVERDICTS])
{
	struct xdpverdict_count *each = calloc((size_t)v->cpus, sizeof(*each));
	struct xdpverdict_key key = {netns, ifindex};

	memset(packets, 0, XDPVERDICTS * sizeof(*packets));
	if (!each)
		return -ENOMEM;
	if (!bpf_map_lookup_elem(bpf_map__fd(v->skel->maps.verdicts), &key, each)) {
		for (int i = 0; i < v->cpus; i++) {
			for (unsigned a = 0; a < XDPVERDICTS; a++)
				packets[a] += each[i].packets[a];
		}
	}
	free(each);
	return 0;
}

void xdpverdicts_close(struct xdpverdicts *v)
{
	if (!v)
		return;
	xdpverdicts_bpf__destroy(v->skel);
	free(v);
}
