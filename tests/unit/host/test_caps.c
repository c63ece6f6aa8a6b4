// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/caps.h"
#include "host/netns.h"

#define BPF	  CAPS_BIT(CAP_BPF)
#define PERFMON	  CAPS_BIT(CAP_PERFMON)
#define NET_ADMIN CAPS_BIT(CAP_NET_ADMIN)
#define NET_RAW	  CAPS_BIT(CAP_NET_RAW)
#define SYS_ADMIN CAPS_BIT(CAP_SYS_ADMIN)
#define SYSLOG	  CAPS_BIT(CAP_SYSLOG)

static const struct opt_need needs[] = {
	{OPT_CAP(PERFMON), "programs"},
	{OPT_CAP(NET_ADMIN), "to attach", .keeps = "to detach"},
	{OPT_CAP(NET_RAW), "for packets", .when = "--tx xsk, --rx xsk", .keeps = "for more"},
	{OPT_CAP(BPF), "to load", .keeps = "for maps", .before = OPT_KERNEL(2, 6)},
	{OPT_CAP(SYSLOG), "names", .keeps = "for maps", .before = OPT_KERNEL(200, 0)},
	{OPT_CAP(SYS_ADMIN), "other", .without = "less is known"},
	{0},
};

CASE(keeps_what_the_table_says)
{
	assert_int_equal(caps_kept(needs, NULL, CAPS_ONCE), NET_ADMIN | SYSLOG);
	assert_int_equal(caps_kept(NULL, NULL, CAPS_ONCE), CAPS_NONE);
	assert_int_equal(caps_kept(NULL, NULL, CAPS_AGAIN), CAPS_NONE);
}

CASE(keeps_all_for_the_next)
{
	assert_int_equal(caps_kept(needs, NULL, CAPS_AGAIN),
			 PERFMON | NET_ADMIN | NET_RAW | BPF | SYSLOG | SYS_ADMIN);
}

CASE(asks_what_is_used)
{
	static const struct {
		const char *with;
		bool raw;
	} rows[] = {
		{"--tx xsk", true},	      {"--rx xsk", true},  {"--tx xsk, --port", true},
		{"--port, --rx xsk", true},   {"--tx xdp", false}, {"--tx", false},
		{"--rx xsk --tx xdp", false}, {"", false},	   {", ", false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(caps_kept(needs, rows[i].with, CAPS_ONCE) & NET_RAW,
				 rows[i].raw ? NET_RAW : 0);
}

/* A thread that was there before: whether it may not start a program. */
static void *waits(void *arg)
{
	char *const argv[] = {"false", NULL};
	char c;

	if (read(*(int *)arg, &c, 1) != 1)
		return (void *)0L;
	return (void *)(long)(execve("/bin/false", argv, NULL) && errno == EPERM);
}

/* Returns 0 if exactly the expected calls are refused, otherwise the wrong call. */
static int barred(bool programs, bool attach)
{
	static const int never[] = {BPF_LINK_CREATE, BPF_LINK_UPDATE,	BPF_PROG_ATTACH,
				    BPF_PROG_DETACH, BPF_PROG_TEST_RUN, BPF_PROG_LOAD,
				    BPF_BTF_LOAD,    BPF_OBJ_PIN,	BPF_OBJ_GET};
	char *const argv[] = {"true", NULL};
	void *refused;
	pthread_t thread;
	int pipes[2];
	pid_t child;
	int status;

	if (pipe(pipes) || pthread_create(&thread, NULL, waits, pipes))
		return 1;
	if (caps_drop_but(CAPS_NONE) || caps_bar_calls(programs, attach))
		return 2;
	/* with no memory for the attributes the kernel would say EFAULT or EINVAL */
	if (!syscall(SYS_bpf, BPF_MAP_CREATE, NULL, 4096) || errno != EPERM)
		return 3;
	/* an int to the kernel, whatever is above it */
	if (!syscall(SYS_bpf, 1L << 32 | BPF_MAP_CREATE, NULL, 4096) || errno != EPERM)
		return 9;
	if (!syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, NULL, 4096) || errno == EPERM)
		return 4;
	if (!syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, NULL, 4096) || (errno == EPERM) == attach)
		return 8;
	for (unsigned i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		if (!syscall(SYS_bpf, never[i], NULL, 4096) || errno != EPERM)
			return 16 + (int)i;
	}
	/* no such descriptor, and no such flags, if it were not refused */
	if (!syscall(SYS_pidfd_getfd, -1, -1, 0) || errno != EPERM)
		return 10;
	if (!syscall(SYS_clock_adjtime, -1, NULL) || errno != EPERM)
		return 11;
	if (syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0) == 0 || errno != EPERM)
		return 5;
	child = fork();
	if (!child) {
		execve("/bin/true", argv, NULL);
		_exit(errno);
	}
	if (waitpid(child, &status, 0) != child || status != (programs ? 0 : EPERM << 8))
		return 6;
	if (!programs &&
	    (write(pipes[1], "", 1) != 1 || pthread_join(thread, &refused) || !refused))
		return 7;
	return 0;
}

CASE(bars_calls)
{
#ifndef HAVE_SECCOMP
	skip();
#endif
	if (syscall(SYS_seccomp, ~0U, 0, NULL) && errno == ENOSYS)
		skip(); /* valgrind has none */
	for (unsigned how = 0; how < 4; how++) {
		pid_t child = fork();
		int status;

		if (!child)
			_exit(barred(how & 1, how & 2));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

/* Reads the calling thread without locks and memory, because a child of fork() also calls it. */
static unsigned long long set_of(const char *name)
{
	unsigned long long value = ~0ULL;
	char line[256];
	size_t len = strlen(name);
	FILE *f = fopen("/proc/thread-self/status", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, len) && line[len] == ':')
			sscanf(line + len + 1, "%llx", &value);
	}
	if (f)
		fclose(f);
	return value;
}

static bool has_none(void)
{
	return !set_of("CapEff") && !set_of("CapPrm") && !set_of("CapInh") && !set_of("CapAmb") &&
	       set_of("NoNewPrivs") == 1;
}

static void *look(void *arg)
{
	*(bool *)arg = has_none();
	return NULL;
}

static void *drop_and_look(void *arg)
{
	*(bool *)arg = !caps_drop_but(CAPS_NONE) && has_none();
	return NULL;
}

/* In a child: dropped capabilities cannot be regained. */
static int in_child(bool (*test)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(!test());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool drops_all(void)
{
	bool later = false;
	pthread_t thread;

	if (caps_drop_but(CAPS_NONE) || !has_none())
		return false;
	return !pthread_create(&thread, NULL, look, &later) && !pthread_join(thread, NULL) && later;
}

/* Capability sets belong to a thread: another thread keeps its capabilities. */
static bool drops_of_one_thread(void)
{
	unsigned long long before = set_of("CapEff");
	bool dropped = false;
	pthread_t thread;

	return !pthread_create(&thread, NULL, drop_and_look, &dropped) &&
	       !pthread_join(thread, NULL) && dropped && set_of("CapEff") == before;
}

static bool keeps_some(void)
{
	unsigned long long wanted = set_of("CapEff") & (NET_ADMIN | NET_RAW);
	unsigned long long bounds = set_of("CapBnd");

	if (set_of("CapEff") & CAPS_BIT(CAP_SETPCAP))
		bounds &= NET_ADMIN | NET_RAW;
	return !caps_drop_but(NET_ADMIN | NET_RAW) && set_of("CapEff") == wanted &&
	       set_of("CapPrm") == wanted && set_of("CapBnd") == bounds;
}

static bool lends(void)
{
	unsigned long long mine = set_of("CapEff") & NET_ADMIN, before = set_of("CapInh");
	bool lent;

	caps_lend(NET_ADMIN, true);
	lent = (set_of("CapAmb") & NET_ADMIN) == mine;
	caps_lend(NET_ADMIN, false);
	return lent && !(set_of("CapAmb") & NET_ADMIN) &&
	       set_of("CapInh") == (before & ~NET_ADMIN) && (set_of("CapEff") & NET_ADMIN) == mine;
}

/* setns() wants a capability even for the namespace that the thread is in. */
static bool stays_at_home(void)
{
	struct netns ns;
	bool stayed;
	int saved;

	if (netns_current(&ns, NULL) || caps_drop_but(CAPS_NONE))
		return false;
	saved = netns_push(&ns);
	stayed = saved >= 0 && !netns_enter(&ns);
	if (saved >= 0)
		netns_pop(saved);
	netns_close(&ns);
	return stayed;
}

CASE(gives_up)
{
	assert_int_equal(in_child(drops_all), 0);
	assert_int_equal(in_child(drops_of_one_thread), 0);
	assert_int_equal(in_child(keeps_some), 0);
	assert_int_equal(in_child(lends), 0);
	assert_int_equal(in_child(stays_at_home), 0);
}
