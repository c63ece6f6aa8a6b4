// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define TICK_NS	   100000000 /* how soon the owner of a socket is looked for */
#define PASS_ON_NS 200000000 /* a signal to the whole group has reached the command by then */

/* The command */

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

static int watch_child(struct child *c)
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
static int fork_child(struct child *c, char *const argv[], bool stdout_to_stderr)
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
	return ret ? ret : watch_child(c);
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
	ret = fork_child(c, argv, stdout_to_stderr);
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

/* The session */

struct session {
	const struct session_spec *spec;
	struct live *live;
	struct child *child;
	int signal_fd;
	sigset_t signals;
	bool interrupted, command_ended, left; /* left: on_input() said so */
};

static int open_signals(struct session *s, struct error *err)
{
	sigemptyset(&s->signals);
	sigaddset(&s->signals, SIGINT);
	sigaddset(&s->signals, SIGTERM);
	sigaddset(&s->signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &s->signals, NULL);
	s->signal_fd = signalfd(-1, &s->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? error_set(err, STATUS_FAILED, -errno, NULL, "signalfd: %s",
					    strerror(errno))
				: 0;
}

/* The first one ends the session or goes to the command; the next kills us. */
static void take_signal(struct session *s)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	pthread_sigmask(SIG_UNBLOCK, &s->signals, NULL);
	s->interrupted = true;
	if (s->child)
		child_signal(s->child, (int)info.ssi_signo, info.ssi_code);
}

/* Waits for a signal, for the command, or until `until`. */
static void wait_until(struct session *s, uint64_t until)
{
	struct pollfd fds[] = {
		{.fd = s->signal_fd, .events = POLLIN},
		{.fd = s->child ? child_fd(s->child) : -1, .events = POLLIN},
		{.fd = s->spec->on_input ? s->spec->input_fd : -1, .events = POLLIN},
	};
	uint64_t now = clock_now(), left = until > now ? until - now : 0;
	const struct timespec timeout = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
	int ready;

	if (s->command_ended)
		fds[1].fd = -1;
	ready = ppoll(fds, 3, &timeout, NULL);
	if (ready > 0 && fds[0].revents)
		take_signal(s);
	if (s->spec->on_input && (ready < 0 || fds[2].revents) && !s->spec->on_input(s->spec->arg))
		s->left = true;
	if (s->child && !s->command_ended)
		s->command_ended = child_poll(s->child);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Until something ends it. An interval that lasts too long is not made up for. */
static int run_intervals(struct session *s, struct error *err)
{
	const struct session_spec *spec = s->spec;
	uint64_t start = clock_now(), next = start + spec->interval_ns, tick = start + TICK_NS;
	uint64_t end = spec->duration_ns ? start + spec->duration_ns : UINT64_MAX;
	bool go_on = true;

	while (go_on) {
		uint64_t now = clock_now();
		bool over = s->left || now >= end || (s->child ? s->command_ended : s->interrupted);

		if (over || now >= next) {
			int rc = over && spec->on_over ? spec->on_over(spec->arg, err) : 0;

			if (over)
				live_last(s->live);
			if (!rc)
				rc = live_collect(s->live, err);
			if (rc)
				return rc;
			go_on = spec->on_interval(spec->arg, s->live) && !over;
			now = clock_now();
			next = now > next + spec->interval_ns ? now + spec->interval_ns
							      : next + spec->interval_ns;
			continue;
		}
		wait_until(s, earlier(earlier(next, end), tick));
		if (clock_now() < tick) /* there was input: as much as others like */
			continue;
		live_tick(s->live);
		spec->on_tick(spec->arg);
		tick = clock_now() + TICK_NS;
	}
	/* ended before the command: it is waited for */
	while (s->child && !s->command_ended)
		wait_until(s, clock_now() + TICK_NS);
	return 0;
}

static int run(struct session *s, struct session_result *res, struct error *err)
{
	const struct session_spec *spec = s->spec;
	int rc = open_signals(s, err);

	if (!rc && spec->command)
		rc = child_prepare(&s->child, spec->command, spec->stdout_to_stderr, err);
	if (!rc)
		rc = live_open(&s->live, spec->live, err);
	if (!rc)
		rc = spec->on_open(spec->arg, s->live, err);
	if (!rc)
		rc = live_start(s->live, err);
	if (rc)
		return rc;
	spec->on_start(spec->arg, s->live);
	if (s->child) {
		rc = child_start(s->child, err);
		if (rc)
			return rc;
	}
	res->live = s->live;
	return run_intervals(s, err);
}

int session_run(const struct session_spec *spec, struct session_result *res, struct error *err)
{
	struct session s = {.spec = spec, .signal_fd = -1};
	int rc;

	memset(res, 0, sizeof(*res));
	rc = run(&s, res, err);
	if (!res->live)
		live_close(s.live);
	res->interrupted = s.interrupted;
	if (s.child) {
		int status = child_status(s.child);

		if (status >= 0)
			res->command_status = status;
	}
	child_free(s.child);
	if (s.signal_fd >= 0)
		close(s.signal_fd);
	return rc;
}

int limits_init(struct limits *l, const struct limit *limit, unsigned n, struct error *err)
{
	char text[FMT_MAX];

	memset(l, 0, sizeof(*l));
	for (unsigned i = 0; i < n && i < OPT_LIST_MAX; i++) {
		if (limit[i].unit == LIMIT_SHARE)
			return error_set(
				err, STATUS_USAGE, -EINVAL,
				"use packets, or packets per second: 10, 100/s",
				"--limit: %s is a share of what was sent, which trace does "
				"not know",
				num_text_limit(text, sizeof(text), &limit[i]));
		l->at[l->n++].limit = limit[i];
	}
	return 0;
}

static uint64_t lost_at(const struct live_table *t, enum stage stage)
{
	uint64_t packets = 0;

	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];

		if (row->noise == NOISE_LOSS && (stage == STAGE_NONE || row->stage == stage))
			packets += row->counts.packets;
	}
	return packets;
}

bool limits_crossed(struct limits *l, unsigned i, const struct live_table *interval,
		    const struct live_table *total, uint64_t interval_ns)
{
	const struct limit *limit = &l->at[i].limit;
	bool rate = limit->unit == LIMIT_PER_SECOND, was = l->at[i].above;
	double packets = (double)lost_at(rate ? interval : total, limit->stage);

	if (rate)
		packets = interval_ns ? packets * 1e9 / (double)interval_ns : 0;
	l->at[i].measured = packets;
	l->at[i].above = packets > limit->value;
	if (!l->at[i].above || was)
		return false;
	l->at[i].crossings++;
	return true;
}

bool limits_broken(const struct limits *l)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (l->at[i].crossings)
			return true;
	}
	return false;
}
