/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program started by this process: the command after `--`, or a program that carries the
 * connection to another host. It is created before tracing begins, held until then, and watched
 * until it ends.
 *
 * The child stays in the process group of this process, so that it can use the terminal, and so
 * that Ctrl-C and Ctrl-Z reach both. It inherits stdin, stdout, stderr, environment, limits and
 * capabilities. No signal is blocked. Signals ignored before this process started stay ignored.
 */
#ifndef PKTLEDGER_BASE_CHILD_H
#define PKTLEDGER_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Exit statuses of env(1), timeout(1) and nice(1). */
enum child_status {
	CHILD_OURS = 125, /* pktledger failed, not the command */
	CHILD_CANNOT_RUN = 126,
	CHILD_NOT_FOUND = 127,
	CHILD_SIGNALLED = 128, /* plus the signal */
};

struct child {
	const char *name;
	pid_t pid;  /* 0 if there is no child */
	int pidfd;  /* readable when child_poll() has work to do */
	int go;	    /* write end: a byte starts the command, end of file ends the child */
	int failed; /* read end: errno of execvp(), empty on success. -1 after use */
	int status; /* 128 + N after signal N, as in a shell. -EAGAIN before the end */
	int signal; /* the first signal received, 0 if no signal was received */
	uint64_t due_ns; /* CLOCK_MONOTONIC ns at which the signal is passed on, 0 if not pending */
};

/*
 * Forks. The child waits for child_start(), and ends if this process ends before. Call this
 * function before anything is attached, before capabilities are dropped, and best before other
 * threads start. SIGCHLD must not be ignored. `argv` is NULL-terminated, and argv[0] is searched in
 * PATH. `in` and `out` are stdin and stdout of the child, -1 to inherit them. A child with a stdin
 * from this process serves this process only: it may prompt on the terminal, but Ctrl-C and
 * hang-ups are handled by this process, and the child gets SIGTERM if this process ends.
 */
int child_prepare(struct child *c, char *const argv[], int in, int out, struct error *err);

/*
 * Starts the command and waits until exec has finished. Returns 0, or -errno of execvp() with the
 * reason in `err`. The status is then CHILD_NOT_FOUND or CHILD_CANNOT_RUN.
 */
int child_start(struct child *c, struct error *err);

/*
 * Does pending work. Call this function several times per second. Never waits. Returns true when
 * the command has ended.
 */
bool child_poll(struct child *c);

/*
 * Handles a signal received by this process, with si_code from sigtimedwait() or ssi_code from
 * signalfd. The first signal is passed on, later signals are not. A signal from the terminal
 * (SI_KERNEL) also reached the command directly. Any other signal may have been sent to the whole
 * group, so child_poll() passes it on after 200 ms unless the command has ended by then.
 */
void child_signal(struct child *c, int signal, int si_code);

/* Ends a child that was never started. A running child is left alone. */
void child_close(struct child *c);

#endif
