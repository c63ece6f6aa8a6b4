/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A collector at work: starts it, ends each interval in time, and the whole when it is over, when a
 * signal comes, or with the command that it was started for.
 */
#ifndef PKTLEDGER_MONITOR_SESSION_H
#define PKTLEDGER_MONITOR_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/num.h"
#include "base/opt.h"
#include "monitor/live.h"

struct session_spec {
	const struct live_spec *live;
	uint64_t interval_ns, duration_ns;			      /* duration 0: no limit */
	char *const *command;					      /* NULL: none */
	bool stdout_to_stderr;					      /* of the command */
	int (*on_open)(void *arg, struct live *l, struct error *err); /* sources may be added */
	void (*on_start)(void *arg, const struct live *l);	      /* drops are counted */
	void (*on_tick)(void *arg);				      /* some times a second */
	bool (*on_interval)(void *arg, const struct live *l); /* one has ended; false: stop */
	int input_fd;		     /* what on_input() waits for; 0 is stdin */
	bool (*on_input)(void *arg); /* it has something, or a signal came; NULL: not asked */
	int (*on_over)(void *arg, struct error *err); /* before the last one ends; or NULL */
	void *arg;
};

struct session_result {
	struct live *live; /* to be closed by the caller; NULL: it was not started */
	bool interrupted;  /* by a signal */
	int command_status;
};

/*
 * Runs to the end. SIGINT, SIGTERM and SIGHUP end it with all that was counted shown; a second one
 * kills. A command gets them first, and its end is waited for.
 */
int session_run(const struct session_spec *spec, struct session_result *res, struct error *err);

/* --limit of a collector that goes on: when one is crossed. */
struct limits {
	struct {
		struct limit limit;
		double measured; /* when it was asked last: packets in all, or packets/s */
		bool above;	 /* it was broken then */
		uint64_t crossings;
	} at[OPT_LIST_MAX];
	unsigned n;
};

/* STATUS_USAGE: a share, because nobody knows what was sent. */
int limits_init(struct limits *l, const struct limit *limit, unsigned n, struct error *err);

/*
 * Whether limit `i` was not broken before this interval, and is now. Per second: in this interval;
 * packets: since the start.
 */
bool limits_crossed(struct limits *l, unsigned i, const struct live_table *interval,
		    const struct live_table *total, uint64_t interval_ns);

/* Any of them was. */
bool limits_broken(const struct limits *l);

/*
 * The command behind `--`: made before tracing begins, held until it does, watched until it ends.
 *
 * It stays in the process group of this program, so that it can use the terminal, and so that
 * Ctrl-C and Ctrl-Z reach both. It has our stdin, stdout, stderr, environment, limits and
 * capabilities; no signal is blocked, none ignored but those that were ignored before us.
 */
/* Exit statuses as of env(1), timeout(1), nice(1). */
enum child_status {
	CHILD_OURS = 125, /* we failed, not the command */
	CHILD_CANNOT_RUN = 126,
	CHILD_NOT_FOUND = 127,
	CHILD_SIGNALLED = 128, /* plus the signal */
};

struct child;

/*
 * Forks. The child waits for child_start() and ends if this program does before. To be called while
 * nothing has been attached or given up, best before other threads are started; SIGCHLD must not be
 * ignored. `argv` NULL-terminated, argv[0] is looked for in PATH. stdout_to_stderr: its stdout is
 * our stderr, because ours is for the document.
 */
int child_prepare(struct child **c, char *const argv[], bool stdout_to_stderr, struct error *err);

pid_t child_pid(const struct child *c);

/*
 * Lets it run, and waits until the command is in it. 0, or -errno of execvp() with the reason in
 * `err`; child_status() is then CHILD_NOT_FOUND or CHILD_CANNOT_RUN.
 */
int child_start(struct child *c, struct error *err);

/*
 * A descriptor to poll() for POLLIN: then there is something to do for child_poll(). It goes on to
 * be readable after the end.
 */
int child_fd(const struct child *c);

/* Does what is due. True: the command has ended. Never waits. */
bool child_poll(struct child *c);

/*
 * A signal that has reached us, as sigtimedwait() or signalfd (ssi_code) have it: the first one is
 * passed on, any more are not. One that the terminal sent (SI_KERNEL) has reached the command too.
 * One from elsewhere may have been sent to the whole group: it is passed on after 200 ms, by
 * child_poll(), unless the command has ended by then.
 */
void child_signal(struct child *c, int signal, int si_code);

/* Its exit status, 128 + N if signal N ended it, as in a shell; -EAGAIN while it runs. */
int child_status(const struct child *c);

/* Ends a child that was never started; one that runs is left to itself. NULL is allowed. */
void child_free(struct child *c);

#endif
