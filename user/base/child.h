/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program started by this process: the command after `--`, or a program that provides the
 * connection to another host. It is created before tracing starts, held until tracing has started,
 * and watched until it ends.
 *
 * The child stays in this process's process group, so that it can use the terminal and Ctrl-C and
 * Ctrl-Z reach both. It inherits stdin, stdout, stderr, environment, limits and capabilities. No
 * signal is blocked in the child. Signals that were already ignored when this process started stay
 * ignored.
 */
#ifndef PKTLEDGER_BASE_CHILD_H
#define PKTLEDGER_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* The exit statuses that env(1), timeout(1) and nice(1) use. */
enum child_status {
	CHILD_OURS = 125, /* pktledger itself failed, not the command */
	CHILD_CANNOT_RUN = 126,
	CHILD_NOT_FOUND = 127,
	CHILD_SIGNALLED = 128, /* plus the signal number */
};

struct child {
	const char *name;
	pid_t pid;  /* 0 if there is no child */
	int pidfd;  /* readable when there is work for child_poll() */
	int go;	    /* write end: a byte starts the command, end of file ends the child */
	int failed; /* read end: errno of execvp(), empty on success, -1 after use */
	int status; /* exit status, 128 + N after signal N as in a shell, -EAGAIN before the end */
	int signal; /* the first signal received, 0: none */
	uint64_t due_ns; /* CLOCK_MONOTONIC ns when the signal will be passed on, 0: none pending */
};

/*
 * Forks. The child waits for child_start() and exits if this process ends first. Call this function
 * before anything is attached and before capabilities are dropped, and preferably before other
 * threads start. SIGCHLD must not be ignored. `argv` is NULL-terminated, and argv[0] is looked up
 * in PATH. `in` and `out` are the child's stdin and stdout, -1 to inherit them. A child with its
 * own stdin only serves this process: it may prompt on the terminal, but this process handles
 * Ctrl-C and hang-ups, and the child gets SIGTERM if this process ends.
 */
int child_prepare(struct child *c, char *const argv[], int in, int out, struct error *err);

/*
 * Starts the command and waits until exec is done. Returns 0, or -errno of execvp() with the reason
 * in `err`. In that case the status is CHILD_NOT_FOUND or CHILD_CANNOT_RUN.
 */
int child_start(struct child *c, struct error *err);

/*
 * Does pending work without waiting. Call this function several times per second. Returns true once
 * the command has ended.
 */
bool child_poll(struct child *c);

/*
 * Handles a signal that this process received, with si_code from sigtimedwait() or ssi_code from
 * signalfd. The first signal is passed on, later ones are not. A signal from the terminal
 * (SI_KERNEL) also reached the command directly. Any other signal may have been sent to the whole
 * group, so child_poll() only passes it on if the command has not ended after 200 ms.
 */
void child_signal(struct child *c, int signal, int si_code);

/* Ends a child that was never started. Does not touch a running child. */
void child_close(struct child *c);

#endif
