/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard output and standard error that never hold up the program. A pipe, a socket or a terminal
 * may have a slow reader, or a reader that has stopped: bytes without room there wait in memory.
 * Regular files are written as usual.
 */
#ifndef PKTLEDGER_BASE_OUTPUT_H
#define PKTLEDGER_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Replaces `stdout` and `stderr`. Call it before the first use of both streams. Do not use it in a
 * program that gives the descriptors of these streams to a library.
 */
void output_open(void);

/* Writes as many waiting bytes as there is room for. Call it regularly while nothing is printed. */
void output_push(void);

/* A write to standard output has failed. */
bool output_failed(void);

/*
 * Flushes both streams and waits for their readers. A signal that ends the command (base/watch.h),
 * whether it comes now or has come before, shortens the wait: a reader that takes nothing for two
 * seconds is given up then. Returns 0, or -errno of standard output: -EINTR if it was given up.
 */
int output_drain(void);

#endif
