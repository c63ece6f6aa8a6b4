// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/worker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/watch.h"
#include "host/caps.h"

unsigned worker_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(getpid(), sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

int worker_cpu(int n)
{
	cpu_set_t set;

	if (sched_getaffinity(getpid(), sizeof(set), &set))
		return -1;
	n %= CPU_COUNT(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set) && n-- == 0)
			return cpu;
	}
	return -1;
}

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static int settle_in(const struct worker_team *t, unsigned slot, struct error *err)
{
	const struct worker_wish *wish = t->wish;
	const struct tuning *tuning = t->tuning;
	struct sched_param param = {.sched_priority = (int)tuning->rt};
	int rc = t->ns ? netns_enter(t->ns) : 0;

	if (rc)
		return error_errno(err, STATUS_UNABLE, rc, "run as root, or with CAP_SYS_ADMIN",
				   "cannot enter the network namespace");
	if (wish->cpu_set)
		rc = pin((int)(wish->cpu + slot));
	else if (t->cpu >= 0)
		pin(worker_cpu(t->cpu + (int)slot)); /* best effort: errors are ignored */
	if (rc)
		return error_errno(err, STATUS_UNABLE, rc,
				   "`taskset -p` shows which CPUs a process may use",
				   "thread %u cannot run on CPU %u", slot, wish->cpu + slot);
	/* affects only this thread, the kernel's scheduling unit (setpriority(2), NOTES) */
	if (tuning->nice && setpriority(PRIO_PROCESS, (id_t)gettid(), tuning->nice))
		return error_errno(err, STATUS_UNABLE, -errno, "it takes CAP_SYS_NICE",
				   "cannot set a nice value of %d", tuning->nice);
	prctl(PR_SET_TIMERSLACK, 1); /* ns, not the default 50 us: sleeps end between packets */
	if (tuning->rt && sched_setscheduler(0, SCHED_FIFO, &param))
		return error_errno(
			err, STATUS_UNABLE, -errno,
			"this requires CAP_SYS_NICE or RLIMIT_RTPRIO, and a cgroup that allows it",
			"cannot set real-time priority %u", tuning->rt);
	return 0;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct worker_team *t = w->team;
	int rc = settle_in(t, w->slot, &w->error);

	if (!rc)
		rc = t->open(w->arg, &w->error);
	caps_drop_but(CAPS_NONE);
	if (rc)
		atomic_store(&t->failed, w);
	sem_post(&t->ready);
	if (!rc) {
		while (sem_wait(&t->door)) /* interrupted by a signal */
			;
		sem_post(&t->door); /* let the next thread through */
		t->run(w->arg);
	}
	/* save the CPU time, which may be 0 if the hypervisor took the time */
	atomic_store(&w->ended_cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	atomic_store(&w->ended, true);
	return NULL;
}

int worker_team_start(struct worker_team *t, unsigned workers, void *of, struct error *err)
{
	const struct worker *failed;
	unsigned started = 0;
	int rc = 0;

	sem_init(&t->ready, 0, 0);
	sem_init(&t->door, 0, t->at_once);
	for (; started < workers && !rc; started += !rc) {
		struct worker *w = t->prepare(of, started);

		w->team = t;
		w->slot = started;
		rc = -pthread_create(&w->thread, NULL, work, w);
		w->started = !rc;
	}
	error_errno(err, STATUS_FAILED, rc, NULL, "cannot start a thread");
	while (started)
		started -= !sem_wait(&t->ready); /* unless interrupted by a signal */
	failed = atomic_load(&t->failed);
	if (failed)
		*err = failed->error;
	return err->status == STATUS_OK ? 0 : -EIO;
}

bool worker_ended(const struct worker *w)
{
	return !w->started || atomic_load(&w->ended);
}

void worker_join(struct worker *w)
{
	struct timespec until;

	while (w->started) { /* if a write to a pipe hangs, a second signal must kill the process */
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		w->started = pthread_timedjoin_np(w->thread, NULL, &until) == ETIMEDOUT;
		watch_look();
	}
}

const char *worker_rt_warning(const struct worker_group *groups, unsigned n)
{
	unsigned cpus, anywhere = 0, taken = 0, most = 1;
	unsigned char on[CPU_SETSIZE] = {};
	cpu_set_t set;

	if (sched_getaffinity(getpid(), sizeof(set), &set))
		return NULL;
	cpus = (unsigned)CPU_COUNT(&set);
	for (unsigned g = 0; g < n; g++) {
		const struct worker_group *group = &groups[g];

		for (unsigned t = 0; t < group->threads; t++) {
			int cpu = group->wish->cpu_set ? (int)(group->wish->cpu + t)
				  : group->cpu >= 0    ? worker_cpu(group->cpu + (int)t)
						       : -1;

			if (cpu < 0 || cpu >= CPU_SETSIZE) {
				anywhere++;
				continue;
			}
			taken += !on[cpu];
			if (++on[cpu] > most)
				most = on[cpu];
		}
	}
	if (most > 1 || anywhere + taken > cpus)
		return "--rt: there are more threads than CPUs for them, and one that does not "
		       "sleep keeps the others from its CPU";
	if (anywhere + taken == cpus)
		return "--rt: there is a thread on every CPU, and all else waits for them, the "
		       "kernel's own work too";
	return NULL;
}

uint64_t worker_cpu_ns(struct worker *w)
{
	struct timespec now;
	clockid_t clock;

	if (atomic_load(&w->ended))
		return atomic_load(&w->ended_cpu_ns);
	/* the clock ends with the thread, which may happen right now */
	if (w->started && !pthread_getcpuclockid(w->thread, &clock) && !clock_gettime(clock, &now))
		w->cpu_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return w->cpu_ns;
}

static void on_interrupt(int signal)
{
	(void)signal;
}

void worker_allow_interrupts(void)
{
	struct sigaction sa = {.sa_handler = on_interrupt}; /* no SA_RESTART: let calls end */

	sigaction(SIGURG, &sa, NULL);
}

void worker_interrupt(const struct worker *w)
{
	pthread_kill(w->thread, SIGURG);
}

int reader_parse_pause(const char *text, uint64_t *pause_ns, uint64_t *read_ns)
{
	const char *slash = strchr(text, '/');
	char on[32];

	if (!slash ||
	    snprintf(on, sizeof(on), "%.*s", (int)(slash - text), text) >= (int)sizeof(on) ||
	    num_time(on, pause_ns) || num_time(slash + 1, read_ns) || !*pause_ns || !*read_ns)
		return -EINVAL;
	return 0;
}

void reader_work(struct reader_state *s, uint16_t stream, uint64_t number, unsigned len)
{
	uint64_t end = s->reader->work_ns ? clock_now() + s->reader->work_ns : 0;
	char line[64];

	if (s->log_fd >= 0) {
		int n = snprintf(line, sizeof(line), "%u %llu %u\n", stream,
				 (unsigned long long)number, len);

		errno = ENOSPC; /* for a partial write */
		if (write(s->log_fd, line, (size_t)n) != n && !s->log_errors++)
			s->log_errno = errno;
	}
	while (end && clock_now() < end && !atomic_load_explicit(s->stop, memory_order_relaxed))
		;
}

uint64_t reader_pause(const struct reader *r, uint64_t start, uint64_t now)
{
	uint64_t phase = r->pause_ns ? (now - start) % (r->pause_ns + r->read_ns) : 0;

	return phase < r->pause_ns ? r->pause_ns - phase : 0;
}
