// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"

#define PASS_ON_NS 200000000 /* ns, by then a signal to the whole group has reached the command */

/*
 * Runs in the child and therefore only uses functions that are safe while other threads may hold
 * locks. Restores signals to the state they were in before this program changed them, except for
 * handlers, which exec resets. SIGPIPE and SIGXFSZ have been ignored since main(), and their
 * earlier state is unknown.
 */
static void __attribute__((noreturn))
become(char *const argv[], const struct sigaction *sigchld, int in, int out, int go, int failed)
{
	static const int terminal[] = {SIGINT, SIGHUP};
	sigset_t blocked;
	ssize_t n;
	char byte;
	int ret;

	sigemptyset(&blocked);
	/*
	 * ignore and block: programs that ask for a password install handlers, and shells unblock
	 * signals
	 */
	for (unsigned i = 0; in >= 0 && i < LENGTH(terminal); i++) {
		signal(terminal[i], SIG_IGN);
		sigaddset(&blocked, terminal[i]);
	}
	if (in >= 0)
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(CHILD_OURS);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigaction(SIGCHLD, sigchld, NULL);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	if ((in < 0 || dup2(in, STDIN_FILENO) >= 0) && (out < 0 || dup2(out, STDOUT_FILENO) >= 0))
		execvp(argv[0], argv);
	ret = errno;
	(void)!write(failed, &ret, sizeof(ret));
	_exit(CHILD_OURS);
}

/*
 * Blocks all signals from before the fork until the child has restored them, so that no signal is
 * lost.
 */
static int fork_child(struct child *c, char *const argv[], int in, int out)
{
	struct sigaction wait_for = {.sa_handler = SIG_DFL}, sigchld;
	int go[2], failed[2], ret = 0;
	sigset_t all, before;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	c->go = go[1];
	if (pipe2(failed, O_CLOEXEC)) {
		ret = -errno;
		close(go[0]);
		return ret;
	}
	c->failed = failed[0];
	/* If SIGCHLD is ignored, waitid() cannot get the child's status. */
	sigaction(SIGCHLD, &wait_for, &sigchld);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	c->pid = fork();
	if (!c->pid) {
		close(go[1]);
		become(argv, &sigchld, in, out, go[0], failed[1]);
	}
	if (c->pid > 0)
		c->pidfd = pidfd_open(c->pid, 0);
	if (c->pid < 0 || c->pidfd < 0)
		ret = -errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(go[0]);
	close(failed[1]);
	return ret;
}

int child_prepare(struct child *c, char *const argv[], int in, int out, struct error *err)
{
	int ret;

	*c = (struct child){
		.name = argv[0], .pidfd = -1, .go = -1, .failed = -1, .status = -EAGAIN};
	ret = fork_child(c, argv, in, out);
	if (!ret)
		return 0;
	child_close(c);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot start a process");
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

	(void)!write(c->go, "", 1);
	do
		n = read(c->failed, &ret, sizeof(ret));
	while (n < 0 && errno == EINTR);
	fd_close(&c->go);
	fd_close(&c->failed);
	if (n != sizeof(ret))
		return 0;
	reap(c, 0);
	c->status = ret == ENOENT ? CHILD_NOT_FOUND : CHILD_CANNOT_RUN;
	return error_errno(err, STATUS_FAILED, -ret, ret == ENOENT ? "is it installed?" : NULL,
			   "cannot run %s", c->name);
}

bool child_poll(struct child *c)
{
	reap(c, WNOHANG);
	if (c->status == -EAGAIN && c->due_ns && clock_now() >= c->due_ns) {
		pidfd_send_signal(c->pidfd, c->signal, NULL, 0);
		c->due_ns = 0;
	}
	return c->status != -EAGAIN;
}

void child_signal(struct child *c, int signal, int si_code)
{
	if (c->signal)
		return;
	c->signal = signal;
	if (si_code <= 0)
		c->due_ns = clock_now() + PASS_ON_NS;
}

void child_close(struct child *c)
{
	if (!c->name)
		return;
	if (c->go >= 0) {
		fd_close(&c->go);
		if (c->pid > 0)
			reap(c, 0);
	}
	fd_close(&c->failed);
	fd_close(&c->pidfd);
	c->name = NULL;
}
