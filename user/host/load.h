/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_HOST_LOAD_H
#define PKTLEDGER_HOST_LOAD_H

#include <bpf/libbpf.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * How tracing programs are opened. Looking for a type that the kernel itself has not, libbpf goes
 * through the BTF of all modules, which takes CAP_SYS_ADMIN (bpf_obj_get_next_id) and is an error
 * without it in older ones (1.1). Without the capability the kernel's own BTF is all there is.
 */
const struct bpf_object_open_opts *trace_open_opts(void);

typedef const void *trace_elf_bytes(size_t *size); /* X_bpf__elf_bytes() of a skeleton */

/*
 * Opens what X_bpf__create_skeleton() has made; `old`: the bytes of X_old, which has the same maps
 * and programs for kernels without the functions that X calls (bpf/skb.bpf.h), or NULL. Begins
 * with log_libbpf_clear(). 0 or -errno.
 */
int trace_open(struct bpf_object_skeleton *s, trace_elf_bytes *old);

/*
 * Loads one program of bpf/survey.bpf.c with its map (NULL: it has none), and others beside it
 * (NULL-terminated; NULL: none), for each object reads the kernel's BTF, which takes long. To be
 * given to survey_bpf__destroy(). 0 or -errno.
 */
struct survey_bpf;
int survey_open(struct survey_bpf **skel, const char *program, const char *map,
		const char *const beside[]);

/* The same, and attaches it; what user space sets for it may be set after that. */
int survey_attach(struct survey_bpf **skel, const char *program, const char *map);

/*
 * The values of a map, `size` bytes of them, in this process: to be read and written, and undone by
 * trace_unmap(). NULL with errno.
 */
void *trace_map(const struct bpf_map *map, size_t size);
void trace_unmap(void *at, size_t size); /* NULL is allowed */

/*
 * An iterator over the elements of a map; NULL with errno. Attached when the program is, because
 * later the capabilities for it may be given up.
 */
struct bpf_link *trace_attach_iter(const struct bpf_program *prog, const struct bpf_map *map);

/*
 * Closes a link, if there is one (below 0: none), and ends what it attached. Closing alone does not
 * while others have a reference to it, as who lists the links of the host has for a moment.
 */
void link_close(int *link);

/*
 * Why a tracing program could not be loaded or attached; `rc`: -errno, or 0 if it could; returned.
 * Who loads it in several ways calls log_libbpf_clear() before each.
 */
int trace_load_error(struct error *err, int rc);

/* It may be loaded in another way: what is wanting are not descriptors, memory or permission. */
bool trace_load_again(int rc);

/*
 * An element of a per-CPU map over all CPUs. `size`: of a value, which is counters of 64 bits and
 * nothing else. 0 or -errno, then the sum is 0.
 */
int trace_sum(const struct bpf_map *map, const void *key, void *sum, size_t size);

/*
 * Runs an iterator to its end. Its records have `size` bytes, at most TRACE_RECORD; `each` (NULL:
 * none) gets them. 0 or -errno.
 */
#define TRACE_RECORD 4096
typedef void trace_each(void *arg, const void *record);
int trace_iterate(const struct bpf_link *link, size_t size, trace_each *each, void *arg);

/* Events that a loaded program did not see because it, or another, ran on that CPU; else 0. */
uint64_t trace_misses(const struct bpf_program *prog);

/* What the programs of an object cost without their calls; run_ns is estimated from some runs. */
struct trace_cost {
	uint64_t runs, run_ns;
};
struct trace_cost trace_cost(const struct bpf_map *work);

/* The highest number of a possible CPU + 1: bpf_get_smp_processor_id() is below it. */
unsigned trace_cpus(void);

/* The BPF maps of this process and the memory that they take, as the kernel reports it. */
struct bpfmap {
	uint32_t id, type; /* BPF_MAP_TYPE_* */
	uint32_t entries;  /* the most that it holds; 0: as many as there are sockets */
	uint64_t bytes;
	char name[16]; /* cut by the kernel */
};

/*
 * All maps that this process has open, each once, in no order; `*list` is to be freed. Needs no
 * privilege on Linux 5.19 or newer. Their number or -errno.
 */
int bpfmaps_read(struct bpfmap **list);

/* What all of them take together, and those of one object. */
uint64_t bpfmaps_bytes(void);
uint64_t bpfmaps_bytes_of(const struct bpf_object *obj);

/* {"bytes", "maps": [{"name", "type", "entries", "bytes"}]}, the largest first; NULL: none. */
struct json_object *bpfmaps_json(void);

#endif
