// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/proc.h"
#include "cases.h"
#include "diagnosis/facts.h"
#include "diagnosis/findings.h"
#include "diagnosis/reader.h"
#include "host/sockdiag.h"
#include "fake_root.h"
#include "recorded.h"

#define MS	1000000ULL
#define SLOWEST (60000 * MS) /* valgrind takes seconds to load a program */

static int root;
static struct readings *r;
static struct owners *o;

static int begin(void **state)
{
	struct error err = {};

	if (fake_begin(state) || (root = proc_root(fake_root)) < 0 ||
	    owners_open(&o, fake_root, &err))
		return -1;
	r = readings_new(o);
	return 0;
}

static int end(void **state)
{
	readings_close(r);
	owners_close(o);
	close(root);
	return fake_end(state);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void note(unsigned inode, unsigned packets)
{
	const struct reading_socket id = {.inode = inode, .netns = 1, .port = 5060};

	readings_note(r, &id, packets);
}

__attribute__((format(printf, 2, 3))) static void write_to(const char *path, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fake_file(path, text);
}

static const char *of_thread(int pid, int tid, const char *file)
{
	static char path[96];

	snprintf(path, sizeof(path), "proc/%d/task/%d/%s", pid, tid, file);
	return path;
}

/* Time on a CPU and time waiting for one. */
static void schedstat(int pid, int tid, uint64_t run_ns, uint64_t wait_ns)
{
	write_to(of_thread(pid, tid, "schedstat"), "%llu %llu 17\n", (unsigned long long)run_ns,
		 (unsigned long long)wait_ns);
}

static void state_of(int pid, int tid, const char *name, char state)
{
	write_to(of_thread(pid, tid, "stat"),
		 "%d (%s) %c 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 500 1 2\n", tid, name, state);
}

/* Recorded */

#define READ(member) FIELD(struct reading, member)
static const struct recorded_field fields[] = {READ(pid),    READ(threads),	    READ(seen),
					       READ(run_ns), READ(throttled_ns),    READ(stopped),
					       READ(lost),   READ(received_around), {0}};

/* The window is what the host made of it. A thread that never slept has waited for all of its rest.
 */
static void tell_reading(unsigned inode)
{
	struct reading got;

	if (readings_get(r, inode, &got)) {
		tell("nothing");
		return;
	}
	assert_in_range(got.window_ns, 1, SLOWEST);
	tell("%s[%s] %s", got.process, got.thread, recorded_text(fields, &got));
	if (got.wait_ns == got.window_ns - got.run_ns)
		tell("waits all the time");
	else if (got.wait_ns)
		tell("wait_ns=%" PRIu64, got.wait_ns);
	if (*got.sleeps_in)
		tell("sleeps_in=%s", got.sleeps_in);
}

/* A word for each thread: its state, and the function in which it sleeps, if it is known. */
static void set_state(char *text)
{
	const int pid = atoi(recorded_word(&text)), tid = atoi(recorded_word(&text));
	const char *state = recorded_word(&text);

	state_of(pid, tid, recorded_word(&text), *state);
	if (*text)
		fake_file(of_thread(pid, tid, "wchan"), text);
}

static const struct recorded_field judged_fields[] = {READ(window_ns), READ(run_ns),  READ(wait_ns),
						      READ(samples),   READ(stopped), READ(threads),
						      READ(holders),   READ(seen),    {0}};

/* "PROCESS THREAD FIELD=VALUE...", of the process 8 and its thread 9. */
static void tell_description(char *text)
{
	struct reading of = {.pid = 8, .tid = 9};
	struct finding_facts f = {};
	char said[READING_TEXT];

	strcpy(of.process, recorded_word(&text));
	strcpy(of.thread, recorded_word(&text));
	recorded_read(judged_fields, text, &of);
	reading_describe(&of, said, &f);
	assert_ptr_equal(f.reader, said);
	assert_int_equal(f.reading.pid, 8);
	tell("%s", said);
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct reading judged = {};
	unsigned at[4] = {};
	char name[64], *word[2];
	uint64_t ns[8];
	int n = sscanf(text, "%u %u %u %u", &at[0], &at[1], &at[2], &at[3]);

	if (!strcmp(verb, "case")) {
		end(NULL);
		assert_int_equal(begin(NULL), 0);
	} else if (!strcmp(verb, "process")) {
		assert_int_equal(sscanf(text, "%*u %*u %63s", name), 1);
		fake_process((int)at[0], "x", 500, at[1], name);
	} else if (!strcmp(verb, "fd")) {
		fake_fd((int)at[0], (int)at[1], at[2]);
	} else if (!strcmp(verb, "closed")) {
		snprintf(name, sizeof(name), "proc/%u/fd/%u", at[0], at[1]);
		assert_int_equal(unlink(fake_path(name)), 0);
	} else if (!strcmp(verb, "ended")) {
		snprintf(name, sizeof(name), "proc/%u/task/%u", at[0], at[1]);
		nftw(fake_path(name), fake_remove, 16, FTW_DEPTH | FTW_PHYS);
	} else if (!strcmp(verb, "ran")) {
		schedstat((int)at[0], (int)at[1], at[2] * (n > 3 ? MS : 1), at[3] * MS);
	} else if (!strcmp(verb, "state")) {
		set_state(text);
	} else if (!strcmp(verb, "receives")) {
		write_to(of_thread((int)at[0], (int)at[1], "syscall"),
			 "%ld 0x%x 0x7ffd 0x0 0x0 0x0 0x0 0x7f 0x7f\n", (long)SYS_recvfrom, at[2]);
	} else if (!strcmp(verb, "running")) {
		fake_file(of_thread((int)at[0], (int)at[1], "syscall"), "running\n");
	} else if (!strcmp(verb, "file")) {
		word[0] = recorded_word(&text);
		recorded_words(text, &word[1], 1);
		fake_file(word[0], word[1]);
	} else if (!strcmp(verb, "quota")) { /* withheld from its groups, of so many at most */
		n = group_throttled(root, (pid_t)at[0], ns, at[1]);
		tell("%d:", n);
		for (int i = 0; i < n; i++)
			tell("%" PRIu64, ns[i]);
	} else if (!strcmp(verb, "throttled")) {
		snprintf(name, sizeof(name), "sys/fs/cgroup%s/cpu.stat", recorded_word(&text));
		write_to(name, "throttled_usec %s\n", text);
	} else if (!strcmp(verb, "received")) {
		snprintf(name, sizeof(name), "proc/%u/net/snmp", at[0]);
		write_to(name, "Udp: InDatagrams NoPorts\nUdp: %u 5\n", at[1]);
	} else if (!strcmp(verb, "note")) { /* a socket, or several */
		word[0] = recorded_word(&text);
		word[1] = strchr(word[0], '-');
		at[1] = word[1] ? (unsigned)atoi(word[1] + 1) : at[0];
		for (unsigned i = at[0]; i <= at[1]; i++)
			note(i, (unsigned)atoi(text));
	} else if (!strcmp(verb, "sample")) {
		for (unsigned i = 0; i < larger(at[0], 1); i++)
			readings_sample(r);
	} else if (!strcmp(verb, "begin")) {
		readings_begin(r, NULL, 0);
	} else if (!strcmp(verb, "interval")) {
		readings_interval(r);
	} else if (!strcmp(verb, "pause")) {
		pause_ms(at[0]);
	} else if (!strcmp(verb, "decides")) {
		recorded_read(judged_fields, text, &judged);
		tell(reading_decides(&judged) ? "yes" : "no");
	} else if (!strcmp(verb, "describe")) {
		tell_description(text);
	} else {
		assert_string_equal(verb, "get");
		tell_reading(at[0]);
	}
}

CASE_WITH(recorded, begin, end)
{
	recorded_stories("tests/fixtures/readings", take_line, NULL);
}

/* Who was born in the interval has done nothing before it. */
CASE_WITH(newborn, begin, end)
{
	struct timespec now;
	struct reading got;

	readings_interval(r);
	pause_ms(60);
	clock_gettime(CLOCK_BOOTTIME, &now);
	fake_process(100, "x", (unsigned)(now.tv_sec * 100 + now.tv_nsec / 10000000 - 2), 1,
		     "0::/\n");
	fake_fd(100, 7, 1001);
	state_of(100, 100, "x", 'R');
	schedstat(100, 100, 7 * MS, 2 * MS);
	note(1001, 30);
	readings_interval(r);
	assert_int_equal(readings_get(r, 1001, &got), 0);
	assert_in_range(got.window_ns, 20 * MS, 60 * MS + SLOWEST);
	assert_int_equal(got.run_ns, 7 * MS);
	assert_int_equal(got.lost, 30);
}

/* A new process may get no CPU for long. */
static void await_sleep(pid_t pid)
{
	struct proc_stat st = {.state = 0};
	int slash = proc_root(NULL);

	for (unsigned ms = 0; st.state != 'S'; ms++) {
		assert_true(ms < 20000);
		assert_int_equal(proc_stat(slash, pid, 0, &st), 0);
		pause_ms(1);
	}
	close(slash);
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
	await_sleep(pid);
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

/* A reader that waits for data for longer than it sleeps while packets wait: the sleep is named. */
CASE(sleep_with_a_full_buffer)
{
	struct reading_socket id = {.family = AF_INET};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int rx = socket(AF_INET, SOCK_DGRAM, 0), tx = socket(AF_INET, SOCK_DGRAM, 0), size = 2304;
	int slash = proc_root(NULL);
	struct pollfd data = {.fd = rx, .events = POLLIN};
	socklen_t len = sizeof(at);
	char waits_in[64], sleeps_in[64];
	struct reading got = {};
	struct stat st;
	pid_t pid;

	assert_int_equal(setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	assert_int_equal(bind(rx, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(rx, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(connect(tx, (struct sockaddr *)&at, len), 0);
	id.port = ntohs(at.sin_port);
	id.inode = fstat(rx, &st) ? 0 : st.st_ino;
	id.netns = stat("/proc/self/ns/net", &st) ? 0 : (uint32_t)st.st_ino;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		poll(&data, 1, -1);
		while (1)
			pause();
	}
	close(rx);
	await_sleep(pid);
	proc_read(slash, waits_in, sizeof(waits_in), "proc/%d/wchan", pid);
	assert_int_equal(owners_open(&o, NULL, &(struct error){}), 0);
	r = readings_new(o);
	for (int i = 0; i < 2; i++) {
		readings_note(r, &id, 1);
		readings_interval(r);
	}
	for (int i = 0; i < 6; i++)
		readings_sample(r);
	for (int i = 0; i < 20; i++)
		send(tx, "full", 4, 0);
	do {
		await_sleep(pid);
		if (proc_read(slash, sleeps_in, sizeof(sleeps_in), "proc/%d/wchan", pid) <= 1)
			skip(); /* the kernel or the tests' user hides this */
	} while (!strcmp(sleeps_in, waits_in));
	readings_sample(r);
	readings_note(r, &id, 1);
	readings_interval(r);
	assert_int_equal(readings_get(r, id.inode, &got), 0);
	if (!got.full)
		skip(); /* loopback is down */
	assert_string_equal(got.sleeps_in, sleeps_in);
	readings_close(r);
	owners_close(o);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(slash);
	close(tx);
}
