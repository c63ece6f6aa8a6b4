/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_HOST_LOAD_H
#define PKTLEDGER_HOST_LOAD_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Returns the options for opening tracing programs. If the kernel itself lacks a type, libbpf
 * searches the BTF of all modules. That requires CAP_SYS_ADMIN (bpf_obj_get_next_id), and older
 * versions (1.1) fail without it. So without the capability only the kernel's own BTF is searched.
 */
const struct bpf_object_open_opts *trace_open_opts(void);

typedef const void *trace_elf_bytes(size_t *size); /* a skeleton's X_bpf__elf_bytes() */

/*
 * Opens a skeleton returned by X_bpf__create_skeleton(). `old` returns the bytes of X_old, which
 * has the same maps and programs but supports kernels without the functions that X calls
 * (bpf/skb.bpf.h). It may be NULL. Calls log_libbpf_clear() first. Returns 0 or -errno.
 */
int trace_open(struct bpf_object_skeleton *s, trace_elf_bytes *old);

/*
 * Loads one program of bpf/survey.bpf.c with its map (NULL: no map) and optional further programs
 * (NULL-terminated list, or NULL). Each object loads slowly, because the kernel's BTF has to be
 * read. Free the result with survey_bpf__destroy(). Returns 0 or -errno.
 */
struct survey_bpf;
int survey_open(struct survey_bpf **skel, const char *program, const char *map,
		const char *const beside[]);

/* Loads and attaches the program. Its variables can still be set from user space afterwards. */
int survey_attach(struct survey_bpf **skel, const char *program, const char *map);

/*
 * Maps a BPF map's values (`size` bytes) into this process for reading and writing. Undo it with
 * trace_unmap(). Returns NULL with errno on failure.
 */
void *trace_map(const struct bpf_map *map, size_t size);
void trace_unmap(void *at, size_t size); /* `at` may be NULL */

/*
 * Attaches an iterator over a map's elements. Returns NULL with errno on failure. Call it when
 * attaching the program, because the required capabilities may be dropped later.
 */
struct bpf_link *trace_attach_iter(const struct bpf_program *prog, const struct bpf_map *map);

struct netns;

/*
 * Attaches an XDP program to an interface in `ns` with these XDP_FLAGS_*_MODE. Returns a link for
 * link_close(), or -errno.
 */
int link_xdp(const struct netns *ns, int prog_fd, unsigned ifindex, unsigned flags);

/*
 * Detaches and closes a link. Does nothing if the descriptor is negative. Closing alone does not
 * detach the link if another process holds a reference, and a program that lists the host's links
 * briefly does.
 */
void link_close(int *link);

/*
 * Explains why a tracing program could not be loaded or attached. `rc` is -errno, or 0 for success,
 * and is also the return value. Callers that try several variants call log_libbpf_clear() before
 * each attempt.
 */
int trace_load_error(struct error *err, int rc);

/*
 * Returns whether it makes sense to try a fallback object, that is, whether the failure is not due
 * to a lack of descriptors, memory or permission.
 */
bool trace_load_again(int rc);

/*
 * Sums one element of a per-CPU map over all CPUs. `size` is the size of a value in bytes. A value
 * must consist of 64-bit counters only. Returns 0 or -errno, in which case the sum is 0.
 */
int trace_sum(const struct bpf_map *map, const void *key, void *sum, size_t size);

/*
 * Runs an iterator to its end and passes each record to `each` (may be NULL). A record is `size`
 * bytes long, at most TRACE_RECORD. Returns 0 or -errno.
 */
#define TRACE_RECORD 4096
typedef void trace_each(void *arg, const void *record);
int trace_iterate(const struct bpf_link *link, size_t size, trace_each *each, void *arg);

/*
 * Returns how many events the program missed because it or another program was already running on
 * that CPU.
 */
uint64_t trace_misses(const struct bpf_program *prog);

/*
 * Returns one more than the highest possible CPU number, so bpf_get_smp_processor_id() is always
 * less.
 */
unsigned trace_cpus(void);

/*
 * Returns true if this host has a BPF program of type sk_lookup or sk_reuseport. Such a program may
 * reject a packet, and the event looks the same as if there were no socket. Always false without
 * CAP_SYS_ADMIN.
 */
bool progs_choose_sockets(void);

/*
 * Returns the memory that this process's BPF maps take, as the kernel reports it without privilege
 * since Linux 5.19: all maps that are open, or those of one object.
 */
uint64_t bpfmaps_bytes(void);
uint64_t bpfmaps_bytes_of(const struct bpf_object *obj);

#endif
