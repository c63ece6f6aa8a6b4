// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/threads.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENDED 0 /* no thread has this number */

void threads_init(struct threads *t, int root, pid_t pid, int fd, bool newborn)
{
	*t = (struct threads){.root = root, .pid = pid, .fd = fd, .begun = newborn};
}

static struct thread *find(struct threads *t, pid_t tid)
{
	for (unsigned i = 0; i < t->n; i++) {
		if (t->at[i].tid == tid)
			return &t->at[i];
	}
	return NULL;
}

/* A thread that is new since the first sample began at 0; of the others nobody knows. */
static struct thread *add(struct threads *t, pid_t tid, uint64_t run, uint64_t wait)
{
	struct thread *th = t->n < THREADS_MAX ? &t->at[t->n] : find(t, ENDED);
	struct proc_stat st;

	if (!th || proc_stat(t->root, t->pid, tid, &st))
		return NULL;
	t->n += th == &t->at[t->n];
	*th = (struct thread){.tid = tid};
	memcpy(th->name, st.name, sizeof(th->name));
	if (!t->begun) {
		th->last_run = run;
		th->last_wait = wait;
	}
	return th;
}

static void sample_one(struct threads *t, pid_t tid, bool receives)
{
	struct thread *th = find(t, tid);
	uint64_t run, wait;
	char text[80];

	if (proc_read(t->root, text, sizeof(text), "proc/%d/task/%d/schedstat", t->pid, tid) < 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &run, &wait) != 2)
		return;
	if (!th)
		th = add(t, tid, run, wait);
	if (!th)
		return;
	th->seen = true;
	th->new_run += run - th->last_run;
	th->new_wait += wait - th->last_wait;
	th->last_run = run;
	th->last_wait = wait;
	th->new_receives += receives && proc_receives(t->root, t->pid, tid, t->fd);
}

/* Those that ended leave their times as long as there is room. */
static void retire(struct threads *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		if (!t->at[i].seen)
			t->at[i].tid = ENDED;
	}
}

int threads_sample(struct threads *t, bool receives)
{
	DIR *tasks = proc_dir(t->root, "proc/%d/task", t->pid);
	uint64_t id;

	if (!tasks)
		return -ESRCH;
	for (unsigned i = 0; i < t->n; i++)
		t->at[i].seen = false;
	for (t->all = 0; proc_next_number(tasks, &id); t->all++) {
		if (t->all < THREADS_MAX)
			sample_one(t, (pid_t)id, receives);
	}
	closedir(tasks);
	retire(t);
	t->begun = true;
	return t->all ? 0 : -ESRCH;
}

void threads_keep(struct threads *t, bool keep)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct thread *th = &t->at[i];

		if (keep) {
			th->run_ns += th->new_run;
			th->wait_ns += th->new_wait;
			th->receives += th->new_receives;
		}
		th->new_run = th->new_wait = th->new_receives = 0;
	}
}

static uint64_t busy(const struct thread *th)
{
	return th->run_ns + th->new_run + th->wait_ns + th->new_wait;
}

static bool received(const struct thread *th)
{
	return th->receives + th->new_receives;
}

const struct thread *threads_reader(const struct threads *t)
{
	const struct thread *best = NULL;

	for (unsigned i = 0; i < t->n; i++) {
		const struct thread *th = &t->at[i];

		if (!best || received(th) > received(best) ||
		    (received(th) == received(best) && busy(th) > busy(best)))
			best = th;
	}
	/* Who has never run is no thread: without CONFIG_SCHED_INFO all times are 0. */
	return best && best->last_run ? best : NULL;
}
