// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/load.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "host/caps.h"
#include "survey.skel.h"

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

int survey_open(struct survey_bpf **skel, const char *program, const char *map)
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

/* A verifier that refuses a program says why; without the capability it is not even asked. */
int trace_load_error(struct error *err, int rc)
{
	char why[224];

	log_verifier_last(why, sizeof(why));
	log_libbpf_clear(); /* told */
	if (*why)
		return error_set(err, STATUS_UNABLE, rc,
				 "please report it with the output of -vv and `uname -r`",
				 "this kernel refuses a tracing program: %s", why);
	if (rc == -EPERM || rc == -EACCES)
		return error_set(err, STATUS_UNABLE, rc,
				 "run as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN",
				 "the kernel does not let us load tracing programs: %s",
				 strerror(-rc));
	return error_set(err, STATUS_UNABLE, rc, "run with -vv to see what libbpf says",
			 "cannot load the tracing programs: %s", strerror(-rc));
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
	each = cpus < 0 ? NULL : calloc((size_t)cpus, size);
	if (!each)
		return cpus < 0 ? cpus : -ENOMEM;
	if (bpf_map_lookup_elem(bpf_map__fd(map), key, each))
		rc = -errno;
	for (size_t i = 0; !rc && i < (size_t)cpus * words; i++)
		to[i % words] += each[i];
	free(each);
	return rc;
}

struct trace_cost trace_cost(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int fd = prog ? bpf_program__fd(prog) : -1;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return (struct trace_cost){};
	return (struct trace_cost){info.run_cnt, info.run_time_ns, info.recursion_misses};
}

/* CPU numbers may have gaps; the list ends with the highest: "0-3,8-11". */
unsigned trace_cpus(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/possible", "r");
	unsigned cpu = 0;
	int c;

	if (!f)
		return (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	while (fscanf(f, "%u", &cpu) == 1 && (c = fgetc(f)) != EOF && c != '\n')
		;
	fclose(f);
	return cpu + 1;
}
