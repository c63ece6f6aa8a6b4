// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"

#define PATIENCE_MS 30000
#define TICK_MS	    50

/* Polls until it has ended; its status. */
static int end_of(struct child *c)
{
	struct pollfd fd = {.fd = c->pidfd, .events = POLLIN};

	for (int tries = PATIENCE_MS / TICK_MS; !child_poll(c); tries--) {
		if (!tries)
			fail_msg("the command does not end");
		poll(&fd, 1, TICK_MS);
	}
	return c->status;
}

static int run(char *const argv[])
{
	struct error err = {};
	struct child c;
	int status;

	assert_int_equal(child_prepare(&c, argv, -1, -1, &err), 0);
	assert_int_equal(c.status, -EAGAIN);
	child_start(&c, &err);
	status = end_of(&c);
	child_close(&c);
	return status;
}

static int shell(const char *script)
{
	return run((char *const[]){"sh", "-c", (char *)script, NULL});
}

CASE(statuses)
{
	assert_int_equal(run((char *const[]){"true", NULL}), 0);
	assert_int_equal(shell("exit 3"), 3);
	assert_int_equal(shell("exit 255"), 255);
	assert_int_equal(shell("kill -KILL $$"), 128 + SIGKILL);
	assert_int_equal(shell("kill -TERM $$"), 128 + SIGTERM);
	assert_int_equal(run((char *const[]){"/nowhere/at/all", NULL}), 127);
	assert_int_equal(run((char *const[]){"no-such-command-pktledger", NULL}), 127);
	assert_int_equal(run((char *const[]){"/", NULL}), 126);
	assert_int_equal(run((char *const[]){"/dev/null", NULL}), 126);
}

CASE(failure_is_reported)
{
	struct error err = {};
	struct child c;

	assert_int_equal(child_prepare(&c, (char *const[]){"no-such-command", NULL}, -1, -1, &err),
			 0);
	assert_int_equal(child_start(&c, &err), -ENOENT);
	assert_int_equal(err.status, STATUS_FAILED);
	assert_non_null(strstr(err.message, "no-such-command"));
	assert_int_equal(c.status, CHILD_NOT_FOUND);
	assert_true(child_poll(&c));
	child_close(&c);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process remains */
}

/* The environment of a command, from its output. */
static void reads(char *const argv[], bool to_stderr, int fd, char *text, size_t size)
{
	struct error err = {};
	int ends[2], saved = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct child c;
	ssize_t n = 0;
	size_t len = 0;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(dup2(ends[1], fd), fd);
	assert_int_equal(child_prepare(&c, argv, -1, to_stderr ? STDERR_FILENO : -1, &err), 0);
	assert_int_equal(child_start(&c, &err), 0);
	assert_int_equal(dup2(saved, fd), fd);
	close(saved);
	close(ends[1]);
	while ((n = read(ends[0], text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(ends[0]);
	end_of(&c);
	child_close(&c);
}

CASE(output)
{
	char *const argv[] = {"echo", "hello", NULL};
	char text[64];

	reads(argv, false, STDOUT_FILENO, text, sizeof(text));
	assert_string_equal(text, "hello\n");
	reads(argv, true, STDERR_FILENO, text, sizeof(text));
	assert_string_equal(text, "hello\n");
}

static bool read_status(char *text, size_t size)
{
	FILE *f = fopen("/proc/self/status", "r");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return n;
}

static unsigned long ignored(const char *status)
{
	const char *line = strstr(status, "SigIgn:\t");

	assert_non_null(line);
	return strtoul(line + strlen("SigIgn:\t"), NULL, 16);
}

/* The lines of `status` of proc(5) that would differ if the command did not start as from a shell.
 */
CASE(as_from_a_shell)
{
	char *const argv[] = {"cat", "/proc/self/status", NULL};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	unsigned long before_us;
	sigset_t all, mask;
	char text[8192];

	assert_true(read_status(text, sizeof(text)));
	before_us = ignored(text);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGHUP, &ignore, &before); /* as nohup does */
	reads(argv, false, STDOUT_FILENO, text, sizeof(text));
	sigaction(SIGHUP, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &mask, NULL);

	assert_non_null(strstr(text, "SigBlk:\t0000000000000000"));
	assert_int_equal(ignored(text),
			 (before_us | 1UL << (SIGHUP - 1)) & ~(1UL << (SIGPIPE - 1)));
}

/*
 * A command with a pipe as stdin serves pktledger only. Signals of the terminal must not reach the
 * command or its children, even if they unblock signals (as sh does).
 */
CASE(one_that_serves_us)
{
	char *const argv[] = {"sh", "-c",
			      "kill -INT $$; kill -HUP $$; exec cat - /proc/self/status", NULL};
	const unsigned long terminal = 1UL << (SIGINT - 1) | 1UL << (SIGHUP - 1);
	struct error err = {};
	int to[2], from[2];
	char text[8192] = "";
	struct child c;
	size_t len = 0;
	ssize_t n;

	assert_int_equal(pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC), 0);
	assert_int_equal(child_prepare(&c, argv, to[0], from[1], &err), 0);
	assert_int_equal(child_start(&c, &err), 0);
	close(to[0]);
	close(from[1]);
	assert_int_equal(write(to[1], "hello\n", 6), 6);
	close(to[1]);
	while ((n = read(from[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	assert_int_equal(end_of(&c), 0);
	assert_memory_equal(text, "hello\n", 6);
	assert_int_equal(ignored(text) & terminal, terminal);
	child_close(&c);
	close(from[0]);
}

/* It ends when we do, though it does not look at its stdin. */
CASE(it_ends_with_us)
{
	char *const argv[] = {"sleep", "60", NULL};
	int ends[2], wstatus;
	pid_t pid, sleeper;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct error err = {};
		struct child c;
		int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (child_prepare(&c, argv, in, -1, &err) || child_start(&c, &err) ||
		    write(ends[1], &c.pid, sizeof(c.pid)) != sizeof(c.pid))
			_exit(99);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	assert_int_equal(wstatus, 0);
	assert_int_equal(read(ends[0], &sleeper, sizeof(sleeper)), sizeof(sleeper));
	assert_int_equal(waitpid(sleeper, &wstatus, 0), sleeper);
	assert_true(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGTERM);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close(ends[0]);
	close(ends[1]);
}

CASE(no_descriptor_of_ours)
{
	char *const argv[] = {"ls", "/proc/self/fd", NULL};
	char text[512], expected[512];
	FILE *f = popen("ls /proc/self/fd", "re");
	size_t n;

	assert_non_null(f);
	n = fread(expected, 1, sizeof(expected) - 1, f);
	expected[n] = '\0';
	pclose(f);
	reads(argv, false, STDOUT_FILENO, text, sizeof(text));
	assert_string_equal(text, expected);
}

CASE(waits_for_the_start)
{
	char *const argv[] = {"sh", "-c", "exit 7", NULL};
	struct error err = {};
	char comm[32] = "", path[64];
	struct child c;
	FILE *f;

	assert_int_equal(child_prepare(&c, argv, -1, -1, &err), 0);
	snprintf(path, sizeof(path), "/proc/%d/comm", c.pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(comm, sizeof(comm), f));
	fclose(f);
	assert_string_not_equal(comm, "sh\n");
	assert_false(child_poll(&c));
	assert_int_equal(child_start(&c, &err), 0);
	assert_int_equal(end_of(&c), 7);
	child_close(&c);
}

CASE(never_started)
{
	char *const argv[] = {"true", NULL};
	struct error err = {};
	struct child c;

	assert_int_equal(child_prepare(&c, argv, -1, -1, &err), 0);
	child_close(&c);
	child_close(&c); /* nothing is left to be closed */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

CASE(sigchld_ignored)
{
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(shell("exit 3"), 3);
	signal(SIGCHLD, SIG_DFL);
}

/* The first signal is passed on, the next is not; one from the terminal is not passed on. */
CASE(signals)
{
	char *const argv[] = {"sh", "-c",
			      "n=0; trap 'n=$((n+1))' INT; trap 'n=$((n+10))' TERM; echo ready; "
			      "while [ $n -eq 0 ]; do sleep 0.01; done; sleep 0.5; exit $n",
			      NULL};
	struct error err = {};
	int ends[2], saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	struct child c;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	assert_int_equal(child_prepare(&c, argv, -1, -1, &err), 0);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	close(saved);
	assert_int_equal(child_start(&c, &err), 0);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	child_signal(&c, SIGINT, SI_USER);
	child_signal(&c, SIGTERM, SI_USER);
	assert_int_equal(end_of(&c), 1);
	child_close(&c);
	close(ends[0]);
	close(ends[1]);
}

/* A program in a separate process group, with a command that a signal to the group also ends. */
static void __attribute__((noreturn)) group_leader(int ready)
{
	char *const argv[] = {"sh", "-c", "echo; exec sleep 60", NULL};
	struct error err = {};
	struct child c;
	siginfo_t info;
	sigset_t set;

	setpgid(0, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	dup2(ready, STDOUT_FILENO);
	if (child_prepare(&c, argv, -1, -1, &err) || child_start(&c, &err))
		_exit(99);
	sigwaitinfo(&set, &info);
	child_signal(&c, info.si_signo, info.si_code);
	_exit(end_of(&c));
}

CASE(a_signal_to_the_group)
{
	int ends[2], wstatus;
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		group_leader(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(kill(-pid, SIGINT), 0);
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	assert_true(WIFEXITED(wstatus));
	assert_int_equal(WEXITSTATUS(wstatus), 128 + SIGINT);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	if (pidfd_open(getpid(), 0) < 0) { /* valgrind has none */
		printf("no pidfd_open(2): %s\n", strerror(errno));
		return 77;
	}
	signal(SIGINT, SIG_DFL); /* a shell cannot trap signals that were ignored at its start */
	return run_cases(NULL, NULL);
}
