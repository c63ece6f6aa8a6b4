// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define PASS_ON_NS 200000000 /* a signal to the whole group has reached the command by then */

enum child_fd {
	FD_PID,
	FD_TIMER,
	FD_POLL,   /* waits for the two above */
	FD_GO,	   /* write end: a byte lets the command begin, no byte ends it; closed then */
	FD_FAILED, /* read end: errno of execvp(), nothing if that succeeds; closed then */
	FDS,
};

struct child {
	const char *name;
	pid_t pid;
	int fd[FDS]; /* -1: closed */
	int status;  /* -EAGAIN: it runs, or waits */
	int signal;  /* the first that came; 0: none */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Signals as they were before this program changed them. Handlers are reset by exec; SIGPIPE is
 * ignored since main(), and whether it was before, nobody knows.
 */
static void restore_signals(const struct sigaction *sigchld)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL);
	sigaction(SIGCHLD, sigchld, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child. Only functions that are safe when other threads may hold locks. */
static void __attribute__((noreturn)) become(char *const argv[], const struct sigaction *sigchld,
					     bool stdout_to_stderr, int go, int failed)
{
	ssize_t n;
	char byte;
	int ret;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(CHILD_OURS);
	restore_signals(sigchld);
	if (!stdout_to_stderr || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execvp(argv[0], argv);
	ret = errno;
	(void)!write(failed, &ret, sizeof(ret));
	_exit(CHILD_OURS);
}

static int watch(struct child *c)
{
	struct epoll_event end = {.events = EPOLLIN}, due = {.events = EPOLLIN};

	c->fd[FD_PID] = pidfd_open(c->pid, 0);
	c->fd[FD_TIMER] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	c->fd[FD_POLL] = epoll_create1(EPOLL_CLOEXEC);
	if (c->fd[FD_PID] < 0 || c->fd[FD_TIMER] < 0 || c->fd[FD_POLL] < 0 ||
	    epoll_ctl(c->fd[FD_POLL], EPOLL_CTL_ADD, c->fd[FD_PID], &end) ||
	    epoll_ctl(c->fd[FD_POLL], EPOLL_CTL_ADD, c->fd[FD_TIMER], &due))
		return -errno;
	return 0;
}

/* All signals are blocked from before the fork until the child has restored them: none is lost. */
static int start(struct child *c, char *const argv[], bool stdout_to_stderr)
{
	struct sigaction wait_for = {.sa_handler = SIG_DFL}, sigchld;
	int go[2], failed[2], ret = 0;
	sigset_t all, before;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	c->fd[FD_GO] = go[1];
	if (pipe2(failed, O_CLOEXEC)) {
		ret = -errno;
		close(go[0]);
		return ret;
	}
	c->fd[FD_FAILED] = failed[0];
	/* Where SIGCHLD is ignored, there is nothing to wait for. */
	sigaction(SIGCHLD, &wait_for, &sigchld);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	c->pid = fork();
	if (!c->pid) {
		close(go[1]);
		become(argv, &sigchld, stdout_to_stderr, go[0], failed[1]);
	}
	if (c->pid < 0)
		ret = -errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(go[0]);
	close(failed[1]);
	return ret ? ret : watch(c);
}

int child_prepare(struct child **child, char *const argv[], bool stdout_to_stderr,
		  struct error *err)
{
	struct child *c = malloc(sizeof(*c));
	int ret;

	*child = NULL;
	if (!c)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "not enough memory");
	*c = (struct child){.name = argv[0], .pid = -1, .status = -EAGAIN};
	for (int i = 0; i < FDS; i++)
		c->fd[i] = -1;
	ret = start(c, argv, stdout_to_stderr);
	if (ret) {
		error_set(err, STATUS_FAILED, ret, NULL, "cannot start a process: %s",
			  strerror(-ret));
		child_free(c);
		return ret;
	}
	*child = c;
	return 0;
}

pid_t child_pid(const struct child *c)
{
	return c->pid;
}

int child_fd(const struct child *c)
{
	return c->fd[FD_POLL];
}

int child_status(const struct child *c)
{
	return c->status;
}

static void reap(struct child *c, int flags)
{
	siginfo_t info = {};
	int ret;

	if (c->status != -EAGAIN)
		return;
	do
		ret = waitid(P_PID, (id_t)c->pid, &info, WEXITED | flags);
	while (ret && errno == EINTR);
	if (ret)
		c->status = CHILD_OURS;
	else if (info.si_pid && info.si_code == CLD_EXITED)
		c->status = info.si_status;
	else if (info.si_pid)
		c->status = CHILD_SIGNALLED + info.si_status;
}

int child_start(struct child *c, struct error *err)
{
	ssize_t n;
	int ret;

	(void)!write(c->fd[FD_GO], "", 1);
	do
		n = read(c->fd[FD_FAILED], &ret, sizeof(ret));
	while (n < 0 && errno == EINTR);
	close_fd(&c->fd[FD_GO]);
	close_fd(&c->fd[FD_FAILED]);
	if (n != sizeof(ret))
		return 0;
	reap(c, 0);
	c->status = ret == ENOENT ? CHILD_NOT_FOUND : CHILD_CANNOT_RUN;
	return error_set(err, STATUS_FAILED, -ret, ret == ENOENT ? "is it installed?" : NULL,
			 "cannot run %s: %s", c->name, strerror(ret));
}

bool child_poll(struct child *c)
{
	uint64_t times;

	reap(c, WNOHANG);
	if (read(c->fd[FD_TIMER], &times, sizeof(times)) == sizeof(times) && c->status == -EAGAIN)
		pidfd_send_signal(c->fd[FD_PID], c->signal, NULL, 0);
	return c->status != -EAGAIN;
}

void child_signal(struct child *c, int signal, int si_code)
{
	const struct itimerspec due = {.it_value = {.tv_nsec = PASS_ON_NS}};

	if (c->signal)
		return;
	c->signal = signal;
	if (si_code <= 0)
		timerfd_settime(c->fd[FD_TIMER], 0, &due, NULL);
}

void child_free(struct child *c)
{
	if (!c)
		return;
	if (c->fd[FD_GO] >= 0) {
		close_fd(&c->fd[FD_GO]);
		if (c->pid > 0)
			reap(c, 0);
	}
	for (int i = 0; i < FDS; i++)
		close_fd(&c->fd[i]);
	free(c);
}
