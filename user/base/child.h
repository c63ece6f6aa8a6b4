/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program that this one starts: the command after `--`, or one that carries the connection to
 * another host. It is made before tracing begins, held until then, and watched until it ends.
 *
 * It stays in the process group of this program, so that it can use the terminal, and so that
 * Ctrl-C and Ctrl-Z reach both. It has our stdin, stdout, stderr, environment, limits and
 * capabilities. No signal is blocked; ignored are those that were ignored before us.
 */
#ifndef PKTLEDGER_BASE_CHILD_H
#define PKTLEDGER_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Exit statuses as of env(1), timeout(1), nice(1). */
enum child_status {
	CHILD_OURS = 125, /* we failed, not the command */
	CHILD_CANNOT_RUN = 126,
	CHILD_NOT_FOUND = 127,
	CHILD_SIGNALLED = 128, /* plus the signal */
};

struct child {
	const char *name;
	pid_t pid;  /* 0: there is none */
	int pidfd;  /* readable when there is something to do for child_poll() */
	int go;	    /* write end: a byte lets the command begin, no byte ends it; then -1 */
	int failed; /* read end: errno of execvp(), nothing if that succeeds; then -1 */
	int status; /* 128 + N if signal N ended it, as in a shell; -EAGAIN: it runs, or waits */
	int signal; /* the first that came; 0: none */
	uint64_t due_ns; /* when it is passed on; 0: it is not, or was */
};

/*
 * Forks. The child waits for child_start() and ends if this program does before. To be called while
 * nothing has been attached or given up, best before other threads are started; SIGCHLD must not be
 * ignored. `argv` NULL-terminated, argv[0] is looked for in PATH. `in`, `out`: its stdin and
 * stdout; -1: ours. One that has a stdin from us is of use to us only: it may ask at the terminal,
 * but what Ctrl-C and a hang-up mean is left to us, and if we end, it gets SIGTERM.
 */
int child_prepare(struct child *c, char *const argv[], int in, int out, struct error *err);

/*
 * Lets it run, and waits until the command is in it. 0, or -errno of execvp() with the reason in
 * `err`; the status is then CHILD_NOT_FOUND or CHILD_CANNOT_RUN.
 */
int child_start(struct child *c, struct error *err);

/* Does what is due; to be called some times a second. True: the command has ended. Never waits. */
bool child_poll(struct child *c);

/*
 * A signal that has reached us, as sigtimedwait() or signalfd (ssi_code) have it: the first one is
 * passed on, any more are not. One that the terminal sent (SI_KERNEL) has reached the command too.
 * One from elsewhere may have been sent to the whole group: it is passed on after 200 ms, by
 * child_poll(), unless the command has ended by then.
 */
void child_signal(struct child *c, int signal, int si_code);

/* Ends a child that was never started; one that runs is left to itself. */
void child_close(struct child *c);

#endif
