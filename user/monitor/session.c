// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/session.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/output.h"
#include "base/watch.h"
#include "monitor/sources.h"

#define TICK_NS	   100000000 /* how soon the owner of a socket is searched for */
#define PASS_ON_NS 200000000 /* a signal to the whole group has reached the command by then */

/* The command */

/*
 * In the child: only functions that are safe when other threads may hold locks. Signals are as they
 * were before this program changed them: handlers are reset by exec; SIGPIPE and SIGXFSZ are
 * ignored since main(), and whether they were before, nobody knows.
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
	/* both: programs that ask for a password handle them, and shells unblock them */
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

/* All signals are blocked from before the fork until the child has restored them: none is lost. */
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
	/* Where SIGCHLD is ignored, there is nothing to wait for. */
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

/* The session */

/* Waits for a signal, for the command, or until `until`. */
static void wait_until(struct session *s, uint64_t until)
{
	struct pollfd fds[] = {
		{.fd = s->signal_fd, .events = POLLIN},
		{.fd = s->command && !s->command_ended ? s->child.pidfd : -1, .events = POLLIN},
		{.fd = s->on_input ? s->input_fd : -1, .events = POLLIN},
	};
	uint64_t now = clock_now(), left = until > now ? until - now : 0;
	const struct timespec timeout = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
	int ready = ppoll(fds, 3, &timeout, NULL);
	struct signalfd_siginfo info;

	if (ready > 0 && fds[0].revents &&
	    read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		/* the first one ends the session or goes to the command; the next kills us */
		pthread_sigmask(SIG_UNBLOCK, &s->signals, NULL);
		watch_note_signal();
		s->interrupted = true;
		if (s->command)
			child_signal(&s->child, (int)info.ssi_signo, info.ssi_code);
	}
	if (s->on_input && (ready < 0 || fds[2].revents) && !s->on_input(s->arg))
		s->left = true;
	if (s->command && !s->command_ended)
		s->command_ended = child_poll(&s->child);
}

/* Until something ends it. An interval that lasts too long is not made up for. */
static int run_intervals(struct session *s, struct error *err)
{
	uint64_t start = clock_now(), next = start + s->interval_ns, tick = start;
	uint64_t end = s->duration_ns ? start + s->duration_ns : UINT64_MAX;
	bool go_on = true;

	while (go_on) {
		uint64_t now = clock_now(), until;
		bool over =
			s->left || now >= end || (s->command ? s->command_ended : s->interrupted);

		if (over || now >= next) {
			int rc = over && s->on_over ? s->on_over(s->arg, err) : 0;

			if (over)
				live_last(s->live);
			if (!rc)
				rc = live_collect(s->live, err);
			if (rc)
				return rc;
			go_on = s->on_interval(s->arg) && !over;
			now = clock_now();
			next = now > next + s->interval_ns ? now + s->interval_ns
							   : next + s->interval_ns;
			continue;
		}
		until = next < end ? next : end;
		wait_until(s, until < tick ? until : tick);
		if (clock_now() < tick) /* there was input: as much as others like */
			continue;
		output_push();
		live_tick(s->live);
		if (s->why)
			why_tick(s->why);
		if (s->on_tick && !s->on_tick(s->arg))
			s->left = true;
		tick = clock_now() + TICK_NS;
	}
	/* ended before the command: it is waited for */
	while (s->command && !s->command_ended)
		wait_until(s, clock_now() + TICK_NS);
	return 0;
}

int session_run(struct session *s, struct error *err)
{
	int rc;

	/* as it is by default: otherwise free() of BTF's megabytes raises it, see mallopt(3) */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	ksyms_prefetch();
	rc = owners_open(&s->spec.owners, NULL, err);
	s->signal_fd = -1;
	if (rc)
		return rc;
	sigemptyset(&s->signals);
	sigaddset(&s->signals, SIGINT);
	sigaddset(&s->signals, SIGTERM);
	sigaddset(&s->signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &s->signals, NULL);
	s->signal_fd = signalfd(-1, &s->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0)
		rc = error_errno(err, STATUS_FAILED, -errno, NULL, "signalfd");
	if (!rc && s->command)
		rc = child_prepare(&s->child, s->command, -1,
				   s->stdout_to_stderr ? STDERR_FILENO : -1, err);
	if (!rc)
		rc = live_open(&s->live, &s->spec, err);
	if (!rc)
		rc = sources_open(&s->sources, &s->spec, s->counters, s->live, err);
	if (!rc && s->with_why) /* behind them: it looks at their rows, too */
		s->why = why_new(&s->spec, s->live);
	if (!rc && s->on_open)
		rc = s->on_open(s->arg, err);
	if (!rc)
		rc = live_start(s->live, err);
	if (rc)
		return rc;
	s->on_start(s->arg);
	if (s->command)
		rc = child_start(&s->child, err);
	s->started = !rc;
	return rc ? rc : run_intervals(s, err);
}

void session_end(struct session *s)
{
	child_close(&s->child);
	if (s->signal_fd > 0) /* 0: there was no run */
		close(s->signal_fd);
	live_close(s->live);
	why_close(s->why);
	sources_close(s->sources);
	owners_close(s->spec.owners);
}

int limits_init(struct limits *l, const struct limit *limit, unsigned n, struct error *err)
{
	memset(l, 0, sizeof(*l));
	for (unsigned i = 0; i < n && i < OPT_LIST_MAX; i++) {
		if (limit[i].unit == LIMIT_SHARE)
			return error_usage(err, "use packets, or packets per second: 10, 100/s",
					   "--limit: %s is a share of the packets sent, which "
					   "trace does not know",
					   num_text_limit(&limit[i]));
		l->at[l->n++].limit = limit[i];
	}
	return 0;
}

bool limits_crossed(struct limits *l, unsigned i, const struct live_table *interval,
		    const struct live_table *total, uint64_t interval_ns)
{
	const struct limit *limit = &l->at[i].limit;
	bool rate = limit->unit == LIMIT_PER_SECOND, was = l->at[i].above;
	uint64_t packets =
		table_sum(rate ? interval : total, 1u << CLASS_LOSS, limit->stage).packets;

	l->at[i].measured = rate ? per_second(packets, interval_ns) : (double)packets;
	l->at[i].above = l->at[i].measured > limit->value;
	if (!l->at[i].above || was)
		return false;
	l->broken = true;
	return true;
}
