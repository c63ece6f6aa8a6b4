// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

#define KEPT	(32 << 20)  /* bytes, the highest threshold of mallopt(3) */
#define DEFAULT (128 << 10) /* bytes, for both thresholds */

/*
 * Uses write() and _exit(), because they need no memory and no lock that this thread may already
 * hold.
 */
void *mem_need(void *p)
{
	static const char text[] = "pktledger: out of memory\n";

	if (p)
		return p;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(STATUS_FAILED);
	_exit(STATUS_FAILED);
}

void *mem_zero(size_t n, size_t size)
{
	return mem_need(calloc(n ? n : 1, size));
}

void *mem_resize(void *at, size_t n, size_t size)
{
	return mem_need(reallocarray(at, n ? n : 1, size));
}

char *mem_string(const char *s)
{
	return mem_need(strdup(s));
}

char *mem_vprint(const char *fmt, va_list ap)
{
	char *s;

	return mem_need(vasprintf(&s, fmt, ap) < 0 ? NULL : s);
}

char *mem_print(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = mem_vprint(fmt, ap);
	va_end(ap);
	return s;
}

void mem_keep(void)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	char *heap;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, KEPT);
	mallopt(M_TRIM_THRESHOLD, 2 * KEPT);
	heap = malloc(KEPT - page);
	if (heap)
		madvise((void *)((uintptr_t)heap & -page), KEPT - page, MADV_HUGEPAGE);
	free(heap);
}

void mem_return(void)
{
	mallopt(M_MMAP_THRESHOLD, DEFAULT);
	mallopt(M_TRIM_THRESHOLD, DEFAULT);
	malloc_trim(0);
}
