// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loads and reads tracing programs, and counts the memory of this process's BPF maps. */
#include "host/load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/proc.h"
#include "host/caps.h"
#include "host/netns.h"
#include "survey.skel.h"

#define OLDEST 6 /* major version of the oldest kernel that accepts all tracing programs */

const struct bpf_object_open_opts *trace_open_opts(void)
{
	static const struct bpf_object_open_opts kernel_only = {
		.sz = sizeof(kernel_only), .btf_custom_path = "/sys/kernel/btf/vmlinux"};
	static const int admin = CAP_SYS_ADMIN;
	char names[32];

	return caps_missing(&admin, 1, names, sizeof(names)) ? &kernel_only : NULL;
}

int trace_open(struct bpf_object_skeleton *s, trace_elf_bytes *old)
{
	log_libbpf_clear();
	if (old)
		s->data = (void *)old(&s->data_sz);
	return bpf_object__open_skeleton(s, trace_open_opts());
}

int survey_open(struct survey_bpf **skel, const char *program, const char *map,
		const char *const beside[])
{
	struct survey_bpf *s = survey_bpf__open_opts(trace_open_opts());
	struct bpf_program *prog;
	struct bpf_map *m;
	int rc;

	*skel = NULL;
	if (!s)
		return -errno;
	prog = bpf_object__find_program_by_name(s->obj, program);
	if (prog)
		bpf_program__set_autoload(prog, true);
	for (; beside && *beside; beside++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(s->obj, *beside), true);
	bpf_object__for_each_map(m, s->obj)
	{
		if (!bpf_map__is_internal(m))
			bpf_map__set_autocreate(m, map && !strcmp(bpf_map__name(m), map));
	}
	rc = prog ? survey_bpf__load(s) : -ENOENT;
	if (rc)
		survey_bpf__destroy(s);
	else
		*skel = s;
	return rc;
}

int survey_attach(struct survey_bpf **skel, const char *program, const char *map)
{
	int rc = survey_open(skel, program, map, NULL);

	if (!rc)
		rc = survey_bpf__attach(*skel);
	if (rc) {
		survey_bpf__destroy(*skel);
		*skel = NULL;
	}
	return rc;
}

void *trace_map(const struct bpf_map *map, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

void trace_unmap(void *at, size_t size)
{
	if (at)
		munmap(at, size);
}

int link_xdp(const struct netns *ns, int prog_fd, unsigned ifindex, unsigned flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);
	int saved = netns_push(ns), link = saved;

	if (saved >= 0)
		link = bpf_link_create(prog_fd, (int)ifindex, BPF_XDP, &opts);
	netns_pop(saved);
	return link;
}

void link_close(int *link)
{
	if (*link >= 0)
		bpf_link_detach(*link);
	fd_close(link);
}

struct bpf_link *trace_attach_iter(const struct bpf_program *prog, const struct bpf_map *map)
{
	union bpf_iter_link_info info = {.map.map_fd = (__u32)bpf_map__fd(map)};
	struct bpf_iter_attach_opts opts;

	/* do not use LIBBPF_OPTS(): the padding in its copy may be uninitialised */
	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.link_info = &info;
	opts.link_info_len = sizeof(info);
	return bpf_program__attach_iter(prog, &opts);
}

/* The verifier explains why it rejected a program, but it only runs if we have the capability. */
int trace_load_error(struct error *err, int rc)
{
	struct utsname kernel;
	struct rlimit files;
	char why[224];

	if (!rc)
		return 0;
	/*
	 * this also makes libbpf's kernel probes fail, so it reports a missing feature that exists
	 */
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < 128)
		rc = -EMFILE;
	log_verifier_last(why, sizeof(why));
	log_libbpf_clear(); /* the error has been reported */
	/* on such kernels, messages of the verifier, such as about func_info, hide the cause */
	if (*why && !uname(&kernel) && atoi(kernel.release) < OLDEST)
		return error_set(
			err, STATUS_UNABLE, rc,
			"check, send, recv, lab, trace without --balance, and export work here",
			"this needs Linux 6.1 or newer, and the kernel is %s", kernel.release);
	if (*why && rc != -EMFILE)
		return error_set(err, STATUS_UNABLE, rc,
				 "please report it with the output of -vv and `uname -r`",
				 "this kernel refuses a tracing program: %s", why);
	if (rc == -EPERM || rc == -EACCES)
		return error_errno(err, STATUS_UNABLE, rc,
				   "run as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN; "
				   "a container's seccomp profile has to allow bpf(), too",
				   "no permission to load tracing programs");
	return error_errno(err, STATUS_UNABLE, rc, "run with -vv to see the messages of libbpf",
			   "cannot load the tracing programs");
}

bool trace_load_again(int rc)
{
	return rc && rc != -EMFILE && rc != -ENFILE && rc != -ENOMEM && rc != -EPERM;
}

int trace_sum(const struct bpf_map *map, const void *key, void *sum, size_t size)
{
	const size_t words = size / sizeof(uint64_t);
	int cpus = libbpf_num_possible_cpus(), rc = 0;
	uint64_t *each, *to = sum;

	memset(sum, 0, size);
	if (cpus < 0)
		return cpus;
	each = mem_zero((size_t)cpus, size);
	if (bpf_map_lookup_elem(bpf_map__fd(map), key, each))
		rc = -errno;
	for (size_t i = 0; !rc && i < (size_t)cpus * words; i++)
		to[i % words] += each[i];
	free(each);
	return rc;
}

int trace_iterate(const struct bpf_link *link, size_t size, trace_each *each, void *arg)
{
	_Alignas(uint64_t) char buf[4 * TRACE_RECORD];
	const size_t most = sizeof(buf) / size * size; /* so that no read ends inside a record */
	int fd = bpf_iter_create(bpf_link__fd(link)), rc = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	while ((n = read(fd, buf, most)) > 0 || (n < 0 && errno == EAGAIN)) {
		for (char *at = buf; each && at - buf < n; at += size)
			each(arg, at);
	}
	rc = n < 0 ? -errno : 0;
	close(fd);
	return rc;
}

uint64_t trace_misses(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int fd = prog ? bpf_program__fd(prog) : -1;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	return info.recursion_misses;
}

/* CPU numbers may have gaps. The list ends with the highest number: "0-3,8-11". */
unsigned trace_cpus(void)
{
	char list[1024];
	const char *last = list;

	if (proc_read(AT_FDCWD, list, sizeof(list), "/sys/devices/system/cpu/possible") <= 0)
		return (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	for (const char *c = list; *c; c++)
		last = is_digit(*c) ? last : c + 1;
	return (unsigned)atoi(last) + 1;
}

bool progs_choose_sockets(void)
{
	bool found = false;

	for (__u32 id = 0; !found && !bpf_prog_get_next_id(id, &id);) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0) /* it has been closed */
			continue;
		found = !bpf_obj_get_info_by_fd(fd, &info, &len) &&
			(info.type == BPF_PROG_TYPE_SK_LOOKUP ||
			 info.type == BPF_PROG_TYPE_SK_REUSEPORT);
		close(fd);
	}
	return found;
}

static uint64_t bytes_of(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return proc_number(path, "memlock:"); /* bpf_map_show_fdinfo() */
}

uint64_t bpfmaps_bytes_of(const struct bpf_object *obj)
{
	struct bpf_map *map;
	uint64_t sum = 0;

	bpf_object__for_each_map(map, obj) sum += bytes_of(bpf_map__fd(map));
	return sum;
}

uint64_t bpfmaps_bytes(void)
{
	struct list ids = {.size = sizeof(uint32_t)}; /* a map may have several descriptors */
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *d;
	uint64_t sum = 0;
	char link[32];

	while (dir && (d = readdir(dir))) {
		struct bpf_map_info info = {};
		__u32 len = sizeof(info);
		int fd = atoi(d->d_name);

		if (proc_link(dirfd(dir), link, sizeof(link), "%s", d->d_name) <= 0 ||
		    strcmp(link, "anon_inode:bpf-map") || bpf_obj_get_info_by_fd(fd, &info, &len) ||
		    list_find(&ids, 0, &info.id, sizeof(info.id)))
			continue;
		*(uint32_t *)list_add(&ids) = info.id;
		sum += bytes_of(fd);
	}
	if (dir)
		closedir(dir);
	list_free(&ids);
	return sum;
}
