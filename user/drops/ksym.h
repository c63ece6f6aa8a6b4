/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds kernel function names by address, using /proc/kallsyms. Users see symbol+offset, never an
 * address. Names are cut at the first dot, because the compiler's suffixes (.constprop.0, .isra.0,
 * .part.0, .cold, .llvm.123) differ between builds.
 */
#ifndef PKTLEDGER_DROPS_KSYM_H
#define PKTLEDGER_DROPS_KSYM_H

#include <stdint.h>

#include "base/err.h"
#include "trace_abi.h"

/* Bytes for a name with offset and module. The longest kernel names are truncated. */
#define KSYM_NAME 192

struct ksyms;

struct ksym {
	char name[KSYM_NAME]; /* cut at the first dot */
	char module[64];      /* "" : the kernel itself */
	uint64_t offset;      /* bytes from the start of the symbol */
};

/*
 * Reads `path`; NULL: /proc/kallsyms. STATUS_UNABLE if the kernel hides the addresses, because
 * reading them needs CAP_SYSLOG (kernel.kptr_restrict). The object is a copy and does not include
 * modules loaded later.
 */
int ksyms_open(struct ksyms **k, const char *path, struct error *err);

/*
 * Starts to read /proc/kallsyms in a thread, which takes 0.1 s of CPU time. The next
 * ksyms_open(NULL) waits for it and takes the symbols. Call both from one thread.
 */
void ksyms_prepare(void);

/*
 * Reads the kernel's own symbols again if modules were loaded or unloaded. Otherwise an address in
 * an unknown module would get the name of another function. `k` must not have been read from a
 * path.
 */
void ksyms_refresh(struct ksyms *k);

void ksyms_free(struct ksyms *k); /* the next ksyms_open() may reuse the kernel's own symbols */

/*
 * Finds the function that contains `addr`. -ENOENT: not in a function. If several names have the
 * same address, the first one in the file is returned, as in kallsyms_lookup().
 */
int ksym_find(const struct ksyms *k, uint64_t addr, struct ksym *sym);

/*
 * Writes "symbol+0x1f" or "symbol+0x1f [module]" to `buf`, or "?" if it is unknown. Returns `buf`.
 */
const char *ksym_format(const struct ksyms *k, uint64_t addr, char *buf, unsigned size);

/*
 * Finds the address ranges of `n` functions, at most KSYM_RANGES, in one pass over all symbols, first
 * by exact name, then by name cut at the first dot. 0, 0: not found. A name that is not the first at
 * its address has an empty range.
 */
#define KSYM_RANGES 16
void ksym_ranges(const struct ksyms *k, const char *const *names, unsigned n,
		 struct trace_range *out);

/* `k` NULL: all locations are unknown. */
void ksym_places(const struct ksyms *k, struct trace_places *p);

#endif
