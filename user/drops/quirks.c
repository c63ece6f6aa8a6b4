// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/libbpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "drops/owners.h"
#include "drops/reason.h"
#include "host/load.h"
#include "survey.skel.h"

static enum quirk_state state[QUIRK_COUNT];

static enum quirk_state found_if(bool found)
{
	return found ? QUIRK_FOUND : QUIRK_ABSENT;
}

static void find_tracepoints(void)
{
	struct reasons *r;

	if (reasons_open(&r, NULL, &(struct error){}))
		return;
	state[QUIRK_NO_REASONS] = found_if(!reasons_count(r));
	state[QUIRK_NO_RX_SK] = found_if(reasons_tracepoint_args(r, "kfree_skb") < 4);
	state[QUIRK_NO_CONSUMED] = found_if(reasons_tracepoint_args(r, "consume_skb") != 2);
	state[QUIRK_NO_RECV_LENGTH] = found_if(reasons_tracepoint_args(r, "sock_recv_length") < 0);
	reasons_free(r);
}

/* Loads and attaches the programs, as far as possible. Returns NULL if they cannot be loaded. */
static struct survey_bpf *attached(bool fentry)
{
	const char *const beside[] = {fentry ? "quirk_fentry" : NULL, NULL};
	const libbpf_print_fn_t print = libbpf_set_print(NULL); /* a refusal is not an error here */
	struct survey_bpf *skel;

	if (!survey_open(&skel, "quirk_switch", NULL, beside)) {
		skel->links.quirk_switch = bpf_program__attach(skel->progs.quirk_switch);
		if (fentry)
			skel->links.quirk_fentry = bpf_program__attach(skel->progs.quirk_fentry);
	}
	libbpf_set_print(print);
	return skel;
}

/* Returns how often PID 1's threads have left their CPUs. */
static uint64_t init_switches(void)
{
	DIR *dir = proc_dir(AT_FDCWD, "/proc/1/task");
	uint64_t tid, sum = 0;

	while (dir && proc_next_number(dir, &tid)) {
		char text[4096], *rest = text, *line;
		unsigned long long n;

		proc_read(dirfd(dir), text, sizeof(text), "%d/status", (int)tid);
		while ((line = strsep(&rest, "\n"))) {
			if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1 ||
			    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
				sum += n;
		}
	}
	if (dir)
		closedir(dir);
	return sum;
}

static void find_suppressed(const struct survey_bpf *skel)
{
	uint64_t before, now;
	pid_t pid;

	if (!files_of_all())
		return;
	before = now = init_switches();
	/* an orphan, which PID 1 (or a subreaper) inherits */
	pid = fork();
	if (!pid) {
		fork();
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	for (int i = 0; i < QUIRKS_PATIENCE_MS && now <= before; i++) {
		clock_sleep(1000000);
		now = init_switches();
	}
	clock_sleep(1000000); /* the counter moves just before the event is traced */
	if (now > before)
		state[QUIRK_SUPPRESSED] = found_if(!skel->bss->init_switches);
}

static void find_all(void)
{
	struct survey_bpf *skel;
	struct utsname u;

	find_tracepoints();
	if (!uname(&u))
		state[QUIRK_PREEMPT_RT] = found_if(strstr(u.version, "PREEMPT_RT") != NULL);
	skel = attached(true);
	if (!skel)
		skel = attached(false);
	if (!skel)
		return;
	state[QUIRK_NO_FENTRY] = found_if(!skel->links.quirk_fentry);
	if (skel->links.quirk_switch)
		find_suppressed(skel);
	survey_bpf__destroy(skel);
}

const enum quirk_state *quirks_found(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_all);
	return state;
}

static void *find(void *arg)
{
	(void)arg;
	quirks_found();
	return NULL;
}

void quirks_prepare(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, find, NULL))
		pthread_detach(thread);
}

const struct quirk_words quirk_words[QUIRK_COUNT] = {
	[QUIRK_NO_FENTRY] = {"no_fentry", "no program can be attached to functions (fentry)"},
	[QUIRK_NO_REASONS] = {"no_reasons", "drops have no reasons"},
	[QUIRK_NO_RX_SK] = {"no_rx_sk", "a drop event does not name the socket"},
	[QUIRK_NO_CONSUMED] = {"no_consume_place",
			       "where packets are freed as used up is not reported"},
	[QUIRK_NO_RECV_LENGTH] = {"no_sock_recv_length", "socket reads are not traced"},
	[QUIRK_SUPPRESSED] = {"suppressed_on_pid1",
			      "tracing is skipped while a thread of PID 1 runs on the CPU"},
	[QUIRK_PREEMPT_RT] = {"preempt_rt", "softirqs are threads (PREEMPT_RT)"},
};
