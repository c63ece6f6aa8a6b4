/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard output and standard error that never block the program. A pipe, socket or terminal may
 * have a reader that is slow or stopped, so bytes that find no room wait in memory. Regular files
 * are written directly.
 */
#ifndef PKTLEDGER_BASE_OUTPUT_H
#define PKTLEDGER_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Replaces `stdout` and `stderr`. Call it before either stream is first used. Do not use it in a
 * program that passes these streams' descriptors to a library.
 */
void output_open(void);

/*
 * Writes as many waiting bytes as there is room for. Call this function regularly while nothing is
 * being printed.
 */
void output_push(void);

/* Returns whether writing to standard output failed. */
bool output_failed(void);

/*
 * Flushes both streams and waits for their readers. A signal that ends the command (base/watch.h),
 * before or during the wait, shortens it: a reader that takes nothing for two seconds is then
 * abandoned. Returns 0, or -errno of standard output, with -EINTR for an abandoned reader.
 */
int output_drain(void);

#endif
