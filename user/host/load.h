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
 * Returns the options for opening tracing programs. When the kernel itself lacks a type, libbpf
 * searches the BTF of all modules, which requires CAP_SYS_ADMIN (bpf_obj_get_next_id) and fails
 * without it in older versions (1.1). Without the capability only the kernel's own BTF is searched.
 */
const struct bpf_object_open_opts *trace_open_opts(void);

typedef const void *trace_elf_bytes(size_t *size); /* X_bpf__elf_bytes() of a skeleton */

/*
 * Opens the result of X_bpf__create_skeleton(). `old`: the bytes of X_old, with the same maps and
 * programs for kernels without the functions that X calls (bpf/skb.bpf.h), or NULL. Calls
 * log_libbpf_clear() first. Returns 0 or -errno.
 */
int trace_open(struct bpf_object_skeleton *s, trace_elf_bytes *old);

/*
 * Loads one program of bpf/survey.bpf.c with its map (NULL: no map), and further programs
 * (NULL-terminated, or NULL). Reading the kernel's BTF makes each object slow to load. Free the
 * result with survey_bpf__destroy(). Returns 0 or -errno.
 */
struct survey_bpf;
int survey_open(struct survey_bpf **skel, const char *program, const char *map,
		const char *const beside[]);

/* Loads the program and attaches it. User space may set its variables afterwards. */
int survey_attach(struct survey_bpf **skel, const char *program, const char *map);

/*
 * Maps the values of a map, `size` bytes, into this process for reading and writing. Undo it with
 * trace_unmap(). Returns NULL with errno on failure.
 */
void *trace_map(const struct bpf_map *map, size_t size);
void trace_unmap(void *at, size_t size); /* may be NULL */

/*
 * Attaches an iterator over the elements of a map. Returns NULL with errno on failure. Attach it
 * together with the program, because the required capabilities may be dropped later.
 */
struct bpf_link *trace_attach_iter(const struct bpf_program *prog, const struct bpf_map *map);

/*
 * Detaches and closes a link. Does nothing if the descriptor is negative. Closing alone does not
 * detach while another process holds a reference, as a program that lists the host's links briefly
 * does.
 */
void link_close(int *link);

/*
 * Explains why a tracing program could not be loaded or attached. `rc`: -errno, or 0 for success,
 * and the return value. Callers that try several variants call log_libbpf_clear() before each.
 */
int trace_load_error(struct error *err, int rc);

/*
 * Returns whether a fallback object is worth trying: the failure is not a lack of descriptors,
 * memory or permission.
 */
bool trace_load_again(int rc);

/*
 * Sums an element of a per-CPU map over all CPUs. `size`: bytes of a value, which must consist of
 * 64-bit counters only. Returns 0 or -errno, with a sum of 0.
 */
int trace_sum(const struct bpf_map *map, const void *key, void *sum, size_t size);

/*
 * Runs an iterator to its end and passes each record to `each` (may be NULL). Records have `size`
 * bytes, at most TRACE_RECORD. Returns 0 or -errno.
 */
#define TRACE_RECORD 4096
typedef void trace_each(void *arg, const void *record);
int trace_iterate(const struct bpf_link *link, size_t size, trace_each *each, void *arg);

/* Returns the events missed because this or another program was running on that CPU, else 0. */
uint64_t trace_misses(const struct bpf_program *prog);

/* Returns the highest possible CPU number + 1: bpf_get_smp_processor_id() is below it. */
unsigned trace_cpus(void);

/*
 * Returns true if this host has a BPF program of type sk_lookup or sk_reuseport, which may refuse a
 * packet: the event is the same as without a socket. False without CAP_SYS_ADMIN.
 */
bool progs_choose_sockets(void);

/* The BPF maps of this process and their memory, as reported by the kernel. */
struct bpfmap {
	uint32_t id, type; /* BPF_MAP_TYPE_* */
	uint32_t entries;  /* capacity, 0: one per socket */
	uint64_t bytes;
	char name[16]; /* truncated by the kernel */
};

/*
 * Lists the maps that this process has open, each once, unordered. The caller frees `*list`. Needs
 * no privilege on Linux 5.19 or newer. Returns the number of maps, or -errno.
 */
int bpfmaps_read(struct bpfmap **list);

/*
 * bpfmaps_bytes() returns the memory of all maps, bpfmaps_bytes_of() the memory of one object's
 * maps.
 */
uint64_t bpfmaps_bytes(void);
uint64_t bpfmaps_bytes_of(const struct bpf_object *obj);

/*
 * Returns {"bytes", "maps": [{"name", "type", "entries", "bytes"}]}, largest first, or NULL if
 * empty.
 */
struct json_object *bpfmaps_json(void);

#endif
