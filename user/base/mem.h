/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory for what is small and bounded. These do not fail: where there is none left, which Linux
 * lets a process see only at a limit of its own (RLIMIT_AS, a cgroup kills), the program ends with
 * a line on stderr and status 1, and leaves no more behind than if it had been killed. What a user
 * or another host can make large (fates, rings, a file) is asked of libc, and its want is an error.
 */
#ifndef PKTLEDGER_BASE_MEM_H
#define PKTLEDGER_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

/* One zeroed object of the pointer's type: p = mem_new(p). Freed by free(), as all of these. */
#define mem_new(p) ((typeof(p))mem_zero(1, sizeof(*(p))))

/* `n` zeroed objects of `size` bytes. */
void *mem_zero(size_t n, size_t size) __attribute__((returns_nonnull, malloc));

/* The array `at` (NULL: of none) with place for `n` of `size` bytes; what is new is not zeroed. */
void *mem_resize(void *at, size_t n, size_t size) __attribute__((returns_nonnull));

char *mem_string(const char *s) __attribute__((returns_nonnull, malloc));
char *mem_print(const char *fmt, ...)
	__attribute__((returns_nonnull, malloc, format(printf, 1, 2)));
char *mem_vprint(const char *fmt, va_list ap)
	__attribute__((returns_nonnull, malloc, format(printf, 1, 0)));

/* What another function has made; NULL: it had no memory. */
void *mem_need(void *p) __attribute__((returns_nonnull));

#endif
