// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/child.h"

#define TICK_NS 100000000 /* how soon the owner of a socket is looked for */

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
