/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the harnesses share. Each is one function that libFuzzer calls with bytes of its making. */
#ifndef PKTLEDGER_TESTS_FUZZ_H
#define PKTLEDGER_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What may never be, whatever the input. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The bytes as a string of their own, so that a read beyond its end is found. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The bytes as a file in memory; its name goes to `path`. Returns the descriptor. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
