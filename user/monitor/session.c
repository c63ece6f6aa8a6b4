// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/watch.h"
#include "monitor/sources.h"

#define TICK_NS 100000000 /* ns to wait before looking up a socket's owner */

/* Waits for a signal, for the command, or until the time `until`. */
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
		/* the first signal ends the session or is passed to the command, the next one kills
		 * pktledger */
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

/* Runs until the session ends. Does not catch up after an interval that took too long. */
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

			if (!rc && over && s->tcp && s->tcp_ends)
				rc = tcp_account_end(s->tcp, err);
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
		if (clock_now() < tick) /* woken up by input, which may arrive at any rate */
			continue;
		output_push();
		live_tick(s->live);
		if (s->tcp)
			tcp_account_tick(s->tcp);
		if (s->on_tick && !s->on_tick(s->arg))
			s->left = true;
		if (s->why) /* the first call loads a program, which must not delay the first drop */
			why_tick(s->why);
		if (tick == start) /* the first tick: all programs are loaded */
			mem_return();
		tick = clock_now() + TICK_NS;
	}
	/* the session ended before the command, so wait for the command */
	while (s->command && !s->command_ended)
		wait_until(s, clock_now() + TICK_NS);
	return 0;
}

int session_run(struct session *s, struct error *err)
{
	int rc;

	mem_keep();
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
	if (!rc && s->with_why) /* added after the other sources because it reads their rows */
		s->why = why_new(&s->spec, s->sources, s->live);
	if (!rc && s->on_open)
		rc = s->on_open(s->arg, err);
	if (!rc && *s->flow.tcp)
		rc = tcp_account_open(&s->tcp, s->flow.tcp, s->tcp_flows, s->tcp_trail, s->live,
				      err);
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
	tcp_account_close(s->tcp);
	child_close(&s->child);
	if (s->signal_fd > 0) /* 0 if the session never ran */
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
