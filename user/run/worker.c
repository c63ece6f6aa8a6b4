// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/worker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

void gate_report(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->ready++;
	pthread_cond_broadcast(&g->change);
	pthread_mutex_unlock(&g->lock);
}

void gate_await(struct gate *g, unsigned ready)
{
	pthread_mutex_lock(&g->lock);
	while (g->ready < ready)
		pthread_cond_wait(&g->change, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

void gate_open(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->change);
	pthread_mutex_unlock(&g->lock);
}

void gate_pass(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	while (!g->open)
		pthread_cond_wait(&g->change, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

/* The n-th CPU that this process may use. */
static int allowed_cpu(int n)
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

int worker_settle_in(const struct netns *ns, int cpu, struct error *err)
{
	cpu_set_t set;
	int rc = ns ? netns_enter(ns) : 0;

	if (rc)
		return error_set(err, STATUS_UNABLE, rc, "run as root, or with CAP_SYS_ADMIN",
				 "cannot enter the network namespace: %s", strerror(-rc));
	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	cpu = allowed_cpu(cpu);
	if (cpu >= 0) {
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set); /* a wish: without it all is slower */
	}
	return 0;
}

static void on_interrupt(int signal)
{
	(void)signal;
}

void worker_allow_interrupts(void)
{
	struct sigaction sa = {.sa_handler = on_interrupt}; /* no SA_RESTART: that is the point */

	sigaction(SIGURG, &sa, NULL);
}

void worker_interrupt(pthread_t thread)
{
	pthread_kill(thread, SIGURG);
}
