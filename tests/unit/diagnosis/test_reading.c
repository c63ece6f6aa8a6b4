// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "cases.h"
#include "diagnosis/facts.h"
#include "diagnosis/findings.h"
#include "diagnosis/reader.h"
#include "host/sockdiag.h"
#include "fake_root.h"

#define MS	1000000ULL
#define SLOWEST (60000 * MS) /* valgrind takes seconds to load a program */

static int root;

static int begin(void **state)
{
	if (fake_begin(state))
		return -1;
	root = proc_root(fake_root);
	return root < 0 ? -1 : 0;
}

static int end(void **state)
{
	close(root);
	return fake_end(state);
}

/* Of process 100: time on a CPU and time waiting for one, ms. */
static void schedstat(int tid, uint64_t run_ms, uint64_t wait_ms)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "proc/100/task/%d/schedstat", tid);
	snprintf(text, sizeof(text), "%llu %llu 17\n", (unsigned long long)(run_ms * MS),
		 (unsigned long long)(wait_ms * MS));
	fake_file(path, text);
}

static void thread(int tid, const char *name, uint64_t run_ms, uint64_t wait_ms)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "proc/100/task/%d/stat", tid);
	snprintf(text, sizeof(text), "%d (%s) S 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 500 1 2\n",
		 tid, name);
	fake_file(path, text);
	snprintf(path, sizeof(path), "proc/100/task/%d/syscall", tid);
	fake_file(path, "running\n");
	schedstat(tid, run_ms, wait_ms);
}

static void receives(int tid, int fd)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "proc/100/task/%d/syscall", tid);
	snprintf(text, sizeof(text), "%ld 0x%x 0x7ffd 0x0 0x0 0x0 0x0 0x7f 0x7f\n",
		 (long)SYS_recvfrom, fd);
	fake_file(path, text);
}

CASE_WITH(quota, begin, end)
{
	uint64_t ns[8];

	fake_process(100, "a", 1, FAKE_NETNS_HOST, "0::/a/b/c\n");
	fake_file("sys/fs/cgroup/a/b/c/cpu.stat",
		  "usage_usec 5\nnr_throttled 2\nthrottled_usec 17\n");
	fake_file("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nthrottled_usec 3\nnr_bursts 0\n");
	fake_file("sys/fs/cgroup/a/cpu.stat", "usage_usec 5\n"); /* the controller is off */
	assert_int_equal(group_throttled(root, 100, ns, 8), 2);
	assert_int_equal(ns[0], 17000);
	assert_int_equal(ns[1], 3000);
	assert_int_equal(group_throttled(root, 100, ns, 1), 1);

	fake_process(101, "a", 1, FAKE_NETNS_HOST, "5:memory:/x\n4:cpu,cpuacct:/x/y\n0::/\n");
	fake_file("sys/fs/cgroup/cpu,cpuacct/x/y/cpu.stat",
		  "nr_periods 1\nnr_throttled 1\nthrottled_time 123456\n");
	assert_int_equal(group_throttled(root, 101, ns, 8), 1);
	assert_int_equal(ns[0], 123456);
	fake_process(102, "a", 1, FAKE_NETNS_HOST, "0::/\n");
	assert_int_equal(group_throttled(root, 102, ns, 8), 0);
	assert_int_equal(group_throttled(root, 999, ns, 8), 0);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/*
 * A single sample names the function in which it sleeps. A process counts as stopped if most
 * samples show it stopped.
 */
CASE_WITH(states, begin, end)
{
	const struct reading_socket id = {.inode = 1001, .netns = 1, .port = 5060};
	struct error err = {};
	struct readings *r;
	struct owners *o;
	struct reading got;

	fake_process(100, "sip", 500, 1, "0::/a\n");
	fake_fd(100, 7, 1001);
	thread(100, "sip", 1000, 0);
	assert_int_equal(owners_open(&o, fake_root, &err), 0);
	r = readings_new(o);
	readings_begin(r, NULL, 0);
	readings_note(r, &id, 30);
	readings_interval(r);

	schedstat(100, 2000, 100);
	fake_file("proc/100/task/100/wchan", "nfs_wait");
	fake_file("proc/100/task/100/stat",
		  "100 (sip) D 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 500 1 2\n");
	pause_ms(5);
	readings_note(r, &id, 30);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), 0);
	assert_string_equal(got.sleeps_in, "nfs_wait");

	fake_file("proc/100/task/100/stat",
		  "100 (sip) T 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 500 1 2\n");
	readings_note(r, &id, 30);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), 0);
	assert_false(got.stopped); /* in one of two */
	readings_note(r, &id, 30);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), 0);
	assert_true(got.stopped);
	readings_close(r);
	owners_close(o);
}

/* Intervals of a socket that process 100 has as descriptor 7. */
CASE_WITH(intervals, begin, end)
{
	const struct reading_socket id = {.inode = 1001, .netns = 1, .port = 5060};
	struct error err = {};
	struct readings *r;
	struct owners *o;
	struct reading got;

	fake_process(100, "sip", 500, 1, "0::/a\n");
	fake_fd(100, 7, 1001);
	thread(100, "sip", 1000, 0);
	fake_file("proc/100/task/100/wchan", "futex_do_wait");
	fake_file("sys/fs/cgroup/a/cpu.stat", "throttled_usec 100\n");
	fake_file("proc/100/net/snmp", "Udp: InDatagrams NoPorts\nUdp: 100 5\n");
	assert_int_equal(owners_open(&o, fake_root, &err), 0);
	r = readings_new(o);
	readings_begin(r, NULL, 0);
	assert_int_equal(readings_get(r, 1001, &got), -ENOENT);

	/* the first interval with a loss has no start, because the socket was unknown */
	readings_note(r, &id, 30);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), -ENOENT);

	/* one without loss: forgotten */
	schedstat(100, 2000, 100);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), -ENOENT);

	schedstat(100, 2004, 101);
	fake_file("sys/fs/cgroup/a/cpu.stat", "throttled_usec 2100\n");
	fake_file("proc/100/net/snmp", "Udp: InDatagrams NoPorts\nUdp: 170 5\n");
	pause_ms(20);
	readings_sample(r);
	readings_note(r, &id, 30);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), 0);
	assert_int_equal(got.pid, 100);
	assert_string_equal(got.process, "sip");
	assert_int_equal(got.threads, 1);
	assert_int_equal(got.run_ns, 4 * MS);
	assert_int_equal(got.wait_ns, 1 * MS);
	assert_true(got.window_ns >= 20 * MS);
	assert_true(got.run_ns + got.wait_ns < got.window_ns); /* the rest it slept */
	assert_int_equal(got.throttled_ns, 2 * MS);
	assert_string_equal(got.sleeps_in, "futex_do_wait");
	assert_false(got.stopped);
	assert_false(got.seen);
	assert_int_equal(got.lost, 30);
	assert_int_equal(got.received_around, 70);

	/* held by a debugger, or by SIGSTOP, in most samples */
	fake_file("proc/100/task/100/stat",
		  "100 (sip) t 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 500 1 2\n");
	for (int i = 0; i < 9; i++)
		readings_sample(r);
	readings_note(r, &id, 30);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), 0);
	assert_true(got.stopped);

	/* another process reads it now: all begins anew */
	fake_process(200, "sip2", 900, 1, "0::/a\n");
	fake_fd(200, 3, 1001);
	unlink(fake_path("proc/100/fd/7"));
	pause_ms(1100); /* so long an owner is believed */
	readings_note(r, &id, 30);
	readings_interval(r);
	readings_note(r, &id, 30);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), -ENOENT);
	readings_close(r);
	owners_close(o);
	readings_close(NULL);
}

static struct readings *r;
static struct owners *o;

static int begin_readings(void **state)
{
	struct error err = {};

	if (begin(state) || owners_open(&o, fake_root, &err))
		return -1;
	r = readings_new(o);
	return 0;
}

static int end_readings(void **state)
{
	readings_close(r);
	owners_close(o);
	return end(state);
}

static void note(unsigned inode, unsigned packets)
{
	const struct reading_socket id = {.inode = inode, .netns = 1, .port = 5060};

	readings_note(r, &id, packets);
}

/* Process `pid` sleeps in this function. "0": unknown function. NULL: running. */
static void sleeps(int pid, const char *where)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "proc/%d/task/%d/wchan", pid, pid);
	fake_file(path, where ? where : "0");
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", pid, pid);
	snprintf(text, sizeof(text), "%d (x) %c 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 500 1 2\n",
		 pid, where ? 'S' : 'R');
	fake_file(path, text);
}

static struct reading next_interval(bool loses)
{
	struct reading got;

	if (loses)
		note(1001, 30);
	readings_interval(r);
	readings_get(r, 1001, &got);
	return got;
}

/* The busiest thread reads, or a thread in recv() on the socket, however little it runs. */
CASE_WITH(threads_of_a_reader, begin_readings, end_readings)
{
	struct reading got;
	char path_of[64];

	fake_process(100, "main", 500, 1, "0::/\n");
	fake_fd(100, 7, 1001);
	thread(100, "main", 1000, 10);
	thread(101, "busy", 5000, 20);
	next_interval(true);
	/* waiting for a CPU counts as busy, and an interval without a loss is discarded */
	schedstat(100, 1100, 10);
	schedstat(101, 5000, 220);
	next_interval(false);
	schedstat(100, 1102, 15);
	schedstat(101, 5600, 420);
	thread(102, "new", 40, 5); /* all that it did is new */
	got = next_interval(true);
	assert_string_equal(got.thread, "busy");
	assert_int_equal(got.threads, 3);
	assert_false(got.seen);
	assert_int_equal(got.run_ns, 600 * MS);
	assert_int_equal(got.wait_ns, 200 * MS);
	schedstat(102, 2040, 5);
	got = next_interval(true);
	assert_string_equal(got.thread, "new");
	assert_int_equal(got.run_ns, 2040 * MS);

	receives(100, 8); /* another socket */
	assert_string_equal(next_interval(true).thread, "new");
	receives(100, 7);
	got = next_interval(true);
	assert_string_equal(got.thread, "main");
	assert_true(got.seen);
	assert_int_equal(got.run_ns, 2 * MS);

	/* the times of a thread that ended stay, and other threads take places */
	nftw(fake_path("proc/100/task/102"), fake_remove, 16, FTW_DEPTH | FTW_PHYS);
	for (int i = 0; i < 100; i++) {
		thread(1000 + i, "worker", 1, 0);
		assert_int_equal(next_interval(true).threads, 3);
		snprintf(path_of, sizeof(path_of), "proc/100/task/%d", 1000 + i);
		nftw(fake_path(path_of), fake_remove, 16, FTW_DEPTH | FTW_PHYS);
	}
	assert_string_equal(next_interval(true).thread, "main");
}

/* Without CONFIG_SCHED_INFO all times are 0. */
CASE_WITH(kernel_without_times, begin_readings, end_readings)
{
	struct reading got;

	fake_process(100, "main", 500, 1, "0::/\n");
	fake_fd(100, 7, 1001);
	thread(100, "main", 0, 0);
	next_interval(true);
	next_interval(true);
	assert_int_equal(readings_get(r, 1001, &got), -ENOENT);
}

/* Three processes with a socket each: their samples stay separate. */
CASE_WITH(three_readers, begin_readings, end_readings)
{
	struct reading got;
	char path[64], text[48];

	for (int i = 0; i < 3; i++) {
		fake_process(100 + i, "x", 500, i == 2 ? 2 : 1, "0::/a/b\n");
		fake_fd(100 + i, 7, 1001 + (unsigned)i);
		snprintf(path, sizeof(path), "proc/%d/task/%d/schedstat", 100 + i, 100 + i);
		fake_file(path, "1000000000 0 17\n");
		sleeps(100 + i, i == 1 ? NULL : "futex_wait");
	}
	fake_file("sys/fs/cgroup/a/b/cpu.stat", "throttled_usec 100\n");
	fake_file("sys/fs/cgroup/a/cpu.stat", "throttled_usec 100\n");
	for (int n = 0; n < 2; n++) {
		for (unsigned i = 0; i < 3; i++)
			note(1001 + i, 10 * (i + 1));
		readings_interval(r);
		for (int i = 0; i < 3; i++) {
			snprintf(path, sizeof(path), "proc/%d/task/%d/schedstat", 100 + i, 100 + i);
			snprintf(text, sizeof(text), "%d 1000000 17\n", 1002000000 + i * 1000000);
			fake_file(path, text);
		}
		for (int i = 0; i < 3; i++) {
			snprintf(path, sizeof(path), "proc/%d/net/snmp", 100 + i);
			snprintf(text, sizeof(text), "Udp: InDatagrams NoPorts\nUdp: %d 5\n",
				 70 * n);
			fake_file(path, text);
		}
		fake_file("sys/fs/cgroup/a/b/cpu.stat", "throttled_usec 1100\n");
		fake_file("sys/fs/cgroup/a/cpu.stat", "throttled_usec 5100\n");
		pause_ms(20);
		readings_sample(r);
		readings_sample(r);
	}
	/* an interval without a loss is discarded */
	for (unsigned i = 0; i < 3; i++)
		note(1001 + i, 10 * (i + 1));
	readings_interval(r);
	fake_file("sys/fs/cgroup/a/cpu.stat", "throttled_usec 99100\n");
	readings_interval(r);
	sleeps(100, "0");
	sleeps(102, "poll_wait");
	for (int n = 0; n < 6; n++)
		readings_sample(r);
	for (unsigned i = 0; i < 3; i++)
		note(1001 + i, 10 * (i + 1));
	readings_interval(r);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(readings_get(r, 1001 + (unsigned)i, &got), 0);
		assert_int_equal(got.pid, 100 + i);
		assert_int_equal(got.lost, 30 * (i + 1));
		/* what process 102 shows is of another namespace */
		assert_int_equal(got.received_around, i == 2 ? 0 : 70);
		assert_int_equal(got.run_ns, (uint64_t)(2 + i) * MS);
		assert_in_range(got.window_ns, 40 * MS, SLOWEST);
		assert_int_equal(got.throttled_ns, 5 * MS);
		/* one that never slept has waited all the time */
		assert_int_equal(got.wait_ns, i == 1 ? got.window_ns - got.run_ns : MS);
		/* where most of its samples were, and no majority: nowhere */
		assert_string_equal(got.sleeps_in, i ? "" : "futex_wait");
	}
}

/* Who was born in the interval has done nothing before it. */
CASE_WITH(newborn, begin_readings, end_readings)
{
	struct timespec now;
	struct reading got;

	readings_interval(r);
	pause_ms(60);
	clock_gettime(CLOCK_BOOTTIME, &now);
	fake_process(100, "x", (unsigned)(now.tv_sec * 100 + now.tv_nsec / 10000000 - 2), 1,
		     "0::/\n");
	fake_fd(100, 7, 1001);
	sleeps(100, NULL);
	schedstat(100, 7, 2);
	note(1001, 30);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), 0);
	assert_in_range(got.window_ns, 20 * MS, 60 * MS + SLOWEST);
	assert_int_equal(got.run_ns, 7 * MS);
	assert_int_equal(got.lost, 30);
}

/* The socket with the oldest loss is evicted, but not a socket with a loss in this interval. */
CASE_WITH(more_sockets_than_places, begin_readings, end_readings)
{
	struct reading got;

	fake_process(100, "x", 500, 1, "0::/\n");
	for (unsigned i = 0; i < 3; i++)
		fake_fd(100, 5 + (int)i, 1001 + i);
	sleeps(100, NULL);
	schedstat(100, 1000, 0);
	for (unsigned n = 0; n < 3; n++) {
		for (unsigned i = 0; i < 3; i++)
			note(1001 + i, 1);
		for (unsigned i = 3; i < READING_SOCKETS; i++)
			note(2000 + i, 1);
		note(9000, 1); /* no room */
		readings_interval(r);
		schedstat(100, 1001 + n, 0);
	}
	note(1001, 1);
	for (unsigned i = 3; i < READING_SOCKETS; i++)
		note(2000 + i, 1);
	readings_interval(r);
	note(1002, 1);
	note(9000, 1); /* in the place of 1003 */
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), 0);
	assert_int_equal(got.lost, 3);
	assert_int_equal(readings_get(r, 1003, &got), -ENOENT);
	assert_int_equal(readings_get(r, 1002, &got), 0);
	assert_int_equal(got.lost, 3);
	/* the first of them, too */
	note(1002, 1);
	note(9001, 1);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), -ENOENT);
	assert_int_equal(readings_get(r, 1002, &got), 0);
}

/* A level of the cgroup that has a quota only now has not throttled before. */
CASE_WITH(level_that_came, begin_readings, end_readings)
{
	struct reading got;

	fake_process(100, "x", 500, 1, "0::/a/b\n");
	fake_fd(100, 7, 1001);
	sleeps(100, NULL);
	schedstat(100, 1000, 0);
	fake_file("sys/fs/cgroup/a/b/cpu.stat", "throttled_usec 100\n");
	for (int i = 0; i < 3; i++) {
		if (i == 2) {
			fake_file("sys/fs/cgroup/a/b/cpu.stat", "throttled_usec 1100\n");
			fake_file("sys/fs/cgroup/a/cpu.stat", "throttled_usec 99000\n");
		}
		note(1001, 1);
		readings_interval(r);
	}
	assert_int_equal(readings_get(r, 1001, &got), 0);
	assert_int_equal(got.throttled_ns, MS);
}

/* Who was never asleep in three samples has waited, if it is not stopped and the time allows it. */
CASE_WITH(awake, begin_readings, end_readings)
{
	static const struct {
		const char *states; /* of the samples */
		uint64_t run_ms, wait_ms;
		bool all;
	} rows[] = {
		{"R", 0, 0, false},   {"RR", 0, 0, false},   {"RRR", 0, 0, true},
		{"RRRR", 1, 1, true}, {"RRSR", 0, 0, false}, {"TTT", 0, 0, false},
		{"RTT", 0, 0, false}, {"RTR", 0, 0, true},   {"RRR", 5000, 4990, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const int pid = 100 + (int)i;
		const unsigned inode = 1001 + i;
		struct reading got;
		char path[64], text[128];

		fake_process(pid, "x", 500, 1, "0::/\n");
		fake_fd(pid, 7, inode);
		sleeps(pid, NULL);
		snprintf(path, sizeof(path), "proc/%d/task/%d/schedstat", pid, pid);
		fake_file(path, "0 0 17\n");
		note(inode, 1);
		readings_interval(r);
		readings_sample(r); /* no process has run yet, so there is nothing to sample */
		snprintf(text, sizeof(text), "%llu %llu 17\n",
			 (unsigned long long)(rows[i].run_ms * MS + 1),
			 (unsigned long long)(rows[i].wait_ms * MS));
		fake_file(path, text);
		/*
		 * the time starts at the first sample, and the last sample belongs to the interval
		 */
		readings_interval(r);
		snprintf(text, sizeof(text), "%llu %llu 17\n",
			 (unsigned long long)(2 * rows[i].run_ms * MS + 2),
			 (unsigned long long)(2 * rows[i].wait_ms * MS));
		fake_file(path, text);
		pause_ms(10);
		for (const char *in = rows[i].states; *in; in++) {
			snprintf(path, sizeof(path), "proc/%d/task/%d/stat", pid, pid);
			snprintf(text, sizeof(text),
				 "%d (x) %c 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 500 1 2\n", pid,
				 *in);
			fake_file(path, text);
			if (in[1])
				readings_sample(r);
		}
		note(inode, 1);
		readings_interval(r);
		assert_int_equal(readings_get(r, inode, &got), 0);
		assert_int_equal(got.run_ns, rows[i].run_ms * MS + 1);
		if (got.wait_ns !=
		    (rows[i].all ? got.window_ns - got.run_ns : rows[i].wait_ms * MS))
			fail_msg("%s: waited %llu ns", rows[i].states,
				 (unsigned long long)got.wait_ns);
	}
}

/* When it is known why a socket was full. */
CASE(decided)
{
	static const struct {
		struct reading r;
		bool decided;
	} rows[] = {
		{{.window_ns = 0, .samples = 9}, false},
		{{.window_ns = 100, .run_ns = 49}, false},
		{{.window_ns = 100, .run_ns = 25, .wait_ns = 25}, true},
		{{.window_ns = 100, .samples = 2}, false},
		{{.window_ns = 100, .samples = 3}, true},
		{{.window_ns = 100, .stopped = true}, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(reading_decides(&rows[i].r), rows[i].decided);
}

CASE(described)
{
	static const struct {
		struct reading r;
		const char *text;
	} rows[] = {
		{{.pid = 8, .tid = 9, .process = "sip", .thread = "rtp", .threads = 1}, "sip[8]"},
		{{.pid = 8,
		  .tid = 9,
		  .process = "sip",
		  .thread = "rtp",
		  .threads = 2,
		  .seen = true},
		 "the thread rtp[9] of sip[8]"},
		{{.pid = 8, .tid = 9, .process = "sip", .thread = "rtp", .threads = 2},
		 "sip[8] (its busiest thread, rtp[9])"},
		{{.pid = 8,
		  .tid = 9,
		  .process = "sip",
		  .thread = "sip",
		  .threads = 2,
		  .holders = 1},
		 "sip[8] (the busiest of its 2 threads, 9)"},
		{{.pid = 8,
		  .tid = 9,
		  .process = "sip",
		  .thread = "sip",
		  .threads = 1,
		  .holders = 2},
		 "sip[8] (one of 2 processes that have the socket)"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct finding_facts f = {};
		char text[READING_TEXT];

		reading_describe(&rows[i].r, text, &f);
		assert_string_equal(text, rows[i].text);
		assert_ptr_equal(f.reader, text);
		assert_int_equal(f.reading.pid, 8);
	}
}

/* Losses of a sleeping process with a full buffer. */
CASE(queue_of_a_sleeper)
{
	struct reading_socket id = {.family = AF_INET};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int rx = socket(AF_INET, SOCK_DGRAM, 0), tx = socket(AF_INET, SOCK_DGRAM, 0), size = 2304;
	int other = socket(AF_INET, SOCK_DGRAM, 0); /* of the same port */
	socklen_t len = sizeof(at);
	static struct facts_socks socks;
	struct reading got = {};
	uint64_t end, begun;
	struct stat st;
	pid_t pid;

	assert_int_equal(setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	assert_int_equal(bind(rx, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(rx, (struct sockaddr *)&at, &len), 0);
	if (connect(tx, (struct sockaddr *)&at, len) || send(tx, "full", 4, 0) != 4)
		skip(); /* loopback is down */
	for (int i = 0; i < 9; i++)
		send(tx, "full", 4, 0);
	id.port = ntohs(at.sin_port);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	bind(other, (struct sockaddr *)&at, len);
	id.inode = fstat(rx, &st) ? 0 : st.st_ino;
	id.netns = stat("/proc/self/ns/net", &st) ? 0 : (uint32_t)st.st_ino;
	pid = fork();
	while (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	close(rx);
	assert_int_equal(owners_open(&o, NULL, &(struct error){}), 0);
	r = readings_new(o);
	for (int i = 0; i < 2; i++) {
		readings_note(r, &id, 1);
		readings_interval(r);
	}
	readings_sample(r);
	end = clock_now() + 20000 * MS;
	do { /* until the host was not too busy for this */
		pause_ms(200);
		begun = clock_now();
		for (int i = 0; i < 12; i++)
			assert_int_equal(send(tx, "lost", 4, 0), 4);
	} while (clock_now() - begun >= 20 * MS && clock_now() < end);
	readings_note(r, &id, 12);    /* a loss just now, however long that took */
	for (int i = 0; i < 4; i++) { /* without a loss, the next packets are a new burst */
		pause_ms(60);
		readings_sample(r);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(send(tx, "lost", 4, 0), 4);
	readings_note(r, &id, 3);
	readings_interval(r);
	assert_int_equal(facts_socks_read(NULL, id.port, &socks), 0);
	assert_int_equal(readings_get(r, id.inode, &got), 0);
	assert_int_equal(got.pid, pid);
	if (!geteuid()) { /* else no program of BPF counts it */
		assert_int_equal(got.burst, 12);
		assert_true(got.truesize >= 256);
	}
	assert_true(got.samples >= 4);
	assert_int_equal(got.full, got.samples);
	assert_int_equal(socks.n, 2);
	assert_int_equal(got.queue_bytes, socks.at[socks.at[0].inode != id.inode].queued);
	close(other);
	readings_close(r);
	owners_close(o);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(tx);
}
