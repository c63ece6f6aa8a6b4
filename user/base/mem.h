/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocation helpers for small, bounded amounts of memory. They never return NULL. If memory is
 * exhausted, they print a message on stderr and exit with status 1, which has the same side effects
 * as SIGKILL. Linux only reports exhaustion to a process at a limit such as RLIMIT_AS. At a cgroup
 * limit it kills the process. If a user or another host can make the memory large (outcomes, rings,
 * a file), it is allocated with libc, and exhaustion is an error.
 */
#ifndef PKTLEDGER_BASE_MEM_H
#define PKTLEDGER_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

/*
 * Allocates a zeroed object of the type that the pointer points to: p = mem_new(p). Free it with
 * free(), as with all functions here.
 */
#define mem_new(p) ((typeof(p))mem_zero(1, sizeof(*(p))))

/* Allocates `n` zeroed objects of `size` bytes each. */
void *mem_zero(size_t n, size_t size) __attribute__((returns_nonnull, malloc));

/*
 * Resizes the array `at` (NULL: empty) to `n` objects of `size` bytes each. New objects are not
 * zeroed.
 */
void *mem_resize(void *at, size_t n, size_t size) __attribute__((returns_nonnull));

char *mem_string(const char *s) __attribute__((returns_nonnull, malloc));
char *mem_print(const char *fmt, ...)
	__attribute__((returns_nonnull, malloc, format(printf, 1, 2)));
char *mem_vprint(const char *fmt, va_list ap)
	__attribute__((returns_nonnull, malloc, format(printf, 1, 0)));

/* Returns the result of another allocating function. NULL is treated as memory exhaustion. */
void *mem_need(void *p) __attribute__((returns_nonnull));

/*
 * Between mem_keep() and mem_return(), freed memory is reused instead of returned to the kernel,
 * because each BPF object that is loaded reads the megabytes of the kernel's BTF again. The memory
 * consists of huge pages where possible (madvise(2), MADV_HUGEPAGE), which saves thousands of page
 * faults. From mem_keep() on, new threads share the heap of the main thread (mallopt(3),
 * M_ARENA_MAX). Neither function fails.
 */
void mem_keep(void);
void mem_return(void);

#endif
